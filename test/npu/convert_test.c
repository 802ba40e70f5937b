/* convert_test.c -- products of bf16 in which a row of cores makes block floats
 * for the others, on the simulated array: the results are those of a plain
 * loop, launch after launch, and large products are made so. */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_einsum.h"

#include <stdlib.h>
#include <string.h>

/* Of out[m,n], whose columns are 8 parts of n and whose rows 3 parts of m; or
 * transposed in device memory. */
struct product {
  int block_m, block_n, block_k, rounds_m, rounds_n, steps;
  enum dtype out;
  bool transposed;
  bool rows; /* in1 is [k][n], else [n][k] */
};

static int rows_of(const struct product *x) {
  return 3 * x->rounds_m * x->block_m;
}
static int columns_of(const struct product *x) {
  return 8 * x->rounds_n * x->block_n;
}
static int depth_of(const struct product *x) { return x->steps * x->block_k; }

static const struct teir *placed(struct arena *a, const struct product *x,
                                 struct diag *d) {
  int k = 2 * depth_of(x), bytes = dtype_bytes(x->out),
      row = bytes * (x->transposed ? 1 : columns_of(x)),
      column = bytes * (x->transposed ? rows_of(x) : 1),
      sums = 4 * x->block_m * x->block_n, n = x->rows ? 2 : k,
      along = x->rows ? 2 * columns_of(x) : 2;
  bool narrow = x->out != DTYPE_F32;
  const char *sum = narrow ? "sum" : "out";
  char *text = arena_printf(
      a,
      "teir 1\ntensor in0 bfp16\ntensor in1 bfp16\ntensor out %s\n%s"
      "axis column extent 8 stride in1=%d out=%d%s\n"
      "axis n extent %d stride in1=%d out=%d\n"
      "axis block_n extent %d stride in1=%d out=%d%s\n"
      "axis row extent 3 stride in0=%d out=%d%s\n"
      "axis m extent %d stride in0=%d out=%d\n"
      "axis block_m extent %d stride in0=%d out=%d%s\n"
      "axis k extent %d stride in0=%d in1=%d\n"
      "axis block_k extent %d stride in0=2 in1=%d\n"
      "primitive zero Zero M=[block_m] N=[block_n] to %s\n"
      "primitive product Contraction M=[block_m] N=[block_n] K=[block_k] "
      "from in0, in1 to %s\n%s"
      "roots column\n"
      "iterate column over column parallel on columns do row\n"
      "iterate row over row parallel on rows do n\n"
      "iterate n over n sequential on time do m\n"
      "iterate m over m sequential on time do zero, k%s\n"
      "invoke zero calls zero\n"
      "iterate k over k sequential on time do product\n"
      "invoke product calls product\n%s",
      dtype_name(x->out), narrow ? "tensor sum f32\n" : "",
      n * x->block_n * x->rounds_n, column * x->block_n * x->rounds_n,
      narrow ? arena_printf(a, " sum=%d", 3 * sums) : "", x->rounds_n,
      n * x->block_n, column * x->block_n, x->block_n, n, column,
      narrow ? arena_printf(a, " sum=%d", 4 * x->block_m) : "",
      k * x->block_m * x->rounds_m, row * x->block_m * x->rounds_m,
      narrow ? arena_printf(a, " sum=%d", sums) : "", x->rounds_m,
      k * x->block_m, row * x->block_m, x->block_m, k, row,
      narrow ? " sum=4" : "", x->steps, 2 * x->block_k, along * x->block_k,
      x->block_k, along, sum, sum,
      narrow
          ? "primitive convert Cast M=[block_m] N=[block_n] from sum to out\n"
          : "",
      narrow ? ", convert" : "",
      narrow ? "invoke convert calls convert\n" : "");
  return teir_parse(a, "placed.teir", text, d);
}

/* Small whole numbers: exact as block floats. */
static void fill(struct sim_buffer *b, uint32_t seed) {
  for (size_t i = 0; i + 2 <= b->bytes; i += 2) {
    seed = seed * 1664525 + 1013904223;
    dtype_store_int(DTYPE_BF16, (char *)b->data + i, (int)(seed >> 29) - 4);
  }
}

static bool is_right(const struct product *x, const struct sim_buffer b[]) {
  const uint16_t *in0 = b[IN0].data, *in1 = b[IN1].data;
  int rows = rows_of(x), columns = columns_of(x), k = depth_of(x);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      int at = x->transposed ? j * rows + i : i * columns + j;
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += bf16_to_f32(in0[i * k + l]) *
               bf16_to_f32(in1[x->rows ? l * columns + j : j * k + l]);
      if (x->out == DTYPE_F32
              ? memcmp((float *)b[OUT].data + at, &sum, sizeof sum) != 0
              : ((uint16_t *)b[OUT].data)[at] != bf16_from_f32(sum))
        return false;
    }
  return true;
}

static void test_product(const struct product *x) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  const struct teir *t = placed(a, x, &d);
  bool made = t && npu_compile(a, "krackan", t, 0, &r, &d);
  CHECK(made && r.not_as_placed.kind == DIAG_NONE);
  const struct diag *why = r.not_as_placed.kind ? &r.not_as_placed : &d;
  if (why->kind)
    diag_print(why, stderr);
  if (!made) {
    arena_close(a);
    return;
  }
  CHECK(r.program->converts && r.program->grid.rows == 3);
  struct sim_buffer buffer[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *y = &r.program->transfer[i];
    buffer[y->tensor].bytes = (size_t)y->bytes;
    buffer[y->tensor].data = calloc(1, (size_t)y->bytes);
  }
  struct sim_options options = {.preset = preset_find("krackan"),
                                .strict = true};
  struct sim *s = sim_open(r.xclbin.data, r.xclbin.length, &options, &d);
  CHECK(s != NULL);
  for (uint32_t run = 0; s && run < 2; run++) {
    struct sim_report report = {0};
    fill(&buffer[IN0], 1 + run);
    fill(&buffer[IN1], 5 + run);
    CHECK(sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d));
    CHECK(is_right(x, buffer));
    CHECK(report.cores == 32);
  }
  if (d.kind)
    diag_print(&d, stderr);
  if (s)
    sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

/* Whether the chooser has a row of cores convert. */
static bool chosen(const char *expression, int m, int n, int k) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct platform at;
  const struct teir_einsum e = {.expression = expression,
                                .extent = {['m'] = m, ['n'] = n, ['k'] = k},
                                .in = DTYPE_BFP16,
                                .out = DTYPE_BF16};
  const struct teir *t = teir_from_einsum(a, &e, &d);
  struct map_blocking b = {0};
  const char *why[TENSORS];
  unsigned tried = 0;
  bool good = t && platform_find("krackan", &at, &d) &&
              map_choose_in_place(a, &at, t, &tried, &b, why, &d);
  CHECK(good);
  arena_close(a);
  return good && b.form.converts;
}

/* The array comes from one configuration or the other, and the row that
 * converts from products of its own. */
static void test_changes(const struct product x[2]) {
  enum { ALL = 3, INT8 = 2, CHANGES = 8 };
  static const int order[CHANGES] = {0, 1, 0, INT8, 1, 1, INT8, 0};
  static const struct teir_problem q = {{1, 192, 320, 384},
                                        {DTYPE_I8, DTYPE_I8, DTYPE_I32},
                                        DTYPE_I32,
                                        false,
                                        {0}};
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r[ALL];
  struct sim_buffer b[ALL][TENSORS];
  for (int i = 0; i < ALL; i++) {
    const struct teir *t =
        i == INT8 ? teir_from_problem(a, &q, &d) : placed(a, &x[i], &d);
    CHECK(t && npu_compile(a, "krackan", t, 0, &r[i], &d));
    for (int k = 0; k < TENSORS; k++) {
      const struct map_transfer *y = &r[i].program->transfer[k];
      b[i][y->tensor].bytes = (size_t)y->bytes;
      b[i][y->tensor].data = calloc(1, (size_t)y->bytes);
    }
  }
  struct sim_options options = {.preset = preset_find("krackan")};
  struct sim *s = sim_open(r[0].xclbin.data, r[0].xclbin.length, &options, &d);
  CHECK(s != NULL);
  for (int i = 0, held = 0; s && i < CHANGES; held = order[i++]) {
    struct npu_result *to = &r[order[i]];
    struct sim_buffer *buffer = b[order[i]];
    struct sim_report report = {0};
    struct text txn = {0};
    const struct command_list *from[] = {r[held].configuration};
    struct command_list *l = command_list(a);
    change_write(from, 1, to->configuration, l, NULL);
    for (int k = 0; k < to->run->count; k++)
      command_copy(l, &to->run->item[k]);
    CHECK(txn_write(l, device_find("npu4"), 8, &txn, &d));
    if (order[i] != INT8) {
      fill(&buffer[IN0], (uint32_t)i);
      fill(&buffer[IN1], (uint32_t)i + 40);
    }
    memset(buffer[OUT].data, 0x55, buffer[OUT].bytes);
    CHECK(sim_run(s, txn.data, txn.length, buffer, TENSORS, &report, &d));
    size_t zeros = 0;
    while (zeros < buffer[OUT].bytes && !((char *)buffer[OUT].data)[zeros])
      zeros++;
    CHECK(order[i] == INT8 ? zeros == buffer[OUT].bytes
                           : is_right(&x[order[i]], buffer));
    text_free(&txn);
  }
  if (d.kind)
    diag_print(&d, stderr);
  if (s)
    sim_close(s);
  for (int i = 0; i < ALL; i++) {
    for (int k = 0; k < TENSORS; k++)
      free(b[i][k].data);
    npu_result_free(&r[i]);
  }
  arena_close(a);
}

static void add_block(struct map_cut *c, int axis) {
  c->part[c->count++] = (struct map_part){axis, MAP_BLOCK, 16, 1};
}

/* A block of two axes comes in the order of addresses, not in that of rows. */
static void test_axes(void) {
  struct map_cut cut[AXIS_ROLES] = {{0}};
  for (int role = AXIS_M; role <= AXIS_K; role++) {
    add_block(&cut[role], 0);
    CHECK(map_converts_blocks(cut));
  }
  for (int role = AXIS_M; role <= AXIS_K; role++) {
    add_block(&cut[role], 1);
    CHECK(!map_converts_blocks(cut));
    cut[role].count--;
  }
}

int main(void) {
  static const struct product product[] = {
      {32, 48, 32, 2, 2, 4, DTYPE_BF16, false, false},
      /* several panels of in1; words of a step that a dimension cannot count */
      {16, 32, 96, 1, 3, 2, DTYPE_F32, false, false},
      {48, 16, 64, 2, 1, 6, DTYPE_BF16, true, false},
      {32, 32, 32, 1, 1, 3, DTYPE_F32, true, false},
      /* in1 along n */
      {32, 48, 64, 2, 2, 3, DTYPE_BF16, false, true},
      {16, 64, 32, 1, 1, 4, DTYPE_F32, true, true},
  };
  for (size_t i = 0; i < sizeof product / sizeof *product; i++)
    test_product(&product[i]);
  test_changes(product);
  test_axes();
  CHECK(chosen("mk,nk->mn", 4032, 4608, 4224));
  CHECK(chosen("mk,nk->nm", 4032, 4608, 4224));
  CHECK(!chosen("mk,nk->mn", 192, 384, 384)); /* waits for pushes */
  CHECK(chosen("mk,kn->mn", 4032, 4608, 4224));
  CHECK(!chosen("km,kn->mn", 4032, 4608, 4224)); /* neither lies along k */
  return check_result();
}
