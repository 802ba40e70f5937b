/* launch.c -- plans and sessions: finds or makes the launch of a product, and
 * runs it.
 *
 * The launch shape is the compiler's choice for the whole product.  Where out
 * has another type than the sums, or the product an epilogue, the device makes
 * results of the sums if it can (finish.c); else the sums go through the
 * epilogue on their way out of the device's buffer or of the gathered results.
 */
#include "launch.h"
#include "seconds.h"

#include <string.h>

static bool no_memory(struct diag *d) {
  return diag_declined(d, loc_none(), "no memory");
}

/* ---- plans ---- */

/* What a plan depends on; compared as bytes. */
struct plan_key {
  char device[16], preset[32];
  struct teir_problem problem;
  bool dense[TENSORS]; /* what the TEIR says of tensors of another type */
  bool resident;
  int64_t count[AXIS_ROLES];
  struct {
    int64_t extent, stride_bytes[TENSORS];
  } axis[AXIS_ROLES][PRODUCT_AXES];
};

static bool key_make(struct plan_key *key, const struct run_device *device,
                     const struct run_options *o, const struct product *p,
                     const struct recipe *r, struct diag *d) {
  const struct teir_problem *problem = &r->problem;
  memset(key, 0, sizeof *key);
  if (strlen(o->preset) >= sizeof key->preset)
    return diag_error(d, loc_none(), "there is no preset '%s'", o->preset);
  strcpy(key->device, device->name);
  strcpy(key->preset, o->preset);
  key->resident = o->resident;
  for (int i = 0; i < AXIS_ROLES; i++) /* member by member: no padding */
    key->problem.extent[i] = problem->extent[i];
  for (int t = 0; t < TENSORS; t++)
    key->problem.type[t] = problem->type[t];
  key->problem.acc = problem->acc;
  key->problem.finish.bias = problem->finish.bias;
  key->problem.finish.relu = problem->finish.relu;
  key->problem.finish.keeps_nan = problem->finish.keeps_nan;
  key->problem.finish.saturate = problem->finish.saturate;
  key->problem.finish.shift = problem->finish.shift;
  for (int t = 0; t < TENSORS; t++)
    key->dense[t] = recipe_is_dense(p, r, t);
  int first = problem->extent[AXIS_C] > 1 ? AXIS_C : AXIS_M;
  for (int role = first; role < AXIS_ROLES; role++) {
    key->count[role] = p->count[role];
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      key->axis[role][i].extent = x->extent;
      for (int t = 0; t < TENSORS; t++)
        key->axis[role][i].stride_bytes[t] =
            key->dense[t] ? 0 : x->stride_bytes[t];
    }
  }
  return true;
}

/* One product on its way to a device. */
struct job {
  struct cache *plans;
  struct contexts *contexts;
  const struct run_compiler *compiler;
  const struct run_device *device;
  const struct run_options *options;
  const struct product *p;
  void *const *tensor;
  struct run_report *report;
  const struct recipe *recipe;
  struct cache_entry *entry; /* with the recipe's plan */
  bool alone;                /* made as if the array held nothing */
  struct diag *d;
  bool done;
};

static void build(struct cache_entry *e, const void *with) {
  const struct job *j = with;
  double start = seconds_now();
  const char *target = j->device->target(j->options, &e->diag);
  e->device = j->device;
  e->state = CACHE_FAILED;
  const struct teir *t =
      target ? recipe_teir(e->arena, j->p, j->recipe, &e->diag) : NULL;
  if (!t)
    return;
  struct arena *a = arena_open();
  struct run_held held;
  bool holds =
      !j->alone && contexts_held(j->contexts, a, j->device, j->options, &held);
  e->plan =
      j->compiler->compile(e->arena, target, t, holds ? &held : NULL, &e->diag);
  arena_close(a);
  if (e->plan && plan_check(e->plan, &j->recipe->problem, &e->diag))
    e->state = CACHE_READY;
  if (e->state == CACHE_READY && j->device->load)
    e->context_key = context_key(e->arena, j->device, j->options, e->plan);
  e->build_seconds = seconds_now() - start;
  j->report->seconds.build += e->build_seconds;
  if (e->plan && e->plan->lost_seconds <= 0)
    cache_searched(j->plans, e->build_seconds);
}

static size_t plan_bytes(const struct run_plan *plan) {
  size_t bytes = 0;
  for (int i = 0; i < TENSORS; i++)
    bytes += plan->tensor[i].bytes;
  return bytes;
}

static void run_session(void *with) {
  struct job *j = with;
  struct cache_entry *e = j->entry;
  double start = seconds_now();
  if (!e->session) {
    e->session = e->device->open(e->plan, j->options, j->d);
    j->report->seconds.build += seconds_now() - start;
  }
  if (!e->session)
    return;
  const struct context_launch at = {.contexts = j->contexts,
                                    .device = e->device,
                                    .options = j->options,
                                    .plan = e->plan,
                                    .key = e->context_key,
                                    .spent = &e->changes_seconds,
                                    .session = e->session};
  j->done = work_run(j->p, j->recipe, &at, j->tensor, j->report, j->d);
  e->bytes =
      e->device->bytes ? e->device->bytes(e->session) : plan_bytes(e->plan);
  j->report->seconds.change = j->report->counts.change_seconds;
}

static void close_session(void *with) {
  struct cache_entry *e = ((const struct job *)with)->entry;
  if (e->session)
    e->device->close(e->session);
  e->session = NULL;
  e->bytes = 0;
}

/* What a plan's launches lose with other sizes' blocks, and one after the other
 * on a configuration that was near when it was made: when that is as much as
 * the change would have cost and it takes to search a plan, it is made again,
 * for one of its own. */
static void count_losses(struct job *j, uint64_t before) {
  struct cache_entry *e = j->entry;
  if (e->last_launch != before && e->plan->saved_seconds > 0)
    e->lost_seconds = 0;
  e->last_launch = contexts_launches(j->contexts);
  e->lost_seconds += e->plan->lost_seconds * (double)(e->last_launch - before);
}

/* On a shared device every launch would pay the change, or one the load. */
static bool has_lost(const struct job *j, const struct cache_entry *e) {
  if (e->state != CACHE_READY || e->plan->lost_seconds <= 0)
    return false;
  double most = j->device->change == RUN_CHANGE_SHARED
                    ? context_load_seconds(j->device, j->options)
                    : e->plan->saved_seconds;
  double search = cache_search_seconds(j->plans);
  if (search < e->build_seconds)
    search = e->build_seconds;
  return e->lost_seconds >= most + search;
}

/* With the entry's lock held. */
static bool run_entry(struct job *j) {
  uint64_t before = contexts_launches(j->contexts);
  if (!memory_try(run_session, close_session, j))
    return no_memory(j->d);
  if (!j->done)
    close_session(j); /* nobody knows what a failed launch leaves behind */
  else
    count_losses(j, before);
  return j->done;
}

/* Finds the entry with a plan for the recipe, and locks it. */
static bool take_plan(struct job *j, const struct recipe *recipe,
                      struct diag *d) {
  struct plan_key key;
  if (!key_make(&key, j->device, j->options, j->p, recipe, d))
    return false;
  struct cache_entry *e = cache_acquire(j->plans, &key, sizeof key);
  if (!e)
    return no_memory(d);
  j->recipe = recipe;
  j->entry = e;
  pthread_mutex_lock(&e->lock);
  j->alone = has_lost(j, e);
  if (j->alone) {
    close_session(j);
    cache_forget(e);
  }
  j->report->compiled |= e->state == CACHE_NEW;
  if (e->state == CACHE_NEW && !cache_build(e, build, j))
    no_memory(d);
  else if (e->state == CACHE_READY)
    return true;
  else
    *d = e->diag;
  pthread_mutex_unlock(&e->lock);
  cache_release(j->plans, e);
  return false;
}

/* Axes of a role in the order in which a tensor has them, so that they are one
 * to the device where they can be. */
static void sort_axes(struct product *p, enum axis_role role, int t) {
  struct product_axis *x = p->axis[role];
  for (int i = 1; i < p->count[role]; i++)
    for (int k = i; k > 0 && x[k - 1].stride_bytes[t] < x[k].stride_bytes[t];
         k--) {
      struct product_axis other = x[k];
      x[k] = x[k - 1];
      x[k - 1] = other;
    }
}

/* What a device may be asked for: the results or the sums that an epilogue
 * takes, of one index of the C axes or of all. */
struct recipes {
  struct recipe sums, results, all_sums, all_results;
};

static void set_batches(struct recipes *r, const struct product *p) {
  r->all_sums = recipe_of_batch(p, r->sums);
  r->all_results = recipe_of_batch(p, r->results);
}

static bool take_some_plan(struct job *j, const struct recipes *r,
                           struct diag *d) {
  struct diag apart = {0}, unfinished = {0};
  bool batch = j->p->extent[AXIS_C] > 1 && !recipe_joins(&r->sums);
  return (batch && r->results.finished &&
          take_plan(j, &r->all_results, &unfinished)) ||
         (batch && take_plan(j, &r->all_sums, &apart)) ||
         (r->results.finished && take_plan(j, &r->results, &unfinished)) ||
         take_plan(j, &r->sums, d);
}

/* A device that multiplies no unequal integers gets both as the wider ones. */
static bool find_plan(struct job *j, struct recipes *r, struct diag *d) {
  struct diag uneven = {0};
  set_batches(r, j->p);
  if (take_some_plan(j, r, &uneven))
    return true;
  if (recipe_even(&r->sums) && recipe_even(&r->results)) {
    set_batches(r, j->p);
    return take_some_plan(j, r, d);
  }
  *d = uneven;
  return false;
}

/* blocks: floats may be multiplied as block floats. */
static bool make_recipes(const struct job *j, bool blocks, struct recipes *r,
                         struct diag *d) {
  const struct product *p = j->p;
  struct finish finish;
  if (!recipe_make(p, (enum f32_mode)j->options->f32, blocks, &r->sums, d))
    return false;
  r->results = r->sums;
  r->results.problem.type[OUT] = p->type[OUT];
  r->results.finished =
      !recipe_joins(&r->sums) && finish_read(p, j->tensor, &finish);
  if (r->results.finished) {
    r->results.problem.finish = finish.how;
    r->results.bias = finish.bias;
  }
  return true;
}

static void leave_plan(struct job *j) {
  pthread_mutex_unlock(&j->entry->lock);
  cache_release(j->plans, j->entry);
}

bool launch_product(struct cache *plans, struct contexts *contexts,
                    const struct run_compiler *compiler,
                    const struct run_device *device,
                    const struct run_options *o, const struct product *given,
                    void *const tensor[], struct run_report *report,
                    struct diag *d) {
  struct product sorted = *given;
  const struct product *p = &sorted;
  sort_axes(&sorted, AXIS_M, recipe_has_wide(p) ? OUT : IN0);
  sort_axes(&sorted, AXIS_N, recipe_has_wide(p) ? OUT : IN1);
  sort_axes(&sorted, AXIS_K, IN0);
  sort_axes(&sorted, AXIS_C, IN0);
  struct job j = {.plans = plans,
                  .contexts = contexts,
                  .compiler = compiler,
                  .device = device,
                  .options = o,
                  .p = p,
                  .tensor = tensor,
                  .report = report,
                  .d = d};
  struct recipes r;
  bool blocks = o->bf16 == BF16_BFP16;
  if (!make_recipes(&j, blocks, &r, d) || !find_plan(&j, &r, d))
    return false;
  if (j.entry->plan->by_blocks && !o->finite && !inputs_are_finite(p, tensor)) {
    leave_plan(&j);
    if (!make_recipes(&j, false, &r, d) || !find_plan(&j, &r, d))
      return false;
  }
  bool good = run_entry(&j);
  report->by_blocks = good && j.entry->plan->by_blocks;
  if (good && recipe_has_wide(p) && dtype_kind(p->acc) == DTYPE_FLOAT)
    report->f32 = j.recipe->copies[AXIS_K] > 1 ? "bf16x3" : "bf16";
  leave_plan(&j);
  return good;
}
