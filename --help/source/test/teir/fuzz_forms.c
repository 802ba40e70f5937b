/* fuzz_forms.c -- any bytes as JSON, or as an einsum with its sizes: a message,
 * or a well-formed program that prints as JSON and comes back the same. */
#include "teir_einsum.h"
#include "teir_json.h"

#include <stdlib.h>
#include <string.h>

static void require(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void check(struct arena *a, const struct teir *t, const struct diag *d) {
  require((t != NULL) == (d->kind == DIAG_NONE), "a program with a message");
  if (!t)
    return;
  struct diag e = {0};
  struct text one = {0}, two = {0};
  require(teir_verify(t, &e), e.text);
  teir_json_print(t, &one);
  struct teir *again = teir_json_parse(a, "again", text_string(&one), &e);
  require(again, e.text);
  teir_json_print(again, &two);
  require(strcmp(text_string(&one), text_string(&two)) == 0,
          "the text changed on its way back");
  text_free(&one);
  text_free(&two);
}

/* The first line is the expression, the second the sizes. */
static void try_einsum(struct arena *a, char *text) {
  struct teir_einsum e = {
      .expression = text, .in = DTYPE_BF16, .out = DTYPE_F32};
  struct diag d = {0};
  char *sizes = strchr(text, '\n');
  if (sizes)
    *sizes++ = 0;
  if (teir_einsum_sizes(&e, sizes ? sizes : "", &d))
    check(a, teir_from_einsum(a, &e, &d), &d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena *a = arena_open();
  char *text = arena_substring(a, (const char *)data, size);
  if (strchr(text, '{')) {
    struct diag d = {0};
    const struct teir *t = teir_json_parse(a, "fuzz", text, &d);
    check(a, t, &d);
  } else {
    try_einsum(a, text);
  }
  arena_close(a);
  return 0;
}
