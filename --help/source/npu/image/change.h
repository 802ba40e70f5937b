/* change.h -- between change.c and broadcast.c: what the cores get in common
 * when the array's configuration changes. */
#ifndef NPUTEIR_CHANGE_H
#define NPUTEIR_CHANGE_H

#include "image.h"

#include <assert.h>

enum { TILES = 8 << 5 }; /* column << 5 | row */
enum { CORE_ENABLE = 1 };

static inline uint32_t tile_of(const struct command *c) {
  assert(c->kind == COMMAND_WRITE || c->kind == COMMAND_MASK_WRITE ||
         c->kind == COMMAND_BLOCK);
  assert(c->address >> 20 < TILES);
  return c->address >> 20;
}
static inline uint32_t offset_of(const struct command *c) {
  return c->address & 0xFFFFF;
}

/* Cores that get the same registers, and the way of a stream to all of them. */
struct broadcast {
  int count; /* of cores; 0: none */
  bool member[TILES];
  int columns, rows; /* from the mem tile's on: the way's rectangle */
  int north, east;   /* lanes */
  int channel;       /* of the mem tile */
  uint32_t first;    /* a member, for all */
};
/* Of `to`, among the cores that change; count stays 0 where single writes are
 * not dearer, or no lane is free. */
void broadcast_find(struct broadcast *, const struct command_list *const from[],
                    int count, const struct command_list *to,
                    const bool kept[TILES]);
/* Whether the stream does what the command of `to` says. */
bool broadcast_has(const struct broadcast *, const struct command *);
/* Appends what sends it.  The first mem tile's channels are idle and hold
 * nothing; its memory and descriptors are overwritten. */
void broadcast_write(const struct broadcast *, const struct command_list *to,
                     struct command_list *);

#endif
