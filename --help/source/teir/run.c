/* run.c -- executes a program on host memory in the order of its schedule: the
 * oracle for everything below.
 *
 * One address per tensor goes down the tree.  Without threads a parallel loop
 * runs in increasing order, too.
 */
#include "teir_build.h"
#include "teir_run.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

/* One walker: all of it, or one thread's. */
struct walker {
  const struct run_walk *w;
  int64_t *index; /* by axis: of the nearest loop over it */
  int depth;      /* rows of addresses below a node, at most */
  bool alone;     /* no threads may be started from here */
};

/* Do the limits hold at the present indices? */
static bool counts(const struct walker *r) {
  const struct teir *t = r->w->t;
  for (int i = 0; i < t->limit_count; i++) {
    const struct affine_guard *l = &t->limit[i];
    uint64_t at = (uint64_t)l->start.constant;
    for (int x = 0; x < t->axis_count; x++)
      at += (uint64_t)l->step[x].constant * (uint64_t)r->index[x];
    if (((int64_t)at < 0) != l->below)
      return false;
  }
  return true;
}

/* A Contraction, or a Map that makes a factor of one. */
static bool is_limited(const struct teir *t, int primitive) {
  enum teir_op op = t->primitive[primitive].op;
  bool limited = op == TEIR_CONTRACTION;
  for (int p = 0; op == TEIR_MAP && !limited && p < t->primitive_count; p++)
    for (int i = 0; t->primitive[p].op == TEIR_CONTRACTION && i < 2; i++)
      limited |= teir_input(t, p, i) == teir_output(t, primitive);
  return limited;
}

static bool enters(const struct walker *r, const struct teir_node *n) {
  const struct teir *t = r->w->t;
  for (int i = 0; i < n->guard_count; i++) {
    int x = n->guard[i].axis;
    int64_t wanted = n->guard[i].last ? t->axis[x].extent.constant - 1 : 0;
    assert(r->index[x] >= 0 && r->index[x] < t->axis[x].extent.constant);
    if (r->index[x] != wanted)
      return false;
  }
  return n->kind == TEIR_ITERATION || t->limit_count == 0 ||
         !is_limited(t, n->primitive) || counts(r);
}

static void walk_list(struct walker *r, struct teir_list list,
                      uint64_t *address);

/* Iterations from..to-1 of a loop.  Addresses are numbers here: those of
 * tensors that no call below touches may be anything. */
static void walk_range(struct walker *r, const struct teir_node *n,
                       uint64_t *address, int64_t from, int64_t to) {
  const struct teir_axis *x = &r->w->t->axis[n->axis];
  assert(n->kind == TEIR_ITERATION && from >= 0 && to <= x->extent.constant);
  int tensors = r->w->t->tensor_count;
  uint64_t *inner = address + tensors;
  int64_t outer_index = r->index[n->axis];
  for (int64_t i = from; i < to; i++) {
    r->index[n->axis] = i;
    for (int j = 0; j < tensors; j++)
      inner[j] = address[j] + (uint64_t)x->offset_bytes[j].constant +
                 (uint64_t)x->stride_bytes[j].constant * (uint64_t)i;
    walk_list(r, n->children, inner);
  }
  r->index[n->axis] = outer_index;
}

/* ---- a parallel loop's share of one thread ---- */
struct share {
  struct walker walker;
  const struct teir_node *node;
  uint64_t *address;
  int64_t from, to;
  pthread_t thread;
  bool started;
};

static void *run_share(void *p) {
  struct share *s = p;
  walk_range(&s->walker, s->node, s->address, s->from, s->to);
  return NULL;
}

static void walk_parallel(struct walker *r, const struct teir_node *n,
                          const uint64_t *address) {
  const struct teir *t = r->w->t;
  int64_t extent = t->axis[n->axis].extent.constant;
  int threads = r->w->threads < extent ? r->w->threads : (int)extent;
  assert(threads > 0 && !r->alone);
  struct arena *a = arena_open();
  struct share *share = arena_array(a, (size_t)threads, sizeof *share);
  for (int i = 0; i < threads; i++) {
    struct share *s = &share[i];
    s->walker = *r;
    s->walker.alone = true;
    s->walker.index = arena_copy(a, r->index, (size_t)t->axis_count,
                                 (size_t)t->axis_count, sizeof *r->index);
    s->node = n;
    s->address =
        arena_copy(a, address, (size_t)t->tensor_count,
                   (size_t)(t->tensor_count * (r->depth + 1)), sizeof *address);
    s->from = extent * i / threads;
    s->to = extent * (i + 1) / threads;
    assert(s->from <= s->to && (i == 0 || s->from == share[i - 1].to));
    s->started = i > 0 && pthread_create(&s->thread, NULL, run_share, s) == 0;
  }
  for (int i = 0; i < threads; i++) /* this thread does what nobody took */
    if (!share[i].started)
      run_share(&share[i]);
  for (int i = 0; i < threads; i++)
    if (share[i].started)
      pthread_join(share[i].thread, NULL);
  arena_close(a);
}

static void walk_list(struct walker *r, struct teir_list list,
                      uint64_t *address) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &r->w->t->node[list.item[i]];
    if (!enters(r, n))
      continue;
    if (n->kind == TEIR_INVOCATION)
      r->w->call(r->w->context, n->primitive, address);
    else if (n->policy == TEIR_PARALLEL && !r->alone && r->w->threads > 1)
      walk_parallel(r, n, address);
    else
      walk_range(r, n, address, 0, r->w->t->axis[n->axis].extent.constant);
  }
}

static int depth_of(const struct teir *t, struct teir_list list) {
  int deepest = 0;
  for (int i = 0; i < list.count; i++) {
    int depth = depth_of(t, t->node[list.item[i]].children);
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest + 1;
}

void teir_run_schedule(const struct run_walk *w, void *const tensor[]) {
  const struct teir *t = w->t;
  struct arena *a = arena_open();
  struct walker r = {.w = w, .depth = depth_of(t, t->roots)};
  r.index = arena_array(a, (size_t)t->axis_count, sizeof *r.index);
  size_t rows = (size_t)r.depth + 1;
  assert(w->threads > 0);
  uint64_t *address =
      arena_array(a, rows * (size_t)t->tensor_count, sizeof *address);
  for (int i = 0; i < t->tensor_count; i++)
    address[i] = (uint64_t)(uintptr_t)tensor[i];
  walk_list(&r, t->roots, address);
  arena_close(a);
}

/* A call must do one product, or products that count alike. */
static bool check_limits(const struct teir *t, struct diag *d) {
  for (int p = 0; p < t->primitive_count; p++)
    for (int r = 0; r < TEIR_ROLES; r++)
      for (int i = 0; i < t->primitive[p].role[r].count; i++)
        for (int l = 0; l < t->limit_count; l++)
          if (t->limit[l].step[t->primitive[p].role[r].item[i]].constant)
            return diag_declined(d, t->limit[l].at,
                                 "a limit moves with an axis of primitive %s",
                                 t->primitive[p].id);
  return true;
}

bool teir_run_check(const struct teir *t, void *const tensor[],
                    struct diag *d) {
  int64_t low, high;
  if (!teir_verify(t, d) || !teir_check_bound(t, d) || !check_limits(t, d))
    return false;
  for (int i = 0; i < t->tensor_count; i++) {
    if (!teir_footprint(t, i, &low, &high, d))
      return false;
    if (high > low && !tensor[i])
      return diag_error(d, t->tensor[i].at, "tensor %s has no memory",
                        t->tensor[i].id);
  }
  return true;
}

/* ---- the oracle ---- */
static void call_elements(const void *context, int primitive,
                          const uint64_t *address) {
  const struct run_kernel *k = (const struct run_kernel *)context + primitive;
  assert(k->operand_count > 0 && k->operand_count <= RUN_OPERANDS);
  char *p[RUN_OPERANDS] = {NULL};
  for (int i = 0; i < k->operand_count; i++)
    p[i] = (char *)(uintptr_t)address[k->operand[i]] + k->offset[i];
  teir_run_kernel_call(k, p);
}

bool teir_run(const struct teir *t, void *const tensor[], struct diag *d) {
  if (!teir_run_check(t, tensor, d))
    return false;
  struct arena *a = arena_open();
  struct run_kernel *kernel =
      arena_array(a, (size_t)t->primitive_count, sizeof *kernel);
  for (int i = 0; i < t->primitive_count; i++)
    kernel[i] = teir_run_kernel_ready(a, t, i);
  struct run_walk w = {t, 1, call_elements, kernel};
  teir_run_schedule(&w, tensor);
  arena_close(a);
  return true;
}
