/* gemm_lanes.c -- C += A * B of bf16 where the multiplier has floats lane by
 * lane alone: 64 products of two y registers, each added to a sum of its own.
 *
 * A result is 2 rows of 32 columns, one accumulator.  For a step of K its left
 * operand holds A's two elements, 32 times each, and its right operand a row of
 * B, twice.  The first takes two broadcasts, the second is loaded twice, once
 * through either port.  A block of 2 x 2 results uses each for two multiplies,
 * so that a step takes four cycles of the multiplier and as many of the mv slot
 * that broadcasts.  The left operand of the first row is needed first and last,
 * wherefore it has two registers that take turns.
 *
 * Turned blocks of A cost nothing, for a broadcast takes any element.  Those of
 * B are shuffled, twice per step and column, which halves the speed; those of
 * C on their way between memory and accumulator.
 *
 * Every product is exact, and a sum is rounded once per step of K.
 */
#include "kernel_gemm.h"

#include <assert.h>

enum {
  SIDE = 2,   /* results of a block in either direction */
  ROWS = 2,   /* of a result */
  COLS = 32,  /* of a result */
  STEP_K = 2, /* of a small block */
  ACCESS = 64,
  AHEAD = 16, /* steps of K in a register of A */
  A_BYTES = ROWS * STEP_K * 2,
  B_BYTES = STEP_K * COLS * 2,
  C_BYTES = ROWS * COLS * 4,
  PARTS = C_BYTES / ACCESS,
  /* y registers */
  LEFT_Y = 0,
  RIGHT_Y = 2,
  SPARE_Y = 4,
  SOURCE_X = 10 /* A's elements, of each row of results */
};

struct lanes {
  const struct kernel_gemm *k;
  const struct gemm_kind *kind;
  struct trace *t;
  int b, a, c_load, c_store, b_again; /* streams */
  int config;                         /* registers */
  int turn_b[STEP_K], turn_in[2], turn_out[2];
};

/* Results from (row, col) on. */
struct block {
  int row, col, rows, cols, region;
};

static int64_t x_reg(const struct lanes *l, int x) {
  return kernel_trace_reg(l->t, "x%d", x);
}

static int64_t y_reg(const struct lanes *l, int y) {
  return kernel_trace_reg(l->t, "y%d", y);
}

static int64_t sum_reg(const struct lanes *l, int r, int c) {
  return kernel_trace_reg(l->t, "dm%d", SIDE * r + c);
}

static void access(const struct lanes *l, enum mem_kind mem, int64_t reg,
                   int stream, int64_t offset, const struct block *b,
                   bool last) {
  struct trace_op *op =
      kernel_trace_memory(l->t, mem, (int)reg, stream, offset);
  op->boundary = last;
  op->region = b->region;
}

static void shuffle(const struct lanes *l, int to, int from, int mode) {
  kernel_trace_add(
      l->t, l->t->machine->insn[KERNEL_SHUFFLE], 4,
      (int64_t[]){x_reg(l, to), x_reg(l, from), x_reg(l, from + 1), mode});
}

static void move(const struct lanes *l, int64_t to, int64_t from) {
  kernel_trace_add(l->t, l->t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){to, from});
}

/* ---- C ---- */

/* Whether y registers stand by for something else than the first row. */
static bool shares_spare(const struct lanes *l) { return l->k->tb || l->k->tc; }

static int64_t c_at(const struct lanes *l, const struct block *b, int r,
                    int c) {
  return ((int64_t)(b->row + r) * (l->k->n / COLS) + b->col + c) * C_BYTES;
}

static const char *const quarter[] = {"bmll%d", "bmlh%d", "bmhl%d", "bmhh%d"};

/* 16 columns: both rows' are interleaved in memory. */
static void move_turned(const struct lanes *l, bool store, int n, int half,
                        int64_t offset, const struct block *b, bool last) {
  int temp = 2 * SPARE_Y, other = 2 * (RIGHT_Y + half);
  for (int i = 0; i < 2; i++) {
    int64_t sum = kernel_trace_reg(l->t, quarter[half + 2 * i], n);
    if (store)
      move(l, x_reg(l, temp + i), sum);
    else
      access(l, MEM_LDA_W, x_reg(l, temp + i), l->c_load, offset + i * ACCESS,
             b, last && i);
  }
  for (int i = 0; i < 2; i++)
    shuffle(l, other + i, temp, store ? l->turn_out[i] : l->turn_in[i]);
  for (int i = 0; i < 2; i++) {
    int64_t sum = kernel_trace_reg(l->t, quarter[half + 2 * i], n);
    if (store)
      access(l, MEM_ST_W, x_reg(l, other + i), l->c_store, offset + i * ACCESS,
             b, last && i);
    else
      move(l, sum, x_reg(l, other + i));
  }
}

static void move_results(const struct lanes *l, const struct block *b,
                         bool store) {
  for (int n = 0; n < b->rows * b->cols; n++) {
    int r = n / b->cols, c = n % b->cols, sum = SIDE * r + c;
    int64_t offset = c_at(l, b, r, c);
    bool last = n == b->rows * b->cols - 1;
    for (int half = 0; half < 2 && l->k->tc; half++)
      move_turned(l, store, sum, half, offset + 2 * half * ACCESS, b,
                  last && half);
    for (int part = 0; part < PARTS && !l->k->tc; part++)
      access(l, store ? MEM_ST_AM : MEM_LDA_AM,
             kernel_trace_reg(l->t, quarter[part], sum),
             store ? l->c_store : l->c_load, offset + part * ACCESS, b,
             last && part == PARTS - 1);
  }
}

/* ---- operands ---- */

/* AHEAD steps of K of a row of results. */
static void load_a(const struct lanes *l, const struct block *b, int r, int k) {
  bool last = k + AHEAD >= l->k->k && r == b->rows - 1;
  int64_t offset =
      ((int64_t)(b->row + r) * (l->k->k / STEP_K) + k / STEP_K) * A_BYTES;
  access(l, MEM_LDA_W, x_reg(l, SOURCE_X + r), l->a, offset, b, last);
}

/* The y register with the two elements of step k. */
static int spread_a(const struct lanes *l, int r, int k) {
  int y = !r && k % 2 && !shares_spare(l) ? SPARE_Y : LEFT_Y + r;
  for (int i = 0; i < ROWS; i++) {
    int within = l->k->ta ? k % STEP_K * ROWS + i : i * STEP_K + k % STEP_K;
    int element = k % AHEAD / STEP_K * (ROWS * STEP_K) + within;
    kernel_trace_add(
        l->t, l->t->machine->insn[KERNEL_SPREAD_16], 3,
        (int64_t[]){x_reg(l, 2 * y + i), x_reg(l, SOURCE_X + r), element});
  }
  return y;
}

/* The y register with row k of B, twice. */
static int load_b(const struct lanes *l, const struct block *b, int c, int k) {
  int y = RIGHT_Y + c, to = 2 * (l->k->tb ? SPARE_Y : y);
  bool last = k == l->k->k - 1 && c == b->cols - 1;
  int64_t at =
      ((int64_t)(k / STEP_K) * (l->k->n / COLS) + b->col + c) * B_BYTES;
  int64_t row = k % STEP_K * ACCESS;
  access(l, MEM_LDB_W, x_reg(l, to), l->b, at + (l->k->tb ? 0 : row), b, last);
  access(l, MEM_LDA_W, x_reg(l, to + 1), l->b_again,
         at + (l->k->tb ? ACCESS : row), b, last);
  for (int i = 0; i < 2 && l->k->tb; i++)
    shuffle(l, 2 * y + i, to, l->turn_b[k % STEP_K]);
  return y;
}

/* ---- the run ---- */

static void multiply(const struct lanes *l, int r, int c, int left, int right,
                     bool anew) {
  int64_t sum = sum_reg(l, r, c);
  if (anew)
    kernel_trace_add(
        l->t, l->kind->mul, 4,
        (int64_t[]){sum, y_reg(l, left), y_reg(l, right), l->config});
  else
    kernel_trace_add(
        l->t, l->kind->mac, 5,
        (int64_t[]){sum, sum, y_reg(l, left), y_reg(l, right), l->config});
}

/* Each operand's multiplies follow each other, but for the first row's. */
static void run_step(const struct lanes *l, const struct block *b, int k) {
  int left[SIDE];
  for (int r = 0; r < b->rows && k % AHEAD == 0; r++)
    load_a(l, b, r, k);
  for (int c = 0; c < b->cols; c++) {
    int right = load_b(l, b, c, k);
    for (int i = 0; i < b->rows; i++) {
      int r = c ? b->rows - 1 - i : i;
      if (!c)
        left[r] = spread_a(l, r, k);
      multiply(l, r, c, left[r], right, l->k->zero && !k);
    }
  }
}

static void run_block(const struct lanes *l, const struct block *b) {
  int from = l->t->count;
  if (!l->k->zero)
    move_results(l, b, false);
  for (int k = 0; k < l->k->k; k++)
    run_step(l, b, k);
  move_results(l, b, true);
  l->t->op[from].note =
      arena_printf(l->t->kept, "block (%d, %d) of %d x %d results", b->row,
                   b->col, b->rows, b->cols);
}

/* Whole blocks, row by row; then what is left on the right and below. */
static void run_blocks(const struct lanes *l) {
  int rows = l->k->m / ROWS, cols = l->k->n / COLS;
  for (int region = 0; region < 4; region++) {
    bool below = region / 2, right = region % 2;
    int first_row = below ? rows - rows % SIDE : 0,
        end_row = below ? rows : rows - rows % SIDE,
        first_col = right ? cols - cols % SIDE : 0,
        end_col = right ? cols : cols - cols % SIDE;
    for (int r = first_row; r < end_row; r += SIDE)
      for (int c = first_col; c < end_col; c += SIDE)
        run_block(l, &(struct block){r, c, below ? 1 : SIDE, right ? 1 : SIDE,
                                     region});
  }
}

static int mode_reg(const struct lanes *l, const char *name, int mode) {
  int reg = kernel_trace_named(l->t, name);
  kernel_trace_constant(l->t, reg, mode);
  return reg;
}

void kernel_trace_lanes(struct trace *t, const struct kernel_gemm *k,
                        const struct gemm_kind *kind) {
  enum { T16_32X2 = 2, T32_16X2 = 4, T32_2X16 = 16 }; /* isa.md C8 */
  struct lanes l = {.k = k, .kind = kind, .t = t};
  l.b = kernel_trace_stream(t, "p1", "p1", 1);
  l.a = kernel_trace_stream(t, "p0", "p0", 0);
  l.c_load = kernel_trace_stream(t, "p2", "p2", 2);
  l.c_store = kernel_trace_stream(t, "p3", "p2", 2);
  l.b_again = kernel_trace_stream(t, "p5", "p1", 1);
  assert(l.b == GEMM_STREAM_B && l.a == GEMM_STREAM_A &&
         l.c_load == GEMM_STREAM_C_LOAD && l.c_store == GEMM_STREAM_C_STORE &&
         l.b_again == GEMM_STREAM_B_AGAIN);
  l.config = mode_reg(&l, "r0", kind->config);
  for (int i = 0; i < 2 && k->tb; i++)
    l.turn_b[i] = mode_reg(&l, i ? "r3" : "r2", T16_32X2 + i);
  for (int i = 0; i < 2 && k->tc; i++) {
    l.turn_in[i] = mode_reg(&l, i ? "r7" : "r6", T32_16X2 + i);
    l.turn_out[i] = mode_reg(&l, i ? "r9" : "r8", T32_2X16 + i);
  }
  if (k->tb) /* a pointer starts at its base */
    kernel_trace_memory(t, MEM_PADD_A, 0, l.b_again, 0);
  run_blocks(&l);
}
