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
#include "kernel_cover.h"
#include "kernel_gemm.h"

#include <assert.h>
#include <limits.h>

enum {
  W_BYTES = 32,
  ACCUMULATORS = 18,
  LEFT_X = 0, /* x registers: left operands, right operands */
  LEFT_COUNT = 4,
  RIGHT_X = 4,
  RIGHT_COUNT = 8,
  RELU_ZERO = 2, /* taken from the left operands if there is a relu */
  RELU_TEMP = 3,
  TURN_X = 8, /* taken from the right ones if results are turned */
  /* Multiplies before the first of a product from which on work for it may
   * begin: 16 loads of C beside those of the left operand take about as long.
   */
  TAKE_AHEAD = 24,
  REG_TAKE = 12, /* r registers: values for locks */
  REG_GIVE = 13,
};

/* The cycles modulo 4 that each phase leaves to operations. */
static const struct {
  unsigned left, c_load, c_store, shuffle;
} cycles[GEMM_PHASES] = {
    [GEMM_FREE] = {0, 0, 0, 0},
    [GEMM_ALTERNATE] = {0x5, 0xa, 0x5, 0},
    /* A load reaches the accumulators' write port five cycles later than a
     * shuffle of the same cycle does (facts D3): 3 + 5 is 0 modulo 4. */
    [GEMM_QUARTER] = {0x7, 0x8, 0x7, 0xe},
    [GEMM_APART] = {0, 0, 0, 0},
};

/* Which passes read the low half. */
static const bool low_a[GEMM_PASSES] = {false, false, true};
static const bool low_b[GEMM_PASSES] = {false, true, false};

/* One input of the multiplier. */
struct operand {
  int stream;
  int64_t index_stride, k_stride; /* bytes to the next small block */
  int64_t low;                    /* and to the low half's */
  const bool *is_low;             /* per pass */
  int parts;                      /* 32-byte loads per small block */
  int mode_reg;                   /* vshuffle mode, or -1 */
  enum mem_kind mem, other_mem;
  /* Of a ring of buffers: */
  int full, empty; /* locks */
  int products;    /* that one buffer serves; 0: it is no ring */
  int turn, back;  /* registers: bytes from the last access in a buffer to the
                      next buffer, now; now and the next time together */
  /* x registers that the multiplier reads, and those that wait for the shuffle:
   * the first one, how many there are, how many take turns, whose turn it is */
  int use, use_count, use_ring, use_next;
  int stage, stage_count, stage_ring, stage_next;
};

struct gemm {
  const struct gemm_kind *kind;
  struct trace *t;
  bool zero, relu;
  enum gemm_phase phase;
  int k_steps, pass_steps; /* in all passes, in one */
  struct operand left, right;
  int c_load, c_store;
  enum mem_kind load, store; /* of C */
  int64_t c_row, c_col;      /* bytes to the next result */
  int c_parts;
  int right_count;  /* x registers of the right operand */
  bool turned;      /* the product is: C^T = B^T A^T */
  bool relu_stores; /* relu passes results on to the stores */
  bool turns_c;     /* results are transposed between memory and accumulator */
  int config_reg, shift_reg;
  int pair_cols;           /* least columns for two K steps together */
  int block_count, number; /* of the current block */
  const struct cover_block *block;
  /* Products: one, or those of all steps; steps is NULL or tells about locks.
   */
  const struct kernel_steps *steps;
  int product_count, product; /* number of the current one */
  int before_loop;            /* steps; 0: there is no loop */
};

static int max(int a, int b) { return a > b ? a : b; }

static bool is_float(const struct gemm *g) {
  return g->kind->mac == INSN_VMAC_F;
}

static int group(const struct gemm *g) {
  return g->steps ? g->steps->group : 1;
}

/* Whether a product ignores what C holds. */
static bool starts_anew(const struct gemm *g, int product) {
  return g->zero && product < group(g);
}

static bool is_first_block(const struct gemm *g) {
  return !g->product && !g->number;
}

/* How many blocks follow, in all products; steps never end. */
static int blocks_left(const struct gemm *g) {
  return g->steps ? INT_MAX : g->block_count - 1 - g->number;
}

/* trace_op.begins of what `product` begins with. */
static int loop_round(const struct gemm *g, int product) {
  int step = product / group(g);
  bool begins = g->before_loop && product % group(g) == 0 &&
                step >= g->before_loop && product < g->product_count;
  return begins ? step - g->before_loop + 1 : 0;
}

/* Pointers of different products walk different buffers. */
static int region(const struct gemm *g, int product, int i) {
  return product * g->block_count + g->block[i].region;
}

/* Block i's accumulators: two sets take turns if blocks overlap. */
static int accumulator(const struct gemm *g, int i, int r, int c) {
  int turn = g->phase == GEMM_APART ? 0 : i % 2;
  int set = ACCUMULATORS / 2 / (is_float(g) ? 1 : 2) * turn;
  return set + r * g->block[i].cols + c;
}

static int accumulator_reg(const struct gemm *g, int n) {
  if (is_float(g))
    return kernel_trace_reg(n % 2 ? "bmh%d" : "bml%d", n / 2);
  return kernel_trace_reg("cm%d", n);
}

/* The register that one 32-byte access of result n moves. */
static int accumulator_part(const struct gemm *g, int n, int part) {
  static const char *const am[] = {"amll%d", "amlh%d", "amhl%d", "amhh%d"};
  int i;
  switch (g->kind->part) {
  case PART_AM:
    i = n * (is_float(g) ? 2 : 4) + part;
    return kernel_trace_reg(am[i % 4], i / 4);
  case PART_BM:
    i = n * (is_float(g) ? 1 : 2) + part;
    return kernel_trace_reg(i % 2 ? "bmh%d" : "bml%d", i / 2);
  case PART_CM:
    break;
  }
  return kernel_trace_reg("cm%d", n);
}

/* ---- loads and stores ---- */

/* The registers that hold the way to the next buffer change sign about the
 * walk through one. */
static void turn_round(struct gemm *g, const struct operand *o) {
  kernel_trace_add(g->t, INSN_SUB, 3, (int64_t[]){o->turn, o->back, o->turn});
}

/* Whether a product is the last one on the operand's buffer. */
static bool is_left(const struct operand *o, int product) {
  return o->products && (product + 1) % o->products == 0;
}

/* Whether block i is the last one of a product that others follow. */
static bool leaves_product(const struct gemm *g, int i) {
  return g->steps && i == g->block_count - 1;
}

static bool is_opened(const struct gemm *g, const struct operand *o) {
  return o->products && g->product % o->products == 0;
}

static int64_t operand_offset(const struct gemm *g, const struct operand *o,
                              int index, int k) {
  return index * o->index_stride + k % g->pass_steps * o->k_stride +
         (o->is_low[k / g->pass_steps] ? o->low : 0);
}

static bool is_steady(const struct gemm *g) {
  return !is_first_block(g) && blocks_left(g) > 0;
}

/* Small block `index` of K step k into register x; `last`: the last one of the
 * current block of C. */
static void load_parts(struct gemm *g, const struct operand *o, int x,
                       int index, int k, bool last) {
  bool leaves = last && leaves_product(g, g->number);
  bool opens = !index && !k && !g->number && is_opened(g, o);
  for (int i = 0; i < o->parts; i++) {
    struct trace_op *op = kernel_trace_memory(
        g->t, o->mem, kernel_trace_reg(i ? "wh%d" : "wl%d", x), o->stream,
        operand_offset(g, o, index, k) + i * W_BYTES);
    op->other_mem = o->other_mem;
    op->boundary = last && i == o->parts - 1;
    op->region = region(g, g->product, g->number);
    op->phase = is_steady(g) && o == &g->left ? cycles[g->phase].left : 0;
    if (opens && i == 0) {
      op->wait = WAIT_TAKEN;
      op->wait_for = o->stream;
      op->opens = true;
    }
    op->leaves = leaves && i == o->parts - 1;
    if (op->leaves && is_left(o, g->product))
      op->way = o->turn;
  }
  if (leaves && is_left(o, g->product))
    turn_round(g, o);
}

/* Brings a small block into an x register, whose number it returns. */
static int load_operand(struct gemm *g, struct operand *o, int index, int k,
                        bool last) {
  int x = o->use + o->use_next++ % o->use_ring;
  if (o->mode_reg < 0) {
    load_parts(g, o, x, index, k, last);
    return x;
  }
  int stage = o->stage + o->stage_next++ % o->stage_ring;
  load_parts(g, o, stage, index, k, last);
  int64_t from = kernel_trace_reg("x%d", stage);
  kernel_trace_add(
      g->t, INSN_VSHUFFLE, 4,
      (int64_t[]){kernel_trace_reg("x%d", x), from, from, o->mode_reg})
      ->phase = is_steady(g) ? cycles[g->phase].shuffle : 0;
  return x;
}

/* In the first step C has to be taken.  Later on, where C has so few blocks
 * that the next product begins with what the present one has just stored, loads
 * wait for the stores; in other cases the accumulators keep them apart, unless
 * loads go to other registers. */
static void wait_for_c(const struct gemm *g, struct trace_op *o, int product) {
  bool few = g->turns_c || g->block_count * group(g) <= 2;
  if (product < group(g))
    o->wait = WAIT_TAKEN;
  else if (few && o->stream == g->c_load)
    o->wait = WAIT_DONE;
  o->wait_for = g->c_store;
}

/* ---- results that are turned on their way ---- */

/* From accumulators to narrow elements in vector registers and back. */
static const struct {
  enum mem_kind store;
  enum insn_id narrow, widen;
} conversion[] = {
    {MEM_ST_SRS_S16, INSN_VSRS_S16_S32_X, INSN_VUPS_S32_S16_X},
    {MEM_ST_SRS_S8, INSN_VSRS_S8_S32, INSN_VUPS_S32_S8},
    {MEM_ST_SRS_D8, INSN_VSRS_D8_S32, INSN_VUPS_S32_D8},
};
/* Registers with the modes of vshuffle; whole sums are two registers long and
 * take a second mode for the upper half. */
static const char *const mode_in[] = {"r6", "r7"};
static const char *const mode_out[] = {"r15", "r24"};

/* The x register of one part of a turned result in memory. */
static int turned_part(const struct gemm *g, bool store, int part) {
  int x = TURN_X + (!store ? 0 : g->kind->part == PART_AM ? 2 : 3);
  return kernel_trace_reg(part % 2 ? "wh%d" : "wl%d", x + part / 2);
}

static int narrow_reg(const struct gemm *g, int x) {
  return kernel_trace_reg(g->kind->part == PART_CM ? "wl%d" : "x%d", x);
}

static void shuffle(struct gemm *g, int to, int from, int other,
                    const char *mode) {
  kernel_trace_add(g->t, INSN_VSHUFFLE, 4,
                   (int64_t[]){to, kernel_trace_reg("x%d", from),
                               kernel_trace_reg("x%d", other),
                               kernel_trace_reg("%s", mode)});
}

static int find_conversion(const struct gemm *g) {
  int i = 0;
  while (conversion[i].store != g->kind->store)
    i++;
  return i;
}

/* What was loaded into the first registers becomes accumulator n. */
static void turn_in(struct gemm *g, int n) {
  if (g->kind->part == PART_AM) {
    for (int i = 0; i < 2; i++)
      shuffle(g, kernel_trace_reg(i ? "bmh%d" : "bml%d", n), TURN_X, TURN_X + 1,
              mode_in[i]);
    return;
  }
  shuffle(g, kernel_trace_reg("x%d", TURN_X + 1), TURN_X, TURN_X, mode_in[0]);
  kernel_trace_add(g->t, conversion[find_conversion(g)].widen, 3,
                   (int64_t[]){accumulator_reg(g, n), narrow_reg(g, TURN_X + 1),
                               g->shift_reg});
}

/* Accumulator n goes to the last registers, to be stored. */
static void turn_out(struct gemm *g, int n) {
  if (g->kind->part == PART_AM) {
    for (int i = 0; i < 2; i++)
      kernel_trace_add(g->t, INSN_VMOV_X, 2,
                       (int64_t[]){kernel_trace_reg("x%d", TURN_X + i),
                                   kernel_trace_reg(i ? "bmh%d" : "bml%d", n)});
    for (int i = 0; i < 2; i++)
      shuffle(g, kernel_trace_reg("x%d", TURN_X + 2 + i), TURN_X, TURN_X + 1,
              mode_out[i]);
    return;
  }
  kernel_trace_add(g->t, conversion[find_conversion(g)].narrow, 3,
                   (int64_t[]){narrow_reg(g, TURN_X + 2), accumulator_reg(g, n),
                               g->shift_reg});
  shuffle(g, kernel_trace_reg("x%d", TURN_X + 3), TURN_X + 2, TURN_X + 2,
          mode_out[0]);
}

static void set_turn(struct gemm *g, enum dtype out) {
  const struct kernel_shape *s = &g->kind->mac_shape;
  int in = kernel_gemm_transpose_mode(out, s->n, s->m);
  int back = kernel_gemm_transpose_mode(out, s->m, s->n);
  assert(in >= 0 && back >= 0);
  for (int i = 0; i < (g->kind->part == PART_AM ? 2 : 1); i++) {
    kernel_trace_constant(g->t, kernel_trace_reg("%s", mode_in[i]), in + i);
    kernel_trace_constant(g->t, kernel_trace_reg("%s", mode_out[i]), back + i);
  }
}

/* ---- C ---- */

/* 16 lanes of 32 bits. */
static int accumulator_half(const struct gemm *g, int n, int half) {
  int i = n * (is_float(g) ? 1 : 2) + half;
  return kernel_trace_reg(i % 2 ? "bmh%d" : "bml%d", i / 2);
}

/* The register that one 32-byte access of result n moves. */
static int c_part(const struct gemm *g, bool store, int n, int part) {
  if (g->turns_c)
    return turned_part(g, store, part);
  if (store && g->relu_stores)
    return kernel_trace_reg(part % 2 ? "wh%d" : "wl%d", RELU_TEMP);
  return accumulator_part(g, n, part);
}

static void move_c(struct gemm *g, bool store, int product, int i, int r,
                   int c) {
  const struct cover_block *b = &g->block[i];
  int64_t offset = (b->row + r) * g->c_row + (b->col + c) * g->c_col;
  if (product % group(g))
    offset += g->steps->c_bytes;
  bool last = r == b->rows - 1 && c == b->cols - 1;
  int n = accumulator(g, i, r, c);
  if (store && g->turns_c)
    turn_out(g, n);
  for (int part = 0; part < g->c_parts; part++) {
    if (store && g->relu_stores && part % 2 == 0)
      kernel_trace_relu_to(g->t, accumulator_half(g, n, part / 2), RELU_TEMP,
                           RELU_ZERO);
    struct trace_op *o = kernel_trace_memory(
        g->t, store ? g->store : g->load, c_part(g, store, n, part),
        store ? g->c_store : g->c_load, offset + part * W_BYTES);
    o->op.operand[1] = g->shift_reg;
    o->boundary = last && part == g->c_parts - 1;
    o->leaves = o->boundary && leaves_product(g, i);
    o->region = region(g, product, i);
    if (!store && product > g->product)
      o->begins = loop_round(g, product);
    if (g->steps)
      wait_for_c(g, o, product);
    if (store && blocks_left(g) > 1)
      o->phase = cycles[g->phase].c_store;
    if (!store && !is_first_block(g))
      o->phase = cycles[g->phase].c_load;
  }
  if (!store && g->turns_c)
    turn_in(g, n);
}

static void move_block(struct gemm *g, bool store, int product, int i) {
  for (int r = 0; r < g->block[i].rows; r++)
    for (int c = 0; c < g->block[i].cols; c++)
      move_c(g, store, product, i, r, c);
}

static void relu_block(struct gemm *g, int i) {
  const struct cover_block *b = &g->block[i];
  for (int n = 0; n < b->rows * b->cols; n++)
    for (int half = 0; half < (is_float(g) ? 1 : 2); half++)
      (g->kind->wide ? kernel_trace_relu_wide : kernel_trace_relu)(
          g->t, accumulator_half(g, accumulator(g, i, 0, 0) + n, half),
          RELU_TEMP, RELU_ZERO);
}

/* ---- multiplies ---- */

static void multiply(struct gemm *g, int r, int c, int x_left, int x_right,
                     bool start) {
  int64_t acc = accumulator_reg(g, accumulator(g, g->number, r, c));
  int64_t left = kernel_trace_reg("x%d", x_left),
          right = kernel_trace_reg("x%d", x_right);
  if (start)
    kernel_trace_add(g->t, g->kind->mul, 4,
                     (int64_t[]){acc, left, right, g->config_reg});
  else
    kernel_trace_add(g->t, g->kind->mac, 5,
                     (int64_t[]){acc, acc, left, right, g->config_reg});
}

/* `group` K steps from `k` on; loads stand right before their first use. */
static void multiply_group(struct gemm *g, int k, int group) {
  const struct cover_block *b = &g->block[g->number];
  bool last = k + group == g->k_steps;
  int right[2][COVER_COLS];
  for (int r = 0; r < b->rows; r++)
    for (int i = 0; i < group; i++) {
      bool end = last && i == group - 1;
      int left =
          load_operand(g, &g->left, b->row + r, k + i, end && r == b->rows - 1);
      for (int c = 0; c < b->cols; c++) {
        if (r == 0)
          right[i][c] = load_operand(g, &g->right, b->col + c, k + i,
                                     end && c == b->cols - 1);
        bool start = k + i == 0, anew = starts_anew(g, g->product);
        if (start && !anew && is_first_block(g))
          move_c(g, false, 0, 0, r, c);
        multiply(g, r, c, left, right[i][c], start && anew);
      }
    }
}

/* ---- rings of buffers ---- */

/* Waits for a buffer that `product` is the first one to use. */
static void take(struct gemm *g, int lock, int stream, int product) {
  struct trace_op *op = kernel_trace_add(
      g->t, INSN_ACQ, 2, (int64_t[]){lock, kernel_trace_reg("r%d", REG_TAKE)});
  op->wait = WAIT_GIVEN;
  op->wait_for = op->takes = stream;
  op->begins = loop_round(g, product);
}

static void give(struct gemm *g, enum insn_id id, int lock, int stream) {
  struct trace_op *op = kernel_trace_add(
      g->t, id, 2, (int64_t[]){lock, kernel_trace_reg("r%d", REG_GIVE)});
  op->wait = WAIT_LEFT;
  op->wait_for = op->gives = stream;
}

/* Waits for the buffers that `product` is the first one to use. */
static void take_buffers(struct gemm *g, int product) {
  const struct operand *o[2] = {&g->left, &g->right};
  if (!g->steps || product >= g->product_count)
    return;
  for (int i = 0; i < 2; i++)
    if (product % o[i]->products == 0)
      take(g, o[i]->full, o[i]->stream, product);
  if (product < group(g))
    take(g, g->steps->c.empty, g->c_store, product);
}

/* Every step of the loop runs the same program; only the last one, when no trip
 * is left, gives C away.  The last block of C it is whose stores lie behind the
 * loop. */
static void give_c(struct gemm *g) {
  if (!g->steps || g->steps->c.full < 0)
    return;
  bool last_step = g->product >= g->product_count - group(g);
  bool last_block = (g->product + 1) % group(g) == 0;
  if (last_step && (last_block || !g->before_loop)) {
    give(g, INSN_REL, g->steps->c.full, g->c_store);
  } else if (!last_block && g->before_loop &&
             g->product >= g->before_loop * group(g)) {
    struct trace_op *op = kernel_trace_add(
        g->t, INSN_EQZ, 2,
        (int64_t[]){kernel_trace_reg("r26"), kernel_trace_reg(TRACE_TRIPS)});
    op->wait = WAIT_ISSUED;
    op->wait_for = g->c_store;
    give(g, INSN_REL_COND, g->steps->c.full, g->c_store);
  }
}

/* Gives back what `product` is the last one to use. */
static void give_buffers(struct gemm *g, int product) {
  const struct operand *o[2] = {&g->left, &g->right};
  for (int i = 0; i < 2; i++)
    if (g->steps && is_left(o[i], product))
      give(g, INSN_REL, o[i]->empty, o[i]->stream);
}

/* Two K steps together at the very start and the very end of the kernel, where
 * C is loaded and stored without a block to hide behind; single steps
 * elsewhere, because a pair keeps all right registers busy. */
static int group_size(const struct gemm *g, int k) {
  const struct cover_block *b = &g->block[g->number];
  bool start = is_first_block(g) && k == 0;
  bool end = blocks_left(g) == 0 && k == g->k_steps - 2;
  bool room = b->cols >= g->pair_cols && 2 * b->cols <= g->right.use_ring;
  return (start || end) && room && k + 2 <= g->k_steps ? 2 : 1;
}

static const char *pass_note(const struct gemm *g, int pass) {
  static const char *const note[GEMM_PASSES] = {
      " of high x high", " of high x low", " of low x high"};
  return g->kind->passes > 1 ? note[pass] : "";
}

static void note_first_multiply(struct gemm *g, int from, int k) {
  const struct cover_block *b = &g->block[g->number];
  while (!g->t->op[from].op.id ||
         !(isa_insn(g->t->op[from].op.id)->flags & INSN_MAC))
    from++;
  struct arena *a = g->t->arena;
  const char *step = arena_printf(a, "step %d%s", k % g->pass_steps,
                                  pass_note(g, k / g->pass_steps));
  const char *product =
      g->product_count > 1 ? arena_printf(a, "product %d, ", g->product) : "";
  g->t->op[from].note =
      k ? step
        : arena_printf(a, "%sblock (%d, %d) of %d x %d results, %s", product,
                       b->row, b->col, b->rows, b->cols, step);
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

/* What lies around the steps of K from `k` on, `count` of them. */
static void trace_locks(struct gemm *g, int k, int count) {
  const struct cover_block *b = &g->block[g->number];
  int take_at = max(0, g->k_steps - TAKE_AHEAD / (b->rows * b->cols));
  if (!k && !g->number && g->product) /* behind what this one takes */
    give_buffers(g, g->product - 1);
  if (g->number == g->block_count - 1 && k + count >= take_at &&
      (k < take_at || !k))
    take_buffers(g, g->product + 1);
}

static void trace_block(struct gemm *g) {
  for (int k = 0; k < g->k_steps;) {
    int count = group_size(g, k), from = g->t->count;
    multiply_group(g, k, count);
    g->t->op[from].apart = g->phase == GEMM_APART && !k;
    note_first_multiply(g, from, k);
    trace_locks(g, k, count);
    k += count;
  }
  bool last = g->number == g->block_count - 1;
  int next = last ? 0 : g->number + 1, next_product = g->product + last;
  bool follows = !last || next_product < g->product_count;
  bool load = follows && !starts_anew(g, next_product);
  bool same_set = /* of accumulators */
      g->phase == GEMM_APART || (last && g->block_count % 2);
  if (load && !same_set)
    move_block(g, false, next_product, next);
  if (g->relu && !g->relu_stores)
    relu_block(g, g->number);
  move_block(g, true, g->product, g->number);
  if (load && same_set)
    move_block(g, false, next_product, next);
}

static void trace_product(struct gemm *g) {
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
    products += group(g);
  kernel_trace_reserve(g->t, products * results *
                                 (5 * g->k_steps / 2 + 2 * g->c_parts + 1));
}

static void trace_products(struct gemm *g) {
  take_buffers(g, 0);
  for (g->product = 0; g->product < g->product_count; g->product++) {
    trace_product(g);
    give_c(g);
  }
  give_buffers(g, g->product_count - 1);
  if (!g->before_loop)
    return;
  int from = g->t->count, macs = g->t->mac_count;
  move_block(g, false, g->product_count, 0);
  for (; g->product < g->product_count + group(g); g->product++)
    trace_product(g);
  g->t->mac_count = macs;
  for (int i = from; i < g->t->count; i++)
    g->t->op[i].phantom = true;
}

/* ---- what is set once ---- */

static void set_modes(struct gemm *g, const struct kernel_gemm *k) {
  const struct gemm_kind *kind = g->kind;
  int config = kind->config;
  if (!is_float(g)) {
    enum dtype left = g->turned ? k->in1 : k->in0,
               right = g->turned ? k->in0 : k->in1;
    config += dtype_kind(left) == DTYPE_SIGNED ? 512 : 0;
    config += dtype_kind(right) == DTYPE_SIGNED ? 256 : 0;
  }
  kernel_trace_constant(g->t, g->config_reg, config);
  kernel_trace_narrowing(g->t, kind->store, k->rounding, k->saturation,
                         k->shift, g->shift_reg);
  if (kind->store != MEM_ST_AM && kind->store != MEM_ST_CONV)
    kernel_trace_constant(g->t, kernel_trace_reg("crUPSSign"), 0);
}

static void set_shuffle(struct gemm *g, struct operand *o, const char *reg,
                        enum dtype type, int rows, int columns) {
  int mode = kernel_gemm_transpose_mode(type, rows, columns);
  assert(mode >= 0);
  o->mode_reg = kernel_trace_reg("%s", reg);
  kernel_trace_constant(g->t, o->mode_reg, mode);
}

/* Half of the registers wait for the shuffle, if there is one. */
static void share_registers(struct operand *o, int first, int count) {
  o->stage_count = o->mode_reg < 0 ? 0 : count / 2;
  o->stage = first;
  o->use = first + o->stage_count;
  o->use_count = count - o->stage_count;
}

/* A relu leaves two registers to the left operand, too few if it is shuffled.
 * The right one makes do with two that wait. */
static void share_for_relu(struct gemm *g) {
  enum { WAITING = 2 };
  struct operand *l = &g->left, *r = &g->right;
  r->stage_count = WAITING;
  r->use = r->stage + WAITING;
  r->use_count = g->right_count / 2;
  if (l->mode_reg < 0 || g->turns_c)
    return;
  l->stage_count = l->use_count = WAITING;
  l->use = r->use + r->use_count;
}

static void set_operands(struct gemm *g, const struct kernel_gemm *k) {
  const struct kernel_shape *s = &g->kind->mac_shape;
  int n_blocks = k->n / s->n;
  bool halves = g->kind->passes > 1;
  enum dtype a_type = halves ? DTYPE_BF16 : k->in0;
  enum dtype b_type = halves ? DTYPE_BF16 : k->in1;
  int64_t a_bytes = s->m * s->k * dtype_bytes(a_type);
  int64_t b_bytes = s->k * s->n * dtype_bytes(b_type);
  int64_t c_bytes = s->m * s->n * dtype_bytes(k->out);
  int b = kernel_trace_stream(g->t, "p1", "p1", 1);
  int a = kernel_trace_stream(g->t, "p0", "p0", 0);
  struct operand from_a = {.stream = a,
                           .index_stride = g->pass_steps * a_bytes,
                           .k_stride = a_bytes,
                           .low = k->m / s->m * g->pass_steps * a_bytes,
                           .is_low = low_a,
                           .parts = (int)a_bytes / W_BYTES,
                           .mode_reg = -1};
  struct operand from_b = {.stream = b,
                           .index_stride = b_bytes,
                           .k_stride = n_blocks * b_bytes,
                           .low = g->pass_steps * n_blocks * b_bytes,
                           .is_low = low_b,
                           .parts = (int)b_bytes / W_BYTES,
                           .mode_reg = -1};
  g->left = g->turned ? from_b : from_a;
  g->right = g->turned ? from_a : from_b;
  g->c_row = g->turned ? c_bytes : n_blocks * c_bytes;
  g->c_col = g->turned ? n_blocks * c_bytes : c_bytes;
  g->c_parts = (int)c_bytes / W_BYTES;
  g->c_load = kernel_trace_stream(g->t, "p2", "p2", 2);
  g->c_store = kernel_trace_stream(g->t, "p3", "p2", 2);
  g->left.mem = MEM_LDA_W, g->left.other_mem = MEM_LDB_W;
  g->right.mem = MEM_LDB_W;
  bool shuffle_a = k->ta != g->turned, shuffle_b = k->tb != g->turned;
  if (g->turned ? shuffle_b : shuffle_a)
    set_shuffle(g, &g->left, "r2", g->turned ? b_type : a_type, s->k, s->m);
  if (g->turned ? shuffle_a : shuffle_b)
    set_shuffle(g, &g->right, "r3", g->turned ? a_type : b_type, s->n, s->k);
  share_registers(&g->left, LEFT_X, g->relu ? RELU_ZERO : LEFT_COUNT);
  share_registers(&g->right, RIGHT_X, g->right_count);
  if (g->relu && g->right.mode_reg >= 0)
    share_for_relu(g);
}

/* The way from the last access in a buffer to the next buffer: r4 or r5 minus
 * the walk through one, then minus r4 or r5 minus the walk, and so on. */
static void set_ring(struct gemm *g, struct operand *o, int distance_reg,
                     int turn_reg, int last_index) {
  int64_t walk = operand_offset(g, o, last_index, g->k_steps - 1) +
                 (o->parts - 1) * W_BYTES;
  o->turn = kernel_trace_reg("r%d", turn_reg);
  o->back = kernel_trace_reg("r%d", turn_reg + 1);
  kernel_trace_constant(g->t, o->turn, -walk);
  kernel_trace_constant(g->t, o->back, -2 * walk);
  kernel_trace_add(
      g->t, INSN_ADD, 3,
      (int64_t[]){o->turn, o->turn, kernel_trace_reg("r%d", distance_reg)});
}

static void set_steps(struct gemm *g) {
  const struct kernel_steps *s = g->steps;
  struct operand *a = g->turned ? &g->right : &g->left;
  struct operand *b = g->turned ? &g->left : &g->right;
  const struct cover_block *last = &g->block[g->block_count - 1];
  int left = last->row + last->rows - 1, right = last->col + last->cols - 1;
  kernel_trace_constant(g->t, kernel_trace_reg("r%d", REG_TAKE), -1);
  kernel_trace_constant(g->t, kernel_trace_reg("r%d", REG_GIVE), 1);
  a->full = s->a.full, a->empty = s->a.empty, a->products = 1;
  b->full = s->b.full, b->empty = s->b.empty, b->products = s->group;
  set_ring(g, a, 4, 8, g->turned ? right : left);
  set_ring(g, b, 5, 10, g->turned ? left : right);
  g->product_count =
      s->group * (g->before_loop ? g->before_loop + 2 : s->count);
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
      .turns_c = k->tc && !turned,
      .right_count = k->tc && !turned ? TURN_X - RIGHT_X : RIGHT_COUNT,
      .load = k->tc && !turned ? MEM_LDA_W : kind->load,
      .store = relu_stores || (k->tc && !turned) ? MEM_ST_W : kind->store,
      .relu_stores = relu_stores,
      .product_count = 1,
      .k_steps = kind->passes * (k->k / s->k),
      .pass_steps = k->k / s->k,
      .config_reg = kernel_trace_reg("r0"),
      .shift_reg = kernel_trace_reg("s0")};
  g.pair_cols = isa_distance(kind->mac, 0, kind->mac, 1);
  if (g.turns_c)
    set_turn(&g, k->out);
  set_modes(&g, k);
  set_operands(&g, k);
  int moves = !k->relu ? 0 : (relu_stores ? 2 : 3) * (is_float(&g) ? 1 : 2);
  if (g.turns_c)
    moves += kind->part == PART_AM ? 6 : 3;
  struct cover_problem p = {.rows = (g.turned ? k->n : k->m) / s->m,
                            .cols = (g.turned ? k->m : k->n) / s->n,
                            .k_steps = g.k_steps,
                            .left_parts = g.left.parts,
                            .right_parts = g.right.parts,
                            .result_parts = g.c_parts,
                            .load_result = !k->zero || steps,
                            .left_shuffle = g.left.mode_reg >= 0,
                            .right_shuffle = g.right.mode_reg >= 0,
                            .result_moves = moves,
                            .accumulators = is_float(&g) ? 9 : 4,
                            .distance = g.pair_cols,
                            .usual_rows = kind->rows,
                            .usual_cols = kind->cols};
  g.block = kernel_cover(t->arena, &p, &g.block_count);
  if (k->relu)
    (kind->wide ? kernel_trace_relu_open_wide
                : kernel_trace_relu_open)(t, RELU_ZERO);
  if (steps)
    set_steps(&g);
  reserve(&g);
  trace_products(&g);
  if (k->relu)
    kernel_trace_relu_close(t);
}
