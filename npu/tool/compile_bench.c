/* compile_bench.c -- what the plugin adds to the time that the compiler of its
 * LLVM takes, and to an object: `nputeir bench compile`.
 *
 * Processor time of the compiler's process, plain and with the plugin in turns,
 * so that what else the machine does meets both alike; medians. */
#define _DEFAULT_SOURCE /* mkstemps */
#include "compiler.h"
#include "cpu_bench.h"
#include "keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAIRS = 5, NESTS = 100, WORDS_MAX = 128 };

struct compilation {
  const char *name, *file;
  char *const *word; /* for the compiler */
  int word_count;
  int nests; /* 0: that is not known */
};

struct measured {
  double seconds[2][PAIRS]; /* plain, with the plugin */
  off_t bytes[2];           /* of the object */
};

static bool measure(struct tool *t, const struct compilation *c,
                    struct measured *m) {
  struct arena *a = t->arena;
  struct diag *d = &t->diag;
  char *plugin = tool_find_plugin(a, d);
  char object[] = "/tmp/nputeir-bench-XXXXXX";
  int opened = plugin ? mkstemp(object) : -1;
  if (opened < 0)
    return plugin && diag_error(d, loc_none(), "cannot make a file in /tmp: %s",
                                strerror(errno));
  close(opened);
  char *argv[WORDS_MAX + 8] = {arena_string(a, compiler_clang)};
  int n = 1;
  for (int i = 0; i < c->word_count; i++)
    argv[n++] = c->word[i];
  argv[n++] = "-c";
  argv[n++] = arena_string(a, c->file);
  argv[n++] = "-o";
  argv[n++] = object;
  bool good = true;
  for (int i = 0; good && i < 2 * PAIRS; i++) {
    bool ours = i % 2;
    argv[n] = ours ? arena_printf(a, "-fpass-plugin=%s", plugin) : NULL;
    struct stat is = {0};
    good = compiler_execute(argv, &(struct compiler_environment){0},
                            &m->seconds[ours][i / 2], d) &&
           ((stat(object, &is) == 0 && is.st_size > 0) ||
            diag_error(d, loc_none(), "%s makes no object of %s",
                       compiler_clang, c->file));
    m->bytes[ours] = is.st_size;
  }
  unlink(object);
  return good;
}

static bool bench_compilation(struct tool *t, const struct compilation *c) {
  struct measured m;
  if (!measure(t, c, &m))
    return false;
  double more[PAIRS];
  for (int i = 0; i < PAIRS; i++)
    more[i] = m.seconds[1][i] - m.seconds[0][i];
  double plain = cpu_bench_median(m.seconds[0], PAIRS),
         ours = cpu_bench_median(m.seconds[1], PAIRS),
         added = cpu_bench_median(more, PAIRS);
  struct text keys = {0};
  text_puts(&keys, "case=");
  if (strpbrk(c->name, " \"\\"))
    text_quote(&keys, c->name);
  else
    text_puts(&keys, c->name);
  text_printf(&keys,
              " plain_ms=%.0f plugin_ms=%.0f more_ms=%.0f more_percent=%.1f "
              "object_kb=%.1f",
              1e3 * plain, 1e3 * ours, 1e3 * added, 100 * added / plain,
              (double)(m.bytes[1] - m.bytes[0]) / 1024);
  if (c->nests)
    text_printf(&keys, " nests=%d nest_ms=%.1f", c->nests,
                1e3 * added / c->nests);
  keys_print(t, "%s\n", text_string(&keys));
  text_free(&keys);
  return true;
}

/* ---- products of our own ---- */

static void put_nest(struct text *source, int result) {
  text_printf(source,
              " for (long i = 0; i < m; i++) for (long j = 0; j < n; j++)"
              " for (long p = 0; p < k; p++)"
              " c%d[i * n + j] += a[i * k + p] * b[p * n + j];\n",
              result);
}

/* So many in one function, each of which adds to an array of its own. */
static void put_nests(struct text *source, int nests) {
  text_puts(source, "void gemm(long m, long n, long k, const float *restrict a,"
                    " const float *restrict b");
  for (int i = 0; i < nests; i++)
    text_printf(source, ", float *restrict c%d", i);
  text_puts(source, ") {\n");
  for (int i = 0; i < nests; i++)
    put_nest(source, i);
  text_puts(source, "}\n");
}

static bool bench_nests(struct tool *t, int nests, const char *name,
                        const char *processor) {
  char file[] = "/tmp/nputeir-bench-XXXXXX.c";
  int opened = mkstemps(file, 2);
  if (opened < 0)
    return diag_error(&t->diag, loc_none(), "cannot make a file in /tmp: %s",
                      strerror(errno));
  close(opened);
  struct text source = {0};
  put_nests(&source, nests);
  char *word[] = {"-O3", "-ffast-math", "-Wno-invalid-feature-combination",
                  arena_string(t->arena, processor)};
  bool good = file_write(file, text_string(&source), source.length, &t->diag) &&
              bench_compilation(
                  t, &(struct compilation){name, file, word,
                                           sizeof word / sizeof *word, nests});
  text_free(&source);
  unlink(file);
  return good;
}

static bool bench_file(struct tool *t, const char *file) {
  static char *usual[] = {"-O2", "-ffast-math"};
  if (t->rest_count > WORDS_MAX)
    return tool_usage(t, "more than %d compiler words", WORDS_MAX);
  if (access(file, R_OK) != 0)
    return diag_error(&t->diag, loc_none(), "cannot read %s: %s", file,
                      strerror(errno));
  struct compilation c = {file, file, usual, 2, 0};
  if (t->rest_count) {
    c.word = t->rest;
    c.word_count = t->rest_count;
  }
  return bench_compilation(t, &c);
}

bool bench_compiler(struct tool *t, const struct bench_compile_job *j) {
  if (j->file)
    return bench_file(t, j->file);
  if (j->words)
    return tool_usage(t, "words for the compiler, and no file");
  return bench_nests(t, 1, "gemm-native", "-march=native") &&
#ifdef __x86_64__
         bench_nests(t, 1, "gemm-any", "-march=x86-64") &&
#endif
         bench_nests(t, NESTS, "nests-native", "-march=native");
}
