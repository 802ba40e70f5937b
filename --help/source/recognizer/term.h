/* term.h -- what a scalar variable, or one place of the result, holds at some
 * moment of the nest, in symbols.  Terms are built while the nest is executed
 * once (execute.c), never changed, and share their operands.
 *
 * Loops that move the result are known by their leader (place.c): loops that
 * stand for each other, because they run over the same places, have one. */
#ifndef NPUTEIR_TERM_H
#define NPUTEIR_TERM_H

#include "recognizer.h"

#include <assert.h>

enum term_op {
  TERM_OLD,     /* what place `place` of the result held before the nest */
  TERM_LOAD,    /* an element of another tensor; args are LIMITs: where one does
                 * not hold, it counts as zero and is not read */
  TERM_OUTSIDE, /* number `outside` */
  TERM_LIMIT,   /* 1 where `limit` holds, else 0 */
  TERM_CARRY,   /* what variable `variable` held when an iteration of `loop`
                 * began */
  TERM_SUM,     /* of the product of all args, over all iterations of `loops` */
  TERM_BAD,     /* nothing that can be said: `rule` and `what` say why */
/* TERM_NUMBER, TERM_ADD, ..: as in calc.h */
#define CALC(id, ...) TERM_##id,
#include "calc.def"
#undef CALC
};

struct term {
  enum term_op op;
  enum dtype type;
  bool reassoc; /* floats: the source permits another order */
  struct loc at;
  double number;                    /* NUMBER */
  int64_t integer;                  /* NUMBER */
  const struct nest_access *access; /* LOAD: strides by leaders */
  bool conditional;                 /* LOAD: as in nest_expr */
  struct affine_guard limit;        /* LIMIT: steps by leaders */
  int place, outside, variable, loop;
  uint64_t loops;   /* SUM: a bit per loop */
  enum rule rule;   /* BAD */
  const char *what; /* BAD; SELECT of term_open */
  int arg_count;
  const struct term *const *arg;
  /* Of the term with all that it is made of: */
  uint64_t moves;          /* loops that change its value by a load */
  uint64_t carries;        /* loops with a CARRY in it */
  bool sums;               /* has a SUM */
  const struct term *open; /* its first SELECT of term_open, if any */
  int size;                /* operations, were it written out */
  const struct term *bad;  /* its first BAD, if any */
};

static inline uint64_t loop_bit(int loop) {
  assert(loop >= 0 && loop < 64);
  return UINT64_C(1) << loop;
}

enum calc_op term_calc_op(enum term_op);

const struct term *term_old(struct arena *, int place, enum dtype);
const struct term *term_load(struct arena *, const struct nest *,
                             const struct nest_access *, bool conditional,
                             struct loc);
const struct term *term_limit(struct arena *, const struct nest *,
                              const struct affine_guard *, struct loc);
/* The LOAD under one more LIMIT. */
const struct term *term_within(struct arena *, const struct term *load,
                               const struct term *limit);
const struct term *term_outside(struct arena *, int outside, enum dtype,
                                struct loc);
const struct term *term_carry(struct arena *, int variable, int loop,
                              enum dtype, struct loc);
const struct term *term_number(struct arena *, enum dtype, double, int64_t);
const struct term *term_bad(struct arena *, enum rule, struct loc,
                            const char *what);
/* condition ? x : y, which is BAD for `what` unless edge.c can say when the
 * condition holds. */
const struct term *term_open(struct arena *, struct loc, const char *what,
                             const struct term *condition, const struct term *x,
                             const struct term *y);
/* arg is copied. */
const struct term *term_make(struct arena *, enum term_op, enum dtype,
                             bool reassoc, struct loc, int count,
                             const struct term *const arg[]);
const struct term *term_two(struct arena *, enum term_op, bool reassoc,
                            struct loc, const struct term *,
                            const struct term *);
const struct term *term_sum(struct arena *, uint64_t loops, enum dtype,
                            bool reassoc, struct loc, int count,
                            const struct term *const factor[]);
/* The term itself if it has the type. */
const struct term *term_cast(struct arena *, enum dtype, const struct term *);

bool term_equal(const struct term *, const struct term *);
/* Elements of one tensor that move alike under equal LIMITs, wherever they
 * start. */
bool term_alike(const struct term *, const struct term *);
bool term_has_limit(const struct term *); /* not on a LOAD */
bool term_is_zero(const struct term *);   /* a number; not minus zero */
/* "a maximum": what a programmer calls the operation. */
const char *term_words(enum term_op);

#endif
