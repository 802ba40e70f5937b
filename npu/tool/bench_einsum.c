/* bench_einsum.c -- `nputeir bench array tccg`: the 24 contractions of the TCCG
 * benchmark (Springer and Bientinesi), bf16 in and out, beside what bounds them
 * and, of four, the utilisation that Steinert's thesis has on the same chip
 * (results.md section 1.6: which expressions these are is inferred). */
#include "bench.h"
#include "keys.h"

#include "simulate.h"
#include "teir_einsum.h"

#include <string.h>

const struct bench_einsum bench_tccg[BENCH_TCCG] = {
    /* clang-format off */
    {"efbad,cf->abcde", "a=48,b=36,c=24,d=36,e=48,f=36", 0},
    {"efcad,bf->abcde", "a=48,b=24,c=36,d=36,e=48,f=36", 0},
    {"dbea,ec->abcd", "a=96,b=84,c=24,d=96,e=96", 0},
    {"ecbfa,fd->abcde", "a=48,b=36,c=36,d=24,e=48,f=48", 0},
    {"deca,be->abcd", "a=96,b=24,c=84,d=96,e=84", 0},
    {"bda,dc->abc", "a=384,b=384,c=24,d=384", 0},
    {"ebad,ce->abcd", "a=96,b=84,c=24,d=84,e=96", 0},
    {"dega,gfbc->abcdef", "a=24,b=20,c=20,d=24,e=20,f=20,g=24", 0},
    {"dfgb,geac->abcdef", "a=24,b=20,c=20,d=24,e=20,f=20,g=24", 0},
    {"degb,gfac->abcdef", "a=24,b=20,c=20,d=24,e=20,f=20,g=24", 0},
    {"degc,gfab->abcdef", "a=24,b=20,c=20,d=24,e=20,f=20,g=24", 0},
    {"dca,bd->abc", "a=384,b=24,c=376,d=384", 0},
    {"ea,ebcd->abcd", "a=96,b=84,c=84,d=84,e=96", 0},
    {"eb,aecd->abcd", "a=96,b=84,c=84,d=84,e=96", 0},
    {"ec,abed->abcd", "a=96,b=84,c=84,d=84,e=96", 0},
    {"adec,ebd->abc", "a=96,b=84,c=84,d=84,e=96", 0},
    {"cad,dcb->ab", "a=384,b=376,c=384,d=384", 0},
    {"acd,dbc->ab", "a=384,b=376,c=376,d=384", 0},
    {"acd,db->abc", "a=384,b=376,c=376,d=384", 0},
    {"adc,bd->abc", "a=384,b=384,c=376,d=376", 0},
    {"ac,cb->ab", "a=7248,b=7240,c=7248", 56},
    {"aebf,fdec->abcd", "a=96,b=84,c=84,d=84,e=84,f=96", 70},
    {"eafd,fbec->abcd", "a=96,b=84,c=84,d=84,e=96,f=96", 78},
    {"aebf,dfce->abcd", "a=96,b=84,c=84,d=96,e=84,f=84", 36},
    /* clang-format on */
};
static const char prefix[] = "tccg";

bool bench_means_einsum(const char *name, int i) {
  size_t n = strlen(prefix);
  return strcmp(name, prefix) == 0 ||
         (strncmp(name, prefix, n) == 0 && name[n] == '-' &&
          strcmp(name + n + 1, bench_tccg[i].expression) == 0);
}

bool bench_is_einsum(const char *name) {
  for (int i = 0; i < BENCH_TCCG; i++)
    if (bench_means_einsum(name, i))
      return true;
  return false;
}

struct run {
  int index;
  const struct preset *preset;
};

static const struct teir *make_teir(struct tool *t, int i) {
  struct teir_einsum e = {.expression = bench_tccg[i].expression,
                          .in = DTYPE_BF16,
                          .out = DTYPE_BF16};
  if (!teir_einsum_sizes(&e, bench_tccg[i].sizes, &t->diag))
    return NULL;
  struct teir *x = teir_from_einsum(t->arena, &e, &t->diag);
  if (!x)
    return NULL;
  x->tensor[OUT].type = DTYPE_F32;
  const struct teir_finish none = {0};
  return teir_finish_sums(t->arena, x, &none, DTYPE_BF16, &t->diag);
}

static void print(struct tool *t, int i, const struct preset *q,
                  const struct npu_result *r, const struct teir_problem *p,
                  const struct sim_report *report) {
  double bound = map_bound_cycles(q, p),
         util = (double)report->mac_cycles / (double)report->core_cycles;
  struct text keys = {0};
  text_printf(&keys,
              "case=%s-%s sizes=%s preset=%s cycles=%llu predicted=%.0f "
              "core_util=%.3f bound=%.0f of_bound=%.3f",
              prefix, bench_tccg[i].expression, bench_tccg[i].sizes, q->name,
              (unsigned long long)report->cycles, r->blocking.predicted_cycles,
              util, bound, bound / (double)report->cycles);
  if (bench_tccg[i].published && strcmp(q->name, "8700g-turbo") == 0)
    text_printf(&keys, " published_util=%.2f rival=\"thesis\"",
                bench_tccg[i].published / 100.0);
  text_puts(&keys, " ");
  keys_put_packed(r, &keys);
  keys_print(t, "%s\n", text_string(&keys));
  text_free(&keys);
}

static bool run_one(struct tool *t, void *context) {
  const struct run *x = context;
  struct npu_result r = {0};
  struct teir_problem p;
  struct sim_report report = {0};
  struct sim_options options = {.preset = x->preset};
  const struct teir *teir = make_teir(t, x->index);
  bool good = teir && teir_problem_read(teir, &p, &t->diag) &&
              npu_compile(t->arena, x->preset->name, teir, 0, &r, &t->diag) &&
              simulate(&r, &options, NULL, &report, &t->diag);
  if (good)
    print(t, x->index, x->preset, &r, &p, &report);
  npu_result_free(&r);
  return good;
}

bool bench_einsums(struct tool *t, const struct preset *q, const char *only) {
  for (int i = 0; i < BENCH_TCCG; i++)
    if (!only || bench_means_einsum(only, i))
      if (!tool_nested(t, run_one, &(struct run){i, q}))
        return false;
  return true;
}
