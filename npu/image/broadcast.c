/* broadcast.c -- registers and programs that many tiles get alike, as control
 * packets of one stream.
 *
 * The command processor writes a word in 13 cycles and begins a write in 100
 * (timing.md P1, P2), so a program of 2,000 words in each of 16 cores takes
 * 400,000, and locks and descriptors of a mem tile 8,000.  A tile takes
 * register writes from its switch's TileControl master as well (array.md
 * section 6), and a switch gives a word to as many masters as name its slave.
 * So the words lie once in the first mem tile's memory; a channel sends them
 * (packets.c) on a way that no configuration uses for anything else (way.c),
 * and every tile's handler writes them.
 *
 * Switches are not written so: routes differ, and packets come through them.
 */
#include "change.h"

#include <string.h>

static bool is_switch(const struct command *c) {
  uint32_t at = offset_of(c);
  return kind_of(tile_of(c)) == TILE_CORE
             ? at >= REG_CORE_MASTER && at < REG_CORE_LOCK_REQUEST
             : at >= REG_MEM_MASTER && at < REG_MEM_LOCK;
}

bool broadcast_has(const struct broadcast *b, const struct command *c) {
  return b->count && b->member[tile_of(c)] && !is_switch(c);
}

/* The next of a tile's commands that may be sent, from i on; -1: none. */
static int next_sent(const struct by_tile *t, int i) {
  while (i >= 0 && is_switch(&t->list->item[i]))
    i = t->next[i];
  return i;
}
static int first_sent(const struct by_tile *t, uint32_t tile) {
  return next_sent(t, t->first[tile]);
}

static bool same(const struct command *a, const struct command *b) {
  return a->kind == b->kind && offset_of(a) == offset_of(b) &&
         a->mask == b->mask && a->value == b->value && a->count == b->count &&
         (!a->count || memcmp(a->words, b->words, 4 * (size_t)a->count) == 0);
}

static bool alike(const struct by_tile *t, uint32_t a, uint32_t b) {
  int i = first_sent(t, a), k = first_sent(t, b);
  for (; i >= 0 && k >= 0;
       i = next_sent(t, t->next[i]), k = next_sent(t, t->next[k]))
    if (!same(&t->list->item[i], &t->list->item[k]))
      return false;
  return i == k;
}

/* Whether a stream can write what the tile gets, and how many words that is. */
static bool is_sendable(const struct by_tile *t, uint32_t tile,
                        uint32_t *words) {
  *words = 0;
  for (int i = first_sent(t, tile); i >= 0; i = next_sent(t, t->next[i])) {
    const struct command *c = &t->list->item[i];
    if (!packet_takes(c))
      return false;
    *words += c->kind == COMMAND_BLOCK ? c->count : 1;
  }
  return *words > 0;
}

/* The most tiles of `to` that get the same. */
static uint32_t find_members(struct broadcast *b, enum tile_kind kind,
                             const struct by_tile *to, const bool kept[TILES]) {
  uint32_t most = 0;
  bool seen[TILES] = {false}, free[TILES] = {false};
  for (uint32_t tile = 0; tile < TILES; tile++)
    free[tile] = to->first[tile] >= 0 && !kept[tile] && kind_of(tile) == kind;
  for (uint32_t tile = 0; tile < TILES; tile++) {
    struct broadcast x = {.first = tile};
    uint32_t words;
    if (!free[tile] || seen[tile] || !is_sendable(to, tile, &words))
      continue;
    for (uint32_t other = tile; other < TILES; other++)
      if (free[other] && !seen[other] && alike(to, tile, other)) {
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

/* Channels of a mem tile, which a core's configuration resets by itself; not
 * the one that sends. */
static void add_resets(uint32_t base, int sender, struct command_list *l) {
  for (uint32_t value = 2;; value = 0) {
    for (uint32_t i = 0; i < REG_MEM_S2MM_CTRL_COUNT; i++)
      command_write(l, base + REG_MEM_S2MM_CTRL + i * REG_MEM_S2MM_CTRL_STRIDE,
                    value);
    for (uint32_t i = 0; i < REG_MEM_MM2S_CTRL_COUNT; i++)
      if ((int)i != sender)
        command_write(
            l, base + REG_MEM_MM2S_CTRL + i * REG_MEM_MM2S_CTRL_STRIDE, value);
    if (!value)
      return;
  }
}

static bool make_packets(struct broadcast *b, const struct by_tile *to,
                         int sender, struct arena *a) {
  struct command_list *l = command_list(a);
  if (b->way.kind == TILE_MEM)
    add_resets(b->first << 20, sender, l);
  for (int i = first_sent(to, b->first); i >= 0; i = next_sent(to, to->next[i]))
    command_copy(l, &to->list->item[i]);
  return packets_make(a, l, &b->packets);
}

static void place_descriptors(struct broadcast *b, int used) {
  int half = b->way.channel % 2 * PACKET_DESCRIPTORS;
  b->first_bd = (uint32_t)half;
  if (b->way.kind == TILE_MEM)
    b->first_bd += (uint32_t)(PACKET_DESCRIPTORS - used -
                              packets_descriptors(&b->packets));
}

/* Whether the sender may be a member: then packets must not reset its channel,
 * which is idle in all of them, nor write the descriptors that send them. */
static bool sends_to_itself(const struct broadcast *b,
                            const struct command_list *to,
                            const struct switches *w) {
  uint32_t first = REG_MEM_BD + b->first_bd * REG_MEM_BD_STRIDE,
           end = first +
                 (uint32_t)packets_descriptors(&b->packets) * REG_MEM_BD_STRIDE;
  for (uint32_t tile = 0; tile < TILES; tile++)
    if (b->member[tile] && switch_followed(w, (int)(tile >> 5), MEM_ROW,
                                           PORT_DMA, b->way.channel, 0))
      return false;
  for (int i = 0; i < to->count; i++) {
    const struct command *c = &to->item[i];
    if (tile_of(c) == tile_at(0, MEM_ROW) && offset_of(c) < end &&
        offset_of(c) + 4 * (c->count ? c->count : 1) > first)
      return false;
  }
  return true;
}

static void leave_sender(struct broadcast *b) {
  b->member[tile_at(0, MEM_ROW)] = false;
  b->count--;
  for (uint32_t tile = TILES; tile-- > 0;)
    if (b->member[tile])
      b->first = tile;
}

void broadcast_find(struct broadcast *b, enum tile_kind kind,
                    const struct by_tile *to, const bool kept[TILES],
                    const struct switches *w, int used) {
  enum { WORTH = 1000 }; /* words: what a way and descriptors cost */
  struct arena *a = w->out->arena;
  *b = (struct broadcast){.count = 0};
  uint32_t words = find_members(b, kind, to, kept);
  b->way = (struct way){.kind = kind, .member = b->member};
  bool good = kind == TILE_MEM
                  ? b->count > 0
                  : b->count > 1 && (uint32_t)(b->count - 1) * words >= WORTH;
  good = good && way_find(&b->way, w) && make_packets(b, to, b->way.channel, a);
  if (good)
    place_descriptors(b, used);
  if (good && b->member[tile_at(0, MEM_ROW)] &&
      !sends_to_itself(b, to->list, w)) {
    leave_sender(b);
    good = b->count > 0 && way_find(&b->way, w);
  }
  if (good && !b->member[tile_at(0, MEM_ROW)])
    good = make_packets(b, to, -1, a);
  if (good)
    place_descriptors(b, used);
  else
    b->count = 0;
}
