/* by_tile.c -- the commands of a list, tile by tile, each tile's in order. */
#include "change.h"

struct by_tile *by_tile(struct arena *a, const struct command_list *l) {
  struct by_tile *t = arena_alloc(a, sizeof *t);
  t->list = l;
  t->next = arena_array(a, (size_t)l->count + 1, sizeof *t->next);
  for (int tile = 0; tile < TILES; tile++)
    t->first[tile] = -1;
  for (int i = l->count - 1; i >= 0; i--) {
    int *first = &t->first[tile_of(&l->item[i])];
    t->next[i] = *first;
    *first = i;
  }
  return t;
}
