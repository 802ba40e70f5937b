/* convert.c -- the row of cores that makes block floats for the others
 * (npu/map/convert.c): their buffers and programs, and the panel of in0 that
 * they fill in their column's mem tile.
 *
 * A core gets 16 rows along k at a time, as one block of all k behind the other
 * of 2 x 8 x 8 elements, which its channel cuts:
 *
 *   in  [16][k] is written as [k/8][16][8]
 *
 * It makes [k/8][2][8][9 bytes] of them.  Of in0 these go to the mem tile as
 * they are, so a chunk is
 *
 *   [run of steps][m/16][k/8 of the run][2][8][9]
 *
 * and is read step by step.  Where in0 lies along m, 32 k of a block come,
 *
 *   in  [32][m] is written as [m/8][32][8],
 *
 * transposed as they are converted, and a chunk is [k/32][m/16][4][2][8][9].
 * In1 leaves when all of a block's n are there for such a run, step by step,
 * too.
 *
 * The programs have no numbers of a launch: a panel of in0 and the blocks of
 * in1 that meet it are of a number that the configuration knows, and each comes
 * as soon as there is space behind it.
 *
 *   forever
 *     for 16 rows and a run of the panel: wait for them and for space; convert
 *     for a run of the n rounds:          wait for space
 *       for 16 columns of the block:      wait for them; convert
 */
#include "ring.h"

#include "isa.h"

#include <assert.h>

enum { SIDE = 8 };

int design_convert_row(const struct tile_program *p) {
  assert(p->converts);
  return CORE_ROW + p->grid.rows;
}

static struct map_converter converter_of(const struct tile_program *p) {
  struct map_blocking b = {
      .block_m = p->block_m, .block_n = p->block_n, .block_k = p->block_k};
  b.form.layout[IN0].turned = p->transfer[IN0].turned;
  return map_converter_of(&b, p->panel.run[IN1]);
}

static int runs_of(const struct tile_program *p) {
  assert(p->steps_k % p->panel.run[IN1] == 0);
  return p->steps_k / p->panel.run[IN1];
}

/* Words of 16 rows for a step. */
static uint32_t step_words(const struct tile_program *p) {
  return map_converted_bytes(MAP_CONVERTED_ROWS * (uint32_t)p->block_k) / 4;
}

void make_converted_in0(struct builder *m, struct mem_tile *tile) {
  const struct tile_program *p = m->design->program;
  const struct map_panel *x = &p->panel;
  uint32_t steps = (uint32_t)(p->steps_k / x->chunks),
           run = (uint32_t)x->run[IN1], step = step_words(p),
           groups = (uint32_t)p->block_m / MAP_CONVERTED_ROWS;
  struct ring r = {.name = "in0_",
                   .bytes = ring_block_bytes(p, IN0) * steps,
                   .depth = x->chunks,
                   .lock = LOCK_IN0,
                   .reuse = x->rounds};
  struct walk read = walk_linear;
  read.dims = 4;
  if (p->transfer[IN0].turned) {
    uint32_t units = (uint32_t)p->block_k / MAP_CONVERTED_K,
             part = step / units;
    read.dim[0] = (struct bd_dim){1, part};
    read.dim[1] = (struct bd_dim){part * groups, units};
    read.dim[2] = (struct bd_dim){part, groups};
    read.dim[3] = (struct bd_dim){step * groups, 0};
  } else {
    read.dim[0] = (struct bd_dim){1, step};
    read.dim[1] = (struct bd_dim){step * run, groups};
    read.dim[2] = (struct bd_dim){step, run};
    read.dim[3] = (struct bd_dim){step * run * groups, 0};
  }
  assert(r.bytes == 4 * step * groups * steps && p->group_m == 1);
  make_mem_ring(m, tile, &r, design_in0_way(p), &walk_linear, &read);
}

/* ---- tiles ---- */

/* Locks and descriptors of an input: 0 and 1 of what comes, 2 and 3 of what
 * leaves. */
static int lock_of(int input, bool made) { return 4 * input + 2 * made; }

void make_converter(struct builder *m, int column) {
  const struct tile_program *p = m->design->program;
  struct map_converter at = converter_of(p);
  uint32_t run = (uint32_t)p->panel.run[IN1], step = step_words(p),
           blocks = run * (uint32_t)p->block_k / SIDE;
  struct walk cut = walk_linear, by_step = walk_linear, turned = walk_linear;
  cut.dims = by_step.dims = turned.dims = 3;
  cut.dim[0] = (struct bd_dim){1, SIDE * 2 / 4};
  cut.dim[1] = (struct bd_dim){MAP_CONVERTED_ROWS * SIDE * 2 / 4, blocks};
  cut.dim[2] = (struct bd_dim){SIDE * 2 / 4, 0};
  turned.dim[0] = (struct bd_dim){1, SIDE * 2 / 4};
  turned.dim[1] = (struct bd_dim){MAP_CONVERTED_K * SIDE * 2 / 4,
                                  (uint32_t)p->block_m / SIDE};
  turned.dim[2] = (struct bd_dim){SIDE * 2 / 4, 0};
  uint32_t groups = (uint32_t)p->block_n / MAP_CONVERTED_ROWS;
  by_step.parts = map_converter_parts(p->device, p->block_k, (int)run);
  if (by_step.parts == 1) {
    by_step.dim[0] = (struct bd_dim){1, step};
    by_step.dim[1] = (struct bd_dim){step * run, groups};
    by_step.dim[2] = (struct bd_dim){step, 0};
  } else { /* more words than a dimension counts: by blocks of 8 k */
    by_step.dim[0] = (struct bd_dim){1, step * SIDE / (uint32_t)p->block_k};
    by_step.dim[1] =
        (struct bd_dim){by_step.dim[0].wrap, (uint32_t)p->block_k / SIDE};
    by_step.dim[2] = (struct bd_dim){step * run, 0};
    for (int i = 0; i < by_step.parts; i++)
      by_step.part_bytes[i] = (uint32_t)i * step * 4;
  }
  for (int i = IN0; i <= (design_in1_part(p, column) >= 0 ? IN1 : IN0); i++)
    for (int made = 0; made < 2; made++) {
      uint32_t bytes = made ? at.made_bytes[i] : at.raw_bytes[i];
      struct ring r = {
          .name = arena_printf(m->arena, "%s%d_", made ? "made" : "in", i),
          .column = column,
          .row = design_convert_row(p),
          .offset = made ? at.made[i] : at.raw[i],
          .stride = bytes,
          .bytes = bytes,
          .depth = CORE_DEPTH,
          .lock = lock_of(i, made)};
      add_ring(m, &r, bytes);
      add_chain(m, &r, r.lock, made, i,
                !made ? i == IN0 && p->transfer[IN0].turned ? &turned : &cut
                : i == IN1 ? &by_step
                           : &walk_linear);
    }
}

/* ---- programs ---- */

enum { REG_RAW = 16, REG_MADE = 18, REG_OTHER = 4, ACQUIRED = 4 };

static void put_nops(struct text *t, int count) {
  while (count-- > 0)
    text_puts(t, "\tnop\n");
}

static void put_lock(struct text *t, const struct tile_program *p, bool acquire,
                     int lock) {
  text_printf(t,
              acquire ? "\tmova\tr0, #-1\n\tacq\t#%d, r0\n"
                      : "\tmova\tr1, #1\n\trel\t#%d, r1\n",
              lock + p->device->core_lock);
  put_nops(t, ACQUIRED);
}

static void put_toggle(struct text *t, int reg, uint32_t way) {
  text_printf(t, "\tmovxm\tr4, #0x%x\n\txor\tr%d, r%d, r4\n", way, reg, reg);
}

/* One buffer of an input: the kernel's calls for all 16 rows of what is made.
 */
static void put_buffer(struct text *t, const struct tile_program *p,
                       const struct map_converter *at, int input) {
  uint32_t part = map_converted_bytes(at->raw_bytes[input] / 2);
  int parts = (int)(at->made_bytes[input] / part), raw = lock_of(input, false),
      made = lock_of(input, true), reg = REG_RAW + REG_OTHER * input;
  put_lock(t, p, true, made + LOCK_EMPTY);
  for (int i = 0; i < parts; i++) {
    put_lock(t, p, true, raw + LOCK_FULL);
    text_printf(t,
                "\tmovxm\tr4, #0x%x\n\tadd\tr4, r%d, r4\n\tmov\tp0, r%d\n"
                "\tmov\tp2, r4\n\tjl\t#%s\n",
                (uint32_t)i * part, reg + REG_MADE - REG_RAW, reg,
                input == IN0 && p->transfer[IN0].turned ? "turned" : "blocks");
    put_nops(t, 5);
    text_puts(t, "\t.p2align\t4\n");
    put_toggle(t, reg,
               at->raw[input] ^ (at->raw[input] + at->raw_bytes[input]));
    put_nops(t, 4);
    put_lock(t, p, false, raw + LOCK_EMPTY);
  }
  put_lock(t, p, false, made + LOCK_FULL);
  put_toggle(t, reg + REG_MADE - REG_RAW,
             at->made[input] ^ (at->made[input] + at->made_bytes[input]));
}

static void put_count(struct text *t, const struct tile_program *p,
                      const struct map_converter *at, int input, int count) {
  text_printf(t, "\tmovxm\tp7, #%d\n\t.p2align\t4\ninput%d:\n", count, input);
  put_buffer(t, p, at, input);
  text_printf(t,
              "\tmov\tr0, p7\n\tadd\tr0, r0, #-1\n\tjnz\tr0, #input%d\n"
              "\tmov\tp7, r0\n",
              input);
  put_nops(t, 4);
}

static struct asm_program *parse_loop(struct builder *m, bool both) {
  const struct tile_program *p = m->design->program;
  struct map_converter at = converter_of(p);
  uint32_t own = p->device->core_address;
  struct text t = {0};
  int runs = runs_of(p);
  text_puts(&t, "\t.text\n\t.globl\t_start\n\t.p2align\t4\n_start:\n");
  /* addresses alternate by exclusive or of offsets */
  for (int i = IN0; i < OUT; i++)
    text_printf(&t, "\tmovxm\tr%d, #0x%x\n\tmovxm\tr%d, #0x%x\n",
                REG_RAW + REG_OTHER * i, own + at.raw[i],
                REG_MADE + REG_OTHER * i, own + at.made[i]);
  text_puts(&t, "\t.p2align\t4\nforever:\n");
  put_count(&t, p, &at, IN0,
            p->transfer[IN0].turned ? p->steps_k * p->block_k / MAP_CONVERTED_K
                                    : p->block_m / MAP_CONVERTED_ROWS * runs);
  if (both)
    put_count(&t, p, &at, IN1, p->panel.rounds * runs);
  text_puts(&t, "\tj\t#forever\n");
  put_nops(&t, 5);
  char *copy = arena_string(m->arena, text_string(&t));
  text_free(&t);
  return asm_parse(m->arena, isa_find(p->device->isa), "converter", copy,
                   m->diag);
}

bool make_converters(struct builder *m) {
  const struct tile_program *p = m->design->program;
  struct design_core core[2] = {{0}};
  const struct kernel_blocks k = {.name = "blocks",
                                  .isa = map_isa(p->device),
                                  .input = IN1,
                                  .other = MAP_CONVERTED_ROWS,
                                  .k = p->panel.run[IN1] * p->block_k,
                                  .turned = true},
                             turned = {.name = "turned",
                                       .isa = map_isa(p->device),
                                       .input = IN0,
                                       .other = p->block_m,
                                       .k = MAP_CONVERTED_K,
                                       .turned = true};
  bool turns = p->transfer[IN0].turned;
  for (int both = 0; both < 2; both++) {
    struct design_core *c = &core[both];
    if (both || !turns)
      c->text[0] = kernel_blocks(m->arena, &k, m->diag);
    if (turns)
      c->text[1] = kernel_blocks(m->arena, &turned, m->diag);
    if (!c->text[turns] || !(c->program = parse_loop(m, both)) ||
        !link_core(m, c))
      return false;
  }
  for (int column = 0; column < p->grid.columns; column++) {
    struct design_core *c = add_core(m);
    *c = core[design_in1_part(p, column) >= 0];
    c->column = column;
    c->row = design_convert_row(p);
  }
  return true;
}

int design_rows(const struct tile_program *p) {
  return p->grid.rows + p->converts;
}
