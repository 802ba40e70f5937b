/* gemm_ring.c -- a gemm with steps acquires its inputs from rings of buffers
 * and releases them, and C at the end. */
#include "kernel_gemm_trace.h"

enum {
  REG_ACQUIRE = 12, /* r registers: values for locks */
  REG_RELEASE = 13,
};

/* Waits for a buffer that `product` is the first one to use. */
static void acquire(struct gemm *g, int lock, int stream, int product) {
  struct trace_op *op = kernel_trace_add(
      g->t, g->t->machine->insn[KERNEL_ACQUIRE], 2,
      (int64_t[]){lock, kernel_trace_reg(g->t, "r%d", REG_ACQUIRE)});
  op->wait = WAIT_RELEASED;
  op->wait_for = op->acquires = stream;
  op->begins = gemm_loop_round(g, product);
}

static void release(struct gemm *g, enum kernel_insn id, int lock, int stream) {
  struct trace_op *op = kernel_trace_add(
      g->t, g->t->machine->insn[id], 2,
      (int64_t[]){lock, kernel_trace_reg(g->t, "r%d", REG_RELEASE)});
  op->wait = WAIT_LEFT;
  op->wait_for = op->releases = stream;
}

/* Whether a product's block of C is the caller's alone. */
static bool is_kept(const struct gemm *g, int product) {
  return g->steps->keeps_last && (product + 1) % gemm_group(g) == 0;
}

void gemm_acquire_buffers(struct gemm *g, int product) {
  const struct operand *o[2] = {&g->left, &g->right};
  if (!g->steps || product >= g->product_count)
    return;
  for (int i = 0; i < 2; i++)
    if (product % o[i]->products == 0)
      acquire(g, o[i]->full, o[i]->stream, product);
  if (product < gemm_group(g) && g->steps->c.empty >= 0 && !is_kept(g, product))
    acquire(g, g->steps->c.empty, g->c_store, product);
}

/* Every step of the loop runs the same program; only the last one, when no trip
 * is left, releases C.  The last block of C it is whose stores lie behind the
 * loop. */
void gemm_release_c(struct gemm *g) {
  if (!g->steps || g->steps->c.full < 0 || is_kept(g, g->product))
    return;
  bool last_step = g->product >= g->product_count - gemm_group(g);
  bool last_block = (g->product + 1) % gemm_group(g) == 0;
  if (last_step && (last_block || !g->before_loop)) {
    release(g, KERNEL_RELEASE, g->steps->c.full, g->c_store);
  } else if (!last_block && g->before_loop &&
             g->product >= g->before_loop * gemm_group(g)) {
    struct trace_op *op =
        kernel_trace_add(g->t, g->t->machine->insn[KERNEL_IS_ZERO], 2,
                         (int64_t[]){kernel_trace_named(g->t, "r26"),
                                     kernel_trace_named(g->t, TRACE_TRIPS)});
    op->wait = WAIT_ISSUED;
    op->wait_for = g->c_store;
    release(g, KERNEL_RELEASE_IF, g->steps->c.full, g->c_store);
  }
}

void gemm_release_buffers(struct gemm *g, int product) {
  const struct operand *o[2] = {&g->left, &g->right};
  for (int i = 0; i < 2; i++)
    if (g->steps && gemm_is_left(o[i], product))
      release(g, KERNEL_RELEASE, o[i]->empty, o[i]->stream);
}

/* The way from the last access in a buffer to the next buffer: r4 or r5 minus
 * the walk through one, then minus r4 or r5 minus the walk, and so on. */
static void set_ring(struct gemm *g, struct operand *o, int distance_reg,
                     int turn_reg, int last_index) {
  int64_t walk = g->kind->blocks
                     ? gemm_fifo_walk(g, last_index)
                     : gemm_operand_offset(g, o, last_index, g->k_steps - 1) +
                           (o->parts - 1) * gemm_access_bytes(g);
  o->turn = kernel_trace_reg(g->t, "r%d", turn_reg);
  o->back = kernel_trace_reg(g->t, "r%d", turn_reg + 1);
  kernel_trace_constant(g->t, o->turn, -walk);
  kernel_trace_constant(g->t, o->back, -2 * walk);
  kernel_trace_add(g->t, g->t->machine->insn[KERNEL_ADD], 3,
                   (int64_t[]){o->turn, o->turn,
                               kernel_trace_reg(g->t, "r%d", distance_reg)});
}

void gemm_set_steps(struct gemm *g) {
  const struct kernel_steps *s = g->steps;
  bool swapped = gemm_right_is_a(g);
  struct operand *a = swapped ? &g->right : &g->left;
  struct operand *b = swapped ? &g->left : &g->right;
  const struct cover_block *last = &g->block[g->block_count - 1];
  int left = last->row + last->rows - 1, right = last->col + last->cols - 1;
  kernel_trace_constant(g->t, kernel_trace_reg(g->t, "r%d", REG_ACQUIRE), -1);
  kernel_trace_constant(g->t, kernel_trace_reg(g->t, "r%d", REG_RELEASE), 1);
  a->full = s->a.full, a->empty = s->a.empty, a->products = 1;
  b->full = s->b.full, b->empty = s->b.empty, b->products = s->group;
  set_ring(g, a, 4, 8, swapped ? right : left);
  set_ring(g, b, 5, 10, swapped ? left : right);
  g->product_count =
      s->group * (g->before_loop ? g->before_loop + 2 : s->count);
}
