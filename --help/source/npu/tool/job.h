/* job.h -- the input that map, design, build and sim share: a contraction given
 * by sizes, as an einsum expression or as a TEIR program, which may be placed
 * on the array already. */
#ifndef NPUTEIR_TOOL_JOB_H
#define NPUTEIR_TOOL_JOB_H

#include "npu.h"
#include "teir_einsum.h"
#include "tool.h"

struct job {
  const char *device;
  struct teir_problem problem; /* extents only where sizes are given */
  struct teir_einsum einsum;   /* expression NULL: no einsum */
  const char *sizes;           /* of its letters */
  bool typed;                  /* problem.type was given */
  const char *file;            /* of a program, or NULL */
  const char *output;          /* -o, or NULL */
};
extern const struct job job_defaults;

extern const struct tool_option job_options[];

/* Whether a word is one of the forms but for a file of any name. */
bool job_is_program(const char *word);
/* The first word of a call that takes a job. */
bool job_read_input(struct tool *, void *job, const char *word);
/* Three types. */
bool job_read_types(struct tool *, void *job, const char *word);
bool job_read_shift(struct tool *, void *job, const char *word);
/* A device or a preset, as npu_compile takes it. */
bool job_read_device(struct tool *, void *device, const char *word);
void job_list_devices(struct text *);
/* What the job is to compute; NULL and the call's diag. */
const struct teir *job_teir(struct tool *, struct job *);
/* Compiles the job as far as bytes. */
bool job_compile(struct tool *, struct job *, struct npu_result *);

#endif
