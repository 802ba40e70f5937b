/* converted.c -- integers that are multiplied as floats: a layer of quantised
 * numbers whose zero points and scales are floats, and bytes beside floats. All
 * sums are exact. */
#include <stdint.h>
#include <stdio.h>

enum { ROWS = 19, INPUTS = 37, OUTPUTS = 21 };

static uint8_t x[ROWS * INPUTS], w[OUTPUTS * INPUTS], y[ROWS * OUTPUTS];
static int8_t weight[INPUTS * OUTPUTS];
static float f[ROWS * INPUTS], out[ROWS * OUTPUTS];

static int clamped(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

__attribute__((noinline)) static void
layer(int rows, uint8_t *to, const float *zero, const float *scale) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < OUTPUTS; j++) {
      float sum = 0;
      for (int k = 0; k < INPUTS; k++)
        sum += ((float)x[i * INPUTS + k] - zero[0]) * scale[0] *
               (((float)w[j * INPUTS + k] - zero[1]) * scale[1]);
      to[i * OUTPUTS + j] = (uint8_t)clamped((int)(sum / 16) + 128);
    }
}

__attribute__((noinline)) static void beside(float *to, const float *from) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < OUTPUTS; j++) {
      float sum = 0;
      for (int k = 0; k < INPUTS; k++)
        sum += from[i * INPUTS + k] * weight[k * OUTPUTS + j];
      to[i * OUTPUTS + j] = sum;
    }
}

int main(void) {
  const float zero[] = {3, 130}, scale[] = {0.5f, 0.25f};
  uint32_t sum = 0;
  for (int i = 0; i < ROWS * INPUTS; i++) {
    x[i] = (uint8_t)(i * 37 % 11);
    f[i] = (float)(i % 13 - 6);
  }
  for (int i = 0; i < OUTPUTS * INPUTS; i++) {
    w[i] = (uint8_t)(i % 7 + 127);
    weight[i] = (int8_t)(i % 5 ? i * 29 : -128);
  }
  layer(ROWS, y, zero, scale);
  for (int i = 0; i < ROWS * OUTPUTS; i++)
    sum = sum * 31 + y[i];
  printf("layer %08x\n", sum);
  beside(out, f);
  for (int i = 0; i < ROWS * OUTPUTS; i++)
    sum = sum * 31 + (uint32_t)(int)out[i];
  printf("beside %08x\n", sum);
}
