/* isa_test.c -- the tables hold together: rows complete, encodings disjoint
 * under the decode rule, every row encodes and decodes to itself, results
 * marked as written; formats, registers, distances and units. */
#include "check.h"
#include "isa.h"
#include "tables.h"

#include <string.h>

static const struct isa *isa;

static uint64_t random_state = 88172645463325252u;
static uint64_t random_below(uint64_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % n;
}

static int64_t random_operand(const struct isa_operand *o) {
  const struct isa_class *c = isa_class(isa, o->operand_class);
  if (!c->is_register) {
    uint64_t count = (uint64_t)(c->high - c->low) / (uint64_t)c->scale + 1;
    return c->low + (int64_t)random_below(count) * c->scale;
  }
  int reg;
  do
    reg = (int)random_below((uint64_t)isa_reg_count(isa));
  while (!isa_class_has(isa, o->operand_class, reg));
  return reg;
}

static void random_op(enum insn_id id, struct isa_op *op) {
  const struct insn *insn = isa_insn(isa, id);
  memset(op, 0, sizeof *op);
  op->id = id;
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_operand *o = &insn->operand[i];
    op->operand[i] = o->fixed_reg >= 0 ? o->fixed_reg
                     : o->tied_to >= 0 ? isa_tied_register(isa, op, i)
                                       : random_operand(o);
    /* movxm takes either sign; it decodes as the signed one. */
    const struct isa_class *c = isa_class(isa, o->operand_class);
    if (c && !c->is_register && c->high == UINT32_MAX)
      op->operand[i] = (int32_t)(uint32_t)op->operand[i];
  }
}

static bool same_op(const struct isa_op *a, const struct isa_op *b) {
  return a->id == b->id &&
         memcmp(a->operand, b->operand, sizeof a->operand) == 0;
}

static bool same_bundle(const struct isa_bundle *a,
                        const struct isa_bundle *b) {
  for (int s = 0; s < SLOT_COUNT; s++)
    if (!same_op(&a->slot[s], &b->slot[s]))
      return false;
  return true;
}

/* Rows per slot, and rows that something about is guessed. */
static const struct set {
  const char *name;
  int rows, guesses, untimed, per_slot[SLOT_COUNT];
} sets[] = {
    /* guesses: 12 sparse, 4 decompression, 6 table loads */
    {"aie2",
     606,
     22,
     0,
     {[SLOT_LDA] = 132,
      [SLOT_LDB] = 58,
      [SLOT_ST] = 157,
      [SLOT_ALU] = 46,
      [SLOT_MV] = 145,
      [SLOT_LNG] = 6,
      [SLOT_VEC] = 62}},
    /* guesses: sparse products, FIFOs with steps and exponents, table loads,
     * functions that are not linear; reads of streams and of the cascade */
    {"aie2p",
     879,
     141,
     24,
     {[SLOT_LDA] = 190,
      [SLOT_LDB] = 80,
      [SLOT_ST] = 198,
      [SLOT_ALU] = 67,
      [SLOT_MV] = 179,
      [SLOT_LNG] = 8,
      [SLOT_VEC] = 157}},
};

static void test_rows(const struct set *set) {
  CHECK(isa_insn_count(isa) - 1 == set->rows);
  int count[SLOT_COUNT] = {0};
  for (int id = 1; id < isa_insn_count(isa); id++) {
    const struct insn *insn = isa_insn(isa, (enum insn_id)id);
    count[insn->slot]++;
    CHECK((int)insn->id == id && insn->mnemonic[0] && insn->form[0]);
    CHECK(strcmp(insn->evidence, "MANUAL") == 0 ||
          strcmp(insn->evidence, "TOOLCHAIN") == 0 ||
          strcmp(insn->evidence, "MEASURED") == 0 ||
          strcmp(insn->evidence, "GUESS") == 0);
    for (int k = 0; k < 200; k++) {
      struct isa_op op, back;
      struct diag d = {DIAG_NONE, loc_none(), ""};
      uint64_t word;
      random_op((enum insn_id)id, &op);
      CHECK(isa_encode_op(isa, &op, &word, &d));
      CHECK(isa_decode_op(isa, insn->slot, word, &back) && same_op(&op, &back));
    }
  }
  for (int s = 0; s < SLOT_COUNT; s++)
    CHECK(count[s] == set->per_slot[s]);
}

/* Timings that are guessed belong to forms whose meaning is not known either;
 * they are listed so that nobody takes them for facts. */
static void test_guesses(const struct set *set) {
  int guesses = 0, untimed = 0;
  for (int id = 1; id < isa_insn_count(isa); id++) {
    const struct insn *insn = isa_insn(isa, (enum insn_id)id);
    bool guess = strcmp(insn->evidence, "GUESS") == 0;
    CHECK(guess == ((insn->flags & (INSN_UNKNOWN | INSN_UNTIMED)) != 0));
    if (guess)
      printf("guessed: %s\n", insn->syntax);
    guesses += guess;
    untimed += (insn->flags & INSN_UNTIMED) != 0;
  }
  CHECK(guesses == set->guesses);
  CHECK(untimed == set->untimed);
}

/* An operand called dst or cmp is a result, a pointer in [p], x is read and
 * written, and nothing that is no result is only written. */
static void test_results(void) {
  for (int id = 1; id < isa_insn_count(isa); id++) {
    const struct insn *insn = isa_insn(isa, (enum insn_id)id);
    bool post = strstr(insn->syntax, "],") != NULL;
    for (int i = 0; i < insn->operand_count; i++) {
      const struct isa_operand *o = &insn->operand[i];
      const struct isa_class *c = isa_class(isa, o->operand_class);
      bool result = strcmp(o->name, "dst") == 0 || strcmp(o->name, "cmp") == 0;
      if (result)
        CHECK(o->written && !o->read);
      if (strcmp(o->name, "ptr") == 0)
        CHECK(o->read && (!post || o->written));
      if (o->written && !result && o->fixed_reg < 0)
        CHECK(o->read);
      if (c && !c->is_register)
        CHECK(!o->read && !o->written);
      else
        CHECK(o->read || o->written);
      if (c && (strcmp(c->name, "eD") == 0 || strcmp(c->name, "eDS") == 0))
        CHECK(o->written && o->written_units != ~0u);
      CHECK(o->read_cycle >= 1 && o->write_cycle >= 1);
    }
    bool memory = insn->flags & (INSN_LOAD | INSN_STORE);
    CHECK(memory == (insn->memory_cycle > 0));
  }
}

static void test_registers(void) {
  for (int i = 0; i < isa_unit_count(isa); i++)
    CHECK(isa_reg(isa, i)->unit_count == 1 && isa_reg(isa, i)->unit[0] == i);
  CHECK(isa_reg(isa, isa_reg_count(isa)) == NULL && isa_reg(isa, -1) == NULL);
  static const struct {
    const char *name, *part[4];
  } view[] = {
      {"x1", {"wl1", "wh1"}},
      {"y3", {"wl6", "wh6", "wl7", "wh7"}},
      {"bmh8", {"amhl8", "amhh8"}},
      {"cm2", {"amll2", "amlh2", "amhl2", "amhh2"}},
      {"l7", {"r30", "r31"}},
      {"r17:r16", {"r16", "r17"}},
      {"d5", {"m5", "dn5", "dj5", "dc5"}},
      {"qwh3", {"qh3", "wh3"}},
  };
  for (size_t i = 0; i < sizeof view / sizeof *view; i++) {
    int reg = isa_reg_find(isa, view[i].name, strlen(view[i].name));
    CHECK(reg >= 0);
    for (int k = 0; reg >= 0 && k < isa_reg(isa, reg)->unit_count; k++)
      CHECK(view[i].part[k] &&
            strcmp(isa_reg(isa, isa_reg(isa, reg)->unit[k])->name,
                   view[i].part[k]) == 0);
  }
  static const char *const none[] = {"",   "r32", "x12", "y1", "y6",
                                     "bm", "cm9", "R0",  ":",  "r16:r17"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    CHECK(isa_reg_find(isa, none[i], strlen(none[i])) < 0);
}

/* Every bit of a format is fixed or belongs to one slot; two formats of a size
 * differ in a bit that both fix; the first byte's low nibble gives the size. */
static void test_formats(void) {
  static const int size_of[16] = {16, 2, 16, 8,  16, 6, 16, 12,
                                  16, 4, 16, 10, 16, 6, 16, 14};
  const struct isa *t = isa;
  CHECK(t->format_count == 78);
  for (int i = 0; i < t->format_count; i++) {
    const struct format *f = &t->format[i];
    int owner[8 * ISA_BUNDLE_BYTES] = {0};
    for (int bit = 0; bit < 8 * f->bytes; bit++)
      owner[bit] += f->mask[bit / 8] >> bit % 8 & 1;
    for (int s = 0; s < SLOT_COUNT; s++)
      for (int k = 0;
           f->slots >> s & 1 && k < isa_slot_bits(isa, (enum isa_slot)s); k++)
        owner[f->low[s] + k]++;
    for (int bit = 0; bit < 8 * ISA_BUNDLE_BYTES; bit++)
      CHECK(owner[bit] == (bit < 8 * f->bytes));
    for (int low = 0; low < 16; low++)
      if (((low ^ f->fixed[0]) & f->mask[0] & 15) == 0)
        CHECK(size_of[low] == f->bytes);
    for (int j = 0; j < i; j++) {
      const struct format *g = &t->format[j];
      bool differ = g->bytes != f->bytes;
      for (int k = 0; k < f->bytes; k++)
        differ = differ ||
                 ((f->fixed[k] ^ g->fixed[k]) & f->mask[k] & g->mask[k]) != 0;
      CHECK(differ);
    }
  }
}

/* Random operations in every choice of slots, in every size. */
static void test_bundles(void) {
  int sizes[ISA_BUNDLE_BYTES + 1] = {0};
  for (int round = 0; round < 40; round++)
    for (unsigned slots = 0; slots < 1u << SLOT_COUNT; slots++) {
      struct isa_bundle b = {0}, back;
      struct diag d = {DIAG_NONE, loc_none(), ""};
      uint8_t bytes[ISA_BUNDLE_BYTES];
      for (int s = 0; s < SLOT_COUNT; s++)
        while (slots >> s & 1 && b.slot[s].id == INSN_NONE) {
          enum insn_id id = (enum insn_id)(
              1 + random_below((uint64_t)isa_insn_count(isa) - 1));
          if ((int)isa_insn(isa, id)->slot == s)
            random_op(id, &b.slot[s]);
        }
      int size = isa_encode(isa, &b, 0, bytes, &d);
      bool clash = slots >> SLOT_LNG & 1 &&
                   (slots >> SLOT_ALU & 1 || slots >> SLOT_MV & 1);
      CHECK((size == 0) == clash);
      if (clash)
        continue;
      for (int at_least = size; at_least <= 16; at_least += 2) {
        int wide = isa_bundle_size(isa, &b, at_least);
        CHECK(wide >= at_least);
        CHECK(isa_encode(isa, &b, wide, bytes, &d) == wide);
        sizes[wide]++;
        CHECK(isa_decode(isa, bytes, sizeof bytes, &back) == wide);
        CHECK(isa_decode(isa, bytes, (size_t)wide - 1, &back) == 0);
        isa_decode(isa, bytes, (size_t)wide, &back);
        struct isa_bundle filled = b;
        CHECK(isa_bundle_fill(isa, &filled, wide));
        CHECK(same_bundle(&filled, &back));
      }
    }
  for (int size = 2; size <= 16; size += 2)
    CHECK(sizes[size] > 0);
}

/* Bytes that other tools print (isa.md B, G). */
static void test_bytes(void) {
  struct isa_bundle empty = {0}, b;
  struct diag d = {DIAG_NONE, loc_none(), ""};
  uint8_t bytes[ISA_BUNDLE_BYTES];
  CHECK(isa_encode(isa, &empty, 0, bytes, &d) == 2 && bytes[0] == 1 &&
        bytes[1] == 0);
  static const uint8_t full[16] = {0xc0, 0x03};
  CHECK(isa_encode(isa, &empty, 16, bytes, &d) == 16 &&
        memcmp(bytes, full, sizeof full) == 0);
  static const struct {
    enum insn_id id;
    uint64_t word;
  } nop[] = {{INSN_NOPX, 0},     {INSN_NOPA, 0},    {INSN_NOPB, 0},
             {INSN_NOPS, 0},     {INSN_NOPXM, 0},   {INSN_NOPM, 0x38},
             {INSN_NOPV, 0x1e0}, {INSN_DONE, 0x10}, {INSN_RET, 0x30}};
  for (size_t i = 0; i < sizeof nop / sizeof *nop; i++) {
    struct isa_op op;
    uint64_t word = ~UINT64_C(0);
    random_op(nop[i].id, &op);
    CHECK(isa_encode_op(isa, &op, &word, &d) && word == nop[i].word);
  }
  /* every size's low nibble that starts no format */
  static const uint8_t junk[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0xff, 0xff, 0xff};
  CHECK(isa_decode(isa, junk, 16, &b) == 0 &&
        isa_decode(isa, junk, 0, &b) == 0);
}

static void test_errors(void) {
  struct isa_bundle b = {0};
  struct diag d = {DIAG_NONE, loc_none(), ""};
  uint8_t bytes[ISA_BUNDLE_BYTES];
  b.slot[SLOT_LDA].id = INSN_ADD;
  CHECK(isa_encode(isa, &b, 0, bytes, &d) == 0 && strstr(d.text, "add"));
  d.kind = DIAG_NONE;
  b.slot[SLOT_LDA].id = INSN_MOVA;
  b.slot[SLOT_LDA].operand[0] = isa_reg_find(isa, "r1", 2);
  b.slot[SLOT_LDA].operand[1] = 1024;
  CHECK(isa_encode(isa, &b, 0, bytes, &d) == 0 &&
        strstr(d.text, "1024 is out of range -1024..1023"));
  d.kind = DIAG_NONE;
  b.slot[SLOT_LDA].operand[1] = 1023;
  b.slot[SLOT_LDA].operand[0] = isa_reg_find(isa, "x1", 2);
  CHECK(isa_encode(isa, &b, 0, bytes, &d) == 0 &&
        strstr(d.text, "cannot be x1"));
  d.kind = DIAG_NONE;
  b.slot[SLOT_LDA].operand[0] = isa_reg_find(isa, "r1", 2);
  CHECK(isa_encode(isa, &b, 6, bytes, &d) != 0);
  CHECK(isa_encode(isa, &b, 5, bytes, &d) == 0);
}

/* A scaled operand's value that is no multiple is refused. */
static void test_multiples(void) {
  uint8_t bytes[ISA_BUNDLE_BYTES];
  int refused = 0;
  for (int id = INSN_NONE + 1; id < isa_insn_count(isa); id++) {
    const struct insn *insn = isa_insn(isa, (enum insn_id)id);
    for (int i = 0; i < insn->operand_count; i++) {
      const struct isa_class *c =
          isa_class(isa, insn->operand[i].operand_class);
      if (!c || c->is_register || c->scale < 2)
        continue;
      struct isa_bundle b = {0};
      struct diag d = {0};
      struct isa_op *op = &b.slot[insn->slot];
      op->id = (enum insn_id)id;
      for (int k = 0; k < insn->operand_count; k++) {
        const struct isa_class *other =
            isa_class(isa, insn->operand[k].operand_class);
        for (int r = 0; other && other->is_register && r < isa_reg_count(isa);
             r++)
          if (isa_class_has(isa, insn->operand[k].operand_class, r))
            op->operand[k] = r;
      }
      op->operand[i] = c->low + 1;
      refused += isa_encode(isa, &b, 0, bytes, &d) == 0 &&
                 strstr(d.text, "is no multiple of") != NULL;
    }
  }
  CHECK(refused > 50);
}

static int operand_named(enum insn_id id, const char *name) {
  const struct insn *insn = isa_insn(isa, id);
  for (int i = 0; i < insn->operand_count; i++)
    if (strcmp(insn->operand[i].name, name) == 0)
      return i;
  return 0;
}

/* The examples of isa.md D1. */
static void test_distances(void) {
  static const struct {
    enum insn_id def;
    const char *from;
    enum insn_id use;
    const char *to;
    int distance;
  } known[] = {
      {INSN_LDA_OFF, "dst", INSN_ADD, "a", 7},
      {INSN_VLDA_AM_OFF, "dst", INSN_VMAC_F, "acc1", 5},
      {INSN_VMAC_F, "dst", INSN_VMAC_F, "acc1", 4},
      {INSN_VMAC, "dst", INSN_VMAC, "acc1", 2},
      {INSN_VMAC_F, "dst", INSN_VST_AM_OFF, "src", 6},
      {INSN_VMAC_F, "dst", INSN_VST_CONV_BF16_FP32_OFF, "src", 6},
      {INSN_VMAC, "dst", INSN_VST_SRS_S16_S32_OFF, "src", 5},
      {INSN_VSHUFFLE, "dst", INSN_VSHUFFLE, "s1", 1},
      {INSN_VSHUFFLE, "dst", INSN_VMAC_F, "s1", 2},
      {INSN_VLDA_W_OFF, "dst", INSN_VSHUFFLE, "s1", 7},
      {INSN_VLDB_OFF, "dst", INSN_VMAC_F, "s2", 7},
      {INSN_MUL, "dst", INSN_ADD, "a", 2},
      {INSN_VLDB_POST, "ptr", INSN_VLDB_POST, "ptr", 1},
      {INSN_MOVA, "dst", INSN_ST_S8_OFF, "src", -5},
      {INSN_JL, "lr", INSN_RET, "lr", 4},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    CHECK(isa_distance(isa, known[i].def,
                       operand_named(known[i].def, known[i].from), known[i].use,
                       operand_named(known[i].use, known[i].to)) ==
          known[i].distance);
}

static struct isa_op op3(enum insn_id id, const char *a, const char *b,
                         const char *c) {
  struct isa_op op;
  random_op(id, &op);
  const char *const name[3] = {a, b, c};
  for (int i = 0; i < 3; i++)
    if (name[i])
      op.operand[i] = isa_reg_find(isa, name[i], strlen(name[i]));
  return op;
}

/* Sentences of isa.md D3. */
static void test_units(void) {
  struct isa_op mul = op3(INSN_MUL, "r1", "r2", "r3");
  struct isa_op add = op3(INSN_ADD, "r4", "r5", "r6");
  struct isa_op to_lc = op3(INSN_MOVX_I, "lc", NULL, NULL);
  CHECK(isa_unit_clash(isa, &mul, &add, 1) != NULL);
  CHECK(isa_unit_clash(isa, &mul, &add, 2) == NULL);
  CHECK(isa_unit_clash(isa, &mul, &to_lc, 1) == NULL);
  struct isa_op load = op3(INSN_LDA_OFF, "r1", "p0", NULL);
  struct isa_op load_p = op3(INSN_LDA_OFF, "p1", "p0", NULL);
  struct isa_op mova = op3(INSN_MOVA, "r2", NULL, NULL);
  struct isa_op mova_p = op3(INSN_MOVA, "p2", NULL, NULL);
  CHECK(isa_unit_clash(isa, &load, &mova, 6) != NULL);
  CHECK(isa_unit_clash(isa, &load, &mova, 5) == NULL);
  CHECK(isa_unit_clash(isa, &load_p, &mova, 6) == NULL);
  CHECK(isa_unit_clash(isa, &load_p, &mova_p, 6) != NULL);
  struct isa_op mac = op3(INSN_VMAC_F, "bml0", "bml0", "x0");
  struct isa_op store = op3(INSN_ST_OFF, "r1", "p0", NULL);
  struct isa_op store_p = op3(INSN_ST_OFF, "p1", "p0", NULL);
  struct isa_op store_am = op3(INSN_VST_AM_OFF, "amll0", "p0", NULL);
  CHECK(isa_unit_clash(isa, &mac, &store, 0) != NULL);
  CHECK(isa_unit_clash(isa, &store, &mac, 0) != NULL);
  CHECK(isa_unit_clash(isa, &mac, &store_p, 0) == NULL);
  CHECK(isa_unit_clash(isa, &mac, &store_am, 0) == NULL);
  struct isa_op mac_int = op3(INSN_VMAC, "cm0", "cm0", "x0");
  CHECK(isa_unit_clash(isa, &mac, &mac_int, 1) != NULL);
  CHECK(isa_unit_clash(isa, &mac_int, &mac, 1) == NULL);
  struct isa_op part = op3(INSN_ST_S8_OFF, "r1", "p0", NULL);
  struct isa_op loadb = op3(INSN_VLDB_OFF, "wl0", "p0", NULL);
  CHECK(isa_unit_clash(isa, &part, &loadb, 6) != NULL);
  CHECK(isa_unit_clash(isa, &part, &loadb, 7) == NULL);
  CHECK(isa_unit_clash(isa, &load, &loadb, 0) == NULL);
  struct isa_op acq = op3(INSN_ACQ, NULL, NULL, NULL);
  CHECK(isa_unit_clash(isa, &acq, &acq, 3) != NULL);
  CHECK(isa_unit_clash(isa, &acq, &acq, 4) == NULL);
}

/* ---- aie2p ---- */

static void test_registers_aie2p(void) {
  static const struct {
    const char *name, *part[10];
  } view[] = {
      {"l0", {"r0", "r1"}},
      {"r31:r30", {"r30", "r31"}},
      {"y5", {"wl10", "wh10", "wl11", "wh11"}},
      {"ex3", {"wl3", "wh3", "el3", "eh3"}},
      {"qey1",
       {"wl2", "wh2", "el2", "eh2", "q2", "wl3", "wh3", "el3", "eh3", "q3"}},
      {"dm4", {"bmll4", "bmlh4", "bmhl4", "bmhh4"}},
      {"cmh2", {"bmhl2", "bmhh2"}},
      {"lf1", {"lfl1", "lfh1"}},
      {"sf", {"sfl", "sfh"}},
  };
  for (size_t i = 0; i < sizeof view / sizeof *view; i++) {
    int reg = isa_reg_find(isa, view[i].name, strlen(view[i].name));
    CHECK(reg >= 0);
    for (int k = 0; reg >= 0 && k < isa_reg(isa, reg)->unit_count; k++)
      CHECK(view[i].part[k] &&
            strcmp(isa_reg(isa, isa_reg(isa, reg)->unit[k])->name,
                   view[i].part[k]) == 0);
  }
  static const char *const none[] = {"cm0", "amll0", "bml0", "y6",  "ex12",
                                     "dm5", "q4",    "lf2",  "sf0", "r1:r2"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    CHECK(isa_reg_find(isa, none[i], strlen(none[i])) < 0);
}

static void test_formats_aie2p(void) {
  const struct isa *t = isa;
  CHECK(t->format_count == 77);
  for (int i = 0; i < t->format_count; i++)
    for (int j = 0; j < i; j++) {
      const struct format *f = &t->format[i], *g = &t->format[j];
      bool differ = g->bytes != f->bytes;
      for (int k = 0; k < f->bytes; k++)
        differ = differ ||
                 ((f->fixed[k] ^ g->fixed[k]) & f->mask[k] & g->mask[k]) != 0;
      CHECK(differ);
    }
  for (int low = 0; low < 16; low++)
    CHECK(t->size_of[low] == (low & 1          ? 16
                              : low == 0       ? 2
                              : low == 8       ? 4
                              : (low & 7) == 4 ? 6
                              : low == 2       ? 8
                              : low == 10      ? 10
                              : low == 6       ? 12
                                               : 14));
}

/* What a product of block floats keeps between its instructions. */
static void test_distances_aie2p(void) {
  static const struct {
    enum insn_id def;
    const char *from;
    enum insn_id use;
    const char *to;
    int distance;
  } known[] = {
      {AIE2P_VLDA_POP_576_EX, "dst", AIE2P_VMAC_F_EX_EX, "s1", 8},
      {AIE2P_VLDA_POP_576_EX, "fifo", AIE2P_VLDA_POP_576_EX, "fifo", 1},
      {AIE2P_VLDB_X_OFF, "dst", AIE2P_VMAC_X_X, "s2", 7},
      {AIE2P_VLDA_BM_OFF, "dst", AIE2P_VMAC_F_EX_EX, "acc1", 4},
      {AIE2P_VMAC_F_EX_EX, "dst", AIE2P_VMAC_F_EX_EX, "acc1", 3},
      {AIE2P_VMAC_X_X, "dst", AIE2P_VMAC_X_X, "acc1", 2},
      {AIE2P_VMAC_F_EX_EX, "dst", AIE2P_VST_BM_OFF, "src", 6},
      {AIE2P_VMAC_X_X, "dst", AIE2P_VST_SRS_4X_DM_S1_OFF, "src", 6},
      {AIE2P_VCONV_BFP16EBS8_FP32_EX_DM, "dst", AIE2P_VMAC_F_EX_EX, "s1", 4},
      {AIE2P_LDA_OFF, "dst", AIE2P_ADD, "a", 7},
      {AIE2P_VSHUFFLE_X, "dst", AIE2P_VSHUFFLE_X, "s1", 1},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    CHECK(isa_distance(isa, known[i].def,
                       operand_named(known[i].def, known[i].from), known[i].use,
                       operand_named(known[i].use, known[i].to)) ==
          known[i].distance);
  /* a pop lands in cycle 8, a plain load of the next bundle in its 7th */
  struct isa_op pop, load;
  random_op(AIE2P_VLDA_POP_576_EX, &pop);
  random_op(AIE2P_VLDA_X_OFF, &load);
  CHECK(isa_unit_clash(isa, &pop, &load, 1) != NULL);
  CHECK(isa_unit_clash(isa, &pop, &load, 2) == NULL);
  CHECK(isa_unit_clash(isa, &pop, &pop, 1) == NULL);
}

/* A FIFO and its count go with the pointer. */
static void test_ties_aie2p(void) {
  struct isa_bundle b = {0};
  struct diag d = {DIAG_NONE, loc_none(), ""};
  uint8_t bytes[ISA_BUNDLE_BYTES];
  struct isa_op *op = &b.slot[SLOT_LDA];
  op->id = AIE2P_VLDA_FILL_512;
  op->operand[0] = isa_reg_find(isa, "p1", 2);
  op->operand[1] = isa_reg_find(isa, "lf1", 3);
  op->operand[2] = isa_reg_find(isa, "r24", 3);
  CHECK(isa_encode(isa, &b, 0, bytes, &d) == 0 && strstr(d.text, "pos"));
  d.kind = DIAG_NONE;
  op->operand[2] = isa_reg_find(isa, "r25", 3);
  CHECK(isa_encode(isa, &b, 0, bytes, &d) == 4);
}

int main(void) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    isa = isa_find(sets[i].name);
    CHECK(isa == isa_at((int)i) && strcmp(isa_name(isa), sets[i].name) == 0);
    test_rows(&sets[i]);
    test_guesses(&sets[i]);
    test_results();
    test_bundles();
    test_multiples();
  }
  CHECK(!isa_at(2) && !isa_at(-1) && !isa_find("aie"));
  test_registers_aie2p();
  test_formats_aie2p();
  test_distances_aie2p();
  test_ties_aie2p();
  isa = isa_find("aie2");
  test_registers();
  test_formats();
  test_bytes();
  test_errors();
  test_distances();
  test_units();
  return check_result();
}
