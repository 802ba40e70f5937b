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

struct design_buffer *add_buffer(struct builder *);
struct design_lock *add_lock(struct builder *);
struct design_bd *add_bd(struct builder *);
struct design_start *add_start(struct builder *);
struct design_route *add_route(struct builder *);
struct design_task *add_task(struct builder *);
struct design_core *add_core(struct builder *);

/* Locks of a core tile, own ids.  A pair per ring: empty, full. */
enum { CORE_IN0 = 0, CORE_IN1 = 2, CORE_OUT = 4 };
enum { LOCK_EMPTY = 0, LOCK_FULL = 1 };
/* Buffers of a ring in core memory. */
enum { CORE_DEPTH = 2 };

/* Descriptors of a mem tile that write a panel of in0 which is kept in part: a
 * kept part and then a streamed one; only a streamed one. */
enum { DESIGN_KEPT_BD, DESIGN_STREAMED_BD };

/* A column's blocks of out leave on one or two channels, a half of the rows on
 * each: how many, and which rows. */
int design_joins(const struct tile_program *);
int design_join_rows(const struct tile_program *, int join, int *first);

/* Blocks of out of a row of cores that leave as one. */
int design_out_span(const struct tile_program *);

/* The MAC's shape decides the layout of blocks in core memory. */
bool make_tiles(struct builder *);    /* dma.c: buffers, locks, static chains */
bool make_routes(struct builder *);   /* route.c */
bool make_tasks(struct builder *);    /* task.c: shim channels per phase */
bool make_programs(struct builder *); /* program.c */

#endif
