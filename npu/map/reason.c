/* reason.c -- why a tensor is packed, as a rule of the hardware with the number
 * that it does not reach: what stands behind the words of map_choose_in_place.
 *
 * "descriptor" is what a design said of the blocks that were tried, and has its
 * sentence from there.
 */
#include "map.h"

#include <string.h>

enum { WORD = 4 };

/* The roles of a tensor, and the batch. */
struct tensor_axes {
  const struct map_axis *axis[3 * MAP_AXES];
  int count;
};

static struct tensor_axes axes_of(const struct map_work *w, int tensor) {
  const enum axis_role role[] = {map_roles[tensor][0], map_roles[tensor][1],
                                 AXIS_C};
  struct tensor_axes x = {.count = 0};
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < w->count[role[j]]; i++)
      if (w->axis[role[j]][i].extent > 1)
        x.axis[x.count++] = &w->axis[role[j]][i];
  return x;
}

/* Which axis moves the tensor as no descriptor does. */
static const char *stride_rule(struct arena *a, const struct device *dev,
                               const struct map_work *w, int tensor) {
  struct tensor_axes x = axes_of(w, tensor);
  int64_t element = dtype_bytes(w->problem.type[tensor]),
          most = (int64_t)WORD * dev->tile[TILE_SHIM].max_step_words;
  bool contiguous = element >= WORD;
  for (int i = 0; i < x.count; i++) {
    int64_t stride = x.axis[i]->stride_bytes[tensor];
    contiguous |= stride == element;
    if (stride <= 0)
      return arena_printf(a,
                          "axis %s moves it by %lld bytes; a descriptor's "
                          "steps are positive",
                          x.axis[i]->id, (long long)stride);
    if (stride > most)
      return arena_printf(a,
                          "axis %s moves it by %lld bytes; a shim dimension "
                          "moves by up to %lld",
                          x.axis[i]->id, (long long)stride, (long long)most);
    if (stride != element && stride % WORD)
      return arena_printf(a,
                          "axis %s moves it by %lld bytes; descriptors move "
                          "words of %d",
                          x.axis[i]->id, (long long)stride, WORD);
  }
  if (!contiguous)
    return arena_printf(a,
                        "no axis moves it by %lld bytes, its elements; "
                        "descriptors move words of %d",
                        (long long)element, WORD);
  return arena_printf(a,
                      "another tensor's words run along another axis of the "
                      "same role; a word of %d bytes has %lld elements of it",
                      WORD, (long long)(WORD / element));
}

static const char *extent_rule(struct arena *a, const struct device *dev,
                               const struct map_work *w) {
  const int64_t *x = w->problem.extent;
  return arena_printf(
      a,
      "no blocks that end with m:%lld,n:%lld,k:%lld fit a core's %u bytes, a "
      "mem tile's %u and its %d descriptors, which count to %d",
      (long long)x[AXIS_M], (long long)x[AXIS_N], (long long)x[AXIS_K],
      dev->tile[TILE_CORE].memory_bytes, dev->tile[TILE_MEM].memory_bytes,
      dev->tile[TILE_MEM].bds, dev->tile[TILE_MEM].max_wrap);
}

static const char *cost_rule(struct arena *a, const struct platform *at) {
  const struct preset *q = at->preset;
  if (!q)
    return "blocks that end with it take the cores longer than the host packs";
  const int last = q->dram_count - 1;
  int full = last;
  while (full > 0 && preset_dram(q, q->dram[full - 1].run_bytes) >=
                         preset_dram(q, q->dram[last].run_bytes))
    full--;
  return arena_printf(
      a,
      "blocks that end with it, or their rows, take longer "
      "than the host packs: runs of %u bytes move at %.1f "
      "GB/s, from %u on at %.1f",
      q->dram[0].run_bytes, preset_dram(q, q->dram[0].run_bytes) * 1e-9,
      q->dram[full].run_bytes, preset_dram(q, q->dram[last].run_bytes) * 1e-9);
}

const char *map_reason(struct arena *a, const struct platform *at,
                       const struct teir *work, int tensor, const char *why) {
  struct map_work w;
  struct diag d = {0};
  const bool stay[TENSORS] = {true, true, true};
  if (!why || !map_work_read(a, at->device, work, stay, &w, &d))
    return NULL;
  return strcmp(why, "stride") == 0   ? stride_rule(a, at->device, &w, tensor)
         : strcmp(why, "extent") == 0 ? extent_rule(a, at->device, &w)
         : strcmp(why, "cost") == 0   ? cost_rule(a, at)
                                      : NULL;
}
