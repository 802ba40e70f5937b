/* uneven.c -- rings of inputs whose last step of k has less than the others.
 *
 * A mem tile gets what there is: the last buffer of an n round is shorter.  Its
 * descriptors stand for the buffers of a round, one after the other, and for as
 * many rounds as bring the ring's first buffer together with a round's.  To the
 * cores go whole blocks: zeros follow the last step's k, in small matrices.
 *
 *   in1  [k/S][n/T][S][T]        ends with them
 *   in0  [m/R][k/S][R][S]        has some in every row of small matrices, so
 *                                the last step takes a descriptor of its own
 *
 * Where K does not end with a small matrix a buffer lies as one that zeros fill
 * up (stream.c), with space for whole steps, and zeros follow the last k's word
 * there.  Where they cannot, or the other input's are enough (struct map_end),
 * all steps are read alike, whatever is behind the last k; what of it may not
 * meet the product the cores clear (clear.c).  Of in1 whose rows of k lie one
 * behind the other a ring is as any other one then: what its last step lacks
 * the shim fills up (task.c).
 */
#include "ring.h"

#include <assert.h>

static bool write_walk(struct builder *m, int tensor, int64_t k,
                       struct walk *w) {
  const struct tile_program *p = m->design->program;
  struct map_stream x;
  if (!map_stream_of_k(p, tensor, k, tensor == IN0, &x))
    return diag_error(m->diag, loc_none(),
                      "a block of in%d is not made of words and small matrices",
                      tensor);
  if (!walk_places(m, &x, w))
    return false;
  assert(w->parts == 1);
  w->length_words = 1;
  for (int i = 0; i < x.count; i++)
    w->length_words *= (uint32_t)x.loop[i].extent;
  return true;
}

/* in1 of so many steps, of which the last one has `last` k. */
static void read_in1(const struct tile_program *p, const struct kernel_shape *s,
                     int steps, int last, struct walk *w) {
  uint32_t row =
      (uint32_t)(p->block_n * s->k * dtype_bytes(p->transfer[IN1].type) / 4);
  *w = (struct walk){.parts = 1, .dims = 3};
  w->dim[0] = (struct bd_dim){1, row};
  w->dim[1] = (struct bd_dim){
      row, (uint32_t)(((steps - 1) * p->block_k + last) / s->k)};
  w->dim[2] = (struct bd_dim){row, 0};
  w->zero_runs = (uint32_t)((p->block_k - last) / s->k);
  w->length_words = ring_core_bytes(p, IN1) / 4 * (uint32_t)steps;
}

/* in0 alike, in one or two walks: gives how many. */
static int read_in0(const struct tile_program *p, const struct kernel_shape *s,
                    int steps, int last, struct walk w[2]) {
  uint32_t bytes = (uint32_t)dtype_bytes(p->transfer[IN0].type),
           of_k = (uint32_t)s->m * bytes / 4, /* words of a k in R rows */
      step = (uint32_t)p->block_k * of_k, small = (uint32_t)s->k * of_k,
           whole = (uint32_t)(steps - (last < p->block_k)),
           pitch = ((uint32_t)((steps - 1) * p->block_k + last)) * of_k,
           rows = (uint32_t)(p->group_m * p->block_m / s->m),
           words = ring_core_bytes(p, IN0) / 4 * (uint32_t)p->group_m;
  int count = 0;
  if (whole) {
    w[count] = (struct walk){.parts = 1, .dims = 3};
    w[count].dim[0] = (struct bd_dim){1, step};
    w[count].dim[1] = (struct bd_dim){pitch, rows};
    w[count].dim[2] = (struct bd_dim){step, 0};
    w[count++].length_words = words * whole;
  }
  if (last == p->block_k)
    return count;
  w[count] = (struct walk){.parts = 1, .dims = 3};
  w[count].part_bytes[0] = whole * step * 4;
  w[count].dim[0] = (struct bd_dim){1, small};
  w[count].dim[1] = (struct bd_dim){small, (uint32_t)(last / s->k)};
  w[count].dim[2] = (struct bd_dim){pitch, 0};
  w[count].zero_runs = (uint32_t)((p->block_k - last) / s->k);
  w[count++].length_words = words;
  return count;
}

/* A walk's dimension over k, of which the last `words` are zeros. */
static void end_walk(struct walk *w, int k, uint32_t words) {
  w->dim[k].wrap -= words;
  *(k ? &w->zero_runs : &w->zeros) = words;
}

/* Of blocks that are not cut the `left` steps of the last buffer, in one or two
 * walks like that of the `steps` of others, zeros behind the last one's k:
 * gives how many. */
static int read_inside(const struct tile_program *p, const struct walk *usual,
                       int k, int steps, int left, int last, struct walk w[2]) {
  uint32_t run = usual->dim[k].wrap,
           step = usual->length_words / (uint32_t)steps,
           words = (run * (uint32_t)last + (uint32_t)p->block_k - 1) /
                   (uint32_t)p->block_k;
  int whole = left - (last < p->block_k), count = 0;
  if (whole) {
    w[count] = *usual;
    w[count++].length_words = step * (uint32_t)whole;
  }
  if (whole == left)
    return count;
  w[count] = *usual;
  w[count].part_bytes[0] = (uint32_t)whole * run * 4;
  end_walk(&w[count], k, run - words);
  w[count++].length_words = step;
  return count;
}

/* A loop of descriptors for a ring that gets so many buffers in a round, the
 * last one by `last` walks, of which the first waits for the buffer and the
 * last hands it on. */
static void add_uneven_chain(struct builder *m, struct mem_tile *tile,
                             const struct ring *r, int buffers, bool mm2s,
                             int channel, const struct walk *usual,
                             const struct walk *last, int lasts) {
  int turns = map_ring_turns(r->depth, buffers),
      count = turns + turns / buffers * (lasts - 1),
      first = new_bds(m, tile, channel, count);
  for (int turn = 0, at = 0; turn < turns; turn++) {
    bool ends = turn % buffers == buffers - 1;
    for (int i = 0; i < (ends ? lasts : 1); i++, at++) {
      add_ring_bd(m, r, turn % r->depth, first + at, first + (at + 1) % count,
                  mm2s, channel, ends ? &last[i] : usual, 0);
      struct bd *bd = &m->design->bd[m->design->bd_count - 1].bd;
      if (i > 0)
        bd->acquire_lock = -1;
      if (ends && i + 1 < lasts)
        bd->release_value = 0;
    }
  }
  *add_start(m) =
      (struct design_start){r->column, r->row, channel, first, mm2s};
}

bool make_uneven_ring(struct builder *m, struct mem_tile *tile, struct ring *r,
                      const struct kernel_shape *s, int tensor,
                      struct design_way way) {
  const struct tile_program *p = m->design->program;
  int steps = design_buffer_steps(p, tensor), buffers = map_buffers_k(p, steps),
      left = p->steps_k - (buffers - 1) * steps;
  int64_t last_k = map_last_k(p, steps);
  int of_last = (int)(last_k - (int64_t)(left - 1) * p->block_k), reads = 1;
  struct map_end end = map_end(p);
  assert(left >= 1 && left <= steps && of_last > 0 && of_last < p->block_k);
  struct walk write = walk_linear, write_last, read[2] = {walk_linear},
              read_last[2];
  if ((buffers > 1 &&
       !write_walk(m, tensor, (int64_t)steps * p->block_k, &write)) ||
      !write_walk(m, tensor, last_k, &write_last))
    return false;
  if (end.inside) {
    read[0] = tensor == IN0 ? in0_read_walk(p, s, steps, steps)
                            : in1_read_walk(p, s, steps);
    bool words = map_cuts_words(s, p->transfer[tensor].type,
                                p->transfer[tensor].turned, tensor);
    reads = read_inside(p, &read[0], words, steps, left,
                        end.zeros[tensor] ? of_last : p->block_k, read_last);
  } else if (tensor == IN0) {
    if (buffers > 1)
      read_in0(p, s, steps, p->block_k, read);
    reads = read_in0(p, s, left, of_last, read_last);
  } else {
    read_in1(p, s, steps, p->block_k, read);
    read_in1(p, s, left, of_last, read_last);
  }
  r->column = tile->column;
  r->row = MEM_ROW;
  r->stride = r->bytes;
  r->offset = take_memory(m, tile, r);
  add_ring(m, r, r->bytes);
  add_uneven_chain(m, tile, r, buffers, false, way.in, &write, &write_last, 1);
  if (end.inside && !end.zeros[tensor] && left == steps)
    add_chain(m, r, new_bds(m, tile, way.out, r->depth), true, way.out, read);
  else
    add_uneven_chain(m, tile, r, buffers, true, way.out, read, read_last,
                     reads);
  return true;
}
