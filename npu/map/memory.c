/* memory.c -- where a core keeps its blocks, and what a mem tile has space for.
 *
 * A core's memory has four banks.  Its two load ports and its store port must
 * not meet in one: then every multiply of a kernel finds its operands.  A core
 * holds two blocks of each input, of which one is filled while the other is
 * used, and two blocks of sums.
 *
 * With one block of out at a time, in0 and in1 have a bank each, and the blocks
 * of sums the two others.
 *
 * With two at once, the first one is always multiplied by in0's first block and
 * the second one by its second.  So a block of sums only has to avoid its own
 * block of in0, and both together may be larger than two banks:
 *
 *   | in0_1  out_0 ....|.... .... ....|.... out_1  in0_0 | in1_0 in1_1  |
 *     bank 0             bank 1         bank 2             bank 3
 */
#include "map.h"

#include <assert.h>

static struct map_core alone(const struct map_block_bytes *b, uint32_t bank) {
  return (struct map_core){.in0 = {0, b->in0},
                           .in1 = {bank, bank + b->in1},
                           .sums = {2 * bank, 3 * bank}};
}

static struct map_core pair(const struct map_block_bytes *b, uint32_t bank) {
  uint32_t end = 3 * bank;
  return (struct map_core){.in0 = {end - b->in0, 0},
                           .in1 = {end, end + b->in1},
                           .sums = {b->in0, end - b->in0 - b->sums}};
}

bool map_core_places(const struct device *dev, const struct map_block_bytes *b,
                     int group_m, struct map_core *core) {
  uint32_t bank = dev->tile[TILE_CORE].memory_bytes / (uint32_t)dev->core_banks;
  assert(dev->core_banks == 4 && (group_m == 1 || group_m == 2));
  *core = group_m == 1 ? alone(b, bank) : pair(b, bank);
  if (2 * b->in1 > bank)
    return false;
  if (group_m == 1)
    return 2 * b->in0 <= bank && b->sums <= bank;
  return 2 * (b->in0 + b->sums) <= 3 * bank;
}

bool map_tall(int group_m) { return group_m > 1; }

struct map_block_bytes map_block_bytes(const struct teir_problem *p,
                                       const struct map_blocking *b) {
  uint32_t m = (uint32_t)b->block_m, n = (uint32_t)b->block_n,
           k = (uint32_t)b->block_k;
  return (struct map_block_bytes){
      .in0 = m * k * (uint32_t)dtype_bytes(p->type[IN0]),
      .in1 = k * n * (uint32_t)dtype_bytes(p->type[IN1]),
      .sums = m * n * (uint32_t)dtype_bytes(p->acc),
      .out = m * n * (uint32_t)dtype_bytes(p->type[OUT])};
}

/* ---- mem tiles ---- */

/* The whole panel in equal chunks, at least two, so that one is filled while
 * another is sent; its uses are counted by a lock. */
static bool keep_whole(const struct device *dev, const struct map_blocking *b,
                       int64_t step_bytes, int64_t space,
                       struct map_panel *panel) {
  if (b->rounds_n > dev->max_lock || b->steps_k * step_bytes > space)
    return false;
  int chunks = MAP_MAX_CHUNKS;
  while (chunks > 1 && b->steps_k % chunks)
    chunks--;
  panel->chunks = chunks > 1 ? chunks : 0;
  return chunks > 1;
}

/* The most that fits in equal stretches: a descriptor's iteration counts them,
 * and a task's repeats those of all n rounds but the first.  Among equals the
 * finest, because then device memory is asked for steadily. */
static void keep_part(const struct device *dev, const struct map_blocking *b,
                      int64_t step_bytes, int64_t space,
                      struct map_panel *panel) {
  double most = 0;
  for (int count = dev->max_iterations; count > MAP_MEM_DEPTH_STREAMED;
       count--) {
    if (b->steps_k % count || count * (b->rounds_n - 1) > dev->max_repeat)
      continue;
    int steps = b->steps_k / count;
    int64_t spare =
        space / step_bytes - (int64_t)MAP_MEM_DEPTH_STREAMED * steps;
    int64_t kept = spare / (count - MAP_MEM_DEPTH_STREAMED);
    kept = kept < steps ? kept : steps - 1;
    if (kept < 1 || (double)kept / steps <= most)
      continue;
    most = (double)kept / steps;
    assert(kept < steps && count <= dev->max_iterations);
    *panel = (struct map_panel){
        .stretches = count, .kept = (int)kept, .streamed = steps - (int)kept};
  }
}

bool map_mem_panel(const struct device *dev, const struct teir_problem *p,
                   const struct map_blocking *b, struct map_panel *panel) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  int64_t space = (int64_t)dev->tile[TILE_MEM].memory_bytes -
                  (int64_t)MAP_MEM_DEPTH_IN * bytes.in1 -
                  (int64_t)MAP_MEM_DEPTH_OUT * dev->core_rows * bytes.out;
  int64_t step_bytes = (int64_t)b->group_m * bytes.in0;
  assert(b->steps_k >= 1 && b->rounds_n >= 1 && b->group_m >= 1);
  *panel = (struct map_panel){0};
  if (b->rounds_n > 1 && !keep_whole(dev, b, step_bytes, space, panel))
    keep_part(dev, b, step_bytes, space, panel);
  return panel->chunks || panel->stretches ||
         (int64_t)MAP_MEM_DEPTH_IN * bytes.in0 <= space;
}
