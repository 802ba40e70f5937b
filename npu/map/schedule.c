/* schedule.c -- takes the TEIR of a matrix product and a blocking; gives the
 * TEIR as the array runs it:
 *
 *   for row (rows) for column (columns) for m for n
 *     { zero; for k product; relu; convert }
 *
 * or, with two blocks of out at once,
 *
 *   ... for m for n
 *     { for group zero; for k for group product; for group { relu; convert } }
 *
 * It is the program that came in, transformed step by step: all axes of a role
 * become one; extents are those of whole blocks on all cores; axes are split,
 * loops reordered and distributed, blocks absorbed by primitives.  A tensor
 * that lies in place keeps its strides, but for those by which cores and rounds
 * share a role (struct map_share).  Others lie in device memory block by block
 * in the order in which the array reads them, so that every shim descriptor is
 * one long run:
 *
 *   in0 [row][m][k][group][block_m][block_k]
 *   in1 [column][n][k][block_k][block_n]
 *   out [column][m][n][group][row][block_m][block_n]
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
#include "matrices.h"

#include <assert.h>
#include <string.h>

/* Keeps the first error, t is NULL then; later steps do nothing. */
struct schedule {
  struct arena *a;
  struct teir *t;
  const struct map_form *form;
  /* Of tensors that lie in place: bytes to the next element of m, n and k. */
  int64_t stride[TENSORS][AXIS_ROLES];
  struct diag *d;
};

/* The TEIR's tensor for one of the array's. */
static int operand(const struct schedule *s, int tensor) {
  return s->form->swapped && tensor < OUT ? IN0 + IN1 - tensor : tensor;
}

static int loop(const struct schedule *s, const char *id) {
  int n = teir_find_node(s->t, id);
  assert(n >= 0);
  return n;
}

/* ---- tensors ---- */

/* A tensor's axes from here on, by their ids; those that the program does not
 * have are left out. */
static void relayout(struct schedule *s, int tensor, const char *const *id) {
  int axis[8], count = 0;
  if (!s->t || tensor >= s->t->tensor_count)
    return;
  assert(tensor >= 0);
  tensor = operand(s, tensor);
  for (; *id; id++)
    if (teir_find_axis(s->t, *id) >= 0)
      axis[count++] = teir_find_axis(s->t, *id);
  s->t = teir_relayout(s->a, s->t, tensor, axis, count, s->d);
}

#define ORDER(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Row-major matrices over one axis for each role, padded, so that no two blocks
 * touch the same bytes. */
static void lay_matrices(struct schedule *s) {
  relayout(s, IN0, ORDER("batch", "block_m", "block_k"));
  relayout(s, IN1, ORDER("batch", "block_k", "block_n"));
  relayout(s, OUT, ORDER("batch", "block_m", "block_n"));
  relayout(s, SUMS, ORDER("batch", "block_m", "block_n"));
}

static void lay_blocks(struct schedule *s) {
  relayout(s, IN0,
           ORDER("batch", "row", "m", "k", "group", "block_m", "block_k"));
  relayout(s, IN1, ORDER("batch", "column", "n", "k", "block_k", "block_n"));
  relayout(
      s, OUT,
      ORDER("batch", "column", "m", "n", "group", "row", "block_m", "block_n"));
  relayout(s, SUMS, ORDER("column", "row", "group", "block_m", "block_n"));
}

/* An axis by so many elements of a role, in the tensors that lie in place. */
static void lie(struct schedule *s, const char *axis, enum axis_role role,
                int64_t elements) {
  int i = s->t ? teir_find_axis(s->t, axis) : -1;
  for (int t = 0; i >= 0 && t < TENSORS; t++)
    if (s->form->layout[t].in_place)
      s->t->axis[i].stride_bytes[operand(s, t)] =
          teir_constant(elements * s->stride[t][role]);
}

static void lay_in_place(struct schedule *s, const struct map_blocking *b,
                         const struct map_grid *grid) {
  const struct map_share *m = &b->form.m, *n = &b->form.n;
  int64_t group = (int64_t)b->group_m * b->block_m;
  if (grid->apart) {
    lie(s, "row", AXIS_C, 1);
    lie(s, "column", AXIS_C, grid->rows);
    lie(s, "batch", AXIS_C, map_grid_products(grid));
  } else {
    lie(s, "batch", AXIS_C, 1);
    lie(s, "row", AXIS_M, m->core ? m->core : b->rounds_m * group);
    lie(s, "column", AXIS_N,
        n->core ? n->core : (int64_t)b->rounds_n * b->block_n);
  }
  lie(s, "m", AXIS_M, m->core ? m->round : group);
  lie(s, "group", AXIS_M, b->block_m);
  lie(s, "block_m", AXIS_M, 1);
  lie(s, "n", AXIS_N, n->core ? n->round : b->block_n);
  lie(s, "block_n", AXIS_N, 1);
  lie(s, "k", AXIS_K, b->block_k);
  lie(s, "block_k", AXIS_K, 1);
}

/* ---- one axis for each role ---- */

/* The loop over an axis, which is the only one; -1: none. */
static int loop_over(const struct teir *t, int axis) {
  for (int n = 0; n < t->node_count; n++)
    if (t->node[n].kind == TEIR_ITERATION && t->node[n].axis == axis)
      return n;
  return -1;
}

static int contraction(const struct teir *t) {
  int n = 0;
  while (t->node[n].kind != TEIR_INVOCATION ||
         t->primitive[t->node[n].primitive].op != TEIR_CONTRACTION)
    n++;
  return n;
}

/* The loop of a role gets its name; where there is none, one of one iteration
 * around all, or for k around the product. */
static void name_roles(struct schedule *s) {
  bool swapped = s->form->swapped;
  const char *const name[AXIS_ROLES] = {
      "batch", swapped ? "block_n" : "block_m", swapped ? "block_m" : "block_n",
      "block_k"};
  struct teir_roles r;
  if (!s->t || !teir_roles_read(s->a, s->t, &r, s->d)) {
    s->t = NULL;
    return;
  }
  bool found[AXIS_ROLES] = {false};
  for (int i = 0; i < r.count; i++) {
    if (found[r.role[i]]) {
      diag_declined(s->d, (struct loc){s->t->file, 0, 0},
                    "tensors that stay in place do not agree about a role's "
                    "axes");
      s->t = NULL;
      return;
    }
    found[r.role[i]] = true;
    s->t->axis[r.axis[i]].id = s->t->node[loop_over(s->t, r.axis[i])].id =
        name[r.role[i]];
  }
  for (int role = 0; role < AXIS_ROLES; role++) {
    if (found[role] || !s->t || role == AXIS_C)
      continue;
    bool k = role == AXIS_K;
    s->t = teir_enclose(s->a, s->t, k ? contraction(s->t) : s->t->roots.item[0],
                        k ? 1 : s->t->roots.count, name[role], s->d);
  }
}

/* M, N and K as one axis each. */
static void make_matrices(struct schedule *s, const struct teir *work) {
  struct teir_roles r;
  if (!teir_roles_read(s->a, work, &r, s->d))
    return;
  const struct map_layout *x = s->form->layout;
  bool in_place_all = x[IN0].in_place && x[IN1].in_place && x[OUT].in_place;
  if (r.problem.extent[AXIS_C] > 1 && !in_place_all) {
    diag_declined(s->d, (struct loc){work->file, 0, 0},
                  "a batch of %lld products; the array takes one of two "
                  "matrices, or many that lie in place",
                  (long long)r.problem.extent[AXIS_C]);
    return;
  }
  if (r.problem.accumulate) {
    diag_declined(s->d, (struct loc){work->file, 0, 0},
                  "a core has two input streams, so out starts from Zero; old "
                  "contents are added by the runtime");
    return;
  }
  enum dtype acc = map_sum_type(&r.problem);
  if (acc != r.problem.acc) {
    work = teir_sum_in(s->a, work, acc, s->d);
    if (!work || !teir_roles_read(s->a, work, &r, s->d))
      return;
  }
  bool in_place[TENSORS];
  for (int i = 0; i < TENSORS; i++)
    in_place[operand(s, i)] = s->form->layout[i].in_place;
  s->t = map_matrices(s->a, work, in_place, s->d);
  name_roles(s);
  static const char *const name[AXIS_ROLES] = {
      "batch", [AXIS_M] = "block_m", [AXIS_N] = "block_n",
      [AXIS_K] = "block_k"};
  for (int role = AXIS_C; s->t && role < AXIS_ROLES; role++) {
    int axis = teir_find_axis(s->t, name[role]);
    for (int t = 0; axis >= 0 && t < TENSORS; t++)
      s->stride[t][role] =
          s->t->axis[axis].stride_bytes[operand(s, t)].constant;
  }
}

/* ---- loops ---- */

static void resize(struct schedule *s, const char *axis, int64_t extent) {
  if (s->t)
    s->t = teir_resize(s->a, s->t, teir_find_axis(s->t, axis), extent, s->d);
}

/* `outer` counts groups of `inner` indices of an axis, which is what is left
 * of the axis and keeps its name; the loops are called as their axes. */
static void split(struct schedule *s, const char *axis, int64_t inner,
                  const char *outer) {
  if (!s->t)
    return;
  int node = loop(s, axis), i = teir_find_axis(s->t, axis);
  s->t = teir_split(s->a, s->t, i, inner, s->d);
  if (!s->t)
    return;
  struct teir_node *x = &s->t->node[node];
  assert(x->axis != i && x->children.count == 1);
  s->t->axis[x->axis].id = x->id = outer;
  s->t->axis[i].id = s->t->node[x->children.item[0]].id = axis;
}

static void reorder(struct schedule *s, const char *const *id) {
  int node[8], count = 0;
  for (; s->t && *id; id++)
    if (teir_find_node(s->t, *id) >= 0)
      node[count++] = loop(s, *id);
  if (s->t)
    s->t = teir_reorder(s->a, s->t, node, count, s->d);
}

static void absorb(struct schedule *s, const char *id, enum teir_role role) {
  if (s->t)
    s->t = teir_consume(s->a, s->t, loop(s, id), role, s->d);
}

/* The first child of a loop stays in it, the others are in `rest`. */
static void distribute(struct schedule *s, const char *id, const char *first,
                       const char *rest) {
  if (!s->t)
    return;
  int node = loop(s, id), count = s->t->node_count;
  s->t = teir_distribute(s->a, s->t, node, 1, s->d);
  if (!s->t)
    return;
  s->t->node[node].id = first;
  s->t->node[count].id = rest;
}

static void place(struct schedule *s, const char *id, enum teir_place place) {
  if (s->t && teir_find_node(s->t, id) >= 0)
    s->t = teir_set_place(s->a, s->t, loop(s, id), place, s->d);
  if (s->t && place != TEIR_TIME)
    s->t = teir_set_policy(s->a, s->t, loop(s, id), TEIR_PARALLEL, s->d);
}

/* A group's blocks of out are cleared, multiplied in every step of k, and
 * finished in loops of their own. */
static void make_group(struct schedule *s) {
  bool finishes = s->t && s->t->node[loop(s, "group")].children.count > 2;
  distribute(s, "group", "group_zero", "group_product");
  if (finishes)
    distribute(s, "group_product", "group_product", "group_finish");
  if (s->t)
    s->t = teir_interchange(s->a, s->t, loop(s, "group_product"), s->d);
  place(s, "group_zero", TEIR_TIME);
  place(s, "group_product", TEIR_TIME);
  place(s, "group_finish", TEIR_TIME);
}

static void rename_loop(struct schedule *s, const char *from, const char *to) {
  if (!s->t)
    return;
  int node = loop(s, from);
  s->t->axis[s->t->node[node].axis].id = s->t->node[node].id = to;
}

/* Products of a batch to rows and columns; `batch` counts those of a core. */
static void deal_out(struct schedule *s, const struct map_grid *grid) {
  split(s, "batch", map_grid_products(grid), "turn");
  split(s, "batch", grid->rows, "column");
  rename_loop(s, "batch", "row");
  rename_loop(s, "turn", "batch");
}

struct teir *map_schedule(struct arena *a, const struct device *dev,
                          const struct teir *work, const struct map_blocking *b,
                          struct diag *d) {
  struct schedule s = {.a = a, .form = &b->form, .d = d};
  struct map_grid grid = map_grid_of(dev, &b->form);
  int64_t group = (int64_t)b->group_m * b->block_m;
  int64_t rows = b->rounds_m * group;
  int64_t columns = (int64_t)b->rounds_n * b->block_n;
  make_matrices(&s, work);
  resize(&s, "block_m", grid.m * rows);
  resize(&s, "block_n", grid.n * columns);
  resize(&s, "block_k", (int64_t)b->steps_k * b->block_k);
  lay_matrices(&s);
  if (grid.apart)
    deal_out(&s, &grid);
  else
    split(&s, "block_m", rows, "row");
  split(&s, "block_m", group, "m");
  if (b->group_m > 1)
    split(&s, "block_m", b->block_m, "group");
  if (!grid.apart)
    split(&s, "block_n", columns, "column");
  split(&s, "block_n", b->block_n, "n");
  split(&s, "block_k", b->block_k, "k");
  reorder(&s, ORDER("row", "column", "batch", "m", "n", "group", "block_m",
                    "block_n"));
  absorb(&s, "block_k", TEIR_K);
  absorb(&s, "block_n", b->form.swapped ? TEIR_M : TEIR_N);
  absorb(&s, "block_m", b->form.swapped ? TEIR_N : TEIR_M);
  if (b->group_m > 1)
    make_group(&s);
  place(&s, "row", TEIR_ROWS);
  place(&s, "column", TEIR_COLUMNS);
  place(&s, "batch", TEIR_TIME);
  place(&s, "m", TEIR_TIME);
  place(&s, "n", TEIR_TIME);
  place(&s, "k", TEIR_TIME);
  lay_blocks(&s);
  lay_in_place(&s, b, &grid);
  return s.t && teir_verify(s.t, d) ? s.t : NULL;
}
