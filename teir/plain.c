/* plain.c -- takes a program that computes one contraction; gives its axes
 * with their roles, and the same work with as few axes as its strides allow. */
#include "teir_build.h"
#include "teir_plain.h"

static bool refuse(const struct teir *t, struct diag *d, const char *why) {
  return diag_declined(d, teir_loc(t), "not one contraction: %s", why);
}

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

static bool moves(const struct teir *t, int axis, int tensor) {
  return t->axis[axis].stride_bytes[tensor].constant != 0;
}

static bool give_roles(struct arena *a, const struct teir *t, struct plain *p,
                       struct diag *d) {
  p->role = arena_array(a, (size_t)p->count + 1, sizeof *p->role);
  int kept = 0;
  for (int i = 0; i < p->count; i++) {
    int x = p->axis[i];
    for (int j = 0; j < i; j++)
      if (p->axis[j] == x)
        return refuse(t, d, "an axis is used twice");
    bool l = moves(t, x, p->operand[0]), r = moves(t, x, p->operand[1]);
    bool o = moves(t, x, p->operand[2]);
    p->axis[kept] = x;
    p->role[kept++] = o && l && r ? AXIS_C
                      : o && r    ? AXIS_N
                      : o         ? AXIS_M
                                  : AXIS_K;
  }
  p->count = kept;
  return true;
}

static bool guarded_first(const struct teir *t, const int *parent, int n,
                          int axis) {
  for (; n >= 0; n = parent[n])
    for (int g = 0; g < t->node[n].guard_count; g++)
      if (t->node[n].guard[g].axis == axis && !t->node[n].guard[g].last)
        return true;
  return false;
}

/* The Zero clears every element of out before its sum begins: it has all axes
 * that move out, and runs at the first index only of loops that do not. */
static bool zero_fits(struct arena *a, const struct teir *t,
                      const struct plain *p, int leaf) {
  const int *parent = teir_parents(a, t);
  int count, moving = 0, wanted = 0, guards = 0, firsts = 0;
  const int *axis = axes_of(a, t, leaf, &count);
  for (int i = 0; i < count; i++) {
    bool out = moves(t, axis[i], p->operand[2]), known = false;
    for (int j = 0; j < p->count; j++)
      known = known || p->axis[j] == axis[i];
    bool first = !out && guarded_first(t, parent, leaf, axis[i]);
    if (!known || (!out && !first))
      return false;
    moving += out;
    firsts += first;
  }
  for (int j = 0; j < p->count; j++)
    wanted += moves(t, p->axis[j], p->operand[2]);
  for (int n = leaf; n >= 0; n = parent[n])
    guards += t->node[n].guard_count;
  return moving == wanted && guards == firsts;
}

struct leaves {
  int zero, contraction, count; /* nodes, -1: none */
  bool zero_first;
};

static void find_leaves(const struct teir *t, struct teir_list list,
                        struct leaves *l) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    find_leaves(t, n->children, l);
    if (n->kind == TEIR_ITERATION)
      continue;
    l->count++;
    if (t->primitive[n->primitive].op == TEIR_ZERO) {
      l->zero = list.item[i];
      l->zero_first = l->contraction < 0;
    } else if (t->primitive[n->primitive].op == TEIR_CONTRACTION) {
      l->contraction = list.item[i];
    }
  }
}

bool teir_plain_read(struct arena *a, const struct teir *t, struct plain *p,
                     struct diag *d) {
  if (!teir_check_concrete(t, d))
    return false;
  struct leaves l = {-1, -1, 0, false};
  find_leaves(t, t->roots, &l);
  if (l.contraction < 0 || l.count != 1 + (l.zero >= 0))
    return refuse(t, d, "it has other calls than a Contraction and a Zero");
  int primitive = t->node[l.contraction].primitive;
  *p = (struct plain){.operand = {teir_input(t, primitive, 0),
                                  teir_input(t, primitive, 1),
                                  teir_output(t, primitive)},
                      .zero = l.zero >= 0,
                      .acc = teir_property(t, primitive, "acc")};
  p->axis = axes_of(a, t, l.contraction, &p->count);
  const int *parent = teir_parents(a, t);
  for (int n = l.contraction; n >= 0; n = parent[n])
    if (t->node[n].guard_count)
      return refuse(t, d, "the Contraction is guarded");
  if (!give_roles(a, t, p, d))
    return false;
  return !p->zero ||
         (l.zero_first &&
          teir_output(t, t->node[l.zero].primitive) == p->operand[2] &&
          zero_fits(a, t, p, l.zero)) ||
         refuse(t, d, "the Zero does not stand where the sum begins");
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

static void fuse_all(struct arena *a, struct teir *t, struct plain *p) {
  for (int o = 0; o < p->count; o++)
    for (int i = 0; i < p->count; i++) {
      if (o == i || p->role[o] != p->role[i] ||
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

static int add_loops(struct arena *a, struct teir *t, const struct plain *p,
                     const int *moved, bool sum, int parent) {
  for (int i = 0; i < p->count; i++) {
    if ((p->role[i] == AXIS_K) != sum)
      continue;
    int n = teir_add_iteration(a, t, t->axis[moved[i]].id, moved[i]);
    teir_list_add(a, parent < 0 ? &t->roots : &t->node[parent].children, n);
    parent = n;
  }
  return parent;
}

static void add_call(struct arena *a, struct teir *t, int parent,
                     const char *id, enum teir_op op, const char *acc) {
  int p = teir_add_primitive(a, t, id, op);
  if (acc)
    teir_add_property(a, t, p, "acc", acc);
  int n = teir_add_invocation(a, t, teir_fresh_node(a, t, id), p);
  teir_list_add(a, parent < 0 ? &t->roots : &t->node[parent].children, n);
}

struct teir *teir_plain_fused(struct arena *a, const struct teir *from,
                              struct diag *d) {
  static const char *const tensor[] = {"in0", "in1", "out"};
  struct plain p;
  if (!teir_plain_read(a, from, &p, d))
    return NULL;
  struct teir *whole = teir_clone(a, from);
  fuse_all(a, whole, &p);
  struct teir *t = teir_empty(a, from->file);
  for (int j = 0; j < 3; j++)
    teir_add_tensor(a, t, tensor[j], from->tensor[p.operand[j]].type);
  int *moved = arena_array(a, (size_t)p.count + 1, sizeof *moved);
  for (int i = 0; i < p.count; i++) {
    const struct teir_axis *x = &whole->axis[p.axis[i]];
    moved[i] = teir_add_axis(a, t, teir_fresh_axis(a, t, x->id), x->extent);
    for (int j = 0; j < 3; j++) {
      t->axis[moved[i]].stride_bytes[j] = x->stride_bytes[p.operand[j]];
      t->axis[moved[i]].offset_bytes[j] = x->offset_bytes[p.operand[j]];
    }
  }
  int parent = add_loops(a, t, &p, moved, false, -1);
  if (p.zero)
    add_call(a, t, parent, "zero", TEIR_ZERO, NULL);
  parent = add_loops(a, t, &p, moved, true, parent);
  add_call(a, t, parent, "contraction", TEIR_CONTRACTION, p.acc);
  return teir_verify(t, d) ? t : NULL;
}
