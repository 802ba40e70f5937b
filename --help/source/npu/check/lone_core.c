/* lone_core.c -- a kernel on one simulated core.
 *
 * Locks are served as a DMA would serve them, from blocks that lie outside; who
 * wants to know hears of every cycle which banks the core uses. */
#include "parts.h"

#include "asm.h"
#include "core.h"
#include "device_most.h"

#include <string.h>

enum {
  PROGRAM_BYTES = DEVICE_MOST_PROGRAM_BYTES,
  MEMORY_AT = DEVICE_CORE_ADDRESS,
  MOST_CYCLES = 4000000
};

void fill_noise(uint8_t *to, int64_t bytes) {
  memset(to, NOISE, (size_t)bytes);
}

static bool ring_acquire(void *context, int lock, int value) {
  struct feed *f = context;
  for (int i = 0; i < RINGS; i++) {
    struct ring *r = &f->ring[i];
    if (lock != r->take || value != -1 || r->taken == r->blocks ||
        r->taken - r->given >= 2)
      continue;
    memcpy(f->memory + r->at[r->taken % 2], r->data + r->taken * r->bytes,
           (size_t)r->bytes);
    r->taken++;
    return true;
  }
  return false;
}

static void ring_release(void *context, int lock, int value) {
  struct feed *f = context;
  for (int i = 0; i < RINGS; i++) {
    struct ring *r = &f->ring[i];
    if (lock != r->give || value != 1 || r->given == r->taken)
      continue;
    uint8_t *from = f->memory + r->at[r->given % 2];
    memcpy(r->data + r->given++ * r->bytes, from, (size_t)r->bytes);
    fill_noise(from, r->bytes);
  }
}

static bool ring_guards(void *context, int lock, bool acquire,
                        uint32_t address) {
  struct feed *f = context;
  for (int i = 0; i < RINGS; i++) {
    const struct ring *r = &f->ring[i];
    int buffer = acquire ? r->taken - 1 : r->given;
    int64_t at = (int64_t)address - MEMORY_AT - r->at[buffer & 1];
    if (lock == (acquire ? r->take : r->give) && at >= 0 && at < r->bytes)
      return true;
  }
  return false;
}

/* The kernel at 0, a `done` to return to behind it. */
static bool load(const struct asm_program *p, uint8_t program[PROGRAM_BYTES],
                 uint32_t *back, struct check_outcome *o, struct diag *d) {
  static const char done[] = "  done\n  nop\n  nop\n  nop\n  nop\n  nop\n";
  struct arena *a = arena_open();
  struct text bytes = {0}, end_bytes = {0};
  const struct asm_program *end = asm_parse(a, p->isa, "done", done, d);
  bool ok = end && asm_check(p, d) && asm_bytes(p, 0, NULL, 0, &bytes, d);
  *back = (uint32_t)(bytes.length + 15) / 16 * 16;
  ok = ok && asm_bytes(end, *back, NULL, 0, &end_bytes, d);
  if (ok && *back + end_bytes.length > PROGRAM_BYTES)
    ok = diag_error(d, loc_none(), "%zu bytes of program; a core has %d",
                    bytes.length, PROGRAM_BYTES);
  if (ok) {
    memset(program, 0, PROGRAM_BYTES);
    memcpy(program, bytes.data, bytes.length);
    memcpy(program + *back, end_bytes.data, end_bytes.length);
  }
  o->program_bytes = (int)bytes.length;
  text_free(&bytes);
  text_free(&end_bytes);
  arena_close(a);
  return ok;
}

static const char *const argument[ARGUMENTS] = {"p0", "p1", "p2", "r4", "r5"};

bool lone_core_run(const struct asm_program *p, struct feed *feed,
                   const uint32_t value[], int count, struct check_outcome *o,
                   struct diag *d) {
  uint8_t program[PROGRAM_BYTES];
  uint32_t back;
  *o = (struct check_outcome){0};
  if (!load(p, program, &back, o, d))
    return false;
  struct core_surroundings around = {.isa = p->isa,
                                     .context = feed,
                                     .program = program,
                                     .memory = {NULL, NULL, NULL, feed->memory},
                                     .acquire = ring_acquire,
                                     .release = ring_release,
                                     .guards = ring_guards};
  struct core *core = core_open(&around);
  core_strict(core, true);
  core_reset(core, 0);
  for (int i = 0; i < count; i++)
    core_write_register(core, argument[i],
                        value[i] + (i < POINTERS ? MEMORY_AT : 0));
  core_write_register(core, "lr", back);
  core_enable(core, true);
  for (int i = 0; i < MOST_CYCLES && core_state(core) == CORE_RUNNING; i++) {
    unsigned banks;
    const struct core_counts *c = core_counts(core);
    uint64_t macs = c->macs;
    if (core_pc(core) == back && !o->cycles) {
      o->cycles = c->cycles;
      o->bundles = c->bundles;
      o->macs = c->macs;
      o->stalls = c->stall[STALL_MEMORY];
    }
    core_step(core, &banks);
    if (feed->cycle && !o->cycles)
      feed->cycle(feed->context, banks);
    if (c->macs != macs) {
      o->first_mac = macs ? o->first_mac : c->cycles - 1;
      o->last_mac = c->cycles - 1;
    }
  }
  bool done = core_state(core) == CORE_DONE;
  if (core_state(core) == CORE_FAILED)
    *d = *core_diag(core);
  else if (!done)
    diag_error(d, loc_none(), "the kernel does not return");
  core_close(core);
  return done;
}

bool check_run(const struct asm_program *p, uint8_t memory[CHECK_MEMORY_BYTES],
               const uint32_t pointer[3], struct check_outcome *o,
               struct diag *d) {
  struct feed none = {.memory = memory};
  return lone_core_run(p, &none, pointer, POINTERS, o, d);
}

bool check_run_beside(const struct asm_program *p,
                      uint8_t memory[CHECK_MEMORY_BYTES],
                      const uint32_t pointer[3],
                      void (*cycle)(void *context, uint32_t banks),
                      void *context, struct check_outcome *o, struct diag *d) {
  struct feed none = {.memory = memory, .cycle = cycle, .context = context};
  return lone_core_run(p, &none, pointer, POINTERS, o, d);
}
