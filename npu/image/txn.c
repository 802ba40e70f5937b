/* txn.c -- register writes to a transaction, the instruction buffer that the
 * NPU's command processor runs, and back (formats.md section 4).
 *
 * Written as version 0.1, the one that is known to run; read as 0.1 and as
 * the "optimised" 1.0.  Unused words of operations hold garbage in real files
 * and are ignored.
 */
#include "bytes.h"
#include "image.h"

#include <assert.h>

enum {
  HEADER_BYTES = 16,
  SYNC_BYTES = 16,
  PATCH_BYTES = 48,
  WRITE_BYTES = 24,
  MASK_WRITE_BYTES = 28,
  MASK_POLL_BYTES = 32,
  BLOCK_HEAD_BYTES = 16,
  /* version 1.0 */
  SHORT_WRITE_BYTES = 12,
  SHORT_MASK_BYTES = 16,
  SHORT_BLOCK_HEAD_BYTES = 12,
  SHORT_PATCH_BYTES = 24,
  MAX_ARGUMENT = 32
};

enum opcode {
  OP_WRITE = 0,
  OP_BLOCK = 1,
  OP_MASK_WRITE = 3,
  OP_MASK_POLL = 4,
  OP_NOOP = 5,
  OP_PREEMPT = 6,        /* a place where another context may come in */
  OP_MASK_POLL_BUSY = 7, /* the same poll, without giving way meanwhile */
  OP_SYNC = 128,
  OP_DDR_PATCH = 129,
  OP_READ_REGISTERS = 130, /* these two only tell the host something */
  OP_RECORD_TIMER = 131
};

/* ---- write ---- */

static bool put(struct text *t, const struct command *c, int rows, int index,
                struct diag *d) {
  switch (c->kind) {
  case COMMAND_WRITE:
    bytes_put_list(t, OP_WRITE, 0, c->address, 0, c->value, WRITE_BYTES);
    return true;
  case COMMAND_MASK_WRITE:
    bytes_put_list(t, OP_MASK_WRITE, 0, c->address, 0, c->value, c->mask,
                   MASK_WRITE_BYTES);
    return true;
  case COMMAND_BLOCK:
    if (c->count > UINT32_MAX / 8)
      return diag_error(d, loc_none(),
                        "transaction operation %d: a block of %u words", index,
                        c->count);
    bytes_put_list(t, OP_BLOCK, 0, c->address, BLOCK_HEAD_BYTES + 4 * c->count);
    bytes_put_words(t, c->words, c->count);
    return true;
  case COMMAND_MASK_POLL:
    bytes_put_list(t, OP_MASK_POLL, 0, c->address, 0, c->value, c->mask,
                   MASK_POLL_BYTES, 0);
    return true;
  case COMMAND_SYNC:
    if ((unsigned)c->column > 127 || c->row < 0 || c->row >= rows ||
        (unsigned)c->channel > 255)
      return diag_error(d, loc_none(),
                        "transaction operation %d: no token comes from column "
                        "%d, row %d, channel %d",
                        index, c->column, c->row, c->channel);
    bytes_put_list(t, OP_SYNC, SYNC_BYTES,
                   (uint32_t)c->column << 16 | (uint32_t)c->row << 8 | c->mm2s,
                   (uint32_t)c->channel << 24 | 1 << 16 | 1 << 8);
    return true;
  case COMMAND_DDR_PATCH:
    if ((unsigned)c->argument > MAX_ARGUMENT || c->offset_bytes > UINT32_MAX)
      return diag_error(d, loc_none(),
                        "transaction operation %d: argument %d + %llu bytes; "
                        "arguments go to %d, offsets to 4 GiB",
                        index, c->argument, (unsigned long long)c->offset_bytes,
                        MAX_ARGUMENT);
    bytes_put_list(t, OP_DDR_PATCH, PATCH_BYTES, 0, 0, 0, 0, c->address, 0,
                   (uint32_t)c->argument, 0, (uint32_t)c->offset_bytes, 0);
    return true;
  case COMMAND_DELAY:
    break;
  }
  return diag_error(d, loc_none(),
                    "transaction operation %d: a delay belongs into a CDO",
                    index);
}

bool txn_write(const struct command_list *l, const struct device *dev,
               int columns, struct text *out, struct diag *d) {
  const int rows = CORE_ROW + dev->core_rows, mem_rows = CORE_ROW - MEM_ROW;
  struct text t = {0};
  bytes_zeros(&t, HEADER_BYTES);
  bool good = true;
  for (int i = 0; i < l->count && good; i++)
    good = put(&t, &l->item[i], rows, i, d);
  assert(t.length % 4 == 0);
  if (good && t.length > UINT32_MAX)
    good = diag_error(d, loc_none(),
                      "a transaction of %zu bytes; the limit "
                      "is 4 GiB",
                      t.length);
  const uint8_t begin[8] = {0,
                            1, /* version 0.1 */
                            (uint8_t)dev->txn_generation,
                            (uint8_t)rows,
                            (uint8_t)columns,
                            (uint8_t)mem_rows};
  memcpy(t.data, begin, sizeof begin);
  bytes_set_u32(t.data + 8, (uint32_t)l->count);
  bytes_set_u32(t.data + 12, (uint32_t)t.length);
  if (good)
    text_take(out, &t);
  text_free(&t);
  return good;
}

/* ---- read ---- */

struct reading {
  const uint8_t *bytes;
  size_t length, at;
  bool optimised; /* version 1.0 */
  struct command_list *list;
  struct diag *d;
};

static uint32_t word(const struct reading *r, int i) {
  return bytes_u32(r->bytes + r->at + 4 * (size_t)i);
}

/* The size of the operation at r->at: fixed by its kind, or what its size word
 * says where it has one. */
static bool operation_size(struct reading *r, uint32_t op, size_t *size) {
  size_t least, said_at = 0; /* index of the size word; 0: none */
  switch (op) {
  case OP_WRITE:
    least = r->optimised ? SHORT_WRITE_BYTES : WRITE_BYTES;
    said_at = r->optimised ? 0 : 5;
    break;
  case OP_MASK_WRITE:
    least = r->optimised ? SHORT_MASK_BYTES : MASK_WRITE_BYTES;
    said_at = r->optimised ? 0 : 6;
    break;
  case OP_MASK_POLL:
  case OP_MASK_POLL_BUSY:
    least = r->optimised ? SHORT_MASK_BYTES : MASK_WRITE_BYTES;
    said_at = r->optimised ? 0 : 6;
    break;
  case OP_BLOCK:
    least = r->optimised ? SHORT_BLOCK_HEAD_BYTES : BLOCK_HEAD_BYTES;
    said_at = r->optimised ? 2 : 3;
    break;
  case OP_NOOP:
  case OP_PREEMPT:
    least = 4;
    break;
  case OP_READ_REGISTERS:
  case OP_RECORD_TIMER:
    least = 8;
    said_at = 1;
    break;
  case OP_SYNC:
    least = SYNC_BYTES;
    said_at = 1;
    break;
  case OP_DDR_PATCH:
    least = r->optimised ? SHORT_PATCH_BYTES : PATCH_BYTES;
    said_at = 1;
    break;
  default:
    return diag_error(r->d, loc_none(),
                      "transaction byte %zu: operation %u is not one of "
                      "write, block write, masked write, poll, sync, patch",
                      r->at, op);
  }
  if (!bytes_within(r->length, r->at, least))
    return diag_error(r->d, loc_none(),
                      "transaction byte %zu: the operation runs past the end",
                      r->at);
  *size = said_at ? word(r, (int)said_at) : least;
  if (*size < least || *size % 4 || !bytes_within(r->length, r->at, *size))
    return diag_error(r->d, loc_none(),
                      "transaction byte %zu: operation %u says it has %zu "
                      "bytes; it has at least %zu, and %zu are left",
                      r->at, op, *size, least, r->length - r->at);
  return true;
}

static bool read_address(struct reading *r, uint32_t *address) {
  *address = word(r, r->optimised ? 1 : 2);
  if (!r->optimised && word(r, 3) != 0)
    return diag_error(r->d, loc_none(),
                      "transaction byte %zu: address above 32 bits", r->at);
  return true;
}

static bool read_operation(struct reading *r, uint32_t op, size_t size) {
  struct command_list *l = r->list;
  int value = r->optimised ? 2 : 4; /* index of the value word */
  uint32_t address;
  switch (op) {
  case OP_WRITE:
    if (!read_address(r, &address))
      return false;
    command_write(l, address, word(r, value));
    return true;
  case OP_MASK_WRITE:
    if (!read_address(r, &address))
      return false;
    command_mask_write(l, address, word(r, value + 1), word(r, value));
    return true;
  case OP_MASK_POLL:
  case OP_MASK_POLL_BUSY:
    if (!read_address(r, &address))
      return false;
    command_mask_poll(l, address, word(r, value + 1), word(r, value), 0);
    return true;
  case OP_BLOCK: {
    int head = r->optimised ? 3 : 4;
    size_t count = size / 4 - (size_t)head;
    uint32_t *words = arena_array(l->arena, count, sizeof *words);
    for (size_t i = 0; i < count; i++)
      words[i] = word(r, head + (int)i);
    command_block(l, word(r, r->optimised ? 1 : 2), words, (uint32_t)count);
    return true;
  }
  case OP_SYNC:
    command_sync(l, word(r, 2) >> 16 & 255, word(r, 2) >> 8 & 255,
                 word(r, 2) & 1, word(r, 3) >> 24);
    return true;
  case OP_DDR_PATCH:
    if (r->optimised)
      command_ddr_patch(l, word(r, 2), (int)(word(r, 3) & 255),
                        word(r, 4) | (uint64_t)word(r, 5) << 32);
    else
      command_ddr_patch(l, word(r, 6), (int)(word(r, 8) & 255),
                        word(r, 10) | (uint64_t)word(r, 11) << 32);
    return true;
  }
  return true; /* nothing for the array */
}

const struct device *txn_device(const void *txn, size_t length) {
  const struct device *dev = NULL;
  for (int i = 0; length >= HEADER_BYTES && (dev = device_at(i)); i++)
    if (dev->txn_generation == ((const uint8_t *)txn)[2])
      return dev;
  return NULL;
}

struct command_list *txn_read(struct arena *a, const void *txn, size_t length,
                              int *columns, struct diag *d) {
  struct reading r = {.bytes = txn, .list = command_list(a), .d = d};
  if (length < HEADER_BYTES) {
    diag_error(d, loc_none(),
               "transaction of %zu bytes: shorter than its "
               "header",
               length);
    return NULL;
  }
  int major = r.bytes[0], minor = r.bytes[1];
  if (!(major == 0 && minor == 1) && !(major == 1 && minor == 0)) {
    diag_error(d, loc_none(), "transaction version %d.%d; we read 0.1 and 1.0",
               major, minor);
    return NULL;
  }
  r.optimised = major == 1;
  r.length = bytes_u32(r.bytes + 12);
  if (r.length < HEADER_BYTES || r.length > length) {
    diag_error(d, loc_none(),
               "transaction: the header says %zu bytes, the "
               "file has %zu",
               r.length, length);
    return NULL;
  }
  uint32_t operations = bytes_u32(r.bytes + 8);
  *columns = r.bytes[4];
  r.at = HEADER_BYTES;
  for (uint32_t i = 0; i < operations; i++) {
    size_t size = 0;
    if (!bytes_within(r.length, r.at, 4)) {
      diag_error(d, loc_none(),
                 "transaction: the header says %u operations, "
                 "but the bytes end after %u",
                 operations, i);
      return NULL;
    }
    uint32_t op = r.bytes[r.at];
    if (!operation_size(&r, op, &size) || !read_operation(&r, op, size))
      return NULL;
    r.at += size;
  }
  return r.list;
}
