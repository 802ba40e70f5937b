/* child.h -- runs the user's program with a changed environment. */
#ifndef NPUTEIR_TOOL_CHILD_H
#define NPUTEIR_TOOL_CHILD_H

#include "tool.h"

enum { CHILD_CANNOT_RUN = 127 };

/* Waits for it; *status as waitpid gives it.  false: there is no child.  Ctrl-C
 * is the program's, which may end as it likes.  Until it ends, tick, unless it
 * is NULL, is called twenty times a second with `with`. */
bool child_run(struct tool *, const char *program, int count, char **words,
               void (*set_environment)(const void *with),
               void (*tick)(const void *with), const void *with, int *status);
bool child_succeeded(struct tool *, const char *program, int status);

#endif
