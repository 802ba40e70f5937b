/* tail.c -- the last content of a place as an element-wise expression around
 * one sum of products: relu(alpha * sum + beta * old), say.
 *
 * The expression keeps every operation of the source as it is, with one
 * exception: several sums that are added (accumulators of an unrolled loop,
 * products that one statement adds) become one, if their operands lie as the
 * iterations of a loop would have them (reroll.c).  Factors that do not move
 * along the sum are taken out of it. */
#include "match.h"

struct builder {
  const struct match *m;
  const struct places *places;
  struct content *content;
  int place;                  /* whose content it is */
  bool sums;                  /* it has a sum */
  const struct term *element; /* what is built is made of it; NULL: a tail */
  struct loc at;
};

static const char no_sum[] = "no loop sums: the nest is an outer or "
                             "element-wise product, which moves more than it "
                             "computes";

static const struct calc *build(struct builder *b, const struct term *t);

static const struct calc *decline(struct builder *b, enum rule rule,
                                  struct loc at, const char *what) {
  verdict_decline(b->m->verdict, rule, at, "%s", what);
  return NULL;
}

/* ---- what the expression reads ---- */

static const struct calc *build_extra(struct builder *b, const struct term *t) {
  struct content *c = b->content;
  int i = 0;
  while (i < c->extra_count && !term_equal(c->extra[i], t))
    i++;
  if (i == CALC_INPUTS - TAIL_EXTRA)
    return decline(b, RULE_LONG_TAIL, t->at,
                   "more than 14 elements and numbers are combined with the "
                   "sum");
  assert(t->op == TERM_LOAD || t->op == TERM_OUTSIDE);
  c->extra[i] = t;
  c->extra_count += i == c->extra_count;
  return calc_input(b->m->arena, (b->element ? MAP_EXTRA : TAIL_EXTRA) + i,
                    t->type);
}

static const struct calc *in_type(struct arena *a, enum dtype type,
                                  const struct calc *x) {
  return x->type == type ? x : calc_cast(a, type, x);
}

/* The operand in the type that the operation has it; integers of one size may
 * differ in what the reader knew about their sign. */
static const struct calc *operand(struct builder *b, const struct term *t,
                                  int i) {
  const struct calc *c = build(b, t->arg[i]);
  enum dtype type = t->type;
  if (t->op == TERM_NOT || (t->op == TERM_SELECT && i == 0))
    return c;
  if (t->op == TERM_LT || t->op == TERM_LE || t->op == TERM_EQ)
    type = t->arg[0]->type;
  return c ? in_type(b->m->arena, type, c) : NULL;
}

static const struct calc *build_operation(struct builder *b,
                                          const struct term *t) {
  struct arena *a = b->m->arena;
  const struct calc *x[CALC_OPERANDS] = {NULL};
  if (t->op == TERM_CAST || t->op == TERM_BITS) {
    if (!(x[0] = build(b, t->arg[0])))
      return NULL;
    return t->op == TERM_CAST ? calc_cast(a, t->type, x[0])
                              : calc_bits(a, t->type, x[0]);
  }
  for (int i = 0; i < t->arg_count; i++)
    if (!(x[i] = operand(b, t, i)))
      return NULL;
  return calc_make(a, term_calc_op(t->op), x[0], x[1], x[2]);
}

/* ---- sums ---- */

static bool decline_factor(struct builder *b, const struct term *t) {
  bool product =
      t->op == TERM_MUL || (t->op == TERM_CAST && t->arg[0]->op == TERM_MUL);
  const char *type = dtype_name(t->type);
  if (product && dtype_kind(t->type) == DTYPE_FLOAT)
    return verdict_decline(b->m->verdict, RULE_ROUNDED_PRODUCT, t->at,
                           "the product is rounded to %s before it is added",
                           type);
  if (product && t->op == TERM_CAST &&
      dtype_bytes(t->type) > dtype_bytes(t->arg[0]->type))
    return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM, t->at,
                           "the product is formed in %s and added in %s",
                           dtype_name(t->arg[0]->type), type);
  if (product)
    return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM, t->at,
                           "the product is cut to %s before it is added", type);
  if (t->op == TERM_CAST)
    return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM, t->at,
                           "an operand of the product is converted to %s, "
                           "which may change it",
                           type);
  return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM, t->at,
                         "an operand of the product is formed with %s",
                         term_words(t->op));
}

/* A SUM with all that is multiplied with it. */
struct scaled {
  bool negative;
  int count;
  const struct term *factor[2 * FACTORS_MAX]; /* those that the sum moves not */
  struct sum sum;
};

/* The tile loops of the sum whose point loops it has, too; false: some tile
 * is summed without the others. */
static bool find_cutters(struct builder *b, const struct term *t,
                         uint64_t *cutters) {
  const struct nest *n = b->m->nest;
  *cutters = 0;
  for (int l = 0; l < n->loop_count; l++)
    if (t->loops & loop_bit(l))
      *cutters |= nest_cutters(n, l);
  return !(*cutters & ~t->loops) ||
         verdict_decline(b->m->verdict, RULE_VARIANT_EXTENT, t->at,
                         "the sum runs over one tile of a loop that is tiled");
}

/* What only some iterations read must be under the limits that say which. */
static bool check_limits(struct builder *b, const struct sum *s) {
  bool conditional = false, limited = false;
  for (int i = 0; i < s->in_count; i++) {
    conditional |= s->in[i]->conditional;
    limited |= s->in[i]->arg_count > 0;
  }
  if (s->in_count == 2 ? limited || !conditional : !limited && !conditional)
    return true;
  return verdict_decline(b->m->verdict, RULE_GUARDED, s->in[0]->at,
                         "a condition inside the nest decides what is read");
}

/* Only the last bits of an integer factor count, as many as the sum has. */
static const struct calc *as_factor(struct arena *a, const struct calc *c,
                                    enum dtype sum) {
  int bytes = dtype_bytes(sum);
  if (dtype_bytes(c->type) < bytes || dtype_kind(sum) == DTYPE_FLOAT)
    return c;
  return in_type(a, signed_type(bytes), c);
}

/* What a device multiplies that has no products of such an element by floats;
 * NULL: the element. */
static const struct calc *element_as_float(struct builder *b, enum dtype type,
                                           enum dtype sum) {
  struct arena *a = b->m->arena;
  if (dtype_kind(sum) != DTYPE_FLOAT || dtype_kind(type) == DTYPE_FLOAT ||
      options_any_type(b->m->options))
    return NULL;
  return calc_cast(a, sum, calc_input(a, MAP_ELEMENT, type));
}

/* An operand of the sum: an element, or what is made of one. */
static bool add_operand(struct builder *b, const struct term *t,
                        struct sum *s) {
  const struct term *in = input_of(b->m, t, s->type), *limits = in;
  while (limit_of(in))
    in = input_of(b->m, in->arg[1], s->type);
  const struct term *element = in;
  const struct calc *map = NULL;
  if (in->op == TERM_LOAD) {
    map = element_as_float(b, in->type, s->type);
  } else {
    element = element_of(in);
    if (!element || !(element->moves & s->loops))
      return decline_factor(b, in);
    b->element = element;
    map = build(b, in);
    b->element = NULL;
    if (!map)
      return false;
    map = as_factor(b->m->arena, map, s->type);
  }
  for (const struct term *limit; (limit = limit_of(limits));
       limits = input_of(b->m, limits->arg[1], s->type))
    element = term_within(b->m->arena, element, limit);
  assert(element->op == TERM_LOAD && s->in_count < SUM_FACTORS);
  s->map[s->in_count] = map;
  s->in[s->in_count++] = element;
  return true;
}

static bool has_map(const struct sum *s) {
  return s->map[0] || s->map[1] || s->map[2];
}

static bool read_sum(struct builder *b, const struct term *t,
                     struct scaled *s) {
  assert(t->op == TERM_SUM && t->loops);
  uint64_t cutters;
  if (!find_cutters(b, t, &cutters))
    return false;
  s->sum = (struct sum){.type = t->type,
                        .reassoc = t->reassoc,
                        .at = t->at,
                        .loops = t->loops & ~cutters};
  for (int l = 0; l < b->m->nest->loop_count; l++)
    if (t->loops & loop_bit(l) && !nest_is_whole(b->m->nest, l))
      s->sum.parts |= loop_bit(l);
  for (int i = 0; i < t->arg_count; i++) {
    if (t->arg[i]->moves & (cutters | b->places->cutters))
      return verdict_decline(b->m->verdict, RULE_NON_AFFINE, t->arg[i]->at,
                             "an address moves otherwise from tile to tile "
                             "of a loop than within a tile");
    assert(s->count < 2 * FACTORS_MAX);
    if (!(t->arg[i]->moves & t->loops)) {
      s->factor[s->count++] = t->arg[i];
      continue;
    }
    if (s->sum.in_count == SUM_FACTORS)
      return verdict_decline(b->m->verdict, RULE_THREE_FACTORS, t->at,
                             "more than three factors move along the sum");
    if (!add_operand(b, t->arg[i], &s->sum))
      return false;
  }
  if (s->sum.in_count > 2 && has_map(&s->sum))
    return verdict_decline(b->m->verdict, RULE_THREE_FACTORS, t->at,
                           "three factors move along the sum, and one is "
                           "computed from an element");
  if (s->sum.in_count >= 2)
    return check_limits(b, &s->sum);
  if (t->arg_count == 1)
    return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM, t->at,
                           "elements are summed, not products of them");
  return verdict_decline(b->m->verdict, RULE_ROLES, t->at,
                         "the loops of the sum move only one of its operands");
}

/* One SUM, and other factors without any. */
static bool read_product(struct builder *b, const struct term_product *p,
                         struct scaled *s) {
  bool found = false;
  *s = (struct scaled){.negative = p->negative};
  for (int i = 0; i < p->count; i++)
    if (p->factor[i]->op != TERM_SUM) {
      if (p->factor[i]->sums)
        return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM,
                               p->factor[i]->at,
                               "sums of products are combined with %s",
                               term_words(p->factor[i]->op));
      s->factor[s->count++] = p->factor[i];
    } else if (found || !read_sum(b, p->factor[i], s))
      return verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM,
                             p->factor[i]->at,
                             "sums of products are multiplied");
    else
      found = true;
  return true;
}

/* The same factors, in any order. */
static bool same_factors(const struct scaled *x, const struct scaled *y) {
  bool used[2 * FACTORS_MAX] = {false};
  if (x->count != y->count)
    return false;
  for (int i = 0; i < x->count; i++) {
    int j = 0;
    while (j < y->count && (used[j] || !term_equal(x->factor[i], y->factor[j])))
      j++;
    if (j == y->count)
      return false;
    used[j] = true;
  }
  return true;
}

/* sum times its factors, in the sum's type; the sign is left to the caller. */
static const struct calc *build_scaled(struct builder *b,
                                       const struct scaled *s) {
  struct arena *a = b->m->arena;
  struct content *c = b->content;
  if (c->summed && !sum_equal(&c->sum, &s->sum)) {
    verdict_decline(b->m->verdict, RULE_NOT_PRODUCT_SUM, s->sum.at,
                    "the result is formed from more than one sum of products");
    return NULL;
  }
  bool reassoc = s->sum.reassoc && (!c->summed || c->sum.reassoc);
  assert(s->sum.in_count >= 2 && s->sum.in_count <= SUM_FACTORS);
  c->summed = true;
  c->sum = s->sum;
  c->sum.reassoc = reassoc;
  const struct calc *t = calc_input(a, TAIL_SUM, s->sum.type);
  for (int i = 0; i < s->count; i++) {
    const struct calc *f = build(b, term_cast(a, s->sum.type, s->factor[i]));
    if (!f)
      return NULL;
    t = calc_make(a, CALC_MUL, f, t, NULL);
  }
  return t;
}

/* Left whole by find_linear, because no sum is in it. */
static bool has_no_sum(const struct term_product *p) {
  return p->count == 1 && !p->factor[0]->sums;
}

/* The sums among the products of l, as one. */
static const struct calc *merge_sums(struct builder *b, const struct linear *l,
                                     bool *negative) {
  struct arena *a = b->m->arena;
  struct scaled *all = arena_array(a, (size_t)l->count, sizeof *all);
  struct sum *sum = arena_array(a, (size_t)l->count, sizeof *sum);
  int count = 0;
  for (int i = 0; i < l->count; i++) {
    struct scaled *s = &all[count];
    if (has_no_sum(&l->item[i]))
      continue;
    if (!read_product(b, &l->item[i], s))
      return NULL;
    bool alike = same_factors(s, &all[0]);
    if (!alike || s->negative != all[0].negative) {
      verdict_decline(b->m->verdict, RULE_SEVERAL_PRODUCTS, s->sum.at,
                      alike ? "a product is added and another subtracted, as "
                              "in a product of complex numbers"
                            : "the products that are added differ in a factor");
      return NULL;
    }
    sum[count++] = s->sum;
  }
  assert(count > 0); /* else no sum would differ from the first */
  *negative = all[0].negative;
  if (!reroll_sums(b->m, sum, count, &all[0].sum))
    return NULL;
  return build_scaled(b, &all[0]);
}

static const struct calc *zero(struct arena *a, enum dtype type) {
  return dtype_kind(type) == DTYPE_FLOAT ? calc_float(a, type, 0)
                                         : calc_int(a, type, 0);
}

/* all + x or all - x, where all may be NULL; 0 - x, because -x would turn a
 * sum of zero into minus zero. */
static const struct calc *add(struct arena *a, const struct calc *all,
                              const struct calc *x, bool negative) {
  if (!all && !negative)
    return x;
  return calc_make(a, negative ? CALC_SUB : CALC_ADD,
                   all ? all : zero(a, x->type), x, NULL);
}

/* Added products, several of which have sums: first the others, then one sum
 * in place of all sums. */
static const struct calc *build_linear(struct builder *b,
                                       const struct term *t) {
  struct arena *a = b->m->arena;
  struct linear l;
  bool negative;
  if (!find_linear(b->m, t, true, &l))
    return decline(b, RULE_NOT_PRODUCT_SUM, t->at,
                   "the result is formed with a long expression");
  if (!legal_order(t->type, l.reassoc, l.at, b->m->options, b->m->verdict))
    return NULL;
  const struct calc *sum = merge_sums(b, &l, &negative), *all = NULL;
  if (!sum)
    return NULL;
  for (int i = 0; i < l.count; i++) {
    if (!has_no_sum(&l.item[i]))
      continue;
    const struct calc *x = build(b, term_cast(a, t->type, l.item[i].factor[0]));
    if (!x)
      return NULL;
    all = add(a, all, x, l.item[i].negative);
  }
  return add(a, all, in_type(a, t->type, sum), negative);
}

static const struct term *first_sum(const struct term *t) {
  const struct term *s = t->op == TERM_SUM ? t : NULL;
  for (int i = 0; !s && t->sums && i < t->arg_count; i++)
    s = first_sum(t->arg[i]);
  return s;
}

static bool has_other_sum(const struct term *t, const struct term *s) {
  if (t->op == TERM_SUM || !t->sums)
    return t->sums && !term_equal(t, s);
  for (int i = 0; i < t->arg_count; i++)
    if (has_other_sum(t->arg[i], s))
      return true;
  return false;
}

/* ---- every kind of term ---- */

static const struct calc *build_sum(struct builder *b, const struct term *t) {
  struct scaled s = {.count = 0};
  return read_sum(b, t, &s) ? build_scaled(b, &s) : NULL;
}

static const struct calc *build(struct builder *b, const struct term *t) {
  struct arena *a = b->m->arena;
  if (t->bad)
    return decline(b, t->bad->rule, t->bad->at, t->bad->what);
  if (t->open)
    return decline(b, RULE_GUARDED, t->open->at, t->open->what);
  switch (t->op) {
  case TERM_OLD:
    if (t->place != b->place && !b->sums)
      return decline(b, RULE_VECTOR, b->at, no_sum);
    if (t->place != b->place)
      return decline(b, RULE_OVERLAPS_SELF, b->at,
                     "one place of the result depends on the old content of "
                     "another");
    return calc_input(a, TAIL_OUT, t->type);
  case TERM_NUMBER:
    return dtype_kind(t->type) == DTYPE_FLOAT
               ? calc_float(a, t->type, t->number)
               : calc_int(a, t->type, t->integer);
  case TERM_LOAD:
    if (b->element && term_equal(t, b->element))
      return calc_input(a, MAP_ELEMENT, t->type);
    if (b->element && t->moves & ~b->places->leaders)
      return decline(b, RULE_NOT_PRODUCT_SUM, t->at,
                     "an operand of the product is computed from two elements "
                     "that move along the sum");
    if (t->moves & ~b->places->leaders)
      return decline(b, RULE_NOT_PRODUCT_SUM, t->at,
                     "an element is used outside the loop that moves it");
    if (t->conditional || t->arg_count)
      return decline(b, RULE_GUARDED, t->at,
                     "a condition inside the nest decides which elements "
                     "beside those of the products are read");
    return build_extra(b, t);
  case TERM_LIMIT:
    return decline(b, RULE_GUARDED, t->at,
                   "a condition on the loops' counters decides on the result");
  case TERM_OUTSIDE:
    return build_extra(b, t);
  case TERM_SUM:
    return build_sum(b, t);
  case TERM_ADD:
  case TERM_SUB:
    return has_other_sum(t, first_sum(t)) ? build_linear(b, t)
                                          : build_operation(b, t);
  case TERM_CARRY:
  case TERM_BAD:
    return decline(b, RULE_NOT_PRODUCT_SUM, t->at,
                   "a value is carried from iteration to iteration");
  default:
    return build_operation(b, t);
  }
}

static bool calc_multiplies(const struct calc *c) {
  bool yes = c->op == CALC_MUL;
  for (int i = 0; !yes && i < calc_operands(c->op); i++)
    yes = calc_multiplies(c->arg[i]);
  return yes;
}

static bool decline_without_sum(const struct match *m, const struct places *p,
                                const struct content *c, struct loc at) {
  if (p->count > 1)
    return verdict_decline(m->verdict, RULE_EXTRA_STORE, at,
                           "the nest writes places that it does not sum into");
  if (calc_multiplies(c->tail))
    return verdict_decline(m->verdict, RULE_VECTOR, at, "%s", no_sum);
  return verdict_decline(m->verdict, RULE_NO_PRODUCT, at,
                         "no sum of products reaches the result");
}

bool find_content(const struct match *m, const struct places *p, int place,
                  const struct term *last, struct content *c) {
  struct builder b = {.m = m,
                      .places = p,
                      .content = c,
                      .place = place,
                      .sums = last->sums,
                      .at = last->at};
  c->start = p->start[place];
  struct diag d = {0};
  assert(place >= 0 && place < p->count);
  c->tail = build(&b, last);
  if (!c->tail)
    return false;
  if (!c->summed)
    return decline_without_sum(m, p, c, last->at);
  return calc_check(c->tail, &d) ||
         verdict_decline(m->verdict, RULE_LONG_TAIL, last->at, "%s", d.text);
}
