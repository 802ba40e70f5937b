/* switch.c -- what stream switches hold while the array's configuration is
 * changed.
 *
 * Every word of a switch that some configuration names is known, unless those
 * that the array may hold disagree about it.  What is known is not written
 * again.  A word may be lent to a way of packets; when these have arrived it
 * becomes what the new configuration says, or a master that it does not name is
 * cut.
 */
#include "change.h"

/* Where the masters of a kind of tile lie, slaves 0x100 behind them. */
static uint32_t masters_of(enum tile_kind kind, uint32_t *count) {
  switch (kind) {
  case TILE_SHIM:
    *count = REG_SHIM_MASTER_COUNT;
    return REG_SHIM_MASTER;
  case TILE_MEM:
    *count = REG_MEM_MASTER_COUNT;
    return REG_MEM_MASTER;
  case TILE_CORE:
    *count = REG_CORE_MASTER_COUNT;
    return REG_CORE_MASTER;
  case TILE_KINDS:
    break;
  }
  *count = 0;
  return 0;
}

static struct switch_word *word_of(const struct switches *w, uint32_t tile,
                                   uint32_t index) {
  struct switch_word **part = &w->part[tile][index / SWITCH_PART_WORDS];
  if (!*part)
    *part = arena_array(w->out->arena, SWITCH_PART_WORDS, sizeof **part);
  return &(*part)[index % SWITCH_PART_WORDS];
}

struct switch_word *switch_find(const struct switches *w, uint32_t address,
                                bool *master) {
  uint32_t offset = address & 0xFFFFF, masters,
           first = masters_of(kind_of(address >> 20), &masters),
           index = (offset - first) / 4;
  if (!masters || offset < first || index >= SWITCH_WORDS)
    return NULL;
  *master = index < masters;
  return word_of(w, address >> 20, index);
}

static void add_value(struct switch_word *x, uint32_t value) {
  for (int i = 0; i < x->may_count && i < SWITCH_VALUES; i++)
    if (x->may[i] == value)
      return;
  if (x->may_count < SWITCH_VALUES)
    x->may[x->may_count] = value;
  x->may_count += x->may_count <= SWITCH_VALUES;
}

static void read_list(const struct switches *w, int list,
                      const struct command_list *l) {
  bool master;
  for (int i = 0; i < l->count; i++) {
    const struct command *c = &l->item[i];
    struct switch_word *x =
        c->kind == COMMAND_WRITE ? switch_find(w, c->address, &master) : NULL;
    if (x)
      add_value(x, c->value);
    if (x && list == w->lists) {
      x->wanted = true;
      x->target = c->value;
    } else if (x && x->lists >= list && (list == 0 || x->value == c->value)) {
      x->lists = list + 1;
      x->value = c->value;
    } else if (x)
      x->mixed = true;
  }
}

struct switches switches_read(const struct command_list *const from[],
                              int count, const struct command_list *to,
                              struct command_list *out) {
  struct switches w = {count, arena_array(out->arena, TILES, sizeof *w.part),
                       out};
  for (int i = 0; i <= count; i++)
    read_list(&w, i, i < count ? from[i] : to);
  return w;
}

/* Masters that no configuration names are cut; of slaves nobody knows. */
static bool is_known(const struct switches *w, const struct switch_word *x,
                     bool master) {
  return !x->mixed && (x->lists == w->lists || (master && !x->lists));
}

static bool is_named(const struct switch_word *x) {
  return x->lists || x->mixed || x->wanted;
}

bool switch_named(const struct switches *w, uint32_t address) {
  bool master;
  const struct switch_word *x = switch_find(w, address, &master);
  assert(x);
  return is_named(x);
}

void switch_write(const struct switches *w, uint32_t address, uint32_t value) {
  bool master;
  struct switch_word *x = switch_find(w, address, &master);
  if (x && is_known(w, x, master) && x->value == value)
    return;
  if (x) {
    x->mixed = false;
    x->lists = w->lists;
    x->value = value;
  }
  command_write(w->out, address, value);
}

uint32_t switch_master(int column, int row, enum port port, int channel) {
  uint32_t count, at = masters_of(tile_kind(row), &count);
  int i = port_master(tile_kind(row), port, channel);
  assert(i >= 0);
  return tile_address(column, row, at + 4 * (uint32_t)i);
}

uint32_t switch_slave(int column, int row, enum port port, int channel) {
  uint32_t count, at = masters_of(tile_kind(row), &count);
  int i = port_slave(tile_kind(row), port, channel);
  assert(i >= 0);
  return tile_address(column, row, at + 4 * (SWITCH_SLAVES + (uint32_t)i));
}

bool switch_free(const struct switches *w, uint32_t address, uint32_t value) {
  bool master;
  const struct switch_word *x = switch_find(w, address, &master);
  assert(x && master);
  return !x->may_count || (x->may_count == 1 && x->may[0] == value);
}

static bool may_be(const struct switch_word *x, uint32_t value) {
  for (int i = 0; i < x->may_count && i < SWITCH_VALUES; i++)
    if (x->may[i] == value)
      return true;
  return x->may_count > SWITCH_VALUES;
}

bool switch_may(const struct switches *w, uint32_t address, uint32_t value) {
  bool master;
  return may_be(switch_find(w, address, &master), value);
}

bool switch_followed(const struct switches *w, int column, int row,
                     enum port from, int channel, uint32_t but) {
  uint32_t masters,
      first = masters_of(tile_kind(row), &masters),
      value = switch_on | (uint32_t)port_slave(tile_kind(row), from, channel);
  for (uint32_t i = 0; i < masters; i++)
    if (tile_address(column, row, first + 4 * i) != but &&
        may_be(word_of(w, tile_at(column, row), i), value))
      return true;
  return false;
}

static void lend(const struct switches *w, uint32_t address, uint32_t value) {
  bool master;
  struct switch_word *x = switch_find(w, address, &master);
  x->lent = true;
  add_value(x, value);
  switch_write(w, address, value);
}

void switch_lend(const struct switches *w, int column, int row, enum port from,
                 int from_channel, enum port to, int to_channel) {
  enum tile_kind kind = tile_kind(row);
  assert(port_connects(kind, from, from_channel, to, to_channel));
  lend(w, switch_slave(column, row, from, from_channel), switch_on);
  lend(w, switch_master(column, row, to, to_channel),
       switch_on | (uint32_t)port_slave(kind, from, from_channel));
}

void switch_cut(const struct switches *w, uint32_t master) {
  lend(w, master, 0);
}

/* The far end is cut first: what comes last has passed it by then. */
void switch_restore(const struct switches *w) {
  for (uint32_t tile = TILES; tile-- > 0;) {
    uint32_t masters, first = masters_of(kind_of(tile), &masters);
    for (uint32_t i = masters; w->part[tile][0] && i-- > 0;) {
      struct switch_word *x = word_of(w, tile, i);
      if (x->lent)
        switch_write(w, tile << 20 | (first + 4 * i),
                     x->wanted ? x->target : 0);
      x->lent = false;
    }
  }
}
