/* memory.c -- what happens when there is no more memory.
 *
 * Constructors have no NULL ladder: what cannot be allocated ends in
 * out_of_memory.  In a compiler that is the end of the process, as in LLVM.  In
 * a program that only wanted its loop to run faster it must not be: there,
 * memory_try leaves the work where it stands (longjmp) and closes the arenas
 * and texts that it had opened.  They stand in a list that hangs on the
 * attempt.  A thread has a stack of attempts, the innermost one catches; where
 * there is none, as in the plugin and the tool, the process ends.
 *
 * The price is a rule for what runs inside of an attempt: no lock is held and
 * nothing but arenas and texts is allocated where an allocation may fail, or an
 * attempt of its own stands around that place.  A text that was empty when the
 * attempt began holds nothing that may be read or freed when it has failed.
 */
#include "memory.h"
#include "base.h"

#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>

struct attempt {
  struct attempt *outer;
  struct memory_head *opened; /* and not closed yet */
  jmp_buf failed;
};

/* A few bytes of the static block of a thread: an access cannot fail. */
static _Thread_local struct attempt *innermost
    __attribute__((tls_model("initial-exec")));

void out_of_memory(size_t size) {
  if (innermost)
    longjmp(innermost->failed, 1);
  fprintf(stderr, "nputeir: out of memory (%zu bytes)\n", size);
  abort();
}

static void enlist(struct memory_head *h) {
  if (!innermost)
    return;
  h->next = innermost->opened;
  h->link = &innermost->opened;
  if (h->next)
    h->next->link = &h->next;
  innermost->opened = h;
}

static void strike_off(struct memory_head *h) {
  if (!h->link)
    return;
  assert(*h->link == h);
  *h->link = h->next;
  if (h->next)
    h->next->link = h->link;
  h->next = NULL;
  h->link = NULL;
}

void *memory_open(size_t size) {
  struct memory_head *h = calloc(1, size);
  if (!h)
    out_of_memory(size);
  enlist(h);
  return h;
}

void *memory_resize(void *block, size_t size) {
  if (!block)
    return memory_open(size);
  struct memory_head *h = realloc(block, size);
  if (!h)
    out_of_memory(size);
  if (h->link)
    *h->link = h;
  if (h->next)
    h->next->link = &h->next;
  return h;
}

static void free_chunks(struct memory_chunk *c) {
  for (struct memory_chunk *next; c; c = next) {
    next = c->next;
    free(c);
  }
}

void memory_close(struct memory_head *h) {
  if (!h)
    return;
  strike_off(h);
  free_chunks(h->chunk);
  free_chunks(h->spare);
  free(h);
}

bool memory_try(void (*work)(void *), void (*undo)(void *), void *with) {
  struct attempt here = {.outer = innermost};
  innermost = &here;
  bool good = setjmp(here.failed) == 0;
  if (good)
    work(with);
  assert(innermost == &here);
  innermost = here.outer;
  if (!good && undo)
    undo(with);
  while (here.opened)
    if (good)
      strike_off(here.opened);
    else
      memory_close(here.opened);
  return good;
}
