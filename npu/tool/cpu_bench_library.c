/* cpu_bench_library.c -- libraries that `nputeir bench cpu` calls: those that
 * it compiles, and OpenBLAS. */
#include "compiler.h"
#include "cpu_bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
  char *argv[16] = {arena_string(a, compiler_clang),
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
  bool good = compiler_execute(
      argv, &(struct compiler_environment){.options = "device=cpu"}, &took, d);
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
  void *library = teir_openblas_library();
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

/* ---- times and rates ---- */

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double cpu_bench_median(double *value, int count) {
  qsort(value, (size_t)count, sizeof *value, by_size);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

bool cpu_bench_means(const char *only, const char *name) {
  size_t n = only ? strlen(only) : 0;
  return !only ||
         (strncmp(only, name, n) == 0 && (name[n] == 0 || name[n] == '-'));
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
