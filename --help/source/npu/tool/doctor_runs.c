/* doctor_runs.c -- see doctor.h. */
#include "doctor.h"

#include "base.h"
#include "seconds.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of matrices of 16 x 16. */
#define SMALL_PRODUCT(in, out, in_row, in_bytes)                               \
  "teir 1\n"                                                                   \
  "tensor in0 " in "\ntensor in1 " in "\ntensor out " out "\n"                 \
  "axis m extent 16 stride in0=" in_row " out=64\n"                            \
  "axis n extent 16 stride in1=" in_bytes " out=4\n"                           \
  "axis k extent 16 stride in0=" in_bytes " in1=" in_row "\n"                  \
  "primitive clear Zero M=[] N=[]\n"                                           \
  "primitive mac Contraction M=[] N=[] K=[]\n"                                 \
  "roots m\n"                                                                  \
  "iterate m over m sequential do n\n"                                         \
  "iterate n over n sequential do zero, k\n"                                   \
  "iterate k over k sequential do contraction\n"                               \
  "invoke zero calls clear\n"                                                  \
  "invoke contraction calls mac\n"

/* in0[m,k] = m mod 3, in1[k,n] = n mod 5: out[m,n] = 16 * their product. */
bool doctor_floats_right(doctor_call *call, const char *options) {
  static const char text[] = SMALL_PRODUCT("bf16", "f32", "32", "2");
  uint16_t in0[256], in1[256];
  float out[256];
  for (int i = 0; i < 256; i++) {
    in0[i] = bf16_from_f32((float)(i / 16 % 3));
    in1[i] = bf16_from_f32((float)(i % 16 % 5));
    out[i] = -1;
  }
  void *const tensor[3] = {in0, in1, out};
  if (call(text, options, "doctor", NULL, 0, tensor, 3) != 0)
    return false;
  for (int i = 0; i < 256; i++)
    if (out[i] != (float)(16 * (i / 16 % 3) * (i % 16 % 5)))
      return false;
  return true;
}

static bool integers_right(doctor_call *call, const char *options) {
  static const char text[] = SMALL_PRODUCT("i8", "i32", "16", "1");
  int8_t in0[256], in1[256];
  int32_t out[256];
  for (int i = 0; i < 256; i++) {
    in0[i] = (int8_t)(i / 16 % 3);
    in1[i] = (int8_t)(i % 16 % 5);
    out[i] = -1;
  }
  void *const tensor[3] = {in0, in1, out};
  if (call(text, options, "doctor", NULL, 0, tensor, 3) != 0)
    return false;
  for (int i = 0; i < 256; i++)
    if (out[i] != 16 * (i / 16 % 3) * (i % 16 % 5))
      return false;
  return true;
}

/* Five products of a size of which a launch computes one. */
static bool chain_right(doctor_call *call, const char *options) {
  enum { COUNT = 5, M = 33, N = 17, K = 9 };
  static const char text[] = "teir 1\n"
                             "tensor in0 i8\ntensor in1 i8\ntensor out i32\n"
                             "axis c extent 5 stride in0=297 in1=153 out=2244\n"
                             "axis m extent 33 stride in0=9 out=68\n"
                             "axis n extent 17 stride in1=1 out=4\n"
                             "axis k extent 9 stride in0=1 in1=17\n"
                             "primitive clear Zero M=[] N=[]\n"
                             "primitive mac Contraction M=[] N=[] K=[]\n"
                             "roots c\n"
                             "iterate c over c sequential do m\n"
                             "iterate m over m sequential do n\n"
                             "iterate n over n sequential do zero, k\n"
                             "iterate k over k sequential do contraction\n"
                             "invoke zero calls clear\n"
                             "invoke contraction calls mac\n";
  static int8_t in0[COUNT][M][K], in1[COUNT][K][N];
  static int32_t out[COUNT][M][N];
  for (int c = 0; c < COUNT; c++)
    for (int k = 0; k < K; k++) {
      for (int m = 0; m < M; m++)
        in0[c][m][k] = (int8_t)(c + m % 3);
      for (int n = 0; n < N; n++)
        in1[c][k][n] = (int8_t)(n % 5);
    }
  void *const tensor[3] = {in0, in1, out};
  if (call(text, options, "doctor", NULL, 0, tensor, 3) != 0)
    return false;
  for (int c = 0; c < COUNT; c++)
    for (int m = 0; m < M; m++)
      for (int n = 0; n < N; n++)
        if (out[c][m][n] != K * (c + m % 3) * (n % 5))
          return false;
  return true;
}

/* The last reason in a trace. */
static void read_reason(FILE *trace, char *reason, size_t size) {
  static const char key[] = " reason=\"";
  char line[2000];
  rewind(trace);
  while (fgets(line, sizeof line, trace)) {
    const char *at = strstr(line, key);
    if (at)
      snprintf(reason, size, "%.*s", (int)strcspn(at + strlen(key), "\""),
               at + strlen(key));
  }
}

/* Lines of a trace that have the words. */
static int count_lines(FILE *trace, const char *words) {
  char line[2000];
  int count = 0;
  rewind(trace);
  while (fgets(line, sizeof line, trace))
    count += strstr(line, words) != NULL;
  return count;
}

/* The library's call, to the NPU, with a trace in a file. */
static doctor_call *open_runtime(const char *runtime, FILE **trace) {
  *trace = tmpfile();
  if (*trace && dup2(fileno(*trace), STDERR_FILENO) >= 0)
    setenv("NPUTEIR_TRACE", "1", 1);
  setenv("NPUTEIR_DEVICE", "npu", 1);
  unsetenv("NPUTEIR_OPTIONS");
  unsetenv("NPUTEIR_VERIFY");
  void *library = dlopen(runtime, RTLD_NOW | RTLD_LOCAL);
  doctor_call *call = NULL;
  if (library)
    *(void **)&call = dlsym(library, "nputeir_call_1");
  return call;
}

static void run_on_npu(const char *runtime, struct doctor_runs *x) {
  static const char options[] = "min-macs=0";
  FILE *trace;
  doctor_call *call = open_runtime(runtime, &trace);
  bool good = call;
  for (int i = 0; i < 4 && good; i++) {
    double start = seconds_now(), took;
    good = i % 2 ? integers_right(call, options)
                 : doctor_floats_right(call, options);
    took = seconds_now() - start;
    x->right += good;
    if (i == 2 || (i == 3 && took < x->again))
      x->again = took;
  }
  x->chain = good && chain_right(call, options);
  if (trace && !x->chain)
    read_reason(trace, x->reason, sizeof x->reason);
}

/* Three launches of one shape, of which the second and third may find the
 * transaction of the first there. */
static void stay_on_npu(const char *runtime, struct doctor_runs *x) {
  FILE *trace;
  doctor_call *call = open_runtime(runtime, &trace);
  x->stays = call;
  for (int i = 0; i < 3 && x->stays; i++)
    x->stays = integers_right(call, "min-macs=0,resident=on");
  x->resident = trace ? count_lines(trace, " resident=1 ") : 0;
  if (trace && !x->stays)
    read_reason(trace, x->reason, sizeof x->reason);
}

static void in_process(void (*body)(const char *, struct doctor_runs *),
                       const char *runtime, struct doctor_runs *x) {
  int both[2];
  if (pipe(both) != 0)
    return;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    body(runtime, x);
    _exit(write(both[1], x, sizeof *x) != sizeof *x);
  }
  close(both[1]);
  struct doctor_runs said;
  if (child > 0 && read(both[0], &said, sizeof said) == sizeof said)
    *x = said;
  close(both[0]);
  if (child > 0)
    waitpid(child, NULL, 0);
}

struct doctor_runs doctor_try_npu(const char *runtime) {
  struct doctor_runs x = {0};
  in_process(run_on_npu, runtime, &x);
  if (x.chain)
    in_process(stay_on_npu, runtime, &x);
  return x;
}
