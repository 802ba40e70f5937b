// Convolutions by way of im2col whose product is a library's.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
#include <stdint.h>
#include <stdlib.h>

enum { Row = 101, No = 111, Yes = 112 };
void cblas_sbgemm(int, int, int, int, int, int, float, const uint16_t *, int,
                  const uint16_t *, int, float, float *, int);
void sbgemm_(const char *, const char *, const int *, const int *, const int *,
             const float *, const uint16_t *, const int *, const uint16_t *,
             const int *, const float *, float *, const int *);
void look_at(const uint16_t *);

#define EACH(i, n) for (int i = 0; i < n; i++)
#define COPY                                                                   \
  int y_end = h - size + 1, x_end = w - size + 1;                              \
  int rows = channels * size * size, columns = y_end * x_end;                  \
  uint16_t *col = malloc(sizeof *col * (size_t)rows * (size_t)columns);        \
  EACH(k, rows) {                                                              \
    int u = k % size, v = k / size % size, c = k / size / size;                \
    EACH(y, y_end) EACH(x, x_end)                                              \
      col[(k * y_end + y) * x_end + x] = in[(c * h + y + v) * w + x + u];      \
  }
#define IMAGE                                                                  \
  const uint16_t *in, const uint16_t *weights, float *out, int filters,        \
      int channels, int h, int w, int size

void forward(IMAGE) {
  COPY
  // expected-remark@+2 {{call of cblas_sbgemm replaced by a call: mk,kn->mn}}
  // expected-remark@+1 {{call of cblas_sbgemm replaced by a call that reads what is copied for it: mklu,nklpu->mnp}}
  cblas_sbgemm(Row, No, No, filters, columns, rows, 1, weights, rows, col,
               columns, 0, out, columns);
  free(col);
}
void turned(IMAGE) { // the result has its filters last
  COPY
  // expected-remark@+2 {{km,nk->mn}}
  // expected-remark@+1 {{reads what is copied}}
  cblas_sbgemm(Row, Yes, Yes, columns, filters, rows, 1, col, columns, weights,
               rows, 0, out, filters);
  free(col);
}

// Numbers by pointer are read where the call stands.
void fortran(IMAGE) {
  COPY
  const float one = 1, zero = 0;
  // expected-remark@+1 {{call of sbgemm_ replaced by a call: }}
  sbgemm_("N", "N", &columns, &filters, &rows, &one, col, &columns, weights,
          &rows, &zero, out, &columns);
  free(col);
}
void as_weights_too(IMAGE) {
  COPY
  // expected-remark@+1 {{mk,kn->mn}}
  cblas_sbgemm(Row, No, No, filters, columns, rows, 1, col, rows, col, columns,
               0, out, columns);
  free(col);
}
void as_the_result(IMAGE) { // of which a part is copied
  COPY
  // expected-remark@+1 {{mk,kn->mn}}
  cblas_sbgemm(Row, No, No, filters, columns, rows, 1, weights, rows, col,
               columns, 0, (float *)(col + columns), columns);
  free(col);
}
void read_elsewhere(IMAGE) {
  COPY
  // expected-remark@+1 {{mk,kn->mn}}
  cblas_sbgemm(Row, No, No, filters, columns, rows, 1, weights, rows, col,
               columns, 0, out, columns);
  look_at(col);
  free(col);
}
void from_the_second(IMAGE) { // column on
  COPY
  // expected-remark@+1 {{mk,kn->mn}}
  cblas_sbgemm(Row, No, No, filters, columns - 1, rows, 1, weights, rows,
               col + 1, columns, 0, out, columns);
  free(col);
}
