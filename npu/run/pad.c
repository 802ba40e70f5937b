/* pad.c -- inputs of which only some elements may be read, the others counting
 * as zero: a convolution's image, beyond whose edge there is nothing.
 *
 * A copy has a dimension for every axis that moves the input, and zeros where
 * one of the product's limits is below zero.  It is as large as the matrix that
 * a device's buffer holds; a copy of the image with a margin around it would be
 * smaller, but only if all axes of a limit moved the input by the same bytes
 * per step, and would read elements that the source steps over.
 *
 * A limit that moves with axes of both inputs only is kept for both.  Others
 * are kept for one, and the other input is read where no product counts: its
 * elements may not even exist unless each is needed for some other product.
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

/* The axes of an input: those that it shares with the other input first. */
struct padding {
  const struct product *p;
  int tensor, element_bytes;
  int axes, shared;
  const struct product_axis *axis[PRODUCT_AXES + 1];
  int limits, limit[PRODUCT_LIMITS]; /* those that this input keeps */
  char *to;                          /* the next element */
  uint64_t low, high;                /* addresses read; none: low > high */
  bool left_out;                     /* the other input is not always read */
};

/* ---- which axes, which limits ---- */

static enum axis_role own_role(int tensor) {
  return tensor == RUN_IN0 ? AXIS_M : AXIS_N;
}

static void add_axes(struct padding *x, enum axis_role role) {
  for (int i = 0; i < x->p->count[role]; i++)
    x->axis[x->axes++] = &x->p->axis[role][i];
}

/* Does the limit move with axes of a role? */
static bool moves(const struct product *p, int limit, enum axis_role role) {
  for (int i = 0; i < p->count[role]; i++)
    if (p->axis[role][i].extent > 1 && p->axis[role][i].step[limit])
      return true;
  return false;
}

static bool keeps(const struct product *p, int tensor, int limit) {
  return !moves(p, limit, own_role(RUN_IN0 + RUN_IN1 - tensor));
}

static struct padding padding_of(const struct product *p, int tensor) {
  static const struct product_axis one = {.extent = 1};
  struct padding x = {.p = p,
                      .tensor = tensor,
                      .element_bytes = dtype_bytes(p->type[tensor]),
                      .low = UINT64_MAX};
  for (int i = 0; i < p->limit_count; i++)
    if (keeps(p, tensor, i))
      x.limit[x.limits++] = i;
  add_axes(&x, AXIS_C);
  add_axes(&x, AXIS_K);
  x.shared = x.axes;
  add_axes(&x, own_role(tensor));
  if (x.axes == x.shared)
    x.axis[x.axes++] = &one;
  return x;
}

/* ---- the copy ---- */

/* First indices, and their end, at which the limits hold along an axis. */
struct range {
  int64_t begin, end;
};

/* v + step * i >= 0. */
static struct range narrowed(struct range r, int64_t v, int64_t step) {
  if (step > 0 && v < 0) {
    int64_t first = -(v + 1) / step + 1;
    r.begin = first > r.begin ? first : r.begin;
  } else if (step < 0) {
    int64_t end = v < 0 ? 0 : (int64_t)((uint64_t)v / (0 - (uint64_t)step)) + 1;
    r.end = end < r.end ? end : r.end;
  } else if (v < 0) {
    r.end = 0;
  }
  return r;
}

/* `bytes` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void
gather(char *to, const char *from, int64_t stride, int64_t count, int bytes) {
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * bytes, from + i * stride, (size_t)bytes);
}

static void copy_elements(char *to, const char *from, int64_t stride,
                          int64_t count, int bytes) {
  if (stride == bytes)
    memcpy(to, from, (size_t)(count * bytes));
  else if (bytes == 1)
    gather(to, from, stride, count, 1);
  else if (bytes == 2)
    gather(to, from, stride, count, 2);
  else
    gather(to, from, stride, count, bytes);
}

/* Along the last axis; gives how many elements are within the limits. */
static int64_t copy_run(struct padding *x, const struct product_axis *axis,
                        uint64_t from, const int64_t *value) {
  struct range r = {0, axis->extent};
  for (int i = 0; i < x->limits; i++)
    r = narrowed(r, value[i], axis->step[x->limit[i]]);
  int64_t stride = axis->stride_bytes[x->tensor], count = r.end - r.begin;
  if (count > 0) {
    uint64_t first = from + (uint64_t)(r.begin * stride);
    uint64_t end = first + (uint64_t)((count - 1) * stride + x->element_bytes);
    copy_elements(x->to + r.begin * x->element_bytes,
                  (const char *)(uintptr_t)first, stride, count,
                  x->element_bytes);
    x->low = first < x->low ? first : x->low;
    x->high = end > x->high ? end : x->high;
  }
  x->to += axis->extent * x->element_bytes;
  return count > 0 ? count : 0;
}

/* Is the other input read at an index of the shared axes? */
static bool needs_other(const struct padding *x, const int64_t *value) {
  for (int i = 0; i < x->limits; i++)
    if (value[i] < 0 && !moves(x->p, x->limit[i], own_role(x->tensor)))
      return false;
  return true;
}

/* From axis `level` on, where limit i has the value value[i]. */
static int64_t copy_axes(struct padding *x, int level, uint64_t from,
                         const int64_t *value) {
  const struct product_axis *axis = x->axis[level];
  int64_t count = 0, inner[PRODUCT_LIMITS];
  if (level == x->axes - 1) {
    count = copy_run(x, axis, from, value);
  } else {
    memcpy(inner, value, sizeof inner);
    for (int64_t i = 0; i < axis->extent; i++) {
      count += copy_axes(x, level + 1, from, inner);
      from += (uint64_t)axis->stride_bytes[x->tensor];
      for (int k = 0; k < x->limits; k++)
        inner[k] =
            (int64_t)((uint64_t)inner[k] + (uint64_t)axis->step[x->limit[k]]);
    }
  }
  x->left_out |= level == x->shared && count == 0 && needs_other(x, value);
  return count;
}

/* The axes' strides in the copy; false: it would be too large. */
static bool place_axes(struct product *p, int tensor, int64_t *bytes) {
  const enum axis_role order[] = {own_role(tensor), AXIS_K, AXIS_C};
  *bytes = dtype_bytes(p->type[tensor]);
  for (int k = 0; k < 3; k++)
    for (int i = p->count[order[k]] - 1; i >= 0; i--) {
      struct product_axis *x = &p->axis[order[k]][i];
      x->stride_bytes[tensor] = *bytes;
      if (__builtin_mul_overflow(*bytes, x->extent, bytes))
        return false;
    }
  p->offset[tensor] = 0;
  return true;
}

/* What was read must not be what the product writes. */
static bool check_read(const struct padding *x, void *const tensor[],
                       struct diag *d) {
  int64_t bytes = 0;
  uint64_t out =
      (uint64_t)(uintptr_t)tensor[RUN_OUT] + (uint64_t)x->p->offset[RUN_OUT];
  product_span(x->p, RUN_OUT, &bytes);
  if (x->left_out)
    return diag_declined(d, loc_none(),
                         "in%d has elements at which no product counts",
                         1 - x->tensor);
  if (x->low < x->high && x->low < out + (uint64_t)bytes && out < x->high)
    return diag_declined(d, loc_none(), "out overlaps in%d", x->tensor);
  return true;
}

static bool pad(struct padded *to, const struct product *p, int tensor,
                void *const from[], struct diag *d) {
  struct padding x = padding_of(p, tensor);
  int64_t bytes, value[PRODUCT_LIMITS] = {0};
  if (!x.limits)
    return true;
  char *copy =
      place_axes(&to->product, tensor, &bytes) ? malloc((size_t)bytes) : NULL;
  if (!copy)
    return diag_declined(d, loc_none(), "no memory");
  memset(copy, 0, (size_t)bytes);
  to->copy[tensor] = to->tensor[tensor] = x.to = copy;
  for (int i = 0; i < x.limits; i++)
    value[i] = p->limit[x.limit[i]];
  copy_axes(&x, 0,
            (uint64_t)(uintptr_t)from[tensor] + (uint64_t)p->offset[tensor],
            value);
  return check_read(&x, from, d);
}

/* Every limit moves with the axes of one input only. */
static bool check_limits(const struct product *p, struct diag *d) {
  for (int i = 0; i < p->limit_count; i++)
    if (!keeps(p, RUN_IN0, i) && !keeps(p, RUN_IN1, i))
      return diag_declined(d, loc_none(), "a limit moves with M and N axes");
  return true;
}

bool padded_open(struct padded *to, const struct product *p,
                 void *const tensor[], struct diag *d) {
  *to = (struct padded){.product = *p};
  memcpy(to->tensor, tensor, (size_t)p->tensor_count * sizeof *tensor);
  to->product.limit_count = 0;
  return check_limits(p, d) && pad(to, p, RUN_IN0, tensor, d) &&
         pad(to, p, RUN_IN1, tensor, d);
}

void padded_close(struct padded *x) {
  free(x->copy[RUN_IN0]);
  free(x->copy[RUN_IN1]);
}
