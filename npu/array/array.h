/* array.h -- what a device has: tiles, memories, locks, descriptors, channels,
 * port numbers of the stream switches, and named platforms.  One row each in
 * device.def and preset.def; hardware figures from array.md and
 * timing.md in doc/hardware.
 */
#ifndef NPUTEIR_ARRAY_H
#define NPUTEIR_ARRAY_H

#include "base.h"

enum tile_kind { TILE_SHIM, TILE_MEM, TILE_CORE, TILE_KINDS };

struct tile_resources {
  uint32_t memory_bytes;
  int channels; /* per direction */
  int bds;
  int locks;
  int bd_words;
  int dims;           /* address dimensions of a BD without iteration */
  int max_wrap;       /* largest wrap of a dimension */
  int max_step_words; /* largest step of a dimension */
  uint32_t max_length_words;
};

struct device {
  const char *name; /* "npu1" */
  const char *isa;  /* instruction set of its cores, as npu/isa names it */
  int columns;      /* usable by an application */
  int core_rows;    /* rows CORE_ROW and up */
  uint32_t program_bytes;
  struct tile_resources tile[TILE_KINDS];
  int core_banks;        /* of a core's memory, all of one size */
  uint32_t core_address; /* where a core sees its own memory */
  int core_lock;         /* the number under which it sees its own lock 0 */
  int queue_depth;       /* tasks that a DMA channel's queue holds */
  int max_repeat;        /* runs of one task */
  int max_iterations;    /* of a BD */
  int max_lock;          /* largest value of a lock */
  int stream_words;      /* that a stream and a channel move per cycle */
  int bank_word_bytes;   /* of one access of a memory bank */
  int mem_banks;         /* of a mem tile; its words go round them */
  int written_bytes;     /* that a shim writes to DRAM at once */
  int burst;             /* largest burst length of a shim BD, as its field */
  /* Of a mem tile: what the first channel sends for padding; 0: always 0. */
  uint32_t pad_register;
  uint32_t tile_control[TILE_KINDS]; /* the register that isolates a tile */
  int first_column;                  /* of those that programs get */
  int partition_columns;             /* the least of a partition */
  int contexts;       /* of the hardware at once, for all processes */
  int txn_generation; /* DevGen byte of a transaction */
  uint32_t ops_per_column_cycle;
};
const struct device *device_find(const char *name); /* NULL: unknown */
const struct device *device_at(int index);          /* NULL: past the end */
/* Columns of the partition that a design of so many columns runs in. */
int device_partition(const struct device *, int columns);
/* The core's register that the bus sees at this offset of its tile, as the
 * instruction set names it; NULL: none that holds 32 bits or fewer. */
const char *device_core_register(const struct device *, uint32_t offset,
                                 char name[8]);
/* Rows of tiles, from the bottom: a shim, a mem tile, cores. */
enum { SHIM_ROW, MEM_ROW, CORE_ROW };
enum tile_kind tile_kind(int row);

/* A named platform: what cycles cost outside the array. */
struct preset {
  const char *name;
  const char *device;
  double clock_ghz;
  /* Aggregate DRAM bytes per second by contiguous run length, reads and writes
   * together; a run shorter than the first row costs as much time as one of
   * that length. */
  struct {
    uint32_t run_bytes; /* for runs at least this long */
    double bytes_per_second;
  } dram[6];
  int dram_count;
  /* Of which at most so much per second in one direction through one shim
   * channel, both of a column, and all; 0: as much as their streams move. */
  struct {
    double channel, column, all;
  } most_read, most_written;
  /* command processor, AIE cycles (timing.md section 8) */
  int write32_cycles, blockwrite_word_cycles, maskwrite_cycles,
      queue_push_cycles, sync_cycles;
  int patch_cycles;        /* a DDR_PATCH (P4) */
  int queue_period_cycles; /* least distance of two pushes to one shim channel
                              (P7) */
  /* shim channel start-up, cycles (timing.md N3..N5) */
  int mm2s_first_cycles, mm2s_task_cycles, s2mm_first_cycles, s2mm_task_cycles;
  double launch_seconds; /* host-visible floor of a run (P17) */
  double load_seconds;   /* of another configuration (P14) */
  const char *source;    /* where the figures are from */
};
/* Bytes per second for runs of this length. */
double preset_dram(const struct preset *, uint64_t run_bytes);
/* Cycles for a task of a shim channel: a descriptor, its address, a push. */
int preset_task_cycles(const struct preset *);
/* The platform that stands for a device where none is named: its first. */
const struct preset *preset_of(const struct device *);
const struct preset *preset_find(const char *name); /* NULL: unknown */
const struct preset *preset_at(int index);          /* NULL: past the end */

/* Address of a register or memory byte of a tile, partition relative. */
uint32_t tile_address(int column, int row, uint32_t offset);

/* Stream switch ports.  index_of: position in the tile's list of masters or
 * slaves (register order); -1: no such port. */
enum port {
  PORT_CORE,
  PORT_DMA,
  PORT_CONTROL,
  PORT_FIFO,
  PORT_SOUTH,
  PORT_WEST,
  PORT_NORTH,
  PORT_EAST,
  PORT_TRACE,
  PORT_KINDS
};
int port_master(enum tile_kind, enum port, int channel);
int port_slave(enum tile_kind, enum port, int channel);
/* The inverse: what the master or slave with this index is; false: none. */
bool port_of_master(enum tile_kind, int index, enum port *, int *channel);
bool port_of_slave(enum tile_kind, int index, enum port *, int *channel);
/* Whether the switch can connect the slave to the master. */
bool port_connects(enum tile_kind, enum port slave, int slave_channel,
                   enum port master, int master_channel);

#endif
