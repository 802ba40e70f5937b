/* sem_wide_multiply.c -- AIE2P's vec slot: products of integers and of block
 * floats, integer arithmetic on accumulators of 2048 bits.
 *
 * As in sem_multiply.c operands are kept in cycle 1; accumulators are read in
 * cycle 4.  How element-wise products of bf16 are added is not known, and taken
 * to be as on AIE-ML (arith_dot_bf16); sums of fp32 accumulators stop the core.
 */
#include "core_state.h"

enum {
  CONFIG_SHIFT16 = 1 << 10,
  CONFIG_BLOCK = 12, /* amode 2, bmode 1, variant 0: 8x8 blocks times 8x8 */
  CONFIG_LANES = 60, /* amode 2, bmode 3, variant 1: bf16 by element */
  CONFIG_MODES = 0xFE,
  ACC_BYTES = 256,
  SIGNS = ARITH_SIGNED_A | ARITH_SIGNED_B
};

static struct core_capture *capture(struct core *c, const struct core_op *op) {
  struct core_capture *k = &c->capture[c->now % CAPTURES];
  k->config = core_get(c, op->b);
  k->sem = op->sem;
  k->flags = core_mac_flags(op, k->config);
  k->shape = arith_shape_wide(k->config);
  if (k->config & CONFIG_SHIFT16 || k->config >> 16) {
    core_fail(c, op, "configuration 0x%x: shift16 and lane signs are not known",
              k->config);
    return NULL;
  }
  return k;
}

/* ---- block floats ---- */

static void late_block(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const struct core_capture *k = &c->capture[a->value];
  static const uint8_t none[ACC_BYTES];
  const uint8_t *acc = op->acc1.bytes ? core_bytes(c, op->acc1) : none;
  const uint8_t *other = op->acc2.bytes ? core_bytes(c, op->acc2) : NULL;
  uint8_t out[ACC_BYTES];
  for (int i = 0; i < 64; ++i) {
    int row = i / 8, column = i % 8;
    uint32_t old = (uint32_t)arith_lane(acc, i, 32);
    arith_set_lane(
        out, i, 32,
        arith_dot_block(
            (const int8_t *)k->s1 + 8 * row, k->s1[64 + row],
            (const int8_t *)k->s2 + 8 * column, k->s2[64 + column],
            other ? arith_block_add(old, (uint32_t)arith_lane(other, i, 32))
                  : old,
            k->flags));
  }
  core_put_bytes(c, op, core_acc_cycle(op), out, ACC_BYTES);
}

/* Products of bf16 lane by lane, of y registers. */
static void late_lanes(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const struct core_capture *k = &c->capture[a->value];
  static const uint8_t none[ACC_BYTES];
  const uint8_t *acc = op->acc1.bytes ? core_bytes(c, op->acc1) : none;
  uint8_t out[ACC_BYTES];
  for (int i = 0; i < ACC_BYTES / 4; ++i) {
    uint16_t x = (uint16_t)arith_lane(k->s1, i, 16),
             y = (uint16_t)arith_lane(k->s2, i, 16);
    uint32_t old = (uint32_t)arith_lane(acc, i, 32);
    arith_set_lane(out, i, 32, arith_dot_bf16(1, &x, &y, &old, NULL, k->flags));
  }
  core_put_bytes(c, op, core_acc_cycle(op), out, ACC_BYTES);
}

static bool is_by_lane(const struct core_op *op, uint32_t config) {
  return op->s1.bytes == op->s2.bytes && op->s1.bytes == 128 &&
         !op->acc2.bytes && (config & CONFIG_MODES) == CONFIG_LANES;
}

static void sem_mac_f(struct core *c, const struct core_op *op) {
  struct core_capture *k = capture(c, op);
  struct core_block block;
  if (!k)
    return;
  if (is_by_lane(op, k->config)) {
    uint8_t scratch[128];
    memcpy(k->s1, core_vector(c, op->s1, scratch), op->s1.bytes);
    memcpy(k->s2, core_vector(c, op->s2, scratch), op->s2.bytes);
    core_later_or_now(c, op, late_lanes, c->now % CAPTURES);
    return;
  }
  if (op->s1.bytes != 72 || op->s2.bytes != 72 ||
      (op->acc2.bytes && k->flags & ~(unsigned)SIGNS) ||
      (k->config & CONFIG_MODES) != CONFIG_BLOCK) {
    core_fail(c, op, "configuration 0x%x: this product of floats is not known",
              k->config);
    return;
  }
  core_get_block(c, op->s1, &block);
  memcpy(k->s1, &block, 72);
  core_get_block(c, op->s2, &block);
  memcpy(k->s2, &block, 72);
  core_later_or_now(c, op, late_block, c->now % CAPTURES);
}

/* ---- integers ---- */

static const uint8_t *late_acc(struct core *c, struct core_place p,
                               uint8_t scratch[ACC_BYTES]) {
  return p.bytes ? core_vector(c, p, scratch) : NULL;
}

static void late_mac(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const struct core_capture *k = &c->capture[a->value];
  uint8_t scratch1[ACC_BYTES], scratch2[ACC_BYTES], out[ACC_BYTES];
  arith_mac_int(k->shape, out, late_acc(c, op->acc1, scratch1),
                late_acc(c, op->acc2, scratch2), k->s1, k->s2, k->flags);
  core_put_bytes(c, op, core_acc_cycle(op), out, ACC_BYTES);
}

/* Whether an operand is the register that the shape's elements take: an x, or a
 * y if they fill more. */
static bool takes(const struct arith_shape *s, struct core_place p, bool b) {
  int bits = arith_shape_elements(s, b) * (b ? s->b_bits : s->a_bits);
  return p.bytes == (bits <= 512 ? 64 : 128);
}

static void sem_mac(struct core *c, const struct core_op *op) {
  struct core_capture *k = capture(c, op);
  uint8_t scratch[128];
  if (!k)
    return;
  if (!k->shape || !takes(k->shape, op->s1, false) ||
      !takes(k->shape, op->s2, true)) {
    core_fail(c, op,
              "configuration 0x%x with operands of %u and %u bytes is no "
              "integer product that we know",
              k->config, op->s1.bytes, op->s2.bytes);
    return;
  }
  memcpy(k->s1, core_vector(c, op->s1, scratch), op->s1.bytes);
  memcpy(k->s2, core_vector(c, op->s2, scratch), op->s2.bytes);
  core_later_or_now(c, op, late_mac, c->now % CAPTURES);
}

/* d <- +-acc1 +- acc2 in lanes of 32 bits, or 64 with amode 1. */
static void late_sum(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  uint8_t scratch1[ACC_BYTES], scratch2[ACC_BYTES], out[ACC_BYTES];
  const uint8_t *acc1 = late_acc(c, op->acc1, scratch1);
  const uint8_t *acc2 = late_acc(c, op->acc2, scratch2);
  int bits = a->more ? 64 : 32;
  for (int i = 0; i < ACC_BYTES * 8 / bits; ++i) {
    uint64_t x = a->value & ARITH_ZERO_ACC1 ? 0 : arith_lane(acc1, i, bits);
    uint64_t y = acc2 ? arith_lane(acc2, i, bits) : 0;
    if (a->value & ARITH_NEGATE_ACC1)
      x = -x;
    arith_set_lane(out, i, bits, a->value & ARITH_NEGATE_ACC2 ? x - y : x + y);
  }
  core_put_bytes(c, op, op->acc1.read, out, ACC_BYTES);
}

static void sem_sum(struct core *c, const struct core_op *op) {
  uint32_t config = core_get(c, op->b);
  if (config & CONFIG_SHIFT16)
    core_fail(c, op, "configuration 0x%x: what shift16 does is not known",
              config);
  else
    core_later(c, op->acc1.read - 1u, late_sum, op, core_acc_flags(op, config),
               (config >> 1 & 3) == 1);
}

/* ---- no arithmetic ---- */

static void sem_clear(struct core *c, const struct core_op *op) {
  static const uint8_t none[ACC_BYTES];
  core_put_bytes(c, op, 1, none, ACC_BYTES);
}

static void late_move(struct core *c, const struct core_action *a) {
  uint8_t scratch[ACC_BYTES];
  core_put_bytes(c, a->op, a->op->acc1.read, late_acc(c, a->op->acc1, scratch),
                 ACC_BYTES);
}

static void sem_move_acc(struct core *c, const struct core_op *op) {
  core_later(c, op->acc1.read - 1u, late_move, op, 0, 0);
}

/* clang-format off */
static const struct core_sem rows[] = {
  {"vmac.f",    sem_mac_f, 0, 0, 0},
  {"vmul.f",    sem_mac_f, 0, 0, 0},
  {"vmsc.f",    sem_mac_f, ARITH_NEGATE_PRODUCT, 0, 0},
  {"vnegmul.f", sem_mac_f, ARITH_NEGATE_PRODUCT, 0, 0},
  {"vmac",      sem_mac, 0, 0, 0},
  {"vmul",      sem_mac, 0, 0, 0},
  {"vmsc",      sem_mac, ARITH_NEGATE_PRODUCT, 0, 0},
  {"vnegmul",   sem_mac, ARITH_NEGATE_PRODUCT, 0, 0},
  {"vaddmac.f", sem_mac_f, 0, 0, 0},
  {"vaddmac",   sem_mac, 0, 0, 0},
  {"vaddmsc",   sem_mac, ARITH_NEGATE_PRODUCT, 0, 0},
  {"vadd",      sem_sum, 0, 0, 0},
  {"vsub",      sem_sum, ARITH_NEGATE_ACC2, 0, 0},
  {"vneg",      sem_sum, ARITH_NEGATE_ACC1, 0, 0},
  {"vclr",      sem_clear, 0, 0, 0},
  {"vmov.d",    sem_move_acc, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_wide_multiply = {rows,
                                                 sizeof rows / sizeof rows[0]};
