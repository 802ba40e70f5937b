/* panel_test.c -- products on the simulated array whose panel of in0 a mem tile
 * keeps, against plain loops: what is kept must be of this m round, these n
 * rounds, and of this run. */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_fast.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 10 };
static const struct {
  struct map_blocking blocking;
  int rounds; /* for which all of it is kept; 0: it is kept in part */
  bool wide;  /* of 8 columns, so every panel has two mem tiles; of bytes */
} cases[CASES] = {
    /* 4 x 4 cores, each with two blocks of 16 x 16: m is 4 * 2 * 16 * 2 */
    {{.block_m = 16,
      .block_n = 16,
      .block_k = 64,
      .group_m = 2,
      .rounds_m = 2,
      .rounds_n = 3,
      .steps_k = 144},
     0,
     false},
    /* more n rounds than a lock counts */
    {{.block_m = 16,
      .block_n = 16,
      .block_k = 16,
      .group_m = 1,
      .rounds_m = 2,
      .rounds_n = 96,
      .steps_k = 2},
     48,
     false},
    {{.block_m = 16,
      .block_n = 16,
      .block_k = 16,
      .group_m = 2,
      .rounds_m = 1,
      .rounds_n = 77,
      .steps_k = 1},
     11,
     false},
    /* in0 comes ahead of in1, whose blocks are no whole turns of its ring */
    {{.block_m = 16,
      .block_n = 16,
      .block_k = 16,
      .group_m = 1,
      .rounds_m = 1,
      .rounds_n = 70,
      .steps_k = 3,
      .form = {.cores_m = 2, .cores_n = 8}},
     35,
     false},
    {{.block_m = 16,
      .block_n = 32,
      .block_k = 16,
      .group_m = 1,
      .rounds_m = 1,
      .rounds_n = 65,
      .steps_k = 1,
      .form = {.cores_m = 2, .cores_n = 8}},
     13,
     false},
    /* a panel of 600 KiB, in both mem tiles, and one of 1200 KiB */
    {{.block_m = 32,
      .block_n = 16,
      .block_k = 64,
      .group_m = 2,
      .rounds_m = 2,
      .rounds_n = 2,
      .steps_k = 144},
     2,
     true},
    {{.block_m = 64,
      .block_n = 16,
      .block_k = 64,
      .group_m = 2,
      .rounds_m = 2,
      .rounds_n = 2,
      .steps_k = 150},
     0,
     true},
    /* a panel in two mem tiles that comes ahead of in1 */
    {{.block_m = 128,
      .block_n = 16,
      .block_k = 64,
      .group_m = 1,
      .rounds_m = 1,
      .rounds_n = 4,
      .steps_k = 36,
      .form = {.cores_m = 2, .cores_n = 8}},
     4,
     false},
    /* columns take m, and rows n */
    {{.block_m = 16,
      .block_n = 32,
      .block_k = 16,
      .group_m = 2,
      .rounds_m = 2,
      .rounds_n = 3,
      .steps_k = 4,
      .form = {.across = true}},
     3,
     true},
    {{.block_m = 64,
      .block_n = 16,
      .block_k = 64,
      .group_m = 1,
      .rounds_m = 1,
      .rounds_n = 2,
      .steps_k = 144,
      .form = {.across = true}},
     0,
     true},
};

/* Small values of a type. */

static void fill(enum dtype type, struct sim_buffer *b, uint32_t seed) {
  size_t bytes = (size_t)dtype_bytes(type);
  for (size_t i = 0; i + bytes <= b->bytes; i += bytes) {
    seed = seed * 1664525 + 1013904223;
    dtype_store_int(type, (char *)b->data + i, (int)(seed >> 29) - 4);
  }
}

/* An element, exactly. */
static int64_t load(enum dtype type, const struct sim_buffer *b, int64_t at) {
  const char *x = (char *)b->data + at * dtype_bytes(type);
  return dtype_kind(type) == DTYPE_FLOAT ? (int64_t)dtype_load_float(type, x)
                                         : dtype_load_int(type, x);
}

/* One result by the layout that map_schedule documents. */
static int64_t sum_of(const struct map_blocking *b, enum dtype type,
                      const struct sim_buffer *buffer, int64_t in0,
                      int64_t in1) {
  int64_t sum = 0;
  for (int step = 0; step < b->steps_k; step++)
    for (int k = 0; k < b->block_k; k++) {
      int64_t x =
          in0 + (int64_t)step * b->group_m * b->block_m * b->block_k + k;
      int64_t y = in1 + ((int64_t)step * b->block_k + k) * b->block_n;
      sum += load(type, &buffer[0], x) * load(type, &buffer[1], y);
    }
  return sum;
}

/* in0 [row][m][k][group][block_m][block_k], in1 [column][n][k][..],
 * out [column][m][n][group][row][block_m][block_n]; some of the elements. Where
 * columns take m, in0 begins with the column and in1 with the row. */
static int wrong_results(const struct map_blocking *b,
                         const enum dtype type[TENSORS],
                         const struct sim_buffer *buffer) {
  int rows = b->form.cores_m ? b->form.cores_m : 4;
  int64_t block = (int64_t)b->block_m * b->block_n, wrong = 0;
  int64_t depth = (int64_t)b->steps_k * b->block_k;
  for (size_t at = 0; at < buffer[2].bytes / 4; at += depth < 4096 ? 7 : 61) {
    int64_t i = (int64_t)at, j = i % block, l;
    i /= block;
    int64_t row = i % rows, group = i / rows % b->group_m;
    i /= (int64_t)rows * b->group_m;
    int64_t n = i % b->rounds_n, m = i / b->rounds_n % b->rounds_m;
    l = i / b->rounds_n / b->rounds_m; /* column */
    int64_t part_m = b->form.across ? l : row,
            part_n = b->form.across ? row : l;
    int64_t in0 = (part_m * b->rounds_m + m) * depth * b->group_m * b->block_m +
                  (group * b->block_m + j / b->block_n) * b->block_k;
    int64_t in1 =
        (part_n * b->rounds_n + n) * depth * b->block_n + j % b->block_n;
    wrong += sum_of(b, type[IN0], buffer, in0, in1) !=
             load(type[OUT], &buffer[2], (int64_t)at);
  }
  return (int)wrong;
}

static void test_case(const struct map_blocking *b, int rounds, bool wide) {
  struct arena *a = arena_open();
  struct diag d = {0};
  const struct teir_problem floats = {
      .extent = {1, 1, 1, 1},
      .type = {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
      .acc = DTYPE_F32};
  const struct teir_problem bytes = {.extent = {1, 1, 1, 1},
                                     .type = {DTYPE_I8, DTYPE_I8, DTYPE_I32},
                                     .acc = DTYPE_I32};
  const struct teir_problem *p = wide ? &bytes : &floats;
  const char *device = wide ? "npu4" : "npu1";
  int64_t in0 = (int64_t)b->block_m * b->block_k * b->steps_k * 2;
  bool large = rounds && in0 > device_find(device)->tile[TILE_MEM].memory_bytes;
  struct npu_result r = {0};
  struct teir *t = teir_from_problem(a, p, &d);
  t = map_schedule(a, device_find(device), t, b, &d);
  CHECK(t && npu_compile(a, device, t, 0, &r, &d));
  if (d.kind)
    diag_print(&d, stderr);
  const struct map_panel *panel = &r.program->panel;
  CHECK(panel->rounds == rounds && (panel->chunks > 0) == (rounds > 0));
  CHECK((panel->stretches > 0) == (rounds == 0));
  CHECK(r.program->grid.across == b->form.across);
  CHECK((panel->own < panel->chunks + panel->stretches) ==
        ((wide || large) && !b->form.across));
  struct sim_buffer buffer[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    buffer[i].bytes = (size_t)r.program->transfer[i].bytes;
    buffer[i].data = calloc(1, buffer[i].bytes);
  }
  struct sim_options options = {.preset =
                                    preset_find(wide ? "krackan" : "phoenix")};
  struct sim *s = sim_open(r.xclbin.data, r.xclbin.length, &options, &d);
  CHECK(s != NULL);
  for (uint32_t run = 0; run < (wide ? 1 : 2); run++) { /* these are long */
    struct sim_report report;
    fill(p->type[IN0], &buffer[IN0], 1 + run);
    fill(p->type[IN1], &buffer[IN1], 5 + run);
    CHECK(sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d));
    CHECK(wrong_results(b, p->type, buffer) == 0);
  }
  if (d.kind)
    diag_print(&d, stderr);
  sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

/* out[m][n] = sum of in0[m][k] * in1[n][k] in rows of 8064 elements along k, of
 * which runs of 448 bytes are kept: of every three the first one, or in every
 * second column the second one. */
static const char runs[] =
    "teir 1\n"
    "tensor in0 bf16\n"
    "tensor in1 bf16\n"
    "tensor out f32\n"
    "axis m extent 2 stride in0=4128768 out=196608\n"
    "axis row extent 4 stride in0=1032192 out=49152\n"
    "axis group extent 2 stride in0=516096 out=24576\n"
    "axis block_m extent 32 stride in0=16128 out=768\n"
    "axis column extent 4 stride in1=774144 out=192\n"
    "axis n extent 3 stride in1=258048 out=64\n"
    "axis block_n extent 16 stride in1=16128 out=4\n"
    "axis k extent 252 stride in0=64 in1=64\n"
    "axis block_k extent 32 stride in0=2 in1=2\n"
    "primitive zero Zero M=[block_m] N=[block_n] to out\n"
    "primitive contraction Contraction M=[block_m] N=[block_n] K=[block_k] "
    "from in0, in1 to out\n"
    "roots row\n"
    "iterate row over row parallel on rows do column\n"
    "iterate column over column parallel on columns do m\n"
    "iterate m over m sequential on time do n\n"
    "iterate n over n sequential on time do group_zero, k\n"
    "iterate group_zero over group sequential on time do zero\n"
    "invoke zero calls zero\n"
    "iterate k over k sequential on time do group_product\n"
    "iterate group_product over group sequential on time do contraction\n"
    "invoke contraction calls contraction\n";

static void test_runs(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct sim_report report;
  struct sim_options options = {.preset = preset_find("phoenix")};
  const struct teir *t = teir_parse(a, "runs", runs, &d);
  CHECK(t && npu_compile(a, "phoenix", t, 0, &r, &d));
  CHECK(r.program && r.program->panel.stretches == 12 &&
        map_streamed_parts(r.program) == 2);
  struct sim_buffer buffer[TENSORS] = {{0}};
  void *right[TENSORS] = {NULL};
  for (int i = 0; t && i < TENSORS; i++) {
    int64_t low, high;
    CHECK(teir_footprint(t, i, &low, &high, &d));
    buffer[i] = (struct sim_buffer){calloc(1, (size_t)high), (size_t)high};
    right[i] = i < OUT ? buffer[i].data : calloc(1, (size_t)high);
    if (i < OUT)
      fill(DTYPE_BF16, &buffer[i], (uint32_t)i + 1);
  }
  struct sim *s =
      d.kind ? NULL : sim_open(r.xclbin.data, r.xclbin.length, &options, &d);
  CHECK(s &&
        sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d));
  CHECK(s && teir_run_fast(t, right, 1, NULL, &d) &&
        memcmp(buffer[OUT].data, right[OUT], buffer[OUT].bytes) == 0);
  if (d.kind)
    diag_print(&d, stderr);
  if (s)
    sim_close(s);
  free(right[OUT]);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

int main(void) {
  for (int i = 0; i < CASES; i++)
    test_case(&cases[i].blocking, cases[i].rounds, cases[i].wide);
  test_runs();
  return check_result();
}
