/* choose.c -- the array as a machine whose blocks teir_search prices, by what
 * cost.c says of rounds and launch.c of all; what fits, in which places, is
 * memory.c's and panel.c's.
 *
 * That prices thousands of blockings, by a formula that takes kernels to be
 * alike.  The best of them are then priced again, with the schedule of their
 * kernel set against the banks and the channels of a design
 * (kernel_gemm_loaded), until the next one is dearer by the formula alone.
 */
#include "choose.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_FLAT = 256,          /* of n where two parts of m meet many of n */
  WORTH_MEASURING = 50000, /* cycles of a launch */
  WORTH_MORE = 200000,     /* to measure many */
  MEASURED = 4,            /* kernels; each takes milliseconds */
  MANY_MEASURED = SHORT_LIST,
  ALIKE = 2, /* of the list: blocks that differ in k alone */
};
/* The formula's error: others are not worth measuring. */
static const double doubtful = 1.12;
/* And of kernels by lanes, that of those in the list. */
static const double doubtful_lanes = 1.06;

/* Whether blocks cannot be as good as the best ones so far. */
static bool is_poor(const struct array *s, const struct teir_blocks *x,
                    double best) {
  best = best < s->most ? best : s->most;
  return array_least_cycles(s, x) >= best * doubtful;
}

/* The blocking that is tried, large: only what changes is set. */
static int64_t depth(void *self, const struct teir_blocks *x, double best) {
  struct array *s = self;
  struct map_blocking *b = &s->tried;
  if (is_poor(s, x, best))
    return 0;
  b->block_m = (int)x->block[TEIR_M];
  b->block_n = (int)x->block[TEIR_N];
  b->block_k = s->least.k;
  b->group_m = x->form;
  int64_t most = array_most_k(s->at->device, s->problem, b);
  if (!most)
    return -1;
  return !array_cut_sides(s, b) ? 0 : most < MAX_DEPTH ? most : MAX_DEPTH;
}

static bool is_alike(const struct map_blocking *a,
                     const struct map_blocking *b) {
  return a->block_m == b->block_m && a->block_n == b->block_n &&
         a->group_m == b->group_m;
}

/* Into the list, by its price, in the place of the last one, or of the last of
 * many that are like it. */
static void keep(struct array *s, const struct map_blocking *b) {
  int alike = 0, last = s->count < SHORT_LIST ? s->count : SHORT_LIST - 1;
  for (int i = 0; i < s->count; i++)
    if (is_alike(&s->best[i], b) && ++alike == ALIKE)
      last = i;
  if (last < s->count && s->best[last].predicted_cycles <= b->predicted_cycles)
    return;
  s->count += last == s->count;
  for (; last > 0 && s->best[last - 1].predicted_cycles > b->predicted_cycles;
       last--)
    s->best[last] = s->best[last - 1];
  s->best[last] = *b;
}

/* Cycles of a launch in blocks of which depth was asked last, s->tried then. */
static double price_tried(struct array *s, const struct teir_blocks *x,
                          double best) {
  const struct device *dev = s->at->device;
  if (is_poor(s, x, best))
    return HUGE_VAL;
  struct map_blocking *b = &s->tried;
  assert(b->block_m == x->block[TEIR_M] && b->block_n == x->block[TEIR_N] &&
         b->group_m == x->form);
  b->block_k = (int)x->block[TEIR_K];
  struct map_panel panel;
  struct map_core core;
  if (!array_cut_k(s, b) || !array_fits(dev, s->problem, b, &core))
    return HUGE_VAL;
  assert(b->rounds_m >= 1 && b->rounds_n >= 1 && b->steps_k >= 1);
  double round = array_round_cycles(dev, s->problem, s, b, &core,
                                    array_most_ways(s)),
         least = array_ends_cycles(s, b) +
                 (double)b->rounds_m * b->rounds_n * round;
  if (least >= (best < s->most ? best : s->most) * doubtful ||
      !map_mem_panel(dev, s->problem, b, &panel))
    return HUGE_VAL;
  b->predicted_cycles = array_launch_cycles(s, b, &core, &panel);
  return b->predicted_cycles;
}

/* The same; the cheapest are kept. */
static double price(void *self, const struct teir_blocks *x, double best) {
  struct array *s = self;
  double cycles = price_tried(s, x, best);
  if (cycles < HUGE_VAL)
    keep(s, &s->tried);
  return cycles;
}

/* Measured, with less k where a kernel of so much is too long. */
static double measure(struct array *s, struct map_blocking *b) {
  double cycles = array_measured_cycles(s, b);
  for (int k = b->block_k / 2; cycles == HUGE_VAL && k > s->least.k; k /= 2) {
    const struct teir_blocks x = {.block = {[TEIR_M] = b->block_m,
                                            [TEIR_N] = b->block_n,
                                            [TEIR_K] = k - k % s->least.k},
                                  .form = b->group_m};
    if (depth(s, &x, HUGE_VAL) <= 0 || price_tried(s, &x, HUGE_VAL) == HUGE_VAL)
      return HUGE_VAL;
    *b = s->tried;
    cycles = array_measured_cycles(s, b);
  }
  return cycles;
}

/* How many kernels are worth measuring; of those by lanes, which may be too
 * long, one that is not. */
static int worth_measuring(const struct array *s, double cycles) {
  return cycles < WORTH_MEASURING ? s->lanes
         : cycles < WORTH_MORE    ? MEASURED
                                  : MANY_MEASURED;
}

/* The cheapest of the list, measured where it may matter; those whose kernel is
 * too long do not count, unless all are: what becomes of that a design says. */
static struct map_blocking choose(struct array *s) {
  const struct map_blocking first = s->best[0];
  double least = HUGE_VAL;
  int most = worth_measuring(s, first.predicted_cycles), best = -1;
  const double error = s->lanes ? doubtful_lanes : 1;
  s->most = HUGE_VAL; /* of all that is priced from now on */
  s->scratch = arena_open();
  for (int i = 0;
       i < s->count && most > 0 && s->best[i].predicted_cycles < least * error;
       i++) {
    struct map_blocking *b = &s->best[i];
    b->predicted_cycles = measure(s, b);
    most -= b->predicted_cycles < HUGE_VAL;
    if (b->predicted_cycles < least) {
      least = b->predicted_cycles;
      best = i;
    }
  }
  arena_close(s->scratch);
  return best < 0 ? first : s->best[best];
}

bool platform_find(const char *name, struct platform *at, struct diag *d) {
  at->preset = preset_find(name);
  at->device = device_find(at->preset ? at->preset->device : name);
  at->grid = NULL;
  return at->device ||
         diag_error(d, loc_none(), "there is no device or preset '%s'", name);
}

/* The smallest distance by which blocks may move along m or n. */
static int64_t unit_of(const struct teir_problem *p,
                       const struct map_layout x[TENSORS], int input) {
  enum { WORD = 4 };
  bool first = input == IN0; /* m is the first role of in0 and of out */
  int64_t unit = 1;
  const int tensor[] = {input, OUT};
  for (int i = 0; i < 2; i++)
    if (x[tensor[i]].in_place && x[tensor[i]].turned == first &&
        WORD / dtype_bytes(p->type[tensor[i]]) > unit)
      unit = WORD / dtype_bytes(p->type[tensor[i]]);
  return unit;
}

/* The axis with which a role's blocks begin: a contiguous one, else the
 * longest.
 */
static int begin_of(const struct map_work *w, enum axis_role role) {
  int best = 0;
  for (int t = 0; t < TENSORS; t++)
    if (w->contiguous[t] >= 0 && map_roles[t][!w->layout[t].turned] == role)
      return w->contiguous[t];
  for (int i = 1; i < w->count[role]; i++)
    if (w->axis[role][i].extent >= w->axis[role][best].extent)
      best = i;
  return best;
}

/* The machine for tensors that lie so, m and n as they come; the problem has
 * been checked.  False: no blocks fit. */
static bool prepare(const struct platform *at, const struct teir_problem *p,
                    const struct map_form *form, const struct map_work *work,
                    int begin_k, int more_k, double most, struct array *s) {
  *s = (struct array){
      .at = at,
      .problem = p,
      .form = form,
      .work = work,
      .more_k = more_k,
      .most = most,
      .tried = {.form = *form},
      .grid = map_grid_of(at->device, form),
      .unit = {unit_of(p, form->layout, IN0), unit_of(p, form->layout, IN1)}};
  for (int role = AXIS_M; work && role < AXIS_ROLES; role++)
    s->begins[role] = begin_of(work, (enum axis_role)role);
  if (begin_k >= 0)
    s->begins[AXIS_K] = begin_k;
  const struct isa *isa = map_isa(at->device);
  if (p->finish.bias == AXIS_M ||
      (p->finish.bias && (s->grid.split > 1 || s->grid.across)))
    return false; /* in1's blocks bring it, to all rows of cores */
  if (!kernel_shape(isa, p->type[IN0], p->type[IN1], p->acc, &s->mac) ||
      !kernel_gemm_even(isa, p->type[IN0], p->type[IN1], p->acc, false,
                        &s->even[0]) ||
      !kernel_gemm_even(isa, p->type[IN0], p->type[IN1], p->acc, true,
                        &s->even[1]) ||
      !kernel_gemm_unit(isa, p->type[IN0], p->type[IN1], p->acc, &s->least))
    return false;
  s->turned = array_turned_cost(at->device, p, &s->mac, form->layout);
  s->strip = array_strip_cost(at->device, p);
  s->lanes = kernel_gemm_by_lanes(isa, p->type[IN0], p->type[IN1], p->acc);
  return true;
}

/* The best blocks; false: there are none that take `most` cycles or less. */
static bool search(const struct platform *at, const struct teir_problem *p,
                   const struct map_form *form, const struct map_work *work,
                   int begin_k, int more_k, double most, struct array *s) {
  if (!prepare(at, p, form, work, begin_k, more_k, most, s))
    return false;
  bool flat = s->grid.split > 1;
  const struct teir_model model = {
      .self = s,
      .unit = {s->least.m, s->least.n, s->least.k},
      .most = {MAX_BLOCK, flat ? MAX_FLAT : MAX_BLOCK},
      .forms = 2, /* blocks of out at once */
      .largest_first = true,
      .depth = depth,
      .price = price};
  struct teir_found found = teir_search(&model);
  assert(found.cost == HUGE_VAL ||
         (s->count > 0 && s->best[0].predicted_cycles == found.cost));
  return found.cost < HUGE_VAL;
}

/* The problem as rows and columns see it where they are swapped. */
static struct teir_problem transposed(const struct teir_problem *p) {
  struct teir_problem t = *p;
  t.extent[AXIS_M] = p->extent[AXIS_N];
  t.extent[AXIS_N] = p->extent[AXIS_M];
  t.type[IN0] = p->type[IN1];
  t.type[IN1] = p->type[IN0];
  if (p->finish.bias)
    t.finish.bias = AXIS_M + AXIS_N - p->finish.bias;
  return t;
}

/* Grids beside that of all rows and columns, and when they may be better: few
 * rows of m, so that both channels of a column had better bring in1; little
 * work, which waits for the tasks of columns; less than a small matrix of m,
 * and of n, too, of which two cores cannot have a share; or more columns than
 * rows, whose mem tiles keep more of in0, and much work, also with a row of
 * cores that makes block floats for the others. */
enum { ACROSS = 7, CONVERTS, GRIDS, FORMS = 2 * GRIDS };
enum { LITTLE = 1 << 21 }; /* multiplies of work that may wait for tasks */
enum { FEW_ROWS = 512 };
static bool set_grid(const struct platform *at, int grid,
                     const struct teir_problem *p, struct map_form *form) {
  enum { FEW_CORES = 2, SMALL = 8 };
  enum { MUCH = 1 << 26 }; /* less waits for pushes */
  const struct device *dev = at->device;
  const int64_t *x = p->extent;
  bool much = x[AXIS_M] * x[AXIS_N] * x[AXIS_K] > LITTLE;
  int m = grid == 1 ? dev->core_rows / 2 : FEW_CORES, n = grid == 1
                                                              ? dev->columns * 2
                                                          : much ? dev->columns
                                                                 : FEW_CORES;
  struct map_grid g;
  if (!grid)
    return true;
  if (grid == ACROSS || grid == CONVERTS) {
    form->across = true;
    if (grid == CONVERTS) {
      form->cores_m = dev->columns;
      form->cores_n = dev->core_rows - 1;
      form->converts = map_converts(dev, p, form);
      if (!form->converts)
        return false;
    }
    return x[AXIS_C] == 1 && dev->columns > dev->core_rows &&
           x[AXIS_M] * x[AXIS_N] * x[AXIS_K] >
               (grid == CONVERTS ? MUCH : LITTLE);
  }
  if (grid >= 3) {
    const int cores_n[] = {dev->columns, 2 * dev->columns, FEW_CORES, 1};
    form->cores_m = 1;
    form->cores_n = cores_n[grid - 3];
    return x[AXIS_M] < SMALL && (form->cores_n > 1 || x[AXIS_N] < SMALL) &&
           map_grid(dev, 1, form->cores_n, false, &g);
  }
  if (x[AXIS_C] > 1 || !map_grid(dev, m, n, false, &g))
    return false;
  form->cores_m = m;
  form->cores_n = n;
  return grid == 1 ? x[AXIS_M] <= FEW_ROWS && x[AXIS_M] < x[AXIS_N]
                   : !much || x[AXIS_M] < 2 * SMALL;
}

/* Padded blocks that the host makes, one behind the other. */
struct blocked {
  struct teir_problem turned; /* the problem, if columns are those of m */
  struct map_form few;
  struct array array;
};

/* On all rows and columns.  A bias along m makes columns of m. */
static bool search_blocked(const struct platform *at,
                           const struct teir_problem *p, struct blocked *x,
                           struct diag *d) {
  static const struct map_form blocked, swapped = {.swapped = true};
  const struct map_form *form = &blocked;
  if (p->finish.bias == AXIS_M) {
    x->turned = transposed(p);
    p = &x->turned;
    form = &swapped;
  }
  return array_check_types(at, p, d) && array_check_extents(p, d) &&
         (search(at, p, form, NULL, -1, 0, HUGE_VAL, &x->array) ||
          diag_declined(d, loc_none(), "no blocks of %s x %s -> %s fit a core",
                        dtype_name(p->type[IN0]), dtype_name(p->type[IN1]),
                        dtype_name(p->type[OUT])));
}

/* On a grid for little work, if that takes fewer cycles. */
static void search_few(const struct platform *at, struct blocked *x) {
  enum { FEW = 2 };
  struct array *s = &x->array, few;
  const struct teir_problem *p = s->problem;
  x->few = *s->form;
  if (set_grid(at, FEW, p, &x->few) &&
      (!at->grid || map_same_grid(at->grid, &x->few)) &&
      search(at, p, &x->few, NULL, -1, 0, s->best[0].predicted_cycles, &few) &&
      few.best[0].predicted_cycles < s->best[0].predicted_cycles)
    *s = few;
}

bool map_choose(const struct platform *at, const struct teir_problem *p,
                struct map_blocking *best, struct diag *d) {
  struct blocked x;
  if (!search_blocked(at, p, &x, d))
    return false;
  *best = choose(&x.array);
  return true;
}

/* The transposed product. */
static void swap(struct map_work *w) {
  struct map_work old = *w;
  w->problem.extent[AXIS_M] = old.problem.extent[AXIS_N];
  w->problem.extent[AXIS_N] = old.problem.extent[AXIS_M];
  if (old.problem.finish.bias)
    w->problem.finish.bias = AXIS_M + AXIS_N - old.problem.finish.bias;
  w->count[AXIS_M] = old.count[AXIS_N];
  w->count[AXIS_N] = old.count[AXIS_M];
  memcpy(w->axis[AXIS_M], old.axis[AXIS_N], sizeof *w->axis);
  memcpy(w->axis[AXIS_N], old.axis[AXIS_M], sizeof *w->axis);
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < w->count[role]; i++) {
      int64_t *stride = w->axis[role][i].stride_bytes, in0 = stride[IN0];
      stride[IN0] = stride[IN1];
      stride[IN1] = in0;
    }
  for (int i = 0; i < TENSORS; i++) {
    int other = i < OUT ? IN0 + IN1 - i : OUT;
    w->problem.type[i] = old.problem.type[other];
    w->contiguous[i] = old.contiguous[other];
    w->layout[i] = old.layout[other];
    w->layout[i].turned = w->layout[i].in_place && !w->layout[i].turned;
  }
}

/* A product or its transpose, with the best blocks for how tensors lie. */
struct candidate {
  struct map_work work;
  struct map_form form;
  struct array array;
};

static double cost_of(const struct candidate *c) {
  return c ? c->array.best[0].predicted_cycles : HUGE_VAL;
}

/* The best of the product and its transpose on all grids, whatever axis blocks
 * of k begin with; NULL: none. */
static struct candidate *search_all(struct arena *a, const struct platform *at,
                                    const struct map_work *w) {
  struct candidate *best = NULL;
  bool free = true;
  for (int t = 0; t < TENSORS; t++)
    free &=
        w->contiguous[t] < 0 || map_roles[t][!w->layout[t].turned] != AXIS_K;
  static const int more[] = {0, 2, 4, 8};
  int axes = free ? w->count[AXIS_K] : 1,
      mixes = w->count[AXIS_K] > 1 ? (int)(sizeof more / sizeof *more) : 1;
  for (int i = 0; i < FORMS * axes * mixes; i++) {
    struct candidate *c = arena_alloc(a, sizeof *c);
    int grid = i / 2 % GRIDS, axis = i / FORMS % axes;
    c->work = *w;
    if (i % 2)
      swap(&c->work);
    c->form = (struct map_form){.swapped = i % 2};
    memcpy(c->form.layout, c->work.layout, sizeof c->form.layout);
    if (set_grid(at, grid, &c->work.problem, &c->form) &&
        (!at->grid || map_same_grid(at->grid, &c->form)) &&
        search(at, &c->work.problem, &c->form, &c->work, free ? axis : -1,
               more[i / FORMS / axes], cost_of(best), &c->array) &&
        cost_of(c) < cost_of(best))
      best = c;
  }
  return best;
}

/* Work as a blocking's rows and columns see it, if tensors can lie so. */
static bool view_like(struct map_views *v, const struct map_form *form,
                      struct map_work *w) {
  const struct map_work *view = map_view(v, form);
  if (!view)
    return false;
  *w = *view;
  if (form->swapped)
    swap(w);
  for (int t = 0; t < TENSORS; t++)
    if (w->layout[t].in_place != form->layout[t].in_place ||
        w->layout[t].turned != form->layout[t].turned)
      return false;
  return true;
}

/* Priced by the formula; NULL: they do not suit the work. */
static struct candidate *price_like(struct arena *a, const struct platform *at,
                                    struct map_views *v,
                                    const struct map_blocking *like) {
  struct diag ignored = {0};
  struct candidate *c = arena_alloc(a, sizeof *c);
  const struct map_form *form = &like->form;
  if (form->apart || !view_like(v, form, &c->work))
    return NULL;
  const struct teir_problem *p = &c->work.problem;
  c->form = (struct map_form){.swapped = form->swapped,
                              .cores_m = form->cores_m,
                              .cores_n = form->cores_n,
                              .across = form->across,
                              .converts = form->converts};
  memcpy(c->form.layout, form->layout, sizeof form->layout);
  const struct teir_blocks blocks = {.block = {[TEIR_M] = like->block_m,
                                               [TEIR_N] = like->block_n,
                                               [TEIR_K] = like->block_k},
                                     .form = like->group_m};
  if (p->extent[AXIS_C] > 1 || !array_check_types(at, p, &ignored) ||
      !array_check_extents(p, &ignored) ||
      !prepare(at, p, &c->form, &c->work, -1, 0, HUGE_VAL, &c->array) ||
      depth(&c->array, &blocks, HUGE_VAL) <= 0 ||
      price(&c->array, &blocks, HUGE_VAL) == HUGE_VAL)
    return NULL;
  return c;
}

/* The blocking that `pick` takes of them. */
static bool pick_like(const struct platform *at, struct map_views *v,
                      const struct map_blocking *like,
                      struct map_blocking (*pick)(struct array *),
                      struct map_blocking *b) {
  struct arena *a = arena_open();
  struct candidate *c = price_like(a, at, v, like);
  bool good = c;
  if (good)
    *b = pick(&c->array);
  arena_close(a);
  return good;
}

bool map_choose_like(const struct platform *at, struct map_views *v,
                     const struct map_blocking *like, struct map_blocking *b) {
  return pick_like(at, v, like, choose, b);
}

static struct map_blocking first_of(struct array *s) { return s->best[0]; }

bool map_price_like(const struct platform *at, struct map_views *v,
                    const struct map_blocking *like, struct map_blocking *b) {
  return pick_like(at, v, like, first_of, b);
}

static int64_t tensor_bytes(const struct teir_problem *p, int tensor) {
  return p->extent[AXIS_C] * p->extent[map_roles[tensor][0]] *
         p->extent[map_roles[tensor][1]] * dtype_bytes(p->type[tensor]);
}

/* Cycles for the host to lay tensors otherwise. */
static double packing_cycles(const struct platform *at,
                             const struct teir_problem *p, unsigned stay) {
  static const double bytes_per_second = 8e9;
  double ghz = at->preset ? at->preset->clock_ghz : 1, bytes = 0;
  for (int t = 0; t < TENSORS; t++)
    if (!(stay >> t & 1))
      bytes += (double)tensor_bytes(p, t);
  return bytes / bytes_per_second * ghz * 1e9;
}

/* What was found out about a tensor that stays, by the TEIR's tensors. */
struct stay {
  bool words;  /* descriptors can walk over it */
  bool blocks; /* of some of its blocks, which end with it */
  bool tried;  /* no design came of these */
};

static void name_reasons(const struct map_form *form,
                         const struct stay stay[TENSORS],
                         const char *why[TENSORS]) {
  for (int i = 0; i < TENSORS; i++) {
    int t = map_given_tensor(form, i);
    why[t] = map_stays(&form->layout[i]) ? NULL
             : stay[t].tried             ? "descriptor"
             : !stay[t].words            ? "stride"
             : !stay[t].blocks           ? "extent"
                                         : "cost";
  }
}

/* Beside one input that stays the other one may be aligned, so that blocks of k
 * need not divide K: whether the best blocks so, *b, are better than these. */
static bool choose_aligned(struct arena *a, const struct platform *at,
                           const struct teir *teir, unsigned stays,
                           struct map_blocking *b) {
  bool stay[TENSORS], aligned[TENSORS] = {false};
  struct diag ignored = {0};
  struct map_work w;
  for (int t = 0; t < TENSORS; t++)
    stay[t] = stays >> t & 1;
  if (!stay[OUT] || stay[IN0] == stay[IN1])
    return false;
  aligned[stay[IN0] ? IN1 : IN0] = true;
  if (!map_work_read_aligned(a, at->device, teir, stay, aligned, &w, &ignored))
    return false;
  for (int t = 0; t < TENSORS; t++)
    if (!w.layout[t].in_place)
      return false;
  struct candidate *c = search_all(a, at, &w);
  if (cost_of(c) >= b->predicted_cycles)
    return false;
  struct map_blocking other = choose(&c->array);
  bool better = other.predicted_cycles < b->predicted_cycles;
  if (better)
    *b = other;
  return better;
}

/* Blocks for tensors of which some stay; NULL: none. */
struct option {
  struct array *array;
  double packing; /* of the others, in cycles */
};

static double option_cost(const struct option *o) {
  return o->array ? o->array->best[0].predicted_cycles + o->packing : HUGE_VAL;
}

/* The best of them by the formula, unless its kernel turns out dearer than that
 * has it and another one, so measured, is much better. */
static unsigned choose_option(struct option option[], unsigned count,
                              struct map_blocking *best) {
  const double much = 1.1;
  unsigned chosen = 0;
  double least = HUGE_VAL;
  for (;;) {
    unsigned next = 0;
    for (unsigned i = 1; i < count; i++)
      if (option_cost(&option[i]) < option_cost(&option[next]))
        next = i;
    if (much * option_cost(&option[next]) >= least)
      return chosen;
    struct map_blocking b = choose(option[next].array);
    double cost = b.predicted_cycles + option[next].packing;
    if (much * cost < least) {
      least = cost;
      chosen = next;
      *best = b;
    }
    option[next].array = NULL;
  }
}

/* Blocks that end with the tensors may be poor ones, as where K is eight times
 * a prime; then some had better be packed, which costs the host time. */
bool map_choose_in_place(struct arena *a, const struct platform *at,
                         const struct teir *teir, unsigned *tried,
                         struct map_blocking *best, const char *why[TENSORS],
                         struct diag *d) {
  enum { ALL = 7, SETS = 8 };
  struct blocked *blocked = arena_alloc(a, sizeof *blocked);
  struct teir_problem p;
  if (!teir_problem_read(teir, &p, d))
    return false;
  p.acc = map_sum_type(at->device, &p);
  if (!search_blocked(at, &p, blocked, d))
    return false;
  search_few(at, blocked);
  struct option option[SETS] = {{&blocked->array, packing_cycles(at, &p, 0)}};
  struct map_blocking apart = {.predicted_cycles = HUGE_VAL};
  unsigned set = 0;
  double least = blocked->array.best[0].predicted_cycles,
         cost = least + packing_cycles(at, &p, 0);
  /* little work may take fewer cycles on fewer cores, and few rows on a grid
   * of other sides */
  double work = (double)p.extent[AXIS_M] * (double)p.extent[AXIS_N] *
                (double)p.extent[AXIS_K];
  bool few = p.extent[AXIS_M] <= FEW_ROWS || p.extent[AXIS_N] <= FEW_ROWS;
  if (few && at->preset)
    least = fmin(least, map_bound_cycles(at->preset, &p));
  least = work > LITTLE ? least : 0;
  struct stay can[TENSORS] = {{0}};
  bool batch = p.extent[AXIS_C] > 1;
  for (unsigned i = ALL; i > 0 && !(batch && set); i--) {
    static const unsigned order[SETS] = {0, 4, 2, 1, 6, 5, 3, 7};
    struct map_work w;
    unsigned stays = order[i];
    bool stay[TENSORS], all = true;
    for (int t = 0; t < TENSORS; t++)
      can[t].tried |= (stay[t] = stays >> t & 1) && *tried >> stays & 1;
    double packing = packing_cycles(at, &p, stays);
    if (*tried >> stays & 1 || (stays != ALL && least + packing > cost))
      continue;
    if (!map_work_read(a, at->device, teir, stay, &w, d))
      return false;
    for (int t = 0; t < TENSORS; t++) {
      all &= w.layout[t].in_place == stay[t];
      can[t].words |= w.layout[t].in_place;
    }
    struct candidate *c = all ? search_all(a, at, &w) : NULL;
    for (int t = 0; t < TENSORS; t++)
      can[t].blocks |= stay[t] && c;
    bool whole = batch && stays == ALL;
    if (whole && all && (!at->grid || at->grid->apart))
      array_price_apart(at, &w, &apart);
    if (c)
      option[stays] = (struct option){&c->array, packing};
    if (c && (whole || cost_of(c) + packing < cost)) {
      cost = cost_of(c) + packing;
      set = stays;
    }
    if (whole && apart.predicted_cycles < cost_of(c))
      set = stays;
  }
  if (set == ALL && apart.predicted_cycles < option_cost(&option[ALL]))
    *best = apart;
  else if (batch)
    *best = choose(option[set].array);
  else
    set = choose_option(option, SETS, best);
  unsigned with = SETS + set;
  bool aligned =
      !(*tried >> with & 1) && choose_aligned(a, at, teir, set, best);
  *tried |= 1u << (aligned ? with : set);
  name_reasons(&best->form, can, why);
  return true;
}
