/* npu_calls.h -- calls of the runtime on the driver's stand-in, for tests that
 * give each case a process of its own: the node is opened once a process. */
#ifndef NPU_CALLS_H
#define NPU_CALLS_H

#include "nest.h"

/* What became of calls: an or of these. */
enum { DONE = 1, DECLINED = 2, WRONG = 4, UNRULY = 8 };

int npu_call_with(struct nest_work *, const char *options);
/* To the NPU, however small. */
int npu_call(struct nest_work *);
/* A call of made-up numbers: DONE or DECLINED, and WRONG if out is not what it
 * should be then. */
int npu_nest(struct nest_work *, uint32_t seed);
int npu_product(enum dtype in, int64_t m, int64_t n, int64_t k);
/* So many products of a size of which the device computes one per launch. */
int npu_batch(int64_t count);
/* The same product, or two in turn, again and again on other numbers, with
 * resident=on. */
int npu_stays(int calls, int shapes);

/* What `body` returns in a process whose driver was told the words, or -1: it
 * crashed.  Leaks count as a crash.  With `rules` UNRULY is added if the driver
 * had something to complain of. */
int npu_run(const char *words, int (*body)(void), bool rules);

#endif
