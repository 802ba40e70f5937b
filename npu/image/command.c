/* command.c -- the growing list of register writes that CDO and transaction
 * are made of. */
#include "image.h"

#include <assert.h>

struct command_list *command_list(struct arena *a) {
  struct command_list *l = arena_alloc(a, sizeof *l);
  l->arena = a;
  return l;
}

static void grow(struct command_list *l, int capacity) {
  l->item = arena_copy(l->arena, l->item, (size_t)l->count, (size_t)capacity,
                       sizeof *l->item);
  l->capacity = capacity;
}

void command_expect(struct command_list *l, int more) {
  if (l->capacity - l->count < more)
    grow(l, l->count + more);
}

static struct command *append(struct command_list *l, enum command_kind kind) {
  if (l->count == l->capacity)
    grow(l, l->capacity ? 2 * l->capacity : 64);
  assert(l->count < l->capacity);
  struct command *c = &l->item[l->count++];
  *c = (struct command){.kind = kind};
  return c;
}

void command_write(struct command_list *l, uint32_t address, uint32_t value) {
  struct command *c = append(l, COMMAND_WRITE);
  c->address = address;
  c->value = value;
}

void command_mask_write(struct command_list *l, uint32_t address, uint32_t mask,
                        uint32_t value) {
  struct command *c = append(l, COMMAND_MASK_WRITE);
  c->address = address;
  c->mask = mask;
  c->value = value;
}

void command_block(struct command_list *l, uint32_t address,
                   const uint32_t *words, uint32_t count) {
  assert(words || count == 0);
  struct command *c = append(l, COMMAND_BLOCK);
  c->address = address;
  c->count = count;
  c->words = arena_copy(l->arena, words, count, 0, sizeof *words);
}

void command_sync(struct command_list *l, int column, int row, bool mm2s,
                  int channel) {
  struct command *c = append(l, COMMAND_SYNC);
  c->column = column;
  c->row = row;
  c->mm2s = mm2s;
  c->channel = channel;
}

void command_ddr_patch(struct command_list *l, uint32_t bd_word1_address,
                       int argument, uint64_t offset_bytes) {
  struct command *c = append(l, COMMAND_DDR_PATCH);
  c->address = bd_word1_address;
  c->argument = argument;
  c->offset_bytes = offset_bytes;
}

void command_mask_poll(struct command_list *l, uint32_t address, uint32_t mask,
                       uint32_t value, uint32_t timeout_ms) {
  struct command *c = append(l, COMMAND_MASK_POLL);
  c->address = address;
  c->mask = mask;
  c->value = value;
  c->timeout_ms = timeout_ms;
}

void command_delay(struct command_list *l, uint32_t cycles) {
  append(l, COMMAND_DELAY)->value = cycles;
}

void command_move(struct command_list *l, const struct command *c,
                  uint32_t tile) {
  struct command *to = append(l, c->kind);
  *to = *c;
  to->address = tile | (c->address & 0xFFFFF);
}

void command_copy(struct command_list *l, const struct command *c) {
  struct command *to = append(l, c->kind);
  *to = *c;
  if (c->count)
    to->words = arena_copy(l->arena, c->words, c->count, 0, sizeof *c->words);
}
