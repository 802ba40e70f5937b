/* build_formats.c -- compiles formats.def: where slots lie in a bundle, and
 * which format a set of slots takes. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct row {
  int bytes;
  const char *bits;
};
static const struct row row[] = {
#define FORMAT(bytes, bits) {bytes, bits},
#include "aie2/formats.def"
#undef FORMAT
};
_Static_assert(sizeof row / sizeof *row <= MAX_FORMATS, "room for formats");

void isa_put_bits(uint8_t *bytes, int low, int width, uint64_t value) {
  if (width < 64)
    value &= (UINT64_C(1) << width) - 1;
  for (int bit = low & ~7; bit < low + width; bit += 8)
    bytes[bit >> 3] |=
        (uint8_t)(bit < low ? value << (low - bit) : value >> (bit - low));
}

static int slot_of(char letter) {
  static const char letters[] = "ABSXMLV";
  static const enum isa_slot slot[] = {SLOT_LDA, SLOT_LDB, SLOT_ST, SLOT_ALU,
                                       SLOT_MV,  SLOT_LNG, SLOT_VEC};
  const char *at = strchr(letters, letter);
  return at ? (int)slot[at - letters] : -1;
}

static void build_format(struct format *f, const struct row *r) {
  f->bytes = r->bytes;
  int bit = 8 * r->bytes;
  for (const char *at = r->bits; *at;) {
    if (*at == ' ') {
      at++;
    } else if (*at == '0' || *at == '1') {
      bit--;
      isa_put_bits(f->mask, bit, 1, 1);
      isa_put_bits(f->fixed, bit, 1, (uint64_t)(*at++ == '1'));
    } else {
      int slot = slot_of(*at), width = (int)strtol(at + 2, (char **)&at, 10);
      bit -= width;
      if (slot < 0) { /* the nop field, always 0 */
        isa_put_bits(f->mask, bit, width, ~UINT64_C(0));
        continue;
      }
      assert(width == isa_slot_bits((enum isa_slot)slot));
      f->slots |= 1u << slot;
      f->low[slot] = bit;
    }
  }
  assert(bit == 0);
}

/* The smallest format with all of `slots`, of `size` bytes unless 0; among
 * equals the one with fewest slots left over, then the first of the table. */
static int choose_format(const struct tables *t, unsigned slots, int size) {
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

void isa_build_formats(struct tables *t) {
  t->format_count = (int)(sizeof row / sizeof *row);
  for (int i = 0; i < t->format_count; i++)
    build_format(&t->format[i], &row[i]);
  for (unsigned slots = 0; slots < 1u << SLOT_COUNT; slots++)
    for (int size = 0; size <= ISA_BUNDLE_BYTES; size += 2)
      t->choice[slots][size / 2] = (int8_t)choose_format(t, slots, size);
}
