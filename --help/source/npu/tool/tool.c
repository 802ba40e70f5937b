/* tool.c -- the program `nputeir`: finds the sub-command, owns the memory of
 * its call, prints its diagnostic or its help, and gives the exit status. */
#define NPUTEIR_TOOL_DRIVER
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#ifndef NPUTEIR_VERSION
#define NPUTEIR_VERSION "unknown"
#endif

#define COMMAND(name) extern const struct tool_command tool_##name;
#include "commands.def"
#undef COMMAND

static const struct tool_command *const command[] = {
#define COMMAND(name) &tool_##name,
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof command / sizeof *command };

static const struct tool_command *find_command(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(command[i]->name, name) == 0)
      return command[i];
  return NULL;
}

static const struct tool_command *find_action(const struct tool_command *c,
                                              const char *name) {
  for (const struct tool_command *a = c->actions; a && a->name; a++)
    if (strcmp(a->name, name) == 0)
      return a;
  return NULL;
}

/* ---- one call ---- */

static bool asks(const char *word, const char *option, const char *letter) {
  return strcmp(word, option) == 0 || (letter && strcmp(word, letter) == 0);
}

/* Before words are judged: behind a wrong one help is wanted most. */
static bool answers(const struct tool_command *c,
                    const struct tool_command *action, int argc, char **argv,
                    struct text *out) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (asks(argv[i], "--help", "-h")) {
      tool_help(c, action, out);
      return true;
    }
    if (asks(argv[i], "--version", NULL)) {
      text_puts(out, "nputeir " NPUTEIR_VERSION "\n");
      return true;
    }
  }
  return false;
}

static bool no_action(struct tool *t, const struct tool_command *c,
                      const char *word) {
  struct text known = {0};
  for (const struct tool_command *a = c->actions; a->name; a++)
    text_printf(&known, "%s%s", a == c->actions ? "" : ", ", a->name);
  if (word)
    tool_usage(t, "there is no %s '%s'; there are %s", c->action, word,
               text_string(&known));
  else
    tool_usage(t, "which %s: %s", c->action, text_string(&known));
  text_free(&known);
  return false;
}

/* argv: what stands behind the sub-command's name. */
static bool run_command(struct tool *t, const struct tool_command *c, int argc,
                        char **argv) {
  const struct tool_command *action = NULL;
  if (c->actions && argc > 0 && (action = find_action(c, argv[0]))) {
    argc--;
    argv++;
  }
  if (answers(c, action, argc, argv, &t->out))
    return tool_print(t, NULL);
  if (c->actions && !action && (argc > 0 || !c->run))
    return no_action(t, c, argc > 0 ? argv[0] : NULL);
  if (action)
    t->name = arena_printf(t->arena, "%s %s", c->name, action->name);
  const struct tool_command *owner = action && action->job_bytes ? action : c;
  void *job = tool_new_job(t, owner);
  return tool_read_arguments(t, c, action, job, argc, argv) &&
         (action ? action : c)->run(t, job);
}

static const char intro[] =
    "An unmodified C program on an AMD XDNA NPU: every stage of the road from "
    "a loop nest to the bytes that a device runs.";

static void print_overview(struct text *out) {
  text_puts(out, "usage: nputeir <command> [arguments]\n\n");
  tool_wrap(out, 0, intro);
  text_puts(out, "\n");
  for (int i = 0; i < COMMANDS; i++)
    text_printf(out, "  %-8s %s\n", command[i]->name, command[i]->summary);
  text_printf(out, "  %-8s %s\n\n", "help",
              "this list, or all about one command");
  tool_wrap(
      out, 0,
      "nputeir help <command> is complete. nputeir help --man [<command>] "
      "prints a manual page, nputeir help --completion bash (or zsh) "
      "what completes these words in a shell.\n");
  tool_wrap(out, 0, tool_statuses);
}

/* For the installation: a manual page, the words that a shell completes. */
static bool print_man(struct tool *t, int argc, char **argv) {
  const struct tool_command *c = argc > 0 ? find_command(argv[0]) : NULL;
  if (argc > 1 || (argc == 1 && !c))
    return tool_usage(t, "--man takes a command or nothing");
  if (c)
    tool_man(c, &t->out);
  else
    tool_man_overview(command, COMMANDS, intro, &t->out);
  return tool_print(t, NULL);
}

static bool print_completion(struct tool *t, int argc, char **argv) {
  bool bash = argc == 1 && strcmp(argv[0], "bash") == 0;
  if (argc != 1 || (!bash && strcmp(argv[0], "zsh") != 0))
    return tool_usage(t, "--completion takes bash or zsh");
  (bash ? tool_complete_bash : tool_complete_zsh)(command, COMMANDS, &t->out);
  return tool_print(t, NULL);
}

/* `nputeir help`, with a command, and with one of its actions. */
static bool help(struct tool *t, int argc, char **argv) {
  const struct tool_command *c = argc > 0 ? find_command(argv[0]) : NULL;
  if (argc > 0 && strcmp(argv[0], "--man") == 0)
    return print_man(t, argc - 1, argv + 1);
  if (argc > 0 && strcmp(argv[0], "--completion") == 0)
    return print_completion(t, argc - 1, argv + 1);
  if (argc == 0) {
    print_overview(&t->out);
    return tool_print(t, NULL);
  }
  if (!c)
    return tool_usage(t, "there is no command '%s'", argv[0]);
  const struct tool_command *action = argc > 1 ? find_action(c, argv[1]) : NULL;
  if (argc > 2 || (argc > 1 && !action))
    return tool_usage(t, "'%s' is one word too many", argv[action ? 2 : 1]);
  tool_help(c, action, &t->out);
  return tool_print(t, NULL);
}

static bool run_word(struct tool *t, int argc, char **argv) {
  const struct tool_command *c = find_command(argv[0]);
  t->name = argv[0];
  if (c)
    return run_command(t, c, argc - 1, argv + 1);
  t->name = "help";
  if (asks(argv[0], "help", NULL) || asks(argv[0], "--help", "-h"))
    return help(t, argc - 1, argv + 1);
  if (asks(argv[0], "--version", NULL)) {
    text_puts(&t->out, "nputeir " NPUTEIR_VERSION "\n");
    return tool_print(t, NULL);
  }
  return tool_usage(t, "there is no command '%s'", argv[0]);
}

static int status_of(const struct tool *t, bool good) {
  return good ? TOOL_DONE : t->misused ? TOOL_USAGE : TOOL_FAILED;
}

static void print_diag(const struct tool *t) {
  bool help = strcmp(t->name, "help") == 0;
  size_t command_length = strcspn(t->name, " ");
  if (t->misused && help)
    fprintf(stderr, "nputeir: %s; see: nputeir help\n", t->diag.text);
  else if (t->misused)
    fprintf(stderr, "nputeir %s: %s; see: nputeir help %.*s\n", t->name,
            t->diag.text, (int)command_length, t->name);
  else
    diag_print(&t->diag, stderr);
}

/* A job is done when what it printed has arrived. */
static int finish_output(int status) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return status;
  fprintf(stderr, "nputeir: cannot write all to standard output\n");
  return status == TOOL_DONE ? TOOL_FAILED : status;
}

/* Where a standard stream is closed, a file that a job opens would take its
 * place; one that can be neither read nor written as it should takes it. */
static void fill_closed_streams(void) {
  static const int useless[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", useless[fd]) != fd)
      return;
}

int tool_main(int argc, char **argv) {
  fill_closed_streams();
  if (argc < 2) {
    struct text out = {0};
    print_overview(&out);
    fputs(text_string(&out), stderr);
    text_free(&out);
    return TOOL_USAGE;
  }
  struct tool t = {.arena = arena_open()};
  bool good = run_word(&t, argc - 1, argv + 1);
  assert(good == (t.diag.kind == DIAG_NONE));
  int status = finish_output(status_of(&t, good));
  if (!good)
    print_diag(&t);
  text_free(&t.out);
  arena_close(t.arena);
  return status;
}
