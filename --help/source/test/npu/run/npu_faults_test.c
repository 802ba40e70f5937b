/* npu_faults_test.c -- the device "npu" against a driver whose calls fail, one
 * after the other: right results, or the loop with out as it was, and no crash
 * or leak. */
#include "check.h"
#include "fake_driver.h"
#include "npu_calls.h"

#include "amdxdna_uapi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int one(void) { return npu_product(DTYPE_I8, 20, 24, 40); }
static int twice(void) { return one() | one(); }
static int lists(void) { return npu_batch(5) | npu_batch(5); }
static int lists_apart(void) {
  setenv("NPUTEIR_CHAINS", "off", 1);
  return lists();
}
/* Lines of ours in what a case says on stderr, which goes to a file. */
static int lines_said(FILE *said) {
  char line[1000];
  int count = 0;
  rewind(said);
  while (fgets(line, sizeof line, said))
    count += strncmp(line, "nputeir: ", 9) == 0;
  return count;
}

/* A command that does not complete: the user is told once, and the device is
 * left alone afterwards. */
static int ends_badly(void) {
  FILE *said = tmpfile();
  if (!said || dup2(fileno(said), STDERR_FILENO) < 0)
    return WRONG;
  int status = one() | one() | npu_batch(3);
  bool once = lines_said(said) == 1;
  fclose(said);
  return once && fake_driver_counts().commands == 1 ? status : status | UNRULY;
}

static void test_states(void) {
  static const int states[] = {XDNA_STATE_NEW, XDNA_STATE_ERROR,
                               XDNA_STATE_ABORT, XDNA_STATE_TIMEOUT,
                               XDNA_STATE_NO_RESPONSE};
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    char words[32];
    snprintf(words, sizeof words, "state=1:%d", states[i]);
    CHECK(npu_run(words, ends_badly, true) == DECLINED);
  }
}

static void test_fault(int (*body)(void), int n, int error) {
  char words[32];
  snprintf(words, sizeof words, "fail=%d:%d", n, error);
  int status = npu_run(words, body, false);
  bool good = error == EINTR ? status == DONE
                             : status == DONE || status == DECLINED ||
                                   status == (DONE | DECLINED);
  if (!good)
    fprintf(stderr, "ioctl %d, %s: %d\n", n, strerror(error), status);
  CHECK(good);
}

static int ioctls_of(int (*body)(void)) {
  body();
  return fake_driver_counts().ioctls;
}
static int ioctls_of_twice(void) { return ioctls_of(twice); }
static int ioctls_of_lists(void) { return ioctls_of(lists); }
static int few_that_stay(void) { return npu_stays(3, 1); }
static int ioctls_of_few(void) { return ioctls_of(few_that_stay); }

/* Each ioctl of a run fails once; an interrupt is no failure. */
static void test_each_fault(void) {
  static const int errors[] = {ENOMEM, EINVAL, ENODEV};
  int two = npu_run("", ioctls_of_twice, true),
      chains = npu_run("", ioctls_of_lists, true);
  CHECK(two > 20 && two < 100 && chains > two && chains < 200);
  for (int n = 1; n <= two; n++)
    test_fault(twice, n, errors[n % 3]);
  for (int n = 1; n <= chains; n++)
    test_fault(lists, n, errors[n % 3]);
  for (int n = 1; n <= chains; n += 4)
    test_fault(lists, n, EINTR);
  int few = npu_run("", ioctls_of_few, true);
  CHECK(few > 20 && few < 200);
  for (int n = 1; n <= few; n++)
    test_fault(few_that_stay, n, errors[n % 3]);
  for (int n = 2; n <= few; n += 5)
    test_fault(few_that_stay, n, EINTR);
  for (int n = chains / 3; n <= chains; n += 2)
    test_fault(lists_apart, n, errors[n % 3]);
}

/* From some ioctl on, all fail: the device has gone. */
static void test_gone(void) {
  for (int n = 1; n < 60; n += 13) {
    char words[32];
    int status[2];
    snprintf(words, sizeof words, "fail=%d:%d,every", n, ENODEV);
    status[0] = npu_run(words, twice, false);
    snprintf(words, sizeof words, "fail=%d:%d,every", 2 * n, ENODEV);
    status[1] = npu_run(words, lists, false);
    for (int i = 0; i < 2; i++)
      CHECK(status[i] == DONE || status[i] == DECLINED ||
            status[i] == (DONE | DECLINED));
  }
}

/* ---- memory ---- */

static int maps_of_twice(void) {
  twice();
  return fake_driver_counts().maps;
}
static int maps_of_few(void) {
  few_that_stay();
  return fake_driver_counts().maps;
}

/* Each mmap of a run fails once, or all from one on. */
static void test_maps(void) {
  static const struct {
    int (*body)(void), (*count)(void);
  } of[] = {{twice, maps_of_twice}, {few_that_stay, maps_of_few}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    int maps = npu_run("", of[i].count, true);
    CHECK(maps > 4 && maps < 60);
    for (int n = 1; n <= maps; n++) {
      char words[40];
      snprintf(words, sizeof words, "map=%d:%d%s", n, n % 2 ? ENOMEM : EAGAIN,
               n % 3 ? "" : ",every");
      int status = npu_run(words, of[i].body, true);
      bool good =
          status == DONE || status == DECLINED || status == (DONE | DECLINED);
      if (!good)
        fprintf(stderr, "%s: %d\n", words, status);
      CHECK(good);
    }
  }
}

/* The kernel may keep what is to be unmapped. */
static void test_unmaps(void) {
  CHECK(npu_run("nounmap", twice, false) == DONE);
  CHECK(npu_run("nounmap", lists, false) == DONE);
}

int main(void) {
  setenv("NPUTEIR_ACCEL", "/dev/accel/fake", 1);
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  setenv("NPUTEIR_DEVICE", "npu", 1);
  test_states();
  test_each_fault();
  test_gone();
  test_maps();
  test_unmaps();
  return check_result();
}
