/* cpu_price.c -- is a processor's code faster than the loops as the source has
 * them, which stay beside it?
 *
 * Prices are sums of what was measured on a processor with AVX-512, of code and
 * loops for it, for AVX2 and for any x86-64, as clang -O3 makes them, at sizes
 * from 1 to 400 along each axis.  That is coarse, and the loops are what the
 * program would have had, so code must be a fifth cheaper.  What is priced well
 * are small sizes: large ones go by the code whatever it costs. */
#include "teir_cpu.h"

typedef const struct teir_cpu_math math;

enum { CYCLE = 16 }; /* parts of which prices are */
/* Once: to call code and find out what it has to do; to do so of price_near;
 * where something follows the sums. */
enum { FIXED = 70 * CYCLE, NEAR_FIXED = 36 * CYCLE, FINISH = 60 * CYCLE };

static void *number(math *m, int64_t n) { return m->number(m->context, n); }

static void *apply(math *m, enum teir_cpu_formula f, void *x, void *y) {
  return m->apply(m->context, f, x, y);
}

static void *plus(math *m, void *x, void *y) {
  return apply(m, CPU_PLUS, x, y);
}

static void *times(math *m, void *x, void *y) {
  return apply(m, CPU_TIMES, x, y);
}

/* base + each * x */
static void *line(math *m, int64_t base, int64_t each, void *x) {
  return plus(m, number(m, base), times(m, x, number(m, each)));
}

static void *at_most(math *m, void *x, int64_t n) {
  return apply(m, CPU_AT_MOST, x, number(m, n));
}

static void *choose(math *m, void *condition, void *x, void *otherwise) {
  return m->choose(m->context, condition, x, otherwise);
}

static void *divide_up(math *m, void *x, int64_t by) {
  return apply(m, CPU_DIVIDE_UP, x, number(m, by));
}

struct types {
  enum dtype in1, sum;
};

static bool is_float(const struct types *t) {
  return dtype_kind(t->sum) == DTYPE_FLOAT;
}

static bool is_narrow(const struct types *t) {
  return dtype_bytes(t->in1) < dtype_bytes(t->sum);
}

/* ---- the loops as they stand ---- */

/* Of known sizes, compilers write out what is short, and find vectors in that,
 * of groups of 16-bit integers above all. */
static int64_t price_scalar(const struct types *t,
                            const struct teir_cpu_loops *l) {
  if (!l->known)
    return is_narrow(t) ? 3 * CYCLE / 2 : 6 * CYCLE / 5;
  if (!is_narrow(t))
    return 3 * CYCLE / 4;
  return dtype_bytes(t->in1) > 1 ? 5 * CYCLE / 16 : 7 * CYCLE / 8;
}

/* Of an iteration in vectors, times their lanes.  Old vectors have no products
 * of 32 bits; sums of 16-bit integers have an instruction. */
static int64_t price_lane(const struct types *t,
                          const struct teir_cpu_loops *l) {
  if (l->old && !is_float(t))
    return dtype_bytes(t->in1) == 2 && !l->stores ? 3 * CYCLE / 2
                                                  : 5 * CYCLE / 2;
  if (!is_narrow(t))
    return CYCLE;
  return is_float(t) ? 2 * CYCLE : l->known ? 3 * CYCLE / 2 : CYCLE;
}

/* All iterations of the innermost loop, whose elements are adjacent.  Of an
 * extent that is not known, compilers want four vectors, two of 16 bytes, or
 * one of half as many lanes where there are sixteen: those have a second loop
 * of vectors for what is left. */
static void *price_together(math *m, const struct types *t,
                            const struct teir_cpu_loops *l) {
  enum { MANY = 16, SHORT_BYTES = 16 };
  int64_t lanes = l->vector_bytes / dtype_bytes(t->sum);
  int64_t width = lanes >= MANY ? lanes / 2 : lanes;
  int64_t unit = lanes >= MANY                    ? width
                 : l->vector_bytes == SHORT_BYTES ? 2 * width
                                                  : 4 * width;
  int64_t lane = price_lane(t, l) / width, scalar = price_scalar(t, l);
  void *units = divide_up(m, plus(m, l->inner, number(m, 1 - unit)), unit);
  return plus(m, times(m, l->inner, number(m, scalar)),
              times(m, units, number(m, unit * (lane - scalar))));
}

/* The same of a known extent: there are vectors of 32 bytes at most. */
static void *price_known(math *m, const struct types *t,
                         const struct teir_cpu_loops *l) {
  enum { VECTOR_BYTES = 32 };
  int bytes = l->vector_bytes < VECTOR_BYTES ? l->vector_bytes : VECTOR_BYTES;
  int64_t lanes = bytes / dtype_bytes(t->sum);
  void *each = choose(m, apply(m, CPU_AT_MOST, number(m, lanes), l->inner),
                      number(m, price_lane(t, l) / lanes),
                      number(m, price_scalar(t, l)));
  return times(m, l->inner, each);
}

/* Elements lie apart.  Sums of floats wait for each other where there are more
 * than a few: what comes behind the loop begins too late. */
static void *price_apart(math *m, const struct types *t,
                         const struct teir_cpu_loops *l) {
  enum { FEW = 32, WAITS = 3 * CYCLE };
  int64_t each = price_scalar(t, l);
  void *all = times(m, l->inner, number(m, each));
  if (l->known || !is_float(t))
    return all;
  return choose(m, at_most(m, l->inner, FEW), all,
                line(m, FEW * (each - WAITS), WAITS, l->inner));
}

static void *price_loops(math *m, const struct types *t,
                         const struct teir_cpu_loops *l) {
  /* To enter the innermost loop. */
  enum { ENTER = 3 * CYCLE, STORES = 2 * CYCLE };
  void *together = l->known ? price_known(m, t, l) : price_together(m, t, l);
  void *all = choose(m, l->adjacent, together, price_apart(m, t, l));
  int64_t enter = ENTER + (l->stores && !l->known ? STORES : 0);
  return times(m, l->entered, plus(m, number(m, enter), all));
}

/* ---- the code ---- */

struct code {
  const struct teir_cpu_blocks *b;
  const struct teir_cpu_size *s;
  const struct types *t;
  bool masks; /* for parts of vectors */
};

/* Half of the rows that are multiplied at once, and vectors along the columns.
 */
static void *halves(math *m, const struct code *c) {
  return divide_up(m, c->s->m, c->b->direct_height[1]);
}

/* Fewer columns than a vector has are done one by one without masks. */
static void *vectors(math *m, const struct code *c) {
  void *vectors = divide_up(m, c->s->n, c->b->lanes);
  return c->masks ? vectors
                  : choose(m, at_most(m, c->s->n, c->b->lanes - 1), c->s->n,
                           vectors);
}

/* Without packed panels, or only of in1. */
static void *price_direct(math *m, const struct code *c) {
  enum { BLOCK = 13 * CYCLE, LANE = 11 * CYCLE / 2, STEP = CYCLE / 2 };
  /* A step of a row, times a vector of columns. */
  bool narrow = is_narrow(c->t);
  int64_t row = is_float(c->t) ? (narrow ? 26 : 10) : narrow ? 24 : 16;
  int64_t columns = c->s->turned ? c->b->turned_columns : c->b->direct_columns;
  void *vector = vectors(m, c);
  void *steps = times(m, vector, c->s->k);
  void *panels = divide_up(m, c->s->n, columns);
  if (!c->masks)
    panels = choose(m, at_most(m, c->s->n, c->b->lanes - 1), vector, panels);
  void *blocks = times(m, panels, number(m, BLOCK));
  void *rows = number(m, row * c->b->direct_height[1]);
  void *all = times(m, halves(m, c), plus(m, blocks, times(m, steps, rows)));
  if (!c->s->turned)
    return all;
  void *turns = times(m, vector, number(m, LANE * c->b->lanes));
  return plus(m, all, plus(m, turns, times(m, steps, number(m, STEP))));
}

static void *is_multiple(math *m, void *x, int64_t of) {
  return apply(m, CPU_EQUAL, times(m, divide_up(m, x, of), number(m, of)), x);
}

/* Packing a panel of an input, of all K.  Groups are made by vectors, but for
 * columns that are no whole panel and cannot be masked; along K by squares of
 * four groups, and what is less than a group by elements. */
static void *price_panel(math *m, const struct code *c, int t) {
  enum {
    SLOW = 11 * CYCLE / 4,
    UNEVEN = 2 * CYCLE,
    ALONG = CYCLE / 8,
    WHOLE = CYCLE / 4,
    SQUARE = 4
  };
  int64_t group = c->s->dot.group;
  int64_t rows = t == IN0 ? c->b->height[0] : c->b->columns;
  void *all = times(m, c->s->k, number(m, rows));
  if (group == 1)
    return times(m, all, number(m, t == IN0 ? 3 * CYCLE / 2 : 13 * CYCLE / 16));
  if (t == IN1 && !c->s->turned) {
    void *fast = number(m, WHOLE);
    if (!c->b->masks)
      fast = choose(m, is_multiple(m, c->s->n, rows), fast, number(m, SLOW));
    return times(m, all, fast);
  }
  void *last = number(m, rows * (group - 1) * SLOW);
  last = choose(m, is_multiple(m, c->s->k, group), number(m, 0), last);
  return choose(m, at_most(m, c->s->k, SQUARE * group - 1),
                times(m, all, number(m, t == IN0 ? UNEVEN : SLOW)),
                plus(m, times(m, all, number(m, ALONG)), last));
}

/* Of both inputs, filled up to whole ones. */
static void *price_packed(math *m, const struct code *c) {
  enum { FIXED = 400 * CYCLE, BLOCK = 30 * CYCLE, PANEL = 250 * CYCLE };
  int64_t rows = c->b->height[0], group = c->s->dot.group;
  int64_t step = rows * c->b->vectors * CYCLE / 2 / group;
  if (group > 1 && is_float(c->t)) /* of bf16 */
    step = 3 * step / 2;
  void *in0 = plus(m, number(m, PANEL), price_panel(m, c, IN0));
  void *panels = divide_up(m, c->s->m, rows);
  void *blocks = times(m, panels, line(m, BLOCK, step, c->s->k));
  void *column = times(m, divide_up(m, c->s->n, c->b->columns),
                       plus(m, price_panel(m, c, IN1), blocks));
  return plus(m, number(m, FIXED), plus(m, times(m, panels, in0), column));
}

void *teir_cpu_is_small_for_groups(const struct teir_cpu_blocks *b, math *m,
                                   const struct teir_cpu_size *s) {
  enum dtype in1 = s->dot.packed[IN1];
  enum dtype sum = dtype_kind(in1) == DTYPE_FLOAT ? DTYPE_F32 : DTYPE_I32;
  struct types t = {in1, sum};
  struct code c = {b, s, &t, true};
  return apply(m, CPU_AT_MOST, price_direct(m, &c), price_packed(m, &c));
}

static void *price_matrix(math *m, const struct code *c,
                          const struct teir_cpu_ways *w) {
  if (!w->direct)
    return price_packed(m, c);
  void *direct = price_direct(m, c);
  if (!w->packed || c->s->dot.group == 1)
    return direct;
  /* teir_cpu_is_small_for_groups */
  return apply(m, CPU_LEAST, direct, price_packed(m, c));
}

/* Of known sizes: there are neither calls nor loops. */
static void *price_straight(math *m, const struct code *c) {
  enum { PANEL = 45 * CYCLE, ELEMENT = CYCLE / 4 };
  int64_t row = is_narrow(c->t) ? 28 : is_float(c->t) ? 7 : 14;
  void *column = times(m, times(m, c->s->m, c->s->k), number(m, row));
  if (c->s->turned)
    column = plus(m, column, line(m, PANEL, ELEMENT * c->b->lanes, c->s->k));
  return times(m, vectors(m, c), column);
}

void *teir_cpu_is_straight(const struct teir_cpu_blocks *b, math *m,
                           const struct teir_cpu_size *s, enum dtype in1,
                           enum dtype sum) {
  struct types t = {in1, sum};
  struct code c = {b, s, &t, b->masks};
  return apply(m, CPU_AT_MOST, price_straight(m, &c), price_packed(m, &c));
}

/* What follows the sums.  Where a row is less than a vector, it waits for the
 * one in front. */
static void *price_finish(math *m, const struct code *c) {
  enum { COLUMN = 50 * CYCLE, ROW = 9 * CYCLE, PART = 20 * CYCLE };
  void *all = times(m, vectors(m, c), line(m, COLUMN, ROW, c->s->m));
  void *parts = times(m, c->s->m, number(m, PART));
  return choose(m, at_most(m, c->s->n, c->b->lanes - 1), plus(m, all, parts),
                all);
}

/* What is left of x behind whole vectors, where that cannot be masked. */
static void *left(math *m, const struct code *c, void *x) {
  if (c->masks)
    return number(m, 0);
  void *whole = apply(m, CPU_DIVIDE, x, number(m, c->b->lanes));
  return plus(m, x, times(m, whole, number(m, -c->b->lanes)));
}

/* One kernel does all of it.  Sums of two vectors of columns at once stay in
 * registers; those of rows are added up, some at once.  Of what was measured
 * with 1 to 64 rows and columns, on the machine above, four fifths: there is so
 * little to it that it need not be cheaper than loops by more. */
static void *price_near(math *m, const struct code *c, bool dot) {
  enum { BLOCK = 8 * CYCLE, ROWS = 18 * CYCLE, SINGLE = 5 * CYCLE / 4 };
  int64_t lanes = c->b->lanes;
  bool fast = is_float(c->t) && !is_narrow(c->t);
  if (dot) {
    int64_t step = (fast ? 5 : 8) * CYCLE;
    void *rows = divide_up(m, c->s->n, TEIR_CPU_TOGETHER);
    void *singles = times(m, left(m, c, c->s->k), number(m, SINGLE));
    return plus(
        m, times(m, rows, line(m, ROWS, step, divide_up(m, c->s->k, lanes))),
        times(m, c->s->n, singles));
  }
  int64_t step = (fast ? 6 : 12) * CYCLE / 5;
  void *singles = left(m, c, c->s->n);
  void *whole = plus(m, c->s->n, times(m, singles, number(m, -1)));
  void *blocks = plus(m, divide_up(m, whole, 2 * lanes), singles);
  return times(m, blocks, line(m, BLOCK, step, c->s->k));
}

/* Finished: with what follows the sums. */
static void *price_vector(math *m, const struct code *c, enum teir_cpu_vector v,
                          bool finished) {
  enum { FACTORS = 25 * CYCLE };  /* to find what sums are multiplied by */
  bool dot = v == CPU_VECTOR_DOT; /* some columns, or steps, at once */
  int64_t call = (dot ? 45 : 25) * CYCLE, step = (dot ? 7 : 5) * CYCLE;
  void *together = divide_up(m, dot ? c->s->n : c->s->k, TEIR_CPU_TOGETHER);
  void *along = divide_up(m, dot ? c->s->k : c->s->n, c->b->lanes);
  void *vectors = c->s->m;
  if (dot) /* a few vectors at once take the time of two */
    vectors = apply(
        m, CPU_LEAST, vectors,
        times(m, divide_up(m, vectors, TEIR_CPU_FEW_TOGETHER), number(m, 2)));
  void *many =
      times(m, vectors, times(m, together, line(m, call, step, along)));
  int64_t near = TEIR_CPU_NEAR_BYTES / dtype_bytes(c->t->in1);
  void *is_near =
      at_most(m, times(m, c->s->m, times(m, c->s->n, c->s->k)), near);
  is_near = apply(m, CPU_BOTH, at_most(m, c->s->m, 1), is_near);
  void *one = price_near(m, c, dot);
  if (c->s->finishes && !c->s->scaled)
    return finished ? plus(m, many, price_finish(m, c)) : many;
  if (finished) {
    many = plus(m, many, price_finish(m, c));
    one = plus(m, one, number(m, FACTORS - FINISH));
  }
  return choose(m, is_near, plus(m, one, number(m, NEAR_FIXED - FIXED)), many);
}

/* Of few columns in vectors along the rows: the same as of few rows, whose sums
 * are transposed. */
static void *price_exchanged(math *m, const struct code *c) {
  enum { SUM = CYCLE / 2 };
  struct teir_cpu_size turned = *c->s;
  turned.m = c->s->n;
  turned.n = c->s->m;
  turned.turned = false;
  struct code of = {c->b, &turned, c->t, c->masks};
  return plus(m, price_direct(m, &of),
              times(m, times(m, turned.m, turned.n), number(m, SUM)));
}

/* As of a matrix and a vector where it has one row, or few columns. */
static void *price_thin(math *m, const struct code *c,
                        const struct teir_cpu_thin *thin,
                        const struct teir_cpu_ways *w, void *otherwise) {
  if (thin->column) {
    struct teir_cpu_size turned = *c->s;
    turned.m = c->s->n;
    turned.n = c->s->m;
    struct code of = {c->b, &turned, c->t, c->masks};
    void *column = price_vector(m, &of, w->column, false);
    if (w->column == CPU_VECTOR_ADD)
      column = choose(m, at_most(m, c->s->n, 1), column, price_exchanged(m, c));
    otherwise = choose(m, thin->column, column, otherwise);
  }
  return thin->row ? choose(m, thin->row, price_vector(m, c, w->row, false),
                            otherwise)
                   : otherwise;
}

/* Of all elements of an input, which has so many rows or columns. */
static void *price_sums(math *m, const struct code *c, void *rows) {
  enum { CALL = 250 * CYCLE, ROW = 4 * CYCLE, ELEMENT = CYCLE / 16 };
  enum { RESULT = CYCLE / 4 }; /* to add them */
  void *results = times(m, times(m, c->s->m, c->s->n), number(m, RESULT));
  return plus(m, plus(m, number(m, CALL), results),
              times(m, rows, line(m, ROW, ELEMENT, c->s->k)));
}

void *teir_cpu_surely_pays(math *m, const struct teir_cpu_size *s,
                           const enum dtype type[2]) {
  enum { SURE = 8, TURNED = 16 };
  struct types t = {type[0], type[1]};
  if (!is_float(&t) || is_narrow(&t) || s->partial ||
      (s->finishes && !s->scaled))
    return NULL;
  void *least = apply(m, CPU_LEAST, s->m, apply(m, CPU_LEAST, s->n, s->k));
  return apply(m, CPU_AT_MOST, number(m, s->turned ? TURNED : SURE), least);
}

/* Rows of a triangle in whole ones, whose blocks along the edge are whole. */
static struct teir_cpu_size whole_rows(math *m, const struct teir_cpu_size *s) {
  enum { ALONG_EDGE = 12 };
  struct teir_cpu_size x = *s;
  void *half = apply(m, CPU_DIVIDE, s->m, number(m, 2));
  if (s->partial)
    x.m = apply(m, CPU_LEAST, s->m, plus(m, half, number(m, ALONG_EDGE)));
  return x;
}

void *teir_cpu_may_pay(math *m, const enum dtype type[2],
                       const struct teir_cpu_loops *l) {
  enum { LEAST = (NEAR_FIXED + 16 * CYCLE) * 5 / 4 };
  struct types t = {type[0], type[1]};
  return apply(m, CPU_AT_MOST, number(m, LEAST), price_loops(m, &t, l));
}

void *teir_cpu_pays(const struct teir_cpu *cpu, math *m,
                    const struct teir_cpu_size *s,
                    const struct teir_cpu_thin *thin, void *batches,
                    const struct teir_cpu_ways *w, const enum dtype type[2],
                    const bool summed[2], const struct teir_cpu_loops *l) {
  enum { STRAIGHT = 12 * CYCLE };
  enum { EDGE = 30 * CYCLE }; /* of a row, to a buffer and back */
  /* More multiply-adds of a product than were measured: prices know neither
   * memory nor threads. */
  enum { MUCH = 1 << 20 };
  struct teir_cpu_blocks b = teir_cpu_blocks(cpu, type[1]);
  struct types t = {type[0], type[1]};
  bool masks = teir_cpu_has_masks(cpu, type[1]) &&
               (s->turned || teir_cpu_has_masks(cpu, type[0]));
  struct teir_cpu_size whole = whole_rows(m, s);
  struct code c = {&b, &whole, &t, masks};
  void *each =
      w->vector != CPU_VECTOR_NO ? price_vector(m, &c, w->vector, s->finishes)
      : w->straight              ? price_straight(m, &c)
                    : price_thin(m, &c, thin, w, price_matrix(m, &c, w));
  if (s->finishes && w->vector == CPU_VECTOR_NO && !(s->scaled && w->direct))
    each = plus(m, each, price_finish(m, &c));
  for (int in = IN0; in <= IN1; in++)
    if (summed[in])
      each = plus(m, each, price_sums(m, &c, in == IN0 ? s->m : s->n));
  if (s->partial)
    each = plus(m, each, times(m, s->m, number(m, EDGE)));
  int64_t once = (w->straight ? STRAIGHT : FIXED) + (s->finishes ? FINISH : 0);
  void *all = plus(m, number(m, once), times(m, batches, each));
  /* Loops are priced for all rows and columns, of which half are there; fitted
   * to syrk of 8 to 64 rows. */
  int64_t code = s->partial ? 6 : 5;
  void *cheaper = apply(m, CPU_AT_MOST, times(m, all, number(m, code)),
                        times(m, price_loops(m, &t, l), number(m, 4)));
  void *macs = times(m, s->m, times(m, s->n, s->k));
  return apply(m, CPU_EITHER, cheaper,
               apply(m, CPU_AT_MOST, number(m, MUCH), macs));
}
