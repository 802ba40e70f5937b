/* eltwise_test.c -- zero, copy, add and narrow do what plain loops do, touch
 * nothing else, and run at the store port's pace. */
#include "check.h"
#include "kernel_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t memory[CHECK_MEMORY_BYTES], expected[CHECK_MEMORY_BYTES];

static void fill(unsigned seed) {
  srand(seed);
  for (int i = 0; i < CHECK_MEMORY_BYTES; i++)
    memory[i] = (uint8_t)rand();
}

/* Runs the kernel on `memory`; it has to leave `expected`. */
static void run(const struct asm_program *p, const uint32_t pointer[3],
                uint64_t most_cycles, const char *what, struct diag *d) {
  struct check_outcome o = {0};
  bool done = p && check_run(p, memory, pointer, &o, d);
  int wrong = 0;
  for (int i = 0; done && i < CHECK_MEMORY_BYTES; i++)
    wrong += memory[i] != expected[i];
  CHECK(done);
  CHECK(wrong == 0);
  CHECK(o.cycles <= most_cycles);
  if (!done || wrong || o.cycles > most_cycles)
    fprintf(stderr, "%s: %d bytes wrong, %llu cycles, %s\n", what, wrong,
            (unsigned long long)o.cycles, d->text);
}

static void test_zero(int bytes) {
  struct arena *a = arena_open();
  struct diag d = {0};
  enum { AT = 64 };
  fill(1);
  memcpy(expected, memory, sizeof expected);
  memset(expected + AT, 0, bytes);
  run(kernel_zero(a, NULL, "zero", bytes, &d), (uint32_t[]){AT, 0, 0},
      (uint64_t)bytes / 32 + 16, "zero", &d);
  arena_close(a);
}

static bool negative(enum dtype type, const uint8_t *at) {
  if (dtype_kind(type) == DTYPE_FLOAT)
    return at[dtype_bytes(type) - 1] & 0x80;
  return dtype_load_int(type, at) < 0;
}

static void test_copy(enum dtype type, int rows, int columns, int r, int c,
                      bool transpose, bool relu) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct kernel_copy k = {"copy", type,      rows, columns, r,
                          c,      transpose, relu, NULL};
  enum { FROM = 0, TO = 0x4000 };
  int size = dtype_bytes(type);
  fill(2);
  for (int i = 0; i < rows * columns && type == DTYPE_BF16; i++)
    memory[FROM + 2 * i + 1] &= 0xbf; /* no NaN */
  memcpy(expected, memory, sizeof expected);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      int from = ((i / r) * (columns / c) + j / c) * r * c + i % r * c + j % c;
      int to = transpose
                   ? ((j / c) * (rows / r) + i / r) * r * c + j % c * r + i % r
                   : from;
      uint8_t *at = expected + TO + to * size;
      memcpy(at, memory + FROM + from * size, size);
      if (relu && negative(type, at))
        memset(at, 0, size);
    }
  /* a small block of 32 bytes with both takes the MV slot twice */
  int pace = transpose && relu && r * c * size == 32 ? 2 : 1;
  run(kernel_copy(a, &k, &d), (uint32_t[]){FROM, TO, 0},
      (uint64_t)rows * columns * size / 32 * pace + 32, "copy", &d);
  arena_close(a);
}

static void test_add(enum dtype type, int bytes) {
  struct arena *a = arena_open();
  struct diag d = {0};
  int size = dtype_bytes(type);
  bool is_float = dtype_kind(type) == DTYPE_FLOAT;
  fill(3);
  for (int side = 0; is_float && side < 2; side++)
    for (int i = 0; i < bytes / size; i++) /* sums are exact */
      dtype_store_float(type, memory + side * 0x4000 + i * size,
                        (rand() % 255 - 127) / 16.0);
  memcpy(expected, memory, sizeof expected);
  for (int i = 0; i < bytes; i += size) {
    const uint8_t *x = memory + i, *y = memory + 0x4000 + i;
    if (is_float)
      dtype_store_float(type, expected + 0x8000 + i,
                        dtype_load_float(type, x) + dtype_load_float(type, y));
    else
      dtype_store_int(type, expected + 0x8000 + i,
                      dtype_load_int(type, x) + dtype_load_int(type, y));
  }
  run(kernel_add(a, "add", type, bytes, &d), (uint32_t[]){0, 0x4000, 0x8000},
      (uint64_t)bytes / 32 * (is_float ? 2 : 1) + 32, "add", &d);
  arena_close(a);
}

/* Halfway between two bf16, denormals, the largest numbers, infinities; NaN
 * where the payload lies in the low half and where it does not. */
static const uint32_t hard_f32[] = {
    0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0xbf808000, 0xbf818000,
    0x00000000, 0x80000000, 0x00000001, 0x00007fff, 0x00008000, 0x00018000,
    0x807f8000, 0x007fffff, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fc00000, 0xffff8000};
static const uint32_t hard_i32[] = {
    0,          1,          0xffffffff, 0x7fffffff, 0x80000000, 127,
    128,        0xffffff80, 0xffffff7f, 255,        256,        32767,
    32768,      0xffff8000, 0xffff7fff, 65535,      0x00010000, 8,
    0xfffffff8, 24,         0xffffffe8, 7,          0xfffffff9, 0x7ffffff8};

/* The kernel's results by its contract: halves up where it shifts. */
static void narrow_one(const struct kernel_narrow *k, const uint8_t *from,
                       const uint8_t *bias, uint8_t *to) {
  uint32_t bits, more;
  float sum, part;
  memcpy(&bits, from, 4);
  memcpy(&more, bias, 4);
  memcpy(&part, &more, 4);
  memcpy(&sum, &bits, 4);
  sum += part;
  if (k->bias && k->from == DTYPE_F32)
    memcpy(&bits, &sum, 4);
  else if (k->bias)
    bits += more;
  bool nan = k->from == DTYPE_F32 && (bits & 0x7fffffff) > 0x7f800000;
  if (k->relu && (nan ? !k->keeps_nan : bits >> 31))
    bits = 0;
  if (k->from == DTYPE_F32) {
    if (k->to == DTYPE_BF16 && (bits & 0x7fffffff) > 0x7f800000)
      bits = bits >> 16 & 0x7f ? bits : bits | 0x10000; /* NaN: cut, kept NaN */
    else if (k->to == DTYPE_BF16)
      bits += 0x7fff + (bits >> 16 & 1);
    bits = k->to == DTYPE_BF16 ? bits >> 16 : bits;
    memcpy(to, &bits, (size_t)dtype_bytes(k->to));
    return;
  }
  int64_t v = (int32_t)bits, low = 0, high;
  if (k->shift)
    v = (v + (1ll << (k->shift - 1))) >> k->shift;
  high = (1ll << 8 * dtype_bytes(k->to)) - 1;
  if (dtype_kind(k->to) == DTYPE_SIGNED)
    high >>= 1, low = -high - 1;
  if (k->saturation == KERNEL_SATURATE)
    v = v < low ? low : v > high ? high : v;
  dtype_store_int(k->to, to, v);
}

/* Where element i of small blocks of 4 x 4 was before they were transposed. */
static int turned(int i) { return i / 16 * 16 + i % 4 * 4 + i % 16 / 4; }

static void test_narrow(struct kernel_narrow k, bool in_place) {
  struct arena *a = arena_open();
  struct diag d = {0};
  enum { FROM = 0, TO = 0x8000, BIAS = 0xf000 };
  k.name = "narrow";
  k.rounding = k.from == DTYPE_F32 ? KERNEL_ROUND_EVEN : KERNEL_ROUND_HALF_UP;
  k.apart = !in_place;
  uint32_t to = in_place ? FROM : TO;
  fill(4);
  memcpy(memory + FROM, k.from == DTYPE_F32 ? hard_f32 : hard_i32,
         sizeof hard_f32);
  bool adds_floats = k.bias && k.from == DTYPE_F32;
  for (int side = 0; adds_floats && side < 2; side++) { /* sums are exact */
    uint8_t *at = memory + (side ? BIAS : FROM);
    for (int i = 0; i < (side ? k.bias : k.elements); i++)
      dtype_store_float(DTYPE_F32, at + 4 * i, (rand() % 4095 - 2047) / 16.0);
    dtype_store_float(DTYPE_F32, at + 4 * side, -INFINITY);
  }
  memcpy(expected, memory, sizeof expected);
  for (int i = 0; i < k.elements; i++)
    narrow_one(&k, memory + FROM + 4 * (k.turn ? turned(i) : i),
               memory + BIAS + (k.bias ? 4 * (i % k.bias) : 0),
               expected + to + dtype_bytes(k.to) * i);
  /* loads and stores keep out of each other's way, if they have to; a relu adds
   * moves to vector registers and back, and so does a bias */
  int pace = k.apart ? 4 : 4 + dtype_bytes(k.to), halves = k.elements / 16;
  int relu = k.from == DTYPE_F32 ? 4 : 2;
  if (k.isa) /* twice as wide; what goes through a register waits for it */
    pace = 4;
  int most = (halves * pace + 1) / 2 + (k.relu ? relu * halves : 0) +
             (k.bias ? 2 * halves : 0);
  run(kernel_narrow(a, &k, &d), (uint32_t[]){FROM, to, BIAS},
      (uint64_t)most + 64, dtype_name(k.to), &d);
  arena_close(a);
}

/* Integers with and without a bias, and floats, on another set. */
static void test_narrows_on(const struct isa *isa) {
  static const enum dtype to[] = {DTYPE_I32, DTYPE_I16, DTYPE_U16, DTYPE_I8,
                                  DTYPE_U8};
  static const int elements[] = {64, 192, 4096}, bias[] = {0, 192, 256};
  for (int i = 0; i < 3 * 2 * 2 * 2; i++)
    for (size_t j = 0; j < sizeof to / sizeof *to; j++) {
      struct kernel_narrow k = {.isa = isa,
                                .from = DTYPE_I32,
                                .to = to[j],
                                .elements = elements[i / 8],
                                .bias = i & 4 ? bias[i / 8] : 0,
                                .relu = i & 1,
                                .shift = j ? 4 : 0};
      k.saturation = j && i & 2 ? KERNEL_SATURATE : KERNEL_WRAP;
      CHECK(k.elements % kernel_narrow_unit(isa, k.from, k.to) == 0);
      test_narrow(k, i & 2);
    }
  for (int i = 0; i < 3 * 8; i++) { /* floats without a bias */
    struct kernel_narrow k = {.isa = isa,
                              .from = DTYPE_F32,
                              .to = i & 4 ? DTYPE_F32 : DTYPE_BF16,
                              .elements = elements[i / 8],
                              .relu = i & 1};
    test_narrow(k, i & 2);
    k.keeps_nan = true;
    test_narrow(k, i & 2);
  }
  CHECK(!kernel_narrow_adds(isa, DTYPE_F32) &&
        kernel_narrow_adds(isa, DTYPE_I32));
}

static void test_narrows(void) {
  static const enum dtype to[] = {DTYPE_I32, DTYPE_I16, DTYPE_U16, DTYPE_I8,
                                  DTYPE_U8};
  static const int elements[] = {32, 160, 4096, 48 * 96};
  for (int i = 0; i < 4 * 2 * 2; i++) {
    struct kernel_narrow k = {.elements = elements[i / 4], .relu = i & 1};
    k.from = DTYPE_F32, k.to = DTYPE_BF16;
    test_narrow(k, i & 2);
    k.to = DTYPE_F32;
    test_narrow(k, i & 2);
    k.keeps_nan = true;
    test_narrow(k, i & 2);
    k.turn = true;
    test_narrow(k, i & 2);
    k.keeps_nan = false;
    k.to = DTYPE_BF16;
    test_narrow(k, i & 2);
    k.turn = false;
    k.from = DTYPE_I32;
    for (size_t j = 0; j < sizeof to / sizeof *to; j++)
      for (int shift = 0; shift < (j ? 12 : 1); shift += 4) {
        k.to = to[j], k.shift = shift;
        k.saturation = KERNEL_WRAP;
        test_narrow(k, i & 2);
        k.saturation = j ? KERNEL_SATURATE : KERNEL_WRAP;
        test_narrow(k, i & 2);
      }
  }
}

/* A bias shorter than the block, as long, and of one load. */
static void test_biases(void) {
  static const enum dtype to[] = {DTYPE_BF16, DTYPE_F32, DTYPE_I32, DTYPE_I16,
                                  DTYPE_U16,  DTYPE_I8,  DTYPE_U8};
  static const int elements[] = {4096, 160, 96}, bias[] = {256, 160, 16};
  for (int i = 0; i < 3 * 4; i++)
    for (size_t j = 0; j < sizeof to / sizeof *to; j++) {
      bool floats = dtype_kind(to[j]) == DTYPE_FLOAT;
      struct kernel_narrow k = {.from = floats ? DTYPE_F32 : DTYPE_I32,
                                .to = to[j],
                                .elements = elements[i / 4],
                                .bias = bias[i / 4],
                                .relu = i & 1,
                                .turn = floats && i & 2,
                                .shift = j > 2 ? 4 : 0,
                                .saturation =
                                    j > 2 ? KERNEL_SATURATE : KERNEL_WRAP};
      test_narrow(k, i & 2);
    }
}

/* What is accepted of a type has a kernel that is right; what is not says so.
 */
static void test_types(void) {
  struct arena *a = arena_open();
  for (int i = 0; i < DTYPE_COUNT * DTYPE_COUNT; i++) {
    struct kernel_narrow k = {.from = (enum dtype)(i / DTYPE_COUNT),
                              .to = (enum dtype)(i % DTYPE_COUNT)};
    k.elements = 4 * kernel_narrow_unit(NULL, k.from, k.to);
    if (k.elements)
      test_narrow(k, i % 2);
  }
  for (int i = 0; i < DTYPE_COUNT; i++) {
    enum dtype type = (enum dtype)i;
    struct diag d = {0};
    int bytes = dtype_bytes(type);
    if (kernel_add(a, "add", type, 64, &d))
      test_add(type, 128);
    else
      CHECK(strstr(d.text, "no kernel for"));
    for (int r = 1; r <= 64; r *= 2)
      for (int options = 0; options < 4; options++) {
        int c = 64 / bytes / r;
        struct kernel_copy k = {"copy", type,        2 * r,       3 * c, r,
                                c,      options & 1, options & 2, NULL};
        d = (struct diag){0};
        if (c && kernel_copy(a, &k, &d))
          test_copy(type, 2 * r, 3 * c, r, c, options & 1, options & 2);
        else
          CHECK(!c || (options && d.kind == DIAG_ERROR));
      }
  }
  arena_close(a);
}

static void test_refusals(void) {
  struct arena *a = arena_open();
  static const struct kernel_copy bad[] = {

      {"x", DTYPE_BF16, 16, 12, 4, 8, false, false, NULL},
      {"x", DTYPE_BF16, 32, 32, 2, 16, true, false, NULL},
      {"x", DTYPE_U8, 32, 32, 8, 8, false, true, NULL},
      {"x", DTYPE_I8, 512, 512, 8, 8, false, false, NULL},
      {"x", DTYPE_I8, 8, 8, 0, 8, false, false, NULL},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct diag d = {0};
    CHECK(!kernel_copy(a, &bad[i], &d) && d.kind == DIAG_ERROR);
  }
  static const struct kernel_narrow no[] = {
      {.name = "x", .from = DTYPE_BF16, .to = DTYPE_F32, .elements = 32},
      {.name = "x", .from = DTYPE_F32, .to = DTYPE_BF16, .elements = 8},
      {.name = "x", .from = DTYPE_I32, .to = DTYPE_I8, .elements = 48},
      {.name = "x", .from = DTYPE_I32, .to = DTYPE_I8, .elements = 32768},
      {.name = "x", DTYPE_F32, DTYPE_BF16, .elements = 32, .shift = 1},
      {.name = "x", DTYPE_I32, DTYPE_I16, .elements = 32, .shift = 32},
      {.name = "x", DTYPE_I32, DTYPE_I16, .elements = 64, .bias = 24},
      {.name = "x", DTYPE_I32, DTYPE_I16, .elements = 64, .bias = 48},
      {.name = "x", DTYPE_I32, DTYPE_I16, .elements = 64, .bias = -16},
      {.name = "x", DTYPE_I32, DTYPE_I16, .elements = 64, .turn = true},
  };
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    struct diag d = {0};
    CHECK(!kernel_narrow(a, &no[i], &d) && d.kind == DIAG_ERROR);
  }
  struct diag d[3] = {0};
  CHECK(!kernel_zero(a, NULL, "x", 33, &d[0]) && d[0].kind == DIAG_ERROR);
  CHECK(!kernel_zero(a, NULL, "x", 0, &d[1]) && d[1].kind == DIAG_ERROR);
  CHECK(!kernel_add(a, "x", DTYPE_I64, 64, &d[2]) && d[2].kind == DIAG_ERROR);
  arena_close(a);
}

int main(void) {
  static const int bytes[] = {32,   64,   96,    256,   480,  512,
                              1024, 4096, 16384, 16416, 36864};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    test_zero(bytes[i]);
  static const struct {
    enum dtype type;
    int rows, columns, r, c;
  } copy[] = {
      {DTYPE_BF16, 64, 64, 4, 8}, {DTYPE_BF16, 32, 36, 8, 4},
      {DTYPE_I8, 64, 64, 8, 8},   {DTYPE_I8, 24, 40, 4, 8},
      {DTYPE_I16, 20, 28, 4, 4},  {DTYPE_BF16, 4, 8, 4, 8},
  };
  for (size_t i = 0; i < sizeof copy / sizeof *copy; i++)
    for (int j = 0; j < 4; j++)
      test_copy(copy[i].type, copy[i].rows, copy[i].columns, copy[i].r,
                copy[i].c, j & 1, j & 2);
  test_copy(DTYPE_F32, 32, 32, 4, 4, false, true);
  test_copy(DTYPE_I32, 32, 32, 4, 4, false, true);
  static const enum dtype type[] = {DTYPE_I8,  DTYPE_U8,   DTYPE_I16,
                                    DTYPE_I32, DTYPE_BF16, DTYPE_F32};
  for (size_t i = 0; i < sizeof type / sizeof *type; i++) {
    test_add(type[i], 64);
    test_add(type[i], 4096);
    test_add(type[i], 8640);
  }
  test_narrows();
  test_narrows_on(isa_find("aie2p"));
  test_biases();
  test_types();
  test_refusals();
  return check_result();
}
