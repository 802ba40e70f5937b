/* bd.c -- buffer descriptors to words and back.
 *
 * Where a field lies and how it is coded is in regmap.def; here is what the
 * fields mean: struct bd speaks of bytes in the tile's own memory and of own
 * locks, the hardware of words and, in mem tiles, of a window over three
 * neighbours in which the own memory starts at 0x80000 and the own locks at 64
 * (array.md section 3.2).  Every value is checked against its field.
 */
#include "image.h"

#include <assert.h>
#include <string.h>

enum { SHIM, MEM, CORE, KINDS };
enum coding { PLAIN, LESS_ONE, SIGNED };
enum {
  MEM_WINDOW_BYTES = 0x80000, /* own memory seen by a mem tile's DMA */
  MEM_REACH_BYTES = 0x200000, /* what the 19-bit word address can name */
  MEM_WINDOW_LOCKS = 64,
  MEM_REACH_LOCKS = 256,
  MEM_BDS = 48,
  AX_CACHE_UPSIZE = 2 /* section 3.3: let the NoC merge into wide bursts */
};

enum bd_field {
#define BD_FIELD_NAME(id, name, coding) FIELD_##id,
#include "regmap.def"
  FIELD_COUNT
};

static const struct {
  const char *name;
  enum coding coding;
} field_about[FIELD_COUNT] = {
#define BD_FIELD_NAME(id, name, coding) {name, coding},
#include "regmap.def"
};

static const struct field_place {
  int word, low, width; /* width 0: this kind of tile has no such field */
} field_place[KINDS][FIELD_COUNT] = {
#define BD_FIELD(tile, id, word, high, low)                                    \
  [tile][FIELD_##id] = {word, low, high - low + 1},
#include "regmap.def"
};

static const char *const kind_name[KINDS] = {"shim", "mem", "core"};
static const int kind_words[KINDS] = {8, 8, 6};
static const int kind_dims[KINDS] = {3, 4, 3};

/* ---- one field ---- */

struct packing {
  int kind;
  uint32_t *words;
  bool failed;
  struct diag *d;
};

static void refuse(struct packing *p, enum bd_field f, int64_t value,
                   int64_t low, int64_t high) {
  if (!p->failed)
    diag_error(p->d, loc_none(),
               "%s tile descriptor: %s is %lld; the field holds %lld to %lld",
               kind_name[p->kind], field_about[f].name, (long long)value,
               (long long)low, (long long)high);
  p->failed = true;
}

static void put_bits(struct packing *p, enum bd_field f, int64_t value) {
  struct field_place at = field_place[p->kind][f];
  enum coding coding = field_about[f].coding;
  int64_t span = at.width ? (int64_t)1 << at.width : 1;
  int64_t low = coding == SIGNED ? -(span / 2) : coding == LESS_ONE ? 1 : 0;
  if (value < low || value >= low + span) {
    refuse(p, f, value, low, low + span - 1);
    return;
  }
  if (!at.width)
    return;
  uint64_t bits = (uint64_t)(coding == LESS_ONE ? value - 1 : value);
  uint32_t mask = (uint32_t)(((uint64_t)1 << at.width) - 1);
  p->words[at.word] |= ((uint32_t)bits & mask) << at.low;
}

/* Most fields of most descriptors have no bits; no call is made for them. */
static inline void put(struct packing *p, enum bd_field f, int64_t value) {
  if (value != (field_about[f].coding == LESS_ONE))
    put_bits(p, f, value);
}

static int64_t get(int kind, const uint32_t *words, enum bd_field f) {
  struct field_place at = field_place[kind][f];
  enum coding coding = field_about[f].coding;
  if (!at.width)
    return coding == LESS_ONE;
  int64_t span = (int64_t)1 << at.width;
  int64_t bits = (words[at.word] >> at.low) & (span - 1);
  if (coding == LESS_ONE)
    return bits + 1;
  return coding == SIGNED && bits >= span / 2 ? bits - span : bits;
}

/* ---- fields that need a thought ---- */

static void put_base(struct packing *p, uint64_t base) {
  if (base % 4) {
    if (!p->failed)
      diag_error(p->d, loc_none(),
                 "%s tile descriptor: base address 0x%llx is not a multiple "
                 "of 4 bytes",
                 kind_name[p->kind], (unsigned long long)base);
    p->failed = true;
    return;
  }
  if (p->kind == SHIM) {
    put(p, FIELD_BASE, (int64_t)((base & 0xffffffff) / 4));
    put(p, FIELD_BASE_HIGH, (int64_t)(base >> 32));
  } else if (p->kind == MEM && base < MEM_REACH_BYTES) {
    put(p, FIELD_BASE,
        (int64_t)((base + MEM_WINDOW_BYTES) % MEM_REACH_BYTES / 4));
  } else {
    put(p, FIELD_BASE, (int64_t)(base / 4));
  }
}

static uint64_t get_base(int kind, const uint32_t *words) {
  uint64_t base = (uint64_t)get(kind, words, FIELD_BASE) * 4;
  if (kind == SHIM)
    return base | (uint64_t)get(kind, words, FIELD_BASE_HIGH) << 32;
  if (kind == MEM)
    return (base + MEM_REACH_BYTES - MEM_WINDOW_BYTES) % MEM_REACH_BYTES;
  return base;
}

/* Mem tiles have three windows of 64 locks; ids 128..191 name nothing. */
static void put_lock(struct packing *p, enum bd_field f, int lock) {
  if (p->kind != MEM) {
    put(p, f, lock);
    return;
  }
  bool reachable =
      (lock >= 0 && lock < 2 * MEM_WINDOW_LOCKS) ||
      (lock >= MEM_REACH_LOCKS - MEM_WINDOW_LOCKS && lock < MEM_REACH_LOCKS);
  if (!reachable)
    refuse(p, f, lock, 0, 2 * MEM_WINDOW_LOCKS - 1);
  else
    put(p, f, (lock + MEM_WINDOW_LOCKS) % MEM_REACH_LOCKS);
}

static int get_lock(int kind, const uint32_t *words, enum bd_field f) {
  int lock = (int)get(kind, words, f);
  return kind == MEM
             ? (lock + MEM_REACH_LOCKS - MEM_WINDOW_LOCKS) % MEM_REACH_LOCKS
             : lock;
}

static void put_dims(struct packing *p, const struct bd *b) {
  for (int i = 0; i < 4; i++) {
    bool exists = i < kind_dims[p->kind];
    bool unused = b->dim[i].step_words == 0 && b->dim[i].wrap == 0;
    if (!exists && unused)
      continue;
    put(p, FIELD_STEP0 + i, b->dim[i].step_words);
    put(p, FIELD_WRAP0 + i, b->dim[i].wrap);
  }
  for (int i = 0; i < 3; i++) {
    put(p, FIELD_BEFORE0 + i, b->zero_before[i]);
    put(p, FIELD_AFTER0 + i, b->zero_after[i]);
  }
  put(p, FIELD_ITER_STEP, b->iteration_step_words);
  put(p, FIELD_ITER_COUNT, b->iteration_count);
  put(p, FIELD_ITER_NOW, b->iteration_now);
}

static void put_locks(struct packing *p, const struct bd *b) {
  if (b->acquire_lock >= 0) {
    put(p, FIELD_ACQ_ON, 1);
    put_lock(p, FIELD_ACQ_LOCK, b->acquire_lock);
    put(p, FIELD_ACQ_VALUE, b->acquire_value);
  }
  if (b->release_value != 0) {
    put_lock(p, FIELD_REL_LOCK, b->release_lock);
    put(p, FIELD_REL_VALUE, b->release_value);
  }
}

static void put_packet(struct packing *p, const struct bd *b) {
  if (b->packet && b->length_words == 0) {
    /* section 3: a descriptor of length 0 must not send a header */
    refuse(p, FIELD_PACKET, 1, 0, 0);
    return;
  }
  put(p, FIELD_PACKET, b->packet);
  put(p, FIELD_PACKET_ID, b->packet_id);
  put(p, FIELD_PACKET_TYPE, b->packet_type);
  put(p, FIELD_OUT_OF_ORDER, b->out_of_order_id);
}

int bd_pack(int kind, const struct bd *b, uint32_t words[8], struct diag *d) {
  assert(kind >= 0 && kind < KINDS);
  memset(words, 0, 8 * sizeof *words);
  struct packing p = {kind, words, false, d};
  put_base(&p, b->base);
  put(&p, FIELD_LENGTH, b->length_words);
  put_dims(&p, b);
  put_locks(&p, b);
  put_packet(&p, b);
  if (b->next >= 0) {
    if (kind == MEM && b->next >= MEM_BDS)
      refuse(&p, FIELD_NEXT, b->next, 0, MEM_BDS - 1);
    put(&p, FIELD_USE_NEXT, 1);
    put(&p, FIELD_NEXT, b->next);
  }
  put(&p, FIELD_COMPRESS, b->compress);
  put(&p, FIELD_NO_TLAST, b->no_tlast);
  put(&p, FIELD_BURST, b->burst);
  if (kind == SHIM)
    put(&p, FIELD_AX_CACHE, AX_CACHE_UPSIZE);
  put(&p, FIELD_VALID, 1);
  return p.failed ? 0 : kind_words[kind];
}

bool bd_unpack(int kind, const uint32_t words[8], struct bd *b) {
  assert(kind >= 0 && kind < KINDS);
  *b = (struct bd){.acquire_lock = -1, .release_lock = -1, .next = -1};
  b->base = get_base(kind, words);
  b->length_words = (uint32_t)get(kind, words, FIELD_LENGTH);
  for (int i = 0; i < 4; i++) {
    b->dim[i].step_words = (uint32_t)get(kind, words, FIELD_STEP0 + i);
    b->dim[i].wrap = (uint32_t)get(kind, words, FIELD_WRAP0 + i);
  }
  for (int i = 0; i < 3; i++) {
    b->zero_before[i] = (uint32_t)get(kind, words, FIELD_BEFORE0 + i);
    b->zero_after[i] = (uint32_t)get(kind, words, FIELD_AFTER0 + i);
  }
  b->iteration_step_words = (uint32_t)get(kind, words, FIELD_ITER_STEP);
  b->iteration_count = (uint32_t)get(kind, words, FIELD_ITER_COUNT);
  b->iteration_now = (int)get(kind, words, FIELD_ITER_NOW);
  if (get(kind, words, FIELD_ACQ_ON)) {
    b->acquire_lock = get_lock(kind, words, FIELD_ACQ_LOCK);
    b->acquire_value = (int)get(kind, words, FIELD_ACQ_VALUE);
  }
  b->release_value = (int)get(kind, words, FIELD_REL_VALUE);
  if (b->release_value)
    b->release_lock = get_lock(kind, words, FIELD_REL_LOCK);
  if (get(kind, words, FIELD_USE_NEXT))
    b->next = (int)get(kind, words, FIELD_NEXT);
  b->packet = get(kind, words, FIELD_PACKET) != 0;
  b->packet_id = (int)get(kind, words, FIELD_PACKET_ID);
  b->packet_type = (int)get(kind, words, FIELD_PACKET_TYPE);
  b->out_of_order_id = (int)get(kind, words, FIELD_OUT_OF_ORDER);
  b->compress = get(kind, words, FIELD_COMPRESS) != 0;
  b->no_tlast = get(kind, words, FIELD_NO_TLAST) != 0;
  b->burst = (int)get(kind, words, FIELD_BURST);
  return get(kind, words, FIELD_VALID) != 0;
}
