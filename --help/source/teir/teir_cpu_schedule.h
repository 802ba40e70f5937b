/* teir_cpu_schedule.h -- the loops around a processor's kernels as a program:
 * what the emitted code does, with its blocks, its panels and, of several, the
 * kernel that is called.
 *
 * Panels are tensors of their own ("in0.panel", "in1.panel") that Copy or Cast
 * fills.  The sum begins with a Zero where the kernel stores instead of adding.
 * Every Contraction says what computes it:
 *
 *     machine=NAME    a row of the table of processors
 *     kernel=KIND     packed, turned (in1 only is packed), direct, straight (no
 *                     loop at all), dot or add (a matrix and a vector)
 *     dot=NAME        the instruction that sums groups of K, if any
 *     offset=128      is added to in0's elements in the panels, and what that
 *                     adds to the sums is subtracted
 */
#ifndef NPUTEIR_TEIR_CPU_SCHEDULE_H
#define NPUTEIR_TEIR_CPU_SCHEDULE_H

#include "teir_cpu.h"

/* Declined: a program that is not one Contraction with sums that go to out as
 * they are, or one of whose roles has several axes: the emitted code counts
 * their elements as one axis, which no loop here can. */
struct teir *teir_cpu_schedule(struct arena *, const struct teir *,
                               const struct teir_cpu *, struct diag *);

#endif
