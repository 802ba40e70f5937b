/* json.h -- JSON as a tree that knows its lines, so that messages about it name
 * a place.
 *
 * Numbers are kept as they are written.  Strings are UTF-8 without NUL; the
 * keys of an object are unique.
 */
#ifndef NPUTEIR_JSON_H
#define NPUTEIR_JSON_H

#include "base.h"

enum json_kind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_LIST,
  JSON_OBJECT
};

struct json {
  enum json_kind kind;
  struct loc at;
  const char *text;  /* of a number or string */
  const char *key;   /* of a member of an object */
  struct json *item; /* of a list or object: the first of them */
  struct json *next; /* in the list or object that this is part of */
  int count;         /* of a list or object */
};

struct json *json_parse(struct arena *, const char *file, const char *text,
                        struct diag *);
const struct json *json_member(const struct json *, const char *key);
/* The string in quotes. */
void json_print_string(const char *, struct text *);

#endif
