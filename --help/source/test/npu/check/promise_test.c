/* promise_test.c -- kernels beside the DMA channels of a design, in its
 * places: what is promised of the sizes that others published, of every
 * transpose, and of blocks that leave edges.  What the schedule alone says of
 * that, without a program, has to agree. */
#include "check.h"
#include "kernel_load.h"

#define BF16 DTYPE_BF16, DTYPE_BF16
#define I8(out) DTYPE_I8, DTYPE_##out
static const struct {
  enum dtype in, out;
  int m, k, n;
  bool ta, tb, tc;
  double most_cycles;
} promised[] = {
    {BF16, 64, 80, 64, 0, 0, 0, 2640},
    {BF16, 64, 64, 64, 0, 0, 0, 2120},
    {I8(I8), 64, 232, 64, 0, 0, 0, 64 * 232 * 64 / 246.0},
    {I8(I32), 48, 280, 48, 0, 0, 0, 48 * 280 * 48 / 236.0},
    {I8(I16), 64, 216, 64, 0, 0, 0, 3650},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 0, 0, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 0, 1, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 0, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 64, 1, 1, 1, 2136},
    {DTYPE_BF16, DTYPE_F32, 68, 64, 64, 0, 0, 0, 2330},
    {DTYPE_BF16, DTYPE_F32, 64, 64, 68, 0, 0, 0, 2280},
    {DTYPE_BF16, DTYPE_F32, 76, 64, 68, 0, 0, 0, 2900},
};

/* The program ramps up, drains and returns in every step. */
static void check_schedule(const struct kernel_gemm *k, double run) {
  enum { CALL = 60 };
  struct diag d = {0};
  double cycles = 0;
  CHECK(load_steps(k, 1, &cycles, &d));
  if (!(cycles <= run + 8 && cycles >= run - CALL))
    fprintf(stderr, "%dx%dx%d: %.1f by its schedule, %.1f run\n", k->m, k->k,
            k->n, cycles, run);
  CHECK(cycles <= run + 8 && cycles >= run - CALL);
}

int main(void) {
  for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
    struct kernel_gemm k = {.name = "gemm",
                            .in0 = promised[i].in,
                            .in1 = promised[i].in,
                            .out = promised[i].out,
                            .m = promised[i].m,
                            .k = promised[i].k,
                            .n = promised[i].n,
                            .ta = promised[i].ta,
                            .tb = promised[i].tb,
                            .tc = promised[i].tc};
    struct arena *a = arena_open();
    struct diag d = {0};
    struct load_outcome o = {0};
    CHECK(load_adapt(&k));
    struct asm_program *p = kernel_gemm(a, &k, &d);
    CHECK(p && load_gemm(&k, p, &o, &d));
    if (!(o.cycles > 0 && o.cycles <= promised[i].most_cycles))
      fprintf(stderr, "%dx%dx%d%s: %.0f cycles of %.0f\n", k.m, k.k, k.n,
              k.tc ? " tc" : "", o.cycles, promised[i].most_cycles);
    CHECK(o.cycles > 0 && o.cycles <= promised[i].most_cycles);
    check_schedule(&k, o.cycles);
    arena_close(a);
  }
  return check_result();
}
