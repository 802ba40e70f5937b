/* host.c -- the device "host": TEIR executed on host memory, the oracle.  The
 * fast executor without a BLAS gives the bits of the plain one. */
#include "parts.h"

#include "teir_fast.h"

static bool run_teir(const struct teir *t, void *const tensor[],
                     struct diag *d) {
  return teir_run_fast(t, tensor, 1, NULL, d);
}

const struct run_device run_host = {.name = "host", .run_teir = run_teir};
