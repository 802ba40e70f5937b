/* cpu_bench_library.c -- libraries that `nputeir bench cpu` calls: those that
 * it compiles, and OpenBLAS; and what compiling takes. */
#define _DEFAULT_SOURCE /* wait4 */
#include "cpu_bench.h"
#include "keys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef NPUTEIR_LLVM_MAJOR
#define NPUTEIR_LLVM_MAJOR 19
#endif
#define STRING_(x) #x
#define STRING(x) STRING_(x)

/* With the seconds of processor time that it took. */
static bool run_compiler(char **argv, double *took, struct diag *d) {
  pid_t child = fork();
  if (child == 0) {
    setenv("NPUTEIR_OPTIONS", "device=cpu", 1);
    unsetenv("NPUTEIR_REPORT");
    execvp(argv[0], argv);
    _exit(127);
  }
  int status = 0;
  struct rusage use = {0};
  if (child < 0 || wait4(child, &status, 0, &use) < 0)
    return diag_error(d, loc_none(), "cannot run %s: %s", argv[0],
                      strerror(errno));
  *took = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
          1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
         diag_error(d, loc_none(), "%s failed, or is not there", argv[0]);
}

/* `more`: options that end with NULL. */
static void *compile(struct tool *t, const char *folder,
                     const struct cpu_bench_source *s, const char *by,
                     char *const *more, struct diag *d) {
  struct arena *a = t->arena;
  char *file = arena_printf(a, "%s/%s.c", folder, s->name);
  /* The loader knows a library by its path. */
  char *library = arena_printf(a, "%s/%s-%s.so", folder, s->name, by);
  char *text = arena_printf(a, "%s\n", s->text);
  if (!file_write(file, text, strlen(text), d))
    return NULL;
  char *argv[16] = {"clang-" STRING(NPUTEIR_LLVM_MAJOR),
                    "-O3",
                    "-march=native",
                    "-Wno-invalid-feature-combination",
                    "-ffast-math",
                    "-shared",
                    "-fPIC",
                    file,
                    "-o",
                    library};
  int n = 10;
  for (int i = 0; i < 2; i++)
    if (s->define[i])
      argv[n++] = arena_string(a, s->define[i]);
  for (; *more; more++)
    argv[n++] = *more;
  double took;
  bool good = run_compiler(argv, &took, d);
  unlink(file);
  void *handle = good ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (good && !handle)
    diag_error(d, loc_none(), "%s", dlerror());
  unlink(library);
  return handle;
}

void *cpu_bench_compile(struct tool *t, const char *folder,
                        const struct cpu_bench_source *s, bool with_plugin) {
  char *plugin = with_plugin ? tool_find_plugin(t->arena, &t->diag) : NULL;
  if (with_plugin && !plugin)
    return NULL;
  char *more[] = {
      plugin ? arena_printf(t->arena, "-fpass-plugin=%s", plugin) : NULL, NULL};
  return compile(t, folder, s, plugin ? "ours" : "plain", more, &t->diag);
}

void *cpu_bench_polly(struct tool *t, const char *folder,
                      const struct cpu_bench_source *s) {
  char *more[] = {"-mllvm", "-polly", NULL};
  struct diag none = {0};
  return compile(t, folder, s, "polly", more, &none);
}

void *cpu_bench_openblas(void) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void *threads = library ? dlsym(library, "openblas_set_num_threads") : NULL;
  if (!threads)
    return NULL;
  ((void (*)(int))(uintptr_t)threads)(1);
  return library;
}

const char *cpu_bench_openblas_kernels(void) {
  void *library = cpu_bench_openblas();
  void *name = library ? dlsym(library, "openblas_get_corename") : NULL;
  return name ? ((const char *(*)(void))(uintptr_t)name)() : NULL;
}

/* ---- what a product costs the compiler ---- */

static const char gemm[] =
    "void gemm(long m, long n, long k, const float *restrict a,"
    " const float *restrict b, float *restrict c) {"
    " for (long i = 0; i < m; i++) for (long j = 0; j < n; j++)"
    " for (long p = 0; p < k; p++) c[i * n + j] += a[i * k + p] * b[p * n + j];"
    "}";

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double cpu_bench_median(double *value, int count) {
  qsort(value, (size_t)count, sizeof *value, by_size);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

double cpu_bench_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cpu_bench_add(struct cpu_bench_speed *s, double rate) {
  if (s->count < (int)(sizeof s->rate / sizeof *s->rate))
    s->rate[s->count++] = rate;
}

double cpu_bench_rate(struct cpu_bench_speed *s) {
  qsort(s->rate, (size_t)s->count, sizeof *s->rate, by_size);
  return s->count > 0 ? s->rate[(s->count - 1) * 3 / 4] : 0;
}

/* Plain and plugin in turns: what else the machine does meets both alike. */
bool cpu_bench_compile_time(struct tool *t, const char *folder) {
  enum { PAIRS = 9 };
  static const char *const processor[] = {"-march=native", "-march=x86-64"};
  static const char *const label[] = {"native", "any"};
  struct arena *a = t->arena;
  char *plugin = tool_find_plugin(a, &t->diag);
  if (!plugin)
    return false;
  char *file = arena_printf(a, "%s/gemm.c", folder);
  char *object = arena_printf(a, "%s/gemm.o", folder);
  bool good = file_write(file, gemm, strlen(gemm), &t->diag);
#ifdef __x86_64__
  int processors = 2;
#else
  int processors = 1;
#endif
  for (int p = 0; good && p < processors; p++) {
    double seconds[2][PAIRS], more[PAIRS], bytes[2] = {0, 0};
    for (int i = 0; good && i < 2 * PAIRS; i++) {
      char *argv[] = {"clang-" STRING(NPUTEIR_LLVM_MAJOR),
                      "-O3",
                      "-ffast-math",
                      arena_string(a, processor[p]),
                      "-Wno-invalid-feature-combination",
                      "-c",
                      file,
                      "-o",
                      object,
                      i % 2 ? arena_printf(a, "-fpass-plugin=%s", plugin)
                            : NULL,
                      NULL};
      struct stat object_is;
      good =
          run_compiler(argv, &seconds[i % 2][i / 2], &t->diag) &&
          (stat(object, &object_is) == 0 ||
           diag_error(&t->diag, loc_none(), "%s: %s", object, strerror(errno)));
      bytes[i % 2] = good ? (double)object_is.st_size : 0;
      more[i / 2] = i % 2 ? seconds[1][i / 2] - seconds[0][i / 2] : 0;
    }
    if (good)
      keys_print(t,
                 "case=compile-f32-%s plain_ms=%.0f plugin_ms=%.0f "
                 "more_ms=%.0f object_kb=%.1f\n",
                 label[p], 1e3 * cpu_bench_median(seconds[0], PAIRS),
                 1e3 * cpu_bench_median(seconds[1], PAIRS),
                 1e3 * cpu_bench_median(more, PAIRS),
                 (bytes[1] - bytes[0]) / 1024);
  }
  unlink(file);
  unlink(object);
  return good;
}
