/* common.c -- what all sub-commands share: how a call is found wrong, where its
 * input comes from and its output goes, and the memory of its parts. */
#define NPUTEIR_TOOL_DRIVER
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

bool tool_usage(struct tool *t, const char *format, ...) {
  char message[sizeof t->diag.text];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  t->misused |= t->diag.kind == DIAG_NONE;
  return diag_error(&t->diag, loc_none(), "%s", message);
}

char *tool_input(struct tool *t, const char *path, size_t *length) {
  return file_read(t->arena, strcmp(path, "-") == 0 ? "/dev/stdin" : path,
                   length, &t->diag);
}

bool tool_output(struct tool *t, const char *path, const struct text *text) {
  if (path && strcmp(path, "-") != 0)
    return file_write(path, text_string(text), text->length, &t->diag);
  if (fwrite(text_string(text), 1, text->length, stdout) == text->length &&
      fflush(stdout) == 0)
    return true;
  diag_error(&t->diag, loc_none(), "cannot write to standard output: %s",
             strerror(errno));
  clearerr(stdout); /* said here, not again at the end */
  return false;
}

bool tool_print(struct tool *t, const char *path) {
  return tool_output(t, path, &t->out);
}

/* The diagnostic may name a file by a string in the part's memory. */
bool tool_nested(struct tool *t, bool (*part)(struct tool *, void *),
                 void *context) {
  struct arena *outer = t->arena;
  t->arena = arena_open();
  bool good = part(t, context);
  assert(good || t->diag.kind != DIAG_NONE);
  if (t->diag.at.file)
    t->diag.at.file = arena_string(outer, t->diag.at.file);
  arena_close(t->arena);
  t->arena = outer;
  return good;
}

void *tool_new_job(struct tool *t, const struct tool_command *c) {
  return c->job ? arena_copy(t->arena, c->job, 1, 1, c->job_bytes)
                : arena_array(t->arena, 1, c->job_bytes);
}

bool tool_run_action(struct tool *t, const struct tool_command *action) {
  return action->run(t, tool_new_job(t, action));
}
