/* bench.h -- the benchmarks that live beside what they measure. */
#ifndef NPUTEIR_TOOL_BENCH_H
#define NPUTEIR_TOOL_BENCH_H

int bench_core(int argc, char **argv);    /* core.c */
int bench_kernels(int argc, char **argv); /* kernel_bench.c */

#endif
