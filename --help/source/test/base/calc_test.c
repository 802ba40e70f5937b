/* calc_test.c -- element-wise expressions: their text, and what is refused. */
#include "calc.h"
#include "check.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"sum", "out", "x0", "flag"};
static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_I32, DTYPE_U8};
enum { NAMES = 4 };

static struct calc *parse(struct arena *a, const char *text, struct diag *d) {
  struct scan s = scan_open("t", text);
  *d = (struct diag){0};
  return calc_parse(a, &s, names, types, NAMES, d);
}

static void test_round_trip(void) {
  static const char *const text[] = {
      "sum",
      "max(add(mul(f32(x0),sum),f32(out)),f32:0x0p+0)",
      "select(flag,sum,neg(sum))",
      "select(and(lt(sum,f32:inf),not(flag)),x0,i32:-2147483648)",
      "i8(max(min(shr(x0,i32:7),i32:127),i32:-128))",
      "f32:-0x1.8p+1",
      "f32:-0x0p+0",
      "f32:-nan",
      "f32:-inf",
      "f32:0x1p-149",
      "bf16:0x1.02p+0",
      "f64:0x1.999999999999ap-4",
      "f64:0x1p-1074",
      "f64:0x1.fffffffffffffp+1023",
      "i64:-9223372036854775808",
      "u32:4294967295",
      "rint(sum)",
      "round(floor(ceil(trunc(sum))))",
      "fma(sum,sum,f32:0x1p-1)",
      "u16(shr(bits_u32(sum),u32:16))",
      "bits_u16(out)",
  };
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
    struct arena *a = arena_open();
    struct text t = {0};
    struct diag d;
    struct calc *c = parse(a, text[i], &d);
    CHECK(c && calc_check(c, &d));
    if (c)
      calc_print(c, names, &t);
    else
      diag_print(&d, stderr);
    CHECK(strcmp(text_string(&t), text[i]) == 0);
    struct calc *again = parse(a, text_string(&t), &d);
    CHECK(c && again && calc_equal(c, again));
    text_free(&t);
    arena_close(a);
  }
}

static void test_other_spellings(void) {
  struct arena *a = arena_open();
  struct diag d;
  static const struct {
    const char *text;
    double value;
  } c[] = {
      {"f32:3", 3},
      {"f32:-7", -7},
      {"f32: 0xA.8p-1", 5.25},
      {"f16:0x1.002p+0", 1}, /* rounded to even */
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    struct calc *n = parse(a, c[i].text, &d);
    CHECK(n && n->op == CALC_NUMBER && n->number == c[i].value);
  }
  CHECK(parse(a, " add ( sum , sum ) # comment", &d));
  arena_close(a);
}

static void test_malformed(void) {
  static const struct {
    const char *text;
    int col;
    const char *message;
  } c[] = {
      {"", 1, "expected an input, a type or an operation"},
      {"(sum)", 1, "expected an input"},
      {"add(sum,sum", 12, "expected ')'"},
      {"add(sum)", 8, "expected ','"},
      {"neg(sum,sum)", 8, "expected ')'"},
      {"add(sum,x0)", 1, "operands of add have one type, not f32 and i32"},
      {"select(x0,sum,sum)", 1, "select's first operand is u8, not i32"},
      {"select(flag,sum,x0)", 1, "operands of select have one type"},
      {"shl(sum,sum)", 1, "shl takes integers, not f32"},
      {"not(sum)", 1, "not takes integers"},
      {"add(x0,floor(x0))", 8, "floor takes floats, not i32"},
      {"add(sum,y)", 9, "no input is called 'y'"},
      {"fms(sum,sum,sum)", 1, "no operation or type is called 'fms'"},
      {"sum:1", 1, "no type is called 'sum'"},
      {"i8:128", 4, "128 does not fit in i8"},
      {"u8:-1", 4, "-1 does not fit in u8"},
      {"i8:x", 4, "expected an integer"},
      {"f32:", 5, "expected a float"},
      {"f32:0xp+0", 7, "expected a float of at most 16 hex digits"},
      {"f32:0x1.", 9, "expected a float of at most 16 hex digits"},
      {"f32:0x11111111111111111p+0", 23, "expected a float of at most 16"},
      {"f32:0x1p+99999", 9, "expected an exponent"},
      {"f32:0x1p", 9, "expected an exponent"},
      {"f32:+1", 5, "expected a float"},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    struct arena *a = arena_open();
    struct diag d;
    struct calc *n = parse(a, c[i].text, &d);
    bool good = !n && d.kind == DIAG_ERROR && d.at.line == 1 &&
                d.at.col == c[i].col && strstr(d.text, c[i].message);
    CHECK(good);
    if (!good)
      fprintf(stderr, "'%s': col %d: %s\n", c[i].text, d.at.col, d.text);
    arena_close(a);
  }
}

/* Inputs may have any names; those that are no words are quoted. */
static void test_any_names(void) {
  static const char *const any[] = {"a b", "1", "f32", ""};
  struct arena *a = arena_open();
  struct text t = {0};
  struct diag d = {0};
  static const char want[] = "select(lt(\"1\",\"\"),\"a b\",f32)";
  static const enum dtype float_types[] = {DTYPE_F32, DTYPE_F32, DTYPE_F32,
                                           DTYPE_F32};
  struct scan s = scan_open("t", want);
  struct calc *c = calc_parse(a, &s, any, float_types, 4, &d);
  CHECK(c && calc_uses(c, 1) && calc_uses(c, 3));
  if (c)
    calc_print(c, any, &t);
  CHECK(strcmp(text_string(&t), want) == 0);
  struct scan open = scan_open("t", "neg(\"a b)");
  CHECK(!calc_parse(a, &open, any, float_types, 4, &d));
  CHECK(strstr(d.text, "does not end"));
  text_free(&t);
  arena_close(a);
}

/* neg(neg(..(sum)..)), `depth` operations deep */
static struct calc *nested(struct arena *a, int depth, struct diag *d) {
  struct text t = {0};
  for (int i = 0; i < depth; i++)
    text_puts(&t, "neg(");
  text_puts(&t, "sum");
  for (int i = 0; i < depth; i++)
    text_puts(&t, ")");
  struct calc *c = parse(a, text_string(&t), d);
  text_free(&t);
  return c;
}

static void test_limits(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  CHECK(nested(a, 1000, &d));
  CHECK(!nested(a, 1001, &d) && strstr(d.text, "more than 1000 operations"));
  CHECK(!nested(a, 100000, &d) && d.kind == DIAG_ERROR);
  const struct calc *shared = calc_input(a, 0, DTYPE_F32);
  for (int i = 0; i < 60; i++) /* 2^60 operations written out */
    shared = calc_make(a, CALC_ADD, shared, shared, NULL);
  d = (struct diag){0};
  CHECK(!calc_check(shared, &d) && strstr(d.text, "more than 1000"));
  d = (struct diag){0};
  CHECK(!calc_check(calc_input(a, CALC_INPUTS, DTYPE_F32), &d));
  d = (struct diag){0};
  const struct calc *twice =
      calc_make(a, CALC_ADD, calc_input(a, 0, DTYPE_F32),
                calc_cast(a, DTYPE_F32, calc_input(a, 0, DTYPE_I8)), NULL);
  CHECK(!calc_check(twice, &d) && strstr(d.text, "input 0 has one type"));
  arena_close(a);
}

static void test_constants_have_their_type(void) {
  struct arena *a = arena_open();
  CHECK(calc_int(a, DTYPE_I8, 200)->integer == -56);
  CHECK(calc_int(a, DTYPE_U16, -1)->integer == 65535);
  CHECK(calc_float(a, DTYPE_F32, 0.1)->number == (double)0.1f);
  CHECK(
      !calc_equal(calc_float(a, DTYPE_F32, 0), calc_float(a, DTYPE_F32, -0.0)));
  CHECK(
      calc_equal(calc_float(a, DTYPE_F32, NAN), calc_float(a, DTYPE_F32, NAN)));
  arena_close(a);
}

static void test_questions(void) {
  struct arena *a = arena_open();
  struct diag d;
  struct calc *c = parse(a, "add(sum,mul(f32(x0),sum))", &d);
  CHECK(calc_uses(c, 0) && calc_uses(c, 2) && !calc_uses(c, 1));
  CHECK(calc_equal(c, parse(a, "add(sum,mul(f32(x0),sum))", &d)));
  CHECK(!calc_equal(c, parse(a, "add(sum,mul(f32(out),sum))", &d)));
  CHECK(!calc_equal(c, parse(a, "sub(sum,mul(f32(x0),sum))", &d)));
  arena_close(a);
}

int main(void) {
  test_round_trip();
  test_other_spellings();
  test_malformed();
  test_any_names();
  test_limits();
  test_constants_have_their_type();
  test_questions();
  return check_result();
}
