// nputeir-cc adds the plugin where something is compiled, and the runtime only
// where something is linked.
// RUN: %nputeir-cc -O2 -Wall -Werror -c %s -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=off %nputeir-cc -O2 -c %s -o %t.off.o
// RUN: llvm-nm %t.off.o | FileCheck %s --check-prefix=OFF
// RUN: %nputeir-cc -O2 -c %s -o %t.o -### 2>&1 | FileCheck %s --check-prefix=COMPILE
// RUN: %nputeir-cc -E %s -o - | FileCheck %s --check-prefix=TEXT
// RUN: %nputeir-cc -Werror %t.o -o %t.exe
// RUN: %t.exe
// RUN: %nputeir-cc --version | FileCheck %s --check-prefix=VERSION
// RUN: not env NPUTEIR_CC=nosuch %nputeir-cc -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=NOSUCH
// Words may come from a response file, and C++ has many suffixes.
// RUN: echo "-O2 -c '%s' -o %t.at.o" >%t.words
// RUN: %nputeir-cc @%t.words
// RUN: llvm-nm %t.at.o | FileCheck %s
// RUN: cp %s %t.CPP
// RUN: %nputeir-cc -O2 -c %t.CPP -o %t.cpp.o
// RUN: llvm-nm %t.cpp.o | FileCheck %s
// CHECK: w nputeir_call_1
// OFF-NOT: nputeir_call_1
// COMPILE: "-fpass-plugin=
// COMPILE-NOT: "-lnputeir-rt"
// TEXT: {{^}}void gemm
// VERSION: clang version
// NOSUCH: nputeir-cc: cannot run nosuch
void gemm(int *C, const signed char *A, const signed char *B, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
int main(void) {
  signed char a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  int c[4] = {0};
  gemm(c, a, b, 2);
  return c[0] != 19 || c[1] != 22 || c[2] != 43 || c[3] != 50;
}
