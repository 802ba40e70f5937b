/* layout_test.c -- tensors that lie as in the program: which of them may stay,
 * how blocks share out an extent that nothing pads, and that schedules on them
 * write nothing but their elements. */
#include "check.h"
#include "map.h"

#include <stdlib.h>
#include <string.h>

static const struct device *device(void) { return device_find("npu1"); }
static const struct platform *platform(void) {
  static struct platform at;
  CHECK(platform_find("npu1", &at, NULL));
  return &at;
}

/* Blocks of all cores and rounds lie inside, begin at multiples of the unit and
 * leave out nothing. */
static void test_shares(void) {
  for (int64_t extent = 1; extent < 300; extent++)
    for (int64_t block = 4; block <= 64; block += 4)
      for (int64_t unit = 1; unit <= 4; unit *= 2) {
        struct map_share x;
        char seen[300] = {0};
        int rounds = (int)((extent + 4 * block - 1) / (4 * block));
        if (!map_share(extent, 4, rounds, block, unit, &x))
          continue;
        CHECK(x.core % unit == 0 && x.round % unit == 0);
        CHECK(3 * x.core + (rounds - 1) * x.round + block == extent);
        for (int c = 0; c < 4; c++)
          for (int r = 0; r < rounds; r++)
            memset(seen + c * x.core + r * x.round, 1, (size_t)block);
        CHECK(memchr(seen, 0, (size_t)extent) == NULL);
      }
  struct map_share x;
  CHECK(map_share(512, 4, 2, 64, 2, &x) && x.core == 128 && x.round == 64);
  CHECK(map_share(100, 4, 1, 28, 1, &x) && x.core == 24);
  CHECK(!map_share(100, 4, 1, 32, 1, &x) && !map_share(3, 4, 1, 4, 1, &x));
  CHECK(!map_share(101, 4, 1, 32, 2, &x)); /* ends at an odd element */
}

/* The same of halves, and that whatever blocks are enough, with some elements
 * more for words, have them. */
static void test_halves(void) {
  for (int64_t extent = 1; extent < 300; extent++)
    for (int64_t block = 4; block <= 64; block += 4)
      for (int cores = 4; cores <= 8; cores += 4)
        for (int64_t unit = 1; unit <= 2; unit++) {
          struct map_share x;
          char seen[300] = {0};
          int rounds = (int)((extent + cores * block - 1) / (cores * block));
          bool good = map_share_halves(extent, cores, rounds, block, unit, &x);
          CHECK(good || extent < 2 * cores * block * rounds / 3 ||
                extent % unit);
          if (!good || !x.half)
            continue;
          CHECK(x.core % unit == 0 && x.round % unit == 0 &&
                x.half % unit == 0);
          CHECK(!map_share(extent, cores, rounds, block, unit, &x) || !x.half);
          map_share_halves(extent, cores, rounds, block, unit, &x);
          for (int c = 0; c < cores; c++)
            for (int r = 0; r < rounds; r++) {
              int64_t at = c / (cores / 2) * x.half + c % (cores / 2) * x.core +
                           r * x.round;
              CHECK(at >= 0 && at + block <= extent);
              memset(seen + at, 1, (size_t)block);
            }
          CHECK(memchr(seen, 0, (size_t)extent) == NULL);
        }
  struct map_share x;
  CHECK(map_share_halves(100, 4, 1, 28, 1, &x) && x.core == 24 && !x.half);
  CHECK(map_share_halves(101, 4, 1, 28, 1, &x) && x.core == 25 && x.half == 48);
  CHECK(!map_share_halves(101, 4, 1, 28, 2, &x));
  CHECK(!map_share_halves(101, 3, 1, 36, 1, &x)); /* no halves */
}

/* The product's axes, with strides that turn tensors and leave gaps. */
static struct teir *lying(struct arena *a, const struct teir_problem *p,
                          int turned, int64_t gap, struct diag *d) {
  static const enum axis_role role[TENSORS][2] = {
      {AXIS_M, AXIS_K}, {AXIS_K, AXIS_N}, {AXIS_M, AXIS_N}};
  struct teir *t = teir_from_problem(a, p, d);
  struct teir_roles r;
  CHECK(t && teir_roles_read(a, t, &r, d));
  for (int i = 0; i < TENSORS; i++) {
    int64_t bytes = dtype_bytes(p->type[i]);
    for (int j = 0; j < r.count; j++) {
      enum axis_role rows = role[i][turned >> i & 1],
                     columns = role[i][!(turned >> i & 1)];
      if (r.role[j] == rows || r.role[j] == columns)
        t->axis[r.axis[j]].stride_bytes[i] = teir_constant(
            r.role[j] == columns ? bytes : bytes * (p->extent[columns] + gap));
    }
  }
  return t;
}

/* Schedules on tensors in place, run by the oracle, do what the program does
 * on the same memory: nothing but the elements of out is written. */
static void test_in_place(int64_t m, int64_t n, int64_t k, int turned,
                          int64_t gap) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {
      {1, m, n, k}, {DTYPE_I8, DTYPE_I8, DTYPE_I32}, DTYPE_I32, false, {0}};
  struct map_work w;
  struct map_blocking b;
  const char *why[TENSORS];
  unsigned tried = 0;
  struct teir *t = lying(a, &p, turned, gap, &d);
  CHECK(
      map_work_read(a, device(), t, (const bool[]){true, true, true}, &w, &d));
  for (int i = 0; i < TENSORS; i++)
    CHECK(w.layout[i].in_place && w.layout[i].turned == (turned >> i & 1));
  CHECK(map_choose_in_place(a, platform(), t, &tried, &b, why, &d));
  for (int i = 0; i < TENSORS; i++)
    CHECK(b.form.layout[i].in_place);
  struct teir *x = map_schedule(a, device(), t, &b, &d);
  struct tile_program *q = x ? map_program(a, x, device(), &d) : NULL;
  CHECK(q != NULL);
  void *memory[TENSORS], *right[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    int64_t low = 0, high = 0, first = 0, end = 0;
    CHECK(teir_footprint(t, i, &low, &high, &d) &&
          teir_footprint(x, i, &first, &end, &d));
    CHECK(low == 0 && first == 0 && high == end);
    CHECK(q->transfer[i].bytes == end || q->transfer[IN0].tensor != IN0);
    unsigned char *bytes = malloc((size_t)high);
    for (int64_t j = 0; j < high; j++)
      bytes[j] = (unsigned char)(7 * i + 13 * j + j / 11);
    memory[i] = bytes;
    right[i] = malloc((size_t)high);
    memcpy(right[i], bytes, (size_t)high);
    if (i == OUT)
      CHECK(teir_run(x, memory, &d) && teir_run(t, right, &d) &&
            memcmp(memory[i], right[i], (size_t)high) == 0);
  }
  for (int i = 0; i < TENSORS; i++)
    free(memory[i]), free(right[i]);
  arena_close(a);
}

/* From a core's block of out to the next one's is a step that a descriptor has,
 * however large out is and whether or not blocks overlap. */
static void test_long_steps(int64_t m, int64_t n) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {{1, m, n, 64},
                           {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                           DTYPE_F32,
                           false,
                           {0}};
  struct map_blocking b;
  const char *why[TENSORS];
  unsigned tried = 0;
  struct teir *t = lying(a, &p, 0, 0, &d);
  CHECK(map_choose_in_place(a, platform(), t, &tried, &b, why, &d));
  CHECK(b.form.layout[OUT].in_place && b.rounds_m > 1);
  struct teir *x = map_schedule(a, device(), t, &b, &d);
  int row = x ? teir_find_axis(x, "row") : -1;
  CHECK(row >= 0 && x->axis[row].stride_bytes[OUT].constant <=
                        4ll * device()->tile[TILE_SHIM].max_step_words);
  arena_close(a);
}

/* Where out can leave late, tasks for the last step of k cost more than blocks
 * that end with K. */
static void test_late_tasks(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {{1, 1024, 1024, 512},
                           {DTYPE_I8, DTYPE_I8, DTYPE_I32},
                           DTYPE_I32,
                           false,
                           {0}};
  struct platform at;
  struct map_blocking b;
  const char *why[TENSORS];
  unsigned tried = 0, in1_turned = 1 << IN1;
  struct teir *t = lying(a, &p, in1_turned, 0, &d);
  CHECK(platform_find("strix-halo", &at, &d) &&
        map_choose_in_place(a, &at, t, &tried, &b, why, &d));
  CHECK(b.last_k == 0 && b.block_k * b.steps_k == 512);
  arena_close(a);
}

/* What descriptors cannot walk over: odd bytes between rows, axes that no order
 * makes one. */
static void test_not_in_place(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_problem p = {{1, 64, 64, 64},
                           {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                           DTYPE_F32,
                           false,
                           {0}};
  static const bool all[] = {true, true, true};
  struct map_work w;
  struct teir *t = lying(a, &p, 0, 1, &d);
  CHECK(map_work_read(a, device(), t, all, &w, &d));
  CHECK(!w.layout[IN0].in_place && !w.layout[IN1].in_place &&
        w.layout[OUT].in_place);
  /* words of in0 hold neighbours along a, those of out along b */
  static const char text[] =
      "teir 1\ntensor in0 bf16\ntensor in1 bf16\ntensor out %s\n"
      "axis a extent 8 stride in0=2 out=%d\n"
      "axis b extent 8 stride in0=1024 out=%d\n"
      "axis n extent 32 stride in1=2 out=%d\n"
      "axis k extent 64 stride in0=16 in1=64\n"
      "primitive z Zero M=[] N=[]\n"
      "primitive p Contraction M=[] N=[] K=[]\n"
      "roots a\niterate a over a sequential do b\n"
      "iterate b over b sequential do n\n"
      "iterate n over n sequential do zero, k\n"
      "iterate k over k sequential do product\n"
      "invoke zero calls z\ninvoke product calls p\n";
  for (int wide = 0; wide < 2; wide++) {
    const char *made =
        arena_printf(a, text, wide ? "f32" : "bf16", wide ? 1024 : 512,
                     wide ? 4 : 2, wide ? 32 : 16);
    t = teir_parse(a, "axes", made, &d);
    CHECK(t && map_work_read(a, device(), t, all, &w, &d));
    CHECK(w.layout[IN0].in_place && w.layout[IN1].in_place);
    CHECK(w.layout[OUT].in_place == wide && w.count[AXIS_M] == 2);
    CHECK(w.axis[AXIS_M][w.contiguous[IN0]].extent == 8);
  }
  arena_close(a);
}

/* Results of words beside an input whose rows end within one: where gaps of out
 * have space, blocks end with the word, else with the element. */
static void test_filled_words(void) {
  static const struct {
    enum dtype in;
    int turned; /* of out's rows: n in in1, or m in in0 */
    int64_t extent, gap, filled;
  } c[] = {{DTYPE_BF16, 0, 757, 1, 758}, {DTYPE_BF16, 0, 757, 0, 757},
           {DTYPE_I8, 0, 757, 3, 760},   {DTYPE_I8, 0, 757, 2, 757},
           {DTYPE_I8, 0, 758, 2, 760},   {DTYPE_I8, 0, 760, 4, 760},
           {DTYPE_I8, 5, 757, 3, 760},   {DTYPE_I8, 5, 757, 0, 757}};
  static const bool all[] = {true, true, true};
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    enum dtype sum = c[i].in == DTYPE_I8 ? DTYPE_I32 : DTYPE_F32;
    enum axis_role role = c[i].turned ? AXIS_M : AXIS_N;
    struct teir_problem p = {
        {1, 64, 64, 64}, {c[i].in, c[i].in, sum}, sum, false, {0}};
    struct map_work w;
    p.extent[role] = c[i].extent;
    struct teir *t = lying(a, &p, c[i].turned, 4 - c[i].extent % 4, &d);
    struct teir_roles r;
    CHECK(teir_roles_read(a, t, &r, &d));
    for (int j = 0; j < r.count; j++) /* the rows of out */
      if (r.role[j] == (c[i].turned ? AXIS_N : AXIS_M))
        t->axis[r.axis[j]].stride_bytes[OUT] =
            teir_constant(4 * (c[i].extent + c[i].gap));
    CHECK(map_work_read(a, device(), t, all, &w, &d));
    CHECK(w.axis[role][0].extent == c[i].filled &&
          w.axis[role][0].elements == c[i].extent &&
          w.problem.extent[role] == c[i].filled);
    arena_close(a);
  }
}

int main(void) {
  test_shares();
  test_halves();
  for (int turned = 0; turned < 8; turned++) {
    test_in_place(64, 96, 128, turned, 4);
    test_in_place(100, 200, 72, turned, 0);
    test_in_place(132, 252, 320, turned, 8);
  }
  test_long_steps(4096, 3000);
  test_long_steps(4001, 3000);
  test_late_tasks();
  test_not_in_place();
  test_filled_words();
  return check_result();
}
