/* fast.c -- the oracle's walk with fast calls.
 *
 * Before it runs, loops around calls are handed to the primitives where that
 * changes no result, so that scalar schedules become large products, too.  A
 * loop that sums goes only from the inside out, which keeps the order of its
 * sum, and stays when out is narrower than the sum: rounding after every call
 * is part of the program's meaning.
 */
#include "teir_block.h"
#include "teir_build.h"
#include "teir_transform.h"

#include <assert.h>
#include <string.h>

/* ---- larger calls ---- */

/* Does each call of the primitive round or cut its sum? */
static bool rounds(const struct teir *t, int primitive) {
  if (t->primitive[primitive].op != TEIR_CONTRACTION)
    return false;
  enum dtype out = t->tensor[teir_output(t, primitive)].type;
  bool acc = teir_property(t, primitive, "acc");
  if (dtype_kind(out) == DTYPE_FLOAT)
    return acc || dtype_bytes(out) < 4;
  for (int i = 0; i < 2; i++)
    acc = acc || dtype_kind(t->tensor[teir_input(t, primitive, i)].type) ==
                     DTYPE_FLOAT;
  return acc;
}

static bool all_calls(const struct teir *t, struct teir_list list) {
  for (int i = 0; i < list.count; i++)
    if (t->node[list.item[i]].kind == TEIR_ITERATION)
      return false;
  return true;
}

/* Does some call below sum over the axis? */
static bool sums_below(const struct teir *t, struct teir_list list, int axis) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    if (n->kind == TEIR_INVOCATION &&
        t->axis[axis].stride_bytes[teir_output(t, n->primitive)].constant == 0)
      return true;
    if (sums_below(t, n->children, axis))
      return true;
  }
  return false;
}

/* Does some call below round what the loop over `axis` sums? */
static bool rounds_below(const struct teir *t, struct teir_list list,
                         int axis) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    if (n->kind == TEIR_INVOCATION && rounds(t, n->primitive) &&
        t->axis[axis].stride_bytes[teir_output(t, n->primitive)].constant == 0)
      return true;
    if (rounds_below(t, n->children, axis))
      return true;
  }
  return false;
}

/* A loop whose f32 sums meet an f64 input rounds, too; rare enough to leave
 * such programs as they are. */
static bool mixes(const struct teir *t) {
  bool wide = false, narrow = false;
  for (int i = 0; i < t->tensor_count; i++) {
    wide = wide || t->tensor[i].type == DTYPE_F64;
    narrow = narrow || (dtype_kind(t->tensor[i].type) == DTYPE_FLOAT &&
                        t->tensor[i].type != DTYPE_F64);
  }
  return wide && narrow;
}

static const struct teir *enlarge(struct arena *a, const struct teir *t) {
  if (mixes(t))
    return t;
  for (int n = t->node_count - 1; n >= 0;) {
    const struct teir_node *x = &t->node[n];
    struct diag d = {0};
    const struct teir *next = NULL;
    if (x->kind == TEIR_ITERATION && x->policy == TEIR_SEQUENTIAL &&
        !rounds_below(t, x->children, x->axis) &&
        (all_calls(t, x->children) || !sums_below(t, x->children, x->axis)))
      next = teir_consume(a, t, n, TEIR_ROLES, &d);
    if (next) { /* node numbers have changed: begin again */
      t = next;
      n = t->node_count - 1;
    } else {
      n--;
    }
  }
  return t;
}

static bool has_parallel(const struct teir *t) {
  for (int i = 0; i < t->node_count; i++)
    if (t->node[i].kind == TEIR_ITERATION && t->node[i].policy == TEIR_PARALLEL)
      return true;
  return false;
}

/* Without a BLAS that has threads of its own, outermost loops get them. */
static const struct teir *spread(struct arena *a, const struct teir *t) {
  for (int i = 0; i < t->roots.count; i++) {
    struct diag d = {0};
    int n = t->roots.item[i];
    const struct teir *next = t->node[n].kind == TEIR_ITERATION
                                  ? teir_set_policy(a, t, n, TEIR_PARALLEL, &d)
                                  : NULL;
    t = next ? next : t;
  }
  return t;
}

/* ---- calls ---- */
struct fast_call {
  struct run_kernel kernel;
  struct block block;
  bool fill; /* Zero: whole rows at once */
};

/* The densest loop goes inside, where a row is one memset. */
static bool dense_last(struct run_kernel *k) {
  int width = dtype_bytes(k->type[0]), last = k->loop_count - 1;
  assert(k->op == TEIR_ZERO && k->operand_count == 1);
  for (int i = 0; i <= last; i++)
    if (k->loop[i].stride[0] == width) {
      struct run_loop x = k->loop[i];
      k->loop[i] = k->loop[last];
      k->loop[last] = x;
      return true;
    }
  return false;
}

static void fill_rows(const struct run_kernel *k, int level, char *p) {
  assert(level < k->loop_count);
  if (level == k->loop_count - 1) {
    memset(p, 0,
           (size_t)k->loop[level].extent * (size_t)dtype_bytes(k->type[0]));
    return;
  }
  for (int64_t i = 0; i < k->loop[level].extent; i++)
    fill_rows(k, level + 1, p + i * k->loop[level].stride[0]);
}

static void call_fast(const void *context, int primitive,
                      const uint64_t *address) {
  const struct fast_call *c = (const struct fast_call *)context + primitive;
  char *p[RUN_OPERANDS] = {NULL};
  assert(c->kernel.operand_count <= RUN_OPERANDS);
  for (int i = 0; i < c->kernel.operand_count; i++)
    p[i] =
        (char *)(uintptr_t)address[c->kernel.operand[i]] + c->kernel.offset[i];
  if (c->fill)
    fill_rows(&c->kernel, 0, p[0]);
  else
    teir_block_call(&c->block, p);
}

bool teir_run_fast(const struct teir *from, void *const tensor[], int threads,
                   const struct teir_blas *blas, struct diag *d) {
  if (!teir_run_check(from, tensor, d))
    return false;
  assert(threads > 0);
  struct arena *a = arena_open();
  const struct teir *t = from;
  if (threads > 1 && !blas && !has_parallel(t))
    t = spread(a, t);
  t = enlarge(a, t);
  struct fast_call *call =
      arena_array(a, (size_t)t->primitive_count + 1, sizeof *call);
  for (int i = 0; i < t->primitive_count; i++) {
    call[i].kernel = teir_run_kernel_ready(a, t, i);
    call[i].fill =
        call[i].kernel.op == TEIR_ZERO && dense_last(&call[i].kernel);
    call[i].block = teir_block_ready(a, &call[i].kernel, blas);
  }
  if (blas && blas->set_threads)
    blas->set_threads(has_parallel(t) ? 1 : threads);
  struct run_walk w = {t, threads, call_fast, call};
  teir_run_schedule(&w, tensor);
  arena_close(a);
  return true;
}
