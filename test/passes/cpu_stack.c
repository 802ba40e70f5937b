// A thread with little room calls what has many operands behind its sums: the
// offsets of all of them lie in the frame.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -Rpass=nputeir %s -o %t 2> %t.err
// RUN: FileCheck --check-prefix=TAKEN %s < %t.err
// RUN: %t | FileCheck %s
// TAKEN: nest replaced by code for the processor
#include <pthread.h>
#include <stdio.h>

enum { K = 300, N = 700, ROOM = 7 << 13 };
typedef const double *restrict in;
static double a[K], b[N * K], c[N], x[N];

void sums(long m, long n, long k, double *restrict out, in left, in right,
          in x0, in x1, in x2, in x3, in x4, in x5, in x6, in x7, in x8, in x9,
          in x10, in x11) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      double s = 0;
      for (long p = 0; p < k; p++)
        s += left[i * k + p] * right[j * k + p];
      out[i * n + j] = s + x0[i] + x1[j] + x2[i * n + j] + x3[i] + x4[j] +
                       x5[i * n + j] + x6[i] + x7[j] + x8[i * n + j] + x9[i] +
                       x10[j] + x11[i * n + j];
    }
}

static void *run(void *nothing) {
  volatile long m = 1, n = N, k = K;
  sums(m, n, k, c, a, b, x, x, x, x, x, x, x, x, x, x, x, x);
  return nothing;
}

int main(void) {
  for (int p = 0; p < K; p++)
    a[p] = b[(N - 1) * K + p] = 1;
  for (int j = 0; j < N; j++)
    x[j] = j;
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  if (pthread_attr_setstacksize(&small, 16384 + ROOM) ||
      pthread_create(&thread, &small, run, NULL) || pthread_join(thread, NULL))
    return 1;
  printf("%g\n", c[N - 1]); // CHECK: 5892
}
