/* panel_test.c -- products on the simulated array whose panel of in0 a mem tile
 * keeps in part, against plain loops: the kept steps must be those of this m
 * round, and of this run. */
#include "check.h"
#include "npu.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* 4 x 4 cores, each with two blocks of 16 x 16: m is 4 * 2 * 16 * 2 rounds. */
static const struct map_blocking blocking = {.block_m = 16,
                                             .block_n = 16,
                                             .block_k = 64,
                                             .group_m = 2,
                                             .rounds_m = 2,
                                             .rounds_n = 3,
                                             .steps_k = 144};

static void fill(struct sim_buffer *b, uint32_t seed) {
  for (size_t i = 0; i + 2 <= b->bytes; i += 2) {
    seed = seed * 1664525 + 1013904223;
    dtype_store_int(DTYPE_BF16, (char *)b->data + i, (int)(seed >> 29) - 4);
  }
}

/* One result by the layout that map_schedule documents. */
static float sum_of(const struct sim_buffer *buffer, int64_t in0, int64_t in1) {
  const struct map_blocking *b = &blocking;
  float sum = 0;
  for (int step = 0; step < b->steps_k; step++)
    for (int k = 0; k < b->block_k; k++) {
      int64_t x =
          in0 + (int64_t)step * b->group_m * b->block_m * b->block_k + k;
      int64_t y = in1 + ((int64_t)step * b->block_k + k) * b->block_n;
      sum +=
          (float)(dtype_load_float(DTYPE_BF16, (char *)buffer[0].data + 2 * x) *
                  dtype_load_float(DTYPE_BF16, (char *)buffer[1].data + 2 * y));
    }
  return sum;
}

/* in0 [row][m][k][group][block_m][block_k], in1 [column][n][k][..],
 * out [column][m][n][group][row][block_m][block_n]; every seventh element. */
static int wrong_results(const struct sim_buffer *buffer) {
  const struct map_blocking *b = &blocking;
  int64_t block = (int64_t)b->block_m * b->block_n, wrong = 0;
  int64_t depth = (int64_t)b->steps_k * b->block_k;
  for (size_t at = 0; at < buffer[2].bytes / 4; at += 7) {
    int64_t i = (int64_t)at, j = i % block, l;
    i /= block;
    int64_t row = i % 4, group = i / 4 % b->group_m;
    i /= 4 * b->group_m;
    int64_t n = i % b->rounds_n, m = i / b->rounds_n % b->rounds_m;
    l = i / b->rounds_n / b->rounds_m; /* column */
    int64_t in0 = (row * b->rounds_m + m) * depth * b->group_m * b->block_m +
                  (group * b->block_m + j / b->block_n) * b->block_k;
    int64_t in1 = (l * b->rounds_n + n) * depth * b->block_n + j % b->block_n;
    wrong += sum_of(buffer, in0, in1) != ((float *)buffer[2].data)[at];
  }
  return (int)wrong;
}

int main(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  const struct teir_problem p = {.extent = {1, 1, 1, 1},
                                 .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
                                 .acc = DTYPE_F32};
  struct npu_result r = {0};
  struct teir *t = teir_from_problem(a, &p, &d);
  t = map_schedule(a, device_find("npu1"), t, &blocking, &d);
  CHECK(t && npu_compile(a, "npu1", t, 0, &r, &d));
  CHECK(r.program->panel.stretches > 0);
  struct sim_buffer buffer[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    buffer[i].bytes = (size_t)r.program->transfer[i].bytes;
    buffer[i].data = calloc(1, buffer[i].bytes);
  }
  struct sim_options options = {.preset = preset_find("phoenix")};
  struct sim *s = sim_open(r.xclbin.data, r.xclbin.length, &options, &d);
  CHECK(s != NULL);
  for (uint32_t run = 0; run < 2; run++) {
    struct sim_report report;
    fill(&buffer[IN0], 1 + run);
    fill(&buffer[IN1], 5 + run);
    CHECK(sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d));
    CHECK(wrong_results(buffer) == 0);
  }
  if (d.kind)
    diag_print(&d, stderr);
  sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
  return check_result();
}
