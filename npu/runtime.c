/* runtime.c -- the exported functions, and the compiler as the runtime
 * wants it: the TEIR of the work in, a plan for one launch
 * out. */
#include "nputeir-rt.h"

#include "emit.h"
#include "guard.h"
#include "npu.h"
#include "run.h"
#include "seconds.h"
#include "signals.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* One launch moves at most this much per tensor; larger problems become
 * several launches.  (A shim descriptor could do 16 GiB.) */
enum { LAUNCH_BYTES = 256 << 20 };
/* And has a transaction of this much, of the heap of 64 MiB that the driver has
 * for the transactions and configurations of a process. */
enum { TRANSACTION_BYTES = 4 << 20 };

/* What compilations leave to later ones, closed by nobody, as the runtime. */
static void get_means(struct npu_means *by) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct core_cache *cores;
  static struct npu_known *known;
  pthread_mutex_lock(&lock);
  if (!cores)
    cores = core_cache_open();
  if (!known)
    known = npu_known_open();
  pthread_mutex_unlock(&lock);
  *by = (struct npu_means){.most_bytes = LAUNCH_BYTES,
                           .most_transaction_bytes = TRANSACTION_BYTES,
                           .cores = cores,
                           .known = known};
}

static void add_dim(struct run_layout *l, enum axis_role axis, int64_t extent,
                    int64_t stride_bytes) {
  assert(l->count < RUN_DIMS);
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

static const struct map_nest *nest_of(const struct tile_program *p,
                                      enum axis_role role,
                                      enum map_place place) {
  return place == MAP_CORES  ? role == AXIS_M ? &p->row : &p->column
         : place == MAP_TIME ? &p->time[role]
                             : &p->side[role];
}

/* A part of a role's axis and the loop that it has become. */
struct dealt {
  struct map_part part;
  int64_t stride_bytes[TENSORS];
};

/* The parts of an array's role in the order of its elements: axis by axis.
 * Loops of one index have gone from the program. */
static int deal(const struct tile_program *p, const struct map_cut *cut,
                enum axis_role role, struct dealt to[MAP_PARTS]) {
  int used[MAP_BLOCK + 1] = {0}, count = 0;
  for (int i = 0; i < cut->count; i++) {
    struct dealt x = {cut->part[i], {0}};
    const struct map_loop *l = &p->group;
    if (x.part.place != MAP_GROUP) {
      const struct map_nest *n = nest_of(p, role, x.part.place);
      bool whole = n->count == 1 && n->loop[0].extent == 1;
      int at = whole ? 0 : used[x.part.place];
      assert(at < n->count || x.part.extent == 1);
      l = &n->loop[at < n->count ? at : 0];
      used[x.part.place] += x.part.extent > 1;
    }
    for (int t = 0; t < TENSORS; t++)
      x.stride_bytes[t] = l->stride_bytes[t];
    int at = count++;
    for (; at > 0 && to[at - 1].part.axis > x.part.axis; at--)
      to[at] = to[at - 1];
    to[at] = x;
  }
  return count;
}

/* A buffer in blocks, most significant part of a role first. */
static void lay_blocks(const struct npu_result *r, const struct map_work *w,
                       int i, struct run_layout *l) {
  const struct tile_program *p = r->program;
  for (int j = -1; j < 2; j++) {
    enum axis_role role = j < 0 ? AXIS_C : map_roles[i][j];
    struct dealt part[MAP_PARTS];
    struct map_cut cut;
    map_cut_of(p->device, w, &r->blocking, role, &cut);
    int count = deal(p, &cut, role, part);
    for (int k = 0; k < count; k++)
      if (part[k].part.extent > 1 || !k)
        add_dim(l, role_of(p, role), part[k].part.extent,
                part[k].stride_bytes[i]);
  }
}

/* A buffer that lies as the TEIR's tensor. */
static void lay_in_place(const struct map_work *w, int tensor,
                         struct run_layout *l) {
  for (int j = -1; j < 2; j++) {
    enum axis_role role = j < 0 ? AXIS_C : map_roles[tensor][j];
    for (int k = 0; k < w->count[role]; k++)
      add_dim(l, role, w->axis[role][k].elements,
              w->axis[role][k].stride_bytes[tensor]);
  }
}

/* Elements that parts stand for, where they overlap, and those of a launch:
 * padded ones, or exact where a tensor lies in place. */
static int64_t fill_share(const struct npu_result *r, const struct map_work *w,
                          enum axis_role role, struct run_share *s) {
  enum axis_role of = role_of(r->program, role);
  struct dealt part[MAP_PARTS];
  struct map_cut cut;
  bool padded = map_cut_of(r->program->device, w, &r->blocking, role, &cut);
  int count = deal(r->program, &cut, role, part);
  int64_t parts = 1, extent = 1;
  bool words = true; /* all of them elements */
  for (int i = 0; i < count; i++)
    parts *= part[i].part.extent;
  for (int i = 0; i < w->count[of]; i++) {
    extent *= w->axis[of][i].elements;
    words &= w->axis[of][i].extent == w->axis[of][i].elements;
  }
  if (padded)
    return parts;
  if ((role == AXIS_K && r->blocking.last_k) || !words)
    return extent; /* all that have the axis lie in place */
  for (int i = 0; i < count; i++) {
    int64_t step = part[i].part.step;
    for (int k = part[i].part.axis + 1; k < w->count[of]; k++)
      step *= w->axis[of][k].extent;
    s->digit[s->count].extent = part[i].part.extent;
    s->digit[s->count++].step = step;
  }
  return extent;
}

/* The places of a bias's elements in out's buffer, which grows by them. */
static bool fill_bias(struct arena *a, const struct tile_program *p,
                      struct run_plan *plan) {
  if (!p->finish.bias)
    return true;
  struct design_bias b = design_bias(p);
  int words = map_bias_words(p);
  uint32_t *place = arena_array(a, (size_t)words, sizeof *place);
  if (!design_bias_words(p, place))
    return false;
  struct run_bias *to = &plan->bias;
  to->word = arena_array(a, (size_t)b.blocks * (size_t)words, sizeof *to->word);
  for (int block = 0; block < b.blocks; block++)
    for (int i = 0; i < words; i++)
      to->word[to->count++] = (struct run_bias_word){
          b.offset_bytes + block * b.block_bytes + 4 * (int64_t)place[i],
          map_bias_element(p, block / p->rounds_n, block % p->rounds_n, i)};
  plan->tensor[OUT].bytes = (size_t)(b.offset_bytes + b.blocks * b.block_bytes);
  return true;
}

static bool fill_plan(struct arena *a, const struct teir *work,
                      const struct npu_result *r, struct run_plan *plan,
                      struct diag *d) {
  const struct tile_program *q = r->program;
  struct map_work w;
  bool stay[TENSORS], aligned[TENSORS];
  map_form_stays(&r->blocking.form, stay, aligned);
  for (int i = 0; i < TENSORS; i++)
    stay[i] = !r->packed[i];
  if (!map_work_read_aligned(a, q->device, work, stay, aligned, &w, d))
    return false;
  int64_t *const extent[AXIS_ROLES] = {&plan->batch, &plan->m, &plan->n,
                                       &plan->k};
  plan->predicted_cycles = r->blocking.predicted_cycles;
  plan->batch = (int64_t)q->batch * map_grid_products(&q->grid);
  for (int role = AXIS_M; role < AXIS_ROLES; role++) {
    enum axis_role of = role_of(q, (enum axis_role)role);
    *extent[of] = fill_share(r, &w, (enum axis_role)role, &plan->share[of]);
  }
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &q->transfer[i];
    struct run_layout *l = &plan->tensor[x->tensor];
    l->bytes = (size_t)x->bytes;
    l->in_place = stay[x->tensor] || aligned[x->tensor];
    l->why = r->packed[x->tensor];
    l->rule = r->rule[x->tensor];
    if (l->in_place)
      lay_in_place(&w, x->tensor, l);
    else
      lay_blocks(r, &w, i, l);
  }
  return true;
}

/* What is worth knowing of a configuration that the array holds. */
struct shape {
  enum dtype type[TENSORS]; /* of the TEIR's tensors */
  struct map_blocking blocking;
};

static bool read_held(struct arena *a, const struct run_held *h,
                      const struct teir *work, struct npu_held *to) {
  struct diag ignored = {0};
  struct teir_problem p;
  const struct shape *s = h->shape;
  if (!teir_problem_read(work, &p, &ignored))
    return false;
  assert(h->shape_bytes == sizeof *s);
  to->blocking = &s->blocking;
  to->configuration =
      cdo_read(a, h->configuration, h->configuration_bytes, &ignored);
  to->same_types = memcmp(p.type, s->type, sizeof p.type) == 0;
  return to->configuration;
}

static void keep_shape(struct arena *a, const struct npu_result *r,
                       struct run_plan *plan) {
  const struct tile_program *q = r->program;
  struct shape *s = arena_alloc(a, sizeof *s);
  for (int t = 0; t < TENSORS; t++)
    s->type[q->transfer[t].tensor] = q->transfer[t].type;
  s->blocking = r->blocking;
  plan->shape = s;
  plan->shape_bytes = sizeof *s;
  plan->lost_seconds = r->lost_seconds;
  plan->saved_seconds = r->saved_seconds;
}

static const struct run_plan *compile(struct arena *a, const char *device,
                                      const struct teir *work,
                                      const struct run_held *h,
                                      struct diag *d) {
  struct npu_result r;
  struct run_plan *plan = NULL;
  struct arena *scratch = arena_open(); /* the plan outlives all between */
  struct npu_held held;
  struct npu_means by;
  get_means(&by);
  if (h && read_held(scratch, h, work, &held))
    by.held = &held;
  if (npu_compile_by(&by, scratch, device, work, &r, d)) {
    plan = arena_alloc(a, sizeof *plan);
    plan->configuration = arena_copy(a, r.cdo.data, r.cdo.length, 1, 1);
    plan->configuration_bytes = r.cdo.length;
    plan->columns = npu_columns(&r);
    plan->by_blocks = r.program->core.by_blocks || r.program->converts;
    plan->txn = arena_copy(a, r.txn.data, r.txn.length, 1, 1);
    plan->txn_bytes = r.txn.length;
    keep_shape(a, &r, plan);
    struct resident_place place;
    if (resident_find(r.design, &place))
      plan->resident = arena_copy(a, &place, 1, 1, sizeof place);
    bool good = fill_plan(scratch, work, &r, plan, d);
    for (int i = 0; i < TENSORS; i++)
      if (plan->tensor[i].rule)
        plan->tensor[i].rule = arena_string(a, plan->tensor[i].rule);
    if (!good || !fill_bias(a, r.program, plan))
      plan = NULL;
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
    signals_hold(); /* until the call ends */
    pthread_mutex_lock(&lock);
    if (!run)
      run = run_open(&compiler);
    pthread_mutex_unlock(&lock);
  }
  return run;
}

static void print_summary(void) {
  struct guard g;
  if (!guard_enter(&g))
    return;
  struct run *run = the_run();
  if (run)
    run_print_summary(run);
  guard_leave(&g);
}

static bool says(const char *name, const char *word) {
  const char *text = getenv(name);
  return text && (word ? strcmp(text, word) == 0 : *text != 0);
}

/* A program that never calls us has a summary, too: it says so. */
__attribute__((constructor)) static void watch_exit(void) {
  if (!says("NPUTEIR_TRACE", "summary") && !says("NPUTEIR_VERIFY", NULL) &&
      !says("NPUTEIR_PROFILE", NULL))
    return;
  struct run *run = the_run();
  signals_let();
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

static int time_loop(uint64_t key) {
  timed.key = key;
  timed.start = seconds_now();
  return RUN_LOOP_AND_TIME;
}

static void end_time(void) {
  if (timed.key)
    run_loop_took(the_run(), timed.key, seconds_now() - timed.start);
  timed.key = 0;
}

/* Compiled code looks here before each call. */
EXPORT uint64_t nputeir_least_macs_1;

static void publish(const struct run *run) {
  uint64_t now = run_least_macs(run);
  if (now != __atomic_load_n(&nputeir_least_macs_1, __ATOMIC_RELAXED))
    __atomic_store_n(&nputeir_least_macs_1, now, __ATOMIC_RELAXED);
}

static int call(const struct run_request *request) {
  struct run *run = the_run();
  if (!run)
    return RUN_LOOP;
  struct run_report report;
  bool done = run_call(run, request, &report);
  publish(run);
  if (!done)
    return report.timed ? time_loop(report.timed) : RUN_LOOP;
  return report.verify ? wait_for_loop(report.verify) : DONE;
}

EXPORT int nputeir_call_1(const char *teir, const char *options,
                          const char *where, const int64_t *value,
                          uint64_t value_count, void *const *tensor,
                          uint64_t tensor_count) {
  struct run_request request = {teir,        options, where,       value,
                                value_count, tensor,  tensor_count};
  struct guard g;
  if (!guard_enter(&g))
    return RUN_LOOP;
  int status = call(&request);
  guard_leave(&g);
  return status;
}

static void compare(int status) {
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

EXPORT void nputeir_compare_1(int status) {
  struct guard g;
  if (!guard_enter(&g))
    return;
  compare(status);
  guard_leave(&g);
}

EXPORT const char *nputeir_version(void) { return NPUTEIR_VERSION; }
