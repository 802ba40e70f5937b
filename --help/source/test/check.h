/* check.h -- the macro of our C unit tests.  A failed CHECK says where and
 * goes on; check_result() is main's status. */
#ifndef NPUTEIR_CHECK_H
#define NPUTEIR_CHECK_H

#include <stdio.h>

static int check_failures, check_count;

#define CHECK(condition)                                                       \
  (check_count++,                                                              \
   (condition)                                                                 \
       ? (void)0                                                               \
       : (check_failures++, (void)fprintf(stderr, "%s:%d: CHECK(%s) failed\n", \
                                          __FILE__, __LINE__, #condition)))

static inline int check_result(void) {
  printf("%d checks, %d failed\n", check_count, check_failures);
  return check_failures || !check_count ? 1 : 0;
}

#endif
