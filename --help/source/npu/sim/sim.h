/* sim.h -- the array, cycle by cycle, from the same bytes that a device gets.
 *
 * Loads an xclbin, runs transactions on host buffers.  Everything that happens
 * follows from register writes: buffer descriptors, channels with task queues,
 * locks, stream switches, shim DMA to host memory, cores that decode and
 * execute program memory.  Costs are those of timing.md for a named preset.
 */
#ifndef NPUTEIR_SIM_H
#define NPUTEIR_SIM_H

#include "array.h"
#include "base.h"

struct sim;

/* How far a run has come. */
struct sim_progress {
  uint64_t cycles;
  int operation, operations; /* of the transaction */
};

/* What a design calls its parts; NULL: it has no word for that one. */
struct sim_names {
  const char *(*lock)(void *context, int column, int row, int lock);
  const char *(*bd)(void *context, int column, int row, int bd);
  void *context;
};

struct sim_options {
  const struct preset *preset;
  uint64_t cycle_budget; /* of a run; 0: no limit */
  bool strict;           /* cores report hazards, and never run ahead; a bank
                            that serves two accesses in a cycle is an error */
  FILE *trace;           /* NULL: none */
  bool record;           /* where cycles go, for sim_record (record.h) */
  /* Called several times a second while a run lasts; false ends the run, as
   * a failure, with a report of what was done.  NULL: nobody asks. */
  bool (*progress)(void *context, const struct sim_progress *);
  void *progress_context;
  const struct sim_names *names; /* borrowed while the simulator lives; NULL */
};

struct sim_report {
  uint64_t cycles;      /* of the run, command processor included */
  uint64_t busy_cycles; /* from the first to the last cycle in which a core or
                           a DMA channel did something */
  uint64_t core_cycles; /* cores that ever ran x busy_cycles */
  uint64_t mac_cycles;  /* summed over cores: a multiply issued */
  /* Cycles summed over cores, while the array was busy. */
  uint64_t stall_lock, stall_memory, stall_stream;
  /* stall_memory by what a core waited for: another access of the same bundle,
   * a DMA channel, a core that shares the memory, the register bus. */
  uint64_t stall_memory_own, stall_memory_dma, stall_memory_neighbour,
      stall_memory_bus;
  uint64_t
      bank_conflicts; /* banks x cycles in which one had several requests */
  uint64_t bytes_read, bytes_written; /* host memory */
  int cores;
};

struct sim_buffer {
  void *data;
  size_t bytes;
};

/* Loads and configures; NULL and *d on a bad file. */
struct sim *sim_open(const void *xclbin, size_t length,
                     const struct sim_options *, struct diag *);
void sim_close(struct sim *);
/* Of the runs that follow, in the place of the options'. */
void sim_set_budget(struct sim *, uint64_t cycles);
/* Runs one transaction to its end on the given argument buffers.  State of the
 * array persists between runs.  Fails on deadlock (says who waits for what),
 * budget, access outside a buffer, or a core's error. */
bool sim_run(struct sim *, const void *txn, size_t length,
             const struct sim_buffer *argument, int argument_count,
             struct sim_report *, struct diag *);
/* The same for a host that looks at its buffers meanwhile, or changes them:
 * after sim_begin, sim_advance goes on for so many cycles and says whether the
 * run has come to its end, and then sim_end ends it.  The buffers are borrowed
 * until then, the array of them is not. */
bool sim_begin(struct sim *, const void *txn, size_t length,
               const struct sim_buffer *argument, int argument_count,
               struct diag *);
bool sim_advance(struct sim *, uint64_t cycles);
bool sim_end(struct sim *, struct sim_report *, struct diag *);
/* Why a run failed; NULL: none did. */
const char *sim_failure(const struct sim *);
/* Everything that waited at a deadlock, and for what; nothing without one. */
void sim_print_waits(const struct sim *, struct text *);
/* The deadlock as a chain, a line per part: each waits for the next, the last
 * one for one before it or for something that nobody will do. */
void sim_print_deadlock(const struct sim *, struct text *);

#endif
