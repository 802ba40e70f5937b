// A call that may throw is a jump: it is named as the call that it is.
// RUN: %verify -O1 -fexceptions %s
// RUN: %verify -O2 -fexceptions %s
#define PRODUCT                                                                \
  for (int j = 0; j < N; j++)                                                  \
    for (int k = 0; k < N; k++)                                                \
      C[i * N + j] += A[i * N + k] * B[k * N + j];
void check(int);
void leave(int *);

void throws_within(int *C, const signed char *A, const signed char *B, int N) {
  int held __attribute__((cleanup(leave))) = 0;
  for (int i = 0; i < N; i++) { // expected-remark {{calls check, which may throw}}
    check(i);
    PRODUCT
  }
}
void throws_before(int *C, const signed char *A, const signed char *B, int N) {
  int held __attribute__((cleanup(leave))) = 0;
  check(N);
  for (int i = 0; i < N; i++) { // expected-remark {{mk,kn->mn}}
    PRODUCT
  }
}
