/* Buffer descriptors: from the words in a tile's registers to what a channel
 * does next.  Loading one checks it, counts its iteration, finds its locks and
 * starts its walk; what is wrong with it is said here. */
#include "tile.h"

/* ---- fields of a descriptor, from the table that also writes them ---- */

enum field {
#define BD_FIELD_NAME(id, name, coding) FIELD_##id,
#include "regmap.def"
  FIELD_COUNT
};
enum coding { PLAIN, LESS_ONE, SIGNED };

struct place {
  uint8_t word, high, low, known;
};

static const struct place places[TILE_KINDS][FIELD_COUNT] = {
#define BD_FIELD(kind, id, word, high, low)                                    \
  [TILE_##kind][FIELD_##id] = {word, high, low, 1},
#include "regmap.def"
};

static const uint8_t codings[FIELD_COUNT] = {
#define BD_FIELD_NAME(id, name, coding) [FIELD_##id] = coding,
#include "regmap.def"
};

/* A field that the tile kind does not have reads as `none`. */
static int64_t field(const struct tile *t, int bd, enum field f, int64_t none) {
  struct place p = places[t->kind][f];
  if (!p.known)
    return none;
  int width = p.high - p.low + 1;
  uint64_t v = (uint64_t)t->bd[bd][p.word] >> p.low & ((1ull << width) - 1);
  if (codings[f] == LESS_ONE)
    return (int64_t)v + 1;
  if (codings[f] == SIGNED && v >> (width - 1))
    return (int64_t)v - (1ll << width);
  return (int64_t)v;
}

static void set_field(struct tile *t, int bd, enum field f, uint32_t value) {
  struct place p = places[t->kind][f];
  uint32_t mask = (uint32_t)(((1ull << (p.high - p.low + 1)) - 1) << p.low);
  t->bd[bd][p.word] = (t->bd[bd][p.word] & ~mask) | (value << p.low & mask);
}

/* ---- loading a descriptor ---- */

/* Bytes of the contiguous runs of which the descriptor's words consist. */
static uint64_t run_bytes(const struct walk *w, uint32_t length) {
  uint64_t run = 1;
  for (int d = 0; d < 3; d++) {
    if (w->step[d] != run && length > run)
      break;
    if (!w->wrap[d] || run * w->wrap[d] >= length)
      return (uint64_t)length * 4;
    run *= w->wrap[d];
  }
  return run * 4;
}

/* What shares so many words takes one access. */
static uint32_t granule_words(const struct channel *c) {
  const struct device *d = c->tile->sim->device;
  if (c->tile->kind != TILE_SHIM)
    return (uint32_t)d->bank_word_bytes / 4;
  return c->mm2s ? SHIM_GRANULE_WORDS : (uint32_t)d->written_bytes / 4;
}

void descriptor_plan(struct channel *c) {
  const struct walk *w = &c->walk;
  uint32_t granule = granule_words(c);
  uint32_t most =
      w->zero ? granule : granule - ((uint32_t)w->address & (granule - 1));
  c->need = w->run < most ? w->run : most;
}

/* Even channels of a mem tile have the first half of the descriptors, odd
 * ones the second. */
static bool check_bd(struct channel *c) {
  const struct tile *t = c->tile;
  char name[48];
  int count = t->sim->device->tile[t->kind].bds;
  if (c->bd >= count)
    return sim_fail(t->sim, "%s: BD %d; the tile has %d", channel_name(c, name),
                    c->bd, count);
  if (t->kind == TILE_MEM && (c->bd >= count / 2) != (c->index & 1))
    return sim_fail(t->sim,
                    "%s: BD %d; even channels of a mem tile use BDs 0 to 23, "
                    "odd ones 24 to 47",
                    channel_name(c, name), c->bd);
  if (!field(t, c->bd, FIELD_VALID, 1))
    return sim_fail(t->sim, "%s: BD %d is not valid (Valid_BD is clear)",
                    channel_name(c, name), c->bd);
  if (field(t, c->bd, FIELD_BURST, 0) > t->sim->device->burst)
    return sim_fail(t->sim, "%s: BD %d has burst length %d; %s has 0 to %d",
                    channel_name(c, name), c->bd,
                    (int)field(t, c->bd, FIELD_BURST, 0), t->sim->device->name,
                    t->sim->device->burst);
  if (field(t, c->bd, FIELD_COMPRESS, 0))
    return sim_fail(t->sim, "%s: BD %d wants compression, not modelled",
                    channel_name(c, name), c->bd);
  return true;
}

static void load_walk(struct channel *c) {
  struct tile *t = c->tile;
  struct walk *w = &c->walk;
  int bd = c->bd;
  w->base = field(t, bd, FIELD_BASE, 0);
  if (t->kind == TILE_SHIM) /* byte address bits 47:2 */
    w->base |= field(t, bd, FIELD_BASE_HIGH, 0) << 30;
  uint32_t now = (uint32_t)field(t, bd, FIELD_ITER_NOW, 0);
  uint32_t count = (uint32_t)field(t, bd, FIELD_ITER_COUNT, 1);
  w->base += now * field(t, bd, FIELD_ITER_STEP, 1);
  set_field(t, bd, FIELD_ITER_NOW, now + 1 >= count ? 0 : now + 1);
  w->left = (uint32_t)field(t, bd, FIELD_LENGTH, 0);
  for (int d = 0; d < 4; d++) {
    w->step[d] = (uint32_t)field(t, bd, FIELD_STEP0 + d, 0);
    w->wrap[d] = (uint32_t)field(t, bd, FIELD_WRAP0 + d, 0);
  }
  for (int d = 0; d < 3; d++) {
    w->before[d] = c->mm2s ? (uint32_t)field(t, bd, FIELD_BEFORE0 + d, 0) : 0;
    w->after[d] = c->mm2s ? (uint32_t)field(t, bd, FIELD_AFTER0 + d, 0) : 0;
  }
  walk_start(w);
  /* Writes are posted: rows of 192 bytes did not keep Taka's designs from the
   * whole bandwidth (N14, N16).  So only reads are slower in short runs. */
  if (t->kind == TILE_SHIM)
    c->dram_cost =
        host_word_cost(t->sim, c->mm2s ? run_bytes(w, w->left) : UINT64_MAX);
}

/* Packet header word (array.md section 6), odd parity over the whole. */
static uint32_t header_word(const struct tile *t, int id, int type) {
  uint32_t h = (uint32_t)id | (uint32_t)type << 12 | (uint32_t)t->row << 16 |
               (uint32_t)t->column << 21;
  return odd_parity(h);
}

static bool load_locks(struct channel *c) {
  struct tile *t = c->tile;
  int bd = c->bd;
  c->acquire_tile = c->release_tile = NULL;
  c->acquire_value = (int)field(t, bd, FIELD_ACQ_VALUE, 0);
  c->release_value = (int)field(t, bd, FIELD_REL_VALUE, 0);
  if (field(t, bd, FIELD_ACQ_ON, 0))
    c->acquire_tile =
        lock_of_dma(c, (int)field(t, bd, FIELD_ACQ_LOCK, 0), &c->acquire_lock);
  if (c->release_value)
    c->release_tile =
        lock_of_dma(c, (int)field(t, bd, FIELD_REL_LOCK, 0), &c->release_lock);
  return !t->sim->failed;
}

int descriptor_run(const struct tile *t, int bd, uint32_t *first,
                   uint32_t *count) {
  *first = (uint32_t)field(t, bd, FIELD_BASE, 0);
  *count = (uint32_t)field(t, bd, FIELD_LENGTH, 0);
  return field(t, bd, FIELD_USE_NEXT, 0) ? (int)field(t, bd, FIELD_NEXT, 0)
                                         : -1;
}

bool descriptor_lock(struct channel *c, int bd, bool acquires,
                     struct tile **tile, int *lock) {
  const struct tile *t = c->tile;
  if (!field(t, bd, acquires ? FIELD_ACQ_ON : FIELD_REL_VALUE, 0))
    return false;
  int id = (int)field(t, bd, acquires ? FIELD_ACQ_LOCK : FIELD_REL_LOCK, 0);
  *tile = lock_of_dma(c, id, lock);
  return *tile != NULL;
}

bool descriptor_load(struct channel *c) {
  struct tile *t = c->tile;
  if (!check_bd(c))
    return false;
  int bd = c->bd;
  load_walk(c);
  descriptor_plan(c);
  if (!load_locks(c))
    return false;
  c->next_bd =
      field(t, bd, FIELD_USE_NEXT, 0) ? (int)field(t, bd, FIELD_NEXT, 0) : -1;
  c->tlast = !field(t, bd, FIELD_NO_TLAST, 0);
  c->header_due = c->mm2s && field(t, bd, FIELD_PACKET, 0);
  if (c->header_due)
    c->header = header_word(t, (int)field(t, bd, FIELD_PACKET_ID, 0),
                            (int)field(t, bd, FIELD_PACKET_TYPE, 0));
  c->state = CHANNEL_ACQUIRE;
  return true;
}
