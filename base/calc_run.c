/* calc_run.c -- evaluates element-wise expressions over chunks of elements.
 *
 * An expression becomes a list of steps in postfix order.  A step is one
 * operation on one type: a loop over a chunk that the compiler vectorises.
 * Chunks are small, so that what lies between two steps stays in the first
 * cache.  A step never writes where it reads.
 *
 * The bits are those of C: every operation rounds to its own type, also where
 * that has 16 bits (f32 holds enough bits for rounding twice to make no
 * difference), integers wrap, and nothing is undefined.
 */
#include "calc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- types: as stored, and as computed with ---- */
typedef uint16_t stored_BF16, stored_F16;
typedef float stored_F32, value_BF16, value_F16, value_F32;
typedef double stored_F64, value_F64;
typedef int8_t stored_I8, value_I8;
typedef uint8_t stored_U8, value_U8;
typedef int16_t stored_I16, value_I16;
typedef uint16_t stored_U16, value_U16;
typedef int32_t stored_I32, value_I32;
typedef uint32_t stored_U32, value_U32;
typedef int64_t stored_I64, value_I64;
/* Unsigned, and wide enough that nothing is promoted to int. */
typedef uint32_t word_I8, word_U8, word_I16, word_U16, word_I32, word_U32;
typedef uint64_t word_I64;

#define EACH_FLOAT(X, ...)                                                     \
  X(BF16, __VA_ARGS__)                                                         \
  X(F16, __VA_ARGS__) X(F32, __VA_ARGS__) X(F64, __VA_ARGS__)
#define EACH_SIGNED(X, ...)                                                    \
  X(I8, __VA_ARGS__) X(I16, __VA_ARGS__) X(I32, __VA_ARGS__) X(I64, __VA_ARGS__)
#define EACH_UNSIGNED(X, ...)                                                  \
  X(U8, __VA_ARGS__) X(U16, __VA_ARGS__) X(U32, __VA_ARGS__)
#define EACH_INTEGER(X, ...)                                                   \
  EACH_SIGNED(X, __VA_ARGS__) EACH_UNSIGNED(X, __VA_ARGS__)
#define EACH_TYPE(X, ...)                                                      \
  EACH_FLOAT(X, __VA_ARGS__) EACH_INTEGER(X, __VA_ARGS__)

#define SAME(t, ...)                                                           \
  static inline value_##t load_##t(stored_##t s) { return s; }                 \
  static inline stored_##t store_##t(value_##t v) { return v; }
EACH_INTEGER(SAME)
SAME(F32)
SAME(F64)
static inline float load_BF16(uint16_t s) { return bf16_to_f32(s); }
static inline float load_F16(uint16_t s) { return f16_to_f32(s); }
static inline uint16_t store_BF16(float v) { return bf16_from_f32(v); }
static inline uint16_t store_F16(float v) { return f16_from_f32(v); }

/* ---- operations: one loop for each and for each of its types ---- */
typedef void loop(void *restrict to, const void *restrict x,
                  const void *restrict y, const void *restrict z, int count);

/* a and b are elements of x and y, both of type t; y is x where there is one
 * operand only.  The result has type r. */
#define LOOP(name, t, r, result)                                               \
  static void name##_##t(void *restrict to, const void *restrict x,            \
                         const void *restrict y, const void *restrict z,       \
                         int count) {                                          \
    stored_##r *out = to;                                                      \
    const stored_##t *p = x, *q = y;                                           \
    (void)z;                                                                   \
    for (int i = 0; i < count; i++) {                                          \
      value_##t a = load_##t(p[i]), b = load_##t(q[i]);                        \
      (void)b;                                                                 \
      out[i] = store_##r((value_##r)(result));                                 \
    }                                                                          \
  }

#define ORDER(t, ...)                                                          \
  LOOP(LT, t, U8, a < b)                                                       \
  LOOP(LE, t, U8, a <= b)                                                      \
  LOOP(EQ, t, U8, a == b)
EACH_TYPE(ORDER)

#define FLOAT(t, ...)                                                          \
  LOOP(ADD, t, t, a + b)                                                       \
  LOOP(SUB, t, t, a - b)                                                       \
  LOOP(MUL, t, t, a *b)                                                        \
  LOOP(DIV, t, t, a / b)                                                       \
  LOOP(NEG, t, t, -a)                                                          \
  LOOP(ABS, t, t, _Generic(a, float: fabsf, double: fabs)(a))                  \
  LOOP(MIN, t, t, b < a || a != a ? b : a)                                     \
  LOOP(MAX, t, t, b > a || a != a ? b : a)                                     \
  LOOP(FLOOR, t, t, _Generic(a, float: floorf, double: floor)(a))              \
  LOOP(CEIL, t, t, _Generic(a, float: ceilf, double: ceil)(a))                 \
  LOOP(TRUNC, t, t, _Generic(a, float: truncf, double: trunc)(a))              \
  LOOP(RINT, t, t, _Generic(a, float: rintf, double: rint)(a))                 \
  LOOP(ROUND, t, t, _Generic(a, float: roundf, double: round)(a))
EACH_FLOAT(FLOAT)

static inline int64_t divide(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

/* Sums and the like modulo 2^n; shifts by a count that fits. */
#define INTEGER(t, ...)                                                        \
  LOOP(ADD, t, t, (word_##t)a + (word_##t)b)                                   \
  LOOP(SUB, t, t, (word_##t)a - (word_##t)b)                                   \
  LOOP(MUL, t, t, (word_##t)a *(word_##t)b)                                    \
  LOOP(DIV, t, t, divide(a, b))                                                \
  LOOP(NEG, t, t, 0 - (word_##t)a)                                             \
  LOOP(MIN, t, t, a < b ? a : b)                                               \
  LOOP(MAX, t, t, a > b ? a : b)                                               \
  LOOP(NOT, t, U8, a == 0)                                                     \
  LOOP(AND, t, t, a &b)                                                        \
  LOOP(OR, t, t, a | b)                                                        \
  LOOP(XOR, t, t, a ^ b)                                                       \
  LOOP(SHL, t, t, FITS(t, b) ? (word_##t)a << (b & LAST_BIT(t)) : 0)           \
  LOOP(SHR, t, t, FITS(t, b) ? a >> (b & LAST_BIT(t)) : 0)
#define LAST_BIT(t) (8 * (int)sizeof(stored_##t) - 1)
#define FITS(t, b) ((word_##t)(b) <= (word_##t)LAST_BIT(t))
EACH_INTEGER(INTEGER)

#define SIGNED_ABS(t, ...)                                                     \
  LOOP(ABS, t, t, a < 0 ? 0 - (word_##t)a : (word_##t)a)
EACH_SIGNED(SIGNED_ABS)
#define UNSIGNED_ABS(t, ...) LOOP(ABS, t, t, a)
EACH_UNSIGNED(UNSIGNED_ABS)

#define FUSED(t, fma)                                                          \
  static void FMA_##t(void *restrict to, const void *restrict x,               \
                      const void *restrict y, const void *restrict z,          \
                      int count) {                                             \
    stored_##t *out = to;                                                      \
    const stored_##t *a = x, *b = y, *c = z;                                   \
    for (int i = 0; i < count; i++)                                            \
      out[i] = fma(a[i], b[i], c[i]);                                          \
  }
FUSED(F32, fmaf)
FUSED(F64, fma)

#define SELECT(bits)                                                           \
  static void SELECT_##bits(void *restrict to, const void *restrict x,         \
                            const void *restrict y, const void *restrict z,    \
                            int count) {                                       \
    uint##bits##_t *out = to;                                                  \
    const uint8_t *truth = x;                                                  \
    const uint##bits##_t *a = y, *b = z;                                       \
    for (int i = 0; i < count; i++)                                            \
      out[i] = truth[i] ? a[i] : b[i];                                         \
  }
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

/* The bits of x: a step never gives what it reads. */
#define SAME_BITS(bits)                                                        \
  static void SAME_BITS_##bits(void *restrict to, const void *restrict x,      \
                               const void *restrict y, const void *restrict z, \
                               int count) {                                    \
    (void)y, (void)z;                                                          \
    memcpy(to, x, (size_t)count * sizeof(uint##bits##_t));                     \
  }
SAME_BITS(8)
SAME_BITS(16)
SAME_BITS(32)
SAME_BITS(64)

/* ---- conversions ---- */

/* To integers: from a float cut to [low, high], NaN to 0.  The bounds of types
 * up to 32 bits are doubles, and `via` holds them. */
#define TO_INTEGER(t, via, low, high)                                          \
  static inline stored_##t t##_from_double(double v) {                         \
    v = v == v ? v : 0;                                                        \
    v = v > low ? v : low;                                                     \
    v = v < high ? v : high;                                                   \
    return (stored_##t)(via)v;                                                 \
  }                                                                            \
  WRAP(t)
#define WRAP(t)                                                                \
  static inline stored_##t t##_from_float(float v) {                           \
    return t##_from_double((double)v);                                         \
  }                                                                            \
  static inline stored_##t t##_from_int(int32_t v) { return (stored_##t)v; }   \
  static inline stored_##t t##_from_long(int64_t v) { return (stored_##t)v; }
TO_INTEGER(I8, int32_t, INT8_MIN, INT8_MAX)
TO_INTEGER(U8, int32_t, 0, UINT8_MAX)
TO_INTEGER(I16, int32_t, INT16_MIN, INT16_MAX)
TO_INTEGER(U16, int32_t, 0, UINT16_MAX)
TO_INTEGER(I32, int32_t, INT32_MIN, INT32_MAX)
TO_INTEGER(U32, int64_t, 0, UINT32_MAX)
static inline int64_t I64_from_double(double v) {
  return v != v         ? 0
         : v >= 0x1p63  ? INT64_MAX
         : v <= -0x1p63 ? INT64_MIN
                        : (int64_t)v;
}
WRAP(I64)

static inline float F32_from_float(float v) { return v; }
static inline float F32_from_double(double v) { return (float)v; }
static inline float F32_from_int(int32_t v) { return (float)v; }
static inline float F32_from_long(int64_t v) { return (float)v; }
static inline double F64_from_float(float v) { return (double)v; }
static inline double F64_from_double(double v) { return v; }
static inline double F64_from_int(int32_t v) { return v; }
static inline double F64_from_long(int64_t v) { return (double)v; }

/* Of more than 53 bits the last ones become one that says whether they were
 * all zero, which rounding to 16 bits cannot tell from the number itself. */
static inline double to_odd(int64_t v) {
  bool exact = v > -((int64_t)1 << 53) && v < (int64_t)1 << 53;
  int64_t last = 0x7ff;
  return (double)(exact ? v : (v & ~last) | ((v & last) ? last + 1 : 0));
}

#define TO_HALF(t, from_f32)                                                   \
  static inline uint16_t t##_from_float(float v) { return from_f32(v); }       \
  static inline uint16_t t##_from_double(double v) {                           \
    return from_f32(f32_to_odd(v));                                            \
  }                                                                            \
  static inline uint16_t t##_from_int(int32_t v) {                             \
    return from_f32(f32_to_odd(v));                                            \
  }                                                                            \
  static inline uint16_t t##_from_long(int64_t v) {                            \
    return from_f32(f32_to_odd(to_odd(v)));                                    \
  }
TO_HALF(BF16, bf16_from_f32)
TO_HALF(F16, f16_from_f32)

#define EACH_PAIR(t, X)                                                        \
  X(t, BF16)                                                                   \
  X(t, F16)                                                                    \
  X(t, F32)                                                                    \
  X(t, F64) X(t, I8) X(t, I16) X(t, I32) X(t, I64) X(t, U8) X(t, U16) X(t, U32)
#define CAST(t, r)                                                             \
  static void CAST_##t##_##r(void *restrict to, const void *restrict x,        \
                             const void *restrict y, const void *restrict z,   \
                             int count) {                                      \
    stored_##r *out = to;                                                      \
    const stored_##t *p = x;                                                   \
    (void)y, (void)z;                                                          \
    for (int i = 0; i < count; i++) {                                          \
      value_##t a = load_##t(p[i]);                                            \
      out[i] = _Generic(a,                                                     \
          float: r##_from_float,                                               \
          double: r##_from_double,                                             \
          uint32_t: r##_from_long,                                             \
          int64_t: r##_from_long,                                              \
          default: r##_from_int)(a);                                           \
    }                                                                          \
  }
EACH_TYPE(EACH_PAIR, CAST)

/* ---- tables ---- */
#define ENTRY(t, name) [DTYPE_##t] = name##_##t,
#define OF_ALL(name) [CALC_##name] = {EACH_TYPE(ENTRY, name)}
#define OF_FLOATS(name) [CALC_##name] = {EACH_FLOAT(ENTRY, name)}
#define OF_INTEGERS(name) [CALC_##name] = {EACH_INTEGER(ENTRY, name)}
static loop *const of_operands[CALC_OPS][DTYPE_COUNT] = {
    OF_ALL(ADD),
    OF_ALL(SUB),
    OF_ALL(MUL),
    OF_ALL(DIV),
    OF_ALL(NEG),
    OF_ALL(ABS),
    OF_ALL(MIN),
    OF_ALL(MAX),
    OF_ALL(LT),
    OF_ALL(LE),
    OF_ALL(EQ),
    OF_INTEGERS(NOT),
    OF_INTEGERS(AND),
    OF_INTEGERS(OR),
    OF_INTEGERS(XOR),
    OF_INTEGERS(SHL),
    OF_INTEGERS(SHR),
    OF_FLOATS(FLOOR),
    OF_FLOATS(CEIL),
    OF_FLOATS(TRUNC),
    OF_FLOATS(RINT),
    OF_FLOATS(ROUND),
    [CALC_FMA] = {ENTRY(F32, FMA) ENTRY(F64, FMA)},
};

#define CAST_ENTRY(t, r) [DTYPE_##t][DTYPE_##r] = CAST_##t##_##r,
static loop *const cast[DTYPE_COUNT][DTYPE_COUNT] = {
    EACH_TYPE(EACH_PAIR, CAST_ENTRY)};

static loop *find_loop(const struct calc *c) {
  const struct calc *first = c->arg[0];
  if (c->op == CALC_CAST)
    return cast[first->type][c->type];
  if (c->op != CALC_SELECT && c->op != CALC_BITS)
    return of_operands[c->op][first->type];
  switch (dtype_bytes(c->type)) {
  case 1:
    return c->op == CALC_BITS ? SAME_BITS_8 : SELECT_8;
  case 2:
    return c->op == CALC_BITS ? SAME_BITS_16 : SELECT_16;
  case 4:
    return c->op == CALC_BITS ? SAME_BITS_32 : SELECT_32;
  default:
    return c->op == CALC_BITS ? SAME_BITS_64 : SELECT_64;
  }
}

/* ---- programs ---- */

/* Where values lie: first the inputs, then what the program owns. */
struct step {
  loop *run;
  int to, from[CALC_OPERANDS];
};

/* Room for an input's elements where they do not lie beside each other in
 * memory; or for a single one, spread over all of it and kept for as long as it
 * does not change. */
struct room {
  bool spread;
  void *chunk;
};

struct calc_program {
  int step_count, result, value_count;
  int used_count, used[CALC_INPUTS];
  int input_bytes[CALC_INPUTS], bytes; /* of an element */
  struct step *step;
  const void **value; /* a chunk each; the inputs' are set by every call */
  struct room *room;  /* [CALC_INPUTS] */
  void *out;          /* results on their way to places that lie apart */
};

struct compiler {
  struct arena *a;
  struct calc_program *p;
  bool used[CALC_INPUTS];
  int free_count, *free; /* values that hold nothing any more */
};

static int operations(const struct calc *c) {
  int sum = 1;
  for (int i = 0; i < calc_operands(c->op); i++)
    sum += operations(c->arg[i]);
  return sum;
}

static void *new_chunk(struct arena *a) {
  return arena_alloc(a, CALC_CHUNK * sizeof(int64_t));
}

static int new_value(struct compiler *k) {
  if (k->free_count > 0)
    return k->free[--k->free_count];
  k->p->value[k->p->value_count] = new_chunk(k->a);
  return k->p->value_count++;
}

static void fill(void *chunk, const void *element, int bytes) {
  size_t size = (size_t)bytes;
  memcpy(chunk, element, size);
  for (size_t done = size; done < CALC_CHUNK * size; done *= 2)
    memcpy((char *)chunk + done, chunk, done);
}

static int compile_number(struct compiler *k, const struct calc *c) {
  int v = k->p->value_count++; /* never free again */
  char element[8];
  if (dtype_kind(c->type) == DTYPE_FLOAT)
    dtype_store_float(c->type, element, c->number);
  else
    dtype_store_int(c->type, element, c->integer);
  void *chunk = new_chunk(k->a);
  fill(chunk, element, dtype_bytes(c->type));
  k->p->value[v] = chunk;
  return v;
}

static int compile_input(struct compiler *k, const struct calc *c) {
  if (!k->used[c->input]) {
    k->used[c->input] = true;
    k->p->used[k->p->used_count++] = c->input;
    k->p->input_bytes[c->input] = dtype_bytes(c->type);
    k->p->room[c->input].chunk = new_chunk(k->a);
  }
  return c->input;
}

/* The value that holds the result. */
static int compile(struct compiler *k, const struct calc *c) {
  if (c->op == CALC_INPUT)
    return compile_input(k, c);
  if (c->op == CALC_NUMBER)
    return compile_number(k, c);
  struct step s = {.run = find_loop(c)};
  assert(s.run);
  for (int i = 0; i < CALC_OPERANDS; i++)
    s.from[i] = i < calc_operands(c->op) ? compile(k, c->arg[i]) : s.from[0];
  s.to = new_value(k); /* before its operands are free */
  for (int i = 0; i < calc_operands(c->op); i++)
    if (calc_operands(c->arg[i]->op) > 0)
      k->free[k->free_count++] = s.from[i];
  k->p->step[k->p->step_count++] = s;
  return s.to;
}

struct calc_program *calc_compile(struct arena *a, const struct calc *c) {
  size_t most = CALC_INPUTS + (size_t)operations(c);
  struct calc_program *p = arena_alloc(a, sizeof *p);
  p->value_count = CALC_INPUTS;
  p->bytes = dtype_bytes(c->type);
  p->step = arena_array(a, most, sizeof *p->step);
  p->value = arena_array(a, most, sizeof *p->value);
  p->room = arena_array(a, CALC_INPUTS, sizeof *p->room);
  p->out = new_chunk(a);
  struct compiler k = {.a = a, .p = p};
  k.free = arena_array(a, most, sizeof *k.free);
  p->result = compile(&k, c);
  return p;
}

static const void *spread(struct room *r, const void *element, int bytes) {
  if (!r->spread || memcmp(r->chunk, element, (size_t)bytes) != 0)
    fill(r->chunk, element, bytes);
  r->spread = true;
  return r->chunk;
}

/* Steps do not write where they read; the last one may write to `out` unless
 * an input lies there, which is old content. */
static bool apart(const struct calc_program *p, const void *const input[],
                  const void *out, int count) {
  uintptr_t to = (uintptr_t)out, bytes = (uintptr_t)(count * p->bytes);
  bool good = to % (uintptr_t)p->bytes == 0;
  for (int i = 0; i < p->used_count; i++) {
    uintptr_t from = (uintptr_t)input[p->used[i]];
    good =
        good && (to + bytes <= from ||
                 from + (uintptr_t)(count * p->input_bytes[p->used[i]]) <= to);
  }
  return good;
}

void calc_run(const struct calc_program *p, const void *const input[],
              const bool fixed[], void *out, int count) {
  assert(count >= 0 && count <= CALC_CHUNK);
  for (int i = 0; i < p->used_count; i++) {
    int j = p->used[i];
    p->value[j] =
        fixed[j] ? spread(&p->room[j], input[j], p->input_bytes[j]) : input[j];
  }
  int last = p->step_count - 1;
  bool direct = last >= 0 && apart(p, input, out, count);
  for (int i = 0; i <= last; i++) {
    const struct step *s = &p->step[i];
    void *to = direct && i == last ? out : (void *)p->value[s->to];
    s->run(to, p->value[s->from[0]], p->value[s->from[1]], p->value[s->from[2]],
           count);
  }
  if (!direct)
    memmove(out, p->value[p->result], (size_t)(count * p->bytes));
}

/* ---- rows ---- */

/* Elements of `bytes` bytes at any distance; loops of single moves. */
static void copy_row(char *to, int64_t to_stride, const char *from,
                     int64_t from_stride, int bytes, int count) {
#define COPY(n)                                                                \
  case n:                                                                      \
    for (int i = 0; i < count; i++)                                            \
      memcpy(to + i * to_stride, from + i * from_stride, n);                   \
    return;
  switch (bytes) {
    COPY(1)
    COPY(2)
    COPY(4)
    COPY(8)
  }
}

/* `count` elements beside each other, where loops may read them. */
static const void *gather(struct room *r, const char *from, int64_t stride,
                          int bytes, int count) {
  if (stride == bytes && (uintptr_t)from % (uintptr_t)bytes == 0)
    return from;
  copy_row(r->chunk, bytes, from, stride, bytes, count);
  r->spread = false;
  return r->chunk;
}

void calc_run_row(const struct calc_program *p, const void *const input[],
                  const int64_t stride_bytes[], void *out,
                  int64_t out_stride_bytes, int64_t count) {
  bool fixed[CALC_INPUTS];
  for (int i = 0; i < p->used_count; i++)
    fixed[p->used[i]] = stride_bytes[p->used[i]] == 0 && count > 1;
  for (int64_t done = 0; done < count; done += CALC_CHUNK) {
    int n = (int)(count - done < CALC_CHUNK ? count - done : CALC_CHUNK);
    char *to = (char *)out + done * out_stride_bytes;
    const void *chunk[CALC_INPUTS];
    for (int i = 0; i < p->used_count; i++) {
      int j = p->used[i];
      const char *from = (const char *)input[j] + done * stride_bytes[j];
      chunk[j] = fixed[j] ? from
                          : gather(&p->room[j], from, stride_bytes[j],
                                   p->input_bytes[j], n);
    }
    if (out_stride_bytes == p->bytes) {
      calc_run(p, chunk, fixed, to, n);
    } else {
      calc_run(p, chunk, fixed, p->out, n);
      copy_row(to, out_stride_bytes, p->out, p->bytes, p->bytes, n);
    }
  }
}
