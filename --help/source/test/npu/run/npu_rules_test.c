/* npu_rules_test.c -- that the driver's stand-in refuses what the driver
 * refuses, by the same numbers: read from amd/xdna-driver, with the negative
 * cases of its test/shim_test that a program for npu1 can come to. */
#include "check.h"
#include "fake_driver.h"

#include "amdxdna_uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAP = 64 << 20, PAGE = 4096 };

#define NUMBER(id, value, type) call_##id = value,
enum { AMDXDNA_CALLS(NUMBER) };
#undef NUMBER

static int fd;

/* errno, or 0. */
static int call(uint32_t number, void *argument) {
  return ioctl(fd, number, argument) == 0 ? 0 : errno;
}

static int create(uint32_t type, uint64_t bytes, uint32_t *handle) {
  struct xdna_create_buffer c = {.type = type, .bytes = bytes};
  int error = call(call_CREATE_BUFFER, &c);
  if (handle)
    *handle = c.handle;
  return error;
}

static void *map(uint32_t handle, uint64_t bytes, void *at) {
  struct xdna_buffer_info info = {.handle = handle};
  CHECK(call(call_BUFFER_INFO, &info) == 0);
  return mmap(at, bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | (at ? MAP_FIXED : 0), fd, (off_t)info.map_offset);
}

static int create_on(const void *at, uint64_t bytes, int file) {
  struct xdna_user_memory user = {
      .file = file, .count = 1, .address = (uintptr_t)at, .bytes = bytes};
  struct xdna_create_buffer c = {.type = XDNA_BUFFER_SHARED,
                                 .address = (uintptr_t)&user};
  return call(call_CREATE_BUFFER, &c);
}

static int context(uint64_t zero, uint32_t tiles, bool qos, uint32_t *handle) {
  struct xdna_qos none = {{0}};
  struct xdna_create_context c = {
      .zero0 = zero, .tiles = tiles, .qos = qos ? (uintptr_t)&none : 0};
  int error = call(call_CREATE_CONTEXT, &c);
  if (handle)
    *handle = c.handle;
  return error;
}

static void test_buffers(void) {
  struct xdna_create_buffer flags = {
      .type = XDNA_BUFFER_SHARED, .bytes = PAGE, .zero = 1};
  CHECK(call(call_CREATE_BUFFER, &flags) == EINVAL);
  CHECK(create(0, PAGE, NULL) == EINVAL && create(5, PAGE, NULL) == EINVAL);
  CHECK(create(XDNA_BUFFER_SHARED, 0, NULL) == EINVAL);
  CHECK(create(XDNA_BUFFER_IN_HEAP, PAGE, NULL) == EAGAIN); /* no heap */
  CHECK(create(XDNA_BUFFER_HEAP, HEAP / 2, NULL) == EINVAL);
  struct xdna_buffer_info info = {.handle = 77};
  CHECK(call(call_BUFFER_INFO, &info) == ENOENT);
  info = (struct xdna_buffer_info){.handle = 77, .zero2 = 1};
  CHECK(call(call_BUFFER_INFO, &info) == EINVAL);
  struct xdna_sync_buffer sync = {.handle = 77, .bytes = 64};
  CHECK(call(call_SYNC_BUFFER, &sync) == ENOENT);
  struct xdna_gem_close close = {.handle = 77};
  CHECK(call(call_GEM_CLOSE, &close) == EINVAL);
}

static void test_user_memory(void) {
  char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(create_on(at, PAGE, XDNA_NO_FILE) == 0);
  CHECK(create_on(at + 64, PAGE, XDNA_NO_FILE) == EINVAL);
  CHECK(create_on(at, PAGE + 64, XDNA_NO_FILE) == EINVAL);
  CHECK(create_on(at, 0, XDNA_NO_FILE) == EINVAL);
  mprotect(at, 2 * PAGE, PROT_READ);
  CHECK(create_on(at, PAGE, XDNA_NO_FILE) == EFAULT);
  munmap(at, 2 * PAGE);
  CHECK(create_on(at, PAGE, XDNA_NO_FILE) == EFAULT);
}

/* Until all places are taken. */
static uint32_t test_contexts(void) {
  uint32_t heap, first, others;
  CHECK(context(0, 4, true, NULL) == ENOENT); /* no heap */
  CHECK(create(XDNA_BUFFER_HEAP, HEAP, &heap) == 0);
  CHECK(create(XDNA_BUFFER_IN_HEAP, PAGE, NULL) == EAGAIN); /* not mapped */
  CHECK(context(0, 4, true, NULL) == EINVAL);
  char *space =
      mmap(NULL, 2 * HEAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  map(heap, HEAP, space + -(uintptr_t)space % HEAP);
  CHECK(create(XDNA_BUFFER_HEAP, HEAP, NULL) != 0);
  CHECK(create(XDNA_BUFFER_IN_HEAP, 576ull << 20, NULL) == EINVAL);
  CHECK(context(1, 4, true, NULL) == EINVAL);
  CHECK(context(0, 4, false, NULL) == EFAULT);
  CHECK(context(0, 0, true, NULL) == EINVAL);
  CHECK(context(0, 400, true, NULL) == EINVAL);
  CHECK(context(0, 4, true, &first) == 0);
  for (int i = 1; i < 6; i++)
    CHECK(context(0, 4, true, &others) == 0);
  CHECK(context(0, 4, true, NULL) == EINVAL);
  struct xdna_destroy_context none = {.handle = 77},
                              pad = {.handle = others, .zero = 1};
  CHECK(call(call_DESTROY_CONTEXT, &none) == EINVAL);
  CHECK(call(call_DESTROY_CONTEXT, &pad) == EINVAL);
  return first;
}

static int configure(uint32_t context, uint32_t kind, uint32_t buffer,
                     uint16_t count, uint32_t bytes) {
  struct xdna_units units = {.count = count, .unit = {{.buffer = buffer}}};
  struct xdna_config_context c = {.handle = context,
                                  .kind = kind,
                                  .value = (uintptr_t)&units,
                                  .value_bytes = bytes};
  return call(call_CONFIG_CONTEXT, &c);
}

static void test_units(uint32_t context) {
  enum { BYTES = sizeof(struct xdna_units) };
  uint32_t shared, pdi;
  CHECK(create(XDNA_BUFFER_SHARED, PAGE, &shared) == 0);
  CHECK(create(XDNA_BUFFER_IN_HEAP, PAGE, &pdi) == 0);
  CHECK(configure(77, 0, pdi, 1, BYTES) == EINVAL);
  CHECK(configure(context, 9, pdi, 1, BYTES) == EINVAL);
  CHECK(configure(context, 0, pdi, 0, BYTES) == EINVAL);
  CHECK(configure(context, 0, pdi, 1, PAGE + 1) == E2BIG);
  CHECK(configure(context, 0, pdi, 1, 8) == EINVAL);
  CHECK(configure(context, 0, shared, 1, BYTES) == EINVAL);
  CHECK(configure(context, 0, pdi, 1, BYTES) == 0);
  CHECK(configure(context, 0, pdi, 1, BYTES) == EINVAL); /* once */
}

static void test_commands(uint32_t context) {
  uint32_t command, data;
  CHECK(create(XDNA_BUFFER_COMMAND, PAGE, &command) == 0);
  CHECK(create(XDNA_BUFFER_SHARED, PAGE, &data) == 0);
  uint32_t *packet = map(command, PAGE, NULL), none = 77;
  packet[0] = xdna_header(XDNA_OPCODE_START_UNIT, 6);
  const struct xdna_execute good = {.context = context,
                                    .command = command,
                                    .command_count = 1,
                                    .buffers = (uintptr_t)&data,
                                    .buffer_count = 1};
  struct xdna_execute e[7] = {good, good, good, good, good, good, good};
  static const int error[7] = {EINVAL, EINVAL, EINVAL, EINVAL,
                               EINVAL, EINVAL, ENOENT};
  e[0].zero0 = 1;
  e[1].kind = 5;
  e[2].command_count = 2;
  e[3].buffer_count = 5000;
  e[4].command = 77;
  e[5].context = 77;
  e[6].buffers = (uintptr_t)&none;
  for (int i = 0; i < 7; i++)
    CHECK(call(call_EXECUTE, &e[i]) == error[i]);
  struct xdna_wait_command wait = {.context = context};
  CHECK(call(call_WAIT_COMMAND, &wait) == EOPNOTSUPP);
  char room[8];
  struct xdna_get_info info = {99, sizeof room, (uintptr_t)room};
  CHECK(call(call_GET_INFO, &info) == EOPNOTSUPP);
}

int main(void) {
  setenv("NPUTEIR_ACCEL", "/dev/accel/fake", 1);
  fake_driver_say("");
  fd = open("/dev/accel/fake", O_RDWR);
  CHECK(fd >= 0);
  test_buffers();
  test_user_memory();
  uint32_t context = test_contexts();
  test_units(context);
  test_commands(context);
  return check_result();
}
