/* nest.c -- see nest.h. */
#include "calc.h"
#include "nest_parts.h"
#include "teir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local uint32_t state;
static uint32_t pick(uint32_t below) {
  state = state * 1664525 + 1013904223;
  return (state >> 8) % below;
}

/* Floats: small whole numbers, whose sums of products are exact in f32.
 * Integers: all of their range. */
static void fill(enum dtype type, char *p, size_t bytes) {
  size_t size = (size_t)dtype_bytes(type);
  for (size_t i = 0; i < bytes; i++)
    p[i] = (char)0x5b;
  for (size_t i = 0; i + size <= bytes; i += size)
    if (dtype_kind(type) == DTYPE_FLOAT)
      dtype_store_float(type, p + i, (double)pick(9) - 4);
    else
      dtype_store_int(type, p + i,
                      (int64_t)(int32_t)(pick(1u << 24) << 8 ^ pick(1u << 24)));
}

uint64_t nest_tensors(struct nest_work *w, void *tensor[NEST_TENSORS]) {
  for (int t = 0; t < TENSORS; t++)
    tensor[t] = w->memory[t] + NEST_GUARD;
  if (!w->tail)
    return TENSORS;
  tensor[SUM] = &w->sum;
  for (int i = 0; i < w->extra_count; i++)
    tensor[EXTRA + i] = w->extra[i];
  int count = EXTRA + w->extra_count;
  for (int t = 0; t < 2; t++)
    if (w->map[t])
      tensor[count++] = NULL; /* the runtime's own */
  return (uint64_t)count;
}

static struct value number(struct nest_work *w, struct arena *a,
                           struct contraction *c, bool symbolic, int64_t v) {
  if (!symbolic)
    return (struct value){v, -1};
  int s = w->value_count++;
  w->value[s] = v;
  c->symbol[s] = arena_printf(a, "s%d", s);
  c->symbol_count = w->value_count;
  return (struct value){0, s};
}

static void make_teir(struct nest_work *w, bool symbolic) {
  struct arena *a = arena_open();
  struct contraction c = {.accumulate = w->accumulate};
  c.axis_count = w->axis_count;
  c.axis = arena_array(a, NEST_AXES, sizeof *c.axis);
  c.symbol =
      arena_array(a, sizeof w->value / sizeof *w->value, sizeof *c.symbol);
  struct affine_guard limit[NEST_LIMITS];
  c.limit_count = w->limit_count;
  c.limit = limit;
  w->value_count = 0;
  for (int t = 0; t < TENSORS; t++)
    c.type[t] = w->type[t];
  c.acc = w->tail ? w->acc : w->type[OUT];
  c.tail = w->tail ? nest_parse_tail(a, w) : NULL;
  for (int t = 0; t < 2; t++)
    c.map[t] = w->map[t] ? nest_parse_map(a, w, t) : NULL;
  c.extra_count = w->tail ? w->extra_count : 0;
  struct contraction_extra extra[NEST_EXTRAS];
  c.extra = extra;
  for (int e = 0; e < c.extra_count; e++)
    extra[e] = (struct contraction_extra){
        .tensor = TENSORS + e,
        .outside = -1,
        .type = w->extra_type[e],
        .stride_bytes = arena_array(a, NEST_AXES, sizeof *extra->stride_bytes)};
  for (int i = 0; i < w->axis_count; i++) {
    const struct nest_axis *from = &w->axis[i];
    struct contraction_axis *x = &c.axis[i];
    x->name = arena_printf(a, "x%d", i);
    x->role = from->role;
    x->extent = number(w, a, &c, symbolic, from->extent);
    for (int t = 0; t < TENSORS; t++)
      x->stride_bytes[t] =
          number(w, a, &c, symbolic && from->stride[t], from->stride[t]);
    for (int e = 0; e < c.extra_count; e++)
      extra[e].stride_bytes[i] =
          number(w, a, &c, symbolic && from->extra[e], from->extra[e]);
  }
  for (int l = 0; l < w->limit_count; l++) {
    const struct nest_limit *from = &w->limit[l];
    limit[l].below = from->below;
    limit[l].start = number(w, a, &c, symbolic, from->start);
    limit[l].step = arena_array(a, NEST_AXES, sizeof *limit[l].step);
    for (int i = 0; i < w->axis_count; i++)
      limit[l].step[i] =
          number(w, a, &c, symbolic && from->step[i], from->step[i]);
  }
  struct diag d = {0};
  struct teir *t = teir_from_contraction(a, &c, &d);
  struct text text = {0};
  if (t)
    teir_print(t, &text);
  else
    diag_print(&d, stderr);
  w->teir = strdup(text_string(&text));
  text_free(&text);
  arena_close(a);
}

/* Bytes from a tensor's first element to the end of its last. */
static size_t bytes_of(const struct nest_work *w, int tensor, enum dtype type) {
  size_t bytes = (size_t)dtype_bytes(type);
  for (int i = 0; i < w->axis_count; i++) {
    int64_t stride = nest_stride_of(&w->axis[i], tensor);
    if (w->axis[i].extent > 1 && stride > 0)
      bytes += (size_t)((w->axis[i].extent - 1) * stride);
  }
  return bytes;
}

static void allocate(struct nest_work *w) {
  for (int t = 0; t < TENSORS; t++) {
    w->bytes[t] = bytes_of(w, t, w->type[t]);
    size_t bytes = w->bytes[t] + 2 * NEST_GUARD;
    w->memory[t] = malloc(bytes);
    fill(w->type[t], w->memory[t], bytes);
  }
  for (int i = 0; i < w->extra_count; i++) {
    size_t bytes = bytes_of(w, EXTRA + i, w->extra_type[i]);
    w->extra[i] = malloc(bytes);
    fill(w->extra_type[i], w->extra[i], bytes);
  }
}

void nest_make(struct nest_work *w, bool symbolic, uint32_t seed) {
  state = seed;
  allocate(w);
  nest_run(w);
  make_teir(w, symbolic);
}

void nest_make_with(struct nest_work *w, const int64_t *value, int count,
                    uint32_t seed) {
  state = seed;
  allocate(w);
  for (int t = 0; t < OUT; t++) {
    size_t size = (size_t)dtype_bytes(w->type[t]);
    for (size_t i = 0; i + size <= w->bytes[t]; i += size)
      dtype_store_int(w->type[t], w->memory[t] + NEST_GUARD + i,
                      value[pick((uint32_t)count)]);
  }
  nest_run(w);
  make_teir(w, true);
}

void nest_free(struct nest_work *w) {
  for (int t = 0; t < TENSORS; t++)
    free(w->memory[t]);
  for (int i = 0; i < w->extra_count; i++)
    free(w->extra[i]);
  free(w->expected);
  free(w->teir);
}

bool nest_right(const struct nest_work *w) {
  return memcmp(w->memory[OUT], w->expected, w->bytes[OUT] + 2 * NEST_GUARD) ==
         0;
}

static bool moves(enum axis_role role, int tensor) {
  static const bool table[4][TENSORS] = {{true, true, true},   /* C */
                                         {true, false, true},  /* M */
                                         {false, true, true},  /* N */
                                         {true, true, false}}; /* K */
  return table[role][tensor];
}

/* Strides of one tensor: its axes in random order, with random gaps. */
static void random_strides(struct nest_work *w, int tensor) {
  int order[NEST_AXES], count = 0;
  for (int i = 0; i < w->axis_count; i++)
    if (moves(w->axis[i].role, tensor)) {
      int at = (int)pick((uint32_t)++count);
      order[count - 1] = order[at];
      order[at] = i;
    }
  int64_t stride = dtype_bytes(w->type[tensor]);
  for (int i = 0; i < count; i++) {
    if (pick(3) == 0)
      stride += dtype_bytes(w->type[tensor]) * (int64_t)pick(4);
    w->axis[order[i]].stride[tensor] = stride;
    stride *= w->axis[order[i]].extent;
  }
}

/* Tails with the types that they need; in0 and in1 are bf16 for float sums,
 * i8 for others. */
static const struct tail {
  enum dtype acc, out;
  const char *text;
  int extras;
  enum dtype extra[NEST_EXTRAS];
} tails[] = {
    {DTYPE_F32, DTYPE_F32, "max(add(sum,x0),f32:0x0p+0)", 1, {DTYPE_F32}},
    {DTYPE_F32,
     DTYPE_F32,
     "add(mul(x0,sum),mul(x1,out))",
     2,
     {DTYPE_F32, DTYPE_F32}},
    {DTYPE_F32, DTYPE_BF16, "bf16(sum)", 0, {0}},
    {DTYPE_F32, DTYPE_F64, "add(f64(mul(x0,sum)),out)", 1, {DTYPE_F32}},
    {DTYPE_F32, DTYPE_F16, "f16(add(sum,f32(x0)))", 1, {DTYPE_BF16}},
    {DTYPE_F32, DTYPE_I8, "i8(rint(mul(sum,x0)))", 1, {DTYPE_F32}},
    {DTYPE_F32, DTYPE_F32, "x0", 1, {DTYPE_F32}},
    {DTYPE_I32,
     DTYPE_I8,
     "i8(max(min(shr(add(mul(sum,x0),i32:64),i32:7),i32:127),i32:-128))",
     1,
     {DTYPE_I32}},
    {DTYPE_I32, DTYPE_I64, "sub(out,mul(i64(sum),x0))", 1, {DTYPE_I64}},
    {DTYPE_I16, DTYPE_U8, "u8(add(sum,i16(x0)))", 1, {DTYPE_I8}},
    {DTYPE_U32,
     DTYPE_F32,
     "select(lt(sum,x0),f32(sum),x1)",
     2,
     {DTYPE_U32, DTYPE_F32}},
};

static void random_tail(struct nest_work *w) {
  const struct tail *t = &tails[pick(sizeof tails / sizeof *tails)];
  w->tail = t->text;
  w->acc = t->acc;
  w->extra_count = t->extras;
  memcpy(w->extra_type, t->extra, sizeof t->extra);
  w->type[OUT] = t->out;
  w->type[IN0] = w->type[IN1] =
      dtype_kind(t->acc) == DTYPE_FLOAT ? DTYPE_BF16 : DTYPE_I8;
}

static void random_extra(struct nest_work *w, int extra) {
  int64_t stride = dtype_bytes(w->extra_type[extra]);
  for (int i = 0; i < w->axis_count; i++)
    if (w->axis[i].role != AXIS_K && pick(2)) {
      w->axis[i].extra[extra] = stride;
      stride *= w->axis[i].extent + (int64_t)pick(2);
    }
}

void nest_random(struct nest_work *w, bool tail, uint32_t seed) {
  state = seed * 2654435761u;
  static const enum dtype types[][TENSORS] = {
      {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}, {DTYPE_I8, DTYPE_I8, DTYPE_I32}};
  memset(w, 0, sizeof *w);
  memcpy(w->type, types[pick(2)], sizeof w->type);
  if (tail)
    random_tail(w);
  w->accumulate = pick(2);
  w->axis_count = 1 + (int)pick(6);
  for (int i = 0; i < w->axis_count; i++) {
    w->axis[i].role = (enum axis_role)(pick(8) ? 1 + pick(3) : 0);
    w->axis[i].extent = 1 + pick(pick(2) ? 4 : 12);
  }
  for (int t = 0; t < TENSORS; t++)
    random_strides(w, t);
  for (int i = 0; i < w->extra_count; i++)
    random_extra(w, i);
}

/* ---- limits ---- */
void nest_random_limits(struct nest_work *w, uint32_t seed) {
  state = seed * 2654435761u;
  w->limit_count = 1 + (int)pick(NEST_LIMITS);
  for (int l = 0; l < w->limit_count; l++) {
    struct nest_limit *x = &w->limit[l];
    int tensor = (int)pick(2);
    *x = (struct nest_limit){.below = pick(2)};
    for (int i = 0; i < w->axis_count; i++)
      if (moves(w->axis[i].role, tensor) && pick(2))
        x->step[i] = (int64_t)pick(7) - 3;
    x->start = (x->below ? -1 : 1) * (int64_t)pick(12) - 1;
  }
}

/* ---- maps ---- */
void nest_random_maps(struct nest_work *w, uint32_t seed) {
  static const char *const map[] = {
      "sub(i32(e),i32:5)", "add(mul(i32(e),i32:-3),i32:100)",
      "shr(i32(e),i32:1)", "sub(i32(e),i32(x0))", "add(i32(x1),i32(e))"};
  static const enum dtype type[] = {DTYPE_I8, DTYPE_U8, DTYPE_I16};
  state = seed * 2654435761u;
  int inputs = 1 + (int)pick(3);
  w->tail = "add(sum,i32(out))";
  w->acc = DTYPE_I32;
  w->type[OUT] = pick(2) ? DTYPE_I32 : DTYPE_I16;
  if (w->type[OUT] == DTYPE_I16)
    w->tail = "i16(sum)";
  w->extra_count = NEST_EXTRAS;
  for (int i = 0; i < w->axis_count; i++)
    for (int t = 0; t < NEST_EXTRAS; t++) {
      w->extra_type[t] = t ? DTYPE_I8 : DTYPE_U8;
      w->axis[i].extra[t] =
          w->axis[i].role == (t ? AXIS_N : AXIS_M) ? 4 * w->axis[i].extent : 0;
    }
  for (int t = 0; t < 2; t++) {
    int own = inputs >> t & 1 ? (int)pick(4) : -1; /* the last one is its own */
    w->type[t] = type[pick(own < 0 ? 3 : 2)];
    random_strides(w, t);
    w->map[t] = own < 0 ? NULL : map[own < 3 ? own : 3 + t];
  }
}

/* ---- floats that are not exact ---- */
void nest_fill_floats(struct nest_work *w, uint32_t seed) {
  state = seed;
  for (int t = 0; t < TENSORS; t++) {
    size_t size = (size_t)dtype_bytes(w->type[t]);
    for (size_t i = 0; i + size <= w->bytes[t]; i += size) {
      double v = (double)(pick(1u << 24) + 1) / (1 << 20) * (pick(2) ? 1 : -1);
      dtype_store_float(w->type[t], w->memory[t] + NEST_GUARD + i,
                        t == OUT ? 0 : v);
    }
  }
}

static const char *element(const struct nest_work *w, int t, int64_t m,
                           int64_t n, int64_t k) {
  return w->memory[t] + NEST_GUARD + m * w->axis[0].stride[t] +
         n * w->axis[1].stride[t] + k * w->axis[2].stride[t];
}

double nest_float_error(const struct nest_work *w) {
  double worst = 0;
  for (int64_t m = 0; m < w->axis[0].extent; m++)
    for (int64_t n = 0; n < w->axis[1].extent; n++) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < w->axis[2].extent; k++) {
        double v = dtype_load_float(w->type[IN0], element(w, IN0, m, n, k)) *
                   dtype_load_float(w->type[IN1], element(w, IN1, m, n, k));
        sum += v;
        size += fabs(v);
      }
      double out = dtype_load_float(w->type[OUT], element(w, OUT, m, n, 0));
      worst = fmax(worst, fabs(out - sum) / size);
    }
  return worst;
}

void nest_gemm(struct nest_work *w, enum dtype in, bool accumulate, int64_t m,
               int64_t n, int64_t k) {
  enum dtype out = in == DTYPE_F64                 ? DTYPE_F64
                   : dtype_kind(in) == DTYPE_FLOAT ? DTYPE_F32
                                                   : DTYPE_I32;
  int64_t e = dtype_bytes(in), o = dtype_bytes(out);
  *w = (struct nest_work){.type = {in, in, out},
                          .accumulate = accumulate,
                          .axis_count = 3,
                          .axis = {{AXIS_M, m, {k * e, 0, n * o}},
                                   {AXIS_N, n, {0, e, o}},
                                   {AXIS_K, k, {e, n * e, 0}}}};
}

#define I8 DTYPE_I8, DTYPE_I32, DTYPE_I8
#define U8 DTYPE_I8, DTYPE_I32, DTYPE_U8
#define BF16 DTYPE_BF16, DTYPE_F32, DTYPE_BF16
#define F32 DTYPE_BF16, DTYPE_F32, DTYPE_F32
/* clang-format off */
const struct nest_finish nest_finishes[] = {
    {BF16, "bf16(sum)", true, {0}, NULL},
    {I8, "i8(sum)", true, {0}, NULL},
    {DTYPE_I8, DTYPE_I32, DTYPE_U16, "u16(sum)", true, {0}, NULL},
    {DTYPE_I8, DTYPE_I32, DTYPE_I32, "max(sum,i32:0)", true, {.relu = true}, NULL},
    {I8, "i8(max(i32:0,sum))", true, {.relu = true}, NULL},
    {I8, "i8(max(min(shr(add(sum,i32:64),i32:7),i32:127),i32:-128))", true,
     {.saturate = true, .shift = 7}, NULL},
    {I8, "i8(min(i32:127,max(sum,i32:-128)))", true, {.saturate = true}, NULL},
    {U8, "u8(max(min(shr(add(i32:1,sum),i32:1),i32:255),i32:0))", true,
     {.saturate = true, .shift = 1}, NULL},
    {I8, "i8(min(max(shr(add(sum,i32:2),i32:2),i32:0),i32:127))", true,
     {.relu = true, .saturate = true, .shift = 2}, NULL},
    /* another rounding, other bounds, no bounds, more than the sum */
    {I8, "i8(max(min(shr(sum,i32:7),i32:127),i32:-128))", false, {0}, NULL},
    {I8, "i8(max(min(shr(add(sum,i32:63),i32:7),i32:127),i32:-128))", false, {0}, NULL},
    {I8, "i8(max(min(shr(add(sum,i32:64),i32:7),i32:127),i32:-127))", false, {0}, NULL},
    {I8, "i8(shr(add(sum,i32:64),i32:7))", false, {0}, NULL},
    {I8, "i8(max(sum,i32:1))", false, {0}, NULL},
    {I8, "i8(add(sum,sum))", false, {0}, NULL},
    {I8, "i8(min(max(out,i8:0),i8(sum)))", false, {0}, NULL},
    {BF16, "bf16(max(sum,f32:0x0p+0))", true, {.relu = true}, NULL},
    {F32, "select(lt(f32:0x0p+0,sum),sum,f32:0x0p+0)", true, {.relu = true}, NULL},
    {F32, "select(lt(sum,f32:0x0p+0),f32:0x0p+0,sum)", true,
     {.relu = true, .keeps_nan = true}, NULL},
    {F32, "select(le(sum,f32:0x0p+0),f32:0x0p+0,sum)", true,
     {.relu = true, .keeps_nan = true}, NULL},
    /* the other of both, another bound, another value */
    {F32, "select(lt(sum,f32:0x0p+0),sum,f32:0x0p+0)", false, {0}, NULL},
    {F32, "max(sum,f32:0x1p+0)", false, {0}, NULL},
    {F32, "select(lt(sum,f32:0x1p+0),f32:0x0p+0,sum)", false, {0}, NULL},
    {F32, "min(sum,f32:0x0p+0)", false, {0}, NULL},
    /* a bias: along n or m, or one number; what is on both axes is not */
    {F32, "add(sum,x0)", true, {.bias = AXIS_N}, "n"},
    {F32, "add(x0,sum)", true, {.bias = AXIS_N}, ""},
    {F32, "add(x0,sum)", true, {.bias = AXIS_M}, "m"},
    {I8, "i8(max(i32:0,add(x0,sum)))", true, {.bias = AXIS_M, .relu = true},
     "m"},
    {F32, "add(x0,sum)", false, {0}, "mn"},
    {F32, "sub(sum,x0)", false, {0}, "n"},
    {F32, "mul(sum,x0)", false, {0}, "n"},
    {F32, "add(x0,x0)", false, {0}, "n"},
    {F32, "add(sum,out)", false, {0}, NULL},
    {BF16, "bf16(max(add(sum,x0),f32:0x0p+0))", true,
     {.bias = AXIS_N, .relu = true}, "n"},
    {BF16, "bf16(add(max(sum,f32:0x0p+0),x0))", false, {0}, "n"},
    {DTYPE_I8, DTYPE_I32, DTYPE_I32, "add(sum,x0)", true, {.bias = AXIS_N},
     "n"},
    {I8, "i8(add(sum,x0))", true, {.bias = AXIS_N}, "n"},
    {U8, "u8(max(min(shr(add(add(x0,sum),i32:4),i32:3),i32:255),i32:0))", true,
     {.bias = AXIS_N, .relu = false, .saturate = true, .shift = 3}, "n"},
    {I8, "i8(min(max(shr(add(add(sum,x0),i32:2),i32:2),i32:0),i32:127))", true,
     {.bias = AXIS_N, .relu = true, .saturate = true, .shift = 2}, "n"},
    {DTYPE_BF16, DTYPE_F32, DTYPE_I16, "i16(sum)", false, {0}, NULL},
    /* the source's addition could wrap */
    {DTYPE_I16, DTYPE_I32, DTYPE_I8,
     "i8(max(min(shr(add(sum,i32:64),i32:7),i32:127),i32:-128))", false, {0}, NULL},
};
/* clang-format on */
#undef I8
#undef U8
#undef BF16
#undef F32
const int nest_finish_count = sizeof nest_finishes / sizeof *nest_finishes;

void nest_gemm_finish(struct nest_work *w, const struct nest_finish *f) {
  /* enough elements for a bias */
  const int64_t m = f->moves ? 192 : 9, n = f->moves ? 180 : 10;
  nest_gemm(w, f->in, false, m, n, 11);
  w->tail = f->tail;
  w->acc = f->acc;
  w->type[OUT] = f->out;
  w->axis[0].stride[OUT] = n * dtype_bytes(f->out);
  w->axis[1].stride[OUT] = dtype_bytes(f->out);
  if (!f->moves)
    return;
  w->extra_count = 1;
  w->extra_type[0] = f->acc;
  int64_t stride = dtype_bytes(f->acc);
  if (strchr(f->moves, 'n'))
    w->axis[1].extra[0] = stride, stride *= n;
  if (strchr(f->moves, 'm'))
    w->axis[0].extra[0] = stride;
}
