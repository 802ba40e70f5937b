/* transform.c -- loops: split, fuse, interchange, reorder, policy, place. */
#include "teir_build.h"
#include "teir_depend.h"
#include "teir_transform.h"

#include <assert.h>
#include <string.h>

/* ---- split ---- */

/* A loop over `axis` becomes one over `outer` around one over `axis`. */
static void split_node(struct arena *a, struct teir *t, int n, int axis,
                       int outer) {
  if (t->node[n].kind != TEIR_ITERATION || t->node[n].axis != axis)
    return;
  const char *id =
      teir_fresh_node(a, t, arena_printf(a, "%s.i", t->node[n].id));
  int inner = teir_add_iteration(a, t, id, axis);
  struct teir_node *o = &t->node[n], *i = &t->node[inner];
  assert(n != inner && o->kind == TEIR_ITERATION);
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
  assert(to >= count && to <= 2 * count);
  n->guard_count = to;
}

static void split_role(struct arena *a, struct teir_list *role, int axis,
                       int outer) {
  for (int i = 0; i < role->count; i++)
    if (role->item[i] == axis)
      teir_list_insert(a, role, i++, outer);
}

/* The outer stride of the axis on a tensor is `inner` times its stride. */
static bool outer_stride(const struct teir *t, const struct teir_axis *x,
                         int tensor, int64_t inner, struct value *outer,
                         struct diag *d) {
  struct value s = x->stride_bytes[tensor];
  *outer = s;
  if (s.symbol >= 0)
    return inner == 1 ||
           diag_error(d, x->at,
                      "axis %s has no known stride on %s yet; bind %s first",
                      x->id, t->tensor[tensor].id, t->symbol[s.symbol]);
  return !__builtin_mul_overflow(s.constant, inner, &outer->constant) ||
         diag_error(d, x->at, "axis %s: the outer stride on %s overflows",
                    x->id, t->tensor[tensor].id);
}

static bool check_split(const struct teir *t, int axis, int64_t inner,
                        struct diag *d) {
  if (axis < 0 || axis >= t->axis_count)
    return diag_error(d, teir_loc(t), "there is no axis %d", axis);
  const struct teir_axis *x = &t->axis[axis];
  if (x->extent.symbol >= 0)
    return diag_error(d, x->at,
                      "axis %s has no known extent yet; bind %s first", x->id,
                      t->symbol[x->extent.symbol]);
  return (inner >= 1 && x->extent.constant % inner == 0) ||
         diag_error(d, x->at,
                    "axis %s has extent %lld, which %lld does not divide",
                    x->id, (long long)x->extent.constant, (long long)inner);
}

static bool split_axis(struct arena *a, struct teir *t, int axis, int outer,
                       int64_t inner, struct diag *d) {
  struct teir_axis *o = &t->axis[outer], *i = &t->axis[axis];
  assert(outer != axis && i->extent.constant == o->extent.constant * inner);
  o->at = i->at;
  for (int j = 0; j < t->tensor_count; j++) {
    if (!outer_stride(t, i, j, inner, &o->stride_bytes[j], d))
      return false;
    o->offset_bytes[j] = i->offset_bytes[j];
    i->offset_bytes[j] = teir_constant(0);
  }
  i->id = teir_fresh_axis(a, t, arena_printf(a, "%s.i", i->id));
  i->extent = teir_constant(inner);
  return true;
}

struct teir *teir_split(struct arena *a, const struct teir *from, int axis,
                        int64_t inner, struct diag *d) {
  if (!teir_verify(from, d) || !teir_check_whole(from, d) ||
      !check_split(from, axis, inner, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  const char *id =
      teir_fresh_axis(a, t, arena_printf(a, "%s.o", t->axis[axis].id));
  int outer = teir_add_axis(
      a, t, id, teir_constant(t->axis[axis].extent.constant / inner));
  if (!split_axis(a, t, axis, outer, inner, d))
    return NULL;
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

/* ---- what fuse and interchange ask of a pair of loops ---- */
static int only_child(const struct teir *t, int n) {
  assert(n >= 0 && n < t->node_count);
  if (t->node[n].children.count != 1)
    return -1;
  int c = t->node[n].children.item[0];
  return t->node[c].kind == TEIR_ITERATION ? c : -1;
}

static bool guard_names(const struct teir_node *n, int axis) {
  for (int i = 0; i < n->guard_count; i++)
    if (n->guard[i].axis == axis)
      return true;
  return false;
}

static bool check_pair(const struct teir *t, int n, struct diag *d) {
  if (!teir_check_loop(t, n, d))
    return false;
  int c = only_child(t, n);
  if (c < 0)
    return diag_declined(d, t->node[n].at,
                         "loop %s has no single loop as its child",
                         t->node[n].id);
  if (t->node[n].axis == t->node[c].axis)
    return diag_declined(d, t->node[n].at,
                         "loops %s and %s iterate the same axis", t->node[n].id,
                         t->node[c].id);
  return true;
}

/* ---- fuse ---- */
static bool strides_continue(const struct teir *t, const struct teir_axis *o,
                             const struct teir_axis *i, struct diag *d) {
  for (int j = 0; j < t->tensor_count; j++)
    if (o->extent.constant > 1 &&
        o->stride_bytes[j].constant !=
            i->stride_bytes[j].constant * i->extent.constant)
      return diag_declined(
          d, o->at,
          "on %s axis %s moves by %lld bytes, but %s ends "
          "after %lld",
          t->tensor[j].id, o->id, (long long)o->stride_bytes[j].constant, i->id,
          (long long)(i->stride_bytes[j].constant * i->extent.constant));
  return true;
}

static bool has_term(const struct teir_node *n, int axis, bool last) {
  for (int i = 0; i < n->guard_count; i++)
    if (n->guard[i].axis == axis && n->guard[i].last == last)
      return true;
  return false;
}

/* Guards below two fused loops: first of both becomes first of the new one. */
static bool fuse_guards(struct teir *t, struct teir_list list, int outer,
                        int inner, int fused, struct diag *d) {
  for (int c = 0; c < list.count; c++) {
    struct teir_node *n = &t->node[list.item[c]];
    if (n->kind == TEIR_ITERATION && (n->axis == outer || n->axis == inner))
      return diag_declined(d, n->at, "loop %s iterates a fused axis again",
                           n->id);
    for (int last = 0; last < 2; last++)
      if (has_term(n, outer, last) != has_term(n, inner, last))
        return diag_declined(
            d, n->at, "the guard of %s names one of the two axes only", n->id);
    int to = 0;
    for (int i = 0; i < n->guard_count; i++) {
      struct teir_guard_term g = n->guard[i];
      if (g.axis == inner)
        continue;
      if (g.axis == outer)
        g.axis = fused;
      n->guard[to++] = g;
    }
    n->guard_count = to;
    if (!fuse_guards(t, n->children, outer, inner, fused, d))
      return false;
  }
  return true;
}

/* "m" for m.o and m.i, else both names. */
static const char *fused_id(struct arena *a, const struct teir *t,
                            const char *outer, const char *inner) {
  size_t n = strlen(outer);
  if (n > 2 && strcmp(outer + n - 2, ".o") == 0 && strlen(inner) == n &&
      strncmp(outer, inner, n - 1) == 0)
    return teir_fresh_axis(a, t, arena_substring(a, outer, n - 2));
  return teir_fresh_axis(a, t, arena_printf(a, "%s_%s", outer, inner));
}

struct teir *teir_fuse(struct arena *a, const struct teir *from, int node,
                       struct diag *d) {
  if (!check_pair(from, node, d))
    return NULL;
  int child = only_child(from, node);
  const struct teir_node *n = &from->node[node], *c = &from->node[child];
  const struct teir_axis *o = &from->axis[n->axis], *i = &from->axis[c->axis];
  int64_t extent;
  if (c->guard_count || n->policy != c->policy) {
    diag_declined(d, n->at, "loop %s has a guard, or another policy than %s",
                  c->id, n->id);
    return NULL;
  }
  if (!strides_continue(from, o, i, d))
    return NULL;
  if (__builtin_mul_overflow(o->extent.constant, i->extent.constant, &extent)) {
    diag_declined(d, n->at, "the fused extent overflows");
    return NULL;
  }
  struct teir *t = teir_clone(a, from);
  int f =
      teir_add_axis(a, t, fused_id(a, t, o->id, i->id), teir_constant(extent));
  for (int j = 0; j < t->tensor_count; j++) {
    t->axis[f].stride_bytes[j] = i->stride_bytes[j];
    assert(i->stride_bytes[j].symbol < 0 && o->stride_bytes[j].symbol < 0);
    t->axis[f].offset_bytes[j] = teir_constant(o->offset_bytes[j].constant +
                                               i->offset_bytes[j].constant);
  }
  t->node[node].axis = f;
  t->node[node].children = t->node[child].children;
  if (!fuse_guards(t, t->node[node].children, n->axis, c->axis, f, d))
    return NULL;
  teir_compact(t);
  return teir_verify(t, d) ? t : NULL;
}

/* ---- interchange ---- */
static bool reversed(const struct teir *t, int n, int c, struct diag *d) {
  struct arena *a = arena_open();
  struct depend *k = teir_depend_open(a, t);
  int64_t x = t->axis[t->node[n].axis].extent.constant;
  int64_t y = t->axis[t->node[c].axis].extent.constant;
  struct depend_span span[] = {{n, 1, x - 1}, {c, 1 - y, -1}};
  assert(x > 0 && y > 0);
  int first, second;
  bool bad = teir_depend_conflict(k, n, span, 2, true, &first, &second);
  if (bad)
    diag_declined(d, t->node[n].at,
                  "%s and %s touch the same bytes in an order that %s outside "
                  "%s reverses",
                  t->node[first].id, t->node[second].id, t->node[c].id,
                  t->node[n].id);
  arena_close(a);
  return bad;
}

/* Iterations of node `n`, for all indices of the loops in it, are free of
 * conflicts; sums into one place are a conflict, too. */
static bool independent(const struct teir *t, int n, int root, struct diag *d) {
  struct arena *a = arena_open();
  struct depend *k = teir_depend_open(a, t);
  int64_t extent = t->axis[t->node[n].axis].extent.constant;
  struct depend_span span[] = {{n, 1, extent - 1}};
  int first, second;
  bool bad = teir_depend_conflict(k, root, span, 1, false, &first, &second);
  if (bad)
    diag_declined(d, t->node[n].at,
                  "iterations of %s are not independent: %s and %s touch the "
                  "same bytes",
                  t->node[n].id, t->node[first].id, t->node[second].id);
  arena_close(a);
  return !bad;
}

struct teir *teir_interchange(struct arena *a, const struct teir *from,
                              int node, struct diag *d) {
  if (!check_pair(from, node, d))
    return NULL;
  int child = only_child(from, node);
  const struct teir_node *n = &from->node[node], *c = &from->node[child];
  if (guard_names(c, n->axis) || guard_names(n, c->axis)) {
    diag_declined(d, n->at, "the guards of %s and %s name each other's axes",
                  n->id, c->id);
    return NULL;
  }
  if (reversed(from, node, child, d))
    return NULL;
  if (c->policy == TEIR_PARALLEL && !independent(from, child, node, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  struct teir_node *outer = &t->node[node], *inner = &t->node[child];
  struct teir_list around = outer->children, body = inner->children;
  int guards = n->guard_count + c->guard_count;
  struct teir_guard_term *guard = arena_copy(
      a, n->guard, (size_t)n->guard_count, (size_t)guards, sizeof *guard);
  for (int i = 0; i < c->guard_count; i++)
    guard[n->guard_count + i] = c->guard[i];
  *outer = *c;
  *inner = *n;
  outer->children = around;
  outer->guard = guard;
  outer->guard_count = guards;
  inner->children = body;
  inner->guard_count = 0;
  assert(outer->axis != inner->axis);
  return teir_verify(t, d) ? t : NULL;
}

static bool is_listed(const int *node, int count, int n) {
  for (int i = 0; i < count; i++)
    if (node[i] == n)
      return true;
  return false;
}

struct teir *teir_reorder(struct arena *a, const struct teir *from,
                          const int *node, int count, struct diag *d) {
  if (count < 1 || !teir_check_loop(from, node[0], d))
    return NULL;
  const char **id = arena_array(a, (size_t)count, sizeof *id);
  for (int i = 0; i < count; i++) {
    if (!teir_check_loop(from, node[i], d))
      return NULL;
    id[i] = from->node[node[i]].id;
  }
  const int *parent = teir_parents(a, from);
  int top = node[0];
  while (parent[top] >= 0 && is_listed(node, count, parent[top]))
    top = parent[top];
  assert(is_listed(node, count, top));
  int length = 1;
  for (int n = only_child(from, top); n >= 0 && is_listed(node, count, n);
       n = only_child(from, n))
    length++;
  if (length != count) {
    diag_declined(d, from->node[top].at,
                  "the loops do not stand directly inside each other");
    return NULL;
  }
  struct teir *t = teir_clone(a, from);
  /* The loops' places keep their indices; ids move.  Bring each loop up. */
  int *place = arena_array(a, (size_t)count, sizeof *place);
  for (int i = 0, n = top; i < count; i++, n = only_child(from, n))
    place[i] = n;
  for (int i = 0; t && i < count; i++) {
    int j = i;
    while (j < count && strcmp(t->node[place[j]].id, id[i]) != 0)
      j++;
    if (j == count) {
      diag_error(d, teir_loc(t), "loop %s is listed twice", id[i]);
      return NULL;
    }
    for (; t && j > i; j--)
      t = teir_interchange(a, t, place[j - 1], d);
  }
  return t;
}

/* ---- policy and place ---- */
struct teir *teir_set_policy(struct arena *a, const struct teir *from, int node,
                             enum teir_policy policy, struct diag *d) {
  if (!teir_check_loop(from, node, d))
    return NULL;
  if (policy == TEIR_PARALLEL && !independent(from, node, node, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  t->node[node].policy = policy;
  assert(t->node[node].kind == TEIR_ITERATION);
  return t;
}

struct teir *teir_set_place(struct arena *a, const struct teir *from, int node,
                            enum teir_place place, struct diag *d) {
  if (!teir_verify(from, d))
    return NULL;
  if (node < 0 || node >= from->node_count ||
      from->node[node].kind != TEIR_ITERATION) {
    diag_error(d, teir_loc(from), "a place belongs to a loop");
    return NULL;
  }
  struct teir *t = teir_clone(a, from);
  t->node[node].place = place;
  return t;
}
