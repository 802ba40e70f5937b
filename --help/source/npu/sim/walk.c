/* Address generation of a buffer descriptor (array.md, 3.4).
 *
 * Dimension 0 is the fastest.  A wrap of 0 never wraps, so the last dimension
 * ends when the length is used up.  Zero padding makes a dimension longer on
 * both sides: position `before` is the first real element, and a word is zero
 * when any dimension stands in its padding.  The length counts padding too,
 * wraps do not.
 */
#include "tile.h"

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t extent(const struct walk *w, int d) {
  return w->before[d] + w->wrap[d] + w->after[d];
}

static bool in_padding(const struct walk *w, int d) {
  return w->at[d] < w->before[d] ||
         (w->wrap[d] && w->at[d] >= w->before[d] + w->wrap[d]);
}

/* The run that begins at the present position. */
static void find_run(struct walk *w) {
  if (!w->left) {
    w->run = 0;
    return;
  }
  w->zero = in_padding(w, 0) || in_padding(w, 1) || in_padding(w, 2);
  w->address = w->base + (int64_t)w->at[3] * w->step[3];
  for (int d = 0; d < 3; d++)
    w->address += ((int64_t)w->at[d] - w->before[d]) * w->step[d];
  bool row = !in_padding(w, 1) && !in_padding(w, 2); /* a row with data */
  uint32_t at = w->at[0], first = w->before[0];
  if (row && at < first)
    w->run = first - at;
  else if (!w->wrap[0])
    w->run = w->zero || w->step[0] == 1 ? w->left : 1;
  else if (row && !w->zero)
    w->run = w->step[0] == 1 ? first + w->wrap[0] - at : 1;
  else
    w->run = extent(w, 0) - at;
  w->run = smaller(w->run, w->left);
}

void walk_start(struct walk *w) {
  for (int d = 0; d < 4; d++)
    w->at[d] = 0;
  find_run(w);
}

void walk_take(struct walk *w, uint32_t words) {
  assert(words > 0 && words <= w->run && words <= w->left);
  w->left -= words;
  w->at[0] += words;
  if (words < w->run) {
    w->run -= words;
    w->address += words;
    return;
  }
  for (int d = 0; d < 3 && w->wrap[d] && w->at[d] == extent(w, d); d++) {
    w->at[d] = 0;
    w->at[d + 1]++;
  }
  find_run(w);
}
