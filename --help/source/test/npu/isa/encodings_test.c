/* encodings_test.c -- compares the tables of an instruction set and the decoder
 * with the forms as they were extracted: every row of its .tsv file, and a
 * second decoder made from that file and from the register encodings (isa.md A2
 * for aie2), written as formulas, over all words of the narrow slots and random
 * words of the others.
 *
 * The set's name is the argument. */
#include "base.h"
#include "check.h"
#include "isa.h"

#include <stdlib.h>
#include <string.h>

static const struct isa *isa;

enum { MAX_ROWS = 900, MAX_FIELDS = 8, COLUMNS = 10 };

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

static bool aie2_register(const char *class, int v, char *out) {
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

/* ---- the same for aie2p ---- */

static bool numbered(char *out, const char *const part[], int i, int n,
                     int limit) {
  return n < limit && part[i] && name(out, part[i], n);
}

static bool aie2p_control(char *out, int id) {
  static const struct {
    int id;
    const char *name;
  } control[] = {{2, "srcarry"},       {3, "upssign0"},
                 {7, "crscden"},       {10, "srf2bflags"},
                 {11, "crf2imask"},    {18, "srf2fflags"},
                 {19, "vaddsign0"},    {23, "crunpacksize"},
                 {26, "srf2iflags"},   {27, "crfpnlfmask"},
                 {30, "packsign0"},    {34, "srfpcnvfl2fx"},
                 {35, "unpacksign0"},  {39, "crsat"},
                 {42, "srfpcnvfx2fl"}, {43, "crfpcnvfx2flmask"},
                 {50, "srfpflags"},    {51, "crf2bmask"},
                 {58, "srfpnlf"},      {59, "crpacksize"},
                 {62, "srssign0"},     {66, "srfifo_of"},
                 {67, "upssign1"},     {71, "crsrsmode"},
                 {74, "srfifo_uf"},    {75, "crfpcnvfl2fxmask"},
                 {82, "srms0"},        {83, "vaddsign1"},
                 {90, "srsrs_of"},     {91, "crmcden"},
                 {94, "packsign1"},    {98, "srss0"},
                 {99, "unpacksign1"},  {103, "crupsmode"},
                 {106, "srsparse_of"}, {107, "crfpmask"},
                 {114, "srups_of"},    {115, "crf2fmask"},
                 {123, "crrnd"},       {126, "srssign1"}};
  for (size_t i = 0; i < sizeof control / sizeof *control; i++)
    if (control[i].id == id)
      return strcpy(out, control[i].name);
  return false;
}

/* Special registers of the mv slot; le, ls, lr, sp and lc have other numbers as
 * sources than as destinations. */
static bool aie2p_special(char *out, bool source, int v) {
  static const struct {
    const char *name;
    int to, from; /* -1: not there */
  } special[] = {{"lc", 87, 55}, {"ls", 15, 79},  {"le", 55, 119},
                 {"sp", 79, 47}, {"lr", 119, 15}, {"core_id", -1, 87}};
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if ((source ? special[i].from : special[i].to) == v)
      return strcpy(out, special[i].name);
  return false;
}

static bool aie2p_scalar(char *out, const char *class, int v) {
  int n = v >> 4;
  if (is(class, "mMvSclDst mMvSclDstCg mMvSclSrc")) {
    if (v % 4 == 1)
      return name(out, "r", v >> 2);
    if (v % 32 == 14)
      return name(out, "s", v >> 5);
    static const char *const part[16] = {
        [0] = "m", [4] = "dn", [6] = "p", [8] = "dj", [12] = "dc"};
    return numbered(out, part, v & 15, n, 8) ||
           aie2p_special(out, strcmp(class, "mMvSclSrc") == 0, v) ||
           aie2p_control(out, v);
  }
  if (is(class, "mLdaScl mSclSt")) {
    if (v % 4 == 2)
      return name(out, "r", v >> 2);
    if (v == 7)
      return strcpy(out, "lr");
    static const char *const part[16] = {
        [0] = "m", [3] = "p", [4] = "dn", [8] = "dj", [12] = "dc"};
    if (numbered(out, part, v & 15, n, 8))
      return true;
    static const char *const half[16] = {
        [1] = "eh", [5] = "el", [9] = "eh", [13] = "el"};
    return numbered(out, half, v & 15, 2 * n + (v >> 3 & 1), 12);
  }
  if (is(class, "mLdaCg mSclMS")) {
    if (v % 4 == 0)
      return name(out, "r", v >> 2);
    if (v == 21 && strcmp(class, "mLdaCg") == 0)
      return strcpy(out, "lc");
    static const char *const part[16] = {
        [2] = "m", [6] = "dn", [10] = "dj", [13] = "p", [14] = "dc"};
    return numbered(out, part, v & 15, n, 8);
  }
  if (is(class, "mAguSrc")) {
    if (v % 4 == 0)
      return name(out, "r", v >> 2);
    static const char *const part[16] = {
        [1] = "dc", [2] = "p", [5] = "dj", [9] = "dn", [13] = "m"};
    return numbered(out, part, v & 15, n, 8);
  }
  if (is(class, "mAguDst")) {
    static const char *const part[8] = {"dc", "dj", "dn", "m", "p"};
    return numbered(out, part, v & 7, v >> 3, 8);
  }
  return false;
}

static bool aie2p_mcr(char *out, int v) {
  static const char *const control[32] = {
      [0] = "crf2bmask",  [1] = "packsign0",     [2] = "crf2fmask",
      [3] = "srssign0",   [4] = "crf2imask",     [5] = "upssign0",
      [6] = "crfpmask",   [7] = "unpacksign0",   [8] = "crpacksize",
      [9] = "vaddsign0",  [10] = "crrnd",        [11] = "crmcden",
      [12] = "crsrsmode", [14] = "crsat",        [16] = "crupsmode",
      [17] = "packsign1", [18] = "crunpacksize", [19] = "srssign1",
      [21] = "upssign1",  [23] = "unpacksign1",  [25] = "vaddsign1",
      [27] = "crscden"};
  return control[v] && strcpy(out, control[v]);
}

static bool aie2p_fifo(char *out, int v) {
  static const char *const part[8] = {"lfh0", "lfl0", "lfe", "sfl",
                                      "lfh1", "lfl1", "sfh"};
  return part[v] && strcpy(out, part[v]);
}

static bool aie2p_register(const char *class, int v, char *out) {
  static const char *const bm[] = {"bmll", "bmlh", "bmhl", "bmhh"};
  static const char *const w[] = {"wh", "wl", "wh", "wl"};
  static const struct {
    const char *classes, *prefix;
    int first, limit;
  } plain[] = {{"eR", "r", 0, 32},
               {"eRS16", "r", 16, 32},
               {"eL", "l", 0, 16},
               {"eP ePSRFLdF", "p", 0, 8},
               {"eM", "m", 0, 8},
               {"eDJ", "dj", 0, 8},
               {"eD eDS", "d", 0, 8},
               {"eS", "s", 0, 4},
               {"eDM", "dm", 0, 5},
               {"eY", "y", 0, 6},
               {"eEY", "ey", 0, 6},
               {"eQYs", "qy", 0, 2},
               {"eQEYs", "qey", 0, 2},
               {"mElm", "el", 0, 12},
               {"mEhm", "eh", 0, 12},
               {"mQQsa mQQss mQQsm", "q", 0, 4},
               {"mXa mXb mXm mXn mXs mXv mXw mShflXDst", "x", 0, 12},
               {"mEXa mEXb mEXm mEXn mEXs mEXv mEXw", "ex", 0, 12},
               {"mQXsa mQXsb mQXsm mQXsw", "qx", 0, 4},
               {"mQEXsa mQEXsb mQEXsm mQEXsw", "qex", 0, 4}};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (is(class, plain[i].classes))
      return plain[i].first + v < plain[i].limit &&
             name(out, plain[i].prefix, plain[i].first + v);
  if (is(class, "mWa mWb mWm mWs mFl2FxSrc_W"))
    return numbered(out, w, v & 3, 2 * (v >> 2) + (v >> 1 & 1), 12);
  if (is(class, "mBMm mBMs"))
    return numbered(out, bm, v & 3, v >> 2, 5);
  if (is(class, "mShflBMDst"))
    return numbered(out, bm, v & 3, v >> 2, 4);
  if (is(class, "mCMm mCMs"))
    return v >> 1 < 5 && name(out, v & 1 ? "cmh" : "cml", v >> 1);
  if (is(class, "mFifoHLReg"))
    return aie2p_fifo(out, v);
  if (is(class, "mMvBMXDst mMvBMXSrc")) {
    if (v % 2 == 0)
      return numbered(out, bm, v >> 1 & 3, v >> 3, 5);
    if (v % 4 == 1)
      return 2 * (v >> 3) + (v >> 2 & 1) < 12 &&
             name(out, "x", 2 * (v >> 3) + (v >> 2 & 1));
    return v % 8 == 3 && aie2p_fifo(out, v >> 3);
  }
  if (is(class, "mAluCg"))
    return v & 1 ? v == 1 && strcpy(out, "lc") : name(out, "r", v >> 1);
  if (is(class, "mCRm"))
    return aie2p_mcr(out, v);
  return aie2p_scalar(out, class, v);
}

/* ---- the sets ---- */

struct slot_words {
  enum isa_slot slot;
  int bits, count, step; /* count 0: all, or every step-th */
};
static const struct set {
  const char *name;
  bool (*register_name)(const char *class, int v, char *out);
  struct slot_words words[SLOT_COUNT];
} sets[] = {
    {"aie2",
     aie2_register,
     {{SLOT_ALU, 20, 0, 5},
      {SLOT_LDB, 16, 0, 1},
      {SLOT_LDA, 21, 40000, 1},
      {SLOT_ST, 21, 40000, 1},
      {SLOT_MV, 22, 40000, 1},
      {SLOT_LNG, 42, 20000, 1},
      {SLOT_VEC, 26, 40000, 1}}},
    {"aie2p",
     aie2p_register,
     {{SLOT_ALU, 20, 0, 5},
      {SLOT_LDB, 17, 0, 1},
      {SLOT_LDA, 20, 40000, 1},
      {SLOT_ST, 20, 40000, 1},
      {SLOT_MV, 22, 40000, 1},
      {SLOT_LNG, 42, 20000, 1},
      {SLOT_VEC, 26, 40000, 1}}},
};
static const struct set *set;

/* The operand as text; false if the class has no such value. */
static bool value_text(const struct field *f, uint64_t v, char *out) {
  if (strncmp(f->class + 1, "imm", 3) != 0)
    return set->register_name(f->class, (int)v, out);
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
  for (int i = 0; i < SLOT_COUNT; i++) {
    const struct slot_words *w = &set->words[i];
    uint64_t all = UINT64_C(1) << w->bits;
    if (w->count == 0)
      for (uint64_t word = 0; word < all; word += (unsigned)w->step)
        compare_word(w->slot, word);
    for (int k = 0; k < w->count; k++)
      compare_word(w->slot, random_word() & (all - 1));
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

/* Result latency: the write cycle of the first result, of a FIFO that is
 * filled, else of a post-incremented pointer.  A form without one writes no
 * register but its address, or is marked UNTIMED.  Of the part-word stores of
 * aie2 the column gives the cycle that reads the data; forms of unknown meaning
 * are not compared. */
static void check_latency(const struct insn *insn, const char *column) {
  int cycle = 0;
  bool result = false;
  for (int k = 0; k < insn->operand_count; k++) {
    const struct isa_operand *o = &insn->operand[k];
    bool named = strcmp(o->name, "dst") == 0 || strcmp(o->name, "cmp") == 0 ||
                 strcmp(o->name, "fifo") == 0;
    if (o->written && strncmp(o->name, "sr", 2) != 0 && !result &&
        (named || cycle == 0))
      cycle = o->write_cycle;
    result |= named;
  }
  if (strcmp(column, "-") == 0)
    CHECK(!result || insn->flags & INSN_UNTIMED);
  else
    CHECK(!(insn->flags & INSN_UNTIMED) &&
          (cycle == atoi(column) || cycle == 0));
}

static void test_latencies(void) {
  for (int i = 0; i < row_count; i++) {
    const struct insn *insn = NULL;
    for (int id = 1; id < isa_insn_count(isa) && !insn; id++)
      if (strcmp(isa_insn(isa, (enum insn_id)id)->form, row[i].column[8]) == 0)
        insn = isa_insn(isa, (enum insn_id)id);
    CHECK(insn != NULL);
    if (!insn)
      continue;
    CHECK(strcmp(insn->mnemonic, row[i].column[0]) == 0);
    CHECK(insn->slot == row[i].slot);
    if (!(insn->flags & (INSN_UNKNOWN | INSN_BRANCH)))
      check_latency(insn, row[i].column[6]);
  }
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof sets / sizeof *sets; i++)
    if (strcmp(sets[i].name, argv[1]) == 0)
      set = &sets[i];
  CHECK(set);
  if (!set)
    return check_result();
  isa = isa_find(set->name);
  const char *data = getenv("NPUTEIR_TEST_DATA");
  struct arena *a = arena_open();
  struct diag d = {DIAG_NONE, loc_none(), ""};
  char *text =
      data ? file_read(
                 a, arena_printf(a, "%s/isa/%s-encodings.tsv", data, set->name),
                 NULL, &d)
           : NULL;
  CHECK(text);
  if (!text) {
    fprintf(stderr, "isa/%s-encodings.tsv is not in NPUTEIR_TEST_DATA\n",
            set->name);
    arena_close(a);
    return check_result();
  }
  CHECK(read_rows(text));
  CHECK(row_count == isa_insn_count(isa) - 1);
  test_latencies();
  test_rows();
  test_words();
  arena_close(a);
  return check_result();
}
