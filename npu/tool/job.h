/* job.h -- the input that map, design and build share: a matrix product given
 * by its sizes, or a schedule that is placed on the array already. */
#ifndef NPUTEIR_TOOL_JOB_H
#define NPUTEIR_TOOL_JOB_H

#include "npu.h"
#include "tool.h"

struct job {
  const char *device;
  struct teir_problem problem;
  const char *teir_file; /* NULL: the problem counts */
  const char *output;    /* -o, or NULL */
};
extern const struct job job_defaults;

extern const struct tool_option job_options[];

/* Compiles the job as far as bytes. */
bool job_compile(struct tool *, struct job *, struct npu_result *);

#endif
