/* distribute.c -- loops around less, or around more: a loop becomes two, each
 * around a part of its children, or nodes get a loop of one iteration. */
#include "teir_build.h"
#include "teir_depend.h"
#include "teir_transform.h"

struct teir *teir_distribute(struct arena *a, const struct teir *from, int node,
                             int first, struct diag *d) {
  if (!teir_check_loop(from, node, d))
    return NULL;
  int children = from->node[node].children.count;
  if (first < 1 || first >= children) {
    diag_declined(d, from->node[node].at,
                  "loop %s has %d children, which %d does not cut in two",
                  from->node[node].id, children, first);
    return NULL;
  }
  /* all iterations of the first children run before those of the others */
  if (!teir_depend_reorders(from, node, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  int behind = teir_add_iteration(a, t, teir_fresh_node(a, t, t->node[node].id),
                                  t->node[node].axis);
  struct teir_node *x = &t->node[node], *y = &t->node[behind];
  const char *id = y->id;
  *y = *x;
  y->id = id;
  y->guard = arena_copy(a, x->guard, (size_t)x->guard_count,
                        (size_t)x->guard_count, sizeof *x->guard);
  y->children = (struct teir_list){0};
  for (int i = first; i < children; i++)
    teir_list_add(a, &y->children, x->children.item[i]);
  while (x->children.count > first)
    teir_list_remove(&x->children, x->children.count - 1);
  int parent, place;
  struct teir_list *home = teir_home(t, node, &parent, &place);
  teir_list_insert(a, home, place + 1, behind);
  return teir_verify(t, d) ? t : NULL;
}

struct teir *teir_enclose(struct arena *a, const struct teir *from, int node,
                          int count, const char *id, struct diag *d) {
  if (!teir_verify(from, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  int parent, place;
  struct teir_list *home = node >= 0 && node < t->node_count
                               ? teir_home(t, node, &parent, &place)
                               : NULL;
  if (!home || count < 1 || count > home->count - place) {
    diag_error(d, teir_loc(from), "there are no %d nodes from node %d on",
               count, node);
    return NULL;
  }
  int axis = teir_add_axis(a, t, teir_fresh_axis(a, t, id), teir_constant(1));
  int loop = teir_add_iteration(a, t, teir_fresh_node(a, t, id), axis);
  home = teir_home(t, node, &parent, &place); /* nodes may have moved */
  for (int i = 0; i < count; i++)
    teir_list_add(a, &t->node[loop].children, home->item[place + i]);
  while (--count > 0)
    teir_list_remove(home, place + count);
  home->item[place] = loop;
  return teir_verify(t, d) ? t : NULL;
}
