/* stack.c -- the stack that a call runs on.
 *
 * A compiler, an array of cores and recursion over expressions want more than
 * the 64 KB that some programs give their threads.  Where less than NEEDED
 * bytes are left, or the stack is none that the system knows (a coroutine's),
 * the work is done by a thread that lives for this call only.  That costs some
 * 30 us, which is why others keep their own.
 */
#define _GNU_SOURCE
#include "parts.h"
#include "signals.h"

enum { NEEDED = 512 << 10, OWN = 1 << 20 };

/* Of this thread; equal: not known. */
static _Thread_local uintptr_t low __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t high __attribute__((tls_model("initial-exec")));

static void find_stack(void) {
  pthread_attr_t attr;
  void *address;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attr) != 0)
    return;
  if (pthread_attr_getstack(&attr, &address, &size) == 0) {
    low = (uintptr_t)address;
    high = low + size;
  }
  pthread_attr_destroy(&attr);
}

static size_t bytes_left(void) {
  uintptr_t at = (uintptr_t)__builtin_frame_address(0);
  if (low == high)
    find_stack();
  return at >= low && at < high ? at - low : 0;
}

struct errand {
  void (*work)(void *);
  void *with;
};

static void *do_errand(void *with) {
  const struct errand *e = with;
  e->work(e->with);
  return NULL;
}

/* Signals are for the program's threads. */
static bool start(pthread_t *thread, const pthread_attr_t *attr,
                  struct errand *e) {
  sigset_t others = signals_of_others(), before;
  pthread_sigmask(SIG_BLOCK, &others, &before);
  bool good = pthread_create(thread, attr, do_errand, e) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return good;
}

bool stack_run(void (*work)(void *), void *with) {
  signals_hold(); /* until the call ends */
  if (bytes_left() >= NEEDED) {
    work(with);
    return true;
  }
  struct errand e = {work, with};
  pthread_attr_t attr;
  pthread_t thread;
  if (pthread_attr_init(&attr) != 0)
    return false;
  bool good =
      pthread_attr_setstacksize(&attr, OWN) == 0 && start(&thread, &attr, &e);
  pthread_attr_destroy(&attr);
  if (good)
    pthread_join(thread, NULL);
  return good;
}
