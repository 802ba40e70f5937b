/* elf.c -- a core ELF as the loader of the array sees it: every loadable
 * segment becomes block writes into program memory or into the tile's own
 * data memory (array.md section 8).
 *
 * A segment is zero-filled beyond its bytes in the file.  Segments for the
 * memory of a neighbour are refused: we load one tile at a time.
 */
#include "bytes.h"
#include "image.h"

#include <elf.h>

enum { MACHINE_AIE = 264, COLUMN_SHIFT = 25, ROW_SHIFT = 20 };

struct segment {
  uint32_t address, file_offset, file_bytes, memory_bytes;
};

/* Where in the tile the segment goes. */
static bool segment_place(const struct device *dev, const struct segment *s,
                          uint32_t *offset, struct diag *d) {
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

static bool load_segment(const struct device *dev, const uint8_t *elf,
                         size_t length, const struct segment *s, uint32_t tile,
                         struct command_list *l, struct diag *d) {
  uint32_t offset = 0;
  if (s->memory_bytes == 0)
    return true;
  if (s->file_bytes > s->memory_bytes ||
      !bytes_within(length, s->file_offset, s->file_bytes))
    return diag_error(d, loc_none(),
                      "core ELF: segment at 0x%x has %u bytes at %u of a file "
                      "of %zu, for %u in memory",
                      s->address, s->file_bytes, s->file_offset, length,
                      s->memory_bytes);
  if (s->address % 4)
    return diag_error(d, loc_none(),
                      "core ELF: segment at 0x%x; addresses are multiples of 4",
                      s->address);
  if (!segment_place(dev, s, &offset, d))
    return false;
  uint32_t count = (s->memory_bytes + 3) / 4;
  struct arena *a = l->arena;
  uint8_t *bytes = arena_array(a, count, 4);
  memcpy(bytes, elf + s->file_offset, s->file_bytes);
  uint32_t *words = arena_array(a, count, sizeof *words);
  for (uint32_t i = 0; i < count; i++)
    words[i] = bytes_u32(bytes + 4 * i);
  command_block(l, tile | offset, words, count);
  return true;
}

bool elf_load(const struct device *dev, const void *data, size_t length,
              int column, int row, struct command_list *l, struct diag *d) {
  const uint8_t *elf = data;
  static const uint8_t magic[] = {ELFMAG0, ELFMAG1,    ELFMAG2,
                                  ELFMAG3, ELFCLASS32, ELFDATA2LSB};
  Elf32_Ehdr e; /* hosts are little endian */
  if (length < sizeof e || memcmp(elf, magic, sizeof magic) != 0)
    return diag_error(d, loc_none(), "not a little-endian ELF32 file");
  memcpy(&e, elf, sizeof e);
  if (e.e_machine != MACHINE_AIE)
    return diag_error(d, loc_none(), "ELF for machine %d; cores take %d",
                      e.e_machine, MACHINE_AIE);
  uint32_t size = e.e_phentsize, count = e.e_phnum;
  if (count && (size < sizeof(Elf32_Phdr) ||
                !bytes_within(length, e.e_phoff, (uint64_t)size * count)))
    return diag_error(d, loc_none(),
                      "core ELF: %u program headers of %u bytes at %u are past "
                      "the end",
                      count, size, e.e_phoff);
  uint32_t tile = (uint32_t)column << COLUMN_SHIFT | (uint32_t)row << ROW_SHIFT;
  bool loaded = false;
  for (uint32_t i = 0; i < count; i++) {
    Elf32_Phdr h;
    memcpy(&h, elf + e.e_phoff + (size_t)size * i, sizeof h);
    if (h.p_type != PT_LOAD)
      continue;
    struct segment s = {h.p_paddr, h.p_offset, h.p_filesz, h.p_memsz};
    if (!load_segment(dev, elf, length, &s, tile, l, d))
      return false;
    loaded = true;
  }
  return loaded ||
         diag_error(d, loc_none(), "core ELF: it has no loadable segment");
}
