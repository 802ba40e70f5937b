/* match.c -- is the nest a contraction?
 *
 * The textbook way looks for a picture: three loops, a load, a multiply, an
 * add, a store, in the order some compiler emits them.  It fails on what people
 * write, and it accepts programs that only look alike.  We ask instead what
 * the nest does to memory, and the answer has three parts.
 *
 * 1. The stores.  One store is the result's.  At most one more may come
 *    before it and set the same places to zero, once each, in every iteration
 *    of the loops that both share.  Everything else is declined.
 * 2. The sum.  The stored value is the place's old content plus a product, or
 *    a scalar that starts at zero (or at the old content), takes one product
 *    per iteration of the loops inside, and may be added to the old content at
 *    the end.  A load of the result counts as old content only in the very
 *    iteration that stores it; loads of the inputs may stand anywhere, because
 *    nothing in the nest writes them (the runtime refuses overlap).
 * 3. The axes.  Each loop around the product moves some of the three tensors,
 *    which says what it is: all C, in0 and out M, in1 and out N, inputs only K.
 *
 * Which instruction comes first, which operand is left, how the loops are
 * nested: none of it matters. */
#include "recognizer_parts.h"

#include <math.h>
#include <stdlib.h>

struct match {
  const struct nest *nest;
  const struct options *options;
  struct verdict *verdict;
  const struct nest_statement *update, *zero; /* zero: NULL when absent */
  const struct nest_expr *product;
  int loop; /* the innermost around the product */
  bool accumulate, reassoc;
  enum dtype acc;
  struct loc at; /* of the sum */
};

static bool is_zero(const struct nest_expr *e) {
  return e->op == NEST_NUMBER && e->number == 0 && !signbit(e->number);
}

static const struct nest_expr *other_side(const struct nest_expr *sum,
                                          const struct nest_expr *side) {
  return sum->arg[0] == side ? sum->arg[1] : sum->arg[0];
}

/* e reads the very place that the update writes, in the same iteration. */
static bool is_old_content(const struct match *m, const struct nest_expr *e) {
  return e->op == NEST_LOAD && e->loop == m->update->loop &&
         e->order < m->update->order &&
         access_equal(m->nest, &e->access, &m->update->to);
}

static const struct nest_expr *find_old_content(const struct match *m,
                                                const struct nest_expr *sum) {
  if (is_old_content(m, sum->arg[0]))
    return sum->arg[0];
  return is_old_content(m, sum->arg[1]) ? sum->arg[1] : NULL;
}

static bool decline_value(struct match *m, const struct nest_expr *e) {
  switch (e->op) {
  case NEST_OTHER:
    return verdict_decline(m->verdict, RULE_NOT_PRODUCT_SUM, e->at,
                           "the result is formed with %s, not as a sum of "
                           "products",
                           e->what);
  case NEST_SUB:
    return verdict_decline(m->verdict, RULE_NOT_PRODUCT_SUM, e->at,
                           "the result is formed with a subtraction");
  case NEST_CAST:
    return verdict_decline(m->verdict, RULE_NOT_PRODUCT_SUM, e->at,
                           "the sum is converted to %s before it is stored",
                           dtype_name(e->type));
  default:
    break;
  }
  return verdict_decline(m->verdict, RULE_NOT_PRODUCT_SUM, e->at,
                         "the result is not its old value, or zero, plus a sum "
                         "of products");
}

/* The first store may zero, the last one is the update. */
static bool find_stores(struct match *m) {
  const struct nest *n = m->nest;
  int stores = 0;
  for (int i = 0; i < n->statement_count; i++) {
    if (!n->statement[i].is_store)
      continue;
    stores++;
    m->zero = m->update;
    m->update = &n->statement[i];
  }
  if (stores == 0)
    return verdict_decline(m->verdict, RULE_NO_PRODUCT, n->at,
                           "the nest stores nothing");
  if (stores > 2 || (m->zero && (!is_zero(m->zero->value) ||
                                 m->zero->to.tensor != m->update->to.tensor ||
                                 m->zero->to.type != m->update->to.type ||
                                 m->zero->to.offset_bytes !=
                                     m->update->to.offset_bytes)))
    return verdict_decline(m->verdict, RULE_EXTRA_STORE,
                           m->zero ? m->zero->at : m->update->at,
                           "the nest writes more than its result");
  return true;
}

/* The scalar's two assignments: where it starts, and its sum. */
static bool find_scalar(struct match *m, int scalar,
                        const struct nest_statement **start,
                        const struct nest_statement **step) {
  const struct nest *n = m->nest;
  int count = 0;
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    if (s->is_store || s->scalar != scalar)
      continue;
    *(count ? step : start) = s;
    count++;
  }
  if (count == 2 && (*start)->loop == m->update->loop &&
      (*step)->loop != m->update->loop &&
      nest_inside(n, (*step)->loop, m->update->loop) &&
      (*step)->order < m->update->order)
    return true;
  return verdict_decline(m->verdict, RULE_NOT_PRODUCT_SUM, m->update->at,
                         "the stored scalar is not one sum per place of the "
                         "result");
}

/* sum holds the scalar once; the rest is the product. */
static bool take_scalar(struct match *m, const struct nest_expr *scalar) {
  const struct nest_statement *start, *step;
  if (!find_scalar(m, scalar->scalar, &start, &step))
    return false;
  const struct nest_expr *sum = step->value;
  if (sum->op != NEST_ADD)
    return decline_value(m, sum);
  bool left =
      sum->arg[0]->op == NEST_SCALAR && sum->arg[0]->scalar == scalar->scalar;
  const struct nest_expr *self = left ? sum->arg[0] : sum->arg[1];
  if (self->op != NEST_SCALAR || self->scalar != scalar->scalar)
    return decline_value(m, sum);
  m->product = other_side(sum, self);
  m->loop = step->loop;
  m->acc = sum->type;
  m->reassoc = m->reassoc && sum->reassoc;
  m->at = sum->at;
  if (is_zero(start->value))
    return true;
  if (!m->accumulate && is_old_content(m, start->value)) {
    m->accumulate = true;
    return true;
  }
  return verdict_decline(m->verdict, RULE_START_VALUE, start->at,
                         "the sum does not start at zero or at the result's "
                         "old value");
}

/* Part 2 of the essay: fills product, loop, accumulate, acc, reassoc. */
static bool find_sum(struct match *m) {
  const struct nest_expr *e = m->update->value;
  m->reassoc = true;
  if (e->op == NEST_SCALAR)
    return take_scalar(m, e);
  if (e->op != NEST_ADD)
    return decline_value(m, e);
  const struct nest_expr *old = find_old_content(m, e);
  if (!old)
    return decline_value(m, e);
  m->accumulate = true;
  m->reassoc = e->reassoc;
  const struct nest_expr *rest = other_side(e, old);
  if (rest->op == NEST_SCALAR)
    return take_scalar(m, rest);
  m->product = rest;
  m->loop = m->update->loop;
  m->acc = e->type;
  m->at = e->at;
  return true;
}

/* Is loop z of the zeroing store the same axis of out as loop u? */
static bool same_axis(const struct match *m, int z, int u) {
  const struct nest *n = m->nest;
  return value_equal(n->loop[z].extent, n->loop[u].extent) &&
         value_equal(m->zero->to.stride_bytes[z],
                     m->update->to.stride_bytes[u]);
}

/* The zeroing store runs before the sum in every iteration of the loops that
 * both share, none of which may be a K, and covers exactly the places of the
 * update: its own loops pair off with the update's loops that move out. */
static bool zero_covers(const struct match *m) {
  const struct nest *n = m->nest;
  enum { PATH = 64 };
  int zero[PATH], update[PATH], used[PATH] = {0};
  int zeros = nest_path(n, m->zero->loop, zero);
  int updates = nest_path(n, m->loop, update);
  int shared = 0;
  while (shared < zeros && shared < updates && zero[shared] == update[shared])
    if (!access_moves(&m->update->to, zero[shared]) ||
        !same_axis(m, zero[shared], zero[shared]))
      return false;
    else
      shared++;
  for (int i = shared; i < zeros; i++) {
    int j = shared;
    while (j < updates &&
           (used[j] || !access_moves(&m->update->to, update[j]) ||
            !same_axis(m, zero[i], update[j])))
      j++;
    if (j == updates)
      return false;
    used[j] = 1;
  }
  for (int j = shared; j < updates; j++)
    if (!used[j] && access_moves(&m->update->to, update[j]))
      return false;
  return true;
}

static const struct nest_expr *find_load_of_out(const struct match *m) {
  const struct nest_expr *e = m->update->value;
  if (e->op == NEST_ADD)
    return find_old_content(m, e);
  const struct nest_statement *start, *step;
  if (e->op == NEST_SCALAR &&
      find_scalar((struct match *)m, e->scalar, &start, &step))
    return start->value;
  return NULL;
}

static bool apply_zero(struct match *m) {
  if (!m->zero)
    return true;
  if (!zero_covers(m))
    return verdict_decline(m->verdict, RULE_EXTRA_STORE, m->zero->at,
                           "the nest sets to zero other places than it sums "
                           "into, or more than once");
  /* A content that was read before the zeroing would be the true old one. */
  const struct nest_expr *load = find_load_of_out(m);
  if (m->accumulate && load && load->order < m->zero->order)
    return verdict_decline(m->verdict, RULE_START_VALUE, load->at,
                           "the result is read before it is set to zero");
  m->accumulate = false;
  return true;
}

/* Every value of `from` is a value of `to`. */
static bool widens(enum dtype from, enum dtype to) {
  enum dtype_kind a = dtype_kind(from), b = dtype_kind(to);
  int bits = 8 * dtype_bytes(from), room = 8 * dtype_bytes(to);
  if (a == DTYPE_FLOAT)
    return b == DTYPE_FLOAT && (from == to || (room > bits));
  if (b == DTYPE_FLOAT)
    return false;
  return a == b ? room >= bits : a == DTYPE_UNSIGNED && room > bits;
}

static const struct nest_expr *find_input(struct match *m,
                                          const struct nest_expr *e) {
  while (e->op == NEST_CAST && widens(e->arg[0]->type, e->type))
    e = e->arg[0];
  if (e->op == NEST_LOAD)
    return e;
  decline_value(m, e);
  return NULL;
}

/* A product of these is exact in `type`, if bits say so: then it may be formed
 * in any wider type. */
static bool exact_product(enum dtype a, enum dtype b, enum dtype type) {
  int bits = 8 * (dtype_bytes(a) + dtype_bytes(b));
  int room = 8 * dtype_bytes(type);
  if (dtype_kind(type) == DTYPE_UNSIGNED)
    return dtype_kind(a) == DTYPE_UNSIGNED && dtype_kind(b) == DTYPE_UNSIGNED &&
           bits <= room;
  if (dtype_kind(type) == DTYPE_SIGNED)
    return dtype_kind(a) == DTYPE_SIGNED || dtype_kind(b) == DTYPE_SIGNED
               ? bits <= room
               : bits < room;
  return a == DTYPE_BF16 && b == DTYPE_BF16 &&
         (type == DTYPE_F32 || type == DTYPE_F64);
}

/* The two loads that the product multiplies. */
static bool find_inputs(struct match *m, const struct nest_expr *in[2]) {
  const struct nest_expr *e = m->product;
  while (e->op == NEST_CAST && widens(e->arg[0]->type, e->type))
    e = e->arg[0];
  if (e->op == NEST_CAST && dtype_kind(e->type) == DTYPE_FLOAT)
    return verdict_decline(m->verdict, RULE_ROUNDED_PRODUCT, e->at,
                           "the product is rounded to %s before it is added",
                           dtype_name(e->type));
  if (e->op != NEST_MUL)
    return decline_value(m, e);
  in[0] = find_input(m, e->arg[0]);
  in[1] = in[0] ? find_input(m, e->arg[1]) : NULL;
  if (!in[1])
    return false;
  bool exact = exact_product(in[0]->type, in[1]->type, e->type);
  if (exact || e->type == m->acc)
    return true;
  if (dtype_kind(e->type) == DTYPE_FLOAT)
    return verdict_decline(m->verdict, RULE_ROUNDED_PRODUCT, e->at,
                           "the product is rounded to %s before it is added",
                           dtype_name(e->type));
  return verdict_decline(m->verdict, RULE_NOT_PRODUCT_SUM, e->at,
                         "the product is cut to %s before it is added",
                         dtype_name(e->type));
}

/* in1 moves with the axis along which out lies densest, so that a row-major
 * product reads "mk,kn->mn" whichever operand the source names first. */
static bool should_swap(const struct match *m,
                        const struct nest_expr *const in[2], const int *path,
                        int count) {
  int best = -1;
  for (int i = 0; i < count; i++) {
    struct value s = m->update->to.stride_bytes[path[i]];
    bool first = access_moves(&in[0]->access, path[i]);
    bool second = access_moves(&in[1]->access, path[i]);
    if (value_is(s, 0) || first == second)
      continue;
    struct value b = best < 0 ? s : m->update->to.stride_bytes[path[best]];
    if (best < 0 || (s.symbol < 0 &&
                     (b.symbol >= 0 || llabs(s.constant) < llabs(b.constant))))
      best = i;
  }
  return best >= 0 && access_moves(&in[0]->access, path[best]);
}

static bool find_role(struct match *m, const struct nest_loop *l,
                      struct contraction_axis *x) {
  bool in0 = !value_is(x->stride_bytes[IN0], 0);
  bool in1 = !value_is(x->stride_bytes[IN1], 0);
  bool out = !value_is(x->stride_bytes[OUT], 0);
  if (in0 + in1 + out < 2)
    return verdict_decline(m->verdict, RULE_ROLES, l->at,
                           in0 || in1 || out
                               ? "loop %s moves only one of the three tensors"
                               : "loop %s moves none of the three tensors",
                           l->name);
  x->role = !out ? AXIS_K : !in1 ? AXIS_M : !in0 ? AXIS_N : AXIS_C;
  return true;
}

static bool find_axes(struct match *m, struct arena *a, struct contraction *c,
                      const struct nest_expr *in[2]) {
  const struct nest *n = m->nest;
  int *path = arena_array(a, (size_t)n->loop_count, sizeof *path);
  c->axis_count = nest_path(n, m->loop, path);
  c->axis = arena_array(a, (size_t)c->axis_count, sizeof *c->axis);
  int swap = should_swap(m, in, path, c->axis_count);
  const struct nest_access *access[TENSORS] = {
      &in[swap]->access, &in[!swap]->access, &m->update->to};
  for (int t = 0; t < TENSORS; t++) {
    c->type[t] = access[t]->type;
    c->tensor[t] = access[t]->tensor;
    c->offset_bytes[t] = access[t]->offset_bytes;
  }
  if (c->tensor[OUT] == c->tensor[IN0] || c->tensor[OUT] == c->tensor[IN1])
    return verdict_decline(m->verdict, RULE_OVERLAPS_SELF, m->at,
                           "the result is also an operand of the product");
  for (int i = 0; i < c->axis_count; i++) {
    const struct nest_loop *l = &n->loop[path[i]];
    struct contraction_axis *x = &c->axis[i];
    x->name = l->name;
    x->extent = l->extent;
    x->at = l->at;
    for (int t = 0; t < TENSORS; t++)
      x->stride_bytes[t] = access[t]->stride_bytes[path[i]];
    if (!find_role(m, l, x))
      return false;
  }
  return true;
}

static bool has_all_roles(struct match *m, const struct contraction *c) {
  int count[4] = {0};
  for (int i = 0; i < c->axis_count; i++)
    count[c->axis[i].role]++;
  if (count[AXIS_K] == 0)
    return verdict_decline(m->verdict, RULE_VECTOR, m->at,
                           "no loop sums: the nest is an outer or element-wise "
                           "product, which moves more than it computes");
  if (count[AXIS_M] == 0 || count[AXIS_N] == 0)
    return verdict_decline(m->verdict, RULE_VECTOR, m->at,
                           "the nest multiplies by a vector, which moves more "
                           "than it computes");
  return true;
}

struct contraction *recognize(struct arena *a, const struct nest *n,
                              const struct options *o, struct verdict *v) {
  struct match m = {.nest = n, .options = o, .verdict = v};
  const struct nest_expr *in[2];
  struct contraction *c = arena_alloc(a, sizeof *c);
  if (!find_stores(&m) || !find_sum(&m) || !apply_zero(&m) ||
      !find_inputs(&m, in) || !find_axes(&m, a, c, in) || !has_all_roles(&m, c))
    return NULL;
  c->at = n->at;
  c->acc = m.acc;
  c->accumulate = m.accumulate;
  c->symbol_count = n->symbol_count;
  c->symbol = n->symbol;
  if (!legal_types(c, v) || !legal_order(m.acc, m.reassoc, m.at, o, v) ||
      !legal_out(a, c, v) || !legal_size(c, o, v))
    return NULL;
  v->rule = RULE_TAKEN;
  return c;
}
