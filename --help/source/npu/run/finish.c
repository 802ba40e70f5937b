/* finish.c -- which products the array brings to out's elements by itself, so
 * that results leave it and no sums: a bias, which is a vector along one role
 * that is added to the sums, a ReLU, for integers or a rounding shift with
 * saturation, and a conversion; in this order.
 *
 * Integers get the bits of the expression.  Floats do, too, but for the bias: a
 * core adds it as its multiplier adds, which is off by one unit in the last
 * place of the sum at most.  NaN becomes zero or stays, as the expression says;
 * of zeros the sign may be another one.
 *
 * Not among them: what scales floats, because no core multiplies f32; other
 * matrices, and old contents of out; and what needs the sum of several launches
 * along K.
 *
 * Old contents would come as a bias does, behind in1's blocks, on a channel
 * that a column's cores share: 0.25 cycles an element on npu1, whose four
 * columns get 4 bytes a cycle each; and DRAM takes 0.07 to 0.24 ns to read one
 * (preset.def).  The host has to copy results anyway, since out must be as it
 * was until nothing can fail; it adds them as it does so (pack.c).
 */
#include "parts.h"

/* The expression down to the sum, as matched so far. */
struct match {
  const struct product *p;
  void *const *tensor;
  const struct calc *c;
};

static bool is_input(const struct match *m, const struct calc *c, int *tensor) {
  *tensor = c->op == CALC_INPUT ? m->p->input[c->input] : -1;
  return *tensor >= 0;
}

/* The role along which a tensor moves; false: it moves along several, or with
 * the products of a batch. */
static bool vector_role(const struct product *p, int tensor,
                        enum axis_role *role) {
  *role = AXIS_N;
  for (int i = 0; i < p->count[AXIS_M]; i++)
    if (p->axis[AXIS_M][i].extent > 1 &&
        p->axis[AXIS_M][i].stride_bytes[tensor])
      *role = AXIS_M;
  for (int r = AXIS_C; r < AXIS_ROLES; r++)
    for (int i = 0; i < p->count[r]; i++) {
      const struct product_axis *x = &p->axis[r][i];
      if (r != (int)*role && x->extent > 1 && x->stride_bytes[tensor])
        return false;
    }
  return true;
}

/* The sum, or the sum and a bias. */
static bool sums(const struct match *m, struct finish *f) {
  int left, right;
  f->bias = -1;
  f->how.bias = AXIS_C;
  if (is_input(m, m->c, &left))
    return left == SUMS;
  if (m->c->op != CALC_ADD || !is_input(m, m->c->arg[0], &left) ||
      !is_input(m, m->c->arg[1], &right) || (left == SUMS) == (right == SUMS))
    return false;
  f->bias = left == SUMS ? right : left;
  return f->bias >= EXTRAS && m->p->type[f->bias] == m->p->acc &&
         vector_role(m->p, f->bias, &f->how.bias);
}

/* `op` of the rest and an integer constant, on either side unless it is a
 * shift: steps into the rest. */
static bool step(struct match *m, enum calc_op op, int64_t *constant) {
  if (m->c->op != op || dtype_kind(m->c->type) == DTYPE_FLOAT)
    return false;
  bool swapped = op != CALC_SHR && m->c->arg[0]->op == CALC_NUMBER;
  const struct calc *number = m->c->arg[!swapped];
  if (number->op != CALC_NUMBER)
    return false;
  *constant = number->integer;
  m->c = m->c->arg[swapped];
  return true;
}

static int64_t highest(enum dtype t) {
  int bits = 8 * dtype_bytes(t) - (dtype_kind(t) == DTYPE_SIGNED);
  return bits < 63 ? ((int64_t)1 << bits) - 1 : INT64_MAX;
}
static int64_t lowest(enum dtype t) {
  return dtype_kind(t) == DTYPE_SIGNED ? -highest(t) - 1 : 0;
}

/* min(max(.., low), high) in either order. */
static bool clamps(struct match *m, int64_t *low, int64_t *high) {
  if (step(m, CALC_MIN, high))
    return step(m, CALC_MAX, low);
  return step(m, CALC_MAX, low) && step(m, CALC_MIN, high);
}

/* The largest distance from zero in a bias of 32 bits. */
static int64_t largest(const struct match *m, int tensor, enum axis_role role) {
  struct arena *a = arena_open();
  const int64_t *at = product_new_offsets(a, m->p, role, tensor);
  int64_t most = 0;
  for (int64_t i = 0; i < m->p->extent[role]; i++) {
    int64_t v = dtype_load_int(m->p->acc, (const char *)m->tensor[tensor] +
                                              m->p->offset[tensor] + at[i]);
    v = v < 0 ? -v : v;
    most = v > most ? v : most;
  }
  arena_close(a);
  return most;
}

/* Whether sums and half a result stay below 2^31, so that the source's addition
 * does not wrap, which the array's does not. */
static bool half_fits(const struct match *m, int64_t half,
                      const struct finish *f) {
  const struct product *p = m->p;
  int64_t product = highest(p->type[IN0]) + 1, sum;
  if (f->bias >= 0)
    half += largest(m, f->bias, f->how.bias);
  return !__builtin_mul_overflow(product, highest(p->type[IN1]) + 1,
                                 &product) &&
         !__builtin_mul_overflow(product, p->extent[AXIS_K], &sum) &&
         sum <= INT32_MAX - half;
}

/* (sum + half) >> shift, clamped to out's range, or from zero on. */
static bool shifts(struct match m, enum dtype out, struct finish *f) {
  int64_t low, high, shift = 0, half = 0;
  if (!clamps(&m, &low, &high) || high != highest(out) ||
      (low != lowest(out) && low != 0))
    return false;
  if (step(&m, CALC_SHR, &shift) &&
      (shift < 1 || shift > 31 || !step(&m, CALC_ADD, &half) ||
       half != (int64_t)1 << (shift - 1)))
    return false;
  f->how = (struct teir_finish){
      .relu = low > lowest(out), .saturate = true, .shift = (int)shift};
  return sums(&m, f) && (!shift || half_fits(&m, half, f));
}

static bool relus(struct match m, struct finish *f) {
  int64_t zero;
  f->how = (struct teir_finish){.relu = true};
  return step(&m, CALC_MAX, &zero) && zero == 0 && sums(&m, f);
}

static bool is_zero(const struct calc *c) {
  return c->op == CALC_NUMBER && dtype_kind(c->type) == DTYPE_FLOAT &&
         c->number == 0;
}

/* fmax(x, 0), 0 < x ? x : 0, which make zero of NaN, or x < 0 ? 0 : x, which
 * keeps it; also with <=.  Gives x. */
static const struct calc *float_relu(const struct calc *c, bool *keeps_nan) {
  const struct calc *const *arg = c->arg, *is = arg[0], *x = NULL;
  *keeps_nan = false;
  if (c->op == CALC_MAX)
    return is_zero(arg[1]) ? arg[0] : is_zero(arg[0]) ? arg[1] : NULL;
  if (c->op != CALC_SELECT || (is->op != CALC_LT && is->op != CALC_LE))
    return NULL;
  *keeps_nan = is_zero(arg[1]);
  x = *keeps_nan ? arg[2] : arg[1];
  bool good = *keeps_nan ? is_zero(is->arg[1]) && calc_equal(is->arg[0], x)
                         : is_zero(arg[2]) && is_zero(is->arg[0]) &&
                               calc_equal(is->arg[1], x);
  return good ? x : NULL;
}

static bool float_relus(struct match m, struct finish *f) {
  bool keeps_nan;
  const struct calc *x = float_relu(m.c, &keeps_nan);
  if (x) {
    f->how = (struct teir_finish){.relu = true, .keeps_nan = keeps_nan};
    m.c = x;
  }
  return sums(&m, f);
}

/* A bias costs a launch the pushes of its tasks, some 5 to 9 us, and saves the
 * host 0.3 to 1.6 ns an element, less where results are as wide as sums. */
static bool is_worth_it(const struct product *p, const struct finish *f) {
  enum { LEAST_WIDE = 1 << 15, LEAST_NARROW = 1 << 13 };
  double least = dtype_bytes(p->type[OUT]) < 4 ? LEAST_NARROW : LEAST_WIDE;
  return f->bias < 0 || (double)p->extent[AXIS_C] * (double)p->extent[AXIS_M] *
                                (double)p->extent[AXIS_N] >=
                            least;
}

static bool reads(const struct product *p, void *const tensor[],
                  struct finish *f) {
  enum dtype out = p->type[OUT];
  *f = (struct finish){.bias = -1};
  if (p->accumulate)
    return false;
  bool narrower = dtype_bytes(out) < dtype_bytes(p->acc);
  if (!p->epilogue)
    return dtype_bytes(out) < 4 && dtype_kind(out) != DTYPE_FLOAT;
  struct match m = {p, tensor, p->epilogue};
  bool cast = m.c->op == CALC_CAST;
  if (cast)
    m.c = m.c->arg[0];
  if (m.c->type != p->acc || (cast && !narrower))
    return false;
  if (p->acc == DTYPE_F32)
    return (out == DTYPE_F32 || out == DTYPE_BF16) && float_relus(m, f);
  if (dtype_kind(p->acc) == DTYPE_FLOAT || dtype_kind(out) == DTYPE_FLOAT)
    return false;
  if (sums(&m, f))
    return f->bias < 0 || p->acc == DTYPE_I32;
  return p->acc == DTYPE_I32 &&
         ((narrower && shifts(m, out, f)) || relus(m, f));
}

bool finish_read(const struct product *p, void *const tensor[],
                 struct finish *f) {
  return reads(p, tensor, f) && is_worth_it(p, f);
}
