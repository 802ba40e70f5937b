/* check.c -- what one launch takes, whatever its blocks. */
#include "choose.h"

bool array_check_types(const struct platform *at, const struct teir_problem *p,
                       struct diag *d) {
  const char *in0 = dtype_name(p->type[IN0]), *in1 = dtype_name(p->type[IN1]),
             *acc = dtype_name(p->acc), *out = dtype_name(p->type[OUT]);
  const struct isa *isa = map_isa(at->device);
  struct kernel_shape unit;
  if (!kernel_shape(isa, p->type[IN0], p->type[IN1], p->acc, &unit))
    return diag_declined(d, loc_none(), "no kernel for %s x %s -> %s", in0, in1,
                         acc);
  if (kernel_gemm_passes(isa, p->type[IN0], p->type[IN1], p->acc) > 1)
    return diag_declined(d, loc_none(),
                         "%s x %s -> %s: its kernel reads inputs in two "
                         "halves, and nothing brings these to the cores",
                         in0, in1, acc);
  if (dtype_kind(p->acc) == DTYPE_FLOAT && p->acc != DTYPE_F32)
    return diag_declined(d, loc_none(),
                         "sums in %s: a core keeps them in memory between "
                         "steps of k, and float sums stay in f32",
                         acc);
  if (p->finish.bias && !kernel_narrow_adds(isa, p->acc))
    return diag_declined(d, loc_none(), "no kernel adds a bias to sums in %s",
                         acc);
  if (map_finishes(p) && !kernel_narrow_unit(isa, p->acc, p->type[OUT]))
    return diag_declined(d, loc_none(), "no kernel makes %s%s of sums in %s",
                         out, p->finish.relu ? " by a relu" : "", acc);
  bool narrower =
      dtype_kind(p->type[OUT]) != DTYPE_FLOAT && p->acc != p->type[OUT];
  if (p->finish.shift < 0 || p->finish.shift > 31 ||
      (p->finish.shift && !p->finish.saturate) ||
      (p->finish.saturate && !narrower))
    return diag_declined(d, loc_none(),
                         "shift %d from %s to %s; integers that become "
                         "narrower take 0 to 31 and saturate",
                         p->finish.shift, acc, out);
  return true;
}

bool array_check_extents(const struct teir_problem *p, struct diag *d) {
  const int64_t *extent = p->extent, most = (int64_t)MAX_STEPS * 16;
  for (int r = AXIS_M; r <= AXIS_K; r++) {
    if (extent[r] < 1)
      return diag_error(d, loc_none(), "%lldx%lldx%lld: extents are positive",
                        (long long)extent[AXIS_M], (long long)extent[AXIS_N],
                        (long long)extent[AXIS_K]);
    if (extent[r] > most)
      return diag_declined(d, loc_none(),
                           "%lldx%lldx%lld: one launch takes extents up to "
                           "%lld",
                           (long long)extent[AXIS_M], (long long)extent[AXIS_N],
                           (long long)extent[AXIS_K], (long long)most);
  }
  return true;
}
