/* nest.h -- a contraction over arrays in memory, made to measure: its TEIR as
 * the compiler embeds it, its memory with guard zones, and the naive loops that
 * say what the result is. */
#ifndef NPUTEIR_TEST_NEST_H
#define NPUTEIR_TEST_NEST_H

#include "recognizer.h"
#include "run.h"
#include "teir_problem.h"

enum { NEST_AXES = 8, NEST_GUARD = 64, NEST_EXTRAS = 2, NEST_LIMITS = 4 };
/* Addresses of a call: in0, in1, out, and with a tail the sum and the extras */
enum { NEST_TENSORS = TENSORS + 1 + NEST_EXTRAS + 2 }; /* and two elements */

struct nest_axis {
  enum axis_role role;
  int64_t extent, stride[TENSORS]; /* bytes */
  int64_t extra[NEST_EXTRAS];      /* strides of the tail's extras */
};

/* Products count where start + the sum of step * index is not below zero or,
 * with `below`, is. */
struct nest_limit {
  bool below;
  int64_t start, step[NEST_AXES];
};

struct nest_work {
  const char *where; /* that a call says; NULL: "nest.c:1 f" */
  enum dtype type[TENSORS];
  bool accumulate;
  const char *tail;   /* over sum, out, x0, x1; NULL: none */
  const char *map[2]; /* with a tail, i32 over e, x0, x1; NULL: none */
  enum dtype acc;     /* with a tail: the sum's type */
  int extra_count;
  enum dtype extra_type[NEST_EXTRAS];
  char *extra[NEST_EXTRAS]; /* the memory */
  int64_t sum;              /* the place that a call brings for it */
  int axis_count;
  struct nest_axis axis[NEST_AXES];
  int limit_count;
  struct nest_limit limit[NEST_LIMITS];
  size_t bytes[TENSORS]; /* of the tensors, guard zones not included */
  char *memory[TENSORS]; /* NEST_GUARD, tensor, NEST_GUARD */
  char *expected;        /* the whole memory of out afterwards */
  char *teir;
  int64_t value[NEST_AXES * (1 + NEST_TENSORS) + NEST_LIMITS * (1 + NEST_AXES)];
  int value_count;
};

/* Fills bytes from the strides, allocates, fills with small numbers, runs the
 * naive loops into `expected` and prints the TEIR.  Extents and strides are
 * symbols when `symbolic`. */
void nest_make(struct nest_work *, bool symbolic, uint32_t seed);
/* The same, symbolic, with some of these values in the inputs. */
void nest_make_with(struct nest_work *, const int64_t *value, int count,
                    uint32_t seed);
void nest_free(struct nest_work *);
/* The addresses of a call; gives their number. */
uint64_t nest_tensors(struct nest_work *, void *tensor[NEST_TENSORS]);
/* A runtime on the fake device, or, NULL, on what the options of a call say. */
struct run *nest_open(const char *device);
bool nest_call(struct nest_work *, struct run *, const char *options,
               struct run_report *);
/* Whether the memory of out, guard zones included, is as expected. */
bool nest_right(const struct nest_work *);
/* Fills float inputs with numbers of all their bits, and out with zeros.  Then
 * the largest error of out, as a part of the sum of the products' magnitudes.
 */
void nest_fill_floats(struct nest_work *, uint32_t seed);
double nest_float_error(const struct nest_work *);
/* An M x N x K product of row-major matrices without gaps. */
void nest_gemm(struct nest_work *, enum dtype in, bool accumulate, int64_t m,
               int64_t n, int64_t k);
/* Up to six axes of any roles with small extents, and any layouts; with one of
 * some tails, and extras that move along any axes that move out, or none. */
void nest_random(struct nest_work *, bool tail, uint32_t seed);
/* Limits that move with axes of one input each. */
void nest_random_limits(struct nest_work *, uint32_t seed);
/* Integers made of the elements of one input or both, and of extras that move
 * with them. */
void nest_random_maps(struct nest_work *, uint32_t seed);
/* Whether every element of the inputs has a product that counts, or is beyond
 * a limit that moves with its own axes only. */
bool nest_needs_all(const struct nest_work *);

/* Tails that arrays have kernels for, and near misses. */
struct nest_finish {
  enum dtype in, acc, out;
  const char *tail;
  bool finishes; /* the device is asked for results, as follows */
  struct teir_finish finish;
  /* Along which axes x0 moves: a word over m and n; NULL: there is none */
  const char *moves;
};
extern const struct nest_finish nest_finishes[];
extern const int nest_finish_count;
/* A product with that tail. */
void nest_gemm_finish(struct nest_work *, const struct nest_finish *);

#endif
