/* schedule.c -- the blocked problem as a scheduled TEIR.
 *
 * Takes a blocking, gives the program
 *
 *   for row (rows) for column (columns) for m for n
 *     { zero; for k product; relu; convert }
 *
 * or, with two blocks of out at once,
 *
 *   ... for m for n
 *     { for group zero; for k for group product; for group { relu; convert } }
 *
 * over tensors that lie in device memory block by block in the order in which
 * the array reads them, so that every shim descriptor is one long run:
 *
 *   in0 [row][m][k][group][block_m][block_k]
 *   in1 [column][n][k][block_k][block_n]
 *   out [column][m][n][group][row][block_m][block_n]
 *
 * Where sums are of another type than out, they are a tensor of their own, of
 * which every core holds a piece:
 *
 *   sum [column][row][group][block_m][block_n]
 */
#include "map.h"

enum { ROW, COLUMN, M, N, K, GROUP, BLOCK_M, BLOCK_N, BLOCK_K, AXES };
static const char *const axis_id[AXES] = {
    "row", "column", "m", "n", "k", "group", "block_m", "block_n", "block_k"};

enum { LAYOUT_DEPTH = 7, SCHEDULED = SUMS + 1 };
static const int layout[SCHEDULED][LAYOUT_DEPTH] = {
    [IN0] = {ROW, M, K, GROUP, BLOCK_M, BLOCK_K, -1},
    [IN1] = {COLUMN, N, K, BLOCK_K, BLOCK_N, -1, -1},
    [OUT] = {COLUMN, M, N, GROUP, ROW, BLOCK_M, BLOCK_N},
    [SUMS] = {COLUMN, ROW, GROUP, BLOCK_M, BLOCK_N, -1, -1},
};

static struct value constant(int64_t v) { return (struct value){v, -1}; }

static struct teir_list list(struct arena *a, int count, const int *item) {
  return (struct teir_list){
      count, arena_copy(a, item, (size_t)count, 1, sizeof *item)};
}

static void add_axes(struct arena *a, struct teir *t, const int64_t *extent) {
  t->axis_count = AXES;
  t->axis = arena_array(a, AXES, sizeof *t->axis);
  for (int i = 0; i < AXES; i++) {
    struct teir_axis *x = &t->axis[i];
    x->id = axis_id[i];
    x->extent = constant(extent[i]);
    x->stride_bytes = arena_array(a, SCHEDULED, sizeof *x->stride_bytes);
    x->offset_bytes = arena_array(a, SCHEDULED, sizeof *x->offset_bytes);
    for (int j = 0; j < SCHEDULED; j++)
      x->stride_bytes[j] = x->offset_bytes[j] = constant(0);
  }
  for (int j = 0; j < t->tensor_count; j++) {
    int64_t stride = dtype_bytes(t->tensor[j].type);
    for (int i = LAYOUT_DEPTH - 1; i >= 0; i--) {
      int axis = layout[j][i];
      if (axis < 0)
        continue;
      t->axis[axis].stride_bytes[j] = constant(stride);
      stride *= extent[axis];
    }
  }
}

/* Nodes and what they invoke; those that a problem does not need are left out.
 */
enum {
  ZERO = K + 1,
  PRODUCT,
  RELU,
  CONVERT,
  GROUP_ZERO,
  GROUP_PRODUCT,
  GROUP_FINISH,
  NODES
};

struct shape {
  bool group, relu, convert, saturate;
  int shift;
};

static bool stands(const struct shape *s, int node) {
  switch (node) {
  case RELU:
    return s->relu;
  case CONVERT:
    return s->convert;
  case GROUP_ZERO:
  case GROUP_PRODUCT:
    return s->group;
  case GROUP_FINISH:
    return s->group && (s->relu || s->convert);
  }
  return true;
}

static struct teir_primitive *add_primitive(struct arena *a, struct teir *t,
                                            const char *id, enum teir_op op,
                                            const struct shape *s, int count,
                                            const int *operand) {
  struct teir_primitive *p = &t->primitive[t->primitive_count++];
  p->id = id;
  p->op = op;
  p->role[TEIR_M] = list(a, 1, (int[]){BLOCK_M});
  p->role[TEIR_N] = list(a, 1, (int[]){BLOCK_N});
  if (s->convert) /* else the names in0, in1, out say it */
    p->operand = list(a, count, operand);
  return p;
}

static void add_primitives(struct arena *a, struct teir *t,
                           const struct shape *s) {
  t->primitive = arena_array(a, GROUP_ZERO - ZERO, sizeof *t->primitive);
  add_primitive(a, t, "zero_block", TEIR_ZERO, s, 1, (int[]){SUMS});
  add_primitive(a, t, "product_block", TEIR_CONTRACTION, s, 3,
                (int[]){IN0, IN1, SUMS})
      ->role[TEIR_K] = list(a, 1, (int[]){BLOCK_K});
  if (s->relu)
    add_primitive(a, t, "relu_block", TEIR_RELU, s, 2, (int[]){SUMS, SUMS});
  if (!s->convert)
    return;
  struct teir_primitive *p = add_primitive(
      a, t, s->saturate ? "shift_block" : "cast_block",
      s->saturate ? TEIR_SHIFT : TEIR_CAST, s, 2, (int[]){SUMS, OUT});
  if (s->saturate) {
    p->property_count = 1;
    p->property = arena_array(a, 1, sizeof *p->property);
    p->property[0] =
        (struct teir_property){"shift", arena_printf(a, "%d", s->shift)};
  }
}

/* The nodes of `item` that stand, by their numbers. */
static struct teir_list children(struct arena *a, const int number[NODES],
                                 int count, const int *item) {
  int child[4], children = 0;
  for (int i = 0; i < count; i++)
    if (number[item[i]] >= 0)
      child[children++] = number[item[i]];
  return list(a, children, child);
}

static void add_nodes(struct arena *a, struct teir *t, const struct shape *s) {
  static const struct {
    const char *id;
    enum teir_place place;
    int axis;        /* -1: an invocation */
    int children[4]; /* 0: no more; node 0 is nobody's child */
    int group[4];    /* the same where blocks form a group */
  } kind[NODES] = {
      [ROW] = {"row", TEIR_ROWS, ROW, {COLUMN}, {COLUMN}},
      [COLUMN] = {"column", TEIR_COLUMNS, COLUMN, {M}, {M}},
      [M] = {"m", TEIR_TIME, M, {N}, {N}},
      [N] = {"n",
             TEIR_TIME,
             N,
             {ZERO, K, RELU, CONVERT},
             {GROUP_ZERO, K, GROUP_FINISH}},
      [K] = {"k", TEIR_TIME, K, {PRODUCT}, {GROUP_PRODUCT}},
      [ZERO] = {.id = "zero", .axis = -1},
      [PRODUCT] = {.id = "product", .axis = -1},
      [RELU] = {.id = "relu", .axis = -1},
      [CONVERT] = {.id = "convert", .axis = -1},
      [GROUP_ZERO] = {"group_zero", TEIR_TIME, GROUP, {0}, {ZERO}},
      [GROUP_PRODUCT] = {"group_product", TEIR_TIME, GROUP, {0}, {PRODUCT}},
      [GROUP_FINISH] = {"group_finish", TEIR_TIME, GROUP, {0}, {RELU, CONVERT}},
  };
  int number[NODES], primitive = 0;
  for (int i = 0; i < NODES; i++)
    number[i] = stands(s, i) ? t->node_count++ : -1;
  t->node = arena_array(a, (size_t)t->node_count, sizeof *t->node);
  for (int i = 0; i < NODES; i++) {
    if (number[i] < 0)
      continue;
    struct teir_node *x = &t->node[number[i]];
    const int *child = s->group ? kind[i].group : kind[i].children;
    int count = 0;
    while (count < 4 && child[count])
      count++;
    *x = (struct teir_node){.id = kind[i].id,
                            .axis = kind[i].axis,
                            .place = kind[i].place,
                            .children = children(a, number, count, child)};
    x->kind = x->axis < 0 ? TEIR_INVOCATION : TEIR_ITERATION;
    x->policy = i <= COLUMN ? TEIR_PARALLEL : TEIR_SEQUENTIAL;
    if (x->axis < 0)
      x->primitive = primitive++;
  }
  t->roots = list(a, 1, (int[]){ROW});
}

struct teir *map_schedule(struct arena *a, const struct device *dev,
                          const struct map_problem *p,
                          const struct map_blocking *b) {
  const int64_t extent[AXES] = {
      [ROW] = dev->core_rows, [COLUMN] = dev->columns, [M] = b->rounds_m,
      [N] = b->rounds_n,      [K] = b->steps_k,        [GROUP] = b->group_m,
      [BLOCK_M] = b->block_m, [BLOCK_N] = b->block_n,  [BLOCK_K] = b->block_k,
  };
  static const char *const id[SCHEDULED] = {"in0", "in1", "out", "sum"};
  const enum dtype type[SCHEDULED] = {p->in0, p->in1, p->out, p->acc};
  const struct shape s = {.group = b->group_m > 1,
                          .relu = p->finish.relu,
                          .convert = p->acc != p->out,
                          .saturate = p->finish.saturate,
                          .shift = p->finish.shift};
  struct teir *t = arena_alloc(a, sizeof *t);
  t->tensor_count = s.convert ? SCHEDULED : TENSORS;
  t->tensor = arena_array(a, SCHEDULED, sizeof *t->tensor);
  for (int j = 0; j < t->tensor_count; j++)
    t->tensor[j] = (struct teir_tensor){.id = id[j], .type = type[j]};
  add_axes(a, t, extent);
  add_primitives(a, t, &s);
  add_nodes(a, t, &s);
  return t;
}
