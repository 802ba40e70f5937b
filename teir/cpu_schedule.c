/* cpu_schedule.c -- a contraction and a processor in; the loops of the code
 * that is emitted for them out.
 *
 * A schedule is a list of steps, from the outermost loop to the call.  A loop
 * cuts what is left of a role into parts: runs of parts of one size become one
 * loop each, with all further steps inside, so that together they cover the
 * work once. */
#include "teir_cpu_schedule.h"

#include "teir_build.h"
#include "teir_problem.h"

#include <assert.h>

enum size_kind {
  SIZE_FIXED,    /* `size`, or what is left */
  SIZE_VECTORS,  /* columns of the code that is not packed */
  SIZE_HEIGHT,   /* rows of the code that is not packed */
  SIZE_STRAIGHT, /* rows of straight code */
  SIZE_STEPS     /* `size`, then one by one */
};
enum step_kind { STEP_LOOP, STEP_PACK, STEP_CALL };

struct step {
  enum step_kind kind;
  enum axis_role role;  /* LOOP */
  enum size_kind sizes; /* LOOP */
  int64_t size;
  bool panels;    /* LOOP: over panels */
  int tensor;     /* PACK: IN0 or IN1 */
  const char *of; /* LOOP: behind the axis' name */
};
enum { STEPS = 10, GUARDS = 4, LEAVES = 1024 };

struct schedule {
  struct arena *a;
  const struct teir *from;
  struct teir *t; /* being built */
  const struct teir_cpu *cpu;
  struct teir_cpu_blocks blocks;
  struct teir_cpu_dot dot; /* of the panels */
  struct teir_roles roles;
  int axis[AXIS_ROLES]; /* in `from`; -1: none */
  int tensor[TENSORS];  /* in0 and in1 may have changed places */
  int panel[TENSORS];   /* the tensor of packed panels; -1: none */
  int64_t columns;      /* of a panel of in1 */
  bool masks;
  const char *kernel;
  int steps;
  struct step step[STEPS];
  int leaves, leaf[LEAVES], leaf_of[LEAVES]; /* M, N, K; axes in `from` */
};

/* The part of the work that a place in the schedule stands for. */
struct part {
  int64_t extent[AXIS_ROLES], start[AXIS_ROLES];
  int64_t panel_start[TENSORS]; /* bytes in the panels */
  bool first;                   /* sums begin here, ... */
  int guards, guard[GUARDS];    /* ... in the first iteration of these axes */
  int vectors;                  /* SIZE_VECTORS: of the columns */
};

static void add_step(struct schedule *s, struct step step) {
  assert(s->steps < STEPS);
  s->step[s->steps++] = step;
}

static void add_loop_step(struct schedule *s, enum axis_role r, int64_t size,
                          const char *of) {
  add_step(s, (struct step){.role = r, .size = size, .of = of});
}

/* ---- panels ---- */

static enum axis_role rows_of(int tensor) {
  assert(tensor == IN0 || tensor == IN1);
  return tensor == IN0 ? AXIS_M : AXIS_N;
}

static int64_t panel_rows(const struct schedule *s, int tensor) {
  return tensor == IN0 ? s->blocks.height[0] : s->columns;
}

/* From the first element of K to the one `by` behind it. */
static int64_t step_bytes(const struct schedule *s, int tensor, int64_t by) {
  int64_t group = s->dot.packed_group[tensor];
  return (by / group * group * panel_rows(s, tensor) + by % group) *
         dtype_bytes(s->t->tensor[s->panel[tensor]].type);
}

static int64_t panel_bytes(const struct schedule *s, int tensor, int64_t k) {
  return step_bytes(s, tensor,
                    (k + s->dot.step - 1) / s->dot.step * s->dot.step);
}

/* ---- axes, loops, calls ---- */

/* `extent` steps of `step` elements; offsets are given to leaves. */
static int add_axis(struct schedule *s, int from, const char *of,
                    int64_t extent, int64_t step) {
  const struct teir_axis *x = &s->from->axis[from];
  const char *id = arena_printf(s->a, "%s%s", x->id, of);
  int to = teir_add_axis(s->a, s->t, teir_fresh_axis(s->a, s->t, id),
                         teir_constant(extent));
  for (int j = 0; j < TENSORS; j++)
    s->t->axis[to].stride_bytes[j] =
        teir_constant(x->stride_bytes[j].constant * step);
  return to;
}

static void start_axis(struct schedule *s, int to, int from, int64_t start) {
  const struct teir_axis *x = &s->from->axis[from];
  for (int j = 0; j < TENSORS; j++)
    s->t->axis[to].offset_bytes[j] = teir_constant(
        x->offset_bytes[j].constant + x->stride_bytes[j].constant * start);
}

static int add_loop(struct schedule *s, int parent, int axis) {
  int n = teir_add_iteration(
      s->a, s->t, teir_fresh_node(s->a, s->t, s->t->axis[axis].id), axis);
  s->t->node[n].place = TEIR_TIME;
  teir_list_add(s->a, parent < 0 ? &s->t->roots : &s->t->node[parent].children,
                n);
  return n;
}

static int add_call(struct schedule *s, int parent, const char *id,
                    enum teir_op op, int *node) {
  int p =
      teir_add_primitive(s->a, s->t, teir_fresh_primitive(s->a, s->t, id), op);
  *node = teir_add_invocation(s->a, s->t, teir_fresh_node(s->a, s->t, id), p);
  teir_list_add(s->a, parent < 0 ? &s->t->roots : &s->t->node[parent].children,
                *node);
  return p;
}

static bool is_same(const struct schedule *s, int x, int y) {
  const struct teir_axis *l = &s->t->axis[x], *r = &s->t->axis[y];
  bool same = l->extent.constant == r->extent.constant;
  for (int t = 0; same && t < s->t->tensor_count; t++)
    same = l->stride_bytes[t].constant == r->stride_bytes[t].constant &&
           l->offset_bytes[t].constant == r->offset_bytes[t].constant;
  return same;
}

/* The leaf that was added last, or an earlier one that is like it. */
static int shared_leaf(struct schedule *s, int from, int x) {
  assert(x == s->t->axis_count - 1 && s->leaves < LEAVES);
  for (int i = 0; i < s->leaves; i++)
    if (s->leaf_of[i] == from && is_same(s, s->leaf[i], x)) {
      s->t->axis_count--;
      return s->leaf[i];
    }
  s->leaf_of[s->leaves] = from;
  s->leaf[s->leaves++] = x;
  return x;
}

static void set_stride(struct schedule *s, int axis, int tensor, int64_t bytes,
                       int64_t start) {
  s->t->axis[axis].stride_bytes[tensor] = teir_constant(bytes);
  s->t->axis[axis].offset_bytes[tensor] = teir_constant(start);
}

/* M or N of a call; -1: the work has no such axis. */
static int add_row_leaf(struct schedule *s, const struct part *p,
                        enum axis_role r) {
  if (s->axis[r] < 0)
    return -1;
  int x = add_axis(s, s->axis[r], ".i", p->extent[r], 1);
  start_axis(s, x, s->axis[r], p->start[r]);
  for (int t = IN0; t <= IN1; t++)
    if (s->panel[t] >= 0 && rows_of(t) == r)
      set_stride(s, x, s->panel[t],
                 s->dot.packed_group[t] *
                     dtype_bytes(s->t->tensor[s->panel[t]].type),
                 p->panel_start[t]);
  return shared_leaf(s, s->axis[r], x);
}

/* Steps of K that a call gets: `count` of `step` elements each, the outermost
 * first, from `start` on. */
enum { LEVELS = 3 };
struct steps {
  int64_t start;
  int levels;
  int64_t count[LEVELS], step[LEVELS];
};

static void add_level(struct steps *p, int64_t count, int64_t step) {
  assert(p->levels < LEVELS);
  p->count[p->levels] = count;
  p->step[p->levels++] = step;
}

static void add_k_leaves(struct schedule *s, const struct part *p,
                         const struct steps *k, struct teir_list *to) {
  static const char *const id[LEVELS] = {".i", ".group", ".step"};
  for (int l = 0; l < k->levels; l++) {
    int inside = k->levels - 1 - l;
    if (inside && k->count[l] == 1)
      continue;
    int x = add_axis(s, s->axis[AXIS_K], id[inside], k->count[l], k->step[l]);
    if (!inside)
      start_axis(s, x, s->axis[AXIS_K], p->start[AXIS_K] + k->start);
    for (int t = IN0; t <= IN1; t++)
      if (s->panel[t] >= 0)
        set_stride(s, x, s->panel[t], step_bytes(s, t, k->step[l]),
                   inside ? 0 : step_bytes(s, t, k->start));
    teir_list_add(s->a, to, shared_leaf(s, s->axis[AXIS_K], x));
  }
}

static void add_row_list(struct schedule *s, int primitive, enum teir_role r,
                         int axis) {
  if (axis >= 0)
    teir_list_add(s->a, &s->t->primitive[primitive].role[r], axis);
}

/* Body for the whole steps of a kernel, for the whole groups that are left and
 * for what is in the last one. */
static void each_group(struct schedule *s, const struct part *p, int parent,
                       void (*body)(struct schedule *, const struct part *,
                                    int parent, const struct steps *)) {
  const int64_t unit[LEVELS] = {s->dot.step, s->dot.group, 1};
  int64_t start = 0, left = p->extent[AXIS_K];
  for (int i = 0; i < LEVELS; i++) {
    struct steps k = {.start = start};
    int64_t count = left / unit[i];
    bool again = i + 1 < LEVELS && unit[i] == unit[i + 1];
    if (count == 0 || again)
      continue;
    add_level(&k, count, unit[i]);
    for (int j = i + 1; j < LEVELS; j++)
      if (unit[j] < unit[j - 1])
        add_level(&k, unit[j - 1] / unit[j], unit[j]);
    body(s, p, parent, &k);
    start += count * unit[i];
    left -= count * unit[i];
  }
}

/* ---- steps ---- */

static void copy_panel(struct schedule *s, const struct part *p, int parent,
                       int tensor, const struct steps *steps) {
  int from = s->tensor[tensor], to = s->panel[tensor], node;
  bool same = s->t->tensor[from].type == s->t->tensor[to].type;
  int c =
      add_call(s, parent, arena_printf(s->a, "pack.%s", s->t->tensor[from].id),
               same ? TEIR_COPY : TEIR_CAST, &node);
  teir_list_add(s->a, &s->t->primitive[c].operand, from);
  teir_list_add(s->a, &s->t->primitive[c].operand, to);
  add_row_list(s, c, TEIR_M, add_row_leaf(s, p, rows_of(tensor)));
  struct teir_list k = {0};
  add_k_leaves(s, p, steps, &k);
  s->t->primitive[c].role[TEIR_N] = k;
}

static void copy_in0(struct schedule *s, const struct part *p, int parent,
                     const struct steps *steps) {
  copy_panel(s, p, parent, IN0, steps);
}

static void copy_in1(struct schedule *s, const struct part *p, int parent,
                     const struct steps *steps) {
  copy_panel(s, p, parent, IN1, steps);
}

static void add_product(struct schedule *s, const struct part *p, int parent,
                        const struct steps *steps) {
  int node;
  int c = add_call(s, parent, "product", TEIR_CONTRACTION, &node);
  for (int t = IN0; t < TENSORS; t++)
    teir_list_add(s->a, &s->t->primitive[c].operand,
                  s->panel[t] >= 0 ? s->panel[t] : s->tensor[t]);
  add_row_list(s, c, TEIR_M, add_row_leaf(s, p, AXIS_M));
  add_row_list(s, c, TEIR_N, add_row_leaf(s, p, AXIS_N));
  struct teir_list k = {0};
  add_k_leaves(s, p, steps, &k);
  s->t->primitive[c].role[TEIR_K] = k;
  if (s->roles.acc)
    teir_add_property(s->a, s->t, c, "acc", s->roles.acc);
  teir_add_property(s->a, s->t, c, "machine", s->cpu->name);
  teir_add_property(s->a, s->t, c, "kernel", s->kernel);
  if (s->dot.op != CPU_OP_NONE)
    teir_add_property(s->a, s->t, c, "dot", teir_cpu_op_name(s->dot.op));
  if (s->dot.offset)
    teir_add_property(s->a, s->t, c, "offset", "128");
}

static void call(struct schedule *s, const struct part *p, int parent) {
  if (!s->roles.problem.accumulate && p->first) {
    int node, c = add_call(s, parent, "zero", TEIR_ZERO, &node);
    add_row_list(s, c, TEIR_M, add_row_leaf(s, p, AXIS_M));
    add_row_list(s, c, TEIR_N, add_row_leaf(s, p, AXIS_N));
    teir_list_add(s->a, &s->t->primitive[c].operand, OUT);
    for (int i = 0; i < p->guards; i++)
      teir_add_guard(s->a, &s->t->node[node],
                     (struct teir_guard_term){.axis = p->guard[i]});
  }
  each_group(s, p, parent, add_product);
}

static int64_t vectors(const struct schedule *s, int64_t columns) {
  struct teir_cpu_math m = teir_cpu_known(s->a);
  bool turned = s->panel[IN1] >= 0;
  void *left = m.number(m.context, columns);
  return *(const int64_t *)teir_cpu_vectors(&s->blocks, &m, left, s->masks,
                                            turned);
}

/* How much of `left` comes next. */
static int64_t next_size(const struct schedule *s, const struct step *x,
                         const struct part *p, int64_t left) {
  int64_t size = 0;
  switch (x->sizes) {
  case SIZE_FIXED:
    size = x->size;
    break;
  case SIZE_STEPS:
    size = left < x->size ? 1 : x->size;
    break;
  case SIZE_VECTORS: {
    int64_t v = vectors(s, left);
    size = v ? v * s->blocks.lanes : 1;
    break;
  }
  case SIZE_HEIGHT:
    size = s->blocks.direct_height[left < s->blocks.direct_height[0]];
    break;
  case SIZE_STRAIGHT:
    size = teir_cpu_straight_height(s->cpu, p->vectors, p->extent[AXIS_M]);
    break;
  }
  assert(size > 0);
  return size < left ? size : left;
}

static void add_steps(struct schedule *s, int i, const struct part *p,
                      int parent);

/* `count` parts of `size` elements from `start` on. */
static void add_parts(struct schedule *s, int i, const struct part *whole,
                      int parent, int64_t start, int64_t count, int64_t size) {
  const struct step *x = &s->step[i];
  struct part p = *whole;
  p.extent[x->role] = size;
  p.start[x->role] += start;
  if (x->sizes == SIZE_VECTORS)
    p.vectors = (int)vectors(s, whole->extent[x->role] - start);
  int t = x->role == AXIS_M ? IN0 : IN1;
  int64_t panels = 0;
  if (x->panels && s->panel[t] >= 0) {
    panels = panel_bytes(s, t, p.extent[AXIS_K]);
    p.panel_start[t] += start / panel_rows(s, t) * panels;
  }
  if (x->role == AXIS_K)
    p.first = p.first && start == 0;
  if (count > 1) {
    int axis = add_axis(s, s->axis[x->role], x->of, count, size);
    if (panels)
      set_stride(s, axis, s->panel[t], panels, 0);
    if (x->role == AXIS_K && p.first) {
      assert(p.guards < GUARDS);
      p.guard[p.guards++] = axis;
    }
    parent = add_loop(s, parent, axis);
  }
  add_steps(s, i + 1, &p, parent);
}

static void add_loops(struct schedule *s, int i, const struct part *p,
                      int parent) {
  const struct step *x = &s->step[i];
  int64_t left = p->extent[x->role], start = 0;
  while (left > 0) {
    int64_t size = next_size(s, x, p, left), count = 1;
    while (left > count * size &&
           next_size(s, x, p, left - count * size) == size)
      count++;
    add_parts(s, i, p, parent, start, count, size);
    start += count * size;
    left -= count * size;
  }
}

/* Panels, whole ones and the remainder, in loops of their own. */
static void add_packing(struct schedule *s, int tensor, const struct part *p,
                        int parent) {
  enum axis_role r = rows_of(tensor);
  int64_t rows = panel_rows(s, tensor), whole = p->extent[r] / rows;
  int64_t bytes = panel_bytes(s, tensor, p->extent[AXIS_K]);
  for (int i = 0; i < 2; i++) {
    struct part q = *p;
    q.extent[r] = i ? p->extent[r] % rows : rows;
    if (q.extent[r] == 0 || (i == 0 && whole == 0))
      continue;
    q.start[r] += i * whole * rows;
    q.panel_start[tensor] += i * whole * bytes;
    int inside = parent;
    if (i == 0 && whole > 1) {
      int axis = add_axis(s, s->axis[r], ".panel", whole, rows);
      set_stride(s, axis, s->panel[tensor], bytes, 0);
      inside = add_loop(s, parent, axis);
    }
    each_group(s, &q, inside, tensor == IN0 ? copy_in0 : copy_in1);
  }
}

static void add_steps(struct schedule *s, int i, const struct part *p,
                      int parent) {
  assert(i < s->steps);
  const struct step *x = &s->step[i];
  switch (x->kind) {
  case STEP_LOOP:
    add_loops(s, i, p, parent);
    return;
  case STEP_PACK:
    add_packing(s, x->tensor, p, parent);
    add_steps(s, i + 1, p, parent);
    return;
  case STEP_CALL:
    call(s, p, parent);
    return;
  }
}

/* ---- which steps ---- */

static void add_panels(struct schedule *s, int t, enum dtype type) {
  s->panel[t] = teir_add_tensor(
      s->a, s->t, arena_printf(s->a, "%s.panel", s->t->tensor[s->tensor[t]].id),
      type);
}

static int64_t known(const void *number) { return *(const int64_t *)number; }

static void add_panel_step(struct schedule *s, enum axis_role r) {
  add_loop_step(s, r, r == AXIS_M ? s->blocks.height[0] : s->blocks.columns,
                ".panel");
  s->step[s->steps - 1].panels = true;
}

/* As the driver of lower_cpu_driver.cpp loops. */
static void plan_packed(struct schedule *s, const struct teir_cpu_math *m,
                        const struct teir_cpu_size *size) {
  struct teir_cpu_most most = teir_cpu_most(&s->blocks, m);
  struct teir_cpu_cut c = teir_cpu_cut_packed(&most, m, size);
  bool rows_first = teir_cpu_is_tiled(s->dot.op);
  s->kernel = "packed";
  s->columns = s->blocks.columns;
  for (int t = IN0; t <= IN1; t++)
    /* What is flipped keeps its type here: the meaning stays. */
    add_panels(s, t,
               s->dot.offset && t == IN0 ? s->roles.problem.type[s->tensor[t]]
                                         : s->dot.packed[t]);
  add_loop_step(s, AXIS_N, known(c.block_n), ".block");
  add_loop_step(s, AXIS_K, known(c.block_k), ".block");
  add_step(s, (struct step){.kind = STEP_PACK, .tensor = IN1});
  add_loop_step(s, AXIS_M, known(c.block_m), ".block");
  add_step(s, (struct step){.kind = STEP_PACK, .tensor = IN0});
  add_panel_step(s, rows_first ? AXIS_M : AXIS_N);
  add_panel_step(s, rows_first ? AXIS_N : AXIS_M);
}

/* Are in0's steps farther apart than its rows? */
static bool crosses_in0(const struct schedule *s) {
  const struct teir_axis *axis = s->from->axis;
  int m = s->axis[AXIS_M], k = s->axis[AXIS_K], in0 = s->tensor[IN0];
  return m >= 0 && k >= 0 &&
         axis[m].stride_bytes[in0].constant <
             axis[k].stride_bytes[in0].constant;
}

/* As those of lower_cpu_direct.cpp. */
static void plan_direct(struct schedule *s, const struct teir_cpu_math *m,
                        const struct teir_cpu_size *size) {
  struct teir_cpu_cut c = teir_cpu_cut_direct(&s->blocks, m, size);
  enum dtype sum = s->roles.problem.acc;
  s->kernel = size->turned ? "turned" : "direct";
  s->dot = teir_cpu_no_dot(sum);
  if (size->turned) {
    s->columns = s->blocks.turned_columns;
    add_panels(s, IN1, sum);
  }
  add_loop_step(s, AXIS_K, known(c.block_k), ".block");
  add_loop_step(s, AXIS_M, known(c.block_m), ".block");
  add_step(s, (struct step){
                  .role = AXIS_N, .sizes = SIZE_VECTORS, .of = ".vectors"});
  if (size->turned)
    add_step(s, (struct step){.kind = STEP_PACK, .tensor = IN1});
  add_step(s,
           (struct step){.role = AXIS_M, .sizes = SIZE_HEIGHT, .of = ".rows"});
}

static void plan_straight(struct schedule *s, bool turned) {
  s->kernel = "straight";
  if (turned) {
    s->columns = s->blocks.turned_columns;
    add_panels(s, IN1, s->roles.problem.acc);
  }
  add_step(s, (struct step){
                  .role = AXIS_N, .sizes = SIZE_VECTORS, .of = ".vectors"});
  if (turned)
    add_step(s, (struct step){.kind = STEP_PACK, .tensor = IN1});
  add_step(
      s, (struct step){.role = AXIS_M, .sizes = SIZE_STRAIGHT, .of = ".rows"});
}

/* As those of lower_cpu_vector.cpp. */
static void plan_vector(struct schedule *s, enum teir_cpu_vector v) {
  int64_t columns =
      TEIR_CPU_RESULT_BYTES / dtype_bytes(s->roles.problem.type[OUT]);
  add_loop_step(s, AXIS_N, columns, ".block");
  s->kernel = v == CPU_VECTOR_DOT ? "dot" : "add";
  if (v == CPU_VECTOR_DOT) {
    add_loop_step(s, AXIS_N, TEIR_CPU_TOGETHER, ".rows");
    return;
  }
  add_step(s, (struct step){.role = AXIS_K,
                            .sizes = SIZE_STEPS,
                            .size = TEIR_CPU_TOGETHER,
                            .of = ".steps"});
}

static bool is_dense(const struct schedule *s, enum axis_role r, int t) {
  return s->axis[r] >= 0 &&
         s->from->axis[s->axis[r]].stride_bytes[s->tensor[t]].constant ==
             dtype_bytes(s->from->tensor[s->tensor[t]].type);
}

static bool plan(struct schedule *s, struct diag *d) {
  const struct teir_problem *q = &s->roles.problem;
  struct teir_cpu_form f = {.sum = q->acc, .one_axis = true, .cpu = s->cpu};
  for (int t = 0; t < TENSORS; t++)
    f.type[t] = q->type[s->tensor[t]];
  for (enum axis_role r = AXIS_C; r < AXIS_ROLES; r++) {
    f.extent[r] =
        s->axis[r] < 0 ? 1 : s->from->axis[s->axis[r]].extent.constant;
    for (int t = 0; t < TENSORS; t++)
      f.dense[r][t] = is_dense(s, r, t);
  }
  struct teir_cpu_ways w = teir_cpu_choose_ways(&f);
  if (w.vector == CPU_VECTOR_NO && s->axis[AXIS_M] < 0)
    return diag_declined(d, teir_loc(s->from),
                         "elements of the matrix are not adjacent");
  struct teir_cpu_dot dot =
      teir_cpu_choose_dot(s->cpu, f.type[IN0], f.type[IN1], q->acc);
  struct teir_cpu_math m = teir_cpu_known(s->a);
  struct teir_cpu_size size = {m.number(s->a, f.extent[AXIS_M]),
                               m.number(s->a, f.extent[AXIS_N]),
                               m.number(s->a, f.extent[AXIS_K]),
                               dot,
                               w.turned,
                               false,
                               false,
                               m.number(s->a, crosses_in0(s)),
                               false};
  if (w.vector != CPU_VECTOR_NO || w.straight || !teir_cpu_is_tiled(dot.op) ||
      known(teir_cpu_is_small_for_tiles(&m, &size))) {
    s->cpu = teir_cpu_plain(s->cpu);
    size.dot = teir_cpu_choose_dot(s->cpu, f.type[IN0], f.type[IN1], q->acc);
  }
  s->blocks = teir_cpu_blocks(s->cpu, q->acc);
  s->dot = teir_cpu_no_dot(q->acc);
  s->masks = teir_cpu_has_masks(s->cpu, q->acc) &&
             (w.turned || teir_cpu_has_masks(s->cpu, f.type[IN1]));
  if (w.vector != CPU_VECTOR_NO) {
    plan_vector(s, w.vector);
  } else if (w.straight) {
    plan_straight(s, w.turned);
  } else if (w.direct && s->cpu->kernel != CPU_KERNEL_TILES &&
             known(teir_cpu_is_direct(&s->blocks, &m, &size))) {
    plan_direct(s, &m, &size);
  } else {
    s->dot = size.dot;
    plan_packed(s, &m, &size);
  }
  add_step(s, (struct step){.kind = STEP_CALL});
  return true;
}

/* ---- the program ---- */

static bool is_sum(enum dtype t) {
  return t == DTYPE_F32 || t == DTYPE_F64 || t == DTYPE_I32 || t == DTYPE_I64;
}

static bool check(const struct schedule *s, struct diag *d) {
  const struct teir_problem *q = &s->roles.problem;
  struct loc at = teir_loc(s->from);
  const struct teir_finish *f = &q->finish;
  if (q->type[OUT] != q->acc || s->roles.bias >= 0 || f->relu || f->saturate)
    return diag_declined(d, at,
                         "what follows the sum is computed through a buffer, "
                         "which is no part of a processor's schedule");
  for (int t = IN0; t <= IN1; t++)
    if (!is_sum(q->acc) || dtype_bytes(q->type[t]) > dtype_bytes(q->acc) ||
        (dtype_kind(q->type[t]) == DTYPE_FLOAT) !=
            (dtype_kind(q->acc) == DTYPE_FLOAT))
      return diag_declined(d, at, "no code for sums in %s of %s by %s",
                           dtype_name(q->acc), dtype_name(q->type[IN0]),
                           dtype_name(q->type[IN1]));
  return true;
}

/* Batches, and axes of one index, are loops around all. */
static bool place_axes(struct schedule *s, int *parent, struct diag *d) {
  bool has[AXIS_ROLES] = {false}, dense[AXIS_ROLES] = {false};
  for (int i = 0; i < s->roles.count; i++) {
    int x = s->roles.axis[i];
    enum axis_role r = s->roles.role[i];
    if (r == AXIS_C || s->from->axis[x].extent.constant == 1) {
      int axis = add_axis(s, x, "", s->from->axis[x].extent.constant, 1);
      start_axis(s, axis, x, 0);
      *parent = add_loop(s, *parent, axis);
      continue;
    }
    if (has[r])
      return diag_declined(d, teir_loc(s->from),
                           "axes %s and %s of one role do not continue each "
                           "other, so that no loops are over blocks of both",
                           s->from->axis[s->axis[r]].id, s->from->axis[x].id);
    has[r] = true;
    s->axis[r] = x;
    dense[r] = is_dense(s, r, OUT);
  }
  if (!has[AXIS_K] || (!has[AXIS_M] && !has[AXIS_N]))
    return diag_declined(d, teir_loc(s->from),
                         "neither a product of two matrices nor of a matrix "
                         "and a vector");
  if (teir_cpu_exchanges(has, dense[AXIS_M], dense[AXIS_N])) {
    int m = s->axis[AXIS_M];
    s->axis[AXIS_M] = s->axis[AXIS_N];
    s->axis[AXIS_N] = m;
    s->tensor[IN0] = IN1;
    s->tensor[IN1] = IN0;
  }
  return true;
}

struct teir *teir_cpu_schedule(struct arena *a, const struct teir *given,
                               const struct teir_cpu *cpu, struct diag *d) {
  struct schedule s = {.a = a,
                       .cpu = cpu,
                       .axis = {-1, -1, -1, -1},
                       .tensor = {IN0, IN1, OUT},
                       .panel = {-1, -1, -1}};
  s.from = teir_roles_fuse(a, given, d);
  if (!s.from || !teir_roles_read(a, s.from, &s.roles, d) || !check(&s, d))
    return NULL;
  s.t = teir_empty(a, given->file);
  for (int j = 0; j < TENSORS; j++)
    teir_add_tensor(a, s.t, s.from->tensor[j].id, s.from->tensor[j].type);
  int parent = -1;
  if (!place_axes(&s, &parent, d) || !plan(&s, d))
    return NULL;
  struct part whole = {.first = true};
  for (enum axis_role r = AXIS_C; r < AXIS_ROLES; r++)
    whole.extent[r] =
        s.axis[r] < 0 ? 1 : s.from->axis[s.axis[r]].extent.constant;
  add_steps(&s, 0, &whole, parent);
  return teir_verify(s.t, d) ? s.t : NULL;
}
