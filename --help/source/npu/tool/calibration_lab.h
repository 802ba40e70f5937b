/* calibration_lab.h -- a small array for one experiment. */
#ifndef NPUTEIR_TOOL_CALIBRATION_LAB_H
#define NPUTEIR_TOOL_CALIBRATION_LAB_H

#include "asm.h"
#include "setup.h"

/* Configuration first, then what runs; the first failure is kept in *diag. */
struct lab {
  struct arena *arena;
  struct command_list *configuration, *run;
  struct sim *sim;
  struct sim_report report;
  struct diag *diag;
  bool good;
};

static inline struct lab lab_open(struct diag *d) {
  struct arena *a = arena_open();
  return (struct lab){.arena = a,
                      .configuration = command_list(a),
                      .run = command_list(a),
                      .diag = d,
                      .good = true};
}

static inline void lab_load(struct lab *x, int column, int row,
                            const char *text) {
  struct text elf = {0};
  struct asm_program *p =
      x->good ? asm_parse(x->arena, isa_find(device_find("npu1")->isa),
                          "experiment", text, x->diag)
              : NULL;
  x->good = p && asm_link(&p, 1, NULL, 0, &elf, x->diag) &&
            elf_load(device_find("npu1"), elf.data, elf.length, column, row,
                     x->configuration, x->diag);
  text_free(&elf);
  uint32_t control = tile_address(column, row, REG_CORE_CONTROL);
  command_mask_write(x->configuration, control, 2, 2);
  command_mask_write(x->configuration, control, 2, 0);
  command_mask_write(x->configuration, control, 1, 1);
}

/* Runs what is listed, with a trace if one is given. */
static inline bool lab_run(struct lab *x, const char *preset, int columns,
                           const struct sim_buffer *args, int count,
                           FILE *trace) {
  struct sim_options o = {
      .preset = preset_find(preset), .cycle_budget = 100000000, .trace = trace};
  x->good = x->good && (x->sim = sim_create(&o, columns, x->diag)) &&
            sim_apply(x->sim, x->configuration, x->diag) &&
            sim_execute(x->sim, x->run, args, count, &x->report, x->diag);
  return x->good;
}

static inline bool lab_close(struct lab *x) {
  sim_close(x->sim);
  arena_close(x->arena);
  return x->good;
}

#endif
