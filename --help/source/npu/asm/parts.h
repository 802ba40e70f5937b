/* parts.h -- inside npu/asm: the reader of one line, directives, layout. */
#ifndef NPUTEIR_ASM_PARTS_H
#define NPUTEIR_ASM_PARTS_H

#include "asm.h"

/* ---- lex.c: a position in one line ---- */
struct cursor {
  const struct isa *isa;         /* NULL: only directives are read */
  const char *file, *start, *at; /* start of the line, next character */
  int line;
  struct arena *arena;
  struct diag *diag;
};
void lex_blanks(struct cursor *);
bool lex_end(struct cursor *); /* end of the line or a comment */
bool lex_char(struct cursor *, char);
struct loc lex_loc(const struct cursor *); /* of the next token */
/* Length of the name at the cursor, 0: none.  Names may hold . $ _ @. */
size_t lex_name(const struct cursor *);
char *lex_take_name(struct cursor *);
/* The token at the cursor, for messages. */
const char *lex_token(const struct cursor *, char token[40]);
/* symbol + value, or a constant when symbol is NULL. */
struct expression {
  const char *symbol;
  int64_t value;
};
bool lex_expression(struct cursor *, struct expression *);

/* ---- directive.c ---- */
enum directive_kind {
  DIRECTIVE_SECTION,
  DIRECTIVE_ALIGN,     /* value: bytes */
  DIRECTIVE_GLOBAL,    /* name */
  DIRECTIVE_DATA,      /* items of `unit` bytes */
  DIRECTIVE_SPACE,     /* value bytes of `fill` */
  DIRECTIVE_TYPE,      /* name, value 1: function, 0: object */
  DIRECTIVE_SIZE,      /* name; value, or -1: from its label to here */
  DIRECTIVE_AUTOALIGN, /* value 0: only explicit alignment */
  DIRECTIVE_LOCKORDER, /* value 0: accesses may stand close to locks */
  DIRECTIVE_NOTHING
};
enum section_flag { SECTION_WRITE = 1, SECTION_EXEC = 4, SECTION_ZERO = 8 };
struct directive {
  enum directive_kind kind;
  const char *name;
  unsigned flags;
  int64_t value;
  int fill, unit, count;
  struct expression *item;
};
bool directive_parse(struct cursor *, struct directive *);

/* ---- layout.c: a program as sections of fragments with offsets ---- */
enum fragment_kind {
  FRAGMENT_LABEL,
  FRAGMENT_BUNDLE,
  FRAGMENT_DATA,
  FRAGMENT_PAD /* an inserted nop bundle, or fill in data */
};
struct fragment {
  enum fragment_kind kind;
  const struct asm_line *line; /* NULL: padding */
  struct directive directive;  /* data */
  uint32_t offset, size;
  int fill;
};
struct section {
  const char *name;
  unsigned flags;
  uint32_t align, size;
  uint32_t address; /* when placed */
  int count, capacity;
  struct fragment *fragment;
  int barrier; /* fragments from here on may still be widened */
};
struct label {
  const char *name;
  int section; /* -1: undefined here */
  int fragment;
  bool global, function;
  int64_t size; /* -1: not known */
  struct loc at;
};
struct layout {
  struct arena *arena;
  const struct asm_program *program;
  int section_count, section_capacity;
  struct section *section;
  int label_count, label_capacity;
  struct label *label;
  bool lock_order; /* accesses close to lock operations are errors */
};
bool layout_build(struct layout *, struct arena *, const struct asm_program *,
                  struct diag *);
const struct label *layout_label(const struct layout *, const char *name);
uint32_t layout_address(const struct layout *, const struct label *);

/* Appends the bytes of a section; `resolve` gives values of symbols. */
struct resolver {
  bool (*resolve)(const struct resolver *, const char *symbol, int64_t *value);
  const void *data;
  const struct layout *own;
  bool relocate; /* unknown symbols become 0: a relocation follows */
};
bool layout_emit(const struct layout *, const struct section *,
                 const struct resolver *, struct text *, struct diag *);

#endif
