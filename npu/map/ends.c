/* ends.c -- whether the shorter last step of k takes a task or a descriptor of
 * its own. */
#include "map.h"

bool map_stream_ends_apart(const struct tile_program *p, int steps,
                           const struct map_stream *s) {
  return map_buffers_k(p, steps) > 1 && !(s && s->by_k);
}

bool map_ends_apart(const struct tile_program *p, int tensor, int steps,
                    bool group) {
  struct map_stream s;
  return map_buffers_k(p, steps) > 1 &&
         map_stream_ends_apart(
             p, steps,
             map_stream_of_k(p, tensor, p->all_k, group, &s) ? &s : NULL);
}

bool map_panel_ends_apart(const struct tile_program *p) {
  return map_is_uneven(p) && p->panel.chunks &&
         map_ends_apart(p, IN0, p->panel.run[IN0], true);
}

static bool in1_ends_apart(const struct tile_program *p) {
  return map_is_uneven(p) && !map_fills(p) &&
         map_ends_apart(p, IN1, p->panel.run[IN1], false);
}

bool map_in1_in_two(const struct tile_program *p) {
  return map_fills(p) || in1_ends_apart(p);
}
