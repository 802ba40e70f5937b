/* core.h -- the processor of one compute tile, stepped by the cycle.
 *
 * It decodes and executes the machine code in the tile's program memory with
 * the tables of npu/isa: delay slots, hardware loops, results visible at their
 * cycle and not before, bank conflicts of its own loads and stores, lock
 * stalls.  npu/sim's array owns memories and locks; the core reaches them
 * through this header only.
 */
#ifndef NPUTEIR_CORE_H
#define NPUTEIR_CORE_H

#include "base.h"

struct core;
struct isa;

/* What the core sees around it.  Pointers stay valid while the core lives. */
struct core_surroundings {
  const struct isa *isa; /* instruction set of the program */
  void *context;
  uint8_t *program;   /* 16 KiB program memory */
  uint8_t *memory[4]; /* 64 KiB each at 0x40000 south, 0x50000 west, 0x60000
                         north, 0x70000 own; NULL: no such neighbour */
  /* Lock ids as in core instructions: 0-15 south, 16-31 west, 32-47 north,
   * 48-63 own.  value < 0: wait until lock >= -value, then add value;
   * value >= 0: wait until lock == value.  false: not now, ask again. */
  bool (*acquire)(void *context, int lock, int value);
  void (*release)(void *context, int lock, int value);
  /* For strict mode: whether the last buffer taken by acquiring the lock, or
   * the next one given by releasing it, has this byte of the core's memory.
   * NULL: it may have any. */
  bool (*guards)(void *context, int lock, bool acquire, uint32_t address);
  /* What follows may be NULL: not connected, a core that uses it fails.
   * Streams and cascade: false means not now, ask again. */
  bool (*stream_read)(void *context, uint32_t *word, bool *last);
  bool (*stream_write)(void *context, uint32_t word, bool last);
  bool (*cascade_read)(void *context, uint8_t value[64]);
  bool (*cascade_write)(void *context, const uint8_t value[64]);
  /* The tile's own registers by their offset in the tile; false: none there. */
  bool (*register_read)(void *context, uint32_t offset, uint32_t *value);
  bool (*register_write)(void *context, uint32_t offset, uint32_t value);
};

enum core_state { CORE_STOPPED, CORE_RUNNING, CORE_DONE, CORE_FAILED };
enum core_stall { STALL_NONE, STALL_LOCK, STALL_MEMORY, STALL_STREAM };

struct core_counts {
  uint64_t cycles;   /* steps while running, stalls included */
  uint64_t bundles;  /* issued */
  uint64_t macs;     /* cycles in which a multiply of the vector unit issued */
  uint64_t stall[4]; /* cycles by enum core_stall */
};

struct core *core_open(const struct core_surroundings *);
void core_close(struct core *);
/* Program memory was written: forget decoded bundles. */
void core_invalidate(struct core *);
/* Resets registers and pipeline; the next step fetches at pc. */
void core_reset(struct core *, uint32_t pc);
void core_enable(struct core *, bool enabled);
/* One clock cycle.  *banks gets the set of physical banks (bit 2*addr[15:14] +
 * addr[4]) that serve the core in it: bits 7..0 of its own memory, 15..8 of the
 * south's, 23..16 of the west's, 31..24 of the north's. */
void core_step(struct core *, uint32_t *banks);

enum core_state core_state(const struct core *);
enum core_stall core_stalled(const struct core *); /* in the last step */
int core_waiting_lock(const struct core *);        /* core lock id, or -1 */
/* Whether the last bundle still waits for a lock, a stream or the cascade: the
 * next step tries again.  Locks are only ever tried so, streams and cascade in
 * the cycle of issue too. */
bool core_at_lock(const struct core *);
/* Whether the last bundle needs another cycle because a bank that it accesses
 * twice has served it once. */
bool core_at_bank(const struct core *);
/* Banks that got more than one request from the core in the last step. */
uint32_t core_conflicts(const struct core *);
/* Pairs of banks in which the last bundle accessed 32 bytes, which takes both
 * in the same cycle: bit 4 * memory + pair, memory as in core_surroundings. */
unsigned core_wide(const struct core *);
uint32_t core_pc(const struct core *);
const struct core_counts *core_counts(const struct core *);
/* Bundles issued so far whose slot `slot` (enum isa_slot) held an operation
 * that is no nop. */
uint64_t core_slot_bundles(const struct core *, int slot);
const struct diag *core_diag(const struct core *); /* when CORE_FAILED */
/* By architectural name ("r0", "p1", "lc"); scalar registers only. */
bool core_read_register(const struct core *, const char *name, uint32_t *);
bool core_write_register(struct core *, const char *name, uint32_t);
/* Strict mode: a hazard of the isa.md section D is a failure. */
void core_strict(struct core *, bool strict);

#endif
