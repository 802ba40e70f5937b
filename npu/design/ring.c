/* ring.c -- buffers that a channel fills and another one drains.
 *
 * A ring is `depth` equal buffers with two counting locks: `empty` (starts at
 * depth) and `full` (starts at 0).  A writer acquires empty and releases full;
 * a reader the reverse.  Its descriptors form a loop that starts when the array
 * is configured and never ends, so the same configuration serves any number of
 * runs.
 *
 * A ring whose buffers are each read `reuse` times before they are filled again
 * has a pair of locks per buffer, and its writer counts in units of reuse.
 */
#include "ring.h"

#include <assert.h>

static int lock_of(const struct ring *r, int buffer, int side) {
  return r->lock + (r->reuse ? 2 * buffer : 0) + side;
}

static uint32_t mem_bytes(const struct builder *m) {
  return m->design->program->device->tile[TILE_MEM].memory_bytes;
}

void add_ring(struct builder *m, const struct ring *r, uint32_t bytes) {
  assert(r->depth >= 1 && r->bytes > 0 && r->bytes <= bytes);
  for (int i = 0; i < r->depth; i++) {
    bool beyond = i >= r->depth - r->beyond;
    uint32_t at = r->offset + (uint32_t)i * r->stride;
    *add_buffer(m) = (struct design_buffer){
        arena_printf(m->arena, "%s%d", r->name, i), r->column + beyond, r->row,
        at - (beyond ? mem_bytes(m) : 0), bytes};
  }
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

const struct walk walk_linear = {.parts = 1};

bool walk_places(struct builder *m, const struct map_stream *s,
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
  if (w->parts > MAP_MAX_PARTS)
    return diag_error(m->diag, loc_none(),
                      "a block of %d dimensions in a mem tile; a descriptor "
                      "walks over 4, and %d of them over a block",
                      count, MAP_MAX_PARTS);
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

struct walk walk_padded(const struct tile_program *p, int tensor, int width) {
  uint32_t words =
      (uint32_t)(width * dtype_bytes(p->transfer[tensor].type)); /* of four k */
  uint32_t k = (uint32_t)map_nest_extent(&p->side[AXIS_K]);
  struct walk w = {.dims = 1, .parts = 1};
  w.dim[0] = (struct bd_dim){1, k * words / 4};
  w.zeros = ((uint32_t)p->block_k - k) * words / 4;
  return w;
}

void add_ring_bd(struct builder *m, const struct ring *r, int index, int id,
                 int next, bool mm2s, int channel, const struct walk *w,
                 int part) {
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
      .bd = {.base = (r->offset + (uint32_t)index * r->stride +
                      w->part_bytes[part]) %
                     MEM_REACH_BYTES,
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
  x->bd.zero_after[1] = w->zero_runs;
  if (w->length_words)
    x->bd.length_words = w->length_words;
}

void add_turn(struct builder *m, const struct ring *r, int from, int count,
              int first, int channel, const struct walk *w) {
  for (int i = 0; i < count * w->parts; i++)
    add_ring_bd(m, r, from + i / w->parts, first + i,
                i + 1 < count * w->parts ? first + i + 1 : -1, false, channel,
                w, i % w->parts);
}

struct bd *add_stepping_bd(struct builder *m, const struct ring *r, int id,
                           int next, bool mm2s, int channel,
                           const struct walk *w) {
  assert(w->parts == 1);
  add_ring_bd(m, r, 0, id, next, mm2s, channel, w, 0);
  struct bd *bd = &m->design->bd[m->design->bd_count - 1].bd;
  bd->iteration_step_words = r->stride / 4;
  bd->iteration_count = (uint32_t)r->depth;
  return bd;
}

void add_chain(struct builder *m, const struct ring *r, int first, bool mm2s,
               int channel, const struct walk *w) {
  int count = r->depth * w->parts;
  for (int i = 0; i < count; i++)
    add_ring_bd(m, r, i / w->parts, first + i, first + (i + 1) % count, mm2s,
                channel, w, i % w->parts);
  *add_start(m) =
      (struct design_start){r->column, r->row, channel, first, mm2s};
}

uint32_t ring_block_bytes(const struct tile_program *p, int tensor) {
  int64_t side[AXIS_ROLES] = {1, p->block_m, p->block_n,
                              map_nest_extent(&p->side[AXIS_K])};
  const enum axis_role *role = map_roles[tensor];
  if (p->converts && tensor < OUT)
    return map_converted_bytes((uint32_t)(side[role[0]] * side[role[1]]));
  return (uint32_t)(side[role[0]] * side[role[1]] *
                    dtype_bytes(p->transfer[tensor].type));
}

void ring_clip(const struct tile_program *p, int tensor, const struct ring *r,
               struct walk *w) {
  uint32_t bytes =
               (uint32_t)(map_moved(p, tensor, 0) * map_moved(p, tensor, 1) *
                          dtype_bytes(p->transfer[tensor].type)),
           blocks = r->bytes / ring_block_bytes(p, tensor);
  assert(r->bytes % ring_block_bytes(p, tensor) == 0);
  if (bytes < ring_block_bytes(p, tensor))
    w->length_words = blocks * bytes / 4 / (uint32_t)w->parts;
}

uint32_t ring_core_bytes(const struct tile_program *p, int tensor) {
  int side[AXIS_ROLES] = {1, p->block_m, p->block_n, p->block_k};
  const enum axis_role *role = map_roles[tensor];
  if (p->converts && tensor < OUT)
    return map_converted_bytes((uint32_t)(side[role[0]] * side[role[1]]));
  return (uint32_t)(side[role[0]] * side[role[1]] *
                    dtype_bytes(p->transfer[tensor].type));
}

int new_bds(struct builder *m, struct mem_tile *at, int channel, int count) {
  int half = m->design->program->device->tile[TILE_MEM].bds / 2;
  int first = at->bd[channel % 2];
  at->bd[channel % 2] += count; /* design_check sees to the end */
  return first + (channel % 2 ? half : 0);
}

uint32_t take_memory(struct builder *m, struct mem_tile *tile,
                     const struct ring *r) {
  uint32_t at = tile->offset, own = (uint32_t)(r->depth - r->beyond);
  assert(r->beyond >= 0 && r->beyond <= r->depth);
  if (r->beyond) /* other rings end before: design_check sees to it */
    return mem_bytes(m) - own * r->stride;
  tile->offset += own * r->stride;
  return at;
}

void make_mem_ring(struct builder *m, struct mem_tile *tile, struct ring *r,
                   struct design_way way, const struct walk *write,
                   const struct walk *read) {
  bool turns =
      design_panel_share(m->design->program, tile->column, way.in).count > 0;
  r->column = tile->column;
  r->row = MEM_ROW;
  r->stride = r->bytes;
  r->offset = take_memory(m, tile, r);
  add_ring(m, r, r->bytes);
  if (turns)
    add_stepping_bd(m, r, new_bds(m, tile, way.in, 1), -1, false, way.in,
                    write);
  else
    add_chain(m, r, new_bds(m, tile, way.in, r->depth * write->parts), false,
              way.in, write);
  add_chain(m, r, new_bds(m, tile, way.out, r->depth * read->parts), true,
            way.out, read);
}
