/* fake.c -- see fake.h. */
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fake fake;
struct fake_xrt fake_xrt;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int count(int *what) {
  pthread_mutex_lock(&lock);
  int now = ++*what;
  pthread_mutex_unlock(&lock);
  return now;
}

/* Row-major with a gap behind every row, or blocks of split x split where it
 * divides. */
static struct run_layout layout(enum axis_role row, int64_t rows,
                                enum axis_role column, int64_t columns,
                                int bytes) {
  struct run_layout l = {.why = "stride"};
  int64_t s = fake.split;
  if (s && rows % s == 0 && columns % s == 0) {
    int64_t block = s * s * bytes;
    l.count = 4;
    l.dim[0].axis = l.dim[2].axis = row;
    l.dim[1].axis = l.dim[3].axis = column;
    l.dim[0].extent = rows / s;
    l.dim[0].stride_bytes = columns / s * block;
    l.dim[1].extent = columns / s;
    l.dim[1].stride_bytes = block;
    l.dim[2].extent = l.dim[3].extent = s;
    l.dim[2].stride_bytes = s * bytes;
    l.dim[3].stride_bytes = bytes;
    l.bytes = (size_t)(rows / s * (columns / s) * block);
    return l;
  }
  l.count = 2;
  l.dim[0].axis = row;
  l.dim[0].extent = rows;
  l.dim[0].stride_bytes = columns * bytes + (fake.gap ? fake.gap : 8);
  l.dim[1].axis = column;
  l.dim[1].extent = columns;
  l.dim[1].stride_bytes = bytes;
  l.bytes = (size_t)(rows * l.dim[0].stride_bytes);
  return l;
}

static const struct run_plan *compile(struct arena *a, const char *device,
                                      const struct teir *work,
                                      const struct run_held *held,
                                      struct diag *d) {
  struct teir_problem problem, *p = &problem;
  (void)held; /* its configurations cannot be changed */
  if (!teir_problem_read(work, p, d))
    return NULL;
  if (p->extent[AXIS_C] > 1) {
    diag_declined(d, loc_none(), "the fake device takes one product");
    return NULL;
  }
  if (p->type[OUT] != p->acc || p->finish.bias || p->finish.relu) {
    fake.finished = *p;
    diag_declined(d, loc_none(), "the fake device only sums");
    return NULL;
  }
  count(&fake.compiles);
  if (fake.fail_compile ||
      (strcmp(device, "fake1") != 0 && strcmp(device, "npu1") != 0)) {
    diag_declined(d, loc_none(), "the fake compiler has a bad day");
    return NULL;
  }
  struct run_plan *plan = arena_alloc(a, sizeof *plan);
  plan->m = fake.m ? fake.m : p->extent[AXIS_M];
  plan->n = fake.n ? fake.n : p->extent[AXIS_N];
  plan->k = fake.k ? fake.k : p->extent[AXIS_K];
  plan->tensor[IN0] =
      layout(AXIS_M, plan->m, AXIS_K, plan->k, dtype_bytes(p->type[IN0]));
  plan->tensor[IN1] =
      layout(AXIS_K, plan->k, AXIS_N, plan->n, dtype_bytes(p->type[IN1]));
  plan->tensor[OUT] =
      layout(AXIS_M, plan->m, AXIS_N, plan->n, dtype_bytes(p->type[OUT]));
  if (fake.fail_layout)
    plan->tensor[OUT].bytes -= 9; /* the gap and a byte */
  struct teir_problem *types = arena_copy(a, p, 1, 1, sizeof *p);
  memset(types->extent, 0, sizeof types->extent);
  plan->configuration = types;
  plan->configuration_bytes = sizeof *p;
  plan->columns = 1;
  plan->txn = plan;
  plan->txn_bytes = sizeof *plan;
  plan->lost_seconds = fake.lost_seconds;
  plan->saved_seconds = fake.saved_seconds;
  return plan;
}

struct run_context {
  struct teir_problem types;
  bool used;
};

static struct run_context *load(const struct run_plan *plan,
                                const struct run_options *o, struct diag *d) {
  (void)o;
  struct run_context *c = calloc(1, sizeof *c);
  if (!c) {
    diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  memcpy(&c->types, plan->configuration, sizeof c->types);
  count(&fake.loads);
  return c;
}

static void unload(struct run_context *c) {
  count(&fake.unloads);
  free(c);
}

/* Launches that were begun are computed at the last moment. */
enum { COPIES = 16 };
struct fake_list {
  int count, copy[COPIES][TENSORS];
};
struct run_session {
  const struct run_plan *plan;
  int copies;
  char *buffer[COPIES][TENSORS];
  struct fake_list queued, begun;
};

static void close_session(struct run_session *s) {
  for (int k = 0; k < COPIES; k++)
    for (int i = 0; i < TENSORS; i++)
      free(s->buffer[k][i]);
  free(s);
}

static bool add_copy(struct run_session *s) {
  char **buffer = s->buffer[s->copies];
  for (int i = 0; i < TENSORS; i++) {
    buffer[i] = malloc(s->plan->tensor[i].bytes);
    if (!buffer[i])
      return false;
    memset(buffer[i], 0x7f, s->plan->tensor[i].bytes); /* no lucky zeros */
  }
  s->copies++;
  return true;
}

static int copies(struct run_session *s, int wanted) {
  while (s->copies < wanted && s->copies < fake.copies && add_copy(s))
    ;
  return s->copies;
}

static const char *target(const struct run_options *o, struct diag *d) {
  (void)o, (void)d;
  return "fake1";
}

static struct run_session *open_session(const struct run_plan *plan,
                                        const struct run_options *o,
                                        struct diag *d) {
  (void)o;
  count(&fake.opens);
  if (fake.fail_open) {
    diag_declined(d, loc_none(), "the fake device does not open");
    return NULL;
  }
  struct run_session *s = calloc(1, sizeof *s);
  if (!s) {
    diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  s->plan = plan;
  if (add_copy(s))
    return s;
  close_session(s);
  diag_declined(d, loc_none(), "no memory");
  return NULL;
}

static void *buffer(struct run_session *s, int i, int copy) {
  return s->buffer[copy][i];
}

static void queue(struct run_session *s, const int copy[TENSORS]) {
  memcpy(s->queued.copy[s->queued.count++], copy, TENSORS * sizeof *copy);
}

static char *element(const struct run_plan *plan, char *const buffer[TENSORS],
                     int t, const int64_t at[AXIS_ROLES]) {
  const struct run_layout *l = &plan->tensor[t];
  int64_t rest[AXIS_ROLES], offset = 0;
  memcpy(rest, at, sizeof rest);
  for (int i = l->count - 1; i >= 0; i--) {
    int axis = l->dim[i].axis;
    offset += rest[axis] % l->dim[i].extent * l->dim[i].stride_bytes;
    rest[axis] /= l->dim[i].extent;
  }
  return buffer[t] + offset;
}

void fake_compute(const struct run_plan *plan, char *const buffer[TENSORS]) {
  const struct teir_problem *p = plan->configuration;
  for (int64_t m = 0; m < plan->m; m++)
    for (int64_t n = 0; n < plan->n; n++) {
      float f = 0;
      uint32_t u = 0;
      for (int64_t k = 0; k < plan->k; k++) {
        int64_t at[] = {0, m, n, k};
        const char *a = element(plan, buffer, 0, at),
                   *b = element(plan, buffer, 1, at);
        if (p->type[OUT] == DTYPE_F32)
          f += (float)dtype_load_float(p->type[IN0], a) *
               (float)dtype_load_float(p->type[IN1], b);
        else
          u += (uint32_t)(dtype_load_int(p->type[IN0], a) *
                          dtype_load_int(p->type[IN1], b));
      }
      char *c = element(plan, buffer, 2, (int64_t[]){0, m, n, 0});
      if (p->type[OUT] == DTYPE_F32)
        memcpy(c, &f, 4);
      else
        memcpy(c, &u, 4);
    }
}

static bool compute(struct run_session *s, const int copy[TENSORS],
                    struct diag *d) {
  char *buffer[TENSORS];
  for (int i = 0; i < TENSORS; i++)
    buffer[i] = s->buffer[copy[i]][i];
  if (count(&fake.launches) == fake.fail_launch)
    return diag_error(d, loc_none(), "the fake device broke");
  fake_compute(s->plan, buffer);
  return true;
}

static bool finish(struct run_session *s, struct diag *d) {
  bool good = true;
  for (int i = 0; i < s->begun.count && good; i++)
    good = compute(s, s->begun.copy[i], d);
  s->begun.count = 0;
  return good;
}

static bool launch(struct run_session *s, struct run_context *c,
                   const struct run_code *code, struct run_counts *counts,
                   struct diag *d) {
  static const int first[TENSORS];
  int launches = s->queued.count ? s->queued.count : 1;
  if (code)
    return diag_error(d, loc_none(), "the fake device has one code per plan");
  counts->configured |= !c->used;
  c->used = true;
  if (memcmp(&c->types, s->plan->configuration, sizeof c->types) != 0)
    return diag_error(d, loc_none(), "another configuration is loaded");
  if (!finish(s, d) || (!s->queued.count && !compute(s, first, d)))
    return false;
  s->begun = s->queued;
  s->queued.count = 0;
  counts->cycles += 1000 * (uint64_t)launches;
  counts->mac_cycles += 90 * (uint64_t)launches;
  counts->core_cycles += 100 * (uint64_t)launches;
  return true;
}

static const struct run_device device = {.name = "fake",
                                         .target = target,
                                         .load = load,
                                         .unload = unload,
                                         .open = open_session,
                                         .copies = copies,
                                         .buffer = buffer,
                                         .queue = queue,
                                         .launch = launch,
                                         .finish = finish,
                                         .close = close_session};
const struct run_compiler fake_compiler = {compile, &device};
