/* memory.h -- memory that a failing attempt gives back: what arena.c and text.c
 * allocate with. */
#ifndef NPUTEIR_MEMORY_H
#define NPUTEIR_MEMORY_H

#include <stddef.h>

/* A piece of an arena beside its first. */
struct memory_chunk {
  struct memory_chunk *next;
  size_t used, size; /* bytes, this head among them */
};

/* The head of everything that an attempt can free. */
struct memory_head {
  struct memory_head *next, **link; /* in its attempt's list; NULL: in none */
  struct memory_chunk *chunk;       /* freed with it */
  struct memory_chunk *spare;       /* so, too: not in use now */
};

/* Zeroed, `size` bytes with the head; ends in out_of_memory. */
void *memory_open(size_t size);
/* The same block, which may move, as large as `size`; NULL opens one. */
void *memory_resize(void *block, size_t size);
void memory_close(struct memory_head *); /* NULL is fine */

#endif
