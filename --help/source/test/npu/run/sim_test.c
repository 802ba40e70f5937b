/* sim_test.c -- whole products through the library that programs link: the
 * compiler, the binaries, the simulated array, and the copies around them. */
#include "check.h"
#include "nest.h"
#include "nputeir-rt.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int call_with(struct nest_work *w, const char *how) {
  void *tensor[NEST_TENSORS];
  uint64_t count = nest_tensors(w, tensor);
  return nputeir_call_1(w->teir, how, "sim_test.c", w->value,
                        (uint64_t)w->value_count, tensor, count);
}

static const char *options; /* of a call */

static int call(struct nest_work *w) { return call_with(w, options); }

static bool right(enum dtype in, bool accumulate, int64_t m, int64_t n,
                  int64_t k) {
  struct nest_work w;
  nest_gemm(&w, in, accumulate, m, n, k);
  nest_make(&w, true, 1);
  bool good = call(&w) == 0 && nest_right(&w);
  if (!good)
    fprintf(stderr, "%s %lldx%lldx%lld is wrong\n", dtype_name(in),
            (long long)m, (long long)n, (long long)k);
  nest_free(&w);
  return good;
}

static void test_sizes(void) {
  static const int64_t size[][3] = {{1, 1, 1},    {17, 1, 33},   {1, 64, 1},
                                    {33, 17, 9},  {100, 37, 65}, {64, 80, 64},
                                    {5, 130, 129}};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int accumulate = 0; accumulate < 2; accumulate++) {
      CHECK(right(DTYPE_BF16, accumulate, size[i][0], size[i][1], size[i][2]));
      CHECK(right(DTYPE_I8, accumulate, size[i][0], size[i][1], size[i][2]));
    }
}

/* Transposed inputs and output, two K axes, a batch: strides decide. */
static void test_layouts(void) {
  struct nest_work w = {.type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                        .axis_count = 5,
                        .axis = {{AXIS_K, 6, {2, 2 * 9 * 20, 0}},
                                 {AXIS_C, 2, {12 * 6 * 20, 2, 4 * 11}},
                                 {AXIS_N, 10, {0, 4, 4 * 22}},
                                 {AXIS_K, 9, {12, 2 * 20, 0}},
                                 {AXIS_M, 11, {12 * 9, 0, 4}}}};
  nest_make(&w, true, 5);
  CHECK(call(&w) == 0 && nest_right(&w));
  nest_free(&w);
}

static void test_random(void) {
  for (uint32_t i = 1; i <= 60; i++) {
    struct nest_work w;
    nest_random(&w, i % 3, i);
    nest_make(&w, i % 2, i);
    bool good = call(&w) == 0 && nest_right(&w);
    if (!good)
      fprintf(stderr, "random nest %u is wrong:\n%s", i, w.teir);
    CHECK(good);
    nest_free(&w);
  }
}

/* Every triple of types, integers over their whole range: done and right, or
 * declined and out as it was. */
static void test_types(void) {
  int done = 0;
  for (int i = 0; i < DTYPE_COUNT * DTYPE_COUNT * DTYPE_COUNT; i++) {
    struct nest_work w;
    nest_gemm(&w, DTYPE_I8, i % 2, 9, 10, 11);
    w.type[IN0] = (enum dtype)(i % DTYPE_COUNT);
    w.type[IN1] = (enum dtype)(i / DTYPE_COUNT % DTYPE_COUNT);
    w.type[OUT] = (enum dtype)(i / DTYPE_COUNT / DTYPE_COUNT);
    for (int t = 0; t < TENSORS; t++) {
      int64_t bytes = dtype_bytes(w.type[t]);
      for (int x = 0; x < 3; x++)
        if (w.axis[x].stride[t])
          w.axis[x].stride[t] = bytes;
    }
    w.axis[0].stride[IN0] *= 11;
    w.axis[0].stride[OUT] *= 10;
    w.axis[2].stride[IN1] *= 10;
    nest_make(&w, true, 1);
    size_t bytes = w.bytes[OUT] + 2 * NEST_GUARD;
    char *before = malloc(bytes);
    memcpy(before, w.memory[OUT], bytes);
    bool good = call(&w) == 0 ? ++done && nest_right(&w)
                              : memcmp(before, w.memory[OUT], bytes) == 0;
    if (!good)
      fprintf(stderr, "%s x %s -> %s is wrong\n", dtype_name(w.type[IN0]),
              dtype_name(w.type[IN1]), dtype_name(w.type[OUT]));
    CHECK(good);
    free(before);
    nest_free(&w);
  }
  CHECK(done >= 2);
}

/* Sums of the largest products wrap modulo 2^32, where saturating once on the
 * way would show; long enough for several steps along K. */
static void test_wrapping(void) {
  static const enum dtype type[][2] = {
      {DTYPE_I16, DTYPE_I16}, {DTYPE_U16, DTYPE_U16}, {DTYPE_I16, DTYPE_I8}};
  static const int64_t edge[] = {-32768, 32767, -32768, -32768, 32767, 0};
  for (size_t i = 0; i < sizeof type / sizeof *type; i++)
    for (int64_t k = 2; k <= 1000; k = 3 * k + 1) {
      struct nest_work w;
      nest_gemm(&w, DTYPE_I16, k % 2, 20, 24, k);
      for (int t = 0; t < OUT; t++)
        w.type[t] = type[i][t];
      for (int x = 0; x < 3 && type[i][IN1] == DTYPE_I8; x++)
        w.axis[x].stride[IN1] /= 2;
      nest_make_with(&w, edge, k % 2 ? 1 : 6, 1);
      CHECK(call(&w) == 0 && nest_right(&w));
      nest_free(&w);
    }
}

/* Integers of 32 bits in halves, over all of their range; both inputs, or one
 * beside a narrow one. */
enum { WIDE_SIZES = 5 };
static void test_wide_ints(int sizes) {
  static const enum dtype type[][2] = {{DTYPE_I32, DTYPE_I32},
                                       {DTYPE_U32, DTYPE_I32},
                                       {DTYPE_I32, DTYPE_I8},
                                       {DTYPE_I16, DTYPE_I8},
                                       {DTYPE_U16, DTYPE_U32}};
  static const int64_t size[WIDE_SIZES][3] = {
      {1, 1, 1}, {20, 24, 40}, {64, 64, 64}, {100, 84, 36}, {257, 131, 77}};
  static const int64_t edge[] = {INT32_MIN, INT32_MAX, 32768, -32769, 65535};
  for (size_t i = 0; i < sizeof type / sizeof *type; i++)
    for (int j = 0; j < sizes; j++) {
      struct nest_work w;
      int64_t m = size[j][0], n = size[j][1], k = size[j][2];
      nest_gemm(&w, DTYPE_I32, j % 2, m, n, k);
      for (int t = 0; t < OUT; t++)
        w.type[t] = type[i][t];
      for (int x = 0; x < 3; x++)
        for (int t = 0; t < OUT; t++)
          w.axis[x].stride[t] =
              w.axis[x].stride[t] / 4 * dtype_bytes(w.type[t]);
      if (j % 2)
        nest_make_with(&w, edge, 5, 1);
      else
        nest_make(&w, true, 1);
      CHECK(call(&w) == 0 && nest_right(&w));
      nest_free(&w);
    }
}

/* f32 inputs: 8 bits when rounded, 16 when split, by the real kernels. */
static void test_floats(void) {
  static const struct {
    const char *options;
    double error;
  } c[] = {{"f32=bf16", 0x1p-8}, {"f32=bf16x3", 0x1p-16}};
  for (int i = 0; i < 2; i++) {
    struct nest_work w;
    nest_gemm(&w, DTYPE_F32, false, 33, 40, 50);
    nest_make(&w, true, 1);
    nest_fill_floats(&w, 3);
    CHECK(call(&w) != 0);
    CHECK(call_with(&w, c[i].options) == 0);
    CHECK(nest_float_error(&w) < c[i].error);
    nest_free(&w);
  }
}

/* Results that the array forms, and those that are left to the runtime. */
static void test_finish(void) {
  for (int i = 0; i < nest_finish_count; i++) {
    struct nest_work w;
    nest_gemm_finish(&w, &nest_finishes[i]);
    nest_make(&w, true, 9);
    bool good = call(&w) == 0 && nest_right(&w);
    if (!good)
      fprintf(stderr, "%s is wrong\n", w.tail);
    CHECK(good);
    nest_free(&w);
  }
}

/* A bias along m or n in several rounds of both, some of whose ends
 * do not fit. */
static void test_bias(void) {
  static const struct {
    int m, n, k;
  } size[] = {{300, 70, 40}, {264, 520, 24}, {1100, 33, 16}, {512, 260, 72}};
  for (size_t i = 0; i < 2 * sizeof size / sizeof *size; i++) {
    int m = size[i / 2].m, n = size[i / 2].n, k = size[i / 2].k;
    bool floats = i % 2;
    enum dtype in = floats ? DTYPE_BF16 : DTYPE_I8,
               acc = floats ? DTYPE_F32 : DTYPE_I32;
    struct nest_work w;
    nest_gemm(&w, in, false, m, n, k);
    w.tail = floats ? "bf16(max(add(sum,x0),f32:0x0p+0))"
                    : "i8(min(max(shr(add(add(sum,x0),i32:2),i32:2),i32:-128),"
                      "i32:127))";
    w.acc = acc;
    w.type[OUT] = in;
    w.axis[0].stride[OUT] = n * dtype_bytes(in);
    w.axis[1].stride[OUT] = dtype_bytes(in);
    w.extra_count = 1;
    w.extra_type[0] = acc;
    w.axis[i / 2 % 2].extra[0] = dtype_bytes(acc);
    nest_make(&w, true, 11);
    bool good = call(&w) == 0 && nest_right(&w);
    if (!good)
      fprintf(stderr, "%d x %d x %d %s is wrong\n", m, n, k, w.tail);
    CHECK(good);
    nest_free(&w);
  }
}

static int thread_failures[2];
static void *thread(void *number) {
  int id = *(int *)number;
  for (int i = 0; i < 6; i++)
    if (!right(i % 2 ? DTYPE_I8 : DTYPE_BF16, i % 3 == 0, 20 + 4 * (i % 2),
               7 + id, 12))
      thread_failures[id]++;
  return NULL;
}

static void test_threads(void) {
  pthread_t t[2];
  int id[2] = {0, 1};
  for (int i = 0; i < 2; i++)
    CHECK(pthread_create(&t[i], NULL, thread, &id[i]) == 0);
  for (int i = 0; i < 2; i++) {
    pthread_join(t[i], NULL);
    CHECK(thread_failures[i] == 0);
  }
}

/* in0 in the place of out: the loop must run, so out is as it was. */
static void test_declined(void) {
  struct nest_work w;
  nest_gemm(&w, DTYPE_I8, false, 4, 4, 4);
  nest_make(&w, true, 1);
  size_t bytes = w.bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes), *in0 = w.memory[IN0];
  memcpy(before, w.memory[OUT], bytes);
  w.memory[IN0] = w.memory[OUT];
  CHECK(call(&w) != 0);
  CHECK(memcmp(before, w.memory[OUT], bytes) == 0);
  w.memory[IN0] = in0;
  free(before);
  nest_free(&w);
}

/* ---- XDNA2 ---- */

/* 8 values as block floats have them: 8 bits each, below the largest one's
 * exponent. */
static void block_floats(double v[8]) {
  int largest = -1000;
  for (int i = 0; i < 8; i++)
    if (v[i] != 0 && ilogb(v[i]) > largest)
      largest = ilogb(v[i]);
  for (int i = 0; i < 8 && largest > -1000; i++)
    v[i] = ldexp(fmin(nearbyint(ldexp(v[i], 6 - largest)), 127), largest - 6);
}

static double element(const void *base, int64_t i) {
  return dtype_load_float(DTYPE_BF16, (const char *)base + 2 * i);
}

/* A product of fractions, which block floats do not hold: what they make of it
 * but for the rounding of sums, and how far that is from the exact one, as a
 * part of the sum of |a b|. */
static bool by_blocks(int64_t m, int64_t n, int64_t k, double *error) {
  struct nest_work w;
  void *tensor[NEST_TENSORS];
  nest_gemm(&w, DTYPE_BF16, false, m, n, k);
  nest_make(&w, true, 1);
  nest_tensors(&w, tensor);
  srand(7);
  for (int64_t i = 0; i < m * k + k * n; i++)
    dtype_store_float(DTYPE_BF16,
                      (char *)(i < m * k ? tensor[IN0] : tensor[IN1]) +
                          2 * (i < m * k ? i : i - m * k),
                      ldexp(rand() % 65536 - 32768, -15 - rand() % 4));
  bool good = call_with(&w, "bf16=bfp16") == 0;
  *error = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double exact = 0, model = 0, scale = 0;
      for (int64_t q = 0; q < k; q += 8) {
        double a[8] = {0}, b[8] = {0};
        for (int64_t x = q; x < q + 8 && x < k; x++) {
          a[x - q] = element(tensor[IN0], i * k + x);
          b[x - q] = element(tensor[IN1], x * n + j);
          exact += a[x - q] * b[x - q];
          scale += fabs(a[x - q] * b[x - q]);
        }
        block_floats(a);
        block_floats(b);
        for (int x = 0; x < 8; x++)
          model += a[x] * b[x];
      }
      float got;
      memcpy(&got, (char *)tensor[OUT] + 4 * (i * n + j), 4);
      good = good && fabs(got - model) <= ldexp((double)k, -24) * scale;
      *error = fmax(*error, fabs(got - exact) / scale);
    }
  nest_free(&w);
  return good;
}

/* What block floats do not know is multiplied one by one. */
static void test_infinite(void) {
  static const uint16_t special[] = {0x7F80, 0xFF80, 0x7FC0};
  for (int i = 0; i < 6; i++) {
    struct nest_work w;
    void *tensor[NEST_TENSORS];
    nest_gemm(&w, DTYPE_BF16, i % 2, 33, 40, 50);
    nest_make(&w, true, 1);
    nest_tensors(&w, tensor);
    memcpy((char *)tensor[i / 3] + 2 * (33 * 37 + i), &special[i % 3], 2);
    CHECK(call_with(&w, "bf16=bfp16") == 0);
    int odd = 0;
    for (int at = 0; at < 33 * 40; at++) {
      float got;
      memcpy(&got, (char *)tensor[OUT] + 4 * at, sizeof got);
      odd += !isfinite(got);
    }
    CHECK(odd == (i / 3 ? 33 : 40));
    nest_free(&w);
  }
}

/* Products of integers, of bf16 one by one and as block floats where these are
 * allowed, and of floats as their parts. */
static int test_second_generation(void) {
  setenv("NPUTEIR_DEVICE", "sim:krackan", 1);
  static const int64_t size[][3] = {
      {1, 1, 1}, {33, 17, 9}, {100, 37, 65}, {64, 80, 64}};
  double error;
  static const enum dtype type[] = {DTYPE_I8, DTYPE_I16, DTYPE_BF16};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int t = 0; t < 3; t++)
      CHECK(right(type[t], i % 2, size[i][0], size[i][1], size[i][2]));
  test_layouts();
  test_floats();
  test_wrapping();
  test_wide_ints(3);
  test_infinite();
  CHECK(by_blocks(64, 64, 64, &error) && error < 0x1p-6);
  CHECK(by_blocks(80, 96, 192, &error) && error < 0x1p-6);
  CHECK(by_blocks(33, 50, 1030, &error) && error < 0x1p-6);
  by_blocks(80, 96, 200, &error); /* the 8 values are others */
  CHECK(error < 0x1p-6);
  /* what block floats hold is exact */
  options = "bf16=bfp16";
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    CHECK(right(DTYPE_BF16, i % 2, size[i][0], size[i][1], size[i][2]));
  test_layouts();
  return check_result();
}

int main(int argc, char **argv) {
  unsetenv("NPUTEIR_OPTIONS");
  if (argc > 1 && strcmp(argv[1], "npu4") == 0)
    return test_second_generation();
  setenv("NPUTEIR_DEVICE", "sim", 1);
  test_sizes();
  test_layouts();
  test_random();
  test_types();
  test_wrapping();
  test_wide_ints(WIDE_SIZES);
  test_floats();
  test_finish();
  test_bias();
  test_threads();
  test_declined();
  return check_result();
}
