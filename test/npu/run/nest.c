/* nest.c -- see nest.h. */
#include "nest.h"
#include "teir.h"

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

static void loops(const struct nest_work *w, int level, bool sum, char *at[]) {
  if (level == w->axis_count) {
    enum dtype out = w->type[OUT];
    if (!sum)
      memset(at[OUT], 0, (size_t)dtype_bytes(out));
    else if (dtype_kind(out) == DTYPE_FLOAT)
      dtype_store_float(out, at[OUT],
                        dtype_load_float(out, at[OUT]) +
                            dtype_load_float(w->type[IN0], at[IN0]) *
                                dtype_load_float(w->type[IN1], at[IN1]));
    else
      dtype_store_int(
          out, at[OUT],
          (int64_t)((uint64_t)dtype_load_int(out, at[OUT]) +
                    (uint64_t)dtype_load_int(w->type[IN0], at[IN0]) *
                        (uint64_t)dtype_load_int(w->type[IN1], at[IN1])));
    return;
  }
  const struct nest_axis *x = &w->axis[level];
  int64_t extent = !sum && x->role == AXIS_K ? 1 : x->extent;
  for (int64_t i = 0; i < extent; i++) {
    char *next[TENSORS];
    for (int t = 0; t < TENSORS; t++)
      next[t] = at[t] + i * x->stride[t];
    loops(w, level + 1, sum, next);
  }
}

static void run_naively(struct nest_work *w) {
  size_t bytes = w->bytes[OUT] + 2 * NEST_GUARD;
  w->expected = malloc(bytes);
  memcpy(w->expected, w->memory[OUT], bytes);
  char *at[TENSORS] = {w->memory[IN0] + NEST_GUARD, w->memory[IN1] + NEST_GUARD,
                       w->expected + NEST_GUARD};
  if (!w->accumulate)
    loops(w, 0, false, at);
  loops(w, 0, true, at);
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
  c.symbol = arena_array(a, NEST_AXES * (1 + TENSORS), sizeof *c.symbol);
  w->value_count = 0;
  for (int t = 0; t < TENSORS; t++)
    c.type[t] = w->type[t];
  c.acc = w->type[OUT];
  for (int i = 0; i < w->axis_count; i++) {
    const struct nest_axis *from = &w->axis[i];
    struct contraction_axis *x = &c.axis[i];
    x->name = arena_printf(a, "x%d", i);
    x->role = from->role;
    x->extent = number(w, a, &c, symbolic, from->extent);
    for (int t = 0; t < TENSORS; t++)
      x->stride_bytes[t] = from->stride[t]
                               ? number(w, a, &c, symbolic, from->stride[t])
                               : (struct value){0, -1};
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

void nest_make(struct nest_work *w, bool symbolic, uint32_t seed) {
  state = seed;
  for (int t = 0; t < TENSORS; t++) {
    w->bytes[t] = (size_t)dtype_bytes(w->type[t]);
    for (int i = 0; i < w->axis_count; i++)
      if (w->axis[i].extent > 1 && w->axis[i].stride[t] > 0)
        w->bytes[t] += (size_t)((w->axis[i].extent - 1) * w->axis[i].stride[t]);
    size_t bytes = w->bytes[t] + 2 * NEST_GUARD;
    w->memory[t] = malloc(bytes);
    fill(w->type[t], w->memory[t], bytes);
  }
  run_naively(w);
  make_teir(w, symbolic);
}

void nest_free(struct nest_work *w) {
  for (int t = 0; t < TENSORS; t++)
    free(w->memory[t]);
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

void nest_random(struct nest_work *w, uint32_t seed) {
  state = seed * 2654435761u;
  static const enum dtype types[][TENSORS] = {
      {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}, {DTYPE_I8, DTYPE_I8, DTYPE_I32}};
  memset(w, 0, sizeof *w);
  memcpy(w->type, types[pick(2)], sizeof w->type);
  w->accumulate = pick(2);
  w->axis_count = 1 + (int)pick(6);
  for (int i = 0; i < w->axis_count; i++) {
    w->axis[i].role = (enum axis_role)(pick(8) ? 1 + pick(3) : 0);
    w->axis[i].extent = 1 + pick(pick(2) ? 4 : 12);
  }
  for (int t = 0; t < TENSORS; t++)
    random_strides(w, t);
}

void nest_gemm(struct nest_work *w, enum dtype in, bool accumulate, int64_t m,
               int64_t n, int64_t k) {
  int64_t e = dtype_bytes(in);
  *w = (struct nest_work){
      .type = {in, in, dtype_kind(in) == DTYPE_FLOAT ? DTYPE_F32 : DTYPE_I32},
      .accumulate = accumulate,
      .axis_count = 3,
      .axis = {{AXIS_M, m, {k * e, 0, n * 4}},
               {AXIS_N, n, {0, e, 4}},
               {AXIS_K, k, {e, n * e, 0}}}};
}
