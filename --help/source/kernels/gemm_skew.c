/* gemm_skew.c -- the run of a product on a machine with few accumulators.
 *
 * Five accumulators of 64 results each are too few for two sets that take turns
 * (gemm_trace.c).  One block of 2 x 2 results takes four, and the next block
 * begins in the same ones in the very next cycle: a multiply lands six bundles
 * after its issue, which is time enough to read its target's old value, if not
 * all four results end together.  So row 1 runs LAG steps of K behind row 0,
 * always, across blocks and products: their stores, four of 64 bytes per
 * result, follow each other through the one store port.  The second result of a
 * row is copied to the fifth accumulator by the idle MV slot and stored from
 * there.
 *
 * What C holds before does not have to be there when a block begins: blocks
 * begin with a multiply that adds to nothing, and somewhere in the middle each
 * result is joined by its old value, which was loaded into the fifth
 * accumulator, by a multiply that adds two accumulators.
 *
 * Operands are loaded for both rows in the step in which row 0 multiplies, so
 * they come in the order in which they lie in memory; those of row 1, and the
 * columns, wait in registers: three slots, of which a step takes another one
 * than the step before, hold what two steps need.
 */
#include "kernel_gemm_trace.h"

#include <assert.h>

enum {
  LAG = GEMM_LAG,
  JOIN_EVERY = 2,  /* steps: four loads through one bank that stores use, too */
  JOIN_WIDE = 8,   /* the first join, behind stores through the fifth .. */
  JOIN_BLOCKS = 6, /* the same with both ports at work */
  JOIN_NARROW = 4  /* .. accumulator, or past it */
};

static bool is_last_step(const struct gemm *g, const struct gemm_step *s) {
  return s->k == g->k_steps - 1;
}

static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }

/* The step in which the old value of result n of `count` joins it: one after
 * the other, and before row 0 ends, whose results want the fifth accumulator.
 */
static int join_step(int k_steps, int first, int n, int count, int row) {
  int at = min(first + JOIN_EVERY * n, k_steps - (count - n));
  return min(max(at - row * LAG, 0), k_steps - 1);
}

int kernel_gemm_join(const struct kernel_gemm *k, int row, int column) {
  enum { COUNT = GEMM_SIDE * GEMM_SIDE };
  assert(k->bfp16); /* all blocks are of 2 x 2 results */
  int r = row % GEMM_SIDE, c = column % GEMM_SIDE;
  return join_step(k->k / 8, JOIN_BLOCKS, r * GEMM_SIDE + c, COUNT, r);
}

static int first_join(const struct gemm *g) {
  return g->kind->blocks                ? JOIN_BLOCKS
         : g->c_parts == GEMM_SUM_PARTS ? JOIN_WIDE
                                        : JOIN_NARROW;
}

static void multiply(struct gemm *g, const struct gemm_step *s, int r, int c) {
  const struct cover_block *b = &g->block[s->number];
  int n = gemm_accumulator(g, s->number, r, c), stage = GEMM_STAGE;
  bool joins = !gemm_starts_anew(g, s->product) &&
               s->k == join_step(g->k_steps, first_join(g), r * b->cols + c,
                                 b->rows * b->cols, r);
  if (joins)
    gemm_move_result(g, false, s->product, s->number, r, c);
  if (joins && s->k)
    gemm_multiply_two(g, n, stage, s->left[r], s->right[c]);
  else
    gemm_multiply(g, n, s->k ? n : joins ? stage : -1, s->left[r], s->right[c]);
}

/* A row's multiplies of a step; behind its last step, its results. */
static void run_row(struct gemm *g, const struct gemm_step *s, int r) {
  const struct cover_block *b = &g->block[s->number];
  if (r >= b->rows)
    return;
  for (int c = 0; c < b->cols; c++)
    multiply(g, s, r, c);
  if (!is_last_step(g, s))
    return;
  if (g->relu && !g->relu_stores)
    for (int c = 0; c < b->cols; c++)
      gemm_relu_result(g, gemm_accumulator(g, s->number, r, c));
  for (int c = 0; c < b->cols; c++)
    gemm_move_result(g, true, s->product, s->number, r, c);
  if (s->number == g->block_count - 1 && r == b->rows - 1) {
    int product = g->product;
    g->stored = s->product + 1;
    g->product = s->product;
    gemm_release_c(g);
    g->product = product;
  }
}

/* A slot other than the last one; a block ends in one that lets the next begin
 * with slot 0, so that blocks are alike. */
static int choose_slot(int slots, int last, int k, bool ends) {
  int slot = k % slots;
  while (slot == last || (ends && slots > 2 && slot == 0))
    slot = (slot + 1) % slots;
  return slot;
}

static void load(struct gemm *g, struct operand *o, int first, int count,
                 const struct gemm_step *s, int *reg) {
  bool ends = is_last_step(g, s);
  o->slot = choose_slot(o->use_ring, o->slot, s->k, ends);
  for (int i = 0; i < count; i++) {
    o->use_next = o->slot * GEMM_SIDE + i;
    reg[i] = gemm_load_operand(g, o, first + i, s->k, ends && i == count - 1);
  }
}

static void run_step(struct gemm *g, int k) {
  const struct cover_block *b = &g->block[g->number];
  struct gemm_step *past = &g->past[g->step % LAG];
  struct gemm_step now = {g->product, g->number, k, {0}, {0}};
  assert(b->rows <= GEMM_SIDE && b->cols <= GEMM_SIDE);
  if (g->step >= LAG)
    run_row(g, past, 1);
  int from = g->t->count;
  load(g, &g->left, b->row, b->rows, &now, now.left);
  load(g, &g->right, b->col, b->cols, &now, now.right);
  run_row(g, &now, 0);
  gemm_note_first_multiply(g, from, k);
  gemm_trace_locks(g, k, 1);
  *past = now;
  g->step++;
}

void gemm_skew_end(struct gemm *g) {
  for (int i = g->step < LAG ? g->step : LAG; i > 0; i--)
    run_row(g, &g->past[(g->step - i) % LAG], 1);
  g->step = 0;
}

void gemm_skew_product(struct gemm *g) {
  for (g->number = 0; g->number < g->block_count; g->number++) {
    for (int k = 0; k < g->k_steps; k++)
      run_step(g, k);
    if (g->k_steps < LAG) /* or a block of one row would end before this one */
      gemm_skew_end(g);
  }
}
