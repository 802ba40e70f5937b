/* nest.c -- loops around each other. */
#include "map.h"

int64_t map_nest_extent(const struct map_nest *n) {
  int64_t extent = 1;
  for (int i = 0; i < n->count; i++)
    extent *= n->loop[i].extent;
  return extent;
}
