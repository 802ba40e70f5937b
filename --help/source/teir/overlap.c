/* overlap.c -- whether the sums of a contraction keep out of each other's way,
 * so that their order does not count.
 *
 * A sum grows from its Zero to its last product, or, where calls finish it, to
 * the last of these.  Sums that grow at the same time must not share a byte of
 * their tensor.  One loop makes its sums one after the other if all calls are
 * in it and no loop over K is around it: what two of its indices write then is
 * what the later one writes, which is the same only if both read the same.
 * So blocks may overlap in out where they overlap alike in what is read.  A
 * program that is placed on an array asserts this: its inputs may be packed,
 * with what is read twice there twice.
 *
 * Strides tell: sorted, each must step over all that smaller ones reach.  Some
 * layouts that keep out of the way by other means are refused.
 */
#include "overlap.h"

#include <assert.h>
#include <stdlib.h>

enum { OPERANDS = 4 }; /* out or the sums, and what moves alike */

struct step {
  const char *id;
  int64_t extent, stride[OPERANDS];
};

static int by_stride(const void *left, const void *right) {
  int64_t l = ((const struct step *)left)->stride[0];
  int64_t r = ((const struct step *)right)->stride[0];
  return l < r ? -1 : l > r;
}

/* x moves everything `times` as far as y does; 0: it does not. */
static int64_t multiple(const struct step *x, const struct step *y) {
  if (!y->stride[0] || x->stride[0] % y->stride[0])
    return 0;
  int64_t times = x->stride[0] / y->stride[0], product;
  for (int i = 1; i < OPERANDS; i++)
    if (__builtin_mul_overflow(y->stride[i], times, &product) ||
        product != x->stride[i])
      return 0;
  return times;
}

/* Steps along one line become one step: what they share, they share alike. */
static int join_lines(struct step *x, int count) {
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) {
      int64_t times = i == j ? 0 : multiple(&x[i], &x[j]), reach;
      if (times < 1 || times > x[j].extent ||
          __builtin_mul_overflow(x[i].extent - 1, times, &reach) ||
          __builtin_add_overflow(reach, x[j].extent, &reach))
        continue;
      x[j].extent = reach;
      x[i] = x[--count];
      i = -1; /* begin again: the longer step may meet others */
      break;
    }
  return count;
}

/* Strides are not negative (verify.c).  The step with which two indices meet;
 * NULL: none do. */
static const char *meets(struct step *x, int count, int64_t width) {
  qsort(x, (size_t)count, sizeof *x, by_stride);
  int64_t reach = width, more;
  for (int i = 0; i < count; i++) {
    if (x[i].stride[0] < reach ||
        __builtin_mul_overflow(x[i].stride[0], x[i].extent - 1, &more) ||
        __builtin_add_overflow(reach, more, &reach))
      return x[i].id;
  }
  return NULL;
}

static void add_step(const struct teir *t, int axis, const int *tensor,
                     struct step *x, int *count) {
  const struct teir_axis *from = &t->axis[axis];
  if (from->extent.constant <= 1)
    return;
  struct step s = {from->id, from->extent.constant, {0}};
  for (int i = 0; i < OPERANDS; i++)
    s.stride[i] = tensor[i] < 0 ? 0 : from->stride_bytes[tensor[i]].constant;
  x[(*count)++] = s;
}

static bool is_around(const int *parent, int loop, int node) {
  while (node >= 0 && node != loop)
    node = parent[node];
  return node >= 0;
}

static bool is_placed(const struct teir *t) {
  for (int n = 0; n < t->node_count; n++)
    if (t->node[n].place != TEIR_ANYWHERE)
      return true;
  return false;
}

/* How many of the loops around the Contraction, outermost first, make one sum
 * after the other. */
static int count_serial(struct arena *a, const struct teir *t,
                        const struct teir_roles *p, int contraction,
                        const int *other, int others) {
  const int *parent = teir_parents(a, t);
  int serial = 0, depth = 0;
  for (int n = parent[contraction]; n >= 0; n = parent[n])
    depth++;
  int *path = arena_array(a, (size_t)depth + 1, sizeof *path);
  for (int n = parent[contraction], i = depth; n >= 0; n = parent[n])
    path[--i] = n;
  for (; serial < depth; serial++) {
    bool one = t->axis[t->node[path[serial]].axis].extent.constant == 1;
    if (p->role[serial] == AXIS_K && !one)
      break;
    for (int i = 0; i < others; i++)
      if (!is_around(parent, path[serial], other[i]))
        return serial;
  }
  return serial;
}

bool teir_sums_apart(struct arena *a, const struct teir *t,
                     const struct teir_roles *p, int contraction,
                     const int *other, int others, struct diag *d) {
  const int sums[OPERANDS] = {p->sums, -1, -1, -1};
  const int all[OPERANDS] = {p->operand[OUT], p->operand[IN0], p->operand[IN1],
                             p->bias};
  struct step *x = arena_array(a, (size_t)p->count + 1, sizeof *x);
  int count = 0;
  int serial = others ? count_serial(a, t, p, contraction, other, others) : 0;
  for (int i = serial; i < p->count; i++)
    if (p->role[i] != AXIS_K)
      add_step(t, p->axis[i], sums, x, &count);
  const char *axis = meets(x, count, dtype_bytes(t->tensor[p->sums].type));
  if (axis)
    return diag_declined(d, teir_loc(t),
                         "not one contraction: along axis %s a place holds "
                         "several sums at the same time",
                         axis);
  if (is_placed(t))
    return true;
  count = 0;
  for (int i = 0; i < p->count; i++)
    if (p->role[i] != AXIS_K)
      add_step(t, p->axis[i], all, x, &count);
  axis = meets(x, join_lines(x, count),
               dtype_bytes(t->tensor[p->operand[OUT]].type));
  return !axis || diag_declined(d, teir_loc(t),
                                "not one contraction: along axis %s an element "
                                "of out is written with different sums",
                                axis);
}
