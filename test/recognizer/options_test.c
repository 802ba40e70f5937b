/* options_test.c -- the option grammar: every item, later items win, and one
 * error that names the source and the choices. */
#include "check.h"
#include "recognizer.h"

#include <string.h>

static const struct {
  const char *text, *error; /* NULL: it is right */
} row[] = {
    {"", NULL},
    {"device=npu1", NULL},
    {" device=sim , fp=relaxed;,,min-macs=0 ", NULL},
    {"off", NULL},
    {"require,preset=8700g", NULL},
    {"device=npu9",
     "device is one of auto, npu, npu1, npu4, sim, host, xrt, cpu"},
    {"fp=", "fp is one of strict, relaxed, not ''"},
    {"fp=fast", "fp is one of strict, relaxed"},
    {"cpu=on,cpu=off,device=cpu", NULL},
    {"cpu=yes", "cpu is one of off, on, not 'yes'"},
    {"f32=keep", NULL},
    {"f32=bf16,f32=bf16x3", NULL},
    {"f32=fp16", "f32 is one of keep, bf16, bf16x3, not 'fp16'"},
    {"bf16=exact,bf16=bfp16", NULL},
    {"bf16=fp8", "bf16 is one of exact, bfp16, not 'fp8'"},
    {"resident=on, resident=off", NULL},
    {"resident=1", "resident is one of off, on, not '1'"},
    {"min-macs=-1", "min-macs is a whole number from 0 to 2^63 - 1, not '-1'"},
    {"min-macs=1x", "min-macs is a whole number from 0 to 2^63 - 1, not '1x'"},
    {"min-macs=99999999999999999999",
     "from 0 to 2^63 - 1, not '99999999999999999999'"},
    {"of", "there is no option 'of'"},
    {"colour=red", "there is no option 'colour='"},
};

int main(void) {
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct options o = options_default();
    bool good = options_parse(&o, a, "the source", row[i].text, &d);
    CHECK(good == (row[i].error == NULL));
    CHECK(good ||
          (strstr(d.text, row[i].error) && strstr(d.text, "the source")));
    arena_close(a);
  }

  struct arena *a = arena_open();
  struct diag d = {0};
  struct text t = {0};
  struct options o = options_default();
  CHECK(options_parse(&o, a, "first",
                      "device=sim,fp=relaxed,f32=bf16,min-macs=7", &d));
  CHECK(options_parse(&o, a, "second", "device=npu1,f32=bf16x3", &d));
  CHECK(o.fp == FP_RELAXED && o.f32 == F32_BF16X3 && o.min_macs == 7);
  options_print(&o, &t);
  CHECK(strcmp(text_string(&t), "device=npu1,f32=bf16x3,min-macs=7") == 0);
  struct options again = options_default();
  CHECK(options_parse(&again, a, "printed", text_string(&t), &d));
  CHECK(strcmp(again.device, o.device) == 0 && again.min_macs == 7 &&
        again.f32 == F32_BF16X3);
  text_free(&t);

  /* What is said counts; where nothing is, whether the code would be used. */
  struct options plain = options_default();
  CHECK(options_cpu_beside(&plain, false) && !options_cpu_beside(&plain, true));
  for (const char *const *text =
           (const char *const[]){"device=sim", "device=host", "require", NULL};
       *text; text++) {
    struct options said = options_default();
    CHECK(options_parse(&said, a, "not said", *text, &d));
    CHECK(!options_cpu_beside(&said, false));
    CHECK(options_parse(&said, a, "said", "cpu=on", &d));
    CHECK(options_cpu_beside(&said, true));
  }
  CHECK(options_parse(&plain, a, "said", "cpu=off", &d));
  CHECK(!options_cpu_beside(&plain, false));
  arena_close(a);
  return check_result();
}
