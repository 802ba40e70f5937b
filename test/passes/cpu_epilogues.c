// Products whose inputs lie in other ways, but whose sums are stored alike,
// share what stores them.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -march=haswell -ffast-math -S -emit-llvm %s -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --input-file=%t --check-prefix=SCALE

// CHECK: define {{.*}}@nputeir.store.
// CHECK: define {{.*}}@nputeir.store.
// CHECK-NOT: define {{.*}}@nputeir.store.
// SCALE: define {{.*}}@nputeir.scale.
// SCALE-NOT: define {{.*}}@nputeir.scale.

void plain(int m, int n, int k, float alpha, const float *a, const float *b,
           float *restrict c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int p = 0; p < k; p++)
        sum += a[i * k + p] * b[p * n + j];
      c[i * n + j] = alpha * sum;
    }
}

void transposed(int m, int n, int k, float alpha, const float *a,
                const float *b, float *restrict c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int p = 0; p < k; p++)
        sum += a[i * k + p] * b[j * k + p];
      c[i * n + j] = alpha * sum;
    }
}

// What is stored with a condition is another, and not scaled.
void clamped(int m, int n, int k, float alpha, const float *a, const float *b,
             float *restrict c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int p = 0; p < k; p++)
        sum += a[i * k + p] * b[p * n + j];
      c[i * n + j] = sum < 0 ? 0 : alpha * sum;
    }
}
