// A convolution by way of im2col in the manner of darknet, in functions of
// their own, which are inlined: the copy divides for channel, row and column of
// a filter, the product has distances between rows, and the sizes of both are
// written differently.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
#include <stdlib.h>

static signed char pixel(const signed char *in, int height, int width, int y,
                         int x, int channel, int pad) {
  y -= pad;
  x -= pad;
  if (y < 0 || x < 0 || y >= height || x >= width)
    return 0;
  return in[x + width * (y + height * channel)];
}

static void copy(const signed char *in, int channels, int height, int width,
                 int size, int stride, int pad, signed char *to) {
  int high = (height + 2 * pad - size) / stride + 1;
  int wide = (width + 2 * pad - size) / stride + 1;
  int rows = channels * size * size;
  for (int r = 0; r < rows; ++r) {
    int u = r % size, v = r / size % size, c = r / size / size;
    for (int y = 0; y < high; ++y)
      for (int x = 0; x < wide; ++x)
        to[(r * high + y) * wide + x] =
            pixel(in, height, width, v + y * stride, u + x * stride, c, pad);
  }
}

static void product(int m, int n, int k, const signed char *a, int lda,
                    const signed char *b, int ldb, int *c, int ldc) {
  for (int i = 0; i < m; ++i) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied for it: mklu,klnpu->mnp}}
    for (int l = 0; l < k; ++l) {
      int part = a[i * lda + l];
      for (int j = 0; j < n; ++j)
        c[i * ldc + j] += part * b[l * ldb + j];
    }
}

void forward(const signed char *in, const signed char *weights, int *out,
             int images, int groups, int filters, int channels, int height,
             int width, int size, int stride, int pad) {
  int m = filters / groups, k = size * size * channels / groups;
  int high = (height + 2 * pad - size) / stride + 1;
  int wide = (width + 2 * pad - size) / stride + 1, n = high * wide;
  signed char *col = malloc((size_t)k * (size_t)n);
  for (int i = 0; i < images; ++i)
    for (int g = 0; g < groups; ++g) {
      copy(in + (i * groups + g) * (channels / groups) * height * width,
           channels / groups, height, width, size, stride, pad, col);
      product(m, n, k, weights + g * m * k, k, col, n,
              out + (i * groups + g) * n * m, n);
    }
  free(col);
}
