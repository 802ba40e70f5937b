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

/* Linear unless dims are given (count of them, fastest first). */
static void set_dims(struct bd *bd, const struct bd_dim *dim, int dims) {
  assert(dims <= 4);
  for (int i = 0; i < 4; i++)
    bd->dim[i] = i < dims ? dim[i] : (struct bd_dim){1, 0};
}

/* A descriptor for buffer `index` of the ring. */
static void add_ring_bd(struct builder *m, const struct ring *r, int index,
                        int id, int next, bool mm2s, int channel,
                        const struct bd_dim *dim, int dims) {
  struct design_bd *x = add_bd(m);
  int unit = !mm2s && r->reuse ? r->reuse : 1; /* a writer serves every use */
  assert(index >= 0 && index < r->depth && r->bytes % 4 == 0);
  assert(unit <= m->design->program->device->max_lock);
  *x = (struct design_bd){
      .name = arena_printf(m->arena, "%s%d_%s", r->name, index,
                           mm2s ? "out" : "in"),
      .column = r->column,
      .row = r->row,
      .id = id,
      .mm2s = mm2s,
      .channel = channel,
      .bd = {.base = r->offset + (uint32_t)index * r->stride,
             .length_words = r->bytes / 4,
             .iteration_step_words = 1,
             .iteration_count = 1,
             .acquire_lock = lock_of(r, index, mm2s ? LOCK_FULL : LOCK_EMPTY),
             .acquire_value = -unit,
             .release_lock = lock_of(r, index, mm2s ? LOCK_EMPTY : LOCK_FULL),
             .release_value = unit,
             .next = next}};
  set_dims(&x->bd, dim, dims);
}

/* The loop of a whole ring on one channel, descriptors first.. */
static void add_chain(struct builder *m, const struct ring *r, int first,
                      bool mm2s, int channel, const struct bd_dim *dim,
                      int dims) {
  for (int i = 0; i < r->depth; i++)
    add_ring_bd(m, r, i, first + i, first + (i + 1) % r->depth, mm2s, channel,
                dim, dims);
  *add_start(m) =
      (struct design_start){r->column, r->row, channel, first, mm2s};
}

/* One turn of the ring, for a task of the transaction. */
static void add_turn(struct builder *m, const struct ring *r, int first,
                     bool mm2s, int channel, const struct bd_dim *dim,
                     int dims) {
  for (int i = 0; i < r->depth; i++)
    add_ring_bd(m, r, i, first + i, i + 1 < r->depth ? first + i + 1 : -1, mm2s,
                channel, dim, dims);
}

/* Dimensions that write a row-major stream, columns elements a row, as small
 * matrices of r x c: a row of a small matrix, the next small matrix along the
 * block's row, the next row, then down.  The last has no wrap, so any number of
 * blocks may follow each other. */
static void cut_dims(struct bd_dim dim[4], int columns, int r, int c,
                     int element_bytes) {
  uint32_t small_row = (uint32_t)(c * element_bytes / 4);
  assert(columns % c == 0 && c * element_bytes % 4 == 0);
  dim[0] = (struct bd_dim){1, small_row};
  dim[1] = (struct bd_dim){small_row * (uint32_t)r, (uint32_t)(columns / c)};
  dim[2] = (struct bd_dim){small_row, (uint32_t)r};
  dim[3] = (struct bd_dim){(uint32_t)(r * columns * element_bytes / 4), 0};
}

/* The same for a stream that is turned: columns of the block's small matrices,
 * r x c, one behind the other, the block as wide as `rows`.  Down a column of
 * the stream the block goes on by `across` words, over to the next by `along`.
 */
static void turned_dims(struct bd_dim dim[4], int rows, int r, int c,
                        uint32_t across, uint32_t along, int element_bytes) {
  uint32_t small_column = (uint32_t)(r * element_bytes / 4);
  assert(rows % r == 0 && r * element_bytes % 4 == 0);
  dim[0] = (struct bd_dim){1, small_column};
  dim[1] = (struct bd_dim){across, (uint32_t)(rows / r)};
  dim[2] = (struct bd_dim){small_column, (uint32_t)c};
  dim[3] = (struct bd_dim){along, 0};
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

static uint32_t block_bytes(const struct tile_program *p, int tensor) {
  const struct map_transfer *x = &p->transfer[tensor];
  return (uint32_t)(x->block_rows * x->block_columns * dtype_bytes(x->type));
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

/* Whether a buffer is one block of several steps, not one block of a step
 * behind the other. */
static bool is_wide(const struct tile_program *p) {
  return p->transfer[IN0].turned || p->panel.run[IN0] > 1;
}

/* How a buffer of so many steps is written. */
static void in0_write_dims(const struct tile_program *p,
                           const struct kernel_shape *s, int steps,
                           struct bd_dim dim[4]) {
  int element = dtype_bytes(p->transfer[IN0].type);
  int k = is_wide(p) ? steps * p->block_k : p->block_k;
  uint32_t small = (uint32_t)(s->m * s->k * element / 4);
  if (p->transfer[IN0].turned)
    turned_dims(dim, p->group_m * p->block_m, s->m, s->k,
                (uint32_t)(k / s->k) * small, small, element);
  else
    cut_dims(dim, k, s->m, s->k, element);
}

/* How it is read; gives the number of dims. */
static int in0_read_dims(const struct tile_program *p,
                         const struct kernel_shape *s, int steps,
                         struct bd_dim dim[4]) {
  uint32_t step =
      (uint32_t)(p->block_k * s->m * dtype_bytes(p->transfer[IN0].type) / 4);
  if (!is_wide(p) || steps == 1)
    return 0;
  dim[0] = (struct bd_dim){1, step};
  dim[1] = (struct bd_dim){step * (uint32_t)steps,
                           (uint32_t)(p->group_m * p->block_m / s->m)};
  dim[2] = (struct bd_dim){step, 0};
  return 3;
}

/* A part of a panel that is kept in part: its descriptor goes through all
 * places by iteration. */
static struct bd *add_part_bd(struct builder *m, const struct ring *r, int id,
                              int next, bool mm2s, const struct bd_dim *dim,
                              int dims) {
  add_ring_bd(m, r, 0, id, next, mm2s, IN0, dim, dims);
  struct bd *bd = &m->design->bd[m->design->bd_count - 1].bd;
  bd->iteration_step_words = r->stride / 4;
  bd->iteration_count = (uint32_t)r->depth;
  return bd;
}

/* The panel of in0, kept in part. */
static void make_mem_panel(struct builder *m, struct mem_tile *at,
                           const struct kernel_shape *s) {
  enum { WRITE_KEPT = DESIGN_KEPT_BD, WRITE = DESIGN_STREAMED_BD };
  enum { READ_KEPT = WRITE + 1, READ, PANEL_BDS };
  const struct tile_program *p = m->design->program;
  int column = at->column, first = new_bds(m, at, IN0, PANEL_BDS);
  uint32_t offset = at->offset;
  assert(first == WRITE_KEPT);
  (void)first;
  const struct map_panel *panel = &p->panel;
  uint32_t step = block_bytes(p, IN0) * (uint32_t)p->group_m;
  struct ring kept = {.name = "in0_kept",
                      .column = column,
                      .row = MEM_ROW,
                      .offset = offset,
                      .bytes = step * (uint32_t)panel->kept,
                      .stride = step * (uint32_t)panel->kept,
                      .depth = panel->stretches,
                      .lock = LOCK_IN0};
  struct ring ring = {.name = "in0_",
                      .column = column,
                      .row = MEM_ROW,
                      .offset = offset + kept.bytes * (uint32_t)kept.depth,
                      .bytes = step * (uint32_t)panel->streamed,
                      .stride = step * (uint32_t)panel->streamed,
                      .depth = MAP_MEM_DEPTH_STREAMED,
                      .lock = LOCK_IN0};
  *add_buffer(m) = (struct design_buffer){kept.name, column, MEM_ROW, offset,
                                          ring.offset - offset};
  add_ring(m, &ring, ring.bytes);
  struct bd_dim dim[4];
  in0_write_dims(p, s, panel->kept, dim);
  struct bd *write = add_part_bd(m, &kept, WRITE_KEPT, WRITE, false, dim, 4);
  write->acquire_lock = -1; /* nothing to wait for, nothing to say */
  write->release_value = 0;
  in0_write_dims(p, s, panel->streamed, dim);
  add_part_bd(m, &ring, WRITE, -1, false, dim, 4);
  int dims = in0_read_dims(p, s, panel->kept, dim);
  struct bd *read = add_part_bd(m, &kept, READ_KEPT, READ, true, dim, dims);
  read->release_lock = read->acquire_lock; /* the part behind it is there */
  dims = in0_read_dims(p, s, panel->streamed, dim);
  add_part_bd(m, &ring, READ, READ_KEPT, true, dim, dims);
  *add_start(m) = (struct design_start){column, MEM_ROW, IN0, READ_KEPT, true};
  at->offset = ring.offset + ring.bytes * (uint32_t)ring.depth;
}

/* A ring of an input: from the shim, and to the cores. */
static void make_mem_ring(struct builder *m, struct mem_tile *at,
                          struct ring *r, struct design_way way,
                          const struct bd_dim *write, const struct bd_dim *read,
                          int read_dims) {
  bool turns = way.in == design_in0_way(m->design->program).in &&
               design_takes_turns(m->design->program, at->column);
  r->column = at->column;
  r->row = MEM_ROW;
  r->offset = at->offset;
  r->stride = r->bytes;
  at->offset += (uint32_t)r->depth * r->bytes;
  add_ring(m, r, r->bytes);
  (turns ? add_turn : add_chain)(m, r, new_bds(m, at, way.in, r->depth), false,
                                 way.in, write, 4);
  add_chain(m, r, new_bds(m, at, way.out, r->depth), true, way.out, read,
            read_dims);
}

static void make_mem_in0(struct builder *m, struct mem_tile *at,
                         const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  if (p->panel.stretches) {
    make_mem_panel(m, at, s);
    return;
  }
  int chunks = p->panel.chunks;
  int steps = chunks ? p->steps_k / chunks : p->panel.run[IN0];
  int blocks = chunks || is_wide(p) ? steps * p->group_m : 1;
  assert(!chunks || (p->steps_k % chunks == 0 && chunks <= MAP_MAX_CHUNKS));
  struct ring r = {.name = "in0_",
                   .bytes = block_bytes(p, IN0) * (uint32_t)blocks,
                   .depth = chunks ? chunks : map_mem_depth(&p->panel, IN0),
                   .lock = LOCK_IN0,
                   .reuse = chunks ? p->rounds_n : 0};
  struct bd_dim write[4], read[4];
  in0_write_dims(p, s, steps, write);
  int dims = in0_read_dims(p, s, steps, read);
  make_mem_ring(m, at, &r, design_in0_way(p), write, read, dims);
}

/* How a buffer of so many steps is written. */
static void in1_write_dims(const struct tile_program *p,
                           const struct kernel_shape *s, int steps,
                           struct bd_dim dim[4]) {
  int element = dtype_bytes(p->transfer[IN1].type);
  uint32_t small = (uint32_t)(s->k * s->n * element / 4);
  if (p->transfer[IN1].turned)
    turned_dims(dim, steps * p->block_k, s->k, s->n,
                (uint32_t)(p->block_n / s->n) * small, small, element);
  else
    cut_dims(dim, p->block_n, s->k, s->n, element);
}

static void make_mem_in1(struct builder *m, struct mem_tile *at, int part,
                         const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  int run = p->panel.run[IN1];
  struct ring r = {.name = p->grid.split > 1
                               ? arena_printf(m->arena, "in1_%d_", part)
                               : "in1_",
                   .bytes = block_bytes(p, IN1) * (uint32_t)run,
                   .depth = map_mem_depth(&p->panel, IN1),
                   .lock = LOCK_IN1 + 2 * part};
  struct bd_dim write[4];
  in1_write_dims(p, s, run, write);
  make_mem_ring(m, at, &r, design_in1_way(p, part), write, NULL, 0);
}

/* ---- inputs of a grid apart ---- */

/* Blocks that pass a channel one after the other, each to or from its own ring:
 * all rings' first buffers, then all second ones. */
static void add_turns(struct builder *m, struct mem_tile *at,
                      const struct ring *ring, int rings, bool mm2s,
                      int channel, const struct bd_dim (*dim)[4], int dims) {
  int count = rings * ring->depth, first = new_bds(m, at, channel, count);
  for (int i = 0; i < count; i++)
    add_ring_bd(m, &ring[i % rings], i / rings, first + i,
                first + (i + 1) % count, mm2s, channel, dim ? *dim : NULL,
                dims);
  *add_start(m) =
      (struct design_start){at->column, MEM_ROW, channel, first, mm2s};
}

/* Every row has a ring of each input.  The shim's channels fill those of all
 * rows in turn; a row's channel reads its two in turn. */
static void make_mem_apart(struct builder *m, struct mem_tile *at,
                           const struct kernel_shape *s) {
  enum { MOST_ROWS = 4 };
  const struct tile_program *p = m->design->program;
  struct ring ring[OUT][MOST_ROWS];
  struct bd_dim write[OUT][4];
  assert(p->grid.rows <= MOST_ROWS && p->steps_k == 1 && p->group_m == 1);
  in0_write_dims(p, s, 1, write[IN0]);
  in1_write_dims(p, s, 1, write[IN1]);
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
    add_turns(m, at, ring[i], p->grid.rows, false, i,
              (const struct bd_dim(*)[4]) & write[i], 4);
  }
  for (int row = 0; row < p->grid.rows; row++)
    add_turns(m, at, (struct ring[]){ring[IN0][row], ring[IN1][row]}, OUT, true,
              design_row_channel(row), NULL, 0);
}

/* Blocks of out that leave as one: where out lies in place, those of a group,
 * which are neighbours. */
int design_out_span(const struct tile_program *p) {
  const struct map_transfer *x = &p->transfer[OUT];
  bool in_place =
      x->turned || x->pitch_bytes != x->block_columns * dtype_bytes(x->type);
  assert(p->group_m <= MAP_MEM_DEPTH_OUT);
  return in_place ? p->group_m : 1;
}

/* Out: one ring per row of cores on S2MM 2 + row.  MM2S 2 sends one block of
 * every row of the lower half in turn, MM2S 3 of the upper half: a column has
 * two ways out, or one, on MM2S 3.  Row after row, a join is in device memory
 * order. */
static void make_mem_output(struct builder *m, struct mem_tile *at,
                            const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  struct bd_dim dim[4];
  /* Reading small matrices row by row takes the steps of writing them so. */
  int element = dtype_bytes(p->transfer[OUT].type), span = design_out_span(p);
  uint32_t small = (uint32_t)(s->m * s->n * element / 4);
  uint32_t across = (uint32_t)(p->block_n / s->n) * small;
  if (p->transfer[OUT].turned && !p->turns_out) { /* word by word */
    assert(element == 4);
    dim[0] = (struct bd_dim){(uint32_t)s->n, (uint32_t)s->m};
    dim[1] = (struct bd_dim){across, (uint32_t)(span * p->block_m / s->m)};
    dim[2] = (struct bd_dim){1, (uint32_t)s->n};
    dim[3] = (struct bd_dim){small, 0};
  } else if (p->transfer[OUT].turned)
    turned_dims(dim, span * p->block_m, s->m, s->n, across, small, element);
  else
    cut_dims(dim, p->block_n, s->m, s->n, element);
  struct ring ring[8];
  assert(p->grid.rows <= 8);
  for (int row = 0; row < p->grid.rows; row++) {
    struct ring *r = &ring[row];
    *r = (struct ring){.name = arena_printf(m->arena, "out%d_", row),
                       .column = at->column,
                       .row = MEM_ROW,
                       .offset = at->offset,
                       .bytes = block_bytes(p, OUT),
                       .depth = MAP_MEM_DEPTH_OUT,
                       .lock = LOCK_OUT + 2 * row};
    r->stride = r->bytes;
    add_ring(m, r, r->bytes);
    add_chain(m, r, new_bds(m, at, row, r->depth), false, 2 + row, NULL, 0);
    at->offset += (uint32_t)r->depth * r->bytes;
  }
  for (int join = 0; join < p->joins; join++) {
    int first_row, rows = design_join_rows(p, join, &first_row);
    int channel = design_join_channel(p, join);
    int count = rows * (MAP_MEM_DEPTH_OUT / span),
        first = new_bds(m, at, channel, count);
    for (int i = 0; i < count; i++) {
      add_ring_bd(m, &ring[first_row + i % rows], i / rows, first + i,
                  first + (i + 1) % count, true, channel, dim, 4);
      struct bd *bd = &m->design->bd[m->design->bd_count - 1].bd;
      bd->length_words *= (uint32_t)span;
      bd->acquire_value *= span;
      bd->release_value *= span;
    }
    *add_start(m) =
        (struct design_start){at->column, MEM_ROW, channel, first, true};
  }
}

/* Blocks where the map has put them.  Sums are in the place of out until they
 * are results, or in one of their own, which has no locks. */
static void make_core(struct builder *m, int column, int row) {
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
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &p->transfer[i];
    struct ring *r = &made[i];
    *r = (struct ring){.name = ring[i].name,
                       .column = column,
                       .row = row,
                       .offset = ring[i].offset[0],
                       .stride = ring[i].offset[1] - ring[i].offset[0],
                       .bytes = block_bytes(p, i),
                       .depth = ring[i].depth,
                       .lock = ring[i].lock};
    add_ring(m, r,
             (uint32_t)(x->block_rows * x->block_columns *
                        dtype_bytes(ring[i].held)));
    if (i == OUT || !p->grid.apart)
      add_chain(m, r, i * CORE_DEPTH, i == OUT, i == IN1, NULL, 0);
  }
  if (p->grid.apart) { /* both inputs on one channel */
    int count = OUT * CORE_DEPTH;
    for (int i = 0; i < count; i++)
      add_ring_bd(m, &made[i % OUT], i / OUT, i, (i + 1) % count, false, 0,
                  NULL, 0);
    *add_start(m) = (struct design_start){column, row, 0, 0, false};
  }
  if (core->staged)
    *add_buffer(m) = (struct design_buffer){
        "sums", column, row, core->sums,
        (uint32_t)(p->block_m * p->block_n * dtype_bytes(p->acc))};
}

static bool check_shape(struct builder *m, const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  if (p->block_m % s->m || p->block_n % s->n || p->block_k % s->k)
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
    struct mem_tile at = {.column = column};
    if (p->grid.apart)
      make_mem_apart(m, &at, &s);
    else if (design_in0_part(p, column) >= 0)
      make_mem_in0(m, &at, &s);
    for (int part = 0; part < p->grid.split && !p->grid.apart; part++)
      make_mem_in1(m, &at, part, &s);
    make_mem_output(m, &at, &s);
    for (int row = 0; row < p->grid.rows; row++)
      make_core(m, column, CORE_ROW + row);
  }
  return true;
}
