/* tables.h -- the .def tables of this module, compiled once into what the code
 * reads.  Nothing outside npu/isa includes it. */
#ifndef NPUTEIR_ISA_TABLES_H
#define NPUTEIR_ISA_TABLES_H

#include "rows.h"

enum {
  ISA_MAX_INSNS = 896,
  MAX_REGS = 384,
  REG_SLOTS = 1024, /* of a hash table of their names */
  MAX_CLASSES = 128,
  MAX_VALUES = 512, /* of the widest register class, 9 bits */
  MAX_NAMES = 96,   /* of operands */
  MAX_PIECES = 3,   /* runs of bits that an operand is split into */
  MAX_HOLDS = 6,
  MAX_FORMATS = 80,
  DECODE_BUCKETS = 16,
  MAX_CANDIDATES = 192,
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

/* Register files that the timing of an operation may depend on. */
enum reg_file {
  FILE_OTHER,
  FILE_R,
  FILE_P,
  FILE_M,
  FILE_DN,
  FILE_DJ,
  FILE_DC,
  FILE_S,
  FILE_EL,
  FILE_EH,
  FILE_COUNT
};

/* A unit held from cycle `first` to `last`; operand -1: always, else which one
 * depends on the file of that operand's register; -1: none. */
struct hold {
  int first, last;
  bool shared;
  int operand;
  int8_t unit[FILE_COUNT]; /* [0] if there is no operand */
};

struct format {
  int bytes;
  unsigned slots;      /* bit per enum isa_slot */
  int low[SLOT_COUNT]; /* bit position of the slot's field */
  uint8_t mask[ISA_BUNDLE_BYTES], fixed[ISA_BUNDLE_BYTES];
};

struct isa {
  const struct isa_rows *rows;
  int reg_count, unit_count, class_count;
  struct isa_reg reg[MAX_REGS];
  char reg_name[MAX_REGS][20]; /* as printed */
  char reg_key[MAX_REGS][20];  /* as named in regs.def */
  uint8_t reg_file[MAX_REGS];
  int reg_bits[MAX_REGS];       /* of units */
  int16_t reg_sorted[MAX_REGS]; /* by name as printed, then by number */
  int16_t reg_slot[REG_SLOTS];  /* where in reg_sorted a name begins, by its
                                   hash and the free slots behind; -1: free */
  struct reg_class class[MAX_CLASSES];
  char class_name[MAX_CLASSES][12]; /* of immediates */

  struct insn insn[ISA_MAX_INSNS];
  char mnemonic[ISA_MAX_INSNS][40];
  char name[MAX_NAMES][16]; /* of operands */
  int name_count;
  uint16_t insn_sorted[ISA_MAX_INSNS]; /* from 1: by mnemonic, then by id */
  struct insn_code code[ISA_MAX_INSNS];
  int hold_count[ISA_MAX_INSNS];
  struct hold hold[ISA_MAX_INSNS][MAX_HOLDS];
  /* per slot and low bits of its word: the forms that may have them, those
   * with more fixed bits first (isa.md C0) */
  int decode_count[SLOT_COUNT][DECODE_BUCKETS];
  uint16_t decode[SLOT_COUNT][DECODE_BUCKETS][MAX_CANDIDATES];

  uint8_t size_of[16]; /* bytes of a bundle by its lowest 4 bits */
  int nop_field_bytes;
  int format_count;
  struct format format[MAX_FORMATS];
  /* by set of slots and half the size (0: smallest): the format, -1: none */
  int8_t choice[1 << SLOT_COUNT][ISA_BUNDLE_BYTES / 2 + 1];
};

/* build_*.c: the parts of the compilation, in this order. */
void isa_build_regs(struct isa *);
void isa_build_insns(struct isa *);
void isa_build_timing(struct isa *, enum insn_id, int timing_row);
void isa_build_formats(struct isa *);

/* What they and the look-ups share. */
int isa_reg_of(const struct isa *, const char *name, size_t length);
unsigned isa_name_hash(const char *name, size_t length);
/* Order of a counted name and a string. */
int isa_name_compare(const char *name, size_t length, const char *string);
int isa_class_find(const struct isa *, const char *name, size_t length);
int isa_slot_bits(const struct isa *, enum isa_slot);
/* The file that timing.def calls so; FILE_OTHER: none. */
enum reg_file isa_file_of(const char *name, size_t length);
/* An instruction's operand, by its name; -1: none. */
int isa_operand_named(const struct insn *, const char *name, size_t length);
/* `width` bits at `low`, which are 0 before; bit 0 is the lowest of byte 0. */
void isa_put_bits(uint8_t *bytes, int low, int width, uint64_t value);

#endif
