/* sim_design.h -- small designs for the simulator's tests, opened and run. */
#ifndef NPUTEIR_SIM_DESIGN_H
#define NPUTEIR_SIM_DESIGN_H

#include "check.h"
#include "setup.h"

#include <string.h>

/* An array with this configuration; fails the test when it cannot be. */
static inline struct sim *open_design(const char *preset, int columns,
                                      const struct command_list *l) {
  struct diag d = {0};
  struct sim_options o = {.preset = preset_find(preset),
                          .cycle_budget = 100000000};
  struct sim *s = sim_create(&o, columns, &d);
  bool good = s && sim_apply(s, l, &d);
  if (!good)
    diag_print(&d, stderr);
  CHECK(good);
  return s;
}

/* Runs commands; the message is printed when the run fails. */
static inline bool run_design(struct sim *s, const struct command_list *txn,
                              const struct sim_buffer *args, int count,
                              struct sim_report *r) {
  struct diag d = {0};
  bool done = sim_execute(s, txn, args, count, r, &d);
  if (!done)
    diag_print(&d, stderr);
  return done;
}

#endif
