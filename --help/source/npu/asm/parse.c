/* parse.c -- assembly text to a program.
 *
 * An operation is matched against the syntax of every form of its mnemonic in
 * instructions.def; the table decides all, no mnemonic is known here but `nop`.
 * When none fits, the form that got furthest explains why. */
#include "parts.h"

#include <ctype.h>
#include <string.h>

struct asm_line *asm_add(struct arena *a, struct asm_program *p,
                         enum asm_line_kind kind) {
  if (p->count == p->capacity) {
    int capacity = p->capacity ? 2 * p->capacity : 64;
    p->line = arena_copy(a, p->line, (size_t)p->count, (size_t)capacity,
                         sizeof *p->line);
    p->capacity = capacity;
  }
  struct asm_line *line = &p->line[p->count++];
  memset(line, 0, sizeof *line);
  line->kind = kind;
  return line;
}

enum { MAX_REFERENCES = 8 };

struct bundle_parse {
  struct isa_bundle bundle;
  struct asm_reference reference[MAX_REFERENCES];
  int reference_count;
  bool nop; /* the word `nop` is among the slots */
};

/* The best reason why no form fits: the one furthest into the text. */
struct reason {
  const char *at;
  struct diag diag;
};

/* What matching one operation against one form gives. */
struct match {
  struct isa_op op;
  int reference_count;
  struct asm_reference reference[2];
};

/* A register's name in front of a dot that the syntax has there. */
static size_t dotted_name(const struct cursor *c) {
  size_t length = lex_name(c);
  const char *dot = memchr(c->at, '.', length);
  return dot ? (size_t)(dot - c->at) : length;
}

/* Length of a register's name at the cursor, with a pair's colon. */
static size_t register_name(const struct cursor *c) {
  size_t length = lex_name(c);
  if (length && c->at[length] == ':') {
    struct cursor second = *c;
    second.at += length + 1;
    size_t more = lex_name(&second);
    if (more)
      length += 1 + more;
  }
  return length;
}

static bool match_register(struct cursor *c, const struct insn *insn, int i,
                           bool dotted, struct match *m) {
  char token[40];
  const struct isa_operand *o = &insn->operand[i];
  size_t length = dotted ? dotted_name(c) : register_name(c);
  int reg = isa_class_reg_find(c->isa, o->operand_class, c->at, length);
  if (!length || reg < 0) {
    if (!c->diag)
      return false;
    const char *why = length && isa_reg_find(c->isa, c->at, length) >= 0
                          ? "this register is not allowed here"
                          : "no such register";
    return diag_error(c->diag, lex_loc(c), "%s: %s %s: %s (class %s)",
                      insn->mnemonic, o->name, lex_token(c, token), why,
                      isa_class(c->isa, o->operand_class)->name);
  }
  if (o->tied_to >= 0 && isa_tied_register(c->isa, &m->op, i) != reg)
    return diag_error(c->diag, lex_loc(c),
                      "%s: %s %s must be the same register as %s",
                      insn->mnemonic, o->name, lex_token(c, token),
                      insn->operand[o->tied_to].name);
  m->op.operand[i] = reg;
  c->at += length;
  return true;
}

static bool match_immediate(struct cursor *c, const struct insn *insn, int i,
                            struct match *m) {
  const struct isa_operand *o = &insn->operand[i];
  const struct isa_class *class = isa_class(c->isa, o->operand_class);
  struct loc at = lex_loc(c);
  struct cursor before = *c;
  char token[40];
  bool hash = lex_char(c, '#');
  lex_blanks(c);
  struct expression e;
  if (!hash && lex_name(c) &&
      isa_reg_find(c->isa, c->at, register_name(c)) >= 0)
    return diag_error(c->diag, at, "%s: %s is an immediate, not register %s",
                      insn->mnemonic, o->name, lex_token(&before, token));
  if (!lex_expression(c, &e))
    return false;
  if (e.symbol) {
    m->reference[m->reference_count++] =
        (struct asm_reference){insn->slot, i, e.symbol, e.value};
    return true;
  }
  const char *after = c->at;
  c->at = before.at;
  if (e.value < class->low || e.value > class->high)
    return diag_error(
        c->diag, at, "%s: %s %s is out of range %lld..%lld (class %s)",
        insn->mnemonic, o->name, lex_token(&before, token),
        (long long)class->low, (long long)class->high, class->name);
  if (e.value % class->scale)
    return diag_error(c->diag, at, "%s: %s %s is no multiple of %d (class %s)",
                      insn->mnemonic, o->name, lex_token(&before, token),
                      class->scale, class->name);
  c->at = after;
  m->op.operand[i] = e.value;
  return true;
}

/* A literal word or character of the syntax. */
static bool match_literal(struct cursor *c, const char **syntax) {
  char token[40];
  lex_blanks(c);
  struct cursor word = {.at = *syntax};
  size_t length = lex_name(&word);
  bool fits = length
                  ? lex_name(c) == length && memcmp(c->at, *syntax, length) == 0
                  : *c->at == **syntax;
  if (!length)
    length = 1;
  if (!fits && !c->diag)
    return false;
  if (!fits)
    return diag_error(c->diag, lex_loc(c), "expected '%.*s', found %s",
                      (int)length, *syntax, lex_token(c, token));
  c->at += length;
  *syntax += length;
  return true;
}

static bool match_form(struct cursor *c, const struct insn *insn,
                       struct match *m) {
  char token[40];
  memset(m, 0, sizeof *m);
  m->op.id = insn->id;
  for (int i = 0; i < insn->operand_count; i++)
    if (insn->operand[i].fixed_reg >= 0)
      m->op.operand[i] = insn->operand[i].fixed_reg;
  int operand = 0;
  for (const char *syntax = insn->syntax + strlen(insn->mnemonic); *syntax;) {
    if (*syntax == ' ') {
      syntax++;
      continue;
    }
    if (*syntax != '$') {
      if (!match_literal(c, &syntax))
        return false;
      continue;
    }
    while (insn->operand[operand].fixed_reg >= 0)
      operand++;
    lex_blanks(c);
    const struct isa_class *class =
        isa_class(c->isa, insn->operand[operand].operand_class);
    syntax += 1 + strlen(insn->operand[operand].name);
    if (!(class->is_register
              ? match_register(c, insn, operand, *syntax == '.', m)
              : match_immediate(c, insn, operand, m)))
      return false;
    operand++;
  }
  return lex_end(c) || *c->at == ';' ||
         diag_error(c->diag, lex_loc(c), "unexpected %s behind %s",
                    lex_token(c, token), insn->mnemonic);
}

/* Why an operation cannot join the bundle, or NULL. */
static const struct insn *slot_rival(const struct isa *isa,
                                     const struct isa_bundle *b,
                                     enum isa_slot slot) {
  static const unsigned blocks[SLOT_COUNT] = {
      [SLOT_LDA] = 1u << SLOT_LDA,
      [SLOT_LDB] = 1u << SLOT_LDB,
      [SLOT_ST] = 1u << SLOT_ST,
      [SLOT_ALU] = 1u << SLOT_ALU | 1u << SLOT_LNG,
      [SLOT_MV] = 1u << SLOT_MV | 1u << SLOT_LNG,
      [SLOT_LNG] = 1u << SLOT_ALU | 1u << SLOT_MV | 1u << SLOT_LNG,
      [SLOT_VEC] = 1u << SLOT_VEC,
  };
  for (int s = 0; s < SLOT_COUNT; s++)
    if (blocks[slot] >> s & 1 && b->slot[s].id != INSN_NONE)
      return isa_insn(isa, b->slot[s].id);
  return NULL;
}

static bool add_op(struct cursor *c, struct loc at, struct bundle_parse *b,
                   const struct match *m) {
  const struct insn *insn = isa_insn(c->isa, m->op.id);
  const struct insn *rival = slot_rival(c->isa, &b->bundle, insn->slot);
  if (rival)
    return diag_error(c->diag, at, "%s: slot %s is taken by %s", insn->mnemonic,
                      isa_slot_name(insn->slot), rival->mnemonic);
  b->bundle.slot[insn->slot] = m->op;
  for (int i = 0; i < m->reference_count; i++) {
    if (b->reference_count == MAX_REFERENCES)
      return diag_error(c->diag, at, "too many symbols in one bundle");
    b->reference[b->reference_count++] = m->reference[i];
  }
  return true;
}

/* A value that does not fit says more than a form that does not. */
static bool is_value_error(const struct diag *d) {
  return strstr(d->text, "out of range") || strstr(d->text, "no multiple");
}

/* No form fits: says why the one that got furthest does not. */
static bool explain(struct cursor *c, const char *operands, const uint16_t *ids,
                    int count) {
  char token[40];
  struct reason best = {NULL, {DIAG_NONE, loc_none(), ""}};
  for (int i = 0; i < count; i++) {
    struct diag why = {DIAG_NONE, loc_none(), ""};
    struct cursor try = *c;
    struct match m;
    try.at = operands;
    try.diag = &why;
    match_form(&try, isa_insn(c->isa, (enum insn_id)ids[i]), &m);
    if (!best.at || try.at > best.at ||
        (try.at == best.at && is_value_error(&why)))
      best = (struct reason){try.at, why};
  }
  if (!count)
    return diag_error(c->diag, lex_loc(c), "unknown instruction %s",
                      lex_token(c, token));
  return diag_error(c->diag, best.diag.at, "%s", best.diag.text);
}

/* Tries every form of the mnemonic; the first that fits in a free slot wins. */
static bool parse_op(struct cursor *c, struct bundle_parse *b) {
  char token[40];
  lex_blanks(c);
  struct loc at = lex_loc(c);
  size_t length = lex_name(c);
  if (!length)
    return diag_error(c->diag, at, "expected an instruction, found %s",
                      lex_token(c, token));
  const char *mnemonic = c->at, *operands = c->at + length;
  if (length == 3 && memcmp(mnemonic, "nop", 3) == 0) {
    c->at = operands;
    return b->nop = true;
  }
  const uint16_t *ids;
  int count = isa_insn_find(c->isa, mnemonic, length, &ids);
  struct match fit = {.op = {.id = INSN_NONE}};
  const char *after = NULL;
  for (int i = 0; i < count; i++) {
    struct cursor try = *c;
    struct match m;
    try.at = operands;
    try.diag = NULL;
    if (match_form(&try, isa_insn(c->isa, (enum insn_id)ids[i]), &m) &&
        (!after ||
         slot_rival(c->isa, &b->bundle, isa_insn(c->isa, fit.op.id)->slot))) {
      fit = m;
      after = try.at;
    }
  }
  if (!after)
    return explain(c, operands, ids, count);
  c->at = after;
  return add_op(c, at, b, &fit);
}

/* A lone `nop` is the 16-bit bundle; beside a long instruction it asks for the
 * format with a nop field, where there is one (isa.md B1). */
static int nop_size(const struct isa *isa, const struct bundle_parse *b) {
  for (int s = 0; s < SLOT_COUNT; s++)
    if (s != SLOT_LNG && b->bundle.slot[s].id != INSN_NONE)
      return 0;
  return b->nop && b->bundle.slot[SLOT_LNG].id != INSN_NONE
             ? isa_nop_field_bytes(isa)
             : 0;
}

static bool parse_bundle(struct cursor *c, struct asm_program *p) {
  struct bundle_parse b = {.reference_count = 0};
  lex_blanks(c);
  struct loc at = lex_loc(c);
  do {
    if (lex_end(c))
      break;
    if (!parse_op(c, &b))
      return false;
  } while (lex_char(c, ';'));
  struct asm_line *line = asm_add(c->arena, p, ASM_BUNDLE);
  line->at = at;
  line->bundle = b.bundle;
  line->size = nop_size(c->isa, &b);
  line->reference_count = b.reference_count;
  if (b.reference_count)
    line->reference =
        arena_copy(c->arena, b.reference, (size_t)b.reference_count,
                   (size_t)b.reference_count, sizeof *b.reference);
  return true;
}

static bool parse_directive(struct cursor *c, struct asm_program *p) {
  struct directive ignored;
  const char *from = c->at;
  struct loc at = lex_loc(c);
  if (!directive_parse(c, &ignored))
    return false;
  size_t length = (size_t)(c->at - from);
  while (length && isspace((unsigned char)from[length - 1]))
    length--;
  struct asm_line *line = asm_add(c->arena, p, ASM_DIRECTIVE);
  line->at = at;
  line->text = arena_substring(c->arena, from, length);
  return true;
}

/* The comment at the end of a line, without its slashes. */
static void parse_comment(struct cursor *c, struct asm_program *p, int before) {
  if (c->at[0] != '/')
    return;
  const char *from = c->at + 2;
  size_t length = strcspn(from, "\n");
  while (length && isspace((unsigned char)from[length - 1]))
    length--;
  const char *text = arena_substring(c->arena, from, length);
  if (p->count > before && p->line[p->count - 1].kind == ASM_BUNDLE)
    p->line[p->count - 1].comment = text;
  else
    asm_add(c->arena, p, ASM_COMMENT)->text = text;
}

static bool parse_line(struct cursor *c, struct asm_program *p) {
  char token[40];
  int before = p->count;
  for (;;) {
    lex_blanks(c);
    size_t name = lex_name(c);
    if (!name || c->at[name] != ':')
      break;
    struct asm_line *line = asm_add(c->arena, p, ASM_LABEL);
    line->at = lex_loc(c);
    line->text = arena_substring(c->arena, c->at, name);
    c->at += name + 1;
  }
  if (!lex_end(c) && !(*c->at == '.' ? parse_directive : parse_bundle)(c, p))
    return false;
  if (!lex_end(c))
    return diag_error(c->diag, lex_loc(c),
                      "expected ';' or end of line, found "
                      "%s",
                      lex_token(c, token));
  parse_comment(c, p, before);
  return true;
}

/* Block comments become blanks, so that lines and columns stay. */
static char *blank_comments(struct arena *a, const char *text) {
  char *copy = arena_string(a, text);
  bool inside = false;
  for (char *at = copy; *at; at++) {
    if (!inside && at[0] == '/' && at[1] == '/') {
      at += strcspn(at, "\n");
      if (!*at)
        break;
    } else if (!inside && at[0] == '/' && at[1] == '*') {
      inside = true;
      *at++ = ' ';
      *at = ' ';
    } else if (inside && at[0] == '*' && at[1] == '/') {
      inside = false;
      *at++ = ' ';
      *at = ' ';
    } else if (inside && *at != '\n') {
      *at = ' ';
    }
  }
  return copy;
}

struct asm_program *asm_parse(struct arena *a, const struct isa *isa,
                              const char *file, const char *text,
                              struct diag *d) {
  struct asm_program *p = arena_alloc(a, sizeof *p);
  p->isa = isa;
  char *copy = blank_comments(a, text);
  struct cursor c = {.isa = isa,
                     .file = file ? arena_string(a, file) : NULL,
                     .arena = a,
                     .diag = d};
  for (char *at = copy;;) {
    c.start = c.at = at;
    c.line++;
    if (!parse_line(&c, p))
      return NULL;
    at += strcspn(at, "\n");
    if (!*at++)
      return p;
  }
}
