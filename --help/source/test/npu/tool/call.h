/* call.h -- calls `nputeir` as a function: in this process, which is quick and
 * finds leaks at the end, or in one of its own where a stream is taken away. */
#ifndef NPUTEIR_TEST_CALL_H
#define NPUTEIR_TEST_CALL_H

#include "base.h"

struct call {
  int status; /* -1: it did not exit */
  char out[1 << 15], err[1 << 13];
};

/* Words separated by blanks; `to`, or NULL: call->out, is where standard output
 * goes; "closed" closes it. */
void call_tool(struct call *, const char *to, const char *words);

#endif
