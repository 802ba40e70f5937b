/* example_test.c -- the specification's worked examples (10.2, 10.4, 10.6 and
 * 10.7): schedule trees, addresses, lowering parameters and results. */
#include "check.h"
#include "teir.h"
#include "teir_dump.h"
#include "teir_lower.h"

#include <string.h>

static struct teir *load(struct arena *a, const char *name) {
  struct diag d = {0};
  char *path = arena_printf(a, "%s/%s.teir", TEST_DIR, name);
  char *text = file_read(a, path, NULL, &d);
  struct teir *t = text ? teir_parse(a, path, text, &d) : NULL;
  CHECK(t);
  if (!t)
    diag_print(&d, stderr);
  return t;
}

static char *take(struct arena *a, struct text *text) {
  char *s = arena_string(a, text_string(text));
  text_free(text);
  return s;
}

static void check_round_trip(struct arena *a, const struct teir *t) {
  struct text one = {0}, two = {0};
  struct diag d = {0};
  teir_print(t, &one);
  struct teir *again = teir_parse(a, "again", text_string(&one), &d);
  CHECK(again);
  if (again)
    teir_print(again, &two);
  CHECK(strcmp(take(a, &one), take(a, &two)) == 0);
}

/* Listings 10.2.2, 10.2.3 and 10.7.1 to 10.7.13; lowering as the text gives
 * it, with this file's extents filled in. */
static const struct {
  const char *name, *tree, *calls;
} example[] = {
    {"permutation_scalar",
     "a\n"
     "└── b\n"
     "    └── c\n"
     "        └── d\n"
     "            └── copy\n",
     "copy_scalar: Copy f32,f32 Scalar\n"},
    /* column-major A with |b||c||d|, row-major B with |c||b||a| */
    {"permutation_tiled",
     "b\n"
     "└── c\n"
     "    └── copy\n",
     "copy_da: Copy f32,f32 rows=2 columns=3 lda=40 ldb=60 in0 column-major, "
     "out row-major\n"},
    {"batched_gemm",
     "a\n"
     "└── b\n"
     "    └── c\n"
     "        └── d\n"
     "            ├── zero  [first(a)]\n"
     "            └── contraction\n",
     "zero_scalar: Zero f32 Scalar\n"
     "contraction_scalar: Scalar f32,f32,f32\n"},
    {"batched_gemm_reordered",
     "b\n"
     "└── c\n"
     "    └── d\n"
     "        ├── zero\n"
     "        └── a\n"
     "            └── contraction\n",
     "zero_scalar: Zero f32 Scalar\n"
     "contraction_scalar: Scalar f32,f32,f32\n"},
    {"contraction_scalar",
     "p\n"
     "└── q\n"
     "    └── r\n"
     "        └── s\n"
     "            ├── zero\n"
     "            └── t\n"
     "                └── u\n"
     "                    └── contraction\n",
     "zero_scalar: Zero f32 Scalar\n"
     "contraction_scalar: Scalar f32,f32,f32\n"},
    /* lda = |s|, ldb = |t||u|, ldc = |r||s|, column-major all */
    {"contraction_gemm",
     "p\n"
     "└── r\n"
     "    ├── zero\n"
     "    └── t\n"
     "        └── gemm\n",
     "zero_sq: Zero f32 rows=6 columns=5 ldb=18 out column-major\n"
     "gemm_squ: GEMM f32,f32,f32 M=6 N=5 K=7 lda=6 ldb=14 ldc=18 in0 "
     "column-major, in1 column-major, out column-major\n"},
    /* brSize = |t|, brStrA = |r||u||s|, brStrB = |u| */
    {"contraction_brgemm",
     "p  (parallel)\n"
     "└── r  (parallel)\n"
     "    ├── zero\n"
     "    └── brgemm\n",
     "zero_sq: Zero f32 rows=6 columns=5 ldb=18 out column-major\n"
     "brgemm_sqtu: BRGEMM f32,f32,f32 M=6 N=5 K=7 lda=6 ldb=14 ldc=18 "
     "brSize=2 brStrA=126 brStrB=7 in0 column-major, in1 column-major, out "
     "column-major\n"},
    {"lowering_gemm", "gemm\n",
     "gemm_mnk: GEMM f32,f32,f32 M=8 N=4 K=16 lda=8 ldb=16 ldc=8 in0 "
     "column-major, in1 column-major, out column-major\n"},
    {"guarded_reduction",
     "k\n"
     "├── zero  [first(k)]\n"
     "├── contraction\n"
     "└── relu  [last(k)]\n",
     NULL},
    {"branches",
     "r\n"
     "├── s\n"
     "│   └── op_s\n"
     "└── t\n"
     "    └── op_t\n",
     NULL},
};

static char *calls_of(struct arena *a, const struct teir *t) {
  struct text text = {0};
  for (int i = 0; i < t->primitive_count; i++) {
    struct teir_call call;
    struct diag d = {0};
    if (teir_lower(t, i, &call, &d))
      teir_call_print(t, i, &call, &text);
    else
      text_printf(&text, "%s\n", d.text);
  }
  return take(a, &text);
}

static void check_example(const char *name, const char *tree,
                          const char *calls) {
  struct arena *a = arena_open();
  struct teir *t = load(a, name);
  if (t) {
    struct text text = {0};
    teir_print_tree(t, &text);
    char *seen = take(a, &text);
    CHECK(strcmp(seen, tree) == 0);
    char *lowered = calls_of(a, t);
    CHECK(!calls || strcmp(lowered, calls) == 0);
    if (calls && strcmp(lowered, calls) != 0)
      fprintf(stderr, "%s: want %sgot  %s", name, calls, lowered);
    check_round_trip(a, t);
  }
  arena_close(a);
}

/* ---- section 10.4: the byte at which a call lands ---- */
static void check_address(const char *name, int in0, int out) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, name);
  if (t) { /* one iteration is left of each loop: a = 1, b = 2 */
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++)
        t->axis[i].offset_bytes[j].constant +=
            t->axis[i].stride_bytes[j].constant * (i + 1);
    t->axis[0].extent.constant = t->axis[1].extent.constant = 1;
    float from[64], to[128] = {0};
    for (int i = 0; i < 64; i++)
      from[i] = (float)(i + 1);
    void *tensor[] = {from, to};
    CHECK(teir_run(t, tensor, &d));
    CHECK(to[out / 4] == from[in0 / 4]);
    int touched = 0;
    for (int i = 0; i < 128; i++)
      touched += to[i] != 0;
    CHECK(touched == 1);
  }
  arena_close(a);
}

/* ---- section 10.7: results against plain loops ---- */
static void fill(float *x, int count, int salt) {
  for (int i = 0; i < count; i++)
    x[i] = (float)((i * 7 + salt) % 23 - 11);
}

static void check_permutation(const char *name) {
  enum { A = 3, B = 4, C = 5, D = 2 };
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, name);
  float in0[A][B][C][D], out[D][C][B][A];
  fill(&in0[0][0][0][0], A * B * C * D, 1);
  memset(out, 0xff, sizeof out);
  void *tensor[] = {in0, out};
  CHECK(t && teir_run(t, tensor, &d));
  int wrong = 0;
  for (int i = 0; i < A; i++)
    for (int j = 0; j < B; j++)
      for (int k = 0; k < C; k++)
        for (int l = 0; l < D; l++)
          wrong += out[l][k][j][i] != in0[i][j][k][l];
  CHECK(wrong == 0);
  arena_close(a);
}

static void check_batched(const char *name) {
  enum { A = 3, B = 4, C = 5, D = 2 };
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, name);
  float in0[D][B][A], in1[D][A][C], out[D][B][C], want[D][B][C];
  fill(&in0[0][0][0], D * B * A, 2);
  fill(&in1[0][0][0], D * A * C, 3);
  memset(out, 0xff, sizeof out);
  for (int l = 0; l < D; l++)
    for (int j = 0; j < B; j++)
      for (int k = 0; k < C; k++) {
        want[l][j][k] = 0;
        for (int i = 0; i < A; i++)
          want[l][j][k] += in0[l][j][i] * in1[l][i][k];
      }
  void *tensor[] = {in0, in1, out};
  CHECK(t && teir_run(t, tensor, &d));
  CHECK(memcmp(out, want, sizeof out) == 0);
  arena_close(a);
}

static void check_contraction(const char *name) {
  enum { P = 4, Q = 5, R = 3, S = 6, T = 2, U = 7 };
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, name);
  static float in0[T][R][U][S], in1[P][Q][T][U], out[P][Q][R][S];
  fill(&in0[0][0][0][0], T * R * U * S, 4);
  fill(&in1[0][0][0][0], P * Q * T * U, 5);
  memset(out, 0xff, sizeof out);
  void *tensor[] = {in0, in1, out};
  CHECK(t && teir_run(t, tensor, &d));
  int wrong = 0;
  for (int p = 0; p < P; p++)
    for (int q = 0; q < Q; q++)
      for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++) {
          float want = 0;
          for (int i = 0; i < T; i++)
            for (int u = 0; u < U; u++)
              want += in0[i][r][u][s] * in1[p][q][i][u];
          wrong += want != out[p][q][r][s];
        }
  CHECK(wrong == 0);
  arena_close(a);
}

static void check_guarded_reduction(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, "guarded_reduction");
  float in0[3][4] = {{1, 2, 3, 4}, {-9, 1, 1, 1}, {0, 0, 0, 1}};
  float in1[4] = {1, 1, 1, 2}, out[3] = {7, 7, 7};
  void *tensor[] = {in0, in1, out};
  CHECK(t && teir_run(t, tensor, &d));
  CHECK(out[0] == 14 && out[1] == 0 && out[2] == 2);
  arena_close(a);
}

/* The two siblings write disjoint parts of each row: 3 + 5 elements. */
static void check_branches(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, "branches");
  float in0[2][8], out[2][8] = {{0}};
  fill(&in0[0][0], 16, 6);
  void *tensor[] = {in0, out};
  CHECK(t && teir_run(t, tensor, &d));
  CHECK(memcmp(in0, out, sizeof out) == 0);
  arena_close(a);
}

/* The program that newcomers see first: symbols filled in, a product. */
static void check_matmul(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = load(a, "../matmul");
  static const char *const symbol[] = {"rows", "columns", "depth",
                                       "lda",  "ldb",     "ldc"};
  for (int i = 0; t && i < 6; i++)
    CHECK(teir_find_symbol(t, symbol[i]) == i);
  struct teir *b =
      t ? teir_bind(a, t, (int64_t[]){2, 2, 3, 8, 4, 8}, 6, &d) : NULL;
  uint16_t in0[2][4], in1[3][2];
  float out[2][2] = {{9, 9}, {9, 9}};
  static const float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
  static const float y[3][2] = {{1, -1}, {2, 0}, {0.5f, 8}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) {
      in0[j][i] = bf16_from_f32(x[j][i]);
      in1[i][j] = bf16_from_f32(y[i][j]);
    }
  void *tensor[] = {in0, in1, out};
  CHECK(b && teir_run(b, tensor, &d));
  CHECK(out[0][0] == 6.5f && out[0][1] == 23);
  CHECK(out[1][0] == 17 && out[1][1] == 44);
  arena_close(a);
}

/* The manual page's example is a program that lowers to a GEMM. */
static void check_manual(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  char *page = file_read(
      a, arena_printf(a, "%s/../../../teir/teir.5", TEST_DIR), NULL, &d);
  char *text = page ? strstr(page, "\nteir 1\n") : NULL;
  char *end = text ? strstr(text, "\n.Ed") : NULL;
  CHECK(end);
  if (end) {
    *end = 0;
    struct teir *t = teir_parse(a, "teir.5", text, &d);
    struct teir_call call;
    CHECK(t && teir_lower(t, teir_find_primitive(t, "product"), &call, &d));
    CHECK(t && call.kernel == TEIR_KERNEL_GEMM && call.ld[1] == 64);
  }
  arena_close(a);
}

int main(void) {
  check_manual();
  check_matmul();
  for (size_t i = 0; i < sizeof example / sizeof *example; i++)
    check_example(example[i].name, example[i].tree, example[i].calls);
  check_address("address", 40, 80);
  check_address("address_offset", 40, 96);
  check_permutation("permutation_scalar");
  check_permutation("permutation_tiled");
  check_batched("batched_gemm");
  check_batched("batched_gemm_reordered");
  check_contraction("contraction_scalar");
  check_contraction("contraction_gemm");
  check_contraction("contraction_brgemm");
  check_guarded_reduction();
  check_branches();
  return check_result();
}
