/* fuzz.c -- any bytes as a nest, and as options: a message, or something that
 * prints what parses back; and a verdict on the nest. */
#include "recognizer.h"

#include <stdlib.h>
#include <string.h>

static void require(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void same(const struct text *one, const struct text *two) {
  require(strcmp(text_string(one), text_string(two)) == 0,
          "the text changed on its way back");
}

static void judge(struct arena *a, const struct nest *n) {
  struct options o = options_default();
  for (int relaxed = 0; relaxed < 2; relaxed++) {
    struct verdict v = {0};
    o.fp = relaxed ? FP_RELAXED : FP_STRICT;
    o.f32 = relaxed ? F32_BF16X3 : F32_KEEP;
    struct contraction *c = recognize(a, n, &o, &v);
    require((c != NULL) == (v.rule == RULE_TAKEN), "a verdict of its own mind");
    struct text t = {0};
    if (c) {
      contraction_print(c, &t);
      contraction_einsum(c, &t);
      contraction_sizes(c, &t);
    }
    text_free(&t);
  }
}

static void try_nest(struct arena *a, const char *text) {
  struct diag d = {0}, e = {0};
  struct nest *n = nest_parse(a, "fuzz", text, &d);
  require((n != NULL) == (d.kind == DIAG_NONE), "a nest with a message");
  if (!n)
    return;
  struct text one = {0}, two = {0};
  nest_print(n, &one);
  struct nest *again = nest_parse(a, "again", text_string(&one), &e);
  require(again, e.text);
  nest_print(again, &two);
  same(&one, &two);
  text_free(&one);
  text_free(&two);
  judge(a, n);
}

static void try_options(struct arena *a, const char *text) {
  struct options o = options_default(), again = o;
  struct diag d = {0}, e = {0};
  if (!options_parse(&o, a, "fuzz", text, &d))
    return;
  struct text one = {0}, two = {0};
  options_print(&o, &one);
  require(options_parse(&again, a, "again", text_string(&one), &e), e.text);
  options_print(&again, &two);
  same(&one, &two);
  text_free(&one);
  text_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena *a = arena_open();
  char *text = arena_substring(a, (const char *)data, size);
  try_nest(a, text);
  try_options(a, text);
  arena_close(a);
  return 0;
}
