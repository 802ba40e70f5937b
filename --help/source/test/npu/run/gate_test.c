/* gate_test.c -- which calls go to a device on which launches cost time: with
 * times that the test says, not with those of a clock. */
#include "check.h"
#include "parts.h"

#include <math.h>
#include <stdlib.h>

enum { SMALL = 4096, MIDDLE = 1 << 20 };

static bool asks(struct gate *g, uint64_t key, double macs) {
  struct gate_times t;
  bool pays = gate_pays(g, key, macs, 3 * macs / 64, &t);
  CHECK(t.loop > 0 && t.device > 0);
  return pays;
}

/* The device did a call, which was all build or all launch. */
static void took(struct gate *g, uint64_t key, double seconds, bool built) {
  struct run_seconds s = {0};
  *(built ? &s.build : &s.launch) = seconds;
  gate_device_took(g, key, seconds, &s, 0);
}

/* Calls until one goes to the device, when the loop takes so long; -1: none of
 * `most` does. */
static int calls(struct gate *g, uint64_t key, double macs, double loop,
                 int most) {
  for (int i = 0; i < most; i++) {
    if (asks(g, key, macs))
      return i;
    gate_loop_took(g, key, loop);
  }
  return -1;
}

static void test_small(void) {
  struct gate *g = gate_open();
  CHECK(!gate_keeps(g, 7));
  CHECK(calls(g, 7, SMALL, 2e-6, 3) == -1 && !gate_keeps(g, 7));
  CHECK(calls(g, 7, SMALL, 2e-6, 2) == -1 && gate_keeps(g, 7));
  CHECK(!gate_keeps(g, 8));
  gate_close(g);
}

/* What building costs is paid back by the calls before. */
static void test_repeated(void) {
  struct gate *g = gate_open();
  int count = calls(g, 7, MIDDLE, 1e-3, 1000);
  CHECK(count > 100 && count < 125 && !gate_keeps(g, 7));
  took(g, 7, 0.2, true);
  took(g, 7, 8e-5, false);
  CHECK(asks(g, 7, MIDDLE));
  CHECK(calls(g, 8, MIDDLE, 1e-3, 1000) > count); /* building took longer */
  gate_close(g);
}

static void test_large(void) {
  struct gate *g = gate_open();
  CHECK(asks(g, 7, 1e9));
  took(g, 7, 0.1, true);
  CHECK(asks(g, 7, 1e9));
  gate_close(g);
}

/* A loop that is interrupted now and then is not slow. */
static void test_interrupted(void) {
  struct gate *g = gate_open();
  for (int i = 0; i < 200; i++) {
    CHECK(!asks(g, 7, SMALL));
    gate_loop_took(g, 7, i % 4 ? 2e-6 : 2e-2);
  }
  gate_close(g);
}

/* The device turns out to be slower: the loop comes back. */
static void test_slow_device(void) {
  struct gate *g = gate_open();
  CHECK(calls(g, 7, MIDDLE, 0.5, 10) == 1);
  took(g, 7, 0.1, true);
  took(g, 7, 0.7, false);
  CHECK(!asks(g, 7, MIDDLE));
  CHECK(calls(g, 8, MIDDLE, 0.5, 10) == -1); /* launches take so long here */
  gate_close(g);
}

static void test_failures(void) {
  struct gate *g = gate_open();
  for (int i = 0; i < 3; i++) {
    CHECK(asks(g, 7, 1e9) && !gate_keeps(g, 7));
    gate_device_failed(g, 7);
  }
  CHECK(gate_keeps(g, 7));
  gate_close(g);
}

/* More nests than are remembered. */
static void test_many(void) {
  struct gate *g = gate_open();
  for (uint64_t key = 1; key < 5000; key++)
    CHECK(calls(g, key, SMALL, 1e-6, 4) == -1);
  CHECK(gate_keeps(g, 4999));
  gate_close(g);
}

/* A small launch that changed what was loaded says nothing of large ones. */
static void test_changed(void) {
  static const struct run_seconds change = {.launch = 7e-4, .change = 6e-4};
  struct gate *g = gate_open();
  struct gate_times before, after;
  took(g, 7, 0.1, true);
  took(g, 7, 1e-4, false);
  gate_pays(g, 8, 1e9, 0, &before);
  gate_pays(g, 7, SMALL, 0, &after);
  for (int i = 0; i < 20; i++)
    gate_device_took(g, 7, 7e-4, &change, 0);
  gate_pays(g, 8, 1e9, 0, &after);
  CHECK(after.device < 2 * before.device);
  gate_close(g);
}

static char folder[] = "/tmp/nputeir-gate-test-XXXXXX";

static FILE *rates_file(const char *mode) {
  char path[100];
  snprintf(path, sizeof path, "%s/nputeir/an_NPU_2_of.1.rates", folder);
  return fopen(path, mode);
}

static bool is_near(double x, double y) { return x > 0.98 * y && x < 1.02 * y; }

static double expects(const char *device, double macs, double bytes) {
  struct gate *g = gate_open();
  struct gate_times t;
  gate_use(g, device);
  gate_pays(g, 7, macs, bytes, &t);
  gate_close(g);
  return t.device;
}

/* What a process has measured holds in the next one. */
static void test_rates(void) {
  static const char name[] = "an NPU/2 of.1";
  enum { MACS = 1 << 30, BYTES = 1 << 20 };
  CHECK(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
  double before = expects(name, MACS, BYTES);
  CHECK(!rates_file("r"));
  struct gate *g = gate_open();
  struct gate_times t;
  gate_use(g, name);
  gate_pays(g, 7, 0, 0, &t);
  gate_pays(g, 8, MACS, BYTES, &t);
  gate_device_took(g, 7, 0.05, &(struct run_seconds){.build = 0.05}, 0);
  gate_device_took(g, 7, 1e-4, &(struct run_seconds){.launch = 1e-4}, 0);
  for (int i = 0; i < 7; i++)
    gate_device_took(g, 8, 0.5,
                     &(struct run_seconds){.copy = 0.1, .launch = 0.4}, BYTES);
  gate_close(g);
  CHECK(is_near(expects(name, 0, 0), 1e-4));
  CHECK(is_near(expects(name, 0, BYTES), 0.1001));
  CHECK(is_near(expects(name, MACS, 0), 0.4));
  CHECK(expects("another", MACS, BYTES) == before);
  /* a process that sees large launches only leaves what is known of small ones
   */
  g = gate_open();
  gate_use(g, name);
  gate_pays(g, 8, MACS, BYTES, &t);
  gate_device_took(g, 8, 0.4, &(struct run_seconds){.launch = 0.4}, 0);
  gate_close(g);
  CHECK(is_near(expects(name, 0, 0), 1e-4));
  static const char *const wrong[] = {
      "", "launch=1", "launch=nan build=1 copy=1 mac=1",
      "launch=1e-4 build=-1 copy=1e-9 mac=1e-12",
      "launch=1e9 build=1 copy=1e-9 mac=1e-12"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    FILE *f = rates_file("w");
    fputs(wrong[i], f);
    fclose(f);
    CHECK(expects(name, MACS, BYTES) == before);
  }
  char path[100];
  snprintf(path, sizeof path, "rm -r %s", folder);
  CHECK(system(path) == 0);
}

/* Without a place to keep rates nothing is kept, and nothing said. */
static void test_no_folder(void) {
  static const char *const cache[] = {"/dev/null", "relative", ""};
  struct rates r = {1e-4, 0.1, 1e-9, 1e-12};
  setenv("HOME", "/dev/null", 1);
  for (size_t i = 0; i < sizeof cache / sizeof *cache; i++) {
    setenv("XDG_CACHE_HOME", cache[i], 1);
    rates_write("x", &r);
    CHECK(!rates_read("x", &r));
  }
  unsetenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  rates_write("x", &r);
  CHECK(!rates_read("x", &r));
}

static void test_keys(void) {
  int64_t value[] = {1, 2};
  struct run_request a = {.teir = "t", .value = value, .value_count = 2};
  uint64_t first = gate_key(&a);
  CHECK(first && gate_key(&a) == first);
  value[1] = 3;
  CHECK(gate_key(&a) != first);
  a.where = "elsewhere";
  uint64_t second = gate_key(&a);
  a.where = NULL;
  CHECK(gate_key(&a) != second);
}

static const char words[] = ""; /* a text, which nobody reads here */

/* A call of a nest whose extents are three values of it. */
static bool declined(struct gate *g, int64_t m, int64_t n, int64_t k,
                     uint64_t *timed) {
  const int64_t value[] = {m, n, k};
  const struct run_request q = {
      .teir = words, .value = value, .value_count = 3};
  return gate_declines(g, &q, timed);
}

/* The same, read. */
static void read_nest(struct gate *g, int64_t side, double least,
                      double seconds) {
  struct teir_axis axis[] = {{.extent = {0, 0}},
                             {.extent = {0, 1}},
                             {.extent = {0, 2}},
                             {.extent = {1, -1}}};
  const struct teir t = {.axis = axis, .axis_count = 4};
  const int64_t value[] = {side, side, side};
  const struct run_request q = {
      .teir = words, .value = value, .value_count = 3};
  struct gate_times times;
  double macs = (double)(side * side * side);
  if (least < 0)
    CHECK(!gate_pays(g, gate_key(&q), macs, macs / 64, &times));
  gate_read(g, &q, &t, least);
  if (least < 0)
    gate_loop_took(g, gate_key(&q), seconds);
}

/* Calls of sizes that are all new, in some order; how many were read. */
static int read_of_new(struct gate *g, int64_t from, int64_t to) {
  uint64_t timed;
  int read = 0;
  for (int64_t m = from; m < to; m++)
    for (int64_t n = from; n < to; n++) {
      read += !declined(g, m, n, (from + to) / 2, &timed);
      CHECK(timed == 0);
    }
  return read;
}

static void test_unread(void) {
  struct gate *g = gate_open();
  uint64_t timed;
  CHECK(!declined(g, 8, 8, 8, &timed)); /* nobody knows the nest */
  read_nest(g, 64, -1, 1e-4);           /* 0.4 ns each */
  CHECK(read_of_new(g, 4, 40) == 0);    /* a loop of 23 us at most */
  int some = read_of_new(g, 57, 73);
  CHECK(some >= 14 && some <= 18);
  CHECK(read_of_new(g, 100, 104) == 16); /* 400 us: reading is nothing */
  for (int i = 0; i < 5; i++) {          /* what was read is known */
    CHECK(declined(g, 64, 64, 64, &timed) && timed);
    gate_loop_took(g, timed, 1e-4);
  }
  CHECK(declined(g, -3, 8, 8, &timed) && declined(g, 0, 8, 8, &timed));
  gate_close(g);
}

/* A loop that turns out slow is no small one. */
static void test_slow_nest(void) {
  struct gate *g = gate_open();
  uint64_t timed;
  read_nest(g, 8, -1, 1e-2);
  CHECK(declined(g, 8, 8, 8, &timed) && timed);
  int calls = 1;
  for (; declined(g, 8, 8, 8, &timed); calls++)
    gate_loop_took(g, timed, 1e-2);
  CHECK(calls < 15);
  gate_close(g);
}

static void test_least(void) {
  struct gate *g = gate_open();
  uint64_t timed;
  read_nest(g, 8, 1000, 0);
  CHECK(declined(g, 9, 10, 11, &timed) && !timed);
  CHECK(!declined(g, 10, 10, 10, &timed));
  gate_close(g);
  g = gate_open();
  CHECK(gate_least_macs(g) <= 0);
  gate_use(g, "a device of a test");
  double macs = gate_least_macs(g);
  CHECK(macs >= 1000 && macs <= 10000);
  took(g, 7, 1e-5, false);
  CHECK(gate_least_macs(g) < macs && gate_least_macs(g) > 100);
  gate_close(g);
  g = gate_open();
  read_nest(g, 8, INFINITY, 0); /* no device */
  CHECK(declined(g, 1000, 1000, 1000, &timed) && !timed);
  gate_close(g);
}

static void test_declined(void) {
  struct gate *g = gate_open();
  for (int i = 0; i < 16; i++) {
    CHECK(!gate_keeps(g, 7));
    gate_declined(g, 7);
  }
  CHECK(gate_keeps(g, 7));
  gate_close(g);
}

int main(void) {
  setenv("XDG_CACHE_HOME", "/dev/null", 1); /* no rates of earlier runs */
  test_unread();
  test_slow_nest();
  test_least();
  test_declined();
  test_small();
  test_repeated();
  test_large();
  test_interrupted();
  test_slow_device();
  test_failures();
  test_many();
  test_changed();
  test_keys();
  test_rates();
  test_no_folder();
  return check_result();
}
