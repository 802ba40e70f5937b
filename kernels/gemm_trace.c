/* gemm_trace.c -- writes the run of C += A * B for one block in tile memory.
 *
 * C is cut into blocks of a few MAC results (bf16: 2 x 4 results of 4x4; int8:
 * 2 x 2 results of 4x8; cover.c chooses what is left at the edges).  There are
 * accumulators for two blocks: while one is multiplied, the finished one is
 * stored and the next one is loaded in its place.  Per K step a block needs
 * rows left and cols right operands; right ones come through load port B and
 * fill it, left ones take half of port A, C the other half.
 *
 * The first two and the last two K steps of the kernel are taken together: for
 * both steps all of row 0, then all of row 1.  So at the start the first row
 * can work while the second row of C still loads, and at the end the first row
 * is stored while the second row still works.
 *
 * The left operand is A and the right one B, unless C is transposed: then the
 * product is turned round, C^T = B^T A^T, which costs nothing.  Where the
 * multiplier's results are not square it does not know the turned product; then
 * each result passes through vector registers and is shuffled there.  An
 * operand whose small blocks are not as the multiplier wants them passes
 * through vshuffle, one instruction of the otherwise idle MV slot.
 *
 * A kernel with steps traces the first one, or two, whole; then two rounds of
 * the loop, the second to prove that it is like the first; and, without
 * executing it, a third, so that the pointers' last steps lead to where the
 * next round starts.  Nothing of a round comes before its first operation,
 * which is where the loop's branch goes back to (trace_op.begins, fold.c).
 * Pointers reach the other buffer of a ring by a step that changes its sign
 * about the walk through one buffer, so no address is computed.
 *
 * Inputs in two halves (kernels.h) are one long walk: three passes through K,
 * each of another pair of halves, into the same accumulators.  The large
 * product comes first, so that every pointer starts at its base; B's low half
 * then follows as if K went on.
 */
#include "kernel_gemm_trace.h"

/* ---- multiplies ---- */

/* `group` K steps from `k` on; loads stand right before their first use. */
static void multiply_group(struct gemm *g, int k, int group) {
  const struct cover_block *b = &g->block[g->number];
  bool last = k + group == g->k_steps;
  int right[2][COVER_COLS];
  for (int r = 0; r < b->rows; r++)
    for (int i = 0; i < group; i++) {
      bool end = last && i == group - 1;
      int left = gemm_load_operand(g, &g->left, b->row + r, k + i,
                                   end && r == b->rows - 1);
      for (int c = 0; c < b->cols; c++) {
        if (r == 0)
          right[i][c] = gemm_load_operand(g, &g->right, b->col + c, k + i,
                                          end && c == b->cols - 1);
        bool start = k + i == 0, anew = gemm_starts_anew(g, g->product);
        if (start && !anew && gemm_is_first_block(g))
          gemm_move_result(g, false, 0, 0, r, c);
        int n = gemm_accumulator(g, g->number, r, c);
        gemm_multiply(g, n, start && anew ? -1 : n, left, right[i][c]);
      }
    }
}

/* ---- the run ---- */

/* Two K steps together at the very start and the very end of the kernel, where
 * C is loaded and stored without a block to hide behind; single steps
 * elsewhere, because a pair keeps all right registers busy. */
static int group_size(const struct gemm *g, int k) {
  const struct cover_block *b = &g->block[g->number];
  bool start = gemm_is_first_block(g) && k == 0;
  bool end = gemm_blocks_left(g) == 0 && k == g->k_steps - 2;
  bool room = b->cols >= g->pair_cols && 2 * b->cols <= g->right.use_ring;
  return (start || end) && room && k + 2 <= g->k_steps ? 2 : 1;
}

/* Rings hold whole K steps of a block, one, two or four, so that they come
 * round with every other block: what repeats can be rolled up. */
static void set_rings(struct gemm *g, const struct cover_block *b) {
  struct operand *o[2] = {&g->left, &g->right};
  int need[2] = {b->rows, b->cols};
  for (int i = 0; i < 2; i++) {
    int x = o[i]->use_count, steps = 4;
    while (steps > 1 && (need[i] * steps > x || 2 * g->k_steps % steps))
      steps /= 2;
    o[i]->use_ring = need[i] * steps > x ? x : need[i] * steps;
    o[i]->stage_ring =
        o[i]->stage_count < o[i]->use_ring ? o[i]->stage_count : o[i]->use_ring;
    o[i]->use_next = o[i]->stage_next = 0;
  }
  bool narrow = b->rows < g->right.parts; /* port B cannot bring them all */
  g->right.other_mem = narrow ? MEM_LDA_W : MEM_NONE;
}

static void trace_block(struct gemm *g) {
  for (int k = 0; k < g->k_steps;) {
    int count = group_size(g, k), from = g->t->count;
    multiply_group(g, k, count);
    g->t->op[from].apart = g->phase == GEMM_APART && !k;
    gemm_note_first_multiply(g, from, k);
    gemm_trace_locks(g, k, count);
    k += count;
  }
  bool last = g->number == g->block_count - 1;
  int next = last ? 0 : g->number + 1, next_product = g->product + last;
  bool follows = !last || next_product < g->product_count;
  bool load = follows && !gemm_starts_anew(g, next_product);
  bool same_set = /* of accumulators */
      g->phase == GEMM_APART || (last && g->block_count % 2);
  if (load && !same_set)
    gemm_move_block(g, false, next_product, next);
  if (g->relu && !g->relu_stores)
    gemm_relu_block(g, g->number);
  gemm_move_block(g, true, g->product, g->number);
  if (load && same_set)
    gemm_move_block(g, false, next_product, next);
}

static void trace_product(struct gemm *g) {
  if (gemm_is_skewed(g)) {
    gemm_skew_product(g);
    return;
  }
  for (g->number = 0; g->number < g->block_count; g->number++) {
    int i = g->number;
    if (!i || g->block[i].region != g->block[i - 1].region)
      set_rings(g, &g->block[i]);
    trace_block(g);
  }
}

/* Room for the multiplies, as many loads, and C. */
static void reserve(struct gemm *g) {
  int results = 0, products = g->product_count;
  for (int i = 0; i < g->block_count; i++)
    results += g->block[i].rows * g->block[i].cols;
  if (g->before_loop)
    products += gemm_group(g);
  kernel_trace_reserve(g->t, products * results *
                                 (5 * g->k_steps / 2 + 2 * g->c_parts + 1));
}

static void trace_products(struct gemm *g) {
  gemm_acquire_buffers(g, 0);
  for (g->product = 0; g->product < g->product_count; g->product++) {
    trace_product(g);
    if (!gemm_is_skewed(g))
      gemm_release_c(g);
  }
  gemm_skew_end(g);
  gemm_release_buffers(g, g->product_count - 1);
  if (!g->before_loop)
    return;
  int from = g->t->count, macs = g->t->mac_count;
  if (!gemm_is_skewed(g))
    gemm_move_block(g, false, g->product_count, 0);
  for (; g->product < g->product_count + gemm_group(g); g->product++)
    trace_product(g);
  gemm_skew_end(g);
  g->t->mac_count = macs;
  for (int i = from; i < g->t->count; i++)
    g->t->op[i].phantom = true;
}

static void set_modes(struct gemm *g, const struct kernel_gemm *k) {
  const struct gemm_kind *kind = g->kind;
  int config = kind->config;
  if (!gemm_is_float(g)) {
    enum dtype left = g->turned ? k->in1 : k->in0,
               right = g->turned ? k->in0 : k->in1;
    config += dtype_kind(left) == DTYPE_SIGNED ? 512 : 0;
    config += dtype_kind(right) == DTYPE_SIGNED ? 256 : 0;
  }
  kernel_trace_constant(g->t, g->config_reg, config);
  kernel_trace_narrowing(g->t, kind->store, k->rounding, k->saturation,
                         k->shift, g->shift_reg);
  if (kind->store == MEM_ST_AM || kind->store == MEM_ST_CONV)
    return;
  const struct kernel_machine *m = g->t->machine;
  if (m->ups_sign)
    kernel_trace_constant(g->t, kernel_trace_named(g->t, m->ups_sign), 0);
  if (m->srs_mode) {
    kernel_trace_constant(g->t, kernel_trace_named(g->t, m->srs_mode),
                          kind->wide);
    kernel_trace_constant(g->t, kernel_trace_named(g->t, m->ups_mode),
                          kind->wide);
  }
}

/* Where accumulators are large, both inputs are read in every other cycle,
 * either way. */
static bool is_tall(const struct trace *t, const struct kernel_gemm *k) {
  return k->tall && !t->machine->few_sums;
}

void kernel_trace_gemm(struct trace *t, const struct kernel_gemm *k,
                       const struct kernel_steps *steps, int before_loop,
                       const struct gemm_kind *kind, enum gemm_phase phase) {
  const struct kernel_shape *s = &kind->mac_shape;
  bool turned = k->tc && s->m == s->n;
  bool relu_stores =
      k->relu && kind->store == MEM_ST_AM && !kind->wide && (turned || !k->tc);
  struct gemm g = {
      .kind = kind,
      .t = t,
      .zero = k->zero,
      .relu = k->relu,
      .phase = phase,
      .steps = steps,
      .before_loop = before_loop,
      .turned = turned,
      .tall = is_tall(t, k) != turned, /* A is `right` if so */
      .turns_c = k->tc && !turned,
      .right_count = k->tc && !turned ? TURN_X - RIGHT_X : RIGHT_COUNT,
      .load = k->tc && !turned ? MEM_LDA_W : kind->load,
      .store = relu_stores || (k->tc && !turned) ? MEM_ST_W : kind->store,
      .relu_stores = relu_stores,
      .product_count = 1,
      .k_steps = kind->passes * (k->k / s->k),
      .pass_steps = k->k / s->k,
      .config_reg = kernel_trace_named(t, "r0"),
      .shift_reg = kernel_trace_named(t, "s0")};
  g.pair_cols = isa_distance(t->isa, kind->mac, 0, kind->mac, 1);
  if (g.turns_c)
    gemm_set_turn(&g, k->out);
  if (kind->blocks)
    gemm_open_fifos(&g);
  set_modes(&g, k);
  gemm_set_operands(&g, k);
  int moves =
      !k->relu ? 0 : (relu_stores ? 2 : 3) * (gemm_is_float(&g) ? 1 : 2);
  if (g.turns_c)
    moves += kind->part == PART_AM ? 6 : 3;
  const struct gemm_block *usual = g.tall ? &kind->tall : &kind->usual;
  int rows = k->m / s->m, cols = k->n / s->n;
  bool swapped = gemm_right_is_a(&g);
  struct cover_problem p = {.rows = swapped ? cols : rows,
                            .cols = swapped ? rows : cols,
                            .k_steps = g.k_steps,
                            .left_parts = g.left.parts,
                            .right_parts = g.right.parts,
                            .result_parts = g.c_parts,
                            .load_result = !k->zero || steps,
                            .left_shuffle = g.left.mode_reg >= 0,
                            .right_shuffle = g.right.mode_reg >= 0,
                            .result_moves = moves,
                            .accumulators = gemm_is_float(&g) ? 9 : 4,
                            .distance = g.pair_cols,
                            .most_rows = COVER_ROWS,
                            .most_cols = COVER_COLS,
                            .usual_rows = usual->rows,
                            .usual_cols = usual->cols};
  if (gemm_is_skewed(&g)) {
    p.accumulators = GEMM_STAGE;
    p.most_rows = p.most_cols = GEMM_SIDE;
  }
  g.block = kernel_cover(t->arena, &p, &g.block_count);
  if (k->relu)
    (kind->wide ? kernel_trace_relu_open_wide
                : kernel_trace_relu_open)(t, g.relu_zero);
  if (steps)
    gemm_set_steps(&g);
  reserve(&g);
  trace_products(&g);
  if (k->relu)
    kernel_trace_relu_close(t);
}
