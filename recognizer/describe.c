/* describe.c -- the contraction that a sum and the places it is written to are:
 * its axes, tensors, roles and limits.
 *
 * Each loop that moves the result or belongs to the sum moves some of the three
 * tensors, which says what it is: all C, in0 and out M, in1 and out N, inputs
 * only K.  One that moves fewer is none. */
#include "match.h"

#include <stdlib.h>
#include <string.h>

/* One that moves nothing yet. */
static struct contraction_axis *add_axis(struct axes *x, const char *name,
                                         struct value extent, struct loc at) {
  assert(x->c->axis_count < LOOPS_MAX + 2 * REROLLED_MAX);
  x->leader[x->c->axis_count] = -1;
  struct contraction_axis *axis = &x->c->axis[x->c->axis_count++];
  *axis = (struct contraction_axis){.name = name, .extent = extent, .at = at};
  for (int t = 0; t < TENSORS; t++)
    axis->stride_bytes[t] = value_of(0);
  for (int e = 0; e < x->c->extra_count; e++)
    x->c->extra[e].stride_bytes[x->c->axis_count - 1] = value_of(0);
  return axis;
}

/* `leader` has the strides, `loop` the name: it stands around the sum. */
static void add_loop_axis(struct axes *x, int leader, int loop) {
  const struct content *c = x->content;
  const struct nest_loop *l = &x->match->nest->loop[loop];
  assert(loop >= 0 && loop < x->match->nest->loop_count);
  assert(leader >= 0 && leader < x->match->nest->loop_count);
  if (x->skips && !access_moves(x->operand[IN0], leader) &&
      !access_moves(x->operand[IN1], leader) &&
      !access_moves(x->operand[OUT], leader))
    return;
  struct contraction_axis *axis = add_axis(x, l->name, l->extent, l->at);
  x->leader[x->c->axis_count - 1] = leader;
  for (int t = 0; t < TENSORS; t++)
    axis->stride_bytes[t] = x->operand[t]->stride_bytes[leader];
  for (int e = 0; e < c->extra_count; e++)
    if (c->extra[e]->op == TERM_LOAD)
      x->c->extra[e].stride_bytes[x->c->axis_count - 1] =
          c->extra[e]->access->stride_bytes[leader];
}

static void add_rerolled_axes(struct axes *x) {
  const struct content *c = x->content;
  struct arena *a = x->match->arena;
  assert(x->rerolled_count <= REROLLED_MAX &&
         c->sum.rerolled_count <= REROLLED_MAX);
  for (int r = 0; r < x->rerolled_count; r++) {
    const struct rerolled *rerolled = &x->rerolled[r];
    struct contraction_axis *axis = add_axis(
        x, arena_printf(a, "u%d", r), value_of(rerolled->steps), c->sum.at);
    axis->stride_bytes[OUT] = rerolled->stride_bytes[0];
    for (int t = 0; t < 2; t++)
      axis->stride_bytes[IN0 + t] = rerolled->stride_bytes[1 + t];
    for (int e = 0; e < c->extra_count; e++)
      x->c->extra[e].stride_bytes[x->c->axis_count - 1] =
          rerolled->stride_bytes[TENSORS + e];
  }
  for (int r = 0; r < c->sum.rerolled_count; r++) {
    const struct rerolled *rerolled = &c->sum.rerolled[r];
    struct contraction_axis *axis = add_axis(
        x, arena_printf(a, "v%d", r), value_of(rerolled->steps), c->sum.at);
    for (int t = 0; t < 2; t++)
      axis->stride_bytes[IN0 + t] = rerolled->stride_bytes[t];
  }
}

static bool multiply(const struct nest *n, struct value v, int64_t times,
                     struct value *product) {
  *product = v;
  if (v.symbol < 0)
    return !__builtin_mul_overflow(v.constant, times, &product->constant);
  for (int i = 0; i < n->multiple_count; i++)
    if (n->multiple[i].of == v.symbol && n->multiple[i].times == times) {
      product->symbol = n->multiple[i].symbol;
      return true;
    }
  return false;
}

static bool is_limited(const struct sum *s, int leader) {
  for (int t = 0; t < s->in_count; t++)
    for (int i = 0; i < s->in[t]->arg_count; i++)
      if (s->in[t]->arg[i]->moves & loop_bit(leader))
        return true;
  return false;
}

/* Each iteration of axis `outer` goes as far as all of `inner`. */
static bool goes_on(const struct axes *x, int outer, int inner) {
  const struct nest *n = x->match->nest;
  const struct contraction_axis *o = &x->c->axis[outer];
  const struct contraction_axis *i = &x->c->axis[inner];
  struct value way;
  for (int t = 0; t < TENSORS; t++)
    if (!multiply(n, i->stride_bytes[t], i->extent.constant, &way) ||
        !value_equal(o->stride_bytes[t], way))
      return false;
  for (int e = 0; e < x->c->extra_count; e++) {
    const struct value *stride = x->c->extra[e].stride_bytes;
    if (!multiply(n, stride[inner], i->extent.constant, &way) ||
        !value_equal(stride[outer], way))
      return false;
  }
  return multiply(n, o->extent, i->extent.constant, &way);
}

/* The two become what they were before the source cut them. */
static void join_axes(struct axes *x, int outer, int inner) {
  struct contraction *c = x->c;
  struct contraction_axis *o = &c->axis[outer], *i = &c->axis[inner];
  multiply(x->match->nest, o->extent, i->extent.constant, &o->extent);
  memcpy(o->stride_bytes, i->stride_bytes, sizeof o->stride_bytes);
  for (int e = 0; e < c->extra_count; e++)
    c->extra[e].stride_bytes[outer] = c->extra[e].stride_bytes[inner];
  c->axis_count--;
  for (int a = inner; a < c->axis_count; a++) {
    c->axis[a] = c->axis[a + 1];
    x->leader[a] = x->leader[a + 1];
    for (int e = 0; e < c->extra_count; e++)
      c->extra[e].stride_bytes[a] = c->extra[e].stride_bytes[a + 1];
  }
}

/* A loop over tiles, or one whose iterations are written out. */
static bool may_be_cut(const struct axes *x, int outer) {
  return x->leader[outer] >= 0 &&
         !is_limited(&x->content->sum, x->leader[outer]);
}

/* What is written out, or a tile of a size that is known in a loop over as many
 * as only the program knows. */
static bool may_be_part(const struct axes *x, int outer, int inner) {
  return x->leader[inner] < 0 ||
         (x->c->axis[inner].extent.symbol < 0 &&
          x->c->axis[outer].extent.symbol >= 0 &&
          !is_limited(&x->content->sum, x->leader[inner]));
}

/* A triangle's rows and columns are told apart by how often each loop ran. */
static void join_cut_axes(struct axes *x) {
  if (x->match->nest->within)
    return;
  for (int i = x->c->axis_count - 1; i >= 0; i--)
    for (int o = 0; o < x->c->axis_count; o++)
      if (o != i && may_be_cut(x, o) && may_be_part(x, o, i) &&
          goes_on(x, o, i)) {
        join_axes(x, o, i);
        break;
      }
}

/* The loop of the deepest statement that the leader leads: it has the name
 * that the source uses around the sum. */
static int loop_led_by(const struct axes *x, const int *path, int count,
                       int leader) {
  for (int i = 0; i < count; i++)
    if (x->places->leader[path[i]] == leader &&
        x->places->moving & loop_bit(path[i]))
      return path[i];
  return leader;
}

static int deepest_path(const struct nest *n, int *path) {
  int best = 0, count = 0;
  for (int i = 0; i < n->statement_count; i++) {
    int depth = nest_path(n, n->statement[i].loop, path);
    if (depth > count) {
      count = depth;
      best = i;
    }
  }
  return nest_path(n, n->statement[best].loop, path);
}

/* All axes, in the order of the source's loops. */
static void add_axes(struct axes *x) {
  const struct nest *n = x->match->nest;
  int path[LOOPS_MAX];
  int count = deepest_path(n, path);
  for (int l = 0; l < n->loop_count; l++) {
    if (x->content->sum.loops & loop_bit(l))
      add_loop_axis(x, l, l);
    else if (x->places->moving & ~x->places->cutters & loop_bit(l) &&
             loop_led_by(x, path, count, x->places->leader[l]) == l)
      add_loop_axis(x, x->places->leader[l], l);
  }
  add_rerolled_axes(x);
  join_cut_axes(x);
}

/* in1 moves with the axis along which out lies densest, so that a row-major
 * product reads "mk,kn->mn" whichever operand the source names first; a wider
 * integer comes first. */
static bool should_swap(const struct contraction *c) {
  const struct contraction_axis *best = NULL;
  int bytes[] = {dtype_bytes(multiplied_type(c, IN0)),
                 dtype_bytes(multiplied_type(c, IN1))};
  if (dtype_kind(c->type[IN0]) != DTYPE_FLOAT && bytes[IN0] != bytes[IN1])
    return bytes[IN0] < bytes[IN1];
  for (int i = 0; i < c->axis_count; i++) {
    const struct contraction_axis *x = &c->axis[i];
    struct value s = x->stride_bytes[OUT];
    if (value_is(s, 0) ||
        value_is(x->stride_bytes[IN0], 0) == value_is(x->stride_bytes[IN1], 0))
      continue;
    struct value b = best ? best->stride_bytes[OUT] : s;
    if (!best || (s.symbol < 0 &&
                  (b.symbol >= 0 || llabs(s.constant) < llabs(b.constant))))
      best = x;
  }
  return best && !value_is(best->stride_bytes[IN0], 0);
}

static void swap_inputs(struct contraction *c) {
  assert(!c->first && !c->accumulate); /* nothing tells them apart yet */
  enum dtype type = c->type[IN0];
  const struct calc *map = c->map[IN0];
  int tensor = c->tensor[IN0];
  int64_t offset = c->offset_bytes[IN0], rows = c->rows[IN0];
  c->map[IN0] = c->map[IN1];
  c->map[IN1] = map;
  c->type[IN0] = c->type[IN1];
  c->type[IN1] = type;
  c->tensor[IN0] = c->tensor[IN1];
  c->tensor[IN1] = tensor;
  c->offset_bytes[IN0] = c->offset_bytes[IN1];
  c->offset_bytes[IN1] = offset;
  c->rows[IN0] = c->rows[IN1];
  c->rows[IN1] = rows;
  for (int i = 0; i < c->axis_count; i++) {
    struct value *s = c->axis[i].stride_bytes, in0 = s[IN0];
    s[IN0] = s[IN1];
    s[IN1] = in0;
  }
}

/* Those of both operands; axes that are no loops do not move them. */
static void add_limits(struct axes *x, const struct term *in) {
  struct contraction *c = x->c;
  assert(in->op == TERM_LOAD);
  for (int i = 0; i < in->arg_count; i++) {
    assert(!(in->arg[i]->moves & ~in->moves)); /* it says which are read */
    struct affine_guard *l = &c->limit[c->limit_count++];
    *l = in->arg[i]->limit;
    l->step =
        arena_array(x->match->arena, (size_t)c->axis_count, sizeof *l->step);
    for (int a = 0; a < c->axis_count; a++)
      l->step[a] =
          x->leader[a] < 0 ? value_of(0) : in->arg[i]->limit.step[x->leader[a]];
  }
}

/* Which iterations there are. */
static void add_within(struct axes *x, const struct affine_guard *within) {
  struct contraction *c = x->c;
  struct affine_guard *l = &c->limit[c->limit_count++];
  *l = *within;
  l->step =
      arena_array(x->match->arena, (size_t)c->axis_count, sizeof *l->step);
  for (int a = 0; a < c->axis_count; a++)
    l->step[a] = x->leader[a] < 0 ? value_of(0) : within->step[x->leader[a]];
}

static void describe_limits(struct axes *x) {
  const struct term *const *in = x->content->sum.in;
  x->c->limit = arena_array(
      x->match->arena, (size_t)in[0]->arg_count + (size_t)in[1]->arg_count + 1,
      sizeof *x->c->limit);
  add_limits(x, in[0]);
  add_limits(x, in[1]);
  if (x->match->nest->within)
    add_within(x, x->match->nest->within);
}

/* The last limit says which elements of out there are. */
static bool is_of_result(const struct contraction *c) {
  const struct affine_guard *l = &c->limit[c->limit_count - 1];
  int moving[AXIS_ROLES] = {0};
  for (int a = 0; a < c->axis_count; a++)
    moving[c->axis[a].role] += !value_is(l->step[a], 0);
  return moving[AXIS_M] == 1 && moving[AXIS_N] == 1 && !moving[AXIS_C] &&
         !moving[AXIS_K];
}

static bool find_role(const struct match *m, struct contraction_axis *x) {
  bool in0 = !value_is(x->stride_bytes[IN0], 0);
  bool in1 = !value_is(x->stride_bytes[IN1], 0);
  bool out = !value_is(x->stride_bytes[OUT], 0);
  if (in0 + in1 + out < 2)
    return verdict_decline(m->verdict, RULE_ROLES, x->at,
                           in0 || in1 || out
                               ? "loop %s moves only one of the three tensors"
                               : "loop %s moves none of the three tensors",
                           x->name);
  x->role = !out ? AXIS_K : !in1 ? AXIS_M : !in0 ? AXIS_N : AXIS_C;
  return true;
}

bool has_role(const struct contraction *c, enum axis_role role) {
  for (int i = 0; i < c->axis_count; i++)
    if (c->axis[i].role == role)
      return true;
  return false;
}

bool has_all_roles(const struct match *m, const struct contraction *c,
                   struct loc at) {
  bool several = has_role(c, AXIS_C) && has_role(c, AXIS_K) &&
                 (has_role(c, AXIS_M) || has_role(c, AXIS_N));
  return options_on_host(m->options) || options_on_cpu(m->options) ||
         (has_role(c, AXIS_M) && has_role(c, AXIS_N)) ||
         verdict_decline(m->verdict, RULE_VECTOR, at,
                         several ? "each matrix is multiplied by a vector of "
                                   "its own, as channels are in a depthwise "
                                   "convolution, which moves more than it "
                                   "computes"
                                 : "the nest multiplies by a vector, which "
                                   "moves more than it computes");
}

static void describe_tensors(struct axes *x) {
  struct contraction *c = x->c;
  for (int t = 0; t < TENSORS; t++) {
    c->type[t] = x->operand[t]->type;
    c->tensor[t] = x->operand[t]->tensor;
    c->offset_bytes[t] = x->operand[t]->offset_bytes;
    c->rows[t] = x->operand[t]->rows;
  }
  for (int t = IN0; t <= IN1; t++)
    c->map[t] = x->content->sum.map[t];
}

static void describe_extras(struct axes *x, int axes) {
  struct arena *a = x->match->arena;
  struct contraction *c = x->c;
  c->extra_count = x->content->extra_count;
  c->extra = arena_array(a, (size_t)c->extra_count, sizeof *c->extra);
  for (int e = 0; e < c->extra_count; e++) {
    const struct term *t = x->content->extra[e];
    bool load = t->op == TERM_LOAD;
    c->extra[e] = (struct contraction_extra){
        .tensor = load ? t->access->tensor : -1,
        .outside = load ? -1 : t->outside,
        .type = t->type,
        .not_out =
            load && read_behind_store(x->match, x->places, t->access->tensor),
        .offset_bytes = load ? t->access->offset_bytes : 0,
        .rows = load ? t->access->rows : 0,
        .stride_bytes =
            arena_array(a, (size_t)axes, sizeof *c->extra[e].stride_bytes)};
  }
}

struct contraction *describe(struct axes *x) {
  const struct match *m = x->match;
  const struct nest *n = m->nest;
  int axes = n->loop_count + 2 * REROLLED_MAX;
  struct contraction *c = x->c = arena_alloc(m->arena, sizeof *c);
  c->at = n->at;
  c->symbol_count = n->symbol_count;
  c->symbol = n->symbol;
  c->axis = arena_array(m->arena, (size_t)axes, sizeof *c->axis);
  describe_tensors(x);
  describe_extras(x, axes);
  add_axes(x);
  assert(c->axis_count > 0 && c->axis_count <= axes);
  describe_limits(x);
  if (should_swap(c))
    swap_inputs(c);
  for (int i = 0; i < c->axis_count; i++)
    if (!find_role(m, &c->axis[i]))
      return NULL;
  if (n->within && !is_of_result(c)) {
    verdict_decline(m->verdict, RULE_VARIANT_EXTENT, n->at,
                    "not all iterations of the result's loops are there");
    return NULL;
  }
  return c;
}

bool is_legal(const struct match *m, const struct content *content,
              struct contraction *c) {
  struct verdict *v = m->verdict;
  const struct sum *s = &content->sum;
  return has_all_roles(m, c, s->at) && legal_directions(c, v) &&
         legal_types(c, s->type, m->options, v) &&
         legal_order(s->type, s->reassoc, s->at, m->options, v) &&
         legal_out(m->arena, c, v) && legal_size(c, m->options, v);
}
