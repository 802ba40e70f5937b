/* resident_test.c -- a transaction that stays on the simulated array for
 * several runs, with a host that asks for them, too late, or not at all; and
 * what a run costs then, beside a command of its own. */
#include "check.h"
#include "emit.h"
#include "npu.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 16, ARGUMENTS = TENSORS + 1, LOOK_CYCLES = 500 };

struct bench {
  struct arena *arena;
  const struct preset *preset;
  struct npu_result r;
  struct resident_place place;
  struct resident_ring ring;
  struct text txn, xclbin;
  struct sim *sim, *plain;
  struct sim_buffer argument[ARGUMENTS];
  uint32_t seed;
};

/* A partition as wide as the transaction needs. */
static struct sim *open_sim(const struct bench *b, struct diag *d) {
  struct sim_options o = {.preset = b->preset, .cycle_budget = 100000000};
  return sim_open(b->xclbin.data, b->xclbin.length, &o, d);
}

static void start(struct bench *b, const char *preset, int64_t m, int64_t n,
                  int64_t k) {
  struct diag d = {0};
  *b = (struct bench){.arena = arena_open(), .preset = preset_find(preset)};
  const struct teir_problem q = {.extent = {1, m, n, k},
                                 .type = {DTYPE_I8, DTYPE_I8, DTYPE_I32},
                                 .acc = DTYPE_I32};
  const struct teir *t = teir_from_problem(b->arena, &q, &d);
  CHECK(t && npu_compile(b->arena, preset, t, 0, &b->r, &d));
  CHECK(resident_find(b->r.design, &b->place));
  b->ring = resident_ring(&b->place);
  struct command_list *l = command_list(b->arena);
  resident_write(&b->place, b->r.run, RUNS, l);
  CHECK(txn_write(l, b->r.program->device, b->place.columns, &b->txn, &d));
  CHECK(xclbin_around(b->r.cdo.data, b->r.cdo.length, b->place.columns,
                      ARGUMENTS, &b->xclbin, &d));
  b->sim = open_sim(b, &d);
  b->plain = open_sim(b, &d);
  CHECK(b->sim && b->plain);
  for (int i = 0; i < TENSORS; i++) {
    size_t bytes = (size_t)b->r.program->transfer[i].bytes;
    b->argument[b->r.program->transfer[i].tensor] =
        (struct sim_buffer){calloc(1, bytes), bytes};
  }
  b->argument[TENSORS] =
      (struct sim_buffer){calloc(1, b->ring.bytes), b->ring.bytes};
  if (d.kind)
    diag_print(&d, stderr);
}

static void finish(struct bench *b) {
  sim_close(b->sim);
  sim_close(b->plain);
  for (int i = 0; i < ARGUMENTS; i++)
    free(b->argument[i].data);
  text_free(&b->txn);
  text_free(&b->xclbin);
  npu_result_free(&b->r);
  arena_close(b->arena);
}

static void fill_inputs(struct bench *b) {
  for (int i = IN0; i <= IN1; i++)
    for (size_t k = 0; k < b->argument[i].bytes; k++) {
      b->seed = b->seed * 1664525 + 1013904223;
      ((int8_t *)b->argument[i].data)[k] = (int8_t)(b->seed >> 24);
    }
}

static uint32_t *word(const struct bench *b, size_t offset) {
  return (uint32_t *)((char *)b->argument[TENSORS].data + offset);
}

static void arm(const struct bench *b) {
  memset(b->argument[TENSORS].data, 0, b->ring.bytes);
  *word(b, b->ring.end) = UINT32_MAX;
}

static uint32_t runs_done(const struct bench *b) {
  return *word(b, b->ring.done + RESIDENT_RUNS);
}

static uint32_t last_read(const struct bench *b) {
  return *word(b, b->ring.done);
}

/* Whether out is what a command of its own computes; its cycles. */
static bool right(struct bench *b, uint64_t *cycles) {
  struct sim_buffer argument[TENSORS];
  struct sim_report report;
  struct diag d = {0};
  memcpy(argument, b->argument, sizeof argument);
  argument[OUT].data = calloc(1, argument[OUT].bytes);
  bool good = sim_run(b->plain, b->r.txn.data, b->r.txn.length, argument,
                      TENSORS, &report, &d) &&
              memcmp(argument[OUT].data, b->argument[OUT].data,
                     argument[OUT].bytes) == 0;
  free(argument[OUT].data);
  *cycles = report.cycles;
  return good;
}

static bool begin(const struct bench *b) {
  struct diag d = {0};
  bool good =
      sim_begin(b->sim, b->txn.data, b->txn.length, b->argument, ARGUMENTS, &d);
  if (!good)
    diag_print(&d, stderr);
  return good;
}

static uint64_t end(const struct bench *b) {
  struct sim_report report;
  struct diag d = {0};
  while (!sim_advance(b->sim, UINT64_MAX))
    ;
  CHECK(sim_end(b->sim, &report, &d));
  if (d.kind)
    diag_print(&d, stderr);
  return report.cycles;
}

/* Each run is asked for as soon as the one before is done.  Cycles from the
 * question to the answer, of the first and of the others. */
static void ask_at_once(struct bench *b, uint64_t cycles[2],
                        uint64_t *plain_cycles) {
  arm(b);
  memset(cycles, 0, 2 * sizeof *cycles);
  bool ended = false;
  for (uint32_t run = 1; run <= RUNS; run++) {
    fill_inputs(b);
    *word(b, b->ring.asked) = (uint32_t)((1ull << run) - 1);
    if (run == 1)
      CHECK(begin(b));
    uint64_t looks = 0;
    for (; runs_done(b) < run && !ended; looks++)
      ended = sim_advance(b->sim, LOOK_CYCLES);
    cycles[run > 1] += looks * LOOK_CYCLES;
    CHECK(runs_done(b) == run && last_read(b) != UINT32_MAX);
    CHECK(right(b, plain_cycles));
  }
  cycles[1] /= RUNS - 1;
  end(b);
}

static void test_runs(const char *preset, int64_t m, int64_t n, int64_t k) {
  struct bench b;
  uint64_t cycles[2], plain;
  start(&b, preset, m, n, k);
  for (int i = 0; i < 2; i++)
    ask_at_once(&b, cycles, &plain);
  double us = 1e-3 / b.preset->clock_ghz;
  double command = 1e6 * b.preset->launch_seconds;
  printf("%s %lldx%lldx%lld, us: a command of its own %.1f + %.1f; resident "
         "%.1f, the first %.1f + %.1f; %zu bytes, alone %zu\n",
         preset, (long long)m, (long long)n, (long long)k, command,
         (double)plain * us, (double)cycles[1] * us, command,
         (double)cycles[0] * us, b.txn.length, b.r.txn.length);
  CHECK((double)cycles[1] * us < command / 2 + (double)plain * us);
  /* the array is as it was: commands of their own work there */
  struct sim_report report;
  struct diag d = {0};
  fill_inputs(&b);
  CHECK(sim_run(b.sim, b.r.txn.data, b.r.txn.length, b.argument, TENSORS,
                &report, &d));
  CHECK(right(&b, &plain));
  finish(&b);
}

/* Nobody asks for more than some runs: it ends, and says so. */
static void test_unasked(void) {
  struct bench b;
  uint64_t plain;
  start(&b, "phoenix", 64, 64, 64);
  for (uint32_t asked = 0; asked < RUNS; asked += 5) {
    arm(&b);
    fill_inputs(&b);
    *word(&b, b.ring.asked) = (uint32_t)((1ull << asked) - 1);
    CHECK(begin(&b));
    uint32_t runs = 0;
    uint64_t idle = 0, looks = 0;
    for (bool ended = false; !ended; looks++) {
      ended = sim_advance(b.sim, LOOK_CYCLES);
      if (runs_done(&b) > runs && last_read(&b) != UINT32_MAX) {
        runs = runs_done(&b);
        idle = looks;
      }
    }
    CHECK(runs == asked && runs_done(&b) == RUNS &&
          last_read(&b) == UINT32_MAX);
    CHECK(right(&b, &plain)); /* the others had the same inputs */
    uint64_t cycles = end(&b);
    if (!asked)
      printf("phoenix: idle, it ends after %.0f us\n",
             (double)cycles * 1e-3 / b.preset->clock_ghz);
    CHECK(cycles < 2000000 && idle <= looks);
  }
  finish(&b);
}

int main(void) {
  test_runs("phoenix", 64, 64, 64);
  test_runs("phoenix", 20, 24, 40);
  test_runs("krackan", 64, 64, 64);
  test_runs("krackan", 128, 128, 128);
  test_unasked();
  return check_result();
}
