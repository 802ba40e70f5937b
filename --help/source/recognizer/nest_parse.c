/* nest_parse.c -- nests from text; nest_print.c writes it.
 *
 *     tensor A i8              a tensor and its type; without a line: the sum's
 *     tensor B i8 pitch n      one whose rows lie a run-time value apart
 *     tensor r f32 local       one that only the nest has
 *     number alpha f32         a number that is known before the nest
 *     loop i 64                a loop; loops and statements below stand in it
 *     loop k n                 a name that is no loop is a run-time value
 *     loop l n cut by p        an iteration of loop p runs a tile of it
 *     loop l n step 4          iterations are numbered 0, 4, 8, .. below n
 *     loop l n after k         they begin at the extent of loop k, which has
 *                              ended in the loop around both
 *     loop l n down            it runs from iteration n - 1 to 0
 *     out[i*32 + j] += A[i*16 + k + 3] * B[k*32 + j] : i32
 *     s = 0 : f32 ordered      a scalar; ordered: no other order of the sum
 *     out[i*32 + j] = max(alpha * s, (C[i] : bf16)) : f32
 *     s += [i + k - 1 >= 0] * ..   1 where it holds, else 0; or < 0
 *     [k + m >= 0 last]        it is zero in iteration extent - 1 of k
 *     A[i + k - 1]?            an element that is not read where it has no use
 *     C[i]? = select([k < 0], s, C[i]) : i32   nothing is written where the
 *                              old content is chosen
 *     infinite                 floats may be infinite or NaN
 *     end                      closes the innermost loop
 *
 * A constant in an index counts elements; a run-time value, and bytes(5), count
 * bytes; rows(2) is twice the tensor's pitch.  The type behind the colon is the
 * one in which a statement, or the part of it in parentheses, computes:
 * operands of other types are converted to it, and its result to what stands
 * around.  Operations other than + - * are functions with the names of
 * calc.def.  A comparison computes in the type of the arithmetic around it
 * unless it says another, lt(a, b : i32); what it gives is u8, as is the first
 * operand of select.  Any other function stands for an operation that no
 * contraction has. */
#include "recognizer_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64, STATEMENTS_MAX = 64 };

struct names {
  int count;
  const char *item[NAMES_MAX];
};

struct parser {
  struct scan scan;
  struct arena *arena;
  struct diag *diag;
  struct nest *nest;
  struct names tensor, symbol, scalar, outside;
  enum dtype tensor_type[NAMES_MAX], scalar_type[NAMES_MAX];
  enum dtype outside_type[NAMES_MAX];
  bool tensor_typed[NAMES_MAX], scalar_typed[NAMES_MAX];
  bool tensor_local[NAMES_MAX];
  int tensor_pitch[NAMES_MAX]; /* symbols; -1: none */
  enum dtype type;             /* in which is computed what is being read */
  enum dtype compare;          /* in which comparisons compute */
  bool reassoc;
  int loop, order;
};

static bool fail(struct parser *p, const char *what) {
  return scan_expected(&p->scan, p->diag, what);
}

static int find(const struct names *n, const char *name) {
  for (int i = 0; i < n->count; i++)
    if (strcmp(n->item[i], name) == 0)
      return i;
  return -1;
}

static int intern(struct parser *p, struct names *n, const char *name) {
  int i = find(n, name);
  if (i >= 0)
    return i;
  if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0) {
    diag_error(p->diag, scan_loc(&p->scan), "%s is a number", name);
    return -1;
  }
  if (n->count == NAMES_MAX) {
    diag_error(p->diag, scan_loc(&p->scan), "more than %d names of one kind",
               NAMES_MAX);
    return -1;
  }
  n->item[n->count] = name;
  return n->count++;
}

static int find_loop(const struct parser *p, const char *name) {
  for (int l = p->loop; l >= 0; l = p->nest->loop[l].parent)
    if (strcmp(p->nest->loop[l].name, name) == 0)
      return l;
  return -1;
}

static bool parse_value(struct parser *p, struct value *v) {
  *v = value_of(0);
  if (scan_int(&p->scan, &v->constant))
    return true;
  char *name = scan_name(&p->scan, p->arena);
  if (!name)
    return fail(p, "a number or the name of a run-time value");
  return (v->symbol = intern(p, &p->symbol, name)) >= 0;
}

/* A constant in bytes: elements, or bytes(5); or a run-time value. */
static bool parse_distance(struct parser *p, const struct nest_access *x,
                           char *name, struct value *v) {
  *v = value_of(0);
  bool bytes = name && strcmp(name, "bytes") == 0 && scan_char(&p->scan, '(');
  if (name && !bytes)
    return (v->symbol = intern(p, &p->symbol, name)) >= 0;
  if (!scan_int(&p->scan, &v->constant))
    return fail(p, "a loop, a number or a run-time value");
  if (bytes)
    return scan_char(&p->scan, ')') || fail(p, "')'");
  return !__builtin_mul_overflow(v->constant, dtype_bytes(x->type),
                                 &v->constant) ||
         fail(p, "a smaller factor");
}

/* The number behind "rows", in parentheses. */
static bool parse_rows(struct parser *p, struct nest_access *x, bool minus) {
  int64_t rows;
  if (p->tensor_pitch[x->tensor] < 0)
    return fail(p, "a tensor with a pitch");
  if (!scan_int(&p->scan, &rows) || !scan_char(&p->scan, ')'))
    return fail(p, "a number of rows and ')'");
  bool over = minus ? __builtin_sub_overflow(x->rows, rows, &x->rows)
                    : __builtin_add_overflow(x->rows, rows, &x->rows);
  return !over || fail(p, "fewer rows");
}

/* loop, loop*factor or factor*loop, added to the strides; rows; an offset. */
static bool parse_term(struct parser *p, struct nest_access *x, bool minus) {
  struct value factor = value_of(dtype_bytes(x->type));
  bool has_factor = false;
  int loop = -1;
  do {
    char *name = scan_name(&p->scan, p->arena);
    if (loop < 0 && !has_factor && name && strcmp(name, "rows") == 0 &&
        scan_char(&p->scan, '('))
      return parse_rows(p, x, minus);
    int l = name ? find_loop(p, name) : -1;
    if (l >= 0 && loop >= 0)
      return fail(p, "one loop per term");
    if (l >= 0) {
      loop = l;
      continue;
    }
    if (has_factor)
      return fail(p, "one factor per term");
    has_factor = true;
    if (!parse_distance(p, x, name, &factor))
      return false;
  } while (scan_char(&p->scan, '*'));
  if (factor.symbol >= 0 && (loop < 0 || minus))
    return fail(p, loop < 0 ? "a loop in every term" : "'+'");
  if (minus && __builtin_sub_overflow(0, factor.constant, &factor.constant))
    return fail(p, "a smaller factor");
  if (loop < 0)
    return !__builtin_add_overflow(x->offset_bytes, factor.constant,
                                   &x->offset_bytes) ||
           fail(p, "a smaller offset");
  if (!value_is(x->stride_bytes[loop], 0))
    return fail(p, "each loop once");
  x->stride_bytes[loop] = factor;
  return true;
}

static bool parse_access(struct parser *p, char *name, struct nest_access *x) {
  if ((x->tensor = intern(p, &p->tensor, name)) < 0)
    return false;
  if (!p->tensor_typed[x->tensor]) {
    p->tensor_typed[x->tensor] = true;
    p->tensor_type[x->tensor] = p->type;
  }
  x->type = p->tensor_type[x->tensor];
  x->stride_bytes = arena_array(p->arena, NAMES_MAX, sizeof *x->stride_bytes);
  for (int i = 0; i < NAMES_MAX; i++)
    x->stride_bytes[i] = value_of(0);
  bool plus, minus = false;
  do {
    if (!parse_term(p, x, minus))
      return false;
    plus = scan_char(&p->scan, '+');
    minus = !plus && scan_char(&p->scan, '-');
  } while (plus || minus);
  return scan_char(&p->scan, ']') || fail(p, "']'");
}

/* loop, loop*factor, or what the limit starts from. */
static bool parse_limit_term(struct parser *p, struct affine_guard *x,
                             bool minus) {
  struct scan ahead = p->scan;
  char *name = scan_name(&ahead, p->arena);
  int loop = name ? find_loop(p, name) : -1;
  struct value *to = loop < 0 ? &x->start : &x->step[loop], v = value_of(1);
  if (!value_is(*to, 0))
    return fail(p, "each loop once, and one start");
  if (loop >= 0)
    p->scan = ahead;
  if ((loop < 0 || scan_char(&p->scan, '*')) && !parse_value(p, &v))
    return false;
  if (minus &&
      (v.symbol >= 0 || __builtin_sub_overflow(0, v.constant, &v.constant)))
    return fail(p, "'+' or a smaller number");
  *to = v;
  return true;
}

/* sum of terms >= 0] or < 0] or, say, < 0 last], behind the bracket. */
static bool parse_limit(struct parser *p, struct affine_guard *x) {
  x->start = value_of(0);
  x->step = arena_array(p->arena, NAMES_MAX, sizeof *x->step);
  for (int i = 0; i < NAMES_MAX; i++)
    x->step[i] = value_of(0);
  bool plus, minus = false;
  int64_t zero = 1;
  do {
    if (!parse_limit_term(p, x, minus))
      return false;
    plus = scan_char(&p->scan, '+');
    minus = !plus && scan_char(&p->scan, '-');
  } while (plus || minus);
  x->below = scan_char(&p->scan, '<');
  if (!x->below && !(scan_char(&p->scan, '>') && scan_char(&p->scan, '=')))
    return fail(p, "'>= 0' or '< 0'");
  if (!scan_int(&p->scan, &zero) || zero != 0)
    return fail(p, "'0]'");
  x->last = scan_word(&p->scan, "last");
  return scan_char(&p->scan, ']') || fail(p, "'last]' or ']'");
}

static struct nest_expr *make(struct parser *p, enum nest_op op) {
  struct nest_expr *e = arena_alloc(p->arena, sizeof *e);
  e->op = op;
  e->type = p->type;
  e->at = scan_loc(&p->scan);
  e->reassoc = p->reassoc || dtype_kind(p->type) != DTYPE_FLOAT;
  return e;
}

static const struct nest_expr *
convert(struct parser *p, const struct nest_expr *e, enum dtype type) {
  if (e->type == type)
    return e;
  struct nest_expr *cast = make(p, NEST_CAST);
  cast->type = type;
  cast->arg[0] = e;
  return cast;
}

/* A scalar has the type of the statement that names it first. */
static int intern_scalar(struct parser *p, const char *name) {
  int i = intern(p, &p->scalar, name);
  if (i >= 0 && !p->scalar_typed[i]) {
    p->scalar_typed[i] = true;
    p->scalar_type[i] = p->type;
  }
  return i;
}

enum { DEPTH_MAX = 24 };
static const struct nest_expr *parse_sum(struct parser *p, int depth);

static const struct nest_expr *parse_in(struct parser *p, enum dtype type,
                                        enum dtype compare, int depth) {
  enum dtype old_type = p->type, old_compare = p->compare;
  p->type = type;
  p->compare = compare;
  const struct nest_expr *e = parse_sum(p, depth + 1);
  p->type = old_type;
  p->compare = old_compare;
  return e;
}

/* The type behind the colon that stands before the parenthesis closes. */
static bool find_type(const struct parser *p, enum dtype *type) {
  struct scan ahead = p->scan;
  for (int depth = 0; *ahead.at && *ahead.at != '\n' && *ahead.at != '#';
       ahead.at++) {
    depth += *ahead.at == '(';
    if (*ahead.at == ')' && depth-- == 0)
      return false;
    if (*ahead.at == ':' && depth == 0)
      break;
  }
  char *name = scan_char(&ahead, ':') ? scan_name(&ahead, p->arena) : NULL;
  return name && dtype_parse(name, type);
}

static bool skip_type(struct parser *p) {
  enum dtype type;
  if (!scan_char(&p->scan, ':'))
    return true;
  char *name = scan_name(&p->scan, p->arena);
  return (name && dtype_parse(name, &type)) || fail(p, "a data type");
}

static bool find_operation(const char *name, enum nest_op *op) {
  for (int c = CALC_NUMBER; c < CALC_OPS; c++)
    if (calc_name((enum calc_op)c)[0] &&
        strcmp(calc_name((enum calc_op)c), name) == 0) {
      *op = (enum nest_op)(c - CALC_NUMBER + NEST_NUMBER);
      return true;
    }
  return false;
}

/* The operands of a function that is no operation are read and forgotten. */
static const struct nest_expr *parse_call(struct parser *p, const char *name,
                                          int depth) {
  struct nest_expr *e = make(p, NEST_OTHER);
  bool known = find_operation(name, &e->op);
  enum dtype type = p->type, compare = p->compare;
  int count = 0;
  e->what = name;
  if (known && nest_is_truth(e->op)) {
    e->type = DTYPE_U8;
    type = e->op == NEST_NOT ? DTYPE_U8 : compare;
    if (find_type(p, &type) || e->op != NEST_NOT)
      compare = type;
  }
  if (known && e->op == NEST_BITS && find_type(p, &type))
    compare = type;
  do {
    bool condition = known && e->op == NEST_SELECT && count == 0;
    const struct nest_expr *x =
        parse_in(p, condition ? DTYPE_U8 : type, compare, depth);
    if (!x)
      return NULL;
    if (known && count < CALC_OPERANDS)
      e->arg[count] = x;
    count++;
  } while (scan_char(&p->scan, ','));
  if (!skip_type(p))
    return NULL;
  if (known && count != calc_operands(nest_calc_op(e->op)))
    fail(p, "another number of operands");
  else if (scan_char(&p->scan, ')'))
    return convert(p, e, p->type);
  fail(p, "')'");
  return NULL;
}

/* (..) or (.. : type), behind the parenthesis. */
static const struct nest_expr *parse_parentheses(struct parser *p, int depth) {
  enum dtype type = p->type;
  bool typed = find_type(p, &type);
  const struct nest_expr *e =
      parse_in(p, type, typed ? type : p->compare, depth);
  if (!e || !skip_type(p))
    return NULL;
  if (scan_char(&p->scan, ')'))
    return convert(p, e, p->type);
  fail(p, "')'");
  return NULL;
}

/* inf, nan, or what C's strtod reads. */
static bool scan_float(struct parser *p, double *number) {
  struct scan ahead = p->scan;
  double sign = scan_char(&ahead, '-') ? -1 : 1;
  if (scan_word(&ahead, "inf") || scan_word(&ahead, "nan")) {
    *number = sign * (ahead.at[-1] == 'f' ? INFINITY : NAN);
    p->scan = ahead;
    return true;
  }
  scan_end_of_line(&ahead); /* skips blanks */
  if (*ahead.at != '.' && (*ahead.at < '0' || *ahead.at > '9'))
    return false;
  char *end;
  *number = sign * strtod(ahead.at, &end);
  if (end == ahead.at)
    return false;
  p->scan.at = end;
  return true;
}

/* A number, as e's type has it. */
static bool parse_number(struct parser *p, struct nest_expr *e) {
  struct scan ahead = p->scan;
  uint64_t element;
  int64_t whole;
  double number;
  bool is_float = dtype_kind(e->type) == DTYPE_FLOAT;
  e->op = NEST_NUMBER;
  if (scan_int(&ahead, &whole) && *ahead.at != '.') {
    p->scan = ahead;
    number = (double)whole;
  } else if (!is_float || !scan_float(p, &number))
    return false;
  if (is_float) {
    dtype_store_float(e->type, &element, number);
    e->number = dtype_load_float(e->type, &element);
    return true;
  }
  dtype_store_int(e->type, &element, whole);
  e->integer = dtype_load_int(e->type, &element);
  e->number = (double)e->integer;
  return true;
}

static const struct nest_expr *parse_factor(struct parser *p, int depth) {
  struct nest_expr *e = make(p, NEST_NUMBER);
  if (depth > DEPTH_MAX) {
    fail(p, "a shallower expression");
    return NULL;
  }
  if (parse_number(p, e))
    return e;
  if (scan_char(&p->scan, '('))
    return parse_parentheses(p, depth);
  e->loop = p->loop;
  if (scan_char(&p->scan, '[')) {
    e->op = NEST_LIMIT;
    e->type = DTYPE_U8;
    return parse_limit(p, &e->limit) ? convert(p, e, p->type) : NULL;
  }
  char *name = scan_name(&p->scan, p->arena);
  if (!name) {
    fail(p, "a number, a name or '('");
    return NULL;
  }
  if (scan_char(&p->scan, '('))
    return parse_call(p, name, depth);
  if (!scan_char(&p->scan, '[')) {
    e->outside = find(&p->outside, name);
    e->op = e->outside >= 0 ? NEST_OUTSIDE : NEST_SCALAR;
    e->scalar = e->outside >= 0 ? 0 : intern_scalar(p, name);
    if (e->scalar < 0)
      return NULL;
    e->type = e->outside >= 0 ? p->outside_type[e->outside]
                              : p->scalar_type[e->scalar];
    return convert(p, e, p->type);
  }
  e->op = NEST_LOAD;
  e->order = p->order;
  if (!parse_access(p, name, &e->access))
    return NULL;
  e->conditional = scan_char(&p->scan, '?');
  e->type = e->access.type;
  return convert(p, e, p->type);
}

static const struct nest_expr *two(struct parser *p, enum nest_op op,
                                   const struct nest_expr *left,
                                   const struct nest_expr *right) {
  if (!left || !right)
    return NULL;
  struct nest_expr *e = make(p, op);
  e->arg[0] = left;
  e->arg[1] = right;
  return e;
}

static const struct nest_expr *parse_product(struct parser *p, int depth) {
  const struct nest_expr *e = parse_factor(p, depth);
  for (int i = 0; e && scan_char(&p->scan, '*'); i++)
    e = i < DEPTH_MAX ? two(p, NEST_MUL, e, parse_factor(p, depth)) : NULL;
  return e;
}

static const struct nest_expr *parse_sum(struct parser *p, int depth) {
  const struct nest_expr *e = parse_product(p, depth);
  for (int i = 0; e; i++) {
    bool plus = scan_char(&p->scan, '+');
    if (!plus && !scan_char(&p->scan, '-'))
      return e;
    if (i == DEPTH_MAX)
      break;
    e = two(p, plus ? NEST_ADD : NEST_SUB, e, parse_product(p, depth));
  }
  fail(p, "a shorter expression");
  return NULL;
}

/* Finds ": type [ordered]" at the end of the line before the line is read. */
static bool parse_type(struct parser *p) {
  struct scan ahead = p->scan;
  for (const char *c = p->scan.at; *c && *c != '\n' && *c != '#'; c++)
    if (*c == ':')
      ahead.at = c;
  p->type = DTYPE_F32;
  p->reassoc = true;
  if (!scan_char(&ahead, ':'))
    return fail(p, "a statement that ends in ': type'");
  char *name = scan_name(&ahead, p->arena);
  if (!name || !dtype_parse(name, &p->type))
    return scan_expected(&ahead, p->diag, "a data type");
  p->compare = p->type;
  p->reassoc = !scan_word(&ahead, "ordered");
  return scan_end_of_line(&ahead) ||
         scan_expected(&ahead, p->diag, "the end of the line");
}

static const struct nest_expr *old_value(struct parser *p,
                                         const struct nest_statement *s) {
  struct nest_expr *e = make(p, s->is_store ? NEST_LOAD : NEST_SCALAR);
  e->scalar = s->scalar;
  e->type = s->is_store ? s->to.type : p->scalar_type[s->scalar];
  e->access = s->to;
  e->loop = p->loop;
  e->order = p->order;
  return convert(p, e, p->type);
}

static bool parse_statement(struct parser *p, char *name) {
  struct nest *n = p->nest;
  if (n->statement_count == STATEMENTS_MAX)
    return fail(p, "fewer statements");
  struct nest_statement *s = &n->statement[n->statement_count];
  s->at = scan_loc(&p->scan);
  s->loop = p->loop;
  p->order = 2 * n->statement_count + 1; /* loads come before their store */
  s->order = p->order + 1;
  if (!parse_type(p))
    return false;
  if (scan_char(&p->scan, '[')) {
    s->is_store = true;
    if (!parse_access(p, name, &s->to))
      return false;
    s->conditional = scan_char(&p->scan, '?');
  } else if (find(&p->outside, name) >= 0)
    return fail(p, "a name that is no number from outside");
  else if ((s->scalar = intern_scalar(p, name)) < 0)
    return false;
  bool plus = scan_char(&p->scan, '+');
  bool minus = !plus && scan_char(&p->scan, '-');
  if (!scan_char(&p->scan, '='))
    return fail(p, "'=' or '+='");
  const struct nest_expr *e = parse_sum(p, 0);
  if (e && (plus || minus))
    e = two(p, plus ? NEST_ADD : NEST_SUB, old_value(p, s), e);
  if (!e)
    return fail(p, "an expression");
  s->value =
      convert(p, e, s->is_store ? s->to.type : p->scalar_type[s->scalar]);
  n->statement_count++;
  if (!scan_char(&p->scan, ':'))
    return fail(p, "':'");
  scan_name(&p->scan, p->arena); /* the type, which parse_type has read */
  scan_word(&p->scan, "ordered");
  return scan_end_of_line(&p->scan) || fail(p, "the end of the line");
}

static bool parse_cutter(struct parser *p, int *cutter) {
  *cutter = -1;
  if (!scan_word(&p->scan, "cut"))
    return true;
  char *name = scan_word(&p->scan, "by") ? scan_name(&p->scan, p->arena) : NULL;
  return (name && (*cutter = find_loop(p, name)) >= 0) ||
         fail(p, "'by' and a loop around this one");
}

static bool parse_step(struct parser *p, int64_t *step) {
  *step = 1;
  return !scan_word(&p->scan, "step") ||
         (scan_int(&p->scan, step) && *step > 0) ||
         fail(p, "a step above zero");
}

/* The last one of that name beside the loop. */
static bool parse_after(struct parser *p, int *after) {
  *after = -1;
  if (!scan_word(&p->scan, "after"))
    return true;
  char *name = scan_name(&p->scan, p->arena);
  for (int l = 0; name && l < p->nest->loop_count; l++)
    if (p->nest->loop[l].parent == p->loop &&
        strcmp(p->nest->loop[l].name, name) == 0)
      *after = l;
  return *after >= 0 || fail(p, "a loop that has ended here");
}

static bool parse_loop(struct parser *p) {
  struct nest *n = p->nest;
  if (n->loop_count == NAMES_MAX)
    return fail(p, "fewer loops");
  struct nest_loop *l = &n->loop[n->loop_count];
  l->at = scan_loc(&p->scan);
  l->parent = p->loop;
  if (n->loop_count > 0 && p->loop < 0)
    return fail(p, "one outermost loop");
  if (!(l->name = scan_name(&p->scan, p->arena)))
    return fail(p, "the loop's name");
  if (find_loop(p, l->name) >= 0)
    return fail(p, "another name than that of a loop around it");
  if (!parse_value(p, &l->extent) || !parse_cutter(p, &l->cut_by) ||
      !parse_step(p, &l->step) || !parse_after(p, &l->after))
    return false;
  l->down = scan_word(&p->scan, "down");
  p->loop = n->loop_count++;
  return true;
}

static bool parse_tensor(struct parser *p) {
  char *name = scan_name(&p->scan, p->arena);
  int tensor = name ? intern(p, &p->tensor, name) : -1;
  char *type = tensor < 0 ? NULL : scan_name(&p->scan, p->arena);
  if (!type || !dtype_parse(type, &p->tensor_type[tensor]))
    return fail(p, "a tensor's name and its data type");
  p->tensor_typed[tensor] = true;
  if (scan_word(&p->scan, "pitch")) {
    char *pitch = scan_name(&p->scan, p->arena);
    if (!pitch)
      return fail(p, "the name of a run-time value");
    if ((p->tensor_pitch[tensor] = intern(p, &p->symbol, pitch)) < 0)
      return false;
  }
  p->tensor_local[tensor] = scan_word(&p->scan, "local");
  return true;
}

static bool parse_outside(struct parser *p) {
  char *name = scan_name(&p->scan, p->arena);
  if (!name || find(&p->scalar, name) >= 0)
    return fail(p, "a name that is no scalar's");
  int i = intern(p, &p->outside, name);
  char *type = i < 0 ? NULL : scan_name(&p->scan, p->arena);
  return (type && dtype_parse(type, &p->outside_type[i])) ||
         fail(p, "a number's name and its data type");
}

static bool parse_end(struct parser *p) {
  if (p->loop < 0)
    return fail(p, "a loop to end");
  p->loop = p->nest->loop[p->loop].parent;
  return true;
}

static bool parse_infinite(struct parser *p) {
  return p->nest->infinite = true;
}

static bool parse_line(struct parser *p) {
  static const struct {
    const char *word;
    bool (*parse)(struct parser *);
  } line[] = {{"tensor", parse_tensor},
              {"number", parse_outside},
              {"infinite", parse_infinite},
              {"loop", parse_loop},
              {"end", parse_end}};
  char *word = scan_name(&p->scan, p->arena);
  if (!word)
    return fail(p, "tensor, number, infinite, loop, end or a statement");
  for (size_t i = 0; i < sizeof line / sizeof *line; i++)
    if (strcmp(word, line[i].word) == 0)
      return line[i].parse(p) &&
             (scan_end_of_line(&p->scan) || fail(p, "the end of the line"));
  return parse_statement(p, word);
}

static const char **names(struct parser *p, const struct names *n) {
  return arena_copy(p->arena, n->item, NAMES_MAX, NAMES_MAX, sizeof(char *));
}

struct nest *nest_parse(struct arena *a, const char *file, const char *text,
                        struct diag *d) {
  struct nest *n = arena_alloc(a, sizeof *n);
  struct parser *p = arena_alloc(a, sizeof *p);
  *p = (struct parser){.scan = scan_open(file, text),
                       .arena = a,
                       .diag = d,
                       .nest = n,
                       .loop = -1};
  for (int i = 0; i < NAMES_MAX; i++)
    p->tensor_pitch[i] = -1;
  n->at = scan_loc(&p->scan);
  n->loop = arena_array(a, NAMES_MAX, sizeof *n->loop);
  n->statement = arena_array(a, STATEMENTS_MAX, sizeof *n->statement);
  while (!scan_end(&p->scan))
    if (!parse_line(p))
      return NULL;
  n->tensor_count = p->tensor.count;
  n->tensor = names(p, &p->tensor);
  n->symbol_count = p->symbol.count;
  n->symbol = names(p, &p->symbol);
  n->pitch =
      arena_copy(a, p->tensor_pitch, NAMES_MAX, NAMES_MAX, sizeof *n->pitch);
  n->local =
      arena_copy(a, p->tensor_local, NAMES_MAX, NAMES_MAX, sizeof *n->local);
  n->scalar_count = p->scalar.count;
  n->scalar = names(p, &p->scalar);
  n->outside_count = p->outside.count;
  n->outside = names(p, &p->outside);
  return nest_check(n, d) ? n : NULL;
}
