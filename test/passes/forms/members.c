// Sizes and addresses in structs that pointers in other structs lead to, and
// such as are only read where a condition on the counters holds.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// RUN: %verify -O2 -fno-strict-aliasing %s
// DONE: 170
#include "forms.h"

struct image {
  int height, width, depth;
  const int8_t *data;
};
struct layer {
  const struct image *in;
  const struct layer *next;
  int height, width, depth, side, step, margin;
  const int8_t *weights;
  int32_t *out;
};
#define FUNCTION(name)                                                         \
  __attribute__((noinline)) static void name(const struct layer *l)

FUNCTION(multiply) {
  for (int i = 0; i < l->height; i++) // expected-remark {{mk,nk->mn}}
    for (int j = 0; j < l->depth; j++) {
      int s = 0;
      for (int k = 0; k < l->in->depth; k++)
        s += l->in->data[i * l->in->depth + k] *
             l->weights[j * l->in->depth + k];
      l->out[i * l->depth + j] = s;
    }
}
INT_FORM(behind_pointers) {
  struct image image = {M, 1, K, A};
  struct layer layer = {&image, NULL, M, 1, N, 1, 1, 0, B, C};
  multiply(&layer);
}
INT_FORM(behind_pointers_that_move) { // a near miss
  struct image image = {M, 1, K, A};
  const struct image *of[64];
  for (int i = 0; i < 64; i++)
    of[i] = &image;
  __asm__ volatile("" : : "r"(of) : "memory");
  for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++) {
      int s = 0;
      for (int k = 0; k < K; k++)
        s += A[i * of[k & 63]->depth + k] * B[j * K + k];
      C[i * N + j] = s;
    }
}

// Addresses are read inside of both conditions alone.
FUNCTION(convolve) {
  for (int o = 0; o < l->depth; o++) // expected-remark {{mklu,npklu->mnp}}
    for (int y = 0; y < l->height; y++)
      for (int x = 0; x < l->width; x++) {
        int s = 0, y0 = l->step * y - l->margin, x0 = l->step * x - l->margin;
        for (int c = 0; c < l->in->depth; c++)
          for (int v = 0; v < l->side; v++)
            if (y0 + v >= 0 && y0 + v < l->in->height)
              for (int u = 0; u < l->side; u++)
                if (x0 + u >= 0 && x0 + u < l->in->width)
                  s += l->in->data[(c * l->in->height + y0 + v) *
                                       l->in->width + x0 + u] *
                       l->weights[((o * l->in->depth + c) * l->side + v) *
                                      l->side + u];
        l->out[(o * l->height + y) * l->width + x] = s;
      }
}
#define CONVOLUTION(name, step, margin)                                        \
  INT_FORM(name) {                                                             \
    struct image image = {M, N, M * N > 1024 ? 1 : 3, A};                      \
    struct layer layer = {&image, NULL, M, N, 4, 3, step, margin, B, C};       \
    layer.height = (M + 2 * margin - 3) / step + 1;                            \
    layer.width = (N + 2 * margin - 3) / step + 1;                             \
    if (layer.height * layer.width <= 1024)                                    \
      convolve(&layer);                                                        \
  }
CONVOLUTION(convolution, 1, 1)
CONVOLUTION(convolution_without_margin, 1, 0)
CONVOLUTION(convolution_by_steps, 2, 1)
CONVOLUTION(convolution_of_margin_in_the_middle, 1, 20)

FUNCTION(continued) {
  for (int i = 0; i < l->height; i++) // expected-remark {{mkl,nkl->mn}}
    for (int j = 0; j < l->depth; j++) {
      int s = 0;
      for (int t = 0; t < 3; t++) {
        int at = i + t - l->margin;
        if (at < 0 || at >= l->next->height)
          continue;
        for (int k = 0; k < l->next->depth; k++)
          s += l->next->in->data[at * l->next->depth + k] *
               l->next->next->weights[(j * 3 + t) * l->next->depth + k];
      }
      l->out[i * l->depth + j] = s;
    }
}
INT_FORM(continues) {
  struct image image = {M, 1, K, A};
  struct layer last = {0}, next = {0}, layer = {0};
  last.weights = B;
  next.in = &image, next.height = M, next.depth = K, next.next = &last;
  layer.height = M, layer.depth = N, layer.margin = 1, layer.next = &next;
  layer.out = C;
  continued(&layer);
}
// All lies in the margin: what is not read need not be there.
INT_FORM(continues_always) {
  struct layer next = {0}, layer = {0};
  layer.height = M, layer.depth = N, layer.margin = -64, layer.next = &next;
  layer.out = C;
  next.height = M, next.depth = K;
  continued(&layer);
}

// What is read lies nearer to the result than that is long, in front of it.
struct maps {
  int8_t image[2][12][12], filter[2][4][3][3];
  int32_t map[4][10][10];
};
__attribute__((noinline)) static void convolve_maps(struct maps *m) {
  for (int c = 0; c < 2; c++) // expected-remark {{kmlu,knlpu->mnp}}
    for (int o = 0; o < 4; o++)
      for (int y = 0; y < 10; y++)
        for (int x = 0; x < 10; x++)
          for (int v = 0; v < 3; v++)
            for (int u = 0; u < 3; u++)
              m->map[o][y][x] += m->image[c][y + v][x + u] *
                                 m->filter[c][o][v][u];
}
INT_FORM(arrays_of_one_struct) {
  struct maps m;
  memcpy(m.image, A, sizeof m.image);
  memcpy(m.filter, B, sizeof m.filter);
  memcpy(m.map, C, sizeof m.map);
  convolve_maps(&m);
  memcpy(C, m.map, sizeof m.map);
}

// The same where the products are scattered.
struct gradients {
  int8_t error[4][16][16], filter[4][4][3][3];
  int32_t map[4][18][18];
};
__attribute__((noinline)) static void scatter(struct gradients *g) {
  for (int c = 0; c < 4; c++) // expected-remark {{mk,knp->mnp}}
    for (int o = 0; o < 4; o++)
      for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x++)
          for (int v = 0; v < 3; v++)
            for (int u = 0; u < 3; u++)
              g->map[c][y + v][x + u] += g->error[o][y][x] *
                                         g->filter[c][o][v][u];
}
INT_FORM(scattered_in_one_struct) {
  struct gradients g;
  memcpy(g.error, A, sizeof g.error);
  memcpy(g.filter, B, sizeof g.filter);
  memcpy(g.map, C, sizeof g.map);
  scatter(&g);
  memcpy(C, g.map, sizeof g.map);
}
struct shared { // near miss: an element is the one's and the other's
  int8_t error[4][16][16], filter[4][4][3][3];
  union {
    struct {
      int32_t before[4][18][18];
      int8_t last[4];
    };
    struct {
      int32_t front;
      int32_t map[4][18][18];
    };
  };
};
__attribute__((noinline)) static void scatter_shared(struct shared *g) {
  for (int c = 0; c < 4; c++) // expected-remark {{kept}}
    for (int o = 0; o < 4; o++)
      for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x++)
          for (int v = 0; v < 3; v++)
            for (int u = 0; u < 3; u++)
              g->map[c][y + v][x + u] += g->last[o] * g->filter[c][o][v][u];
}
INT_FORM(scattered_over_another) {
  struct shared g;
  memcpy(g.filter, B, sizeof g.filter);
  memcpy(g.before, C, sizeof g.before);
  memcpy(g.last, A, sizeof g.last);
  scatter_shared(&g);
  memcpy(C, g.map, sizeof g.map);
}
