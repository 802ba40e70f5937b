/* doctor.h -- the products with which `nputeir doctor` tries a device. */
#ifndef NPUTEIR_TOOL_DOCTOR_H
#define NPUTEIR_TOOL_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

/* The runtime's nputeir_call_1. */
typedef int doctor_call(const char *, const char *, const char *,
                        const int64_t *, uint64_t, void *const *, uint64_t);

/* A small product, whatever the environment has as the device. */
bool doctor_floats_right(doctor_call *, const char *options);

/* What the NPU says of two configurations in turn, twice each, and of launches
 * in a chain. */
struct doctor_runs {
  int right;        /* of the four, until one is not */
  bool chain;       /* and of the chain */
  bool stays;       /* launches with resident=on are right */
  int resident;     /* of three, those by a transaction that stays */
  double again;     /* seconds of the fastest that was loaded before */
  char reason[300]; /* why one was declined; "": its results are wrong */
};
/* In processes of their own. */
struct doctor_runs doctor_try_npu(const char *runtime);

#endif
