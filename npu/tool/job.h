/* job.h -- the input that map, design and build share: a matrix product given
 * by its sizes, or a schedule that is placed on the array already. */
#ifndef NPUTEIR_TOOL_JOB_H
#define NPUTEIR_TOOL_JOB_H

#include "npu.h"

struct job {
  const char *command; /* for messages */
  const char *device;
  struct teir_problem problem;
  const char *teir_file; /* NULL: the problem counts */
  const char *output;    /* -o, or NULL */
};

/* Words of the call that all three take; described by JOB_TEXT. */
bool job_read(struct job *, const char *command, int argc, char **argv);
/* Compiles the job as far as bytes. */
bool job_compile(struct arena *, const struct job *, struct npu_result *,
                 struct diag *);

#define JOB_TEXT                                                               \
  "  MxNxK             sizes of out[m,n] = sum of in0[m,k] * in1[k,n]\n"       \
  "  FILE.teir         or a schedule placed on rows, columns and time\n"       \
  "  --types A,B,C     of in0, in1 and out: bf16,bf16,f32 (default), or\n"     \
  "                    bf16,bf16,bf16 (sums in f32, rounded once), or\n"       \
  "                    integers that have a kernel, such as i8,i8,i32\n"       \
  "  --relu            results below zero become zero\n"                       \
  "  --shift N         integer results: sum / 2^N, halves up, saturated\n"     \
  "  --device NAME     npu1 (default), or a preset, whose DRAM then counts:\n" \
  "                    8700g, 8700g-powersaver, 8700g-turbo, phoenix\n"

#endif
