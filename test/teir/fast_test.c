/* fast_test.c -- the fast executor against the oracle, bit for bit: data types,
 * transposed and padded operands, extents around the block sizes, threads; and
 * a BLAS on whole numbers, whose sums are exact in every order. */
#include "check.h"
#include "teir_blas.h"
#include "teir_einsum.h"

#include <string.h>

static void run(struct arena *a, const struct teir *t, int mode, char **out,
                size_t *bytes) {
  void *tensor[8];
  struct diag d = {0};
  for (int i = 0; i < t->tensor_count; i++) {
    int64_t low, high;
    CHECK(teir_footprint(t, i, &low, &high, &d) && low == 0);
    char *data = arena_alloc(a, (size_t)high + 1);
    enum dtype type = t->tensor[i].type;
    for (int64_t j = 0; j < high / dtype_bytes(type); j++)
      dtype_store_int(type, data + j * dtype_bytes(type),
                      (j * 13 + j / 7 + i) % 11 - 5);
    tensor[i] = data;
    if (i == teir_find_tensor(t, "out")) {
      *out = data;
      *bytes = (size_t)high;
    }
  }
  const struct teir_blas *blas = mode == 2 ? teir_openblas() : NULL;
  bool good = mode == 0 ? teir_run(t, tensor, &d)
                        : teir_run_fast(t, tensor, 1 + mode, blas, &d);
  CHECK(good);
}

static const struct {
  const char *expression, *sizes;
} row[] = {
    {"mk,kn->mn", "m=5,k=7,n=3"},
    {"km,nk->nm", "m=130,k=20,n=9"},
    {"mk,nk->mn", "m=3,k=300,n=17"},
    {"km,kn->mn", "m=17,k=5,n=600"},
    {"mk,kn->mn", "m=1,k=9,n=1"},
    {"mk,kn->mn", "m=1,k=1,n=513"},
    {"trus,pqtu->pqrs", "t=2,r=3,u=7,s=6,p=4,q=5"},
    {"dba,dac->dbc", "d=3,b=8,a=9,c=5"},
    {"mk,k->m", "m=40,k=30"},
    {"m,n->mn", "m=6,n=8"},
    {"k,k->", "k=700"},
    {"amk,akn->mn", "a=3,m=9,k=300,n=4"},
    {"abc->cab", "a=4,b=5,c=6"},
    {"ab,bc,cd->ad", "a=4,b=5,c=6,d=7"},
    {"mk,n->mn", "m=4,k=5,n=6"},
};

static void check_row(const char *expression, const char *sizes, enum dtype in,
                      enum dtype out) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_einsum e = {.expression = expression, .in = in, .out = out};
  struct teir *t =
      teir_einsum_sizes(&e, sizes, &d) ? teir_from_einsum(a, &e, &d) : NULL;
  CHECK(t);
  for (int mode = 1; t && mode <= 2; mode++) {
    char *want = NULL, *got = NULL;
    size_t x = 0, y = 0;
    run(a, t, 0, &want, &x);
    run(a, t, mode, &got, &y);
    bool same = x == y && memcmp(want, got, x) == 0;
    CHECK(same);
    if (!same)
      fprintf(stderr, "%s %s-%s mode %d differs\n", expression, dtype_name(in),
              dtype_name(out), mode);
  }
  arena_close(a);
}

int main(void) {
  static const enum dtype type[][2] = {
      {DTYPE_F32, DTYPE_F32},   {DTYPE_F64, DTYPE_F64}, {DTYPE_BF16, DTYPE_F32},
      {DTYPE_BF16, DTYPE_BF16}, {DTYPE_I8, DTYPE_I32},  {DTYPE_I8, DTYPE_I8},
      {DTYPE_U16, DTYPE_I64},   {DTYPE_F16, DTYPE_F32}, {DTYPE_I8, DTYPE_F32},
      {DTYPE_F32, DTYPE_I16},   {DTYPE_F32, DTYPE_F64},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    for (size_t j = 0; j < sizeof type / sizeof *type; j++)
      check_row(row[i].expression, row[i].sizes, type[j][0], type[j][1]);
  return check_result();
}
