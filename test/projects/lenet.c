/* lenet.c -- LeNet-5 learns four images, and says how its weights change. */
#include <stddef.h>
#include <stdio.h>

#include "lenet.h"

enum { IMAGES = 4, WEIGHTS = offsetof(LeNet5, bias0_1) / sizeof(double) };
static LeNet5 net;
static image images[IMAGES];
static uint8 labels[IMAGES];

int main(void) {
  double *weight = (double *)&net;
  for (int i = 0; i < WEIGHTS; i++)
    weight[i] = (double)(i * 7 % 31 - 15) / 200;
  for (int i = 0; i < IMAGES; i++) {
    labels[i] = (uint8)(i * 3);
    for (int y = 0; y < 28; y++)
      for (int x = 0; x < 28; x++)
        images[i][y][x] = (uint8)((x * (i + 2) + y * y) % 256);
  }
  TrainBatch(&net, images, labels, IMAGES);
  for (int i = 0; i < WEIGHTS; i += 97)
    printf("%.3f%c", weight[i], i / 97 % 16 == 15 ? '\n' : ' ');
  for (int i = 0; i < IMAGES; i++)
    printf(" %d", Predict(&net, images[i], 10));
  printf("\n");
  return 0;
}
