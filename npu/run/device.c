/* device.c -- the devices that there are, by name. */
#include "array.h"
#include "parts.h"

#include <string.h>

static const struct run_device *const device[] = {
    &run_host,
    &run_sim,
    &run_npu,
#ifdef NPUTEIR_XRT
    &run_xrt,
#endif
};
enum { DEVICES = sizeof device / sizeof *device };

/* Words for silicon: the models of device.def, and "auto". */
static bool wants_silicon(const char *name) {
  return strcmp(name, "auto") == 0 || device_find(name);
}

/* The first one that is there; else *d says why the first one is not. */
static const struct run_device *first_real(struct diag *d) {
  for (int i = 0; i < DEVICES; i++) {
    struct diag other = {0};
    if (device[i]->real && device[i]->present(d->kind ? &other : d)) {
      *d = (struct diag){0};
      return device[i];
    }
  }
  return NULL;
}

bool run_device_declines(const char *name) {
  for (int i = 0; i < DEVICES; i++)
    if (strcmp(device[i]->name, name) == 0)
      return device[i]->real;
  return wants_silicon(name) || strcmp(name, "xrt") == 0 ||
         strcmp(name, "cpu") == 0;
}

const struct run_device *run_device_find(const char *name, struct diag *d) {
  if (wants_silicon(name))
    return first_real(d);
  for (int i = 0; i < DEVICES; i++)
    if (strcmp(device[i]->name, name) == 0)
      return device[i]->present && !device[i]->present(d) ? NULL : device[i];
  if (strcmp(name, "xrt") == 0)
    diag_declined(d, loc_none(), "this runtime was built without XRT");
  else if (strcmp(name, "cpu") == 0)
    diag_declined(d, loc_none(), "device=cpu keeps the loop as written");
  else
    diag_error(d, loc_none(),
               "there is no device '%s'; devices are auto, npu, xrt, sim, host",
               name);
  return NULL;
}
