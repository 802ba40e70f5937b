/* Address generation against nested loops, and against the padding example
 * that AMD's tools ship (array.md section 3). */
#include "check.h"
#include "tile.h"

#include <string.h>

static uint32_t state = 12345;
static uint32_t below(uint32_t n) {
  state = state * 1664525 + 1013904223;
  return (state >> 8) % n;
}

enum { MOST = 4096 };
struct words {
  int count;
  int64_t address[MOST]; /* -1: a zero */
};

/* All words by four nested loops; a wrap of 0 goes on for ever. */
static void by_loops(const struct walk *w, struct words *all) {
  uint32_t size[4];
  for (int d = 0; d < 4; d++) {
    uint32_t pads = d < 3 ? w->before[d] + w->after[d] : 0;
    size[d] = w->wrap[d] && d < 3 ? w->wrap[d] + pads : UINT32_MAX;
  }
  all->count = 0;
  for (uint32_t i3 = 0; i3 < size[3]; i3++)
    for (uint32_t i2 = 0; i2 < size[2]; i2++)
      for (uint32_t i1 = 0; i1 < size[1]; i1++)
        for (uint32_t i0 = 0; i0 < size[0]; i0++) {
          if (all->count == (int)w->left)
            return;
          uint32_t at[3] = {i0, i1, i2};
          int64_t address = w->base + (int64_t)i3 * w->step[3];
          bool zero = false;
          for (int d = 0; d < 3; d++) {
            int64_t i = (int64_t)at[d] - w->before[d];
            zero |= i < 0 || (w->wrap[d] && i >= w->wrap[d]);
            address += i * w->step[d];
          }
          all->address[all->count++] = zero ? -1 : address;
        }
}

/* The same by the walk, in accesses of at most `most` words. */
static void by_walk(struct walk w, uint32_t most, struct words *all) {
  all->count = 0;
  for (walk_start(&w); w.run;) {
    uint32_t n = w.run < most ? w.run : most;
    for (uint32_t i = 0; i < n; i++)
      all->address[all->count++] = w.zero ? -1 : w.address + i;
    walk_take(&w, n);
  }
  CHECK(!w.left);
}

static bool equal(const struct words *a, const struct words *b) {
  return a->count == b->count &&
         memcmp(a->address, b->address,
                (size_t)a->count * sizeof a->address[0]) == 0;
}

static struct walk random_walk(void) {
  struct walk w = {.base = 1000 + below(100), .left = below(MOST / 4)};
  for (int d = 0; d < 4; d++) {
    w.step[d] = below(3) ? 1 + below(20) : 1;
    w.wrap[d] = d < 3 && below(4) ? 1 + below(9) : 0;
  }
  for (int d = 0; d < 3 && !below(2); d++) {
    w.before[d] = below(4);
    w.after[d] = below(4);
  }
  return w;
}

static void test_random(void) {
  static struct words loops, walk;
  for (int i = 0; i < 5000; i++) {
    struct walk w = random_walk();
    by_loops(&w, &loops);
    by_walk(w, 1 + below(20), &walk);
    CHECK(equal(&loops, &walk));
  }
}

/* 61 x 56 bytes become 64 x 64 with (2,1) rows and (4,4) bytes of zeros. */
static void test_padding(void) {
  static struct words all;
  struct walk w = {.base = 0,
                   .left = 64 * 16,
                   .step = {1, 14, 1, 1},
                   .wrap = {14, 61, 0, 0},
                   .before = {1, 2, 0},
                   .after = {1, 1, 0}};
  by_walk(w, 4, &all);
  CHECK(all.count == 64 * 16);
  for (int row = 0; row < 64; row++)
    for (int i = 0; i < 16; i++) {
      bool pad = row < 2 || row == 63 || i == 0 || i == 15;
      CHECK(all.address[row * 16 + i] == (pad ? -1 : (row - 2) * 14 + i - 1));
    }
}

int main(void) {
  test_random();
  test_padding();
  return check_result();
}
