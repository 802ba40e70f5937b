/* Arithmetic of the core against what the hardware was seen to compute, against
 * worked examples of other models, and against definitions written down a second
 * time here. */
#include "arith.h"
#include "check.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static json_t *load(const char *name) {
  const char *data = getenv("NPUTEIR_TEST_DATA");
  char path[512];
  json_error_t error;
  snprintf(path, sizeof path, "%s/silicon/%s", data ? data : "", name);
  json_t *file = json_load_file(path, 0, &error);
  if (!file)
    fprintf(stderr, "%s: %s (is NPUTEIR_TEST_DATA set?)\n", path, error.text);
  CHECK(file);
  return file;
}

static void numbers(const json_t *array, uint32_t *out, size_t count) {
  CHECK(json_array_size(array) == count);
  for (size_t i = 0; i < count; ++i)
    out[i] = (uint32_t)json_integer_value(json_array_get(array, i));
}

static void silicon_mul(const struct arith *arith) {
  json_t *file = load("bf16_4x8x4_mul.json");
  json_t *cases = json_object_get(file, "cases");
  size_t lanes = 0, equal = 0;
  for (size_t i = 0; i < json_array_size(cases); ++i) {
    json_t *one = json_array_get(cases, i);
    uint32_t a[32], b[32], want[16], got[16], zero[16] = {0};
    uint16_t ha[32], hb[32];
    numbers(json_object_get(one, "a"), a, 32);
    numbers(json_object_get(one, "b"), b, 32);
    numbers(json_object_get(one, "out"), want, 16);
    for (int k = 0; k < 32; ++k) {
      ha[k] = (uint16_t)a[k];
      hb[k] = (uint16_t)b[k];
    }
    arith->mac_bf16(got, zero, ha, hb, 0);
    for (int k = 0; k < 16; ++k, ++lanes)
      equal += got[k] == want[k];
  }
  CHECK(lanes > 400 && equal == lanes);
  json_decref(file);
}

static void silicon_round(unsigned round) {
  char name[64];
  snprintf(name, sizeof name, "fp32_to_bf16_rnd%u.json", round);
  json_t *file = load(name);
  json_t *in = json_object_get(file, "input_fp32_bits");
  json_t *out = json_object_get(file, "output_bf16_bits");
  size_t count = json_array_size(in), equal = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t x = (uint32_t)json_integer_value(json_array_get(in, i));
    uint16_t y;
    arith_f32_to_bf16((uint8_t *)&y, (const uint8_t *)&x, 1, round);
    equal += y == json_integer_value(json_array_get(out, i));
  }
  CHECK(count > 90 && equal == count);
  json_decref(file);
}

static uint16_t bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return (uint16_t)(bits >> 16);
}

/* The three vectors of isa.md E1. */
static void dot_examples(void) {
  uint16_t a[8], b[8];
  uint32_t zero = 0;
  for (int i = 0; i < 8; ++i)
    a[i] = b[i] = bf16(1);
  CHECK(arith_dot_bf16(8, a, b, &zero, NULL, 0) == 0x41000000);
  for (int i = 0; i < 8; ++i) {
    a[i] = bf16(-2);
    b[i] = bf16(3);
  }
  CHECK(arith_dot_bf16(8, a, b, &zero, NULL, 0) == 0xC2400000);
  static const uint16_t x[8] = {0xebd7, 0xb13b, 0x4f6c, 0x8d21,
                                0x6080, 0x39c6, 0x107e, 0xd6a6};
  static const uint16_t y[8] = {0x0802, 0x7b38, 0x6983, 0x2273,
                                0x33a8, 0x1130, 0xe493, 0x18ec};
  CHECK(arith_dot_bf16(8, x, y, &zero, NULL, 0) == 0x797187FF);
  CHECK(arith_dot_bf16(8, x, y, &zero, NULL, ARITH_NEGATE_PRODUCT) ==
        0xF97187FF);
}

static uint32_t f32_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

/* Where no bits are lost in alignment a sum is the host's sum. */
static void add_examples(void) {
  CHECK(arith_add_f32(f32_bits(1.5f), f32_bits(2.25f)) == f32_bits(3.75f));
  CHECK(arith_add_f32(f32_bits(1.5f), f32_bits(-1.5f)) == 0);
  CHECK(arith_add_f32(0x7F800000, 0xFF800000) == 0x7F800001);
  CHECK(arith_add_f32(0x7F800000, f32_bits(1)) == 0x7F800000);
  CHECK(arith_add_f32(0x00000001, 0) == 0);          /* denormal results are */
  CHECK(arith_add_f32(0x80000001, 0) == 0x80000000); /* zero, the sign stays */
  CHECK(arith_add_f32(0x7F7FFFFF, 0x7F7FFFFF) == 0x7F800000);
  unsigned seed = 1, equal = 0;
  for (int i = 0; i < 100000; ++i) {
    float x = (float)(rand_r(&seed) % 4000000 - 2000000) / 16;
    float y = (float)(rand_r(&seed) % 4000000 - 2000000) / 16;
    equal += arith_add_f32(f32_bits(x), f32_bits(y)) == f32_bits(x + y);
  }
  CHECK(equal == 100000);
}

/* The modes of isa.md E3 through the host's own rounding of exact doubles. */
static double round_by(double x, unsigned mode) {
  double down = floor(x), up = ceil(x), middle = down + 0.5;
  if (down == up)
    return x;
  switch (mode) {
  case 0:
    return down;
  case 1:
    return up;
  case 2:
    return trunc(x);
  case 3:
    return x < 0 ? down : up;
  }
  if (x != middle)
    return x < middle ? down : up;
  bool down_even = fmod(down, 2) == 0;
  switch (mode) {
  case 8:
    return down;
  case 9:
    return up;
  case 10:
    return trunc(x);
  case 11:
    return x < 0 ? down : up;
  case 12:
    return down_even ? down : up;
  }
  return down_even ? up : down;
}

static void round_shifts(void) {
  static const unsigned modes[] = {0, 1, 2, 3, 8, 9, 10, 11, 12, 13};
  unsigned wrong = 0;
  for (int m = 0; m < 10; ++m)
    for (int v = -70; v <= 70; ++v)
      for (int shift = 0; shift < 6; ++shift)
        wrong += (double)(int64_t)arith_round_shift(v, shift, modes[m]) !=
                 round_by(ldexp(v, -shift), modes[m]);
  CHECK(wrong == 0);
  CHECK(!arith_round_known(4) && !arith_round_known(15) &&
        arith_round_known(13));
}

static void srs_and_ups(void) {
  bool over = false;
  CHECK(arith_srs(300, 0, 8, true, 0, 0, &over) == 300 && over);
  over = false;
  CHECK(arith_srs(300, 0, 8, true, 0, 1, &over) == 127 && over);
  CHECK(arith_srs(-300, 0, 8, true, 0, 1, &over) == -128);
  CHECK(arith_srs(-300, 0, 8, true, 0, 3, &over) == -127);
  CHECK(arith_srs(-5, 0, 8, false, 0, 1, &over) == 0);
  CHECK(arith_srs(300, 1, 8, false, 0, 1, &over) == 150);
  over = false;
  CHECK(arith_srs(1000, 4, 8, true, 12, 1, &over) == 62 && !over);
  CHECK(arith_srs(3, -4, 16, true, 0, 1, &over) == 48);
  CHECK(arith_srs(INT64_MIN, 59, 16, true, 9, 1, &over) == -16);
  CHECK(arith_ups(-3, 4, 32, 0, &over) == -48 && !over);
  CHECK(arith_ups(0x4000, 20, 32, 1, &over) == INT32_MAX && over);
  CHECK(arith_extend(0xFF, 8, true) == -1);
  CHECK(arith_extend(0xFF, 8, false) == 255);
}

/* All lanes at once against one by one. */
static void srs_and_ups_lanes(void) {
  static const unsigned modes[] = {0, 1, 2, 3, 8, 9, 10, 11, 12, 13};
  unsigned seed = 9, wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    uint8_t acc[128], all[128], one[128];
    for (int k = 0; k < 32; ++k) {
      int32_t v = rand_r(&seed) * (rand_r(&seed) % 2 ? 1 : -1);
      v >>= rand_r(&seed) % 31;
      memcpy(acc + 4 * k, &v, 4);
    }
    int shift = rand_r(&seed) % 32, bits = rand_r(&seed) % 2 ? 8 : 16;
    unsigned round = modes[rand_r(&seed) % 10], saturate = "\0\1\3"[i % 3];
    bool is_signed = rand_r(&seed) % 2, over_all = false, over_one = false;
    arith_srs_lanes(all, acc, 32, shift, bits, is_signed, round, saturate,
                    &over_all);
    for (int k = 0; k < 32; ++k)
      arith_set_lane(one, k, bits,
                     (uint64_t)arith_srs((int32_t)arith_lane(acc, k, 32), shift,
                                         bits, is_signed, round, saturate,
                                         &over_one));
    wrong += over_all != over_one || memcmp(all, one, (size_t)bits * 4) != 0;
    over_all = over_one = false;
    arith_ups_lanes(all, acc, 32, shift, bits, is_signed, saturate, &over_all);
    for (int k = 0; k < 32; ++k)
      arith_set_lane(one, k, 32,
                     (uint64_t)arith_ups(arith_extend(arith_lane(acc, k, bits),
                                                      bits, is_signed),
                                         shift, 32, saturate, &over_one));
    wrong += over_all != over_one || memcmp(all, one, 128) != 0;
  }
  CHECK(wrong == 0);
}

static void floors(void) {
  CHECK(arith_floor_bf16(bf16(2.5f), 0) == 2);
  CHECK(arith_floor_bf16(bf16(-2.5f), 0) == -3);
  CHECK(arith_floor_bf16(bf16(2.5f), 2) == 10);
  CHECK(arith_floor_bf16(bf16(2.5f), -2) == 0);
  CHECK(arith_floor_bf16(0x8001, 0) == -1); /* the smallest denormal */
  CHECK(arith_floor_bf16(0x0001, 0) == 0);
  CHECK(arith_floor_bf16(0x7F00, 0) == INT32_MAX);
  CHECK(arith_floor_bf16(0xFF80, 0) == INT32_MIN);
}

static void comparisons(void) {
  CHECK(arith_less_bf16(0x8000, 0x0000)); /* -0 < +0 */
  CHECK(!arith_less_bf16(0x0000, 0x8000));
  CHECK(arith_less_bf16(bf16(-2), bf16(-1)));
  CHECK(arith_less_bf16(bf16(1), bf16(2)));
  CHECK(!arith_less_bf16(0x7FC0, bf16(1)) && !arith_less_bf16(bf16(1), 0x7FC0));
}

/* Transposes of isa.md C7, looked up element by element. */
static void shuffles(void) {
  uint8_t in[128], out[64], back[128];
  for (int i = 0; i < 128; ++i)
    in[i] = (uint8_t)i;
  CHECK(arith_shuffle(out, in, 0)); /* even bytes */
  CHECK(out[0] == 0 && out[1] == 2 && out[63] == 126);
  CHECK(arith_shuffle(out, in, 1)); /* odd bytes */
  CHECK(out[0] == 1 && out[63] == 127);
  CHECK(arith_shuffle(out, in, 12)); /* T128 2x4: s1 and s2 interleaved */
  CHECK(out[0] == 0 && out[16] == 64 && out[32] == 16 && out[48] == 80);
  CHECK(arith_shuffle(out, in, 23) && out[0] == 64 && out[63] == 127);
  CHECK(arith_shuffle(out, in, 28)); /* T16 8x4 */
  CHECK(out[2] == 8 && out[3] == 9 && out[16] == 2);
  CHECK(arith_shuffle(out, in, 35) && out[1] == 8 && out[8] == 1);
  CHECK(arith_shuffle(out, in, 38) && out[0] == 2 && out[2] == 0);
  CHECK(arith_shuffle(out, in, 39)); /* 4x4 inside each half */
  CHECK(out[2] == 8 && out[32] == 32 && out[34] == 40);
  CHECK(!arith_shuffle(out, in, 54));
  CHECK(arith_shuffle(back, in, 52) && arith_shuffle(back + 64, in, 53));
  for (int i = 0; i < 64; ++i) { /* T16 8x8 */
    CHECK(back[2 * i] == 2 * (i % 8 * 8 + i / 8));
    CHECK(back[2 * i + 1] == back[2 * i] + 1);
  }
  /* 18,19 (2x32) undo 2,3 (32x2). */
  CHECK(arith_shuffle(back, in, 2) && arith_shuffle(back + 64, in, 3));
  CHECK(arith_shuffle(out, back, 18) && memcmp(out, in, 64) == 0);
  CHECK(arith_shuffle(out, back, 19) && memcmp(out, in + 64, 64) == 0);
}

/* Every integer shape against a product written down here. */
static int64_t element(const uint8_t *v, int i, int bits, bool is_signed) {
  uint64_t x = 0;
  for (int k = 0; k < bits; ++k) {
    int at = i * bits + k;
    uint64_t weight = (uint64_t)1 << k;
    if (v[at / 8] >> at % 8 & 1)
      x += is_signed && k == bits - 1 ? -weight : weight;
  }
  return (int64_t)x;
}

static const struct {
  uint32_t config;
  int m, k, n, a, b, acc;
  bool lanes;
} integer_cases[] = {
    {0, 4, 16, 8, 8, 4, 32, false},   {8, 4, 8, 8, 8, 8, 32, false},
    {16, 4, 4, 8, 16, 8, 32, false},  {24, 4, 2, 8, 16, 16, 32, false},
    {18, 2, 8, 8, 16, 8, 64, false},  {50, 4, 8, 4, 16, 8, 64, false},
    {26, 2, 4, 8, 16, 16, 64, false}, {58, 4, 4, 4, 16, 16, 64, false},
    {2, 4, 2, 4, 32, 16, 64, false},  {40, 1, 2, 32, 8, 8, 32, true},
    {56, 1, 1, 32, 16, 16, 32, true}, {90, 1, 2, 16, 16, 16, 64, true},
};

static void integer_shape(size_t i, unsigned *seed) {
  uint8_t a[64], b[64], acc1[128], acc2[128], d[128];
  for (int k = 0; k < 64; ++k) {
    a[k] = (uint8_t)rand_r(seed);
    b[k] = (uint8_t)rand_r(seed);
  }
  for (int k = 0; k < 128; ++k) {
    acc1[k] = (uint8_t)rand_r(seed);
    acc2[k] = (uint8_t)rand_r(seed);
  }
  int acc = integer_cases[i].acc, n = integer_cases[i].n;
  int depth = integer_cases[i].k, wrong = 0;
  unsigned flags = (unsigned)rand_r(seed) % 64;
  bool second = rand_r(seed) % 2;
  const struct arith_shape *s = arith_shape(integer_cases[i].config);
  CHECK(s);
  if (!s)
    return;
  arith_mac_int(s, d, acc1, second ? acc2 : NULL, a, b, flags);
  for (int lane = 0; lane < integer_cases[i].m * n; ++lane) {
    uint64_t product = 0, want = 0;
    for (int k = 0; k < depth; ++k) {
      bool lanes = integer_cases[i].lanes;
      int ia = lanes ? lane + k * n : lane / n * depth + k;
      int ib = lanes ? lane + k * n : k * n + lane % n;
      product += (uint64_t)(element(a, ia, integer_cases[i].a, flags & 16) *
                            element(b, ib, integer_cases[i].b, flags & 32));
    }
    if (!(flags & ARITH_ZERO_ACC1))
      want += flags & ARITH_NEGATE_ACC1
                  ? -(uint64_t)element(acc1, lane, acc, false)
                  : (uint64_t)element(acc1, lane, acc, false);
    if (second)
      want += flags & ARITH_NEGATE_ACC2
                  ? -(uint64_t)element(acc2, lane, acc, false)
                  : (uint64_t)element(acc2, lane, acc, false);
    want += flags & ARITH_NEGATE_PRODUCT ? -product : product;
    wrong += arith_lane(d, lane, acc) != (acc == 32 ? want & UINT32_MAX : want);
  }
  CHECK(wrong == 0);
}

static void integer_shapes(void) {
  unsigned seed = 7;
  for (size_t i = 0; i < sizeof integer_cases / sizeof *integer_cases; ++i)
    for (int round = 0; round < 20; ++round)
      integer_shape(i, &seed);
  CHECK(!arith_shape(32)); /* sparse */
}

/* ---- the vector versions against the plain ones ---- */

static uint16_t random_bf16(unsigned *seed, int kind) {
  unsigned r = (unsigned)rand_r(seed) << 8 ^ (unsigned)rand_r(seed);
  switch (kind) {
  case 0: /* anything at all */
    return (uint16_t)r;
  case 1: /* ordinary numbers */
    return (uint16_t)((r & 0x807F) | (120 + (r >> 16) % 14) << 7);
  case 2: /* many zeros */
    return r & 0x30000 ? 0 : (uint16_t)((r & 0x807F) | 127 << 7);
  case 3: /* tiny, denormal too */
    return (uint16_t)(r & 0x81FF);
  case 4: /* huge and infinite */
    return (uint16_t)((r & 0x807F) | (250 + (r >> 16) % 6) << 7);
  case 5: /* products around the smallest normal number */
    return (uint16_t)((r & 0x807F) | (60 + (r >> 16) % 8) << 7);
  case 6: /* one exponent, few mantissas: ties and cancellation */
    return (uint16_t)((r & 0x8040) | (118 + (r >> 16) % 20) << 7);
  }
  return r & 0x10000 ? 0x3F80 : 0xBF80;
}

static uint32_t random_f32(unsigned *seed, int kind) {
  return (uint32_t)random_bf16(seed, kind) << 16 |
         (kind == 6 ? 0 : (uint32_t)rand_r(seed) & 0xFFFF);
}

static void same_bf16(const struct arith *fast, int rounds) {
  unsigned seed = 3, wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    uint16_t a[32], b[32];
    uint32_t acc[16], want[16], got[16];
    int ka = rand_r(&seed) % 8, kb = rand_r(&seed) % 8, kq = rand_r(&seed) % 8;
    for (int k = 0; k < 32; ++k) {
      a[k] = random_bf16(&seed, ka);
      b[k] = random_bf16(&seed, kb);
    }
    for (int k = 0; k < 16; ++k)
      acc[k] = random_f32(&seed, kq);
    if (kq == 7) /* the accumulator almost cancels the products */
      arith_plain.mac_bf16(acc, acc, a, b,
                           ARITH_ZERO_ACC1 | ARITH_NEGATE_PRODUCT);
    unsigned flags = (unsigned)rand_r(&seed) % 8;
    arith_plain.mac_bf16(want, acc, a, b, flags);
    fast->mac_bf16(got, acc, a, b, flags);
    wrong += memcmp(want, got, sizeof want) != 0;
  }
  CHECK(wrong == 0);
}

static void same_i8(const struct arith *fast, int rounds) {
  unsigned seed = 5, wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    uint8_t a[32], b[64];
    uint32_t acc[32], want[32], got[32];
    for (int k = 0; k < 32; ++k) {
      a[k] = (uint8_t)rand_r(&seed);
      acc[k] = (uint32_t)rand_r(&seed) * 3u;
    }
    for (int k = 0; k < 64; ++k)
      b[k] = rand_r(&seed) % 4 ? (uint8_t)rand_r(&seed) : 0x80;
    unsigned flags = (unsigned)rand_r(&seed) % 64;
    arith_plain.mac_i8(want, acc, a, b, flags);
    fast->mac_i8(got, acc, a, b, flags);
    wrong += memcmp(want, got, sizeof want) != 0;
  }
  CHECK(wrong == 0);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 50000;
  dot_examples();
  add_examples();
  round_shifts();
  srs_and_ups();
  srs_and_ups_lanes();
  floors();
  comparisons();
  shuffles();
  integer_shapes();
#if defined(__x86_64__)
  /* A program built with -ffast-math, in which the simulator may run, treats
   * its own denormals as zero. */
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  same_bf16(arith_best(), rounds);
  _mm_setcsr(mode);
#endif
  for (int i = 0; arith_variant(i); ++i) {
    same_bf16(arith_variant(i), rounds);
    same_i8(arith_variant(i), rounds);
    silicon_mul(arith_variant(i));
  }
  silicon_round(0);
  silicon_round(2);
  silicon_round(9);
  silicon_round(12);
  return check_result();
}
