/* teir_test.c -- the road through the module: text, contraction, binding,
 * splitting, running; results against naive loops. */
#include "check.h"
#include "recognizer.h"
#include "teir.h"

#include <stdlib.h>
#include <string.h>

static char *print(struct arena *a, const struct teir *t) {
  struct text text = {0};
  teir_print(t, &text);
  char *s = arena_string(a, text_string(&text));
  text_free(&text);
  return s;
}

/* Prints exactly what parses back. */
static void check_round_trip(struct arena *a, const struct teir *t) {
  struct diag d = {0};
  char *first = print(a, t);
  struct teir *again = teir_parse(a, "again", first, &d);
  CHECK(again);
  if (again)
    CHECK(strcmp(first, print(a, again)) == 0);
  else
    diag_print(&d, stderr);
}

static struct value number(int64_t v) { return (struct value){v, -1}; }

/* out[m,n] of a matrix product m, k, n; rows padded by one element. */
static struct contraction matmul(struct contraction_axis axis[3], int m, int n,
                                 int k, enum dtype in, enum dtype out) {
  int i = dtype_bytes(in), o = dtype_bytes(out);
  axis[0] = (struct contraction_axis){
      .name = "i",
      .role = AXIS_M,
      .extent = number(m),
      .stride_bytes = {number((k + 1) * i), number(0), number((n + 1) * o)}};
  axis[1] = (struct contraction_axis){
      .name = "l",
      .role = AXIS_K,
      .extent = number(k),
      .stride_bytes = {number(i), number((n + 1) * i), number(0)}};
  axis[2] = (struct contraction_axis){
      .name = "j",
      .role = AXIS_N,
      .extent = number(n),
      .stride_bytes = {number(0), number(i), number(o)}};
  return (struct contraction){
      .axis_count = 3, .axis = axis, .type = {in, in, out}, .acc = out};
}

enum { M = 6, N = 8, K = 12 };

static void run_int8(bool accumulate) {
  struct contraction_axis axis[3];
  struct contraction c = matmul(axis, M, N, K, DTYPE_I8, DTYPE_I32);
  c.accumulate = accumulate;
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_from_contraction(a, &c, &d);
  CHECK(t);
  check_round_trip(a, t);
  int8_t in0[M * (K + 1)], in1[K * (N + 1)];
  int32_t out[M * (N + 1)], want[M * (N + 1)];
  for (int i = 0; i < M * (K + 1); i++)
    in0[i] = (int8_t)(i * 37 + 11);
  for (int i = 0; i < K * (N + 1); i++)
    in1[i] = (int8_t)(i * 91 - 5);
  for (int i = 0; i < M * (N + 1); i++)
    out[i] = want[i] = 1000 * i;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int32_t *w = &want[i * (N + 1) + j];
      if (!accumulate)
        *w = 0;
      for (int l = 0; l < K; l++)
        *w += in0[i * (K + 1) + l] * in1[l * (N + 1) + j];
    }
  void *tensor[] = {in0, in1, out};
  CHECK(teir_run(t, tensor, &d));
  CHECK(memcmp(out, want, sizeof out) == 0);
  arena_close(a);
}

static float noise(unsigned *seed) {
  *seed = *seed * 1103515245u + 12345u;
  return (float)(int)(*seed >> 16 & 255) / 16 - 8;
}

/* bf16 products are exact, sums are formed in f32; splitting keeps all. */
static void run_bf16_split(void) {
  struct contraction_axis axis[3];
  struct contraction c = matmul(axis, M, N, K, DTYPE_BF16, DTYPE_F32);
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_from_contraction(a, &c, &d);
  CHECK(t);
  uint16_t in0[M * (K + 1)], in1[K * (N + 1)];
  float out[M * (N + 1)] = {0}, want[M * (N + 1)] = {0};
  unsigned seed = 1;
  for (int i = 0; i < M * (K + 1); i++)
    in0[i] = bf16_from_f32(noise(&seed));
  for (int i = 0; i < K * (N + 1); i++)
    in1[i] = bf16_from_f32(noise(&seed));
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      for (int l = 0; l < K; l++)
        want[i * (N + 1) + j] += bf16_to_f32(in0[i * (K + 1) + l]) *
                                 bf16_to_f32(in1[l * (N + 1) + j]);
  void *tensor[] = {in0, in1, out};
  CHECK(teir_run(t, tensor, &d));
  CHECK(memcmp(out, want, sizeof out) == 0);

  struct teir *s = teir_split(a, t, teir_find_axis(t, "l"), 4, &d);
  CHECK(s && teir_find_axis(s, "l.o") == 3);
  CHECK(s && teir_find_axis(s, "l.i") == teir_find_axis(t, "l"));
  s = s ? teir_split(a, s, teir_find_axis(s, "i"), 2, &d) : NULL;
  CHECK(s);
  check_round_trip(a, s);
  memset(out, 0xff, sizeof out);
  CHECK(s && teir_run(s, tensor, &d));
  for (int i = 0; i < M; i++)
    CHECK(memcmp(out + i * (N + 1), want + i * (N + 1), N * sizeof *out) == 0);

  struct diag no = {0};
  CHECK(!teir_split(a, t, teir_find_axis(t, "l"), 5, &no));
  CHECK(strstr(no.text, "extent 12, which 5 does not divide"));
  arena_close(a);
}

/* Run-time sizes: named in the program, filled in by teir_bind. */
static void bind_symbols(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct contraction_axis axis[3];
  struct contraction c = matmul(axis, M, N, K, DTYPE_F32, DTYPE_F32);
  const char *symbol[] = {"rows", "lda"};
  c.symbol_count = 2;
  c.symbol = symbol;
  axis[0].extent = (struct value){0, 0};
  axis[0].stride_bytes[IN0] = (struct value){0, 1};
  struct teir *t = teir_from_contraction(a, &c, &d);
  CHECK(t);
  check_round_trip(a, t);
  void *none[3] = {NULL};
  struct diag unbound = {0};
  CHECK(!teir_run(t, none, &unbound));
  CHECK(strstr(unbound.text, "unbound symbol"));
  struct teir *b = teir_bind(a, t, (int64_t[]){5, 40}, 2, &d);
  CHECK(b && b->symbol_count == 0);
  CHECK(b && b->axis[0].extent.constant == 5);
  CHECK(b && b->axis[0].stride_bytes[0].constant == 40);
  struct diag bad = {0};
  CHECK(!teir_bind(a, t, (int64_t[]){0, 40}, 2, &bad));
  CHECK(strstr(bad.text, "extent 0; extents are positive"));
  arena_close(a);
}

/* A sum in bf16 is kept in f32 within one invocation: 256 + 1 + 1 would stay
 * 256 if every step were rounded. */
static void bf16_sum_kept_in_f32(void) {
  static const char *const text =
      "teir 1\ntensor in0 bf16\ntensor in1 bf16\ntensor out bf16\n"
      "axis k extent 3 stride in0=2 in1=2\n"
      "primitive p Contraction M=[] N=[] K=[k]\nroots x\n"
      "invoke x calls p\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "sum", text, &d);
  CHECK(t);
  uint16_t one = bf16_from_f32(1), big = bf16_from_f32(256);
  uint16_t in0[] = {big, one, one}, in1[] = {one, one, one}, out = 0;
  void *tensor[] = {in0, in1, &out};
  CHECK(t && teir_run(t, tensor, &d));
  CHECK(bf16_to_f32(out) == 258);
  arena_close(a);
}

static void footprint(void) {
  static const char *const text =
      "teir 1\ntensor in0 f32\ntensor out f32\n"
      "axis a extent 4 stride in0=32 out=64\n"
      "axis b extent 8 stride in0=4 out=8 offset out=-16\n"
      "primitive p Copy M=[b] N=[]\nroots a\n"
      "iterate a over a sequential do x\ninvoke x calls p\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "foot", text, &d);
  int64_t low, high;
  CHECK(t && teir_footprint(t, 0, &low, &high, &d));
  CHECK(low == 0 && high == 4 * 32);
  CHECK(t && teir_footprint(t, 1, &low, &high, &d));
  CHECK(low == -16 && high == -16 + 3 * 64 + 7 * 8 + 4);
  arena_close(a);
}

/* out[i] = the sum of in0[i + k - 1] * in1[k] where there is such an element of
 * in0; nothing else of it is read. */
static void limits(void) {
  static const char *const text =
      "teir 1\nsymbol n\ntensor in0 i8\ntensor in1 i8\ntensor out i32\n"
      "axis i extent n stride in0=1 out=4\n"
      "axis k extent 3 stride in0=1 in1=1 offset in0=-1\n"
      "primitive clear Zero M=[] N=[]\n"
      "primitive add Contraction M=[] N=[] K=[]\nroots i\n"
      "iterate i over i sequential do zero, k\ninvoke zero calls clear\n"
      "iterate k over k sequential do x\ninvoke x calls add\n"
      "limit nonnegative -1 along i=1 k=1\n"
      "limit negative -5 along i=1 k=1\n";
  struct arena *a = arena_open();
  struct diag d = {0}, no = {0};
  struct teir *t = teir_parse(a, "limits", text, &d);
  CHECK(t);
  check_round_trip(a, t);
  struct teir *b = teir_bind(a, t, (int64_t[]){4}, 1, &d);
  const int8_t in0[] = {99, 1, 2, 3, 4, 99}, in1[] = {1, 10, 100};
  int32_t out[4];
  void *tensor[] = {(void *)(in0 + 1), (void *)in1, out};
  CHECK(b && teir_run(b, tensor, &d));
  CHECK(out[0] == 210 && out[1] == 321 && out[2] == 432 && out[3] == 43);
  CHECK(b && !teir_split(a, b, 0, 2, &no));
  CHECK(strstr(no.text, "leaves out products beyond a limit"));
  struct diag wrong = {0};
  CHECK(!teir_parse(a, "limits", "teir 1\nlimit positive 0\n", &wrong));
  CHECK(strstr(wrong.text, "nonnegative"));
  arena_close(a);
}

int main(void) {
  run_int8(false);
  run_int8(true);
  run_bf16_split();
  bind_symbols();
  bf16_sum_kept_in_f32();
  footprint();
  limits();
  return check_result();
}
