/* aie2p.c -- the rows of AIE2P, the cores of XDNA2. */
#define SET "aie2p"
#define SET_ROWS aie2p_rows
#define ELF_FLAGS 3
#define ACCESS_BYTES 64
#define INSN_OF(id) AIE2P_##id
#define TABLE(name) TABLE_##name
#define TABLE_regs "aie2p/regs.def"
#define TABLE_timing "aie2p/timing.def"
#define TABLE_instructions "aie2p/instructions.def"
#define TABLE_formats "aie2p/formats.def"
#define TABLE_relocations "aie2p/relocations.def"
#define TABLE_open "aie2p/open.def"
#include "rows.inc"
