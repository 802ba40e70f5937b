/* places.c -- where a product's tensors lie: their bytes, whether out overlaps
 * what is read, offsets of fused axes, and dense arrays for results. */
#include "parts.h"

#include <assert.h>

bool product_span(const struct product *p, int tensor, int64_t *bytes) {
  assert(tensor >= 0 && tensor < PRODUCT_TENSORS);
  *bytes = dtype_bytes(p->type[tensor]);
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      int64_t more;
      if (__builtin_mul_overflow(x->extent - 1, x->stride_bytes[tensor],
                                 &more) ||
          __builtin_add_overflow(*bytes, more, bytes))
        return false;
    }
  return true;
}

/* ---- overlap ---- */

/* Bytes that a tensor covers of each period of `period` bytes: axes that move
 * by whole periods add nothing. */
static int64_t width(const struct product *p, int tensor, int64_t period) {
  int64_t bytes = dtype_bytes(p->type[tensor]);
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      if (x->stride_bytes[tensor] % period)
        bytes += (x->extent - 1) * x->stride_bytes[tensor];
    }
  return bytes;
}

/* Whether in and out lie beside each other in every period, as the left and
 * right halves of a wider matrix do. */
static bool beside(const struct product *p, int tensor, uint64_t out,
                   uint64_t in, int64_t period) {
  if (period <= 0)
    return false;
  uint64_t n = (uint64_t)period;
  uint64_t distance = in >= out ? (in - out) % n : (n - (out - in) % n) % n;
  uint64_t out_width = (uint64_t)width(p, OUT, period);
  uint64_t in_width = (uint64_t)width(p, tensor, period);
  assert(distance < n);
  return distance >= out_width && in_width <= n - distance;
}

static bool tensor_disjoint(const struct product *p, int tensor, uint64_t out,
                            uint64_t in) {
  int64_t out_bytes = 0, in_bytes = 0;
  product_span(p, OUT, &out_bytes);
  product_span(p, tensor, &in_bytes);
  if (out < in ? in - out >= (uint64_t)out_bytes
               : out - in >= (uint64_t)in_bytes)
    return true;
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++)
      if (beside(p, tensor, out, in, p->axis[role][i].stride_bytes[OUT]) ||
          beside(p, tensor, out, in, p->axis[role][i].stride_bytes[tensor]))
        return true;
  return false;
}

/* Does an extra lie where out lies, element by element? */
static bool is_out(const struct product *p, int tensor) {
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      if (x->extent > 1 && x->stride_bytes[tensor] != x->stride_bytes[OUT])
        return false;
    }
  return dtype_bytes(p->type[tensor]) == dtype_bytes(p->type[OUT]);
}

bool product_disjoint(const struct product *p, void *const tensor[],
                      struct diag *d) {
  static const char *const name[] = {"in0", "in1"};
  uint64_t at[PRODUCT_TENSORS];
  for (int i = 0; i < p->tensor_count; i++)
    at[i] = (uint64_t)(uintptr_t)tensor[i] + (uint64_t)p->offset[i];
  for (int i = 0; i < p->tensor_count; i++) {
    if (i == OUT || i == SUMS || tensor_disjoint(p, i, at[OUT], at[i]) ||
        (i >= EXTRAS && at[i] == at[OUT] && is_out(p, i)))
      continue;
    if (i <= IN1)
      return diag_declined(d, loc_none(), "out overlaps %s", name[i]);
    return diag_declined(d, loc_none(), "out overlaps element-wise tensor x%d",
                         i - EXTRAS);
  }
  return true;
}

/* ---- addresses ---- */

void product_offsets(const struct product *p, enum axis_role role, int tensor,
                     int64_t *offset) {
  int64_t count = 1;
  offset[0] = 0;
  for (int a = 0; a < p->count[role]; a++) {
    const struct product_axis *x = &p->axis[role][a];
    for (int64_t i = count - 1; i >= 0; i--) {
      int64_t base = offset[i];
      for (int64_t k = x->extent - 1; k >= 0; k--)
        offset[i * x->extent + k] = base + k * x->stride_bytes[tensor];
    }
    count *= x->extent;
  }
  assert(count == p->extent[role]);
}

int64_t *product_new_offsets(struct arena *a, const struct product *p,
                             enum axis_role role, int tensor) {
  int64_t *offset = arena_array(a, (size_t)p->extent[role], sizeof *offset);
  product_offsets(p, role, tensor, offset);
  return offset;
}

/* ---- dense arrays ---- */

struct dense dense_make(struct arena *a, const int64_t extents[AXIS_ROLES],
                        enum dtype type) {
  static const enum axis_role order[] = {AXIS_N, AXIS_M, AXIS_C};
  struct dense x = {0};
  int64_t stride = dtype_bytes(type);
  for (int i = 0; i < 3; i++) {
    int64_t extent = extents[order[i]];
    int64_t *offset = arena_array(a, (size_t)extent, sizeof *offset);
    for (int64_t k = 0; k < extent; k++)
      offset[k] = k * stride;
    x.offset[order[i]] = offset;
    if (__builtin_mul_overflow(stride, extent, &stride))
      out_of_memory(SIZE_MAX);
  }
  x.memory = arena_alloc(a, (size_t)stride);
  return x;
}
