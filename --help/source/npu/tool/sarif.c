/* sarif.c -- one run with a result per nest.
 *
 * Every verdict is a rule of the driver; a result refers to it by its index.  A
 * nest that was taken is a result of kind pass, which has level none; one that
 * was declined is a note, with the place of the reason as a related location.
 * Columns are left out: SARIF counts characters, compilers bytes. */
#include "sarif.h"
#include "json.h"
#include "recognizer.h"

#include <ctype.h>
#include <string.h>

#ifndef NPUTEIR_VERSION
#define NPUTEIR_VERSION "unknown"
#endif

static void put(struct text *t, const char *key, const char *string) {
  text_printf(t, "\"%s\": ", key);
  json_print_string(string, t);
}

/* A path as a URI reference (RFC 3986): absolute ones with their scheme. */
static void put_uri(struct text *t, const char *path) {
  struct text uri = {0};
  if (*path == '/')
    text_puts(&uri, "file://");
  else if (strchr(path, ':')) /* would read as a scheme */
    text_puts(&uri, "./");
  for (const char *p = path; *p; p++)
    if (isalnum((unsigned char)*p) || strchr("/-._~+:@", *p))
      text_append(&uri, p, 1);
    else
      text_printf(&uri, "%%%02X", (unsigned char)*p);
  put(t, "uri", text_string(&uri));
  text_free(&uri);
}

/* A location, which is left open. */
static void put_place(struct text *t, const char *file, int line,
                      int end_line) {
  text_puts(t, "{\"physicalLocation\": {\"artifactLocation\": {");
  put_uri(t, file);
  text_puts(t, "}");
  if (line)
    text_printf(t, ", \"region\": {\"startLine\": %d", line);
  if (line && end_line >= line)
    text_printf(t, ", \"endLine\": %d", end_line);
  text_puts(t, line ? "}}" : "}");
}

static int rule_index(const char *name) {
  for (int i = 0; i < RULE_COUNT; i++)
    if (strcmp(rule_name((enum rule)i), name) == 0)
      return i;
  return -1; /* of another version of the plugin */
}

static void put_message(struct text *t, const struct finding *f) {
  struct text m = {0};
  const char *what = f->what ? f->what : "nest";
  if (f->taken)
    text_printf(&m, "%s replaced by %s: %s with %s", what,
                f->by ? f->by : "a call", f->einsum, f->sizes);
  else
    text_printf(&m, "%s kept: %s%s%s", what, f->reason, f->advice ? "; " : "",
                f->advice ? f->advice : "");
  text_puts(t, "\"message\": {");
  put(t, "text", text_string(&m));
  text_puts(t, "}");
  text_free(&m);
}

static void put_result(struct text *t, const struct finding *f) {
  int rule = rule_index(f->rule);
  text_puts(t, "      {");
  put(t, "ruleId", f->rule);
  if (rule >= 0)
    text_printf(t, ", \"ruleIndex\": %d", rule);
  text_printf(t, ", \"kind\": \"%s\", \"level\": \"%s\",\n       ",
              f->taken ? "pass" : "fail", f->taken ? "none" : "note");
  put_message(t, f);
  text_puts(t, ",\n       \"locations\": [");
  put_place(t, f->file, f->line, f->end_line);
  text_puts(t, ", \"logicalLocations\": [{");
  put(t, "name", f->function);
  text_puts(t, ", \"kind\": \"function\"}]}]");
  if (f->reason_line) {
    text_puts(t, ",\n       \"relatedLocations\": [");
    put_place(t, f->reason_file ? f->reason_file : f->file, f->reason_line, 0);
    text_puts(t, ", \"message\": {\"text\": \"the reason\"}}]");
  }
  text_puts(t, "}");
}

static void put_rule(struct text *t, enum rule r) {
  const char *advice = rule_advice(r);
  text_puts(t, "        {");
  put(t, "id", rule_name(r));
  text_puts(t, ", \"shortDescription\": {");
  put(t, "text", rule_meaning(r));
  text_puts(t, "}");
  if (advice) {
    text_puts(t, ", \"help\": {");
    put(t, "text", advice);
    text_puts(t, "}");
  }
  text_puts(t, "}");
}

void sarif_print(const struct findings *all, bool compiled, struct text *t) {
  text_puts(t, "{\n  \"$schema\": "
               "\"https://json.schemastore.org/sarif-2.1.0.json\",\n"
               "  \"version\": \"2.1.0\",\n  \"runs\": [{\n"
               "    \"tool\": {\"driver\": {\"name\": \"nputeir\", "
               "\"version\": \"" NPUTEIR_VERSION "\",\n"
               "      \"rules\": [\n");
  for (int r = 0; r < RULE_COUNT; r++) {
    put_rule(t, (enum rule)r);
    text_puts(t, r + 1 < RULE_COUNT ? ",\n" : "\n");
  }
  text_printf(t,
              "      ]}},\n    \"invocations\": "
              "[{\"executionSuccessful\": %s}],\n    \"results\": [\n",
              compiled ? "true" : "false");
  for (int i = 0; i < all->count; i++) {
    put_result(t, &all->item[i]);
    text_puts(t, i + 1 < all->count ? ",\n" : "\n");
  }
  text_puts(t, "    ]\n  }]\n}\n");
}
