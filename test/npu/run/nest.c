/* nest.c -- see nest.h. */
#include "nest.h"
#include "calc.h"
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

/* One product added to a sum of type `acc`. */
static void add(const struct nest_work *w, enum dtype acc, char *sum,
                const char *in0, const char *in1) {
  if (dtype_kind(acc) == DTYPE_FLOAT)
    dtype_store_float(acc, sum,
                      dtype_load_float(acc, sum) +
                          dtype_load_float(w->type[IN0], in0) *
                              dtype_load_float(w->type[IN1], in1));
  else
    dtype_store_int(acc, sum,
                    (int64_t)((uint64_t)dtype_load_int(acc, sum) +
                              (uint64_t)dtype_load_int(w->type[IN0], in0) *
                                  (uint64_t)dtype_load_int(w->type[IN1], in1)));
}

/* Of the loops that run; those of the other axes are at 0. */
static _Thread_local int64_t iteration[NEST_AXES];

static bool holds(const struct nest_work *w, const struct nest_limit *l) {
  int64_t v = l->start;
  for (int i = 0; i < w->axis_count; i++)
    v += l->step[i] * iteration[i];
  return (v < 0) == l->below;
}

static bool counts(const struct nest_work *w) {
  for (int i = 0; i < w->limit_count; i++)
    if (!holds(w, &w->limit[i]))
      return false;
  return true;
}

/* The innermost loop, of what most large nests have. */
static bool is_plain(const struct nest_work *w) {
  return !w->limit_count && w->type[IN0] == DTYPE_BF16 &&
         w->type[IN1] == DTYPE_BF16 && w->type[OUT] == DTYPE_F32;
}

static float load_bf16(const char *p) {
  uint16_t bits;
  memcpy(&bits, p, sizeof bits);
  uint32_t wide = (uint32_t)bits << 16;
  float v;
  memcpy(&v, &wide, sizeof v);
  return v;
}

static void add_along(const struct nest_axis *x, char *const at[]) {
  for (int64_t i = 0; i < x->extent; i++) {
    char *out = at[OUT] + i * x->stride[OUT];
    float sum;
    memcpy(&sum, out, sizeof sum);
    sum += load_bf16(at[IN0] + i * x->stride[IN0]) *
           load_bf16(at[IN1] + i * x->stride[IN1]);
    memcpy(out, &sum, sizeof sum);
  }
}

static void loops(const struct nest_work *w, int level, bool sum, char *at[]) {
  if (level == w->axis_count) {
    if (sum && !counts(w))
      return;
    if (sum)
      add(w, w->type[OUT], at[OUT], at[IN0], at[IN1]);
    else
      memset(at[OUT], 0, (size_t)dtype_bytes(w->type[OUT]));
    return;
  }
  const struct nest_axis *x = &w->axis[level];
  if (sum && level == w->axis_count - 1 && is_plain(w)) {
    add_along(x, at);
    return;
  }
  int64_t extent = !sum && x->role == AXIS_K ? 1 : x->extent;
  for (int64_t i = 0; i < extent; i++) {
    char *next[TENSORS];
    for (int t = 0; t < TENSORS; t++)
      next[t] = at[t] + i * x->stride[t];
    iteration[level] = i;
    loops(w, level + 1, sum, next);
  }
  iteration[level] = 0;
}

/* ---- with a tail: at[] has an address for every tensor of the call ---- */
enum { SUM = TENSORS, EXTRA };

static int64_t stride_of(const struct nest_axis *x, int tensor) {
  return tensor < SUM    ? x->stride[tensor]
         : tensor == SUM ? 0
                         : x->extra[tensor - EXTRA];
}

static struct calc *parse_tail(struct arena *a, const struct nest_work *w) {
  static const char *const name[] = {"sum", "out", "x0", "x1"};
  enum dtype type[2 + NEST_EXTRAS] = {w->acc, w->type[OUT]};
  for (int i = 0; i < w->extra_count; i++)
    type[2 + i] = w->extra_type[i];
  struct scan s = scan_open("tail", w->tail);
  struct diag d = {0};
  struct calc *c = calc_parse(a, &s, name, type, 2 + w->extra_count, &d);
  if (!c)
    diag_print(&d, stderr);
  return c;
}

/* The expression of a map, over an input's element and the extras. */
static struct calc *parse_map(struct arena *a, const struct nest_work *w,
                              int input) {
  static const char *const name[] = {"e", "x0", "x1"};
  enum dtype type[1 + NEST_EXTRAS] = {w->type[input]};
  for (int i = 0; i < w->extra_count; i++)
    type[1 + i] = w->extra_type[i];
  struct scan s = scan_open("map", w->map[input]);
  struct diag d = {0};
  struct calc *c = calc_parse(a, &s, name, type, 1 + w->extra_count, &d);
  if (!c)
    diag_print(&d, stderr);
  return c;
}

/* What stands in the maps and in the tail, compiled. */
struct expressions {
  const struct calc_program *map[2], *tail;
};

static uint64_t factor(const struct nest_work *w, const struct expressions *e,
                       int input, char *const at[]) {
  static const int64_t stride[1 + NEST_EXTRAS] = {0};
  const void *in[] = {at[input], at[EXTRA], at[EXTRA + 1]};
  int32_t made;
  if (!w->map[input])
    return (uint64_t)dtype_load_int(w->type[input], at[input]);
  calc_run_row(e->map[input], in, stride, &made, 0, 1);
  return (uint64_t)(int64_t)made;
}

static void add_made(const struct nest_work *w, const struct expressions *e,
                     char *const at[]) {
  uint64_t sum = (uint64_t)dtype_load_int(w->acc, at[SUM]);
  sum += factor(w, e, IN0, at) * factor(w, e, IN1, at);
  dtype_store_int(w->acc, at[SUM], (int64_t)sum);
}

/* All axes of one kind: those over K, or the others. */
static void tail_loops(const struct nest_work *w, const struct expressions *e,
                       int level, bool k, char *const at[]) {
  while (level < w->axis_count && (w->axis[level].role == AXIS_K) != k)
    level++;
  if (level < w->axis_count) {
    const struct nest_axis *x = &w->axis[level];
    for (int64_t i = 0; i < x->extent; i++) {
      char *next[NEST_TENSORS];
      for (int t = 0; t < EXTRA + w->extra_count; t++)
        next[t] = at[t] + i * stride_of(x, t);
      iteration[level] = i;
      tail_loops(w, e, level + 1, k, next);
    }
    iteration[level] = 0;
  } else if (k) {
    if (counts(w) && (w->map[IN0] || w->map[IN1]))
      add_made(w, e, at);
    else if (counts(w))
      add(w, w->acc, at[SUM], at[IN0], at[IN1]);
  } else {
    const void *in[] = {at[SUM], at[OUT], at[EXTRA], at[EXTRA + 1]};
    static const int64_t stride[2 + NEST_EXTRAS] = {0};
    memset(at[SUM], 0, sizeof w->sum);
    tail_loops(w, e, 0, true, at);
    calc_run_row(e->tail, in, stride, at[OUT], 0, 1);
  }
}

static void run_naively(struct nest_work *w) {
  size_t bytes = w->bytes[OUT] + 2 * NEST_GUARD;
  w->expected = malloc(bytes);
  memcpy(w->expected, w->memory[OUT], bytes);
  void *tensor[NEST_TENSORS] = {NULL};
  nest_tensors(w, tensor);
  tensor[OUT] = w->expected + NEST_GUARD;
  char *at[NEST_TENSORS];
  for (int t = 0; t < NEST_TENSORS; t++)
    at[t] = tensor[t];
  if (w->tail) {
    struct arena *a = arena_open();
    struct expressions e = {.tail = calc_compile(a, parse_tail(a, w))};
    for (int t = 0; t < 2; t++)
      if (w->map[t])
        e.map[t] = calc_compile(a, parse_map(a, w, t));
    tail_loops(w, &e, 0, false, at);
    arena_close(a);
    return;
  }
  if (!w->accumulate)
    loops(w, 0, false, at);
  loops(w, 0, true, at);
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
  c.tail = w->tail ? parse_tail(a, w) : NULL;
  for (int t = 0; t < 2; t++)
    c.map[t] = w->map[t] ? parse_map(a, w, t) : NULL;
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
    int64_t stride = stride_of(&w->axis[i], tensor);
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
  run_naively(w);
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
  run_naively(w);
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

static bool rests(const struct nest_work *w, const struct nest_limit *l,
                  enum axis_role role) {
  for (int i = 0; i < w->axis_count; i++)
    if (w->axis[i].role == role && w->axis[i].extent > 1 && l->step[i])
      return false;
  return true;
}

/* With the axes that move in0 and in1 fixed: is an input's element needed by
 * some iteration of the other input's own axes? */
static bool needed(const struct nest_work *w, int level, enum axis_role own) {
  while (level < w->axis_count && w->axis[level].role != own)
    level++;
  if (level == w->axis_count) {
    for (int l = 0; l < w->limit_count; l++)
      if (!rests(w, &w->limit[l], own) && !holds(w, &w->limit[l]))
        return false;
    return true;
  }
  bool found = false;
  for (int64_t i = 0; i < w->axis[level].extent; i++) {
    iteration[level] = i;
    found = found || needed(w, level + 1, own);
  }
  iteration[level] = 0;
  return found;
}

/* For every iteration of the C and K axes that is within the limits which move
 * with these only. */
static bool all_needed(const struct nest_work *w, int level) {
  while (level < w->axis_count &&
         (w->axis[level].role == AXIS_M || w->axis[level].role == AXIS_N))
    level++;
  bool good = true;
  if (level == w->axis_count) {
    for (int l = 0; l < w->limit_count; l++)
      if (rests(w, &w->limit[l], AXIS_M) && rests(w, &w->limit[l], AXIS_N) &&
          !holds(w, &w->limit[l]))
        return true;
    return needed(w, 0, AXIS_M) && needed(w, 0, AXIS_N);
  }
  for (int64_t i = 0; i < w->axis[level].extent; i++) {
    iteration[level] = i;
    good = good && all_needed(w, level + 1);
  }
  iteration[level] = 0;
  return good;
}

bool nest_needs_all(const struct nest_work *w) { return all_needed(w, 0); }

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
