/* core_decode.c -- bundles as the core runs them: decoded by npu/isa once per
 * program address, operands resolved to byte offsets, mnemonics to functions.
 */
#include "core_state.h"

#include <stddef.h>
#include <stdlib.h>

/* clang-format off */
static const struct file {
  const char *prefix; /* register name without its number */
  uint32_t offset, stride;
  int bytes, bits;
} files[] = {
  {"r",            CORE_OFFSET(r),        4,   4, 32},
  {"p",            CORE_OFFSET(p),        4,   4, 20},
  {"m",            CORE_OFFSET(m),        4,   4, 20},
  {"dn",           CORE_OFFSET(dn),       4,   4, 20},
  {"dj",           CORE_OFFSET(dj),       4,   4, 20},
  {"dc",           CORE_OFFSET(dc),       4,   4, 20},
  {"s",            CORE_OFFSET(s),        4,   4,  6},
  {"sp",           CORE_OFFSET(sp),       0,   4, 20},
  {"lr",           CORE_OFFSET(lr),       0,   4, 20},
  {"ls",           CORE_OFFSET(ls),       0,   4, 20},
  {"le",           CORE_OFFSET(le),       0,   4, 20},
  {"dp",           CORE_OFFSET(dp),       0,   4, 20},
  {"lc",           CORE_OFFSET(lc),       0,   4, 32},
  {"CORE_ID",      CORE_OFFSET(id),       0,   4, 20},
  {"crVaddSign",   CORE_OFFSET(cr[0]),    0,   4,  1},
  {"crF2FMask",    CORE_OFFSET(cr[1]),    0,   4, 32},
  {"crF2IMask",    CORE_OFFSET(cr[2]),    0,   4, 32},
  {"crFPMask",     CORE_OFFSET(cr[3]),    0,   4, 32},
  {"crMCDEn",      CORE_OFFSET(cr[4]),    0,   4,  1},
  {"crPackSign",   CORE_OFFSET(cr[5]),    0,   4,  1},
  {"crRnd",        CORE_OFFSET(cr[6]),    0,   4,  4},
  {"crSCDEn",      CORE_OFFSET(cr[7]),    0,   4,  1},
  {"crSRSSign",    CORE_OFFSET(cr[8]),    0,   4,  1},
  {"crSat",        CORE_OFFSET(cr[9]),    0,   4,  2},
  {"crUPSSign",    CORE_OFFSET(cr[10]),   0,   4,  1},
  {"crUnpackSign", CORE_OFFSET(cr[11]),   0,   4,  1},
  {"srCarry",      CORE_OFFSET(sr[0]),    0,   4,  1},
  {"srCompr_uf",   CORE_OFFSET(sr[1]),    0,   4,  1},
  {"srF2FFlags",   CORE_OFFSET(sr[2]),    0,   4, 32},
  {"srF2IFlags",   CORE_OFFSET(sr[3]),    0,   4, 32},
  {"srFPFlags",    CORE_OFFSET(sr[4]),    0,   4, 32},
  {"srMS0",        CORE_OFFSET(sr[5]),    0,   4, 32},
  {"srSRS_of",     CORE_OFFSET(sr[6]),    0,   4,  1},
  {"srSS0",        CORE_OFFSET(sr[7]),    0,   4, 32},
  {"srSparse_of",  CORE_OFFSET(sr[8]),    0,   4,  1},
  {"srUPS_of",     CORE_OFFSET(sr[9]),    0,   4,  1},
  {"wl",           CORE_OFFSET(x),       64,  32,  0},
  {"wh",           CORE_OFFSET(x) + 32,  64,  32,  0},
  {"amll",         CORE_OFFSET(cm),     128,  32,  0},
  {"amlh",         CORE_OFFSET(cm) + 32, 128, 32,  0},
  {"amhl",         CORE_OFFSET(cm) + 64, 128, 32,  0},
  {"amhh",         CORE_OFFSET(cm) + 96, 128, 32,  0},
  {"ql",           CORE_OFFSET(q),       16,   8,  0},
  {"qh",           CORE_OFFSET(q) + 8,   16,   8,  0},
  /* aie2p; those above of the same name are its own, too */
  {"core_id",      CORE_OFFSET(id),       0,   4, 32},
  {"crrnd",        CORE_OFFSET(cr[6]),    0,   4,  4},
  {"crsat",        CORE_OFFSET(cr[9]),    0,   4,  2},
  {"crf2fmask",    CORE_OFFSET(cr[1]),    0,   4, 32},
  {"crf2imask",    CORE_OFFSET(cr[2]),    0,   4, 32},
  {"crfpmask",     CORE_OFFSET(cr[3]),    0,   4, 32},
  {"crmcden",      CORE_OFFSET(cr[4]),    0,   4,  1},
  {"crscden",      CORE_OFFSET(cr[7]),    0,   4,  1},
  {"crsrsmode",    CORE_OFFSET(cr[12]),   0,   4,  1},
  {"crupsmode",    CORE_OFFSET(cr[13]),   0,   4,  1},
  {"crpacksize",   CORE_OFFSET(cr[14]),   0,   4,  1},
  {"crunpacksize", CORE_OFFSET(cr[15]),   0,   4,  1},
  {"crf2bmask",    CORE_OFFSET(cr[16]),   0,   4, 32},
  {"crfpnlfmask",  CORE_OFFSET(cr[17]),   0,   4, 32},
  {"crfpcnvfx2flmask", CORE_OFFSET(cr[18]), 0, 4, 32},
  {"crfpcnvfl2fxmask", CORE_OFFSET(cr[19]), 0, 4, 32},
  {"vaddsign",     CORE_OFFSET(cr[20]),   4,   4,  1},
  {"srssign",      CORE_OFFSET(cr[22]),   4,   4,  1},
  {"upssign",      CORE_OFFSET(cr[24]),   4,   4,  1},
  {"packsign",     CORE_OFFSET(cr[26]),   4,   4,  1},
  {"unpacksign",   CORE_OFFSET(cr[28]),   4,   4,  1},
  {"srcarry",      CORE_OFFSET(sr[0]),    0,   4,  1},
  {"srf2fflags",   CORE_OFFSET(sr[2]),    0,   4, 32},
  {"srf2iflags",   CORE_OFFSET(sr[3]),    0,   4, 32},
  {"srfpflags",    CORE_OFFSET(sr[4]),    0,   4, 32},
  {"srms0",        CORE_OFFSET(sr[5]),    0,   4, 32},
  {"srsrs_of",     CORE_OFFSET(sr[6]),    0,   4,  1},
  {"srss0",        CORE_OFFSET(sr[7]),    0,   4, 32},
  {"srsparse_of",  CORE_OFFSET(sr[8]),    0,   4,  1},
  {"srups_of",     CORE_OFFSET(sr[9]),    0,   4,  1},
  {"srfifo_of",    CORE_OFFSET(sr[10]),   0,   4,  1},
  {"srfifo_uf",    CORE_OFFSET(sr[11]),   0,   4,  1},
  {"srf2bflags",   CORE_OFFSET(sr[12]),   0,   4, 32},
  {"srfpnlf",      CORE_OFFSET(sr[13]),   0,   4, 32},
  {"srfpcnvfx2fl", CORE_OFFSET(sr[14]),   0,   4, 32},
  {"srfpcnvfl2fx", CORE_OFFSET(sr[15]),   0,   4, 32},
  {"bmll",         CORE_OFFSET(dm),     256,  64,  0},
  {"bmlh",         CORE_OFFSET(dm) + 64, 256, 64,  0},
  {"bmhl",         CORE_OFFSET(dm) + 128, 256, 64, 0},
  {"bmhh",         CORE_OFFSET(dm) + 192, 256, 64, 0},
  {"el",           CORE_OFFSET(e),        8,   4, 32},
  {"eh",           CORE_OFFSET(e) + 4,    8,   4, 32},
  {"q",            CORE_OFFSET(q),       16,  16,  0},
  {"lfl",          CORE_OFFSET(load_fifo), 128, 64, 0},
  {"lfh",          CORE_OFFSET(load_fifo) + 64, 128, 64, 0},
  {"lfe",          CORE_OFFSET(exponent_fifo), 0, 64, 0},
  {"sfl",          CORE_OFFSET(store_fifo), 0, 64,  0},
  {"sfh",          CORE_OFFSET(store_fifo) + 64, 0, 64, 0},
};

/* What a reset does not clear. */
static const struct {
  const char *name;
  uint32_t value;
} resets[] = {
  {"vaddsign1", 1}, {"srssign1", 1},   {"upssign1", 1}, {"packsign1", 1},
  {"unpacksign1", 1}, {"crmcden", 1}, {"crscden", 1},
};

/* Where an operand of each name goes in struct core_op. */
static const struct role {
  const char *name;
  size_t place;
} roles[] = {
  {"dst",      offsetof(struct core_op, d)},
  {"lr",       offsetof(struct core_op, d)},
  {"cmp",      offsetof(struct core_op, e)},
  {"a",        offsetof(struct core_op, a)},
  {"src",      offsetof(struct core_op, a)},
  {"id",       offsetof(struct core_op, a)},
  {"b",        offsetof(struct core_op, b)},
  {"imm",      offsetof(struct core_op, b)},
  {"value",    offsetof(struct core_op, b)},
  {"target",   offsetof(struct core_op, b)},
  {"addr",     offsetof(struct core_op, b)},
  {"number",   offsetof(struct core_op, b)},
  {"shift",    offsetof(struct core_op, b)},
  {"mode",     offsetof(struct core_op, b)},
  {"mod",      offsetof(struct core_op, b)}, /* of vshuffle */
  {"idx",      offsetof(struct core_op, b)},
  {"sel",      offsetof(struct core_op, b)},
  {"c",        offsetof(struct core_op, b)},
  {"pcktType", offsetof(struct core_op, b)},
  {"s1",       offsetof(struct core_op, s1)},
  {"s2",       offsetof(struct core_op, s2)},
  {"acc1",     offsetof(struct core_op, acc1)},
  {"acc2",     offsetof(struct core_op, acc2)},
  {"r28",      offsetof(struct core_op, acc2)}, /* marks a last word */
  {"r16",      offsetof(struct core_op, e)}, /* the mask of a comparison */
  {"l8",       offsetof(struct core_op, e)},
  {"vaddsign0",   offsetof(struct core_op, acc2)}, /* the sign bit named */
  {"vaddsign1",   offsetof(struct core_op, acc2)},
  {"srssign0",    offsetof(struct core_op, acc2)},
  {"srssign1",    offsetof(struct core_op, acc2)},
  {"upssign0",    offsetof(struct core_op, acc2)},
  {"upssign1",    offsetof(struct core_op, acc2)},
  {"packsign0",   offsetof(struct core_op, acc2)},
  {"packsign1",   offsetof(struct core_op, acc2)},
  {"unpacksign0", offsetof(struct core_op, acc2)},
  {"unpacksign1", offsetof(struct core_op, acc2)},
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct file *find_file(const char *name, unsigned long *number) {
  for (size_t i = 0; i < COUNT(files); ++i) {
    size_t n = strlen(files[i].prefix);
    if (strncmp(name, files[i].prefix, n) != 0)
      continue;
    char *end;
    *number = strtoul(name + n, &end, 10);
    if (!*end && (end != name + n) == (files[i].stride != 0))
      return &files[i];
  }
  return NULL;
}

void core_name_units(struct core *c) {
  assert(isa_unit_count(c->around.isa) <= CORE_UNITS);
  for (int reg = 0; reg < isa_reg_count(c->around.isa); ++reg) {
    const struct isa_reg *r = isa_reg(c->around.isa, reg);
    unsigned long number;
    const struct file *f =
        r->unit_count == 1 ? find_file(r->name, &number) : NULL;
    if (!f)
      continue;
    int u = r->unit[0];
    c->unit[u].offset = (uint16_t)(f->offset + number * f->stride);
    c->unit[u].bytes = (uint16_t)f->bytes;
    c->unit[u].mask = f->bits % 32 ? (1u << f->bits) - 1 : ~0u;
  }
}

void core_reset_registers(struct core *c) {
  memset(&c->reg, 0, sizeof c->reg);
  for (size_t i = 0; i < COUNT(resets); ++i) {
    const char *name = resets[i].name;
    int reg = isa_reg_find(c->around.isa, name, strlen(name));
    if (reg >= 0)
      memcpy((uint8_t *)&c->reg + c->unit[reg].offset, &resets[i].value, 4);
  }
}

bool core_place_of(const struct core *c, int reg, struct core_place *p,
                   uint32_t *mask) {
  const struct isa_reg *r = isa_reg(c->around.isa, reg);
  unsigned bytes = 0;
  for (int i = 0; i < r->unit_count; ++i)
    bytes += c->unit[r->unit[i]].bytes;
  if (!bytes || bytes > 0x3FF)
    return false;
  p->offset = c->unit[r->unit[0]].offset & 0xFFFu;
  p->bytes = bytes & 0x3FF;
  *mask = r->unit_count == 1 ? c->unit[r->unit[0]].mask : ~0u;
  return true;
}

static uint8_t last_digit(const char *name) {
  return (uint8_t)(name[strlen(name) - 1] - '0');
}

/* The addressing mode as the syntax writes it (isa.md C1). */
static enum core_address address_mode(const struct insn *insn) {
  if (strstr(insn->mnemonic, ".2d"))
    return ADDRESS_2D;
  if (strstr(insn->mnemonic, ".3d"))
    return ADDRESS_3D;
  if (strstr(insn->syntax, "[sp"))
    return ADDRESS_SP;
  if (strstr(insn->syntax, "[$ptr, $dj]"))
    return ADDRESS_INDEX;
  if (strstr(insn->syntax, "[$ptr, $imm]"))
    return ADDRESS_OFFSET;
  if (strstr(insn->syntax, "[$ptr], $mod"))
    return ADDRESS_INCREMENT;
  if (strstr(insn->syntax, "[$ptr], $imm"))
    return ADDRESS_POST;
  return strstr(insn->syntax, "[$ptr]") ? ADDRESS_BASE : ADDRESS_NONE;
}

static void sem_unknown(struct core *c, const struct core_op *op) {
  core_fail(c, op, "what '%s' does is not known",
            isa_insn(c->around.isa, (enum insn_id)op->insn)->mnemonic);
}
static const struct core_sem unknown = {"", sem_unknown, 0, 0, 0};

static const struct core_sem_set sets[] = {
    {"aie2",
     &sem_stream,
     {&sem_memory, &sem_multiply, &sem_scalar, &sem_vector, &sem_convert}},
    {"aie2p",
     NULL,
     {&sem_wide, &sem_wide_convert, &sem_wide_multiply, &sem_named_sign,
      &sem_memory, &sem_scalar, &sem_vector}},
};

void core_choose_set(struct core *c) {
  for (size_t i = 0; i < COUNT(sets); ++i)
    if (strcmp(sets[i].isa, isa_name(c->around.isa)) == 0)
      c->sems = &sets[i];
  assert(c->sems);
}

static const struct core_sem *find_row(const struct core_sem_table *t,
                                       const char *name) {
  for (int i = 0; t && i < t->count; ++i)
    if (strcmp(t->row[i].mnemonic, name) == 0)
      return &t->row[i];
  return NULL;
}

static const struct core_sem *find_sem(const struct core_sem_set *set,
                                       const struct insn *insn) {
  char name[48];
  size_t n = 0;
  if (insn->flags & (INSN_UNKNOWN | INSN_UNTIMED))
    return &unknown;
  for (const char *s = insn->mnemonic; *s && n < sizeof name - 1;) {
    if (strncmp(s, ".2d", 3) == 0 || strncmp(s, ".3d", 3) == 0)
      s += 3;
    else
      name[n++] = *s++;
  }
  name[n] = 0;
  const struct core_sem *row = NULL;
  if (insn->flags & INSN_STREAM || strstr(name, ".tm"))
    row = find_row(set->stream, name);
  else
    for (size_t t = 0; t < COUNT(set->table) && !row; ++t)
      row = find_row(set->table[t], name);
  return row ? row : &unknown;
}

static void decode_operand(struct core *c, struct core_op *op,
                           const struct isa_operand *o, int64_t value) {
  int reg = o->fixed_reg >= 0 ? o->fixed_reg : (int)value;
  bool is_register = o->operand_class < 0 ||
                     isa_class(c->around.isa, o->operand_class)->is_register;
  if (strcmp(o->name, "ptr") == 0)
    op->pointer = last_digit(isa_reg(c->around.isa, reg)->name);
  else if (strcmp(o->name, "mod") == 0 && is_register) {
    op->modifier = last_digit(isa_reg(c->around.isa, reg)->name);
    if (isa_reg(c->around.isa, reg)->name[0] !=
        'r') /* a step; vshuffle's is a value */
      return;
  } else if (strcmp(o->name, "dj") == 0)
    op->modifier = last_digit(isa_reg(c->around.isa, reg)->name);
  else if (strcmp(o->name, "nw") == 0)
    op->modifier = (uint8_t)value;
  else if (strcmp(o->name, "op") == 0)
    op->pointer = (uint8_t)value;
  for (size_t i = 0; i < COUNT(roles); ++i) {
    if (strcmp(o->name, roles[i].name) != 0)
      continue;
    if (!is_register) {
      op->imm = (int32_t)value;
      return;
    }
    struct core_place p = {0};
    uint32_t mask;
    if (!core_place_of(c, reg, &p, &mask))
      return;
    p.read = (uint32_t)o->read_cycle & 15;
    p.write = (uint32_t)o->write_cycle & 15;
    p.bypass = (uint32_t)o->bypass & 3;
    memcpy((char *)op + roles[i].place, &p, sizeof p);
    if (roles[i].place == offsetof(struct core_op, d))
      op->mask = mask;
    return;
  }
}

static void decode_op(struct core *c, struct core_op *op,
                      const struct isa_op *from) {
  const struct insn *insn = isa_insn(c->around.isa, from->id);
  if (!c->sem[from->id])
    c->sem[from->id] = find_sem(c->sems, insn);
  op->sem = c->sem[from->id];
  op->issue = op->sem->issue;
  op->insn = (uint16_t)from->id;
  op->memory = (uint8_t)insn->memory_cycle;
  op->address = (uint8_t)address_mode(insn);
  for (int i = 0; i < insn->operand_count; ++i)
    decode_operand(c, op, &insn->operand[i], from->operand[i]);
}

static struct core_bundle *decode_bundle(struct core *c, uint32_t address,
                                         const struct isa_bundle *from,
                                         int size) {
  /* On a cache line, of which the arena knows nothing. */
  uintptr_t room = (uintptr_t)arena_alloc(
      c->code,
      sizeof(struct core_bundle) + SLOT_COUNT * sizeof(struct core_op) + 63);
  struct core_bundle *b = (struct core_bundle *)((room + 63) / 64 * 64);
  b->address = address;
  b->size = (uint8_t)size;
  b->decoded = arena_copy(c->code, from, 1, 1, sizeof *from);
  for (int slot = 0; slot < SLOT_COUNT; ++slot) {
    enum insn_id id = from->slot[slot].id;
    if (id == INSN_NONE || (isa_insn(c->around.isa, id)->flags & INSN_NOP))
      continue;
    struct core_op *op = &b->op[b->op_count++];
    op->index = (uint16_t)(b->op_count - 1);
    decode_op(c, op, &from->slot[slot]);
    b->slots |= (uint8_t)(1u << slot);
    b->macs |= (isa_insn(c->around.isa, id)->flags & INSN_MAC) != 0;
  }
  c->decoded_any = true;
  return b;
}

struct core_bundle *core_fetch(struct core *c, uint32_t address) {
  if (address >= PROGRAM_BYTES || address % 2) {
    core_fail(c, NULL, "fetch at 0x%x, which is no program address", address);
    return NULL;
  }
  struct core_bundle **known = &c->bundle[address / 2];
  if (*known)
    return *known;
  struct isa_bundle from;
  int size = isa_decode(c->around.isa, c->around.program + address,
                        PROGRAM_BYTES - address, &from);
  if (!size) {
    const uint8_t *p = c->around.program + address;
    core_fail(c, NULL, "the bytes %02x %02x .. at 0x%x are no bundle", p[0],
              address + 1 < PROGRAM_BYTES ? p[1] : 0, address);
    return NULL;
  }
  return *known = decode_bundle(c, address, &from, size);
}

void core_fold_slots(struct core *c) {
  if (!c->decoded_any)
    return;
  for (size_t i = 0; i < COUNT(c->bundle); ++i) {
    struct core_bundle *b = c->bundle[i];
    for (int slot = 0; b && slot < SLOT_COUNT; ++slot)
      if (b->slots >> slot & 1)
        c->slot_counts[slot] += b->executions;
    c->bundle[i] = NULL;
  }
  c->decoded_any = false;
}
