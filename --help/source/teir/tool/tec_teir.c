/* tec_teir.c -- a TEC as TEIR and back: loops in each other, the first touch
 * where a reduction begins, the main primitive, the last touch where it ends.
 */
#include "teir_build.h"
#include "teir_tec.h"

#include <assert.h>
#include <string.h>

/* ---- TEC to TEIR ---- */
struct build {
  struct arena *a;
  struct teir *t;
  const struct tec *c;
  int loop[TEC_DIMS]; /* node of each dimension, -1 for prim */
};

static bool add_axes(struct build *b, struct diag *d) {
  int count[4] = {0};
  int width = dtype_bytes(b->c->data_type);
  for (int i = 0; i < b->c->dims; i++) {
    int n = count[b->c->type[i]]++;
    int x = teir_add_axis(b->a, b->t,
                          arena_printf(b->a, "%c%d", "cmnk"[b->c->type[i]], n),
                          teir_constant(b->c->size[i]));
    for (int j = 0; j < 3; j++) {
      int64_t bytes;
      if (__builtin_mul_overflow(b->c->stride[j][i], width, &bytes))
        return diag_error(d, b->c->at, "dimension %d: a stride overflows", i);
      b->t->axis[x].stride_bytes[j] = teir_constant(bytes);
    }
  }
  return true;
}

/* Prim dimensions as roles; a batch dimension has none. */
static bool add_primitive(struct build *b, const char *id, enum teir_op op,
                          int *primitive, struct diag *d) {
  *primitive = teir_add_primitive(b->a, b->t, id, op);
  struct teir_primitive *p = &b->t->primitive[*primitive];
  for (int i = 0; i < b->c->dims; i++) {
    if (b->c->exec[i] != TEC_PRIM)
      continue;
    if (b->c->type[i] == TEC_C)
      return diag_error(d, b->c->at,
                        "dimension %d is C and prim; primitives have no batch",
                        i);
    if (b->c->type[i] == TEC_K && op != TEIR_CONTRACTION)
      continue;
    teir_list_add(b->a, &p->role[b->c->type[i] - TEC_M], i);
  }
  return true;
}

/* The loops, each in the one before.  *inside: the innermost loop that is not
 * K, -1 if there is none: there the first touch has its place. */
static int add_chain(struct build *b, int *inside) {
  int parent = -1;
  *inside = -1;
  for (int i = 0; i < b->c->dims; i++) {
    b->loop[i] = -1;
    if (b->c->exec[i] == TEC_PRIM)
      continue;
    int n = teir_add_iteration(b->a, b->t, b->t->axis[i].id, i);
    bool k = b->c->type[i] == TEC_K;
    b->t->node[n].policy =
        b->c->exec[i] == TEC_SEQ || k ? TEIR_SEQUENTIAL : TEIR_PARALLEL;
    teir_list_add(b->a,
                  parent < 0 ? &b->t->roots : &b->t->node[parent].children, n);
    b->loop[i] = parent = n;
    assert(b->t->node[n].axis == i);
    if (!k)
      *inside = n;
  }
  /* On the NPU the last M goes over rows, the last N over columns. */
  for (int i = b->c->dims - 1, m = 0, n = 0; i >= 0; i--) {
    if (b->c->exec[i] != TEC_NPU)
      continue;
    enum tec_dim type = b->c->type[i];
    bool row = type == TEC_M && !m++, column = type == TEC_N && !n++;
    b->t->node[b->loop[i]].place = row      ? TEIR_ROWS
                                   : column ? TEIR_COLUMNS
                                            : TEIR_TIME;
  }
  return parent;
}

/* Zero or ReLU around the reduction: beside the K loops inside `inside`, and
 * guarded by the K loops outside it. */
static bool add_touch(struct build *b, int inside, bool last, struct diag *d) {
  enum tec_prim what = last ? b->c->last : b->c->first;
  if (what == TEC_NONE)
    return true;
  assert(what == TEC_RELU || (what == TEC_ZERO && !last));
  const char *id = what == TEC_ZERO ? "zero" : "relu";
  int p;
  if (!add_primitive(b, teir_fresh_primitive(b->a, b->t, id),
                     what == TEC_ZERO ? TEIR_ZERO : TEIR_RELU, &p, d))
    return false;
  int n = teir_add_invocation(b->a, b->t, teir_fresh_node(b->a, b->t, id), p);
  struct teir_list *home =
      inside < 0 ? &b->t->roots : &b->t->node[inside].children;
  teir_list_insert(b->a, home, last ? home->count : 0, n);
  struct teir_node *x = &b->t->node[n];
  x->guard = arena_array(b->a, TEC_DIMS, sizeof *x->guard);
  for (int i = 0; i < b->c->dims && b->loop[i] <= inside; i++)
    if (b->loop[i] >= 0 && b->c->type[i] == TEC_K)
      x->guard[x->guard_count++] = (struct teir_guard_term){last, i};
  return true;
}

/* The kernel that prim_main names is the one that the prim dimensions make. */
static bool check_kernel(const struct tec *c, struct diag *d) {
  int k = 0;
  for (int i = 0; i < c->dims; i++)
    k += c->exec[i] == TEC_PRIM && c->type[i] == TEC_K;
  if (c->main == TEC_GEMM && k > 1)
    return diag_error(d, c->at,
                      "prim_main is GEMM with %d prim dimensions of type K; a "
                      "GEMM has one, a BRGEMM more",
                      k);
  return c->main != TEC_BRGEMM || k > 1 ||
         diag_error(d, c->at,
                    "prim_main is BRGEMM with %d prim dimension%s of type K; "
                    "one is the batch, another the kernel's",
                    k, k == 1 ? "" : "s");
}

struct teir *teir_from_tec(struct arena *a, const struct tec *c,
                           struct diag *d) {
  static const char *const tensor[] = {"in0", "in1", "out"};
  const char *file = c->at.file ? arena_string(a, c->at.file) : NULL;
  struct build b = {.a = a, .t = teir_empty(a, file), .c = c};
  if (!check_kernel(c, d))
    return NULL;
  for (int j = 0; j < 3; j++)
    teir_add_tensor(a, b.t, tensor[j], c->data_type);
  if (!add_axes(&b, d))
    return NULL;
  int inside, main, innermost = add_chain(&b, &inside);
  assert(c->main >= TEC_COPY); /* the reader knows no other */
  bool copy = c->main == TEC_COPY;
  if (!add_primitive(&b,
                     copy                  ? "copy"
                     : c->main == TEC_GEMM ? "gemm"
                                           : "brgemm",
                     copy ? TEIR_COPY : TEIR_CONTRACTION, &main, d))
    return NULL;
  int leaf = teir_add_invocation(a, b.t, "main", main);
  teir_list_add(a, innermost < 0 ? &b.t->roots : &b.t->node[innermost].children,
                leaf);
  if (!add_touch(&b, inside, false, d) || !add_touch(&b, inside, true, d))
    return NULL;
  return teir_verify(b.t, d) ? b.t : NULL;
}

/* ---- TEIR to TEC ---- */
static bool refuse(const struct teir *t, struct diag *d, const char *why) {
  return diag_declined(d, teir_loc(t), "no TEC: %s", why);
}

static bool add_dim(const struct teir *t, struct tec *c, int axis,
                    enum tec_exec exec, struct diag *d) {
  const struct teir_axis *x = &t->axis[axis];
  if (c->dims == TEC_DIMS)
    return refuse(t, d, "too many dimensions");
  int i = c->dims++;
  assert(i < TEC_DIMS);
  c->exec[i] = exec;
  c->size[i] = x->extent.constant;
  int width = dtype_bytes(c->data_type);
  for (int j = 0; j < t->tensor_count; j++) {
    if (x->offset_bytes[j].constant || x->stride_bytes[j].constant % width)
      return refuse(t, d, "an offset, or a stride of no whole elements");
    static const char *const tensor[] = {"in0", "in1", "out"};
    for (int k = 0; k < 3; k++)
      if (strcmp(t->tensor[j].id, tensor[k]) == 0)
        c->stride[k][i] = x->stride_bytes[j].constant / width;
  }
  if (!tec_infer(c, i, &c->type[i]))
    return refuse(t, d, "an axis that moves less than two tensors");
  return true;
}

static bool add_loops(const struct teir *t, struct teir_list list,
                      struct tec *c, int *main, struct diag *d) {
  int inner = -1;
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    enum teir_op op =
        n->kind == TEIR_INVOCATION ? t->primitive[n->primitive].op : TEIR_OPS;
    bool touch = op == TEIR_ZERO || op == TEIR_RELU;
    enum tec_prim *to = inner < 0 ? &c->first : &c->last;
    if (touch && *to == TEC_NONE)
      *to = op == TEIR_ZERO ? TEC_ZERO : TEC_RELU;
    else if (touch || inner >= 0 || (!touch && n->guard_count))
      return refuse(t, d,
                    "more than perfectly nested loops around one primitive");
    else
      inner = list.item[i];
  }
  if (inner < 0)
    return refuse(t, d, "no main primitive");
  const struct teir_node *n = &t->node[inner];
  if (n->kind == TEIR_INVOCATION) {
    *main = n->primitive;
    return true;
  }
  enum tec_exec exec = n->place != TEIR_ANYWHERE    ? TEC_NPU
                       : n->policy == TEIR_PARALLEL ? TEC_SHARED
                                                    : TEC_SEQ;
  return add_dim(t, c, n->axis, exec, d) &&
         add_loops(t, n->children, c, main, d);
}

/* The prim dimensions in the order that the thesis asks for: M, N, K; a
 * BRGEMM's outer K stands before them. */
static bool add_prims(const struct teir *t, int primitive, struct tec *c,
                      struct diag *d) {
  const struct teir_primitive *p = &t->primitive[primitive];
  struct teir_list k = p->role[TEIR_K];
  c->main = p->op == TEIR_COPY ? TEC_COPY : k.count > 1 ? TEC_BRGEMM : TEC_GEMM;
  if (p->op != TEIR_COPY && p->op != TEIR_CONTRACTION)
    return refuse(t, d, "the main primitive is neither Copy nor Contraction");
  for (int i = 0; i < k.count - 1; i++)
    if (!add_dim(t, c, k.item[i], TEC_PRIM, d))
      return false;
  for (int r = TEIR_M; r <= TEIR_N; r++)
    for (int i = 0; i < p->role[r].count; i++)
      if (!add_dim(t, c, p->role[r].item[i], TEC_PRIM, d))
        return false;
  return k.count == 0 || add_dim(t, c, k.item[k.count - 1], TEC_PRIM, d);
}

/* Where each Zero and ReLU stands: its depth, its guards by depth, and how
 * many axes it consumes. */
static void describe_touches(struct arena *a, const struct teir *t,
                             struct text *to) {
  const int *parent = teir_parents(a, t);
  for (int i = 0; i < t->node_count; i++) {
    const struct teir_node *n = &t->node[i];
    if (n->kind != TEIR_INVOCATION)
      continue;
    const struct teir_primitive *p = &t->primitive[n->primitive];
    if (p->op != TEIR_ZERO && p->op != TEIR_RELU)
      continue;
    int depth = 0;
    int64_t guards[2] = {0, 0}; /* sums of depths of first and last terms */
    for (int up = parent[i]; up >= 0; up = parent[up])
      depth++;
    for (int g = 0; g < n->guard_count; g++) {
      int level = depth, up = parent[i];
      for (; t->node[up].axis != n->guard[g].axis; up = parent[up])
        level--;
      assert(up >= 0 && level > 0);
      guards[n->guard[g].last] += INT64_C(1) << (level < 62 ? level : 62);
    }
    text_printf(to, "%s %d %lld %lld %d %d %d\n", teir_op_name(p->op), depth,
                (long long)guards[0], (long long)guards[1],
                p->role[TEIR_M].count, p->role[TEIR_N].count,
                teir_output(t, n->primitive));
  }
}

/* Touches in other places than where a TEC has them mean something else. */
static bool same_schedule(const struct teir *t, const struct tec *c,
                          struct diag *d) {
  struct arena *a = arena_open();
  struct text left = {0}, right = {0};
  struct diag inner = {0};
  struct teir *again = teir_from_tec(a, c, &inner);
  bool same = again && again->node_count == t->node_count;
  if (same) {
    describe_touches(a, t, &left);
    describe_touches(a, again, &right);
    same = strcmp(text_string(&left), text_string(&right)) == 0;
  }
  text_free(&left);
  text_free(&right);
  arena_close(a);
  return same || refuse(t, d,
                        "Zero or ReLU stands elsewhere than around the "
                        "whole reduction");
}

bool teir_to_tec(const struct teir *t, struct tec *c, struct diag *d) {
  *c = (struct tec){.at = teir_loc(t)};
  if (!teir_check_concrete(t, d))
    return false;
  if (t->tensor_count == 0)
    return refuse(t, d, "there are no tensors");
  c->data_type = t->tensor[0].type;
  for (int j = 1; j < t->tensor_count; j++)
    if (t->tensor[j].type != c->data_type)
      return refuse(t, d, "tensors have different types");
  int main;
  return add_loops(t, t->roots, c, &main, d) && add_prims(t, main, c, d) &&
         same_schedule(t, c, d);
}
