/* amdxdna.h -- an NPU by way of Linux's own driver, amdxdna, without XRT.
 *
 * The process has one node open, one heap on it, and few contexts.  Buffers
 * are memory that the device and the program see; a context is a configured
 * part of the array.  All calls may come from any thread.  A forked child can
 * use none of its parent's: every call declines there.
 *
 * Where the device failed to finish a command, it is not trusted again in this
 * process (amdxdna_dead), and what the command might still write to is kept.
 *
 * Sources: doc/hardware/driver.md.
 */
#ifndef NPUTEIR_AMDXDNA_H
#define NPUTEIR_AMDXDNA_H

#include "base.h"

/* What was found when the first caller asked; looked for once a process.  NULL
 * and *d: there is no NPU that we can use, and why. */
struct amdxdna;
struct amdxdna *amdxdna_find(struct diag *);
const char *amdxdna_model(const struct amdxdna *);   /* as device.def says */
const char *amdxdna_name(const struct amdxdna *);    /* as the driver says */
const char *amdxdna_version(const struct amdxdna *); /* driver and firmware */
/* Name, version, and of which machine. */
const char *amdxdna_identity(const struct amdxdna *);

/* What the driver says of the device at this moment; -1: it does not say. */
struct amdxdna_status {
  int columns, rows;          /* with those that have no cores */
  int mhz[2];                 /* of the controller and of the array */
  int contexts, contexts_max; /* of all processes */
};
void amdxdna_ask(struct amdxdna *, struct amdxdna_status *);
/* Contexts of other processes; -1: an older driver does not say. */
int amdxdna_others(struct amdxdna *);

/* ---- memory ---- */
struct amdxdna_buffer {
  uint32_t handle; /* 0: none */
  void *memory;
  uint64_t address; /* in the device's view */
  size_t bytes;     /* mapped */
  bool borrowed;    /* the program's own memory */
};
/* Shared by program and device; or, in_heap, a configuration or transaction.
 * Declines without memory. */
bool amdxdna_buffer_open(struct amdxdna *, size_t bytes, bool in_heap,
                         struct amdxdna_buffer *, struct diag *);
/* The program's own memory, which the device is to read and not to write; at a
 * multiple of 4 bytes.  Its pages are pinned until the buffer is closed. False:
 * it must be copied. */
bool amdxdna_buffer_borrow(struct amdxdna *, const void *memory, size_t bytes,
                           struct amdxdna_buffer *);
void amdxdna_buffer_close(struct amdxdna *, struct amdxdna_buffer *);
/* The NPU sees no CPU cache: after the CPU wrote to a buffer that the device
 * reads or writes, and before the CPU reads what the device wrote. */
bool amdxdna_buffer_sync(struct amdxdna *, const struct amdxdna_buffer *,
                         bool from_device, struct diag *);
bool amdxdna_buffer_sync_part(struct amdxdna *, const struct amdxdna_buffer *,
                              size_t offset, size_t bytes, bool from_device,
                              struct diag *);

/* ---- programs ---- */
/* A place in the array for a configuration; it is given up while nothing runs
 * when others need one, and taken again by the next launch. */
struct amdxdna_context;
struct amdxdna_context *amdxdna_context_open(struct amdxdna *, struct diag *);
/* Waits for what it runs.  False: a command may still run, and its buffers must
 * be left as they are for the rest of the process. */
bool amdxdna_context_close(struct amdxdna *, struct amdxdna_context *);
/* How often the context got a place, and its configuration there. */
uint64_t amdxdna_context_loads(const struct amdxdna_context *);

/* Launches of a transaction on so many tuples of arguments, one after the
 * other; all borrowed. */
enum { AMDXDNA_ARGUMENTS = 4, AMDXDNA_LAUNCHES = 8 };
struct amdxdna_program {
  int columns, arguments;
  bool stays; /* it ends soon, though nobody waits for that */
  const struct amdxdna_buffer *pdi, *transaction;
  size_t transaction_bytes;
  int count;
  const struct amdxdna_buffer *argument[AMDXDNA_LAUNCHES][AMDXDNA_ARGUMENTS];
};
/* The commands of launches that are sent together, and are done together.  One
 * thread at a time; lists of a context run in the order in which they are
 * sent. */
struct amdxdna_list;
struct amdxdna_list *amdxdna_list_open(struct amdxdna *, struct diag *);
/* Waits.  False: as of a context. */
bool amdxdna_list_close(struct amdxdna_list *);
/* A list that does not run.  False: nothing of it does. */
bool amdxdna_send(struct amdxdna_list *, struct amdxdna_context *,
                  const struct amdxdna_program *, struct diag *);
/* To the end of what was sent last, if anything was.  An error means that
 * results are not to be used. */
bool amdxdna_wait(struct amdxdna_list *, struct diag *);

#endif
