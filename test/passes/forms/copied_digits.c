// Convolutions by way of im2col whose copy is one loop over the rows of a
// buffer, or over its columns, which divides to find channels and taps.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 176
#include "forms.h"
#include <stdlib.h>

// K channels of H rows and W columns, N filters of R rows and Q columns.
#define SIZES                                                                  \
  int H = (M & 3) + 4, W = (M & 1) + 5, R = 2 + (N & 1), Q = 3 - (N & 1);      \
  int Y = H + 2 - R + 1, X = W + 2 - Q + 1, rows = K * R * Q, columns = Y * X; \
  int8_t *col = malloc((size_t)(((K < 0 ? 0 : K) + 1) * 12 * columns));
#define EACH(i, n) for (int i = 0; i < n; i++)
#define PIXEL(c, y, x)                                                         \
  ((y) >= 0 && (y) < H && (x) >= 0 && (x) < W ? A[((c) * H + (y)) * W + (x)] : 0)
#define PRODUCT                                                                \
  EACH(m, N)                                                                   \
  EACH(n, columns) {                                                           \
    int32_t s = 0;                                                             \
    EACH(k, rows) s += B[m * rows + k] * col[k * columns + n];                 \
    C[m * columns + n] = s;                                                    \
  }                                                                            \
  free(col);

INT_FORM(rows) {
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{a call that reads what is copied for it: mklu,nklpu->mnp}}
}
INT_FORM(rows_then_columns) { // the channel is divided for in another order
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = (k / Q) % R, c = k / R / Q;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(by_the_area) { // of a filter
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / (R * Q);
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(by_the_rest) { // of the area
  SIZES
  EACH(k, rows) {
    int area = R * Q, c = k / area, t = k - c * area, r = t / Q, q = t % Q;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(known_taps) { // by which the compiler divides at once
  SIZES
  rows = K * 6;
  EACH(k, rows) {
    int q = k % 3, r = k / 3 % 2, c = k / 3 / 2;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(powers_of_two) { // by which it shifts
  SIZES
  rows = K < 0 ? 0 : K * 8;
  EACH(k, rows) {
    unsigned q = (unsigned)k % 4, r = (unsigned)k / 4 % 2, c = (unsigned)k / 8;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL((int)c, y + (int)r - 1, x + (int)q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(columns_too) { // are counted by one loop
  SIZES
  EACH(k, rows) EACH(n, columns) {
    int q = k % Q, r = k / Q % R, c = k / Q / R, y = n / X, x = n % X;
    col[k * columns + n] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(wide_counter) {
  SIZES
  for (long k = 0; k < rows; k++) {
    long q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(groups) { // whose channels are divided for here and there
  SIZES
  int groups = (M & 1) + 1, channels = groups * ((K & 1) + 1);
  rows = R * Q * channels / groups;
  int8_t *own = malloc((size_t)(rows * columns));
  EACH(g, groups) {
    int all = channels / groups * R * Q;
    EACH(k, all) {
      int q = k % Q, r = k / Q % R, c = k / Q / R + g * channels / groups;
      EACH(y, Y) EACH(x, X)
        own[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
    }
    EACH(m, 3) EACH(n, columns) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
      int32_t s = 0;
      EACH(k, rows) s += B[(g * 3 + m) * rows + k] * own[k * columns + n];
      C[(g * 3 + m) * columns + n] = s;
    }
  }
  free(own);
  free(col);
}

// ---- near misses ----

INT_FORM(part_of_a_channel) { // which is found in front
  SIZES
  rows += K > 0;
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(from_the_second) { // row on
  SIZES
  EACH(n, columns) col[n] = 1;
  for (int k = 1; k < rows; k++) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}}
}
INT_FORM(other_bases) { // of which one is no part of the other
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = k / (Q + 1) % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}}
}
INT_FORM(negative_base) { // the rest is what it would be of the positive one
  SIZES
  int by = N == 8 ? -Q : Q;
  EACH(k, rows) {
    int q = k % by, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}}
}
INT_FORM(negative_taps) { // which is found in front
  SIZES
  int by = N == 8 ? -Q : Q;
  EACH(k, rows) {
    int q = k % by, r = k / by % R, c = k / by / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c < 0 ? -c : c, y + r - 1, x + q - 1);
  }
  PRODUCT // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
}
INT_FORM(another_margin) { // than zeros
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X) {
      int yy = y + r - 1, xx = x + q - 1;
      col[(k * Y + y) * X + x] = yy < 0 || yy >= H || xx < 0 || xx >= W
                                     ? 3
                                     : A[(c * H + yy) * W + xx];
    }
  }
  PRODUCT // expected-remark {{mk,kn->mn}}
}
INT_FORM(read_elsewhere) {
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  C[4000] = rows < 1 ? 0 : col[rows * columns - 1];
  PRODUCT // expected-remark {{mk,kn->mn}}
}
INT_FORM(image_changes) {
  SIZES
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  ((int8_t *)A)[3] = 99;
  PRODUCT // expected-remark {{mk,kn->mn}}
}
INT_FORM(workspace) { // of the caller, who finds the copy there
  SIZES
  free(col);
  col = (int8_t *)(C + 2048);
  EACH(k, rows) {
    int q = k % Q, r = k / Q % R, c = k / Q / R;
    EACH(y, Y) EACH(x, X)
      col[(k * Y + y) * X + x] = PIXEL(c, y + r - 1, x + q - 1);
  }
  EACH(m, N) // expected-remark {{mk,kn->mn}}
  EACH(n, columns) {
    int32_t s = 0;
    EACH(k, rows) s += B[m * rows + k] * col[k * columns + n];
    C[m * columns + n] = s;
  }
}
