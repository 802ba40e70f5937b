/* slice.c -- some roots of a program as a program of their own. */
#include "teir_build.h"
#include "teir_transform.h"

#include <assert.h>

/* Sizes that lie one per tensor, for the chosen tensors. */
static struct value *chosen(struct arena *a, const struct value *from,
                            const int *tensor, int tensors) {
  struct value *to = arena_array(a, (size_t)tensors, sizeof *to);
  for (int i = 0; i < tensors; i++)
    to[i] = from[tensor[i]];
  assert(tensors > 0);
  return to;
}

static void choose_tensors(struct arena *a, struct teir *t, const int *tensor,
                           int tensors) {
  struct teir_tensor *to = arena_array(a, (size_t)tensors, sizeof *to);
  for (int i = 0; i < tensors; i++)
    to[i] = t->tensor[tensor[i]];
  for (int i = 0; i < tensors; i++)
    assert(tensor[i] >= 0 && tensor[i] < t->tensor_count);
  t->tensor = to;
  t->tensor_count = tensors;
  for (int i = 0; i < t->axis_count; i++) {
    struct teir_axis *x = &t->axis[i];
    x->stride_bytes = chosen(a, x->stride_bytes, tensor, tensors);
    x->offset_bytes = chosen(a, x->offset_bytes, tensor, tensors);
  }
}

static bool rename_operands(struct teir *t, const int *tensor, int tensors,
                            struct diag *d) {
  struct teir_list known = {tensors, (int *)tensor};
  for (int i = 0; i < t->primitive_count; i++) {
    struct teir_primitive *p = &t->primitive[i];
    for (int j = 0; j < p->operand.count; j++)
      if ((p->operand.item[j] = teir_list_find(known, p->operand.item[j])) < 0)
        return diag_declined(
            d, p->at, "primitive %s has an operand that is left out", p->id);
  }
  return true;
}

struct teir *teir_slice(struct arena *a, const struct teir *from, int root,
                        int roots, const int *tensor, int tensors,
                        struct diag *d) {
  struct teir *t = teir_clone(a, from);
  assert(root >= 0 && roots > 0 && root + roots <= from->roots.count);
  t->roots.item += root;
  t->roots.count = roots;
  teir_compact(t);
  teir_compact_axes(t);
  choose_tensors(a, t, tensor, tensors);
  return rename_operands(t, tensor, tensors, d) && teir_verify(t, d) ? t : NULL;
}
