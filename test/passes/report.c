// NPUTEIR_REPORT collects one JSON object per nest; remarks reach YAML with the
// rule as their name and named values; profiling and debug builds verify.
// RUN: rm -f %t.json
// RUN: env NPUTEIR_REPORT=%t.json %clang -O2 -g -c %s -o /dev/null
// RUN: env NPUTEIR_REPORT=%t.json %clang -O2 -g -c %s -o /dev/null
// RUN: FileCheck %s < %t.json
// RUN: env NPUTEIR_REPORT=%t.json/no not %clang -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: %clang -O2 -g -fsave-optimization-record=yaml -foptimization-record-file=%t.yaml -foptimization-record-passes=nputeir -c %s -o /dev/null
// RUN: FileCheck %s --check-prefix=YAML < %t.yaml
// RUN: %clang -O2 -g -fprofile-instr-generate -c %s -o /dev/null
// RUN: %clang -O2 -g -fsanitize=address,undefined -c %s -o /dev/null
// RUN: %clang -O2 -g -fsanitize=thread -c %s -o /dev/null
// RUN: %clang -O2 -g -flto=thin -c %s -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=WEAK
// NOWHERE: error: nputeir: NPUTEIR_REPORT: cannot write '{{.*}}': Not a directory
// CHECK: {"column":3,"contraction":"{{.*}}","depth":3,"einsum":"mk,kn->mn","file":"{{.*}}report.c","function":"gemm","line":[[@LINE+14]],"rule":"ContractionReplaced","sizes":"m=n_i n=n_j k=n_j","taken":true,"teir":"teir 1{{.*}}"}
// CHECK: {"advice":"make the loop's bounds independent of the loops around it",{{.*}}"rule":"VariantExtent","taken":false}
// CHECK: {"declined":{"VariantExtent":1},"module":"{{.*}}report.c","seen":2,"taken":1}
// CHECK: ContractionReplaced
// CHECK: VariantExtent
// YAML: --- !Analysis
// YAML: Name: {{ *}}Contraction
// YAML: --- !Passed
// YAML: Name: {{ *}}ContractionReplaced
// YAML: Einsum: {{ *}}'mk,kn->mn'
// YAML: --- !Missed
// YAML: Name: {{ *}}VariantExtent
// WEAK: w nputeir_call_1
void gemm(int *C, const signed char *A, const signed char *B, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
void triangle(int *C, const signed char *A, const signed char *B, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++)
      for (int k = 0; k < N; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
