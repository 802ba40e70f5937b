/* blocks_test.c -- bf16 becomes block floats as a model says that knows nothing
 * of the simulator, at the pace of the ports that it needs. */
#include "check.h"
#include "isa.h"
#include "kernel_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, TO = 0x8000 };

static uint8_t memory[CHECK_MEMORY_BYTES], expected[CHECK_MEMORY_BYTES];

/* 8 values of one exponent: that of the largest, which has 6 bits behind its
 * first one. */
static void model(const double value[SIDE], uint8_t to[1 + SIDE]) {
  int largest = -126;
  bool zero = true;
  for (int i = 0; i < SIDE; i++) {
    if (value[i] == 0)
      continue;
    int e = ilogb(value[i]);
    largest = e > largest ? e : largest;
    zero = false;
  }
  to[0] = zero ? 0 : (uint8_t)(largest + 127);
  for (int i = 0; i < SIDE; i++) {
    double mantissa = nearbyint(ldexp(value[i], 6 - largest));
    to[1 + i] = (uint8_t)(int8_t)fmin(mantissa, 127);
  }
}

static double bf16_at(int64_t element) {
  return dtype_load_float(DTYPE_BF16, memory + 2 * element);
}

/* Where element (row of A or column of B, k) lies. */
static int64_t element_of(const struct kernel_blocks *b, int i, int k) {
  int64_t block = b->input ? (int64_t)(k / SIDE) * (b->other / SIDE) + i / SIDE
                           : (int64_t)(i / SIDE) * (b->k / SIDE) + k / SIDE;
  bool along_k = b->turned == (b->input == 1);
  return block * SIDE * SIDE +
         (along_k ? i % SIDE * SIDE + k % SIDE : k % SIDE * SIDE + i % SIDE);
}

static void fill(const struct kernel_blocks *b, unsigned seed, bool wild) {
  srand(seed);
  for (int i = 0; i < CHECK_MEMORY_BYTES; i++)
    memory[i] = (uint8_t)rand();
  for (int i = 0; i < b->other * b->k; i++) {
    double value = ldexp(rand() % 4096 - 2048, wild ? rand() % 200 - 110 : -11);
    dtype_store_float(DTYPE_BF16, memory + 2 * i, rand() % 16 ? value : 0);
  }
}

static void test(struct kernel_blocks b, unsigned seed, bool wild,
                 uint64_t most_cycles) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct check_outcome o = {0};
  b.name = "blocks";
  b.isa = isa_find("aie2p");
  fill(&b, seed, wild);
  int whole = b.whole_k ? b.whole_k : b.k;
  memcpy(expected, memory, sizeof expected);
  for (int i = 0; i < b.other; i++)
    for (int k = 0; k < b.k; k += SIDE) {
      double value[SIDE];
      for (int j = 0; j < SIDE; j++)
        value[j] = bf16_at(element_of(&b, i, k + j));
      int64_t tile = (i / 16 * (whole / SIDE) + k / SIDE) * 2 + i / SIDE % 2;
      model(value, expected + TO + (tile * SIDE + i % SIDE) * (1 + SIDE));
    }
  struct asm_program *p = kernel_blocks(a, &b, &d);
  bool good = p && check_run(p, memory, (uint32_t[]){0, 0, TO}, &o, &d);
  int wrong = 0;
  for (int i = 0; i < CHECK_MEMORY_BYTES; i++)
    wrong += memory[i] != expected[i];
  CHECK(good && !wrong);
  CHECK(!most_cycles || o.cycles <= most_cycles);
  if (!good || wrong || (most_cycles && o.cycles > most_cycles))
    fprintf(stderr, "%c %dx%d turned %d: %d bytes wrong, %llu cycles, %s\n",
            "AB"[b.input], b.other, b.k, b.turned, wrong,
            (unsigned long long)o.cycles, d.text);
  arena_close(a);
}

static void test_refusals(void) {
  const struct kernel_blocks bad[] = {
      {"x", isa_find("aie2p"), 0, 24, 32, 0, false},
      {"x", isa_find("aie2p"), 0, 16, 64, 96, false},
      {"x", isa_find("aie2p"), 1, 16, 16, 0, false},
      {"x", isa_find("aie2p"), 0, 512, 512, 0, false},
      {"x", isa_find("aie2"), 0, 16, 32, 0, false}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    CHECK(!kernel_blocks(a, &bad[i], &d) && d.kind == DIAG_ERROR);
    arena_close(a);
  }
}

int main(void) {
  /* 64 blocks, 2 and 4 cycles each */
  for (int input = 0; input < 2; input++)
    for (int turned = 0; turned < 2; turned++)
      test(
          (struct kernel_blocks){
              .input = input, .other = 64, .k = 64, .turned = turned},
          1, false, (input == turned ? 128 : 256) + 24);
  for (unsigned i = 0; i < 24; i++)
    test((struct kernel_blocks){.input = (int)i % 2,
                                .other = 16 * (1 + (int)i % 5),
                                .k = 32 * (1 + (int)i % 3),
                                .whole_k = i % 4 ? 0 : 64 * (1 + (int)i % 3),
                                .turned = i / 2 % 2},
         i, i % 3 == 0, 0);
  test_refusals();
  return check_result();
}
