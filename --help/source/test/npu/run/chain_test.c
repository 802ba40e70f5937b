/* chain_test.c -- products of three factors at run time: the intermediate and
 * its memory, what is declined, and that a failure on the way leaves out as it
 * was. */
#include "check.h"
#include "fake.h"
#include "nest.h"
#include "teir.h"

#include <stdlib.h>
#include <string.h>

/* Strides that are symbols count bytes. */
static const char mttkrp[] =
    "tensor X i8\ntensor B i8\ntensor D i8\nloop i m\nloop j o\nloop k p\n"
    "loop r n\nC[i*c_i + r] += X[i*x_i + j*x_j + k] * B[j*b_j + r] * "
    "D[k*d_k + r] : i32";
static const char ttmc[] =
    "loop i m\nloop r n\nloop q 3\ns = 0 : f32\nloop j o\nloop k p\n"
    "s += X[i*x_i + j*x_j + k] * B[j*b_j + r] * D[k*3 + q] : f32\n"
    "end\nend\nC[i*c_i + r*3 + q] = max(s, 0) : f32";

enum { M, N, O, P, SIZES, MAX = 16 };
enum { X, B, D, FACTORS };
static const char *const size_name[SIZES] = {"m", "n", "o", "p"};

struct work {
  int64_t size[SIZES];
  bool floats; /* f32, and r has a q beside it; else i8 and i32 */
  char *teir;
  int64_t value[MAX];
  uint64_t values, tensors;
  char name[MAX]; /* of the call's tensors: X, B, D or C; 0: the runtime's */
  void *in[FACTORS];
  void *out, *expected, *before;
  size_t bytes; /* of out */
};

static int64_t symbol(const struct work *w, const char *name) {
  int64_t width = w->floats ? 4 : 1, n = w->size[N], p = w->size[P];
  for (int i = 0; i < SIZES; i++)
    if (strcmp(name, size_name[i]) == 0)
      return w->size[i];
  return strcmp(name, "x_i") == 0   ? width * w->size[O] * p
         : strcmp(name, "x_j") == 0 ? width * p
         : strcmp(name, "c_i") == 0 ? 4 * n * (w->floats ? 3 : 1)
                                    : width * n; /* b_j, d_k */
}

static void name_tensors(struct work *w, const struct nest *n,
                         const struct contraction *c) {
  for (int t = 0; t < TENSORS; t++)
    if (c->tensor[t] >= 0)
      w->name[t] = n->tensor[c->tensor[t]][0];
  w->tensors = TENSORS + (w->floats ? 1 : 0); /* the sum */
  for (int t = 0; t < 2; t++)
    w->name[w->tensors++] = n->tensor[c->first->tensor[t]][0];
}

static void make_teir(struct work *w) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct options o = options_default();
  struct text text = {0};
  o.f32 = F32_BF16X3;
  struct nest *n = nest_parse(a, "test", w->floats ? ttmc : mttkrp, &d);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  CHECK(c && c->first);
  struct teir *t = c ? teir_from_contraction(a, c, &d) : NULL;
  CHECK(t);
  if (t)
    teir_print(t, &text);
  w->teir = strdup(text_string(&text));
  name_tensors(w, n, c);
  w->values = (uint64_t)c->symbol_count;
  for (int i = 0; i < n->symbol_count; i++)
    w->value[i] = symbol(w, c->symbol[i]);
  for (int i = 0; i < c->product_count; i++) {
    const struct value *f = c->product[i].factor;
    w->value[n->symbol_count + i] =
        (f[0].symbol < 0 ? f[0].constant : w->value[f[0].symbol]) *
        (f[1].symbol < 0 ? f[1].constant : w->value[f[1].symbol]);
  }
  text_free(&text);
  arena_close(a);
}

static int64_t number(const struct work *w, int t, int64_t i) {
  return w->floats ? (int64_t)((float *)w->in[t])[i] : ((int8_t *)w->in[t])[i];
}

static int64_t sum(const struct work *w, int64_t i, int64_t r, int64_t q) {
  const int64_t *s = w->size;
  int64_t all = 0, columns = w->floats ? 3 : s[N];
  for (int64_t j = 0; j < s[O]; j++)
    for (int64_t k = 0; k < s[P]; k++)
      all += number(w, X, (i * s[O] + j) * s[P] + k) *
             number(w, B, j * s[N] + r) *
             number(w, D, k * columns + (w->floats ? q : r));
  return all;
}

static void run_naively(struct work *w) {
  for (int64_t i = 0; i < w->size[M]; i++)
    for (int64_t r = 0; r < w->size[N]; r++)
      for (int64_t q = 0; q < (w->floats ? 3 : 1); q++) {
        int64_t s = sum(w, i, r, q), at = i * w->size[N] + r;
        if (w->floats)
          ((float *)w->expected)[at * 3 + q] = s > 0 ? (float)s : 0;
        else
          ((int32_t *)w->expected)[at] += (int32_t)s;
      }
}

static struct work make(bool floats, int64_t m, int64_t n, int64_t o,
                        int64_t p) {
  struct work w = {.size = {m, n, o, p}, .floats = floats};
  int64_t count[FACTORS] = {m * o * p, o * n, p * (floats ? 3 : n)};
  for (int t = 0; t < FACTORS; t++) {
    w.in[t] = calloc((size_t)(count[t] > 0 ? count[t] : 1), 4);
    for (int64_t i = 0; i < count[t]; i++)
      if (floats)
        ((float *)w.in[t])[i] = (float)((i * 7 + t) % 5 - 2);
      else /* all of the range */
        ((int8_t *)w.in[t])[i] = (int8_t)(i % 3 ? i * 37 + t : -128);
  }
  w.bytes = 4 * (size_t)(m * n > 0 ? m * n : 1) * (floats ? 3 : 1);
  w.out = calloc(1, w.bytes);
  w.expected = calloc(1, w.bytes);
  w.before = calloc(1, w.bytes);
  for (size_t i = 0; i < w.bytes / 4; i++)
    ((int32_t *)w.out)[i] = (int32_t)i;
  memcpy(w.before, w.out, w.bytes);
  memcpy(w.expected, w.out, w.bytes);
  make_teir(&w);
  run_naively(&w);
  return w;
}

static void drop(struct work *w) {
  for (int t = 0; t < FACTORS; t++)
    free(w->in[t]);
  free(w->out);
  free(w->expected);
  free(w->before);
  free(w->teir);
}

static void *address(struct work *w, char name) {
  return name == 'X'   ? w->in[X]
         : name == 'B' ? w->in[B]
         : name == 'D' ? w->in[D]
         : name == 'C' ? w->out
                       : NULL;
}

static bool call(struct work *w, struct run *r, struct run_report *report) {
  void *tensor[MAX];
  for (uint64_t i = 0; i < w->tensors; i++)
    tensor[i] = address(w, w->name[i]);
  struct run_request q = {.teir = w->teir,
                          .options = "f32=bf16x3",
                          .where = "chain_test.c:1 f",
                          .value = w->value,
                          .value_count = w->values,
                          .tensor = tensor,
                          .tensor_count = w->tensors};
  return run_call(r, &q, report);
}

static void test_right(void) {
  static const int64_t size[][SIZES] = {
      {6, 8, 9, 13}, {7, 1, 3, 14}, {20, 3, 15, 2}, {33, 17, 4, 6}};
  static const char *const device[] = {"fake", "host"};
  for (int i = 0; i < 16; i++) {
    const int64_t *s = size[i / 4];
    struct work w = make(i % 2, s[M], s[N], s[O], s[P]);
    struct run *r = nest_open(device[i / 2 % 2]);
    struct run_report report;
    fake = (struct fake){.m = 4, .n = 5, .k = 3};
    CHECK(call(&w, r, &report) && memcmp(w.out, w.expected, w.bytes) == 0);
    /* an element-wise product is no work for a device */
    CHECK(fake.compiles == (i / 2 % 2 ? 0 : i % 2 ? 2 : 1));
    run_close(r);
    drop(&w);
  }
}

static void declined(struct work *w, struct run *r, const char *says) {
  struct run_report report;
  CHECK(!call(w, r, &report));
  CHECK(memcmp(w->out, w->before, w->bytes) == 0);
  if (!strstr(report.reason.text, says))
    fprintf(stderr, "expected '%s' in '%s'\n", says, report.reason.text);
  CHECK(strstr(report.reason.text, says));
}

static void test_declined(void) {
  struct run *r = nest_open("fake");
  fake = (struct fake){0};
  struct work w = make(false, 5, 8, 9, 13); /* 5 rows do not pay */
  declined(&w, r, "936 elements between them; the loop multiplies 9360 times");
  drop(&w);
  w = make(false, 40, 8, 9, 13);
  void *b = w.in[B];
  w.in[B] = (char *)w.out + 4;
  declined(&w, r, "out overlaps in");
  w.in[B] = b;
  void *x = w.in[X];
  w.in[X] = w.out;
  declined(&w, r, "out overlaps in1");
  w.in[X] = x;
  for (uint64_t i = w.values - 2; i < w.values; i++) { /* wrapped strides */
    int64_t stride = w.value[i];
    w.value[i] = 2;
    declined(&w, r, "two iterations write one place");
    w.value[i] = INT64_MAX / 2;
    declined(&w, r, "64 bits");
    w.value[i] = stride;
  }
  drop(&w);
  run_close(r);
}

/* Each of the launches breaks: out is as before, the next call works. */
static void test_failure(void) {
  for (int broken = 1; broken <= 12; broken++) {
    struct run *r = nest_open("fake");
    struct work w = make(true, 9, 4, 5, 6);
    struct run_report report;
    fake = (struct fake){.m = 20, .n = 5, .k = 3, .fail_launch = broken};
    declined(&w, r, "broke");
    CHECK(call(&w, r, &report) && memcmp(w.out, w.expected, w.bytes) == 0);
    run_close(r);
    drop(&w);
  }
}

/* Loops without work: nothing to do, or a sum of nothing. */
static void test_empty(void) {
  struct run *r = nest_open("fake");
  struct run_report report;
  for (int i = 0; i < SIZES; i++)
    for (int floats = 0; floats < 2; floats++) {
      int64_t size[SIZES] = {40, 8, 9, 13};
      size[i] = 0;
      struct work w = make(floats, size[M], size[N], size[O], size[P]);
      if (call(&w, r, &report))
        CHECK(memcmp(w.out, w.expected, w.bytes) == 0);
      else
        CHECK(memcmp(w.out, w.before, w.bytes) == 0);
      drop(&w);
    }
  run_close(r);
}

/* in2 and in3 stand for an intermediate only. */
static void test_form(void) {
  struct run *r = nest_open("fake");
  struct work w = make(false, 40, 8, 9, 13);
  char *good = w.teir, *at;
  w.teir = strdup(good);
  CHECK((at = strstr(w.teir, "from in2, in3 to in0")));
  memcpy(at, "from in2, in3 to out", 20);
  declined(&w, r, "do not make an input");
  free(w.teir);
  w.teir = good;
  drop(&w);
  run_close(r);
}

int main(void) {
  test_right();
  test_declined();
  test_failure();
  test_empty();
  test_form();
  return check_result();
}
