/* problem_test.c -- programs read as one problem, whatever their loops; near
 * misses; and the transformations that the array's schedule is made of keep
 * what the program computes. */
#include "check.h"
#include "teir_build.h"
#include "teir_problem.h"
#include "teir_transform.h"

#include <stdlib.h>
#include <string.h>

static struct teir *parse(struct arena *a, const char *text) {
  struct diag d = {0};
  struct teir *t = teir_parse(a, "test", text, &d);
  CHECK(t != NULL);
  if (!t)
    diag_print(&d, stderr);
  return t;
}

#define TENSORS_I8 "teir 1\ntensor in0 i8\ntensor in1 i8\ntensor out i8\n"
#define SUM "tensor sum i32\n"
/* m = 4, n = 3 in two axes of which one is 1, k = 2 x 5 */
#define AXES                                                                   \
  "axis m extent 4 stride in0=10 out=3\n"                                      \
  "axis n extent 3 stride in1=1 out=1\n"                                       \
  "axis o extent 1\n"                                                          \
  "axis k extent 2 stride in0=5 in1=15\n"                                      \
  "axis l extent 5 stride in0=1 in1=3\n"
#define CALLS                                                                  \
  "primitive z Zero M=[] N=[] to sum\n"                                        \
  "primitive p Contraction M=[] N=[] K=[l] from in0, in1 to sum\n"             \
  "primitive r ReLU M=[] N=[] from sum to sum\n"                               \
  "primitive s Shift M=[] N=[] from sum to out with shift=3\n"                 \
  "invoke zero calls z\ninvoke product calls p\n"                              \
  "invoke relu calls r\ninvoke shift calls s\n"

static const char finished[] =
    TENSORS_I8 SUM AXES CALLS "roots m\niterate m over m sequential do n\n"
                              "iterate n over n sequential do o\n"
                              "iterate o over o sequential do zero, k, relu, "
                              "shift\n"
                              "iterate k over k sequential do product\n";

static void test_read(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p;
  CHECK(teir_problem_read(parse(a, finished), &p, &d));
  CHECK(p.extent[AXIS_C] == 1 && p.extent[AXIS_M] == 4 &&
        p.extent[AXIS_N] == 3 && p.extent[AXIS_K] == 10);
  CHECK(p.type[IN0] == DTYPE_I8 && p.type[OUT] == DTYPE_I8 &&
        p.acc == DTYPE_I32 && !p.accumulate);
  CHECK(p.finish.relu && p.finish.saturate && p.finish.shift == 3);
  arena_close(a);
}

/* Loops that leave out a sum, finish it too early, or keep one place for all
 * sums while they are formed one behind the other. */
static void test_near_misses(void) {
  static const struct {
    const char *loops, *why;
  } miss[] = {
      {"roots m\niterate m over m sequential do n\n"
       "iterate n over n sequential do zero, k\n"
       "iterate k over k sequential do product, relu, shift\n",
       "where the sum ends"},
      {"roots m\niterate m over m sequential do zero, n, shift\n"
       "iterate n over n sequential do k, relu\n"
       "iterate k over k sequential do product\n",
       "where the sum begins"},
      {"roots m\niterate m over m sequential do n\n"
       "iterate n over n sequential do k, zero, relu, shift\n"
       "iterate k over k sequential do product\n",
       "where the sum begins"},
      {"roots m, mm\niterate m over m sequential do n\n"
       "iterate n over n sequential do zero, k\n"
       "iterate k over k sequential do product\n"
       "iterate mm over m sequential do nn\n"
       "iterate nn over n sequential do relu, shift\n",
       "do not follow each other"},
  };
  for (size_t i = 0; i < sizeof miss / sizeof *miss; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_problem p;
    struct text text = {0};
    text_printf(&text, "%s%s", TENSORS_I8 SUM AXES CALLS, miss[i].loops);
    CHECK(!teir_problem_read(parse(a, text_string(&text)), &p, &d));
    CHECK(d.kind == DIAG_DECLINED && strstr(d.text, miss[i].why));
    if (!strstr(d.text, miss[i].why))
      fprintf(stderr, "%zu: %s\n", i, d.text);
    text_free(&text);
    arena_close(a);
  }
}

/* Blocks of out that overlap: what each of them holds is one sum if it was
 * cleared after the one before was done, and if it is the same sum. */
static void test_overlap(void) {
  static const struct {
    const char *m, *loops, *why;
  } row[] = {
#define TOGETHER                                                               \
  "roots mz, k\niterate mz over m sequential do zero\n"                        \
  "iterate k over k sequential do m\niterate m over m sequential do product\n"
#define ALONE                                                                  \
  "roots m\niterate m over m sequential do zero, k\n"                          \
  "iterate k over k sequential do product\n"
#define ONTO                                                                   \
  "roots m\niterate m over m sequential do k\n"                                \
  "iterate k over k sequential do product\n"
      {"in0=80 out=48", TOGETHER, NULL}, {"in0=40 out=24", TOGETHER, "several"},
      {"in0=40 out=24", ALONE, NULL},    {"in0=80 out=24", ALONE, "different"},
      {"in0=80 out=48", ONTO, NULL},     {"in0=40 out=24", ONTO, "several"}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_problem p;
    struct text text = {0};
    text_printf(&text,
                "teir 1\ntensor in0 bf16\ntensor in1 bf16\ntensor out f32\n"
                "axis m extent 2 stride %s\n"
                "axis bm extent 4 stride in0=20 out=12\n"
                "axis bn extent 3 stride in1=2 out=4\n"
                "axis k extent 2 stride in0=10 in1=30\n"
                "axis bk extent 5 stride in0=2 in1=6\n"
                "primitive z Zero M=[bm] N=[bn]\n"
                "primitive p Contraction M=[bm] N=[bn] K=[bk]\n"
                "%sinvoke product calls p\n%s",
                row[i].m,
                strstr(row[i].loops, "zero") ? "invoke zero calls z\n" : "",
                row[i].loops);
    bool good = teir_problem_read(parse(a, text_string(&text)), &p, &d);
    CHECK(good == !row[i].why && (good || strstr(d.text, row[i].why)));
    if (good == !!row[i].why)
      fprintf(stderr, "%zu: %s\n", i, d.text);
    text_free(&text);
    arena_close(a);
  }
#undef TOGETHER
#undef ALONE
#undef ONTO
}

/* A vector that is added to the sums: along n, m, as one number; and what is
 * no vector, comes too late or is scaled. */
static void test_bias(void) {
  static const struct {
    const char *axes, *call, *order, *why;
    enum axis_role role;
  } row[] = {{"n", "", "bias, relu", NULL, AXIS_N},
             {"m", "", "bias, relu", NULL, AXIS_M},
             {"", "", "bias, relu", NULL, AXIS_N},
             {"k", "", "bias, relu", "no vector", AXIS_C},
             {"mn", "", "bias, relu", "no vector", AXIS_C},
             {"n", "", "relu, bias", "does not stand", AXIS_C},
             {"n", " with beta=2", "bias, relu", "where the sum ends", AXIS_C}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_problem p;
    struct text text = {0};
#define MOVES(axis) strchr(row[i].axes, axis) ? " x0=4" : ""
    text_printf(&text,
                TENSORS_I8 SUM
                "tensor x0 i32\n"
                "axis m extent 4 stride in0=10 out=3%s\n"
                "axis n extent 3 stride in1=1 out=1%s\n"
                "axis o extent 1\n"
                "axis k extent 2 stride in0=5 in1=15%s\n"
                "axis l extent 5 stride in0=1 in1=3\n" CALLS
                "primitive b Add M=[] N=[] from x0 to sum%s\n"
                "invoke bias calls b\n"
                "roots m\niterate m over m sequential do n\n"
                "iterate n over n sequential do o\n"
                "iterate o over o sequential do zero, k, %s, shift\n"
                "iterate k over k sequential do product\n",
                MOVES('m'), MOVES('n'), MOVES('k'), row[i].call, row[i].order);
#undef MOVES
    bool good = teir_problem_read(parse(a, text_string(&text)), &p, &d);
    CHECK(good == !row[i].why && (!good || p.finish.bias == row[i].role));
    CHECK(good || strstr(d.text, row[i].why));
    if (!good && (!row[i].why || !strstr(d.text, row[i].why)))
      fprintf(stderr, "%zu: %s\n", i, d.text);
    text_free(&text);
    arena_close(a);
  }
}

enum { MOST = 4096 };
struct memory {
  int8_t in0[MOST], in1[MOST], out[MOST];
  int32_t sum[MOST];
};

static void run(const struct teir *t, struct memory *m) {
  struct diag d = {0};
  for (int i = 0; i < MOST; i++) {
    m->in0[i] = (int8_t)(i * 7 % 23 - 11);
    m->in1[i] = (int8_t)(i * 5 % 19 - 8);
  }
  memset(m->out, 0x55, sizeof m->out);
  void *tensor[] = {m->in0, m->in1, m->out, m->sum};
  CHECK(teir_run(t, tensor, &d));
}

static bool same(const struct teir *x, const struct teir *y) {
  static struct memory m, n;
  run(x, &m), run(y, &n);
  return memcmp(m.out, n.out, sizeof m.out) == 0;
}

/* Fused axes: the same bytes. */
static void test_same_work(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = parse(a, finished);
  struct teir *fused = teir_roles_fuse(a, t, &d);
  CHECK(fused && fused->axis_count == 4 && same(t, fused));
  arena_close(a);
}

/* An i8 sum in i32 and back is the same modulo 2^8; what a ReLU sees is not. */
static void test_sum_in(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  const struct teir_problem p = {
      {1, 3, 4, 9}, {DTYPE_I8, DTYPE_I8, DTYPE_I8}, DTYPE_I8, false, {0}};
  struct teir *t = teir_from_problem(a, &p, &d);
  struct teir *wide = t ? teir_sum_in(a, t, DTYPE_I32, &d) : NULL;
  struct teir *back = wide ? teir_sum_in(a, wide, DTYPE_I8, &d) : NULL;
  CHECK(back && wide->tensor_count == 4 && back->tensor_count == 3);
  CHECK(same(t, wide) && same(t, back));
  CHECK(!teir_sum_in(a, parse(a, finished), DTYPE_I8, &d) &&
        d.kind == DIAG_DECLINED);
  arena_close(a);
}

/* The same elements in another order give the same results. */
static void test_layout(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  const struct teir_problem p = {
      {1, 3, 4, 9}, {DTYPE_I8, DTYPE_I8, DTYPE_I8}, DTYPE_I8, false, {0}};
  struct teir *t = teir_from_problem(a, &p, &d);
  int m = teir_find_axis(t, "m"), n = teir_find_axis(t, "n"),
      k = teir_find_axis(t, "k");
  struct teir *turned = teir_relayout(a, t, IN0, (int[]){k, m}, 2, &d);
  turned = teir_relayout(a, turned, IN1, (int[]){n, k}, 2, &d);
  CHECK(turned != NULL);
  static struct memory x, y;
  run(t, &x);
  memset(&y, 0, sizeof y);
  for (int l = 0; l < 9; l++) {
    for (int i = 0; i < 3; i++)
      y.in0[l * 3 + i] = x.in0[i * 9 + l];
    for (int j = 0; j < 4; j++)
      y.in1[j * 9 + l] = x.in1[l * 4 + j];
  }
  void *tensor[] = {y.in0, y.in1, y.out};
  CHECK(teir_run(turned, tensor, &d) && memcmp(x.out, y.out, 12) == 0);
  CHECK(!teir_relayout(a, t, 7, NULL, 0, &d));
  arena_close(a);
}

int main(void) {
  test_read();
  test_bias();
  test_overlap();
  test_near_misses();
  test_same_work();
  test_sum_in();
  test_layout();
  return check_result();
}
