/* core_machine.h -- a core with memory around it, for tests: assembles a text,
 * runs it to `done`, answers questions. */
#ifndef NPUTEIR_CORE_MACHINE_H
#define NPUTEIR_CORE_MACHINE_H

#include "asm.h"
#include "core.h"

#include <stdlib.h>
#include <string.h>

struct machine {
  struct core *core;
  uint8_t program[16384];
  uint8_t memory[65536];
  int lock[64];
  int releases, refusals; /* refusals: acquires to turn down first */
};

static bool machine_acquire(void *context, int lock, int value) {
  struct machine *m = context;
  if (m->refusals > 0) {
    m->refusals--;
    return false;
  }
  if (value >= 0)
    return m->lock[lock] == value;
  if (m->lock[lock] < -value)
    return false;
  m->lock[lock] += value;
  return true;
}

static void machine_release(void *context, int lock, int value) {
  struct machine *m = context;
  m->lock[lock] += value;
  m->releases++;
}

/* Assembles and stands ready at address 0; NULL and a message on bad text. */
static struct machine *machine_open_for(const struct isa *isa, const char *text,
                                        bool (*guards)(void *, int, bool,
                                                       uint32_t)) {
  struct machine *m = calloc(1, sizeof *m);
  struct arena *a = arena_open();
  struct text bytes = {0};
  struct diag d = {0};
  struct asm_program *p = asm_parse(a, isa, "test", text, &d);
  bool good = p && asm_bytes(p, 0, NULL, 0, &bytes, &d) &&
              bytes.length <= sizeof m->program;
  if (good)
    memcpy(m->program, bytes.data, bytes.length);
  else
    diag_print(&d, stderr);
  text_free(&bytes);
  arena_close(a);
  struct core_surroundings around = {
      .isa = isa,
      .context = m,
      .program = m->program,
      .memory = {NULL, NULL, NULL, m->memory},
      .acquire = machine_acquire,
      .release = machine_release,
      .guards = guards,
  };
  m->core = core_open(&around);
  core_enable(m->core, true);
  if (good)
    return m;
  core_close(m->core);
  free(m);
  return NULL;
}

static inline struct machine *
machine_open_guarded(const char *text,
                     bool (*guards)(void *, int, bool, uint32_t)) {
  return machine_open_for(isa_find("aie2"), text, guards);
}

static inline struct machine *machine_open(const char *text) {
  return machine_open_guarded(text, NULL);
}

static inline void machine_close(struct machine *m) {
  if (m)
    core_close(m->core);
  free(m);
}

/* Runs until the core stops by itself; false if it failed or went on. */
static inline bool machine_run(struct machine *m, long limit) {
  unsigned banks;
  while (core_state(m->core) == CORE_RUNNING && limit-- > 0)
    core_step(m->core, &banks);
  if (core_state(m->core) == CORE_FAILED)
    diag_print(core_diag(m->core), stderr);
  return core_state(m->core) == CORE_DONE;
}

static inline uint32_t machine_reg(struct machine *m, const char *name) {
  uint32_t value = 0xDEADBEEF;
  core_read_register(m->core, name, &value);
  return value;
}

#endif
