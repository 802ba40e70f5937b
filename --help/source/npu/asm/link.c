/* link.c -- places the sections of core programs and gives their bytes, bare
 * or as the ELF that a loader of the array takes (isa.md F3).
 *
 * Code starts at 0 with the first program, data where the core sees its own
 * memory.  A symbol means the label of its own program, else a global label of
 * another one, else a value given by the caller. */
#include "device_most.h"
#include "elf_write.h"

#include <assert.h>
#include <string.h>

/* No device takes more code; design_check asks the one it is for. */
enum {
  CODE_BYTES = DEVICE_MOST_PROGRAM_BYTES,
  DATA_ADDRESS = DEVICE_CORE_ADDRESS,
  DATA_BYTES = DEVICE_MOST_CORE_BYTES
};

struct image {
  struct layout *layout;
  int count;
  const struct asm_symbol *symbol;
  int symbol_count;
};

static bool resolve(const struct resolver *r, const char *symbol,
                    int64_t *value) {
  const struct image *image = r->data;
  for (int i = 0; i < image->count; i++) {
    const struct label *label = layout_label(&image->layout[i], symbol);
    if (label && label->global) {
      *value = layout_address(&image->layout[i], label);
      return true;
    }
  }
  for (int i = 0; i < image->symbol_count; i++)
    if (strcmp(image->symbol[i].name, symbol) == 0) {
      *value = image->symbol[i].value;
      return true;
    }
  return false;
}

static bool check_globals(const struct image *image, struct diag *d) {
  for (int i = 0; i < image->count; i++)
    for (int k = 0; k < image->layout[i].label_count; k++) {
      const struct label *label = &image->layout[i].label[k];
      for (int j = 0; label->global && label->section >= 0 && j < i; j++) {
        const struct label *other =
            layout_label(&image->layout[j], label->name);
        if (other && other->global)
          return diag_error(d, label->at,
                            "global label '%s' is defined in two programs",
                            label->name);
      }
    }
  return true;
}

/* Gives addresses to the sections that are code (or are not). */
static uint32_t place(struct image *image, bool code, uint32_t address) {
  for (int i = 0; i < image->count; i++)
    for (int k = 0; k < image->layout[i].section_count; k++) {
      struct section *s = &image->layout[i].section[k];
      if (!(s->flags & SECTION_EXEC) == code)
        continue;
      assert(s->align > 0);
      address = (address + s->align - 1) / s->align * s->align;
      s->address = address;
      address += s->size;
    }
  return address;
}

static bool emit(const struct image *image, bool code, uint32_t from,
                 struct text *out, struct diag *d) {
  for (int i = 0; i < image->count; i++)
    for (int k = 0; k < image->layout[i].section_count; k++) {
      const struct section *s = &image->layout[i].section[k];
      if (!(s->flags & SECTION_EXEC) == code)
        continue;
      struct resolver r = {resolve, image, &image->layout[i], false};
      while (out->length < s->address - from) {
        struct fragment pad = {.kind = FRAGMENT_PAD,
                               .size =
                                   s->address - from - (uint32_t)out->length};
        struct section gap = {.flags = s->flags, .count = 1, .fragment = &pad};
        if (pad.size > 16)
          pad.size = 16;
        if (!layout_emit(&image->layout[i], &gap, &r, out, d))
          return false;
      }
      assert(out->length == s->address - from);
      if (!layout_emit(&image->layout[i], s, &r, out, d))
        return false;
    }
  return true;
}

static bool open_image(struct image *image, struct arena *a,
                       struct asm_program *const *program, int count,
                       const struct asm_symbol *symbol, int symbol_count,
                       struct diag *d) {
  *image = (struct image){arena_array(a, (size_t)count, sizeof *image->layout),
                          count, symbol, symbol_count};
  for (int i = 0; i < count; i++)
    if (!layout_build(&image->layout[i], a, program[i], d))
      return false;
  return check_globals(image, d);
}

static void add_symbols(struct elf_writer *w, const struct image *image,
                        int code_section, int data_section) {
  for (int global = 0; global < 2; global++)
    for (int i = 0; i < image->count; i++)
      for (int k = 0; k < image->layout[i].label_count; k++) {
        const struct layout *l = &image->layout[i];
        const struct label *label = &l->label[k];
        if (label->section < 0 || label->global != (global == 1))
          continue;
        bool code = l->section[label->section].flags & SECTION_EXEC;
        elf_add_symbol(w, label, layout_address(l, label),
                       code ? code_section : data_section);
      }
}

bool asm_link(struct asm_program *const *program, int program_count,
              const struct asm_symbol *symbol, int symbol_count,
              struct text *elf, struct diag *d) {
  struct arena *a = arena_open();
  struct image image;
  struct text code = {0}, data = {0};
  bool good =
      open_image(&image, a, program, program_count, symbol, symbol_count, d);
  if (good) {
    uint32_t end = place(&image, true, 0);
    uint32_t data_end = place(&image, false, DATA_ADDRESS);
    if (end > CODE_BYTES)
      good =
          diag_error(d, loc_none(), "%u bytes of code; program memory has %d",
                     end, CODE_BYTES);
    else if (data_end > DATA_ADDRESS + DATA_BYTES)
      good = diag_error(d, loc_none(), "%u bytes of data; a core has %d",
                        data_end - DATA_ADDRESS, DATA_BYTES);
  }
  good = good && emit(&image, true, 0, &code, d) &&
         emit(&image, false, DATA_ADDRESS, &data, d);
  if (good) {
    struct elf_writer w =
        elf_open(a, ELF_EXECUTABLE, isa_elf_flags(program[0]->isa));
    int text = elf_add_section(&w, ".text", SECTION_EXEC, 16, 0, &code);
    int own = data.length ? elf_add_section(&w, ".data", SECTION_WRITE, 32,
                                            DATA_ADDRESS, &data)
                          : 0;
    add_symbols(&w, &image, text, own);
    elf_write(&w, elf);
  }
  text_free(&code);
  text_free(&data);
  arena_close(a);
  return good;
}

bool asm_bytes(const struct asm_program *p, uint32_t address,
               const struct asm_symbol *symbol, int symbol_count,
               struct text *bytes, struct diag *d) {
  struct arena *a = arena_open();
  struct asm_program *program = (struct asm_program *)p; /* only read */
  struct image image;
  struct text code = {0};
  bool good = open_image(&image, a, &program, 1, symbol, symbol_count, d);
  if (good && address % 16)
    good = diag_error(d, loc_none(),
                      "code is placed at 0x%x; it takes a "
                      "multiple of 16",
                      address);
  for (int k = 0; good && k < image.layout[0].section_count; k++) {
    const struct section *s = &image.layout[0].section[k];
    if (!(s->flags & SECTION_EXEC) && s->size)
      good = diag_error(d, loc_none(),
                        "section %s holds data, which has no place without an "
                        "ELF around it",
                        s->name);
  }
  if (good) {
    place(&image, true, address);
    place(&image, false, DATA_ADDRESS);
    good = emit(&image, true, address, &code, d);
  }
  if (good)
    text_append(bytes, text_string(&code), code.length);
  text_free(&code);
  arena_close(a);
  return good;
}
