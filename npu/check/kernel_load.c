/* kernel_load.c -- what DMA channels in its banks cost a kernel.
 *
 * The core runs a kernel by itself; its banks in each cycle are then set
 * against those of three channels, by the simulator's law (npu/sim/bank.c): a
 * bank serves one access per cycle; the core comes first until a channel's FIFO
 * is down to its margin, and what the core loses it repeats a cycle later.  As
 * a kernel waits for nothing but memory, adding these cycles is exact.
 *
 * Channels move a beat per cycle, always: in0's and in1's into the blocks that
 * the next step uses, out's from a block of results in one step of 16. */
#include "kernel_load.h"

#include "map.h"

#include <assert.h>

enum {
  STEPS = 16,
  ACCESS_BEATS = 4, /* what a bank's word is for a stream */
  FIFO_BEATS = 15,  /* timing.md D8 */
  MARGIN_BEATS = 4  /* timing.md B12 */
};

/* Pairs of banks follow each other; in a pair, accesses take turns. */
static uint32_t bank_bit(const struct load *l, uint32_t at) {
  const struct device *dev = device_at(0); /* all have this memory */
  uint32_t pair = dev->tile[TILE_CORE].memory_bytes / (uint32_t)dev->core_banks;
  assert(at < dev->tile[TILE_CORE].memory_bytes);
  return UINT32_C(1) << (2 * (at / pair) + at / l->word_bytes % 2);
}

/* One cycle in which the core wants `banks`; whether it has them. */
static bool try_cycle(struct load *l, uint32_t banks) {
  uint32_t taken = 0;
  for (int i = 0; i < l->count; i++) {
    struct load_channel *c = &l->channel[i];
    assert(c->beats >= 0 && c->beats <= FIFO_BEATS && c->position < c->bytes);
    if (c->beats < FIFO_BEATS) /* else the stream waits */
      c->beats++;
    uint32_t bit = bank_bit(l, c->at + c->position);
    bool urgent = FIFO_BEATS - c->beats < MARGIN_BEATS;
    if (c->beats < ACCESS_BEATS || taken & bit || (banks & bit && !urgent))
      continue;
    taken |= bit;
    c->beats -= ACCESS_BEATS;
    c->position = (c->position + l->word_bytes) % c->bytes;
  }
  return !(taken & banks);
}

static void beside(void *context, uint32_t banks) {
  struct load *l = context;
  while (!try_cycle(l, banks))
    l->waits++;
}

bool load_run(const struct asm_program *p, uint8_t memory[CHECK_MEMORY_BYTES],
              const uint32_t pointer[3], struct load *l,
              struct check_outcome *o, struct diag *d) {
  assert(l->count >= 0 && l->count <= LOAD_CHANNELS);
  l->word_bytes = (uint32_t)isa_access_bytes(p->isa) / 2;
  return check_run_beside(p, memory, pointer, beside, l, o, d);
}

static void aim(struct load_channel *c, uint32_t at, uint32_t bytes) {
  c->at = at;
  c->bytes = bytes;
  c->position %= bytes;
}

static const struct device *device_of(const struct kernel_gemm *k) {
  const struct device *dev = device_at(0);
  for (int i = 0; k->isa && dev && isa_find(dev->isa) != k->isa; i++)
    dev = device_at(i);
  return dev;
}

static bool place(const struct kernel_gemm *k, int group,
                  struct map_block_bytes *bytes, struct map_core *core) {
  const struct device *dev = device_of(k);
  if (!dev || k->bfp16)
    return false;
  const struct teir_problem problem = {.type = {k->in0, k->in1, k->out},
                                       .acc = k->out};
  const struct map_blocking blocking = {.block_m = k->m,
                                        .block_n = k->n,
                                        .block_k = k->k,
                                        .group_m = group,
                                        .rounds_m = 1,
                                        .rounds_n = 1,
                                        .steps_k = STEPS};
  *bytes = map_block_bytes(&problem, &blocking);
  return map_core_places(dev, bytes, group, STEPS, core);
}

bool load_adapt(struct kernel_gemm *k) {
  struct map_block_bytes bytes;
  struct map_core core;
  k->yields = true;
  bool ok = place(k, 1, &bytes, &core);
  k->joined = ok && core.joined;
  return ok;
}

bool load_gemm(const struct kernel_gemm *k, const struct asm_program *p,
               struct load_outcome *o, struct diag *d) {
  struct map_block_bytes bytes;
  struct map_core core;
  *o = (struct load_outcome){0};
  if (!place(k, 1, &bytes, &core))
    return false;
  struct arena *a = arena_open();
  uint8_t *memory = arena_array(a, CHECK_MEMORY_BYTES, 1);
  struct load load = {.count = LOAD_CHANNELS};
  double cycles = 0, macs = 0;
  bool ok = true;
  for (int step = 0; ok && step < STEPS; step++) {
    int now = step % 2, next = 1 - now;
    struct check_outcome run;
    const uint32_t pointer[3] = {core.in0[now], core.in1[now], core.sums};
    aim(&load.channel[0], core.in0[next], bytes.in0);
    aim(&load.channel[1], core.in1[next], bytes.in1);
    aim(&load.channel[2], core.out[core.out_depth - 1], bytes.out);
    load.count = step ? LOAD_CHANNELS - 1 : LOAD_CHANNELS;
    ok = load_run(p, memory, pointer, &load, &run, d);
    cycles += (double)run.cycles;
    macs += (double)run.macs;
  }
  arena_close(a);
  cycles += (double)load.waits;
  if (ok)
    *o = (struct load_outcome){cycles / STEPS, macs / cycles};
  return ok;
}

bool load_steps(const struct kernel_gemm *k, int group, double *cycles,
                struct diag *d) {
  struct kernel_gemm product = *k;
  struct map_block_bytes bytes;
  struct map_core core;
  *cycles = 0;
  if (!place(k, group, &bytes, &core))
    return true;
  product.zero = false; /* but for the first of them */
  product.yields = true;
  product.joined = core.joined;
  product.tall = map_tall(group);
  const struct kernel_places places = {
      .group = group,
      .a = {core.in0[0], core.in0[1]},
      .b = {core.in1[0], core.in1[1]},
      .c = {map_sums(&core, group, 0), map_sums(&core, group, 1)}};
  struct arena *scratch = arena_open();
  bool good = kernel_gemm_loaded(scratch, &product, &places, cycles, d);
  arena_close(scratch);
  return good;
}
