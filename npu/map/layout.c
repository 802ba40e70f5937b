/* layout.c -- takes the TEIR of a matrix product; gives it with one axis for
 * each role, and says which tensors the array can use as they lie.
 *
 * A tensor may stay in place when, with the tensors that stay beside it, the
 * axes of each role are one, and a descriptor can walk over it: words of 4
 * bytes, so one role is contiguous and the other moves by whole words.  Which
 * ends of extents blocks can reach is asked later, by the shares: nothing is
 * padded in place, so the last block ends with the last element.
 */
#include "matrices.h"

#include <assert.h>

/* Roles as rows and columns of a tensor. */
static const enum axis_role role_of[TENSORS][2] = {
    {AXIS_M, AXIS_K}, {AXIS_K, AXIS_N}, {AXIS_M, AXIS_N}};

static int64_t stride_of(const struct teir *t, int axis, int tensor) {
  return t->axis[axis].stride_bytes[tensor].constant;
}

/* ---- one axis for each role ---- */

/* A role's axes in the order of their loops. */
static int role_axes(const struct teir_roles *r, enum axis_role role,
                     int *axis) {
  int count = 0;
  for (int i = 0; i < r->count; i++)
    if (r->role[i] == role)
      axis[count++] = r->axis[i];
  return count;
}

/* A dense matrix of two roles. */
static struct teir *lay_densely(struct arena *a, const struct teir *t,
                                const struct teir_roles *r, int tensor,
                                const enum axis_role role[2], struct diag *d) {
  int *axis = arena_array(a, (size_t)r->count + 1, sizeof *axis);
  int count = role_axes(r, role[0], axis);
  count += role_axes(r, role[1], axis + count);
  return teir_relayout(a, t, tensor, axis, count, d);
}

struct teir *map_matrices(struct arena *a, const struct teir *work,
                          const bool in_place[TENSORS], struct diag *d) {
  struct teir_roles r;
  if (!teir_roles_read(a, work, &r, d))
    return NULL;
  const struct teir *t = work;
  for (int i = 0; i < TENSORS && t; i++)
    if (!in_place[i])
      t = lay_densely(a, t, &r, r.operand[i], role_of[i], d);
  if (t && r.sums != r.operand[OUT])
    t = lay_densely(a, t, &r, r.sums, role_of[OUT], d);
  return t ? teir_roles_fuse(a, t, d) : NULL;
}

/* ---- what may stay ---- */

/* The axis of every role, -1 where there is none; false: one has several. */
static bool read_axes(struct arena *a, const struct teir *t,
                      int axis[AXIS_ROLES]) {
  struct teir_roles r;
  struct diag d = {0};
  for (int i = 0; i < AXIS_ROLES; i++)
    axis[i] = -1;
  if (!teir_roles_read(a, t, &r, &d))
    return false;
  for (int i = 0; i < r.count; i++) {
    if (axis[r.role[i]] >= 0)
      return false;
    axis[r.role[i]] = r.axis[i];
  }
  return true;
}

static bool can_walk(const struct device *dev, const struct teir *t,
                     const int axis[AXIS_ROLES], int tensor,
                     struct map_layout *x) {
  enum { WORD = 4 };
  const struct tile_resources *shim = &dev->tile[TILE_SHIM];
  int rows = axis[role_of[tensor][0]], columns = axis[role_of[tensor][1]];
  int64_t element = dtype_bytes(t->tensor[tensor].type);
  if (rows < 0 || columns < 0)
    return false;
  if (t->axis[rows].offset_bytes[tensor].constant ||
      t->axis[columns].offset_bytes[tensor].constant)
    return false;
  x->turned = stride_of(t, columns, tensor) != element;
  int64_t run = stride_of(t, x->turned ? rows : columns, tensor),
          pitch = stride_of(t, x->turned ? columns : rows, tensor);
  if (axis[AXIS_C] >= 0 && stride_of(t, axis[AXIS_C], tensor) % WORD)
    return false;
  return run == element && pitch % WORD == 0 &&
         pitch <= (int64_t)WORD * shim->max_step_words;
}

void map_layouts(struct arena *a, const struct device *dev,
                 const struct teir *work, struct map_layout x[TENSORS]) {
  /* Most tensors first; of two, both inputs. */
  static const bool stay[][TENSORS] = {
      {true, true, true},   {true, true, false},   {true, false, true},
      {false, true, true},  {true, false, false},  {false, true, false},
      {false, false, true}, {false, false, false},
  };
  for (int i = 0; i < TENSORS; i++)
    x[i] = (struct map_layout){0};
  int best = 0;
  for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
    struct diag d = {0};
    struct map_layout found[TENSORS] = {{0}};
    int axis[AXIS_ROLES], count = 0;
    const struct teir *t = map_matrices(a, work, stay[i], &d);
    if (!t || !read_axes(a, t, axis))
      continue;
    for (int j = 0; j < TENSORS; j++) {
      found[j].in_place = stay[i][j] && can_walk(dev, t, axis, j, &found[j]);
      found[j].turned &= found[j].in_place;
      count += found[j].in_place;
    }
    if (count <= best)
      continue;
    best = count;
    for (int j = 0; j < TENSORS; j++)
      x[j] = found[j];
  }
}

bool map_turns_out(const enum dtype type[TENSORS], bool in0_turned,
                   bool in1_turned, bool out_turned) {
  enum { WORD = 4 };
  bool both = type[IN0] == DTYPE_BF16 && in0_turned && in1_turned;
  return out_turned && (dtype_bytes(type[OUT]) < WORD || both);
}

/* ---- shares ---- */

bool map_share(int64_t extent, int cores, int rounds, int64_t block,
               int64_t unit, struct map_share *x) {
  assert(cores >= 1 && rounds >= 1 && unit >= 1 && block >= 1);
  for (int64_t round = block / unit * unit;
       round > 0 && round > block - 4 * cores * unit; round -= unit) {
    int64_t own = (rounds - 1) * round + block, others = extent - own;
    if (others < 0)
      continue;
    int64_t core = cores > 1 ? others / (cores - 1) : own;
    if (core > 0 && core <= own && core % unit == 0 &&
        core * (cores - 1) == others) {
      *x = (struct map_share){core, round};
      return true;
    }
    if (rounds == 1)
      break;
  }
  return false;
}
