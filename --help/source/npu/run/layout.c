/* layout.c -- the device buffers of a plan: where elements lie, and whether a
 * plan holds what it says. */
#include "launch.h"

void layout_offsets(const struct run_layout *l, enum axis_role axis,
                    int64_t *offset) {
  int64_t count = 1;
  offset[0] = 0;
  for (int k = 0; k < l->count; k++) {
    if (l->dim[k].axis != axis)
      continue;
    int64_t extent = l->dim[k].extent;
    for (int64_t i = count - 1; i >= 0; i--) {
      int64_t base = offset[i];
      for (int64_t x = extent - 1; x >= 0; x--)
        offset[i * extent + x] = base + x * l->dim[k].stride_bytes;
    }
    count *= extent;
  }
}

int64_t layout_batch(const struct run_plan *plan) {
  return plan->batch > 1 ? plan->batch : 1;
}

int64_t share_count(const struct run_share *s) {
  int64_t count = 1;
  for (int i = 0; i < s->count; i++)
    count *= s->digit[i].extent;
  return count;
}

int64_t share_element(const struct run_share *s, int64_t index) {
  int64_t element = 0;
  for (int i = s->count - 1; i >= 0; i--) {
    element += index % s->digit[i].extent * s->digit[i].step;
    index /= s->digit[i].extent;
  }
  return element;
}

/* Every index stands for an element, and every element has one. */
static bool share_check(const struct run_plan *plan, struct diag *d) {
  const int64_t extent[AXIS_ROLES] = {1, plan->m, plan->n, plan->k};
  for (int i = 0; i < AXIS_ROLES; i++) {
    const struct run_share *s = &plan->share[i];
    int64_t end = s->count ? 0 : extent[i];
    bool good = s->count <= RUN_DIMS;
    for (int64_t k = 0; good && s->count && k < share_count(s); k++) {
      int64_t element = share_element(s, k);
      good = element >= 0 && element <= end;
      end += element == end;
    }
    if (!good || end != extent[i])
      return diag_error(d, loc_none(), "the plan's shares leave out elements");
  }
  return true;
}

static bool layout_check(const struct run_plan *plan, int tensor, int bytes,
                         struct diag *d) {
  const struct run_layout *l = &plan->tensor[tensor];
  int64_t extent[AXIS_ROLES] = {1, 1, 1, 1}, reach = bytes;
  bool good = l->count >= 0 && l->count <= RUN_DIMS;
  for (int k = 0; good && k < l->count; k++) {
    int64_t step, n = l->dim[k].extent;
    good = l->dim[k].axis < AXIS_ROLES && n >= 1 &&
           l->dim[k].stride_bytes >= 0 &&
           !__builtin_mul_overflow(n - 1, l->dim[k].stride_bytes, &step) &&
           !__builtin_add_overflow(reach, step, &reach) &&
           !__builtin_mul_overflow(extent[l->dim[k].axis], n,
                                   &extent[l->dim[k].axis]);
  }
  int64_t want[AXIS_ROLES] = {layout_batch(plan), plan->m, plan->n, plan->k};
  for (int i = 0; i < AXIS_ROLES; i++)
    if (!l->in_place && plan->share[i].count)
      want[i] = share_count(&plan->share[i]);
  want[tensor == IN0 ? AXIS_N : tensor == IN1 ? AXIS_M : AXIS_K] = 1;
  for (int i = 0; i < AXIS_ROLES; i++)
    good = good && extent[i] == want[i] && want[i] >= 1;
  if (good && (uint64_t)reach <= l->bytes)
    return true;
  return diag_error(d, loc_none(),
                    "the plan's layout of tensor %d does not hold a launch of "
                    "%lld x %lld x %lld",
                    tensor, (long long)plan->m, (long long)plan->n,
                    (long long)plan->k);
}

static bool bias_check(const struct run_plan *plan, struct diag *d) {
  const struct run_bias *b = &plan->bias;
  int64_t bytes = (int64_t)plan->tensor[OUT].bytes;
  for (int64_t i = 0; i < b->count; i++)
    if (b->word[i].at_bytes < 0 || b->word[i].at_bytes > bytes - 4 ||
        b->word[i].element < 0)
      return diag_error(d, loc_none(), "the plan's bias lies outside");
  return true;
}

bool plan_check(const struct run_plan *plan, const struct teir_problem *p,
                struct diag *d) {
  for (int t = 0; t < TENSORS; t++)
    if (!layout_check(plan, t, dtype_bytes(p->type[t]), d))
      return false;
  return share_check(plan, d) && bias_check(plan, d);
}
