/* remainder.c -- loops over results that were unrolled by hand and go on in a
 * remainder loop:
 *
 *     for (; j + 1 < n; j += 2) { c[j] += a * b[j];  c[j+1] += a * b[j+1]; }
 *     for (; j < n; j++) c[j] += a * b[j];
 *
 * The remainder says what is done for one number.  If a step of the loop before
 * it does that for each of its numbers, and nothing else, the remainder gets
 * the numbers of both, and the other loop has no statements left.
 *
 * What is done for a number is a copy of the remainder's statements: in the
 * same order, in loops that are nested alike, at addresses that are so many
 * steps ahead, with scalars that no other copy has.  Each number has places of
 * its own: all stores move with the loop, and whether any two of these places
 * coincide is asked of the result (legal_out), as is whether one is read for
 * another number (execute.c).  So it does not matter in which order a step of
 * the other loop does things for several numbers.
 *
 * Sums over such loops are joined as sums, which need not be copies of each
 * other (reroll.c). */
#include "match.h"

#include <math.h>

enum { COMPARISONS_MAX = 20000 }; /* of operands that change places, too */

/* The remainder's statements and their copy for the number that is so far
 * `ahead` in a step of `loop`.  What stands for what: loops, then scalars. */
struct copy {
  const struct nest *nest;
  int remainder, loop;
  int64_t ahead;
  const bool *own[2]; /* [scalar_count]; assigned in remainder, in loop */
  int *map;           /* -1: not known yet */
  bool *used;         /* stands for another; a scalar's are not used again */
  int *known, known_count;
  int *of; /* [statement_count]; of the remainder's; -1: not known yet */
  int comparisons;
};

static bool stands_in(const struct nest *n, int loop, int outer) {
  return loop >= 0 && nest_inside(n, loop, outer);
}

static bool map(struct copy *c, int of, int to) {
  if (c->map[of] >= 0)
    return c->map[of] == to;
  if (c->used[to])
    return false;
  c->map[of] = to;
  c->used[to] = true;
  c->known[c->known_count++] = of;
  return true;
}

/* All but the first `count` that became known. */
static void forget(struct copy *c, int count) {
  while (c->known_count > count) {
    int of = c->known[--c->known_count];
    c->used[c->map[of]] = false;
    c->map[of] = -1;
  }
}

static bool stand_alike(const struct copy *c, int of, int to) {
  return of < 0 || to < 0 ? of == to : c->map[of] == to;
}

static bool map_loop(struct copy *c, int of, int to) {
  const struct nest_loop *l = c->nest->loop;
  if (of < 0 || to < 0 || c->map[of] >= 0)
    return stand_alike(c, of, to);
  return stands_in(c->nest, to, c->loop) &&
         map_loop(c, l[of].parent, l[to].parent) &&
         value_equal(l[of].extent, l[to].extent) && l[of].step == l[to].step &&
         l[of].down == l[to].down &&
         stand_alike(c, l[of].cut_by, l[to].cut_by) &&
         stand_alike(c, l[of].after, l[to].after) && map(c, of, to);
}

static bool map_scalar(struct copy *c, int of, int to) {
  if (!c->own[0][of] && !c->own[1][of])
    return of == to;
  int loops = c->nest->loop_count;
  return c->own[0][of] && c->own[1][to] && map(c, loops + of, loops + to);
}

/* ---- expressions ---- */

static int compare(int x, int y) { return (x > y) - (x < y); }

/* As x stands between the remainder's statements, y stands between those of the
 * copy, as far as they are known. */
static bool ordered_alike(const struct copy *c, int x, int y) {
  const struct nest_statement *s = c->nest->statement;
  for (int i = 0; i < c->nest->statement_count; i++)
    if (c->of[i] >= 0 &&
        compare(s[i].order, x) != compare(s[c->of[i]].order, y))
      return false;
  return true;
}

static bool same_access(const struct copy *c, const struct nest_access *x,
                        const struct nest_access *y) {
  return nest_access_ahead(c->nest, x, y, c->map, c->remainder, c->ahead);
}

static bool same_load(struct copy *c, const struct nest_expr *x,
                      const struct nest_expr *y) {
  bool inside = stands_in(c->nest, x->loop, c->remainder);
  return x->conditional == y->conditional && map_loop(c, x->loop, y->loop) &&
         (!inside || ordered_alike(c, x->order, y->order)) &&
         same_access(c, &x->access, &y->access);
}

/* Of a limit that neither loop moves, nor any in it. */
static bool same_limit(struct copy *c, const struct nest_expr *x,
                       const struct nest_expr *y) {
  const struct affine_guard *a = &x->limit, *b = &y->limit;
  for (int l = 0; l < c->nest->loop_count; l++)
    if (!value_equal(a->step[l], b->step[l]))
      return false;
  return map_loop(c, x->loop, y->loop) && value_equal(a->start, b->start) &&
         a->below == b->below && a->last == b->last;
}

static bool same_expr(struct copy *c, const struct nest_expr *x,
                      const struct nest_expr *y);

static bool same_operands(struct copy *c, const struct nest_expr *x,
                          const struct nest_expr *y) {
  int known = c->known_count, count = calc_operands(nest_calc_op(x->op)), i = 0;
  while (i < count && same_expr(c, x->arg[i], y->arg[i]))
    i++;
  if (i == count)
    return true;
  forget(c, known);
  return (x->op == NEST_ADD || x->op == NEST_MUL) &&
         same_expr(c, x->arg[0], y->arg[1]) &&
         same_expr(c, x->arg[1], y->arg[0]);
}

static bool same_expr(struct copy *c, const struct nest_expr *x,
                      const struct nest_expr *y) {
  if (x->op != y->op || x->type != y->type || x->reassoc != y->reassoc ||
      ++c->comparisons > COMPARISONS_MAX)
    return false;
  switch (x->op) {
  case NEST_LOAD:
    return same_load(c, x, y);
  case NEST_SCALAR:
    return map_scalar(c, x->scalar, y->scalar);
  case NEST_OUTSIDE:
    return x->outside == y->outside;
  case NEST_LIMIT:
    return same_limit(c, x, y);
  case NEST_OTHER:
    return false;
  case NEST_NUMBER:
    return x->integer == y->integer && x->number == y->number &&
           signbit(x->number) == signbit(y->number);
  default:
    return same_operands(c, x, y);
  }
}

/* ---- statements ---- */

static bool same_statement(struct copy *c, int of, int to) {
  const struct nest_statement *x = &c->nest->statement[of];
  const struct nest_statement *y = &c->nest->statement[to];
  return x->is_store == y->is_store && x->conditional == y->conditional &&
         map_loop(c, x->loop, y->loop) &&
         ordered_alike(c, x->order, y->order) &&
         (x->is_store ? same_access(c, &x->to, &y->to)
                      : map_scalar(c, x->scalar, y->scalar)) &&
         same_expr(c, x->value, y->value);
}

/* One that has not been taken; -1: there is none. */
static int find_statement(struct copy *c, int of, const bool *taken) {
  const struct nest *n = c->nest;
  for (int to = n->statement_count - 1; to >= 0; to--) {
    int known = c->known_count;
    if (!taken[to] && stands_in(n, n->statement[to].loop, c->loop) &&
        same_statement(c, of, to))
      return to;
    forget(c, known);
  }
  return -1;
}

/* From the last statement, a store, to the first: who uses a scalar says which
 * one it is.  How they are ordered is known when all are found. */
static bool find_copy(struct copy *c, bool *taken) {
  const struct nest *n = c->nest;
  for (int i = n->statement_count - 1; i >= 0; i--)
    if (stands_in(n, n->statement[i].loop, c->remainder)) {
      int to = find_statement(c, i, taken);
      if (to < 0)
        return false;
      c->of[i] = to;
      taken[to] = true;
    }
  for (int i = 0; i < n->statement_count; i++)
    if (c->of[i] >= 0 && !same_statement(c, i, c->of[i]))
      return false;
  return true;
}

static void begin_copy(struct copy *c, int64_t ahead) {
  const struct nest *n = c->nest;
  c->ahead = ahead;
  c->known_count = 0;
  for (int l = 0; l < n->loop_count; l++) {
    c->map[l] = stands_in(n, l, c->remainder) ? -1 : l;
    c->used[l] = false;
  }
  c->map[c->remainder] = c->loop;
  for (int s = 0; s < n->scalar_count; s++)
    c->map[n->loop_count + s] = -1;
  for (int i = 0; i < n->statement_count; i++)
    c->of[i] = -1;
}

static const bool *assigned_in(struct arena *a, const struct nest *n,
                               int loop) {
  bool *mark = arena_array(a, (size_t)n->scalar_count, sizeof *mark);
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    if (!s->is_store && stands_in(n, s->loop, loop))
      mark[s->scalar] = true;
  }
  return mark;
}

static bool reads(const struct nest_expr *e, const bool *scalar) {
  if (e->op == NEST_SCALAR)
    return scalar[e->scalar];
  if (e->op >= NEST_NUMBER)
    for (int i = 0; i < calc_operands(nest_calc_op(e->op)); i++)
      if (reads(e->arg[i], scalar))
        return true;
  return false;
}

/* Nothing but statements of these loops stands between them, each store of the
 * remainder moves with it, and what `loop` assigns is used there only. */
static bool are_separate(const struct nest *n, int remainder, int loop,
                         const bool *assigned) {
  bool begun = false, ended = false, stores = false;
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    bool in_remainder = stands_in(n, s->loop, remainder);
    bool in_loop = stands_in(n, s->loop, loop);
    begun |= in_loop;
    ended |= in_remainder;
    if (begun && !ended && !in_loop)
      return false;
    if (!in_loop && reads(s->value, assigned))
      return false;
    if (in_remainder && s->is_store &&
        (n->local[s->to.tensor] || !access_moves(&s->to, remainder)))
      return false;
    stores |= in_remainder && s->is_store;
  }
  return begun && stores;
}

/* Each step of `loop` does for all of its numbers what `remainder` does. */
static bool does_the_same(struct arena *a, const struct nest *n, int remainder,
                          int loop) {
  size_t statements = (size_t)n->statement_count;
  size_t names = (size_t)n->loop_count + (size_t)n->scalar_count;
  struct copy c = {.nest = n, .remainder = remainder, .loop = loop};
  c.own[0] = assigned_in(a, n, remainder);
  c.own[1] = assigned_in(a, n, loop);
  if (!are_separate(n, remainder, loop, c.own[1]))
    return false;
  c.map = arena_array(a, names, sizeof *c.map);
  c.used = arena_array(a, names, sizeof *c.used);
  c.known = arena_array(a, names, sizeof *c.known);
  c.of = arena_array(a, statements, sizeof *c.of);
  bool *taken = arena_array(a, statements, sizeof *taken);
  for (int64_t ahead = 0; ahead < n->loop[loop].step; ahead++) {
    begin_copy(&c, ahead);
    if (!find_copy(&c, taken))
      return false;
  }
  for (int i = 0; i < n->statement_count; i++)
    if (stands_in(n, n->statement[i].loop, loop) && !taken[i])
      return false;
  return true;
}

static void drop_statements(struct nest *n, int loop) {
  int kept = 0;
  for (int i = 0; i < n->statement_count; i++)
    if (!stands_in(n, n->statement[i].loop, loop))
      n->statement[kept++] = n->statement[i];
  assert(kept < n->statement_count); /* joining remainders ends */
  n->statement_count = kept;
}

static bool join_remainder(struct arena *a, struct nest *n, int remainder) {
  struct nest_loop *l = &n->loop[remainder];
  int loop = l->after;
  if (loop < 0 || l->step != 1 || !does_the_same(a, n, remainder, loop))
    return false;
  drop_statements(n, loop);
  l->after = n->loop[loop].after;
  return true;
}

static bool has_remainder(const struct nest *n) {
  for (int l = 0; l < n->loop_count; l++)
    if (n->loop[l].after >= 0)
      return true;
  return false;
}

const struct nest *join_remainders(struct arena *a, const struct nest *n) {
  if (!has_remainder(n))
    return n;
  size_t loops = (size_t)n->loop_count, count = (size_t)n->statement_count;
  struct nest *joined = arena_copy(a, n, 1, 1, sizeof *n);
  joined->loop = arena_copy(a, n->loop, loops, loops, sizeof *n->loop);
  joined->statement =
      arena_copy(a, n->statement, count, count, sizeof *n->statement);
  bool again = true;
  while (again) { /* what is joined in a loop makes it like another one */
    again = false;
    for (int l = n->loop_count - 1; l >= 0; l--)
      again |= join_remainder(a, joined, l);
  }
  return joined;
}
