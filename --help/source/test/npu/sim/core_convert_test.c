/* Conversions on the core, from memory to memory through every form of a
 * family, compared lane by lane with exact arithmetic in doubles. */
#include "core_machine.h"

#include "check.h"

#include <math.h>

#define NOP7 "nop\nnop\nnop\nnop\nnop\nnop\nnop\n"

static const unsigned modes[] = {0, 1, 2, 3, 8, 9, 10, 11, 12, 13};
enum { MODES = 10 };

/* x rounded to a whole number by a mode of isa.md E3; |x| < 2^50. */
static double rounded(double x, unsigned mode) {
  double down = floor(x), up = ceil(x);
  bool nearest = mode >= 8, negative = x < 0, odd = fmod(down, 2) != 0;
  if (down == up)
    return x;
  if (nearest && x - down != 0.5)
    return x - down < 0.5 ? down : up;
  switch (mode & 7) { /* ties of 8-11 go where 0-3 go */
  case 0:
    return down;
  case 1:
    return up;
  case 2:
    return negative ? up : down;
  case 3:
    return negative ? down : up;
  case 4: /* 12, to even */
    return odd ? up : down;
  }
  return odd ? down : up; /* 13, to odd */
}

/* What a lane of `bits` keeps of a whole number: crSat's meaning. */
static int64_t kept(double x, int bits, bool is_signed, unsigned saturate) {
  double max = ldexp(1, bits - is_signed) - 1;
  double min = !is_signed ? 0 : saturate == 3 ? -max : -max - 1;
  if (saturate & 1)
    return (int64_t)(x > max ? max : x < min ? min : x);
  uint64_t low =
      (uint64_t)(int64_t)x & (bits == 64 ? ~0ull : (1ull << bits) - 1);
  return (int64_t)low;
}

static uint64_t lane(const uint8_t *v, int i, int bits) {
  uint64_t x = 0;
  if (bits == 4)
    return v[i / 2] >> 4 * (i % 2) & 15;
  memcpy(&x, v + i * bits / 8, (size_t)bits / 8);
  return x;
}

static int64_t extended(uint64_t x, int bits, bool is_signed) {
  if (bits < 64 && is_signed && x >> (bits - 1))
    x |= ~0ull << bits;
  return (int64_t)x;
}

/* Runs `body` with 128 bytes of input at p0 and the result at p1. */
static bool run_body(const char *body, const uint8_t input[128],
                     uint8_t output[128], unsigned round, unsigned saturate,
                     bool sign, int shift) {
  char text[4096];
  snprintf(text, sizeof text,
           "movxm p0, #0x70000\nmovxm p1, #0x74000\nmova r0, #%u\n"
           "movx crRnd, r0\nmova r0, #%u\nmovx crSat, r0\nmova r0, #%d\n"
           "movx crSRSSign, r0\nmovx crUPSSign, r0\nmovx crPackSign, r0\n"
           "movx crUnpackSign, r0\nmov s0, #%d\n%s\n" NOP7 NOP7 "done\n",
           round, saturate, sign, shift, body);
  struct machine *m = machine_open(text);
  if (!m)
    return false;
  memcpy(m->memory, input, 128);
  core_strict(m->core, true);
  bool good = machine_run(m, 1000);
  memcpy(output, m->memory + 0x4000, 128);
  machine_close(m);
  return good;
}

#define LOAD_ACC                                                               \
  "vlda amll0, [p0, #0]\nvlda amlh0, [p0, #32]\nvlda amhl0, [p0, #64]\n"       \
  "vlda amhh0, [p0, #96]\n" NOP7
#define LOAD_X "vlda wl0, [p0, #0]\nvlda wh0, [p0, #32]\n" NOP7
#define STORE_W NOP7 "vst wl2, [p1, #0]\n"
#define STORE_X STORE_W "vst wh2, [p1, #32]\n"
#define STORE_ACC                                                              \
  NOP7 "vst amll1, [p1, #0]\nvst amlh1, [p1, #32]\nvst amhl1, [p1, #64]\n"     \
       "vst amhh1, [p1, #96]\n"

struct form {
  const char *body; /* %c: s or d, in the places of the sign */
  int from, to, lanes;
};

static void fill(uint8_t input[128], const struct form *f, unsigned *seed) {
  for (int i = 0; i < 128; ++i)
    input[i] = (uint8_t)rand_r(seed);
  if (f->from == 64) /* so that doubles hold everything exactly */
    for (int i = 0; i < 16; ++i) {
      int64_t v = (int64_t)rand_r(seed) * (rand_r(seed) % 4096) - (1ll << 41);
      v = rand_r(seed) % 2 ? v : (int64_t)(int8_t)v;
      memcpy(input + 8 * i, &v, 8);
    }
  if (f->from == 32)
    for (int i = 0; i < 32; i += 2) {
      int32_t v = rand_r(seed) % 4096 - 2048;
      memcpy(input + 4 * i, &v, 4);
    }
}

static const struct form narrowing[] = {
    {LOAD_ACC "vsrs.%c8.s32 wl2, cm0, s0\n" STORE_W, 32, 8, 32},
    {LOAD_ACC "vsrs.%c16.s32 wl2, bml0, s0\n" STORE_W, 32, 16, 16},
    {LOAD_ACC "vsrs.%c16.s32 x2, cm0, s0\n" STORE_X, 32, 16, 32},
    {LOAD_ACC "vsrs.%c16.s64 wl2, cm0, s0\n" STORE_W, 64, 16, 16},
    {LOAD_ACC "vsrs.%c32.s64 wl2, bml0, s0\n" STORE_W, 64, 32, 8},
    {LOAD_ACC "vsrs.%c32.s64 x2, cm0, s0\n" STORE_X, 64, 32, 16},
    {LOAD_ACC "vsrsm.%c16.s32 wl2, bml0, s0\n" STORE_W, 32, 16, 16},
    {LOAD_ACC "vsrsm.%c32.s64 wl2, bml0, s0\n" STORE_W, 64, 32, 8},
    {LOAD_ACC "vst.srs.%c8.s32 cm0, s0, [p1, #0]\n", 32, 8, 32},
    {LOAD_ACC "vst.srs.%c16.s32 bml0, s0, [p1, #0]\n", 32, 16, 16},
    {LOAD_ACC "vst.srs.%c16.s64 cm0, s0, [p1, #0]\n", 64, 16, 16},
    {LOAD_ACC "vst.srs.%c32.s64 bml0, s0, [p1, #0]\n", 64, 32, 8},
};

static void narrow(void) {
  unsigned seed = 1;
  for (size_t i = 0; i < sizeof narrowing / sizeof narrowing[0]; ++i)
    for (int k = 0; k < 40; ++k) {
      const struct form *f = &narrowing[i];
      char body[1024];
      uint8_t input[128], output[128];
      unsigned round = modes[k % MODES], saturate = k % 3 == 2 ? 3 : k % 3;
      bool fixed = k % 4 == 0, sign = fixed || k % 4 == 1;
      int shift = rand_r(&seed) % 20, wrong = 0;
      snprintf(body, sizeof body, f->body, fixed ? 's' : 'd');
      fill(input, f, &seed);
      CHECK(run_body(body, input, output, round, saturate, sign && !fixed,
                     shift));
      for (int l = 0; l < f->lanes; ++l) {
        double x = ldexp(
            (double)extended(lane(input, l, f->from), f->from, true), -shift);
        int64_t want = kept(rounded(x, round), f->to, sign, saturate);
        wrong +=
            (lane(output, l, f->to) ^ (uint64_t)want) & ((1ull << f->to) - 1)
                ? 1
                : 0;
      }
      if (wrong)
        fprintf(stderr, "%sround %u saturate %u sign %d shift %d: %d lanes\n",
                body, round, saturate, sign, shift, wrong);
      CHECK(wrong == 0);
    }
}

static const struct form widening[] = {
    {LOAD_X "vups.s32.%c8 cm1, wl0, s0\n" STORE_ACC, 8, 32, 32},
    {LOAD_X "vups.s32.%c16 bml1, wl0, s0\n" STORE_ACC, 16, 32, 16},
    {LOAD_X "vups.s32.%c16 cm1, x0, s0\n" STORE_ACC, 16, 32, 32},
    {LOAD_X "vups.s64.%c16 cm1, wl0, s0\n" STORE_ACC, 16, 64, 16},
    {LOAD_X "vups.s64.%c32 bml1, wl0, s0\n" STORE_ACC, 32, 64, 8},
    {LOAD_X "vups.s64.%c32 cm1, x0, s0\n" STORE_ACC, 32, 64, 16},
    {"vlda.ups.s32.%c8 cm1, s0, [p0, #0]\nnop\n" STORE_ACC, 8, 32, 32},
    {"vlda.ups.s32.%c16 bml1, s0, [p0, #0]\nnop\n" STORE_ACC, 16, 32, 16},
    {"vlda.ups.s64.%c16 cm1, s0, [p0, #0]\nnop\n" STORE_ACC, 16, 64, 16},
    {"vlda.ups.s64.%c32 bml1, s0, [p0, #0]\nnop\n" STORE_ACC, 32, 64, 8},
};

static void widen(void) {
  unsigned seed = 2;
  for (size_t i = 0; i < sizeof widening / sizeof widening[0]; ++i)
    for (int k = 0; k < 20; ++k) {
      const struct form *f = &widening[i];
      char body[1024];
      uint8_t input[128], output[128];
      bool fixed = k % 4 == 0, sign = fixed || k % 4 == 1;
      unsigned saturate = k % 2;
      int shift = rand_r(&seed) % 18, wrong = 0;
      snprintf(body, sizeof body, f->body, fixed ? 's' : 'd');
      fill(input, f, &seed);
      CHECK(run_body(body, input, output, 0, saturate, sign && !fixed, shift));
      for (int l = 0; l < f->lanes; ++l) {
        double x = ldexp(
            (double)extended(lane(input, l, f->from), f->from, sign), shift);
        uint64_t want = (uint64_t)kept(x, f->to, true, saturate);
        uint64_t mask = f->to == 64 ? ~0ull : (1ull << f->to) - 1;
        wrong += ((lane(output, l, f->to) ^ want) & mask) != 0;
      }
      if (wrong)
        fprintf(stderr, "%ssaturate %u sign %d shift %d: %d lanes\n", body,
                saturate, sign, shift, wrong);
      CHECK(wrong == 0);
    }
}

static const struct form packing[] = {
    {LOAD_X "vpack.%c8.%c16 wl2, x0\n" STORE_W, 16, 8, 32},
    {LOAD_X "vpack.%c4.%c8 wl2, x0\n" STORE_W, 8, 4, 64},
    {LOAD_X "vst.pack.%c8.%c16 x0, [p1, #0]\n", 16, 8, 32},
    {LOAD_X "vst.pack.%c4.%c8 x0, [p1, #0]\n", 8, 4, 64},
    {LOAD_X "vunpack.%c16.%c8 x2, wl0\n" STORE_X, 8, 16, 32},
    {LOAD_X "vunpack.%c8.%c4 x2, wl0\n" STORE_X, 4, 8, 64},
    {"mova m0, #0\nvldb.unpack.%c16.%c8 x2, [p0], m0\n" STORE_X, 8, 16, 32},
    {"mova m0, #0\nvldb.unpack.%c8.%c4 x2, [p0], m0\n" STORE_X, 4, 8, 64},
};

static void pack(void) {
  unsigned seed = 3;
  for (size_t i = 0; i < sizeof packing / sizeof packing[0]; ++i)
    for (int k = 0; k < 24; ++k) {
      const struct form *f = &packing[i];
      char body[1024];
      uint8_t input[128], output[128];
      bool fixed = k % 4 == 0, sign = fixed || k % 4 == 1;
      unsigned saturate = k % 3 == 2 ? 3 : k % 3;
      char letter = fixed ? 's' : 'd';
      int wrong = 0;
      snprintf(body, sizeof body, f->body, letter, letter);
      fill(input, f, &seed);
      CHECK(run_body(body, input, output, 0, saturate, sign && !fixed, 0));
      for (int l = 0; l < f->lanes; ++l) {
        double x = (double)extended(lane(input, l, f->from), f->from, sign);
        unsigned how = f->to < f->from ? saturate : 0;
        uint64_t want = (uint64_t)kept(x, f->to, sign, how);
        wrong += ((lane(output, l, f->to) ^ want) & ((1ull << f->to) - 1)) != 0;
      }
      if (wrong)
        fprintf(stderr, "%ssaturate %u sign %d: %d lanes\n", body, saturate,
                sign, wrong);
      CHECK(wrong == 0);
    }
}

/* bf16 to fp32 and back, and to integers. */
static void floats(void) {
  uint8_t input[128], output[128];
  unsigned seed = 4;
  for (int i = 0; i < 64; ++i) {
    uint16_t h = bf16_from_f32((float)(rand_r(&seed) % 2000 - 1000) / 64);
    memcpy(input + 2 * i, &h, 2);
  }
  CHECK(run_body("vlda.conv.fp32.bf16 bml1, [p0, #0]\n" STORE_ACC, input,
                 output, 0, 0, false, 0));
  for (int i = 0; i < 16; ++i)
    CHECK(lane(output, i, 32) == lane(input, i, 16) << 16);
  CHECK(run_body(LOAD_X "vconv.fp32.bf16 bml1, wl0\n" STORE_ACC, input, output,
                 0, 0, false, 0));
  for (int i = 0; i < 16; ++i)
    CHECK(lane(output, i, 32) == lane(input, i, 16) << 16);
  CHECK(run_body(LOAD_X "vfloor.s32.bf16 x2, wl0, s0\n" STORE_X, input, output,
                 0, 0, false, 3));
  for (int i = 0; i < 16; ++i)
    CHECK((int32_t)lane(output, i, 32) ==
          (int32_t)floor(ldexp(bf16_to_f32((uint16_t)lane(input, i, 16)), 3)));
  for (int m = 0; m < MODES; ++m)
    for (int store = 0; store < 2; ++store) {
      float f[32];
      for (int i = 0; i < 32; ++i)
        f[i] = (float)((rand_r(&seed) % 200001) - 100000) *
               ldexpf(1, rand_r(&seed) % 3 - 9);
      memcpy(input, f, 128);
      CHECK(run_body(store ? LOAD_ACC "vst.conv.bf16.fp32 bml0, [p1, #0]\n"
                           : LOAD_ACC "vconv.bf16.fp32 wl2, bml0\n" STORE_W,
                     input, output, modes[m], 0, false, 0));
      for (int i = 0; i < 16; ++i) {
        int e;
        frexpf(f[i], &e); /* 8 bits are kept of 0.5 <= m < 1 */
        double want =
            f[i] == 0 ? 0 : ldexp(rounded(ldexp(f[i], 8 - e), modes[m]), e - 8);
        CHECK(bf16_to_f32((uint16_t)lane(output, i, 16)) == want);
      }
    }
}

int main(void) {
  narrow();
  widen();
  pack();
  floats();
  return check_result();
}
