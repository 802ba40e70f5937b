/* gemm.c -- writes the trace of C += A * B for one block in tile memory.
 *
 * C is cut into blocks of rows x cols MAC results (bf16: 2 x 4 results of 4x4;
 * int8: 2 x 2 results of 4x8).  There are accumulators for two such blocks:
 * while one block is multiplied, the finished one is stored and the next one
 * is loaded in its place.  Per K step a block needs rows A and cols B
 * operands; B comes through load port B and fills it, A takes half of port A,
 * C the other half.  A, B and C are expected in different 16 KB banks.
 *
 * The first two and the last two K steps of the kernel are taken together: for
 * both steps all of row 0, then all of row 1.  So at the start the first row
 * can work while the second row of C still loads, and at the end the first row
 * is stored while the second row still works.
 */
#include "trace.h"

#include <string.h>

static const struct gemm_kind {
  enum dtype in0, in1, out;
  struct kernel_shape mac_shape;
  int config;
  enum insn_id mac;
  int rows, cols;
} kind[] = {
#define GEMM(in0, in1, out, r, s, t, config, mac, rows, cols)                  \
  {DTYPE_##in0, DTYPE_##in1, DTYPE_##out, {r, s, t},                           \
   config,      INSN_##mac,  rows,        cols},
#include "kernel.def"
#undef GEMM
};
enum { KINDS = sizeof kind / sizeof *kind, W_BYTES = 32 };

static const struct gemm_kind *find_kind(enum dtype in0, enum dtype in1,
                                         enum dtype out) {
  for (int i = 0; i < KINDS; i++)
    if (kind[i].in0 == in0 && kind[i].in1 == in1 && kind[i].out == out)
      return &kind[i];
  return NULL;
}

bool kernel_shape(enum dtype in0, enum dtype in1, enum dtype out,
                  struct kernel_shape *shape) {
  const struct gemm_kind *g = find_kind(in0, in1, out);
  if (g)
    *shape = g->mac_shape;
  return g != NULL;
}

bool kernel_gemm_unit(enum dtype in0, enum dtype in1, enum dtype out,
                      struct kernel_shape *unit) {
  const struct gemm_kind *g = find_kind(in0, in1, out);
  if (g)
    *unit = (struct kernel_shape){g->mac_shape.m * g->rows, g->mac_shape.k,
                                  g->mac_shape.n * g->cols};
  return g != NULL;
}

/* The register rings: operands alternate through them. */
enum {
  A_FIRST = 0,
  A_RING = 4,
  B_FIRST = 4,
  B_RING = 8,
  MAX_ROWS = 4,
  MAX_COLS = 4,
  MAX_GROUP = 2,
  PHASE_EVEN = 1,
  PHASE_ODD = 2
};

struct gemm {
  const struct gemm_kind *kind;
  struct trace *t;
  int m_blocks, n_blocks, k_steps; /* in MACs */
  int a_bytes, b_bytes, c_bytes;   /* of one MAC operand or result */
  int a_stream, b_stream, c_load, c_store;
  int config_reg;
  int a_next, b_next; /* ring positions */
  int set;            /* accumulator set of the current block */
  int block, blocks;  /* the current block's number, how many there are */
  bool alternate;     /* C loads in odd cycles, A loads and C stores in even */
};

/* A piece of C: rows x cols MAC results from (row, col) on. */
struct block {
  int row, col, rows, cols;
};

static int operand_reg(int x) { return trace_reg("x%d", x); }
static int operand_part(int x, int half) {
  return trace_reg(half ? "wh%d" : "wl%d", x);
}

/* Accumulators are numbered in MAC results: bm for float, cm for integers. */
static int accumulator(const struct gemm *g, int r, int c) {
  const struct gemm_kind *k = g->kind;
  return g->set * k->rows * k->cols + r * k->cols + c;
}

static int accumulator_reg(const struct gemm *g, int n) {
  if (g->kind->mac == INSN_VMAC_F)
    return trace_reg(n % 2 ? "bmh%d" : "bml%d", n / 2);
  return trace_reg("cm%d", n);
}

static int accumulator_part(const struct gemm *g, int n, int part) {
  static const char *const name[] = {"amll%d", "amlh%d", "amhl%d", "amhh%d"};
  int parts = g->c_bytes / W_BYTES;
  int am = n * parts + part;
  return trace_reg(name[am % 4], am / 4);
}

static void load_a(struct gemm *g, int row, int k, int x, bool last) {
  int64_t offset = ((int64_t)row * g->k_steps + k) * g->a_bytes;
  int parts = g->a_bytes / W_BYTES;
  for (int i = 0; i < parts; i++) {
    struct trace_op *o = trace_memory(g->t, MEM_LDA_W, operand_part(x, i),
                                      g->a_stream, offset + i * W_BYTES);
    o->other_mem = MEM_LDB_W;
    o->boundary = last && i == parts - 1;
    if (g->alternate && g->block && g->block < g->blocks - 1)
      o->phase = PHASE_EVEN;
  }
}

static void load_b(struct gemm *g, int k, int col, int x, bool last) {
  int64_t offset = ((int64_t)k * g->n_blocks + col) * g->b_bytes;
  int parts = g->b_bytes / W_BYTES;
  for (int i = 0; i < parts; i++)
    trace_memory(g->t, MEM_LDB_W, operand_part(x, i), g->b_stream,
                 offset + i * W_BYTES)
        ->boundary = last && i == parts - 1;
}

/* Loads or stores one MAC result of C. */
static void move_c(struct gemm *g, enum mem_kind mem, int stream,
                   const struct block *b, int r, int c) {
  int64_t offset =
      ((int64_t)(b->row + r) * g->n_blocks + b->col + c) * g->c_bytes;
  int parts = g->c_bytes / W_BYTES;
  bool last = r == b->rows - 1 && c == b->cols - 1;
  for (int i = 0; i < parts; i++) {
    struct trace_op *o =
        trace_memory(g->t, mem, accumulator_part(g, accumulator(g, r, c), i),
                     stream, offset + i * W_BYTES);
    o->boundary = last && i == parts - 1;
    if (!g->alternate)
      continue;
    if (mem == MEM_ST_AM && g->block < g->blocks - 2)
      o->phase = PHASE_EVEN;
    if (mem == MEM_LDA_AM && g->block)
      o->phase = PHASE_ODD;
  }
}

static void move_block(struct gemm *g, enum mem_kind mem, int stream,
                       const struct block *b) {
  for (int r = 0; r < b->rows; r++)
    for (int c = 0; c < b->cols; c++)
      move_c(g, mem, stream, b, r, c);
}

static void multiply(struct gemm *g, int r, int c, int x_a, int x_b) {
  int64_t acc = accumulator_reg(g, accumulator(g, r, c));
  trace_add(
      g->t, g->kind->mac, 5,
      (int64_t[]){acc, acc, operand_reg(x_a), operand_reg(x_b), g->config_reg});
}

/* `group` K steps from `k` on; loads stand right before their first use. */
static void multiply_group(struct gemm *g, const struct block *b, int k,
                           int group, bool load_c) {
  int a[MAX_GROUP], bx[MAX_GROUP][MAX_COLS];
  bool last = k + group == g->k_steps;
  for (int r = 0; r < b->rows; r++)
    for (int i = 0; i < group; i++) {
      a[i] = A_FIRST + g->a_next++ % A_RING;
      load_a(g, b->row + r, k + i, a[i],
             last && r == b->rows - 1 && i == group - 1);
      for (int c = 0; c < b->cols; c++) {
        if (r == 0) {
          bx[i][c] = B_FIRST + g->b_next++ % B_RING;
          load_b(g, k + i, b->col + c, bx[i][c],
                 last && i == group - 1 && c == b->cols - 1);
        }
        if (load_c && i == 0)
          move_c(g, MEM_LDA_AM, g->c_load, b, r, c);
        multiply(g, r, c, a[i], bx[i][c]);
      }
    }
}

/* Two K steps together at the very start and the very end of the kernel, where
 * C is loaded and stored without a block to hide behind; single steps
 * elsewhere, because a pair keeps all B registers busy. */
static int group_size(const struct gemm *g, int k, bool first, bool last) {
  bool start = first && k == 0;
  bool end = last && k == g->k_steps - 2;
  return (start || end) && k + 2 <= g->k_steps ? 2 : 1;
}

static void multiply_block(struct gemm *g, const struct block *b, bool first,
                           bool last) {
  const char *note = arena_printf(g->t->arena, "C rows %d.. columns %d..",
                                  b->row * g->kind->mac_shape.m,
                                  b->col * g->kind->mac_shape.n);
  for (int k = 0; k < g->k_steps;) {
    int group = group_size(g, k, first, last);
    int at = g->t->count;
    multiply_group(g, b, k, group, first && k == 0);
    while (g->t->op[at].op.id != g->kind->mac)
      at++;
    g->t->op[at].note =
        k ? arena_printf(g->t->arena, "k %d..", k * g->kind->mac_shape.k)
          : note;
    k += group;
  }
}

/* The blocks in the order of their results in memory. */
static struct block block_at(const struct gemm *g, int i) {
  int per_row = g->n_blocks / g->kind->cols;
  return (struct block){i / per_row * g->kind->rows,
                        i % per_row * g->kind->cols, g->kind->rows,
                        g->kind->cols};
}

static void write_trace(struct gemm *g) {
  trace_constant(g->t, g->config_reg, g->kind->config);
  for (g->block = 0; g->block < g->blocks; g->block++) {
    struct block b = block_at(g, g->block);
    g->set = g->block % 2;
    multiply_block(g, &b, g->block == 0, g->block == g->blocks - 1);
    if (g->block + 1 < g->blocks) {
      struct block next = block_at(g, g->block + 1);
      g->set = !g->set;
      move_block(g, MEM_LDA_AM, g->c_load, &next);
      g->set = !g->set;
    }
    move_block(g, MEM_ST_AM, g->c_store, &b);
  }
}

static bool check_extent(struct diag *d, const char *name, int value,
                         int unit) {
  if (value > 0 && value % unit == 0)
    return true;
  return diag_error(d, loc_none(),
                    "gemm block: %s is %d; it has to be a positive multiple "
                    "of %d",
                    name, value, unit);
}

static const struct gemm_kind *check(const struct kernel_gemm *k,
                                     struct diag *d) {
  const struct gemm_kind *g = find_kind(k->in0, k->in1, k->out);
  struct kernel_shape unit;
  if (!g) {
    diag_error(d, loc_none(), "gemm block: no kernel for %s x %s -> %s",
               dtype_name(k->in0), dtype_name(k->in1), dtype_name(k->out));
    return NULL;
  }
  kernel_gemm_unit(k->in0, k->in1, k->out, &unit);
  if (!check_extent(d, "m", k->m, unit.m) ||
      !check_extent(d, "k", k->k, unit.k) ||
      !check_extent(d, "n", k->n, unit.n))
    return NULL;
  enum { MEMORY = 65536 };
  int64_t bytes = (int64_t)k->m * k->k * dtype_bytes(k->in0) +
                  (int64_t)k->k * k->n * dtype_bytes(k->in1) +
                  (int64_t)k->m * k->n * dtype_bytes(k->out);
  if (bytes > MEMORY) {
    diag_error(d, loc_none(),
               "gemm block: A, B and C of %dx%dx%d take %lld bytes; a tile has "
               "%d",
               k->m, k->k, k->n, (long long)bytes, MEMORY);
    return NULL;
  }
  return g;
}

static bool schedule_gemm(struct arena *a, const struct kernel_gemm *k,
                          const struct gemm_kind *kind, bool alternate,
                          struct schedule *schedule, struct diag *d) {
  const struct kernel_shape *s = &kind->mac_shape;
  struct trace t = trace_open(a, d);
  struct gemm g = {.kind = kind,
                   .t = &t,
                   .m_blocks = k->m / s->m,
                   .n_blocks = k->n / s->n,
                   .k_steps = k->k / s->k,
                   .a_bytes = s->m * s->k * dtype_bytes(k->in0),
                   .b_bytes = s->k * s->n * dtype_bytes(k->in1),
                   .c_bytes = s->m * s->n * dtype_bytes(k->out),
                   .config_reg = trace_reg("r0"),
                   .alternate = alternate};
  g.blocks = g.m_blocks / kind->rows * (g.n_blocks / kind->cols);
  g.b_stream = trace_stream(&t, "p1", "p1", 1);
  g.a_stream = trace_stream(&t, "p0", "p0", 0);
  g.c_load = trace_stream(&t, "p2", "p2", 2);
  g.c_store = trace_stream(&t, "p3", "p2", 2);
  write_trace(&g);
  return trace_address(&t) && sched_place(&t, schedule);
}

struct asm_program *kernel_gemm(struct arena *a, const struct kernel_gemm *k,
                                struct diag *d) {
  const struct gemm_kind *kind = check(k, d);
  struct schedule schedule, alternating;
  if (!kind || !schedule_gemm(a, k, kind, false, &schedule, d) ||
      !schedule_gemm(a, k, kind, true, &alternating, d))
    return NULL;
  if (alternating.count < schedule.count)
    schedule = alternating;
  const struct kernel_shape *s = &kind->mac_shape;
  const char *heading[] = {
      arena_printf(a, "C += A * B, %s x %s -> %s, %d x %d x %d",
                   dtype_name(k->in0), dtype_name(k->in1), dtype_name(k->out),
                   k->m, k->k, k->n),
      arena_printf(a,
                   "p0 = A [%d][%d][%d][%d], p1 = B [%d][%d][%d][%d], "
                   "p2 = C [%d][%d][%d][%d]",
                   k->m / s->m, k->k / s->k, s->m, s->k, k->k / s->k,
                   k->n / s->n, s->k, s->n, k->m / s->m, k->n / s->n, s->m,
                   s->n),
  };
  return fold_program(a, k->name, heading, 2, &schedule, d);
}
