/* schedule.c -- takes the TEIR of a contraction and a blocking; gives the TEIR
 * as the array runs it:
 *
 *   for row (rows) for column (columns) for batch for m for n
 *     { zero; for k product; bias; relu; convert }
 *
 * or, with two blocks of out at once,
 *
 *   ... for m for n
 *     { for group zero; for k for group product;
 *       for group { bias; relu; convert } }
 *
 * where batch, m, n and k are any number of loops each.  The blocking says into
 * which parts every axis is cut (struct map_cut); a part becomes an axis of the
 * schedule.  A tensor that lies in place keeps its strides.  Others lie in
 * device memory block by block in the order in which the array reads them, so
 * that every shim descriptor is one long run:
 *
 *   in0 [batch][row][m][k][group][block_m][block_k]
 *   in1 [batch][column][n][k][block_k][block_n]
 *   out [batch][column][m][n][group][row][block_m][block_n]
 *
 * where parts of m are columns (struct map_grid), with the loop over columns
 * around that over rows, and the row inside m's group.  Cores whose parts are
 * not all as far apart take two loops, row_half or column_half around the
 * other.
 *
 * Where sums are of another type than out, they are a tensor of their own, of
 * which every core holds a part:
 *
 *   sum [column][row][group][block_m][block_n]
 *
 * Of a batch of small products every core may have some to itself; then the row
 * and the column are parts of the batch's number.
 *
 * Where rows and columns of cores are swapped, all this is said of the
 * transposed product: m is the role N, in0 the TEIR's in1, and so on.
 */
#include "map.h"

#include "teir_build.h"
#include "teir_transform.h"

#include <assert.h>
#include <string.h>

struct schedule {
  struct arena *a;
  const struct map_blocking *b;
  struct map_work work; /* by the TEIR's roles and tensors */
  struct teir *t;
  int sums, bias; /* tensors; bias -1: none */
  struct map_cut cut[AXIS_ROLES];
  int steps; /* of k in one product, where the last one takes what is left; 0 */
  int axis[AXIS_ROLES][MAP_PARTS]; /* of the schedule, by part */
};

/* The TEIR's tensor and role for one of the array's. */
static int operand(const struct schedule *s, int tensor) {
  return s->b->form.swapped && tensor < OUT ? IN0 + IN1 - tensor : tensor;
}
static enum axis_role role_of(const struct schedule *s, enum axis_role role) {
  bool other = s->b->form.swapped && (role == AXIS_M || role == AXIS_N);
  return other ? AXIS_M + AXIS_N - role : role;
}

/* ---- parts ---- */

static void add_part(struct map_cut *c, int axis, enum map_place place,
                     int64_t extent, int64_t step) {
  assert(c->count < MAP_PARTS);
  c->part[c->count++] = (struct map_part){axis, place, extent, step};
}

/* One axis, in whole blocks for all cores. */
static void whole_blocks(const struct map_grid *g, const struct map_blocking *b,
                         enum axis_role role, struct map_cut *c) {
  int64_t group = role == AXIS_M ? b->group_m : 1;
  int64_t block = role == AXIS_M   ? b->block_m
                  : role == AXIS_N ? b->block_n
                                   : b->block_k;
  int64_t rounds = role == AXIS_M   ? b->rounds_m
                   : role == AXIS_N ? b->rounds_n
                                    : b->steps_k;
  if (role != AXIS_K)
    add_part(c, 0, MAP_CORES, role == AXIS_M ? g->m : g->n,
             rounds * group * block);
  add_part(c, 0, MAP_TIME, rounds, group * block);
  if (group > 1)
    add_part(c, 0, MAP_GROUP, group, block);
  add_part(c, 0, MAP_BLOCK, block, 1);
}

bool map_cut_of(const struct device *dev, const struct map_work *w,
                const struct map_blocking *b, enum axis_role role,
                struct map_cut *c) {
  struct map_grid grid = map_grid_of(dev, &b->form);
  *c = b->form.cut[role];
  if (c->count)
    return false;
  if (role != AXIS_C)
    whole_blocks(&grid, b, role, c);
  for (int i = 0; role == AXIS_C && i < w->count[AXIS_C]; i++)
    add_part(c, i, MAP_TIME, w->axis[AXIS_C][i].extent, 1);
  return role != AXIS_C;
}

static int64_t divisor(int64_t a, int64_t b) {
  return b ? divisor(b, a % b) : a;
}

/* Steps of k of which the last has less, in blocks of which both are made. */
static int divide_steps(const struct map_blocking *b, struct map_cut *k) {
  int64_t unit = divisor(b->block_k, b->last_k);
  if (k->count == 1) { /* the only one */
    k->part[k->count++] = k->part[0];
    k->part[0].place = MAP_TIME;
  }
  assert(k->count == 2 && k->part[0].place == MAP_TIME);
  k->part[0].extent =
      ((int64_t)(b->steps_k - 1) * b->block_k + b->last_k) / unit;
  k->part[0].step = k->part[1].extent = unit;
  return (int)(b->block_k / unit);
}

/* Parts of a kind in one role. */
static int count_parts(const struct schedule *s, enum axis_role role,
                       enum map_place place) {
  int count = 0;
  for (int i = 0; i < s->cut[role].count; i++)
    count += s->cut[role].part[i].place == place;
  return count;
}

/* Of two parts of a batch, the second. */
static bool is_row(const struct schedule *s, enum axis_role role,
                   const struct map_part *x) {
  const struct map_part *first = s->cut[role].part;
  while (role == AXIS_C && first->place != MAP_CORES)
    first++;
  return role == (s->b->form.across ? AXIS_N : AXIS_M) ||
         (role == AXIS_C && x > first);
}

/* "m", or "m_" and the axis where the role has several such parts. */
static const char *name_of(const struct schedule *s, enum axis_role role,
                           const struct map_part *x) {
  static const char *const time[] = {"batch", "m", "n", "k"};
  static const char *const side[] = {"", "block_m", "block_n", "block_k"};
  bool half = role != AXIS_C && x->place == MAP_CORES &&
              x[1].place == MAP_CORES && count_parts(s, role, MAP_CORES) > 1;
  if (x->place == MAP_CORES)
    return is_row(s, role, x) ? half ? "row_half" : "row"
           : half             ? "column_half"
                              : "column";
  if (x->place == MAP_GROUP)
    return "group";
  const char *name = (x->place == MAP_TIME ? time : side)[role];
  if (count_parts(s, role, x->place) == 1)
    return name;
  return arena_printf(s->a, "%s_%s", name,
                      s->work.axis[role_of(s, role)][x->axis].id);
}

/* Axes of the schedule, moving tensors that lie in place. */
static void add_axes(struct schedule *s) {
  for (int role = AXIS_C; role < AXIS_ROLES; role++)
    for (int i = 0; i < s->cut[role].count; i++) {
      const struct map_part *x = &s->cut[role].part[i];
      const struct map_axis *from =
          &s->work.axis[role_of(s, (enum axis_role)role)][x->axis];
      const char *name =
          teir_fresh_axis(s->a, s->t, name_of(s, (enum axis_role)role, x));
      int axis = teir_add_axis(s->a, s->t, name, teir_constant(x->extent));
      s->axis[role][i] = axis;
      for (int t = 0; t < TENSORS; t++)
        if (s->b->form.layout[t].in_place)
          s->t->axis[axis].stride_bytes[operand(s, t)] =
              teir_constant(x->step * from->stride_bytes[operand(s, t)]);
      if (s->bias >= 0)
        s->t->axis[axis].stride_bytes[s->bias] =
            teir_constant(x->step * from->stride_bytes[MAP_BIAS]);
    }
}

/* ---- tensors ---- */

/* What lies around what in a tensor that is packed: parts of one kind of one
 * role, outermost first. */
struct order {
  enum axis_role role;
  enum map_place place;
};

static bool lay(struct schedule *s, int tensor, const struct order *order,
                int count, struct diag *d) {
  int64_t stride = dtype_bytes(s->t->tensor[tensor].type);
  for (int i = count - 1; i >= 0; i--)
    for (int j = s->cut[order[i].role].count - 1; j >= 0; j--) {
      if (s->cut[order[i].role].part[j].place != order[i].place)
        continue;
      struct teir_axis *x = &s->t->axis[s->axis[order[i].role][j]];
      x->stride_bytes[tensor] = teir_constant(stride);
      if (__builtin_mul_overflow(stride, x->extent.constant, &stride))
        return diag_declined(d, loc_none(), "%s has more than 2^63 bytes",
                             s->t->tensor[tensor].id);
    }
  return true;
}

static bool lay_tensors(struct schedule *s, struct diag *d) {
  static const struct order in0[] = {{AXIS_C, MAP_TIME},  {AXIS_M, MAP_CORES},
                                     {AXIS_M, MAP_TIME},  {AXIS_K, MAP_TIME},
                                     {AXIS_M, MAP_GROUP}, {AXIS_M, MAP_BLOCK},
                                     {AXIS_K, MAP_BLOCK}};
  static const struct order in1[] = {{AXIS_C, MAP_TIME},  {AXIS_N, MAP_CORES},
                                     {AXIS_N, MAP_TIME},  {AXIS_K, MAP_TIME},
                                     {AXIS_K, MAP_BLOCK}, {AXIS_N, MAP_BLOCK}};
  static const struct order out[] = {{AXIS_C, MAP_TIME},  {AXIS_N, MAP_CORES},
                                     {AXIS_M, MAP_TIME},  {AXIS_N, MAP_TIME},
                                     {AXIS_M, MAP_GROUP}, {AXIS_M, MAP_CORES},
                                     {AXIS_M, MAP_BLOCK}, {AXIS_N, MAP_BLOCK}};
  static const struct order across[] = {
      {AXIS_C, MAP_TIME},  {AXIS_M, MAP_CORES}, {AXIS_M, MAP_TIME},
      {AXIS_N, MAP_TIME},  {AXIS_M, MAP_GROUP}, {AXIS_N, MAP_CORES},
      {AXIS_M, MAP_BLOCK}, {AXIS_N, MAP_BLOCK}};
  static const struct order sum[] = {{AXIS_C, MAP_CORES}, {AXIS_N, MAP_CORES},
                                     {AXIS_M, MAP_CORES}, {AXIS_M, MAP_GROUP},
                                     {AXIS_M, MAP_BLOCK}, {AXIS_N, MAP_BLOCK}};
#define LAY(tensor, order)                                                     \
  lay(s, tensor, order, (int)(sizeof order / sizeof *order), d)
  const struct map_layout *x = s->b->form.layout;
  return (x[IN0].in_place || LAY(operand(s, IN0), in0)) &&
         (x[IN1].in_place || LAY(operand(s, IN1), in1)) &&
         (x[OUT].in_place ||
          (s->b->form.across ? LAY(OUT, across) : LAY(OUT, out))) &&
         (s->sums == OUT || LAY(SUMS, sum));
#undef LAY
}

/* ---- calls ---- */

/* A call on the block of sums. */
static int add_call(struct schedule *s, const char *id, enum teir_op op) {
  int p = teir_add_primitive(s->a, s->t, id, op);
  struct teir_primitive *x = &s->t->primitive[p];
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    for (int i = 0; i < s->cut[role].count; i++)
      if (s->cut[role].part[i].place == MAP_BLOCK &&
          (role != AXIS_K || op == TEIR_CONTRACTION))
        teir_list_add(s->a,
                      &x->role[teir_role_of(role_of(s, (enum axis_role)role))],
                      s->axis[role][i]);
  if (op == TEIR_CONTRACTION && s->sums != OUT) {
    teir_list_add(s->a, &x->operand, IN0);
    teir_list_add(s->a, &x->operand, IN1);
  }
  if (op == TEIR_ADD)
    teir_list_add(s->a, &x->operand, s->bias);
  if (op == TEIR_RELU || op == TEIR_CAST || op == TEIR_SHIFT)
    teir_list_add(s->a, &x->operand, s->sums);
  if (s->sums != OUT || op == TEIR_RELU || op == TEIR_ADD)
    teir_list_add(s->a, &x->operand,
                  op == TEIR_CAST || op == TEIR_SHIFT ? OUT : s->sums);
  return teir_add_invocation(s->a, s->t, id, p);
}

static struct teir_list *children(struct schedule *s, int node) {
  return node < 0 ? &s->t->roots : &s->t->node[node].children;
}

/* ---- loops ---- */

static int add_loop(struct schedule *s, int parent, const char *id, int axis,
                    enum teir_place place) {
  int n = teir_add_iteration(s->a, s->t, id ? id : s->t->axis[axis].id, axis);
  s->t->node[n].place = place;
  s->t->node[n].policy = place == TEIR_TIME ? TEIR_SEQUENTIAL : TEIR_PARALLEL;
  teir_list_add(s->a, children(s, parent), n);
  return n;
}

/* Loops over all parts of a kind, in each other; gives the innermost. */
static int add_loops(struct schedule *s, int parent, enum axis_role role,
                     enum map_place kind, const char *id) {
  for (int i = 0; i < s->cut[role].count; i++) {
    const struct map_part *x = &s->cut[role].part[i];
    if (x->place != kind)
      continue;
    enum teir_place place = kind != MAP_CORES    ? TEIR_TIME
                            : is_row(s, role, x) ? TEIR_ROWS
                                                 : TEIR_COLUMNS;
    parent = add_loop(s, parent, id, s->axis[role][i], place);
  }
  return parent;
}

/* A call, or one for every block of a group in a loop called `loop`. */
static int add_work(struct schedule *s, int parent, const char *loop) {
  return s->b->group_m == 1 ? parent
                            : add_loops(s, parent, AXIS_M, MAP_GROUP, loop);
}

static void add_program(struct schedule *s) {
  const struct teir_finish *f = &s->work.problem.finish;
  int n = add_loops(s, -1, AXIS_M, MAP_CORES, NULL);
  n = add_loops(s, n, AXIS_N, MAP_CORES, NULL);
  n = add_loops(s, n, AXIS_C, MAP_CORES, NULL);
  for (int role = AXIS_C; role < AXIS_K; role++)
    n = add_loops(s, n, (enum axis_role)role, MAP_TIME, NULL);
  int home = add_work(s, n, "group_zero");
  int call = add_call(s, "zero", TEIR_ZERO);
  teir_list_add(s->a, children(s, home), call);
  home = add_loops(s, n, AXIS_K, MAP_TIME, NULL);
  home = add_work(s, home, "group_product");
  call = add_call(s, "contraction", TEIR_CONTRACTION);
  if (s->steps)
    teir_add_property(s->a, s->t, s->t->node[call].primitive, "steps",
                      arena_printf(s->a, "%d", s->steps));
  teir_list_add(s->a, children(s, home), call);
  if (s->bias < 0 && !f->relu && s->sums == OUT)
    return;
  home = add_work(s, n, "group_finish");
  if (s->bias >= 0) {
    call = add_call(s, "bias", TEIR_ADD);
    teir_list_add(s->a, children(s, home), call);
  }
  if (f->relu) {
    call = add_call(s, "relu", TEIR_RELU);
    teir_list_add(s->a, children(s, home), call);
    if (f->keeps_nan)
      teir_add_property(s->a, s->t, s->t->node[call].primitive, "nan", "kept");
  }
  if (s->sums == OUT)
    return;
  call = add_call(s, "convert", f->saturate ? TEIR_SHIFT : TEIR_CAST);
  teir_list_add(s->a, children(s, home), call);
  if (f->saturate)
    teir_add_property(s->a, s->t, s->t->node[call].primitive, "shift",
                      arena_printf(s->a, "%d", f->shift));
}

/* ---- the whole ---- */

static void add_tensors(struct schedule *s) {
  const struct teir_problem *p = &s->work.problem;
  for (int i = 0; i < TENSORS; i++)
    teir_add_tensor(s->a, s->t, tensor_name(i), p->type[i]);
  s->sums = OUT;
  if (map_has_sums(p))
    s->sums = teir_add_tensor(s->a, s->t, "sum", p->acc);
  assert(s->sums == OUT || s->sums == SUMS);
  s->bias = p->finish.bias ? teir_add_tensor(s->a, s->t, "x0", p->acc) : -1;
}

static bool check(const struct schedule *s, const char *file, struct diag *d) {
  const struct map_work *w = &s->work;
  struct loc at = {file, 0, 0};
  if (w->problem.accumulate)
    return diag_declined(d, at,
                         "a core has two input streams, so out starts from "
                         "Zero; old contents are added by the runtime");
  for (int role = AXIS_C; role < AXIS_ROLES; role++)
    if (!s->b->form.cut[role].count && role != AXIS_C &&
        w->count[role_of(s, (enum axis_role)role)] > 1)
      return diag_declined(d, at,
                           "tensors that stay in place do not agree about a "
                           "role's axes");
  return true;
}

struct teir *map_schedule(struct arena *a, const struct device *dev,
                          const struct teir *work, const struct map_blocking *b,
                          struct diag *d) {
  struct schedule *s = arena_alloc(a, sizeof *s);
  *s = (struct schedule){.a = a, .b = b};
  bool stay[TENSORS], aligned[TENSORS];
  map_form_stays(&b->form, stay, aligned);
  if (!map_work_read_aligned(a, dev, work, stay, aligned, &s->work, d) ||
      !check(s, work->file, d))
    return NULL;
  s->t = teir_empty(a, work->file);
  for (int role = AXIS_C; role < AXIS_ROLES; role++)
    map_cut_of(dev, &s->work, b, (enum axis_role)role, &s->cut[role]);
  if (b->last_k)
    s->steps = divide_steps(b, &s->cut[AXIS_K]);
  add_tensors(s);
  add_axes(s);
  if (!lay_tensors(s, d))
    return NULL;
  add_program(s);
  return teir_verify(s->t, d) ? s->t : NULL;
}
