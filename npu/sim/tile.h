/* tile.h -- the array's state, shared by the files of this module.
 *
 * A tile has memory, locks, descriptors, DMA channels, a stream switch and, in
 * rows 2 and up, a core.  Words travel as beats through FIFOs: each slave port
 * of a switch has one, and each S2MM channel.  A beat carries the cycle from
 * which on its reader may take it, which is how latency is modelled; a full
 * FIFO is how back-pressure is.
 *
 * sim_step (array.c) advances everything by a cycle: control processor, cores,
 * DMA channels that have a task, ports that hold beats.  Only those are on the
 * lists that it walks.  Whoever does something that others can see sets
 * `progress` (a core that only computes does not); a cycle without it is
 * followed by a jump to the next timer, or by the deadlock report.
 */
#ifndef NPUTEIR_SIM_TILE_H
#define NPUTEIR_SIM_TILE_H

#include "array.h"
#include "base.h"
#include "core.h"
#include "device_most.h"
#include "image.h"
#include "record.h"

#include <assert.h>

enum cost {
#define COST(name, value, source) name = value,
#include "costs.def"
#undef COST
};

enum {
  MAX_COLUMNS = 8,
  MAX_CHANNELS = 6,
  MAX_BDS = 48,
  MAX_LOCKS = 64,
  MAX_MASTERS = 23,
  MAX_SLAVES = 25,
  MAX_SLOTS = 4,
  MAX_ARBITERS = 8,
  MAX_BANKS = 16, /* of a mem tile */
  CORE_BANKS = 8,
  QUEUE_DEPTH = DEVICE_MOST_TASKS,
  LOCK_LIMIT = DEVICE_MOST_LOCK
};

/* ---- streams ---- */

struct beat {
  uint64_t ready; /* first cycle in which it may be taken */
  uint32_t word;
  uint16_t last;  /* TLAST */
  uint16_t token; /* 0: data, else 1 + direction * 16 + channel */
};

/* Who reads the FIFO is woken by the push that makes `full` beats of it: a
 * sleeping channel, or a slave port that is not listed.  A channel that writes
 * it is woken when `empty` are left. */
struct fifo {
  struct beat *beat;
  uint32_t mask, head, count, depth;
  uint32_t full; /* UINT32_MAX: nobody sleeps */
  int32_t empty; /* -1: nobody sleeps */
  struct channel *sleeper;
};

static inline struct beat *fifo_at(const struct fifo *f, uint32_t i) {
  assert(i < f->count);
  return &f->beat[(f->head + i) & f->mask];
}
static inline bool fifo_has_room(const struct fifo *f, uint32_t words) {
  return f->count + words <= f->depth;
}
static inline void fifo_push(struct fifo *f, struct beat b) {
  assert(f->count < f->depth);
  f->beat[(f->head + f->count++) & f->mask] = b;
}
static inline void fifo_drop(struct fifo *f, uint32_t words) {
  assert(words <= f->count);
  f->head += words;
  f->count -= words;
}

/* Header words have odd parity over the whole word, by bit 31. */
static inline uint32_t odd_parity(uint32_t word) {
  return word | (__builtin_parity(word) ? 0 : 1u << 31);
}

enum sink_kind {
  SINK_FIFO,    /* a slave port, an S2MM channel or the core's stream input */
  SINK_TOKEN,   /* the firmware behind the shim's South0 */
  SINK_CONTROL, /* the tile's control packet handler */
  SINK_NONE     /* nothing takes words here */
};

struct sink {
  enum sink_kind kind;
  bool drop_header;
  uint8_t latency;
  uint8_t master;     /* index of the master port */
  struct fifo *fifo;  /* SINK_FIFO */
  struct slave *port; /* SINK_FIFO of a slave port, else NULL */
};

/* A slave port: the input side of a switch, and where its words go. */
struct slave {
  struct fifo fifo;
  struct tile *tile;
  uint8_t index;
  bool listed; /* in sim.port */
  bool plain;  /* a circuit whose sinks are all FIFOs */
  bool enabled, packet;
  bool in_packet; /* sinks are those of the packet under way */
  bool at_header;
  uint8_t arbiter;
  uint8_t sink_count;
  struct sink sink[MAX_MASTERS];
};

/* ---- DMA ---- */

/* Where a descriptor's words lie, one contiguous run after the other. */
struct walk {
  int64_t address;
  uint32_t run;   /* words that follow `address` one by one */
  uint32_t left;  /* words of the descriptor not yet moved */
  uint32_t at[4]; /* position in each dimension, padding included */
  bool zero;      /* the run is padding */
  uint32_t step[4], wrap[4], before[3], after[3];
  int64_t base; /* word address of the first element */
};
void walk_start(struct walk *);
/* Moves on by `words` <= run; run is 0 at the end. */
void walk_take(struct walk *, uint32_t words);

enum channel_state {
  CHANNEL_IDLE,
  CHANNEL_START,   /* until `wake` */
  CHANNEL_ACQUIRE, /* descriptor loaded, lock wanted */
  CHANNEL_MOVE,
  CHANNEL_FINISH /* until `wake`, then release and go on */
};

/* What a cycle of streaming touches comes first. */
struct channel {
  struct tile *tile;
  struct slave *port; /* MM2S: the slave port that it feeds; NULL: none */
  struct fifo in;     /* S2MM */
  enum channel_state state;
  bool mm2s, listed;
  bool asleep;       /* taken off sim.channel at the end of the cycle */
  bool waits;        /* in a tile's list of channels that wait for a lock */
  uint32_t need;     /* words of the next memory access */
  uint32_t lost;     /* how often a bank was denied to it */
  struct walk walk;  /* of the descriptor under way */
  int64_t dram_cost; /* shim: of one word, 1/65536 cycle */
  uint64_t refused;  /* shim: the cycle in which DRAM was last denied to it */
  /* shim: when the next access is due (N1) by the channel's own rate, and the
   * first moment from which time may be made up; 1/65536 cycle */
  uint64_t pace;
  uint64_t wake;
  /* the rest of the descriptor under way */
  struct tile *acquire_tile, *release_tile; /* NULL: no lock */
  int acquire_lock, acquire_value, release_lock, release_value;
  int next_bd;
  uint32_t header;
  bool header_due, tlast;
  /* tasks */
  bool overflow;
  bool token;    /* of the task under way */
  uint8_t index; /* of the channel */
  uint8_t start_bd, bd, queue_count;
  uint16_t repeat_left;
  uint32_t control;
  uint32_t queue[QUEUE_DEPTH];
  uint64_t tasks;     /* started in this run */
  uint64_t next_push; /* the control processor's distance rule */
  struct channel *next_waiting;
  /* what is reported */
  uint64_t conflicts; /* accesses that waited for a bank */
  /* cycle of the last task, lock and BD, and of the first BD of the task */
  uint64_t started, granted, finished, first_finished;
  struct lane *lane; /* record.c */
};

/* ---- banks ---- */

/* A cycle of a core: the banks that serve it, by the bits of core_step. */
struct bank_use {
  uint32_t banks;
  uint16_t wide;     /* core_wide of the bundle */
  uint8_t conflicts; /* own banks that got more than one request of it */
  bool goes_on;      /* the bundle is that of the cycle before */
};

enum bank_user { BANK_CORE, BANK_DMA, BANK_BUS, BANK_USERS };

/* ---- tiles ---- */

/* Words that may pass: time is credit, up to what a short burst can use. */
struct budget {
  int64_t cost;   /* of one word, 1/65536 cycle; 0: any number */
  int64_t credit; /* 1/65536 cycle */
  uint64_t cycle; /* up to which it is counted */
};

/* 512-bit values on their way to a core (timing.md S11). */
struct cascade {
  uint8_t value[CASCADE_DEPTH][64];
  uint64_t ready[CASCADE_DEPTH];
  uint32_t head, count;
};

/* Of control packets: what the last header left to do. */
struct handler {
  struct beat in; /* what the streams brought, if full */
  bool full;
  uint32_t offset, words_left;
};

struct lock {
  int value;
  int hidden; /* part of it that the core does not see before hidden_until */
  uint64_t hidden_until;
};

struct tile {
  struct sim *sim;
  enum tile_kind kind;
  int column, row;
  uint8_t *memory, *program;
  struct lock lock[MAX_LOCKS];
  struct channel *waiting; /* channels that sleep until a lock changes */
  uint32_t bd[MAX_BDS][8];
  struct channel *channel[2]; /* S2MM, MM2S; as many as the device has */
  struct slave *port;         /* slaves, by index */
  uint32_t master[MAX_MASTERS], slave[MAX_SLAVES];
  uint32_t slot[MAX_SLAVES][MAX_SLOTS];
  struct slave *arbiter[MAX_ARBITERS]; /* who holds it */
  uint32_t mux, demux, accumulator, tile_control;
  uint32_t pad[MAX_CHANNELS]; /* mem tile: what MM2S channels send as padding */
  struct budget budget[2];    /* shim: of S2MM and MM2S channels */
  struct handler handler;
  bool switch_changed;
  uint64_t bank_cycle; /* the next two are of this cycle, a bit per bank */
  uint32_t taken;      /* by DMA and bus */
  uint32_t contested;
  uint64_t conflicts;         /* cycles in which a bank had two requests */
  uint64_t served[MAX_BANKS]; /* strict mode: cycle of the last access, + 1 */
  uint32_t bus_offset, bus_words; /* what the register bus still accesses */
  uint32_t bus_lost;              /* how often it was refused */
  /* core tiles */
  struct core *core;
  uint32_t core_control;
  bool core_listed, core_ran;
  bool in_step;                   /* the core must never run ahead */
  bool ahead;                     /* it runs ahead just now */
  uint64_t core_cycle;            /* the next that the core has not done */
  uint64_t lockstep_until;        /* the core must not run ahead before */
  struct bank_use use[BANK_RING]; /* cycle c is at (c - late) % BANK_RING */
  uint64_t late;                  /* cycles that the core was put back */
  uint8_t bank_turn[CORE_BANKS];
  uint64_t lost[BANK_USERS]; /* cycles that the core waited, by who won */
  struct fifo core_in;       /* the core's stream input */
  struct cascade cascade;
  uint64_t released;      /* locks that the core ever released, by its number */
  struct lock *wait_lock; /* what the core last asked for in vain */
  struct tile *wait_tile;
  int wait_value;
  struct core_counts counts; /* at the start of the run */
  uint64_t skipped[4]; /* cycles of waiting that were jumped over, by stall */
  struct lane *lane;   /* record.c: of the core */
};

/* ---- the command processor ---- */

struct control {
  const struct command_list *list;
  int at;
  int last_sync; /* index of the last SYNC, -1: none */
  uint64_t ready, polled;
  bool waiting; /* for a token or a poll */
};

struct lost_token {
  int count; /* 0: none */
  int column, row, channel, id;
  bool mm2s;
  const char *why;
};

struct sim {
  struct arena *arena;
  const struct device *device;
  const struct preset *preset;
  struct sim_options options;
  int columns, rows;
  uint32_t stream_words; /* of a port and cycle */
  uint32_t bank_shift;   /* bits of a byte's address below its bank's number */
  uint64_t word_cost[2]; /* of a shim's S2MM and MM2S channel, 1/65536 cycle */
  struct tile *tile;     /* column * rows + row */
  uint64_t now, last_progress;
  uint64_t last_outside; /* cycle of the last host access or token */
  bool progress, failed, switches_changed;
  bool running;              /* a transaction: what is written takes banks */
  uint64_t neighbours_until; /* before, cores access memories not their own */
  int bus_tiles;             /* that have bus_words */
  int full_handlers;
  struct core_surroundings around; /* of cores; memories are each one's own */
  /* Tests: told of every access that a bank serves; may be NULL. */
  void (*served)(void *context, const struct tile *, unsigned bank,
                 enum bank_user);
  void *served_context;
  struct diag diag;
  const char *waits;    /* everything that waited at the deadlock; or NULL */
  const char *deadlock; /* and as a chain */
  struct channel **channel; /* that have a task and do not sleep */
  struct slave **port;      /* that hold beats */
  struct tile **core;       /* whose core runs */
  int channel_count, port_count, core_count;
  int turn; /* the first channel to be served in this cycle */
  uint32_t token[MAX_COLUMNS][8][2][MAX_CHANNELS];
  struct lost_token lost;
  struct control control;
  /* host memory */
  const struct sim_buffer *argument;
  int argument_count;
  struct budget dram, direction[2]; /* all of it, and S2MM and MM2S */
  struct channel
      *dram_queue[2 * 2 * MAX_COLUMNS]; /* who was refused, in order */
  int dram_waiting;
  /* this run */
  struct arena *run; /* of what sim_begin has read; NULL: none */
  uint64_t start;
  uint64_t first_busy, last_busy, bytes_read, bytes_written;
  bool was_busy;
  bool recording;
  struct recorder *recorder; /* record.c */
};

static inline struct tile *tile_at(const struct sim *s, int column, int row) {
  return column >= 0 && column < s->columns && row >= 0 && row < s->rows
             ? &s->tile[column * s->rows + row]
             : NULL;
}
static inline void sim_mark_busy(struct sim *s) {
  if (!s->was_busy) {
    s->was_busy = true;
    s->first_busy = s->now;
  }
  if (s->last_busy < s->now)
    s->last_busy = s->now;
}
static inline void sim_busy(struct sim *s) {
  s->progress = true;
  sim_mark_busy(s);
}
/* trace.c */
/* The first failure wins; returns false. */
bool sim_fail(struct sim *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void trace_event(struct sim *, const struct tile *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *tile_name(const struct tile *, char buffer[32]);
const char *channel_name(const struct channel *, char buffer[48]);
/* "north0" */
const char *slave_name(const struct tile *, int index, char buffer[16]);
const char *master_name(const struct tile *, int index, char buffer[16]);

/* lists.c */
struct channel *channel_of(struct tile *, bool mm2s, int index);
/* Puts a channel on the list of those that are stepped. */
void channel_wake(struct channel *);
/* Wakes those that wait for a lock of the tile. */
void locks_changed(struct tile *);
/* Puts a port on the list of those that hold beats. */
void port_list(struct sim *, struct slave *);
/* Calls visit for every channel that has a task. */
void channels_visit(const struct sim *, void (*visit)(struct channel *, void *),
                    void *context);

/* array.c: an array in reset, configured and run by command lists. */
struct sim *sim_create(const struct sim_options *, int columns, struct diag *);
bool sim_apply(struct sim *, const struct command_list *, struct diag *);
bool sim_execute(struct sim *, const struct command_list *,
                 const struct sim_buffer *argument, int argument_count,
                 struct sim_report *, struct diag *);

/* register.c */
bool register_write(struct sim *, uint32_t address, uint32_t value);
bool register_read(struct sim *, uint32_t address, uint32_t *value);
bool register_block(struct sim *, uint32_t address, const uint32_t *words,
                    uint32_t count);
/* Whether the bus can get there now. */
bool register_ready(struct sim *, uint32_t address);
/* The channel whose start queue this address is; NULL: it is none. */
struct channel *register_queue(struct sim *, uint32_t address);
/* The same of its status. */
struct channel *register_status(struct sim *, uint32_t address);

/* mem.c */
/* Own memory of the tile that a DMA sees at this word address, moved to an
 * offset in *tile; false: failed with a message. */
bool memory_resolve(struct channel *, int64_t address, uint32_t words,
                    struct tile **tile, uint32_t *offset);
uint8_t *host_resolve(struct channel *, int64_t address, uint32_t words);
/* Whether DRAM has time for this many words of the channel's run length. */
bool host_grant(struct channel *, uint32_t words);
/* The channel does not want host memory any more. */
void host_forget(struct channel *);
int64_t host_word_cost(const struct sim *, uint64_t run_bytes);
/* The platform's limits, at the beginning. */
void host_open(struct sim *);
uint64_t host_address(int argument, uint64_t offset);
int host_argument(int64_t word_address); /* the inverse */
double host_cycles(int64_t dram_cost);

/* bank.c */
/* What the core uses in core_cycle. */
void bank_note(struct tile *, struct bank_use);
/* Whether the bank of this byte serves a DMA or the register bus in this cycle.
 * Who is urgent is refused only if another of them has it. */
bool bank_grant(struct tile *, uint32_t offset, enum bank_user, bool urgent);
/* Between cores that use the same bank in this cycle. */
void banks_share(struct sim *);
/* The register bus has accessed a word; the bank's time follows. */
void bank_bus(struct tile *, uint32_t offset);
bool bank_bus_free(const struct tile *);
void banks_step_bus(struct sim *);
/* The access takes place now.  Strict mode fails at a bank's second. */
void bank_served(struct tile *, uint32_t offset, enum bank_user);
/* The same for the cores, when the cycle has come to its end. */
void banks_count(struct sim *);
/* Whether cycles in which only cores move matter, too. */
bool banks_are_watched(const struct sim *);

/* lock.c */
/* Acquires when the visible part of the value allows it. */
bool lock_try(struct lock *, int visible, int value);
bool lock_acquire(struct tile *, int id, int value);
void lock_release(struct tile *, int id, int value, bool by_dma);
/* The tile and lock that a DMA means by a descriptor's lock id. */
struct tile *lock_of_dma(struct channel *, int id, int *own);

/* guard.c */
/* Whether the buffer that the tile's core has just taken by acquiring the lock,
 * or is about to give by releasing it, has the byte at `offset`; true also if
 * nobody knows. */
bool lock_guards(struct tile *, int lock, bool acquire, uint32_t offset);

/* core_control.c */
struct core *core_of(struct tile *);
void core_control_write(struct tile *, uint32_t value);
uint32_t core_status_read(const struct tile *);

/* cores.c */
extern const struct core_surroundings cores_around;
void cores_step(struct sim *);

/* descriptor.c */
/* Loads the channel's descriptor `bd`; false: failed. */
bool descriptor_load(struct channel *);
/* The next memory access of the walk: words that share one granule. */
void descriptor_plan(struct channel *);
/* The words that a descriptor moves, were they contiguous; returns the next
 * descriptor, or -1. */
int descriptor_run(const struct tile *, int bd, uint32_t *first,
                   uint32_t *count);
/* The lock that a descriptor of the channel acquires, or releases; false: none.
 */
bool descriptor_lock(struct channel *, int bd, bool acquires, struct tile **,
                     int *lock);

/* dma.c */
void channel_push(struct channel *, uint32_t task);
void channel_control_write(struct channel *, uint32_t value);
uint32_t channel_status(const struct channel *);
/* Whether a task that waits or runs begins with this descriptor or is at it. */
bool channel_uses(const struct channel *, int bd);
void channels_step(struct sim *);

/* stream.c */
void streams_create(struct tile *);
void streams_rebuild(struct sim *);
void streams_step(struct sim *);
void stream_token(struct channel *);

/* packet.c */
void packets_step(struct sim *);

/* control.c */
void control_start(struct sim *, const struct command_list *);
bool control_done(const struct sim *);
void control_step(struct sim *);

/* record.c: only while s->recording */
void record_begin(struct sim *);
void record_end(struct sim *, const struct sim_report *);
/* The channel's cycles up to now; what is not moving or refusal is `cause`. */
void record_channel(struct channel *, enum record_cause);
void record_access(struct channel *);
void record_refusal(struct channel *, enum record_cause by);
void record_release(struct channel *);
/* The command processor goes on, with something that takes `cost` cycles. */
void record_command(struct sim *, enum record_cause waited, uint64_t cost);
/* After each turn of a core. */
void record_core(struct tile *);

/* waits.c */
/* One clause per waiting part: "core (1,3) waits for ...". */
void waits_print(const struct sim *, struct text *, size_t limit);

/* explain.c */
void explain_print(struct sim *, struct text *);

#endif
