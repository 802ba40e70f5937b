/* match.h -- what the steps of the matcher hand to each other, in their order:
 *
 *   remainder.c loops over results and what goes on after them, as one
 *   place.c     which places the nest writes, which loops move them
 *   local.c     which element of a local array an iteration has
 *   execute.c   what each of these places holds after the nest, as a term
 *   choice.c    conditions on loop counters as elements that count as zero,
 *               and on elements that are zero
 *   edge.c      conditions that hold in a loop's first or last iteration
 *   linear.c    a term as a sum of products
 *   tail.c      that term as an element-wise expression around one sum
 *   reroll.c    sums and places that were unrolled by hand, as axes again
 *   describe.c  the contraction of all that
 *   pairwise.c  two of them, where three factors are multiplied
 *   match.c     these steps */
#ifndef NPUTEIR_MATCH_H
#define NPUTEIR_MATCH_H

#include "recognizer_parts.h"
#include "term.h"

struct match {
  struct arena *arena;
  const struct nest *nest;
  const struct options *options;
  struct verdict *verdict;
};

/* ---- remainder.c ---- */

/* The nest with remainder loops that do all of what was unrolled by hand. */
const struct nest *join_remainders(struct arena *, const struct nest *);

/* ---- place.c ---- */

/* From the address of a tensor: so many times its pitch, and bytes. */
struct start {
  int64_t rows, bytes;
};

/* An array that only the nest has; in each iteration of the loops that move it,
 * one of its elements is a variable. */
struct local {
  int tensor;
  enum dtype type;
  uint64_t moving; /* all loops that do, in one access or another */
};

/* The result: one tensor, whose places are told apart by the iteration of the
 * leaders, and by their start where a nest stores several per iteration. */
struct places {
  int tensor;
  enum dtype type;
  int count;
  struct start *start; /* [count], ascending */
  uint64_t moving;     /* loops that move the result */
  uint64_t leaders;
  uint64_t cutters; /* among `moving`: through the tiles of loops in them */
  uint64_t entered; /* others that run for one iteration, their leader's */
  int *leader;      /* [loop_count]; a loop that stands for itself */
  struct value *stride_bytes; /* [loop_count], of leaders */
  int local_count;
  struct local *local;
  int guard_count; /* under which no two iterations share an element of one */
  struct contraction_guard *guard;
};
bool find_places(const struct match *, struct places *);
/* Reads and writes of integers may differ in what they say about the sign. */
bool same_element(enum dtype, enum dtype);
/* The place that an access in `loop` reaches; -1: none, or not every
 * iteration its own. */
int place_of(const struct match *, const struct places *,
             const struct nest_access *, int loop);
/* The access with its strides at the leaders; NULL: it moves with a loop that
 * is not around it. */
const struct nest_access *access_by_leaders(const struct match *,
                                            const struct places *,
                                            const struct nest_access *,
                                            int loop);
/* The same of steps or strides; NULL: one is of a loop that is not around. */
struct value *steps_by_leaders(const struct match *, const struct places *,
                               const struct value *, int loop);
/* Is an element of the tensor read where its place in the result, were it the
 * same memory, may have been written already? */
bool read_behind_store(const struct match *, const struct places *, int tensor);

/* ---- local.c ---- */

/* The local arrays, and the loops that stand for others because of them. */
bool find_locals(const struct match *, struct places *);
int local_of(const struct places *, int tensor); /* -1: it is none */
/* What must hold for that at run time. */
void local_guards(const struct match *, const struct places *,
                  struct contraction *);

/* ---- execute.c ---- */

/* Loops whose first or last iteration does something else: a bit each.  They
 * must run, and twice if both do. */
struct edges {
  uint64_t first, last;
};
/* What every place of the result holds after the nest. */
const struct term **execute(const struct match *, const struct places *,
                            struct edges *);

/* ---- choice.c ---- */

/* condition ? x : y as a sum, BAD, or open; NULL: no limit decides, or it is on
 * a condition. */
const struct term *choice(const struct match *, const struct term *condition,
                          const struct term *x, const struct term *y,
                          struct loc);

/* condition ? x : y where the condition says that a factor is not zero, and x
 * is y plus products with it: then x, or BAD.  NULL: it is something else. */
const struct term *zero_skip(const struct match *, const struct term *condition,
                             const struct term *x, const struct term *y,
                             struct loc);

/* The limit of t, a choice between something and zero; NULL: it is none. */
const struct term *limit_of(const struct term *t);

/* ---- edge.c ---- */

/* What one iteration of a loop did. */
struct round {
  int loop, variables;
  const bool *mark; /* [variables]; those that are assigned */
  /* What each held before the loop (NULL: nothing), when the iteration began,
   * and at its end. */
  const struct term *const *before, *const *carry, *const *after;
};
/* What v holds behind the loop, where a choice is open in its iterations; BAD
 * if no edge of this loop decides it. */
const struct term *edge_summary(const struct match *, const struct round *,
                                int v, struct edges *);
/* The loops with edges must run. */
void edge_guards(const struct match *, const struct edges *,
                 struct contraction *);

/* ---- linear.c ---- */

enum { FACTORS_MAX = 8, PRODUCTS_MAX = 256 };
struct term_product {
  bool negative;
  int count;
  const struct term *factor[FACTORS_MAX];
};
/* What a term is the sum of.  Integers: modulo 2^bits of the type. */
struct linear {
  enum dtype type;
  bool only_sums; /* terms without a sum in them are left whole */
  bool factor;    /* so are those that are made of one element */
  bool reassoc;   /* the source permits to see it so */
  struct loc at;  /* if not: of what does not */
  int count;
  struct term_product *item;
};
/* false: it has too many parts. */
bool find_linear(const struct match *, const struct term *, bool only_sums,
                 struct linear *);
/* The small integer of which t, an integer, is made, beside numbers and
 * elements that fewer loops move; NULL: there is none. */
const struct term *element_of(const struct term *t);
/* What a variable that held `before` holds after a loop whose iteration turns
 * `carry` into `after`; a BAD term if no sum says it. */
const struct term *sum_over(const struct match *, const struct term *before,
                            const struct term *carry, const struct term *after);
/* A product of elements of these types is exact in `type`. */
bool product_fits(enum dtype, enum dtype, enum dtype type);
/* The term without conversions that keep the number, as far as `type` can
 * tell: integers modulo 2^bits. */
const struct term *input_of(const struct match *, const struct term *,
                            enum dtype type);

/* ---- reroll.c ---- */

/* A loop that the source has written out: in every step, address i is
 * stride_bytes[i] further. */
struct rerolled {
  int64_t steps;
  const struct value *stride_bytes;
};
enum { REROLLED_MAX = 8 };

/* The sum of in[0] * in[1], over loops and written-out loops, which move the
 * addresses of in[0] and in[1]; or of three factors, over loops only. */
enum { SUM_FACTORS = 3 };
struct sum {
  enum dtype type;
  bool reassoc;
  struct loc at;
  uint64_t loops;
  uint64_t parts; /* loops that do not run as a whole, of which the sum has
                   * not been joined with that over the other part */
  int in_count;
  const struct term *in[SUM_FACTORS];  /* LOAD */
  const struct calc *map[SUM_FACTORS]; /* of in, as in a contraction */
  int rerolled_count;
  struct rerolled rerolled[REROLLED_MAX];
};
bool sum_equal(const struct sum *, const struct sum *);
/* Several sums, added, as one. */
bool reroll_sums(const struct match *, const struct sum *, int count,
                 struct sum *merged);

/* What one place of the result holds after the nest. */
struct content {
  struct start start;
  bool summed; /* there is a sum */
  struct sum sum;
  const struct calc *tail; /* TAIL_SUM has type sum.type */
  int extra_count;
  const struct term *extra[CALC_INPUTS - TAIL_EXTRA]; /* LOAD, OUTSIDE */
};
/* The places' contents as written-out loops over the first, outermost first;
 * -1: they are none.  The addresses are those of out, in0, in1 and the extras.
 */
int reroll_places(const struct match *, const struct places *, struct content *,
                  struct rerolled *);

/* ---- tail.c ---- */
bool find_content(const struct match *, const struct places *, int place,
                  const struct term *last, struct content *);

/* ---- describe.c ---- */

/* A contraction in the making: axes are loops of the nest, or rerolled. */
struct axes {
  const struct match *match;
  const struct places *places;
  const struct content *content;
  const struct nest_access *operand[TENSORS]; /* by leaders */
  bool skips;         /* loops that move no operand belong to another step */
  int rerolled_count; /* of places; they move out, in0, in1, the extras */
  struct rerolled rerolled[REROLLED_MAX];
  struct contraction *c;
  int leader[LOOPS_MAX + 2 * REROLLED_MAX]; /* of axes; -1: none, rerolled */
};
struct contraction *describe(struct axes *);
bool has_role(const struct contraction *, enum axis_role);
/* M and N; a host multiplies by vectors, too. */
bool has_all_roles(const struct match *, const struct contraction *,
                   struct loc at);
/* Everything that legal.c asks of a nest with this sum. */
bool is_legal(const struct match *, const struct content *,
              struct contraction *);

/* ---- pairwise.c ---- */
/* Two contractions, the second with the first, for a sum of three factors;
 * NULL and the match's verdict. */
struct contraction *describe_pairwise(struct axes *);

#endif
