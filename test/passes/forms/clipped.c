// Sums whose loops start or end at the edge of an image: every tap, where the
// image has what it is multiplied with.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 64
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

// Rows i of an image of M rows of K pixels; j is a filter of three taps each
// way.
INT_FORM(clipped) {
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0, from = MAX(0, 1 - i), to = MIN(3, M + 1 - i);
    for (int t = from; t < to; t++)
      L s += A[(i + t - 1) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_both) {            // i and l both
  I for (int l = 0; l < 3; l++) J { // expected-remark {{mkxl,nkl->mxn}}
    int s = 0, y = i - 1, x = l - 1;
    for (int t = MAX(0, -y); t < MIN(3, M - y); t++)
      for (int u = MAX(0, -x); u < MIN(3, K - x); u++)
        s += A[(y + t) * K + x + u] * B[j * 9 + t * 3 + u];
    C[(i * 3 + l) * N + j] = s;
  }
}
INT_FORM(clipped_first) {
  I J { // expected-remark {{mk,nk->mn}}
    int s = 0;
    for (int t = MAX(0, 2 - i); t < K; t++)
      s += A[i + t - 2] * B[j * K + t];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_last) {
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = C[i * N + j];
    for (long t = 0; t < MIN(3, M - i); t++)
      L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_strided) {       // every second row
  for (int i = 0; i < M / 2; i++) // expected-remark {{mkl,nkl->mn}}
    J {
      int s = 0, y = 2 * i - 1;
      for (int t = MAX(0, -y); t < MIN(3, M - y); t++)
        L s += A[(y + t) * K + k] * B[(j * 3 + t) * K + k];
      C[i * N + j] = s;
    }
}
INT_FORM(clipped_dilated) { // taps that are apart
  const int d = M > 4 ? 2 : 3;
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0, y = i - d, from = MAX(0, (d - 1 - y) / d),
        to = MIN(3, (M - y + d - 1) / d);
    for (int t = from; t < to; t++)
      L s += A[(y + t * d) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_sums) { // in the result
  I J {                  // expected-remark {{mkl,nkl->mn}}
    C[i * N + j] = 0;
    for (int t = MAX(0, 1 - i); t < MIN(3, M + 1 - i); t++)
      L C[i * N + j] += A[(i + t - 1) * K + k] * B[(j * 3 + t) * K + k];
  }
}
INT_FORM(clipped_tail) { // where the taps end is code behind the sum
  I J {                  // expected-remark {{mkl,nkl->mn}}
    int s = 0, from = MAX(0, 1 - i), to = MIN(3, M + 1 - i);
    for (int t = from; t < to; t++)
      L s += A[(i + t - 1) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s / MAX(to, 1);
  }
}

// What depends on the start itself is no function of the counter.
// The first tap is chosen by a comparison.
INT_FORM(clipped_chosen) {
  I J { // expected-remark {{mkl,nkl->mn}}
    const int y = i - 1;
    int s = 0, from = y < 0 ? -y : 0, to = 3 < M - y ? 3 : M - y;
    for (int t = from; t < to; t++)
      L s += A[(y + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_chosen_strided) {
  I J { // expected-remark {{mkl,nkl->mn}}
    const int y = 2 * i - 1;
    int s = 0, from = y < 0 ? -y : 0, to = 3 < 2 * M - y ? 3 : 2 * M - y;
    for (int t = from; t < to; t++)
      L s += A[(y + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_chosen_first) {
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0, from = i == 0;
    for (int t = from; t < 3; t++)
      L s += A[(i - 1 + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_start_used) {
  I J { // expected-remark {{VariantExtent}}
    int s = 0, from = MAX(0, 1 - i), to = MIN(3, M + 1 - i);
    for (int t = from; t < to; t++)
      L s += A[(i + t - 1) * K + k] * B[(j * 3 + t - from) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_or_else) { // where there are no taps, something else
  I J {                     // expected-remark {{kept}}
    int s = 7, from = MAX(0, 4 - i), to = MIN(3, M + 1 - i);
    if (from < to) {
      s = 0;
      int t = from;
      do
        L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
      while (++t < to);
    }
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_or_written) {
  I J { // expected-remark {{kept}}
    int s = 0, from = MAX(0, 4 - i), to = MIN(3, M + 1 - i);
    if (from < to) {
      for (int t = from; t < to; t++)
        L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
    } else
      C[M * N + j] = 3;
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_unevenly) { // by a product of counters
  I J {                      // expected-remark {{VariantExtent}}
    int s = 0, from = MAX(0, 9 - i * i);
    for (int t = from; t < 3; t++)
      L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_once_more) { // runs at least once
  I J {                       // expected-remark {{Variant}}
    int s = 0, t = MAX(0, 1 - i), to = MIN(3, M - i);
    do
      L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
    while (++t < to);
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_one_further) { // at y = 0, too
  I J {                         // expected-remark {{VariantExtent}}
    const int y = i - 2;
    int s = 0, from = y < 0 ? -y : 1;
    for (int t = from; t < 3; t++)
      L s += A[(y + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_second) { // at i = 1 alone
  I J {                    // expected-remark {{VariantExtent}}
    int s = 0, from = i == 1;
    for (int t = from; t < 3; t++)
      L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_and_compared) { // the start is no function of the tap
  I J {                          // expected-remark {{kept}}
    int s = 0;
    for (short t = i == 0; t < 3; t++)
      L s += A[(i - 1 + t) * K + k] * B[((i == 0) * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_short_base) { // as TFLite Micro's forks for small processors
  for (int i = 0; i < M; i++) { // expected-remark {{mkl,nkl->mn}}
    const int16_t y = (uint16_t)i - 1;
    J {
      int s = 0;
      for (int t = MAX(0, -y); t < MIN(3, M - y); t++)
        L s += A[(y + t) * K + k] * B[(j * 3 + t) * K + k];
      C[i * N + j] = s;
    }
  }
}
INT_FORM(clipped_either_dilation) { // a call with it, and one without
  const int d = 1 + (B[0] & 3);
  I J { // expected-remark 2 {{mkl,nkl->mn}}
    int s = 0, y = i - 1, from, to;
    if (d > 1) {
      const int least = (-y + d - 1) / d, most = (M - y + d - 1) / d;
      from = MAX(0, least);
      to = MIN(3, most);
    } else {
      from = MAX(0, -y);
      to = MIN(3, M - y);
    }
    for (int t = from; t < to; t++)
      L s += A[(y + t * d) * K + k] * B[(j * 3 + t) * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(clipped_either_dilation_told) { // near miss: the start is told, too
  const int d = 1 + (B[0] & 3);
  I J { // expected-remark {{kept}}
    int s = 0, y = i - 1, from, to;
    if (d > 1) {
      const int least = (-y + d - 1) / d, most = (M - y + d - 1) / d;
      from = MAX(0, least);
      to = MIN(3, most);
    } else {
      from = MAX(0, -y);
      to = MIN(3, M - y);
    }
    for (int t = from; t < to; t++)
      L s += A[(y + t * d) * K + k] * B[(j * 3 + t) * K + k + from];
    C[i * N + j] = s;
  }
}
