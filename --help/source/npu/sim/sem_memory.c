/* sem_memory.c -- loads and stores, addresses and pointer updates (isa.md C1,
 * C6, D2, D4).
 *
 * An address is formed and its pointer moved in the issue cycle.  Loads read
 * memory in cycle 5, vst and st write it in 5, converting stores in 7; a store
 * of part of a word reads the word in 5, its data register in 7 and writes the
 * whole word in 11.
 */
#include "core_state.h"

#include <stddef.h>

/* ---- addresses ---- */

static void set_count(struct core *c, unsigned i, uint32_t value) {
  core_put_scalar(c, 0, CORE_OFFSET(dc[0]) + 4u * i, value & ADDRESS_MASK);
}

static void move_2d(struct core *c, const struct core_op *op) {
  unsigned i = op->modifier;
  if (c->reg.dc[i] >= c->reg.dn[i]) {
    set_count(c, i, 0);
    core_move_pointer(c, op, c->reg.m[i]);
  } else {
    set_count(c, i, c->reg.dc[i] + 1);
    core_move_pointer(c, op, c->reg.dj[i]);
  }
}

/* d(i) counts the inner dimension, d(i+4) the outer one. */
static void move_3d(struct core *c, const struct core_op *op) {
  unsigned i = op->modifier & 3, o = i + 4;
  if (c->reg.dc[i] < c->reg.dn[i]) {
    set_count(c, i, c->reg.dc[i] + 1);
    core_move_pointer(c, op, c->reg.dj[i]);
    return;
  }
  set_count(c, i, 0);
  if (c->reg.dc[o] < c->reg.dn[o]) {
    set_count(c, o, c->reg.dc[o] + 1);
    core_move_pointer(c, op, c->reg.dj[o]);
  } else {
    set_count(c, o, 0);
    core_move_pointer(c, op, c->reg.m[i]);
  }
}

uint32_t core_address_other(struct core *c, const struct core_op *op) {
  uint32_t p = c->reg.p[op->pointer];
  switch ((enum core_address)op->address) {
  case ADDRESS_NONE:
  case ADDRESS_BASE:
  case ADDRESS_INCREMENT:
  case ADDRESS_POST:
    return p;
  case ADDRESS_INDEX:
    return (p + c->reg.dj[op->modifier]) & ADDRESS_MASK;
  case ADDRESS_OFFSET:
    return (p + (uint32_t)op->imm) & ADDRESS_MASK;
  case ADDRESS_2D:
    move_2d(c, op);
    return p;
  case ADDRESS_3D:
    move_3d(c, op);
    return p;
  case ADDRESS_SP:
    return (c->reg.sp + (uint32_t)op->imm) & ADDRESS_MASK;
  }
  return p;
}

/* p <- p + step, sp <- sp + imm */
static void sem_padd(struct core *c, const struct core_op *op) {
  if (op->address == ADDRESS_SP)
    core_put_scalar(c, 0, CORE_OFFSET(sp),
                    (c->reg.sp + (uint32_t)op->imm) & ADDRESS_MASK);
  else
    core_address(c, op);
}

static inline uint32_t aligned(struct core *c, const struct core_op *op,
                               unsigned bytes) {
  uint32_t address = core_address(c, op);
  if (c->strict_state && address % bytes)
    core_fail(c, op, "'%s' at 0x%x, which is no multiple of %u",
              isa_insn(c->around.isa, (enum insn_id)op->insn)->mnemonic,
              address, bytes);
  if (c->strict_state && op->address != ADDRESS_SP)
    core_strict_access(c, (enum insn_id)op->insn, address);
  return address & ~(bytes - 1);
}

uint32_t core_aligned(struct core *c, const struct core_op *op,
                      unsigned bytes) {
  return aligned(c, op, bytes);
}

/* ---- loads; x: bytes ---- */

/* d <- 32 bytes: nearly every load of a kernel. */
static void load_w(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const uint8_t *from = core_memory(c, op, a->value, 32);
  if (from)
    memcpy(core_put_vector(c, op->d.write - op->memory, op->d.offset, 32,
                           op->d.bypass),
           from, 32);
}

static void sem_load_w(struct core *c, const struct core_op *op) {
  uint32_t address = aligned(c, op, 32);
  core_prefetch(c, address);
  core_later(c, op->memory - 1u, load_w, op, address, 0);
}

/* d <- 16 bytes; the rest of the register becomes zero. */
static void load_128(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  uint8_t out[32] = {0};
  const uint8_t *from = core_memory(c, op, a->value, 16);
  if (!from)
    return;
  memcpy(out, from, 16);
  core_put_bytes(c, op, op->memory, out, op->d.bytes);
}

static void sem_load_128(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_128, op, aligned(c, op, 16), 0);
}

/* y: signed */
static void load_scalar(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  int bytes = op->sem->x;
  const uint8_t *from = core_memory(c, op, a->value, (unsigned)bytes);
  if (from)
    core_put(c, op, op->memory,
             (uint32_t)arith_extend(arith_lane(from, 0, 8 * bytes), 8 * bytes,
                                    op->sem->y));
}

static void load_q(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value, 16);
  if (from)
    core_put_bytes(c, a->op, a->op->memory, from, 16);
}

static void sem_load(struct core *c, const struct core_op *op) {
  if (op->d.bytes == 16) /* lda q */
    core_later(c, op->memory - 1u, load_q, op, aligned(c, op, 16), 0);
  else
    core_later(c, op->memory - 1u, load_scalar, op,
               aligned(c, op, (unsigned)op->sem->x), 0);
}

/* ---- stores ---- */

/* vst of 32 bytes */
static void sem_store_w(struct core *c, const struct core_op *op) {
  core_put_store(c, op, op->memory - 1u, aligned(c, op, 32),
                 core_bytes(c, op->a), 32);
}

/* st of a register's 4 bytes, st q, vst.128; x: bytes, 0: all */
static void sem_store(struct core *c, const struct core_op *op) {
  unsigned bytes = op->sem->x ? (unsigned)op->sem->x : op->a.bytes;
  core_put_store(c, op, op->memory - 1u, aligned(c, op, bytes),
                 core_bytes(c, op->a), bytes);
}

/* Part-word stores; x: bytes.  First the word, then the data, then both. */
static void merge_part(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  int at = 8 * (int)(a->value % 4);
  uint32_t keep = op->sem->x == 1 ? 0xFF : 0xFFFF;
  uint32_t word = (a->more & ~(keep << at)) | (core_get(c, op->a) & keep) << at;
  core_put_store(c, op, op->memory - op->a.read, a->value & ~3u,
                 (const uint8_t *)&word, 4);
}

static void read_word(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value & ~3u, 4);
  uint32_t word;
  if (!from)
    return;
  memcpy(&word, from, 4);
  core_later(c, a->op->a.read - 5u, merge_part, a->op, a->value, word);
}

static void sem_store_part(struct core *c, const struct core_op *op) {
  core_later(c, 4, read_word, op, aligned(c, op, (unsigned)op->sem->x), 0);
}

/* clang-format off */
static const struct core_sem rows[] = {
  {"vlda", sem_load_w, 32, 0, 0},
  {"vldb", sem_load_w, 32, 0, 0},
  {"vst", sem_store_w, 32, 0, 0},
  {"vlda.128", sem_load_128, 16, 0, 0},
  {"vldb.128", sem_load_128, 16, 0, 0},
  {"vst.128", sem_store, 16, 0, 0},
  {"lda", sem_load, 4, 0, 0},
  {"lda.s8", sem_load, 1, 1, 0},
  {"lda.u8", sem_load, 1, 0, 0},
  {"lda.s16", sem_load, 2, 1, 0},
  {"lda.u16", sem_load, 2, 0, 0},
  {"st", sem_store, 0, 0, 0},
  {"st.s8", sem_store_part, 1, 0, 0},
  {"st.s16", sem_store_part, 2, 0, 0},
  {"padda", sem_padd, 0, 0, 0},
  {"paddb", sem_padd, 0, 0, 0},
  {"padds", sem_padd, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_memory = {rows, sizeof rows / sizeof rows[0]};
