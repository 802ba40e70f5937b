// NPUTEIR_REPORT collects one JSON object per nest; remarks reach YAML with the
// rule as their name and named values; profiling and debug builds verify.
// RUN: rm -f %t.json
// RUN: env NPUTEIR_REPORT=%t.json %clang -O2 -g -c %s -o /dev/null
// RUN: env NPUTEIR_REPORT=%t.json %clang -O2 -g -c %s -o /dev/null
// RUN: FileCheck %s < %t.json
// RUN: env NPUTEIR_REPORT=%t.json/no not %clang -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: %clang -O2 -g -fsave-optimization-record=yaml -foptimization-record-file=%t.yaml -foptimization-record-passes=nputeir -c %s -o /dev/null
// RUN: FileCheck %s --check-prefix=YAML < %t.yaml
// RUN: env NPUTEIR_OPTIONS=cpu=off,device=npu1,min-macs=4000 %clang -O2 -DSIZED -Rpass-analysis=nputeir -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST
// RUN: %clang -O2 -g -fprofile-instr-generate -c %s -o /dev/null
// RUN: %clang -O2 -g -fsanitize=address,undefined -c %s -o /dev/null
// RUN: %clang -O2 -g -fsanitize=thread -c %s -o /dev/null
// RUN: %clang -O2 -g -flto=thin -c %s -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=WEAK
// Compilers that run side by side do not cut each other's lines.
// RUN: rm -f %t.both.json
// RUN: sh -c "for i in 1 2 3 4; do NPUTEIR_REPORT=%t.both.json %clang -O2 -DLONG -w -c %s -o %t.$i.o & done; wait"
// RUN: %python -c "import json, sys; print(len([json.loads(l) for l in open(sys.argv[1])]), 'lines')" %t.both.json | FileCheck %s --check-prefix=BOTH
// BOTH: 36 lines
// A build collects in a folder.
// RUN: rm -rf %t.folder
// RUN: env NPUTEIR_REPORT=%t.folder/ NPUTEIR_OPTIONS=cpu=off,device=npu1,min-macs=4000 %clang -O2 -DSIZED -gline-tables-only -c %s -o /dev/null
// RUN: env NPUTEIR_REPORT=%t.folder %clang -O2 -c %s -o /dev/null
// RUN: FileCheck %s --check-prefix=FOLDER < %t.folder/nests.json
// FOLDER: "options":"device=npu1,min-macs=4000"
// FOLDER: "module":
// FOLDER: "module":
// NOWHERE: error: nputeir: NPUTEIR_REPORT: cannot write '{{.*}}': Not a directory
// NOWHERE-NOT: NPUTEIR_REPORT
// A folder is made, but not those above it.
// RUN: env NPUTEIR_REPORT=%t.none/folder/ not %clang -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARENT
// PARENT: cannot write '{{.*}}': No such file or directory
// PARENT-NOT: NPUTEIR_REPORT
// CHECK: {"column":3,"contraction":"{{.*}}","depth":3,"einsum":"mk,kn->mn","end_line":[[@LINE+21]],"file":"{{.*}}report.c","folder":"{{.*}}","function":"gemm","line":[[@LINE+18]],"rule":"ContractionReplaced","sizes":"m=n_i n=n_j k=n_j","taken":true,"teir":"teir 1{{.*}}"}
// CHECK: {"advice":"make the loop's bounds independent of the loops around it",{{.*}}"rule":"VariantExtent","taken":false}
// CHECK: {"declined":{"VariantExtent":1},"module":"{{.*}}report.c","seen":2,"taken":1}
// CHECK: ContractionReplaced
// CHECK: VariantExtent
// YAML: --- !Analysis
// YAML: Name: {{ *}}Contraction
// YAML-NOT: MACs
// YAML: --- !Passed
// YAML: Name: {{ *}}ContractionReplaced
// YAML: Einsum: {{ *}}'mk,kn->mn'
// YAML: --- !Missed
// YAML: Name: {{ *}}VariantExtent
// COST: remark: 4096 multiply-accumulates on 1536 bytes, min-macs is 4000
// COST: remark: 512 multiply-accumulates on 384 bytes, min-macs is 4000
// COST: remark: nest kept [BelowThreshold]: 512 multiply-accumulates are fewer than min-macs, 4000
// WEAK: w nputeir_call_1
void gemm(int *C, const signed char *A, const signed char *B, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
#ifdef SIZED
#define SIZED_GEMM(name, n)                                                    \
  void name(int *C, const signed char *A, const signed char *B) {              \
    for (int i = 0; i < n; i++)                                                \
      for (int j = 0; j < n; j++)                                              \
        for (int k = 0; k < n; k++)                                            \
          C[i * n + j] += A[i * n + k] * B[k * n + j];                         \
  }
SIZED_GEMM(large, 16)
SIZED_GEMM(small, 8)
#endif
#ifdef LONG // six more lines, of several kilobytes each
#define NAME_(x) a_rather_long_name_that_##x##_comes_with
#define NAME(x) NAME_(x)
#define MORE(x)                                                                \
  void NAME(x)(int *C, const signed char *A, const signed char *B, int N) {    \
    for (int i = 0; i < N; i++)                                                \
      for (int j = 0; j < N; j++) {                                            \
        int s = 0;                                                             \
        for (int k = 0; k < N; k++)                                            \
          s += A[i * N + k] * B[k * N + j];                                    \
        s = s > 90 ? 90 : s < -90 ? -90 : s;                                   \
        C[i * N + j] = (s * 3 + 1) >> 4 > C[i * N + j] ? s : C[i * N + j] / 2; \
      }                                                                        \
  }
MORE(1) MORE(2) MORE(3) MORE(4) MORE(5) MORE(6)
#endif
void uneven(int *C, const signed char *A, const signed char *B, int N) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < i * i; k++)
        C[i * N + j] += A[i * N + k] * B[k * N + j];
}
