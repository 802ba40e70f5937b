// Products that only count, and elements that are only read, where a condition
// on the loops' counters holds: the zeros around a convolution's image.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 230
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define T for (int t = 0; t < 3; t++)

// Rows i of an image of M rows of K pixels; j is a filter of three taps each
// way.
#define INSIDE at >= 0 && at < M
INT_FORM(tests) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE)
        s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(chooses_zero) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = i + t - 1;
      int a = INSIDE ? A[at * K + k] : 0;
      s += a * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(continues) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (at < 0 || at >= M)
        continue;
      s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(continues_outside) { // of the loop that the condition decides on
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0;
    T {
      int at = i + t - 1;
      if (at < 0 || at >= M)
        continue;
      L s += A[at * K + k] * B[(j * 3 + t) * K + k];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(tests_unsigned) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if ((unsigned)at < (unsigned)M)
        s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(one_side) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      if (i + t >= 2)
        s += A[(i + t - 2) * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(one_side_else) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      if (i + t > M - 1)
        ;
      else
        s += A[(i + t) * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(constant_size) {
  for (int i = 0; i < 20; i++) // expected-remark {{mlk,nkl->mn}}
    J {
      int s = 0;
      L T {
        int at = i + t - 1;
        if (at >= 0 && at < 20)
          s += A[at * K + k] * B[(j * K + k) * 3 + t];
      }
      C[i * N + j] = s;
    }
}
INT_FORM(two_ways) { // i and l both, with the outer test outside
  I for (int l = 0; l < 3; l++) J { // expected-remark {{mkxl,nkl->mxn}}
    int s = 0;
    T {
      int y = i + t - 1;
      if (y < 0 || y >= M)
        continue;
      for (int u = 0; u < 3; u++) {
        int x = l + u - 1;
        if (x >= 0 && x < 3)
          s += A[y * 3 + x] * B[j * 9 + t * 3 + u];
      }
    }
    C[(i * 3 + l) * N + j] = s;
  }
}
INT_FORM(strided_and_dilated) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = 2 * i + 3 * t - 4;
      if (at >= 0 && at < 30)
        s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(sizes_of_64_bits) {
  for (long i = 0; i < M; i++) // expected-remark {{mlk,nkl->mn}}
    for (long j = 0; j < N; j++) {
      int s = 0;
      for (long k = 0; k < K; k++)
        for (long t = 0; t < 3; t++) {
          long at = i + t - 1;
          if (at >= 0 && at < M)
            s += A[at * K + k] * B[(j * K + k) * 3 + t];
        }
      C[i * N + j] = s;
    }
}
INT_FORM(sizes_without_sign) {
  for (size_t i = 0; i < (size_t)(M & 63); i++) // expected-remark {{mlk,nkl->mn}}
    for (size_t j = 0; j < (size_t)(N & 63); j++) {
      int s = 0;
      for (size_t k = 0; k < (size_t)(K & 31); k++)
        for (size_t t = 0; t < 3; t++)
          if (i + t >= 1 && i + t - 1 < (size_t)(M & 63))
            s += A[(i + t - 1) * (K & 31) + k] * B[(j * (K & 31) + k) * 3 + t];
      C[i * (N & 63) + j] = s;
    }
}
INT_FORM(both_operands) { // neither is read beyond the edge
  I J { // expected-remark {{mkl,kln->mn}}
    int s = 0;
    L T {
      int at = k + t - 1;
      if (at >= 0 && at < K)
        s += A[i * K + at] * B[at * N + j];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(lower_triangle) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    for (int k = 0; k < M; k++)
      if (k <= i)
        s += A[i * M + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(in_memory) {
  I J { // expected-remark {{mlk,nkl->mn}}
    C[i * N + j] = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE)
        C[i * N + j] += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
  }
}
INT_FORM(in_memory_outside) {
  I J { // expected-remark {{mkl,nkl->mn}}
    C[i * N + j] = 0;
    T {
      int at = i + t - 1;
      if (at < 0 || at >= M)
        continue;
      L C[i * N + j] += A[at * K + k] * B[(j * 3 + t) * K + k];
    }
  }
}
INT_FORM(tail) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = B[j];
    L T {
      int at = i + t - 1;
      if (INSIDE)
        s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s > 0 ? s : 0;
  }
}
BF16_FORM(floats) {
  I J { // expected-remark {{mlk,nkl->mn}}
    float s = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE)
        s += (float)A[at * K + k] * (float)B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
BF16_FORM(float_chooses_zero) {
  I J { // expected-remark {{mlk,nkl->mn}}
    float s = 0;
    L T {
      int at = i + t - 1;
      s += (INSIDE ? (float)A[at * K + k] : 0) *
           (float)B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}

// An image of 10 rows of 6 pixels of K channels, in any order of loops, with
// conditions on rows and columns in any of them.
#define Y for (int y = 0; y < 10; y++)
#define X for (int x = 0; x < 6; x++)
#define ROWS for (int r = 0; r < 3; r++)
#define COLUMNS for (int q = 0; q < 3; q++)
#define PRODUCT A[(yy * 6 + xx) * K + k] * B[((r * 3 + q) * K + k) * N + j]
INT_FORM(continues_on_both) { // y - 10 < -10, without a sign, says InstCombine
  Y X J { // expected-remark {{mxklu,klun->mxn}}
    int s = 0;
    ROWS COLUMNS {
      int yy = y + r - 1, xx = x + q - 1;
      if (yy < 0 || yy >= 10 || xx < 0 || xx >= 6)
        continue;
      L s += PRODUCT;
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(continues_on_each) {
  Y X J { // expected-remark {{mxklu,klun->mxn}}
    int s = 0;
    ROWS {
      int yy = y + r - 1;
      if (yy < 0 || yy >= 10)
        continue;
      COLUMNS {
        int xx = x + q - 1;
        if (xx < 0 || xx >= 6)
          continue;
        L s += PRODUCT;
      }
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(channels_outside) {
  J Y X { // expected-remark {{mklu,knlpu->mnp}}
    int s = 0;
    L ROWS {
      int yy = y + r - 1;
      if (yy < 0 || yy >= 10)
        continue;
      COLUMNS {
        int xx = x + q - 1;
        if (xx < 0 || xx >= 6)
          continue;
        s += A[(k * 10 + yy) * 6 + xx] * B[((j * K + k) * 3 + r) * 3 + q];
      }
    }
    C[(j * 10 + y) * 6 + x] = s;
  }
}
INT_FORM(row_tested_within) { // the row's condition stands in the innermost loop
  Y X J { // expected-remark {{mxklu,klun->mxn}}
    int s = 0;
    ROWS COLUMNS {
      int yy = y + r - 1, xx = x + q - 1;
      if ((unsigned)xx >= 6u)
        continue;
      L if (!(yy < 0 || yy > 9)) s += PRODUCT;
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(every_second_row) { // 2 * i + r is zero where it is less than 1
  I for (int x = 0; x < 3; x++) J { // expected-remark {{mkxlu,klun->mxn}}
    int s = 0;
    for (int r = 0; r < 2; r++) COLUMNS {
      int yy = 2 * i + r - 1, xx = x + q - 1;
      if (yy < 0 || yy >= 10 || xx < 0 || xx >= 6)
        continue;
      for (int k = 0; k < 4; k++)
        s += A[(yy * 6 + xx) * 4 + k] * B[((r * 3 + q) * 4 + k) * N + j];
    }
    C[(i * 3 + x) * N + j] = s;
  }
}
INT_FORM(from_the_first_row) { // off by one: the image's edges count as zero
  Y X J { // expected-remark {{mxklu,klun->mxn}}
    int s = 0;
    ROWS COLUMNS {
      int yy = y + r - 1, xx = x + q - 1;
      if (yy < 1 || yy >= 10 || xx < 0 || xx > 4)
        continue;
      L s += PRODUCT;
    }
    C[(y * 6 + x) * N + j] = s;
  }
}

// ---- near misses ----

INT_FORM(skips_the_store) { // of whole rows; the others are taken
  Y X J { // expected-remark {{mklu,klun->mn}}
    if (y < 1 || y >= 9)
      continue;
    int s = 0;
    ROWS COLUMNS {
      int yy = y + r - 1, xx = x + q - 1;
      if (yy < 0 || yy >= 10 || xx < 0 || xx >= 6)
        continue;
      L s += PRODUCT;
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(counts_the_skipped) {
  Y X J { // expected-remark {{GuardedBody}}
    int s = 0;
    ROWS COLUMNS {
      int yy = y + r - 1, xx = x + q - 1;
      if (yy < 0 || yy >= 10 || xx < 0 || xx >= 6) {
        s++;
        continue;
      }
      L s += PRODUCT;
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(leaves_the_loop) { // of rows, at the first that is beyond the edge
  Y X J { // expected-remark {{EarlyExit}}
    int s = 0;
    ROWS {
      int yy = y + r - 1;
      if (yy < 0 || yy >= 10)
        break;
      COLUMNS {
        int xx = x + q - 1;
        if (xx < 0 || xx >= 6)
          continue;
        L s += PRODUCT;
      }
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(beyond_both) { // only a corner is left out
  Y X J { // expected-remark {{GuardedBody}}
    int s = 0;
    ROWS COLUMNS {
      int yy = y + r, xx = x + q;
      if (yy >= 10 && xx >= 6)
        continue;
      L s += PRODUCT;
    }
    C[(y * 6 + x) * N + j] = s;
  }
}
INT_FORM(other_value) { // outside counts as one
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L T {
      int at = i + t - 1;
      s += (INSIDE ? A[at * K + k] : 1) * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(edge) { // the nearest pixel
  I J { // expected-remark {{NonAffineIndex}}
    int s = 0;
    L T {
      int at = i + t - 1;
      at = at < 0 ? 0 : at >= M ? M - 1 : at;
      s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(either) { // no box
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L T {
      if (i + t < 3 || i + t > 6)
        s += A[(i + t) * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(of_both) { // moves neither operand alone
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L if (i + j >= 3) s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(parity) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L if ((k & 1) == 0) s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(on_data) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE && A[at * K + k] > 3)
        s += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(on_data_outside) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    T {
      if (B[t] > 0)
        continue;
      L s += A[(i + t) * K + k] * B[(j * 3 + t) * K + k];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(reads_beside) { // x only where a product counts
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE)
        s += A[at * K + k] * B[(j * K + k) * 3 + t] * A[i];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(adds_beside) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE)
        s += A[at * K + k] * B[(j * K + k) * 3 + t] + 1;
    }
    C[i * N + j] = s;
  }
}
INT_FORM(something_else) { // where no product counts
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (INSIDE)
        s += A[at * K + k] * B[(j * K + k) * 3 + t];
      else
        s = 3 * s + 1;
    }
    C[i * N + j] = s;
  }
}
