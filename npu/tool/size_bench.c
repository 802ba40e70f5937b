/* size_bench.c -- `nputeir bench sizes`: what a new size costs a program that
 * multiplies many, one after the other on one context. */
#include "bench.h"
#include "keys.h"

#include "npu.h"

#include <stdlib.h>
#include <time.h>

enum { PRODUCTS = 50, MOST_PRODUCTS = 1000, LEAST = 128, LONGEST = 2000 };

/* Extents are multiples of `unit`. */
struct sizes {
  const char *platform;
  enum dtype in, out;
  int unit, products;
};

/* What the products before left, and what all took, a search or none. */
struct state {
  struct core_cache *cores;
  struct npu_known *known;
  bool holds;
  struct npu_held held;
  uint64_t random;
  double seconds[2][MOST_PRODUCTS]; /* searched, by a known blocking */
  int count[2];
  double change_seconds, lost_seconds;
};

/* Others may have the machine meanwhile. */
static double processor_seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static int64_t draw(uint64_t *state, int unit) {
  int least = LEAST / unit, most = LONGEST / unit;
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return unit *
         (least + (int64_t)((*state >> 33) % (uint64_t)(most - least + 1)));
}

/* Memory of its own holds what comes between, as in the runtime. */
struct next {
  struct state *state;
  const struct sizes *sizes;
  struct arena *keeps; /* what the array holds */
};

static bool hold(struct next *x, const struct npu_result *r, struct diag *d) {
  struct state *s = x->state;
  s->held = (struct npu_held){
      arena_copy(x->keeps, &r->blocking, 1, 1, sizeof r->blocking), true,
      cdo_read(x->keeps, (const uint8_t *)r->cdo.data, r->cdo.length, d)};
  return s->holds = s->held.configuration;
}

static bool compile_next(struct tool *t, void *context) {
  struct next *next = context;
  struct state *s = next->state;
  const struct sizes *x = next->sizes;
  struct diag *d = &t->diag;
  struct teir_problem p = {.extent = {1}, .type = {x->in, x->in, x->out}};
  p.acc = x->out;
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    p.extent[role] = draw(&s->random, x->unit);
  const struct npu_means by = {
      .cores = s->cores, .known = s->known, .held = s->holds ? &s->held : NULL};
  const struct teir *teir = teir_from_problem(t->arena, &p, d);
  struct npu_result r = {0};
  double start = processor_seconds();
  bool good = teir && npu_compile_by(&by, t->arena, x->platform, teir, &r, d);
  if (good) {
    s->seconds[r.known][s->count[r.known]++] = processor_seconds() - start;
    s->change_seconds += r.change_seconds;
    s->lost_seconds += r.lost_seconds;
    good = hold(next, &r, d);
  }
  npu_result_free(&r);
  return good;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *x, int count) {
  qsort(x, (size_t)count, sizeof *x, compare);
  return count ? x[count / 2] : 0;
}

static bool run_sizes(struct tool *t, void *context) {
  const struct sizes *x = context;
  struct state s = {.cores = core_cache_open(), .known = npu_known_open()};
  struct next next = {&s, x, t->arena};
  bool good = s.cores && s.known;
  for (int i = 0; good && i < x->products; i++)
    good = tool_nested(t, compile_next, &next);
  double all = 0;
  for (int known = 0; known < 2; known++)
    for (int i = 0; i < s.count[known]; i++)
      all += s.seconds[known][i];
  if (good)
    keys_print(t,
               "case=multiples-of-%d type=%s platform=%s sizes=%d known=%d "
               "known_ms=%.1f searched_ms=%.1f mean_ms=%.1f change_us=%.1f "
               "lost_us=%.0f\n",
               x->unit, dtype_name(x->in), x->platform, x->products, s.count[1],
               1e3 * median(s.seconds[1], s.count[1]),
               1e3 * median(s.seconds[0], s.count[0]), 1e3 * all / x->products,
               1e6 * s.change_seconds / x->products,
               1e6 * s.lost_seconds / x->products);
  npu_known_close(s.known);
  core_cache_close(s.cores);
  return good;
}

bool bench_sizes(struct tool *t, void *job) {
  const struct bench_sizes_job *j = job;
  static const struct sizes all[] = {
      {"npu1", DTYPE_BF16, DTYPE_F32, 64, 0},
      {"npu1", DTYPE_BF16, DTYPE_F32, 8, 0},
      {"8700g", DTYPE_BF16, DTYPE_F32, 8, 0},
      {"8700g", DTYPE_BF16, DTYPE_F32, 1, 0},
      {"8700g", DTYPE_I8, DTYPE_I32, 8, 0},
      {"krackan", DTYPE_I8, DTYPE_I32, 8, 0},
      {"krackan", DTYPE_I8, DTYPE_I32, 64, 0},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct sizes x = all[i];
    x.products = j->products ? j->products : PRODUCTS;
    if (!tool_nested(t, run_sizes, &x))
      return false;
  }
  return true;
}
