// Nests that write several arrays are split where no part of the work touches
// what the other writes, and the products among them are taken.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 146
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(bias_beside_weights) {
  I // expected-remark {{replaced by a call: mk,kn->mn}}
    L {
      int32_t d = A[i * K + k];
      side[i] += d;
      J C[i * N + j] += d * B[k * N + j];
    }
  look(C);
}
INT_FORM(bias_if_there) {
  int32_t *bias = N & 1 ? side : NULL;
  I // expected-remark {{replaced by a call: mk,kn->mn}}
    L {
      int32_t d = A[i * K + k];
      if (bias)
        bias[i] += d;
      J C[i * N + j] += d * B[k * N + j];
    }
  look(C);
}
INT_FORM(two_products) {
  I J { // expected-remark 2 {{replaced by a call}}
    C[i * N + j] = 0;
    other[i * N + j] = 3;
    L {
      C[i * N + j] += AB;
      other[i * N + j] += B[i * K + k] * A[k * N + j];
    }
  }
  look(C);
}
static int32_t third[64 * 64];
INT_FORM(three_products) { // each of which may come out of the rest
  I L { // expected-remark 3 {{replaced by a call}}
    J {
      C[i * N + j] += AB;
      other[i * N + j] += A[i * 64 + k] * B[k * 64 + j];
      third[i * 64 + j] += B[i * K + k] * A[k * N + j];
    }
    side[i] += A[i * K + k];
  }
  for (int i = 0; i < 64 * 64; i++)
    other[i] = other[i] * 7 + third[i];
  memset(third, 0, sizeof third);
  look(C);
}
INT_FORM(rest_reads_itself) { // where sums are half made
  I L J { // expected-remark {{replaced by a call: mk,kn->mn}} expected-remark {{kept}}
    C[i * N + j] += AB;
    other[i * N + j] += A[i * 64 + k] * B[k * 64 + j];
    third[i * 64 + j] ^= other[i * N + j];
  }
  for (int i = 0; i < 64 * 64; i++)
    other[i] = other[i] * 7 + third[i];
  memset(third, 0, sizeof third);
  look(C);
}
// The gradient of a convolution's input, whose elements several iterations add
// to, stays beside the bias's; that of the filters is taken.
INT_FORM(gradients_of_a_convolution) {
  if (M > 0 && N > 0 && K > 0 && N * K <= 32)
    I // expected-remark {{replaced by a call: mk,nkp->mnp}} expected-remark {{kept}}
      for (int y = 0; y < 32; y++) {
        int32_t d = A[i * 32 + y];
        J L {
          other[j * 64 + y + k] += B[(i * N + j) * K + k] * d;
          C[(i * N + j) * K + k] += B[j * 64 + y + k] * d;
        }
        side[i] += d;
      }
  look(C);
}
INT_FORM(elements_beside) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    other[i * N + j] = A[j] * B[i] - 7;
    L C[i * N + j] += AB;
  }
  look(C);
}
INT_FORM(counted_where_large) {
  I J L { // expected-remark {{replaced by a call: mk,kn->mn}}
    C[i * N + j] += AB;
    if (A[i * K + k] > B[k])
      side[k]++;
  }
  look(C);
}
static int counter;
INT_FORM(counts_too) {
  I J L { // expected-remark {{replaced by a call: mk,kn->mn}}
    C[i * N + j] += AB;
    counter++;
  }
  C[0] += counter;
  counter = 0;
}
INT_FORM(last_of_row) { // a value that is used behind the nest
  int32_t last = 0;
  I { // expected-remark {{replaced by a call: mk,kn->mn}}
    L {
      side[i] += A[i * K + k];
      last = last * 3 + A[i * K + k];
      J C[i * N + j] += AB;
    }
  }
  side[0] += last;
  look(C);
}
INT_FORM(may_meet_the_result) { // the two are one array for N = 31 and 9
  int32_t *to = N == 31 ? C + 5 : N == 9 ? C + 17 * 9 - 1 : other;
  I // expected-remark {{replaced by a call: mk,kn->mn}}
    L {
      to[i] += A[i * K + k];
      J C[i * N + j] += AB;
    }
  look(C);
}
INT_FORM(may_meet_an_input) {
  int8_t *to = N == 31 ? (int8_t *)(uintptr_t)A : bytes;
  int8_t old[64];
  memcpy(old, A, 64);
  I // expected-remark {{replaced by a call: mk,kn->mn}}
    L {
      to[i] += 3;
      J C[i * N + j] += AB;
    }
  memcpy((int8_t *)(uintptr_t)A, old, 64);
  look(C);
}

// What is used behind the nest is computed by the rest.

INT_FORM(sum_of_all) {
  int32_t sum = 0;
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    L C[i * 64 + j] += AB;
    sum += C[i * 64 + j];
  }
  C[64 * 64 - 1] = sum;
}
INT_FORM(largest_of_all) {
  int32_t most = 0, at = 0;
  I { // expected-remark {{replaced by a call: mk,kn->mn}}
    L J C[i * 64 + j] += AB;
    J if (C[i * 64 + j] > most) most = C[i * 64 + j], at = i * 64 + j;
  }
  C[64 * 64 - 1] = most + at;
}

// Both are sums as long as their row, or over a triangle, where they stand
// alone.

INT_FORM(causal_queries_and_keys) {
  if (M < 60 && N > 0 && N <= 64)
    I // expected-remark 2 {{replaced by a call}}
      for (int t = 0; t <= i; t++)
        J {
          C[i * 64 + j] += A[t * 64 + j] * B[i * 64 + t];
          other[t * 64 + j] += B[i * 64 + j] * A[i * 64 + t];
        }
  look(C);
}
INT_FORM(causal_scores_and_values) {
  if (M < 60 && N > 0 && N <= 64)
    I // expected-remark 2 {{replaced by a call}}
      for (int t = 0; t <= i; t++)
        J {
          C[i * 64 + t] += A[t * 64 + j] * B[i * 64 + j];
          other[t * 64 + j] += B[i * 64 + j] * A[i * 64 + t];
        }
  look(C);
}

// What is read of the other part belongs to the same row or element.

INT_FORM(reads_the_product) {
  I J { // expected-remark {{replaced by a call}}
    L C[i * N + j] += AB;
    side[j] += C[i * N + j];
  }
  look(C);
}
INT_FORM(row_sums_behind) {
  I { // expected-remark {{replaced by a call}}
    L J C[i * 64 + j] += AB;
    J side[i] += C[i * 64 + j];
  }
  look(C);
}
INT_FORM(largest_behind) {
  I { // expected-remark {{replaced by a call}}
    J C[i * 64 + j] = 0;
    L J C[i * 64 + j] += AB;
    int32_t most = C[i * 64];
    J if (C[i * 64 + j] > most) most = C[i * 64 + j];
    side[i] = most;
  }
  look(C);
}
INT_FORM(row_in_front) {
  I { // expected-remark {{replaced by a call}}
    L other[i * 64 + k] = A[i * K + k] + 1;
    J {
      int32_t s = 0;
      L s += other[i * 64 + k] * B[k * N + j];
      C[i * N + j] = s;
    }
  }
  look(C);
}
INT_FORM(rows_may_meet) { // those of `other` do for K = 13
  I { // expected-remark {{replaced by a call}}
    L other[i * 8 + k] = A[i * K + k] + 1;
    J {
      int32_t s = 0;
      L s += other[i * 8 + k] * B[k * N + j];
      C[i * N + j] = s;
    }
  }
  look(C);
}

// ---- near misses ----

INT_FORM(product_reads_it) {
  I { // expected-remark {{kept}}
    L bytes[k] = A[i * K + k] + 1;
    J L C[i * N + j] += bytes[k] * B[k * N + j];
  }
  look(C);
}
INT_FORM(reads_the_row_before) {
  for (int i = 1; i < M; i++) { // expected-remark {{kept}}
    L J C[i * 64 + j] += AB;
    J side[i] += C[(i - 1) * 64 + j];
  }
  look(C);
}
INT_FORM(reads_the_next_row) {
  I { // expected-remark {{kept}}
    L J C[i * 64 + j] += AB;
    J side[i] += C[(i + 1) * 64 + j];
  }
  look(C);
}
INT_FORM(divides_if_asked) { // not in front of the nest
  size_t n = (size_t)N, by = (size_t)(K % 5);
  I { // expected-remark {{kept}}
    L J C[i * N + j] += AB;
    if (A[i * K] > 0 && by)
      side[n / by / 2] += i;
  }
  look(C);
}
INT_FORM(reads_a_column) {
  I { // expected-remark {{kept}}
    L J C[i * 64 + j] += AB;
    J side[i] += C[j * 64 + i];
  }
  look(C);
}
INT_FORM(reads_the_neighbour) {
  I for (int j = 1; j < N; j++) { // expected-remark {{kept}}
    L C[i * 64 + j] += AB;
    side[j] += C[i * 64 + j - 1];
  }
  look(C);
}
INT_FORM(sums_half_made) { // what is used behind it counts them
  int32_t count = 0;
  I L J { // expected-remark {{kept}}
    C[i * 64 + j] += AB;
    count += C[i * 64 + j] > 40;
  }
  C[64 * 64 - 1] = count;
}
INT_FORM(sum_of_what_was_there) {
  int32_t sum = 0;
  I J { // expected-remark {{kept}}
    sum += C[i * 64 + j];
    L C[i * 64 + j] += AB;
  }
  C[64 * 64 - 1] = sum;
}
INT_FORM(sum_of_the_row_before) {
  int32_t sum = 0;
  for (int i = 1; i < M; i++) { // expected-remark {{kept}}
    L J C[i * 64 + j] += AB;
    J sum += C[(i - 1) * 64 + j];
  }
  C[64 * 64 - 1] = sum;
}
INT_FORM(decides_how_much) {
  int32_t sum = 0;
  I { // expected-remark {{kept}}
    L J if (sum < 1000) C[i * 64 + j] += AB;
    J sum += C[i * 64 + j];
  }
  C[64 * 64 - 1] = sum;
}
INT_FORM(keys_read_queries) { // which later rows change
  if (M < 60 && N > 0 && N <= 64)
    I
      for (int t = 0; t <= i; t++) // expected-remark {{kept}}
        J {
          C[i * 64 + j] += A[t * 64 + j] * B[i * 64 + t];
          other[t * 64 + j] += C[i * 64 + j] * A[i * 64 + t];
        }
  look(C);
}
INT_FORM(one_row_for_all) { // a buffer that each row fills
  I { // expected-remark {{kept}}
    L other[k] = A[i * K + k] + 1;
    J {
      int32_t s = 0;
      L s += other[k] * B[k * N + j];
      C[i * N + j] = s;
    }
  }
  look(C);
}
INT_FORM(decides_what_is_read) { // the condition reads what is written
  I J L { // expected-remark {{kept}}
    if (side[0] < 40)
      C[i * N + j] += AB;
    side[0]++;
  }
  look(C);
}
INT_FORM(writes_anywhere) {
  I J L { // expected-remark {{NonAffineIndex}}
    C[i * N + j] += AB;
    side[(i * i + k) & 63]++;
  }
  look(C);
}
INT_FORM(same_array) {
  I // expected-remark {{kept}}
    L {
      C[64 * 62 + i] += A[i * K + k];
      J C[i * N + j] += AB;
    }
}
INT_FORM(volatile_beside) {
  I // expected-remark {{kept}}
    L {
      *(volatile int32_t *)&side[i] += A[i * K + k];
      J C[i * N + j] += AB;
    }
  look(C);
}
INT_FORM(calls_beside) {
  I // expected-remark {{kept}}
    L {
      side[i] += A[i * K + k];
      count();
      J C[i * N + j] += AB;
    }
  look(C);
}
INT_FORM(leaves_early) {
  I // expected-remark {{kept}}
    L {
      if (side[i] > 100)
        goto out;
      side[i] += A[i * K + k];
      J C[i * N + j] += AB;
    }
out:
  look(C);
}
