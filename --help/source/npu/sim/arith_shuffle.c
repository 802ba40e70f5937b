/* arith_shuffle.c -- the modes of vshuffle (isa.md C7), six of them AIE2P's,
 * nearly all of them transposes of a small matrix of elements.
 */
#include "arith.h"

#include <stddef.h>
#include <string.h>

/* A block of rows x columns elements of `bytes` is transposed; the blocks
 * follow each other in the input.  The result's half `part` is returned. */
struct transpose {
  uint8_t bytes, rows, columns, part;
};

/* clang-format off */
static const struct transpose modes[] = {
  [0] = {1, 64, 2, 0},  [1] = {1, 64, 2, 1},
  [2] = {2, 32, 2, 0},  [3] = {2, 32, 2, 1},
  [4] = {4, 16, 2, 0},  [5] = {4, 16, 2, 1},
  [6] = {8, 8, 2, 0},   [7] = {8, 8, 2, 1},
  [8] = {16, 4, 2, 0},  [9] = {16, 4, 2, 1},
  [10] = {32, 2, 2, 0}, [11] = {32, 2, 2, 1},
  [12] = {16, 2, 4, 0}, [13] = {16, 2, 4, 1},
  [14] = {8, 2, 8, 0},  [15] = {8, 2, 8, 1},
  [16] = {4, 2, 16, 0}, [17] = {4, 2, 16, 1},
  [18] = {2, 2, 32, 0}, [19] = {2, 2, 32, 1},
  [20] = {1, 2, 64, 0}, [21] = {1, 2, 64, 1},
  [22] = {64, 1, 1, 0}, [23] = {64, 1, 1, 1}, /* copies of s1 and s2 */
  [24] = {2, 16, 4, 0}, [25] = {2, 16, 4, 1},
  [26] = {2, 4, 16, 0}, [27] = {2, 4, 16, 1},
  [28] = {2, 8, 4, 0},  [29] = {2, 4, 8, 0},
  [30] = {4, 8, 4, 0},  [31] = {4, 8, 4, 1},
  [32] = {4, 4, 8, 0},  [33] = {4, 4, 8, 1},
  [34] = {4, 4, 4, 0},  [35] = {1, 8, 8, 0},
  [36] = {1, 16, 4, 0}, [37] = {1, 4, 16, 0},
  [38] = {2, 2, 1, 0},  /* swaps the halves of words: see below */
  [39] = {2, 4, 4, 0},  [40] = {2, 4, 2, 0},
  [41] = {2, 2, 4, 0},  [42] = {2, 8, 2, 0},
  [43] = {2, 2, 8, 0},  [44] = {2, 16, 2, 0},
  [45] = {2, 2, 16, 0}, [46] = {1, 8, 4, 0},
  [47] = {1, 4, 8, 0},
  [48] = {4, 8, 2, 0},  [49] = {4, 2, 8, 0}, /* from here on AIE2P alone */
  [50] = {8, 4, 2, 0},  [51] = {8, 2, 4, 0},
  [52] = {2, 8, 8, 0},  [53] = {2, 8, 8, 1},
};
/* clang-format on */

bool arith_shuffle(uint8_t d[64], const uint8_t s[128], unsigned mode) {
  if (mode >= sizeof modes / sizeof modes[0])
    return false;
  if (mode == 38) {
    for (int i = 0; i < 64; ++i)
      d[i] = s[i ^ 2];
    return true;
  }
  const struct transpose *t = &modes[mode];
  int elements = t->rows * t->columns, block = elements * t->bytes;
  uint8_t all[128];
  for (int base = 0; base < 128; base += block)
    for (int i = 0; i < elements; ++i) {
      int row = i / t->columns, column = i % t->columns;
      memcpy(all + base + (column * t->rows + row) * t->bytes,
             s + base + i * t->bytes, t->bytes);
    }
  memcpy(d, all + 64 * t->part, 64);
  return true;
}
