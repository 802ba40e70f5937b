/* host.c -- the device "host": TEIR executed on host memory, the oracle. */
#include "parts.h"

const struct run_device run_host = {.name = "host", .run_teir = teir_run};
