/* matrix.c -- products written with clang's matrix types: of whole matrices,
 * and tile by tile with the sum in a matrix or in memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __bf16 bf16_tile __attribute__((matrix_type(16, 16)));
typedef float f32_tile __attribute__((matrix_type(16, 16)));
typedef int8_t i8_wide __attribute__((matrix_type(8, 24)));
typedef int8_t i8_tall __attribute__((matrix_type(24, 16)));
typedef int32_t i32_flat __attribute__((matrix_type(8, 16)));
#define LOAD __builtin_matrix_column_major_load
#define STORE __builtin_matrix_column_major_store
#define TILES(x) for (long x = 0; x < n; x += 16)
#define FORM __attribute__((noinline)) void

FORM whole(const i8_wide *a, const i8_tall *b, i32_flat *c) {
  typedef int32_t wide __attribute__((matrix_type(8, 24)));
  typedef int32_t tall __attribute__((matrix_type(24, 16)));
  *c = (wide)*a * (tall)*b;
}
FORM transposed(const __bf16 *a, const __bf16 *b, float *c, long n) {
  bf16_tile x = LOAD((__bf16 *)a, 16, 16, n), y = LOAD((__bf16 *)b, 16, 16, n);
  f32_tile z = LOAD(c, 16, 16, n);
  z += (f32_tile)__builtin_matrix_transpose(x) * (f32_tile)y;
  STORE(z, c, n);
}
/* Kept: the old contents are not those of the places that are written. */
FORM turned(const __bf16 *a, const __bf16 *b, float *c, long n) {
  bf16_tile x = LOAD((__bf16 *)a, 16, 16, n), y = LOAD((__bf16 *)b, 16, 16, n);
  f32_tile z = LOAD(c, 16, 16, n);
  z += (f32_tile)x * (f32_tile)y;
  STORE(__builtin_matrix_transpose(z), c, n);
}
FORM sum_in_matrix(__bf16 *a, __bf16 *b, float *c, long n) {
  TILES(i) TILES(j) {
    f32_tile sum = LOAD(c + i + j * n, 16, 16, n);
    TILES(k)
    sum += (f32_tile)LOAD(a + i + k * n, 16, 16, n) *
           (f32_tile)LOAD(b + k + j * n, 16, 16, n);
    STORE(sum, c + i + j * n, n);
  }
}
FORM sum_in_memory(__bf16 *a, __bf16 *b, float *c, long n) {
  TILES(j) TILES(i) TILES(k) {
    f32_tile sum = LOAD(c + i + j * n, 16, 16, n);
    sum += (f32_tile)LOAD(a + i + k * n, 16, 16, n) *
           (f32_tile)LOAD(b + k + j * n, 16, 16, n);
    STORE(sum, c + i + j * n, n);
  }
}
FORM zeroed(__bf16 *a, __bf16 *b, float *c, f32_tile zero, long n) {
  TILES(i) TILES(j) {
    f32_tile sum = zero - zero;
    TILES(k)
    sum += (f32_tile)LOAD(a + i + k * n, 16, 16, n) *
           __builtin_matrix_transpose((f32_tile)LOAD(b + j + k * n, 16, 16, n));
    STORE(sum, c + i + j * n, n);
  }
}
FORM batch(const bf16_tile *a, const bf16_tile *b, f32_tile *c, long n) {
  for (long i = 0; i < n; i++)
    c[i] = (f32_tile)a[i] * (f32_tile)b[i];
}

/* Small integers, which bf16 holds exactly, as their upper halves in float. */
static void fill(__bf16 *to, long count, int seed) {
  for (long i = 0; i < count; i++) {
    float value = (float)((i * 37 + seed) % 13 - 6);
    memcpy(&to[i], (char *)&value + 2, 2);
  }
}
static void print(const char *what, const float *c, long count) {
  uint64_t hash = 0;
  for (long i = 0; i < count; i++)
    hash = hash * 31 + (uint64_t)(int64_t)c[i];
  printf("%s %016llx\n", what, (unsigned long long)hash);
}

int main(int count, char **word) {
  long n = count > 1 ? atol(word[1]) : 64;
  __bf16 *a = malloc((size_t)(n * n) * sizeof *a);
  __bf16 *b = malloc((size_t)(n * n) * sizeof *b);
  float *c = malloc((size_t)(n * n) * sizeof *c);
  fill(a, n * n, 5);
  fill(b, n * n, 7);
  for (long i = 0; i < n * n; i++)
    c[i] = (float)(i % 17);
  transposed(a, b, c, n);
  print("transposed", c, n * n);
  turned(a, b, c, n);
  print("turned", c, n * n);
  sum_in_matrix(a, b, c, n);
  print("sum in matrix", c, n * n);
  sum_in_memory(a, b, c, n);
  print("sum in memory", c, n * n);
  f32_tile zero;
  memset(&zero, 0, sizeof zero);
  zeroed(a, b, c, zero, n);
  print("zeroed", c, n * n);
  batch((bf16_tile *)a, (bf16_tile *)b, (f32_tile *)c, n * n / 256);
  print("batch", c, n * n);
  i32_flat z;
  whole((i8_wide *)a, (i8_tall *)b, &z);
  float flat[8 * 16];
  for (int i = 0; i < 8 * 16; i++)
    flat[i] = (float)z[i % 8][i / 8];
  print("whole", flat, 8 * 16);
  return 0;
}
