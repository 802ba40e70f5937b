/* gemm_kind.c -- what kernel.def says: which products there are, and how small
 * blocks are transposed.
 *
 * What the generator takes for granted of a row is asserted here; that each row
 * makes kernels which compute the product is what test/kernels tries. */
#include "kernel_cover.h"
#include "kernel_gemm.h"

#include <assert.h>

/* ---- what a row may say ---- */

enum { /* of the types */
#define DTYPE(id, name, bits, kind, ...)                                       \
  BITS_##id = bits, KIND_##id = KIND_##kind,
#define KIND_HALF DTYPE_FLOAT
#define KIND_FLOAT DTYPE_FLOAT
#define KIND_SIGNED DTYPE_SIGNED
#define KIND_UNSIGNED DTYPE_UNSIGNED
#include "dtype.def"
       DTYPE_ROWS(DTYPE)
#undef DTYPE
#undef KIND_HALF
#undef KIND_FLOAT
#undef KIND_SIGNED
#undef KIND_UNSIGNED
};

/* clang-format off */
/* By family: kind of the types, bits of an input (0: as the type) and of a
 * lane of the accumulator, and of an accumulator. */
enum {
  FAMILY_F = DTYPE_FLOAT, INPUT_F = 0, LANE_F = 32, SUM_F = 512,
  FAMILY_X = DTYPE_FLOAT, INPUT_X = 16, LANE_X = 32, SUM_X = 512,
  FAMILY_I = DTYPE_SIGNED, INPUT_I = 0, LANE_I = 32, SUM_I = 1024,
  FAMILY_W = DTYPE_SIGNED, INPUT_W = 0, LANE_W = 64, SUM_W = 1024,
  FAMILY_D = DTYPE_SIGNED, INPUT_D = 0, LANE_D = 32, SUM_D = 2048,
  FAMILY_B = DTYPE_FLOAT, INPUT_B = 8, LANE_B = 32, SUM_B = 2048,
  FAMILY_E = DTYPE_FLOAT, INPUT_E = 0, LANE_E = 32, SUM_E = 2048,
};
/* clang-format on */
/* Of lanes, small blocks are pieces of registers. */
enum {
  LANES_E = true,
  LANES_F = 0,
  LANES_X = 0,
  LANES_I = 0,
  LANES_W = 0,
  LANES_D = 0,
  LANES_B = 0
};
#define IS_REGISTER(bits) ((bits) == 256 || (bits) == 512)
#define INPUT_BITS(mac, in) (INPUT_##mac ? (int)INPUT_##mac : (int)BITS_##in)

#define GEMM(in0, in1, out, r, s, t, config, mac, rows, cols, light, heavy,    \
             part, load, store)                                                \
  static_assert((int)KIND_##in0 == (int)FAMILY_##mac &&                        \
                    (int)KIND_##in1 == (int)FAMILY_##mac,                      \
                "inputs of a family; unsigned ones share a signed row");       \
  static_assert(((int)KIND_##out == DTYPE_FLOAT) ==                            \
                        ((int)FAMILY_##mac == DTYPE_FLOAT) &&                  \
                    (int)BITS_##out <= (int)LANE_##mac,                        \
                "results fit lanes");                                          \
  static_assert(                                                               \
      ((bool)LANES_##mac || (IS_REGISTER(r * s * INPUT_BITS(mac, in0)) &&      \
                             IS_REGISTER(s * t * INPUT_BITS(mac, in1)))) &&    \
          r * t * (int)LANE_##mac == (int)SUM_##mac,                           \
      "small blocks fill registers");                                          \
  static_assert(rows <= COVER_ROWS && cols <= COVER_COLS &&                    \
                    light <= COVER_ROWS && heavy <= COVER_COLS,                \
                "blocks that kernel_cover knows");
#define TRANSPOSE(bits, rows, columns, mode)                                   \
  static_assert((bits) * (rows) * (columns) <= 1024, "fits two registers");
#include "kernel.def"
#include "kernel_aie2p.def"
#undef TRANSPOSE
#undef GEMM

/* ---- the tables ---- */

/* Multiply-accumulate, multiply, multiply and add two accumulators, whether
 * lanes are floats, whether they are 64 bits, and passes through K. */
#define MAC_F INSN_VMAC_F, INSN_VMUL_F, INSN_NONE, true, false, 1
#define MAC_X INSN_VMAC_F, INSN_VMUL_F, INSN_NONE, true, false, GEMM_PASSES
#define MAC_I INSN_VMAC, INSN_VMUL, INSN_NONE, false, false, 1
#define MAC_W INSN_VMAC, INSN_VMUL, INSN_NONE, false, true, 1
#define MAC_B                                                                  \
  AIE2P_VMAC_F_EX_EX, AIE2P_VMUL_F_EX_EX, AIE2P_VADDMAC_F_EX_EX, true, false, 1
#define MAC_E                                                                  \
  AIE2P_VMAC_F_Y_Y, AIE2P_VMUL_F_Y_Y, AIE2P_VADDMAC_F_Y_Y, true, false, 1
#define MAC_D AIE2P_VMAC_X_X, AIE2P_VMUL_X_X, AIE2P_VADDMAC_X_X, false, false, 1

/* Whether inputs are block floats. */
enum {
  BLOCKS_F,
  BLOCKS_X = 0,
  BLOCKS_I = 0,
  BLOCKS_W = 0,
  BLOCKS_D = 0,
  BLOCKS_E = 0,
  BLOCKS_B
};

static const struct gemm_kind kind[] = {
#define GEMM(in0, in1, out, r, s, t, config, mac, rows, cols, light, heavy,    \
             part, load, store)                                                \
  {DTYPE_##in0, DTYPE_##in1,  DTYPE_##out,    {r, s, t},   config,             \
   MAC_##mac,   {rows, cols}, {light, heavy}, PART_##part, MEM_##load,         \
   MEM_##store, BLOCKS_##mac, LANES_##mac},
#define TRANSPOSE(bits, rows, columns, mode)
#include "kernel.def"
};
static const struct gemm_kind kind_aie2p[] = {
#include "kernel_aie2p.def"
#undef TRANSPOSE
#undef GEMM
};

static const struct {
  int bits, rows, columns, mode;
} transpose[] = {
#define GEMM(...)
#define TRANSPOSE(bits, rows, columns, mode) {bits, rows, columns, mode},
#include "kernel.def"
#undef TRANSPOSE
#undef GEMM
};

int kernel_gemm_transpose_mode(enum dtype type, int rows, int columns) {
  for (size_t i = 0; i < sizeof transpose / sizeof *transpose; i++)
    if (transpose[i].bits == 8 * dtype_bytes(type) &&
        transpose[i].rows == rows && transpose[i].columns == columns)
      return transpose[i].mode;
  return -1;
}

/* By which rows go. */
static enum dtype row_type(enum dtype t) {
  return t == DTYPE_U8      ? DTYPE_I8
         : t == DTYPE_U16   ? DTYPE_I16
         : t == DTYPE_BFP16 ? DTYPE_BF16
                            : t;
}

static const struct gemm_kind *find_kind(const struct gemm_kind *list,
                                         size_t count,
                                         const struct kernel_gemm *k) {
  for (size_t i = 0; i < count; i++)
    if (list[i].in0 == row_type(k->in0) && list[i].in1 == row_type(k->in1) &&
        list[i].out == k->out && list[i].blocks == k->bfp16)
      return &list[i];
  return NULL;
}

#define ROWS(list) list, sizeof list / sizeof *list
const struct gemm_kind *kernel_gemm_kind(const struct kernel_gemm *k) {
  const struct kernel_machine *m = kernel_machine(k->isa);
  return !m            ? NULL
         : m->few_sums ? find_kind(ROWS(kind_aie2p), k)
                       : find_kind(ROWS(kind), k);
}
#undef ROWS

/* bfp16 are block floats where there are any, else bf16. */
static const struct gemm_kind *kind_of(const struct isa *isa, enum dtype in0,
                                       enum dtype in1, enum dtype out) {
  struct kernel_gemm k = {.isa = isa,
                          .in0 = in0,
                          .in1 = in1,
                          .out = out,
                          .bfp16 = in0 == DTYPE_BFP16 && in1 == DTYPE_BFP16};
  const struct gemm_kind *g = kernel_gemm_kind(&k);
  k.bfp16 = false;
  return g ? g : kernel_gemm_kind(&k);
}

bool kernel_gemm_by_lanes(const struct isa *isa, enum dtype in0, enum dtype in1,
                          enum dtype out) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  return g && g->lanes;
}

bool kernel_gemm_by_blocks(const struct isa *isa, enum dtype in0,
                           enum dtype in1, enum dtype out) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  return g && g->blocks;
}

bool kernel_shape(const struct isa *isa, enum dtype in0, enum dtype in1,
                  enum dtype out, struct kernel_shape *shape) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  if (g)
    *shape = g->mac_shape;
  return g != NULL;
}

bool kernel_gemm_shape(const struct kernel_gemm *k,
                       struct kernel_shape *shape) {
  const struct gemm_kind *g = kernel_gemm_kind(k);
  if (g)
    *shape = g->mac_shape;
  return g != NULL;
}

int kernel_gemm_multiplies(const struct kernel_gemm *k) {
  const struct gemm_kind *g = kernel_gemm_kind(k);
  assert(g);
  return g->lanes ? g->mac_shape.k : g->passes;
}

int64_t kernel_gemm_bytes(const struct kernel_gemm *k, int input) {
  int64_t values = (int64_t)k->k * (input ? k->n : k->m);
  return k->bfp16 ? values * 9 / 8
                  : values * dtype_bytes(input ? k->in1 : k->in0);
}

struct kernel_shape kernel_kind_unit(const struct gemm_kind *g) {
  return g->blocks  ? (struct kernel_shape){16, 32, 16} /* kernels.h */
         : g->lanes ? (struct kernel_shape){2, 16, 32}
                    : g->mac_shape;
}

bool kernel_gemm_unit(const struct isa *isa, enum dtype in0, enum dtype in1,
                      enum dtype out, struct kernel_shape *unit) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  if (g)
    *unit = kernel_kind_unit(g);
  return g != NULL;
}

bool kernel_gemm_even(const struct isa *isa, enum dtype in0, enum dtype in1,
                      enum dtype out, bool tall, struct kernel_shape *even) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  if (g)
    *even = (struct kernel_shape){
        .m = (tall ? g->tall.cols : g->usual.rows) * g->mac_shape.m,
        .k = g->mac_shape.k,
        .n = (tall ? g->tall.rows : g->usual.cols) * g->mac_shape.n};
  return g != NULL;
}

int kernel_gemm_passes(const struct isa *isa, enum dtype in0, enum dtype in1,
                       enum dtype out) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  return g ? g->passes : 0;
}

bool kernel_gemm_converts(const struct isa *isa, enum dtype in0, enum dtype in1,
                          enum dtype out) {
  const struct gemm_kind *g = kind_of(isa, in0, in1, out);
  return g && g->store != MEM_ST_AM;
}
