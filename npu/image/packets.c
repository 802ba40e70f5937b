/* packets.c -- register writes as control packets that a mem tile sends.
 *
 * A packet has a header, with an address in the tile, and one to four words.
 * Words of a block go four by four, and where their number is no multiple of
 * four some before the end are there twice, which writes them twice; all else
 * goes word by word, in order.
 *
 * A control packet is a transfer with an end of its own: a descriptor's length
 * is one packet, its iterations are the next ones.  A chain of n descriptors
 * whose iterations step over n packets sends more than the 64 that one counts,
 * in their order.  So packets of equal length that follow each other are a
 * group, which one task sends; it begins with copies of its first packet where
 * its number is no multiple of n.
 *
 * What control packets cannot do is write under a mask.  The control registers
 * of a core and its channels have nothing but enable and reset bits set in our
 * configurations; another bit, and there are no packets.
 */
#include "change.h"

#include <string.h>

enum {
  MOST_DATA = 4, /* words behind a header */
  MOST_ITERATIONS = 64,
};

/* Control of the core or of one of its channels: enable and reset are all. */
static bool is_control(const struct command *c) {
  uint32_t at = offset_of(c);
  return kind_of(tile_of(c)) == TILE_CORE &&
         (at == REG_CORE_CONTROL || at == REG_CORE_S2MM_CTRL ||
          at == REG_CORE_S2MM_CTRL + REG_CORE_S2MM_CTRL_STRIDE ||
          at == REG_CORE_MM2S_CTRL ||
          at == REG_CORE_MM2S_CTRL + REG_CORE_MM2S_CTRL_STRIDE);
}

bool packet_takes(const struct command *c) {
  return c->kind == COMMAND_WRITE ||
         (c->kind == COMMAND_BLOCK && c->count >= MOST_DATA) ||
         (c->kind == COMMAND_MASK_WRITE && is_control(c) && c->mask < 4);
}

static uint32_t header(uint32_t address, uint32_t data) {
  uint32_t x = address | (data - 1) << 20, ones = x;
  for (int shift = 16; shift; shift >>= 1)
    ones ^= ones >> shift;
  return ones & 1 ? x : x | switch_on;
}

static uint32_t data_of(const struct command *c) {
  return c->kind == COMMAND_BLOCK ? MOST_DATA : 1;
}

static uint32_t count_of(const struct command *c) {
  return c->kind == COMMAND_BLOCK ? (c->count + MOST_DATA - 1) / MOST_DATA : 1;
}

/* Descriptors of a chain that sends so many. */
static uint32_t chain_length(uint32_t count) {
  return (count + MOST_ITERATIONS - 1) / MOST_ITERATIONS;
}

static uint32_t padding_of(const struct packet_group *g) {
  uint32_t chain = chain_length(g->count);
  return (chain - g->count % chain) % chain;
}

/* Groups without the copies at their beginning. */
static bool count_groups(const struct command_list *l, struct packets *p) {
  *p = (struct packets){.groups = 0};
  for (int i = 0; i < l->count; i++) {
    const struct command *c = &l->item[i];
    if (!p->groups || p->group[p->groups - 1].data != data_of(c)) {
      if (p->groups == PACKET_GROUPS)
        return false;
      p->group[p->groups++] = (struct packet_group){data_of(c), 0};
    }
    p->group[p->groups - 1].count += count_of(c);
  }
  return p->groups > 0;
}

/* A task would be there twice. */
static bool is_queue(const struct command *c) {
  uint32_t at = offset_of(c);
  return kind_of(tile_of(c)) == TILE_CORE
             ? at >= REG_CORE_S2MM_CTRL && at < REG_CORE_S2MM_STATUS
             : at >= REG_MEM_S2MM_CTRL && at < REG_MEM_S2MM_STATUS;
}

static uint32_t *put(uint32_t *to, uint32_t address, const uint32_t *data,
                     uint32_t count) {
  *to++ = header(address, count);
  memcpy(to, data, 4 * (size_t)count);
  return to + count;
}

static uint32_t *put_command(uint32_t *to, const struct command *c) {
  if (c->kind != COMMAND_BLOCK)
    return put(to, offset_of(c), &c->value, 1);
  for (uint32_t i = 0; i < c->count; i += MOST_DATA) {
    uint32_t at = i + MOST_DATA <= c->count ? i : c->count - MOST_DATA;
    to = put(to, offset_of(c) + 4 * at, c->words + at, MOST_DATA);
  }
  return to;
}

bool packets_make(struct arena *a, const struct command_list *l,
                  struct packets *p) {
  if (!count_groups(l, p))
    return false;
  for (int i = 0; i < p->groups; i++)
    p->count +=
        (p->group[i].count + padding_of(&p->group[i])) * (p->group[i].data + 1);
  p->words = arena_array(a, p->count, sizeof *p->words);
  uint32_t *to = p->words;
  const struct command *c = l->item;
  for (int i = 0; i < p->groups; i++) {
    struct packet_group *g = &p->group[i];
    uint32_t pad = padding_of(g), length = g->data + 1,
             *first = to + pad * length, *at = first;
    if (pad && is_queue(c))
      return false;
    for (; c < l->item + l->count && data_of(c) == g->data; c++)
      at = put_command(at, c);
    for (uint32_t k = 0; k < pad; k++)
      memcpy(to + k * length, first, 4 * (size_t)length);
    g->count += pad;
    to = at;
  }
  assert(to == p->words + p->count);
  return true;
}

int packets_descriptors(const struct packets *p) {
  uint32_t count = 0;
  for (int i = 0; i < p->groups; i++)
    count += chain_length(p->group[i].count);
  return (int)count;
}

void packets_chain(const struct packets *p, uint32_t at, uint32_t bd,
                   uint32_t words[][8], uint32_t task[]) {
  for (int i = 0; i < p->groups; i++) {
    const struct packet_group *g = &p->group[i];
    uint32_t chain = chain_length(g->count), length = g->data + 1;
    task[i] = (g->count / chain - 1) << 16 | bd;
    for (uint32_t k = 0; k < chain; k++) {
      const struct bd x = {.base = 4 * (uint64_t)(at + k * length),
                           .length_words = length,
                           .dim = {{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                           .iteration_step_words = chain * length,
                           .iteration_count = g->count / chain,
                           .acquire_lock = -1,
                           .release_lock = -1,
                           .next = k + 1 < chain ? (int)(bd + k) + 1 : -1};
      struct diag d = {0};
      int count = bd_pack(TILE_MEM, &x, *words++, &d);
      assert(count == 8);
      (void)count;
    }
    bd += chain;
    at += g->count * length;
  }
}
