/* findings.c -- reads a report of the plugin, and says what its keys mean. */
#include "findings.h"
#include "json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum kind { STRING, NUMBER, FLAG };

static const struct key {
  const char *name;
  enum kind kind;
  bool always;
  const char *meaning;
  size_t field;
} key[] = {
#define KEY(name, kind, always, meaning)                                       \
  {#name, kind, always, meaning, offsetof(struct finding, name)},
#include "findings.def"
#undef KEY
};
enum { KEYS = sizeof key / sizeof *key };

/* ---- reading ---- */

static bool read_key(const struct key *k, const struct json *v,
                     struct finding *f, struct diag *d) {
  void *field = (char *)f + k->field;
  static const char *const name[] = {"a string", "a number", "true or false"};
  bool good = k->kind == STRING ? v->kind == JSON_STRING
              : k->kind == NUMBER
                  ? v->kind == JSON_NUMBER
                  : v->kind == JSON_TRUE || v->kind == JSON_FALSE;
  if (!good)
    return diag_error(d, v->at, "%s is not %s", k->name, name[k->kind]);
  switch (k->kind) {
  case STRING:
    *(const char **)field = v->text;
    break;
  case NUMBER:
    *(int *)field = atoi(v->text);
    break;
  case FLAG:
    *(bool *)field = v->kind == JSON_TRUE;
    break;
  }
  return true;
}

static bool read_object(const struct json *object, struct finding *f,
                        struct diag *d) {
  for (int i = 0; i < KEYS; i++) {
    const struct json *v = json_member(object, key[i].name);
    if (v && !read_key(&key[i], v, f, d))
      return false;
    if (!v && key[i].always)
      return diag_error(d, object->at, "a nest without %s", key[i].name);
  }
  return true;
}

static bool add_line(struct arena *a, const char *path, int number,
                     const char *text, struct findings *to, struct diag *d) {
  struct diag unplaced = {0};
  struct finding *f = &to->item[to->count];
  struct json *object = json_parse(a, path, text, &unplaced);
  if (object && object->kind == JSON_OBJECT && json_member(object, "module"))
    return true; /* the counts at the end of a compilation */
  if (!object || object->kind != JSON_OBJECT ||
      !read_object(object, f, &unplaced))
    return diag_error(d, (struct loc){path, number, 0}, "no report: %s",
                      object ? "an object is missing" : unplaced.text);
  f->text = text;
  to->taken += f->taken;
  to->count++;
  return true;
}

bool findings_read(struct arena *a, const char *path, struct findings *to,
                   struct diag *d) {
  size_t length;
  char *text = file_read(a, path, &length, d);
  int lines = 1, number = 0;
  if (!text)
    return false;
  for (const char *p = text; (p = strchr(p, '\n')); p++)
    lines++;
  *to = (struct findings){
      .item = arena_array(a, (size_t)lines, sizeof(struct finding))};
  for (char *p = text, *next; *p; p = next) {
    size_t line = strcspn(p, "\n");
    next = p + line + (p[line] == '\n');
    p[line] = 0;
    number++;
    if (*p && !add_line(a, path, number, p, to, d))
      return false;
  }
  assert(to->count <= number);
  return true;
}

/* ---- what the keys mean ---- */

void findings_list_keys(struct text *t) {
  for (int i = 0; i < KEYS; i++)
    text_printf(t, "%s%s (%s)", i ? "; " : "", key[i].name, key[i].meaning);
}

void findings_schema(struct text *t) {
  static const char *const type[] = {"string", "integer", "boolean"};
  text_puts(t, "{\n  \"$schema\": "
               "\"https://json-schema.org/draft/2020-12/schema\",\n"
               "  \"title\": \"a line of nputeir nest --json\",\n"
               "  \"type\": \"object\",\n  \"required\": [");
  for (int i = 0, n = 0; i < KEYS; i++)
    if (key[i].always)
      text_printf(t, "%s\"%s\"", n++ ? ", " : "", key[i].name);
  text_puts(t, "],\n  \"properties\": {\n");
  for (int i = 0; i < KEYS; i++) {
    text_printf(t,
                "    \"%s\": {\"type\": \"%s\", \"description\": ", key[i].name,
                type[key[i].kind]);
    json_print_string(key[i].meaning, t);
    text_puts(t, i + 1 < KEYS ? "},\n" : "}\n");
  }
  text_puts(t, "  }\n}\n");
}
