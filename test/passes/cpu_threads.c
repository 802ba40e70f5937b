/* cpu_threads.c -- products in parts give the bits that one thread gives: of
 * all kinds of code for the processor, on 1 to 5 threads, in a child of a
 * process that has had threads, in a thread with the smallest stack, and not in
 * parts inside a parallel region or another part.
 * With COUNTED the program has its own nputeir_parallel_1, which computes the
 * parts from the last to the first and says how many there were; with an
 * argument, there are fewer products. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int64_t nputeir_threads_1(int64_t most);
void nputeir_parallel_1(void (*body)(void *, int64_t, int64_t), void *context,
                        int64_t parts);

typedef void product(const long *s, const float *restrict a,
                     const float *restrict b, float *restrict c);

static void packed(const long *s, const float *restrict a,
                   const float *restrict b, float *restrict c) {
  for (long i = 0; i < s[0]; i++)
    for (long j = 0; j < s[1]; j++)
      for (long k = 0; k < s[2]; k++)
        c[i * s[1] + j] += a[k * s[0] + i] * b[k * s[1] + j];
}

static void clamped(const long *s, const float *restrict a,
                    const float *restrict b, float *restrict c) {
  for (long i = 0; i < s[0]; i++)
    for (long j = 0; j < s[1]; j++) {
      float sum = 0;
      for (long k = 0; k < s[2]; k++)
        sum += a[i * s[2] + k] * b[k * s[1] + j];
      c[i * s[1] + j] = sum > 0 ? sum : 0;
    }
}

static void batched(const long *s, const float *restrict a,
                    const float *restrict b, float *restrict c) {
  for (long z = 0; z < s[3]; z++)
    for (long i = 0; i < s[0]; i++)
      for (long j = 0; j < s[1]; j++)
        for (long k = 0; k < s[2]; k++)
          c[(z * s[0] + i) * s[1] + j] +=
              a[(z * s[0] + i) * s[2] + k] * b[(z * s[2] + k) * s[1] + j];
}

/* M is s[0] and s[3]. */
static void axes(const long *s, const float *restrict a,
                 const float *restrict b, float *restrict c) {
  for (long i = 0; i < s[0]; i++)
    for (long j = 0; j < s[1]; j++)
      for (long x = 0; x < s[3]; x++)
        for (long k = 0; k < s[2]; k++)
          c[(i * s[1] + j) * s[3] + x] +=
              a[(i * s[2] + k) * s[3] + x] * b[k * s[1] + j];
}

static void rows(const long *s, const float *restrict a,
                 const float *restrict b, float *restrict c) {
  for (long i = 0; i < s[0]; i++)
    for (long k = 0; k < s[2]; k++)
      c[i] += a[i * s[2] + k] * b[k];
}

static void across(const long *s, const float *restrict a,
                   const float *restrict b, float *restrict c) {
  for (long j = 0; j < s[1]; j++)
    for (long k = 0; k < s[2]; k++)
      c[j] += a[k] * b[k * s[1] + j];
}

static const struct {
  const char *name;
  product *run;
  long s[4]; /* m, n, k, a further axis */
  int parts; /* of 4 at most */
} products[] = {
    {"packed", packed, {301, 263, 257, 1}, 4},
    {"wide", packed, {40, 2111, 258, 1}, 4},
    {"few blocks", packed, {300, 520, 70, 1}, 2},
    {"clamped", clamped, {259, 301, 280, 1}, 4},
    {"batched", batched, {30, 31, 64, 301}, 4},
    {"axes", axes, {7, 231, 259, 51}, 4},
    {"skinny", clamped, {4, 3001, 1501, 1}, 4},
    {"low", packed, {15, 132, 8500, 1}, 3}, /* the last part is small */
    {"few columns", packed, {3001, 6, 1100, 1}, 4},
    {"rows", rows, {3001, 1, 6000, 1}, 4},
    {"across", across, {1, 3001, 6000, 1}, 4},
};
enum { PRODUCTS = sizeof products / sizeof *products, MOST = 20 << 20 };

static int failures, region;
static float *a, *b, *c;

/* As if of OpenMP's library. */
int omp_in_parallel(void) { return region; }

#ifdef COUNTED
static int64_t counted;
int64_t nputeir_threads_1(int64_t most) { return most < 4 ? most : 4; }
void nputeir_parallel_1(void (*body)(void *, int64_t, int64_t), void *context,
                        int64_t parts) {
  counted = parts;
  while (parts-- > 0)
    body(context, parts, counted);
}
#endif

static long out_size(const long *s) { return s[0] * s[1] * s[3]; }

static float *compute(int i, const char *threads) {
  const long *s = products[i].s;
  size_t bytes = (size_t)out_size(s) * sizeof *c;
  setenv("NPUTEIR_THREADS", threads, 1);
  for (long j = 0; j < out_size(s); j++)
    c[j] = (float)(j % 13);
  products[i].run(s, a, b, c);
  float *copy = malloc(bytes);
  if (!copy)
    abort();
  return memcpy(copy, c, bytes);
}

static void compare(int i, const char *threads) {
  float *one = compute(i, "1"), *more = compute(i, threads);
  if (memcmp(one, more, (size_t)out_size(products[i].s) * sizeof *c) != 0) {
    printf("%s: %s threads give other bits\n", products[i].name, threads);
    failures++;
  }
  free(one);
  free(more);
}

static void check_fork(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    failures = 0;
    compare(0, "3");
    _exit(failures);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
    printf("a child's product differs\n");
    failures++;
  }
}

/* Memory that is there when a handler has seen to it, page by page, in threads
 * of the library, too. */
enum { PAGE = 4096 };
static volatile sig_atomic_t pages;

static void give_page(int number, siginfo_t *info, void *unused) {
  (void)number, (void)unused;
  uintptr_t at = (uintptr_t)info->si_addr;
  if (mprotect((void *)(at - at % PAGE), PAGE, PROT_READ | PROT_WRITE) != 0)
    _exit(3);
  pages++;
}

static void check_pages(void) {
  struct sigaction give = {.sa_sigaction = give_page, .sa_flags = SA_SIGINFO};
  struct sigaction before;
  uintptr_t at = ((uintptr_t)a + PAGE - 1) / PAGE * PAGE;
  int i = 0;
  while (products[i].run != rows) /* each thread reads its own */
    i++;
  const long *s = products[i].s;
  size_t bytes = (size_t)(s[0] * s[2]) * sizeof *a;
  float *one = compute(i, "1");
  sigaction(SIGSEGV, &give, &before);
  mprotect((void *)at, bytes / PAGE * PAGE, PROT_NONE);
  float *two = compute(i, "2");
  sigaction(SIGSEGV, &before, NULL);
  if (!pages || memcmp(one, two, (size_t)out_size(s) * sizeof *c) != 0) {
    printf("%d pages were given to threads\n", (int)pages);
    failures++;
  }
  free(one);
  free(two);
}

static void *compare_two(void *unused) {
  compare(0, "2");
  return unused;
}

static void check_small_stack(void) {
  pthread_t thread;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  if (pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) != 0 ||
      pthread_create(&thread, &attr, compare_two, NULL) != 0 ||
      pthread_join(thread, NULL) != 0) {
    printf("no thread with a small stack\n");
    failures++;
  }
  pthread_attr_destroy(&attr);
}

/* As a signal's handler may, while the thread waits for others. */
static void count_within(void *threads, int64_t part, int64_t parts) {
  (void)parts;
  if (part == 0)
    *(int64_t *)threads = nputeir_threads_1(10);
}

static void check_counts(void) {
#ifdef COUNTED
  for (int i = 0; i < PRODUCTS; i++) {
    counted = 1;
    free(compute(i, "4"));
    if (counted != products[i].parts) {
      printf("%s: %ld parts, not %d\n", products[i].name, (long)counted,
             products[i].parts);
      failures++;
    }
  }
#else
  setenv("NPUTEIR_THREADS", "3", 1);
  int many = (int)nputeir_threads_1(10), few = (int)nputeir_threads_1(2);
  region = 1;
  int inside = (int)nputeir_threads_1(10);
  region = 0;
  setenv("NPUTEIR_THREADS", "auto", 1);
  int all = (int)nputeir_threads_1(1000);
  setenv("NPUTEIR_THREADS", "3 of them", 1);
  int none = (int)nputeir_threads_1(10);
  unsetenv("NPUTEIR_THREADS");
  int unset = (int)nputeir_threads_1(10);
  int64_t within = 0;
  setenv("NPUTEIR_THREADS", "3", 1);
  nputeir_parallel_1(count_within, &within, 2);
  int after = (int)nputeir_threads_1(10);
  if (many != 3 || few != 2 || inside != 1 || all < 1 || none != 1 ||
      unset != 1 || within != 1 || after != 3) {
    printf("threads: %d %d %d %d %d %d %d %d\n", many, few, inside, all, none,
           unset, (int)within, after);
    failures++;
  }
#endif
}

int main(int argc, char **argv) {
  (void)argv;
  a = malloc(MOST * sizeof *a);
  b = malloc(MOST * sizeof *b);
  c = malloc(MOST * sizeof *c);
  if (!a || !b || !c)
    return 2;
  for (long i = 0; i < MOST; i++) {
    a[i] = (float)(i * 7 % 19) * 0.3f - 2;
    b[i] = (float)(i * 5 % 23) * 0.7f - 7;
  }
  static const char *const counts[] = {"2", "3", "4", "5"};
  for (int i = 0; i < PRODUCTS; i++)
    for (int n = 0; n < (argc > 1 ? i % 3 == 0 : 4); n++)
      compare(i, counts[n]);
  check_counts();
  check_fork();
  if (argc == 1) /* instruments want some for themselves */
    check_small_stack(), check_pages();
  free(a);
  free(b);
  free(c);
  return failures > 0;
}
