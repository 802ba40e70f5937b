/* npu_test.c -- the device "npu" against a driver that is not there: right
 * results, or the loop with out as it was, whatever the driver answers.
 *
 * The node is opened once a process, so each case is a process of its own. */
#include "check.h"
#include "fake_driver.h"
#include "npu_calls.h"
#include "nputeir-rt.h"

#include "amdxdna_uapi.h"

#include <ctype.h>
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

/* ---- cases: what a process does; returns an or of the words above ---- */

static int one(void) { return npu_product(DTYPE_I8, 20, 24, 40); }

static int twice(void) { return one() | one(); }

/* What a process sends for a batch, twice, of which nothing is built again the
 * second time. */
static int sends(int64_t count, int executes, int chains) {
  int status = npu_batch(count);
  struct fake_driver_counts before = fake_driver_counts();
  status |= npu_batch(count);
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
static int lists(void) { return npu_batch(5) | npu_batch(5); }

/* One call, of two lists, finds out that there are no chains. */
static int refused_late(void) {
  int first = lists() != (DECLINED | DONE);
  int status = lists() | one() | npu_batch(21);
  return first || fake_driver_counts().chains != 2 ? status | UNRULY : status;
}
static int chains_off(void) {
  setenv("NPUTEIR_CHAINS", "off", 1);
  return one_by_one();
}
static int some_launches(void) { return npu_batch(21) | one(); }

/* More shapes than the runtime keeps contexts. */
static int shapes(void) {
  int status = 0;
  for (int round = 0; round < 2; round++)
    for (int64_t i = 0; i < 6; i++)
      status |= npu_product(i % 2 ? DTYPE_BF16 : DTYPE_I8, 8 + 64 * i, 32, 64);
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

enum { STAYS = 50 };

/* One command does many launches. */
static int few_commands(void) {
  int status = npu_stays(STAYS, 1);
  struct fake_driver_counts c = fake_driver_counts();
  if (c.executes > STAYS / 6)
    fprintf(stderr, "%d commands, %d looks\n", c.executes, c.looks);
  return c.executes <= STAYS / 6 ? status : status | UNRULY;
}

/* The end comes before the next launch: most of them are commands of their own,
 * and hardly any is done twice. */
static int late_launches(void) {
  int status = npu_stays(STAYS, 1);
  struct fake_driver_counts c = fake_driver_counts();
  if (c.executes > STAYS * 9 / 8)
    fprintf(stderr, "%d commands, %d looks\n", c.executes, c.looks);
  return c.executes <= STAYS * 9 / 8 ? status : status | UNRULY;
}

/* Others have contexts on the device: no command stays there. */
static int one_each(void) {
  int status = npu_stays(STAYS, 1);
  return fake_driver_counts().executes == STAYS ? status : status | UNRULY;
}

static int two_that_stay(void) { return npu_stays(20, 2); }
static int stays_and_others(void) {
  return npu_stays(5, 1) | one() | npu_stays(5, 2) | lists() | npu_stays(5, 1);
}

static void *stay_often(void *with) {
  int *status = with;
  *status = npu_stays(12, 1 + *status % 2);
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
    int asked = npu_call(&w);
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
    status |= npu_call(&w) ? DECLINED : DONE;
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
    *status |= npu_batch(1 + (first + 5 * i) % 9);
    *status |= npu_product(i % 2 ? DTYPE_BF16 : DTYPE_I8, 20 + first, 24, 40);
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
      status |= i % 3
                    ? npu_product(i % 2 ? DTYPE_I8 : DTYPE_BF16, 8 + i, 12, 16)
                    : npu_batch(2 + i);
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
    int asked = npu_call_with(&w, "device=npu");
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

/* What the code in front of a nest compares with, after a call that says
 * nothing of a device; from `least` to `most`. */
static int asks_for(uint64_t least, uint64_t most) {
  struct nest_work w;
  bool early = nputeir_least_macs_1 != 0;
  nest_gemm(&w, DTYPE_I8, false, 20, 24, 40);
  nest_make(&w, true, 1);
  int status = npu_call_with(&w, NULL) ? DECLINED : DONE;
  nest_free(&w);
  bool good = nputeir_least_macs_1 >= least && nputeir_least_macs_1 <= most;
  return good && !early ? status : status | WRONG;
}
static int asks_for_some(void) { return asks_for(1000, 20000); }
static int asks_for_none(void) { return asks_for(INT64_MAX, INT64_MAX); }
static int asks_for_all(void) { return asks_for(0, 0); }
static int traced(void) {
  setenv("NPUTEIR_TRACE", "summary", 1);
  return asks_for_all();
}
static int verified(void) {
  setenv("NPUTEIR_VERIFY", "1", 1);
  return asks_for_all() & ~DONE;
}
static int on_host(void) {
  setenv("NPUTEIR_DEVICE", "host", 1);
  return asks_for_all();
}
static int with_options(const char *options, int (*body)(void)) {
  setenv("NPUTEIR_OPTIONS", options, 1);
  return body();
}
static int asks_for_12345(void) { return asks_for(12345, 12345); }
static int off(void) { return with_options("off", asks_for_none); }
static int none_small(void) { return with_options("min-macs=0", asks_for_all); }
static int more(void) {
  return with_options("min-macs=12345,resident=on", asks_for_12345);
}
static int undecided(void) {
  unsetenv("NPUTEIR_DEVICE");
  return asks_for_none();
}

/* What launches cost is kept by machine, as a home may be many machines'. */
static int keeps_rates(void) {
  char folder[] = "/tmp/nputeir-XXXXXX", host[64] = "", path[300];
  if (!mkdtemp(folder) || gethostname(host, sizeof host - 1) != 0)
    return WRONG;
  setenv("XDG_CACHE_HOME", folder, 1);
  int status = slow_loop();
  for (char *c = host; *c; c++)
    *c = isalnum((unsigned char)*c) || strchr(".-", *c) ? *c : '_';
  snprintf(path, sizeof path,
           "%s/nputeir/NPU_Phoenix__driver_0.6__firmware_1.5.5.391__%s.rates",
           folder, host);
  bool good = unlink(path) == 0;
  snprintf(path, sizeof path, "%s/nputeir", folder);
  return good && rmdir(path) == 0 && rmdir(folder) == 0 ? status
                                                        : status | WRONG;
}

/* ---- the processes ---- */

static void test_good(void) {
  CHECK(npu_run("", twice, true) == DONE);
  CHECK(npu_run("addresses", twice, true) == DONE);
  CHECK(npu_run("old", twice, true) == DONE);
  CHECK(npu_run("name=RyzenAI-npu1", one, true) == DONE);
  CHECK(npu_run("name=NPU Strix Halo,preset=strix-halo", one, true) == DONE);
  CHECK(npu_run("", changed, true) == DONE);
  CHECK(npu_run("reload=1", changed, true) == DONE);
  CHECK(npu_run("reload=3", changed, true) == DONE);
  CHECK(npu_run("interrupts=3000", one, true) == DONE);
  CHECK(npu_run("old,interrupts=3000", one, true) == DONE);
  CHECK(npu_run("contexts=1", shapes, true) == DONE);
  CHECK(npu_run("taken=5", shapes, true) == DONE);
  CHECK(npu_run("", forked, true) == DONE);
  CHECK(npu_run("", slow_loop, true) == (DECLINED | DONE));
  CHECK(npu_run("", fast_loop, true) == DECLINED);
  CHECK(npu_run("", keeps_rates, true) == (DECLINED | DONE));
}

static void test_least(void) {
  CHECK(npu_run("", asks_for_some, true) == DECLINED);
  CHECK(npu_run("taken=6", asks_for_some, true) == DECLINED);
  CHECK(npu_run("name=RyzenAI-npu10", asks_for_none, true) == DECLINED);
  CHECK(npu_run("name=RyzenAI-npu10", undecided, true) == DECLINED);
  CHECK(npu_run("", off, true) == DECLINED);
  CHECK(npu_run("", none_small, true) == DONE);
  CHECK(npu_run("", more, true) == DONE);
  CHECK(npu_run("", traced, true) == DECLINED);
  CHECK(npu_run("", verified, true) == DECLINED);
  CHECK(npu_run("", on_host, true) == DONE);
}

static void test_lists(void) {
  CHECK(npu_run("", two_launches, true) == DONE);
  CHECK(npu_run("", four_launches, true) == DONE);
  CHECK(npu_run("", many_launches, true) == DONE);
  CHECK(npu_run("old,addresses", many_launches, true) == DONE);
  CHECK(npu_run("reload=2", many_launches, true) == DONE);
  CHECK(npu_run("nochain", one_by_one, true) == DONE);
  CHECK(npu_run("latechain", refused_late, true) == DONE);
  CHECK(npu_run("", chains_off, true) == DONE);
  for (int n = 1; n <= 21; n += 5) {
    char words[32];
    snprintf(words, sizeof words, "state=%d:%d", n, XDNA_STATE_TIMEOUT);
    CHECK(npu_run(words, some_launches, true) == DECLINED);
  }
}

/* A slow clock: how long a launch is waited for does not count here. */
static void test_resident(void) {
  CHECK(npu_run("slow=1000", few_commands, true) == DONE);
  CHECK(npu_run("addresses,slow=1000", few_commands, true) == DONE);
  CHECK(npu_run("old,slow=1000", few_commands, true) == DONE);
  CHECK(npu_run("reload=1,slow=1000", few_commands, true) == DONE);
  CHECK(npu_run("name=NPU Krackan,preset=krackan,slow=1000", few_commands,
                true) == DONE);
  CHECK(npu_run("hurry=400000,slow=1000", late_launches, true) == DONE);
  CHECK(npu_run("", two_that_stay, true) == DONE);
  CHECK(npu_run("taken=5", two_that_stay, true) == DONE);
  CHECK(npu_run("taken=1,slow=1000", one_each, true) == DONE);
  CHECK(npu_run("old,taken=1,slow=1000", few_commands, true) == DONE);
  CHECK(npu_run("", stays_and_others, true) == DONE);
  CHECK(npu_run("taken=5,reload=1", stays_and_others, true) == DONE);
  for (int cycles = 20000; cycles < 100000; cycles += 7000) {
    char words[32];
    snprintf(words, sizeof words, "hurry=%d", cycles);
    CHECK(npu_run(words, two_that_stay, true) == DONE);
  }
  CHECK(npu_run("", threads_stay, true) == DONE);
  CHECK(npu_run("taken=5", threads_stay, true) == DONE);
  CHECK(npu_run("hurry=30000", threads_stay, true) == DONE);
  for (int n = 1; n <= 3; n++) {
    char words[32];
    snprintf(words, sizeof words, "state=%d:%d", n, XDNA_STATE_TIMEOUT);
    int status = npu_run(words, stays_and_others, true);
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
      int all = npu_run(words, shapes, true);
      _exit(all | npu_run(words, two_that_stay, true));
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
  CHECK(npu_run("", neighbours, true) == DONE);
  CHECK(npu_run("addresses", neighbours, true) == DONE);
  CHECK(npu_run("", threads, true) == DONE);
  CHECK(npu_run("contexts=1", threads, true) == DONE);
  CHECK(npu_run("taken=5,old", threads, true) == DONE);
  int status = npu_run("state=9:8", threads, true);
  CHECK(status == DECLINED || status == (DONE | DECLINED));
}

static void test_lent(void) {
  CHECK(npu_run("", lent, true) == DONE);
  CHECK(npu_run("addresses", lent, true) == DONE);
  CHECK(npu_run("nouser", not_lent, true) == DONE);
  CHECK(npu_run("", read_only, true) == DONE);
  CHECK(npu_run("", little_memory, true) == DONE);
  for (int n = 15; n < 40; n += 3) {
    char words[32];
    snprintf(words, sizeof words, "fail=%d:%d", n, ENOMEM);
    int status = npu_run(words, lent_somehow, false);
    CHECK(status == DONE || status == DECLINED || status == (DONE | DECLINED));
  }
}

/* The same program, and its cores and columns. */
static void test_second_generation(void) {
  CHECK(npu_run("name=NPU Krackan,preset=krackan", one, true) == DONE);
  CHECK(npu_run("name=RyzenAI-npu5,preset=strix-halo", twice, true) == DONE);
}

/* The configurations and transactions of all shapes need more. */
static void test_heap(void) {
  CHECK(npu_run("heaps=8,heap=150", grows, true) == DONE);
  CHECK(npu_run("heaps=2,heap=150", grows, true) == (DONE | DECLINED));
  CHECK(npu_run("heap=150", shapes, true) == (DONE | DECLINED));
}

static void test_absent(void) {
  CHECK(npu_run("name=RyzenAI-npu10", one, true) == DECLINED);
  CHECK(npu_run("taken=6", one, true) == DECLINED);
  CHECK(npu_run("noheap", twice, true) == DECLINED);
}

/* `run_npu_test ROUNDS SHAPES`: that many launches in one process. */
static void test_flat(void) { CHECK(npu_run("", flat, true) == DONE); }

/* One group of tests by its name, or all; two numbers are rounds and shapes of
 * a longer test_flat. */
static const struct {
  const char *name;
  void (*test)(void);
} groups[] = {{"flat", test_flat},
              {"good", test_good},
              {"least", test_least},
              {"lists", test_lists},
              {"resident", test_resident},
              {"threads", test_threads},
              {"processes", test_processes},
              {"lent", test_lent},
              {"heap", test_heap},
              {"absent", test_absent},
              {"second", test_second_generation}};

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
