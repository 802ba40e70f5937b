/* keys.h -- what was measured, as key=value words in lines, or under --json as
 * objects with the same keys. */
#ifndef NPUTEIR_TOOL_KEYS_H
#define NPUTEIR_TOOL_KEYS_H

#include "tool.h"

struct npu_result;

/* A record: words `key=value`, or lines `key: sentence`.  Values with blanks
 * are in double quotes.  Words without a key are the value of "text".  Printed
 * at once: as it is, or as one JSON object in a line. */
void keys_print(struct tool *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Every line of it a record. */
void keys_print_lines(struct tool *, const struct text *);
/* The object of a record. */
void keys_json(const char *record, struct text *);

/* "packed=": tensors that the host would have to lay otherwise, and why. */
void keys_put_packed(const struct npu_result *, struct text *);

/* The row of --json in a command's options. */
bool keys_read_json(struct tool *, void *, const char *);
#define KEYS_JSON_OPTION                                                       \
  {                                                                            \
    "--json", NULL, keys_read_json, 0,                                         \
        .help = "the same keys as JSON, an object per line: numbers as "       \
                "numbers, all other values as strings"                         \
  }

#endif
