/* core.c -- buffers, locks and descriptor chains of a core tile. */
#include "ring.h"

/* How a core's channel writes a block of a tensor. */
static struct walk core_walk(const struct tile_program *p,
                             const struct kernel_shape *s, int tensor) {
  bool turned = p->transfer[tensor].turned;
  uint32_t bytes = (uint32_t)dtype_bytes(p->transfer[tensor].type),
           row = (uint32_t)s->k * bytes / 4,
           steps = (uint32_t)(p->block_k / s->k);
  struct walk w = {.parts = 1, .dims = 3};
  bool cut = (tensor == IN0 && turned) ||
             map_cuts_words(s, p->transfer[tensor].type, turned, tensor);
  if (tensor == OUT || !map_is_uncut(p) || cut)
    return walk_linear;
  if (tensor == IN1 && !turned)
    row *= (uint32_t)s->n;
  uint32_t next = tensor == IN0
                      ? (uint32_t)s->m
                      : (uint32_t)(turned ? p->block_n : p->block_n / s->n);
  w.dim[0] = (struct bd_dim){1, row};
  w.dim[1] = (struct bd_dim){
      next * row,
      tensor == IN0 ? (uint32_t)(p->block_m / s->m) * steps : steps};
  w.dim[2] = (struct bd_dim){row, 0};
  return w;
}

/* Blocks where the map has put them.  Sums are in the place of out until they
 * are results, or in one of their own, which has no locks. */
void make_core(struct builder *m, int column, int row,
               const struct kernel_shape *s) {
  const struct tile_program *p = m->design->program;
  const struct map_core *core = &p->core;
  const struct {
    const char *name;
    int lock, depth;
    const uint32_t *offset;
    enum dtype held;
  } ring[TENSORS] = {
      {"in0_", CORE_IN0, CORE_DEPTH, core->in0, p->transfer[IN0].type},
      {"in1_", CORE_IN1, CORE_DEPTH, core->in1, p->transfer[IN1].type},
      {"out_", CORE_OUT, core->out_depth, core->out,
       core->staged ? p->transfer[OUT].type : p->acc}};
  struct ring made[TENSORS];
  const struct walk walk[TENSORS] = {core_walk(p, s, IN0), core_walk(p, s, IN1),
                                     core_walk(p, s, OUT)};
  for (int i = 0; i < TENSORS; i++) {
    struct ring *r = &made[i];
    *r = (struct ring){.name = ring[i].name,
                       .column = column,
                       .row = row,
                       .offset = ring[i].offset[0],
                       .stride = ring[i].offset[1] - ring[i].offset[0],
                       .bytes = ring_core_bytes(p, i),
                       .depth = ring[i].depth,
                       .lock = ring[i].lock};
    add_ring(m, r,
             r->bytes / (uint32_t)dtype_bytes(p->transfer[i].type) *
                 (uint32_t)dtype_bytes(ring[i].held));
    if (i == OUT || !p->grid.apart)
      add_chain(m, r, i * CORE_DEPTH, i == OUT, i == IN1, &walk[i]);
  }
  if (p->grid.apart) { /* both inputs on one channel */
    int count = OUT * CORE_DEPTH;
    for (int i = 0; i < count; i++)
      add_ring_bd(m, &made[i % OUT], i / OUT, i, (i + 1) % count, false, 0,
                  &walk[i % OUT], 0);
    *add_start(m) = (struct design_start){column, row, 0, 0, false};
  }
  for (int i = 0; i < OUT && core->by_blocks; i++)
    *add_buffer(m) = (struct design_buffer){
        i ? "blocks1" : "blocks0", column, row, core->blocks[i],
        (uint32_t)(core->joint * p->block_k * (i ? p->block_n : p->block_m) *
                   9 / 8)};
  if (core->staged)
    *add_buffer(m) = (struct design_buffer){
        "sums", column, row, core->sums,
        (uint32_t)(p->block_m * p->block_n * dtype_bytes(p->acc))};
}
