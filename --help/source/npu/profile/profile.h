/* profile.h -- recorded runs of the simulator, and calls that a real device
 * did, to look at: a summary as text, a page that a browser shows (one file,
 * nothing from a network), and a trace for Perfetto or chrome://tracing.
 *
 * A nest is read when it is added; its record need not live longer.  A nest has
 * a record or calls.
 */
#ifndef NPUTEIR_PROFILE_H
#define NPUTEIR_PROFILE_H

#include "record.h"

/* What the record does not know.  Strings are borrowed for the call. */
struct profile_nest {
  const char *name; /* "gemm.c:12 multiply", "1024x1024x1024" */
  const char *what; /* sizes and types, or "" */
  const char *argument[RECORD_ARGUMENTS]; /* "in0"; NULL: not known */
  /* Bytes of the tensor, which move at least once; 0: not known. */
  uint64_t least_bytes[RECORD_ARGUMENTS];
  /* The axis along which longer blocks move the tensor less often, or NULL. */
  const char *reuse_axis[RECORD_ARGUMENTS];
  double macs;          /* multiply-adds of the run; 0: not known */
  const char *failure;  /* why the run ended early; NULL: it did not */
  const char *deadlock; /* who waited for whom, lines; NULL: nobody did */
};
/* Names of a contraction's arguments, and what each is reused along. */
void profile_name_tensors(struct profile_nest *);

/* What the host did for a nest, as far as it was measured. */
struct profile_host {
  int64_t calls, launches, copied_bytes;
  uint64_t cycles; /* of all launches */
  double seconds;  /* outside of the simulation; of these: */
  double build;    /* making launches */
  double copy;     /* copies, packing and conversions */
  double wait;     /* for a real device: its launches */
};

/* A call that a real device did: seconds. */
struct profile_call {
  double at; /* when it began, by a clock that all calls share */
  double seconds, build, copy, wait; /* as in struct profile_host */
};

struct profile;
struct profile *profile_open(void);   /* NULL: no memory */
void profile_close(struct profile *); /* NULL is fine */
/* Returns the nest's number; -1: no memory. */
int profile_add(struct profile *, const struct record *,
                const struct profile_nest *);
/* A nest of calls; device: what did them.  Name, what and macs count. */
int profile_add_device(struct profile *, const char *device,
                       const struct profile_nest *);
/* The first thousands are kept one by one.  Without memory it is left out. */
void profile_add_call(struct profile *, int nest, const struct profile_call *);
void profile_set_host(struct profile *, int nest, const struct profile_host *);

void profile_print(const struct profile *, struct text *); /* the summary */
void profile_page(const struct profile *, struct text *);  /* HTML */
void profile_trace(const struct profile *, struct text *); /* trace events */
/* All three, as profile.html, trace.json and summary.txt in a folder that is
 * made if need be. */
bool profile_write(const struct profile *, const char *folder, struct diag *);

#endif
