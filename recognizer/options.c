/* options.c -- the one parser of nputeir's options.  They reach the plugin
 * through a function's annotation, -passes=nputeir<...>, -mllvm
 * -nputeir-options=..., and NPUTEIR_OPTIONS; a caller parses the weakest source
 * first into one struct, so that the nearest to the code wins. */
#include "recognizer_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the runtime calls its devices; those that begin with npu are silicon. */
static const char *const device[] = {"auto", "npu",  "npu1", "npu4",
                                     "sim",  "host", "xrt",  "cpu"};
static const char *const fp_word[] = {"strict", "relaxed"};
static const char *const switch_word[] = {"off", "on"};
static const char *const f32_word[] = {"keep", "bf16", "bf16x3"};
static const char *const bf16_word[] = {"exact", "bfp16"};

struct options options_default(void) {
  return (struct options){.min_macs = -1, .cpu = CPU_AUTO};
}

bool options_on_host(const struct options *o) {
  return o->device && strcmp(o->device, "host") == 0;
}

bool options_on_cpu(const struct options *o) {
  return o->device && strcmp(o->device, "cpu") == 0;
}

bool options_any_type(const struct options *o) {
  return options_on_host(o) || options_on_cpu(o);
}

bool options_wide_floats(const struct options *o) {
  return options_any_type(o) || o->f32 != F32_KEEP;
}

bool options_for_tests(const struct options *o) {
  return options_on_host(o) || (o->device && strcmp(o->device, "sim") == 0);
}

bool options_cpu_beside(const struct options *o, bool small_code) {
  if (o->cpu != CPU_AUTO)
    return o->cpu == CPU_ON;
  return !small_code && !options_for_tests(o) && !o->require;
}

/* The index of `word` among `count` words, else -1 and the choices in *d. */
static int choose(const char *source, const char *key, const char *word,
                  const char *const *choice, int count, struct diag *d) {
  char list[100];
  int at = 0;
  for (int i = 0; i < count; i++) {
    if (strcmp(word, choice[i]) == 0)
      return i;
    at += snprintf(list + at, sizeof list - (size_t)at, "%s%s", i ? ", " : "",
                   choice[i]);
  }
  diag_error(d, loc_none(), "nputeir: %s: %s is one of %s, not '%s'", source,
             key, list, word);
  return -1;
}

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static bool parse_item(struct options *o, const char *source, char *item,
                       struct diag *d) {
  char *word = strchr(item, '=');
  if (!word) {
    if (strcmp(item, "off") == 0)
      return o->off = true;
    if (strcmp(item, "require") == 0)
      return o->require = true;
    return diag_error(d, loc_none(),
                      "nputeir: %s: there is no option '%s'; options are "
                      "device=, cpu=, preset=, fp=, f32=, bf16=, "
                      "min-macs=, resident=, off, require",
                      source, item);
  }
  *word++ = 0;
  int i;
  if (strcmp(item, "device") == 0) {
    if ((i = choose(source, item, word, device, COUNT(device), d)) < 0)
      return false;
    o->device = device[i];
  } else if (strcmp(item, "preset") == 0) {
    o->preset = word; /* the simulator's, which knows the names */
  } else if (strcmp(item, "fp") == 0) {
    if ((i = choose(source, item, word, fp_word, COUNT(fp_word), d)) < 0)
      return false;
    o->fp = (enum fp_mode)i;
  } else if (strcmp(item, "f32") == 0) {
    if ((i = choose(source, item, word, f32_word, COUNT(f32_word), d)) < 0)
      return false;
    o->f32 = (enum f32_mode)i;
  } else if (strcmp(item, "bf16") == 0) {
    if ((i = choose(source, item, word, bf16_word, COUNT(bf16_word), d)) < 0)
      return false;
    o->bf16 = (enum bf16_mode)i;
  } else if (strcmp(item, "cpu") == 0) {
    if ((i = choose(source, item, word, switch_word, COUNT(switch_word), d)) <
        0)
      return false;
    o->cpu = (enum cpu_mode)i;
  } else if (strcmp(item, "resident") == 0) {
    if ((i = choose(source, item, word, switch_word, COUNT(switch_word), d)) <
        0)
      return false;
    o->resident = i;
  } else if (strcmp(item, "min-macs") == 0) {
    char *end;
    errno = 0;
    long long v = strtoll(word, &end, 10);
    if (errno || end == word || *end || v < 0)
      return diag_error(d, loc_none(),
                        "nputeir: %s: min-macs is a whole number from 0 to "
                        "2^63 - 1, not '%s'",
                        source, word);
    o->min_macs = v;
  } else {
    return diag_error(d, loc_none(),
                      "nputeir: %s: there is no option '%s='; options are "
                      "device=, cpu=, preset=, fp=, f32=, bf16=, "
                      "min-macs=, resident=, off, require",
                      source, item);
  }
  return true;
}

bool options_parse(struct options *o, struct arena *a, const char *source,
                   const char *text, struct diag *d) {
  for (const char *p = text; *p;) {
    size_t length = strcspn(p, ",;");
    const char *first = p + strspn(p, " ");
    const char *last = p + length;
    while (last > first && last[-1] == ' ')
      last--;
    if (last > first &&
        !parse_item(o, source,
                    arena_substring(a, first, (size_t)(last - first)), d))
      return false;
    p += length + (p[length] != 0);
  }
  return true;
}

void options_print(const struct options *o, struct text *t) {
  const char *comma = "";
  if (o->device) {
    text_printf(t, "device=%s", o->device);
    comma = ",";
  }
  if (o->preset) {
    text_printf(t, "%spreset=%s", comma, o->preset);
    comma = ",";
  }
  if (o->f32 != F32_KEEP) {
    text_printf(t, "%sf32=%s", comma, f32_word[o->f32]);
    comma = ",";
  }
  if (o->bf16 != BF16_EXACT) {
    text_printf(t, "%sbf16=%s", comma, bf16_word[o->bf16]);
    comma = ",";
  }
  if (o->min_macs >= 0) {
    text_printf(t, "%smin-macs=%lld", comma, (long long)o->min_macs);
    comma = ",";
  }
  if (o->resident)
    text_printf(t, "%sresident=on", comma);
}
