/* isa.h -- instruction sets as data: instruction forms, registers, bundle
 * formats, read and write cycles, units.
 *
 * Each has a folder of tables; comments cite sections of doc/hardware/isa.md,
 * which describes AIE-ML (aie2).  The assembler,
 * disassembler, scheduler, hazard checker and simulator read the tables behind
 * this header and no other.
 */
#ifndef NPUTEIR_ISA_H
#define NPUTEIR_ISA_H

#include "base.h"

/* An instruction set: what all below is asked about.  Its tables are compiled
 * when it is found for the first time and stay. */
struct isa;
const struct isa *isa_find(const char *name); /* NULL: no tables */
const struct isa *isa_at(int i);              /* by number; NULL: no more */
int isa_number(const struct isa *);           /* isa_at gives it for that */
const char *isa_name(const struct isa *);     /* as device.def has it */
uint32_t isa_elf_flags(const struct isa *);   /* e_flags of its ELF files */
/* Questions about its core that are open, and what is done meanwhile; ended by
 * a row without a question. */
struct isa_open {
  const char *what, *taken, *evidence;
};
const struct isa_open *isa_open_questions(const struct isa *);
/* The widest access of a load or store.  Two banks serve it, half each. */
int isa_access_bytes(const struct isa *);

enum isa_slot {
  SLOT_LDA,
  SLOT_LDB,
  SLOT_ST,
  SLOT_ALU,
  SLOT_MV,
  SLOT_LNG, /* occupies ALU and MV */
  SLOT_VEC,
  SLOT_COUNT
};

/* One per row of an instruction set's instructions.def, from 1; a number means
 * something together with its set only. */
enum insn_id {
  INSN_NONE,
#define INSN(id, ...) INSN_##id,
#include "aie2/instructions.def"
#undef INSN
  INSN_COUNT, /* of aie2 */
  AIE2P_NONE = 0,
#define INSN(id, ...) AIE2P_##id,
#include "aie2p/instructions.def"
#undef INSN
  AIE2P_COUNT
};
int isa_insn_count(const struct isa *); /* ids are below it */

/* Every architectural name ("r3", "wl2", "x1", "bmh0", "cm4", "dj2", "lc",
 * "crRnd", ...) has a number.  Registers alias through units: the smallest
 * pieces of state, e.g. x1 = units of wl1 and wh1, cm0 = four am units,
 * d2 = m2, dn2, dj2, dc2. */
enum { ISA_MAX_OPERANDS = 10, ISA_REG_UNITS = 10, ISA_BUNDLE_BYTES = 16 };
struct isa_reg {
  const char *name;
  int unit_count;
  int unit[ISA_REG_UNITS]; /* unit numbers, low part first */
};
/* A unit has the number of the register that is this unit and nothing else. */
int isa_reg_count(const struct isa *);
const struct isa_reg *isa_reg(const struct isa *, int reg);
/* -1: none */
int isa_reg_find(const struct isa *, const char *name, size_t length);
/* Whether it is two r registers, which text writes as "r17:r16". */
bool isa_reg_is_pair(const struct isa *, int reg);
int isa_unit_count(const struct isa *);
int isa_unit_bits(const struct isa *, int unit); /* width of its state */

/* Operand classes: register classes and immediate kinds, by their name in
 * LLVM's tables (eR, mXv, simm7x32, ...). */
struct isa_class {
  const char *name;
  bool is_register;
  /* immediates: value = scale * field, low <= value <= high */
  int64_t low, high;
  int scale;
};
const struct isa_class *isa_class(const struct isa *, int operand_class);
bool isa_class_has(const struct isa *, int operand_class, int reg);
/* The register of this name within a class: "d1" in eDS is the 3-D pair of d1
 * and d5 (8 units), which isa_reg_find does not give.  -1: not a member. */
int isa_class_reg_find(const struct isa *, int operand_class, const char *name,
                       size_t length);

enum isa_bypass { BYPASS_NONE, BYPASS_MOV, BYPASS_VEC };

/* One operand of a form: first those of the syntax, in its order (a register
 * that the syntax names literally is fixed), then implied ones such as srCarry
 * or crSat.  Immediates are neither read nor written. */
struct isa_operand {
  const char *name;
  int operand_class; /* -1: fixed or implied register */
  int fixed_reg;     /* -1: encoded */
  int tied_to;       /* operand whose number it must have, in the same class
                        equal to it; -1: none */
  bool read, written;
  int read_cycle, write_cycle; /* from 1 = issue; see isa.md D1, D2 */
  enum isa_bypass bypass;
  unsigned written_units; /* if written: bit i for unit i of the register */
};

enum insn_flag {
  INSN_LOAD = 1 << 0,   /* reads data memory */
  INSN_STORE = 1 << 1,  /* writes data memory */
  INSN_BRANCH = 1 << 2, /* has delay slots */
  INSN_MAC = 1 << 3,    /* multiplies: counts for core utilisation */
  INSN_LOCK = 1 << 4,
  INSN_NOP = 1 << 5,
  INSN_STREAM = 1 << 6,
  INSN_UNKNOWN = 1 << 7, /* meaning not known: sparse, decompression */
  INSN_UNTIMED = 1 << 8, /* cycle of its result not known: no scheduling */
};

struct insn {
  enum insn_id id;
  const char *mnemonic;
  const char *syntax;
  const char *form; /* LLVM's name */
  enum isa_slot slot;
  unsigned flags;
  int operand_count;
  struct isa_operand operand[ISA_MAX_OPERANDS];
  int memory_cycle; /* cycle of the data memory access, 0: none (isa.md D4) */
  const char *evidence; /* MANUAL, TOOLCHAIN, MEASURED or GUESS */
};
const struct insn *isa_insn(const struct isa *, enum insn_id);
const char *isa_slot_name(enum isa_slot);
/* The forms of a mnemonic, in table order; returns their number. */
int isa_insn_find(const struct isa *, const char *mnemonic, size_t length,
                  const uint16_t **ids);

/* One instruction with its operands: register numbers or immediate values, in
 * the order of insn.operand. */
struct isa_op {
  enum insn_id id;
  int64_t operand[ISA_MAX_OPERANDS];
};

/* The register that a tied operand has to be. */
int isa_tied_register(const struct isa *, const struct isa_op *, int operand);

/* One VLIW word: at most one operation per slot (INSN_NONE: empty). */
struct isa_bundle {
  struct isa_op slot[SLOT_COUNT];
};

/* A slot that holds its nop (INSN_NOPA, ...) counts as taken; isa_decode gives
 * the nops that fill a format, so a bundle encodes to the size it came from.  A
 * bundle with no operation at all is the 16-bit nop.
 *
 * The smallest size that holds the bundle, or an encoding of exactly `size`
 * bytes (0: smallest).  Returns the bytes written, 0 on error. */
int isa_encode(const struct isa *, const struct isa_bundle *, int size,
               uint8_t out[ISA_BUNDLE_BYTES], struct diag *);
/* Decodes one bundle from at most `length` bytes.  Returns its size, or 0 if
 * no format or no instruction has these bits. */
int isa_decode(const struct isa *, const uint8_t *bytes, size_t length,
               struct isa_bundle *);

/* The size that isa_encode would choose, at least `at_least` bytes; 0 if slots
 * collide or there is no such size. */
int isa_bundle_size(const struct isa *, const struct isa_bundle *,
                    int at_least);
/* Fills the unused slots of the format that isa_encode would choose for `size`
 * with explicit nops; false if there is none. */
bool isa_bundle_fill(const struct isa *, struct isa_bundle *, int size);
/* Where the bits of an operand lie in the encoded bundle, most significant
 * piece first; returns the number of pieces. */
struct isa_bits {
  int low, width;
};
int isa_operand_bits(const struct isa *, const struct isa_bundle *, int size,
                     enum isa_slot, int operand, struct isa_bits out[3]);
/* The bytes of the format in which a field for the 2-byte nop stands beside the
 * long slot, so that `nop` beside a long operation asks for it; 0: none. */
int isa_nop_field_bytes(const struct isa *);
/* Relocations of code: the fields' offsets count from the most significant bit
 * of a bundle, the first one takes the high part of the value; 0 bits: there is
 * no second one.  Returns their number. */
struct isa_relocation {
  int type, bytes;
  struct {
    int offset, bits;
  } field[2];
};
int isa_relocations(const struct isa *, const struct isa_relocation **);
int isa_data_relocation(const struct isa *); /* of a 32-bit word */
/* One operation to and from the bits of its slot. */
bool isa_encode_op(const struct isa *, const struct isa_op *, uint64_t *word,
                   struct diag *);
bool isa_decode_op(const struct isa *, enum isa_slot, uint64_t word,
                   struct isa_op *);

/* Bundles by which `use` must follow `def` so that its operand u sees def's
 * operand d (isa.md D1); <= 0: no constraint beyond order. */
int isa_distance(const struct isa *, enum insn_id def, int d, enum insn_id use,
                 int u);
int isa_operand_distance(const struct isa_operand *def,
                         const struct isa_operand *use);
/* The units that an operation holds, by cycle: bit sets, [0] is the cycle of
 * its issue.  Any number of operations may share a unit, but not with one that
 * holds it alone.  Returns how many cycles there are. */
enum { ISA_MAX_HOLD = 12 };
struct isa_holds {
  uint32_t alone[ISA_MAX_HOLD], shared[ISA_MAX_HOLD];
};
int isa_unit_holds(const struct isa *, const struct isa_op *,
                   struct isa_holds *);
/* Whether op `b`, issued `distance` bundles after `a` (0: same bundle), would
 * hold a unit that `a` still holds (isa.md D3).  Names the unit, or NULL. */
const char *isa_unit_clash(const struct isa *, const struct isa_op *a,
                           const struct isa_op *b, int distance);

#endif
