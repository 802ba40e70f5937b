/* zero_test.c -- kernel_zero clears what it should and nothing else. */
#include "check.h"
#include "kernels.h"
#include "machine.h"

static void test_zero(int bytes) {
  static struct machine m;
  struct arena *a = arena_open();
  struct diag d = {0};
  struct outcome o = {0};
  enum { AT = 64 };
  memset(m.memory, 0xa5, sizeof m.memory);
  struct asm_program *p = kernel_zero(a, "zero", bytes, &d);
  CHECK(p != NULL);
  if (p)
    o = machine_run(&m, p, (uint32_t[]){MEMORY_AT + AT, 0, 0}, &d);
  if (d.kind != DIAG_NONE)
    fprintf(stderr, "zero %d: %s\n", bytes, d.text);
  CHECK(o.done);
  int wrong = 0;
  for (int i = 0; i < MEMORY_BYTES; i++)
    wrong += m.memory[i] != (i >= AT && i < AT + bytes ? 0 : 0xa5);
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
