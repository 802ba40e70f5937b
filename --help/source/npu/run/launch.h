/* launch.h -- what the files behind launch_product share. */
#ifndef NPUTEIR_RUN_LAUNCH_H
#define NPUTEIR_RUN_LAUNCH_H

#include "parts.h"

/* Roles and tensors as rows and columns: in0 is M x K, in1 K x N, out M x N. */
static const enum axis_role row_role[TENSORS] = {AXIS_M, AXIS_K, AXIS_M};
static const enum axis_role column_role[TENSORS] = {AXIS_K, AXIS_N, AXIS_N};

/* ---- recipe.c ---- */
/* What the device computes: roles are there so many times, where inputs are
 * split (split.c); `finished`: results that need no epilogue, else sums. */
struct recipe {
  struct teir_problem problem;
  int copies[AXIS_ROLES];
  bool finished;
  int bias;             /* the tensor that is added on the way; -1: none */
  bool spread[TENSORS]; /* memory has too much else between the elements */
};
/* Whether some input is of a type that the device does not multiply. */
bool recipe_has_wide(const struct product *);
/* Whether results are the sums of one copy of M or N, and 2^16 times those of
 * the other. */
bool recipe_joins(const struct recipe *);
/* blocks: the device may multiply floats as block floats. */
bool recipe_make(const struct product *, enum f32_mode, bool blocks,
                 struct recipe *, struct diag *);
/* The same for all indices of the C axes at once. */
struct recipe recipe_of_batch(const struct product *, struct recipe);
/* Integers of 16 and of 8 bits become 16 bits both; false: they are equal. */
bool recipe_even(struct recipe *);
/* Whether the device's elements are others in memory than the program's. */
bool recipe_casts(const struct product *, const struct recipe *, int tensor);
/* Whether the device sees a dense tensor in the place of the program's. */
bool recipe_is_dense(const struct product *, const struct recipe *, int tensor);
/* What the device does of a call: one index of the C axes, or all, on the
 * program's tensors where the device takes their types, and up to the sums or
 * to results that it makes of them. */
const struct teir *recipe_teir(struct arena *, const struct product *,
                               const struct recipe *, struct diag *);

/* ---- split.c ---- */
enum { SPLIT_COPIES = 3 }; /* of a role, the most */
bool split_is_wide(const struct product *, int tensor);
/* Fills the copies. */
void split_copies(const struct product *, enum f32_mode, struct recipe *);
/* What an input holds in a copy of each role, as an expression over its
 * elements. */
const struct calc_program *split_program(struct arena *, const struct product *,
                                         const struct recipe *, int tensor,
                                         const int copy[AXIS_ROLES]);

/* ---- finite.c ---- */
/* Whether both inputs hold numbers alone, also as bf16. */
bool inputs_are_finite(const struct product *, void *const tensor[]);

/* ---- layout.c: a plan's device buffers ---- */
/* Products of a launch. */
int64_t layout_batch(const struct run_plan *);
/* Offsets of one axis of a device buffer: its dims as digits, the most
 * significant first. */
void layout_offsets(const struct run_layout *, enum axis_role, int64_t *offset);
/* Indices of a shared role, and the element for which one stands. */
int64_t share_count(const struct run_share *);
int64_t share_element(const struct run_share *, int64_t index);
/* The plan comes from our own compiler; a wrong one must not write outside the
 * buffers all the same. */
bool plan_check(const struct run_plan *, const struct teir_problem *,
                struct diag *);

/* ---- work.c: the launches of a product, and copies before and after ---- */
bool work_run(const struct product *, const struct recipe *,
              const struct context_launch *, void *const tensor[],
              struct run_report *, struct diag *);

#endif
