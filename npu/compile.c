/* compile.c -- the whole compiler on a page: each stage takes what the one
 * before gave and leaves no trace elsewhere. */
#include "npu.h"

#include "emit.h"

#include <string.h>

static const struct device *find_device(const char *name, struct diag *d) {
  const struct device *device = device_find(name);
  if (!device)
    diag_error(d, loc_none(), "there is no device '%s'", name);
  return device;
}

/* design + core programs -> bytes */
static bool make_images(struct arena *a, struct npu_result *r, struct diag *d) {
  const struct device *device = r->program->device;
  struct command_list *configuration = command_list(a), *run = command_list(a);
  struct xclbin_info info = {.kernel = "NPUTEIR",
                             .columns = r->program->columns,
                             .start_column_count = 1,
                             .start_columns = {0},
                             .buffer_arguments = MAP_TENSORS};
  r->configuration = configuration;
  r->run = run;
  return emit_configuration(r->design, configuration, d) &&
         emit_run(r->design, run, d) && cdo_write(configuration, &r->cdo, d) &&
         pdi_write(r->cdo.data, r->cdo.length, &r->pdi, d) &&
         xclbin_write(&info, r->pdi.data, r->pdi.length, &r->xclbin, d) &&
         txn_write(run, device->txn_generation, r->program->columns, &r->txn,
                   d);
}

bool npu_compile_teir(struct arena *a, const char *device_name,
                      const struct teir *teir, struct npu_result *r,
                      struct diag *d) {
  const struct device *device = find_device(device_name, d);
  r->teir = teir;
  return device && (r->program = map_program(a, r->teir, device, d)) != NULL &&
         (r->design = design_make(a, r->program, d)) != NULL &&
         make_images(a, r, d);
}

bool npu_compile(struct arena *a, const char *device_name,
                 const struct map_problem *problem, struct npu_result *r,
                 struct diag *d) {
  memset(r, 0, sizeof *r);
  const struct device *device = find_device(device_name, d);
  return device && map_choose(device, problem, &r->blocking, d) &&
         npu_compile_teir(a, device_name,
                          map_schedule(a, device, problem, &r->blocking), r, d);
}

void npu_result_free(struct npu_result *r) {
  text_free(&r->cdo);
  text_free(&r->pdi);
  text_free(&r->xclbin);
  text_free(&r->txn);
}
