/* options.c -- which device, and how: the call's options and the environment.
 *
 * The grammar is that of the compiler's options (recognizer.h); here count
 * device=, preset=, min-macs= and off, and the compiler's own words are passed
 * over.  NPUTEIR_OPTIONS is the weakest door, the options compiled into the
 * call are stronger, and NPUTEIR_DEVICE decides where one binary runs today.
 * Every call comes through here, so nothing is allocated.
 */
#include "array.h"
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct run_options run_options_weakest(void) {
  return (struct run_options){
      .device = "auto",
      .preset = "8700g",
      /* About what a CPU core does in the 50 us that a launch costs. */
      .min_macs = 1 << 21,
  };
}

/* One item between separators, blanks removed. */
struct item {
  const char *text;
  size_t length;
};

static bool item_is(struct item i, const char *word) {
  return i.length == strlen(word) && memcmp(i.text, word, i.length) == 0;
}

/* Whether the item is `key` (which ends in '=') and a value. */
static bool item_key(struct item i, const char *key, struct item *value) {
  size_t n = strlen(key);
  if (i.length < n || memcmp(i.text, key, n) != 0)
    return false;
  *value = (struct item){i.text + n, i.length - n};
  return true;
}

static bool copy_word(struct item v, char *to, size_t room, const char *what,
                      struct diag *d) {
  if (v.length >= room)
    return diag_error(d, loc_none(), "there is no %s '%.*s'", what,
                      (int)v.length, v.text);
  memcpy(to, v.text, v.length);
  to[v.length] = 0;
  return true;
}

static bool read_preset(struct item v, struct run_options *o, struct diag *d) {
  if (!copy_word(v, o->preset, sizeof o->preset, "preset", d))
    return false;
  return preset_find(o->preset) ||
         diag_error(d, loc_none(), "there is no preset '%s'", o->preset);
}

static bool read_count(struct item v, int64_t *count, struct diag *d) {
  char *end;
  errno = 0;
  long long n = strtoll(v.text, &end, 10); /* ends at a separator */
  if (errno || v.length == 0 || end != v.text + v.length || n < 0)
    return diag_error(d, loc_none(), "min-macs is a whole number, not '%.*s'",
                      (int)v.length, v.text);
  *count = n;
  return true;
}

static bool read_item(struct item i, struct run_options *o, struct diag *d) {
  struct item v;
  if (item_is(i, "off"))
    o->off = true;
  if (item_key(i, "device=", &v))
    return copy_word(v, o->device, sizeof o->device, "device", d);
  if (item_key(i, "preset=", &v))
    return read_preset(v, o, d);
  if (item_key(i, "min-macs=", &v))
    return read_count(v, &o->min_macs, d);
  return true;
}

bool run_options_read(const char *text, struct run_options *o, struct diag *d) {
  for (const char *p = text; p && *p;) {
    size_t length = strcspn(p, ",;");
    const char *first = p, *last = p + length;
    while (first < last && *first == ' ')
      first++;
    while (last > first && last[-1] == ' ')
      last--;
    struct item i = {first, (size_t)(last - first)};
    if (!read_item(i, o, d))
      return false;
    p += length + (p[length] != 0);
  }
  return true;
}

bool run_options_device(const char *word, struct run_options *o,
                        struct diag *d) {
  if (!word || !*word)
    return true;
  struct item v = {word, strlen(word)};
  return copy_word(v, o->device, sizeof o->device, "device", d);
}
