/* gemm_position.c -- where in a gemm's run the trace is, and what follows. */
#include "kernel_gemm_trace.h"

#include <limits.h>

const struct gemm_cycles gemm_cycles[GEMM_PHASES] = {
    [GEMM_FREE] = {0, 0, 0, 0},
    [GEMM_ALTERNATE] = {0x5, 0xa, 0x5, 0},
    /* A load reaches the accumulators' write port five cycles later than a
     * shuffle of the same cycle does (isa.md D3): 3 + 5 is 0 modulo 4. */
    [GEMM_QUARTER] = {0x7, 0x8, 0x7, 0xe},
    [GEMM_APART] = {0, 0, 0, 0},
};

bool gemm_is_skewed(const struct gemm *g) { return g->t->machine->few_sums; }

int gemm_access_bytes(const struct gemm *g) {
  return g->t->machine->access_bytes;
}

bool gemm_is_float(const struct gemm *g) { return g->kind->is_float; }

int gemm_group(const struct gemm *g) { return g->steps ? g->steps->group : 1; }

bool gemm_starts_anew(const struct gemm *g, int product) {
  return g->zero && product < gemm_group(g);
}

bool gemm_right_is_a(const struct gemm *g) { return g->turned != g->tall; }

bool gemm_is_first_block(const struct gemm *g) {
  return !g->product && !g->number;
}

int gemm_blocks_left(const struct gemm *g) {
  return g->steps ? INT_MAX : g->block_count - 1 - g->number;
}

bool gemm_leaves_product(const struct gemm *g, int i) {
  return g->steps && i == g->block_count - 1;
}

int gemm_loop_round(const struct gemm *g, int product) {
  int step = product / gemm_group(g);
  bool begins = g->before_loop && product % gemm_group(g) == 0 &&
                step >= g->before_loop && product < g->product_count;
  return begins ? step - g->before_loop + 1 : 0;
}

int gemm_region(const struct gemm *g, int product, int i) {
  return product * g->block_count + g->block[i].region;
}

int64_t gemm_operand_offset(const struct gemm *g, const struct operand *o,
                            int index, int k) {
  return index * o->index_stride + k % g->pass_steps * o->k_stride +
         (o->is_low[k / g->pass_steps] ? o->low : 0);
}

bool gemm_is_left(const struct operand *o, int product) {
  return o->products && (product + 1) % o->products == 0;
}

int gemm_operand_reg(const struct gemm *g, int x) {
  return kernel_trace_reg(g->t, g->kind->blocks ? "ex%d" : "x%d", x);
}

/* The registers that hold the way to the next buffer change sign about the
 * walk through one. */
void gemm_turn_round(struct gemm *g, const struct operand *o) {
  kernel_trace_add(g->t, g->t->machine->insn[KERNEL_SUB], 3,
                   (int64_t[]){o->turn, o->back, o->turn});
}

bool gemm_is_opened(const struct gemm *g, const struct operand *o) {
  return o->products && g->product % o->products == 0;
}
