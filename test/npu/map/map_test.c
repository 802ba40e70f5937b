/* map_test.c -- the blocked schedule computes the product (by the oracle, on
 * data packed here by hand), blocks fit a core, bad schedules are refused. */
#include "check.h"
#include "map.h"

#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static const struct device *device(void) { return device_find("npu1"); }
static const struct platform *platform(void) {
  static struct platform at;
  CHECK(platform_find("npu1", &at, NULL));
  return &at;
}

/* Packs by the documented layouts, runs the schedule, compares with loops. */
static void test_product(int m, int n, int k, int group) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct map_problem p = {m,        n,         k,         DTYPE_I8,
                          DTYPE_I8, DTYPE_I32, DTYPE_I32, {0}};
  struct map_blocking b;
  CHECK(map_choose(platform(), &p, &b, &d));
  if (group == 2 && b.group_m == 1) {
    b.group_m = 2;
    b.rounds_m = (b.rounds_m + 1) / 2;
  }
  struct teir *t = map_schedule(a, device(), &p, &b);
  CHECK(teir_verify(t, &d));
  int g = b.group_m;
  int rows = 4 * b.rounds_m * g * b.block_m;
  int columns = 4 * b.rounds_n * b.block_n, depth = b.steps_k * b.block_k;
  CHECK(rows >= m && columns >= n && depth >= k);
  int8_t *in0 = calloc((size_t)rows * (size_t)depth, 1);
  int8_t *in1 = calloc((size_t)columns * (size_t)depth, 1);
  int32_t *out = malloc((size_t)rows * (size_t)columns * 4);
  memset(out, 0x55, (size_t)rows * (size_t)columns * 4);
  for (int i = 0; i < m; i++)
    for (int l = 0; l < k; l++) {
      int bi = i / b.block_m, step = l / b.block_k;
      int block = (bi / g * b.steps_k + step) * g + bi % g;
      in0[(block * b.block_m + i % b.block_m) * b.block_k + l % b.block_k] =
          (int8_t)(i * 3 + l);
    }
  for (int l = 0; l < k; l++)
    for (int j = 0; j < n; j++) {
      int block = j / b.block_n * b.steps_k + l / b.block_k;
      in1[(block * b.block_k + l % b.block_k) * b.block_n + j % b.block_n] =
          (int8_t)(l * 5 - j);
    }
  void *tensor[] = {in0, in1, out};
  CHECK(teir_run(t, tensor, &d));
  int wrong = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int32_t sum = 0;
      for (int l = 0; l < k; l++)
        sum += (int8_t)(i * 3 + l) * (int8_t)(l * 5 - j);
      int bi = i / b.block_m, bj = j / b.block_n;
      int row = bi / g / b.rounds_m, im = bi / g % b.rounds_m;
      int column = bj / b.rounds_n, jn = bj % b.rounds_n;
      int block = ((column * b.rounds_m + im) * b.rounds_n + jn) * g + bi % g;
      block = block * 4 + row;
      wrong += out[(block * b.block_m + i % b.block_m) * b.block_n +
                   j % b.block_n] != sum;
    }
  CHECK(wrong == 0);
  struct tile_program *q = map_program(a, t, device(), &d);
  CHECK(q && q->group_m == g);
  free(in0), free(in1), free(out);
  arena_close(a);
}

static void test_blocks_fit(void) {
  static const int size[] = {1, 17, 64, 100, 257, 1000, 4096};
  static const enum dtype type[][3] = {{DTYPE_BF16, DTYPE_F32, DTYPE_F32},
                                       {DTYPE_BF16, DTYPE_F32, DTYPE_BF16},
                                       {DTYPE_I8, DTYPE_I32, DTYPE_I32},
                                       {DTYPE_I8, DTYPE_I32, DTYPE_U8},
                                       {DTYPE_I8, DTYPE_I8, DTYPE_I8}};
  for (int i = 0; i < 7 * 7 * 7 * 5; i++) {
    const enum dtype *of = type[i / 343];
    struct map_problem p = {.m = size[i % 7],
                            .n = size[i / 7 % 7],
                            .k = size[i / 49 % 7],
                            .in0 = of[0],
                            .in1 = of[0],
                            .acc = of[1],
                            .out = of[2]};
    struct map_blocking b;
    struct diag d = {0};
    CHECK(map_choose(platform(), &p, &b, &d));
    int in = dtype_bytes(p.in0), sums = dtype_bytes(p.acc);
    CHECK(2 * in * b.block_k * (b.block_m + b.block_n) +
              2 * sums * b.block_m * b.block_n <=
          65536);
    CHECK((int64_t)b.block_m * b.group_m * b.rounds_m * 4 >= p.m &&
          (int64_t)b.block_n * b.rounds_n * 4 >= p.n &&
          (int64_t)b.block_k * b.steps_k >= p.k);
  }
}

static void test_program(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct map_problem p = {512,        256,       512,       DTYPE_BF16,
                          DTYPE_BF16, DTYPE_F32, DTYPE_F32, {0}};
  struct map_blocking b;
  CHECK(map_choose(platform(), &p, &b, &d));
  struct teir *t = map_schedule(a, device(), &p, &b);
  struct tile_program *q = map_program(a, t, device(), &d);
  CHECK(q && q->rows == 4 && q->columns == 4 && q->zero);
  CHECK(q->block_m == b.block_m && q->rounds_n == b.rounds_n &&
        q->steps_k == b.steps_k);
  CHECK(q->transfer[IN0].bytes ==
        2LL * 4 * b.rounds_m * b.group_m * b.block_m * b.steps_k * b.block_k);
  CHECK(q->transfer[OUT].bytes ==
        4LL * 16 * b.rounds_m * b.group_m * b.block_m * b.rounds_n * b.block_n);
  arena_close(a);
}

/* One change each that the array cannot run; the message names the rule. */
static void test_refusals(void) {
  enum { PLACE, OFFSET, ORDER, GUARDED, BLOCK, CASES };
  static const char *const rule[CASES] = {
      [PLACE] = "rows, columns or time",    [OFFSET] = "offset",
      [ORDER] = "moves in0 and out only",   [GUARDED] = "without guards",
      [BLOCK] = "row-major and contiguous",
  };
  for (int i = 0; i < CASES; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct map_problem p = {512,        512,       512,       DTYPE_BF16,
                            DTYPE_BF16, DTYPE_F32, DTYPE_F32, {0}};
    struct map_blocking b;
    CHECK(map_choose(platform(), &p, &b, &d));
    struct teir *t = map_schedule(a, device(), &p, &b);
    struct teir_guard_term first = {.axis = 0};
    switch (i) {
    case PLACE:
      t->node[0].place = TEIR_ANYWHERE;
      break;
    case OFFSET:
      t->axis[0].offset_bytes[0].constant = 4;
      break;
    case ORDER: /* n rounds outside m rounds */
      t->node[2].axis = 3;
      t->node[3].axis = 2;
      break;
    case GUARDED:
      t->node[5].guard_count = 1;
      t->node[5].guard = &first;
      break;
    case BLOCK:
      t->axis[6].stride_bytes[0].constant += 2;
      break;
    }
    CHECK(!map_program(a, t, device(), &d) && d.kind == DIAG_ERROR);
    CHECK(strstr(d.text, rule[i]) != NULL);
    arena_close(a);
  }
}

static void test_declined(void) {
  struct diag d = {0};
  struct map_blocking b;
  struct map_problem p = {4,         4,         4,         DTYPE_F64,
                          DTYPE_F64, DTYPE_F64, DTYPE_F64, {0}};
  CHECK(!map_choose(platform(), &p, &b, &d) && d.kind == DIAG_DECLINED);
  CHECK(strstr(d.text, "f64 x f64 -> f64"));
  struct diag f = {0};
  p = (struct map_problem){64,        64,        64,        DTYPE_F32,
                           DTYPE_F32, DTYPE_F32, DTYPE_F32, {0}};
  CHECK(!map_choose(platform(), &p, &b, &f) && f.kind == DIAG_DECLINED);
  CHECK(strstr(f.text, "two halves"));
  p = (struct map_problem){
      64,       64,        64,        DTYPE_I8,
      DTYPE_I8, DTYPE_I32, DTYPE_I32, {.saturate = true, .shift = 3}};
  struct diag g = {0};
  CHECK(!map_choose(platform(), &p, &b, &g) && strstr(g.text, "narrower"));
  p = (struct map_problem){64,         64,         640,        DTYPE_BF16,
                           DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, {0}};
  struct diag e = {0};
  CHECK(!map_choose(platform(), &p, &b, &e) && strstr(e.text, "stay in f32"));
}

int main(void) {
  for (int group = 1; group <= 2; group++) {
    test_product(1, 1, 1, group);
    test_product(100, 37, 70, group);
    test_product(130, 257, 300, group);
  }
  test_blocks_fit();
  test_program();
  test_refusals();
  test_declined();
  return check_result();
}
