/* broadcast.c -- registers and programs that many cores get alike, as control
 * packets of one stream.
 *
 * The command processor writes a word in 13 cycles and begins a write in 100
 * (timing.md P1, P2), so a program of 2,000 words in each of 16 cores takes
 * 400,000.  A core tile takes register writes from its switch's TileControl
 * master as well (array.md section 6), and a switch gives a word to as many
 * masters as name its slave.  So the words go once into the first mem tile's
 * memory, each four behind a header; a channel sends them up its column, along
 * the first row of cores and up all others, on lanes that neither
 * configuration uses, and every core's handler writes them.
 *
 * Packets to memories have four words; what is shorter is not sent.
 *
 * A control packet is a transfer with an end of its own: a descriptor's length
 * is one packet, its iterations are the next ones.  A chain of n descriptors
 * whose iterations step over n packets sends more than the 64 that one counts,
 * in their order.
 *
 * What control packets cannot do is write under a mask.  The control registers
 * of a core and its channels have nothing but enable and reset bits set in our
 * configurations; another bit, and there is no broadcast.
 */
#include "change.h"

#include <assert.h>
#include <string.h>

enum {
  MOST_DATA = 4, /* words behind a header */
  MOST_ITERATIONS = 64,
  CHANNEL_DESCRIPTORS = 24, /* of a mem tile's channel */
};
static const uint32_t on = 1u << 31;

static bool is_switch(const struct command *c) {
  return offset_of(c) >= REG_CORE_MASTER &&
         offset_of(c) < REG_CORE_LOCK_REQUEST;
}

static bool is_memory(const struct command *c) {
  uint32_t at = offset_of(c);
  return c->kind == COMMAND_BLOCK &&
         (at < REG_CORE_MEMORY + 4 * REG_CORE_MEMORY_COUNT ||
          at - REG_CORE_PROGRAM < 4 * REG_CORE_PROGRAM_COUNT);
}

/* Control of the core or of one of its channels: enable and reset are all. */
static bool is_control(const struct command *c) {
  uint32_t at = offset_of(c);
  return at == REG_CORE_CONTROL || at == REG_CORE_S2MM_CTRL ||
         at == REG_CORE_S2MM_CTRL + REG_CORE_S2MM_CTRL_STRIDE ||
         at == REG_CORE_MM2S_CTRL ||
         at == REG_CORE_MM2S_CTRL + REG_CORE_MM2S_CTRL_STRIDE;
}

/* Routes differ, and a core starts when everything else stands. */
static bool is_apart(const struct command *c) {
  return is_switch(c) ||
         (offset_of(c) == REG_CORE_CONTROL && c->value & CORE_ENABLE);
}

bool broadcast_has(const struct broadcast *b, const struct command *c) {
  return b->count && b->member[tile_of(c)] && !is_apart(c);
}

static bool can_send(const struct command *c) {
  return c->kind == COMMAND_WRITE ||
         (c->kind == COMMAND_BLOCK &&
          (!is_memory(c) || c->count >= MOST_DATA)) ||
         (c->kind == COMMAND_MASK_WRITE && is_control(c) && c->mask < 4);
}

/* The next of the tile's commands that may be sent, from *i on; NULL: none. */
static const struct command *next_sent(const struct command_list *l, int *i,
                                       uint32_t tile) {
  for (; *i < l->count; ++*i)
    if (tile_of(&l->item[*i]) == tile && !is_apart(&l->item[*i]))
      return &l->item[(*i)++];
  return NULL;
}

static bool same(const struct command *a, const struct command *b) {
  return a->kind == b->kind && offset_of(a) == offset_of(b) &&
         a->mask == b->mask && a->value == b->value && a->count == b->count &&
         (!a->count || memcmp(a->words, b->words, 4 * (size_t)a->count) == 0);
}

static bool alike(const struct command_list *l, uint32_t a, uint32_t b) {
  for (int i = 0, k = 0;;) {
    const struct command *x = next_sent(l, &i, a), *y = next_sent(l, &k, b);
    if (!x || !y)
      return x == y;
    if (!same(x, y))
      return false;
  }
}

static bool is_core(uint32_t tile) {
  return tile_kind((int)(tile & 31)) == TILE_CORE;
}

/* Whether a stream can write what the tile gets, and how many words that is. */
static bool is_sendable(const struct command_list *l, uint32_t tile,
                        uint32_t *words) {
  const struct command *c;
  *words = 0;
  for (int i = 0; (c = next_sent(l, &i, tile));) {
    if (!can_send(c))
      return false;
    *words += c->kind == COMMAND_BLOCK ? c->count : 1;
  }
  return *words > 0;
}

/* The most cores of `to` that get the same. */
static uint32_t find_members(struct broadcast *b, const struct command_list *to,
                             const bool kept[TILES]) {
  uint32_t most = 0;
  bool seen[TILES] = {false}, used[TILES] = {false};
  for (int i = 0; i < to->count; i++)
    used[tile_of(&to->item[i])] = true;
  for (uint32_t tile = 0; tile < TILES; tile++) {
    struct broadcast x = {.first = tile};
    uint32_t words;
    if (!used[tile] || seen[tile] || kept[tile] || !is_core(tile) ||
        !is_sendable(to, tile, &words))
      continue;
    for (uint32_t other = tile; other < TILES; other++)
      if (used[other] && !seen[other] && !kept[other] && is_core(other) &&
          alike(to, tile, other)) {
        int column = (int)(other >> 5), row = (int)(other & 31) - CORE_ROW;
        x.columns = x.columns > column ? x.columns : column + 1;
        x.rows = x.rows > row ? x.rows : row + 1;
        x.member[other] = seen[other] = true;
        x.count++;
      }
    if (x.count > b->count) {
      *b = x;
      most = words;
    }
  }
  return most;
}

static uint32_t master_of(int column, int row, enum port port, int channel) {
  enum tile_kind kind = tile_kind(row);
  int i = port_master(kind, port, channel);
  assert(i >= 0 && kind != TILE_SHIM);
  return tile_address(column, row,
                      (kind == TILE_MEM ? REG_MEM_MASTER : REG_CORE_MASTER) +
                          4 * (uint32_t)i);
}

static bool routes(const struct command_list *l, uint32_t address) {
  for (int i = 0; i < l->count; i++)
    if (l->item[i].kind == COMMAND_WRITE && l->item[i].address == address)
      return true;
  return false;
}

/* Whether no list uses the lane; from the mem tile up all columns, or along the
 * first row of cores. */
static bool is_free(const struct broadcast *b, enum port port, int lane,
                    const struct command_list *const list[], int count) {
  for (int i = 0; i < count; i++) {
    if (port == PORT_NORTH &&
        routes(list[i], master_of(0, MEM_ROW, PORT_NORTH, lane)))
      return false;
    for (int column = 0; column < b->columns; column++)
      for (int row = CORE_ROW; row < CORE_ROW + b->rows; row++)
        if ((port == PORT_NORTH || row == CORE_ROW) &&
            routes(list[i], master_of(column, row, port, lane)))
          return false;
  }
  return true;
}

static int find_lane(const struct broadcast *b, enum port port,
                     const struct command_list *const from[], int count,
                     const struct command_list *to) {
  int lane = 0;
  while (port_master(TILE_CORE, port, lane) >= 0)
    lane++;
  while (lane-- > 0)
    if (is_free(b, port, lane, from, count) && is_free(b, port, lane, &to, 1))
      break;
  return lane;
}

/* ---- packets ---- */

/* Of equal length, in the order in which they go. */
struct parts {
  uint32_t data, count; /* words of each behind its header; packets */
  uint32_t *words;
};

static uint32_t header(uint32_t address, uint32_t data) {
  uint32_t x = address | (data - 1) << 20, ones = x;
  for (int shift = 16; shift; shift >>= 1)
    ones ^= ones >> shift;
  return ones & 1 ? x : x | on;
}

/* Descriptors of a chain that sends so many. */
static uint32_t chain_length(uint32_t count) {
  return (count + MOST_ITERATIONS - 1) / MOST_ITERATIONS;
}

static void add(struct parts *p, uint32_t address, const uint32_t *data) {
  uint32_t *to = p->words + p->count++ * (p->data + 1);
  *to = header(address, p->data);
  memcpy(to + 1, data, 4 * (size_t)p->data);
}

/* In what order a tile's words go. */
enum part { REGISTERS_BEFORE, MEMORIES, REGISTERS_BEHIND, PARTS };

/* A part's commands, one after the other. */
struct reader {
  const struct command_list *list;
  uint32_t tile;
  enum part part;
  int next;
  bool seen; /* a memory */
};

static const struct command *next_in(struct reader *r) {
  const struct command *c;
  while ((c = next_sent(r->list, &r->next, r->tile))) {
    r->seen |= is_memory(c);
    if (r->part == (is_memory(c) ? MEMORIES
                    : r->seen    ? REGISTERS_BEHIND
                                 : REGISTERS_BEFORE))
      break;
  }
  return c;
}

static uint32_t count_packets(const struct command_list *l, uint32_t tile,
                              enum part part) {
  struct reader r = {.list = l, .tile = tile, .part = part};
  const struct command *c;
  uint32_t count = 0;
  while ((c = next_in(&r)))
    count += part == MEMORIES           ? (c->count + MOST_DATA - 1) / MOST_DATA
             : c->kind == COMMAND_BLOCK ? c->count
                                        : 1;
  return count;
}

/* Whether a master of the first mem tile follows the channel. */
static bool is_followed(const struct command_list *l, int channel) {
  uint32_t slave = (uint32_t)port_slave(TILE_MEM, PORT_DMA, channel),
           first = tile_address(0, MEM_ROW, REG_MEM_MASTER);
  for (int i = 0; i < l->count; i++)
    if (l->item[i].kind == COMMAND_WRITE &&
        l->item[i].address - first < 4 * REG_MEM_MASTER_COUNT &&
        l->item[i].value == (on | slave))
      return true;
  return false;
}

static int find_channel(const struct command_list *const from[], int count,
                        const struct command_list *to) {
  int channel = REG_MEM_MM2S_CTRL_COUNT;
  for (bool used = true; used && channel-- > 0;) {
    used = is_followed(to, channel);
    for (int i = 0; i < count; i++)
      used |= is_followed(from[i], channel);
  }
  return channel;
}

static bool fits_channel(const struct command_list *l, uint32_t tile) {
  uint32_t used = 0;
  for (int part = 0; part < PARTS; part++)
    used += chain_length(count_packets(l, tile, (enum part)part));
  return used <= CHANNEL_DESCRIPTORS;
}

void broadcast_find(struct broadcast *b,
                    const struct command_list *const from[], int count,
                    const struct command_list *to, const bool kept[TILES]) {
  enum { WORTH = 1000 }; /* words: what routes and descriptors cost */
  *b = (struct broadcast){.count = 0};
  uint32_t words = find_members(b, to, kept);
  if (b->count < 2 || (uint32_t)(b->count - 1) * words < WORTH) {
    b->count = 0;
    return;
  }
  b->north = find_lane(b, PORT_NORTH, from, count, to);
  b->east = b->columns > 1 ? find_lane(b, PORT_EAST, from, count, to) : 0;
  b->channel = find_channel(from, count, to);
  if (b->north < 0 || b->east < 0 || b->channel < 0 ||
      !fits_channel(to, b->first))
    b->count = 0;
}

/* A block whose end is no whole packet repeats some words before it. */
static void add_block(struct parts *p, const struct command *c) {
  assert(c->count >= p->data);
  for (uint32_t i = 0; i < c->count; i += p->data) {
    uint32_t at = i + p->data <= c->count ? i : c->count - p->data;
    add(p, offset_of(c) + 4 * at, c->words + at);
  }
}

/* A part's packets.  Padded at the front, where a write may be repeated: with a
 * copy of the first packet. */
static struct parts collect(struct arena *a, const struct command_list *l,
                            uint32_t tile, enum part part) {
  struct parts p = {.data = part == MEMORIES ? MOST_DATA : 1};
  uint32_t count = count_packets(l, tile, part),
           chain = count ? chain_length(count) : 1,
           pad = (chain - count % chain) % chain;
  p.words = arena_array(a, count + pad + 1, 4 * (size_t)(p.data + 1));
  p.count = pad;
  struct reader r = {.list = l, .tile = tile, .part = part};
  const struct command *c;
  while ((c = next_in(&r)))
    if (c->kind == COMMAND_BLOCK)
      add_block(&p, c);
    else
      add(&p, offset_of(c), &c->value);
  assert(p.count == count + pad);
  for (uint32_t i = 0; i < pad; i++)
    memcpy(p.words + i * (p.data + 1), p.words + pad * (p.data + 1),
           4 * (size_t)(p.data + 1));
  return p;
}

/* A chain of descriptors from *bd on, for packets that lie from the word on. */
static void put_chain(const struct parts *p, uint32_t at, uint32_t first_bd,
                      uint32_t *bd, uint32_t words[][8]) {
  uint32_t chain = chain_length(p->count), length = p->data + 1;
  for (uint32_t i = 0; i < chain; i++, ++*bd) {
    const struct bd x = {.base = 4 * (uint64_t)(at + i * length),
                         .length_words = length,
                         .dim = {{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                         .iteration_step_words = chain * length,
                         .iteration_count = p->count / chain,
                         .acquire_lock = -1,
                         .release_lock = -1,
                         .next =
                             i + 1 < chain ? (int)(first_bd + *bd) + 1 : -1};
    struct diag d = {0};
    int count = bd_pack(TILE_MEM, &x, words[*bd], &d);
    assert(count == 8);
    (void)count;
  }
}

/* Enables the slave and lets the master follow it. */
static void connect(struct command_list *l, int column, int row, enum port from,
                    int lane, enum port to, int to_lane) {
  enum tile_kind kind = tile_kind(row);
  int slave = port_slave(kind, from, lane);
  assert(slave >= 0 && port_connects(kind, from, lane, to, to_lane));
  command_write(l, master_of(column, row, to, to_lane), on | (uint32_t)slave);
}

static void enable(struct command_list *l, int column, int row, enum port from,
                   int lane) {
  enum tile_kind kind = tile_kind(row);
  uint32_t slaves = kind == TILE_MEM ? REG_MEM_SLAVE : REG_CORE_SLAVE;
  command_write(
      l,
      tile_address(column, row,
                   slaves + 4 * (uint32_t)port_slave(kind, from, lane)),
      on);
}

/* The masters of the way that the tile has; set, or cut. */
static void set_tile(const struct broadcast *b, int column, int row, bool set,
                     struct command_list *l) {
  bool first = row == CORE_ROW, in = first && column;
  enum port from = in ? PORT_WEST : PORT_SOUTH;
  int lane = in ? b->east : b->north;
  const struct {
    bool has;
    enum port port;
    int lane;
  } to[] = {{b->member[column << 5 | row], PORT_CONTROL, 0},
            {first && column + 1 < b->columns, PORT_EAST, b->east},
            {row + 1 < CORE_ROW + b->rows, PORT_NORTH, b->north}};
  if (set)
    enable(l, column, row, from, lane);
  for (size_t i = 0; i < sizeof to / sizeof *to; i++)
    if (to[i].has && set)
      connect(l, column, row, from, lane, to[i].port, to[i].lane);
    else if (to[i].has)
      command_write(l, master_of(column, row, to[i].port, to[i].lane), 0);
}

/* The far end is cut first: what comes last has passed it by then. */
static void set_way(const struct broadcast *b, bool set,
                    struct command_list *l) {
  for (int column = b->columns; column-- > 0;)
    for (int row = CORE_ROW + b->rows; row-- > CORE_ROW;)
      set_tile(b, column, row, set, l);
  if (set) {
    enable(l, 0, MEM_ROW, PORT_DMA, b->channel);
    connect(l, 0, MEM_ROW, PORT_DMA, b->channel, PORT_NORTH, b->north);
  } else {
    command_write(l, master_of(0, MEM_ROW, PORT_NORTH, b->north), 0);
  }
}

void broadcast_write(const struct broadcast *b, const struct command_list *to,
                     struct command_list *l) {
  struct arena *a = l->arena;
  struct parts part[PARTS];
  for (int i = 0; i < PARTS; i++)
    part[i] = collect(a, to, b->first, (enum part)i);
  uint32_t bd[CHANNEL_DESCRIPTORS][8], at = 0, used = 0, first[PARTS];
  uint32_t total = 0, channel = (uint32_t)b->channel,
           descriptors = channel & 1 ? CHANNEL_DESCRIPTORS : 0;
  for (int i = 0; i < PARTS; i++)
    total += part[i].count * (part[i].data + 1);
  uint32_t *words = arena_array(a, total + 1, sizeof *words);
  for (int i = 0; i < PARTS; i++) {
    uint32_t length = part[i].count * (part[i].data + 1);
    memcpy(words + at, part[i].words, 4 * (size_t)length);
    first[i] = used;
    assert(used + chain_length(part[i].count) <= CHANNEL_DESCRIPTORS);
    put_chain(&part[i], at, descriptors, &used, bd);
    at += length;
  }
  set_way(b, true, l);
  command_block(l, tile_address(0, MEM_ROW, REG_MEM_MEMORY), words, total);
  command_block(
      l, tile_address(0, MEM_ROW, REG_MEM_BD + descriptors * REG_MEM_BD_STRIDE),
      bd[0], 8 * used);
  for (int i = 0; i < PARTS; i++)
    if (part[i].count)
      command_write(l,
                    tile_address(0, MEM_ROW,
                                 REG_MEM_MM2S_QUEUE +
                                     channel * REG_MEM_MM2S_QUEUE_STRIDE),
                    (part[i].count / chain_length(part[i].count) - 1) << 16 |
                        (descriptors + first[i]));
  command_mask_poll(
      l,
      tile_address(0, MEM_ROW,
                   REG_MEM_MM2S_STATUS + channel * REG_MEM_MM2S_STATUS_STRIDE),
      CHANNEL_BUSY | CHANNEL_FAILED, 0, 0);
  set_way(b, false, l);
}
