/* options.c -- which device, and how: the call's options and the environment.
 *
 * The grammar is that of the compiler's options, and so is the parser
 * (recognizer.h); here count device=, preset=, min-macs= and off.
 * NPUTEIR_OPTIONS is the weakest door, the options compiled into the call are
 * stronger, and NPUTEIR_DEVICE decides where one binary runs today.
 */
#include "array.h"
#include "parts.h"
#include "recognizer.h"

#include <stdlib.h>

static const struct run_options weakest = {
    .device = "auto",
    .preset = "8700g",
    /* About the work that a CPU core does in the 50 us a launch costs. */
    .min_macs = 1 << 21,
};

/* The environment may change between calls and under our feet: copied. */
static const char *environment(struct arena *a, const char *name) {
  const char *text = getenv(name);
  return text && *text ? arena_string(a, text) : NULL;
}

bool run_options_read(struct arena *a, const char *call_options,
                      struct run_options *o, struct diag *d) {
  struct options words = options_default();
  const char *weak = environment(a, "NPUTEIR_OPTIONS");
  if ((weak && !options_parse(&words, a, "NPUTEIR_OPTIONS", weak, d)) ||
      (call_options &&
       !options_parse(&words, a, "the call's options", call_options, d)))
    return false;
  *o = weakest;
  o->off = words.off;
  if (words.device)
    o->device = words.device;
  if (words.preset)
    o->preset = words.preset;
  if (words.min_macs >= 0)
    o->min_macs = words.min_macs;
  const char *device = environment(a, "NPUTEIR_DEVICE");
  if (device)
    o->device = device;
  return preset_find(o->preset) ||
         diag_error(d, loc_none(), "there is no preset '%s'", o->preset);
}
