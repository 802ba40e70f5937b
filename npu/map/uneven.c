/* uneven.c -- blocks that zeros fill up, and steps of k of which the last one
 * has less than the others.
 *
 * A schedule says so by a Contraction of small blocks of k: the array takes so
 * many of them in a step, and in the last one what is left.
 */
#include "map.h"

#include "kernels.h"

#include <assert.h>

enum { WORD = 4 };

void map_pad_sides(struct tile_program *q) {
  struct kernel_shape s;
  if (!kernel_shape(map_isa(q->device), q->transfer[IN0].type,
                    q->transfer[IN1].type, q->acc, &s))
    return;
  q->block_k = (q->block_k + s.k - 1) / s.k * s.k;
  q->block_m = (q->block_m + s.m - 1) / s.m * s.m;
  q->block_n = (q->block_n + s.n - 1) / s.n * s.n;
}

int64_t map_moved(const struct tile_program *q, int tensor, int which) {
  const struct map_nest *n = &q->side[map_roles[tensor][which]];
  int64_t extent = map_nest_extent(n),
          element = dtype_bytes(q->transfer[tensor].type);
  bool along = q->transfer[tensor].turned == (which == 0) && n->count == 1;
  if (tensor == OUT || !along || element >= WORD)
    return extent;
  return (extent * element + WORD - 1) / WORD * WORD / element;
}

bool map_clips(const struct kernel_shape *s, int64_t m, int64_t n) {
  return (m > s->m && m % s->m) || (n > s->n && n % s->n);
}

bool map_clips_out(const struct tile_program *q) {
  struct kernel_shape s;
  if (!kernel_shape(map_isa(q->device), q->transfer[IN0].type,
                    q->transfer[IN1].type, q->acc, &s))
    return false;
  return map_clips(&s, map_nest_extent(&q->side[AXIS_M]),
                   map_nest_extent(&q->side[AXIS_N]));
}

enum { MOST_SPARE = 64 };

bool map_join_steps(struct tile_program *q, int steps) {
  struct map_loop *step = &q->time[AXIS_K].loop[0],
                  *block = &q->side[AXIS_K].loop[0];
  q->all_k =
      map_nest_extent(&q->time[AXIS_K]) * map_nest_extent(&q->side[AXIS_K]);
  if (steps == 1)
    return true;
  /* a single one may be a block with space for more than all of k */
  bool good = q->time[AXIS_K].count == 1 && q->side[AXIS_K].count == 1 &&
              steps > 0 && (steps - step->extent) * block->extent < MOST_SPARE;
  for (int i = IN0; i < OUT && step->extent > 1; i++)
    good &= step->stride_bytes[i] == block->extent * block->stride_bytes[i];
  if (!good)
    return false;
  block->extent *= steps;
  step->extent = (step->extent + steps - 1) / steps;
  for (int i = IN0; i < OUT; i++)
    step->stride_bytes[i] *= steps;
  return true;
}

bool map_cuts_words(const struct kernel_shape *s, enum dtype type, bool turned,
                    int input) {
  return turned == (input == IN1) && s->k * dtype_bytes(type) == WORD;
}

bool map_can_cut(const struct device *dev, const struct kernel_shape *s,
                 enum dtype in0, bool in0_turned, int block_m, int block_k) {
  return in0_turned || map_cuts_words(s, in0, in0_turned, IN0) ||
         block_m / s->m * (block_k / s->k) <= dev->tile[TILE_CORE].max_wrap;
}

bool map_may_end_inside(const struct device *dev, const struct kernel_shape *s,
                        enum dtype in0, bool in0_turned, int block_m,
                        int block_k, int group_m) {
  return group_m == 1 && map_can_cut(dev, s, in0, in0_turned, block_m, block_k);
}

bool map_ends_well(const struct tile_program *q) {
  struct kernel_shape s;
  return kernel_shape(map_isa(q->device), q->transfer[IN0].type,
                      q->transfer[IN1].type, q->acc, &s) &&
         !kernel_gemm_by_blocks(map_isa(q->device), q->transfer[IN0].type,
                                q->transfer[IN1].type, q->acc) &&
         !map_is_padded(q) &&
         (q->all_k % s.k == 0
              ? q->steps_k > 1
              : map_may_end_inside(q->device, &s, q->transfer[IN0].type,
                                   q->transfer[IN0].turned, q->block_m,
                                   q->block_k, q->group_m)) &&
         q->grid.split == 1 && !q->grid.apart && !q->finish.bias;
}

bool map_is_padded(const struct tile_program *p) {
  return map_nest_extent(&p->side[AXIS_K]) < p->block_k;
}

/* Where an input's last k ends: bytes of a run of a mem tile's reader, which is
 * all k of a row or, if k is not contiguous, of a row of small matrices. */
struct run_end {
  int bytes, of_block; /* to the last k, and to the end of a block's */
};

static struct run_end end_of_run(const struct kernel_shape *s, enum dtype type,
                                 bool turned, int input,
                                 const struct map_steps *x) {
  bool along_k = turned == (input == IN1);
  int each = dtype_bytes(type) * (along_k ? 1 : input == IN0 ? s->m : s->n);
  return (struct run_end){x->last_k * each, x->block_k * each};
}

/* The reader adds so many words behind a run at most: six bits of a descriptor,
 * or five where it reads words of several rows in turn. */
static bool can_add_zeros(const struct run_end *x, bool words) {
  const int most = words ? 31 : 63;
  return x->of_block / WORD - (x->bytes + WORD - 1) / WORD <= most;
}

/* Whether the buffers of in1 that are not alike then take little space, which a
 * panel of in0 is worth more. */
static bool is_small_ring(const struct map_steps *x, enum dtype type) {
  enum { MOST_BYTES = 48 << 10 };
  int run = map_uneven_run(x->count, 1, MAP_READ_CROWDED);
  return map_ring_depth(run) * run * x->block_k * x->block_n *
             dtype_bytes(type) <=
         MOST_BYTES;
}

/* The input for which it is less work. */
static int easier(const struct map_end end[OUT]) {
  for (enum map_clear by = MAP_CLEAR_NOTHING; by < MAP_CLEAR_ALL; by++)
    for (int i = 0; i < OUT; i++)
      if (end[i].clear[i] == by)
        return i;
  return IN0;
}

struct map_end map_end_of(const struct kernel_shape *s,
                          const enum dtype type[OUT], const bool turned[OUT],
                          const struct map_steps *x) {
  struct map_end one[OUT] = {{.inside = x->last_k % s->k != 0},
                             {.inside = true}},
                 both = {.inside = true};
  if (!one[IN0].inside)
    return one[IN0];
  for (int i = 0; i < OUT; i++) {
    struct run_end run = end_of_run(s, type[i], turned[i], i, x);
    bool words = map_cuts_words(s, type[i], turned[i], i),
         adds = can_add_zeros(&run, words) &&
                (i == IN0 || turned[IN1] || is_small_ring(x, type[IN1]));
    one[i].zeros[i] = both.zeros[i] = adds;
    one[i].clear[i] = both.clear[i] = !adds              ? MAP_CLEAR_ALL
                                      : run.bytes % WORD ? MAP_CLEAR_WORD
                                                         : MAP_CLEAR_NOTHING;
  }
  return dtype_kind(type[IN0]) == DTYPE_FLOAT ? both : one[easier(one)];
}

struct map_end map_end(const struct tile_program *q) {
  struct kernel_shape s;
  const struct map_transfer *x = q->transfer;
  const enum dtype type[] = {x[IN0].type, x[IN1].type};
  const bool turned[] = {x[IN0].turned, x[IN1].turned};
  return map_is_uneven(q) && kernel_shape(map_isa(q->device), type[IN0],
                                          type[IN1], q->acc, &s)
             ? map_end_of(&s, type, turned,
                          &(struct map_steps){q->steps_k, q->block_k,
                                              (int)map_last_k(q, 1),
                                              q->block_n})
             : (struct map_end){.inside = false};
}

bool map_is_cleared(const struct tile_program *q) {
  struct map_end end = map_end(q);
  return end.clear[IN0] || end.clear[IN1];
}

bool map_fills(const struct tile_program *q) {
  struct map_end end = map_end(q);
  return end.inside && !end.zeros[IN1] && q->steps_k > 1 &&
         !q->transfer[IN1].turned;
}

bool map_is_uncut(const struct tile_program *q) {
  return map_is_padded(q) || map_end(q).inside;
}

bool map_is_uneven(const struct tile_program *p) {
  return p->all_k < p->steps_k * map_nest_extent(&p->side[AXIS_K]);
}

int map_buffers_k(const struct tile_program *p, int steps) {
  assert(steps > 0);
  return (p->steps_k + steps - 1) / steps;
}

int64_t map_last_k(const struct tile_program *p, int steps) {
  return p->all_k - (int64_t)(map_buffers_k(p, steps) - 1) * steps * p->block_k;
}

int map_ring_depth(int run) { return run > 1 ? 2 : MAP_MEM_DEPTH_IN; }

/* Of a ring whose rounds' last buffer has `left` steps: to write it, and to
 * read it, the last step by one of its own. */
static int descriptors(int turns, int buffers, int left) {
  return 2 * turns + (left > 1 ? turns / buffers : 0);
}

static bool has_descriptors(int steps, int run, enum map_reading reading) {
  enum { MOST_TURNS = 6, MOST_ALIKE = 12 };
  enum { MOST_BDS = 12 }; /* of 24: out's on one channel take the others */
  int buffers = (steps + run - 1) / run,
      turns = map_ring_turns(map_ring_depth(run), buffers),
      most = reading == MAP_READ_ALIKE && steps % run == 0 ? MOST_ALIKE
                                                           : MOST_TURNS;
  return turns <= most &&
         (reading != MAP_READ_CROWDED ||
          descriptors(turns, buffers, steps - (buffers - 1) * run) <= MOST_BDS);
}

int map_uneven_run(int steps, int least, enum map_reading reading) {
  int first = 0;
  for (int run = least; run < steps && (!first || run < 2 * first); run++) {
    if (!has_descriptors(steps, run, reading))
      continue;
    if (2 * ((steps - 1) % run + 1) >= run)
      return run;
    first = first ? first : run;
  }
  return first ? first : steps;
}

int map_ring_turns(int depth, int buffers) {
  int turns = buffers;
  while (turns % depth)
    turns += buffers;
  return turns;
}
