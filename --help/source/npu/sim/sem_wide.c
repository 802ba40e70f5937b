/* sem_wide.c -- what AIE2P does otherwise than AIE-ML, but for conversions and
 * products: accesses of 64 bytes, load and store FIFOs, some scalar
 * operations.
 *
 * A load FIFO is modelled by the line of 64 bytes that it read last, in the
 * lower half of its register; r24 or r25 says how many of the line's last bytes
 * are still to be taken, 0 for all of them.  A pop takes them and the first
 * bytes of the next line.  A store FIFO holds the first r26 bytes of a line.
 * Where in the registers the bytes lie is a guess, and so is what a flush of
 * part of a line writes, which stops the core.
 */
#include "core_state.h"

enum { LINE = 64 };

/* ---- loads and stores ---- */

static void load_vector(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const uint8_t *from = core_memory(c, op, a->value, op->d.bytes);
  if (from)
    core_put_bytes(c, op, op->memory, from, op->d.bytes);
}

/* d <- its bytes, 32 or 64 */
static void sem_load_vector(struct core *c, const struct core_op *op) {
  uint32_t address = core_aligned(c, op, op->d.bytes);
  core_prefetch(c, address);
  core_later(c, op->memory - 1u, load_vector, op, address, 0);
}

static void sem_store_vector(struct core *c, const struct core_op *op) {
  core_put_store(c, op, op->memory - 1u, core_aligned(c, op, op->a.bytes),
                 core_bytes(c, op->a), op->a.bytes);
}

/* ---- load FIFOs ---- */

static uint32_t next_line(struct core *c, const struct core_op *op) {
  uint32_t p = c->reg.p[op->pointer];
  core_move_pointer(c, op, LINE);
  return p & ~(LINE - 1u);
}

static uint8_t *put_line(struct core *c, const struct core_op *op) {
  return core_put_vector(c, 0, CORE_OFFSET(load_fifo) + 128u * op->pointer,
                         LINE, BYPASS_NONE);
}

static void fill(struct core *c, const struct core_action *a) {
  memcpy(put_line(c, a->op), c->loaded[a->value][a->op->pointer], LINE);
}

static void take(struct core *c, const struct core_action *a) {
  const struct core_op *op = a->op;
  const uint8_t *line = c->reg.load_fifo[op->pointer];
  uint8_t both[2 * LINE];
  memcpy(both, line, LINE);
  memcpy(both + LINE, c->loaded[a->value][op->pointer], LINE);
  memcpy(put_line(c, op), both + LINE, LINE);
  if (op->d.bytes == 72) {
    struct core_block block;
    core_unpack_block(&block, both + a->more);
    core_put_block(c, op, 7, &block);
  } else {
    core_put_bytes(c, op, 7, both + a->more, LINE);
  }
}

/* Cycle 5: the line arrives and waits for the FIFO's cycle. */
static void line_arrives(struct core *c, const struct core_action *a) {
  const uint8_t *from = core_memory(c, a->op, a->value, LINE);
  unsigned place = c->now % RING;
  if (!from)
    return;
  memcpy(c->loaded[place][a->op->pointer], from, LINE);
  core_later(c, 2, a->op->d.bytes ? take : fill, a->op, place, a->more);
}

static void sem_fill(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, line_arrives, op, next_line(c, op), 0);
}

/* x: bytes */
static void sem_pop(struct core *c, const struct core_op *op) {
  uint32_t count = c->reg.r[24 + op->pointer];
  uint32_t from = (LINE - count % LINE) % LINE;
  core_put_scalar(c, 0, CORE_OFFSET(r[24]) + 4u * op->pointer,
                  (count - (uint32_t)op->sem->x) % LINE);
  core_later(c, op->memory - 1u, line_arrives, op, next_line(c, op), from);
}

/* ---- the store FIFO ---- */

/* Bytes join those held, in the FIFO's cycle; a->more is the line's address. */
static void push(struct core *c, const struct core_op *op, unsigned cycle,
                 uint32_t address, uint32_t held, const uint8_t *data,
                 unsigned bytes) {
  uint8_t both[2 * LINE + 72];
  memcpy(both, c->reg.store_fifo, held);
  memcpy(both + held, data, bytes);
  core_put_store(c, op, op->memory - cycle, address, both, LINE);
  memcpy(core_put_vector(c, 0, CORE_OFFSET(store_fifo), LINE, BYPASS_NONE),
         both + LINE, LINE);
}

/* Moves p2 and r26 for a push of some bytes; gives what they were. */
static bool begin_push(struct core *c, const struct core_op *op, unsigned bytes,
                       uint32_t *address, uint32_t *held) {
  *address = c->reg.p[2] & ~(LINE - 1u);
  *held = c->reg.r[26];
  if (*held >= LINE) {
    core_fail(c, op, "a push while the store FIFO holds %u bytes", *held);
    return false;
  }
  core_put_scalar(c, 0, CORE_OFFSET(p[2]), (c->reg.p[2] + LINE) & ADDRESS_MASK);
  core_put_scalar(c, 0, CORE_OFFSET(r[26]), *held + bytes - LINE);
  return true;
}

static void push_block(struct core *c, const struct core_action *a) {
  struct core_block block;
  uint8_t bytes[72];
  core_get_block(c, a->op->a, &block);
  core_pack_block(bytes, &block);
  push(c, a->op, 2, a->value, a->more, bytes, 72);
}

static void push_line(struct core *c, const struct core_action *a) {
  push(c, a->op, 2, a->value, a->more, core_bytes(c, a->op->a), LINE);
}

/* x: bytes */
static void sem_push(struct core *c, const struct core_op *op) {
  uint32_t address, held;
  if (begin_push(c, op, (unsigned)op->sem->x, &address, &held))
    core_later(c, 1, op->sem->x == 72 ? push_block : push_line, op, address,
               held);
}

static void push_converted(struct core *c, const struct core_action *a) {
  push(c, a->op, 4, a->value, a->more, c->late_result[c->now % RING], 72);
}

/* The accumulator and the address are read in cycle 1, crrnd in 2, the FIFO in
 * 4. */
static void convert_pushed(struct core *c, const struct core_action *a) {
  struct core_block block;
  if (core_to_block(c, a->op, c->late_operand[c->now % RING][1], &block)) {
    core_pack_block(c->late_result[(c->now + 2) % RING], &block);
    core_later(c, 2, push_converted, a->op, a->value, a->more);
  }
}

static void sem_push_convert(struct core *c, const struct core_op *op) {
  uint32_t address, held;
  if (!begin_push(c, op, 72, &address, &held))
    return;
  memcpy(c->late_operand[(c->now + 1) % RING][1], core_bytes(c, op->a), 256);
  core_later(c, 1, convert_pushed, op, address, held);
}

static void flush(struct core *c, const struct core_action *a) {
  unsigned cycle = a->op->sem->x ? 4 : 2;
  core_put_store(c, a->op, a->op->memory - cycle, a->value, c->reg.store_fifo,
                 LINE);
}

/* x: behind pushes that convert */
static void sem_flush(struct core *c, const struct core_op *op) {
  uint32_t held = c->reg.r[26];
  if (held == 0)
    return;
  if (held != LINE) {
    core_fail(c, op, "a flush of %u bytes: what it writes is not known", held);
    return;
  }
  core_put_scalar(c, 0, CORE_OFFSET(r[26]), 0);
  core_put_scalar(c, 0, CORE_OFFSET(p[2]), (c->reg.p[2] + LINE) & ADDRESS_MASK);
  core_later(c, op->sem->x ? 3 : 1, flush, op, c->reg.p[2] & ~(LINE - 1u), 0);
}

/* ---- moves ---- */

static void sem_vmov(struct core *c, const struct core_op *op) {
  struct core_block block;
  if (op->d.bytes == 72) {
    core_get_block(c, op->a, &block);
    core_put_block(c, op, 1, &block);
  } else if (op->d.bytes % 16 || (op->d.bytes > 64 && op->d.bytes < 128)) {
    core_fail(c, op, "moves of masks with vectors are not known");
  } else {
    core_move_vector(c, op);
  }
}

static void sem_vshuffle(struct core *c, const struct core_op *op) {
  if (op->d.bytes == 72)
    core_fail(c, op, "what vshuffle does to exponents is not known");
  else
    core_shuffle(c, op);
}

/* d <- s1 with a lane replaced by a: lane r29, or 0 where the form says so */
static void sem_vinsert(struct core *c, const struct core_op *op) {
  const struct insn *insn = isa_insn(c->around.isa, (enum insn_id)op->insn);
  core_insert(c, op, strstr(insn->syntax, "r29") ? c->reg.r[29] : 0);
}

/* ---- scalars ---- */

/* d <- acc1 + value, read in cycle 2 */
static void add_product(struct core *c, const struct core_action *a) {
  core_put(c, a->op, 2, core_get(c, a->op->acc1) + a->value);
}

/* d <- acc1 +- a * b; x: minus */
static void sem_mac_scalar(struct core *c, const struct core_op *op) {
  uint32_t product = core_get(c, op->a) * core_get(c, op->b);
  core_later(c, 1, add_product, op, op->sem->x ? -product : product, 0);
}

static void sem_popcount(struct core *c, const struct core_op *op) {
  core_put(c, op, 1, (uint32_t)__builtin_popcount(core_get(c, op->a)));
}

/* Errors and warnings reach only the trace unit, as events do. */
static void sem_event(struct core *c, const struct core_op *op) {
  (void)c, (void)op;
}

/* sp <- sp + m, or the immediate */
static void sem_paddxm(struct core *c, const struct core_op *op) {
  const struct insn *insn = isa_insn(c->around.isa, (enum insn_id)op->insn);
  uint32_t step =
      strstr(insn->syntax, "$mod") ? c->reg.m[op->modifier] : (uint32_t)op->imm;
  core_put_scalar(c, 0, CORE_OFFSET(sp), (c->reg.sp + step) & ADDRESS_MASK);
}

/* clang-format off */
static const struct core_sem rows[] = {
  {"vlda", sem_load_vector, 0, 0, 0},
  {"vldb", sem_load_vector, 0, 0, 0},
  {"vst", sem_store_vector, 0, 0, 0},
  {"vlda.fill.512", sem_fill, 0, 0, 0},
  {"vldb.fill.512", sem_fill, 0, 0, 0},
  {"vlda.pop.512", sem_pop, 64, 0, 0},
  {"vldb.pop.512", sem_pop, 64, 0, 0},
  {"vlda.pop.576", sem_pop, 72, 0, 0},
  {"vldb.pop.576", sem_pop, 72, 0, 0},
  {"vst.push.512", sem_push, 64, 0, 0},
  {"vst.push.576", sem_push, 72, 0, 0},
  {"vst.push.576.conv.bfp16ebs8.fp32", sem_push_convert, 72, 0, 0},
  {"vst.flush.512", sem_flush, 0, 0, 0},
  {"vst.flush.512.conv", sem_flush, 1, 0, 0},
  {"vmov", sem_vmov, 0, 0, 0},
  {"vshuffle", sem_vshuffle, 0, 0, 0},
  {"vinsert.8", sem_vinsert, 8, 0, 0},
  {"vinsert.16", sem_vinsert, 16, 0, 0},
  {"vinsert.32", sem_vinsert, 32, 0, 0},
  {"vinsert.64", sem_vinsert, 64, 0, 0},
  {"movs", core_move_scalar, 0, 0, 0},
  {"mac", sem_mac_scalar, 0, 0, 0},
  {"msc", sem_mac_scalar, 1, 0, 0},
  {"popcount", sem_popcount, 0, 0, 0},
  {"event.error", sem_event, 0, 0, 0},
  {"event.warning", sem_event, 0, 0, 0},
  {"paddxm", sem_paddxm, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_wide = {rows, sizeof rows / sizeof rows[0]};
