/* blocks.c -- bf16 becomes block floats (kernel_blocks).
 *
 * An 8 x 8 block of bf16 is widened to f32 in an accumulator, half at a time,
 * and a store makes of it 8 mantissas and their exponent for each of its rows,
 * 72 bytes which a store FIFO puts behind each other; after 8 of them the last
 * line is flushed.  Rows run along K.  A block whose rows do not is transposed
 * on its way through vector registers; all its four operations take the mv
 * slot, so that it costs 4 cycles.  One that does comes by a load that widens
 * it: accumulators are written by halves, which costs 2.
 */
#include "device_most.h"
#include "kernel_gemm.h"

#include <assert.h>

enum {
  SIDE = 8,
  BLOCK_BYTES = SIDE * SIDE * 2, /* bf16 */
  HALF_BYTES = BLOCK_BYTES / 2,
  GROUP = 8, /* blocks between two flushes */
  SUMS = 4,  /* accumulators that take turns */
  RING = 2,  /* pairs of vector registers, before and behind the shuffle */
  UNIT_OTHER = 16,
  UNIT_K = 32,
  TILE_BYTES = 72
};

struct conversion {
  const struct kernel_blocks *k;
  struct trace *t;
  int from, to; /* streams */
  bool transposes;
  int64_t mode[2];
};

static bool check(const struct kernel_blocks *k, struct diag *d) {
  enum { MOST = DEVICE_MOST_CORE_BYTES / 2 };
  assert(k->input == 0 || k->input == 1);
  if (kernel_machine(k->isa)->insn[KERNEL_PUSH_BLOCKS] == INSN_NONE)
    return diag_error(d, loc_none(), "blocks: no kernel for %s",
                      isa_name(k->isa));
  if (k->other > 0 && k->k > 0 && k->other % UNIT_OTHER == 0 &&
      k->k % UNIT_K == 0 && (!k->whole_k || k->whole_k % k->k == 0) &&
      (int64_t)k->other * (k->whole_k ? k->whole_k : k->k) <= MOST)
    return true;
  return diag_error(d, loc_none(),
                    "blocks: %d x %d; they have to be positive multiples of %d "
                    "and, along k, %d, of at most %d bytes",
                    k->other, k->k, UNIT_OTHER, UNIT_K, 2 * MOST);
}

/* Bytes to the 8 x 8 block that is row (column) `i` and step `step` of K. */
static int64_t offset_of(const struct kernel_blocks *k, int i, int step) {
  int64_t at = k->input ? (int64_t)step * (k->other / SIDE) + i
                        : (int64_t)i * (k->k / SIDE) + step;
  return at * BLOCK_BYTES;
}

static void load_widened(const struct conversion *c, int n, int64_t at) {
  static const char *const half[] = {"cml%d", "cmh%d"};
  for (int h = 0; h < 2; h++)
    kernel_trace_memory(c->t, MEM_LDA_CONV,
                        kernel_trace_reg(c->t, half[h], n % SUMS), c->from,
                        at + h * HALF_BYTES);
}

static void load_transposed(const struct conversion *c, int n, int64_t at) {
  static const char *const half[] = {"cml%d", "cmh%d"};
  const enum insn_id *insn = c->t->machine->insn;
  int64_t x[4];
  for (int i = 0; i < 4; i++)
    x[i] = kernel_trace_reg(c->t, "x%d", n % RING * 4 + i);
  for (int h = 0; h < 2; h++)
    kernel_trace_memory(c->t, MEM_LDB_W, (int)x[h], c->from,
                        at + h * HALF_BYTES);
  for (int h = 0; h < 2; h++)
    kernel_trace_add(c->t, insn[KERNEL_SHUFFLE], 4,
                     (int64_t[]){x[2 + h], x[0], x[1], c->mode[h]});
  for (int h = 0; h < 2; h++)
    kernel_trace_add(
        c->t, insn[KERNEL_WIDEN_HALF], 2,
        (int64_t[]){kernel_trace_reg(c->t, half[h], n % SUMS), x[2 + h]});
}

static void store(const struct conversion *c, enum kernel_insn what, int n) {
  int64_t sum = kernel_trace_reg(c->t, "dm%d", n % SUMS);
  struct trace_op *op = kernel_trace_add(c->t, c->t->machine->insn[what],
                                         what == KERNEL_PUSH_BLOCKS, &sum);
  op->stream = c->to;
}

static void open(struct conversion *c) {
  enum { NEAREST_EVEN = 12 }; /* isa.md A3 */
  struct trace *t = c->t;
  c->from = kernel_trace_stream(t, "p0", "p0", 0);
  c->to = kernel_trace_stream(t, "p2", "p2", 1);
  kernel_trace_constant(t, kernel_trace_named(t, t->machine->rounding),
                        NEAREST_EVEN);
  kernel_trace_constant(t, kernel_trace_named(t, "r26"), 0);
  for (int h = 0; h < 2 && c->transposes; h++) {
    c->mode[h] = kernel_trace_named(t, h ? "r3" : "r2");
    kernel_trace_constant(t, (int)c->mode[h],
                          kernel_gemm_transpose_mode(DTYPE_BF16, SIDE, SIDE) +
                              h);
  }
}

struct asm_program *
kernel_blocks(struct arena *a, const struct kernel_blocks *k, struct diag *d) {
  if (!check(k, d))
    return NULL;
  struct trace t = kernel_trace_open(kernel_machine(k->isa), a, a, d);
  struct conversion c = {
      .k = k, .t = &t, .transposes = k->turned == (k->input == 0)};
  open(&c);
  int steps = k->k / SIDE, count = k->other / SIDE * steps;
  /* of the same rows, from other parts of k */
  int64_t rest =
      k->whole_k ? (int64_t)(k->whole_k - k->k) / SIDE * 2 * TILE_BYTES : 0;
  for (int n = 0; n < count; n++) {
    int pair = n / (2 * steps), step = n / 2 % steps;
    int64_t at = offset_of(k, 2 * pair + n % 2, step);
    (c.transposes ? load_transposed : load_widened)(&c, n, at);
    store(&c, KERNEL_PUSH_BLOCKS, n);
    if ((n + 1) % GROUP == 0)
      store(&c, KERNEL_FLUSH_BLOCKS, n);
    if (rest && (n + 1) % (2 * steps) == 0)
      kernel_trace_memory(&t, MEM_PADD_A, 0, c.to, (pair + 1) * rest);
  }
  const char *heading = arena_printf(
      a, "p2 <- block floats of %c from p0, %d x %d bf16%s", "AB"[k->input],
      k -> input ? k -> k : k -> other, k -> input ? k -> other : k -> k,
      c.transposes ? ", whose small blocks are transposed" : "");
  struct schedule s;
  if (!kernel_trace_address(&t) || !kernel_sched_place(&t, &s))
    return NULL;
  return kernel_fold(a, k->name, &heading, 1, &s, d);
}
