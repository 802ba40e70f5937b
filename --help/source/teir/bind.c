/* bind.c -- a program with symbols and their values in; the same program with
 * constants out. */
#include "teir_build.h"

#include <assert.h>

static struct value bound(struct value s, const int64_t *value) {
  assert(s.symbol < 0 || value);
  return s.symbol < 0 ? s : teir_constant(value[s.symbol]);
}

struct teir *teir_bind(struct arena *a, const struct teir *from,
                       const int64_t *value, int value_count, struct diag *d) {
  if (value_count != from->symbol_count) {
    diag_error(d, teir_loc(from),
               "%d values for %d symbols; every symbol has one value",
               value_count, from->symbol_count);
    return NULL;
  }
  if (!teir_verify(from, d))
    return NULL;
  struct teir *t = teir_clone(a, from);
  t->symbol_count = 0;
  assert(t->axis_count == from->axis_count);
  for (int i = 0; i < t->axis_count; i++) {
    struct teir_axis *x = &t->axis[i];
    x->extent = bound(x->extent, value);
    for (int j = 0; j < t->tensor_count; j++) {
      x->stride_bytes[j] = bound(x->stride_bytes[j], value);
      x->offset_bytes[j] = bound(x->offset_bytes[j], value);
    }
  }
  for (int i = 0; i < t->limit_count; i++) {
    struct affine_guard *l = &t->limit[i];
    l->start = bound(l->start, value);
    for (int j = 0; j < t->axis_count; j++)
      l->step[j] = bound(l->step[j], value);
  }
  return teir_verify(t, d) ? t : NULL;
}
