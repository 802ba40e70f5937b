// A function whose only product no call takes, floats for one, has it taken for
// the processor also where the nest is split first, whatever part of it is one.
// RUN: env NPUTEIR_OPTIONS=cpu=on %verify -O1 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on %verify -O3 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -O2 -ffast-math %s -o %t && %t > %t.with
// RUN: %plain -O2 -ffast-math %s -o %t && %t > %t.without
// RUN: diff %t.with %t.without
#include <stdio.h>

typedef const float *restrict in;
typedef float *restrict out;
#define I for (int i = 0; i < m; i++)
#define J for (int j = 0; j < n; j++)
#define K for (int k = 0; k < m; k++)
#define FORM(name)                                                             \
  __attribute__((noinline)) static void name(int m, int n, in a, in b, in z,   \
                                             out c)

FORM(masked) {
  I J { // expected-remark {{code for the processor: mk,kn->mn}}
    float s = 0;
    K if (z[i * m + k] > 0) s += a[i * m + k] * b[k * n + j];
    c[i * n + j] = s;
  }
}
FORM(made) {
  I J { // expected-remark {{code for the processor: mk,kn->mn}}
    float s = 0;
    K s += (z[i * m + k] > 0 ? z[i * m + k] : 1) * b[k * n + j];
    c[i * n + j] = s;
  }
}
FORM(slope) {
  I J { // expected-remark {{code for the processor: mk,kn->mn}}
    float s = 0;
    K s += a[i * m + k] * z[i * m + k] * (1 - z[i * m + k]) * b[k * n + j];
    c[i * n + j] = s;
  }
}
FORM(three) {
  I J { // expected-remark {{code for the processor: mk,kn->mn}}
    float s = 0;
    K s += a[i * m + k] * z[k] * b[k * n + j];
    c[i * n + j] = s;
  }
}
FORM(two) {
  I J K // expected-remark 2{{code for the processor}}
    c[i * n + j] += a[i * m + k] * b[k * n + j] + z[i * m + k] * b[j * m + k];
}
FORM(symmetric) {
  I J { // expected-remark 2{{code for the processor}}
    float s = 0;
    for (int k = 0; k < i; k++) {
      c[k * n + j] += b[i * n + j] * a[i * m + k];
      s += b[k * n + j] * a[i * m + k];
    }
    c[i * n + j] += b[i * n + j] * a[i * m + i] + s;
  }
}
FORM(solve) {
  K { // expected-remark {{code for the processor}}
    J c[k * n + j] -= z[k];
    for (int i = k + 1; i < m; i++)
      J c[i * n + j] -= a[i * m + k] * c[k * n + j];
  }
}

enum { MOST = 96 };
static float a[MOST * MOST], b[MOST * MOST], z[MOST * MOST], c[MOST * MOST];

__attribute__((noinline)) static unsigned hashOf(int count) {
  unsigned hash = 0;
  for (int i = 0; i < count; i++)
    hash = hash * 31 + (unsigned)(int)c[i];
  return hash;
}

int main(void) {
  void (*const form[])(int, int, in, in, in, out) = {
      masked, made, slope, three, two, symmetric, solve};
  const int size[][2] = {{5, 7}, {33, 18}, {96, 70}};
  for (unsigned f = 0; f < sizeof form / sizeof *form; f++)
    for (unsigned s = 0; s < sizeof size / sizeof *size; s++) {
      int m = size[s][0], n = size[s][1];
      for (int i = 0; i < MOST * MOST; i++) {
        a[i] = form[f] == solve ? (float)(i % 97 == 0) : (float)(i % 7 - 3);
        b[i] = (float)(i % 5 - 2), z[i] = (float)(i % 3 - 1), c[i] = 1;
      }
      form[f](m, n, a, b, z, c);
      printf("form %u %dx%d: %u\n", f, m, n, hashOf(m * n));
    }
}
