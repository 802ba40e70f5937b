/* lower_test.c -- which primitives match which kernel (Table 10.6.1), row by
 * row, and what the refusals say. */
#include "check.h"
#include "teir_lower.h"

#include <string.h>

#define HEAD "teir 1\ntensor in0 bf16\ntensor in1 bf16\ntensor out f32\n"
#define TAIL "roots x\ninvoke x calls p\n"

static const struct {
  const char *program, *answer;
} row[] = {
    {"primitive p Contraction M=[] N=[] K=[]\n", "p: Scalar bf16,bf16,f32\n"},
    /* row-major everything, with padded rows: ld counts elements */
    {"axis m extent 4 stride in0=40 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "p: GEMM bf16,bf16,f32 M=4 N=8 K=16 lda=20 ldb=10 ldc=16 in0 row-major, "
     "in1 row-major, out row-major\n"},
    {"axis m extent 4 stride in0=2 out=64\n"
     "axis n extent 8 stride in1=40 out=4\n"
     "axis k extent 16 stride in0=8 in1=2\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "p: GEMM bf16,bf16,f32 M=4 N=8 K=16 lda=4 ldb=20 ldc=16 in0 column-major, "
     "in1 column-major, out row-major\n"},
    {"axis m extent 4 stride in0=4 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=40 in1=20\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: strides on in0 are 2 for M and 20 for K elements; one must "
     "be 1 and the other a leading dimension"},
    {"axis m extent 4 stride in0=40 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: strides on in1 are 0 for K and 1 for N elements; one must "
     "be 1 and the other a leading dimension"},
    {"axis m extent 4 stride in0=40 in1=400 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: the M axis m moves in1 by 400 bytes"},
    {"axis m extent 4 stride in0=41 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: the stride of m on in0 is 41 bytes, no multiple of the "
     "element's 2"},
    {"axis m extent 4 stride in0=40 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "primitive p Contraction M=[m] N=[n, n] K=[k]\n",
     "primitive p has 1, 2 and 1 axes in M, N and K; Scalar takes 0, 0, 0, "
     "GEMM 1, 1, 1 and BRGEMM 1, 1, 2"},
    {"axis m extent 4 stride in0=40 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "axis b extent 3 stride in0=600 in1=70\n"
     "primitive p Contraction M=[m] N=[n] K=[b, k]\n",
     "p: BRGEMM bf16,bf16,f32 M=4 N=8 K=16 lda=20 ldb=10 ldc=16 brSize=3 "
     "brStrA=300 brStrB=35 in0 row-major, in1 row-major, out row-major\n"},
    /* a matrix-vector product is no GEMM by the table */
    {"axis m extent 4 stride in0=40 out=4\naxis k extent 16 stride in0=2 "
     "in1=2\nprimitive p Contraction M=[m] N=[] K=[k]\n",
     "primitive p has 1, 0 and 1 axes in M, N and K; Scalar takes 0, 0, 0, "
     "GEMM 1, 1, 1 and BRGEMM 1, 1, 2"},
    /* both dense on in0: the leading dimension is the one that spans */
    {"axis m extent 1 stride in0=2 out=64\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "p: GEMM bf16,bf16,f32 M=1 N=8 K=16 lda=1 ldb=10 ldc=16 in0 column-major, "
     "in1 row-major, out row-major\n"},
    /* rows that overlap are no matrix of BLAS */
    {"axis m extent 8 stride in0=2 out=4\n"
     "axis n extent 4 stride in1=32 out=32\n"
     "axis k extent 16 stride in0=2 in1=2\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: strides on in0 are 1 for M and 1 for K elements; a leading "
     "dimension is not shorter than the row of 8"},
    {"axis m extent 8 stride in0=2 out=4\n"
     "axis n extent 4 stride in1=32 out=28\n"
     "axis k extent 16 stride in0=16 in1=2\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: strides on out are 1 for M and 7 for N elements; a leading "
     "dimension is not shorter than the row of 8"},
    {"axis m extent 8 stride out=32\naxis n extent 9 stride out=4\n"
     "primitive p Zero M=[m] N=[n]\n",
     "primitive p: strides on out are 8 for M and 1 for N elements; a leading "
     "dimension is not shorter than the row of 9"},
    /* the stride of the only row is of no matter */
    {"axis m extent 8 stride in0=2 out=4\naxis n extent 1\n"
     "axis k extent 16 stride in0=16 in1=2\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "p: GEMM bf16,bf16,f32 M=8 N=1 K=16 lda=8 ldb=16 ldc=8 in0 column-major, "
     "in1 column-major, out column-major\n"},
    {"symbol s\naxis m extent 4 stride in0=40 out=s\n"
     "axis n extent 8 stride in1=2 out=4\n"
     "axis k extent 16 stride in0=2 in1=20\n"
     "primitive p Contraction M=[m] N=[n] K=[k]\n",
     "primitive p: axis m depends on the unbound symbol s"},
};

int main(void) {
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    char *text = arena_printf(a, HEAD "%s" TAIL, row[i].program);
    struct teir *t = teir_parse(a, "lower", text, &d);
    CHECK(t);
    struct teir_call call;
    struct text answer = {0};
    if (t && teir_lower(t, 0, &call, &d))
      teir_call_print(t, 0, &call, &answer);
    else
      text_puts(&answer, d.text);
    CHECK(strcmp(text_string(&answer), row[i].answer) == 0);
    if (strcmp(text_string(&answer), row[i].answer) != 0)
      fprintf(stderr, "row %zu: want %s\n got %s\n", i, row[i].answer,
              text_string(&answer));
    text_free(&answer);
    arena_close(a);
  }
  return check_result();
}
