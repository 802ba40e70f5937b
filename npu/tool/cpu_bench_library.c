/* cpu_bench_library.c -- libraries that `nputeir bench cpu` calls: those that
 * it compiles, and OpenBLAS. */
#include "cpu_bench.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NPUTEIR_LLVM_MAJOR
#define NPUTEIR_LLVM_MAJOR 19
#endif
#define STRING_(x) #x
#define STRING(x) STRING_(x)

static bool run_compiler(char **argv, struct diag *d) {
  pid_t child = fork();
  if (child == 0) {
    setenv("NPUTEIR_OPTIONS", "device=cpu", 1);
    unsetenv("NPUTEIR_REPORT");
    execvp(argv[0], argv);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return diag_error(d, loc_none(), "cannot run %s: %s", argv[0],
                      strerror(errno));
  return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
         diag_error(d, loc_none(), "%s failed, or is not there", argv[0]);
}

void *cpu_bench_compile(struct tool *t, const char *folder,
                        const struct cpu_bench_source *s, bool with_plugin) {
  struct arena *a = t->arena;
  char *plugin = with_plugin ? tool_find_plugin(a, &t->diag) : NULL;
  if (with_plugin && !plugin)
    return NULL;
  char *file = arena_printf(a, "%s/%s.c", folder, s->name);
  /* The loader knows a library by its path. */
  char *library = arena_printf(a, "%s/%s-%s.so", folder, s->name,
                               plugin ? "ours" : "plain");
  char *text = arena_printf(a, "%s\n", s->text);
  if (!file_write(file, text, strlen(text), &t->diag))
    return NULL;
  char *argv[16] = {"clang-" STRING(NPUTEIR_LLVM_MAJOR),
                    "-O3",
                    "-march=native",
                    "-ffast-math",
                    "-shared",
                    "-fPIC",
                    file,
                    "-o",
                    library};
  int n = 9;
  for (int i = 0; i < 2; i++)
    if (s->define[i])
      argv[n++] = arena_string(a, s->define[i]);
  if (plugin)
    argv[n++] = arena_printf(a, "-fpass-plugin=%s", plugin);
  bool good = run_compiler(argv, &t->diag);
  unlink(file);
  void *handle = good ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (good && !handle)
    diag_error(&t->diag, loc_none(), "%s", dlerror());
  unlink(library);
  return handle;
}

void *cpu_bench_openblas(void) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  void *threads = library ? dlsym(library, "openblas_set_num_threads") : NULL;
  if (!threads)
    return NULL;
  ((void (*)(int))(uintptr_t)threads)(1);
  return library;
}
