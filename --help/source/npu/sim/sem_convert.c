/* sem_convert.c -- moving data between vectors and accumulators with a change
 * of width: UPS, SRS, pack, unpack, bf16 <-> fp32, floor; and the loads and
 * stores that convert on the way (isa.md C6, E2-E6).
 *
 * Rows say what the lanes are: x bits on the narrow side, y on the wide one, z
 * whether the sign is fixed (1) or comes from a control register (0).
 */
#include "core_state.h"

#include <stddef.h>

static bool sign_of(const struct core *c, const struct core_op *op,
                    enum core_control_id cr) {
  return op->sem->z || (c->reg.cr[cr] & 1);
}

static unsigned rounding(struct core *c, const struct core_op *op) {
  unsigned round = c->reg.cr[CR_RND];
  if (!arith_round_known(round))
    core_fail(c, op, "crRnd is %u, a reserved rounding mode", round);
  return round;
}

/* ---- narrow: accumulator to vector ---- */

static void shift_round(struct core *c, const struct core_op *op,
                        uint8_t out[64], unsigned lanes) {
  uint8_t scratch[128];
  const uint8_t *acc = core_vector(c, op->a, scratch);
  int narrow = op->sem->x, wide = op->sem->y, shift = core_shift(c, op->b);
  bool is_signed = sign_of(c, op, CR_SRS_SIGN), overflow = false;
  unsigned round = rounding(c, op), saturate = c->reg.cr[CR_SAT];
  bool usual = wide == 32 && shift >= 0;
  if (usual)
    arith_srs_lanes(out, acc, (int)lanes, shift, narrow, is_signed, round,
                    saturate, &overflow);
  for (unsigned i = 0; i < lanes && !usual; ++i) {
    int64_t v = arith_extend(arith_lane(acc, (int)i, wide), wide, true);
    arith_set_lane(out, (int)i, narrow,
                   (uint64_t)arith_srs(v, shift, narrow, is_signed, round,
                                       saturate, &overflow));
  }
  if (overflow) /* sticky, written in cycle 3 */
    core_put_scalar(c, 2, CORE_OFFSET(sr[SR_SRS_OF]), 1);
}

static unsigned source_lanes(const struct core_op *op) {
  return op->a.bytes * 8u / (unsigned)op->sem->y;
}

static void sem_srs(struct core *c, const struct core_op *op) {
  uint8_t out[64];
  shift_round(c, op, out, source_lanes(op));
  core_put_bytes(c, op, 1, out, op->d.bytes);
}

static void sem_store_srs(struct core *c, const struct core_op *op) {
  uint8_t out[64];
  uint32_t address = core_address(c, op) & ~31u;
  shift_round(c, op, out, source_lanes(op));
  core_put_store(c, op, op->memory - 1u, address, out, 32);
}

static void narrow_bf16(struct core *c, const struct core_op *op,
                        uint8_t out[32]) {
  arith_f32_to_bf16(out, core_bytes(c, op->a), 16, rounding(c, op));
}

static void sem_conv_bf16(struct core *c, const struct core_op *op) {
  uint8_t out[32];
  narrow_bf16(c, op, out);
  core_put_bytes(c, op, 1, out, 32);
}

static void sem_store_conv(struct core *c, const struct core_op *op) {
  uint8_t out[32];
  uint32_t address = core_address(c, op) & ~31u;
  narrow_bf16(c, op, out);
  core_put_store(c, op, op->memory - 1u, address, out, 32);
}

static void pack(struct core *c, const struct core_op *op, uint8_t out[32]) {
  const uint8_t *x = core_bytes(c, op->a);
  int narrow = op->sem->x, wide = op->sem->y;
  bool is_signed = sign_of(c, op, CR_PACK_SIGN);
  unsigned saturate = c->reg.cr[CR_SAT];
  for (int i = 0; i < 512 / wide; ++i) {
    int64_t v = arith_extend(arith_lane(x, i, wide), wide, is_signed);
    if (saturate & 1)
      v = arith_saturate(v, narrow, is_signed, saturate == 3);
    arith_set_lane(out, i, narrow, (uint64_t)v);
  }
}

static void sem_pack(struct core *c, const struct core_op *op) {
  uint8_t out[32];
  pack(c, op, out);
  core_put_bytes(c, op, 1, out, 32);
}

static void sem_store_pack(struct core *c, const struct core_op *op) {
  uint8_t out[32];
  uint32_t address = core_address(c, op) & ~31u;
  pack(c, op, out);
  core_put_store(c, op, op->memory - 1u, address, out, 32);
}

/* d <- floor(bf16 * 2^shift), saturated to 32 bits */
static void sem_floor(struct core *c, const struct core_op *op) {
  const uint8_t *w = core_bytes(c, op->a);
  int shift = core_shift(c, op->b);
  uint8_t out[64];
  for (int i = 0; i < 16; ++i)
    arith_set_lane(
        out, i, 32,
        (uint32_t)arith_floor_bf16((uint16_t)arith_lane(w, i, 16), shift));
  core_put_bytes(c, op, 1, out, 64);
}

/* ---- widen: vector to accumulator, or to a vector of wider lanes ---- */

static void widen_ups(struct core *c, const struct core_op *op,
                      const uint8_t *from, unsigned cycle, int shift,
                      bool is_signed) {
  uint8_t out[128];
  int narrow = op->sem->x, wide = op->sem->y;
  bool overflow = false, usual = wide == 32 && shift >= 0;
  int lanes = (int)op->d.bytes * 8 / wide;
  if (usual)
    arith_ups_lanes(out, from, lanes, shift, narrow, is_signed,
                    c->reg.cr[CR_SAT], &overflow);
  for (int i = 0; i < lanes && !usual; ++i) {
    int64_t v = arith_extend(arith_lane(from, i, narrow), narrow, is_signed);
    arith_set_lane(
        out, i, wide,
        (uint64_t)arith_ups(v, shift, wide, c->reg.cr[CR_SAT], &overflow));
  }
  core_put_bytes(c, op, cycle, out, op->d.bytes);
  if (overflow)
    core_put_scalar(c, op->d.write - cycle, CORE_OFFSET(sr[SR_UPS_OF]), 1);
}

static void sem_ups(struct core *c, const struct core_op *op) {
  widen_ups(c, op, core_bytes(c, op->a), 1, core_shift(c, op->b),
            sign_of(c, op, CR_UPS_SIGN));
}

/* A converting load keeps the 32 bytes of cycle 5 until the cycle of its
 * control registers; `more` remembers where. */
static void
keep_loaded(struct core *c, const struct core_action *a, unsigned later,
            void (*convert)(struct core *, const struct core_action *)) {
  const uint8_t *from = core_memory(c, a->op, a->value, 32);
  unsigned port =
      isa_insn(c->around.isa, (enum insn_id)a->op->insn)->slot == SLOT_LDB;
  unsigned place = c->now % RING;
  if (!from)
    return;
  memcpy(c->loaded[place][port], from, 32);
  core_later(c, later, convert, a->op, place, port);
}

/* The shift and the sign are read in cycle 7, crSat in cycle 8. */
static void load_ups_saturate(struct core *c, const struct core_action *a) {
  widen_ups(c, a->op, c->loaded[a->value][0], 8, (int)(a->more >> 1) - 32,
            a->more & 1);
}

static void load_ups_shift(struct core *c, const struct core_action *a) {
  uint32_t shift = (uint32_t)(core_shift(c, a->op->b) + 32);
  core_later(c, 1, load_ups_saturate, a->op, a->value,
             shift << 1 | sign_of(c, a->op, CR_UPS_SIGN));
}

static void load_ups(struct core *c, const struct core_action *a) {
  keep_loaded(c, a, 2, load_ups_shift);
}

static void sem_load_ups(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_ups, op, core_address(c, op) & ~31u, 0);
}

static void widen_bf16(struct core *c, const struct core_op *op, unsigned cycle,
                       const uint8_t *from) {
  uint8_t *to =
      core_put_vector(c, op->d.write - cycle, op->d.offset, 64, op->d.bypass);
  for (int i = 0; i < 16; ++i) {
    uint16_t h;
    memcpy(&h, from + 2 * i, 2);
    uint32_t v = (uint32_t)h << 16;
    memcpy(to + 4 * i, &v, 4);
  }
}

static void sem_conv_fp32(struct core *c, const struct core_op *op) {
  widen_bf16(c, op, 1, core_bytes(c, op->a));
}

static void load_conv(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value, 32);
  if (from)
    widen_bf16(c, a->op, a->op->memory, from);
}

static void sem_load_conv(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_conv, op, core_address(c, op) & ~31u, 0);
}

static void unpack(struct core *c, const struct core_op *op,
                   const uint8_t *from) {
  int narrow = op->sem->x, wide = op->sem->y;
  bool is_signed = sign_of(c, op, CR_UNPACK_SIGN);
  uint8_t out[64];
  for (int i = 0; i < 512 / wide; ++i)
    arith_set_lane(
        out, i, wide,
        (uint64_t)arith_extend(arith_lane(from, i, narrow), narrow, is_signed));
  core_put_bytes(c, op, 7, out, 64);
}

/* Source and sign are read in cycle 7. */
static void late_unpack(struct core *c, const struct core_action *a) {
  unpack(c, a->op, core_bytes(c, a->op->a));
}

static void sem_unpack(struct core *c, const struct core_op *op) {
  core_later(c, op->a.read - 1u, late_unpack, op, 0, 0);
}

static void load_unpack_sign(struct core *c, const struct core_action *a) {
  unpack(c, a->op, c->loaded[a->value][a->more]);
}

static void load_unpack(struct core *c, const struct core_action *a) {
  keep_loaded(c, a, 2, load_unpack_sign);
}

static void sem_load_unpack(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_unpack, op, core_address(c, op) & ~31u,
             0);
}

/* clang-format off */
#define BOTH(prefix, narrow_wide_s, narrow_wide_d, function, narrow, wide)     \
  {prefix narrow_wide_s, function, narrow, wide, 1},                           \
  {prefix narrow_wide_d, function, narrow, wide, 0}
#define SRS(prefix, function)                                                  \
  BOTH(prefix, "s8.s32", "d8.s32", function, 8, 32),                           \
  BOTH(prefix, "s16.s32", "d16.s32", function, 16, 32),                        \
  BOTH(prefix, "s16.s64", "d16.s64", function, 16, 64),                        \
  BOTH(prefix, "s32.s64", "d32.s64", function, 32, 64)
#define UPS(prefix, function)                                                  \
  BOTH(prefix, "s32.s8", "s32.d8", function, 8, 32),                           \
  BOTH(prefix, "s32.s16", "s32.d16", function, 16, 32),                        \
  BOTH(prefix, "s64.s16", "s64.d16", function, 16, 64),                        \
  BOTH(prefix, "s64.s32", "s64.d32", function, 32, 64)
#define PACK(prefix, function)                                                 \
  BOTH(prefix, "s8.s16", "d8.d16", function, 8, 16),                           \
  BOTH(prefix, "s4.s8", "d4.d8", function, 4, 8)
#define UNPACK(prefix, function)                                               \
  BOTH(prefix, "s16.s8", "d16.d8", function, 8, 16),                           \
  BOTH(prefix, "s8.s4", "d8.d4", function, 4, 8)

static const struct core_sem rows[] = {
  SRS("vsrs.", sem_srs), SRS("vsrsm.", sem_srs), SRS("vst.srs.", sem_store_srs),
  UPS("vups.", sem_ups), UPS("vlda.ups.", sem_load_ups),
  PACK("vpack.", sem_pack), PACK("vst.pack.", sem_store_pack),
  UNPACK("vunpack.", sem_unpack), UNPACK("vldb.unpack.", sem_load_unpack),
  {"vconv.bf16.fp32", sem_conv_bf16, 0, 0, 0},
  {"vst.conv.bf16.fp32", sem_store_conv, 0, 0, 0},
  {"vconv.fp32.bf16", sem_conv_fp32, 0, 0, 0},
  {"vlda.conv.fp32.bf16", sem_load_conv, 0, 0, 0},
  {"vfloor.s32.bf16", sem_floor, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_convert = {rows, sizeof rows / sizeof rows[0]};
