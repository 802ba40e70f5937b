/* directive.c -- reads one assembler directive.  What only debuggers and C++
 * need is accepted and ignored. */
#include "parts.h"

#include <ctype.h>
#include <string.h>

static bool want_name(struct cursor *c, struct directive *r) {
  char token[40];
  r->name = lex_take_name(c);
  return r->name ||
         diag_error(c->diag, lex_loc(c), "expected a symbol, found %s",
                    lex_token(c, token));
}

static bool want_constant(struct cursor *c, int64_t low, int64_t high,
                          int64_t *value) {
  struct expression e;
  struct loc at = lex_loc(c);
  if (!lex_expression(c, &e))
    return false;
  if (e.symbol)
    return diag_error(c->diag, at, "expected a constant, found symbol '%s'",
                      e.symbol);
  *value = e.value;
  return (e.value >= low && e.value <= high) ||
         diag_error(c->diag, at, "%lld is out of range %lld..%lld",
                    (long long)e.value, (long long)low, (long long)high);
}

/* Skips to the end of the line. */
static bool ignore(struct cursor *c) {
  while (*c->at && *c->at != '\n')
    c->at++;
  return true;
}

static unsigned flags_of_name(const char *name) {
  if (strncmp(name, ".text", 5) == 0)
    return SECTION_EXEC;
  if (strncmp(name, ".bss", 4) == 0)
    return SECTION_WRITE | SECTION_ZERO;
  return strncmp(name, ".rodata", 7) == 0 ? 0 : SECTION_WRITE;
}

/* Section names may also hold a dash, as .note.GNU-stack does. */
static bool want_section(struct cursor *c, struct directive *r) {
  if (!want_name(c, r))
    return false;
  const char *from = c->at;
  while (*c->at == '-' || lex_name(c))
    c->at += *c->at == '-' ? 1 : lex_name(c);
  if (c->at != from)
    r->name =
        arena_printf(c->arena, "%s%.*s", r->name, (int)(c->at - from), from);
  return true;
}

/* .section name[, "flags"[, @type[, ...]]] */
static bool parse_section(struct cursor *c, struct directive *r) {
  bool quoted = lex_char(c, '"');
  if (!want_section(c, r))
    return false;
  if (quoted && !lex_char(c, '"'))
    return diag_error(c->diag, lex_loc(c), "expected '\"'");
  r->flags = flags_of_name(r->name);
  if (!lex_char(c, ','))
    return true;
  if (!lex_char(c, '"'))
    return diag_error(c->diag, lex_loc(c), "expected section flags in quotes");
  r->flags &= SECTION_ZERO;
  for (; *c->at && *c->at != '"' && *c->at != '\n'; c->at++)
    r->flags |= *c->at == 'x'   ? SECTION_EXEC
                : *c->at == 'w' ? SECTION_WRITE
                                : 0;
  if (!lex_char(c, '"'))
    return diag_error(c->diag, lex_loc(c), "expected '\"'");
  const char *nobits = strstr(c->at, "nobits");
  const char *end = strchr(c->at, '\n');
  if (nobits && (!end || nobits < end))
    r->flags |= SECTION_ZERO;
  return ignore(c);
}

static bool parse_items(struct cursor *c, struct directive *r, int unit) {
  int capacity = 0;
  r->unit = unit;
  do {
    if (r->count == capacity) {
      capacity = capacity ? 2 * capacity : 4;
      r->item = arena_copy(c->arena, r->item, (size_t)r->count,
                           (size_t)capacity, sizeof *r->item);
    }
    struct loc at = lex_loc(c);
    struct expression *e = &r->item[r->count++];
    if (!lex_expression(c, e))
      return false;
    int64_t span = (int64_t)1 << (8 * unit);
    if (e->symbol && unit != 4)
      return diag_error(c->diag, at, "an address takes .long");
    if (e->value < -span / 2 || e->value >= span)
      return diag_error(c->diag, at, "%lld does not fit in %d bytes",
                        (long long)e->value, unit);
  } while (lex_char(c, ','));
  return true;
}

static bool parse_align(struct cursor *c, struct directive *r, bool power) {
  int64_t value = 0;
  struct loc at = lex_loc(c);
  if (!want_constant(c, 0, power ? 12 : 4096, &value))
    return false;
  r->value = power ? (int64_t)1 << value : value ? value : 1;
  if (r->value & (r->value - 1))
    return diag_error(c->diag, at, "alignment %lld is no power of two",
                      (long long)r->value);
  return ignore(c);
}

static bool parse_space(struct cursor *c, struct directive *r) {
  int64_t fill = 0;
  if (!want_constant(c, 0, 1 << 20, &r->value) ||
      (lex_char(c, ',') && !want_constant(c, -128, 255, &fill)))
    return false;
  r->fill = (int)(fill & 255);
  return true;
}

static bool parse_type(struct cursor *c, struct directive *r) {
  if (!want_name(c, r))
    return false;
  const char *word = strstr(c->at, "function"), *end = strchr(c->at, '\n');
  r->value = word && (!end || word < end);
  return ignore(c);
}

static bool parse_size(struct cursor *c, struct directive *r) {
  struct expression e;
  struct diag quiet = {DIAG_NONE, loc_none(), ""}, *loud = c->diag;
  if (!want_name(c, r))
    return false;
  r->value = -1;
  c->diag = &quiet;
  if (lex_char(c, ',') && lex_expression(c, &e) && !e.symbol && e.value >= 0 &&
      lex_end(c))
    r->value = e.value;
  c->diag = loud;
  return ignore(c);
}

enum word_kind {
  WORD_TEXT,
  WORD_SECTION,
  WORD_P2ALIGN,
  WORD_ALIGN,
  WORD_GLOBAL,
  WORD_DATA,
  WORD_SPACE,
  WORD_TYPE,
  WORD_SIZE,
  WORD_AUTOALIGN,
  WORD_LOCKORDER,
  WORD_IGNORED
};
static const struct {
  const char *word;
  enum word_kind kind;
  int unit;
} word[] = {
    {".text", WORD_TEXT, 0},
    {".data", WORD_TEXT, 0},
    {".bss", WORD_TEXT, 0},
    {".rodata", WORD_TEXT, 0},
    {".section", WORD_SECTION, 0},
    {".p2align", WORD_P2ALIGN, 0},
    {".align", WORD_ALIGN, 0},
    {".balign", WORD_ALIGN, 0},
    {".globl", WORD_GLOBAL, 0},
    {".global", WORD_GLOBAL, 0},
    {".weak", WORD_GLOBAL, 0},
    {".long", WORD_DATA, 4},
    {".word", WORD_DATA, 4},
    {".4byte", WORD_DATA, 4},
    {".short", WORD_DATA, 2},
    {".hword", WORD_DATA, 2},
    {".2byte", WORD_DATA, 2},
    {".byte", WORD_DATA, 1},
    {".space", WORD_SPACE, 0},
    {".skip", WORD_SPACE, 0},
    {".zero", WORD_SPACE, 0},
    {".type", WORD_TYPE, 0},
    {".size", WORD_SIZE, 0},
    {".autoalign", WORD_AUTOALIGN, 0},
    {".lockorder", WORD_LOCKORDER, 0},
    {".file", WORD_IGNORED, 0},
    {".ident", WORD_IGNORED, 0},
    {".addrsig", WORD_IGNORED, 0},
    {".addrsig_sym", WORD_IGNORED, 0},
    {".local", WORD_IGNORED, 0},
    {".loc", WORD_IGNORED, 0},
};

static bool parse_word(struct cursor *c, int i, struct directive *r) {
  switch (word[i].kind) {
  case WORD_TEXT:
    r->kind = DIRECTIVE_SECTION;
    r->name = word[i].word;
    r->flags = flags_of_name(r->name);
    return true;
  case WORD_SECTION:
    r->kind = DIRECTIVE_SECTION;
    return parse_section(c, r);
  case WORD_P2ALIGN:
  case WORD_ALIGN:
    r->kind = DIRECTIVE_ALIGN;
    return parse_align(c, r, word[i].kind == WORD_P2ALIGN);
  case WORD_GLOBAL:
    r->kind = DIRECTIVE_GLOBAL;
    return want_name(c, r);
  case WORD_DATA:
    r->kind = DIRECTIVE_DATA;
    return parse_items(c, r, word[i].unit);
  case WORD_SPACE:
    r->kind = DIRECTIVE_SPACE;
    return parse_space(c, r);
  case WORD_TYPE:
    r->kind = DIRECTIVE_TYPE;
    return parse_type(c, r);
  case WORD_SIZE:
    r->kind = DIRECTIVE_SIZE;
    return parse_size(c, r);
  case WORD_AUTOALIGN:
    r->kind = DIRECTIVE_AUTOALIGN;
    return want_constant(c, 0, 1, &r->value);
  case WORD_LOCKORDER:
    r->kind = DIRECTIVE_LOCKORDER;
    return want_constant(c, 0, 1, &r->value);
  case WORD_IGNORED:
    r->kind = DIRECTIVE_NOTHING;
    return ignore(c);
  }
  return false;
}

bool directive_parse(struct cursor *c, struct directive *r) {
  char token[40];
  *r = (struct directive){.kind = DIRECTIVE_NOTHING};
  lex_blanks(c);
  struct loc at = lex_loc(c);
  char *name = lex_take_name(c);
  for (int i = 0; name && i < (int)(sizeof word / sizeof *word); i++)
    if (strcmp(word[i].word, name) == 0)
      return parse_word(c, i, r) &&
             (lex_end(c) ||
              diag_error(c->diag, lex_loc(c), "unexpected %s behind %s",
                         lex_token(c, token), name));
  if (name && strncmp(name, ".cfi_", 5) == 0)
    return ignore(c);
  return diag_error(c->diag, at, "unknown directive '%s'", name ? name : "");
}
