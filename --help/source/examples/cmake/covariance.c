/* covariance.c -- X^T X of 16-bit samples: one input, read twice. */
#include <stdint.h>
#include <stdio.h>

enum { SAMPLES = 256, SENSORS = 64 };
static int16_t x[SAMPLES][SENSORS];
static int32_t covariance[SENSORS][SENSORS];

int main(void) {
  for (int s = 0; s < SAMPLES; s++)
    for (int i = 0; i < SENSORS; i++)
      x[s][i] = (int16_t)((s * 37 + i * i * 11) % 201 - 100);

  for (int i = 0; i < SENSORS; i++)
    for (int j = 0; j < SENSORS; j++)
      for (int s = 0; s < SAMPLES; s++)
        covariance[i][j] += x[s][i] * x[s][j];

  uint32_t hash = 0;
  for (int i = 0; i < SENSORS; i++)
    for (int j = 0; j < SENSORS; j++)
      hash = hash * 31 + (uint32_t)covariance[i][j];
  printf("hash %08x\n", (unsigned)hash);
  return 0;
}
