/* gemm_operand.c -- the left and the right operand of a gemm: where they lie,
 * which registers they take, and how they are brought there. */
#include "kernel_gemm_trace.h"

#include <assert.h>

/* The cycles left to DMAs; different ones, for left and C share a port. */
enum { DMA_OF_C = 0, DMA_OF_INPUT = 2 };
enum { BANK_OF_B = 1, BANK_OF_A = 0, BANK_OF_C = 2 };

void kernel_trace_yield(struct trace *t, bool yields, bool joined) {
  struct trace_stream *left = &t->stream[t->less_read],
                      *load = &t->stream[GEMM_STREAM_C_LOAD],
                      *store = &t->stream[GEMM_STREAM_C_STORE];
  left->dma_cycle = yields ? DMA_OF_INPUT : -1;
  load->dma_cycle = store->dma_cycle = !yields  ? -1
                                       : joined ? DMA_OF_INPUT
                                                : DMA_OF_C;
  load->bank = store->bank = joined ? left->bank : BANK_OF_C;
}

/* Which passes read the low half. */
static const bool low_a[GEMM_PASSES] = {false, false, true};
static const bool low_b[GEMM_PASSES] = {false, true, false};

static bool is_steady(const struct gemm *g) {
  return !gemm_is_first_block(g) && gemm_blocks_left(g) > 0;
}

/* The register that one access brings into x register x. */
static int part_reg(const struct gemm *g, const struct operand *o, int x,
                    int part) {
  return gemm_is_skewed(g) && !o->is_half
             ? gemm_operand_reg(g, x)
             : kernel_trace_reg(g->t, part ? "wh%d" : "wl%d", x);
}

/* Small block `index` of K step k into register x; `last`: the last one of the
 * current block of C. */
static void load_parts(struct gemm *g, const struct operand *o, int x,
                       int index, int k, bool last) {
  bool leaves = last && gemm_leaves_product(g, g->number);
  bool opens = !index && !k && !g->number && gemm_is_opened(g, o);
  for (int i = 0; i < o->parts; i++) {
    struct trace_op *op = kernel_trace_memory(
        g->t, o->mem, part_reg(g, o, x, i), o->stream,
        gemm_operand_offset(g, o, index, k) + i * gemm_access_bytes(g));
    op->other_mem = o->other_mem;
    op->boundary = last && i == o->parts - 1;
    op->region = gemm_region(g, g->product, g->number);
    op->phase = is_steady(g) && o == &g->left ? gemm_cycles[g->phase].left : 0;
    if (opens && i == 0) {
      op->wait = WAIT_TAKEN;
      op->wait_for = o->stream;
      op->opens = true;
    }
    op->leaves = leaves && i == o->parts - 1;
    if (op->leaves && gemm_is_left(o, g->product))
      op->way = o->turn;
  }
  if (leaves && gemm_is_left(o, g->product))
    gemm_turn_round(g, o);
}

int gemm_load_operand(struct gemm *g, struct operand *o, int index, int k,
                      bool last) {
  int x =
      o->use + (gemm_is_skewed(g) ? o->use_next : o->use_next++ % o->use_ring);
  if (o->mode_reg < 0) {
    if (g->kind->blocks)
      gemm_pop_operand(g, o, x, index, k, last);
    else
      load_parts(g, o, x, index, k, last);
    return x;
  }
  int stage = o->stage + o->stage_next++ % o->stage_ring;
  load_parts(g, o, stage, index, k, last);
  int64_t from = kernel_trace_reg(g->t, "x%d", stage);
  kernel_trace_add(
      g->t, g->t->machine->insn[KERNEL_SHUFFLE], 4,
      (int64_t[]){kernel_trace_reg(g->t, "x%d", x), from, from, o->mode_reg})
      ->phase = is_steady(g) ? gemm_cycles[g->phase].shuffle : 0;
  return x;
}

/* ---- what is set once ---- */

static void set_shuffle(struct gemm *g, struct operand *o, const char *reg,
                        enum dtype type, int rows, int columns) {
  int mode = kernel_gemm_transpose_mode(type, rows, columns);
  assert(mode >= 0);
  o->mode_reg = kernel_trace_named(g->t, reg);
  kernel_trace_constant(g->t, o->mode_reg, mode);
}

/* Half of the registers wait for the shuffle, if there is one. */
static void share_registers(struct operand *o, int first, int count) {
  o->stage_count = o->mode_reg < 0 ? 0 : count / 2;
  o->stage = first;
  o->use = first + o->stage_count;
  o->use_count = count - o->stage_count;
}

/* Three slots of two registers for each operand (gemm_skew.c); less what waits
 * for a shuffle, one register each, or what a relu takes, or old results.  With
 * an even number of steps blocks are alike with two slots, too. */
static void share_slots(struct gemm *g) {
  enum { SLOTS = 3, LEFT = 0, RIGHT = SLOTS * GEMM_SIDE };
  bool shuffles = g->left.mode_reg >= 0 || g->right.mode_reg >= 0;
  g->left.use = LEFT, g->right.use = RIGHT;
  bool plain = !shuffles && !g->relu, even = g->k_steps % 2 == 0;
  g->left.use_ring = plain && !even ? SLOTS : SLOTS - 1;
  g->through = plain && g->kind->blocks ? RIGHT - 2 : -1; /* K is even */
  g->right.use_ring = shuffles && g->relu ? SLOTS - 1 : SLOTS;
  g->left.use_count = g->right.use_count = SLOTS * GEMM_SIDE;
  g->left.stage = RIGHT - 2, g->right.stage = RIGHT - 1;
  g->left.stage_ring = g->right.stage_ring = 1;
  g->left.slot = g->right.slot = -1;
  g->relu_zero = shuffles ? RIGHT + (SLOTS - 1) * GEMM_SIDE : RIGHT - 2;
  g->relu_temp = g->relu_zero + 1;
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

/* Accesses per small block, which may be half of one. */
static void set_parts(const struct gemm *g, struct operand *o, int64_t bytes) {
  int access = gemm_access_bytes(g);
  o->is_half = bytes < access && !g->kind->blocks;
  assert(!o->is_half || 2 * bytes == access);
  o->parts = g->kind->blocks || o->is_half ? 1 : (int)bytes / access;
}

void gemm_set_operands(struct gemm *g, const struct kernel_gemm *k) {
  const struct kernel_shape *s = &g->kind->mac_shape;
  int n_blocks = k->n / s->n;
  bool halves = g->kind->passes > 1;
  enum dtype a_type = halves ? DTYPE_BF16 : k->in0;
  enum dtype b_type = halves ? DTYPE_BF16 : k->in1;
  int64_t a_bytes = s->m * s->k * dtype_bytes(a_type);
  int64_t b_bytes = s->k * s->n * dtype_bytes(b_type);
  int64_t c_bytes = s->m * s->n * dtype_bytes(k->out);
  int b = kernel_trace_stream(g->t, "p1", "p1", BANK_OF_B);
  int a = kernel_trace_stream(g->t, "p0", "p0", BANK_OF_A);
  struct operand from_a = {.stream = a,
                           .index_stride = g->pass_steps * a_bytes,
                           .k_stride = a_bytes,
                           .low = k->m / s->m * g->pass_steps * a_bytes,
                           .is_low = low_a,
                           .mode_reg = -1};
  struct operand from_b = {.stream = b,
                           .index_stride = b_bytes,
                           .k_stride = n_blocks * b_bytes,
                           .low = g->pass_steps * n_blocks * b_bytes,
                           .is_low = low_b,
                           .mode_reg = -1};
  set_parts(g, &from_a, a_bytes);
  set_parts(g, &from_b, b_bytes);
  bool swapped = gemm_right_is_a(g);
  g->left = swapped ? from_b : from_a;
  g->right = swapped ? from_a : from_b;
  g->c_row = swapped ? c_bytes : n_blocks * c_bytes;
  g->c_col = swapped ? n_blocks * c_bytes : c_bytes;
  g->c_parts = (int)c_bytes / gemm_access_bytes(g);
  g->c_load = kernel_trace_stream(g->t, "p2", "p2", BANK_OF_C);
  g->c_store = kernel_trace_stream(g->t, "p3", "p2", BANK_OF_C);
  assert(b == GEMM_STREAM_B && a == GEMM_STREAM_A &&
         g->c_load == GEMM_STREAM_C_LOAD && g->c_store == GEMM_STREAM_C_STORE);
  g->t->less_read = g->left.stream;
  g->left.mem = g->left.is_half ? MEM_LDA_32 : MEM_LDA_W;
  g->left.other_mem = g->left.is_half ? MEM_LDB_32 : MEM_LDB_W;
  g->right.mem = g->right.is_half ? MEM_LDB_32 : MEM_LDB_W;
  bool blocks = g->kind->blocks, shuffle_a = !blocks && k->ta != g->turned,
       shuffle_b = !blocks && k->tb != g->turned;
  struct operand *first = g->tall ? &g->right : &g->left;
  struct operand *second = g->tall ? &g->left : &g->right;
  if (g->turned ? shuffle_b : shuffle_a)
    set_shuffle(g, first, "r2", g->turned ? b_type : a_type, s->k, s->m);
  if (g->turned ? shuffle_a : shuffle_b)
    set_shuffle(g, second, "r3", g->turned ? a_type : b_type, s->n, s->k);
  if (gemm_is_skewed(g)) {
    share_slots(g);
    return;
  }
  g->relu_zero = RELU_ZERO, g->relu_temp = RELU_TEMP;
  share_registers(&g->left, LEFT_X, g->relu ? RELU_ZERO : LEFT_COUNT);
  share_registers(&g->right, RIGHT_X, g->right_count);
  if (g->relu && g->right.mode_reg >= 0)
    share_for_relu(g);
}
