/* guard.c -- see guard.h. */
#include "guard.h"
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define SINGLE __libc_single_threaded
#else
#define SINGLE false
#endif

/* This thread is in a call, perhaps with locks.  A signal may come now whose
 * handler has a nest: that keeps its loop, which waits for nothing. */
static _Thread_local volatile sig_atomic_t inside
    __attribute__((tls_model("initial-exec")));

/* Threads that a fork left behind may have been in calls: their locks stay
 * locked in the child, whose nests keep their loops. */
static volatile sig_atomic_t entered; /* by any thread, ever */
static volatile sig_atomic_t alone;   /* before the last fork */
static volatile sig_atomic_t orphaned;

static void before_fork(void) { alone = SINGLE; }
static void in_child(void) { orphaned |= entered && !alone; }

__attribute__((constructor)) static void watch_fork(void) {
  pthread_atfork(before_fork, NULL, in_child);
}

bool guard_enter(struct guard *g) {
  if (inside || orphaned)
    return false;
  inside = true;
  if (!entered)
    entered = true;
  g->error = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &g->type);
  return true;
}

void guard_leave(const struct guard *g) {
  errno = g->error;
  inside = false;
  pthread_setcancelstate(g->cancel, NULL);
  pthread_setcanceltype(g->type, NULL); /* the thread may end here */
  signals_let();                        /* or go on elsewhere */
}
