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
 * What many cores get alike, their program above all, goes to them as a
 * broadcast (broadcast.c).
 */
#include "change.h"

#include <assert.h>
#include <string.h>

enum { CHANNEL_RESET = 2 };

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

/* A configuration resets the channels of the cores that it uses by itself. */
static void stop_tile(const struct switches *w, uint32_t tile, bool used) {
  switch (kind_of(tile)) {
  case TILE_SHIM:
  case TILE_KINDS:
    return; /* no task of it is left */
  case TILE_MEM:
    reset_channels(w, (int)(tile >> 5));
    return;
  case TILE_CORE:
    if (!used)
      stop_core(tile << 20, w->out);
    return;
  }
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

static void write_command(const struct switches *w, const struct command *c) {
  if (c->kind == COMMAND_WRITE)
    switch_write(w, c->address, c->value);
  else if (c->kind != COMMAND_BLOCK || !join(w->out, c))
    command_copy(w->out, c);
}

/* A stream goes to every master that names its slave, and waits for them all.
 */
static void cut_routes(const struct switches *w,
                       const struct command_list *from, const struct marks *m) {
  bool master;
  for (int i = 0; i < from->count; i++) {
    const struct command *c = &from->item[i];
    const struct switch_word *x =
        c->kind == COMMAND_WRITE && !m->kept[tile_of(c)]
            ? switch_find(w, c->address, &master)
            : NULL;
    if (x && master && !x->wanted)
      switch_write(w, c->address, 0);
  }
}

void change_write(const struct command_list *const from[], int count,
                  const struct command_list *to, struct command_list *out) {
  struct marks m, last; /* last: all that `to` has */
  struct broadcast b;
  mark(&last, &to, 0, to);
  mark(&m, from, count, to);
  struct switches w = switches_read(from, count, to, out);
  broadcast_find(&b, from, count, to, m.kept);
  if (b.count)
    m.kept[MEM_ROW] = false; /* column 0's sends it */
  for (uint32_t tile = 0; tile < TILES; tile++)
    if (m.used[tile] && !m.kept[tile])
      stop_tile(&w, tile, last.used[tile]);
  for (int i = 0; i < count; i++)
    cut_routes(&w, from[i], &m);
  if (b.count)
    broadcast_write(&b, to, out);
  for (int i = 0; i < to->count; i++) {
    const struct command *c = &to->item[i];
    if (broadcast_has(&b, c) || m.kept[tile_of(c)])
      continue;
    if (b.count && b.member[tile_of(c)] && c->kind == COMMAND_MASK_WRITE)
      command_write(out, c->address, c->value); /* nothing else is set */
    else
      write_command(&w, c);
  }
}
