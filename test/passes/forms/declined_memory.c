// The nest does more to memory, or other things to it, than a contraction.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 0
#include "forms.h"
#include <stdatomic.h>
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

static int counter;
static void tick(void) { __asm__ volatile("" : "+m"(counter)); }
__attribute__((noinline)) void count(void) { tick(); }

INT_FORM(volatile_a) {
  I J L C[i * N + j] += *(volatile const int8_t *)&A[i * K + k] * B[k * N + j]; // expected-remark {{VolatileOrAtomic}}
}
INT_FORM(volatile_c) {
  I J L *(volatile int32_t *)&C[i * N + j] += AB; // expected-remark {{VolatileOrAtomic}}
}
INT_FORM(atomic_c) {
  I J L atomic_fetch_add((_Atomic int32_t *)&C[i * N + j], AB); // expected-remark 0-1 {{kept}}
}
INT_FORM(calls) {
  I J L { // expected-remark {{calls count}}
    C[i * N + j] += AB;
    count();
  }
}
INT_FORM(calls_outside_inner) {
  I { // expected-remark {{kept}}
    count();
    J L C[i * N + j] += AB;
  }
}
static void (*volatile counter_of)(void) = count;
INT_FORM(calls_through_a_pointer) {
  void (*f)(void) = counter_of;
  I J L { // expected-remark {{calls a function through a pointer}}
    C[i * N + j] += AB;
    f();
  }
}
INT_FORM(assembly) {
  I J L { // expected-remark {{holds assembly}}
    C[i * N + j] += AB;
    __asm__ volatile("" : "+m"(counter));
  }
}
union number {
  int32_t integer;
  float real;
};
INT_FORM(read_as_another_type) {
  union number *c = (union number *)C;
  I J { // expected-remark {{written as f32, but read as i32}}
    int s = c[i * N + j].integer;
    L s += AB;
    c[i * N + j].real = (float)s;
  }
}
INT_FORM(second_store) {
  I J L { // expected-remark {{ExtraStore}}
    C[i * N + j] += AB;
    C[64 * 63] = k;
  }
}
INT_FORM(prefix_sums) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L {
      s += AB;
      C[i * N + j + k] = s;
    }
  }
}
INT_FORM(in_place) {
  I J L C[i * N + j] += C[i * N + k] * B[k * N + j]; // expected-remark {{kept}}
}
INT_FORM(diagonals) { // places of C are shared between i and j
  I J L C[i + j] += AB; // expected-remark {{ResultOverlapsItself}}
}
INT_FORM(folded_rows) {
  I J L C[(i % 2) * N + j] += AB; // expected-remark {{NonAffineIndex}}
}
INT_FORM(gathered) {
  I J L C[i * N + j] += A[(uint8_t)B[k]] * B[k * N + j]; // expected-remark {{NonAffineIndex}}
}
INT_FORM(squares) {
  I J L C[i * N + j] += A[(i * i) & 63] * B[k * N + j]; // expected-remark {{NonAffineIndex}}
}
INT_FORM(zero_each_k) {
  I L J { // expected-remark 0-1 {{kept}}
    C[i * N + j] = 0;
    C[i * N + j] += AB;
  }
}
INT_FORM(zero_in_k_loop) {
  I L { // expected-remark {{kept}}
    J C[i * N + j] = 0;
    J C[i * N + j] += AB;
  }
}
INT_FORM(zero_first_column) {
  I { // expected-remark {{ExtraStore}}
    C[i * N] = 0;
    J L C[i * N + j] += AB;
  }
}
INT_FORM(zero_half) {
  I { // expected-remark {{ExtraStore}}
    for (int j = 0; j < N / 2; j++)
      C[i * N + j] = 0;
    J L C[i * N + j] += AB;
  }
}
INT_FORM(zero_next_row) {
  I { // expected-remark {{ExtraStore}}
    J C[(i + 1) * N + j] = 0;
    J L C[i * N + j] += AB;
  }
}
int shared_j; // a counter that everybody sees
INT_FORM(counts_in_memory) {
  // expected-remark@+1 {{a loop's counter lies in memory}}
  I for (shared_j = 0; shared_j < N; shared_j++)
    L C[i * N + shared_j] += A[i * K + k] * B[k * N + shared_j];
}
