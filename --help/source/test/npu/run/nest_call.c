/* nest_call.c -- a made nest as a call of the runtime. */
#include "fake.h"
#include "nest.h"

#include <stdlib.h>

struct run *nest_open(const char *device) {
  if (device)
    setenv("NPUTEIR_DEVICE", device, 1);
  else
    unsetenv("NPUTEIR_DEVICE");
  struct run *r = run_open(&fake_compiler);
  unsetenv("NPUTEIR_DEVICE");
  return r;
}

bool nest_call(struct nest_work *w, struct run *r, const char *options,
               struct run_report *report) {
  void *tensor[NEST_TENSORS];
  uint64_t count = nest_tensors(w, tensor);
  struct run_request q = {.teir = w->teir,
                          .options = options,
                          .where = w->where ? w->where : "nest.c:1 f",
                          .value = w->value,
                          .value_count = (uint64_t)w->value_count,
                          .tensor = tensor,
                          .tensor_count = count};
  return run_call(r, &q, report);
}
