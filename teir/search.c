/* search.c -- the one search for block sizes: every block that a machine has,
 * priced by that machine.
 *
 * The textbook way searches tile sizes by measurement; the space is small
 * enough to price all of it by a model, as long as a block of M and N that
 * cannot win is left after one look. */
#include "teir_search.h"

#include <assert.h>
#include <math.h>

/* The i-th of `count` things, from 1 on; or, if back, from the last one on. */
static int64_t turn(int64_t i, int64_t count, bool back) {
  return back ? count + 1 - i : i;
}

/* All depths of the block's M and N. */
static void try_depths(const struct teir_model *x, struct teir_blocks *b,
                       int64_t most, struct teir_found *best) {
  int64_t unit = x->unit[TEIR_K], count = most / unit;
  for (int64_t i = 1; i <= count; i++) {
    b->block[TEIR_K] = unit * turn(i, count, x->deepest_first);
    double cost = x->price(x->self, b, best->cost);
    assert(!isnan(cost) && cost >= 0);
    if (cost < best->cost)
      *best = (struct teir_found){*b, cost};
  }
}

struct teir_found teir_search(const struct teir_model *x) {
  struct teir_found best = {.cost = HUGE_VAL};
  const int64_t *unit = x->unit, *most = x->most;
  assert(unit[TEIR_M] > 0 && unit[TEIR_N] > 0 && unit[TEIR_K] > 0);
  int64_t wide = most[TEIR_M] / unit[TEIR_M],
          high = most[TEIR_N] / unit[TEIR_N];
  for (int64_t i = 1; i <= wide; i++)
    for (int64_t j = 1; j <= high; j++) {
      int64_t m = unit[TEIR_M] * turn(i, wide, x->largest_first),
              n = unit[TEIR_N] * turn(j, high, x->largest_first);
      bool any = false;
      for (int form = 1; form <= x->forms; form++) {
        struct teir_blocks b = {{m, n, 0}, form};
        int64_t depth = x->depth(x->self, &b, best.cost);
        any = any || depth >= 0;
        try_depths(x, &b, depth, &best);
      }
      if (!any && !x->largest_first) /* larger ones do not fit either */
        break;
    }
  return best;
}
