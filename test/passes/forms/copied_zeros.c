// Convolutions by way of im2col that copy what lies within the image alone: the
// margin is what the buffer held before.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 151
#include "forms.h"
#include <stdlib.h>

// K channels of H rows and W columns, N filters of R rows and Q columns.
#define SIZES                                                                  \
  int H = (M & 3) + 4, W = (M & 1) + 5, R = 2 + (N & 1), Q = 3 - (N & 1);      \
  int Y = H + 2 - R + 1, X = W + 2 - Q + 1, rows = K * R * Q, columns = Y * X; \
  size_t bytes = (size_t)(K < 0 ? 0 : rows * columns) + 8;
#define EACH(i, n) for (int i = 0; i < n; i++)
#define COPY(A)                                                                \
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X) {                     \
    int yy = y + r - 1, xx = x + q - 1;                                        \
    if (yy >= 0 && yy < H && xx >= 0 && xx < W)                                \
      col[((c * R + r) * Q + q) * columns + y * X + x] =                       \
          (A)[(c * H + yy) * W + xx];                                          \
  }
#define PRODUCT(C)                                                             \
  EACH(m, N)                                                                   \
  EACH(n, columns) {                                                           \
    int32_t s = 0;                                                             \
    EACH(k, rows) s += B[m * rows + k] * col[k * columns + n];                 \
    (C)[m * columns + n] = s;                                                  \
  }

INT_FORM(allocated) {
  SIZES
  int8_t *col = calloc(bytes, 1);
  COPY(A)
  PRODUCT(C) // expected-remark {{mk,kn->mn}} expected-remark {{a call that reads what is copied for it: mklu,nklpu->mnp}}
  free(col);
}
INT_FORM(cleared) {
  SIZES
  int8_t *col = malloc(bytes);
  memset(col, 0, bytes);
  COPY(A)
  PRODUCT(C) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
INT_FORM(continued) { // where there is nothing to copy
  SIZES
  int8_t *col = calloc(bytes, 1);
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) {
    int yy = y + r - 1, row = (c * R + r) * Q + q;
    if (yy < 0 || yy >= H)
      continue;
    EACH(x, X) {
      int xx = x + q - 1;
      if (xx < 0 || xx >= W)
        continue;
      col[row * columns + y * X + x] = A[(c * H + yy) * W + xx];
    }
  }
  PRODUCT(C) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
INT_FORM(batch) { // each image leaves the same places
  SIZES
  int8_t *col = calloc(bytes, 1);
  EACH(b, 2) {
    COPY(A + b * 600)
    PRODUCT(C + b * 1600) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  }
  free(col);
}
INT_FORM(cleared_for_each) {
  SIZES
  int8_t *col = malloc(bytes);
  EACH(b, 2) {
    memset(col, 0, bytes);
    COPY(A + b * 600)
    PRODUCT(C + b * 1600) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  }
  free(col);
}
INT_FORM(cleared_and_filled) {
  SIZES
  int8_t *col = malloc(bytes);
  memset(col, 0, bytes);
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1;
    col[((c * R + r) * Q + q) * columns + y * X + x] =
        yy >= 0 && yy < H && xx >= 0 && xx < W ? A[(c * H + yy) * W + xx] : 0;
  }
  PRODUCT(C) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
static int8_t zeros[4 * 6 * 20 + 1];
INT_FORM(in_module) {
  enum { H = 4, W = 5, Y = 4, X = 5 };
  EACH(c, 4) EACH(r, 3) EACH(q, 2) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1;
    if (yy >= 0 && yy < H && xx >= 0 && xx < W)
      zeros[((c * 3 + r) * 2 + q) * 20 + y * X + x] = A[(c * H + yy) * W + xx];
  }
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    int32_t s = 0;
    EACH(k, 24) s += B[m * 24 + k] * zeros[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
BF16_FORM(floats) {
  SIZES
  __bf16 *col = calloc(bytes, sizeof *col);
  COPY(A)
  EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    float s = 0;
    EACH(k, rows) s += (float)B[m * rows + k] * (float)col[k * columns + n];
    C[m * columns + n] = s;
  }
  free(col);
}

// ---- near misses ----

INT_FORM(cleared_to_ones) {
  SIZES
  int8_t *col = malloc(bytes);
  memset(col, 1, bytes);
  COPY(A)
  PRODUCT(C) // expected-remark {{mk,kn->mn}}
  free(col);
}
static int8_t ones[4 * 6 * 20] = {1};
INT_FORM(in_module_of_ones) {
  enum { H = 4, W = 5, Y = 4, X = 5 };
  EACH(c, 4) EACH(r, 3) EACH(q, 2) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1;
    if (yy >= 0 && yy < H && xx >= 0 && xx < W)
      ones[((c * 3 + r) * 2 + q) * 20 + y * X + x] = A[(c * H + yy) * W + xx];
  }
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, 24) s += B[m * 24 + k] * ones[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
INT_FORM(cleared_too_late) {
  SIZES
  int8_t *col = malloc(bytes);
  memset(col, 1, bytes);
  COPY(A)
  memset(col, 0, bytes);
  PRODUCT(C) // expected-remark {{mk,kn->mn}}
  free(col);
}
static int8_t partly[4 * 6 * 20] = {1, [400] = 1, [470] = 1};
INT_FORM(cleared_in_part) { // the rest is as it was
  enum { H = 4, W = 5, Y = 4, X = 5 };
  memset(partly, 0, N == 8 ? 9 : 100);
  EACH(c, 4) EACH(r, 3) EACH(q, 2) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1;
    if (yy >= 0 && yy < H && xx >= 0 && xx < W)
      partly[((c * 3 + r) * 2 + q) * 20 + y * X + x] = A[(c * H + yy) * W + xx];
  }
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, 24) s += B[m * 24 + k] * partly[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
INT_FORM(images_differ) { // in height, so that the first one leaves more
  SIZES
  int8_t *col = calloc(bytes, 1);
  int high = H;
  EACH(b, 2) {
    H = high - b;
    COPY(A + b * 600)
    PRODUCT(C + b * 1600) // expected-remark {{mk,kn->mn}}
  }
  free(col);
}
