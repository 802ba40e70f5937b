// Library calls that are matrix products are branched around like nests; what
// is not known to be one, or is told its form at run time, is kept.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// RUN: %clang -O2 -S -emit-llvm %s -o - | FileCheck %s
#include <stdint.h>

enum { Row = 101, Column = 102, No = 111, Yes = 112 };
void cblas_sbgemm(int, int, int, int, int, int, float, const uint16_t *, int,
                  const uint16_t *, int, float, float *, int);
void cblas_gemm_bf16bf16f32(int, int, int, long, long, long, float,
                            const uint16_t *, long, const uint16_t *, long,
                            float, float *, long);
void cblas_gemm_s8u8s32(int, int, int, int, int, int, int, float, const void *,
                        int, int8_t, const void *, int, int8_t, float,
                        int32_t *, int, const int32_t *);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int,
                 const float *, int, float, float *, int);
void sbgemm_(const char *, const char *, const int *, const int *, const int *,
             const float *, const uint16_t *, const int *, const uint16_t *,
             const int *, const float *, float *, const int *);
#define BF16 int m, int n, int k, const uint16_t *a, const uint16_t *b, float *c

// CHECK: tensor in0 u8\0Atensor in1 i8\0Atensor out i32
// The call is made where every size is positive and every line fits.
// CHECK-LABEL: @rows(
// CHECK: icmp eq ptr @nputeir_least_macs_1, null
// CHECK: call i32 @nputeir_call_1(
// CHECK: call void @cblas_sbgemm({{.*}} !nputeir.kept
void rows(BF16, int lda) {
  // expected-remark@+1 {{call of cblas_sbgemm replaced by a call: mk,kn->mn}}
  cblas_sbgemm(Row, No, No, m, n, k, 1, a, lda, b, n, 0, c, n);
}
void columns(BF16) {
  // expected-remark@+1 {{mk,kn->mn with n=n_i m=n_j k=n_k}}
  cblas_sbgemm(Column, No, No, m, n, k, 1, a, m, b, k, 1, c, m);
}
void transposed(BF16) {
  // expected-remark@+1 {{km,nk->mn}}
  cblas_gemm_bf16bf16f32(Row, Yes, Yes, m, n, k, 1, a, m, b, k, 0, c, n);
}

// Row-major MKL takes unsigned numbers first.
void integers(int m, int n, int k, const uint8_t *a, const int8_t *b,
              int32_t *c) {
  static const int32_t zero = 0;
  // expected-remark@+1 {{mk,kn->mn}}
  cblas_gemm_s8u8s32(Row, No, No, 173, m, n, k, 1, a, k, 0, b, n, 0, 0, c, n,
                     &zero);
}
void integers_with_offset(int m, int n, int k, const uint8_t *a,
                          const int8_t *b, int32_t *c, const int32_t *offset) {
  // expected-remark@+1 {{[CallArguments]: cblas_gemm_s8u8s32 adds}}
  cblas_gemm_s8u8s32(Row, No, No, 173, m, n, k, 1, a, k, 0, b, n, 0, 0, c, n,
                     offset);
}
void integers_scaled(int m, int n, int k, const uint8_t *a, const int8_t *b,
                     int32_t *c) {
  static const int32_t zero = 0;
  // expected-remark@+1 {{[CallArguments]: cblas_gemm_s8u8s32 scales}}
  cblas_gemm_s8u8s32(Row, No, No, 173, m, n, k, 0.5f, a, k, 0, b, n, 0, 0, c, n,
                     &zero);
}

// Numbers by pointer are seen where they are constants, read where not.
void fortran(BF16) {
  const float one = 1, zero = 0;
  char flag = 'n';
  int stride = 300;
  // expected-remark@+1 {{sbgemm_ replaced by a call: km,kn->mn with n=n_i}}
  sbgemm_(&flag, "T", &m, &n, &k, &one, a, &stride, b, &n, &zero, c, &m);
}
void fortran_flag_at_run_time(BF16, char *flag) {
  const float one = 1, zero = 0;
  // expected-remark@+1 {{[CallArguments]: sbgemm_ is told at run time}}
  sbgemm_(flag, "T", &m, &n, &k, &one, a, &m, b, &n, &zero, c, &m);
}
void change(char *);
void fortran_flag_changed(BF16) {
  const float one = 1, zero = 0;
  char flag = 'n';
  change(&flag);
  // expected-remark@+1 {{[CallArguments]: sbgemm_ is told at run time}}
  sbgemm_(&flag, "T", &m, &n, &k, &one, a, &m, b, &n, &zero, c, &m);
}
void note(const float *);
void fortran_flags_of_several(BF16, float *d) {
  const float one = 1, zero = 0;
  const char no = 'N', yes = 'T';
  // expected-remark@+1 {{km,kn->mn}}
  sbgemm_(&no, &yes, &m, &n, &k, &one, a, &m, b, &n, &zero, c, &m);
  for (int i = 0; i < 4; i++) {
    note(c);
    // expected-remark@+1 {{mk,nk->mn}}
    sbgemm_(&yes, &no, &m, &n, &k, &one, a, &k, b, &k, &one, d, &m);
  }
}
void fortran_flag_stored_twice(BF16, float *d) {
  const float one = 1, zero = 0;
  char flag = 'N';
  sbgemm_(&flag, &flag, &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m); // expected-remark {{->mn}}
  note(c);
  if (m > 3)
    flag = 'T';
  // expected-remark@+1 {{[CallArguments]: sbgemm_ is told at run time}}
  sbgemm_(&flag, &flag, &m, &n, &k, &one, a, &m, b, &n, &zero, d, &m);
}

// 64-bit integers, and numbers of other types, by the libraries' names.
void sgemm_64_(const char *, const char *, const long *, const long *,
               const long *, const float *, const float *, const long *,
               const float *, const long *, const float *, float *,
               const long *);
void cblas_sbgemm64_(int, int, int, long, long, long, float, const uint16_t *,
                     long, const uint16_t *, long, float, float *, long);
void cblas_gemm_f16f16f32_64(int, int, int, long, long, long, float,
                             const uint16_t *, long, const uint16_t *, long,
                             float, float *, long);
void cblas_sbgemm_64(int, int, int, int, int, int, float, const uint16_t *, int,
                     const uint16_t *, int, float, float *, int);
void cblas_gemm_s16s16s32(int, int, int, int, int, int, int, float,
                          const int16_t *, int, int16_t, const int16_t *, int,
                          int16_t, float, int32_t *, int, const int32_t *);
// CHECK-LABEL: @wide_fortran(
// CHECK: load i64, ptr %0
__attribute__((annotate("nputeir:f32=bf16"))) void
wide_fortran(const long *n, const float *a, const float *b, float *c) {
  const float one = 1;
  // expected-remark@+1 {{call of sgemm_64_ replaced by a call: mk,kn->mn}}
  sgemm_64_("N", "N", n, n, n, &one, a, n, b, n, &one, c, n);
}
void wide(long n, const uint16_t *a, const uint16_t *b, float *c) {
  // expected-remark@+1 {{call of cblas_sbgemm64_ replaced by a call: mk,kn->mn}}
  cblas_sbgemm64_(Row, No, No, n, n, n, 1, a, n, b, n, 0, c, n);
}
__attribute__((annotate("nputeir:f32=bf16"))) void
halves(long n, const uint16_t *a, const uint16_t *b, float *c) {
  // expected-remark@+1 {{call of cblas_gemm_f16f16f32_64 replaced}}
  cblas_gemm_f16f16f32_64(Row, No, No, n, n, n, 1, a, n, b, n, 0, c, n);
}
void narrow_though_named_wide(BF16) {
  // expected-remark@+1 {{[CallArguments]: cblas_sbgemm_64 has other parameters}}
  cblas_sbgemm_64(Row, No, No, m, n, k, 1, a, k, b, n, 0, c, n);
}
void shorts(int n, const int16_t *a, const int16_t *b, int32_t *c) {
  static const int32_t zero = 0;
  // expected-remark@+1 {{call of cblas_gemm_s16s16s32 replaced by a call: mk,kn->mn}}
  cblas_gemm_s16s16s32(Row, No, No, 173, n, n, n, 1, a, n, 0, b, n, 0, 0, c, n,
                       &zero);
}
void shorts_with_offset(int n, const int16_t *a, const int16_t *b, int32_t *c) {
  static const int32_t zero = 0;
  // expected-remark@+1 {{[CallArguments]: cblas_gemm_s16s16s32 adds}}
  cblas_gemm_s16s16s32(Row, No, No, 173, n, n, n, 1, a, n, 300, b, n, 0, 0, c,
                       n, &zero);
}

void run_time_transposition(BF16, int t) {
  // expected-remark@+1 {{[CallArguments]: cblas_sbgemm is told at run time}}
  cblas_sbgemm(Row, t, No, m, n, k, 1, a, k, b, n, 0, c, n);
}
void run_time_layout(BF16, int layout) {
  // expected-remark@+1 {{[CallArguments]: cblas_sbgemm is told at run time}}
  cblas_sbgemm(layout, No, No, m, n, k, 1, a, k, b, n, 0, c, n);
}
void nothing_multiplied(BF16) {
  // expected-remark@+1 {{[CallArguments]: cblas_sbgemm multiplies by zero}}
  cblas_sbgemm(Row, No, No, m, n, k, 0, a, k, b, n, 1, c, n);
}
void result_is_operand(BF16) {
  // expected-remark@+1 {{kept [ResultOverlapsItself]}}
  cblas_sbgemm(Row, No, No, m, n, k, 1, (uint16_t *)c, k, b, n, 1, c, n);
}
void floats(int m, int n, int k, const float *a, const float *b, float *c) {
  // expected-remark@+1 {{call of cblas_sgemm kept [FloatInputs]}}
  cblas_sgemm(Row, No, No, m, n, k, 1, a, k, b, n, 0, c, n);
}

// Names alone say nothing.
double cblas_dgemm(int, int, int, int, int, int, double, const double *, int,
                   const double *, int, double, double *, int);
double other_result(const double *a, const double *b, double *c) {
  // expected-remark@+1 {{[CallArguments]: cblas_dgemm has other parameters}}
  return cblas_dgemm(Row, No, No, 9, 9, 9, 1, a, 9, b, 9, 0, c, 9);
}
void dgemm_(double *, int);
void other_parameters(double *c) {
  dgemm_(c, 9); // expected-remark {{[CallArguments]: dgemm_ has other}}
}
__attribute__((noinline)) static void
sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
       const float *alpha, const float *a, const int *lda, const float *b,
       const int *ldb, const float *beta, float *c, const int *ldc) {
  *c = *a + *b + *alpha + *beta + *m + *n + *k + *lda + *ldb + *ldc + *ta + *tb;
}
void own_function(int n, float x, const float *a, const float *b, float *c) {
  sgemm_("N", "N", &n, &n, &n, &x, a, &n, b, &n, &x, c, &n);
}
__attribute__((no_builtin)) void no_builtins(BF16) {
  cblas_sbgemm(Row, No, No, m, n, k, 1, a, k, b, n, 0, c, n);
}
__attribute__((annotate("nputeir:off"))) void switched_off(BF16) {
  cblas_sbgemm(Row, No, No, m, n, k, 1, a, k, b, n, 0, c, n);
}
