/* resident.c -- a transaction that stays on the device for several runs, each
 * of which begins when the host asks for it.
 *
 * The command processor has no branch, and reads no host memory; it can wait
 * until a word of a tile's memory is what it should be.  So a shim channel that
 * the runs leave free reads a word of the host's again and again, and a channel
 * of the mem tile above puts it where the transaction polls it.  Bit i of the
 * word asks for run i: a word that the host wrote later asks for all that an
 * earlier one did.  Behind each run, when all that it wrote is in host memory,
 * the mem tile sends a line back, of the word that was read last and the number
 * of runs.
 *
 * Everything ends by itself.  The word is read a bounded number of times, by
 * tasks that are in the channel's queue from the start; so that these last for
 * some hundred microseconds, as many words before it are read each time.  The
 * last task reads a word more, which has all bits: runs that nobody asked for
 * then follow each other, on whatever the buffers hold, and the transaction
 * ends.  A line that shows all bits therefore does not tell whether the host
 * had asked in time; one that does not, does.  Nothing that a channel may have
 * loaded is written, no channel needs a reset, and the switches are left as
 * they were.
 *
 * Sources: a ring of this kind runs on silicon in HUSRCF/hipscope, which ends
 * its reads by changing a descriptor that is in use (doc/hardware/array.md).
 */
#include "image.h"

#include <assert.h>

enum {
  REPEATS = 256,  /* of a task, the most */
  READ_TASKS = 3, /* with that of the end as many as a queue holds */
  LINE_WORDS = RESIDENT_LINE_BYTES / 4,
};

struct resident_ring resident_ring(const struct resident_place *at) {
  size_t end = 4 * (size_t)at->words;
  return (struct resident_ring){.asked = end - 4,
                                .end = end,
                                .done = end + RESIDENT_LINE_BYTES,
                                .bytes = end + 2 * RESIDENT_LINE_BYTES};
}

struct writer {
  const struct resident_place *at;
  struct command_list *l;
};

static uint32_t shim(const struct writer *w, uint32_t offset) {
  return tile_address(w->at->column, SHIM_ROW, offset);
}

static uint32_t mem(const struct writer *w, uint32_t offset) {
  return tile_address(w->at->column, MEM_ROW, offset);
}

static uint32_t shim_queue(const struct writer *w, bool mm2s) {
  return shim(w, mm2s ? REG_SHIM_MM2S_QUEUE +
                            (uint32_t)w->at->mm2s * REG_SHIM_MM2S_QUEUE_STRIDE
                      : REG_SHIM_S2MM_QUEUE +
                            (uint32_t)w->at->s2mm * REG_SHIM_S2MM_QUEUE_STRIDE);
}

static uint32_t mem_queue(const struct writer *w, bool mm2s) {
  return mem(w, mm2s ? REG_MEM_MM2S_QUEUE +
                           (uint32_t)w->at->from_mem * REG_MEM_MM2S_QUEUE_STRIDE
                     : REG_MEM_S2MM_QUEUE +
                           (uint32_t)w->at->to_mem * REG_MEM_S2MM_QUEUE_STRIDE);
}

static void push(const struct writer *w, uint32_t queue, int bd, int repeat) {
  command_write(w->l, queue, (uint32_t)(repeat - 1) << 16 | (uint32_t)bd);
}

/* Of consecutive words; the host's address is patched in. */
static void write_bd(const struct writer *w, enum tile_kind kind, int id,
                     uint32_t length_words, uint64_t offset) {
  const struct bd bd = {.base = kind == TILE_MEM ? offset : 0,
                        .length_words = length_words,
                        .dim = {{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                        .iteration_step_words = 1,
                        .iteration_count = 1,
                        .acquire_lock = -1,
                        .release_lock = -1,
                        .next = -1};
  uint32_t words[8];
  struct diag d = {0};
  int count = bd_pack((int)kind, &bd, words, &d);
  assert(count == 8 && REG_MEM_BD_STRIDE == REG_SHIM_BD_STRIDE);
  uint32_t at = kind == TILE_MEM ? mem(w, REG_MEM_BD) : shim(w, REG_SHIM_BD);
  at += (uint32_t)id * REG_MEM_BD_STRIDE;
  command_block(w->l, at, words, (uint32_t)count);
  if (kind == TILE_SHIM)
    command_ddr_patch(w->l, at + 4, RESIDENT_ARGUMENT, offset);
}

/* A circuit is set, or cut. */
static void connect(const struct writer *w, enum tile_kind kind, enum port from,
                    int from_channel, enum port to, int to_channel, bool set) {
  int master = port_master(kind, to, to_channel),
      slave = port_slave(kind, from, from_channel);
  assert(master >= 0 && slave >= 0 &&
         port_connects(kind, from, from_channel, to, to_channel));
  uint32_t in_shim = kind == TILE_SHIM;
  uint32_t masters =
               in_shim ? shim(w, REG_SHIM_MASTER) : mem(w, REG_MEM_MASTER),
           slaves = in_shim ? shim(w, REG_SHIM_SLAVE) : mem(w, REG_MEM_SLAVE);
  const uint32_t on = 0x80000000u;
  command_write(w->l, masters + 4 * (uint32_t)master,
                set ? on | (uint32_t)slave : 0);
  command_write(w->l, slaves + 4 * (uint32_t)slave, set ? on : 0);
}

static void set_circuits(const struct writer *w, bool set) {
  const struct resident_place *at = w->at;
  int in = at->mm2s ? 7 : 3, out = at->s2mm ? 3 : 2; /* array.md 6 */
  connect(w, TILE_SHIM, PORT_SOUTH, in, PORT_NORTH, at->north, set);
  connect(w, TILE_MEM, PORT_SOUTH, at->north, PORT_DMA, at->to_mem, set);
  connect(w, TILE_MEM, PORT_DMA, at->from_mem, PORT_SOUTH, at->south, set);
  connect(w, TILE_SHIM, PORT_NORTH, at->south, PORT_SOUTH, out, set);
}

static void begin(const struct writer *w) {
  const struct resident_place *at = w->at;
  const uint32_t zeros[LINE_WORDS] = {0};
  command_block(w->l, mem(w, REG_MEM_MEMORY + at->offset), zeros, LINE_WORDS);
  const struct resident_ring ring = resident_ring(at);
  write_bd(w, TILE_MEM, at->mem_bd[0], at->words,
           at->offset - 4 * (uint64_t)(at->words - 1));
  write_bd(w, TILE_MEM, at->mem_bd[1], LINE_WORDS, at->offset);
  write_bd(w, TILE_SHIM, at->shim_bd[0], at->words, 0);
  write_bd(w, TILE_SHIM, at->shim_bd[1], at->words, ring.end - ring.asked);
  write_bd(w, TILE_SHIM, at->shim_bd[2], LINE_WORDS, ring.done);
  uint32_t mux = at->mm2s ? 0x4000 : 0x400, demux = at->s2mm ? 0x40 : 0x10;
  command_mask_write(w->l, shim(w, REG_SHIM_MUX), 3 * mux, mux);
  command_mask_write(w->l, shim(w, REG_SHIM_DEMUX), 3 * demux, demux);
  set_circuits(w, true);
  for (int i = 0; i < READ_TASKS; i++)
    push(w, mem_queue(w, false), at->mem_bd[0], REPEATS);
  push(w, mem_queue(w, false), at->mem_bd[0], 1);
  for (int i = 0; i < READ_TASKS; i++)
    push(w, shim_queue(w, true), at->shim_bd[0], REPEATS);
  push(w, shim_queue(w, true), at->shim_bd[1], 1);
}

static void wait_idle(const struct writer *w, uint32_t status) {
  command_mask_poll(w->l, status, CHANNEL_BUSY | CHANNEL_FAILED, 0, 0);
}

/* The line of the run before may be on its way. */
static void wait_line(const struct writer *w) {
  wait_idle(w, shim(w, REG_SHIM_S2MM_STATUS + (uint32_t)w->at->s2mm *
                                                  REG_SHIM_S2MM_STATUS_STRIDE));
}

static void send_line(const struct writer *w, int runs) {
  command_write(w->l, mem(w, REG_MEM_MEMORY + w->at->offset + RESIDENT_RUNS),
                (uint32_t)runs);
  push(w, shim_queue(w, false), w->at->shim_bd[2], 1);
  push(w, mem_queue(w, true), w->at->mem_bd[1], 1);
}

static void end(const struct writer *w) {
  const struct resident_place *at = w->at;
  wait_line(w);
  wait_idle(w, mem(w, REG_MEM_MM2S_STATUS +
                          (uint32_t)at->from_mem * REG_MEM_MM2S_STATUS_STRIDE));
  wait_idle(w, shim(w, REG_SHIM_MM2S_STATUS +
                           (uint32_t)at->mm2s * REG_SHIM_MM2S_STATUS_STRIDE));
  wait_idle(w, mem(w, REG_MEM_S2MM_STATUS +
                          (uint32_t)at->to_mem * REG_MEM_S2MM_STATUS_STRIDE));
  set_circuits(w, false);
}

void resident_write(const struct resident_place *at,
                    const struct command_list *run, int runs,
                    struct command_list *to) {
  const struct writer w = {at, to};
  assert(runs >= 1 && runs <= RESIDENT_MOST_RUNS);
  begin(&w);
  for (int i = 0; i < runs; i++) {
    uint32_t bit = 1u << i;
    command_mask_poll(to, mem(&w, REG_MEM_MEMORY + at->offset), bit, bit, 0);
    for (int k = 0; k < run->count; k++)
      command_copy(to, &run->item[k]);
    if (i)
      wait_line(&w);
    send_line(&w, i + 1);
  }
  end(&w);
}
