/* cdo.c -- register writes to a configuration data object and back
 * (formats.md section 1).
 *
 * We write the short command forms with 32-bit addresses, as bootgen does, and
 * pad with NOP so that the data of a block write starts at a multiple of 16
 * bytes in the file.  We read the 64-bit forms too, as long as the upper half
 * of the address is zero: addresses are relative to a partition.
 */
#include "bytes.h"
#include "image.h"

#include <assert.h>

enum {
  HEADER_WORDS = 5,
  HEADER_REST = 4, /* first header word: how many follow */
  IDENT_CDO = 0x004f4443,
  IDENT_BOOTGEN = 0x584c4e58,
  VERSION = 0x200,
  LONG_FORM = 255,     /* length field: the next word holds the length */
  DATA_ALIGN_WORDS = 4 /* of the first data word of DMA_WRITE */
};

enum opcode {
  OP_END_MARK = 0x100,
  OP_MASK_POLL = 0x101,
  OP_MASK_WRITE = 0x102,
  OP_WRITE = 0x103,
  OP_DELAY = 0x104,
  OP_DMA_WRITE = 0x105,
  OP_MASK_POLL64 = 0x106,
  OP_MASK_WRITE64 = 0x107,
  OP_WRITE64 = 0x108,
  OP_NOP = 0x111,
  OP_MARKER = 0x119
};

/* ---- write ---- */

static uint32_t head_of(enum opcode op, uint32_t words) {
  assert(words <= LONG_FORM);
  return words << 16 | op;
}

static void put_write(struct text *t, uint32_t address, uint32_t value) {
  bytes_put_list(t, head_of(OP_WRITE, 2), address, value);
}

/* bootgen makes a plain write of a block of one word, and so do we. */
static void put_block(struct text *t, const struct command *c) {
  if (c->count == 1)
    put_write(t, c->address, c->words[0]);
  if (c->count <= 1)
    return;
  uint32_t payload = c->count + 2, head = payload < LONG_FORM ? 3 : 4;
  uint32_t pad = (uint32_t)(-(t->length / 4 + head) % DATA_ALIGN_WORDS);
  if (pad) {
    bytes_put_u32(t, head_of(OP_NOP, pad - 1));
    bytes_zeros(t, 4 * (pad - 1));
  }
  if (payload < LONG_FORM)
    bytes_put_u32(t, head_of(OP_DMA_WRITE, payload));
  else
    bytes_put_list(t, head_of(OP_DMA_WRITE, LONG_FORM), payload);
  bytes_put_list(t, 0, c->address);
  assert(t->length / 4 % DATA_ALIGN_WORDS == 0);
  bytes_put_words(t, c->words, c->count);
}

static bool put(struct text *t, const struct command *c, int index,
                struct diag *d) {
  switch (c->kind) {
  case COMMAND_WRITE:
    put_write(t, c->address, c->value);
    return true;
  case COMMAND_MASK_WRITE:
    bytes_put_list(t, head_of(OP_MASK_WRITE, 3), c->address, c->mask, c->value);
    return true;
  case COMMAND_BLOCK:
    if (c->count > UINT32_MAX / 8)
      return diag_error(d, loc_none(), "CDO command %d: a block of %u words",
                        index, c->count);
    put_block(t, c);
    return true;
  case COMMAND_MASK_POLL:
    bytes_put_list(t, head_of(OP_MASK_POLL, 4), c->address, c->mask, c->value,
                   c->timeout_ms);
    return true;
  case COMMAND_DELAY:
    bytes_put_list(t, head_of(OP_DELAY, 1), c->value);
    return true;
  case COMMAND_SYNC:
  case COMMAND_DDR_PATCH:
    break;
  }
  return diag_error(d, loc_none(),
                    "CDO command %d: %s belongs into a transaction", index,
                    c->kind == COMMAND_SYNC ? "a token wait" : "a DDR patch");
}

/* About: of each command its words, and what may be in front of them; not of
 * one that is larger than a program, which may be refused. */
static size_t bytes_of(const struct command_list *l) {
  enum { HEAD_BYTES = 32, MOST_WORDS = 1 << 16 };
  size_t bytes = 4 * HEADER_WORDS;
  for (int i = 0; i < l->count; i++) {
    uint32_t words = l->item[i].count;
    bytes += HEAD_BYTES + (words < MOST_WORDS ? 4 * (size_t)words : 0);
  }
  return bytes;
}

bool cdo_write(const struct command_list *l, struct text *out, struct diag *d) {
  struct text t = {0};
  text_expect(&t, bytes_of(l));
  bytes_zeros(&t, 4 * HEADER_WORDS);
  bool good = true;
  for (int i = 0; i < l->count && good; i++)
    good = put(&t, &l->item[i], i, d);
  assert(t.length % 4 == 0);
  const uint32_t header[HEADER_WORDS - 1] = {
      HEADER_REST, IDENT_CDO, VERSION, (uint32_t)(t.length / 4) - HEADER_WORDS};
  for (int i = 0; i < HEADER_WORDS - 1; i++)
    bytes_set_u32(t.data + 4 * i, header[i]);
  bytes_set_u32(t.data + 16, bytes_checksum(t.data, HEADER_WORDS - 1));
  if (good)
    text_take(out, &t);
  text_free(&t);
  return good;
}

/* ---- read ---- */

struct reading {
  const uint8_t *words; /* of the command area */
  size_t count, at;     /* in words */
  struct command_list *list;
  struct diag *d;
};

static uint32_t word(const struct reading *r, size_t i) {
  return bytes_u32(r->words + 4 * i);
}

static bool bad(struct reading *r, const char *what, uint32_t value) {
  return diag_error(r->d, loc_none(), "CDO word %zu: %s (0x%x)",
                    r->at + HEADER_WORDS, what, value);
}

/* One command whose `n` payload words start at word p. */
static bool read_payload(struct reading *r, uint32_t op, size_t p, size_t n) {
  static const struct {
    uint16_t op;
    uint8_t least, most, high; /* payload words; words of upper address */
  } shape[] = {{OP_MASK_POLL, 3, 4, 0},   {OP_MASK_POLL64, 4, 5, 1},
               {OP_MASK_WRITE, 3, 3, 0},  {OP_MASK_WRITE64, 4, 4, 1},
               {OP_WRITE, 2, 2, 0},       {OP_WRITE64, 3, 3, 1},
               {OP_DMA_WRITE, 2, 255, 1}, {OP_DELAY, 1, 1, 0}};
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
    if (shape[i].op != op)
      continue;
    if (n < shape[i].least || (n > shape[i].most && op != OP_DMA_WRITE))
      return bad(r, "wrong number of payload words", (uint32_t)n);
    if (shape[i].high && word(r, p) != 0)
      return bad(r, "address above 32 bits", word(r, p));
    p += shape[i].high;
    n -= shape[i].high;
  }
  struct command_list *l = r->list;
  switch (op) {
  case OP_WRITE:
  case OP_WRITE64:
    command_write(l, word(r, p), word(r, p + 1));
    return true;
  case OP_MASK_WRITE:
  case OP_MASK_WRITE64:
    command_mask_write(l, word(r, p), word(r, p + 1), word(r, p + 2));
    return true;
  case OP_MASK_POLL:
  case OP_MASK_POLL64:
    command_mask_poll(l, word(r, p), word(r, p + 1), word(r, p + 2),
                      n > 3 ? word(r, p + 3) : 0);
    return true;
  case OP_DMA_WRITE: {
    uint32_t *words = arena_array(l->arena, n, sizeof *words);
    for (size_t i = 0; i + 1 < n; i++)
      words[i] = word(r, p + 1 + i);
    command_block(l, word(r, p), words, (uint32_t)n - 1);
    return true;
  }
  case OP_DELAY:
    command_delay(l, word(r, p));
    return true;
  case OP_NOP:
  case OP_MARKER:
    return true;
  default:
    return bad(r, "command that we do not know", op);
  }
}

static bool read_commands(struct reading *r) {
  while (r->at < r->count) {
    uint32_t head = word(r, r->at), op = head & 0xffff;
    size_t p = r->at + 1, n = head >> 16 & 255;
    if (op == OP_END_MARK)
      return true;
    if (n == LONG_FORM) {
      if (p == r->count)
        return bad(r, "no length behind a long command", op);
      n = word(r, p++);
    }
    if (n > r->count - p)
      return bad(r, "command runs past the end", head);
    if (!read_payload(r, op, p, n))
      return false;
    r->at = p + n;
  }
  return true;
}

struct command_list *cdo_read(struct arena *a, const void *cdo, size_t length,
                              struct diag *d) {
  const uint8_t *bytes = cdo;
  struct reading r = {.list = command_list(a), .d = d};
  if (length < 4 * HEADER_WORDS) {
    diag_error(d, loc_none(), "CDO of %zu bytes: shorter than its header",
               length);
    return NULL;
  }
  uint32_t ident = bytes_u32(bytes + 4);
  if (bytes_u32(bytes) != HEADER_REST ||
      (ident != IDENT_CDO && ident != IDENT_BOOTGEN)) {
    diag_error(d, loc_none(), "not a CDO: it starts with 0x%08x 0x%08x",
               bytes_u32(bytes), ident);
    return NULL;
  }
  if (bytes_u32(bytes + 16) != bytes_checksum(bytes, HEADER_WORDS - 1)) {
    diag_error(d, loc_none(), "CDO header: checksum 0x%08x, computed 0x%08x",
               bytes_u32(bytes + 16), bytes_checksum(bytes, HEADER_WORDS - 1));
    return NULL;
  }
  r.words = bytes + 4 * HEADER_WORDS;
  r.count = bytes_u32(bytes + 12);
  if (r.count > length / 4 - HEADER_WORDS) {
    diag_error(d, loc_none(),
               "CDO header: %zu words of commands, but only %zu "
               "are there",
               r.count, length / 4 - HEADER_WORDS);
    return NULL;
  }
  return read_commands(&r) ? r.list : NULL;
}
