/* sem_stream.c -- the core's ways out of its tile: the 32-bit streams SS and
 * MS, the 512-bit cascade, and the tile's own registers (isa.md C9).
 *
 * A blocking transfer that cannot be made freezes the core until it can; a
 * non-blocking one (.nb) says in bit 0 of srSS0 or srMS0 whether it was made.
 * What the other bits of these registers mean is not known to us: they are 0.
 */
#include "core_state.h"

#include <stddef.h>

/* x of a row: what is sent; y: 1 last word; z: 1 does not wait */
enum { WORD, PACKET_HEADER, CONTROL_HEADER };
enum { NOT_LAST, LAST };
enum { WAITS, DOES_NOT_WAIT };

static bool unconnected(struct core *c, const struct core_op *op,
                        const char *what) {
  core_fail(c, op, "'%s': no %s is connected",
            isa_insn(c->around.isa, (enum insn_id)op->insn)->mnemonic, what);
  return true; /* nothing to wait for */
}

/* ---- streams ---- */

/* A result of an instruction that may have waited: then its issue is over. */
static unsigned result_cycle(const struct core_pending *p) {
  return p->ahead ? 2 : 1;
}

static void put_status(struct core *c, const struct core_pending *p, int id,
                       unsigned write, bool done) {
  if (p->op->sem->z == DOES_NOT_WAIT)
    core_put_scalar(c, write - result_cycle(p),
                    CORE_OFFSET(sr[0]) + 4u * (unsigned)id, done);
}

static bool stream_in(struct core *c, const struct core_pending *p) {
  uint32_t word = 0;
  bool last = false;
  if (!c->around.stream_read)
    return unconnected(c, p->op, "input stream");
  bool done = c->around.stream_read(c->around.context, &word, &last);
  if (done)
    core_put(c, p->op, result_cycle(p), word);
  put_status(c, p, SR_SS0, 8, done);
  return done || p->op->sem->z == DOES_NOT_WAIT;
}

static bool stream_out(struct core *c, const struct core_pending *p) {
  if (!c->around.stream_write)
    return unconnected(c, p->op, "output stream");
  bool done = c->around.stream_write(c->around.context, p->value, p->id);
  put_status(c, p, SR_MS0, p->ahead ? 2 : 1, done);
  return done || p->op->sem->z == DOES_NOT_WAIT;
}

static uint32_t odd_parity(uint32_t word) {
  return word | (uint32_t)!__builtin_parity(word) << 31;
}

/* Header words as in array.md section 9; the source tile is left 0. */
static uint32_t outgoing(const struct core *c, const struct core_op *op) {
  uint32_t a = core_get(c, op->a);
  switch (op->sem->x) {
  case PACKET_HEADER:
    return odd_parity((a & 31) | ((uint32_t)op->imm & 7) << 12);
  case CONTROL_HEADER:
    return odd_parity((core_get(c, op->b) & ADDRESS_MASK) |
                      (op->modifier & 3u) << 20 | (op->pointer & 3u) << 22 |
                      (a & 31) << 24);
  }
  return a;
}

/* r <- SS, or MS <- word; the last word of a packet is marked by the mnemonic
 * or by r28. */
static void sem_stream_move(struct core *c, const struct core_op *op) {
  if (op->d.bytes) {
    core_wait(c,
              (struct core_pending){stream_in, op, STALL_STREAM, 0, 0, false});
    return;
  }
  bool last = op->sem->y == LAST || (op->acc2.bytes && (c->reg.r[28] & 1));
  core_wait(c, (struct core_pending){stream_out, op, STALL_STREAM, last,
                                     outgoing(c, op), false});
}

/* ---- cascade ---- */

static bool cascade_in(struct core *c, const struct core_pending *p) {
  uint8_t value[64];
  const struct core_op *op = p->op;
  if (!c->around.cascade_read)
    return unconnected(c, op, "cascade input");
  if (!c->around.cascade_read(c->around.context, value))
    return false;
  memcpy(core_put_vector(c, op->d.write - result_cycle(p),
                         op->d.offset + (unsigned)op->sem->x, 64, op->d.bypass),
         value, 64);
  return true;
}

static bool cascade_out(struct core *c, const struct core_pending *p) {
  if (!c->around.cascade_write)
    return unconnected(c, p->op, "cascade output");
  return c->around.cascade_write(c->around.context, c->cascade);
}

/* d <- SCD, or MCD <- a; x: byte of d that the value goes to */
static void sem_cascade(struct core *c, const struct core_op *op) {
  uint8_t scratch[64];
  bool in = op->d.bytes;
  if (!in)
    memcpy(c->cascade, core_vector(c, op->a, scratch), 64);
  core_wait(c, (struct core_pending){in ? cascade_in : cascade_out, op,
                                     STALL_STREAM, 0, 0, false});
}

/* ---- the tile's registers, at core addresses 0x80000 to 0xbffff ---- */

enum { TILE_REGISTERS = 0x80000, TILE_REGISTERS_END = 0xC0000 };

static bool is_tile_register(struct core *c, const struct core_op *op,
                             uint32_t address) {
  if (address >= TILE_REGISTERS && address < TILE_REGISTERS_END)
    return true;
  core_fail(c, op, "'%s' at 0x%x; tile registers are at 0x%x to 0x%x",
            isa_insn(c->around.isa, (enum insn_id)op->insn)->mnemonic, address,
            TILE_REGISTERS, TILE_REGISTERS_END - 4);
  return false;
}

static void read_register(struct core *c, const struct core_action *a) {
  uint32_t value = 0;
  if (!is_tile_register(c, a->op, a->value))
    return;
  if (!c->around.register_read)
    unconnected(c, a->op, "register bus");
  else if (!c->around.register_read(c->around.context,
                                    a->value - TILE_REGISTERS, &value))
    core_fail(c, a->op, "the tile has no register at 0x%x",
              a->value - TILE_REGISTERS);
  else
    core_put(c, a->op, a->op->memory, value);
}

static void write_register(struct core *c, const struct core_action *a) {
  if (!is_tile_register(c, a->op, a->value))
    return;
  if (!c->around.register_write)
    unconnected(c, a->op, "register bus");
  else if (!c->around.register_write(c->around.context,
                                     a->value - TILE_REGISTERS, a->more))
    core_fail(c, a->op, "the tile has no register at 0x%x",
              a->value - TILE_REGISTERS);
}

static void sem_load_register(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, read_register, op, core_address(c, op) & ~3u,
             0);
}

static void sem_store_register(struct core *c, const struct core_op *op) {
  core_later(c, op->memory - 1u, write_register, op, core_address(c, op) & ~3u,
             core_get(c, op->a));
}

/* clang-format off */
#define SENDS(name, what)                                                      \
  {"mov" name, sem_stream_move, what, NOT_LAST, WAITS},                        \
  {"mov" name ".tlast", sem_stream_move, what, LAST, WAITS},                   \
  {"mov" name ".nb", sem_stream_move, what, NOT_LAST, DOES_NOT_WAIT},          \
  {"mov" name ".nb.tlast", sem_stream_move, what, LAST, DOES_NOT_WAIT}

static const struct core_sem rows[] = {
  SENDS("", WORD), SENDS(".ph", PACKET_HEADER), SENDS(".cph", CONTROL_HEADER),
  {"vmov", sem_cascade, 0, 0, 0},
  {"vmov.lo", sem_cascade, 0, 0, 0},
  {"vmov.hi", sem_cascade, 64, 0, 0},
  {"lda.tm", sem_load_register, 0, 0, 0},
  {"st.tm", sem_store_register, 0, 0, 0},
};
/* clang-format on */
const struct core_sem_table sem_stream = {rows, sizeof rows / sizeof rows[0]};
