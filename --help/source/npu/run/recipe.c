/* recipe.c -- what a device is to compute of a product.
 *
 * Float inputs become bf16, rounded or, three times along K, split in two
 * (split.c), and integers of 32 bits their halves.  The device sums in f32 or
 * i32.
 */
#include "launch.h"

#include <assert.h>

bool recipe_has_wide(const struct product *p) {
  return split_is_wide(p, IN0) || split_is_wide(p, IN1);
}

bool recipe_joins(const struct recipe *r) {
  return r->copies[AXIS_M] > 1 || r->copies[AXIS_N] > 1;
}

/* Of floats bf16, which may become block floats or not, of integers of 32 bits
 * their halves. */
static enum dtype input_type(const struct product *p, int t, bool blocks) {
  if (dtype_kind(p->type[t]) == DTYPE_FLOAT)
    return blocks ? DTYPE_BFP16 : DTYPE_BF16;
  return split_is_wide(p, t) ? DTYPE_I16 : p->type[t];
}

/* Floats are summed in f32; integers modulo 2^32, which a narrower sum is cut
 * from.  Sums in f64 are as good as their rounded inputs. */
static bool sum_type(const struct product *p, bool wide, enum dtype *sum,
                     struct diag *d) {
  bool floats = dtype_kind(p->acc) == DTYPE_FLOAT;
  *sum = floats ? DTYPE_F32 : DTYPE_I32;
  bool fits = floats ? p->acc == DTYPE_F32 || (p->acc == DTYPE_F64 && wide)
                     : dtype_bytes(p->acc) <= 4;
  return fits || diag_declined(d, loc_none(), "no device sums in %s",
                               dtype_name(p->acc));
}

/* Whether a copy of all bytes from a tensor's first element to its last would
 * mostly move other things. */
static bool is_spread(const struct product *p, int t) {
  enum { MOST = 4, FEW_BYTES = 1 << 16 };
  int64_t bytes = dtype_bytes(p->type[t]), span = bytes;
  const enum axis_role role[] = {row_role[t], column_role[t]};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < p->count[role[i]]; k++) {
      const struct product_axis *x = &p->axis[role[i]][k];
      int64_t more;
      if (__builtin_mul_overflow(bytes, x->extent, &bytes) ||
          __builtin_mul_overflow(x->extent - 1, x->stride_bytes[t], &more) ||
          __builtin_add_overflow(span, more, &span))
        return true;
    }
  return span / MOST > bytes && span > FEW_BYTES;
}

bool recipe_make(const struct product *p, enum f32_mode f32, bool blocks,
                 struct recipe *r, struct diag *d) {
  bool wide = recipe_has_wide(p), floats = dtype_kind(p->acc) == DTYPE_FLOAT;
  if (wide && floats && f32 == F32_KEEP)
    return diag_declined(d, loc_none(),
                         "inputs of type %s and %s; f32=bf16 and f32=bf16x3 "
                         "round or split floats",
                         dtype_name(p->type[IN0]), dtype_name(p->type[IN1]));
  for (int t = IN0; t <= IN1; t++)
    if (!floats && dtype_bytes(p->type[t]) > 4)
      return diag_declined(d, loc_none(), "no device multiplies %s",
                           dtype_name(p->type[t]));
  r->finished = false;
  r->bias = -1;
  split_copies(p, f32, r);
  blocks = blocks && r->copies[AXIS_K] == 1; /* they lose what a split keeps */
  r->problem = (struct teir_problem){
      .type = {input_type(p, IN0, blocks), input_type(p, IN1, blocks)}};
  for (int role = 0; role < AXIS_ROLES; role++) {
    r->problem.extent[role] =
        role == AXIS_C ? 1 : p->extent[role] * r->copies[role];
    if (r->copies[role] > 1 && r->problem.extent[role] > INT32_MAX)
      return diag_declined(d, loc_none(), "an extent is too long to be split");
  }
  if (!sum_type(p, wide, &r->problem.acc, d))
    return false;
  r->problem.type[OUT] = r->problem.acc;
  for (int t = 0; t < TENSORS; t++)
    r->spread[t] = is_spread(p, t);
  return true;
}

struct recipe recipe_of_batch(const struct product *p, struct recipe r) {
  r.problem.extent[AXIS_C] = p->extent[AXIS_C];
  return r;
}

bool recipe_even(struct recipe *r) {
  enum dtype *type = r->problem.type;
  if (dtype_bytes(type[IN0]) == dtype_bytes(type[IN1]))
    return false;
  for (int t = IN0; t <= IN1; t++)
    if (dtype_bytes(type[t]) == 1)
      type[t] = DTYPE_I16;
  return true;
}

/* A tensor that is copied lies densely in the order of the loops. */
static void lay_densely(struct contraction *c, int tensor, int64_t bytes) {
  static const enum axis_role still[TENSORS] = {AXIS_N, AXIS_M, AXIS_K};
  for (int i = c->axis_count - 1; i >= 0; i--) {
    struct contraction_axis *x = &c->axis[i];
    bool moves = x->role != still[tensor] && x->extent.constant > 1;
    x->stride_bytes[tensor] = teir_constant(moves ? bytes : 0);
    bytes *= moves ? x->extent.constant : 1;
  }
}

bool recipe_casts(const struct product *p, const struct recipe *r, int t) {
  enum dtype from = p->type[t], to = r->problem.type[t];
  return from != to && !(dtype_is_bf16(from) && dtype_is_bf16(to));
}

bool recipe_is_dense(const struct product *p, const struct recipe *r, int t) {
  return recipe_casts(p, r, t) || r->copies[row_role[t]] > 1 ||
         r->copies[column_role[t]] > 1 || r->spread[t];
}

static void add_axis(struct contraction *c, const char *name,
                     enum axis_role role, int64_t extent,
                     const int64_t *stride_bytes) {
  struct contraction_axis *x = &c->axis[c->axis_count++];
  *x = (struct contraction_axis){
      .name = name, .role = role, .extent = teir_constant(extent)};
  for (int t = 0; t < TENSORS; t++)
    x->stride_bytes[t] =
        teir_constant(stride_bytes && extent > 1 ? stride_bytes[t] : 0);
}

const struct teir *recipe_teir(struct arena *a, const struct product *p,
                               const struct recipe *r, struct diag *d) {
  static const char *const copy_name[AXIS_ROLES] = {"copy_c", "copy_m",
                                                    "copy_n", "copy"};
  const struct teir_problem *q = &r->problem;
  assert(!p->empty_out && r->copies[AXIS_K] >= 1);
  struct contraction c = {.acc = q->acc,
                          .type = {q->type[IN0], q->type[IN1], q->acc}};
  c.axis = arena_array(a, AXIS_ROLES * (PRODUCT_AXES + 1), sizeof *c.axis);
  int first = q->extent[AXIS_C] > 1 ? AXIS_C : AXIS_M;
  for (int role = first; role < AXIS_ROLES; role++) {
    if (r->copies[role] > 1)
      add_axis(&c, copy_name[role], (enum axis_role)role, r->copies[role],
               NULL);
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      add_axis(&c, x->id, (enum axis_role)role, x->extent, x->stride_bytes);
    }
  }
  for (int t = 0; t < TENSORS; t++)
    if (recipe_is_dense(p, r, t))
      lay_densely(&c, t, dtype_bytes(q->type[t]));
  const struct teir *sums = teir_from_contraction(a, &c, d);
  return sums ? teir_finish_sums(a, sums, &q->finish, q->type[OUT], d) : NULL;
}
