/* progress.c -- a line on the terminal, and Ctrl-C.  The second Ctrl-C ends the
 * process as usual. */
#include "progress.h"
#include "seconds.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal) {
  (void)signal;
  interrupted = 1;
}

/* The part that is done; 0: nobody knows. */
static double part_done(const struct progress *p,
                        const struct sim_progress *at) {
  double part = 0;
  if (p->expected_cycles > 0)
    part = (double)at->cycles / p->expected_cycles;
  else if (at->operations)
    part = (double)at->operation / at->operations;
  part = part > 0.99 ? 0.99 : part; /* an estimate may be too small */
  return ((double)p->run + part) / (double)p->runs;
}

static void show(struct progress *p, const struct sim_progress *at,
                 double elapsed) {
  double part = part_done(p, at);
  fprintf(stderr, "\r\033[K%3.0f %%  cycle %llu", 100 * part,
          (unsigned long long)at->cycles);
  if (part > 0.01)
    fprintf(stderr, "  %.0f s left", elapsed * (1 - part) / part);
  fflush(stderr);
  p->shown = true;
}

static bool report(void *context, const struct sim_progress *at) {
  enum { SILENT_SECONDS = 2 };
  const double period = 0.2;
  struct progress *p = context;
  double now = seconds_now();
  if (interrupted)
    p->stopped = true;
  if (p->terminal && !p->quiet && now - p->start > SILENT_SECONDS &&
      now >= p->next) {
    show(p, at, now - p->start);
    p->next = now + period;
  }
  return !p->stopped;
}

void progress_begin(struct progress *p, struct sim_options *o) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = interrupt;
  act.sa_flags = (int)SA_RESETHAND;
  interrupted = 0;
  sigaction(SIGINT, &act, NULL);
  p->start = seconds_now();
  p->terminal = isatty(STDERR_FILENO);
  o->progress = report;
  o->progress_context = p;
}

void progress_end(struct progress *p) {
  signal(SIGINT, SIG_DFL);
  if (p->shown)
    fputs("\r\033[K", stderr);
  p->shown = false;
}
