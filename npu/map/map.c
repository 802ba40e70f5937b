/* map.c -- reads a scheduled TEIR into a tile program.
 *
 * needs: iterations placed on rows, columns and time around a Zero (what the
 *   outer one of rows and columns shares, mem tiles keep, where the array has
 *   more columns than rows; else what rows share), time loops
 *   over k around one Contraction, and what turns sums into results: an
 *   optional Add of a vector along n, an optional ReLU, then a Cast or Shift
 * where sums are a tensor of their own. Loops over time may be any number of
 * any role; a loop inside those over k that moves out is a group of blocks that
 * a core holds at once. keeps: byte strides, which say where blocks lie in
 * device memory.  Rows may take either input; what they share is in0 of the
 * tile program.  Results do not depend on the order of blocks of out, so their
 * loops become those of the array's order: batch, m, n. The message names the
 * node that does not fit.
 */
#include "map.h"

#include "kernels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 3 * MAP_LOOPS, WORD = 4 };

struct reader {
  const struct teir *t;
  struct diag *d;
  int node_row, node_column;
  int half_row, half_column;        /* loops around these; -1: none */
  int time[MAX_NODES], time_count;  /* loops over time outside the groups' */
  bool around[MAX_NODES];           /* which of them are around the product */
  int pair, pair_zero, pair_finish; /* loops over a group's blocks; -1: none */
  int zero, product, bias, relu, convert; /* nodes */
  int sum, added; /* tensors that the product writes, and the Add reads */
  bool apart;     /* rows and columns are parts of a batch */
  bool across;    /* the loop over columns is around that over rows: m's */
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
  if (p->op == TEIR_CONTRACTION && r->product < 0)
    return r->product = node, true;
  bool after = !below_k && r->product >= 0 && r->convert < 0;
  if (p->op == TEIR_ADD && after && r->bias < 0 && r->relu < 0)
    return r->bias = node, true;
  if (p->op == TEIR_RELU && after && r->relu < 0)
    return r->relu = node, true;
  if ((p->op == TEIR_CAST || p->op == TEIR_SHIFT) && after)
    return r->convert = node, true;
  return refuse(r, x,
                "the array runs one Zero before the loops over k, one "
                "Contraction inside them, and after them an Add, a ReLU, then "
                "a Cast or Shift");
}

static bool moves(const struct teir *t, int axis, int tensor) {
  return t->axis[axis].stride_bytes[tensor].constant != 0;
}

static int64_t extent_of(const struct reader *r, int node) {
  assert(node >= 0 && r->t->node[node].kind == TEIR_ITERATION);
  return r->t->axis[r->t->node[node].axis].extent.constant;
}
static int64_t stride_of(const struct reader *r, int node, int tensor) {
  assert(node >= 0 && tensor >= 0 && tensor < r->t->tensor_count);
  return r->t->axis[r->t->node[node].axis].stride_bytes[tensor].constant;
}

/* Of the loop over cores of a kind and the one over halves around it. */
static int64_t cores_of(const struct reader *r, int half, int node) {
  return (half < 0 ? 1 : extent_of(r, half)) * extent_of(r, node);
}

/* Whether a loop has calls beside the one that leads to the product. */
static bool holds_others(const struct teir *t, int node) {
  int leaves = 0;
  for (int i = 0; i < t->node[node].children.count; i++) {
    const struct teir_node *x = &t->node[t->node[node].children.item[i]];
    leaves += x->kind == TEIR_INVOCATION ? 1 : 0;
    if (x->kind == TEIR_ITERATION && holds_others(t, (int)(x - t->node)))
      return true;
  }
  return leaves > 1 || (leaves && t->node[node].children.count > 1);
}

static bool reaches(const struct teir *t, int node, enum teir_op op) {
  const struct teir_node *x = &t->node[node];
  if (x->kind == TEIR_INVOCATION)
    return t->primitive[x->primitive].op == op;
  for (int i = 0; i < x->children.count; i++)
    if (reaches(t, x->children.item[i], op))
      return true;
  return false;
}

/* Where a loop over time belongs: around the product, outside the groups' loops
 * or, inside those over k, moving out, such a loop itself (of one step of k,
 * the axis tells, over which blocks were cleared); beside the product, a loop
 * over a group's blocks. */
static bool take_time(struct reader *r, int node, bool inside_k) {
  const struct teir_node *x = &r->t->node[node];
  int *group = NULL;
  bool cleared = r->pair_zero >= 0 && r->t->node[r->pair_zero].axis == x->axis;
  if ((inside_k || cleared) && moves(r->t, x->axis, OUT) &&
      reaches(r->t, node, TEIR_CONTRACTION))
    group = &r->pair;
  else if (!reaches(r->t, node, TEIR_CONTRACTION))
    group = r->product < 0 ? &r->pair_zero : &r->pair_finish;
  if (group && *group >= 0)
    return refuse(r, x, "a group's blocks are one loop");
  if (group)
    return *group = node, true;
  if (r->time_count == MAX_NODES)
    return refuse(r, x, "too many loops over time");
  r->time[r->time_count++] = node;
  return true;
}

static bool read_node(struct reader *r, int node, bool inside_k) {
  const struct teir *t = r->t;
  const struct teir_node *x = &t->node[node];
  if (x->kind == TEIR_INVOCATION)
    return read_leaf(r, node, inside_k);
  if (x->guard_count)
    return refuse(r, x, "the array takes loops without guards");
  if (x->place == TEIR_ANYWHERE)
    return refuse(r, x, "place is rows, columns or time");
  int *slot = x->place == TEIR_ROWS ? &r->node_row : &r->node_column,
      *half = x->place == TEIR_ROWS ? &r->half_row : &r->half_column;
  if (x->place != TEIR_TIME) {
    if (*half >= 0 || (*slot >= 0 && extent_of(r, *slot) != 2))
      return refuse(r, x,
                    "one loop goes over rows, and one over columns, or one "
                    "over two halves around each");
    *half = *slot;
    *slot = node;
    r->across |= slot == &r->node_row && r->node_column >= 0;
  } else if (!take_time(r, node, inside_k)) {
    return false;
  }
  bool k = x->place == TEIR_TIME && !moves(t, x->axis, OUT) &&
           (moves(t, x->axis, IN0) || moves(t, x->axis, IN1) ||
            !holds_others(t, node)) &&
           reaches(t, node, TEIR_CONTRACTION);
  if (k && holds_others(t, node))
    return refuse(r, x,
                  "a loop over k is around the product alone; inside it are "
                  "all loops over m and n of one block of out");
  for (int i = 0; i < x->children.count; i++)
    if (!read_node(r, x->children.item[i], inside_k || k))
      return false;
  return true;
}

/* The role of a loop as rows and columns of cores see it, by what it moves;
 * AXIS_ROLES: of none. */
static enum axis_role role_of(const struct reader *r, int axis) {
  bool in0 = moves(r->t, axis, r->input[IN0]),
       in1 = moves(r->t, axis, r->input[IN1]), out = moves(r->t, axis, OUT);
  return in0 && in1 && out ? AXIS_C
         : in0 && out      ? AXIS_M
         : in1 && out      ? AXIS_N
         : in0 && in1      ? AXIS_K
                           : AXIS_ROLES;
}

static bool moves_all(const struct reader *r, int node) {
  return stride_of(r, node, IN0) && stride_of(r, node, IN1);
}

/* Rows move one input and out, columns the other and out. */
static bool check_roles(struct reader *r) {
  const struct teir *t = r->t;
  int m = r->across ? r->node_column : r->node_row,
      n = r->across ? r->node_row : r->node_column,
      half_m = r->across ? r->half_column : r->half_row,
      half_n = r->across ? r->half_row : r->half_column;
  bool swapped =
      !stride_of(r, m, IN0) && (stride_of(r, m, IN1) || stride_of(r, n, IN0));
  r->input[IN0] = swapped ? IN1 : IN0;
  r->input[IN1] = swapped ? IN0 : IN1;
  r->apart = role_of(r, t->node[r->node_row].axis) == AXIS_C &&
             role_of(r, t->node[r->node_column].axis) == AXIS_C;
  const struct {
    int node;
    enum axis_role role;
    const char *rule;
  } rule[] = {
      {m, AXIS_M, "rows move one input and out only"},
      {n, AXIS_N, "columns move out and the input that rows do not, only"},
      {r->pair, AXIS_M, "the blocks of a group move what rows move only"},
      {half_m, AXIS_M, "halves of rows move what rows move only"},
      {half_n, AXIS_N, "halves of columns move what columns move only"}};
  for (int i = r->apart ? 2 : 0; i < 5; i++)
    if (rule[i].node >= 0 && extent_of(r, rule[i].node) > 1 &&
        role_of(r, t->node[rule[i].node].axis) != rule[i].role)
      return refuse(r, &t->node[rule[i].node], rule[i].rule);
  for (int i = 0; i < r->time_count; i++)
    if (extent_of(r, r->time[i]) > 1 &&
        role_of(r, t->node[r->time[i]].axis) == AXIS_ROLES)
      return refuse(r, &t->node[r->time[i]],
                    "a loop over time moves two tensors, or all");
  return true;
}

/* The group's blocks are cleared and finished by loops over the same axis as
 * the product's, and there are as many as a core has places for out. */
static bool check_group(struct reader *r) {
  bool finishes = r->bias >= 0 || r->relu >= 0 || r->convert >= 0;
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

/* Whether a loop over blocks of M or N leads from one into the next. */
static bool blocks_overlap(const struct reader *r, int node, int tensor) {
  const struct teir *t = r->t;
  const struct teir_primitive *p = &t->primitive[t->node[r->product].primitive];
  int64_t move = stride_of(r, node, tensor);
  for (int role = TEIR_M; role <= TEIR_N; role++)
    for (int i = 0; i < p->role[role].count; i++) {
      const struct teir_axis *x = &t->axis[p->role[role].item[i]];
      int64_t step = x->stride_bytes[tensor].constant;
      if (step && move % step == 0 && llabs(move / step) < x->extent.constant)
        return true;
    }
  return false;
}

/* Zero, product and ReLU work on the sums, which are out's where nothing
 * converts them.  A core keeps its own from Zero to there, and no other. */
static bool check_operands(struct reader *r) {
  const struct teir *t = r->t;
  r->sum = r->convert < 0 ? OUT : SUMS;
  r->added = r->bias < 0 ? -1 : r->sum + 1;
  if (t->tensor_count != r->sum + 1 + (r->bias >= 0))
    return refuse(r, &t->node[r->product],
                  "tensors are in0, in1, out, sum where a Cast or Shift makes "
                  "out of it, and what an Add reads");
  const int node[] = {r->zero, r->product, r->bias, r->relu, r->convert};
  const int operand[][3] = {{-1, -1, r->sum},
                            {IN0, IN1, r->sum},
                            {r->added, -1, r->sum},
                            {r->sum, -1, r->sum},
                            {r->sum, -1, OUT}};
  for (int i = 0; i < 5; i++)
    if (node[i] >= 0 &&
        !operands_are(r, node[i], operand[i][0], operand[i][1], operand[i][2]))
      return refuse(r, &t->node[node[i]],
                    "the product goes from in0 and in1 to the sums, and what "
                    "follows from there to out");
  const int held[] = {r->node_row, r->node_column, r->pair, r->half_row,
                      r->half_column};
  for (int i = 0; i < 5; i++)
    if (held[i] >= 0 && extent_of(r, held[i]) > 1 &&
        !stride_of(r, held[i], r->sum))
      return refuse(r, &t->node[held[i]],
                    "every core, and every block of a group, has sums of its "
                    "own");
  if (r->pair >= 0 && extent_of(r, r->pair) > 1 &&
      blocks_overlap(r, r->pair, r->sum))
    return refuse(r, &t->node[r->pair],
                  "the blocks of a group, which are summed side by side, have "
                  "no element in common");
  for (int i = 0; i < r->time_count; i++)
    if (extent_of(r, r->time[i]) > 1 && stride_of(r, r->time[i], r->sum) &&
        role_of(r, t->node[r->time[i]].axis) == AXIS_K)
      return refuse(r, &t->node[r->time[i]],
                    "a loop over k leaves the sums in place");
  return true;
}

/* What is added moves as in1 and out do: along n, and of the sums' type. */
static bool check_bias(struct reader *r) {
  const struct teir *t = r->t;
  if (r->bias < 0)
    return true;
  const struct teir_node *x = &t->node[r->bias];
  if (t->tensor[r->added].type != t->tensor[r->sum].type ||
      teir_property(t, x->primitive, "beta"))
    return refuse(r, x, "a core adds a vector of the sums' type as it is");
  for (int i = 0; i < t->axis_count; i++)
    if (t->axis[i].extent.constant > 1 && moves(t, i, r->added) &&
        role_of(r, i) != AXIS_N)
      return refuse(r, x,
                    "what cores add to sums moves along columns of the grid "
                    "and n only");
  return true;
}

/* ---- the program's loops ---- */

static bool add_loop(struct reader *r, struct map_nest *n, int axis) {
  const struct teir_axis *x = &r->t->axis[axis];
  if (x->extent.constant == 1 && n->count)
    return true;
  if (n->count == MAP_LOOPS)
    return diag_error(r->d, x->at, "axis %s: more than %d loops of one role",
                      x->id, MAP_LOOPS);
  if (n->count == 1 && n->loop[0].extent == 1)
    n->count = 0;
  struct map_loop *l = &n->loop[n->count++];
  *l = (struct map_loop){x->id, x->extent.constant, {0}};
  for (int i = 0; i < TENSORS; i++)
    l->stride_bytes[i] = x->stride_bytes[i < OUT ? r->input[i] : OUT].constant;
  if (r->added >= 0)
    l->stride_bytes[MAP_BIAS] = x->stride_bytes[r->added].constant;
  return true;
}

/* One loop; of extent 1 where there is none. */
static struct map_loop loop_of(struct reader *r, int node, const char *name) {
  struct map_nest n = {.count = 0};
  if (node < 0)
    return (struct map_loop){name, 1, {0}};
  add_loop(r, &n, r->t->node[node].axis);
  return n.loop[0];
}

/* The axes of a block's side, by the role as rows and columns see it. */
static const struct teir_list *side_of(const struct reader *r, int primitive,
                                       enum axis_role role) {
  bool other = r->input[IN0] == IN1 && role != AXIS_K;
  return &r->t->primitive[primitive]
              .role[teir_role_of(other ? AXIS_M + AXIS_N - role : role)];
}

static bool same_list(const struct teir_list *a, const struct teir_list *b) {
  if (a->count != b->count)
    return false;
  for (int i = 0; i < a->count; i++)
    if (a->item[i] != b->item[i])
      return false;
  return true;
}

/* What a block's side moves: out too, unless it is k. */
static bool check_sides(struct reader *r) {
  const struct teir_node *x = &r->t->node[r->product];
  const int other[] = {r->zero, r->bias, r->relu, r->convert};
  for (int i = 0; i < 4; i++)
    for (int role = AXIS_M; role < AXIS_K && other[i] >= 0; role++)
      if (!same_list(
              side_of(r, x->primitive, (enum axis_role)role),
              side_of(r, r->t->node[other[i]].primitive, (enum axis_role)role)))
        return refuse(r, &r->t->node[other[i]],
                      "it works on the block that the product writes");
  return true;
}

/* The loops over cores of a kind. */
static bool read_cores(struct reader *r, int half, int node,
                       struct map_nest *n) {
  const struct teir_node *x = r->t->node;
  return (half < 0 || add_loop(r, n, x[half].axis)) &&
         add_loop(r, n, x[node].axis);
}

static bool read_loops(struct reader *r, struct tile_program *q) {
  static const char *const name[] = {"batch", "m", "n", "k"};
  const struct teir *t = r->t;
  int product = t->node[r->product].primitive;
  bool good = r->across ? read_cores(r, r->half_column, r->node_column, &q->row)
                        : read_cores(r, r->half_row, r->node_row, &q->row);
  good &= r->across ? read_cores(r, r->half_row, r->node_row, &q->column)
                    : read_cores(r, r->half_column, r->node_column, &q->column);
  q->group = loop_of(r, r->pair, "group");
  for (int i = 0; i < r->time_count; i++) {
    int axis = t->node[r->time[i]].axis;
    if (extent_of(r, r->time[i]) > 1 &&
        !add_loop(r, &q->time[role_of(r, axis)], axis))
      return false;
  }
  for (int role = AXIS_C; role < AXIS_ROLES; role++) {
    const struct teir_list *side =
        role == AXIS_C ? NULL : side_of(r, product, (enum axis_role)role);
    if (!q->time[role].count)
      q->time[role] = (struct map_nest){1, {{name[role], 1, {0}}}};
    for (int i = 0; side && i < side->count; i++)
      if (!add_loop(r, &q->side[role], side->item[i]))
        return false;
    if (side && !side->count)
      return refuse(r, &t->node[r->product],
                    "the array's product takes axes in M, N and K");
  }
  return true;
}

/* The product's `steps`: how many of k's it takes together. */
static bool join_steps(struct reader *r, struct tile_program *q) {
  const struct teir_node *x = &r->t->node[r->product];
  const char *word = teir_property(r->t, x->primitive, "steps");
  return map_join_steps(q, word ? (int)strtod(word, NULL) : 1) ||
         refuse(r, x,
                "steps that one product takes together are 1 or more of one "
                "loop, in which blocks of k follow each other");
}

/* ---- blocks ---- */

/* A block is contiguous along the innermost axis of one of its roles, or made
 * of words, and moves by words along all others. */
static bool check_block(struct reader *r, struct tile_program *q, int tensor) {
  struct map_transfer *x = &q->transfer[tensor];
  int64_t element = dtype_bytes(x->type);
  int64_t rows = map_pitch(q, tensor, 0), columns = map_pitch(q, tensor, 1);
  x->turned = map_is_turned(q, tensor);
  bool found = (x->turned ? rows : columns) == element || element == WORD;
  for (int which = 0; which < 2; which++) {
    const struct map_nest *n = &q->side[map_roles[tensor][which]];
    for (int i = 0; i < n->count; i++) {
      bool first = i == n->count - 1 && (which == 0) == x->turned;
      if (!first && (n->loop[i].stride_bytes[tensor] % WORD ||
                     n->loop[i].stride_bytes[tensor] < 0))
        found = false;
    }
  }
  if (found)
    return true;
  const struct map_nest *m = &q->side[map_roles[tensor][0]],
                        *n = &q->side[map_roles[tensor][1]];
  return diag_error(r->d, r->t->node[r->product].at,
                    "axes %s and %s: a block of %s is contiguous along one of "
                    "them in device memory, and moves by words of 4 bytes "
                    "along the other",
                    m->loop[m->count - 1].axis, n->loop[n->count - 1].axis,
                    r->t->tensor[x->tensor].id);
}

/* Every block begins with a word of device memory: where loops do not lead to
 * words, descriptors would leave out the bytes by which they miss them. */
static bool check_starts(struct reader *r, const struct tile_program *q,
                         int tensor) {
  const struct map_nest group = {1, {q->group}};
  const struct map_nest *nest[] = {&q->row, &q->column, &group};
  for (int i = 0; i < 3 + AXIS_ROLES; i++) {
    const struct map_nest *n = i < 3 ? nest[i] : &q->time[i - 3];
    for (int k = 0; k < n->count; k++)
      if (n->loop[k].extent > 1 && n->loop[k].stride_bytes[tensor] % WORD)
        return diag_error(r->d, r->t->node[r->product].at,
                          "axis %s moves blocks of %s by %lld bytes; "
                          "descriptors move words of %d",
                          n->loop[k].axis,
                          r->t->tensor[q->transfer[tensor].tensor].id,
                          (long long)n->loop[k].stride_bytes[tensor], WORD);
  }
  return true;
}

/* Sums of their own lie in a core, row-major without gaps. */
static bool check_sums(struct reader *r) {
  const struct teir *t = r->t;
  int64_t stride = dtype_bytes(t->tensor[r->sum].type);
  int product = t->node[r->product].primitive;
  for (int role = AXIS_N; role >= AXIS_M && r->sum != OUT; role--) {
    const struct teir_list *side = side_of(r, product, (enum axis_role)role);
    for (int i = side->count - 1; i >= 0; i--) {
      const struct teir_axis *x = &t->axis[side->item[i]];
      if (x->extent.constant > 1 && x->stride_bytes[r->sum].constant != stride)
        return diag_error(r->d, x->at,
                          "axis %s: a block of sums is row-major and "
                          "contiguous",
                          x->id);
      stride *= x->extent.constant;
    }
  }
  return true;
}

static int64_t reach(const struct map_nest *n, int tensor) {
  int64_t bytes = 0;
  for (int i = 0; i < n->count; i++)
    bytes += (n->loop[i].extent - 1) * n->loop[i].stride_bytes[tensor];
  return bytes;
}

static void fill_transfer(struct reader *r, struct tile_program *q,
                          int tensor) {
  struct map_transfer *x = &q->transfer[tensor];
  x->tensor = tensor < OUT ? r->input[tensor] : OUT;
  x->type = r->t->tensor[x->tensor].type;
  x->bytes = dtype_bytes(x->type) + reach(&q->row, tensor) +
             reach(&q->column, tensor) +
             (q->group.extent - 1) * q->group.stride_bytes[tensor];
  for (int role = AXIS_C; role < AXIS_ROLES; role++)
    x->bytes += reach(&q->time[role], tensor) + reach(&q->side[role], tensor);
  if (map_is_uneven(q)) /* the last step's k that are not there */
    x->bytes -= (q->steps_k * map_nest_extent(&q->side[AXIS_K]) - q->all_k) *
                q->side[AXIS_K].loop[0].stride_bytes[tensor];
  x->bytes = (x->bytes + WORD - 1) / WORD * WORD; /* what is read of the last */
}

static struct teir_finish finish_of(const struct reader *r) {
  struct teir_finish f = {.bias = r->bias >= 0 ? AXIS_N : AXIS_C,
                          .relu = r->relu >= 0};
  const char *nan =
      f.relu ? teir_property(r->t, r->t->node[r->relu].primitive, "nan") : NULL;
  f.keeps_nan = nan && strcmp(nan, "kept") == 0;
  if (r->convert < 0)
    return f;
  int p = r->t->node[r->convert].primitive;
  f.saturate = r->t->primitive[p].op == TEIR_SHIFT;
  if (f.saturate)
    f.shift = atoi(teir_property(r->t, p, "shift"));
  return f;
}

static bool make_grid(const struct reader *r, const struct device *dev,
                      int64_t m, int64_t n, struct map_grid *g) {
  if (m * n > dev->core_rows * dev->columns)
    return false;
  if (!r->apart)
    return map_grid(dev, (int)m, (int)n, r->across, g);
  *g = map_grid_of(dev, &(struct map_form){.apart = true});
  return m == g->rows && n == g->columns;
}

static bool count_loops(const struct reader *r, struct tile_program *q,
                        struct loc at, struct diag *d) {
  const struct {
    const struct map_nest *nest;
    int *count;
  } of[] = {{&q->time[AXIS_C], &q->batch},    {&q->time[AXIS_M], &q->rounds_m},
            {&q->time[AXIS_N], &q->rounds_n}, {&q->time[AXIS_K], &q->steps_k},
            {&q->side[AXIS_M], &q->block_m},  {&q->side[AXIS_N], &q->block_n},
            {&q->side[AXIS_K], &q->block_k}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    int64_t extent = map_nest_extent(of[i].nest);
    if (extent > INT32_MAX)
      return diag_error(d, at, "loops with %lld indices; up to %d are counted",
                        (long long)extent, INT32_MAX);
    *of[i].count = (int)extent;
  }
  q->group_m = (int)q->group.extent;
  int64_t m = map_nest_extent(&q->row), n = map_nest_extent(&q->column);
  if (!make_grid(r, q->device, m, n, &q->grid))
    return diag_error(d, at,
                      "%lld rows by %lld columns of cores; %s has %d by %d, a "
                      "column feeds the row of its number, and rows may share "
                      "two parts of what columns take",
                      (long long)cores_of(r, r->half_row, r->node_row),
                      (long long)cores_of(r, r->half_column, r->node_column),
                      q->device->name, q->device->core_rows,
                      q->device->columns);
  if (r->apart &&
      (q->rounds_m > 1 || q->rounds_n > 1 || q->steps_k > 1 || q->group_m > 1))
    return diag_error(d, at,
                      "a product for each core in %d x %d rounds of %d steps; "
                      "it is one block",
                      q->rounds_m * q->group_m, q->rounds_n, q->steps_k);
  return true;
}

struct tile_program *map_program(struct arena *a, const struct teir *t,
                                 const struct device *dev, struct diag *d) {
  struct reader r = {.t = t,
                     .d = d,
                     .node_row = -1,
                     .node_column = -1,
                     .half_row = -1,
                     .half_column = -1,
                     .pair = -1,
                     .pair_zero = -1,
                     .pair_finish = -1,
                     .zero = -1,
                     .product = -1,
                     .bias = -1,
                     .relu = -1,
                     .added = -1,
                     .convert = -1,
                     .input = {IN0, IN1}};
  struct loc at = {t->file, 0, 0};
  if (t->tensor_count < TENSORS || t->roots.count != 1) {
    diag_error(d, at, "the array takes one schedule tree over in0, in1, out");
    return NULL;
  }
  if (!map_check_axes(t, d) || !read_node(&r, t->roots.item[0], false))
    return NULL;
  if (r.node_row < 0 || r.node_column < 0 || r.product < 0) {
    diag_error(d, at,
               "the schedule places axes on rows, columns and time "
               "(m, n, k) around one Contraction");
    return NULL;
  }
  /* an array of more columns than rows may have either around the other */
  r.across = r.across && r.bias < 0 && dev->columns > dev->core_rows &&
             cores_of(&r, r.half_column, r.node_column) >
                 cores_of(&r, r.half_row, r.node_row) &&
             !moves_all(&r, r.node_row);
  struct tile_program *q = arena_alloc(a, sizeof *q);
  q->device = dev;
  if (!check_roles(&r) || !check_group(&r) || !check_operands(&r) ||
      !check_sides(&r) || !check_sums(&r) || !check_bias(&r) ||
      !read_loops(&r, q) || !join_steps(&r, q) || !count_loops(&r, q, at, d))
    return NULL;
  for (int i = 0; i < TENSORS; i++) {
    fill_transfer(&r, q, i);
    if (!check_block(&r, q, i) || !check_starts(&r, q, i))
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
  map_pad_sides(q);
  if (map_is_uneven(q) && !map_ends_well(q)) {
    refuse(&r, &t->node[r.product],
           "a last step of k that has less is of whole small matrices, without "
           "a bias, on a grid whose inputs have channels of their own");
    return NULL;
  }
  const struct map_transfer *x = q->transfer;
  q->turns_out =
      map_turns_out((const enum dtype[]){x[IN0].type, x[IN1].type, x[OUT].type},
                    x[IN0].turned, x[IN1].turned, x[OUT].turned);
  if (!map_place_blocks(q, at, d))
    return NULL;
  q->joins = map_joins(q);
  return q;
}
