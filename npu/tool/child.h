/* child.h -- runs the user's program with a changed environment. */
#ifndef NPUTEIR_TOOL_CHILD_H
#define NPUTEIR_TOOL_CHILD_H

#include "tool.h"

enum { CHILD_CANNOT_RUN = 127 }; /* as shells have it */

/* Waits for its end; *status is waitpid's.  set_environment runs in the child.
 * False: there was no child. */
bool child_run(struct tool *, const char *program, int count, char **words,
               void (*set_environment)(const void *), const void *with,
               int *status);
/* What a status that is no success means, as the call's diag; returns whether
 * it is one. */
bool child_succeeded(struct tool *, const char *program, int status);

#endif
