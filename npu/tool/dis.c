/* `nputeir dis`: AIE-ML code from an ELF file, from bare bytes or from hex
 * digits, as text that `nputeir as` reads back to the same bytes. */
#include "asm.h"
#include "tool.h"

#include <ctype.h>
#include <string.h>

struct job {
  struct arena *arena;
  struct diag diag;
  const char *file, *hex, *output;
  int64_t address;
};

static bool take_words(struct job *j, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char **value = strcmp(argv[i], "--hex") == 0 ? &j->hex
                         : strcmp(argv[i], "-o") == 0  ? &j->output
                                                       : NULL;
    bool address = strcmp(argv[i], "--address") == 0;
    if ((value || address) && i + 1 == argc) {
      tool_usage("dis", "%s takes a value", argv[i]);
      return false;
    }
    if (value) {
      *value = argv[++i];
    } else if (address) {
      if (!tool_number("dis", "--address", argv[++i], 0, 0xfffff, &j->address))
        return false;
    } else if (argv[i][0] == '-' && argv[i][1]) {
      tool_usage("dis", "unknown option '%s'", argv[i]);
      return false;
    } else if (j->file) {
      tool_usage("dis", "takes one file, not '%s' and '%s'", j->file, argv[i]);
      return false;
    } else {
      j->file = argv[i];
    }
  }
  if (!j->file == !j->hex) {
    tool_usage("dis", j->file ? "takes a file or --hex, not both"
                              : "takes a file or --hex");
    return false;
  }
  return true;
}

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

static bool run_job(struct job *j, struct text *bytes, struct text *out) {
  if (j->hex) {
    if (!read_hex(j->hex, bytes, &j->diag))
      return false;
  } else {
    size_t length;
    char *data = tool_input(j->arena, j->file, &length, &j->diag);
    if (!data)
      return false;
    if (length >= 4 && memcmp(data,
                              "\x7f"
                              "ELF",
                              4) == 0) {
      if (!asm_disassemble_elf((const uint8_t *)data, length, out, &j->diag)) {
        j->diag.at.file = j->file;
        return false;
      }
      return tool_output(j->output, out, &j->diag);
    }
    text_append(bytes, data, length);
  }
  asm_disassemble((const uint8_t *)text_string(bytes), bytes->length,
                  (uint32_t)j->address, out);
  return tool_output(j->output, out, &j->diag);
}

static int run(int argc, char **argv) {
  struct job j = {.diag = {DIAG_NONE, loc_none(), ""}};
  if (!take_words(&j, argc, argv))
    return TOOL_USAGE;
  struct text bytes = {0}, out = {0};
  j.arena = arena_open();
  int status = run_job(&j, &bytes, &out) ? TOOL_DONE : tool_fail(&j.diag);
  text_free(&bytes);
  text_free(&out);
  arena_close(j.arena);
  return status;
}

const struct tool_command tool_dis = {
    "dis", "disassemble a core ELF, bare bytes or hex digits",
    "usage: nputeir dis FILE [--address A] [-o OUT]\n"
    "       nputeir dis --hex \"DIGITS\" [--address A] [-o OUT]\n"
    "\n"
    "Prints AIE-ML code as text that `nputeir as` reads back to the same "
    "bytes.\n"
    "FILE is an ELF of machine 264 (sections, symbols and relocations are "
    "shown),\n"
    "or bare code bytes; '-' is standard input.  --hex takes the bytes in "
    "memory\n"
    "order, as `nputeir as --hex` prints them.  --address says where bare "
    "bytes\n"
    "lie, for the targets of jumps.  What is no instruction is shown as .byte, "
    "and\n"
    "decoding goes on 2 bytes further.\n",
    run};
