/* consume.c -- hands axes from the schedule to primitives. */
#include "teir_build.h"
#include "teir_depend.h"
#include "teir_transform.h"

#include <assert.h>

struct consumer {
  struct arena *a;
  struct teir *t;
  int node, axis;
  enum teir_role role;
  int *changed; /* by primitive: the one that consumes the axis, or -1 */
  struct diag *d;
};

static bool moves(const struct teir *t, int axis, int tensor) {
  return t->axis[axis].stride_bytes[tensor].constant != 0;
}

/* M moves in0 and out, N in1 and out, K no out. */
static bool infer_role(struct consumer *b, int primitive) {
  const struct teir *t = b->t;
  assert(t->primitive[primitive].op == TEIR_CONTRACTION);
  int out = teir_output(t, primitive);
  bool x = moves(t, b->axis, teir_input(t, primitive, 0));
  bool y = moves(t, b->axis, teir_input(t, primitive, 1));
  if (moves(t, b->axis, out) && x && y)
    return diag_declined(b->d, t->axis[b->axis].at,
                         "axis %s moves both inputs and the output of %s: a "
                         "batch, which has no role",
                         t->axis[b->axis].id, t->primitive[primitive].id);
  b->role = !moves(t, b->axis, out) ? TEIR_K : y ? TEIR_N : TEIR_M;
  return true;
}

static bool fits(const struct consumer *b, int primitive) {
  const struct teir *t = b->t;
  const struct teir_primitive *p = &t->primitive[primitive];
  assert(b->role < TEIR_ROLES);
  for (int r = 0; r < TEIR_ROLES; r++)
    if (teir_list_find(p->role[r], b->axis) >= 0)
      return diag_declined(b->d, p->at, "primitive %s consumes %s already",
                           p->id, t->axis[b->axis].id);
  if (b->role == TEIR_K && p->op != TEIR_CONTRACTION)
    return diag_declined(b->d, p->at,
                         "%s has no K, but runs for every %s; move its call "
                         "out of the loop first",
                         p->id, t->axis[b->axis].id);
  if ((b->role == TEIR_K) == moves(t, b->axis, teir_output(t, primitive)))
    return diag_declined(b->d, p->at, "axis %s %s the output of %s",
                         t->axis[b->axis].id,
                         b->role == TEIR_K ? "moves" : "does not move", p->id);
  return true;
}

/* Guards that name the axis would lose their loop. */
static bool check_below(struct consumer *b, struct teir_list list, bool infer) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &b->t->node[list.item[i]];
    for (int g = 0; g < n->guard_count; g++)
      if (n->guard[g].axis == b->axis)
        return diag_declined(b->d, n->at, "the guard of %s needs the loop %s",
                             n->id, b->t->node[b->node].id);
    if (n->kind == TEIR_ITERATION && n->axis == b->axis)
      return diag_declined(b->d, n->at, "loop %s iterates the axis again",
                           n->id);
    if (n->kind == TEIR_INVOCATION && infer &&
        b->t->primitive[n->primitive].op == TEIR_CONTRACTION &&
        !infer_role(b, n->primitive))
      return false;
    if (n->kind == TEIR_INVOCATION && !infer && !fits(b, n->primitive))
      return false;
    if (!check_below(b, n->children, infer))
      return false;
  }
  return true;
}

static int users(const struct teir *t, struct teir_list list, int primitive) {
  int n = 0;
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *x = &t->node[list.item[i]];
    n += x->kind == TEIR_INVOCATION && x->primitive == primitive;
    n += users(t, x->children, primitive);
  }
  return n;
}

/* The primitive with the axis in it: itself when all its calls are below the
 * loop, else a copy. */
static int changed(struct consumer *b, int primitive) {
  if (b->changed[primitive] >= 0)
    return b->changed[primitive];
  struct teir *t = b->t;
  int p = primitive;
  if (users(t, t->roots, primitive) !=
      users(t, t->node[b->node].children, primitive)) {
    struct teir_primitive copy = t->primitive[primitive];
    const char *id = teir_fresh_primitive(b->a, t, copy.id);
    p = teir_add_primitive(b->a, t, id, copy.op);
    copy.id = id;
    for (int r = 0; r < TEIR_ROLES; r++)
      copy.role[r] = teir_list_copy(b->a, copy.role[r]);
    t->primitive[p] = copy;
  }
  teir_list_insert(b->a, &t->primitive[p].role[b->role], 0, b->axis);
  assert(teir_list_find(t->primitive[p].role[b->role], b->axis) == 0);
  b->changed[primitive] = p;
  return p;
}

static void change_below(struct consumer *b, struct teir_list list) {
  for (int i = 0; i < list.count; i++) {
    struct teir_node *n = &b->t->node[list.item[i]];
    if (n->kind == TEIR_INVOCATION)
      n->primitive = changed(b, n->primitive);
    change_below(b, n->children);
  }
}

/* The loop's children take its place, under its guard. */
static void remove_loop(struct consumer *b) {
  struct teir *t = b->t;
  struct teir_node loop = t->node[b->node];
  assert(loop.kind == TEIR_ITERATION && loop.children.count > 0);
  for (int i = 0; i < loop.children.count; i++) {
    struct teir_node *c = &t->node[loop.children.item[i]];
    int count = loop.guard_count + c->guard_count;
    struct teir_guard_term *guard =
        arena_copy(b->a, loop.guard, (size_t)loop.guard_count, (size_t)count,
                   sizeof *guard);
    for (int g = 0; g < c->guard_count; g++)
      guard[loop.guard_count + g] = c->guard[g];
    c->guard = guard;
    c->guard_count = count;
  }
  int parent, place;
  struct teir_list *home = teir_home(t, b->node, &parent, &place);
  assert(home && home->item[place] == b->node);
  teir_list_remove(home, place);
  for (int i = 0; i < loop.children.count; i++)
    teir_list_insert(b->a, home, place + i, loop.children.item[i]);
  teir_compact(t);
}

struct teir *teir_consume(struct arena *a, const struct teir *from, int node,
                          enum teir_role role, struct diag *d) {
  if (!teir_check_loop(from, node, d))
    return NULL;
  struct consumer b = {.a = a,
                       .t = teir_clone(a, from),
                       .node = node,
                       .axis = from->node[node].axis,
                       .role = role == TEIR_ROLES ? TEIR_M : role,
                       .d = d};
  struct teir_list below = b.t->node[node].children;
  assert(b.axis >= 0 && b.axis < from->axis_count);
  if ((role == TEIR_ROLES && !check_below(&b, below, true)) ||
      !check_below(&b, below, false) || !teir_depend_reorders(from, node, d))
    return NULL;
  int count = from->primitive_count;
  b.changed = arena_array(a, (size_t)count + 1, sizeof *b.changed);
  for (int i = 0; i < count; i++)
    b.changed[i] = -1;
  change_below(&b, below);
  remove_loop(&b);
  return teir_verify(b.t, d) ? b.t : NULL;
}

struct teir *teir_brgemm(struct arena *a, const struct teir *t, int primitive,
                         int64_t inner, struct diag *d) {
  if (!teir_check_concrete(t, d))
    return NULL;
  if (primitive < 0 || primitive >= t->primitive_count) {
    diag_error(d, teir_loc(t), "there is no primitive %d", primitive);
    return NULL;
  }
  const struct teir_primitive *p = &t->primitive[primitive];
  if (p->op != TEIR_CONTRACTION || p->role[TEIR_M].count != 1 ||
      p->role[TEIR_N].count != 1 || p->role[TEIR_K].count != 1) {
    diag_declined(d, p->at,
                  "primitive %s is no Contraction with one axis each in M, N "
                  "and K",
                  p->id);
    return NULL;
  }
  return teir_split(a, t, p->role[TEIR_K].item[0], inner, d);
}
