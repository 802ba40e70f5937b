// Compilers keep small arrays of a function's own in registers, where code has
// to read them from memory: up to 6 by 6 by 6 they are left to the loops, but
// not where one of them is another's.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=expected,own -c -o /dev/null -O2 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=expected,own -c -o /dev/null -O2 -march=x86-64-v3 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=expected,taken -c -o /dev/null -O2 -march=x86-64-v3 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DN=8 -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=expected,taken -c -o /dev/null -O2 %s
#ifndef N
#define N 6
#endif
void own(const float *in0, const float *in1, float *out) {
  float a[N][N], b[N][N], c[N][N];
  __builtin_memcpy(a, in0, sizeof a);
  __builtin_memcpy(b, in1, sizeof b);
  // own-remark@+2 {{the loops are faster}}
  // taken-remark@+1 {{nest replaced}}
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (int p = 0; p < N; p++)
        s += a[i][p] * b[p][j];
      c[i][j] = s;
    }
  __builtin_memcpy(out, c, sizeof c);
}
void others(float a[restrict N][N], float b[restrict N][N],
            float c[restrict N][N]) {
  // expected-remark@+1 {{nest replaced}}
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int p = 0; p < N; p++)
        c[i][j] += a[i][p] * b[p][j];
}
