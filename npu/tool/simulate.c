/* simulate.c -- takes a compiled program; gives what its run on the simulated
 * array costs, once the results are found right. */
#include "simulate.h"

#include "teir_fast.h"
#include "teir_problem.h"

#include <stdlib.h>
#include <string.h>

/* Multiplications of which all results are computed for comparison; of more, a
 * sample. */
static const double few_macs = 1 << 24;

struct memory {
  struct sim_buffer buffer[TENSORS];
  void *sums; /* of a schedule that has a tensor for them; the cores have it */
  struct arena *arena;
};

static uint64_t next(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* A small whole number. */
static int64_t draw(uint64_t *state, enum dtype type) {
  return (int64_t)(next(state) % 8) -
         (dtype_kind(type) == DTYPE_UNSIGNED ? 0 : 4);
}

/* Of out what no sum can be. */
static void fill(struct sim_buffer *b, enum dtype type, int tensor) {
  size_t step = (size_t)dtype_bytes(type);
  uint64_t state = (uint64_t)tensor + 1;
  if (tensor == OUT)
    memset(b->data, 0x55, b->bytes);
  for (size_t i = 0; tensor < OUT && i + step <= b->bytes; i += step)
    dtype_store_int(type, (char *)b->data + i, draw(&state, type));
}

/* Where results lie in place, cores may compute an element twice; inputs that
 * are packed, by us or in a file's schedule, have what it needs twice.  So the
 * value is that of the place in out, and in the other input. */
static void fill_alike(const struct teir *t, const struct teir_roles *r, int i,
                       int tensor, char *at, int64_t out, int64_t k) {
  if (i == r->count) {
    uint64_t state = (uint64_t)out * 0x9e3779b97f4a7c15u + (uint64_t)k * 8191u +
                     (uint64_t)tensor;
    enum dtype type = r->problem.type[tensor];
    next(&state);
    dtype_store_int(type, at, draw(&state, type));
    return;
  }
  const struct teir_axis *x = &t->axis[r->axis[i]];
  int64_t stride = x->stride_bytes[r->operand[tensor]].constant,
          step = x->stride_bytes[r->operand[OUT]].constant;
  for (int64_t j = 0; j < (stride ? x->extent.constant : 1); j++)
    fill_alike(t, r, i + 1, tensor, at + j * stride, out + j * step,
               step ? k : k * x->extent.constant + j);
}

enum { WORD = 4 };

static bool make_memory(const struct teir *t, struct memory *m,
                        struct diag *d) {
  for (int i = 0; i < t->tensor_count; i++) {
    int64_t low, high;
    if (!teir_footprint(t, i, &low, &high, d))
      return false;
    high = (high + WORD - 1) / WORD * WORD; /* what the device moves */
    void *memory = calloc(1, (size_t)high + 1);
    if (i < TENSORS)
      m->buffer[i] = (struct sim_buffer){memory, (size_t)high};
    else
      m->sums = memory;
    if (!memory)
      return diag_error(d, loc_none(), "out of memory");
    if (low < 0)
      return diag_error(d, loc_none(), "%s begins before its address",
                        t->tensor[i].id);
    if (i < TENSORS)
      fill(&m->buffer[i], t->tensor[i].type, i);
  }
  return true;
}

static void free_memory(struct memory *m) {
  for (int i = 0; i < TENSORS; i++)
    free(m->buffer[i].data);
  free(m->sums);
}

static double macs_of(const struct teir_problem *p) {
  double macs = 1;
  for (int r = 0; r < AXIS_ROLES; r++)
    macs *= (double)p->extent[r];
  return macs;
}

/* ---- all of out ---- */

static bool check_all(const struct teir *t, struct memory *m, const void *out,
                      struct diag *d) {
  void *tensor[] = {m->buffer[IN0].data, m->buffer[IN1].data,
                    m->buffer[OUT].data, m->sums};
  if (!teir_run_fast(t, tensor, 1, NULL, d))
    return false;
  const char *right = m->buffer[OUT].data, *got = out;
  for (size_t i = 0; i < m->buffer[OUT].bytes; i++)
    if (got[i] != right[i])
      return diag_error(d, loc_none(),
                        "wrong result: byte %zu of out is 0x%02x, not 0x%02x",
                        i, got[i] & 0xff, right[i] & 0xff);
  return true;
}

/* ---- a sample ---- */

static int64_t stride(const struct teir *t, const struct teir_roles *r, int i,
                      int tensor) {
  return t->axis[r->axis[i]].stride_bytes[r->operand[tensor]].constant;
}

static bool in_contraction(const struct teir *t, int axis) {
  for (int i = 0; i < t->primitive_count; i++) {
    const struct teir_list *k = &t->primitive[i].role[TEIR_K];
    for (int j = 0; j < k->count; j++)
      if (k->item[j] == axis)
        return true;
  }
  return false;
}

static int next_k(const struct teir_roles *r, int i) {
  while (i < r->count && r->role[i] != AXIS_K)
    i++;
  return i;
}

/* The sum over the axes of K from the i-th on. */
static double sum_over(const struct teir *t, const struct teir_roles *r, int i,
                       const char *in0, const char *in1) {
  i = next_k(r, i);
  if (i == r->count)
    return dtype_load_float(r->problem.type[IN0], in0) *
           dtype_load_float(r->problem.type[IN1], in1);
  double sum = 0;
  int64_t extent = t->axis[r->axis[i]].extent.constant;
  for (int64_t k = 0; k < extent; k++)
    sum += sum_over(t, r, i + 1, in0 + k * stride(t, r, i, IN0),
                    in1 + k * stride(t, r, i, IN1));
  return sum;
}

/* What calls of the Contraction leave of `sum`: each adds its products in the
 * type of the sums.  The loops around it come first. */
static double sum_of_calls(const struct teir *t, const struct teir_roles *r,
                           int i, const char *in0, const char *in1,
                           double sum) {
  i = next_k(r, i);
  if (i == r->count || in_contraction(t, r->axis[i])) {
    enum dtype type = t->tensor[r->sums].type;
    char at[8];
    sum += sum_over(t, r, i, in0, in1);
    if (dtype_kind(type) != DTYPE_FLOAT)
      return sum;
    dtype_store_float(type, at, sum);
    return dtype_load_float(type, at);
  }
  int64_t extent = t->axis[r->axis[i]].extent.constant;
  for (int64_t k = 0; k < extent; k++)
    sum = sum_of_calls(t, r, i + 1, in0 + k * stride(t, r, i, IN0),
                       in1 + k * stride(t, r, i, IN1), sum);
  return sum;
}

static void finish(const struct teir_problem *p, double sum, char right[8]) {
  if (p->finish.relu && sum < 0)
    sum = 0;
  if (dtype_kind(p->type[OUT]) == DTYPE_FLOAT)
    dtype_store_float(p->type[OUT], right, sum);
  else
    dtype_store_int(p->type[OUT], right, (int64_t)sum);
}

static bool check_sample(const struct teir *t, const struct teir_roles *r,
                         const struct memory *m, struct diag *d) {
  enum { SAMPLES = 200 };
  const struct teir_problem *p = &r->problem;
  uint64_t state = 99;
  for (int s = 0; s < SAMPLES; s++) {
    const char *at[TENSORS];
    for (int j = 0; j < TENSORS; j++)
      at[j] = m->buffer[j].data;
    for (int i = 0; i < r->count; i++) {
      int64_t index =
          (int64_t)next(&state) % t->axis[r->axis[i]].extent.constant;
      for (int j = 0; j < TENSORS && r->role[i] != AXIS_K; j++)
        at[j] += index * stride(t, r, i, j);
    }
    char right[8] = {0};
    finish(p, sum_of_calls(t, r, 0, at[IN0], at[IN1], 0), right);
    if (memcmp(at[OUT], right, (size_t)dtype_bytes(p->type[OUT])) != 0)
      return diag_error(d, loc_none(),
                        "wrong result: %g instead of %g at byte %lld of out",
                        dtype_load_float(p->type[OUT], at[OUT]),
                        dtype_load_float(p->type[OUT], right),
                        (long long)(at[OUT] - (char *)m->buffer[OUT].data));
  }
  return true;
}

/* ---- the run ---- */

static bool run(const struct npu_result *r, const struct sim_options *o,
                const struct simulate_watch *w, struct memory *m,
                struct sim_report *report, struct diag *d) {
  struct sim *s = sim_open(r->xclbin.data, r->xclbin.length, o, d);
  bool good = s && sim_run(s, r->txn.data, r->txn.length, m->buffer, TENSORS,
                           report, d);
  if (s && w && w->ran)
    w->ran(w->context, s);
  if (s)
    sim_close(s);
  return good;
}

static bool run_and_check(const struct npu_result *r,
                          const struct sim_options *o,
                          const struct simulate_watch *w, struct memory *m,
                          struct sim_report *report, struct diag *d) {
  struct teir_roles roles;
  if (!make_memory(r->teir, m, d) ||
      !teir_roles_read(m->arena, r->teir, &roles, d))
    return false;
  for (int i = 0; i < OUT; i++)
    fill_alike(r->teir, &roles, 0, i, m->buffer[i].data, 0, 0);
  if (!run(r, o, w, m, report, d))
    return false;
  bool shifts = roles.problem.finish.saturate;
  if (!shifts && macs_of(&roles.problem) > few_macs)
    return check_sample(r->teir, &roles, m, d);
  struct sim_buffer *out = &m->buffer[OUT];
  void *got = malloc(out->bytes + 1);
  if (!got)
    return diag_error(d, loc_none(), "out of memory");
  memcpy(got, out->data, out->bytes);
  fill(out, roles.problem.type[OUT], OUT);
  bool good = check_all(r->teir, m, got, d);
  free(got);
  return good;
}

bool simulate(const struct npu_result *r, const struct sim_options *o,
              const struct simulate_watch *w, struct sim_report *report,
              struct diag *d) {
  struct memory m = {.arena = arena_open()};
  bool good = run_and_check(r, o, w, &m, report, d);
  free_memory(&m);
  arena_close(m.arena);
  return good;
}
