/* arena.c -- bump memory in chunks; takes sizes, gives zeroed memory. */
#include "base.h"
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  LEAST_CHUNK_BYTES = 4 << 10,
  MOST_CHUNK_BYTES = 64 << 10,
  ALIGNMENT = 16
};

struct arena {
  struct memory_head head;
  size_t bytes;
};

static size_t round_up(size_t n) {
  return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

struct arena *arena_open(void) { return memory_open(sizeof(struct arena)); }

void arena_close(struct arena *a) { memory_close((struct memory_head *)a); }

void arena_clear(struct arena *a) {
  struct memory_chunk **end = &a->head.chunk;
  while (*end)
    end = &(*end)->next;
  *end = a->head.spare;
  a->head.spare = a->head.chunk;
  a->head.chunk = NULL;
  a->bytes = 0;
}

static size_t head_bytes(void) { return round_up(sizeof(struct memory_chunk)); }

/* Fresh pages cost more than to clear old ones: the smallest spare chunk that
 * is large enough, or NULL. */
static struct memory_chunk *take_spare(struct arena *a, size_t least) {
  struct memory_chunk **best = NULL;
  for (struct memory_chunk **at = &a->head.spare; *at; at = &(*at)->next)
    if ((*at)->size - head_bytes() >= least &&
        (!best || (*at)->size < (*best)->size))
      best = at;
  if (!best)
    return NULL;
  struct memory_chunk *c = *best;
  *best = c->next;
  memset((char *)c + head_bytes(), 0, c->used - head_bytes());
  c->used = head_bytes();
  return c;
}

static struct memory_chunk *chunk_new(size_t payload) {
  size_t head = head_bytes();
  if (payload > SIZE_MAX - head)
    out_of_memory(payload);
  struct memory_chunk *c = calloc(1, head + payload);
  if (!c)
    out_of_memory(payload);
  c->used = head;
  c->size = head + payload;
  return c;
}

/* As much again as there is: many arenas live for one question and stay small,
 * and chunks are cleared. */
static size_t chunk_bytes(const struct arena *a, size_t least) {
  size_t bytes = a->bytes < LEAST_CHUNK_BYTES  ? LEAST_CHUNK_BYTES
                 : a->bytes > MOST_CHUNK_BYTES ? MOST_CHUNK_BYTES
                                               : a->bytes;
  return bytes > least ? bytes : least;
}

void *arena_alloc(struct arena *a, size_t size) {
  if (size > SIZE_MAX - ALIGNMENT)
    out_of_memory(size);
  size = round_up(size ? size : 1);
  struct memory_chunk *c = a->head.chunk;
  if (!c || c->size - c->used < size) {
    c = take_spare(a, size);
    if (!c)
      c = chunk_new(chunk_bytes(a, size));
    c->next = a->head.chunk;
    a->head.chunk = c;
  }
  void *p = (char *)c + c->used;
  c->used += size;
  assert(c->used <= c->size && (uintptr_t)p % ALIGNMENT == 0);
  a->bytes += size;
  return p;
}

void *arena_array(struct arena *a, size_t count, size_t size) {
  if (size && count > SIZE_MAX / size)
    out_of_memory(SIZE_MAX);
  return arena_alloc(a, count * size);
}

void *arena_copy(struct arena *a, const void *from, size_t count, size_t room,
                 size_t size) {
  void *p = arena_array(a, room > count ? room : count, size);
  if (count)
    memcpy(p, from, count * size);
  return p;
}

char *arena_string(struct arena *a, const char *s) {
  return arena_substring(a, s, strlen(s));
}

char *arena_substring(struct arena *a, const char *s, size_t length) {
  char *p = arena_alloc(a, length + 1);
  memcpy(p, s, length);
  return p;
}

/* Written where the next memory lies, which mostly has the room. */
char *arena_printf(struct arena *a, const char *format, ...) {
  const struct memory_chunk *c = a->head.chunk;
  size_t room = c ? c->size - c->used : 0;
  char *to = room ? (char *)c + c->used : NULL;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t length = (size_t)vsnprintf(to, room, format, args);
  va_end(args);
  char *p = arena_alloc(a, length + 1);
  if (p != to)
    vsnprintf(p, length + 1, format, again);
  va_end(again);
  return p;
}

size_t arena_bytes(const struct arena *a) { return a->bytes; }
