// Where neither machine takes a nest, its remark says why of both, if they have
// reasons of their own.
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -O2 -ffast-math -Rpass-missed=nputeir -c %s -o %t.o 2>&1 | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=cpu=off %clang -O2 -ffast-math -Rpass-missed=nputeir -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=NPU
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -ffast-math -Rpass-missed=nputeir -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=CPU
// CHECK: kept [FloatInputs]: {{.*}}; no code for the processor [BelowThreshold]: the loops are faster
// NPU: kept [FloatInputs]:
// NPU-NOT: no code for the processor
// CPU: kept [BelowThreshold]:
// CPU-NOT: no code for the processor
void small(const float *a, const float *b, float *c) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      float s = 0;
      for (int k = 0; k < 3; k++)
        s += a[i * 3 + k] * b[k * 3 + j];
      c[i * 3 + j] = s;
    }
}
