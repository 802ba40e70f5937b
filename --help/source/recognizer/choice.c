/* choice.c -- choices that limits decide, as the sums that they are:
 *
 *     inside ? s + x*w : s     is  s + x'*w
 *     inside ? x : 0           is  x'
 *
 * where x' is x within the limits and zero beyond them, as if it were read from
 * a tensor with a margin of zeros.  A limit goes to an element that moves with
 * all of its loops; so it depends on nothing but which element is read, and the
 * padded tensor can be made before the sum is formed.  Where x is made of an
 * element, what is made is zero, not the element: x' is kept as the choice.
 *
 * Where the source skips x*w, the sum now has 0*w.  That adds nothing unless w
 * is infinite or NaN: for floats it needs leave. */
#include "match.h"

enum { LIMITS_MAX = 16 };

/* Terms that all hold. */
struct limits {
  int count;
  const struct term *item[LIMITS_MAX];
};

struct choice {
  const struct match *m;
  struct loc at;
  const struct limits *limits;
};

/* ---- conditions ---- */

const struct term *limit_of(const struct term *t) {
  bool yes = t->op == TERM_SELECT && t->arg[0]->op == TERM_LIMIT &&
             term_is_zero(t->arg[2]);
  return yes ? t->arg[0] : NULL;
}

/* A choice between what is made of an element and zero. */
static bool is_made(const struct term *t) {
  const struct term *limit;
  bool choice = false;
  while ((limit = limit_of(t))) {
    choice = true;
    t = t->arg[1];
  }
  return choice && element_of(t);
}

static bool has_limit(const struct term *t) {
  bool yes = t->op == TERM_LIMIT, inner = t->op != TERM_LOAD && !is_made(t);
  for (int i = 0; !yes && inner && i < t->arg_count; i++)
    yes = has_limit(t->arg[i]);
  return yes;
}

static bool is_true(const struct term *t) {
  return t->op == TERM_NUMBER && t->integer == 1;
}

static const struct term *opposite(struct arena *a, const struct term *limit) {
  assert(limit->op == TERM_LIMIT);
  struct term *t = arena_copy(a, limit, 1, 1, sizeof *limit);
  t->limit.below = !t->limit.below;
  return t;
}

static bool both(struct arena *a, const struct term *x, bool x_holds,
                 const struct term *y, bool y_holds, struct limits *l);

/* Is the condition, or its opposite, that all of some limits hold? */
static bool all_of(struct arena *a, const struct term *t, bool holds,
                   struct limits *l) {
  switch (t->op) {
  case TERM_LIMIT:
    if (l->count == LIMITS_MAX)
      return false;
    l->item[l->count++] = holds ? t : opposite(a, t);
    return true;
  case TERM_NUMBER:
    return is_true(t) == holds;
  case TERM_NOT:
    return all_of(a, t->arg[0], !holds, l);
  case TERM_XOR:
    return is_true(t->arg[1]) && all_of(a, t->arg[0], !holds, l);
  case TERM_AND:
  case TERM_OR:
    return (t->op == TERM_AND) == holds &&
           both(a, t->arg[0], holds, t->arg[1], holds, l);
  case TERM_SELECT: /* x ? y : 0, x ? 0 : y; not x ? y : 1, not x ? 1 : y */
    if (term_is_zero(t->arg[2]) || is_true(t->arg[2]))
      return term_is_zero(t->arg[2]) == holds &&
             both(a, t->arg[0], true, t->arg[1], holds, l);
    return (term_is_zero(t->arg[1]) || is_true(t->arg[1])) &&
           term_is_zero(t->arg[1]) == holds &&
           both(a, t->arg[0], false, t->arg[2], holds, l);
  default:
    return false;
  }
}

static bool both(struct arena *a, const struct term *x, bool x_holds,
                 const struct term *y, bool y_holds, struct limits *l) {
  return all_of(a, x, x_holds, l) && all_of(a, y, y_holds, l);
}

/* ---- values ---- */

/* t with other operands. */
static const struct term *with(const struct choice *c, const struct term *t,
                               const struct term *x, const struct term *y) {
  const struct term *arg[CALC_OPERANDS] = {x, y};
  assert(t->arg_count == 1 || t->arg_count == 2);
  return x && (y || t->arg_count == 1)
             ? term_make(c->m->arena, t->op, t->type, t->reassoc, t->at,
                         t->arg_count, arg)
             : NULL;
}

static const struct term *
within(const struct choice *c, const struct term *limit, const struct term *t);

/* Zero times a number of the type need not be zero. */
static bool needs_finite(const struct match *m, enum dtype type) {
  return dtype_kind(type) == DTYPE_FLOAT && m->nest->infinite &&
         m->options->fp != FP_RELAXED;
}

static const struct term *skips_infinite(const struct match *m, struct loc at) {
  return term_bad(m->arena, RULE_NEEDS_FINITE, at,
                  "products are skipped that zero takes the place of, which "
                  "differs where the other factor is infinite or NaN");
}

/* A product, or the sum of one, with one of its factors within the limit. */
static const struct term *product_within(const struct choice *c,
                                         const struct term *limit,
                                         const struct term *t) {
  const struct match *m = c->m;
  const struct term *factor[FACTORS_MAX], *x = NULL;
  assert(t->op == TERM_SUM || t->op == TERM_MUL);
  assert(t->arg_count <= FACTORS_MAX);
  for (int i = 0; i < t->arg_count; i++)
    factor[i] = t->arg[i];
  for (int i = 0; !x && i < t->arg_count; i++)
    if ((x = within(c, limit, t->arg[i])))
      factor[i] = x;
  if (!x)
    return NULL;
  if (needs_finite(m, t->type))
    return skips_infinite(m, c->at);
  return t->op == TERM_SUM ? term_sum(m->arena, t->loops, t->type, t->reassoc,
                                      t->at, t->arg_count, factor)
                           : with(c, t, factor[0], factor[1]);
}

/* The same of what is made of an element. */
static const struct term *made_within(const struct choice *c,
                                      const struct term *limit,
                                      const struct term *t) {
  struct arena *a = c->m->arena;
  const struct term *element = element_of(t);
  const struct term *arg[] = {limit, t, term_number(a, t->type, 0, 0)};
  return !element || limit->moves & ~element->moves
             ? NULL
             : term_make(a, TERM_SELECT, t->type, true, t->at, 3, arg);
}

/* t where the limit holds, else zero; NULL: no element in t can say so. */
static const struct term *
within(const struct choice *c, const struct term *limit, const struct term *t) {
  assert(limit->op == TERM_LIMIT);
  const struct term *x;
  switch (t->op) {
  case TERM_BAD:
    return t;
  case TERM_NUMBER:
    return term_is_zero(t) ? t : NULL;
  case TERM_LOAD:
    return limit->moves & ~t->moves ? NULL : term_within(c->m->arena, t, limit);
  case TERM_CAST:
  case TERM_NEG:
    return with(c, t, within(c, limit, t->arg[0]), NULL);
  case TERM_SHL:
    return with(c, t, within(c, limit, t->arg[0]), t->arg[1]);
  case TERM_ADD:
  case TERM_SUB:
    if (element_of(t))
      return made_within(c, limit, t);
    return with(c, t, within(c, limit, t->arg[0]), within(c, limit, t->arg[1]));
  case TERM_MUL:
  case TERM_SUM:
    return product_within(c, limit, t);
  case TERM_SELECT:
    if (is_made(t) && (x = within(c, limit, t->arg[1])))
      return term_make(c->m->arena, TERM_SELECT, t->type, true, t->at, 3,
                       (const struct term *const[]){t->arg[0], x, t->arg[2]});
    return made_within(c, limit, t);
  default:
    return made_within(c, limit, t);
  }
}

static const struct term *within_all(const struct choice *c,
                                     const struct term *t) {
  for (int i = 0; t && i < c->limits->count; i++)
    t = within(c, c->limits->item[i], t);
  return t;
}

/* x where the limits hold, else y; NULL: x is not y plus something. */
static const struct term *choose(const struct choice *c, const struct term *x,
                                 const struct term *y) {
  if (term_equal(x, y))
    return y;
  if (term_is_zero(y))
    return within_all(c, x);
  if (x->op != TERM_ADD && x->op != TERM_SUB)
    return NULL;
  const struct term *left = choose(c, x->arg[0], y);
  if (left)
    return with(c, x, left, within_all(c, x->arg[1]));
  return x->op == TERM_ADD
             ? with(c, x, within_all(c, x->arg[0]), choose(c, x->arg[1], y))
             : NULL;
}

const struct term *choice(const struct match *m, const struct term *condition,
                          const struct term *x, const struct term *y,
                          struct loc at) {
  static const char *const what = "a condition on the loops' counters decides "
                                  "on more than which products are summed";
  if (!term_has_limit(condition))
    return NULL;
  if (x->open || y->open)
    return term_open(m->arena, at, what, condition, x, y);
  if (has_limit(x) || has_limit(y))
    return NULL; /* a condition */
  if (x->bad || y->bad)
    return x->bad ? x->bad : y->bad;
  assert(!x->open && !y->open && !x->bad && !y->bad);
  struct limits yes = {0}, no = {0};
  const struct term *t = NULL;
  if (all_of(m->arena, condition, true, &yes))
    t = choose(&(struct choice){m, at, &yes}, x, y);
  if (!t && all_of(m->arena, condition, false, &no))
    t = choose(&(struct choice){m, at, &no}, y, x);
  return t ? t : term_open(m->arena, at, what, condition, x, y);
}

/* ---- factors that are zero ---- */

/* t != 0 or t == 0; NULL: the condition is neither. */
static const struct term *tested(const struct term *c, bool *holds) {
  if (c->op == TERM_NOT) {
    const struct term *t = tested(c->arg[0], holds);
    *holds = !*holds;
    return t;
  }
  *holds = false;
  if (c->op == TERM_EQ)
    return term_is_zero(c->arg[1])   ? c->arg[0]
           : term_is_zero(c->arg[0]) ? c->arg[1]
                                     : NULL;
  bool apart = c->op == TERM_OR && c->arg[0]->op == TERM_LT &&
               c->arg[1]->op == TERM_LT &&
               term_equal(c->arg[0]->arg[0], c->arg[1]->arg[1]) &&
               term_equal(c->arg[0]->arg[1], c->arg[1]->arg[0]);
  *holds = apart;
  if (!apart) /* t < 0 || 0 < t */
    return NULL;
  c = c->arg[0];
  return term_is_zero(c->arg[1])   ? c->arg[0]
         : term_is_zero(c->arg[0]) ? c->arg[1]
                                   : NULL;
}

/* t is zero where `factor` is. */
static bool is_zero_with(const struct term *t, const struct term *factor) {
  switch (t->op) {
  case TERM_MUL:
  case TERM_SUM:
    for (int i = 0; i < t->arg_count; i++)
      if (term_equal(t, factor) || is_zero_with(t->arg[i], factor))
        return true;
    return false;
  case TERM_CAST:
  case TERM_NEG:
  case TERM_SHL:
    return term_equal(t, factor) || is_zero_with(t->arg[0], factor);
  default:
    return term_is_zero(t) || term_equal(t, factor);
  }
}

/* x is y plus what is zero where `factor` is. */
static bool adds_zero(const struct term *x, const struct term *y,
                      const struct term *factor) {
  if (term_equal(x, y))
    return true;
  if (term_is_zero(y))
    return is_zero_with(x, factor);
  switch (x->op) {
  case TERM_ADD:
    return (adds_zero(x->arg[0], y, factor) &&
            is_zero_with(x->arg[1], factor)) ||
           (adds_zero(x->arg[1], y, factor) && is_zero_with(x->arg[0], factor));
  case TERM_SUB:
    return adds_zero(x->arg[0], y, factor) && is_zero_with(x->arg[1], factor);
  default:
    return false;
  }
}

const struct term *zero_skip(const struct match *m,
                             const struct term *condition, const struct term *x,
                             const struct term *y, struct loc at) {
  bool holds;
  if (condition->bad || x->bad || y->bad || x->open || y->open)
    return NULL;
  const struct term *factor = tested(condition, &holds);
  while (factor && factor->op == TERM_CAST &&
         input_of(m, factor, DTYPE_I64) == factor->arg[0])
    factor = factor->arg[0]; /* which keeps the number */
  if (!factor || !factor->moves)
    return NULL;
  const struct term *sum = holds ? x : y, *old = holds ? y : x;
  if (term_equal(sum, old) || !adds_zero(sum, old, factor))
    return NULL;
  return needs_finite(m, sum->type) ? skips_infinite(m, at) : sum;
}
