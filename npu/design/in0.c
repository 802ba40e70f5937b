/* in0.c -- in0 in a mem tile: its panel, whole or in part, or a ring.
 *
 * A mem tile keeps the whole panel of in0 of an m round, cut into chunks: the
 * reader passes over the chunks once per n round, and behind its last pass the
 * writer refills chunk after chunk for the next m round.
 *
 * Where in1 has both channels of the shims, the chunks come ahead of it, in
 * shares (design_panel_share): a share is a task of the transaction, also in
 * the east neighbour's mem tile, which writes into this one's memory, or its
 * own, and counts with this one's locks.
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
 * Where device memory is read in runs of several steps, of which a stretch
 * keeps one, the others may be more than one buffer of the ring, with
 * descriptors of their own.  Of three runs every second column keeps the second
 * one: while a kept run is sent, nothing more than the ring holds comes from
 * device memory, and not all columns do without it at the same time.
 *
 *   writer  first n round: streamed, kept, streamed, streamed, kept, ...
 *           others:        streamed, streamed ...
 *   reader  all n rounds:  streamed, kept, streamed, streamed, kept, ...
 *
 * The writer's differ, so they are tasks that the transaction starts; the
 * reader's are a chain without end.  Only the ring has locks.  The reader does
 * not touch a kept part before the streamed one behind it is there, which was
 * written later.  And when the writer begins with the next m round's panel, it
 * has just got a place in the ring for the last streamed part, so the reader is
 * at most the ring's depth behind and done with the kept parts from the first
 * stretch on, in the order in which they are overwritten.
 */
#include "ring.h"

#include <assert.h>

/* How a part of a buffer of so many steps is written. */
bool in0_write_walk(struct builder *m, int steps, struct walk *w) {
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
  if (!several || w->reach_bytes == ring_block_bytes(p, IN0))
    return true;
  if (w->parts > 1 || w->dims == 4)
    return diag_error(m->diag, loc_none(),
                      "in0: blocks behind each other are written by one "
                      "descriptor, which has no dimension left for them");
  w->dim[w->dims - 1].wrap = w->outermost;
  w->dim[w->dims++] = (struct bd_dim){ring_block_bytes(p, IN0) / 4, 0};
  return true;
}

/* The streamed part of a stretch: one buffer of the ring, to which iteration
 * leads, or its two in turn. */
static void add_streamed(struct builder *m, const struct ring *r, int parts,
                         int first, int next, bool mm2s, const struct walk *w) {
  if (parts == 1)
    add_stepping_bd(m, r, first, next, mm2s, IN0, w);
  for (int i = 0; i < parts && parts > 1; i++)
    add_ring_bd(m, r, i % r->depth, first + i,
                i + 1 < parts ? first + i + 1 : next, mm2s, IN0, w, 0);
}

bool design_keeps_second(const struct tile_program *p, int column) {
  return map_streamed_parts(p) == 2 && design_in0_part(p, column) % 2 == 1;
}

/* The panel of in0, kept in part. */
static bool make_mem_panel(struct builder *m, struct mem_tile *tile,
                           const struct kernel_shape *s) {
  enum { STRETCH = DESIGN_STRETCH_BD, WRITE = DESIGN_STREAMED_BD };
  const struct tile_program *p = m->design->program;
  const struct map_panel *panel = &p->panel;
  const bool second = design_keeps_second(p, tile->column);
  const int parts = map_streamed_parts(p), part = panel->streamed / parts,
            READ_KEPT = WRITE + parts, READ = READ_KEPT + 1,
            WRITE_KEPT = second ? READ + parts : STRETCH;
  int first = new_bds(m, tile, IN0, READ + parts + second);
  assert(first == STRETCH && (parts == 1 || parts % 2 == 0));
  (void)first;
  uint32_t step = ring_block_bytes(p, IN0) * (uint32_t)p->group_m;
  struct ring kept = {.name = "in0_kept",
                      .column = tile->column,
                      .row = MEM_ROW,
                      .bytes = step * (uint32_t)panel->kept,
                      .stride = step * (uint32_t)panel->kept,
                      .depth = panel->stretches,
                      .beyond = panel->stretches - panel->own,
                      .lock = LOCK_IN0};
  struct ring ring = {.name = "in0_",
                      .column = tile->column,
                      .row = MEM_ROW,
                      .bytes = step * (uint32_t)part,
                      .stride = step * (uint32_t)part,
                      .depth = MAP_MEM_DEPTH_STREAMED,
                      .lock = LOCK_IN0};
  kept.offset = take_memory(m, tile, &kept);
  ring.offset = take_memory(m, tile, &ring);
  struct walk write_kept, write;
  if (!in0_write_walk(m, panel->kept, &write_kept) ||
      !in0_write_walk(m, part, &write))
    return false;
  ring_clip(p, IN0, &kept, &write_kept);
  ring_clip(p, IN0, &ring, &write);
  if (write_kept.parts > 1 || write.parts > 1)
    return diag_error(m->diag, loc_none(),
                      "in0: a panel kept in part is written by one descriptor");
  if (panel->own)
    *add_buffer(m) =
        (struct design_buffer){kept.name, tile->column, MEM_ROW, kept.offset,
                               kept.bytes * (uint32_t)panel->own};
  if (kept.beyond)
    *add_buffer(m) = (struct design_buffer){
        arena_printf(m->arena, "%s_beside", kept.name), tile->column + 1,
        MEM_ROW, 0, kept.bytes * (uint32_t)kept.beyond};
  add_ring(m, &ring, ring.bytes);
  if (second)
    add_ring_bd(m, &ring, 0, STRETCH, WRITE_KEPT, false, IN0, &write, 0);
  struct bd *bd = add_stepping_bd(m, &kept, WRITE_KEPT, WRITE + second, false,
                                  IN0, &write_kept);
  bd->acquire_lock = -1; /* nothing to wait for, nothing to say */
  bd->release_value = 0;
  add_streamed(m, &ring, parts, WRITE, -1, false, &write);
  struct walk read = in0_read_walk(p, s, panel->kept, panel->kept * p->group_m);
  bd = add_stepping_bd(m, &kept, READ_KEPT, READ + second, true, IN0, &read);
  bd->release_lock = bd->acquire_lock; /* the part behind it is there */
  read = in0_read_walk(p, s, part, part * p->group_m);
  if (second) {
    add_ring_bd(m, &ring, 0, READ, READ_KEPT, true, IN0, &read, 0);
    add_ring_bd(m, &ring, 1, READ + 1, READ, true, IN0, &read, 0);
  } else {
    add_streamed(m, &ring, parts, READ, READ_KEPT, true, &read);
  }
  *add_start(m) = (struct design_start){tile->column, MEM_ROW, IN0,
                                        second ? READ : READ_KEPT, true};
  return true;
}

uint32_t in0_bytes_beside(const struct tile_program *p, int column) {
  const struct map_panel *x = &p->panel;
  int steps = x->chunks ? map_buffers_k(p, x->chunks) : x->kept,
      beyond = x->chunks + x->stretches - x->own;
  bool beside = column && design_in0_part(p, column - 1) >= 0 &&
                design_in0_part(p, column) < 0;
  return beside ? ring_block_bytes(p, IN0) * (uint32_t)p->group_m *
                      (uint32_t)steps * (uint32_t)beyond
                : 0;
}

/* Steps of k in a buffer, and blocks of in0. */
static int steps_of(const struct tile_program *p) {
  int chunks = p->panel.chunks;
  return chunks ? map_buffers_k(p, chunks) : p->panel.run[IN0];
}

static int blocks_of(const struct tile_program *p) {
  return p->panel.chunks || design_is_wide(p) ? steps_of(p) * p->group_m : 1;
}

static struct ring ring_of(const struct tile_program *p) {
  int chunks = p->panel.chunks;
  assert(chunks <= MAP_MAX_CHUNKS);
  assert(!chunks || p->steps_k % chunks == 0 || map_is_uneven(p));
  return (struct ring){.name = "in0_",
                       .bytes =
                           ring_block_bytes(p, IN0) * (uint32_t)blocks_of(p),
                       .depth = chunks ? chunks : map_mem_depth(&p->panel, IN0),
                       .beyond = chunks ? chunks - p->panel.own : 0,
                       .lock = LOCK_IN0,
                       .reuse = chunks ? p->panel.rounds : 0};
}

static bool write_walk(struct builder *m, const struct ring *r,
                       struct walk *w) {
  if (!in0_write_walk(m, steps_of(m->design->program), w))
    return false;
  ring_clip(m->design->program, IN0, r, w);
  return true;
}

/* A panel that comes ahead of in1, as its column's descriptors see it. */
static void put_panel(struct builder *m, struct mem_tile *home,
                      struct ring *r) {
  *r = ring_of(m->design->program);
  r->column = home->column;
  r->row = MEM_ROW;
  r->stride = r->bytes;
  r->offset = take_memory(m, home, r);
}

/* Writers of the chunks that come by this tile. */
static bool write_shares(struct builder *m, struct mem_tile *tile,
                         const struct ring *r) {
  enum { CHANNELS = 2 };
  const struct tile_program *p = m->design->program;
  struct walk write;
  if (!write_walk(m, r, &write))
    return false;
  if (write.parts > 1)
    return diag_error(m->diag, loc_none(),
                      "in0: a panel ahead of in1 is written by one descriptor "
                      "per chunk");
  for (int channel = 0; channel < CHANNELS; channel++) {
    struct design_share s = design_panel_share(p, tile->column, channel);
    if (s.count)
      add_turn(m, r, s.first, s.count, new_bds(m, tile, channel, s.count),
               channel, &write);
  }
  return true;
}

bool make_panel_beside(struct builder *m, struct mem_tile *tile) {
  struct mem_tile home = {.column = tile->column - 1};
  struct ring r;
  put_panel(m, &home, &r);
  r.column = tile->column;
  r.offset += WEST_BYTES;
  r.lock += WEST_LOCKS;
  return write_shares(m, tile, &r);
}

bool make_mem_in0(struct builder *m, struct mem_tile *tile,
                  const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  struct design_way way = design_in0_way(p);
  if (p->panel.stretches)
    return make_mem_panel(m, tile, s);
  struct ring r = ring_of(p);
  if (map_is_uneven(p))
    return make_uneven_ring(m, tile, &r, s, IN0, way);
  struct walk write, read = in0_read_walk(p, s, steps_of(p), blocks_of(p));
  if (p->grid.split > 1) {
    put_panel(m, tile, &r);
    add_ring(m, &r, r.bytes);
    if (!write_shares(m, tile, &r))
      return false;
    add_chain(m, &r, new_bds(m, tile, way.out, r.depth * read.parts), true,
              way.out, &read);
    return true;
  }
  if (!write_walk(m, &r, &write))
    return false;
  make_mem_ring(m, tile, &r, way, &write, &read);
  return true;
}
