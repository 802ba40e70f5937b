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

static const char help[] =
    "usage: nputeir nest FILE.c|.cc|.ll [--json] [--teir] [-- COMPILER WORDS]\n"
    "       nputeir nest --rules\n"
    "\n"
    "Shows every nest of loops that multiplies and sums: what contraction it\n"
    "is, or the first reason why it keeps its code and what would change "
    "that.\n"
    "Nothing is written.  C and C++ are compiled with -O2 -ffast-math; words\n"
    "behind -- replace -ffast-math (for example -- -O3 -Iinclude).\n"
    "IR text (.ll) goes through opt as it is.\n"
    "\n"
    "  --json  one JSON object per nest and line, with the TEIR\n"
    "  --teir  print each contraction's TEIR, too\n"
    "  --rules list the names of all verdicts, and what would change them\n"
    "\n"
    "Options for the plugin come from NPUTEIR_OPTIONS, such as fp=relaxed.\n";

enum { WORDS_MAX = 256 };

struct job {
  const char *file;
  bool json, teir, rules;
  char **extra; /* compiler words */
  int extra_count;
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

static bool parse(struct job *j, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      j->json = true;
    else if (strcmp(argv[i], "--teir") == 0)
      j->teir = true;
    else if (strcmp(argv[i], "--rules") == 0)
      j->rules = true;
    else if (strcmp(argv[i], "--") == 0) {
      j->extra = argv + i + 1;
      j->extra_count = argc - i - 1;
      break;
    } else if (argv[i][0] == '-') {
      tool_usage("nest", "there is no option '%s'", argv[i]);
      return false;
    } else if (j->file) {
      tool_usage("nest", "takes one file, not '%s' and '%s'", j->file, argv[i]);
      return false;
    } else
      j->file = argv[i];
  }
  if (j->rules)
    return true;
  if (!j->file) {
    tool_usage("nest", "which file?");
    return false;
  }
  if (!is_source(j->file)) {
    tool_usage("nest", "takes C, C++ or LLVM IR, not '%s'", j->file);
    return false;
  }
  if (j->extra_count > WORDS_MAX - 32) {
    tool_usage("nest", "more than %d compiler words", WORDS_MAX - 32);
    return false;
  }
  return true;
}

/* The plugin beside this program's folder, as it was built or installed. */
static char *find_plugin(struct arena *a, struct diag *d) {
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

static bool compile(struct arena *a, const struct job *j, const char *report,
                    struct diag *d) {
  if (access(j->file, R_OK) != 0)
    return diag_error(d, loc_none(), "cannot read %s: %s", j->file,
                      strerror(errno));
  char *plugin = find_plugin(a, d);
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
    for (int i = 0; i < j->extra_count; i++)
      argv[n++] = j->extra[i];
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

static bool print(struct arena *a, const struct job *j, const char *report,
                  bool compiled, struct diag *d) {
  char *lines = file_read(a, report, NULL, d);
  if (!lines)
    return false;
  struct text out = {0};
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
      text_puts(&out, line);
    else
      describe(a, j, line, &out);
  }
  if (!j->json && (compiled || all > 0))
    text_printf(&out, "%d of %d nests taken\n", taken, all);
  bool good = tool_output(NULL, &out, d);
  text_free(&out);
  return good;
}

static int print_rules(struct diag *d) {
  struct text out = {0};
  for (int r = 0; r < RULE_COUNT; r++) {
    const char *advice = rule_advice((enum rule)r);
    text_printf(&out, "%s%s%s\n", rule_name((enum rule)r), advice ? ": " : "",
                advice ? advice : "");
  }
  bool good = tool_output(NULL, &out, d);
  text_free(&out);
  return good ? TOOL_DONE : tool_fail(d);
}

static int nest(int argc, char **argv) {
  struct job j = {0};
  if (!parse(&j, argc, argv))
    return TOOL_USAGE;
  struct diag d = {0};
  if (j.rules)
    return print_rules(&d);
  char report[] = "/tmp/nputeir-nest-XXXXXX";
  int file = mkstemp(report);
  if (file < 0) {
    diag_error(&d, loc_none(), "cannot make a file in /tmp: %s",
               strerror(errno));
    return tool_fail(&d);
  }
  close(file);
  struct arena *a = arena_open();
  /* A compilation that fails, nputeir:require for one, has its findings too. */
  bool good = compile(a, &j, report, &d);
  struct diag unread = {0};
  good = print(a, &j, report, good, good ? &d : &unread) && good;
  arena_close(a);
  unlink(report);
  return good ? TOOL_DONE : tool_fail(&d);
}

const struct tool_command tool_nest = {
    .name = "nest",
    .summary = "what the compiler plugin takes of a C file, and why not more",
    .help = help,
    .run = nest,
};
