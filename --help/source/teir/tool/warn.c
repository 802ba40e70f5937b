/* warn.c -- doubts about a well-formed program: what the rules allow but an
 * emitter hardly means. */
#include "teir_build.h"
#include "teir_depend.h"
#include "teir_warn.h"

#include <assert.h>

struct warn {
  const struct teir *t;
  struct depend *k;
  struct text *to;
  int count;
};

static void begin(struct warn *w, const struct teir_node *n) {
  w->count++;
  if (n->at.file)
    text_printf(w->to, "%s:", n->at.file);
  if (n->at.line > 0)
    text_printf(w->to, "%d:", n->at.line);
  text_printf(w->to, "%swarning: ", n->at.file || n->at.line > 0 ? " " : "");
}

/* Beyond so many operands of calls, pairs are not compared. */
enum { PAIRS_LIMIT = 3000 };

static void guards_never_true(struct warn *w) {
  for (int i = 0; i < w->t->node_count; i++) {
    if (!w->k->never[i])
      continue;
    begin(w, &w->t->node[i]);
    text_printf(w->to, "the guard of node %s is never true\n",
                w->t->node[i].id);
  }
}

static void parallel_dependences(struct warn *w) {
  for (int i = 0; i < w->t->node_count; i++) {
    const struct teir_node *n = &w->t->node[i];
    if (n->kind != TEIR_ITERATION || n->policy != TEIR_PARALLEL)
      continue;
    struct depend_span span[] = {
        {i, 1, w->t->axis[n->axis].extent.constant - 1}};
    int first, second;
    if (!teir_depend_conflict(w->k, i, span, 1, false, &first, &second))
      continue;
    begin(w, n);
    text_printf(w->to,
                "parallel iterations of %s touch the same bytes in %s and %s\n",
                n->id, w->t->node[first].id, w->t->node[second].id);
  }
}

static void axes_twice(struct warn *w, struct teir_list list, int *used) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &w->t->node[list.item[i]];
    if (n->kind == TEIR_ITERATION) {
      if (used[n->axis]++) {
        begin(w, n);
        text_printf(w->to, "axis %s is iterated again by %s inside itself\n",
                    w->t->axis[n->axis].id, n->id);
      }
      axes_twice(w, n->children, used);
      used[n->axis]--;
      continue;
    }
    const struct teir_primitive *p = &w->t->primitive[n->primitive];
    for (int r = 0; r < TEIR_ROLES; r++)
      for (int j = 0; j < p->role[r].count; j++)
        if (used[p->role[r].item[j]]) {
          begin(w, n);
          text_printf(w->to,
                      "axis %s is iterated around %s and consumed in it\n",
                      w->t->axis[p->role[r].item[j]].id, n->id);
        }
  }
}

/* All operands of two calls of the same operation meet somewhere.  The calls'
 * accesses are runs of equal length that begin at x and y. */
static bool same_work(const struct warn *w, int x, int y, const bool *equal) {
  const struct depend_access *a = w->k->access;
  const struct teir *t = w->t;
  int p = t->node[a[x].leaf].primitive, q = t->node[a[y].leaf].primitive;
  int inputs = teir_input_count(t, p);
  assert(x != y && inputs >= 0);
  if (t->primitive[p].op != t->primitive[q].op ||
      inputs != teir_input_count(t, q))
    return false;
  for (int i = 0; i <= inputs; i++)
    if (!teir_depend_overlap(w->k, x + i, y + i, equal, NULL, 0))
      return false;
  return true;
}

static bool starts_call(const struct depend *k, int i) {
  assert(i >= 0 && i < k->count);
  return i == 0 || k->access[i].leaf != k->access[i - 1].leaf;
}

static void siblings_overlap(struct warn *w, struct arena *a) {
  for (int i = 0; i < w->k->count; i++) {
    const struct depend_access *x = &w->k->access[i];
    if (!starts_call(w->k, i))
      continue;
    bool *equal = arena_array(a, (size_t)w->t->node_count + 1, sizeof *equal);
    for (int j = 0; j < x->depth; j++)
      equal[x->path[j]] = true;
    for (int j = i + 1; j < w->k->count; j++) {
      const struct depend_access *y = &w->k->access[j];
      if (!starts_call(w->k, j) || y->leaf == x->leaf ||
          !same_work(w, i, j, equal))
        continue;
      begin(w, &w->t->node[y->leaf]);
      text_printf(w->to,
                  "siblings overlap: %s does again what %s did to the same "
                  "bytes\n",
                  w->t->node[y->leaf].id, w->t->node[x->leaf].id);
    }
  }
}

int teir_warn(const struct teir *t, struct text *to) {
  struct diag d = {0};
  if (!teir_check_concrete(t, &d))
    return 0;
  struct arena *a = arena_open();
  struct warn w = {.t = t, .k = teir_depend_open(a, t), .to = to};
  guards_never_true(&w);
  if (w.k->count <= PAIRS_LIMIT)
    parallel_dependences(&w);
  int *used = arena_array(a, (size_t)t->axis_count + 1, sizeof *used);
  axes_twice(&w, t->roots, used);
  if (w.k->count <= PAIRS_LIMIT)
    siblings_overlap(&w, a);
  arena_close(a);
  return w.count;
}
