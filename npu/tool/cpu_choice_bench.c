/* cpu_choice_bench.c -- `nputeir bench cpu choice`: whether the better one runs
 * of a nest's loops and the code for the processor, which stand beside each
 * other in a program.  Small products of random shapes are compiled three
 * times: with the plugin, which chooses; with its code chosen always; and
 * without. */
#include "cpu_bench.h"
#include "keys.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Defined: FUNCTION, attributes of all, in and sum, the types.  s: rows,
 * columns, steps; x: a factor, or what is added to a row. */
static const char source[] =
    "#define ARGUMENTS(NAME)                                               \\\n"
    "  FUNCTION void NAME(const long *s, const in *restrict a,             \\\n"
    "      const in *restrict b, sum *restrict c, const sum *restrict x)\n"
    "#define EACH(I, N) for (long I = 0; I < s[N]; I++)\n"
    "#define PRODUCTS(LAYOUT, A, B)                                        \\\n"
    "  ARGUMENTS(LAYOUT##_adds) {                                          \\\n"
    "    EACH(i, 0) EACH(j, 1) EACH(k, 2)                                  \\\n"
    "      c[i * s[1] + j] += (sum)A * (sum)B;                             \\\n"
    "  }                                                                   \\\n"
    "  ARGUMENTS(LAYOUT##_rows) {                                          \\\n"
    "    EACH(i, 0) EACH(k, 2) EACH(j, 1)                                  \\\n"
    "      c[i * s[1] + j] += x[0] * (sum)A * (sum)B;                      \\\n"
    "  }                                                                   \\\n"
    "  ARGUMENTS(LAYOUT##_gemm) {                                          \\\n"
    "    EACH(i, 0) EACH(j, 1) {                                           \\\n"
    "      sum y = 0;                                                      \\\n"
    "      EACH(k, 2) y += (sum)A * (sum)B;                                \\\n"
    "      c[i * s[1] + j] = x[0] * c[i * s[1] + j] + x[1] * y;            \\\n"
    "    }                                                                 \\\n"
    "  }                                                                   \\\n"
    "  ARGUMENTS(LAYOUT##_layer) {                                         \\\n"
    "    EACH(i, 0) EACH(j, 1) {                                           \\\n"
    "      sum y = x[j];                                                   \\\n"
    "      EACH(k, 2) y += (sum)A * (sum)B;                                \\\n"
    "      c[i * s[1] + j] = y > 0 ? y : 0;                                \\\n"
    "    }                                                                 \\\n"
    "  }                                                                   \\\n"
    "  ARGUMENTS(LAYOUT##_sets) {                                          \\\n"
    "    EACH(i, 0) EACH(j, 1) {                                           \\\n"
    "      sum y = 0;                                                      \\\n"
    "      EACH(k, 2) y += (sum)A * (sum)B;                                \\\n"
    "      c[i * s[1] + j] = y;                                            \\\n"
    "    }                                                                 \\\n"
    "  }\n"
    "PRODUCTS(nn, a[i * s[2] + k], b[k * s[1] + j])\n"
    "PRODUCTS(nt, a[i * s[2] + k], b[j * s[2] + k])\n"
    "PRODUCTS(tn, a[k * s[0] + i], b[k * s[1] + j])\n"
    "PRODUCTS(tt, a[k * s[0] + i], b[j * s[2] + k])\n";

static const char *const layouts[] = {"nn", "nt", "tn", "tt"};
static const char *const forms[] = {"adds", "rows", "gemm", "layer", "sets"};
enum {
  LAYOUTS = sizeof layouts / sizeof *layouts,
  FORMS = sizeof forms / sizeof *forms
};

static const struct {
  const char *name, *in, *sum;
} cases[] = {
    {"choice-f32", "float", "float"},      {"choice-f64", "double", "double"},
    {"choice-bf16", "__bf16", "float"},    {"choice-i8", "signed char", "int"},
    {"choice-u8", "unsigned char", "int"}, {"choice-i16", "short", "int"},
    {"choice-i32", "int", "int"}};
enum { CASES = sizeof cases / sizeof *cases };

bool cpu_bench_is_choice(const char *name) {
  for (int i = 0; i < CASES; i++)
    if (cpu_bench_means(name, cases[i].name))
      return true;
  return false;
}

/* ---- what runs ---- */

enum way { CHOICE, CODE, LOOPS, WAYS };
typedef void function(const long *s, const void *a, const void *b, void *c,
                      const void *x);
struct subject {
  function *way[LAYOUTS * FORMS][WAYS];
};

static bool load(struct tool *t, const char *folder, int type,
                 struct subject *x) {
  static const char *const attribute[WAYS] = {
      [CODE] = "__attribute__((annotate(\"nputeir:min-macs=0\")))"};
  for (enum way w = CHOICE; w < WAYS; w++) {
    struct cpu_bench_source s = {
        .name = arena_printf(t->arena, "%s-%d", cases[type].name, w),
        .text = arena_printf(t->arena, "typedef %s in;\ntypedef %s sum;\n%s",
                             cases[type].in, cases[type].sum, source),
        .define = {arena_printf(t->arena, "-DFUNCTION=%s",
                                attribute[w] ? attribute[w] : "")}};
    void *library = cpu_bench_compile(t, folder, &s, w != LOOPS);
    if (!library)
      return false;
    for (int i = 0; i < LAYOUTS * FORMS; i++)
      x->way[i][w] = (function *)(uintptr_t)dlsym(
          library, arena_printf(t->arena, "%s_%s", layouts[i / FORMS],
                                forms[i % FORMS]));
  }
  return true;
}

/* ---- shapes ---- */

enum { SHAPES = 200, LONGEST = 400, LEAST_MACS = 64, MOST_MACS = 1 << 20 };

static uint32_t next(uint32_t *seed) {
  return (*seed = *seed * 1664525 + 1013904223) >> 8;
}

/* Lengths are as often between 1 and 20 as between 20 and 400. */
static void next_shape(uint32_t *seed, long s[3]) {
  do
    for (int i = 0; i < 3; i++)
      s[i] = lround(pow(LONGEST, next(seed) / (double)(1 << 24)));
  while (s[0] * s[1] * s[2] < LEAST_MACS || s[0] * s[1] * s[2] > MOST_MACS);
}

/* Seconds of a call, in turns.  Some are made before those that are timed: a
 * processor may need a while for longer vectors than were used last. */
static void measure(function *const way[WAYS], const long s[3],
                    void *const tensor[4], double took[WAYS]) {
  enum { TIMED_MACS = 1 << 16, ROUNDS = 2 * CPU_BENCH_ROUNDS };
  int calls = (int)(TIMED_MACS / (s[0] * s[1] * s[2])) + 1;
  static struct cpu_bench_speed speed[WAYS];
  for (int w = 0; w < WAYS; w++)
    speed[w].count = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int w = 0; w < WAYS; w++) {
      double from = 0;
      for (int i = -calls; i < calls; i++) {
        if (i == 0)
          from = cpu_bench_seconds();
        way[w](s, tensor[0], tensor[1], tensor[2], tensor[3]);
      }
      cpu_bench_add(&speed[w], calls / (cpu_bench_seconds() - from));
    }
  for (int w = 0; w < WAYS; w++)
    took[w] = 1 / cpu_bench_rate(&speed[w]);
}

static void bench_type(struct tool *t, int type, const struct subject *x,
                       void *const tensor[4]) {
  const double much = 1.3;
  uint32_t seed = 1;
  int over = 0, slower = 0;
  double logs = 0, most = 0;
  const char *of = "";
  for (int i = 0; i < SHAPES; i++) {
    long s[3];
    next_shape(&seed, s);
    int which = (int)(next(&seed) % (LAYOUTS * FORMS));
    double took[WAYS];
    measure(x->way[which], s, tensor, took);
    double ratio = took[CHOICE] / fmin(took[CODE], took[LOOPS]);
    logs += log(ratio);
    over += ratio >= much;
    slower += took[CHOICE] >= much * took[LOOPS];
    if (ratio > most) {
      most = ratio;
      of = arena_printf(t->arena, "%s-%ldx%ldx%ld-%s", layouts[which / FORMS],
                        s[0], s[1], s[2], forms[which % FORMS]);
    }
  }
  keys_print(t,
             "case=%s shapes=%d ratio=%.3f over=%.3f slower=%.3f most=%.2f "
             "of=%s\n",
             cases[type].name, SHAPES, exp(logs / SHAPES),
             over / (double)SHAPES, slower / (double)SHAPES, most, of);
}

bool cpu_bench_choices(struct tool *t, const char *folder, const char *only) {
  void *tensor[4];
  size_t bytes = (size_t)MOST_MACS * sizeof(double);
  for (int i = 0; i < 4; i++) {
    tensor[i] = aligned_alloc(64, bytes);
    if (!tensor[i])
      out_of_memory(bytes);
    memset(tensor[i], 0, bytes);
  }
  bool good = true;
  for (int i = 0; i < CASES && good; i++) {
    struct subject x;
    if (!cpu_bench_means(only, cases[i].name))
      continue;
    good = load(t, folder, i, &x);
    if (good)
      bench_type(t, i, &x, tensor);
  }
  for (int i = 0; i < 4; i++)
    free(tensor[i]);
  return good;
}
