/* cpu.c -- the table of processors, and the blocks that follow from a row. */
#include "teir_cpu.h"

#include <assert.h>
#include <string.h>

/* Caches are the smallest that a processor with these instructions has, in the
 * middle of the range where that is old: blocks that are too small cost little,
 * blocks that are too large much. */
/* clang-format off */
#define AVX2 "+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+sse3,+ssse3,+sse4.1,+sse4.2," \
             "+popcnt"
#define AVX512 AVX2 ",+avx512f,+avx512dq,+avx512bw,+avx512vl,+avx512cd"
#define OP(id) (1u << CPU_OP_##id)
static const struct teir_cpu cpu[] = {
  /* name        arch       needs features  vector registers fma masks
     dots                                   caches */
  {"sse2",       "x86_64",  "", "",                     16, 16, false, false,
   OP(PMADDWD),                             {32 << 10, 256 << 10, 2 << 20}},
  {"avx2",       "x86_64",  "+avx2,+fma", AVX2,         32, 16, true,  true,
   OP(PMADDWD),                             {32 << 10, 256 << 10, 2 << 20}},
  {"avxvnni",    "x86_64",  "+avx2,+fma,+avxvnni", AVX2 ",+avxvnni",
                                                        32, 16, true,  true,
   OP(VPDPWSSD) | OP(VPDPBUSD),             {32 << 10, 1 << 20, 2 << 20}},
  {"avx512",     "x86_64",  "+avx512vl,+avx512dq,+avx512bw", AVX512,
                                                        64, 32, true,  true,
   OP(PMADDWD),                             {32 << 10, 1 << 20, 4 << 20}},
  {"avx512vnni", "x86_64",  "+avx512vl,+avx512dq,+avx512bw,+avx512vnni",
                            AVX512 ",+avx512vnni",      64, 32, true,  true,
   OP(VPDPWSSD) | OP(VPDPBUSD),             {32 << 10, 1 << 20, 4 << 20}},
  {"avx512bf16", "x86_64",
   "+avx512vl,+avx512dq,+avx512bw,+avx512vnni,+avx512bf16",
                 AVX512 ",+avx512vnni,+avx512bf16",     64, 32, true,  true,
   OP(VPDPWSSD) | OP(VPDPBUSD) | OP(VDPBF16PS),
                                            {32 << 10, 1 << 20, 4 << 20}},
  {"neon",       "aarch64", "", "",                     16, 32, true,  false,
   0,                                       {32 << 10, 512 << 10, 2 << 20}},
};
#undef AVX2
#undef AVX512
#undef OP
/* clang-format on */

const char *teir_cpu_op_name(enum teir_cpu_op op) {
  static const char *const name[CPU_OPS] = {"none", "pmaddwd", "vpdpwssd",
                                            "vpdpbusd", "vdpbf16ps"};
  assert(op >= 0 && op < CPU_OPS && name[op]);
  return name[op];
}

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

/* Of any type that i16 holds. */
static bool is_short(enum dtype t) {
  return t == DTYPE_I8 || t == DTYPE_U8 || t == DTYPE_I16;
}

static bool is_byte(enum dtype t) { return t == DTYPE_I8 || t == DTYPE_U8; }

struct teir_cpu_dot teir_cpu_choose_dot(const struct teir_cpu *c,
                                        enum dtype in0, enum dtype in1,
                                        enum dtype sum) {
  enum teir_cpu_op op = CPU_OP_NONE;
  for (enum teir_cpu_op o = CPU_OP_NONE; o < CPU_OPS; o++)
    if (c->dots >> o & 1) {
      bool fits = false;
      switch (o) {
      case CPU_OP_PMADDWD:
      case CPU_OP_VPDPWSSD:
        fits = sum == DTYPE_I32 && is_short(in0) && is_short(in1);
        break;
      case CPU_OP_VPDPBUSD:
        fits = sum == DTYPE_I32 && is_byte(in0) && is_byte(in1);
        break;
      case CPU_OP_VDPBF16PS:
        fits = sum == DTYPE_F32 && in0 == DTYPE_BF16 && in1 == DTYPE_BF16;
        break;
      case CPU_OP_NONE:
      case CPU_OPS:
        assert(false);
      }
      op = fits ? o : op;
    }
  switch (op) {
  case CPU_OP_NONE:
    break;
  case CPU_OP_PMADDWD:
  case CPU_OP_VPDPWSSD:
    return (struct teir_cpu_dot){op, 2, {DTYPE_I16, DTYPE_I16}, false, false};
  case CPU_OP_VPDPBUSD:
    return (struct teir_cpu_dot){op,
                                 4,
                                 {in1 == DTYPE_I8 ? DTYPE_U8 : DTYPE_I8, in1},
                                 in0 == in1,
                                 in1 == DTYPE_U8};
  case CPU_OP_VDPBF16PS:
    return (struct teir_cpu_dot){op, 2, {DTYPE_BF16, DTYPE_BF16}, false, false};
  case CPU_OPS:
    assert(false);
  }
  return (struct teir_cpu_dot){CPU_OP_NONE, 1, {sum, sum}, false, false};
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

bool teir_cpu_has_masks(const struct teir_cpu *c, enum dtype t) {
  return c->masks && t != DTYPE_F16 &&
         (dtype_bytes(t) >= 4 || c->vector_bytes == 64);
}
