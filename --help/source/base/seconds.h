/* seconds.h -- how long something takes. */
#ifndef NPUTEIR_SECONDS_H
#define NPUTEIR_SECONDS_H

/* Since some moment, by a clock that nobody sets. */
double seconds_now(void);

#endif
