/* sem_vector.c -- the mv slot's vector instructions: moves, permutations, lane
 * arithmetic and comparison (isa.md C4, C7).
 *
 * Rows: x is the lane width in bits, y the operation, z the sign of the lanes
 * (1 signed, 0 unsigned, DYNAMIC by crVaddSign, NAMED by the register that the
 * form names, BF16 as bf16).
 */
#include "core_state.h"

#include <stddef.h>

enum { UNSIGNED, SIGNED, DYNAMIC, BF16, NAMED };

/* ---- moves and permutations ---- */

/* d <- a; what a narrower source does not fill becomes zero */
void core_move_vector(struct core *c, const struct core_op *op) {
  uint8_t scratch[128], out[128] = {0};
  unsigned n = op->a.bytes < op->d.bytes ? op->a.bytes : op->d.bytes;
  memcpy(out, core_vector(c, op->a, scratch), n);
  core_put_bytes(c, op, 1, out, op->d.bytes);
}

/* AIE2P has the others, too. */
static bool has_mode(const struct core *c, uint32_t mode) {
  enum { MODES_AIE2 = 48 };
  return mode < MODES_AIE2 || c->around.isa != isa_find("aie2");
}

/* d <- permutation b of {s1, s2} */
void core_shuffle(struct core *c, const struct core_op *op) {
  uint8_t in[128], out[64], scratch[64];
  memcpy(in, core_vector(c, op->s1, scratch), 64);
  memcpy(in + 64, core_vector(c, op->s2, scratch), 64);
  uint32_t mode = core_get(c, op->b);
  if (!has_mode(c, mode) || !arith_shuffle(out, in, mode)) {
    core_fail(c, op, "vshuffle has no mode %u", mode);
    return;
  }
  core_put_bytes(c, op, 1, out, 64);
}

static uint64_t scalar_source(const struct core *c, struct core_place p) {
  uint64_t value = core_get(c, p);
  if (p.bytes == 8) {
    p.offset = (p.offset + 4u) & 0xFFF;
    value |= (uint64_t)core_get(c, p) << 32;
  }
  return value;
}

static void broadcast(uint8_t out[64], uint64_t value, int bits) {
  for (int i = 0; i < 512 / bits; ++i)
    arith_set_lane(out, i, bits, value);
}

/* every lane of d <- a */
static void sem_bcst(struct core *c, const struct core_op *op) {
  uint8_t out[64];
  broadcast(out, scalar_source(c, op->a), op->sem->x);
  core_put_bytes(c, op, 1, out, 64);
}

/* d <- permutation r29 of the broadcast scalar */
static void sem_bcst_shuffle(struct core *c, const struct core_op *op) {
  uint8_t in[128], out[64];
  broadcast(in, scalar_source(c, op->a), op->sem->x);
  memcpy(in + 64, in, 64);
  if (!has_mode(c, c->reg.r[29]) ||
      !arith_shuffle(out, in, c->reg.r[29])) {
    core_fail(c, op, "vbcstshfl has no mode %u", c->reg.r[29]);
    return;
  }
  core_put_bytes(c, op, 1, out, 64);
}

static int lane_index(uint32_t index, int bits) {
  return (int)(index % (512u / (unsigned)bits));
}

/* every lane of d <- lane b of a */
static void sem_extract_bcst(struct core *c, const struct core_op *op) {
  uint8_t out[64], scratch[64];
  int bits = op->sem->x, lane = lane_index(core_get_b(c, op), bits);
  struct core_place from = op->a.bytes ? op->a : op->s1;
  broadcast(out, arith_lane(core_vector(c, from, scratch), lane, bits), bits);
  core_put_bytes(c, op, 1, out, 64);
}

static bool lanes_signed(const struct core *c, const struct core_op *op) {
  if (op->sem->z == NAMED)
    return core_get(c, op->acc2) & 1;
  return op->sem->z == DYNAMIC ? c->reg.cr[CR_VADD_SIGN] & 1
                               : op->sem->z == SIGNED;
}

/* d <- lane b of s1, extended */
static void sem_extract(struct core *c, const struct core_op *op) {
  uint8_t scratch[64];
  int bits = op->sem->x, lane = lane_index(core_get_b(c, op), bits);
  uint64_t v = arith_lane(core_vector(c, op->s1, scratch), lane, bits);
  v = (uint64_t)arith_extend(v, bits, lanes_signed(c, op));
  core_put(c, op, 1, (uint32_t)v);
  if (op->d.bytes == 8)
    core_put_scalar(c, op->d.write - 1u, op->d.offset + 4u,
                    (uint32_t)(v >> 32));
}

/* d <- s1 with a lane replaced by a */
void core_insert(struct core *c, const struct core_op *op, uint32_t lane) {
  uint8_t out[64], scratch[64];
  int bits = op->sem->x;
  memcpy(out, core_vector(c, op->s1, scratch), 64);
  arith_set_lane(out, lane_index(lane, bits), bits, scalar_source(c, op->a));
  core_put_bytes(c, op, 1, out, 64);
}

static void sem_insert(struct core *c, const struct core_op *op) {
  core_insert(c, op, c->reg.r[29]);
}

/* y: 0 lanes move up and a enters at the bottom, 1 the other way round */
static void sem_push(struct core *c, const struct core_op *op) {
  uint8_t out[64], scratch[64];
  size_t bytes = (size_t)op->sem->x / 8;
  const uint8_t *in = core_vector(c, op->s1.bytes ? op->s1 : op->s2, scratch);
  uint64_t a = scalar_source(c, op->a);
  if (op->sem->y) {
    memcpy(out, in + bytes, 64 - bytes);
    memcpy(out + 64 - bytes, &a, bytes);
  } else {
    memcpy(out + bytes, in, 64 - bytes);
    memcpy(out, &a, bytes);
  }
  core_put_bytes(c, op, 1, out, 64);
}

/* d <- 64 bytes of {s1 low, s2 high} from byte b on */
static void sem_shift(struct core *c, const struct core_op *op) {
  uint8_t in[128], scratch[64];
  memcpy(in, core_vector(c, op->s1, scratch), 64);
  memcpy(in + 64, core_vector(c, op->s2, scratch), 64);
  uint32_t shift = core_get(c, op->b);
  if (shift > 64)
    core_fail(c, op, "vshift by %u bytes; from 0 to 64 are known", shift);
  else
    core_put_bytes(c, op, 1, in + shift, 64);
}

/* lane i of d <- bit i of b ? s2 : s1 */
static void sem_select(struct core *c, const struct core_op *op) {
  uint8_t out[64], scratch1[64], scratch2[64];
  const uint8_t *s1 = core_vector(c, op->s1, scratch1);
  const uint8_t *s2 = core_vector(c, op->s2, scratch2);
  int bits = op->sem->x;
  uint64_t mask = scalar_source(c, op->b);
  for (int i = 0; i < 512 / bits; ++i)
    arith_set_lane(out, i, bits, arith_lane(mask >> i & 1 ? s2 : s1, i, bits));
  core_put_bytes(c, op, 1, out, 64);
}

/* ---- lane arithmetic ---- */

enum { ADD, SUB, AND, OR, ADDSUB };

/* d <- s1 op s2, lanes wrap; ADDSUB subtracts where b has a bit */
static void sem_lanes(struct core *c, const struct core_op *op) {
  uint8_t out[64], scratch1[64], scratch2[64];
  const uint8_t *s1 = core_vector(c, op->s1, scratch1);
  const uint8_t *s2 = core_vector(c, op->s2, scratch2);
  int bits = op->sem->x;
  uint64_t mask = op->sem->y == ADDSUB ? scalar_source(c, op->b) : 0;
  for (int i = 0; i < 512 / bits; ++i) {
    uint64_t a = arith_lane(s1, i, bits), b = arith_lane(s2, i, bits), r = 0;
    switch (op->sem->y) {
    case ADD:
      r = a + b;
      break;
    case SUB:
      r = a - b;
      break;
    case AND:
      r = a & b;
      break;
    case OR:
      r = a | b;
      break;
    case ADDSUB:
      r = mask >> i & 1 ? a - b : a + b;
      break;
    }
    arith_set_lane(out, i, bits, r);
  }
  core_put_bytes(c, op, 1, out, 64);
}

/* ---- comparison: a mask in e, or in d when there is no vector result ---- */

enum {
  LT,
  GE,
  EQZ,
  MAX_LT,
  MIN_GE,
  MAXDIFF_LT,
  SUB_LT,
  SUB_GE,
  ABS_GTZ,
  NEG_GTZ,
  BNEG_LTZ
};

static bool less(const struct core *c, const struct core_op *op, uint64_t a,
                 uint64_t b) {
  int bits = op->sem->x;
  if (op->sem->z == BF16)
    return arith_less_bf16((uint16_t)a, (uint16_t)b);
  if (lanes_signed(c, op))
    return arith_extend(a, bits, true) < arith_extend(b, bits, true);
  return a < b;
}

static bool is_nan(const struct core_op *op, uint64_t v) {
  return op->sem->z == BF16 && (v & 0x7FFF) > 0x7F80;
}

static bool not_less(const struct core *c, const struct core_op *op, uint64_t a,
                     uint64_t b) {
  return !is_nan(op, a) && !is_nan(op, b) && !less(c, op, a, b);
}

/* One lane: the bit of the mask, and the lane of the vector result. */
static bool compare_lane(const struct core *c, const struct core_op *op,
                         uint64_t a, uint64_t b, uint64_t *r) {
  bool bit;
  switch (op->sem->y) {
  case LT:
    return less(c, op, a, b);
  case GE:
    return not_less(c, op, a, b);
  case EQZ:
    return b == 0;
  case MAX_LT:
    bit = less(c, op, a, b);
    *r = bit ? b : a;
    return bit;
  case MIN_GE:
    bit = not_less(c, op, a, b);
    *r = bit ? b : a;
    return bit;
  case MAXDIFF_LT:
    bit = less(c, op, a, b);
    *r = bit ? 0 : a - b;
    return bit;
  case SUB_LT:
    *r = a - b;
    return less(c, op, a, b);
  case SUB_GE:
    *r = a - b;
    return not_less(c, op, a, b);
  case ABS_GTZ:
    *r = less(c, op, a, 0) ? -a : a;
    return less(c, op, 0, a);
  case NEG_GTZ:
    *r = -a;
    return less(c, op, 0, a);
  case BNEG_LTZ:
    *r = ~a;
    return less(c, op, a, 0);
  }
  return false;
}

static void put_mask(struct core *c, const struct core_op *op, uint64_t mask) {
  unsigned ahead = op->e.write - 1u;
  core_put_scalar(c, ahead, op->e.offset, (uint32_t)mask);
  if (op->e.bytes == 8)
    core_put_scalar(c, ahead, op->e.offset + 4u, (uint32_t)(mask >> 32));
}

static void sem_compare(struct core *c, const struct core_op *op) {
  static const uint8_t none[64];
  uint8_t out[64], scratch1[64], scratch2[64];
  const uint8_t *s1 = op->s1.bytes ? core_vector(c, op->s1, scratch1) : none;
  const uint8_t *s2 = op->s2.bytes ? core_vector(c, op->s2, scratch2) : none;
  int bits = op->sem->x;
  uint64_t mask = 0;
  for (int i = 0; i < 512 / bits; ++i) {
    uint64_t r = 0;
    bool bit = compare_lane(c, op, arith_lane(s1, i, bits),
                            arith_lane(s2, i, bits), &r);
    mask |= (uint64_t)bit << i;
    arith_set_lane(out, i, bits, r);
  }
  put_mask(c, op, mask);
  if (op->d.bytes)
    core_put_bytes(c, op, 1, out, 64);
}

/* clang-format off */
#define LANES(name, function, y, z)                                            \
  {name ".8", function, 8, y, z}, {name ".16", function, 16, y, z},            \
  {name ".32", function, 32, y, z}
#define LANES64(name, function, y)                                             \
  LANES(name, function, y, 0), {name ".64", function, 64, y, 0}
#define SIGNS(name, function, y)                                               \
  {name ".s8", function, 8, y, SIGNED}, {name ".s16", function, 16, y, SIGNED},\
  {name ".s32", function, 32, y, SIGNED},                                      \
  {name ".d8", function, 8, y, DYNAMIC},                                       \
  {name ".d16", function, 16, y, DYNAMIC},                                     \
  {name ".d32", function, 32, y, DYNAMIC}

static const struct core_sem rows[] = {
  {"vmov", core_move_vector, 0, 0, 0},
  {"vshuffle", core_shuffle, 0, 0, 0},
  {"vshift", sem_shift, 0, 0, 0},
  LANES64("vbcst", sem_bcst, 0),
  LANES64("vbcstshfl", sem_bcst_shuffle, 0),
  LANES64("vextbcst", sem_extract_bcst, 0),
  LANES64("vinsert", sem_insert, 0),
  LANES64("vpush.lo", sem_push, 0),
  LANES64("vpush.hi", sem_push, 1),
  SIGNS("vextract", sem_extract, 0),
  {"vextract.s64", sem_extract, 64, 0, SIGNED},
  {"vextract.d64", sem_extract, 64, 0, DYNAMIC},
  LANES("vsel", sem_select, 0, 0),
  LANES("vadd", sem_lanes, ADD, 0),
  LANES("vsub", sem_lanes, SUB, 0),
  LANES("vaddsub", sem_lanes, ADDSUB, 0),
  {"vband", sem_lanes, 64, AND, 0},
  {"vbor", sem_lanes, 64, OR, 0},
  SIGNS("vlt", sem_compare, LT),
  SIGNS("vge", sem_compare, GE),
  SIGNS("vmax_lt", sem_compare, MAX_LT),
  SIGNS("vmin_ge", sem_compare, MIN_GE),
  SIGNS("vmaxdiff_lt", sem_compare, MAXDIFF_LT),
  SIGNS("vsub_lt", sem_compare, SUB_LT),
  SIGNS("vsub_ge", sem_compare, SUB_GE),
  SIGNS("vabs_gtz", sem_compare, ABS_GTZ),
  {"vlt.bf16", sem_compare, 16, LT, BF16},
  {"vge.bf16", sem_compare, 16, GE, BF16},
  {"vmax_lt.bf16", sem_compare, 16, MAX_LT, BF16},
  {"vmin_ge.bf16", sem_compare, 16, MIN_GE, BF16},
  LANES("veqz", sem_compare, EQZ, UNSIGNED),
  {"vneg_gtz8", sem_compare, 8, NEG_GTZ, SIGNED},
  {"vneg_gtz16", sem_compare, 16, NEG_GTZ, SIGNED},
  {"vneg_gtz32", sem_compare, 32, NEG_GTZ, SIGNED},
  {"vbneg_ltz.s8", sem_compare, 8, BNEG_LTZ, SIGNED},
  {"vbneg_ltz.s16", sem_compare, 16, BNEG_LTZ, SIGNED},
  {"vbneg_ltz.s32", sem_compare, 32, BNEG_LTZ, SIGNED},
};
/* clang-format on */
const struct core_sem_table sem_vector = {rows, sizeof rows / sizeof rows[0]};

/* clang-format off */
static const struct core_sem named_rows[] = {
  LANES("vextract", sem_extract, 0, NAMED),
  {"vextract.64", sem_extract, 64, 0, NAMED},
  LANES("vlt", sem_compare, LT, NAMED),
  LANES("vge", sem_compare, GE, NAMED),
  LANES("vmax_lt", sem_compare, MAX_LT, NAMED),
  LANES("vmin_ge", sem_compare, MIN_GE, NAMED),
  LANES("vmaxdiff_lt", sem_compare, MAXDIFF_LT, NAMED),
  LANES("vsub_lt", sem_compare, SUB_LT, NAMED),
  LANES("vsub_ge", sem_compare, SUB_GE, NAMED),
  LANES("vabs_gtz", sem_compare, ABS_GTZ, NAMED),
  LANES("vneg_gtz", sem_compare, NEG_GTZ, SIGNED),
};
/* clang-format on */
const struct core_sem_table sem_named_sign = {
    named_rows, sizeof named_rows / sizeof named_rows[0]};
