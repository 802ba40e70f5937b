/* `nputeir dis`: code of a core from an ELF file, from bare bytes or from hex
 * digits, as text that `nputeir as` reads back to the same bytes. */
#include "asm.h"
#include "tool.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

struct job {
  const struct isa *isa;
  const char *file, *hex, *output;
  int64_t address;
};

/* Pairs of hex digits; blanks, commas and 0x between them do not matter. */
static bool read_hex(const char *text, struct text *bytes, struct diag *d) {
  int digits = 0;
  unsigned value = 0;
  for (const char *at = text; *at; at++) {
    if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && digits == 0) {
      at++;
      continue;
    }
    if (isspace((unsigned char)*at) || *at == ',') {
      if (digits)
        return diag_error(d, loc_none(),
                          "hex digits: a single digit before column %d",
                          (int)(at - text) + 1);
      continue;
    }
    if (!isxdigit((unsigned char)*at))
      return diag_error(d, loc_none(), "hex digits: '%c' at column %d", *at,
                        (int)(at - text) + 1);
    unsigned digit = isdigit((unsigned char)*at)
                         ? (unsigned)(*at - '0')
                         : (unsigned)(tolower((unsigned char)*at) - 'a' + 10);
    value = value << 4 | digit;
    if (++digits == 2) {
      text_append(bytes, &(char){(char)value}, 1);
      digits = 0;
      value = 0;
    }
  }
  return digits == 0 ||
         diag_error(d, loc_none(), "hex digits: an odd number of digits");
}

static bool is_elf(const char *data, size_t length) {
  return length >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
}

/* The bytes of the call, or the text of the ELF file that it names. */
static bool read_code(struct tool *t, const struct job *j, struct text *bytes) {
  if (j->hex)
    return read_hex(j->hex, bytes, &t->diag);
  size_t length;
  char *data = tool_input(t, j->file, &length);
  if (!data)
    return false;
  if (!is_elf(data, length)) {
    text_append(bytes, data, length);
    return true;
  }
  if (asm_disassemble_elf(j->isa, (const uint8_t *)data, length, &t->out,
                          &t->diag))
    return true;
  t->diag.at.file = j->file;
  return false;
}

static bool run(struct tool *t, void *job) {
  struct job *j = job;
  struct text bytes = {0};
  if (!j->file == !j->hex)
    return tool_usage(t, j->file ? "takes a file or --hex, not both"
                                 : "takes a file or --hex");
  if (!j->isa)
    j->isa = isa_at(0);
  bool good = read_code(t, j, &bytes);
  asm_disassemble(j->isa, (const uint8_t *)text_string(&bytes), bytes.length,
                  (uint32_t)j->address, &t->out);
  text_free(&bytes);
  return good && tool_print(t, j->output);
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"FILE", NULL, tool_word, AT(file),
     .help = "an ELF of machine 264 (sections, symbols and relocations are "
             "shown), or "
             "bare code bytes; - is standard input"},
    {"--hex", "DIGITS", tool_word, AT(hex),
     .help = "the bytes in memory order, as `nputeir as --hex` prints them"},
    {"--isa", "NAME", tool_isa, AT(isa),
     .help = "instruction set of bare bytes: %s (default: the first; an ELF "
             "file says its own)",
     .list = tool_list_isas},
    {"--address", "A", tool_number, AT(address),
     .help = "where bare bytes lie, for the targets of jumps", .high = 0xfffff},
    {"-o", "OUT", tool_file_to_write, AT(output),
     .help = "write there (default: standard output)"},
    {0},
};

const struct tool_command tool_dis = {
    .name = "dis",
    .summary = "disassemble a core ELF, bare bytes or hex digits",
    .usage = "FILE [--isa NAME] [--address A] [-o OUT]\n"
             "--hex DIGITS [--isa NAME] [--address A] [-o OUT]",
    .intro = "Prints code as text that `nputeir as` reads back to the "
             "same bytes. What is no instruction is shown as .byte, and "
             "decoding continues 2 bytes further.",
    .options = options,
    .job_bytes = sizeof(struct job),
    .run = run,
};
