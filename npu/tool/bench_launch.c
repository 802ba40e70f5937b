/* bench_launch.c -- a compiled product on the simulated array, with small
 * integers in its inputs; a sample of the results is checked. */
#include "bench.h"

#include "npu.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from a block's first element to another. */
static int64_t in_block(const struct map_transfer *x, int64_t i, int64_t j) {
  int64_t row = x->turned ? j : i, column = x->turned ? i : j;
  return row * x->pitch_bytes + column * dtype_bytes(x->type);
}

/* A small integer for an element, so that sums are exact in any order. */
static int element(uint32_t tensor, uint32_t i, uint32_t k) {
  uint32_t x = (tensor * 0x9E3779B9u + i) * 0x85EBCA6Bu + k;
  x = (x ^ x >> 15) * 0xC2B2AE35u;
  return (int)(x >> 29) - 4;
}

/* An input's elements; where blocks overlap, a packed one has some twice. */
static void fill(const struct npu_result *r, int operand, void *data) {
  const struct tile_program *p = r->program;
  const struct map_transfer *x = &p->transfer[operand];
  const struct map_form *f = &r->blocking.form;
  bool in0 = operand == IN0;
  struct map_share s = in0 ? f->m : f->n;
  int cores = in0 ? p->grid.m : p->grid.n, group = in0 ? p->group_m : 1,
      block = in0 ? p->block_m : p->block_n,
      rounds = in0 ? p->rounds_m : p->rounds_n;
  const struct map_loop *round = &x->time[in0 ? 0 : 1];
  if (!s.core)
    s = (struct map_share){(int64_t)rounds * group * block, group * block};
  for (int64_t b = 0; b < (int64_t)p->batch * map_grid_products(&p->grid); b++)
    for (int64_t c = 0; c < cores; c++)
      for (int64_t q = 0; q < rounds; q++)
        for (int64_t g = 0; g < group; g++)
          for (int64_t step = 0; step < p->steps_k; step++) {
            char *at = (char *)data + map_product_bytes(p, x, b) +
                       c * x->column_stride_bytes + q * round->stride_bytes +
                       g * x->time[3].stride_bytes +
                       step * x->time[2].stride_bytes;
            for (int64_t i = 0; i < block; i++)
              for (int64_t k = 0; k < p->block_k; k++)
                dtype_store_int(
                    x->type, at + (in0 ? in_block(x, i, k) : in_block(x, k, i)),
                    element(
                        (uint32_t)(operand + 2 * b),
                        (uint32_t)(c * s.core + q * s.round + g * block + i),
                        (uint32_t)(step * p->block_k + k)));
          }
}

/* The simulated result against the oracle on the same tensors: the sum of every
 * block row costs as much as the product, so a sample is compared. */
static bool check_sample(const struct npu_result *r,
                         const struct sim_buffer *buffer, struct diag *d) {
  enum { SAMPLES = 200 };
  const struct tile_program *p = r->program;
  const struct map_transfer *x = p->transfer;
  uint64_t state = 99;
  for (int s = 0; s < SAMPLES; s++) {
    int64_t at[7]; /* row, column, m, n round, element, block of a group,
                      product of a batch */
    const int64_t extent[] = {p->grid.m,
                              p->grid.n,
                              p->rounds_m,
                              p->rounds_n,
                              (int64_t)p->block_m * p->block_n,
                              p->group_m,
                              (int64_t)p->batch * map_grid_products(&p->grid)};
    for (int i = 0; i < 7; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      at[i] = (int64_t)((state >> 33) % (uint64_t)extent[i]);
    }
    int64_t i = at[4] / p->block_n, j = at[4] % p->block_n;
    const char *in0 =
        (char *)buffer[x[0].tensor].data + at[0] * x[0].column_stride_bytes +
        at[2] * x[0].time[0].stride_bytes + at[5] * x[0].time[3].stride_bytes +
        map_product_bytes(p, &x[0], at[6]);
    const char *in1 =
        (char *)buffer[x[1].tensor].data + at[1] * x[1].column_stride_bytes +
        at[3] * x[1].time[1].stride_bytes + map_product_bytes(p, &x[1], at[6]);
    const char *out =
        (char *)buffer[2].data + at[1] * x[2].column_stride_bytes +
        at[0] * x[2].row_stride_bytes + at[2] * x[2].time[0].stride_bytes +
        at[3] * x[2].time[1].stride_bytes + at[5] * x[2].time[3].stride_bytes +
        map_product_bytes(p, &x[2], at[6]);
    double sum = 0;
    for (int64_t step = 0; step < p->steps_k; step++)
      for (int64_t l = 0; l < p->block_k; l++)
        sum +=
            dtype_load_float(x[0].type, in0 + step * x[0].time[2].stride_bytes +
                                            in_block(&x[0], i, l)) *
            dtype_load_float(x[1].type, in1 + step * x[1].time[2].stride_bytes +
                                            in_block(&x[1], l, j));
    char right[8] = {0};
    if (dtype_kind(x[2].type) == DTYPE_FLOAT)
      dtype_store_float(x[2].type, right, sum);
    else
      dtype_store_int(x[2].type, right, (int64_t)sum);
    size_t bytes = (size_t)dtype_bytes(x[2].type);
    out += in_block(&x[2], i, j);
    if (memcmp(out, right, bytes) != 0)
      return diag_error(d, loc_none(), "wrong result: %g instead of %g",
                        dtype_load_float(x[2].type, out),
                        dtype_load_float(x[2].type, right));
  }
  return true;
}

bool bench_launch(const struct npu_result *r, const struct preset *preset,
                  struct sim_report *report, struct diag *d) {
  struct sim_buffer buffer[TENSORS] = {{0}};
  struct sim *sim = NULL;
  bool good = true;
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &r->program->transfer[i];
    int t = x->tensor;
    buffer[t].bytes = (size_t)x->bytes;
    buffer[t].data = calloc(1, buffer[t].bytes);
    if (!buffer[t].data)
      good = diag_error(d, loc_none(), "out of memory");
    else if (t < OUT)
      fill(r, i, buffer[t].data);
  }
  struct sim_options options = {.preset = preset};
  good = good &&
         (sim = sim_open(r->xclbin.data, r->xclbin.length, &options, d)) &&
         sim_run(sim, r->txn.data, r->txn.length, buffer, TENSORS, report, d) &&
         check_sample(r, buffer, d);
  if (sim)
    sim_close(sim);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  return good;
}
