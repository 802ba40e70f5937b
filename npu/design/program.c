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
 *         wait for a block of in0; product; give the block of in0 back
 *         in the last step, give the block of out to the DMA
 *       give the block of in1 back
 *
 * The first and the last step are written out, so nothing is decided in the
 * loop.  The first product is a kernel of its own that does not read out; where
 * two such kernels do not fit into program memory, out is cleared before.
 * Addresses live in registers that kernels keep (r16..r22, kernels.h); blocks
 * of a ring alternate by an exclusive or of their addresses.
 */
#include "parts.h"

#include "kernels.h"

enum {
  OWN_MEMORY = 0x70000, /* the core's view of its tile, xdna-array.md 5 */
  OWN_LOCKS = 48,
};

static uint32_t address_of(const struct design *x, const char *name) {
  const struct design_core *c = &x->core[0];
  return OWN_MEMORY + design_find_buffer(x, c->column, c->row, name)->offset;
}

/* Registers: the current block of in0 and in1, and the way to the other. */
enum { IN0 = 16, IN1 = 18, OUT = 20, STEPS = 22 };

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

static void put_lock(struct text *t, bool acquire, int lock, const char *what) {
  if (acquire)
    text_printf(t, "\tmova\tr0, #-1\n\tacq\t#%d, r0\t\t\t\t// %s\n",
                OWN_LOCKS + lock, what);
  else
    text_printf(t, "\tmova\tr1, #1\n\trel\t#%d, r1\t\t\t\t// %s\n",
                OWN_LOCKS + lock, what);
}

/* One product into the block of out in register `out`.  A lock operation stays
 * four bundles clear of the one before it and of the kernel's last store (facts
 * D3, D5). */
static void put_product(struct text *t, bool clears, int out, bool first,
                        bool last) {
  if (first) {
    put_lock(t, true, CORE_OUT + LOCK_EMPTY, "out is empty");
    if (clears) {
      text_printf(t, "\tmov\tp0, r%d\n", out);
      put_call(t, "zero");
    } else {
      put_nops(t, 2);
    }
  }
  put_lock(t, true, CORE_IN0 + LOCK_FULL, "in0 is full");
  text_printf(t, "\tmov\tp0, r%d\n\tmov\tp1, r%d\n\tmov\tp2, r%d\n", IN0, IN1,
              out);
  put_call(t, first && !clears ? "first" : "product");
  text_printf(t, "\txor\tr%d, r%d, r%d\n", IN0, IN0, IN0 + 1);
  put_nops(t, 1);
  put_lock(t, false, CORE_IN0 + LOCK_EMPTY, "in0 is empty");
  put_nops(t, 2);
  if (last) {
    put_lock(t, false, CORE_OUT + LOCK_FULL, "out is full");
    put_nops(t, 2);
  }
}

static void put_step(struct text *t, const struct tile_program *p, bool clears,
                     bool first, bool last) {
  put_lock(t, true, CORE_IN1 + LOCK_FULL, "in1 is full");
  put_nops(t, 2);
  for (int i = 0; i < p->group_m; i++)
    put_product(t, clears, OUT + i, first, last);
  put_lock(t, false, CORE_IN1 + LOCK_EMPTY, "in1 is empty");
  text_printf(t, "\txor\tr%d, r%d, r%d\n", IN1, IN1, IN1 + 1);
  put_nops(t, 2);
}

static void put_loop(struct text *t, const struct design *x, bool clears) {
  const struct tile_program *p = x->program;
  uint32_t in0 = address_of(x, "in0_0"), in1 = address_of(x, "in1_0");
  uint32_t out = address_of(x, "out_0"), other = address_of(x, "out_1");
  text_puts(t, "\t.text\n\t.globl\t_start\n\t.p2align\t4\n_start:\n");
  put_address(t, IN0, in0, "in0, and the way to its other block");
  put_address(t, IN0 + 1, in0 ^ address_of(x, "in0_1"), "and back");
  put_address(t, IN1, in1, "in1");
  put_address(t, IN1 + 1, in1 ^ address_of(x, "in1_1"), "and back");
  put_address(t, OUT, out, "out");
  put_address(t, OUT + 1, p->group_m > 1 ? other : out ^ other,
              p->group_m > 1 ? "the other block of out" : "and back");
  text_puts(t, "\t.p2align\t4\nround:\n");
  put_step(t, p, clears, true, p->steps_k == 1);
  if (p->steps_k > 2) {
    put_address(t, STEPS, (uint32_t)p->steps_k - 2, "steps between");
    text_puts(t, "\t.p2align\t4\nstep:\n");
    put_step(t, p, clears, false, false);
    text_printf(t, "\tadd\tr%d, r%d, #-1\n\tjnz\tr%d, #step\n", STEPS, STEPS,
                STEPS);
    put_nops(t, 5);
  }
  if (p->steps_k > 1)
    put_step(t, p, clears, false, true);
  if (p->group_m == 1)
    text_printf(t, "\txor\tr%d, r%d, r%d\n", OUT, OUT, OUT + 1);
  text_puts(t, "\tj\t#round\n");
  put_nops(t, 5);
}

static struct asm_program *parse_loop(struct maker *m, bool clears) {
  struct text t = {0};
  put_loop(&t, m->design, clears);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, "core loop", copy, m->diag);
}

static struct asm_program *make_product(struct maker *m, const char *name,
                                        bool zero, struct diag *d) {
  const struct tile_program *p = m->design->program;
  struct kernel_gemm gemm = {.name = name,
                             .in0 = p->transfer[MAP_IN0].type,
                             .in1 = p->transfer[MAP_IN1].type,
                             .out = p->transfer[MAP_OUT].type,
                             .m = p->block_m,
                             .n = p->block_n,
                             .k = p->block_k,
                             .zero = zero,
                             /* C's integers are exact modulo 2^n */
                             .saturation = KERNEL_WRAP};
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
 * room for the loop. */
static struct asm_program *make_first(struct maker *m,
                                      const struct asm_program *product) {
  enum { LOOP_BYTES = 2048 };
  struct diag d = {0};
  size_t room = m->design->program->device->program_bytes - LOOP_BYTES;
  size_t taken = bytes_of(product);
  struct asm_program *first =
      2 * taken <= room ? make_product(m, "first", true, &d) : NULL;
  return first && bytes_of(first) <= room - taken ? first : NULL;
}

bool make_programs(struct maker *m) {
  const struct tile_program *p = m->design->program;
  for (int column = 0; column < p->columns; column++)
    for (int row = 0; row < p->rows; row++)
      *add_core(m) = (struct design_core){.column = column, .row = 2 + row};
  struct asm_program *product = make_product(m, "product", false, m->diag);
  if (!product)
    return false;
  struct asm_program *start = make_first(m, product);
  bool clears = !start;
  int out_bytes =
      p->block_m * p->block_n * dtype_bytes(p->transfer[MAP_OUT].type);
  if (clears)
    start = kernel_zero(m->arena, "zero", out_bytes, m->diag);
  struct asm_program *loop = start ? parse_loop(m, clears) : NULL;
  if (!loop)
    return false;
  struct asm_program *const all[] = {loop, start, product};
  struct text elf = {0};
  bool good = asm_check(loop, m->diag) && asm_check(start, m->diag) &&
              asm_check(product, m->diag) &&
              asm_link(all, 3, NULL, 0, &elf, m->diag);
  void *copy = arena_copy(m->arena, elf.data, elf.length, 1, 1);
  for (int i = 0; i < m->design->core_count; i++) {
    struct design_core *c = &m->design->core[i];
    c->program = loop;
    c->text[0] = start;
    c->text[1] = product;
    c->elf = copy;
    c->elf_bytes = elf.length;
  }
  text_free(&elf);
  return good;
}
