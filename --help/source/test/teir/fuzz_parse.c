/* fuzz_parse.c -- any bytes as a program: a message or a program that prints
 * what parses back, and that every question may be asked of.
 *
 * LLVMFuzzerTestOneInput is libFuzzer's entry; mutate_test.c calls it with
 * mutated examples. */
#include "fuzz_parse.h"
#include "teir_dump.h"
#include "teir_lower.h"
#include "teir_tec.h"
#include "teir_transform.h"
#include "teir_warn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 16 };

static void require(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void check_printing(struct arena *a, const struct teir *t) {
  struct text one = {0}, two = {0};
  struct diag d = {0};
  teir_print(t, &one);
  struct teir *again = teir_parse(a, "again", text_string(&one), &d);
  require(again, d.text);
  teir_print(again, &two);
  require(strcmp(text_string(&one), text_string(&two)) == 0,
          "the text changed on its way back");
  text_free(&one);
  text_free(&two);
}

/* Questions about a program, all its symbols bound. */
static void ask(struct arena *a, const struct teir *t) {
  struct text to = {0};
  struct diag d = {0};
  teir_print_tree(t, &to);
  teir_print_dot(t, &to);
  for (int i = 0; i < t->primitive_count; i++) {
    struct teir_call call;
    struct diag e = {0};
    if (teir_lower(t, i, &call, &e))
      teir_call_print(t, i, &call, &to);
  }
  int64_t low, high;
  for (int i = 0; i < t->tensor_count; i++)
    (void)teir_footprint(t, i, &low, &high, &d);
  struct tec c;
  if (teir_to_tec(t, &c, &d))
    (void)tec_restrictions(&c, &to);
  if (t->node_count < 32)
    teir_warn(t, &to);
  for (int i = 0; i < t->node_count && i < 8; i++) {
    struct diag e = {0};
    (void)teir_interchange(a, t, i, &e);
    e = (struct diag){0};
    (void)teir_consume(a, t, i, TEIR_ROLES, &e);
    e = (struct diag){0};
    (void)teir_fuse(a, t, i, &e);
  }
  text_free(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena *a = arena_open();
  char *text = arena_substring(a, (const char *)data, size);
  struct diag d = {0};
  struct tec c;
  struct teir *t = teir_parse(a, "fuzz", text, &d);
  require((t != NULL) == (d.kind == DIAG_NONE), "a program with a message");
  if (t) {
    check_printing(a, t);
    int64_t value[SYMBOLS];
    for (int i = 0; i < SYMBOLS; i++)
      value[i] = 4 + i;
    if (t->symbol_count <= SYMBOLS)
      t = teir_bind(a, t, value, t->symbol_count, &d);
    if (t)
      ask(a, t);
  }
  d = (struct diag){0};
  if (tec_parse(a, "fuzz", text, &c, &d))
    (void)teir_from_tec(a, &c, &d);
  arena_close(a);
  return 0;
}
