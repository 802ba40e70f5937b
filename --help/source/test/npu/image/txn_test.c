/* txn_test.c -- the passthrough's transaction of formats.md section 4,
 * word by word, and back; the 1.0 form; what is refused. */
#include "check.h"
#include "commands.h"

static const uint32_t golden[75] = {
    0x06030100, 0x00000101, 8, 0x12c,
    /* block write of shim BD 0, patch, push */
    1, 0, 0x1d000, 0x30, 0x40, 0, 0, 0, 0x80000000, 0x02000000, 0, 0x02000000,
    0x81, 0x30, 0, 0, 0, 0, 0x1d004, 0, 0, 0, 0, 0, 0, 0, 0x1d214, 0, 0, 0x18,
    /* shim BD 1, patch */
    1, 0, 0x1d020, 0x30, 0x40, 0, 0, 0, 0x80000000, 0x02000000, 0, 0x02000000,
    0x81, 0x30, 0, 0, 0, 0, 0x1d024, 0, 1, 0, 0, 0,
    /* controller id, push with token, wait */
    3, 0, 0x1d200, 0, 0xf00, 0x1f00, 0x1c, 0, 0, 0x1d204, 0, 0x80000001, 0x18,
    0x80, 0x10, 0, 0x00010100};

static void test_golden(struct arena *a) {
  struct text t = {0};
  struct diag d = {0};
  int columns;
  CHECK(txn_write(passthrough_run(a), device_at(0), 1, &t, &d));
  CHECK(t.length == sizeof golden);
  CHECK(t.length == sizeof golden && memcmp(t.data, golden, t.length) == 0);
  struct command_list *l = txn_read(a, t.data, t.length, &columns, &d);
  CHECK(l && columns == 1 && commands_equal(l, passthrough_run(a)));
  text_free(&t);
}

static void test_poll(struct arena *a) {
  struct command_list *l = command_list(a), *back;
  struct text t = {0};
  struct diag d = {0};
  int columns;
  struct device newer = *device_at(0);
  newer.txn_generation = 4;
  newer.core_rows = 6;
  command_mask_poll(l, 0x1d220, 0x0078003c, 0, 0);
  CHECK(txn_write(l, &newer, 8, &t, &d) && t.length == 16 + 32);
  CHECK(t.data[2] == 4 && t.data[3] == 8 && t.data[4] == 8 && t.data[5] == 1);
  back = txn_read(a, t.data, t.length, &columns, &d);
  CHECK(back && columns == 8 && commands_equal(l, back));
  text_free(&t);
}

/* The optimised form of the same passthrough. */
static void test_version_1(struct arena *a) {
  static const uint32_t words[] = {
      0x06030001, 0x00000101,
      8,          4 * (4 + 2 * 11 + 2 * 6 + 2 * 3 + 4 + 4),
      1,          0x1d000,
      44,         0x40,
      0,          0,
      0,          0x80000000,
      0x02000000, 0,
      0x02000000, 0x81,
      24,         0x1d004,
      0,          0,
      0,          0,
      0x1d214,    0,
      1,          0x1d020,
      44,         0x40,
      0,          0,
      0,          0x80000000,
      0x02000000, 0,
      0x02000000, 0x81,
      24,         0x1d024,
      1,          0,
      0,          3,
      0x1d200,    0xf00,
      0x1f00,     0,
      0x1d204,    0x80000001,
      0x80,       16,
      0,          0x00010100};
  struct diag d = {0};
  int columns;
  struct command_list *l = txn_read(a, words, sizeof words, &columns, &d);
  CHECK(l && commands_equal(l, passthrough_run(a)));
}

/* Operations that mean nothing to the array are stepped over. */
static void test_passed_over(struct arena *a) {
  static const uint32_t words[] = {
      0x06030100, 0x00000104, 5,       16 + 4 + 4 + 32 + 16 + 24,
      5,          0x00000206, /* NOOP, PREEMPT */
      7,          0,          0x1d220, 0,
      0,          0x0078003c, 32,      0xdeadbeef,
      130,        16,         0x1d220, 0,
      131,        24,         1,       2,
      3,          4};
  struct command_list *want = command_list(a);
  struct diag d = {0};
  int columns;
  command_mask_poll(want, 0x1d220, 0x0078003c, 0, 0);
  struct command_list *l = txn_read(a, words, sizeof words, &columns, &d);
  CHECK(l && columns == 4 && commands_equal(l, want));
}

static void refused(struct arena *a, const uint32_t *words, size_t bytes,
                    const char *says) {
  struct diag d = {0};
  int columns;
  CHECK(!txn_read(a, words, bytes, &columns, &d));
  CHECK(strstr(d.text, says));
}

static void test_refused(struct arena *a) {
  refused(a, golden, 12, "shorter than its header");
  refused(a, golden, 200, "says 300 bytes, the file has 200");
  uint32_t w[75];
  memcpy(w, golden, sizeof w);
  w[2] = 9;
  refused(a, w, sizeof w, "says 9 operations, but the bytes end after 8");
  memcpy(w, golden, sizeof w);
  w[4] = 99;
  refused(a, w, sizeof w, "operation 99");
  memcpy(w, golden, sizeof w);
  w[7] = 0x31;
  refused(a, w, sizeof w, "says it has 49 bytes");
  w[7] = 8;
  refused(a, w, sizeof w, "says it has 8 bytes; it has at least 16");
  w[7] = 0xfffffffc;
  refused(a, w, sizeof w, "says it has 4294967292 bytes");
  memcpy(w, golden, sizeof w);
  w[0] = 0x06030200;
  refused(a, w, sizeof w, "version 0.2");
  struct command_list *l = command_list(a);
  struct text t = {0};
  struct diag d = {0};
  command_delay(l, 5);
  CHECK(!txn_write(l, device_at(0), 1, &t, &d) && t.length == 0);
  CHECK(strstr(d.text, "belongs into a CDO"));
  struct command_list *m = command_list(a);
  struct diag e = {0};
  command_ddr_patch(m, 4, 33, 0);
  CHECK(!txn_write(m, device_at(0), 1, &t, &e) &&
        strstr(e.text, "argument 33"));
}

int main(void) {
  struct arena *a = arena_open();
  test_golden(a);
  test_poll(a);
  test_version_1(a);
  test_passed_over(a);
  test_refused(a);
  arena_close(a);
  return check_result();
}
