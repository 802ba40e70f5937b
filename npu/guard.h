/* guard.h -- what a program may do where a loop of its own runs, and a call of
 * ours runs in its place with locks and memory of its own: signals whose
 * handlers have nests, threads that are cancelled, and fork. */
#ifndef NPUTEIR_GUARD_H
#define NPUTEIR_GUARD_H

#include <stdbool.h>

struct guard {
  int error, cancel, type; /* this thread's, as they were */
};
/* Until guard_leave this thread is not cancelled, and errno is as it was
 * afterwards.  False: nothing may be done now, and nothing is to be left. */
bool guard_enter(struct guard *);
void guard_leave(const struct guard *);

#endif
