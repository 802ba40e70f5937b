/* run_element.c -- one call of a primitive, element by element: what the
 * operations mean, exact per data type. */
#include "calc.h"
#include "teir_run.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making primitives ready ---- */
static double number(const struct teir *t, int p, const char *key,
                     double otherwise) {
  const char *value = teir_property(t, p, key);
  return value ? strtod(value, NULL) : otherwise;
}

static enum dtype sum_type(const struct teir *t, int p,
                           const struct run_kernel *k) {
  enum dtype type;
  const char *acc = teir_property(t, p, "acc");
  if (acc && dtype_parse(acc, &type))
    return type;
  bool floating = false, wide = false;
  for (int i = 0; i < k->operand_count; i++) {
    floating = floating || dtype_kind(k->type[i]) == DTYPE_FLOAT;
    wide = wide || k->type[i] == DTYPE_F64;
  }
  return wide ? DTYPE_F64 : floating ? DTYPE_F32 : DTYPE_I64;
}

static void add_loops(const struct teir *t, struct run_kernel *k,
                      struct teir_list role) {
  for (int i = 0; i < role.count; i++) {
    const struct teir_axis *x = &t->axis[role.item[i]];
    struct run_loop *l = &k->loop[k->loop_count++];
    l->extent = x->extent.constant;
    assert(x->extent.symbol < 0 && l->extent > 0);
    for (int j = 0; j < k->operand_count; j++) {
      l->stride[j] = x->stride_bytes[k->operand[j]].constant;
      k->offset[j] =
          (int64_t)((uint64_t)k->offset[j] +
                    (uint64_t)x->offset_bytes[k->operand[j]].constant);
    }
  }
}

/* Loops that move the output first, keeping their order otherwise. */
static void sum_last(struct arena *a, struct run_kernel *k) {
  int out = k->operand_count - 1, n = 0;
  struct run_loop *sorted =
      arena_array(a, (size_t)k->loop_count + 1, sizeof *sorted);
  for (int i = 0; i < k->loop_count; i++)
    if (k->loop[i].stride[out] != 0)
      sorted[n++] = k->loop[i];
  k->outer = n;
  for (int i = 0; i < k->loop_count; i++)
    if (k->loop[i].stride[out] == 0)
      sorted[n++] = k->loop[i];
  k->loop = sorted;
  assert(n == k->loop_count && k->outer <= n);
}

static void compile(struct arena *a, struct run_kernel *k,
                    const struct calc *expr) {
  k->program = calc_compile(a, expr);
  k->lock = arena_alloc(a, sizeof *k->lock);
  pthread_mutex_init(k->lock, NULL);
}

struct run_kernel teir_run_kernel_ready(struct arena *a, const struct teir *t,
                                        int p) {
  const struct teir_primitive *from = &t->primitive[p];
  struct run_kernel k = {.op = from->op};
  for (int i = 0; i < teir_input_count(t, p); i++)
    k.operand[k.operand_count++] = teir_input(t, p, i);
  k.operand[k.operand_count++] = teir_output(t, p);
  assert(k.operand_count <= RUN_OPERANDS);
  int loops = 1;
  for (int r = 0; r < TEIR_ROLES; r++)
    loops += from->role[r].count;
  k.loop = arena_array(a, (size_t)loops, sizeof *k.loop);
  for (int i = 0; i < k.operand_count; i++)
    k.type[i] = t->tensor[k.operand[i]].type;
  for (int r = 0; r < TEIR_ROLES; r++)
    add_loops(t, &k, from->role[r]);
  k.outer = k.loop_count;
  if (k.op == TEIR_CONTRACTION)
    sum_last(a, &k);
  if (k.op == TEIR_MAP && k.loop_count > 0)
    k.outer--;
  k.acc = sum_type(t, p, &k);
  k.floating = dtype_kind(k.acc) == DTYPE_FLOAT;
  k.alpha = number(t, p, k.op == TEIR_ADD ? "beta" : "alpha", 1);
  k.low = number(t, p, "low", 0);
  k.high = number(t, p, "high", 0);
  k.shift = (int)number(t, p, "shift", 0);
  const char *nan = teir_property(t, p, "nan");
  k.keeps_nan = nan && strcmp(nan, "kept") == 0;
  if (from->expr)
    compile(a, &k, from->expr);
  assert((k.op == TEIR_MAP) == (k.program != NULL));
  assert(k.outer >= 0 && k.outer <= k.loop_count);
  return k;
}

/* ---- elements ---- */
static int64_t type_low(enum dtype t) {
  int bits = 8 * dtype_bytes(t);
  return dtype_kind(t) == DTYPE_UNSIGNED ? 0
         : bits == 64                    ? INT64_MIN
                                         : -((int64_t)1 << (bits - 1));
}

static int64_t type_high(enum dtype t) {
  int bits = 8 * dtype_bytes(t);
  return dtype_kind(t) == DTYPE_UNSIGNED ? ((int64_t)1 << bits) - 1
         : bits == 64                    ? INT64_MAX
                                         : ((int64_t)1 << (bits - 1)) - 1;
}

/* A float stored to an integer truncates and saturates; NaN gives 0. */
static void store_float(enum dtype t, void *p, double v) {
  if (dtype_kind(t) == DTYPE_FLOAT) {
    dtype_store_float(t, p, v);
    return;
  }
  int64_t whole = isnan(v)                    ? 0
                  : v <= (double)type_low(t)  ? type_low(t)
                  : v >= (double)type_high(t) ? type_high(t)
                                              : (int64_t)v;
  dtype_store_int(t, p, whole);
}

static bool is_float(enum dtype t) { return dtype_kind(t) == DTYPE_FLOAT; }

static void store_int(enum dtype t, void *p, int64_t v) {
  if (is_float(t))
    dtype_store_float(t, p, (double)v);
  else
    dtype_store_int(t, p, v);
}

/* `v` as the sum's type holds it; f32 sums are float from the start. */
static double rounded(enum dtype acc, double v) {
  assert(is_float(acc));
  if (acc == DTYPE_F64)
    return v;
  if (acc == DTYPE_F32)
    return (float)v;
  char element[8];
  dtype_store_float(acc, element, v);
  return dtype_load_float(acc, element);
}

/* Rounds half up, as the device's shift-round-saturate does by default. */
static int64_t shift_saturate(enum dtype to, int64_t v, int shift) {
  assert(shift >= 0 && shift <= 62);
  if (shift > 0) {
    int64_t half = v >> (shift - 1) & 1;
    v = (v >> shift) + half;
  }
  return v < type_low(to)    ? type_low(to)
         : v > type_high(to) ? type_high(to)
                             : v;
}

/* ---- element-wise primitives, one element ---- */
static void clamp(const struct run_kernel *k, char *const *p) {
  if (is_float(k->type[0])) {
    double v = dtype_load_float(k->type[0], p[0]);
    v = v < k->low ? k->low : v > k->high ? k->high : v;
    store_float(k->type[1], p[1], v);
    return;
  }
  int64_t v = dtype_load_int(k->type[0], p[0]);
  if ((double)v < k->low)
    store_float(k->type[1], p[1], k->low);
  else if ((double)v > k->high)
    store_float(k->type[1], p[1], k->high);
  else
    store_int(k->type[1], p[1], v);
}

static void cast(const struct run_kernel *k, char *const *p) {
  if (is_float(k->type[0]))
    store_float(k->type[1], p[1], dtype_load_float(k->type[0], p[0]));
  else
    store_int(k->type[1], p[1], dtype_load_int(k->type[0], p[0]));
}

static void relu(const struct run_kernel *k, char *const *p) {
  double v = is_float(k->type[0]) ? dtype_load_float(k->type[0], p[0]) : 0;
  bool keep = is_float(k->type[0]) ? v > 0 || (k->keeps_nan && v != v)
                                   : dtype_load_int(k->type[0], p[0]) > 0;
  if (keep)
    cast(k, p);
  else
    store_int(k->type[1], p[1], 0);
}

/* out = alpha * in, or out + beta * in. */
static void scale_add(const struct run_kernel *k, char *const *p) {
  bool whole = !is_float(k->type[0]) && !is_float(k->type[1]) &&
               k->alpha == (double)(int32_t)k->alpha;
  bool add = k->op == TEIR_ADD;
  if (whole) {
    uint64_t v = (uint64_t)dtype_load_int(k->type[0], p[0]) *
                 (uint64_t)(int64_t)k->alpha;
    if (add)
      v += (uint64_t)dtype_load_int(k->type[1], p[1]);
    dtype_store_int(k->type[1], p[1], (int64_t)v);
    return;
  }
  double v = rounded(k->acc, dtype_load_float(k->type[0], p[0]) * k->alpha);
  if (add)
    v = rounded(k->acc, v + dtype_load_float(k->type[1], p[1]));
  store_float(k->type[1], p[1], v);
}

static void element(const struct run_kernel *k, char *const *p) {
  switch (k->op) {
  case TEIR_ZERO:
    memset(p[0], 0, (size_t)dtype_bytes(k->type[0]));
    return;
  case TEIR_COPY:
    memmove(p[1], p[0], (size_t)dtype_bytes(k->type[0]));
    return;
  case TEIR_RELU:
    relu(k, p);
    return;
  case TEIR_SCALE:
  case TEIR_ADD:
    scale_add(k, p);
    return;
  case TEIR_CLAMP:
    clamp(k, p);
    return;
  case TEIR_SHIFT:
    dtype_store_int(
        k->type[1], p[1],
        shift_saturate(k->type[1], dtype_load_int(k->type[0], p[0]), k->shift));
    return;
  case TEIR_CAST:
    cast(k, p);
    return;
  case TEIR_CONTRACTION:
  case TEIR_MAP:
  case TEIR_OPS:
    return;
  }
}

/* ---- Map: elements along its last loop ---- */

/* Whole rows, unless an element may need what one before it wrote. */
static void map(const struct run_kernel *k, char *const *p) {
  static const struct run_loop one = {.extent = 1};
  int out = k->operand_count - 1;
  const struct run_loop *l = k->loop_count ? &k->loop[k->loop_count - 1] : &one;
  bool row = l->stride[out] >= dtype_bytes(k->type[out]);
  const void *in[RUN_OPERANDS];
  pthread_mutex_lock(k->lock);
  assert(l->extent > 0);
  for (int64_t i = 0; i < l->extent; i += row ? l->extent : 1) {
    for (int j = 0; j < out; j++)
      in[j] = p[j] + i * l->stride[j];
    calc_run_row(k->program, in, l->stride, p[out] + i * l->stride[out],
                 l->stride[out], row ? l->extent : 1);
  }
  pthread_mutex_unlock(k->lock);
}

/* ---- contraction: the sum into one output element ---- */
static double sum_float(const struct run_kernel *k, int level, const char *a,
                        const char *b, double sum) {
  if (level == k->loop_count) {
    double x = dtype_load_float(k->type[0], a);
    double y = dtype_load_float(k->type[1], b);
    return rounded(k->acc, sum + rounded(k->acc, x * y));
  }
  const struct run_loop *l = &k->loop[level];
  for (int64_t i = 0; i < l->extent; i++)
    sum = sum_float(k, level + 1, a + i * l->stride[0], b + i * l->stride[1],
                    sum);
  return sum;
}

static uint64_t sum_int(const struct run_kernel *k, int level, const char *a,
                        const char *b, uint64_t sum) {
  if (level == k->loop_count)
    return sum + (uint64_t)dtype_load_int(k->type[0], a) *
                     (uint64_t)dtype_load_int(k->type[1], b);
  const struct run_loop *l = &k->loop[level];
  for (int64_t i = 0; i < l->extent; i++)
    sum =
        sum_int(k, level + 1, a + i * l->stride[0], b + i * l->stride[1], sum);
  return sum;
}

static void contract(const struct run_kernel *k, char *const *p) {
  assert(k->operand_count == 3);
  if (k->floating) {
    double sum = dtype_load_float(k->type[2], p[2]);
    store_float(k->type[2], p[2], sum_float(k, k->outer, p[0], p[1], sum));
    return;
  }
  /* A sum modulo 2^64, cut to a narrower type, is the sum modulo 2^n. */
  uint64_t sum = (uint64_t)dtype_load_int(k->type[2], p[2]);
  char cut[8];
  dtype_store_int(k->acc, cut, (int64_t)sum_int(k, k->outer, p[0], p[1], sum));
  store_int(k->type[2], p[2], dtype_load_int(k->acc, cut));
}

/* ---- the call ---- */
static void run_loops(const struct run_kernel *k, int level,
                      char *const *from) {
  if (level == k->outer) {
    if (k->op == TEIR_MAP)
      map(k, from);
    else if (k->op == TEIR_CONTRACTION)
      contract(k, from);
    else
      element(k, from);
    return;
  }
  const struct run_loop *l = &k->loop[level];
  char *p[RUN_OPERANDS];
  memcpy(p, from, (size_t)k->operand_count * sizeof *p);
  for (int64_t i = 0; i < l->extent; i++) {
    run_loops(k, level + 1, p);
    for (int j = 0; j < k->operand_count; j++)
      p[j] += l->stride[j];
  }
}

void teir_run_kernel_call(const struct run_kernel *k,
                          char *const p[RUN_OPERANDS]) {
  run_loops(k, 0, p);
}
