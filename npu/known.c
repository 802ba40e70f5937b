/* known.c -- blockings that were the best ones of other sizes.
 *
 * To search all blockings takes milliseconds, and a program that multiplies
 * many sizes has after some of them most blockings that are good for the next
 * one, with the programs of their cores (core_cache.c).  The lock is held for
 * copies only; nothing that may end for lack of memory happens under it.
 */
#include "npu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = 24 }; /* pricing them all takes less than a millisecond */

struct work {
  enum dtype type[TENSORS], acc;
  struct teir_finish finish;
};

struct npu_known {
  pthread_mutex_t lock;
  int count, oldest;
  struct work work[KNOWN];
  struct map_blocking blocking[KNOWN];
};

struct npu_known *npu_known_open(void) {
  struct npu_known *x = calloc(1, sizeof *x);
  if (x)
    pthread_mutex_init(&x->lock, NULL);
  return x;
}

void npu_known_close(struct npu_known *x) {
  if (!x)
    return;
  pthread_mutex_destroy(&x->lock);
  free(x);
}

static bool is_same(const struct work *w, const struct teir_problem *p) {
  const struct teir_finish *a = &w->finish, *b = &p->finish;
  return memcmp(w->type, p->type, sizeof w->type) == 0 && w->acc == p->acc &&
         a->bias == b->bias && a->relu == b->relu &&
         a->keeps_nan == b->keeps_nan && a->saturate == b->saturate &&
         a->shift == b->shift;
}

int npu_known_like(struct npu_known *x, struct arena *a,
                   const struct teir_problem *p, struct map_blocking **to) {
  int count = 0;
  *to = arena_array(a, KNOWN, sizeof **to);
  pthread_mutex_lock(&x->lock);
  for (int i = 0; i < x->count; i++)
    if (is_same(&x->work[i], p))
      (*to)[count++] = x->blocking[i];
  pthread_mutex_unlock(&x->lock);
  return count;
}

static bool is_alike(const struct map_blocking *a,
                     const struct map_blocking *b) {
  return a->block_m == b->block_m && a->block_n == b->block_n &&
         a->block_k == b->block_k && a->group_m == b->group_m &&
         map_same_grid(&a->form, &b->form) &&
         memcmp(a->form.layout, b->form.layout, sizeof a->form.layout) == 0;
}

void npu_known_add(struct npu_known *x, const struct teir_problem *p,
                   const struct map_blocking *b) {
  bool there = false;
  pthread_mutex_lock(&x->lock);
  for (int i = 0; i < x->count; i++)
    there |= is_same(&x->work[i], p) && is_alike(&x->blocking[i], b);
  if (!there) {
    int at = x->count < KNOWN ? x->count++ : x->oldest;
    x->oldest = (at + 1) % KNOWN;
    memcpy(x->work[at].type, p->type, sizeof p->type);
    x->work[at].acc = p->acc;
    x->work[at].finish = p->finish;
    x->blocking[at] = *b;
  }
  pthread_mutex_unlock(&x->lock);
}
