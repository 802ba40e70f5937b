/* signals.h -- the handlers of the program wait while a call works.  One may
 * leave a loop by siglongjmp, but not us.  What is nobody's own to handle, as
 * Ctrl-C, does not wait, for simulations take long; nor does what an
 * instruction raises, as where memory is only there when a handler has seen to
 * it. */
#ifndef NPUTEIR_SIGNALS_H
#define NPUTEIR_SIGNALS_H

#include <signal.h>

/* All signals but those that an instruction raises. */
sigset_t signals_of_others(void);
/* Has a handler of ours for SIGINT where the program has none; it does not
 * wait, either. */
void signals_interrupt(void (*handler)(int));
/* In this thread, until signals_let; both may be called once more or less. */
void signals_hold(void);
void signals_let(void);

#endif
