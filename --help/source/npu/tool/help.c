/* help.c -- the help text of a sub-command, from its tables. */
#include "tool.h"

#include <assert.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 2, COLUMN = 22, SPEC = 120 };

/* Columns that a word takes: bytes that begin a character. */
static int columns(const char *s, size_t length) {
  int n = 0;
  for (size_t i = 0; i < length; i++)
    n += (s[i] & 0xc0) != 0x80;
  return n;
}

static void new_line(struct text *out, int column) {
  text_printf(out, "\n%*s", column, "");
}

/* One line of the source, which may become several. */
static void wrap_line(struct text *out, int column, const char *line,
                      size_t length) {
  int at = column;
  const char *end = line + length;
  while (line < end) {
    size_t n = 0;
    while (line + n < end && line[n] != ' ')
      n++;
    int wide = columns(line, n);
    if (at > column && at + 1 + wide >= WIDTH) {
      new_line(out, column);
      at = column;
    } else if (at > column) {
      text_puts(out, " ");
      at++;
    }
    text_append(out, line, n);
    at += wide;
    line += n;
    while (line < end && *line == ' ')
      line++;
  }
}

void tool_wrap(struct text *out, int column, const char *text) {
  for (bool first = true; *text; first = false) {
    size_t length = strcspn(text, "\n");
    if (!first && length)
      new_line(out, column);
    else if (!first)
      text_puts(out, "\n");
    if (*text == ' ')
      text_append(out, text, length);
    else
      wrap_line(out, column, text, length);
    text += length + (text[length] == '\n');
  }
  text_puts(out, "\n");
}

/* ---- usage ---- */

/* "FILE", "[--all]", "--define NAME=VALUE ..": as the row says. */
static void add_form(const struct tool_option *row, struct text *out) {
  bool needed = row->flags & TOOL_NEEDED;
  text_printf(out, " %s%s%s%s%s%s", needed ? "" : "[", row->name,
              row->value ? " " : "", row->value ? row->value : "",
              row->flags & TOOL_MANY ? " .." : "", needed ? "" : "]");
}

/* Operands and what is needed; the rest are [options]. */
static void add_forms(const struct tool_option *row, struct text *out,
                      bool *more) {
  for (; row && row->name; row++)
    if (row->name[0] != '-' || row->flags & TOOL_NEEDED)
      add_form(row, out);
    else
      *more = true;
}

static void usage_line(const struct tool_command *c,
                       const struct tool_command *action, struct text *out) {
  bool more = false;
  text_printf(out, "nputeir %s", c->name);
  if (c->actions && !action)
    text_printf(out, c->run ? " [<%s>]" : " <%s>", c->action);
  if (action)
    text_printf(out, " %s", action->name);
  add_forms(c->shared, out, &more);
  add_forms(c->options, out, &more);
  if (action)
    add_forms(action->options, out, &more);
  text_puts(out, more || (c->actions && !action) ? " [options]\n" : "\n");
}

void tool_help_usage(const struct tool_command *c,
                     const struct tool_command *action, struct text *out) {
  const char *form = action ? action->usage : c->usage;
  text_puts(out, "usage: ");
  if (!form) {
    usage_line(c, action, out);
    return;
  }
  for (bool first = true; *form; first = false) {
    size_t length = strcspn(form, "\n");
    text_printf(out, "%snputeir %s%s%s %.*s\n", first ? "" : "       ", c->name,
                action ? " " : "", action ? action->name : "", (int)length,
                form);
    form += length + (form[length] == '\n');
  }
}

/* ---- options ---- */

void tool_expand(struct text *out, const char *words,
                 void (*list)(struct text *)) {
  const char *place = list ? strstr(words, "%s") : NULL;
  assert(!list || place);
  if (!place) {
    text_puts(out, words);
    return;
  }
  text_append(out, words, (size_t)(place - words));
  list(out);
  text_puts(out, place + 2);
}

static void wrap_with_list(struct text *out, int column, const char *words,
                           void (*list)(struct text *)) {
  struct text all = {0};
  tool_expand(&all, words, list);
  tool_wrap(out, column, text_string(&all));
  text_free(&all);
}

static void option(const struct tool_option *row, struct text *out) {
  char spec[SPEC];
  int length = snprintf(spec, sizeof spec, "%*s%s%s%s", INDENT, "", row->name,
                        row->value ? " " : "", row->value ? row->value : "");
  assert(length > 0 && length < SPEC);
  text_puts(out, spec);
  if (length + 2 > COLUMN)
    new_line(out, COLUMN);
  else
    text_printf(out, "%*s", COLUMN - length, "");
  wrap_with_list(out, COLUMN, row->help, row->list);
}

/* Without those whose name says it all. */
static void options(const struct tool_option *row, struct text *out) {
  for (; row && row->name; row++)
    if (*row->help)
      option(row, out);
}

static void paragraph(const char *text, void (*list)(struct text *),
                      struct text *out) {
  if (!text)
    return;
  text_puts(out, "\n");
  wrap_with_list(out, 0, text, list);
}

/* An action in the help of its command: its words and what they mean. */
static void action_help(const struct tool_command *c,
                        const struct tool_command *a, struct text *out) {
  bool more;
  text_printf(out, "\n%s", a->name);
  add_forms(c->options, out, &more);
  if (a->usage)
    text_printf(out, " %s", a->usage);
  else
    add_forms(a->options, out, &more);
  text_puts(out, "\n    ");
  tool_wrap(out, 4, a->summary);
  if (a->intro) {
    text_puts(out, "    ");
    tool_wrap(out, 4, a->intro);
  }
  options(a->options, out);
  if (a->notes) {
    text_puts(out, "    ");
    tool_wrap(out, 4, a->notes);
  }
}

const char tool_statuses[] =
    "Exit status: 0 done; 1 the job failed, and a line on standard error says "
    "why; 2 the words of the call are wrong, and nothing was done.";

const struct tool_option tool_options_of_all[] = {
    {.name = "--help", .help = "this text"},
    {.name = "--version", .help = "the version of nputeir"},
    {0},
};

void tool_help(const struct tool_command *c, const struct tool_command *action,
               struct text *out) {
  tool_help_usage(c, action, out);
  if (action)
    paragraph(action->summary, NULL, out);
  paragraph(action ? action->intro : c->intro, NULL, out);
  for (const struct tool_command *a = action ? NULL : c->actions; a && a->name;
       a++)
    action_help(c, a, out);
  text_puts(out, !action && c->actions ? "\nall\n" : "\n");
  if (action)
    options(action->options, out);
  options(c->shared, out);
  options(c->options, out);
  options(tool_options_of_all, out);
  paragraph(action ? action->notes : c->notes, (action ? action : c)->list,
            out);
  paragraph(tool_statuses, NULL, out);
}
