/* memory.c -- where a core keeps its blocks, and what a mem tile has room for.
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

enum { BANK_BYTES = 16 << 10 /* timing.md B2 */ };

static struct map_core alone(const struct map_block_bytes *b) {
  return (struct map_core){.in0 = {0, b->in0},
                           .in1 = {BANK_BYTES, BANK_BYTES + b->in1},
                           .sums = {2 * BANK_BYTES, 3 * BANK_BYTES}};
}

static struct map_core pair(const struct map_block_bytes *b) {
  uint32_t end = 3 * BANK_BYTES;
  return (struct map_core){.in0 = {end - b->in0, 0},
                           .in1 = {end, end + b->in1},
                           .sums = {b->in0, end - b->in0 - b->sums}};
}

bool map_core_places(const struct map_block_bytes *b, int group_m,
                     struct map_core *core) {
  *core = group_m == 1 ? alone(b) : pair(b);
  if (2 * b->in1 > BANK_BYTES)
    return false;
  if (group_m == 1)
    return 2 * b->in0 <= BANK_BYTES && b->sums <= BANK_BYTES;
  return 2 * (b->in0 + b->sums) <= 3 * BANK_BYTES;
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
 * another is sent; its uses are counted by a six-bit lock. */
static bool keep_whole(const struct map_blocking *b, int64_t step_bytes,
                       int64_t room, struct map_panel *panel) {
  enum { LOCK_MAX = 63 }; /* xdna-array.md section 5 */
  if (b->rounds_n > LOCK_MAX || b->steps_k * step_bytes > room)
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
static void keep_part(const struct map_blocking *b, int64_t step_bytes,
                      int64_t room, struct map_panel *panel) {
  enum { ITERATIONS = 64, REPEATS = 256 }; /* xdna-array.md sections 3, 4 */
  double most = 0;
  for (int count = ITERATIONS; count > MAP_MEM_DEPTH_STREAMED; count--) {
    if (b->steps_k % count || count * (b->rounds_n - 1) > REPEATS)
      continue;
    int steps = b->steps_k / count;
    int64_t spare = room / step_bytes - (int64_t)MAP_MEM_DEPTH_STREAMED * steps;
    int64_t kept = spare / (count - MAP_MEM_DEPTH_STREAMED);
    kept = kept < steps ? kept : steps - 1;
    if (kept < 1 || (double)kept / steps <= most)
      continue;
    most = (double)kept / steps;
    *panel = (struct map_panel){
        .stretches = count, .kept = (int)kept, .streamed = steps - (int)kept};
  }
}

bool map_mem_panel(const struct device *dev, const struct teir_problem *p,
                   const struct map_blocking *b, struct map_panel *panel) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  int64_t room = (int64_t)dev->tile[TILE_MEM].memory_bytes -
                 (int64_t)MAP_MEM_DEPTH_IN * bytes.in1 -
                 (int64_t)MAP_MEM_DEPTH_OUT * dev->core_rows * bytes.out;
  int64_t step_bytes = (int64_t)b->group_m * bytes.in0;
  *panel = (struct map_panel){0};
  if (b->rounds_n > 1 && !keep_whole(b, step_bytes, room, panel))
    keep_part(b, step_bytes, room, panel);
  return panel->chunks || panel->stretches ||
         (int64_t)MAP_MEM_DEPTH_IN * bytes.in0 <= room;
}
