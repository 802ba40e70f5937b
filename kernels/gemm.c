/* gemm.c -- kernel_gemm: checks what is asked for, has the run traced,
 * scheduled and rolled up. */
#include "device_most.h"
#include "kernel_gemm.h"

#include <assert.h>
#include <limits.h>

enum {
  GOOD_ENOUGH = 32,    /* cycles without a multiply: ramp and drain */
  LONG_ENOUGH = 6000,  /* cycles scheduled: no further try .. */
  WELL_ENOUGH = 64,    /* .. if no more than one in so many has no multiply */
  WORTH_YIELDING = 32, /* a DMA that waits costs more than one in so many */
  ROUNDS = 2           /* that the schedule of a loop over steps shows */
};

static int max(int a, int b) { return a > b ? a : b; }

static bool check_extent(struct diag *d, const char *name, int value,
                         int unit) {
  if (value > 0 && value % unit == 0)
    return true;
  return diag_error(d, loc_none(),
                    "gemm block: %s is %d; it has to be a positive multiple "
                    "of %d",
                    name, value, unit);
}

static bool check_memory(const struct kernel_gemm *k, struct diag *d) {
  enum { MEMORY = DEVICE_MOST_CORE_BYTES };
  int64_t bytes = kernel_gemm_bytes(k, 0) + kernel_gemm_bytes(k, 1) +
                  (int64_t)k->m * k->n * dtype_bytes(k->out);
  if (k->m <= MEMORY && k->k <= MEMORY && k->n <= MEMORY && bytes <= MEMORY)
    return true;
  return diag_error(d, loc_none(),
                    "gemm block: A, B and C of %d x %d x %d take %lld bytes; "
                    "a tile has %d",
                    k->m, k->k, k->n, (long long)bytes, MEMORY);
}

static bool check_options(const struct kernel_gemm *k,
                          const struct gemm_kind *g, struct diag *d) {
  bool shifts = g->store != MEM_ST_AM && g->store != MEM_ST_CONV;
  if (k->shift < 0 || k->shift > 31 || (k->shift && !shifts))
    return diag_error(
        d, loc_none(), "gemm block: shift is %d; results of type %s take %s",
        k->shift, dtype_name(k->out), shifts ? "0 to 31" : "none");
  if (g->blocks && (k->ta || k->tb))
    return diag_error(d, loc_none(),
                      "gemm block: A and B of block floats lie in one layout "
                      "only");
  if (g->lanes && k->relu)
    return diag_error(d, loc_none(),
                      "gemm block: no relu beside products by lanes");
  if ((unsigned)k->rounding >= KERNEL_ROUNDINGS ||
      (unsigned)k->saturation >= KERNEL_SATURATIONS)
    return diag_error(d, loc_none(),
                      "gemm block: no such rounding (%d) or "
                      "saturation (%d)",
                      k->rounding, k->saturation);
  return true;
}

static const struct gemm_kind *check(const struct kernel_gemm *k,
                                     struct diag *d) {
  const struct gemm_kind *g = kernel_gemm_kind(k);
  if (!g) {
    diag_error(d, loc_none(), "gemm block: no kernel for %s x %s -> %s",
               dtype_name(k->in0), dtype_name(k->in1), dtype_name(k->out));
    return NULL;
  }
  const struct kernel_shape unit = kernel_kind_unit(g);
  if (!check_extent(d, "m", k->m, unit.m) ||
      !check_extent(d, "k", k->k, unit.k) ||
      !check_extent(d, "n", k->n, unit.n) || !check_memory(k, d) ||
      !check_options(k, g, d))
    return NULL;
  return g;
}

/* What is scheduled: a product, or steps of which so many come before the loop.
 */
struct work {
  const struct kernel_gemm *gemm;
  const struct kernel_steps *steps; /* or NULL */
  const struct gemm_kind *kind;
  struct arena *scratch; /* while a trace is placed */
  int before_loop;
  bool counted; /* steps->count is the caller's */
};

/* Ways to place a trace.  Those that leave cycles to a DMA come first, and of
 * these the one that keeps C and the input in its banks apart. */
struct attempt {
  enum gemm_phase phase;
  bool yields, joined;
};
enum { ATTEMPTS = 5 };

/* In place of the trace before: what lasts as long is in the scratch, the
 * operations are in `a`. */
static bool trace_gemm(struct arena *a, const struct work *w,
                       enum gemm_phase phase, struct trace *t, struct diag *d) {
  arena_clear(w->scratch);
  *t = kernel_trace_open(kernel_machine(w->gemm->isa), w->scratch, a, d);
  if (w->kind->lanes)
    kernel_trace_lanes(t, w->gemm, w->kind);
  else
    kernel_trace_gemm(t, w->gemm, w->steps, w->before_loop, w->kind, phase);
  return kernel_trace_address(t);
}

static bool schedule_gemm(struct trace *t, const struct work *w,
                          const struct attempt *by, struct schedule *schedule,
                          int *idle) {
  if (!w->kind->lanes)
    kernel_trace_yield(t, by->yields, by->joined);
  if (!kernel_sched_place(t, schedule))
    return false;
  schedule->trips = !w->before_loop ? 0
                    : w->counted    ? ROUNDS
                                    : w->steps->count - w->before_loop;
  schedule->counted = w->counted;
  if (w->gemm->loops != KERNEL_LOOPS_CHOSEN)
    schedule->branches = w->gemm->loops == KERNEL_LOOPS_BRANCH;
  *idle = schedule->count - t->mac_count;
  return true;
}

static int list_attempts(const struct work *w, struct attempt attempt[]) {
  const struct kernel_gemm *k = w->gemm;
  bool turned = k->tc && w->kind->mac_shape.m == w->kind->mac_shape.n;
  bool shuffles = !w->kind->blocks && (k->ta != turned || k->tb != turned);
  int count = 0;
  if (w->kind->lanes) { /* always the same */
    attempt[count++] = (struct attempt){GEMM_FREE, false, false};
    return count;
  }
  if (k->yields && k->joined)
    attempt[count++] = (struct attempt){GEMM_FREE, true, true};
  if (k->yields)
    attempt[count++] = (struct attempt){GEMM_FREE, true, false};
  attempt[count++] = (struct attempt){GEMM_FREE, false, false};
  if (shuffles)
    attempt[count++] = (struct attempt){GEMM_QUARTER, false, false};
  attempt[count++] = (struct attempt){GEMM_ALTERNATE, false, false};
  assert(count <= ATTEMPTS);
  return count;
}

/* Whether a schedule with so many cycles that do not multiply will do, after
 * so many cycles of schedules. */
static bool is_full(const struct attempt *by, int count, int idle, int tried) {
  int allowed = by->yields            ? GOOD_ENOUGH + count / WORTH_YIELDING
                : tried > LONG_ENOUGH ? max(GOOD_ENOUGH, count / WELL_ENOUGH)
                                      : GOOD_ENOUGH;
  return idle <= allowed;
}

/* The shortest of the schedules worth trying; one that shows no loop only if
 * none does, then *repeats is false. */
static bool best_schedule(struct arena *a, const struct work *w,
                          struct schedule *best, bool *repeats,
                          struct diag *d) {
  struct attempt attempt[ATTEMPTS];
  struct trace t;
  int count = list_attempts(w, attempt), idle, tried = 0;
  *repeats = false;
  for (int i = 0; i < count; i++) {
    struct schedule next;
    bool traced = i && attempt[i].phase == attempt[i - 1].phase;
    if (!traced && !trace_gemm(a, w, attempt[i].phase, &t, d))
      return false;
    if (!schedule_gemm(&t, w, &attempt[i], &next, &idle))
      return false;
    bool good = kernel_fold_repeats(a, &next, d);
    if (!i || good > *repeats || (good == *repeats && next.count < best->count))
      *best = next;
    *repeats |= good;
    tried += next.count;
    if (*repeats && is_full(&attempt[i], next.count, idle, tried))
      break;
  }
  return true;
}

/* The loop over steps starts with the second one if that is like the others;
 * with few steps there is none, unless their number is not known. */
static bool schedule_work(struct arena *a, struct work *w,
                          struct schedule *best, struct diag *d) {
  enum { MOST_BEFORE = 2 };
  int count = !w->steps ? 0 : w->counted ? INT_MAX : w->steps->count;
  bool repeats = false;
  for (int n = 1; n <= MOST_BEFORE && n <= count - ROUNDS && !repeats; n++) {
    w->before_loop = n;
    if (!best_schedule(a, w, best, &repeats, d))
      return false;
  }
  if (repeats)
    return true;
  w->before_loop = 0;
  return count <= MOST_BEFORE + ROUNDS - 1
             ? best_schedule(a, w, best, &repeats, d)
             : diag_error(d, loc_none(),
                          "gemm block: %d x %d x %d in steps does not repeat",
                          w->gemm->m, w->gemm->k, w->gemm->n);
}

bool kernel_gemm_schedule(struct arena *a, const struct kernel_gemm *k,
                          struct schedule *s, struct diag *d) {
  struct work work = {.gemm = k, .kind = check(k, d), .scratch = arena_open()};
  bool repeats, good = work.kind && best_schedule(a, &work, s, &repeats, d);
  arena_close(work.scratch);
  return good;
}

static const char *layout(struct arena *a, const char *name, int rows,
                          int columns, int r, int c, bool transposed) {
  return arena_printf(a, "%s [%d][%d][%d][%d]", name, rows / r, columns / c,
                      transposed ? c : r, transposed ? r : c);
}

static const char *count_note(struct arena *a, const struct work *w) {
  if (!w->steps)
    return "";
  return w->counted ? arena_printf(a, ", %d + r14 blocks of K for %d of C",
                                   w->before_loop + 1, w->steps->group)
                    : arena_printf(a, ", %d blocks of K for %d of C",
                                   w->steps->count, w->steps->group);
}

static struct asm_program *write_down(struct arena *a, const struct work *w,
                                      const struct schedule *schedule,
                                      struct diag *d) {
  const struct kernel_gemm *k = w->gemm;
  const struct kernel_shape *s = &w->kind->mac_shape;
  bool halves = w->kind->passes > 1;
  const char *heading[] = {
      arena_printf(a, "C %s A * B, %s x %s -> %s, %d x %d x %d%s",
                   k->zero ? "=" : "+=", dtype_name(k->in0), dtype_name(k->in1),
                   dtype_name(k->out), k->m, k->k, k->n, count_note(a, w)),
      arena_printf(
          a, "p0 = %s, p1 = %s, p2 = %s",
          layout(a, halves ? "A [2]" : "A", k->m, k->k, s->m, s->k, k->ta),
          layout(a, halves ? "B [2]" : "B", k->k, k->n, s->k, s->n, k->tb),
          layout(a, "C", k->m, k->n, s->m, s->n, k->tc)),
      arena_printf(a,
                   "block (r, c) starts at row %d r, column %d c, its results "
                   "are %d x %d; a step is %d of K",
                   s->m, s->n, s->m, s->n, s->k),
      w->kind->lanes ? "64 sums at a time, one element of A for 32 of them"
      : kernel_machine(k->isa)->few_sums
          ? "row 1 of a block is two steps behind row 0, into the next block"
          : "blocks take turns in two sets of accumulators",
  };
  int headings = sizeof heading / sizeof *heading;
  return kernel_fold(a, k->name, heading, headings, schedule, d);
}

/* A program that fits, at the price of cycles: what is confined repeats sooner,
 * so more of it becomes loops. */
static struct asm_program *write_shorter(struct arena *a,
                                         const struct work *w) {
  static const struct attempt attempt[] = {{GEMM_QUARTER, false, false},
                                           {GEMM_ALTERNATE, false, false},
                                           {GEMM_APART, false, false}};
  struct asm_program *p = NULL;
  for (size_t i = 0; i < sizeof attempt / sizeof *attempt && !p; i++) {
    struct diag d = {0};
    struct schedule schedule;
    struct trace t;
    int idle;
    if (trace_gemm(a, w, attempt[i].phase, &t, &d) &&
        schedule_gemm(&t, w, &attempt[i], &schedule, &idle))
      p = write_down(a, w, &schedule, &d);
  }
  return p;
}

/* Whether a step takes no longer than calls of products, one by one: what
 * repeats may be a poor schedule.  Most steps are good enough without one of a
 * product to compare with. */
static bool beats_calls(const struct work *w, const struct schedule *steps) {
  enum { GOOD = 17, CALL = 40 }; /* sixteenths of the multiplies; cycles */
  const struct kernel_gemm *k = w->gemm;
  const struct kernel_shape *s = &w->kind->mac_shape;
  int macs = k->m / s->m * (k->n / s->n) * (k->k / s->k) * w->kind->passes,
      step = steps->loop[1] - steps->loop[0], group = w->steps->group;
  if (16 * step <= GOOD * group * macs)
    return true;
  struct arena *scratch = arena_open();
  struct kernel_gemm product = *k;
  struct schedule one;
  struct diag d = {0};
  product.zero = false;
  bool good = !kernel_gemm_schedule(scratch, &product, &one, &d) ||
              step <= group * (one.count + CALL);
  arena_close(scratch);
  return good;
}

static struct asm_program *make_with(struct arena *a, struct work *w,
                                     struct diag *d) {
  struct schedule schedule;
  w->kind = check(w->gemm, d);
  if (w->steps && w->gemm->relu)
    diag_error(d, loc_none(),
               "gemm block: relu comes behind the last step, not in each");
  if (w->steps && w->kind && w->kind->lanes)
    diag_error(d, loc_none(), "gemm block: products by lanes have no steps");
  if (d->kind != DIAG_NONE || !schedule_work(a, w, &schedule, d))
    return NULL;
  if (w->counted && !beats_calls(w, &schedule)) {
    diag_error(d, loc_none(),
               "gemm block: a step of %d x %d x %d in a loop takes %d cycles, "
               "more than calls of products",
               w->gemm->m, w->gemm->k, w->gemm->n,
               schedule.loop[1] - schedule.loop[0]);
    return NULL;
  }
  struct diag too_long = {0};
  struct asm_program *p = write_down(a, w, &schedule, &too_long);
  if (!p && !w->steps)
    p = write_shorter(a, w);
  if (!p)
    *d = too_long;
  return p;
}

static struct asm_program *make(struct arena *a, struct work *w,
                                struct diag *d) {
  w->scratch = arena_open();
  struct asm_program *p = make_with(a, w, d);
  arena_close(w->scratch);
  return p;
}

struct asm_program *kernel_gemm_steps(struct arena *a,
                                      const struct kernel_gemm *k,
                                      const struct kernel_steps *steps,
                                      struct diag *d) {
  struct work work = {.gemm = k, .steps = steps};
  return make(a, &work, d);
}

struct asm_program *kernel_gemm_counted(struct arena *a,
                                        const struct kernel_gemm *k,
                                        const struct kernel_steps *steps,
                                        int *before, struct diag *d) {
  struct work work = {.gemm = k, .steps = steps, .counted = true};
  struct asm_program *p = make(a, &work, d);
  *before = work.before_loop;
  assert(!p || *before > 0);
  return p;
}

struct asm_program *kernel_gemm(struct arena *a, const struct kernel_gemm *k,
                                struct diag *d) {
  return kernel_gemm_steps(a, k, NULL, d);
}
