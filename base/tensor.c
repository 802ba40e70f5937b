/* tensor.c -- names of what all stages share. */
#include "tensor.h"

#include <assert.h>

const char *tensor_name(int tensor) {
  static const char *const name[TENSORS] = {"in0", "in1", "out"};
  assert(tensor >= 0 && tensor < TENSORS);
  return name[tensor];
}
