/* gemm_result.c -- the results of a gemm: accumulators, the ways between them
 * and C in memory, and what happens to results on the way. */
#include "kernel_gemm_trace.h"

#include <assert.h>

enum { ACCUMULATORS = 18 };

/* Block i's accumulators: two sets take turns if blocks overlap. */
int gemm_accumulator(const struct gemm *g, int i, int r, int c) {
  if (gemm_is_skewed(g))
    return r * GEMM_SIDE + c;
  int turn = g->phase == GEMM_APART ? 0 : i % 2;
  int set = ACCUMULATORS / 2 / (gemm_is_float(g) ? 1 : 2) * turn;
  return set + r * g->block[i].cols + c;
}

int gemm_accumulator_reg(const struct gemm *g, int n) {
  if (gemm_is_skewed(g))
    return kernel_trace_reg(g->t, "dm%d", n);
  if (gemm_is_float(g))
    return kernel_trace_reg(g->t, n % 2 ? "bmh%d" : "bml%d", n / 2);
  return kernel_trace_reg(g->t, "cm%d", n);
}

static const char *const quarter[] = {"bmll%d", "bmlh%d", "bmhl%d", "bmhh%d"};

/* The register that one access of result n moves. */
static int skewed_part(const struct gemm *g, int n, int part) {
  switch (g->kind->part) {
  case PART_AM:
    return kernel_trace_reg(g->t, quarter[part], n);
  case PART_BM:
    return kernel_trace_reg(g->t, part ? "cmh%d" : "cml%d", n);
  case PART_CM:
    break;
  }
  return kernel_trace_reg(g->t, "dm%d", n);
}

static int accumulator_part(const struct gemm *g, int n, int part) {
  if (gemm_is_skewed(g))
    return skewed_part(g, n, part);
  static const char *const am[] = {"amll%d", "amlh%d", "amhl%d", "amhh%d"};
  int i;
  switch (g->kind->part) {
  case PART_AM:
    i = n * (gemm_is_float(g) ? 2 : 4) + part;
    return kernel_trace_reg(g->t, am[i % 4], i / 4);
  case PART_BM:
    i = n * (gemm_is_float(g) ? 1 : 2) + part;
    return kernel_trace_reg(g->t, i % 2 ? "bmh%d" : "bml%d", i / 2);
  case PART_CM:
    break;
  }
  return kernel_trace_reg(g->t, "cm%d", n);
}

/* In the first step C has to be taken.  Later on, where C has so few blocks
 * that the next product begins with what the present one has just stored, loads
 * wait for the stores; in other cases the accumulators keep them apart, unless
 * loads go to other registers than stores come from. */
static void wait_for_c(const struct gemm *g, struct trace_op *o, int product) {
  bool few = g->turns_c || g->block_count * gemm_group(g) <= 2;
  if (product < gemm_group(g))
    o->wait = WAIT_TAKEN;
  else if (gemm_is_skewed(g) && o->stream == g->c_load)
    o->wait = few || g->stored < product ? WAIT_DONE : WAIT_LEFT;
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
  return kernel_trace_reg(g->t, part % 2 ? "wh%d" : "wl%d", x + part / 2);
}

static int narrow_reg(const struct gemm *g, int x) {
  return kernel_trace_reg(g->t, g->kind->part == PART_CM ? "wl%d" : "x%d", x);
}

static void shuffle(struct gemm *g, int to, int from, int other,
                    const char *mode) {
  kernel_trace_add(g->t, g->t->machine->insn[KERNEL_SHUFFLE], 4,
                   (int64_t[]){to, kernel_trace_reg(g->t, "x%d", from),
                               kernel_trace_reg(g->t, "x%d", other),
                               kernel_trace_named(g->t, mode)});
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
      shuffle(g, kernel_trace_reg(g->t, i ? "bmh%d" : "bml%d", n), TURN_X,
              TURN_X + 1, mode_in[i]);
    return;
  }
  shuffle(g, kernel_trace_reg(g->t, "x%d", TURN_X + 1), TURN_X, TURN_X,
          mode_in[0]);
  kernel_trace_add(g->t, conversion[find_conversion(g)].widen, 3,
                   (int64_t[]){gemm_accumulator_reg(g, n),
                               narrow_reg(g, TURN_X + 1), g->shift_reg});
}

/* Accumulator n goes to the last registers, to be stored. */
static void turn_out(struct gemm *g, int n) {
  if (g->kind->part == PART_AM) {
    for (int i = 0; i < 2; i++)
      kernel_trace_add(
          g->t, g->t->machine->insn[KERNEL_MOVE_VECTOR], 2,
          (int64_t[]){kernel_trace_reg(g->t, "x%d", TURN_X + i),
                      kernel_trace_reg(g->t, i ? "bmh%d" : "bml%d", n)});
    for (int i = 0; i < 2; i++)
      shuffle(g, kernel_trace_reg(g->t, "x%d", TURN_X + 2 + i), TURN_X,
              TURN_X + 1, mode_out[i]);
    return;
  }
  kernel_trace_add(g->t, conversion[find_conversion(g)].narrow, 3,
                   (int64_t[]){narrow_reg(g, TURN_X + 2),
                               gemm_accumulator_reg(g, n), g->shift_reg});
  shuffle(g, kernel_trace_reg(g->t, "x%d", TURN_X + 3), TURN_X + 2, TURN_X + 2,
          mode_out[0]);
}

void gemm_set_turn(struct gemm *g, enum dtype out) {
  const struct kernel_shape *s = &g->kind->mac_shape;
  int in = kernel_gemm_transpose_mode(out, s->n, s->m);
  int back = kernel_gemm_transpose_mode(out, s->m, s->n);
  assert(in >= 0 && back >= 0);
  for (int i = 0; i < (g->kind->part == PART_AM ? 2 : 1); i++) {
    kernel_trace_constant(g->t, kernel_trace_named(g->t, mode_in[i]), in + i);
    kernel_trace_constant(g->t, kernel_trace_named(g->t, mode_out[i]),
                          back + i);
  }
}

/* ---- C ---- */

/* 16 lanes of 32 bits. */
static int accumulator_half(const struct gemm *g, int n, int half) {
  if (gemm_is_skewed(g))
    return kernel_trace_reg(g->t, quarter[half], n);
  int i = n * (gemm_is_float(g) ? 1 : 2) + half;
  return kernel_trace_reg(g->t, i % 2 ? "bmh%d" : "bml%d", i / 2);
}

/* The register that one 32-byte access of result n moves. */
static int c_part(const struct gemm *g, bool store, int n, int part) {
  if (g->turns_c)
    return turned_part(g, store, part);
  if (store && g->relu_stores)
    return gemm_is_skewed(g)
               ? kernel_trace_reg(g->t, "x%d", g->relu_temp)
               : kernel_trace_reg(g->t, part % 2 ? "wh%d" : "wl%d",
                                  g->relu_temp);
  return accumulator_part(g, n, part);
}

/* Port A alone loads accumulators, but it has the left operand, too: the first
 * half of an old result goes through vector registers. */
static bool comes_by_b(const struct gemm *g, int part) {
  return gemm_is_skewed(g) && g->through >= 0 && g->kind->part == PART_AM &&
         part < GEMM_SUM_PARTS / 2;
}

/* Where a result is loaded to or stored from: the second one of a row makes way
 * if it takes many stores and something follows. */
static int skewed_place(struct gemm *g, bool store, int product, int i, int r,
                        int c) {
  int n = gemm_accumulator(g, i, r, c);
  bool follows = g->before_loop || product < g->product_count - 1 ||
                 i < g->block_count - 1;
  if (!store)
    return GEMM_STAGE;
  if (!c || g->c_parts < GEMM_SUM_PARTS || !follows)
    return n;
  static const char *const half[] = {"cml%d", "cmh%d"};
  for (int h = 0; h < 2; h++)
    kernel_trace_add(g->t, g->t->machine->insn[KERNEL_MOVE_HALF], 2,
                     (int64_t[]){kernel_trace_reg(g->t, half[h], GEMM_STAGE),
                                 kernel_trace_reg(g->t, half[h], n)});
  return GEMM_STAGE;
}

void gemm_move_result(struct gemm *g, bool store, int product, int i, int r,
                      int c) {
  const struct cover_block *b = &g->block[i];
  int n = gemm_is_skewed(g) ? skewed_place(g, store, product, i, r, c)
                            : gemm_accumulator(g, i, r, c);
  int64_t offset = (b->row + r) * g->c_row + (b->col + c) * g->c_col;
  if (product % gemm_group(g))
    offset += g->steps->c_bytes;
  bool last = r == b->rows - 1 && c == b->cols - 1;
  if (store && g->turns_c)
    turn_out(g, n);
  for (int part = 0; part < g->c_parts; part++) {
    int halves = gemm_is_skewed(g) ? 1 : 2; /* of a vector register */
    if (store && g->relu_stores && part % halves == 0)
      kernel_trace_relu_to(g->t, accumulator_half(g, n, part / halves),
                           g->relu_temp, g->relu_zero);
    bool by_b = !store && comes_by_b(g, part);
    int reg = by_b ? kernel_trace_reg(g->t, "x%d", g->through + part)
                   : c_part(g, store, n, part);
    struct trace_op *o =
        kernel_trace_memory(g->t,
                            by_b    ? MEM_LDB_W
                            : store ? g->store
                                    : g->load,
                            reg, store ? g->c_store : g->c_load,
                            offset + part * gemm_access_bytes(g));
    o->op.operand[1] = g->shift_reg;
    o->boundary = last && part == g->c_parts - 1;
    o->leaves = o->boundary && gemm_leaves_product(g, i);
    o->region = gemm_region(g, product, i);
    if (!store && product > g->product)
      o->begins = gemm_loop_round(g, product);
    if (g->steps)
      wait_for_c(g, o, product);
    if (store && gemm_blocks_left(g) > 1)
      o->phase = gemm_cycles[g->phase].c_store;
    if (!store && !gemm_is_first_block(g))
      o->phase = gemm_cycles[g->phase].c_load;
    if (by_b)
      kernel_trace_add(g->t, g->t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                       (int64_t[]){c_part(g, store, n, part), reg});
  }
  if (!store && g->turns_c)
    turn_in(g, n);
}

/* Neighbours in memory follow each other, by steps that fit immediates. */
void gemm_move_block(struct gemm *g, bool store, int product, int i) {
  const struct cover_block *b = &g->block[i];
  for (int n = 0; n < b->rows * b->cols; n++)
    gemm_move_result(g, store, product, i, g->tall ? n % b->rows : n / b->cols,
                     g->tall ? n / b->rows : n % b->cols);
}

void gemm_relu_result(struct gemm *g, int n) {
  int parts = gemm_is_skewed(g) ? GEMM_SUM_PARTS : gemm_is_float(g) ? 1 : 2;
  for (int i = 0; i < parts; i++)
    (g->kind->wide ? kernel_trace_relu_wide : kernel_trace_relu)(
        g->t, accumulator_half(g, n, i), g->relu_temp, g->relu_zero);
}

void gemm_relu_block(struct gemm *g, int i) {
  const struct cover_block *b = &g->block[i];
  for (int n = 0; n < b->rows * b->cols; n++)
    gemm_relu_result(g, gemm_accumulator(g, i, 0, 0) + n);
}
