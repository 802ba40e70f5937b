/* cpu_bench.h -- what the parts of `nputeir bench cpu` share. */
#ifndef NPUTEIR_TOOL_CPU_BENCH_H
#define NPUTEIR_TOOL_CPU_BENCH_H

#include "bench.h"
#include "teir_blas.h"

/* ---- cpu_bench_library.c ---- */

struct cpu_bench_source {
  const char *name; /* no two alike */
  const char *text;
  const char *define[2]; /* options of the compiler, or NULL */
};
/* A handle of the text as a library for this processor, whose file is gone;
 * NULL after an error. */
void *cpu_bench_compile(struct tool *, const char *folder,
                        const struct cpu_bench_source *, bool with_plugin);
/* The same by clang with Polly; NULL where it has none. */
void *cpu_bench_polly(struct tool *, const char *folder,
                      const struct cpu_bench_source *);
/* A handle, for one thread, or NULL. */
void *cpu_bench_openblas(void);
/* For which processor its kernels are, as it names them; NULL: not known. */
const char *cpu_bench_openblas_kernels(void);
/* Whether a case is to run: `only` are the words, between hyphens, that its
 * name begins with; NULL: all are. */
bool cpu_bench_means(const char *only, const char *name);
/* Of this thread: what else the machine runs takes none of it. */
double cpu_bench_seconds(void);
/* Of each rival, in turns.  The first ones, which are not counted, get memory
 * for packed operands from the kernel, by pages: a program that calls again has
 * it. */
enum { CPU_BENCH_FIRST = 2, CPU_BENCH_ROUNDS = 9 };
/* The speed of runs, of which a quarter is faster: some were disturbed, and
 * where the machine is a guest its clock errs in few. */
struct cpu_bench_speed {
  int count;
  double rate[1024]; /* further ones are left out */
};
void cpu_bench_add(struct cpu_bench_speed *, double rate);
double cpu_bench_rate(struct cpu_bench_speed *); /* 0: no run */
/* Sorts; of an even number of values the mean of the two in the middle. */
double cpu_bench_median(double *value, int count);

/* ---- cpu_bench_onednn.c ---- */

/* c = a b, by rows, of s[0] x s[1] from s[2]: bf16 to float, i8 or u8 times i8
 * to i32.  NULL: oneDNN is not there, or does not do it. */
struct onednn *cpu_bench_onednn_open(enum dtype, const long s[3],
                                     void *const tensor[3]);
bool cpu_bench_onednn_run(const struct onednn *);
void cpu_bench_onednn_close(struct onednn *);

/* ---- cpu_einsum_bench.c ---- */

/* `only`: as of bench_means_einsum. */
bool cpu_bench_einsums(struct tool *, const char *folder, const char *only);

/* ---- cpu_choice_bench.c ---- */

/* `only`: as of cpu_bench_means. */
bool cpu_bench_choices(struct tool *, const char *folder, const char *only);
bool cpu_bench_is_choice(const char *only);

/* ---- cpu_works_bench.c ---- */

/* `only`: as of cpu_bench_means. */
bool cpu_bench_works(struct tool *, const char *folder, const char *only);
bool cpu_bench_has_work(const char *only);

#endif
