/* lex.c -- reads names, punctuation and constant expressions of one line.
 *
 * A line ends at a newline, at // or at the end of the text.  Expressions are
 * those of C over 64-bit integers; a symbol may stand in a sum, so that every
 * expression is symbol + constant. */
#include "parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void lex_blanks(struct cursor *c) {
  while (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')
    c->at++;
}

bool lex_end(struct cursor *c) {
  lex_blanks(c);
  return *c->at == 0 || *c->at == '\n' || (c->at[0] == '/' && c->at[1] == '/');
}

bool lex_char(struct cursor *c, char want) {
  lex_blanks(c);
  if (*c->at != want)
    return false;
  c->at++;
  return true;
}

struct loc lex_loc(const struct cursor *c) {
  struct cursor token = *c;
  lex_blanks(&token);
  return (struct loc){c->file, c->line, (int)(token.at - c->start) + 1};
}

static bool name_start(char c) {
  return isalpha((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

size_t lex_name(const struct cursor *c) {
  const char *at = c->at;
  if (!name_start(*at))
    return 0;
  while (name_start(*at) || isdigit((unsigned char)*at) || *at == '@')
    at++;
  return (size_t)(at - c->at);
}

char *lex_take_name(struct cursor *c) {
  lex_blanks(c);
  size_t length = lex_name(c);
  if (!length)
    return NULL;
  char *name = arena_substring(c->arena, c->at, length);
  c->at += length;
  return name;
}

const char *lex_token(const struct cursor *c, char token[40]) {
  struct cursor here = *c;
  if (lex_end(&here))
    return strcpy(token, "end of line");
  size_t length = lex_name(&here);
  if (!length) {
    length = here.at[0] == '#' ? 1 : 0;
    while (isalnum((unsigned char)here.at[length]) ||
           (length == 1 && here.at[0] == '#' && here.at[1] == '-'))
      length++;
    if (!length)
      length = 1;
  }
  snprintf(token, 40, "'%.*s'", length > 36 ? 36 : (int)length, here.at);
  for (char *p = token; *p; p++)
    if (!isprint((unsigned char)*p))
      *p = '?';
  return token;
}

/* ---- expressions ---- */

enum { MAX_DEPTH = 40 };

static bool parse_sum(struct cursor *, struct expression *, int level,
                      int depth);

static bool parse_number(struct cursor *c, struct expression *e) {
  char *end;
  bool binary = c->at[0] == '0' && (c->at[1] == 'b' || c->at[1] == 'B');
  unsigned long long v =
      binary ? strtoull(c->at + 2, &end, 2) : strtoull(c->at, &end, 0);
  if (end == c->at + (binary ? 2 : 0) || isalnum((unsigned char)*end))
    return diag_error(c->diag, lex_loc(c), "malformed number");
  e->symbol = NULL;
  e->value = (int64_t)v;
  c->at = end;
  return true;
}

static bool parse_primary(struct cursor *c, struct expression *e, int depth) {
  char token[40];
  if (depth > MAX_DEPTH)
    return diag_error(c->diag, lex_loc(c), "expression nests too deep");
  lex_blanks(c);
  if (isdigit((unsigned char)*c->at))
    return parse_number(c, e);
  if (lex_char(c, '(')) {
    if (!parse_sum(c, e, 0, depth + 1))
      return false;
    return lex_char(c, ')') ||
           diag_error(c->diag, lex_loc(c), "expected ')', found %s",
                      lex_token(c, token));
  }
  if (*c->at == '-' || *c->at == '~' || *c->at == '+') {
    char sign = *c->at++;
    if (!parse_primary(c, e, depth + 1))
      return false;
    if (e->symbol && sign != '+')
      return diag_error(c->diag, lex_loc(c),
                        "symbol '%s' may only stand in a sum", e->symbol);
    uint64_t v = (uint64_t)e->value;
    e->value = (int64_t)(sign == '-' ? -v : sign == '~' ? ~v : v);
    return true;
  }
  *e = (struct expression){lex_take_name(c), 0};
  return e->symbol || diag_error(c->diag, lex_loc(c),
                                 "expected a number or a symbol, found %s",
                                 lex_token(c, token));
}

/* Binary operators by level; a two-character one is its first character. */
static char take_operator(struct cursor *c, int level) {
  static const char *const of_level[] = {"|", "^", "&", "<>", "+-", "*/%"};
  lex_blanks(c);
  char at = *c->at;
  if (!at || !strchr(of_level[level], at) || (at == '/' && c->at[1] == '/'))
    return 0;
  if (at == '<' || at == '>') {
    if (c->at[1] != at)
      return 0;
    c->at++;
  }
  c->at++;
  return at;
}

static bool apply(struct cursor *c, char sign, struct expression *a,
                  const struct expression *b) {
  if ((a->symbol || b->symbol) && !(sign == '+' && !(a->symbol && b->symbol)) &&
      !(sign == '-' && !b->symbol))
    return diag_error(c->diag, lex_loc(c),
                      "symbol '%s' may only stand in a sum with constants",
                      b->symbol ? b->symbol : a->symbol);
  uint64_t x = (uint64_t)a->value, y = (uint64_t)b->value;
  switch (sign) {
  case '+':
    x += y;
    break;
  case '-':
    x -= y;
    break;
  case '*':
    x *= y;
    break;
  case '/':
  case '%':
    if (b->value == 0 || (b->value == -1 && a->value == INT64_MIN))
      return diag_error(c->diag, lex_loc(c), "division by zero");
    x = (uint64_t)(sign == '/' ? a->value / b->value : a->value % b->value);
    break;
  case '<':
    x = y > 63 ? 0 : x << y;
    break;
  case '>':
    x = y > 63 ? 0 : x >> y;
    break;
  case '&':
    x &= y;
    break;
  case '^':
    x ^= y;
    break;
  case '|':
    x |= y;
    break;
  }
  if (b->symbol)
    a->symbol = b->symbol;
  a->value = (int64_t)x;
  return true;
}

static bool parse_sum(struct cursor *c, struct expression *e, int level,
                      int depth) {
  if (level > 5)
    return parse_primary(c, e, depth);
  if (!parse_sum(c, e, level + 1, depth))
    return false;
  char sign;
  while ((sign = take_operator(c, level)) != 0) {
    struct expression right;
    if (!parse_sum(c, &right, level + 1, depth) || !apply(c, sign, e, &right))
      return false;
  }
  return true;
}

bool lex_expression(struct cursor *c, struct expression *e) {
  return parse_sum(c, e, 0, 0);
}
