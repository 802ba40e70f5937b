/* lanes.c -- questions about one lane of a record. */
#include "parts.h"

static double length_of(const struct record_span *s) {
  double n = 0;
  for (int c = 0; c < RECORD_CAUSES; c++)
    n += s->cycles[c];
  return n;
}

void lane_count(const struct record_lane *l, struct window w,
                double cycles[RECORD_CAUSES]) {
  double at = 0;
  for (int c = 0; c < RECORD_CAUSES; c++)
    cycles[c] = 0;
  for (int i = 0; i < l->span_count && at < w.to; i++) {
    const struct record_span *s = &l->span[i];
    double length = length_of(s), end = at + length;
    double from = at > w.from ? at : w.from, to = end < w.to ? end : w.to;
    for (int c = 0; c < RECORD_CAUSES && to > from; c++)
      cycles[c] += s->cycles[c] * (to - from) / length;
    at = end;
  }
}

bool lane_is_channel(const struct record_lane *l) {
  return l->kind == RECORD_S2MM || l->kind == RECORD_MM2S;
}

bool lane_is_shim(const struct record_lane *l) {
  return lane_is_channel(l) && tile_kind(l->row) == TILE_SHIM;
}

void lane_name(const struct record_lane *l, struct text *t) {
  static const char *const kinds[TILE_KINDS] = {
      [TILE_SHIM] = "shim", [TILE_MEM] = "mem", [TILE_CORE] = "core"};
  if (l->kind == RECORD_CONTROL) {
    text_puts(t, "command processor");
    return;
  }
  text_printf(t, "%s (%d,%d)", kinds[tile_kind(l->row)], l->column, l->row);
  if (lane_is_channel(l))
    text_printf(t, " %s%d", l->kind == RECORD_MM2S ? "MM2S" : "S2MM",
                l->channel);
}

int lane_argument(const struct record_lane *l) {
  unsigned a = l->arguments;
  return a && !(a & (a - 1)) ? __builtin_ctz(a) : -1;
}

const char *argument_name(const struct profile_nest *n, int argument,
                          char buffer[24]) {
  if (n->argument[argument])
    return n->argument[argument];
  snprintf(buffer, 24, "argument %d", argument);
  return buffer;
}
