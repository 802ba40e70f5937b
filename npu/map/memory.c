/* memory.c -- where a core keeps its blocks.
 *
 * A core's memory has four pairs of banks, and a pair serves one access of the
 * core or a channel per cycle.  So the two load ports and the store port must
 * not meet in a pair, and of the two inputs the one that is read in every cycle
 * (kernels.h) must not meet the DMA that fills the next blocks.  What is read
 * in every second cycle, and C, leave a DMA the cycles that it needs.
 *
 * Two blocks of out at once.  The kernel is tall: in0 is read in every cycle.
 * The first block of sums is always multiplied by in0's first block and the
 * second one by its second; in0's other block, which is being filled, lies
 * beside the sums in use.  As much of these as possible is in the middle pair,
 * where nothing is filled: space that is left over is before out_0.
 *
 *   | in0_1  .... out_0|.... .... ....|.... out_1  in0_0 | in1_0 in1_1  |
 *     pair 0             pair 1         pair 2             pair 3
 *
 * Where there is space, the second block's sums are copied (staged) to a place
 * in the middle, from which they leave while the next round goes on.
 *
 * One block.  in1 is read in every cycle, so its two blocks take a pair each.
 * Sums stay where they are; what is finished is copied (staged) between the
 * blocks of in1.  While it leaves, its first half is beside the block of in1
 * that is not in use, and so is, a step later, its second half:
 *
 *   | in1_1  out  .... |.... .... in1_0 | in0_0  in0_1 | sums           |
 *
 * One block of large inputs has only one place for sums, where they become
 * results and leave before the next round.  They share pairs with what is read
 * in every second cycle, if they can, which the kernel's schedule knows:
 *
 *   | in1_1 | ....    in1_0  sums |.... in0_0 ....|.... in0_1 |
 *
 * Inputs that become block floats first: these have pairs of their own as far
 * as they can, for the kernel reads both in every second cycle, and so does the
 * one block of sums; the inputs are where there is space, since a product
 * leaves their DMA cycles in every pair.
 *
 *   | blocks0 in0_0 .... |in0_1 blocks1 in1_0| .... in1_1 .... | sums      |
 *
 * Where out is not that small, or steps are too few to be worth a copy: in0 and
 * in1 have a pair each, and two blocks of sums, which become results, the two
 * others.  Then in1's DMA costs the core a cycle for every 16 bytes.
 */
#include "map.h"

#include "kernels.h"

#include <assert.h>

/* The two banks of a pair serve it. */
double map_port_bytes(const struct device *dev) {
  return 2.0 * dev->bank_word_bytes;
}

static void put_in_place(const struct map_block_bytes *b, uint32_t pair,
                         struct map_core *core) {
  *core = (struct map_core){.in0 = {0, b->in0},
                            .in1 = {pair, pair + b->in1},
                            .out = {2 * pair, 3 * pair},
                            .sums = 2 * pair,
                            .out_depth = 2};
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Results that are sums leave a core in about as long as it takes for two
 * products or more; where there is space, the second block's do so beside the
 * next round. */
static bool stages_second(const struct device *dev,
                          const struct map_block_bytes *b, uint32_t pair) {
  return kernel_copies(map_isa(dev)) && !b->finishes &&
         2 * (b->in0 + b->sums) + b->out <= 3 * pair;
}

static void put_group(const struct device *dev, const struct map_block_bytes *b,
                      uint32_t pair, struct map_core *core) {
  bool staged = stages_second(dev, b, pair);
  uint32_t end = 3 * pair, between = staged ? b->out : 0;
  uint32_t first = smaller(end - b->in0 - 2 * b->sums - between, pair),
           second = first + b->sums + between;
  assert(first >= b->in0 && first + b->sums <= 2 * pair && second >= pair);
  *core = (struct map_core){.in0 = {end - b->in0, 0},
                            .in1 = {end, end + b->in1},
                            .out = {first, first + b->sums},
                            .sums = staged ? second : first,
                            .staged = staged,
                            .out_depth = 2};
}

static void put_staged(const struct map_block_bytes *b, uint32_t pair,
                       struct map_core *core) {
  uint32_t in1 = 2 * pair - b->in1, middle = in1 - b->in1;
  int depth = middle >= 2 * b->out ? 2 : 1;
  *core = (struct map_core){
      .in0 = {2 * pair, 2 * pair + b->in0},
      .in1 = {in1, 0},
      .out = {b->in1, b->in1 + (uint32_t)(depth - 1) * b->out},
      .sums = 4 * pair - b->sums,
      .staged = true,
      .out_depth = depth};
}

/* False: too large, or in1's blocks would share more than `most` bytes. */
static bool put_tight(const struct map_block_bytes *b, uint32_t pair,
                      struct map_core *core) {
  enum { MOST_SHARED = 512 };
  int64_t sums = 4 * (int64_t)pair - 2 * (int64_t)b->in0 - b->sums;
  int64_t in1 = (sums < 2 * (int64_t)pair ? sums : 2 * (int64_t)pair) - b->in1;
  if (in1 < b->in1 || in1 + MOST_SHARED < pair)
    return false;
  *core = (struct map_core){.in0 = {4 * pair - 2 * b->in0, 4 * pair - b->in0},
                            .in1 = {(uint32_t)in1, 0},
                            .out = {(uint32_t)sums, (uint32_t)sums},
                            .sums = (uint32_t)sums,
                            .out_depth = 1,
                            .joined = true};
  return true;
}

/* Sums at the end of memory, twice where there is room behind the inputs, which
 * end at `left`; false: there is none. */
static bool put_sums(const struct map_block_bytes *b, uint32_t left,
                     uint32_t end, struct map_core *core) {
  if (left > end || b->sums > end - left)
    return false;
  core->out_depth = 2 * b->sums <= end - left ? 2 : 1;
  core->sums = core->out[0] = end - (uint32_t)core->out_depth * b->sums;
  core->out[1] = end - b->sums;
  return true;
}

/* False: too large for a product of `joint` steps. */
static bool put_joint(const struct map_block_bytes *b, uint32_t pair, int joint,
                      struct map_core *core) {
  uint32_t end = 4 * pair, blocks0 = (uint32_t)joint * b->blocks[IN0],
           own = (blocks0 + pair - 1) / pair * pair,
           blocks1 = blocks0 + 2 * b->in0;
  if (blocks1 < own)
    blocks1 = own;
  uint32_t in1 = blocks1 + (uint32_t)joint * b->blocks[IN1],
           left = in1 + 2 * b->in1;
  *core = (struct map_core){.in0 = {blocks0, blocks0 + b->in0},
                            .in1 = {in1, in1 + b->in1},
                            .by_blocks = true,
                            .blocks = {0, blocks1},
                            .joint = joint};
  return put_sums(b, left, end, core);
}

/* The more steps a product takes, the less often are sums read and written. */
static bool put_blocks(const struct map_block_bytes *b, uint32_t pair,
                       int steps_k, struct map_core *core) {
  enum { MOST_JOINT = 4 };
  for (int joint = MOST_JOINT; joint > 0; joint /= 2)
    if (steps_k % joint == 0 && put_joint(b, pair, joint, core))
      return true;
  return false;
}

/* Inputs that come as block floats: one pair for in0 and one for in1 where that
 * is enough, and sums behind them, in whose place they become results. */
static bool put_converted(const struct map_block_bytes *b, uint32_t pair,
                          struct map_core *core) {
  uint32_t end = 4 * pair, in1 = 2 * b->in0 <= pair ? pair : 2 * b->in0,
           left = in1 + 2 * b->in1;
  *core = (struct map_core){.in0 = {0, b->in0},
                            .in1 = {in1, in1 + b->in1},
                            .converted = true,
                            .joint = 1};
  return put_sums(b, left, end, core);
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Whether staging fits, and saves more than it costs. */
static bool is_staged(const struct device *dev, const struct map_block_bytes *b,
                      uint32_t pair, int steps_k) {
  if (!kernel_copies(map_isa(dev)) || 2 * b->in1 + b->out > 2 * pair ||
      b->in1 > pair || 2 * b->in0 > pair || b->sums > pair)
    return false;
  return (double)steps_k * b->in1 / dev->bank_word_bytes >
         2.0 * larger(b->sums, b->out) / map_port_bytes(dev);
}

static uint32_t pair_bytes(const struct device *dev) {
  assert(dev->core_banks == 4);
  return dev->tile[TILE_CORE].memory_bytes / (uint32_t)dev->core_banks;
}

bool map_core_places(const struct device *dev, const struct map_block_bytes *b,
                     int group_m, int steps_k, struct map_core *core) {
  uint32_t pair = pair_bytes(dev);
  assert(group_m == 1 || group_m == 2);
  if (b->converted)
    return group_m == 1 && put_converted(b, pair, core);
  if (b->blocks[IN0] &&
      kernel_gemm_by_blocks(map_isa(dev), DTYPE_BFP16, DTYPE_BFP16, DTYPE_F32))
    return group_m == 1 && put_blocks(b, pair, steps_k, core);
  if (group_m > 1) {
    if (2 * b->in1 > pair || b->in0 > pair || 2 * (b->in0 + b->sums) > 3 * pair)
      return false;
    put_group(dev, b, pair, core);
    return true;
  }
  if (is_staged(dev, b, pair, steps_k)) {
    put_staged(b, pair, core);
    return true;
  }
  put_in_place(b, pair, core);
  return (2 * b->in1 <= pair && 2 * b->in0 <= pair && b->sums <= pair) ||
         put_tight(b, pair, core);
}

struct map_waits map_core_waits(const struct device *dev,
                                const struct map_block_bytes *b, int group_m,
                                double macs, const struct map_core *core) {
  double port = map_port_bytes(dev), dma = dev->bank_word_bytes;
  if (core->by_blocks ||
      core->converted) /* a single block of sums leaves before the next one */
    return (struct map_waits){
        .round =
            core->out_depth > 1 ? 0 : (double)b->out / map_stream_bytes(dev)};
  if (core->staged && group_m == 1)
    return (struct map_waits){.round = (double)larger(b->sums, b->out) / port +
                                       (double)b->out / dma / 2};
  if (core->joined) { /* sums meet in1 in its pair in every second step */
    double pair = pair_bytes(dev), beside = 2 * pair - core->sums;
    beside = beside < 0 ? 0 : beside > b->sums ? b->sums : beside;
    return (struct map_waits){.step = beside / port,
                              .round = (double)b->out / map_stream_bytes(dev)};
  }
  if (group_m == 1)
    return (struct map_waits){.step = (double)b->in1 / dma};
  /* Sums that leave no cycle in four meet in0's DMA in its pair. */
  double busy = 2.0 * b->sums / port / macs, most = 0.75;
  double over = busy > most ? (busy - most) / (1 - most) : 0;
  uint32_t pair = pair_bytes(dev), first = map_sums(core, group_m, 0),
           end = map_sums(core, group_m, 1) + b->sums;
  double beside =
      (first < pair ? pair - first : 0) + (end > 2 * pair ? end - 2 * pair : 0);
  return (struct map_waits){.step = beside / b->sums * b->in0 / dma *
                                    (over > 1 ? 1 : over)};
}

/* ---- a bias ---- */

/* As often as a small matrix of sums has rows. */
static int bias_words(const struct device *dev, const enum dtype type[TENSORS],
                      enum dtype acc, int block_n) {
  struct kernel_shape s;
  bool good = kernel_shape(map_isa(dev), type[IN0], type[IN1], acc, &s);
  assert(good && dtype_bytes(acc) == 4);
  return good ? s.m * block_n : 0;
}

bool map_bias_fits(const struct device *dev, const struct teir_problem *p,
                   const struct map_blocking *b) {
  return (!b->valid_k || b->valid_k == b->block_k) &&
         dtype_bytes(p->acc) == 4 &&
         4 * (uint32_t)bias_words(dev, p->type, p->acc, b->block_n) <=
             map_block_bytes(p, b).in1;
}

int map_bias_words(const struct tile_program *p) {
  const struct map_transfer *x = p->transfer;
  return bias_words(p->device,
                    (enum dtype[]){x[IN0].type, x[IN1].type, x[OUT].type},
                    p->acc, p->block_n);
}

int64_t map_bias_element(const struct tile_program *p, int column, int round,
                         int at) {
  struct kernel_shape s;
  const struct map_transfer *x = p->transfer;
  kernel_shape(map_isa(p->device), x[IN0].type, x[IN1].type, p->acc, &s);
  assert(at >= 0 && at < map_bias_words(p));
  int inside = at % (s.m * s.n),
      n = at / (s.m * s.n) * s.n + (p->turns_out ? inside / s.m : inside % s.n);
  return (map_nest_offset(&p->column, MAP_BIAS, column) +
          map_nest_offset(&p->time[AXIS_N], MAP_BIAS, round) +
          map_nest_offset(&p->side[AXIS_N], MAP_BIAS, n)) /
         dtype_bytes(p->acc);
}

int map_products_k(const struct tile_program *p) {
  return p->core.by_blocks ? p->steps_k / p->core.joint : p->steps_k;
}

bool map_tall(int group_m) { return group_m > 1; }

uint32_t map_sums(const struct map_core *core, int group_m, int block) {
  bool own = group_m == 1 || (core->staged && block > 0);
  return own ? core->sums : core->out[block];
}

struct map_block_bytes map_block_bytes(const struct teir_problem *p,
                                       const struct map_blocking *b) {
  uint32_t m = (uint32_t)b->block_m, n = (uint32_t)b->block_n,
           k = (uint32_t)b->block_k;
  bool blocks = p->type[IN0] == DTYPE_BFP16 && p->type[IN1] == DTYPE_BFP16;
  if (b->form.converts)
    return (struct map_block_bytes){
        .in0 = map_converted_bytes(m * k),
        .in1 = map_converted_bytes(k * n),
        .sums = m * n * (uint32_t)dtype_bytes(p->acc),
        .out = m * n * (uint32_t)dtype_bytes(p->type[OUT]),
        .converted = true};
  return (struct map_block_bytes){
      .in0 = m * k * (uint32_t)dtype_bytes(p->type[IN0]),
      .in1 = k * n * (uint32_t)dtype_bytes(p->type[IN1]),
      .sums = m * n * (uint32_t)dtype_bytes(p->acc),
      .out = m * n * (uint32_t)dtype_bytes(p->type[OUT]),
      .finishes = map_finishes(p),
      .blocks = {blocks ? m * k * 9 / 8 : 0, blocks ? k * n * 9 / 8 : 0}};
}
