/* core_state.c -- what instructions tell the core that runs them: that it
 * cannot go on, or has to wait. */
#include "core_state.h"

void core_fail(struct core *c, const struct core_op *op, const char *format,
               ...) {
  char text[160];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  diag_error(&c->diag, loc_none(), "core: %s (bundle at 0x%x, cycle %llu)",
             text, op ? core_bundle_of(op)->address : c->pc,
             (unsigned long long)c->counts.cycles);
  c->failed = true;
}

uint8_t *core_no_memory(struct core *c, const struct core_op *op,
                        uint32_t address) {
  core_fail(c, op, "'%s' at 0x%x, where there is no data memory",
            isa_insn(c->around.isa, (enum insn_id)op->insn)->mnemonic, address);
  return NULL;
}

void core_wait(struct core *c, struct core_pending p) {
  if (p.stall != STALL_LOCK && p.attempt(c, &p))
    return; /* lock operations act in their second cycle (isa.md D5) */
  assert(c->pending_count < PENDING);
  p.ahead = true;
  c->pending[c->pending_count++] = p;
}

uint32_t core_bundle_size(const struct core *c, uint32_t address) {
  if (address >= PROGRAM_BYTES || address % 2)
    return 0;
  const struct core_bundle *known = c->bundle[address / 2];
  if (known)
    return known->size;
  struct isa_bundle from;
  int size = isa_decode(c->around.isa, c->around.program + address,
                        PROGRAM_BYTES - address, &from);
  return size > 0 ? (uint32_t)size : 0;
}
