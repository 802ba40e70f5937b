/* im2col_blas.c -- convolutions whose copy is one loop over the rows of a
 * buffer, or leaves the margin to calloc, and whose product is BLAS's
 * (blas_reference.c), by image and group.  Tensors end where memory ends.
 *
 *     im2col_blas ROWS COLUMNS CHANNELS FILTERS SIZE STRIDE PAD IMAGES GROUPS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { Row = 101, No = 111 };
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int,
                 const float *, int, float, float *, int);

static float *at_the_end(long count) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 4 * (size_t)count;
  size_t all = (bytes + page - 1) / page * page + 2 * page;
  char *p = mmap(NULL, all, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) ||
      mprotect(p + all - page, page, PROT_NONE))
    exit(1);
  return (float *)(void *)(p + all - page - bytes);
}

static uint32_t seed = 1;
static float *numbers(long count) {
  float *p = at_the_end(count);
  for (long i = 0; i < count; i++)
    p[i] = (float)((int)((seed = seed * 1664525 + 1013904223) >> 16) % 9 - 4);
  return p;
}

struct shape {
  int rows, columns, channels, filters, size, stride, pad, images, groups;
};

static float pixel(const float *in, const struct shape *s, int channel, int y,
                   int x) {
  y -= s->pad;
  x -= s->pad;
  if (y < 0 || x < 0 || y >= s->rows || x >= s->columns)
    return 0;
  return in[x + s->columns * (y + s->rows * channel)];
}

#define OUT(n) ((s.n + 2 * s.pad - s.size) / s.stride + 1)

__attribute__((noinline)) static void
by_rows(const float *in, const float *w, float *out, const struct shape *from) {
  struct shape s = *from;
  int high = OUT(rows), wide = OUT(columns), channels = s.channels / s.groups;
  int filters = s.filters / s.groups, columns = high * wide;
  int rows = channels * s.size * s.size;
  float *col = malloc(sizeof *col * (size_t)rows * (size_t)columns);
  for (int i = 0; i < s.images; i++)
    for (int g = 0; g < s.groups; g++) {
      const float *im = in + (i * s.groups + g) * channels * s.rows * s.columns;
      for (int r = 0; r < rows; r++) {
        int u = r % s.size, v = r / s.size % s.size, c = r / s.size / s.size;
        for (int y = 0; y < high; y++)
          for (int x = 0; x < wide; x++)
            col[(r * high + y) * wide + x] =
                pixel(im, &s, c, y * s.stride + v, x * s.stride + u);
      }
      cblas_sgemm(Row, No, No, filters, columns, rows, 1,
                  w + g * filters * rows, rows, col, columns, 0,
                  out + (i * s.groups + g) * filters * columns, columns);
    }
  free(col);
}

__attribute__((noinline)) static void
inside(const float *in, const float *w, float *out, const struct shape *from) {
  struct shape s = *from;
  int high = OUT(rows), wide = OUT(columns), columns = high * wide;
  int rows = s.channels * s.size * s.size;
  float *col = calloc((size_t)rows * (size_t)columns, sizeof *col);
  for (int i = 0; i < s.images; i++) {
    const float *im = in + i * s.channels * s.rows * s.columns;
    for (int c = 0; c < s.channels; c++)
      for (int v = 0; v < s.size; v++)
        for (int u = 0; u < s.size; u++)
          for (int y = 0; y < high; y++)
            for (int x = 0; x < wide; x++) {
              int yy = y * s.stride + v - s.pad, xx = x * s.stride + u - s.pad;
              int r = (c * s.size + v) * s.size + u;
              if (yy >= 0 && yy < s.rows && xx >= 0 && xx < s.columns)
                col[(r * high + y) * wide + x] =
                    im[(c * s.rows + yy) * s.columns + xx];
            }
    cblas_sgemm(Row, No, No, s.filters, columns, rows, 1, w, rows, col, columns,
                0, out + i * s.filters * columns, columns);
  }
  free(col);
}

static void print(const char *name, const float *out, long count) {
  uint64_t h = 14695981039346656037u;
  for (long i = 0; i < count; i++)
    h = (h ^ (uint64_t)(int64_t)out[i]) * 1099511628211u;
  printf("%s %016llx\n", name, (unsigned long long)h);
}

int main(int argc, char **argv) {
  int v[9];
  if (argc != 10)
    return 2;
  for (int i = 0; i < 9; i++)
    v[i] = atoi(argv[i + 1]);
  struct shape s;
  memcpy(&s, v, sizeof s);
  long outs = (long)s.images * s.filters * OUT(rows) * OUT(columns);
  float *in = numbers((long)s.images * s.channels * s.rows * s.columns);
  float *all = numbers((long)s.filters * s.channels * s.size * s.size);
  float *part = numbers((long)s.filters * (s.channels / s.groups) * s.size *
                        s.size);
  float *out = at_the_end(outs);
  by_rows(in, part, out, &s);
  print("by_rows", out, outs);
  inside(in, all, out, &s);
  print("inside", out, outs);
}
