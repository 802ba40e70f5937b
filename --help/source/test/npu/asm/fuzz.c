/* fuzz.c -- one input through the road that its first byte names; the entry
 * point of libFuzzer when built with NPUTEIR_FUZZ. */
#include "fuzz.h"

#include "asm.h"

#include <stdlib.h>
#include <string.h>

static bool same(const struct text *a, const struct text *b) {
  return a->length == b->length &&
         memcmp(text_string(a), text_string(b), a->length) == 0;
}

static bool bytes_of(struct arena *a, const char *text, struct text *bytes) {
  struct diag d = {DIAG_NONE, loc_none(), ""};
  struct asm_program *p = asm_parse(a, isa_find("aie2"), "fuzz.s", text, &d);
  return p && asm_bytes(p, 0, NULL, 0, bytes, &d);
}

/* An accepted text prints as text with the same bytes; all else only must not
 * crash. */
static bool try_text(struct arena *a, const char *text) {
  struct diag d = {DIAG_NONE, loc_none(), ""}, e = d, f = d, g = d;
  struct text bytes = {0}, again = {0}, printed = {0}, elf = {0};
  struct asm_program *p = asm_parse(a, isa_find("aie2"), "fuzz.s", text, &d);
  bool good = (p != NULL) == (d.kind == DIAG_NONE);
  if (p) {
    bool fits = asm_bytes(p, 0, NULL, 0, &bytes, &e);
    good = good && fits == (e.kind == DIAG_NONE);
    asm_print(p, &printed);
    if (fits)
      good = good && bytes_of(a, text_string(&printed), &again) &&
             same(&bytes, &again);
    asm_check(p, &f);
    if (asm_link(&p, 1, NULL, 0, &elf, &g)) {
      printed.length = 0;
      good = good && asm_disassemble_elf(isa_find("aie2"),
                                         (const uint8_t *)text_string(&elf),
                                         elf.length, &printed, &g);
    }
    elf.length = printed.length = 0;
    g.kind = DIAG_NONE;
    if (asm_object(p, &elf, &g))
      good = good && asm_disassemble_elf(isa_find("aie2"),
                                         (const uint8_t *)text_string(&elf),
                                         elf.length, &printed, &g);
  }
  text_free(&bytes);
  text_free(&again);
  text_free(&printed);
  text_free(&elf);
  return good;
}

/* Whatever the bytes, their disassembly assembles to them. */
static bool try_bytes(struct arena *a, const uint8_t *data, size_t size) {
  struct text printed = {0}, bytes = {0};
  asm_disassemble(isa_find("aie2"), data, size, 0, &printed);
  bool good = bytes_of(a, text_string(&printed), &bytes) &&
              bytes.length == size &&
              memcmp(text_string(&bytes), data, size) == 0;
  text_free(&printed);
  text_free(&bytes);
  return good;
}

static bool try_elf(const uint8_t *data, size_t size) {
  struct diag d = {DIAG_NONE, loc_none(), ""};
  struct text printed = {0};
  bool read = asm_disassemble_elf(isa_find("aie2"), data, size, &printed, &d);
  text_free(&printed);
  return read == (d.kind == DIAG_NONE);
}

bool fuzz_one(const uint8_t *data, size_t size) {
  if (size < 1 || size > 1 << 14)
    return true;
  struct arena *a = arena_open();
  bool good = true;
  switch (data[0] % FUZZ_KINDS) {
  case FUZZ_TEXT:
    good = try_text(a, arena_substring(a, (const char *)data + 1, size - 1));
    break;
  case FUZZ_BYTES:
    good = try_bytes(a, data + 1, size - 1);
    break;
  case FUZZ_ELF:
    good = try_elf(data + 1, size - 1);
    break;
  }
  arena_close(a);
  return good;
}

#ifdef NPUTEIR_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!fuzz_one(data, size))
    abort();
  return 0;
}
#endif
