/* npu_test.c -- the device "npu" against a driver that is not there: right
 * results, or the loop with out as it was, whatever the driver answers.
 *
 * The node is opened once a process, so each case is a process of its own. */
#include "check.h"
#include "fake_driver.h"
#include "nest.h"
#include "nputeir-rt.h"

#include "amdxdna_uapi.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DONE = 1, DECLINED = 2, WRONG = 4, UNRULY = 8 };

static int call_with(struct nest_work *w, const char *options) {
  void *tensor[NEST_TENSORS];
  uint64_t count = nest_tensors(w, tensor);
  return nputeir_call_1(w->teir, options, "npu_test.c", w->value,
                        (uint64_t)w->value_count, tensor, count);
}

static int call(struct nest_work *w) {
  return call_with(w, "device=npu,min-macs=0");
}

/* DONE or DECLINED, and WRONG if out is not what it should be then. */
static int nest(struct nest_work *w, uint32_t seed) {
  nest_make(w, true, seed);
  size_t bytes = w->bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes);
  memcpy(before, w->memory[OUT], bytes);
  int status = call(w) == 0 ? DONE : DECLINED;
  bool good = status == DONE ? nest_right(w)
                             : memcmp(before, w->memory[OUT], bytes) == 0;
  free(before);
  nest_free(w);
  return good ? status : status | WRONG;
}

static int product(enum dtype in, int64_t m, int64_t n, int64_t k) {
  struct nest_work w;
  nest_gemm(&w, in, k % 2, m, n, k);
  return nest(&w, 1);
}

/* So many products of a size of which the device computes one per launch. */
static int batch_of(int64_t count) {
  struct nest_work w;
  nest_gemm(&w, DTYPE_I8, count % 2, 33, 17, 9);
  const int64_t bytes[TENSORS] = {33 * 9, 9 * 17, 33 * 17 * 4};
  struct nest_axis batch = {.role = AXIS_C, .extent = count};
  memcpy(batch.stride, bytes, sizeof bytes);
  w.axis[w.axis_count++] = batch;
  return nest(&w, 1);
}

/* ---- cases: what a process does; returns an or of the words above ---- */

static int one(void) { return product(DTYPE_I8, 20, 24, 40); }

static int twice(void) { return one() | one(); }

/* What a process sends for a batch, twice, of which nothing is built again the
 * second time. */
static int sends(int64_t count, int executes, int chains) {
  int status = batch_of(count);
  struct fake_driver_counts before = fake_driver_counts();
  status |= batch_of(count);
  struct fake_driver_counts c = fake_driver_counts();
  bool good = before.executes == executes && before.chains == chains &&
              c.executes == 2 * executes && c.commands == 2 * count &&
              c.buffers_made == before.buffers_made;
  if (!good)
    fprintf(stderr, "%d executes, %d chains, %d commands, %d buffers\n",
            before.executes, before.chains, before.commands,
            c.buffers_made - before.buffers_made);
  return good ? status : status | UNRULY;
}

static int two_launches(void) { return sends(2, 2, 0); }
static int four_launches(void) { return sends(4, 2, 2); }
static int many_launches(void) { return sends(21, 3, 3); }
static int one_by_one(void) { return sends(21, 21, 0); }
static int lists(void) { return batch_of(5) | batch_of(5); }
static int lists_apart(void) {
  setenv("NPUTEIR_CHAINS", "off", 1);
  return lists();
}
static int chains_off(void) {
  setenv("NPUTEIR_CHAINS", "off", 1);
  return one_by_one();
}
static int some_launches(void) { return batch_of(21) | one(); }

/* More shapes than the runtime keeps contexts. */
static int shapes(void) {
  int status = 0;
  for (int round = 0; round < 2; round++)
    for (int64_t i = 0; i < 6; i++)
      status |= product(i % 2 ? DTYPE_BF16 : DTYPE_I8, 8 + 64 * i, 32, 64);
  struct fake_driver_counts c = fake_driver_counts();
  return c.most_contexts <= 4 ? status : status | UNRULY;
}

/* More than the first chunk of the heap has place for. */
static int grows(void) {
  int status = shapes();
  return fake_driver_counts().heaps > 1 ? status : status | UNRULY;
}

/* They share a context or two: transactions change what it holds. */
static int changed(void) {
  int status = shapes();
  return fake_driver_counts().contexts_made <= 2 ? status : status | UNRULY;
}

static int forked(void) {
  int status = one();
  pid_t child = fork();
  if (child == 0)
    _exit(one());
  int child_status = 0;
  waitpid(child, &child_status, 0);
  bool good = WIFEXITED(child_status) && WEXITSTATUS(child_status) == DECLINED;
  return (good ? status : status | WRONG) | one();
}

/* The same product, or two in turn, again and again on other numbers. */
static int stays(int calls, int shapes) {
  struct nest_work w[2];
  int status = 0;
  for (int i = 0; i < shapes; i++) {
    nest_gemm(&w[i], DTYPE_I8, i, 20 + 8 * i, 24, 40);
    nest_make(&w[i], true, 1);
  }
  for (int i = 0; i < calls; i++) {
    struct nest_work *x = &w[i % shapes];
    nest_free(x);
    nest_make(x, true, (uint32_t)i);
    int asked = call_with(x, "device=npu,min-macs=0,resident=on");
    status |= asked ? DECLINED : nest_right(x) ? DONE : WRONG;
  }
  for (int i = 0; i < shapes; i++)
    nest_free(&w[i]);
  return status;
}

enum { STAYS = 50 };

/* One command does many launches. */
static int few_commands(void) {
  int status = stays(STAYS, 1);
  struct fake_driver_counts c = fake_driver_counts();
  if (c.executes > STAYS / 6)
    fprintf(stderr, "%d commands, %d looks\n", c.executes, c.looks);
  return c.executes <= STAYS / 6 ? status : status | UNRULY;
}

/* The end comes before the next launch: most of them are commands of their own,
 * and hardly any is done twice. */
static int late_launches(void) {
  int status = stays(STAYS, 1);
  struct fake_driver_counts c = fake_driver_counts();
  if (c.executes > STAYS * 9 / 8)
    fprintf(stderr, "%d commands, %d looks\n", c.executes, c.looks);
  return c.executes <= STAYS * 9 / 8 ? status : status | UNRULY;
}

static int two_that_stay(void) { return stays(20, 2); }
static int stays_and_others(void) {
  return stays(5, 1) | one() | stays(5, 2) | lists() | stays(5, 1);
}

static void *stay_often(void *with) {
  int *status = with;
  *status = stays(12, 1 + *status % 2);
  return NULL;
}

/* Inputs that are worth lending to the device, and its buffers afterwards;
 * `lent`: how many were. */
static int lends(int protection, int lent) {
  struct nest_work w;
  nest_gemm(&w, DTYPE_BF16, false, 64, 64, 2048);
  nest_make(&w, true, 1);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uintptr_t at = (uintptr_t)w.memory[IN0]; /* pages of its own, being large */
  uintptr_t end = at + w.bytes[IN0] + 2 * NEST_GUARD;
  char *first = w.memory[IN0] - at % page;
  size_t bytes = (end + page - 1) / page * page - (at - at % page);
  int status = 0;
  for (int i = 0; i < 2; i++) {
    mprotect(first, bytes, protection);
    int asked = call(&w);
    mprotect(first, bytes, PROT_READ | PROT_WRITE);
    status |= asked ? DECLINED : nest_right(&w) ? DONE : WRONG;
  }
  nest_free(&w);
  struct fake_driver_counts c = fake_driver_counts();
  bool good = c.user_buffers == 2 * lent && !c.pinned_bytes;
  return good ? status : status | UNRULY;
}

static int lent(void) { return lends(PROT_READ | PROT_WRITE, 2); }
static int read_only(void) { return lends(PROT_READ, 1); }
static int not_lent(void) { return lends(PROT_READ | PROT_WRITE, 0); }

/* What is pinned is given back, whatever fails. */
static int lent_somehow(void) {
  int status = lends(PROT_READ | PROT_WRITE, 2) & ~UNRULY;
  return fake_driver_counts().pinned_bytes ? status | UNRULY : status;
}

/* Bytes beside tensors, on the cache lines of their first and last elements,
 * that another thread writes again and again; what it finds changed is lost. */
enum { NEIGHBOURS = 4 };
struct neighbours {
  volatile unsigned char *at[NEIGHBOURS];
  unsigned char before[NEIGHBOURS];
  atomic_bool stop;
  int64_t writes, lost;
};

static void *write_neighbours(void *with) {
  struct neighbours *x = with;
  for (int i = 0; i < NEIGHBOURS; i++)
    x->before[i] = *x->at[i];
  for (unsigned char value = 0; !x->stop; value++) {
    for (int i = 0; i < NEIGHBOURS; i++) {
      x->lost += x->writes && *x->at[i] != (unsigned char)(value - 1);
      *x->at[i] = value;
    }
    x->writes++;
  }
  for (int i = 0; i < NEIGHBOURS; i++)
    *x->at[i] = x->before[i];
  return NULL;
}

/* An input that is lent to the device and out in the middle of pages. */
static int neighbours(void) {
  struct nest_work w;
  struct neighbours x = {.writes = 0};
  pthread_t thread;
  nest_gemm(&w, DTYPE_BF16, false, 64, 63, 2048);
  nest_make(&w, true, 1);
  for (int i = 0; i < 2; i++) {
    int t = i ? OUT : IN0;
    char *first = w.memory[t] + NEST_GUARD;
    x.at[2 * i] = (unsigned char *)first - 1;
    x.at[2 * i + 1] = (unsigned char *)first + w.bytes[t];
  }
  pthread_create(&thread, NULL, write_neighbours, &x);
  int status = 0;
  for (int i = 0; i < 2; i++)
    status |= call(&w) ? DECLINED : DONE;
  x.stop = true;
  pthread_join(thread, NULL);
  status |= nest_right(&w) && !x.lost && x.writes > 100 ? 0 : WRONG;
  nest_free(&w);
  return fake_driver_counts().user_buffers ? status : status | UNRULY;
}

/* Lists of several threads, on few contexts or on one. */
static void *call_often(void *with) {
  int *status = with;
  int64_t first = *status;
  *status = 0;
  for (int i = 0; i < 4; i++) {
    *status |= batch_of(1 + (first + 5 * i) % 9);
    *status |= product(i % 2 ? DTYPE_BF16 : DTYPE_I8, 20 + first, 24, 40);
  }
  return NULL;
}

static int in_threads(void *(*body)(void *)) {
  enum { THREADS = 4 };
  pthread_t thread[THREADS];
  int status[THREADS], all = 0;
  for (int i = 0; i < THREADS; i++) {
    status[i] = i;
    pthread_create(&thread[i], NULL, body, &status[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    all |= status[i];
  }
  return all;
}

static int threads(void) { return in_threads(call_often); }
static int threads_stay(void) { return in_threads(stay_often); }

/* Shapes in turn: after the second round nothing grows. */
static int rounds = 4, shape_count = 12;

static int flat(void) {
  size_t before = 0, after = 0;
  int buffers = 0, status = 0;
  for (int round = 0; round < rounds; round++) {
    for (int64_t i = 0; i < shape_count; i++)
      status |= i % 3 ? product(i % 2 ? DTYPE_I8 : DTYPE_BF16, 8 + i, 12, 16)
                      : batch_of(2 + i);
    after = mallinfo2().uordblks + mallinfo2().hblkhd;
    if (round == 1) {
      before = after;
      buffers = fake_driver_counts().buffers;
    }
  }
  bool good =
      after <= before + (64 << 10) && fake_driver_counts().buffers <= buffers;
  if (!good || rounds > 4)
    fprintf(stderr, "%d launches, %zu bytes, before %zu; buffers %d, %d\n",
            fake_driver_counts().commands, after, before,
            fake_driver_counts().buffers, buffers);
  return good ? status : status | UNRULY;
}

static int little_memory(void) {
  struct rlimit limit = {64 << 10, 64 << 10};
  return setrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? not_lent() : WRONG;
}

/* With nothing said, the loop runs first; the NPU does it next if the loop was
 * slow. */
static int timed_loop(useconds_t loop, int calls) {
  struct nest_work w;
  int status = 0;
  nest_gemm(&w, DTYPE_I8, false, 20, 24, 40);
  nest_make(&w, true, 1);
  for (int i = 0; i < calls; i++) {
    int asked = call_with(&w, "device=npu");
    status |= asked ? DECLINED : nest_right(&w) ? DONE : WRONG;
    if (i == 0 && !asked)
      status |= WRONG;
    if (asked) {
      if (loop) /* to sleep for nothing takes longer than a launch */
        usleep(loop);
      nputeir_compare_1(asked);
    }
  }
  nest_free(&w);
  return status;
}

static int slow_loop(void) { return timed_loop(500000, 3); }
static int fast_loop(void) { return timed_loop(0, 1000); }

/* ---- the processes ---- */

/* The words above, or -1: it crashed.  Leaks count as a crash. */
static int run(const char *words, int (*body)(void), bool rules) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    fake_driver_say(words);
    int status = body();
    struct fake_driver_counts c = fake_driver_counts();
    if (rules && c.broken_rules)
      status |= UNRULY;
    exit(status);
  }
  int status;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return -1;
  return WEXITSTATUS(status);
}

static void test_good(void) {
  CHECK(run("", twice, true) == DONE);
  CHECK(run("addresses", twice, true) == DONE);
  CHECK(run("old", twice, true) == DONE);
  CHECK(run("name=RyzenAI-npu1", one, true) == DONE);
  CHECK(run("name=NPU Strix Halo,preset=strix-halo", one, true) == DONE);
  CHECK(run("", changed, true) == DONE);
  CHECK(run("reload=1", changed, true) == DONE);
  CHECK(run("reload=3", changed, true) == DONE);
  CHECK(run("interrupts=3000", one, true) == DONE);
  CHECK(run("old,interrupts=3000", one, true) == DONE);
  CHECK(run("contexts=1", shapes, true) == DONE);
  CHECK(run("taken=5", shapes, true) == DONE);
  CHECK(run("", forked, true) == DONE);
  CHECK(run("", slow_loop, true) == (DECLINED | DONE));
  CHECK(run("", fast_loop, true) == DECLINED);
}

static void test_lists(void) {
  CHECK(run("", two_launches, true) == DONE);
  CHECK(run("", four_launches, true) == DONE);
  CHECK(run("", many_launches, true) == DONE);
  CHECK(run("old,addresses", many_launches, true) == DONE);
  CHECK(run("reload=2", many_launches, true) == DONE);
  CHECK(run("nochain", one_by_one, true) == DONE);
  CHECK(run("", chains_off, true) == DONE);
  for (int n = 1; n <= 21; n += 5) {
    char words[32];
    snprintf(words, sizeof words, "state=%d:%d", n, XDNA_STATE_TIMEOUT);
    CHECK(run(words, some_launches, true) == DECLINED);
  }
}

/* A slow clock: how long a launch is waited for does not count here. */
static void test_resident(void) {
  CHECK(run("slow=1000", few_commands, true) == DONE);
  CHECK(run("addresses,slow=1000", few_commands, true) == DONE);
  CHECK(run("old,slow=1000", few_commands, true) == DONE);
  CHECK(run("reload=1,slow=1000", few_commands, true) == DONE);
  CHECK(run("name=NPU Krackan,preset=krackan,slow=1000", few_commands, true) ==
        DONE);
  CHECK(run("hurry=400000,slow=1000", late_launches, true) == DONE);
  CHECK(run("", two_that_stay, true) == DONE);
  CHECK(run("taken=5", two_that_stay, true) == DONE);
  CHECK(run("", stays_and_others, true) == DONE);
  CHECK(run("taken=5,reload=1", stays_and_others, true) == DONE);
  for (int cycles = 20000; cycles < 100000; cycles += 7000) {
    char words[32];
    snprintf(words, sizeof words, "hurry=%d", cycles);
    CHECK(run(words, two_that_stay, true) == DONE);
  }
  CHECK(run("", threads_stay, true) == DONE);
  CHECK(run("taken=5", threads_stay, true) == DONE);
  CHECK(run("hurry=30000", threads_stay, true) == DONE);
  for (int n = 1; n <= 3; n++) {
    char words[32];
    snprintf(words, sizeof words, "state=%d:%d", n, XDNA_STATE_TIMEOUT);
    int status = run(words, stays_and_others, true);
    CHECK(status == DECLINED || status == (DONE | DECLINED));
  }
}

/* Three processes at once on a device that has so many contexts. */
enum { PROCESSES = 3 };
static void run_together(int contexts, int status[PROCESSES]) {
  char path[] = "/tmp/nputeir-XXXXXX", words[64];
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  close(fd);
  snprintf(words, sizeof words, "contexts=%d,file=%s", contexts, path);
  fflush(NULL);
  pid_t child[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    child[i] = fork();
    if (child[i] == 0) {
      int all = run(words, shapes, true);
      _exit(all | run(words, two_that_stay, true));
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int ended;
    bool good = waitpid(child[i], &ended, 0) == child[i] && WIFEXITED(ended);
    status[i] = good ? WEXITSTATUS(ended) : -1;
  }
  unlink(path);
}

/* Right results in all, and each has the device while nobody else does. */
static void test_processes(void) {
  int status[PROCESSES];
  run_together(3 * 4, status);
  for (int i = 0; i < PROCESSES; i++)
    CHECK(status[i] == DONE);
  run_together(1, status);
  int some = 0;
  for (int i = 0; i < PROCESSES; i++) {
    CHECK(status[i] > 0 && status[i] <= (DONE | DECLINED));
    some |= status[i];
  }
  CHECK(some & DONE);
}

static void test_threads(void) {
  CHECK(run("", neighbours, true) == DONE);
  CHECK(run("addresses", neighbours, true) == DONE);
  CHECK(run("", threads, true) == DONE);
  CHECK(run("contexts=1", threads, true) == DONE);
  CHECK(run("taken=5,old", threads, true) == DONE);
  int status = run("state=9:8", threads, true);
  CHECK(status == DECLINED || status == (DONE | DECLINED));
}

static void test_lent(void) {
  CHECK(run("", lent, true) == DONE);
  CHECK(run("addresses", lent, true) == DONE);
  CHECK(run("nouser", not_lent, true) == DONE);
  CHECK(run("", read_only, true) == DONE);
  CHECK(run("", little_memory, true) == DONE);
  for (int n = 15; n < 40; n += 3) {
    char words[32];
    snprintf(words, sizeof words, "fail=%d:%d", n, ENOMEM);
    int status = run(words, lent_somehow, false);
    CHECK(status == DONE || status == DECLINED || status == (DONE | DECLINED));
  }
}

/* The same program, and its cores and columns. */
static void test_second_generation(void) {
  CHECK(run("name=NPU Krackan,preset=krackan", one, true) == DONE);
  CHECK(run("name=RyzenAI-npu5,preset=strix-halo", twice, true) == DONE);
}

/* The configurations and transactions of all shapes need more. */
static void test_heap(void) {
  CHECK(run("heaps=8,heap=150", grows, true) == DONE);
  CHECK(run("heaps=2,heap=150", grows, true) == (DONE | DECLINED));
  CHECK(run("heap=150", shapes, true) == (DONE | DECLINED));
}

static void test_absent(void) {
  CHECK(run("name=RyzenAI-npu10", one, true) == DECLINED);
  CHECK(run("taken=6", one, true) == DECLINED);
  CHECK(run("noheap", twice, true) == DECLINED);
}

/* Lines of ours in what a case says on stderr, which goes to a file. */
static int lines_said(FILE *said) {
  char line[1000];
  int count = 0;
  rewind(said);
  while (fgets(line, sizeof line, said))
    count += strncmp(line, "nputeir: ", 9) == 0;
  return count;
}

/* A command that does not complete: the user is told once, and the device is
 * left alone afterwards. */
static int ends_badly(void) {
  FILE *said = tmpfile();
  if (!said || dup2(fileno(said), STDERR_FILENO) < 0)
    return WRONG;
  int status = one() | one() | batch_of(3);
  bool once = lines_said(said) == 1;
  fclose(said);
  return once && fake_driver_counts().commands == 1 ? status : status | UNRULY;
}

static void test_states(void) {
  static const int states[] = {XDNA_STATE_NEW, XDNA_STATE_ERROR,
                               XDNA_STATE_ABORT, XDNA_STATE_TIMEOUT,
                               XDNA_STATE_NO_RESPONSE};
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    char words[32];
    snprintf(words, sizeof words, "state=1:%d", states[i]);
    CHECK(run(words, ends_badly, true) == DECLINED);
  }
}

static void test_fault(int (*body)(void), int n, int error) {
  char words[32];
  snprintf(words, sizeof words, "fail=%d:%d", n, error);
  int status = run(words, body, false);
  bool good = error == EINTR ? status == DONE
                             : status == DONE || status == DECLINED ||
                                   status == (DONE | DECLINED);
  if (!good)
    fprintf(stderr, "ioctl %d, %s: %d\n", n, strerror(error), status);
  CHECK(good);
}

static int ioctls_of(int (*body)(void)) {
  body();
  return fake_driver_counts().ioctls;
}
static int ioctls_of_twice(void) { return ioctls_of(twice); }
static int ioctls_of_lists(void) { return ioctls_of(lists); }
static int few_that_stay(void) { return stays(3, 1); }
static int ioctls_of_few(void) { return ioctls_of(few_that_stay); }

/* Each ioctl of a run fails once; an interrupt is no failure. */
static void test_each_fault(void) {
  static const int errors[] = {ENOMEM, EINVAL, ENODEV};
  int two = run("", ioctls_of_twice, true),
      chains = run("", ioctls_of_lists, true);
  CHECK(two > 20 && two < 100 && chains > two && chains < 200);
  for (int n = 1; n <= two; n++)
    test_fault(twice, n, errors[n % 3]);
  for (int n = 1; n <= chains; n++)
    test_fault(lists, n, errors[n % 3]);
  for (int n = 1; n <= chains; n += 4)
    test_fault(lists, n, EINTR);
  int few = run("", ioctls_of_few, true);
  CHECK(few > 20 && few < 200);
  for (int n = 1; n <= few; n++)
    test_fault(few_that_stay, n, errors[n % 3]);
  for (int n = 2; n <= few; n += 5)
    test_fault(few_that_stay, n, EINTR);
  for (int n = chains / 3; n <= chains; n += 2)
    test_fault(lists_apart, n, errors[n % 3]);
}

/* From some ioctl on, all fail: the device has gone. */
static void test_gone(void) {
  for (int n = 1; n < 60; n += 13) {
    char words[32];
    int status[2];
    snprintf(words, sizeof words, "fail=%d:%d,every", n, ENODEV);
    status[0] = run(words, twice, false);
    snprintf(words, sizeof words, "fail=%d:%d,every", 2 * n, ENODEV);
    status[1] = run(words, lists, false);
    for (int i = 0; i < 2; i++)
      CHECK(status[i] == DONE || status[i] == DECLINED ||
            status[i] == (DONE | DECLINED));
  }
}

/* `run_npu_test ROUNDS SHAPES`: that many launches in one process. */
static void test_flat(void) { CHECK(run("", flat, true) == DONE); }

/* One group of tests by its name, or all; two numbers are rounds and shapes of
 * a longer test_flat. */
static const struct {
  const char *name;
  void (*test)(void);
} groups[] = {{"flat", test_flat},       {"good", test_good},
              {"lists", test_lists},     {"resident", test_resident},
              {"threads", test_threads}, {"processes", test_processes},
              {"lent", test_lent},       {"heap", test_heap},
              {"absent", test_absent},   {"second", test_second_generation},
              {"states", test_states},   {"faults", test_each_fault},
              {"gone", test_gone}};

int main(int argc, char **argv) {
  setenv("NPUTEIR_ACCEL", "/dev/accel/fake", 1);
  setenv("XDG_CACHE_HOME", "/dev/null", 1); /* no rates of earlier runs */
  setenv("NPUTEIR_DEVICE", "npu", 1);
  bool numbers = argc > 2;
  if (numbers) {
    rounds = atoi(argv[1]);
    shape_count = atoi(argv[2]);
  }
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if (argc == 1 || strcmp(numbers ? "flat" : argv[1], groups[i].name) == 0)
      groups[i].test();
  return check_result();
}
