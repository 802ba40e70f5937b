/* verdict_test.c -- what options permit, what is guarded, and what is said of
 * nests that are declined. */
#include "check.h"
#include "nest_text.h"
#include "recognizer.h"

#include <string.h>

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

/* Taken, and what is multiplied in the place of in0's element, if anything. */
static bool converts(const char *text, const char *words) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct options o = options_default();
  CHECK(options_parse(&o, a, "test", words, &d));
  struct contraction *c = recognize(a, nest_parse(a, "test", text, &d), &o, &v);
  CHECK(c != NULL);
  bool yes = c && c->map[IN0];
  CHECK(!yes || c->map[IN0]->type == DTYPE_F32);
  arena_close(a);
  return yes;
}

/* Integers that are multiplied as floats: where it has the products, the
 * device converts those that floats hold. */
static void check_converted(void) {
#define BY_FLOAT(type)                                                         \
  "tensor A " type "\ntensor B f32\nloop i 64\nloop j 32\nloop k n\n"          \
  "C[i*32 + j] += " AB " : f32"
  struct verdict v;
  CHECK(!taken(BY_FLOAT("i8"), "", &v) && v.rule == RULE_FLOAT_INPUT);
  CHECK(converts(BY_FLOAT("i8"), "f32=bf16"));
  CHECK(!converts(BY_FLOAT("i8"), "device=host"));
  CHECK(!converts(BY_FLOAT("u16"), "device=cpu"));
  CHECK(converts(BY_FLOAT("i32"), "device=cpu")); /* which rounds */
}

/* What people know such nests by. */
static void check_words(void) {
  struct verdict v;
  const char *depthwise = "tensor A i8\ntensor B i8\nloop c 4\nloop i 64\n"
                          "loop k 16\nC[c*64 + i] += A[c*1024 + i*16 + k] * "
                          "B[c*16 + k] : i32";
  CHECK(!taken(depthwise, "device=sim", &v) && v.rule == RULE_VECTOR);
  CHECK(strstr(v.diag.text, "depthwise"));
  const char *real = "tensor A i8\ntensor B i8\ntensor D i8\ntensor E i8\n"
                     "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB
                     " - D[i*16 + k] * E[k*32 + j] : i32";
  CHECK(!taken(real, "device=sim", &v) && v.rule == RULE_SEVERAL_PRODUCTS);
  CHECK(strstr(v.diag.text, "complex"));
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
  CHECK(taken(f32, "f32=bf16", &v) && taken(f32, "f32=bf16x3", &v));
  CHECK(taken(f32, "device=host", &v));
  CHECK(!taken(f32, "f32=bf16,f32=keep", &v) && v.rule == RULE_FLOAT_INPUT);
  const char *mixed = "tensor A bf16\nloop i 64\nloop j 32\nloop k 16\n"
                      "C[i*32 + j] += " AB " : f32";
  CHECK(!taken(mixed, "", &v) && v.rule == RULE_FLOAT_INPUT);
  CHECK(taken(mixed, "f32=bf16x3", &v));
  const char *bf16_sum =
      "tensor A bf16\ntensor B bf16\ntensor C bf16\nloop i 64\n"
      "loop j 32\nloop k 16\nC[i*32 + j] += " AB " : bf16";
  CHECK(!taken(bf16_sum, "", &v) && v.rule == RULE_ROUNDED_BETWEEN);
  CHECK(taken(bf16_sum, "fp=relaxed", &v));
  const char *f64_sum = "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
                        "loop k 16\nC[i*32 + j] += " AB " : f64";
  CHECK(!taken(f64_sum, "f32=bf16x3", &v) && v.rule == RULE_WIDE_SUM);
  CHECK(taken(f64_sum, "fp=relaxed", &v) && taken(f64_sum, "device=host", &v));
  const char *rounded = "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
                        "loop k 16\nC[i*32 + j] += (" AB " : bf16) : f32";
  CHECK(taken(rounded, "fp=relaxed", &v));
  const char *ttmc = "tensor X f32\n" FACTORS_OF(
      "f32") "loop q 4\nC[i*32 + r*4 + q] += "
             "X[i*64 + j*8 + k] * B[j*8 + r] * D[k*4 + q] : f32";
  CHECK(!taken(ttmc, "fp=relaxed", &v) && v.rule == RULE_FLOAT_INPUT);
  CHECK(taken(ttmc, "f32=bf16x3", &v) && taken(ttmc, "device=host", &v));
  const char *vector = "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\n"
                       "C[i] += A[i*16 + k] * B[k] : i32";
  CHECK(!taken(vector, "device=sim", &v) && v.rule == RULE_VECTOR);
  CHECK(taken(vector, "device=host", &v));
  const char *i32 = "tensor A i32\ntensor B i32\nloop i 64\nloop j 32\n"
                    "loop k 16\nC[i*32 + j] += " AB " : i32";
  CHECK(taken(i32, "device=sim", &v) && taken(i32, "device=host", &v));
  const char *i64 = "tensor A i64\ntensor B i32\nloop i 64\nloop j 32\n"
                    "loop k 16\nC[i*32 + j] += " AB " : i64";
  CHECK(!taken(i64, "device=sim", &v) && v.rule == RULE_TYPES);
  CHECK(taken(i64, "device=host", &v));
  const char *wide = "tensor A i16\ntensor B i16\nloop i 64\nloop j 32\n"
                     "loop k n\nC[i*32 + j] += " AB " : i64";
  CHECK(!taken(wide, "device=sim", &v) && v.rule == RULE_WIDE_SUM);
  CHECK(taken(wide, "device=host", &v));
  const char *long_sum = "tensor A u8\ntensor B u8\nloop i 64\nloop j 32\n"
                         "loop k 40000\nC[i*32 + j] += A[i*40000 + k] * "
                         "B[k*32 + j] : i64"; /* 255 * 255 * 40000 > 2^31 */
  CHECK(!taken(long_sum, "device=sim", &v) && v.rule == RULE_WIDE_SUM);
  const char *cut = "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\n"
                    "loop k 16\nC[i*32 + j] += (" AB " : u16) : i32";
  CHECK(!taken(cut, "device=host", &v)); /* -1 becomes 65535 */
  /* 64 * 32 * 16 = 32768; simulators take every size */
  const char *i8 = IJK "C[i*32 + j] += " AB " : i32";
  CHECK(!taken(i8, "device=npu1,min-macs=32769", &v) &&
        v.rule == RULE_BELOW_THRESHOLD);
  CHECK(v.macs == 32768 && v.bytes == 64 * 16 + 16 * 32 + 4 * 64 * 32);
  CHECK(taken(i8, "device=npu1,min-macs=32768", &v) && v.macs == 32768);
  CHECK(taken(i8, "device=sim,min-macs=32769", &v));
  /* Less than any launch is worth: 4 * 4 * 4, unless it is asked for. */
  const char *tiny = "tensor A i8\ntensor B i8\nloop i 4\nloop j 4\nloop k 4\n"
                     "C[i*4 + j] += A[i*4 + k] * B[k*4 + j] : i32";
  static const char *const small[] = {"", "device=auto", "device=npu1",
                                      "device=xrt", "min-macs=65"};
  static const char *const asked[] = {
      "device=sim", "device=host",         "min-macs=0",
      "require",    "min-macs=64,require", "device=host,min-macs=65"};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++)
    CHECK(!taken(tiny, small[i], &v) && v.rule == RULE_BELOW_THRESHOLD &&
          v.macs == 64);
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
    CHECK(taken(tiny, asked[i], &v));
  CHECK(!taken(tiny, "min-macs=65,require", &v));
  const char *enough =
      "tensor A i8\ntensor B i8\nloop i 16\nloop j 16\nloop k %d\n"
      "C[i*16 + j] += A[i*16 + k] * B[k*16 + j] : i32";
  char text[200];
  snprintf(text, sizeof text, enough, 16);
  CHECK(taken(text, "", &v) && v.macs == 4096);
  snprintf(text, sizeof text, enough, 15);
  CHECK(!taken(text, "", &v) && v.macs == 3840);
}

/* The contraction of an integer nest, which has this many guards. */
static void print_guarded(const char *text, int guards, struct text *t) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(a, "test", text, &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  CHECK(c && c->guard_count == guards && c->accumulate);
  if (c)
    contraction_print(c, t);
  arena_close(a);
}

/* Run-time sizes leave guards: rows of C must not overlap. */
static void check_guards(void) {
  struct text t = {0};
  print_guarded("tensor A i8\ntensor B i8\nloop i m\nloop j n\nloop k l\n"
                "C[i*ldc + j] += A[i*lda + k] * B[k*ldb + j] : i32",
                1, &t);
  CHECK(strstr(text_string(&t), "guard ldc >= 4 * n\n"));
  CHECK(strstr(text_string(&t), "axis i M m in0 lda out ldc\n"));
  CHECK(strstr(text_string(&t), "axis k K l in0 1 in1 ldb\n"));
  text_free(&t);
}

/* Which of two loops steps over the other is known when the strides are. */
static void check_either(void) {
  struct text t = {0};
  print_guarded("tensor A i8\ntensor B i8\nloop h heads\nloop i m\nloop j n\n"
                "loop k l\nC[i*row + h*head + j] += A[h*lh + i*lda + k] * "
                "B[k*row2 + h*head2 + j] : i32",
                3, &t);
  CHECK(strstr(text_string(&t), "guard row >= 4 * n\n"));
  CHECK(strstr(text_string(&t), "guard head >= 4 * n\n"));
  CHECK(strstr(text_string(&t),
               "guard head >= row * m or row >= head * heads\n"));
  text_free(&t);
}

/* What makes the intermediate, whose strides are products of run-time sizes. */
static void check_pairwise(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(
      a, "test",
      TENSOR "tensor B i8\ntensor D i8\nloop i m\nloop j o\nloop k p\n"
             "loop r n\nC[i*ldc + r] += "
             "X[i*ldx + j*p + k] * B[j*n + r] * D[k*n + r] : i32",
      &d);
  struct contraction *c = recognize(a, n, &o, &v);
  CHECK(c && c->first && c->intermediate == IN0);
  contraction_print(c, &t);
  const char *all = text_string(&t);
  CHECK(strstr(all, "stride0 = 2 * n\nstride1 = stride0 * p\n"));
  CHECK(strstr(all, "tensor in0 i16\nsum i16 from zero\n"));
  CHECK(strstr(all, "axis r C n in2 1 in3 1 in0 2\n"));
  CHECK(strstr(all, "axis j K o in0 stride1 in1 p\n"));
  text_free(&t);
  contraction_sizes(c, &t);
  CHECK(strcmp(text_string(&t), "n=m k=o l=p m=n") == 0);
  text_free(&t);
  arena_close(a);
}

/* Whether D may be C itself, element by element. */
static bool may_be_out(const char *text) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(a, "test", text, &d);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  CHECK(c && c->extra_count == 1);
  bool may = c && !c->extra[0].not_out;
  arena_close(a);
  return may;
}

/* The line that says what is made of an element of A before the multiply unit
 * has it; "": the element itself; "-": the nest is declined. */
static void check_conversion(const char *types, const char *operand,
                             const char *product, const char *expect) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  struct nest *n =
      nest_parse(a, "test",
                 arena_printf(a,
                              "%sloop i 64\nloop j 32\nloop k 16\n"
                              "C[i*32 + j] += %s * B[k*32 + j] : %s",
                              types, operand, product),
                 &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  if (c)
    contraction_print(c, &t);
  const char *all = c ? text_string(&t) : "";
  const char *made = strstr(all, "\nin0 = ");
  const char *line =
      !c     ? "-"
      : made ? arena_printf(a, "%.*s", (int)strcspn(made + 7, "\n"), made + 7)
             : "";
  if (strcmp(line, expect) != 0)
    fprintf(stderr, "%s: '%s', not '%s': %s\n", operand, line, expect,
            v.diag.text);
  CHECK(strcmp(line, expect) == 0);
  text_free(&t);
  arena_close(a);
}

/* A conversion is left out only where it keeps the number. */
static void check_conversions(void) {
  const char *i16 = "tensor A i16\ntensor B i8\n", *at = "A[i*16 + k]";
  const char *u8 = "tensor A u8\ntensor B i8\n";
  check_conversion(i16, at, "i32", "");
  check_conversion(i16, "(A[i*16 + k] : i32)", "i32", "");
  check_conversion(i16, "(A[i*16 + k] : i8)", "i32", "i8(in0)");
  check_conversion(u8, "(A[i*16 + k] : i16)", "i32", "");
  check_conversion(u8, "(A[i*16 + k] + 3 : u8)", "i32", "add(in0,u8:3)");
  check_conversion(u8, "((A[i*16 + k] + 3 : u8) : i8)", "i32",
                   "i8(add(in0,u8:3))");
  check_conversion(u8, "((A[i*16 + k] + 3 : u8) : i16)", "i32",
                   "add(in0,u8:3)");
  const char *bf16 = "tensor A bf16\ntensor B bf16\n";
  check_conversion(bf16, at, "f32", "");
  check_conversion(bf16, "(A[i*16 + k] : f16)", "f32", "-");
  check_conversion("tensor A i16\ntensor B bf16\n", at, "f32", "-");
}

static void check_not_out(void) {
  CHECK(may_be_out(IJ "s = 0 : i32\nloop k 16\ns += " AB
                      " : i32\nend\nC[i*32 + j] = s + D[i*32 + j] : i32"));
  CHECK(may_be_out(IJ "s = D[i*32 + j] : i32\nloop k 16\ns += " AB
                      " : i32\nend\nC[i*32 + j] = s : i32"));
  /* the store behind which D is read is earlier, or of an earlier k */
  CHECK(!may_be_out(IJ "C[i*32 + j] = 0 : i32\nloop k 16\nC[i*32 + j] += " AB
                       " : i32\nend\nC[i*32 + j] += D[i*32 + j] : i32"));
  CHECK(!may_be_out(IJK "C[i*32 + j] += D[i*32 + j] * " AB " : i32"));
}
int main(void) {
  check_words();
  check_options();
  check_converted();
  check_guards();
  check_either();
  check_pairwise();
  check_conversions();
  check_not_out();
  return check_result();
}
