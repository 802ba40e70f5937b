/* nest_print.c -- nests as text, in the form that nest_parse.c describes: what
 * is printed parses to a nest that prints the same.  Left out is what that form
 * cannot say: loads that run before the statement that uses them, and what a
 * statement that no contraction has was made of. */
#include "recognizer_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_value(const struct nest *n, struct value v, struct text *t) {
  if (v.symbol >= 0)
    text_puts(t, n->symbol[v.symbol]);
  else
    text_printf(t, "%lld", (long long)v.constant);
}

static void print_distance(const struct nest *n, struct value v,
                           enum dtype type, struct text *t) {
  if (v.symbol >= 0)
    text_puts(t, n->symbol[v.symbol]);
  else if (v.constant % dtype_bytes(type))
    text_printf(t, "bytes(%lld)", (long long)v.constant);
  else
    text_printf(t, "%lld", (long long)(v.constant / dtype_bytes(type)));
}

/* Between two terms of an index; gives what is left to print of v. */
static struct value print_sign(struct value v, bool first, struct text *t) {
  bool minus = v.symbol < 0 && v.constant < 0 && v.constant > INT64_MIN;
  if (!first)
    text_puts(t, minus ? " - " : " + ");
  return minus && !first ? value_of(-v.constant) : v;
}

static void print_access(const struct nest *n, const struct nest_access *x,
                         struct text *t) {
  text_printf(t, "%s[", n->tensor[x->tensor]);
  bool first = true;
  for (int l = 0; l < n->loop_count; l++) {
    struct value v = x->stride_bytes[l];
    if (value_is(v, 0))
      continue;
    v = print_sign(v, first, t);
    text_puts(t, n->loop[l].name);
    if (!value_is(v, dtype_bytes(x->type))) {
      text_puts(t, "*");
      print_distance(n, v, x->type, t);
    }
    first = false;
  }
  if (x->rows) {
    struct value rows = print_sign(value_of(x->rows), first, t);
    text_printf(t, "rows(%lld)", (long long)rows.constant);
    first = false;
  }
  if (first || x->offset_bytes)
    print_distance(n, print_sign(value_of(x->offset_bytes), first, t), x->type,
                   t);
  text_puts(t, "]");
}

static void print_limit(const struct nest *n, const struct affine_guard *x,
                        struct text *t) {
  text_puts(t, "[");
  bool first = true;
  for (int l = 0; l < n->loop_count; l++) {
    struct value v = x->step[l];
    if (value_is(v, 0))
      continue;
    v = print_sign(v, first, t);
    text_puts(t, n->loop[l].name);
    if (!value_is(v, 1)) {
      text_puts(t, "*");
      print_value(n, v, t);
    }
    first = false;
  }
  if (first || !value_is(x->start, 0))
    print_value(n, print_sign(x->start, first, t), t);
  text_puts(t, x->below ? " < 0" : " >= 0");
  text_puts(t, x->last ? " last]" : "]");
}

/* With as many digits as bring the number back. */
static void print_number(const struct nest_expr *e, struct text *t) {
  if (dtype_kind(e->type) != DTYPE_FLOAT) {
    text_printf(t, "%lld", (long long)e->integer);
    return;
  }
  char digits[40];
  for (int precision = 6; precision <= 17; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, e->number);
    if (strtod(digits, NULL) == e->number)
      break;
  }
  if (e->number == 0 && signbit(e->number))
    strcpy(digits, "-0.0"); /* -0 is a whole number */
  text_puts(t, isnan(e->number) ? "nan" : digits);
}

/* Its type is declared; a scalar's is that of the statement that names it
 * first. */
static bool has_own_type(const struct nest_expr *e) {
  return e->op == NEST_LOAD || e->op == NEST_OUTSIDE || e->op == NEST_LIMIT;
}

/* What the parser does where an expression stands: computes in `type`, compares
 * in `compare`, and reads a sum, a product or a factor. */
enum part { SUM, PRODUCT, FACTOR };
struct around {
  enum dtype type, compare;
  enum part part;
};
static void print_expr(const struct nest *n, const struct nest_expr *e,
                       struct around around, struct text *t);

static void print_call(const struct nest *n, const struct nest_expr *e,
                       enum dtype compare, struct text *t) {
  int count = calc_operands(nest_calc_op(e->op));
  struct around inside = {e->type, compare, SUM};
  enum dtype usual = compare;
  if (nest_is_truth(e->op)) {
    inside.type = e->arg[0]->type;
    usual = e->op == NEST_NOT ? DTYPE_U8 : compare;
    if (inside.type != usual || e->op != NEST_NOT)
      inside.compare = inside.type;
  }
  bool bits = e->op == NEST_BITS;
  if (bits)
    inside = (struct around){e->arg[0]->type, e->arg[0]->type, SUM};
  text_printf(t, "%s(", calc_name(nest_calc_op(e->op)));
  for (int i = 0; i < count; i++) {
    struct around x = inside;
    if (e->op == NEST_SELECT && i == 0)
      x.type = DTYPE_U8;
    text_puts(t, i ? ", " : "");
    print_expr(n, e->arg[i], x, t);
  }
  if (bits || (nest_is_truth(e->op) && inside.type != usual))
    text_printf(t, " : %s", dtype_name(inside.type));
  text_puts(t, ")");
}

/* In parentheses where the parser would take it apart. */
static void print_two(const struct nest *n, const struct nest_expr *e,
                      const char *sign, enum part part, struct around around,
                      struct text *t) {
  struct around side = {e->type, around.compare, part};
  text_puts(t, part < around.part ? "(" : "");
  print_expr(n, e->arg[0], side, t);
  text_puts(t, sign);
  side.part++;
  print_expr(n, e->arg[1], side, t);
  text_puts(t, part < around.part ? ")" : "");
}

static void print_expr(const struct nest *n, const struct nest_expr *e,
                       struct around around, struct text *t) {
  const struct nest_expr *x = e;
  if (e->op == NEST_CAST && e->type == around.type)
    x = e->arg[0];
  bool plain =
      has_own_type(x) || nest_is_truth(x->op) || x->type == around.type;
  if (!plain || (x != e && x->op == NEST_CAST)) {
    text_puts(t, "(");
    print_expr(n, x, (struct around){x->type, x->type, SUM}, t);
    text_printf(t, " : %s)", dtype_name(x->type));
    return;
  }
  switch (x->op) {
  case NEST_NUMBER:
    print_number(x, t);
    return;
  case NEST_LOAD:
    print_access(n, &x->access, t);
    text_puts(t, x->conditional ? "?" : "");
    return;
  case NEST_LIMIT:
    print_limit(n, &x->limit, t);
    return;
  case NEST_SCALAR:
    text_puts(t, n->scalar[x->scalar]);
    return;
  case NEST_OUTSIDE:
    text_puts(t, n->outside[x->outside]);
    return;
  case NEST_OTHER:
    text_puts(t, "other(0)");
    return;
  case NEST_ADD:
    print_two(n, x, " + ", SUM, around, t);
    return;
  case NEST_SUB:
    print_two(n, x, " - ", SUM, around, t);
    return;
  case NEST_MUL:
    print_two(n, x, " * ", PRODUCT, around, t);
    return;
  default:
    print_call(n, x, around.compare, t);
    return;
  }
}

/* What a statement computes, before it is converted to its target's type. */
static const struct nest_expr *computed(const struct nest_expr *e) {
  return e->op == NEST_CAST && !has_own_type(e->arg[0]) ? e->arg[0] : e;
}

/* Whether every sum and product is free to be reordered. */
static bool is_free(const struct nest_expr *e) {
  bool arithmetic = e->op == NEST_ADD || e->op == NEST_SUB || e->op == NEST_MUL;
  if (arithmetic && dtype_kind(e->type) == DTYPE_FLOAT && !e->reassoc)
    return false;
  for (int i = 0;
       e->op >= NEST_NUMBER && i < calc_operands(nest_calc_op(e->op)); i++)
    if (!is_free(e->arg[i]))
      return false;
  return true;
}

static void indent(int depth, struct text *t) {
  text_printf(t, "%*s", 2 * depth, "");
}

static void print_statement(const struct nest *n,
                            const struct nest_statement *s, int depth,
                            struct text *t) {
  const struct nest_expr *e = computed(s->value);
  indent(depth, t);
  if (s->is_store)
    print_access(n, &s->to, t);
  else
    text_puts(t, n->scalar[s->scalar]);
  text_puts(t, s->conditional ? "? = " : " = ");
  print_expr(n, e, (struct around){e->type, e->type, SUM}, t);
  text_printf(t, " : %s%s\n", dtype_name(e->type),
              is_free(e) ? "" : " ordered");
}

/* The first leaf of kind `op` that reads number `id` of its kind. */
static const struct nest_expr *find_leaf(const struct nest_expr *e,
                                         enum nest_op op, int id) {
  if (e->op == op && id == (op == NEST_LOAD ? e->access.tensor : e->outside))
    return e;
  for (int i = 0;
       e->op >= NEST_NUMBER && i < calc_operands(nest_calc_op(e->op)); i++) {
    const struct nest_expr *found = find_leaf(e->arg[i], op, id);
    if (found)
      return found;
  }
  return NULL;
}

/* The type of the first access to a tensor, or of a number from outside. */
static const enum dtype *leaf_type(const struct nest *n, enum nest_op op,
                                   int id) {
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    if (op == NEST_LOAD && s->is_store && s->to.tensor == id)
      return &s->to.type;
    const struct nest_expr *e = find_leaf(s->value, op, id);
    if (e)
      return &e->type;
  }
  return NULL;
}

static void print_names(const struct nest *n, struct text *t) {
  text_puts(t, n->infinite ? "infinite\n" : "");
  for (int i = 0; i < n->tensor_count; i++) {
    const enum dtype *type = leaf_type(n, NEST_LOAD, i);
    if (!type)
      continue;
    text_printf(t, "tensor %s %s", n->tensor[i], dtype_name(*type));
    if (n->pitch[i] >= 0)
      text_printf(t, " pitch %s", n->symbol[n->pitch[i]]);
    if (n->local[i])
      text_puts(t, " local");
    text_puts(t, "\n");
  }
  for (int i = 0; i < n->multiple_count; i++)
    text_printf(t, "multiple %s %lld %s\n", n->symbol[n->multiple[i].symbol],
                (long long)n->multiple[i].times, n->symbol[n->multiple[i].of]);
  for (int i = 0; i < n->outside_count; i++) {
    const enum dtype *type = leaf_type(n, NEST_OUTSIDE, i);
    if (type)
      text_printf(t, "number %s %s\n", n->outside[i], dtype_name(*type));
  }
}

static bool has_statement(const struct nest *n, int loop) {
  for (int i = 0; i < n->statement_count; i++)
    if (nest_inside(n, n->statement[i].loop, loop))
      return true;
  return false;
}

static void print_loop(const struct nest *n, int loop, int depth,
                       struct text *t) {
  int before = n->loop[loop].after;
  if (before >= 0 && !has_statement(n, before)) {
    print_loop(n, before, depth, t);
    indent(depth, t);
    text_puts(t, "end\n");
  }
  indent(depth, t);
  text_printf(t, "loop %s ", n->loop[loop].name);
  print_value(n, n->loop[loop].extent, t);
  if (n->loop[loop].cut_by >= 0)
    text_printf(t, " cut by %s", n->loop[n->loop[loop].cut_by].name);
  if (n->loop[loop].step != 1)
    text_printf(t, " step %lld", (long long)n->loop[loop].step);
  if (n->loop[loop].after >= 0)
    text_printf(t, " after %s", n->loop[n->loop[loop].after].name);
  text_puts(t, n->loop[loop].down ? " down\n" : "\n");
}

/* Loops are opened where their first statement stands, in program order; one
 * without a statement is left out, unless there is no other. */
void nest_print(const struct nest *n, struct text *t) {
  int open[LOOPS_MAX], depth = 0;
  bool opened = false;
  print_names(n, t);
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    int path[LOOPS_MAX];
    int count = nest_path(n, s->loop, path);
    int same = 0;
    while (same < count && same < depth && open[same] == path[same])
      same++;
    while (depth > same) {
      indent(--depth, t);
      text_puts(t, "end\n");
    }
    opened |= count > 0;
    for (; depth < count; depth++)
      print_loop(n, open[depth] = path[depth], depth, t);
    print_statement(n, s, depth, t);
  }
  if (!opened)
    print_loop(n, 0, 0, t);
}
