/* nest.h -- a contraction over arrays in memory, made to measure: its TEIR as
 * the compiler embeds it, its memory with guard zones, and the naive loops that
 * say what the result is. */
#ifndef NPUTEIR_TEST_NEST_H
#define NPUTEIR_TEST_NEST_H

#include "recognizer.h"
#include "run.h"

enum { NEST_AXES = 8, NEST_GUARD = 64 };

struct nest_axis {
  enum axis_role role;
  int64_t extent, stride[TENSORS]; /* bytes */
};

struct nest_work {
  enum dtype type[TENSORS];
  bool accumulate;
  int axis_count;
  struct nest_axis axis[NEST_AXES];
  size_t bytes[TENSORS]; /* of the tensors, guard zones not included */
  char *memory[TENSORS]; /* NEST_GUARD, tensor, NEST_GUARD */
  char *expected;        /* the whole memory of out afterwards */
  char *teir;
  int64_t value[NEST_AXES * (1 + TENSORS)];
  int value_count;
};

/* Fills bytes from the strides, allocates, fills with small numbers, runs the
 * naive loops into `expected` and prints the TEIR.  Extents and strides are
 * symbols when `symbolic`. */
void nest_make(struct nest_work *, bool symbolic, uint32_t seed);
void nest_free(struct nest_work *);
/* A runtime on the fake device, or, NULL, on what the options of a call say. */
struct run *nest_open(const char *device);
bool nest_call(struct nest_work *, struct run *, const char *options,
               struct run_report *);
/* Whether the memory of out, guard zones included, is as expected. */
bool nest_right(const struct nest_work *);
/* An M x N x K product of row-major matrices without gaps. */
void nest_gemm(struct nest_work *, enum dtype in, bool accumulate, int64_t m,
               int64_t n, int64_t k);
/* Up to six axes of any roles with small extents, and any layouts. */
void nest_random(struct nest_work *, uint32_t seed);

#endif
