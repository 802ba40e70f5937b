/* calibration.h -- what `nputeir bench calibration` measures: experiments that
 * somebody made on hardware, repeated on the simulated array. */
#ifndef NPUTEIR_TOOL_CALIBRATION_H
#define NPUTEIR_TOOL_CALIBRATION_H

#include "array.h"
#include "base.h"

/* An experiment and what hardware gave (doc/hardware/timing.md, section 10).
 * Rows of the same measure differ in its parameter. */
struct calibration {
  const char *cal, *what;
  bool (*measure)(int parameter, double *value, struct diag *);
  int parameter;
  double published, tolerance; /* a share of published; of 0, itself */
  const char *unit;
  bool fitted;      /* a constant of the simulator was chosen to meet it */
  const char *note; /* why it is not met, or what stands for what; or NULL */
};
struct calibration_table {
  const struct calibration *row;
  int count;
};
/* calibration_tile.c, calibration_shim.c, calibration_array.c */
extern const struct calibration_table calibration_tile, calibration_shim,
    calibration_array;

/* A published matrix product on all cores: its blocks, its buffers, its way
 * of reading device memory, and the cycles of its kernel.  The kernel itself is
 * not published as text: a loop of that length stands for it, which loads from
 * the blocks of in0 and in1 in turn in every bundle of its multiplies.  Where
 * the tools that place its buffers are known (`banks`), C is moved, too. */
struct rival {
  const char *preset;
  int m, k, n;             /* of a core's block */
  int in_bytes, out_bytes; /* of an element */
  int macs;                /* of a multiply */
  double kernel_cycles;    /* of one block product */
  int chunk_k;             /* of in0 and in1 in a mem tile, at a time */
  int out_buffers;         /* in a core */
  bool linear;             /* device memory holds blocks, not rows */
  bool rows_of_in1;        /* in1 lies [k][n], not [n][k] */
  bool banks;              /* a core's buffers are in banks in turn, and the
                              kernel's 4 x 4 results of C are moved, too */
  bool waits;              /* the next blocks' tasks wait for these to end */
  int64_t size_m, size_k, size_n; /* of the product */
};
/* TOPS of the whole product with its launch; every block of out of a core but
 * the first is taken to cost what its second does. */
bool rival_tops(const struct rival *, double *tops, struct diag *);
/* What the command processor takes to write its configuration. */
bool rival_configuration(const struct rival *, double *seconds, struct diag *);

#endif
