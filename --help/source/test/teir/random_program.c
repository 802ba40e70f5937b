/* random_program.c -- programs in which everything is called what would confuse
 * a reader of text: words of the language, numbers, punctuation, nothing. */
#include "random_program.h"
#include "calc.h"
#include "teir_build.h"

#include <assert.h>
#include <string.h>

static const char *const name[] = {
    "offset", "offset1", "stride", "extent",   "do",
    "and",    "to",      "from",   "with",     "expr",
    "when",   "along",   "over",   "on",       "calls",
    "M",      "1",       "-1",     "0x10",     "1.5",
    "",       " ",       "a b",    "#",        "# x",
    "]",      "=",       ",",      "\"",       "\\",
    "\\n",    "line\n2", "\t",     "first(a)", "f32",
    "f32:1",  "in0",     "in1",    "out",      "a",
    "k",      "null",    "true",   "{}",       "gr\xc3\xbc\xc3\x9f",
    "\x01",   "limit",   "teir 1"};
enum { NAMES = sizeof name / sizeof *name };

struct draw {
  struct arena *a;
  struct teir *t;
  uint64_t seed;
};

static int below(struct draw *r, int n) {
  r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((r->seed >> 33) % (uint64_t)n);
}

static const char *any(struct draw *r) { return name[below(r, NAMES)]; }

/* A number in low..high, or sometimes a symbol. */
static struct value size(struct draw *r, int low, int high) {
  if (r->t->symbol_count && below(r, 5) == 0)
    return (struct value){0, below(r, r->t->symbol_count)};
  return teir_constant(low + below(r, high - low + 1));
}

static void add_symbols(struct draw *r) {
  for (int i = below(r, 3); i > 0; i--) {
    const char *id = any(r);
    if (teir_find_symbol(r->t, id) < 0)
      teir_add_symbol(r->a, r->t, id);
  }
}

static void add_tensors(struct draw *r) {
  static const enum dtype type[] = {DTYPE_F32, DTYPE_I32, DTYPE_BF16};
  enum dtype all = type[below(r, 3)];
  for (int i = 1 + below(r, 4); i > 0; i--)
    teir_add_tensor(r->a, r->t, teir_fresh_tensor(r->a, r->t, any(r)), all);
}

static void add_axes(struct draw *r) {
  for (int i = 1 + below(r, 4); i > 0; i--) {
    int x = teir_add_axis(r->a, r->t, teir_fresh_axis(r->a, r->t, any(r)),
                          size(r, 1, 4));
    for (int j = 0; j < r->t->tensor_count; j++) {
      if (below(r, 2))
        r->t->axis[x].stride_bytes[j] = size(r, 0, 64);
      if (below(r, 4) == 0)
        r->t->axis[x].offset_bytes[j] = size(r, -8, 8);
    }
  }
}

/* max(first input, last input), the first one also where it is alone */
static const struct calc *expression(struct draw *r, int inputs) {
  enum dtype type = r->t->tensor[0].type;
  if (inputs == 0)
    return calc_int(r->a, DTYPE_I32, 3)->type == type
               ? calc_int(r->a, type, 3)
               : calc_float(r->a, type, 1.5);
  return calc_make(r->a, CALC_MAX, calc_input(r->a, 0, type),
                   calc_input(r->a, inputs - 1, type), NULL);
}

static void add_primitive(struct draw *r) {
  static const enum teir_op op[] = {TEIR_ZERO,  TEIR_COPY,       TEIR_RELU,
                                    TEIR_SCALE, TEIR_ADD,        TEIR_CLAMP,
                                    TEIR_MAP,   TEIR_CONTRACTION};
  struct teir *t = r->t;
  int x = teir_add_primitive(r->a, t, teir_fresh_primitive(r->a, t, any(r)),
                             op[below(r, (int)(sizeof op / sizeof *op))]);
  struct teir_primitive *p = &t->primitive[x];
  for (int role = 0; role < TEIR_ROLES; role++)
    for (int i = below(r, 3); i > 0; i--)
      if (role != TEIR_K || p->op == TEIR_CONTRACTION)
        teir_list_add(r->a, &p->role[role], below(r, t->axis_count));
  int inputs = p->op == TEIR_MAP ? below(r, 4) : teir_input_count(t, x);
  for (int i = 0; i <= inputs; i++)
    teir_list_add(r->a, &p->operand, below(r, t->tensor_count));
  if (p->op == TEIR_MAP) {
    /* two inputs of one name would be the first of them */
    for (int i = 1; i < inputs; i++)
      p->operand.item[i] = p->operand.item[0];
    p->expr = expression(r, inputs ? 1 : 0);
  }
  if (p->op == TEIR_SCALE)
    teir_add_property(r->a, t, x, "alpha", "-2.5e-3");
  if (p->op == TEIR_CLAMP) {
    teir_add_property(r->a, t, x, "low", "0");
    teir_add_property(r->a, t, x, "high", "+7");
  }
  if (below(r, 2)) {
    const char *key = any(r);
    if (!teir_property(t, x, key))
      teir_add_property(r->a, t, x, key, any(r));
  }
}

/* path[] holds the axes around the node. */
static int add_node(struct draw *r, const int *path, int depth) {
  struct teir *t = r->t;
  const char *id = teir_fresh_node(r->a, t, any(r));
  bool leaf = depth == 4 || below(r, 3) == 0;
  int n = leaf ? teir_add_invocation(r->a, t, id, below(r, t->primitive_count))
               : teir_add_iteration(r->a, t, id, below(r, t->axis_count));
  for (int i = depth ? below(r, 3) : 0; i > 0; i--)
    teir_add_guard(
        r->a, &t->node[n],
        (struct teir_guard_term){below(r, 2), path[below(r, depth)]});
  if (leaf)
    return n;
  t->node[n].policy = (enum teir_policy)below(r, 2);
  t->node[n].place = (enum teir_place)below(r, 4);
  int inside[5];
  memcpy(inside, path, (size_t)depth * sizeof *path);
  inside[depth] = t->node[n].axis;
  for (int i = 1 + below(r, 2); i > 0; i--) {
    int child = add_node(r, inside, depth + 1);
    teir_list_add(r->a, &t->node[n].children, child);
  }
  return n;
}

struct teir *random_program(struct arena *a, uint64_t seed) {
  struct draw r = {a, teir_empty(a, NULL), seed * 2654435761u + 1};
  add_symbols(&r);
  add_tensors(&r);
  add_axes(&r);
  for (int i = 1 + below(&r, 3); i > 0; i--)
    add_primitive(&r);
  for (int i = 1 + below(&r, 2); i > 0; i--) {
    int root = add_node(&r, (int[]){0}, 0);
    teir_list_add(a, &r.t->roots, root);
  }
  if (below(&r, 4) == 0) {
    struct affine_guard *l = teir_add_limit(a, r.t, below(&r, 2));
    l->start = size(&r, -4, 4);
    for (int i = 0; i < r.t->axis_count; i++)
      l->step[i] = size(&r, -1, 1);
  }
  return r.t;
}

/* ---- the same? ---- */
static bool same_text(const char *x, const char *y) {
  return strcmp(x, y) == 0;
}

static bool same_size(struct value x, struct value y) {
  return x.symbol == y.symbol && (x.symbol >= 0 || x.constant == y.constant);
}

static bool same_list(struct teir_list x, struct teir_list y) {
  return x.count == y.count &&
         (x.count <= 0 ||
          memcmp(x.item, y.item, (size_t)x.count * sizeof *x.item) == 0);
}

static bool same_axis(const struct teir *t, const struct teir_axis *x,
                      const struct teir_axis *y) {
  bool same = same_text(x->id, y->id) && same_size(x->extent, y->extent);
  for (int j = 0; j < t->tensor_count; j++)
    same = same && same_size(x->stride_bytes[j], y->stride_bytes[j]) &&
           same_size(x->offset_bytes[j], y->offset_bytes[j]);
  return same;
}

static bool same_primitive(const struct teir_primitive *x,
                           const struct teir_primitive *y) {
  bool same = same_text(x->id, y->id) && x->op == y->op &&
              same_list(x->operand, y->operand) &&
              x->property_count == y->property_count && !x->expr == !y->expr &&
              (!x->expr || calc_equal(x->expr, y->expr));
  for (int r = 0; r < TEIR_ROLES; r++)
    same = same && same_list(x->role[r], y->role[r]);
  for (int i = 0; same && i < x->property_count; i++)
    same = same_text(x->property[i].key, y->property[i].key) &&
           same_text(x->property[i].value, y->property[i].value);
  return same;
}

static bool same_node(const struct teir_node *x, const struct teir_node *y) {
  bool same = same_text(x->id, y->id) && x->kind == y->kind &&
              x->axis == y->axis && x->policy == y->policy &&
              x->place == y->place && x->primitive == y->primitive &&
              same_list(x->children, y->children) &&
              x->guard_count == y->guard_count;
  for (int i = 0; same && i < x->guard_count; i++)
    same = x->guard[i].last == y->guard[i].last &&
           x->guard[i].axis == y->guard[i].axis;
  return same;
}

static bool same_limit(const struct teir *t, const struct affine_guard *x,
                       const struct affine_guard *y) {
  bool same = x->below == y->below && same_size(x->start, y->start);
  for (int i = 0; i < t->axis_count; i++)
    same = same && same_size(x->step[i], y->step[i]);
  return same;
}

const char *program_difference(const struct teir *t, const struct teir *u) {
  if (t->symbol_count != u->symbol_count ||
      t->tensor_count != u->tensor_count || t->axis_count != u->axis_count ||
      t->primitive_count != u->primitive_count ||
      t->node_count != u->node_count || t->limit_count != u->limit_count)
    return "how many there are";
  for (int i = 0; i < t->symbol_count; i++)
    if (!same_text(t->symbol[i], u->symbol[i]))
      return "a symbol";
  for (int i = 0; i < t->tensor_count; i++)
    if (!same_text(t->tensor[i].id, u->tensor[i].id) ||
        t->tensor[i].type != u->tensor[i].type)
      return "a tensor";
  for (int i = 0; i < t->axis_count; i++)
    if (!same_axis(t, &t->axis[i], &u->axis[i]))
      return "an axis";
  for (int i = 0; i < t->primitive_count; i++)
    if (!same_primitive(&t->primitive[i], &u->primitive[i]))
      return "a primitive";
  for (int i = 0; i < t->node_count; i++)
    if (!same_node(&t->node[i], &u->node[i]))
      return "a node";
  for (int i = 0; i < t->limit_count; i++)
    if (!same_limit(t, &t->limit[i], &u->limit[i]))
      return "a limit";
  return same_list(t->roots, u->roots) ? NULL : "the roots";
}
