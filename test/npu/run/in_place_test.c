/* in_place_test.c -- products of matrices with any row strides and transposes,
 * through the library that programs link, on the simulated array: right to the
 * bit, nothing read behind a tensor's end or written between its rows, gaps
 * read but never used (they hold NaN), and the trace says which tensors had to
 * be packed. */
#include "check.h"
#include "nest.h"
#include "nputeir-rt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A matrix product; a tensor that is turned has its rows' axis contiguous. */
struct shape {
  enum dtype in, out;
  int64_t m, n, k;
  bool turned[TENSORS];
  int64_t gap[TENSORS]; /* elements behind every row (or column) */
  const char *packed;   /* what the trace says; NULL: anything */
};

static uint32_t random_state;
static int64_t pick(int64_t count) {
  random_state = random_state * 1664525 + 1013904223;
  return (int64_t)(random_state >> 8) % count;
}

static void make(struct nest_work *w, const struct shape *s) {
  static const int role[TENSORS][2] = {{0, 2}, {2, 1}, {0, 1}};
  nest_gemm(w, s->in, false, s->m, s->n, s->k);
  w->type[OUT] = s->out;
  for (int t = 0; t < TENSORS; t++) {
    int rows = role[t][s->turned[t]], columns = role[t][!s->turned[t]];
    int64_t bytes = dtype_bytes(w->type[t]);
    w->axis[columns].stride[t] = bytes;
    w->axis[rows].stride[t] = bytes * (w->axis[columns].extent + s->gap[t]);
  }
  nest_make(w, true, (uint32_t)(s->m + 31 * s->n + 7 * s->k));
}

/* ---- inputs whose last byte is the last of their memory ---- */

struct guarded {
  char *pages, *old;
  size_t bytes;
};

/* Elements between the rows become NaN. */
static void spoil_gaps(struct nest_work *w, int t, char *tensor) {
  static const int role[TENSORS][2] = {{0, 2}, {2, 1}, {0, 1}};
  const struct nest_axis *a = &w->axis[role[t][0]], *b = &w->axis[role[t][1]];
  if (w->type[t] != DTYPE_BF16)
    return;
  char *used = calloc(1, w->bytes[t]);
  for (int64_t i = 0; i < a->extent; i++)
    for (int64_t j = 0; j < b->extent; j++)
      used[i * a->stride[t] + j * b->stride[t]] = 1;
  for (size_t i = 0; i < w->bytes[t]; i += 2)
    if (!used[i])
      memset(tensor + i, 0xff, 2);
  free(used);
}

static struct guarded guard(struct nest_work *w, int t) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  struct guarded g = {.old = w->memory[t]};
  g.bytes = (w->bytes[t] + NEST_GUARD + page - 1) / page * page;
  g.pages = mmap(NULL, g.bytes + page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(g.pages != MAP_FAILED &&
        mprotect(g.pages + g.bytes, page, PROT_NONE) == 0);
  w->memory[t] = g.pages + g.bytes - w->bytes[t] - NEST_GUARD;
  memcpy(w->memory[t] + NEST_GUARD, g.old + NEST_GUARD, w->bytes[t]);
  spoil_gaps(w, t, w->memory[t] + NEST_GUARD);
  g.bytes += page;
  return g;
}

static void release(struct nest_work *w, int t, const struct guarded *g) {
  munmap(g->pages, g->bytes);
  w->memory[t] = g->old;
}

/* ---- a call and its trace ---- */

static bool call_with(struct nest_work *w, const char *options,
                      char trace[1024]) {
  void *tensor[NEST_TENSORS];
  uint64_t count = nest_tensors(w, tensor);
  FILE *file = tmpfile();
  int saved = dup(2);
  fflush(stderr);
  dup2(fileno(file), 2);
  bool good = nputeir_call_1(w->teir, options, "in_place_test.c", w->value,
                             (uint64_t)w->value_count, tensor, count) == 0;
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  rewind(file);
  trace[fread(trace, 1, 1023, file)] = 0;
  fclose(file);
  return good;
}

static bool call(struct nest_work *w, char trace[1024]) {
  return call_with(w, NULL, trace);
}

static void test(const struct shape *s) {
  struct nest_work w;
  char trace[1024], packed[64];
  make(&w, s);
  struct guarded in0 = guard(&w, IN0), in1 = guard(&w, IN1);
  bool good = call(&w, trace) && nest_right(&w);
  snprintf(packed, sizeof packed, " packed=%s ", s->packed ? s->packed : "");
  good &= !s->packed || strstr(trace, packed);
  if (s->packed && strstr(s->packed, ":stride"))
    good &= strstr(trace, " rule=\"in") && strstr(trace, "words of 4\"");
  CHECK(good);
  if (!good)
    fprintf(stderr, "%s %lldx%lldx%lld turned %d%d%d gaps %lld %lld %lld: %s",
            dtype_name(s->in), (long long)s->m, (long long)s->n,
            (long long)s->k, s->turned[0], s->turned[1], s->turned[2],
            (long long)s->gap[0], (long long)s->gap[1], (long long)s->gap[2],
            trace);
  release(&w, IN0, &in0);
  release(&w, IN1, &in1);
  nest_free(&w);
}

/* All transposes, with rows that touch and that do not. */
static void test_transposes(void) {
  for (int i = 0; i < 16; i++) {
    int64_t gap = i & 8 ? 4 : 0;
    struct shape s = {.in = DTYPE_BF16,
                      .out = DTYPE_F32,
                      .m = 96,
                      .n = 160,
                      .k = 64,
                      .turned = {i & 1, i & 2, i & 4},
                      .gap = {gap, 2 * gap, 3 * gap},
                      .packed = "-"};
    test(&s);
    s.in = DTYPE_I8;
    s.out = DTYPE_I32;
    test(&s);
  }
}

/* Extents whose blocks overlap, and extents that none end with. */
static void test_edges(void) {
  static const struct shape shape[] = {
      {DTYPE_BF16, DTYPE_F32, 100, 100, 104, {0}, {0}, "-"},
      {DTYPE_BF16, DTYPE_F32, 84, 252, 168, {0}, {2, 4, 5}, "-"},
      {DTYPE_BF16, DTYPE_F32, 131, 254, 72, {0}, {0}, "-"},
      {DTYPE_BF16, DTYPE_F32, 257, 96, 88, {1, 1, 1}, {1, 0, 3}, NULL},
      {DTYPE_BF16, DTYPE_F32, 64, 64, 63, {0}, {1, 0, 0}, NULL},
      {DTYPE_BF16, DTYPE_F32, 64, 65, 64, {0}, {0, 1, 0}, NULL},
      {DTYPE_BF16, DTYPE_F32, 64, 64, 65, {0}, {0}, NULL},
      {DTYPE_BF16, DTYPE_F32, 5, 7, 9, {0}, {1, 1, 1}, NULL},
      {DTYPE_I8, DTYPE_I32, 100, 120, 128, {0}, {4, 8, 1}, "-"},
      {DTYPE_I8, DTYPE_I32, 64, 64, 64, {0}, {1, 0, 0}, "in0:stride"},
      {DTYPE_BF16, DTYPE_F32, 64, 64, 64, {0}, {0, 3, 0}, "in1:stride"},
      {DTYPE_BF16, DTYPE_F32, 64, 64, 64, {0}, {4000, 0, 0}, "in0:span"},
      {DTYPE_BF16, DTYPE_F32, 64, 64, 514, {0}, {0}, "-"},
      {DTYPE_BF16, DTYPE_F32, 64, 64, 521, {0}, {1, 0, 0}, "-"},
  };
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
    test(&shape[i]);
}

/* Less than a small matrix of m, of n, or of both: what there is comes and
 * goes, in all transposes whose rows are made of words. */
static void test_few(void) {
  static const int64_t extent[][3] = {
      {1, 64, 64}, {2, 36, 84}, {3, 96, 40}, {64, 1, 36}, {52, 2, 64},
      {68, 3, 24}, {1, 1, 64},  {2, 2, 2},   {3, 2, 12},  {1, 256, 520}};
  static const enum dtype type[][2] = {
      {DTYPE_BF16, DTYPE_F32}, {DTYPE_I8, DTYPE_I32}, {DTYPE_I16, DTYPE_I32}};
  static const int role[TENSORS][2] = {{0, 2}, {2, 1}, {0, 1}};
  for (size_t i = 0; i < sizeof extent / sizeof *extent; i++)
    for (unsigned j = 0; j < 9; j++) {
      const int64_t *x = extent[i];
      struct shape s = {type[j % 3][0],
                        type[j % 3][1],
                        x[0],
                        x[1],
                        x[2],
                        {j / 3 & 1, j & 2, j & 4},
                        {0},
                        "-"};
      bool words = true;
      for (int t = 0; t < TENSORS; t++) {
        int64_t bytes = dtype_bytes(t == OUT ? s.out : s.in),
                rows = x[role[t][s.turned[t]]], row = x[role[t][!s.turned[t]]];
        if (row == 1) { /* then columns are contiguous */
          row = rows;
          rows = 1;
        }
        words &= row * bytes % 4 == 0;
        s.gap[t] = rows > 1 && x[role[t][!s.turned[t]]] > 1 ? 4 * (j % 3) : 0;
      }
      if (!words)
        s.packed = NULL;
      test(&s);
    }
}

/* Extents of k that no small matrices end with: zeros follow a block's k, be
 * the block one step or the buffer several, of one block of out or of two. */
static void test_padded(void) {
  static const int64_t extent[][3] = {
      {96, 160, 84}, {64, 64, 12}, {260, 132, 188}, {384, 256, 300}};
  for (int i = 0; i < 32; i++) {
    const int64_t *x = extent[i / 8];
    int64_t gap = i & 1 ? 4 : 0;
    struct shape s = {.in = DTYPE_BF16,
                      .out = DTYPE_F32,
                      .m = x[0],
                      .n = x[1],
                      .k = x[2],
                      .turned = {i & 1, i & 2, i & 4},
                      .gap = {gap, 2 * gap, 3 * gap},
                      .packed = "-"};
    test(&s);
    s.in = DTYPE_I8;
    s.out = DTYPE_I32;
    test(&s);
  }
}

/* Rows that begin with words but do not end with them. */
static void make_rows(struct shape *s) {
  static const int role[TENSORS][2] = {{0, 2}, {2, 1}, {0, 1}};
  const int64_t extent[] = {s->m, s->n, s->k};
  for (int t = 0; t < TENSORS; t++) {
    int64_t row = extent[role[t][!s->turned[t]]],
            word = 4 / dtype_bytes(t == OUT ? s->out : s->in);
    word = word ? word : 1;
    s->gap[t] += (word - row % word) % word;
  }
}

/* K that ends within a small matrix, or a word: what the core's blocks have
 * behind it is cleared, in one step and in several. */
static void test_odd_k(void) {
  static const enum dtype type[][2] = {{DTYPE_BF16, DTYPE_F32},
                                       {DTYPE_I8, DTYPE_I32},
                                       {DTYPE_I8, DTYPE_I8},
                                       {DTYPE_I16, DTYPE_I32}};
  static const int64_t extent[][3] = {
      {64, 64, 85}, {96, 64, 7}, {40, 72, 1009}, {260, 132, 187}};
  enum { TYPES = sizeof type / sizeof *type };
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < (i % 3 ? 1 : TYPES);
         j++) { /* the others now and then */
      const int64_t *x = extent[i / 8];
      const enum dtype *of = type[(i + j) % TYPES];
      struct shape s = {.in = of[0],
                        .out = of[1],
                        .m = x[0],
                        .n = x[1],
                        .k = x[2],
                        .turned = {i & 1, i & 2, i & 4},
                        .gap = {4 * (i & 1), 0, 0},
                        .packed = x[2] < 1000 ? "-" : NULL};
      make_rows(&s);
      test(&s);
    }
}

/* Of two inputs one has rows that do not begin with words; in the host's copy
 * of it they do, whatever K is, in all transposes.  Where the other one lies
 * along k, or is small, it may be packed, too. */
static void test_aligned(void) {
  static const int64_t extent[][3] = {
      {200, 260, 211}, {350, 417, 309}, {161, 372, 469}};
  for (int i = 0; i < 16; i++) {
    const int64_t *x = extent[i % 3];
    bool bytes = i % 5 == 4, first = i & 8, along_k = first ? !(i & 1) : i & 2;
    struct shape s = {.in = bytes ? DTYPE_I8 : DTYPE_BF16,
                      .out = bytes ? DTYPE_I32 : DTYPE_F32,
                      .m = x[0],
                      .n = x[1],
                      .k = x[2],
                      .turned = {i & 1, i & 2, i & 4},
                      .packed = along_k || i % 3 == 0 ? NULL
                                : first               ? "in1:stride"
                                                      : "in0:stride"};
    make_rows(&s);
    s.gap[first ? IN1 : IN0]++;
    test(&s);
  }
}

/* Results that share words with what is behind a row, in all transposes: the
 * word is the device's, and the other input may have a row more there. */
static void test_odd_words(void) {
  static const int64_t extent[][3] = {
      {64, 85, 64}, {33, 131, 77}, {3, 5, 64}, {1, 1, 1}, {40, 1, 36}};
  for (int i = 0; i < 40; i++) {
    const int64_t *x = extent[i / 8];
    struct shape s = {.in = DTYPE_I8,
                      .out = DTYPE_I8,
                      .m = x[0],
                      .n = x[1],
                      .k = x[2],
                      .turned = {i & 1, i & 2, i & 4},
                      .gap = {0, 4 * (i & 1), 4 * (i & 2)},
                      .packed = i < 16 ? "-" : NULL};
    make_rows(&s);
    test(&s);
  }
}

/* Results of words beside inputs whose rows end within one: of a block of out
 * there leave fewer rows or columns than the multiply unit has, in rows without
 * gaps, too; or what is behind a row goes into a gap of the device's copy. */
static void test_odd_rows(void) {
  static const enum dtype type[][2] = {
      {DTYPE_BF16, DTYPE_F32}, {DTYPE_I8, DTYPE_I32}, {DTYPE_I16, DTYPE_I32}};
  static const int64_t extent[][3] = {
      {85, 85, 85}, {33, 131, 64}, {3, 5, 7}, {1, 1, 9}, {257, 1, 36}};
  for (int i = 0; i < 40; i++) {
    const int64_t *x = extent[i / 8];
    struct shape s = {.in = type[i % 3][0],
                      .out = type[i % 3][1],
                      .m = x[0],
                      .n = x[1],
                      .k = x[2],
                      .turned = {i & 1, i & 2, i & 4},
                      .gap = {0, 4 * (i & 1), 0},
                      .packed = i < 16 ? "-" : NULL};
    make_rows(&s);
    test(&s);
    s.gap[OUT] += 3;
    test(&s);
  }
}

/* One k: columns and rows of one element are contiguous along the other axis.
 */
static void test_outer_products(void) {
  for (int i = 0; i < 8; i++) {
    struct shape s = {.in = i & 1 ? DTYPE_I8 : DTYPE_BF16,
                      .out = i & 1 ? DTYPE_I32 : DTYPE_F32,
                      .m = 64,
                      .n = 96,
                      .k = 1,
                      .turned = {i & 1, i & 2, i & 4},
                      .gap = {0, 0, 3},
                      .packed = "-"};
    test(&s);
  }
}

/* Several rounds and panels, kept whole and in part. */
static void test_large(void) {
  for (int i = 0; i < 8; i += 3) {
    struct shape s = {.in = i & 4 ? DTYPE_I8 : DTYPE_BF16,
                      .out = i & 4 ? DTYPE_I32 : DTYPE_F32,
                      .m = 516,
                      .n = 380,
                      .k = 640,
                      .turned = {i & 1, i & 2, false},
                      .gap = {8, 20, 3},
                      .packed = "-"};
    test(&s);
  }
}

/* Device memory that is slow for what cores multiply: of a panel along k runs
 * are kept, and one or two behind each come again. */
static void test_runs(void) {
  static const int64_t extent[][3] = {{512, 512, 1344}, {384, 512, 2016}};
  setenv("NPUTEIR_OPTIONS", "preset=phoenix", 1);
  for (int i = 0; i < 2; i++) {
    struct shape s = {.in = DTYPE_BF16,
                      .out = DTYPE_F32,
                      .m = extent[i][0],
                      .n = extent[i][1],
                      .k = extent[i][2],
                      .turned = {false, true, false},
                      .gap = {8, 0, 3},
                      .packed = "-"};
    test(&s);
  }
  unsetenv("NPUTEIR_OPTIONS");
}

/* Many small products are one launch, in one descriptor's iterations or in
 * several tasks; the device's copy of converted inputs holds all of them. */
static void test_batch(void) {
  static const struct {
    int64_t batch, m, n, k;
    enum dtype in;
    bool accumulate, turned;
    int64_t gap;
    const char *trace;
  } c[] = {
      {6, 64, 64, 64, DTYPE_BF16, false, false, 0, "launches=1 "},
      {70, 16, 32, 24, DTYPE_BF16, false, false, 3, "launches=1 "},
      {64, 28, 40, 16, DTYPE_BF16, true, true, 1, "launches=1 "},
      {5, 100, 96, 72, DTYPE_I8, false, false, 2, "launches=1 "},
      {32, 32, 32, 20, DTYPE_BF16, false, false, 1, "launches=1 "},
      {16, 32, 64, 44, DTYPE_I8, false, false, 0, "launches=1 "},
      {7, 64, 32, 16, DTYPE_F32, false, false, 0, "launches=1 "},
      {3, 33, 17, 9, DTYPE_BF16, false, false, 0, "launches=3 "},
      {2, 1100, 64, 16, DTYPE_BF16, false, false, 0, "launches=1 "},
      {48, 1, 32, 32, DTYPE_BF16, false, false, 1, "launches=1 "},
      {16, 36, 1, 24, DTYPE_I8, true, false, 0, "launches=1 "},
      {5, 2, 2, 8, DTYPE_BF16, false, false, 0, "launches=1 "},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    struct nest_work w;
    char trace[1024];
    nest_gemm(&w, c[i].in, c[i].accumulate, c[i].m, c[i].n, c[i].k);
    struct nest_axis batch = {.role = AXIS_C, .extent = c[i].batch};
    const int64_t elements[] = {c[i].m * c[i].k, c[i].k * c[i].n,
                                c[i].m * c[i].n};
    for (int t = 0; t < TENSORS; t++)
      batch.stride[t] = (elements[t] + 4 * c[i].gap) * dtype_bytes(w.type[t]);
    if (c[i].turned) { /* products side by side in rows */
      w.axis[0].stride[IN0] *= c[i].batch;
      batch.stride[IN0] = w.axis[2].extent * dtype_bytes(w.type[IN0]);
    }
    w.axis[w.axis_count++] = batch;
    nest_make(&w, true, (uint32_t)i);
    bool good =
        call_with(&w, c[i].in == DTYPE_F32 ? "f32=bf16" : NULL, trace) &&
        nest_right(&w) && strstr(trace, c[i].trace);
    CHECK(good);
    if (!good)
      fprintf(stderr, "batch %lld: %s", (long long)c[i].batch, trace);
    nest_free(&w);
  }
}

/* Products whose inputs lie side by side in rows, a launch each: the last one's
 * begins within the last row, and its copy may not have a row more. */
static void test_side_by_side(void) {
  enum { M = 33, N = 7, K = 12, BATCH = 9, ROW = 2 * N * 16 };
  struct nest_work w;
  char trace[1024];
  nest_gemm(&w, DTYPE_I16, false, M, N, K);
  w.axis[2].stride[IN1] = ROW;
  struct nest_axis batch = {
      .role = AXIS_C, .extent = BATCH, .stride = {2 * M * K, 2 * N, 4 * M * N}};
  w.axis[w.axis_count++] = batch;
  nest_make(&w, true, 1);
  struct guarded in1 = guard(&w, IN1);
  CHECK(call(&w, trace) && nest_right(&w) && strstr(trace, "launches=9 "));
  release(&w, IN1, &in1);
  nest_free(&w);
}

/* Where no descriptor can walk over out as it lies, blocks of it remain. */
static void test_gaps(void) {
  struct nest_work w = {.type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                        .axis_count = 5,
                        .axis = {{AXIS_N, 17, {0, 2 * 17 * 31, 4}},
                                 {AXIS_M, 16, {2 * 34 * 24, 0, 4 * 20 * 17}},
                                 {AXIS_M, 17, {2 * 34 * 24 * 17, 0, 4 * 20}},
                                 {AXIS_K, 31, {2, 2, 0}},
                                 {AXIS_K, 16, {2 * 34, 2 * 31, 0}}}};
  char trace[1024];
  nest_make(&w, true, 1);
  CHECK(call(&w, trace) && nest_right(&w));
  nest_free(&w);
}

static void test_random(void) {
  for (uint32_t i = 1; i <= 24; i++) {
    random_state = i;
    bool bytes = pick(2);
    struct shape s = {.in = bytes ? DTYPE_I8 : DTYPE_BF16,
                      .out = bytes ? DTYPE_I32 : DTYPE_F32,
                      .m = 1 + pick(200),
                      .n = 1 + pick(200),
                      .k = 1 + pick(200)};
    for (int t = 0; t < TENSORS; t++) {
      s.turned[t] = pick(2);
      s.gap[t] = pick(6);
    }
    test(&s);
  }
}

int main(void) {
  unsetenv("NPUTEIR_OPTIONS");
  setenv("NPUTEIR_DEVICE", "sim", 1);
  setenv("NPUTEIR_TRACE", "1", 1);
  test_transposes();
  test_edges();
  test_few();
  test_padded();
  test_odd_k();
  test_aligned();
  test_odd_words();
  test_odd_rows();
  test_outer_products();
  test_gaps();
  test_random();
  test_batch();
  test_side_by_side();
  test_large();
  test_runs();
  return check_result();
}
