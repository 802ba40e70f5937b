/* text.c -- the growing output buffer, whole-file input and output, and the
 * scanner that all our text forms share. */
#include "base.h"
#include "memory.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The characters lie behind a head that an attempt finds them by. */
enum { HEAD_BYTES = sizeof(struct memory_head) };

static void *block_of(const struct text *t) {
  return t->data ? t->data - HEAD_BYTES : NULL;
}

static void reserve(struct text *t, size_t more) {
  assert(t->length <= t->capacity);
  if (more > SIZE_MAX / 4)
    out_of_memory(more);
  size_t need = t->length + more + 1;
  if (need <= t->capacity)
    return;
  size_t capacity = t->capacity ? t->capacity : 256;
  while (capacity < need)
    capacity *= 2;
  t->data =
      (char *)memory_resize(block_of(t), HEAD_BYTES + capacity) + HEAD_BYTES;
  t->capacity = capacity;
  assert(need <= t->capacity);
}

void text_printf(struct text *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  reserve(t, (size_t)length);
  vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
  va_end(again);
  t->length += (size_t)length;
}

void text_expect(struct text *t, size_t length) { reserve(t, length); }

char *text_extend(struct text *t, size_t length) {
  reserve(t, length);
  char *to = memset(t->data + t->length, 0, length + 1);
  t->length += length;
  return to;
}

void text_append(struct text *t, const char *bytes, size_t length) {
  reserve(t, length);
  memcpy(t->data + t->length, bytes, length);
  t->length += length;
  t->data[t->length] = 0;
}

void text_take(struct text *to, struct text *from) {
  if (!to->data) {
    *to = *from;
    *from = (struct text){0};
    return;
  }
  text_append(to, text_string(from), from->length);
  text_free(from);
}

void text_puts(struct text *t, const char *s) { text_append(t, s, strlen(s)); }

const char *text_string(const struct text *t) { return t->data ? t->data : ""; }

/* Letters behind a backslash, and what they stand for. */
static const char escape[] = "\"\\nrt", escaped[] = "\"\\\n\r\t";

void text_quote(struct text *t, const char *s) {
  text_puts(t, "\"");
  for (; *s; s++) {
    const char *e = strchr(escaped, *s);
    if (e)
      text_printf(t, "\\%c", escape[e - escaped]);
    else if ((unsigned char)*s < ' ' || *s == 0x7f)
      text_printf(t, "\\x%02x", (unsigned char)*s);
    else
      text_append(t, s, 1);
  }
  text_puts(t, "\"");
}

/* Bytes behind the first one of a character; -1: no character begins so. */
static int utf8_more(unsigned char c) {
  if (c < 0x80)
    return 0;
  if (c < 0xc2 || c > 0xf4)
    return -1;
  return c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
}

bool utf8_valid(const char *bytes, size_t length) {
  const unsigned char *s = (const unsigned char *)bytes, *end = s + length;
  while (s < end) {
    unsigned char first = *s++;
    int more = utf8_more(first);
    if (more < 0 || end - s < more)
      return false;
    /* no overlong forms, no surrogates, nothing past U+10FFFF */
    if ((first == 0xe0 && *s < 0xa0) || (first == 0xed && *s > 0x9f) ||
        (first == 0xf0 && *s < 0x90) || (first == 0xf4 && *s > 0x8f))
      return false;
    for (; more > 0; more--)
      if ((*s++ & 0xc0) != 0x80)
        return false;
  }
  return true;
}

void text_free(struct text *t) {
  memory_close(block_of(t));
  *t = (struct text){0};
}

/* A device or a pipe may never end; a file does. */
enum { ENDLESS_BYTES = 256 << 20 };

static size_t most_bytes(FILE *f) {
  struct stat s;
  return fstat(fileno(f), &s) == 0 && S_ISREG(s.st_mode) ? SIZE_MAX
                                                         : ENDLESS_BYTES;
}

char *file_read(struct arena *a, const char *path, size_t *length,
                struct diag *d) {
  struct loc at = {path, 0, 0};
  FILE *f = fopen(path, "rb");
  if (!f) {
    diag_error(d, at, "cannot read: %s", strerror(errno));
    return NULL;
  }
  struct text t = {0};
  char block[1 << 14];
  size_t n, most = most_bytes(f);
  while (t.length <= most && (n = fread(block, 1, sizeof block, f)) > 0)
    text_append(&t, block, n);
  bool failed = ferror(f);
  int error = errno;
  fclose(f);
  char *data = NULL;
  if (failed)
    diag_error(d, at, "cannot read: %s", strerror(error));
  else if (t.length > most)
    diag_error(d, at,
               "cannot read: more than %d MiB from what is no file on a disk; "
               "it may never end",
               ENDLESS_BYTES >> 20);
  else
    data = arena_substring(a, text_string(&t), t.length);
  if (length)
    *length = t.length;
  text_free(&t);
  return data;
}

static bool write_whole(const char *path, const void *bytes, size_t length) {
  FILE *f = fopen(path, "wb");
  bool good = f && fwrite(bytes, 1, length, f) == length;
  return f && fclose(f) == 0 && good;
}

static bool write_beside(const char *path, const void *bytes, size_t length) {
  struct text part = {0};
  text_printf(&part, "%s.%ld.part", path, (long)getpid());
  bool good =
      write_whole(part.data, bytes, length) && rename(part.data, path) == 0;
  int reason = errno;
  if (!good)
    remove(part.data);
  errno = reason;
  text_free(&part);
  return good;
}

bool file_write(const char *path, const void *bytes, size_t length,
                struct diag *d) {
  struct loc at = {path, 0, 0};
  struct stat there;
  bool special = lstat(path, &there) == 0 && !S_ISREG(there.st_mode);
  return (special ? write_whole : write_beside)(path, bytes, length) ||
         diag_error(d, at, "cannot write: %s", strerror(errno));
}

bool folder_make(const char *path, struct diag *d) {
  return mkdir(path, 0777) == 0 || errno == EEXIST ||
         diag_error(d, (struct loc){path, 0, 0}, "cannot make a folder: %s",
                    strerror(errno));
}

struct scan scan_open(const char *file, const char *text) {
  return (struct scan){file, text, text, 1};
}

static void skip_blanks(struct scan *s) {
  while (*s->at == ' ' || *s->at == '\t' || *s->at == '\r')
    s->at++;
  if (*s->at == '#')
    while (*s->at && *s->at != '\n')
      s->at++;
}

struct loc scan_loc(const struct scan *s) {
  struct scan copy = *s;
  skip_blanks(&copy);
  return (struct loc){s->file, s->line, (int)(copy.at - copy.start) + 1};
}

bool scan_end_of_line(struct scan *s) {
  skip_blanks(s);
  return *s->at == 0 || *s->at == '\n';
}

void scan_next_line(struct scan *s) {
  while (*s->at && *s->at != '\n')
    s->at++;
  if (*s->at == '\n') {
    s->at++;
    s->line++;
    s->start = s->at;
  }
}

bool scan_end(struct scan *s) {
  while (scan_end_of_line(s) && *s->at)
    scan_next_line(s);
  return *s->at == 0;
}

bool scan_char(struct scan *s, char c) {
  skip_blanks(s);
  if (*s->at != c || c == 0)
    return false;
  s->at++;
  return true;
}

static bool name_first(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool name_rest(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

bool scan_is_name(const char *s) {
  if (!name_first(*s))
    return false;
  while (name_rest(*s))
    s++;
  return *s == 0;
}

bool scan_word(struct scan *s, const char *word) {
  skip_blanks(s);
  size_t n = strlen(word);
  if (strncmp(s->at, word, n) != 0 || name_rest(s->at[n]))
    return false;
  s->at += n;
  return true;
}

char *scan_name(struct scan *s, struct arena *a) {
  skip_blanks(s);
  if (!name_first(*s->at))
    return NULL;
  const char *first = s->at;
  while (name_rest(*s->at))
    s->at++;
  return arena_substring(a, first, (size_t)(s->at - first));
}

/* The character that stands behind a backslash. */
static bool scan_escape(struct scan *s, char *c) {
  const char *e = *s->at ? strchr(escape, *s->at) : NULL;
  if (e) {
    *c = escaped[e - escape];
    s->at++;
    return true;
  }
  if (s->at[0] != 'x' || !isxdigit((unsigned char)s->at[1]) ||
      !isxdigit((unsigned char)s->at[2]))
    return false;
  char digits[] = {s->at[1], s->at[2], 0};
  *c = (char)strtol(digits, NULL, 16);
  s->at += 3;
  return *c != 0;
}

char *scan_string(struct scan *s, struct arena *a, struct diag *d) {
  skip_blanks(s);
  struct loc at = scan_loc(s);
  if (*s->at != '"')
    return NULL;
  struct text t = {0};
  bool good = true;
  for (s->at++; good && *s->at && *s->at != '"' && *s->at != '\n';) {
    char c = *s->at++;
    if (c == '\\')
      good = scan_escape(s, &c);
    text_append(&t, &c, 1);
  }
  if (!good)
    diag_error(d, at,
               "a string has a backslash before none of \" \\ n r t xHH");
  else if (*s->at != '"')
    good = diag_error(d, at, "a string does not end on its line");
  else if (!utf8_valid(text_string(&t), t.length))
    good = diag_error(d, at, "a string is not valid UTF-8");
  else
    s->at++;
  char *string = good ? arena_substring(a, text_string(&t), t.length) : NULL;
  text_free(&t);
  return string;
}

bool scan_int(struct scan *s, int64_t *value) {
  skip_blanks(s);
  const char *p = s->at;
  if (*p == '-' || *p == '+')
    p++;
  if (!isdigit((unsigned char)*p))
    return false;
  bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
  char *end;
  errno = 0;
  long long v = strtoll(s->at, &end, hex ? 16 : 10);
  if (errno || name_first(*end))
    return false;
  s->at = end;
  *value = v;
  return true;
}

bool scan_expected(struct scan *s, struct diag *d, const char *what) {
  skip_blanks(s);
  if (scan_end_of_line(s))
    return diag_error(d, scan_loc(s), "expected %s, found the end of the line",
                      what);
  int length = 0;
  while (length < 40 && s->at[length] && !isspace((unsigned char)s->at[length]))
    length++;
  return diag_error(d, scan_loc(s), "expected %s, found '%.*s'", what, length,
                    s->at);
}
