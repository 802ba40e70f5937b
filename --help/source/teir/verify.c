/* verify.c -- is a program well formed?  The rules of the specification's
 * section 10.5, one function each, in its order; then the rules that come with
 * our additions (symbols, operands, metadata).
 *
 * A rule may rely on the rules before it in the table at the end.
 */
#include "calc.h"
#include "teir_build.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Deeper schedules are refused, so that walking one needs little stack. */
enum { DEPTH_LIMIT = 1000 };

struct check {
  const struct teir *t;
  struct arena *a;
  struct diag *d;
  int *parent; /* by node, -1 for roots; set by single_parent */
};

struct name {
  const char *id;
  struct loc at;
  int order;
};

static int name_compare(const void *left, const void *right) {
  const struct name *l = left, *r = right;
  int c = strcmp(l->id, r->id);
  return c ? c : l->order - r->order;
}

static bool names_unique(const struct check *k, struct name *name, int count,
                         const char *what) {
  for (int i = 0; i < count; i++)
    name[i].order = i;
  qsort(name, (size_t)count, sizeof *name, name_compare);
  for (int i = 1; i < count; i++)
    if (strcmp(name[i - 1].id, name[i].id) == 0)
      return diag_error(k->d, name[i].at,
                        "%s '%s' is defined twice; identifiers are unique",
                        what, name[i].id);
  return true;
}

static struct name *names(const struct check *k, int count) {
  return arena_array(k->a, (size_t)count, sizeof(struct name));
}

/* ---- axis rules ---- */
static bool axis_ids_unique(struct check *k) {
  struct name *name = names(k, k->t->axis_count);
  for (int i = 0; i < k->t->axis_count; i++)
    name[i] = (struct name){k->t->axis[i].id, k->t->axis[i].at, 0};
  return names_unique(k, name, k->t->axis_count, "axis");
}

static bool symbol_in_range(struct check *k, const struct teir_axis *x,
                            struct value s) {
  if (s.symbol < k->t->symbol_count)
    return true;
  return diag_error(k->d, x->at, "axis %s names symbol %d of %d", x->id,
                    s.symbol, k->t->symbol_count);
}

static bool axis_has_sizes_per_tensor(struct check *k) {
  for (int i = 0; i < k->t->axis_count; i++) {
    const struct teir_axis *x = &k->t->axis[i];
    if (k->t->tensor_count > 0 && (!x->stride_bytes || !x->offset_bytes))
      return diag_error(k->d, x->at,
                        "axis %s lacks strides or offsets; an axis has one of "
                        "each per tensor",
                        x->id);
    if (!symbol_in_range(k, x, x->extent))
      return false;
    for (int j = 0; j < k->t->tensor_count; j++)
      if (!symbol_in_range(k, x, x->stride_bytes[j]) ||
          !symbol_in_range(k, x, x->offset_bytes[j]))
        return false;
  }
  return true;
}

static bool axis_extent_positive(struct check *k) {
  for (int i = 0; i < k->t->axis_count; i++) {
    const struct teir_axis *x = &k->t->axis[i];
    if (x->extent.symbol < 0 && x->extent.constant <= 0)
      return diag_error(k->d, x->at,
                        "axis %s has extent %lld; extents are positive", x->id,
                        (long long)x->extent.constant);
  }
  return true;
}

static bool axis_strides_non_negative(struct check *k) {
  for (int i = 0; i < k->t->axis_count; i++) {
    const struct teir_axis *x = &k->t->axis[i];
    for (int j = 0; j < k->t->tensor_count; j++)
      if (x->stride_bytes[j].symbol < 0 && x->stride_bytes[j].constant < 0)
        return diag_error(k->d, x->at,
                          "axis %s has stride %lld on %s; strides are not "
                          "negative",
                          x->id, (long long)x->stride_bytes[j].constant,
                          k->t->tensor[j].id);
  }
  return true;
}

/* ---- schedule rules ---- */
static bool node_ids_unique(struct check *k) {
  struct name *name = names(k, k->t->node_count);
  for (int i = 0; i < k->t->node_count; i++)
    name[i] = (struct name){k->t->node[i].id, k->t->node[i].at, 0};
  return names_unique(k, name, k->t->node_count, "node");
}

static bool roots_exist(struct check *k) {
  for (int i = 0; i < k->t->roots.count; i++)
    if (k->t->roots.item[i] < 0 || k->t->roots.item[i] >= k->t->node_count)
      return diag_error(k->d, teir_loc(k->t),
                        "roots names node %d of %d; roots refer to existing "
                        "nodes",
                        k->t->roots.item[i], k->t->node_count);
  return true;
}

static bool children_exist(struct check *k) {
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    for (int c = 0; c < n->children.count; c++)
      if (n->children.item[c] < 0 || n->children.item[c] >= k->t->node_count)
        return diag_error(k->d, n->at,
                          "node %s has child %d of %d; children refer to "
                          "existing nodes",
                          n->id, n->children.item[c], k->t->node_count);
  }
  return true;
}

static bool root_stands_once(struct check *k) {
  bool *seen = arena_array(k->a, (size_t)k->t->node_count, sizeof *seen);
  for (int i = 0; i < k->t->roots.count; i++) {
    const struct teir_node *n = &k->t->node[k->t->roots.item[i]];
    if (seen[k->t->roots.item[i]])
      return diag_error(k->d, n->at,
                        "root %s is listed twice; a root appears in roots "
                        "exactly once",
                        n->id);
    seen[k->t->roots.item[i]] = true;
  }
  for (int i = 0; i < k->t->node_count; i++)
    for (int c = 0; c < k->t->node[i].children.count; c++)
      if (seen[k->t->node[i].children.item[c]])
        return diag_error(
            k->d, k->t->node[i].at,
            "root %s is a child of node %s; a root is in no children list",
            k->t->node[k->t->node[i].children.item[c]].id, k->t->node[i].id);
  return true;
}

static bool single_parent(struct check *k) {
  int count = k->t->node_count;
  enum { NONE = -2, ROOT = -1 };
  k->parent = arena_array(k->a, (size_t)count, sizeof *k->parent);
  for (int i = 0; i < count; i++)
    k->parent[i] = NONE;
  for (int i = 0; i < k->t->roots.count; i++)
    k->parent[k->t->roots.item[i]] = ROOT;
  for (int i = 0; i < count; i++)
    for (int c = 0; c < k->t->node[i].children.count; c++) {
      int child = k->t->node[i].children.item[c];
      if (k->parent[child] != NONE)
        return diag_error(k->d, k->t->node[child].at,
                          "node %s is a child of %s and of %s; a node that is "
                          "no root has exactly one parent",
                          k->t->node[child].id, k->t->node[k->parent[child]].id,
                          k->t->node[i].id);
      k->parent[child] = i;
    }
  for (int i = 0; i < count; i++)
    if (k->parent[i] == NONE)
      return diag_error(k->d, k->t->node[i].at,
                        "node %s is neither a root nor a child; a node that is "
                        "no root has exactly one parent",
                        k->t->node[i].id);
  return true;
}

/* Every node has one parent at most, so a walk up ends at a root or goes round
 * a cycle.  depth[] remembers walks, so that each node is passed twice only. */
static bool schedule_acyclic(struct check *k) {
  int count = k->t->node_count;
  int *depth = arena_array(k->a, (size_t)count, sizeof *depth);
  assert(k->parent);
  for (int i = 0; i < count; i++) {
    int steps = 0, n = i;
    for (; n >= 0 && depth[n] == 0; n = k->parent[n])
      if (++steps > count)
        return diag_error(k->d, k->t->node[i].at,
                          "node %s is on or below a cycle; no node is its own "
                          "descendant",
                          k->t->node[i].id);
    steps += n >= 0 ? depth[n] : 0;
    if (steps > DEPTH_LIMIT)
      return diag_error(k->d, k->t->node[i].at,
                        "node %s is nested %d deep; the limit is %d",
                        k->t->node[i].id, steps, DEPTH_LIMIT);
    for (int m = i; m >= 0 && depth[m] == 0; m = k->parent[m])
      depth[m] = steps--;
  }
  return true;
}

/* ---- iteration node rules ---- */
static bool iteration_axis_exists(struct check *k) {
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    if (n->kind == TEIR_ITERATION &&
        (n->axis < 0 || n->axis >= k->t->axis_count))
      return diag_error(k->d, n->at,
                        "node %s iterates axis %d of %d; an iteration node's "
                        "axis exists",
                        n->id, n->axis, k->t->axis_count);
  }
  return true;
}

static bool iteration_policy_known(struct check *k) {
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    if (n->kind == TEIR_ITERATION && n->policy != TEIR_SEQUENTIAL &&
        n->policy != TEIR_PARALLEL)
      return diag_error(k->d, n->at,
                        "node %s has policy %d; a policy is sequential or "
                        "parallel",
                        n->id, (int)n->policy);
  }
  return true;
}

static bool iteration_has_children(struct check *k) {
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    if (n->kind == TEIR_ITERATION && n->children.count == 0)
      return diag_error(k->d, n->at,
                        "node %s iterates nothing; an iteration node has "
                        "children",
                        n->id);
  }
  return true;
}

/* ---- invocation node rules ---- */
static bool invocation_primitive_exists(struct check *k) {
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    if (n->kind == TEIR_INVOCATION &&
        (n->primitive < 0 || n->primitive >= k->t->primitive_count))
      return diag_error(k->d, n->at,
                        "node %s invokes primitive %d of %d; an invocation "
                        "node's primitive exists",
                        n->id, n->primitive, k->t->primitive_count);
  }
  return true;
}

static bool invocation_is_leaf(struct check *k) {
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    if (n->kind == TEIR_INVOCATION && n->children.count != 0)
      return diag_error(k->d, n->at,
                        "node %s invokes and has children; an invocation node "
                        "has none",
                        n->id);
  }
  return true;
}

/* ---- guard rules ---- */
static bool guard_names_ancestors(struct check *k) {
  assert(k->parent); /* of single_parent */
  for (int i = 0; i < k->t->node_count; i++) {
    const struct teir_node *n = &k->t->node[i];
    for (int g = 0; g < n->guard_count; g++) {
      int axis = n->guard[g].axis;
      if (axis < 0 || axis >= k->t->axis_count)
        return diag_error(k->d, n->at,
                          "node %s is guarded by axis %d of %d; a guard's axis "
                          "exists",
                          n->id, axis, k->t->axis_count);
      int up = k->parent[i];
      while (up >= 0 && k->t->node[up].axis != axis)
        up = k->parent[up];
      if (up < 0)
        return diag_error(k->d, n->at,
                          "node %s is guarded by %s(%s), but no ancestor "
                          "iterates %s",
                          n->id, n->guard[g].last ? "last" : "first",
                          k->t->axis[axis].id, k->t->axis[axis].id);
    }
  }
  return true;
}

/* ---- primitive rules ---- */
static bool primitive_ids_unique(struct check *k) {
  struct name *name = names(k, k->t->primitive_count);
  for (int i = 0; i < k->t->primitive_count; i++)
    name[i] = (struct name){k->t->primitive[i].id, k->t->primitive[i].at, 0};
  return names_unique(k, name, k->t->primitive_count, "primitive");
}

static bool primitive_op_known(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++)
    if (k->t->primitive[i].op < 0 || k->t->primitive[i].op >= TEIR_OPS)
      return diag_error(
          k->d, k->t->primitive[i].at, "primitive %s has operation %d of %d",
          k->t->primitive[i].id, (int)k->t->primitive[i].op, TEIR_OPS);
  return true;
}

/* A count below 0 says that the text gave no list for the role. */
static bool primitive_roles_complete(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++) {
    const struct teir_primitive *p = &k->t->primitive[i];
    for (int r = 0; r < TEIR_ROLES; r++)
      if (p->role[r].count < 0)
        return diag_error(
            k->d, p->at, "primitive %s has no list %c; %s needs %s", p->id,
            "MNK"[r], teir_op_name(p->op),
            p -> op == TEIR_CONTRACTION ? "M, N and K" : "M and N");
    if (p->op != TEIR_CONTRACTION && p->role[TEIR_K].count > 0)
      return diag_error(k->d, p->at, "primitive %s has a list K; %s has none",
                        p->id, teir_op_name(p->op));
  }
  return true;
}

static bool primitive_axes_exist(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++) {
    const struct teir_primitive *p = &k->t->primitive[i];
    for (int r = 0; r < TEIR_ROLES; r++)
      for (int j = 0; j < p->role[r].count; j++)
        if (p->role[r].item[j] < 0 || p->role[r].item[j] >= k->t->axis_count)
          return diag_error(k->d, p->at,
                            "primitive %s lists axis %d of %d in %c; a role's "
                            "axes exist",
                            p->id, p->role[r].item[j], k->t->axis_count,
                            "MNK"[r]);
  }
  return true;
}

/* ---- our additions: tensors, symbols, operands, metadata ---- */
static bool tensor_ids_unique(struct check *k) {
  struct name *name = names(k, k->t->tensor_count);
  for (int i = 0; i < k->t->tensor_count; i++)
    name[i] = (struct name){k->t->tensor[i].id, k->t->tensor[i].at, 0};
  return names_unique(k, name, k->t->tensor_count, "tensor");
}

static bool symbol_ids_unique(struct check *k) {
  struct name *name = names(k, k->t->symbol_count);
  for (int i = 0; i < k->t->symbol_count; i++)
    name[i] = (struct name){k->t->symbol[i], teir_loc(k->t), 0};
  return names_unique(k, name, k->t->symbol_count, "symbol");
}

static bool operands_exist(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++) {
    const struct teir_primitive *p = &k->t->primitive[i];
    int inputs = teir_input_count(k->t, i);
    if (p->op == TEIR_MAP &&
        (p->operand.count < 1 || p->operand.count > TEIR_OPERANDS))
      return diag_error(k->d, p->at,
                        "primitive %s has %d operands; a Map names its output "
                        "and at most %d inputs",
                        p->id, p->operand.count, CALC_INPUTS);
    if (p->operand.count != 0 && p->operand.count != inputs + 1)
      return diag_error(k->d, p->at,
                        "primitive %s has %d operands; %s has %d inputs and an "
                        "output",
                        p->id, p->operand.count, teir_op_name(p->op), inputs);
    for (int j = 0; j < p->operand.count; j++)
      if (p->operand.item[j] < 0 || p->operand.item[j] >= k->t->tensor_count)
        return diag_error(k->d, p->at, "primitive %s names tensor %d of %d",
                          p->id, p->operand.item[j], k->t->tensor_count);
    if (teir_output(k->t, i) < 0)
      return diag_error(k->d, p->at,
                        "primitive %s writes 'out', but no tensor has this "
                        "name",
                        p->id);
    for (int j = 0; j < inputs; j++)
      if (teir_input(k->t, i, j) < 0)
        return diag_error(k->d, p->at,
                          "primitive %s reads 'in%d', but no tensor has this "
                          "name",
                          p->id, j);
  }
  return true;
}

/* Our names, and those of the specification: FP32, BF16. */
static bool type_named(const char *name, enum dtype *type) {
  static const struct {
    const char *name;
    enum dtype type;
  } also[] = {{"FP16", DTYPE_F16},
              {"FP32", DTYPE_F32},
              {"FP64", DTYPE_F64},
              {"BF16", DTYPE_BF16}};
  for (size_t i = 0; i < sizeof also / sizeof *also; i++)
    if (strcmp(name, also[i].name) == 0) {
      *type = also[i].type;
      return true;
    }
  return dtype_parse(name, type);
}

static bool operand_types_fit(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++) {
    const struct teir_primitive *p = &k->t->primitive[i];
    enum dtype out = k->t->tensor[teir_output(k->t, i)].type;
    const char *name = teir_property(k->t, i, "data_type");
    enum dtype all;
    if (name && !type_named(name, &all))
      return diag_error(k->d, p->at, "primitive %s: data_type '%s' is no type",
                        p->id, name);
    for (int j = -1; j < teir_input_count(k->t, i); j++) {
      int x = j < 0 ? teir_output(k->t, i) : teir_input(k->t, i, j);
      if (name && k->t->tensor[x].type != all)
        return diag_error(
            k->d, p->at, "primitive %s has data_type %s, but tensor %s is %s",
            p->id, name, k->t->tensor[x].id, dtype_name(k->t->tensor[x].type));
      if ((p->op == TEIR_COPY || p->op == TEIR_RELU) &&
          k->t->tensor[x].type != out)
        return diag_error(k->d, p->at,
                          "primitive %s: %s from %s to %s; only Cast converts",
                          p->id, teir_op_name(p->op),
                          dtype_name(k->t->tensor[x].type), dtype_name(out));
    }
    if (p->op == TEIR_SHIFT &&
        (dtype_kind(out) == DTYPE_FLOAT ||
         dtype_kind(k->t->tensor[teir_input(k->t, i, 0)].type) == DTYPE_FLOAT))
      return diag_error(k->d, p->at, "primitive %s: Shift takes integers",
                        p->id);
  }
  return true;
}

static bool is_number(const char *s) {
  char *end;
  strtod(s, &end);
  return end != s && *end == 0;
}

static bool number_given(struct check *k, int i, const char *key,
                         bool required) {
  const struct teir_primitive *p = &k->t->primitive[i];
  const char *value = teir_property(k->t, i, key);
  if (!value && required)
    return diag_error(k->d, p->at, "primitive %s: %s needs %s=<number>", p->id,
                      teir_op_name(p->op), key);
  if (value && !is_number(value))
    return diag_error(k->d, p->at, "primitive %s: %s=%s is no number", p->id,
                      key, value);
  return true;
}

static bool metadata_valid(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++) {
    const struct teir_primitive *p = &k->t->primitive[i];
    bool clamp = p->op == TEIR_CLAMP, shift = p->op == TEIR_SHIFT;
    if (!number_given(k, i, "alpha", p->op == TEIR_SCALE) ||
        !number_given(k, i, "beta", false) ||
        !number_given(k, i, "low", clamp) ||
        !number_given(k, i, "high", clamp) ||
        !number_given(k, i, "shift", shift) ||
        !number_given(k, i, "steps", false))
      return false;
    if (shift) {
      double n = strtod(teir_property(k->t, i, "shift"), NULL);
      if (!(n >= 0 && n <= 62 && n == (int)n))
        return diag_error(k->d, p->at,
                          "primitive %s: shift=%s; a shift is 0 to 62 bits",
                          p->id, teir_property(k->t, i, "shift"));
    }
    const char *steps = teir_property(k->t, i, "steps");
    double count = steps ? strtod(steps, NULL) : 1;
    if (!(count >= 1 && count <= INT_MAX && count == (int)count))
      return diag_error(k->d, p->at,
                        "primitive %s: steps=%s; steps are 1 or more", p->id,
                        steps);
    enum dtype type;
    const char *acc = teir_property(k->t, i, "acc");
    if (acc && !dtype_parse(acc, &type))
      return diag_error(k->d, p->at, "primitive %s: acc=%s is no type", p->id,
                        acc);
  }
  return true;
}

/* ---- Map ---- */
static bool input_types_fit(struct check *k, int primitive,
                            const struct calc *c) {
  assert(c);
  const struct teir_primitive *p = &k->t->primitive[primitive];
  for (int i = 0; i < calc_operands(c->op); i++)
    if (!input_types_fit(k, primitive, c->arg[i]))
      return false;
  if (c->op != CALC_INPUT)
    return true;
  int tensor = teir_input(k->t, primitive, c->input);
  if (tensor < 0)
    return diag_error(k->d, p->at, "primitive %s has no input %d", p->id,
                      c->input);
  return c->type == k->t->tensor[tensor].type ||
         diag_error(k->d, p->at,
                    "primitive %s reads %s as %s, but the tensor is %s", p->id,
                    k->t->tensor[tensor].id, dtype_name(c->type),
                    dtype_name(k->t->tensor[tensor].type));
}

static bool expressions_valid(struct check *k) {
  for (int i = 0; i < k->t->primitive_count; i++) {
    const struct teir_primitive *p = &k->t->primitive[i];
    if ((p->op == TEIR_MAP) != (p->expr != NULL))
      return diag_error(k->d, p->at,
                        "primitive %s: a Map has an expression, nothing else "
                        "has",
                        p->id);
    if (!p->expr)
      continue;
    struct diag why = {0};
    if (!calc_check(p->expr, &why))
      return diag_error(k->d, p->at, "primitive %s: %s", p->id, why.text);
    if (!input_types_fit(k, i, p->expr))
      return false;
    const struct teir_tensor *out = &k->t->tensor[teir_output(k->t, i)];
    if (p->expr->type != out->type)
      return diag_error(
          k->d, p->at, "primitive %s computes %s, but tensor %s is %s", p->id,
          dtype_name(p->expr->type), out->id, dtype_name(out->type));
  }
  return true;
}

/* ---- limit rules ---- */
static bool limit_sizes_exist(struct check *k) {
  for (int i = 0; i < k->t->limit_count; i++) {
    const struct affine_guard *l = &k->t->limit[i];
    int highest = l->start.symbol;
    for (int j = 0; j < k->t->axis_count; j++)
      highest = l->step[j].symbol > highest ? l->step[j].symbol : highest;
    if (highest >= k->t->symbol_count)
      return diag_error(k->d, l->at, "a limit names symbol %d of %d", highest,
                        k->t->symbol_count);
  }
  return true;
}

bool teir_verify(const struct teir *t, struct diag *d) {
  static bool (*const rule[])(struct check *) = {
      symbol_ids_unique,
      tensor_ids_unique,
      axis_ids_unique,
      axis_has_sizes_per_tensor,
      axis_extent_positive,
      axis_strides_non_negative,
      node_ids_unique,
      roots_exist,
      children_exist,
      root_stands_once,
      single_parent,
      schedule_acyclic,
      iteration_axis_exists,
      iteration_policy_known,
      iteration_has_children,
      invocation_primitive_exists,
      invocation_is_leaf,
      guard_names_ancestors,
      primitive_ids_unique,
      primitive_op_known,
      primitive_roles_complete,
      primitive_axes_exist,
      operands_exist,
      operand_types_fit,
      metadata_valid,
      expressions_valid,
      limit_sizes_exist,
  };
  struct check k = {t, arena_open(), d, NULL};
  bool good = true;
  for (size_t i = 0; good && i < sizeof rule / sizeof *rule; i++)
    good = rule[i](&k);
  assert(good || d->kind != DIAG_NONE);
  arena_close(k.a);
  return good;
}
