/* diag.c -- fills and prints the one diagnostic. */
#include "base.h"

static void fill(struct diag *d, enum diag_kind kind, struct loc at,
                 const char *format, va_list args) {
  if (!d || d->kind != DIAG_NONE)
    return;
  d->kind = kind;
  d->at = at;
  vsnprintf(d->text, sizeof d->text, format, args);
}

bool diag_error(struct diag *d, struct loc at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill(d, DIAG_ERROR, at, format, args);
  va_end(args);
  return false;
}

bool diag_declined(struct diag *d, struct loc at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill(d, DIAG_DECLINED, at, format, args);
  va_end(args);
  return false;
}

void diag_print(const struct diag *d, FILE *to) {
  if (d->at.file)
    fprintf(to, "%s:", d->at.file);
  if (d->at.line > 0)
    fprintf(to, "%d:", d->at.line);
  if (d->at.line > 0 && d->at.col > 0)
    fprintf(to, "%d:", d->at.col);
  if (d->at.file || d->at.line > 0)
    fputc(' ', to);
  fprintf(to, "%s: %s\n", d->kind == DIAG_DECLINED ? "declined" : "error",
          d->text);
}

struct loc loc_none(void) {
  return (struct loc){NULL, 0, 0};
}
