/* nests.c -- nests that have been read, by the addresses of their texts, and
 * how many multiply-adds one of their calls is: known without reading anything
 * again, whatever its sizes.
 *
 * Any thread may look at any time without a lock.  An entry is written once,
 * before it is published, but for its rate.
 */
#include "parts.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NESTS = 512, PROBES = 8 };

struct nest_known {
  uint64_t key;
  double least, constant;
  int count, symbol[PRODUCT_AXES]; /* factors that are values of the call */
  _Atomic double rate;             /* seconds per multiply-add of the loop */
  _Atomic double rate_macs;        /* of the calls that said so */
};

struct nests {
  _Atomic(struct nest_known *) nest[NESTS];
};

struct nests *nests_open(void) {
  return calloc(1, sizeof(struct nests));
}

void nests_close(struct nests *all) {
  for (int i = 0; all && i < NESTS; i++)
    free(atomic_load(&all->nest[i]));
  free(all);
}

static uint64_t key_of(const struct run_request *q) {
  const uint64_t prime = 0x9e3779b97f4a7c15u;
  uint64_t h = ((uintptr_t)q->teir * prime ^ (uintptr_t)q->where) * prime ^
               (uintptr_t)q->options;
  return h ^ h >> 31;
}

struct nest_known *nests_find(const struct nests *all,
                              const struct run_request *q) {
  uint64_t key = key_of(q);
  for (uint64_t i = 0; i < PROBES; i++) {
    struct nest_known *n = atomic_load_explicit(&all->nest[(key + i) % NESTS],
                                                memory_order_acquire);
    if (!n || n->key == key)
      return n;
  }
  return NULL;
}

static struct nest_known *read_sizes(const struct teir *t, uint64_t key) {
  struct nest_known *n = calloc(1, sizeof *n);
  if (!n)
    return NULL;
  n->key = key;
  n->constant = 1;
  for (int i = 0; i < t->axis_count; i++) {
    struct value v = t->axis[i].extent;
    if (v.symbol < 0) {
      n->constant *= (double)v.constant;
    } else if (n->count < PRODUCT_AXES) {
      n->symbol[n->count++] = v.symbol;
    } else {
      free(n);
      return NULL;
    }
  }
  return n;
}

void nests_add(struct nests *all, const struct run_request *q,
               const struct teir *t, double least) {
  uint64_t key = key_of(q);
  if (nests_find(all, q))
    return;
  struct nest_known *n = read_sizes(t, key), *none;
  if (n)
    n->least = least;
  for (uint64_t i = 0; n && i < PROBES; i++) {
    none = NULL;
    if (atomic_compare_exchange_strong(&all->nest[(key + i) % NESTS], &none,
                                       n) ||
        none->key == key) {
      if (none) /* another thread was first */
        free(n);
      return;
    }
  }
  free(n);
}

double nest_macs(const struct nest_known *n, const struct run_request *q) {
  double macs = n->constant;
  for (int i = 0; i < n->count; i++) {
    if ((uint64_t)n->symbol[i] >= q->value_count)
      return -1; /* the call is wrong, and is told so */
    int64_t v = q->value[n->symbol[i]];
    macs *= v > 0 ? (double)v : 0;
  }
  return macs;
}

double nest_least(const struct nest_known *n) { return n->least; }

double nest_rate(const struct nest_known *n) {
  return atomic_load_explicit(&n->rate, memory_order_relaxed);
}

/* Of calls of about the size of the largest: others are mostly the beginnings
 * and ends of their loops. */
void nest_loop_took(struct nest_known *n, double macs, double seconds) {
  double most = atomic_load_explicit(&n->rate_macs, memory_order_relaxed);
  if (macs < 1 || macs < most / 2)
    return;
  atomic_store_explicit(&n->rate_macs, macs > most ? macs : most,
                        memory_order_relaxed);
  atomic_store_explicit(&n->rate, seconds / macs, memory_order_relaxed);
}
