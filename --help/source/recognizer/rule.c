/* rule.c -- names of reasons, and the verdict that carries one. */
#include "recognizer.h"

#include <assert.h>

static const struct {
  const char *name, *meaning, *advice;
} row[] = {
#define RULE(id, name, meaning, advice) {name, meaning, advice},
#include "rule.def"
#undef RULE
};

const char *rule_name(enum rule r) {
  assert(r < RULE_COUNT);
  return row[r].name;
}

const char *rule_meaning(enum rule r) {
  assert(r < RULE_COUNT);
  return row[r].meaning;
}

const char *rule_advice(enum rule r) {
  assert(r < RULE_COUNT);
  return row[r].advice;
}

bool verdict_decline(struct verdict *v, enum rule rule, struct loc at,
                     const char *format, ...) {
  assert(rule > RULE_TAKEN && rule < RULE_COUNT);
  if (v->diag.kind != DIAG_NONE)
    return false;
  char text[sizeof v->diag.text];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  v->rule = rule;
  return diag_declined(&v->diag, at, "%s", text);
}
