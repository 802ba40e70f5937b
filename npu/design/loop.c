/* loop.c -- the program of every core, without its kernels: the outer loop
 * around them.
 *
 * All cores run the same text, which knows no extents but those of a block.  It
 * never ends: after the last block of a launch it waits for the next one's
 * numbers (struct design_launch), with rings and locks where they were.
 *
 *   forever
 *     wait for the launch's numbers
 *     rounds times
 *       steps times
 *         wait for a block of in1
 *         for every block of out that the core holds
 *           in the first step, wait until it is empty
 *           wait for a block of in0; product; release the block of in0
 *           in the last step, turn sums into results where they differ, and
 *           release the block of out to the DMA
 *         release the block of in1
 *
 * The transaction writes the numbers where the first block of out will be: no
 * results of the launch before are there any more, and the core reads them
 * before it computes.  It tells the first row of cores alone, since a write
 * costs it more than all this costs the cores, and every row tells the next.
 *
 * Inputs that become block floats are released as soon as they have; every
 * input is a call of its own then, and so is the product.
 *
 * Where K ends inside a small matrix and mem tiles do not add all zeros, the
 * inputs of the last step are cleared behind it before they are multiplied: it
 * is a call of its own behind a kernel of all others.
 *
 * A bias is one more block of in1, behind the last step; only then do sums
 * become results.
 *
 * Where it fits into program memory, all steps are one kernel, which deals with
 * the locks in passing (kernel_gemm_counted, and for the few steps that it
 * cannot count kernel_gemm_steps).  Otherwise every product is a call.  Then
 * the first and the last step are written out, so nothing is decided in the
 * loop, and the first product is a kernel of its own that does not read out or,
 * where two such kernels do not fit, out is cleared before.  A single step is
 * both, and a program of its own.
 *
 * What changes lives in registers that kernels keep (r16..r23 and p7,
 * kernels.h); blocks of a ring alternate by an exclusive or of their addresses.
 */
#include "loop.h"

#include "isa.h"

#include <assert.h>
#include <stddef.h>

/* The same in every core. */
static uint32_t address_of(const struct design *x, const char *name) {
  const struct design_buffer *b = design_find_buffer(x, 0, CORE_ROW, name);
  assert(b);
  return x->program->device->core_address + b->offset;
}

/* Registers: the current block of in0 and in1, and the way to the other; behind
 * those of a kernel of all steps, the way from where a round begins to where
 * the next one does; steps that are left, and those of a round.  p7 are the
 * rounds that are left. */
enum {
  REG_IN0 = 16,
  REG_IN1 = 18,
  REG_OUT = 20,
  REG_LEFT = 22,
  REG_STEPS = 23
};

/* reg as in "r16". */
static void put_constant(struct text *t, const char *reg, uint32_t value,
                         const char *what) {
  text_printf(t, "\tmovxm\t%s, #0x%x\t\t\t// %s\n", reg, value, what);
}

static void put_address(struct text *t, int reg, uint32_t value,
                        const char *what) {
  text_printf(t, "\tmovxm\tr%d, #0x%x\t\t\t// %s\n", reg, value, what);
}

static void put_nops(struct text *t, int count) {
  while (count-- > 0)
    text_puts(t, "\tnop\n");
}

static void put_call(struct text *t, const char *name) {
  text_printf(t, "\tjl\t#%s\n", name);
  put_nops(t, 5);
  text_puts(t, "\t.p2align\t4\n");
}

static void put_lock(struct text *t, const struct loop *l, bool acquire,
                     int lock, const char *what) {
  lock += l->program->device->core_lock;
  if (acquire)
    text_printf(t, "\tmova\tr0, #-1\n\tacq\t#%d, r0\t\t\t\t// %s\n", lock,
                what);
  else
    text_printf(t, "\tmova\tr1, #1\n\trel\t#%d, r1\t\t\t\t// %s\n", lock, what);
}

static void put_toggle(struct text *t, int reg) {
  text_printf(t, "\txor\tr%d, r%d, r%d\n", reg, reg, reg + 1);
}

/* From a ring's one block to its other one, by exclusive or. */
static uint32_t way_of(const struct design *x, const char *one,
                       const char *other) {
  return address_of(x, one) ^ address_of(x, other);
}

static uint32_t in0_way(const struct loop *l) {
  return way_of(l->design, "in0_0", "in0_1");
}
static uint32_t in1_way(const struct loop *l) {
  return way_of(l->design, "in1_0", "in1_1");
}

/* Behind a step: to the ring's other block. */
static void put_next(struct text *t, const struct loop *l, int reg) {
  if (!l->last_apart) {
    put_toggle(t, reg);
    return;
  }
  put_constant(t, "r4", reg == REG_IN0 ? in0_way(l) : in1_way(l),
               "the way to the other block");
  text_printf(t, "\txor\tr%d, r%d, r4\n", reg, reg);
}

/* Whether the sums that become the block of out in `out` are elsewhere. */
static bool is_staged(const struct loop *l, int out) {
  const struct tile_program *p = l->program;
  return p->core.staged && out - REG_OUT == p->group_m - 1;
}

/* p<pointer> <- the block of sums that becomes the block of out in `out`. */
static void put_sums(struct text *t, const struct loop *l, int pointer,
                     int out) {
  const struct tile_program *p = l->program;
  if (is_staged(l, out))
    text_printf(t, "\tmovxm\tp%d, #0x%x\t\t\t// sums\n", pointer,
                p->device->core_address + p->core.sums);
  else
    text_printf(t, "\tmov\tp%d, r%d\n", pointer, out);
}

/* Results of sums, then released to the DMA. */
static void put_finish(struct text *t, const struct loop *l, int out) {
  if (is_staged(l, out))
    put_lock(t, l, true, CORE_OUT + LOCK_EMPTY, "out is empty");
  put_sums(t, l, 0, out);
  text_printf(t, "\tmov\tp1, r%d\n", out);
  if (l->bias)
    text_printf(t, "\tmov\tp2, r%d\n", REG_IN1);
  put_call(t, "finish");
  put_nops(t, 4);
  put_lock(t, l, false, CORE_OUT + LOCK_FULL, "out is full");
  put_nops(t, 2);
}

/* All blocks of the group, with what comes behind in1 for it. */
static void put_biased(struct text *t, const struct loop *l) {
  for (int i = 0; i < l->bias; i++) {
    put_lock(t, l, true, CORE_IN1 + LOCK_FULL, i ? "behind it" : "a bias");
    put_nops(t, 2);
    for (int j = 0; !i && j < l->program->group_m; j++)
      put_finish(t, l, REG_OUT + j);
    put_lock(t, l, false, CORE_IN1 + LOCK_EMPTY, "in1 is empty");
    put_nops(t, 2);
  }
  if (l->bias % 2) {
    put_constant(t, "r4", in1_way(l), "the way to in1's other block");
    text_printf(t, "\txor\tr%d, r%d, r4\n", REG_IN1, REG_IN1);
  }
}

static bool by_blocks(const struct loop *l) {
  return l->program->core.by_blocks;
}

/* Where those of a step of k begin, of the steps that a product takes. */
static uint32_t blocks_address(const struct loop *l, int input, int step) {
  const struct tile_program *p = l->program;
  int pair_bytes = 16 * p->block_k * 9 / 8; /* of 16 rows or columns */
  return p->device->core_address + p->core.blocks[input] +
         (uint32_t)(step * pair_bytes);
}

/* An input becomes block floats, and is released. */
static void put_conversion(struct text *t, const struct loop *l, int input,
                           int step) {
  int lock = input ? CORE_IN1 : CORE_IN0, reg = input ? REG_IN1 : REG_IN0;
  put_lock(t, l, true, lock + LOCK_FULL, input ? "in1 is full" : "in0 is full");
  text_printf(t, "\tmov\tp0, r%d\n", reg);
  put_constant(t, "p2", blocks_address(l, input, step), "its block floats");
  put_call(t, input ? "blocks1" : "blocks0");
  put_toggle(t, reg);
  put_nops(t, 3);
  put_lock(t, l, false, lock + LOCK_EMPTY,
           input ? "in1 is empty" : "in0 is empty");
  put_nops(t, 2);
}

static void put_pointers(struct text *t) {
  text_printf(t, "\tmov\tp0, r%d\n\tmov\tp1, r%d\n", REG_IN0, REG_IN1);
}

/* What the blocks have behind the last k. */
static void put_clears(struct text *t, const struct map_end *end) {
  static const int reg[OUT] = {REG_IN0, REG_IN1};
  put_nops(t, 2);
  for (int i = 0; i < OUT; i++) {
    if (!end->clear[i])
      continue;
    text_printf(t, "\tmov\tp0, r%d\n", reg[i]);
    put_call(t, i ? "clear1" : "clear0");
  }
}

/* What is multiplied, and given back if it is a block of in0. */
static void put_inputs(struct text *t, const struct loop *l, bool begin) {
  if (begin && by_blocks(l)) {
    put_constant(t, "p0", blocks_address(l, 0, 0), "block floats of in0");
    put_constant(t, "p1", blocks_address(l, 1, 0), "and of in1");
  } else if (begin) {
    put_lock(t, l, true, CORE_IN0 + LOCK_FULL, "in0 is full");
    put_pointers(t);
  } else if (by_blocks(l)) {
    put_nops(t, 4);
  } else {
    put_next(t, l, REG_IN0);
    put_nops(t, l->converts ? 3 : 1);
    put_lock(t, l, false, CORE_IN0 + LOCK_EMPTY, "in0 is empty");
    put_nops(t, 2);
  }
}

/* One product into the block of out in register `out`.  A lock operation stays
 * four bundles clear of the one before it and of a product's last store, and
 * six of the last store of a kernel that converts (isa.md D3, D5). */
static void put_product(struct text *t, const struct loop *l, int out,
                        bool first, bool last) {
  if (first && !is_staged(l, out)) {
    put_lock(t, l, true, CORE_OUT + LOCK_EMPTY, "out is empty");
    put_nops(t, 2);
  }
  if (first && l->clears) {
    put_sums(t, l, 0, out);
    put_call(t, "zero");
  }
  if (last && map_is_cleared(l->program)) {
    struct map_end end = map_end(l->program);
    put_lock(t, l, true, CORE_IN0 + LOCK_FULL, "in0 is full");
    put_clears(t, &end);
    put_pointers(t);
  } else {
    put_inputs(t, l, true);
  }
  put_sums(t, l, 2, out);
  put_call(t, first && !l->clears ? "first" : "product");
  put_inputs(t, l, false);
  bool finishes = l->finishes && (!l->keeps_last || is_staged(l, out));
  if (last && finishes && !l->bias) {
    put_finish(t, l, out);
  } else if (last && !finishes) {
    put_lock(t, l, false, CORE_OUT + LOCK_FULL, "out is full");
    put_nops(t, 2);
  }
}

static void put_step(struct text *t, const struct loop *l, bool first,
                     bool last) {
  if (by_blocks(l)) {
    assert(l->program->group_m == 1 && !l->bias);
    for (int i = 0; i < OUT * l->program->core.joint; i++)
      put_conversion(t, l, i % OUT, i / OUT);
    put_product(t, l, REG_OUT, first, last);
    return;
  }
  put_lock(t, l, true, CORE_IN1 + LOCK_FULL, "in1 is full");
  put_nops(t, 2);
  for (int i = 0; i < l->program->group_m; i++)
    put_product(t, l, REG_OUT + i, first, last);
  put_lock(t, l, false, CORE_IN1 + LOCK_EMPTY, "in1 is empty");
  put_next(t, l, REG_IN1);
  put_nops(t, 2);
  if (last)
    put_biased(t, l);
}

static void put_numbers(struct text *t, const char *what, const char *pointer) {
  static const struct {
    const char *reg, *name;
    size_t offset;
  } number[] = {{"r23", "steps", offsetof(struct design_launch, steps)},
                {"r1", "rounds", offsetof(struct design_launch, rounds)},
                {"r2", "rows above", offsetof(struct design_launch, above)}};
  assert(REG_STEPS == 23);
  for (size_t i = 0; i < sizeof number / sizeof *number; i++)
    text_printf(t, "\t%s\t%s, [%s, #%d]\t\t\t// %s\n", what, number[i].reg,
                pointer, (int)number[i].offset, number[i].name);
}

/* Waits for the numbers, and passes them on to the core in the next row. */
static void put_launch(struct text *t, const struct loop *l, uint32_t out) {
  const struct tile_resources *core = &l->program->device->tile[TILE_CORE];
  text_puts(t, "launch:\n");
  put_lock(t, l, true, CORE_LAUNCH, "the launch's numbers are here");
  put_constant(t, "p0", out, "where out begins");
  put_constant(t, "p1", out - core->memory_bytes, "and in the next row");
  put_nops(t, 2);
  put_numbers(t, "lda", "p0");
  put_nops(t, 6);
  text_puts(t, "\tjz\tr2, #begin\n\tmov\tp7, r1\n\tadd\tr2, r2, #-1\n");
  put_nops(t, 3);
  text_puts(t, "\t.p2align\t4\n");
  put_numbers(t, "st", "p1");
  put_nops(t, 3);
  put_lock(t, l, false, CORE_LAUNCH - core->locks, "its numbers are there");
  put_nops(t, 2);
  text_puts(t, "\t.p2align\t4\nbegin:\n");
}

static void put_start(struct text *t, const struct design *x,
                      const struct loop *l) {
  const struct map_core *core = &x->program->core;
  uint32_t out = address_of(x, "out_0");
  uint32_t other = core->out_depth > 1 ? address_of(x, "out_1") : out;
  bool both = x->program->group_m > 1;
  text_puts(t, "\t.text\n\t.globl\t_start\n\t.p2align\t4\n_start:\n");
  put_address(t, REG_IN0, address_of(x, "in0_0"), "in0");
  put_address(t, REG_IN1, address_of(x, "in1_0"), "in1");
  put_address(t, REG_OUT, out, "out");
  put_address(t, REG_OUT + 1, both ? other : out ^ other,
              both ? "the other block of out" : "the way to the other block");
  if (!l->steps) {
    put_address(t, REG_IN0 + 1, in0_way(l),
                "the way to in0's other block, and back");
    put_address(t, REG_IN1 + 1, in1_way(l), "and in1's");
  }
  put_launch(t, l, out);
}

static void put_round(struct text *t) {
  text_puts(t, "\t.p2align\t4\nround:\n");
}

static void put_end(struct text *t, const struct tile_program *p) {
  if (p->group_m == 1)
    put_toggle(t, REG_OUT);
  text_puts(t, "\tmov\tr0, p7\n\tadd\tr0, r0, #-1\n"
               "\tjnz\tr0, #round\n\tmov\tp7, r0\n");
  put_nops(t, 4);
  text_puts(t, "\tj\t#launch\n");
  put_nops(t, 5);
}

/* reg + 1 <- the way to the block with which the next round begins: to the
 * other one if a round's steps, of which r2 is the lowest bit, are odd. */
static void put_parity(struct text *t, int reg, uint32_t way) {
  put_constant(t, "r1", way, "the way to the other block");
  text_printf(t, "\tmul\tr%d, r1, r2\n", reg + 1);
}

/* All steps in one call, which wants the way to the rings' other blocks in r4
 * and r5.  Rings that it leaves at the other block start there the next time.
 */
static void put_rounds(struct text *t, const struct design *x,
                       const struct loop *l) {
  const struct tile_program *p = l->program;
  uint32_t in0 = in0_way(l), in1 = in1_way(l);
  assert(l->steps && !l->clears);
  put_start(t, x, l);
  int steps = REG_STEPS;
  if (l->last_apart) {
    steps = 3;
    text_printf(t, "\tadd\tr%d, r%d, #-1\n", steps, REG_STEPS);
  }
  text_printf(t, "\tmova\tr2, #1\n\tand\tr2, r%d, r2\n", steps);
  if (p->group_m == 1)
    put_parity(t, REG_IN0, in0);
  put_parity(t, REG_IN1, in1);
  put_round(t);
  put_constant(t, "r4", in0, "the way to in0's other block");
  put_constant(t, "r5", in1, "and in1's");
  if (l->before)
    text_printf(t, "\tadd\tr14, r%d, #%d\n", REG_STEPS,
                -l->last_apart - l->before - 1);
  text_printf(t,
              "\txor\tr4, r%d, r4\n\txor\tr5, r%d, r5\n\tjl\t#steps\n"
              "\tsub\tr4, r4, r%d\n\tsub\tr5, r5, r%d\n"
              "\tmov\tp0, r%d\n\tmov\tp1, r%d\n",
              REG_IN0, REG_IN1, REG_IN0, REG_IN1, REG_IN0, REG_IN1);
  put_sums(t, l, 2, REG_OUT);
  text_puts(t, "\t.p2align\t4\n");
  if (p->group_m == 1)
    put_toggle(t, REG_IN0);
  put_toggle(t, REG_IN1);
  if (l->finishes || l->last_apart)
    put_nops(t, 4);
  if (l->last_apart) {
    put_step(t, l, false, true);
    put_end(t, p);
    return;
  }
  for (int i = l->keeps_last; l->finishes && !l->bias && i < p->group_m; i++)
    put_finish(t, l, REG_OUT + i);
  put_biased(t, l);
  put_end(t, p);
}

/* Every product a call. */
static void put_loop(struct text *t, const struct design *x,
                     const struct loop *l) {
  const struct tile_program *p = l->program;
  bool single = map_products_k(p) == 1;
  assert(!l->steps && p->steps_k >= 1);
  put_start(t, x, l);
  put_round(t);
  put_step(t, l, true, single);
  if (!single) {
    text_printf(t, "\tadd\tr%d, r%d, #-2\n\tjz\tr%d, #last\n", REG_LEFT,
                REG_STEPS, REG_LEFT);
    put_nops(t, 5);
    text_puts(t, "\t.p2align\t4\nstep:\n");
    put_step(t, l, false, false);
    text_printf(t, "\tadd\tr%d, r%d, #-1\n\tjnz\tr%d, #step\n", REG_LEFT,
                REG_LEFT, REG_LEFT);
    put_nops(t, 5);
    text_puts(t, "\t.p2align\t4\nlast:\n");
    put_step(t, l, false, true);
  }
  put_end(t, p);
}

struct asm_program *make_loop(struct builder *m, const struct loop *l) {
  struct text t = {0};
  (l->steps ? put_rounds : put_loop)(&t, m->design, l);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, isa_find(m->design->program->device->isa),
                   "core loop", copy, m->diag);
}
