/* cpu.c -- the table of processors, and the blocks that follow from a row. */
#include "teir_cpu.h"

#include <assert.h>
#include <string.h>

/* Caches are the smallest that a processor with these instructions has, in the
 * middle of the range where that is old: blocks that are too small cost little,
 * blocks that are too large much. */
/* clang-format off */
static const struct teir_cpu cpu[] = {
  /* name     arch       features  vector registers fma    masks  caches */
  {"sse2",    "x86_64",  "",       16,    16,       false, false,
   {32 << 10, 256 << 10, 2 << 20}},
  {"avx2",    "x86_64",
   "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt",
                                   32,    16,       true,  true,
   {32 << 10, 256 << 10, 2 << 20}},
  {"avx512",  "x86_64",
   "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,"
   "+avx512f,+avx512dq,+avx512bw,+avx512vl,+avx512cd",
                                   64,    32,       true,  true,
   {32 << 10, 1 << 20, 4 << 20}},
  {"neon",    "aarch64", "",       16,    32,       true,  false,
   {32 << 10, 512 << 10, 2 << 20}},
};
/* clang-format on */

int teir_cpu_count(void) { return sizeof cpu / sizeof *cpu; }

const struct teir_cpu *teir_cpu_at(int i) {
  assert(i >= 0 && i < teir_cpu_count());
  return &cpu[i];
}

const struct teir_cpu *teir_cpu_find(const char *name) {
  for (int i = 0; i < teir_cpu_count(); i++)
    if (strcmp(cpu[i].name, name) == 0)
      return &cpu[i];
  return NULL;
}

static int64_t round_down(int64_t n, int64_t unit) {
  return n < unit ? unit : n / unit * unit;
}

/* The block of registers: sums, a row of vectors of in1, one element of in0 in
 * all lanes and, without a fused multiply-add, their product. */
static void cut_registers(const struct teir_cpu *c, int bytes,
                          struct teir_cpu_blocks *b) {
  b->lanes = c->vector_bytes / bytes;
  b->vectors = 2;
  b->columns = b->lanes * b->vectors;
  int rows = (c->registers - b->vectors - 1 - !c->fma) / b->vectors;
  if (c->registers == 32)
    rows &= ~1;
  assert(rows >= 2 && rows <= 16);
  static const int smaller[] = {8, 4};
  b->height[b->height_count++] = rows;
  for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
    if (smaller[i] < rows)
      b->height[b->height_count++] = smaller[i];
  assert(b->height_count <= TEIR_CPU_HEIGHTS);
}

/* What is read several times stays in the second cache. */
static void cut_direct(const struct teir_cpu *c, int bytes,
                       struct teir_cpu_blocks *b) {
  bool many = c->registers == 32;
  b->direct_vectors = many ? 3 : 2;
  b->direct_height[0] = many ? 8 : b->height[0];
  b->direct_height[1] = b->direct_height[0] / 2;
  b->direct_m = 2 * b->direct_height[0];
  b->direct_n = b->direct_vectors * b->lanes;
  b->direct_elements = c->cache_bytes[1] / 2 / bytes;
  assert(b->direct_vectors * (b->direct_height[0] + 1) < c->registers);
}

struct teir_cpu_blocks teir_cpu_blocks(const struct teir_cpu *c,
                                       enum dtype sum) {
  struct teir_cpu_blocks b = {0};
  int bytes = dtype_bytes(sum);
  assert(bytes == 4 || bytes == 8);
  cut_registers(c, bytes, &b);
  cut_direct(c, bytes, &b);
  /* The result is read and written once per block of K, which costs more than
   * panels that come from the second cache in the order of their addresses. */
  enum { LEAST_K = 512 };
  int64_t rows = b.height[0];
  /* Panels of both inputs share the first cache with lines of the result. */
  b.block_k =
      round_down(c->cache_bytes[0] * 3 / 2 / (rows + b.columns) / bytes, 32);
  if (b.block_k < LEAST_K)
    b.block_k = LEAST_K;
  b.block_m = round_down(c->cache_bytes[1] / 2 / b.block_k / bytes, rows);
  b.block_n = round_down(c->cache_bytes[2] / b.block_k / bytes, b.columns);
  b.sums_n = round_down(b.block_n / 4, b.columns);
  b.sums_m = round_down(c->cache_bytes[2] / 2 / b.sums_n / bytes, rows);
  return b;
}

bool teir_cpu_direct(const struct teir_cpu_blocks *b, int64_t m, int64_t n,
                     int64_t k, bool turned) {
  if (turned && k > TEIR_CPU_DIRECT_K)
    return false;
  return m <= b->direct_m ||
         (k <= b->direct_elements / n &&
          (n <= b->direct_n || k <= b->direct_elements / m));
}
