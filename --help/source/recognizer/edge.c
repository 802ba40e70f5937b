/* edge.c -- loops whose first or last iteration does something else:
 *
 *     for k: if (k == 0) c = bias;  c += a*b;  if (k == n - 1) c = relu(c);
 *
 * The body has run once, on what variables held when the iteration began, and
 * has left choices that conditions on k decide.  With these conditions decided
 * as between the edges, a variable must hold what it held plus some products.
 * In the first iteration it must hold something else plus the same products:
 * this is what all of them are added to.  What it holds behind the last is
 * whatever that makes of a sum as it would be without the edge.
 *
 * The loop must run for that, and twice if it has both edges; the program asks
 * before it makes the call (edge_guards). */
#include "match.h"

enum edge { EDGE_NONE, EDGE_FIRST, EDGE_LAST };

static bool runs_down(const struct match *m, int loop) {
  return m->nest->loop[loop].down;
}

/* An iteration of a loop. */
struct iteration {
  const struct match *m;
  int loop;
  bool first, last;
  struct edges *met; /* conditions on them */
};

/* ---- conditions ---- */

/* Of a limit that is decided by whether an iteration is at this edge: whether
 * it holds there.  It is the opposite everywhere else. */
static enum edge edge_of(const struct iteration *i, const struct term *t,
                         bool *holds) {
  assert(t->op == TERM_LIMIT);
  const struct affine_guard *l = &t->limit;
  struct value step =
      t->moves == loop_bit(i->loop) ? l->step[i->loop] : value_of(0);
  if (step.symbol >= 0 || step.constant == 0)
    return EDGE_NONE;
  bool down = runs_down(i->m, i->loop);
  if (l->last) {
    *holds = !l->below;
    return down ? EDGE_FIRST : EDGE_LAST;
  }
  int64_t from = l->start.constant, next;
  *holds = (from < 0) == l->below;
  bool changes = l->start.symbol < 0 && (from < 0) == (step.constant > 0) &&
                 !__builtin_add_overflow(from, step.constant, &next) &&
                 (from < 0) != (next < 0);
  return !changes ? EDGE_NONE : down ? EDGE_LAST : EDGE_FIRST;
}

static const struct term *truth(struct arena *a, bool yes) {
  return term_number(a, DTYPE_U8, 0, yes);
}

static const struct term *decide(const struct iteration *i,
                                 const struct term *limit) {
  bool holds;
  switch (edge_of(i, limit, &holds)) {
  case EDGE_NONE:
    break;
  case EDGE_FIRST:
    i->met->first |= loop_bit(i->loop);
    return truth(i->m->arena, holds == i->first);
  case EDGE_LAST:
    i->met->last |= loop_bit(i->loop);
    return truth(i->m->arena, holds == i->last);
  }
  return limit;
}

/* One operand of two is known. */
static const struct term *decide_two(struct arena *a, enum term_op op,
                                     bool known, const struct term *other) {
  assert(op == TERM_AND || op == TERM_OR || op == TERM_XOR);
  if (op == TERM_AND)
    return known ? other : truth(a, false);
  if (op == TERM_OR)
    return known ? truth(a, true) : other;
  return known ? term_make(a, TERM_NOT, DTYPE_U8, false, other->at, 1, &other)
               : other;
}

/* The operation on truth values, or the choice, where operands are known. */
static const struct term *simplify(struct arena *a, const struct term *t) {
  const struct term *const *x = t->arg;
  switch (t->op) {
  case TERM_NOT:
    return x[0]->op == TERM_NUMBER ? truth(a, !x[0]->integer) : t;
  case TERM_AND:
  case TERM_OR:
  case TERM_XOR:
    for (int i = 0; i < 2 && t->type == DTYPE_U8; i++)
      if (x[i]->op == TERM_NUMBER && !(x[i]->integer & ~INT64_C(1)))
        return decide_two(a, t->op, x[i]->integer, x[1 - i]);
    return t;
  case TERM_SELECT:
    if (x[0]->op == TERM_NUMBER)
      return term_cast(a, t->type, x[x[0]->integer ? 1 : 2]);
    return t;
  default:
    return t;
  }
}

/* ---- terms, rewritten ---- */

typedef const struct term *replace(const void *with, const struct term *);

/* t with parts replaced; NULL from `part`: look inside. */
static const struct term *rewritten(struct arena *a, const struct term *t,
                                    replace *part, const void *with) {
  const struct term *r = part(with, t), *arg[FACTORS_MAX];
  if (r || t->op == TERM_LOAD)
    return r ? r : t;
  bool same = true;
  assert(t->arg_count <= FACTORS_MAX);
  for (int i = 0; i < t->arg_count; i++) {
    arg[i] = rewritten(a, t->arg[i], part, with);
    same &= arg[i] == t->arg[i];
  }
  if (same)
    return t;
  if (t->op == TERM_SUM)
    return term_sum(a, t->loops, t->type, t->reassoc, t->at, t->arg_count, arg);
  if (t->what && term_has_limit(arg[0]))
    return simplify(a, term_open(a, t->at, t->what, arg[0], arg[1], arg[2]));
  return simplify(
      a, term_make(a, t->op, t->type, t->reassoc, t->at, t->arg_count, arg));
}

/* Where a condition on an edge stands around the element, it is read for every
 * place, if not in every iteration. */
static const struct term *load_in(const struct iteration *i,
                                  const struct term *t) {
  struct nest_access x = *t->access;
  bool zero = i->first && !runs_down(i->m, i->loop);
  if (t->arg_count || (!t->conditional && !zero))
    return t;
  if (zero) {
    size_t loops = (size_t)i->m->nest->loop_count;
    x.stride_bytes = arena_copy(i->m->arena, x.stride_bytes, loops, loops,
                                sizeof *x.stride_bytes);
    x.stride_bytes[i->loop] = value_of(0);
  }
  return term_load(i->m->arena, i->m->nest,
                   arena_copy(i->m->arena, &x, 1, 1, sizeof x), false, t->at);
}

static const struct term *decided(const void *with, const struct term *t) {
  const struct iteration *i = with;
  return t->op == TERM_LIMIT  ? decide(i, t)
         : t->op == TERM_LOAD ? load_in(i, t)
                              : NULL;
}

/* LIMITs stay. */
static const struct term *at_zero(const void *with, const struct term *t) {
  return t->op == TERM_LOAD ? load_in(with, t) : NULL;
}

/* ---- values ---- */

struct behind {
  const struct match *m;
  const struct round *r;
  struct edges *met;
};

/* What v holds at the end of an iteration. */
static const struct term *after(const struct behind *b, int v, bool first,
                                bool last) {
  struct iteration i = {b->m, b->r->loop, first, last, b->met};
  return rewritten(b->m->arena, b->r->after[v], decided, &i);
}

/* What a variable held when the first iteration began. */
static const struct term *in_first(const void *with, const struct term *t) {
  const struct behind *b = with;
  if (!(t->carries >> b->r->loop & 1))
    return t;
  if (t->op != TERM_CARRY)
    return NULL;
  const struct term *before = b->r->before[t->variable];
  return before ? before
                : term_bad(b->m->arena, RULE_START_VALUE, t->at,
                           "a scalar is read before it has a value");
}

static bool is_carry(const struct match *m, const struct term *t,
                     const struct term *carry) {
  return input_of(m, t, carry->type) == carry;
}

/* Of x without the products that make `carry` into y; NULL: x has others. */
static const struct term *without(const struct match *m, const struct term *x,
                                  const struct term *y,
                                  const struct term *carry) {
  assert(carry->op == TERM_CARRY);
  if (is_carry(m, y, carry))
    return x;
  if (y->op == TERM_CAST) {
    bool cast = x->op == TERM_CAST && x->type == y->type &&
                x->arg[0]->type == y->arg[0]->type;
    return without(m, cast ? x->arg[0] : x, y->arg[0], carry);
  }
  int side = y->op == TERM_ADD && !(y->arg[0]->carries >> carry->loop & 1);
  if (y->op != TERM_ADD && y->op != TERM_SUB)
    return NULL;
  const struct term *sum = y->arg[side], *product = y->arg[1 - side];
  bool alike = x->op == y->op && x->reassoc == y->reassoc;
  for (int i = 0; alike && i < (x->op == TERM_ADD ? 2 : 1); i++)
    if (term_equal(x->arg[1 - i], product))
      return without(m, x->arg[i], sum, carry);
  const struct term *all = y->op == TERM_SUB && x->op == TERM_NEG ? x->arg[0]
                           : y->op == TERM_ADD                    ? x
                                                                  : NULL;
  return all && term_equal(all, product) && is_carry(m, sum, carry)
             ? term_number(m->arena, carry->type, 0, 0)
             : NULL;
}

static bool depends_on(const struct term *t, int loop) {
  return (t->carries | t->moves) >> loop & 1;
}

/* What v holds behind the loop, were the last iteration one like others; NULL:
 * that is no sum. */
static const struct term *summed(const struct behind *b, int v) {
  const struct round *r = b->r;
  const struct term *start = r->before[v], *carry = r->carry[v];
  const struct iteration zero = {b->m, r->loop, true, false, NULL};
  const struct term *between = after(b, v, false, false);
  const struct term *first = after(b, v, true, false);
  const struct term *same = rewritten(b->m->arena, between, at_zero, &zero);
  if (!term_equal(first, same)) {
    start = without(b->m, first, same, carry);
    start = start ? rewritten(b->m->arena, start, in_first, b) : NULL;
    if (start && depends_on(start, r->loop))
      return NULL;
  }
  if (!start || is_carry(b->m, between, carry))
    return start;
  return sum_over(b->m, start, carry, between);
}

/* What the last iteration finds, and makes of it. */
static const struct term *in_last(const void *with, const struct term *t) {
  const struct behind *b = with;
  if (!(t->carries >> b->r->loop & 1))
    return t;
  for (int v = 0; v < b->r->variables; v++)
    if (b->r->mark[v] && term_equal(t, after(b, v, false, false))) {
      const struct term *sum = summed(b, v);
      return sum ? sum : t;
    }
  return NULL;
}

static bool runs(const struct match *m, int loop, const struct edges *met) {
  const struct nest_loop *l = &m->nest->loop[loop];
  int least = (met->first >> loop & 1) + (met->last >> loop & 1);
  return l->extent.symbol >= 0 || l->extent.constant >= least;
}

/* Its iterations are all that the sum runs over, numbered 0, 1, 2, .. */
static bool stands_alone(const struct nest *n, int loop) {
  for (int other = 0; other < n->loop_count; other++)
    if (n->loop[other].after == loop)
      return false;
  return n->loop[loop].cut_by < 0 && nest_is_whole(n, loop);
}

const struct term *edge_summary(const struct match *m, const struct round *r,
                                int v, struct edges *edges) {
  assert(r->mark[v] && r->carry[v] && r->after[v]->open);
  struct edges met = *edges;
  const struct behind b = {m, r, &met};
  const struct term *open = r->after[v]->open;
  const struct term *t = NULL;
  if (stands_alone(m->nest, r->loop))
    t = summed(&b, v);
  if (t && !t->bad) {
    const struct term *last = after(&b, v, false, true);
    if (!term_equal(last, after(&b, v, false, false)))
      t = rewritten(m->arena, last, in_last, &b);
  }
  bool sum = t && !(t->bad && t->bad->rule == RULE_NOT_PRODUCT_SUM);
  if (!sum || depends_on(t, r->loop) || !runs(m, r->loop, &met))
    return term_bad(m->arena, RULE_GUARDED, open->at, open->what);
  assert(!(edges->first & ~met.first) && !(edges->last & ~met.last));
  *edges = met;
  return t;
}

void edge_guards(const struct match *m, const struct edges *edges,
                 struct contraction *c) {
  const struct nest *n = m->nest;
  assert(c->guard_count >= 0);
  c->guard =
      arena_copy(m->arena, c->guard, (size_t)c->guard_count,
                 (size_t)(c->guard_count + n->loop_count), sizeof *c->guard);
  for (int l = 0; l < n->loop_count; l++) {
    int least = (edges->first >> l & 1) + (edges->last >> l & 1);
    if (least && n->loop[l].extent.symbol >= 0)
      c->guard[c->guard_count++] =
          (struct contraction_guard){.large = n->loop[l].extent,
                                     .small = value_of(least),
                                     .count = value_of(1)};
  }
}
