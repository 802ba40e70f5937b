/* match_test.c -- nests as text, and the verdict on each: a row per idea, and
 * near misses beside what is taken. */
#include "check.h"
#include "recognizer.h"

#include <string.h>

#define AB "A[i*16 + k] * B[k*32 + j]"
#define IJK "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\nloop k 16\n"
#define IJ "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\n"
#define I "tensor A i8\ntensor B i8\nloop i 64\n"

static const struct {
  const char *name, *text, *expect; /* an einsum, or a rule's name */
} row[] = {
    {"product", IJK "C[i*32 + j] += " AB " : i32", "mk,kn->mn"},
    {"operands swapped", IJK "C[i*32 + j] += B[k*32 + j] * A[i*16 + k] : i32",
     "mk,kn->mn"},
    {"k outermost",
     "tensor A i8\ntensor B i8\nloop k 16\nloop i 64\nloop j 32\n"
     "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"A transposed", IJK "C[i*32 + j] += A[k*64 + i] * B[k*32 + j] : i32",
     "km,kn->mn"},
    {"C transposed", IJK "C[j*64 + i] += " AB " : i32", "km,nk->mn"},
    {"run-time sizes",
     "tensor A i8\ntensor B i8\nloop i m\nloop j n\nloop k l\n"
     "C[i*ldc + j] += A[i*lda + k] * B[k*ldb + j] : i32",
     "mk,kn->mn"},
    {"batched",
     "tensor A i8\ntensor B i8\nloop b 4\nloop i 8\nloop j 8\nloop k 8\n"
     "C[b*64 + i*8 + j] += A[b*64 + i*8 + k] * B[b*64 + k*8 + j] : i32",
     "cmk,ckn->cmn"},
    {"scalar sum",
     IJ "s = 0 : i32\nloop k 16\ns += " AB " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"scalar onto C",
     IJ "s = C[i*32 + j] : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"scalar added to C",
     IJ "s = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] += s : i32",
     "mk,kn->mn"},
    {"zeroed inside",
     IJ "C[i*32 + j] = 0 : i32\nloop k 16\nC[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"zeroed in a loop of its own",
     I "loop z 32\nC[i*32 + z] = 0 : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"zeroed in the k loop",
     "tensor A i8\ntensor B i8\nloop k 16\nloop i 64\nloop z 32\n"
     "C[i*32 + z] = 0 : i32\nend\nloop j 32\nC[i*32 + j] += " AB " : i32",
     "LastIteration"},
    {"half zeroed",
     I "loop z 16\nC[i*32 + z] = 0 : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"two results",
     IJK "C[i*32 + j] += " AB " : i32\nD[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"sum not reset",
     I "s = 0 : i32\nloop j 32\nloop k 16\ns += " AB
       " : i32\nend\nC[i*32 + j] = s : i32",
     "NotProductSum"},
    {"max", IJK "C[i*32 + j] = max(C[i*32 + j], " AB ") : i32",
     "NotProductSum"},
    {"min-plus", IJK "C[i*32 + j] += min(A[i*16 + k], B[k*32 + j]) : i32",
     "NotProductSum"},
    {"sum of sums", IJK "C[i*32 + j] += A[i*16 + k] + B[k*32 + j] : i32",
     "NotProductSum"},
    {"C is an operand", IJK "C[i*32 + j] += C[i*32 + k] * B[k*32 + j] : i32",
     "ResultOverlapsItself"},
    {"places shared", IJK "C[i + j] += " AB " : i32", "ResultOverlapsItself"},
    {"rows overlap", IJK "C[i*31 + j] += " AB " : i32", "ResultOverlapsItself"},
    {"rows just apart", IJK "C[i*33 + j] += " AB " : i32", "mk,kn->mn"},
    {"repeated",
     "tensor A i8\ntensor B i8\nloop r 3\nloop i 64\nloop j 32\n"
     "loop k 16\nC[i*32 + j] += " AB " : i32",
     "AxisRoles"},
    {"one operand stands still", IJK "C[i*32 + j] += A[i*16 + k] * B[j] : i32",
     "AxisRoles"},
    {"vector",
     "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\n"
     "C[i] += A[i*16 + k] * B[k] : i32",
     "TooFewAxes"},
    {"outer product", IJ "C[i*32 + j] += A[i] * B[j] : i32", "TooFewAxes"},
    {"bf16",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : f32",
     "mk,kn->mn"},
    {"ordered",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
     "loop k 16\nC[i*32 + j] += " AB " : f32 ordered",
     "NeedsReassoc"},
    {"float", "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB " : f32",
     "FloatInputs"},
    {"int32", "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB " : i32",
     "UnsupportedTypes"},
};

static void check_row(int i) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(a, row[i].name, row[i].text, &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  if (c)
    contraction_einsum(c, &t);
  else
    text_puts(&t, n ? rule_name(v.rule) : d.text);
  if (strcmp(text_string(&t), row[i].expect) != 0)
    fprintf(stderr, "%s: %s, not %s: %s\n", row[i].name, text_string(&t),
            row[i].expect, v.diag.text);
  CHECK(strcmp(text_string(&t), row[i].expect) == 0);
  CHECK((c != NULL) == (v.diag.kind == DIAG_NONE));
  text_free(&t);
  arena_close(a);
}

static bool taken(const char *text, const char *words, struct verdict *v) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct options o = options_default();
  CHECK(options_parse(&o, a, "test", words, &d));
  struct nest *n = nest_parse(a, "test", text, &d);
  CHECK(n != NULL);
  *v = (struct verdict){0};
  bool yes = n && recognize(a, n, &o, v) != NULL;
  arena_close(a);
  return yes;
}

/* What options permit. */
static void check_options(void) {
  struct verdict v;
  const char *ordered = "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
                        "loop k 16\nC[i*32 + j] += " AB " : f32 ordered";
  CHECK(!taken(ordered, "fp=strict", &v) && v.rule == RULE_NEEDS_REASSOC);
  CHECK(taken(ordered, "fp=relaxed", &v));
  const char *f32 =
      "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB " : f32";
  CHECK(!taken(f32, "fp=relaxed", &v) && v.rule == RULE_FLOAT_INPUT);
  /* 64 * 32 * 16 = 32768; simulators take every size */
  const char *i8 = IJK "C[i*32 + j] += " AB " : i32";
  CHECK(!taken(i8, "device=npu1,min-macs=32769", &v) &&
        v.rule == RULE_BELOW_THRESHOLD);
  CHECK(taken(i8, "device=npu1,min-macs=32768", &v));
  CHECK(taken(i8, "device=sim,min-macs=32769", &v));
}

/* Run-time sizes leave guards: rows of C must not overlap. */
static void check_guards(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  struct nest *n =
      nest_parse(a, "test",
                 "tensor A i8\ntensor B i8\nloop i m\nloop j n\nloop k l\n"
                 "C[i*ldc + j] += A[i*lda + k] * B[k*ldb + j] : i32",
                 &d);
  struct contraction *c = recognize(a, n, &o, &v);
  CHECK(c && c->guard_count == 1 && c->accumulate);
  contraction_print(c, &t);
  CHECK(strstr(text_string(&t), "guard ldc >= 4 * n\n"));
  CHECK(strstr(text_string(&t), "axis i M m in0 lda out ldc\n"));
  CHECK(strstr(text_string(&t), "axis k K l in0 1 in1 ldb\n"));
  text_free(&t);
  arena_close(a);
}

int main(void) {
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    check_row((int)i);
  check_options();
  check_guards();
  return check_result();
}
