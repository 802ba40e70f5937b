/* signals.c -- see signals.h. */
#include "signals.h"

#include <stdbool.h>
#include <stddef.h>

static _Thread_local volatile sig_atomic_t held
    __attribute__((tls_model("initial-exec")));
static _Thread_local sigset_t before __attribute__((tls_model("initial-exec")));

sigset_t signals_of_others(void) {
  static const int raised[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                               SIGTRAP, SIGABRT, SIGSYS};
  sigset_t set;
  sigfillset(&set);
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++)
    sigdelset(&set, raised[i]);
  return set;
}

static void (*volatile own)(int);

void signals_interrupt(void (*handler)(int)) {
  struct sigaction now, act = {.sa_handler = handler};
  own = handler;
  if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
    sigaction(SIGINT, &act, NULL);
}

void signals_hold(void) {
  static const int users[] = {SIGINT, SIGTERM, SIGQUIT,
                              SIGHUP, SIGTSTP, SIGALRM};
  sigset_t set = signals_of_others();
  if (held)
    return;
  for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
    struct sigaction has;
    if (sigaction(users[i], NULL, &has) == 0 && !(has.sa_flags & SA_SIGINFO) &&
        (has.sa_handler == SIG_DFL || has.sa_handler == own))
      sigdelset(&set, users[i]);
  }
  held = pthread_sigmask(SIG_BLOCK, &set, &before) == 0;
}

void signals_let(void) {
  if (!held)
    return;
  held = false; /* a handler may jump away */
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
