/* Devices, presets and ports: look-ups in device.def, preset.def and port.def,
 * and the connection rules of the stream switches. */
#include "array.h"

#include "device_most.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- devices ---- */

static const struct device devices[] = {
#define TILE(kind_, memory_, channels_, bds_, locks_, words_, dims_, wrap_,    \
             step_, length_)                                                   \
  [TILE_##kind_] = {.memory_bytes = memory_,                                   \
                    .channels = channels_,                                     \
                    .bds = bds_,                                               \
                    .locks = locks_,                                           \
                    .bd_words = words_,                                        \
                    .dims = dims_,                                             \
                    .max_wrap = wrap_,                                         \
                    .max_step_words = step_,                                   \
                    .max_length_words = length_},
#define CORE(banks_, address_, lock_)                                          \
  .core_banks = banks_, .core_address = address_, .core_lock = lock_,
#define DMA(queue_, repeat_, iterations_, lock_)                               \
  .queue_depth = queue_, .max_repeat = repeat_, .max_iterations = iterations_, \
  .max_lock = lock_,
#define WIDTH(stream_, bytes_, banks_, written_)                               \
  .stream_words = stream_, .bank_word_bytes = bytes_, .mem_banks = banks_,     \
  .written_bytes = written_,
#define SHARE(first_, columns_, contexts_)                                     \
  .first_column = first_, .partition_columns = columns_, .contexts = contexts_,
#define REGISTERS(burst_, pad_, shim_, mem_, core_)                            \
  .burst = burst_, .pad_register = pad_,                                       \
  .tile_control = {                                                            \
      [TILE_SHIM] = shim_, [TILE_MEM] = mem_, [TILE_CORE] = core_}
#define DEVICE(name_, isa_, columns_, rows_, program_, generation_, ops_,      \
               limits_, tiles_)                                                \
  {.name = name_,                                                              \
   .isa = isa_,                                                                \
   .columns = columns_,                                                        \
   .core_rows = rows_,                                                         \
   .program_bytes = program_,                                                  \
   .tile = {tiles_},                                                           \
   .txn_generation = generation_,                                              \
   .ops_per_column_cycle = ops_,                                               \
   limits_},
#include "device.def"
#undef DEVICE
#undef REGISTERS
#undef SHARE
#undef WIDTH
#undef DMA
#undef CORE
#undef TILE
};

enum { DEVICE_COUNT = sizeof devices / sizeof devices[0] };

/* What programs of one core rely on before they know the device. */
#define CORE(banks, address, lock)                                             \
  (address) == DEVICE_CORE_ADDRESS && (lock) == DEVICE_CORE_LOCK
#define DMA(queue, repeat, iterations, lock)
#define WIDTH(stream, bytes, banks, written)
#define SHARE(first, columns, contexts)
#define REGISTERS(burst, pad, shim, mem, core)
#define DEVICE(name, isa, columns, rows, program, generation, ops, limits,     \
               tiles)                                                          \
  _Static_assert(limits, name ": where a core sees its own memory and locks");
#include "device.def"
#undef DEVICE
#undef REGISTERS
#undef SHARE
#undef WIDTH
#undef DMA
#undef CORE

const struct device *device_at(int index) {
  return index >= 0 && index < DEVICE_COUNT ? &devices[index] : NULL;
}

const struct device *device_find(const char *name) {
  for (int i = 0; i < DEVICE_COUNT; i++)
    if (strcmp(devices[i].name, name) == 0)
      return &devices[i];
  return NULL;
}

int device_partition(const struct device *d, int columns) {
  assert(columns >= 1 && columns <= d->columns);
  return columns < d->partition_columns ? d->partition_columns : columns;
}

static const struct window {
  const char *device, *name;
  uint32_t offset;
  int count;
} windows[] = {
#define WINDOW(device, name, offset, count) {device, name, offset, count},
#include "window.def"
#undef WINDOW
};

const char *device_core_register(const struct device *d, uint32_t offset,
                                 char name[8]) {
  enum { APART = 16 };
  for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
    const struct window *w = &windows[i];
    uint32_t at = offset - w->offset;
    if (strcmp(w->device, d->name) != 0 || offset < w->offset || at % APART ||
        at / APART >= (uint32_t)w->count)
      continue;
    int number = (int)(at / APART);
    snprintf(name, 8, w->count > 1 ? "%s%d" : "%s", w->name, number);
    return name;
  }
  return NULL;
}

enum tile_kind tile_kind(int row) {
  return row == SHIM_ROW ? TILE_SHIM : row == MEM_ROW ? TILE_MEM : TILE_CORE;
}

uint32_t tile_address(int column, int row, uint32_t offset) {
  assert(column >= 0 && column < 128 && row >= 0 && row < 32);
  assert(offset < 1u << 20);
  return (uint32_t)column << 25 | (uint32_t)row << 20 | offset;
}

/* ---- presets ---- */

/* Cycles of a clock of `ghz` for a cost that was seen as `cycles` of the
 * 1.028 GHz clock of the traced Phoenix (timing.md, section 1). */
#define AT(ghz, cycles) ((int)((cycles) / 1.028 * (ghz) + 0.5))

static const struct preset presets[] = {
#define RUN(bytes_, gigabytes_) {bytes_, gigabytes_ * 1e9},
#define MOST(channel_, column_, all_)                                          \
  { channel_ * 1e9, column_ * 1e9, all_ * 1e9 }
#define PRESET(name_, device_, ghz_, launch_, runs_, read_, written_, source_) \
  {.name = name_,                                                              \
   .device = device_,                                                          \
   .clock_ghz = ghz_,                                                          \
   .dram = {runs_},                                                            \
   .dram_count = 4,                                                            \
   .most_read = read_,                                                         \
   .most_written = written_,                                                   \
   .write32_cycles = AT(ghz_, 100.5),      /* P1 */                            \
   .blockwrite_word_cycles = AT(ghz_, 13), /* P2 */                            \
   .maskwrite_cycles = AT(ghz_, 210),      /* P3 */                            \
   .patch_cycles = AT(ghz_, 112),          /* P4 */                            \
   .queue_push_cycles = AT(ghz_, 760),     /* P6 less P2 and P4 */             \
   .queue_period_cycles = AT(ghz_, 2800),  /* P7 */                            \
   .sync_cycles = AT(ghz_, 7981),          /* P9 */                            \
   .mm2s_first_cycles = AT(ghz_, 747),     /* N3 */                            \
   .mm2s_task_cycles = AT(ghz_, 325),      /* N5 */                            \
   .s2mm_first_cycles = AT(ghz_, 171),     /* N3 */                            \
   .s2mm_task_cycles = AT(ghz_, 180),      /* N5 */                            \
   .launch_seconds = launch_,              /* P17 */                           \
   .load_seconds = 3.4e-3,                 /* P14 */                           \
   .source = source_},
#include "preset.def"
#undef PRESET
#undef MOST
#undef RUN
};

enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

const struct preset *preset_at(int index) {
  return index >= 0 && index < PRESET_COUNT ? &presets[index] : NULL;
}

const struct preset *preset_find(const char *name) {
  for (int i = 0; i < PRESET_COUNT; i++)
    if (strcmp(presets[i].name, name) == 0)
      return &presets[i];
  return NULL;
}

int preset_task_cycles(const struct preset *p) {
  const struct device *dev = device_find(p->device);
  return p->write32_cycles +
         dev->tile[TILE_SHIM].bd_words * p->blockwrite_word_cycles +
         p->patch_cycles + p->queue_push_cycles;
}

const struct preset *preset_of(const struct device *dev) {
  for (int i = 0; i < PRESET_COUNT; i++)
    if (strcmp(presets[i].device, dev->name) == 0)
      return &presets[i];
  assert(!"every device has a preset");
  return NULL;
}

double preset_dram(const struct preset *p, uint64_t run_bytes) {
  assert(p->dram_count > 0);
  if (run_bytes < p->dram[0].run_bytes)
    return p->dram[0].bytes_per_second * (double)run_bytes /
           p->dram[0].run_bytes;
  int i = 0;
  while (i + 1 < p->dram_count && run_bytes >= p->dram[i + 1].run_bytes)
    i++;
  double rate = p->dram[i].bytes_per_second;
  if (i + 1 == p->dram_count)
    return rate;
  double part = (double)(run_bytes - p->dram[i].run_bytes) /
                (double)(p->dram[i + 1].run_bytes - p->dram[i].run_bytes);
  return rate + part * (p->dram[i + 1].bytes_per_second - rate);
}

/* ---- ports ---- */

struct port_row {
  enum tile_kind kind;
  enum port port;
  int first, count;
};

static const struct port_row masters[] = {
#define MASTER(kind, port, first, count)                                       \
  {TILE_##kind, PORT_##port, first, count},
#define SLAVE(kind, port, first, count)
#include "port.def"
#undef MASTER
#undef SLAVE
};

static const struct port_row slaves[] = {
#define MASTER(kind, port, first, count)
#define SLAVE(kind, port, first, count)                                        \
  {TILE_##kind, PORT_##port, first, count},
#include "port.def"
#undef MASTER
#undef SLAVE
};

enum {
  MASTER_ROWS = sizeof masters / sizeof masters[0],
  SLAVE_ROWS = sizeof slaves / sizeof slaves[0]
};

static int index_of(const struct port_row *row, int rows, enum tile_kind kind,
                    enum port port, int channel) {
  for (int i = 0; i < rows; i++)
    if (row[i].kind == kind && row[i].port == port)
      return channel >= 0 && channel < row[i].count ? row[i].first + channel
                                                    : -1;
  return -1;
}

static bool port_of(const struct port_row *row, int rows, enum tile_kind kind,
                    int index, enum port *port, int *channel) {
  for (int i = 0; i < rows; i++)
    if (row[i].kind == kind && index >= row[i].first &&
        index < row[i].first + row[i].count) {
      *port = row[i].port;
      *channel = index - row[i].first;
      return true;
    }
  return false;
}

int port_master(enum tile_kind kind, enum port port, int channel) {
  return index_of(masters, MASTER_ROWS, kind, port, channel);
}

int port_slave(enum tile_kind kind, enum port port, int channel) {
  return index_of(slaves, SLAVE_ROWS, kind, port, channel);
}

bool port_of_master(enum tile_kind kind, int index, enum port *port,
                    int *channel) {
  return port_of(masters, MASTER_ROWS, kind, index, port, channel);
}

bool port_of_slave(enum tile_kind kind, int index, enum port *port,
                   int *channel) {
  return port_of(slaves, SLAVE_ROWS, kind, index, port, channel);
}

static bool core_connects(enum port slave, int slave_channel, enum port master,
                          int master_channel) {
  bool same = slave_channel == master_channel;
  switch (slave) {
  case PORT_CORE:
    return master != PORT_CORE;
  case PORT_DMA:
    return master != PORT_DMA || same;
  case PORT_CONTROL:
    return master != PORT_DMA && master != PORT_CONTROL;
  case PORT_FIFO:
    return true;
  case PORT_SOUTH:
  case PORT_WEST:
  case PORT_NORTH:
  case PORT_EAST:
    return slave != master || same;
  case PORT_TRACE:
    return master == PORT_FIFO || master == PORT_SOUTH ||
           (master == PORT_DMA && master_channel == 0);
  case PORT_KINDS:
    break;
  }
  return false;
}

static bool mem_connects(enum port slave, int slave_channel, enum port master,
                         int master_channel) {
  bool same = slave_channel == master_channel;
  bool vertical = master == PORT_SOUTH || master == PORT_NORTH;
  switch (slave) {
  case PORT_DMA:
    return master == PORT_DMA ? same : master == PORT_CONTROL || vertical;
  case PORT_CONTROL:
    return vertical || (master == PORT_DMA && master_channel == 5);
  case PORT_SOUTH:
  case PORT_NORTH:
    return vertical ? same : master == PORT_DMA || master == PORT_CONTROL;
  case PORT_TRACE:
    return master == PORT_SOUTH || (master == PORT_DMA && master_channel == 5);
  case PORT_CORE:
  case PORT_FIFO:
  case PORT_WEST:
  case PORT_EAST:
  case PORT_KINDS:
    break;
  }
  return false;
}

static bool shim_connects(enum port slave, int slave_channel, enum port master,
                          int master_channel) {
  switch (slave) {
  case PORT_CONTROL:
    return master != PORT_CONTROL;
  case PORT_FIFO:
  case PORT_SOUTH:
    return true;
  case PORT_WEST:
  case PORT_NORTH:
  case PORT_EAST:
    return slave != master || slave_channel == master_channel;
  case PORT_TRACE: /* the driver's rule; other tools allow West0, East0 too */
    return master == PORT_FIFO || master == PORT_SOUTH;
  case PORT_CORE:
  case PORT_DMA:
  case PORT_KINDS:
    break;
  }
  return false;
}

bool port_connects(enum tile_kind kind, enum port slave, int slave_channel,
                   enum port master, int master_channel) {
  if (port_slave(kind, slave, slave_channel) < 0 ||
      port_master(kind, master, master_channel) < 0)
    return false;
  switch (kind) {
  case TILE_SHIM:
    return shim_connects(slave, slave_channel, master, master_channel);
  case TILE_MEM:
    return mem_connects(slave, slave_channel, master, master_channel);
  case TILE_CORE:
    return core_connects(slave, slave_channel, master, master_channel);
  case TILE_KINDS:
    break;
  }
  return false;
}
