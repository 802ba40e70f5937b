/* tool.h -- the program `nputeir`: one sub-command per stage of the road.
 *
 * Every sub-command is a tool_command in a file of its own; tool.c lists them.
 * Exit status: 0 done, 1 the job failed, 2 the words of the call are wrong.
 */
#ifndef NPUTEIR_TOOL_H
#define NPUTEIR_TOOL_H

#include "base.h"

enum { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

struct tool_command {
  const char *name;
  const char *summary; /* one line for `nputeir help` */
  const char *help;    /* complete text of `nputeir help <name>` */
  int (*run)(int argc, char **argv); /* argv[0] is the sub-command's name */
};

extern const struct tool_command tool_as, tool_dis, tool_core, tool_sim,
    tool_kernel, tool_teir, tool_einsum, tool_nest, tool_doctor, tool_build,
    tool_bench, tool_map, tool_design;

/* "nputeir <command>: <message>" and "see nputeir help <command>" on stderr;
 * returns TOOL_USAGE. */
int tool_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the diagnostic; returns TOOL_FAILED. */
int tool_fail(const struct diag *);
/* Text or bytes to `path`, or to standard output when path is NULL or "-". */
bool tool_output(const char *path, const struct text *, struct diag *);
/* "-" reads standard input. */
char *tool_input(struct arena *, const char *path, size_t *length,
                 struct diag *);
/* A whole number in low..high, else a message and false. */
bool tool_number(const char *command, const char *option, const char *word,
                 int64_t low, int64_t high, int64_t *value);

#endif
