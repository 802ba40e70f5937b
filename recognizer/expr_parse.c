/* expr_parse.c -- what a line of a nest's text is made of: names, values,
 * places in tensors, and expressions.  nest_parse.c reads the lines, and
 * describes the form. */
#include "nest_parser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool parser_fail(struct parser *p, const char *what) {
  return scan_expected(&p->scan, p->diag, what);
}

int parser_find(const struct names *n, const char *name) {
  for (int i = 0; i < n->count; i++)
    if (strcmp(n->item[i], name) == 0)
      return i;
  return -1;
}

int parser_intern(struct parser *p, struct names *n, const char *name) {
  int i = parser_find(n, name);
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

int parser_loop(const struct parser *p, const char *name) {
  for (int l = p->loop; l >= 0; l = p->nest->loop[l].parent)
    if (strcmp(p->nest->loop[l].name, name) == 0)
      return l;
  return -1;
}

bool parser_value(struct parser *p, struct value *v) {
  *v = value_of(0);
  if (scan_int(&p->scan, &v->constant))
    return true;
  char *name = scan_name(&p->scan, p->arena);
  if (!name)
    return parser_fail(p, "a number or the name of a run-time value");
  return (v->symbol = parser_intern(p, &p->symbol, name)) >= 0;
}

/* A constant in bytes: elements, or bytes(5); or a run-time value. */
static bool parse_distance(struct parser *p, const struct nest_access *x,
                           char *name, struct value *v) {
  *v = value_of(0);
  bool bytes = name && strcmp(name, "bytes") == 0 && scan_char(&p->scan, '(');
  if (name && !bytes)
    return (v->symbol = parser_intern(p, &p->symbol, name)) >= 0;
  if (!scan_int(&p->scan, &v->constant))
    return parser_fail(p, "a loop, a number or a run-time value");
  if (bytes)
    return scan_char(&p->scan, ')') || parser_fail(p, "')'");
  return !__builtin_mul_overflow(v->constant, dtype_bytes(x->type),
                                 &v->constant) ||
         parser_fail(p, "a smaller factor");
}

/* The number behind "rows", in parentheses. */
static bool parse_rows(struct parser *p, struct nest_access *x, bool minus) {
  int64_t rows;
  if (p->tensor_pitch[x->tensor] < 0)
    return parser_fail(p, "a tensor with a pitch");
  if (!scan_int(&p->scan, &rows) || !scan_char(&p->scan, ')'))
    return parser_fail(p, "a number of rows and ')'");
  bool over = minus ? __builtin_sub_overflow(x->rows, rows, &x->rows)
                    : __builtin_add_overflow(x->rows, rows, &x->rows);
  return !over || parser_fail(p, "fewer rows");
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
    int l = name ? parser_loop(p, name) : -1;
    if (l >= 0 && loop >= 0)
      return parser_fail(p, "one loop per term");
    if (l >= 0) {
      loop = l;
      continue;
    }
    if (has_factor)
      return parser_fail(p, "one factor per term");
    has_factor = true;
    if (!parse_distance(p, x, name, &factor))
      return false;
  } while (scan_char(&p->scan, '*'));
  if (factor.symbol >= 0 && (loop < 0 || minus))
    return parser_fail(p, loop < 0 ? "a loop in every term" : "'+'");
  if (minus && __builtin_sub_overflow(0, factor.constant, &factor.constant))
    return parser_fail(p, "a smaller factor");
  if (loop < 0)
    return !__builtin_add_overflow(x->offset_bytes, factor.constant,
                                   &x->offset_bytes) ||
           parser_fail(p, "a smaller offset");
  if (!value_is(x->stride_bytes[loop], 0))
    return parser_fail(p, "each loop once");
  x->stride_bytes[loop] = factor;
  return true;
}

bool parser_access(struct parser *p, char *name, struct nest_access *x) {
  if ((x->tensor = parser_intern(p, &p->tensor, name)) < 0)
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
  return scan_char(&p->scan, ']') || parser_fail(p, "']'");
}

/* loop, loop*factor, or what the limit starts from. */
static bool parse_limit_term(struct parser *p, struct affine_guard *x,
                             bool minus) {
  struct scan ahead = p->scan;
  char *name = scan_name(&ahead, p->arena);
  int loop = name ? parser_loop(p, name) : -1;
  struct value *to = loop < 0 ? &x->start : &x->step[loop], v = value_of(1);
  if (!value_is(*to, 0))
    return parser_fail(p, "each loop once, and one start");
  if (loop >= 0)
    p->scan = ahead;
  if ((loop < 0 || scan_char(&p->scan, '*')) && !parser_value(p, &v))
    return false;
  if (minus &&
      (v.symbol >= 0 || __builtin_sub_overflow(0, v.constant, &v.constant)))
    return parser_fail(p, "'+' or a smaller number");
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
    return parser_fail(p, "'>= 0' or '< 0'");
  if (!scan_int(&p->scan, &zero) || zero != 0)
    return parser_fail(p, "'0]'");
  x->last = scan_word(&p->scan, "last");
  return scan_char(&p->scan, ']') || parser_fail(p, "'last]' or ']'");
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
int parser_scalar(struct parser *p, const char *name) {
  int i = parser_intern(p, &p->scalar, name);
  if (i >= 0 && !p->scalar_typed[i]) {
    p->scalar_typed[i] = true;
    p->scalar_type[i] = p->type;
  }
  return i;
}

/* Deeper than what the plugin describes (passes/nest/operations.h). */
enum { DEPTH_MAX = 48 };
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
  return (name && dtype_parse(name, &type)) || parser_fail(p, "a data type");
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
    parser_fail(p, "another number of operands");
  else if (scan_char(&p->scan, ')'))
    return convert(p, e, p->type);
  parser_fail(p, "')'");
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
  parser_fail(p, "')'");
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
    parser_fail(p, "a shallower expression");
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
    parser_fail(p, "a number, a name or '('");
    return NULL;
  }
  if (scan_char(&p->scan, '('))
    return parse_call(p, name, depth);
  if (!scan_char(&p->scan, '[')) {
    e->outside = parser_find(&p->outside, name);
    e->op = e->outside >= 0 ? NEST_OUTSIDE : NEST_SCALAR;
    e->scalar = e->outside >= 0 ? 0 : parser_scalar(p, name);
    if (e->scalar < 0)
      return NULL;
    e->type = e->outside >= 0 ? p->outside_type[e->outside]
                              : p->scalar_type[e->scalar];
    return convert(p, e, p->type);
  }
  e->op = NEST_LOAD;
  e->order = p->order;
  if (!parser_access(p, name, &e->access))
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
  parser_fail(p, "a shorter expression");
  return NULL;
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

bool parser_assigned(struct parser *p, struct nest_statement *s) {
  bool plus = scan_char(&p->scan, '+');
  bool minus = !plus && scan_char(&p->scan, '-');
  if (!scan_char(&p->scan, '='))
    return parser_fail(p, "'=' or '+='");
  const struct nest_expr *e = parse_sum(p, 0);
  if (e && (plus || minus))
    e = two(p, plus ? NEST_ADD : NEST_SUB, old_value(p, s), e);
  if (!e)
    return parser_fail(p, "an expression");
  s->value =
      convert(p, e, s->is_store ? s->to.type : p->scalar_type[s->scalar]);
  return true;
}
