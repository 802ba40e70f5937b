/* change.c -- from one configuration of the array to another by register
 * writes, which a transaction may begin with.
 *
 * Between two launches nothing moves: cores wait for the next launch's numbers,
 * channels for locks and words.  So a tile on which both configurations agree
 * stays as it is, in the state in which the launch before has left it.  Every
 * other one is stopped, freed of its routes, and written as the new
 * configuration has it; one that the new one does not use stays stopped.
 *
 * Which configuration the array holds may be known up to a few: a launch has
 * changed it, or something has loaded it again.  Then a tile stays only if all
 * of them agree on it.  The new one may be there, too, as where several
 * launches go out with one transaction: what does not stay is written anyway,
 * but for switches, which hold what was written last.
 *
 * What many cores get alike, their program above all, and what mem tiles do,
 * goes to them as a broadcast (broadcast.c).  The first mem tile, which sends
 * it, has it from device memory: the first shim channel brings it on the way of
 * in0's blocks, while the command processor cuts routes and writes descriptors.
 * Where that way is another one, the command processor writes it, too.
 */
#include "change.h"

#include <assert.h>
#include <string.h>

enum { CHANNEL_RESET = 2 };

static bool equal(const struct command *a, const struct command *b) {
  return a->kind == b->kind && a->address == b->address && a->mask == b->mask &&
         a->value == b->value && a->count == b->count &&
         (!a->count ||
          memcmp(a->words, b->words, a->count * sizeof *a->words) == 0);
}

static bool agree(const struct by_tile *a, const struct by_tile *b,
                  uint32_t tile) {
  int i = a->first[tile], k = b->first[tile];
  for (; i >= 0 && k >= 0; i = a->next[i], k = b->next[k])
    if (!equal(&a->list->item[i], &b->list->item[k]))
      return false;
  return i == k;
}

/* What becomes of a tile. */
struct marks {
  bool used[TILES], kept[TILES];
};

static void mark(struct marks *m, const struct by_tile *const from[], int count,
                 const struct by_tile *to) {
  memset(m, 0, sizeof *m);
  for (uint32_t tile = 0; tile < TILES; tile++) {
    m->used[tile] = m->kept[tile] = to->first[tile] >= 0;
    for (int i = 0; i < count; i++) {
      m->used[tile] |= from[i]->first[tile] >= 0;
      m->kept[tile] = m->kept[tile] && agree(from[i], to, tile);
    }
  }
}

static void stop_core(uint32_t base, struct command_list *out) {
  command_mask_write(out, base + REG_CORE_CONTROL, CORE_ENABLE, 0);
  for (uint32_t i = 0; i < REG_CORE_S2MM_CTRL_COUNT; i++) {
    command_mask_write(
        out, base + REG_CORE_S2MM_CTRL + i * REG_CORE_S2MM_CTRL_STRIDE,
        CHANNEL_RESET, CHANNEL_RESET);
    command_mask_write(
        out, base + REG_CORE_MM2S_CTRL + i * REG_CORE_MM2S_CTRL_STRIDE,
        CHANNEL_RESET, CHANNEL_RESET);
  }
}

static const int bring_south = 3; /* shim channel 0, array.md section 6 */

/* Mem tiles that get the same; on XDNA2 every second one does. */
enum { MEM_GROUPS = 2 };

/* A change on its way. */
struct change {
  struct marks marks;
  struct switches switches;
  struct broadcast cores, mems[MEM_GROUPS]; /* the sender's comes last */
  const struct command_list *const *from;
  int count;
  const struct by_tile *to;
  struct command_list *out;
  uint32_t bring_bd;
};

static bool is_sent(const struct change *x, uint32_t tile) {
  bool sent = x->cores.count && x->cores.member[tile];
  for (int i = 0; i < MEM_GROUPS; i++)
    sent |= x->mems[i].count && x->mems[i].member[tile];
  return sent;
}

static bool sends(const struct change *x) {
  return x->cores.count || x->mems[0].count || x->mems[1].count;
}

static uint32_t mem(uint32_t offset) {
  return tile_address(0, MEM_ROW, offset);
}

/* ---- stop ---- */

/* Those of a mem tile that have routes.  They have nothing else in these
 * registers. */
static void reset_channels(const struct switches *w, int column) {
  for (uint32_t value = CHANNEL_RESET;; value = 0) {
    for (int i = 0; i < REG_MEM_S2MM_CTRL_COUNT; i++) {
      uint32_t at = (uint32_t)i * REG_MEM_S2MM_CTRL_STRIDE;
      if (switch_named(w, switch_master(column, MEM_ROW, PORT_DMA, i)))
        command_write(w->out,
                      tile_address(column, MEM_ROW, REG_MEM_S2MM_CTRL + at),
                      value);
      if (switch_named(w, switch_slave(column, MEM_ROW, PORT_DMA, i)))
        command_write(w->out,
                      tile_address(column, MEM_ROW, REG_MEM_MM2S_CTRL + at),
                      value);
    }
    if (!value)
      break;
  }
}

/* The channel that brings what is sent. */
static void reset_bringer(const struct change *x) {
  command_write(x->out, mem(REG_MEM_S2MM_CTRL), CHANNEL_RESET);
  command_write(x->out, mem(REG_MEM_S2MM_CTRL), 0);
}

/* A configuration resets the channels of the cores that it uses by itself, and
 * packets those of mem tiles. */
static void stop_tile(const struct change *x, uint32_t tile) {
  switch (kind_of(tile)) {
  case TILE_SHIM:
  case TILE_KINDS:
    return; /* no task of it is left */
  case TILE_MEM:
    if (!is_sent(x, tile))
      reset_channels(&x->switches, (int)(tile >> 5));
    else if (tile == tile_at(0, MEM_ROW))
      reset_bringer(x);
    return;
  case TILE_CORE:
    if (x->to->first[tile] < 0)
      stop_core(tile << 20, x->out);
    return;
  }
}

/* A stream goes to every master that names its slave, and waits for them all.
 */
static void cut_routes(const struct change *x,
                       const struct command_list *from) {
  bool master;
  for (int i = 0; i < from->count; i++) {
    const struct command *c = &from->item[i];
    const struct switch_word *s =
        c->kind == COMMAND_WRITE && !x->marks.kept[tile_of(c)]
            ? switch_find(&x->switches, c->address, &master)
            : NULL;
    if (s && master && !s->wanted)
      switch_write(&x->switches, c->address, 0);
  }
}

static void stop_all(const struct change *x) {
  for (uint32_t tile = 0; tile < TILES; tile++)
    if (x->marks.used[tile] && !x->marks.kept[tile])
      stop_tile(x, tile);
  for (int i = 0; i < x->count; i++)
    cut_routes(x, x->from[i]);
}

/* ---- what the first mem tile sends ---- */

static void wait_for(const struct change *x, uint32_t status, uint32_t busy) {
  command_mask_poll(x->out, status, busy, 0, 0);
}

static bool holds(const struct command_list *l, const struct command *c) {
  for (int i = 0; i < l->count; i++)
    if (equal(&l->item[i], c))
      return true;
  return false;
}

/* Whether in0's way is free to bring words to the first mem tile, as all but
 * its switches leave it. */
static bool can_bring(const struct change *x) {
  const struct switches *w = &x->switches;
  const struct command mux = {.kind = COMMAND_MASK_WRITE,
                              .address = tile_address(0, 0, REG_SHIM_MUX),
                              .mask = 0xCC00,
                              .value = 0x4400};
  uint32_t up = switch_master(0, 0, PORT_NORTH, 0),
           in = switch_master(0, MEM_ROW, PORT_DMA, 0);
  for (int i = 0; i < x->count; i++)
    if (!holds(x->from[i], &mux))
      return false;
  return holds(x->to->list, &mux) &&
         switch_free(w, up,
                     switch_on | (uint32_t)port_slave(TILE_SHIM, PORT_SOUTH,
                                                      bring_south)) &&
         switch_free(w, in,
                     switch_on |
                         (uint32_t)port_slave(TILE_MEM, PORT_SOUTH, 0)) &&
         !switch_followed(w, 0, 0, PORT_SOUTH, bring_south, up) &&
         !switch_followed(w, 0, MEM_ROW, PORT_SOUTH, 0, in);
}

static void write_bd(const struct change *x, enum tile_kind kind, uint32_t id,
                     uint32_t length) {
  enum { BURST = 2 }; /* of all devices */
  const struct bd bd = {.length_words = length,
                        .dim = {{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                        .iteration_step_words = 1,
                        .iteration_count = 1,
                        .acquire_lock = -1,
                        .release_lock = -1,
                        .next = -1,
                        .burst = kind == TILE_SHIM ? BURST : 0};
  uint32_t words[8], base = kind == TILE_MEM ? REG_MEM_BD : REG_SHIM_BD;
  struct diag d = {0};
  int count = bd_pack((int)kind, &bd, words, &d);
  assert(count == 8 && REG_MEM_BD_STRIDE == REG_SHIM_BD_STRIDE);
  command_block(x->out,
                tile_address(0, kind == TILE_MEM ? MEM_ROW : SHIM_ROW,
                             base + id * REG_MEM_BD_STRIDE),
                words, (uint32_t)count);
}

/* By S2MM channel 0 of the mem tile and MM2S channel 0 of the shim. */
static void bring(const struct change *x, uint32_t length) {
  switch_lend(&x->switches, 0, SHIM_ROW, PORT_SOUTH, bring_south, PORT_NORTH,
              0);
  switch_lend(&x->switches, 0, MEM_ROW, PORT_SOUTH, 0, PORT_DMA, 0);
  write_bd(x, TILE_MEM, x->bring_bd, length);
  command_write(x->out, mem(REG_MEM_S2MM_QUEUE), x->bring_bd);
  write_bd(x, TILE_SHIM, 0, length);
  command_ddr_patch(x->out, tile_address(0, SHIM_ROW, REG_SHIM_BD + 4),
                    CHANGE_ARGUMENT, 0);
  command_write(x->out, tile_address(0, SHIM_ROW, REG_SHIM_MM2S_QUEUE), 0);
}

static uint32_t channel_of(const struct change *x) {
  const struct broadcast *b = x->cores.count     ? &x->cores
                              : x->mems[0].count ? &x->mems[0]
                                                 : &x->mems[1];
  return (uint32_t)b->way.channel;
}

static uint32_t status_of(const struct change *x) {
  return mem(REG_MEM_MM2S_STATUS + channel_of(x) * REG_MEM_MM2S_STATUS_STRIDE);
}

/* The channel's queue takes four tasks. */
static void push_all(const struct change *x, const struct packets *p,
                     const uint32_t task[]) {
  enum { QUEUE = 4, QUEUE_FULL = 4 << 20 };
  for (int i = 0; i < p->groups; i++) {
    if (i >= QUEUE)
      wait_for(x, status_of(x), QUEUE_FULL);
    command_write(
        x->out,
        mem(REG_MEM_MM2S_QUEUE + channel_of(x) * REG_MEM_MM2S_QUEUE_STRIDE),
        task[i]);
  }
}

static bool touches(uint32_t bd, int count, uint32_t at, uint32_t end) {
  uint32_t first = REG_MEM_BD + bd * REG_MEM_BD_STRIDE;
  return at < first + (uint32_t)count * REG_MEM_BD_STRIDE && end > first;
}

static int descriptors_of(const struct broadcast *b) {
  return b->count ? packets_descriptors(&b->packets) : 0;
}

/* Descriptors of the first mem tile that packets go by, and starts of its
 * channels: these come last. */
static bool comes_last(const struct change *x, const struct command *c) {
  uint32_t at = offset_of(c), end = at + 4 * (c->count ? c->count : 1);
  if (!sends(x) || tile_of(c) != tile_at(0, MEM_ROW))
    return false;
  return (at >= REG_MEM_S2MM_CTRL && at < REG_MEM_S2MM_STATUS) ||
         touches(x->cores.first_bd, descriptors_of(&x->cores), at, end) ||
         touches(x->mems[0].first_bd, descriptors_of(&x->mems[0]), at, end) ||
         touches(x->mems[1].first_bd, descriptors_of(&x->mems[1]), at, end) ||
         touches(x->bring_bd, 1, at, end);
}

/* Whether the block goes on where the last one ends, as descriptors do; then
 * they are one. */
static bool join(struct command_list *l, const struct command *c) {
  struct command *last = l->count ? &l->item[l->count - 1] : NULL;
  if (!last || last->kind != COMMAND_BLOCK ||
      last->address + 4 * last->count != c->address)
    return false;
  uint32_t *words =
      arena_array(l->arena, last->count + c->count, sizeof *words);
  memcpy(words, last->words, last->count * sizeof *words);
  memcpy(words + last->count, c->words, c->count * sizeof *words);
  last->words = words;
  last->count += c->count;
  return true;
}

static void write_command(const struct change *x, const struct command *c) {
  bool master;
  const struct switch_word *s =
      c->kind == COMMAND_WRITE ? switch_find(&x->switches, c->address, &master)
                               : NULL;
  if (s && s->lent)
    return; /* it comes when the packets have arrived */
  if (c->kind == COMMAND_WRITE)
    switch_write(&x->switches, c->address, c->value);
  else if (c->kind != COMMAND_BLOCK || !join(x->out, c))
    command_copy(x->out, c);
}

static void write_rest(const struct change *x, bool last) {
  for (int i = 0; i < x->to->list->count; i++) {
    const struct command *c = &x->to->list->item[i];
    if (!x->marks.kept[tile_of(c)] && !broadcast_has(&x->cores, c) &&
        !broadcast_has(&x->mems[0], c) && !broadcast_has(&x->mems[1], c) &&
        comes_last(x, c) == last)
      write_command(x, c);
  }
}

/* All packets, as they lie in the first mem tile's memory, and what sends them.
 */
enum { STREAMS = 1 + MEM_GROUPS };
struct stream {
  uint32_t *words, count;
  uint32_t bd[STREAMS][PACKET_DESCRIPTORS][8], task[STREAMS][PACKET_GROUPS];
};

static const struct broadcast *part_of(const struct change *x, int i) {
  return i ? &x->mems[i - 1] : &x->cores;
}

static void gather(const struct change *x, struct stream *s) {
  uint32_t at = 0;
  for (int i = 0; i < STREAMS; i++)
    s->count += part_of(x, i)->count ? part_of(x, i)->packets.count : 0;
  s->words = arena_array(x->out->arena, s->count, sizeof *s->words);
  for (int i = 0; i < STREAMS; i++) {
    const struct broadcast *b = part_of(x, i);
    if (!b->count)
      continue;
    memcpy(s->words + at, b->packets.words, 4 * (size_t)b->packets.count);
    packets_chain(&b->packets, at, b->first_bd, s->bd[i], s->task[i]);
    at += b->packets.count;
  }
  assert(at == s->count);
}

static void write_chains(const struct change *x, const struct stream *s) {
  for (int i = 0; i < STREAMS; i++)
    if (part_of(x, i)->count)
      command_block(
          x->out, mem(REG_MEM_BD + part_of(x, i)->first_bd * REG_MEM_BD_STRIDE),
          s->bd[i][0], 8 * (uint32_t)descriptors_of(part_of(x, i)));
}

static void wait_sent(const struct change *x) {
  wait_for(x, status_of(x), CHANNEL_BUSY | CHANNEL_FAILED);
}

static void send_mems(const struct change *x, const struct stream *s, int i) {
  const struct broadcast *b = &x->mems[i];
  if (!b->count)
    return;
  if (x->cores.count)
    switch_cut(&x->switches,
               switch_master(0, MEM_ROW, PORT_NORTH, x->cores.way.up));
  way_set(&b->way, &x->switches);
  push_all(x, &b->packets, s->task[1 + i]);
  wait_sent(x);
}

/* What single writes do is done while the cores' packets are on their way. */
static void send(const struct change *x, struct change_data *data) {
  struct stream *s = arena_alloc(x->out->arena, sizeof *s);
  bool brought = data && can_bring(x);
  gather(x, s);
  if (brought) {
    *data = (struct change_data){s->words, s->count};
    bring(x, s->count);
  } else {
    command_block(x->out, mem(REG_MEM_MEMORY), s->words, s->count);
  }
  write_chains(x, s);
  if (x->cores.count)
    way_set(&x->cores.way, &x->switches);
  if (brought)
    wait_for(x, mem(REG_MEM_S2MM_STATUS), CHANNEL_BUSY | CHANNEL_FAILED);
  if (x->cores.count)
    push_all(x, &x->cores.packets, s->task[0]);
  write_rest(x, false);
  if (x->cores.count)
    wait_sent(x);
  for (int i = 0; i < MEM_GROUPS; i++)
    send_mems(x, s, i);
}

static void find_mems(struct change *x) {
  struct broadcast *first = &x->mems[1], *second = &x->mems[0];
  bool kept[TILES];
  const struct switches *w = &x->switches;
  memcpy(kept, x->marks.kept, sizeof kept);
  broadcast_find(first, TILE_MEM, x->to, kept, w, 0);
  for (uint32_t tile = 0; tile < TILES; tile++)
    kept[tile] |= first->count && first->member[tile];
  kept[tile_at(0, MEM_ROW)] = true;
  if (first->count)
    broadcast_find(second, TILE_MEM, x->to, kept, w, descriptors_of(first));
}

/* Those of the channel that sends, for mem tiles its last ones, and one that
 * fills its memory. */
static void pick_descriptors(struct change *x) {
  for (int i = 0; i < MEM_GROUPS; i++)
    if (descriptors_of(&x->cores) + descriptors_of(&x->mems[0]) +
            descriptors_of(&x->mems[1]) >=
        PACKET_DESCRIPTORS)
      x->mems[i].count = 0;
  if (descriptors_of(&x->cores) >= PACKET_DESCRIPTORS)
    x->cores.count = 0;
  bool odd = sends(x) && channel_of(x) & 1;
  x->bring_bd = odd ? 0 : (uint32_t)descriptors_of(&x->cores);
}

static bool are_same(const struct command_list *a,
                     const struct command_list *b) {
  bool same = a->count == b->count;
  for (int i = 0; i < a->count && same; i++)
    same = equal(&a->item[i], &b->item[i]);
  return same;
}

void change_write(const struct command_list *const from[], int count,
                  const struct command_list *to, struct command_list *out,
                  struct change_data *data) {
  struct arena *a = out->arena;
  if (data)
    *data = (struct change_data){NULL, 0};
  bool same = true; /* as where sizes differ alone: no tile is looked at */
  for (int i = 0; i < count && same; i++)
    same = are_same(from[i], to);
  if (same)
    return;
  struct change *x = arena_alloc(a, sizeof *x);
  const struct by_tile **before = arena_array(a, (size_t)count, sizeof *before);
  for (int i = 0; i < count; i++)
    before[i] = by_tile(a, from[i]);
  *x = (struct change){
      .from = from, .count = count, .to = by_tile(a, to), .out = out};
  mark(&x->marks, before, count, x->to);
  x->switches = switches_read(from, count, to, out);
  broadcast_find(&x->cores, TILE_CORE, x->to, x->marks.kept, &x->switches, 0);
  find_mems(x);
  pick_descriptors(x);
  if (sends(x))
    x->marks.kept[tile_at(0, MEM_ROW)] = false;
  stop_all(x);
  if (sends(x))
    send(x, data);
  else
    write_rest(x, false);
  switch_restore(&x->switches);
  write_rest(x, true);
}
