/* teir_tec.h -- the flat form: one contraction as a tiled execution
 * configuration (TEC), a loop per dimension around one primitive, as in the
 * thesis on tensor contractions for XDNA (its figures 3 and 6, its Table 2).
 *
 *   tec 1
 *   dim_types   = (M, N, K, M, N, K)     # may be left out: strides tell
 *   exec_types  = (npu, npu, npu, prim, prim, prim)
 *   dim_sizes   = (4, 4, 2, 64, 64, 64)
 *   strides_in0 = (8192, 0, 64, 128, 0, 1)     # in elements
 *   strides_in1 = (0, 64, 16384, 0, 1, 256)
 *   strides_out = (16384, 64, 0, 256, 1, 0)
 *   data_type   = bfloat_16
 *   prim_first  = Zero
 *   prim_main   = GEMM
 *   prim_last   = None
 *
 * prim_first is None, Zero or ReLU, prim_main Copy, GEMM or BRGEMM, prim_last
 * None or ReLU.
 */
#ifndef NPUTEIR_TEIR_TEC_H
#define NPUTEIR_TEIR_TEC_H

#include "teir.h"

enum tec_dim { TEC_C, TEC_M, TEC_N, TEC_K };
enum tec_exec { TEC_SEQ, TEC_SHARED, TEC_NPU, TEC_PRIM };
enum tec_prim { TEC_NONE, TEC_ZERO, TEC_RELU, TEC_COPY, TEC_GEMM, TEC_BRGEMM };
enum { TEC_DIMS = 64 };

struct tec {
  struct loc at; /* the file */
  int dims;      /* outermost first */
  enum tec_dim type[TEC_DIMS];
  enum tec_exec exec[TEC_DIMS];
  int64_t size[TEC_DIMS];
  int64_t stride[3][TEC_DIMS]; /* of in0, in1 and out, in elements */
  enum dtype data_type;        /* of all three tensors */
  enum tec_prim first, main, last;
};

bool tec_parse(struct arena *, const char *file, const char *text, struct tec *,
               struct diag *);
void tec_print(const struct tec *, struct text *);
/* The type of dimension `dim` by its strides; false: it moves no tensor, or
 * one only. */
bool tec_infer(const struct tec *, int dim, enum tec_dim *);
/* Which restrictions of the thesis's NPU backend (its section 5.2) a TEC
 * breaks, a line each; gives their number.  Of a TEC as it was read: one that
 * came out of teir_to_tec has its prim dimensions in order. */
int tec_restrictions(const struct tec *, struct text *);

struct teir *teir_from_tec(struct arena *, const struct tec *, struct diag *);
/* Declined when the loops are not perfectly nested around one primitive. */
bool teir_to_tec(const struct teir *, struct tec *, struct diag *);

#endif
