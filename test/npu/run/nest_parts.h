/* nest_parts.h -- what the files of nest.h share. */
#ifndef NEST_PARTS_H
#define NEST_PARTS_H

#include "calc.h"
#include "nest.h"

/* Tensors of a call with a tail, behind the three of the product. */
enum { SUM = TENSORS, EXTRA };
int64_t nest_stride_of(const struct nest_axis *, int tensor);
struct calc *nest_parse_tail(struct arena *, const struct nest_work *);
/* The expression of a map, over an input's element and the extras. */
struct calc *nest_parse_map(struct arena *, const struct nest_work *,
                            int input);
/* Fills `expected` from the memory of the tensors. */
void nest_run(struct nest_work *);

#endif
