/* kernel_check.c -- one core, one kernel, one exact reference.
 *
 * The reference follows isa.md (C8 layouts, E1 arithmetic of vmac.f, E3
 * rounding, E4 and E5 narrowing and widening) element by element and shares
 * nothing with generator or simulator. */
#include "kernel_check.h"

#include "device_most.h"

#include "asm.h"
#include "core.h"

#include <math.h>
#include <string.h>

/* ---- running ---- */

enum {
  PROGRAM_BYTES = DEVICE_MOST_PROGRAM_BYTES,
  MEMORY_AT = 0x70000,
  STEP_LIMIT = 4000000
};

/* A ring of two buffers, as a DMA would serve it: a buffer has its data from
 * the moment it is taken until it is given back, and noise otherwise. */
struct ring {
  int take, give;       /* locks */
  int taken, given;     /* so far */
  int blocks;           /* that come at all */
  int64_t at[2], bytes; /* in memory */
  uint8_t *data;        /* block after block; what is given back takes its place
                         */
};
enum { RINGS = 3 };
struct feed {
  uint8_t *memory;
  struct ring ring[RINGS];
  void (*cycle)(void *context, uint32_t banks); /* or NULL */
  void *context;
};

enum { NOISE = 0x7f }; /* as a float: NaN, or huge */

static void fill_noise(uint8_t *to, int64_t bytes) {
  memset(to, NOISE, (size_t)bytes);
}

static bool ring_acquire(void *context, int lock, int value) {
  struct feed *f = context;
  for (int i = 0; i < RINGS; i++) {
    struct ring *r = &f->ring[i];
    if (lock != r->take || value != -1 || r->taken == r->blocks ||
        r->taken - r->given >= 2)
      continue;
    memcpy(f->memory + r->at[r->taken % 2], r->data + r->taken * r->bytes,
           (size_t)r->bytes);
    r->taken++;
    return true;
  }
  return false;
}

static void ring_release(void *context, int lock, int value) {
  struct feed *f = context;
  for (int i = 0; i < RINGS; i++) {
    struct ring *r = &f->ring[i];
    if (lock != r->give || value != 1 || r->given == r->taken)
      continue;
    uint8_t *from = f->memory + r->at[r->given % 2];
    memcpy(r->data + r->given++ * r->bytes, from, (size_t)r->bytes);
    fill_noise(from, r->bytes);
  }
}

static bool ring_guards(void *context, int lock, bool acquire,
                        uint32_t address) {
  struct feed *f = context;
  for (int i = 0; i < RINGS; i++) {
    const struct ring *r = &f->ring[i];
    int buffer = acquire ? r->taken - 1 : r->given;
    int64_t at = (int64_t)address - MEMORY_AT - r->at[buffer & 1];
    if (lock == (acquire ? r->take : r->give) && at >= 0 && at < r->bytes)
      return true;
  }
  return false;
}

/* The kernel at 0, a `done` to return to behind it. */
static bool load(const struct asm_program *p, uint8_t program[PROGRAM_BYTES],
                 uint32_t *back, struct check_outcome *o, struct diag *d) {
  static const char done[] = "  done\n  nop\n  nop\n  nop\n  nop\n  nop\n";
  struct arena *a = arena_open();
  struct text bytes = {0}, tail = {0};
  const struct asm_program *end = asm_parse(a, "done", done, d);
  bool ok = end && asm_check(p, d) && asm_bytes(p, 0, NULL, 0, &bytes, d);
  *back = (uint32_t)(bytes.length + 15) / 16 * 16;
  ok = ok && asm_bytes(end, *back, NULL, 0, &tail, d);
  if (ok && *back + tail.length > PROGRAM_BYTES)
    ok = diag_error(d, loc_none(), "%zu bytes of program; a core has %d",
                    bytes.length, PROGRAM_BYTES);
  if (ok) {
    memset(program, 0, PROGRAM_BYTES);
    memcpy(program, bytes.data, bytes.length);
    memcpy(program + *back, tail.data, tail.length);
  }
  o->program_bytes = (int)bytes.length;
  text_free(&bytes);
  text_free(&tail);
  arena_close(a);
  return ok;
}

/* The arguments of the kernel, in the order of `argument`. */
enum { POINTERS = 3, ARGUMENTS = 5 };
static const char *const argument[ARGUMENTS] = {"p0", "p1", "p2", "r4", "r5"};

static bool run_fed(const struct asm_program *p, struct feed *feed,
                    const uint32_t value[], int count, struct check_outcome *o,
                    struct diag *d) {
  uint8_t program[PROGRAM_BYTES];
  uint32_t back;
  *o = (struct check_outcome){0};
  if (!load(p, program, &back, o, d))
    return false;
  struct core_surroundings around = {.context = feed,
                                     .program = program,
                                     .memory = {NULL, NULL, NULL, feed->memory},
                                     .acquire = ring_acquire,
                                     .release = ring_release,
                                     .guards = ring_guards};
  struct core *core = core_open(&around);
  core_strict(core, true);
  core_reset(core, 0);
  for (int i = 0; i < count; i++)
    core_write_register(core, argument[i],
                        value[i] + (i < POINTERS ? MEMORY_AT : 0));
  core_write_register(core, "lr", back);
  core_enable(core, true);
  for (int i = 0; i < STEP_LIMIT && core_state(core) == CORE_RUNNING; i++) {
    unsigned banks;
    const struct core_counts *c = core_counts(core);
    uint64_t macs = c->macs;
    if (core_pc(core) == back && !o->cycles) {
      o->cycles = c->cycles;
      o->bundles = c->bundles;
      o->macs = c->macs;
      o->stalls = c->stall[STALL_MEMORY];
    }
    core_step(core, &banks);
    if (feed->cycle && !o->cycles)
      feed->cycle(feed->context, banks);
    if (c->macs != macs) {
      o->first_mac = macs ? o->first_mac : c->cycles - 1;
      o->last_mac = c->cycles - 1;
    }
  }
  bool done = core_state(core) == CORE_DONE;
  if (core_state(core) == CORE_FAILED)
    *d = *core_diag(core);
  else if (!done)
    diag_error(d, loc_none(), "the kernel does not return");
  core_close(core);
  return done;
}

bool check_run(const struct asm_program *p, uint8_t memory[CHECK_MEMORY_BYTES],
               const uint32_t pointer[3], struct check_outcome *o,
               struct diag *d) {
  struct feed none = {.memory = memory};
  return run_fed(p, &none, pointer, POINTERS, o, d);
}

bool check_run_beside(const struct asm_program *p,
                      uint8_t memory[CHECK_MEMORY_BYTES],
                      const uint32_t pointer[3],
                      void (*cycle)(void *context, uint32_t banks),
                      void *context, struct check_outcome *o, struct diag *d) {
  struct feed none = {.memory = memory, .cycle = cycle, .context = context};
  return run_fed(p, &none, pointer, POINTERS, o, d);
}

/* ---- data ---- */

struct random {
  uint64_t state;
};

static uint32_t next(struct random *r) {
  r->state ^= r->state << 13;
  r->state ^= r->state >> 7;
  r->state ^= r->state << 17;
  return (uint32_t)(r->state >> 20);
}

static uint16_t random_bf16(struct random *r, enum check_data data) {
  uint32_t w = next(r), kind = next(r) % 32;
  int e = 120 + (w >> 16) % 12;
  if (data != CHECK_RANDOM && kind < 8)
    e = (w >> 8) % 191; /* products stay finite; 0 makes denormals */
  if (data != CHECK_RANDOM && kind == 8)
    return w & 0x8000;
  if (data == CHECK_SPECIAL && next(r) % 512 == 0)
    return (w & 0x8000) | 0x7f80 | (w % 4 ? 0 : (w & 0x7f));
  return (uint16_t)((w & 0x807f) | (uint32_t)e << 7);
}

static void fill(struct random *r, enum dtype type, enum check_data data,
                 uint8_t *at, int64_t count) {
  int size = dtype_bytes(type);
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = (uint64_t)next(r) << 32 | next(r);
    if (type == DTYPE_BF16)
      bits = random_bf16(r, data);
    else if (type == DTYPE_F32)
      bits = (uint32_t)random_bf16(r, data) << 16 | (bits & 0xffff);
    else if (data != CHECK_RANDOM && next(r) % 4 == 0)
      bits = (next(r) % 2 ? UINT64_C(1) : UINT64_MAX) << (8 * size - 1);
    else if (type == DTYPE_I64)
      bits = (uint64_t)((int64_t)bits >> 8);
    memcpy(at + i * size, &bits, size); /* hosts are little endian */
  }
}

/* ---- layouts: isa.md C8 and kernels.h ---- */

/* Element (i, j) of a rows x columns matrix in small blocks of r x c. */
static int64_t blocked(int columns, int r, int c, bool transposed, int i,
                       int j) {
  int64_t block = (int64_t)(i / r) * (columns / c) + j / c;
  int inner = transposed ? j % c * r + i % r : i % r * c + j % c;
  return block * r * c + inner;
}

/* ---- bf16: isa.md E1, E2 ---- */

/* x / 2^shift, to nearest, ties to even. */
static int64_t round_even(int64_t x, int shift) {
  if (shift == 0)
    return x;
  if (shift > 62)
    return 0;
  int64_t floor = x >> shift, rest = x - floor * ((int64_t)1 << shift);
  int64_t half = (int64_t)1 << (shift - 1);
  return floor + (rest > half || (rest == half && (floor & 1)));
}

enum { STEP = 8, NAN32 = 0x7fc00000, INF32 = 0x7f800000 };

static bool is_nan(uint32_t x) { return (x & 0x7fffffff) > INF32; }
static bool is_inf(uint32_t x) { return (x & 0x7fffffff) == INF32; }

/* The result if an input is infinite or not a number; false if none is. */
static bool special_sum(uint32_t acc, const uint16_t *a, const uint16_t *b,
                        uint32_t *result) {
  bool nan = is_nan(acc), inf[2] = {acc == INF32, acc == 0xff800000};
  for (int i = 0; i < STEP; i++) {
    uint32_t x = (uint32_t)a[i] << 16, y = (uint32_t)b[i] << 16;
    bool zero = !(x & 0x7fffffff) || !(y & 0x7fffffff);
    nan |= is_nan(x) || is_nan(y) || (zero && (is_inf(x) || is_inf(y)));
    if (is_inf(x) || is_inf(y))
      inf[(x ^ y) >> 31] = true;
  }
  *result = nan || (inf[0] && inf[1]) ? NAN32 : INF32 | (inf[1] ? 1u << 31 : 0);
  return nan || inf[0] || inf[1];
}

/* acc + sum of a[i] * b[i]: every term is rounded to the place of the largest
 * one, the sum is exact and rounded once. */
static uint32_t mac_bf16(uint32_t acc, const uint16_t *a, const uint16_t *b) {
  int64_t term[STEP], acc_term = acc & 0x7fffff;
  int exponent[STEP], q = 0, top;
  uint32_t special;
  if (special_sum(acc, a, b, &special))
    return special;
  if (acc & 0x7fffffff) {
    int e = acc >> 23 & 255;
    q = (e ? e : 1) + 128;
    acc_term |= e ? 0x800000 : 0;
  }
  top = q;
  for (int i = 0; i < STEP; i++) {
    int ex = a[i] >> 7 & 255, ey = b[i] >> 7 & 255;
    int64_t mx = (a[i] & 127) | (ex ? 128 : 0);
    int64_t my = (b[i] & 127) | (ey ? 128 : 0);
    term[i] = mx * my * 512 * ((a[i] ^ b[i]) & 0x8000 ? -1 : 1);
    exponent[i] = mx && my ? (ex ? ex : 1) + (ey ? ey : 1) + 1 : 0;
    top = exponent[i] > top ? exponent[i] : top;
  }
  int64_t sum = q ? round_even(acc_term, top - q) : 0;
  sum = acc >> 31 ? -sum : sum;
  for (int i = 0; i < STEP; i++)
    if (exponent[i])
      sum += round_even(term[i], top - exponent[i]);
  if (!sum)
    return 0;
  int64_t magnitude = sum < 0 ? -sum : sum;
  int lead = 63 - __builtin_clzll((uint64_t)magnitude);
  if (lead <= 23)
    magnitude <<= 23 - lead;
  else
    magnitude = round_even(magnitude, lead - 23);
  if (magnitude >> 24)
    magnitude >>= 1, lead++;
  int e = top + lead - 23 - 128;
  uint32_t sign = sum < 0 ? 1u << 31 : 0;
  if (e <= 0)
    return 0;
  return sign | (e >= 255 ? INF32 : (uint32_t)e << 23 | (magnitude & 0x7fffff));
}

/* ---- rounding and narrowing: isa.md E3, E4 ---- */

/* Whether a value rounds up from its floor, which is odd or not and has `rest`
 * of `one` above it. */
static bool rounds_up(enum kernel_rounding mode, bool negative, bool odd,
                      uint64_t rest, uint64_t one) {
  bool tie = 2 * rest == one, beyond = 2 * rest > one;
  switch (mode) {
  case KERNEL_ROUND_EVEN:
    return beyond || (tie && odd);
  case KERNEL_ROUND_ODD:
    return beyond || (tie && !odd);
  case KERNEL_ROUND_HALF_DOWN:
    return beyond;
  case KERNEL_ROUND_HALF_UP:
    return beyond || tie;
  case KERNEL_ROUND_HALF_TO_ZERO:
    return beyond || (tie && negative);
  case KERNEL_ROUND_HALF_AWAY:
    return beyond || (tie && !negative);
  case KERNEL_ROUND_FLOOR:
    return false;
  case KERNEL_ROUND_CEILING:
    return rest > 0;
  case KERNEL_ROUND_TO_ZERO:
    return negative && rest > 0;
  case KERNEL_ROUND_AWAY:
    return !negative && rest > 0;
  case KERNEL_ROUNDINGS:
    break;
  }
  return false;
}

static int64_t round_shift(enum kernel_rounding mode, int64_t x, int shift) {
  if (shift == 0)
    return x;
  int64_t floor = x >> shift;
  uint64_t rest = (uint64_t)(x - floor * ((int64_t)1 << shift));
  return floor + rounds_up(mode, x < 0, floor & 1, rest, UINT64_C(1) << shift);
}

/* The top half of an fp32, rounded.  As a number line, negative floats count
 * their magnitude downward. */
static uint16_t narrow_bf16(enum kernel_rounding mode, uint32_t x) {
  if (is_nan(x))
    return 0x7fc0;
  bool negative = x >> 31;
  int64_t magnitude = x & 0x7fffffff, line = negative ? -magnitude : magnitude;
  int64_t floor = line >> 16;
  floor += rounds_up(mode, negative, floor & 1, (uint64_t)line & 0xffff, 65536);
  return (uint16_t)(negative ? 0x8000 | -floor : floor);
}

static int64_t clamp(int64_t x, int bits, bool is_signed, bool symmetric) {
  int64_t high =
      is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
  int64_t low = !is_signed ? 0 : symmetric ? -high : -high - 1;
  return x < low ? low : x > high ? high : x;
}

/* ---- the product ---- */

struct problem {
  const struct kernel_gemm *k;
  struct kernel_shape s;
  const uint8_t *a, *b, *c;
  const uint32_t *a_value, *b_value; /* f32 inputs before they are split */
};

static const uint8_t *element(const uint8_t *base, enum dtype type,
                              int64_t index) {
  return base + index * dtype_bytes(type);
}

/* acc + A * B of the first or second halves of both. */
static uint32_t add_product(const struct problem *p, int i, int j, bool a_low,
                            bool b_low, uint32_t acc) {
  const struct kernel_gemm *k = p->k;
  int64_t a_half = a_low ? (int64_t)k->m * k->k : 0;
  int64_t b_half = b_low ? (int64_t)k->k * k->n : 0;
  for (int step = 0; step < k->k; step += STEP) {
    uint16_t a[STEP], b[STEP];
    for (int n = 0; n < STEP; n++) {
      int64_t a_at = blocked(k->k, p->s.m, p->s.k, k->ta, i, step + n);
      int64_t b_at = blocked(k->n, p->s.k, p->s.n, k->tb, step + n, j);
      memcpy(&a[n], element(p->a, DTYPE_BF16, a_half + a_at), 2);
      memcpy(&b[n], element(p->b, DTYPE_BF16, b_half + b_at), 2);
    }
    /* without an old value the first step has no accumulator at all */
    acc = mac_bf16(acc, a, b);
  }
  return acc;
}

static uint64_t expect_float(const struct problem *p, int i, int j,
                             int64_t c_at) {
  const struct kernel_gemm *k = p->k;
  uint32_t acc = 0;
  if (!k->zero && k->out == DTYPE_F32)
    memcpy(&acc, element(p->c, DTYPE_F32, c_at), 4);
  else if (!k->zero) {
    uint16_t half;
    memcpy(&half, element(p->c, DTYPE_BF16, c_at), 2);
    acc = (uint32_t)half << 16;
  }
  acc = add_product(p, i, j, false, false, acc);
  if (k->in0 == DTYPE_F32) {
    acc = add_product(p, i, j, false, true, acc);
    acc = add_product(p, i, j, true, false, acc);
  }
  if (k->relu && acc >> 31)
    acc = 0;
  return k->out == DTYPE_F32 ? acc : narrow_bf16(k->rounding, acc);
}

static uint64_t expect_int(const struct problem *p, int i, int j,
                           int64_t c_at) {
  const struct kernel_gemm *k = p->k;
  bool wide = dtype_bytes(k->in0) == 2 && dtype_bytes(k->in1) == 2;
  int lane = wide ? 64 : 32, bits = 8 * dtype_bytes(k->out);
  bool narrows = bits < lane;
  uint64_t sum = 0;
  if (!k->zero) {
    int64_t old = dtype_load_int(k->out, element(p->c, k->out, c_at));
    sum = (uint64_t)old << (narrows ? k->shift : 0);
    if (narrows && k->saturation != KERNEL_WRAP && lane == 32)
      sum = (uint64_t)clamp((int64_t)sum, lane, true,
                            k->saturation == KERNEL_SATURATE_SYMMETRIC);
  }
  for (int n = 0; n < k->k; n++) {
    int64_t a_at = blocked(k->k, p->s.m, p->s.k, k->ta, i, n);
    int64_t b_at = blocked(k->n, p->s.k, p->s.n, k->tb, n, j);
    sum += (uint64_t)(dtype_load_int(k->in0, element(p->a, k->in0, a_at)) *
                      dtype_load_int(k->in1, element(p->b, k->in1, b_at)));
  }
  int64_t acc = lane == 32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
  if (k->relu && acc < 0)
    acc = 0;
  if (!narrows)
    return (uint64_t)acc;
  acc = round_shift(k->rounding, acc, k->shift);
  if (k->saturation != KERNEL_WRAP)
    acc = clamp(acc, bits, dtype_kind(k->out) == DTYPE_SIGNED,
                k->saturation == KERNEL_SATURATE_SYMMETRIC);
  return (uint64_t)acc;
}

static bool same(enum dtype type, uint64_t got, uint64_t expected) {
  if (type == DTYPE_F32 && is_nan((uint32_t)expected))
    return is_nan((uint32_t)got);
  if (type == DTYPE_BF16 && is_nan((uint32_t)expected << 16))
    return is_nan((uint32_t)got << 16);
  int unused = 64 - 8 * dtype_bytes(type);
  return got << unused == expected << unused;
}

/* The result of the product, which may take the place of p->c. */
static void expect(const struct problem *p, uint8_t *result) {
  const struct kernel_gemm *k = p->k;
  bool is_float = dtype_kind(k->in0) == DTYPE_FLOAT;
  int size = dtype_bytes(k->out);
  for (int i = 0; i < k->m; i++)
    for (int j = 0; j < k->n; j++) {
      int64_t at = blocked(k->n, p->s.m, p->s.n, k->tc, i, j);
      uint64_t value =
          is_float ? expect_float(p, i, j, at) : expect_int(p, i, j, at);
      memcpy(result + at * size, &value, (size_t)size);
    }
}

static void compare(const struct problem *p, const uint8_t *result,
                    const uint8_t *expected, struct check_outcome *o) {
  const struct kernel_gemm *k = p->k;
  int size = dtype_bytes(k->out);
  for (int i = 0; i < k->m; i++)
    for (int j = 0; j < k->n; j++) {
      int64_t at = blocked(k->n, p->s.m, p->s.n, k->tc, i, j);
      uint64_t got = 0, want = 0;
      memcpy(&got, result + at * size, (size_t)size);
      memcpy(&want, expected + at * size, (size_t)size);
      if (same(k->out, got, want))
        continue;
      if (!o->wrong++)
        snprintf(o->first, sizeof o->first,
                 "element (%d, %d) is 0x%llx, should be 0x%llx", i, j,
                 (unsigned long long)got, (unsigned long long)want);
    }
}

/* ---- f32 inputs, in halves (kernels.h) ---- */

static float f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Puts the halves of random values into memory and returns the values. */
static const uint32_t *fill_halves(struct arena *a, struct random *r,
                                   enum check_data data, uint8_t *at,
                                   int64_t count) {
  uint32_t *value = arena_array(a, count, sizeof *value);
  fill(r, DTYPE_F32, data, (uint8_t *)value, count);
  for (int64_t i = 0; i < count; i++) {
    uint16_t high = narrow_bf16(KERNEL_ROUND_EVEN, value[i]), low = 0;
    float rest = f32(value[i]) - f32((uint32_t)high << 16);
    uint32_t bits;
    memcpy(&bits, &rest, sizeof bits);
    if (isfinite(rest))
      low = narrow_bf16(KERNEL_ROUND_EVEN, bits);
    memcpy(at + 2 * i, &high, 2);
    memcpy(at + 2 * (count + i), &low, 2);
  }
  return value;
}

/* The largest |C - exact| over |C before| + sum of |a b|. */
static double largest_error(const struct problem *p, const uint8_t *result) {
  const struct kernel_gemm *k = p->k;
  double largest = 0;
  for (int i = 0; i < k->m; i++)
    for (int j = 0; j < k->n; j++) {
      int64_t at = blocked(k->n, p->s.m, p->s.n, k->tc, i, j);
      double got = dtype_load_float(k->out, element(result, k->out, at));
      double exact =
          k->zero ? 0 : dtype_load_float(k->out, element(p->c, k->out, at));
      double scale = fabs(exact);
      for (int n = 0; n < k->k; n++) {
        int64_t a_at = blocked(k->k, p->s.m, p->s.k, k->ta, i, n);
        int64_t b_at = blocked(k->n, p->s.k, p->s.n, k->tb, n, j);
        double term = (double)f32(p->a_value[a_at]) * f32(p->b_value[b_at]);
        exact += term;
        scale += fabs(term);
      }
      exact = k->relu && exact < 0 ? 0 : exact;
      largest = fmax(largest, fabs(got - exact) / scale);
    }
  return largest;
}

struct kernel_steps check_steps(int count, int group) {
  return (struct kernel_steps){.count = count,
                               .group = group,
                               .c_bytes = 16384,
                               .a = {.full = 49, .empty = 48},
                               .b = {.full = 51, .empty = 50},
                               .c = {.full = 53, .empty = 52}};
}

static void sizes(const struct kernel_gemm *k, int64_t bytes[3]) {
  bytes[0] = (int64_t)k->m * k->k * dtype_bytes(k->in0);
  bytes[1] = (int64_t)k->k * k->n * dtype_bytes(k->in1);
  bytes[2] = (int64_t)k->m * k->n * dtype_bytes(k->out);
}

bool check_place(const struct kernel_gemm *k, uint32_t at[3]) {
  enum { BANK = 16384, WORD = 32 };
  int64_t bytes[3];
  sizes(k, bytes);
  int64_t b = (bytes[0] + BANK - 1) / BANK * BANK;
  int64_t c = (b + bytes[1] + BANK - 1) / BANK * BANK;
  if (c + bytes[2] > CHECK_MEMORY_BYTES) /* they share a bank: C at the end */
    c = (CHECK_MEMORY_BYTES - bytes[2]) / WORD * WORD;
  if (b + bytes[1] > c)
    b = (c - bytes[1]) / WORD * WORD;
  if (c < 0 || b < 0 || bytes[0] > b)
    return false;
  at[0] = 0, at[1] = (uint32_t)b, at[2] = (uint32_t)c;
  return true;
}

/* Where everything lies: two buffers of A and of B, or one; blocks of C. */
struct layout {
  int64_t a[2], b[2], c[2];
};

static int64_t next_bank(int64_t at) {
  enum { BANK = 16384 };
  return (at + BANK - 1) / BANK * BANK;
}

static bool place_steps(const struct kernel_gemm *k,
                        const struct kernel_steps *steps, struct layout *l) {
  int64_t bytes[3];
  sizes(k, bytes);
  for (int bank = 1; bank >= 0; bank--) {
    int64_t b = bank ? next_bank(2 * bytes[0]) : 2 * bytes[0];
    int64_t c = bank ? next_bank(b + 2 * bytes[1]) : b + 2 * bytes[1];
    *l = (struct layout){
        {0, bytes[0]}, {b, b + bytes[1]}, {c, c + steps->c_bytes}};
    if (l->c[steps->group - 1] + bytes[2] <= CHECK_MEMORY_BYTES)
      return steps->group == 1 || bytes[2] <= steps->c_bytes;
  }
  return false;
}

static bool place(const struct kernel_gemm *k, const struct kernel_steps *steps,
                  struct layout *l) {
  uint32_t at[3];
  if (steps)
    return place_steps(k, steps, l);
  if (!check_place(k, at))
    return false;
  *l = (struct layout){{at[0], at[0]}, {at[1], at[1]}, {at[2], at[2]}};
  return true;
}

bool check_fits(const struct kernel_gemm *k, const struct kernel_steps *steps) {
  struct layout l;
  return place(k, steps, &l);
}

/* What one run works on. */
struct test {
  struct problem p;
  const struct kernel_steps *steps; /* or NULL */
  struct layout at;
  int64_t bytes[3];
  int group, a_blocks, b_blocks;
  uint8_t *a, *b, *c; /* block after block */
  uint8_t *expected;  /* c behind the last step */
};

static void fill_inputs(struct test *t, struct arena *a, struct random *r,
                        enum check_data data) {
  const struct kernel_gemm *k = t->p.k;
  int64_t a_count = (int64_t)k->m * k->k, b_count = (int64_t)k->k * k->n;
  for (int i = 0; i < t->a_blocks; i++) {
    uint8_t *to = t->a + i * t->bytes[0];
    if (k->in0 == DTYPE_F32)
      t->p.a_value = fill_halves(a, r, data, to, a_count);
    else
      fill(r, k->in0, data, to, a_count);
  }
  for (int i = 0; i < t->b_blocks; i++) {
    uint8_t *to = t->b + i * t->bytes[1];
    if (k->in0 == DTYPE_F32)
      t->p.b_value = fill_halves(a, r, data, to, b_count);
    else
      fill(r, k->in1, data, to, b_count);
  }
}

static void expect_all(struct test *t) {
  struct kernel_gemm step = *t->p.k;
  struct problem p = {.k = &step, .s = t->p.s};
  for (int i = 0; i < t->a_blocks; i++) {
    uint8_t *c = t->expected + i % t->group * t->bytes[2];
    step.zero = t->p.k->zero && i < t->group;
    p.a = t->a + i * t->bytes[0];
    p.b = t->b + i / t->group * t->bytes[1];
    p.c = c;
    expect(&p, c);
  }
}

static void prepare(struct test *t, struct arena *a, struct random *r,
                    enum check_data data) {
  const struct kernel_gemm *k = t->p.k;
  t->group = t->steps ? t->steps->group : 1;
  t->b_blocks = t->steps ? t->steps->count : 1;
  t->a_blocks = t->b_blocks * t->group;
  t->a = arena_array(a, t->a_blocks, t->bytes[0]);
  t->b = arena_array(a, t->b_blocks, t->bytes[1]);
  t->c = arena_array(a, t->group, t->bytes[2]);
  fill_inputs(t, a, r, data);
  fill(r, k->out, data, t->c, (int64_t)k->m * k->n * t->group);
  t->expected = arena_copy(a, t->c, t->group, t->group, t->bytes[2]);
  expect_all(t);
}

static struct ring make_ring(int take, int give, int blocks,
                             const int64_t at[2], int64_t bytes,
                             uint8_t *data) {
  return (struct ring){.take = take,
                       .give = give,
                       .blocks = blocks,
                       .at = {at[0], at[1]},
                       .bytes = bytes,
                       .data = data};
}

static bool run_steps(const struct test *t, const struct asm_program *program,
                      struct feed *f, struct check_outcome *o, struct diag *d) {
  const struct layout *l = &t->at;
  const struct kernel_steps *s = t->steps;
  f->ring[0] =
      make_ring(s->a.full, s->a.empty, t->a_blocks, l->a, t->bytes[0], t->a);
  f->ring[1] =
      make_ring(s->b.full, s->b.empty, t->b_blocks, l->b, t->bytes[1], t->b);
  f->ring[2] =
      make_ring(s->c.empty, s->c.full, t->group, l->c, t->bytes[2], t->c);
  const uint32_t value[ARGUMENTS] = {
      (uint32_t)l->a[0], (uint32_t)l->b[0], (uint32_t)l->c[0],
      (uint32_t)(l->a[1] - l->a[0]), (uint32_t)(l->b[1] - l->b[0])};
  if (!run_fed(program, f, value, ARGUMENTS, o, d))
    return false;
  for (int i = 0; i < RINGS; i++)
    if (f->ring[i].given != f->ring[i].blocks)
      return diag_error(d, loc_none(),
                        "%d of %d buffers of ring %d are given back",
                        f->ring[i].given, f->ring[i].blocks, i);
  return true;
}

/* Without steps: what is given back is what lies in memory at the end. */
static bool run_product(const struct test *t, const struct asm_program *program,
                        struct feed *f, struct check_outcome *o,
                        struct diag *d) {
  const int64_t at[POINTERS] = {t->at.a[0], t->at.b[0], t->at.c[0]};
  uint8_t *const data[POINTERS] = {t->a, t->b, t->c};
  uint32_t value[POINTERS];
  for (int i = 0; i < POINTERS; i++) {
    memcpy(f->memory + at[i], data[i], (size_t)t->bytes[i]);
    value[i] = (uint32_t)at[i];
  }
  if (!run_fed(program, f, value, POINTERS, o, d))
    return false;
  for (int i = 0; i < POINTERS; i++) {
    memcpy(data[i], f->memory + at[i], (size_t)t->bytes[i]);
    fill_noise(f->memory + at[i], t->bytes[i]);
  }
  return true;
}

/* All of memory is noise when the kernel owns nothing. */
static bool run_test(const struct test *t, const struct asm_program *program,
                     struct arena *a, struct check_outcome *o, struct diag *d) {
  struct feed f = {.memory = arena_array(a, CHECK_MEMORY_BYTES, 1)};
  uint8_t *before_a =
      arena_copy(a, t->a, t->a_blocks, t->a_blocks, t->bytes[0]);
  uint8_t *before_b =
      arena_copy(a, t->b, t->b_blocks, t->b_blocks, t->bytes[1]);
  fill_noise(f.memory, CHECK_MEMORY_BYTES);
  if (!(t->steps ? run_steps : run_product)(t, program, &f, o, d))
    return false;
  bool same =
      memcmp(before_a, t->a, (size_t)(t->a_blocks * t->bytes[0])) == 0 &&
      memcmp(before_b, t->b, (size_t)(t->b_blocks * t->bytes[1])) == 0;
  for (int i = 0; i < CHECK_MEMORY_BYTES; i++)
    same = same && f.memory[i] == NOISE;
  return same || diag_error(d, loc_none(), "the kernel writes outside of C");
}

bool check_gemm(const struct kernel_gemm *k, const struct kernel_steps *steps,
                const struct asm_program *program, enum check_data data,
                uint64_t seed, struct check_outcome *o, struct diag *d) {
  struct random random = {seed * 2654435761u + 88172645463325252u};
  struct test t = {.p.k = k, .steps = steps};
  *o = (struct check_outcome){0};
  if (!place(k, steps, &t.at) || !kernel_shape(k->in0, k->in1, k->out, &t.p.s))
    return diag_error(d, loc_none(), "A, B and C do not fit into a tile");
  sizes(k, t.bytes);
  struct arena *a = arena_open();
  prepare(&t, a, &random, data);
  t.p.c = arena_copy(a, t.c, 1, 1, (size_t)t.bytes[2]);
  bool ok = run_test(&t, program, a, o, d);
  for (int i = 0; ok && i < t.group; i++)
    compare(&t.p, t.c + i * t.bytes[2], t.expected + i * t.bytes[2], o);
  if (ok && t.p.a_value && data == CHECK_RANDOM && !steps)
    o->error = largest_error(&t.p, t.c);
  arena_close(a);
  return ok;
}
