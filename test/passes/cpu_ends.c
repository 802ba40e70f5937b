// Nothing is read behind a matrix that lies along the reduction by strides that
// are known when the program runs: its last steps are the end of what is packed.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -Rpass=nputeir %s -o %t 2> %t.err
// RUN: FileCheck --check-prefix=TAKEN %s < %t.err
// RUN: %t | FileCheck %s
// TAKEN: nest replaced by code for the processor
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { M = 20, N = 4, K = 140, PAGE = 4096 };

void product(long m, long n, long k, long lda, long ldb, long step, long ldc,
             uint32_t *c, const uint8_t *a, const uint8_t *b,
             const uint32_t *beta) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      uint32_t s = 0;
      for (long p = 0; p < k; p++)
        s += (uint32_t)a[p * lda + i] * b[j * ldb + p * step];
      c[i * ldc + j] = 5 * s + beta[0] * c[i * ldc + j];
    }
}

int main(void) {
  static uint8_t a[K * M];
  static uint32_t c[M * N], beta = 3;
  volatile long one = 1;
  void (*volatile call)(long, long, long, long, long, long, long, uint32_t *,
                        const uint8_t *, const uint8_t *, const uint32_t *) =
      product;
  uint8_t *b = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (b == MAP_FAILED || mprotect(b + PAGE, PAGE, PROT_NONE))
    return 1;
  for (long m = 1; m < M; m++)
    for (long n = 1; n < N; n++)
      for (long k = 1; k < K; k++)
        call(m, n, k, m, k, one, N, c, a, b + PAGE - n * k, &beta);
  puts("done"); // CHECK: done
}
