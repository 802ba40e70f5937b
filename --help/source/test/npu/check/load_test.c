/* load_test.c -- programs whose use of banks is known beside DMA channels.
 *
 * A bank serves one access per cycle (timing.md B), and a channel needs one
 * every four cycles, as an access moves four words.  So a core that wants a
 * bank in every one of N cycles, beside c channels in the same bank, takes T
 * with T = N + c * T / 4, up to what the FIFOs hold at either end. */
#include "kernel_load.h"

#include "asm.h"
#include "check.h"

#include <string.h>

enum {
  N = 2000,     /* accesses of the core */
  EDGE = 24,    /* cycles: to the loop and back */
  PAIR = 16384, /* bytes of a pair of banks */
  BLOCK = 4096
};

/* N times the bundle, and back. */
static struct asm_program *repeat(struct arena *a, const char *bundle) {
  struct text text = {0};
  struct diag d = {0};
  enum { UNROLLED = 100 };
  text_puts(&text, "  movxm ls, #s\n  movxm le, #e\n");
  text_printf(&text, "  mova lc, #%d\n", N / UNROLLED);
  for (int i = 0; i < 7; i++)
    text_puts(&text, "  nopa; nopb; nops; nopxm; nopv\n");
  text_puts(&text, "s:\n");
  for (int i = 0; i < UNROLLED; i++)
    text_printf(&text, "%s  %s\n", i + 1 < UNROLLED ? "" : "e:", bundle);
  text_puts(&text, "  ret lr\n  nop\n  nop\n  nop\n  nop\n  nop\n");
  struct asm_program *p =
      asm_parse(a, isa_find("aie2"), "t.s", text_string(&text), &d);
  CHECK(p != NULL);
  text_free(&text);
  return p;
}

/* Cycles that the program loses to channels at these addresses. */
static double waits(const char *bundle, int count, const uint32_t at[]) {
  struct arena *a = arena_open();
  struct asm_program *p = repeat(a, bundle);
  uint8_t *memory = arena_array(a, CHECK_MEMORY_BYTES, 1);
  const uint32_t pointer[3] = {0, PAIR, 2 * PAIR};
  struct load l = {.count = count};
  struct check_outcome alone, beside;
  struct diag d = {0};
  for (int i = 0; i < count; i++)
    l.channel[i] = (struct load_channel){.at = at[i], .bytes = BLOCK};
  CHECK(p && check_run(p, memory, pointer, &alone, &d));
  CHECK(alone.cycles >= N && alone.cycles < N + EDGE && !alone.stalls);
  CHECK(p && load_run(p, memory, pointer, &l, &beside, &d));
  CHECK(beside.cycles == alone.cycles); /* what it loses is in l.waits */
  arena_close(a);
  return (double)l.waits;
}

/* Words in the FIFOs make up for some accesses at either end. */
static void expect(const char *bundle, int count, const uint32_t at[],
                   double wanted) {
  double got = waits(bundle, count, at);
  double edge = 1 + 4. * count / (1 - count / 4.);
  bool good = got > wanted - edge && got < wanted + edge;
  CHECK(good);
  if (!good)
    fprintf(stderr, "%s beside %d: %.0f waits, not %.0f\n", bundle, count, got,
            wanted);
}

#define WIDE "vlda wl0, [p0, #0]" /* 32 bytes: both banks of pair 0 */
#define HALF "vlda.128 wl0, [p0]" /* 16 bytes: the first one */
#define BOTH "vlda wl0, [p0, #0]; vldb wl1, [p1, #0]" /* pairs 0 and 1 */

/* Products of a design on XDNA2's cores, cycles per step beside its channels.
 */
static void test_aie2p(enum dtype out, int m, int k, int n, double most) {
  struct kernel_gemm gemm = {.name = "gemm",
                             .isa = isa_find("aie2p"),
                             .in0 = DTYPE_I8,
                             .in1 = DTYPE_I8,
                             .out = out,
                             .m = m,
                             .k = k,
                             .n = n};
  struct arena *a = arena_open();
  struct diag d = {0};
  struct load_outcome o = {0};
  CHECK(load_adapt(&gemm));
  struct asm_program *p = kernel_gemm(a, &gemm, &d);
  CHECK(p && load_gemm(&gemm, p, &o, &d));
  CHECK(o.cycles > (double)m * k * n / 512 && o.cycles <= most);
  arena_close(a);
}

int main(void) {
  test_aie2p(DTYPE_I8, 64, 232, 64, 64 * 232 * 64 / 485.);
  test_aie2p(DTYPE_I32, 48, 280, 48, 48 * 280 * 48 / 460.);
  static const uint32_t same[] = {0, 4096, 8192};
  static const uint32_t other[] = {2 * PAIR, 2 * PAIR + BLOCK, 3 * PAIR};
  static const uint32_t one_each[] = {8192, PAIR + 4096, 3 * PAIR};
  /* the sum of this core's accesses and of theirs is all that happens */
  expect(WIDE, 0, NULL, 0);
  expect(WIDE, 1, same, N / 3.);
  expect(WIDE, 2, same, N);
  expect(WIDE, 3, same, 3. * N);
  /* of a channel's accesses every other one is in the bank: T = N + T / 8 */
  expect(HALF, 1, same, N / 7.);
  /* elsewhere they cost nothing, and neither does a core without memory */
  CHECK(waits(WIDE, 3, other) == 0);
  CHECK(waits("nop", 3, same) == 0);
  /* a channel in each of two pairs: they wait at different times, or at once */
  double got = waits(BOTH, 3, one_each);
  CHECK(got > N / 3. - EDGE && got < N + EDGE);
  return check_result();
}
