/* program.c -- the program of every core: the outer loop around the kernels.
 *
 * All cores run the same text.  It never ends: after the last block of a run it
 * waits for the next run's first block, with rings and locks where they were.
 *
 *   forever
 *     steps_k times
 *       wait for a block of in1
 *       for every block of out that the core holds
 *         in the first step, wait until it is empty
 *         wait for a block of in0; product; release the block of in0
 *         in the last step, turn sums into results where they differ, and
 *         release the block of out to the DMA
 *       release the block of in1
 *
 * Where it fits into program memory, all steps are one kernel, which deals with
 * the locks in passing (kernel_gemm_steps).  Otherwise every product is a call.
 * Then the first and the last step are written out, so nothing is decided in
 * the loop, and the first product is a kernel of its own that does not read out
 * or, where two such kernels do not fit, out is cleared before.
 *
 * Addresses live in registers that kernels keep (r16..r22, kernels.h); blocks
 * of a ring alternate by an exclusive or of their addresses.
 */
#include "parts.h"

#include "isa.h"
#include "kernels.h"

#include <assert.h>

/* The same in every core. */
static uint32_t address_of(const struct design *x, const char *name) {
  const struct design_buffer *b = design_find_buffer(x, 0, CORE_ROW, name);
  assert(b);
  return x->program->device->core_address + b->offset;
}

/* Registers: the current block of in0 and in1, and the way to the other. */
enum {
  REG_IN0 = 16,
  REG_IN1 = 18,
  REG_OUT = 20,
  REG_STEPS = 22,
  REG_SUMS = 23
};

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

/* What the loop's steps have in common. */
struct loop {
  const struct tile_program *program;
  bool steps;            /* one kernel for all steps */
  bool clears, finishes; /* there are kernels `zero`, `finish` */
  bool converts;         /* the product's stores land late */
};

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

/* The register of the block of sums that becomes the block of out in `out`. */
static int sums_of(const struct loop *l, int out) {
  return l->program->core.staged ? REG_SUMS : out;
}

/* Results of sums, then released to the DMA. */
static void put_finish(struct text *t, const struct loop *l, int out) {
  if (l->program->core.staged)
    put_lock(t, l, true, CORE_OUT + LOCK_EMPTY, "out is empty");
  text_printf(t, "\tmov\tp0, r%d\n\tmov\tp1, r%d\n", sums_of(l, out), out);
  put_call(t, "finish");
  put_nops(t, 4);
  put_lock(t, l, false, CORE_OUT + LOCK_FULL, "out is full");
  put_nops(t, 2);
}

/* One product into the block of out in register `out`.  A lock operation stays
 * four bundles clear of the one before it and of a product's last store, and
 * six of the last store of a kernel that converts (isa.md D3, D5). */
static void put_product(struct text *t, const struct loop *l, int out,
                        bool first, bool last) {
  int sums = sums_of(l, out);
  if (first && sums == out) {
    put_lock(t, l, true, CORE_OUT + LOCK_EMPTY, "out is empty");
    put_nops(t, 2);
  }
  if (first && l->clears) {
    text_printf(t, "\tmov\tp0, r%d\n", sums);
    put_call(t, "zero");
  }
  put_lock(t, l, true, CORE_IN0 + LOCK_FULL, "in0 is full");
  text_printf(t, "\tmov\tp0, r%d\n\tmov\tp1, r%d\n\tmov\tp2, r%d\n", REG_IN0,
              REG_IN1, sums);
  put_call(t, first && !l->clears ? "first" : "product");
  put_toggle(t, REG_IN0);
  put_nops(t, l->converts ? 3 : 1);
  put_lock(t, l, false, CORE_IN0 + LOCK_EMPTY, "in0 is empty");
  put_nops(t, 2);
  if (last && l->finishes) {
    put_finish(t, l, out);
  } else if (last) {
    put_lock(t, l, false, CORE_OUT + LOCK_FULL, "out is full");
    put_nops(t, 2);
  }
}

static void put_step(struct text *t, const struct loop *l, bool first,
                     bool last) {
  put_lock(t, l, true, CORE_IN1 + LOCK_FULL, "in1 is full");
  put_nops(t, 2);
  for (int i = 0; i < l->program->group_m; i++)
    put_product(t, l, REG_OUT + i, first, last);
  put_lock(t, l, false, CORE_IN1 + LOCK_EMPTY, "in1 is empty");
  put_toggle(t, REG_IN1);
  put_nops(t, 2);
}

static void put_start(struct text *t, const struct design *x) {
  uint32_t in0 = address_of(x, "in0_0"), in1 = address_of(x, "in1_0");
  const struct map_core *core = &x->program->core;
  uint32_t out = address_of(x, "out_0");
  uint32_t other = core->out_depth > 1 ? address_of(x, "out_1") : out;
  bool both = x->program->group_m > 1;
  text_puts(t, "\t.text\n\t.globl\t_start\n\t.p2align\t4\n_start:\n");
  put_address(t, REG_IN0, in0, "in0, and the way to its other block");
  put_address(t, REG_IN0 + 1, in0 ^ address_of(x, "in0_1"), "and back");
  put_address(t, REG_IN1, in1, "in1");
  put_address(t, REG_IN1 + 1, in1 ^ address_of(x, "in1_1"), "and back");
  put_address(t, REG_OUT, out, "out");
  put_address(t, REG_OUT + 1, both ? other : out ^ other,
              both ? "the other block of out" : "and back");
  if (core->staged)
    put_address(t, REG_SUMS, address_of(x, "sums"), "sums");
  text_puts(t, "\t.p2align\t4\nround:\n");
}

static void put_end(struct text *t, const struct tile_program *p) {
  if (p->group_m == 1)
    put_toggle(t, REG_OUT);
  text_puts(t, "\tj\t#round\n");
  put_nops(t, 5);
}

/* All steps in one call, which wants the way to the rings' other blocks in r4
 * and r5.  Rings that it leaves at the other block start there the next time.
 */
static void put_rounds(struct text *t, const struct design *x,
                       const struct loop *l) {
  const struct tile_program *p = l->program;
  assert(l->steps && !l->clears);
  put_start(t, x);
  text_printf(t,
              "\txor\tr4, r%d, r%d\n\txor\tr5, r%d, r%d\n\tjl\t#steps\n"
              "\tsub\tr4, r4, r%d\n\tsub\tr5, r5, r%d\n"
              "\tmov\tp0, r%d\n\tmov\tp1, r%d\n\tmov\tp2, r%d\n"
              "\t.p2align\t4\n",
              REG_IN0, REG_IN0 + 1, REG_IN1, REG_IN1 + 1, REG_IN0, REG_IN1,
              REG_IN0, REG_IN1, sums_of(l, REG_OUT));
  for (int i = 0; l->finishes && i < p->group_m; i++) {
    if (!i)
      put_nops(t, 4);
    put_finish(t, l, REG_OUT + i);
  }
  if (p->steps_k * p->group_m % 2)
    put_toggle(t, REG_IN0);
  if (p->steps_k % 2)
    put_toggle(t, REG_IN1);
  put_end(t, p);
}

/* Every product a call. */
static void put_loop(struct text *t, const struct design *x,
                     const struct loop *l) {
  const struct tile_program *p = l->program;
  assert(!l->steps && p->steps_k >= 1);
  put_start(t, x);
  put_step(t, l, true, p->steps_k == 1);
  if (p->steps_k > 2) {
    put_address(t, REG_STEPS, (uint32_t)p->steps_k - 2, "steps between");
    text_puts(t, "\t.p2align\t4\nstep:\n");
    put_step(t, l, false, false);
    text_printf(t, "\tadd\tr%d, r%d, #-1\n\tjnz\tr%d, #step\n", REG_STEPS,
                REG_STEPS, REG_STEPS);
    put_nops(t, 5);
  }
  if (p->steps_k > 1)
    put_step(t, l, false, true);
  put_end(t, p);
}

static struct asm_program *parse_loop(struct builder *m, const struct loop *l) {
  struct text t = {0};
  (l->steps ? put_rounds : put_loop)(&t, m->design, l);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, isa_find(m->design->program->device->isa),
                   "core loop", copy, m->diag);
}

static struct kernel_gemm product_of(const struct tile_program *p,
                                     const char *name, bool zero) {
  return (struct kernel_gemm){.name = name,
                              .in0 = p->transfer[IN0].type,
                              .in1 = p->transfer[IN1].type,
                              .out = p->acc,
                              .m = p->block_m,
                              .n = p->block_n,
                              .k = p->block_k,
                              .ta = p->transfer[IN0].turned,
                              .tb = p->transfer[IN1].turned,
                              .tc = p->turns_out,
                              .zero = zero,
                              .tall = map_tall(p->group_m),
                              .yields = true,
                              .joined = p->core.joined,
                              /* C's integers are exact modulo 2^n */
                              .saturation = KERNEL_WRAP};
}

static struct asm_program *make_product(struct builder *m, const char *name,
                                        bool zero, struct diag *d) {
  struct kernel_gemm gemm = product_of(m->design->program, name, zero);
  return kernel_gemm(m->arena, &gemm, d);
}

static size_t bytes_of(const struct asm_program *program) {
  struct text bytes = {0};
  struct diag d = {0};
  size_t length =
      asm_bytes(program, 0, NULL, 0, &bytes, &d) ? bytes.length : SIZE_MAX;
  text_free(&bytes);
  return length;
}

/* The kernel of the first step, or NULL when it and the product would not leave
 * space for the loop and what else there is. */
static struct asm_program *make_first(struct builder *m,
                                      const struct asm_program *product,
                                      size_t other_bytes) {
  enum { LOOP_BYTES = 2048 };
  struct diag d = {0};
  size_t space = m->design->program->device->program_bytes - LOOP_BYTES;
  size_t taken = bytes_of(product) + other_bytes;
  struct asm_program *first = taken + bytes_of(product) <= space
                                  ? make_product(m, "first", true, &d)
                                  : NULL;
  return first && bytes_of(first) <= space - taken ? first : NULL;
}

static int block_elements(const struct tile_program *p) {
  return p->block_m * p->block_n;
}

/* Sums that are results go to out as they are, 32 bytes at a time. */
static struct asm_program *make_copy(struct builder *m) {
  enum { BYTES = 32 };
  const struct tile_program *p = m->design->program;
  int columns = BYTES / dtype_bytes(p->acc);
  struct kernel_copy k = {.name = "finish",
                          .type = p->acc,
                          .rows = block_elements(p) / columns,
                          .columns = columns,
                          .block_rows = 1,
                          .block_columns = columns};
  return kernel_copy(m->arena, &k, m->diag);
}

/* What makes results of sums; *finish stays NULL where they are the same. */
static bool make_finish(struct builder *m, struct asm_program **finish) {
  const struct tile_program *p = m->design->program;
  enum dtype out = p->transfer[OUT].type;
  if (p->acc == out && !p->finish.relu) {
    *finish = p->core.staged ? make_copy(m) : NULL;
    return *finish || !p->core.staged;
  }
  struct kernel_narrow k = {
      .name = "finish",
      .from = p->acc,
      .to = out,
      .elements = block_elements(p),
      .relu = p->finish.relu,
      .apart = p->core.staged,
      .shift = p->finish.shift,
      .rounding = dtype_kind(out) == DTYPE_FLOAT ? KERNEL_ROUND_EVEN
                                                 : KERNEL_ROUND_HALF_UP,
      .saturation = p->finish.saturate ? KERNEL_SATURATE : KERNEL_WRAP};
  *finish = kernel_narrow(m->arena, &k, m->diag);
  return *finish != NULL;
}

/* The kernel of all steps, or NULL when it would not leave room for the loop
 * and what else there is, or its steps do not repeat. */
static struct asm_program *make_steps(struct builder *m, bool finishes,
                                      size_t other_bytes) {
  enum { LOOP_BYTES = 384 };
  const struct design *x = m->design;
  const struct tile_program *p = x->program;
  struct diag d = {0};
  struct kernel_gemm gemm = product_of(p, "steps", true);
  int own = p->device->core_lock;
  const struct kernel_steps steps = {
      .count = p->steps_k,
      .group = p->group_m,
      .c_bytes = (int)(p->core.out[1] - p->core.out[0]),
      .a = {own + CORE_IN0 + LOCK_FULL, own + CORE_IN0},
      .b = {own + CORE_IN1 + LOCK_FULL, own + CORE_IN1},
      .c = {finishes ? -1 : own + CORE_OUT + LOCK_FULL,
            p->core.staged ? -1 : own + CORE_OUT}};
  struct asm_program *made = kernel_gemm_steps(m->arena, &gemm, &steps, &d);
  size_t space = p->device->program_bytes - LOOP_BYTES - other_bytes;
  return made && bytes_of(made) <= space ? made : NULL;
}

/* The kernels that the outer loop calls, in c->text: what finishes sums, and
 * all steps or, one by one, the product and the first step's. */
static bool make_kernels(struct builder *m, struct design_core *c,
                         struct loop *l) {
  const struct tile_program *p = m->design->program;
  struct asm_program *finish = NULL;
  if (!make_finish(m, &finish))
    return false;
  c->text[2] = finish;
  c->text[1] = make_steps(m, finish != NULL, finish ? bytes_of(finish) : 0);
  if (c->text[1]) {
    *l = (struct loop){.program = p, .steps = true, .finishes = finish != NULL};
    return true;
  }
  c->text[1] = make_product(m, "product", false, m->diag);
  if (!c->text[1])
    return false;
  c->text[0] = make_first(m, c->text[1], finish ? bytes_of(finish) : 0);
  *l = (struct loop){.program = p,
                     .clears = !c->text[0],
                     .finishes = finish != NULL,
                     .converts = kernel_gemm_converts(
                         p->transfer[IN0].type, p->transfer[IN1].type, p->acc)};
  if (l->clears)
    c->text[0] = kernel_zero(m->arena, "zero",
                             block_elements(p) * dtype_bytes(p->acc), m->diag);
  return c->text[0] != NULL;
}

static bool link_core(struct builder *m, struct design_core *c) {
  struct asm_program *all[1 + DESIGN_KERNELS] = {c->program};
  int count = 1;
  for (int i = 0; i < DESIGN_KERNELS; i++)
    if (c->text[i])
      all[count++] = c->text[i];
  struct text elf = {0};
  bool good = true;
  for (int i = 0; i < count; i++)
    good = good && asm_check(all[i], m->diag);
  good = good && asm_link(all, count, NULL, 0, &elf, m->diag);
  c->elf = arena_copy(m->arena, elf.data, elf.length, 1, 1);
  c->elf_bytes = elf.length;
  text_free(&elf);
  return good;
}

bool make_programs(struct builder *m) {
  const struct tile_program *p = m->design->program;
  if (!isa_find(p->device->isa))
    return diag_error(m->diag, loc_none(),
                      "%s has cores of instruction set %s, for which there are "
                      "no tables",
                      p->device->name, p->device->isa);
  struct design_core core = {0};
  struct loop l;
  if (!make_kernels(m, &core, &l) || !(core.program = parse_loop(m, &l)) ||
      !link_core(m, &core))
    return false;
  assert(core.elf && core.elf_bytes);
  for (core.column = 0; core.column < p->grid.columns; core.column++)
    for (core.row = CORE_ROW; core.row < CORE_ROW + p->grid.rows; core.row++)
      *add_core(m) = core;
  return true;
}
