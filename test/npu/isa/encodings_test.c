/* encodings_test.c -- compares instructions.def, regs.def and the decoder with
 * the project's fact sheet: every row of aie-ml-encodings.tsv, and a second
 * decoder made from that file and from the register encodings of isa.md A2,
 * written as formulas, over all alu and ldb words and random words of the other
 * slots. */
#include "base.h"
#include "check.h"
#include "isa.h"

#include <stdlib.h>
#include <string.h>

static const struct isa *isa;

enum { MAX_ROWS = 700, MAX_FIELDS = 8, COLUMNS = 10 };

struct field {
  char name[24], class[16];
  int pieces, low[4], width[4], to[4];
};
struct row {
  char *column[COLUMNS];
  enum isa_slot slot;
  uint64_t mask, fixed;
  int field_count;
  struct field field[MAX_FIELDS];
};
static struct row row[MAX_ROWS];
static int row_count;

/* ---- register encodings as formulas (isa.md A2) ---- */

static bool name(char *out, const char *prefix, int index) {
  return sprintf(out, "%s%d", prefix, index) > 0;
}

static bool is(const char *class, const char *list) {
  size_t n = strlen(class);
  for (const char *at = list; (at = strstr(at, class)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
      return true;
  return false;
}

static bool w_by_half(char *out, int v) { /* mWm_1 */
  int i = (v & 7) << 1 | (v >> 3 & 1);
  return i < 12 && name(out, v >> 4 ? "wh" : "wl", i);
}

static bool am(char *out, int v) {
  static const char *const part[] = {"amll", "amlh", "amhl", "amhh"};
  return v < 36 && name(out, part[v & 3], v >> 2);
}

static bool scalar(char *out, const char *class, int v) {
  static const char *const group[] = {"m", "dn", "dj", "dc"};
  static const char *const control[] = {
      "crVaddSign", "crF2FMask",  "crF2IMask", "crFPMask",
      "crMCDEn",    "crPackSign", "crRnd",     "crSCDEn",
      "crSRSSign",  "crSat",      "crUPSSign", "crUnpackSign"};
  static const char *const status[] = {
      "srCarry", "srCompr_uf", "srF2FFlags", "srF2IFlags",  "srFPFlags",
      "srMS0",   "srSRS_of",   "srSS0",      "srSparse_of", "srUPS_of"};
  bool memory = is(class, "mLdaScl mSclSt mSclMS mLdaCg");
  if (v % 4 == 0)
    return name(out, "r", v / 4);
  if (v % 4 == 2)
    return name(out, group[v >> 5], v >> 2 & 7);
  if (memory) {
    if (v % 16 == 13)
      return name(out, "p", v / 16);
    if (v == 89)
      return name(out, "p", 5);
    if (v == 5 && strcmp(class, "mLdaCg") != 0)
      return strcpy(out, "lr");
    return v == 21 && strcmp(class, "mLdaCg") == 0 && strcpy(out, "lc");
  }
  if (v % 16 == 3)
    return name(out, "p", v / 16);
  if (v % 32 == 11)
    return name(out, "s", v / 32);
  if (v % 8 == 1)
    return v / 8 < 12 && strcpy(out, control[v / 8]);
  if (v % 8 == 5)
    return v / 8 < 10 && strcpy(out, status[v / 8]);
  switch (v) {
  case 7:
    return strcpy(out, "ls");
  case 23:
    return strcpy(out, "dp");
  case 39:
    return strcpy(out, "lr");
  case 55:
    return strcmp(class, "mMvSclSrc") == 0 && strcpy(out, "CORE_ID");
  case 71:
    return strcpy(out, "le");
  case 87:
    return strcpy(out, "lc");
  case 103:
    return strcpy(out, "sp");
  }
  return false;
}

static bool register_name(const char *class, int v, char *out) {
  if (is(class, "eR"))
    return name(out, "r", v);
  if (is(class, "eRS4 eRS8"))
    return name(out, "r", v + 16);
  if (is(class, "eL"))
    return name(out, "l", v);
  if (is(class, "eP"))
    return name(out, "p", v);
  if (is(class, "eM"))
    return name(out, "m", v);
  if (is(class, "eDJ"))
    return name(out, "dj", v);
  if (is(class, "eD eDS"))
    return name(out, "d", v);
  if (is(class, "mSs mSm"))
    return name(out, "s", v);
  if (is(class, "mQQm mQQa"))
    return name(out, "q", v);
  if (is(class, "mQQXw"))
    return name(out, "qx", v);
  if (is(class, "eYs"))
    return name(out, "y", v + 2);
  if (is(class, "mXv mXw mXm mXn mXa mXs"))
    return v < 12 && name(out, "x", v);
  if (is(class, "mWa mWb mWs mWm"))
    return v < 24 && name(out, v & 1 ? "wh" : "wl", v >> 1);
  if (is(class, "mWm_1"))
    return w_by_half(out, v);
  if (is(class, "mAMm mAMs"))
    return am(out, v);
  if (is(class, "mBMm mBMs mBMa"))
    return v < 18 && name(out, v & 1 ? "bmh" : "bml", v >> 1);
  if (is(class, "eCM mCMm mCMs mCMa"))
    return v < 9 && name(out, "cm", v);
  if (is(class, "mShflDst"))
    return v & 1 ? name(out, v >> 4 ? "bmh" : "bml", v >> 1 & 7)
                 : v < 24 && name(out, "x", v >> 1);
  if (is(class, "mQXHLb"))
    return name(out, v & 1 ? "qwl" : "qwh", v >> 1);
  if (is(class, "mAluCg"))
    return v & 1 ? v == 1 && strcpy(out, "lc") : name(out, "r", v >> 1);
  if (is(class, "mCRm"))
    return v < 12 && scalar(out, "mMvSclSrc", 8 * v + 1);
  if (is(class, "mMvAMWQSrc")) {
    if ((v & 7) == 1 && v >> 3 < 36)
      return am(out, v >> 3);
    if (v >> 5 == 12)
      return w_by_half(out, v & 31);
    return (v & ~0x30) == 0x1c0 && name(out, "q", v >> 4 & 3);
  }
  if (is(class, "mMvAMWQDst")) {
    if (v & 1)
      return am(out, v >> 1);
    if ((v & 3) == 0)
      return w_by_half(out, v >> 2);
    return (v & 31) == 2 && name(out, "q", v >> 5);
  }
  if (is(class, "mMvBMXSrc")) {
    if (v >> 4 < 18 && (v & 15) == 0)
      return name(out, v & 16 ? "bmh" : "bml", v >> 5);
    return v >> 4 == 0x18 && (v & 15) < 12 && name(out, "x", v & 15);
  }
  if (is(class, "mMvBMXDst")) {
    if (v & 1)
      return v >> 1 < 18 && name(out, v & 2 ? "bmh" : "bml", v >> 2);
    return (v & 3) == 0 && v >> 2 < 12 && name(out, "x", v >> 2);
  }
  return scalar(out, class, v);
}

/* The operand as text; false if the class has no such value. */
static bool value_text(const struct field *f, uint64_t v, char *out) {
  if (strncmp(f->class + 1, "imm", 3) != 0)
    return register_name(f->class, (int)v, out);
  char *end;
  int bits = (int)strtol(f->class + 4, &end, 10);
  long scale = *end == 'x' ? atol(end + 1) : 1;
  int64_t n = (int64_t)v;
  if (f->class[0] == 'n' || (f->class[0] == 's' && n >> (bits - 1) != 0))
    n -= (int64_t)1 << bits;
  return sprintf(out, "%lld", (long long)n * scale) > 0;
}

/* ---- the second decoder ---- */

static void read_fields(struct row *r, char *operands) {
  for (char *save, *item = strtok_r(operands, ";", &save); item;
       item = strtok_r(NULL, ";", &save)) {
    struct field *f = &r->field[r->field_count];
    char letter[24], rest[64], position[40];
    if (sscanf(item, " %23[^=]=%63s", letter, rest) != 2 ||
        sscanf(rest, "%23[^:]:%15[^@]@%39s", f->name, f->class, position) != 3)
      continue; /* fixed and tied operands */
    f->pieces = 0;
    for (char *again, *p = strtok_r(position, "+", &again); p;
         p = strtok_r(NULL, "+", &again)) {
      f->to[f->pieces] = 0;
      CHECK(sscanf(p, "%d:%d>%d", &f->low[f->pieces], &f->width[f->pieces],
                   &f->to[f->pieces]) >= 2);
      f->pieces++;
    }
    r->field_count++;
  }
}

static bool read_rows(char *text) {
  bool header = true;
  for (char *save, *line = strtok_r(text, "\n", &save); line;
       line = strtok_r(NULL, "\n", &save)) {
    if (*line == '#')
      continue;
    if (header) {
      header = false;
      continue;
    }
    struct row *r = &row[row_count++];
    for (int i = 0; i < COLUMNS; i++)
      r->column[i] = strsep(&line, "\t");
    for (int s = 0; s < SLOT_COUNT; s++)
      if (strcmp(isa_slot_name((enum isa_slot)s), r->column[1]) == 0)
        r->slot = (enum isa_slot)s;
    for (const char *b = r->column[4]; *b; b++) {
      r->mask = r->mask << 1 | (*b == '0' || *b == '1');
      r->fixed = r->fixed << 1 | (*b == '1');
    }
    read_fields(r, r->column[5]);
  }
  return row_count > 0;
}

static uint64_t field_of(const struct field *f, uint64_t word) {
  uint64_t v = 0;
  for (int i = 0; i < f->pieces; i++)
    v |= (word >> f->low[i] & ((UINT64_C(1) << f->width[i]) - 1)) << f->to[i];
  return v;
}

static bool fits(const struct row *r, uint64_t word) {
  char text[32];
  if ((word & r->mask) != r->fixed)
    return false;
  for (int i = 0; i < r->field_count; i++)
    if (!value_text(&r->field[i], field_of(&r->field[i], word), text))
      return false;
  return true;
}

static const struct row *second_decode(enum isa_slot slot, uint64_t word) {
  const struct row *best = NULL;
  for (int i = 0; i < row_count; i++)
    if (row[i].slot == slot &&
        (!best || __builtin_popcountll(row[i].mask) >
                      __builtin_popcountll(best->mask)) &&
        fits(&row[i], word))
      best = &row[i];
  return best;
}

/* The operands that are encoded, in the order of the syntax. */
static int encoded_operands(const struct insn *insn, int index[]) {
  int count = 0;
  for (int i = 0; i < insn->operand_count; i++)
    if (insn->operand[i].fixed_reg < 0 && insn->operand[i].tied_to < 0)
      index[count++] = i;
  return count;
}

static bool same_operands(const struct row *r, uint64_t word,
                          const struct isa_op *op) {
  int index[ISA_MAX_OPERANDS];
  const struct insn *insn = isa_insn(isa, op->id);
  if (encoded_operands(insn, index) != r->field_count)
    return false;
  for (int i = 0; i < r->field_count; i++) {
    char text[32], ours[32];
    int64_t value = op->operand[index[i]];
    value_text(&r->field[i], field_of(&r->field[i], word), text);
    if (isa_class(isa, insn->operand[index[i]].operand_class)->is_register)
      snprintf(ours, sizeof ours, "%s", isa_reg(isa, (int)value)->name);
    else
      snprintf(ours, sizeof ours, "%lld", (long long)value);
    if (strcmp(text, ours) != 0)
      return false;
  }
  return true;
}

static int differences;
static void compare_word(enum isa_slot slot, uint64_t word) {
  const struct row *r = second_decode(slot, word);
  struct isa_op op;
  bool ours = isa_decode_op(isa, slot, word, &op);
  bool same = ours == (r != NULL) &&
              (!r || (strcmp(isa_insn(isa, op.id)->form, r->column[8]) == 0 &&
                      same_operands(r, word, &op)));
  if (!same && differences++ < 5)
    fprintf(stderr, "%s 0x%llx: listed %s, ours %s\n", isa_slot_name(slot),
            (unsigned long long)word, r ? r->column[8] : "nothing",
            ours ? isa_insn(isa, op.id)->form : "nothing");
}

static uint64_t random_state = 20261121;
static uint64_t random_word(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static void test_words(void) {
  static const struct {
    enum isa_slot slot;
    int bits, count; /* count 0: all */
  } slots[] = {{SLOT_ALU, 20, 0},     {SLOT_LDB, 16, 0},
               {SLOT_LDA, 21, 40000}, {SLOT_ST, 21, 40000},
               {SLOT_MV, 22, 40000},  {SLOT_LNG, 42, 20000},
               {SLOT_VEC, 26, 40000}};
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    uint64_t all = UINT64_C(1) << slots[i].bits;
    int step = slots[i].slot == SLOT_ALU ? 5 : 1; /* a fifth, for time */
    if (slots[i].count == 0)
      for (uint64_t w = 0; w < all; w += step)
        compare_word(slots[i].slot, w);
    for (int k = 0; k < slots[i].count; k++)
      compare_word(slots[i].slot, random_word() & (all - 1));
  }
  CHECK(differences == 0);
}

/* Words that a listed row would encode: fixed bits kept, random rest. */
static void test_rows(void) {
  for (int i = 0; i < row_count; i++) {
    const struct row *r = &row[i];
    uint64_t all = (UINT64_C(1) << strlen(r->column[4])) - 1;
    for (int k = 0; k < 50; k++)
      compare_word(r->slot, r->fixed | (random_word() & ~r->mask & all));
  }
  CHECK(differences == 0);
}

/* Result latency: the write cycle of the first result; a post-incremented
 * pointer is one.  Of the part-word stores the column gives the cycle that
 * reads the data, and forms of unknown meaning are not compared. */
static void test_latencies(void) {
  for (int i = 0; i < row_count; i++) {
    const struct insn *insn = NULL;
    for (int id = 1; id < INSN_COUNT && !insn; id++)
      if (strcmp(isa_insn(isa, (enum insn_id)id)->form, row[i].column[8]) == 0)
        insn = isa_insn(isa, (enum insn_id)id);
    CHECK(insn != NULL);
    if (!insn)
      continue;
    CHECK(strcmp(insn->mnemonic, row[i].column[0]) == 0);
    CHECK(insn->slot == row[i].slot);
    if (insn->flags & (INSN_UNKNOWN | INSN_BRANCH))
      continue;
    for (int k = 0; k < insn->operand_count; k++)
      if (insn->operand[k].written &&
          strncmp(insn->operand[k].name, "sr", 2) != 0) {
        CHECK(insn->operand[k].write_cycle == atoi(row[i].column[6]));
        break;
      }
  }
}

int main(void) {
  isa = isa_find("aie2");
  const char *data = getenv("NPUTEIR_TEST_DATA");
  struct arena *a = arena_open();
  struct diag d = {DIAG_NONE, loc_none(), ""};
  char *text =
      data ? file_read(a, arena_printf(a, "%s/isa/aie2-encodings.tsv", data),
                       NULL, &d)
           : NULL;
  CHECK(text);
  if (!text) {
    fprintf(stderr, "isa/aie2-encodings.tsv is not in NPUTEIR_TEST_DATA\n");
    arena_close(a);
    return check_result();
  }
  CHECK(read_rows(text));
  CHECK(row_count == INSN_COUNT - 1);
  test_latencies();
  test_rows();
  test_words();
  arena_close(a);
  return check_result();
}
