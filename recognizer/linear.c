/* linear.c -- a term as a sum of products, and from that, what a loop adds up.
 *
 * (C + alpha * (a * b)) - c * d is read as three products: C, alpha a b, -c d.
 * For integers that is always the same number: additions and products modulo
 * 2^n give the same low n bits whichever way they are arranged, and a
 * conversion to n bits or back may be left out as long as no bit above the
 * n-th matters.  For floats the source must permit another order (`reassoc`),
 * and a conversion rounds, so that it ends a product, except where the number
 * is exact or fp=relaxed says that rounding in between may be left out. */
#include "match.h"

#include <string.h>

static bool is_float(enum dtype t) { return dtype_kind(t) == DTYPE_FLOAT; }

static bool relaxed(const struct match *m) {
  return m->options->fp == FP_RELAXED;
}

/* Every value of `from` is a value of `to`, another type.  An integer is one of
 * a float whose significand is no shorter than it, of which is half sure. */
static bool keeps_value(enum dtype from, enum dtype to) {
  assert(from != to);
  enum dtype_kind a = dtype_kind(from), b = dtype_kind(to);
  int bytes = dtype_bytes(from), wide = dtype_bytes(to);
  if (a == DTYPE_FLOAT)
    return b == DTYPE_FLOAT && wide > bytes;
  if (b == DTYPE_FLOAT)
    return wide >= 4 && bytes <= wide / 2;
  return a == b ? wide >= bytes : a == DTYPE_UNSIGNED && wide > bytes;
}

/* A conversion after which `type` has the same number as before. */
static bool is_neutral(const struct match *m, const struct term *t,
                       enum dtype type) {
  enum dtype from = t->arg[0]->type, to = t->type;
  if (keeps_value(from, to))
    return true;
  if (is_float(from) != is_float(to))
    return false;
  return is_float(to) ? relaxed(m) : dtype_bytes(to) >= dtype_bytes(type);
}

const struct term *input_of(const struct match *m, const struct term *t,
                            enum dtype type) {
  while (t->op == TERM_CAST && is_neutral(m, t, type))
    t = t->arg[0];
  return t;
}

bool product_fits(enum dtype a, enum dtype b, enum dtype type) {
  int bits = 8 * (dtype_bytes(a) + dtype_bytes(b));
  int wide = 8 * dtype_bytes(type);
  if (is_float(type))
    return a == DTYPE_BF16 && b == DTYPE_BF16 &&
           (type == DTYPE_F32 || type == DTYPE_F64);
  bool negative =
      dtype_kind(a) == DTYPE_SIGNED || dtype_kind(b) == DTYPE_SIGNED;
  if (dtype_kind(type) == DTYPE_SIGNED && !negative)
    bits++; /* for the sign */
  assert(bits > wide || !negative || dtype_kind(type) == DTYPE_SIGNED);
  return bits <= wide;
}

/* In less than 64 bits, which a conversion to unsigned types reaches from
 * unsigned elements only. */
static bool exact_product(const struct match *m, const struct term *t) {
  if (t->op != TERM_MUL)
    return false;
  assert(is_float(t->type) || dtype_bytes(t->type) < 8);
  const struct term *x = input_of(m, t->arg[0], DTYPE_I64);
  const struct term *y = input_of(m, t->arg[1], DTYPE_I64);
  return x->op == TERM_LOAD && y->op == TERM_LOAD &&
         product_fits(x->type, y->type, t->type);
}

/* ---- what is made of one element ---- */

/* The LOAD that most loops move. */
static const struct term *main_load(const struct term *t) {
  const struct term *best = t->op == TERM_LOAD ? t : NULL;
  for (int i = 0; t->op != TERM_LOAD && i < t->arg_count; i++) {
    const struct term *x = main_load(t->arg[i]);
    if (x && (!best || __builtin_popcountll(x->moves) >
                           __builtin_popcountll(best->moves)))
      best = x;
  }
  return best;
}

static bool is_made_of(const struct term *t, const struct term *element) {
  bool good = t->op != TERM_OLD && t->op != TERM_LIMIT;
  if (t->op == TERM_LOAD)
    return term_equal(t, element) ||
           (!t->conditional && !t->arg_count && t->moves != element->moves &&
            !(t->moves & ~element->moves));
  for (int i = 0; good && i < t->arg_count; i++)
    good = is_made_of(t->arg[i], element);
  return good;
}

const struct term *element_of(const struct term *t) {
  const struct term *x = main_load(t);
  if (!x || t->sums || t->carries || t->bad || x->arg_count)
    return NULL;
  bool wide = is_float(x->type) || dtype_bytes(x->type) > 2;
  return (is_float(t->type) || !wide) && is_made_of(t, x) ? x : NULL;
}

/* ---- the list of products ---- */

static bool add_product(const struct match *m, struct linear *l,
                        const struct term_product *p) {
  assert(p->count >= 1 && p->count <= FACTORS_MAX);
  if (l->count == PRODUCTS_MAX)
    return false;
  if ((l->count & (l->count - 1)) == 0) /* 0, 1, 2, 4, ..: full */
    l->item =
        arena_copy(m->arena, l->item, (size_t)l->count,
                   (size_t)(l->count ? 2 * l->count : 1), sizeof *l->item);
  l->item[l->count++] = *p;
  return true;
}

static bool add_atom(const struct match *m, struct linear *l, bool negative,
                     const struct term *t) {
  struct term_product p = {.negative = negative, .count = 1, .factor = {t}};
  return add_product(m, l, &p);
}

/* The source must have permitted what is done to t. */
static void need_order(struct linear *l, const struct term *t) {
  if (is_float(t->type) && !t->reassoc && l->reassoc) {
    l->reassoc = false;
    l->at = t->at;
  }
}

static bool expand(const struct match *m, struct linear *l, bool negative,
                   const struct term *t);

static bool expand_product(const struct match *m, struct linear *l,
                           bool negative, const struct term *t,
                           const struct term *left, const struct term *right) {
  struct linear x = *l, y = *l;
  x.count = y.count = 0;
  x.item = y.item = NULL;
  x.factor = y.factor = true;
  if (!expand(m, &x, negative, left) || !expand(m, &y, false, right))
    return false;
  l->reassoc = x.reassoc && y.reassoc;
  l->at = x.reassoc ? y.at : x.at;
  for (int i = 0; i < x.count; i++)
    for (int j = 0; j < y.count; j++) {
      struct term_product p = x.item[i], *q = &y.item[j];
      assert(p.count >= 1 && q->count >= 1);
      if (p.count + q->count > FACTORS_MAX)
        return false;
      if (p.count + q->count > 2 || x.count * y.count > 1)
        need_order(l, t);
      memcpy(p.factor + p.count, q->factor,
             (size_t)q->count * sizeof p.factor[0]);
      p.count += q->count;
      p.negative ^= q->negative;
      if (!add_product(m, l, &p))
        return false;
    }
  return true;
}

/* Conversions that leave the number as it is, as far as l's type can tell. */
static bool expand_cast(const struct match *m, struct linear *l, bool negative,
                        const struct term *t) {
  const struct term *x = t->arg[0];
  struct arena *a = m->arena;
  if (is_float(x->type) != is_float(l->type))
    return add_atom(m, l, negative, t);
  bool cut = is_float(l->type) ? relaxed(m)
                               : dtype_bytes(x->type) >= dtype_bytes(l->type);
  if (cut)
    return expand(m, l, negative, x);
  if (is_float(t->type) && keeps_value(x->type, t->type) && x->op == TERM_NEG)
    return expand(m, l, !negative, term_cast(a, t->type, x->arg[0]));
  if (keeps_value(x->type, t->type) && exact_product(m, x))
    return expand_product(m, l, negative, x, term_cast(a, t->type, x->arg[0]),
                          term_cast(a, t->type, x->arg[1]));
  return add_atom(m, l, negative, t);
}

/* x << c is x * 2^c. */
static const struct term *shift_as_factor(const struct match *m,
                                          const struct term *t) {
  const struct term *by = t->arg[1];
  if (by->op != TERM_NUMBER || by->integer < 0 || by->integer > 62 ||
      by->integer >= 8 * dtype_bytes(t->type))
    return NULL;
  return term_cast(
      m->arena, t->type,
      term_number(m->arena, DTYPE_I64, 0, INT64_C(1) << by->integer));
}

static bool expand(const struct match *m, struct linear *l, bool negative,
                   const struct term *t) {
  bool same = is_float(t->type)
                  ? t->type == l->type || (relaxed(m) && is_float(l->type))
                  : dtype_bytes(t->type) >= dtype_bytes(l->type);
  if (!same || (l->only_sums && !t->sums))
    return add_atom(m, l, negative, t);
  const struct term *factor;
  switch (t->op) {
  case TERM_ADD:
  case TERM_SUB:
    if (l->factor && element_of(t))
      return add_atom(m, l, negative, t);
    need_order(l, t);
    return expand(m, l, negative, t->arg[0]) &&
           expand(m, l, negative != (t->op == TERM_SUB), t->arg[1]);
  case TERM_NEG:
    return expand(m, l, !negative, t->arg[0]);
  case TERM_MUL:
    return expand_product(m, l, negative, t, t->arg[0], t->arg[1]);
  case TERM_SHL:
    factor = shift_as_factor(m, t);
    return factor ? expand_product(m, l, negative, t, t->arg[0], factor)
                  : add_atom(m, l, negative, t);
  case TERM_CAST:
    return expand_cast(m, l, negative, t);
  default:
    return add_atom(m, l, negative, t);
  }
}

bool find_linear(const struct match *m, const struct term *t, bool only_sums,
                 struct linear *l) {
  assert(!t->bad);
  *l = (struct linear){
      .type = t->type, .reassoc = true, .only_sums = only_sums, .at = t->at};
  return expand(m, l, false, t);
}

/* ---- loops ---- */

static const struct term *not_a_sum(const struct match *m,
                                    const struct term *carry,
                                    const struct term *after) {
  const struct term *t = after;
  if (t->open)
    return term_bad(m->arena, RULE_GUARDED, t->open->at, t->open->what);
  while (t->op == TERM_ADD || t->op == TERM_SUB) {
    int side = t->arg[0]->carries >> carry->loop & 1 ? 0 : 1;
    if (t->op == TERM_SUB && side == 1)
      break;
    t = t->arg[side];
  }
  if (t->op == TERM_CAST && is_float(t->type) && is_float(t->arg[0]->type))
    return term_bad(
        m->arena, RULE_ROUNDED_BETWEEN, t->at,
        arena_printf(m->arena, "the sum is rounded to %s in every iteration",
                     dtype_name(keeps_value(t->arg[0]->type, t->type)
                                    ? t->arg[0]->type
                                    : t->type)));
  return term_bad(
      m->arena, RULE_NOT_PRODUCT_SUM, t->at,
      t->op == TERM_CARRY
          ? "the result is not its old value plus one sum of products"
          : arena_printf(m->arena,
                         "the result is formed with %s, not as a sum of "
                         "products",
                         term_words(t->op)));
}

/* The sum of the product over the loop; a sum among its factors is over more
 * loops than it was. */
static const struct term *sum_product(const struct match *m,
                                      const struct term_product *p, int loop,
                                      enum dtype type, const struct linear *l) {
  uint64_t loops = loop_bit(loop);
  const struct term *factor[FACTORS_MAX];
  bool reassoc = l->reassoc;
  struct loc at = l->at;
  int count = 0;
  for (int i = 0; i < p->count; i++) {
    const struct term *f = p->factor[i];
    bool sum = f->op == TERM_SUM;
    int more = sum ? f->arg_count : 1;
    if (count + more > FACTORS_MAX || (sum && loops != loop_bit(loop)))
      return term_bad(m->arena, RULE_NOT_PRODUCT_SUM, f->at,
                      "the result is formed with a product of sums, or of "
                      "many factors");
    if (sum) {
      loops |= f->loops;
      at = reassoc ? f->at : at;
      reassoc &= f->reassoc;
    }
    memcpy(factor + count, sum ? f->arg : &f, (size_t)more * sizeof f);
    count += more;
  }
  return term_sum(m->arena, loops, type, reassoc, at, count, factor);
}

static int find_carry(const struct linear *l, const struct term *carry) {
  assert(carry->carries == loop_bit(carry->loop));
  int found = -1;
  for (int i = 0; i < l->count; i++) {
    const struct term_product *p = &l->item[i];
    bool is_carry = !p->negative && p->count == 1 && p->factor[0] == carry;
    if (is_carry && found < 0) {
      found = i;
      continue;
    }
    for (int j = 0; j < p->count; j++)
      if (p->factor[j]->carries >> carry->loop & 1)
        return -1;
  }
  return found;
}

const struct term *sum_over(const struct match *m, const struct term *before,
                            const struct term *carry,
                            const struct term *after) {
  assert(carry->op == TERM_CARRY);
  struct arena *a = m->arena;
  struct linear l;
  int old;
  if (after->bad)
    return after;
  if (!find_linear(m, after, false, &l) || (old = find_carry(&l, carry)) < 0)
    return not_a_sum(m, carry, after);
  bool narrow = is_float(carry->type) && dtype_bytes(carry->type) < 4;
  if (narrow && !relaxed(m))
    return term_bad(a, RULE_ROUNDED_BETWEEN, after->at,
                    arena_printf(a,
                                 "the sum is rounded to %s after every "
                                 "addition",
                                 dtype_name(carry->type)));
  enum dtype type = narrow ? DTYPE_F32 : carry->type;
  const struct term *t = term_cast(a, type, before);
  for (int i = 0; i < l.count; i++) {
    if (i == old)
      continue;
    const struct term_product *p = &l.item[i];
    const struct term *s = sum_product(m, p, carry->loop, type, &l);
    if (term_is_zero(t) && !p->negative)
      t = s;
    else
      t = term_two(a, p->negative ? TERM_SUB : TERM_ADD, l.reassoc, l.at, t, s);
  }
  return term_cast(a, carry->type, t);
}
