/* core_state.h -- the inside of a core, shared by core.c, core_decode.c and the
 * sem_*.c files; nobody else includes it.
 *
 * Time.  `now` counts the cycles in which the pipeline moved: one bundle is
 * issued in each.  An instruction acts in its issue cycle and pushes the rest
 * of its life into the ring: actions (late operand reads, memory reads),
 * stores and register writes, each into the bucket of its cycle.  In a cycle
 * everything reads first, then stores reach memory, then registers change, so
 * what was written in cycle W of an instruction is seen from the next cycle on
 * (isa.md D1).  A stall freezes `now`; the ring waits with it.
 *
 * Operands are byte offsets into struct core_registers, resolved once when a
 * bundle is first fetched.
 */
#ifndef NPUTEIR_CORE_STATE_H
#define NPUTEIR_CORE_STATE_H

#include "arith.h"
#include "core.h"
#include "device_most.h"
#include "isa.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
  RING = 16,           /* more than the longest life of an instruction, 11 */
  BUCKET_ACTIONS = 12, /* never more than these in a cycle: each form does */
  BUCKET_STORES = 4,   /* its few things at fixed distances from its issue */
  BUCKET_SCALARS = 32,
  BUCKET_VECTORS = 16,
  CAPTURES = 4, /* cycles from operands to accumulator, and more */
  PENDING = 4,
  PROGRAM_BYTES = DEVICE_MOST_PROGRAM_BYTES,
  ADDRESS_MASK = 0xFFFFF, /* pointers have 20 bits */
  CORE_UNITS = 320,
};

/* The registers of all instruction sets.  Pieces lie so that a wider register
 * is the bytes of its parts: x = wl wh, y = two x, bm = two am, cm = two bm,
 * dm = four bm, l = two r.  Only the exponents of an ex register lie apart. */
struct core_registers {
  _Alignas(64) uint8_t x[12][64];
  union {
    uint8_t cm[9][128];
    uint8_t dm[5][256];
  };
  uint8_t load_fifo[2][128], store_fifo[128], exponent_fifo[64];
  uint8_t e[12][8];
  uint8_t q[4][16];
  uint32_t r[32];
  uint32_t p[8], m[8], dn[8], dj[8], dc[8];
  uint32_t s[4];
  uint32_t sp, lr, ls, le, dp, lc, id;
  uint32_t cr[32], sr[16]; /* the first ones by the ids of isa.md A3 */
};

enum core_control_id {
  CR_VADD_SIGN = 0,
  CR_PACK_SIGN = 5,
  CR_RND = 6,
  CR_SRS_SIGN = 8,
  CR_SAT = 9,
  CR_UPS_SIGN = 10,
  CR_UNPACK_SIGN = 11,
  CR_SRS_MODE = 12,
  CR_UPS_MODE = 13,
  CR_UNPACK_SIZE = 15,
  SR_CARRY = 0,
  SR_MS0 = 5,
  SR_SRS_OF = 6,
  SR_SS0 = 7,
  SR_UPS_OF = 9,
};

/* Where an operand lives and when it is read or written. */
struct core_place {
  uint32_t offset : 12;
  uint32_t bytes : 10; /* 0: the operand is absent or immediate (op->imm) */
  uint32_t read : 4, write : 4; /* cycles, from 1 */
  uint32_t bypass : 2;          /* enum isa_bypass */
};
_Static_assert(sizeof(struct core_registers) < 1 << 12, "offsets fit");

enum core_address {
  ADDRESS_NONE,
  ADDRESS_BASE,      /* [p] */
  ADDRESS_INDEX,     /* [p, dj] */
  ADDRESS_OFFSET,    /* [p, #imm] */
  ADDRESS_INCREMENT, /* [p], m */
  ADDRESS_POST,      /* [p], #imm */
  ADDRESS_2D,
  ADDRESS_3D,
  ADDRESS_SP, /* [sp, #imm] or [sp], #imm */
};

struct core;
struct core_op;
struct core_bundle;

/* What a mnemonic does; the tables of these are in the sem_*.c files. */
struct core_sem {
  const char *mnemonic; /* without .2d and .3d */
  void (*issue)(struct core *, const struct core_op *);
  int x, y, z; /* for `issue`: lane bits, signs, flags ... */
};
struct core_sem_table {
  const struct core_sem *row;
  int count;
};
/* What an instruction set's mnemonics do: the first table that knows one says
 * so.  Streams and cascade share their mnemonics with moves inside the core and
 * have a table of their own. */
struct core_sem_set {
  const char *isa;
  const struct core_sem_table *stream; /* NULL: not known */
  const struct core_sem_table *table[8];
};
extern const struct core_sem_table sem_scalar, sem_memory, sem_vector,
    sem_convert, sem_multiply, sem_stream, sem_named_sign, sem_wide,
    sem_wide_convert, sem_wide_multiply;

/* One instruction, ready to run; a cache line. */
struct core_op {
  void (*issue)(struct core *, const struct core_op *);
  const struct core_sem *sem;
  struct core_place d, e; /* dst; cmp */
  struct core_place a, b; /* a, src, id; b, imm, shift, idx, c ... */
  struct core_place s1, s2, acc1, acc2;
  int32_t imm;
  uint32_t mask;    /* bits that d keeps, if it is scalar */
  uint8_t address;  /* enum core_address */
  uint8_t pointer;  /* p number */
  uint8_t modifier; /* m, dj or d number */
  uint8_t memory;   /* cycle of the memory access */
  uint16_t insn;    /* enum insn_id */
  uint16_t index;   /* in the bundle */
};

struct core_bundle {
  struct core_bundle *next; /* the following one once it is known */
  uint64_t executions;
  struct isa_bundle *decoded;
  uint32_t address;
  uint8_t size, op_count, macs;
  uint8_t slots; /* bit per slot with an operation that is no nop */
  _Alignas(64) struct core_op op[];
};

static inline const struct core_bundle *
core_bundle_of(const struct core_op *op) {
  return (const struct core_bundle *)((const char *)(op - op->index) -
                                      offsetof(struct core_bundle, op));
}

struct core_action {
  void (*run)(struct core *, const struct core_action *);
  const struct core_op *op;
  uint32_t value, more;
};

struct core_store {
  const struct core_op *op;
  uint32_t address, bytes;
  uint8_t data[64];
};

/* What happens at the end of one cycle, and before it. */
struct core_bucket {
  _Alignas(64) uint32_t actions, stores, scalars, vectors;
  struct {
    uint16_t offset;
    uint8_t bytes, bypass;
  } head[BUCKET_VECTORS];
  struct core_action action[BUCKET_ACTIONS];
  struct {
    uint32_t offset, value;
  } scalar[BUCKET_SCALARS];
  struct core_store store[BUCKET_STORES];
  _Alignas(64) uint8_t vector[BUCKET_VECTORS][64];
};

/* Operands of a multiply, between its first cycle and its accumulator's. */
struct core_capture {
  _Alignas(64) uint8_t s1[144], s2[144]; /* with exponents */
  uint32_t config;
  unsigned flags;             /* enum arith_mac_flag, from config and sem */
  const struct core_sem *sem; /* NULL: never used */
  const struct arith_shape *shape;
};

/* Something that an issued bundle waits for, tried once per cycle. */
struct core_pending {
  bool (*attempt)(struct core *, const struct core_pending *);
  const struct core_op *op;
  enum core_stall stall;
  uint32_t id, value;
  bool ahead; /* in a later cycle than the issue */
};

struct core {
  struct core_registers reg;

  /* What every step looks at, on neighbouring cache lines. */
  _Alignas(64) uint32_t now;
  uint32_t pc;
  bool enabled, done, failed;
  int draining; /* cycles after `done` in which stores still land */
  int delay;    /* bundles until `target` is fetched, 0: no branch */
  uint32_t target;
  enum core_stall stalled;
  int pending_count, waiting_lock;
  /* Accesses that are not served yet, a byte per physical bank; by memory. */
  uint64_t bank_hits[4];
  bool neighbour_hit;    /* bank_hits[0..2] are not all 0 */
  bool bank_wait;        /* the bundle waits for the rest of its accesses */
  uint32_t conflicts;    /* banks with more than one access in this cycle */
  uint16_t wide;         /* pairs of banks in which it accesses both */
  uint16_t access_bytes; /* such an access */
  uint16_t bank_shift; /* moves the address bit of a bank in a pair to bit 3 */
  struct core_bundle *at;                  /* bundle at pc, if it is known */
  struct core_strict_state *strict_state;  /* NULL: not in strict mode */
  struct core_strict_state *strict_memory; /* NULL: never was */
  const struct arith *arith;
  struct core_surroundings around;
  struct core_counts counts;

  struct core_bucket ring[RING];
  struct core_capture capture[CAPTURES];
  _Alignas(64) uint8_t loaded[RING][2][64]; /* raw data of converting loads */
  uint8_t cascade[64];                      /* what waits to go out */
  struct core_pending pending[PENDING];

  struct diag diag;
  struct arena *code;  /* decoded bundles */
  struct arena *arena; /* the core itself */
  bool stale;          /* `code` holds bundles of an older program */
  bool decoded_any;
  struct core_bundle *bundle[PROGRAM_BYTES / 2];
  const struct core_sem_set *sems;
  const struct core_sem **sem; /* by enum insn_id; NULL: not looked up yet */
  struct {
    uint16_t offset, bytes;
    uint32_t mask;
  } unit[CORE_UNITS]; /* by isa unit number */
  uint64_t slot_counts[SLOT_COUNT];
  /* Operands of the mv and the st slot on the way to a late cycle, and results
   * on the way from it. */
  uint8_t late_operand[RING][2][256], late_result[RING][72];
};

/* ---- core_state.c ---- */
/* The program cannot go on: says why, with the address of the bundle. */
void core_fail(struct core *, const struct core_op *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes of the bundle at an address; 0: none is there. */
uint32_t core_bundle_size(const struct core *, uint32_t address);

/* ---- core_decode.c ---- */
struct core_bundle *core_fetch(struct core *, uint32_t address);
bool core_place_of(const struct core *, int reg, struct core_place *,
                   uint32_t *mask);
void core_name_units(struct core *);
void core_reset_registers(struct core *);
/* What the mnemonics of the core's instruction set do. */
void core_choose_set(struct core *);
/* Sums executions of the decoded bundles into slot_counts and forgets them. */
void core_fold_slots(struct core *);

/* ---- core_strict.c ---- */
struct core_strict_state *core_strict_open(struct arena *);
void core_strict_reset(struct core_strict_state *);
void core_strict_given(struct core_strict_state *, const struct isa_reg *);
/* The bundle under way accesses memory, not the stack. */
void core_strict_access(struct core *, enum insn_id, uint32_t address);
/* Judges the bundle that is issued now, before it is. */
void core_strict_bundle(struct core *, const struct core_bundle *,
                        bool loop_end);

/* ---- sem_scalar.c, sem_vector.c, sem_multiply.c: what instruction sets share
 * ---- */
void core_move_scalar(struct core *, const struct core_op *);
void core_move_vector(struct core *, const struct core_op *);
void core_shuffle(struct core *, const struct core_op *);
void core_insert(struct core *, const struct core_op *, uint32_t lane);
/* What an operation does with its operands: the mnemonic's sense, inverted by
 * the sub bits of the configuration; the same for those on accumulators. */
unsigned core_mac_flags(const struct core_op *, uint32_t config);
unsigned core_acc_flags(const struct core_op *, uint32_t config);
/* The cycle in which the accumulators are read, 1 if there are none; and what
 * happens in it. */
unsigned core_acc_cycle(const struct core_op *);
void core_later_or_now(struct core *, const struct core_op *,
                       void (*)(struct core *, const struct core_action *),
                       uint32_t value);

/* ---- core_block.c: registers of block floats ---- */
struct core_block {
  uint8_t mantissa[64], exponent[8];
};
void core_get_block(struct core *, struct core_place, struct core_block *);
/* op's result; called in cycle `cycle` of the instruction. */
void core_put_block(struct core *, const struct core_op *, unsigned cycle,
                    const struct core_block *);
void core_pack_block(uint8_t out[72], const struct core_block *);
void core_unpack_block(struct core_block *, const uint8_t in[72]);
/* sem_wide_convert.c: 64 fp32, rounded by crrnd; false after core_fail. */
bool core_to_block(struct core *, const struct core_op *,
                   const uint8_t from[256], struct core_block *);

/* ---- scheduling the future ---- */
static inline struct core_bucket *core_bucket(struct core *c, unsigned ahead) {
  assert(ahead < RING);
  return &c->ring[(c->now + ahead) % RING];
}

static inline void
core_later(struct core *c, unsigned ahead,
           void (*run)(struct core *, const struct core_action *),
           const struct core_op *op, uint32_t value, uint32_t more) {
  struct core_bucket *b = core_bucket(c, ahead);
  assert(b->actions < BUCKET_ACTIONS);
  b->action[b->actions++] = (struct core_action){run, op, value, more};
}

static inline void core_put_scalar(struct core *c, unsigned ahead,
                                   uint32_t offset, uint32_t value) {
  struct core_bucket *b = core_bucket(c, ahead);
  assert(b->scalars < BUCKET_SCALARS);
  b->scalar[b->scalars].offset = offset;
  b->scalar[b->scalars++].value = value;
}

/* op's scalar result, at the end of its write cycle; called in cycle `cycle`
 * of the instruction. */
static inline void core_put(struct core *c, const struct core_op *op,
                            unsigned cycle, uint32_t value) {
  core_put_scalar(c, op->d.write - cycle, op->d.offset, value & op->mask);
}

/* Room for up to 64 bytes that will replace those at `offset`. */
static inline uint8_t *core_put_vector(struct core *c, unsigned ahead,
                                       uint32_t offset, unsigned bytes,
                                       unsigned bypass) {
  struct core_bucket *b = core_bucket(c, ahead);
  assert(b->vectors < BUCKET_VECTORS && bytes <= 64);
  unsigned i = b->vectors++;
  b->head[i].offset = (uint16_t)offset;
  b->head[i].bytes = (uint8_t)bytes;
  b->head[i].bypass = (uint8_t)bypass;
  return b->vector[i];
}

/* op's vector result of `bytes`, in one or two parts. */
static inline void core_put_bytes(struct core *c, const struct core_op *op,
                                  unsigned cycle, const uint8_t *data,
                                  unsigned bytes) {
  for (unsigned at = 0; at < bytes; at += 64) {
    unsigned n = bytes - at < 64 ? bytes - at : 64;
    memcpy(core_put_vector(c, op->d.write - cycle, op->d.offset + at, n,
                           op->d.bypass),
           data + at, n);
  }
}

/* ---- operands, as they are in this cycle ---- */
static inline const uint8_t *core_bytes(const struct core *c,
                                        struct core_place p) {
  return (const uint8_t *)&c->reg + p.offset;
}

static inline uint32_t core_get(const struct core *c, struct core_place p) {
  uint32_t value;
  memcpy(&value, core_bytes(c, p), 4);
  return value;
}

/* The operand b, a register or the immediate. */
static inline uint32_t core_get_b(const struct core *c,
                                  const struct core_op *op) {
  return op->b.bytes ? core_get(c, op->b) : (uint32_t)op->imm;
}

/* A vector operand.  A result that is written in this very cycle over the
 * operand's bypass is seen already; then the bytes are put together in
 * scratch. */
static inline const uint8_t *core_vector(struct core *c, struct core_place p,
                                         uint8_t *scratch) {
  const uint8_t *bytes = core_bytes(c, p);
  if (p.bypass == BYPASS_NONE)
    return bytes;
  const struct core_bucket *b = core_bucket(c, 0);
  bool copied = false;
  for (unsigned i = 0; i < b->vectors; ++i) {
    int at = b->head[i].offset - p.offset, n = b->head[i].bytes;
    if (b->head[i].bypass != p.bypass || at >= p.bytes || at + n <= 0)
      continue;
    if (!copied)
      memcpy(scratch, bytes, p.bytes);
    copied = true;
    int from = at < 0 ? 0 : at, to = at + n < p.bytes ? at + n : p.bytes;
    memcpy(scratch + from, b->vector[i] + from - at, (size_t)(to - from));
  }
  return copied ? scratch : bytes;
}

#define CORE_OFFSET(field) ((uint32_t)offsetof(struct core_registers, field))

/* Signed 6-bit shift amount in an s register. */
static inline int core_shift(const struct core *c, struct core_place p) {
  return (int)((core_get(c, p) & 63) ^ 32) - 32;
}

/* Copies whose size is nearly always that of a w or an x register. */
static inline void core_copy(uint8_t *to, const uint8_t *from, unsigned bytes) {
  if (bytes == 32)
    memcpy(to, from, 32);
  else if (bytes == 64)
    memcpy(to, from, 64);
  else
    memcpy(to, from, bytes);
}

/* ---- data memory ---- */
/* The less common addressing modes of core_address. */
uint32_t core_address_other(struct core *, const struct core_op *);
uint8_t *core_no_memory(struct core *, const struct core_op *, uint32_t);

static inline void core_move_pointer(struct core *c, const struct core_op *op,
                                     uint32_t step) {
  core_put_scalar(c, 0, CORE_OFFSET(p[0]) + 4u * op->pointer,
                  (c->reg.p[op->pointer] + step) & ADDRESS_MASK);
}

/* This op's address; schedules its pointer update. */
static inline uint32_t core_address(struct core *c, const struct core_op *op) {
  uint32_t p = c->reg.p[op->pointer];
  if (op->address == ADDRESS_POST)
    core_move_pointer(c, op, (uint32_t)op->imm);
  else if (op->address == ADDRESS_INCREMENT)
    core_move_pointer(c, op, c->reg.m[op->modifier]);
  else
    return core_address_other(c, op);
  return p;
}

/* The bytes at an aligned address, counted as an access of this cycle to a
 * physical bank, 2*addr[15:14] + addr[4], or [5] where accesses are wider
 * (isa.md D4), or to both of a pair; NULL after core_fail. */
static inline uint8_t *core_memory(struct core *c, const struct core_op *op,
                                   uint32_t address, unsigned bytes) {
  unsigned window = (address >> 16) - 4;
  if (window > 3 || !c->around.memory[window])
    return core_no_memory(c, op, address);
  uint64_t hit = bytes == c->access_bytes
                     ? 0x0101
                     : (uint64_t)1 << (address >> c->bank_shift & 8);
  c->bank_hits[window] += hit << (address >> 10 & 0x30);
  c->neighbour_hit |= window != 3;
  if (bytes == c->access_bytes)
    c->wide |= (uint16_t)(1u << (4 * window + (address >> 14 & 3)));
  return c->around.memory[window] + (address & 0xFFFF);
}

/* The address of an access of x bytes, which lies at a multiple of x; the low
 * bits are ignored, or an error in strict mode. */
uint32_t core_aligned(struct core *, const struct core_op *, unsigned bytes);

/* The bytes at an address will be wanted in some cycles. */
static inline void core_prefetch(const struct core *c, uint32_t address) {
  const uint8_t *window = c->around.memory[address >> 16 & 3];
  if (window)
    __builtin_prefetch(window + (address & 0xFFFF));
}

static inline void core_put_store(struct core *c, const struct core_op *op,
                                  unsigned ahead, uint32_t address,
                                  const uint8_t *data, unsigned bytes) {
  struct core_bucket *b = core_bucket(c, ahead);
  assert(b->stores < BUCKET_STORES && bytes <= sizeof b->store[0].data);
  struct core_store *s = &b->store[b->stores++];
  s->op = op;
  s->address = address;
  s->bytes = bytes;
  core_copy(s->data, data, bytes);
}

/* Waits for something outside: tried now, then once per cycle. */
void core_wait(struct core *, struct core_pending);

#endif
