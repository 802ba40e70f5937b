/* man.c -- manual pages of nputeir and its commands, in man(7), and completion
 * for bash and zsh, all from the tables that the help texts come from. */
#include "tool.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#ifndef NPUTEIR_VERSION
#define NPUTEIR_VERSION "unknown"
#endif

/* ---- man(7) ---- */

/* Text within a line of the source. */
static void put(struct text *t, const char *s, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (s[i] == '\\')
      text_puts(t, "\\e");
    else if (s[i] == '-')
      text_puts(t, "\\-");
    else if (s[i] == '"')
      text_puts(t, "\\(dq");
    else
      text_append(t, &s[i], 1);
}

static void put_word(struct text *t, const char *s) { put(t, s, strlen(s)); }

/* A line of text; where it begins as a request would, it does not any more. */
static void put_line(struct text *t, const char *s, size_t length) {
  if (length && (*s == '.' || *s == '\''))
    text_puts(t, "\\&");
  put(t, s, length);
  text_puts(t, "\n");
}

/* Paragraphs as tool_wrap prints them: lines that begin with a blank stay. */
static void put_text(struct text *t, const char *s) {
  bool as_is = false;
  while (*s) {
    size_t length = strcspn(s, "\n");
    bool blank = *s == ' ';
    if (blank != as_is)
      text_puts(t, blank ? ".nf\n" : ".fi\n");
    as_is = blank;
    if (!length)
      text_puts(t, ".PP\n");
    else
      put_line(t, s, length);
    s += length;
    s += *s == '\n';
    if (!as_is && length && *s && *s != '\n' && *s != ' ')
      text_puts(t, ".br\n");
  }
  if (as_is)
    text_puts(t, ".fi\n");
}

static void put_expanded(struct text *t, const char *words,
                         void (*list)(struct text *)) {
  struct text all = {0};
  if (!words)
    return;
  tool_expand(&all, words, list);
  put_text(t, text_string(&all));
  text_free(&all);
}

static void put_options(struct text *t, const struct tool_option *row) {
  for (; row && row->name; row++) {
    if (!*row->help)
      continue;
    text_puts(t, ".TP\n\\fB");
    put_word(t, row->name);
    text_puts(t, "\\fR");
    if (row->value) {
      text_puts(t, " \\fI");
      put_word(t, row->value);
      text_puts(t, "\\fR");
    }
    text_puts(t, "\n");
    put_expanded(t, row->help, row->list);
  }
}

/* "usage: nputeir nest FILE\n       nputeir nest --rules\n" */
static void put_synopsis(struct text *t, const struct tool_command *c,
                         const struct tool_command *action) {
  struct text usage = {0};
  tool_help_usage(c, action, &usage);
  const char *s = text_string(&usage);
  text_puts(t, ".nf\n");
  while (*s) {
    size_t length = strcspn(s, "\n"), skip = 7; /* "usage: " */
    assert(length > skip);
    text_puts(t, "\\fB");
    put(t, s + skip, strcspn(s + skip, " "));
    text_puts(t, "\\fR");
    skip += strcspn(s + skip, " ");
    put(t, s + skip, length - skip);
    text_puts(t, "\n");
    s += length + (s[length] == '\n');
  }
  text_puts(t, ".fi\n");
  text_free(&usage);
}

static void put_head(struct text *t, const char *command, const char *summary) {
  text_puts(t, ".TH NPUTEIR");
  if (command)
    text_puts(t, "\\-");
  for (const char *s = command; s && *s; s++) {
    char c = (char)toupper((unsigned char)*s);
    text_append(t, &c, 1);
  }
  text_puts(t, " 1 \"\" \"nputeir " NPUTEIR_VERSION "\"\n.SH NAME\nnputeir");
  if (command)
    text_printf(t, "\\-%s", command);
  text_puts(t, " \\- ");
  put_line(t, summary, strlen(summary));
}

static void put_action(struct text *t, const struct tool_command *c,
                       const struct tool_command *a) {
  text_printf(t, ".SS %s\n", a->name);
  put_synopsis(t, c, a);
  text_puts(t, ".PP\n");
  put_text(t, a->summary);
  if (a->intro)
    text_puts(t, ".PP\n");
  put_expanded(t, a->intro, NULL);
  put_options(t, a->options);
  if (a->notes)
    text_puts(t, ".PP\n");
  put_expanded(t, a->notes, a->list);
}

static void put_end(struct text *t, const char *see) {
  text_puts(t, ".SH EXIT STATUS\n");
  put_text(t, tool_statuses + strlen("Exit status: "));
  text_puts(t, ".SH SEE ALSO\n");
  text_puts(t, see);
}

void tool_man(const struct tool_command *c, struct text *t) {
  put_head(t, c->name, c->summary);
  text_puts(t, ".SH SYNOPSIS\n");
  put_synopsis(t, c, NULL);
  if (c->intro)
    text_puts(t, ".SH DESCRIPTION\n");
  put_expanded(t, c->intro, NULL);
  if (c->actions) {
    text_puts(t, ".SH ");
    for (const char *s = c->action; *s; s++) {
      char letter = (char)toupper((unsigned char)*s);
      text_append(t, &letter, 1);
    }
    text_puts(t, "S\n");
  }
  for (const struct tool_command *a = c->actions; a && a->name; a++)
    put_action(t, c, a);
  text_puts(t, ".SH OPTIONS\n");
  put_options(t, c->shared);
  put_options(t, c->options);
  put_options(t, tool_options_of_all);
  if (c->notes)
    text_puts(t, ".SH NOTES\n");
  put_expanded(t, c->notes, c->list);
  put_end(t, ".BR nputeir (1),\n.BR nputeir (7),\n.BR teir (5)\n");
}

void tool_man_overview(const struct tool_command *const *command, int count,
                       const char *intro, struct text *t) {
  put_head(t, NULL, "unmodified C on an AMD XDNA NPU");
  text_puts(t, ".SH SYNOPSIS\n\\fBnputeir\\fR \\fIcommand\\fR "
               "[\\fIarguments\\fR]\n.SH DESCRIPTION\n");
  put_text(t, intro);
  text_puts(t, ".SH COMMANDS\n");
  for (int i = 0; i < count; i++) {
    text_printf(t, ".TP\n\\fB%s\\fR\n", command[i]->name);
    put_text(t, command[i]->summary);
  }
  text_puts(t, ".TP\n\\fBhelp\\fR [\\fIcommand\\fR]\nthe list of commands, or "
               "all about one\n.SH OPTIONS\n");
  put_options(t, tool_options_of_all);
  put_end(t, ".BR nputeir (7),\n.BR teir (5)");
  for (int i = 0; i < count; i++)
    text_printf(t, ",\n.BR nputeir\\-%s (1)", command[i]->name);
  text_puts(t, "\n");
}
