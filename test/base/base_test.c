/* base_test.c -- arena, diagnostics, text, scanner, data types. */
#include "base.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Texts that end before, at and behind the end of a chunk. */
static void test_arena_text(void) {
  struct arena *a = arena_open();
  const char *text[400];
  for (int i = 0; i < 400; i++) {
    text[i] = arena_printf(a, "%0*d", 1 + i % 97, i % 10);
    const char *next = arena_alloc(a, 16);
    for (int k = 0; k < 16; k++)
      CHECK(next[k] == 0);
  }
  for (int i = 0; i < 400; i++) {
    CHECK((int)strlen(text[i]) == 1 + i % 97);
    CHECK(text[i][i % 97] == '0' + i % 10);
  }
  arena_close(a);
}

static void test_arena(void) {
  struct arena *a = arena_open();
  char *small = arena_alloc(a, 3), *large = arena_alloc(a, 1 << 20);
  CHECK(small && large && (uintptr_t)small % 16 == 0);
  for (int i = 0; i < 1 << 20; i += 4096)
    CHECK(large[i] == 0);
  int from[] = {1, 2, 3};
  int *copy = arena_copy(a, from, 3, 8, sizeof *from);
  CHECK(copy[2] == 3 && copy[7] == 0);
  CHECK(strcmp(arena_printf(a, "%d-%s", 7, "x"), "7-x") == 0);
  CHECK(strcmp(arena_substring(a, "abcdef", 3), "abc") == 0);
  CHECK(arena_bytes(a) >= (1 << 20) + 3);
  arena_close(a);
  arena_close(NULL);
}

static void test_diag(void) {
  struct diag d = {0};
  struct loc at = {"f.c", 3, 7};
  CHECK(!diag_declined(&d, at, "first %d", 1));
  CHECK(!diag_error(&d, at, "second"));
  CHECK(d.kind == DIAG_DECLINED && strcmp(d.text, "first 1") == 0);
  CHECK(d.at.line == 3 && d.at.col == 7);
  CHECK(!diag_error(NULL, at, "nobody listens"));
}

/* A link is written through, not replaced; the same goes for a device. */
static void check_link(const char *path) {
  char link[64], to[64];
  struct diag d = {0};
  snprintf(link, sizeof link, "%s.link", path);
  CHECK(symlink(path, link) == 0);
  CHECK(file_write(link, "through", 7, &d));
  CHECK(readlink(link, to, sizeof to) == (ssize_t)strlen(path));
  struct arena *a = arena_open();
  size_t length;
  CHECK(strcmp(file_read(a, path, &length, &d), "through") == 0);
  arena_close(a);
  remove(link);
}

static void test_text_and_files(void) {
  struct text t = {0};
  CHECK(strcmp(text_string(&t), "") == 0);
  for (int i = 0; i < 1000; i++)
    text_printf(&t, "%d,", i);
  CHECK(t.length == 10 * 2 + 90 * 3 + 900 * 4);
  struct text single = {0}; /* one by one, across every growth */
  for (int i = 0; i < 5000; i++) {
    text_append(&single, "x", 1);
    CHECK(single.length < single.capacity && !single.data[i + 1]);
  }
  struct text taken = {0}, nothing = {0};
  text_take(&taken, &nothing);
  CHECK(taken.length == 0);
  text_take(&taken, &single);
  CHECK(taken.length == 5000 && !single.data);
  text_puts(&single, "y");
  text_take(&taken, &single);
  text_take(&taken, &nothing);
  CHECK(taken.length == 5001 && !single.length);
  CHECK(strcmp(taken.data + 4999, "xy") == 0);
  text_free(&taken);
  char path[] = "/tmp/base_testXXXXXX";
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  close(fd);
  struct diag d = {0};
  struct arena *a = arena_open();
  size_t length;
  CHECK(file_write(path, t.data, t.length, &d));
  char *back = file_read(a, path, &length, &d);
  CHECK(back && length == t.length && memcmp(back, t.data, length) == 0);
  check_link(path);
  remove(path);
  CHECK(!file_read(a, path, &length, &d) && d.kind == DIAG_ERROR);
  CHECK(strcmp(d.at.file, path) == 0);
  struct diag e = {0};
  CHECK(!file_write("/nonexistent/x", "", 0, &e) && e.kind == DIAG_ERROR);
  arena_close(a);
  text_free(&t);
}

/* Any string of UTF-8 comes back as it was; others are refused. */
static void test_strings(void) {
  static const char *const text[] = {"",
                                     "x",
                                     "a \"b\" \\ c",
                                     "#, =[]()",
                                     "two\nlines\r\t",
                                     "\x01\x7f",
                                     "gr\xc3\xb6\xc3\x9f"
                                     "e \xe2\x82\xac \xf0\x9f\x98\x80"};
  static const struct {
    const char *quoted, *message;
  } wrong[] = {{"\"a", "does not end"},
               {"\"a\nb\"", "does not end"},
               {"\"\\q\"", "a backslash"},
               {"\"\\x0\"", "a backslash"},
               {"\"\\x00\"", "a backslash"},
               {"\"\\", "a backslash"},
               {"\"\\xff\"", "valid UTF-8"},
               {"\"\xc0\x80\"", "valid UTF-8"},
               {"\"\xed\xa0\x80\"", "valid"},
               {"\"\xe2\x82\"", "valid UTF-8"},
               {"\"\xf4\x90\x80\x80\"", "valid UTF-8"}};
  struct arena *a = arena_open();
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
    struct text quoted = {0};
    struct diag d = {0};
    text_quote(&quoted, text[i]);
    CHECK(!strchr(text_string(&quoted), '\n'));
    struct scan s = scan_open("t", text_string(&quoted));
    const char *again = scan_string(&s, a, &d);
    CHECK(again && strcmp(again, text[i]) == 0 && scan_end(&s));
    text_free(&quoted);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct diag d = {0};
    struct scan s = scan_open("t", wrong[i].quoted);
    CHECK(!scan_string(&s, a, &d) && strstr(d.text, wrong[i].message));
  }
  struct diag d = {0};
  struct scan s = scan_open("t", "word");
  CHECK(!scan_string(&s, a, &d) && d.kind == DIAG_NONE);
  CHECK(scan_is_name("_a.1$") && !scan_is_name("1a") && !scan_is_name("") &&
        !scan_is_name("a b"));
  arena_close(a);
}

static void test_scan(void) {
  struct arena *a = arena_open();
  struct scan s =
      scan_open("t", "# comment\n\n axis x1 -12 0x1F [ # end\nlast");
  int64_t v;
  CHECK(!scan_end(&s));
  CHECK(scan_loc(&s).line == 3 && scan_loc(&s).col == 2);
  CHECK(!scan_word(&s, "ax") && scan_word(&s, "axis"));
  CHECK(strcmp(scan_name(&s, a), "x1") == 0);
  CHECK(scan_int(&s, &v) && v == -12 && scan_int(&s, &v) && v == 31);
  CHECK(!scan_char(&s, ']') && scan_char(&s, '[') && scan_end_of_line(&s));
  scan_next_line(&s);
  struct diag d = {0};
  CHECK(!scan_int(&s, &v) && !scan_expected(&s, &d, "a number"));
  CHECK(strcmp(d.text, "expected a number, found 'last'") == 0);
  CHECK(d.at.line == 4 && d.at.col == 1);
  CHECK(scan_word(&s, "last") && scan_end(&s));
  struct scan big = scan_open("t", "99999999999999999999 12x");
  CHECK(!scan_int(&big, &v));
  arena_close(a);
}

static void test_integers(void) {
  static const struct {
    enum dtype type;
    int64_t in, out;
  } row[] = {{DTYPE_I8, 200, -56},
             {DTYPE_U8, -1, 255},
             {DTYPE_I16, 40000, -25536},
             {DTYPE_U16, 65537, 1},
             {DTYPE_I32, 1LL << 31, INT32_MIN},
             {DTYPE_U32, -1, 4294967295LL},
             {DTYPE_I64, INT64_MIN, INT64_MIN}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    unsigned char memory[8];
    dtype_store_int(row[i].type, memory, row[i].in);
    CHECK(dtype_load_int(row[i].type, memory) == row[i].out);
  }
}

static void test_floats(void) {
  static const struct {
    enum dtype type;
    double in, out;
  } row[] = {
      {DTYPE_F32, 0.1, 0.1f},
      {DTYPE_F64, 0.1, 0.1},
      {DTYPE_BF16, 1.0, 1.0},
      {DTYPE_BF16, 1 + 1.0 / 256, 1.0},                  /* tie to even */
      {DTYPE_BF16, 1 + 3.0 / 256, 1 + 4.0 / 256},        /* tie to even */
      {DTYPE_BF16, 1 + 1.0 / 256 + 0x1p-40, 1 + 0x1p-7}, /* just above a tie */
      {DTYPE_BF16, 1e39, INFINITY},
      {DTYPE_F16, 1 + 1.0 / 2048, 1.0}, /* tie to even */
      {DTYPE_F16, 65519.0, 65504.0},
      {DTYPE_F16, 65520.0, INFINITY},
      {DTYPE_F16, 0x1p-24, 0x1p-24},
      {DTYPE_F16, 0x1p-25, 0.0},
      {DTYPE_F16, -0x1.8p-24, -0x1p-23}, /* tie to even among denormals */
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    unsigned char memory[8];
    dtype_store_float(row[i].type, memory, row[i].in);
    CHECK(dtype_load_float(row[i].type, memory) == row[i].out);
  }
  CHECK(isnan(bf16_to_f32(bf16_from_f32(NAN))));
}

/* Every bf16 survives the way to float and back, as hardware widens it. */
static void test_bf16_round_trip(void) {
  for (uint32_t bits = 0; bits < 1 << 16; bits++) {
    float f = bf16_to_f32((uint16_t)bits);
    uint32_t wide;
    memcpy(&wide, &f, sizeof wide);
    if (f == f)
      CHECK(wide == bits << 16 && bf16_from_f32(f) == bits);
  }
}

static void test_dtype_names(void) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    enum dtype t;
    CHECK(dtype_parse(dtype_name((enum dtype)i), &t) && t == (enum dtype)i);
  }
  enum dtype t;
  CHECK(!dtype_parse("bf17", &t));
}

int main(void) {
  test_arena();
  test_arena_text();
  test_diag();
  test_text_and_files();
  test_scan();
  test_strings();
  test_integers();
  test_floats();
  test_bf16_round_trip();
  test_dtype_names();
  return check_result();
}
