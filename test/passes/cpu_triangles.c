// The processor's products of matrices are found in what is split, before a row
// of a triangle is taken as a product of a matrix and a vector.
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -ffast-math -S -emit-llvm %s -o - | FileCheck %s

// One product, with all of its factors: nothing is made of the input before.
// CHECK-LABEL: @syrk(
// CHECK-NOT: call{{.*}}@malloc
// CHECK: call i32 @nputeir.nest
// CHECK-NOT: call i32 @nputeir.nest
// CHECK-NOT: call{{.*}}@malloc
// CHECK: ret void

void syrk(long n, long m, double c[n][n], const double a[n][m]) {
  for (long i = 0; i < n; i++) { // expected-remark {{code for the processor: mk,nk->mn}}
    for (long j = 0; j <= i; j++)
      c[i][j] *= 1.2;
    for (long k = 0; k < m; k++)
      for (long j = 0; j <= i; j++)
        c[i][j] += 1.5 * a[i][k] * a[j][k];
  }
}

void trmm(long n, long m, const double a[n][n], double b[n][m]) {
  for (long i = 0; i < n; i++) // expected-remark {{code for the processor: km,kn->mn}}
    for (long j = 0; j < m; j++) {
      for (long k = i + 1; k < n; k++)
        b[i][j] += a[k][i] * b[k][j];
      b[i][j] = 1.5 * b[i][j];
    }
}

// What is on the diagonal is no square where elements beside the triangle would
// be read, may not be computed, or are left alone.
void reads_both(long n, long m, double c[n][n], const double a[n][m],
                const double b[n][n]) {
  for (long i = 0; i < n; i++) // expected-remark {{code for the processor: mk,nk->mn}}
    for (long j = 0; j <= i; j++) {
      double s = 0;
      for (long k = 0; k < m; k++)
        s += a[i][k] * a[j][k];
      c[i][j] = s + b[i][j];
    }
}
void divides(long n, long m, int c[n][n], const int a[n][m]) {
  for (long i = 0; i < n; i++) // expected-remark {{for the processor for its sums}}
    for (long j = 0; j <= i; j++) {
      int s = 0;
      for (long k = 0; k < m; k++)
        s += a[i][k] * a[j][k];
      c[i][j] = s / (int)(i - j + 1);
    }
}

// There is none: rows are products of a matrix and a vector, as ever.
void rows(long n, const double a[n][n], const double x[n], double y[n]) {
  for (long i = 0; i < n; i++) // expected-remark {{code for the processor: k,nk->n}}
    for (long k = 0; k < n; k++)
      y[i] += a[i][k] * x[k];
}
