/* text_test.c -- the text form of nests: what it prints it parses, and wrong
 * text gets one error that names its line; garbage does not crash it. */
#include "check.h"
#include "recognizer.h"

#include <stdlib.h>
#include <string.h>

static const char sample[] =
    "tensor C i32\ntensor A i8\ntensor B i8\n"
    "loop i 64\n  loop j n\n    C[i*32 + j] = 0 : i32\n    loop k 16\n"
    "      C[i*32 + j] = (C[i*32 + j] + (A[i*lda + k] * B[j + k*32]))"
    " : i32\n";

static void check_round_trip(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text first = {0}, second = {0};
  struct nest *n = nest_parse(a, "test", sample, &d);
  CHECK(n != NULL);
  nest_print(n, &first);
  if (strcmp(text_string(&first), sample) != 0)
    fputs(text_string(&first), stderr);
  CHECK(strcmp(text_string(&first), sample) == 0);
  struct nest *again = nest_parse(a, "test", text_string(&first), &d);
  CHECK(again != NULL);
  nest_print(again, &second);
  CHECK(strcmp(text_string(&first), text_string(&second)) == 0);
  text_free(&first);
  text_free(&second);
  arena_close(a);
}

static const struct {
  const char *text;
  int line;
  const char *says;
} wrong[] = {
    {"", 1, "1 to 64 loops"},
    {"loop i\n", 1, "a number or the name"},
    {"loop i 4\nloop i 4\n", 2, "another name"},
    {"end\n", 1, "a loop to end"},
    {"loop i 4\nend\nloop j 4\n", 3, "one outermost loop"},
    {"loop i 4\nC[i] = 0\n", 2, ": type"},
    {"loop i 4\nC[i] = 0 : i33\n", 2, "a data type"},
    {"loop i 4\nC[i = 0 : i32\n", 2, "']'"},
    {"loop i 4\nC[j] = 0 : i32\n", 2, "a loop in every term"},
    {"loop i 4\nC[i + i] = 0 : i32\n", 2, "each loop once"},
    {"loop i 4\nC[i*i] = 0 : i32\n", 2, "one loop per term"},
    {"loop i 4\nC[i*2*n] = 0 : i32\n", 2, "one factor per term"},
    {"loop i 4\nC[i] + 0 : i32\n", 2, "'=' or '+='"},
    {"loop i 4\nC[i] = (A[i] : i32\n", 2, "')'"},
    {"tensor A i9\n", 1, "data type"},
    {"loop i 4\nC[i*9223372036854775807] = 0 : i32\n", 2, "a smaller factor"},
};

static void check_wrong(void) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    bool good = nest_parse(a, "test", wrong[i].text, &d) == NULL &&
                d.kind == DIAG_ERROR && d.at.line == wrong[i].line &&
                strstr(d.text, wrong[i].says);
    if (!good)
      fprintf(stderr, "row %zu: line %d: %s\n", i, d.at.line, d.text);
    CHECK(good);
    arena_close(a);
  }
}

/* Mutated text is parsed, printed and judged, or refused. */
static void check_garbage(void) {
  static const char letter[] = "ijkCAB*+-[]():=0123456789 \n#\x80";
  srand(1);
  for (int round = 0; round < 3000; round++) {
    char text[sizeof sample];
    memcpy(text, sample, sizeof sample);
    for (int i = 0; i < 1 + round % 5; i++)
      text[rand() % (int)(sizeof text - 1)] =
          letter[rand() % (int)(sizeof letter - 1)];
    struct arena *a = arena_open();
    struct diag d = {0};
    struct verdict v = {0};
    struct options o = options_default();
    struct text out = {0};
    struct nest *n = nest_parse(a, "test", text, &d);
    CHECK((n == NULL) == (d.kind == DIAG_ERROR));
    if (n) {
      nest_print(n, &out);
      struct contraction *c = recognize(a, n, &o, &v);
      CHECK((c == NULL) == (v.diag.kind == DIAG_DECLINED));
      if (c)
        contraction_print(c, &out);
    }
    text_free(&out);
    arena_close(a);
  }
}

int main(void) {
  check_round_trip();
  check_wrong();
  check_garbage();
  return check_result();
}
