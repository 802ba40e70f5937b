/* options.c -- which device, and how: the call's options and the environment.
 *
 * The grammar and the parser are those of the compiler's options
 * (recognizer.h); here count device=, preset=, fp=, f32=, bf16=,
 * min-macs=, resident= and off.
 * NPUTEIR_OPTIONS is the weakest source, the options compiled into the call are
 * stronger, and NPUTEIR_DEVICE decides where one binary runs today.
 */
#include "array.h"
#include "parts.h"

#include <string.h>

struct run_options run_options_weakest(void) {
  return (struct run_options){
      .device = "auto",
      .preset = "8700g",
      .min_macs = -1,
  };
}

static bool copy_word(const char *word, char *to, size_t room, const char *what,
                      struct diag *d) {
  if (strlen(word) >= room)
    return diag_error(d, loc_none(), "there is no %s '%s'", what, word);
  strcpy(to, word);
  return true;
}

static bool take_preset(const char *word, struct run_options *o,
                        struct diag *d) {
  return copy_word(word, o->preset, sizeof o->preset, "preset", d) &&
         (preset_find(o->preset) ||
          diag_error(d, loc_none(), "there is no preset '%s'", o->preset));
}

static bool take_words(const struct options *words, struct run_options *o,
                       struct diag *d) {
  if (words->off)
    o->off = true;
  o->f32 = words->f32;
  o->bf16 = words->bf16;
  o->finite |= words->fp == FP_RELAXED;
  o->resident = words->resident;
  if (words->min_macs >= 0)
    o->min_macs = words->min_macs;
  if (words->device &&
      !copy_word(words->device, o->device, sizeof o->device, "device", d))
    return false;
  return !words->preset || take_preset(words->preset, o, d);
}

bool run_options_read(const char *source, const char *text,
                      struct run_options *o, struct diag *d) {
  if (!text || !*text)
    return true;
  struct arena *a = arena_open();
  struct options words = options_default();
  words.f32 = (enum f32_mode)o->f32; /* what holds if nothing is said */
  words.bf16 = (enum bf16_mode)o->bf16;
  words.resident = o->resident;
  bool good =
      options_parse(&words, a, source, text, d) && take_words(&words, o, d);
  arena_close(a);
  return good;
}

bool run_options_device(const char *word, struct run_options *o,
                        struct diag *d) {
  static const char sim[] = "sim:"; /* and its platform */
  if (!word || !*word)
    return true;
  if (strncmp(word, sim, sizeof sim - 1) != 0)
    return copy_word(word, o->device, sizeof o->device, "device", d);
  strcpy(o->device, "sim");
  return take_preset(word + sizeof sim - 1, o, d);
}
