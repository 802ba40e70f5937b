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

/* The dense product, scheduled. */
static struct teir *scheduled(struct arena *a, const struct teir_problem *p,
                              const struct map_blocking *b, struct diag *d) {
  struct teir *t = teir_from_problem(a, p, d);
  return t ? map_schedule(a, device_find("npu1"), t, b, d) : NULL;
}

/* Packs by the documented layouts, runs the schedule, compares with loops. */
static void test_product(int m, int n, int k, int group) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {
      {1, m, n, k}, {DTYPE_I8, DTYPE_I8, DTYPE_I32}, DTYPE_I32, false, {0}};
  struct map_blocking b;
  CHECK(map_choose(platform(), &p, &b, &d));
  if (group == 2 && b.group_m == 1) {
    b.group_m = 2;
    b.rounds_m = (b.rounds_m + 1) / 2;
  }
  struct teir *t = scheduled(a, &p, &b, &d);
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

/* Axes in any number and order, or none of a role: the array sees the matrices
 * that they fuse to. */
static void test_axes(void) {
  static const struct {
    const char *text;
    int m, n, k;
  } work[] = {
      {"axis b extent 7 stride in1=10 out=4\n"
       "axis f extent 5 stride in0=42 in1=2\n"
       "axis a extent 6 stride in0=2 out=392\n"
       "axis d extent 14 stride in1=70 out=28\n"
       "axis e extent 3 stride in0=12 in1=980\n"
       "primitive z Zero M=[] N=[]\nprimitive p Contraction M=[] N=[] K=[]\n"
       "roots b\niterate b over b sequential do a\n"
       "iterate a over a sequential do d\n"
       "iterate d over d sequential do zero, e\n"
       "iterate e over e sequential do f\n"
       "iterate f over f sequential do product\n"
       "invoke zero calls z\ninvoke product calls p\n",
       6, 98, 15},
      {"axis k extent 9 stride in0=2 in1=2\n"
       "primitive z Zero M=[] N=[]\nprimitive p Contraction M=[] N=[] K=[k]\n"
       "roots zero, product\n"
       "invoke zero calls z\ninvoke product calls p\n",
       1, 1, 9},
  };
  for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct text text = {0}, right = {0}, made = {0};
    text_printf(&text,
                "teir 1\ntensor in0 bf16\ntensor in1 bf16\n"
                "tensor out f32\n%s",
                work[i].text);
    struct teir *t = teir_parse(a, "axes", text_string(&text), &d);
    struct teir_problem p, same = {{1, work[i].m, work[i].n, work[i].k},
                                   {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                                   DTYPE_F32,
                                   false,
                                   {0}};
    struct map_blocking b;
    CHECK(t && teir_problem_read(t, &p, &d) &&
          memcmp(p.extent, same.extent, sizeof p.extent) == 0);
    CHECK(map_choose(platform(), &p, &b, &d));
    struct teir *x = map_schedule(a, device(), t, &b, &d);
    struct tile_program *q = x ? map_program(a, x, device(), &d) : NULL;
    CHECK(q != NULL);
    map_print(q, &made);
    map_print(map_program(a, scheduled(a, &same, &b, &d), device(), &d),
              &right);
    CHECK(strcmp(text_string(&made), text_string(&right)) == 0);
    text_free(&text), text_free(&right), text_free(&made);
    arena_close(a);
  }
}

/* Work that is no product of two matrices. */
static void test_no_matrices(void) {
  struct arena *a = arena_open();
  struct diag d = {0}, e = {0};
  struct teir_problem p = {
      {3, 8, 8, 8}, {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}, DTYPE_F32, false, {0}};
  struct map_blocking b;
  CHECK(map_choose(platform(), &p, &b, &d));
  CHECK(scheduled(a, &p, &b, &d) != NULL);
  p.extent[AXIS_C] = 1;
  p.accumulate = true;
  CHECK(!scheduled(a, &p, &b, &e) && strstr(e.text, "starts from Zero"));
  arena_close(a);
}

/* ---- in place ---- */

struct span {
  uint32_t at, bytes;
};
enum { MEMORY = 65536, PAIR = 16384, SPANS = 7 };

static bool share_pair(struct span a, struct span b) {
  return a.at / PAIR <= (b.at + b.bytes - 1) / PAIR &&
         b.at / PAIR <= (a.at + a.bytes - 1) / PAIR;
}

/* Blocks lie apart in a core's memory, and the input that is read in every
 * cycle is alone in its banks while it is. */
static void check_places(const struct map_block_bytes *b, int group_m,
                         const struct map_core *core) {
  struct span s[SPANS] = {{core->in0[0], b->in0},
                          {core->in0[1], b->in0},
                          {core->in1[0], b->in1},
                          {core->in1[1], b->in1}};
  uint32_t held = core->staged ? b->out : b->sums;
  int count = 4;
  for (int i = 0; i < core->out_depth; i++)
    s[count++] = (struct span){core->out[i], held};
  if (core->staged)
    s[count++] = (struct span){core->sums, b->sums};
  for (int i = 0; i < count; i++) {
    CHECK(s[i].at % 32 == 0 && s[i].at + s[i].bytes <= MEMORY);
    for (int j = 0; j < i; j++)
      CHECK(s[i].at + s[i].bytes <= s[j].at || s[j].at + s[j].bytes <= s[i].at);
  }
  bool one = core->staged && group_m == 1;
  for (int i = 0; i < 2; i++) {
    struct span sums = {map_sums(core, group_m, i), b->sums};
    CHECK(group_m == 1 || !share_pair(s[i], sums));
    CHECK(!one || !share_pair(s[2 + i], s[3 - i]));
    CHECK(!one || !share_pair(s[2 + i], s[count - 1]));
  }
  CHECK(core->joined || (!share_pair(s[0], s[2]) && !share_pair(s[1], s[3])));
}

/* Of several m rounds, results leave while the next sums are formed. */
static void test_places(void) {
  struct map_block_bytes b = {8192, 8192, 16384, 16384, {0}, false, false};
  struct map_core core;
  CHECK(map_core_places(platform()->device, &b, 1, 16, &core) && core.staged &&
        core.out_depth == 1);
  check_places(&b, 1, &core);
  CHECK(map_core_waits(platform()->device, &b, 1, 2048, &core).step == 0);
  CHECK(map_core_places(platform()->device, &b, 1, 1, &core) && !core.staged);
  check_places(&b, 1, &core);
  CHECK(map_core_waits(platform()->device, &b, 1, 2048, &core).step == 512);
  CHECK(map_core_places(platform()->device, &b, 2, 16, &core) && !core.staged);
  check_places(&b, 2, &core);
  CHECK(map_core_waits(platform()->device, &b, 2, 2048, &core).step == 0);
  /* the second block of sums leaves from a place of its own, if there is one
   * and no kernel makes results of them */
  b = (struct map_block_bytes){4096, 8192, 12288, 12288, {0}, false, false};
  CHECK(map_core_places(platform()->device, &b, 2, 16, &core) && core.staged &&
        map_sums(&core, 2, 0) == core.out[0] &&
        map_sums(&core, 2, 1) == core.sums);
  check_places(&b, 2, &core);
  b.finishes = true;
  CHECK(map_core_places(platform()->device, &b, 2, 16, &core) && !core.staged &&
        map_sums(&core, 2, 1) == core.out[1]);
  check_places(&b, 2, &core);
  b = (struct map_block_bytes){6176, 8192, 12288, 12288, {0}, false, false};
  CHECK(map_core_places(platform()->device, &b, 2, 16, &core) && !core.staged);
  check_places(&b, 2, &core);
  /* space that is left over keeps sums away from what the DMA fills */
  b = (struct map_block_bytes){3072, 6144, 18432, 9216, {0}, false, true};
  CHECK(map_core_places(platform()->device, &b, 2, 16, &core));
  check_places(&b, 2, &core);
  CHECK(PAIR - core.out[0] < b.sums / 2 && core.out[1] < 2 * PAIR);
  b = (struct map_block_bytes){8192, 8192, 16384, 8192, {0}, false, true};
  CHECK(map_core_places(platform()->device, &b, 1, 16, &core) &&
        core.out_depth == 2);
  check_places(&b, 1, &core);
  b = (struct map_block_bytes){14848, 14848, 4096, 4096, {0}, false, true};
  CHECK(map_core_places(platform()->device, &b, 1, 16, &core) && core.joined &&
        core.out_depth == 1);
  check_places(&b, 1, &core);
  b.in1 = b.in0 = 16384;
  CHECK(!map_core_places(platform()->device, &b, 1, 16, &core));
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
    struct teir_problem p = {
        .extent = {1, size[i % 7], size[i / 7 % 7], size[i / 49 % 7]},
        .type = {of[0], of[0], of[2]},
        .acc = of[1]};
    struct map_blocking b;
    struct diag d = {0};
    CHECK(map_choose(platform(), &p, &b, &d));
    struct map_block_bytes bytes = map_block_bytes(&p, &b);
    struct map_core core;
    CHECK(map_core_places(platform()->device, &bytes, b.group_m, b.steps_k,
                          &core));
    check_places(&bytes, b.group_m, &core);
    CHECK((int64_t)b.block_m * b.group_m * b.rounds_m * 4 >= p.extent[AXIS_M] &&
          (int64_t)b.block_n * b.rounds_n * 4 >= p.extent[AXIS_N] &&
          (int64_t)b.block_k * b.steps_k >= p.extent[AXIS_K]);
    /* and no round or step more */
    CHECK((int64_t)b.block_m * b.group_m * (b.rounds_m - 1) * 4 <
              p.extent[AXIS_M] &&
          (int64_t)b.block_n * (b.rounds_n - 1) * 4 < p.extent[AXIS_N] &&
          (int64_t)b.block_k * (b.steps_k - 1) < p.extent[AXIS_K]);
  }
}

/* What a panel in part asks of the DMA: stretches are iterations of a
 * descriptor, and a task repeats them in all n rounds but the first. */
static void test_panels(void) {
  const struct device *dev = device();
  const struct teir_problem p = {.extent = {1, 1, 1, 1},
                                 .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                                 .acc = DTYPE_F32};
  int in_part = 0, again = 0;
  for (int rounds_n = 1; rounds_n < 260; rounds_n += 3)
    for (int steps_k = 1; steps_k < 200; steps_k++) {
      struct map_blocking b = {.block_m = 64,
                               .block_n = 64,
                               .block_k = 64,
                               .group_m = 1,
                               .rounds_m = 1,
                               .rounds_n = rounds_n,
                               .steps_k = steps_k};
      struct map_panel panel;
      CHECK(map_mem_panel(dev, &p, &b, &panel));
      CHECK(!panel.chunks || !panel.stretches);
      CHECK(!panel.chunks ||
            (steps_k % panel.chunks == 0 && panel.rounds > 1 &&
             rounds_n % panel.rounds == 0 && panel.rounds <= dev->max_lock));
      again += panel.chunks && panel.rounds < rounds_n;
      if (!panel.stretches)
        continue;
      in_part++;
      CHECK(steps_k == panel.stretches * (panel.kept + panel.streamed));
      CHECK(panel.stretches <= dev->max_iterations && panel.kept > 0);
      CHECK(panel.stretches * (rounds_n - 1) <= dev->max_repeat);
    }
  CHECK(in_part > 100 && again > 100);
  /* two groups of out, unless a panel is not kept for it */
  for (int far = 0; far < 2; far++)
    for (int steps_k = 14; steps_k < 17; steps_k += 2) {
      struct map_blocking b = {.block_m = 64,
                               .block_n = 64,
                               .block_k = 64,
                               .group_m = 2,
                               .rounds_m = 1,
                               .rounds_n = 4,
                               .steps_k = steps_k,
                               .form = {.close_out = !far}};
      struct map_panel panel;
      CHECK(map_mem_panel(dev, &p, &b, &panel) && panel.chunks);
      CHECK(panel.out == (far || steps_k > 14 ? 2 : 4));
    }
}

static void test_program(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {{1, 512, 256, 512},
                           {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                           DTYPE_F32,
                           false,
                           {0}};
  struct map_blocking b;
  CHECK(map_choose(platform(), &p, &b, &d));
  struct teir *t = scheduled(a, &p, &b, &d);
  struct tile_program *q = map_program(a, t, device(), &d);
  CHECK(q && q->grid.m == 4 && q->grid.n == 4 && q->zero);
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
  enum {
    PLACE,
    OFFSET,
    ORDER,
    GUARDED,
    BLOCK,
    ROW_START,
    COLUMN_START,
    STEP_START,
    OVERLAP,
    CORES,
    CASES
  };
  static const char *const rule[CASES] = {
      [PLACE] = "rows, columns or time",
      [OFFSET] = "offset",
      [ORDER] = "around the product alone",
      [GUARDED] = "without guards",
      [BLOCK] = "contiguous along one of them",
      [ROW_START] = "axis row moves blocks of in0 by",
      [COLUMN_START] = "axis column moves blocks of out by",
      [STEP_START] = "axis k moves blocks of in1 by",
      [OVERLAP] = "no element in common",
      [CORES] = "two halves",
  };
  for (int i = 0; i < CASES; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_problem p = {{1, 512, 512, 512},
                             {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                             DTYPE_F32,
                             false,
                             {0}};
    struct map_blocking b;
    CHECK(map_choose(platform(), &p, &b, &d));
    if (i == OVERLAP && b.group_m == 1) {
      b.group_m = 2;
      b.rounds_m = (b.rounds_m + 1) / 2;
    }
    if (i == ORDER && b.group_m == 2) { /* with one, k's loop has no others */
      b.group_m = 1;
      b.rounds_m *= 2;
    }
    struct teir *t = scheduled(a, &p, &b, &d);
    struct teir_guard_term first = {.axis = 0};
    switch (i) {
    case PLACE:
      t->node[teir_find_node(t, "row")].place = TEIR_ANYWHERE;
      break;
    case OFFSET:
      t->axis[0].offset_bytes[0].constant = 4;
      break;
    case ORDER: /* k outside n */
      t->node[teir_find_node(t, "n")].axis = teir_find_axis(t, "k");
      t->node[teir_find_node(t, "k")].axis = teir_find_axis(t, "n");
      break;
    case GUARDED:
      t->node[teir_find_node(t, "zero")].guard_count = 1;
      t->node[teir_find_node(t, "zero")].guard = &first;
      break;
    case BLOCK:
      t->axis[teir_find_axis(t, "block_m")].stride_bytes[IN0].constant += 2;
      break;
    case ROW_START: /* half a word */
      t->axis[teir_find_axis(t, "row")].stride_bytes[IN0].constant += 2;
      break;
    case COLUMN_START:
      t->axis[teir_find_axis(t, "column")].stride_bytes[OUT].constant += 2;
      break;
    case STEP_START:
      t->axis[teir_find_axis(t, "k")].stride_bytes[IN1].constant += 2;
      break;
    case CORES: /* m goes over rows, too */
      t->node[teir_find_node(t, "m")].place = TEIR_ROWS;
      break;
    case OVERLAP: /* by all rows but one */
      t->axis[teir_find_axis(t, "group")].stride_bytes[OUT] =
          t->axis[teir_find_axis(t, "block_m")].stride_bytes[OUT];
      break;
    }
    CHECK(!map_program(a, t, device(), &d) && d.kind == DIAG_ERROR);
    CHECK(strstr(d.text, rule[i]) != NULL);
    arena_close(a);
  }
}

/* Blocks of out are independent, so their loops may stand in any order; the
 * program has its own. */
static void test_order(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {{1, 1024, 1024, 64},
                           {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                           DTYPE_F32,
                           false,
                           {0}};
  struct map_blocking b;
  struct text one = {0}, other = {0};
  CHECK(map_choose(platform(), &p, &b, &d));
  struct teir *t = scheduled(a, &p, &b, &d);
  map_print(map_program(a, t, device(), &d), &one);
  t->node[teir_find_node(t, "m")].axis = teir_find_axis(t, "n");
  t->node[teir_find_node(t, "n")].axis = teir_find_axis(t, "m");
  map_print(map_program(a, t, device(), &d), &other);
  CHECK(strcmp(text_string(&one), text_string(&other)) == 0);
  text_free(&one), text_free(&other);
  arena_close(a);
}

static void test_declined(void) {
  struct diag d = {0};
  struct map_blocking b;
  struct teir_problem p = {
      {1, 4, 4, 4}, {DTYPE_F64, DTYPE_F64, DTYPE_F64}, DTYPE_F64, false, {0}};
  CHECK(!map_choose(platform(), &p, &b, &d) && d.kind == DIAG_DECLINED);
  CHECK(strstr(d.text, "f64 x f64 -> f64"));
  struct diag f = {0};
  p = (struct teir_problem){{1, 64, 64, 64},
                            {DTYPE_F32, DTYPE_F32, DTYPE_F32},
                            DTYPE_F32,
                            false,
                            {0}};
  CHECK(!map_choose(platform(), &p, &b, &f) && f.kind == DIAG_DECLINED);
  CHECK(strstr(f.text, "two halves"));
  p = (struct teir_problem){{1, 64, 64, 64},
                            {DTYPE_I8, DTYPE_I8, DTYPE_I32},
                            DTYPE_I32,
                            false,
                            {.saturate = true, .shift = 3}};
  struct diag g = {0};
  CHECK(!map_choose(platform(), &p, &b, &g) && strstr(g.text, "narrower"));
  p = (struct teir_problem){{1, 64, 64, 640},
                            {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
                            DTYPE_BF16,
                            false,
                            {0}};
  struct diag e = {0};
  CHECK(!map_choose(platform(), &p, &b, &e) && strstr(e.text, "stay in f32"));
}

int main(void) {
  for (int group = 1; group <= 2; group++) {
    test_product(1, 1, 1, group);
    test_product(100, 37, 70, group);
    test_product(130, 257, 300, group);
  }
  test_axes();
  test_no_matrices();
  test_places();
  test_blocks_fit();
  test_panels();
  test_program();
  test_refusals();
  test_order();
  test_declined();
  return check_result();
}
