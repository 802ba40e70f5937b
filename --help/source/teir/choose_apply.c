/* choose_apply.c -- a choice in; the schedule that it stands for out.
 *
 * An axis with block b over L lanes is cut into ranges: whole rounds of L
 * blocks, the blocks that are left for fewer lanes, and the remainder of a
 * block. Every combination of ranges of M and N is one branch, ranges of K
 * follow each other inside; together they cover the work exactly once.
 */
#include "teir_build.h"
#include "teir_choose.h"
#include "teir_problem.h"

enum { RANGES = 3 };

/* outer x lanes x inner indices from `start` on; axes, -1 for extent 1. */
struct range {
  int64_t start, outer, lanes, inner;
  int axis_outer, axis_lane, axis_inner;
};

struct ranges {
  int count;
  struct range range[RANGES];
};

struct apply {
  struct arena *a;
  const struct teir_choice *c;
  struct teir_roles roles;
  struct teir *t; /* being built */
};

static void add_range(struct ranges *p, int64_t *start, int64_t outer,
                      int64_t lanes, int64_t inner) {
  if (outer * lanes * inner == 0)
    return;
  p->range[p->count++] =
      (struct range){*start, outer, lanes, inner, -1, -1, -1};
  *start += outer * lanes * inner;
}

static struct ranges cut(int64_t extent, int64_t block, int64_t lanes) {
  struct ranges p = {0};
  int64_t start = 0;
  block = block < extent ? block : extent;
  int64_t blocks = extent / block;
  lanes = lanes < blocks ? lanes : blocks;
  add_range(&p, &start, blocks / lanes, lanes, block);
  add_range(&p, &start, 1, blocks % lanes, block);
  add_range(&p, &start, 1, 1, extent % block);
  return p;
}

/* A part of axis `x`: `extent` steps of `step` indices; *offset, given once
 * per range, is where the range starts. */
static int part_axis(struct apply *b, int x, const char *suffix, int64_t extent,
                     int64_t step, int64_t *start) {
  const struct teir_axis from = b->c->program->axis[x];
  const char *id = arena_printf(b->a, "%s%s", from.id, suffix);
  int to = teir_add_axis(b->a, b->t, teir_fresh_axis(b->a, b->t, id),
                         teir_constant(extent));
  for (int j = 0; j < 3; j++) {
    int64_t stride = from.stride_bytes[j].constant;
    b->t->axis[to].stride_bytes[j] = teir_constant(stride * step);
    b->t->axis[to].offset_bytes[j] = teir_constant(
        *start < 0 ? 0 : from.offset_bytes[j].constant + stride * *start);
  }
  *start = -1;
  return to;
}

/* Ranges of the axis that blocks are cut from: the inner axis belongs to the
 * primitive and carries the start. */
static void give_block_axes(struct apply *b, int x, struct ranges *p,
                            bool lanes) {
  for (int i = 0; i < p->count; i++) {
    struct range *y = &p->range[i];
    int64_t start = y->start;
    y->axis_inner = part_axis(b, x, ".i", y->inner, 1, &start);
    if (lanes)
      y->axis_lane = part_axis(b, x, ".lane", y->lanes, y->inner, &start);
    y->axis_outer =
        part_axis(b, x, ".o", y->outer, y->inner * y->lanes, &start);
  }
}

/* Ranges of another axis that goes over cores, index by index. */
static void give_lane_axes(struct apply *b, int x, struct ranges *p) {
  for (int i = 0; i < p->count; i++) {
    struct range *y = &p->range[i];
    int64_t start = y->start;
    y->axis_lane = part_axis(b, x, ".lane", y->lanes, 1, &start);
    if (y->outer > 1)
      y->axis_outer = part_axis(b, x, ".o", y->outer, y->lanes, &start);
  }
}

/* A loop inside `parent` (-1: the roots); an axis of -1 needs none. */
static int add_loop(struct apply *b, int parent, int axis,
                    enum teir_place place) {
  if (axis < 0)
    return parent;
  int n = teir_add_iteration(
      b->a, b->t, teir_fresh_node(b->a, b->t, b->t->axis[axis].id), axis);
  b->t->node[n].place = place;
  b->t->node[n].policy = place == TEIR_TIME ? TEIR_SEQUENTIAL : TEIR_PARALLEL;
  teir_list_add(b->a, parent < 0 ? &b->t->roots : &b->t->node[parent].children,
                n);
  return n;
}

static void add_call(struct apply *b, int parent, const char *id,
                     enum teir_op op, const struct range *const *block) {
  int p =
      teir_add_primitive(b->a, b->t, teir_fresh_primitive(b->a, b->t, id), op);
  for (int r = 0; r < (op == TEIR_CONTRACTION ? TEIR_ROLES : TEIR_K); r++)
    if (block[r])
      teir_list_add(b->a, &b->t->primitive[p].role[r], block[r]->axis_inner);
  if (op == TEIR_CONTRACTION && b->roles.acc)
    teir_add_property(b->a, b->t, p, "acc", b->roles.acc);
  int n = teir_add_invocation(b->a, b->t, teir_fresh_node(b->a, b->t, id), p);
  teir_list_add(b->a, parent < 0 ? &b->t->roots : &b->t->node[parent].children,
                n);
}

/* Loops in time over the axes of a role that no range stands for; counts
 * them. */
static int add_others(struct apply *b, int parent, enum axis_role role,
                      int *loops) {
  enum teir_role r = teir_role_of(role);
  for (int i = 0; i < b->roles.count; i++) {
    int x = b->roles.axis[i];
    bool taken = role != AXIS_C &&
                 (x == b->c->axis[r] || (r != TEIR_K && x == b->c->spatial[r]));
    if (b->roles.role[i] != role || taken)
      continue;
    int64_t start = 0, extent = b->c->program->axis[x].extent.constant;
    parent =
        add_loop(b, parent, part_axis(b, x, "", extent, 1, &start), TEIR_TIME);
    ++*loops;
  }
  return parent;
}

/* The loop over a range's rounds.  One of a single round is left out if the
 * role has another loop in time: each branch has at least one per role. */
static int add_rounds(struct apply *b, int parent, const struct range *block,
                      int loops) {
  return block && (block->outer > 1 || loops == 0)
             ? add_loop(b, parent, block->axis_outer, TEIR_TIME)
             : parent;
}

/* One branch: spatial loops, batch and other loops, rounds, Zero, K. */
static void add_branch(struct apply *b, const struct range *const *block,
                       const struct range *const *lane, struct ranges *k) {
  enum teir_role rows = b->c->over_rows;
  enum teir_role columns = (enum teir_role)(TEIR_N - rows);
  int parent = -1, batch = 0, sums = 0;
  if (lane[rows])
    parent = add_loop(b, parent, lane[rows]->axis_lane, TEIR_ROWS);
  if (lane[columns])
    parent = add_loop(b, parent, lane[columns]->axis_lane, TEIR_COLUMNS);
  parent = add_others(b, parent, AXIS_C, &batch);
  for (int r = TEIR_M; r <= TEIR_N; r++) {
    int loops = 0;
    parent = add_others(b, parent, (enum axis_role)(AXIS_M + r), &loops);
    if (lane[r] != block[r] && lane[r]->axis_outer >= 0) {
      parent = add_loop(b, parent, lane[r]->axis_outer, TEIR_TIME);
      loops++;
    }
    parent = add_rounds(b, parent, block[r], loops);
  }
  if (!b->roles.problem.accumulate)
    add_call(b, parent, "zero", TEIR_ZERO, block);
  parent = add_others(b, parent, AXIS_K, &sums);
  for (int i = 0; i < k->count || i == 0; i++) {
    const struct range *range = k->count ? &k->range[i] : NULL;
    const struct range *all[TEIR_ROLES] = {block[TEIR_M], block[TEIR_N], range};
    add_call(b, add_rounds(b, parent, range, sums), "product", TEIR_CONTRACTION,
             all);
  }
}

/* What a role is cut into: the block's axis, and the axis over cores. */
struct cuts {
  struct ranges block, lane;
  bool one_axis;
};

static struct cuts cut_role(struct apply *b, enum teir_role r) {
  const struct teir_choice *c = b->c;
  struct cuts p = {.one_axis = r == TEIR_K || c->spatial[r] == c->axis[r]};
  if (c->axis[r] >= 0) {
    p.block = cut(c->program->axis[c->axis[r]].extent.constant, c->block[r],
                  p.one_axis && r != TEIR_K ? c->lanes[r] : 1);
    give_block_axes(b, c->axis[r], &p.block, p.one_axis && r != TEIR_K);
  }
  if (!p.one_axis) {
    p.lane =
        cut(c->program->axis[c->spatial[r]].extent.constant, 1, c->lanes[r]);
    give_lane_axes(b, c->spatial[r], &p.lane);
  }
  return p;
}

static const struct range *at(const struct ranges *p, int i) {
  return p->count ? &p->range[i] : NULL;
}

static int at_least_one(int n) { return n ? n : 1; }

struct teir *teir_choice_apply(struct arena *a, const struct teir_choice *c,
                               struct diag *d) {
  struct apply b = {.a = a, .c = c, .t = teir_empty(a, c->program->file)};
  if (!teir_roles_read(a, c->program, &b.roles, d))
    return NULL;
  for (int j = 0; j < 3; j++)
    teir_add_tensor(a, b.t, c->program->tensor[j].id,
                    c->program->tensor[j].type);
  struct cuts m = cut_role(&b, TEIR_M), n = cut_role(&b, TEIR_N);
  struct cuts k = cut_role(&b, TEIR_K);
  for (int i = 0; i < at_least_one(m.block.count); i++)
    for (int j = 0; j < at_least_one(n.block.count); j++)
      for (int x = 0; x < at_least_one(m.lane.count); x++)
        for (int y = 0; y < at_least_one(n.lane.count); y++) {
          const struct range *block[] = {at(&m.block, i), at(&n.block, j)};
          const struct range *lane[] = {m.one_axis ? block[0] : at(&m.lane, x),
                                        n.one_axis ? block[1] : at(&n.lane, y)};
          add_branch(&b, block, lane, &k.block);
        }
  teir_compact_axes(b.t);
  return teir_verify(b.t, d) ? b.t : NULL;
}
