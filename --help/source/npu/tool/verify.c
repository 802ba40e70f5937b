/* verify.c -- `nputeir verify`: a program with every taken nest run twice, on a
 * device and by its own loop, and the results compared. */
#include "child.h"
#include "keys.h"
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
  const char *program;
  bool first;
};

/* The device of the environment; else an NPU if there is one, or the
 * simulator. */
static void choose_device(void) {
  const char *said = getenv("NPUTEIR_DEVICE");
  struct diag absent = {0};
  if (!said || !*said)
    setenv("NPUTEIR_DEVICE", run_device_find("auto", &absent) ? "auto" : "sim",
           1);
}

struct wish {
  bool first;
  const char *file; /* where lines go */
};

static void set_environment(const void *with) {
  const struct wish *w = with;
  choose_device();
  setenv("NPUTEIR_VERIFY", w->first ? "first" : "1", 1);
  setenv("NPUTEIR_VERIFY_FILE", w->file, 1);
}

/* Prints the lines; false unless some nest was compared, and none differs. */
static bool judge(struct tool *t, const struct job *j, const char *file,
                  int status) {
  char *lines = file_read(t->arena, file, NULL, &t->diag);
  if (!lines)
    return false;
  text_puts(&t->out, lines);
  keys_print_lines(t, &t->out);
  if (!*lines && WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CANNOT_RUN)
    return diag_error(&t->diag, loc_none(), "cannot run %s", j->program);
  if (!*lines)
    return diag_error(&t->diag, loc_none(),
                      "%s said nothing at its end: it was not compiled and "
                      "linked with nputeir, or it ended by a signal or _exit",
                      j->program);
  int different = 0, compared = 0;
  for (const char *p = lines; (p = strstr(p, " compared=")); compared++) {
    p = strstr(p, " different=");
    if (!p)
      break;
    p += strlen(" different=");
    different += strncmp(p, "0 ", 2) != 0;
  }
  if (different)
    return diag_error(&t->diag, loc_none(),
                      "%d of %d nests differ from their loops", different,
                      compared);
  return compared || diag_error(&t->diag, loc_none(),
                                "no nest was compared; NPUTEIR_TRACE=1 says "
                                "why");
}

static bool run(struct tool *t, void *job) {
  const struct job *j = job;
  char file[] = "/tmp/nputeir-verify-XXXXXX";
  int made = mkstemp(file), status = 0;
  if (made < 0)
    return diag_error(&t->diag, loc_none(), "cannot make a file in /tmp: %s",
                      strerror(errno));
  close(made);
  struct wish w = {j->first, file};
  bool good = child_run(t, j->program, t->rest_count, t->rest, set_environment,
                        NULL, &w, &status) &&
              judge(t, j, file, status);
  unlink(file);
  return good && child_succeeded(t, j->program, status);
}

static const struct tool_option options[] = {
    {"--first", NULL, tool_flag, offsetof(struct job, first),
     .help = "compare the first call of each nest only"},
    KEYS_JSON_OPTION,
    {"PROGRAM", NULL, tool_word, offsetof(struct job, program),
     .help = "what to run, and its words", .flags = TOOL_NEEDED | TOOL_REST},
    {0},
};

const struct tool_command tool_verify = {
    .name = "verify",
    .summary = "run a program with every nest done by the device and its loop",
    .usage = "[--first] [--json] PROGRAM [ARGS..]",
    .intro = "Runs a program that was compiled with the plugin. A nest that a "
             "device takes is done twice, by the device into a copy of the "
             "result and by the loop as written; the program goes on with the "
             "loop's result. A line per nest says how often it was compared, "
             "how often the two differed by more than rounding explains, and "
             "the largest error as a part of the call's largest result. The "
             "exit status is 0 if the program's was, some nest was compared "
             "and none differs.",
    .options = options,
    .notes = "The device is NPUTEIR_DEVICE's; where that says nothing, an NPU, "
             "or without one the simulator. NPUTEIR_VERIFY=1 (or first) does "
             "the same in any run of the program, with lines on stderr or, "
             "where NPUTEIR_VERIFY_FILE names one, in a file.",
    .job_bytes = sizeof(struct job),
    .run = run,
};
