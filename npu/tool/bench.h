/* bench.h -- the benchmarks that live beside what they measure; their options
 * are in bench.c. */
#ifndef NPUTEIR_TOOL_BENCH_H
#define NPUTEIR_TOOL_BENCH_H

#include "tool.h"

struct npu_result;
struct preset;
struct teir_problem;
/* Random shapes, in turn of two types: a line for each and one of all.  Without
 * simulating them, cycles are those predicted.  bench_shapes.c */
struct bench_shapes {
  const struct preset *preset;
  int count, longest; /* shapes; of their extents, 128 and more */
  bool simulates;
};
bool bench_shapes(struct tool *, const struct bench_shapes *);

/* The contractions of the TCCG benchmark, or one.  bench_einsum.c */
struct bench_einsum {
  const char *expression, *sizes;
  int published; /* percent of the array's peak; 0: nobody's */
};
enum { BENCH_TCCG = 24 };
extern const struct bench_einsum bench_tccg[BENCH_TCCG];
bool bench_einsums(struct tool *, const struct preset *, const char *only);
bool bench_is_einsum(const char *name);
/* Does that name mean the i-th? */
bool bench_means_einsum(const char *name, int i);

struct bench_calibration_job {
  const char *only; /* NULL: all */
};
bool bench_calibration(struct tool *, void *job); /* calibration.c */

bool bench_calls(struct tool *, void *job); /* call_bench.c */

struct bench_sizes_job {
  int products; /* up to 1000; 0: as many as are usual */
};
bool bench_sizes(struct tool *, void *job); /* size_bench.c */

struct bench_compile_job {
  const char *file; /* NULL: products of our own */
  bool words;       /* for the compiler, in the call's rest */
};
/* What the plugin adds to a compilation.  compile_bench.c */
bool bench_compiler(struct tool *, const struct bench_compile_job *);

struct bench_cpu_job {
  /* As of bench_is_einsum or bench_is_cpu_case; NULL: all of the latter. */
  const char *only;
};
bool bench_cpu(struct tool *, void *job); /* cpu_bench.c */
/* Is it a case's name, or words that one begins with? */
bool bench_is_cpu_case(const char *name);

struct bench_core_job {
  int rounds; /* 0: as many as take a second */
};
bool bench_core(struct tool *, void *job); /* core.c */

struct bench_kernels_job {
  bool all;
  const char *svg; /* or NULL */
  bool loaded;     /* beside DMA channels */
};
bool bench_kernels(struct tool *, void *job); /* kernel_bench.c */

#endif
