// The four sources of options, the nearer to the code the stronger, and one
// clear error for a wrong word.
// RUN: %clang -O2 -Rpass=nputeir -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: env NPUTEIR_OPTIONS=fp=relaxed %clang -O2 -Rpass=nputeir -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=RELAXED
// RUN: %clang -fplugin=%plugin -mllvm -nputeir-options=fp=relaxed -O2 -Rpass=nputeir -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=RELAXED
// RUN: env NPUTEIR_OPTIONS=fp=relaxed %clang -fplugin=%plugin -mllvm -nputeir-options=fp=strict -O2 -Rpass=nputeir -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: env NPUTEIR_OPTIONS=fp=fast not %clang -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not %clang -fplugin=%plugin -mllvm -nputeir-options=min-macs=many -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: env NPUTEIR_OPTIONS=off=1 not %clang -fplugin=%plugin -mllvm -nputeir-options=require -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not %clang -O2 -DDEMAND -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEMAND
// RUN: env NPUTEIR_OPTIONS=require not %clang -O2 -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not %clang -O2 -DTYPO -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=TYPO
// RUN: %clang -O0 -Rpass=nputeir -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | count 0

// WRONG: error: nputeir: NPUTEIR_OPTIONS: fp is one of strict, relaxed, not 'fast'
// WRONG-NOT: error: nputeir
// FLAG: error: nputeir: -nputeir-options: min-macs
// FLAG-SAME: 'many'
// FLAG-NOT: error: nputeir
// FIRST: error: nputeir: NPUTEIR_OPTIONS: there is no option 'off
// FIRST-NOT: error: nputeir
// DEMAND: error: nputeir: the nest of function 'demanded' is kept, which nputeir:require forbids: the sum of floats would be formed in another order
// DEMAND: error: nputeir: the nest of function 'second_kept' is kept
// DEMAND: error: nputeir: no nest of function 'without' is replaced, which nputeir:require demands
// ALL-NOT: function 'idle'
// ALL: error: nputeir: the nest of function 'strict' is kept
// ALL-NOT: function 'idle'
// TYPO: error: nputeir: annotation of typo: there is no option 'of'

#define GEMM(name)                                                             \
  void name(float *C, const __bf16 *A, const __bf16 *B, int M, int N, int K) { \
    for (int i = 0; i < M; i++)                                                \
      for (int j = 0; j < N; j++)                                              \
        for (int k = 0; k < K; k++)                                            \
          C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j];           \
  }

// STRICT-NOT: option_sources.c:[[@LINE+2]]:{{.*}}replaced
// RELAXED-NOT: option_sources.c:[[@LINE+1]]:{{.*}}replaced
__attribute__((annotate("nputeir:off"))) GEMM(off)
// STRICT: option_sources.c:[[@LINE+2]]:{{.*}}replaced
// RELAXED: option_sources.c:[[@LINE+1]]:{{.*}}replaced
__attribute__((annotate("nputeir:fp=relaxed"))) GEMM(relaxed)
// STRICT: option_sources.c:[[@LINE+2]]:{{.*}}[NeedsReassoc]: {{.*}}allow reassociation: -ffast-math or fp=relaxed
// RELAXED: option_sources.c:[[@LINE+1]]:{{.*}}[NeedsReassoc]
__attribute__((annotate("nputeir:fp=strict"))) GEMM(strict)
// STRICT: option_sources.c:[[@LINE+2]]:{{.*}}[NeedsReassoc]
// RELAXED: option_sources.c:[[@LINE+1]]:{{.*}}replaced
GEMM(open)
// STRICT-NOT: option_sources.c:{{.*}}replaced
// RELAXED-NOT: option_sources.c:{{.*}}replaced
__attribute__((always_inline, annotate("nputeir:off"))) static inline GEMM(inlined)
void host(float *C, const __bf16 *A, const __bf16 *B) {
  inlined(C, A, B, 8, 8, 8);
}
int idle(int x) { return x; }
#ifdef DEMAND
__attribute__((annotate("nputeir:require"))) GEMM(demanded)
__attribute__((annotate("nputeir:require"))) void
second_kept(int *C, const signed char *A, int n) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      for (int k = 0; k < 16; k++)
        C[i * 16 + j] += A[i * 16 + k] * A[k * 16 + j];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      for (int k = 0; k < i * i; k++)
        C[i * 16 + j] += A[i * 16 + k] * A[k * 16 + j];
}
__attribute__((annotate("nputeir:require"))) int without(int x) { return x; }
#endif
#ifdef TYPO
__attribute__((annotate("nputeir:of"))) GEMM(typo)
#endif
