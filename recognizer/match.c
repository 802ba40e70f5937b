/* match.c -- is the nest a contraction?
 *
 * We ask what the nest does to memory, never how it is written.  The steps:
 *
 * 1. Which places does it write (place.c)?  Those of one tensor, each in one
 *    iteration of the loops that move it; of a loop that was unrolled and its
 *    remainder, that is one loop (remainder.c).
 * 2. What does such a place hold in the end (execute.c)?  The nest is run once,
 *    on symbols; loops that do not move the result become sums (linear.c).
 * 3. Is that an element-wise expression around one sum of products (tail.c)?
 *    What was unrolled by hand is rerolled (reroll.c).
 * 4. Which role has each loop (describe.c)?
 * 5. May it be done (legal.c)?  Of three factors, two make an intermediate
 *    first (pairwise.c).
 *
 * Which instruction comes first, which operand is left, how the loops are
 * nested: none of it matters. */
#include "match.h"

/* The tail with the sum in the type in which it is formed. */
static const struct calc *sum_formed_in(struct arena *a, const struct calc *t,
                                        enum dtype acc) {
  if (t->op == CALC_INPUT && t->input == TAIL_SUM && t->type != acc)
    return calc_cast(a, t->type, calc_input(a, TAIL_SUM, acc));
  struct calc *copy = arena_alloc(a, sizeof *copy);
  *copy = *t;
  for (int i = 0; i < calc_operands(t->op); i++)
    copy->arg[i] = sum_formed_in(a, t->arg[i], acc);
  return copy;
}

static bool is_input(const struct calc *t, int input) {
  return t->op == CALC_INPUT && t->input == input;
}

/* bf16 stored as the integer that it looks like is stored as bf16. */
static void store_as_bf16(struct contraction *c) {
  const struct calc *x = c->tail->arg[0];
  if (c->tail->op != CALC_BITS || x->type != DTYPE_BF16 ||
      calc_uses(x, TAIL_OUT))
    return;
  c->type[OUT] = DTYPE_BF16;
  c->tail = x;
}

/* out = sum and out = out + sum need no tail. */
static void describe_tail(struct arena *a, struct contraction *c,
                          const struct calc *tail) {
  assert(calc_uses(tail, TAIL_SUM));
  c->tail = sum_formed_in(a, tail, c->acc);
  store_as_bf16(c);
  if (c->type[OUT] != c->acc || c->map[IN0] || c->map[IN1])
    return;
  bool plain = is_input(c->tail, TAIL_SUM);
  c->accumulate =
      c->tail->op == CALC_ADD && ((is_input(c->tail->arg[0], TAIL_OUT) &&
                                   is_input(c->tail->arg[1], TAIL_SUM)) ||
                                  (is_input(c->tail->arg[1], TAIL_OUT) &&
                                   is_input(c->tail->arg[0], TAIL_SUM)));
  if (plain || c->accumulate)
    c->tail = NULL;
}

/* The place of the result as an operand. */
static const struct nest_access *
result(const struct match *m, const struct places *p, const struct content *c) {
  int loops = m->nest->loop_count;
  struct nest_access *out = arena_alloc(m->arena, sizeof *out);
  *out = (struct nest_access){.tensor = p->tensor,
                              .type = p->type,
                              .offset_bytes = c->start.bytes,
                              .rows = c->start.rows};
  out->stride_bytes =
      arena_array(m->arena, (size_t)loops, sizeof *out->stride_bytes);
  for (int l = 0; l < loops; l++)
    out->stride_bytes[l] =
        p->leaders & loop_bit(l) ? p->stride_bytes[l] : value_of(0);
  return out;
}

static struct contraction *describe_product(struct axes *x) {
  const struct sum *s = &x->content->sum;
  for (int t = 0; t < 2; t++)
    x->operand[IN0 + t] = s->in[t]->access;
  struct contraction *c = describe(x);
  return c && is_legal(x->match, x->content, c) ? c : NULL;
}

static bool runs_as_a_whole(const struct match *m, const struct sum *s) {
  return !s->parts ||
         verdict_decline(m->verdict, RULE_UNROLLED, s->at,
                         "the sum has another part, of other products");
}

/* Whatever declines says why. */
static struct contraction *declined(const struct verdict *v) {
  assert(v->rule != RULE_TAKEN && v->diag.kind == DIAG_DECLINED);
  (void)v;
  return NULL;
}

struct contraction *recognize(struct arena *a, const struct nest *n,
                              const struct options *o, struct verdict *v) {
  struct match m = {a, join_remainders(a, n), o, v};
  struct places p;
  if (!find_places(&m, &p) || !find_locals(&m, &p))
    return declined(v);
  struct edges edges = {0};
  const struct term **last = execute(&m, &p, &edges);
  struct content *content = arena_array(a, (size_t)p.count, sizeof *content);
  for (int i = 0; i < p.count; i++)
    if (!find_content(&m, &p, i, last[i], &content[i]))
      return declined(v);
  struct axes x = {.match = &m, .places = &p, .content = content};
  x.rerolled_count = reroll_places(&m, &p, content, x.rerolled);
  if (x.rerolled_count < 0 || !runs_as_a_whole(&m, &content->sum))
    return declined(v);
  x.operand[OUT] = result(&m, &p, content);
  struct contraction *c =
      content->sum.in_count == 2 ? describe_product(&x) : describe_pairwise(&x);
  if (!c)
    return declined(v);
  assert(c->guard_count >= 0 && c->axis_count > 0);
  edge_guards(&m, &edges, c);
  local_guards(&m, &p, c);
  describe_tail(a, c, content->tail);
  v->rule = RULE_TAKEN;
  return c;
}
