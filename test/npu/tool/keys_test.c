/* keys_test.c -- records of key=value words as JSON objects, and --json of the
 * commands that print them. */
#define NPUTEIR_TOOL_DRIVER /* memory of its own */
#include "call.h"
#include "check.h"
#include "json.h"
#include "keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *record, const char *wanted) {
  struct text got = {0};
  keys_json(record, &got);
  bool same = strcmp(text_string(&got), wanted) == 0;
  CHECK(same);
  if (!same)
    fprintf(stderr, "%s became %s", record, text_string(&got));
  text_free(&got);
}

static void test_records(void) {
  expect("", "{}\n");
  expect("a=1 b=x\n", "{\"a\": 1, \"b\": \"x\"}\n");
  expect("a=1\nb=2.50\n", "{\"a\": 1, \"b\": 2.50}\n");
  expect("what=\"two words\" n=-3\n", "{\"what\": \"two words\", \"n\": -3}\n");
  expect("limit: it says \"no\", a=1.\n",
         "{\"limit\": \"it says \\\"no\\\", a=1.\"}\n");
  expect("k=1 m:64,n:64 f32 l=2\n",
         "{\"k\": 1, \"l\": 2, \"text\": \"m:64,n:64 f32\"}\n");
  expect("end=\"open", "{\"end\": \"open\"}\n");
  expect("empty= x=1", "{\"empty\": \"\", \"x\": 1}\n");
}

/* Only what every reader of JSON takes as a number is one. */
static void test_numbers(void) {
  expect("x=1e-05 y=1E3", "{\"x\": 1e-05, \"y\": 1E3}\n");
  static const char *const word[] = {"nan", "inf", "-",   "+1",   "01", "1.",
                                     ".5",  "0x1", "1,2", "-inf", "1e"};
  for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
    char record[32], wanted[32];
    snprintf(record, sizeof record, "x=%s", word[i]);
    snprintf(wanted, sizeof wanted, "{\"x\": \"%s\"}\n", word[i]);
    expect(record, wanted);
  }
}

static struct call plain, json;

/* Every line is an object; the values of `key` are in the plain words, too. */
static void test_command(const char *words, const char *key, bool repeats) {
  char with[200];
  snprintf(with, sizeof with, "%s --json", words);
  call_tool(&json, NULL, with);
  if (repeats)
    call_tool(&plain, NULL, words);
  CHECK(json.status == 0 || strncmp(words, "doctor", 6) == 0);
  struct arena *a = arena_open();
  int objects = 0, found = 0;
  for (char *line = json.out, *end; *line; line = end + 1, objects++) {
    struct diag d = {0};
    end = line + strcspn(line, "\n");
    CHECK(*end == '\n');
    *end = 0;
    const struct json *o = json_parse(a, "stdout", line, &d);
    CHECK(o && o->kind == JSON_OBJECT);
    const struct json *v = o ? json_member(o, key) : NULL;
    found += v != NULL;
    char *at = strstr(line, key);
    if (!v || !repeats || !at)
      continue;
    char number[32] = "";
    sscanf(at + strlen(key), "\": %31[0-9.]", number);
    char pair[80];
    snprintf(pair, sizeof pair, "%s=%s\n", key, number);
    CHECK(*number && strstr(plain.out, pair));
  }
  CHECK(objects > 0 && found > 0);
  arena_close(a);
}

static void test_commands(void) {
  char folder[] = "/tmp/nputeir-keys-XXXXXX", words[200];
  test_command("sim 16x16x16", "busy_cycles", true);
  test_command("doctor", "finding", false);
  test_command("bench array bf16-64", "cycles", false);
  test_command("bench array random --predicted --shapes 2", "shim_bound",
               false);
  test_command("bench calibration N6", "published", false);
  CHECK(mkdtemp(folder));
  snprintf(words, sizeof words, "profile 16x16x16 -o %s/page", folder);
  test_command(words, "limit", false);
  snprintf(words, sizeof words, "rm -r %s", folder);
  CHECK(system(words) == 0);
}

int main(void) {
  test_records();
  test_numbers();
  test_commands();
  return check_result();
}
