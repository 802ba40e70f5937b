/* finish_test.c -- results that are narrower than their sums, formed on the
 * array: every element is what the sum, which a second run brings back as it
 * is, becomes by plain arithmetic.  Cores run in strict mode, so locks that
 * come too close to a store are found, too. */
#include "check.h"
#include "npu.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum data { INTEGERS, WILD, LARGE, DATA };

static uint64_t random_state;
static uint32_t random_bits(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33);
}

/* INTEGERS: sums that lie half way between two bf16, often; WILD: any bits;
 * LARGE: sums around the largest bf16. */
static void fill(enum dtype type, enum data data, struct sim_buffer *b) {
  size_t step = (size_t)dtype_bytes(type);
  for (size_t i = 0; i + step <= b->bytes; i += step) {
    char *at = (char *)b->data + i;
    uint32_t bits = random_bits();
    if (type != DTYPE_BF16 || data == INTEGERS) {
      dtype_store_int(type, at, (int)(bits % 15) - 7);
      continue;
    }
    uint16_t value =
        data == WILD
            ? (uint16_t)bits
            : (uint16_t)(0x5e80 + bits % 0x200 + (bits >> 16 & 1) * 0x8000);
    memcpy(at, &value, sizeof value);
  }
}

/* What is added to column n. */
static int bias_of(int64_t n) { return (int)(n * 37 % 2001) - 1000; }

/* The bias behind the results in out's buffer, between noise. */
static void put_bias(const struct tile_program *p, struct sim_buffer *out) {
  struct design_bias b = design_bias(p);
  uint32_t place[4096];
  int words = map_bias_words(p);
  CHECK(words <= 4096 && design_bias_words(p, place));
  out->bytes = (size_t)(b.offset_bytes + b.blocks * b.block_bytes);
  out->data = realloc(out->data, out->bytes);
  memset(out->data, 0xa5, out->bytes);
  for (int i = 0; i < b.blocks; i++)
    for (int k = 0; k < words; k++) {
      char *at = (char *)out->data + b.offset_bytes + i * b.block_bytes +
                 4 * (size_t)place[k];
      double v =
          bias_of(map_bias_element(p, i / p->rounds_n, i % p->rounds_n, k));
      if (p->acc == DTYPE_F32)
        dtype_store_float(DTYPE_F32, at, v / 2);
      else
        dtype_store_int(p->acc, at, (int64_t)v);
    }
}

/* The column of an element of out, which lies in blocks. */
static int64_t column_of(const struct map_blocking *b, int64_t i) {
  enum { ROWS = 4 };
  int64_t n = i % b->block_n;
  i /= (int64_t)b->block_n * b->block_m * ROWS * b->group_m;
  n += i % b->rounds_n * b->block_n;
  i /= (int64_t)b->rounds_n * b->rounds_m;
  return n + i * b->rounds_n * b->block_n;
}

/* All bytes for a product, all the way to the simulated array and back. */
static bool run(const struct teir_problem *p, const struct map_blocking *b,
                struct sim_buffer buffer[TENSORS], struct diag *d) {
  struct arena *a = arena_open();
  struct npu_result r = {0};
  struct sim *s = NULL;
  struct sim_options options = {.preset = preset_find("8700g-turbo"),
                                .strict = true};
  struct teir *t = teir_from_problem(a, p, d);
  t = t ? map_schedule(a, device_find("npu1"), t, b, d) : NULL;
  bool good = t && npu_compile(a, "npu1", t, 0, &r, d);
  if (good) {
    buffer[OUT].bytes = (size_t)r.program->transfer[OUT].bytes;
    buffer[OUT].data = malloc(buffer[OUT].bytes);
    if (p->finish.bias)
      put_bias(r.program, &buffer[OUT]);
    for (int i = 0; i < OUT; i++)
      CHECK(buffer[i].bytes == (size_t)r.program->transfer[i].bytes);
    s = sim_open(r.xclbin.data, r.xclbin.length, &options, d);
  }
  /* twice: the second run meets the array as the first one left it */
  for (int i = 0; i < 2; i++) {
    struct sim_report report;
    good = good && s &&
           sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, d);
  }
  if (s)
    sim_close(s);
  npu_result_free(&r);
  arena_close(a);
  return good;
}

/* Nearest, ties to even; a NaN loses its low bits and stays one. */
static uint16_t to_bf16(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | ((bits >> 16 & 0x7f) == 0));
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void finish_one(const struct teir_problem *p, const void *sum,
                       int64_t column, void *result) {
  uint32_t bits = 0; /* narrower sums are results already */
  memcpy(&bits, sum, (size_t)dtype_bytes(p->acc));
  if (p->finish.bias && p->acc == DTYPE_F32)
    dtype_store_float(DTYPE_F32, &bits,
                      dtype_load_float(DTYPE_F32, &bits) +
                          bias_of(column) / 2.0);
  else if (p->finish.bias)
    bits += (uint32_t)bias_of(column);
  bool nan = p->acc == DTYPE_F32 && (bits & 0x7fffffff) > 0x7f800000;
  if (p->finish.relu && (nan ? !p->finish.keeps_nan : bits >> 31))
    bits = 0;
  int64_t v = (int32_t)bits;
  if (p->type[OUT] == DTYPE_BF16) {
    uint16_t half = to_bf16(bits);
    memcpy(result, &half, sizeof half);
    return;
  }
  if (p->type[OUT] == p->acc) {
    memcpy(result, &bits, sizeof bits);
    return;
  }
  if (p->finish.saturate) {
    int bytes = dtype_bytes(p->type[OUT]);
    bool is_signed = dtype_kind(p->type[OUT]) == DTYPE_SIGNED;
    int64_t high = (1ll << (8 * bytes - is_signed)) - 1;
    int64_t low = is_signed ? -high - 1 : 0;
    if (p->finish.shift)
      v = (v + (1ll << (p->finish.shift - 1))) >> p->finish.shift;
    v = v < low ? low : v > high ? high : v;
  }
  dtype_store_int(p->type[OUT], result, v);
}

/* In the blocks that the model chooses, or of the size given. */
static void test_blocks(struct teir_problem p, enum data data, int group,
                        const struct map_blocking *given) {
  struct diag d = {0};
  struct platform at;
  struct map_blocking b;
  p.acc = map_sum_type(device_find("npu1"), &p);
  bool good = platform_find("npu1", &at, &d) && map_choose(&at, &p, &b, &d);
  CHECK(good);
  if (group > b.group_m) {
    b.group_m = group;
    b.rounds_m = (b.rounds_m + group - 1) / group;
  }
  if (given)
    b = *given;
  struct teir_problem sums = p;
  sums.type[OUT] = p.acc;
  sums.finish = (struct teir_finish){0};
  struct sim_buffer buffer[2][TENSORS] = {{{0}}};
  random_state = 1 + (uint64_t)data;
  for (int i = 0; i < OUT; i++) {
    struct sim_buffer *x = &buffer[0][i];
    int64_t other = i == IN0 ? 4ll * b.rounds_m * b.group_m * b.block_m
                             : 4ll * b.rounds_n * b.block_n;
    x->bytes = (size_t)(other * b.steps_k * b.block_k * dtype_bytes(p.type[i]));
    x->data = malloc(x->bytes);
    fill(p.type[i], data, x);
    buffer[1][i] = *x;
  }
  good = good && run(&p, &b, buffer[0], &d) && run(&sums, &b, buffer[1], &d);
  CHECK(good);
  size_t bytes = (size_t)dtype_bytes(p.type[OUT]),
         of_sum = (size_t)dtype_bytes(p.acc);
  size_t wrong = 0, count = good ? buffer[1][OUT].bytes / of_sum : 0;
  for (size_t i = 0; i < count; i++) {
    char right[8];
    finish_one(&p, (char *)buffer[1][OUT].data + i * of_sum,
               column_of(&b, (int64_t)i), right);
    wrong += memcmp((char *)buffer[0][OUT].data + i * bytes, right, bytes) != 0;
  }
  CHECK(count > 0 && wrong == 0);
  if (!good || wrong)
    fprintf(stderr, "%s -> %s relu %d shift %d data %d: %zu of %zu wrong, %s\n",
            dtype_name(p.acc), dtype_name(p.type[OUT]), p.finish.relu,
            p.finish.shift, data, wrong, count, d.text);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[0][i].data);
  free(buffer[1][OUT].data);
}

static void test(struct teir_problem p, enum data data, int group) {
  test_blocks(p, data, group, NULL);
}

static struct teir_problem problem(enum dtype in, enum dtype out, int64_t m,
                                   int64_t n, int64_t k,
                                   struct teir_finish finish) {
  return (struct teir_problem){{1, m, n, k}, {in, in, out}, out, false, finish};
}

static void test_float(void) {
  for (int i = 0; i < DATA; i++) {
    struct teir_finish f = {.relu = i % 2};
    test(problem(DTYPE_BF16, DTYPE_BF16, 140, 150, 200, f), i, 1 + i % 2);
  }
  test(problem(DTYPE_BF16, DTYPE_F32, 64, 64, 64,
               (struct teir_finish){.relu = true}),
       WILD, 1);
  /* results are copied out of the way of the next sums, several times */
  test(problem(DTYPE_BF16, DTYPE_BF16, 500, 256, 330, (struct teir_finish){0}),
       INTEGERS, 1);
  test(problem(DTYPE_BF16, DTYPE_F32, 500, 256, 330,
               (struct teir_finish){.relu = true}),
       WILD, 1);
  /* one step: its first product is its last */
  test(problem(DTYPE_BF16, DTYPE_BF16, 64, 64, 8, (struct teir_finish){0}),
       INTEGERS, 1);
}

static void test_integers(void) {
  static const enum dtype out[] = {DTYPE_I16, DTYPE_U16, DTYPE_I8, DTYPE_U8};
  for (int i = 0; i < 4; i++) {
    struct teir_finish shift = {.saturate = true, .shift = i % 2 ? 5 : 0};
    test(problem(DTYPE_I8, out[i], 60, 90, 100, shift), INTEGERS, 1 + i % 2);
    struct teir_finish relu = {.relu = true, .saturate = i % 2};
    test(problem(DTYPE_I16, out[i], 60, 70, 80, relu), INTEGERS, 1);
  }
  test(problem(DTYPE_I8, DTYPE_I32, 60, 70, 80,
               (struct teir_finish){.relu = true}),
       INTEGERS, 2);
}

/* Zeros behind the k of in1's blocks would be among a bias. */
static void test_bias_has_no_zeros(void) {
  for (int bias = 0; bias < 2; bias++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct npu_result r = {0};
    struct teir_problem p =
        problem(DTYPE_BF16, DTYPE_F32, 64, 64, 84,
                (struct teir_finish){.bias = bias ? AXIS_N : AXIS_C});
    struct teir *t = teir_from_problem(a, &p, &d);
    CHECK(t && npu_compile(a, "8700g", t, 0, &r, &d) &&
          map_is_padded(r.program) == !bias);
    npu_result_free(&r);
    arena_close(a);
  }
}

static void test_bias(void) {
  struct teir_finish plain = {.bias = AXIS_N},
                     relu = {.bias = AXIS_N, .relu = true},
                     all = {AXIS_N, true, false, true, 3};
  test(problem(DTYPE_BF16, DTYPE_F32, 70, 90, 40, plain), INTEGERS, 2);
  test(problem(DTYPE_BF16, DTYPE_BF16, 140, 150, 60, relu), INTEGERS, 1);
  test(problem(DTYPE_I8, DTYPE_I8, 60, 90, 100, all), INTEGERS, 2);
  test(problem(DTYPE_I8, DTYPE_I32, 60, 90, 100, plain), INTEGERS, 1);
  /* rounds of n, steps of k in odd numbers, two of out at once, in each form
   * of the program: all steps in one kernel, calls, one step */
  static const struct map_blocking rounds[] = {{.block_m = 16,
                                                .block_n = 16,
                                                .block_k = 32,
                                                .group_m = 2,
                                                .rounds_m = 2,
                                                .rounds_n = 3,
                                                .steps_k = 3},
                                               {.block_m = 64,
                                                .block_n = 64,
                                                .block_k = 80,
                                                .group_m = 1,
                                                .rounds_m = 1,
                                                .rounds_n = 2,
                                                .steps_k = 3},
                                               {.block_m = 32,
                                                .block_n = 32,
                                                .block_k = 64,
                                                .group_m = 1,
                                                .rounds_m = 2,
                                                .rounds_n = 2,
                                                .steps_k = 1}};
  for (int i = 0; i < 3; i++) {
    const struct map_blocking *b = &rounds[i];
    int64_t m = 4ll * b->rounds_m * b->group_m * b->block_m,
            n = 4ll * b->rounds_n * b->block_n, k = b->steps_k * b->block_k;
    test_blocks(problem(DTYPE_BF16, i ? DTYPE_BF16 : DTYPE_F32, m, n, k, relu),
                INTEGERS, 1, b);
  }
}

/* Blocks so large that there is one place for sums and what becomes of them. */
static void test_large(void) {
  const struct map_blocking floats = {.block_m = 64,
                                      .block_n = 64,
                                      .block_k = 80,
                                      .group_m = 1,
                                      .rounds_m = 2,
                                      .rounds_n = 1,
                                      .steps_k = 3};
  test_blocks(problem(DTYPE_BF16, DTYPE_BF16, 512, 256, 240,
                      (struct teir_finish){.relu = true}),
              INTEGERS, 1, &floats);
  const struct map_blocking integers = {.block_m = 64,
                                        .block_n = 64,
                                        .block_k = 232,
                                        .group_m = 1,
                                        .rounds_m = 2,
                                        .rounds_n = 1,
                                        .steps_k = 3};
  test_blocks(
      problem(DTYPE_I8, DTYPE_I8, 512, 256, 696, (struct teir_finish){0}),
      INTEGERS, 1, &integers);
}

int main(void) {
  test_bias();
  test_bias_has_no_zeros();
  test_large();
  test_float();
  test_integers();
  return check_result();
}
