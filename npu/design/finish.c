/* finish.c -- the kernel that makes results of a block's sums: a copy, or what
 * narrows them, behind a bias and a relu. */
#include "parts.h"

#include "kernels.h"

static int block_elements(const struct tile_program *p) {
  return p->block_m * p->block_n;
}

/* Sums that are results go to out as they are, 32 bytes at a time. */
static struct asm_program *make_copy(struct builder *m) {
  const struct tile_program *p = m->design->program;
  enum { BYTES = 32 };
  int columns = BYTES / dtype_bytes(p->acc);
  struct kernel_copy k = {.name = "finish",
                          .type = p->acc,
                          .rows = block_elements(p) / columns,
                          .columns = columns,
                          .block_rows = 1,
                          .block_columns = columns,
                          .isa = map_isa(p->device)};
  return kernel_copy(m->arena, &k, m->diag);
}

bool make_finish(struct builder *m, struct asm_program **finish) {
  const struct tile_program *p = m->design->program;
  enum dtype out = p->transfer[OUT].type;
  if (p->acc == out && !p->finish.bias && !p->finish.relu) {
    *finish = p->core.staged ? make_copy(m) : NULL;
    return *finish || !p->core.staged;
  }
  struct kernel_narrow k = {
      .name = "finish",
      .from = p->acc,
      .to = out,
      .elements = block_elements(p),
      .bias = p->finish.bias ? map_bias_words(p) : 0,
      .relu = p->finish.relu,
      .keeps_nan = p->finish.keeps_nan,
      .apart = p->core.staged,
      .turn = p->turns_sums != p->turns_out,
      .shift = p->finish.shift,
      .rounding = dtype_kind(out) == DTYPE_FLOAT ? KERNEL_ROUND_EVEN
                                                 : KERNEL_ROUND_HALF_UP,
      .saturation = p->finish.saturate ? KERNEL_SATURATE : KERNEL_WRAP,
      .isa = map_isa(p->device)};
  *finish = kernel_narrow(m->arena, &k, m->diag);
  return *finish != NULL;
}
