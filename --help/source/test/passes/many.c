// Of many nests in one function each is taken, and nothing is left of the barriers
// between their analyses.
// RUN: %clang -O1 -S -emit-llvm %s -o - | FileCheck %s

#define ONE                                                                    \
  for (int i = 0; i < n; i++)                                                  \
    for (int j = 0; j < n; j++)                                                \
      for (int k = 0; k < n; k++)                                              \
        out[i * n + j] += in[i * n + k] * in[k * n + j];
#define FOUR ONE ONE ONE ONE
#define SIXTEEN FOUR FOUR FOUR FOUR

// CHECK-LABEL: @products
// CHECK-NOT: br i1 true
// CHECK-COUNT-33: call i32 @nputeir_call_1
// CHECK-NOT: br i1 true
void products(int n, int *restrict out, const signed char *in) {
  SIXTEEN SIXTEEN ONE
}
