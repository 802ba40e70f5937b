// A convolution by way of im2col in functions of its own, which are inlined:
// the product was offered there already.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
#include <stdlib.h>

static int get_pixel(const signed char *im, int height, int width, int row,
                     int col, int channel, int pad) {
  row -= pad;
  col -= pad;
  if (row < 0 || col < 0 || row >= height || col >= width)
    return 0;
  return im[col + width * (row + height * channel)];
}

static void im2col(const signed char *im, int channels, int height, int width,
                   int ksize, int stride, int pad, signed char *col) {
  int height_col = (height + 2 * pad - ksize) / stride + 1;
  int width_col = (width + 2 * pad - ksize) / stride + 1;
  for (int c = 0; c < channels; ++c)
    for (int v = 0; v < ksize; ++v)
      for (int u = 0; u < ksize; ++u)
        for (int h = 0; h < height_col; ++h)
          for (int w = 0; w < width_col; ++w) {
            int row = (c * ksize + v) * ksize + u;
            col[(row * height_col + h) * width_col + w] =
                (signed char)get_pixel(im, height, width, v + h * stride,
                                       u + w * stride, c, pad);
          }
}

static void gemm(int M, int N, int K, const signed char *A,
                 const signed char *B, int *C) {
  for (int i = 0; i < M; ++i) // expected-remark {{mk,kn->mn}} expected-remark {{reads what is copied for it}}
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        C[i * N + j] += A[i * K + k] * B[k * N + j];
}

void forward(const signed char *in, const signed char *weights, int *out,
             int images, int filters, int channels, int height, int width,
             int ksize, int stride, int pad) {
  int k = ksize * ksize * channels;
  int h = (height + 2 * pad - ksize) / stride + 1;
  int w = (width + 2 * pad - ksize) / stride + 1;
  signed char *col = malloc((size_t)k * (size_t)(h * w));
  for (int i = 0; i < images; ++i) {
    im2col(in + i * channels * height * width, channels, height, width, ksize,
           stride, pad, col);
    gemm(filters, h * w, k, weights, col, out + i * filters * h * w);
  }
  free(col);
}
