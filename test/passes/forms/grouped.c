// A counter that is divided to find a group, as in grouped convolutions, is two
// counters where the groups are whole, which is asked in front of the nest.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 33
#include "forms.h"

#define PIXELS for (int p = 0; p < M; p++)
#define CHANNELS for (int o = 0; o < N; o++)
#define SUM(in, weight)                                                        \
  int32_t s = 0;                                                               \
  for (int k = 0; k < K; k++)                                                  \
    s += A[in] * B[weight];

INT_FORM(two_channels) { // of each group
  CHANNELS { // expected-remark {{replaced by a call: }}
    int g = o / 2;
    PIXELS {
      SUM((g * K + k) * M + p, o * K + k)
      C[o * M + p] = s;
    }
  }
}
INT_FORM(some_channels) { // as TensorFlow Lite has them
  int channels = N > 20 ? 31 : N == 9 ? 3 : 4;
  PIXELS // expected-remark {{replaced by a call: }}
    CHANNELS {
      int g = o / channels;
      SUM(p * 64 + g * K + k, o * K + k)
      C[p * N + o] = s;
    }
}
INT_FORM(results_one_by_one) { // as esp-nn has them
  int channels = N > 20 ? 31 : N == 9 ? 3 : 4;
  int32_t *out = C;
  PIXELS // expected-remark {{replaced by a call: }}
    CHANNELS {
      int g = o / channels;
      SUM(p * 64 + g * K + k, o * K + k)
      *out++ = s;
    }
}
INT_FORM(by_offset) { // the group's first channel is computed once
  int channels = N > 20 ? 31 : N == 9 ? 3 : 4;
  PIXELS // expected-remark {{replaced by a call: }}
    CHANNELS {
      const int8_t *in = A + p * 64 + o / channels * K;
      for (int k = 0; k < K; k++)
        C[p * N + o] += in[k] * B[o * K + k];
    }
}
INT_FORM(window) { // of an image, in which a group has K channels
  int channels = N == 9 ? 3 : 4;
  for (int y = 0; y < 4; y++) // expected-remark {{replaced by a call: }}
    for (int x = 0; x < 5; x++)
      CHANNELS {
        int g = o / channels;
        int32_t s = 0;
        for (int v = 0; v < 2; v++)
          for (int u = 0; u < 3; u++)
            for (int k = 0; k < K; k++)
              s += A[((y + v) * 7 + x + u) * 64 + g * K + k] *
                   B[((o * 2 + v) * 3 + u) * K + k];
        C[(y * 5 + x) * N + o] = s;
      }
}
INT_FORM(divided_within) { // the loop where it is used
  int channels = N == 9 ? 3 : 4;
  CHANNELS { // expected-remark {{replaced by a call: }}
    PIXELS {
      int g = o / channels;
      SUM((g * K + k) * 40 + p, o * K + k)
      C[o * M + p] = s;
    }
  }
}
INT_FORM(padded_groups) { // of a row of M pixels and three taps
  const int channels = N == 9 ? 3 : 4;
  CHANNELS { // expected-remark {{replaced by a call: }}
    PIXELS {
      int g = o / channels;
      int32_t s = 0;
      for (int k = 0; k < K; k++)
        for (int t = 0; t < 3; t++)
          if (p + t - 1 >= 0 && p + t - 1 < M)
            s += A[(g * K + k) * M + p + t - 1] * B[(o * K + k) * 3 + t];
      C[o * M + p] = s;
    }
  }
}
INT_FORM(place_in_group) { // is used, too
  int channels = N == 9 ? 3 : 4;
  PIXELS // expected-remark {{replaced by a call: }}
    CHANNELS {
      int g = o / channels, j = o % channels;
      SUM(p * 64 + g * K + k, (j * 16 + g) * 16 + k)
      C[p * N + o] = s;
    }
}
INT_FORM(unsigned_channels) {
  unsigned channels = N == 9 ? 3 : 4;
  M = M < 0 ? 0 : M;
  for (size_t o = 0; o < (size_t)(N < 0 ? 0 : N); o++) { // expected-remark {{replaced by a call: }}
    size_t g = o / channels;
    PIXELS {
      SUM((g * (size_t)K + (size_t)k) * (size_t)M + (size_t)p,
          o * (size_t)K + (size_t)k)
      C[o * (size_t)M + (size_t)p] = s;
    }
  }
}
INT_FORM(groups_of_groups) {
  int channels = N == 9 ? 3 : 2, groups = N == 9 ? 3 : 2;
  PIXELS // expected-remark {{replaced by a call: }}
    CHANNELS {
      int g = o / channels / groups, h = o / channels % groups;
      SUM(p * 64 + (h * 4 + g) * K + k, o * K + k)
      C[p * N + o] = s;
    }
}

// ---- near misses ----

INT_FORM(from_the_second) { // channel on, so that groups need not be whole
  for (int o = 1; o < N; o++) { // expected-remark {{NonAffineIndex}}
    int g = o / 2;
    PIXELS {
      SUM((g * K + k) * M + p, o * K + k)
      C[o * M + p] = s;
    }
  }
}
INT_FORM(two_divisors) {
  CHANNELS { // expected-remark {{NonAffineIndex}}
    int g = o / 2, h = o / 3;
    PIXELS {
      SUM((g * K + k) * M + p, h * K + k)
      C[o * M + p] = s;
    }
  }
}
INT_FORM(thrice_the_channel) {
  CHANNELS { // expected-remark {{NonAffineIndex}}
    int g = (3 * o + 1) / 4;
    PIXELS {
      SUM((g * K + k) * M + p, o * K + k)
      C[o * M + p] = s;
    }
  }
}
INT_FORM(another_number) { // of channels for each pixel
  PIXELS // expected-remark {{kept}}
    CHANNELS {
      int g = o / (p + 1);
      SUM(p * 64 + g * K + k, o * K + k)
      C[p * N + o] = s;
    }
}
INT_FORM(results_of_some) { // how many come before one, no counter says
  int channels = N > 20 ? 31 : N == 9 ? 3 : 4;
  int32_t *out = C;
  PIXELS // expected-remark {{kept}}
    CHANNELS {
      int g = o / channels;
      SUM(p * 64 + g * K + k, o * K + k)
      *out = s;
      if (A[o] > 0)
        out++;
    }
}
