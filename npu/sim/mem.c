/* Memories: which bytes a DMA address means, and host memory behind the shim
 * with its bandwidth.
 *
 * A buffer argument i lies at an artificial device address, in the middle of
 * its own terabyte, so that running out of it on either side is noticed and
 * named.
 */
#include "tile.h"

enum { WINDOW = 0x80000 }; /* mem tile: west, own, east */

bool memory_resolve(struct channel *c, int64_t address, uint32_t words,
                    struct tile **tile, uint32_t *offset) {
  struct tile *t = c->tile;
  int64_t byte = address * 4, end = byte + (int64_t)words * 4;
  char name[48];
  int64_t limit = t->kind == TILE_MEM ? 3 * WINDOW : 0x10000;
  if (byte < 0 || end > limit)
    return sim_fail(t->sim,
                    "%s BD %d reaches byte 0x%llx; a %s tile's DMA sees "
                    "0x%llx bytes",
                    channel_name(c, name), c->bd, (long long)byte,
                    t->kind == TILE_MEM ? "mem" : "core", (long long)limit);
  if (t->kind == TILE_MEM) {
    int side = (int)(byte / WINDOW) - 1;
    if (side && c->index > 3)
      return sim_fail(t->sim,
                      "%s BD %d reaches a neighbour's memory (byte 0x%llx); "
                      "only channels 0 to 3 can",
                      channel_name(c, name), c->bd, (long long)byte);
    *tile = tile_at(t->sim, t->column + side, t->row);
    if (!*tile)
      return sim_fail(t->sim,
                      "%s BD %d reaches byte 0x%llx in the %s neighbour, "
                      "which the partition does not have",
                      channel_name(c, name), c->bd, (long long)byte,
                      side < 0 ? "west" : "east");
    *offset = (uint32_t)(byte % WINDOW);
  } else {
    *tile = t;
    *offset = (uint32_t)byte;
  }
  return true;
}

/* ---- host memory ---- */

enum { ARGUMENT_SHIFT = 40 };
#define ARGUMENT_MIDDLE (1ull << 39)

uint64_t host_address(int argument, uint64_t offset) {
  return ((uint64_t)(argument + 1) << ARGUMENT_SHIFT) + ARGUMENT_MIDDLE +
         offset;
}

int host_argument(int64_t word_address) {
  return (int)((uint64_t)word_address * 4 >> ARGUMENT_SHIFT & 0xFF) - 1;
}

uint8_t *host_resolve(struct channel *c, int64_t address, uint32_t words) {
  struct sim *s = c->tile->sim;
  uint64_t byte = (uint64_t)address * 4;
  int argument = host_argument(address);
  char name[48];
  if (argument < 0 || argument >= s->argument_count) {
    sim_fail(s,
             "column %d %s BD %d %s device address 0x%llx, which is in no "
             "argument of this run (BD not patched?)",
             c->tile->column, channel_name(c, name), c->bd,
             c->mm2s ? "reads" : "writes", (unsigned long long)byte);
    return NULL;
  }
  int64_t offset = (int64_t)(byte - host_address(argument, 0));
  const struct sim_buffer *b = &s->argument[argument];
  if (offset < 0 || (uint64_t)offset + (uint64_t)words * 4 > b->bytes) {
    sim_fail(s,
             "column %d %s BD %d %s argument %d at byte %lld; the buffer has "
             "%zu bytes",
             c->tile->column, channel_name(c, name), c->bd,
             c->mm2s ? "reads" : "writes", argument, (long long)offset,
             b->bytes);
    return NULL;
  }
  return (uint8_t *)b->data + offset;
}

enum { DRAM_UNIT = CYCLE_PARTS };

/* Of a word, where so many bytes pass in a second; 0: at no cost. */
static int64_t word_cost(const struct sim *s, double bytes_per_second) {
  if (bytes_per_second == 0)
    return 0;
  double cycles = 4 * s->preset->clock_ghz * 1e9 / bytes_per_second;
  return (int64_t)(cycles * DRAM_UNIT + 0.5);
}

int64_t host_word_cost(const struct sim *s, uint64_t run_bytes) {
  return word_cost(s, preset_dram(s->preset, run_bytes));
}

double host_cycles(int64_t dram_cost) { return (double)dram_cost / DRAM_UNIT; }

/* A channel reads what its stream moves, unless the platform allows less;
 * what it writes has come over one. */
void host_open(struct sim *s) {
  const struct preset *p = s->preset;
  uint64_t stream = CYCLE_PARTS / s->stream_words;
  for (int mm2s = 0; mm2s < 2; mm2s++) {
    double channel = mm2s ? p->most_read.channel : p->most_written.channel,
           column = mm2s ? p->most_read.column : p->most_written.column,
           all = mm2s ? p->most_read.all : p->most_written.all;
    uint64_t cost = (uint64_t)word_cost(s, channel);
    s->word_cost[mm2s] = mm2s && cost < stream ? stream : cost;
    s->direction[mm2s].cost = word_cost(s, all);
    for (int c = 0; c < s->columns; c++)
      tile_at(s, c, SHIM_ROW)->budget[mm2s].cost = word_cost(s, column);
  }
}

static bool has_credit(const struct sim *s, struct budget *b) {
  int64_t most = (int64_t)DRAM_BURST_CYCLES * DRAM_UNIT;
  uint64_t passed = s->now - b->cycle;
  b->cycle = s->now;
  if (passed > (1ull << 32)) /* longer than any debt */
    b->credit = most;
  else
    b->credit += (int64_t)passed * DRAM_UNIT;
  if (b->credit > most)
    b->credit = most;
  return b->credit > 0;
}

/* The channel's place among those that were refused, or how many they are. */
static int place_in_queue(const struct sim *s, const struct channel *c) {
  int i = 0;
  while (i < s->dram_waiting && s->dram_queue[i] != c)
    i++;
  return i;
}

void host_forget(struct channel *c) {
  struct sim *s = c->tile->sim;
  int i = place_in_queue(s, c);
  if (i == s->dram_waiting)
    return;
  for (s->dram_waiting--; i < s->dram_waiting; i++)
    s->dram_queue[i] = s->dram_queue[i + 1];
}

/* Whether the channel's column and direction allow more. */
static bool may_pass(struct channel *c) {
  struct sim *s = c->tile->sim;
  struct budget *column = &c->tile->budget[c->mm2s],
                *direction = &s->direction[c->mm2s];
  return (!column->cost || has_credit(s, column)) &&
         (!direction->cost || has_credit(s, direction));
}

/* Whether one that was refused before goes first: it waits for DRAM, or for
 * what this one needs, too, and has not had its turn in this cycle. */
static bool is_preceded(const struct channel *c) {
  const struct sim *s = c->tile->sim;
  for (int i = 0; i < s->dram_waiting && s->dram_queue[i] != c; i++) {
    struct channel *o = s->dram_queue[i];
    if (o->refused == s->now)
      continue;
    bool shares = o->mm2s == c->mm2s &&
                  (o->tile == c->tile || s->direction[c->mm2s].cost);
    if (shares || may_pass(o))
      return true;
  }
  return false;
}

/* Channels that were refused are served in the order in which they came; who
 * waits for its own column or direction alone lets others pass. */
bool host_grant(struct channel *c, uint32_t words) {
  struct sim *s = c->tile->sim;
  if (!has_credit(s, &s->dram) || !may_pass(c) || is_preceded(c)) {
    c->refused = s->now;
    if (place_in_queue(s, c) == s->dram_waiting)
      s->dram_queue[s->dram_waiting++] = c;
    return false;
  }
  host_forget(c);
  s->dram.credit -= words * c->dram_cost;
  c->tile->budget[c->mm2s].credit -= words * c->tile->budget[c->mm2s].cost;
  s->direction[c->mm2s].credit -= words * s->direction[c->mm2s].cost;
  return true;
}
