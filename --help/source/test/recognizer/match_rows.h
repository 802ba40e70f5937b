/* match_rows.h -- rows of nests as text, and the verdict on each. */
#ifndef MATCH_ROWS_H
#define MATCH_ROWS_H
#include "check.h"
#include "nest_text.h"
#include "recognizer.h"

#include <string.h>

struct match_row {
  /* an einsum, which may have " = " and the tail behind it; a rule's name */
  const char *name, *text, *expect;
};

/* " = " and the tail, as contraction_print has it. */
static void print_tail(const struct contraction *c, struct text *t) {
  struct text all = {0};
  contraction_print(c, &all);
  const char *out = strstr(text_string(&all), "\nout = ");
  size_t length = out ? strcspn(out + 1, "\n") : 0;
  CHECK(out != NULL);
  text_append(t, out ? out + 4 : "", out ? length - 3 : 0);
  text_free(&all);
}

static void check_row(const struct match_row *row) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  o.min_macs = 0; /* they are small */
  struct nest *n = nest_parse(a, row->name, row->text, &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  if (c) {
    contraction_einsum(c, &t);
    if (strchr(row->expect, '='))
      print_tail(c, &t);
  } else
    text_puts(&t, n ? rule_name(v.rule) : d.text);
  if (strcmp(text_string(&t), row->expect) != 0)
    fprintf(stderr, "%s: %s, not %s: %s\n", row->name, text_string(&t),
            row->expect, v.diag.text);
  CHECK(strcmp(text_string(&t), row->expect) == 0);
  CHECK((c != NULL) == (v.diag.kind == DIAG_NONE));
  text_free(&t);
  arena_close(a);
}

/* Checks each: what is printed of its contraction, or the rule that it breaks,
 * is what it expects. */
static void check_rows(const struct match_row *row, int count) {
  for (int i = 0; i < count; i++)
    check_row(&row[i]);
}

#endif
