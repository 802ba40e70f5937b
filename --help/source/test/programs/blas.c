/* blas.c -- calls of BLAS: layouts, transpositions, alpha and beta, old
 * contents that are no numbers, and calls that must reach the library.
 * blas_reference.c is the library. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Row = 101, Column = 102, No = 111, Yes = 112 };
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int,
                 const float *, int, float, float *, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int,
                 const double *, int, double, double *, int);
void cblas_sbgemm(int, int, int, int, int, int, float, const uint16_t *, int,
                  const uint16_t *, int, float, float *, int);
void cblas_gemm_s8u8s32(int, int, int, int, int, int, int, float, const void *,
                        int, int8_t, const void *, int, int8_t, float,
                        int32_t *, int, const int32_t *);
void sbgemm_(const char *, const char *, const int *, const int *, const int *,
             const float *, const uint16_t *, const int *, const uint16_t *,
             const int *, const float *, float *, const int *);
#define ROUNDED __attribute__((noinline, annotate("nputeir:f32=bf16")))

enum { LD = 96, AREA = LD * LD };
static uint16_t a16[AREA], b16[AREA];
static float a32[AREA], b32[AREA], c32[AREA];
static double a64[AREA], b64[AREA], c64[AREA];
static int32_t integers[AREA];

static float small(int i, int seed) {
  return (float)((i * 37 + seed) % 13 - 6);
}
static uint16_t half_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)(bits >> 16);
}
static void fill(void) {
  for (int i = 0; i < AREA; i++) {
    a64[i] = a32[i] = small(i, 3);
    b64[i] = b32[i] = small(i, 8);
    c64[i] = c32[i] = small(i, 5);
    a16[i] = half_of(a32[i]);
    b16[i] = half_of(b32[i]);
    integers[i] = i % 101;
  }
}
static void print(const char *what) {
  uint64_t hash = 0;
  for (int i = 0; i < AREA; i++)
    hash = hash * 31 + (uint64_t)(int64_t)(4 * c32[i]) +
           (uint64_t)(int64_t)(4 * c64[i]) * 7 + (uint32_t)integers[i];
  printf("%s %016llx\n", what, (unsigned long long)hash);
}

/* Every way to lay the three matrices out. */
__attribute__((noinline)) static void layouts(int m, int n, int k) {
  cblas_sbgemm(Row, No, No, m, n, k, 1, a16, LD, b16, LD, 0, c32, LD);
  print("row, A B");
  cblas_sbgemm(Row, Yes, No, m, n, k, 1, a16, LD, b16, LD, 1, c32, LD);
  print("row, A' B");
  cblas_sbgemm(Row, No, Yes, m, n, k, 1, a16, LD, b16, LD, 1, c32, LD);
  print("row, A B'");
  cblas_sbgemm(Column, Yes, Yes, m, n, k, 1, a16, LD, b16, LD, 1, c32, LD);
  print("column, A' B'");
  cblas_sbgemm(Column, No, No, m, n, k, 1, a16, LD, b16, LD, 0, c32, LD);
  print("column, A B");
}
__attribute__((noinline)) static void scaled(int m, int n, int k, float alpha,
                                             float beta) {
  cblas_sbgemm(Row, No, No, m, n, k, alpha, a16, LD, b16, LD, beta, c32, LD);
}
__attribute__((noinline)) static void scaled_fortran(int m, int n, int k,
                                                     float alpha, float beta) {
  const char turned = 'T';
  int ld = LD;
  sbgemm_("N", &turned, &m, &n, &k, &alpha, a16, &ld, b16, &ld, &beta, c32,
          &ld);
}
ROUNDED static void floats(int m, int n, int k, float alpha) {
  cblas_sgemm(Row, No, Yes, m, n, k, alpha, a32, LD, b32, LD, 0.5f, c32, LD);
}
ROUNDED static void doubles(int m, int n, int k, double beta) {
  cblas_dgemm(Column, No, Yes, m, n, k, -1, a64, LD, b64, LD, beta, c64, LD);
}
__attribute__((noinline)) static void bytes(int m, int n, int k) {
  int32_t zero = 0;
  cblas_gemm_s8u8s32(Column, No, No, 173, m, n, k, 1, a16, LD, 0, b16, LD, 0, 1,
                     integers, LD, &zero);
}
/* The library refuses a line that is longer than the distance to the next. */
__attribute__((noinline)) static void short_lines(int m, int n, int k, int ld) {
  cblas_sbgemm(Row, No, No, m, n, k, 1, a16, ld, b16, LD, 0, c32, LD);
}
__attribute__((noinline)) static void in_place(int m, int n, int k) {
  cblas_sbgemm(Row, No, No, m, n, k, 1, (uint16_t *)c32 + 1, LD, b16, LD, 1,
               c32, LD);
}

int main(int count, char **word) {
  if (count != 4)
    return 2;
  int m = atoi(word[1]), n = atoi(word[2]), k = atoi(word[3]);
  fill();
  layouts(m, n, k);
  scaled(m, n, k, 0.5f, -2);
  print("alpha and beta");
  scaled_fortran(m, n, k, 2, 0.25f);
  print("alpha and beta by pointer");
  floats(m, n, k, 3);
  print("floats");
  doubles(m, n, k, 2);
  print("doubles");
  bytes(m, n, k);
  print("integers");
  memset(c32, 0xff, sizeof c32); /* not a number */
  scaled(m, n, k, 1, 0);
  for (int i = 0; i < AREA; i++)
    if (memcmp(&c32[i], "\xff\xff\xff\xff", 4) == 0)
      c32[i] = 1;
  print("beta is zero");
  scaled(m, n, k, 0, 2);
  print("alpha is zero");
  scaled(m, n, 0, 1, 2);
  print("no sum");
  scaled(0, n, k, 1, 2);
  scaled(m, -1, k, 1, 2);
  print("no result");
  short_lines(m, n, k, k - 1);
  print("short lines");
  in_place(m, n, k);
  print("in place");
  return 0;
}
