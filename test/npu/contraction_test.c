/* contraction_test.c -- contractions of several axes that once were slow for
 * how their axes follow each other: which share of what multiply units and DRAM
 * allow the chosen blocks are predicted to reach, and with smaller extents, so
 * that all of it is simulated, the results and how far the prediction is off.
 */
#include "check.h"
#include "npu.h"
#include "sim.h"
#include "teir_einsum.h"
#include "teir_fast.h"

#include <math.h>
#include <stdlib.h>

enum { MACS_PER_CYCLE = 16 * 128 }; /* bf16, of all cores */
static const char platform[] = "8700g-turbo";
static const double error = 0.05;

struct row {
  const char *expression, *sizes, *small; /* small: NULL if it is packed */
  double share; /* that is predicted at least; of the small one no matter */
  bool in_place;
};
static const struct row rows[] = {
    /* rows along d are read whole: a mem tile's buffer has all their steps, so
     * that c is the descriptor's outermost dimension */
    {"cad,dcb->ab", "a=384,b=376,c=384,d=384", "a=192,b=184,c=2,d=384", 0.80,
     true},
    /* two rows of a are a block's, in the order of out's addresses */
    {"ebad,ce->abcd", "a=96,b=84,c=24,d=84,e=96", "a=32,b=4,c=24,d=84,e=16",
     0.85, true},
    /* kernels shuffle neither input; each n round has tasks, few enough */
    {"acd,db->abc", "a=384,b=376,c=376,d=384", "a=8,b=376,c=80,d=384", 0.8,
     true},
    /* the last step of d, 8 * 47, has less than the others */
    {"adc,bd->abc", "a=384,b=384,c=376,d=376", "a=8,b=384,c=80,d=376", 0.78,
     true},
    /* in1, packed, comes in shares on the channels of in0, which has them all
     */
    {"adec,ebd->abc", "a=96,b=84,c=84,d=84,e=96", NULL, 0.90, false},
    {"acd,dbc->ab", "a=384,b=376,c=376,d=384", NULL, 0.88, false},
};

static struct teir *make_teir(struct arena *a, const struct row *x,
                              const char *sizes, struct diag *d) {
  static const struct teir_finish none;
  struct teir_einsum e = {
      .expression = x->expression, .in = DTYPE_BF16, .out = DTYPE_BF16};
  struct teir *t =
      teir_einsum_sizes(&e, sizes, d) ? teir_from_einsum(a, &e, d) : NULL;
  if (t) /* in out's place */
    t->tensor[OUT].type = DTYPE_F32;
  return t ? teir_finish_sums(a, t, &none, DTYPE_BF16, d) : NULL;
}

/* Cycles that no schedule is below. */
static double bound_of(const struct teir *t, const struct preset *q,
                       struct diag *d) {
  struct teir_problem p;
  double bytes = 0;
  CHECK(teir_problem_read(t, &p, d));
  for (int i = 0; i < TENSORS; i++) {
    int64_t low, high;
    CHECK(teir_footprint(t, i, &low, &high, d));
    bytes += (double)(high - low);
  }
  double rate = q->dram[q->dram_count - 1].bytes_per_second;
  return fmax((double)p.extent[AXIS_M] * (double)p.extent[AXIS_N] *
                  (double)p.extent[AXIS_K] / MACS_PER_CYCLE,
              bytes / rate * q->clock_ghz * 1e9);
}

static void test_share(const struct row *x) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  const struct teir *t = make_teir(a, x, x->sizes, &d);
  CHECK(t && npu_compile(a, platform, t, 0, &r, &d));
  if (r.design) {
    double share =
        bound_of(t, preset_find(platform), &d) / r.blocking.predicted_cycles;
    bool in_place = !r.packed[IN0] && !r.packed[IN1] && !r.packed[OUT];
    CHECK(share >= x->share && in_place == x->in_place);
    if (share < x->share || in_place != x->in_place)
      fprintf(stderr, "%s: %.3f of the bound, in place %d\n", x->expression,
              share, in_place);
  }
  if (d.kind)
    diag_print(&d, stderr);
  npu_result_free(&r);
  arena_close(a);
}

/* Whole numbers, few of which are not exact in bf16. */
static void test_small(const struct row *x) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct sim_report report = {0};
  struct sim_options options = {.preset = preset_find(platform)};
  const struct teir *t = make_teir(a, x, x->small, &d);
  struct sim_buffer buffer[TENSORS] = {{0}};
  void *right[TENSORS + 1] = {NULL};
  bool good = t && npu_compile(a, platform, t, 0, &r, &d);
  for (int i = 0; good && i < t->tensor_count; i++) {
    int64_t low, high;
    good = teir_footprint(t, i, &low, &high, &d);
    right[i] = calloc(1, (size_t)high);
    uint32_t seed = (uint32_t)i;
    for (int64_t at = 0; i < OUT && at < high; at += 2) {
      seed = seed * 1664525 + 1013904223;
      dtype_store_int(DTYPE_BF16, (char *)right[i] + at, (int)(seed >> 30) - 1);
    }
    if (i >= TENSORS)
      continue;
    buffer[i] = (struct sim_buffer){calloc(1, (size_t)high), (size_t)high};
    memcpy(buffer[i].data, right[i], (size_t)high);
  }
  struct sim *s =
      good ? sim_open(r.xclbin.data, r.xclbin.length, &options, &d) : NULL;
  good = s &&
         sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d) &&
         teir_run_fast(t, right, 1, NULL, &d) &&
         memcmp(buffer[OUT].data, right[OUT], buffer[OUT].bytes) == 0;
  double off = r.blocking.predicted_cycles / (double)report.cycles - 1;
  CHECK(good && fabs(off) < 2 * error);
  if (!good || fabs(off) >= 2 * error)
    fprintf(stderr, "%s, %s: predicted %.1f %% off: %s\n", x->expression,
            x->small, 100 * off, d.text);
  if (s)
    sim_close(s);
  for (int i = 0; i <= TENSORS; i++)
    free(right[i]);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

/* A product whose launch the chooser has to price well. */
struct priced {
  const char *on, *expression, *sizes;
  enum dtype in, out;
  double error;
  uint64_t most; /* cycles; 0: any */
};
static const struct priced priced[] = {
    /* many short rounds, whose blocks of out wait for DRAM behind the last one,
     * and kernels with columns that make no even shape */
    {"krackan", "ab,bc->ac", "a=607,b=211,c=761", DTYPE_I8, DTYPE_I32, error,
     0},
    {"krackan", "ab,bc->ac", "a=381,b=395,c=933", DTYPE_BF16, DTYPE_F32, error,
     0},
    /* a group whose two blocks leave as one, inside the rows of cores */
    {"phoenix", "dba,cd->cba", "a=314,b=32,c=33,d=3", DTYPE_I8, DTYPE_I32,
     error, 0},
    /* rows of cores, which leave on one channel, are a dimension of out's */
    {"8700g-turbo", "eba,cde->cadb", "a=20,b=50,c=32,d=2,e=59", DTYPE_I8,
     DTYPE_I32, 2 * error, 60000},
    {"8700g-turbo", "da,bdc->abc", "a=14,b=4,c=48,d=32", DTYPE_BF16, DTYPE_BF16,
     error, 0},
    /* n, of packed tensors only, has two rounds, in one task */
    {"8700g", "ac,ab->bc", "a=5,b=4,c=305", DTYPE_BF16, DTYPE_BF16, error, 0},
    /* words apart, of which a channel of XDNA2 moves one per cycle, and small
     * matrices with rows of one word */
    {"krackan", "bca,ebd->ecda", "a=25,b=2,c=32,d=24,e=32", DTYPE_I8, DTYPE_I32,
     error, 0},
    {"strix-halo", "bdc,cab->da", "a=16,b=59,c=32,d=64", DTYPE_I16, DTYPE_I32,
     error, 0},
    /* inputs of the next round come while results are rounded */
    {"8700g", "dbec,ca->dabe", "a=5,b=59,c=1,d=12,e=50", DTYPE_BF16, DTYPE_BF16,
     error, 0},
    /* by block floats, whose kernels are priced by the formula alone */
    {"krackan", "ab,bc->ac", "a=512,b=512,c=512", DTYPE_BFP16, DTYPE_F32,
     3 * error, 120000},
    /* rows of in1 along an uneven k, which mem tiles would not have whole */
    {"phoenix", "ab,cb->ac", "a=240,b=1262,c=160", DTYPE_BF16, DTYPE_F32, error,
     92000},
    /* zeros join two blocks of in0, of which a buffer holds eight steps at most
     */
    {"phoenix", "ab,bc->ac", "a=80,b=234,c=288", DTYPE_BF16, DTYPE_F32, error,
     0},
    /* no kernel of the blocks in place fits program memory: they are packed */
    {"krackan", "ea,ac->ec", "a=24,c=718,e=498", DTYPE_BF16, DTYPE_BF16,
     2 * error, 70000},
    /* the same of all blocks of the list but those with less k */
    {"krackan", "jha,jae->eh", "a=2,e=5,h=113,j=307", DTYPE_BF16, DTYPE_BF16,
     error, 52000},
    /* out leaves a column on one channel */
    {"8700g", "ab,bc->ac", "a=208,b=160,c=154", DTYPE_BF16, DTYPE_F32, error,
     23000},
    /* DRAM is busy before the last channels begin, and all of in1 comes ahead
     * of out */
    {"phoenix", "ab,bc->ac", "a=208,b=160,c=154", DTYPE_BF16, DTYPE_F32, error,
     26500},
    {"phoenix", "ab,bc->ac", "a=153,b=523,c=683", DTYPE_I8, DTYPE_I32, error,
     0},
    /* the last column's cores begin behind all pushes */
    {"8700g", "ab,bc->ac", "a=391,b=631,c=189", DTYPE_I8, DTYPE_I32, error, 0},
    /* little work, for which few cores and a packed input are better than what
     * all of them take, all tensors being packed */
    {"8700g-turbo", "baed,ce->badc", "a=4,b=48,c=4,d=4,e=5", DTYPE_BF16,
     DTYPE_F32, error, 15000},
};

static void test_prediction(const struct priced *x) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct npu_result r = {0};
  struct sim_report report = {0};
  struct sim_options options = {.preset = preset_find(x->on)};
  struct sim_buffer buffer[TENSORS] = {{0}};
  struct teir_einsum e = {
      .expression = x->expression, .in = x->in, .out = x->out};
  const struct teir *t =
      teir_einsum_sizes(&e, x->sizes, &d) ? teir_from_einsum(a, &e, &d) : NULL;
  bool good = t && npu_compile(a, x->on, t, 0, &r, &d);
  for (int i = 0; good && i < TENSORS; i++) {
    size_t bytes = (size_t)r.program->transfer[i].bytes;
    buffer[r.program->transfer[i].tensor] =
        (struct sim_buffer){calloc(1, bytes), bytes};
  }
  struct sim *s =
      good ? sim_open(r.xclbin.data, r.xclbin.length, &options, &d) : NULL;
  good =
      s && sim_run(s, r.txn.data, r.txn.length, buffer, TENSORS, &report, &d);
  double off = r.blocking.predicted_cycles / (double)report.cycles - 1;
  CHECK(good && fabs(off) < x->error);
  CHECK(!x->most || report.cycles <= x->most);
  if (x->most && report.cycles > x->most)
    fprintf(stderr, "%s %s, %s: %llu cycles\n", x->on, x->expression, x->sizes,
            (unsigned long long)report.cycles);
  if (!good || fabs(off) >= x->error)
    fprintf(stderr, "%s %s, %s: predicted %.1f %% off: %s\n", x->on,
            x->expression, x->sizes, 100 * off, d.text);
  if (s)
    sim_close(s);
  for (int i = 0; i < TENSORS; i++)
    free(buffer[i].data);
  npu_result_free(&r);
  arena_close(a);
}

int main(void) {
  for (size_t i = 0; i < sizeof priced / sizeof *priced; i++)
    test_prediction(&priced[i]);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    test_share(&rows[i]);
    if (rows[i].small)
      test_small(&rows[i]);
  }
  return check_result();
}
