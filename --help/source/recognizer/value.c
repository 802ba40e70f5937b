/* value.c -- values: strides, extents, distances.  They are taken modulo 2^64,
 * as the machine does, so that nothing here needs to know whether an index
 * could wrap. */
#include "recognizer_parts.h"

#include <assert.h>

struct value value_of(int64_t constant) {
  return (struct value){.constant = constant, .symbol = -1};
}

bool value_is(struct value v, int64_t constant) {
  return v.symbol < 0 && v.constant == constant;
}

bool value_equal(struct value a, struct value b) {
  return a.symbol >= 0 ? a.symbol == b.symbol : value_is(b, a.constant);
}

bool access_moves(const struct nest_access *a, int loop) {
  return !value_is(a->stride_bytes[loop], 0);
}

enum dtype signed_type(int bytes) {
  assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
  return bytes == 1   ? DTYPE_I8
         : bytes == 2 ? DTYPE_I16
         : bytes == 4 ? DTYPE_I32
                      : DTYPE_I64;
}
