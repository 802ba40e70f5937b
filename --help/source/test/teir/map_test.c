/* map_test.c -- the primitive Map: running it element by element and in blocks
 * gives what plain C gives; transformations treat it as an element-wise
 * operation; a contraction with a tail becomes one. */
#include "calc.h"
#include "check.h"
#include "recognizer.h"
#include "teir.h"
#include "teir_fast.h"
#include "teir_transform.h"

#include <string.h>

static struct teir *load(struct arena *a, const char *name) {
  struct diag d = {0};
  char *text =
      file_read(a, arena_printf(a, "%s/%s.teir", TEST_DIR, name), NULL, &d);
  struct teir *t = text ? teir_parse(a, name, text, &d) : NULL;
  CHECK(t);
  return t;
}

/* ---- example/tail.teir ---- */
enum { M = 3, N = 5, K = 4 };

static void run_tail(const struct teir *t, bool fast) {
  uint16_t in0[M][K], in1[K][N];
  int8_t out[M][N], want[M][N];
  float sum, x0[M] = {-3.5f, 0.25f, 100}, x1 = 0.75f;
  for (int i = 0; i < M * K; i++)
    in0[i / K][i % K] = bf16_from_f32((float)(i * 7 % 11 - 5));
  for (int i = 0; i < K * N; i++)
    in1[i / N][i % N] = bf16_from_f32((float)(i * 5 % 13 - 6));
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      out[m][n] = (int8_t)(m * 9 - n);
      float s = 0;
      for (int k = 0; k < K; k++)
        s += bf16_to_f32(in0[m][k]) * bf16_to_f32(in1[k][n]);
      float v = x1 * s + x0[m];
      v = (v > 0 ? v : 0) + (float)out[m][n];
      want[m][n] = v >= 127 ? 127 : v <= -128 ? -128 : (int8_t)v;
    }
  void *tensor[] = {in0, in1, out, &sum, x0, &x1};
  struct diag d = {0};
  bool good =
      fast ? teir_run_fast(t, tensor, 2, NULL, &d) : teir_run(t, tensor, &d);
  CHECK(good);
  CHECK(memcmp(out, want, sizeof want) == 0);
}

static void test_tail(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, "tail");
  run_tail(t, false);
  run_tail(t, true);
  struct teir *split = teir_split(a, t, teir_find_axis(t, "n"), 5, &d);
  CHECK(split);
  run_tail(split, false);
  split = teir_split(a, t, teir_find_axis(t, "m"), 1, &d);
  CHECK(split);
  run_tail(split, false);
  arena_close(a);
}

/* ---- a Map over blocks ---- */
#define BLOCKS                                                                 \
  "teir 1\ntensor out i16\ntensor sum i32\ntensor bias i32\n"                  \
  "axis m extent 40 stride out=1200 sum=2400\n"                                \
  "axis n extent 600 stride out=2 sum=4 bias=4\n"
#define EXPR "i16(add(shr(sum,i32:2),mul(bias,i32(out))))"
enum { ROWS = 40, COLUMNS = 600 };

static void run_blocks(const struct teir *t, bool fast) {
  static int16_t out[ROWS][COLUMNS], want[ROWS][COLUMNS];
  static int32_t sum[ROWS][COLUMNS], bias[COLUMNS];
  for (int m = 0; m < ROWS; m++)
    for (int n = 0; n < COLUMNS; n++) {
      sum[m][n] = (m - 20) * 12345 + n * 77;
      bias[n] = n - 300;
      out[m][n] = (int16_t)(m * n);
      want[m][n] = (int16_t)((sum[m][n] >> 2) + bias[n] * out[m][n]);
    }
  void *tensor[] = {out, sum, bias};
  struct diag d = {0};
  CHECK(fast ? teir_run_fast(t, tensor, 2, NULL, &d) : teir_run(t, tensor, &d));
  CHECK(memcmp(out, want, sizeof want) == 0);
}

static void test_blocks(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *whole = teir_parse(a, "whole",
                                  BLOCKS "primitive p Map M=[m] N=[n] from "
                                         "out, sum, bias to out expr " EXPR
                                         "\nroots c\ninvoke c calls p\n",
                                  &d);
  struct teir *loops = teir_parse(
      a, "loops",
      BLOCKS "primitive p Map M=[] N=[] from sum, out, bias to out expr " EXPR
             "\nroots m\niterate m over m parallel do n\n"
             "iterate n over n sequential do c\ninvoke c calls p\n",
      &d);
  CHECK(whole && loops);
  for (int fast = 0; fast < 2; fast++) {
    run_blocks(whole, fast);
    run_blocks(loops, fast);
  }
  int n = teir_find_node(loops, "n");
  struct teir *consumed = teir_consume(a, loops, n, TEIR_N, &d);
  CHECK(consumed && consumed->primitive[0].role[TEIR_N].count == 1);
  run_blocks(consumed, true);
  struct teir *turned =
      teir_interchange(a, loops, teir_find_node(loops, "m"), &d);
  CHECK(turned);
  run_blocks(turned, false);
  arena_close(a);
}

/* Elements that land on one place are done one after the other. */
static void test_reduction(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(
      a, "sum",
      "teir 1\ntensor out i32\ntensor x i32\naxis m extent 600 stride x=4\n"
      "primitive p Map M=[m] N=[] from x, out to out expr add(x,out)\n"
      "roots c\ninvoke c calls p\n",
      &d);
  int32_t out = 1, x[600];
  for (int i = 0; i < 600; i++)
    x[i] = i;
  void *tensor[] = {&out, x};
  CHECK(t && teir_run(t, tensor, &d) && out == 1 + 599 * 300);
  CHECK(teir_run_fast(t, tensor, 2, NULL, &d) && out == 1 + 2 * 599 * 300);
  arena_close(a);
}

/* ---- from a contraction ---- */
static struct value number(int64_t v) { return (struct value){v, -1}; }

static void test_from_contraction(void) {
  struct arena *a = arena_open();
  struct contraction_axis axis[] = {
      {.name = "i",
       .role = AXIS_M,
       .extent = number(M),
       .stride_bytes = {number(2 * K), number(0), number(N)}},
      {.name = "j",
       .role = AXIS_N,
       .extent = number(N),
       .stride_bytes = {number(0), number(2), number(1)}},
      {.name = "l",
       .role = AXIS_K,
       .extent = number(K),
       .stride_bytes = {number(2), number(2 * N), number(0)}}};
  struct value bias[] = {number(4), number(0), number(0)};
  struct contraction_extra extra[] = {
      {.tensor = 3, .outside = -1, .type = DTYPE_F32, .stride_bytes = bias},
      {.tensor = -1, .type = DTYPE_F32}};
  static const char *const name[] = {"sum", "out", "x0", "x1"};
  static const enum dtype type[] = {DTYPE_F32, DTYPE_I8, DTYPE_F32, DTYPE_F32};
  struct scan s =
      scan_open("t", "i8(add(max(add(mul(x1,sum),x0),f32:0x0p+0),f32(out)))");
  struct diag d = {0};
  struct contraction c = {.axis_count = 3,
                          .axis = axis,
                          .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_I8},
                          .acc = DTYPE_F32,
                          .tail = calc_parse(a, &s, name, type, 4, &d),
                          .extra_count = 2,
                          .extra = extra};
  CHECK(c.tail);
  struct teir *t = teir_from_contraction(a, &c, &d);
  CHECK(t);
  if (t)
    run_tail(t, false);
  struct text text = {0};
  teir_print(t, &text);
  CHECK(strstr(text_string(&text), "tensor out i8\ntensor sum f32\n"
                                   "tensor x0 f32\ntensor x1 f32\n"));
  CHECK(strstr(text_string(&text), "axis i extent 3 stride in0=8 out=5 x0=4"));
  CHECK(teir_parse(a, "again", text_string(&text), &d));
  text_free(&text);
  arena_close(a);
}

int main(void) {
  test_tail();
  test_blocks();
  test_reduction();
  test_from_contraction();
  return check_result();
}
