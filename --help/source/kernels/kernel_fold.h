/* kernel_fold.h -- inside kernels/: how a schedule is rolled up; fold.c
 * decides, emit.c writes it down. */
#ifndef NPUTEIR_KERNELS_FOLD_H
#define NPUTEIR_KERNELS_FOLD_H

#include "kernel_trace.h"

enum {
  FOLD_PIECES = 256,
  FOLD_SETUP_OPS = 3,      /* ls, le, lc of a hardware loop */
  FOLD_BRANCH_OPS = 2,     /* counter and target of a branch loop */
  FOLD_BRANCH_SLOTS = 6,   /* the branch and its delay slots */
  FOLD_SETUP_TO_END = 112, /* bytes from the last set-up to le (isa.md D7) */
  FOLD_SETUP_TO_START = 64 /* and to ls */
};

enum piece_kind { PIECE_PLAIN, PIECE_HARDWARE, PIECE_BRANCH, PIECE_END };

/* A stretch of the program in order.  PIECE_BRANCH opens a branch loop whose
 * body are the pieces up to its PIECE_END. */
struct piece {
  enum piece_kind kind;
  int start, length; /* bundles of the schedule */
  int trips;
  bool entry; /* the hardware loop's set-up stands in front of everything */
  bool outer; /* the branch loop over blocks of K */
};

struct fold {
  int count;
  struct piece piece[FOLD_PIECES];
};

struct asm_program *kernel_fold_emit(struct arena *, const char *name,
                                     const char *const *heading,
                                     int heading_count, const struct schedule *,
                                     const struct fold *, struct diag *);

#endif
