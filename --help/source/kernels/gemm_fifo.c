/* gemm_fifo.c -- operands that are block floats: 8 x 8 values in 72 bytes,
 * which come through a load FIFO.
 *
 * A FIFO is filled with a line of 64 bytes; then each pop takes 72 bytes and
 * reads the next line.  Eight pops end with a line, so a block's tiles, those
 * of both rows (columns) by turns, come in groups of eight behind a fill.  The
 * pointer then stands where the next block's tiles would begin, and one
 * addition moves it to where they do: that is the only operation of which the
 * addresser (regs.c) knows, so its offset counts from there.
 */
#include "kernel_gemm_trace.h"

enum { TILE = GEMM_TILE_BYTES, GROUP = 8 };

static int64_t segment_bytes(const struct gemm *g) {
  return (int64_t)GEMM_SIDE * g->k_steps * TILE;
}

/* What follows is at `offset`; it is read through the operand's FIFO. */
static struct trace_op *add_access(struct gemm *g, const struct operand *o,
                                   enum kernel_insn insn, int reg,
                                   int64_t offset) {
  bool left = o == &g->left;
  int64_t pointer = g->t->stream[o->stream].pointer,
          fifo = kernel_trace_named(g->t, left ? "lf0" : "lf1"),
          held = kernel_trace_named(g->t, left ? "r24" : "r25");
  enum insn_id id = g->t->machine->insn[insn];
  struct trace_op *op =
      reg < 0 ? kernel_trace_add(g->t, id, 3, (int64_t[]){pointer, fifo, held})
              : kernel_trace_add(g->t, id, 4,
                                 (int64_t[]){reg, pointer, fifo, held});
  op->stream = o->stream;
  op->offset = offset;
  op->region = gemm_region(g, g->product, g->number);
  return op;
}

/* To the next block's tiles. */
static void move_pointer(struct gemm *g, struct operand *o, int64_t start) {
  bool leaves = gemm_leaves_product(g, g->number);
  struct trace_op *op =
      kernel_trace_memory(g->t, o == &g->left ? MEM_PADD_A : MEM_PADD_B, 0,
                          o->stream, start - o->segments++ * segment_bytes(g));
  op->boundary = true;
  op->region = gemm_region(g, g->product, g->number);
  op->leaves = leaves;
  if (leaves && gemm_is_left(o, g->product)) {
    op->way = o->turn;
    gemm_turn_round(g, o);
  }
}

void gemm_open_fifos(struct gemm *g) {
  kernel_trace_constant(g->t, kernel_trace_named(g->t, "r24"), 0);
  kernel_trace_add(g->t, g->t->machine->insn[KERNEL_CONSTANT_M], 2,
                   (int64_t[]){kernel_trace_named(g->t, "r25"), 0});
}

int64_t gemm_fifo_walk(const struct gemm *g, int last_index) {
  return (last_index / GEMM_SIDE + 1) * segment_bytes(g);
}

void gemm_pop_operand(struct gemm *g, struct operand *o, int x, int index,
                      int k, bool last) {
  bool left = o == &g->left;
  int64_t start = index / GEMM_SIDE * segment_bytes(g);
  int tile = GEMM_SIDE * k + index % GEMM_SIDE;
  int64_t offset = start + tile * TILE;
  if (tile % GROUP == 0) {
    struct trace_op *fill =
        add_access(g, o, left ? KERNEL_FILL_A : KERNEL_FILL_B, -1, offset);
    if (!k && !g->number && gemm_is_opened(g, o)) {
      fill->wait = WAIT_TAKEN;
      fill->wait_for = o->stream;
      fill->opens = true;
    }
  }
  add_access(g, o, left ? KERNEL_POP_A : KERNEL_POP_B, gemm_operand_reg(g, x),
             offset)
      ->leaves = last && gemm_leaves_product(g, g->number);
  if (last)
    move_pointer(g, o, start);
}
