/* report.h -- what `nputeir report` shows of a nest beside its source. */
#ifndef NPUTEIR_TOOL_REPORT_H
#define NPUTEIR_TOOL_REPORT_H

#include "findings.h"
#include "tool.h"

enum { REPORT_AXES = 24, REPORT_PLATFORMS = 16 };

/* What an NPU would do for a nest, on tensors that lie densely in the order of
 * its einsum: the program's own strides may be known at run time only. */
struct report_plan {
  const char *why;     /* there is none; NULL: there is */
  const char *command; /* words for nputeir map, design, build, sim, profile */
  int axis_count;
  struct {
    char letter;
    const char *size; /* "n_j", where run time knows it; else NULL */
    int64_t extent;   /* with --size or --bind in the place of it */
  } axis[REPORT_AXES];
  double macs, loop_seconds, seconds; /* seconds: of --device */
  bool passes;              /* floats as three products of bf16 each */
  const char *tree, *cores; /* the schedule; SVG of the blocks on the array */
  int platform_count;
  struct {
    const struct preset *preset;
    double seconds; /* of one launch */
  } platform[REPORT_PLATFORMS];
};

/* Sizes in the place of those that run time knows. */
struct report_sizes {
  int64_t size;
  int count;
  const char *name[64];
  int64_t value[64];
};

/* Of a nest that was taken. */
struct report_plan *report_plan_of(struct tool *, const struct finding *,
                                   const struct report_sizes *,
                                   const struct preset *);

struct npu_result;
/* The blocks of out, coloured by the core that computes them, and the array. */
void report_draw_cores(const struct npu_result *, struct text *);

/* The page: nests in order; plan[i] is NULL of one that was declined. */
void report_page(struct arena *, const struct findings *,
                 struct report_plan *const *plan, const struct preset *,
                 struct text *);

#endif
