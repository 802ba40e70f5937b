/* rows.h -- the .def tables of an instruction set as they are written; the
 * build_*.c compile them.  Nothing outside npu/isa includes it.
 *
 * aie2.c and aie2p.c give each set its rows by way of rows.inc.  What the
 * columns mean stands in the legends of the .def files. */
#ifndef NPUTEIR_ISA_ROWS_H
#define NPUTEIR_ISA_ROWS_H

#include "isa.h"

/* regs.def */
struct file_row {
  const char *prefix;
  int first, count, bits;
};
struct view_row {
  const char *prefix, *text;
  int first, count;
  const char *pieces;
};
struct class_row {
  const char *name;
  int bits;
  const char *members;
};
/* instructions.def */
struct insn_row {
  const char *syntax;
  enum isa_slot slot;
  const char *bits, *operands;
  int timing; /* row */
  unsigned flags;
  const char *evidence, *form;
};
/* timing.def */
struct unit_row {
  const char *id, *text;
};
struct port_row {
  char port;
  const char *file;
  int unit;
};
struct timing_row {
  const char *cycles, *implicit, *units;
  int memory;
};
/* formats.def */
struct slot_row {
  char letter;
  int bits;
  enum insn_id nop;
};
struct format_row {
  int bytes;
  const char *bits;
};

#define ROWS(type)                                                             \
  const struct type##_row *type;                                               \
  int type##_count
struct isa_rows {
  const char *name;
  uint32_t elf_flags;
  int access_bytes;
  ROWS(file);
  ROWS(view);
  ROWS(class);
  ROWS(insn); /* from 1: ids */
  ROWS(unit);
  ROWS(port);
  ROWS(timing);
  ROWS(format);
  const struct isa_open *open;
  const struct slot_row *slot; /* by enum isa_slot */
  const struct isa_relocation *relocation;
  int relocation_count, data_relocation;
};
#undef ROWS
extern const struct isa_rows aie2_rows, aie2p_rows;

#endif
