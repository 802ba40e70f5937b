/* execute.c -- runs the nest once, on symbols, for one iteration of all loops
 * that move the result: what does that place hold in the end?
 *
 * The textbook way looks for a pattern: three loops, a load, a multiply, an
 * add, a store, in the order some compiler emits them.  It fails on what people
 * write (a bias before, a clamp behind, four sums at a time), and it accepts
 * programs that only look alike.  Executing needs no patterns:
 *
 * - A variable is a scalar of the nest or a place of the result (place.c; the
 *   same place in all iterations of the other loops).  Each holds a term.
 * - Statements run in program order and replace one variable's term.
 * - A loop that moves the result is entered once: the iteration that belongs
 *   to the place.  Scalars that it assigns would come from the iteration
 *   before, which belongs to another place, so they are not known at its start
 *   nor behind it.
 * - A loop of one iteration is its body.
 * - Any other loop is summarised.  Its body runs once, on variables that hold
 *   CARRY, "what I held when this iteration began".  A variable that then holds
 *   CARRY plus something holds, behind the loop, what it held before plus the
 *   sum of that something (linear.c).  Everything else is not known.
 *
 * An element of a local array is a variable, too (local.c).
 *
 * A load of the result is what the place held when the load ran, which may be
 * long before the statement that uses it: snapshots keep that.  Loads of other
 * tensors may run at any time, because nothing in the nest writes them (the
 * runtime refuses overlap).  What is not known is a BAD term with its reason,
 * and matters only if the result depends on it. */
#include "match.h"

struct snapshot {
  const struct nest_expr *load;
  int variable; /* -1: not a place that the nest stores to */
  const struct term *held;
};

struct machine {
  const struct match *m;
  const struct places *places;
  int variables;             /* scalars, then places, then local arrays */
  const struct term **value; /* [variables]; NULL: never assigned */
  struct snapshot *snapshot;
  int snapshots, capacity;
  struct edges *edges;
};

static const struct term *bad(const struct machine *x, enum rule rule,
                              struct loc at, const char *what) {
  return term_bad(x->m->arena, rule, at, what);
}

/* ---- loads of what the nest stores ---- */

/* -1: it is none that an access of `loop` may reach. */
static int variable_at(const struct machine *x, const struct nest_access *a,
                       int loop) {
  int local = local_of(x->places, a->tensor);
  if (local >= 0)
    return x->m->nest->scalar_count + x->places->count + local;
  int place = place_of(x->m, x->places, a, loop);
  return place < 0 ? -1 : x->m->nest->scalar_count + place;
}

static bool is_stored(const struct machine *x, int tensor) {
  return tensor == x->places->tensor || local_of(x->places, tensor) >= 0;
}

static void list_loads(struct machine *x, const struct nest_expr *e) {
  if (e->op == NEST_LOAD && is_stored(x, e->access.tensor)) {
    if (x->snapshots == x->capacity) {
      int capacity = x->capacity ? 2 * x->capacity : 16;
      x->snapshot = arena_copy(x->m->arena, x->snapshot, (size_t)x->snapshots,
                               (size_t)capacity, sizeof *x->snapshot);
      x->capacity = capacity;
    }
    int variable = variable_at(x, &e->access, e->loop);
    x->snapshot[x->snapshots++] = (struct snapshot){e, variable, NULL};
  }
  if (e->op >= NEST_NUMBER)
    for (int i = 0; i < calc_operands(nest_calc_op(e->op)); i++)
      list_loads(x, e->arg[i]);
}

/* The loads of `loop` that run before `order` have run now. */
static void save_snapshots(struct machine *x, int loop, int order) {
  for (int i = 0; i < x->snapshots; i++) {
    struct snapshot *s = &x->snapshot[i];
    if (!s->held && s->load->loop == loop && s->load->order < order &&
        s->variable >= 0)
      s->held = x->value[s->variable];
  }
}

static const struct term *old_content(struct machine *x,
                                      const struct nest_expr *e) {
  for (int i = 0; i < x->snapshots; i++)
    if (x->snapshot[i].load == e && x->snapshot[i].held)
      return term_cast(x->m->arena, e->type, x->snapshot[i].held);
  if (local_of(x->places, e->access.tensor) >= 0)
    return bad(x, RULE_START_VALUE, e->at,
               "an element of a local array is read before it has a value");
  if (!same_element(e->access.type, x->places->type))
    return bad(
        x, RULE_OVERLAPS_SELF, e->at,
        arena_printf(x->m->arena, "the result is written as %s, but read as %s",
                     dtype_name(x->places->type), dtype_name(e->access.type)));
  return bad(x, RULE_OVERLAPS_SELF, e->at,
             "the result is read at another place than the one that is "
             "written in this iteration");
}

/* ---- expressions ---- */

/* Does a statement in `loop` stand in all loops of the load or limit? */
static bool stands_in_loops_of(const struct machine *x, int loop,
                               const struct nest_expr *e) {
  return e->loop < 0 || (loop >= 0 && nest_inside(x->m->nest, loop, e->loop));
}

static const struct term *load(struct machine *x, const struct nest_expr *e,
                               int loop) {
  struct arena *a = x->m->arena;
  if (!stands_in_loops_of(x, loop, e))
    return bad(x, RULE_NOT_PRODUCT_SUM, e->at,
               "an element that was read in a loop is used after it");
  if (is_stored(x, e->access.tensor))
    return old_content(x, e);
  const struct nest_access *y =
      access_by_leaders(x->m, x->places, &e->access, e->loop);
  return y ? term_load(a, x->m->nest, y, e->conditional, e->at)
           : bad(x, RULE_NON_AFFINE, e->at,
                 "an address moves with a loop that is not around it");
}

static const struct term *limit(const struct machine *x,
                                const struct nest_expr *e, int loop) {
  struct affine_guard l = e->limit;
  l.step = stands_in_loops_of(x, loop, e)
               ? steps_by_leaders(x->m, x->places, l.step, e->loop)
               : NULL;
  return l.step ? term_limit(x->m->arena, x->m->nest, &l, e->at)
                : bad(x, RULE_GUARDED, e->at,
                      "a condition on loops is used outside of them");
}

static const struct term *scalar(struct machine *x, const struct nest_expr *e) {
  const struct term *t = x->value[e->scalar];
  return t ? t
           : bad(x, RULE_START_VALUE, e->at,
                 "a scalar is read before it has a value");
}

static const struct term *evaluate(struct machine *x, const struct nest_expr *e,
                                   int loop) {
  struct arena *a = x->m->arena;
  switch (e->op) {
  case NEST_LOAD:
    return term_cast(a, e->type, load(x, e, loop));
  case NEST_SCALAR:
    return term_cast(a, e->type, scalar(x, e));
  case NEST_OUTSIDE:
    return term_outside(a, e->outside, e->type, e->at);
  case NEST_LIMIT:
    return limit(x, e, loop);
  case NEST_OTHER:
    return bad(x, RULE_NOT_PRODUCT_SUM, e->at,
               arena_printf(a,
                            "the result is formed with %s, not as a sum of "
                            "products",
                            e->what));
  case NEST_NUMBER:
    return term_number(a, e->type,
                       dtype_kind(e->type) == DTYPE_FLOAT ? e->number : 0,
                       e->integer);
  case NEST_CAST:
    return term_cast(a, e->type, evaluate(x, e->arg[0], loop));
  default:
    break;
  }
  const struct term *arg[CALC_OPERANDS];
  enum term_op op = (enum term_op)(e->op - NEST_NUMBER + TERM_NUMBER);
  int count = calc_operands(nest_calc_op(e->op));
  for (int i = 0; i < count; i++)
    arg[i] = evaluate(x, e->arg[i], loop);
  const struct term *chosen = NULL;
  if (op == TERM_SELECT &&
      !(chosen = choice(x->m, arg[0], arg[1], arg[2], e->at)))
    chosen = zero_skip(x->m, arg[0], arg[1], arg[2], e->at);
  return chosen ? chosen
                : term_make(a, op, e->type, e->reassoc, e->at, count, arg);
}

/* ---- statements and loops ---- */

/* The choices between what a conditional store writes and the old content: one
 * that is always made is a store, no sum. */
static const struct term *stored(struct machine *x, const struct nest_expr *e,
                                 int loop) {
  const struct term *condition =
      e->op == NEST_SELECT ? evaluate(x, e->arg[0], loop) : NULL;
  if (!condition || !term_has_limit(condition))
    return evaluate(x, e, loop);
  return term_open(
      x->m->arena, e->at, "a condition inside the nest decides what is written",
      condition, stored(x, e->arg[1], loop), stored(x, e->arg[2], loop));
}

static int variable_of(const struct machine *x,
                       const struct nest_statement *s) {
  if (!s->is_store)
    return s->scalar;
  int variable = variable_at(x, &s->to, s->loop);
  assert(variable >= 0); /* find_places has them all */
  return variable;
}

static void run_block(struct machine *x, int loop, int first, int end);

/* Marks the variables that statements first .. end - 1 assign. */
static bool *assigned(const struct machine *x, int first, int end) {
  bool *mark = arena_array(x->m->arena, (size_t)x->variables, sizeof *mark);
  for (int i = first; i < end; i++)
    mark[variable_of(x, &x->m->nest->statement[i])] = true;
  return mark;
}

/* An iteration of the loop has the same v as the others. */
static bool is_shared(const struct machine *x, int v, int loop) {
  int scalars = x->m->nest->scalar_count, local;
  local = v - scalars - x->places->count;
  return local < 0 ? v < scalars
                   : !(x->places->local[local].moving & loop_bit(loop));
}

static void forget_shared(struct machine *x, const bool *mark, int loop) {
  const struct nest *n = x->m->nest;
  for (int v = 0; v < x->variables; v++)
    if (mark[v] && is_shared(x, v, loop))
      x->value[v] =
          bad(x, RULE_NOT_PRODUCT_SUM, n->loop[loop].at,
              arena_printf(x->m->arena,
                           "a scalar is carried from one iteration of loop %s "
                           "to the next, which belongs to another place of the "
                           "result",
                           n->loop[loop].name));
}

static void run_moving_loop(struct machine *x, int loop, int first, int end) {
  const bool *mark = assigned(x, first, end);
  forget_shared(x, mark, loop);
  run_block(x, loop, first, end);
  forget_shared(x, mark, loop);
}

/* Behind the loop, v holds the same as a scalar that holds a sum: it is set to
 * the sum's present value in every iteration. */
static const struct term *same_as_other(const struct machine *x,
                                        const struct round *r, int v) {
  const struct nest_loop *l = &x->m->nest->loop[r->loop];
  bool runs = l->extent.symbol < 0 && l->extent.constant > 0 && l->cut_by < 0 &&
              l->after < 0;
  const struct term *const *before = r->before;
  for (int w = 0; w < x->variables; w++)
    if (w != v && r->mark[w] && before[w] &&
        term_equal(r->after[w], r->after[v]) &&
        (runs || (before[v] && term_equal(before[w], before[v])))) {
      const struct term *t =
          sum_over(x->m, before[w], r->carry[w], r->after[w]);
      if (!t->bad)
        return t;
    }
  return NULL;
}

static const struct term *summary(struct machine *x, const struct round *r,
                                  int v) {
  assert(r->mark[v] && r->carry[v] && r->after[v]);
  const struct term *before = r->before[v], *after = r->after[v];
  if (after == r->carry[v])
    return before;
  if (after->bad)
    return after;
  if (after->open)
    return edge_summary(x->m, r, v, x->edges);
  const struct term *same = same_as_other(x, r, v);
  if (same)
    return same;
  if (!before || !(after->carries & loop_bit(r->loop)))
    return bad(x, RULE_LAST_ITERATION, after->at,
               arena_printf(x->m->arena,
                            "each iteration of loop %s sets the value anew, so "
                            "that only the last one counts",
                            x->m->nest->loop[r->loop].name));
  return sum_over(x->m, before, r->carry[v], after);
}

static enum dtype type_of(const struct machine *x, int v, int first, int end) {
  const struct nest *n = x->m->nest;
  int local = v - n->scalar_count - x->places->count;
  if (v >= n->scalar_count)
    return local < 0 ? x->places->type : x->places->local[local].type;
  while (first < end - 1 && variable_of(x, &n->statement[first]) != v)
    first++;
  assert(first < end && variable_of(x, &n->statement[first]) == v);
  return n->statement[first].value->type;
}

static void run_other_loop(struct machine *x, int loop, int first, int end) {
  struct arena *a = x->m->arena;
  assert(!(x->places->moving & loop_bit(loop)));
  const bool *mark = assigned(x, first, end);
  size_t count = (size_t)x->variables, size = sizeof(struct term *);
  const struct term **before = arena_copy(a, x->value, count, count, size);
  const struct term **carry = arena_array(a, count, size);
  for (int v = 0; v < x->variables; v++)
    if (mark[v])
      x->value[v] = carry[v] = term_carry(a, v, loop, type_of(x, v, first, end),
                                          x->m->nest->loop[loop].at);
  run_block(x, loop, first, end);
  const struct term **after = arena_copy(a, x->value, count, count, size);
  const struct round r = {loop, x->variables, mark, before, carry, after};
  for (int v = 0; v < x->variables; v++)
    if (mark[v])
      x->value[v] = summary(x, &r, v);
}

/* The loop directly in `loop` that a statement further inside stands in. */
static int child_around(const struct nest *n, int loop, int inner) {
  assert(inner != loop && (loop < 0 || nest_inside(n, inner, loop)));
  while (n->loop[inner].parent != loop)
    inner = n->loop[inner].parent;
  return inner;
}

/* A store, or the assignments that happen at once; returns the next. */
static int run_statements(struct machine *x, int first, int end) {
  const struct nest_statement *s = x->m->nest->statement;
  int next = first + 1;
  while (next < end && nest_at_once(&s[first], &s[next]))
    next++;
  const struct term **t =
      arena_array(x->m->arena, (size_t)(next - first), sizeof *t);
  for (int i = first; i < next; i++)
    t[i - first] = s[i].conditional ? stored(x, s[i].value, s[i].loop)
                                    : evaluate(x, s[i].value, s[i].loop);
  for (int i = first; i < next; i++)
    x->value[variable_of(x, &s[i])] =
        s[i].is_store ? term_cast(x->m->arena, s[i].to.type, t[i - first])
                      : t[i - first];
  return next;
}

static void run_block(struct machine *x, int loop, int first, int end) {
  const struct nest *n = x->m->nest;
  for (int i = first; i < end;) {
    const struct nest_statement *s = &n->statement[i];
    save_snapshots(x, loop, s->order);
    if (s->loop == loop) {
      i = run_statements(x, i, end);
      continue;
    }
    int child = child_around(n, loop, s->loop), next = i;
    while (next < end && n->statement[next].loop >= 0 &&
           nest_inside(n, n->statement[next].loop, child))
      next++;
    assert(next > i); /* the statement itself is in it */
    if ((x->places->moving | x->places->entered) & loop_bit(child))
      run_moving_loop(x, child, i, next);
    else if (value_is(n->loop[child].extent, 1) && n->loop[child].cut_by < 0 &&
             nest_is_whole(n, child))
      run_block(x, child, i, next);
    else
      run_other_loop(x, child, i, next);
    i = next;
  }
}

const struct term **execute(const struct match *m, const struct places *p,
                            struct edges *edges) {
  const struct nest *n = m->nest;
  struct machine x = {.m = m,
                      .places = p,
                      .variables = n->scalar_count + p->count + p->local_count,
                      .edges = edges};
  x.value = arena_array(m->arena, (size_t)x.variables, sizeof *x.value);
  for (int i = 0; i < p->count; i++)
    x.value[n->scalar_count + i] = term_old(m->arena, i, p->type);
  for (int i = 0; i < n->statement_count; i++)
    list_loads(&x, n->statement[i].value);
  run_block(&x, -1, 0, n->statement_count);
  for (int i = 0; i < p->count; i++)
    assert(x.value[n->scalar_count + i]);
  return x.value + n->scalar_count;
}
