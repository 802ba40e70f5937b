/* change.h -- what the files behind change_write share: switches, packets that
 * write registers, and what many tiles get in common. */
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
static inline uint32_t tile_at(int column, int row) {
  return (uint32_t)(column << 5 | row);
}
static inline uint32_t offset_of(const struct command *c) {
  return c->address & 0xFFFFF;
}
static inline enum tile_kind kind_of(uint32_t tile) {
  return tile_kind((int)(tile & 31));
}

/* ---- by_tile.c: a list's commands, tile by tile ---- */
struct by_tile {
  const struct command_list *list;
  int first[TILES]; /* the tile's first command in it; -1: none */
  int *next;        /* for each, the next one of its tile; -1: none */
};
struct by_tile *by_tile(struct arena *, const struct command_list *);

/* ---- switch.c: stream switches, as configurations leave them ---- */
/* Masters, slaves, and slots, four for a slave; of many switches only
 * few are used. */
enum {
  SWITCH_WORDS = 0x100,
  SWITCH_SLAVES = 0x40, /* words behind the first master */
  SWITCH_PART_WORDS = 0x20,
  SWITCH_PARTS = SWITCH_WORDS / SWITCH_PART_WORDS
};
enum { SWITCH_VALUES = 3 };
static const uint32_t switch_on = 1u << 31;

/* A word of a switch, as the configurations that the array may hold have it. */
struct switch_word {
  uint32_t value;
  int lists;       /* so many, from the first one on, have this value */
  uint32_t target; /* what the new configuration writes, if it is wanted */
  uint32_t may[SWITCH_VALUES]; /* what some of them write, or we did, */
  int may_count;               /* if there are no more */
  bool mixed;                  /* others have another one */
  bool wanted;
  bool lent; /* it was written for a way of packets */
};
struct switches {
  int lists;
  /* A tile's part, once somebody asks for a word of it. */
  struct switch_word *(*part)[SWITCH_PARTS];
  struct command_list *out;
};
struct switches switches_read(const struct command_list *const from[],
                              int count, const struct command_list *to,
                              struct command_list *out);
/* NULL: not a word of a switch; *master: of an output. */
struct switch_word *switch_find(const struct switches *, uint32_t address,
                                bool *master);
/* What a switch holds is not written again; any other register is. */
void switch_write(const struct switches *, uint32_t address, uint32_t value);
uint32_t switch_master(int column, int row, enum port, int channel);
uint32_t switch_slave(int column, int row, enum port, int channel);
/* Whether some configuration names the word. */
bool switch_named(const struct switches *, uint32_t address);
/* Whether a way may lead out of the tile there: nothing else ever does, or the
 * same. */
bool switch_free(const struct switches *, uint32_t master, uint32_t value);
/* Whether some configuration, or the new one, sets the word so. */
bool switch_may(const struct switches *, uint32_t address, uint32_t value);
/* Whether some output of the tile may follow the input, but for one. */
bool switch_followed(const struct switches *, int column, int row,
                     enum port from, int channel, uint32_t but);
/* Lets an output follow an input; or nothing.  What it was to be, or is, comes
 * back with switch_restore. */
void switch_lend(const struct switches *, int column, int row, enum port from,
                 int from_channel, enum port to, int to_channel);
void switch_cut(const struct switches *, uint32_t master);
void switch_restore(const struct switches *);

/* ---- way.c: one stream to many tiles' TileControl masters ---- */
struct way {
  enum tile_kind kind; /* of the tiles that it reaches */
  const bool *member;  /* these alone, by tile; the sender may be one */
  int columns, rows;   /* the rectangle of members: from column 0, and the first
                          row of their kind, on */
  int across, up;      /* lanes along a row, and up columns */
  int down;            /* to mem tiles: from the first one to its shim tile */
  int channel;         /* of the first mem tile, which sends */
};
/* Chooses lanes and channel; false: there are none that are free. */
bool way_find(struct way *, const struct switches *);
void way_set(const struct way *, const struct switches *);

/* ---- packets.c: what a tile gets, as control packets ---- */
/* Packets of one length, which the channel sends with one task. */
struct packet_group {
  uint32_t data, count; /* words of each behind its header; packets */
};
enum { PACKET_GROUPS = 8, PACKET_DESCRIPTORS = 24 /* of a channel */ };
struct packets {
  int groups;
  struct packet_group group[PACKET_GROUPS];
  uint32_t *words, count; /* of all */
};
/* Whether a packet can do what the command does. */
bool packet_takes(const struct command *);
/* The tile's commands; false: they are too many kinds. */
bool packets_make(struct arena *, const struct command_list *,
                  struct packets *);
int packets_descriptors(const struct packets *);
/* Descriptors that send them from the mem tile's word `at` on, the first one
 * being `bd`; and the task of every group, for its queue. */
void packets_chain(const struct packets *, uint32_t at, uint32_t bd,
                   uint32_t words[][8], uint32_t task[]);

/* ---- broadcast.c ---- */
/* Tiles that get the same registers. */
struct broadcast {
  int count; /* of tiles; 0: none */
  bool member[TILES];
  uint32_t first;    /* a member, for all */
  uint32_t first_bd; /* of the descriptors that send it: to cores the channel's
                        first ones, to mem tiles last ones */
  struct way way;
  struct packets packets;
};
/* Of `to`, among the tiles of that kind that change; count stays 0 where single
 * writes are not dearer, or no lane is free.  `used`: of the channel's last
 * descriptors. */
void broadcast_find(struct broadcast *, enum tile_kind,
                    const struct by_tile *to, const bool kept[TILES],
                    const struct switches *, int used);
/* Whether the stream does what the command of `to` says. */
bool broadcast_has(const struct broadcast *, const struct command *);

#endif
