/* tec_test.c -- the flat form: reading, inferred types (the thesis's Table 2),
 * conversion to TEIR and back, and the restrictions of section 5.2, each
 * broken once. */
#include "check.h"
#include "teir.h"
#include "teir_dump.h"
#include "teir_program.h"
#include "teir_tec.h"

#include <string.h>

/* adcf,cfbe->adbe with the thesis's kernel of 64 x 64 x 64 (its section 6). */
static const char good[] = "tec 1\n"
                           "exec_types  = (npu, npu, npu, prim, prim, prim)\n"
                           "dim_sizes   = (8, 8, 4, 64, 64, 64)\n"
                           "strides_in0 = (16384, 0, 64, 256, 0, 1)\n"
                           "strides_in1 = (0, 64, 32768, 0, 1, 512)\n"
                           "strides_out = (32768, 64, 0, 512, 1, 0)\n"
                           "data_type   = bfloat_16\n"
                           "prim_first  = Zero\n"
                           "prim_main   = GEMM\n"
                           "prim_last   = None\n";

static bool parse(struct arena *a, const char *text, struct tec *t) {
  struct diag d = {0};
  bool fine = tec_parse(a, "test", text, t, &d);
  CHECK(fine);
  if (!fine)
    diag_print(&d, stderr);
  return fine;
}

static void check_good(void) {
  struct arena *a = arena_open();
  struct tec t, again, back;
  struct diag d = {0};
  struct text text = {0}, tree = {0}, other = {0};
  if (parse(a, good, &t)) {
    static const enum tec_dim type[] = {TEC_M, TEC_N, TEC_K,
                                        TEC_M, TEC_N, TEC_K};
    CHECK(t.dims == 6 && memcmp(t.type, type, sizeof type) == 0);
    tec_print(&t, &text);
    CHECK(parse(a, text_string(&text), &again));
    CHECK(again.dims == 6 &&
          memcmp(&again.stride, &t.stride, sizeof t.stride) == 0);
    CHECK(tec_restrictions(&t, &other) == 0);
    struct teir *p = teir_from_tec(a, &t, &d);
    CHECK(p);
    if (p)
      teir_print_tree(p, &tree);
    CHECK(strcmp(text_string(&tree), "m0  (parallel, rows)\n"
                                     "└── n0  (parallel, columns)\n"
                                     "    ├── zero\n"
                                     "    └── k0  (time)\n"
                                     "        └── main\n") == 0);
    CHECK(p && teir_to_tec(p, &back, &d));
    text_free(&other);
    tec_print(&back, &other);
    CHECK(strcmp(text_string(&text), text_string(&other)) == 0);
  }
  text_free(&text);
  text_free(&tree);
  text_free(&other);
  arena_close(a);
}

/* The word `from` becomes `to`; the one restriction that breaks is `line`. */
static const struct {
  const char *from, *to, *line;
} broken[] = {
    {"bfloat_16", "FP32", "data_type: only bfloat_16"},
    {"prim_first  = Zero", "prim_first  = None", "prim_first: only Zero"},
    {"= GEMM", "= BRGEMM", "prim_main: only GEMM"},
    {"prim_last   = None", "prim_last   = ReLU", "prim_last: only None"},
    {"(npu, npu, npu,", "(shared, npu, npu,", "exec_types: seq, npu and prim"},
    {"npu, prim, prim, prim", "prim, prim, prim, prim",
     "the last three dimensions"},
    {"(8, 8, 4, 64, 64, 64)", "(8, 8, 4, 62, 64, 64)", "multiples of 4"},
    {"(8, 8, 4, 64, 64, 64)", "(8, 8, 4, 64, 64, 68)", "a multiple of 8"},
    {"(8, 8, 4, 64, 64, 64)", "(8, 8, 4, 96, 64, 64)", "less than 31.5 KB"},
    {"(npu, npu, npu,", "(npu, npu, seq,", "K dimensions stand directly"},
    {"(16384, 0, 64, 256, 0, 1)", "(16384, 0, 64, 256, 0, 2)",
     "in0 has a prim dimension of unit stride"},
    {"(16384, 0, 64, 256, 0, 1)", "(16384, 0, 64, 257, 0, 1)",
     "strides of in0 other than 1 are even"},
    {"(0, 64, 32768, 0, 1, 512)", "(0, 64, 2097154, 0, 1, 512)",
     "prim dimensions and of the npu K are at most 2^21"},
    {"(0, 64, 32768, 0, 1, 512)", "(0, 524290, 32768, 0, 1, 512)",
     "not K are at most 2^19"},
    {"(32768, 64, 0, 512, 1, 0)", "(2097154, 64, 0, 512, 1, 0)",
     "the last npu M on out is at most 2^21"},
};

static char *replaced(struct arena *a, const char *text, const char *from,
                      const char *to) {
  const char *at = strstr(text, from);
  CHECK(at);
  return at ? arena_printf(a, "%.*s%s%s", (int)(at - text), text, to,
                           at + strlen(from))
            : arena_string(a, text);
}

static void check_broken(void) {
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    struct arena *a = arena_open();
    struct tec t;
    struct text text = {0};
    if (parse(a, replaced(a, good, broken[i].from, broken[i].to), &t)) {
      bool found = tec_restrictions(&t, &text) > 0 &&
                   strstr(text_string(&text), broken[i].line);
      CHECK(found);
      if (!found)
        fprintf(stderr, "row %zu: %s", i, text_string(&text));
    }
    text_free(&text);
    arena_close(a);
  }
}

static const struct {
  const char *from, *to, *message;
} wrong[] = {
    {"tec 1", "tec 2", "the first line is not 'tec 1'"},
    {"(8, 8, 4, 64, 64, 64)", "(8, 8, 4, 64, 64)", "5 entries"},
    {"(8, 8, 4,", "(8, 0, 4,", "dimension 1 has size 0"},
    {"(0, 64, 32768", "(0, -64, 32768", "a negative stride"},
    {"exec_types  = (npu", "exec_types  = (fast", "'fast' is not known here"},
    {"prim_last   = None\n", "", "there is no line prim_last"},
    {"prim_last   = None", "prim_last   = Zero",
     "prim_last is None or ReLU, not Zero"},
    {"= GEMM", "= None", "prim_main is Copy, GEMM or BRGEMM, not None"},
    {"= GEMM", "= ReLU", "prim_main is Copy, GEMM or BRGEMM, not ReLU"},
    {"prim_first  = Zero", "prim_first  = GEMM",
     "prim_first is None, Zero or ReLU, not GEMM"},
    {"(16384, 0, 64, 256, 0, 1)", "(0, 0, 64, 256, 0, 1)",
     "moves less than two tensors"},
};

static void check_wrong(void) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena *a = arena_open();
    struct tec t;
    struct diag d = {0};
    char *text = replaced(a, good, wrong[i].from, wrong[i].to);
    bool fine = tec_parse(a, "wrong", text, &t, &d);
    CHECK(!fine && strstr(d.text, wrong[i].message));
    if (fine || !strstr(d.text, wrong[i].message))
      fprintf(stderr, "row %zu got '%s'\n", i, d.text);
    arena_close(a);
  }
}

/* prim_main names the kernel that the prim dimensions make. */
static void check_kernel_name(void) {
  static const struct {
    const char *from, *to, *message;
  } row[] = {{"= GEMM", "= BRGEMM", "BRGEMM with 1 prim dimension of type K"},
             {"npu, prim, prim, prim", "prim, prim, prim, prim",
              "GEMM with 2 prim dimensions of type K"}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct tec t;
    struct diag d = {0};
    if (parse(a, replaced(a, good, row[i].from, row[i].to), &t)) {
      CHECK(!teir_from_tec(a, &t, &d));
      CHECK(strstr(d.text, row[i].message) && d.at.file);
    }
    arena_close(a);
  }
}

/* A K loop outside: Zero and ReLU are guarded by it; results as a plain sum. */
static void check_result_of_outer_k(void) {
  static const char text[] = "tec 1\n"
                             "exec_types  = (seq, seq, prim, prim, prim)\n"
                             "dim_sizes   = (3, 2, 2, 2, 2)\n"
                             "strides_in0 = (2, 12, 6, 0, 1)\n"
                             "strides_in1 = (4, 0, 0, 1, 2)\n"
                             "strides_out = (0, 4, 2, 1, 0)\n"
                             "data_type   = FP32\n"
                             "prim_first  = Zero\n"
                             "prim_main   = GEMM\n"
                             "prim_last   = ReLU\n";
  struct arena *a = arena_open();
  struct tec t;
  struct diag d = {0};
  if (parse(a, text, &t)) {
    struct teir *p = teir_from_tec(a, &t, &d);
    float in0[4][6], in1[6][2], out[4][2];
    for (int i = 0; i < 24; i++)
      in0[i / 6][i % 6] = (float)(i * 5 % 7 - 3);
    for (int i = 0; i < 12; i++)
      in1[i / 2][i % 2] = (float)(i * 3 % 5 - 2);
    memset(out, 0xff, sizeof out);
    void *tensor[] = {in0, in1, out};
    CHECK(p && teir_run(p, tensor, &d));
    for (int m = 0; m < 4; m++)
      for (int n = 0; n < 2; n++) {
        float want = 0;
        for (int k = 0; k < 6; k++)
          want += in0[m][k] * in1[k][n];
        CHECK(out[m][n] == (want > 0 ? want : 0));
      }
    struct tec back;
    CHECK(p && teir_to_tec(p, &back, &d) && back.last == TEC_RELU);
  }
  arena_close(a);
}

/* What is none of a program's forms is told so, and not taken for one. */
static void check_forms(void) {
  static const char *const none[] = {"", "hello\n", "# teir 1\nTEIR 1\n",
                                     "[1, 2]", "\x01\x02"};
  struct arena *a = arena_open();
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    struct diag d = {0};
    CHECK(!teir_program_parse(a, "x", none[i], &d) &&
          strstr(d.text, "neither with 'teir 1' nor with 'tec 1'"));
  }
  struct diag d = {0};
  CHECK(!teir_program_parse(a, "x", "teir\n", &d) &&
        strstr(d.text, "the first line is not 'teir 1'"));
  arena_close(a);
}

int main(void) {
  check_forms();
  check_good();
  check_broken();
  check_wrong();
  check_kernel_name();
  check_result_of_outer_k();
  return check_result();
}
