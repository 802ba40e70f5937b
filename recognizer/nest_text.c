/* nest_text.c -- nests as text, and back.
 *
 *     tensor A i8              a tensor and its type; without a line: the sum's
 *     loop i 64                a loop; loops and statements below stand in it
 *     loop k n                 a name that is no loop is a run-time value
 *     out[i*32 + j] += A[i*16 + k] * B[k*32 + j] : i32
 *     s = 0 : f32 ordered      a scalar; ordered: no other order of the sum
 *     end                      closes the innermost loop
 *
 * A constant in an index counts elements; a run-time value counts bytes.  The
 * type behind the colon is the one in which a statement computes: operands of
 * other types are converted to it, and its result to the target's.  A function
 * call such as max(a, b) stands for an operation that is no sum or product. */
#include "recognizer_parts.h"

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
  struct names tensor, symbol, scalar;
  enum dtype tensor_type[NAMES_MAX];
  bool tensor_typed[NAMES_MAX];
  enum dtype type; /* of the statement that is being read */
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

/* loop, loop*factor or factor*loop, added to the strides. */
static bool parse_term(struct parser *p, struct nest_access *x) {
  struct value factor = value_of(1);
  int loop = -1;
  do {
    struct value v = value_of(0);
    char *name = NULL;
    if (!scan_int(&p->scan, &v.constant)) {
      if (!(name = scan_name(&p->scan, p->arena)))
        return fail(p, "a loop, a number or a run-time value");
      int l = find_loop(p, name);
      if (l >= 0 && loop < 0) {
        loop = l;
        continue;
      }
      if (l >= 0)
        return fail(p, "one loop per term");
      if ((v.symbol = intern(p, &p->symbol, name)) < 0)
        return false;
    }
    if (!value_is(factor, 1))
      return fail(p, "one factor per term");
    factor = v;
  } while (scan_char(&p->scan, '*'));
  if (loop < 0)
    return value_is(factor, 0) || fail(p, "a loop in every term");
  if (!value_is(x->stride_bytes[loop], 0))
    return fail(p, "each loop once");
  if (factor.symbol < 0 &&
      __builtin_mul_overflow(factor.constant, dtype_bytes(x->type),
                             &factor.constant))
    return fail(p, "a smaller factor");
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
  do
    if (!parse_term(p, x))
      return false;
  while (scan_char(&p->scan, '+'));
  return scan_char(&p->scan, ']') || fail(p, "']'");
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

enum { DEPTH_MAX = 24 };
static const struct nest_expr *parse_sum(struct parser *p, int depth);

/* The operands of a call are read and forgotten. */
static const struct nest_expr *parse_call(struct parser *p, const char *name,
                                          int depth) {
  struct nest_expr *e = make(p, NEST_OTHER);
  e->what = name;
  do
    if (!parse_sum(p, depth + 1))
      return NULL;
  while (scan_char(&p->scan, ','));
  if (scan_char(&p->scan, ')'))
    return e;
  fail(p, "')'");
  return NULL;
}

static const struct nest_expr *parse_factor(struct parser *p, int depth) {
  struct nest_expr *e = make(p, NEST_NUMBER);
  int64_t number;
  if (depth > DEPTH_MAX) {
    fail(p, "a shallower expression");
    return NULL;
  }
  if (scan_int(&p->scan, &number)) {
    e->number = (double)number;
    return e;
  }
  if (scan_char(&p->scan, '(')) {
    const struct nest_expr *inner = parse_sum(p, depth + 1);
    if (inner && scan_char(&p->scan, ')'))
      return inner;
    fail(p, "')'");
    return NULL;
  }
  char *name = scan_name(&p->scan, p->arena);
  if (!name) {
    fail(p, "a number, a name or '('");
    return NULL;
  }
  if (scan_char(&p->scan, '('))
    return parse_call(p, name, depth);
  if (!scan_char(&p->scan, '[')) {
    e->op = NEST_SCALAR;
    e->scalar = intern(p, &p->scalar, name);
    return e->scalar < 0 ? NULL : e;
  }
  e->op = NEST_LOAD;
  e->loop = p->loop;
  e->order = p->order;
  if (!parse_access(p, name, &e->access))
    return NULL;
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
  while (*ahead.at && *ahead.at != '\n' && *ahead.at != '#' && *ahead.at != ':')
    ahead.at++;
  p->type = DTYPE_F32;
  p->reassoc = true;
  if (!scan_char(&ahead, ':'))
    return fail(p, "a statement that ends in ': type'");
  char *name = scan_name(&ahead, p->arena);
  if (!name || !dtype_parse(name, &p->type))
    return scan_expected(&ahead, p->diag, "a data type");
  p->reassoc = !scan_word(&ahead, "ordered");
  return scan_end_of_line(&ahead) ||
         scan_expected(&ahead, p->diag, "the end of the line");
}

static const struct nest_expr *old_value(struct parser *p,
                                         const struct nest_statement *s) {
  struct nest_expr *e = make(p, s->is_store ? NEST_LOAD : NEST_SCALAR);
  e->scalar = s->scalar;
  if (!s->is_store)
    return e;
  e->access = s->to;
  e->type = s->to.type;
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
  } else if ((s->scalar = intern(p, &p->scalar, name)) < 0)
    return false;
  bool plus = scan_char(&p->scan, '+');
  if (!scan_char(&p->scan, '='))
    return fail(p, "'=' or '+='");
  const struct nest_expr *e = parse_sum(p, 0);
  if (e && plus)
    e = two(p, NEST_ADD, old_value(p, s), e);
  if (!e)
    return fail(p, "an expression");
  s->value = s->is_store ? convert(p, e, s->to.type) : e;
  n->statement_count++;
  if (!scan_char(&p->scan, ':'))
    return fail(p, "':'");
  scan_next_line(&p->scan);
  return true;
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
  if (!parse_value(p, &l->extent))
    return false;
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
  return true;
}

static bool parse_line(struct parser *p) {
  char *word = scan_name(&p->scan, p->arena);
  if (!word)
    return fail(p, "tensor, loop, end or a statement");
  if (strcmp(word, "tensor") == 0 && !parse_tensor(p))
    return false;
  if (strcmp(word, "loop") == 0 && !parse_loop(p))
    return false;
  if (strcmp(word, "end") == 0) {
    if (p->loop < 0)
      return fail(p, "a loop to end");
    p->loop = p->nest->loop[p->loop].parent;
  } else if (strcmp(word, "tensor") != 0 && strcmp(word, "loop") != 0)
    return parse_statement(p, word);
  if (!scan_end_of_line(&p->scan))
    return fail(p, "the end of the line");
  return true;
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
  n->at = scan_loc(&p->scan);
  n->loop = arena_array(a, NAMES_MAX, sizeof *n->loop);
  n->statement = arena_array(a, STATEMENTS_MAX, sizeof *n->statement);
  while (!scan_end(&p->scan))
    if (!parse_line(p))
      return NULL;
  n->tensor_count = p->tensor.count;
  n->tensor =
      arena_copy(a, p->tensor.item, NAMES_MAX, NAMES_MAX, sizeof(char *));
  n->symbol_count = p->symbol.count;
  n->symbol =
      arena_copy(a, p->symbol.item, NAMES_MAX, NAMES_MAX, sizeof(char *));
  n->scalar_count = p->scalar.count;
  n->scalar =
      arena_copy(a, p->scalar.item, NAMES_MAX, NAMES_MAX, sizeof(char *));
  return nest_check(n, d) ? n : NULL;
}

/* ---- print ---- */

static void print_value(const struct nest *n, struct value v, struct text *t) {
  if (v.symbol >= 0)
    text_puts(t, n->symbol[v.symbol]);
  else
    text_printf(t, "%lld", (long long)v.constant);
}

static void print_access(const struct nest *n, const struct nest_access *x,
                         struct text *t) {
  text_printf(t, "%s[", n->tensor[x->tensor]);
  const char *plus = "";
  for (int l = 0; l < n->loop_count; l++) {
    struct value v = x->stride_bytes[l];
    if (value_is(v, 0))
      continue;
    text_printf(t, "%s%s", plus, n->loop[l].name);
    if (v.symbol < 0)
      v.constant /= dtype_bytes(x->type);
    if (!value_is(v, 1)) {
      text_puts(t, "*");
      print_value(n, v, t);
    }
    plus = " + ";
  }
  text_puts(t, *plus ? "]" : "0]");
}

static void print_expr(const struct nest *n, const struct nest_expr *e,
                       struct text *t) {
  switch (e->op) {
  case NEST_NUMBER:
    text_printf(t, "%g", e->number);
    return;
  case NEST_LOAD:
    print_access(n, &e->access, t);
    return;
  case NEST_SCALAR:
    text_puts(t, n->scalar[e->scalar]);
    return;
  case NEST_CAST:
    print_expr(n, e->arg[0], t);
    return;
  default:
    text_printf(t, "other(0)");
    return;
  case NEST_ADD:
  case NEST_SUB:
  case NEST_MUL:
    text_puts(t, "(");
    print_expr(n, e->arg[0], t);
    text_puts(t, e->op == NEST_ADD ? " + " : e->op == NEST_SUB ? " - " : " * ");
    print_expr(n, e->arg[1], t);
    text_puts(t, ")");
    return;
  }
}

/* The type in which a statement computes, and whether every sum is free. */
static enum dtype compute_type(const struct nest_expr *e) {
  while (e->op == NEST_CAST)
    e = e->arg[0];
  return e->type;
}

static bool is_free(const struct nest_expr *e) {
  switch (e->op) {
  case NEST_ADD:
    return e->reassoc && is_free(e->arg[0]) && is_free(e->arg[1]);
  case NEST_SUB:
  case NEST_MUL:
    return is_free(e->arg[0]) && is_free(e->arg[1]);
  case NEST_CAST:
    return is_free(e->arg[0]);
  default:
    break;
  }
  return true;
}

static void indent(int depth, struct text *t) {
  text_printf(t, "%*s", 2 * depth, "");
}

static void print_statement(const struct nest *n,
                            const struct nest_statement *s, int depth,
                            struct text *t) {
  indent(depth, t);
  if (s->is_store)
    print_access(n, &s->to, t);
  else
    text_puts(t, n->scalar[s->scalar]);
  text_puts(t, " = ");
  print_expr(n, s->value, t);
  text_printf(t, " : %s%s\n", dtype_name(compute_type(s->value)),
              is_free(s->value) ? "" : " ordered");
}

/* The type of the first access to a tensor. */
static const enum dtype *tensor_type(const struct nest *n, int tensor,
                                     const struct nest_expr *e) {
  if (e->op == NEST_LOAD)
    return e->access.tensor == tensor ? &e->access.type : NULL;
  if (e->op == NEST_CAST)
    return tensor_type(n, tensor, e->arg[0]);
  if (e->op != NEST_ADD && e->op != NEST_SUB && e->op != NEST_MUL)
    return NULL;
  const enum dtype *left = tensor_type(n, tensor, e->arg[0]);
  return left ? left : tensor_type(n, tensor, e->arg[1]);
}

static void print_tensors(const struct nest *n, struct text *t) {
  for (int i = 0; i < n->tensor_count; i++) {
    const enum dtype *type = NULL;
    for (int j = 0; j < n->statement_count && !type; j++) {
      const struct nest_statement *s = &n->statement[j];
      type = s->is_store && s->to.tensor == i ? &s->to.type
                                              : tensor_type(n, i, s->value);
    }
    if (type)
      text_printf(t, "tensor %s %s\n", n->tensor[i], dtype_name(*type));
  }
}

/* Loops are opened where their first statement stands, in program order. */
void nest_print(const struct nest *n, struct text *t) {
  int open[NAMES_MAX], depth = 0;
  print_tensors(n, t);
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    int path[NAMES_MAX];
    int count = nest_path(n, s->loop, path);
    int same = 0;
    while (same < count && same < depth && open[same] == path[same])
      same++;
    while (depth > same) {
      indent(--depth, t);
      text_puts(t, "end\n");
    }
    for (; depth < count; depth++) {
      const struct nest_loop *l = &n->loop[path[depth]];
      open[depth] = path[depth];
      indent(depth, t);
      text_printf(t, "loop %s ", l->name);
      print_value(n, l->extent, t);
      text_puts(t, "\n");
    }
    print_statement(n, s, depth, t);
  }
}
