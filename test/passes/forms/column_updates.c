// Columns that are changed by sums over themselves, as by reflections and
// projections: the sums are a vector times a matrix for the processor, and the
// changes go from row to row.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 0
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define CPU __attribute__((annotate("nputeir:device=cpu")))
#define AT(i, j) C[(i) * N + (j)]

CPU INT_FORM(reflection) {
  J { // expected-remark {{code for the processor: km,k->m}}
    int s = 0;
    I s += AT(i, j) * B[i];
    s >>= 12;
    I AT(i, j) -= s * B[i];
  }
}
CPU INT_FORM(by_a_column_of_the_matrix) {
  for (int j = 1; j < N; j++) { // expected-remark {{code for the processor: k,kn->n}}
    int s = 0;
    I s += AT(i, 0) * AT(i, j);
    s >>= 20;
    I AT(i, j) += s * AT(i, 0);
  }
}
CPU BF16_FORM(divided) { // by the same for all rows
  C[0] = 4;
  for (int j = 1; j < N; j++) { // expected-remark {{code for the processor}}
    float s = 0;
    I s += AT(i, 0) * AT(i, j);
    s = -s / AT(0, 0);
    I AT(i, j) += s * AT(i, 0);
  }
}
CPU INT_FORM(projection) { // the sums stay
  J { // expected-remark {{code for the processor: km,k->m}}
    side[j] = 0;
    I side[j] += AT(i, j) * B[i];
    I AT(i, j) -= B[i] * (side[j] >> 12);
  }
  look(C);
}
CPU INT_FORM(two_numbers) {
  J { // expected-remark 2 {{code for the processor}}
    int s = 0, t = 0;
    I s += AT(i, j) * B[i];
    I t += AT(i, j) * A[i];
    s >>= 12;
    t >>= 13;
    I AT(i, j) -= s * B[i] + t * A[i];
  }
}
CPU INT_FORM(rows_of_another_length) { // which may overlap
  J { // expected-remark {{code for the processor: km,k->m}}
    int s = 0;
    I s += C[i * K + j] * B[i];
    s >>= 12;
    I C[i * K + j] -= s * B[i];
  }
}
CPU INT_FORM(counters_without_a_sign) { // of which the first may be the largest
  size_t first = (size_t)K, rows = M < 0 ? 0 : (size_t)M, columns = N < 0 ? 0 : (size_t)N;
  for (size_t j = first + 1; j < columns; j++) { // expected-remark {{code for the processor: km,k->m}}
    int s = 0;
    for (size_t i = first; i < rows; i++)
      s += C[i * 64 + j] * B[i];
    s >>= 12;
    for (size_t i = first; i < rows; i++)
      C[i * 64 + j] -= s * B[i];
  }
}
CPU INT_FORM(by_a_column_among_them) { // a near miss: it is changed on the way
  J { // expected-remark {{nest kept}}
    int s = 0;
    I s += AT(i, 2) * AT(i, j);
    s >>= 20;
    I AT(i, j) += s * AT(i, 2);
  }
}
CPU INT_FORM(by_the_column_before) { // a near miss
  for (int j = 1; j < N; j++) { // expected-remark {{nest kept}}
    int s = 0;
    I s += AT(i, j - 1) * B[i];
    s >>= 12;
    I AT(i, j) -= s * B[i];
  }
}
CPU INT_FORM(by_the_row_before) { // a near miss
  J { // expected-remark {{nest kept}}
    int s = 0;
    I s += AT(i, j) * B[i];
    s >>= 12;
    for (int i = 1; i < M; i++)
      AT(i, j) -= s * AT(i - 1, j);
  }
}
CPU INT_FORM(some_columns) { // a near miss
  J { // expected-remark {{nest kept}}
    int s = 0;
    I s += AT(i, j) * B[i];
    s >>= 12;
    if (s & 1)
      I AT(i, j) -= s * B[i];
  }
}
CPU INT_FORM(rows_from_the_second) { // a near miss: the sums
  J {                            // read the row that is changed
    // expected-remark@-1 {{nest kept}}
    int s = AT(0, j);
    for (int i = 1; i < M; i++)
      s += AT(i, j) * B[i];
    s >>= 12;
    AT(0, j) -= s;
    for (int i = 1; i < M; i++)
      AT(i, j) -= s * B[i];
  }
}
CPU INT_FORM(counted) { // a near miss: the changes are told in turn
  J { // expected-remark {{nest kept}}
    int s = 0;
    I s += B[i * N + j] * A[i];
    I AT(i, j) -= s * A[i];
    count();
  }
}
