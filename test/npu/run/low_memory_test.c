/* low_memory_test.c -- little memory and small stacks under whole calls of the
 * library: an allocation that fails anywhere between the text and the simulated
 * array declines the call, leaves out as it was, and the next call works; a
 * thread with 64 KB of stack is enough.  In the place of an allocation other
 * things happen that may leave locks behind: a signal whose handler has a nest
 * of its own, a fork in another thread, the thread's end.
 *
 * Without arguments some of the simulator's allocations fail, enough to meet
 * every stage; "all" tries each of them. */
#include "check.h"
#include "nest.h"
#include "nputeir-rt.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The linker puts these in front of the allocator. */
static long allocations, failing; /* this one fails; 0: none */
static void (*meanwhile)(void);   /* or this happens, and it does not */
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);

static bool fails(void) {
  if (++allocations != failing)
    return false;
  if (meanwhile)
    meanwhile();
  return !meanwhile;
}

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *block, size_t bytes) {
  return fails() ? NULL : __real_realloc(block, bytes);
}
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*start)(void *), void *with) {
  return fails() ? 1 : __real_pthread_create(thread, attr, start, with);
}

/* ---- one product, twice ---- */

static void make(struct nest_work *w) {
  nest_gemm(w, DTYPE_I8, true, 5, 9, 17);
  w->tail = "max(add(sum,out),i32:0)";
  w->acc = DTYPE_I32;
  nest_make(w, true, 1);
}

static bool call(struct nest_work *w, const char *options) {
  void *tensor[NEST_TENSORS];
  uint64_t count = nest_tensors(w, tensor);
  return nputeir_call_1(w->teir, options, "low_memory_test.c", w->value,
                        (uint64_t)w->value_count, tensor, count) == 0;
}

/* The first call fails at allocation n; gives how many there were. */
static long run(const char *options, long n) {
  struct nest_work w;
  make(&w);
  size_t bytes = w.bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes);
  memcpy(before, w.memory[OUT], bytes);
  allocations = 0;
  failing = n;
  bool done = call(&w, options);
  failing = 0;
  long count = allocations;
  CHECK(done || (n && memcmp(before, w.memory[OUT], bytes) == 0));
  CHECK(done || call(&w, options));
  CHECK(nest_right(&w));
  free(before);
  nest_free(&w);
  return count;
}

static long run_on_main(const char *options, long n) { return run(options, n); }

/* ---- what may leave locks behind ---- */

enum { LONG_SECONDS = 100 };
static struct nest_work other; /* of a handler, or of a child */

/* Of a call's allocations those among which its launch is planned. */
enum { PLANNING = 40 };

/* The array holds the configuration of another product, which planning looks
 * at. */
static long run_second(const char *options, long n) {
  alarm(LONG_SECONDS);
  nest_gemm(&other, DTYPE_I8, true, 40, 40, 40);
  other.acc = DTYPE_I32;
  nest_make(&other, true, 1);
  CHECK(call(&other, options));
  nest_free(&other);
  long count = run(options, n);
  alarm(0);
  return count;
}

static int times;

static bool other_is_right(void) {
  return !call(&other, "device=host") || nest_right(&other);
}

static void on_signal(int number) {
  (void)number;
  times += other_is_right();
}

static void raise_signal(void) { raise(SIGUSR1); }

static void *fork_child(void *unused) {
  int status = 1;
  pid_t child = fork();
  if (child == 0) {
    alarm(LONG_SECONDS);
    _exit(!other_is_right());
  }
  times += waitpid(child, &status, 0) == child && status == 0;
  return unused;
}

static void fork_elsewhere(void) {
  pthread_t thread;
  CHECK(__real_pthread_create(&thread, NULL, fork_child, NULL) == 0);
  pthread_join(thread, NULL);
}

static long run_with(void (*happens)(void), const char *options, long n) {
  make(&other);
  signal(SIGUSR1, on_signal);
  meanwhile = happens;
  alarm(LONG_SECONDS);
  long count = run(options, n);
  CHECK(times == (n > 0));
  nest_free(&other);
  make(&other);
  CHECK(call(&other, options) && nest_right(&other));
  alarm(0);
  nest_free(&other);
  return count;
}

static long run_with_signal(const char *options, long n) {
  return run_with(raise_signal, options, n);
}

static long run_with_fork(const char *options, long n) {
  return run_with(fork_elsewhere, options, n);
}

/* ---- a handler that leaves the loop ---- */

static sigjmp_buf left;

static void leave(int number) {
  (void)number;
  siglongjmp(left, 1);
}

/* It has to wait for the end of the call. */
static long run_with_jump(const char *options, long n) {
  make(&other);
  signal(SIGUSR1, leave);
  meanwhile = raise_signal;
  allocations = 0;
  failing = n;
  alarm(LONG_SECONDS);
  volatile bool jumped = false;
  if (sigsetjmp(left, 1) == 0)
    call(&other, options);
  else
    jumped = true;
  long count = allocations;
  failing = 0;
  CHECK(jumped == (n > 0) && nest_right(&other));
  nest_free(&other);
  run(options, 0);
  alarm(0);
  return count;
}

static void end_thread(void) { pthread_cancel(pthread_self()); }

static void *call_other(void *options) {
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  call(&other, options);
  return NULL;
}

/* A loop may end with its thread anywhere. */
static long run_with_cancel(const char *options, long n) {
  pthread_t thread;
  void *result;
  make(&other);
  meanwhile = end_thread;
  allocations = 0;
  failing = n;
  alarm(LONG_SECONDS);
  CHECK(__real_pthread_create(&thread, NULL, call_other, (void *)options) == 0);
  pthread_join(thread, &result);
  long count = allocations;
  CHECK((result == PTHREAD_CANCELED) == (n > 0));
  nest_free(&other);
  failing = 0;
  run(options, 0);
  alarm(0);
  return count;
}

/* ---- on a small stack ---- */

struct job {
  const char *options;
  long n, count;
};

static void *run_job(void *with) {
  struct job *j = with;
  j->count = run(j->options, j->n);
  return NULL;
}

#ifdef __SANITIZE_ADDRESS__
enum { STACK_BYTES = 256 << 10 }; /* the checks want some for themselves */
#else
enum { STACK_BYTES = 64 << 10 };
#endif

static long run_on_small_stack(const char *options, long n) {
  struct job j = {options, n, 0};
  pthread_attr_t attr;
  pthread_t thread;
  pthread_attr_init(&attr);
  CHECK(pthread_attr_setstacksize(&attr, STACK_BYTES) == 0);
  CHECK(__real_pthread_create(&thread, &attr, run_job, &j) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
  return j.count;
}

/* ---- each in a process of its own, which has an empty cache ---- */

typedef long run_fn(const char *options, long n);

static long in_process(run_fn *run_it, const char *options, long n) {
  int ends[2];
  long count = 0;
  int status = 1;
  CHECK(pipe(ends) == 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    count = run_it(options, n);
    bool told = write(ends[1], &count, sizeof count) == sizeof count;
    exit(check_failures || !told ? 1 : 0); /* leaks are looked for, too */
  }
  close(ends[1]);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  CHECK(read(ends[0], &count, sizeof count) == sizeof count);
  close(ends[0]);
  if (status)
    fprintf(stderr, "%s: allocation %ld of a call, status 0x%x\n", options, n,
            (unsigned)status);
  return count;
}

static void test_each(run_fn *run_it, const char *options, long most) {
  long count = in_process(run_it, options, 0);
  long step = most && count > most ? count / most : 1;
  printf("%s: %ld allocations, every %ld fails\n", options, count, step);
  CHECK(count > 10);
  for (long n = 1; n <= count; n += step)
    in_process(run_it, options, n);
}

int main(int argc, char **argv) {
  unsetenv("NPUTEIR_OPTIONS");
  unsetenv("NPUTEIR_DEVICE");
  long most = argc > 1 && strcmp(argv[1], "all") == 0 ? 0 : 20;
  test_each(run_on_main, "device=host", most);
  test_each(run_on_small_stack, "device=host", most / 2);
  test_each(run_on_main, "device=sim", most);
  test_each(run_on_small_stack, "device=sim", most / 4);
  test_each(run_second, "device=sim", most);
  for (long n = 1; n <= PLANNING; n++)
    in_process(run_second, "device=sim", n);
  test_each(run_with_signal, "device=host", most);
  test_each(run_with_signal, "device=sim", most / 2);
  test_each(run_with_fork, "device=host", most);
  test_each(run_with_fork, "device=sim", most / 2);
  test_each(run_with_jump, "device=host", most);
  test_each(run_with_jump, "device=sim", most / 2);
  test_each(run_with_cancel, "device=host", most);
  test_each(run_with_cancel, "device=sim", most / 2);
  return check_result();
}
