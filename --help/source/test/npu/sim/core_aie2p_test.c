/* What AIE2P's core computes, compared with plain loops and exact arithmetic in
 * doubles; when results are seen; what stops it. */
#include "core_machine.h"

#include "check.h"

#include <math.h>

#define NOP7 "nop\nnop\nnop\nnop\nnop\nnop\nnop\n"
#define DONE NOP7 NOP7 "done\nnop\nnop\nnop\nnop\nnop\n"

enum { IN = 0x0000, MORE = 0x1000, OUT = 0x2000 }; /* p0, p1, p2 */
#define POINTERS "movxm p0, #0x70000\nmovxm p1, #0x71000\nmovxm p2, #0x72000\n"

static uint32_t random_state = 20261122;
static uint32_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return random_state;
}

static struct machine *open_random(const char *body) {
  char text[4000];
  snprintf(text, sizeof text, POINTERS "%s" DONE, body);
  struct machine *m = machine_open_for(isa_find("aie2p"), text, NULL);
  CHECK(m != NULL);
  for (size_t i = 0; m && i < sizeof m->memory; i++)
    m->memory[i] = (uint8_t)(random_bits() >> 9);
  return m;
}

static int64_t lane(const uint8_t *v, int i, int bits, bool is_signed) {
  uint64_t x = 0;
  if (bits == 4)
    x = v[i / 2] >> 4 * (i % 2) & 15;
  else
    memcpy(&x, v + i * bits / 8, (size_t)bits / 8);
  if (bits < 64 && is_signed && x >> (bits - 1))
    x |= ~0ull << bits;
  return (int64_t)x;
}

/* ---- products of integers ---- */

static const struct product {
  int config, a_bits, b_bits, acc_bits, m, k, n;
  bool element;
  const char *s1, *s2; /* registers */
} products[] = {
    {8, 8, 8, 32, 8, 8, 8, false, "x0", "x2"},
    {200, 8, 8, 32, 4, 8, 16, false, "x0", "y1"},
    {16, 16, 8, 32, 8, 4, 8, false, "x0", "x2"},
    {24, 16, 16, 32, 8, 2, 8, false, "x0", "x2"},
    {40, 8, 8, 32, 1, 2, 64, true, "y0", "y1"},
    {90, 16, 16, 64, 1, 1, 32, true, "x0", "x2"},
};

#define LOADS                                                                  \
  "vlda x0, [p0, #0]; vldb x2, [p1, #0]\n"                                     \
  "vlda x1, [p0, #64]; vldb x3, [p1, #64]\n"                                   \
  "vlda bmll0, [p0, #128]\nvlda bmlh0, [p0, #192]\n"                           \
  "vlda bmhl0, [p0, #256]\nvlda bmhh0, [p0, #320]\n" NOP7

#define STORES                                                                 \
  NOP7 "vst bmll1, [p2], #64\nvst bmlh1, [p2], #64\n"                          \
       "vst bmhl1, [p2], #64\nvst bmhh1, [p2], #64\n"

static void check_product(const struct product *p, bool minus, bool sign_a,
                          bool sign_b) {
  char body[1000];
  snprintf(body, sizeof body,
           "movxm r0, #%d\n" LOADS "%s dm1, dm0, %s, %s, r0\n" STORES,
           p->config | sign_a << 9 | sign_b << 8, minus ? "vmsc" : "vmac",
           p->s1, p->s2);
  struct machine *m = open_random(body);
  CHECK(m && machine_run(m, 200));
  int wrong = 0, lanes = p->m * p->n;
  for (int i = 0; m && i < lanes; i++) {
    uint64_t sum = 0;
    for (int k = 0; k < p->k; k++) {
      int a = p->element ? i + k * p->n : i / p->n * p->k + k;
      int b = p->element ? i + k * p->n : k * p->n + i % p->n;
      sum += (uint64_t)(lane(m->memory + IN, a, p->a_bits, sign_a) *
                        lane(m->memory + MORE, b, p->b_bits, sign_b));
    }
    uint64_t want = (uint64_t)lane(m->memory + IN + 128, i, p->acc_bits, true) +
                    (minus ? -sum : sum);
    if (p->acc_bits == 32)
      want = (uint64_t)(int32_t)(uint32_t)want;
    wrong += lane(m->memory + OUT, i, p->acc_bits, true) != (int64_t)want;
  }
  CHECK(wrong == 0);
  machine_close(m);
}

static void test_products(void) {
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    for (int how = 0; how < 8; how++)
      check_product(&products[i], how & 1, how & 2, how & 4);
}

/* ---- block floats ---- */

/* Blocks of [exponent][8 mantissas] with values that sums keep exactly. */
static void put_blocks(uint8_t *to, int blocks) {
  for (int i = 0; i < blocks; i++)
    to[9 * i] = (uint8_t)(124 + random_bits() % 6);
}

static double block_value(const uint8_t *tile, int row, int k) {
  return ldexp((int8_t)tile[9 * row + 1 + k], tile[9 * row] - 133);
}

/* Eight tiles of A and of B: pops of 72 bytes walk off the lines and back. */
static void test_blocks(void) {
  char body[3000] = "movxm r0, #780\nmovx r24, #0\nmovx r25, #0\nvclr dm1\n"
                    "vlda.fill.512 [p0, lf0, r24]; "
                    "vldb.fill.512 [p1, lf1, r25]\n";
  for (int i = 0; i < 8; i++)
    strcat(body, "vlda.pop.576 ex0, [p0, lf0, r24]; "
                 "vldb.pop.576 ex1, [p1, lf1, r25]\n" NOP7
                 "vmac.f dm1, dm1, ex0, ex1, r0\n");
  strcat(body, STORES);
  struct machine *m = open_random(body);
  if (!m)
    return;
  put_blocks(m->memory + IN, 64);
  put_blocks(m->memory + MORE, 64);
  CHECK(machine_run(m, 400));
  int wrong = 0;
  for (int i = 0; i < 64; i++) {
    double sum = 0;
    float got;
    for (int t = 0; t < 8; t++)
      for (int k = 0; k < 8; k++)
        sum += block_value(m->memory + IN + 72 * t, i / 8, k) *
               block_value(m->memory + MORE + 72 * t, i % 8, k);
    memcpy(&got, m->memory + OUT + 4 * i, 4);
    wrong += got != sum;
  }
  CHECK(wrong == 0);
  /* nine lines each, and nothing left */
  CHECK(machine_reg(m, "p0") == 0x70000 + 576);
  CHECK(machine_reg(m, "p1") == 0x71000 + 576);
  CHECK(machine_reg(m, "r24") == 0 && machine_reg(m, "r25") == 0);
  machine_close(m);
}

/* 64 products of bf16, each into a sum of its own, exact for few bits. */
static void test_lanes(void) {
  struct machine *m = open_random("movxm r0, #60\n" LOADS
                                  "vmac.f dm1, dm0, y0, y1, r0\n" STORES);
  if (!m)
    return;
  for (int i = 0; i < 64; i++) {
    uint16_t a = bf16_from_f32((float)(int)(random_bits() % 511) - 255),
             b = bf16_from_f32(ldexpf((float)(random_bits() % 256), -4));
    float sum = (float)(int)(random_bits() % 8191) - 4095;
    memcpy(m->memory + IN + 2 * i, &a, sizeof a);
    memcpy(m->memory + MORE + 2 * i, &b, sizeof b);
    memcpy(m->memory + IN + 128 + 4 * i, &sum, sizeof sum);
  }
  CHECK(machine_run(m, 100));
  for (int i = 0; i < 64; i++) {
    uint16_t a, b;
    float sum, got;
    memcpy(&a, m->memory + IN + 2 * i, sizeof a);
    memcpy(&b, m->memory + MORE + 2 * i, sizeof b);
    memcpy(&sum, m->memory + IN + 128 + 4 * i, sizeof sum);
    memcpy(&got, m->memory + OUT + 4 * i, sizeof got);
    CHECK(got == sum + bf16_to_f32(a) * bf16_to_f32(b));
  }
  machine_close(m);
}

/* Popped and pushed, eight tiles are the same bytes again. */
static void test_push(void) {
  char body[3000] = "movx r24, #0\nmovx r26, #0\n"
                    "vlda.fill.512 [p0, lf0, r24]\n";
  for (int i = 0; i < 8; i++)
    strcat(body, "vlda.pop.576 ex0, [p0, lf0, r24]\n" NOP7
                 "vst.push.576 ex0, [p2, sf, r26]\n");
  strcat(body, "vst.flush.512 [p2, sf, r26]\n");
  struct machine *m = open_random(body);
  CHECK(m && machine_run(m, 400));
  CHECK(m && memcmp(m->memory + IN, m->memory + OUT, 576) == 0);
  CHECK(m && machine_reg(m, "p2") == 0x72000 + 576);
  machine_close(m);
}

/* x rounded to a whole number: 0 down, 12 to nearest even. */
static double rounded(double x, int mode) {
  return mode == 0 ? floor(x) : nearbyint(x);
}

static void test_to_blocks(void) {
  for (int mode = 0; mode <= 12; mode += 12)
    for (int through_fifo = 0; through_fifo < 2; through_fifo++) {
      char body[1000];
      snprintf(body, sizeof body,
               "mov crrnd, #%d\nmovx r26, #0\nvlda bmll0, [p0, #0]\n"
               "vlda bmlh0, [p0, #64]\nvlda bmhl0, [p0, #128]\n"
               "vlda bmhh0, [p0, #192]\n" NOP7 "%s" NOP7,
               mode,
               through_fifo
                   ? "vst.push.576.conv.bfp16ebs8.fp32 dm0, [p2, sf, r26]\n"
                   : "vconv.bfp16ebs8.fp32 ex0, dm0\n" NOP7
                     "vst.push.576 ex0, [p2, sf, r26]\n");
      struct machine *m = open_random(body);
      if (!m)
        return;
      for (int i = 0; i < 64; i++) {
        float x = ldexpf((float)(int32_t)random_bits(), -40 + i % 8);
        memcpy(m->memory + IN + 4 * i, &x, 4);
      }
      CHECK(machine_run(m, 200));
      int wrong = 0; /* the first line: 7 blocks and an exponent */
      for (int block = 0; block < 7; block++) {
        int most = 0;
        float x[8];
        for (int i = 0; i < 8; i++) {
          int e;
          memcpy(&x[i], m->memory + IN + 32 * block + 4 * i, 4);
          frexp(x[i], &e);
          most = i == 0 || e > most ? e : most;
        }
        wrong += m->memory[OUT + 9 * block] != most + 126;
        for (int i = 0; i < 8; i++) {
          double v = rounded(ldexp(x[i], 7 - most), mode);
          wrong +=
              (int8_t)m->memory[OUT + 9 * block + 1 + i] != (v > 127 ? 127 : v);
        }
      }
      CHECK(wrong == 0);
      CHECK(machine_reg(m, "r26") == 8);
      machine_close(m);
    }
}

/* ---- changes of width ---- */

static int64_t saturated(double x, int bits, bool is_signed) {
  double max = ldexp(1, bits - is_signed) - 1;
  double min = is_signed ? -max - 1 : 0;
  return (int64_t)(x > max ? max : x < min ? min : x);
}

static void test_srs(void) {
  static const struct {
    const char *op, *from;
    int factor, wide, lanes;
    bool stores;
  } forms[] = {
      {"vsrs.2x wl0, bmll0, s1, srssign", "wl0", 2, 32, 16, false},
      {"vsrs.2x x0, cml0, s1, srssign", "x0", 2, 32, 32, false},
      {"vsrs.4x wl0, cml0, s1, srssign", "wl0", 4, 32, 32, false},
      {"vsrs.4x x0, dm0, s1, srssign", "x0", 4, 32, 64, false},
      {"vsrs.2x x0, cml0, s1, srssign", "x0", 2, 64, 16, false},
      {"vst.srs.4x dm0, s1, srssign", NULL, 4, 32, 64, true},
      {"vst.srs.2x cml0, s1, srssign", NULL, 2, 32, 32, true},
  };
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (int sign = 0; sign < 2; sign++) {
      char body[1000], last[100] = "";
      if (forms[f].from)
        snprintf(last, sizeof last, "vst %s, [p2, #0]\n", forms[f].from);
      snprintf(body, sizeof body,
               "mov crrnd, #12\nmov crsat, #1\nmov crsrsmode, #%d\n"
               "mov s1, #23\n" LOADS "%s%d%s\n" NOP7 "%s",
               forms[f].wide == 64, forms[f].op, sign,
               forms[f].stores ? ", [p2, #0]" : "", last);
      struct machine *m = open_random(body);
      CHECK(m && machine_run(m, 200));
      int wrong = 0, narrow = forms[f].wide / forms[f].factor;
      for (int i = 0; m && i < forms[f].lanes; i++) {
        int64_t acc = lane(m->memory + IN + 128, i, forms[f].wide, true);
        double low = (double)(acc & ((1 << 23) - 1)) / (1 << 23);
        double high = (double)(acc >> 23);
        double v =
            low > 0.5 || (low == 0.5 && fmod(high, 2) != 0) ? high + 1 : high;
        wrong += lane(m->memory + OUT, i, narrow, sign) !=
                 saturated(v, narrow, sign);
      }
      CHECK(wrong == 0);
      machine_close(m);
    }
}

static void test_ups(void) {
  static const struct {
    const char *op;
    int factor, wide, lanes;
    bool loads;
  } forms[] = {
      {"vups.2x bmll1, wl0, s1, upssign", 2, 32, 16, false},
      {"vups.2x cml1, x0, s1, upssign", 2, 32, 32, false},
      {"vups.4x dm1, x0, s1, upssign", 4, 32, 64, false},
      {"vups.4x cml1, wl0, s1, upssign", 4, 64, 16, false},
      {"vlda.ups.4x dm1, s1, upssign", 4, 32, 64, true},
      {"vlda.ups.2x cml1, s1, upssign", 2, 32, 32, true},
  };
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (int sign = 0; sign < 2; sign++) {
      char body[1000];
      snprintf(body, sizeof body,
               "mov crsat, #0\nmov crupsmode, #%d\nmov s1, #3\n" LOADS
               "%s%d%s\n" NOP7 STORES,
               forms[f].wide == 64, forms[f].op, sign,
               forms[f].loads ? ", [p0, #0]" : "");
      struct machine *m = open_random(body);
      CHECK(m && machine_run(m, 200));
      int wrong = 0, narrow = forms[f].wide / forms[f].factor;
      for (int i = 0; m && i < forms[f].lanes; i++)
        wrong += lane(m->memory + OUT, i, forms[f].wide, true) !=
                 lane(m->memory + IN, i, narrow, sign) * 8;
      CHECK(wrong == 0);
      machine_close(m);
    }
}

static void test_unpack_and_bf16(void) {
  for (int size = 0; size < 2; size++)
    for (int sign = 0; sign < 2; sign++) {
      char body[600];
      snprintf(body, sizeof body,
               "mov crunpacksize, #%d\nnop\nvldb.unpack y0, unpacksign%d, [p0, "
               "#0]\n" NOP7 "vst x0, [p2, #0]\nvst x1, [p2, #64]\n",
               size, sign);
      struct machine *m = open_random(body);
      CHECK(m && machine_run(m, 100));
      int wrong = 0, narrow = size ? 8 : 4;
      for (int i = 0; m && i < 512 / narrow; i++)
        wrong += lane(m->memory + OUT, i, 2 * narrow, true) !=
                 lane(m->memory + IN, i, narrow, sign);
      CHECK(wrong == 0);
      machine_close(m);
    }
  struct machine *m = open_random("vlda.conv.fp32.bf16 cml0, [p0, #0]\n" NOP7
                                  "vst.conv.bf16.fp32 cml0, [p2, #0]\n"
                                  "vst bmlh0, [p2, #64]\n");
  for (int i = 0; m && i < 32; i++) /* numbers */
    m->memory[IN + 2 * i + 1] &= 0xBF;
  CHECK(m && machine_run(m, 100));
  CHECK(m && memcmp(m->memory + IN, m->memory + OUT, 64) == 0);
  for (int i = 0; m && i < 16; i++)
    CHECK(lane(m->memory + OUT + 64, i, 32, false) ==
          lane(m->memory + IN, 16 + i, 16, false) << 16);
  machine_close(m);
}

/* ---- time ---- */

/* A dependent product of block floats takes three bundles: every second one
 * goes on with the sum before the last one. */
static void test_time(void) {
  struct machine *m = open_random(
      "movxm r0, #776\nvclr dm1\n" LOADS "nop\n"
      "vmac dm1, dm1, x0, x2, r0\nvmac dm1, dm1, x0, x2, r0\n" STORES);
  CHECK(m && machine_run(m, 200));
  int64_t sum = 0; /* the second one came too early to see the first one */
  for (int k = 0; m && k < 8; k++)
    sum += lane(m->memory + IN, k, 8, true) *
           lane(m->memory + MORE, 8 * k, 8, true);
  CHECK(m && lane(m->memory + OUT, 0, 32, true) == sum);
  machine_close(m);
  m = open_random(
      "movxm r0, #776\nvclr dm1\n" LOADS "nop\n"
      "vmac dm1, dm1, x0, x2, r0\nnop\nvmac dm1, dm1, x0, x2, r0\n" STORES);
  CHECK(m && machine_run(m, 200));
  sum = 0;
  for (int k = 0; m && k < 8; k++)
    sum += 2 * lane(m->memory + IN, k, 8, true) *
           lane(m->memory + MORE, 8 * k, 8, true);
  CHECK(m && lane(m->memory + OUT, 0, 32, true) == sum);
  machine_close(m);
}

/* Two accesses to the same pair of banks take two cycles, others one. */
static void test_banks(void) {
  static const struct {
    const char *address;
    int stalls;
  } places[] = {{"0x70040", 1}, {"0x73fc0", 1}, {"0x74000", 0}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char body[200];
    snprintf(body, sizeof body,
             "movxm p3, #%s\nvlda x0, [p0, #0]; vldb x1, [p3, #0]\n",
             places[i].address);
    struct machine *m = open_random(body);
    CHECK(m && machine_run(m, 100));
    CHECK(m &&
          (int)core_counts(m->core)->stall[STALL_MEMORY] == places[i].stalls);
    machine_close(m);
  }
}

/* ---- scalars, moves, a loop ---- */

static void test_scalars(void) {
  struct machine *m = open_random(
      "movx r1, #7\nmovx r2, #-3\nmovx r3, #100\nmovx r10, #0\n"
      "mul r4, r1, r2\nmov r5, r3\nnop\nmac r5, r5, r1, r2\nnop\n"
      "popcount r6, r2\nadd.nc r7, r1, r3\nmovs m1, r3\nmov r8, m1\n"
      "movxm ls, #first\nmovxm le, #last\nmovxm lc, #5\n"
      "nopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\n"
      "nopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\n"
      "nopa; nopx; nopm; nopv\nnopa; nopx; nopm; nopv\n"
      "first: add r10, r10, #2\nlast: add r10, r10, #1\n");
  CHECK(m && machine_run(m, 200));
  if (!m)
    return;
  CHECK(machine_reg(m, "r4") == (uint32_t)-21);
  CHECK(machine_reg(m, "r5") == 79);
  CHECK(machine_reg(m, "r6") == 31);
  CHECK(machine_reg(m, "r7") == 107);
  CHECK(machine_reg(m, "r8") == 100);
  CHECK(machine_reg(m, "r10") == 15);
  /* reset: the second of each pair of sign bits is set */
  CHECK(machine_reg(m, "srssign0") == 0 && machine_reg(m, "srssign1") == 1);
  machine_close(m);
}

/* What is not known stops the core with a report. */
static void test_unknown(void) {
  static const struct {
    const char *body, *message;
  } stops[] = {
      {"vexp2 wl0, bmll0\n", "'vexp2' does is not known"},
      {"mov r0, ss\n", "'mov' does is not known"},
      {"vpack wl0, x0, packsign1\n", "'vpack' does is not known"},
      {"movxm r0, #60\nvmac.f dm0, dm0, x0, x1, r0\n",
       "configuration 0x3c: this product of floats is not known"},
      {"movxm r0, #2\nvmac dm0, dm0, x0, x1, r0\n",
       "is no integer product that we know"},
      {"vmac dm0, dm0, x0, qx1, r0\n", "is not known"},
      {"movx r26, #8\nvst.flush.512 [p2, sf, r26]\n",
       "a flush of 8 bytes: what it writes is not known"},
      {"mov crrnd, #5\nnop\nvsrs.2x wl0, bmll0, s0, srssign1\n", "reserved"},
  };
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    struct machine *m = open_random(stops[i].body);
    unsigned banks;
    for (int k = 0; m && k < 100; k++)
      core_step(m->core, &banks);
    CHECK(m && core_state(m->core) == CORE_FAILED &&
          strstr(core_diag(m->core)->text, stops[i].message));
    if (m && !strstr(core_diag(m->core)->text, stops[i].message))
      fprintf(stderr, "  %s: %s\n", stops[i].body, core_diag(m->core)->text);
    machine_close(m);
  }
}

int main(void) {
  test_products();
  test_blocks();
  test_lanes();
  test_push();
  test_to_blocks();
  test_srs();
  test_ups();
  test_unpack_and_bf16();
  test_time();
  test_banks();
  test_scalars();
  test_unknown();
  return check_result();
}
