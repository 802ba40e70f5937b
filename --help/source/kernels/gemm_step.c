/* gemm_step.c -- parts of a step of K in a gemm's run: its multiplies, and the
 * locks around it. */
#include "kernel_gemm_trace.h"

/* Multiplies before the first of a product from which on work for it may begin:
 * 16 loads of C beside those of the left operand take about as long. */
enum { ACQUIRE_AHEAD = 24 };

static int max(int a, int b) { return a > b ? a : b; }

void gemm_multiply(struct gemm *g, int n, int from, int x_left, int x_right) {
  int64_t acc = gemm_accumulator_reg(g, n);
  int64_t first = gemm_operand_reg(g, g->tall ? x_right : x_left),
          second = gemm_operand_reg(g, g->tall ? x_left : x_right);
  if (from < 0)
    kernel_trace_add(g->t, g->kind->mul, 4,
                     (int64_t[]){acc, first, second, g->config_reg});
  else
    kernel_trace_add(g->t, g->kind->mac, 5,
                     (int64_t[]){acc, gemm_accumulator_reg(g, from), first,
                                 second, g->config_reg});
}

void gemm_multiply_two(struct gemm *g, int n, int other, int x_left,
                       int x_right) {
  int64_t acc = gemm_accumulator_reg(g, n);
  kernel_trace_add(g->t, g->kind->add_mac, 6,
                   (int64_t[]){acc, acc, gemm_accumulator_reg(g, other),
                               gemm_operand_reg(g, g->tall ? x_right : x_left),
                               gemm_operand_reg(g, g->tall ? x_left : x_right),
                               g->config_reg});
}

static const char *pass_note(const struct gemm *g, int pass) {
  static const char *const note[GEMM_PASSES] = {
      " of high x high", " of high x low", " of low x high"};
  return g->kind->passes > 1 ? note[pass] : "";
}

void gemm_note_first_multiply(struct gemm *g, int from, int k) {
  const struct cover_block *b = &g->block[g->number];
  while (!g->t->op[from].op.id ||
         !(isa_insn(g->t->isa, g->t->op[from].op.id)->flags & INSN_MAC))
    from++;
  struct arena *a = g->t->kept;
  const char *step = arena_printf(a, "step %d%s", k % g->pass_steps,
                                  pass_note(g, k / g->pass_steps));
  const char *product =
      g->product_count > 1 ? arena_printf(a, "product %d, ", g->product) : "";
  g->t->op[from].note =
      k ? step
        : arena_printf(a, "%sblock (%d, %d) of %d x %d results, %s", product,
                       b->row, b->col, b->rows, b->cols, step);
}

/* What lies around the steps of K from `k` on, `count` of them. */
void gemm_trace_locks(struct gemm *g, int k, int count) {
  const struct cover_block *b = &g->block[g->number];
  int take_at = max(0, g->k_steps - ACQUIRE_AHEAD / (b->rows * b->cols));
  if (!k && !g->number && g->product) /* behind what this one takes */
    gemm_release_buffers(g, g->product - 1);
  if (g->number == g->block_count - 1 && k + count >= take_at &&
      (k < take_at || !k))
    gemm_acquire_buffers(g, g->product + 1);
}
