/* local.c -- arrays that only the nest has: accumulators of a row or a block,
 * and copies of what is read several times.
 *
 *     for j: r[j] = 0;   for k, j: r[j] += a[k]*b[k][j];   for j: c[j] = r[j];
 *     for k: r[k] = b[k][j];   for i, k: c[i][j] += a[i][k]*r[k];
 *
 * Once it is known which element is meant, such an element is a variable, as a
 * scalar is.  Loops that move the array by the same stride, equally often,
 * stand for each other, as those that move the result do (place.c).  Where one
 * of them moves the result, its leader is theirs.  Else the array is a copy:
 * the loop that reads it leads, and the loop that fills it is entered for the
 * iteration of that loop.
 *
 * All accesses must start at one element, and no two iterations may share one.
 */
#include "match.h"

enum { DIMENSIONS_MAX = 8, USES_MAX = 256 };

/* A store or a load of the array. */
struct use {
  const struct nest_access *access;
  int loop;
  bool store;
  struct loc at;
  int moved_by[DIMENSIONS_MAX]; /* the loop of each dimension */
};

struct dimension {
  int64_t stride_bytes;
  struct value extent;
  int leader;
};

struct array {
  const struct match *m;
  struct places *p;
  int tensor, uses, dimensions;
  struct use use[USES_MAX];
  struct dimension dimension[DIMENSIONS_MAX]; /* strides ascend */
};

static bool decline_array(const struct match *m, struct loc at,
                          const char *what) {
  return verdict_decline(m->verdict, RULE_EXTRA_STORE, at,
                         "a local array of the nest %s", what);
}

/* ---- accesses ---- */

static bool add_use(struct array *a, const struct nest_access *x, int loop,
                    bool store, struct loc at) {
  if (x->tensor != a->tensor)
    return true;
  if (a->uses == USES_MAX)
    return decline_array(a->m, at, "is used in very many places");
  a->use[a->uses++] =
      (struct use){.access = x, .loop = loop, .store = store, .at = at};
  return true;
}

static bool add_loads(struct array *a, const struct nest_expr *e) {
  if (e->op == NEST_LOAD && !add_use(a, &e->access, e->loop, false, e->at))
    return false;
  if (e->op >= NEST_NUMBER)
    for (int i = 0; i < calc_operands(nest_calc_op(e->op)); i++)
      if (!add_loads(a, e->arg[i]))
        return false;
  return true;
}

static bool find_uses(struct array *a) {
  const struct nest *n = a->m->nest;
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    if ((s->is_store && !add_use(a, &s->to, s->loop, true, s->at)) ||
        !add_loads(a, s->value))
      return false;
  }
  assert(a->uses > 0);
  return true;
}

/* ---- dimensions ---- */

/* The first access says what dimensions there are. */
static bool add_dimension(struct array *a, const struct use *u, int loop) {
  struct dimension d = {u->access->stride_bytes[loop].constant,
                        a->m->nest->loop[loop].extent, -1};
  int at = a->dimensions++;
  for (; at > 0 && a->dimension[at - 1].stride_bytes > d.stride_bytes; at--)
    a->dimension[at] = a->dimension[at - 1];
  a->dimension[at] = d;
  return true;
}

static int find_dimension(const struct array *a, const struct use *u,
                          int loop) {
  int d = 0;
  while (d < a->dimensions &&
         !value_is(u->access->stride_bytes[loop], a->dimension[d].stride_bytes))
    d++;
  return d;
}

static bool find_dimensions(struct array *a, struct use *u) {
  const struct nest *n = a->m->nest;
  for (int d = 0; d < DIMENSIONS_MAX; d++)
    u->moved_by[d] = -1;
  int found = 0;
  for (int l = 0; l < n->loop_count; l++) {
    struct value stride = u->access->stride_bytes[l];
    if (value_is(stride, 0))
      continue;
    if (stride.symbol >= 0 || stride.constant < 0 ||
        !nest_inside(n, u->loop, l) || n->loop[l].cut_by >= 0 ||
        !nest_is_whole(n, l) || found == DIMENSIONS_MAX ||
        (u == a->use && !add_dimension(a, u, l)))
      return decline_array(a->m, u->at, "has strides that are not known");
    found++;
  }
  for (int l = 0; l < n->loop_count; l++) {
    if (value_is(u->access->stride_bytes[l], 0))
      continue;
    int d = find_dimension(a, u, l);
    if (d == a->dimensions || u->moved_by[d] >= 0 ||
        !value_equal(a->dimension[d].extent, n->loop[l].extent))
      return decline_array(a->m, u->at, "is walked through in different ways");
    u->moved_by[d] = l;
  }
  return found == a->dimensions ||
         decline_array(a->m, u->at, "is walked through in different ways");
}

/* Each dimension steps over all that the one before it reaches: known now, or
 * asked at run time. */
static bool are_apart(const struct array *a) {
  struct places *p = a->p;
  int64_t element = dtype_bytes(a->use[0].access->type), reach = element;
  for (int d = 0; d < a->dimensions; d++) {
    const struct dimension *x = &a->dimension[d];
    struct value stride = value_of(x->stride_bytes);
    if (d > 0 && x[-1].extent.symbol >= 0)
      p->guard[p->guard_count++] = (struct contraction_guard){
          .large = stride, .small = value_of(reach), .count = x[-1].extent};
    else if (d > 0 &&
             __builtin_mul_overflow(reach, x[-1].extent.constant, &reach))
      reach = INT64_MAX;
    if (x->stride_bytes < reach)
      return decline_array(a->m, a->use[0].at,
                           "has elements that several iterations share");
    reach = x->stride_bytes;
  }
  return true;
}

static bool have_one_start(const struct array *a) {
  const struct nest_access *first = a->use[0].access;
  for (int i = 1; i < a->uses; i++) {
    const struct nest_access *x = a->use[i].access;
    if (x->offset_bytes != first->offset_bytes || x->rows != first->rows ||
        !same_element(x->type, first->type))
      return decline_array(a->m, a->use[i].at,
                           "is accessed at several elements in one iteration");
  }
  return true;
}

/* ---- leaders ---- */

/* The loop that moves the result, else the one in which the array is read;
 * -1: there are several. */
static int find_leader(const struct array *a, int d) {
  int moving = -1, reads = -1;
  for (int i = 0; i < a->uses; i++) {
    int l = a->use[i].moved_by[d];
    if (a->p->moving & loop_bit(l)) {
      if (a->p->cutters & loop_bit(l) ||
          (moving >= 0 && a->p->leader[l] != moving))
        return -1;
      moving = a->p->leader[l];
    } else if (!a->use[i].store) {
      reads = reads < 0 || reads == l ? l : -2;
    }
  }
  return moving >= 0 ? moving : reads < 0 ? -1 : reads;
}

static bool stores_result_in(const struct array *a, int loop) {
  const struct nest *n = a->m->nest;
  for (int i = 0; i < n->statement_count; i++)
    if (n->statement[i].is_store && n->statement[i].to.tensor == a->p->tensor &&
        nest_inside(n, n->statement[i].loop, loop))
      return true;
  return false;
}

/* Loop l stands for its leader from now on. */
static bool follow(const struct array *a, const struct use *u, int l,
                   int leader) {
  struct places *p = a->p;
  bool entered = (p->moving | p->entered) & loop_bit(l);
  if (entered || l == leader)
    return (p->leader[l] == leader && (entered || !u->store)) ||
           decline_array(a->m, u->at, "is filled in the loop that reads it");
  if (stores_result_in(a, l) || p->leader[l] != l)
    return decline_array(a->m, u->at,
                         "is used where the result is written, too");
  p->leader[l] = leader;
  *(p->moving & loop_bit(leader) ? &p->moving : &p->entered) |= loop_bit(l);
  return true;
}

static bool find_leaders(struct array *a) {
  for (int d = 0; d < a->dimensions; d++) {
    int leader = find_leader(a, d);
    if (leader < 0)
      return decline_array(a->m, a->use[0].at,
                           "is read in several loops of sums");
    for (int i = 0; i < a->uses; i++)
      if (!follow(a, &a->use[i], a->use[i].moved_by[d], leader))
        return false;
  }
  return true;
}

/* Of a loop and those around it, none stands for another one. */
static bool stand_apart(const struct array *a) {
  const struct nest *n = a->m->nest;
  for (int l = 0; l < n->loop_count; l++)
    for (int up = n->loop[l].parent; up >= 0; up = n->loop[up].parent)
      if (a->p->leader[l] == a->p->leader[up])
        return decline_array(a->m, a->use[0].at,
                             "is filled in the loop that reads it");
  return true;
}

static bool add_local(const struct match *m, struct places *p, int tensor) {
  struct array *a = arena_alloc(m->arena, sizeof *a);
  *a = (struct array){.m = m, .p = p, .tensor = tensor};
  if (!find_uses(a))
    return false;
  for (int i = 0; i < a->uses; i++)
    if (!find_dimensions(a, &a->use[i]))
      return false;
  if (!have_one_start(a) || !are_apart(a) || !find_leaders(a) ||
      !stand_apart(a))
    return false;
  struct local *x = &p->local[p->local_count++];
  *x = (struct local){tensor, a->use[0].access->type, 0};
  for (int i = 0; i < a->uses; i++)
    for (int d = 0; d < a->dimensions; d++)
      x->moving |= loop_bit(a->use[i].moved_by[d]);
  return true;
}

bool find_locals(const struct match *m, struct places *p) {
  const struct nest *n = m->nest;
  p->local = arena_array(m->arena, (size_t)n->tensor_count, sizeof *p->local);
  p->guard = arena_array(m->arena, (size_t)n->tensor_count * DIMENSIONS_MAX,
                         sizeof *p->guard);
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    if (s->is_store && n->local[s->to.tensor] &&
        local_of(p, s->to.tensor) < 0 && !add_local(m, p, s->to.tensor))
      return false;
  }
  return true;
}

int local_of(const struct places *p, int tensor) {
  int i = 0;
  while (i < p->local_count && p->local[i].tensor != tensor)
    i++;
  return i < p->local_count ? i : -1;
}

void local_guards(const struct match *m, const struct places *p,
                  struct contraction *c) {
  size_t count = (size_t)c->guard_count, more = (size_t)p->guard_count;
  c->guard =
      arena_copy(m->arena, c->guard, count, count + more, sizeof *c->guard);
  for (int i = 0; i < p->guard_count; i++)
    c->guard[c->guard_count++] = p->guard[i];
}
