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

#include "dtype.def"

/* ---- types: as stored, and as computed with ---- */
typedef float float32;
typedef double float64;
/* Unsigned, and wide enough that nothing is promoted to int. */
typedef uint32_t word8, word16, word32;
typedef uint64_t word64;

#define TYPES_HALF(t, bits)                                                    \
  typedef uint##bits##_t stored_##t;                                           \
  typedef float value_##t;
#define TYPES_FLOAT(t, bits) typedef float##bits stored_##t, value_##t;
#define TYPES_SIGNED(t, bits)                                                  \
  typedef int##bits##_t stored_##t, value_##t;                                 \
  typedef word##bits word_##t;
#define TYPES_UNSIGNED(t, bits)                                                \
  typedef uint##bits##_t stored_##t, value_##t;                                \
  typedef word##bits word_##t;
#define TYPES(t, name, bits, kind, ...) TYPES_##kind(t, bits)
DTYPE_ROWS(TYPES, )

/* X(t, bits, ..) for every type of some kinds: OF_<which>_<kind> passes a row
 * on or not. */
#define ROW_OF(t, name, bits, kind, which, X, ...)                             \
  OF_##which##_##kind(X, t, bits, __VA_ARGS__)
#define EACH(which, X, ...) DTYPE_ROWS(ROW_OF, which, X, __VA_ARGS__)
#define PASS(X, ...) X(__VA_ARGS__)
#define DROP(...)
#define OF_ANY_HALF PASS
#define OF_ANY_FLOAT PASS
#define OF_ANY_SIGNED PASS
#define OF_ANY_UNSIGNED PASS
#define OF_FLOATS_HALF PASS
#define OF_FLOATS_FLOAT PASS
#define OF_FLOATS_SIGNED DROP
#define OF_FLOATS_UNSIGNED DROP
#define OF_HALVES_HALF PASS
#define OF_HALVES_FLOAT DROP
#define OF_HALVES_SIGNED DROP
#define OF_HALVES_UNSIGNED DROP
#define OF_C_FLOATS_HALF DROP
#define OF_C_FLOATS_FLOAT PASS
#define OF_C_FLOATS_SIGNED DROP
#define OF_C_FLOATS_UNSIGNED DROP
#define OF_INTEGERS_HALF DROP
#define OF_INTEGERS_FLOAT DROP
#define OF_INTEGERS_SIGNED PASS
#define OF_INTEGERS_UNSIGNED PASS
#define OF_SIGNED_HALF DROP
#define OF_SIGNED_FLOAT DROP
#define OF_SIGNED_SIGNED PASS
#define OF_SIGNED_UNSIGNED DROP
#define OF_UNSIGNED_HALF DROP
#define OF_UNSIGNED_FLOAT DROP
#define OF_UNSIGNED_SIGNED DROP
#define OF_UNSIGNED_UNSIGNED PASS

/* The conversions of a HALF, by its name. */
#define HALF(t, to_f32, from_f32)                                              \
  static inline float load_##t(stored_##t s) { return to_f32(s); }             \
  static inline stored_##t store_##t(float v) { return from_f32(v); }
HALF(BF16, bf16_to_f32, bf16_from_f32)
HALF(BFP16, bf16_to_f32, bf16_from_f32)
HALF(F16, f16_to_f32, f16_from_f32)

#define SAME(t, ...)                                                           \
  static inline value_##t load_##t(stored_##t s) { return s; }                 \
  static inline stored_##t store_##t(value_##t v) { return v; }
EACH(C_FLOATS, SAME, )
EACH(INTEGERS, SAME, )

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
EACH(ANY, ORDER, )

#define FLOAT(t, ...)                                                          \
  LOOP(ADD, t, t, a + b)                                                       \
  LOOP(SUB, t, t, a - b)                                                       \
  LOOP(MUL, t, t, a *b)                                                        \
  LOOP(DIV, t, t, a / b)                                                       \
  LOOP(NEG, t, t, -a)                                                          \
  LOOP(ABS, t, t, _Generic(a, float : fabsf, double : fabs)(a))                \
  LOOP(MIN, t, t, b < a || a != a ? b : a)                                     \
  LOOP(MAX, t, t, b > a || a != a ? b : a)                                     \
  LOOP(FLOOR, t, t, _Generic(a, float : floorf, double : floor)(a))            \
  LOOP(CEIL, t, t, _Generic(a, float : ceilf, double : ceil)(a))               \
  LOOP(TRUNC, t, t, _Generic(a, float : truncf, double : trunc)(a))            \
  LOOP(RINT, t, t, _Generic(a, float : rintf, double : rint)(a))               \
  LOOP(ROUND, t, t, _Generic(a, float : roundf, double : round)(a))
EACH(FLOATS, FLOAT, )

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
EACH(INTEGERS, INTEGER, )

#define SIGNED_ABS(t, ...)                                                     \
  LOOP(ABS, t, t, a < 0 ? 0 - (word_##t)a : (word_##t)a)
EACH(SIGNED, SIGNED_ABS, )
#define UNSIGNED_ABS(t, ...) LOOP(ABS, t, t, a)
EACH(UNSIGNED, UNSIGNED_ABS, )

#define FUSED(t, ...)                                                          \
  static void FMA_##t(void *restrict to, const void *restrict x,               \
                      const void *restrict y, const void *restrict z,          \
                      int count) {                                             \
    stored_##t *out = to;                                                      \
    const stored_##t *a = x, *b = y, *c = z;                                   \
    for (int i = 0; i < count; i++)                                            \
      out[i] = _Generic(a[i], float : fmaf, double : fma)(a[i], b[i], c[i]);   \
  }
EACH(C_FLOATS, FUSED, )

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
#define CUT(t, via, low, high)                                                 \
  static inline stored_##t t##_from_double(double v) {                         \
    v = v == v ? v : 0;                                                        \
    v = v > low ? v : low;                                                     \
    v = v < high ? v : high;                                                   \
    return (stored_##t)(via)v;                                                 \
  }
#define CUT_LONG(t, ...)                                                       \
  static inline stored_##t t##_from_double(double v) {                         \
    return v != v         ? 0                                                  \
           : v >= 0x1p63  ? INT64_MAX                                          \
           : v <= -0x1p63 ? INT64_MIN                                          \
                          : (int64_t)v;                                        \
  }
/* By bits; an unsigned type of 64 bits would need more than int64_t. */
#define CUT_SIGNED_8 CUT
#define CUT_SIGNED_16 CUT
#define CUT_SIGNED_32 CUT
#define CUT_SIGNED_64 CUT_LONG
#define CUT_UNSIGNED_8 CUT
#define CUT_UNSIGNED_16 CUT
#define CUT_UNSIGNED_32 CUT
#define TO_SIGNED(t, bits, ...)                                                \
  CUT_SIGNED_##bits(t, int32_t, INT##bits##_MIN, INT##bits##_MAX)
#define TO_UNSIGNED(t, bits, ...)                                              \
  CUT_UNSIGNED_##bits(t, VIA_##bits, 0, UINT##bits##_MAX)
#define VIA_8 int32_t
#define VIA_16 int32_t
#define VIA_32 int64_t
EACH(SIGNED, TO_SIGNED, )
EACH(UNSIGNED, TO_UNSIGNED, )

#define TO_INTEGER(t, ...)                                                     \
  static inline stored_##t t##_from_float(float v) {                           \
    return t##_from_double((double)v);                                         \
  }                                                                            \
  static inline stored_##t t##_from_int(int32_t v) { return (stored_##t)v; }   \
  static inline stored_##t t##_from_long(int64_t v) { return (stored_##t)v; }
EACH(INTEGERS, TO_INTEGER, )

#define TO_FLOAT(t, ...)                                                       \
  static inline stored_##t t##_from_float(float v) { return (stored_##t)v; }   \
  static inline stored_##t t##_from_double(double v) { return (stored_##t)v; } \
  static inline stored_##t t##_from_int(int32_t v) { return (stored_##t)v; }   \
  static inline stored_##t t##_from_long(int64_t v) { return (stored_##t)v; }
EACH(C_FLOATS, TO_FLOAT, )

/* Of more than 53 bits the last ones become one that says whether they were
 * all zero, which rounding to 16 bits cannot tell from the number itself. */
static inline double to_odd(int64_t v) {
  bool exact = v > -((int64_t)1 << 53) && v < (int64_t)1 << 53;
  int64_t last = 0x7ff;
  return (double)(exact ? v : (v & ~last) | ((v & last) ? last + 1 : 0));
}

#define TO_HALF(t, ...)                                                        \
  static inline uint16_t t##_from_float(float v) { return store_##t(v); }      \
  static inline uint16_t t##_from_double(double v) {                           \
    return store_##t(f32_to_odd(v));                                           \
  }                                                                            \
  static inline uint16_t t##_from_int(int32_t v) {                             \
    return store_##t(f32_to_odd(v));                                           \
  }                                                                            \
  static inline uint16_t t##_from_long(int64_t v) {                            \
    return store_##t(f32_to_odd(to_odd(v)));                                   \
  }
EACH(HALVES, TO_HALF, )

/* X(t, r) for every pair of types.  A macro does not expand inside of itself,
 * so the inner list waits for a second scan. */
#define WAIT(x) x WAIT_FOR()
#define WAIT_FOR()
#define AGAIN(...) __VA_ARGS__
#define INNER_ROWS() DTYPE_ROWS
#define INNER(r, name, bits, kind, X, t) X(t, r)
#define OUTER(t, name, bits, kind, X) WAIT(INNER_ROWS)()(INNER, X, t)
#define EACH_PAIR(X) AGAIN(DTYPE_ROWS(OUTER, X))

#define CAST(t, r)                                                             \
  static void CAST_##t##_##r(void *restrict to, const void *restrict x,        \
                             const void *restrict y, const void *restrict z,   \
                             int count) {                                      \
    stored_##r *out = to;                                                      \
    const stored_##t *p = x;                                                   \
    (void)y, (void)z;                                                          \
    for (int i = 0; i < count; i++) {                                          \
      value_##t a = load_##t(p[i]);                                            \
      out[i] = _Generic(a, float                                               \
                        : r##_from_float, double                               \
                        : r##_from_double, uint32_t                            \
                        : r##_from_long, int64_t                               \
                        : r##_from_long, default                               \
                        : r##_from_int)(a);                                    \
    }                                                                          \
  }
EACH_PAIR(CAST)

/* ---- tables: every operation on every type that it takes has a loop ---- */
#define ENTRY(t, bits, name) [DTYPE_##t] = name##_##t,
#define LOOPS_SAME(id, takes) EACH(takes, ENTRY, id)
#define LOOPS_TRUTH(id, takes) EACH(takes, ENTRY, id)
#define LOOPS_SECOND(id, takes) EACH(takes, ENTRY_OF_BITS, id)
#define LOOPS_NAMED(id, takes)
#define ENTRY_OF_BITS(t, bits, name) [DTYPE_##t] = name##_##bits,
static loop *const of_operands[CALC_OPS][DTYPE_COUNT + 1] = {
#define CALC(id, name, operands, takes, gives)                                 \
  [CALC_##id] = {LOOPS_##gives(id, takes)[DTYPE_COUNT] = NULL},
#include "calc.def"
#undef CALC
};

static loop *const same_bits[DTYPE_COUNT] = {
    EACH(ANY, ENTRY_OF_BITS, SAME_BITS)};

#define CAST_ENTRY(t, r) [DTYPE_##t][DTYPE_##r] = CAST_##t##_##r,
static loop *const cast[DTYPE_COUNT][DTYPE_COUNT] = {EACH_PAIR(CAST_ENTRY)};

static loop *find_loop(const struct calc *c) {
  if (c->op == CALC_CAST)
    return cast[c->arg[0]->type][c->type];
  if (c->op == CALC_BITS)
    return same_bits[c->type];
  /* SELECT's first operand is a truth value */
  return of_operands[c->op][c->arg[c->op == CALC_SELECT]->type];
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
