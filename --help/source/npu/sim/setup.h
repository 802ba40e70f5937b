/* setup.h -- small designs as register writes: circuits, descriptors, tasks,
 * locks.  For experiments with the simulated array and its tests; what the
 * compiler makes goes through npu/design. */
#ifndef NPUTEIR_SIM_SETUP_H
#define NPUTEIR_SIM_SETUP_H

#include "tile.h"

static inline uint32_t reg(int column, int row, const uint32_t by_kind[3],
                           uint32_t rest) {
  return tile_address(column, row, by_kind[tile_kind(row)] + rest);
}

/* Circuit from a slave port to a master port of one switch. */
static inline void connect_ports(struct command_list *l, int column, int row,
                                 enum port from, int from_channel, enum port to,
                                 int to_channel) {
  static const uint32_t masters[] = {REG_SHIM_MASTER, REG_MEM_MASTER,
                                     REG_CORE_MASTER};
  static const uint32_t slaves[] = {REG_SHIM_SLAVE, REG_MEM_SLAVE,
                                    REG_CORE_SLAVE};
  enum tile_kind kind = tile_kind(row);
  uint32_t s = (uint32_t)port_slave(kind, from, from_channel);
  uint32_t m = (uint32_t)port_master(kind, to, to_channel);
  command_write(l, reg(column, row, masters, 4 * m), 0x80000000u | s);
  command_write(l, reg(column, row, slaves, 4 * s), 0x80000000u);
}

static inline struct bd plain_bd(uint64_t base, uint32_t words) {
  return (struct bd){.base = base,
                     .length_words = words,
                     .dim = {{1, 0}, {1, 0}, {1, 0}, {1, 0}},
                     .iteration_step_words = 1,
                     .iteration_count = 1,
                     .acquire_lock = -1,
                     .release_lock = -1,
                     .next = -1};
}

static inline void put_bd(struct command_list *l, int column, int row, int id,
                          const struct bd *bd) {
  static const uint32_t bds[] = {REG_SHIM_BD, REG_MEM_BD, REG_CORE_BD};
  struct diag d = {0};
  uint32_t words[8];
  int n = bd_pack(tile_kind(row), bd, words, &d);
  assert(n > 0);
  command_block(l, reg(column, row, bds, 0x20 * (uint32_t)id), words,
                (uint32_t)n);
}

static inline void push_task(struct command_list *l, int column, int row,
                             bool mm2s, int channel, int bd, int repeat,
                             bool token) {
  static const uint32_t s2mm[] = {REG_SHIM_S2MM_QUEUE, REG_MEM_S2MM_QUEUE,
                                  REG_CORE_S2MM_QUEUE};
  static const uint32_t out[] = {REG_SHIM_MM2S_QUEUE, REG_MEM_MM2S_QUEUE,
                                 REG_CORE_MM2S_QUEUE};
  command_write(l, reg(column, row, mm2s ? out : s2mm, 8 * (uint32_t)channel),
                (uint32_t)bd | (uint32_t)(repeat - 1) << 16 |
                    (token ? 1u << 31 : 0));
}

static inline void set_lock(struct command_list *l, int column, int row, int id,
                            uint32_t value) {
  static const uint32_t locks[] = {REG_SHIM_LOCK, REG_MEM_LOCK, REG_CORE_LOCK};
  command_write(l, reg(column, row, locks, 0x10 * (uint32_t)id), value);
}

/* The column's token route with id 15, and the controller id of a shim
 * channel; needed before a push with a token. */
static inline void token_route(struct command_list *l, int column) {
  command_write(l, tile_address(column, 0, 0x3F008), 0xC0000008);
  command_write(l, tile_address(column, 0, 0x3F100), 0xC0000000);
  command_write(l, tile_address(column, 0, 0x3F200), 0x0F1F0100);
  for (uint32_t c = 0; c < 2; c++) {
    command_mask_write(l, tile_address(column, 0, REG_SHIM_S2MM_CTRL + 8 * c),
                       0x1F00, 0xF00);
    command_mask_write(l, tile_address(column, 0, REG_SHIM_MM2S_CTRL + 8 * c),
                       0x1F00, 0xF00);
  }
}

/* Both shim DMA channels of a column onto its stream ports. */
static inline void shim_ports(struct command_list *l, int column) {
  command_write(l, tile_address(column, 0, REG_SHIM_MUX), 0x4400);
  command_write(l, tile_address(column, 0, REG_SHIM_DEMUX), 0x50);
}

#endif
