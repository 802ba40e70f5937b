/* place.c -- which places does the nest write, and how do its loops move them?
 *
 * A nest may store to one place several times: it sets it, sums into it,
 * clamps it.  The stores may stand in one loop or in loops of their own, as
 *
 *     for j: C[i][j] = bias[j];   for k, j: C[i][j] += ..;
 *
 * To speak about one place, we need to know which iterations of the two j
 * belong together: loops that move the result by the same stride, equally
 * often, stand for each other, and the first of them is their leader.  All
 * stores must have the same leaders, each once; then every store reaches every
 * place exactly once for each iteration of the loops that do not move the
 * result.  The tile loop of a moving loop chooses places, too, but
 * leads none.  That no two places coincide is asked later (legal_out), of the
 * contraction. */
#include "match.h"

#include <stdlib.h>

static bool decline_store(const struct match *m,
                          const struct nest_statement *s) {
  return verdict_decline(m->verdict, RULE_EXTRA_STORE, s->at,
                         "the nest writes more than its result");
}

static bool decline_places(const struct match *m,
                           const struct nest_statement *s) {
  return verdict_decline(m->verdict, RULE_EXTRA_STORE, s->at,
                         "this store writes other places than the last one, "
                         "or not as often");
}

/* The leader that has the loop's extent and stride and is not in `used`. */
static int find_leader(const struct match *m, const struct places *p,
                       const struct nest_access *x, int loop, uint64_t used) {
  const struct nest_loop *l = m->nest->loop;
  for (int i = 0; i < m->nest->loop_count; i++)
    if (p->leaders & loop_bit(i) && !(used & loop_bit(i)) &&
        value_equal(l[i].extent, l[loop].extent) &&
        value_equal(p->stride_bytes[i], x->stride_bytes[loop]))
      return i;
  return -1;
}

/* The loops that move the store through tiles of loops in them. */
static uint64_t cutters_of(const struct match *m, const struct nest_access *x,
                           const int *path, int count) {
  uint64_t cutters = 0;
  for (int i = 0; i < count; i++)
    if (access_moves(x, path[i]))
      cutters |= nest_cutters(m->nest, path[i]);
  return cutters;
}

/* The leaders of the loops that move the store; the first store's loops lead.
 */
static bool lead(const struct match *m, struct places *p,
                 const struct nest_statement *s, bool first) {
  int path[LOOPS_MAX];
  int count = nest_path(m->nest, s->loop, path);
  uint64_t used = 0, cutters = cutters_of(m, &s->to, path, count);
  p->cutters |= cutters;
  p->moving |= cutters;
  for (int i = 0; i < count; i++) {
    int l = path[i];
    struct value stride = s->to.stride_bytes[l];
    if (!access_moves(&s->to, l))
      continue;
    if (p->cutters & loop_bit(l) || !nest_is_whole(m->nest, l))
      return decline_places(m, s);
    if (first) {
      p->leader[l] = l;
      p->leaders |= loop_bit(l);
      p->stride_bytes[l] = stride;
    } else if (p->moving & loop_bit(l)) { /* shared with another store */
      if (!value_equal(p->stride_bytes[p->leader[l]], stride))
        return decline_places(m, s);
    } else if ((p->leader[l] = find_leader(m, p, &s->to, l, used)) < 0)
      return decline_places(m, s);
    p->moving |= loop_bit(l);
    if (used & loop_bit(p->leader[l]))
      return decline_places(m, s);
    used |= loop_bit(p->leader[l]);
  }
  return used == p->leaders || decline_places(m, s);
}

/* No loop may move one store of the result and leave another where it is. */
static bool agree(const struct match *m, const struct places *p,
                  const struct nest_statement *s) {
  int path[LOOPS_MAX];
  int count = nest_path(m->nest, s->loop, path);
  uint64_t cutters = cutters_of(m, &s->to, path, count);
  for (int i = 0; i < count; i++) {
    int l = path[i];
    bool moves = access_moves(&s->to, l) || cutters & loop_bit(l);
    if ((p->moving >> l & 1) != moves || (p->cutters & ~cutters) >> l & 1)
      return decline_places(m, s);
  }
  return true;
}

static int find_start(const struct places *p, const struct nest_access *x) {
  for (int i = 0; i < p->count; i++)
    if (p->start[i].rows == x->rows && p->start[i].bytes == x->offset_bytes)
      return i;
  return -1;
}

static bool starts_before(const struct nest_access *x, struct start s) {
  return x->rows < s.rows || (x->rows == s.rows && x->offset_bytes < s.bytes);
}

static void add_start(struct places *p, const struct nest_access *x) {
  if (find_start(p, x) >= 0)
    return;
  int i = p->count++;
  for (; i > 0 && starts_before(x, p->start[i - 1]); i--)
    p->start[i] = p->start[i - 1];
  p->start[i] = (struct start){x->rows, x->offset_bytes};
}

/* Or what becomes of it is not asked. */
static bool stores_result(const struct nest *n,
                          const struct nest_statement *s) {
  return s->is_store && !n->local[s->to.tensor];
}

static const struct nest_statement *last_store(const struct nest *n) {
  for (int i = n->statement_count - 1; i >= 0; i--)
    if (stores_result(n, &n->statement[i]))
      return &n->statement[i];
  return NULL;
}

bool find_places(const struct match *m, struct places *p) {
  const struct nest *n = m->nest;
  const struct nest_statement *last = last_store(n);
  if (!last)
    return verdict_decline(m->verdict, RULE_NO_PRODUCT, n->at,
                           "the nest stores nothing");
  size_t loops = (size_t)n->loop_count;
  *p = (struct places){
      .tensor = last->to.tensor,
      .type = last->to.type,
      .start =
          arena_array(m->arena, (size_t)n->statement_count, sizeof *p->start),
      .leader = arena_array(m->arena, loops, sizeof *p->leader),
      .stride_bytes = arena_array(m->arena, loops, sizeof *p->stride_bytes)};
  for (int l = 0; l < n->loop_count; l++)
    p->leader[l] = l;
  bool first = true;
  for (const struct nest_statement *s = n->statement;
       s < n->statement + n->statement_count; s++) {
    if (!stores_result(n, s))
      continue;
    if (s->to.tensor != last->to.tensor || s->to.type != last->to.type)
      return decline_store(m, s);
    if (!lead(m, p, s, first))
      return false;
    add_start(p, &s->to);
    first = false;
  }
  for (int i = 0; i < n->statement_count; i++)
    if (stores_result(n, &n->statement[i]) && !agree(m, p, &n->statement[i]))
      return false;
  assert(p->count > 0);
  assert(!(p->leaders & ~p->moving) && !(p->leaders & p->cutters));
  assert(!(p->cutters & ~p->moving));
  for (int i = 1; i < p->count; i++)
    assert(p->start[i - 1].rows < p->start[i].rows ||
           p->start[i - 1].bytes < p->start[i].bytes);
  for (int l = 0; l < n->loop_count; l++)
    assert(p->leader[p->leader[l]] == p->leader[l]);
  return true;
}

bool same_element(enum dtype a, enum dtype b) {
  return a == b ||
         (dtype_kind(a) != DTYPE_FLOAT && dtype_kind(b) != DTYPE_FLOAT &&
          dtype_bytes(a) == dtype_bytes(b));
}

int place_of(const struct match *m, const struct places *p,
             const struct nest_access *x, int loop) {
  uint64_t used = 0, around = 0, cutters = 0;
  assert(loop >= -1 && loop < m->nest->loop_count);
  if (x->tensor != p->tensor || !same_element(x->type, p->type))
    return -1;
  for (int l = loop; l >= 0; l = m->nest->loop[l].parent)
    around |= loop_bit(l);
  for (int l = 0; l < m->nest->loop_count; l++) {
    bool moves = around & p->moving & ~p->cutters & loop_bit(l);
    int leader = p->leader[l];
    if (!value_equal(x->stride_bytes[l],
                     moves ? p->stride_bytes[leader] : value_of(0)))
      return -1;
    if (moves) {
      used |= loop_bit(leader);
      cutters |= nest_cutters(m->nest, l);
    }
  }
  if (around & p->cutters & ~cutters)
    return -1; /* another tile's place */
  return used == p->leaders ? find_start(p, x) : -1;
}

const struct nest_access *access_by_leaders(const struct match *m,
                                            const struct places *p,
                                            const struct nest_access *x,
                                            int loop) {
  struct nest_access *y = arena_copy(m->arena, x, 1, 1, sizeof *x);
  y->stride_bytes = steps_by_leaders(m, p, x->stride_bytes, loop);
  return y->stride_bytes ? y : NULL;
}

struct value *steps_by_leaders(const struct match *m, const struct places *p,
                               const struct value *x, int loop) {
  const struct nest *n = m->nest;
  struct value *y = arena_array(m->arena, (size_t)n->loop_count, sizeof *y);
  for (int l = 0; l < n->loop_count; l++)
    y[l] = value_of(0);
  for (int l = 0; l < n->loop_count; l++)
    if (!value_is(x[l], 0)) {
      if (loop < 0 || !nest_inside(n, loop, l))
        return NULL;
      assert(value_is(y[p->leader[l]], 0)); /* one loop leads only one here */
      y[p->leader[l]] = x[l];
    }
  return y;
}

/* A loop that does not move the result and runs both, the store in an earlier
 * iteration. */
static bool share_other_loop(const struct match *m, const struct places *p,
                             int load, int store) {
  for (int l = load; l >= 0; l = m->nest->loop[l].parent)
    if (!(p->moving & loop_bit(l)) && nest_inside(m->nest, store, l))
      return true;
  return false;
}

static bool load_behind_store(const struct match *m, const struct places *p,
                              const struct nest_expr *e, int tensor) {
  const struct nest *n = m->nest;
  if (e->op == NEST_LOAD && e->access.tensor == tensor)
    for (int i = 0; i < n->statement_count; i++) {
      const struct nest_statement *s = &n->statement[i];
      if (s->is_store &&
          (s->order < e->order || share_other_loop(m, p, e->loop, s->loop)))
        return true;
    }
  if (e->op >= NEST_NUMBER)
    for (int i = 0; i < calc_operands(nest_calc_op(e->op)); i++)
      if (load_behind_store(m, p, e->arg[i], tensor))
        return true;
  return false;
}

bool read_behind_store(const struct match *m, const struct places *p,
                       int tensor) {
  for (int i = 0; i < m->nest->statement_count; i++)
    if (load_behind_store(m, p, m->nest->statement[i].value, tensor))
      return true;
  return false;
}
