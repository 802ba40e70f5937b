/* search_test.c -- the search against all blocks of small machines: one of two
 * caches, and one whose blocks all cost the same. */
#include "check.h"
#include "teir_search.h"

#include <math.h>

/* Blocks of in0, in1 and out share a cache of `words`; traffic beyond it is
 * what costs. */
struct cache {
  int64_t words, m, n, k;
  int asked;
};

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

static double cost_of(const struct cache *c, int64_t m, int64_t n, int64_t k,
                      int form) {
  double blocks = (double)(round_up(c->m, m) / m * (round_up(c->n, n) / n));
  double depth = (double)round_up(c->k, k);
  if (m * k + k * n + form * m * n > c->words)
    return HUGE_VAL;
  double steps = depth / (double)k;
  return blocks * (depth * (double)(m + n) + steps * 9 +
                   (double)(m * n) * (form == 1 ? 2 : 1.5));
}

static int64_t cache_depth(void *self, const struct teir_blocks *b,
                           double best) {
  struct cache *c = self;
  int64_t m = b->block[TEIR_M], n = b->block[TEIR_N];
  (void)best;
  return b->form * m * n >= c->words ? -1
                                     : (c->words - b->form * m * n) / (m + n);
}

static double cache_price(void *self, const struct teir_blocks *b,
                          double best) {
  struct cache *c = self;
  c->asked++;
  double cost =
      cost_of(c, b->block[TEIR_M], b->block[TEIR_N], b->block[TEIR_K], b->form);
  CHECK(cost < HUGE_VAL); /* the depth was right */
  return cost < best ? cost : HUGE_VAL;
}

static double best_of_all(const struct cache *c,
                          const struct teir_model *model) {
  double best = HUGE_VAL;
  for (int64_t m = 4; m <= model->most[TEIR_M]; m += 4)
    for (int64_t n = 2; n <= model->most[TEIR_N]; n += 2)
      for (int64_t k = 8; k <= c->words; k += 8)
        for (int form = 1; form <= 2; form++)
          best = fmin(best, cost_of(c, m, n, k, form));
  return best;
}

static void test_caches(void) {
  for (int i = 0; i < 60; i++) {
    struct cache c = {200 + 137 * i % 1900, 1 + 31 * i % 200, 1 + 17 * i % 90,
                      1 + 77 * i % 400, 0};
    struct teir_model model = {.self = &c,
                               .unit = {4, 2, 8},
                               .most = {64, 64},
                               .forms = 2,
                               .deepest_first = i % 2,
                               .depth = cache_depth,
                               .price = cache_price};
    struct teir_found found = teir_search(&model);
    const int64_t *b = found.blocks.block;
    CHECK(found.cost == best_of_all(&c, &model));
    CHECK(found.cost ==
          cost_of(&c, b[TEIR_M], b[TEIR_N], b[TEIR_K], found.blocks.form));
    CHECK(b[TEIR_M] % 4 == 0 && b[TEIR_N] % 2 == 0 && b[TEIR_K] % 8 == 0);
    CHECK(c.asked > 0);
  }
}

static int64_t flat_depth(void *self, const struct teir_blocks *b,
                          double best) {
  (void)b, (void)best;
  return *(const int64_t *)self;
}
static double flat_price(void *self, const struct teir_blocks *b, double best) {
  (void)self, (void)b, (void)best;
  return 7;
}

/* The first of equals, from the preferred end; nothing where nothing fits. */
static void test_equals(void) {
  int64_t depth = 27;
  struct teir_model model = {.self = &depth,
                             .unit = {1, 1, 4},
                             .most = {5, 5},
                             .forms = 2,
                             .depth = flat_depth,
                             .price = flat_price};
  struct teir_blocks b = teir_search(&model).blocks;
  CHECK(b.block[TEIR_M] == 1 && b.block[TEIR_N] == 1 && b.form == 1);
  CHECK(b.block[TEIR_K] == 4);
  model.deepest_first = true;
  CHECK(teir_search(&model).blocks.block[TEIR_K] == 24);
  depth = 3;
  CHECK(teir_search(&model).cost == HUGE_VAL);
}

int main(void) {
  test_caches();
  test_equals();
  return check_result();
}
