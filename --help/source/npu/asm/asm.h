/* asm.h -- assembly text <-> bundles <-> bytes, and core programs as ELF.
 *
 * A program is a list of lines: labels, directives, bundles.  It is what the
 * kernel generator emits, what `nputeir as` parses and what prints as text
 * that parses back to the same bytes.
 */
#ifndef NPUTEIR_ASM_H
#define NPUTEIR_ASM_H

#include "isa.h"

/* A reference from an immediate operand to a symbol, absolute: S + addend. */
struct asm_reference {
  enum isa_slot slot;
  int operand;
  const char *symbol;
  int64_t addend;
};

enum asm_line_kind { ASM_LABEL, ASM_BUNDLE, ASM_DIRECTIVE, ASM_COMMENT };
struct asm_line {
  enum asm_line_kind kind;
  const char *text; /* label name, directive line or comment */
  struct isa_bundle bundle;
  int reference_count;
  struct asm_reference *reference;
  const char *comment; /* behind a bundle, or NULL */
  bool full;           /* encode as 16 bytes (last bundle of a hardware loop) */
  int size;            /* at least this many bytes; 0: as few as possible */
  struct loc at;
};

struct asm_program {
  const struct isa *isa;
  int count, capacity;
  struct asm_line *line;
};

/* A new empty line at the end; refine it before the next call. */
struct asm_line *asm_add(struct arena *, struct asm_program *,
                         enum asm_line_kind);

/* Text in the syntax of Peano: one bundle per line, slots separated by `;` in
 * any order, // comments, # before immediates, labels, and the directives that
 * `nputeir help as` lists. */
struct asm_program *asm_parse(struct arena *, const struct isa *,
                              const char *file, const char *text,
                              struct diag *);
void asm_print(const struct asm_program *, struct text *);

/* One operation in assembly syntax; references of the line may be NULL. */
void asm_print_op(const struct isa *, const struct isa_op *,
                  const struct asm_reference *, int reference_count,
                  struct text *);

/* Code layout, in all that follows: labels named by jumps, by `movxm ls` and
 * `movxm le`, global labels and return addresses (behind the five delay slots
 * of a call) start on 16 bytes, the bundle at le is encoded in 16 bytes.
 * Padding widens earlier bundles, which costs no cycle; only where there is
 * none to widen does it add a nop bundle.  The directive `.autoalign 0` leaves
 * all this to explicit alignment, for text that must not move.
 *
 * Relocatable ELF32 (EM_AIE) of a program. */
bool asm_object(const struct asm_program *, struct text *elf, struct diag *);

/* Links programs into one loadable core ELF: text at 0 (the first program's
 * first bundle is the entry), data at 0x70000.., `symbol` gives absolute
 * addresses of buffers and other values. */
struct asm_symbol {
  const char *name;
  int64_t value;
};
bool asm_link(struct asm_program *const *program, int program_count,
              const struct asm_symbol *symbol, int symbol_count,
              struct text *elf, struct diag *);

/* The bytes of a program placed at `address`, without ELF around it. */
bool asm_bytes(const struct asm_program *, uint32_t address,
               const struct asm_symbol *symbol, int symbol_count,
               struct text *bytes, struct diag *);

/* Disassembles bytes placed at `address` as text that asm_parse reads back to
 * the same bytes. */
void asm_disassemble(const struct isa *, const uint8_t *bytes, size_t length,
                     uint32_t address, struct text *);
/* A whole ELF file of machine AIE: code as bundles, data as words, with the
 * file's symbols; relocations of an object are shown as symbols.  The file's
 * e_flags tell the instruction set; it is the one given if they do not. Returns
 * it. */
const struct isa *asm_disassemble_elf(const struct isa *, const uint8_t *elf,
                                      size_t length, struct text *,
                                      struct diag *);

/* Checks dependences, units, delay slots, hardware loops and the order of
 * memory accesses and locks (isa.md D; the directive `.lockorder 0` leaves the
 * locks out); the message names both instructions and the rule.  check.c says
 * what an early read must look like to be an error. */
bool asm_check(const struct asm_program *, struct diag *);
/* The same, with every early or late read an error, also those that software
 * pipelines make on purpose: for code that is meant to run in program order. */
bool asm_check_strict(const struct asm_program *, struct diag *);

#endif
