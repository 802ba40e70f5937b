/* recognizer_parts.h -- what the files of this module share. */
#ifndef NPUTEIR_RECOGNIZER_PARTS_H
#define NPUTEIR_RECOGNIZER_PARTS_H

#include "recognizer.h"

/* ---- value.c ---- */
struct value value_of(int64_t constant);
bool value_is(struct value, int64_t constant);
bool value_equal(struct value, struct value);
enum dtype signed_type(int bytes);
/* Not known to stand still. */
bool access_moves(const struct nest_access *, int loop);

/* ---- nest.c ---- */
enum { LOOPS_MAX = 64 };
/* Assignments that read what the scalars held before any of them. */
bool nest_at_once(const struct nest_statement *, const struct nest_statement *);
bool nest_is_truth(enum nest_op); /* it gives 1 or 0, as u8 */
/* The loops from the outermost to `loop`; returns their number. */
int nest_path(const struct nest *, int loop, int *path);
bool nest_inside(const struct nest *, int loop, int outer);
/* The tile loops of `loop`, and theirs: a bit each.
 */
uint64_t nest_cutters(const struct nest *, int loop);
/* Its iterations are numbered from zero, one by one. */
bool nest_is_whole(const struct nest *, int loop);
struct value nest_first(const struct nest *, int loop); /* its lowest number */
/* In number i of what `loop` stands for, y reaches what x reaches in number i +
 * ahead of `loop`; what the other loops of x stand for is the same.  -1: not
 * known. */
bool nest_access_ahead(const struct nest *, const struct nest_access *x,
                       const struct nest_access *y, const int *stands_for,
                       int loop, int64_t ahead);

/* ---- options.c ---- */
bool options_on_host(const struct options *);
/* On a device that has all types. */
bool options_any_type(const struct options *);
/* On a device that no time is gained by: the interpreter or the simulator. */
bool options_for_tests(const struct options *);

/* ---- legal.c ---- */
/* Reverses axes whose strides are negative in all tensors. */
bool legal_directions(struct contraction *, struct verdict *);
/* In which the runtime has what is made of an input's elements, at most. */
enum dtype multiplied_type(const struct contraction *, int input);
/* Types that the promise covers; chooses acc for a sum that the source forms
 * in `sum`. */
bool legal_types(struct contraction *, enum dtype sum, const struct options *,
                 struct verdict *);
/* Leave to reorder a sum of floats. */
bool legal_order(enum dtype acc, bool reassoc, struct loc at,
                 const struct options *, struct verdict *);
/* out's places are all different: decided now, or left to guards. */
bool legal_out(struct arena *, struct contraction *, struct verdict *);
bool legal_size(const struct contraction *, const struct options *,
                struct verdict *);

#endif
