// Sums of a few products that other code reads, as of quantised weights with a
// scale for each group (llama2.c): the array that they would go to costs more
// than they do, where loops have vectors of more than 16 bytes.
// RUN: env NPUTEIR_OPTIONS=cpu=on %verify -O2 -march=x86-64-v3 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=taken -c -o /dev/null -O2 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on,min-macs=0 %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=taken -c -o /dev/null -O2 -march=x86-64-v3 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -DGROUP=128 -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=taken -c -o /dev/null -O2 -march=x86-64-v3 %s
#include <stdint.h>
#ifndef GROUP
#define GROUP 32
#endif
void matmul(float *out, const int8_t *x, const float *of_x, const int8_t *w, const float *of_w, int n, int d) {
  // taken-remark@+2 {{code for the processor for its sums}}
  // expected-remark@+1 {{nest kept}}
  for (int i = 0; i < d; i++) {
    float all = 0;
    for (int j = 0; j <= n - GROUP; j += GROUP) {
      int32_t sum = 0;
      for (int k = 0; k < GROUP; k++)
        sum += (int32_t)x[j + k] * (int32_t)w[i * n + j + k];
      all += (float)sum * of_w[(i * n + j) / GROUP] * of_x[j / GROUP];
    }
    out[i] = all;
  }
}
