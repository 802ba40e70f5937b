/* text_test.c -- the text form of nests: what it prints it parses, and wrong
 * text gets one error that names its line; garbage does not crash it. */
#include "check.h"
#include "recognizer.h"

#include <stdlib.h>
#include <string.h>

/* Each prints as it is written. */
static const char *const canonical[] = {
    "tensor C i8\ntensor D bf16\nnumber alpha f32\nnumber on u8\n"
    "loop i 64\n"
    "  s = alpha - inf - (2 - alpha) * 3 : f32 ordered\n"
    "  t = neg(D[i*2 + 3]) : f32\n"
    "  C[i] = select(and(lt(alpha, D[i]), on), (s : f32), 0.1) : f64\n"
    "  C[i] = select(lt(s, t : f32), 3, C[i]) : i32\n"
    "  C[i] = shr(C[i - 1] + lt(C[i], -5), 2) : i32\n"
    "  D[i + bytes(3)] = not(s : f32) - (rint(1.5) : f32) : i32\n",
    "infinite\ntensor C i32\ntensor A i32\n"
    "loop i 64\n  loop j n\n"
    "    C[i] = select(and([i*-1 + j*w + h >= 0], [3 < 0]), A[i]?, 0) : i32\n"
    "    C[i] = [i - j - 1 < 0] + [j >= 0] : i32\n",
    "tensor C i16\ntensor A i8\n"
    "loop i n\n  loop j 4\n"
    "    C[i*ldc - j*bytes(3) + 1] = A[i*3] * (65535 : u16) : i32\n"
    "  end\n  loop k 4\n    C[k*-1] = 0 : i16\n",
    "tensor C i16\ntensor A f32\n"
    "loop i 64\n"
    "  C[i] = shr((bits(A[i] : f32) : u32), 16) + bits(A[i] : f32) : i32\n",
    "tensor C i32\n"
    "loop i 64\n  loop k e step 4\n    C[i + k] = 0 : i32\n  end\n"
    "  loop l n after k\n    C[i] = 0 : i32\n"
    "  end\n  loop m 0 step 2 after l\n    C[i + m] = 0 : i32\n",
    "tensor C i32\n"
    "loop i 64\n  loop k 4 down\n"
    "    C[i]? = select([k - 3 >= 0 last], 0, C[i]) : i32\n",
    "loop i 64\n",
};

static const char sample[] =
    "tensor C i32\ntensor A i8\ntensor B i8 pitch n2\nmultiple lda 4 n2\n"
    "loop i 64\n  loop j n\n    C[i*32 + j] = 0 : i32\n    loop k 16\n"
    "      C[i*32 + j] = C[i*32 + j] + A[i*lda + k] * B[j + k*32 - rows(2) "
    "+ 3]"
    " : i32\n";

static void check_round_trip(const char *text) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text printed = {0};
  struct nest *n = nest_parse(a, "test", text, &d);
  CHECK(n != NULL);
  if (n)
    nest_print(n, &printed);
  bool same = strcmp(text_string(&printed), text) == 0;
  CHECK(same);
  if (!same)
    fprintf(stderr, "%s%s", text_string(&printed), d.text);
  text_free(&printed);
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
    {"loop i 4\nloop j 4 step 0\n", 2, "a step above zero"},
    {"loop i 4\nloop j 4 after i\n", 2, "a loop that has ended here"},
    {"loop i 4\nloop p 2\nloop j 4 cut by p step 2\n", 3, "is cut, or cuts"},
    {"loop i 4\nC[i] = 0\n", 2, ": type"},
    {"loop i 4\nC[i] = 0 : i33\n", 2, "a data type"},
    {"loop i 4\nC[i] = [i] : i32\n", 2, "'>= 0' or '< 0'"},
    {"loop i 4\nC[i] = [i >= 1] : i32\n", 2, "0]"},
    {"loop i 4\nC[i] = [i + 1 + 1 >= 0] : i32\n", 2, "one start"},
    {"loop i 4\nC[i] = [i - n >= 0] : i32\n", 2, "a smaller number"},
    {"loop i 4\nC[i] = [i - 2 >= 0 last] : i32\n", 2, "a last iteration"},
    {"loop i 4\nC[i] = [3 - i >= 0 last] : i32\n", 2, "a last iteration"},
    {"loop i 4\nC[i = 0 : i32\n", 2, "']'"},
    {"loop i 4\nC[j] = 0 : i32\n", 2, "a loop in every term"},
    {"loop i 4\nC[i + i] = 0 : i32\n", 2, "each loop once"},
    {"loop i 4\nC[i*i] = 0 : i32\n", 2, "one loop per term"},
    {"loop i 4\nC[i*2*n] = 0 : i32\n", 2, "one factor per term"},
    {"loop i 4\nC[i + rows(1)] = 0 : i32\n", 2, "a tensor with a pitch"},
    {"tensor C i8 pitch n\nloop i 4\nC[i*rows(1)] = 0 : i32\n", 3, "']'"},
    {"tensor C i8 pitch 3\n", 1, "a run-time value"},
    {"multiple m 2\n", 1, "a run-time value"},
    {"multiple m n\n", 1, "a number above one"},
    {"multiple m 1 n\n", 1, "a number above one"},
    {"loop i 4\nC[i] + 0 : i32\n", 2, "'=' or '+='"},
    {"loop i 4\nC[i] = (A[i] : i32\n", 2, "')'"},
    {"tensor A i9\n", 1, "data type"},
    {"loop i 4\nC[i] = bits(A[i] : i16) : i32\n", 2, "not as many"},
    {"loop i 4\nnan[i] = 0 : f32\n", 2, "nan is a number"},
    {"number a\n", 1, "a number's name and its data type"},
    {"number a f32\nloop i 4\na = 1 : f32\n", 3, "no number from outside"},
    {"loop i 4\nC[i] = max(1) : i32\n", 2, "another number of operands"},
    {"loop i 4\nC[i] = 1.5 : i32\n", 2, "a number, a name or '('"},
    {"loop i 4\nC[i] = (1 : i33) : i32\n", 2, "a data type"},
    {"loop i 4\nC[i - n] = 0 : i32\n", 2, "a loop in every term"},
    {"loop i 4\nC[i] = 0 : i32 : i8\n", 2, "the end of the line"},
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
  check_round_trip(sample);
  for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++)
    check_round_trip(canonical[i]);
  check_wrong();
  check_garbage();
  return check_result();
}
