/* nest.c -- `nputeir nest`: what the plugin would take of a file, and why not
 * the rest.  Runs the clang or opt that the plugin was built for, with the
 * plugin beside this program, and prints the report that it writes. */
#include "recognizer.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

enum { WORDS_MAX = 256 };

struct job {
  const char *file;
  bool json, teir, rules, extra; /* extra: words for the compiler */
};

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

/* What clang compiles; anything else it would hand to a linker. */
static bool is_source(const char *file) {
  static const char *const suffix[] = {".c",   ".i", ".cc", ".cpp", ".cxx",
                                       ".c++", ".C", ".ii", ".ll",  ".bc"};
  for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
    if (ends_with(file, suffix[i]))
      return true;
  return false;
}

static bool check_words(struct tool *t, const struct job *j) {
  if (j->rules)
    return !(j->file || j->json || j->teir || j->extra) ||
           tool_usage(t, "--rules stands alone");
  if (!j->file)
    return tool_usage(t, "which file?");
  if (!is_source(j->file))
    return tool_usage(t, "takes C, C++ or LLVM IR, not '%s'", j->file);
  if (t->rest_count > WORDS_MAX - 32)
    return tool_usage(t, "more than %d compiler words", WORDS_MAX - 32);
  return true;
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

/* Runs argv with the report going to `report`; false unless it succeeds. */
static bool run(char **argv, const char *report, struct diag *d) {
  pid_t child = fork();
  if (child == 0) {
    setenv("NPUTEIR_REPORT", report, 1);
    execvp(argv[0], argv);
    fprintf(stderr, "nputeir nest: cannot run %s: %s\n", argv[0],
            strerror(errno));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return diag_error(d, loc_none(), "cannot run %s: %s", argv[0],
                      strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  return diag_error(d, loc_none(), "%s failed", argv[0]);
}

static bool compile(struct tool *t, const struct job *j, const char *report) {
  struct arena *a = t->arena;
  struct diag *d = &t->diag;
  if (access(j->file, R_OK) != 0)
    return diag_error(d, loc_none(), "cannot read %s: %s", j->file,
                      strerror(errno));
  char *plugin = tool_find_plugin(a, d);
  if (!plugin)
    return false;
  char *argv[WORDS_MAX];
  int n = 0;
  if (ends_with(j->file, ".ll") || ends_with(j->file, ".bc")) {
    argv[n++] = "opt-" MAJOR;
    argv[n++] = arena_printf(a, "-load-pass-plugin=%s", plugin);
    argv[n++] = "-passes=nputeir";
    argv[n++] = "-disable-output";
  } else {
    argv[n++] = ends_with(j->file, ".c") ? "clang-" MAJOR : "clang++-" MAJOR;
    argv[n++] = arena_printf(a, "-fpass-plugin=%s", plugin);
    argv[n++] = "-gline-tables-only";
    argv[n++] = "-c";
    argv[n++] = "-o";
    argv[n++] = "/dev/null";
    argv[n++] = "-O2";
    if (!j->extra)
      argv[n++] = "-ffast-math";
    for (int i = 0; i < t->rest_count; i++)
      argv[n++] = t->rest[i];
  }
  argv[n++] = (char *)j->file;
  argv[n] = NULL;
  return run(argv, report, d);
}

/* ---- the report: one flat JSON object per line, written by our plugin ---- */

/* The value of `key`, unescaped; NULL when the line has none. */
static char *field(struct arena *a, const char *line, const char *key) {
  char *quoted = arena_printf(a, "\"%s\":", key);
  const char *end = strchr(line, '\n');
  const char *p = strstr(line, quoted);
  if (!p || (end && p > end))
    return NULL;
  p += strlen(quoted);
  if (*p != '"')
    return arena_substring(a, p, strcspn(p, ",}\n"));
  struct text t = {0};
  for (p++; *p && *p != '"'; p++) {
    if (*p != '\\') {
      text_append(&t, p, 1);
      continue;
    }
    p++;
    char c = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
    text_append(&t, &c, 1);
  }
  char *value = arena_string(a, text_string(&t));
  text_free(&t);
  return value;
}

static void describe(struct arena *a, const struct job *j, const char *line,
                     struct text *out) {
  const char *file = field(a, line, "file"), *at = field(a, line, "line");
  const char *column = field(a, line, "column");
  text_printf(out, "%s:", file ? file : j->file);
  if (at)
    text_printf(out, "%s:%s:", at, column ? column : "0");
  text_printf(out, " %s: ", field(a, line, "function"));
  const char *einsum = field(a, line, "einsum");
  if (einsum) {
    text_printf(out, "taken: %s with %s\n", einsum, field(a, line, "sizes"));
    if (j->teir)
      text_puts(out, field(a, line, "teir"));
    return;
  }
  text_printf(out, "declined [%s]: %s", field(a, line, "rule"),
              field(a, line, "reason"));
  const char *reason_line = field(a, line, "reason_line");
  if (reason_line)
    text_printf(out, " (line %s)", reason_line);
  const char *advice = field(a, line, "advice");
  if (advice)
    text_printf(out, "; %s", advice);
  text_puts(out, "\n");
}

static bool print(struct tool *t, const struct job *j, const char *report,
                  bool compiled) {
  /* A compilation that fails has said why; its findings are printed, too. */
  struct diag unread = {0};
  struct arena *a = t->arena;
  char *lines = file_read(a, report, NULL, compiled ? &t->diag : &unread);
  if (!lines)
    return false;
  int taken = 0, all = 0;
  for (char *p = lines, *next; *p; p = next) {
    char *end = strchr(p, '\n');
    next = end ? end + 1 : p + strlen(p);
    char *line = arena_substring(a, p, (size_t)(next - p));
    if (!field(a, line, "function"))
      continue; /* the counts at the end */
    all++;
    taken += field(a, line, "einsum") != NULL;
    if (j->json)
      text_puts(&t->out, line);
    else
      describe(a, j, line, &t->out);
  }
  if (!j->json && (compiled || all > 0))
    text_printf(&t->out, "%d of %d nests taken\n", taken, all);
  return tool_print(t, NULL) && compiled;
}

static bool print_rules(struct tool *t) {
  for (int r = 0; r < RULE_COUNT; r++) {
    const char *advice = rule_advice((enum rule)r);
    text_printf(&t->out, "%s%s%s\n", rule_name((enum rule)r),
                advice ? ": " : "", advice ? advice : "");
  }
  return tool_print(t, NULL);
}

static bool run_nest(struct tool *t, void *job) {
  struct job *j = job;
  if (!check_words(t, j))
    return false;
  if (j->rules)
    return print_rules(t);
  char report[] = "/tmp/nputeir-nest-XXXXXX";
  int file = mkstemp(report);
  if (file < 0)
    return diag_error(&t->diag, loc_none(), "cannot make a file in /tmp: %s",
                      strerror(errno));
  close(file);
  bool good = print(t, j, report, compile(t, j, report));
  unlink(report);
  return good;
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"FILE", NULL, tool_word, AT(file), .help = "C, C++ or LLVM IR (.ll, .bc)"},
    {"--json", NULL, tool_flag, AT(json),
     .help = "one JSON object per nest and line, with the TEIR"},
    {"--teir", NULL, tool_flag, AT(teir),
     .help = "print each contraction's TEIR, too"},
    {"--rules", NULL, tool_flag, AT(rules),
     .help = "list the names of all verdicts, and what would change them"},
    {"--", NULL, tool_flag, AT(extra),
     .help = "words for the compiler, such as -- -O3 -Iinclude; they replace "
             "-ffast-math"},
    {0},
};

const struct tool_command tool_nest = {
    .name = "nest",
    .summary = "what the compiler plugin takes of a C file, and why not more",
    .usage = "FILE.c|.cc|.ll [--json] [--teir] [-- COMPILER WORDS]\n--rules",
    .intro = "Shows every nest of loops that multiplies and sums: what "
             "contraction it is, or the first reason why it keeps its code and "
             "what would change that. Nothing is written. C and C++ are "
             "compiled with -O2 -ffast-math; IR goes through opt as it is.",
    .options = options,
    .notes = "Options for the plugin come from NPUTEIR_OPTIONS, such as "
             "fp=relaxed.",
    .job_bytes = sizeof(struct job),
    .run = run_nest,
};
