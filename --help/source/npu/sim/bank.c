/* Banks: who uses one in a cycle.
 *
 * A physical bank has one port, so it serves one access per cycle (B1, B7) to
 * whoever asks: the tile's core, the cores that have it as their neighbour, the
 * DMA channels, the register bus.  Who is refused asks again in the next cycle;
 * a core that is refused anything stands still for it (B8).
 *
 * Cores come before channels, because a channel has a FIFO: it moves its words
 * when the bank has a free cycle.  When the FIFO's margin is used up the
 * channel's access is urgent, and the core loses (B12).  Cores among each other
 * take turns; so do channels, by the order in which they are stepped.
 *
 * A core has usually run ahead of the array.  The banks that it uses in each of
 * these cycles are kept (struct bank_use), and a core that loses is put back:
 * the cycles that it has run are shifted by one.  That is exact, for a core
 * that runs ahead touches nothing but memory.
 *
 * Not modelled: clearing a memory by Memory_Control takes no time.
 */
#include "tile.h"

enum { OWN_BANKS = 0xFF, NEIGHBOURS = 3 };

/* The memories that a core sees beside its own, by their number in `wide`: the
 * bits of `banks`, and the way to the tile. */
static const struct {
  int shift, columns, rows;
} neighbour[NEIGHBOURS] = {{8, 0, -1}, {16, -1, 0}, {24, 0, 1}};

/* Physical bank of a byte: core tiles B3, B5, mem tiles L1. */
static unsigned bank_of(const struct tile *t, uint32_t offset) {
  const struct sim *s = t->sim;
  uint32_t word = offset >> s->bank_shift;
  return t->kind == TILE_MEM ? word & ((uint32_t)s->device->mem_banks - 1)
                             : 2 * (offset >> 14) + (word & 1);
}

/* ---- what cores use ---- */

static struct bank_use *use_at(struct tile *t, uint64_t cycle) {
  return &t->use[(cycle - t->late) % BANK_RING];
}

void bank_note(struct tile *t, struct bank_use use) {
  assert(t->core_cycle < t->sim->now + BANK_RING - 1);
  *use_at(t, t->core_cycle) = use;
  t->conflicts += (uint64_t)__builtin_popcount(use.conflicts);
  if (use.banks > OWN_BANKS && t->core_cycle >= t->sim->neighbours_until)
    t->sim->neighbours_until = t->core_cycle + 1;
}

/* Whether a core may use a memory that is not its own in this cycle. */
static bool neighbours_used(const struct sim *s) {
  return s->now < s->neighbours_until;
}

/* What the tile's core uses in this cycle. */
static const struct bank_use *core_use(struct tile *t) {
  static const struct bank_use none;
  bool stepped = t->core_listed && t->core_cycle > t->sim->now;
  return stepped ? use_at(t, t->sim->now) : &none;
}

/* The bank's partner too, if they serve an access of both together. */
static uint32_t whole_access(const struct bank_use *u, uint32_t bit) {
  unsigned bank = (unsigned)__builtin_ctz(bit), memory = bank / CORE_BANKS;
  unsigned pair = bank % CORE_BANKS / 2;
  memory = memory ? memory - 1 : NEIGHBOURS; /* by core_surroundings */
  bool wide = u->wide >> (4 * memory + pair) & 1;
  return wide ? 3u << (bank & ~1u) & u->banks : bit;
}

/* The tile's core does not get the bank of `bit` in this cycle.  The bundle
 * repeats the access in one of its next cycles; if none has the bank free,
 * there is one more, and everything behind it is a cycle later. */
static void put_back(struct tile *t, uint32_t bit, enum bank_user winner) {
  uint64_t now = t->sim->now, cycle = now + 1;
  struct bank_use *u = use_at(t, now);
  assert(t->core_cycle > now && u->banks & bit);
  struct bank_use again = {
      .banks = whole_access(u, bit), .wide = u->wide, .goes_on = true};
  u->banks &= ~again.banks;
  for (; cycle < t->core_cycle && use_at(t, cycle)->goes_on; cycle++)
    if (!(use_at(t, cycle)->banks & again.banks)) {
      use_at(t, cycle)->banks |= again.banks;
      return;
    }
  t->late++;
  t->sim->neighbours_until += neighbours_used(t->sim);
  for (uint64_t i = now; i < cycle; i++)
    *use_at(t, i) = *use_at(t, i + 1);
  *use_at(t, cycle) = again;
  t->core_cycle++;
  t->lost[winner]++;
  if (t->sim->last_busy < t->core_cycle - 1)
    t->sim->last_busy = t->core_cycle - 1;
}

/* ---- one tile's banks in this cycle ---- */

static void open_cycle(struct tile *t) {
  if (t->bank_cycle == t->sim->now)
    return;
  t->bank_cycle = t->sim->now;
  t->taken = 0;
  t->contested = core_use(t)->conflicts;
}

static void count_conflict(struct tile *t, uint32_t bit) {
  open_cycle(t);
  t->conflicts += !(t->contested & bit);
  t->contested |= bit;
}

/* The core that uses the bank in this cycle, and the bank among its bits; NULL:
 * none does. */
static struct tile *holder_of(struct tile *t, uint32_t bit, uint32_t *held) {
  *held = bit;
  if (core_use(t)->banks & bit)
    return t;
  for (int i = 0; neighbours_used(t->sim) && i < NEIGHBOURS; i++) {
    struct tile *user = tile_at(t->sim, t->column - neighbour[i].columns,
                                t->row - neighbour[i].rows);
    *held = bit << neighbour[i].shift;
    if (user && user->kind == TILE_CORE && core_use(user)->banks & *held)
      return user;
  }
  return NULL;
}

bool bank_grant(struct tile *t, uint32_t offset, enum bank_user user,
                bool urgent) {
  assert(user == BANK_DMA || user == BANK_BUS);
  uint32_t bit = 1u << bank_of(t, offset), held;
  open_cycle(t);
  struct tile *holder = t->kind == TILE_CORE ? holder_of(t, bit, &held) : NULL;
  if (t->taken & bit || holder)
    count_conflict(t, bit);
  if (t->taken & bit || (holder && !urgent))
    return false;
  if (holder)
    put_back(holder, held, user);
  t->taken |= bit;
  return true;
}

/* ---- cores that share a memory ---- */

/* Of the cores that want the same bank, the first from `bank_turn` on gets it.
 * Number 0 is the tile's own. */
static void share(struct tile *t) {
  struct tile *user[1 + NEIGHBOURS] = {t};
  for (int i = 0; i < NEIGHBOURS; i++)
    user[i + 1] = tile_at(t->sim, t->column - neighbour[i].columns,
                          t->row - neighbour[i].rows);
  for (unsigned bank = 0; bank < CORE_BANKS; bank++) {
    int winner = -1;
    for (int i = 0; i <= NEIGHBOURS; i++) {
      int n = (t->bank_turn[bank] + i) % (1 + NEIGHBOURS);
      uint32_t bit = 1u << bank << (n ? neighbour[n - 1].shift : 0);
      if (!user[n] || !(core_use(user[n])->banks & bit))
        continue;
      if (winner >= 0) {
        count_conflict(t, 1u << bank);
        put_back(user[n], bit, BANK_CORE);
      } else
        winner = n;
    }
    if (winner >= 0)
      t->bank_turn[bank] = (uint8_t)((winner + 1) % (1 + NEIGHBOURS));
  }
}

void banks_share(struct sim *s) {
  for (int i = 0; neighbours_used(s) && i < s->columns * s->rows; i++)
    if (s->tile[i].kind == TILE_CORE)
      share(&s->tile[i]);
}

/* ---- the register bus ----
 *
 * What it writes is in memory at once; the banks that this takes follow word by
 * word, and its next access waits for them. */

void bank_bus(struct tile *t, uint32_t offset) {
  if (!t->sim->running)
    return;
  if (!t->bus_words) {
    t->bus_offset = offset;
    t->sim->bus_tiles++;
  }
  t->bus_words++;
}

bool bank_bus_free(const struct tile *t) { return !t->bus_words; }

static void step_bus(struct tile *t) {
  t->sim->progress = true;
  if (!bank_grant(t, t->bus_offset, BANK_BUS, t->bus_lost >= DMA_PATIENCE)) {
    t->bus_lost++;
    return;
  }
  bank_served(t, t->bus_offset, BANK_BUS);
  t->bus_lost = 0;
  t->bus_offset += 4;
  if (--t->bus_words == 0)
    t->sim->bus_tiles--;
}

void banks_step_bus(struct sim *s) {
  for (int i = 0; s->bus_tiles && i < s->columns * s->rows; i++)
    if (s->tile[i].bus_words)
      step_bus(&s->tile[i]);
}

/* ---- conservation: a count of its own, which knows nothing of grants ---- */

static void count_served(struct tile *t, unsigned bank, enum bank_user user) {
  struct sim *s = t->sim;
  char name[32];
  if (s->served)
    s->served(s->served_context, t, bank, user);
  if (t->served[bank] == s->now + 1)
    sim_fail(s, "bank %u of %s serves two accesses in cycle %llu", bank,
             tile_name(t, name), (unsigned long long)s->now);
  t->served[bank] = s->now + 1;
}

static bool is_counted(const struct sim *s) {
  return s->options.strict || s->served;
}

bool banks_are_watched(const struct sim *s) {
  return neighbours_used(s) || is_counted(s);
}

void bank_served(struct tile *t, uint32_t offset, enum bank_user user) {
  if (is_counted(t->sim))
    count_served(t, bank_of(t, offset), user);
}

void banks_count(struct sim *s) {
  for (int i = 0; is_counted(s) && i < s->core_count; i++) {
    struct tile *t = s->core[i];
    uint32_t banks = core_use(t)->banks;
    for (unsigned bank = 0; bank < CORE_BANKS; bank++) {
      if (banks >> bank & 1)
        count_served(t, bank, BANK_CORE);
      for (int n = 0; n < NEIGHBOURS; n++)
        if (banks >> neighbour[n].shift >> bank & 1)
          count_served(tile_at(s, t->column + neighbour[n].columns,
                               t->row + neighbour[n].rows),
                       bank, BANK_CORE);
    }
  }
}
