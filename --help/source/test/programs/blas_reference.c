/* blas_reference.c -- the BLAS of blas.c: one function does the work, and says
 * what it refuses.  Nothing here may be offloaded. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum type { BF16, F32, F64, I8, U8, I32 };
struct matrix {
  void *base;
  enum type type;
  int ld, turned; /* element (i, j) at i * ld + j, or the other way round */
};

static double get(const struct matrix *x, int i, int j) {
  long at = x->turned ? (long)j * x->ld + i : (long)i * x->ld + j;
  switch (x->type) {
  case BF16: {
    uint32_t bits = (uint32_t)((uint16_t *)x->base)[at] << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
  }
  case F32:
    return ((float *)x->base)[at];
  case F64:
    return ((double *)x->base)[at];
  case I8:
    return ((int8_t *)x->base)[at];
  case U8:
    return ((uint8_t *)x->base)[at];
  case I32:
    return ((int32_t *)x->base)[at];
  }
  return 0;
}
static void set(const struct matrix *x, int i, int j, double value) {
  long at = x->turned ? (long)j * x->ld + i : (long)i * x->ld + j;
  if (x->type == F32)
    ((float *)x->base)[at] = (float)value;
  else if (x->type == F64)
    ((double *)x->base)[at] = value;
  else
    ((int32_t *)x->base)[at] = (int32_t)value;
}

__attribute__((noinline, annotate("nputeir:off"))) static void
multiply(int m, int n, int k, double alpha, struct matrix a, struct matrix b,
         double beta, struct matrix c) {
  if (a.ld < (a.turned ? m : k) || b.ld < (b.turned ? k : n) ||
      c.ld < (c.turned ? m : n) || m < 0 || n < 0 || k < 0) {
    printf("refused: %d %d %d, lines of %d %d %d\n", m, n, k, a.ld, b.ld, c.ld);
    return;
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int l = 0; l < k && alpha != 0; l++)
        sum += get(&a, i, l) * get(&b, l, j);
      set(&c, i, j, alpha * sum + (beta == 0 ? 0 : beta * get(&c, i, j)));
    }
}

static void cblas(int layout, int turn_a, int turn_b, int m, int n, int k,
                  double alpha, const void *a, enum type type_a, int lda,
                  const void *b, enum type type_b, int ldb, double beta,
                  void *c, enum type type_c, int ldc) {
  int columns = layout == 102;
  multiply(m, n, k, alpha,
           (struct matrix){(void *)a, type_a, lda, columns != (turn_a == 112)},
           (struct matrix){(void *)b, type_b, ldb, columns != (turn_b == 112)},
           beta, (struct matrix){c, type_c, ldc, columns});
}

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta,
                 float *c, int ldc) {
  cblas(layout, ta, tb, m, n, k, alpha, a, F32, lda, b, F32, ldb, beta, c, F32,
        ldc);
}
void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb,
                 double beta, double *c, int ldc) {
  cblas(layout, ta, tb, m, n, k, alpha, a, F64, lda, b, F64, ldb, beta, c, F64,
        ldc);
}
void cblas_sbgemm(int layout, int ta, int tb, int m, int n, int k, float alpha,
                  const uint16_t *a, int lda, const uint16_t *b, int ldb,
                  float beta, float *c, int ldc) {
  cblas(layout, ta, tb, m, n, k, alpha, a, BF16, lda, b, BF16, ldb, beta, c,
        F32, ldc);
}
void cblas_gemm_s8u8s32(int layout, int ta, int tb, int offsets, int m, int n,
                        int k, float alpha, const void *a, int lda, int8_t oa,
                        const void *b, int ldb, int8_t ob, float beta,
                        int32_t *c, int ldc, const int32_t *oc) {
  if (offsets != 173 || oa || ob || *oc)
    printf("refused: offsets\n");
  else
    cblas(layout, ta, tb, m, n, k, alpha, a, layout == 102 ? I8 : U8, lda, b,
          layout == 102 ? U8 : I8, ldb, beta, c, I32, ldc);
}
void sbgemm_(const char *ta, const char *tb, const int *m, const int *n,
             const int *k, const float *alpha, const uint16_t *a,
             const int *lda, const uint16_t *b, const int *ldb,
             const float *beta, float *c, const int *ldc) {
  cblas_sbgemm(102, *ta == 'N' ? 111 : 112, *tb == 'N' ? 111 : 112, *m, *n, *k,
               *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}
