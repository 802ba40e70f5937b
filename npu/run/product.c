/* product.c -- reads a TEIR and the values of its symbols as a matrix product
 * with any number of C, M, N and K axes.
 *
 * The form that we take: one Contraction, at most one Zero before it, no
 * guards.  out must be zeroed once per element and before its first product:
 * every axis that moves out is an axis of the Zero, and no loop around both
 * leaves out where it is.  Roles follow from the strides of this call, not from
 * names.  An extent of zero or less means that the loop does nothing.
 */
#include "parts.h"

#include <string.h>

enum { MAX_EXTENT = INT32_MAX };

/* Where an invocation hangs: the iteration nodes above it. */
struct place {
  bool found;
  int primitive, order, depth;
  int node[PRODUCT_AXES];
};

struct reading {
  const struct teir *t;
  const int64_t *value;
  struct place zero, contraction, path;
  int invocations;
  struct diag *d;
};

static bool decline_at(struct reading *r, struct loc at, const char *what,
                       const char *id) {
  return diag_declined(r->d, at, "%s '%s'", what, id);
}

static int64_t valued(const struct reading *r, struct teir_size s) {
  return s.symbol < 0 ? s.constant : r->value[s.symbol];
}

/* ---- structure ---- */

static bool found(struct reading *r, const struct teir_node *n) {
  enum teir_op op = r->t->primitive[n->primitive].op;
  struct place *p = op == TEIR_ZERO          ? &r->zero
                    : op == TEIR_CONTRACTION ? &r->contraction
                                             : NULL;
  if (!p)
    return decline_at(r, n->at, "this device has no primitive",
                      teir_op_name(op));
  if (p->found)
    return decline_at(r, n->at, "more than one primitive", teir_op_name(op));
  *p = r->path;
  p->found = true;
  p->primitive = n->primitive;
  p->order = r->invocations++;
  return true;
}

static bool walk(struct reading *r, struct teir_list list) {
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &r->t->node[list.item[i]];
    if (n->guard_count)
      return decline_at(r, n->at, "a guarded node", n->id);
    if (n->kind == TEIR_INVOCATION) {
      if (!found(r, n))
        return false;
      continue;
    }
    if (r->path.depth == PRODUCT_AXES)
      return decline_at(r, n->at, "loops too deep at", n->id);
    r->path.node[r->path.depth++] = list.item[i];
    if (!walk(r, n->children))
      return false;
    r->path.depth--;
  }
  return true;
}

static bool place_has(const struct teir *t, const struct place *p, int axis) {
  for (int i = 0; i < p->depth; i++)
    if (t->node[p->node[i]].axis == axis)
      return true;
  for (int role = 0; role < TEIR_ROLES; role++) {
    const struct teir_list *l = &t->primitive[p->primitive].role[role];
    for (int i = 0; i < l->count; i++)
      if (l->item[i] == axis)
        return true;
  }
  return false;
}

static bool check_tensors(struct reading *r) {
  static const char *const id[RUN_TENSORS] = {"in0", "in1", "out"};
  const struct teir *t = r->t;
  if (t->tensor_count != RUN_TENSORS)
    return diag_declined(r->d, loc_none(), "%d tensors; a product has 3",
                         t->tensor_count);
  for (int i = 0; i < RUN_TENSORS; i++)
    if (strcmp(t->tensor[i].id, id[i]) != 0)
      return decline_at(r, t->tensor[i].at, "unexpected tensor",
                        t->tensor[i].id);
  int p = r->contraction.primitive;
  if (teir_input(t, p, 0) != RUN_IN0 || teir_input(t, p, 1) != RUN_IN1 ||
      teir_output(t, p) != RUN_OUT ||
      (r->zero.found && teir_output(t, r->zero.primitive) != RUN_OUT))
    return decline_at(r, t->primitive[p].at, "unexpected operands of",
                      t->primitive[p].id);
  return true;
}

/* The sum must be formed in out's own type, or for integers in a wider one. */
static bool check_sum_type(struct reading *r, enum dtype out) {
  const char *word = teir_property(r->t, r->contraction.primitive, "acc");
  enum dtype acc = out;
  if (word && !dtype_parse(word, &acc))
    return decline_at(r, loc_none(), "unknown type of sum", word);
  bool integers =
      dtype_kind(acc) != DTYPE_FLOAT && dtype_kind(out) != DTYPE_FLOAT;
  if (acc == out || (integers && dtype_bytes(acc) >= dtype_bytes(out)))
    return true;
  return decline_at(r, loc_none(), "no device sums in", dtype_name(acc));
}

/* ---- axes ---- */

static enum axis_role role_of(const int64_t stride[RUN_TENSORS]) {
  if (stride[RUN_OUT] == 0)
    return AXIS_K;
  if (stride[RUN_IN1] == 0)
    return AXIS_M;
  return stride[RUN_IN0] == 0 ? AXIS_N : AXIS_C;
}

/* Axes of a role lie with the larger stride first, so that the fused axis runs
 * through memory forwards. */
static void insert(struct product *p, enum axis_role role,
                   struct product_axis x) {
  int key = role == AXIS_K ? RUN_IN1 : RUN_OUT, at = p->count[role]++;
  while (at > 0 &&
         p->axis[role][at - 1].stride_bytes[key] < x.stride_bytes[key]) {
    p->axis[role][at] = p->axis[role][at - 1];
    at--;
  }
  p->axis[role][at] = x;
}

static bool read_axis(struct reading *r, int axis, struct product *p) {
  const struct teir_axis *from = &r->t->axis[axis];
  struct product_axis x = {.id = from->id, .extent = valued(r, from->extent)};
  bool in_zero = r->zero.found && place_has(r->t, &r->zero, axis);
  if (x.extent <= 0) {
    if (r->zero.found && !in_zero)
      p->empty_sum = true;
    else
      p->empty_out = true;
  }
  for (int i = 0; i < RUN_TENSORS; i++) {
    x.stride_bytes[i] = valued(r, from->stride_bytes[i]);
    if (x.stride_bytes[i] < 0 && x.extent > 1)
      return diag_declined(r->d, from->at,
                           "axis %s moves %s by %lld bytes; strides are not "
                           "negative",
                           x.id, r->t->tensor[i].id,
                           (long long)x.stride_bytes[i]);
    int64_t offset = valued(r, from->offset_bytes[i]);
    if (__builtin_add_overflow(p->offset[i], offset, &p->offset[i]))
      return decline_at(r, from->at, "an offset beyond 64 bits on", x.id);
  }
  if (r->zero.found && x.extent > 1 && x.stride_bytes[RUN_OUT] && !in_zero)
    return decline_at(r, from->at, "out is not zeroed along axis", x.id);
  insert(p, role_of(x.stride_bytes), x);
  return true;
}

/* Loops around both the Zero and the Contraction must move out. */
static bool check_zero(struct reading *r) {
  const struct place *z = &r->zero, *c = &r->contraction;
  if (!z->found)
    return true;
  if (z->order > c->order)
    return decline_at(r, loc_none(), "the Contraction comes before",
                      r->t->primitive[z->primitive].id);
  for (int i = 0; i < z->depth && i < c->depth && z->node[i] == c->node[i];
       i++) {
    const struct teir_axis *x = &r->t->axis[r->t->node[z->node[i]].axis];
    if (valued(r, x->extent) > 1 && valued(r, x->stride_bytes[RUN_OUT]) == 0)
      return decline_at(r, x->at, "out is zeroed again along axis", x->id);
  }
  for (int i = 0; i < r->t->axis_count; i++)
    if (place_has(r->t, z, i) && !place_has(r->t, c, i))
      return decline_at(r, r->t->axis[i].at, "only the Zero runs over axis",
                        r->t->axis[i].id);
  return true;
}

static bool fuse_extents(struct reading *r, struct product *p) {
  for (int role = 0; role < PRODUCT_ROLES; role++) {
    p->extent[role] = 1;
    for (int i = 0; i < p->count[role]; i++) {
      int64_t extent = p->axis[role][i].extent;
      if (__builtin_mul_overflow(p->extent[role], extent, &p->extent[role]) ||
          p->extent[role] > MAX_EXTENT)
        return diag_declined(r->d, loc_none(),
                             "the %s axes have more than %d elements",
                             axis_role_name((enum axis_role)role), MAX_EXTENT);
    }
  }
  return true;
}

/* Bytes from a tensor's first element to the end of its last. */
static bool span(const struct product *p, int tensor, int64_t *bytes) {
  *bytes = dtype_bytes(p->type[tensor]);
  for (int role = 0; role < PRODUCT_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      int64_t more;
      if (__builtin_mul_overflow(x->extent - 1, x->stride_bytes[tensor],
                                 &more) ||
          __builtin_add_overflow(*bytes, more, bytes))
        return false;
    }
  return true;
}

static bool check_spans(struct reading *r, const struct product *p) {
  for (int i = 0; i < RUN_TENSORS; i++) {
    int64_t bytes;
    if (!span(p, i, &bytes))
      return decline_at(r, loc_none(), "more than 64 bits of addresses in",
                        r->t->tensor[i].id);
  }
  return true;
}

/* Axes that move out, the smallest stride first; returns how many. */
static int out_axes(const struct product *p,
                    const struct product_axis *sorted[PRODUCT_AXES]) {
  int count = 0;
  for (int role = AXIS_C; role < AXIS_K; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      int64_t stride = x->stride_bytes[RUN_OUT];
      int at = count;
      if (x->extent <= 1)
        continue;
      for (; at > 0 && sorted[at - 1]->stride_bytes[RUN_OUT] > stride; at--)
        sorted[at] = sorted[at - 1];
      sorted[at] = x;
      count++;
    }
  return count;
}

/* Every element of out has one place of its own: along axes sorted by stride,
 * each stride steps over all that the smaller ones reach. */
static bool check_out(struct reading *r, const struct product *p) {
  const struct product_axis *axis[PRODUCT_AXES];
  int count = out_axes(p, axis);
  int64_t reach = dtype_bytes(p->type[RUN_OUT]);
  for (int i = 0; i < count; i++) {
    if (axis[i]->stride_bytes[RUN_OUT] < reach)
      return decline_at(r, loc_none(),
                        "two iterations write one place along axis",
                        axis[i]->id);
    reach += axis[i]->stride_bytes[RUN_OUT] * (axis[i]->extent - 1);
  }
  return true;
}

bool product_read(const struct teir *t, const int64_t *value, struct product *p,
                  struct diag *d) {
  struct reading r = {.t = t, .value = value, .d = d};
  memset(p, 0, sizeof *p);
  if (!walk(&r, t->roots))
    return false;
  if (!r.contraction.found)
    return diag_declined(d, loc_none(), "the TEIR holds no Contraction");
  if (!check_tensors(&r) || !check_sum_type(&r, t->tensor[RUN_OUT].type) ||
      !check_zero(&r))
    return false;
  for (int i = 0; i < RUN_TENSORS; i++)
    p->type[i] = t->tensor[i].type;
  p->accumulate = !r.zero.found;
  int axes = 0;
  for (int i = 0; i < t->axis_count; i++) {
    if (!place_has(t, &r.contraction, i))
      continue;
    if (axes++ == PRODUCT_AXES)
      return diag_declined(d, loc_none(), "more than %d axes", PRODUCT_AXES);
    if (!read_axis(&r, i, p))
      return false;
  }
  if (p->empty_out)
    return true;
  if (p->empty_sum) { /* only out counts */
    p->count[AXIS_K] = 0;
    return fuse_extents(&r, p);
  }
  return fuse_extents(&r, p) && check_spans(&r, p) && check_out(&r, p);
}

/* ---- what the trace says ---- */

static void fill(char *to, size_t room, const struct text *t) {
  size_t n = t->length < room ? t->length : room - 1;
  if (n)
    memcpy(to, t->data, n);
  to[n] = 0;
}

void product_describe(const struct product *p, struct run_report *r) {
  struct contraction_axis axis[PRODUCT_AXES];
  struct contraction c = {.axis = axis};
  for (int role = 0; role < PRODUCT_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      struct contraction_axis *to = &axis[c.axis_count++];
      *to = (struct contraction_axis){.name = x->id,
                                      .role = (enum axis_role)role,
                                      .extent = {x->extent, -1}};
      for (int k = 0; k < RUN_TENSORS; k++)
        to->stride_bytes[k] = (struct value){x->stride_bytes[k], -1};
    }
  struct text einsum = {0}, sizes = {0};
  contraction_einsum(&c, &einsum);
  contraction_sizes(&c, &sizes);
  for (size_t i = 0; i < sizes.length; i++)
    sizes.data[i] = sizes.data[i] == ' '   ? ','
                    : sizes.data[i] == '=' ? ':'
                                           : sizes.data[i];
  fill(r->einsum, sizeof r->einsum, &einsum);
  fill(r->sizes, sizeof r->sizes, &sizes);
  snprintf(r->types, sizeof r->types, "%s,%s,%s", dtype_name(p->type[0]),
           dtype_name(p->type[1]), dtype_name(p->type[2]));
  text_free(&einsum);
  text_free(&sizes);
}

/* ---- overlap ---- */

/* Bytes that a tensor covers of each period of `period` bytes: axes that move
 * by whole periods add nothing. */
static int64_t width(const struct product *p, int tensor, int64_t period) {
  int64_t bytes = dtype_bytes(p->type[tensor]);
  for (int role = 0; role < PRODUCT_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      if (x->stride_bytes[tensor] % period)
        bytes += (x->extent - 1) * x->stride_bytes[tensor];
    }
  return bytes;
}

/* Whether in and out lie beside each other in every period, as the left and
 * right halves of a wider matrix do. */
static bool beside(const struct product *p, int tensor, uint64_t out,
                   uint64_t in, int64_t period) {
  if (period <= 0)
    return false;
  uint64_t n = (uint64_t)period;
  uint64_t distance = in >= out ? (in - out) % n : (n - (out - in) % n) % n;
  uint64_t out_width = (uint64_t)width(p, RUN_OUT, period);
  uint64_t in_width = (uint64_t)width(p, tensor, period);
  return distance >= out_width && in_width <= n - distance;
}

static bool tensor_disjoint(const struct product *p, int tensor, uint64_t out,
                            uint64_t in) {
  int64_t out_bytes = 0, in_bytes = 0;
  span(p, RUN_OUT, &out_bytes);
  span(p, tensor, &in_bytes);
  if (out < in ? in - out >= (uint64_t)out_bytes
               : out - in >= (uint64_t)in_bytes)
    return true;
  for (int role = 0; role < PRODUCT_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++)
      if (beside(p, tensor, out, in, p->axis[role][i].stride_bytes[RUN_OUT]) ||
          beside(p, tensor, out, in, p->axis[role][i].stride_bytes[tensor]))
        return true;
  return false;
}

bool product_disjoint(const struct product *p, void *const tensor[],
                      struct diag *d) {
  uint64_t at[RUN_TENSORS];
  for (int i = 0; i < RUN_TENSORS; i++)
    at[i] = (uint64_t)(uintptr_t)tensor[i] + (uint64_t)p->offset[i];
  for (int i = RUN_IN0; i <= RUN_IN1; i++)
    if (!tensor_disjoint(p, i, at[RUN_OUT], at[i]))
      return diag_declined(d, loc_none(), "out overlaps in%d", i);
  return true;
}

/* ---- addresses ---- */

void product_offsets(const struct product *p, enum axis_role role, int tensor,
                     int64_t *offset) {
  int64_t count = 1;
  offset[0] = 0;
  for (int a = 0; a < p->count[role]; a++) {
    const struct product_axis *x = &p->axis[role][a];
    for (int64_t i = count - 1; i >= 0; i--) {
      int64_t base = offset[i];
      for (int64_t k = x->extent - 1; k >= 0; k--)
        offset[i * x->extent + k] = base + k * x->stride_bytes[tensor];
    }
    count *= x->extent;
  }
}

static void zero_axes(const struct product *p, int role, int axis, char *at) {
  while (role < AXIS_K && axis == p->count[role])
    role++, axis = 0;
  if (role == AXIS_K) {
    memset(at, 0, (size_t)dtype_bytes(p->type[RUN_OUT]));
    return;
  }
  const struct product_axis *x = &p->axis[role][axis];
  for (int64_t i = 0; i < x->extent; i++)
    zero_axes(p, role, axis + 1, at + i * x->stride_bytes[RUN_OUT]);
}

void product_zero(const struct product *p, void *const tensor[]) {
  zero_axes(p, AXIS_C, 0, (char *)tensor[RUN_OUT] + p->offset[RUN_OUT]);
}
