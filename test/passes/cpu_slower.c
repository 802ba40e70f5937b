// At sizes that are known the loop is faster than code for the processor, but
// only the running program knows a stride: the nest has a function, which leaves
// it to the loop at once, and what stands behind that is sound, too.
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -O2 -S -emit-llvm %s -o %t.ll
// RUN: %opt -passes=verify -disable-output %t.ll
// RUN: FileCheck %s <%t.ll
// CHECK: define internal i32 @nputeir.nest.
// CHECK-NOT: icmp
// CHECK: ret i32 1
void add(int *restrict c, const signed char *restrict a,
         const signed char *restrict b, long row) {
  for (int i = 0; i < 20; i++)
    for (int j = 0; j < 33; j++)
      for (int k = 0; k < 28; k++)
        c[i * row + j] += a[i * 28 + k] * b[k * 33 + j];
}
