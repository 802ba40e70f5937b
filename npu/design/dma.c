/* dma.c -- buffers, locks and descriptor chains of mem tiles.
 *
 * Every stream is a chain of rings (ring.c):
 *
 *   shim MM2S -> mem tile ring -> core ring       in0, in1
 *   core ring -> mem tile ring per row -> shim    out, rows joined in order
 *
 * Where every two rows of cores take other parts of n (struct map_grid), both
 * channels of a shim bring in1, and a panel of in0 comes ahead of it, in shares
 * on the channels of the column that sends it and of its east neighbour, which
 * writes into the other's memory: a writer's tasks are its share of the panel
 * once, then turns of in1's ring.  Of a grid apart no block is shared; a shim's
 * channel fills the rings of all rows in turn, and a row's channel reads those
 * of its two inputs in turn.
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
 *
 * unless a small matrix has a word of a row, which a core would have to write
 * one by one beside the kernel: then the mem tile reads [m/R][k/S 0][R][S], and
 * of in1 [k/S 0][n][S].
 */
#include "ring.h"

#include <assert.h>

/* How a buffer of so many steps is written. */
static bool in1_write_walk(struct builder *m, int steps, struct walk *w) {
  struct map_stream x;
  if (!map_stream_of(m->design->program, IN1, steps, false, &x))
    return diag_error(m->diag, loc_none(),
                      "a block of %s is not made of words and small matrices",
                      "in1");
  return walk_places(m, &x, w);
}

static bool make_mem_in1(struct builder *m, struct mem_tile *tile,
                         const struct kernel_shape *s, int part) {
  const struct tile_program *p = m->design->program;
  int run = p->panel.run[IN1];
  struct ring r = {.name = p->grid.split > 1
                               ? arena_printf(m->arena, "in1_%d_", part)
                               : "in1_",
                   .bytes = ring_block_bytes(p, IN1) * (uint32_t)run,
                   .depth = map_mem_depth(&p->panel, IN1),
                   .lock = LOCK_IN1 + 2 * part};
  if (map_is_uneven(p) && !map_fills(p))
    return make_uneven_ring(m, tile, &r, s, IN1, design_in1_way(p, part));
  struct walk write;
  if (!in1_write_walk(m, run, &write))
    return false;
  ring_clip(p, IN1, &r, &write);
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
                        .stride = ring_block_bytes(p, i),
                        .bytes = ring_block_bytes(p, i),
                        .depth = MAP_APART_DEPTH,
                        .lock = (i == IN0 ? LOCK_IN0 : LOCK_IN1) + 2 * row};
      ring_clip(p, i, &ring[i][row], &write[i]);
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

/* How a mem tile writes a block of out that a core sends. */
static struct walk out_write_walk(const struct tile_program *p,
                                  const struct kernel_shape *s) {
  if (!map_clips_out(p))
    return walk_linear;
  uint32_t element = (uint32_t)dtype_bytes(p->transfer[OUT].type),
           m = (uint32_t)p->block_m, n = (uint32_t)p->block_n,
           row = (p->turns_out ? m : n) * element / 4, /* words */
      run = (uint32_t)(p->turns_out ? s->m : s->n) * element / 4,
           other = (uint32_t)(p->turns_out ? s->n : s->m);
  struct walk w = {.parts = 1, .dims = 4};
  w.dim[0] = (struct bd_dim){1, run};
  w.dim[1] = (struct bd_dim){row, other};
  w.dim[2] =
      (struct bd_dim){p->turns_out ? other * row : run, n / (uint32_t)s->n};
  w.dim[3] = (struct bd_dim){p->turns_out ? run : other * row, 0};
  return w;
}

/* Out: one ring per row of cores on S2MM 2 + row.  MM2S 2 sends one block of
 * every row of the lower half in turn, MM2S 3 of the upper half: a column has
 * two ways out, or one, on MM2S 3.  Row after row, a join is in device memory
 * order. */
static bool make_mem_output(struct builder *m, struct mem_tile *tile,
                            const struct kernel_shape *s) {
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
  const struct walk write = out_write_walk(p, s);
  assert(p->grid.rows <= 8);
  for (int row = 0; row < p->grid.rows; row++) {
    struct ring *r = &ring[row];
    *r = (struct ring){.name = arena_printf(m->arena, "out%d_", row),
                       .column = tile->column,
                       .row = MEM_ROW,
                       .offset = tile->offset,
                       .bytes = ring_block_bytes(p, OUT) * (uint32_t)span,
                       .depth = p->panel.out / span,
                       .lock = LOCK_OUT + 2 * row};
    r->stride = r->bytes;
    ring_clip(p, OUT, r, &read);
    add_ring(m, r, r->bytes);
    add_chain(m, r, new_bds(m, tile, row, r->depth), false, 2 + row, &write);
    tile->offset += (uint32_t)r->depth * r->bytes;
  }
  for (int join = 0; join < p->joins; join++) {
    int first_row, rows = design_join_rows(p, join, &first_row);
    int channel = design_join_channel(p, join);
    int count = rows * (p->panel.out / span) * read.parts,
        first = new_bds(m, tile, channel, count);
    for (int i = 0; i < count; i++) {
      int block = i / read.parts;
      add_ring_bd(m, &ring[first_row + block % rows], block / rows, first + i,
                  first + (i + 1) % count, true, channel, &read,
                  i % read.parts);
    }
    *add_start(m) =
        (struct design_start){tile->column, MEM_ROW, channel, first, true};
  }
  return true;
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
  if (!kernel_shape(map_isa(p->device), p->transfer[IN0].type,
                    p->transfer[IN1].type, p->acc, &s))
    return diag_error(m->diag, loc_none(), "no kernel for %s x %s -> %s",
                      dtype_name(p->transfer[IN0].type),
                      dtype_name(p->transfer[IN1].type), dtype_name(p->acc));
  if (kernel_gemm_passes(map_isa(p->device), p->transfer[IN0].type,
                         p->transfer[IN1].type, p->acc) > 1)
    return diag_error(m->diag, loc_none(),
                      "%s inputs: their kernel reads two halves of each, and "
                      "the transfers bring one block",
                      dtype_name(p->transfer[IN0].type));
  if (!check_shape(m, &s))
    return false;
  for (int column = 0; column < p->grid.columns; column++) {
    struct mem_tile tile = {.column = column,
                            .offset = in0_bytes_beside(p, column)};
    bool apart = p->grid.apart, sends = design_in0_part(p, column) >= 0;
    if (apart && !make_mem_apart(m, &tile, &s))
      return false;
    if (p->converts) {
      make_converted_in0(m, &tile);
      make_converter(m, column);
    } else if (!apart && sends && !make_mem_in0(m, &tile, &s)) {
      return false;
    }
    bool beside = !sends && design_panel_share(p, column, 0).count > 0;
    if (beside && !make_panel_beside(m, &tile))
      return false;
    bool sends_in1 = !apart && !p->converts && design_in1_part(p, column) >= 0;
    for (int part = 0; part < p->grid.split && sends_in1; part++)
      if (!make_mem_in1(m, &tile, &s, part))
        return false;
    if (!make_mem_output(m, &tile, &s))
      return false;
    for (int row = 0; row < p->grid.rows; row++)
      make_core(m, column, CORE_ROW + row, &s);
  }
  return true;
}
