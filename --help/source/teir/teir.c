/* teir.c -- asks a program: ids, operations, operands, metadata, whether it has
 * run-time values, and the bytes that it touches. */
#include "teir.h"
#include "calc.h"
#include "teir_build.h"

#include <assert.h>
#include <string.h>

/* in_place: without operands given, the input is `out` itself. */
static const struct {
  const char *name;
  int inputs; /* -1: as many as its operands say */
  bool in_place;
} op[TEIR_OPS] = {
    [TEIR_ZERO] = {"Zero", 0, false},
    [TEIR_COPY] = {"Copy", 1, false},
    [TEIR_RELU] = {"ReLU", 1, true},
    [TEIR_CONTRACTION] = {"Contraction", 2, false},
    [TEIR_SCALE] = {"Scale", 1, true},
    [TEIR_ADD] = {"Add", 1, false},
    [TEIR_CLAMP] = {"Clamp", 1, true},
    [TEIR_SHIFT] = {"Shift", 1, false},
    [TEIR_CAST] = {"Cast", 1, false},
    [TEIR_MAP] = {"Map", -1, false},
};

struct value teir_constant(int64_t value) {
  return (struct value){value, -1};
}

const char *teir_op_name(enum teir_op o) { return op[o].name; }

int teir_input_count(const struct teir *t, int primitive) {
  assert(primitive >= 0 && primitive < t->primitive_count);
  const struct teir_primitive *p = &t->primitive[primitive];
  if (op[p->op].inputs >= 0)
    return op[p->op].inputs;
  return p->operand.count > 0 ? p->operand.count - 1 : 0;
}

int teir_find_axis(const struct teir *t, const char *id) {
  for (int i = 0; i < t->axis_count; i++)
    if (strcmp(t->axis[i].id, id) == 0)
      return i;
  return -1;
}

int teir_find_node(const struct teir *t, const char *id) {
  for (int i = 0; i < t->node_count; i++)
    if (strcmp(t->node[i].id, id) == 0)
      return i;
  return -1;
}

int teir_find_primitive(const struct teir *t, const char *id) {
  for (int i = 0; i < t->primitive_count; i++)
    if (strcmp(t->primitive[i].id, id) == 0)
      return i;
  return -1;
}

int teir_find_tensor(const struct teir *t, const char *id) {
  for (int i = 0; i < t->tensor_count; i++)
    if (strcmp(t->tensor[i].id, id) == 0)
      return i;
  return -1;
}

int teir_find_symbol(const struct teir *t, const char *id) {
  for (int i = 0; i < t->symbol_count; i++)
    if (strcmp(t->symbol[i], id) == 0)
      return i;
  return -1;
}

int teir_input(const struct teir *t, int primitive, int i) {
  const struct teir_primitive *p = &t->primitive[primitive];
  if (i < 0 || i >= teir_input_count(t, primitive))
    return -1;
  if (p->operand.count > 0)
    return i < p->operand.count - 1 ? p->operand.item[i] : -1;
  return teir_find_tensor(t, op[p->op].in_place ? "out" : i ? "in1" : "in0");
}

int teir_output(const struct teir *t, int primitive) {
  assert(primitive >= 0 && primitive < t->primitive_count);
  const struct teir_primitive *p = &t->primitive[primitive];
  if (p->operand.count > 0)
    return p->operand.item[p->operand.count - 1];
  return op[p->op].inputs < 0 ? -1 : teir_find_tensor(t, "out");
}

const char *teir_property(const struct teir *t, int primitive,
                          const char *key) {
  assert(primitive >= 0 && primitive < t->primitive_count);
  const struct teir_primitive *p = &t->primitive[primitive];
  for (int i = 0; i < p->property_count; i++)
    if (strcmp(p->property[i].key, key) == 0)
      return p->property[i].value;
  return NULL;
}

/* ---- run-time values ---- */

static bool size_bound(const struct teir *t, const struct teir_axis *x,
                       struct value s, const char *what, struct diag *d) {
  if (s.symbol < 0)
    return true;
  return diag_error(d, x->at, "%s of axis %s is the unbound symbol %s", what,
                    x->id, t->symbol[s.symbol]);
}

bool teir_check_bound(const struct teir *t, struct diag *d) {
  for (int i = 0; i < t->axis_count; i++) {
    const struct teir_axis *x = &t->axis[i];
    if (!size_bound(t, x, x->extent, "the extent", d))
      return false;
    for (int j = 0; j < t->tensor_count; j++)
      if (!size_bound(t, x, x->stride_bytes[j], "a stride", d) ||
          !size_bound(t, x, x->offset_bytes[j], "an offset", d))
        return false;
  }
  for (int i = 0; i < t->limit_count; i++) {
    const struct affine_guard *l = &t->limit[i];
    bool good = l->start.symbol < 0;
    for (int j = 0; j < t->axis_count; j++)
      good = good && l->step[j].symbol < 0;
    if (!good)
      return diag_error(d, l->at, "a limit names an unbound symbol");
  }
  return true;
}

/* ---- the bytes that a program touches ---- */
struct range {
  int64_t low, high;
};

/* A walk down to the calls that touch `tensor`; index[] holds, for every loop
 * on the path, the indices that guards let pass. */
struct footprint {
  const struct teir *t;
  int tensor, depth;
  struct arena *a;
  int *path;
  struct range *index, all;
  struct diag *d;
};

/* The range of addresses grows by what one axis adds. */
static bool widen(struct footprint *f, const struct teir_axis *x,
                  struct range index, struct range *r) {
  assert(index.low >= 0 && index.low <= index.high);
  int64_t offset = x->offset_bytes[f->tensor].constant;
  int64_t stride = x->stride_bytes[f->tensor].constant, low, high;
  if (__builtin_mul_overflow(stride, index.low, &low) ||
      __builtin_mul_overflow(stride, index.high, &high) ||
      __builtin_add_overflow(r->low, offset, &r->low) ||
      __builtin_add_overflow(r->high, offset, &r->high) ||
      __builtin_add_overflow(r->low, low, &r->low) ||
      __builtin_add_overflow(r->high, high, &r->high))
    return diag_error(f->d, x->at,
                      "axis %s reaches past the 64-bit addresses of %s", x->id,
                      f->t->tensor[f->tensor].id);
  return true;
}

static bool touches(const struct teir *t, int primitive, int tensor) {
  for (int i = 0; i < teir_input_count(t, primitive); i++)
    if (teir_input(t, primitive, i) == tensor)
      return true;
  return teir_output(t, primitive) == tensor;
}

static bool leaf_footprint(struct footprint *f, int primitive) {
  const struct teir *t = f->t;
  if (!touches(t, primitive, f->tensor))
    return true;
  struct range r = {0, dtype_bytes(t->tensor[f->tensor].type)};
  for (int i = 0; i < f->depth; i++)
    if (!widen(f, &t->axis[t->node[f->path[i]].axis], f->index[i], &r))
      return false;
  for (int role = 0; role < TEIR_ROLES; role++) {
    struct teir_list l = t->primitive[primitive].role[role];
    for (int i = 0; i < l.count; i++) {
      const struct teir_axis *x = &t->axis[l.item[i]];
      if (!widen(f, x, (struct range){0, x->extent.constant - 1}, &r))
        return false;
    }
  }
  bool first = f->all.low == f->all.high;
  if (first || r.low < f->all.low)
    f->all.low = r.low;
  if (first || r.high > f->all.high)
    f->all.high = r.high;
  return true;
}

/* Narrows index[] by n's guard; false: it is never true here. */
static bool guard_index(struct footprint *f, const struct teir_node *n) {
  for (int g = 0; g < n->guard_count; g++) {
    int i = f->depth - 1;
    while (f->t->node[f->path[i]].axis != n->guard[g].axis)
      i--;
    assert(i >= 0); /* the verifier's guard_names_ancestors */
    int64_t only =
        n->guard[g].last ? f->t->axis[n->guard[g].axis].extent.constant - 1 : 0;
    if (only < f->index[i].low || only > f->index[i].high)
      return false;
    f->index[i] = (struct range){only, only};
  }
  return true;
}

static bool tree_footprint(struct footprint *f, struct teir_list list);

static bool node_footprint(struct footprint *f, int node) {
  const struct teir_node *n = &f->t->node[node];
  if (n->kind == TEIR_INVOCATION)
    return leaf_footprint(f, n->primitive);
  f->path[f->depth] = node;
  f->index[f->depth] =
      (struct range){0, f->t->axis[n->axis].extent.constant - 1};
  f->depth++;
  bool good = tree_footprint(f, n->children);
  f->depth--;
  return good;
}

static bool tree_footprint(struct footprint *f, struct teir_list list) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &f->t->node[list.item[i]];
    struct range *keep = NULL;
    size_t depth = (size_t)f->depth;
    if (n->guard_count)
      keep = arena_copy(f->a, f->index, depth, depth, sizeof *keep);
    if (guard_index(f, n) && !node_footprint(f, list.item[i]))
      return false;
    if (keep)
      memcpy(f->index, keep, depth * sizeof *keep);
  }
  return true;
}

bool teir_footprint(const struct teir *t, int tensor, int64_t *low,
                    int64_t *high, struct diag *d) {
  if (!teir_check_bound(t, d))
    return false;
  struct footprint f = {.t = t, .tensor = tensor, .a = arena_open(), .d = d};
  size_t nodes = (size_t)t->node_count + 1;
  f.path = arena_array(f.a, nodes, sizeof *f.path);
  f.index = arena_array(f.a, nodes, sizeof *f.index);
  bool good = tree_footprint(&f, t->roots);
  assert(f.depth == 0 && (!good || f.all.low <= f.all.high));
  *low = f.all.low;
  *high = f.all.high;
  arena_close(f.a);
  return good;
}
