/* parts.h -- what the room's own files share. */
#ifndef NPUTEIR_RUN_PARTS_H
#define NPUTEIR_RUN_PARTS_H

#include "recognizer.h"
#include "run.h"
#include "teir.h"

#include <pthread.h>

/* ---- options.c ---- */
/* What holds where nothing is said. */
struct run_options run_options_weakest(void);
/* The words of one door over those of weaker doors; text may be NULL. */
bool run_options_read(const char *door, const char *text, struct run_options *,
                      struct diag *);
/* The word of NPUTEIR_DEVICE, stronger than all doors; NULL is fine. */
bool run_options_device(const char *word, struct run_options *, struct diag *);

/* ---- product.c: a TEIR and its run-time values as a matrix product ---- */
enum { PRODUCT_ROLES = 4, PRODUCT_AXES = 16 };
struct product_axis {
  const char *id;
  int64_t extent, stride_bytes[RUN_TENSORS];
};
struct product {
  enum dtype type[RUN_TENSORS];
  bool accumulate; /* else out is zeroed first */
  int count[PRODUCT_ROLES];
  struct product_axis axis[PRODUCT_ROLES][PRODUCT_AXES]; /* by axis_role */
  int64_t extent[PRODUCT_ROLES]; /* product of the role's extents */
  int64_t offset[RUN_TENSORS];   /* bytes from the base to element 0 */
  bool empty_out;                /* no element of out is touched */
  bool empty_sum;                /* nothing is summed: out is zeroed or kept */
};
/* False and *d: not a plain product, or one that we may not run. */
bool product_read(const struct teir *, const int64_t *value, struct product *,
                  struct diag *);
/* Einsum, sizes and types for the trace. */
void product_describe(const struct product *, struct run_report *);
/* Declines when out may share a byte with an input. */
bool product_disjoint(const struct product *, void *const tensor[],
                      struct diag *);
/* out = 0 everywhere. */
void product_zero(const struct product *, void *const tensor[]);
/* offset[i]: bytes from element 0 of a role's fused axes to element i. */
void product_offsets(const struct product *, enum axis_role, int tensor,
                     int64_t *offset);

/* ---- pack.c: copies between two ways to lay out a matrix ---- */
/* Element (i, j) lies at row[i] + column[j] bytes. */
struct pack_matrix {
  char *base;
  const int64_t *row, *column;
};
void pack_copy(const struct pack_matrix *to, const struct pack_matrix *from,
               int64_t rows, int64_t columns, int element_bytes);
/* to += from, in f32 or modulo 2^32. */
void pack_add(const struct pack_matrix *to, const struct pack_matrix *from,
              int64_t rows, int64_t columns, enum dtype);

/* ---- cache.c: entries by key, the least recently used goes first ---- */
enum cache_state { CACHE_NEW, CACHE_READY, CACHE_FAILED };
struct cache_entry {
  pthread_mutex_t lock; /* held while the payload is built or used */
  enum cache_state state;
  struct diag diag; /* why it failed */
  struct arena *arena;
  const struct teir *teir;
  const struct run_plan *plan;
  const struct run_device *device;
  struct run_session *session;
  size_t bytes; /* that the payload holds beside the arena, about */
  /* the cache's own */
  void *key;
  size_t key_bytes;
  int users;
  uint64_t last_use;
};
struct cache {
  pthread_mutex_t lock;
  struct cache_entry *entry[64];
  int count;
  int limit;         /* at most this many entries ... */
  size_t byte_limit; /* ... and bytes; more only while all are in use */
  uint64_t clock;
};
void cache_open(struct cache *, int limit, size_t byte_limit);
void cache_close(struct cache *);
/* NULL: no memory, or too many in use. */
struct cache_entry *cache_take(struct cache *, const void *key, size_t bytes);
void cache_give(struct cache *, struct cache_entry *);

/* ---- launch.c ---- */
/* Runs a product that is not empty on a device that takes launches. */
bool launch_product(struct cache *, const struct run_compiler *,
                    const struct run_device *, const struct run_options *,
                    const struct product *, void *const tensor[],
                    struct run_report *, struct diag *);

/* ---- trace.c ---- */
void trace_report(const struct run_report *, const char *where);

#endif
