/* elf.c -- a core ELF as the loader of the array sees it: every loadable
 * segment becomes block writes into program memory or into the tile's own
 * data memory (array.md section 8).
 *
 * A segment is zero-filled beyond its bytes in the file.  Segments for the
 * memory of a neighbour are refused: we load one tile at a time.
 */
#include "bytes.h"
#include "elf_file.h"
#include "image.h"
#include "isa.h"

/* Where in the tile the segment goes. */
static bool segment_place(const struct device *dev,
                          const struct elf_file_segment *s, uint32_t *offset,
                          struct diag *d) {
  uint32_t own = dev->core_address, end = dev->tile[TILE_CORE].memory_bytes;
  if (bytes_within(dev->program_bytes, s->address, s->memory_bytes)) {
    *offset = REG_CORE_PROGRAM + s->address;
    return true;
  }
  if (s->address >= own &&
      bytes_within(end, s->address - own, s->memory_bytes)) {
    *offset = REG_CORE_MEMORY + s->address - own;
    return true;
  }
  return diag_error(d, loc_none(),
                    "core ELF: a segment of %u bytes at 0x%x lies neither in "
                    "program memory (0..0x%x) nor in own data memory "
                    "(0x%x..0x%x)",
                    s->memory_bytes, s->address, dev->program_bytes, own,
                    own + end);
}

static bool load_segment(const struct device *dev,
                         const struct elf_file_segment *s, uint32_t tile,
                         struct command_list *l, struct diag *d) {
  uint32_t offset = 0;
  if (s->memory_bytes == 0)
    return true;
  if (s->size > s->memory_bytes)
    return diag_error(d, loc_none(),
                      "core ELF: segment at 0x%x has %u bytes for %u in memory",
                      s->address, s->size, s->memory_bytes);
  if (s->address % 4)
    return diag_error(d, loc_none(),
                      "core ELF: segment at 0x%x; addresses are multiples of 4",
                      s->address);
  if (!segment_place(dev, s, &offset, d))
    return false;
  uint32_t count = (s->memory_bytes + 3) / 4;
  struct arena *a = l->arena;
  uint8_t *bytes = arena_array(a, count, 4);
  memcpy(bytes, s->bytes, s->size);
  uint32_t *words = arena_array(a, count, sizeof *words);
  for (uint32_t i = 0; i < count; i++)
    words[i] = bytes_u32(bytes + 4 * i);
  command_block(l, tile | offset, words, count);
  return true;
}

bool elf_load(const struct device *dev, const void *data, size_t length,
              int column, int row, struct command_list *l, struct diag *d) {
  struct elf_file f;
  if (!elf_read_segments(l->arena, data, length, &f, d))
    return false;
  if (f.machine && f.machine != isa_elf_flags(isa_find(dev->isa)))
    return diag_error(d, loc_none(),
                      "core ELF: its flags name instruction set %u; %s has "
                      "cores of %s, %u",
                      f.machine, dev->name, dev->isa,
                      isa_elf_flags(isa_find(dev->isa)));
  if (f.segment_count == 0)
    return diag_error(d, loc_none(), "core ELF: it has no loadable segment");
  uint32_t tile = tile_address(column, row, 0);
  for (int i = 0; i < f.segment_count; i++)
    if (!load_segment(dev, &f.segment[i], tile, l, d))
      return false;
  return true;
}
