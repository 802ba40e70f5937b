/* zero_test.c -- kernel_zero clears what it should and nothing else. */
#include "check.h"
#include "kernel_check.h"

#include <string.h>

static void test_zero(int bytes) {
  static uint8_t memory[CHECK_MEMORY_BYTES];
  struct arena *a = arena_open();
  struct diag d = {0};
  struct check_outcome o = {0};
  enum { AT = 64 };
  memset(memory, 0xa5, sizeof memory);
  struct asm_program *p = kernel_zero(a, "zero", bytes, &d);
  CHECK(p != NULL);
  bool done = p && check_run(p, memory, (uint32_t[]){AT, 0, 0}, &o, &d);
  if (d.kind != DIAG_NONE)
    fprintf(stderr, "zero %d: %s\n", bytes, d.text);
  CHECK(done);
  int wrong = 0;
  for (int i = 0; i < CHECK_MEMORY_BYTES; i++)
    wrong += memory[i] != (i >= AT && i < AT + bytes ? 0 : 0xa5);
  CHECK(wrong == 0);
  CHECK(o.cycles <= (uint64_t)bytes / 32 + 16);
  arena_close(a);
}

int main(void) {
  static const int bytes[] = {32,   64,   96,    256,   480,  512,
                              1024, 4096, 16384, 16416, 36864};
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
    test_zero(bytes[i]);
  struct arena *a = arena_open();
  struct diag d = {0};
  CHECK(kernel_zero(a, "zero", 33, &d) == NULL && d.kind == DIAG_ERROR);
  d = (struct diag){0};
  CHECK(kernel_zero(a, "zero", 0, &d) == NULL && d.kind == DIAG_ERROR);
  arena_close(a);
  return check_result();
}
