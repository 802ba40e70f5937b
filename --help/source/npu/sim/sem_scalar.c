/* sem_scalar.c -- what scalar instructions do: arithmetic, moves, branches,
 * locks (isa.md C2, C3, C4, C9).
 */
#include "core_state.h"

#include <stddef.h>

/* ---- arithmetic: d <- expression of a and b ---- */
#define ALU(name, expression)                                                  \
  static void sem_##name(struct core *c, const struct core_op *op) {           \
    uint32_t a = core_get(c, op->a), b = core_get_b(c, op);                    \
    (void)b;                                                                   \
    core_put(c, op, 1, (expression));                                          \
  }

/* amount >= 0 shifts left, < 0 right; 32 or more leaves only the fill. */
static uint32_t shifted(uint32_t a, int32_t amount, uint32_t fill) {
  if (amount >= 0)
    return amount > 31 ? 0 : a << amount;
  if (amount < -31)
    return fill;
  return a >> -amount | (uint32_t)((uint64_t)fill << (32 + amount));
}

/* Bits equal to the topmost, from the top on. */
static uint32_t leading_same(uint32_t a) {
  uint32_t x = a >> 31 ? ~a : a;
  return x ? (uint32_t)__builtin_clz(x) : 32;
}

ALU(and, a &b)
ALU(or, a | b)
ALU(xor, a ^ b)
ALU(eq, a == b)
ALU(ne, a != b)
ALU(ge, (int32_t)a >= (int32_t)b)
ALU(lt, (int32_t)a < (int32_t)b)
ALU(geu, a >= b)
ALU(ltu, a < b)
ALU(eqz, a == 0)
ALU(nez, a != 0)
ALU(lshl, shifted(a, (int32_t)b, 0))
ALU(ashl, shifted(a, (int32_t)b, a >> 31 ? ~0u : 0u))
ALU(mul, a *b)
ALU(clb, leading_same(a))
ALU(clz, a ? (uint32_t)__builtin_clz(a) : 32u)
ALU(extend, (uint32_t)arith_extend(a, op->sem->x, op->sem->y))
ALU(sel_eqz, c->reg.r[27] == 0 ? a : b)
ALU(sel_nez, c->reg.r[27] != 0 ? a : b)

static void put_carry(struct core *c, bool carry) {
  core_put_scalar(c, 0, CORE_OFFSET(sr[SR_CARRY]), carry);
}

/* d <- a + b + carry, srCarry <- carry out; subtraction adds the complement,
 * so that carry means no borrow.  x: subtract, y: use srCarry. */
static void sem_add(struct core *c, const struct core_op *op) {
  uint64_t a = core_get(c, op->a);
  uint32_t b = core_get_b(c, op);
  uint64_t carry = op->sem->y ? c->reg.sr[SR_CARRY] & 1 : (uint32_t)op->sem->x;
  uint64_t sum = a + (op->sem->x ? ~b : b) + carry;
  core_put(c, op, 1, (uint32_t)sum);
  put_carry(c, sum >> 32);
}

/* d <- |a|, as 0 - a where a is negative. */
static void sem_abs(struct core *c, const struct core_op *op) {
  uint32_t a = core_get(c, op->a);
  bool negative = a >> 31;
  core_put(c, op, 1, negative ? -a : a);
  put_carry(c, negative && a == 0);
}

/* One step of a restoring division: remainder in d, quotient in r31. */
static void sem_divs(struct core *c, const struct core_op *op) {
  uint32_t q = c->reg.r[31], divisor = core_get(c, op->b);
  uint64_t t = (uint64_t)core_get(c, op->a) << 1 | q >> 31;
  q <<= 1;
  if (t >= divisor) {
    t -= divisor;
    q |= 1;
  }
  core_put(c, op, 1, (uint32_t)t);
  core_put_scalar(c, 0, CORE_OFFSET(r[31]), q);
}

/* ---- moves ---- */

/* d <- a, or the immediate. */
void core_move_scalar(struct core *c, const struct core_op *op) {
  if (op->d.bytes == 8) { /* the tile's timer into a register pair */
    core_put_scalar(c, 0, op->d.offset, (uint32_t)c->counts.cycles);
    core_put_scalar(c, 0, op->d.offset + 4u,
                    (uint32_t)(c->counts.cycles >> 32));
    return;
  }
  core_put(c, op, 1, op->a.bytes ? core_get(c, op->a) : (uint32_t)op->imm);
}

/* d <- a + b; no carry. */
static void sem_add_nc(struct core *c, const struct core_op *op) {
  core_put(c, op, 1, core_get(c, op->a) + core_get_b(c, op));
}

/* ---- control flow ---- */

static void branch(struct core *c, const struct core_op *op, uint32_t target) {
  if (c->delay) {
    core_fail(c, op, "a branch in a delay slot of another");
    return;
  }
  c->target = target & ADDRESS_MASK;
  c->delay = 6; /* this bundle and its delay slots */
}

/* x: 0 always, 1 if a is zero, 2 if a is not zero. */
static void sem_jump(struct core *c, const struct core_op *op) {
  bool taken =
      op->sem->x == 0 || (core_get(c, op->a) == 0) == (op->sem->x == 1);
  if (taken)
    branch(c, op, core_get_b(c, op));
  else if (c->delay)
    core_fail(c, op, "a branch in a delay slot of another");
}

/* lr <- address behind the fifth delay slot. */
static void sem_call(struct core *c, const struct core_op *op) {
  uint32_t address = core_bundle_of(op)->address + core_bundle_of(op)->size;
  branch(c, op, core_get_b(c, op));
  for (int i = 0; i < 5; ++i) {
    uint32_t size = core_bundle_size(c, address);
    if (!size) {
      core_fail(c, op, "a delay slot of the call is no bundle");
      return;
    }
    address += size;
  }
  core_put(c, op, 1, address);
}

static void sem_return(struct core *c, const struct core_op *op) {
  branch(c, op, c->reg.lr);
}

/* d <- a - 1, jump if a was not zero. */
static void sem_jnzd(struct core *c, const struct core_op *op) {
  uint32_t a = core_get(c, op->a);
  core_put(c, op, 1, a - 1);
  put_carry(c, a >= 1);
  if (a)
    branch(c, op, core_get(c, op->b));
}

static void sem_done(struct core *c, const struct core_op *op) {
  (void)op;
  c->done = true;
}

/* Events reach only the trace unit, which is no part of the core. */
static void sem_event(struct core *c, const struct core_op *op) {
  (void)c, (void)op;
}

/* ---- locks ---- */

static bool try_acquire(struct core *c, const struct core_pending *p) {
  return c->around.acquire(c->around.context, (int)p->id, (int32_t)p->value);
}

static bool do_release(struct core *c, const struct core_pending *p) {
  c->around.release(c->around.context, (int)p->id, (int32_t)p->value);
  return true;
}

/* x: 1 acquires, 0 releases; y: only if r26 is 1. */
static void sem_lock(struct core *c, const struct core_op *op) {
  if (op->sem->y && c->reg.r[26] != 1)
    return;
  uint32_t id = op->a.bytes ? core_get(c, op->a) & 63 : (uint32_t)op->imm;
  core_wait(c,
            (struct core_pending){op->sem->x ? try_acquire : do_release, op,
                                  STALL_LOCK, id, core_get(c, op->b), false});
}

/* clang-format off */
static const struct core_sem rows[] = {
  {"add", sem_add, 0, 0, 0},      {"sub", sem_add, 1, 0, 0},
  {"adc", sem_add, 0, 1, 0},      {"sbc", sem_add, 1, 1, 0},
  {"and", sem_and, 0, 0, 0},      {"or", sem_or, 0, 0, 0},
  {"xor", sem_xor, 0, 0, 0},      {"eq", sem_eq, 0, 0, 0},
  {"ne", sem_ne, 0, 0, 0},        {"ge", sem_ge, 0, 0, 0},
  {"lt", sem_lt, 0, 0, 0},        {"geu", sem_geu, 0, 0, 0},
  {"ltu", sem_ltu, 0, 0, 0},      {"eqz", sem_eqz, 0, 0, 0},
  {"nez", sem_nez, 0, 0, 0},      {"lshl", sem_lshl, 0, 0, 0},
  {"ashl", sem_ashl, 0, 0, 0},    {"mul", sem_mul, 0, 0, 0},
  {"clb", sem_clb, 0, 0, 0},      {"clz", sem_clz, 0, 0, 0},
  {"abs", sem_abs, 0, 0, 0},      {"divs", sem_divs, 0, 0, 0},
  {"extend.s8", sem_extend, 8, 1, 0},   {"extend.u8", sem_extend, 8, 0, 0},
  {"extend.s16", sem_extend, 16, 1, 0}, {"extend.u16", sem_extend, 16, 0, 0},
  {"sel.eqz", sem_sel_eqz, 0, 0, 0},    {"sel.nez", sem_sel_nez, 0, 0, 0},
  {"mov", core_move_scalar, 0, 0, 0},      {"mova", core_move_scalar, 0, 0, 0},
  {"movx", core_move_scalar, 0, 0, 0},     {"movxm", core_move_scalar, 0, 0, 0},
  {"mov.d1", core_move_scalar, 0, 0, 0},   {"mov.d2", core_move_scalar, 0, 0, 0},
  {"mov.d3", core_move_scalar, 0, 0, 0},   {"mov.d4", core_move_scalar, 0, 0, 0},
  {"mov.d5", core_move_scalar, 0, 0, 0},   {"mov.d6", core_move_scalar, 0, 0, 0},
  {"add.nc", sem_add_nc, 0, 0, 0},
  {"j", sem_jump, 0, 0, 0},       {"jz", sem_jump, 1, 0, 0},
  {"jnz", sem_jump, 2, 0, 0},     {"jnzd", sem_jnzd, 0, 0, 0},
  {"jl", sem_call, 0, 0, 0},      {"ret", sem_return, 0, 0, 0},
  {"done", sem_done, 0, 0, 0},    {"event", sem_event, 0, 0, 0},
  {"acq", sem_lock, 1, 0, 0},     {"acq.cond", sem_lock, 1, 1, 0},
  {"rel", sem_lock, 0, 0, 0},     {"rel.cond", sem_lock, 0, 1, 0},
};
/* clang-format on */
const struct core_sem_table sem_scalar = {rows, sizeof rows / sizeof rows[0]};
