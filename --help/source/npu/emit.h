/* emit.h -- a design as register writes: what configures the array (CDO) and
 * what runs it (transaction).  Register addresses and sequences are those of
 * array.md sections 2, 4, 6, 7 and 8. */
#ifndef NPUTEIR_EMIT_H
#define NPUTEIR_EMIT_H

#include "design.h"

/* Loads cores, sets locks, descriptors, queues and switches, enables cores. */
bool emit_configuration(const struct design *, struct command_list *,
                        struct diag *);
/* Shim tasks phase by phase, and the waits between and behind them. */
bool emit_run(const struct design *, struct command_list *, struct diag *);
/* ---- resident.c ---- */
/* A place for a transaction that stays; false: every column is full. */
bool resident_find(const struct design *, struct resident_place *);

#endif
