/* aie2.c -- the rows of AIE-ML, the cores of XDNA1. */
#define SET "aie2"
#define SET_ROWS aie2_rows
#define ELF_FLAGS 2
#define ACCESS_BYTES 32
#define INSN_OF(id) INSN_##id
#define TABLE(name) TABLE_##name
#define TABLE_regs "aie2/regs.def"
#define TABLE_timing "aie2/timing.def"
#define TABLE_instructions "aie2/instructions.def"
#define TABLE_formats "aie2/formats.def"
#define TABLE_relocations "aie2/relocations.def"
#define TABLE_open "aie2/open.def"
#include "rows.inc"
