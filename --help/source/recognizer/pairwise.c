/* pairwise.c -- a sum of products of three factors as a contraction path: two
 * contractions of two tensors each.
 *
 *     out[i,p,q] += T[i,j,k] * A[j,p] * B[k,q]        (TTMc)
 *     out[i,f]   += T[i,j,k] * A[j,f] * B[k,f]        (MTTKRP)
 *
 * Two factors make an intermediate tensor, which is summed over the loops that
 * only they have; the intermediate and the third factor make the result.  Loops
 * that the intermediate keeps are those of the pair that move the third factor
 * or the result.  For TTMc that saves a loop in either step; for MTTKRP the
 * pair A, B has no loop to be summed over, so that its step is an element-wise
 * product and the second an ordinary matrix product.
 *
 * The source multiplies twice in every iteration of all loops.  Of the three
 * pairs we take the one that multiplies least, if that is less.
 *
 * Integers are what they were: an intermediate has as many bits as the source's
 * sum, modulo which all of it is exact, or as its elements need, where they
 * are products of two numbers and no sums.  Floats are multiplied in another
 * order and rounded to the intermediate's type; the source must permit it. */
#include "match.h"

/* An extent that only run time knows counts as this when costs are compared. */
enum { TYPICAL = 64 };

struct pairwise {
  const struct match *m;
  const struct axes *whole;
  const struct nest_access *factor[SUM_FACTORS];
  /* Run-time strides of the intermediate. */
  const char **symbol;
  struct contraction_product *product;
  int product_count;
};

/* ---- the intermediate ---- */

static void begin_symbols(struct pairwise *x) {
  const struct nest *n = x->m->nest;
  size_t symbols = (size_t)n->symbol_count, loops = (size_t)n->loop_count;
  x->symbol = arena_copy(x->m->arena, n->symbol, symbols, symbols + loops,
                         sizeof *x->symbol);
  x->product = arena_array(x->m->arena, loops, sizeof *x->product);
  x->product_count = 0;
}

static struct value times(struct pairwise *x, struct value a, struct value b) {
  int64_t constant;
  if (value_is(a, 1))
    return b;
  if (value_is(b, 1))
    return a;
  if (a.symbol < 0 && b.symbol < 0 &&
      !__builtin_mul_overflow(a.constant, b.constant, &constant))
    return value_of(constant);
  int symbol = x->m->nest->symbol_count + x->product_count;
  assert(x->product_count < x->m->nest->loop_count);
  x->product[x->product_count] = (struct contraction_product){{a, b}};
  x->symbol[symbol] = arena_printf(x->m->arena, "stride%d", x->product_count++);
  return (struct value){0, symbol};
}

/* Without gaps, the innermost loop the fastest. */
static const struct nest_access *intermediate(struct pairwise *x, const int *of,
                                              enum dtype type) {
  const struct nest *n = x->m->nest;
  size_t loops = (size_t)n->loop_count;
  struct nest_access *t = arena_alloc(x->m->arena, sizeof *t);
  *t = (struct nest_access){.tensor = -1, .type = type};
  t->stride_bytes = arena_array(x->m->arena, loops, sizeof *t->stride_bytes);
  struct value step = value_of(dtype_bytes(type)), repeats = value_of(1);
  for (int l = n->loop_count - 1; l >= 0; l--) {
    t->stride_bytes[l] = value_of(0);
    if ((!access_moves(x->factor[of[0]], l) &&
         !access_moves(x->factor[of[1]], l)) ||
        (!access_moves(x->factor[of[2]], l) &&
         !access_moves(x->whole->operand[OUT], l)))
      continue;
    t->stride_bytes[l] = step = times(x, step, repeats);
    repeats = n->loop[l].extent;
  }
  return t;
}

/* Is a loop of the sum moved by the pair alone? */
static bool sums_pair(const struct pairwise *x, const int *of) {
  for (int l = 0; l < x->m->nest->loop_count; l++)
    if (x->whole->content->sum.loops & loop_bit(l) &&
        !access_moves(x->factor[of[2]], l))
      return true;
  return false;
}

static enum dtype intermediate_type(const struct pairwise *x, const int *of) {
  enum dtype a = x->factor[of[0]]->type, b = x->factor[of[1]]->type;
  enum dtype sum = x->whole->content->sum.type;
  const struct options *o = x->m->options;
  if (dtype_kind(sum) == DTYPE_FLOAT)
    return sum == DTYPE_F64 && options_on_host(o) && o->f32 == F32_KEEP
               ? DTYPE_F64
               : DTYPE_F32;
  if (!sums_pair(x, of) && product_fits(a, b, DTYPE_I16))
    return DTYPE_I16;
  return signed_type(dtype_bytes(sum));
}

/* ---- the two steps ---- */

static struct contraction *step(struct pairwise *x, const struct match *m,
                                const struct content *content,
                                const struct nest_access *in0,
                                const struct nest_access *in1,
                                const struct nest_access *out) {
  struct axes axes = {.match = m,
                      .places = x->whole->places,
                      .content = content,
                      .operand = {in0, in1, out},
                      .skips = true};
  struct contraction *c = describe(&axes);
  if (!c)
    return NULL;
  c->symbol = x->symbol;
  c->symbol_count = x->m->nest->symbol_count + x->product_count;
  c->product = x->product;
  c->product_count = x->product_count;
  return c;
}

/* An element-wise product is no work for the NPU, so that its types need not be
 * the NPU's. */
static bool legal_first(const struct match *m, struct contraction *c,
                        const struct sum *s) {
  if (has_role(c, AXIS_K))
    return has_all_roles(m, c, s->at) && legal_directions(c, m->verdict) &&
           legal_types(c, s->type, m->options, m->verdict);
  c->acc = c->type[OUT];
  return legal_directions(c, m->verdict);
}

/* Every loop moves some tensor, or its sum would count products several times.
 */
static bool all_move(const struct pairwise *x, const struct match *m) {
  const struct nest *n = m->nest;
  for (int l = 0; l < n->loop_count; l++) {
    bool moves = !(x->whole->content->sum.loops & loop_bit(l));
    for (int i = 0; i < SUM_FACTORS; i++)
      moves |= access_moves(x->factor[i], l);
    if (!moves)
      return verdict_decline(m->verdict, RULE_ROLES, n->loop[l].at,
                             "loop %s moves none of the three factors",
                             n->loop[l].name);
  }
  return true;
}

static struct contraction *two_steps(struct pairwise *x, const struct match *m,
                                     const int *of) {
  const struct content *content = x->whole->content;
  assert(of[0] + of[1] + of[2] == 0 + 1 + 2);
  struct content inner = {.summed = true, .sum = content->sum};
  begin_symbols(x);
  const struct nest_access *t = intermediate(x, of, intermediate_type(x, of));
  struct contraction *first =
      step(x, m, &inner, x->factor[of[0]], x->factor[of[1]], t);
  if (!first || !legal_first(m, first, &content->sum))
    return NULL;
  struct contraction *c =
      step(x, m, content, t, x->factor[of[2]], x->whole->operand[OUT]);
  if (!c)
    return NULL;
  c->first = first;
  c->intermediate = c->tensor[IN0] < 0 ? IN0 : IN1; /* they may have swapped */
  assert(c->tensor[c->intermediate] < 0 && first->tensor[OUT] < 0);
  assert(c->tensor[IN0 + IN1 - c->intermediate] >= 0);
  return is_legal(m, content, c) ? c : NULL;
}

/* ---- which pair ---- */

static double extents(const struct contraction *c, bool summed, bool kept,
                      bool *known) {
  double product = 1;
  for (int i = 0; i < c->axis_count; i++) {
    struct value extent = c->axis[i].extent;
    if (!(c->axis[i].role == AXIS_K ? summed : kept))
      continue;
    *known &= extent.symbol < 0;
    product *= extent.symbol < 0 ? (double)extent.constant : TYPICAL;
  }
  return product;
}

static struct contraction_cost cost_of(const struct contraction *c,
                                       bool *known) {
  assert(c->first);
  double summed = extents(c->first, true, false, known);
  double elements = extents(c->first, false, true, known);
  double second = extents(c, true, true, known);
  return (struct contraction_cost){.first = summed * elements,
                                   .second = second,
                                   .elements = elements,
                                   .iterations = summed * second};
}

/* Whether *c is a better pair than *best. */
static bool is_better(const struct contraction *c,
                      const struct contraction *best) {
  bool known = true;
  if (!best)
    return true;
  double x = contraction_work(cost_of(c, &known));
  double y = contraction_work(cost_of(best, &known));
  return x < y || (x == y && !has_role(c->first, AXIS_K));
}

/* Of the reasons why no pair can be taken, that of the one that came furthest.
 */
static void decline_as(const struct match *m, struct loc at,
                       const struct verdict *v) {
  bool form = v->rule <= RULE_TYPES;
  assert(v->rule != RULE_TAKEN && v->diag.kind == DIAG_DECLINED);
  verdict_decline(m->verdict, form ? RULE_THREE_FACTORS : v->rule, at,
                  "three factors move along the sum, and in two steps %s",
                  v->diag.text);
}

static bool pays(const struct pairwise *x, const struct contraction *c) {
  bool known = true;
  struct contraction_cost cost = cost_of(c, &known);
  return !known || contraction_pays(cost) ||
         verdict_decline(
             x->m->verdict, RULE_BELOW_THRESHOLD, x->whole->content->sum.at,
             "three factors in two steps: %.0f multiplications and "
             "an intermediate of %.0f elements are no less work "
             "than the loop's %.0f multiplications",
             cost.first + cost.second, cost.elements, 2 * cost.iterations);
}

struct contraction *describe_pairwise(struct axes *whole) {
  static const int pair[][SUM_FACTORS] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}};
  const struct match *m = whole->match;
  const struct sum *s = &whole->content->sum;
  struct verdict worst = {0};
  struct contraction *best = NULL;
  struct pairwise x = {.m = m, .whole = whole};
  assert(s->in_count == SUM_FACTORS && s->rerolled_count == 0);
  for (int i = 0; i < SUM_FACTORS; i++)
    x.factor[i] = s->in[i]->access;
  if (!all_move(&x, m) ||
      !legal_order(s->type, s->reassoc, s->at, m->options, m->verdict))
    return NULL;
  for (int i = 0; i < 3; i++) {
    struct verdict v = {0};
    struct match attempt = {m->arena, m->nest, m->options, &v};
    struct contraction *c = two_steps(&x, &attempt, pair[i]);
    if (c && is_better(c, best))
      best = c;
    if (v.rule > worst.rule)
      worst = v;
  }
  if (!best)
    decline_as(m, s->at, &worst);
  return best && pays(&x, best) ? best : NULL;
}
