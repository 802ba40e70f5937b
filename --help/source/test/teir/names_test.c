/* names_test.c -- random programs with any names keep their meaning on the way
 * to text or JSON and back, and damaged ones give a message or a program. */
#include "check.h"
#include "random_program.h"
#include "teir_json.h"

#include <stdlib.h>
#include <string.h>

static const struct form {
  void (*print)(const struct teir *, struct text *);
  struct teir *(*parse)(struct arena *, const char *, const char *,
                        struct diag *);
} form[] = {{teir_print, teir_parse}, {teir_json_print, teir_json_parse}};

static void check_form(const struct form *f, const struct teir *t,
                       struct arena *a, int seed) {
  struct text one = {0}, two = {0};
  struct diag d = {0};
  f->print(t, &one);
  const struct teir *again = f->parse(a, "again", text_string(&one), &d);
  const char *difference = again ? program_difference(t, again) : d.text;
  CHECK(!difference);
  if (again)
    f->print(again, &two);
  CHECK(strcmp(text_string(&one), text_string(&two)) == 0);
  if (difference)
    fprintf(stderr, "program %d: %s\n%s", seed, difference, text_string(&one));
  text_free(&one);
  text_free(&two);
}

/* A byte changed, dropped or doubled, several times. */
static void check_damaged(const struct form *f, const struct teir *t,
                          struct arena *a, uint64_t seed) {
  struct text text = {0};
  struct diag d = {0};
  f->print(t, &text);
  for (int i = 0; i < 3; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    char *at = text.data + (seed >> 33) % text.length;
    if (seed >> 62 == 0)
      memmove(at, at + 1, strlen(at));
    else
      *at = (char)(seed >> 62 == 1 ? (int)(seed >> 20 & 0xff)
                                   : "\"\\{}[],:=#-0a\n "[seed >> 20 & 15]);
  }
  const struct teir *u = f->parse(a, "damaged", text.data, &d);
  CHECK((u != NULL) == (d.kind == DIAG_NONE));
  if (u)
    check_form(f, u, a, -1);
  text_free(&text);
}

/* "offset" is a tensor where an = follows, else it ends the strides. */
static void check_offset(void) {
  static const char text[] =
      "teir 1\ntensor in0 f32\ntensor offset f32\ntensor offset1 f32\n"
      "axis a extent 2 stride offset=4 offset1=8 in0=4 offset offset=16\n"
      "primitive c Copy M=[] N=[] from in0 to offset\n"
      "roots a\niterate a over a sequential do x\ninvoke x calls c\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "t", text, &d);
  CHECK(t && t->axis[0].stride_bytes[1].constant == 4 &&
        t->axis[0].stride_bytes[2].constant == 8 &&
        t->axis[0].offset_bytes[1].constant == 16);
  arena_close(a);
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 500;
  check_offset();
  for (int i = 0; i < count; i++) {
    struct arena *a = arena_open();
    struct teir *t = random_program(a, (uint64_t)i);
    struct diag d = {0};
    CHECK(teir_verify(t, &d));
    if (d.kind)
      fprintf(stderr, "program %d: %s\n", i, d.text);
    for (size_t j = 0; j < sizeof form / sizeof *form; j++) {
      check_form(&form[j], t, a, i);
      check_damaged(&form[j], t, a, (uint64_t)i + j);
    }
    arena_close(a);
  }
  return check_result();
}
