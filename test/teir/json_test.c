/* json_test.c -- programs survive the way to JSON and back; damaged JSON gives
 * a message, and never harm. */
#include "check.h"
#include "teir_json.h"

#include <string.h>

static const char *const example[] = {
    "permutation_scalar", "permutation_tiled", "batched_gemm",
    "contraction_brgemm", "guarded_reduction", "address_offset",
    "branches",           "../matmul",         "tail",
};

static char *load(struct arena *a, const char *name) {
  struct diag d = {0};
  char *text =
      file_read(a, arena_printf(a, "%s/%s.teir", TEST_DIR, name), NULL, &d);
  CHECK(text);
  return text;
}

static void check_round_trip(const char *name) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, name, load(a, name), &d);
  struct text json = {0}, before = {0}, after = {0};
  CHECK(t);
  teir_print(t, &before);
  teir_json_print(t, &json);
  struct teir *again = teir_json_parse(a, "x.json", text_string(&json), &d);
  CHECK(again);
  if (again)
    teir_print(again, &after);
  else
    diag_print(&d, stderr);
  CHECK(strcmp(text_string(&before), text_string(&after)) == 0);
  text_free(&json);
  text_free(&before);
  text_free(&after);
  arena_close(a);
}

static const char *const wrong[][2] = {
    {"", "'[' or '{' expected"},
    {"{\"teir\": 1", "'}' expected"},
    {"{}", "the number 'teir' is missing"},
    {"{\"teir\": 1}", "the list 'tensors' is missing"},
    {"{\"teir\": 1, \"tensors\": [{\"id\": \"a\\nroots\", \"type\": \"f32\"}]}",
     "is no identifier"},
    {"{\"teir\": 1, \"tensors\": [7]}", "the name 'id' is missing"},
    {"{\"teir\": 1, \"tensors\": [], \"axes\": [{\"id\": \"x\", \"extent\": "
     "0}],"
     " \"primitives\": [], \"nodes\": [], \"roots\": []}",
     "axis x has extent 0"},
};

/* Every byte of a program's JSON replaced once. */
static void check_damaged(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "x", load(a, "guarded_reduction"), &d);
  struct text json = {0};
  teir_json_print(t, &json);
  for (size_t i = 0; i < json.length; i++) {
    char keep = json.data[i];
    json.data[i] = "{}[]\",:0x\n\x80"[i % 11];
    struct arena *b = arena_open();
    struct diag e = {0};
    struct teir *x = teir_json_parse(b, "x.json", json.data, &e);
    CHECK((x != NULL) == (e.kind == DIAG_NONE));
    arena_close(b);
    json.data[i] = keep;
  }
  text_free(&json);
  arena_close(a);
}

int main(void) {
  for (size_t i = 0; i < sizeof example / sizeof *example; i++)
    check_round_trip(example[i]);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    CHECK(!teir_json_parse(a, "x.json", wrong[i][0], &d));
    CHECK(strstr(d.text, wrong[i][1]));
    if (!strstr(d.text, wrong[i][1]))
      fprintf(stderr, "row %zu: %s\n", i, d.text);
    arena_close(a);
  }
  check_damaged();
  return check_result();
}
