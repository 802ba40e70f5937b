/* nest.c -- loops around each other. */
#include "map.h"

int64_t map_nest_extent(const struct map_nest *n) {
  int64_t extent = 1;
  for (int i = 0; i < n->count; i++)
    extent *= n->loop[i].extent;
  return extent;
}

int64_t map_nest_offset(const struct map_nest *n, int tensor, int64_t index) {
  int64_t at = 0;
  for (int k = n->count - 1; k >= 0; k--) {
    at += index % n->loop[k].extent * n->loop[k].stride_bytes[tensor];
    index /= n->loop[k].extent;
  }
  return at;
}

bool map_nest_divide(const struct map_nest *n, int64_t inner,
                     struct map_nest *outer, struct map_nest *innermost) {
  outer->count = innermost->count = 0;
  int at = n->count;
  while (at > 0 && inner >= n->loop[at - 1].extent &&
         inner % n->loop[at - 1].extent == 0)
    inner /= n->loop[--at].extent;
  for (int i = 0; i < at; i++)
    outer->loop[outer->count++] = n->loop[i];
  if (inner > 1) {
    struct map_loop *around = &outer->loop[at - 1];
    if (at == 0 || around->extent % inner)
      return false;
    innermost->loop[innermost->count] = *around;
    innermost->loop[innermost->count++].extent = inner;
    around->extent /= inner;
    for (int t = 0; t < MAP_TENSORS; t++)
      around->stride_bytes[t] *= inner;
  }
  for (int i = at; i < n->count; i++)
    innermost->loop[innermost->count++] = n->loop[i];
  return innermost->count <= MAP_LOOPS;
}
