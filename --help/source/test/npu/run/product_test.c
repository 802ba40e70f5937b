/* product_test.c -- random contractions through the runtime with a fake
 * device: any axes and layouts, padding, splitting, accumulation; every byte of
 * out and around it is compared with naive loops. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of every kind of random call, this many hundreds, from this seed: the tests
 * try a few, `run fuzz` many. */
static int hundreds = 1;
static uint32_t seed = 1;

static uint32_t state = 1;
static uint32_t pick(uint32_t below) {
  state = state * 1664525 + 1013904223;
  return (state >> 8) % below;
}

static void random_launch(void) {
  fake = (struct fake){0};
  if (pick(4) == 0)
    return;
  fake.m = 1 + pick(20);
  fake.n = 1 + pick(20);
  fake.k = 1 + pick(20);
  fake.copies = (int)pick(17);
  if (pick(2)) {
    fake.split = 2 + (int)pick(3);
    fake.m = (fake.m + fake.split) / fake.split * fake.split;
    fake.n = (fake.n + fake.split) / fake.split * fake.split;
    fake.k = (fake.k + fake.split) / fake.split * fake.split;
  }
}

/* Some integer inputs become as wide as the sums. */
static void widen(struct nest_work *w) {
  for (int t = IN0; t <= IN1; t++) {
    if (dtype_bytes(w->type[t]) != 1 || pick(2))
      continue;
    w->type[t] = pick(2) ? DTYPE_I32 : DTYPE_U32;
    for (int i = 0; i < w->axis_count; i++)
      w->axis[i].stride[t] *= 4;
  }
}

static void test_random(void) {
  int64_t launches = 0;
  for (int i = 0; i < 600 * hundreds && check_failures < 5; i++) {
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    nest_random(&w, i % 2, seed + (uint32_t)i);
    widen(&w);
    random_launch();
    nest_make(&w, pick(2), 7 + (uint32_t)i);
    bool done = nest_call(&w, r, NULL, &report);
    if (!done)
      fprintf(stderr, "declined: %s\n%s", report.reason.text, w.teir);
    CHECK(done);
    CHECK(nest_right(&w));
    launches += report.launches;
    nest_free(&w);
    run_close(r);
  }
  CHECK(launches > 1500 * hundreds);
}

/* The trace says of an input that it was copied for that reason. */
static bool copied(const struct run_report *r, const char *why) {
  for (int t = IN0; t <= IN1; t++)
    if (r->packed[t] && strcmp(r->packed[t], why) == 0)
      return r->host_bytes > 0;
  return false;
}

/* Products that count only within limits: on the fake device, which takes
 * launches, and on the host. */
static void test_limits(const char *device) {
  int done = 0, declined = 0;
  for (int i = 0; i < 200 * hundreds && check_failures < 5; i++) {
    struct run *r = nest_open(device);
    struct nest_work w;
    struct run_report report;
    nest_random(&w, i % 2, seed + (uint32_t)i);
    nest_random_limits(&w, 3 + (uint32_t)i);
    random_launch();
    nest_make(&w, pick(2), 7 + (uint32_t)i);
    if (nest_call(&w, r, NULL, &report)) {
      done++;
      CHECK(nest_right(&w));
      CHECK(nest_needs_all(&w));
      CHECK(!report.launches || copied(&report, "zeros"));
    } else {
      declined++;
      bool left_out = strstr(report.reason.text, "at which no product counts");
      CHECK(left_out && !nest_needs_all(&w));
      if (!left_out)
        fprintf(stderr, "declined: %s\n%s", report.reason.text, w.teir);
    }
    nest_free(&w);
    run_close(r);
  }
  CHECK(done > 100 * hundreds && declined > 3 * hundreds);
}

/* Factors that are made of elements, with limits and without. */
static void test_maps(const char *device) {
  int done = 0;
  for (int i = 0; i < 200 * hundreds && check_failures < 5; i++) {
    struct run *r = nest_open(device);
    struct nest_work w;
    struct run_report report;
    nest_random(&w, false, seed + (uint32_t)i);
    nest_random_maps(&w, 5 + (uint32_t)i);
    if (i % 3 == 0)
      nest_random_limits(&w, 3 + (uint32_t)i);
    random_launch();
    nest_make(&w, pick(2), 7 + (uint32_t)i);
    bool good = nest_call(&w, r, NULL, &report);
    CHECK(good ? nest_right(&w) : w.limit_count > 0);
    if (!good && !w.limit_count)
      fprintf(stderr, "declined: %s\n%s", report.reason.text, w.teir);
    done += good;
    nest_free(&w);
    run_close(r);
  }
  CHECK(done > 130 * hundreds);
}

/* The same through the host device, TEIR executed as it is. */
static void test_host(void) {
  struct run *r = nest_open("host");
  for (int i = 0; i < 100 * hundreds && check_failures < 5; i++) {
    struct nest_work w;
    struct run_report report;
    nest_random(&w, i % 2, seed + (uint32_t)i);
    nest_make(&w, pick(2), 7 + (uint32_t)i);
    CHECK(nest_call(&w, r, NULL, &report));
    CHECK(nest_right(&w));
    nest_free(&w);
  }
  run_close(r);
}

/* What stands in memory is what plain C leaves there: halves, wrapped bytes,
 * transposed results, a bias along rows, old content read as an extra. */
static void test_tail_by_hand(void) {
  enum { M = 3, N = 300, K = 2 };
  static const char teir[] =
      "teir 1\ntensor in0 i8\ntensor in1 i8\ntensor out i8\ntensor sum i32\n"
      "tensor x0 i8\ntensor x1 i32\n"
      "axis m extent 3 stride in0=2 out=1 x0=1 x1=4\n"
      "axis n extent 300 stride in1=1 out=3 x0=3\n"
      "axis k extent 2 stride in0=1 in1=300\n"
      "primitive zero Zero M=[] N=[] to sum\n"
      "primitive mac Contraction M=[] N=[] K=[] from in0, in1 to sum\n"
      "primitive tail Map M=[] N=[] from x1, sum, x0 to out "
      "expr i8(sub(add(sum,x1),i32(x0)))\n"
      "roots m\niterate m over m sequential do n\n"
      "iterate n over n sequential do zero, k, tail\n"
      "iterate k over k sequential do mac\n"
      "invoke zero calls zero\ninvoke mac calls mac\ninvoke tail calls tail\n";
  static const char *const device[] = {"fake", "host"};
  for (int i = 0; i < 2; i++) {
    int8_t in0[M][K], in1[K][N], out[N][M], want[N][M];
    int32_t bias[M] = {1000, -70000, 5};
    int64_t sum;
    for (int x = 0; x < M * K; x++)
      in0[x / K][x % K] = (int8_t)(x * 50 - 128);
    for (int x = 0; x < K * N; x++)
      in1[x / N][x % N] = (int8_t)(x * 7);
    for (int n = 0; n < N; n++)
      for (int m = 0; m < M; m++) {
        out[n][m] = (int8_t)(n + 100 * m);
        want[n][m] = (int8_t)(in0[m][0] * in1[0][n] + in0[m][1] * in1[1][n] +
                              bias[m] - out[n][m]);
      }
    void *tensor[] = {in0, in1, out, &sum, out, bias};
    struct run_request q = {.teir = teir, .tensor = tensor, .tensor_count = 6};
    struct run *r = nest_open(device[i]);
    struct run_report report;
    fake = (struct fake){.m = 2, .k = 1, .n = 7};
    CHECK(run_call(r, &q, &report));
    CHECK(memcmp(out, want, sizeof out) == 0);
    run_close(r);
  }
}

/* Floats on a device that multiplies bf16: rounded to 8 bits, or split; K is
 * cut at places that have nothing to do with the thirds. */
static void test_floats(void) {
  static const struct {
    enum dtype in;
    const char *options, *did;
    double error;
  } c[] = {{DTYPE_F32, "f32=bf16", "bf16", 0x1p-8},
           {DTYPE_F32, "f32=bf16x3", "bf16x3", 0x1p-16},
           {DTYPE_F64, "f32=bf16", "bf16", 0x1p-8},
           {DTYPE_F64, "f32=bf16x3", "bf16x3", 0x1p-16},
           {DTYPE_F16, "f32=bf16", "bf16", 0x1p-8},
           {DTYPE_F16, "f32=bf16x3", "bf16x3", 0x1p-16}};
  struct run *r = nest_open("fake");
  for (size_t i = 0; i < sizeof c / sizeof *c; i++)
    for (int cut = 0; cut < 4; cut++) {
      struct nest_work w;
      struct run_report report;
      nest_gemm(&w, c[i].in, cut % 2, 9, 11, 13);
      if (cut == 3) /* one input is bf16 already */
        w.type[IN1] = DTYPE_BF16;
      nest_make(&w, true, 1);
      nest_fill_floats(&w, 5 + (uint32_t)i);
      fake = (struct fake){0};
      if (cut)
        fake = (struct fake){.m = 4, .n = 5, .k = cut == 1 ? 5 : 17};
      CHECK(!nest_call(&w, r, NULL, &report));
      CHECK(strstr(report.reason.text, "f32=bf16x3"));
      CHECK(nest_call(&w, r, c[i].options, &report));
      CHECK(report.f32 && strcmp(report.f32, c[i].did) == 0);
      double error = nest_float_error(&w);
      CHECK(error < c[i].error && error > 0x1p-24);
      nest_free(&w);
    }
  run_close(r);
}

/* Infinities and NaN go where they go in f32, whatever stands beside them. */
static void test_split_infinities(void) {
  struct run *r = nest_open("fake");
  struct nest_work w;
  struct run_report report;
  nest_gemm(&w, DTYPE_F32, false, 4, 2, 2);
  nest_make(&w, true, 1);
  float *in0 = (float *)(w.memory[IN0] + NEST_GUARD);
  float *in1 = (float *)(w.memory[IN1] + NEST_GUARD);
  float *out = (float *)(w.memory[OUT] + NEST_GUARD);
  memcpy(in0, (float[]){INFINITY, 1, -INFINITY, 1, NAN, 1, 3, 1}, 32);
  memcpy(in1, (float[]){2, 0.1f, 1, INFINITY}, 16);
  fake = (struct fake){0};
  CHECK(nest_call(&w, r, "f32=bf16x3", &report));
  CHECK(out[0] == INFINITY && out[1] == INFINITY);
  CHECK(out[2] == -INFINITY && isnan(out[3]));
  CHECK(isnan(out[4]) && isnan(out[5]));
  CHECK(out[6] == 7 && out[7] == INFINITY);
  nest_free(&w);
  run_close(r);
}

/* What a device is asked for first; the fake one sums only, so that the tail is
 * applied here all the same. */
static void test_finish(void) {
  for (int i = 0; i < nest_finish_count; i++) {
    const struct nest_finish *f = &nest_finishes[i];
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    fake = (struct fake){0};
    nest_gemm_finish(&w, f);
    nest_make(&w, true, 5);
    CHECK(nest_call(&w, r, NULL, &report));
    CHECK(nest_right(&w));
    const struct teir_problem *asked = &fake.finished;
    CHECK((asked->extent[AXIS_M] > 0) == f->finishes);
    bool right =
        !f->finishes ||
        (asked->type[OUT] == f->out && asked->finish.relu == f->finish.relu &&
         asked->finish.bias == f->finish.bias &&
         asked->finish.keeps_nan == f->finish.keeps_nan &&
         asked->finish.saturate == f->finish.saturate &&
         asked->finish.shift == f->finish.shift);
    CHECK(right);
    if ((asked->extent[AXIS_M] > 0) != f->finishes || !right)
      fprintf(stderr, "%s: %s\n", dtype_name(f->out), f->tail);
    nest_free(&w);
    run_close(r);
  }
}

/* A bias of few elements is added here. */
static void test_small_bias(void) {
  static const struct nest_finish bias = {
      DTYPE_I8, DTYPE_I32, DTYPE_I8, "i8(add(sum,x0))", true, {0}, "n"};
  for (int i = 0; i < 2; i++) {
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    fake = (struct fake){0};
    nest_gemm_finish(&w, &bias);
    w.axis[0].extent = i ? 46 : 45; /* of 180: 8192 lie between */
    nest_make(&w, true, 5);
    CHECK(nest_call(&w, r, NULL, &report) && nest_right(&w));
    CHECK((fake.finished.extent[AXIS_M] > 0) == i);
    nest_free(&w);
    run_close(r);
  }
}

static void test_empty(void) {
  static const struct {
    int64_t m, n, k;
  } size[] = {{0, 5, 5}, {5, -3, 5}, {5, 5, 0}, {4, 4, -7}, {0, 0, 0}};
  struct run *r = nest_open("fake");
  fake = (struct fake){0};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int accumulate = 0; accumulate < 3; accumulate++) { /* 2: a tail */
      struct nest_work w;
      struct run_report report;
      nest_gemm(&w, DTYPE_BF16, accumulate == 1, size[i].m, size[i].n,
                size[i].k);
      w.tail = accumulate == 2 ? "sub(f32:0x1p+2,add(sum,out))" : NULL;
      w.acc = DTYPE_F32;
      for (int x = 0; x < 3; x++)
        for (int t = 0; t < TENSORS; t++)
          if (w.axis[x].stride[t])
            w.axis[x].stride[t] = 64; /* out is 5 rows of 64 bytes */
      w.axis[1].stride[IN1] = w.axis[2].stride[IN0] = 2;
      w.axis[1].stride[OUT] = 4;
      nest_make(&w, true, 3);
      CHECK(nest_call(&w, r, NULL, &report));
      CHECK(nest_right(&w) && report.launches == 0);
      nest_free(&w);
    }
  CHECK(fake.compiles == 0);
  run_close(r);
}

/* Arguments: hundreds, and the seed. */
int main(int argc, char **argv) {
  unsetenv("NPUTEIR_OPTIONS");
  hundreds = argc > 1 ? atoi(argv[1]) : hundreds;
  state = seed = argc > 2 ? (uint32_t)atoi(argv[2]) : seed;
  test_random();
  test_limits("fake");
  test_limits("host");
  test_maps("fake");
  test_maps("host");
  test_host();
  test_tail_by_hand();
  test_floats();
  test_split_infinities();
  test_finish();
  test_small_bias();
  test_empty();
  return check_result();
}
