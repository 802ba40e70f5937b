/* problem.c -- takes a program that computes one contraction; gives its
 * extents, types and axes with their roles, and the same work with as few axes
 * as its strides allow. */
#include "overlap.h"
#include "recognizer.h"
#include "teir_build.h"
#include "teir_problem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(const struct teir *t, struct diag *d, const char *why) {
  return diag_declined(d, teir_loc(t), "not one contraction: %s", why);
}

static bool moves(const struct teir *t, int axis, int tensor) {
  return t->axis[axis].stride_bytes[tensor].constant != 0;
}

/* ---- the calls ---- */

struct leaves {
  int zero, contraction, bias, relu, convert, count; /* nodes, -1: none */
  bool in_order;
};

static void find_leaves(const struct teir *t, struct teir_list list,
                        struct leaves *l) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    find_leaves(t, n->children, l);
    if (n->kind == TEIR_ITERATION)
      continue;
    l->count++;
    switch (t->primitive[n->primitive].op) {
    case TEIR_ZERO:
      l->zero = list.item[i];
      l->in_order &= l->contraction < 0;
      break;
    case TEIR_CONTRACTION:
      l->contraction = list.item[i];
      break;
    case TEIR_ADD:
      l->bias = list.item[i];
      l->in_order &= l->contraction >= 0 && l->relu < 0 && l->convert < 0;
      break;
    case TEIR_RELU:
      l->relu = list.item[i];
      l->in_order &= l->contraction >= 0 && l->convert < 0;
      break;
    case TEIR_CAST:
    case TEIR_SHIFT:
      l->convert = list.item[i];
      l->in_order &= l->contraction >= 0;
      break;
    case TEIR_COPY:
    case TEIR_SCALE:
    case TEIR_CLAMP:
    case TEIR_MAP:
    case TEIR_OPS:
      break;
    }
  }
}

/* ---- axes ---- */

/* The leaf's axes: those of the loops around it, then its own. */
static int *axes_of(struct arena *a, const struct teir *t, int leaf,
                    int *count) {
  const int *parent = teir_parents(a, t);
  const struct teir_primitive *p = &t->primitive[t->node[leaf].primitive];
  int depth = 0, n = 0;
  for (int up = parent[leaf]; up >= 0; up = parent[up])
    depth++;
  for (int r = 0; r < TEIR_ROLES; r++)
    n += p->role[r].count;
  int *axis = arena_array(a, (size_t)(depth + n) + 1, sizeof *axis);
  *count = depth;
  for (int up = parent[leaf]; up >= 0; up = parent[up])
    axis[--depth] = t->node[up].axis;
  for (int r = 0; r < TEIR_ROLES; r++)
    for (int i = 0; i < p->role[r].count; i++)
      axis[(*count)++] = p->role[r].item[i];
  return axis;
}

static bool give_roles(struct arena *a, const struct teir *t,
                       struct teir_roles *p, struct diag *d) {
  p->role = arena_array(a, (size_t)p->count + 1, sizeof *p->role);
  for (int i = 0; i < p->count; i++) {
    int x = p->axis[i];
    for (int j = 0; j < i; j++)
      if (p->axis[j] == x)
        return refuse(t, d, "an axis is used twice");
    bool l = moves(t, x, p->operand[IN0]), r = moves(t, x, p->operand[IN1]);
    bool o = moves(t, x, p->operand[OUT]);
    p->role[i] = o && l && r ? AXIS_C : o && r ? AXIS_N : o ? AXIS_M : AXIS_K;
  }
  return true;
}

static bool give_extents(const struct teir *t, struct teir_roles *p,
                         struct diag *d) {
  int64_t *extent = p->problem.extent;
  for (int r = 0; r < AXIS_ROLES; r++)
    extent[r] = 1;
  for (int i = 0; i < p->count; i++)
    if (__builtin_mul_overflow(extent[p->role[i]],
                               t->axis[p->axis[i]].extent.constant,
                               &extent[p->role[i]]))
      return refuse(t, d, "its extents overflow");
  return true;
}

/* ---- where the calls stand ---- */

static bool guarded_first(const struct teir *t, const int *parent, int n,
                          int axis) {
  for (; n >= 0; n = parent[n])
    for (int g = 0; g < t->node[n].guard_count; g++)
      if (t->node[n].guard[g].axis == axis && !t->node[n].guard[g].last)
        return true;
  return false;
}

/* The call works on every element of out once: it has all axes that move out,
 * and is guarded to the first index only of loops that do not.  Axes of one
 * index may be anywhere. */
static bool once_per_sum(struct arena *a, const struct teir *t,
                         const struct teir_roles *p, int leaf,
                         bool may_be_guarded) {
  const int *parent = teir_parents(a, t);
  int count, moving = 0, wanted = 0, guards = 0, firsts = 0;
  const int *axis = axes_of(a, t, leaf, &count);
  for (int i = 0; i < count; i++) {
    bool out = moves(t, axis[i], p->operand[OUT]), known = false;
    for (int j = 0; j < p->count; j++)
      known = known || p->axis[j] == axis[i];
    bool first =
        !out && may_be_guarded && guarded_first(t, parent, leaf, axis[i]);
    bool one = t->axis[axis[i]].extent.constant == 1;
    if (!one && (!known || (!out && !first)))
      return false;
    moving += out && !one;
    firsts += first;
  }
  for (int j = 0; j < p->count; j++)
    wanted += moves(t, p->axis[j], p->operand[OUT]) &&
              t->axis[p->axis[j]].extent.constant > 1;
  for (int n = leaf; n >= 0; n = parent[n])
    guards += t->node[n].guard_count;
  return moving == wanted && guards == firsts;
}

static bool hangs_in_loop_of(const struct teir *t, const int *parent, int n,
                             int node) {
  for (; n >= 0; n = parent[n])
    if (n == node)
      return true;
  return t->node[node].kind != TEIR_ITERATION;
}

/* A sum's place may be used again for another sum when nothing of it is needed
 * any more: in the next iteration of a loop around all that works on it. */
static bool sums_last(struct arena *a, const struct teir *t,
                      const struct teir_roles *p, const struct leaves *l) {
  const int *parent = teir_parents(a, t);
  const int leaf[] = {l->zero, l->bias, l->relu, l->convert};
  for (int n = l->contraction; n >= 0; n = parent[n]) {
    const struct teir_node *x = &t->node[n];
    if (x->kind != TEIR_ITERATION || !moves(t, x->axis, p->operand[OUT]) ||
        moves(t, x->axis, p->sums))
      continue;
    for (int i = 0; i < 4; i++)
      if (leaf[i] >= 0 && !hangs_in_loop_of(t, parent, leaf[i], n))
        return false;
  }
  return true;
}

static bool reads_and_writes(const struct teir *t, int node, int in, int out) {
  int p = t->node[node].primitive;
  return teir_input(t, p, 0) == in && teir_output(t, p) == out;
}

static bool check_zero(struct arena *a, const struct teir *t,
                       const struct teir_roles *p, const struct leaves *l,
                       struct diag *d) {
  return l->zero < 0 ||
         (l->in_order &&
          teir_output(t, t->node[l->zero].primitive) == p->sums &&
          once_per_sum(a, t, p, l->zero, true)) ||
         refuse(t, d, "the Zero does not stand where the sum begins");
}

/* Along one role, and once: no batch has one of its own. */
static bool check_bias(struct arena *a, const struct teir *t,
                       const struct teir_roles *p, const struct leaves *l,
                       struct diag *d) {
  if (l->bias < 0)
    return true;
  int primitive = t->node[l->bias].primitive;
  for (int i = 0; i < p->count; i++)
    if (moves(t, p->axis[i], p->bias) &&
        t->axis[p->axis[i]].extent.constant > 1 &&
        p->role[i] != p->problem.finish.bias)
      return refuse(t, d, "what is added to sums is no vector along m or n");
  return (teir_output(t, primitive) == p->sums &&
          t->tensor[p->bias].type == p->problem.acc &&
          p->bias != p->operand[IN0] && p->bias != p->operand[IN1] &&
          p->bias != p->operand[OUT] && p->bias != p->sums &&
          !teir_property(t, primitive, "beta") &&
          once_per_sum(a, t, p, l->bias, false)) ||
         refuse(t, d, "the Add does not stand where the sum ends");
}

static bool check_finish(struct arena *a, const struct teir *t,
                         const struct teir_roles *p, const struct leaves *l,
                         struct diag *d) {
  if (l->bias < 0 && l->relu < 0 && l->convert < 0)
    return true;
  if (!check_bias(a, t, p, l, d))
    return false;
  if (l->relu >= 0 && (!reads_and_writes(t, l->relu, p->sums, p->sums) ||
                       !once_per_sum(a, t, p, l->relu, false)))
    return refuse(t, d, "the ReLU does not stand where the sum ends");
  if (l->convert >= 0 &&
      (!reads_and_writes(t, l->convert, p->sums, p->operand[OUT]) ||
       !once_per_sum(a, t, p, l->convert, false)))
    return refuse(t, d, "sums are not converted where they end");
  return (l->in_order && l->zero >= 0 && sums_last(a, t, p, l)) ||
         refuse(t, d, "its calls do not follow each other for every sum");
}

/* ---- reading ---- */

/* The role along which the bias moves first; n, where it is one number. */
static enum axis_role bias_role(const struct teir *t,
                                const struct teir_roles *p) {
  for (int i = 0; i < p->count; i++)
    if (p->role[i] == AXIS_M && moves(t, p->axis[i], p->bias) &&
        t->axis[p->axis[i]].extent.constant > 1)
      return AXIS_M;
  return AXIS_N;
}

static bool keeps_nan(const struct teir *t, int relu) {
  const char *nan = teir_property(t, t->node[relu].primitive, "nan");
  return nan && strcmp(nan, "kept") == 0;
}

static void give_types(const struct teir *t, struct teir_roles *p,
                       const struct leaves *l) {
  struct teir_problem *q = &p->problem;
  for (int i = 0; i < TENSORS; i++)
    q->type[i] = t->tensor[p->operand[i]].type;
  q->acc = t->tensor[p->sums].type;
  q->accumulate = l->zero < 0;
  q->finish.relu = l->relu >= 0;
  q->finish.keeps_nan = q->finish.relu && keeps_nan(t, l->relu);
  if (l->convert < 0)
    return;
  int convert = t->node[l->convert].primitive;
  q->finish.saturate = t->primitive[convert].op == TEIR_SHIFT;
  const char *shift = teir_property(t, convert, "shift");
  q->finish.shift = q->finish.saturate && shift ? atoi(shift) : 0;
}

/* The order of sums does not count; other calls are in their places. */
static bool check_overlap(struct arena *a, const struct teir *t,
                          const struct teir_roles *p, const struct leaves *l,
                          struct diag *d) {
  const int call[] = {l->zero, l->bias, l->relu, l->convert};
  int other[4], others = 0;
  for (int i = 0; i < 4; i++)
    if (call[i] >= 0)
      other[others++] = call[i];
  return teir_sums_apart(a, t, p, l->contraction, other, others, d);
}

static bool read_roles(struct arena *a, const struct teir *t,
                       struct teir_roles *p, struct leaves *l, struct diag *d) {
  if (!teir_check_concrete(t, d))
    return false;
  *l = (struct leaves){-1, -1, -1, -1, -1, 0, true};
  find_leaves(t, t->roots, l);
  int known =
      (l->zero >= 0) + (l->bias >= 0) + (l->relu >= 0) + (l->convert >= 0);
  if (l->contraction < 0 || l->count != 1 + known)
    return refuse(t, d,
                  "it has other calls than a Contraction, a Zero, and what "
                  "finishes sums");
  int primitive = t->node[l->contraction].primitive;
  *p = (struct teir_roles){
      .operand = {teir_input(t, primitive, 0), teir_input(t, primitive, 1)},
      .sums = teir_output(t, primitive),
      .bias = l->bias < 0 ? -1 : teir_input(t, t->node[l->bias].primitive, 0),
      .acc = teir_property(t, primitive, "acc")};
  p->operand[OUT] =
      l->convert < 0 ? p->sums : teir_output(t, t->node[l->convert].primitive);
  p->axis = axes_of(a, t, l->contraction, &p->count);
  const int *parent = teir_parents(a, t);
  for (int n = l->contraction; n >= 0; n = parent[n])
    if (t->node[n].guard_count)
      return refuse(t, d, "the Contraction is guarded");
  give_types(t, p, l);
  if (!give_roles(a, t, p, d) || !give_extents(t, p, d))
    return false;
  if (p->bias >= 0)
    p->problem.finish.bias = bias_role(t, p);
  return check_zero(a, t, p, l, d) && check_finish(a, t, p, l, d);
}

bool teir_roles_read(struct arena *a, const struct teir *t,
                     struct teir_roles *p, struct diag *d) {
  struct leaves l;
  return read_roles(a, t, p, &l, d) && check_overlap(a, t, p, &l, d);
}

bool teir_problem_read(const struct teir *t, struct teir_problem *p,
                       struct diag *d) {
  struct arena *a = arena_open();
  struct teir_roles roles;
  bool good = teir_roles_read(a, t, &roles, d);
  if (good)
    *p = roles.problem;
  arena_close(a);
  return good;
}

/* ---- fusing ---- */
static bool continues(const struct teir *t, int outer, int inner) {
  const struct teir_axis *o = &t->axis[outer], *i = &t->axis[inner];
  for (int j = 0; j < t->tensor_count; j++)
    if (o->stride_bytes[j].constant !=
        i->stride_bytes[j].constant * i->extent.constant)
      return false;
  return true;
}

static void fuse_into(struct arena *a, struct teir *t, int outer, int inner) {
  struct teir_axis *o = &t->axis[outer], *i = &t->axis[inner];
  i->id = arena_printf(a, "%s%s", o->id, i->id);
  i->extent.constant *= o->extent.constant;
  for (int j = 0; j < t->tensor_count; j++)
    i->offset_bytes[j].constant += o->offset_bytes[j].constant;
}

/* Nothing of the same role stands between: the order of elements stays. */
static bool are_neighbours(const struct teir_roles *p, int o, int i) {
  int first = o < i ? o : i, last = o < i ? i : o;
  for (int j = first + 1; j < last; j++)
    if (p->role[j] == p->role[o])
      return false;
  return true;
}

static void fuse_all(struct arena *a, struct teir *t, struct teir_roles *p) {
  for (int o = 0; o < p->count; o++)
    for (int i = 0; i < p->count; i++) {
      if (o == i || p->role[o] != p->role[i] || !are_neighbours(p, o, i) ||
          !continues(t, p->axis[o], p->axis[i]))
        continue;
      fuse_into(a, t, p->axis[o], p->axis[i]);
      for (int j = o; j + 1 < p->count; j++) {
        p->axis[j] = p->axis[j + 1];
        p->role[j] = p->role[j + 1];
      }
      p->count--;
      o = -1; /* begin again: a longer axis may continue another one */
      break;
    }
}

/* ---- writing ---- */

static void add_child(struct arena *a, struct teir *t, int parent, int n) {
  teir_list_add(a, parent < 0 ? &t->roots : &t->node[parent].children, n);
}

static int add_loops(struct arena *a, struct teir *t,
                     const struct teir_roles *p, const int *moved, bool sum,
                     int parent) {
  for (int i = 0; i < p->count; i++) {
    if ((p->role[i] == AXIS_K) != sum)
      continue;
    int n = teir_add_iteration(a, t, t->axis[moved[i]].id, moved[i]);
    add_child(a, t, parent, n);
    parent = n;
  }
  return parent;
}

/* A call on `count` tensors, the output last; none: by their names. */
static int add_call(struct arena *a, struct teir *t, int parent, const char *id,
                    enum teir_op op, const int *tensor, int count) {
  int p = teir_add_primitive(a, t, teir_fresh_primitive(a, t, id), op);
  for (int i = 0; i < count; i++)
    teir_list_add(a, &t->primitive[p].operand, tensor[i]);
  add_child(a, t, parent,
            teir_add_invocation(a, t, teir_fresh_node(a, t, id), p));
  return p;
}

/* In the loop `parent`, whose last child they become. */
static void add_finish(struct arena *a, struct teir *t, int parent, int sums,
                       int bias, const struct teir_finish *f) {
  if (bias >= 0)
    add_call(a, t, parent, "bias", TEIR_ADD, (int[]){bias, sums}, 2);
  int relu = f->relu ? add_call(a, t, parent, "relu", TEIR_RELU,
                                (int[]){sums, sums}, 2)
                     : -1;
  if (f->keeps_nan)
    teir_add_property(a, t, relu, "nan", "kept");
  if (sums == OUT)
    return;
  int p = add_call(a, t, parent, "convert",
                   f->saturate ? TEIR_SHIFT : TEIR_CAST, (int[]){sums, OUT}, 2);
  if (f->saturate)
    teir_add_property(a, t, p, "shift", arena_printf(a, "%d", f->shift));
}

/* A plain program on the axes of `p` in `whole`, with sums in type `acc`. */
static struct teir *rebuild(struct arena *a, const struct teir *whole,
                            const struct teir_roles *p, enum dtype acc,
                            struct diag *d) {
  const char *id[] = {"in0", "in1", "out", "sum", "x0"};
  struct teir *t = teir_empty(a, whole->file);
  int old[] = {p->operand[IN0], p->operand[IN1], p->operand[OUT], p->sums,
               p->bias};
  enum dtype type[] = {p->problem.type[IN0], p->problem.type[IN1],
                       p->problem.type[OUT], acc, acc};
  int sums = acc == type[OUT] && !p->problem.finish.saturate ? OUT : SUMS;
  int tensors = sums == SUMS ? SUMS + 1 : TENSORS, bias = -1;
  if (p->bias >= 0) {
    bias = tensors++;
    id[bias] = "x0";
    old[bias] = p->bias;
  }
  for (int j = 0; j < tensors; j++)
    teir_add_tensor(a, t, id[j], type[j]);
  int *moved = arena_array(a, (size_t)p->count + 1, sizeof *moved);
  for (int i = 0; i < p->count; i++) {
    const struct teir_axis *x = &whole->axis[p->axis[i]];
    moved[i] = teir_add_axis(a, t, teir_fresh_axis(a, t, x->id), x->extent);
    for (int j = 0; j < tensors; j++) {
      int64_t wider =
          dtype_bytes(type[j]) / dtype_bytes(whole->tensor[old[j]].type);
      t->axis[moved[i]].stride_bytes[j] =
          teir_constant(x->stride_bytes[old[j]].constant * wider);
      t->axis[moved[i]].offset_bytes[j] =
          teir_constant(x->offset_bytes[old[j]].constant * wider);
    }
  }
  int outer = add_loops(a, t, p, moved, false, -1);
  if (!p->problem.accumulate)
    add_call(a, t, outer, "zero", TEIR_ZERO, &sums, sums != OUT);
  int inner = add_loops(a, t, p, moved, true, outer);
  int product = add_call(a, t, inner, "contraction", TEIR_CONTRACTION,
                         (int[]){IN0, IN1, sums}, sums == OUT ? 0 : 3);
  if (p->acc && acc == p->problem.acc)
    teir_add_property(a, t, product, "acc", p->acc);
  add_finish(a, t, outer, sums, bias, &p->problem.finish);
  return teir_verify(t, d) ? t : NULL;
}

struct teir *teir_roles_fuse(struct arena *a, const struct teir *from,
                             struct diag *d) {
  struct teir_roles p;
  if (!teir_roles_read(a, from, &p, d))
    return NULL;
  struct teir *whole = teir_clone(a, from);
  fuse_all(a, whole, &p);
  return rebuild(a, whole, &p, p.problem.acc, d);
}

struct teir *teir_sum_in(struct arena *a, const struct teir *from,
                         enum dtype acc, struct diag *d) {
  struct teir_roles p;
  if (!teir_roles_read(a, from, &p, d))
    return NULL;
  const struct teir_problem *q = &p.problem;
  bool narrower = dtype_bytes(acc) < dtype_bytes(q->acc);
  bool floats = dtype_kind(acc) == DTYPE_FLOAT;
  bool same_kind = floats == (dtype_kind(q->acc) == DTYPE_FLOAT) &&
                   floats == (dtype_kind(q->type[OUT]) == DTYPE_FLOAT) &&
                   !(floats && narrower);
  bool needs_all = q->finish.relu || q->finish.saturate;
  if ((p.bias >= 0 && acc != q->acc) || !same_kind ||
      dtype_bytes(acc) < dtype_bytes(q->type[OUT]) || q->accumulate ||
      (narrower && needs_all)) {
    diag_declined(d, teir_loc(from), "sums in %s cannot be formed in %s",
                  dtype_name(q->acc), dtype_name(acc));
    return NULL;
  }
  return rebuild(a, from, &p, acc, d);
}

/* A tensor that moves along one role's axes only, densely. */
static int add_vector(struct arena *a, struct teir *t,
                      const struct teir_roles *p, enum axis_role role) {
  int x = teir_add_tensor(a, t, "x0", p->problem.acc);
  int64_t stride = dtype_bytes(p->problem.acc);
  for (int i = p->count - 1; i >= 0; i--)
    if (p->role[i] == role) {
      struct teir_axis *axis = &t->axis[p->axis[i]];
      axis->stride_bytes[x] = teir_constant(stride);
      stride *= axis->extent.constant;
    }
  return x;
}

struct teir *teir_finish_sums(struct arena *a, const struct teir *from,
                              const struct teir_finish *f, enum dtype out,
                              struct diag *d) {
  struct leaves l;
  struct teir_roles p;
  if (!read_roles(a, from, &p, &l, d))
    return NULL;
  assert(p.sums == OUT && p.operand[IN0] == IN0 && p.operand[IN1] == IN1 &&
         from->tensor_count == TENSORS && !p.problem.finish.relu);
  struct teir *t = teir_clone(a, from);
  bool biased = f->bias == AXIS_M || f->bias == AXIS_N;
  if (l.zero < 0 && !biased && !f->relu && out == p.problem.acc)
    return t;
  if (l.zero < 0) {
    refuse(from, d, "sums that are added to old contents are not finished");
    return NULL;
  }
  int sums = OUT, zero = t->node[l.zero].primitive;
  if (out != p.problem.acc) {
    sums = teir_add_tensor(a, t, "sum", p.problem.acc);
    t->tensor[OUT].type = out;
    t->primitive[zero].operand = (struct teir_list){0};
    teir_list_add(a, &t->primitive[zero].operand, sums);
    struct teir_list *operand =
        &t->primitive[t->node[l.contraction].primitive].operand;
    *operand = (struct teir_list){0};
    for (int i = 0; i < 3; i++)
      teir_list_add(a, operand, (int[]){IN0, IN1, sums}[i]);
  }
  int parent, place;
  teir_home(t, l.zero, &parent, &place);
  int bias = biased ? add_vector(a, t, &p, f->bias) : -1;
  add_finish(a, t, parent, sums, bias, f);
  return teir_verify(t, d) ? t : NULL;
}

struct teir *teir_from_problem(struct arena *a, const struct teir_problem *p,
                               struct diag *d) {
  static const enum axis_role matrix[TENSORS][3] = {{AXIS_C, AXIS_M, AXIS_K},
                                                    {AXIS_C, AXIS_K, AXIS_N},
                                                    {AXIS_C, AXIS_M, AXIS_N}};
  static const char *const name[AXIS_ROLES] = {"c", "m", "n", "k"};
  struct contraction_axis axis[AXIS_ROLES];
  struct contraction c = {.axis = axis,
                          .type = {p->type[IN0], p->type[IN1], p->acc},
                          .acc = p->acc,
                          .accumulate = p->accumulate};
  for (int r = 0; r < AXIS_ROLES; r++) {
    axis[r] = (struct contraction_axis){.name = name[r],
                                        .role = (enum axis_role)r,
                                        .extent = teir_constant(p->extent[r])};
    for (int j = 0; j < TENSORS; j++)
      axis[r].stride_bytes[j] = teir_constant(0);
  }
  for (int j = 0; j < TENSORS; j++) {
    int64_t stride = dtype_bytes(p->type[j]);
    for (int i = 2; i >= 0; i--) {
      axis[matrix[j][i]].stride_bytes[j] = teir_constant(stride);
      if (__builtin_mul_overflow(stride, p->extent[matrix[j][i]], &stride)) {
        diag_declined(d, loc_none(), "a matrix of more than 2^63 bytes");
        return NULL;
      }
    }
  }
  if (p->extent[AXIS_C] == 1) {
    c.axis++;
    c.axis_count = AXIS_ROLES - 1;
  } else {
    c.axis_count = AXIS_ROLES;
  }
  struct teir *t = teir_from_contraction(a, &c, d);
  return t ? teir_finish_sums(a, t, &p->finish, p->type[OUT], d) : NULL;
}
