/* arguments.c -- reads the words of a call by the tables of its sub-command.
 *
 * Options may stand anywhere, "--name=value" is "--name value", and what
 * follows "--" are operands.  An option that is given twice is an error unless
 * its row has TOOL_MANY. */
#include "isa.h"
#include "tool.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 48 };

struct reading {
  struct tool *tool;
  void *job;
  const struct tool_option *row[ROWS];
  int count, given[ROWS];
  char **word; /* the next one */
  char **end;
};

static void add_rows(struct reading *r, const struct tool_option *row) {
  for (; row && row->name; row++) {
    assert(r->count < ROWS && row->read && row->help);
    assert(row->name[0] == '-' || !row->value);
    r->row[r->count++] = row;
  }
}

static bool read_row(struct reading *r, int i, const char *word) {
  const struct tool_option *row = r->row[i];
  struct tool *t = r->tool;
  if (r->given[i]++ && !(row->flags & TOOL_MANY))
    return tool_usage(t, "%s is given twice", row->name);
  t->option = row->name;
  t->low = row->low;
  t->high = row->high;
  bool good = row->read(t, (char *)r->job + row->field, word);
  assert(good || t->diag.kind != DIAG_NONE);
  return good;
}

/* The row that takes what stands behind "--"; -1: there is none. */
static int rest_row(const struct reading *r) {
  for (int i = 0; i < r->count; i++)
    if (strcmp(r->row[i]->name, "--") == 0)
      return i;
  return -1;
}

static bool read_option(struct reading *r, const char *word) {
  const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  for (int i = 0; i < r->count; i++) {
    const struct tool_option *row = r->row[i];
    if (strlen(row->name) != length || strncmp(row->name, word, length) != 0 ||
        i == rest_row(r)) /* "--=x" is no "--" */
      continue;
    if (!row->value)
      return equals ? tool_usage(r->tool, "%s takes no value", row->name)
                    : read_row(r, i, NULL);
    if (equals)
      return read_row(r, i, equals + 1);
    if (r->word == r->end)
      return tool_usage(r->tool, "%s takes a value, %s", row->name, row->value);
    return read_row(r, i, *r->word++);
  }
  return tool_usage(r->tool, "there is no option '%.*s'", (int)length, word);
}

static bool is_operand(const struct tool_option *row) {
  return row->name[0] != '-';
}

static void take_rest(struct reading *r) {
  r->tool->rest = r->word;
  r->tool->rest_count = (int)(r->end - r->word);
  r->word = r->end;
}

/* To the first row that is free. */
static bool read_operand(struct reading *r, const char *word) {
  for (int i = 0; i < r->count; i++)
    if (is_operand(r->row[i]) &&
        (!r->given[i] || r->row[i]->flags & TOOL_MANY)) {
      if (r->row[i]->flags & TOOL_REST)
        take_rest(r);
      return read_row(r, i, word);
    }
  return tool_usage(r->tool, "'%s' is one word too many", word);
}

static bool read_words(struct reading *r) {
  while (r->word < r->end) {
    char *word = *r->word++;
    bool dashes = strcmp(word, "--") == 0;
    if (dashes && rest_row(r) >= 0) {
      take_rest(r);
      return read_row(r, rest_row(r), NULL);
    }
    if (dashes) {
      while (r->word < r->end)
        if (!read_operand(r, *r->word++))
          return false;
    } else if (!(word[0] == '-' && word[1] ? read_option : read_operand)(r,
                                                                         word))
      return false;
  }
  return true;
}

static bool find_missing(struct reading *r) {
  for (int i = 0; i < r->count; i++) {
    const struct tool_option *row = r->row[i];
    if (row->flags & TOOL_NEEDED && !r->given[i])
      return tool_usage(r->tool, "%s%s%s is missing", row->name,
                        row->value ? " " : "", row->value ? row->value : "");
  }
  return true;
}

bool tool_read_arguments(struct tool *t, const struct tool_command *c,
                         const struct tool_command *action, void *job, int argc,
                         char **argv) {
  struct reading r = {.tool = t, .job = job, .word = argv, .end = argv + argc};
  add_rows(&r, c->shared);
  add_rows(&r, c->options);
  if (action)
    add_rows(&r, action->options);
  return read_words(&r) && find_missing(&r);
}

/* ---- readers ---- */

bool tool_flag(struct tool *t, void *to, const char *word) {
  (void)t;
  assert(!word);
  return *(bool *)to = true;
}

bool tool_word(struct tool *t, void *to, const char *word) {
  (void)t;
  *(const char **)to = word;
  return true;
}

bool tool_scan_number(const char **at, int64_t *value) {
  const char *digits = *at + (**at == '-' || **at == '+');
  int base = digits[0] == '0' && (digits[1] | 32) == 'x' &&
                     isxdigit((unsigned char)digits[2])
                 ? 16
                 : 10;
  if (!isdigit((unsigned char)*digits))
    return false;
  char *end;
  errno = 0;
  long long v = strtoll(*at, &end, base);
  if (errno)
    return false;
  *value = v;
  *at = end;
  return true;
}

bool tool_number(struct tool *t, void *to, const char *word) {
  const char *at = word;
  int64_t v;
  assert(t->low <= t->high);
  if (!tool_scan_number(&at, &v) || *at || v < t->low || v > t->high)
    return tool_usage(t, "%s takes a whole number from %lld to %lld, not '%s'",
                      t->option, (long long)t->low, (long long)t->high, word);
  *(int64_t *)to = v;
  return true;
}

bool tool_int(struct tool *t, void *to, const char *word) {
  int64_t v;
  assert(t->low >= INT_MIN && t->high <= INT_MAX);
  if (!tool_number(t, &v, word))
    return false;
  *(int *)to = (int)v;
  return true;
}

bool tool_type(struct tool *t, void *to, const char *word) {
  return dtype_parse(word, to) ||
         tool_usage(t, "%s: there is no type '%s'", t->option, word);
}

void tool_list_presets(struct text *out) {
  for (int i = 0; preset_at(i); i++)
    text_printf(out, "%s%s", i ? ", " : "", preset_at(i)->name);
}

bool tool_preset(struct tool *t, void *to, const char *word) {
  const struct preset *found = preset_find(word);
  struct text known = {0};
  *(const struct preset **)to = found;
  if (found)
    return true;
  tool_list_presets(&known);
  tool_usage(t, "no preset '%s'; there are %s", word, text_string(&known));
  text_free(&known);
  return false;
}

void tool_list_isas(struct text *out) {
  for (int i = 0; isa_at(i); i++)
    text_printf(out, "%s%s", i ? ", " : "", isa_name(isa_at(i)));
}

bool tool_isa(struct tool *t, void *to, const char *word) {
  const struct isa *found = isa_find(word);
  struct text known = {0};
  *(const struct isa **)to = found;
  if (found)
    return true;
  tool_list_isas(&known);
  tool_usage(t, "no instruction set '%s'; there are %s", word,
             text_string(&known));
  text_free(&known);
  return false;
}

bool tool_assignment(struct tool *t, const char *word, const char **left,
                     const char **right) {
  const char *equals = strchr(word, '=');
  if (!equals || equals == word || !equals[1])
    return tool_usage(t, "%s takes two parts around '=', not '%s'", t->option,
                      word);
  *left = arena_substring(t->arena, word, (size_t)(equals - word));
  *right = equals + 1;
  return true;
}

/* Where `path` will be made. */
static const char *folder_of(struct arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    return ".";
  return slash == path ? "/" : arena_substring(a, path, (size_t)(slash - path));
}

static bool cannot_write(struct tool *t, const char *path, int reason) {
  return diag_error(&t->diag, (struct loc){path, 0, 0}, "cannot write: %s",
                    strerror(reason));
}

bool tool_file_to_write(struct tool *t, void *to, const char *word) {
  struct stat there;
  bool exists = stat(word, &there) == 0;
  *(const char **)to = word;
  if (!*word)
    return tool_usage(t, "%s takes a file", t->option);
  if (strcmp(word, "-") == 0)
    return true;
  if (exists && S_ISDIR(there.st_mode))
    return cannot_write(t, word, EISDIR);
  bool special = exists && !S_ISREG(there.st_mode);
  if (access(special ? word : folder_of(t->arena, word), W_OK) != 0)
    return cannot_write(t, word, errno);
  return true;
}

bool tool_folder_to_write(struct tool *t, void *to, const char *word) {
  struct stat there;
  bool exists = stat(word, &there) == 0;
  *(const char **)to = word;
  if (!*word)
    return tool_usage(t, "%s takes a folder", t->option);
  if (exists && !S_ISDIR(there.st_mode))
    return cannot_write(t, word, ENOTDIR);
  if (access(exists ? word : folder_of(t->arena, word), W_OK) != 0)
    return cannot_write(t, word, errno);
  return true;
}
