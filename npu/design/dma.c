/* dma.c -- buffers, locks and descriptor chains of mem tiles and core tiles.
 *
 * Every stream is a chain of rings.  A ring is `depth` equal buffers with two
 * counting locks: `empty` (starts at depth) and `full` (starts at 0).  A writer
 * acquires empty and releases full; a reader the reverse.  Its
 * descriptors form a loop that starts when the array is configured and never
 * ends, so the same configuration serves any number of runs.
 *
 *   shim MM2S -> mem tile ring -> core ring       in0, in1
 *   core ring -> mem tile ring per row -> shim    out, rows joined in order
 *
 * A ring whose buffers are each read `reuse` times before they are filled again
 * has a pair of locks per buffer, and its writer counts in units of reuse.  So
 * a mem tile keeps the whole panel of in0 of an m round, cut into
 * chunks: the reader passes over the chunks once per n round, and behind its
 * last pass the writer refills chunk after chunk for the next m round.
 *
 * A panel that does not fit is kept in part (struct map_panel): of every
 * stretch of k the first steps.  The kept steps of all stretches lie one behind
 * the other; the steps behind them, streamed in every n round, pass through a
 * ring. Two descriptors at each end do it, which count their way through the
 * stretches by iteration:
 *
 *   writer  first n round: kept, streamed, kept, streamed ...
 *           others:        streamed, streamed ...
 *   reader  all n rounds:  kept, streamed, kept, streamed ...
 *
 * The writer's differ, so they are tasks that the transaction starts; the
 * reader's are a chain without end.  Only the ring has locks.  The reader does
 * not touch a kept part before the streamed one behind it is there, which was
 * written later.  And when the writer begins with the next m round's panel, it
 * has just got a place in the ring for the last streamed part, so the reader is
 * at most the ring's depth behind and done with the kept parts from the first
 * stretch on, in the order in which they are overwritten.
 *
 * Where every two rows of cores take other parts of n (struct map_grid), both
 * channels of a shim bring in1, and in0 comes ahead of it on one of them: the
 * writer's tasks are the panel of in0 once, then turns of in1's ring.  Of a
 * grid apart no block is shared; a shim's channel fills the rings of all rows
 * in turn, and a row's channel reads those of its two inputs in turn.
 *
 * Layout changes on the way, in descriptors only.  Device memory holds blocks
 * row-major; the vector unit wants them cut into the MAC's small matrices.
 * With R x S x T the shape of the MAC:
 *
 *   in0  [m][k] is written into the mem tile as [m/R][k/S][R][S]
 *   in1  [k][n] is written into the mem tile as [k/S][n/T][S][T]
 *   out  [m/R][n/T][R][T] is read from the mem tile as [m][n]
 *
 * Tensors that lie in place arrive otherwise.  A row along k is read in a run
 * of several steps; then a buffer of the mem tile is one block of so many
 * steps, and its reader picks step by step what lies apart:
 *
 *   in0  [m/R][steps * k/S][R][S], read as [step][m/R][k/S][R][S]
 *
 * And what comes column by column (turned) is cut into small matrices whose
 * elements are transposed, which the kernels know to read and write:
 *
 *   in0  [k][m] becomes [m/R][k/S][S][R]
 *   in1  [n][k] becomes [k/S][n/T][T][S]
 *   out  [m/R][n/T][T][R] is read as [n][m]
 *
 * A block whose k do not fill small matrices gets zeros on its way from the mem
 * tile, which holds what there is: a run of dimension 0 ends with them, so it
 * has all k of a row, or of a row of small matrices.  What is left to cut,
 * the core's channels cut:
 *
 *   in0  [m][k] is read as [R][m/R][k 0]   and written as [m/R][k/S][R][S]
 *        [m/R][k][R], read as [m/R][k 0][R], which is [m/R][k/S][S][R]
 *   in1  [n/T][k][T], read as [n/T][k 0][T], written as [k/S][n/T][S][T]
 *        [n][k] is read as [n][k 0]        and written as [k/S][n/T][T][S]
 */
#include "parts.h"

#include "kernels.h"

#include <assert.h>
#include <string.h>

/* One end of a ring: a channel that fills or drains it. */
struct ring {
  const char *name;
  int column, row;
  uint32_t offset, stride, bytes; /* of the first buffer; to the next, modulo
                                     2^32 */
  int depth;
  int lock;  /* id of empty; full is the next */
  int reuse; /* 0: one pair of locks; else a pair per buffer */
};

static int lock_of(const struct ring *r, int buffer, int side) {
  return r->lock + (r->reuse ? 2 * buffer : 0) + side;
}

/* Buffers of `bytes`, of which the descriptors move the first r->bytes. */
static void add_ring(struct builder *m, const struct ring *r, uint32_t bytes) {
  assert(r->depth >= 1 && r->bytes > 0 && r->bytes <= bytes);
  for (int i = 0; i < r->depth; i++)
    *add_buffer(m) = (struct design_buffer){
        arena_printf(m->arena, "%s%d", r->name, i), r->column, r->row,
        r->offset + (uint32_t)i * r->stride, bytes};
  const char *const side[] = {"empty", "full"};
  for (int i = 0; i < (r->reuse ? r->depth : 1); i++)
    for (int j = 0; j < 2; j++)
      *add_lock(m) = (struct design_lock){
          r->reuse ? arena_printf(m->arena, "%s%d_%s", r->name, i, side[j])
                   : arena_printf(m->arena, "%s%s", r->name, side[j]),
          r->column, r->row, lock_of(r, i, j),
          j == LOCK_FULL ? 0
          : r->reuse     ? r->reuse
                         : r->depth};
}

/* How a channel walks over a buffer: one descriptor or, where the buffer has
 * more dimensions than that can count, several, one behind the other. */
enum { MAX_PARTS = 8 };
struct walk {
  struct bd_dim dim[4];
  int dims;
  int parts;
  uint32_t part_bytes[MAX_PARTS]; /* from the buffer's begin */
  int64_t reach_bytes;            /* of the outermost dimension */
  uint32_t outermost;             /* its extent */
  uint32_t zeros;                 /* words behind each run of dim[0] */
  uint32_t length_words;          /* with zeros, of a part; 0: the buffer's */
};
static const struct walk linear = {.parts = 1};

/* The walk over a buffer's places; loops that continue each other are one.
 * The last dimension has no wrap, so any number of blocks may follow. */
static bool walk_places(struct builder *m, const struct map_stream *s,
                        struct walk *w) {
  struct map_stream_loop loop[MAP_STREAM_LOOPS];
  int count = 0;
  for (int i = 0; i < s->count; i++) {
    struct map_stream_loop l = s->loop[i];
    if (count && loop[count - 1].place_bytes == l.place_bytes * l.extent) {
      loop[count - 1].extent *= l.extent;
      loop[count - 1].place_bytes = l.place_bytes;
    } else {
      loop[count++] = l;
    }
  }
  int outer = count > 4 ? count - 4 : 0;
  *w = (struct walk){.dims = count - outer, .parts = 1};
  w->outermost = count ? (uint32_t)loop[0].extent : 1;
  w->reach_bytes = count ? loop[0].place_bytes * loop[0].extent : 4;
  for (int i = 0; i < outer; i++)
    w->parts *= (int)loop[i].extent;
  if (w->parts > MAX_PARTS)
    return diag_error(m->diag, loc_none(),
                      "a block of %d dimensions in a mem tile; a descriptor "
                      "walks over 4, and %d of them over a block",
                      count, MAX_PARTS);
  for (int part = 0; part < w->parts; part++) {
    int64_t at = 0;
    for (int i = outer - 1, n = part; i >= 0; n /= (int)loop[i].extent, i--)
      at += n % loop[i].extent * loop[i].place_bytes;
    w->part_bytes[part] = (uint32_t)at;
  }
  for (int i = 0; i < w->dims; i++) {
    const struct map_stream_loop *l = &loop[count - 1 - i];
    bool last = i == w->dims - 1 && w->parts == 1;
    w->dim[i] = (struct bd_dim){(uint32_t)(l->place_bytes / 4),
                                last ? 0 : (uint32_t)l->extent};
  }
  if (w->parts > 1)
    w->dim[w->dims - 1].wrap = 0;
  return true;
}

/* A descriptor for a part of buffer `index` of the ring: the first one waits
 * for the buffer, the last one hands it on. */
static void add_ring_bd(struct builder *m, const struct ring *r, int index,
                        int id, int next, bool mm2s, int channel,
                        const struct walk *w, int part) {
  struct design_bd *x = add_bd(m);
  int unit = !mm2s && r->reuse ? r->reuse : 1; /* a writer serves every use */
  bool first = part == 0, last = part == w->parts - 1;
  assert(index >= 0 && index < r->depth && r->bytes % 4 == 0);
  assert(unit <= m->design->program->device->max_lock);
  assert(r->bytes / 4 % (uint32_t)w->parts == 0 && w->dims <= 4);
  *x = (struct design_bd){
      .name = arena_printf(m->arena, "%s%d_%s", r->name, index,
                           mm2s ? "out" : "in"),
      .column = r->column,
      .row = r->row,
      .id = id,
      .mm2s = mm2s,
      .channel = channel,
      .bd = {.base =
                 r->offset + (uint32_t)index * r->stride + w->part_bytes[part],
             .length_words = r->bytes / 4 / (uint32_t)w->parts,
             .iteration_step_words = 1,
             .iteration_count = 1,
             .acquire_lock =
                 first ? lock_of(r, index, mm2s ? LOCK_FULL : LOCK_EMPTY) : -1,
             .acquire_value = -unit,
             .release_lock = lock_of(r, index, mm2s ? LOCK_EMPTY : LOCK_FULL),
             .release_value = last ? unit : 0,
             .next = next}};
  for (int i = 0; i < 4; i++)
    x->bd.dim[i] = i < w->dims ? w->dim[i] : (struct bd_dim){1, 0};
  x->bd.zero_after[0] = w->zeros;
  if (w->length_words)
    x->bd.length_words = w->length_words;
}

/* One turn of the ring, for a task of the transaction, or a loop of it without
 * end; descriptors first... */
static void add_turn(struct builder *m, const struct ring *r, int first,
                     bool mm2s, int channel, const struct walk *w, bool loops) {
  int count = r->depth * w->parts;
  for (int i = 0; i < count; i++)
    add_ring_bd(m, r, i / w->parts, first + i,
                i + 1 < count ? first + i + 1
                : loops       ? first
                              : -1,
                mm2s, channel, w, i % w->parts);
}

static void add_chain(struct builder *m, const struct ring *r, int first,
                      bool mm2s, int channel, const struct walk *w) {
  add_turn(m, r, first, mm2s, channel, w, true);
  *add_start(m) =
      (struct design_start){r->column, r->row, channel, first, mm2s};
}

int design_join_rows(const struct tile_program *p, int join, int *first) {
  int rows = p->grid.rows, lower = p->joins > 1 ? (rows + 1) / 2 : rows;
  assert(join >= 0 && join < p->joins);
  *first = join ? lower : 0;
  return join ? rows - lower : lower;
}

/* ---- channels of a mem tile ----
 * Even ones have the lower half of the descriptors, odd ones the upper half:
 * in0's are many, so what else there is goes to odd ones where it can. */

struct design_way design_in0_way(const struct tile_program *p) {
  (void)p;
  return (struct design_way){0, 0};
}

struct design_way design_in1_way(const struct tile_program *p, int part) {
  assert(part >= 0 && part < p->grid.split);
  if (p->grid.split == 1)
    return (struct design_way){1, 1};
  return (struct design_way){part, part ? 1 : 5};
}

int design_join_channel(const struct tile_program *p, int join) {
  return p->joins > 1 ? 2 + join : 3;
}

int design_row_channel(int row) {
  static const int channel[] = {0, 1, 4, 5}; /* 2 and 3 are for out */
  assert(row >= 0 && row < (int)(sizeof channel / sizeof *channel));
  return channel[row];
}

int design_in0_part(const struct tile_program *p, int column) {
  if (p->grid.apart)
    return 0;
  for (int i = 0; i < p->grid.m; i++)
    if (map_grid_home(&p->grid, i) == column)
      return i;
  return -1;
}

bool design_takes_turns(const struct tile_program *p, int column) {
  return p->grid.split > 1 && design_in0_part(p, column) >= 0;
}

/* Of a block as it lies in a mem tile, without zeros. */
static uint32_t block_bytes(const struct tile_program *p, int tensor) {
  const enum axis_role *role = map_roles[tensor];
  return (uint32_t)(map_nest_extent(&p->side[role[0]]) *
                    map_nest_extent(&p->side[role[1]]) *
                    dtype_bytes(p->transfer[tensor].type));
}

/* And in a core. */
static uint32_t core_block_bytes(const struct tile_program *p, int tensor) {
  int side[AXIS_ROLES] = {1, p->block_m, p->block_n, p->block_k};
  const enum axis_role *role = map_roles[tensor];
  return (uint32_t)(side[role[0]] * side[role[1]] *
                    dtype_bytes(p->transfer[tensor].type));
}

/* in0's chunks have a writer and a reader each, and are made first. */
int design_turn_bd(const struct tile_program *p) { return 2 * p->panel.chunks; }

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
static int new_bds(struct builder *m, struct mem_tile *at, int channel,
                   int count) {
  int half = m->design->program->device->tile[TILE_MEM].bds / 2;
  int first = at->bd[channel % 2];
  at->bd[channel % 2] += count; /* design_check sees to the end */
  return first + (channel % 2 ? half : 0);
}

/* ---- in0 in a mem tile ---- */

/* How a part of a buffer of so many steps is written. */
static bool in0_write_walk(struct builder *m, int steps, struct walk *w) {
  const struct tile_program *p = m->design->program;
  struct map_stream x;
  bool wide = design_is_wide(p);
  if (!map_stream_of(p, IN0, wide ? steps : 1, wide, &x))
    return diag_error(m->diag, loc_none(),
                      "a block of %s is not made of words and small matrices",
                      "in0");
  if (!walk_places(m, &x, w))
    return false;
  bool several = !wide && steps * p->group_m > 1;
  if (!several || w->reach_bytes == block_bytes(p, IN0))
    return true;
  if (w->parts > 1 || w->dims == 4)
    return diag_error(m->diag, loc_none(),
                      "in0: blocks behind each other are written by one "
                      "descriptor, which has no dimension left for them");
  w->dim[w->dims - 1].wrap = w->outermost;
  w->dim[w->dims++] = (struct bd_dim){block_bytes(p, IN0) / 4, 0};
  return true;
}

/* Words of all k of a block along dimension 0, and of the zeros behind them. */
static struct walk padded_runs(const struct tile_program *p, int tensor,
                               int width) {
  uint32_t words =
      (uint32_t)(width * dtype_bytes(p->transfer[tensor].type)); /* of four k */
  uint32_t k = (uint32_t)map_nest_extent(&p->side[AXIS_K]);
  struct walk w = {.dims = 1, .parts = 1};
  w.dim[0] = (struct bd_dim){1, k * words / 4};
  w.zeros = ((uint32_t)p->block_k - k) * words / 4;
  return w;
}

/* The same for blocks of in0 that zeros join, of which the buffer has so many.
 */
static struct walk in0_padded_walk(const struct tile_program *p,
                                   const struct kernel_shape *s, int steps,
                                   int blocks) {
  bool turned = p->transfer[IN0].turned, wide = design_is_wide(p);
  struct walk w = padded_runs(p, IN0, turned ? s->m : 1);
  uint32_t run = w.dim[0].wrap, row = run * (uint32_t)(wide ? steps : 1),
           rows = (uint32_t)(p->block_m / s->m), m = (uint32_t)p->block_m;
  bool apart = wide && !turned && steps > 1 && p->group_m > 1;
  w.parts = apart ? steps : 1;
  assert(w.parts <= MAX_PARTS);
  for (int i = 0; i < w.parts; i++)
    w.part_bytes[i] = (uint32_t)i * run * 4;
  if (turned) {
    w.dim[1] = (struct bd_dim){row, rows * (uint32_t)p->group_m};
    w.dim[2] = (struct bd_dim){run, 0};
    w.dims = 3;
  } else {
    bool by_step = wide && steps > 1 && !apart;
    w.dim[1] = (struct bd_dim){(uint32_t)s->m * row, rows};
    w.dim[2] = (struct bd_dim){row, (uint32_t)s->m};
    w.dim[3] = (struct bd_dim){by_step ? run : m * row, 0};
    w.dims = 4;
  }
  w.length_words = core_block_bytes(p, IN0) / 4 * (uint32_t)(blocks / w.parts);
  return w;
}

/* How `blocks` of it, of so many steps, are read. */
static struct walk in0_read_walk(const struct tile_program *p,
                                 const struct kernel_shape *s, int steps,
                                 int blocks) {
  if (map_is_padded(p))
    return in0_padded_walk(p, s, steps, blocks);
  uint32_t step =
      (uint32_t)(p->block_k * s->m * dtype_bytes(p->transfer[IN0].type) / 4);
  struct walk w = linear;
  if (!design_is_wide(p) || steps == 1)
    return w;
  w.dim[0] = (struct bd_dim){1, step};
  w.dim[1] = (struct bd_dim){step * (uint32_t)steps,
                             (uint32_t)(p->group_m * p->block_m / s->m)};
  w.dim[2] = (struct bd_dim){step, 0};
  w.dims = 3;
  return w;
}

/* A part of a panel that is kept in part: its descriptor goes through all
 * places by iteration. */
static struct bd *add_part_bd(struct builder *m, const struct ring *r, int id,
                              int next, bool mm2s, const struct walk *w) {
  assert(w->parts == 1);
  add_ring_bd(m, r, 0, id, next, mm2s, IN0, w, 0);
  struct bd *bd = &m->design->bd[m->design->bd_count - 1].bd;
  bd->iteration_step_words = r->stride / 4;
  bd->iteration_count = (uint32_t)r->depth;
  return bd;
}

/* The panel of in0, kept in part. */
static bool make_mem_panel(struct builder *m, struct mem_tile *tile,
                           const struct kernel_shape *s) {
  enum { WRITE_KEPT = DESIGN_KEPT_BD, WRITE = DESIGN_STREAMED_BD };
  enum { READ_KEPT = WRITE + 1, READ, PANEL_BDS };
  const struct tile_program *p = m->design->program;
  const struct map_panel *panel = &p->panel;
  int first = new_bds(m, tile, IN0, PANEL_BDS);
  assert(first == WRITE_KEPT);
  (void)first;
  uint32_t step = block_bytes(p, IN0) * (uint32_t)p->group_m;
  struct ring kept = {.name = "in0_kept",
                      .column = tile->column,
                      .row = MEM_ROW,
                      .offset = tile->offset,
                      .bytes = step * (uint32_t)panel->kept,
                      .stride = step * (uint32_t)panel->kept,
                      .depth = panel->stretches,
                      .lock = LOCK_IN0};
  struct ring ring = {.name = "in0_",
                      .column = tile->column,
                      .row = MEM_ROW,
                      .offset =
                          tile->offset + kept.bytes * (uint32_t)kept.depth,
                      .bytes = step * (uint32_t)panel->streamed,
                      .stride = step * (uint32_t)panel->streamed,
                      .depth = MAP_MEM_DEPTH_STREAMED,
                      .lock = LOCK_IN0};
  struct walk write_kept, write;
  if (!in0_write_walk(m, panel->kept, &write_kept) ||
      !in0_write_walk(m, panel->streamed, &write))
    return false;
  if (write_kept.parts > 1 || write.parts > 1)
    return diag_error(m->diag, loc_none(),
                      "in0: a panel kept in part is written by one descriptor");
  *add_buffer(m) =
      (struct design_buffer){kept.name, tile->column, MEM_ROW, tile->offset,
                             ring.offset - tile->offset};
  add_ring(m, &ring, ring.bytes);
  struct bd *bd = add_part_bd(m, &kept, WRITE_KEPT, WRITE, false, &write_kept);
  bd->acquire_lock = -1; /* nothing to wait for, nothing to say */
  bd->release_value = 0;
  add_part_bd(m, &ring, WRITE, -1, false, &write);
  struct walk read = in0_read_walk(p, s, panel->kept, panel->kept * p->group_m);
  bd = add_part_bd(m, &kept, READ_KEPT, READ, true, &read);
  bd->release_lock = bd->acquire_lock; /* the part behind it is there */
  read = in0_read_walk(p, s, panel->streamed, panel->streamed * p->group_m);
  add_part_bd(m, &ring, READ, READ_KEPT, true, &read);
  *add_start(m) =
      (struct design_start){tile->column, MEM_ROW, IN0, READ_KEPT, true};
  tile->offset = ring.offset + ring.bytes * (uint32_t)ring.depth;
  return true;
}

/* A ring of an input: from the shim, and to the cores. */
static void make_mem_ring(struct builder *m, struct mem_tile *tile,
                          struct ring *r, struct design_way way,
                          const struct walk *write, const struct walk *read) {
  bool turns = way.in == design_in0_way(m->design->program).in &&
               design_takes_turns(m->design->program, tile->column);
  r->column = tile->column;
  r->row = MEM_ROW;
  r->offset = tile->offset;
  r->stride = r->bytes;
  tile->offset += (uint32_t)r->depth * r->bytes;
  add_ring(m, r, r->bytes);
  int first = new_bds(m, tile, way.in, r->depth * write->parts);
  if (turns)
    add_turn(m, r, first, false, way.in, write, false);
  else
    add_chain(m, r, first, false, way.in, write);
  add_chain(m, r, new_bds(m, tile, way.out, r->depth * read->parts), true,
            way.out, read);
}

static bool make_mem_in0(struct builder *m, struct mem_tile *tile,
                         const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  if (p->panel.stretches)
    return make_mem_panel(m, tile, s);
  int chunks = p->panel.chunks;
  int steps = chunks ? p->steps_k / chunks : p->panel.run[IN0];
  int blocks = chunks || design_is_wide(p) ? steps * p->group_m : 1;
  assert(!chunks || (p->steps_k % chunks == 0 && chunks <= MAP_MAX_CHUNKS));
  struct ring r = {.name = "in0_",
                   .bytes = block_bytes(p, IN0) * (uint32_t)blocks,
                   .depth = chunks ? chunks : map_mem_depth(&p->panel, IN0),
                   .lock = LOCK_IN0,
                   .reuse = chunks ? p->rounds_n : 0};
  struct walk write, read = in0_read_walk(p, s, steps, blocks);
  if (!in0_write_walk(m, steps, &write))
    return false;
  if (write.parts > 1 && p->grid.split > 1)
    return diag_error(m->diag, loc_none(),
                      "in0: a panel ahead of in1 is written by one descriptor "
                      "per chunk");
  make_mem_ring(m, tile, &r, design_in0_way(p), &write, &read);
  return true;
}

/* How a buffer of so many steps is written. */
static bool in1_write_walk(struct builder *m, int steps, struct walk *w) {
  struct map_stream x;
  if (!map_stream_of(m->design->program, IN1, steps, false, &x))
    return diag_error(m->diag, loc_none(),
                      "a block of %s is not made of words and small matrices",
                      "in1");
  return walk_places(m, &x, w);
}

/* How it is read: as it is written, or with zeros. */
static struct walk in1_read_walk(const struct tile_program *p,
                                 const struct kernel_shape *s, int steps) {
  bool turned = p->transfer[IN1].turned;
  if (!map_is_padded(p))
    return linear;
  struct walk w = padded_runs(p, IN1, turned ? 1 : s->n);
  uint32_t run = w.dim[0].wrap;
  w.dim[1] =
      (struct bd_dim){run * (uint32_t)steps,
                      (uint32_t)(turned ? p->block_n : p->block_n / s->n)};
  w.dim[2] = (struct bd_dim){run, 0};
  w.dims = 3;
  w.length_words = core_block_bytes(p, IN1) / 4 * (uint32_t)steps;
  return w;
}

/* How a core's channel writes a block of a tensor. */
static struct walk core_walk(const struct tile_program *p,
                             const struct kernel_shape *s, int tensor) {
  bool turned = p->transfer[tensor].turned;
  uint32_t bytes = (uint32_t)dtype_bytes(p->transfer[tensor].type),
           row = (uint32_t)s->k * bytes / 4,
           steps = (uint32_t)(p->block_k / s->k);
  struct walk w = {.parts = 1, .dims = 3};
  if (tensor == OUT || !map_is_padded(p) || (tensor == IN0 && turned))
    return linear;
  if (tensor == IN1 && !turned)
    row *= (uint32_t)s->n;
  uint32_t next = tensor == IN0
                      ? (uint32_t)s->m
                      : (uint32_t)(turned ? p->block_n : p->block_n / s->n);
  w.dim[0] = (struct bd_dim){1, row};
  w.dim[1] = (struct bd_dim){
      next * row,
      tensor == IN0 ? (uint32_t)(p->block_m / s->m) * steps : steps};
  w.dim[2] = (struct bd_dim){row, 0};
  return w;
}

static bool make_mem_in1(struct builder *m, struct mem_tile *tile,
                         const struct kernel_shape *s, int part) {
  const struct tile_program *p = m->design->program;
  int run = p->panel.run[IN1];
  struct ring r = {.name = p->grid.split > 1
                               ? arena_printf(m->arena, "in1_%d_", part)
                               : "in1_",
                   .bytes = block_bytes(p, IN1) * (uint32_t)run,
                   .depth = map_mem_depth(&p->panel, IN1),
                   .lock = LOCK_IN1 + 2 * part};
  struct walk write;
  if (!in1_write_walk(m, run, &write))
    return false;
  if (write.parts > 1 && p->grid.split > 1)
    return diag_error(m->diag, loc_none(),
                      "in1: behind a panel of in0 it is written by one "
                      "descriptor per buffer");
  struct walk read = in1_read_walk(p, s, run);
  make_mem_ring(m, tile, &r, design_in1_way(p, part), &write, &read);
  return true;
}

/* ---- inputs of a grid apart ---- */

/* Blocks that pass a channel one after the other, each to or from its own ring:
 * all rings' first buffers, then all second ones. */
static void add_turns(struct builder *m, struct mem_tile *at,
                      const struct ring *ring, int rings, bool mm2s,
                      int channel, const struct walk w[]) {
  int count = rings * ring->depth, first = new_bds(m, at, channel, count);
  for (int i = 0; i < count; i++)
    add_ring_bd(m, &ring[i % rings], i / rings, first + i,
                first + (i + 1) % count, mm2s, channel, &w[i % rings], 0);
  *add_start(m) =
      (struct design_start){at->column, MEM_ROW, channel, first, mm2s};
}

/* Every row has a ring of each input.  The shim's channels fill those of all
 * rows in turn; a row's channel reads its two in turn. */
static bool make_mem_apart(struct builder *m, struct mem_tile *at,
                           const struct kernel_shape *s) {
  enum { MOST_ROWS = 4 };
  const struct tile_program *p = m->design->program;
  struct ring ring[OUT][MOST_ROWS];
  struct walk write[OUT];
  assert(p->grid.rows <= MOST_ROWS && p->steps_k == 1 && p->group_m == 1);
  if (!in0_write_walk(m, 1, &write[IN0]) || !in1_write_walk(m, 1, &write[IN1]))
    return false;
  assert(write[IN0].parts == 1 && write[IN1].parts == 1);
  for (int i = IN0; i <= IN1; i++) {
    for (int row = 0; row < p->grid.rows; row++) {
      ring[i][row] =
          (struct ring){.name = arena_printf(m->arena, "in%d_%d_", i, row),
                        .column = at->column,
                        .row = MEM_ROW,
                        .offset = at->offset,
                        .stride = block_bytes(p, i),
                        .bytes = block_bytes(p, i),
                        .depth = MAP_APART_DEPTH,
                        .lock = (i == IN0 ? LOCK_IN0 : LOCK_IN1) + 2 * row};
      add_ring(m, &ring[i][row], ring[i][row].bytes);
      at->offset += MAP_APART_DEPTH * ring[i][row].bytes;
    }
    const struct walk each[MOST_ROWS] = {write[i], write[i], write[i],
                                         write[i]};
    add_turns(m, at, ring[i], p->grid.rows, false, i, each);
  }
  const struct walk read[OUT] = {in0_read_walk(p, s, 1, 1),
                                 in1_read_walk(p, s, 1)};
  for (int row = 0; row < p->grid.rows; row++)
    add_turns(m, at, (struct ring[]){ring[IN0][row], ring[IN1][row]}, OUT, true,
              design_row_channel(row), read);
  return true;
}

/* Blocks of out that leave as one: those of a group, if they are closer to each
 * other than those of the next row of cores. */
int design_out_span(const struct tile_program *p) {
  assert(p->group_m <= MAP_MEM_DEPTH_OUT);
  return p->group.stride_bytes[OUT] < p->row.stride_bytes[OUT] ? p->group_m : 1;
}

/* Out: one ring per row of cores on S2MM 2 + row.  MM2S 2 sends one block of
 * every row of the lower half in turn, MM2S 3 of the upper half: a column has
 * two ways out, or one, on MM2S 3.  Row after row, a join is in device memory
 * order. */
static bool make_mem_output(struct builder *m, struct mem_tile *tile) {
  const struct tile_program *p = m->design->program;
  /* Reading small matrices row by row takes the steps of writing them so. */
  int span = design_out_span(p);
  struct walk read;
  struct map_stream x;
  if (!map_stream_of(p, OUT, 1, span > 1, &x))
    return diag_error(m->diag, loc_none(),
                      "a block of %s is not made of words and small matrices",
                      "out");
  if (!walk_places(m, &x, &read))
    return false;
  struct ring ring[8];
  assert(p->grid.rows <= 8);
  for (int row = 0; row < p->grid.rows; row++) {
    struct ring *r = &ring[row];
    *r = (struct ring){.name = arena_printf(m->arena, "out%d_", row),
                       .column = tile->column,
                       .row = MEM_ROW,
                       .offset = tile->offset,
                       .bytes = block_bytes(p, OUT),
                       .depth = MAP_MEM_DEPTH_OUT,
                       .lock = LOCK_OUT + 2 * row};
    r->stride = r->bytes;
    add_ring(m, r, r->bytes);
    add_chain(m, r, new_bds(m, tile, row, r->depth), false, 2 + row, &linear);
    tile->offset += (uint32_t)r->depth * r->bytes;
  }
  for (int join = 0; join < p->joins; join++) {
    int first_row, rows = design_join_rows(p, join, &first_row);
    int channel = design_join_channel(p, join);
    int count = rows * (MAP_MEM_DEPTH_OUT / span) * read.parts,
        first = new_bds(m, tile, channel, count);
    for (int i = 0; i < count; i++) {
      int block = i / read.parts;
      add_ring_bd(m, &ring[first_row + block % rows], block / rows, first + i,
                  first + (i + 1) % count, true, channel, &read,
                  i % read.parts);
      struct bd *bd = &m->design->bd[m->design->bd_count - 1].bd;
      bd->length_words *= (uint32_t)span;
      bd->acquire_value *= span;
      bd->release_value *= span;
    }
    *add_start(m) =
        (struct design_start){tile->column, MEM_ROW, channel, first, true};
  }
  return true;
}

/* Blocks where the map has put them.  Sums are in the place of out until they
 * are results, or in one of their own, which has no locks. */
static void make_core(struct builder *m, int column, int row,
                      const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  const struct map_core *core = &p->core;
  const struct {
    const char *name;
    int lock, depth;
    const uint32_t *offset;
    enum dtype held;
  } ring[TENSORS] = {
      {"in0_", CORE_IN0, CORE_DEPTH, core->in0, p->transfer[IN0].type},
      {"in1_", CORE_IN1, CORE_DEPTH, core->in1, p->transfer[IN1].type},
      {"out_", CORE_OUT, core->out_depth, core->out,
       core->staged ? p->transfer[OUT].type : p->acc}};
  struct ring made[TENSORS];
  const struct walk walk[TENSORS] = {core_walk(p, s, IN0), core_walk(p, s, IN1),
                                     core_walk(p, s, OUT)};
  for (int i = 0; i < TENSORS; i++) {
    struct ring *r = &made[i];
    *r = (struct ring){.name = ring[i].name,
                       .column = column,
                       .row = row,
                       .offset = ring[i].offset[0],
                       .stride = ring[i].offset[1] - ring[i].offset[0],
                       .bytes = core_block_bytes(p, i),
                       .depth = ring[i].depth,
                       .lock = ring[i].lock};
    add_ring(m, r,
             r->bytes / (uint32_t)dtype_bytes(p->transfer[i].type) *
                 (uint32_t)dtype_bytes(ring[i].held));
    if (i == OUT || !p->grid.apart)
      add_chain(m, r, i * CORE_DEPTH, i == OUT, i == IN1, &walk[i]);
  }
  if (p->grid.apart) { /* both inputs on one channel */
    int count = OUT * CORE_DEPTH;
    for (int i = 0; i < count; i++)
      add_ring_bd(m, &made[i % OUT], i / OUT, i, (i + 1) % count, false, 0,
                  &walk[i % OUT], 0);
    *add_start(m) = (struct design_start){column, row, 0, 0, false};
  }
  if (core->staged)
    *add_buffer(m) = (struct design_buffer){
        "sums", column, row, core->sums,
        (uint32_t)(p->block_m * p->block_n * dtype_bytes(p->acc))};
}

static bool check_shape(struct builder *m, const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  assert(p->block_k % s->k == 0);
  if (p->block_m % s->m || p->block_n % s->n)
    return diag_error(m->diag, loc_none(),
                      "block %dx%dx%d is no multiple of the multiply unit's "
                      "%dx%dx%d",
                      p->block_m, p->block_k, p->block_n, s->m, s->k, s->n);
  return true;
}

bool make_tiles(struct builder *m) {
  const struct tile_program *p = m->design->program;
  struct kernel_shape s;
  if (!kernel_shape(p->transfer[IN0].type, p->transfer[IN1].type, p->acc, &s))
    return diag_error(m->diag, loc_none(), "no kernel for %s x %s -> %s",
                      dtype_name(p->transfer[IN0].type),
                      dtype_name(p->transfer[IN1].type), dtype_name(p->acc));
  if (kernel_gemm_passes(p->transfer[IN0].type, p->transfer[IN1].type, p->acc) >
      1)
    return diag_error(m->diag, loc_none(),
                      "%s inputs: their kernel reads two halves of each, and "
                      "the transfers bring one block",
                      dtype_name(p->transfer[IN0].type));
  if (!check_shape(m, &s))
    return false;
  for (int column = 0; column < p->grid.columns; column++) {
    struct mem_tile tile = {.column = column};
    bool apart = p->grid.apart, sends = design_in0_part(p, column) >= 0;
    if (apart && !make_mem_apart(m, &tile, &s))
      return false;
    if (!apart && sends && !make_mem_in0(m, &tile, &s))
      return false;
    for (int part = 0; part < p->grid.split && !apart; part++)
      if (!make_mem_in1(m, &tile, &s, part))
        return false;
    if (!make_mem_output(m, &tile))
      return false;
    for (int row = 0; row < p->grid.rows; row++)
      make_core(m, column, CORE_ROW + row, &s);
  }
  return true;
}
