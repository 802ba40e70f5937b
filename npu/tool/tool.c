/* tool.c -- main of `nputeir`: finds the sub-command, prints help, and holds
 * what sub-commands share. */
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct tool_command *const command[] = {
#define COMMAND(name) &tool_##name,
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof command / sizeof *command };

static const struct tool_command *find(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(command[i]->name, name) == 0)
      return command[i];
  return NULL;
}

static void print_overview(FILE *to) {
  fprintf(to, "usage: nputeir <command> [arguments]\n\n"
              "An unmodified C program on an AMD XDNA NPU: every stage of the "
              "road from\na loop nest to the bytes that a device runs.\n\n");
  for (int i = 0; i < COMMANDS; i++)
    fprintf(to, "  %-8s %s\n", command[i]->name, command[i]->summary);
  fprintf(to, "  %-8s %s\n\n", "help", "this list, or all about one command");
  fprintf(to, "nputeir help <command> is complete.  Exit status: 0 done, 1 the "
              "job failed,\n2 the words of the call are wrong.\n");
}

static int help(int argc, char **argv) {
  if (argc == 1) {
    print_overview(stdout);
    return TOOL_DONE;
  }
  if (argc > 2)
    return tool_usage("help", "takes one command, not %d", argc - 1);
  const struct tool_command *c = find(argv[1]);
  if (!c)
    return tool_usage("help", "there is no command '%s'", argv[1]);
  fputs(c->help, stdout);
  return TOOL_DONE;
}

int tool_usage(const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "nputeir %s: ", name);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "; see: nputeir help%s%s\n",
          strcmp(name, "help") == 0 ? "" : " ",
          strcmp(name, "help") == 0 ? "" : name);
  return TOOL_USAGE;
}

int tool_fail(const struct diag *d) {
  diag_print(d, stderr);
  return TOOL_FAILED;
}

bool tool_output(const char *path, const struct text *t, struct diag *d) {
  if (path && strcmp(path, "-") != 0)
    return file_write(path, text_string(t), t->length, d);
  if (fwrite(text_string(t), 1, t->length, stdout) != t->length ||
      fflush(stdout) != 0)
    return diag_error(d, loc_none(), "cannot write to standard output: %s",
                      strerror(errno));
  return true;
}

char *tool_input(struct arena *a, const char *path, size_t *length,
                 struct diag *d) {
  return file_read(a, strcmp(path, "-") == 0 ? "/dev/stdin" : path, length, d);
}

bool tool_number(const char *name, const char *option, const char *word,
                 int64_t low, int64_t high, int64_t *value) {
  char *end;
  errno = 0;
  long long v = strtoll(word, &end, 0);
  if (errno || end == word || *end || v < low || v > high) {
    tool_usage(name, "%s takes a whole number from %lld to %lld, not '%s'",
               option, (long long)low, (long long)high, word);
    return false;
  }
  *value = v;
  return true;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    print_overview(stderr);
    return TOOL_USAGE;
  }
  if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
      strcmp(argv[1], "-h") == 0)
    return help(argc - 1, argv + 1);
  const struct tool_command *c = find(argv[1]);
  if (!c) {
    fprintf(stderr, "nputeir: there is no command '%s'; see: nputeir help\n",
            argv[1]);
    return TOOL_USAGE;
  }
  if (argc == 3 && strcmp(argv[2], "--help") == 0) {
    fputs(c->help, stdout);
    return TOOL_DONE;
  }
  return c->run(argc - 1, argv + 1);
}
