/* branch.c -- guards and branches: sink, hoist, peel. */
#include "teir_branch.h"
#include "teir_build.h"

#include <assert.h>

/* ---- does a subtree name an axis? ---- */
static bool guards_name(const struct teir *t, int n, int axis) {
  for (int i = 0; i < t->node[n].guard_count; i++)
    if (t->node[n].guard[i].axis == axis)
      return true;
  for (int i = 0; i < t->node[n].children.count; i++)
    if (guards_name(t, t->node[n].children.item[i], axis))
      return true;
  return false;
}

static bool iterates(const struct teir *t, int n, int axis) {
  if (t->node[n].kind == TEIR_ITERATION && t->node[n].axis == axis)
    return true;
  for (int i = 0; i < t->node[n].children.count; i++)
    if (iterates(t, t->node[n].children.item[i], axis))
      return true;
  return false;
}

/* Inside the loop over `axis` at its first (last) index, do the calls of the
 * subtree see the addresses that they see outside it? */
static bool unmoved(const struct teir *t, int n, int axis, bool last) {
  const struct teir_node *x = &t->node[n];
  if (x->kind == TEIR_INVOCATION) {
    const struct teir_axis *k = &t->axis[axis];
    int64_t index = last ? k->extent.constant - 1 : 0;
    int inputs = teir_input_count(t, x->primitive);
    for (int i = -1; i < inputs; i++) {
      int tensor =
          i < 0 ? teir_output(t, x->primitive) : teir_input(t, x->primitive, i);
      if (k->offset_bytes[tensor].constant ||
          (index && k->stride_bytes[tensor].constant))
        return false;
    }
  }
  for (int i = 0; i < x->children.count; i++)
    if (!unmoved(t, x->children.item[i], axis, last))
      return false;
  return true;
}

/* ---- sink and hoist ---- */
static bool check_move(const struct teir *t, int n, int loop, bool last,
                       struct diag *d) {
  const struct teir_node *k = &t->node[loop];
  if (k->guard_count || k->policy == TEIR_PARALLEL)
    return diag_declined(d, k->at,
                         "loop %s is parallel or guarded; what it starts and "
                         "ends with is not fixed",
                         k->id);
  return unmoved(t, n, k->axis, last) ||
         diag_declined(d, t->node[n].at,
                       "axis %s moves a tensor that %s touches",
                       t->axis[k->axis].id, t->node[n].id);
}

struct teir *teir_sink(struct arena *a, const struct teir *from, int node,
                       int into, struct diag *d) {
  if (!teir_check_loop(from, into, d))
    return NULL;
  if (node < 0 || node >= from->node_count) {
    diag_error(d, teir_loc(from), "there is no node %d", node);
    return NULL;
  }
  struct teir *t = teir_clone(a, from);
  int parent, place, other, loop;
  struct teir_list *home = teir_home(t, node, &parent, &place);
  teir_home(t, into, &other, &loop);
  assert(home && home->item[place] == node);
  bool last = loop < place;
  if (other != parent || (loop != place + 1 && loop != place - 1)) {
    diag_declined(d, t->node[node].at, "%s does not stand beside the loop %s",
                  t->node[node].id, t->node[into].id);
    return NULL;
  }
  int axis = t->node[into].axis;
  if (guards_name(t, node, axis)) {
    diag_declined(d, t->node[node].at, "a guard in %s names %s already",
                  t->node[node].id, t->axis[axis].id);
    return NULL;
  }
  if (!check_move(t, node, into, last, d))
    return NULL;
  teir_list_remove(home, place);
  struct teir_list *children = &t->node[into].children;
  teir_list_insert(a, children, last ? children->count : 0, node);
  teir_add_guard(a, &t->node[node], (struct teir_guard_term){last, axis});
  return teir_verify(t, d) ? t : NULL;
}

/* Removes first(axis) or last(axis); false: there is none. */
static bool take_guard(struct teir_node *n, int axis, bool last) {
  int to = 0;
  bool found = false;
  for (int i = 0; i < n->guard_count; i++) {
    if (n->guard[i].axis == axis && n->guard[i].last == last)
      found = true;
    else
      n->guard[to++] = n->guard[i];
  }
  n->guard_count = to;
  return found;
}

struct teir *teir_hoist(struct arena *a, const struct teir *from, int node,
                        struct diag *d) {
  if (!teir_check_concrete(from, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  int loop = -1, place;
  if (node < 0 || node >= t->node_count) {
    diag_error(d, teir_loc(t), "there is no node %d", node);
    return NULL;
  }
  struct teir_list *home = teir_home(t, node, &loop, &place);
  struct teir_node *n = &t->node[node];
  if (loop < 0 || home->count < 2) {
    diag_declined(d, n->at, "%s is not beside other work in a loop", n->id);
    return NULL;
  }
  int axis = t->node[loop].axis;
  assert(t->node[loop].kind == TEIR_ITERATION);
  bool first = place == 0 && take_guard(n, axis, false);
  bool last = !first && place == home->count - 1 && take_guard(n, axis, true);
  if ((!first && !last) || guards_name(t, node, axis)) {
    diag_declined(d, n->at,
                  "%s is neither a first child under first(%s) nor a last one "
                  "under last(%s)",
                  n->id, t->axis[axis].id, t->axis[axis].id);
    return NULL;
  }
  if (!check_move(t, node, loop, last, d))
    return NULL;
  teir_list_remove(home, place);
  int parent;
  struct teir_list *above = teir_home(t, loop, &parent, &place);
  teir_list_insert(a, above, place + last, node);
  return teir_verify(t, d) ? t : NULL;
}

/* ---- peel ---- */
struct peel {
  struct arena *a;
  struct teir *t;
  int axis, main, remainder;
};

/* In the part `to` of the axis: `kept` names the guard that still holds there;
 * the other one never does, and its node goes.  Gives whether n stays. */
static bool restrict_guards(struct peel *p, int n, int to, bool kept) {
  struct teir_node *x = &p->t->node[n];
  for (int i = 0; i < x->guard_count; i++) {
    if (x->guard[i].axis != p->axis)
      continue;
    if (x->guard[i].last != kept)
      return false;
    x->guard[i].axis = to;
  }
  if (x->kind == TEIR_INVOCATION)
    return true;
  struct teir_list *list = &x->children;
  for (int i = 0; i < list->count;)
    if (restrict_guards(p, list->item[i], to, kept))
      i++;
    else
      teir_list_remove(list, i);
  return list->count > 0;
}

static int copy_tree(struct peel *p, int n) {
  struct teir *t = p->t;
  const char *id =
      teir_fresh_node(p->a, t, arena_printf(p->a, "%s.rest", t->node[n].id));
  int copy = t->node[n].kind == TEIR_ITERATION
                 ? teir_add_iteration(p->a, t, id, t->node[n].axis)
                 : teir_add_invocation(p->a, t, id, t->node[n].primitive);
  struct teir_node to = t->node[n];
  to.id = id;
  to.guard = arena_copy(p->a, to.guard, (size_t)to.guard_count,
                        (size_t)to.guard_count, sizeof *to.guard);
  struct teir_list children = to.children;
  to.children = (struct teir_list){0};
  for (int i = 0; i < children.count; i++) {
    int child = copy_tree(p, children.item[i]);
    teir_list_add(p->a, &to.children, child);
  }
  t->node[copy] = to;
  return copy;
}

/* The axis's first `main` indices, and the remainder behind them. */
static void cut_axis(struct peel *p, int64_t main) {
  struct teir *t = p->t;
  assert(main > 0 && main < t->axis[p->axis].extent.constant);
  const char *id = t->axis[p->axis].id;
  int64_t extent = t->axis[p->axis].extent.constant;
  p->main = teir_add_axis(
      p->a, t, teir_fresh_axis(p->a, t, arena_printf(p->a, "%s.main", id)),
      teir_constant(main));
  p->remainder = teir_add_axis(
      p->a, t, teir_fresh_axis(p->a, t, arena_printf(p->a, "%s.rest", id)),
      teir_constant(extent - main));
  const struct teir_axis *x = &t->axis[p->axis];
  for (int j = 0; j < t->tensor_count; j++) {
    struct teir_axis *m = &t->axis[p->main], *r = &t->axis[p->remainder];
    m->stride_bytes[j] = r->stride_bytes[j] = x->stride_bytes[j];
    m->offset_bytes[j] = x->offset_bytes[j];
    r->offset_bytes[j] = teir_constant(x->offset_bytes[j].constant +
                                       x->stride_bytes[j].constant * main);
  }
}

static void peel_loop(struct peel *p, int node) {
  struct teir *t = p->t;
  assert(t->node[node].axis == p->axis);
  int remainder = copy_tree(p, node);
  t->node[node].axis = p->main;
  t->node[remainder].axis = p->remainder;
  int parent, place;
  struct teir_list *home = teir_home(t, node, &parent, &place);
  struct teir_list *m = &t->node[node].children;
  for (int part = 0; part < 2; part++) {
    struct teir_list *list = part ? &t->node[remainder].children : m;
    for (int i = 0; i < list->count;)
      if (restrict_guards(p, list->item[i], part ? p->remainder : p->main,
                          part))
        i++;
      else
        teir_list_remove(list, i);
  }
  if (t->node[remainder].children.count > 0)
    teir_list_insert(p->a, home, place + 1, remainder);
  if (t->node[node].children.count == 0)
    teir_list_remove(home, place);
}

static int primitive_on(struct peel *p, int primitive, int axis,
                        const char *suffix) {
  struct teir *t = p->t;
  struct teir_primitive copy = t->primitive[primitive];
  copy.id = teir_fresh_primitive(p->a, t,
                                 arena_printf(p->a, "%s%s", copy.id, suffix));
  for (int r = 0; r < TEIR_ROLES; r++) {
    copy.role[r] = teir_list_copy(p->a, copy.role[r]);
    for (int i = 0; i < copy.role[r].count; i++)
      if (copy.role[r].item[i] == p->axis)
        copy.role[r].item[i] = axis;
  }
  int to = teir_add_primitive(p->a, t, copy.id, copy.op);
  t->primitive[to] = copy;
  return to;
}

static void peel_call(struct peel *p, int node) {
  struct teir *t = p->t;
  assert(t->node[node].kind == TEIR_INVOCATION);
  int primitive = t->node[node].primitive;
  int remainder = copy_tree(p, node);
  t->node[remainder].primitive =
      primitive_on(p, primitive, p->remainder, ".rest");
  t->node[node].primitive = primitive_on(p, primitive, p->main, ".main");
  int parent, place;
  struct teir_list *home = teir_home(t, node, &parent, &place);
  teir_list_insert(p->a, home, place + 1, remainder);
}

/* Does a call write every element once?  Each stride must span all smaller
 * ones. */
static bool writes_once(const struct teir *t, int primitive) {
  const struct teir_primitive *p = &t->primitive[primitive];
  int out = teir_output(t, primitive);
  assert(out >= 0);
  int64_t reach = dtype_bytes(t->tensor[out].type), done = -1;
  for (;;) {
    int64_t next = INT64_MAX, span = 0;
    int equals = 0;
    for (int r = 0; r < TEIR_ROLES; r++)
      for (int i = 0; i < p->role[r].count; i++) {
        const struct teir_axis *x = &t->axis[p->role[r].item[i]];
        int64_t stride = x->stride_bytes[out].constant;
        if (x->extent.constant == 1 || stride <= done || stride > next)
          continue;
        equals = stride == next ? equals + 1 : 1;
        next = stride;
        span = stride * (x->extent.constant - 1);
      }
    if (equals == 0)
      return true;
    if (equals > 1 || next < reach)
      return false;
    reach += span;
    done = next;
  }
}

/* Two calls do the elements of one in another order; fine for sums and zeros,
 * and where every element is written once. */
static bool check_call(const struct teir *t, int node, int axis,
                       struct diag *d) {
  const struct teir_node *n = &t->node[node];
  const struct teir_primitive *p = &t->primitive[n->primitive];
  int out = teir_output(t, n->primitive);
  bool consumed = false, same = false;
  for (int r = 0; r < TEIR_ROLES; r++)
    consumed = consumed || teir_list_find(p->role[r], axis) >= 0;
  for (int i = 0; i < teir_input_count(t, n->primitive); i++)
    same = same || teir_input(t, n->primitive, i) == out;
  if (!consumed)
    return diag_declined(d, n->at, "%s does not consume axis %s", n->id,
                         t->axis[axis].id);
  bool free =
      p->op == TEIR_ZERO ||
      (p->op == TEIR_CONTRACTION ? !same : writes_once(t, n->primitive));
  return free ||
         diag_declined(d, n->at, "the order of elements in %s matters", n->id);
}

struct teir *teir_peel(struct arena *a, const struct teir *from, int node,
                       int axis, int64_t main, struct diag *d) {
  if (!teir_check_concrete(from, d))
    return NULL;
  if (node < 0 || node >= from->node_count || axis < 0 ||
      axis >= from->axis_count) {
    diag_error(d, teir_loc(from), "there is no such node or axis");
    return NULL;
  }
  const struct teir_node *n = &from->node[node];
  const struct teir_axis *x = &from->axis[axis];
  if (main < 1 || main >= x->extent.constant) {
    diag_error(d, x->at, "axis %s has extent %lld; %lld leaves no two parts",
               x->id, (long long)x->extent.constant, (long long)main);
    return NULL;
  }
  if (n->kind == TEIR_ITERATION && n->axis != axis) {
    diag_error(d, n->at, "loop %s does not iterate %s", n->id, x->id);
    return NULL;
  }
  for (int i = 0; i < n->children.count; i++)
    if (iterates(from, n->children.item[i], axis)) {
      diag_declined(d, n->at, "a loop inside %s iterates %s again", n->id,
                    x->id);
      return NULL;
    }
  if (n->kind == TEIR_INVOCATION && !check_call(from, node, axis, d))
    return NULL;
  struct peel p = {.a = a, .t = teir_clone(a, from), .axis = axis};
  cut_axis(&p, main);
  if (n->kind == TEIR_ITERATION)
    peel_loop(&p, node);
  else
    peel_call(&p, node);
  teir_compact(p.t);
  return teir_verify(p.t, d) ? p.t : NULL;
}
