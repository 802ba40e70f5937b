/* calc_run_test.c -- evaluation against plain C, one element after another, in
 * wider types; and cases written by hand. */
#include "calc.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 wide;

static bool is_float(enum dtype t) { return dtype_kind(t) == DTYPE_FLOAT; }
static int bits_of(enum dtype t) { return 8 * dtype_bytes(t); }

static int64_t low_of(enum dtype t) {
  return dtype_kind(t) == DTYPE_UNSIGNED
             ? 0
             : (int64_t)(-((wide)1 << (bits_of(t) - 1)));
}
static int64_t high_of(enum dtype t) {
  return dtype_kind(t) == DTYPE_UNSIGNED
             ? (int64_t)(((wide)1 << bits_of(t)) - 1)
             : (int64_t)(((wide)1 << (bits_of(t) - 1)) - 1);
}

/* ---- values worth trying ---- */
enum { EDGES = 22, PAIRS = EDGES * EDGES };

static void edge(enum dtype t, int i, void *to) {
  static const double f[EDGES] = {
      0,    -0.0,  1,       -1,       NAN,        INFINITY, -INFINITY, 0.5,
      -0.5, 1.5,   2.5,     -2.5,     127.6,      -128.5,   3e9,       -3e9,
      1e30, -1e30, 0x1p-24, 0x1.01p0, 0x1.fffp14, 1e-40};
  static const int64_t n[EDGES] = {0,         1,
                                   -1,        2,
                                   -2,        3,
                                   7,         8,
                                   15,        16,
                                   31,        32,
                                   63,        64,
                                   127,       -128,
                                   255,       1000,
                                   -32768,    65535,
                                   INT32_MAX, 0x123456789abcdef};
  if (is_float(t))
    dtype_store_float(t, to, f[i]);
  else if (i == EDGES - 1)
    dtype_store_int(t, to, low_of(t));
  else
    dtype_store_int(t, to, n[i]);
}

/* Equal bits, or both NaN. */
static bool same(enum dtype t, const void *x, const void *y) {
  if (is_float(t) && isnan(dtype_load_float(t, x)))
    return isnan(dtype_load_float(t, y));
  return memcmp(x, y, (size_t)dtype_bytes(t)) == 0;
}

/* ---- the operations, as calc.def says them: a new one does not compile until
 * it is expected here, too ---- */
/* Rounding a double once more is no different from rounding at once to a type
 * of at most half its bits. */
static double in_float(enum calc_op op, double a, double b) {
  switch (op) {
  case CALC_ADD:
    return a + b;
  case CALC_SUB:
    return a - b;
  case CALC_MUL:
    return a * b;
  case CALC_DIV:
    return a / b;
  case CALC_NEG:
    return copysign(a, signbit(a) ? 1 : -1);
  case CALC_ABS:
    return copysign(a, 1);
  case CALC_MIN:
    return a == b ? a : fmin(a, b);
  case CALC_MAX:
    return a == b ? a : fmax(a, b);
  case CALC_FLOOR:
    return floor(a);
  case CALC_CEIL:
    return ceil(a);
  case CALC_TRUNC:
    return trunc(a);
  case CALC_RINT:
    return nearbyint(a);
  case CALC_ROUND:
    return round(a);
  case CALC_NUMBER:
  case CALC_CAST:
  case CALC_BITS:
  case CALC_LT:
  case CALC_LE:
  case CALC_EQ:
  case CALC_NOT:
  case CALC_AND:
  case CALC_OR:
  case CALC_XOR:
  case CALC_SHL:
  case CALC_SHR:
  case CALC_FMA:
  case CALC_SELECT:
  case CALC_INPUT:
  case CALC_OPS:
    break;
  }
  abort();
}

static wide in_integers(enum calc_op op, enum dtype t, int64_t a, int64_t b) {
  bool fits = b >= 0 && b < bits_of(t);
  switch (op) {
  case CALC_ADD:
    return (wide)a + b;
  case CALC_SUB:
    return (wide)a - b;
  case CALC_MUL:
    return (wide)a * b;
  case CALC_DIV:
    return b ? (wide)a / b : 0;
  case CALC_NEG:
    return -(wide)a;
  case CALC_ABS:
    return a < 0 ? -(wide)a : a;
  case CALC_MIN:
    return a < b ? a : b;
  case CALC_MAX:
    return a < b ? b : a;
  case CALC_AND:
    return a & b;
  case CALC_OR:
    return a | b;
  case CALC_XOR:
    return a ^ b;
  case CALC_SHL:
    return fits ? (wide)((unsigned __int128)a << b) : 0;
  case CALC_SHR:
    return fits ? a >> b : 0;
  case CALC_NUMBER:
  case CALC_CAST:
  case CALC_BITS:
  case CALC_LT:
  case CALC_LE:
  case CALC_EQ:
  case CALC_NOT:
  case CALC_FLOOR:
  case CALC_CEIL:
  case CALC_TRUNC:
  case CALC_RINT:
  case CALC_ROUND:
  case CALC_FMA:
  case CALC_SELECT:
  case CALC_INPUT:
  case CALC_OPS:
    break;
  }
  abort();
}

static bool is_truth(enum calc_op op) {
  return op == CALC_LT || op == CALC_LE || op == CALC_EQ || op == CALC_NOT;
}

static bool truth(enum calc_op op, enum dtype t, const void *x, const void *y) {
  if (op == CALC_NOT)
    return dtype_load_int(t, x) == 0;
  long double a = is_float(t) ? (long double)dtype_load_float(t, x)
                              : (long double)dtype_load_int(t, x);
  long double b = is_float(t) ? (long double)dtype_load_float(t, y)
                              : (long double)dtype_load_int(t, y);
  return op == CALC_LT ? a < b : op == CALC_LE ? a <= b : a == b;
}

static void expect(enum calc_op op, enum dtype t, const void *x, const void *y,
                   void *to) {
  if (is_truth(op))
    *(uint8_t *)to = truth(op, t, x, y);
  else if (is_float(t))
    dtype_store_float(
        t, to, in_float(op, dtype_load_float(t, x), dtype_load_float(t, y)));
  else
    dtype_store_int(t, to,
                    (int64_t)in_integers(op, t, dtype_load_int(t, x),
                                         dtype_load_int(t, y)));
}

static bool takes(enum calc_op op, enum dtype t) {
  struct arena *a = arena_open();
  const struct calc *x = calc_input(a, 0, t);
  const struct calc *c = calc_make(a, op, x, x, NULL);
  struct diag d = {0};
  bool good = calc_check(c, &d);
  arena_close(a);
  return good;
}

static void test_operation(enum calc_op op, enum dtype t) {
  struct arena *a = arena_open();
  int bytes = dtype_bytes(t);
  char *x = arena_array(a, PAIRS, 8), *y = arena_array(a, PAIRS, 8);
  char *out = arena_array(a, PAIRS, 8);
  for (int i = 0; i < PAIRS; i++) {
    edge(t, i / EDGES, x + i * bytes);
    edge(t, i % EDGES, y + i * bytes);
  }
  const struct calc *c =
      calc_make(a, op, calc_input(a, 0, t), calc_input(a, 1, t), NULL);
  struct calc_program *p = calc_compile(a, c);
  int to_bytes = dtype_bytes(c->type);
  for (int i = 0; i < PAIRS; i += 250) { /* a chunk that is not full */
    int count = PAIRS - i < 250 ? PAIRS - i : 250;
    const void *in[] = {x + i * bytes, y + i * bytes};
    calc_run(p, in, (bool[]){false, false}, out + i * to_bytes, count);
  }
  int wrong = 0;
  for (int i = 0; i < PAIRS; i++) {
    char want[8];
    expect(op, t, x + i * bytes, y + i * bytes, want);
    if (!same(c->type, want, out + i * to_bytes) && wrong++ == 0)
      fprintf(stderr, "%s of %s: pair %d, %d\n", calc_name(op), dtype_name(t),
              i / EDGES, i % EDGES);
  }
  CHECK(wrong == 0);
  arena_close(a);
}

static void test_operations(void) {
  for (int op = CALC_ADD; op < CALC_SELECT; op++)
    for (int t = 0; t < DTYPE_COUNT; t++)
      if (calc_operands((enum calc_op)op) <= 2 &&
          takes((enum calc_op)op, (enum dtype)t))
        test_operation((enum calc_op)op, (enum dtype)t);
}

/* ---- conversions ---- */
static void expect_cast(enum dtype from, const void *x, enum dtype to,
                        void *want) {
  if (is_float(to) && is_float(from)) {
    dtype_store_float(to, want, dtype_load_float(from, x));
  } else if (to == DTYPE_F32) {
    float f = (float)dtype_load_int(from, x);
    memcpy(want, &f, sizeof f);
  } else if (is_float(to)) { /* no edge has bits between 53 and 8 that count */
    dtype_store_float(to, want, (double)dtype_load_int(from, x));
  } else if (is_float(from)) {
    long double v = truncl((long double)dtype_load_float(from, x));
    dtype_store_int(to, want,
                    isnan(v)                        ? 0
                    : v <= (long double)low_of(to)  ? low_of(to)
                    : v >= (long double)high_of(to) ? high_of(to)
                                                    : (int64_t)v);
  } else {
    dtype_store_int(to, want, dtype_load_int(from, x));
  }
}

static void test_cast(enum dtype from, enum dtype to) {
  struct arena *a = arena_open();
  char in[EDGES * 8], out[EDGES * 8];
  for (int i = 0; i < EDGES; i++)
    edge(from, i, in + i * dtype_bytes(from));
  calc_run(calc_compile(a, calc_cast(a, to, calc_input(a, 0, from))),
           (const void *const[]){in}, (bool[]){false}, out, EDGES);
  for (int i = 0; i < EDGES; i++) {
    char want[8];
    expect_cast(from, in + i * dtype_bytes(from), to, want);
    bool good = same(to, want, out + i * dtype_bytes(to));
    CHECK(good);
    if (!good)
      fprintf(stderr, "%s to %s, edge %d\n", dtype_name(from), dtype_name(to),
              i);
  }
  arena_close(a);
}

static void test_casts(void) {
  for (int from = 0; from < DTYPE_COUNT; from++)
    for (int to = 0; to < DTYPE_COUNT; to++)
      test_cast((enum dtype)from, (enum dtype)to);
}

/* ---- by hand ---- */
static const char *const names[] = {"f", "g", "h", "n", "b"};
static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F64, DTYPE_I32,
                                   DTYPE_U8};

struct inputs {
  float f;
  uint16_t g;
  double h;
  int32_t n;
  uint8_t b;
};

/* The expression's value over a chunk whose elements are all alike. */
static double value_of(const char *text, const struct inputs *from) {
  struct arena *a = arena_open();
  struct scan s = scan_open("t", text);
  struct diag d = {0};
  struct calc *c = calc_parse(a, &s, names, types, 5, &d);
  if (!c)
    diag_print(&d, stderr);
  char out[CALC_CHUNK * 8];
  const void *in[] = {&from->f, &from->g, &from->h, &from->n, &from->b};
  calc_run(calc_compile(a, c), in, (bool[]){true, true, true, true, true}, out,
           CALC_CHUNK);
  double first = dtype_load_float(c->type, out);
  int bytes = dtype_bytes(c->type);
  CHECK(memcmp(out, out + bytes, (size_t)((CALC_CHUNK - 1) * bytes)) == 0);
  arena_close(a);
  return first;
}

static void test_by_hand(void) {
  struct inputs in = {0.1f, bf16_from_f32(3), 0.1, -7, 1};
  CHECK(value_of("f", &in) == (double)0.1f);
  CHECK(value_of("f64:0x1.8p+1", &in) == 3);
  CHECK(value_of("mul(f,f)", &in) == (double)(0.1f * 0.1f));
  CHECK(value_of("mul(f64(f),h)", &in) == (double)0.1f * 0.1);
  /* 3 + 2^-7 needs nine bits */
  CHECK(value_of("add(g,bf16:0x1p-7)", &in) == 3);
  CHECK(value_of("select(lt(f,f32:0),f,neg(f))", &in) == -(double)0.1f);
  CHECK(value_of("select(b,n,i32:5)", &in) == -7);
  /* (1 + 2^-12)^2 - 1 - 2^-11: in two roundings nothing is left */
  CHECK(value_of("fma(f32:0x1.001p+0,f32:0x1.001p+0,f32:-0x1.002p+0)", &in) ==
        0x1p-24);
  CHECK(value_of("add(mul(f32:0x1.001p+0,f32:0x1.001p+0),f32:-0x1.002p+0)",
                 &in) == 0);
  CHECK(value_of("shr(n,i32:1)", &in) == -4);
  CHECK(value_of("shr(bits_u32(f),u32:16)", &in) == 0x3dcc);
  CHECK(value_of("bits_bf16(u16:16448)", &in) == 3);
  CHECK(value_of("bits_i16(g)", &in) == 16448);
  CHECK(value_of("bits_f64(bits_i64(h))", &in) == 0.1);
  CHECK(value_of("bits_i8(b)", &in) == 1);
  CHECK(value_of("div(n,i32:2)", &in) == -3);
  CHECK(value_of("i8(f32:0x1.2cp+8)", &in) == 127);
  CHECK(value_of("i8(i32:300)", &in) == 44);
  CHECK(value_of("u8(f32:-1)", &in) == 0);
  CHECK(value_of("i32(f32:nan)", &in) == 0);
  CHECK(value_of("i32(f32:inf)", &in) == INT32_MAX);
  CHECK(signbit(value_of("neg(f32:0x0p+0)", &in)));
  CHECK(signbit(value_of("mul(f32:-1,f32:0)", &in)));
  CHECK(value_of("max(f32:nan,f)", &in) == (double)0.1f);
  CHECK(value_of("max(f,f32:nan)", &in) == (double)0.1f);
  CHECK(isnan(value_of("add(f,f32:nan)", &in)));
  CHECK(value_of("select(le(f32:nan,f),n,i32:1)", &in) == 1);
  /* (1 + 2^-8) + 2^-54: a tie in bf16 but for the last of 55 bits */
  CHECK(value_of("bf16(i64:18084767253659649)", &in) == ldexp(1 + 0x1p-7, 54));
  CHECK(value_of("f16(f64:0x1.0020000000001p+0)", &in) == 1 + 0x1p-10);
  /* many values alive at once */
  CHECK(value_of("add(mul(add(n,n),sub(n,i32:1)),"
                 "mul(add(n,i32:2),add(mul(n,n),neg(n))))",
                 &in) == 112 - 5 * 56);
}

/* A fixed input may change between calls; old content may be overwritten. */
static void test_calls(void) {
  struct arena *a = arena_open();
  const struct calc *c =
      calc_make(a, CALC_ADD,
                calc_make(a, CALC_MUL, calc_input(a, 0, DTYPE_I32),
                          calc_input(a, 3, DTYPE_I32), NULL),
                calc_input(a, 1, DTYPE_I32), NULL);
  struct calc_program *p = calc_compile(a, c);
  int32_t x[4] = {1, 2, 3, 4}, y[5] = {10, 20, 30, 40, 50};
  for (int32_t scale = 2; scale < 4; scale++) {
    const void *in[] = {x, y, NULL, &scale};
    calc_run(p, in, (bool[]){false, false, false, true}, y, 4);
  }
  CHECK(y[0] == 10 + 5 && y[3] == 40 + 20 && y[4] == 50);
  const void *in[] = {x, y, NULL, x};
  calc_run(p, in, (bool[]){false, true, false, false}, x, 4);
  CHECK(x[0] == 16 && x[3] == 31);
  calc_run(p, in, (bool[]){false, true, false, false}, x, 0);
  CHECK(x[0] == 16);
  arena_close(a);
}

/* Rows of any stride, in memory of any alignment, longer than a chunk. */
static void test_rows(void) {
  enum { LENGTH = 700 };
  struct arena *a = arena_open();
  const struct calc *c = calc_cast(
      a, DTYPE_I16,
      calc_make(a, CALC_ADD,
                calc_make(a, CALC_MUL, calc_input(a, 0, DTYPE_I32),
                          calc_input(a, 1, DTYPE_I32), NULL),
                calc_cast(a, DTYPE_I32, calc_input(a, 2, DTYPE_I16)), NULL));
  struct calc_program *p = calc_compile(a, c);
  static const int64_t stride[][4] = {
      {4, 0, 2, 2}, {12, 4, 6, 6}, {4, 5, 2, 2}, {0, 0, 0, 2}, {4, 0, 10, 10}};
  for (size_t s = 0; s < sizeof stride / sizeof *stride; s++)
    for (int shift = 0; shift < 2; shift++) {
      static char in0[16 * LENGTH], in1[16 * LENGTH], io[16 * LENGTH];
      int16_t want[LENGTH];
      for (int i = 0; i < LENGTH; i++) {
        int32_t x = i - 300, y = 7 * (s == 1 || s == 2 ? i : 1);
        int16_t z = (int16_t)(s == 3 ? 5 : -i);
        memcpy(in0 + shift + i * stride[s][0], &x, 4);
        memcpy(in1 + shift + i * stride[s][1], &y, 4);
        memcpy(io + shift + i * stride[s][2], &z, 2);
      }
      for (int i = 0; i < LENGTH; i++) {
        int32_t x, y;
        int16_t z;
        memcpy(&x, in0 + shift + i * stride[s][0], 4);
        memcpy(&y, in1 + shift + i * stride[s][1], 4);
        memcpy(&z, io + shift + i * stride[s][2], 2);
        want[i] = (int16_t)(x * y + z);
      }
      const void *in[] = {in0 + shift, in1 + shift, io + shift};
      char *out = s == 3 ? io + 4 : io + shift;
      calc_run_row(p, in, stride[s], out, stride[s][3], LENGTH);
      int wrong = 0;
      for (int i = 0; i < LENGTH; i++)
        wrong += memcmp(&want[i], out + i * stride[s][3], 2) != 0;
      CHECK(wrong == 0);
    }
  arena_close(a);
}

int main(void) {
  test_operations();
  test_casts();
  test_by_hand();
  test_calls();
  test_rows();
  return check_result();
}
