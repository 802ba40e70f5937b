/* cut.c -- how the axes of tensors that lie in place are cut into blocks,
 * groups, cores and rounds, so that blocks end where the tensors do.
 */
#include "choose.h"

#include <assert.h>

static int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static bool is_exact(const struct array *s, enum axis_role role) {
  for (int t = 0; t < TENSORS; t++)
    for (int j = 0; j < 2; j++)
      if (map_roles[t][j] == role && s->form->layout[t].in_place)
        return true;
  return false;
}

/* What a core takes of a role: a block, made of the axis with which it begins
 * and, where that is too short, some of another one; and a group of blocks.
 * Cores share one axis. */
struct dealing {
  enum axis_role role;
  int64_t block, more;  /* indices of the first axis and of another one */
  int begins, other;    /* these axes */
  int64_t group, cores; /* and how many are dealt out along which axes */
  int grouped, shared;
  int64_t overlap; /* of a group's blocks */
  int64_t unit;    /* by which blocks move along the first axis */
};

static int64_t dealt(const struct dealing *x, int axis) {
  int64_t side =
      (axis == x->begins ? x->block : 1) * (axis == x->other ? x->more : 1);
  return axis == x->grouped ? x->group * (side - x->overlap) + x->overlap
                            : side;
}

/* Where blocks of an axis begin; false: they do not end where it does.  Cores
 * may be in halves where elements of out are words; smaller ones gain less than
 * they lose where inputs stay in place that had better be packed.  A column's
 * two parts of n are in the same half. */
static bool share_of(const struct array *s, const struct dealing *x, int i,
                     int rounds, struct map_share *share) {
  int64_t extent = s->work->axis[x->role][i].extent, take = dealt(x, i),
          unit = i == x->begins ? x->unit : 1;
  int cores = i == x->shared ? (int)x->cores : 1;
  enum { WORD = 4 };
  bool halves = x->role != AXIS_K && !s->form->converts &&
                dtype_bytes(s->problem->type[OUT]) == WORD &&
                cores / 2 % s->grid.split == 0;
  return (halves ? map_share_halves : map_share)(extent, cores, rounds, take,
                                                 unit, share);
}

/* Rounds of a dealing; 0: blocks do not end where an axis does. */
static int64_t count_dealing(const struct array *s, const struct dealing *x) {
  int64_t all = 1;
  for (int i = 0; i < s->work->count[x->role]; i++) {
    int64_t extent = s->work->axis[x->role][i].extent, take = dealt(x, i);
    int cores = i == x->shared ? (int)x->cores : 1;
    int64_t rounds = div_up(extent, take * cores);
    struct map_share share;
    if (rounds > MAX_STEPS || !share_of(s, x, i, (int)rounds, &share))
      return 0;
    all *= rounds;
  }
  return all > MAX_STEPS ? 0 : all;
}

/* The same where a group's blocks, one after the other along the first axis,
 * may overlap, too: as little as possible.  Their sums grow side by side, so
 * these are no elements of out. */
static int64_t count_overlapping(const struct array *s, struct dealing *x) {
  bool may =
      x->grouped == x->begins && x->other < 0 && map_has_sums(s->problem);
  int64_t rounds = 0;
  for (x->overlap = 0; !rounds && x->overlap <= (may ? x->block / 2 : 0);
       x->overlap += x->unit)
    rounds = count_dealing(s, x);
  x->overlap -= x->unit;
  return rounds;
}

/* Of a block those elements that leave as many behind an axis's blocks as words
 * have, where the axis does not end with one: the last word's others are read
 * but come to nothing.  0: the axis is too short. */
static int64_t words_end(int64_t block, int64_t whole, int64_t unit) {
  int64_t take = block - unit + 1 + ((whole - block - 1) % unit + unit) % unit;
  assert(take > block - unit && take <= block && (whole - take) % unit == 0);
  return take <= whole ? take : 0;
}

/* The dealing with fewest rounds; false: there is none. */
static bool deal(const struct array *s, enum axis_role role, int block,
                 int group, int cores, int small, struct dealing *best,
                 int64_t *rounds) {
  const struct map_axis *axis = s->work->axis[role];
  int count = s->work->count[role], first = s->begins[role];
  int64_t whole = axis[first].extent;
  struct dealing x = {.role = role,
                      .block = block < whole ? block : whole,
                      .begins = first,
                      .other = -1,
                      .group = group,
                      .cores = cores,
                      .unit = role == AXIS_K ? 1 : s->unit[role == AXIS_N]};
  bool less = count == 1 && block == small && whole < small; /* is all of it */
  bool ends = count == 1 && group == 1 && whole % x.unit && !less;
  if (ends)
    x.block = words_end(block, whole, x.unit);
  less |= ends && x.block > 0;
  if (!x.block)
    return false;
  x.more = less ? 1 : block / x.block;
  if ((x.block * x.more != block && !less) ||
      (x.more > 1 && x.block % small && small % x.block))
    return false;
  *rounds = 0;
  for (int o = 0; o < (x.more > 1 ? count : 1); o++)
    for (int g = 0; g < (group > 1 ? count : 1); g++)
      for (int c = 0; c < count; c++) {
        x.other = x.more > 1 ? o : -1;
        x.grouped = group > 1 ? g : -1;
        x.shared = c;
        if (x.other == first)
          continue;
        int64_t all = count_overlapping(s, &x);
        if (all && (!*rounds || all < *rounds)) {
          *rounds = all;
          *best = x;
        }
      }
  return *rounds > 0;
}

void map_cut_add(struct map_cut *c, int axis, enum map_place place,
                 int64_t extent, int64_t step) {
  bool none = extent == 1 && place != MAP_CORES && place != MAP_BLOCK;
  assert(c->count < MAP_PARTS);
  if (!none)
    c->part[c->count++] = (struct map_part){axis, place, extent, step};
}

/* Rounds of blocks of all cores, one behind the other, in two halves as far
 * apart as the extent asks; false: their number is odd, or words are taken
 * apart. */
static bool turns_in_halves(const struct dealing *x, int64_t extent, int rounds,
                            int64_t take, struct map_share *turn) {
  int64_t all = take * x->cores, part = rounds / 2 * all;
  *turn = (struct map_share){all, take, extent - part};
  return rounds % 2 == 0 && take % x->unit == 0 && turn->half > 0 &&
         turn->half <= part && turn->half % x->unit == 0;
}

/* Whether cores take turns at an axis, in rounds that are `turn.core` apart, of
 * blocks that are `turn.round` apart: closer to each other than parts would be,
 * of which some are too far apart for a descriptor. */
static bool takes_turns(const struct array *s, const struct dealing *x, int i,
                        int rounds, int64_t part, struct map_share *turn) {
  const struct map_axis *a = &s->work->axis[x->role][i];
  int64_t far = part * a->stride_bytes[OUT] / 4, take = dealt(x, i);
  if (i != x->begins) {
    *turn = (struct map_share){take * x->cores, take, 0};
    return a->extent % (take * x->cores) == 0;
  }
  return far > s->at->device->tile[TILE_SHIM].max_step_words &&
         (map_share(a->extent, rounds, (int)x->cores, take, x->unit, turn) ||
          turns_in_halves(x, a->extent, rounds, take, turn));
}

static void cut_axis(const struct array *s, const struct dealing *x, int i,
                     struct map_cut *c) {
  int64_t extent = s->work->axis[x->role][i].extent, take = dealt(x, i);
  int cores = i == x->shared ? (int)x->cores : 1;
  int rounds = (int)div_up(extent, take * cores);
  int64_t side =
      i == x->grouped ? (take - x->overlap) / x->group + x->overlap : take;
  struct map_share share;
  bool good = share_of(s, x, i, rounds, &share);
  assert(good);
  if (!good)
    return;
  bool shared = i == x->shared && x->role != AXIS_K;
  struct map_share turn;
  if (shared && takes_turns(s, x, i, rounds, share.core, &turn)) {
    if (turn.half)
      map_cut_add(c, i, MAP_TIME, 2, turn.half);
    map_cut_add(c, i, MAP_TIME, turn.half ? rounds / 2 : rounds, turn.core);
    map_cut_add(c, i, MAP_CORES, cores, turn.round);
  } else {
    if (shared && share.half)
      map_cut_add(c, i, MAP_CORES, 2, share.half);
    if (shared)
      map_cut_add(c, i, MAP_CORES, share.half ? cores / 2 : cores, share.core);
    map_cut_add(c, i, MAP_TIME, rounds, share.round);
  }
  if (i == x->grouped)
    map_cut_add(c, i, MAP_GROUP, x->group, side - x->overlap);
  if (i == x->begins || i == x->other)
    map_cut_add(c, i, MAP_BLOCK, side, 1);
}

/* The axis with which blocks begin is cut last: its loops are the innermost. */
static void cut_role(const struct array *s, const struct dealing *x,
                     struct map_cut *c) {
  c->count = 0;
  for (int i = 0; i < s->work->count[x->role]; i++)
    if (i != x->begins)
      cut_axis(s, x, i, c);
  cut_axis(s, x, x->begins, c);
}

/* Whether an input is contiguous along k, as a packed in0 is. */
static bool is_along_k(const struct array *s, int tensor) {
  const struct map_layout *x = &s->form->layout[tensor];
  return tensor == IN0 ? !x->in_place || !x->turned : x->turned;
}

/* Whether so many k of a block are words in every input that is contiguous
 * along k, as packed ones of the rows' input are, too. */
static bool is_words(const struct array *s, int64_t k) {
  enum { WORD = 4 };
  for (int t = IN0; t < OUT; t++)
    if (is_along_k(s, t) && k * dtype_bytes(s->problem->type[t]) % WORD)
      return false;
  return true;
}

/* Whether a mem tile's reader counts all k of a row of small matrices, which
 * zeros follow. */
static bool counts_k(const struct array *s, const struct map_blocking *b) {
  enum { WORD = 4 };
  const int side[] = {[IN0] = s->mac.m, [IN1] = s->mac.n};
  for (int t = IN0; t < OUT; t++)
    if (!is_along_k(s, t) &&
        b->block_k * side[t] * dtype_bytes(s->problem->type[t]) / WORD >
            s->at->device->tile[TILE_MEM].max_wrap)
      return false;
  return true;
}

bool array_pads(const struct array *s, const struct map_blocking *b,
                int64_t k) {
  const struct map_layout *in0 = &s->form->layout[IN0];
  return is_words(s, k) && counts_k(s, b) &&
         map_can_cut(s->at->device, &s->mac, s->problem->type[IN0],
                     in0->in_place && in0->turned, b->block_m, b->block_k);
}

/* The most k for a block that zeros fill up; 0: there are none. */
static int64_t padded_k(const struct array *s, const struct map_blocking *b) {
  int64_t extent = s->work->axis[AXIS_K][s->begins[AXIS_K]].extent;
  assert(extent <= UINT32_MAX); /* short divisions: there are many */
  for (int k = b->block_k - 1; k > b->block_k - s->mac.k; k--)
    if ((uint32_t)extent % (uint32_t)k == 0 && array_pads(s, b, k))
      return k;
  return 0;
}

/* Whether the last step may have less: of one axis, along which both inputs lie
 * in place, on channels of their own. */
enum { MOST_SPARE = 32 }; /* of k, in the only step */
static bool may_end_short(const struct array *s, const struct map_blocking *b) {
  const struct map_layout *x = s->form->layout;
  const struct teir_problem *p = s->problem;
  int64_t extent = p->extent[AXIS_K];
  bool whole = extent % s->mac.k == 0;
  return s->work->count[AXIS_K] == 1 && s->more_k <= 1 &&
         b->block_k % s->mac.k == 0 &&
         (whole ? extent > b->block_k
                : b->block_k - extent < MOST_SPARE && counts_k(s, b) &&
                      map_may_end_inside(s->at->device, &s->mac, p->type[IN0],
                                         x[IN0].turned, b->block_m, b->block_k,
                                         b->group_m)) &&
         b->block_m % s->mac.m == 0 && b->block_n % s->mac.n == 0 &&
         x[IN0].in_place && x[IN1].in_place && s->grid.split == 1 &&
         !p->finish.bias &&
         !kernel_gemm_by_blocks(map_isa(s->at->device), p->type[IN0],
                                p->type[IN1], p->acc);
}

/* K in blocks that end where its axes do, from one axis or, where that has no
 * such blocks, from two: then as much of the first as divides them.  Else the
 * last step has less. */
static bool deal_k(const struct array *s, struct map_blocking *b,
                   struct dealing *best) {
  int block = b->block_k;
  const struct map_axis *axis = s->work->axis[AXIS_K];
  int first = s->begins[AXIS_K];
  int64_t extent = axis[first].extent;
  *best = (struct dealing){.role = AXIS_K,
                           .block = block,
                           .more = 1,
                           .begins = first,
                           .other = -1,
                           .group = 1,
                           .cores = 1,
                           .grouped = -1,
                           .shared = -1,
                           .unit = 1};
  if (s->more_k <= 1 && extent % block == 0)
    return true;
  bool given = s->more_k > 1;
  int least = given ? s->more_k : 2, most = given ? s->more_k : block / 2;
  for (int more = least; more <= most && s->work->count[AXIS_K] > 1; more++) {
    int part = block / more;
    if (part * more != block || part < 2 || extent % part ||
        (part % s->mac.k && s->mac.k % part))
      continue;
    best->block = part;
    best->more = more;
    for (int i = 0; i < s->work->count[AXIS_K]; i++)
      if (i != first && axis[i].extent % more == 0)
        return best->other = i, true;
  }
  best->block = s->more_k > 1 ? 0 : padded_k(s, b);
  best->more = 1;
  b->valid_k = (int)best->block;
  if (best->block || !may_end_short(s, b))
    return best->block > 0;
  best->block = block;
  b->last_k = (int)(extent % block);
  return true;
}

static void cut_k(const struct array *s, const struct dealing *x,
                  struct map_blocking *b) {
  struct map_cut *c = &b->form.cut[AXIS_K];
  c->count = 0;
  if (b->last_k) {
    map_cut_add(c, 0, MAP_TIME, b->steps_k, b->block_k);
    map_cut_add(c, 0, MAP_BLOCK, b->block_k, 1);
  } else {
    cut_role(s, x, c);
  }
  const struct map_part *block = &c->part[c->count - 1], *step = NULL;
  int blocks = 0;
  for (int i = 0; i < c->count; i++) {
    blocks += c->part[i].place == MAP_BLOCK;
    if (c->part[i].place == MAP_TIME)
      step = &c->part[i];
  }
  b->form.inner_k = step ? (int)step->extent : 1;
  b->form.broken_k =
      blocks > 1 ||
      (step && (step->axis != block->axis || step->step != block->extent));
}

static int count_sides(const struct map_cut *c) {
  int count = 0;
  for (int i = 0; i < c->count; i++)
    count += c->part[i].place == MAP_BLOCK;
  return count;
}

/* Whether a group's blocks leave as one (struct map_form). */
static bool is_close(const struct array *s, const struct map_blocking *b) {
  const struct map_cut *m = &b->form.cut[AXIS_M];
  int64_t row = 0, group = 0;
  for (int i = 0; i < m->count; i++) {
    int64_t bytes = m->part[i].step *
                    s->work->axis[AXIS_M][m->part[i].axis].stride_bytes[OUT];
    if (m->part[i].place == MAP_CORES)
      row = bytes;
    if (m->part[i].place == MAP_GROUP)
      group = bytes;
  }
  return s->form->layout[OUT].in_place && !s->grid.across && group < row &&
         !map_clips(&s->mac, b->block_m, b->block_n) && count_sides(m) == 1 &&
         count_sides(&b->form.cut[AXIS_N]) == 1;
}

bool array_cut_k(const struct array *s, struct map_blocking *b) {
  struct dealing k;
  b->valid_k = b->last_k = 0;
  b->steps_k = (int)div_up(s->problem->extent[AXIS_K], b->block_k);
  if (!s->work || !is_exact(s, AXIS_K))
    return true;
  if (!deal_k(s, b, &k))
    return false;
  b->steps_k = (int)div_up(s->problem->extent[AXIS_K], k.block * k.more);
  cut_k(s, &k, b);
  return true;
}

bool array_cut_sides(const struct array *s, struct map_blocking *b) {
  const struct map_grid *g = &s->grid;
  const int64_t *extent = s->problem->extent;
  struct dealing m, n;
  int64_t rounds;
  b->rounds_m =
      (int)div_up(extent[AXIS_M], (int64_t)b->block_m * b->group_m * g->m);
  b->rounds_n = (int)div_up(extent[AXIS_N], (int64_t)b->block_n * g->n);
  if (!s->work)
    return true;
  if (is_exact(s, AXIS_M)) {
    if (!deal(s, AXIS_M, b->block_m, b->group_m, g->m, s->mac.m, &m, &rounds))
      return false;
    b->rounds_m = (int)rounds;
    cut_role(s, &m, &b->form.cut[AXIS_M]);
  }
  if (is_exact(s, AXIS_N)) {
    if (!deal(s, AXIS_N, b->block_n, 1, g->n, s->mac.n, &n, &rounds))
      return false;
    b->rounds_n = (int)rounds;
    cut_role(s, &n, &b->form.cut[AXIS_N]);
  }
  b->form.close_out = b->group_m > 1 && is_close(s, b);
  return true;
}
