/* sem_multiply.c -- the vec slot: multiply-accumulate and arithmetic on
 * accumulators (isa.md C5, C8, E1, E2, E6).
 *
 * Vector operands and the configuration are read in cycle 1 and kept; the
 * accumulators are read in cycle 3, there the result is computed, and it lands
 * in the form's write cycle.
 */
#include "core_state.h"

#include <stddef.h>

/* The senses that mnemonics differ in: x of a row. */
enum {
  SUBTRACT = ARITH_NEGATE_PRODUCT,
  NEGATE = ARITH_NEGATE_ACC1,
  MINUS_ACC2 = ARITH_NEGATE_ACC2,
};

/* Bits of the configuration word (isa.md C8). */
enum {
  CONFIG_ZERO = 1 << 0,
  CONFIG_SIGNED_B = 1 << 8,
  CONFIG_SIGNED_A = 1 << 9,
  CONFIG_SHIFT16 = 1 << 10,
  CONFIG_SUB0 = 1 << 11,
  CONFIG_SUB1 = 1 << 12,
  CONFIG_SUB2 = 1 << 13,
};

static unsigned variant_of(uint32_t config) { return config >> 5 & 7; }

unsigned core_mac_flags(const struct core_op *op, uint32_t config) {
  unsigned flags = (unsigned)op->sem->x;
  if (config & CONFIG_ZERO)
    flags |= ARITH_ZERO_ACC1;
  if (config & CONFIG_SIGNED_A)
    flags |= ARITH_SIGNED_A;
  if (config & CONFIG_SIGNED_B)
    flags |= ARITH_SIGNED_B;
  if (config & CONFIG_SUB0)
    flags ^= ARITH_NEGATE_PRODUCT;
  if (config & CONFIG_SUB1)
    flags ^= ARITH_NEGATE_ACC1;
  if (config & CONFIG_SUB2)
    flags ^= ARITH_NEGATE_ACC2;
  return flags;
}

/* There bit 11 negates acc1 and bit 12 acc2. */
unsigned core_acc_flags(const struct core_op *op, uint32_t config) {
  unsigned flags = (unsigned)op->sem->x;
  if (config & CONFIG_ZERO)
    flags |= ARITH_ZERO_ACC1;
  if (config & CONFIG_SUB0)
    flags ^= ARITH_NEGATE_ACC1;
  if (config & CONFIG_SUB1)
    flags ^= ARITH_NEGATE_ACC2;
  return flags;
}

/* Cycle 1 of every multiply: operands kept for the accumulator's cycle.  NULL
 * after core_fail. */
static struct core_capture *capture(struct core *c, const struct core_op *op) {
  struct core_capture *k = &c->capture[c->now % CAPTURES];
  uint8_t scratch[128];
  uint32_t config = core_get(c, op->b);
  if (op->s1.bytes != 64 || op->s2.bytes != 64) {
    core_fail(c, op, "sparse multiplies are not known");
    return NULL;
  }
  if (config & CONFIG_SHIFT16) {
    core_fail(c, op, "configuration 0x%x: what shift16 does is not known",
              config);
    return NULL;
  }
  if (k->config != config || k->sem != op->sem) { /* loops change neither */
    k->config = config;
    k->sem = op->sem;
    k->flags = core_mac_flags(op, config);
    k->shape = arith_shape(config);
  }
  memcpy(k->s1, core_vector(c, op->s1, scratch), 64);
  memcpy(k->s2, core_vector(c, op->s2, scratch), 64);
  return k;
}

unsigned core_acc_cycle(const struct core_op *op) {
  return op->acc1.bytes ? op->acc1.read : 1;
}

void core_later_or_now(struct core *c, const struct core_op *op,
                       void (*run)(struct core *, const struct core_action *),
                       uint32_t value) {
  unsigned cycle = core_acc_cycle(op);
  struct core_action now = {run, op, value, 0};
  if (cycle > 1)
    core_later(c, cycle - 1, run, op, value, 0);
  else
    run(c, &now);
}

/* ---- floats ---- */

static const uint32_t zero_acc[32];

/* Shapes and operands that the fast function does not take, lane by lane. */
static void mac_lanes(uint32_t d[16], const uint32_t acc1[16],
                      const uint32_t *acc2, const struct core_capture *k) {
  const uint16_t *s1 = (const uint16_t *)k->s1, *s2 = (const uint16_t *)k->s2;
  bool element = variant_of(k->config) == 1;
  for (int lane = 0; lane < 16; ++lane) {
    uint16_t a[8], b[8];
    int count = element ? 2 : 8;
    for (int i = 0; i < count; ++i) {
      a[i] = element ? s1[lane + 16 * i] : s1[lane / 4 * 8 + i];
      b[i] = element ? s2[lane + 16 * i] : s2[i * 4 + lane % 4];
    }
    d[lane] = arith_dot_bf16(count, a, b, &acc1[lane],
                             acc2 ? &acc2[lane] : NULL, k->flags);
  }
}

static void late_mac_f(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const struct core_capture *k = &c->capture[a->value];
  const uint32_t *acc1 = zero_acc, *acc2 = NULL;
  if (op->acc1.bytes)
    acc1 = (const uint32_t *)core_bytes(c, op->acc1);
  if (op->acc2.bytes)
    acc2 = (const uint32_t *)core_bytes(c, op->acc2);
  uint32_t *d = (uint32_t *)core_put_vector(c, op->d.write - core_acc_cycle(op),
                                            op->d.offset, 64, op->d.bypass);
  if (!acc2 && variant_of(k->config) == 0)
    c->arith->mac_bf16(d, acc1, (const uint16_t *)k->s1,
                       (const uint16_t *)k->s2, k->flags);
  else
    mac_lanes(d, acc1, acc2, k);
}

static void sem_mac_f(struct core *c, const struct core_op *op) {
  struct core_capture *k = capture(c, op);
  if (!k)
    return;
  if ((k->config & 0x1E) != 0x1C || variant_of(k->config) > 1) {
    core_fail(c, op, "configuration 0x%x is no bf16 multiply that we know",
              k->config);
    return;
  }
  core_later_or_now(c, op, late_mac_f, c->now % CAPTURES);
}

/* d <- +-acc1 +- acc2, lane by lane; vneg.f has no acc2. */
static void late_acc_f(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const uint8_t *acc1 = core_bytes(c, op->acc1),
                *acc2 = core_bytes(c, op->acc2);
  uint8_t *d = core_put_vector(c, op->d.write - op->acc1.read, op->d.offset, 64,
                               op->d.bypass);
  for (int i = 0; i < 16; ++i) {
    uint32_t x = (uint32_t)arith_lane(acc1, i, 32), y = 0;
    if (a->value & ARITH_ZERO_ACC1)
      x = 0;
    if (op->acc2.bytes)
      y = (uint32_t)arith_lane(acc2, i, 32);
    if (a->value & ARITH_NEGATE_ACC1)
      x ^= 0x80000000;
    if (op->acc2.bytes && (a->value & ARITH_NEGATE_ACC2))
      y ^= 0x80000000;
    arith_set_lane(d, i, 32, arith_add_f32(x, y));
  }
}

static void sem_acc_f(struct core *c, const struct core_op *op) {
  uint32_t config = core_get(c, op->b);
  core_later(c, op->acc1.read - 1u, late_acc_f, op, core_acc_flags(op, config),
             0);
}

/* ---- integers ---- */

static const uint8_t *late_acc(struct core *c, struct core_place p,
                               uint8_t scratch[128]) {
  return p.bytes ? core_vector(c, p, scratch) : NULL;
}

static void late_mac(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const struct core_capture *k = &c->capture[a->value];
  _Alignas(64) uint8_t scratch1[128], scratch2[128], d[128];
  const uint8_t *acc1 = late_acc(c, op->acc1, scratch1);
  const uint8_t *acc2 = late_acc(c, op->acc2, scratch2);
  if (!acc1)
    acc1 = (const uint8_t *)zero_acc;
  if (!acc2 && (k->config & 0xFE) == 8)
    c->arith->mac_i8((uint32_t *)d, (const uint32_t *)acc1, k->s1, k->s2,
                     k->flags);
  else
    arith_mac_int(k->shape, d, acc1, acc2, k->s1, k->s2, k->flags);
  core_put_bytes(c, op, core_acc_cycle(op), d, 128);
}

static void sem_mac(struct core *c, const struct core_op *op) {
  struct core_capture *k = capture(c, op);
  if (!k)
    return;
  if (!k->shape)
    core_fail(c, op, "configuration 0x%x is no integer multiply that we know",
              k->config);
  else if (k->shape->element && k->config >> 16)
    core_fail(c, op, "configuration 0x%x: lane signs are not known", k->config);
  else
    core_later_or_now(c, op, late_mac, c->now % CAPTURES);
}

/* d <- +-acc1 +- acc2 in lanes of 32 bits, or 64 with amode 1. */
static void late_acc_int(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  _Alignas(64) uint8_t scratch1[128], scratch2[128], d[128];
  const uint8_t *acc1 = late_acc(c, op->acc1, scratch1);
  const uint8_t *acc2 = late_acc(c, op->acc2, scratch2);
  int bits = a->more ? 64 : 32;
  for (int i = 0; i < 1024 / bits; ++i) {
    uint64_t x = arith_lane(acc1, i, bits);
    uint64_t y = acc2 ? arith_lane(acc2, i, bits) : 0;
    if (a->value & ARITH_ZERO_ACC1)
      x = 0;
    if (a->value & ARITH_NEGATE_ACC1)
      x = -x;
    arith_set_lane(d, i, bits, a->value & ARITH_NEGATE_ACC2 ? x - y : x + y);
  }
  core_put_bytes(c, op, op->acc1.read, d, 128);
}

static void sem_acc(struct core *c, const struct core_op *op) {
  uint32_t config = core_get(c, op->b);
  if (config & CONFIG_SHIFT16)
    core_fail(c, op, "configuration 0x%x: what shift16 does is not known",
              config);
  else
    core_later(c, op->acc1.read - 1u, late_acc_int, op,
               core_acc_flags(op, config), (config >> 1 & 3) == 1);
}

/* ---- no arithmetic ---- */

/* d <- 0 */
static void sem_clear(struct core *c, const struct core_op *op) {
  core_put_bytes(c, op, 1, (const uint8_t *)zero_acc, op->d.bytes);
}

static void late_move(struct core *c, const struct core_action *a) {
  core_put_bytes(c, a->op, a->op->acc1.read, core_bytes(c, a->op->acc1), 128);
}

/* d <- acc1 */
static void sem_move_acc(struct core *c, const struct core_op *op) {
  core_later(c, op->acc1.read - 1u, late_move, op, 0, 0);
}

/* clang-format off */
static const struct core_sem rows[] = {
  {"vmac.f",    sem_mac_f, 0, 0, 0},
  {"vmul.f",    sem_mac_f, 0, 0, 0},
  {"vmsc.f",    sem_mac_f, SUBTRACT, 0, 0},
  {"vnegmac.f", sem_mac_f, NEGATE | SUBTRACT, 0, 0},
  {"vnegmsc.f", sem_mac_f, NEGATE, 0, 0},
  {"vnegmul.f", sem_mac_f, SUBTRACT, 0, 0},
  {"vaddmac.f", sem_mac_f, 0, 0, 0},
  {"vaddmsc.f", sem_mac_f, SUBTRACT, 0, 0},
  {"vsubmac.f", sem_mac_f, MINUS_ACC2, 0, 0},
  {"vsubmsc.f", sem_mac_f, MINUS_ACC2 | SUBTRACT, 0, 0},
  {"vmac",      sem_mac, 0, 0, 0},
  {"vmul",      sem_mac, 0, 0, 0},
  {"vmsc",      sem_mac, SUBTRACT, 0, 0},
  {"vnegmac",   sem_mac, NEGATE | SUBTRACT, 0, 0},
  {"vnegmsc",   sem_mac, NEGATE, 0, 0},
  {"vnegmul",   sem_mac, SUBTRACT, 0, 0},
  {"vaddmac",   sem_mac, 0, 0, 0},
  {"vaddmsc",   sem_mac, SUBTRACT, 0, 0},
  {"vsubmac",   sem_mac, MINUS_ACC2, 0, 0},
  {"vsubmsc",   sem_mac, MINUS_ACC2 | SUBTRACT, 0, 0},
  {"vadd.f",    sem_acc_f, 0, 0, 0},
  {"vsub.f",    sem_acc_f, MINUS_ACC2, 0, 0},
  {"vnegadd.f", sem_acc_f, NEGATE | MINUS_ACC2, 0, 0},
  {"vnegsub.f", sem_acc_f, NEGATE, 0, 0},
  {"vneg.f",    sem_acc_f, NEGATE, 0, 0},
  {"vadd",      sem_acc, 0, 0, 0},
  {"vsub",      sem_acc, MINUS_ACC2, 0, 0},
  {"vnegadd",   sem_acc, NEGATE | MINUS_ACC2, 0, 0},
  {"vnegsub",   sem_acc, NEGATE, 0, 0},
  {"vneg",      sem_acc, NEGATE, 0, 0},
  {"vclr",      sem_clear, 0, 0, 0},
  {"vmov.d",    sem_move_acc, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_multiply = {rows, sizeof rows / sizeof rows[0]};
