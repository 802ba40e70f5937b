/* `nputeir as`: assembles AIE-ML text to an object, a loadable core ELF or bare
 * bytes, checks it for hazards, and lists the instruction set. */
#include "asm.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 64, MAX_SYMBOLS = 256 };
enum form { FORM_OBJECT, FORM_LINK, FORM_BYTES, FORM_HEX, FORM_TEXT };

struct job {
  struct arena *arena;
  struct diag diag;
  const char *file[MAX_FILES];
  struct asm_program *program[MAX_FILES];
  int file_count;
  struct asm_symbol symbol[MAX_SYMBOLS];
  int symbol_count;
  const char *output;
  enum form form;
  bool check, strict, list;
  int64_t address;
};

/* NAME=VALUE */
static bool take_symbol(struct job *j, char *word) {
  char *equals = strchr(word, '=');
  if (!equals || equals == word) {
    tool_usage("as", "--define takes NAME=VALUE, not '%s'", word);
    return false;
  }
  if (j->symbol_count == MAX_SYMBOLS) {
    tool_usage("as", "more than %d symbols", MAX_SYMBOLS);
    return false;
  }
  struct asm_symbol *s = &j->symbol[j->symbol_count++];
  *equals = 0;
  s->name = word;
  return tool_number("as", "--define", equals + 1, INT32_MIN, UINT32_MAX,
                     &s->value);
}

static bool take_flag(struct job *j, const char *word) {
  static const struct {
    const char *word;
    enum form form;
  } form[] = {{"--link", FORM_LINK},
              {"--bytes", FORM_BYTES},
              {"--hex", FORM_HEX},
              {"--print", FORM_TEXT}};
  for (size_t i = 0; i < sizeof form / sizeof *form; i++)
    if (strcmp(word, form[i].word) == 0) {
      if (j->form != FORM_OBJECT && j->form != form[i].form) {
        tool_usage("as", "%s: the form of the output is given twice", word);
        return false;
      }
      j->form = form[i].form;
      return true;
    }
  if (strcmp(word, "--check") == 0)
    return j->check = true;
  if (strcmp(word, "--strict") == 0)
    return j->check = j->strict = true;
  if (strcmp(word, "--list-forms") == 0)
    return j->list = true;
  tool_usage("as", "unknown option '%s'", word);
  return false;
}

static bool take_words(struct job *j, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    bool value = strcmp(argv[i], "-o") == 0 ||
                 strcmp(argv[i], "--define") == 0 ||
                 strcmp(argv[i], "--address") == 0;
    if (value && i + 1 == argc) {
      tool_usage("as", "%s takes a value", argv[i]);
      return false;
    }
    if (strcmp(argv[i], "-o") == 0) {
      j->output = argv[++i];
    } else if (strcmp(argv[i], "--define") == 0) {
      if (!take_symbol(j, argv[++i]))
        return false;
    } else if (strcmp(argv[i], "--address") == 0) {
      if (!tool_number("as", "--address", argv[++i], 0, 0x3ff0, &j->address))
        return false;
    } else if (argv[i][0] == '-' && argv[i][1]) {
      if (!take_flag(j, argv[i]))
        return false;
    } else if (j->file_count == MAX_FILES) {
      tool_usage("as", "more than %d files", MAX_FILES);
      return false;
    } else {
      j->file[j->file_count++] = argv[i];
    }
  }
  if (j->list && (j->file_count || j->form || j->check)) {
    tool_usage("as", "--list-forms stands alone");
    return false;
  }
  if (!j->list && j->file_count == 0) {
    tool_usage("as", "takes a file of assembly text");
    return false;
  }
  if (j->file_count > 1 && j->form != FORM_LINK &&
      !(j->check && j->form == FORM_OBJECT && !j->output)) {
    tool_usage("as", "takes one file, or several with --link");
    return false;
  }
  return true;
}

/* ---- the list of forms ---- */

/* Cycles from issue until the first result can be read, 0: no result. */
static int latency(const struct insn *insn) {
  for (int i = 0; i < insn->operand_count; i++)
    if (insn->operand[i].written)
      return insn->operand[i].write_cycle;
  return 0;
}

static void list_form(const struct insn *insn, struct text *out) {
  text_printf(out, "| `%s` |", insn->syntax);
  if (latency(insn))
    text_printf(out, " %d |", latency(insn));
  else
    text_puts(out, " - |");
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_class *c = isa_class(insn->operand[i].operand_class);
    if (c && c->is_register)
      text_printf(out, " %s:%s", insn->operand[i].name, c->name);
    else if (c)
      text_printf(out, " %s:%lld..%lld", insn->operand[i].name,
                  (long long)c->low, (long long)c->high);
  }
  text_printf(out, " | %s%s |\n", insn->evidence,
              insn->flags & INSN_UNKNOWN ? ", meaning unknown" : "");
}

static void list_forms(struct text *out) {
  text_puts(out,
            "# AIE-ML instruction forms\n\n"
            "From npu/isa/aie2.def by `nputeir as --list-forms`.  Latency: "
            "cycles until the first\nresult can be read.  Operands name "
            "their register class (npu/isa/regs.def) or range.\n");
  for (int slot = 0; slot < SLOT_COUNT; slot++) {
    int count = 0;
    for (int id = 1; id < INSN_COUNT; id++)
      count += (int)isa_insn((enum insn_id)id)->slot == slot;
    text_printf(out,
                "\n## slot %s: %d forms\n\n| syntax | latency | operands | "
                "evidence |\n|---|---|---|---|\n",
                isa_slot_name((enum isa_slot)slot), count);
    for (int id = 1; id < INSN_COUNT; id++)
      if ((int)isa_insn((enum insn_id)id)->slot == slot)
        list_form(isa_insn((enum insn_id)id), out);
  }
}

/* ---- output ---- */

/* One bundle per line; the low nibble of a bundle's first byte gives its size,
 * which isa_decode knows. */
static void print_hex(const struct text *bytes, struct text *out) {
  const uint8_t *at = (const uint8_t *)text_string(bytes);
  for (size_t i = 0; i < bytes->length;) {
    struct isa_bundle b;
    int size = isa_decode(at + i, bytes->length - i, &b);
    if (!size)
      size = bytes->length - i < 2 ? 1 : 2;
    for (int k = 0; k < size; k++)
      text_printf(out, "%s%02x", k ? " " : "", at[i++]);
    text_puts(out, "\n");
  }
}

static bool assemble(struct job *j, struct text *out) {
  struct text bytes = {0};
  bool good = true;
  switch (j->form) {
  case FORM_OBJECT:
    return asm_object(j->program[0], out, &j->diag);
  case FORM_LINK:
    return asm_link(j->program, j->file_count, j->symbol, j->symbol_count, out,
                    &j->diag);
  case FORM_TEXT:
    asm_print(j->program[0], out);
    return true;
  case FORM_BYTES:
  case FORM_HEX:
    good = asm_bytes(j->program[0], (uint32_t)j->address, j->symbol,
                     j->symbol_count, &bytes, &j->diag);
    if (good && j->form == FORM_HEX)
      print_hex(&bytes, out);
    else if (good)
      text_append(out, text_string(&bytes), bytes.length);
    text_free(&bytes);
    return good;
  }
  return false;
}

/* FILE.s -> FILE.o, FILE.elf; standard output for text and bytes. */
static const char *output_path(struct job *j) {
  if (j->output)
    return j->output;
  if (j->form != FORM_OBJECT && j->form != FORM_LINK)
    return "-";
  const char *name = j->file[0], *dot = strrchr(name, '.');
  if (strcmp(name, "-") == 0)
    return "-";
  size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - name) : strlen(name);
  return arena_printf(j->arena, "%.*s%s", (int)stem, name,
                      j->form == FORM_LINK ? ".elf" : ".o");
}

static bool check_program(struct job *j, const struct asm_program *p) {
  return !j->check || (j->strict ? asm_check_strict : asm_check)(p, &j->diag);
}

static bool run_job(struct job *j, struct text *out) {
  if (j->list) {
    list_forms(out);
    return tool_output(j->output, out, &j->diag);
  }
  for (int i = 0; i < j->file_count; i++) {
    size_t length;
    char *text = tool_input(j->arena, j->file[i], &length, &j->diag);
    if (!text)
      return false;
    if (strlen(text) != length)
      return diag_error(&j->diag, (struct loc){j->file[i], 0, 0},
                        "byte 0 at offset %zu; this is no text", strlen(text));
    j->program[i] = asm_parse(j->arena, j->file[i], text, &j->diag);
    if (!j->program[i] || !check_program(j, j->program[i]))
      return false;
  }
  if (j->check && j->form == FORM_OBJECT && !j->output)
    return true; /* --check alone writes nothing */
  return assemble(j, out) && tool_output(output_path(j), out, &j->diag);
}

static int run(int argc, char **argv) {
  struct job j = {.diag = {DIAG_NONE, loc_none(), ""}};
  if (!take_words(&j, argc, argv))
    return TOOL_USAGE;
  struct text out = {0};
  j.arena = arena_open();
  int status = run_job(&j, &out) ? TOOL_DONE : tool_fail(&j.diag);
  text_free(&out);
  arena_close(j.arena);
  return status;
}

const struct tool_command tool_as = {
    "as", "assemble AIE-ML text, check it, list the instruction set",
    "usage: nputeir as FILE.s [--check|--strict] [-o OUT]\n"
    "                  [--link|--bytes|--hex|--print]\n"
    "       nputeir as --link FILE.s... [--define NAME=VALUE]... [-o OUT]\n"
    "       nputeir as --list-forms\n"
    "\n"
    "Assembles the text of one AIE-ML core program ('-': standard input).\n"
    "\n"
    "  (nothing)     a relocatable object, FILE.o\n"
    "  --link        a core ELF that a loader takes, FILE.elf: code at 0 with "
    "the\n"
    "                first file's first bundle as entry, data at 0x70000\n"
    "  --bytes       the bare code bytes, to standard output\n"
    "  --hex         the same as text, one bundle per line\n"
    "  --print       the program as the assembler understood it\n"
    "  --check       reports what the core does not guard against; alone, it\n"
    "                writes no file\n"
    "  --strict      --check, and no read of a register whose next value is "
    "on\n"
    "                its way, as software pipelines make on purpose\n"
    "  --define N=V  an absolute symbol, e.g. the address of a buffer\n"
    "  --address A   where --bytes and --hex place the code (a multiple of "
    "16)\n"
    "  -o OUT        where to write; '-' is standard output\n"
    "  --list-forms  every instruction form with latency and evidence, as "
    "Markdown\n"
    "\n"
    "Text: one bundle per line, its operations separated by ';' in any order:\n"
    "  loop: vlda wl0, [p0], #32; vldb wl1, [p1], m0; vmac.f bml0, bml0, x2, "
    "x4, r0\n"
    "'//' and '/* */' are comments, '#' stands before immediates (constant\n"
    "expressions of C, or symbol + constant).  A bundle takes the smallest\n"
    "encoding; nopa nopb nops nopx nopm nopxm nopv hold their slot, so they "
    "widen\n"
    "it, 'nop' alone is 2 bytes, 'nop' beside a long instruction makes 8.\n"
    "\n"
    "Directives: .text .data .bss .rodata .section .globl .type .size\n"
    "  .p2align N  .align BYTES  .balign BYTES  .long .word .short .byte\n"
    "  .space N[, FILL]  .zero N  .skip N; those of debuggers are ignored.\n"
    "  .autoalign 0   only explicit alignment from here on\n"
    "  .lockorder 0   --check leaves out the distance of accesses to locks\n"
    "Unless that is given, targets of jumps, labels set into ls and le, "
    "global\n"
    "labels and return addresses start on 16 bytes, and the bundle at le has "
    "16\n"
    "bytes.  Padding widens earlier bundles, which costs no cycle, and adds a "
    "nop\n"
    "bundle only where there is none to widen.\n"
    "\n"
    "--check finds: operands read before their value arrives or after it is\n"
    "overwritten, where program order's value is lost; writes that land in "
    "the\n"
    "wrong order; ports and units held twice; branches in delay slots; "
    "hardware\n"
    "loops that are misaligned, set up too late or left by a branch; targets "
    "of\n"
    "branches off 16 bytes; memory accesses too close to a lock operation or "
    "to\n"
    "a converting store to the same address.  The first problem is reported.\n",
    run};
