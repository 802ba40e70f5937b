/* compiler.c -- the compiler of the plugin, run on one file. */
#define _DEFAULT_SOURCE /* wait4 */
#include "compiler.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NPUTEIR_LLVM_MAJOR
#define NPUTEIR_LLVM_MAJOR 19
#endif
#ifndef NPUTEIR_LIBDIR
#define NPUTEIR_LIBDIR "lib"
#endif
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define MAJOR STRING(NPUTEIR_LLVM_MAJOR)

const char compiler_clang[] = "clang-" MAJOR;

static const struct {
  const char *suffix;
  enum compiler_language language;
} known[] = {
    {".c", COMPILER_C},     {".i", COMPILER_C},     {".cc", COMPILER_CXX},
    {".cpp", COMPILER_CXX}, {".cxx", COMPILER_CXX}, {".c++", COMPILER_CXX},
    {".C", COMPILER_CXX},   {".ii", COMPILER_CXX},  {".ll", COMPILER_IR},
    {".bc", COMPILER_IR},
};

static enum compiler_language language_of(const char *file) {
  const char *dot = strrchr(file, '.');
  for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
    if (strcmp(dot, known[i].suffix) == 0)
      return known[i].language;
  return COMPILER_BY_NAME;
}

bool compiler_takes(const char *file) {
  return language_of(file) != COMPILER_BY_NAME;
}

char *tool_find_plugin(struct arena *a, struct diag *d) {
  static const char *const folder[] = {NPUTEIR_LIBDIR, "lib"};
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) {
    diag_error(d, loc_none(), "cannot find this program: %s", strerror(errno));
    return NULL;
  }
  self[n] = 0;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(self, '/');
    if (slash)
      *slash = 0;
  }
  for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
    char *path = arena_printf(a, "%s/%s/libnputeir.so", self, folder[i]);
    if (access(path, R_OK) == 0)
      return path;
  }
  diag_error(d, loc_none(), "there is no compiler plugin in %s/%s or %s/lib",
             self, NPUTEIR_LIBDIR, self);
  return NULL;
}

static void set_variable(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

bool compiler_execute(char **argv, const struct compiler_environment *in,
                      double *took, struct diag *d) {
  enum { NO_PROGRAM = 127 };
  pid_t child = fork();
  if (child == 0) {
    set_variable("NPUTEIR_REPORT", in->report);
    if (in->options)
      set_variable("NPUTEIR_OPTIONS", in->options);
    execvp(argv[0], argv);
    _exit(NO_PROGRAM);
  }
  int status = 0;
  struct rusage use = {0};
  if (child < 0 || wait4(child, &status, 0, &use) < 0)
    return diag_error(d, loc_none(), "cannot run %s: %s", argv[0],
                      strerror(errno));
  *took = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
          1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM)
    return diag_error(d, loc_none(),
                      "there is no %s, which the plugin is for; install it, "
                      "or add its folder to PATH",
                      argv[0]);
  return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
         diag_error(d, loc_none(), "%s failed", argv[0]);
}

static int add_opt(struct arena *a, const char *plugin, char **argv) {
  int n = 0;
  argv[n++] = "opt-" MAJOR;
  argv[n++] = arena_printf(a, "-load-pass-plugin=%s", plugin);
  argv[n++] = "-passes=nputeir";
  argv[n++] = "-disable-output";
  return n;
}

static int add_clang(struct arena *a, const struct compiler_job *j,
                     enum compiler_language language, const char *plugin,
                     char **argv) {
  int n = 0;
  argv[n++] = language == COMPILER_C ? "clang-" MAJOR : "clang++-" MAJOR;
  argv[n++] = arena_printf(a, "-fpass-plugin=%s", plugin);
  argv[n++] = "-gline-tables-only";
  argv[n++] = "-c";
  argv[n++] = "-o";
  argv[n++] = "/dev/null";
  argv[n++] = "-O2";
  if (!j->word)
    argv[n++] = "-ffast-math";
  for (int i = 0; i < j->word_count; i++)
    argv[n++] = j->word[i];
  if (j->language != COMPILER_BY_NAME || strcmp(j->file, "-") == 0) {
    argv[n++] = "-x";
    argv[n++] = language == COMPILER_C ? "c" : "c++";
  }
  return n;
}

static bool compile(struct tool *t, const struct compiler_job *j,
                    const char *report) {
  struct arena *a = t->arena;
  struct diag *d = &t->diag;
  enum compiler_language language =
      j->language ? j->language : language_of(j->file);
  bool from_stdin = strcmp(j->file, "-") == 0;
  assert(language != COMPILER_BY_NAME || from_stdin);
  assert(j->word_count <= COMPILER_WORDS);
  if (language == COMPILER_BY_NAME)
    language = COMPILER_C;
  if (!from_stdin && access(j->file, R_OK) != 0)
    return diag_error(d, loc_none(), "cannot read %s: %s", j->file,
                      strerror(errno));
  char *plugin = tool_find_plugin(a, d);
  if (!plugin)
    return false;
  char *argv[COMPILER_WORDS + 32];
  int n = language == COMPILER_IR ? add_opt(a, plugin, argv)
                                  : add_clang(a, j, language, plugin, argv);
  argv[n++] = (char *)j->file;
  argv[n] = NULL;
  double took;
  return compiler_execute(
      argv, &(struct compiler_environment){.report = report}, &took, d);
}

bool compiler_run(struct tool *t, const struct compiler_job *j,
                  struct findings *f) {
  char report[] = "/tmp/nputeir-nest-XXXXXX";
  int file = mkstemp(report);
  *f = (struct findings){0};
  if (file < 0)
    return diag_error(&t->diag, loc_none(), "cannot make a file in /tmp: %s",
                      strerror(errno));
  close(file);
  bool good = compile(t, j, report);
  struct diag unread = {0}; /* a failed compilation has said why */
  bool read = findings_read(t->arena, report, f, good ? &t->diag : &unread);
  unlink(report);
  return good && read;
}
