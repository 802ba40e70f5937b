/* nest.c -- checks a nest that a reader has built, and answers questions about
 * its loops.  The rules here are about the description, not about the program:
 * a nest that breaks one is a mistake of its reader. */
#include "recognizer_parts.h"

#include <assert.h>

enum calc_op nest_calc_op(enum nest_op op) {
  assert(op >= NEST_NUMBER);
  return (enum calc_op)(op - NEST_NUMBER + CALC_NUMBER);
}

bool nest_is_truth(enum nest_op op) {
  return op == NEST_LT || op == NEST_LE || op == NEST_EQ || op == NEST_NOT;
}

int nest_path(const struct nest *n, int loop, int *path) {
  int count = 0;
  for (int l = loop; l >= 0; l = n->loop[l].parent)
    count++;
  assert(count <= LOOPS_MAX);
  for (int l = loop, i = count; l >= 0; l = n->loop[l].parent)
    path[--i] = l;
  return count;
}

bool nest_inside(const struct nest *n, int loop, int outer) {
  while (loop >= 0 && loop != outer) {
    assert(n->loop[loop].parent < loop); /* this ends */
    loop = n->loop[loop].parent;
  }
  return loop == outer;
}

uint64_t nest_cutters(const struct nest *n, int loop) {
  uint64_t cutters = 0;
  for (int l = n->loop[loop].cut_by; l >= 0; l = n->loop[l].cut_by) {
    assert(n->loop[l].cut_by < l); /* tile loops come earlier: this ends */
    cutters |= UINT64_C(1) << l;
  }
  return cutters;
}

bool nest_is_whole(const struct nest *n, int loop) {
  return n->loop[loop].after < 0 && n->loop[loop].step == 1;
}

struct value nest_first(const struct nest *n, int loop) {
  int after = n->loop[loop].after;
  assert(after < loop);
  return after < 0 ? value_of(0) : n->loop[after].extent;
}

bool nest_access_ahead(const struct nest *n, const struct nest_access *x,
                       const struct nest_access *y, const int *stands_for,
                       int loop, int64_t ahead) {
  struct value to[LOOPS_MAX];
  for (int l = 0; l < n->loop_count; l++)
    to[l] = value_of(0);
  for (int l = 0; l < n->loop_count; l++)
    if (access_moves(x, l)) {
      if (stands_for[l] < 0 || !value_is(to[stands_for[l]], 0))
        return false;
      to[stands_for[l]] = x->stride_bytes[l];
    }
  for (int l = 0; l < n->loop_count; l++)
    if (!value_equal(y->stride_bytes[l], to[l]))
      return false;
  struct value stride = x->stride_bytes[loop];
  bool by_rows = stride.symbol >= 0;
  uint64_t rows = by_rows ? (uint64_t)ahead : 0;
  uint64_t bytes = by_rows ? 0 : (uint64_t)stride.constant * (uint64_t)ahead;
  return x->tensor == y->tensor && x->type == y->type &&
         (rows == 0 || n->pitch[x->tensor] == stride.symbol) &&
         (uint64_t)y->rows - (uint64_t)x->rows == rows &&
         (uint64_t)y->offset_bytes - (uint64_t)x->offset_bytes == bytes;
}

bool nest_at_once(const struct nest_statement *s,
                  const struct nest_statement *t) {
  return s->order == t->order && s->loop == t->loop && !s->is_store &&
         !t->is_store;
}

static bool check_value(const struct nest *n, struct value v, struct loc at,
                        struct diag *d) {
  if (v.symbol >= -1 && v.symbol < n->symbol_count)
    return true;
  return diag_error(d, at, "there is no run-time value number %d", v.symbol);
}

static bool check_access(const struct nest *n, const struct nest_access *x,
                         struct loc at, struct diag *d) {
  if (x->tensor < 0 || x->tensor >= n->tensor_count)
    return diag_error(d, at, "there is no tensor number %d", x->tensor);
  if (x->rows && n->pitch[x->tensor] < 0)
    return diag_error(d, at, "tensor %s has no pitch", n->tensor[x->tensor]);
  for (int l = 0; l < n->loop_count; l++)
    if (!check_value(n, x->stride_bytes[l], at, d))
      return false;
  return true;
}

/* As far as numbers are known. */
static bool ends_at_zero(const struct nest_loop *l,
                         const struct affine_guard *x, int loop) {
  struct value step = x->step[loop], from = x->start, n = l->extent;
  int64_t way;
  if (step.symbol >= 0 || step.constant < 0)
    return false;
  return from.symbol >= 0 || n.symbol >= 0 ||
         (!__builtin_mul_overflow(step.constant, n.constant - 1, &way) &&
          !__builtin_add_overflow(way, from.constant, &way) && way == 0);
}

static bool check_limit(const struct nest *n, const struct affine_guard *x,
                        struct loc at, struct diag *d) {
  int moving = -1, loops = 0;
  for (int l = 0; l < n->loop_count; l++) {
    if (!check_value(n, x->step[l], at, d))
      return false;
    if (!value_is(x->step[l], 0)) {
      moving = l;
      loops++;
    }
  }
  if (x->last && (loops != 1 || !ends_at_zero(&n->loop[moving], x, moving)))
    return diag_error(d, at, "a limit is not zero in a last iteration");
  return check_value(n, x->start, at, d);
}

/* Depth of expressions is bounded, so that nothing here can overflow a stack;
 * readers stop earlier. */
enum { DEPTH_MAX = 64 };

static bool check_expr(const struct nest *n, const struct nest_expr *e,
                       int depth, struct diag *d) {
  if (!e || depth > DEPTH_MAX)
    return diag_error(d, n->at, "an expression is missing or too deep");
  switch (e->op) {
  case NEST_OTHER:
    return true;
  case NEST_OUTSIDE:
    if (e->outside < 0 || e->outside >= n->outside_count)
      return diag_error(d, e->at, "there is no outside number %d", e->outside);
    return true;
  case NEST_LOAD:
  case NEST_LIMIT:
    if (e->loop < -1 || e->loop >= n->loop_count)
      return diag_error(d, e->at, "there is no loop number %d", e->loop);
    return e->op == NEST_LOAD ? check_access(n, &e->access, e->at, d)
                              : check_limit(n, &e->limit, e->at, d);
  case NEST_SCALAR:
    if (e->scalar < 0 || e->scalar >= n->scalar_count)
      return diag_error(d, e->at, "there is no scalar number %d", e->scalar);
    return true;
  default:
    for (int i = 0; i < calc_operands(nest_calc_op(e->op)); i++)
      if (!check_expr(n, e->arg[i], depth + 1, d))
        return false;
    return e->op != NEST_BITS ||
           dtype_bytes(e->type) == dtype_bytes(e->arg[0]->type) ||
           diag_error(d, e->at, "the bits of %s are not as many as those of %s",
                      dtype_name(e->arg[0]->type), dtype_name(e->type));
  }
}

static bool check_statement(const struct nest *n, int i, struct diag *d) {
  const struct nest_statement *s = &n->statement[i];
  if (s->loop < -1 || s->loop >= n->loop_count)
    return diag_error(d, s->at, "there is no loop number %d", s->loop);
  if (i > 0 && s->order <= s[-1].order && !nest_at_once(s - 1, s))
    return diag_error(d, s->at, "statements are not in program order");
  if (s->is_store && !check_access(n, &s->to, s->at, d))
    return false;
  if (!s->is_store && (s->scalar < 0 || s->scalar >= n->scalar_count))
    return diag_error(d, s->at, "there is no scalar number %d", s->scalar);
  return check_expr(n, s->value, 0, d);
}

/* A loop that other statements interrupt would be entered twice. */
static bool check_together(const struct nest *n, int i, struct diag *d) {
  const struct nest_statement *s = &n->statement[i];
  for (int l = s->loop; l >= 0 && i > 0; l = n->loop[l].parent) {
    if (nest_inside(n, s[-1].loop, l))
      return true;
    for (int j = 0; j < i; j++)
      if (nest_inside(n, n->statement[j].loop, l))
        return diag_error(d, s->at,
                          "the statements of loop %s are not contiguous",
                          n->loop[l].name);
  }
  return true;
}

/* Tiles of two loops, one in the other, by one tile loop would be a block
 * diagonal. */
static bool check_cutter(const struct nest *n, int loop, struct diag *d) {
  const struct nest_loop *l = &n->loop[loop];
  if (l->cut_by < -1 || l->cut_by >= loop ||
      (l->cut_by >= 0 && !nest_inside(n, loop, l->cut_by)))
    return diag_error(d, l->at, "loop %s is not cut by a loop around it",
                      l->name);
  for (int up = l->parent; l->cut_by >= 0 && up >= 0; up = n->loop[up].parent)
    if (n->loop[up].cut_by == l->cut_by)
      return diag_error(d, l->at, "loop %s cuts loop %s and loop %s in it",
                        n->loop[l->cut_by].name, n->loop[up].name, l->name);
  return true;
}

static bool check_remainder(const struct nest *n, int loop, struct diag *d) {
  const struct nest_loop *l = &n->loop[loop];
  if (l->step < 1)
    return diag_error(d, l->at, "loop %s has step %lld", l->name,
                      (long long)l->step);
  if (l->after < -1 || l->after >= loop ||
      (l->after >= 0 && n->loop[l->after].parent != l->parent))
    return diag_error(d, l->at, "loop %s goes on after no loop beside it",
                      l->name);
  if (l->cut_by >= 0 &&
      (!nest_is_whole(n, loop) || !nest_is_whole(n, l->cut_by)))
    return diag_error(d, l->at, "loop %s is cut, or cuts, as a part", l->name);
  return true;
}

bool nest_check(const struct nest *n, struct diag *d) {
  if (n->loop_count < 1 || n->loop_count > LOOPS_MAX)
    return diag_error(d, n->at, "a nest has 1 to %d loops, not %d", LOOPS_MAX,
                      n->loop_count);
  for (int l = 0; l < n->loop_count; l++) {
    if (n->loop[l].parent >= l || n->loop[l].parent < -1 ||
        (n->loop[l].parent < 0) != (l == 0))
      return diag_error(d, n->loop[l].at,
                        "loop %s has parent %d; the first loop has none and "
                        "each other an earlier one",
                        n->loop[l].name, n->loop[l].parent);
    if (!check_value(n, n->loop[l].extent, n->loop[l].at, d) ||
        !check_cutter(n, l, d) || !check_remainder(n, l, d))
      return false;
  }
  for (int t = 0; t < n->tensor_count; t++)
    if (!check_value(n, (struct value){0, n->pitch[t]}, n->at, d))
      return false;
  for (int i = 0; i < n->multiple_count; i++)
    if (!check_value(n, (struct value){0, n->multiple[i].symbol}, n->at, d) ||
        !check_value(n, (struct value){0, n->multiple[i].of}, n->at, d))
      return false;
  for (int i = 0; i < n->statement_count; i++)
    if (!check_statement(n, i, d) || !check_together(n, i, d))
      return false;
  return true;
}
