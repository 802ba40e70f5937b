/* build_formats.c -- compiles formats.def: where slots lie in a bundle, and
 * which format a set of slots takes. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void isa_put_bits(uint8_t *bytes, int low, int width, uint64_t value) {
  if (width < 64)
    value &= (UINT64_C(1) << width) - 1;
  for (int bit = low & ~7; bit < low + width; bit += 8)
    bytes[bit >> 3] |=
        (uint8_t)(bit < low ? value << (low - bit) : value >> (bit - low));
}

static int slot_of(const struct isa *t, char letter) {
  for (int s = 0; s < SLOT_COUNT; s++)
    if (t->rows->slot[s].letter == letter)
      return s;
  return -1;
}

static void build_format(struct isa *t, struct format *f,
                         const struct format_row *r) {
  f->bytes = r->bytes;
  int bit = 8 * r->bytes;
  bool nop = false;
  for (const char *at = r->bits; *at;) {
    if (*at == ' ') {
      at++;
    } else if (*at == '-') {
      bit--;
      at++;
    } else if (*at == '0' || *at == '1') {
      bit--;
      isa_put_bits(f->mask, bit, 1, 1);
      isa_put_bits(f->fixed, bit, 1, (uint64_t)(*at++ == '1'));
    } else {
      int slot = slot_of(t, *at), width = (int)strtol(at + 2, (char **)&at, 10);
      bit -= width;
      if (slot < 0) { /* the nop field, always 0 */
        isa_put_bits(f->mask, bit, width, ~UINT64_C(0));
        nop = true;
        continue;
      }
      assert(width == isa_slot_bits(t, (enum isa_slot)slot));
      f->slots |= 1u << slot;
      f->low[slot] = bit;
    }
  }
  assert(bit == 0);
  if (nop && f->slots) {
    assert(f->slots == 1u << SLOT_LNG && t->nop_field_bytes == 0);
    t->nop_field_bytes = f->bytes;
  }
}

/* The lowest 4 bits of a bundle tell its size: formats that share them agree
 * (isa.md B). */
static void build_sizes(struct isa *t) {
  for (int low = 0; low < 16; low++)
    for (int i = 0; i < t->format_count; i++) {
      const struct format *f = &t->format[i];
      if ((low ^ f->fixed[0]) & f->mask[0] & 15)
        continue;
      assert(t->size_of[low] == 0 || t->size_of[low] == f->bytes);
      t->size_of[low] = (uint8_t)f->bytes;
    }
}

/* The smallest format with all of `slots`, of `size` bytes unless 0; among
 * equals the one with fewest slots left over, then the first of the table. */
static int choose_format(const struct isa *t, unsigned slots, int size) {
  const struct format *best = NULL;
  for (int i = 0; i < t->format_count; i++) {
    const struct format *f = &t->format[i];
    if ((f->slots & slots) != slots || (size && f->bytes != size))
      continue;
    if (!best || f->bytes < best->bytes ||
        (f->bytes == best->bytes &&
         __builtin_popcount(f->slots) < __builtin_popcount(best->slots)))
      best = f;
  }
  return best ? (int)(best - t->format) : -1;
}

void isa_build_formats(struct isa *t) {
  t->format_count = t->rows->format_count;
  assert(t->format_count <= MAX_FORMATS);
  for (int i = 0; i < t->format_count; i++)
    build_format(t, &t->format[i], &t->rows->format[i]);
  build_sizes(t);
  for (unsigned slots = 0; slots < 1u << SLOT_COUNT; slots++)
    for (int size = 0; size <= ISA_BUNDLE_BYTES; size += 2)
      t->choice[slots][size / 2] = (int8_t)choose_format(t, slots, size);
}
