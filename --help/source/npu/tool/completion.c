/* completion.c -- completion of nputeir's words for bash and zsh, from the
 * tables that the help texts come from. */
#include "tool.h"

#include <string.h>

static bool is_word(const struct tool_option *row) {
  return row->name[0] == '-' && strcmp(row->name, "--") != 0;
}

/* ---- bash: the words that may come next; files complete by default ---- */

static void add_words(const struct tool_option *row, struct text *t) {
  for (; row && row->name; row++)
    if (is_word(row))
      text_printf(t, " %s", row->name);
}

static void add_all_words(const struct tool_command *c,
                          const struct tool_command *action, struct text *t) {
  add_words(c->shared, t);
  add_words(c->options, t);
  if (action)
    add_words(action->options, t);
  add_words(tool_options_of_all, t);
}

static void bash_command(const struct tool_command *c, struct text *t) {
  text_printf(t, "  %s%s)\n    words=\"", c->name, c->actions ? "," : ",*");
  for (const struct tool_command *a = c->actions; a && a->name; a++)
    text_printf(t, " %s", a->name);
  add_all_words(c, NULL, t);
  text_puts(t, " \" ;;\n");
  for (const struct tool_command *a = c->actions; a && a->name; a++) {
    text_printf(t, "  %s,%s)\n    words=\"", c->name, a->name);
    add_all_words(c, a, t);
    text_puts(t, " \" ;;\n");
  }
}

void tool_complete_bash(const struct tool_command *const *command, int count,
                        struct text *t) {
  text_puts(t, "# bash completion of nputeir; made by: nputeir help "
               "--completion bash\n_nputeir() {\n"
               "  local word=${COMP_WORDS[COMP_CWORD]} action= words=\n"
               "  [ \"$COMP_CWORD\" -le 2 ] || action=${COMP_WORDS[2]}\n"
               "  [ \"$COMP_CWORD\" -gt 1 ] || COMP_WORDS[1]=\n"
               "  case ${COMP_WORDS[1]},$action in\n  ,*)\n    words=\"");
  for (int i = 0; i < count; i++)
    text_printf(t, " %s", command[i]->name);
  text_puts(t, " help --help --version\" ;;\n  help,*)\n    words=\"");
  for (int i = 0; i < count; i++)
    text_printf(t, " %s", command[i]->name);
  text_puts(t, "\" ;;\n");
  for (int i = 0; i < count; i++)
    bash_command(command[i], t);
  text_puts(t, "  esac\n"
               "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
               "complete -o default -F _nputeir nputeir\n");
}

/* ---- zsh: with what each word means ---- */

/* In single quotes, inside [..] or :..: of _arguments. */
static void put_zsh(struct text *t, const char *s) {
  for (; *s && *s != '\n'; s++)
    if (*s == '\'')
      text_puts(t, "'\\''");
    else if (strchr("[]:\\", *s))
      text_printf(t, "\\%c", *s);
    else
      text_append(t, s, 1);
}

static void zsh_options(const struct tool_option *row, struct text *t) {
  for (; row && row->name; row++) {
    struct text help = {0};
    if (!is_word(row))
      continue;
    tool_expand(&help, row->help, row->list);
    text_printf(t, " \\\n      '%s%s[", row->flags & TOOL_MANY ? "*" : "",
                row->name);
    put_zsh(t, text_string(&help));
    text_puts(t, "]");
    if (row->value) {
      text_puts(t, ":");
      put_zsh(t, row->value);
      text_puts(t, ":_files");
    }
    text_puts(t, "'");
    text_free(&help);
  }
}

static void zsh_arguments(const struct tool_command *c,
                          const struct tool_command *action, struct text *t) {
  text_puts(t, "_arguments");
  zsh_options(c->shared, t);
  zsh_options(c->options, t);
  if (action)
    zsh_options(action->options, t);
  zsh_options(tool_options_of_all, t);
  text_puts(t, " \\\n      '*:file:_files'\n");
}

static void zsh_describe(const struct tool_command *c, struct text *t) {
  text_printf(t, " '%s:", c->name);
  put_zsh(t, c->summary);
  text_puts(t, "'");
}

static void zsh_command(const struct tool_command *c, struct text *t) {
  text_printf(t, "  %s)\n", c->name);
  if (c->actions) {
    text_puts(t, "    words_of=(");
    for (const struct tool_command *a = c->actions; a->name; a++)
      zsh_describe(a, t);
    text_puts(t, ")\n    if (( CURRENT == 2 )); then\n"
                 "      _describe action words_of\n    fi\n"
                 "    case $words[2] in\n");
    for (const struct tool_command *a = c->actions; a->name; a++) {
      text_printf(t, "    %s) ", a->name);
      zsh_arguments(c, a, t);
      text_puts(t, "      ;;\n");
    }
    text_puts(t, "    esac ;;\n");
    return;
  }
  text_puts(t, "    ");
  zsh_arguments(c, NULL, t);
  text_puts(t, "    ;;\n");
}

void tool_complete_zsh(const struct tool_command *const *command, int count,
                       struct text *t) {
  text_puts(t, "#compdef nputeir\n# zsh completion of nputeir; made by: "
               "nputeir help --completion zsh\n_nputeir() {\n"
               "  local -a words_of\n  words_of=(");
  for (int i = 0; i < count; i++)
    zsh_describe(command[i], t);
  text_puts(t, " 'help:this list, or all about one command')\n"
               "  if (( CURRENT == 2 )); then\n"
               "    _describe command words_of\n    return\n  fi\n"
               "  shift words\n  (( CURRENT-- ))\n"
               "  case $words[1] in\n"
               "  help) _describe command words_of ;;\n");
  for (int i = 0; i < count; i++)
    zsh_command(command[i], t);
  text_puts(t, "  esac\n}\n_nputeir \"$@\"\n");
}
