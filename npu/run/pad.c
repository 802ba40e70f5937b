/* pad.c -- copies of inputs: of those of which only some elements may be read,
 * the others counting as zero (a convolution's image, beyond whose edge there
 * is nothing), and of those of whose elements something is made before it is
 * multiplied (quantised numbers less their zero point).
 *
 * A copy has a dimension for every axis that moves the input, and zeros where
 * one of the product's limits is below zero.  It is as large as the matrix that
 * a device's buffer holds; a copy of the image with a margin around it would be
 * smaller, but only if all axes of a limit moved the input by the same bytes
 * per step, and would read elements that the source steps over.
 *
 * A limit that moves with axes of both inputs only is kept for both.  Others
 * are kept for one, and the other input is read where no product counts: its
 * elements may not even exist unless each is needed for some other product.
 *
 * What is made of elements becomes f32, or must be integers of 16 bits, or the
 * call declines.
 * Where 8 bits are enough, as for uint8_t less 128, the device gets these, of
 * in0 only if in1 has them, too: in its products the wider one comes first.
 */
#include "parts.h"

#include <string.h>

/* The axes of an input: those that it shares with the other input first. */
struct padding {
  const struct product *p;
  int tensor, element_bytes;
  const struct calc_program *program; /* of what is made; NULL: bytes as is */
  enum dtype made;                    /* its type in the copy */
  int reads, read[CALC_INPUTS];       /* tensors, the input first */
  int64_t smallest, largest;          /* of what was made, or zero */
  int axes, shared;
  const struct product_axis *axis[PRODUCT_AXES + 1];
  int limits, limit[PRODUCT_LIMITS]; /* those that this input keeps */
  char *to;                          /* the next element */
  uint64_t low, high;                /* addresses read; none: low > high */
  bool left_out;                     /* the other input is not always read */
};

/* ---- which axes, which limits ---- */

static enum axis_role own_role(int tensor) {
  return tensor == IN0 ? AXIS_M : AXIS_N;
}

static void add_axes(struct padding *x, enum axis_role role) {
  for (int i = 0; i < x->p->count[role]; i++)
    x->axis[x->axes++] = &x->p->axis[role][i];
}

/* Does the limit move with axes of a role? */
static bool moves(const struct product *p, int limit, enum axis_role role) {
  for (int i = 0; i < p->count[role]; i++)
    if (p->axis[role][i].extent > 1 && p->axis[role][i].step[limit])
      return true;
  return false;
}

static bool keeps(const struct product *p, int tensor, int limit) {
  return !moves(p, limit, own_role(IN0 + IN1 - tensor));
}

/* An integer input beside one of which something is made becomes as wide, but
 * for i8, which the device multiplies by wider ones. */
static bool is_made(const struct product *p, int tensor) {
  return p->map[tensor] ||
         (p->map[IN0 + IN1 - tensor] && p->type[tensor] != DTYPE_I8 &&
          dtype_kind(p->type[tensor]) != DTYPE_FLOAT);
}

static void compile(struct padding *x, struct arena *a) {
  const struct calc *map = x->p->map[x->tensor];
  if (!map)
    map = calc_input(a, MAP_ELEMENT, x->p->type[x->tensor]);
  bool floats = dtype_kind(map->type) == DTYPE_FLOAT;
  x->made = floats ? DTYPE_F32 : DTYPE_I16;
  x->program =
      calc_compile(a, calc_cast(a, floats ? DTYPE_F32 : DTYPE_I64, map));
  for (int i = MAP_EXTRA; i < CALC_INPUTS; i++)
    if (calc_uses(map, i))
      x->reads = i + 1;
  for (int i = MAP_EXTRA; i < x->reads; i++)
    x->read[i] = calc_uses(map, i) ? x->p->map_input[x->tensor][i] : x->tensor;
}

static struct padding padding_of(const struct product *p, int tensor) {
  static const struct product_axis one = {.extent = 1};
  struct padding x = {.p = p,
                      .tensor = tensor,
                      .element_bytes = dtype_bytes(p->type[tensor]),
                      .reads = 1,
                      .read = {tensor},
                      .low = UINT64_MAX};
  for (int i = 0; i < p->limit_count; i++)
    if (keeps(p, tensor, i))
      x.limit[x.limits++] = i;
  add_axes(&x, AXIS_C);
  add_axes(&x, AXIS_K);
  x.shared = x.axes;
  add_axes(&x, own_role(tensor));
  if (x.axes == x.shared)
    x.axis[x.axes++] = &one;
  return x;
}

static uint64_t address(const struct product *p, int tensor,
                        void *const from[]) {
  return (uint64_t)(uintptr_t)from[tensor] + (uint64_t)p->offset[tensor];
}

/* ---- the copy ---- */

/* First indices, and their end, at which the limits hold along an axis. */
struct range {
  int64_t begin, end;
};

/* v + step * i >= 0. */
static struct range narrowed(struct range r, int64_t v, int64_t step) {
  if (step > 0 && v < 0) {
    int64_t first = -(v + 1) / step + 1;
    r.begin = first > r.begin ? first : r.begin;
  } else if (step < 0) {
    int64_t end = v < 0 ? 0 : (int64_t)((uint64_t)v / (0 - (uint64_t)step)) + 1;
    r.end = end < r.end ? end : r.end;
  } else if (v < 0) {
    r.end = 0;
  }
  return r;
}

/* `bytes` is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void
gather(char *to, const char *from, int64_t stride, int64_t count, int bytes) {
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * bytes, from + i * stride, (size_t)bytes);
}

static void copy_elements(char *to, const char *from, int64_t stride,
                          int64_t count, int bytes) {
  if (stride == bytes)
    memcpy(to, from, (size_t)(count * bytes));
  else if (bytes == 1)
    gather(to, from, stride, count, 1);
  else if (bytes == 2)
    gather(to, from, stride, count, 2);
  else
    gather(to, from, stride, count, bytes);
}

/* Where the walk over the axes is: what is read there, and the limits. */
struct position {
  uint64_t from[CALC_INPUTS];
  int64_t value[PRODUCT_LIMITS];
};

static void advance(const struct padding *x, struct position *at,
                    const struct product_axis *axis) {
  for (int i = 0; i < x->reads; i++)
    at->from[i] += (uint64_t)axis->stride_bytes[x->read[i]];
  for (int k = 0; k < x->limits; k++)
    at->value[k] =
        (int64_t)((uint64_t)at->value[k] + (uint64_t)axis->step[x->limit[k]]);
}

/* CALC_CHUNK integers at most. */
static void make_integers(struct padding *x, const void *const in[],
                          const int64_t stride[], int16_t *to, int64_t count) {
  int64_t wide[CALC_CHUNK];
  calc_run_row(x->program, in, stride, wide, sizeof *wide, count);
  for (int64_t k = 0; k < count; k++) {
    x->smallest = wide[k] < x->smallest ? wide[k] : x->smallest;
    x->largest = wide[k] > x->largest ? wide[k] : x->largest;
    to[k] = (int16_t)wide[k];
  }
}

static void make_elements(struct padding *x, const struct position *at,
                          const struct product_axis *axis, struct range r) {
  int64_t stride[CALC_INPUTS];
  const void *in[CALC_INPUTS];
  int bytes = dtype_bytes(x->made);
  for (int64_t i = r.begin, count; i < r.end; i += count) {
    void *to = x->to + i * bytes;
    count = r.end - i < CALC_CHUNK ? r.end - i : CALC_CHUNK;
    for (int k = 0; k < x->reads; k++) {
      stride[k] = axis->stride_bytes[x->read[k]];
      in[k] =
          (const void *)(uintptr_t)(at->from[k] + (uint64_t)(i * stride[k]));
    }
    if (x->made == DTYPE_F32)
      calc_run_row(x->program, in, stride, to, bytes, count);
    else
      make_integers(x, in, stride, to, count);
  }
}

/* Along the last axis; gives how many elements are within the limits. */
static int64_t copy_run(struct padding *x, const struct product_axis *axis,
                        const struct position *at) {
  struct range r = {0, axis->extent};
  for (int i = 0; i < x->limits; i++)
    r = narrowed(r, at->value[i], axis->step[x->limit[i]]);
  int64_t stride = axis->stride_bytes[x->tensor], count = r.end - r.begin;
  int bytes = x->program ? dtype_bytes(x->made) : x->element_bytes;
  if (count > 0) {
    uint64_t first = at->from[0] + (uint64_t)(r.begin * stride);
    uint64_t end = first + (uint64_t)((count - 1) * stride + x->element_bytes);
    if (x->program)
      make_elements(x, at, axis, r);
    else
      copy_elements(x->to + r.begin * bytes, (const char *)(uintptr_t)first,
                    stride, count, bytes);
    x->low = first < x->low ? first : x->low;
    x->high = end > x->high ? end : x->high;
  }
  x->to += axis->extent * bytes;
  return count > 0 ? count : 0;
}

/* Is the other input read at an index of the shared axes? */
static bool needs_other(const struct padding *x, const int64_t *value) {
  for (int i = 0; i < x->limits; i++)
    if (value[i] < 0 && !moves(x->p, x->limit[i], own_role(x->tensor)))
      return false;
  return true;
}

/* From axis `level` on. */
static int64_t copy_axes(struct padding *x, int level,
                         const struct position *at) {
  const struct product_axis *axis = x->axis[level];
  int64_t count = 0;
  if (level == x->axes - 1) {
    count = copy_run(x, axis, at);
  } else {
    struct position inner = *at;
    for (int64_t i = 0; i < axis->extent; i++) {
      count += copy_axes(x, level + 1, &inner);
      advance(x, &inner, axis);
    }
  }
  x->left_out |= level == x->shared && count == 0 && needs_other(x, at->value);
  return count;
}

/* The axes' strides in the copy; false: it would be too large. */
static bool place_axes(struct product *p, int tensor, int64_t *bytes) {
  const enum axis_role order[] = {own_role(tensor), AXIS_K, AXIS_C};
  *bytes = dtype_bytes(p->type[tensor]);
  for (int k = 0; k < 3; k++)
    for (int i = p->count[order[k]] - 1; i >= 0; i--) {
      struct product_axis *x = &p->axis[order[k]][i];
      x->stride_bytes[tensor] = *bytes;
      if (__builtin_mul_overflow(*bytes, x->extent, bytes))
        return false;
    }
  p->offset[tensor] = 0;
  return true;
}

/* What was read must not be what the product writes.  Of extras, only one that
 * is out itself, element by element, is left. */
static bool check_read(const struct padding *x, void *const tensor[],
                       struct diag *d) {
  int64_t bytes = 0;
  uint64_t out = address(x->p, OUT, tensor);
  product_span(x->p, OUT, &bytes);
  if (x->left_out)
    return diag_declined(d, loc_none(),
                         "in%d has elements at which no product counts",
                         1 - x->tensor);
  bool same =
      x->low < x->high && x->low < out + (uint64_t)bytes && out < x->high;
  for (int i = MAP_EXTRA; i < x->reads; i++)
    same |= address(x->p, x->read[i], tensor) == out;
  return !same || diag_declined(d, loc_none(), "out overlaps in%d", x->tensor);
}

/* One copy of an element stands for all that is made of it. */
static bool check_extras(const struct padding *x, struct diag *d) {
  enum axis_role other = own_role(IN0 + IN1 - x->tensor);
  for (int a = 0; a < x->p->count[other]; a++)
    for (int i = MAP_EXTRA; i < x->reads; i++)
      if (x->p->axis[other][a].extent > 1 &&
          x->p->axis[other][a].stride_bytes[x->read[i]])
        return diag_declined(d, loc_none(),
                             "what is made of in%d's elements moves along axis "
                             "%s, in%d not",
                             x->tensor, x->p->axis[other][a].id, x->tensor);
  return true;
}

static bool check_made(const struct padding *x, struct diag *d) {
  return (x->smallest >= INT16_MIN && x->largest <= INT16_MAX) ||
         diag_declined(d, loc_none(),
                       "what is made of in%d's elements, %lld to %lld, needs "
                       "more than 16 bits",
                       x->tensor, (long long)x->smallest,
                       (long long)x->largest);
}

static bool fill(struct arena *a, struct padding *x, struct padded *to,
                 void *const from[], struct diag *d) {
  const struct product *p = x->p;
  struct position at = {0};
  int64_t bytes;
  if (x->program)
    to->product.type[x->tensor] = x->made;
  if (!place_axes(&to->product, x->tensor, &bytes))
    out_of_memory(SIZE_MAX);
  to->tensor[x->tensor] = x->to = arena_alloc(a, (size_t)bytes);
  to->bytes[x->tensor] = bytes;
  to->why[x->tensor] = x->program ? "made" : "zeros";
  for (int i = 0; i < x->reads; i++)
    at.from[i] = address(p, x->read[i], from);
  for (int i = 0; i < x->limits; i++)
    at.value[i] = p->limit[x->limit[i]];
  copy_axes(x, 0, &at);
  return check_made(x, d) && check_read(x, from, d);
}

static bool pad(struct arena *a, struct padding *x, struct padded *to,
                void *const from[], struct diag *d) {
  bool made = is_made(x->p, x->tensor);
  if (!x->limits && !made)
    return true;
  if (made)
    compile(x, a);
  return check_extras(x, d) && fill(a, x, to, from, d);
}

/* Of what was made, where 8 bits are enough. */
static void narrow(const struct padding *x, struct padded *to) {
  if (!x->program || x->made != DTYPE_I16 || x->smallest < INT8_MIN ||
      x->largest > INT8_MAX)
    return;
  int64_t bytes;
  to->product.type[x->tensor] = DTYPE_I8;
  place_axes(&to->product, x->tensor, &bytes);
  int16_t *wide = to->tensor[x->tensor];
  for (int64_t i = 0; i < bytes; i++)
    ((int8_t *)wide)[i] = (int8_t)wide[i];
}

/* Every limit moves with the axes of one input only. */
static bool check_limits(const struct product *p, struct diag *d) {
  for (int i = 0; i < p->limit_count; i++)
    if (!keeps(p, IN0, i) && !keeps(p, IN1, i))
      return diag_declined(d, loc_none(), "a limit moves with M and N axes");
  return true;
}

bool padded_needed(const struct product *p) {
  return p->limit_count || p->map[IN0] || p->map[IN1];
}

bool padded_make(struct arena *a, struct padded *to, const struct product *p,
                 void *const tensor[], struct diag *d) {
  *to = (struct padded){.product = *p};
  memcpy(to->tensor, tensor, (size_t)p->tensor_count * sizeof *tensor);
  to->product.limit_count = 0;
  to->product.map[IN0] = to->product.map[IN1] = NULL;
  struct padding in0 = padding_of(p, IN0), in1 = padding_of(p, IN1);
  if (!check_limits(p, d) || !pad(a, &in0, to, tensor, d) ||
      !pad(a, &in1, to, tensor, d))
    return false;
  narrow(&in1, to);
  if (to->product.type[IN1] == DTYPE_I8)
    narrow(&in0, to);
  return true;
}
