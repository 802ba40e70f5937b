/* compile.c -- the whole compiler on a page: each stage takes what the one
 * before gave and leaves no trace elsewhere. */
#include "npu.h"

#include "emit.h"

#include <string.h>

/* design + core programs -> bytes */
static bool make_images(struct arena *a, struct npu_result *r, struct diag *d) {
  const struct device *device = r->program->device;
  struct command_list *configuration = command_list(a), *run = command_list(a);
  struct xclbin_info info = {.kernel = "NPUTEIR",
                             .columns = r->program->columns,
                             .start_column_count = 1,
                             .start_columns = {0},
                             .buffer_arguments = TENSORS};
  r->configuration = configuration;
  r->run = run;
  return emit_configuration(r->design, configuration, d) &&
         emit_run(r->design, run, d) && cdo_write(configuration, &r->cdo, d) &&
         pdi_write(r->cdo.data, r->cdo.length, &r->pdi, d) &&
         xclbin_write(&info, r->pdi.data, r->pdi.length, &r->xclbin, d) &&
         txn_write(run, device->txn_generation, r->program->columns, &r->txn,
                   d);
}

bool npu_compile_teir(struct arena *a, const char *platform,
                      const struct teir *teir, struct npu_result *r,
                      struct diag *d) {
  struct platform at;
  r->teir = teir;
  return platform_find(platform, &at, d) &&
         (r->program = map_program(a, r->teir, at.device, d)) != NULL &&
         (r->design = design_make(a, r->program, d)) != NULL &&
         make_images(a, r, d);
}

bool npu_compile(struct arena *a, const char *platform,
                 const struct map_problem *problem, struct npu_result *r,
                 struct diag *d) {
  memset(r, 0, sizeof *r);
  struct platform at;
  return platform_find(platform, &at, d) &&
         map_choose(&at, problem, &r->blocking, d) &&
         npu_compile_teir(a, platform,
                          map_schedule(a, at.device, problem, &r->blocking), r,
                          d);
}

void npu_result_free(struct npu_result *r) {
  text_free(&r->cdo);
  text_free(&r->pdi);
  text_free(&r->xclbin);
  text_free(&r->txn);
}
