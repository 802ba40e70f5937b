/* finite.c -- whether inputs hold infinity or NaN, of which block floats know
 * nothing: what a device would make of them is not documented.  What only
 * becomes infinite as a bf16 counts, too. */
#include "launch.h"

#include <math.h>
#include <string.h>

/* Whether some of `count` bf16 in a row has all bits of its exponent, four at a
 * time: a carry runs out of those bits and no further than the sign's. */
static bool row_overflows(const char *at, int64_t count) {
  uint64_t seen = 0, four;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    memcpy(&four, at + 2 * i, sizeof four);
    seen |= (four & 0x7F807F807F807F80) + 0x0080008000800080;
  }
  for (; i < count; i++) {
    uint16_t one;
    memcpy(&one, at + 2 * i, sizeof one);
    seen |= (one & 0x7F80u) + 0x0080u;
  }
  return seen & 0x8000800080008000;
}

static bool is_finite(enum dtype type, const char *at) {
  const double first_infinite = 0x1.ffp127; /* as a bf16 */
  return fabs(dtype_load_float(type, at)) < first_infinite;
}

/* One row of an input, whose elements lie at these offsets. */
static bool row_is_finite(enum dtype type, const char *at,
                          const int64_t *offset, int64_t count) {
  int64_t i = 0;
  while (i < count) {
    int64_t run = 1;
    while (i + run < count && offset[i + run] == offset[i] + 2 * run)
      run++;
    if (dtype_is_bf16(type) ? row_overflows(at + offset[i], run)
                            : !is_finite(type, at + offset[i]))
      return false;
    i += dtype_is_bf16(type) ? run : 1;
  }
  return true;
}

bool inputs_are_finite(const struct product *p, void *const tensor[]) {
  struct arena *a = arena_open();
  bool good = true;
  for (int t = IN0; t <= IN1; t++) {
    const int64_t *at[AXIS_ROLES];
    for (int role = 0; role < AXIS_ROLES; role++)
      at[role] = product_new_offsets(a, p, (enum axis_role)role, t);
    enum axis_role row = row_role[t], column = column_role[t];
    bool turned = p->extent[row] > 1 &&
                  at[row][1] - at[row][0] == dtype_bytes(p->type[t]);
    enum axis_role inner = turned ? row : column, outer = turned ? column : row;
    for (int64_t c = 0; c < p->extent[AXIS_C] && good; c++)
      for (int64_t i = 0; i < p->extent[outer] && good; i++)
        good = row_is_finite(p->type[t],
                             (const char *)tensor[t] + p->offset[t] +
                                 at[AXIS_C][c] + at[outer][i],
                             at[inner], p->extent[inner]);
  }
  arena_close(a);
  return good;
}
