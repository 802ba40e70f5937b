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
#define SMALL {32 << 10, 256 << 10, 2 << 20}
#define LARGE {32 << 10, 1 << 20, 4 << 20}
#define ARM {32 << 10, 512 << 10, 2 << 20}
#define VNNI OP(VPDPWSSD) | OP(VPDPBUSD)
#define LANES CPU_KERNEL_LANES, 8
#define OUTER CPU_KERNEL_OUTER, 8
#define TILES CPU_KERNEL_TILES, 1
#define PLAIN CPU_KERNEL_SPLAT, 1
static const struct teir_cpu cpu[] = {
  /* name        arch       needs features
                 vector registers kernel unrolled fma masks
                 dots                                      caches */
  {"sse2",       "x86_64",  "", "",
                 16, 16, PLAIN, false, false, OP(PMADDWD), SMALL},
  {"avx2",       "x86_64",  "+avx2,+fma", AVX2,
                 32, 16, PLAIN, true,  true,  OP(PMADDWD), SMALL},
  {"avxvnni",    "x86_64",  "+avx2,+fma,+avxvnni", AVX2 ",+avxvnni",
                 32, 16, PLAIN, true,  true,  VNNI,
                                              {32 << 10, 1 << 20, 2 << 20}},
  {"avx512",     "x86_64",  "+avx512vl,+avx512dq,+avx512bw", AVX512,
                 64, 32, PLAIN, true,  true,  OP(PMADDWD), LARGE},
  {"avx512vnni", "x86_64",  "+avx512vl,+avx512dq,+avx512bw,+avx512vnni",
                            AVX512 ",+avx512vnni",
                 64, 32, PLAIN, true,  true,  VNNI,        LARGE},
  {"avx512bf16", "x86_64",
                 "+avx512vl,+avx512dq,+avx512bw,+avx512vnni,+avx512bf16",
                            AVX512 ",+avx512vnni,+avx512bf16",
                 64, 32, PLAIN, true,  true,  VNNI | OP(VDPBF16PS), LARGE},
  /* Its cores (Intel's) take two cycles for VDPBF16PS, in which they multiply
   * twice as many floats. */
  {"avx512fp16", "x86_64",
                 "+avx512vl,+avx512dq,+avx512bw,+avx512vnni,+avx512bf16,"
                 "+avx512fp16",
                            AVX512 ",+avx512vnni,+avx512bf16,+avx512fp16",
                 64, 32, PLAIN, true,  true,  VNNI,        LARGE},
  {"amx",        "x86_64",
                 "+avx512vl,+avx512dq,+avx512bw,+avx512vnni,+avx512bf16,"
                 "+amx-tile,+amx-int8,+amx-bf16",
                            AVX512 ",+avx512vnni,+avx512bf16,+amx-tile,"
                            "+amx-int8,+amx-bf16",
                 64, 32, TILES, true,  true,
                 OP(TDPBF16PS) | OP(TDPBSSD) | OP(TDPBSUD) | OP(TDPBUSD) |
                     OP(TDPBUUD),             {48 << 10, 2 << 20, 4 << 20}},
  {"neon",       "aarch64", "", "",
                 16, 32, LANES, true,  false, 0,           ARM},
  {"neondot",    "aarch64", "+dotprod", "+dotprod",
                 16, 32, LANES, true,  false, OP(SDOT) | OP(UDOT), ARM},
  {"neonbf16",   "aarch64", "+dotprod,+bf16", "+dotprod,+bf16",
                 16, 32, LANES, true,  false,
                 OP(SDOT) | OP(UDOT) | OP(BFMMLA),         ARM},
  {"neoni8mm",   "aarch64", "+dotprod,+bf16,+i8mm", "+dotprod,+bf16,+i8mm",
                 16, 32, LANES, true,  false,
                 OP(SMMLA) | OP(UMMLA) | OP(USMMLA) | OP(BFMMLA), ARM},
  {"vsx",        "powerpc64le", "+vsx,+isa-v207-instructions", "",
                 16, 64, PLAIN, true,  false, 0,           ARM},
  {"power10",    "powerpc64le", "+mma,+paired-vector-memops", "",
                 16, 64, OUTER, true,  false,
                 OP(XVF32GER) | OP(XVF64GER) | OP(XVI16GER2) | OP(XVI8GER4),
                                           {32 << 10, 1 << 20, 4 << 20}},
};
#undef AVX2
#undef AVX512
#undef OP
#undef SMALL
#undef LARGE
#undef ARM
#undef VNNI
#undef LANES
#undef OUTER
#undef TILES
#undef PLAIN
/* clang-format on */

const char *teir_cpu_op_name(enum teir_cpu_op op) {
  static const char *const name[CPU_OPS] = {
      "none",      "pmaddwd",    "vpdpwssd",   "vpdpbusd",    "vdpbf16ps",
      "sdot",      "udot",       "bfmmla",     "smmla",       "ummla",
      "usmmla",    "xvf32gerpp", "xvf64gerpp", "xvi16ger2pp", "xvi8ger4pp",
      "tdpbf16ps", "tdpbssd",    "tdpbsud",    "tdpbusd",     "tdpbuud"};
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

const struct teir_cpu *teir_cpu_plain(const struct teir_cpu *c) {
  while (c->kernel == CPU_KERNEL_TILES)
    c--;
  assert(c >= cpu);
  return c;
}

/* Of any type that i16 holds. */
static bool is_short(enum dtype t) {
  return t == DTYPE_I8 || t == DTYPE_U8 || t == DTYPE_I16;
}

static bool is_byte(enum dtype t) { return t == DTYPE_I8 || t == DTYPE_U8; }

/* Does the operation form sums of such products, if an operand may be moved by
 * 128? */
static bool fits(enum teir_cpu_op op, enum dtype in0, enum dtype in1,
                 enum dtype sum) {
  bool bytes = sum == DTYPE_I32 && is_byte(in0) && is_byte(in1);
  bool halves = sum == DTYPE_F32 && in0 == DTYPE_BF16 && in1 == DTYPE_BF16;
  switch (op) {
  case CPU_OP_PMADDWD:
  case CPU_OP_VPDPWSSD:
  case CPU_OP_XVI16GER2:
    return sum == DTYPE_I32 && is_short(in0) && is_short(in1);
  case CPU_OP_VPDPBUSD:
    return bytes;
  case CPU_OP_SDOT:
    return bytes && in1 == DTYPE_I8;
  case CPU_OP_UDOT:
  case CPU_OP_XVI8GER4:
    return bytes && in1 == DTYPE_U8;
  case CPU_OP_USMMLA:
    return bytes && in0 != in1;
  case CPU_OP_VDPBF16PS:
  case CPU_OP_BFMMLA:
  case CPU_OP_TDPBF16PS:
    return halves;
  case CPU_OP_SMMLA:
  case CPU_OP_TDPBSSD:
    return bytes && in0 == DTYPE_I8 && in1 == DTYPE_I8;
  case CPU_OP_TDPBSUD:
    return bytes && in0 == DTYPE_I8 && in1 == DTYPE_U8;
  case CPU_OP_TDPBUSD:
    return bytes && in0 == DTYPE_U8 && in1 == DTYPE_I8;
  case CPU_OP_UMMLA:
  case CPU_OP_TDPBUUD:
    return bytes && in0 == DTYPE_U8 && in1 == DTYPE_U8;
  case CPU_OP_XVF32GER:
    return sum == DTYPE_F32;
  case CPU_OP_XVF64GER:
    return sum == DTYPE_F64;
  case CPU_OP_NONE:
  case CPU_OPS:
    break;
  }
  assert(false);
  return false;
}

struct teir_cpu_dot teir_cpu_no_dot(enum dtype sum) {
  return (struct teir_cpu_dot){CPU_OP_NONE, 1,     {1, 1}, 1,
                               {sum, sum},  false, false,  false};
}

struct teir_cpu_dot teir_cpu_choose_dot(const struct teir_cpu *c,
                                        enum dtype in0, enum dtype in1,
                                        enum dtype sum) {
  enum teir_cpu_op op = CPU_OP_NONE;
  for (enum teir_cpu_op o = CPU_OP_NONE + 1; o < CPU_OPS; o++)
    if ((c->dots >> o & 1) && fits(o, in0, in1, sum))
      op = o;
  struct teir_cpu_dot d = teir_cpu_no_dot(sum);
  d.op = op;
  switch (op) {
  case CPU_OP_NONE:
  case CPU_OP_XVF32GER:
  case CPU_OP_XVF64GER:
    d.converts = in0 != sum || in1 != sum;
    break;
  case CPU_OP_PMADDWD:
  case CPU_OP_VPDPWSSD:
  case CPU_OP_XVI16GER2:
    d.group = 2;
    d.packed[0] = d.packed[1] = DTYPE_I16;
    break;
  case CPU_OP_VPDPBUSD:
  case CPU_OP_XVI8GER4: /* of two signs */
    d.group = 4;
    d.packed[0] = in1 == DTYPE_I8 ? DTYPE_U8 : DTYPE_I8;
    d.packed[1] = in1;
    d.exchanged = in1 == DTYPE_U8 && !teir_cpu_is_outer(op);
    break;
  case CPU_OP_SDOT:
  case CPU_OP_UDOT:
    d.group = 4;
    d.packed[0] = d.packed[1] = in1;
    break;
  case CPU_OP_SMMLA:
  case CPU_OP_UMMLA:
  case CPU_OP_USMMLA:
  case CPU_OP_TDPBSSD:
  case CPU_OP_TDPBSUD:
  case CPU_OP_TDPBUSD:
  case CPU_OP_TDPBUUD:
    d.group = 4;
    d.packed[0] = in0;
    d.packed[1] = in1;
    d.exchanged = op == CPU_OP_USMMLA && in1 == DTYPE_U8;
    break;
  case CPU_OP_VDPBF16PS:
  case CPU_OP_BFMMLA:
  case CPU_OP_TDPBF16PS:
    d.group = 2;
    d.packed[0] = d.packed[1] = DTYPE_BF16;
    break;
  case CPU_OPS:
    assert(false);
  }
  d.offset = d.group == 4 && d.packed[0] != in0;
  int bytes = teir_cpu_is_tiled(op)    ? TEIR_CPU_TILE_BYTES
              : teir_cpu_is_square(op) ? TEIR_CPU_SQUARE_BYTES
                                       : d.group * dtype_bytes(d.packed[0]);
  d.packed_group[0] = d.step = bytes / dtype_bytes(d.packed[0]);
  d.packed_group[1] = teir_cpu_is_tiled(op) ? d.group : d.step;
  return d;
}

static int64_t round_down(int64_t n, int64_t unit) {
  return n < unit ? unit : n / unit * unit;
}

/* Two by two tiles of sums leave as many for the inputs. */
static void cut_tiles(const struct teir_cpu *c, int bytes,
                      struct teir_cpu_blocks *b) {
  b->lanes = c->vector_bytes / bytes;
  b->vectors = 2;
  b->columns = b->lanes * b->vectors;
  b->height_count = 2;
  b->height[0] = 2 * TEIR_CPU_TILE_ROWS;
  b->height[1] = TEIR_CPU_TILE_ROWS;
}

/* The block of registers: sums, a row of vectors of in1, one element of in0 in
 * all lanes and, without a fused multiply-add, their product.  Where lanes are
 * operands, a column of in0 is vectors; eight accumulators of 4 rows leave room
 * for what they are multiplied by. */
static void cut_registers(const struct teir_cpu *c, int bytes,
                          struct teir_cpu_blocks *b) {
  b->lanes = c->vector_bytes / bytes;
  b->vectors = c->kernel == CPU_KERNEL_OUTER ? 4 : 2;
  b->columns = b->lanes * b->vectors;
  int rows = (c->registers - b->vectors - 1 - !c->fma) / b->vectors;
  if (c->registers == 32)
    rows &= ~1;
  if (c->kernel == CPU_KERNEL_LANES)
    rows = rows / 4 * 4;
  if (c->kernel == CPU_KERNEL_OUTER || rows > 16)
    rows = 8;
  assert(rows >= 2 && rows <= 16);
  b->height[b->height_count++] = rows;
}

/* What is read several times stays in the second cache.  Fewer rows than a
 * whole block has are multiplied by the same kernels.  How many blocks of
 * columns, and how far in0 may be, was measured with AVX-512: 768 columns of
 * 150 steps, and 3000x150x300 with in0 along its rows, are faster packed. */
static void cut_direct(const struct teir_cpu *c, int bytes,
                       struct teir_cpu_blocks *b) {
  bool many = c->registers == 32;
  b->direct_vectors = many ? 3 : 2;
  b->turned_columns = 2 * b->lanes;
  b->direct_height[0] = many ? 8 : b->height[0];
  b->direct_height[1] = b->direct_height[0] / 2;
  for (int i = 0; i < 2; i++)
    if (b->direct_height[i] < b->height[0])
      b->height[b->height_count++] = b->direct_height[i];
  assert(b->height_count <= TEIR_CPU_HEIGHTS);
  b->direct_m = 2 * b->direct_height[0];
  b->direct_columns = b->direct_vectors * b->lanes;
  b->direct_n = 8 * b->direct_columns;
  b->direct_elements = c->cache_bytes[1] / 2 / bytes;
  b->direct_near = 4 * b->direct_elements;
  assert(b->direct_vectors * (b->direct_height[0] + 1) < c->registers);
}

/* In0's panel of tiles comes from the first cache, in1's from the second. */
static void cut_tile_blocks(const struct teir_cpu *c, int bytes,
                            struct teir_cpu_blocks *b) {
  b->block_k = round_down(c->cache_bytes[0] * 2 / 3 / b->columns / bytes, 32);
  b->block_m =
      round_down(c->cache_bytes[1] / 8 / b->block_k / bytes, b->height[0]);
}

static void cut_blocks(const struct teir_cpu *c, int bytes,
                       struct teir_cpu_blocks *b) {
  /* The result is read and written once per block of K, which costs more than
   * panels that come from the second cache in the order of their addresses.  A
   * row's part is a page. */
  int64_t least_k = c->cache_bytes[1] < (1 << 20) ? 512 : 4096 / bytes;
  int64_t rows = b->height[0];
  /* Panels of both inputs share the first cache with lines of the result. */
  b->block_k =
      round_down(c->cache_bytes[0] * 3 / 2 / (rows + b->columns) / bytes, 32);
  if (b->block_k < least_k)
    b->block_k = least_k;
  /* Where a vector is as long as a line.  Beside the 12 multiplications of
   * shorter ones it costs more than it saves. */
  b->asks_ahead = c->vector_bytes == 64;
  int64_t next = b->asks_ahead ? b->block_k * b->columns * bytes : 0;
  b->block_m =
      round_down((c->cache_bytes[1] / 2 - next) / b->block_k / bytes, rows);
}

struct teir_cpu_blocks teir_cpu_blocks(const struct teir_cpu *c,
                                       enum dtype sum) {
  struct teir_cpu_blocks b = {.masks = c->masks && c->vector_bytes == 64};
  int bytes = dtype_bytes(sum);
  assert(bytes == 4 || bytes == 8);
  if (c->kernel == CPU_KERNEL_TILES) {
    cut_tiles(c, bytes, &b);
    cut_tile_blocks(c, bytes, &b);
  } else {
    cut_registers(c, bytes, &b);
    cut_direct(c, bytes, &b);
    cut_blocks(c, bytes, &b);
  }
  int64_t rows = b.height[0];
  /* Of in1, what the third cache holds; for tiles, which read it once for each
   * panel of in0, half the second one. */
  int64_t near = c->cache_bytes[1] / 2;
  int64_t in1 = c->kernel == CPU_KERNEL_TILES ? near : c->cache_bytes[2];
  b.block_n = round_down(in1 / b.block_k / bytes, b.columns);
  /* in0 is packed for each block of columns, in1 for each part of the rows. */
  b.sums_n = round_down(b.block_n / 2, b.columns);
  b.sums_m = round_down(c->cache_bytes[2] / b.sums_n / bytes, rows);
  b.kept_n = round_down(near / b.block_k / bytes, b.columns);
  if (b.kept_n > b.sums_n)
    b.kept_n = b.sums_n;
  if (b.kept_n < b.columns)
    b.kept_n = b.columns;
  return b;
}

bool teir_cpu_has_masks(const struct teir_cpu *c, enum dtype t) {
  return c->masks && t != DTYPE_F16 &&
         (dtype_bytes(t) >= 4 || c->vector_bytes == 64);
}
