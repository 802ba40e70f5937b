// Of triangles in a batch that are parts of one nest, as in the gradient of
// attention, the nest as written is there once: what the loops of the batch and
// of the sums ask is asked at the branch to all parts.  So it is with few rows,
// which are done as one block, and with many.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -fno-vectorize -fno-unroll-loops -ffast-math -DNEST -S -emit-llvm %s -o %t.ll
// RUN: FileCheck %s <%t.ll
// RUN: FileCheck %s --check-prefix=STORES <%t.ll
// RUN: %plain -Wno-override-module -O2 -fno-vectorize -ffast-math %s %t.ll -lm -o %t && %t
// CHECK-LABEL: define {{.*}} @gradient(
// CHECK-COUNT-2: call {{.*}} @nputeir.nest.
// CHECK-NOT: call {{.*}} @nputeir.nest.
// CHECK: {{^}}}
// STORES-LABEL: define {{.*}} @gradient(
// STORES-COUNT-6: store float
// STORES-NOT: store float
// STORES: {{^}}}
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
void gradient(float *dq, float *dk, const float *q, const float *k,
              const float *p, int rows, int heads, int size);
#ifdef NEST
void gradient(float *dq, float *dk, const float *q, const float *k,
              const float *p, int rows, int heads, int size) {
  int width = heads * size;
  for (int t = 0; t < rows; t++)
    for (int h = 0; h < heads; h++)
      for (int u = 0; u <= t; u++)
        for (int i = 0; i < size; i++) {
          dq[t * width + h * size + i] +=
              k[u * width + h * size + i] * p[(h * rows + t) * rows + u];
          dk[u * width + h * size + i] +=
              q[t * width + h * size + i] * p[(h * rows + t) * rows + u];
        }
}
#else
enum { HEADS = 3, SIZE = 16, WIDTH = HEADS * SIZE, MOST = 100 };
static float k[MOST * WIDTH], q[MOST * WIDTH], p[HEADS * MOST * MOST];
static float dq[2][MOST * WIDTH], dk[2][MOST * WIDTH];

static int is_right(int rows) {
  for (int i = 0; i < MOST * WIDTH; i++)
    for (int j = 0; j < 2; j++)
      dq[j][i] = dk[j][i] = (float)(i % 7);
  gradient(dq[0], dk[0], q, k, p, rows, HEADS, SIZE);
  for (int h = 0; h < HEADS; h++)
    for (int t = 0; t < rows; t++)
      for (int u = 0; u <= t; u++)
        for (int i = h * SIZE; i < (h + 1) * SIZE; i++) {
          dq[1][t * WIDTH + i] +=
              k[u * WIDTH + i] * p[(h * rows + t) * rows + u];
          dk[1][u * WIDTH + i] +=
              q[t * WIDTH + i] * p[(h * rows + t) * rows + u];
        }
  for (int i = 0; i < MOST * WIDTH; i++)
    if (fabsf(dq[0][i] - dq[1][i]) > 1e-3f ||
        fabsf(dk[0][i] - dk[1][i]) > 1e-3f)
      return printf("%d rows: element %d\n", rows, i), 0;
  return 1;
}

int main(void) {
  for (int i = 0; i < MOST * WIDTH; i++) {
    q[i] = (float)(rand() % 9 - 4) / 8;
    k[i] = (float)(rand() % 9 - 4) / 8;
  }
  for (int i = 0; i < HEADS * MOST * MOST; i++)
    p[i] = (float)(rand() % 9 - 4) / 8;
  static const int rows[] = {0, 1, 5, 7, 8, 9, 31, 32, 33, 64, 100};
  for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
    if (!is_right(rows[i]))
      return 1;
  /* The gradients overlap: the order is that of the nest. */
  static float both[2][MOST * WIDTH];
  gradient(both[0], both[0] + 1, q, k, p, 40, HEADS, SIZE);
  for (int t = 0; t < 40; t++)
    for (int h = 0; h < HEADS; h++)
      for (int u = 0; u <= t; u++)
        for (int i = h * SIZE; i < (h + 1) * SIZE; i++) {
          both[1][t * WIDTH + i] += k[u * WIDTH + i] * p[(h * 40 + t) * 40 + u];
          both[1][u * WIDTH + i + 1] +=
              q[t * WIDTH + i] * p[(h * 40 + t) * 40 + u];
        }
  for (int i = 0; i < MOST * WIDTH; i++)
    if (fabsf(both[0][i] - both[1][i]) > 1e-3f)
      return puts("overlapping"), 1;
  return 0;
}
#endif
