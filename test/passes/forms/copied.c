// Convolutions by way of im2col: what is copied into a buffer for a product is
// read where it was copied from, and the copy is left out where the call is
// made.  The product is offered for itself, too, behind the copy.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 331
#include "forms.h"
#include <stdlib.h>

// K channels of H rows and W columns, N filters of 3 rows and 2 columns, or R
// rows and Q columns.
#define SIZES                                                                  \
  int H = (M & 3) + 4, W = (M & 1) + 5, R = 2 + (N & 1), Q = 3 - (N & 1);      \
  (void)H, (void)W, (void)R, (void)Q;
#define EACH(i, n) for (int i = 0; i < n; i++)
#define INSIDE(y, x) (y >= 0 && y < H && x >= 0 && x < W)

// out[N][Y * X] of col[K * R * Q][Y * X].
#define PRODUCT(rows, columns)                                                 \
  EACH(m, N)                                                                   \
  EACH(n, columns) {                                                           \
    int32_t s = 0;                                                             \
    EACH(k, rows) s += B[m * (rows) + k] * col[k * (columns) + n];             \
    C[m * (columns) + n] = s;                                                  \
  }

INT_FORM(padded) {
  SIZES
  int Y = H + 2 - R + 1, X = W + 2 - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * columns));
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1;
    col[((c * R + r) * Q + q) * columns + y * X + x] =
        INSIDE(yy, xx) ? A[(c * H + yy) * W + xx] : 0;
  }
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}} expected-remark {{a call that reads what is copied for it: mklu,nklpu->mnp}}
  free(col);
}
INT_FORM(unpadded_with_stride) {
  SIZES
  int Y = (H - R) / 2 + 1, X = (W - Q) / 2 + 1, rows = K * R * Q;
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * Y * X));
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
    col[(((c * R + r) * Q + q) * Y + y) * X + x] =
        A[(c * H + 2 * y + r) * W + 2 * x + q];
  PRODUCT(rows, Y * X) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
INT_FORM(channels_last) { // and the result transposed
  SIZES
  int Y = H + 2 - R + 1, X = W + 2 - Q + 1, rows = K * R * Q;
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * Y * X));
  EACH(y, Y) EACH(x, X) EACH(r, R) EACH(q, Q) EACH(c, K) {
    int yy = y + r - 1, xx = x + q - 1;
    col[(y * X + x) * rows + (r * Q + q) * K + c] =
        INSIDE(yy, xx) ? A[(yy * W + xx) * K + c] : 0;
  }
  EACH(n, Y * X) EACH(m, N) { // expected-remark {{mk,nk->mn}} expected-remark {{reads what is copied}}
    int32_t s = 0;
    EACH(k, rows) s += B[m * rows + k] * col[n * rows + k];
    C[n * N + m] = s;
  }
  free(col);
}
INT_FORM(stored_by_if) {
  SIZES
  int Y = H + 2 - R + 1, X = W + 2 - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * columns));
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1, at = (c * R + r) * Q + q;
    if (yy < 0 || yy >= H || xx < 0 || xx >= W)
      col[at * columns + y * X + x] = 0;
    else
      col[at * columns + y * X + x] = A[(c * H + yy) * W + xx];
  }
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
INT_FORM(in_memory) { // the sums stay in the result, in another order
  int8_t col[13 * 6 * 20];
  if (K > 13)
    return;
  EACH(c, K) EACH(r, 3) EACH(q, 2) EACH(y, 4) EACH(x, 5)
    col[((c * 3 + r) * 2 + q) * 20 + y * 5 + x] = A[(c * 6 + y + r) * 6 + x + q];
  EACH(m, N) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    EACH(n, 20) C[m * 20 + n] = 7;
    EACH(k, K * 6) EACH(n, 20)
      C[m * 20 + n] += B[m * K * 6 + k] * col[k * 20 + n];
  }
}
INT_FORM(batch) { // each image by a call of its own
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * columns));
  EACH(b, 2) {
    const int8_t *in = A + b * 600;
    EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
      col[(((c * R + r) * Q + q) * Y + y) * X + x] =
          in[(c * H + y + r) * W + x + q];
    int32_t *out = C + b * 1600;
    EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
      int32_t s = 0;
      EACH(k, rows) s += B[m * rows + k] * col[k * columns + n];
      out[m * columns + n] = s;
    }
  }
  free(col);
}
INT_FORM(groups) { // of 2 channels and 3 filters each
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = 2 * R * Q, columns = Y * X;
  int8_t *col = malloc((size_t)(rows * columns));
  EACH(g, 3) {
    EACH(c, 2) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
      col[(((c * R + r) * Q + q) * Y + y) * X + x] =
          A[((g * 2 + c) * H + y + r) * W + x + q];
    EACH(m, 3) EACH(n, columns) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
      int32_t s = 0;
      EACH(k, rows) s += B[(g * 3 + m) * rows + k] * col[k * columns + n];
      C[(g * 3 + m) * columns + n] = s;
    }
  }
  free(col);
}
static int8_t fixed[13 * 6 * 20];
INT_FORM(in_module) {
  if (K > 13)
    return;
  EACH(c, K) EACH(r, 3) EACH(q, 2) EACH(y, 4) EACH(x, 5)
    fixed[((c * 3 + r) * 2 + q) * 20 + y * 5 + x] =
        A[(c * 6 + y + r) * 6 + x + q];
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, K * 6) s += B[m * K * 6 + k] * fixed[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
static int8_t constant[4 * 6 * 20];
INT_FORM(in_module_of_known_size) {
  EACH(c, 4) EACH(r, 3) EACH(q, 2) EACH(y, 4) EACH(x, 5)
    constant[((c * 3 + r) * 2 + q) * 20 + y * 5 + x] =
        A[(c * 6 + y + r) * 6 + x + q];
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    int32_t s = 0;
    EACH(k, 24) s += B[m * 24 + k] * constant[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
INT_FORM(longer_rows) { // of the buffer than what is used of them
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;
  int length = columns + (N & 7);
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * length));
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
    col[((c * R + r) * Q + q) * length + y * X + x] =
        A[(c * H + y + r) * W + x + q];
  EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    int32_t s = 0;
    EACH(k, rows) s += B[m * rows + k] * col[k * length + n];
    C[m * columns + n] = s;
  }
  free(col);
}
BF16_FORM(floats) {
  SIZES
  int Y = H + 2 - R + 1, X = W + 2 - Q + 1, rows = K * R * Q, columns = Y * X;
  __bf16 *col = malloc(sizeof *col * (size_t)(K < 0 ? 0 : rows * columns));
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X) {
    int yy = y + r - 1, xx = x + q - 1;
    col[((c * R + r) * Q + q) * columns + y * X + x] =
        INSIDE(yy, xx) ? A[(c * H + yy) * W + xx] : (__bf16)0.0f;
  }
  EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    float s = 0;
    EACH(k, rows)
      s += (float)B[m * rows + k] * (float)col[k * columns + n];
    C[m * columns + n] = s;
  }
  free(col);
}

INT_FORM(overwrites_itself) { // rows of the buffer overlap, which is asked
  int8_t col[13 * 6 * 20 + 64];
  if (K > 13)
    return;
  EACH(c, K) EACH(r, 3) EACH(q, 2) EACH(y, 4) EACH(x, 5)
    col[((c * 3 + r) * 2 + q) * 19 + y * 5 + x] = A[(c * 6 + y + r) * 6 + x + q];
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
    int32_t s = 0;
    EACH(k, K * 6) s += B[m * K * 6 + k] * col[k * 19 + n];
    C[m * 20 + n] = s;
  }
}

// ---- near misses: the product is taken, behind the copy ----

#define COPY                                                                   \
  SIZES                                                                        \
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;         \
  int8_t *col = calloc((size_t)(K < 0 ? 0 : rows * columns) + 1, 1);           \
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)                       \
    col[(((c * R + r) * Q + q) * Y + y) * X + x] =                             \
        A[(c * H + y + r) * W + x + q];

INT_FORM(zeroed_before) { // is filled all the same
  COPY
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
INT_FORM(read_elsewhere) {
  COPY
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}}
  C[4000] = col[0] + col[rows < 1 ? 0 : rows * columns - 1];
  free(col);
}
INT_FORM(written_again) {
  COPY
  col[0] = 5;
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}}
  free(col);
}
INT_FORM(image_changes) {
  COPY
  ((int8_t *)A)[3] = 99;
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}}
  free(col);
}
INT_FORM(result_is_cleared) { // which may be the image
  COPY
  EACH(n, N * columns) C[n] = 1;
  EACH(m, N) EACH(n, columns) // expected-remark {{mk,kn->mn}}
    EACH(k, rows) C[m * columns + n] += B[m * rows + k] * col[k * columns + n];
  free(col);
}
static int8_t *volatile seen;
static int again = 1;
static int8_t kept[4 * 6 * 20];
static const int8_t pixels[4 * 36 + 4] = {1, 2, -3, 4, 5, [40] = 6, 7, 8, 9};
INT_FORM(in_module_again) { // a call between the copy and the product copies
  const int8_t *in = pixels + (M & 3);
  EACH(c, 4) EACH(r, 3) EACH(q, 2) EACH(y, 4) EACH(x, 5)
    kept[((c * 3 + r) * 2 + q) * 20 + y * 5 + x] =
        in[(c * 6 + y + r) * 6 + x + q];
  if (again) {
    again = 0;
    in_module_again(M + 1, N, K, C + 2048, A, B);
    again = 1;
  }
  EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, 24) s += B[m * 24 + k] * kept[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
INT_FORM(escapes) {
  COPY
  seen = col;
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}}
  free(col);
}
INT_FORM(incomplete) { // without the first channel, which stays zero
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = calloc((size_t)(K < 0 ? 0 : rows * columns) + 1, 1);
  for (int c = 1; c < K; c++)
    EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
      col[(((c * R + r) * Q + q) * Y + y) * X + x] =
          A[(c * H + y + r) * W + x + q];
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}}
  free(col);
}
INT_FORM(other_sizes) { // more is read than was filled, if N is not 8: asked
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * (N == 8 ? R : R + 1) * Q;
  int columns = Y * X;
  int8_t *col = calloc((size_t)(K < 0 ? 0 : rows * columns) + 1, 1);
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
    col[(((c * R + r) * Q + q) * Y + y) * X + x] =
        A[(c * H + y + r) * W + x + q];
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied}}
  free(col);
}
INT_FORM(transposed_sizes) { // rows of the copy are none of the product
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = calloc((size_t)(K < 0 ? 0 : rows * columns) + 1, 1);
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
    col[(((c * R + r) * Q + q) * Y + y) * X + x] =
        A[(c * H + y + r) * W + x + q];
  EACH(m, N) EACH(n, columns) { // expected-remark {{mk,nk->mn}}
    int32_t s = 0;
    EACH(k, rows) s += B[m * rows + k] * col[n * rows + k];
    C[m * columns + n] = s;
  }
  free(col);
}
INT_FORM(sometimes) { // the copy of the image before stays where there is none
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = calloc((size_t)(K < 0 ? 0 : rows * columns) + 1, 1);
  EACH(b, 2) {
    if (b == (N & 1))
      EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
        col[(((c * R + r) * Q + q) * Y + y) * X + x] =
            A[b * 600 + (c * H + y + r) * W + x + q];
    int32_t *out = C + b * 1600;
    EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}}
      int32_t s = 0;
      EACH(k, rows) s += B[m * rows + k] * col[k * columns + n];
      out[m * columns + n] = s;
    }
  }
  free(col);
}
INT_FORM(sizes_change) { // the second product finds more than its copy left
  int8_t *col = calloc(13 * 6 * 20 + 1, 1);
  EACH(b, 2) {
    int channels = b == 0 || N == 4 ? K : K / 2, rows = (N == 4 ? channels : K) * 6;
    if (K > 13)
      continue;
    EACH(c, channels) EACH(r, 3) EACH(q, 2) EACH(y, 4) EACH(x, 5)
      col[((c * 3 + r) * 2 + q) * 20 + y * 5 + x] =
          A[b * 600 + (c * 6 + y + r) * 6 + x + q];
    int32_t *out = C + b * 1600;
    EACH(m, N) EACH(n, 20) { // expected-remark {{mk,kn->mn}}
      int32_t s = 0;
      EACH(k, rows) s += B[m * rows + k] * col[k * 20 + n];
      out[m * 20 + n] = s;
    }
  }
  free(col);
}
INT_FORM(as_weights_too) { // for some sizes
  COPY
  const int8_t *weights = N == 4 ? col : B;
  EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, rows)
      s += weights[m + k] * col[k * columns + n];
    C[m * columns + n] = s;
  }
  free(col);
}
static int8_t stale[13 * 6 * 20];
INT_FORM(in_module_of_negative_sizes) { // of which the product is positive
  int R = K < 0 ? -2 : 3, rows = K * R * 2;
  if (K > 13)
    return;
  EACH(c, K) EACH(r, R) EACH(q, 2) EACH(y, 4) EACH(x, 5)
    stale[((c * R + r) * 2 + q) * 20 + y * 5 + x] =
        A[(c * 6 + y + r) * 6 + x + q];
  EACH(m, (N & 3) + 1) EACH(n, 20) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, rows) s += B[m * rows + k] * stale[k * 20 + n];
    C[m * 20 + n] = s;
  }
}
INT_FORM(shifted) { // by one element
  COPY
  EACH(m, N) EACH(n, columns) { // expected-remark {{mk,kn->mn}}
    int32_t s = 0;
    EACH(k, rows) s += B[m * rows + k] * col[k * columns + n + 1];
    C[m * columns + n] = s;
  }
  free(col);
}
INT_FORM(by_pointer) { // that steps on, as in Caffe
  SIZES
  int Y = H - R + 1, X = W - Q + 1, rows = K * R * Q, columns = Y * X;
  int8_t *col = malloc((size_t)(K < 0 ? 0 : rows * columns)), *to = col;
  EACH(c, K) EACH(r, R) EACH(q, Q) EACH(y, Y) EACH(x, X)
    *to++ = A[(c * H + y + r) * W + x + q];
  PRODUCT(rows, columns) // expected-remark {{mk,kn->mn}}
  free(col);
}
