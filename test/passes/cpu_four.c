// Four by four by four: compilers write all of it out as vectors, where they
// know that nothing overlaps and vectors are longer than a row; else it is the
// processor's.
// RUN: env NPUTEIR_OPTIONS=cpu=on %verify -O2 -march=x86-64-v3 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=short -c -o /dev/null -O2 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on,min-macs=0 %clang -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify=short -c -o /dev/null -O2 -march=x86-64-v3 %s
typedef float matrix[4][4];
void to_local(matrix out, matrix const a, matrix const b) {
  matrix product;
  // short-remark@+2 {{code for the processor: mk,kn->mn}}
  // expected-remark@+1 {{[BelowThreshold]: the loops are faster}}
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      product[i][j] = 0;
      for (int k = 0; k < 4; k++)
        product[i][j] += a[i][k] * b[k][j];
    }
  __builtin_memcpy(out, product, sizeof product);
}
void apart(float *restrict out, const float *a, const float *b) {
  // short-remark@+2 {{code for the processor: mk,kn->mn}}
  // expected-remark@+1 {{[BelowThreshold]: the loops are faster}}
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      float s = 0;
      for (int k = 0; k < 4; k++)
        s += a[4 * i + k] * b[4 * k + j];
      out[4 * i + j] = s;
    }
}
void maybe_apart(matrix out, matrix const a, matrix const b) {
  // short-remark@+2 {{code for the processor: mk,kn->mn}}
  // expected-remark@+1 {{code for the processor: mk,kn->mn}}
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      float s = 0;
      for (int k = 0; k < 4; k++)
        s += a[i][k] * b[k][j];
      out[i][j] = s;
    }
}
