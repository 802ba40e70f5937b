/* bytes.h -- little-endian words in and out of byte strings; the readers'
 * bounded view of outside bytes. */
#ifndef NPUTEIR_BYTES_H
#define NPUTEIR_BYTES_H

#include "base.h"

#include <string.h>

static inline uint16_t bytes_u16(const void *p) {
  const uint8_t *b = p;
  return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t bytes_u32(const void *p) {
  const uint8_t *b = p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
         (uint32_t)b[3] << 24;
}

static inline uint64_t bytes_u64(const void *p) {
  return bytes_u32(p) | (uint64_t)bytes_u32((const uint8_t *)p + 4) << 32;
}

static inline void bytes_set_u32(void *p, uint32_t v) {
  uint8_t *b = p; /* one store, which compilers do not make of a loop */
  b[0] = (uint8_t)v;
  b[1] = (uint8_t)(v >> 8);
  b[2] = (uint8_t)(v >> 16);
  b[3] = (uint8_t)(v >> 24);
}

static inline void bytes_set_u64(void *p, uint64_t v) {
  bytes_set_u32(p, (uint32_t)v);
  bytes_set_u32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static inline void bytes_put_u32(struct text *t, uint32_t v) {
  bytes_set_u32(text_extend(t, 4), v);
}

static inline void bytes_put_words(struct text *t, const uint32_t *words,
                                   size_t count) {
  char *to = text_extend(t, 4 * count);
  for (size_t i = 0; i < count; i++)
    bytes_set_u32(to + 4 * i, words[i]);
}

/* bytes_put_list(t, ...): the words behind it. */
#define bytes_put_list(t, ...)                                                 \
  bytes_put_words(t, (const uint32_t[]){__VA_ARGS__},                          \
                  sizeof(uint32_t[]){__VA_ARGS__} / 4)

static inline void bytes_put_u64(struct text *t, uint64_t v) {
  bytes_put_u32(t, (uint32_t)v);
  bytes_put_u32(t, (uint32_t)(v >> 32));
}

static inline void bytes_zeros(struct text *t, size_t count) {
  text_extend(t, count);
}

/* Zero bytes up to the next multiple of `alignment`. */
static inline void bytes_align(struct text *t, size_t alignment) {
  bytes_zeros(t, -t->length % alignment);
}

/* Whether [offset, offset + size) lies within `length` bytes. */
static inline bool bytes_within(size_t length, uint64_t offset, uint64_t size) {
  return offset <= length && size <= length - offset;
}

/* Of all bytes, eight at a time; sums of another start have nothing to do with
 * each other. */
static inline uint64_t bytes_hash(const void *p, size_t length,
                                  uint64_t start) {
  const uint8_t *b = p;
  uint64_t h = start;
  for (; length >= 8; length -= 8, b += 8) {
    h = (h ^ bytes_u64(b)) * 0x100000001b3;
    h ^= h >> 32;
  }
  for (; length > 0; length--, b++)
    h = (h ^ *b) * 0x100000001b3;
  return h;
}

/* One 32-bit word of a sum-complement checksum: ~(sum of `count` words). */
static inline uint32_t bytes_checksum(const void *p, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += bytes_u32((const uint8_t *)p + 4 * i);
  return ~sum;
}

#endif
