/* cpu_tiles.c HOW -- products of bytes and of bf16, right whether the system
 * lets the process use tiles (AMX) or not, and whether it is asked:
 *
 *     granted    it is asked by the first product that tiles are faster for
 *     filter     a filter of system calls refuses
 *     stack      so does the kernel: the stack for signals is too small
 *     threads    parts of a product on several threads
 *     config     the program's own configuration of tiles is kept
 *
 * Bits are compared: -ffast-math lets a NaN be equal to anything.
 * Exit status 77: the processor has no tiles, or the kernel gives none. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GET_PERMISSION = 0x1022, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

/* Exactly, without a function of the compiler's library. */
static __bf16 half(long n) {
  float f = (float)n;
  __bf16 h;
  memcpy(&h, (const char *)&f + 2, sizeof h);
  return h;
}

/* Bytes that end at a page which nobody may touch, for good. */
static void *guarded(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE),
         pages = (bytes + page - 1) / page * page;
  char *at = mmap(NULL, pages + page, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || mprotect(at + pages, page, PROT_NONE))
    abort();
  return at + pages - bytes;
}

#define PRODUCT(name, IN0, IN1, SUM, NUMBER)                                   \
  __attribute__((noinline)) static void name(                                  \
      long m, long n, long k, long row, const IN0 *restrict a,                 \
      const IN1 *restrict b, SUM *restrict c) {                                \
    for (long i = 0; i < m; i++)                                               \
      for (long j = 0; j < n; j++)                                             \
        for (long p = 0; p < k; p++)                                           \
          c[i * n + j] += (SUM)a[i * row + p] * (SUM)b[p * n + j];             \
  }                                                                            \
  static int check_##name(long m, long n, long k, long gap) {                  \
    long row = k + gap; /* of a */                                             \
    IN0 *a = guarded(sizeof *a * (size_t)(m * row));                           \
    IN1 *b = malloc(sizeof *b * (size_t)(k * n));                              \
    SUM *c = calloc((size_t)(m * n), sizeof *c);                               \
    if (!b || !c)                                                              \
      abort();                                                                 \
    for (long i = 0; i < m * row; i++)                                         \
      a[i] = (IN0)NUMBER(i * 7 % 11 - 5);                                      \
    for (long i = 0; i < k * n; i++)                                           \
      b[i] = (IN1)NUMBER(i * 5 % 9 - 4);                                       \
    name(m, n, k, row, a, b, c);                                               \
    int wrong = 0;                                                             \
    for (long i = 0; i < m; i++)                                               \
      for (long j = i % 7; j < n; j += 7) { /* some of them */                 \
        volatile SUM sum = 0;                                                  \
        for (long p = 0; p < k; p++)                                           \
          sum += (SUM)a[i * row + p] * (SUM)b[p * n + j];                      \
        SUM want = sum;                                                        \
        wrong += memcmp(&c[i * n + j], &want, sizeof want) != 0;               \
      }                                                                        \
    free(b);                                                                   \
    free(c);                                                                   \
    if (wrong)                                                                 \
      printf(#name " %ld %ld %ld+%ld: %d are wrong\n", m, n, k, gap, wrong);   \
    return wrong;                                                              \
  }
PRODUCT(ss, int8_t, int8_t, int32_t, )
PRODUCT(su, int8_t, uint8_t, int32_t, )
PRODUCT(us, uint8_t, int8_t, int32_t, )
PRODUCT(uu, uint8_t, uint8_t, int32_t, )
PRODUCT(halves, __bf16, __bf16, float, half)

static int check_all(void) {
  int wrong = 0;
  /* the last column: between rows of in0, which are read as they lie where
   * they are whole tiles */
  static const long size[][4] = {
      {100, 130, 70, 0},  {33, 500, 300, 0},   {64, 64, 64, 0},
      {300, 33, 129, 0},  {7, 1000, 65, 0},    {260, 40, 2100, 0},
      {48, 100, 128, 3},  {304, 50, 2112, 64}, {272, 70, 96, 5},
      {47, 100, 192, 20}, {1040, 40, 64, 1}};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    long m = size[i][0], n = size[i][1], k = size[i][2], gap = size[i][3];
    wrong += check_ss(m, n, k, gap) + check_su(m, n, k, gap) +
             check_us(m, n, k, gap) + check_uu(m, n, k, gap) +
             check_halves(m, n, k, gap);
  }
  return wrong;
}

static int has_tiles(void) {
  unsigned a, b, c, d, amx = 1u << 22 | 1u << 24 | 1u << 25;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amx) == amx;
}

static int is_permitted(void) {
  uint64_t bits = 0;
  return syscall(SYS_arch_prctl, GET_PERMISSION, &bits) == 0 &&
         bits >> TILE_DATA & 1;
}

/* Of a child process, which asks for itself. */
static int may_be_permitted(void) {
  int status;
  pid_t child = fork();
  if (child == 0)
    _exit(syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) != 0);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void filter(void) {
  struct sock_filter rule[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REQUEST_PERMISSION, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof rule / sizeof *rule, rule};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    exit(77);
}

static void small_stack(void) {
  static char memory[4096]; /* vectors fit, tiles do not */
  stack_t s = {.ss_sp = memory, .ss_size = sizeof memory};
  if (sigaltstack(&s, NULL))
    exit(77);
}

/* In place of the runtime's. */
static int threads = 1, parts_run;
int64_t nputeir_threads_1(int64_t most);
int64_t nputeir_threads_1(int64_t most) {
  return most < threads ? most : threads;
}
typedef void body(void *, int64_t, int64_t);
static struct part {
  body *body;
  void *context;
  int64_t part, parts;
} part[8];
static void *run_part(void *p) {
  struct part *x = p;
  x->body(x->context, x->part, x->parts);
  return NULL;
}
void nputeir_parallel_1(body *b, void *context, int64_t parts);
void nputeir_parallel_1(body *b, void *context, int64_t parts) {
  pthread_t thread[8];
  for (int64_t i = 0; i < parts; i++) {
    part[i] = (struct part){b, context, i, parts};
    if (pthread_create(&thread[i], NULL, run_part, &part[i]))
      abort();
  }
  for (int64_t i = 0; i < parts; i++)
    pthread_join(thread[i], NULL);
  parts_run += (int)parts;
}

static int check_threads(void) {
  threads = 4;
  return check_ss(512, 300, 500, 0) + check_halves(100, 1100, 520, 0) +
         (parts_run < 4);
}

__attribute__((target("amx-tile"))) static int check_config(void) {
  struct config {
    uint8_t palette, start, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } own = {.palette = 1, .bytes = {8, 16}, .rows = {3, 4}}, found;
  if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA))
    return 77;
  int wrong = 0;
  for (int turn = 0; turn < 2; turn++) { /* with none, then with its own */
    if (turn)
      __asm__ volatile("ldtilecfg %0" ::"m"(own));
    wrong += check_ss(100, 100, 100, 0);
    __asm__ volatile("sttilecfg %0" : "=m"(found));
    if (!turn)
      wrong += found.palette != 0;
    else
      wrong += memcmp(&found, &own, sizeof own) != 0;
  }
  __asm__ volatile("tilerelease");
  return wrong != 0;
}

static int is(const char *how, const char *name) {
  return strcmp(how, name) == 0;
}

int main(int count, char **word) {
  const char *how = count > 1 ? word[1] : "granted";
  if (!has_tiles() || !may_be_permitted()) {
    puts("no tiles: this processor or kernel has no AMX");
    return 77;
  }
  mallopt(M_PERTURB,
          256); /* in memory that is acquired, halves are no numbers */
  if (is(how, "config"))
    return check_config();
  if (is(how, "filter"))
    filter();
  if (is(how, "stack"))
    small_stack();
  int wrong = check_ss(40, 40, 40, 0); /* too small */
  if (is_permitted()) {
    puts("the system is asked for nothing");
    wrong++;
  }
  wrong += is(how, "threads") ? check_threads() : check_all();
  int granted = is(how, "granted") || is(how, "threads");
  if (is_permitted() != granted) {
    printf("%s: tiles are %sused\n", how, granted ? "not " : "");
    wrong++;
  }
  return wrong != 0;
}
