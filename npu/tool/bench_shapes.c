/* bench_shapes.c -- `nputeir bench array random`: products of random shapes and
 * leading dimensions, each beside what bounds it: the multiply units or DRAM,
 * and before that the start, which is a launch of 64x64x64; and beside the
 * prediction by which its blocks were chosen. */
#include "bench.h"
#include "keys.h"

#include "kernels.h"
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 128, MOST_GAP = 64 };

struct shape {
  struct teir_problem problem;
  int64_t gap[TENSORS]; /* elements between the ends of rows */
};

static int64_t draw(uint64_t *state, int64_t low, int64_t high) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return low + (int64_t)((*state >> 33) % (uint64_t)(high - low + 1));
}

/* Row-major matrices with the gaps. */
static struct teir *make_teir(struct arena *a, const struct shape *s,
                              struct diag *d) {
  static const enum axis_role row[] = {AXIS_M, AXIS_K, AXIS_M},
                              column[] = {AXIS_K, AXIS_N, AXIS_N};
  struct teir *t = teir_from_problem(a, &s->problem, d);
  struct teir_roles r;
  if (!t || !teir_roles_read(a, t, &r, d))
    return NULL;
  for (int i = 0; i < r.count; i++)
    for (int j = 0; j < TENSORS; j++)
      if (r.role[i] == row[j])
        t->axis[r.axis[i]].stride_bytes[j] =
            teir_constant((s->problem.extent[column[j]] + s->gap[j]) *
                          dtype_bytes(s->problem.type[j]));
  return t;
}

/* A bound (map_bound_cycles), also of what the shim channels move in one
 * direction: a word a cycle each (timing.md N1), less than DRAM. */
static double with_shim(const struct preset *q, const struct teir_problem *p,
                        double bound) {
  const struct device *dev = device_find(q->device);
  double m = (double)p->extent[AXIS_M], n = (double)p->extent[AXIS_N],
         k = (double)p->extent[AXIS_K],
         each = dev->columns * dev->tile[TILE_SHIM].channels *
                map_stream_bytes(dev),
         read = (m * k * dtype_bytes(p->type[IN0]) +
                 k * n * dtype_bytes(p->type[IN1])) /
                each,
         written = m * n * dtype_bytes(p->type[OUT]) / each;
  double shim = read > written ? read : written;
  return shim > bound ? shim : bound;
}

struct shapes {
  const struct preset *preset;
  const struct shape *shape;
  bool simulates;      /* else the prediction is all there is */
  double start, ratio; /* of the shape: the result */
  double shim_ratio;   /* the same with what the shim moves */
  double off;          /* by how much the prediction is above the cycles */
  int packed[TENSORS];
};

static bool run_shape(struct tool *t, void *context) {
  struct shapes *s = context;
  const struct teir_problem *p = &s->shape->problem;
  struct npu_result r = {0};
  struct sim_report report = {0};
  struct sim_options options = {.preset = s->preset};
  const struct teir *teir = make_teir(t->arena, s->shape, &t->diag);
  bool good =
      teir && npu_compile(t->arena, s->preset->name, teir, 0, &r, &t->diag);
  if (good && (s->simulates || s->start == 0))
    good = simulate(&r, &options, NULL, &report, &t->diag);
  else if (good)
    report.cycles = (uint64_t)r.blocking.predicted_cycles;
  if (good && s->start == 0)
    s->start = (double)report.cycles;
  else if (good) {
    double least = map_bound_cycles(s->preset, p);
    s->ratio = (least + s->start) / (double)report.cycles;
    double shim = with_shim(s->preset, p, least);
    s->shim_ratio = (shim + s->start) / (double)report.cycles;
    s->off = r.blocking.predicted_cycles / (double)report.cycles - 1;
    struct text keys = {0};
    text_printf(
        &keys,
        "case=random size=%lldx%lldx%lld gaps=%lld,%lld,%lld types=%s,%s,%s "
        "preset=%s cycles=%llu predicted=%.0f off=%.3f bound=%.0f ratio=%.3f "
        "shim_bound=%.0f shim_ratio=%.3f grid=%dx%d blocks=%dx%dx%d group=%d ",
        (long long)p->extent[AXIS_M], (long long)p->extent[AXIS_N],
        (long long)p->extent[AXIS_K], (long long)s->shape->gap[IN0],
        (long long)s->shape->gap[IN1], (long long)s->shape->gap[OUT],
        dtype_name(p->type[IN0]), dtype_name(p->type[IN1]),
        dtype_name(p->type[OUT]), s->preset->name,
        (unsigned long long)report.cycles, r.blocking.predicted_cycles, s->off,
        least, s->ratio, shim, s->shim_ratio, r.program->grid.m,
        r.program->grid.n, r.blocking.block_m, r.blocking.block_n,
        r.blocking.block_k, r.blocking.group_m);
    keys_put_packed(&r, &keys);
    keys_print(t, "%s\n", text_string(&keys));
    text_free(&keys);
    for (int i = 0; i < TENSORS; i++)
      s->packed[i] += r.packed[i] != NULL;
  }
  npu_result_free(&r);
  return good;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorted distances of predictions from cycles, without their signs: half of
 * them and all but a tenth are at most so far. */
static void put_off(double off[], int count, struct text *to) {
  int within = 0;
  for (int i = 0; i < count; i++) {
    off[i] = fabs(off[i]);
    within += off[i] <= 0.05;
  }
  qsort(off, (size_t)count, sizeof *off, compare);
  text_printf(to, "off=%.3f off_nine_tenths=%.3f off_most=%.3f within_5%%=%d ",
              off[count / 2], off[count * 9 / 10], off[count - 1], within);
}

static void put_results(struct tool *t, const struct shapes s[2],
                        const struct bench_shapes *j, double ratio[],
                        double shim[], double off[]) {
  struct text keys = {0};
  int count = j->count;
  qsort(ratio, (size_t)count, sizeof *ratio, compare);
  qsort(shim, (size_t)count, sizeof *shim, compare);
  text_printf(&keys,
              "case=random shapes=%d preset=%s start=%.0f,%.0f least=%.3f "
              "tenth=%.3f median=%.3f most=%.3f shim_least=%.3f "
              "shim_median=%.3f ",
              count, j->preset->name, s[0].start, s[1].start, ratio[0],
              ratio[count / 10], ratio[count / 2], ratio[count - 1], shim[0],
              shim[count / 2]);
  if (j->simulates)
    put_off(off, count, &keys);
  keys_print(t, "%spacked=in0:%d,in1:%d,out:%d\n", text_string(&keys),
             s[0].packed[IN0] + s[1].packed[IN0],
             s[0].packed[IN1] + s[1].packed[IN1],
             s[0].packed[OUT] + s[1].packed[OUT]);
  text_free(&keys);
}

bool bench_shapes(struct tool *t, const struct bench_shapes *j) {
  static const struct teir_problem types[] = {
      {{1, 64, 64, 64},
       {DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
       DTYPE_F32,
       false,
       {0}},
      {{1, 64, 64, 64},
       {DTYPE_I8, DTYPE_I8, DTYPE_I32},
       DTYPE_I32,
       false,
       {0}}};
  struct shapes s[2] = {{.preset = j->preset, .simulates = j->simulates},
                        {.preset = j->preset, .simulates = j->simulates}};
  double *ratio = calloc((size_t)j->count, sizeof *ratio),
         *shim = calloc((size_t)j->count, sizeof *shim),
         *off = calloc((size_t)j->count, sizeof *off);
  uint64_t state = 2026;
  bool good = ratio && shim && off;
  for (int i = -2; i < j->count && good; i++) {
    struct shapes *x = &s[i & 1];
    struct shape shape = {.problem = types[i & 1]};
    for (int k = 0; k < 3 && i >= 0; k++) {
      shape.problem.extent[AXIS_M + k] = draw(&state, LEAST, j->longest);
      shape.gap[k] = draw(&state, 0, MOST_GAP);
    }
    x->shape = &shape;
    good = tool_nested(t, run_shape, x);
    if (good && i >= 0) {
      ratio[i] = x->ratio;
      shim[i] = x->shim_ratio;
      off[i] = x->off;
    }
  }
  if (good)
    put_results(t, s, j, ratio, shim, off);
  free(off);
  free(shim);
  free(ratio);
  return good;
}
