/* gemm_loaded.c -- what a product costs a core in the steady state of a design,
 * between others of its kind and beside the DMA channels that bring the next
 * blocks: its schedule is set against the banks, without a line of code.
 *
 * The products of two steps follow each other so that a multiply comes in every
 * cycle in which the schedule has one; loads ahead of the first fall into the
 * product before, stores behind the last into the next one.  Banks serve an
 * access per cycle (timing.md B7): accesses of a bundle that meet cost a cycle
 * each, and a channel waits for a free cycle until its FIFO's margin is used
 * up, then the bundle waits (B12).  A channel begins a block when the product
 * before has given it back, and comes a beat per cycle.  Runs shorter than a
 * bank's word take an access each; where one lies in its buffer is not
 * followed.
 */
#include "kernel_gemm.h"
#include "kernel_trace.h"

#include <assert.h>
#include <math.h>

enum {
  PAIRS = 4,
  PAIR_SHIFT = 14,
  ACCESS_BEATS = 4, /* of a channel, timing.md B13 */
  FIFO_BEATS = 15,  /* D8 */
  MARGIN_BEATS = 4, /* B12 */
  STEPS = 2,        /* both buffers of every ring */
  INPUTS = 2
};

/* A channel that fills a block. */
struct channel {
  uint32_t at; /* of its next access */
  int left;    /* bytes that have not come yet */
  int held;    /* in the FIFO */
  int block_bytes;
  int access_bytes; /* a bank's word, or a run that is shorter */
};

struct loaded {
  const struct kernel_places *places;
  uint32_t word_bytes; /* of a bank; two make the widest access */
  int beat_bytes;
  int product_count, span, cycles; /* span: of a product; cycles: of all */
  uint8_t (*pair)[PAIRS];          /* accesses of the core, by cycle */
  struct channel channel[INPUTS];
  int waits;
};

/* Which buffer of A and of B a product reads. */
static int buffer_of(const struct loaded *l, int input, int product) {
  int step = product / l->places->group;
  return (input || l->places->group == 1 ? step : product) % STEPS;
}

static int block_of_c(const struct loaded *l, int product) {
  return product % l->places->group;
}

static uint32_t base_of(const struct loaded *l, int stream, int product) {
  const struct kernel_places *p = l->places;
  switch (stream) {
  case GEMM_STREAM_A:
    return p->a[buffer_of(l, 0, product)];
  case GEMM_STREAM_B:
  case GEMM_STREAM_B_AGAIN:
    return p->b[buffer_of(l, 1, product)];
  }
  return p->c[block_of_c(l, product)];
}

static void place_product(struct loaded *l, const struct schedule *s,
                          int product) {
  int start = product * l->span - s->first_mac;
  for (int i = 0; i < s->access_count; i++) {
    const struct schedule_access *x = &s->access[i];
    uint32_t at = base_of(l, x->stream, product) + (uint32_t)x->offset;
    int cycle = (start + x->cycle) % l->cycles;
    cycle += cycle < 0 ? l->cycles : 0;
    assert(at >> PAIR_SHIFT < PAIRS);
    l->pair[cycle][at >> PAIR_SHIFT]++;
  }
}

/* One cycle in which the core wants `pairs`; whether it has them. */
static bool try_cycle(struct loaded *l, unsigned pairs) {
  unsigned taken = 0, wanted = 0;
  for (unsigned p = 0; p < PAIRS; p++)
    wanted |= pairs >> p & 1 ? 3u << 2 * p : 0;
  for (int i = 0; i < INPUTS; i++) {
    struct channel *c = &l->channel[i];
    if (c->left && c->held < FIFO_BEATS * l->beat_bytes)
      c->left -= l->beat_bytes, c->held += l->beat_bytes;
    unsigned bit =
        1u << (2 * (c->at >> PAIR_SHIFT) + (c->at / l->word_bytes & 1));
    bool urgent = FIFO_BEATS - c->held / l->beat_bytes < MARGIN_BEATS;
    if (c->held < c->access_bytes || taken & bit || (wanted & bit && !urgent))
      continue;
    taken |= bit;
    c->held -= c->access_bytes;
    c->at += (uint32_t)c->access_bytes;
  }
  return !(taken & wanted);
}

static void run_cycle(struct loaded *l, const uint8_t *count) {
  for (unsigned again = 0;; again++) {
    unsigned pairs = 0;
    for (unsigned p = 0; p < PAIRS; p++)
      pairs |= count[p] > again ? 1u << p : 0;
    if (again && !pairs)
      return;
    l->waits += again > 0;
    while (!try_cycle(l, pairs))
      l->waits++;
  }
}

/* Channels go on to the blocks that this product has no use for. */
static void aim(struct loaded *l, int product) {
  for (int i = 0; i < INPUTS; i++) {
    if (i && product % l->places->group)
      continue;
    int other = 1 - buffer_of(l, i, product);
    l->channel[i].at = i ? l->places->b[other] : l->places->a[other];
    l->channel[i].left = l->channel[i].block_bytes;
    l->channel[i].held = 0;
  }
}

bool kernel_gemm_loaded(struct arena *scratch, const struct kernel_gemm *k,
                        const struct kernel_places *places, double *cycles,
                        struct diag *d) {
  struct schedule s;
  bool good = kernel_gemm_schedule(scratch, k, &s, d);
  struct diag too_long = {0};
  bool fits = !good || !kernel_gemm_kind(k)->lanes ||
              kernel_fold(scratch, "product", NULL, 0, &s, &too_long);
  *cycles = HUGE_VAL;
  assert(places->group == 1 || places->group == 2);
  if (good && fits) {
    struct loaded l = {.places = places,
                       .word_bytes = (uint32_t)s.machine->access_bytes / 2,
                       .product_count = STEPS * places->group,
                       .span = s.last_mac + 1 - s.first_mac};
    int word = (int)l.word_bytes;
    l.beat_bytes = word / ACCESS_BEATS;
    for (int i = 0; i < INPUTS; i++) {
      int run = (int)places->run[i];
      l.channel[i].block_bytes = (int)kernel_gemm_bytes(k, i);
      l.channel[i].access_bytes = run > 0 && run < word ? run : word;
    }
    l.cycles = l.product_count * l.span;
    l.pair = arena_array(scratch, (size_t)l.cycles, sizeof *l.pair);
    for (int i = 0; i < l.product_count; i++)
      place_product(&l, &s, i);
    for (int i = 0; i < l.cycles; i++) {
      if (i % l.span == 0)
        aim(&l, i / l.span);
      run_cycle(&l, l.pair[i]);
    }
    /* buffers of A, and for a group one of B, are acquired and released */
    double locks = 2 + 2.0 / places->group;
    *cycles = (double)(l.cycles + l.waits) / l.product_count + locks;
  }
  arena_clear(scratch);
  return good;
}
