/* compile.c -- the whole compiler on a page: each stage takes what the one
 * before gave and leaves no trace elsewhere. */
#include "npu.h"

#include "emit.h"

#include <math.h>
#include <string.h>

int npu_columns(const struct npu_result *r) {
  return device_partition(r->program->device, r->program->grid.columns);
}

/* design + core programs -> bytes */
static bool make_images(struct arena *a, struct npu_result *r, struct diag *d) {
  struct command_list *configuration = command_list(a), *run = command_list(a);
  r->configuration = configuration;
  r->run = run;
  return emit_configuration(r->design, configuration, d) &&
         emit_run(r->design, run, d) && cdo_write(configuration, &r->cdo, d) &&
         txn_write(run, r->program->device, npu_columns(r), &r->txn, d);
}

static double matrix_bytes(int64_t rows, int64_t columns, enum dtype t) {
  return (double)rows * (double)columns * dtype_bytes(t);
}

/* Extents of one launch: halved until each of its tensors has at most
 * most_bytes; k last, because the sums of its parts are added by the host. */
static void cut_launch(struct teir_problem *p, double most_bytes) {
  enum { SMALL = 256 };
  int64_t *m = &p->extent[AXIS_M], *n = &p->extent[AXIS_N],
          *k = &p->extent[AXIS_K];
  for (;;) {
    bool in0 = matrix_bytes(*m, *k, p->type[IN0]) > most_bytes;
    bool in1 = matrix_bytes(*k, *n, p->type[IN1]) > most_bytes;
    bool out = matrix_bytes(*m, *n, p->type[OUT]) > most_bytes;
    if (!in0 && !in1 && !out)
      return;
    int64_t *rows = (in0 || out) && *m > SMALL ? m : NULL;
    int64_t *columns = (in1 || out) && *n > SMALL ? n : NULL;
    int64_t *largest = !rows                           ? columns
                       : !columns || *rows >= *columns ? rows
                                                       : columns;
    if (!largest)
      largest = k;
    *largest = (*largest + 1) / 2;
  }
}

static bool is_placed(const struct teir *t) {
  for (int n = 0; n < t->node_count; n++)
    if (t->node[n].kind == TEIR_ITERATION && t->node[n].place != TEIR_ANYWHERE)
      return true;
  return false;
}

/* The work -> its schedule on the array, with tensors as they lie if in_place;
 * `tried` holds the tries of this. */
static const struct teir *schedule(struct arena *a, const struct platform *at,
                                   const struct teir *work, int64_t most_bytes,
                                   bool in_place, unsigned *tried,
                                   struct npu_result *r, struct diag *d) {
  struct teir_problem whole;
  if (!teir_problem_read(work, &whole, d))
    return NULL;
  struct teir_problem p = whole;
  p.acc = map_sum_type(at->device, &p);
  if (most_bytes)
    cut_launch(&p, (double)most_bytes);
  bool sums = p.type[OUT] == DTYPE_F32 || p.type[OUT] == DTYPE_I32;
  if (p.extent[AXIS_K] < whole.extent[AXIS_K] &&
      (!sums || p.finish.bias || p.finish.relu)) {
    diag_declined(d, loc_none(), "results of several launches along k");
    return NULL;
  }
  double tensors[] = {
      matrix_bytes(p.extent[AXIS_M], p.extent[AXIS_K], p.type[IN0]),
      matrix_bytes(p.extent[AXIS_K], p.extent[AXIS_N], p.type[IN1]),
      matrix_bytes(p.extent[AXIS_M], p.extent[AXIS_N], p.type[OUT])};
  for (int i = 0; i < TENSORS; i++)
    if (most_bytes && p.extent[AXIS_C] > 1 &&
        tensors[i] * (double)p.extent[AXIS_C] > (double)most_bytes) {
      diag_declined(d, loc_none(), "a batch too large for one launch");
      return NULL;
    }
  bool cut = memcmp(p.extent, whole.extent, sizeof p.extent) != 0;
  for (int i = 0; i < TENSORS; i++)
    r->packed[i] = !in_place ? "asked" : "size";
  bool found = false;
  if (in_place && !cut) {
    found = map_choose_in_place(a, at, work, tried, &r->blocking, r->packed, d);
  } else {
    *tried = 1;
    found = map_choose(at, &p, &r->blocking, d);
  }
  bool packed = r->packed[IN0] || r->packed[IN1] || r->packed[OUT];
  if (found && most_bytes && p.extent[AXIS_C] > 1 && packed)
    found = diag_declined(d, loc_none(),
                          "a batch of %lld products; all lie in place, or they "
                          "are taken one by one",
                          (long long)p.extent[AXIS_C]);
  return found ? map_schedule(a, at->device, work, &r->blocking, d) : NULL;
}

static bool design(struct arena *a, const struct platform *at,
                   struct core_cache *cores, struct npu_result *r,
                   struct diag *d) {
  return r->teir && (r->program = map_program(a, r->teir, at->device, d)) &&
         (r->design = design_make(a, r->program, cores, d));
}

static void name_rules(struct arena *a, const struct platform *at,
                       const struct teir *work, struct npu_result *r) {
  for (int i = 0; i < TENSORS; i++)
    if (r->packed[i])
      r->rule[i] = strcmp(r->packed[i], "descriptor") == 0
                       ? arena_string(a, r->beyond.text)
                       : map_reason(a, at, work, i, r->packed[i]);
}

/* False without *d, too, where blocks are predicted to take most_cycles. */
static bool compile_at(struct arena *a, const struct platform *at,
                       const struct teir *work, int64_t most_bytes,
                       double most_cycles, bool in_place,
                       struct core_cache *cores, struct npu_result *r,
                       struct diag *d) {
  memset(r, 0, sizeof *r);
  if (is_placed(work)) {
    struct teir_problem p; /* cores form sums in an order of their own */
    if (!teir_problem_read(work, &p, d))
      return false;
    r->teir = work;
    if (design(a, at, cores, r, &r->not_as_placed))
      return make_images(a, r, d);
  }
  /* Descriptors have rules that the chooser does not know; blocks obey all. */
  for (unsigned tried = 0; !(tried & 1);) {
    struct diag why = {0};
    r->teir = schedule(a, at, work, most_bytes, in_place, &tried, r, d);
    if (!r->teir || r->blocking.predicted_cycles >= most_cycles)
      return false;
    if (design(a, at, cores, r, &why)) {
      name_rules(a, at, work, r);
      return make_images(a, r, d);
    }
    if (tried & 1)
      *d = why;
    else if (r->beyond.kind == DIAG_NONE)
      r->beyond = why;
  }
  return false;
}

static bool compile(struct arena *a, const char *platform,
                    const struct teir *work, int64_t most_bytes, bool in_place,
                    struct core_cache *cores, struct npu_result *r,
                    struct diag *d) {
  struct platform at;
  memset(r, 0, sizeof *r);
  return platform_find(platform, &at, d) &&
         compile_at(a, &at, work, most_bytes, HUGE_VAL, in_place, cores, r, d);
}

static bool make_container(struct npu_result *r, struct diag *d) {
  return xclbin_around(r->cdo.data, r->cdo.length, npu_columns(r), TENSORS,
                       &r->xclbin, d);
}

bool npu_compile(struct arena *a, const char *platform, const struct teir *work,
                 int64_t most_bytes, struct npu_result *r, struct diag *d) {
  return compile(a, platform, work, most_bytes, true, NULL, r, d) &&
         make_container(r, d);
}

bool npu_compile_blocked(struct arena *a, const char *platform,
                         const struct teir *work, int64_t most_bytes,
                         struct npu_result *r, struct diag *d) {
  return compile(a, platform, work, most_bytes, false, NULL, r, d) &&
         make_container(r, d);
}

static int64_t largest_tensor(const struct tile_program *p) {
  int64_t bytes = 0;
  for (int t = 0; t < TENSORS; t++)
    if (p->transfer[t].bytes > bytes)
      bytes = p->transfer[t].bytes;
  return bytes;
}

static bool compile_best(const struct npu_means *by, struct arena *a,
                         const char *platform, const struct teir *work,
                         struct npu_result *r, struct diag *d) {
  enum { LEAST_BYTES = 1 << 20 }; /* cut_launch can reach */
  int64_t most = by->most_bytes;
  for (;;) {
    if (!compile(a, platform, work, most, true, by->cores, r, d))
      return false;
    size_t bytes = r->txn.length, limit = by->most_transaction_bytes;
    int64_t largest = largest_tensor(r->program);
    if (!limit || bytes <= limit)
      return true;
    npu_result_free(r);
    most = (most && most < largest ? most : largest) / 2;
    if (most < LEAST_BYTES || is_placed(work))
      return diag_declined(d, loc_none(),
                           "a transaction of %zu bytes; a launch has %zu",
                           bytes, limit);
  }
}

/* ---- beside a configuration that the array holds ---- */

static const struct preset *costs_of(const struct platform *at) {
  return at->preset ? at->preset : preset_of(at->device);
}

/* Seconds of a launch, and of the change before it. */
static double price_of(struct arena *a, const struct platform *at,
                       const struct npu_held *held, struct npu_result *r) {
  const struct preset *p = costs_of(at);
  struct command_list *l = command_list(a);
  struct change_data data;
  change_write(&held->configuration, 1, r->configuration, l, &data);
  r->change_seconds = change_seconds(l, &data, p);
  return r->blocking.predicted_cycles / (p->clock_ghz * 1e9) +
         r->change_seconds;
}

/* Whether a launch is worth no thought of its configuration, or would be cut
 * otherwise. */
static bool stays_best(const struct npu_means *by, const struct npu_result *r) {
  for (int t = 0; t < TENSORS; t++)
    if (by->most_bytes && r->program->transfer[t].bytes > by->most_bytes)
      return true;
  return r->change_seconds <= 0 || r->not_as_placed.kind != DIAG_NONE;
}

/* A result for the blocking that it has; why[] says, by the TEIR's tensors, why
 * some are packed. */
static bool make_result(const struct npu_means *by, struct arena *a,
                        const struct platform *at, const struct teir *work,
                        const char *const why[TENSORS], struct npu_result *r) {
  struct diag ignored = {0};
  const struct map_form *form = &r->blocking.form;
  for (int i = 0; i < TENSORS; i++) {
    int t = map_given_tensor(form, i);
    r->packed[t] = map_stays(&form->layout[i]) ? NULL : why[t];
  }
  name_rules(a, at, work, r);
  r->teir = map_schedule(a, at->device, work, &r->blocking, &ignored);
  return design(a, at, by->cores, r, &ignored) && make_images(a, r, &ignored);
}

/* The same blocks, tensors lying the same way, as in what the array holds. */
static bool compile_like(const struct npu_means *by, struct arena *a,
                         const struct platform *at, const struct teir *work,
                         double most_cycles, const struct npu_result *best,
                         struct npu_result *r) {
  const char *why[TENSORS];
  memset(r, 0, sizeof *r);
  if (is_placed(work) ||
      !map_choose_like(at, map_views(a, at->device, work), by->held->blocking,
                       &r->blocking) ||
      r->blocking.predicted_cycles >= most_cycles)
    return false;
  for (int t = 0; t < TENSORS; t++)
    why[t] = best->packed[t] ? best->packed[t] : "cost";
  r->beyond = best->beyond;
  return make_result(by, a, at, work, why, r);
}

/* On the grid of what the array holds. */
static bool compile_on_grid(const struct npu_means *by, struct arena *a,
                            const struct platform *at, const struct teir *work,
                            double most_cycles, struct npu_result *r) {
  struct platform same = *at;
  struct diag ignored = {0};
  same.grid = &by->held->blocking->form;
  memset(r, 0, sizeof *r);
  return compile_at(a, &same, work, by->most_bytes, most_cycles, true,
                    by->cores, r, &ignored) &&
         map_same_grid(same.grid, &r->blocking.form);
}

/* Whether the host copies a tensor that otherwise stays in place, which no
 * price here counts. */
static bool packs_more(const struct npu_result *r,
                       const struct npu_result *than) {
  for (int t = 0; t < TENSORS; t++)
    if (r->packed[t] && !than->packed[t])
      return true;
  return false;
}

/* Takes the other one if it costs less, with the change. */
static void take_cheaper(struct arena *a, const struct platform *at,
                         const struct npu_means *by, struct npu_result *r,
                         struct npu_result *other, double *price) {
  double now = price_of(a, at, by->held, other);
  bool fits = !by->most_transaction_bytes ||
              other->txn.length <= by->most_transaction_bytes;
  if (!fits || now >= *price || packs_more(other, r)) {
    npu_result_free(other);
    return;
  }
  double more = other->blocking.predicted_cycles - r->blocking.predicted_cycles,
         seconds = more / (costs_of(at)->clock_ghz * 1e9) + r->lost_seconds;
  double saved = r->saved_seconds + r->change_seconds - other->change_seconds;
  npu_result_free(r);
  *r = *other;
  r->lost_seconds = seconds > 0 ? seconds : 0;
  r->saved_seconds = saved;
  *price = now;
}

/* ---- with a blocking of other sizes ---- */

/* At 1 GHz, what a launch on all columns takes beside products and DRAM: of
 * 64x192x192 in bf16 (nputeir sim) 13,200 of 16,500 cycles; and a change to
 * other blocks, as in `run demo`. */
enum { START_CYCLES = 13000, CHANGE_CYCLES = 8000 };
/* Of what is possible; the best blocks of random sizes take 1.25 times that
 * (nputeir bench array random).  What launches lose is counted, and a plan is
 * made again when it is as much as a search takes (npu/run/launch.c). */
static const double near_enough = 1.75;

static bool is_whole(const struct npu_means *by, const struct teir_problem *p) {
  const int64_t *x = p->extent;
  double most = by->most_bytes ? (double)by->most_bytes : HUGE_VAL;
  return x[AXIS_C] == 1 &&
         matrix_bytes(x[AXIS_M], x[AXIS_K], p->type[IN0]) <= most &&
         matrix_bytes(x[AXIS_K], x[AXIS_N], p->type[IN1]) <= most &&
         matrix_bytes(x[AXIS_M], x[AXIS_N], p->type[OUT]) <= most;
}

/* Whether it packs tensors that descriptors can walk over. */
static bool packs_needlessly(const struct map_blocking *b,
                             const struct map_work *w) {
  for (int i = 0; i < TENSORS; i++) {
    int t = map_given_tensor(&b->form, i);
    if (!map_stays(&b->form.layout[i]) && w->layout[t].in_place)
      return true;
  }
  return false;
}

/* The cheapest blockings that are known, with their changes, in that order. */
struct known {
  struct map_blocking best[6];
  double cycles[6];
  int count;
};

static void add_known(struct known *x, const struct map_blocking *b,
                      double cycles) {
  const int most = sizeof x->best / sizeof *x->best;
  int i = x->count < most ? x->count++ : most - 1;
  if (x->cycles[i] > 0 && x->cycles[i] <= cycles)
    return;
  for (; i > 0 && x->cycles[i - 1] > cycles; i--) {
    x->best[i] = x->best[i - 1];
    x->cycles[i] = x->cycles[i - 1];
  }
  x->best[i] = *b;
  x->cycles[i] = cycles;
}

/* False: none takes less than `most` cycles. */
static bool find_known(const struct npu_means *by, struct arena *a,
                       const struct platform *at, const struct teir *work,
                       const struct teir_problem *p, double most,
                       struct known *x) {
  static const struct map_form in_place = {
      .layout = {{.in_place = true}, {.in_place = true}, {.in_place = true}}};
  struct map_blocking *known, b;
  struct map_views *views = map_views(a, at->device, work);
  const struct map_work *w = map_view(views, &in_place);
  const struct map_blocking *held = by->held->blocking;
  int count = npu_known_like(by->known, a, p, &known);
  if (!count || !w)
    return false;
  for (int i = 0; i < count; i++) {
    struct map_blocking here = known[i];
    map_form_lie(&here.form, w->layout);
    if ((!map_price_like(at, views, &here, &b) &&
         (packs_needlessly(&known[i], w) ||
          !map_price_like(at, views, &known[i], &b))) ||
        b.predicted_cycles > most)
      continue;
    bool same = b.block_m == held->block_m && b.block_n == held->block_n &&
                b.block_k == held->block_k && b.group_m == held->group_m;
    add_known(x, &b, b.predicted_cycles + (same ? 0 : CHANGE_CYCLES));
  }
  return x->count > 0;
}

/* Whether cores have a program for it: to make one takes most of the time of a
 * search (nputeir bench sizes). */
static bool has_cores(const struct npu_means *by, struct arena *a,
                      const struct platform *at, const struct teir *work,
                      const struct map_blocking *b) {
  struct diag ignored = {0};
  const struct teir *t = map_schedule(a, at->device, work, b, &ignored);
  const struct tile_program *p =
      t ? map_program(a, t, at->device, &ignored) : NULL;
  return p && core_cache_has(by->cores, p);
}

/* The first one with a program or, if none has, the cheapest. */
static const struct map_blocking *choose_known(const struct npu_means *by,
                                               struct arena *a,
                                               const struct platform *at,
                                               const struct teir *work,
                                               const struct known *x) {
  for (int i = 0; i < x->count && by->cores; i++)
    if (has_cores(by, a, at, work, &x->best[i]))
      return &x->best[i];
  return &x->best[0];
}

static bool compile_known(const struct npu_means *by, struct arena *a,
                          const struct platform *at, const struct teir *work,
                          struct teir_problem *p, struct npu_result *r) {
  static const char *const why[TENSORS] = {"stride", "stride", "stride"};
  const struct preset *costs = costs_of(at);
  double clock = costs->clock_ghz * 1e9,
         least = map_bound_cycles(costs, p) + START_CYCLES * costs->clock_ghz;
  struct known x = {.count = 0};
  memset(r, 0, sizeof *r);
  if (is_placed(work) || !is_whole(by, p) ||
      !find_known(by, a, at, work, p, near_enough * least, &x))
    return false;
  r->blocking = *choose_known(by, a, at, work, &x);
  if (!make_result(by, a, at, work, why, r))
    return false;
  price_of(a, at, by->held, r);
  double more = r->blocking.predicted_cycles - least;
  r->lost_seconds = more > 0 ? more / clock : 0;
  r->known = true;
  return !by->most_transaction_bytes ||
         r->txn.length <= by->most_transaction_bytes;
}

static bool search_beside(const struct npu_means *by, struct arena *a,
                          const struct platform *at, const char *platform,
                          const struct teir *work, struct npu_result *r,
                          struct diag *d) {
  if (!compile_best(by, a, platform, work, r, d))
    return false;
  if (!by->held)
    return true;
  struct npu_result *other = arena_alloc(a, sizeof *other);
  double price = price_of(a, at, by->held, r),
         most = r->blocking.predicted_cycles +
                r->change_seconds * costs_of(at)->clock_ghz * 1e9;
  if (stays_best(by, r))
    return true;
  bool same = map_same_grid(&by->held->blocking->form, &r->blocking.form);
  if (!same && compile_on_grid(by, a, at, work, most, other))
    take_cheaper(a, at, by, r, other, &price);
  else if (!same)
    npu_result_free(other);
  if (!by->held->same_types)
    return true;
  if (compile_like(by, a, at, work, most, r, other))
    take_cheaper(a, at, by, r, other, &price);
  else
    npu_result_free(other);
  return true;
}

bool npu_compile_by(const struct npu_means *by, struct arena *a,
                    const char *platform, const struct teir *work,
                    struct npu_result *r, struct diag *d) {
  struct platform at;
  struct teir_problem p;
  memset(r, 0, sizeof *r);
  if (!platform_find(platform, &at, d) || !teir_problem_read(work, &p, d))
    return false;
  p.acc = map_sum_type(at.device, &p);
  if (by->known && by->held) {
    if (compile_known(by, a, &at, work, &p, r))
      return true;
    npu_result_free(r);
  }
  if (!search_beside(by, a, &at, platform, work, r, d))
    return false;
  if (by->known && r->blocking.block_m)
    npu_known_add(by->known, &p, &r->blocking);
  return true;
}

void npu_result_free(struct npu_result *r) {
  text_free(&r->cdo);
  text_free(&r->xclbin);
  text_free(&r->txn);
}
