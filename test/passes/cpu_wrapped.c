// Columns that begin with a number without a sign that is below zero in some
// rows: these have none.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 %s -o %t && %t > %t.with
// RUN: %plain -O2 %s -o %t && %t > %t.without
// RUN: diff %t.with %t.without
#include <stddef.h>
#include <stdio.h>

enum { LD = 320, AHEAD = 200 * LD, ALL = 500 * LD };
#define NEST(name)                                                             \
  __attribute__((noinline)) static void name(                                  \
      size_t n, size_t m, size_t p, const int *restrict a,                     \
      const int *restrict b, int *restrict c)
#define I for (size_t i = 0; i < n; i++)
#define K for (size_t k = 0; k < 40; k++)
#define ENDS for (size_t j = m - 1 - i; j < m; j++)
#define AFTER for (size_t j = i - p; j < m; j++)
#define FROM for (size_t j = p; j < i; j++)
#define UNSIGNED for (unsigned j = (unsigned)(m - 1 - i); j < (unsigned)m; j++)
#define C c[i * LD + j]
#define AB a[i * LD + k] * b[j * LD + k]

// clang-format off
NEST(ends) { I ENDS { int s = 0; K s += AB; C = s; } } // expected-remark {{code for the processor: mk,nk->mn}}
NEST(after) { I AFTER { int s = 0; K s += AB; C = s; } } // expected-remark {{code for the processor: mk,nk->mn}}
NEST(from) { I FROM K C += AB; } // expected-remark {{code for the processor: mk,nk->mn}}
NEST(narrow) { I UNSIGNED { int s = 0; K s += AB; C = s; } } // expected-remark {{code for the processor: mk,nk->mn}}
// As many columns in each row.
NEST(band) { for (int i = 0; i < (long)n; i++) for (size_t j = i - 3; j < i; j++) K C += AB; } // expected-remark {{code for the processor: ck,cnk->cn}}
// By rectangles.
NEST(both) { I ENDS K C += AB + b[i * LD + k] * a[j * LD + k]; } // expected-remark 2 {{code for the processor: mk,nk->mn}}
NEST(sums) { I for (size_t k = 0; k < 40; k++) for (size_t j = m - 1 - i; j < m; j++) c[i * LD + k] += a[i * LD + j] * b[k * LD + j]; } // expected-remark {{code for the processor: mk,nk->mn}}
// clang-format on

static int a[ALL], b[ALL], c[ALL];

static void run(int f, size_t n, size_t m, size_t p) {
  static void (*const nests[])(size_t, size_t, size_t, const int *, const int *,
                               int *) = {ends, after, from, narrow,
                                         both, sums,  band};
  for (int i = 0; i < ALL; i++) {
    a[i] = i % 7 - 3;
    b[i] = i % 5 - 2;
    c[i] = i % 11;
  }
  nests[f](n, m, p, a + AHEAD, b + AHEAD, c + AHEAD);
  unsigned hash = 0;
  for (int i = 0; i < ALL; i++)
    hash = hash * 31 + (unsigned)c[i];
  printf("nest %d of %zu %zu: %u\n", f, n, m, hash);
}

int main(void) {
  for (int f = 0; f < 7; f++)
    for (size_t p = 0; p < 4; p++) {
      run(f, 90, 60, p);
      run(f, 60, 90, p);
      run(f, 80, 80, -p);
    }
  return 0;
}
