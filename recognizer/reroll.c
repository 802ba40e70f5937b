/* reroll.c -- loops that were unrolled by hand become loops again.
 *
 *     s0 += a[k]*b[k]; s1 += a[k+1]*b[k+1]; ..  c = s0 + s1 + ..
 *     c[i][j] = ..; c[i][j+1] = ..; c[i+1][j] = ..; c[i+1][j+1] = ..
 *
 * What belongs together has the same loops, tensors and strides, and differs in
 * where it starts only: a point for each, with two coordinates for each tensor,
 * rows and bytes.  Points that lie as the iterations of nested loops are those
 * loops: the first two in ascending order give the innermost step; as long as
 * whole runs of it are repeated, the starts of the runs are points of the loops
 * around.  A step goes by bytes, or by one row of a pitch that the program
 * knows.
 *
 * What a loop that was unrolled leaves, in a loop that goes on where it ended,
 * is the same loop if both have the same products of each number:
 *
 *     for (; k + 1 < n; k += 2) s += a[k]*b[k] + a[k+1]*b[k+1];
 *     for (; k < n; k++) s += a[k]*b[k]; */
#include "match.h"

#include <string.h>

static bool follows(int64_t *const *point, int i, int j, const int64_t *step,
                    int64_t times, int coordinates) {
  for (int c = 0; c < coordinates; c++)
    if ((uint64_t)point[j][c] - (uint64_t)point[i][c] !=
        (uint64_t)step[c] * (uint64_t)times)
      return false;
  return true;
}

/* Does every run of `length` points go by `step`? */
static bool runs_of(int64_t *const *point, int count, int length,
                    const int64_t *step, int coordinates) {
  for (int i = 0; i < count; i++)
    if (!follows(point, i - i % length, i, step, i % length, coordinates))
      return false;
  return true;
}

/* Evenly spaced points, and the points at which such runs of them start. */
struct run {
  int64_t length;
  const int64_t *step;
};

static int find_runs(struct arena *a, int64_t *const *point, int count,
                     int coordinates, struct run *run) {
  assert(count > 0 && coordinates > 0);
  if (count == 1)
    return 0;
  int64_t *step = arena_array(a, (size_t)coordinates, sizeof *step);
  for (int c = 0; c < coordinates; c++)
    step[c] = (int64_t)((uint64_t)point[1][c] - (uint64_t)point[0][c]);
  for (int length = count; length > 1; length--) {
    if (count % length || !runs_of(point, count, length, step, coordinates))
      continue;
    int64_t **start = arena_array(a, (size_t)(count / length), sizeof *start);
    for (int i = 0; i < count / length; i++)
      start[i] = point[i * length];
    int outer = find_runs(a, start, count / length, coordinates, run);
    if (outer < 0 || outer == REROLLED_MAX)
      return -1;
    run[outer] = (struct run){length, step};
    return outer + 1;
  }
  return -1;
}

static bool find_stride(const struct match *m, int tensor, const int64_t *step,
                        struct value *stride) {
  int64_t rows = step[0], bytes = step[1];
  *stride = rows ? (struct value){0, m->nest->pitch[tensor]} : value_of(bytes);
  return rows == 0 || (rows == 1 && bytes == 0);
}

/* Of points whose address i lies in tensor[i]; -1: they are no loops. */
static int reroll_points(const struct match *m, int64_t *const *point,
                         int count, const int *tensor, int addresses,
                         struct rerolled *rerolled) {
  struct run run[REROLLED_MAX];
  int runs = find_runs(m->arena, point, count, 2 * addresses, run);
  int64_t points = 1; /* each in one iteration of all loops */
  for (int r = 0; r < runs; r++)
    points *= run[r].length;
  assert(runs < 0 || (runs <= REROLLED_MAX && points == count));
  for (int r = 0; r < runs; r++) {
    struct value *stride =
        arena_array(m->arena, (size_t)addresses, sizeof *stride);
    for (int i = 0; i < addresses; i++)
      if (!find_stride(m, tensor[i], run[r].step + (ptrdiff_t)2 * i,
                       &stride[i]))
        return -1;
    rerolled[r] = (struct rerolled){run[r].length, stride};
  }
  return runs;
}

static void put_start(int64_t *point, int address, int64_t rows,
                      int64_t bytes) {
  point[2 * address] = rows;
  point[2 * address + 1] = bytes;
}

static void put_access(int64_t *point, int address,
                       const struct nest_access *x) {
  put_start(point, address, x->rows, x->offset_bytes);
}

/* ---- sums ---- */

static bool same_rerolled(const struct sum *x, const struct sum *y) {
  if (x->rerolled_count != y->rerolled_count)
    return false;
  for (int i = 0; i < x->rerolled_count; i++) {
    const struct value *of_x = x->rerolled[i].stride_bytes;
    const struct value *of_y = y->rerolled[i].stride_bytes;
    if (x->rerolled[i].steps != y->rerolled[i].steps ||
        !value_equal(of_x[0], of_y[0]) || !value_equal(of_x[1], of_y[1]))
      return false;
  }
  return true;
}

static bool same_map(const struct calc *x, const struct calc *y) {
  return x && y ? calc_equal(x, y) : x == y;
}

static bool operands_alike(const struct sum *x, const struct sum *y) {
  for (int t = 0; t < 2; t++)
    if (!term_alike(x->in[t], y->in[t]) || !same_map(x->map[t], y->map[t]))
      return false;
  return true;
}

/* The same but for starts; swaps y's operands if that helps. */
static bool alike(const struct sum *x, struct sum *y) {
  if (x->type != y->type || x->loops != y->loops || x->parts != y->parts ||
      !same_rerolled(x, y))
    return false;
  if (operands_alike(x, y))
    return true;
  const struct term *in = y->in[0];
  const struct calc *map = y->map[0];
  y->in[0] = y->in[1], y->map[0] = y->map[1];
  y->in[1] = in, y->map[1] = map;
  return y->rerolled_count == 0 && operands_alike(x, y);
}

bool sum_equal(const struct sum *x, const struct sum *y) {
  if (x->type != y->type || x->loops != y->loops || x->parts != y->parts ||
      !same_rerolled(x, y) || x->in_count != y->in_count)
    return false;
  for (int t = 0; t < x->in_count; t++)
    if (!term_equal(x->in[t], y->in[t]) || !same_map(x->map[t], y->map[t]))
      return false;
  return true;
}

/* Only products of two factors are rerolled. */
static bool has_two_factors(const struct match *m, const struct sum *s) {
  return s->in_count == 2 ||
         verdict_decline(m->verdict, RULE_THREE_FACTORS, s->at,
                         "several sums of products of three factors");
}

/* Behind its coordinates, a point has the index of what it stands for. */
static int64_t **new_points(struct arena *a, int count, int coordinates) {
  int64_t **point = arena_array(a, (size_t)count, sizeof *point);
  for (int i = 0; i < count; i++) {
    point[i] = arena_array(a, (size_t)coordinates + 1, sizeof **point);
    point[i][coordinates] = i;
  }
  return point;
}

static bool before(const int64_t *x, const int64_t *y, int coordinates) {
  int c = 0;
  while (c < coordinates && x[c] == y[c])
    c++;
  return c < coordinates && x[c] < y[c];
}

static void sort_points(int64_t **point, int count, int coordinates) {
  for (int i = 1; i < count; i++) {
    int64_t *p = point[i];
    int at = i;
    for (; at > 0 && before(p, point[at - 1], coordinates); at--)
      point[at] = point[at - 1];
    point[at] = p;
  }
}

enum { POINTS_MAX = 1024 };

/* The element that `in` is in iteration `number` of `loop`, with which it then
 * no longer moves; NULL: not at a constant distance. */
static const struct term *in_iteration(const struct match *m,
                                       const struct term *in, int loop,
                                       int64_t number) {
  struct nest_access *x = arena_alloc(m->arena, sizeof *x);
  size_t loops = (size_t)m->nest->loop_count;
  int64_t way;
  *x = *in->access;
  x->stride_bytes =
      arena_copy(m->arena, x->stride_bytes, loops, loops, sizeof(struct value));
  if (x->stride_bytes[loop].symbol >= 0 ||
      __builtin_mul_overflow(x->stride_bytes[loop].constant, number, &way) ||
      __builtin_add_overflow(x->offset_bytes, way, &x->offset_bytes))
    return NULL;
  x->stride_bytes[loop] = value_of(0);
  const struct term *t =
      term_load(m->arena, m->nest, x, in->conditional, in->at);
  for (int i = 0; i < in->arg_count; i++) {
    if (in->arg[i]->moves & loop_bit(loop))
      return NULL;
    t = term_within(m->arena, t, in->arg[i]);
  }
  assert(t->op == TERM_LOAD && !(t->moves & loop_bit(loop)));
  return t;
}

/* Replaces every sum that has the loop by one for each of its iterations. */
static bool write_out(const struct match *m, int loop, struct sum *sum,
                      int *count) {
  const struct nest_loop *l = &m->nest->loop[loop];
  assert(*count > 0 && *count <= POINTS_MAX && l->step >= 1);
  for (int i = *count - 1; i >= 0; i--) {
    struct sum whole = sum[i];
    if (!(whole.loops & loop_bit(loop)))
      continue;
    bool part = whole.parts & loop_bit(loop);
    struct value first = part ? nest_first(m->nest, loop) : value_of(0);
    if (l->extent.symbol >= 0 || first.symbol >= 0)
      return false;
    whole.loops &= ~loop_bit(loop);
    whole.parts &= ~loop_bit(loop);
    sum[i] = sum[--*count];
    for (int64_t k = first.constant; k < l->extent.constant;
         k += part ? l->step : 1) {
      if (*count == POINTS_MAX)
        return false;
      struct sum *s = &sum[(*count)++];
      *s = whole;
      for (int t = 0; t < 2; t++)
        if (!(s->in[t] = in_iteration(m, whole.in[t], loop, k)))
          return false;
    }
  }
  return *count > 0;
}

/* ---- remainder loops ---- */

/* Is y, in number x of `loop`, what `in` is in number x + ahead of `remainder`?
 */
static bool is_same_element(const struct match *m, const struct term *in,
                            int remainder, const struct term *y, int loop,
                            int64_t ahead) {
  int stands_for[LOOPS_MAX];
  for (int l = 0; l < m->nest->loop_count; l++)
    stands_for[l] = l == remainder ? loop : l;
  return in->arg_count == 0 && y->arg_count == 0 &&
         nest_access_ahead(m->nest, in->access, y->access, stands_for,
                           remainder, ahead);
}

static bool is_same_sum(const struct match *m, const struct sum *s,
                        int remainder, const struct sum *y, int loop,
                        int64_t ahead) {
  uint64_t other = s->loops & ~loop_bit(remainder), bit = loop_bit(loop);
  uint64_t parts = s->parts & ~loop_bit(remainder);
  if (s->type != y->type || y->loops != (other | bit) ||
      y->parts != (nest_is_whole(m->nest, loop) ? parts : parts | bit))
    return false;
  for (int turned = 0; turned < 2; turned++)
    if (same_map(s->map[0], y->map[turned]) &&
        same_map(s->map[1], y->map[!turned]) &&
        is_same_element(m, s->in[0], remainder, y->in[turned], loop, ahead) &&
        is_same_element(m, s->in[1], remainder, y->in[!turned], loop, ahead))
      return true;
  return false;
}

/* Marks the sums that `loop` has of all numbers in each of its steps. */
static bool find_steps(const struct match *m, const struct sum *s,
                       int remainder, const struct sum *sum, int count,
                       int loop, bool *used) {
  for (int64_t ahead = 0; ahead < m->nest->loop[loop].step; ahead++) {
    int i = 0;
    while (i < count &&
           (used[i] || !is_same_sum(m, s, remainder, &sum[i], loop, ahead)))
      i++;
    if (i == count)
      return false;
    used[i] = true;
  }
  return true;
}

/* Where all loops that `remainder` goes on after have the products of sum[s],
 * too, marks these sums. */
static bool find_parts(const struct match *m, int s, int remainder,
                       const struct sum *sum, int count, bool *used) {
  int loop = remainder;
  memset(used, 0, (size_t)count * sizeof *used);
  while (loop >= 0 && find_steps(m, &sum[s], remainder, sum, count, loop, used))
    loop = m->nest->loop[loop].after;
  return loop < 0;
}

/* Sums over all parts of a loop become one, over the last part, as if that ran
 * from zero. */
static void join_parts(const struct match *m, int remainder, struct sum *sum,
                       int *count) {
  bool *used = arena_array(m->arena, (size_t)*count, sizeof *used);
  for (int s = 0; s < *count; s++) {
    if (!(sum[s].parts & loop_bit(remainder)) ||
        !find_parts(m, s, remainder, sum, *count, used))
      continue;
    struct sum whole = sum[s];
    whole.parts &= ~loop_bit(remainder);
    int kept = 0;
    for (int i = 0; i < *count; i++)
      if (used[i])
        whole.reassoc &= sum[i].reassoc;
      else
        sum[kept++] = sum[i];
    /* One sum less that is of a part: this ends. */
    assert(used[s] && kept < *count);
    sum[kept++] = whole;
    *count = kept;
    s = -1; /* look at all that is left */
  }
}

/* A loop that only some of the sums have is there for a remainder; with its
 * iterations written out, all are rerolled together. */
static bool share_loops(const struct match *m, struct sum *sum, int *count) {
  uint64_t all = sum[0].loops, any = sum[0].loops;
  for (int i = 1; i < *count; i++) {
    all &= sum[i].loops;
    any |= sum[i].loops;
  }
  for (int l = 0; l < m->nest->loop_count; l++)
    if ((any & ~all) >> l & 1 && !write_out(m, l, sum, count))
      return verdict_decline(m->verdict, RULE_UNROLLED, m->nest->loop[l].at,
                             "a part of the sum has a loop of its own, of "
                             "which it is not known that it continues the "
                             "other");
  return true;
}

bool reroll_sums(const struct match *m, const struct sum *part, int count,
                 struct sum *merged) {
  assert(count > 0 && count <= PRODUCTS_MAX);
  struct sum *sum = arena_array(m->arena, POINTS_MAX, sizeof *sum);
  memcpy(sum, part, (size_t)count * sizeof *sum);
  for (int i = 0; i < count; i++)
    if (!has_two_factors(m, &sum[i]))
      return false;
  for (int l = m->nest->loop_count - 1; l >= 0; l--)
    join_parts(m, l, sum, &count);
  if (!share_loops(m, sum, &count))
    return false;
  int64_t **point = new_points(m->arena, count, 2 * 2);
  bool reassoc = true;
  for (int i = 0; i < count; i++) {
    if (!alike(&sum[0], &sum[i]))
      return verdict_decline(m->verdict, RULE_SEVERAL_PRODUCTS, sum[i].at,
                             "the products that are added are of different "
                             "matrices, or move through them differently");
    reassoc &= sum[i].reassoc;
    for (int t = 0; t < 2; t++)
      put_access(point[i], t, sum[i].in[t]->access);
  }
  sort_points(point, count, 2 * 2);
  assert(point[0][2 * 2] >= 0 && point[0][2 * 2] < count);
  int tensor[2] = {sum[0].in[0]->access->tensor, sum[0].in[1]->access->tensor};
  struct rerolled rerolled[REROLLED_MAX];
  int rerolled_count = reroll_points(m, point, count, tensor, 2, rerolled);
  *merged = sum[point[0][2 * 2]];
  merged->reassoc = reassoc;
  if (rerolled_count < 0 ||
      merged->rerolled_count + rerolled_count > REROLLED_MAX)
    return verdict_decline(m->verdict, RULE_UNROLLED, sum[0].at,
                           "the products that are added do not lie as the "
                           "iterations of a loop would have them");
  memcpy(merged->rerolled + merged->rerolled_count, rerolled,
         (size_t)rerolled_count * sizeof *rerolled);
  merged->rerolled_count += rerolled_count;
  return true;
}

/* ---- places ---- */

/* `in` with what loop `from` moves moved by loop `to`; NULL: not possible. */
static const struct term *
by_other_loop(const struct match *m, const struct term *in, int from, int to) {
  if (in->arg_count > 0 || in->moves & loop_bit(to))
    return NULL;
  struct nest_access *x = arena_alloc(m->arena, sizeof *x);
  size_t loops = (size_t)m->nest->loop_count;
  *x = *in->access;
  x->stride_bytes =
      arena_copy(m->arena, x->stride_bytes, loops, loops, sizeof(struct value));
  x->stride_bytes[to] = x->stride_bytes[from];
  x->stride_bytes[from] = value_of(0);
  return term_load(m->arena, m->nest, x, in->conditional, in->at);
}

/* Both run from zero to the same end. */
static bool run_alike(const struct nest *n, int x, int y) {
  return value_equal(n->loop[x].extent, n->loop[y].extent) &&
         n->loop[x].cut_by < 0 && n->loop[y].cut_by < 0 &&
         nest_is_whole(n, x) && nest_is_whole(n, y);
}

/* Where each place has a loop of its own for its sum, as if all had the first
 * one's. */
static void share_loop(const struct match *m, const struct sum *first,
                       struct sum *s) {
  uint64_t mine = s->loops & ~first->loops, its = first->loops & ~s->loops;
  if (!mine || mine & (mine - 1) || !its || its & (its - 1) || s->parts ||
      first->parts || s->map[0] || s->map[1])
    return;
  int from = __builtin_ctzll(mine), to = __builtin_ctzll(its);
  const struct term *in[2];
  for (int t = 0; t < 2; t++)
    if (!run_alike(m->nest, from, to) ||
        !(in[t] = by_other_loop(m, s->in[t], from, to)))
      return;
  memcpy(s->in, in, sizeof in);
  s->loops = first->loops;
}

static bool same_shape(const struct content *x, struct content *y) {
  if (!alike(&x->sum, &y->sum) || x->extra_count != y->extra_count ||
      !calc_equal(x->tail, y->tail))
    return false;
  for (int i = 0; i < x->extra_count; i++)
    if (!(x->extra[i]->op == TERM_LOAD ? term_alike(x->extra[i], y->extra[i])
                                       : term_equal(x->extra[i], y->extra[i])))
      return false;
  return true;
}

/* One place: where out, in0, in1 and the extras start. */
static void put_content(int64_t *point, const struct content *c) {
  put_start(point, 0, c->start.rows, c->start.bytes);
  for (int t = 0; t < 2; t++)
    put_access(point, 1 + t, c->sum.in[t]->access);
  for (int e = 0; e < c->extra_count; e++)
    if (c->extra[e]->op == TERM_LOAD)
      put_access(point, TENSORS + e, c->extra[e]->access);
}

int reroll_places(const struct match *m, const struct places *p,
                  struct content *all, struct rerolled *rerolled) {
  assert(p->count >= 1 && all[0].summed);
  if (p->count == 1)
    return 0;
  int tensor[CALC_INPUTS + TENSORS] = {p->tensor};
  int addresses = TENSORS + all[0].extra_count;
  for (int t = 0; t < 2; t++)
    tensor[1 + t] = all[0].sum.in[t]->access->tensor;
  for (int e = 0; e < all[0].extra_count; e++)
    if (all[0].extra[e]->op == TERM_LOAD)
      tensor[TENSORS + e] = all[0].extra[e]->access->tensor;
  int64_t **point = new_points(m->arena, p->count, 2 * addresses);
  for (int i = 0; i < p->count; i++) {
    struct content *c = &all[i];
    if (!has_two_factors(m, &c->sum))
      return -1;
    share_loop(m, &all[0].sum, &c->sum);
    if (!same_shape(&all[0], c)) {
      verdict_decline(m->verdict, RULE_UNROLLED, c->sum.at,
                      "neighbouring places of the result are formed in "
                      "different ways");
      return -1;
    }
    all[0].sum.reassoc &= c->sum.reassoc;
    put_content(point[i], c);
  }
  int rerolled_count =
      reroll_points(m, point, p->count, tensor, addresses, rerolled);
  if (rerolled_count < 0)
    verdict_decline(m->verdict, RULE_UNROLLED, all[0].sum.at,
                    "the places that are written do not lie as the iterations "
                    "of a loop would have them");
  return rerolled_count;
}
