/* Stream switches.
 *
 * Every configuration write marks the tile; before the next cycle the marked
 * switches are resolved into a list of sinks for each slave port, so that a
 * beat's way costs nothing to find.  A circuit's beat advances when all its
 * sinks have room (broadcast).  In packet mode the header chooses a slot, the
 * slot an arbiter, and the arbiter belongs to that slave port until TLAST.
 */
#include "tile.h"

#include <string.h>

/* ---- the places where words wait ---- */

static uint32_t power_of_two(uint32_t n) {
  uint32_t p = 1;
  while (p < n)
    p *= 2;
  return p;
}

static void create_fifo(struct sim *s, struct fifo *f, uint32_t beats) {
  uint32_t depth = beats * s->stream_words, slots = power_of_two(depth);
  *f = (struct fifo){
      .mask = slots - 1, .depth = depth, .full = UINT32_MAX, .empty = -1};
  f->beat = arena_array(s->arena, slots, sizeof *f->beat);
}

static uint32_t slave_depth(const struct tile *t, enum port kind, int channel) {
  switch (kind) {
  case PORT_DMA:
    return PORT_LOCAL_DEPTH +
           (t->kind == TILE_MEM ? DMA_MEM_STAGE : DMA_CORE_STAGE);
  case PORT_SOUTH:
    if (t->kind == TILE_SHIM) /* the two that a shim DMA can feed */
      return channel == 3 || channel == 7 ? SHIM_STAGE : PORT_LOCAL_DEPTH;
    return PORT_EXTERN_DEPTH;
  case PORT_WEST:
  case PORT_NORTH:
  case PORT_EAST:
    return PORT_EXTERN_DEPTH;
  case PORT_FIFO:
    return PORT_FIFO_DEPTH;
  case PORT_CORE:
  case PORT_TRACE:
    return PORT_LOCAL_DEPTH;
  case PORT_CONTROL: /* tokens are never refused (D12) */
    return 128;
  case PORT_KINDS:
    break;
  }
  return PORT_LOCAL_DEPTH;
}

void streams_create(struct tile *t) {
  struct sim *s = t->sim;
  enum port kind;
  int channel, count = 0;
  while (port_of_slave(t->kind, count, &kind, &channel))
    count++;
  t->port = arena_array(s->arena, (size_t)count, sizeof *t->port);
  for (int i = 0; i < count; i++) {
    port_of_slave(t->kind, i, &kind, &channel);
    t->port[i].tile = t;
    t->port[i].index = (uint8_t)i;
    create_fifo(s, &t->port[i].fifo, slave_depth(t, kind, channel));
    t->port[i].fifo.full = 1;
  }
  for (int c = 0; c < s->device->tile[t->kind].channels; c++)
    create_fifo(s, &t->channel[0][c].in, DMA_INGRESS_DEPTH);
  create_fifo(s, &t->core_in, MASTER_LOCAL_DEPTH);
}

/* ---- where a master leads ---- */

static struct sink to_port(struct tile *t, enum port kind, int channel,
                           int latency) {
  int index = t ? port_slave(t->kind, kind, channel) : -1;
  if (index < 0)
    return (struct sink){.kind = SINK_NONE};
  return (struct sink){.kind = SINK_FIFO,
                       .latency = (uint8_t)latency,
                       .port = &t->port[index],
                       .fifo = &t->port[index].fifo};
}

static struct sink to_channel(struct tile *t, int channel) {
  return (struct sink){.kind = SINK_FIFO,
                       .latency = MASTER_LOCAL_LATENCY,
                       .fifo = &t->channel[0][channel].in};
}

/* South masters of a shim: South0 is read by the firmware; the demultiplexer
 * may connect South2 and South3 to S2MM 0 and 1. */
static struct sink shim_south(struct tile *t, int channel) {
  if (channel == 0)
    return (struct sink){.kind = SINK_TOKEN};
  if (channel == 2 && (t->demux >> 4 & 3) == 1)
    return to_channel(t, 0);
  if (channel == 3 && (t->demux >> 6 & 3) == 1)
    return to_channel(t, 1);
  return (struct sink){.kind = SINK_NONE};
}

static struct sink sink_of(struct tile *t, int master) {
  struct sim *s = t->sim;
  enum port kind = PORT_KINDS;
  int channel = 0;
  port_of_master(t->kind, master, &kind, &channel);
  int column = t->column, row = t->row, latency = PORT_EXTERN_LATENCY;
  switch (kind) {
  case PORT_CORE:
    return (struct sink){.kind = SINK_FIFO,
                         .latency = MASTER_LOCAL_LATENCY,
                         .fifo = &t->core_in};
  case PORT_DMA:
    return to_channel(t, channel);
  case PORT_CONTROL:
    return (struct sink){.kind = SINK_CONTROL};
  case PORT_FIFO:
    return to_port(t, PORT_FIFO, channel, PORT_LOCAL_LATENCY);
  case PORT_SOUTH:
    if (t->kind == TILE_SHIM)
      return shim_south(t, channel);
    return to_port(tile_at(s, column, row - 1), PORT_NORTH, channel, latency);
  case PORT_WEST:
    return to_port(tile_at(s, column - 1, row), PORT_EAST, channel, latency);
  case PORT_NORTH:
    return to_port(tile_at(s, column, row + 1), PORT_SOUTH, channel, latency);
  case PORT_EAST:
    return to_port(tile_at(s, column + 1, row), PORT_WEST, channel, latency);
  case PORT_TRACE:
  case PORT_KINDS:
    break;
  }
  return (struct sink){.kind = SINK_NONE};
}

static void add_sink(struct slave *p, int master, bool drop_header) {
  struct sink to = sink_of(p->tile, master);
  to.master = (uint8_t)master;
  to.drop_header = drop_header;
  assert(p->sink_count < MAX_MASTERS);
  p->sink[p->sink_count++] = to;
}

/* ---- configuration ---- */

enum { ENABLED = 1u << 31, PACKET = 1u << 30 };

static bool check_connection(struct tile *t, int slave, int master) {
  enum port from, to;
  int from_channel, to_port_channel;
  char name[32], s[16], m[16];
  port_of_master(t->kind, master, &to, &to_port_channel);
  if (!port_of_slave(t->kind, slave, &from, &from_channel))
    return sim_fail(t->sim, "%s: master %s names slave %d, which it lacks",
                    tile_name(t, name), master_name(t, master, m), slave);
  if (port_connects(t->kind, from, from_channel, to, to_port_channel))
    return true;
  return sim_fail(t->sim, "%s: the switch cannot connect slave %s to %s",
                  tile_name(t, name), slave_name(t, slave, s),
                  master_name(t, master, m));
}

/* Circuits can take the short way through a cycle. */
static bool is_plain(const struct slave *p) {
  for (int i = 0; i < p->sink_count; i++)
    if (p->sink[i].kind != SINK_FIFO)
      return false;
  return p->enabled && !p->packet && p->sink_count;
}

static void rebuild(struct tile *t) {
  enum port kind;
  int channel;
  for (int i = 0; port_of_slave(t->kind, i, &kind, &channel); i++) {
    struct slave *p = &t->port[i];
    p->enabled = t->slave[i] & ENABLED;
    p->packet = t->slave[i] & PACKET;
    if (!p->packet || !p->in_packet)
      p->sink_count = 0;
    if (!p->packet)
      p->in_packet = false;
  }
  for (int m = 0; port_of_master(t->kind, m, &kind, &channel); m++) {
    if (!(t->master[m] & ENABLED) || t->master[m] & PACKET)
      continue;
    int slave = t->master[m] & 0x1F;
    if (!check_connection(t, slave, m))
      return;
    struct slave *p = &t->port[slave];
    if (p->enabled && !p->packet)
      add_sink(p, m, false);
  }
  for (int i = 0; port_of_slave(t->kind, i, &kind, &channel); i++)
    t->port[i].plain = is_plain(&t->port[i]);
  for (int c = 0; c < t->sim->device->tile[t->kind].channels; c++) {
    int slave = port_slave(t->kind, PORT_DMA, c);
    if (t->kind == TILE_SHIM) /* MM2S 0 is on South3, MM2S 1 on South7 */
      slave = (t->mux >> (c ? 14 : 10) & 3) == 1
                  ? port_slave(t->kind, PORT_SOUTH, c ? 7 : 3)
                  : -1;
    struct channel *mm2s = &t->channel[1][c];
    struct slave *to = slave < 0 ? NULL : &t->port[slave];
    if (mm2s->port != to && mm2s->state != CHANNEL_IDLE)
      channel_wake(mm2s);
    if (!to)
      host_forget(mm2s);
    mm2s->port = to;
  }
  t->switch_changed = false;
}

void streams_rebuild(struct sim *s) {
  s->switches_changed = false;
  for (int i = 0; i < s->columns * s->rows && !s->failed; i++)
    if (s->tile[i].switch_changed)
      rebuild(&s->tile[i]);
}

/* ---- packets ---- */

/* The first slot of the port that takes this id, or -1. */
static int match_slot(const struct slave *p, uint32_t id) {
  for (int k = 0; k < MAX_SLOTS; k++) {
    uint32_t slot = p->tile->slot[p->index][k];
    uint32_t mask = slot >> 16 & 0x1F;
    if (slot >> 8 & 1 && ((slot >> 24 ^ id) & mask) == 0)
      return k;
  }
  return -1;
}

/* Chooses the sinks of the packet whose header is at the head; false: its
 * arbiter is busy, or it leads nowhere. */
static bool open_packet(struct sim *s, struct slave *p, uint32_t header) {
  struct tile *t = p->tile;
  char name[32], port[16];
  int k = match_slot(p, header & 0x1F);
  if (k < 0)
    return sim_fail(s,
                    "%s: a packet with id %d at slave %s matches none of its "
                    "slots (header 0x%08x)",
                    tile_name(t, name), header & 0x1F,
                    slave_name(t, p->index, port), header);
  uint32_t slot = t->slot[p->index][k];
  uint32_t arbiter = slot & 7, msel = slot >> 4 & 3;
  if (t->arbiter[arbiter] && t->arbiter[arbiter] != p)
    return false;
  p->sink_count = 0;
  enum port kind;
  int channel;
  for (int m = 0; port_of_master(t->kind, m, &kind, &channel); m++) {
    uint32_t c = t->master[m];
    if (!(c & ENABLED) || !(c & PACKET) || (c & 7) != arbiter ||
        !(c >> (3 + msel) & 1))
      continue;
    if (!check_connection(t, p->index, m))
      return false;
    add_sink(p, m, c >> 7 & 1);
  }
  if (!p->sink_count)
    return false;
  t->arbiter[arbiter] = p;
  p->arbiter = (uint8_t)arbiter;
  p->in_packet = p->at_header = true;
  return true;
}

/* ---- tokens ---- */

static void lose_token(struct sim *s, const struct channel *c, int id,
                       const char *why) {
  s->lost.count++;
  s->lost.column = c->tile->column;
  s->lost.row = c->tile->row;
  s->lost.channel = c->index;
  s->lost.mm2s = c->mm2s;
  s->lost.id = id;
  s->lost.why = why;
}

/* The token of a finished task: a packet of one word at the tile's control
 * slave.  Which channel it is from is carried beside the word, because the
 * position of the actor id in it is not known. */
void stream_token(struct channel *c) {
  struct tile *t = c->tile;
  struct sim *s = t->sim;
  struct slave *p = &t->port[port_slave(t->kind, PORT_CONTROL, 0)];
  uint32_t id = c->control >> 8 & 0x1F;
  if (s->switches_changed)
    streams_rebuild(s);
  if (!p->enabled)
    lose_token(s, c, (int)id, "the tile's control slave is not enabled");
  else if (p->packet && match_slot(p, id) < 0)
    lose_token(s, c, (int)id, "no slot of the control slave has its id");
  else if (!fifo_has_room(&p->fifo, 1))
    lose_token(s, c, (int)id, "the token buffer is full");
  else {
    uint32_t word =
        id | 6u << 12 | (uint32_t)t->row << 16 | (uint32_t)t->column << 21;
    fifo_push(&p->fifo,
              (struct beat){.ready = s->now + PORT_LOCAL_LATENCY,
                            .word = odd_parity(word),
                            .last = 1,
                            .token = (uint16_t)(1 + 16 * c->mm2s + c->index)});
    port_list(s, p);
  }
}

/* The firmware reads a word at South0; only tokens mean something to it. */
static void take_token(struct sim *s, const struct beat *b) {
  if (!b->token)
    return;
  int from = b->token - 1;
  s->last_outside = s->now;
  s->token[b->word >> 21 & 7][b->word >> 16 & 7][from >> 4][from & 15]++;
}

/* ---- one cycle ---- */

static bool sink_ready(const struct slave *p, const struct sink *k) {
  switch (k->kind) {
  case SINK_FIFO:
    return fifo_has_room(k->fifo, 1);
  case SINK_CONTROL:
    return !p->tile->handler.full;
  case SINK_TOKEN:
    return true;
  case SINK_NONE:
    break;
  }
  return false;
}

static void push(struct sim *s, const struct sink *k, struct beat b) {
  struct fifo *f = k->fifo;
  assert(k->kind == SINK_FIFO);
  b.ready = s->now + k->latency;
  fifo_push(f, b);
  if (f->count < f->full)
    return;
  if (k->port)
    port_list(s, k->port);
  else
    channel_wake(f->sleeper);
}

static void pop(struct sim *s, struct slave *p) {
  fifo_drop(&p->fifo, 1);
  if ((int32_t)p->fifo.count <= p->fifo.empty)
    channel_wake(p->fifo.sleeper);
  s->progress = true;
}

/* The common case, which is most of the work in a busy array; false: the word
 * cannot go on now. */
static bool step_circuit(struct sim *s, struct slave *p) {
  const struct beat *b = fifo_at(&p->fifo, 0);
  if (b->ready > s->now)
    return false;
  int count = p->sink_count;
  for (int i = 0; i < count; i++)
    if (p->sink[i].fifo->count >= p->sink[i].fifo->depth)
      return false;
  for (int i = 0; i < count; i++)
    push(s, &p->sink[i], *b);
  pop(s, p);
  return true;
}

/* Leaves a beat to the tile's control packet handler (packet.c); a packet's own
 * header is not for it. */
static void hand_over(struct sim *s, struct tile *t, struct beat b) {
  assert(!t->handler.full);
  t->handler.in = b;
  t->handler.full = true;
  s->full_handlers++;
}

/* Packets, tokens, and whatever leads nowhere. */
static bool step_any(struct sim *s, struct slave *p) {
  struct beat b = *fifo_at(&p->fifo, 0);
  if (b.ready > s->now || !p->enabled)
    return false;
  if (p->packet && !p->in_packet && !open_packet(s, p, b.word))
    return false;
  if (!p->sink_count)
    return false;
  for (int i = 0; i < p->sink_count; i++)
    if (!sink_ready(p, &p->sink[i]))
      return false;
  for (int i = 0; i < p->sink_count; i++) {
    const struct sink *k = &p->sink[i];
    if (p->at_header && k->drop_header)
      continue;
    if (k->kind == SINK_TOKEN)
      take_token(s, &b);
    else if (k->kind == SINK_FIFO)
      push(s, k, b);
    else if (k->kind == SINK_CONTROL && !p->at_header)
      hand_over(s, p->tile, b);
  }
  p->at_header = false;
  pop(s, p);
  if (p->in_packet && b.last) {
    p->in_packet = false;
    p->tile->arbiter[p->arbiter] = NULL;
  }
  return true;
}

void streams_step(struct sim *s) {
  for (int i = 0; i < s->port_count;) {
    struct slave *p = s->port[i];
    uint32_t left = s->stream_words;
    while (p->plain ? step_circuit(s, p) : step_any(s, p))
      if (!--left || !p->fifo.count)
        break;
    if (p->fifo.count) {
      i++;
      continue;
    }
    p->listed = false;
    p->fifo.full = 1;
    s->port[i] = s->port[--s->port_count];
  }
}
