/* im2col.c -- convolutions as frameworks write them: a function that copies the
 * image into columns, and a matrix product.  Images, weights and results end
 * where memory ends, so that nothing may be read or written beyond them.
 *
 *     im2col ROWS COLUMNS CHANNELS FILTERS SIZE STRIDE PAD IMAGES */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Plain clang calls this for __bf16, and the library of gcc 12 has it not. */
__attribute__((used)) __bf16 truncate_to_bf16(float f) __asm__("__truncsfbf2");
__bf16 truncate_to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  __bf16 result;
  memcpy(&result, &half, 2);
  return result;
}

/* Memory that ends where a page ends that nobody may touch. */
static void *at_the_end(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t all = (bytes + page - 1) / page * page + 2 * page;
  char *p = mmap(NULL, all, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) ||
      mprotect(p + all - page, page, PROT_NONE))
    exit(1);
  return p + all - page - bytes;
}

static uint32_t seed = 1;
static int next(void) {
  return (int)((seed = seed * 1664525 + 1013904223) >> 16) % 9 - 4;
}

struct shape {
  int rows, columns, channels, filters, size, stride, pad, images;
};
static int out_rows(const struct shape *s) {
  return (s->rows + 2 * s->pad - s->size) / s->stride + 1;
}
static int out_columns(const struct shape *s) {
  return (s->columns + 2 * s->pad - s->size) / s->stride + 1;
}

/* ---- channels first, in functions of their own ---- */

static void im2col(const float *im, int channels, int height, int width,
                   int ksize, int stride, float *col) {
  int height_col = (height - ksize) / stride + 1;
  int width_col = (width - ksize) / stride + 1;
  for (int c = 0; c < channels; ++c)
    for (int v = 0; v < ksize; ++v)
      for (int u = 0; u < ksize; ++u)
        for (int h = 0; h < height_col; ++h)
          for (int w = 0; w < width_col; ++w) {
            int row = (c * ksize + v) * ksize + u;
            col[(row * height_col + h) * width_col + w] =
                im[(c * height + v + h * stride) * width + u + w * stride];
          }
}

static void gemm(int M, int N, int K, const float *A, const float *B,
                 float *C) {
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) {
      float a = A[i * K + k];
      for (int j = 0; j < N; ++j)
        C[i * N + j] += a * B[k * N + j];
    }
}

__attribute__((noinline)) static void
forward_f32(const float *in, const float *weights, float *out, int images,
            int filters, int channels, int height, int width, int ksize,
            int stride) {
  int m = filters, k = ksize * ksize * channels;
  int h = (height - ksize) / stride + 1;
  int w = (width - ksize) / stride + 1, n = h * w;
  float *col = malloc(sizeof *col * (size_t)k * (size_t)n);
  for (int i = 0; i < images; ++i) {
    im2col(in + i * channels * height * width, channels, height, width, ksize,
           stride, col);
    gemm(m, n, k, weights, col, out + i * m * n);
  }
  free(col);
}

__attribute__((noinline)) static void
forward_bf16(const __bf16 *in, const __bf16 *weights, float *out,
             const struct shape *shape) {
  struct shape s = *shape;
  int h = out_rows(&s), w = out_columns(&s), k = s.channels * s.size * s.size;
  __bf16 *col = malloc(sizeof *col * (size_t)k * (size_t)(h * w));
  for (int i = 0; i < s.images; i++) {
    const __bf16 *im = in + i * s.channels * s.rows * s.columns;
    float *to = out + i * s.filters * h * w;
    for (int c = 0; c < s.channels; c++)
      for (int v = 0; v < s.size; v++)
        for (int u = 0; u < s.size; u++)
          for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
              int yy = y * s.stride + v - s.pad, xx = x * s.stride + u - s.pad;
              col[(((c * s.size + v) * s.size + u) * h + y) * w + x] =
                  yy < 0 || yy >= s.rows || xx < 0 || xx >= s.columns
                      ? (__bf16)0.0f
                      : im[(c * s.rows + yy) * s.columns + xx];
            }
    for (int m = 0; m < s.filters; m++)
      for (int n = 0; n < h * w; n++) {
        float sum = 0;
        for (int j = 0; j < k; j++)
          sum += (float)weights[m * k + j] * (float)col[j * (h * w) + n];
        to[m * (h * w) + n] = sum;
      }
  }
  free(col);
}

/* ---- channels last, as on small processors ---- */

__attribute__((noinline)) static void
forward_i8(const int8_t *in, const int8_t *weights, const int32_t *bias,
           int32_t *out, const struct shape *shape) {
  struct shape s = *shape;
  int h = out_rows(&s), w = out_columns(&s), k = s.size * s.size * s.channels;
  for (int i = 0; i < s.images; i++) {
    const int8_t *im = in + i * s.rows * s.columns * s.channels;
    int8_t *col = malloc((size_t)k * (size_t)(h * w));
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        for (int v = 0; v < s.size; v++)
          for (int u = 0; u < s.size; u++) {
            int yy = y * s.stride + v - s.pad, xx = x * s.stride + u - s.pad;
            for (int c = 0; c < s.channels; c++)
              col[(y * w + x) * k + (v * s.size + u) * s.channels + c] =
                  yy >= 0 && yy < s.rows && xx >= 0 && xx < s.columns
                      ? im[(yy * s.columns + xx) * s.channels + c]
                      : 0;
          }
    int32_t *to = out + i * h * w * s.filters;
    for (int n = 0; n < h * w; n++)
      for (int m = 0; m < s.filters; m++) {
        int32_t sum = bias[m];
        for (int j = 0; j < k; j++)
          sum += weights[m * k + j] * col[n * k + j];
        to[n * s.filters + m] = sum;
      }
    free(col);
  }
}

static void print(const char *name, const void *out, size_t bytes) {
  const unsigned char *p = out;
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ p[i]) * 1099511628211u;
  printf("%s %016llx\n", name, (unsigned long long)h);
}

int main(int argc, char **argv) {
  int v[8];
  if (argc != 9)
    return 2;
  for (int i = 0; i < 8; i++)
    v[i] = atoi(argv[i + 1]);
  struct shape s = {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
  size_t in = (size_t)(s.images * s.channels * s.rows * s.columns);
  size_t weights = (size_t)(s.filters * s.channels * s.size * s.size);
  size_t out = (size_t)(s.images * s.filters * out_rows(&s) * out_columns(&s));
  float *f = at_the_end(4 * in), *fw = at_the_end(4 * weights);
  float *fo = at_the_end(4 * out);
  __bf16 *b = at_the_end(2 * in), *bw = at_the_end(2 * weights);
  int8_t *c = at_the_end(in), *cw = at_the_end(weights);
  int32_t *bias = at_the_end(4 * (size_t)s.filters), *co = at_the_end(4 * out);
  for (size_t i = 0; i < in; i++) {
    f[i] = (float)next();
    uint32_t bits;
    memcpy(&bits, &f[i], 4);
    memcpy(&b[i], (uint16_t[]){(uint16_t)(bits >> 16)}, 2);
    c[i] = (int8_t)(31 * next());
  }
  for (size_t i = 0; i < weights; i++) {
    fw[i] = (float)next();
    uint32_t bits;
    memcpy(&bits, &fw[i], 4);
    memcpy(&bw[i], (uint16_t[]){(uint16_t)(bits >> 16)}, 2);
    cw[i] = (int8_t)(31 * next());
  }
  for (int i = 0; i < s.filters; i++)
    bias[i] = 1000 * next();
  memset(fo, 0, 4 * out);
  int high = s.rows + 2 * s.pad, wide = s.columns + 2 * s.pad;
  int images = s.images * s.channels;
  float *padded = at_the_end(4 * (size_t)(images * high * wide));
  for (int i = 0; i < images; i++)
    for (int y = 0; y < s.rows; y++)
      memcpy(padded + (i * high + y + s.pad) * wide + s.pad,
             f + (i * s.rows + y) * s.columns, 4 * (size_t)s.columns);
  forward_f32(padded, fw, fo, s.images, s.filters, s.channels, high, wide,
              s.size, s.stride);
  print("f32", fo, 4 * out);
  memset(fo, 0, 4 * out);
  forward_bf16(b, bw, fo, &s);
  for (size_t i = 0; i < out; i++)
    fo[i] += 0.0f; /* minus zero */
  print("bf16", fo, 4 * out);
  forward_i8(c, cw, bias, co, &s);
  print("i8", co, 4 * out);
}
