/* child.c -- runs the user's program with a changed environment. */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t running; /* the child, for the handler */

/* A terminal's Ctrl-C reaches the child by itself. */
static void forward(int number, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code <= 0) /* sent by a process */
    kill((pid_t)running, number);
}

static int wait_for(pid_t child, void (*tick)(const void *), const void *with,
                    int *status) {
  static const struct timespec period = {0, 50000000};
  struct sigaction act, before;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = forward;
  act.sa_flags = SA_SIGINFO;
  running = (sig_atomic_t)child;
  sigaction(SIGINT, &act, &before);
  pid_t ended = 0;
  while ((ended = waitpid(child, status, tick ? WNOHANG : 0)) == 0 ||
         (ended < 0 && errno == EINTR))
    if (tick) {
      tick(with);
      nanosleep(&period, NULL);
    }
  sigaction(SIGINT, &before, NULL);
  return ended;
}

bool child_run(struct tool *t, const char *program, int count, char **words,
               void (*set_environment)(const void *),
               void (*tick)(const void *), const void *with, int *status) {
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
  if (child < 0 || wait_for(child, tick, with, status) < 0)
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
