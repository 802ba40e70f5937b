/* teir.c -- asks a program: ids, operations, operands, metadata, and the bytes
 * that it touches. */
#include "teir.h"
#include "build.h"

#include <string.h>

/* in_place: without operands given, the input is `out` itself. */
static const struct {
  const char *name;
  int inputs;
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
};

struct teir_size teir_constant(int64_t value) {
  return (struct teir_size){value, -1};
}

const char *teir_op_name(enum teir_op o) { return op[o].name; }
int teir_op_inputs(enum teir_op o) { return op[o].inputs; }

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
  if (i < 0 || i >= op[p->op].inputs)
    return -1;
  if (p->operand.count > 0)
    return i < p->operand.count - 1 ? p->operand.item[i] : -1;
  return teir_find_tensor(t, op[p->op].in_place ? "out" : i ? "in1" : "in0");
}

int teir_output(const struct teir *t, int primitive) {
  const struct teir_primitive *p = &t->primitive[primitive];
  if (p->operand.count > 0)
    return p->operand.item[p->operand.count - 1];
  return teir_find_tensor(t, "out");
}

const char *teir_property(const struct teir *t, int primitive,
                          const char *key) {
  const struct teir_primitive *p = &t->primitive[primitive];
  for (int i = 0; i < p->property_count; i++)
    if (strcmp(p->property[i].key, key) == 0)
      return p->property[i].value;
  return NULL;
}

/* ---- the bytes that a program touches ---- */
struct range {
  int64_t low, high;
};

/* The range of addresses grows by what one axis adds. */
static bool widen(const struct teir *t, const struct teir_axis *x, int tensor,
                  struct range *r, struct diag *d) {
  int64_t offset = x->offset_bytes[tensor].constant, span;
  if (__builtin_mul_overflow(x->stride_bytes[tensor].constant,
                             x->extent.constant - 1, &span) ||
      __builtin_add_overflow(r->low, offset, &r->low) ||
      __builtin_add_overflow(r->high, offset, &r->high) ||
      __builtin_add_overflow(r->high, span, &r->high))
    return diag_error(d, x->at,
                      "axis %s reaches past the 64-bit addresses of %s", x->id,
                      t->tensor[tensor].id);
  return true;
}

static bool touches(const struct teir *t, int primitive, int tensor) {
  for (int i = 0; i < op[t->primitive[primitive].op].inputs; i++)
    if (teir_input(t, primitive, i) == tensor)
      return true;
  return teir_output(t, primitive) == tensor;
}

static bool leaf_footprint(const struct teir *t, int primitive, int tensor,
                           struct range r, struct range *all, struct diag *d) {
  if (!touches(t, primitive, tensor))
    return true;
  for (int role = 0; role < TEIR_ROLES; role++) {
    struct teir_list l = t->primitive[primitive].role[role];
    for (int i = 0; i < l.count; i++)
      if (!widen(t, &t->axis[l.item[i]], tensor, &r, d))
        return false;
  }
  int bytes = dtype_bytes(t->tensor[tensor].type);
  if (__builtin_add_overflow(r.high, bytes, &r.high))
    return diag_error(d, t->tensor[tensor].at, "tensor %s is too large",
                      t->tensor[tensor].id);
  bool first = all->low == 0 && all->high == 0;
  if (first || r.low < all->low)
    all->low = r.low;
  if (first || r.high > all->high)
    all->high = r.high;
  return true;
}

static bool tree_footprint(const struct teir *t, struct teir_list list,
                           int tensor, struct range r, struct range *all,
                           struct diag *d) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    struct range inner = r;
    bool good = n->kind == TEIR_INVOCATION
                    ? leaf_footprint(t, n->primitive, tensor, r, all, d)
                    : widen(t, &t->axis[n->axis], tensor, &inner, d) &&
                          tree_footprint(t, n->children, tensor, inner, all, d);
    if (!good)
      return false;
  }
  return true;
}

bool teir_footprint(const struct teir *t, int tensor, int64_t *low,
                    int64_t *high, struct diag *d) {
  struct range all = {0, 0};
  if (!teir_check_bound(t, d) ||
      !tree_footprint(t, t->roots, tensor, (struct range){0, 0}, &all, d))
    return false;
  *low = all.low;
  *high = all.high;
  return true;
}
