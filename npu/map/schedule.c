/* schedule.c -- the blocked problem as a scheduled TEIR.
 *
 * Takes a blocking, gives the program
 *
 *   for row (rows) for column (columns) for m for n { zero; for k product }
 *
 * or, with two blocks of out at once,
 *
 *   ... for m for n { for group zero; for k for group product }
 *
 * over tensors that lie in device memory block by block in the order in which
 * the array reads them, so that every shim descriptor is one long run:
 *
 *   in0 [row][m][k][group][block_m][block_k]
 *   in1 [column][n][k][block_k][block_n]
 *   out [column][m][n][group][row][block_m][block_n]
 */
#include "map.h"

enum { ROW, COLUMN, M, N, K, GROUP, BLOCK_M, BLOCK_N, BLOCK_K, AXES };
static const char *const axis_id[AXES] = {
    "row", "column", "m", "n", "k", "group", "block_m", "block_n", "block_k"};

enum { LAYOUT_DEPTH = 7 };
static const int layout[MAP_TENSORS][LAYOUT_DEPTH] = {
    [MAP_IN0] = {ROW, M, K, GROUP, BLOCK_M, BLOCK_K, -1},
    [MAP_IN1] = {COLUMN, N, K, BLOCK_K, BLOCK_N, -1, -1},
    [MAP_OUT] = {COLUMN, M, N, GROUP, ROW, BLOCK_M, BLOCK_N},
};

static struct teir_size constant(int64_t v) {
  return (struct teir_size){v, -1};
}

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
    x->stride_bytes = arena_array(a, MAP_TENSORS, sizeof *x->stride_bytes);
    x->offset_bytes = arena_array(a, MAP_TENSORS, sizeof *x->offset_bytes);
    for (int j = 0; j < MAP_TENSORS; j++)
      x->stride_bytes[j] = x->offset_bytes[j] = constant(0);
  }
  for (int j = 0; j < MAP_TENSORS; j++) {
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

static void add_primitives(struct arena *a, struct teir *t) {
  t->primitive_count = 2;
  t->primitive = arena_array(a, 2, sizeof *t->primitive);
  struct teir_primitive *zero = &t->primitive[0], *product = &t->primitive[1];
  zero->id = "zero_block";
  zero->op = TEIR_ZERO;
  product->id = "product_block";
  product->op = TEIR_CONTRACTION;
  zero->role[TEIR_M] = product->role[TEIR_M] = list(a, 1, (int[]){BLOCK_M});
  zero->role[TEIR_N] = product->role[TEIR_N] = list(a, 1, (int[]){BLOCK_N});
  product->role[TEIR_K] = list(a, 1, (int[]){BLOCK_K});
}

/* Nodes 0..4 iterate row, column, m, n, k, 5 and 6 invoke; with a group 7 and 8
 * iterate its blocks around them. */
static void add_nodes(struct arena *a, struct teir *t, bool group) {
  enum { ZERO = K + 1, PRODUCT, GROUP_ZERO, GROUP_PRODUCT, NODES };
  static const enum teir_place place[] = {[ROW] = TEIR_ROWS,
                                          [COLUMN] = TEIR_COLUMNS,
                                          [M] = TEIR_TIME,
                                          [N] = TEIR_TIME,
                                          [K] = TEIR_TIME};
  t->node_count = group ? NODES : GROUP_ZERO;
  t->node = arena_array(a, NODES, sizeof *t->node);
  for (int i = 0; i <= K; i++) {
    struct teir_node *x = &t->node[i];
    x->id = axis_id[i];
    x->kind = TEIR_ITERATION;
    x->axis = i;
    x->place = place[i];
    x->policy = i <= COLUMN ? TEIR_PARALLEL : TEIR_SEQUENTIAL;
    x->children = list(a, 1, (int[]){i + 1});
  }
  t->node[N].children = list(a, 2, (int[]){group ? GROUP_ZERO : ZERO, K});
  t->node[K].children = list(a, 1, (int[]){group ? GROUP_PRODUCT : PRODUCT});
  t->node[ZERO] = (struct teir_node){
      .id = "zero", .kind = TEIR_INVOCATION, .axis = -1, .primitive = 0};
  t->node[PRODUCT] = (struct teir_node){
      .id = "product", .kind = TEIR_INVOCATION, .axis = -1, .primitive = 1};
  for (int i = 0; i < 2 && group; i++)
    t->node[GROUP_ZERO + i] =
        (struct teir_node){.id = i ? "group_product" : "group_zero",
                           .kind = TEIR_ITERATION,
                           .axis = GROUP,
                           .place = TEIR_TIME,
                           .children = list(a, 1, (int[]){ZERO + i})};
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
  static const char *const id[MAP_TENSORS] = {"in0", "in1", "out"};
  const enum dtype type[MAP_TENSORS] = {p->in0, p->in1, p->out};
  struct teir *t = arena_alloc(a, sizeof *t);
  t->tensor_count = MAP_TENSORS;
  t->tensor = arena_array(a, MAP_TENSORS, sizeof *t->tensor);
  for (int j = 0; j < MAP_TENSORS; j++)
    t->tensor[j] = (struct teir_tensor){.id = id[j], .type = type[j]};
  add_axes(a, t, extent);
  add_primitives(a, t);
  add_nodes(a, t, b->group_m > 1);
  return t;
}
