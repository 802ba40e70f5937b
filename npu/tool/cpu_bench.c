/* cpu_bench.c -- `nputeir bench cpu`: loops compiled for this processor by the
 * plugin, by plain clang, and OpenBLAS where it is installed, in one run on one
 * thread, beside the peak of fused multiply-adds that the core shows.  Other
 * works follow: cpu_works_bench.c. */
#include "cpu_bench.h"
#include "keys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is compiled, with T the type of the elements and BYTES a vector's. */
#define SOURCE(...) #__VA_ARGS__
static const char source[] = SOURCE(
    void nn(long n, const T *restrict a, const T *restrict b, T *restrict c) {
      for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
          for (long k = 0; k < n; k++)
            c[i * n + j] += a[i * n + k] * b[k * n + j];
    } void tn(long n, const T *restrict a, const T *restrict b, T *restrict c) {
      for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
          for (long k = 0; k < n; k++)
            c[i * n + j] += a[k * n + i] * b[k * n + j];
    } void nt(long n, const T *restrict a, const T *restrict b, T *restrict c) {
      for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
          for (long k = 0; k < n; k++)
            c[i * n + j] += a[i * n + k] * b[j * n + k];
    } void tt(long n, const T *restrict a, const T *restrict b, T *restrict c) {
      for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
          for (long k = 0; k < n; k++)
            c[i * n + j] += a[k * n + i] * b[j * n + k];
    } typedef T vector __attribute__((vector_size(BYTES)));
    /* Some processors' tuning halves vectors of 64 bytes; this asks for whole
     * ones. */
    __attribute__((min_vector_width(BYTES * 8))) void peak(long n, T *x) {
      vector sum[12] = {};
      vector a = sum[0] + x[0];
      vector b = sum[0] + x[1];
      for (long i = 0; i < n; i++)
        for (int j = 0; j < 12; j++)
          sum[j] = sum[j] * a + b;
      for (int j = 1; j < 12; j++)
        sum[0] += sum[j];
      x[0] = sum[0][0];
    });
static const char *const name[] = {"nn", "tn", "nt", "tt"};
enum { LAYOUTS = 4, PEAK_STEPS = 10000, PEAK_SUMS = 12 };

typedef void product(long n, const void *a, const void *b, void *c);
typedef void peak_loop(long n, void *x);

/* ---- what is measured ---- */

struct rivals {
  struct tool *tool;
  const char *type; /* as C names it */
  int bytes, vector_bytes;
  product *ours[LAYOUTS], *plain[LAYOUTS];
  peak_loop *peak;
  void *dgemm, *sgemm; /* of OpenBLAS, or NULL */
};

static int vector_bytes(void) {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") ? 64
         : __builtin_cpu_supports("avx2")  ? 32
                                           : 16;
#else
  return 16;
#endif
}

/* Flops per second of PEAK_STEPS steps. */
static double run_peak(const struct rivals *r) {
  union {
    float f[2];
    double d[2];
  } x;
  if (r->bytes == 4)
    x.f[0] = x.f[1] = 0.5f;
  else
    x.d[0] = x.d[1] = 0.5;
  double start = cpu_bench_seconds();
  r->peak(PEAK_STEPS, &x);
  int lanes = r->vector_bytes / r->bytes;
  return 2.0 * PEAK_SUMS * lanes * PEAK_STEPS / (cpu_bench_seconds() - start);
}

static double find_peak(const struct rivals *r) {
  struct cpu_bench_speed speed = {0};
  for (int i = 0; i < 1000; i++)
    cpu_bench_add(&speed, run_peak(r));
  return cpu_bench_rate(&speed);
}

static bool load(struct rivals *r, const char *folder) {
  struct arena *a = r->tool->arena;
  struct cpu_bench_source s = {
      r->type,
      source,
      {arena_printf(a, "-DT=%s", r->type),
       arena_printf(a, "-DBYTES=%d", r->vector_bytes)}};
  void *ours = cpu_bench_compile(r->tool, folder, &s, true);
  void *plain = ours ? cpu_bench_compile(r->tool, folder, &s, false) : NULL;
  if (!plain)
    return false;
  for (int i = 0; i < LAYOUTS; i++) {
    r->ours[i] = (product *)(uintptr_t)dlsym(ours, name[i]);
    r->plain[i] = (product *)(uintptr_t)dlsym(plain, name[i]);
  }
  r->peak = (peak_loop *)(uintptr_t)dlsym(plain, "peak");
  return true;
}

static void load_openblas(struct rivals *r) {
  void *library = cpu_bench_openblas();
  r->sgemm = library ? dlsym(library, "cblas_sgemm") : NULL;
  r->dgemm = library ? dlsym(library, "cblas_dgemm") : NULL;
}

static void call_openblas(const struct rivals *r, int layout, int n,
                          const void *a, const void *b, void *c) {
  int ta = layout & 1 ? CBLAS_TURNED : CBLAS_AS_IS,
      tb = layout & 2 ? CBLAS_TURNED : CBLAS_AS_IS;
  if (r->bytes == 4)
    ((cblas_gemm_s *)(uintptr_t)r->sgemm)(CBLAS_ROW_MAJOR, ta, tb, n, n, n, 1,
                                          a, n, b, n, 1, c, n);
  else
    ((cblas_gemm_d *)(uintptr_t)r->dgemm)(CBLAS_ROW_MAJOR, ta, tb, n, n, n, 1,
                                          a, n, b, n, 1, c, n);
}

enum rival { OURS, OPENBLAS, PLAIN, PEAK, RIVALS };

static void multiply(const struct rivals *r, enum rival who, int layout, int n,
                     void *const tensor[3]) {
  if (who == OPENBLAS)
    call_openblas(r, layout, n, tensor[0], tensor[1], tensor[2]);
  else
    (who == OURS ? r->ours : r->plain)[layout](n, tensor[0], tensor[1],
                                               tensor[2]);
}

/* Several runs, in turns, so that what else the machine does meets all alike.
 */
static void measure(const struct rivals *r, int layout, int n, bool plain,
                    void *const tensor[3], double rate[RIVALS]) {
  double work = 2.0 * n * n * n, ours = 0;
  static struct cpu_bench_speed speed[RIVALS];
  for (int i = 0; i < RIVALS; i++)
    speed[i].count = 0;
  int calls = (int)(4e6 / work) + 1;
  for (int round = -CPU_BENCH_FIRST; round < CPU_BENCH_ROUNDS || ours < 0.1;
       round++)
    for (enum rival w = OURS; w < RIVALS; w++) {
      if ((w == OPENBLAS && !(r->sgemm && r->dgemm)) ||
          (w == PLAIN && (!plain || round < 0 || round > 2)))
        continue;
      if (w == PEAK) {
        cpu_bench_add(&speed[w], run_peak(r));
        continue;
      }
      double from = cpu_bench_seconds();
      for (int i = 0; i < calls; i++)
        multiply(r, w, layout, n, tensor);
      double took = cpu_bench_seconds() - from;
      ours += w == OURS ? took : 0;
      if (round >= 0)
        cpu_bench_add(&speed[w], work * calls / took);
    }
  for (int i = 0; i < RIVALS; i++)
    rate[i] = cpu_bench_rate(&speed[i]);
}

static void print_case(const struct rivals *r, const char *called,
                       const double rate[RIVALS]) {
  struct text t = {0};
  text_printf(&t, "case=%s gflops=%.1f peak_share=%.3f", called,
              rate[OURS] * 1e-9, rate[OURS] / rate[PEAK]);
  if (rate[OPENBLAS] > 0)
    text_printf(&t, " openblas=%.1f ratio=%.3f", rate[OPENBLAS] * 1e-9,
                rate[OURS] / rate[OPENBLAS]);
  if (rate[PLAIN] > 0)
    text_printf(&t, " clang=%.1f", rate[PLAIN] * 1e-9);
  keys_print(r->tool, "%s\n", text_string(&t));
  text_free(&t);
}

enum { LARGEST = 2048 };
static const int size[] = {16, 32, 64, 128, 256, 512, 1024, LARGEST};
enum { SIZES = sizeof size / sizeof *size, CASES = SIZES * LAYOUTS };

/* The i-th product's of a type. */
struct case_name {
  char text[32];
};
static struct case_name case_name(int bytes, int i) {
  struct case_name x;
  snprintf(x.text, sizeof x.text, "%s-%d-%s", bytes == 4 ? "f32" : "f64",
           size[i / LAYOUTS], name[i % LAYOUTS]);
  return x;
}

static bool has_product(const char *only, int bytes) {
  for (int i = 0; i < CASES; i++)
    if (cpu_bench_means(only, case_name(bytes, i).text))
      return true;
  return false;
}

bool bench_is_cpu_case(const char *name) {
  return has_product(name, 4) || has_product(name, 8) ||
         cpu_bench_has_work(name) || cpu_bench_is_choice(name);
}

static bool bench_type(struct tool *t, const char *folder, const char *only,
                       int bytes, void *const tensor[3]) {
  struct rivals r = {.tool = t,
                     .type = bytes == 4 ? "float" : "double",
                     .bytes = bytes,
                     .vector_bytes = vector_bytes()};
  if (!has_product(only, bytes))
    return true;
  if (!load(&r, folder))
    return false;
  load_openblas(&r);
  keys_print(t, "peak=%s gflops=%.1f vector_bytes=%d\n",
             bytes == 4 ? "f32" : "f64", find_peak(&r) * 1e-9, r.vector_bytes);
  memset(tensor[0], 0, (size_t)LARGEST * LARGEST * (size_t)bytes);
  memset(tensor[1], 0, (size_t)LARGEST * LARGEST * (size_t)bytes);
  memset(tensor[2], 0, (size_t)LARGEST * LARGEST * (size_t)bytes);
  for (int i = 0; i < CASES; i++) {
    const struct case_name called = case_name(bytes, i);
    if (!cpu_bench_means(only, called.text))
      continue;
    int n = size[i / LAYOUTS], layout = i % LAYOUTS;
    double rate[RIVALS];
    measure(&r, layout, n, n <= 256 && layout == 0, tensor, rate);
    print_case(&r, called.text, rate);
  }
  return true;
}

static bool bench_in(struct tool *t, const char *folder,
                     const struct bench_cpu_job *job) {
  const char *kernels = cpu_bench_openblas_kernels();
  if (kernels)
    keys_print(t, "openblas_kernels=%s\n", kernels);
  if (job->only && bench_is_einsum(job->only))
    return cpu_bench_einsums(t, folder, job->only);
  if (job->only && cpu_bench_is_choice(job->only))
    return cpu_bench_choices(t, folder, job->only);
  void *tensor[3] = {NULL, NULL, NULL};
  size_t bytes = (size_t)LARGEST * LARGEST * sizeof(double);
  for (int i = 0; i < 3; i++)
    if (!(tensor[i] = aligned_alloc(64, bytes)))
      out_of_memory(bytes);
  bool good = bench_type(t, folder, job->only, 4, tensor) &&
              bench_type(t, folder, job->only, 8, tensor);
  for (int i = 0; i < 3; i++)
    free(tensor[i]);
  return good && cpu_bench_works(t, folder, job->only);
}

/* OpenBLAS chooses its kernels when it is loaded, as it is to be asked which it
 * takes: another process has nothing in the environment that forces old ones,
 * or what makes it take better ones. */
static const char was_chosen[] = "NPUTEIR_BENCH_OPENBLAS";

/* A release that is older than the processor takes its oldest kernels; those
 * for the processor's instructions are the rival then.  NULL: its own choice,
 * or there is no OpenBLAS. */
static const char *better_kernels(void) {
#ifdef __x86_64__
  const char *name = cpu_bench_openblas_kernels();
  __builtin_cpu_init();
  if (name && strcmp(name, "Prescott") == 0)
    return __builtin_cpu_supports("avx512vl") ? "SKYLAKEX"
           : __builtin_cpu_supports("avx2")   ? "HASWELL"
                                              : NULL;
#endif
  return NULL;
}

/* kernels: those that OpenBLAS shall take, NULL: its own choice. */
static bool bench_elsewhere(struct tool *t, const struct bench_cpu_job *job,
                            const char *kernels) {
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
  if (kernels) {
    setenv("OPENBLAS_CORETYPE", kernels, 1);
    setenv(was_chosen, kernels, 1);
  }
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    const char *word[6] = {"nputeir", "bench", "cpu"};
    int n = 3;
    if (job->only)
      word[n++] = job->only;
    if (t->json)
      word[n++] = "--json";
    execv("/proc/self/exe", (char *const *)word);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return diag_error(&t->diag, loc_none(), "no other process: %s",
                      strerror(errno));
  return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
         diag_error(&t->diag, loc_none(), "the benchmark failed");
}

bool bench_cpu(struct tool *t, void *job) {
  const char *kernels = NULL;
  if (!getenv(was_chosen) &&
      (getenv("OPENBLAS_CORETYPE") || getenv("OPENBLAS_L2_SIZE") ||
       (kernels = better_kernels())))
    return bench_elsewhere(t, job, kernels);
  char folder[] = "/tmp/nputeir-bench-XXXXXX";
  if (!mkdtemp(folder))
    return diag_error(&t->diag, loc_none(), "cannot make a folder in /tmp: %s",
                      strerror(errno));
  bool good = bench_in(t, folder, job);
  rmdir(folder);
  return good;
}
