/* Control packets: register accesses that arrive over streams at a tile's
 * TileControl master (array.md, section 6).
 *
 * A control header names an address in the tile, 1 to 4 words and an
 * operation: write (the three write operations all go to successive words) or
 * read.  A read is answered by a packet with the header's return id from the
 * TileControl slave port.  Headers may follow each other in one packet.  The
 * ordinary packet header in front, where a master does not drop it, is not
 * ours.
 */
#include "tile.h"

enum operation { WRITE, READ, WRITE_INCREMENT, BLOCK_WRITE };

/* The answer to a read: false when its FIFO has no room, or failed. */
static bool answer(struct tile *t, uint32_t header, uint32_t words) {
  struct sim *s = t->sim;
  struct slave *out = &t->port[port_slave(t->kind, PORT_CONTROL, 0)];
  struct beat b = {.ready = s->now + PORT_LOCAL_LATENCY};
  if (!fifo_has_room(&out->fifo, words + 1))
    return false;
  b.word = odd_parity((header >> 24 & 0x1F) | (uint32_t)t->row << 16 |
                      (uint32_t)t->column << 21);
  fifo_push(&out->fifo, b);
  for (uint32_t i = 0; i < words; i++) {
    uint32_t offset = (header & 0xFFFFF) + 4 * i;
    if (offset > 0xFFFFF ||
        !register_read(s, tile_address(t->column, t->row, offset), &b.word))
      return false;
    b.last = i + 1 == words;
    fifo_push(&out->fifo, b);
  }
  port_list(s, out);
  return true;
}

/* false: not now, or failed. */
static bool take(struct tile *t, const struct beat *b) {
  struct handler *h = &t->handler;
  struct sim *s = t->sim;
  char name[32];
  if (h->words_left) {
    uint32_t address = tile_address(t->column, t->row, h->offset & 0xFFFFF);
    if (!register_ready(s, address))
      return false;
    h->words_left--;
    register_write(s, address, b->word);
    h->offset += 4;
  } else {
    uint32_t words = (b->word >> 20 & 3) + 1;
    h->offset = b->word & 0xFFFFF;
    if ((b->word >> 22 & 3) != READ)
      h->words_left = words;
    else if (!answer(t, b->word, words))
      return false;
  }
  if (b->last && h->words_left)
    return sim_fail(s, "%s: a control packet ends %u words early",
                    tile_name(t, name), h->words_left);
  return !s->failed;
}

/* What the streams have brought in this cycle, or could not be taken before. */
void packets_step(struct sim *s) {
  for (int i = 0; s->full_handlers && i < s->columns * s->rows; i++) {
    struct handler *h = &s->tile[i].handler;
    if (!h->full || !take(&s->tile[i], &h->in))
      continue;
    h->full = false;
    s->full_handlers--;
    s->progress = true;
  }
}
