/* sem_wide_convert.c -- AIE2P's conversions: factors of 2 and 4 between
 * accumulators and vectors, whose lanes crsrsmode and crupsmode tell, with the
 * sign bit that the form names; bf16 and block floats.
 *
 * Rows: x is the factor.
 */
#include "core_state.h"

static bool named_sign(const struct core *c, const struct core_op *op) {
  return core_get(c, op->acc2) & 1;
}

static bool known_rounding(struct core *c, const struct core_op *op) {
  if (!arith_round_known(c->reg.cr[CR_RND]))
    core_fail(c, op, "crrnd is %u, a reserved rounding mode",
              c->reg.cr[CR_RND]);
  return !c->failed;
}

/* s registers hold 0 to 63. */
static int shift_of(const struct core *c, const struct core_op *op) {
  return (int)(core_get(c, op->b) & 63);
}

/* ---- accumulator to vector ---- */

/* Returns the bytes of the result. */
static unsigned srs(struct core *c, const struct core_op *op, uint8_t out[64]) {
  int wide = c->reg.cr[CR_SRS_MODE] & 1 ? 64 : 32, narrow = wide / op->sem->x;
  int lanes = (int)op->a.bytes * 8 / wide, shift = shift_of(c, op);
  const uint8_t *acc = core_bytes(c, op->a);
  bool overflow = false;
  if (!known_rounding(c, op))
    return 0;
  for (int i = 0; i < lanes; ++i)
    arith_set_lane(
        out, i, narrow,
        (uint64_t)arith_srs(arith_extend(arith_lane(acc, i, wide), wide, true),
                            shift, narrow, named_sign(c, op), c->reg.cr[CR_RND],
                            c->reg.cr[CR_SAT], &overflow));
  if (overflow) /* sticky */
    core_put_scalar(c, 3, CORE_OFFSET(sr[SR_SRS_OF]), 1);
  return op->a.bytes / (unsigned)op->sem->x;
}

static void sem_srs(struct core *c, const struct core_op *op) {
  uint8_t out[64];
  if (srs(c, op, out))
    core_put_bytes(c, op, 1, out, op->d.bytes);
}

static void sem_store_srs(struct core *c, const struct core_op *op) {
  uint8_t out[64];
  unsigned bytes = op->a.bytes / (unsigned)op->sem->x;
  uint32_t address = core_aligned(c, op, bytes);
  if (srs(c, op, out))
    core_put_store(c, op, op->memory - 1u, address, out, bytes);
}

static void narrow_bf16(struct core *c, const struct core_op *op,
                        uint8_t out[64]) {
  if (known_rounding(c, op))
    arith_f32_to_bf16(out, core_bytes(c, op->a), (int)op->a.bytes / 4,
                      c->reg.cr[CR_RND]);
}

static void sem_conv_bf16(struct core *c, const struct core_op *op) {
  uint8_t out[64] = {0};
  narrow_bf16(c, op, out);
  core_put_bytes(c, op, 1, out, op->d.bytes);
}

static void sem_store_conv(struct core *c, const struct core_op *op) {
  uint8_t out[64] = {0};
  unsigned bytes = op->a.bytes / 2;
  uint32_t address = core_aligned(c, op, bytes);
  narrow_bf16(c, op, out);
  core_put_store(c, op, op->memory - 1u, address, out, bytes);
}

bool core_to_block(struct core *c, const struct core_op *op,
                   const uint8_t from[256], struct core_block *block) {
  if (!known_rounding(c, op))
    return false;
  for (int i = 0; i < 8; ++i)
    if (!arith_f32_to_block((int8_t *)block->mantissa + 8 * i,
                            &block->exponent[i], from + 32 * i,
                            c->reg.cr[CR_RND])) {
      core_fail(c, op, "what infinity and NaN become in a block is not known");
      return false;
    }
  return true;
}

/* crrnd is read in cycle 2. */
static void late_to_block(struct core *c, const struct core_action *a) {
  struct core_block block;
  if (core_to_block(c, a->op, c->late_operand[c->now % RING][1], &block))
    core_put_block(c, a->op, 2, &block);
}

static void sem_to_block(struct core *c, const struct core_op *op) {
  memcpy(c->late_operand[(c->now + 1) % RING][1], core_bytes(c, op->a), 256);
  core_later(c, 1, late_to_block, op, 0, 0);
}

/* ---- vector to accumulator, or to a vector of wider lanes ---- */

struct ups {
  int shift;
  bool is_signed;
  unsigned saturate;
};

static void ups(struct core *c, const struct core_op *op, unsigned cycle,
                const uint8_t *from, struct ups how) {
  uint8_t out[256];
  int wide = c->reg.cr[CR_UPS_MODE] & 1 ? 64 : 32, narrow = wide / op->sem->x;
  bool overflow = false;
  for (int i = 0; i < (int)op->d.bytes * 8 / wide; ++i)
    arith_set_lane(out, i, wide,
                   (uint64_t)arith_ups(arith_extend(arith_lane(from, i, narrow),
                                                    narrow, how.is_signed),
                                       how.shift, wide, how.saturate,
                                       &overflow));
  core_put_bytes(c, op, cycle, out, op->d.bytes);
  if (overflow)
    core_put_scalar(c, op->d.write - cycle, CORE_OFFSET(sr[SR_UPS_OF]), 1);
}

static uint32_t remember(struct core *c, const struct core_op *op) {
  return (uint32_t)shift_of(c, op) << 8 | c->reg.cr[CR_SAT] << 1 |
         named_sign(c, op);
}

static struct ups recall(uint32_t value) {
  return (struct ups){(int)(value >> 8), value & 1, value >> 1 & 3};
}

/* crupsmode is read in cycle 2, all else in 1. */
static void late_ups(struct core *c, const struct core_action *a) {
  ups(c, a->op, 2, c->late_operand[c->now % RING][0], recall(a->value));
}

static void sem_ups(struct core *c, const struct core_op *op) {
  uint8_t scratch[64];
  memcpy(c->late_operand[(c->now + 1) % RING][0],
         core_vector(c, op->a, scratch), op->a.bytes);
  core_later(c, 1, late_ups, op, remember(c, op), 0);
}

/* A converting load: data in cycle 5, shift, sign and crsat in 7, crupsmode in
 * 8. */
static void load_ups_mode(struct core *c, const struct core_action *a) {
  ups(c, a->op, 8, c->loaded[a->value][0], recall(a->more));
}

static void load_ups_shift(struct core *c, const struct core_action *a) {
  core_later(c, 1, load_ups_mode, a->op, a->value, remember(c, a->op));
}

static unsigned narrow_bytes(const struct core_op *op) {
  return op->d.bytes / (unsigned)op->sem->x;
}

static void load_ups(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value, narrow_bytes(a->op));
  unsigned place = c->now % RING;
  if (!from)
    return;
  memcpy(c->loaded[place][0], from, narrow_bytes(a->op));
  core_later(c, 2, load_ups_shift, a->op, place, 0);
}

static void sem_load_ups(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_ups, op,
             core_aligned(c, op, narrow_bytes(op)), 0);
}

static void widen_bf16(struct core *c, const struct core_op *op, unsigned cycle,
                       const uint8_t *from) {
  uint8_t out[128];
  for (int i = 0; i < (int)op->d.bytes / 4; ++i)
    arith_set_lane(out, i, 32, arith_lane(from, i, 16) << 16);
  core_put_bytes(c, op, cycle, out, op->d.bytes);
}

static void sem_conv_fp32(struct core *c, const struct core_op *op) {
  uint8_t scratch[64];
  widen_bf16(c, op, 1, core_vector(c, op->a, scratch));
}

static void load_conv(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value, a->op->d.bytes / 2);
  if (from)
    widen_bf16(c, a->op, a->op->memory, from);
}

static void sem_load_conv(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_conv, op,
             core_aligned(c, op, op->d.bytes / 2), 0);
}

/* 4 to 8 bits, or 8 to 16: crunpacksize, read in cycle 7 with the sign. */
static void unpack(struct core *c, const struct core_op *op,
                   const uint8_t *from) {
  uint8_t out[128];
  int narrow = c->reg.cr[CR_UNPACK_SIZE] & 1 ? 8 : 4;
  for (int i = 0; i < (int)op->d.bytes * 4 / narrow; ++i)
    arith_set_lane(out, i, 2 * narrow,
                   (uint64_t)arith_extend(arith_lane(from, i, narrow), narrow,
                                          named_sign(c, op)));
  core_put_bytes(c, op, 7, out, op->d.bytes);
}

static void late_unpack(struct core *c, const struct core_action *a) {
  unpack(c, a->op, core_bytes(c, a->op->a));
}

static void sem_unpack(struct core *c, const struct core_op *op) {
  core_later(c, op->a.read - 1u, late_unpack, op, 0, 0);
}

static void load_unpack_size(struct core *c, const struct core_action *a) {
  unpack(c, a->op, c->loaded[a->value][1]);
}

static void load_unpack(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value, a->op->d.bytes / 2);
  unsigned place = c->now % RING;
  if (!from)
    return;
  memcpy(c->loaded[place][1], from, a->op->d.bytes / 2);
  core_later(c, 2, load_unpack_size, a->op, place, 0);
}

static void sem_load_unpack(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, load_unpack, op,
             core_aligned(c, op, op->d.bytes / 2), 0);
}

/* clang-format off */
static const struct core_sem rows[] = {
  {"vsrs.2x", sem_srs, 2, 0, 0},
  {"vsrs.4x", sem_srs, 4, 0, 0},
  {"vst.srs.2x", sem_store_srs, 2, 0, 0},
  {"vst.srs.4x", sem_store_srs, 4, 0, 0},
  {"vups.2x", sem_ups, 2, 0, 0},
  {"vups.4x", sem_ups, 4, 0, 0},
  {"vlda.ups.2x", sem_load_ups, 2, 0, 0},
  {"vlda.ups.4x", sem_load_ups, 4, 0, 0},
  {"vconv.bf16.fp32", sem_conv_bf16, 0, 0, 0},
  {"vst.conv.bf16.fp32", sem_store_conv, 0, 0, 0},
  {"vconv.fp32.bf16", sem_conv_fp32, 0, 0, 0},
  {"vlda.conv.fp32.bf16", sem_load_conv, 0, 0, 0},
  {"vconv.bfp16ebs8.fp32", sem_to_block, 0, 0, 0},
  {"vunpack", sem_unpack, 0, 0, 0},
  {"vldb.unpack", sem_load_unpack, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_wide_convert = {rows,
                                                sizeof rows / sizeof rows[0]};
