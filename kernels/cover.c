/* cover.c -- cuts C into blocks of accumulators, edges included.
 *
 * A block of r x c results costs, for all its K steps, the largest of: its
 * multiplies (with few results they wait for each other), half of its loads
 * (two ports), its traffic with C (one bank), and its shuffles, which share the
 * accumulators' write port with loads of C (isa.md D3).  C is cut into strips
 * of equal height, every strip into blocks of one or two widths; the cheapest
 * cut is found by trying all (a coin problem by dynamic programming, first for
 * the widths in a strip of each height, then for the heights).
 */
#include "kernel_cover.h"

static int max(int a, int b) { return a > b ? a : b; }

/* Cycles of a block; unusual shapes cost one more for the hand-over. */
static int64_t block_cost(const struct cover_problem *p, int rows, int cols) {
  int64_t k = p->k_steps;
  int64_t results = (int64_t)rows * cols * p->result_parts;
  int64_t loads = k * (rows * p->left_parts + cols * p->right_parts) +
                  (p->load_result ? results : 0);
  int64_t bank = p->load_result ? 2 * results : results;
  int64_t cycles = k * max(rows * cols, p->distance);
  cycles = loads > 2 * cycles ? (loads + 1) / 2 : cycles;
  int64_t port = k * rows * p->left_parts + (p->load_result ? results : 0);
  cycles = port > cycles ? port : cycles;
  cycles = bank > cycles ? bank : cycles;
  int64_t moves = k * (rows * p->left_shuffle + cols * p->right_shuffle) +
                  (int64_t)rows * cols * p->result_moves;
  if (moves && p->load_result)
    moves += results;
  cycles = moves > cycles ? moves : cycles;
  bool usual = rows == p->usual_rows && cols == p->usual_cols;
  return cycles + !usual;
}

/* How often each of the sizes 1..limit is taken to fill `extent`. */
struct cut {
  int64_t cost;
  int times[COVER_COLS + 1];
};

static struct cut cheapest_cut(struct arena *a, int extent, int limit,
                               const int64_t *cost) {
  struct {
    int64_t cost;
    int last;
  } *best = arena_array(a, extent + 1, sizeof *best);
  for (int n = 1; n <= extent; n++)
    for (int size = 1; size <= limit && size <= n; size++) {
      int64_t c = best[n - size].cost + cost[size];
      if (!best[n].last || c <= best[n].cost) {
        best[n].cost = c;
        best[n].last = size;
      }
    }
  struct cut cut = {.cost = best[extent].cost};
  for (int n = extent; n > 0; n -= best[n].last)
    cut.times[best[n].last]++;
  return cut;
}

struct cover_block *kernel_cover(struct arena *a, const struct cover_problem *p,
                                 int *count) {
  struct cut strip[COVER_ROWS + 1];
  int64_t strip_cost[COVER_ROWS + 1] = {0};
  for (int r = 1; r <= p->most_rows; r++) {
    int64_t cost[COVER_COLS + 1] = {0};
    int limit = p->accumulators / r;
    limit = limit > p->most_cols ? p->most_cols : limit;
    for (int c = 1; c <= limit; c++)
      cost[c] = block_cost(p, r, c);
    strip[r] = cheapest_cut(a, p->cols, limit, cost);
    strip_cost[r] = strip[r].cost;
  }
  struct cut heights = cheapest_cut(a, p->rows, p->most_rows, strip_cost);

  struct cover_block *block =
      arena_array(a, (size_t)p->rows * p->cols, sizeof *block);
  int region = 0, row = 0;
  *count = 0;
  for (int r = p->most_rows; r > 0; r--) {
    int col = 0;
    for (int c = COVER_COLS; c > 0; c--) {
      if (!heights.times[r] || !strip[r].times[c])
        continue;
      for (int i = 0; i < heights.times[r]; i++)
        for (int j = 0; j < strip[r].times[c]; j++)
          block[(*count)++] =
              (struct cover_block){row + i * r, col + j * c, r, c, region};
      col += strip[r].times[c] * c;
      region++;
    }
    row += heights.times[r] * r;
  }
  return block;
}
