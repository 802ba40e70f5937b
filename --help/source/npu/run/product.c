/* product.c -- reads a TEIR and the values of its symbols as a matrix product
 * with any number of C, M, N and K axes.
 *
 * The form that we take: one Contraction, at most one Zero before it, no
 * guards.  out must be zeroed once per element and before its first product:
 * every axis that moves out is an axis of the Zero, and no loop around both
 * leaves out where it is.  Roles follow from the strides of this call, not from
 * names.  An extent of zero or less means that the loop does nothing.
 *
 * Or, with an epilogue: in the same loops, which move out, one after the other
 * a Zero of the tensor `sum`, loops over K around a Contraction to it, and a
 * Map to out.
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
  struct place zero, contraction, map, path;
  struct place element[2]; /* Maps of what in0 and in1 hold */
  int invocations;
  struct diag *d;
};

static bool decline_at(struct reading *r, struct loc at, const char *what,
                       const char *id) {
  return diag_declined(r->d, at, "%s '%s'", what, id);
}

static int64_t valued(const struct reading *r, struct value s) {
  return s.symbol < 0 ? s.constant : r->value[s.symbol];
}

/* ---- structure ---- */

/* A Map to out is an epilogue, others make elements. */
static struct place *place_of_map(struct reading *r, int primitive) {
  return teir_output(r->t, primitive) == OUT     ? &r->map
         : teir_input(r->t, primitive, 0) == IN1 ? &r->element[IN1]
                                                 : &r->element[IN0];
}

static bool found(struct reading *r, const struct teir_node *n) {
  enum teir_op op = r->t->primitive[n->primitive].op;
  struct place *p = op == TEIR_ZERO          ? &r->zero
                    : op == TEIR_CONTRACTION ? &r->contraction
                    : op == TEIR_MAP         ? place_of_map(r, n->primitive)
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

/* Tensors that are what elements make, which lie nowhere: the last ones. */
static int elements(const struct reading *r) {
  return r->element[IN0].found + r->element[IN1].found;
}

/* What is multiplied in the place of an input. */
static int multiplied(const struct reading *r, int input) {
  const struct place *e = &r->element[input];
  return e->found ? teir_output(r->t, e->primitive) : input;
}

/* The tensors by their names, `summed` being what the Contraction writes. */
static bool check_tensors(struct reading *r, int summed) {
  static const char *const id[] = {"in0", "in1", "out", "sum"};
  const struct teir *t = r->t;
  int least = summed + 1, most = r->map.found ? PRODUCT_TENSORS : TENSORS;
  most += r->map.found ? elements(r) : 0;
  if (t->tensor_count < least || t->tensor_count > most)
    return diag_declined(r->d, loc_none(), "%d tensors; this form has %d to %d",
                         t->tensor_count, least, most);
  for (int i = 0; i < least; i++)
    if (strcmp(t->tensor[i].id, id[i]) != 0)
      return decline_at(r, t->tensor[i].at, "unexpected tensor",
                        t->tensor[i].id);
  int p = r->contraction.primitive;
  if (teir_input(t, p, 0) != multiplied(r, IN0) ||
      teir_input(t, p, 1) != multiplied(r, IN1) ||
      teir_output(t, p) != summed ||
      (r->zero.found && teir_output(t, r->zero.primitive) != summed))
    return decline_at(r, t->primitive[p].at, "unexpected operands of",
                      t->primitive[p].id);
  return true;
}

/* ---- the form with an epilogue ---- */

static bool is_scalar(const struct reading *r, const struct place *p) {
  for (int role = 0; role < TEIR_ROLES; role++)
    if (r->t->primitive[p->primitive].role[role].count)
      return false;
  return true;
}

/* Does `inner` hang in all loops of `outer`, and perhaps in more? */
static bool hangs_in(const struct place *inner, const struct place *outer) {
  return inner->depth >= outer->depth &&
         memcmp(inner->node, outer->node,
                (size_t)outer->depth * sizeof *outer->node) == 0;
}

static bool check_tail_places(struct reading *r) {
  const struct place *z = &r->zero, *c = &r->contraction, *m = &r->map;
  if (z->found && is_scalar(r, z) && is_scalar(r, c) && is_scalar(r, m) &&
      z->order < c->order && c->order < m->order && hangs_in(z, m) &&
      hangs_in(m, z) && hangs_in(c, m))
    return true;
  return decline_at(r, r->t->primitive[m->primitive].at,
                    "no Zero, Contraction and Map of one element each around",
                    r->t->primitive[m->primitive].id);
}

static bool read_tail(struct reading *r, struct product *p) {
  const struct teir *t = r->t;
  int map = r->map.primitive;
  p->epilogue = t->primitive[map].expr;
  p->input_count = teir_input_count(t, map);
  for (int i = 0; i < p->input_count; i++) {
    p->input[i] = teir_input(t, map, i);
    if (p->input[i] == IN0 || p->input[i] == IN1)
      return decline_at(r, t->primitive[map].at,
                        "an input of the Contraction in", t->primitive[map].id);
  }
  return teir_output(t, map) == OUT ||
         decline_at(r, t->primitive[map].at, "unexpected output of",
                    t->primitive[map].id);
}

/* A Map in front of the Contraction, from an input and extras to a tensor that
 * the Contraction alone reads. */
static bool read_element(struct reading *r, int input, struct product *p) {
  const struct place *e = &r->element[input], *c = &r->contraction;
  const struct teir *t = r->t;
  if (!e->found)
    return true;
  const char *id = t->primitive[e->primitive].id;
  struct loc at = t->primitive[e->primitive].at;
  int to = teir_output(t, e->primitive),
      from = teir_input_count(t, e->primitive);
  if (!r->map.found || !is_scalar(r, e) || e->order > c->order ||
      !hangs_in(e, c) || !hangs_in(c, e) || to < t->tensor_count - elements(r))
    return decline_at(r, at, "no element for a Contraction beside", id);
  p->map[input] = t->primitive[e->primitive].expr;
  for (int i = 0; i < from; i++) {
    int in = p->map_input[input][i] = teir_input(t, e->primitive, i);
    if (i ? in < EXTRAS || in >= t->tensor_count - elements(r) : in != input)
      return decline_at(r, at, "unexpected input of", id);
  }
  for (int i = 0; i < c->depth; i++)
    if (valued(r, t->axis[t->node[c->node[i]].axis].stride_bytes[to]))
      return decline_at(r, at, "more than one element made by", id);
  return true;
}

/* Loops around the Map move out and leave the sum where it is; those around
 * the Contraction only move nothing but in0 and in1. */
static bool check_tail_axis(struct reading *r, const struct teir_axis *x,
                            bool inner) {
  if (valued(r, x->extent) <= 1)
    return true;
  if (!inner && valued(r, x->stride_bytes[OUT]) == 0)
    return decline_at(r, x->at, "out is written again along axis", x->id);
  if (valued(r, x->stride_bytes[SUMS]))
    return decline_at(r, x->at, "the sum moves along axis", x->id);
  for (int i = OUT; inner && i < r->t->tensor_count; i++)
    if (valued(r, x->stride_bytes[i]) || valued(r, x->offset_bytes[i]))
      return decline_at(r, x->at, "more than in0 and in1 moves along axis",
                        x->id);
  return true;
}

static bool check_tail_axes(struct reading *r) {
  for (int i = 0; i < r->contraction.depth; i++) {
    const struct teir_node *n = &r->t->node[r->contraction.node[i]];
    if (!check_tail_axis(r, &r->t->axis[n->axis], i >= r->map.depth))
      return false;
  }
  return true;
}

/* The sum must be formed in the type of what the Contraction writes, or for
 * integers in a wider one. */
static bool check_sum_type(struct reading *r, enum dtype to) {
  const char *word = teir_property(r->t, r->contraction.primitive, "acc");
  enum dtype acc = to;
  if (word && !dtype_parse(word, &acc))
    return decline_at(r, loc_none(), "unknown type of sum", word);
  bool integers =
      dtype_kind(acc) != DTYPE_FLOAT && dtype_kind(to) != DTYPE_FLOAT;
  if (acc == to || (integers && dtype_bytes(acc) >= dtype_bytes(to)))
    return true;
  return decline_at(r, loc_none(), "no device sums in", dtype_name(acc));
}

/* ---- axes ---- */

static enum axis_role role_of(const int64_t stride[TENSORS]) {
  if (stride[OUT] == 0)
    return AXIS_K;
  if (stride[IN1] == 0)
    return AXIS_M;
  return stride[IN0] == 0 ? AXIS_N : AXIS_C;
}

/* Axes of a role lie with the larger stride first, so that the fused axis runs
 * through memory forwards. */
static void insert(struct product *p, enum axis_role role,
                   struct product_axis x) {
  int key = role == AXIS_K ? IN1 : OUT, at = p->count[role]++;
  while (at > 0 &&
         p->axis[role][at - 1].stride_bytes[key] < x.stride_bytes[key]) {
    p->axis[role][at] = p->axis[role][at - 1];
    at--;
  }
  p->axis[role][at] = x;
}

/* As those that must not be below zero: v < 0 says that -1 - v is not. */
static int64_t limit_value(const struct reading *r,
                           const struct affine_guard *l, struct value s,
                           int64_t base) {
  int64_t v = valued(r, s);
  return l->below ? (int64_t)((uint64_t)base - (uint64_t)v) : v;
}

static bool read_limits(struct reading *r, struct product *p) {
  p->limit_count = r->t->limit_count;
  if (p->limit_count > PRODUCT_LIMITS)
    return diag_declined(r->d, loc_none(), "more than %d limits",
                         PRODUCT_LIMITS);
  for (int i = 0; i < p->limit_count; i++) {
    const struct affine_guard *l = &r->t->limit[i];
    p->limit[i] = limit_value(r, l, l->start, -1);
  }
  return true;
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
  for (int i = 0; i < p->tensor_count; i++) {
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
  for (int i = 0; i < p->limit_count; i++) {
    const struct affine_guard *l = &r->t->limit[i];
    x.step[i] = limit_value(r, l, l->step[axis], 0);
  }
  if (r->zero.found && x.extent > 1 && x.stride_bytes[OUT] && !in_zero)
    return decline_at(r, from->at, "out is not zeroed along axis", x.id);
  insert(p, role_of(x.stride_bytes), x);
  return true;
}

/* Loops around both the Zero and the Contraction must move out. */
static bool check_zero(struct reading *r) {
  const struct place *z = &r->zero, *c = &r->contraction;
  if (!z->found || r->map.found)
    return true;
  if (z->order > c->order)
    return decline_at(r, loc_none(), "the Contraction comes before",
                      r->t->primitive[z->primitive].id);
  for (int i = 0; i < z->depth && i < c->depth && z->node[i] == c->node[i];
       i++) {
    const struct teir_axis *x = &r->t->axis[r->t->node[z->node[i]].axis];
    if (valued(r, x->extent) > 1 && valued(r, x->stride_bytes[OUT]) == 0)
      return decline_at(r, x->at, "out is zeroed again along axis", x->id);
  }
  for (int i = 0; i < r->t->axis_count; i++)
    if (place_has(r->t, z, i) && !place_has(r->t, c, i))
      return decline_at(r, r->t->axis[i].at, "only the Zero runs over axis",
                        r->t->axis[i].id);
  return true;
}

static bool fuse_extents(struct reading *r, struct product *p) {
  for (int role = 0; role < AXIS_ROLES; role++) {
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

static bool check_spans(struct reading *r, const struct product *p) {
  for (int i = 0; i < p->tensor_count; i++) {
    int64_t bytes;
    if (!product_span(p, i, &bytes))
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
      int64_t stride = x->stride_bytes[OUT];
      int at = count;
      if (x->extent <= 1)
        continue;
      for (; at > 0 && sorted[at - 1]->stride_bytes[OUT] > stride; at--)
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
  int64_t reach = dtype_bytes(p->type[OUT]);
  for (int i = 0; i < count; i++) {
    if (axis[i]->stride_bytes[OUT] < reach)
      return decline_at(r, loc_none(),
                        "two iterations write one place along axis",
                        axis[i]->id);
    reach += axis[i]->stride_bytes[OUT] * (axis[i]->extent - 1);
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
  int summed = r.map.found ? SUMS : OUT;
  if (!check_tensors(&r, summed) ||
      !check_sum_type(&r, t->tensor[summed].type) || !check_zero(&r) ||
      (r.map.found &&
       (!check_tail_places(&r) || !check_tail_axes(&r) || !read_tail(&r, p))))
    return false;
  if (!read_element(&r, IN0, p) || !read_element(&r, IN1, p))
    return false;
  p->tensor_count = t->tensor_count - elements(&r);
  for (int i = 0; i < p->tensor_count; i++)
    p->type[i] = t->tensor[i].type;
  p->acc = p->type[summed];
  p->accumulate = !r.zero.found;
  if (!read_limits(&r, p))
    return false;
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
  if (p->empty_sum)
    p->count[AXIS_K] = p->limit_count = 0;
  return fuse_extents(&r, p) && check_spans(&r, p) && check_out(&r, p);
}

/* ---- what the trace says ---- */

/* Behind what an earlier product has left there. */
static void fill(char *to, size_t room, const char *text) {
  size_t used = strlen(to);
  snprintf(to + used, room - used, "%s%s", used ? ";" : "", text);
}

static void describe_tail(const struct product *p, struct run_report *r) {
  if (!p->epilogue)
    return;
  char name[CALC_INPUTS][16];
  const char *names[CALC_INPUTS];
  for (int i = 0; i < p->input_count; i++) {
    if (p->input[i] >= EXTRAS)
      snprintf(name[i], sizeof name[i], "x%d", p->input[i] - EXTRAS);
    else
      strcpy(name[i], p->input[i] == OUT ? "out" : "sum");
    names[i] = name[i];
  }
  struct text tail = {0};
  calc_print(p->epilogue, names, &tail);
  fill(r->tail, sizeof r->tail, text_string(&tail));
  text_free(&tail);
}

void product_describe(const struct product *p, struct run_report *r) {
  struct contraction_axis axis[PRODUCT_AXES];
  struct contraction c = {.axis = axis};
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      struct contraction_axis *to = &axis[c.axis_count++];
      *to = (struct contraction_axis){.name = x->id,
                                      .role = (enum axis_role)role,
                                      .extent = {x->extent, -1}};
      for (int k = 0; k < TENSORS; k++)
        to->stride_bytes[k] = (struct value){x->stride_bytes[k], -1};
    }
  struct text einsum = {0}, sizes = {0};
  contraction_einsum(&c, &einsum);
  contraction_sizes(&c, &sizes);
  for (size_t i = 0; i < sizes.length; i++)
    sizes.data[i] = sizes.data[i] == ' '   ? ','
                    : sizes.data[i] == '=' ? ':'
                                           : sizes.data[i];
  fill(r->einsum, sizeof r->einsum, text_string(&einsum));
  fill(r->sizes, sizeof r->sizes, text_string(&sizes));
  char types[32];
  snprintf(types, sizeof types, "%s,%s,%s", dtype_name(p->type[0]),
           dtype_name(p->type[1]), dtype_name(p->type[2]));
  fill(r->types, sizeof r->types, types);
  describe_tail(p, r);
  text_free(&einsum);
  text_free(&sizes);
}
