/* room.h -- memory with numbers of all kinds in it, between pages that nobody
 * may read. */
#ifndef TEST_PASSES_ROOM_H
#define TEST_PASSES_ROOM_H

#include <stddef.h>
#include <sys/mman.h>

enum { ROOM_PAGE = 4096 };

/* So many bytes, which whole pages hold; NULL: there are none. */
static inline char *room(size_t bytes) {
  char *page = mmap(NULL, bytes + 2 * ROOM_PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return NULL;
  char *begin = page + ROOM_PAGE;
  if (mprotect(begin, bytes, PROT_READ | PROT_WRITE))
    return NULL;
  for (size_t i = 0; i < bytes; i++)
    begin[i] = (char)(i * 73 % 251 + i / 251);
  return begin;
}

#endif
