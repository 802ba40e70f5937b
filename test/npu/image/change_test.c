/* change_test.c -- random configurations of alike tiles, changed from one to
 * the other: what the packets write is what the new one says, in its order,
 * tasks once; and nothing is written that is there. */
#include "check.h"
#include "image.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, ROWS = 2, WORDS = 1 << 18 };

static uint32_t state = 1;
static uint32_t pick(uint32_t count) {
  state = state * 1664525 + 1013904223;
  return (state >> 8) % count;
}

static void block(struct command_list *l, uint32_t address, uint32_t count) {
  uint32_t *words = arena_array(l->arena, count, sizeof *words);
  for (uint32_t i = 0; i < count; i++)
    words[i] = pick(1u << 24);
  command_block(l, address, words, count);
}

/* Registers of a core or of a mem tile, the same for every seed. */
static void add_tile(struct command_list *l, int column, int row,
                     uint32_t seed) {
  bool core = row >= CORE_ROW;
  uint32_t base = tile_address(column, row, 0), locks,
           queue = core ? REG_CORE_S2MM_QUEUE : REG_MEM_S2MM_QUEUE;
  state = seed + core;
  locks = 1 + pick(6);
  if (core) {
    command_mask_write(l, base + REG_CORE_CONTROL, 1, 0);
    block(l, base + REG_CORE_PROGRAM, 200 + pick(700));
    if (pick(2))
      block(l, base + REG_CORE_MEMORY + 64, 4 + pick(9));
  }
  for (uint32_t i = 0; i < locks; i++)
    command_write(l, base + (core ? REG_CORE_LOCK : REG_MEM_LOCK) + 16 * i,
                  pick(64));
  for (uint32_t i = 0; i < locks; i++)
    block(l, base + (core ? REG_CORE_BD : REG_MEM_BD) + 32 * i, core ? 6 : 8);
  command_write(l, base + queue, pick(16));
  if (core)
    command_mask_write(l, base + REG_CORE_CONTROL, 1, 1);
}

static struct command_list *configuration(struct arena *a, uint32_t seed,
                                          bool brings) {
  struct command_list *l = command_list(a);
  for (int column = 0; column < COLUMNS; column++) {
    for (int row = 0; row < ROWS; row++)
      add_tile(l, column, CORE_ROW + row, seed);
    add_tile(l, column, MEM_ROW, seed);
  }
  if (brings)
    command_mask_write(l, tile_address(0, SHIM_ROW, REG_SHIM_MUX), 0xCC00,
                       0x4400);
  way_keep(COLUMNS, ROWS, l);
  return l;
}

/* What a tile's registers are, and how many tasks were pushed. */
struct tile {
  uint32_t word[WORDS];
  bool set[WORDS];
  int tasks;
};

static void put(struct tile *t, bool core, uint32_t offset, uint32_t value) {
  uint32_t at = offset / 4;
  CHECK(at < WORDS);
  t->word[at] = value;
  t->set[at] = true;
  t->tasks +=
      offset == (uint32_t)(core ? REG_CORE_S2MM_QUEUE : REG_MEM_S2MM_QUEUE);
}

static void apply(struct tile *t, const struct command_list *l, uint32_t tile) {
  bool core = (tile & 31) >= CORE_ROW;
  for (int i = 0; i < l->count; i++) {
    const struct command *c = &l->item[i];
    uint32_t offset = c->address & 0xFFFFF;
    bool is_switch = core ? offset >= REG_CORE_MASTER
                          : offset >= REG_MEM_MASTER && offset < REG_MEM_LOCK;
    if (c->kind == COMMAND_MASK_POLL || c->kind == COMMAND_DDR_PATCH ||
        c->address >> 20 != tile || is_switch)
      continue;
    for (uint32_t k = 0; k < (c->count ? c->count : 1); k++)
      put(t, core, offset + 4 * k, c->count ? c->words[k] : c->value);
  }
}

/* Those for cores come first: the others' first is a reset of a channel. */
static const uint32_t *packets(struct tile *t, bool core, const uint32_t *at,
                               const uint32_t *end) {
  while (at < end) {
    uint32_t offset = *at & 0xFFFFF, count = (*at >> 20 & 3) + 1;
    if (core && offset == REG_MEM_S2MM_CTRL)
      break;
    CHECK(__builtin_popcount(*at) % 2 == 1 && (*at >> 22 & 3) == 0);
    CHECK(at + 1 + count <= end);
    for (uint32_t i = 0; i < count; i++)
      put(t, core, offset + 4 * i, at[1 + i]);
    at += 1 + count;
  }
  return at;
}

/* Resets are the packets' own. */
static void check_tile(const struct tile *is, const struct tile *right,
                       bool core) {
  bool good = is->tasks == right->tasks;
  for (uint32_t i = 0; i < WORDS; i++)
    if (right->set[i] || core)
      good &= is->set[i] == right->set[i] && is->word[i] == right->word[i];
  CHECK(good);
}

static const uint32_t *find_words(const struct command_list *l,
                                  uint32_t *count) {
  for (int i = 0; i < l->count; i++)
    if (l->item[i].kind == COMMAND_BLOCK &&
        l->item[i].address == tile_address(0, MEM_ROW, REG_MEM_MEMORY)) {
      *count = l->item[i].count;
      return l->item[i].words;
    }
  return NULL;
}

static void test_change(uint32_t seed, bool brings) {
  struct arena *a = arena_open();
  const struct command_list *from[] = {configuration(a, seed, brings)},
                            *to = configuration(a, seed + 99, brings);
  struct command_list *l = command_list(a);
  struct change_data data;
  struct tile *core = arena_alloc(a, 4 * sizeof *core), *mem = core + 1;
  change_write(from, 1, to, l, &data);
  uint32_t count = data.count;
  CHECK((count > 0) == brings);
  const uint32_t *words = brings ? data.words : find_words(l, &count);
  CHECK(words != NULL);
  if (words) {
    const uint32_t *end = packets(core, true, words, words + count);
    CHECK(packets(mem, false, end, words + count) == words + count);
  }
  apply(&core[2], to, 0 << 5 | CORE_ROW);
  apply(&core[3], to, 1 << 5 | MEM_ROW);
  check_tile(core, &core[2], true);
  check_tile(mem, &core[3], false);
  uint32_t sender = REG_MEM_MM2S_CTRL + 5 * REG_MEM_MM2S_CTRL_STRIDE;
  CHECK(mem->set[REG_MEM_MM2S_CTRL / 4] && !mem->set[sender / 4]);
  for (int i = 0; i < l->count; i++) /* the ways are there */
    CHECK((l->item[i].address >> 20 & 31) == MEM_ROW ||
          (l->item[i].address >> 20 & 31) == SHIM_ROW);
  arena_close(a);
}

/* Nothing is to be done. */
static void test_same(void) {
  struct arena *a = arena_open();
  const struct command_list *from[] = {configuration(a, 5, true),
                                       configuration(a, 5, true)};
  struct command_list *l = command_list(a);
  struct change_data data;
  change_write(from, 2, from[0], l, &data);
  CHECK(!l->count && !data.count);
  CHECK(change_seconds(l, &data, preset_find("8700g")) <= 0);
  arena_close(a);
}

int main(void) {
  for (uint32_t seed = 1; seed <= 20; seed++)
    test_change(seed, seed % 4);
  test_same();
  return check_result();
}
