/* gemm_test.c -- kernels run on the core simulator against an exact reference.
 *
 * The reference is written from the facts alone (C8 layouts, E1 arithmetic of
 * one multiply: every term rounded to the place of the largest one, summed
 * exactly, rounded once) and shares nothing with generator or simulator. */
#include "check.h"
#include "kernels.h"
#include "machine.h"

#include <math.h>
#include <stdlib.h>

struct shape {
  int m, k, n;
};

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint32_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 16);
}

/* x / 2^shift, to nearest, ties to even. */
static int64_t round_shift(int64_t x, int shift) {
  if (shift == 0)
    return x;
  if (shift > 62)
    return 0;
  int64_t floor = x >> shift, rest = x - (floor << shift);
  int64_t half = (int64_t)1 << (shift - 1);
  return floor + (rest > half || (rest == half && (floor & 1)));
}

/* acc + sum of a[i] * b[i], i < 8, as one vmac.f lane does it; finite inputs.
 */
static uint32_t mac_bf16(uint32_t acc, const uint16_t *a, const uint16_t *b,
                         int b_stride) {
  int64_t term[8];
  int exponent[8], top = 0;
  int acc_exp = acc >> 23 & 255, q = 0;
  int64_t acc_term = acc & 0x7fffff;
  if (acc & 0x7fffffff) {
    q = acc_exp ? acc_exp + 128 : 129;
    acc_term |= acc_exp ? 0x800000 : 0;
    top = q;
  }
  for (int i = 0; i < 8; i++) {
    uint16_t x = a[i], y = b[i * b_stride];
    int ex = x >> 7 & 255, ey = y >> 7 & 255;
    int64_t mx = (x & 127) | (ex ? 128 : 0), my = (y & 127) | (ey ? 128 : 0);
    term[i] = mx * my * 512;
    if ((x ^ y) & 0x8000)
      term[i] = -term[i];
    exponent[i] = mx && my ? (ex ? ex : 1) + (ey ? ey : 1) + 1 : 0;
    top = exponent[i] > top ? exponent[i] : top;
  }
  int64_t sum = q ? round_shift(acc_term, top - q) : 0;
  if (acc & 0x80000000)
    sum = -sum;
  for (int i = 0; i < 8; i++)
    if (exponent[i])
      sum += round_shift(term[i], top - exponent[i]);
  if (!sum)
    return 0;
  uint32_t sign = sum < 0 ? 0x80000000 : 0;
  uint64_t magnitude = sum < 0 ? -sum : sum;
  int lead = 63 - __builtin_clzll(magnitude);
  if (lead <= 23) {
    magnitude <<= 23 - lead;
  } else {
    magnitude = round_shift((int64_t)magnitude, lead - 23);
    if (magnitude >> 24) {
      magnitude >>= 1;
      lead++;
    }
  }
  int e = top + lead - 23 - 128;
  if (e <= 0)
    return 0;
  if (e >= 255)
    return sign | 0x7f800000;
  return sign | (uint32_t)e << 23 | (magnitude & 0x7fffff);
}

enum { A_AT = 0, B_AT = 0x4000, C_AT = 0x8000 };

static bool run(struct machine *m, enum dtype in, enum dtype out,
                struct shape s, const uint32_t at[3], struct outcome *result) {
  struct arena *arena = arena_open();
  struct diag d = {0};
  struct kernel_gemm k = {"gemm", in, in, out, s.m, s.k, s.n};
  struct asm_program *p = kernel_gemm(arena, &k, &d);
  if (p) {
    uint32_t address[3];
    for (int i = 0; i < 3; i++)
      address[i] = MEMORY_AT + at[i];
    *result = machine_run(m, p, address, &d);
  }
  if (d.kind != DIAG_NONE)
    fprintf(stderr, "%dx%dx%d: %s\n", s.m, s.k, s.n, d.text);
  arena_close(arena);
  return d.kind == DIAG_NONE && result->done;
}

/* A finite bf16: mostly around 1, sometimes denormal, tiny, large or zero. */
static uint16_t random_bf16(bool wild) {
  uint32_t r = random_word();
  uint16_t sign_and_fraction = r & 0x807f;
  int e = 120 + (r >> 16) % 12;
  if (wild && (r >> 24) % 4 == 0)
    e = (r >> 8) % 191; /* products stay finite */
  if ((r >> 24) % 16 == 1)
    return r & 0x8000;
  return sign_and_fraction | (uint16_t)(e << 7);
}

static void fill_random(uint8_t *at, int bytes) {
  for (int i = 0; i < bytes; i += 4)
    memcpy(at + i, &(uint32_t){random_word()}, 4);
}

/* Blocks in memory: facts C8 and kernels.h. */
static int a_index(struct shape s, int r, int k, int i, int j) {
  return ((i / r) * (s.k / k) + j / k) * r * k + i % r * k + j % k;
}
static int b_index(struct shape s, int k, int c, int i, int j) {
  return ((i / k) * (s.n / c) + j / c) * k * c + i % k * c + j % c;
}
static int c_index(struct shape s, int r, int c, int i, int j) {
  return ((i / r) * (s.n / c) + j / c) * r * c + i % r * c + j % c;
}

/* A, B and C in banks of their own where they fit. */
static bool place(const int64_t bytes[3], uint32_t at[3]) {
  at[0] = A_AT;
  at[1] = bytes[0] <= B_AT ? B_AT : (uint32_t)bytes[0];
  at[2] = C_AT;
  if (at[1] + bytes[1] > C_AT || C_AT + bytes[2] > MEMORY_BYTES)
    at[2] = (uint32_t)(MEMORY_BYTES - bytes[2]) / 32 * 32;
  return at[1] + bytes[1] <= at[2] && at[2] + bytes[2] <= MEMORY_BYTES;
}

static void test_bf16(struct shape s, bool wild) {
  static struct machine m;
  static uint16_t a[32768], b[32768];
  static uint32_t c[16384];
  uint32_t at[3];
  int64_t bytes[3] = {2 * s.m * s.k, 2 * s.k * s.n, 4 * s.m * s.n};
  CHECK(place(bytes, at));
  fill_random(m.memory, MEMORY_BYTES);
  for (int i = 0; i < s.m * s.k; i++)
    a[i] = random_bf16(wild);
  for (int i = 0; i < s.k * s.n; i++)
    b[i] = random_bf16(wild);
  for (int i = 0; i < s.m * s.n; i++)
    c[i] = (uint32_t)random_bf16(wild) << 16 | (random_word() & 0xffff);
  memcpy(m.memory + at[0], a, bytes[0]);
  memcpy(m.memory + at[1], b, bytes[1]);
  memcpy(m.memory + at[2], c, bytes[2]);
  static uint8_t before[MEMORY_BYTES];
  memcpy(before, m.memory, sizeof before);

  struct outcome o = {0};
  CHECK(run(&m, DTYPE_BF16, DTYPE_F32, s, at, &o));
  int wrong = 0;
  for (int i = 0; i < s.m; i++)
    for (int j = 0; j < s.n; j++) {
      uint32_t *expected = &c[c_index(s, 4, 4, i, j)], got;
      for (int k = 0; k < s.k; k += 8)
        *expected = mac_bf16(*expected, &a[a_index(s, 4, 8, i, k)],
                             &b[b_index(s, 8, 4, k, j)], 4);
      memcpy(&got, m.memory + at[2] + 4 * c_index(s, 4, 4, i, j), 4);
      wrong += got != *expected;
    }
  CHECK(wrong == 0);
  memcpy(before + at[2], m.memory + at[2], bytes[2]);
  CHECK(memcmp(before, m.memory, sizeof before) == 0); /* only C changes */
  printf("bf16 %3d x %3d x %3d: %5llu cycles, %llu stalls, %.1f MAC/cycle%s\n",
         s.m, s.k, s.n, (unsigned long long)o.cycles,
         (unsigned long long)o.stalls,
         (double)s.m * s.k * s.n / (double)o.cycles, wrong ? ", WRONG" : "");
}

static void test_int8(struct shape s) {
  static struct machine m;
  static int8_t a[65536], b[65536];
  static uint32_t c[16384];
  uint32_t at[3];
  int64_t bytes[3] = {s.m * s.k, s.k * s.n, 4 * s.m * s.n};
  CHECK(place(bytes, at));
  fill_random(m.memory, MEMORY_BYTES);
  for (int i = 0; i < s.m * s.k; i++)
    a[i] = random_word() % 8 ? (int8_t)random_word() : -128;
  for (int i = 0; i < s.k * s.n; i++)
    b[i] = random_word() % 8 ? (int8_t)random_word() : -128;
  for (int i = 0; i < s.m * s.n; i++)
    c[i] = random_word() % 8 ? random_word() : 0x7fffffff;
  memcpy(m.memory + at[0], a, bytes[0]);
  memcpy(m.memory + at[1], b, bytes[1]);
  memcpy(m.memory + at[2], c, bytes[2]);

  struct outcome o = {0};
  CHECK(run(&m, DTYPE_I8, DTYPE_I32, s, at, &o));
  int wrong = 0;
  for (int i = 0; i < s.m; i++)
    for (int j = 0; j < s.n; j++) {
      uint32_t expected = c[c_index(s, 4, 8, i, j)], got;
      for (int k = 0; k < s.k; k++)
        expected +=
            (uint32_t)(a[a_index(s, 4, 8, i, k)] * b[b_index(s, 8, 8, k, j)]);
      memcpy(&got, m.memory + at[2] + 4 * c_index(s, 4, 8, i, j), 4);
      wrong += got != expected;
    }
  CHECK(wrong == 0);
  printf("int8 %3d x %3d x %3d: %5llu cycles, %llu stalls, %.1f MAC/cycle%s\n",
         s.m, s.k, s.n, (unsigned long long)o.cycles,
         (unsigned long long)o.stalls,
         (double)s.m * s.k * s.n / (double)o.cycles, wrong ? ", WRONG" : "");
}

/* The vector of facts E1, so that the reference itself is tested. */
static void test_reference(void) {
  static const uint16_t a[] = {0xebd7, 0xb13b, 0x4f6c, 0x8d21,
                               0x6080, 0x39c6, 0x107e, 0xd6a6};
  static const uint16_t b[] = {0x0802, 0x7b38, 0x6983, 0x2273,
                               0x33a8, 0x1130, 0xe493, 0x18ec};
  uint16_t one[8], two[8], three[8];
  for (int i = 0; i < 8; i++)
    one[i] = 0x3f80, two[i] = 0xc000, three[i] = 0x4040;
  CHECK(mac_bf16(0, a, b, 1) == 0x797187ff);
  CHECK(mac_bf16(0, one, one, 1) == 0x41000000);
  CHECK(mac_bf16(0, two, three, 1) == 0xc2400000);
}

static void test_refusals(void) {
  static const struct kernel_gemm bad[] = {
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, 64, 12, 64},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, 3, 16, 64},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, 64, 16, 6},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, 0, 16, 16},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, 16, -16, 16},
      {"x", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, 128, 256, 128},
      {"x", DTYPE_F64, DTYPE_F64, DTYPE_F64, 16, 16, 16},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    CHECK(kernel_gemm(a, &bad[i], &d) == NULL);
    CHECK(d.kind == DIAG_ERROR && d.text[0]);
    arena_close(a);
  }
}

int main(void) {
  static const struct shape bf16[] = {
      {16, 8, 16},   {16, 16, 16}, {16, 24, 16},  {16, 40, 16},
      {32, 32, 32},  {64, 16, 64}, {64, 32, 64},  {64, 64, 64},
      {64, 80, 64},  {96, 56, 96}, {16, 256, 64}, {64, 128, 16},
      {16, 256, 16}, {48, 72, 32}, {32, 96, 80},  {8, 48, 16},
  };
  static const struct shape int8[] = {
      {16, 8, 16},  {16, 16, 16},  {32, 32, 32}, {64, 64, 64}, {48, 280, 48},
      {16, 24, 32}, {16, 256, 16}, {80, 88, 96}, {8, 64, 16},
  };
  test_reference();
  test_refusals();
  for (size_t i = 0; i < sizeof bf16 / sizeof *bf16; i++)
    test_bf16(bf16[i], i % 2);
  for (size_t i = 0; i < sizeof int8 / sizeof *int8; i++)
    test_int8(int8[i]);
  return check_result();
}
