/* calibration.c -- `nputeir bench calibration`: every experiment beside what
 * hardware gave, a line each. */
#include "calibration.h"
#include "bench.h"
#include "keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What cannot be repeated, and why. */
static const struct {
  const char *cal, *what, *why;
} left_out[] = {
    {"1", "Steinert's assembly kernels, 64x80x64 and 64x64x64",
     "their text is not published, and so not which of the 80 accesses that "
     "could meet do: they waited 71 of 2757 cycles"},
    {"2", "Hello XDNA's kernel, called 1e6 times",
     "its text is not ours; fetched, it takes 288 bundles without a stall, 300 "
     "cycles with a calling loop of 12 (296 measured), and with all blocks in "
     "one bank pair 356 stalls, as many as its accesses that meet"},
    {"P9", "AMD's sample: a token of one column 2.67 us, of four 1.33 us",
     "on which platform is not said; ours take 2.72 and 1.77 us, 2 and 33 % "
     "more"},
    {"N8", "jitter of DRAM: the length of a run varies by 2 %",
     "a simulated run is the same every time"},
    {"-", "ARIES's int8 layer",
     "its cores' programs and their cycles are not published"},
};

static const struct calibration_table *const tables[] = {
    &calibration_tile, &calibration_shim, &calibration_array};

static bool print_row(struct tool *t, const struct calibration *c) {
  double value;
  if (!c->measure(c->parameter, &value, &t->diag))
    return false;
  double scale = c->published ? fabs(c->published) : 1;
  bool within = fabs(value - c->published) <= c->tolerance * scale + 1e-9;
  keys_print(t,
             "cal=%s what=\"%s\" value=%.6g published=%.6g unit=%s "
             "tolerance=%.3g within=%s fitted=%s%s%s%s\n",
             c->cal, c->what, value, c->published, c->unit, c->tolerance,
             within ? "yes" : "no", c->fitted ? "yes" : "no",
             c->note ? " note=\"" : "", c->note ? c->note : "",
             c->note ? "\"" : "");
  return true;
}

bool bench_calibration(struct tool *t, void *to) {
  const char *only = ((struct bench_calibration_job *)to)->only;
  bool any = false;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (int j = 0; j < tables[i]->count; j++) {
      const struct calibration *c = &tables[i]->row[j];
      if (only && strcmp(only, c->cal) != 0)
        continue;
      any = true;
      if (!print_row(t, c))
        return false;
    }
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
    if (!only || strcmp(only, left_out[i].cal) == 0) {
      any = true;
      keys_print(t, "cal=%s what=\"%s\" left_out=\"%s\"\n", left_out[i].cal,
                 left_out[i].what, left_out[i].why);
    }
  return any || tool_usage(t, "there is no experiment '%s'", only);
}
