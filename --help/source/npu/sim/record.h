/* record.h -- where the cycles of a run went: a lane per core, DMA channel and
 * for the command processor, each a gapless row of spans from the first cycle
 * of the run to its last.
 *
 * A span says how many of its cycles went to which cause.  A lane has at most
 * RECORD_SPANS: where a run has more changes, neighbours are merged that are
 * not longer than `grain` together, and the grain doubles as often as that
 * takes.  A wait that is longer keeps its place to the cycle, and all sums are
 * exact.
 */
#ifndef NPUTEIR_SIM_RECORD_H
#define NPUTEIR_SIM_RECORD_H

#include "sim.h"

enum record_cause {
  RECORD_IDLE,     /* no task, or the core does not run */
  RECORD_MULTIPLY, /* core: the vector unit's multiplier issued */
  RECORD_WORK,     /* core: other bundles; channel: a task or descriptor starts;
                      command processor: its operations */
  RECORD_MOVE,     /* channel: a word per cycle */
  RECORD_LOCK,     /* waits for a lock */
  RECORD_STREAM,   /* reader: for words; writer: for room */
  RECORD_BANK,     /* for a bank of a tile's memory */
  RECORD_DRAM,     /* shim: for host memory's bandwidth */
  RECORD_TOKEN,    /* command processor: for a token or a polled register */
  RECORD_CAUSES
};
const char *record_cause_name(enum record_cause); /* "multiply" */

enum {
  RECORD_SPANS = 2048,
  RECORD_ARGUMENTS = 4, /* arguments of a run that are told apart */
};

struct record_span {
  uint32_t cycles[RECORD_CAUSES];
};

enum record_kind { RECORD_CORE, RECORD_S2MM, RECORD_MM2S, RECORD_CONTROL };

struct record_lane {
  enum record_kind kind;
  int column, row, channel;
  uint64_t total[RECORD_CAUSES]; /* sum: the cycles of the run */
  uint64_t words;                /* that a channel moved */
  /* Arguments whose elements pass here, a bit each, found by following locks
   * and streams from the shim channels that access them; 0: not known. */
  unsigned arguments;
  /* Cores: of total[RECORD_LOCK], before the first multiply and behind the last
   * one. */
  uint64_t start_wait, end_wait;
  /* The remainder of it, by the argument whose blocks the lock guards; the last
   * is for locks of none or several. */
  uint64_t lock_for[RECORD_ARGUMENTS + 1];
  /* Shim channels: bytes accessed in each argument, and the time that DRAM took
   * for them, cycles. */
  uint64_t argument_bytes[RECORD_ARGUMENTS];
  double dram_cycles;
  int span_count;
  struct record_span *span;
  uint64_t grain;
};

struct record {
  int columns, rows; /* of tiles */
  struct sim_report report;
  const struct preset *preset;
  int lane_count;
  struct record_lane *lane; /* only such as did something */
};

/* The last run, if sim_options.record asked for it, also one that failed; it
 * lives until the next run.  NULL: none. */
const struct record *sim_record(const struct sim *);

#endif
