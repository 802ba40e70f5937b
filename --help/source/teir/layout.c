/* layout.c -- the same work on tensors that lie otherwise or are larger.
 *
 * What a primitive computes stays as it is; what changes is where the tensors'
 * elements are, which is for whoever runs the program to arrange: by copies
 * whose padding is zero, or by addressing them so.
 */
#include "teir_build.h"
#include "teir_transform.h"

static bool check_tensor(const struct teir *t, int tensor, struct diag *d) {
  return (tensor >= 0 && tensor < t->tensor_count) ||
         diag_error(d, teir_loc(t), "there is no tensor %d", tensor);
}

static bool check_axis(const struct teir *t, int axis, struct diag *d) {
  return (axis >= 0 && axis < t->axis_count) ||
         diag_error(d, teir_loc(t), "there is no axis %d", axis);
}

struct teir *teir_relayout(struct arena *a, const struct teir *from, int tensor,
                           const int *axis, int count, struct diag *d) {
  if (!teir_verify(from, d) || !teir_check_bound(from, d) ||
      !check_tensor(from, tensor, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  for (int i = 0; i < t->axis_count; i++)
    t->axis[i].stride_bytes[tensor] = t->axis[i].offset_bytes[tensor] =
        teir_constant(0);
  int64_t stride = dtype_bytes(t->tensor[tensor].type);
  for (int i = count - 1; i >= 0; i--) {
    if (!check_axis(t, axis[i], d))
      return NULL;
    struct teir_axis *x = &t->axis[axis[i]];
    x->stride_bytes[tensor] = teir_constant(stride);
    if (__builtin_mul_overflow(stride, x->extent.constant, &stride)) {
      diag_declined(d, x->at, "tensor %s has more than 2^63 bytes",
                    t->tensor[tensor].id);
      return NULL;
    }
  }
  return teir_verify(t, d) ? t : NULL;
}
