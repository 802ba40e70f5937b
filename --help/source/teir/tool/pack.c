/* pack.c -- copies what a subtree reads of a tensor into a new, dense tensor
 * just before the subtree runs. */
#include "teir_branch.h"
#include "teir_build.h"

#include <assert.h>

struct pack {
  struct arena *a;
  struct teir *t;
  int tensor;
  struct teir_list axes; /* that move the tensor, in the order of the loops */
  bool found;
  struct diag *d;
};

static void add_moving(struct pack *p, struct teir_list *axes, int axis) {
  assert(axis >= 0 && axis < p->t->axis_count);
  if (p->t->axis[axis].stride_bytes[p->tensor].constant != 0 ||
      p->t->axis[axis].offset_bytes[p->tensor].constant != 0)
    teir_list_add(p->a, axes, axis);
}

/* All calls that read the tensor must reach it by the same axes. */
static bool take_axes(struct pack *p, int n, struct teir_list axes) {
  const struct teir_primitive *x = &p->t->primitive[p->t->node[n].primitive];
  for (int r = 0; r < TEIR_ROLES; r++)
    for (int i = 0; i < x->role[r].count; i++)
      add_moving(p, &axes, x->role[r].item[i]);
  for (int i = 0; i < axes.count; i++)
    for (int j = 0; j < i; j++)
      if (axes.item[i] == axes.item[j])
        return diag_declined(p->d, p->t->node[n].at,
                             "%s reaches the tensor by axis %s twice",
                             p->t->node[n].id, p->t->axis[axes.item[i]].id);
  if (p->found) {
    bool same = axes.count == p->axes.count;
    for (int i = 0; same && i < axes.count; i++)
      same = teir_list_find(p->axes, axes.item[i]) >= 0;
    return same || diag_declined(p->d, p->t->node[n].at,
                                 "%s reaches %s by other axes than a call "
                                 "before it",
                                 p->t->node[n].id, p->t->tensor[p->tensor].id);
  }
  p->axes = axes;
  p->found = true;
  return true;
}

static bool find_axes(struct pack *p, int n, struct teir_list axes) {
  const struct teir_node *x = &p->t->node[n];
  if (x->kind == TEIR_ITERATION) {
    axes = teir_list_copy(p->a, axes);
    add_moving(p, &axes, x->axis);
    for (int i = 0; i < x->children.count; i++)
      if (!find_axes(p, x->children.item[i], axes))
        return false;
    return true;
  }
  if (teir_output(p->t, x->primitive) == p->tensor)
    return diag_declined(p->d, x->at, "%s writes %s", x->id,
                         p->t->tensor[p->tensor].id);
  for (int i = 0; i < teir_input_count(p->t, x->primitive); i++)
    if (teir_input(p->t, x->primitive, i) == p->tensor)
      return take_axes(p, n, teir_list_copy(p->a, axes));
  return true;
}

static bool give_strides(struct pack *p, int packed) {
  int64_t stride = dtype_bytes(p->t->tensor[packed].type);
  for (int i = p->axes.count - 1; i >= 0; i--) {
    struct teir_axis *x = &p->t->axis[p->axes.item[i]];
    x->stride_bytes[packed] = teir_constant(stride);
    if (__builtin_mul_overflow(stride, x->extent.constant, &stride))
      return diag_declined(p->d, x->at, "the packed tensor is too large");
  }
  return true;
}

/* Copies of the primitives that read the tensor now read the packed one. */
static void redirect(struct pack *p, int n, int packed) {
  struct teir *t = p->t;
  for (int i = 0; i < t->node[n].children.count; i++)
    redirect(p, t->node[n].children.item[i], packed);
  if (t->node[n].kind == TEIR_ITERATION)
    return;
  int old = t->node[n].primitive;
  struct teir_primitive copy = t->primitive[old];
  int inputs = teir_input_count(t, old);
  bool reads = false;
  copy.operand = (struct teir_list){0};
  for (int i = 0; i < inputs; i++) {
    int input = teir_input(t, old, i);
    reads = reads || input == p->tensor;
    teir_list_add(p->a, &copy.operand, input == p->tensor ? packed : input);
  }
  teir_list_add(p->a, &copy.operand, teir_output(t, old));
  if (!reads)
    return;
  copy.id =
      teir_fresh_primitive(p->a, t, arena_printf(p->a, "%s.packed", copy.id));
  int new = teir_add_primitive(p->a, t, copy.id, copy.op);
  t->primitive[new] = copy;
  t->node[n].primitive = new;
}

static void add_copy(struct pack *p, int node, int packed) {
  struct teir *t = p->t;
  const char *id = arena_printf(p->a, "pack_%s", t->tensor[p->tensor].id);
  int copy =
      teir_add_primitive(p->a, t, teir_fresh_primitive(p->a, t, id), TEIR_COPY);
  struct teir_primitive *x = &t->primitive[copy];
  for (int i = 0; i < p->axes.count; i++)
    teir_list_add(p->a, &x->role[i < p->axes.count - 1 ? TEIR_M : TEIR_N],
                  p->axes.item[i]);
  teir_list_add(p->a, &x->operand, p->tensor);
  teir_list_add(p->a, &x->operand, packed);
  int n = teir_add_invocation(p->a, t, teir_fresh_node(p->a, t, id), copy);
  const struct teir_node *at = &t->node[node];
  t->node[n].guard = arena_copy(p->a, at->guard, (size_t)at->guard_count,
                                (size_t)at->guard_count, sizeof *at->guard);
  t->node[n].guard_count = at->guard_count;
  int parent, place;
  struct teir_list *home = teir_home(t, node, &parent, &place);
  teir_list_insert(p->a, home, place, n);
}

static bool check_above(const struct teir *t, int node, struct diag *d) {
  int parent = node, place;
  struct teir *mutable = (struct teir *)t; /* teir_home only hands it back */
  for (;;) {
    teir_home(mutable, parent, &parent, &place);
    if (parent < 0)
      return true;
    if (t->node[parent].policy == TEIR_PARALLEL)
      return diag_declined(d, t->node[node].at,
                           "the parallel iterations of %s would share the "
                           "packed tensor",
                           t->node[parent].id);
  }
}

/* Guards may keep the calls from parts that the copy would read. */
static bool stays_inside(const struct pack *p, const struct teir *from) {
  int64_t low, high, new_low, new_high;
  if (!teir_footprint(from, p->tensor, &low, &high, p->d) ||
      !teir_footprint(p->t, p->tensor, &new_low, &new_high, p->d))
    return false;
  return (new_low >= low && new_high <= high) ||
         diag_declined(p->d, loc_none(),
                       "the copy would read more of %s than the program does",
                       from->tensor[p->tensor].id);
}

struct teir *teir_pack(struct arena *a, const struct teir *from, int node,
                       int tensor, struct diag *d) {
  if (!teir_check_concrete(from, d))
    return NULL;
  if (node < 0 || node >= from->node_count || tensor < 0 ||
      tensor >= from->tensor_count) {
    diag_error(d, teir_loc(from), "there is no such node or tensor");
    return NULL;
  }
  struct pack p = {.a = a, .t = teir_clone(a, from), .tensor = tensor, .d = d};
  if (!check_above(from, node, d) ||
      !find_axes(&p, node, (struct teir_list){0}))
    return NULL;
  if (!p.found) {
    diag_declined(d, from->node[node].at, "%s does not read %s",
                  from->node[node].id, from->tensor[tensor].id);
    return NULL;
  }
  const char *id = teir_fresh_tensor(
      a, p.t, arena_printf(a, "%s.packed", from->tensor[tensor].id));
  int packed = teir_add_tensor(a, p.t, id, from->tensor[tensor].type);
  if (!give_strides(&p, packed))
    return NULL;
  redirect(&p, node, packed);
  add_copy(&p, node, packed);
  teir_compact(p.t);
  return teir_verify(p.t, d) && stays_inside(&p, from) ? p.t : NULL;
}
