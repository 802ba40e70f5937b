/* memory.c -- where a core keeps its blocks, and what a mem tile has space for.
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
#include <math.h>

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

/* ---- mem tiles ---- */

enum { LONG_RUN_BYTES = 448 };

static int div_up(int a, int b) { return (a + b - 1) / b; }

static int inner_steps(const struct map_blocking *b) {
  return b->form.inner_k ? b->form.inner_k : b->steps_k;
}

/* Whether so many steps are whole indices of a loop over k. */
static bool is_aligned(const struct map_blocking *b, int steps) {
  int inner = inner_steps(b);
  return steps <= inner ? inner % steps == 0
                        : steps % inner == 0 && b->steps_k % steps == 0;
}

static bool is_along_k(const struct map_blocking *b, int tensor) {
  const struct map_layout *x = &b->form.layout[tensor];
  return x->in_place && x->turned == (tensor == IN1) && !b->form.broken_k;
}

static int valid_k(const struct map_blocking *b) {
  return b->valid_k ? b->valid_k : b->block_k;
}

/* Whether so many n rounds are whole indices of the loops over n. */
static bool is_whole(const struct map_blocking *b, int64_t rounds) {
  const struct map_cut *n = &b->form.cut[AXIS_N];
  if (!n->count)
    return b->rounds_n % rounds == 0;
  for (int i = n->count - 1; i >= 0 && rounds > 1; i--) {
    int64_t extent = n->part[i].extent;
    if (n->part[i].place != MAP_TIME)
      continue;
    if (rounds < extent)
      return extent % rounds == 0;
    if (rounds % extent)
      return false;
    rounds /= extent;
  }
  return rounds == 1;
}

/* Whether a mem tile has descriptors for so many buffers of in0, each of so
 * many steps: one writes a buffer and one reads it, or where zeros join two
 * blocks of out's, one reads each step. */
static bool has_bds(const struct device *dev, const struct map_blocking *b,
                    int buffers, int steps) {
  enum { BDS_OUT = 8 };
  bool each = valid_k(b) < b->block_k && is_along_k(b, IN0) && b->group_m > 1;
  int readers = each ? steps : 1,
      more = b->last_k > 0; /* reads a last step of its own */
  return buffers * (1 + readers) + more <=
         dev->tile[TILE_MEM].bds / 2 - BDS_OUT;
}

/* Steps of k in a buffer of an input that lies in place, contiguous along k: so
 * many that DRAM reads long runs.  Rows that a buffer holds whole leave a
 * descriptor a dimension for another loop over k. */
static int long_run(const struct device *dev, const struct map_blocking *b,
                    int tensor, int64_t row_bytes) {
  enum { SOME_STEPS = 8, MOST_STEPS = 20, BUFFERS = 2 };
  int best = 1;
  for (int run = 1; run <= MOST_STEPS && run <= inner_steps(b); run++)
    if (inner_steps(b) % run == 0 && best * row_bytes < LONG_RUN_BYTES &&
        (run <= SOME_STEPS || run == inner_steps(b) ||
         4 * best * row_bytes < 3 * LONG_RUN_BYTES) &&
        (tensor != IN0 || has_bds(dev, b, BUFFERS, run)))
      best = run;
  return best;
}

static int ring_depth(int run) { return run > 1 ? 2 : MAP_MEM_DEPTH_IN; }

int map_mem_depth(const struct map_panel *panel, int tensor) {
  return ring_depth(panel->run[tensor]);
}

/* Whether cores clear what is behind the last k. */
static bool is_cleared(const struct device *dev, const struct teir_problem *p,
                       const struct map_blocking *b) {
  struct kernel_shape s;
  return b->last_k &&
         kernel_shape(map_isa(dev), p->type[IN0], p->type[IN1], p->acc, &s) &&
         b->last_k % s.k != 0;
}

/* The fewest steps in a buffer of a ring, of which a round's last one has less,
 * so that there are descriptors until rounds begin with the same buffer again:
 * fewer where all buffers are read alike.  What is contiguous along k comes as
 * one: its rows end with the last step. */
static int uneven_run(const struct map_blocking *b, int tensor, bool cleared) {
  enum { MOST_TURNS = 6, MOST_ALIKE = 12 };
  int run = is_along_k(b, tensor) ? b->steps_k : 1;
  for (; run < b->steps_k; run++)
    if (map_ring_turns(ring_depth(run), div_up(b->steps_k, run)) <=
        (cleared && b->steps_k % run == 0 ? MOST_ALIKE : MOST_TURNS))
      break;
  return run;
}

/* Whether a descriptor counts the words of a row that it does not write to its
 * end: of the last buffer, where cores clear what is behind it. */
static bool counts_rows(const struct device *dev, const struct teir_problem *p,
                        const struct map_blocking *b, int tensor, int run) {
  int64_t k = b->last_k + (int64_t)(run - 1) * b->block_k;
  return !is_along_k(b, tensor) || !is_cleared(dev, p, b) ||
         k * dtype_bytes(p->type[tensor]) / 4 < dev->tile[TILE_MEM].max_wrap;
}

/* Whether a tensor's last step of k is filled up (map_fills). */
static bool is_filled(const struct device *dev, const struct teir_problem *p,
                      const struct map_blocking *b, int tensor) {
  return tensor == IN1 && b->steps_k > 1 && !is_along_k(b, IN1) &&
         is_cleared(dev, p, b);
}

static int run_of(const struct device *dev, const struct teir_problem *p,
                  const struct map_blocking *b, int tensor, int64_t row_bytes) {
  return is_filled(dev, p, b, tensor) ? 1
         : b->last_k             ? uneven_run(b, tensor, is_cleared(dev, p, b))
         : is_along_k(b, tensor) ? long_run(dev, b, tensor, row_bytes)
                                 : 1;
}

/* Bytes for in0 in the mem tile that sends it, and in its neighbour. */
struct space {
  int64_t own, beside;
};

/* Whether so many parts fit, none of them in both tiles, and how many into the
 * first one. */
static bool divide(const struct space *s, int parts, int64_t part_bytes,
                   int *own) {
  int64_t first = s->own / part_bytes;
  *own = first < parts ? (int)first : parts;
  return s->own >= 0 && first + s->beside / part_bytes >= parts;
}

/* The whole panel in equal chunks (the last one may end with a last step), at
 * least two where k has two steps, so that one is filled while another is sent,
 * unless all of it comes ahead of in1.  A chunk's rows along k are one
 * dimension of a descriptor. */
static bool keep_whole(const struct device *dev, const struct map_blocking *b,
                       int64_t step_bytes, const struct space *space,
                       int64_t row_bytes, bool shares,
                       struct map_panel *panel) {
  enum { SHARED_CHUNKS = 6 }; /* their descriptors share a half with in1's */
  const int most = shares ? SHARED_CHUNKS : MAP_MAX_CHUNKS;
  if (b->steps_k * step_bytes > space->own + space->beside)
    return false;
  bool along_k = is_along_k(b, IN0);
  int words = dev->tile[TILE_SHIM].max_wrap, chunks = 0;
  for (int i = b->steps_k > 1 && !shares ? 2 : 1; i <= most; i++) {
    int steps = div_up(b->steps_k, i), own;
    int64_t run = steps * row_bytes;
    bool equal = b->steps_k % i == 0 && is_aligned(b, steps);
    if ((b->last_k ? div_up(b->steps_k, steps) == i : equal) &&
        divide(space, i, steps * step_bytes, &own) &&
        has_bds(dev, b, i, steps) &&
        (!along_k ||
         ((run >= LONG_RUN_BYTES || !chunks) && run / 4 <= words))) {
      chunks = i;
      panel->own = own;
    }
  }
  panel->chunks = chunks;
  if ((along_k || b->last_k) && chunks)
    panel->run[IN0] = div_up(b->steps_k, chunks);
  return chunks > 0;
}

/* The most that fits in equal stretches: a descriptor's iteration counts them,
 * and a task's repeats those of all n rounds but the first.  Among equals the
 * finest, because then device memory is asked for steadily. */
static void keep_part(const struct device *dev, const struct map_blocking *b,
                      int64_t step_bytes, const struct space *space,
                      struct map_panel *panel) {
  double most = 0;
  for (int count = dev->max_iterations; count > MAP_MEM_DEPTH_STREAMED;
       count--) {
    if (b->steps_k % count || count * (b->rounds_n - 1) > dev->max_repeat)
      continue;
    int steps = b->steps_k / count;
    if (inner_steps(b) % steps)
      continue;
    int64_t spare = (space->own + space->beside) / step_bytes -
                    (int64_t)MAP_MEM_DEPTH_STREAMED * steps;
    int64_t kept = spare / (count - MAP_MEM_DEPTH_STREAMED);
    kept = kept < steps ? kept : steps - 1;
    struct space left = *space;
    int own = 0;
    for (; kept >= 1; kept--) {
      left.own =
          space->own - MAP_MEM_DEPTH_STREAMED * (steps - kept) * step_bytes;
      if (divide(&left, count, kept * step_bytes, &own))
        break;
    }
    if (kept < 1 || (double)kept / steps <= most)
      continue;
    most = (double)kept / steps;
    assert(kept < steps && count <= dev->max_iterations);
    panel->stretches = count;
    panel->kept = (int)kept;
    panel->streamed = steps - (int)kept;
    panel->own = own;
  }
}

/* The same where device memory is read in long runs along k: of every stretch
 * the first run is kept, and of those behind it, one or an even number, the
 * ring has two. */
static void keep_runs(const struct device *dev, const struct map_blocking *b,
                      int64_t step_bytes, const struct space *space,
                      struct map_panel *panel) {
  enum { MOST_STREAMED = 6 };
  int run = panel->run[IN0];
  int64_t bytes = run * step_bytes;
  struct space left = *space;
  left.own -= MAP_MEM_DEPTH_STREAMED * bytes;
  for (int streamed = 1; streamed <= MOST_STREAMED;
       streamed += streamed > 1 ? 2 : 1) {
    int steps = run * (1 + streamed), count = b->steps_k / steps, own;
    if (b->steps_k % steps || inner_steps(b) % steps ||
        count <= MAP_MEM_DEPTH_STREAMED || count > dev->max_iterations ||
        count * (b->rounds_n - 1) > dev->max_repeat ||
        !divide(&left, count, bytes, &own))
      continue;
    panel->stretches = count;
    panel->kept = run;
    panel->streamed = run * streamed;
    panel->own = own;
    return;
  }
}

/* n rounds for which a whole panel is kept: a lock counts its uses.  Where it
 * comes on a channel of in1's, a task counts the blocks of in1 behind it.  0:
 * none that would save anything.  A bias is counted over all of them. */
static int panel_rounds(const struct device *dev, const struct teir_problem *p,
                        const struct map_blocking *b, bool shares,
                        const struct map_panel *panel) {
  int most = b->rounds_n < dev->max_lock ? b->rounds_n : dev->max_lock,
      least = p->finish.bias ? b->rounds_n
              : shares       ? 1
                             : 2;
  for (int rounds = most; rounds >= least; rounds--)
    if (is_whole(b, rounds) &&
        (!shares || rounds * b->steps_k / panel->run[IN1] <= dev->max_repeat))
      return rounds;
  return 0;
}

/* Channels on which a whole panel comes ahead of in1: so many that its pushes
 * and its way, or in1's pushes meanwhile, take least.  Shares begin at steps of
 * one loop over k. */
static int ways_of(const struct device *dev, const struct map_blocking *b,
                   const struct map_grid *g, int64_t panel_bytes, int chunks) {
  int most = map_grid_spreads(g) ? 4 : 2;
  double push = preset_task_cycles(preset_of(dev)), least = HUGE_VAL;
  int best = 1;
  most = chunks < most ? chunks : most;
  for (int ways = 1; ways <= most && inner_steps(b) == b->steps_k; ways++) {
    int share = div_up(chunks, ways); /* the largest one */
    double way = (double)panel_bytes / chunks * share / map_stream_bytes(dev);
    double cycles = ways * g->m * push + fmax(way, g->n * push);
    if (cycles < least) {
      least = cycles;
      best = ways;
    }
  }
  return best;
}

/* A panel of block floats, whole: in how many chunks, and how many steps a
 * converting core gets at a time.  Runs of device memory count most, and then
 * that chunks are small. */
static bool converted_panel(const struct device *dev,
                            const struct teir_problem *p,
                            const struct map_blocking *b, int buffers_out,
                            struct map_panel *panel) {
  struct map_grid grid = map_grid_of(dev, &b->form);
  struct map_block_bytes bytes = map_block_bytes(p, b);
  int64_t row = (int64_t)b->block_k * 2, best = 0,
          all = (int64_t)b->steps_k * bytes.in0 +
                (int64_t)buffers_out * grid.rows * bytes.out;
  int rounds = b->rounds_n < dev->max_lock ? b->rounds_n : dev->max_lock;
  *panel = (struct map_panel){.out = buffers_out};
  bool along =
      is_along_k(b, IN0) || (b->form.layout[IN0].turned && !b->form.broken_k);
  if (!along || !is_along_k(b, IN1) || b->group_m > 1 ||
      !map_converts_blocks(b->form.cut) || valid_k(b) < b->block_k ||
      all > dev->tile[TILE_MEM].memory_bytes)
    return false;
  while (rounds > 1 && !is_whole(b, rounds))
    rounds--;
  for (int chunks = MAP_MAX_CHUNKS; chunks > 0; chunks--)
    for (int run = 1; b->steps_k % chunks == 0 && run <= b->steps_k / chunks;
         run++) {
      int64_t length = run * row < LONG_RUN_BYTES ? run * row : LONG_RUN_BYTES;
      if (b->steps_k / chunks % run || !is_aligned(b, run) || length <= best ||
          !map_converter_walks(dev, b->block_k, run) ||
          map_converter_of(b, run).bytes > dev->tile[TILE_CORE].memory_bytes)
        continue;
      best = length;
      panel->chunks = panel->own = chunks;
      panel->run[IN0] = panel->run[IN1] = run;
      panel->rounds = rounds;
    }
  return panel->chunks > 0;
}

/* The most that fits beside rings with so many buffers of out. */
static bool find_panel(const struct device *dev, const struct teir_problem *p,
                       const struct map_blocking *b, int buffers_out,
                       struct map_panel *panel) {
  if (b->form.converts)
    return converted_panel(dev, p, b, buffers_out, panel);
  struct map_grid grid = map_grid_of(dev, &b->form);
  struct map_block_bytes bytes = map_block_bytes(p, b);
  int64_t row0 = (int64_t)valid_k(b) * dtype_bytes(p->type[IN0]),
          row1 = (int64_t)valid_k(b) * dtype_bytes(p->type[IN1]);
  *panel = (struct map_panel){
      .out = buffers_out,
      .run = {run_of(dev, p, b, IN0, row0), run_of(dev, p, b, IN1, row1)}};
  int64_t in1 = (int64_t)grid.split * panel->run[IN1] * bytes.in1;
  int64_t own = (int64_t)dev->tile[TILE_MEM].memory_bytes -
                map_mem_depth(panel, IN1) * in1 -
                (int64_t)buffers_out * grid.rows * bytes.out;
  const struct space space = {own, map_grid_spreads(&grid) ? own : 0};
  int64_t step_bytes = (int64_t)b->group_m * bytes.in0;
  assert(b->steps_k >= 1 && b->rounds_n >= 1 && b->group_m >= 1);
  if (grid.apart) /* a ring of two for every row */
    return MAP_APART_DEPTH * grid.rows * ((int64_t)bytes.in0 + bytes.in1) +
               (int64_t)buffers_out * grid.rows * bytes.out <=
           dev->tile[TILE_MEM].memory_bytes;
  bool shares = grid.split > 1;
  int rounds = panel_rounds(dev, p, b, shares, panel);
  if (rounds && keep_whole(dev, b, step_bytes, &space, row0, shares, panel))
    panel->rounds = rounds;
  if (!counts_rows(dev, p, b, IN0, panel->run[IN0]) ||
      !counts_rows(dev, p, b, IN1, panel->run[IN1]))
    return false;
  if (shares && panel->chunks)
    panel->ways =
        ways_of(dev, b, &grid, b->steps_k * step_bytes, panel->chunks);
  if (shares)
    return b->rounds_m == 1 && panel->chunks;
  if (b->rounds_n > 1 && !panel->chunks && !is_along_k(b, IN0) && !b->last_k)
    keep_part(dev, b, step_bytes, &space, panel);
  bool runs = is_along_k(b, IN0) && panel->run[IN0] > 1 && !b->last_k &&
              valid_k(b) == b->block_k;
  if (b->rounds_n > 1 && !panel->chunks && runs)
    keep_runs(dev, b, step_bytes, &space, panel);
  /* in place, a buffer holds the blocks of a group */
  int64_t buffer = b->form.layout[IN0].in_place ? panel->run[IN0] * step_bytes
                                                : (int64_t)bytes.in0;
  return panel->chunks || panel->stretches ||
         map_mem_depth(panel, IN0) * buffer <= own;
}

/* How much of a panel is kept. */
static double kept_share(const struct map_panel *x) {
  return x->chunks      ? 1
         : x->stretches ? (double)x->kept / (x->kept + x->streamed)
                        : 0;
}

/* Where a panel has two mem tiles, more of it is worth a buffer of out; and
 * where there is space, two buffers hold a group each, which costs no panel. */
bool map_mem_panel(const struct device *dev, const struct teir_problem *p,
                   const struct map_blocking *b, struct map_panel *panel) {
  struct map_grid grid = map_grid_of(dev, &b->form);
  struct map_panel more;
  bool good = find_panel(dev, p, b, MAP_MEM_DEPTH_OUT, panel);
  if (good && b->group_m > 1 && b->form.close_out &&
      find_panel(dev, p, b, MAP_MEM_DEPTH_OUT * b->group_m, &more) &&
      kept_share(&more) >= kept_share(panel)) {
    *panel = more;
    return true;
  }
  bool spreads = map_grid_spreads(&grid) || (b->form.converts && !good);
  if (!spreads || !find_panel(dev, p, b, 1, &more) ||
      (good && kept_share(&more) <= kept_share(panel)))
    return good;
  *panel = more;
  return true;
}
