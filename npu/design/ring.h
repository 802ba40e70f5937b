/* ring.h -- what makes the chains of mem tiles and core tiles: rings of buffers
 * with their locks, how a descriptor walks over a buffer, and a tile's memory
 * and descriptors while they are given out. */
#ifndef NPUTEIR_DESIGN_RING_H
#define NPUTEIR_DESIGN_RING_H

#include "parts.h"

#include "kernels.h"

/* One end of a ring: a channel that fills or drains it. */
struct ring {
  const char *name;
  int column, row;
  uint32_t offset, stride, bytes; /* of the first buffer; to the next, modulo
                                     MEM_REACH_BYTES */
  int depth;
  int beyond; /* of a mem tile: last buffers, in the east neighbour's memory */
  int lock;   /* id of empty; full is the next */
  int reuse;  /* 0: one pair of locks; else a pair per buffer */
};
/* A mem tile's descriptors see the memory of its east neighbour behind its own,
 * and that of its west one before it; and so its locks. */
enum {
  MEM_REACH_BYTES = 0x200000,
  WEST_BYTES = MEM_REACH_BYTES - 0x80000,
  WEST_LOCKS = 192
};
/* Buffers of `bytes`, of which the descriptors move the first r->bytes. */
void add_ring(struct builder *, const struct ring *, uint32_t bytes);

/* How a channel walks over a buffer: one descriptor or, where the buffer has
 * more dimensions than that can count, several, one behind the other. */
struct walk {
  struct bd_dim dim[4];
  int dims;
  int parts;
  uint32_t part_bytes[MAP_MAX_PARTS]; /* from the buffer's begin */
  int64_t reach_bytes;                /* of the outermost dimension */
  uint32_t outermost;                 /* its extent */
  uint32_t zeros;                     /* words behind each run of dim[0] */
  uint32_t zero_runs;                 /* of dim[0], behind each run of dim[1] */
  uint32_t length_words;              /* of a part; 0: the buffer's */
};
/* Word after word. */
extern const struct walk walk_linear;
/* The walk over a buffer's places; loops that continue each other are one.
 * The last dimension has no wrap, so any number of blocks may follow. */
bool walk_places(struct builder *, const struct map_stream *, struct walk *);
/* Words of all k of a block along dimension 0, and of the zeros behind them. */
struct walk walk_padded(const struct tile_program *, int tensor, int width);

/* A descriptor for a part of buffer `index` of the ring: the first one waits
 * for the buffer, the last one hands it on. */
void add_ring_bd(struct builder *, const struct ring *, int index, int id,
                 int next, bool mm2s, int channel, const struct walk *,
                 int part);
/* One descriptor for all buffers, which goes from one to the next by iteration.
 */
struct bd *add_stepping_bd(struct builder *, const struct ring *, int id,
                           int next, bool mm2s, int channel,
                           const struct walk *);
/* Descriptors first... that fill `count` buffers behind `from` once, for a task
 * of the transaction; or move all of them in a loop without end. */
void add_turn(struct builder *, const struct ring *, int from, int count,
              int first, int channel, const struct walk *);
void add_chain(struct builder *, const struct ring *, int first, bool mm2s,
               int channel, const struct walk *);

/* Bytes of a block as it lies in a mem tile, without zeros; and in a core.
 * Behind the M and N of a block that has less than a small matrix of them lies
 * what may be anything. */
uint32_t ring_block_bytes(const struct tile_program *, int tensor);
/* So that the descriptors at a ring's end towards device memory move what there
 * is. */
void ring_clip(const struct tile_program *, int tensor, const struct ring *,
               struct walk *);
uint32_t ring_core_bytes(const struct tile_program *, int tensor);

/* Locks in a mem tile. */
enum {
  LOCK_IN0 = 0, /* a pair, or a pair per chunk */
  LOCK_IN1 = 2 * MAP_MAX_CHUNKS,
  LOCK_OUT = LOCK_IN1 + 2 * 4, /* a pair per row */
};

/* A mem tile while it is filled: where free memory begins, and the descriptors
 * of even and odd channels. */
struct mem_tile {
  int column;
  uint32_t offset;
  int bd[2];
};
/* So many descriptors of a channel; gives the first one's id. */
int new_bds(struct builder *, struct mem_tile *, int channel, int count);
/* The first buffer's offset; buffers beyond the tile begin where it ends, and
 * others lie one behind the other. */
uint32_t take_memory(struct builder *, struct mem_tile *, const struct ring *);
/* A ring of an input: from the shim, and to the cores. */
void make_mem_ring(struct builder *, struct mem_tile *, struct ring *,
                   struct design_way, const struct walk *write,
                   const struct walk *read);

/* ---- read.c ---- */
/* How `blocks` of in0 in a buffer of so many steps are read, and such a buffer
 * of in1: as it is written, or with zeros. */
struct walk in0_read_walk(const struct tile_program *,
                          const struct kernel_shape *, int steps, int blocks);
struct walk in1_read_walk(const struct tile_program *,
                          const struct kernel_shape *, int steps);

/* ---- uneven.c ---- */
/* The same where the last step of k has less than others. */
bool make_uneven_ring(struct builder *, struct mem_tile *, struct ring *,
                      const struct kernel_shape *, int tensor,
                      struct design_way);

/* ---- in0.c ---- */
/* How a part of a buffer of so many steps is written. */
bool in0_write_walk(struct builder *, int steps, struct walk *);
/* Bytes of in0's panel in the mem tile of a column that does not send it. */
uint32_t in0_bytes_beside(const struct tile_program *, int column);
/* in0's panel, or ring, in the mem tile of a column that sends it. */
bool make_mem_in0(struct builder *, struct mem_tile *,
                  const struct kernel_shape *);
/* What comes of the panel that the west neighbour sends. */
bool make_panel_beside(struct builder *, struct mem_tile *);

/* ---- convert.c ---- */
/* in0's panel, which the column's converting core fills. */
void make_converted_in0(struct builder *, struct mem_tile *);
void make_converter(struct builder *, int column);

/* ---- core.c ---- */
void make_core(struct builder *, int column, int row,
               const struct kernel_shape *);

#endif
