/* child.c -- runs the user's program with a changed environment. */
#include "child.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool child_run(struct tool *t, const char *program, int count, char **words,
               void (*set_environment)(const void *), const void *with,
               int *status) {
  char **argv = arena_array(t->arena, (size_t)count + 2, sizeof *argv);
  argv[0] = (char *)program;
  if (count)
    memcpy(argv + 1, words, (size_t)count * sizeof *argv);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    set_environment(with);
    execvp(argv[0], argv);
    _exit(CHILD_CANNOT_RUN);
  }
  if (child < 0 || waitpid(child, status, 0) < 0)
    return diag_error(&t->diag, loc_none(), "cannot run %s: %s", program,
                      strerror(errno));
  return true;
}

bool child_succeeded(struct tool *t, const char *program, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  return WIFEXITED(status)
             ? diag_error(&t->diag, loc_none(), "%s ended with status %d",
                          program, WEXITSTATUS(status))
             : diag_error(&t->diag, loc_none(), "%s was ended by signal %d",
                          program, WTERMSIG(status));
}
