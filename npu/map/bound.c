/* bound.c -- what no schedule is below. */
#include "map.h"

#include "kernels.h"

double map_bound_cycles(const struct preset *q, const struct teir_problem *p) {
  struct kernel_shape mac = {1, 1, 1};
  const struct device *dev = device_find(q->device);
  const struct kernel_gemm product = {.isa = map_isa(dev),
                                      .in0 = p->type[IN0],
                                      .in1 = p->type[IN1],
                                      .out = p->acc};
  int multiplies = 1;
  if (kernel_shape(product.isa, product.in0, product.in1, p->acc, &mac) &&
      !kernel_gemm_by_blocks(product.isa, product.in0, product.in1, p->acc))
    multiplies = kernel_gemm_multiplies(&product);
  double m = (double)p->extent[AXIS_M], n = (double)p->extent[AXIS_N],
         k = (double)p->extent[AXIS_K];
  double multiply = multiplies * m * n * k / (mac.m * mac.n * mac.k) /
                    (dev->columns * dev->core_rows);
  double bytes = m * k * dtype_bytes(p->type[IN0]) +
                 k * n * dtype_bytes(p->type[IN1]) +
                 m * n * dtype_bytes(p->type[OUT]);
  double rate = q->dram[q->dram_count - 1].bytes_per_second;
  double memory = bytes / rate * q->clock_ghz * 1e9;
  return multiply > memory ? multiply : memory;
}
