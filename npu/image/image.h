/* image.h -- design + core programs -> the bytes that a device gets, and back.
 *
 * CDO (register writes that configure the array), PDI around it, xclbin around
 * that, and the transaction that runs it, all as in
 * doc/hardware/formats.md.  Register fields live in regmap.def, once, for the
 * writer here and the simulator's reader.
 */
#ifndef NPUTEIR_IMAGE_H
#define NPUTEIR_IMAGE_H

#include "array.h"
#include "base.h"

/* ---- registers: REG_<tile>_<name> is the offset of the first one in its
 * tile, ..._STRIDE the bytes to the next, ..._COUNT how many ---- */
enum reg {
#define REGISTER(tile, id, offset, stride, count)                              \
  REG_##tile##_##id = offset, REG_##tile##_##id##_STRIDE = stride,             \
  REG_##tile##_##id##_COUNT = count,
#include "regmap.def"
};

/* Of a channel's status: tasks in the queue, running, stalled; a task that was
 * dropped and errors of the bus, which stay until they are cleared. */
enum { CHANNEL_BUSY = 0x0078003C, CHANNEL_FAILED = 0x00070000 };

/* ---- register writes, in order: what CDO and transaction are made of ---- */
enum command_kind {
  COMMAND_WRITE,      /* address, value */
  COMMAND_MASK_WRITE, /* address, mask, value */
  COMMAND_BLOCK,      /* address, words[count] */
  COMMAND_MASK_POLL,  /* address, mask, value, timeout_ms */
  COMMAND_SYNC,       /* wait for one token of column, row, channel */
  COMMAND_DDR_PATCH,  /* address of BD word 1, argument, offset_bytes */
  COMMAND_DELAY,      /* value cycles */
};
struct command {
  enum command_kind kind;
  uint32_t address, mask, value;
  uint32_t count;
  const uint32_t *words; /* BLOCK; borrowed or in the list's arena */
  int column, row, channel;
  bool mm2s; /* SYNC direction: else S2MM */
  int argument;
  uint64_t offset_bytes;
  uint32_t timeout_ms; /* MASK_POLL in a CDO; a transaction has none */
};
struct command_list {
  struct arena *arena;
  int count, capacity;
  struct command *item;
};
/* Emitters grow the list; block words are copied into the list's arena. */
struct command_list *command_list(struct arena *);
/* The list grows by about `more`. */
void command_expect(struct command_list *, int more);
void command_write(struct command_list *, uint32_t address, uint32_t value);
void command_mask_write(struct command_list *, uint32_t address, uint32_t mask,
                        uint32_t value);
void command_block(struct command_list *, uint32_t address,
                   const uint32_t *words, uint32_t count);
void command_sync(struct command_list *, int column, int row, bool mm2s,
                  int channel);
void command_ddr_patch(struct command_list *, uint32_t bd_word1_address,
                       int argument, uint64_t offset_bytes);

void command_mask_poll(struct command_list *, uint32_t address, uint32_t mask,
                       uint32_t value, uint32_t timeout_ms);
void command_delay(struct command_list *, uint32_t cycles);
void command_copy(struct command_list *, const struct command *);
/* A write of another list of the same arena, to the same register of the tile
 * at this address. */
void command_move(struct command_list *, const struct command *, uint32_t tile);

/* ---- buffer descriptors: fields in natural units, packed per tile kind ----
 * A mem tile reaches its neighbours too: behind its own memory and locks come
 * the east neighbour's (base + 0x80000, lock + 64); the west neighbour's lie
 * before its own, so they wrap around (base 0x180000.., lock 192..). */
struct bd_dim {
  uint32_t step_words; /* 1.. */
  uint32_t wrap;       /* 0: never wraps (the last dimension has none) */
};
struct bd {
  uint64_t base; /* core, mem: byte address in own memory; shim: byte address */
  uint32_t length_words;
  struct bd_dim dim[4];            /* dim[0] fastest */
  uint32_t iteration_step_words;   /* 1.. */
  uint32_t iteration_count;        /* 1..64; 1: none */
  int acquire_lock, acquire_value; /* own lock id; -1: none */
  int release_lock, release_value; /* value 0: none */
  int next;                        /* -1: last of the chain */
  bool packet;
  int packet_id, packet_type;
  uint32_t zero_before[3], zero_after[3]; /* mem tile MM2S */
  int burst;               /* shim: 0 64 B, 1 128, 2 256, 3 512 */
  bool no_tlast, compress; /* MM2S: no TLAST behind the last word */
  int out_of_order_id;
  int iteration_now; /* the hardware counts it; written as the start value */
};
/* kind: 0 shim, 1 mem, 2 core (enum tile_kind).  Fails when a field does not
 * fit.  words gets 6 or 8 words; returns how many, 0 on error. */
int bd_pack(int kind, const struct bd *, uint32_t words[8], struct diag *);
/* The inverse; false: not a valid descriptor (Valid_BD clear). */
bool bd_unpack(int kind, const uint32_t words[8], struct bd *);

/* ---- CDO, PDI, xclbin ---- */
bool cdo_write(const struct command_list *, struct text *cdo, struct diag *);
struct command_list *cdo_read(struct arena *, const void *cdo, size_t length,
                              struct diag *);
bool pdi_write(const void *cdo, size_t length, struct text *pdi, struct diag *);
/* The CDO inside; borrowed from pdi. */
bool pdi_read(const void *pdi, size_t length, const void **cdo,
              size_t *cdo_length, struct diag *);

struct xclbin_info {
  char kernel[64]; /* "NPUTEIR" */
  int columns;     /* of the partition */
  int start_column_count;
  int start_columns[8];
  int buffer_arguments; /* data buffers behind ninstr */
  uint8_t uuid[16];     /* all zero: the writer puts a hash of the contents */
};
bool xclbin_write(const struct xclbin_info *, const void *pdi, size_t length,
                  struct text *xclbin, struct diag *);
/* Around a CDO, for a kernel of ours that starts at the first column. */
bool xclbin_around(const void *cdo, size_t length, int columns,
                   int buffer_arguments, struct text *xclbin, struct diag *);
/* The PDI inside, borrowed from xclbin, and what the sections say. */
bool xclbin_read(const void *xclbin, size_t length, struct xclbin_info *,
                 const void **pdi, size_t *pdi_length, struct diag *);

/* ---- transaction: written as version 0.1, read as 0.1 and 1.0 ---- */
bool txn_write(const struct command_list *, const struct device *, int columns,
               struct text *txn, struct diag *);
struct command_list *txn_read(struct arena *, const void *txn, size_t length,
                              int *columns, struct diag *);
/* The first device of the generation that the header names, or NULL. */
const struct device *txn_device(const void *txn, size_t length);

/* ---- from a configuration to another ---- */
/* Words that a change wants to find in device memory, behind the arguments of
 * the runs; none: it wants no such argument. */
enum { CHANGE_ARGUMENT = 3 };
struct change_data {
  const uint32_t *words; /* in the list's arena */
  uint32_t count;
};
/* Appends the writes that make an idle array, which holds one of the `count`
 * configurations or `to` itself, hold `to`; tiles on which all agree keep their
 * state.  NULL: there can be no data. */
void change_write(const struct command_list *const from[], int count,
                  const struct command_list *to, struct command_list *,
                  struct change_data *);
/* What such writes, with such data, cost at about: the one price of a change.
 */
double change_seconds(const struct command_list *, const struct change_data *,
                      const struct preset *);
/* Appends to a configuration of so many columns, and rows of cores, what its
 * changes can do without then: ways of packets, on lanes that it does not
 * use. */
void way_keep(int columns, int rows, struct command_list *);

/* ---- a transaction that stays for several runs (resident.c) ---- */
/* What no run uses, in one column. */
struct resident_place {
  int column, columns;       /* of the partition: it needs so many */
  int mm2s, s2mm;            /* channels of the shim */
  int to_mem, from_mem;      /* S2MM and MM2S channels of the mem tile */
  int north, south;          /* lanes between the two */
  int shim_bd[3], mem_bd[2]; /* the latter as their channels want them */
  uint32_t words;            /* that are read at once */
  uint32_t offset; /* in the mem tile's memory, of a line; words before it */
};
enum {
  RESIDENT_ARGUMENT = 3, /* behind those of the runs */
  RESIDENT_MOST_RUNS = 31,
  RESIDENT_LINE_BYTES = 64,
  RESIDENT_RUNS = 4 /* offset in a line that the device writes */
};
/* What lies in this argument, and where; all else is 0.  The host writes a word
 * whose bit i asks for run i, and another of all bits; the device writes a
 * line, of the word that it has read last and of the number of runs that are
 * done. */
struct resident_ring {
  size_t asked, end, done, bytes;
};
struct resident_ring resident_ring(const struct resident_place *);
/* Appends so many of them, each of which waits until it is asked for; what
 * nobody asks for is run at the end all the same. */
void resident_write(const struct resident_place *, const struct command_list *,
                    int runs, struct command_list *);

/* ---- core ELF as the loader sees it (array.md section 8) ---- */
/* Appends the writes that load a core ELF into the tile: program memory and
 * own data memory. */
bool elf_load(const struct device *, const void *elf, size_t length, int column,
              int row, struct command_list *, struct diag *);

#endif
