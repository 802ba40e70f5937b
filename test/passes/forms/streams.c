// A stream of which the program has made memory of its own may be an input.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// DONE: 0
#define _GNU_SOURCE
#include "forms.h"

#include <stdio.h>

INT_FORM(stream_is_an_input) {
  if (M < 1 || N < 1 || K < 1) return;
  FILE *f = fmemopen((void *)A, 64, "w");
  if (!f) return;
  setvbuf(f, NULL, _IONBF, 0);
  for (int i = 0; i < M; i++) // expected-remark {{kept [SideEffect]: the nest calls}}
    for (int j = 0; j < N; j++) {
      int32_t s = 0;
      for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
      C[i * N + j] = s;
      fputc(s & 3, f);
    }
  fclose(f);
}
