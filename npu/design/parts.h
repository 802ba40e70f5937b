/* parts.h -- what the files of this module share: growing lists of a design,
 * and the plan of one tile's buffers, locks and descriptors. */
#ifndef NPUTEIR_DESIGN_PARTS_H
#define NPUTEIR_DESIGN_PARTS_H

#include "design.h"

struct builder {
  struct arena *arena;
  struct design *design;
  struct diag *diag;
  int capacity[7]; /* of the lists below, in elements */
};

/* ---- lists.c ---- */
struct design_buffer *add_buffer(struct builder *);
struct design_lock *add_lock(struct builder *);
struct design_bd *add_bd(struct builder *);
struct design_start *add_start(struct builder *);
struct design_route *add_route(struct builder *);
struct design_task *add_task(struct builder *);
struct design_core *add_core(struct builder *);

/* Locks of a core tile, own ids.  A pair per ring: empty, full. */
enum { CORE_IN0 = 0, CORE_IN1 = 2, CORE_OUT = 4, CORE_LAUNCH = 6 };
enum { LOCK_EMPTY = 0, LOCK_FULL = 1 };
/* Buffers of a ring in core memory. */
enum { CORE_DEPTH = 2 };

/* Descriptors of a mem tile that write a panel of in0 which is kept in part,
 * the first of a whole stretch and the first of its streamed steps. */
enum { DESIGN_STRETCH_BD, DESIGN_STREAMED_BD };
/* Whether the column keeps the second run of a stretch, not the first one. */
bool design_keeps_second(const struct tile_program *, int column);

/* A column's blocks of out leave on one or two channels, all rows on one or a
 * half on each: which rows. */
int design_join_rows(const struct tile_program *, int join, int *first);

/* Channels of a column's mem tile: from the shim, and to the cores, for blocks
 * of in0 and of part `part` of those that the column has of n. */
struct design_way {
  int in, out;
};
struct design_way design_in0_way(const struct tile_program *);
struct design_way design_in1_way(const struct tile_program *, int part);
int design_join_channel(const struct tile_program *, int join);
/* What comes of a panel of in0 on a channel of in1's of this column, ahead of
 * in1: then tasks of the transaction write the mem tile's rings, and not chains
 * without end.  Of the panel that column `home` sends, so many chunks; 0: none.
 */
struct design_share {
  int home, first, count;
};
struct design_share design_panel_share(const struct tile_program *, int column,
                                       int channel);
/* Of a grid apart: the channel to a row's core, which gets in0 and in1 in turn.
 */
int design_row_channel(int row);
/* The part of m whose blocks of in0 this column sends; -1: of none.  And of n,
 * the first of those whose blocks of in1. */
int design_in0_part(const struct tile_program *, int column);
int design_in1_part(const struct tile_program *, int column);
/* Loops over what rows of cores take; and bytes from a row's block of out to
 * the next one's in a column, unless that is in the other half. */
const struct map_nest *design_row_loops(const struct tile_program *);
int64_t design_row_bytes(const struct tile_program *);

/* Blocks of out of a row of cores that leave as one. */
int design_out_span(const struct tile_program *);

/* What a buffer of an input's ring holds: so many steps of k, and the blocks of
 * a group or of one of its blocks only. */
bool design_is_wide(const struct tile_program *); /* in0's */
int design_buffer_steps(const struct tile_program *, int tensor);

/* The MAC's shape decides the layout of blocks in core memory. */
bool make_tiles(struct builder *);  /* dma.c: buffers, locks, chains */
bool make_routes(struct builder *); /* route.c */
bool make_tasks(struct builder *);  /* task.c: shim channels per phase */
bool make_programs(struct builder *, struct core_cache *); /* program.c */
/* A core's ELF of its program and kernels. */
bool link_core(struct builder *, struct design_core *);

/* ---- clear.c ---- */
/* A kernel that clears what an input's block at p0 has behind the last k. */
struct asm_program *make_clear(struct builder *, int input);

/* ---- finish.c ---- */
/* What makes results of sums; *finish stays NULL where they are the same. */
bool make_finish(struct builder *, struct asm_program **finish);

/* ---- convert.c ---- */
int design_convert_row(const struct tile_program *); /* of the device */
bool make_converters(struct builder *);              /* their programs */

/* ---- core_cache.c ---- */
/* The ELF that was made for such cores, copied into the arena; false: none. */
bool core_cache_find(struct core_cache *, struct arena *,
                     const struct tile_program *, struct design_core *);
void core_cache_add(struct core_cache *, const struct tile_program *,
                    const struct design_core *);

#endif
