/* buffer.c -- what a buffer of an input's ring in a mem tile holds, and which
 * words of in1's become a bias: the stream of a buffer says which place of a
 * core's memory a word gets to, and so where it lies in device memory.  Zeros
 * behind a block's k would be in between, so a bias has none (map_bias_fits).
 */
#include "parts.h"

#include <assert.h>

/* A buffer is one block of several steps, not one block of a step behind the
 * other. */
bool design_is_wide(const struct tile_program *p) {
  return p->transfer[IN0].turned || p->panel.run[IN0] > 1 || map_is_uneven(p);
}

int design_buffer_steps(const struct tile_program *p, int tensor) {
  if (map_is_uneven(p))
    return p->panel.run[tensor];
  if (tensor == IN0 && !design_is_wide(p))
    return 1;
  return tensor == IN0 && p->panel.chunks && !p->converts
             ? p->steps_k / p->panel.chunks
             : p->panel.run[tensor];
}

/* Where the word `i` of a stream has its place. */
static int64_t place_of(const struct map_stream *s, int64_t i) {
  int64_t at = 0;
  for (int k = s->count - 1; k >= 0; k--) {
    at += i % s->loop[k].extent * s->loop[k].place_bytes;
    i /= s->loop[k].extent;
  }
  return at;
}

struct design_bias design_bias(const struct tile_program *p) {
  enum { ALIGNMENT = 64 };
  int64_t block = (int64_t)p->block_k * p->block_n *
                  dtype_bytes(p->transfer[IN1].type) *
                  design_buffer_steps(p, IN1);
  return (struct design_bias){.offset_bytes =
                                  (p->transfer[OUT].bytes + ALIGNMENT - 1) /
                                  ALIGNMENT * ALIGNMENT,
                              .block_bytes = block,
                              .blocks = p->grid.columns * p->rounds_n};
}

bool design_bias_words(const struct tile_program *p, uint32_t *place) {
  enum { WORD = 4 };
  struct map_stream s;
  if (!map_stream_of(p, IN1, design_buffer_steps(p, IN1), false, &s))
    return false;
  int words = map_bias_words(p);
  int64_t count = design_bias(p).block_bytes / WORD;
  assert(words <= count);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = place_of(&s, i) / WORD;
    if (at < words)
      place[at] = (uint32_t)i;
  }
  return true;
}
