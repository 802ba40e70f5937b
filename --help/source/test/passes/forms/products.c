// A sum of several products, as of complex numbers, is several sums.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 70
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AT (i * K + k)
#define BT (k * N + j)
#define AB2 X[k * M + i] * Y[j * K + k] // the copies of no loop

INT_FORM(two_products) {
  const int8_t *X = A + 2048, *Y = B + 2048;
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t s = 0;
    L s += A[AT] * B[BT] + AB2;
    C[i * N + j] += s;
  }
}
INT_FORM(subtracted) {
  const int8_t *X = A + 2048, *Y = B + 2048;
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t s = 3;
    L s -= A[AT] * B[BT] - AB2;
    C[i * N + j] = s;
  }
}
INT_FORM(complex_product) { // real and imaginary parts beside each other
  I J { // expected-remark 4 {{for its sums}}
    int32_t re = 0, im = 0;
    L {
      re += A[2 * AT] * B[2 * BT] - A[2 * AT + 1] * B[2 * BT + 1];
      im += A[2 * AT] * B[2 * BT + 1] + A[2 * AT + 1] * B[2 * BT];
    }
    C[2 * (i * N + j)] = re;
    C[2 * (i * N + j) + 1] = im;
  }
}
BF16_FORM(complex_floats) { // in arrays of their own
  const __bf16 *Ai = A + 2048, *Bi = B + 2048;
  float *Ci = C + 2048;
  I J { // expected-remark 4 {{for its sums}}
    float re = 0, im = 0;
    L {
      re += (float)A[AT] * (float)B[BT] - (float)Ai[AT] * (float)Bi[BT];
      im += (float)A[AT] * (float)Bi[BT] + (float)Ai[AT] * (float)B[BT];
    }
    C[i * N + j] = re;
    Ci[i * N + j] = im;
  }
}

// ---- near misses ----

INT_FORM(five_products) {
  const int8_t *X = A + 2048, *Y = B + 2048;
  I J { // expected-remark {{SeveralProducts}}
    int32_t s = 0;
    L s += A[AT] * B[BT] + AB2 + X[AT] * Y[BT + 7] + X[AT + 1] * B[BT] +
           A[AT + 9] * Y[j * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(an_element_more) { // is no product
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    L s += A[AT] * B[BT] + A[BT];
    C[i * N + j] = s;
  }
}
INT_FORM(sum_so_far_twice) {
  const int8_t *X = A + 2048, *Y = B + 2048;
  I J { // expected-remark {{kept}}
    int32_t s = 1;
    L s += s + A[AT] * B[BT] + AB2;
    C[i * N + j] = s;
  }
}
INT_FORM(sum_is_read) { // in each step
  const int8_t *X = A + 2048, *Y = B + 2048;
  I J { // expected-remark {{kept}}
    int32_t s = 0, t = 0;
    L {
      t ^= s;
      s += A[AT] * B[BT] + AB2;
    }
    C[i * N + j] = s + t;
  }
}
