// A convolution with margins is computed by code for the processor, whatever
// lies beside its input: what is beyond the edges is not read.  Where the result
// overlaps the input, the loop runs.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -fno-builtin-malloc %s -o %t
// RUN: %t | FileCheck %s
#include <stdio.h>
#include <stdlib.h>

// The code takes its buffers from here, the loop takes none.
static _Alignas(64) char heap[1 << 20];
static int buffers;
void *malloc(size_t n) {
  buffers++;
  return n <= sizeof heap ? heap : NULL;
}
void free(void *p) { (void)p; }

enum { H = 10, W = 12, C = 8, K = 16 };
__attribute__((noinline)) static void
convolve(int *out, const short *in, const short *w, int h, int width) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < width; x++)
      for (int k = 0; k < K; k++) {
        int s = 0;
        for (int r = 0; r < 3; r++)
          for (int q = 0; q < 3; q++)
            for (int c = 0; c < C; c++) {
              int yy = y + r - 1, xx = x + q - 1;
              if (yy >= 0 && yy < h && xx >= 0 && xx < width)
                s += in[(yy * width + xx) * C + c] * w[((r * 3 + q) * C + c) * K + k];
            }
        out[(y * width + x) * K + k] = s;
      }
}

static struct {
  int before[H * W * K];
  short in[H * W * C];
  int behind[H * W * K];
} all;
static short w[9 * C * K];

static void try(const char *name, int *out) {
  buffers = 0;
  convolve(out, all.in, w, H, W);
  printf("%s %d\n", name, buffers);
}

int main(void) {
  setvbuf(stdout, (char[512]){0}, _IOFBF, 512);
  try("before", all.before); // CHECK: before 1
  try("behind", all.behind); // CHECK: behind 1
  try("overlaps", all.before + 2); // CHECK: overlaps 0
  try("within", all.behind - 2); // CHECK: within 0
}
