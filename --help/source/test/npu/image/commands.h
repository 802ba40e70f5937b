/* commands.h -- what the tests of this module share: the passthrough design of
 * array.md section 9 as register writes, and comparing lists. */
#ifndef NPUTEIR_TEST_COMMANDS_H
#define NPUTEIR_TEST_COMMANDS_H

#include "image.h"

#include <string.h>

static inline bool commands_equal(const struct command_list *a,
                                  const struct command_list *b) {
  if (a->count != b->count)
    return false;
  for (int i = 0; i < a->count; i++) {
    const struct command *x = &a->item[i], *y = &b->item[i];
    if (x->kind != y->kind || x->address != y->address || x->mask != y->mask ||
        x->value != y->value || x->count != y->count ||
        x->column != y->column || x->row != y->row ||
        x->channel != y->channel || x->mm2s != y->mm2s ||
        x->argument != y->argument || x->offset_bytes != y->offset_bytes ||
        x->timeout_ms != y->timeout_ms)
      return false;
    if (x->count && memcmp(x->words, y->words, 4 * (size_t)x->count) != 0)
      return false;
  }
  return true;
}

/* The configuration ("init" CDO) of the passthrough. */
static inline struct command_list *passthrough_init(struct arena *a) {
  static const uint32_t write[][2] = {{0x001c0000, 1}, {0x001c0010, 0},
                                      {0x001c0020, 1}, {0x001c0030, 0},
                                      {0x0021f000, 1}, {0x0021f010, 0}};
  static const struct {
    uint32_t address, count, words[8];
  } block[] = {{0x0021d000, 6, {0x40, 0, 0, 0, 0, 0x06043fe0}},
               {0x0021d020, 6, {0x40, 0, 0, 0, 0, 0x0e041fe1}},
               {0x001a0000, 8, {0x40, 0x000a0000, 0, 0, 0, 0, 0, 0x8141ff40}},
               {0x001a0020, 8, {0x40, 0x001a0000, 0, 0, 0, 0, 0, 0x8140ff41}},
               {0x001a0300, 8, {0x40, 0x018a0400, 0, 0, 0, 0, 0, 0x8143ff42}},
               {0x001a0320, 8, {0x40, 0x019a0400, 0, 0, 0, 0, 0, 0x8142ff43}}};
  static const uint32_t after[][2] = {
      {0x001a0604, 0},          {0x001a0634, 1},
      {0x001a060c, 0x18},       {0x001a063c, 0x19},
      {0x0003f030, 0x80000005}, {0x0003f114, 0x80000000},
      {0x0003f010, 0x8000000e}, {0x0003f138, 0x80000000},
      {0x001b0000, 0x80000007}, {0x001b011c, 0x80000000},
      {0x001b002c, 0x80000000}, {0x001b0100, 0x80000000},
      {0x001b0004, 0x8000000d}, {0x001b0134, 0x80000000},
      {0x001b001c, 0x80000001}, {0x001b0104, 0x80000000},
      {0x0023f004, 0x80000005}, {0x0023f114, 0x80000000},
      {0x0023f014, 0x80000001}, {0x0023f104, 0x80000000},
      {0x0003f008, 0xc0000008}, {0x0003f100, 0xc0000000},
      {0x0003f200, 0x0f1f0100}};
  struct command_list *l = command_list(a);
  for (size_t i = 0; i < sizeof write / sizeof *write; i++)
    command_write(l, write[i][0], write[i][1]);
  for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
    command_block(l, block[i].address, block[i].words, block[i].count);
    if (i == 1) {
      command_write(l, 0x0021de04, 0);
      command_write(l, 0x0021de14, 1);
    }
  }
  for (size_t i = 0; i < sizeof after / sizeof *after; i++)
    command_write(l, after[i][0], after[i][1]);
  command_mask_write(l, 0x0001f000, 0x00000c00, 0x00000400);
  command_mask_write(l, 0x0001f004, 0x00000030, 0x00000010);
  return l;
}

/* Its run-time part. */
static inline struct command_list *passthrough_run(struct arena *a) {
  static const uint32_t bd[8] = {0x40,       0,          0, 0,
                                 0x80000000, 0x02000000, 0, 0x02000000};
  struct command_list *l = command_list(a);
  command_block(l, 0x1d000, bd, 8);
  command_ddr_patch(l, 0x1d004, 0, 0);
  command_write(l, 0x1d214, 0);
  command_block(l, 0x1d020, bd, 8);
  command_ddr_patch(l, 0x1d024, 1, 0);
  command_mask_write(l, 0x1d200, 0x1f00, 0x0f00);
  command_write(l, 0x1d204, 0x80000001);
  command_sync(l, 0, 0, false, 0);
  return l;
}

#endif
