/* panel.c -- what a mem tile has space for: of in0 a panel or a part of it, and
 * how long the runs are that its buffers hold. */
#include "map.h"

#include "kernels.h"

#include <assert.h>
#include <math.h>

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
  return readers <= MAP_MAX_PARTS && buffers * (1 + readers) + more <=
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

int map_mem_depth(const struct map_panel *panel, int tensor) {
  return map_ring_depth(panel->run[tensor]);
}

static struct map_end end_of(const struct device *dev,
                             const struct teir_problem *p,
                             const struct map_blocking *b) {
  struct kernel_shape s;
  const struct map_layout *x = b->form.layout;
  const bool turned[] = {x[IN0].turned, x[IN1].turned};
  return b->last_k && kernel_shape(map_isa(dev), p->type[IN0], p->type[IN1],
                                   p->acc, &s)
             ? map_end_of(&s, p->type, turned,
                          &(struct map_steps){b->steps_k, b->block_k, b->last_k,
                                              b->block_n})
             : (struct map_end){.inside = false};
}

/* What is contiguous along k comes as one, for its rows end with the last step;
 * of in1, where that takes much space, in runs that DRAM reads well, the last
 * of which has a descriptor of its own. */
static int uneven_rows(const struct map_blocking *b, int tensor,
                       int64_t row_bytes) {
  enum { MOST_BYTES = 128 << 10 };
  int steps = b->steps_k, least = div_up(LONG_RUN_BYTES, (int)row_bytes);
  int64_t whole = map_ring_depth(steps) * steps * row_bytes * b->block_n;
  return tensor == IN0 || whole <= MOST_BYTES
             ? steps
             : map_uneven_run(steps, least, MAP_READ_CROWDED);
}

static int uneven_run(const struct map_blocking *b, int tensor,
                      int64_t row_bytes, const struct map_end *end) {
  enum map_reading reading = !end->inside          ? MAP_READ_APART
                             : !end->zeros[tensor] ? MAP_READ_ALIKE
                             : tensor == IN1       ? MAP_READ_CROWDED
                                                   : MAP_READ_APART;
  return is_along_k(b, tensor) ? uneven_rows(b, tensor, row_bytes)
                               : map_uneven_run(b->steps_k, 1, reading);
}

/* Whether a descriptor counts what it writes of a row of the last buffer: small
 * matrices or, where K ends inside one, words. */
static bool counts_rows(const struct device *dev, const struct teir_problem *p,
                        const struct map_blocking *b, int tensor, int run) {
  struct kernel_shape s;
  int64_t k = b->last_k + (int64_t)(run - 1) * b->block_k,
          most = dev->tile[TILE_MEM].max_wrap;
  if (!is_along_k(b, tensor) || !b->last_k)
    return true;
  return end_of(dev, p, b).inside ? k * dtype_bytes(p->type[tensor]) / 4 < most
                                  : kernel_shape(map_isa(dev), p->type[IN0],
                                                 p->type[IN1], p->acc, &s) &&
                                        k / s.k <= most;
}

/* Whether a tensor's last step of k is filled up (map_fills). */
static bool is_filled(const struct map_blocking *b, int tensor,
                      const struct map_end *end) {
  return tensor == IN1 && b->steps_k > 1 && !is_along_k(b, IN1) &&
         end->inside && !end->zeros[IN1];
}

static int run_of(const struct device *dev, const struct teir_problem *p,
                  const struct map_blocking *b, int tensor, int64_t row_bytes) {
  struct map_end end = end_of(dev, p, b);
  return is_filled(b, tensor, &end) ? 1
         : b->last_k                ? uneven_run(b, tensor, row_bytes, &end)
         : is_along_k(b, tensor)    ? long_run(dev, b, tensor, row_bytes)
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

/* Whether in0 comes in whole rows along k of which no ring can be: then what an
 * n round needs comes in chunks, though the next one needs others. */
static bool in_rows(const struct device *dev, const struct teir_problem *p,
                    const struct map_blocking *b, const struct map_panel *panel,
                    int64_t step_bytes, int64_t space) {
  int run = panel->run[IN0];
  return b->last_k && run == b->steps_k && run > 1 && is_along_k(b, IN0) &&
         (map_mem_depth(panel, IN0) * run * step_bytes > space ||
          !counts_rows(dev, p, b, IN0, run));
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
  if (!rounds && in_rows(dev, p, b, panel, step_bytes, own))
    rounds = 1;
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
