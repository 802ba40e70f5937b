// Products of which one reads what the one in front of it gives in the same
// iteration of a loop around both, as the layers of a network for each sample:
// each is a product of its own, behind what it reads.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 195
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define O for (int j = 0; j < K; j++) // of the second product
#define H for (int k = 0; k < N; k++)
#define AB A[i * K + k] * B[k * N + j]

static int8_t hidden[64 * 65], hidden_2[64 * 65], table[256];
static const int8_t weights[64 * 64] = {
    3, -5, 7, 11, [60] = 4, -9, 17, [128] = 8, 1, 2, -3, [191] = 7, 5};

INT_FORM(two_layers) {
  I { // expected-remark 2 {{replaced by a call}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      other[i * 64 + j] = s;
    }
  }
  look(C);
}
INT_FORM(by_column) { // sums in memory, and weights by what comes out
  I {                 // expected-remark 2 {{replaced by a call}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
    O {
      other[i * 64 + j] = 5;
      H other[i * 64 + j] += hidden[i * 64 + k] * weights[j * 64 + k];
    }
  }
  look(C);
}
INT_FORM(from_a_table) { // an activation
  for (int i = 0; i < 256; i++)
    table[i] = (int8_t)(i * i);
  I { // expected-remark 2 {{replaced by a call}}
    J {
      int32_t s = B[j];
      L s += AB;
      hidden[i * 64 + j] = table[(s >> 2) & 255];
    }
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      other[i * 64 + j] = s > 0 ? s : 0;
    }
  }
  look(C);
}
INT_FORM(three_layers) {
  I { // expected-remark 3 {{replaced by a call}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      hidden_2[i * 64 + j] = (int8_t)(s ^ (s >> 8));
    }
    J {
      int32_t s = 0;
      L s += hidden_2[i * 64 + k] * weights[k * 64 + j];
      other[i * 64 + j] = s;
    }
  }
  look(C);
}
INT_FORM(scaled_by_row) { // as attention's scores
  I {                     // expected-remark 2 {{replaced by a call}}
    int32_t most = -1000000, sum = 1;
    J {
      int32_t s = 0;
      L s += AB;
      other[i * 64 + j] = s;
      if (s > most)
        most = s;
    }
    J {
      hidden[i * 64 + j] = (int8_t)((most - other[i * 64 + j]) & 15);
      sum += hidden[i * 64 + j];
    }
    J hidden[i * 64 + j] = (int8_t)(hidden[i * 64 + j] * 64 / sum);
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      C[i * 64 + j] = s;
    }
  }
  look(C);
}
INT_FORM(may_meet) { // the second result, the first one's, for N = 31 and 9
  int8_t *to = N == 31 ? (int8_t *)C + 5 : N == 9 ? (int8_t *)C + 97 : hidden;
  I { // expected-remark 2 {{replaced by a call}}
    J {
      int32_t s = 0;
      L s += AB;
      to[i * 64 + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += to[i * 64 + k] * weights[k * 64 + j];
      C[i * 64 + j] = s;
    }
  }
  look(C);
}
INT_FORM(rows_may_meet) { // where they are longer than from one to the next
  int y = N == 31 ? 30 : 64;
  I { // expected-remark 2 {{replaced by a call}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * y + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[i * y + k] * weights[k * 64 + j];
      other[i * 64 + j] = s;
    }
  }
  look(C);
}
INT_FORM(old_rows) { // which are written behind
  I {                // expected-remark 2 {{replaced by a call}}
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      other[i * 64 + j] = s;
    }
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
  }
  memset(hidden, 0, sizeof hidden);
  look(C);
}

static int8_t plane[2][32][64];
INT_FORM(of_known_sizes) {
  for (int i = 0; i < 16; i++) { // expected-remark 2 {{replaced by a call}}
    for (int j = 0; j < 24; j++) {
      int32_t s = 0;
      for (int k = 0; k < 32; k++)
        s += A[i * 64 + k] * B[j * 64 + k];
      plane[1][i][j] = (int8_t)(s < 0 ? 0 : s);
    }
    for (int j = 0; j < 20; j++) {
      int32_t s = 0;
      for (int k = 0; k < 24; k++)
        s += plane[1][i][k] * weights[j * 64 + k];
      other[i * 64 + j] = s;
    }
  }
  look(C);
}
BF16_FORM(bias_and_relu) {
  static __bf16 layer[33 * 64];
  I { // expected-remark 2 {{replaced by a call}}
    J {
      float s = (float)B[j];
      L s += (float)A[i * 64 + k] * (float)B[k * 64 + j];
      layer[i * 64 + j] = (__bf16)(s > 0 ? s : 0);
    }
    O {
      float s = (float)A[j];
      H s += (float)layer[i * 64 + k] * (float)B[j * 64 + k];
      C[i * 64 + j] = s;
    }
  }
}

// Near misses.

INT_FORM(row_before) { // which another iteration wrote
  I { // expected-remark {{for its sums}} expected-remark {{kept}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + 64 + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      other[i * 64 + j] = s;
    }
  }
  memset(hidden, 0, sizeof hidden);
  look(C);
}
INT_FORM(one_row) { // for all
  I {               // expected-remark {{for its sums}} expected-remark {{kept}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[k] * weights[k * 64 + j];
      other[i * 64 + j] = s;
    }
  }
  look(C);
}
INT_FORM(writes_weights) { // that later rows are multiplied by
  I { // expected-remark {{for its sums}} expected-remark {{kept}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * hidden_2[k * 64 + j];
      other[i * 64 + j] = s;
    }
    hidden_2[i * 65]++;
  }
  look(C);
}
INT_FORM(in_place) { // the second result takes the first one's place
  I {                // expected-remark {{for its sums}}
    J {
      int32_t s = 0;
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
    O { // expected-remark {{kept}}
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      hidden[i * 64 + j] = (int8_t)s;
    }
  }
  for (int i = 0; i < 64 * 64; i++)
    other[i] = hidden[i];
  memset(hidden, 0, sizeof hidden);
  look(C);
}
INT_FORM(goes_on) { // with what the last row gave
  I {               // expected-remark {{kept}}
    J {
      int32_t s = side[j];
      L s += AB;
      hidden[i * 64 + j] = (int8_t)s;
    }
    O {
      int32_t s = 0;
      H s += hidden[i * 64 + k] * weights[k * 64 + j];
      side[j] = s;
    }
  }
  look(C);
}
