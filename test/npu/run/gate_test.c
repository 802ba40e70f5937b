/* gate_test.c -- which calls go to a device on which launches cost time: with
 * times that the test says, not with those of a clock. */
#include "check.h"
#include "parts.h"

enum { SMALL = 4096, MIDDLE = 1 << 20 };

static bool asks(struct gate *g, uint64_t key, double macs) {
  struct gate_times t;
  bool pays = gate_pays(g, key, macs, 3 * macs / 64, &t);
  CHECK(t.loop > 0 && t.device > 0);
  return pays;
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
  gate_device_took(g, 7, 0.2, true);
  gate_device_took(g, 7, 8e-5, false);
  CHECK(asks(g, 7, MIDDLE));
  CHECK(calls(g, 8, MIDDLE, 1e-3, 1000) > count); /* building took longer */
  gate_close(g);
}

static void test_large(void) {
  struct gate *g = gate_open();
  CHECK(asks(g, 7, 1e9));
  gate_device_took(g, 7, 0.1, true);
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
  gate_device_took(g, 7, 0.1, true);
  gate_device_took(g, 7, 0.7, false);
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

int main(void) {
  test_small();
  test_repeated();
  test_large();
  test_interrupted();
  test_slow_device();
  test_failures();
  test_many();
  test_keys();
  return check_result();
}
