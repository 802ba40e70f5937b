/* shim_walk.c -- loops over device memory become one descriptor of a shim. */
#include "shim_walk.h"

#include <assert.h>

void shim_walk_add(struct shim_walk *w, int64_t extent, int64_t stride_bytes) {
  assert(extent >= 1 && w->count < WALK_LOOPS);
  if (extent == 1)
    return;
  if (w->count && w->stride_bytes[w->count - 1] == stride_bytes * extent) {
    w->extent[w->count - 1] *= extent;
    w->stride_bytes[w->count - 1] = stride_bytes;
    return;
  }
  w->extent[w->count] = extent;
  w->stride_bytes[w->count++] = stride_bytes;
}

/* A single word. */
static void add_word(struct shim_walk *w) {
  w->extent[w->count] = 1;
  w->stride_bytes[w->count++] = 4;
}

/* A loop inside others that is longer than a dimension can count becomes two,
 * of which no step is too long. */
static void split_long(struct shim_walk *w, const struct tile_resources *shim) {
  for (int i = w->count - 1; i > 0; i--) {
    if (w->extent[i] <= shim->max_wrap || w->count == WALK_LOOPS)
      continue;
    int64_t inner = shim->max_wrap;
    while (inner > 1 && (w->extent[i] % inner ||
                         inner * w->stride_bytes[i] / 4 > shim->max_step_words))
      inner--;
    for (int j = w->count++; j > i; j--) {
      w->extent[j] = w->extent[j - 1];
      w->stride_bytes[j] = w->stride_bytes[j - 1];
    }
    w->extent[i + 1] = inner;
    w->extent[i] /= inner;
    w->stride_bytes[i] *= inner;
  }
}

static void drop_outermost(struct shim_walk *w) {
  w->count--;
  for (int i = 0; i < w->count; i++) {
    w->extent[i] = w->extent[i + 1];
    w->stride_bytes[i] = w->stride_bytes[i + 1];
  }
}

bool shim_walk_fill(const struct device *dev, const char *name,
                    struct shim_walk *w, struct bd *bd, int *repeat,
                    struct diag *d) {
  const struct tile_resources *shim = &dev->tile[TILE_SHIM];
  *repeat = 1;
  bool again = w->count && w->stride_bytes[0] == 0;
  if (again) {
    if (w->extent[0] > dev->max_repeat)
      return diag_error(d, loc_none(),
                        "%s: %lld rounds; a task runs at most %d times", name,
                        (long long)w->extent[0], dev->max_repeat);
    *repeat = (int)w->extent[0];
    drop_outermost(w);
  }
  split_long(w, shim);
  if (!again && w->count == shim->dims + 1 &&
      w->extent[0] <= dev->max_iterations &&
      w->stride_bytes[0] / 4 <= shim->max_step_words) {
    bd->iteration_count = (uint32_t)w->extent[0];
    bd->iteration_step_words = (uint32_t)(w->stride_bytes[0] / 4);
    *repeat = (int)w->extent[0];
    drop_outermost(w);
  }
  if (!w->count)
    add_word(w);
  if (w->count > shim->dims)
    return diag_error(d, loc_none(),
                      "%s: %d loops over device memory; a shim descriptor has "
                      "%d dimensions",
                      name, w->count, shim->dims);
  double length = 1;
  for (int i = 0; i < w->count; i++) {
    int at = w->count - 1 - i; /* innermost first */
    bool outermost = i == w->count - 1;
    length *= (double)w->extent[at];
    if (w->stride_bytes[at] <= 0 ||
        w->stride_bytes[at] / 4 > shim->max_step_words)
      return diag_error(d, loc_none(),
                        "%s: a step of %lld bytes; a shim dimension moves by "
                        "up to %lld",
                        name, (long long)w->stride_bytes[at],
                        4LL * shim->max_step_words);
    if (!outermost && w->extent[at] > shim->max_wrap)
      return diag_error(d, loc_none(),
                        "%s: a loop of %lld; a shim dimension counts to %d",
                        name, (long long)w->extent[at], shim->max_wrap);
    bd->dim[i] = (struct bd_dim){(uint32_t)(w->stride_bytes[at] / 4),
                                 outermost ? 0 : (uint32_t)w->extent[at]};
  }
  for (int i = w->count; i < 4; i++)
    bd->dim[i] = (struct bd_dim){1, 0};
  if (length > shim->max_length_words)
    return diag_error(d, loc_none(),
                      "%s: %.0f words; a descriptor moves up to %u", name,
                      length, shim->max_length_words);
  bd->length_words = (uint32_t)length;
  return true;
}
