/* grid_test.c -- products of small and skinny matrices on the simulated array,
 * as they lie in memory: the results are the oracle's, and the launch takes no
 * more cycles than it should. */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_fast.h"

#include <stdlib.h>
#include <string.h>

static void fill(struct sim_buffer *b, enum dtype type, uint32_t seed) {
  size_t step = (size_t)dtype_bytes(type);
  for (size_t i = 0; i + step <= b->bytes; i += step) {
    seed = seed * 1664525 + 1013904223;
    dtype_store_int(type, (char *)b->data + i, (int)(seed >> 29) - 4);
  }
}

static bool has_masked_writes(const struct command_list *l) {
  for (int i = 0; i < l->count; i++)
    if (l->item[i].kind == COMMAND_MASK_WRITE)
      return true;
  return false;
}

struct launch {
  struct teir_problem problem;
  uint64_t most_cycles;
  const char *preset; /* NULL: 8700g */
};

/* Twice: the second run starts where the first one has left the rings. */
static void test_launch(const struct launch *l) {
  const char *preset = l->preset ? l->preset : "8700g";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  const struct teir *t = teir_from_problem(a, &l->problem, &d);
  CHECK(t && npu_compile(a, preset, t, 0, &r, &d));
  if (d.kind)
    diag_print(&d, stderr);
  CHECK(!has_masked_writes(r.run));
  struct sim_buffer buffer[TENSORS];
  void *right[TENSORS + 1]; /* sums may be a tensor of their own */
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &r.program->transfer[i];
    int tensor = x->tensor;
    CHECK(!r.packed[tensor]);
    buffer[tensor].bytes = (size_t)x->bytes;
    buffer[tensor].data = calloc(1, (size_t)x->bytes);
    right[tensor] =
        tensor == OUT ? calloc(1, (size_t)x->bytes) : buffer[tensor].data;
  }
  int64_t results = l->problem.extent[AXIS_C] * l->problem.extent[AXIS_M] *
                    l->problem.extent[AXIS_N];
  right[SUMS] = calloc((size_t)results, 4);
  struct sim_options options = {.preset = preset_find(preset)};
  struct sim *s = sim_open(r.xclbin.data, r.xclbin.length, &options, &d);
  CHECK(s != NULL);
  for (uint32_t run = 0; s && run < 2; run++) {
    struct sim_report report = {0};
    fill(&buffer[IN0], l->problem.type[IN0], 1 + run);
    fill(&buffer[IN1], l->problem.type[IN1], 5 + run);
    CHECK(sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d));
    CHECK(teir_run_fast(t, right, 1, NULL, &d));
    CHECK(memcmp(buffer[OUT].data, right[OUT], buffer[OUT].bytes) == 0);
    CHECK(report.cycles <= l->most_cycles);
    if (report.cycles > l->most_cycles)
      fprintf(stderr, "%lldx%lldx%lld: %llu cycles, at most %llu\n",
              (long long)l->problem.extent[AXIS_M],
              (long long)l->problem.extent[AXIS_N],
              (long long)l->problem.extent[AXIS_K],
              (unsigned long long)report.cycles,
              (unsigned long long)l->most_cycles);
  }
  if (d.kind)
    diag_print(&d, stderr);
  if (s)
    sim_close(s);
  free(right[OUT]), free(right[SUMS]);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

/* Little work of which nothing can stay as it lies has few cores, too: eight
 * columns of padded blocks take 42,000 cycles. */
static void test_packed(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct platform at;
  struct map_blocking b;
  const struct teir_problem p = {{1, 13, 13, 13},
                                 {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                                 DTYPE_F32,
                                 false,
                                 {0}};
  const struct teir *t = teir_from_problem(a, &p, &d);
  const char *why[TENSORS];
  unsigned tried = 0;
  CHECK(platform_find("krackan", &at, &d) &&
        map_choose_in_place(a, &at, t, &tried, &b, why, &d));
  CHECK(why[IN0] && why[IN1] && why[OUT] && b.predicted_cycles < 13500);
  arena_close(a);
}

int main(void) {
#define BF16                                                                   \
  {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}, DTYPE_F32, false, { 0 }
#define BF16_BF16                                                              \
  {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16}, DTYPE_F32, false, { 0 }
#define INT8                                                                   \
  {DTYPE_I8, DTYPE_I8, DTYPE_I32}, DTYPE_I32, false, { 0 }
#define INT8_8                                                                 \
  {DTYPE_I8, DTYPE_I8, DTYPE_I8}, DTYPE_I8, false, { 0 }
#define INT8_16                                                                \
  {DTYPE_I8, DTYPE_U8, DTYPE_I16}, DTYPE_I16, false, { 0 }
  static const struct launch launch[] = {
      {{{1, 64, 64, 64}, BF16}, 17500, NULL},
      {{{1, 32, 1024, 1024}, BF16}, 94000, NULL},
      {{{1, 1024, 32, 1024}, BF16}, 90500, NULL},
      {{{1, 128, 1024, 256}, BF16}, 56000, NULL},
      {{{1, 8, 2048, 128}, BF16}, 40000, NULL},
      {{{1, 128, 96, 64}, BF16}, 22000, NULL},
      {{{1, 64, 512, 512}, BF16_BF16}, 45000, NULL},
      {{{1, 2048, 64, 256}, INT8}, 49000, NULL},
      {{{1, 24, 12288, 48}, BF16_BF16}, 58000, NULL},
      /* blocks of out that overlap by two rows */
      {{{1, 376, 512, 512}, BF16_BF16}, 83000, NULL},
      {{{1, 188, 384, 256}, BF16}, 39000, NULL},
      {{{1, 140, 2048, 512}, BF16_BF16}, 128000, NULL},
      /* a panel of in0 comes ahead of in1, on the channels of two columns */
      {{{1, 136, 1728, 1792}, INT8}, 184000, NULL},
      /* halves of the cores that are further apart than cores */
      {{{1, 227, 406, 416}, BF16}, 60000, NULL},
      /* cores clear what is behind the last k */
      {{{1, 736, 640, 462}, BF16}, 179500, NULL},
      {{{1, 256, 512, 622}, BF16}, 72500, NULL},
      /* batches: each core has products of its own, or all have all */
      {{{64, 64, 64, 64}, BF16}, 75000, NULL},
      {{{16, 32, 48, 40}, BF16_BF16}, 27000, NULL},
      {{{1040, 16, 16, 16}, INT8}, 102000, NULL},
      {{{6, 64, 64, 64}, BF16}, 45000, NULL},
      /* eight columns of AIE2P */
      {{{1, 64, 64, 64}, INT8}, 13500, "krackan"},
      {{{1, 256, 512, 256}, INT8}, 60500, "krackan"},
      {{{1, 192, 320, 384}, INT8_8}, 48500, "krackan"},
      {{{1, 16, 2048, 128}, INT8_16}, 59500, "krackan"},
      {{{1, 173, 362, 128}, BF16}, 70000, "krackan"}, /* in halves */
      {{{8, 64, 64, 64}, INT8}, 55500, "krackan"},
      {{{64, 64, 64, 64}, INT8}, 80000, "krackan"},
      {{{1, 128, 256, 256},
        {DTYPE_I8, DTYPE_I8, DTYPE_I8},
        DTYPE_I32,
        false,
        {.shift = 3, .saturate = true}},
       44500,
       "krackan"},
  };
#undef BF16
#undef BF16_BF16
#undef INT8
#undef INT8_8
#undef INT8_16
  for (size_t i = 0; i < sizeof launch / sizeof *launch; i++)
    test_launch(&launch[i]);
  test_packed();
  return check_result();
}
