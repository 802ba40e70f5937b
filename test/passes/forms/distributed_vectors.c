// Products of a matrix and a vector beside other statements, as in
// back-propagation, are split off for the processor.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 0
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define CPU __attribute__((annotate("nputeir:device=cpu")))

CPU INT_FORM(errors_and_gradients) {
  I J { // expected-remark {{code for the processor: k,kn->n}}
    side[j] += A[i * N + j] * B[i];
    other[i * 64 + j] += B[i] * B[j];
  }
  look(C);
}
CPU INT_FORM(errors_by_row) {
  I J { // expected-remark {{code for the processor: k,nk->n}}
    side[i] += A[i * N + j] * B[j];
    other[i * 64 + j] += B[i] * B[j];
  }
  look(C);
}
CPU INT_FORM(apart_at_run_time) {
  I J { // expected-remark {{code for the processor: k,kn->n}}
    C[j] += A[i * N + j] * B[i];
    other[i * 64 + j] += B[i] * B[j];
  }
  look(C);
}
CPU INT_FORM(updated_in_front) { // the same element, in one iteration
  I J {                          // expected-remark {{code for the processor: km,k->m}}
    other[i * 64 + j] += B[i] * B[j];
    side[j] += other[i * 64 + j] * B[i];
  }
  look(C);
}
CPU INT_FORM(updated_behind) {
  I J { // expected-remark {{code for the processor: km,k->m}}
    side[j] += other[i * 64 + j] * B[i];
    other[i * 64 + j] += A[i] - B[j];
  }
  look(C);
}
__attribute__((annotate("nputeir:device=cpu,f32=bf16x3")))
INT_FORM(doubles) { // which the processor does not round
  static double x[64], y[64], w[64 * 64];
  I {
    x[i] = A[i];
    J w[i * 64 + j] = B[i * N + j] + 0x1p-40;
  }
  I { // expected-remark {{code for the processor: k,nk->n}}
    double s = 0;
    J s += w[i * 64 + j] * x[j];
    y[i] = s;
  }
  I C[i] = (int)(y[i] * 0x1p40);
}

// Near misses.
CPU INT_FORM(next_row) {
  I J { // expected-remark {{kept}}
    side[j] += other[i * 64 + j] * B[i];
    if (i < 62)
      other[i * 64 + 64 + j] += B[j];
  }
  look(C);
}
CPU INT_FORM(factor_changes) {
  I J { // expected-remark {{kept}}
    side[j] += A[i * N + j] * bytes[i];
    bytes[j] += A[i];
  }
  look(C);
}
CPU INT_FORM(sum_is_read) {
  I J { // expected-remark {{kept}}
    side[j] += A[i * N + j] * B[i];
    other[i * 64 + j] += side[j];
  }
  look(C);
}
CPU INT_FORM(volatile_beside) {
  I J { // expected-remark {{kept}}
    side[j] += A[i * N + j] * B[i];
    *(volatile int32_t *)&other[i] += B[j];
  }
  look(C);
}
CPU INT_FORM(calls_beside) {
  I J { // expected-remark {{kept}}
    side[j] += A[i * N + j] * B[i];
    count();
  }
  look(C);
}
INT_FORM(not_on_the_npu) {
  I J { // expected-remark {{kept}}
    side[j] += A[i * N + j] * B[i];
    other[i * 64 + j] += B[i] * B[j];
  }
  look(C);
}
