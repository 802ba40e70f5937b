/* threads.c -- code for the processor on several threads: as many as
 * NPUTEIR_THREADS allows, which live for one product only.  So nothing is kept
 * between products, a fork finds no thread gone, and a program that ends waits
 * for none.  Starting one takes some 20 microseconds, which is why code asks
 * for more than one where each has much to do. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "nputeir-rt.h"
#include "signals.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST_THREADS = 256 };

/* Of OpenMP's run-time library, where the program has one. */
extern int omp_in_parallel(void) __attribute__((weak));

static int processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 && online < MOST_THREADS ? (int)online : 1;
}

static void complain(const char *text) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&said))
    fprintf(stderr,
            "nputeir: NPUTEIR_THREADS=%s: a number from 1 up, or auto; one "
            "thread is used\n",
            text);
}

/* What the variable says. */
static int64_t allowed(void) {
  const char *text = getenv("NPUTEIR_THREADS");
  if (!text || !*text)
    return 1;
  if (strcmp(text, "auto") == 0)
    return processors();
  char *end;
  errno = 0;
  long n = strtol(text, &end, 10);
  if (*end || errno || n < 1) {
    complain(text);
    return 1;
  }
  return n;
}

/* This thread has started others.  A signal may come whose handler has a nest,
 * while it is within the C library and holds locks there. */
static _Thread_local volatile sig_atomic_t inside
    __attribute__((tls_model("initial-exec")));

/* errno stays as it was, as loops leave it. */
EXPORT int64_t nputeir_threads_1(int64_t most) {
  if (most < 2 || inside || (omp_in_parallel && omp_in_parallel()))
    return 1;
  int error = errno;
  int64_t n = allowed();
  errno = error;
  n = n < MOST_THREADS ? n : MOST_THREADS;
  return n < most ? n : most;
}

struct share {
  void (*body)(void *context, int64_t part, int64_t parts);
  void *context;
  int64_t part, parts;
  pthread_t thread;
  bool started;
};

static void *run_share(void *share) {
  const struct share *s = share;
  s->body(s->context, s->part, s->parts);
  return NULL;
}

/* Signals go to the program's own threads. */
static void start(struct share *share, int64_t parts) {
  sigset_t others = signals_of_others(), old;
  bool masked = pthread_sigmask(SIG_BLOCK, &others, &old) == 0;
  for (int64_t i = 1; i < parts; i++)
    share[i].started =
        pthread_create(&share[i].thread, NULL, run_share, &share[i]) == 0;
  if (masked)
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

EXPORT void nputeir_parallel_1(void (*body)(void *, int64_t, int64_t),
                               void *context, int64_t parts) {
  int64_t shares = parts < MOST_THREADS ? parts : MOST_THREADS;
  assert(shares > 0);
  struct share share[shares]; /* the program's threads may have small stacks */
  int cancel, error = errno;
  for (int64_t i = 0; i < shares; i++)
    share[i] = (struct share){body, context, i, parts, .started = false};
  /* What is on this stack must not go before the threads do. */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  inside = true;
  start(share, shares);
  body(context, 0, parts);
  for (int64_t i = 1; i < shares; i++)
    if (!share[i].started) /* no thread is to be had */
      run_share(&share[i]);
  for (int64_t i = shares; i < parts; i++)
    body(context, i, parts);
  for (int64_t i = 1; i < shares; i++)
    if (share[i].started)
      pthread_join(share[i].thread, NULL);
  inside = false;
  pthread_setcancelstate(cancel, NULL);
  errno = error;
}
