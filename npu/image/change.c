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
 * launches go out with one transaction: what does not stay is written anyway.
 */
#include "image.h"

#include <assert.h>
#include <string.h>

enum { TILES = 8 << 5 }; /* column << 5 | row */
enum { CHANNEL_RESET = 2, CORE_ENABLE = 1 };

static uint32_t tile_of(const struct command *c) {
  assert(c->kind == COMMAND_WRITE || c->kind == COMMAND_MASK_WRITE ||
         c->kind == COMMAND_BLOCK);
  assert(c->address >> 20 < TILES);
  return c->address >> 20;
}

/* The first command from item[i] on that is for the tile; NULL: none. */
static const struct command *next_of(const struct command_list *l, int *i,
                                     uint32_t tile) {
  while (*i < l->count && tile_of(&l->item[*i]) != tile)
    ++*i;
  return *i < l->count ? &l->item[(*i)++] : NULL;
}

static bool equal(const struct command *a, const struct command *b) {
  return a->kind == b->kind && a->address == b->address && a->mask == b->mask &&
         a->value == b->value && a->count == b->count &&
         (!a->count ||
          memcmp(a->words, b->words, a->count * sizeof *a->words) == 0);
}

static bool agree(const struct command_list *a, const struct command_list *b,
                  uint32_t tile) {
  for (int i = 0, k = 0;;) {
    const struct command *x = next_of(a, &i, tile), *y = next_of(b, &k, tile);
    if (!x || !y)
      return x == y;
    if (!equal(x, y))
      return false;
  }
}

/* What becomes of a tile. */
struct marks {
  bool used[TILES], kept[TILES];
};

static void mark(struct marks *m, const struct command_list *const from[],
                 int count, const struct command_list *to) {
  memset(m, 0, sizeof *m);
  for (int i = 0; i <= count; i++) {
    const struct command_list *l = i < count ? from[i] : to;
    for (int k = 0; k < l->count; k++)
      m->used[tile_of(&l->item[k])] = true;
  }
  for (uint32_t tile = 0; tile < TILES; tile++) {
    m->kept[tile] = m->used[tile];
    for (int i = 0; i < count && m->kept[tile]; i++)
      m->kept[tile] = agree(from[i], to, tile);
  }
}

/* A mem tile's channels have nothing else in these registers. */
static void reset_channels(uint32_t base, struct command_list *out) {
  for (uint32_t i = 0; i < REG_MEM_S2MM_CTRL_COUNT; i++)
    for (uint32_t value = CHANNEL_RESET;; value = 0) {
      command_write(
          out, base + REG_MEM_S2MM_CTRL + i * REG_MEM_S2MM_CTRL_STRIDE, value);
      command_write(
          out, base + REG_MEM_MM2S_CTRL + i * REG_MEM_MM2S_CTRL_STRIDE, value);
      if (!value)
        break;
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

/* A configuration resets the channels of the cores that it uses by itself. */
static void stop_tile(uint32_t tile, bool used, struct command_list *out) {
  uint32_t base = tile << 20;
  switch (tile_kind((int)(tile & 31))) {
  case TILE_SHIM:
  case TILE_KINDS:
    return; /* no task of it is left */
  case TILE_MEM:
    reset_channels(base, out);
    return;
  case TILE_CORE:
    if (!used)
      stop_core(base, out);
    return;
  }
}

static bool is_master(uint32_t address) {
  uint32_t offset = address & 0xFFFFF;
  switch (tile_kind((int)(address >> 20 & 31))) {
  case TILE_SHIM:
    return offset - REG_SHIM_MASTER < 4 * REG_SHIM_MASTER_COUNT;
  case TILE_MEM:
    return offset - REG_MEM_MASTER < 4 * REG_MEM_MASTER_COUNT;
  case TILE_CORE:
    return offset - REG_CORE_MASTER < 4 * REG_CORE_MASTER_COUNT;
  case TILE_KINDS:
    break;
  }
  return false;
}

static bool writes(const struct command_list *l, uint32_t address) {
  for (int i = 0; i < l->count; i++)
    if (l->item[i].address == address && l->item[i].kind == COMMAND_WRITE)
      return true;
  return false;
}

/* A stream goes to every master that names its slave, and waits for them all.
 */
static void cut_routes(const struct command_list *from,
                       const struct command_list *to, const struct marks *m,
                       struct command_list *out) {
  for (int i = 0; i < from->count; i++) {
    const struct command *c = &from->item[i];
    if (c->kind == COMMAND_WRITE && is_master(c->address) &&
        !m->kept[tile_of(c)] && !writes(to, c->address) &&
        !writes(out, c->address))
      command_write(out, c->address, 0);
  }
}

void change_write(const struct command_list *const from[], int count,
                  const struct command_list *to, struct command_list *out) {
  struct marks m, last; /* last: all that `to` has */
  mark(&last, &to, 0, to);
  mark(&m, from, count, to);
  for (uint32_t tile = 0; tile < TILES; tile++)
    if (m.used[tile] && !m.kept[tile])
      stop_tile(tile, last.used[tile], out);
  for (int i = 0; i < count; i++)
    cut_routes(from[i], to, &m, out);
  for (int i = 0; i < to->count; i++)
    if (!m.kept[tile_of(&to->item[i])])
      command_copy(out, &to->item[i]);
}
