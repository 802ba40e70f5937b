/* eltwise.c -- traces of the primitives that only move data, at the store
 * port's limit of 32 bytes per cycle. */
#include "trace.h"

struct asm_program *kernel_zero(struct arena *a, const char *name, int bytes,
                                struct diag *d) {
  enum { W_BYTES = 32, MEMORY = 65536 };
  if (bytes <= 0 || bytes % W_BYTES || bytes > MEMORY) {
    diag_error(d, loc_none(),
               "zero: %d bytes; it has to be a positive multiple of %d up to "
               "%d",
               bytes, W_BYTES, MEMORY);
    return NULL;
  }
  struct trace t = trace_open(a, d);
  int stream = trace_stream(&t, "p0", "p0", 0);
  trace_constant(&t, trace_reg("r0"), 0);
  trace_add(&t, INSN_VBCST_32, 2,
            (int64_t[]){trace_reg("x0"), trace_reg("r0")});
  for (int at = 0; at < bytes; at += W_BYTES)
    trace_memory(&t, MEM_ST_W, trace_reg("wl0"), stream, at);
  struct schedule s;
  if (!trace_address(&t) || !sched_place(&t, &s))
    return NULL;
  const char *heading = arena_printf(a, "%d bytes from p0 on <- 0", bytes);
  return fold_program(a, name, &heading, 1, &s, d);
}
