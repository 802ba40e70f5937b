// Arrays that only the nest has: accumulators of rows and blocks, and copies.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 43
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define a A[i * K + k]
#define b B[k * N + j]
#define c C[i * N + j]

INT_FORM(row) {
  int32_t row[64];
  I { // expected-remark {{mk,kn->mn}}
    J row[j] = 0;
    L J row[j] += a * b;
    J c = row[j];
  }
}
INT_FORM(row_of_variable_length) {
  I { // expected-remark {{mk,kn->mn}}
    int32_t row[N < 0 ? 1 : N + 1];
    J row[j] = B[j];
    L J row[j] += a * b;
    J c = row[j] > 0 ? row[j] : 0;
  }
}
INT_FORM(row_from_result) {
  I { // expected-remark {{mk,kn->mn}}
    int32_t row[64];
    J row[j] = c;
    L J row[j] += a * b;
    J c = 3 * row[j];
  }
}
// Eight rows at a time, as in language models written in C.
INT_FORM(eight_rows) { // with B and without it
  M &= ~7;
  for (int o = 0; o < M; o += 8) // expected-remark 2 {{->}}
    J {
      int32_t result[8];
      for (int i = 0; i < 8; i++)
        result[i] = B ? B[j] : 0;
      L {
        int8_t w = B[k * N + j];
        for (int i = 0; i < 8; i++)
          result[i] += A[(o + i) * K + k] * w;
      }
      for (int i = 0; i < 8; i++)
        C[(o + i) * N + j] = result[i];
    }
}
INT_FORM(eight_rows_of_variable_length) {
  const int unroll = 8;
  M &= ~7;
  for (int o = 0; o < M; o += unroll) // expected-remark {{->}}
    J {
      int32_t result[unroll];
      for (int i = 0; i < unroll; i++)
        result[i] = 0;
      L for (int i = 0; i < unroll; i++) result[i] +=
          A[(o + i) * K + k] * B[k * N + j];
      for (int i = 0; i < unroll; i++)
        C[(o + i) * N + j] = result[i];
    }
}
INT_FORM(block) {
  M &= ~15, N &= ~15;
  for (int y = 0; y < M; y += 16) // expected-remark {{->}}
    for (int x = 0; x < N; x += 16) {
      int32_t block[16][16] = {{0}};
      L for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++)
          block[i][j] += A[(y + i) * K + k] * B[k * N + x + j];
      for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
          C[(y + i) * N + x + j] = block[i][j];
    }
}
INT_FORM(column_copied) {
  J { // expected-remark {{mk,kn->mn}}
    int8_t column[64];
    L column[k] = b;
    I {
      int32_t s = 0;
      L s += a * column[k];
      c = s;
    }
  }
}
INT_FORM(matrix_transposed) {
  for (int n = 0; n < 2; n++) { // expected-remark {{->}}
    int8_t turned[64][64];
    J L turned[j][k] = B[(n * K + k) * N + j];
    I J {
      int32_t s = 0;
      L s += a * turned[j][k];
      C[(n * M + i) * N + j] = s;
    }
  }
}
INT_FORM(widened_copy) { // with a zero point
  J { // expected-remark {{km,nk->nm}}
    int16_t column[64];
    L column[k] = (int16_t)(b + 5);
    I {
      int32_t s = 0;
      L s += a * column[k];
      c = s;
    }
  }
}

// ---- near misses ----

INT_FORM(used_after) {
  int32_t row[64];
  memset(row, 0, sizeof row);
  I { // expected-remark {{ExtraStore}}
    J row[j] = 0;
    L J row[j] += a * b;
    J c = row[j];
  }
  C[0] += row[3];
}
INT_FORM(carried_over) { // from row to row
  int32_t row[64];
  for (int n = 0; n < 2; n++) { // expected-remark {{carried from one iteration}}
    J row[j] = 0;
    I {
      L J row[j] += a * b;
      J C[(n * M + i) * N + j] = row[j];
    }
  }
}
INT_FORM(read_before_set) {
  I { // expected-remark {{not its result}}
    int32_t row[64] = {0};
    for (int k = 0; k < K; k++)
      for (int j = 0; j < N; j++)
        row[j + 1] += a * b;
    J c = row[j];
  }
}
INT_FORM(one_for_all) { // all columns share an element
  I { // expected-remark {{AxisRoles}}
    int32_t row[64] = {0};
    L J row[0 * j] += a * b;
    J c = row[0];
  }
}
INT_FORM(neighbours) { // elements that two iterations share
  I { // expected-remark {{more memory than its result}}
    int32_t row[64] = {0};
    L for (int j = 0; j < 7; j++) for (int x = 0; x < 2; x++)
        row[j + x] += a * B[k * 16 + 2 * j + x];
    for (int j = 0; j < 7; j++)
      for (int x = 0; x < 2; x++)
        C[(i * 8 + j) * 2 + x] = row[j + x];
  }
}
INT_FORM(backwards) { // set in another order than stored
  I { // expected-remark {{OppositeDirections}}
    int32_t row[64];
    J row[j] = 0;
    L J row[j] += a * b;
    J c = row[N - 1 - j];
  }
}
INT_FORM(shorter) { // fewer elements are set than stored
  I { // expected-remark {{different ways}}
    int32_t row[64] = {0};
    L for (int j = 0; j < N - 1; j++) row[j] += a * b;
    J c = row[j];
  }
}
INT_FORM(copy_changes) { // while it is used
  J { // expected-remark {{filled in the loop that reads it}}
    int8_t column[64];
    L column[k] = b;
    I {
      int32_t s = 0;
      L {
        s += a * column[k];
        column[k] += 1;
      }
      c = s;
    }
  }
}
INT_FORM(copy_of_other_column) { // filled behind the sum
  int8_t column[64];
  memset(column, 1, sizeof column);
  J { // expected-remark {{ExtraStore}}
    I {
      int32_t s = 0;
      L s += a * column[k];
      c = s;
    }
    L column[k] = b;
  }
}
INT_FORM(narrow_copy) { // it cuts what is copied
  J { // expected-remark {{carried from one iteration}}
    int8_t column[64];
    L column[k] = (int8_t)(b * 3 + k);
    I {
      int32_t s = 0;
      L s += a * column[k];
      c = s;
    }
  }
}
static void look(int32_t *x) { __asm__ volatile("" : : "r"(x) : "memory"); }
INT_FORM(seen_by_others) {
  I { // expected-remark {{SideEffect}}
    int32_t row[64];
    J row[j] = 0;
    L J row[j] += a * b;
    look(row);
    J c = row[j];
  }
}
