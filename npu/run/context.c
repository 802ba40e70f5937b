/* context.c -- configurations that a device has loaded, and launches on them.
 *
 * Loading a configuration takes a device longer than most launches, so plans
 * whose configurations are equal, byte by byte, share the loaded one: launches
 * on it come one after the other, each on the state of the array that the one
 * before has left.
 *
 * Other plans' launches go there as well: their transaction then begins with
 * the writes that make the array hold their configuration (change_write), which
 * takes, simulated, a four hundredth of the time that is published for a load,
 * or a fortieth where other cores work.  Only when a plan has spent the time of
 * a load on such writes is its configuration loaded, and few are.  Where a
 * device is shared, nobody knows whether the configuration has been loaded
 * again since the last launch: the writes come with every launch, and are made
 * for either case.
 *
 * What a failed launch leaves is not known; then the configuration is loaded
 * anew for the next.
 */
#include "array.h"
#include "bytes.h"
#include "image.h"
#include "parts.h"

#include <assert.h>
#include <string.h>

enum { MOST_CHANGED = 3 }; /* contexts of a device whose launches change them */

struct context_key context_key(struct arena *a, const struct run_device *device,
                               const struct run_options *o,
                               const struct run_plan *plan) {
  struct context_name *name;
  size_t length = sizeof *name + plan->configuration_bytes;
  assert(strlen(device->name) < sizeof name->device);
  name = arena_alloc(a, length);
  memset(name, 0, sizeof *name);
  name->hash = bytes_hash(plan->configuration, plan->configuration_bytes, 0);
  name->columns = plan->columns;
  strcpy(name->device, device->name);
  strcpy(name->preset, o->preset);
  memcpy(name + 1, plan->configuration, plan->configuration_bytes);
  return (struct context_key){name, length, plan->shape, plan->shape_bytes};
}

/* What the device compiles for; its own costs, or those of a platform like it.
 * NULL: it is not known. */
static const struct device *model_of(const struct run_device *device,
                                     const struct run_options *o,
                                     const struct preset **at, struct diag *d) {
  const char *target = device->target(o, d);
  *at = target ? preset_find(target) : NULL;
  const struct device *model =
      target ? device_find(*at ? (*at)->device : target) : NULL;
  if (model && !*at)
    *at = preset_of(model);
  return model;
}

double context_load_seconds(const struct run_device *device,
                            const struct run_options *o) {
  const struct preset *at;
  struct diag ignored = {0};
  return (model_of(device, o, &at, &ignored) ? at : preset_at(0))->load_seconds;
}

static double load_seconds(const struct context_launch *l) {
  return context_load_seconds(l->device, l->options);
}

bool plan_xclbin(const struct run_plan *p, struct text *xclbin,
                 struct diag *d) {
  return xclbin_around(p->configuration, p->configuration_bytes, p->columns,
                       TENSORS, xclbin, d);
}

void contexts_open(struct contexts *all) {
  *all = (struct contexts){.clock = 0};
  pthread_mutex_init(&all->lock, NULL);
  for (int i = 0; i < CONTEXTS; i++)
    pthread_mutex_init(&all->context[i].lock, NULL);
}

static void empty(struct context *x) {
  if (x->context)
    x->device->unload(x->context);
  arena_close(x->loaded_arena);
  arena_close(x->held_arena);
  x->context = NULL;
  x->loaded_arena = x->held_arena = NULL;
  x->loaded = x->held = (struct context_key){0};
}

void contexts_close(struct contexts *all) {
  for (int i = 0; i < CONTEXTS; i++) {
    assert(all->context[i].users == 0);
    empty(&all->context[i]);
    pthread_mutex_destroy(&all->context[i].lock);
  }
  pthread_mutex_destroy(&all->lock);
}

static bool equal(const struct context_key *a, const struct context_key *b) {
  return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static bool same_platform(const struct context_name *a,
                          const struct context_name *b) {
  return strcmp(a->device, b->device) == 0 && strcmp(a->preset, b->preset) == 0;
}

/* ---- which context, by what their names say ---- */

/* What a launch needs of a context. */
enum need { NEED_LAUNCH, NEED_CHANGE, NEED_LOAD };

static bool is_ready(const struct context *x, const struct context_name *want,
                     const struct run_device *device) {
  return x->held_name.hash == want->hash &&
         (device->change != RUN_CHANGE_SHARED ||
          x->loaded_name.hash == want->hash);
}

/* Idle ones first, and of these the one that was used longest ago. */
static bool comes_before(const struct context *x, const struct context *other) {
  if (!other || !x->users != !other->users)
    return !other || !x->users;
  return x->last_use < other->last_use;
}

/* A launch that is recorded shows what such launches cost one after the other,
 * and not what leads to the first one. */
static bool may_change(const struct context_launch *l) {
  return l->device->change != RUN_CHANGE_NEVER && !l->options->recording;
}

/* On a shared device contexts take turns, and to change between them takes as
 * long as to load one; so the one that ran last is the one. */
static struct context *pick(struct contexts *all,
                            const struct context_launch *l, enum need *need) {
  const struct context_name *want = l->key.bytes;
  bool shared = l->device->change == RUN_CHANGE_SHARED;
  struct context *any = NULL, *oldest = NULL, *newest = NULL, *ready = NULL;
  int count = 0;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *x = &all->context[i];
    if (comes_before(x, any))
      any = x;
    if (!same_platform(&x->loaded_name, want))
      continue;
    count++;
    if (is_ready(x, want, l->device) && comes_before(x, ready))
      ready = x;
    if (x->loaded_name.columns < want->columns)
      continue;
    if (comes_before(x, oldest))
      oldest = x;
    if (!newest || x->last_use > newest->last_use)
      newest = x;
  }
  if (shared && newest && newest->held_name.hash != want->hash)
    *l->spent = 0; /* counted while the plan's launches follow each other */
  bool paid = *l->spent >= load_seconds(l);
  struct context *changed = shared ? newest : oldest;
  if (!may_change(l) || !changed || (paid && count < MOST_CHANGED)) {
    *need = ready ? NEED_LAUNCH : NEED_LOAD;
    return ready ? ready : any;
  }
  if (ready && (ready == newest || !shared || paid)) {
    *need = NEED_LAUNCH;
    return ready;
  }
  *need = NEED_CHANGE;
  return changed;
}

/* The context that a launch on all columns would change. */
static struct context *next_of(struct contexts *all,
                               const struct run_device *device,
                               const struct run_options *o) {
  struct context *next = NULL;
  bool shared = device->change == RUN_CHANGE_SHARED;
  for (int i = 0; i < CONTEXTS; i++) {
    struct context *x = &all->context[i];
    const struct context_name *name = &x->loaded_name;
    bool fits = strcmp(name->device, device->name) == 0 &&
                strcmp(name->preset, o->preset) == 0;
    int more = next ? name->columns - next->loaded_name.columns : 1;
    if (fits &&
        (more > 0 || (!more && (x->last_use > next->last_use) == shared)))
      next = x;
  }
  return next;
}

static bool copy_held(const struct context *x, struct arena *a,
                      struct run_held *h) {
  const struct context_key *key = &x->held;
  const struct context_name *name = key->bytes;
  if (!x->context || !key->shape_bytes)
    return false;
  h->configuration_bytes = key->length - sizeof *name;
  h->configuration = arena_copy(a, name + 1, h->configuration_bytes, 1, 1);
  h->shape_bytes = key->shape_bytes;
  h->shape = arena_copy(a, key->shape, h->shape_bytes, 1, 1);
  return true;
}

uint64_t contexts_launches(struct contexts *all) {
  pthread_mutex_lock(&all->lock);
  uint64_t count = all->clock;
  pthread_mutex_unlock(&all->lock);
  return count;
}

struct copy {
  const struct context *from;
  struct arena *arena;
  struct run_held *to;
  bool done;
};

static void try_copy(void *with) {
  struct copy *c = with;
  c->done = copy_held(c->from, c->arena, c->to);
}

bool contexts_held(struct contexts *all, struct arena *a,
                   const struct run_device *device, const struct run_options *o,
                   struct run_held *h) {
  if (!device->load || device->change == RUN_CHANGE_NEVER || o->recording)
    return false;
  pthread_mutex_lock(&all->lock);
  struct context *x = next_of(all, device, o);
  if (x)
    x->users++;
  pthread_mutex_unlock(&all->lock);
  bool free = x && pthread_mutex_trylock(&x->lock) == 0;
  struct copy c = {x, a, h, false};
  /* Without memory for it nothing is held; the lock must not stay taken. */
  bool good = free && memory_try(try_copy, NULL, &c) && c.done;
  if (free)
    pthread_mutex_unlock(&x->lock);
  pthread_mutex_lock(&all->lock);
  if (x)
    x->users--;
  pthread_mutex_unlock(&all->lock);
  return good;
}

/* ---- launches ---- */

struct job {
  const struct context_launch *launch;
  struct context *context;
  enum need need;
  struct run_counts *counts;
  struct diag *d;
  bool done;
};

static struct context_key copy_of(struct arena *a,
                                  const struct context_key *key) {
  return (struct context_key){
      arena_copy(a, key->bytes, key->length, 1, 1), key->length,
      arena_copy(a, key->shape, key->shape_bytes, 1, 1), key->shape_bytes};
}

static void hold(struct context *x, const struct context_key *key) {
  if (equal(&x->held, key))
    return;
  if (!x->held_arena)
    x->held_arena = arena_open();
  arena_clear(x->held_arena);
  x->held = copy_of(x->held_arena, key);
}

static bool load(struct job *j) {
  const struct context_launch *l = j->launch;
  struct context *x = j->context;
  empty(x);
  x->device = l->device;
  x->loaded_arena = arena_open();
  x->loaded = copy_of(x->loaded_arena, &l->key);
  hold(x, &l->key);
  x->context = l->device->load(l->plan, l->options, j->d);
  return x->context;
}

static const struct command_list *
configuration(struct arena *a, const struct context_key *key, struct diag *d) {
  const struct context_name *name = key->bytes;
  return cdo_read(a, name + 1, key->length - sizeof *name, d);
}

/* The plan's transaction, behind what changes the context's configuration to
 * the plan's. */
static bool change(struct arena *a, const struct job *j, struct text *txn,
                   struct change_data *data, double *seconds) {
  const struct context_launch *l = j->launch;
  const struct context *x = j->context;
  const struct preset *at;
  const struct device *model = model_of(l->device, l->options, &at, j->d);
  int columns, count = 0;
  const struct command_list *from[2],
      *to = configuration(a, &l->key, j->d),
      *run = txn_read(a, l->plan->txn, l->plan->txn_bytes, &columns, j->d);
  from[count++] = configuration(a, &x->held, j->d);
  if (l->device->change == RUN_CHANGE_SHARED && !equal(&x->held, &x->loaded))
    from[count++] = configuration(a, &x->loaded, j->d);
  struct command_list *all = command_list(a);
  if (!model || !to || !run || !from[0] || !from[count - 1])
    return false;
  change_write(from, count, to, all, data);
  *seconds = change_seconds(all, data, at);
  for (int i = 0; i < run->count; i++)
    command_copy(all, &run->item[i]);
  return txn_write(all, model, columns, txn, j->d);
}

/* Counts what a load takes. */
static bool launch(const struct job *j, const struct run_code *code) {
  const struct context_launch *l = j->launch;
  bool before = j->counts->configured;
  j->counts->configured = false;
  bool good =
      l->device->launch(l->session, j->context->context, code, j->counts, j->d);
  if (j->counts->configured)
    j->counts->change_seconds += load_seconds(l);
  j->counts->configured |= before;
  return good;
}

static bool launch_changed(struct job *j) {
  const struct context_launch *l = j->launch;
  struct arena *a = arena_open();
  struct text txn = {0};
  struct change_data data = {NULL, 0};
  double seconds = 0;
  bool good = change(a, j, &txn, &data, &seconds);
  if (good) {
    const struct run_code code = {txn.data, txn.length, data.words,
                                  4 * (size_t)data.count};
    good = launch(j, &code);
    j->counts->changed_bytes +=
        txn.length - l->plan->txn_bytes + code.data_bytes;
    j->counts->change_seconds += seconds;
    *l->spent += seconds;
  }
  text_free(&txn);
  arena_close(a);
  return good;
}

/* Others may have used the context since it was picked. */
static void run(void *with) {
  struct job *j = with;
  const struct context_launch *l = j->launch;
  struct context *x = j->context;
  const struct context_name *want = l->key.bytes, *loaded = x->loaded.bytes;
  bool own = x->context && equal(&x->loaded, &l->key);
  bool ready = x->context && equal(&x->held, &l->key) &&
               (own || l->device->change != RUN_CHANGE_SHARED);
  bool fits = x->context && j->need != NEED_LOAD && may_change(l) &&
              same_platform(loaded, want) && loaded->columns >= want->columns;
  if (!ready && !fits && !(own && may_change(l))) {
    if (!load(j))
      return;
    ready = true;
  }
  j->done = ready ? launch(j, NULL) : launch_changed(j);
  if (j->done)
    hold(x, &l->key);
}

static void undo(void *with) { empty(((const struct job *)with)->context); }

static struct context_name name_of(const struct context_key *key) {
  return key->bytes ? *(const struct context_name *)key->bytes
                    : (struct context_name){0};
}

bool context_launch(const struct context_launch *l, struct run_counts *counts,
                    struct diag *d) {
  if (!l->device->load)
    return l->device->launch(l->session, NULL, NULL, counts, d);
  struct contexts *all = l->contexts;
  struct job j = {.launch = l, .counts = counts, .d = d};
  pthread_mutex_lock(&all->lock);
  struct context *x = j.context = pick(all, l, &j.need);
  x->users++;
  x->last_use = ++all->clock;
  if (j.need == NEED_LOAD) /* so that others see what comes */
    x->loaded_name = name_of(&l->key);
  if (j.need != NEED_LAUNCH)
    x->held_name = name_of(&l->key);
  pthread_mutex_unlock(&all->lock);
  pthread_mutex_lock(&x->lock);
  if (!memory_try(run, undo, &j))
    diag_declined(d, loc_none(), "no memory");
  else if (!j.done)
    empty(x);
  struct context_name loaded = name_of(&x->loaded), held = name_of(&x->held);
  pthread_mutex_unlock(&x->lock);
  pthread_mutex_lock(&all->lock);
  x->loaded_name = loaded;
  x->held_name = held;
  x->users--;
  pthread_mutex_unlock(&all->lock);
  return j.done;
}
