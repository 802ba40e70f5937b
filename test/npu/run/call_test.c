/* call_test.c -- what a call declines and why, the cache, threads, failures on
 * the way, and the trace line. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A call that must be declined for this reason, and leave out alone. */
static void declined(struct nest_work *w, struct run *r, const char *options,
                     const char *says) {
  struct run_report report;
  size_t bytes = w->bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes);
  memcpy(before, w->memory[OUT], bytes);
  CHECK(!nest_call(w, r, options, &report));
  CHECK(memcmp(before, w->memory[OUT], bytes) == 0);
  if (!strstr(report.reason.text, says)) {
    fprintf(stderr, "expected '%s' in '%s'\n", says, report.reason.text);
    CHECK(!"reason");
  }
  free(before);
}

static void test_declined(void) {
  struct run *any = nest_open(NULL), *r = nest_open("fake");
  struct nest_work w;
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_BF16, true, 8, 8, 8);
  nest_make(&w, true, 1);
  declined(&w, any, NULL, "no NPU");
  declined(&w, any, "device=npu1", "no NPU");
  declined(&w, any, "device=cpu", "keeps the loop");
  declined(&w, any, "device=toaster", "not 'toaster'");
  declined(&w, any, "device=sim,preset=cray", "no preset 'cray'");
  declined(&w, any, "min-macs=many,device=host", "not 'many'");
  declined(&w, any, "device=host,off", "switched off");
  run_close(any);
  fake.fail_compile = true;
  declined(&w, r, NULL, "a bad day");
  fake.fail_compile = false; /* a failed compilation is kept, too */
  declined(&w, r, NULL, "a bad day");
  CHECK(fake.compiles == 1);
  char *good = w.teir;
  w.teir = strdup("teir 1\naxis m extent\n");
  declined(&w, r, NULL, "expected");
  free(w.teir);
  w.teir = strdup("");
  declined(&w, r, NULL, "");
  free(w.teir);
  w.teir = good;
  w.value_count--;
  declined(&w, r, NULL, "values for");
  nest_free(&w);
  run_close(r);
}

static void test_strides(void) {
  struct run *r = nest_open("fake");
  struct nest_work w;
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_I8, false, 8, 8, 8);
  nest_make(&w, true, 1);
  int64_t row = w.value[1];
  CHECK(row == 8);
  w.value[1] = -8;
  declined(&w, r, NULL, "moves in0 by -8 bytes");
  w.value[1] = row;
  CHECK(w.value[2] == 32); /* row of out */
  w.value[2] = 28;
  declined(&w, r, NULL, "two iterations write one place");
  w.value[2] = 4;
  declined(&w, r, NULL, "two iterations write one place");
  w.value[2] = 0;
  declined(&w, r, NULL, "zeroed again");
  w.value[2] = INT64_MAX / 2;
  declined(&w, r, NULL, "64 bits");
  w.value[2] = 32;
  w.value[0] = INT64_MAX / 4;
  declined(&w, r, NULL, "elements");
  nest_free(&w);
  run_close(r);
}

/* A call on pieces of one array of 64 rows of 64 floats. */
static bool overlap_call(struct run *r, const struct nest_work *w, char *base,
                         size_t in0, size_t in1, size_t out,
                         struct run_report *report) {
  void *tensor[TENSORS] = {base + in0, base + in1, base + out};
  struct run_request q = {.teir = w->teir,
                          .options = NULL,
                          .value = w->value,
                          .value_count = (uint64_t)w->value_count,
                          .tensor = tensor,
                          .tensor_count = TENSORS};
  return run_call(r, &q, report);
}

static void test_overlap(void) {
  static const struct {
    size_t in0, in1, out;
    bool done;
  } c[] = {
      {0, 0, 8192, true},    /* inputs may be the same */
      {0, 4096, 8192, true}, /* one behind the other */
      {8192, 4096, 8192, false},
      {4096, 8192, 8192, false},
      {8192 + 7 * 256 + 28, 0, 8192, false}, /* the last element of out */
      {8192 + 7 * 256 + 32, 0, 8192, true},  /* the first byte behind it */
      {8192 - 7 * 256 - 16, 0, 8192, true},  /* ends where out begins */
      {8192 - 7 * 256 - 15, 0, 8192, false},
      {8192 + 32, 8192 + 64, 8192, true}, /* beside it in every row */
      {8192 + 31, 0, 8192, false},
      {8192 + 256 - 16, 0, 8192, true}, /* in0's rows have 16 bytes */
      {8192 + 256 - 15, 0, 8192, false},
  };
  struct run *r = nest_open("fake");
  struct nest_work w;
  struct run_report report;
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_BF16, false, 8, 8, 8);
  w.axis[0].stride[IN0] = w.axis[0].stride[OUT] = w.axis[2].stride[IN1] = 256;
  nest_make(&w, true, 1);
  char *base = calloc(64, 256);
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    bool done =
        overlap_call(r, &w, base, c[i].in0, c[i].in1, c[i].out, &report);
    if (done != c[i].done)
      fprintf(stderr, "overlap case %zu\n", i);
    CHECK(done == c[i].done);
    CHECK(done || strstr(report.reason.text, "overlaps"));
  }
  free(base);
  nest_free(&w);
  run_close(r);
}

/* Rows of a picture with a margin of zeros: what counts is what is read. */
static void test_limits(void) {
  struct run *r = nest_open("fake");
  struct nest_work w;
  struct run_report report;
  char *memory = calloc(4096, 1);
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_I8, false, 8, 8, 8);
  w.limit_count = 2; /* rows 2 .. 5 */
  w.limit[0] = (struct nest_limit){false, -2, {1}};
  w.limit[1] = (struct nest_limit){true, -6, {1}};
  nest_make(&w, true, 1);
  CHECK(overlap_call(r, &w, memory, 512, 0, 512 + 48, &report));
  CHECK(!overlap_call(r, &w, memory, 512, 0, 512 + 47, &report));
  CHECK(strstr(report.reason.text, "out overlaps in0"));
  CHECK(overlap_call(r, &w, memory, 512 - 16, 0, 512 - 256, &report));
  CHECK(!overlap_call(r, &w, memory, 512 - 17, 0, 512 - 256, &report));
  CHECK(!overlap_call(r, &w, memory, 2048, 512 + 255, 512, &report));
  CHECK(strstr(report.reason.text, "out overlaps in1"));
  nest_free(&w);
  w.limit[0] = (struct nest_limit){false, -2, {1, 1}};
  nest_make(&w, true, 1);
  declined(&w, r, NULL, "moves with M and N");
  nest_free(&w);
  w.limit[0] = (struct nest_limit){false, -2, {1, 0, -1}};
  nest_make(&w, true, 1);
  declined(&w, r, NULL, "in1 has elements at which no product counts");
  nest_free(&w);
  free(memory);
  run_close(r);
}

/* An extra may be out itself, element by element, or lie beside it. */
static void test_extra_overlap(void) {
  static const struct {
    size_t shift;
    int64_t row;
    bool done;
  } c[] = {{0, 32, true},   {4, 32, false},     {0, 36, false},
           {32, 32, false}, {8 * 32, 32, true}, {0, 0, false}};
  struct run *r = nest_open("fake");
  struct run_report report;
  fake = (struct fake){0};
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    struct nest_work w;
    nest_gemm(&w, DTYPE_BF16, false, 8, 8, 8);
    w.tail = "sub(sum,x0)";
    w.acc = w.extra_type[0] = DTYPE_F32;
    w.extra_count = 1;
    w.axis[0].extra[0] = c[i].row;
    w.axis[1].extra[0] = 4;
    nest_make(&w, true, 1);
    char base[4 * 8 * 36] = {0}, before[sizeof base];
    memcpy(base, w.memory[OUT] + NEST_GUARD, w.bytes[OUT]);
    memcpy(before, base, sizeof base);
    void *tensor[NEST_TENSORS];
    uint64_t count = nest_tensors(&w, tensor);
    tensor[OUT] = base;
    tensor[OUT + 2] = base + c[i].shift;
    struct run_request q = {.teir = w.teir,
                            .value = w.value,
                            .value_count = (uint64_t)w.value_count,
                            .tensor = tensor,
                            .tensor_count = count};
    CHECK(run_call(r, &q, &report) == c[i].done);
    CHECK(c[i].done ||
          strstr(report.reason.text, "overlaps element-wise tensor x0"));
    CHECK(c[i].done || memcmp(base, before, sizeof base) == 0);
    nest_free(&w);
  }
  run_close(r);
}

/* What is made of in0's elements may not read out itself: of the source's two
 * stores to a place, the first one would be read. */
static void test_extra_of_map(void) {
  struct run *r = nest_open("fake");
  struct nest_work w;
  fake = (struct fake){0};
  for (int on_out = 0; on_out < 2; on_out++) {
    nest_gemm(&w, DTYPE_I8, false, 8, 1, 8);
    w.tail = "sum";
    w.map[IN0] = "sub(i32(e),shr(x0,i32:24))";
    w.acc = w.extra_type[0] = DTYPE_I32;
    w.extra_count = 1;
    w.axis[0].extra[0] = w.axis[0].stride[OUT];
    nest_make(&w, true, 1);
    void *tensor[NEST_TENSORS];
    uint64_t count = nest_tensors(&w, tensor);
    if (on_out)
      tensor[OUT + 2] = tensor[OUT];
    struct run_request q = {.teir = w.teir,
                            .value = w.value,
                            .value_count = (uint64_t)w.value_count,
                            .tensor = tensor,
                            .tensor_count = count};
    struct run_report report;
    CHECK(run_call(r, &q, &report) == !on_out);
    CHECK(on_out ? strstr(report.reason.text, "out overlaps in0") != NULL
                 : nest_right(&w));
    nest_free(&w);
  }
  run_close(r);
}

/* Programs with a Map that are no product with a tail. */
static void test_tail_forms(void) {
#define HEAD                                                                   \
  "teir 1\ntensor in0 bf16\ntensor in1 bf16\ntensor out f32\n"                 \
  "tensor sum f32\naxis m extent 4 stride in0=8 out=4\n"                       \
  "axis k extent 4 stride in0=2 in1=2\n"                                       \
  "primitive z Zero M=[] N=[] to sum\n"                                        \
  "primitive c Contraction M=[] N=[] K=[] from in0, in1 to sum\n"              \
  "primitive t Map M=[] N=[] from sum to out expr sum\n"                       \
  "iterate k over k sequential do mac\ninvoke zero calls z\n"                  \
  "invoke mac calls c\ninvoke tail calls t\nroots m\n"
  static const struct {
    const char *text, *says; /* NULL: taken */
  } c[] = {
      {HEAD "iterate m over m sequential do zero, k, tail\n", NULL},
      {HEAD "iterate m over m sequential do zero, tail, k\n",
       "no Zero, Contraction and Map"},
      {HEAD "iterate m over m sequential do k, zero, tail\n",
       "no Zero, Contraction and Map"},
      {HEAD "iterate m over m sequential do k, tail\n",
       "neither a root nor a child"},
      {HEAD "axis e extent 3\niterate m over m sequential do e\n"
            "iterate e over e sequential do zero, k, tail\n",
       "out is written again along axis 'e'"},
      {HEAD "axis e extent 3 stride sum=4 out=16\n"
            "iterate m over m sequential do e\n"
            "iterate e over e sequential do zero, k, tail\n",
       "the sum moves along axis 'e'"},
      {HEAD "axis e extent 3 stride in0=2 out=16\n"
            "iterate m over m sequential do zero, e, tail\n"
            "iterate e over e sequential do k\n",
       "more than in0 and in1 moves along axis 'e'"},
  };
  struct run *r = nest_open("fake");
  fake = (struct fake){0};
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    uint16_t in0[64] = {0}, in1[64] = {0};
    float out[64], sum;
    void *tensor[] = {in0, in1, out, &sum};
    struct run_request q = {
        .teir = c[i].text, .tensor = tensor, .tensor_count = 4};
    struct run_report report;
    CHECK(run_call(r, &q, &report) == !c[i].says);
    if (c[i].says && !strstr(report.reason.text, c[i].says)) {
      fprintf(stderr, "form %zu: %s\n", i, report.reason.text);
      CHECK(!"reason");
    }
  }
  run_close(r);
#undef HEAD
}

static void test_cache(void) {
  struct run *r = nest_open("fake");
  struct run_report report;
  fake = (struct fake){0};
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n <= 80; n++) {
      struct nest_work w;
      nest_gemm(&w, DTYPE_I8, n % 2, 4, n, 4);
      nest_make(&w, true, 1);
      CHECK(nest_call(&w, r, NULL, &report) && report.compiled);
      CHECK(nest_right(&w));
      free(w.expected);
      w.expected = malloc(w.bytes[OUT] + 2 * NEST_GUARD);
      memcpy(w.expected, w.memory[OUT], w.bytes[OUT] + 2 * NEST_GUARD);
      CHECK(nest_call(&w, r, NULL, &report) && !report.compiled);
      if (!w.accumulate)
        CHECK(nest_right(&w));
      nest_free(&w);
    }
  CHECK(fake.compiles == 160 && fake.opens == 160 && fake.launches == 320);
  run_close(r);
}

/* Shapes with equal configurations share the loaded one, in any order, until a
 * launch fails; what others have used is given back. */
static void test_contexts(void) {
  static const struct {
    enum dtype type;
    int64_t n;
    bool configured;
  } c[] = {{DTYPE_I8, 4, true},    {DTYPE_I8, 5, false}, {DTYPE_I8, 4, false},
           {DTYPE_BF16, 4, true},  {DTYPE_I8, 6, false}, {DTYPE_BF16, 5, false},
           {DTYPE_BF16, 6, false}, {DTYPE_I8, 5, false}};
  enum { CALLS = sizeof c / sizeof *c };
  for (int broken = 0; broken <= CALLS; broken++) {
    struct run *r = nest_open("fake");
    fake = (struct fake){.fail_launch = broken};
    bool reload[2] = {false};
    int loads = 0;
    for (int i = 0; i < CALLS; i++) {
      struct nest_work w;
      struct run_report report;
      bool *again = &reload[c[i].type == DTYPE_BF16];
      nest_gemm(&w, c[i].type, false, 4, c[i].n, 4);
      nest_make(&w, false, 1);
      if (i + 1 == broken) {
        declined(&w, r, NULL, "broke");
        loads += c[i].configured;
        *again = true;
      } else {
        CHECK(nest_call(&w, r, NULL, &report) && nest_right(&w));
        CHECK(report.counts.configured == (c[i].configured || *again));
        loads += report.counts.configured;
        *again = false;
      }
      nest_free(&w);
    }
    CHECK(fake.loads == loads && fake.unloads == (broken > 0));
    run_close(r);
    CHECK(fake.loads == fake.unloads);
  }
}

/* A launch that breaks half way: out is as before, the next call works. */
static void test_failure(void) {
  for (int broken = 1; broken <= 8; broken++) {
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    nest_gemm(&w, DTYPE_I8, true, 10, 10, 10);
    nest_make(&w, false, 1);
    fake = (struct fake){.m = 5, .n = 5, .k = 5, .fail_launch = broken};
    declined(&w, r, NULL, "broke");
    CHECK(nest_call(&w, r, NULL, &report) && nest_right(&w));
    CHECK(report.launches == 8 && fake.opens == 2 && fake.compiles == 1);
    nest_free(&w);
    run_close(r);
  }
  struct run *r = nest_open("fake");
  struct nest_work w;
  nest_gemm(&w, DTYPE_I8, true, 10, 10, 10);
  nest_make(&w, false, 1);
  fake = (struct fake){.fail_open = true};
  declined(&w, r, NULL, "does not open");
  run_close(r);
  r = nest_open("fake");
  fake = (struct fake){.fail_layout = true};
  declined(&w, r, NULL, "layout of tensor 2");
  nest_free(&w);
  run_close(r);
}

/* Idle devices keep only so much memory: 12 shapes of 60 MiB do not fit. */
static void test_cache_bytes(void) {
  struct run *r = nest_open("fake");
  struct run_report report;
  fake = (struct fake){.gap = 12 << 20};
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n <= 12; n++) {
      struct nest_work w;
      nest_gemm(&w, DTYPE_I8, false, 2, n, 1);
      nest_make(&w, true, 1);
      CHECK(nest_call(&w, r, NULL, &report) && nest_right(&w));
      CHECK(nest_call(&w, r, NULL, &report) && !report.compiled);
      nest_free(&w);
    }
  CHECK(fake.opens == 24);
  run_close(r);
}

/* ---- threads ---- */
static struct run *shared;
static int thread_failures[4];

static void *call_many(void *number) {
  int id = *(int *)number;
  for (int i = 0; i < 60; i++) {
    struct nest_work w;
    struct run_report report;
    nest_gemm(&w, i % 2 ? DTYPE_I8 : DTYPE_BF16, i % 3 == 0, 3 + i % 7,
              9 + (i + id) % 23, 5);
    nest_make(&w, true, 1);
    if (!nest_call(&w, shared, NULL, &report) || !nest_right(&w))
      thread_failures[id]++;
    nest_free(&w);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t thread[4];
  int id[4];
  fake = (struct fake){.m = 4, .n = 4, .k = 4, .split = 2};
  shared = nest_open("fake");
  for (int i = 0; i < 4; i++) {
    id[i] = i;
    CHECK(pthread_create(&thread[i], NULL, call_many, &id[i]) == 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(thread[i], NULL);
    CHECK(thread_failures[i] == 0);
  }
  run_close(shared);
}

/* ---- trace and words ---- */
static char *stderr_of(struct nest_work *w, const char *device) {
  static char text[2000];
  FILE *file = tmpfile();
  int saved = dup(2);
  struct run *r = nest_open(device);
  struct run_report report;
  fflush(stderr);
  dup2(fileno(file), 2);
  nest_call(w, r, NULL, &report);
  nest_call(w, r, NULL, &report);
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  run_close(r);
  return text;
}

/* One line when the runtime closes, of reasons that differ in numbers only. */
static void test_summary(void) {
  struct nest_work w;
  struct run_report report;
  nest_gemm(&w, DTYPE_BF16, false, 8, 16, 4);
  nest_make(&w, true, 1);
  fake = (struct fake){.m = 4};
  setenv("NPUTEIR_TRACE", "summary", 1);
  struct run *r = nest_open("fake");
  CHECK(run_has_summary(r));
  CHECK(nest_call(&w, r, NULL, &report) && nest_call(&w, r, NULL, &report));
  w.value_count--;
  CHECK(!nest_call(&w, r, NULL, &report));
  w.value_count--;
  CHECK(!nest_call(&w, r, NULL, &report));
  CHECK(!nest_call(&w, r, "off", &report));
  FILE *file = tmpfile();
  char text[1000];
  int saved = dup(2);
  dup2(fileno(file), 2);
  run_print_summary(r);
  pid_t child = fork(); /* which has made no calls */
  if (child == 0) {
    run_print_summary(r);
    _exit(0);
  }
  CHECK(waitpid(child, NULL, 0) == child);
  dup2(saved, 2);
  close(saved);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  unsetenv("NPUTEIR_TRACE");
  run_close(r);
  nest_free(&w);
  char *seconds = strstr(text, "seconds=");
  CHECK(seconds && strncmp(text,
                           "nputeir: summary calls=5 done=2 declined=3 "
                           "launches=4 configured=1 changed=0 cycles=4000 "
                           "seconds=0.",
                           96) == 0);
  CHECK(strstr(text, " reasons=\"2 x N values for N symbols | "
                     "1 x switched off by the options\"\n"));
  CHECK(strstr(text,
               "calls=0 done=0 declined=0 launches=0 configured=0 changed=0 "
               "cycles=0 seconds=0.000 reasons=\"\"\n"));
}

/* What a terminal shows of two calls without a device. */
static const char *terminal_of(struct nest_work *w) {
  static char text[1000];
  int master, slave, saved = dup(2);
  struct run_report report;
  if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
    return NULL;
  dup2(slave, 2);
  struct run *r = nest_open(NULL);
  nest_call(w, r, NULL, &report);
  nest_call(w, r, NULL, &report);
  run_close(r);
  dup2(saved, 2);
  close(saved);
  fcntl(master, F_SETFL, O_NONBLOCK);
  ssize_t n = read(master, text, sizeof text - 1);
  text[n > 0 ? n : 0] = 0;
  close(slave);
  close(master);
  return text;
}

/* Only a terminal is told, once, and NPUTEIR_TRACE=0 tells it nothing. */
static void test_hint(void) {
  struct nest_work w;
  struct diag absent = {0};
  if (run_device_find("auto", &absent))
    return; /* there is an NPU */
  nest_gemm(&w, DTYPE_BF16, false, 8, 16, 4);
  nest_make(&w, true, 1);
  const char *said = terminal_of(&w);
  if (said) {
    const char *first = strstr(said, "NPUTEIR_DEVICE=sim simulates an NPU");
    CHECK(strstr(said, absent.text) && first);
    CHECK(first && !strstr(first + 1, "NPUTEIR_DEVICE=sim"));
    setenv("NPUTEIR_TRACE", "0", 1);
    CHECK(strcmp(terminal_of(&w), "") == 0);
    unsetenv("NPUTEIR_TRACE");
  } else
    fprintf(stderr, "no pseudo terminal: the hint is not tested\n");
  nest_free(&w);
}

static void test_trace(void) {
  struct nest_work w;
  nest_gemm(&w, DTYPE_BF16, false, 8, 16, 4);
  nest_make(&w, true, 1);
  fake = (struct fake){.m = 4};
  setenv("NPUTEIR_TRACE", "1", 1);
  CHECK(strcmp(
            stderr_of(&w, "fake"),
            "nputeir: einsum=mk,kn->mn sizes=m:8,n:16,k:4 "
            "types=bf16,bf16,f32 device=fake status=done reason=- "
            "launches=2 compiled=1 configured=1 cycles=2000 core_util=0.900 "
            "host_bytes=704 "
            "packed=in0:stride,in1:stride,out:stride where=\"nest.c:1 f\"\n"
            "nputeir: einsum=mk,kn->mn sizes=m:8,n:16,k:4 "
            "types=bf16,bf16,f32 device=fake status=done reason=- "
            "launches=2 compiled=0 configured=0 cycles=2000 core_util=0.900 "
            "host_bytes=704 "
            "packed=in0:stride,in1:stride,out:stride where=\"nest.c:1 f\"\n") ==
        0);
  CHECK(
      strstr(stderr_of(&w, NULL), "device=- status=declined reason=\"no NPU"));
  struct nest_work tail;
  nest_gemm(&tail, DTYPE_BF16, false, 8, 16, 4);
  tail.tail = "max(sum,out)";
  tail.acc = DTYPE_F32;
  nest_make(&tail, true, 1);
  CHECK(strstr(stderr_of(&tail, "fake"),
               "types=bf16,bf16,f32 tail=max(sum,out) device=fake"));
  nest_free(&tail);
  struct nest_work floats;
  nest_gemm(&floats, DTYPE_F32, false, 8, 16, 4);
  nest_make(&floats, true, 1);
  setenv("NPUTEIR_OPTIONS", "f32=bf16x3", 1);
  CHECK(strstr(stderr_of(&floats, "fake"),
               "types=f32,f32,f32 f32=bf16x3 device=fake status=done"));
  unsetenv("NPUTEIR_OPTIONS");
  nest_free(&floats);
  unsetenv("NPUTEIR_TRACE");
  CHECK(strcmp(stderr_of(&w, "fake"), "") == 0);
  CHECK(strcmp(stderr_of(&w, NULL), "") == 0);
  /* wrong words are said once, trace or not */
  CHECK(strcmp(stderr_of(&w, "toaster"),
               "nputeir: there is no device 'toaster'; devices are auto, npu, "
               "xrt, sim, host; the loops run on the CPU\n") == 0);
  CHECK(strstr(stderr_of(&w, "npu:phoenix"), "there is no device"));
  CHECK(strstr(stderr_of(&w, "npux"), "there is no device"));
  CHECK(!strstr(stderr_of(&w, "npu4"), "there is no device"));
  struct diag absent = {0};
  if (!run_device_find("xrt", &absent)) {
    const char *said = stderr_of(&w, "xrt");
    CHECK(strstr(said, absent.text) && strstr(said, "run on the CPU\n"));
  }
  setenv("NPUTEIR_OPTIONS", "fp=loose", 1);
  CHECK(strcmp(stderr_of(&w, "fake"),
               "nputeir: NPUTEIR_OPTIONS: fp is one of strict, relaxed, not "
               "'loose'; the loops run on the CPU\n") == 0);
  unsetenv("NPUTEIR_OPTIONS");
  nest_free(&w);
}

/* Option sources: the call is stronger than NPUTEIR_OPTIONS, NPUTEIR_DEVICE
 * strongest. The environment counts as it is when the runtime opens. */
static const char *device_used(struct nest_work *w, const char *device,
                               const char *options) {
  struct run *r = nest_open(device);
  struct run_report report;
  nest_call(w, r, options, &report);
  run_close(r);
  return report.device ? report.device : "none";
}

static void test_option_sources(void) {
  struct nest_work w;
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_I8, false, 3, 3, 3);
  nest_make(&w, true, 1);
  CHECK(strcmp(device_used(&w, NULL, NULL), "none") == 0);
  CHECK(strcmp(device_used(&w, NULL, "fp=relaxed"), "none") == 0);
  CHECK(strcmp(device_used(&w, NULL, "device=host"), "host") == 0);
  CHECK(strcmp(device_used(&w, "fake", "device=host"), "fake") == 0);
  CHECK(strcmp(device_used(&w, "", "device=host"), "host") == 0);
  setenv("NPUTEIR_OPTIONS", "fp=relaxed, device=host ; min-macs=5", 1);
  CHECK(strcmp(device_used(&w, NULL, NULL), "host") == 0);
  CHECK(strcmp(device_used(&w, NULL, "device=cpu"), "none") == 0);
  CHECK(strcmp(device_used(&w, "fake", "device=cpu"), "fake") == 0);
  unsetenv("NPUTEIR_OPTIONS");
  nest_free(&w);
}

int main(void) {
  unsetenv("NPUTEIR_OPTIONS");
  unsetenv("NPUTEIR_TRACE");
  test_declined();
  test_strides();
  test_overlap();
  test_limits();
  test_extra_overlap();
  test_extra_of_map();
  test_tail_forms();
  test_cache();
  test_cache_bytes();
  test_contexts();
  test_failure();
  test_threads();
  test_trace();
  test_summary();
  test_hint();
  test_option_sources();
  return check_result();
}
