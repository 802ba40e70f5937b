// A file in which nothing is taken comes out as if there were no plugin, also
// where nests were looked at closely: code, debug information and all.
// RUN: %plain -O2 -g -w -S %S/forms/declined_sums.c -o %t.plain.s
// RUN: %clang -O2 -g -w -S %S/forms/declined_sums.c -o %t.plugin.s
// RUN: cmp %t.plain.s %t.plugin.s
// RUN: %plain -O3 -g -w -S -emit-llvm %S/forms/declined_memory.c -o %t.plain.ll
// RUN: %clang -O3 -g -w -S -emit-llvm %S/forms/declined_memory.c -o %t.plugin.ll
// RUN: cmp %t.plain.ll %t.plugin.ll
// A function that is not matched does not notice its neighbour that is.
// RUN: %plain -O2 -ffunction-sections -c %s -o %t.plain.o
// RUN: %clang -O2 -ffunction-sections -c %s -o %t.plugin.o
// RUN: llvm-objdump -d --no-show-raw-insn --no-leading-addr --disassemble-symbols=histogram,pick %t.plain.o | tail -n +4 > %t.plain.txt
// RUN: llvm-objdump -d --no-show-raw-insn --no-leading-addr --disassemble-symbols=histogram,pick %t.plugin.o | tail -n +4 > %t.plugin.txt
// RUN: cmp %t.plain.txt %t.plugin.txt
// RUN: FileCheck %s < %t.plain.txt
// RUN: llvm-nm %t.plugin.o | FileCheck %s --check-prefix=TAKEN
// CHECK: histogram
// TAKEN: w nputeir_call_1
void histogram(int *h, const unsigned char *p, long n) {
  for (long i = 0; i < n; i++)
    h[p[i]]++;
}
void gemm(int *C, const signed char *A, const signed char *B, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
int pick(int *v, int n) {
  int best = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (v[i] * v[j] > best)
        best = v[i];
  return best;
}
