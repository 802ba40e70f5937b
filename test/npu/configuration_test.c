/* configuration_test.c -- products of the same blocks are one configuration of
 * the array, whatever their extents: launches of several sizes follow each
 * other in any order, with the array's state as the last one left it.  Those of
 * other blocks follow them, too, where a transaction first changes what the
 * array holds. */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_fast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6, LAUNCHES = 12 };

/* Sizes of blocks, in rounds and steps; 0 rounds: no more sizes. */
struct family {
  enum dtype in, out, sum;
  int block_m, block_n, block_k, group_m;
  struct {
    int rounds_m, rounds_n, steps_k;
  } size[SIZES];
};

/* One size, compiled, on buffers of its own. */
struct product {
  const struct teir *teir;
  struct npu_result result;
  struct sim_buffer buffer[TENSORS];
  void *right, *sums;
};

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 8;
}

static void make(struct arena *a, const struct family *f, int i,
                 struct product *p) {
  struct diag d = {0};
  const struct device *device = device_find("npu1");
  const struct map_blocking b = {.block_m = f->block_m,
                                 .block_n = f->block_n,
                                 .block_k = f->block_k,
                                 .group_m = f->group_m,
                                 .rounds_m = f->size[i].rounds_m,
                                 .rounds_n = f->size[i].rounds_n,
                                 .steps_k = f->size[i].steps_k};
  const struct teir_problem q = {
      .extent = {1, (int64_t)4 * f->block_m * f->group_m * b.rounds_m,
                 (int64_t)4 * f->block_n * b.rounds_n,
                 (int64_t)f->block_k * b.steps_k},
      .type = {f->in, f->in, f->out},
      .acc = f->sum};
  const struct teir *plain = teir_from_problem(a, &q, &d);
  p->teir = plain ? map_schedule(a, device, plain, &b, &d) : NULL;
  CHECK(p->teir && npu_compile(a, "npu1", p->teir, 0, &p->result, &d));
  CHECK(p->result.not_as_placed.kind == DIAG_NONE);
  if (d.kind)
    diag_print(&d, stderr);
  for (int t = 0; t < TENSORS; t++) {
    const struct map_transfer *x = &p->result.program->transfer[t];
    p->buffer[x->tensor].bytes = (size_t)x->bytes;
    p->buffer[x->tensor].data = calloc(1, (size_t)x->bytes);
  }
  p->right = calloc(1, p->buffer[OUT].bytes);
  p->sums = calloc((size_t)(q.extent[AXIS_M] * q.extent[AXIS_N]), 4);
}

static void drop(struct product *p) {
  for (int t = 0; t < TENSORS; t++)
    free(p->buffer[t].data);
  free(p->right), free(p->sums);
  npu_result_free(&p->result);
}

static void fill(struct sim_buffer *b, enum dtype type, uint32_t *seed) {
  size_t step = (size_t)dtype_bytes(type);
  for (size_t i = 0; i + step <= b->bytes; i += step)
    dtype_store_int(type, (char *)b->data + i,
                    (int)(next_random(seed) % 8) - 4);
}

/* Gives its cycles. */
static uint64_t launch(struct sim *s, const struct family *f, struct product *p,
                       const struct text *txn, const struct change_data *data,
                       uint32_t *seed) {
  struct diag d = {0};
  struct sim_report report = {0};
  uint32_t words[1 << 14];
  struct sim_buffer argument[TENSORS + 1] = {
      p->buffer[IN0], p->buffer[IN1], p->buffer[OUT], {words, 0}};
  if (data) {
    CHECK(data->count <= sizeof words / sizeof *words);
    argument[CHANGE_ARGUMENT].bytes = 4 * (size_t)data->count;
    memcpy(words, data->words, argument[CHANGE_ARGUMENT].bytes);
  }
  void *tensor[TENSORS + 1] = {p->buffer[IN0].data, p->buffer[IN1].data,
                               p->right, p->sums};
  fill(&p->buffer[IN0], f->in, seed);
  fill(&p->buffer[IN1], f->in, seed);
  memset(p->buffer[OUT].data, 0x55, p->buffer[OUT].bytes);
  CHECK(sim_run(s, txn->data, txn->length, argument, TENSORS + (data != NULL),
                &report, &d));
  CHECK(teir_run_fast(p->teir, tensor, 1, NULL, &d));
  CHECK(memcmp(p->buffer[OUT].data, p->right, p->buffer[OUT].bytes) == 0);
  if (d.kind)
    diag_print(&d, stderr);
  return report.cycles;
}

static void test_family(const struct family *f, uint32_t seed) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct product p[SIZES];
  int count = 0;
  for (; count < SIZES && f->size[count].rounds_m; count++)
    make(a, f, count, &p[count]);
  const struct text *first = &p[0].result.xclbin;
  for (int i = 1; i < count; i++) {
    const struct text *x = &p[i].result.xclbin;
    bool same = x->length == first->length &&
                memcmp(x->data, first->data, x->length) == 0;
    CHECK(same);
    if (!same)
      fprintf(stderr, "family of blocks of %d x %d x %d, size %d\n", f->block_m,
              f->block_n, f->block_k, i);
  }
  struct sim_options options = {.preset = preset_find("8700g")};
  struct sim *s = sim_open(first->data, first->length, &options, &d);
  CHECK(s != NULL);
  for (int i = 0; s && i < LAUNCHES; i++) /* all, and then any */
  {
    struct product *x = &p[i < count ? i : (int)next_random(&seed) % count];
    launch(s, f, x, &x->result.txn, NULL, &seed);
  }
  if (s)
    sim_close(s);
  for (int i = 0; i < count; i++)
    drop(&p[i]);
  arena_close(a);
}

static size_t words_of(const struct command_list *l) {
  size_t words = 0;
  for (int i = 0; i < l->count; i++)
    words += l->item[i].kind == COMMAND_BLOCK ? l->item[i].count : 1;
  return words;
}

/* The array holds one of the two; `to` is launched.  What cores and mem tiles
 * get is in the transaction, or brought from device memory. */
static void launch_changed(struct sim *s, const struct product *const from[2],
                           const struct family *f, struct product *to,
                           bool brought, bool priced, uint32_t *seed) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text txn = {0};
  const struct command_list *held[] = {from[0]->result.configuration,
                                       from[1]->result.configuration};
  struct command_list *l = command_list(a);
  struct change_data data;
  change_write(held, 2, to->result.configuration, l, brought ? &data : NULL);
  /* a program goes to the array once, not to each of 16 cores */
  CHECK((brought ? 16 : 6) * words_of(l) < words_of(to->result.configuration));
  bool same = from[0] == to && from[1] == to;
  CHECK(same ? !l->count : !brought || data.count > 0);
  const struct preset *at = preset_find("8700g");
  double price = change_seconds(l, brought ? &data : NULL, at);
  for (int i = 1; i < l->count; i++) /* descriptors in a row are one write */
    CHECK(l->item[i].kind != COMMAND_BLOCK ||
          l->item[i - 1].kind != COMMAND_BLOCK ||
          l->item[i - 1].address + 4 * l->item[i - 1].count !=
              l->item[i].address);
  for (int i = 0; i < to->result.run->count; i++)
    command_copy(l, &to->result.run->item[i]);
  CHECK(txn_write(l, device_find("npu1"), to->result.program->grid.columns,
                  &txn, &d));
  uint64_t cycles = launch(s, f, to, &txn, brought ? &data : NULL, seed);
  if (priced && !same) {
    double more =
        (double)(cycles - launch(s, f, to, &to->result.txn, NULL, seed)) /
        at->clock_ghz / price / 1e9;
    CHECK(more > 0.7 && more < 1.4);
  }
  text_free(&txn);
  arena_close(a);
}

/* One size of each family, in any order on one array. */
static void test_changes(const struct family f[], int count) {
  enum { MOST = 16, CHANGES = 24 };
  struct arena *a = arena_open();
  struct diag d = {0};
  struct product p[MOST];
  uint32_t seed = 99;
  assert(count <= MOST);
  for (int i = 0; i < count; i++)
    make(a, &f[i], i % 3, &p[i]);
  const struct text *first = &p[0].result.xclbin;
  struct sim_options options = {.preset = preset_find("8700g")};
  struct sim *s = sim_open(first->data, first->length, &options, &d);
  CHECK(s != NULL);
  const struct product *from[] = {&p[0], &p[0]};
  for (int i = 0; s && i < CHANGES; i++) {
    int at = (int)next_random(&seed) % count;
    launch_changed(s, from, &f[at], &p[at], i % 3, i % 6 == 1, &seed);
    from[1] = &p[at]; /* from[0] might have been loaded again */
  }
  if (s)
    sim_close(s);
  for (int i = 0; i < count; i++)
    drop(&p[i]);
  arena_close(a);
}

int main(void) {
  static const struct family family[] = {
      /* steps that the kernel counts, odd and even ones */
      {DTYPE_BF16,
       DTYPE_F32,
       DTYPE_F32,
       32,
       32,
       32,
       1,
       {{4, 1, 3}, {5, 1, 4}, {4, 1, 7}, {6, 1, 3}, {4, 1, 8}}},
      /* two blocks of out at once */
      {DTYPE_BF16,
       DTYPE_F32,
       DTYPE_F32,
       16,
       32,
       32,
       2,
       {{3, 1, 3}, {4, 1, 5}, {2, 1, 8}}},
      /* results in a pass of their own */
      {DTYPE_BF16,
       DTYPE_BF16,
       DTYPE_F32,
       32,
       32,
       16,
       1,
       {{4, 1, 6}, {3, 1, 9}, {5, 1, 5}}},
      {DTYPE_I8,
       DTYPE_I32,
       DTYPE_I32,
       32,
       32,
       64,
       1,
       {{4, 1, 3}, {5, 1, 6}, {3, 1, 4}}},
      /* little: a column's results leave on one channel */
      {DTYPE_BF16,
       DTYPE_F32,
       DTYPE_F32,
       16,
       16,
       32,
       1,
       {{1, 1, 3}, {1, 1, 5}, {1, 1, 4}}},
      /* one step is a program of its own */
      {DTYPE_BF16,
       DTYPE_F32,
       DTYPE_F32,
       32,
       32,
       32,
       1,
       {{9, 1, 1}, {8, 1, 1}, {11, 1, 1}}},
  };
  for (size_t i = 0; i < sizeof family / sizeof *family; i++)
    test_family(&family[i], (uint32_t)i);
  test_changes(family, (int)(sizeof family / sizeof *family));
  return check_result();
}
