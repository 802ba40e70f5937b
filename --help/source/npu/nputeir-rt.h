/* nputeir-rt.h -- the run-time library that compiled programs call.
 *
 * Programs do not include this: the compiler plugin puts the calls in, through
 * a weak reference, with the original loop as the other side of a branch.
 */
#ifndef NPUTEIR_RT_H
#define NPUTEIR_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Does the work of one loop nest.  teir: the untiled TEIR of the nest with
 * symbols for what only run time knows, value: their values in order; tensor:
 * base addresses in the TEIR's order; options and where (file, line, function)
 * may be NULL.  Returns 0 when out holds the result; non-zero when nothing was
 * written and the loop must run.  Any thread may call at any time. */
int nputeir_call_1(const char *teir, const char *options, const char *where,
                   const int64_t *value, uint64_t value_count,
                   void *const *tensor, uint64_t tensor_count);

/* How many multiply-adds a nest must be for its call to be worth it: for less,
 * no device is faster than the loop.  0 while every call is to be made (one that
 * names a device for tests is, anyway); INT64_MAX where none is.  May change with
 * every call. */
extern uint64_t nputeir_least_macs_1;

/* The loop has run after a call by this thread that returned `status`, or after
 * none (0).  Where the call asked for it, compares what the loop wrote with
 * what the device computed; else does nothing. */
void nputeir_compare_1(int status);

/* For the code for the processor that is in the object itself: how many threads
 * may compute a product that could use `most`, at least 1: as NPUTEIR_THREADS
 * says, and 1 in a parallel region of OpenMP. */
int64_t nputeir_threads_1(int64_t most);
/* Calls body(context, i, parts) for all i from 0 below parts, each in a thread
 * of its own where there are enough, the first in this one.  Returns when all
 * have returned. */
void nputeir_parallel_1(void (*body)(void *context, int64_t part,
                                     int64_t parts),
                        void *context, int64_t parts);

/* "0.1.0" */
const char *nputeir_version(void);

#ifdef __cplusplus
}
#endif
#endif
