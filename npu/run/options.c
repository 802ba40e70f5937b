/* options.c -- which device, and how: the call's options and the environment.
 *
 * The grammar is that of the compiler's options (recognizer.h); here count
 * device=, preset=, min-macs= and off, and the compiler's own words are passed
 * over.  NPUTEIR_OPTIONS is the weakest door, the options compiled into the
 * call are stronger, and NPUTEIR_DEVICE decides where one binary runs today.
 */
#include "array.h"
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct run_options weakest = {
    .device = "auto",
    .preset = "8700g",
    /* About the work that a CPU core does in the 50 us a launch costs. */
    .min_macs = 1 << 21,
};

static bool read_count(const char *word, int64_t *value) {
  char *end;
  errno = 0;
  long long v = strtoll(word, &end, 10);
  if (errno || end == word || *end || v < 0)
    return false;
  *value = v;
  return true;
}

static bool read_item(struct run_options *o, const char *item, struct diag *d) {
  if (strcmp(item, "off") == 0)
    o->off = true;
  else if (strncmp(item, "device=", 7) == 0)
    o->device = item + 7;
  else if (strncmp(item, "preset=", 7) == 0)
    o->preset = item + 7;
  else if (strncmp(item, "min-macs=", 9) == 0 &&
           !read_count(item + 9, &o->min_macs))
    return diag_error(d, loc_none(), "min-macs is a whole number, not '%s'",
                      item + 9);
  return true;
}

static bool read_items(struct arena *a, const char *text, struct run_options *o,
                       struct diag *d) {
  for (const char *p = text; p && *p;) {
    size_t length = strcspn(p, ",;");
    const char *first = p + strspn(p, " "), *last = p + length;
    while (last > first && last[-1] == ' ')
      last--;
    if (last > first &&
        !read_item(o, arena_substring(a, first, (size_t)(last - first)), d))
      return false;
    p += length + (p[length] != 0);
  }
  return true;
}

/* The environment may change between calls and under our feet: copied. */
static const char *environment(struct arena *a, const char *name) {
  const char *text = getenv(name);
  return text && *text ? arena_string(a, text) : NULL;
}

bool run_options_read(struct arena *a, const char *call_options,
                      struct run_options *o, struct diag *d) {
  *o = weakest;
  if (!read_items(a, environment(a, "NPUTEIR_OPTIONS"), o, d) ||
      !read_items(a, call_options, o, d))
    return false;
  const char *device = environment(a, "NPUTEIR_DEVICE");
  if (device)
    o->device = device;
  return preset_find(o->preset) ||
         diag_error(d, loc_none(), "there is no preset '%s'", o->preset);
}
