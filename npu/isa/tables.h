/* tables.h -- the .def tables of this module, compiled once into what the code
 * reads.  Nothing outside npu/isa includes it. */
#ifndef NPUTEIR_ISA_TABLES_H
#define NPUTEIR_ISA_TABLES_H

#include "isa.h"

enum {
  MAX_REGS = 384,
  REG_SLOTS = 1024, /* of a hash table of their names */
  MAX_CLASSES = 80,
  MAX_VALUES = 512, /* of the widest register class, 9 bits */
  MAX_PIECES = 3,   /* runs of bits that an operand is split into */
  MAX_HOLDS = 5,
  MAX_FORMATS = 80,
  DECODE_BUCKETS = 16,
  MAX_CANDIDATES = 160,
};

struct reg_class {
  struct isa_class shown;
  int bits;
  bool negative; /* nimm: the value is field - 2^bits */
  bool is_signed;
  int16_t reg[MAX_VALUES]; /* field -> register, -1: none */
  int16_t value[MAX_REGS]; /* register -> field, -1: not a member */
};

/* Where an operand's bits lie in the slot: `width` bits at `low` are bits `at`
 * and up of the field. */
struct piece {
  uint8_t low, width, at;
};
struct insn_code {
  uint64_t mask, fixed; /* bits that must have these values */
  int piece_count[ISA_MAX_OPERANDS];
  struct piece piece[ISA_MAX_OPERANDS][MAX_PIECES];
};

/* A unit held from cycle `first` to `last`; operand -1: always, else only if
 * the register of that operand is in a file of `files`. */
enum hold_kind { HOLD_UNIT, HOLD_PORT_X, HOLD_PORT_A, HOLD_PORT_M };
struct hold {
  enum hold_kind kind;
  int unit, first, last;
  bool shared;
  int operand;
  unsigned files; /* bit per enum reg_file */
};

enum reg_file {
  FILE_OTHER,
  FILE_R,
  FILE_P,
  FILE_M,
  FILE_DN,
  FILE_DJ,
  FILE_DC,
  FILE_S
};

enum timing_id {
#define TIMING(id, ...) TIMING_##id,
#include "aie2/timing.def"
  TIMING_COUNT
};
enum unit_id {
#define UNIT(id, ...) UNIT_##id,
#include "aie2/timing.def"
  UNIT_COUNT
};

struct format {
  int bytes;
  unsigned slots;      /* bit per enum isa_slot */
  int low[SLOT_COUNT]; /* bit position of the slot's field */
  uint8_t mask[ISA_BUNDLE_BYTES], fixed[ISA_BUNDLE_BYTES];
};

struct tables {
  int reg_count, unit_count, class_count;
  struct isa_reg reg[MAX_REGS];
  char reg_name[MAX_REGS][16]; /* as printed */
  char reg_key[MAX_REGS][16];  /* as named in regs.def */
  uint8_t reg_file[MAX_REGS];
  int reg_bits[MAX_REGS];       /* of units */
  int16_t reg_sorted[MAX_REGS]; /* by name as printed, then by number */
  int16_t reg_slot[REG_SLOTS];  /* where in reg_sorted a name begins, by its
                                   hash and the free slots behind; -1: free */
  struct reg_class class[MAX_CLASSES];

  struct insn insn[INSN_COUNT];
  char mnemonic[INSN_COUNT][24];
  uint16_t insn_sorted[INSN_COUNT]; /* from 1: by mnemonic, then by id */
  struct insn_code code[INSN_COUNT];
  int hold_count[INSN_COUNT];
  struct hold hold[INSN_COUNT][MAX_HOLDS];
  /* per slot and low bits of its word: the forms that may have them, those
   * with more fixed bits first (isa.md C0) */
  int decode_count[SLOT_COUNT][DECODE_BUCKETS];
  uint16_t decode[SLOT_COUNT][DECODE_BUCKETS][MAX_CANDIDATES];

  int format_count;
  struct format format[MAX_FORMATS];
  /* by set of slots and half the size (0: smallest): the format, -1: none */
  int8_t choice[1 << SLOT_COUNT][ISA_BUNDLE_BYTES / 2 + 1];
};

/* Compiled at the first call, by one thread. */
const struct tables *isa_tables(void);

/* build_*.c: the parts of the compilation, in this order. */
void isa_build_regs(struct tables *);
void isa_build_insns(struct tables *);
void isa_build_timing(struct tables *, enum insn_id, enum timing_id);
void isa_build_formats(struct tables *);

/* What they and the look-ups share. */
int isa_reg_of(const struct tables *, const char *name, size_t length);
unsigned isa_name_hash(const char *name, size_t length);
/* Order of a counted name and a string. */
int isa_name_compare(const char *name, size_t length, const char *string);
int isa_class_find(const struct tables *, const char *name, size_t length);
int isa_slot_bits(enum isa_slot);
/* An instruction's operand, by its name; -1: none. */
int isa_operand_named(const struct insn *, const char *name, size_t length);
const char *isa_unit_text(int unit); /* of enum unit_id, for messages */
/* `width` bits at `low`, which are 0 before; bit 0 is the lowest of byte 0. */
void isa_put_bits(uint8_t *bytes, int low, int width, uint64_t value);

#endif
