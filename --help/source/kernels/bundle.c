/* bundle.c -- one bundle of a schedule: its operations, its free slots and its
 * size. */
#include "kernel_trace.h"

struct isa_bundle kernel_bundle(const struct schedule *s, int cycle) {
  struct isa_bundle b = {0};
  for (int i = 0; i < SLOT_COUNT; i++)
    if (s->cycle[cycle].slot[i])
      b.slot[i] = *s->cycle[cycle].slot[i];
  return b;
}

bool kernel_bundle_long_free(const struct isa_bundle *b) {
  return !b->slot[SLOT_ALU].id && !b->slot[SLOT_MV].id && !b->slot[SLOT_LNG].id;
}

int kernel_bundle_bytes(const struct isa *isa, const struct isa_bundle *b,
                        struct diag *d) {
  int bytes = isa_bundle_size(isa, b, 0);
  if (!bytes)
    diag_error(d, loc_none(), "a kernel's bundle has no format");
  return bytes;
}
