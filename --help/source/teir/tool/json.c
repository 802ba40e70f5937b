/* json.c -- reads JSON (RFC 8259) into a tree.
 *
 * Left out: NUL in strings, which our strings cannot hold, and nesting deeper
 * than DEPTH_LIMIT, or with more members than MEMBERS_LIMIT. */
#include "json.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_LIMIT = 100, MEMBERS_LIMIT = 10000 };

struct parser {
  struct arena *a;
  const char *file, *at, *start; /* start: of the line */
  int line, depth;
  struct diag *d;
};

static struct loc here(const struct parser *p) {
  return (struct loc){p->file, p->line, (int)(p->at - p->start) + 1};
}

static void skip(struct parser *p) {
  for (; *p->at && strchr(" \t\r\n", *p->at); p->at++)
    if (*p->at == '\n') {
      p->line++;
      p->start = p->at + 1;
    }
}

static bool expected(struct parser *p, const char *what) {
  if (!*p->at)
    return diag_error(p->d, here(p), "expected %s, found the end of the text",
                      what);
  int length = 1; /* all of a character */
  while (((unsigned char)p->at[length] & 0xc0) == 0x80)
    length++;
  return diag_error(p->d, here(p), "expected %s, found '%.*s'", what, length,
                    p->at);
}

static bool take(struct parser *p, char c) {
  skip(p);
  if (*p->at != c)
    return false;
  p->at++;
  return true;
}

/* ---- strings ---- */
static bool hex4(struct parser *p, unsigned *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, p->at++) {
    if (!isxdigit((unsigned char)*p->at))
      return expected(p, "four hexadecimal digits");
    int c = tolower((unsigned char)*p->at);
    *code = *code * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

static void put_utf8(struct text *t, unsigned code) {
  char c[4];
  size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
  assert(code <= 0x10ffff);
  for (size_t i = more; i > 0; i--, code >>= 6)
    c[i] = (char)(0x80 | (code & 0x3f));
  c[0] = (char)(lead[more] | code);
  text_append(t, c, more + 1);
}

/* Behind "\u". */
static bool take_unicode(struct parser *p, struct text *t) {
  unsigned code, low;
  if (!hex4(p, &code))
    return false;
  if (code == 0)
    return diag_error(p->d, here(p), "\\u0000 cannot stand in a string here");
  if (code >= 0xd800 && code < 0xdc00) {
    if (p->at[0] != '\\' || p->at[1] != 'u')
      return expected(p, "the second half of a surrogate pair");
    p->at += 2;
    if (!hex4(p, &low))
      return false;
    if (low < 0xdc00 || low > 0xdfff)
      return expected(p, "the second half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code <= 0xdfff) {
    return diag_error(p->d, here(p), "half of a surrogate pair");
  }
  put_utf8(t, code);
  return true;
}

static bool take_escape(struct parser *p, struct text *t) {
  static const char letter[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
  const char *e = *p->at ? strchr(letter, *p->at) : NULL;
  if (e) {
    text_append(t, &means[e - letter], 1);
    p->at++;
    return true;
  }
  if (*p->at != 'u')
    return expected(p, "one of \" \\ / b f n r t u behind a backslash");
  p->at++;
  return take_unicode(p, t);
}

static bool take_characters(struct parser *p, struct text *t) {
  while (*p->at != '"') {
    if ((unsigned char)*p->at < ' ')
      return *p->at
                 ? diag_error(p->d, here(p), "a control character in a string")
                 : expected(p, "the end of the string");
    if (*p->at != '\\') {
      text_append(t, p->at++, 1);
      continue;
    }
    p->at++;
    if (!take_escape(p, t))
      return false;
  }
  p->at++;
  return true;
}

static const char *parse_string(struct parser *p) {
  struct loc at = here(p);
  struct text t = {0};
  assert(*p->at == '"');
  p->at++;
  bool good = take_characters(p, &t);
  if (good && !utf8_valid(text_string(&t), t.length))
    good = diag_error(p->d, at, "a string is not valid UTF-8");
  const char *s =
      good ? arena_substring(p->a, text_string(&t), t.length) : NULL;
  text_free(&t);
  return s;
}

/* ---- numbers, words ---- */
static bool digits(struct parser *p) {
  if (!isdigit((unsigned char)*p->at))
    return expected(p, "a digit");
  while (isdigit((unsigned char)*p->at))
    p->at++;
  return true;
}

static bool parse_number(struct parser *p, struct json *v) {
  const char *first = p->at;
  v->kind = JSON_NUMBER;
  p->at += *p->at == '-';
  if (*p->at == '0')
    p->at++; /* no more digits */
  else if (!digits(p))
    return false;
  if (*p->at == '.') {
    p->at++;
    if (!digits(p))
      return false;
  }
  if (*p->at == 'e' || *p->at == 'E') {
    p->at++;
    p->at += *p->at == '+' || *p->at == '-';
    if (!digits(p))
      return false;
  }
  v->text = arena_substring(p->a, first, (size_t)(p->at - first));
  return true;
}

static bool parse_word(struct parser *p, struct json *v) {
  static const struct {
    const char *word;
    enum json_kind kind;
  } known[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t length = strlen(known[i].word);
    if (strncmp(p->at, known[i].word, length) != 0 ||
        isalnum((unsigned char)p->at[length]))
      continue;
    v->kind = known[i].kind;
    p->at += length;
    return true;
  }
  return expected(p, "a value");
}

/* ---- lists, objects ---- */
static struct json *parse(struct parser *p);

static struct json *parse_member(struct parser *p, const struct json *object) {
  skip(p);
  struct loc at = here(p);
  if (*p->at != '"') {
    expected(p, "a key in quotes");
    return NULL;
  }
  const char *key = parse_string(p);
  if (!key)
    return NULL;
  if (json_member(object, key)) {
    diag_error(p->d, at, "the key '%s' stands in the object twice", key);
    return NULL;
  }
  if (!take(p, ':')) {
    expected(p, "':'");
    return NULL;
  }
  struct json *v = parse(p);
  if (v)
    v->key = key;
  return v;
}

/* Behind the opening bracket. */
static bool parse_items(struct parser *p, struct json *v, char end) {
  struct json **last = &v->item;
  if (take(p, end))
    return true;
  do {
    struct json *item = end == '}' ? parse_member(p, v) : parse(p);
    if (!item)
      return false;
    *last = item;
    last = &item->next;
    if (++v->count > MEMBERS_LIMIT && end == '}')
      return diag_error(p->d, v->at, "an object has %d members at most",
                        MEMBERS_LIMIT);
  } while (take(p, ','));
  return take(p, end) || expected(p, end == '}' ? "',' or '}'" : "',' or ']'");
}

static struct json *parse(struct parser *p) {
  skip(p);
  struct json *v = arena_alloc(p->a, sizeof *v);
  v->at = here(p);
  bool good;
  if (p->depth == DEPTH_LIMIT) {
    good = diag_error(p->d, v->at, "values are nested %d deep at most",
                      DEPTH_LIMIT);
  } else if (*p->at == '"') {
    v->kind = JSON_STRING;
    v->text = parse_string(p);
    good = v->text;
  } else if (*p->at == '-' || isdigit((unsigned char)*p->at)) {
    good = parse_number(p, v);
  } else if (*p->at == '[' || *p->at == '{') {
    v->kind = *p->at == '[' ? JSON_LIST : JSON_OBJECT;
    char end = *p->at++ == '[' ? ']' : '}';
    p->depth++;
    good = parse_items(p, v, end);
    p->depth--;
  } else {
    good = parse_word(p, v);
  }
  return good ? v : NULL;
}

struct json *json_parse(struct arena *a, const char *file, const char *text,
                        struct diag *d) {
  struct parser p = {a, file, text, text, 1, 0, d};
  struct json *v = parse(&p);
  if (!v)
    return NULL;
  skip(&p);
  return !*p.at || expected(&p, "nothing behind the value") ? v : NULL;
}

const struct json *json_member(const struct json *object, const char *key) {
  assert(object->kind == JSON_OBJECT);
  for (const struct json *v = object->item; v; v = v->next)
    if (strcmp(v->key, key) == 0)
      return v;
  return NULL;
}

void json_print_string(const char *s, struct text *t) {
  text_puts(t, "\"");
  for (; *s; s++)
    if (*s == '"' || *s == '\\')
      text_printf(t, "\\%c", *s);
    else if ((unsigned char)*s < ' ')
      text_printf(t, "\\u%04x", (unsigned char)*s);
    else
      text_append(t, s, 1);
  text_puts(t, "\"");
}
