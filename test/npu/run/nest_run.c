/* nest_run.c -- the naive loops of a nest: what its result has to be, and which
 * elements it needs. */
#include "nest_parts.h"

#include <stdlib.h>
#include <string.h>

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
int64_t nest_stride_of(const struct nest_axis *x, int tensor) {
  return tensor < SUM    ? x->stride[tensor]
         : tensor == SUM ? 0
                         : x->extra[tensor - EXTRA];
}

struct calc *nest_parse_tail(struct arena *a, const struct nest_work *w) {
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
struct calc *nest_parse_map(struct arena *a, const struct nest_work *w,
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
        next[t] = at[t] + i * nest_stride_of(x, t);
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

void nest_run(struct nest_work *w) {
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
    struct expressions e = {.tail = calc_compile(a, nest_parse_tail(a, w))};
    for (int t = 0; t < 2; t++)
      if (w->map[t])
        e.map[t] = calc_compile(a, nest_parse_map(a, w, t));
    tail_loops(w, &e, 0, false, at);
    arena_close(a);
    return;
  }
  if (!w->accumulate)
    loops(w, 0, false, at);
  loops(w, 0, true, at);
}

/* ---- which elements products need ---- */

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
