/* machine.h -- one core with its own memory, to run a kernel's bytes in. */
#ifndef NPUTEIR_TEST_KERNELS_MACHINE_H
#define NPUTEIR_TEST_KERNELS_MACHINE_H

#include "asm.h"
#include "core.h"

#include <string.h>

enum { MEMORY_BYTES = 65536, PROGRAM_BYTES = 16384, MEMORY_AT = 0x70000 };

struct machine {
  uint8_t memory[MEMORY_BYTES];
  uint8_t program[PROGRAM_BYTES];
};

struct outcome {
  bool done;
  uint64_t cycles; /* from the kernel's first bundle to its return */
  uint64_t stalls;
};

static bool machine_acquire(void *context, int lock, int value) {
  (void)context, (void)lock, (void)value;
  return true;
}
static void machine_release(void *context, int lock, int value) {
  (void)context, (void)lock, (void)value;
}

/* Runs the kernel at program address 0 with lr at a `done` behind it. */
static inline struct outcome machine_run(struct machine *m,
                                         const struct asm_program *kernel,
                                         const uint32_t pointer[3],
                                         struct diag *d) {
  struct outcome out = {0};
  struct text bytes = {0};
  struct arena *a = arena_open();
  const struct asm_program *end =
      asm_parse(a, "end", "  done\n nop\n nop\n nop\n nop\n nop\n", d);
  uint32_t back = 0;
  if (!asm_check(kernel, d) || !asm_bytes(kernel, 0, NULL, 0, &bytes, d))
    goto out;
  if (bytes.length > PROGRAM_BYTES - 64) {
    diag_error(d, loc_none(), "program of %zu bytes", bytes.length);
    goto out;
  }
  memset(m->program, 0, sizeof m->program);
  memcpy(m->program, bytes.data, bytes.length);
  back = (uint32_t)(bytes.length + 15) / 16 * 16;
  text_free(&bytes);
  if (!end || !asm_bytes(end, back, NULL, 0, &bytes, d))
    goto out;
  memcpy(m->program + back, bytes.data, bytes.length);

  struct core_surroundings around = {.program = m->program,
                                     .memory = {NULL, NULL, NULL, m->memory},
                                     .acquire = machine_acquire,
                                     .release = machine_release};
  struct core *core = core_open(&around);
  core_strict(core, true);
  core_reset(core, 0);
  static const char *const name[] = {"p0", "p1", "p2"};
  for (int i = 0; i < 3; i++)
    core_write_register(core, name[i], pointer[i]);
  core_write_register(core, "lr", back);
  core_enable(core, true);
  for (int i = 0; i < 1000000 && core_state(core) == CORE_RUNNING; i++) {
    unsigned banks;
    if (core_pc(core) == back && !out.cycles)
      out.cycles = core_counts(core)->cycles;
    core_step(core, &banks);
  }
  out.done = core_state(core) == CORE_DONE;
  out.stalls = core_counts(core)->stall[STALL_MEMORY];
  if (core_state(core) == CORE_FAILED)
    *d = *core_diag(core);
  core_close(core);
out:
  text_free(&bytes);
  arena_close(a);
  return out;
}

#endif
