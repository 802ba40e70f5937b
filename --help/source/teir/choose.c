/* choose.c -- weighs every schedule of a family and keeps the fastest.
 *
 * The family: one axis each of M, N and K gives the primitive's block; blocks
 * of M and N are spread over the cores, of K follow each other in time, so
 * that a block of out stays in its core until its sum is complete; all other
 * axes are loops in time.  Time is the larger of what the cores need (Taka et
 * al., equations 1 to 5 and 9) and what memory needs (6 to 8 and 10); sizes
 * that blocks do not divide are padded, as the device does it.
 *
 * A pair (m, n) whose lower bound is no better than the best so far is passed
 * over, which leaves a small part of the search.
 */
#include "teir_build.h"
#include "teir_choose.h"
#include "teir_lower.h"
#include "teir_problem.h"
#include "teir_search.h"

#include <math.h>
#include <string.h>

struct search {
  const struct teir_machine *machine;
  const struct teir_wish *wish;
  struct teir *t;
  struct teir_roles roles;
  int bytes[3]; /* an element's */
  /* the candidate under the loops */
  struct teir_choice now;
  int64_t extent[TEIR_ROLES], others[TEIR_ROLES]; /* block axis; all
                                                    others together */
  int64_t batch;
  /* By tensor: the role whose axis has unit stride, TEIR_ROLES if none. */
  enum teir_role dense[3];
  struct teir_choice best;
  bool found;
};

static int64_t ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }
static int64_t round_up(int64_t n, int64_t d) { return ceil_div(n, d) * d; }

/* ---- the model ---- */
static double bandwidth(const struct teir_machine *m, double run_bytes) {
  double rate = m->run_count ? m->run[0].bytes_per_second : 1e30;
  for (int i = 0; i < m->run_count; i++)
    if (run_bytes >= (double)m->run[i].run_bytes)
      rate = m->run[i].bytes_per_second;
  return rate;
}

static double out_cycles(const struct search *s) {
  return s->machine->out_cycles + s->machine->out_cycles_per_byte * s->bytes[2];
}

/* Blocks of a role per core, for the block size and lanes of `c`. */
static int64_t rounds_of(const struct search *s, const struct teir_choice *c,
                         enum teir_role r) {
  int64_t blocks = ceil_div(s->extent[r], c->block[r]);
  if (c->spatial[r] == c->axis[r])
    return ceil_div(blocks, c->lanes[r]) * s->others[r];
  int64_t e = s->t->axis[c->spatial[r]].extent.constant;
  return blocks * ceil_div(e, c->lanes[r]) * (s->others[r] / e);
}

static double l1_bytes(const struct search *s, const struct teir_choice *c) {
  double m = (double)c->block[TEIR_M], n = (double)c->block[TEIR_N];
  double k = (double)c->block[TEIR_K];
  return 2 * m * k * s->bytes[0] + 2 * k * n * s->bytes[1] +
         c->out_buffers * m * n * s->bytes[2];
}

/* Seconds of the cores: in each step the slowest of the product and the two
 * input streams; the output's transfer shows only when it has one buffer. */
static double compute_seconds(const struct search *s, struct teir_choice *c,
                              bool *l1_binds) {
  const struct teir_machine *x = s->machine;
  double m = (double)c->block[TEIR_M], n = (double)c->block[TEIR_N];
  double k = (double)c->block[TEIR_K];
  double product = m * n * k / x->peak_macs + out_cycles(s) * m * n;
  double in0 = m * k * s->bytes[0] / x->l1_bytes_per_cycle;
  double in1 = k * n * s->bytes[1] / x->l1_bytes_per_cycle;
  double stream = in0 > in1 ? in0 : in1;
  double step = product > stream ? product : stream;
  double out = m * n * s->bytes[2] / x->l1_bytes_per_cycle;
  double round = (double)c->steps_k * step;
  if (c->out_buffers == 1)
    round += out;
  else if (out > round)
    round = out;
  *l1_binds = stream > product;
  c->efficiency = m * n * k / x->peak_macs / step;
  return (double)c->rounds * round / x->clock_hz;
}

/* How many bytes of a tensor stand next to each other in what is moved. */
static double run_bytes(const struct search *s, const struct teir_choice *c,
                        int tensor) {
  enum teir_role r = s->dense[tensor];
  double elements = r == TEIR_ROLES ? 1
                    : r == TEIR_K   ? (double)c->run_k
                                    : (double)c->block[r];
  if (tensor == 2 && r != TEIR_ROLES && c->spatial[r] == c->axis[r])
    elements *= c->lanes[r]; /* blocks of out are joined */
  return elements * s->bytes[tensor];
}

static double dram_seconds(const struct search *s, struct teir_choice *c) {
  double k = (double)c->steps_k * (double)c->block[TEIR_K];
  double rounds = (double)c->rounds;
  double m = (double)(c->block[TEIR_M] * c->lanes[TEIR_M]);
  double n = (double)(c->block[TEIR_N] * c->lanes[TEIR_N]);
  c->dram_bytes[0] = rounds * m * k * s->bytes[0];
  c->dram_bytes[1] = rounds * n * k * s->bytes[1];
  c->dram_bytes[2] = rounds * m * n * s->bytes[2];
  double seconds = 0;
  for (int i = 0; i < 3; i++)
    seconds += c->dram_bytes[i] / bandwidth(s->machine, run_bytes(s, c, i));
  return seconds;
}

static double l2_bytes(const struct search *s, const struct teir_choice *c) {
  double m = (double)(c->block[TEIR_M] * c->lanes[TEIR_M]);
  double n = (double)(c->block[TEIR_N] * c->lanes[TEIR_N]);
  double run = (double)c->run_k;
  return 2 * m * run * s->bytes[0] + 2 * run * n * s->bytes[1] +
         m * n * s->bytes[2];
}

/* ---- candidates, from inside out ---- */

/* One candidate with all its numbers; keeps it if it is the fastest. */
static void weigh(struct search *s, struct teir_choice *c, double *cheapest) {
  int64_t k = c->block[TEIR_K];
  c->steps_k = ceil_div(s->extent[TEIR_K], c->run_k) * (c->run_k / k) *
               s->others[TEIR_K];
  c->l2_bytes = l2_bytes(s, c);
  if (c->l2_bytes > (double)s->machine->l2_bytes)
    return;
  bool l1_binds;
  c->compute_seconds = compute_seconds(s, c, &l1_binds);
  c->dram_seconds = dram_seconds(s, c);
  bool dram = c->dram_seconds > c->compute_seconds;
  c->seconds = dram ? c->dram_seconds : c->compute_seconds;
  c->bound = dram       ? TEIR_BOUND_DRAM
             : l1_binds ? TEIR_BOUND_L1
                        : TEIR_BOUND_COMPUTE;
  s->best.candidates++;
  *cheapest = c->seconds < *cheapest ? c->seconds : *cheapest;
  if (s->found && c->seconds >= s->best.seconds * (1 - 1e-12))
    return;
  long candidates = s->best.candidates;
  s->best = *c;
  s->best.candidates = candidates;
  s->found = true;
}

/* Runs along K from `bytes` up; a longer one may fit the extent better. */
static void try_runs_from(struct search *s, struct teir_choice *c,
                          int64_t bytes, int element, double *cheapest) {
  enum { TRIES = 8 };
  int64_t k = c->block[TEIR_K], whole = round_up(s->extent[TEIR_K], k);
  int64_t run = round_up(ceil_div(bytes, element), k), last = 0;
  run = run < k ? k : run;
  for (int i = 0; i < TRIES; i++, run += k) {
    c->run_k = run < whole ? run : whole;
    int64_t padded = round_up(s->extent[TEIR_K], c->run_k);
    if (i > 0 && padded >= last)
      continue;
    last = padded;
    weigh(s, c, cheapest);
  }
}

/* The shortest runs of each bandwidth. */
static void try_runs(struct search *s, struct teir_choice *c,
                     double *cheapest) {
  if (s->wish->run_k) {
    c->run_k = round_up(s->wish->run_k, c->block[TEIR_K]);
    weigh(s, c, cheapest);
    return;
  }
  for (int i = 0; i < s->machine->run_count || i == 0; i++)
    for (int side = 0; side < 2; side++)
      if (side == 0 || s->bytes[0] != s->bytes[1])
        try_runs_from(s, c, s->machine->run[i].run_bytes, s->bytes[side],
                      cheapest);
}

/* No block of K makes (m, n) faster than this. */
static double lower_bound(const struct search *s, const struct teir_choice *c,
                          int64_t most_k) {
  double steps =
      (double)(ceil_div(s->extent[TEIR_K], most_k) * s->others[TEIR_K]);
  double mn = (double)(c->block[TEIR_M] * c->block[TEIR_N]);
  double k = (double)(s->extent[TEIR_K] * s->others[TEIR_K]);
  double cycles = k * mn / s->machine->peak_macs + steps * out_cycles(s) * mn;
  double compute = (double)c->rounds * cycles / s->machine->clock_hz;
  double m = (double)(c->block[TEIR_M] * c->lanes[TEIR_M]);
  double n = (double)(c->block[TEIR_N] * c->lanes[TEIR_N]);
  double bytes =
      (double)c->rounds *
      (m * k * s->bytes[0] + n * k * s->bytes[1] + m * n * s->bytes[2]);
  double memory = bytes / bandwidth(s->machine, 1e18);
  return compute > memory ? compute : memory;
}

static bool wanted(int64_t wish, int64_t size, int64_t unit) {
  return !wish || size == round_up(wish, unit);
}

/* ---- the machine that the search asks ---- */

static int64_t depth(void *self, const struct teir_blocks *b, double best) {
  struct search *s = self;
  const struct teir_machine *x = s->machine;
  const struct teir_wish *wish = s->wish;
  struct teir_choice *c = &s->now;
  int64_t m = b->block[TEIR_M], n = b->block[TEIR_N];
  (void)best; /* of this family only; s->best is of all */
  if (m * n * s->bytes[OUT] > x->l1_bytes)
    return -1;
  if (!wanted(wish->block_m, m, x->unit_m) ||
      !wanted(wish->block_n, n, x->unit_n) ||
      (wish->out_buffers && wish->out_buffers != b->form))
    return 0;
  c->block[TEIR_M] = m;
  c->block[TEIR_N] = n;
  c->out_buffers = b->form;
  double left = (double)x->l1_bytes -
                c->out_buffers * (double)m * (double)n * s->bytes[OUT];
  double step = 2 * ((double)m * s->bytes[IN0] + (double)n * s->bytes[IN1]);
  int64_t most = left <= 0 ? 0 : (int64_t)(left / step);
  int64_t whole = round_up(s->extent[TEIR_K], x->unit_k);
  most = most / x->unit_k * x->unit_k;
  most = most < whole ? most : whole;
  if (most < x->unit_k)
    return 0;
  c->rounds = rounds_of(s, c, TEIR_M) * rounds_of(s, c, TEIR_N) * s->batch;
  bool hopeless =
      s->found && !wish->block_k && lower_bound(s, c, most) >= s->best.seconds;
  return hopeless ? 0 : most;
}

static double price(void *self, const struct teir_blocks *b, double best) {
  struct search *s = self;
  struct teir_choice *c = &s->now;
  double cheapest = HUGE_VAL;
  (void)best;
  if (!wanted(s->wish->block_k, b->block[TEIR_K], s->machine->unit_k))
    return cheapest;
  c->block[TEIR_K] = b->block[TEIR_K];
  c->l1_bytes = l1_bytes(s, c);
  try_runs(s, c, &cheapest);
  return cheapest;
}

static void try_blocks(struct search *s) {
  const struct teir_machine *x = s->machine;
  int64_t most_m = x->l1_bytes / (x->unit_n * s->bytes[OUT]);
  int64_t whole_m = round_up(s->extent[TEIR_M], x->unit_m);
  const struct teir_model model = {
      .self = s,
      .unit = {x->unit_m, x->unit_n, x->unit_k},
      .most = {whole_m < most_m ? whole_m : most_m,
               round_up(s->extent[TEIR_N], x->unit_n)},
      .forms = 2,
      .deepest_first = true,
      .depth = depth,
      .price = price};
  teir_search(&model); /* what it finds is in s->best, with all its numbers */
}

/* Rows for M and columns for N, or the other way. */
static void try_places(struct search *s) {
  struct teir_choice *c = &s->now;
  for (int r = TEIR_M; r <= TEIR_N; r++) {
    if (s->wish->over_rows != TEIR_ROLES && (int)s->wish->over_rows != r)
      continue;
    c->over_rows = (enum teir_role)r;
    c->lanes[r] = s->machine->rows;
    c->lanes[TEIR_N - r] = s->machine->columns;
    try_blocks(s);
    if (s->machine->rows == s->machine->columns)
      return; /* the other way is the same */
  }
}

static bool named(const struct search *s, const char *wish, int axis) {
  return !wish || (axis >= 0 && strcmp(s->t->axis[axis].id, wish) == 0);
}

/* The axis of a role that goes over cores: the block's, or another one. */
static void try_spatial(struct search *s, enum teir_role r) {
  if (r == TEIR_K) {
    try_places(s);
    return;
  }
  const char *rows = s->wish->rows, *columns = s->wish->columns;
  bool any = false;
  for (int i = 0; i < s->roles.count; i++) {
    if (teir_role_of(s->roles.role[i]) != r)
      continue;
    any = true;
    int x = s->roles.axis[i];
    bool asked =
        (rows && named(s, rows, x)) || (columns && named(s, columns, x));
    bool free = !rows && !columns;
    /* A block axis with too few blocks leaves cores without work; only then
     * do the other axes matter, but they are cheap to try. */
    if (!asked && !free && x != s->now.axis[r])
      continue;
    s->now.spatial[r] = x;
    try_spatial(s, (enum teir_role)(r + 1));
  }
  if (!any) {
    s->now.spatial[r] = s->now.axis[r]; /* -1, no axis at all */
    try_spatial(s, (enum teir_role)(r + 1));
  }
}

/* Would a primitive over these axes lower to a GEMM? */
static bool lowers(const struct search *s, const int *axis) {
  struct arena *a = arena_open();
  struct teir *t = teir_clone(a, s->t);
  int p = teir_add_primitive(a, t, "try", TEIR_CONTRACTION);
  for (int r = 0; r < TEIR_ROLES; r++)
    if (axis[r] >= 0)
      teir_list_add(a, &t->primitive[p].role[r], axis[r]);
  struct teir_call call;
  struct diag d = {0};
  bool good = teir_lower(t, p, &call, &d);
  arena_close(a);
  return good;
}

static void use_axes(struct search *s, const int *axis) {
  s->batch = 1;
  for (int r = 0; r < TEIR_ROLES; r++) {
    s->now.axis[r] = axis[r];
    s->extent[r] = axis[r] < 0 ? 1 : s->t->axis[axis[r]].extent.constant;
    s->others[r] = 1;
  }
  for (int i = 0; i < s->roles.count; i++) {
    int64_t e = s->t->axis[s->roles.axis[i]].extent.constant;
    if (s->roles.role[i] == AXIS_C)
      s->batch *= e;
    else if (s->roles.axis[i] != axis[teir_role_of(s->roles.role[i])])
      s->others[teir_role_of(s->roles.role[i])] *= e;
  }
  for (int i = 0; i < 3; i++) {
    s->dense[i] = TEIR_ROLES;
    for (int r = 0; r < TEIR_ROLES; r++)
      if (axis[r] >= 0 &&
          s->t->axis[axis[r]].stride_bytes[i].constant == s->bytes[i])
        s->dense[i] = (enum teir_role)r;
  }
}

/* Every triple of axes, -1 where a role has none. */
static void try_axes(struct search *s, enum teir_role r, int *axis,
                     bool must_lower) {
  if (r == TEIR_ROLES) {
    if (must_lower && !lowers(s, axis))
      return;
    use_axes(s, axis);
    try_spatial(s, TEIR_M);
    return;
  }
  const char *wish = r == TEIR_M   ? s->wish->axis_m
                     : r == TEIR_N ? s->wish->axis_n
                                   : s->wish->axis_k;
  bool any = false;
  for (int i = 0; i < s->roles.count; i++) {
    if (teir_role_of(s->roles.role[i]) != r)
      continue;
    any = true;
    axis[r] = s->roles.axis[i];
    if (named(s, wish, axis[r]))
      try_axes(s, (enum teir_role)(r + 1), axis, must_lower);
  }
  axis[r] = -1;
  if (!any && !wish)
    try_axes(s, (enum teir_role)(r + 1), axis, must_lower);
}

static bool check_wish(const struct search *s, struct diag *d) {
  const char *name[] = {s->wish->axis_m, s->wish->axis_n, s->wish->axis_k,
                        s->wish->rows, s->wish->columns};
  for (size_t i = 0; i < sizeof name / sizeof *name; i++)
    if (name[i] && teir_find_axis(s->t, name[i]) < 0)
      return diag_error(d, loc_none(),
                        "there is no axis '%s' (axes whose strides continue "
                        "each other are one)",
                        name[i]);
  return true;
}

bool teir_choose(struct arena *a, const struct teir *from,
                 const struct teir_machine *m, const struct teir_wish *w,
                 struct teir_choice *choice, struct diag *d) {
  static const struct teir_wish free = {.over_rows = TEIR_ROLES};
  struct search s = {.machine = m, .wish = w ? w : &free};
  s.t = teir_roles_fuse(a, from, d);
  if (!s.t || !teir_roles_read(a, s.t, &s.roles, d) || !check_wish(&s, d))
    return false;
  if (s.roles.sums != OUT || s.roles.problem.finish.relu || s.roles.bias >= 0)
    return diag_declined(d, loc_none(),
                         "sums that are finished are scheduled by the array's "
                         "compiler only");
  for (int i = 0; i < 3; i++)
    s.bytes[i] = dtype_bytes(s.t->tensor[i].type);
  int axis[TEIR_ROLES];
  try_axes(&s, TEIR_M, axis, true);
  if (!s.found) /* no GEMM; the best of what there is */
    try_axes(&s, TEIR_M, axis, false);
  if (!s.found)
    return diag_declined(d, loc_none(),
                         "no block sizes fit the machine and what is fixed");
  *choice = s.best;
  choice->lowers = lowers(&s, choice->axis);
  choice->program = s.t;
  return true;
}

/* ---- in words ---- */
static const char *axis_name(const struct teir_choice *c, int axis) {
  return axis < 0 ? "none" : c->program->axis[axis].id;
}

void teir_choice_explain(const struct teir_choice *c,
                         const struct teir_machine *m, struct text *to) {
  static const char *const bound[] = {"the cores' products",
                                      "the input streams of a core", "DRAM"};
  enum teir_role rows = c->over_rows, columns = (enum teir_role)(TEIR_N - rows);
  double macs = 1;
  for (int i = 0; i < c->program->axis_count; i++)
    macs *= (double)c->program->axis[i].extent.constant;
  text_printf(to, "block: M = %s in %lld, N = %s in %lld, K = %s in %lld\n",
              axis_name(c, c->axis[TEIR_M]), (long long)c->block[TEIR_M],
              axis_name(c, c->axis[TEIR_N]), (long long)c->block[TEIR_N],
              axis_name(c, c->axis[TEIR_K]), (long long)c->block[TEIR_K]);
  if (!c->lowers)
    text_puts(to, "kernel: none without packing; no choice of axes has unit "
                  "strides where a GEMM needs them\n");
  text_printf(to, "rows: %c, by axis %s; columns: %c, by axis %s\n", "MN"[rows],
              axis_name(c, c->spatial[rows]), "MN"[columns],
              axis_name(c, c->spatial[columns]));
  text_printf(to,
              "time: %lld blocks of out per core, each summed over %lld steps "
              "of K without leaving the core\n",
              (long long)c->rounds, (long long)c->steps_k);
  text_printf(to,
              "first level: %.1f of %.1f KB, out in %d buffer%s; second level: "
              "%.0f of %.0f KB, runs of %lld along K\n",
              c->l1_bytes / 1024, (double)m->l1_bytes / 1024, c->out_buffers,
              c->out_buffers == 1 ? "" : "s", c->l2_bytes / 1024,
              (double)m->l2_bytes / 1024, (long long)c->run_k);
  double bytes = c->dram_bytes[0] + c->dram_bytes[1] + c->dram_bytes[2];
  text_printf(
      to, "DRAM: in0 %.1f, in1 %.1f, out %.1f MB; %.3f ms at %.1f GB/s\n",
      c->dram_bytes[0] / 1e6, c->dram_bytes[1] / 1e6, c->dram_bytes[2] / 1e6,
      c->dram_seconds * 1e3, bytes / c->dram_seconds / 1e9);
  text_printf(to, "cores: %.3f ms, %.1f %% of their peak while computing\n",
              c->compute_seconds * 1e3, c->efficiency * 100);
  text_printf(to, "bound: %s; predicted %.3f ms, %.3f TOPS\n", bound[c->bound],
              c->seconds * 1e3, 2 * macs / c->seconds / 1e12);
  text_printf(to, "weighed: %ld candidates\n", c->candidates);
}
