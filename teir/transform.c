/* transform.c -- cuts an axis in two.  A transformation takes a program and
 * gives a new one with the same meaning. */
#include "build.h"

/* A loop over `axis` becomes one over `outer` around one over `axis`. */
static void split_node(struct arena *a, struct teir *t, int n, int axis,
                       int outer) {
  if (t->node[n].kind != TEIR_ITERATION || t->node[n].axis != axis)
    return;
  const char *id =
      teir_fresh_node(a, t, arena_printf(a, "%s.i", t->node[n].id));
  int inner = teir_add_iteration(a, t, id, axis);
  struct teir_node *o = &t->node[n], *i = &t->node[inner];
  i->policy = o->policy;
  i->at = o->at;
  i->children = o->children;
  o->axis = outer;
  o->children = (struct teir_list){0};
  teir_list_add(a, &o->children, inner);
}

/* first(axis) is first of both parts, and so is last. */
static void split_guard(struct arena *a, struct teir_node *n, int axis,
                        int outer) {
  int count = n->guard_count;
  struct teir_guard_term *guard =
      arena_array(a, 2 * (size_t)count, sizeof *guard);
  int to = 0;
  for (int i = 0; i < count; i++) {
    guard[to++] = n->guard[i];
    if (n->guard[i].axis == axis)
      guard[to++] = (struct teir_guard_term){n->guard[i].last, outer};
  }
  n->guard = guard;
  n->guard_count = to;
}

static void split_role(struct arena *a, struct teir_list *role, int axis,
                       int outer) {
  for (int i = 0; i < role->count; i++)
    if (role->item[i] == axis)
      teir_list_insert(a, role, i++, outer);
}

struct teir *teir_split(struct arena *a, const struct teir *from, int axis,
                        int64_t inner, struct diag *d) {
  if (axis < 0 || axis >= from->axis_count) {
    diag_error(d, teir_loc(from), "there is no axis %d", axis);
    return NULL;
  }
  const struct teir_axis *x = &from->axis[axis];
  if (x->extent.symbol >= 0) {
    diag_error(d, x->at, "axis %s has no known extent yet; bind %s first",
               x->id, from->symbol[x->extent.symbol]);
    return NULL;
  }
  if (inner < 1 || x->extent.constant % inner != 0) {
    diag_error(d, x->at, "axis %s has extent %lld, which %lld does not divide",
               x->id, (long long)x->extent.constant, (long long)inner);
    return NULL;
  }
  struct teir *t = teir_clone(a, from);
  const char *id = teir_fresh_axis(a, t, arena_printf(a, "%s.o", x->id));
  int outer =
      teir_add_axis(a, t, id, teir_constant(x->extent.constant / inner));
  struct teir_axis *o = &t->axis[outer], *i = &t->axis[axis];
  i->id = teir_fresh_axis(a, t, arena_printf(a, "%s.i", x->id));
  i->extent = teir_constant(inner);
  o->at = x->at;
  for (int j = 0; j < t->tensor_count; j++) {
    struct teir_size stride = x->stride_bytes[j];
    int64_t bytes = 0;
    if (stride.symbol >= 0 && inner > 1) {
      diag_error(d, x->at,
                 "axis %s has no known stride on %s yet; bind %s "
                 "first",
                 x->id, t->tensor[j].id, t->symbol[stride.symbol]);
      return NULL;
    }
    if (stride.symbol < 0 &&
        __builtin_mul_overflow(stride.constant, inner, &bytes)) {
      diag_error(d, x->at, "axis %s: the outer stride on %s overflows", x->id,
                 t->tensor[j].id);
      return NULL;
    }
    o->stride_bytes[j] = stride.symbol >= 0 ? stride : teir_constant(bytes);
    o->offset_bytes[j] = x->offset_bytes[j];
    i->offset_bytes[j] = teir_constant(0);
  }
  for (int p = 0; p < t->primitive_count; p++)
    for (int r = 0; r < TEIR_ROLES; r++)
      split_role(a, &t->primitive[p].role[r], axis, outer);
  int nodes = t->node_count;
  for (int n = 0; n < nodes; n++)
    split_guard(a, &t->node[n], axis, outer);
  for (int n = 0; n < nodes; n++)
    split_node(a, t, n, axis, outer);
  return teir_verify(t, d) ? t : NULL;
}
