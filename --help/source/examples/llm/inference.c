/* inference.c -- the loop of a small language model that writes 32 texts at
 * once, a token each per step: attention's projections in bf16, the feed-forward
 * part quantised to bytes.  Its weights are random, so is what it writes; the
 * shapes and the order of the work are those of a real one.
 *
 * Every product over the batch is a plain nest that the plugin takes.  Attention
 * itself is a product of a vector and a matrix per text, and stays. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
  BATCH = 32,
  WIDTH = 64,
  HIDDEN = 128,
  LAYERS = 2,
  STEPS = 3,
  TOKENS = 64
};

typedef uint16_t bf16; /* the upper half of a float */

static inline float widen(bf16 h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static bf16 narrow(float f) { /* to nearest, ties to even */
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct layer {
  bf16 query[WIDTH][WIDTH], key[WIDTH][WIDTH], value[WIDTH][WIDTH],
      output[WIDTH][WIDTH];
  int8_t up[WIDTH][HIDDEN], down[HIDDEN][WIDTH];
};

static struct layer layer[LAYERS];
static bf16 embedding[TOKENS][WIDTH], head[WIDTH][TOKENS];
static float key_of[LAYERS][STEPS][BATCH][WIDTH];
static float value_of[LAYERS][STEPS][BATCH][WIDTH];

/* out = x * w, in bf16 with sums in float. */
static void project(bf16 x[BATCH][WIDTH], bf16 w[WIDTH][WIDTH],
                    float out[restrict BATCH][WIDTH]) {
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < WIDTH; j++) {
      float sum = 0;
      for (int k = 0; k < WIDTH; k++)
        sum += widen(x[b][k]) * widen(w[k][j]);
      out[b][j] = sum;
    }
}

/* x / rms(x), rounded to what the next product takes. */
static void normalise(float x[BATCH][WIDTH], bf16 out[BATCH][WIDTH]) {
  for (int b = 0; b < BATCH; b++) {
    float squares = 0;
    for (int i = 0; i < WIDTH; i++)
      squares += x[b][i] * x[b][i];
    for (int i = 0; i < WIDTH; i++)
      out[b][i] = narrow(x[b][i] / sqrtf(squares / WIDTH + 1e-5f));
  }
}

/* Each text looks back at what it has written. */
static void attend(int l, int step, float query[BATCH][WIDTH],
                   bf16 out[BATCH][WIDTH]) {
  for (int b = 0; b < BATCH; b++) {
    float weight[STEPS], sum = 0;
    for (int s = 0; s <= step; s++) {
      float score = 0;
      for (int i = 0; i < WIDTH; i++)
        score += query[b][i] * key_of[l][s][b][i];
      sum += weight[s] = expf(score / 8);
    }
    for (int i = 0; i < WIDTH; i++) {
      float mixed = 0;
      for (int s = 0; s <= step; s++)
        mixed += weight[s] * value_of[l][s][b][i];
      out[b][i] = narrow(mixed / sum);
    }
  }
}

/* Bytes times bytes, 32-bit sums, twice, with a ReLU and a shift between. */
static void feed_forward(const struct layer *l, bf16 x[BATCH][WIDTH],
                         float onto[BATCH][WIDTH]) {
  static int8_t in[BATCH][WIDTH], hidden[BATCH][HIDDEN];
  static int32_t wide[BATCH][HIDDEN], sum[BATCH][WIDTH];
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < WIDTH; i++) {
      float f = widen(x[b][i]) * 32;
      in[b][i] = (int8_t)(f > 127 ? 127 : f < -128 ? -128 : f);
    }
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < HIDDEN; j++) {
      int32_t s = 0;
      for (int k = 0; k < WIDTH; k++)
        s += in[b][k] * l->up[k][j];
      wide[b][j] = s;
    }
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < HIDDEN; j++) {
      int32_t v = wide[b][j] >> 8;
      hidden[b][j] = (int8_t)(v > 127 ? 127 : v < 0 ? 0 : v);
    }
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < WIDTH; j++) {
      int32_t s = 0;
      for (int k = 0; k < HIDDEN; k++)
        s += hidden[b][k] * l->down[k][j];
      sum[b][j] = s;
    }
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < WIDTH; j++)
      onto[b][j] += (float)sum[b][j] / 65536;
}

static void run_layer(int l, int step, float x[BATCH][WIDTH]) {
  static bf16 normal[BATCH][WIDTH], mixed[BATCH][WIDTH];
  static float query[BATCH][WIDTH], more[BATCH][WIDTH];
  normalise(x, normal);
  project(normal, layer[l].query, query);
  project(normal, layer[l].key, key_of[l][step]);
  project(normal, layer[l].value, value_of[l][step]);
  attend(l, step, query, mixed);
  project(mixed, layer[l].output, more);
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < WIDTH; i++)
      x[b][i] += more[b][i];
  normalise(x, normal);
  feed_forward(&layer[l], normal, x);
}

/* The token that the head finds most likely. */
static void choose(float x[BATCH][WIDTH], int token[BATCH]) {
  static bf16 normal[BATCH][WIDTH];
  static float score[BATCH][TOKENS];
  normalise(x, normal);
  for (int b = 0; b < BATCH; b++)
    for (int t = 0; t < TOKENS; t++) {
      float sum = 0;
      for (int k = 0; k < WIDTH; k++)
        sum += widen(normal[b][k]) * widen(head[k][t]);
      score[b][t] = sum;
    }
  for (int b = 0; b < BATCH; b++) {
    token[b] = 0;
    for (int t = 1; t < TOKENS; t++)
      if (score[b][t] > score[b][token[b]])
        token[b] = t;
  }
}

/* ---- weights ---- */

static uint32_t state = 1;
static int random_byte(void) {
  state = state * 1664525 + 1013904223;
  return (int8_t)(state >> 24);
}
static void fill(bf16 *w, int count) {
  for (int i = 0; i < count; i++)
    w[i] = narrow((float)random_byte() / 512);
}
static void fill_bytes(int8_t *w, int count) {
  for (int i = 0; i < count; i++)
    w[i] = (int8_t)random_byte();
}

int main(void) {
  static float x[BATCH][WIDTH];
  int token[BATCH];
  for (int l = 0; l < LAYERS; l++) {
    fill(layer[l].query[0], WIDTH * WIDTH);
    fill(layer[l].key[0], WIDTH * WIDTH);
    fill(layer[l].value[0], WIDTH * WIDTH);
    fill(layer[l].output[0], WIDTH * WIDTH);
    fill_bytes(layer[l].up[0], WIDTH * HIDDEN);
    fill_bytes(layer[l].down[0], HIDDEN * WIDTH);
  }
  fill(embedding[0], TOKENS * WIDTH);
  fill(head[0], WIDTH * TOKENS);
  for (int b = 0; b < BATCH; b++)
    token[b] = b * 7 % TOKENS;
  for (int step = 0; step < STEPS; step++) {
    for (int b = 0; b < BATCH; b++)
      for (int i = 0; i < WIDTH; i++)
        x[b][i] = widen(embedding[token[b]][i]);
    for (int l = 0; l < LAYERS; l++)
      run_layer(l, step, x);
    choose(x, token);
    printf("step %d:", step);
    for (int b = 0; b < BATCH; b++)
      printf(" %d", token[b]);
    printf("\n");
  }
  return 0;
}
