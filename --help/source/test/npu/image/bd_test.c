/* bd_test.c -- descriptor words against those of array.md section 9,
 * which agree with AMD's aie-rt, and every field's limits. */
#include "check.h"
#include "image.h"

#include <string.h>

enum { SHIM, MEM, CORE };

static struct bd plain(uint64_t base, uint32_t length) {
  struct bd b = {.base = base,
                 .length_words = length,
                 .iteration_step_words = 1,
                 .iteration_count = 1,
                 .acquire_lock = -1,
                 .release_lock = -1,
                 .next = -1};
  for (int i = 0; i < 4; i++)
    b.dim[i].step_words = 1;
  return b;
}

static struct bd ring(uint64_t base, int acquire, int release, int next) {
  struct bd b = plain(base, 64);
  b.acquire_lock = acquire;
  b.acquire_value = -1;
  b.release_lock = release;
  b.release_value = 1;
  b.next = next;
  return b;
}

static void check_words(int kind, const struct bd *b, const uint32_t *want) {
  uint32_t words[8], again[8];
  struct diag d = {0};
  int count = bd_pack(kind, b, words, &d);
  CHECK(count == (kind == CORE ? 6 : 8));
  CHECK(memcmp(words, want, 4 * (size_t)count) == 0);
  struct bd back;
  CHECK(bd_unpack(kind, words, &back));
  CHECK(bd_pack(kind, &back, again, &d) == count);
  CHECK(memcmp(words, again, sizeof words) == 0);
}

static void test_passthrough(void) {
  struct bd b = ring(0, 0, 1, 0);
  check_words(CORE, &b, (uint32_t[]){0x40, 0, 0, 0, 0, 0x06043fe0});
  b = ring(0, 1, 0, 1);
  check_words(CORE, &b, (uint32_t[]){0x40, 0, 0, 0, 0, 0x0e041fe1});
  b = ring(0, 0, 1, 0);
  check_words(MEM, &b,
              (uint32_t[]){0x40, 0x000a0000, 0, 0, 0, 0, 0, 0x8141ff40});
  b = ring(0x1000, 3, 2, 25);
  check_words(MEM, &b,
              (uint32_t[]){0x40, 0x019a0400, 0, 0, 0, 0, 0, 0x8142ff43});
  b = plain(0, 64);
  b.burst = 2;
  check_words(
      SHIM, &b,
      (uint32_t[]){0x40, 0, 0, 0, 0x80000000, 0x02000000, 0, 0x02000000});
}

/* (1,4)(8,16)(4,-), base 0x400, 512 bytes, iteration step 16 x 4, packet id 5
 * of type 1. */
static void test_dims(void) {
  struct bd b = plain(0x400, 128);
  b.dim[0] = (struct bd_dim){1, 4};
  b.dim[1] = (struct bd_dim){8, 16};
  b.dim[2] = (struct bd_dim){4, 0};
  b.iteration_step_words = 16;
  b.iteration_count = 4;
  b.packet = true;
  b.packet_id = 5;
  b.packet_type = 1;
  check_words(CORE, &b,
              (uint32_t[]){0x00400080, 0x40290000, 0x0000e000, 0x02008003,
                           0x0000600f, 0x02000000});
}

static void test_shim_address(void) {
  struct bd b = plain(0x123456789abc, 1), back;
  uint32_t words[8];
  struct diag d = {0};
  CHECK(bd_pack(SHIM, &b, words, &d) == 8);
  CHECK(words[1] == 0x56789abc && words[2] == 0x1234);
  CHECK(bd_unpack(SHIM, words, &back) && back.base == b.base);
}

/* A signed field holds one value more below zero than above. */
static void test_signed_ends(void) {
  static const int value[] = {-64, -63, -1, 1, 63};
  for (int kind = SHIM; kind <= CORE; kind++)
    for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
      struct bd b = plain(0, 16), back;
      uint32_t words[8];
      struct diag d = {0};
      b.acquire_lock = b.release_lock = 1;
      b.acquire_value = b.release_value = value[i];
      CHECK(bd_pack(kind, &b, words, &d) && bd_unpack(kind, words, &back));
      CHECK(back.acquire_value == value[i] && back.release_value == value[i]);
    }
}

/* Each case breaks one field of a good descriptor. */
static void test_limits(void) {
  struct {
    int kind;
    struct bd bd;
    const char *says;
  } c[20];
  int n = 0;
#define BAD(tile, text, ...)                                                   \
  do {                                                                         \
    struct bd *b = &c[n].bd;                                                   \
    *b = plain(0, 16);                                                         \
    __VA_ARGS__;                                                               \
    c[n].kind = tile;                                                          \
    c[n++].says = text;                                                        \
  } while (0)
  BAD(CORE, "length (words) is 16384; the field holds 0 to 16383",
      b->length_words = 16384);
  BAD(CORE, "base address (words) is 16384", b->base = 0x10000);
  BAD(CORE, "0x2 is not a multiple of 4 bytes", b->base = 2);
  BAD(CORE, "step of dimension 0 is 8193; the field holds 1 to 8192",
      b->dim[0].step_words = 8193);
  BAD(CORE, "step of dimension 1 is 0", b->dim[1].step_words = 0);
  BAD(CORE, "wrap of dimension 1 is 256", b->dim[1].wrap = 256);
  BAD(CORE, "wrap of dimension 2 is 3; the field holds 0 to 0",
      b->dim[2].wrap = 3);
  BAD(CORE, "step of dimension 3 is 2", b->dim[3].step_words = 2);
  BAD(CORE, "acquired lock is 16", b->acquire_lock = 16);
  BAD(CORE, "acquire value is -65", b->acquire_lock = 1,
      b->acquire_value = -65);
  BAD(CORE, "release value is 64", b->release_lock = 1, b->release_value = 64);
  BAD(CORE, "next descriptor is 16", b->next = 16);
  BAD(CORE, "zeros before dimension 0 is 1", b->zero_before[0] = 1);
  BAD(CORE, "iteration count is 65", b->iteration_count = 65);
  BAD(MEM, "length (words) is 131072", b->length_words = 131072);
  BAD(MEM, "wrap of dimension 2 is 1024", b->dim[2].wrap = 1024);
  BAD(MEM, "next descriptor is 48; the field holds 0 to 47", b->next = 48);
  BAD(MEM, "acquired lock is 128", b->acquire_lock = 128);
  BAD(SHIM, "base address (upper) is 65536", b->base = (uint64_t)1 << 48);
  BAD(SHIM, "packet enable is 1", b->packet = true, b->length_words = 0);
#undef BAD
  for (int i = 0; i < n; i++) {
    uint32_t words[8];
    struct diag d = {0};
    CHECK(bd_pack(c[i].kind, &c[i].bd, words, &d) == 0);
    CHECK(d.kind == DIAG_ERROR);
    if (!strstr(d.text, c[i].says)) {
      fprintf(stderr, "expected '%s' in '%s'\n", c[i].says, d.text);
      CHECK(!"message");
    }
  }
}

/* Whatever a descriptor's words say, unpacking and packing keeps it, apart
 * from fields that nothing enables and bits that no field owns. */
static void test_any_words(void) {
  uint32_t seed = 1;
  int kept = 0;
  for (int i = 0; i < 20000; i++) {
    uint32_t words[8], again[8];
    for (int w = 0; w < 8; w++)
      words[w] = seed = seed * 1664525 + 1013904223;
    int kind = i % 3;
    struct bd b, c;
    struct diag d = {0};
    bd_unpack(kind, words, &b);
    if (!bd_pack(kind, &b, again, &d))
      continue;
    kept++;
    CHECK(bd_unpack(kind, again, &c));
    CHECK(b.base == c.base && b.length_words == c.length_words);
    CHECK(memcmp(b.dim, c.dim, sizeof b.dim) == 0);
    CHECK(b.acquire_lock == c.acquire_lock && b.next == c.next);
    CHECK(b.acquire_value == c.acquire_value);
    CHECK(b.release_value == c.release_value);
    CHECK(b.iteration_now == c.iteration_now);
  }
  CHECK(kept > 5000);
}

int main(void) {
  test_passthrough();
  test_dims();
  test_shim_address();
  test_signed_ends();
  test_limits();
  test_any_words();
  return check_result();
}
