/* affine.c -- values, and the addresses made of them: a start plus, for each
 * loop, stride times iteration.  Since every stride is taken modulo 2^64, as
 * the machine does, two accesses are equal when their starts and all strides
 * are; nothing here needs to know whether an index could wrap. */
#include "recognizer_parts.h"

struct value value_of(int64_t constant) {
  return (struct value){.constant = constant, .symbol = -1};
}

bool value_is(struct value v, int64_t constant) {
  return v.symbol < 0 && v.constant == constant;
}

bool value_equal(struct value a, struct value b) {
  return a.symbol >= 0 ? a.symbol == b.symbol : value_is(b, a.constant);
}

bool access_equal(const struct nest *n, const struct nest_access *a,
                  const struct nest_access *b) {
  if (a->tensor != b->tensor || a->type != b->type ||
      a->offset_bytes != b->offset_bytes)
    return false;
  for (int l = 0; l < n->loop_count; l++)
    if (!value_equal(a->stride_bytes[l], b->stride_bytes[l]))
      return false;
  return true;
}

bool access_moves(const struct nest_access *a, int loop) {
  return !value_is(a->stride_bytes[loop], 0);
}
