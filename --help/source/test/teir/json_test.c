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

/* A program with one tensor, one axis, one primitive; what follows. */
#define HEAD                                                                   \
  "{\"teir\": 1,\n\"tensors\": [{\"id\": \"out\", \"type\": \"i32\"}],\n"      \
  "\"axes\": [{\"id\": \"k\", \"extent\": 4, \"strides\": {\"out\": 4}}],\n"   \
  "\"primitives\": [{\"id\": \"c\", \"operation\": \"Zero\", \"axes\": "       \
  "{\"M\": [], \"N\": []}}],\n"
#define TAIL                                                                   \
  "\"roots\": [\"k\"], \"nodes\": [{\"id\": \"k\", \"axis\": \"k\", "          \
  "\"policy\": \"sequential\", \"children\": [\"x\"]}, {\"id\": \"x\", "       \
  "\"primitive\": \"c\"}]}"
#define AXES(axis)                                                             \
  "{\"teir\": 1,\n\"tensors\": [{\"id\": \"in0\", \"type\": \"i32\"}, "        \
  "{\"id\": \"out\", \"type\": \"i32\"}],\n\"axes\": [" axis "],\n"            \
  "\"primitives\": [], \"roots\": [], \"nodes\": []}"

/* The message, and the line that it names. */
static const struct {
  const char *text;
  int line;
  const char *message;
} wrong[] = {
    {"", 1, "expected a value, found the end of the text"},
    {"{\"teir\": 1", 1, "expected ',' or '}', found the end"},
    {"{}", 1, "the key 'teir' is missing"},
    {"[]", 1, "this value is a list, not an object"},
    {"{\"teir\": 2}", 1, "version 2; this is 1"},
    {"{\"teir\": 1}", 1, "the key 'tensors' is missing"},
    {"{\"teir\": 1,\n\"teir\": 1}", 2, "'teir' stands in the object twice"},
    {"{\"teir\": 1} x", 1, "nothing behind the value"},
    {"{\"teir\": 01}", 1, "expected ',' or '}', found '1'"},
    {"{\"teir\": 1.}", 1, "expected a digit"},
    {"{\"a\\u0000\": 1}", 1, "\\u0000 cannot stand in a string"},
    {"{\"\\ud800\": 1}", 1, "the second half of a surrogate pair"},
    {"{\"\xff\": 1}", 1, "not valid UTF-8"},
    {"{\"\n\": 1}", 1, "a control character in a string"},
    {"{\"teir\": 1, \"tensors\": [7]}", 1, "is a number, not an object"},
    {"{\"teir\": 1, \"tensors\": [{\"id\": [], \"type\": \"f32\"}]}", 1,
     "'id' is a list, not a string or a whole number"},
    {"{\"teir\": 1, \"tensors\": [{\"id\": 1.5, \"type\": \"f32\"}]}", 1,
     "'id' is a number, not a string or a whole number"},
    {"{\"teir\": 1, \"tensors\": [{\"id\": \"a\", \"type\": \"f31\"}]}", 1,
     "'f31' is no data type"},
    {AXES("{\"id\": \"x\",\n\"extent\": 0}"), 3, "axis x has extent 0"},
    {AXES("{\"id\": \"x\",\n\"extent\": 1.5}"), 4, "no whole number of 64"},
    {AXES("{\"id\": \"x\", \"extent\": 99999999999999999999}"), 3,
     "no whole number of 64 bits"},
    {AXES("{\"id\": \"x\", \"extent\": \"7\"}"), 3, "there is no symbol '7'"},
    {AXES("{\"id\": \"x\", \"extent\": 1,\n\"stride\": {\"out\": 4}}"), 4,
     "an axis has no key 'stride'"},
    {AXES("{\"id\": \"x\", \"extent\": 1,\n\"strides\": [4]}"), 4,
     "'strides' has 1 numbers for 2 tensors"},
    {AXES("{\"id\": \"x\", \"extent\": 1, \"strides\": {\"in\": 4}}"), 3,
     "there is no tensor 'in'"},
    {HEAD "\"roots\": [\"k\"],\n\"nodes\": [{\"id\": \"k\", \"axis\": \"k\", "
          "\"policy\": \"sequential\", \"children\": [\"x\"]},\n{\"id\": "
          "\"x\", \"primitive\": \"c\",\n\"gaurd\": [{\"first\": \"k\"}]}]}",
     8, "an invocation node has no key 'gaurd'"},
    {HEAD "\"roots\": [\"x\"],\n\"nodes\": [{\"id\": \"x\", \"primitive\": "
          "\"c\", \"children\": [\"x\"]}]}",
     6, "an invocation node has no key 'children'"},
    {HEAD "\"roots\": [\"k\"],\n\"nodes\": [{\"id\": \"k\", \"axis\": \"k\", "
          "\"policy\": \"sequential\", \"children\": [\"x\"]},\n{\"id\": "
          "\"x\", \"primitive\": \"c\", \"guard\": [{\"first\": \"k\", "
          "\"last\": \"k\"}]}]}",
     7, "this one has 2 keys"},
    {HEAD "\"roots\": [\"k\"],\n\"nodes\": [{\"id\": \"k\", \"axis\": \"k\", "
          "\"policy\": \"parallel\", \"children\": [\"x\"]}]}",
     6, "there is no node 'x'"},
    {HEAD "\"roots\": [\"k\"],\n\"nodes\": [{\"id\": \"k\", \"axis\": \"k\", "
          "\"policy\": \"sideways\", \"children\": []}]}",
     6, "'sideways' is none of sequential, parallel"},
    {HEAD "\"root\": [\"k\"]}", 5, "a program has no key 'root'"},
    {HEAD "\"limits\": [{\"sign\": \"positive\", \"start\": 0}], " TAIL, 5,
     "'positive' is none of nonnegative, negative"},
};

static void check_wrong(void) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    bool refused = !teir_json_parse(a, "x.json", wrong[i].text, &d);
    bool good = refused && strstr(d.text, wrong[i].message) && d.at.file &&
                d.at.line == wrong[i].line;
    CHECK(good);
    if (!good)
      fprintf(stderr, "row %zu: line %d: %s\n", i, d.at.line, d.text);
    arena_close(a);
  }
}

/* What the specification has and a short form needs not: numbers as
 * identifiers, lists of strides, metadata of any kind, guards that are null. */
static void check_specification(void) {
  static const char json[] =
      "{\"teir\": 1, \"tensors\": [{\"id\": 0, \"type\": \"f32\"}, "
      "{\"id\": \"out\", \"type\": \"f32\"}],\n"
      "\"axes\": [{\"id\": 7, \"extent\": 4, \"strides\": [8, 4], "
      "\"offsets\": [0, -4]}],\n"
      "\"primitives\": [{\"id\": 1, \"operation\": \"Copy\", "
      "\"axes\": {\"M\": [], \"N\": []}, \"inputs\": [0], \"output\": "
      "\"out\", \"metadata\": {\"data_type\": \"FP32\", \"cost\": 2.50, "
      "\"hot\": true, \"why\": \"a b\"}}],\n"
      "\"roots\": [1], \"nodes\": [{\"id\": 1, \"axis\": 7, \"policy\": "
      "\"parallel\", \"children\": [\"c\\u00fc\\ud83d\\ude00\\n\"], \"guard\": "
      "null}, {\"id\": \"c\\u00fc\\ud83d\\ude00\\n\", \"primitive\": \"1\", "
      "\"guard\": [{\"first\": 7}, {\"last\": \"7\"}]}]}";
  static const char text[] =
      "teir 1\ntensor 0 f32\ntensor out f32\n"
      "axis 7 extent 4 stride 0=8 out=4 offset out=-4\n"
      "primitive 1 Copy M=[] N=[] from 0 to out with data_type=FP32 cost=2.50 "
      "hot=true why=\"a b\"\n"
      "roots 1\n"
      "iterate 1 over 7 parallel do \"c\xc3\xbc\xf0\x9f\x98\x80\\n\"\n"
      "invoke \"c\xc3\xbc\xf0\x9f\x98\x80\\n\" calls 1 when first(7) and "
      "last(7)\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text printed = {0};
  const struct teir *t = teir_json_parse(a, "x.json", json, &d);
  CHECK(t);
  if (t)
    teir_print(t, &printed);
  CHECK(strcmp(text_string(&printed), text) == 0);
  if (strcmp(text_string(&printed), text) != 0)
    fprintf(stderr, "%s%s", d.text, text_string(&printed));
  text_free(&printed);
  arena_close(a);
}

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
  check_wrong();
  check_specification();
  check_damaged();
  return check_result();
}
