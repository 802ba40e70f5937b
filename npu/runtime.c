/* runtime.c -- the exported functions, and the compiler as the runtime
 * wants it: the TEIR of the work in, a plan for one launch
 * out. */
#include "nputeir-rt.h"

#include "npu.h"
#include "run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* One launch moves at most this much per tensor; larger problems become
 * several launches.  (A shim descriptor could do 16 GiB.) */
enum { LAUNCH_BYTES = 256 << 20 };

static void add_dim(struct run_layout *l, enum axis_role axis, int64_t extent,
                    int64_t stride_bytes) {
  l->dim[l->count].axis = axis;
  l->dim[l->count].extent = extent;
  l->dim[l->count++].stride_bytes = stride_bytes;
}

/* Roles and tensors of the TEIR for those of a tile program. */
static enum axis_role role_of(const struct tile_program *p,
                              enum axis_role role) {
  bool swapped = p->transfer[IN0].tensor != IN0;
  return !swapped || role == AXIS_K ? role : AXIS_M + AXIS_N - role;
}

static const enum axis_role roles[TENSORS][2] = {
    {AXIS_M, AXIS_K}, {AXIS_K, AXIS_N}, {AXIS_M, AXIS_N}};

/* A buffer in blocks, most significant part of an axis first: rows (columns) of
 * cores, rounds, steps, inside the block. */
static void lay_blocks(const struct tile_program *p, int i,
                       struct run_layout *l) {
  const struct map_transfer *x = &p->transfer[i];
  int64_t element = dtype_bytes(x->type);
  if (i != IN1)
    add_dim(l, role_of(p, AXIS_M), p->grid.m,
            i == OUT ? x->row_stride_bytes : x->column_stride_bytes);
  if (i != IN0)
    add_dim(l, role_of(p, AXIS_N), p->grid.n, x->column_stride_bytes);
  /* m rounds, the blocks of a group, n rounds, k steps */
  static const enum axis_role round_axis[] = {AXIS_M, AXIS_N, AXIS_K, AXIS_M};
  static const int order[] = {0, 3, 1, 2};
  for (int o = 0; o < 4; o++) {
    int j = order[o];
    if (roles[i][0] == round_axis[j] || roles[i][1] == round_axis[j])
      add_dim(l, role_of(p, round_axis[j]), x->time[j].extent,
              x->time[j].stride_bytes);
  }
  add_dim(l, role_of(p, roles[i][0]), x->block_rows,
          x->block_columns * element);
  add_dim(l, role_of(p, roles[i][1]), x->block_columns, element);
}

static int64_t extent_of(const struct run_plan *plan, enum axis_role role) {
  return role == AXIS_M ? plan->m : role == AXIS_N ? plan->n : plan->k;
}

static int64_t products_of(const struct tile_program *p) {
  return (int64_t)p->batch * map_grid_products(&p->grid);
}

/* A buffer that lies as the TEIR's tensor. */
static void lay_in_place(const struct tile_program *p, int i,
                         const struct run_plan *plan, struct run_layout *l) {
  const struct map_transfer *x = &p->transfer[i];
  for (int j = 0; j < 2; j++) {
    bool contiguous = (j == 0) == x->turned;
    enum axis_role role = role_of(p, roles[i][j]);
    add_dim(l, role, extent_of(plan, role),
            contiguous ? dtype_bytes(x->type) : x->pitch_bytes);
  }
  int64_t batch = products_of(p);
  if (batch > 1)
    add_dim(l, AXIS_C, batch, map_product_bytes(p, x, 1));
}

static void add_digit(struct run_share *s, int64_t extent, int64_t step) {
  s->digit[s->count].extent = extent;
  s->digit[s->count++].step = step;
}

/* Extents of the launch: padded ones, or exact where a tensor lies in place. */
static void fill_extents(const struct npu_result *r, struct run_plan *plan) {
  const struct tile_program *q = r->program;
  const struct map_form *f = &r->blocking.form;
  int64_t group = (int64_t)q->group_m * q->block_m;
  int64_t m = q->grid.m * q->rounds_m * group,
          n = (int64_t)q->grid.n * q->rounds_n * q->block_n;
  if (f->m.core) {
    struct run_share *s = &plan->share[role_of(q, AXIS_M)];
    add_digit(s, q->grid.m, f->m.core);
    add_digit(s, q->rounds_m, f->m.round);
    add_digit(s, group, 1);
    m = (q->grid.m - 1) * f->m.core + (q->rounds_m - 1) * f->m.round + group;
  }
  if (f->n.core) {
    struct run_share *s = &plan->share[role_of(q, AXIS_N)];
    add_digit(s, q->grid.n, f->n.core);
    add_digit(s, q->rounds_n, f->n.round);
    add_digit(s, q->block_n, 1);
    n = (q->grid.n - 1) * f->n.core + (q->rounds_n - 1) * f->n.round +
        q->block_n;
  }
  plan->m = role_of(q, AXIS_M) == AXIS_M ? m : n;
  plan->n = role_of(q, AXIS_M) == AXIS_M ? n : m;
  plan->k = (int64_t)q->steps_k * q->block_k;
  plan->batch = products_of(q);
}

static void fill_plan(const struct npu_result *r, struct run_plan *plan) {
  fill_extents(r, plan);
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &r->program->transfer[i];
    struct run_layout *l = &plan->tensor[x->tensor];
    l->bytes = (size_t)x->bytes;
    l->in_place = !r->packed[x->tensor];
    l->why = r->packed[x->tensor];
    if (l->in_place)
      lay_in_place(r->program, i, plan, l);
    else
      lay_blocks(r->program, i, l);
  }
}

static const struct run_plan *compile(struct arena *a, const char *device,
                                      const struct teir *work, struct diag *d) {
  struct npu_result r;
  struct run_plan *plan = NULL;
  struct arena *scratch = arena_open(); /* the plan outlives all between */
  if (npu_compile(scratch, device, work, LAUNCH_BYTES, &r, d)) {
    plan = arena_alloc(a, sizeof *plan);
    plan->xclbin = arena_copy(a, r.xclbin.data, r.xclbin.length, 1, 1);
    plan->xclbin_bytes = r.xclbin.length;
    plan->txn = arena_copy(a, r.txn.data, r.txn.length, 1, 1);
    plan->txn_bytes = r.txn.length;
    fill_plan(&r, plan);
  }
  npu_result_free(&r);
  arena_close(scratch);
  return plan;
}

/* Opened by the first call that has the memory, and never closed: another
 * thread may be in a call while the process ends. */
static struct run *the_run(void) {
  static const struct run_compiler compiler = {.compile = compile};
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static _Atomic(struct run *) run;
  if (!run) {
    pthread_mutex_lock(&lock);
    if (!run)
      run = run_open(&compiler);
    pthread_mutex_unlock(&lock);
  }
  return run;
}

static void print_summary(void) {
  struct run *run = the_run();
  if (run)
    run_print_summary(run);
}

static bool says(const char *name, const char *word) {
  const char *text = getenv(name);
  return text && (word ? strcmp(text, word) == 0 : *text != 0);
}

/* A program that never calls us has a summary, too: it says so. */
__attribute__((constructor)) static void watch_exit(void) {
  if (!says("NPUTEIR_TRACE", "summary") && !says("NPUTEIR_VERIFY", NULL))
    return;
  struct run *run = the_run();
  if (run && run_has_summary(run))
    atexit(print_summary);
}

/* What a call returns; the program only knows 0 and others. */
enum { DONE, RUN_LOOP, RUN_LOOP_AND_COMPARE, RUN_LOOP_AND_TIME };

/* What waits for the end of this thread's loop: struct verify_call. */
static pthread_key_t waiting;
static bool can_wait; /* the key was made */

static void drop_waiting(void *call) { run_verify_drop(call); }

__attribute__((constructor)) static void make_key(void) {
  can_wait = pthread_key_create(&waiting, drop_waiting) == 0;
}

/* A loop that was left by a jump or an exception never said that it ended. */
static int wait_for_loop(struct verify_call *call) {
  if (!can_wait) {
    run_verify_drop(call);
    return RUN_LOOP;
  }
  run_verify_drop(pthread_getspecific(waiting));
  if (pthread_setspecific(waiting, call) == 0)
    return RUN_LOOP_AND_COMPARE;
  run_verify_drop(call);
  return RUN_LOOP;
}

/* This thread's loop whose end is to be told. */
static _Thread_local struct {
  uint64_t key; /* 0: none */
  double start;
} timed;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int time_loop(uint64_t key) {
  timed.key = key;
  timed.start = seconds();
  return RUN_LOOP_AND_TIME;
}

static void end_time(void) {
  if (timed.key)
    run_loop_took(the_run(), timed.key, seconds() - timed.start);
  timed.key = 0;
}

EXPORT int nputeir_call_1(const char *teir, const char *options,
                          const char *where, const int64_t *value,
                          uint64_t value_count, void *const *tensor,
                          uint64_t tensor_count) {
  struct run *run = the_run();
  if (!run)
    return RUN_LOOP;
  struct run_request request = {teir,        options, where,       value,
                                value_count, tensor,  tensor_count};
  struct run_report report;
  if (!run_call(run, &request, &report))
    return report.timed ? time_loop(report.timed) : RUN_LOOP;
  return report.verify ? wait_for_loop(report.verify) : DONE;
}

EXPORT void nputeir_compare_1(int status) {
  if (status == RUN_LOOP_AND_TIME)
    end_time();
  if (status != RUN_LOOP_AND_COMPARE)
    return;
  struct verify_call *call = pthread_getspecific(waiting);
  if (!call)
    return;
  pthread_setspecific(waiting, NULL);
  run_verify(the_run(), call);
}

EXPORT const char *nputeir_version(void) { return NPUTEIR_VERSION; }
