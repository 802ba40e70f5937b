/* program.c -- the program of every core: the outer loop around the kernels.
 *
 * All cores run the same text.  It never ends: after the last block of a run it
 * waits for the next run's first block, with rings and locks where they were.
 *
 *   forever
 *     wait for an empty block of out; zero
 *     steps_k times
 *       wait for blocks of in0 and in1; product; give them back
 *     give the block of out to the DMA; take the ring's other block
 *
 * Addresses live in registers that kernels keep (r16..r22, kernels.h); the two
 * blocks of a ring alternate by an exclusive or of their addresses.
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

static void put_ring(struct text *t, const struct design *x, int reg,
                     const char *first, const char *second) {
  uint32_t a = address_of(x, first), b = address_of(x, second);
  text_printf(t, "\tmovxm\tr%d, #0x%x\t\t\t// %s\n", reg, a, first);
  text_printf(t, "\tmovxm\tr%d, #0x%x\t\t\t// to %s and back\n", reg + 1, a ^ b,
              second);
}

static void put_nops(struct text *t, int count) {
  while (count-- > 0)
    text_puts(t, "\tnop\n");
}

static void put_loop(struct text *t, const struct design *x) {
  text_puts(t, "\t.text\n\t.globl\t_start\n\t.p2align\t4\n_start:\n");
  put_ring(t, x, 16, "in0_0", "in0_1");
  put_ring(t, x, 18, "in1_0", "in1_1");
  put_ring(t, x, 20, "out_0", "out_1");
  text_printf(t,
              "\t.p2align\t4\n"
              "block:\t\t\t\t\t\t// one block of out\n"
              "\tmova\tr0, #-1\n"
              "\tacq\t#%d, r0\t\t\t\t// out is empty\n"
              "\tmov\tp0, r20\n"
              "\tjl\t#zero\n",
              OWN_LOCKS + CORE_OUT + LOCK_EMPTY);
  put_nops(t, 5);
  text_printf(t,
              "\t.p2align\t4\n"
              "\tmovxm\tr22, #%d\t\t\t// steps of k\n"
              "\t.p2align\t4\n"
              "step:\n"
              "\tmova\tr0, #-1\n"
              "\tacq\t#%d, r0\t\t\t\t// in0 is full\n"
              "\tmov\tp0, r16\n"
              "\tmov\tp1, r18\n"
              "\tmov\tp2, r20\n"
              "\tacq\t#%d, r0\t\t\t\t// in1 is full\n"
              "\tjl\t#product\n",
              x->program->steps_k, OWN_LOCKS + CORE_IN0 + LOCK_FULL,
              OWN_LOCKS + CORE_IN1 + LOCK_FULL);
  put_nops(t, 5);
  text_printf(t,
              "\t.p2align\t4\n"
              "\tmova\tr1, #1\n"
              "\trel\t#%d, r1\t\t\t\t// in0 is empty\n"
              "\txor\tr16, r16, r17\n"
              "\txor\tr18, r18, r19\n"
              "\tadd\tr22, r22, #-1\n"
              "\trel\t#%d, r1\t\t\t\t// in1 is empty\n"
              "\tjnz\tr22, #step\n",
              OWN_LOCKS + CORE_IN0 + LOCK_EMPTY,
              OWN_LOCKS + CORE_IN1 + LOCK_EMPTY);
  put_nops(t, 5);
  text_printf(t,
              "\trel\t#%d, r1\t\t\t\t// out is full\n"
              "\txor\tr20, r20, r21\n"
              "\tj\t#block\n",
              OWN_LOCKS + CORE_OUT + LOCK_FULL);
  put_nops(t, 5);
}

static const struct asm_program *parse_loop(struct maker *m) {
  struct text t = {0};
  put_loop(&t, m->design);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, "core loop", copy, m->diag);
}

static struct asm_program *make_kernels(struct maker *m,
                                        struct asm_program **zero) {
  const struct tile_program *p = m->design->program;
  const struct map_transfer *out = &p->transfer[MAP_OUT];
  *zero =
      kernel_zero(m->arena, "zero",
                  p->block_m * p->block_n * dtype_bytes(out->type), m->diag);
  if (!*zero)
    return NULL;
  struct kernel_gemm gemm = {.name = "product",
                             .in0 = p->transfer[MAP_IN0].type,
                             .in1 = p->transfer[MAP_IN1].type,
                             .out = out->type,
                             .m = p->block_m,
                             .n = p->block_n,
                             .k = p->block_k};
  return kernel_gemm(m->arena, &gemm, m->diag);
}

bool make_programs(struct maker *m) {
  const struct tile_program *p = m->design->program;
  for (int column = 0; column < p->columns; column++)
    for (int row = 0; row < p->rows; row++)
      *add_core(m) = (struct design_core){.column = column, .row = 2 + row};
  struct asm_program *zero, *product = make_kernels(m, &zero);
  if (!product)
    return false;
  const struct asm_program *loop = parse_loop(m);
  if (!loop)
    return false;
  struct asm_program *const all[] = {(struct asm_program *)loop, zero, product};
  struct text elf = {0};
  bool good = asm_link(all, 3, NULL, 0, &elf, m->diag);
  void *copy = arena_copy(m->arena, elf.data, elf.length, 1, 1);
  for (int i = 0; i < m->design->core_count; i++) {
    struct design_core *c = &m->design->core[i];
    c->program = loop;
    c->text[0] = zero;
    c->text[1] = product;
    c->elf = copy;
    c->elf_bytes = elf.length;
  }
  text_free(&elf);
  return good;
}
