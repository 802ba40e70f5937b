/* amdxdna_parts.h -- what amdxdna.c and amdxdna_run.c share. */
#ifndef NPUTEIR_AMDXDNA_PARTS_H
#define NPUTEIR_AMDXDNA_PARTS_H

#include "amdxdna.h"
#include "amdxdna_uapi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct amdxdna {
  int fd;
  pid_t owner;
  char name[64], model[16], version[64], identity[200];
  uint64_t heap_base; /* the device's address of the heap's first byte */
  struct amdxdna_buffer heap; /* all chunks; under the lock once it is there */
  size_t heap_most;           /* bytes that addresses are kept for */
  atomic_bool no_user_memory; /* the driver is older than user pointers */
  atomic_bool no_chains;      /* it refused one */
  pthread_mutex_t lock;
  pthread_cond_t waited; /* a thread has left a wait for a command */
  bool dead;             /* under the lock, as all that follows */
  struct amdxdna_context *contexts;
  uint64_t clock;
};

#define CALL_NUMBER(id, number, type) static const uint32_t call_##id = number;
AMDXDNA_CALLS(CALL_NUMBER)
#undef CALL_NUMBER

/* An interrupted call did nothing yet; it is made again. */
int amdxdna_call(int fd, uint32_t number, void *argument);
bool amdxdna_interrupted(int result);
/* Declines with errno in words. */
bool amdxdna_failed(struct diag *, const char *what);
/* Whether this process may use the device, and it works. */
bool amdxdna_usable(struct amdxdna *, struct diag *);
bool amdxdna_open_typed(struct amdxdna *, enum xdna_buffer_type, size_t bytes,
                        struct amdxdna_buffer *, struct diag *);

#endif
