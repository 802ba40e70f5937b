/* keys.c -- key=value words, and the JSON objects that they stand for. */
#include "keys.h"
#include "json.h"
#include "npu.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the words of a record ---- */

/* `length` bytes from here on are the key of a value; 0: none. */
static size_t key_length(const char *word) {
  size_t length = 0;
  while (isalnum((unsigned char)word[length]) || word[length] == '_')
    length++;
  return word[length] == '=' ? length : 0;
}

/* "limit: a sentence", to the end of the line. */
static size_t sentence_key_length(const char *line) {
  size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz_");
  return line[length] == ':' && line[length + 1] == ' ' ? length : 0;
}

/* What JSON takes as a number: no sign but minus, no leading zero, no name. */
static bool is_number(const char *value, size_t length) {
  char *end;
  const char *digits = value + (*value == '-');
  if (!isdigit((unsigned char)*digits) ||
      (digits[0] == '0' && isalnum((unsigned char)digits[1])))
    return false;
  strtod(value, &end);
  return end == value + length && isdigit((unsigned char)end[-1]);
}

static void put_member(struct text *to, const char *key, size_t key_size,
                       const char *value, size_t length, bool quoted) {
  struct text copy = {0};
  text_printf(to, "%s\"%.*s\": ", to->length > 1 ? ", " : "", (int)key_size,
              key);
  text_append(&copy, value, length);
  if (!quoted && is_number(text_string(&copy), length))
    text_puts(to, text_string(&copy));
  else
    json_print_string(text_string(&copy), to);
  text_free(&copy);
}

/* A word with its key; gives what stands behind it. */
static const char *put_word(struct text *to, const char *word, size_t key) {
  const char *value = word + key + 1;
  bool quoted = *value == '"';
  value += quoted;
  size_t length = strcspn(value, quoted ? "\"" : " \n");
  put_member(to, word, key, value, length, quoted);
  return value + length + (quoted && value[length]);
}

void keys_json(const char *record, struct text *to) {
  struct text object = {0}, loose = {0};
  bool begins = true; /* a line */
  text_puts(&object, "{");
  for (const char *p = record; *p;) {
    size_t key = key_length(p), sentence = begins ? sentence_key_length(p) : 0;
    begins = *p == '\n';
    if (begins || *p == ' ') {
      p++;
    } else if (sentence) {
      const char *value = p + sentence + 2;
      size_t length = strcspn(value, "\n");
      put_member(&object, p, sentence, value, length, true);
      p = value + length;
    } else if (key) {
      p = put_word(&object, p, key);
    } else {
      size_t length = strcspn(p, " \n");
      text_puts(&loose, loose.length ? " " : "");
      text_append(&loose, p, length);
      p += length;
    }
  }
  if (loose.length)
    put_member(&object, "text", strlen("text"), text_string(&loose),
               loose.length, true);
  text_printf(to, "%s}\n", text_string(&object));
  text_free(&object);
  text_free(&loose);
}

/* ---- printing ---- */

/* That all of it arrived is asked at the end of the call. */
static void print(const struct tool *t, const char *record) {
  if (!t->json) {
    fputs(record, stdout);
  } else {
    struct text object = {0};
    keys_json(record, &object);
    fputs(text_string(&object), stdout);
    text_free(&object);
  }
  fflush(stdout);
}

void keys_print(struct tool *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *record = arena_array(t->arena, (size_t)length + 1, 1);
  vsnprintf(record, (size_t)length + 1, format, args);
  va_end(args);
  print(t, record);
}

void keys_print_lines(struct tool *t, const struct text *lines) {
  for (const char *p = text_string(lines); *p;) {
    size_t length = strcspn(p, "\n");
    keys_print(t, "%.*s\n", (int)length, p);
    p += length + (p[length] == '\n');
  }
}

void keys_put_packed(const struct npu_result *r, struct text *to) {
  static const char *const name[] = {"in0", "in1", "out"};
  const char *before = "packed=";
  for (int i = 0; i < TENSORS; i++)
    if (r->packed[i]) {
      text_printf(to, "%s%s:%s", before, name[i], r->packed[i]);
      before = ",";
    }
  if (*before != ',')
    text_puts(to, "packed=-");
}

bool keys_read_json(struct tool *t, void *to, const char *word) {
  (void)to;
  (void)word;
  t->json = true;
  return true;
}
