/* program.c -- the kernels that the program of every core calls, and all of it
 * as an ELF.
 *
 * Where it fits into program memory, all steps of k are one kernel; else every
 * product is a call (loop.c).
 */
#include "loop.h"

#include "isa.h"
#include "kernels.h"

#include <assert.h>

static struct kernel_gemm product_of(const struct tile_program *p,
                                     const char *name, bool zero) {
  bool blocks = p->core.by_blocks || p->converts;
  return (struct kernel_gemm){.name = name,
                              .isa = map_isa(p->device),
                              .in0 = p->transfer[IN0].type,
                              .in1 = p->transfer[IN1].type,
                              .out = p->acc,
                              .m = p->block_m,
                              .n = p->block_n,
                              .k = p->block_k * (blocks ? p->core.joint : 1),
                              .ta = p->transfer[IN0].turned && !blocks,
                              .tb = p->transfer[IN1].turned && !blocks,
                              .tc = p->turns_sums,
                              .zero = zero,
                              .tall = map_tall(p->group_m),
                              .bfp16 = blocks,
                              .yields = !blocks,
                              .joined = p->core.joined,
                              /* C's integers are exact modulo 2^n */
                              .saturation = KERNEL_WRAP};
}

static struct asm_program *make_product(struct builder *m, const char *name,
                                        bool zero, struct diag *d) {
  struct kernel_gemm gemm = product_of(m->design->program, name, zero);
  return kernel_gemm(m->arena, &gemm, d);
}

/* What makes an input's block floats. */
static struct asm_program *make_blocks(struct builder *m, int input) {
  const struct tile_program *p = m->design->program;
  const struct kernel_blocks k = {.name = input ? "blocks1" : "blocks0",
                                  .isa = map_isa(p->device),
                                  .input = input,
                                  .other = input ? p->block_n : p->block_m,
                                  .k = p->block_k,
                                  .whole_k = p->core.joint * p->block_k,
                                  .turned = p->transfer[input].turned};
  return kernel_blocks(m->arena, &k, m->diag);
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

static bool keeps_last(const struct tile_program *p) {
  return p->core.staged && p->group_m > 1;
}

/* The kernel of so many steps, or NULL when it would not leave space for the
 * loop and what else there is, or its steps do not repeat.  *before: that it
 * counts those behind so many; 0: there are not as many. */
static struct asm_program *make_steps(struct builder *m, int count,
                                      bool finishes, size_t other_bytes,
                                      int *before) {
  enum { LOOP_BYTES = 384, MOST_BEFORE = 2 };
  const struct design *x = m->design;
  const struct tile_program *p = x->program;
  struct diag d = {0};
  struct kernel_gemm gemm = product_of(p, "steps", true);
  int own = p->device->core_lock;
  const struct kernel_steps steps = {
      .count = count,
      .group = p->group_m,
      .c_bytes = (int)(map_sums(&p->core, p->group_m, 1) -
                       map_sums(&p->core, p->group_m, 0)),
      .keeps_last = keeps_last(p),
      .a = {own + CORE_IN0 + LOCK_FULL, own + CORE_IN0},
      .b = {own + CORE_IN1 + LOCK_FULL, own + CORE_IN1},
      .c = {finishes && !keeps_last(p) ? -1 : own + CORE_OUT + LOCK_FULL,
            p->core.staged && !keeps_last(p) ? -1 : own + CORE_OUT}};
  struct asm_program *made =
      count > 1 ? kernel_gemm_counted(m->arena, &gemm, &steps, before, &d)
                : NULL;
  if (!made || count <= *before) {
    *before = 0;
    made = count <= MOST_BEFORE ? kernel_gemm_steps(m->arena, &gemm, &steps, &d)
                                : NULL;
  }
  size_t space = p->device->program_bytes - LOOP_BYTES - other_bytes;
  return made && bytes_of(made) <= space ? made : NULL;
}

/* The same where the last step, which is cleared first, is a call. */
static bool make_cleared(struct builder *m, struct design_core *c,
                         size_t other_bytes, int *before) {
  enum { LAST_BYTES = 512 };
  const struct tile_program *p = m->design->program;
  struct diag d = {0};
  struct asm_program *product = p->steps_k > 1 && p->group_m == 1
                                    ? make_product(m, "product", false, &d)
                                    : NULL;
  size_t taken = product ? bytes_of(product) + other_bytes + LAST_BYTES : 0;
  if (!product || taken + LAST_BYTES > p->device->program_bytes)
    return false;
  c->text[1] = make_steps(m, p->steps_k - 1, true, taken, before);
  c->text[0] = c->text[1] ? product : NULL;
  return c->text[1] != NULL;
}

/* The kernels that the outer loop calls, in c->text: what finishes sums, and
 * all steps or, one by one, the product and the first step's. */
static bool make_kernels(struct builder *m, struct design_core *c,
                         struct loop *l) {
  const struct tile_program *p = m->design->program;
  struct asm_program *finish = NULL;
  int bias = p->finish.bias ? design_buffer_steps(p, IN1) : 0;
  if (!make_finish(m, &finish))
    return false;
  c->text[2] = finish;
  bool converts = kernel_gemm_converts(
      map_isa(p->device), p->transfer[IN0].type, p->transfer[IN1].type, p->acc);
  int before = 0;
  size_t other = finish ? bytes_of(finish) : 0;
  for (int i = 0; i < OUT && p->core.by_blocks; i++) {
    c->text[3 + i] = make_blocks(m, i);
    if (!c->text[3 + i])
      return false;
    other += bytes_of(c->text[3 + i]);
  }
  struct map_end end = map_end(p);
  bool clears = map_is_cleared(p);
  for (int i = 0; i < OUT; i++) {
    if (!end.clear[i])
      continue;
    c->text[3 + i] = make_clear(m, i);
    if (!c->text[3 + i])
      return false;
    other += bytes_of(c->text[3 + i]);
  }
  /* no kernel of all steps */
  bool blocks = p->core.by_blocks || p->converts,
       apart = clears && make_cleared(m, c, other, &before);
  if (!blocks && !clears)
    c->text[1] = make_steps(m, p->steps_k, finish != NULL, other, &before);
  if (c->text[1]) {
    *l = (struct loop){.design = m->design,
                       .program = p,
                       .steps = true,
                       .last_apart = apart,
                       .before = before,
                       .finishes = finish != NULL,
                       .keeps_last = keeps_last(p),
                       .converts = converts,
                       .bias = bias};
    return true;
  }
  c->text[1] = make_product(m, "product", false, m->diag);
  if (!c->text[1])
    return false;
  c->text[0] = make_first(m, c->text[1], other);
  *l = (struct loop){.design = m->design,
                     .program = p,
                     .clears = !c->text[0],
                     .finishes = finish != NULL,
                     .keeps_last = keeps_last(p),
                     .bias = bias,
                     .converts = converts};
  if (l->clears)
    c->text[0] =
        kernel_zero(m->arena, map_isa(p->device), "zero",
                    p->block_m * p->block_n * dtype_bytes(p->acc), m->diag);
  return c->text[0] != NULL;
}

bool link_core(struct builder *m, struct design_core *c) {
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

static bool make_core(struct builder *m, struct core_cache *cores,
                      struct design_core *core) {
  const struct tile_program *p = m->design->program;
  struct loop l;
  if (cores && core_cache_find(cores, m->arena, p, core))
    return true;
  if (!make_kernels(m, core, &l) || !(core->program = make_loop(m, &l)) ||
      !link_core(m, core))
    return false;
  if (cores)
    core_cache_add(cores, p, core);
  return true;
}

bool make_programs(struct builder *m, struct core_cache *cores) {
  const struct tile_program *p = m->design->program;
  if (!isa_find(p->device->isa))
    return diag_error(m->diag, loc_none(),
                      "%s has cores of instruction set %s, for which there are "
                      "no tables",
                      p->device->name, p->device->isa);
  struct design_core core = {0};
  if (!make_core(m, cores, &core))
    return false;
  assert(core.elf && core.elf_bytes);
  m->design->launch = (struct design_launch){
      (uint32_t)map_products_k(p),
      (uint32_t)p->batch * (uint32_t)p->rounds_m * (uint32_t)p->rounds_n,
      (uint32_t)p->grid.rows - 1};
  for (core.column = 0; core.column < p->grid.columns; core.column++)
    for (core.row = CORE_ROW; core.row < CORE_ROW + p->grid.rows; core.row++) {
      *add_core(m) = core;
      *add_lock(m) =
          (struct design_lock){"launch", core.column, core.row, CORE_LAUNCH, 0};
    }
  return true;
}
