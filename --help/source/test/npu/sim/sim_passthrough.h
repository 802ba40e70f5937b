/* sim_passthrough.h -- the smallest design that goes through the array and
 * back: DDR, shim, mem tile, core tile's memory, mem tile, shim, DDR; 64 words
 * at a time, no core program.  Register values as array.md section
 * 9 and formats.md section 4 print them, where they were compared with
 * AMD's driver; nothing here comes from our own packers. */
#ifndef NPUTEIR_SIM_PASSTHROUGH_H
#define NPUTEIR_SIM_PASSTHROUGH_H

#include "image.h"

struct passthrough_write {
  uint32_t address, value;
};

static const struct passthrough_write passthrough_locks[] = {
    {0x001C0000, 1}, {0x001C0010, 0}, {0x001C0020, 1},
    {0x001C0030, 0}, {0x0021F000, 1}, {0x0021F010, 0},
};

static const struct {
  uint32_t address, count, word[8];
} passthrough_bds[] = {
    {0x0021D000, 6, {0x40, 0, 0, 0, 0, 0x06043FE0}},
    {0x0021D020, 6, {0x40, 0, 0, 0, 0, 0x0E041FE1}},
    {0x001A0000, 8, {0x40, 0x000A0000, 0, 0, 0, 0, 0, 0x8141FF40}},
    {0x001A0020, 8, {0x40, 0x001A0000, 0, 0, 0, 0, 0, 0x8140FF41}},
    {0x001A0300, 8, {0x40, 0x018A0400, 0, 0, 0, 0, 0, 0x8143FF42}},
    {0x001A0320, 8, {0x40, 0x019A0400, 0, 0, 0, 0, 0, 0x8142FF43}},
};

static const struct passthrough_write passthrough_rest[] = {
    /* start queues */
    {0x0021DE04, 0},
    {0x0021DE14, 1},
    {0x001A0604, 0},
    {0x001A0634, 1},
    {0x001A060C, 0x18},
    {0x001A063C, 0x19},
    /* switches */
    {0x0003F030, 0x80000005},
    {0x0003F114, 0x80000000},
    {0x0003F010, 0x8000000E},
    {0x0003F138, 0x80000000},
    {0x001B0000, 0x80000007},
    {0x001B011C, 0x80000000},
    {0x001B002C, 0x80000000},
    {0x001B0100, 0x80000000},
    {0x001B0004, 0x8000000D},
    {0x001B0134, 0x80000000},
    {0x001B001C, 0x80000001},
    {0x001B0104, 0x80000000},
    {0x0023F004, 0x80000005},
    {0x0023F114, 0x80000000},
    {0x0023F014, 0x80000001},
    {0x0023F104, 0x80000000},
    /* token route */
    {0x0003F008, 0xC0000008},
    {0x0003F100, 0xC0000000},
    {0x0003F200, 0x0F1F0100},
};

/* The transaction, as bytes-in-words. */
static const uint32_t passthrough_txn[75] = {
    0x06030100, 0x00000101, 0x00000008, 0x0000012c,
    /* BLOCKWRITE BD0, DDR_PATCH, push MM2S0 */
    0x00000001, 0, 0x0001d000, 0x30, 0x40, 0, 0, 0, 0x80000000, 0x02000000, 0,
    0x02000000, 0x81, 0x30, 0, 0, 0, 0, 0x0001d004, 0, 0, 0, 0, 0, 0, 0,
    0x0001d214, 0, 0, 0x18,
    /* BLOCKWRITE BD1, DDR_PATCH, controller id, push S2MM0 with token */
    0x00000001, 0, 0x0001d020, 0x30, 0x40, 0, 0, 0, 0x80000000, 0x02000000, 0,
    0x02000000, 0x81, 0x30, 0, 0, 0, 0, 0x0001d024, 0, 1, 0, 0, 0, 3, 0,
    0x0001d200, 0, 0xf00, 0x1f00, 0x1c, 0, 0, 0x0001d204, 0, 0x80000001, 0x18,
    /* sync */
    0x80, 0x10, 0, 0x00010100};

static inline struct command_list *passthrough_configuration(struct arena *a) {
  struct command_list *l = command_list(a);
  size_t n = sizeof passthrough_locks / sizeof *passthrough_locks;
  for (size_t i = 0; i < n; i++)
    command_write(l, passthrough_locks[i].address, passthrough_locks[i].value);
  n = sizeof passthrough_bds / sizeof *passthrough_bds;
  for (size_t i = 0; i < n; i++)
    command_block(l, passthrough_bds[i].address, passthrough_bds[i].word,
                  passthrough_bds[i].count);
  n = sizeof passthrough_rest / sizeof *passthrough_rest;
  for (size_t i = 0; i < n; i++)
    command_write(l, passthrough_rest[i].address, passthrough_rest[i].value);
  command_mask_write(l, 0x0001F000, 0x00000C00, 0x00000400);
  command_mask_write(l, 0x0001F004, 0x00000030, 0x00000010);
  return l;
}

#endif
