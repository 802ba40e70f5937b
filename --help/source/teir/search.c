/* search.c -- the one search for block sizes: every block that a machine has,
 * priced by that machine.
 *
 * The textbook way searches tile sizes by measurement; the space is small
 * enough to price all of it by a model, as long as a block of M and N that
 * cannot win is left after one look. */
#include "teir_search.h"

#include <assert.h>
#include <math.h>

/* All depths of the block's M and N. */
static void try_depths(const struct teir_model *x, struct teir_blocks *b,
                       int64_t most, struct teir_found *best) {
  int64_t unit = x->unit[TEIR_K], count = most / unit;
  for (int64_t i = 1; i <= count; i++) {
    b->block[TEIR_K] = unit * (x->deepest_first ? count + 1 - i : i);
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
  for (int64_t m = unit[TEIR_M]; m <= most[TEIR_M]; m += unit[TEIR_M])
    for (int64_t n = unit[TEIR_N]; n <= most[TEIR_N]; n += unit[TEIR_N]) {
      bool any = false;
      for (int form = 1; form <= x->forms; form++) {
        struct teir_blocks b = {{m, n, 0}, form};
        int64_t depth = x->depth(x->self, &b, best.cost);
        any = any || depth >= 0;
        try_depths(x, &b, depth, &best);
      }
      if (!any) /* larger ones do not fit either */
        break;
    }
  return best;
}
