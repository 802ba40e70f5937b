/* map.c -- reads a scheduled TEIR into a tile program.
 *
 * needs: one chain of iterations placed on rows, columns and time (m rounds,
 *   n rounds), below it a Zero, a time loop over k around one Contraction
 *   whose M, N and K are one axis each, and what turns sums into results: an
 *   optional ReLU, then a Cast or Shift where sums are a tensor of their own.
 * keeps: byte strides, which say where blocks lie in device memory.  Rows may
 *   take either input; what they share is in0 of the tile program.
 * The message names the node that does not fit.
 */
#include "map.h"

#include <assert.h>
#include <stdlib.h>

struct reader {
  const struct teir *t;
  struct diag *d;
  int node_row, node_column, node_batch, time[2], time_count, node_k;
  int pair, pair_zero, pair_finish; /* loops over a group's blocks; -1: none */
  int zero, product, relu, convert; /* nodes */
  int sum;                          /* the tensor that the product writes */
  bool apart;                       /* rows and columns are parts of a batch */
  int input[OUT]; /* tensors: what a row of cores shares, and what a column */
};

static bool refuse(struct reader *r, const struct teir_node *x,
                   const char *rule) {
  return diag_error(r->d, x->at, "node %s: %s", x->id, rule);
}

static bool read_leaf(struct reader *r, int node, bool below_k) {
  const struct teir_node *x = &r->t->node[node];
  const struct teir_primitive *p = &r->t->primitive[x->primitive];
  if (x->guard_count)
    return refuse(r, x, "the array takes invocations without guards");
  if (p->op == TEIR_ZERO && !below_k && r->zero < 0 && r->product < 0)
    return r->zero = node, true;
  if (p->op == TEIR_CONTRACTION && below_k && r->product < 0)
    return r->product = node, true;
  bool after = !below_k && r->product >= 0 && r->convert < 0;
  if (p->op == TEIR_RELU && after && r->relu < 0)
    return r->relu = node, true;
  if ((p->op == TEIR_CAST || p->op == TEIR_SHIFT) && after)
    return r->convert = node, true;
  return refuse(r, x,
                "the array runs one Zero before the loop over k, one "
                "Contraction inside it, and after it a ReLU, then a Cast or "
                "Shift");
}

static bool moves(const struct teir *t, int axis, int tensor) {
  return t->axis[axis].stride_bytes[tensor].constant != 0;
}

/* Where a loop over time belongs: a batch moves all tensors and is the
 * outermost one; the k loop is the one that leaves out where it is; below it,
 * and before and after, run the blocks of a group. */
static int *time_slot(struct reader *r, const struct teir_node *x,
                      bool inside_k) {
  if (inside_k)
    return &r->pair;
  if (!moves(r->t, x->axis, OUT))
    return &r->node_k;
  if (!r->time_count && moves(r->t, x->axis, IN0) && moves(r->t, x->axis, IN1))
    return &r->node_batch;
  if (r->time_count < 2)
    return &r->time[r->time_count++];
  return r->node_k < 0 ? &r->pair_zero : &r->pair_finish;
}

static bool read_node(struct reader *r, int node, bool inside_k) {
  const struct teir *t = r->t;
  const struct teir_node *x = &t->node[node];
  if (x->kind == TEIR_INVOCATION)
    return read_leaf(r, node, inside_k);
  if (x->guard_count)
    return refuse(r, x, "the array takes loops without guards");
  int *slot = x->place == TEIR_ROWS      ? &r->node_row
              : x->place == TEIR_COLUMNS ? &r->node_column
              : x->place == TEIR_TIME    ? time_slot(r, x, inside_k)
                                         : NULL;
  if (!slot || *slot >= 0)
    return refuse(r, x,
                  "place is rows, columns or time, and each is used "
                  "once (time: m, n, k, blocks of a group)");
  *slot = node;
  for (int i = 0; i < x->children.count; i++)
    if (!read_node(r, x->children.item[i], inside_k || slot == &r->node_k))
      return false;
  return true;
}

static int64_t extent_of(const struct reader *r, int node) {
  assert(node >= 0 && r->t->node[node].kind == TEIR_ITERATION);
  return r->t->axis[r->t->node[node].axis].extent.constant;
}
static int64_t stride_of(const struct reader *r, int node, int tensor) {
  assert(node >= 0 && tensor >= 0 && tensor < r->t->tensor_count);
  return r->t->axis[r->t->node[node].axis].stride_bytes[tensor].constant;
}

/* Rows move one input and out, columns the other and out; time is m, as rows,
 * then n. */
static bool check_roles(struct reader *r) {
  static const struct {
    const char *what;
    bool moves[TENSORS];
  } rule[] = {
      {"an axis over rows moves in0 and out only", {true, false, true}},
      {"an axis over columns moves in1 and out only", {false, true, true}},
      {"the outer time axis moves in0 and out only", {true, false, true}},
      {"the inner time axis moves in1 and out only", {false, true, true}},
      {"the time axis around the product moves in0 and in1 only",
       {true, true, false}},
      {"the blocks of a group move in0 and out only", {true, false, true}},
  };
  const int node[] = {r->node_row, r->node_column, r->time[0],
                      r->time[1],  r->node_k,      r->pair};
  bool swapped = !stride_of(r, r->node_row, IN0);
  r->apart = stride_of(r, r->node_row, IN0) && stride_of(r, r->node_row, IN1);
  r->input[IN0] = swapped ? IN1 : IN0;
  r->input[IN1] = swapped ? IN0 : IN1;
  for (int i = 0; i < (r->pair < 0 ? 5 : 6); i++)
    for (int j = 0; j < TENSORS; j++) {
      bool moves = stride_of(r, node[i], j < OUT ? r->input[j] : OUT) != 0;
      if (r->apart && i < 2 && !moves)
        return refuse(r, &r->t->node[node[i]],
                      "where an axis over rows moves all tensors, so does the "
                      "one over columns: both are a batch");
      if (moves != rule[i].moves[j] && !(r->apart && i < 2))
        return refuse(r, &r->t->node[node[i]], rule[i].what);
    }
  return true;
}

/* The group's blocks are cleared and finished by loops over the same axis as
 * the product's, and there are as many as a core has places for out. */
static bool check_group(struct reader *r) {
  bool finishes = r->relu >= 0 || r->convert >= 0;
  const int loop[] = {r->pair, r->pair_zero, finishes ? r->pair_finish : -1};
  int first = -1;
  for (int i = 0; i < 3; i++)
    first = first < 0 ? loop[i] : first;
  if (first < 0)
    return true;
  const struct teir_node *x = &r->t->node[first];
  for (int i = 0; i < (finishes ? 3 : 2); i++)
    if (loop[i] < 0 || r->t->node[loop[i]].axis != x->axis)
      return refuse(r, x,
                    "the blocks of a group are cleared, multiplied and "
                    "finished in loops over the same axis");
  if (extent_of(r, r->pair) != 2)
    return refuse(r, x, "a core holds two blocks of out");
  return true;
}

/* Whether the primitive at a node reads and writes these tensors. */
static bool operands_are(const struct reader *r, int node, int in0, int in1,
                         int out) {
  int p = r->t->node[node].primitive;
  return teir_input(r->t, p, 0) == in0 && teir_input(r->t, p, 1) == in1 &&
         teir_output(r->t, p) == out;
}

/* Zero, product and ReLU work on the sums, which are out's where nothing
 * converts them.  A core keeps its own from Zero to there, and no other. */
static bool check_operands(struct reader *r) {
  const struct teir *t = r->t;
  r->sum = r->convert < 0 ? OUT : SUMS;
  if (t->tensor_count != r->sum + 1)
    return refuse(r, &t->node[r->product],
                  "tensors are in0, in1, out, and sum where a Cast or Shift "
                  "makes out of it");
  const int node[] = {r->zero, r->product, r->relu, r->convert};
  const int operand[][3] = {{-1, -1, r->sum},
                            {IN0, IN1, r->sum},
                            {r->sum, -1, r->sum},
                            {r->sum, -1, OUT}};
  for (int i = 0; i < 4; i++)
    if (node[i] >= 0 &&
        !operands_are(r, node[i], operand[i][0], operand[i][1], operand[i][2]))
      return refuse(r, &t->node[node[i]],
                    "the product goes from in0 and in1 to the sums, and what "
                    "follows from there to out");
  const int held[] = {r->node_row, r->node_column, r->pair};
  for (int i = 0; i < 3; i++)
    if (held[i] >= 0 && !stride_of(r, held[i], r->sum))
      return refuse(r, &t->node[held[i]],
                    "every core, and every block of a group, has sums of its "
                    "own");
  if (stride_of(r, r->node_k, r->sum))
    return refuse(r, &t->node[r->node_k],
                  "the k loop leaves the sums in place");
  return true;
}

/* A block consists of rows, contiguous along one of its axes, whose distance is
 * a multiple of 4 bytes. */
static bool check_block(struct reader *r, int tensor, int row_axis,
                        int column_axis) {
  const struct teir *t = r->t;
  int64_t element = dtype_bytes(t->tensor[tensor].type);
  const struct teir_axis *rows = &t->axis[row_axis];
  const struct teir_axis *columns = &t->axis[column_axis];
  int64_t row = rows->stride_bytes[tensor].constant,
          column = columns->stride_bytes[tensor].constant;
  bool turned = column != element;
  int64_t pitch = turned ? column : row;
  if ((turned ? row : column) == element && pitch % 4 == 0 && pitch >= 0)
    return true;
  return diag_error(r->d, columns->at,
                    "axes %s and %s: a block of %s is contiguous along one of "
                    "them in device memory, and moves by words of 4 bytes "
                    "along the other",
                    rows->id, columns->id, t->tensor[tensor].id);
}

/* Sums of their own lie in a core, row-major without gaps. */
static bool check_sums(struct reader *r, int m, int n) {
  const struct teir *t = r->t;
  int64_t element = dtype_bytes(t->tensor[r->sum].type);
  return r->sum == OUT ||
         (t->axis[n].stride_bytes[r->sum].constant == element &&
          t->axis[m].stride_bytes[r->sum].constant ==
              element * t->axis[n].extent.constant) ||
         diag_error(r->d, t->axis[n].at,
                    "axes %s and %s: a block of sums is row-major and "
                    "contiguous",
                    t->axis[m].id, t->axis[n].id);
}

/* The block's axes: of the role that a row of cores shares, and the other. */
static int block_axis(const struct reader *r, int role) {
  const struct teir_node *x = &r->t->node[r->product];
  if (role != TEIR_K && r->input[IN0] == IN1)
    role = role == TEIR_M ? TEIR_N : TEIR_M;
  return r->t->primitive[x->primitive].role[role].item[0];
}

static bool check_primitives(struct reader *r) {
  const struct teir *t = r->t;
  const struct teir_node *x = &t->node[r->product];
  const struct teir_primitive *p = &t->primitive[x->primitive];
  for (int role = 0; role < TEIR_ROLES; role++)
    if (p->role[role].count != 1)
      return refuse(r, x,
                    "the array's product takes one axis each in M, N "
                    "and K");
  int m = p->role[TEIR_M].item[0], n = p->role[TEIR_N].item[0],
      k = p->role[TEIR_K].item[0];
  const int other[] = {r->zero, r->relu, r->convert};
  for (int i = 0; i < 3; i++) {
    if (other[i] < 0)
      continue;
    const struct teir_node *z = &t->node[other[i]];
    const struct teir_primitive *q = &t->primitive[z->primitive];
    if (q->role[TEIR_M].count != 1 || q->role[TEIR_M].item[0] != m ||
        q->role[TEIR_N].count != 1 || q->role[TEIR_N].item[0] != n)
      return refuse(r, z, "it works on the block that the product writes");
  }
  int rows = block_axis(r, TEIR_M), columns = block_axis(r, TEIR_N);
  return check_block(r, r->input[IN0], rows, k) &&
         check_block(r, r->input[IN1], k, columns) &&
         check_block(r, OUT, rows, columns) && check_sums(r, rows, columns);
}

static bool check_constants(const struct teir *t, struct diag *d) {
  for (int i = 0; i < t->axis_count; i++) {
    const struct teir_axis *x = &t->axis[i];
    bool constant = x->extent.symbol < 0;
    for (int j = 0; j < t->tensor_count; j++) {
      constant &= x->stride_bytes[j].symbol < 0;
      if (x->offset_bytes[j].symbol >= 0 || x->offset_bytes[j].constant)
        return diag_error(d, x->at,
                          "axis %s has an offset; the array takes "
                          "none",
                          x->id);
    }
    if (!constant)
      return diag_error(d, x->at, "axis %s is symbolic; bind it first", x->id);
    if (x->extent.constant > INT32_MAX)
      return diag_error(d, x->at,
                        "axis %s has extent %lld; the array takes "
                        "up to %d",
                        x->id, (long long)x->extent.constant, INT32_MAX);
  }
  return true;
}

/* For one of in0, in1 and out as rows and columns of cores see them, with a
 * block's axes. */
static void fill_transfer(const struct reader *r, int operand, int row_axis,
                          int column_axis, struct map_transfer *x) {
  const struct teir *t = r->t;
  static const char *const name[] = {"m", "n", "k", "group"};
  const int node[] = {r->time[0], r->time[1], r->node_k, r->pair};
  int tensor = operand < OUT ? r->input[operand] : OUT;
  const struct teir_axis *rows = &t->axis[row_axis],
                         *columns = &t->axis[column_axis];
  x->tensor = tensor;
  x->type = t->tensor[tensor].type;
  x->turned = columns->stride_bytes[tensor].constant != dtype_bytes(x->type);
  if (x->turned) {
    const struct teir_axis *swap = rows;
    rows = columns, columns = swap;
  }
  x->block_rows = (int)rows->extent.constant;
  x->block_columns = (int)columns->extent.constant;
  x->pitch_bytes = rows->stride_bytes[tensor].constant;
  int distributed = operand == IN0 && !r->apart ? r->node_row : r->node_column;
  bool by_rows = operand == OUT || r->apart;
  x->column_stride_bytes = stride_of(r, distributed, tensor);
  x->row_stride_bytes = by_rows ? stride_of(r, r->node_row, tensor) : 0;
  x->bytes = (x->block_rows - 1) * x->pitch_bytes +
             (int64_t)x->block_columns * dtype_bytes(x->type) +
             (extent_of(r, distributed) - 1) * x->column_stride_bytes;
  if (by_rows)
    x->bytes += (extent_of(r, r->node_row) - 1) * x->row_stride_bytes;
  for (int i = 0; i < 4; i++) {
    x->time[i] = (struct map_loop){name[i], 1, 0};
    if (node[i] >= 0)
      x->time[i] = (struct map_loop){name[i], extent_of(r, node[i]),
                                     stride_of(r, node[i], tensor)};
    x->bytes += (x->time[i].extent - 1) * x->time[i].stride_bytes;
  }
  x->batch = (struct map_loop){"batch", 1, 0};
  if (r->node_batch >= 0)
    x->batch = (struct map_loop){"batch", extent_of(r, r->node_batch),
                                 stride_of(r, r->node_batch, tensor)};
  x->bytes += (x->batch.extent - 1) * x->batch.stride_bytes;
}

/* Whether rows along k run on from block to block. */
static bool runs_on(const struct map_transfer *x, bool along_k) {
  return along_k && x->pitch_bytes > x->time[2].stride_bytes &&
         x->time[2].stride_bytes ==
             (int64_t)x->block_columns * dtype_bytes(x->type);
}

/* What memory.c asks about tensors that lie in place. */
static struct map_form form_of(const struct tile_program *q) {
  const struct map_transfer *x = q->transfer;
  struct map_form f = {.swapped = x[IN0].tensor != IN0};
  for (int i = 0; i < TENSORS; i++)
    f.layout[i].turned = x[i].turned;
  f.layout[IN0].in_place = x[IN0].turned || runs_on(&x[IN0], true);
  f.layout[IN1].in_place = runs_on(&x[IN1], x[IN1].turned);
  f.cores_m = q->grid.m;
  f.cores_n = q->grid.n;
  f.apart = q->grid.apart;
  return f;
}

static struct teir_finish finish_of(const struct reader *r) {
  struct teir_finish f = {.relu = r->relu >= 0};
  if (r->convert < 0)
    return f;
  int p = r->t->node[r->convert].primitive;
  f.saturate = r->t->primitive[p].op == TEIR_SHIFT;
  if (f.saturate)
    f.shift = atoi(teir_property(r->t, p, "shift"));
  return f;
}

/* The places in core and mem tiles. */
static bool place_blocks(struct tile_program *q, struct loc at,
                         struct diag *d) {
  struct teir_problem p = {.acc = q->acc};
  for (int i = 0; i < TENSORS; i++)
    p.type[i] = q->transfer[i].type;
  const struct map_blocking b = {q->block_m, q->block_n,  q->block_k,
                                 q->group_m, q->rounds_m, q->rounds_n,
                                 q->steps_k, 0,           form_of(q)};
  struct map_block_bytes bytes = map_block_bytes(&p, &b);
  assert(b.group_m == 1 || b.group_m == 2);
  if (!map_core_places(q->device, &bytes, q->group_m, q->steps_k, &q->core))
    return diag_error(d, at,
                      "blocks %dx%dx%d, %d of out at once: they do not fit "
                      "into a core's memory banks",
                      q->block_m, q->block_n, q->block_k, q->group_m);
  return map_mem_panel(q->device, &p, &b, &q->panel) ||
         diag_error(d, at, "blocks %dx%dx%d do not fit into a mem tile",
                    q->block_m, q->block_n, q->block_k);
}

static bool make_grid(const struct reader *r, const struct device *dev,
                      int64_t rows, int64_t columns, struct map_grid *g) {
  if (rows * columns > dev->core_rows * dev->columns)
    return false;
  if (!r->apart)
    return map_grid(dev, (int)rows, (int)columns, g);
  *g = map_grid_of(dev, &(struct map_form){.apart = true});
  return rows == g->rows && columns == g->columns;
}

struct tile_program *map_program(struct arena *a, const struct teir *t,
                                 const struct device *dev, struct diag *d) {
  struct reader r = {.t = t,
                     .d = d,
                     .node_row = -1,
                     .node_column = -1,
                     .node_batch = -1,
                     .node_k = -1,
                     .time = {-1, -1},
                     .pair = -1,
                     .pair_zero = -1,
                     .pair_finish = -1,
                     .zero = -1,
                     .product = -1,
                     .relu = -1,
                     .convert = -1,
                     .input = {IN0, IN1}};
  struct loc at = {t->file, 0, 0};
  if (t->tensor_count < TENSORS || t->roots.count != 1) {
    diag_error(d, at, "the array takes one schedule tree over in0, in1, out");
    return NULL;
  }
  if (!check_constants(t, d) || !read_node(&r, t->roots.item[0], false))
    return NULL;
  if (r.node_row < 0 || r.node_column < 0 || r.time_count != 2 ||
      r.node_k < 0 || r.product < 0) {
    diag_error(d, at,
               "the schedule places axes on rows, columns and time "
               "(m, n, k) around one Contraction");
    return NULL;
  }
  if (!check_roles(&r) || !check_group(&r) || !check_operands(&r) ||
      !check_primitives(&r))
    return NULL;
  const struct teir_primitive *p = &t->primitive[t->node[r.product].primitive];
  struct tile_program *q = arena_alloc(a, sizeof *q);
  q->device = dev;
  int64_t cores_m = extent_of(&r, r.node_row),
          cores_n = extent_of(&r, r.node_column);
  if (!make_grid(&r, dev, cores_m, cores_n, &q->grid)) {
    diag_error(d, at,
               "%lld rows by %lld columns of cores; %s has %d by %d, a column "
               "feeds the row of its number, and rows may share two parts of "
               "what columns take",
               (long long)cores_m, (long long)cores_n, dev->name,
               dev->core_rows, dev->columns);
    return NULL;
  }
  int m = block_axis(&r, TEIR_M), n = block_axis(&r, TEIR_N),
      k = p->role[TEIR_K].item[0];
  q->block_m = (int)t->axis[m].extent.constant;
  q->block_n = (int)t->axis[n].extent.constant;
  q->block_k = (int)t->axis[k].extent.constant;
  q->rounds_m = (int)extent_of(&r, r.time[0]);
  q->rounds_n = (int)extent_of(&r, r.time[1]);
  q->steps_k = (int)extent_of(&r, r.node_k);
  q->batch = r.node_batch < 0 ? 1 : (int)extent_of(&r, r.node_batch);
  if (q->batch > 1 && (q->rounds_m > 1 || q->rounds_n > 1)) {
    diag_error(d, at,
               "a batch of %d products with %d m rounds and %d n rounds each; "
               "the array takes one",
               q->batch, q->rounds_m, q->rounds_n);
    return NULL;
  }
  q->group_m = r.pair < 0 ? 1 : 2;
  if (r.apart && (q->rounds_m > 1 || q->rounds_n > 1 || q->steps_k > 1 ||
                  q->group_m > 1)) {
    diag_error(d, at,
               "a product for each core in %d x %d rounds of %d steps; it is "
               "one block",
               q->rounds_m * q->group_m, q->rounds_n, q->steps_k);
    return NULL;
  }
  q->zero = r.zero >= 0;
  if (!q->zero) {
    diag_error(d, at,
               "a core has two input streams, so out starts from Zero; "
               "old contents are added by the runtime");
    return NULL;
  }
  q->acc = t->tensor[r.sum].type;
  q->finish = finish_of(&r);
  fill_transfer(&r, IN0, m, k, &q->transfer[IN0]);
  fill_transfer(&r, IN1, k, n, &q->transfer[IN1]);
  fill_transfer(&r, OUT, m, n, &q->transfer[OUT]);
  const struct map_transfer *x = q->transfer;
  q->turns_out =
      map_turns_out((const enum dtype[]){x[IN0].type, x[IN1].type, x[OUT].type},
                    x[IN0].turned, x[IN1].turned, x[OUT].turned);
  if (!place_blocks(q, at, d))
    return NULL;
  q->joins = map_joins(q);
  return q;
}
