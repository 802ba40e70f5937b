/* `nputeir as`: assembles text to an object, a loadable core ELF or bare
 * bytes, checks it for hazards, and lists the instruction set. */
#include "asm.h"
#include "tool.h"

#include <string.h>

enum { MAX_FILES = 64, MAX_SYMBOLS = 256 };
enum form { FORM_OBJECT, FORM_LINK, FORM_BYTES, FORM_HEX, FORM_TEXT };

struct job {
  const struct isa *isa;
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

static bool read_file(struct tool *t, void *job, const char *word) {
  struct job *j = job;
  if (j->file_count == MAX_FILES)
    return tool_usage(t, "more than %d files", MAX_FILES);
  j->file[j->file_count++] = word;
  return true;
}

/* NAME=VALUE */
static bool read_symbol(struct tool *t, void *job, const char *word) {
  struct job *j = job;
  const char *value;
  if (j->symbol_count == MAX_SYMBOLS)
    return tool_usage(t, "more than %d symbols", MAX_SYMBOLS);
  struct asm_symbol *s = &j->symbol[j->symbol_count++];
  return tool_assignment(t, word, &s->name, &value) &&
         tool_number(t, &s->value, value);
}

/* The row's `low` is the form. */
static bool read_form(struct tool *t, void *to, const char *word) {
  enum form *form = to;
  (void)word;
  if (*form != FORM_OBJECT)
    return tool_usage(t, "%s: the form of the output is given twice",
                      t->option);
  *form = (enum form)t->low;
  return true;
}

static bool check_words(struct tool *t, const struct job *j) {
  if (j->list && (j->file_count || j->form || j->check || j->strict))
    return tool_usage(t, "--list-forms stands alone");
  if (!j->list && j->file_count == 0)
    return tool_usage(t, "takes a file of assembly text");
  bool only_checks = (j->check || j->strict) && j->form == FORM_OBJECT;
  if (j->file_count > 1 && j->form != FORM_LINK && (!only_checks || j->output))
    return tool_usage(t, "takes one file, or several with --link");
  return true;
}

/* ---- the list of forms ---- */

/* Cycles from issue until the first result can be read, 0: no result, or not
 * known. */
static int latency(const struct insn *insn) {
  if (insn->flags & INSN_UNTIMED)
    return 0;
  for (int i = 0; i < insn->operand_count; i++)
    if (insn->operand[i].written)
      return insn->operand[i].write_cycle;
  return 0;
}

static void list_form(const struct isa *isa, const struct insn *insn,
                      struct text *out) {
  text_printf(out, "| `%s` |", insn->syntax);
  if (latency(insn))
    text_printf(out, " %d |", latency(insn));
  else
    text_puts(out, " - |");
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_class *c = isa_class(isa, insn->operand[i].operand_class);
    if (c && c->is_register)
      text_printf(out, " %s:%s", insn->operand[i].name, c->name);
    else if (c)
      text_printf(out, " %s:%lld..%lld", insn->operand[i].name,
                  (long long)c->low, (long long)c->high);
  }
  text_printf(out, " | %s%s |\n", insn->evidence,
              insn->flags & INSN_UNKNOWN   ? ", meaning unknown"
              : insn->flags & INSN_UNTIMED ? ", cycle of the result unknown"
                                           : "");
}

static void list_forms(const struct isa *isa, struct text *out) {
  const char *name = isa_name(isa);
  text_printf(
      out,
      "# Instruction forms of %s\n\n"
      "From npu/isa/%s/instructions.def by `nputeir as --list-forms "
      "--isa=%s`.  Latency: cycles\nuntil the first result can be read.  "
      "Operands name their register class\n(npu/isa/%s/regs.def) or "
      "range.\n",
      name, name, name, name);
  for (int slot = 0; slot < SLOT_COUNT; slot++) {
    int count = 0;
    for (int id = 1; id < isa_insn_count(isa); id++)
      count += (int)isa_insn(isa, (enum insn_id)id)->slot == slot;
    text_printf(out,
                "\n## slot %s: %d forms\n\n| syntax | latency | operands | "
                "evidence |\n|---|---|---|---|\n",
                isa_slot_name((enum isa_slot)slot), count);
    for (int id = 1; id < isa_insn_count(isa); id++)
      if ((int)isa_insn(isa, (enum insn_id)id)->slot == slot)
        list_form(isa, isa_insn(isa, (enum insn_id)id), out);
  }
}

static void list_open(const struct isa *isa, struct text *out) {
  const struct isa_open *o = isa_open_questions(isa);
  if (o->what)
    text_puts(out, "\n## open questions\n\n| what | meanwhile | evidence |\n"
                   "|---|---|---|\n");
  for (; o->what; o++)
    text_printf(out, "| %s | %s | %s |\n", o->what, o->taken, o->evidence);
}

/* ---- output ---- */

/* One bundle per line; the low nibble of a bundle's first byte gives its size,
 * which isa_decode knows. */
static void print_hex(const struct isa *isa, const struct text *bytes,
                      struct text *out) {
  const uint8_t *at = (const uint8_t *)text_string(bytes);
  for (size_t i = 0; i < bytes->length;) {
    struct isa_bundle b;
    int size = isa_decode(isa, at + i, bytes->length - i, &b);
    if (!size)
      size = bytes->length - i < 2 ? 1 : 2;
    for (int k = 0; k < size; k++)
      text_printf(out, "%s%02x", k ? " " : "", at[i++]);
    text_puts(out, "\n");
  }
}

static bool assemble(struct tool *t, const struct job *j) {
  struct text bytes = {0};
  bool good = true;
  switch (j->form) {
  case FORM_OBJECT:
    return asm_object(j->program[0], &t->out, &t->diag);
  case FORM_LINK:
    return asm_link(j->program, j->file_count, j->symbol, j->symbol_count,
                    &t->out, &t->diag);
  case FORM_TEXT:
    asm_print(j->program[0], &t->out);
    return true;
  case FORM_BYTES:
  case FORM_HEX:
    good = asm_bytes(j->program[0], (uint32_t)j->address, j->symbol,
                     j->symbol_count, &bytes, &t->diag);
    if (good && j->form == FORM_HEX)
      print_hex(j->isa, &bytes, &t->out);
    else if (good)
      text_append(&t->out, text_string(&bytes), bytes.length);
    text_free(&bytes);
    return good;
  }
  return false;
}

/* FILE.s -> FILE.o, FILE.elf; standard output for text and bytes. */
static const char *output_path(struct tool *t, const struct job *j) {
  if (j->output)
    return j->output;
  if (j->form != FORM_OBJECT && j->form != FORM_LINK)
    return "-";
  const char *name = j->file[0], *dot = strrchr(name, '.');
  if (strcmp(name, "-") == 0)
    return "-";
  size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - name) : strlen(name);
  return arena_printf(t->arena, "%.*s%s", (int)stem, name,
                      j->form == FORM_LINK ? ".elf" : ".o");
}

static bool read_program(struct tool *t, struct job *j, int i) {
  const char *file = j->file[i];
  size_t length;
  char *text = tool_input(t, file, &length);
  if (!text)
    return false;
  if (strlen(text) != length)
    return diag_error(&t->diag, (struct loc){file, 0, 0},
                      "byte 0 at offset %zu; this is no text", strlen(text));
  struct asm_program *p = asm_parse(t->arena, j->isa, file, text, &t->diag);
  j->program[i] = p;
  if (!p || (!j->check && !j->strict))
    return p;
  return (j->strict ? asm_check_strict : asm_check)(p, &t->diag);
}

static bool run(struct tool *t, void *job) {
  struct job *j = job;
  if (!check_words(t, j))
    return false;
  if (!j->isa)
    j->isa = isa_at(0);
  if (j->list) {
    list_forms(j->isa, &t->out);
    list_open(j->isa, &t->out);
    return tool_print(t, j->output);
  }
  for (int i = 0; i < j->file_count; i++)
    if (!read_program(t, j, i))
      return false;
  if ((j->check || j->strict) && j->form == FORM_OBJECT && !j->output)
    return true; /* --check alone writes nothing */
  return assemble(t, j) && tool_print(t, output_path(t, j));
}

#define AT(field) offsetof(struct job, field)

static const struct tool_option options[] = {
    {"FILE.s", NULL, read_file, 0, .help = "assembly text; - is standard input",
     .flags = TOOL_MANY},
    {"--isa", "NAME", tool_isa, AT(isa),
     .help = "instruction set: %s (default: the first)",
     .list = tool_list_isas},
    {"--link", NULL, read_form, AT(form),
     .help =
         "a core ELF that a loader takes, FILE.elf: code at 0 with the first "
         "file's first bundle as entry, data at 0x70000",
     .low = FORM_LINK},
    {"--bytes", NULL, read_form, AT(form),
     .help = "the bare code bytes, to standard output", .low = FORM_BYTES},
    {"--hex", NULL, read_form, AT(form),
     .help = "the same as text, a bundle per line", .low = FORM_HEX},
    {"--print", NULL, read_form, AT(form),
     .help = "the program as the assembler understood it", .low = FORM_TEXT},
    {"--check", NULL, tool_flag, AT(check),
     .help = "reports what the core does not guard against; alone, it writes "
             "no file"},
    {"--strict", NULL, tool_flag, AT(strict),
     .help = "--check, and no read of a register whose next value is on its "
             "way, as "
             "software pipelines make on purpose"},
    {"--define", "NAME=VALUE", read_symbol, 0,
     .help = "an absolute symbol, e.g. the address of a buffer",
     .low = INT32_MIN, .high = UINT32_MAX, .flags = TOOL_MANY},
    {"--address", "A", tool_number, AT(address),
     .help = "where --bytes and --hex place the code (a multiple of 16)",
     .high = 0x3ff0},
    {"-o", "OUT", tool_file_to_write, AT(output),
     .help = "where to write; - is standard output"},
    {"--list-forms", NULL, tool_flag, AT(list),
     .help = "every instruction form with latency and evidence, as Markdown"},
    {0},
};

static const char notes[] =
    "Without a form, a relocatable object is written, FILE.o.\n\n"
    "Text: one bundle per line, its operations separated by ';' in any "
    "order:\n"
    "  loop: vlda wl0, [p0], #32; vldb wl1, [p1], m0; vmac.f bml0, bml0, x2, "
    "x4, r0\n"
    "'//' and '/* */' are comments, '#' stands before immediates (constant "
    "expressions of C, or symbol + constant). A bundle takes the smallest "
    "encoding; nopa nopb nops nopx nopm nopxm nopv hold their slot, so they "
    "widen it, 'nop' alone is 2 bytes, 'nop' beside a long instruction makes "
    "8.\n\n"
    "With --isa=aie2p the text is that of XDNA2's cores:\n"
    "  loop: vlda.pop.576 ex0, [p0, lf0, r24]; vmac.f dm0, dm0, ex2, ex3, r0\n"
    "Its unit of addresses, its registers and cycles are other ones; all else "
    "is alike.\n\n"
    "Directives: .text .data .bss .rodata .section .globl .type .size "
    ".p2align N, .align BYTES, .balign BYTES, .long .word .short .byte, "
    ".space N[, FILL], .zero N, .skip N; those of debuggers are ignored.\n"
    "  .autoalign 0   only explicit alignment from here on\n"
    "  .lockorder 0   --check leaves out the distance of accesses to locks\n"
    "Unless that is given, targets of jumps, labels set into ls and le, "
    "global labels and return addresses start on 16 bytes, and the bundle at "
    "le has 16 bytes. Padding widens earlier bundles, which costs no cycle, "
    "and adds a nop bundle only where there is none to widen.\n\n"
    "--check finds: operands read before their value arrives or after it is "
    "overwritten, where program order's value is lost; writes that land in "
    "the wrong order; ports and units held twice; branches in delay slots; "
    "hardware loops that are misaligned, set up too late or left by a branch; "
    "targets of branches off 16 bytes; memory accesses too close to a lock "
    "operation or to a converting store to the same address. The first "
    "problem is reported.";

const struct tool_command tool_as = {
    .name = "as",
    .summary = "assemble a core's text, check it, list the instruction set",
    .usage = "FILE.s [--isa NAME] [--check|--strict] [--bytes|--hex|--print]\n"
             "--link FILE.s .. [--define NAME=VALUE] .. [-o OUT]\n"
             "--list-forms [--isa NAME]",
    .intro = "Assembles the text of one core's program.",
    .options = options,
    .notes = notes,
    .job_bytes = sizeof(struct job),
    .run = run,
};
