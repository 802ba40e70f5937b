/* layout.c -- takes the TEIR of a contraction; gives its axes by role, as few
 * as the tensors that stay in place allow, and says how these lie.
 *
 * A descriptor moves words of 4 bytes, so a tensor stays in place when one of
 * its axes is contiguous and the others move by whole words.  The contiguous
 * axis begins the blocks of its role: a word holds neighbours along it, and
 * nothing behind the shim takes a word apart.  So two tensors that share a role
 * but not its contiguous axis cannot both stay, unless elements are words.
 *
 * Which ends of extents blocks can reach is asked later, by the shares: nothing
 * is padded in place, so the last block ends with the last element.
 */
#include "map.h"

#include "kernels.h"

#include "teir_transform.h"

#include <assert.h>
#include <string.h>

bool map_check_axes(const struct teir *t, struct diag *d) {
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

enum { WORD = 4 };

const enum axis_role map_roles[TENSORS][2] = {
    {AXIS_M, AXIS_K}, {AXIS_K, AXIS_N}, {AXIS_M, AXIS_N}};

/* ---- the axes ---- */

/* A role's axes in the order of their loops. */
static int role_axes(const struct teir_roles *r, enum axis_role role,
                     int *axis) {
  int count = 0;
  for (int i = 0; i < r->count; i++)
    if (r->role[i] == role)
      axis[count++] = r->axis[i];
  return count;
}

/* A dense matrix of a batch and two roles. */
static struct teir *lay_densely(struct arena *a, const struct teir *t,
                                const struct teir_roles *r, int tensor,
                                const enum axis_role role[2], struct diag *d) {
  int *axis = arena_array(a, (size_t)r->count + 1, sizeof *axis);
  int count = role_axes(r, AXIS_C, axis);
  count += role_axes(r, role[0], axis + count);
  count += role_axes(r, role[1], axis + count);
  return teir_relayout(a, t, tensor, axis, count, d);
}

/* The same work with axes of a role fused; tensors that do not stay are dense.
 */
static struct teir *fuse(struct arena *a, const struct teir *work,
                         const bool stay[TENSORS], struct diag *d) {
  struct teir_roles r;
  if (!teir_roles_read(a, work, &r, d))
    return NULL;
  const struct teir *t = work;
  for (int i = 0; i < TENSORS && t; i++)
    if (!stay[i])
      t = lay_densely(a, t, &r, r.operand[i], map_roles[i], d);
  if (t && r.sums != r.operand[OUT])
    t = lay_densely(a, t, &r, r.sums, map_roles[OUT], d);
  return t ? teir_roles_fuse(a, t, d) : NULL;
}

static bool read_axes(const struct teir *t, const struct teir_roles *r,
                      struct map_work *w, struct diag *d) {
  static const char *const name[] = {"c", "m", "n", "k"};
  for (int i = 0; i < r->count; i++) {
    const struct teir_axis *from = &t->axis[r->axis[i]];
    int *count = &w->count[r->role[i]];
    if (from->extent.constant == 1)
      continue;
    if (*count == MAP_AXES)
      return diag_declined(d, from->at, "more than %d axes of role %s",
                           MAP_AXES, name[r->role[i]]);
    struct map_axis *x = &w->axis[r->role[i]][(*count)++];
    *x = (struct map_axis){
        from->id, from->extent.constant, {0}, from->extent.constant};
    for (int j = 0; j < TENSORS; j++)
      x->stride_bytes[j] = from->stride_bytes[r->operand[j]].constant;
    if (r->bias >= 0)
      x->stride_bytes[MAP_BIAS] = from->stride_bytes[r->bias].constant;
  }
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    if (!w->count[role])
      w->axis[role][w->count[role]++] =
          (struct map_axis){name[role], 1, {0}, 1};
  return true;
}

/* ---- what may stay ---- */

static bool has_offset(const struct teir *t, const struct teir_roles *r,
                       int tensor) {
  for (int i = 0; i < r->count; i++)
    if (t->axis[r->axis[i]].offset_bytes[tensor].constant)
      return true;
  return false;
}

/* The contiguous axis of a tensor; false: there is none. */
static bool find_contiguous(const struct map_work *w, int tensor, int *first,
                            int *index) {
  int64_t element = dtype_bytes(w->problem.type[tensor]);
  for (int j = 1; j >= 0; j--) {
    enum axis_role role = map_roles[tensor][j];
    for (int i = w->count[role] - 1; i >= 0; i--)
      if (w->axis[role][i].extent > 1 &&
          w->axis[role][i].stride_bytes[tensor] == element) {
        *first = j == 0;
        *index = i;
        return true;
      }
  }
  return false;
}

/* An axis of one element, along which it is. */
static bool make_contiguous(struct map_work *w, int tensor, int *first,
                            int *index) {
  for (int j = 1; j >= 0; j--) {
    struct map_axis *x = w->axis[map_roles[tensor][j]];
    if (x->extent > 1)
      continue;
    x->stride_bytes[tensor] = dtype_bytes(w->problem.type[tensor]);
    *first = j == 0;
    *index = 0;
    return true;
  }
  return false;
}

/* Words, whose blocks may begin with any axis, begin with the one that moves
 * least. */
static bool can_walk(const struct device *dev, struct map_work *w, int tensor) {
  const struct tile_resources *shim = &dev->tile[TILE_SHIM];
  int64_t element = dtype_bytes(w->problem.type[tensor]);
  int turned = 0, index = -1;
  bool found = find_contiguous(w, tensor, &turned, &index) ||
               (element < WORD && make_contiguous(w, tensor, &turned, &index));
  const enum axis_role role[] = {map_roles[tensor][0], map_roles[tensor][1],
                                 AXIS_C};
  if (!found && element < WORD)
    return false;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < w->count[role[j]]; i++) {
      const struct map_axis *x = &w->axis[role[j]][i];
      bool is_first = found && j == !turned && i == index;
      if (!is_first && x->extent > 1 &&
          (x->stride_bytes[tensor] % WORD || x->stride_bytes[tensor] <= 0 ||
           x->stride_bytes[tensor] > (int64_t)WORD * shim->max_step_words))
        return false;
    }
  w->layout[tensor] = (struct map_layout){.in_place = true, .turned = turned};
  w->contiguous[tensor] = element < WORD ? index : -1;
  return true;
}

/* Whether so many bytes from where its contiguous axis begins are a tensor's
 * own: no loop around leads into them. */
static bool has_space(const struct map_work *w, int tensor,
                      const struct map_axis *first, int64_t bytes) {
  const enum axis_role role[] = {map_roles[tensor][0], map_roles[tensor][1],
                                 AXIS_C};
  const struct map_axis *by_stride[3 * MAP_AXES];
  int count = 0;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < w->count[role[j]]; i++) {
      const struct map_axis *x = &w->axis[role[j]][i];
      int at = count;
      if (x == first || x->extent == 1)
        continue;
      for (; at > 0 &&
             by_stride[at - 1]->stride_bytes[tensor] > x->stride_bytes[tensor];
           at--)
        by_stride[at] = by_stride[at - 1];
      by_stride[at] = x;
      count++;
    }
  for (int i = 0; i < count; i++) {
    int64_t stride = by_stride[i]->stride_bytes[tensor];
    if (stride < bytes)
      return false;
    bytes += (by_stride[i]->extent - 1) * stride;
  }
  return true;
}

static enum axis_role contiguous_role(const struct map_work *w, int tensor) {
  return map_roles[tensor][!w->layout[tensor].turned];
}

/* Both stay and begin blocks of a role with different axes. */
static bool disagree(const struct map_work *w, int a, int b) {
  return w->layout[a].in_place && w->layout[b].in_place &&
         w->contiguous[a] >= 0 && w->contiguous[b] >= 0 &&
         contiguous_role(w, a) == contiguous_role(w, b) &&
         w->contiguous[a] != w->contiguous[b];
}

/* Bytes from a tensor's first element to behind its last one, in words. */
static int64_t reach_of(const struct map_work *w, int tensor) {
  const enum axis_role role[] = {map_roles[tensor][0], map_roles[tensor][1],
                                 AXIS_C};
  int64_t bytes = dtype_bytes(w->problem.type[tensor]);
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < w->count[role[j]]; i++) {
      const struct map_axis *x = &w->axis[role[j]][i];
      bytes += (x->extent - 1) * x->stride_bytes[tensor];
    }
  return (bytes + WORD - 1) / WORD * WORD;
}

/* Elements of out's contiguous axis in a word: of out, or of an input that is
 * contiguous along it, too, whichever has more. */
static int64_t in_a_word(const struct map_work *w, const struct map_axis *x,
                         int input) {
  int64_t out = dtype_bytes(w->problem.type[OUT]),
          in = dtype_bytes(w->problem.type[input]),
          least = x->stride_bytes[input] == in && in < out ? in : out;
  return least < WORD ? WORD / least : 1;
}

/* The contiguous axis of out becomes one of whole words where there is space
 * for them in out's device buffer, of which the host takes the elements alone.
 * What is behind the last one comes of what lies there in the input that has
 * the axis: in the same word, or a row more in its buffer. */
static void fill_words(struct map_work *w) {
  int turned, at;
  if (!w->layout[OUT].in_place || !find_contiguous(w, OUT, &turned, &at))
    return;
  enum axis_role role = map_roles[OUT][!turned];
  int input = role == AXIS_M ? IN0 : IN1;
  if (!w->layout[input].in_place)
    return;
  struct map_axis *x = &w->axis[role][at];
  int64_t element = dtype_bytes(w->problem.type[OUT]),
          unit = in_a_word(w, x, input),
          extent = (x->extent + unit - 1) / unit * unit;
  if (extent == x->extent || !has_space(w, OUT, x, extent * element))
    return;
  if (!x->stride_bytes[input])
    x->stride_bytes[input] = reach_of(w, input);
  w->problem.extent[role] = w->problem.extent[role] / x->extent * extent;
  x->extent = extent;
}

/* Rows of a dense tensor that begin with words. */
static void align(struct map_work *w, int tensor) {
  const enum axis_role role[] = {map_roles[tensor][1], map_roles[tensor][0],
                                 AXIS_C};
  int64_t stride = dtype_bytes(w->problem.type[tensor]);
  for (int j = 0; j < 3; j++)
    for (int i = w->count[role[j]] - 1; i >= 0; i--) {
      struct map_axis *x = &w->axis[role[j]][i];
      x->stride_bytes[tensor] = stride;
      if (x->extent > 1)
        stride = (stride * x->extent + WORD - 1) / WORD * WORD;
    }
}

bool map_stays(const struct map_layout *x) {
  return x->in_place && !x->aligned;
}

bool map_work_read(struct arena *a, const struct device *dev,
                   const struct teir *work, const bool stay[TENSORS],
                   struct map_work *w, struct diag *d) {
  static const bool none[TENSORS];
  return map_work_read_aligned(a, dev, work, stay, none, w, d);
}

bool map_work_read_aligned(struct arena *a, const struct device *dev,
                           const struct teir *work, const bool stay[TENSORS],
                           const bool aligned[TENSORS], struct map_work *w,
                           struct diag *d) {
  struct teir_roles r;
  const struct teir *t = fuse(a, work, stay, d);
  memset(w, 0, sizeof *w);
  if (!t || !teir_roles_read(a, t, &r, d))
    return false;
  w->problem = r.problem;
  w->problem.acc = map_sum_type(dev, &r.problem);
  if (!read_axes(t, &r, w, d))
    return false;
  for (int i = 0; i < TENSORS; i++) {
    w->contiguous[i] = -1;
    if (aligned[i])
      align(w, i);
    if ((stay[i] || aligned[i]) && !has_offset(t, &r, r.operand[i]) &&
        can_walk(dev, w, i))
      w->layout[i].aligned = aligned[i];
  }
  for (int i = 0; i < TENSORS; i++)
    for (int j = 0; j < i; j++)
      if (disagree(w, i, j))
        w->layout[i] = (struct map_layout){0};
  fill_words(w);
  return true;
}

const struct isa *map_isa(const struct device *dev) {
  return isa_find(dev->isa);
}

enum dtype map_sum_type(const struct device *dev,
                        const struct teir_problem *p) {
  struct kernel_shape mac;
  if (dtype_kind(p->type[OUT]) == DTYPE_FLOAT)
    return DTYPE_F32;
  bool whole = p->finish.bias || p->finish.relu || p->finish.saturate;
  return whole || !kernel_shape(map_isa(dev), p->type[IN0], p->type[IN1],
                                p->type[OUT], &mac)
             ? DTYPE_I32
             : p->type[OUT];
}

bool map_has_sums(const struct teir_problem *p) {
  return p->acc != p->type[OUT] || p->finish.saturate;
}

bool map_turns_out(const enum dtype type[TENSORS], bool in0_turned,
                   bool in1_turned, bool out_turned) {
  bool both = dtype_is_bf16(type[IN0]) && in0_turned && in1_turned;
  return out_turned && (dtype_bytes(type[OUT]) < WORD || both);
}

bool map_finishes(const struct teir_problem *p) {
  return p->acc != p->type[OUT] || p->finish.bias || p->finish.relu;
}

bool map_turns_sums(const struct device *dev, const struct teir_problem *p,
                    const bool turned[TENSORS]) {
  if (map_finishes(p) && dtype_is_bf16(p->type[IN0]) &&
      kernel_narrow_turns(map_isa(dev), p->acc))
    return turned[IN0] && turned[IN1];
  return map_turns_out(p->type, turned[IN0], turned[IN1], turned[OUT]);
}

/* ---- shares ---- */

bool map_share(int64_t extent, int cores, int rounds, int64_t block,
               int64_t unit, struct map_share *x) {
  assert(cores >= 1 && rounds >= 1 && unit >= 1 && block >= 1);
  if (cores == 1) {
    int64_t round = rounds > 1 ? (extent - block) / (rounds - 1) : block;
    *x = (struct map_share){extent, round, 0};
    return round > 0 && round <= block && (rounds == 1 || round % unit == 0) &&
           (rounds - 1) * round + block == extent;
  }
  for (int64_t round = block / unit * unit;
       round > 0 && round > block - 4 * cores * unit; round -= unit) {
    int64_t own = (rounds - 1) * round + block, others = extent - own;
    if (others < 0)
      continue;
    int64_t core = others / (cores - 1);
    if (core > 0 && core <= own && core % unit == 0 &&
        core * (cores - 1) == others) {
      *x = (struct map_share){core, round, 0};
      return true;
    }
    if (rounds == 1)
      break;
  }
  return false;
}

bool map_share_halves(int64_t extent, int cores, int rounds, int64_t block,
                      int64_t unit, struct map_share *x) {
  if (map_share(extent, cores, rounds, block, unit, x))
    return true;
  if (cores < 4 || cores % 2)
    return false;
  for (int64_t round = block / unit * unit;
       round > 0 && round > block - 4 * cores * unit; round -= unit) {
    int64_t own = (rounds - 1) * round + block, others = extent - own,
            core =
                (others + (cores - 1) * unit - 1) / ((cores - 1) * unit) * unit,
            part = (cores / 2 - 1) * core, half = others - part;
    if (others > 0 && others % unit == 0 && half > 0 && core <= own &&
        half <= part + own) {
      *x = (struct map_share){core, round, half};
      return true;
    }
    if (rounds == 1)
      break;
  }
  return false;
}
