/* path.c -- the contraction path of a product of three factors: the first root
 * of its program makes an intermediate of in2 and in3, which is in0 or in1 of
 * the product that the other roots are.
 *
 * One call does both: the nest is done or left to its loop as a whole, and the
 * runtime, which has the sizes, finds the memory of the intermediate, whose
 * address in the call is ignored.  Until the second product writes out, nothing
 * that the program can see has changed. */
#include "parts.h"
#include "teir_transform.h"

#include <assert.h>

/* More is memory that the program may not have left. */
enum { INTERMEDIATE_BYTES = 1 << 30 };

/* The first root over in2, in3 and input `to`; NULL: it is no such program. */
static const struct teir *first_over(struct arena *a, const struct teir *t,
                                     int to) {
  static const char *const id[TENSORS] = {"in0", "in1", "out"};
  const int tensor[TENSORS] = {t->tensor_count - 2, t->tensor_count - 1, to};
  struct diag d = {0};
  struct teir *first = teir_slice(a, t, 0, 1, tensor, TENSORS, &d);
  for (int i = 0; first && i < TENSORS; i++)
    first->tensor[i].id = id[i];
  return first;
}

bool path_read(struct arena *a, const struct teir *t, struct path *c,
               struct diag *d) {
  int in2 = teir_find_tensor(t, "in2"), kept[PRODUCT_TENSORS];
  *c = (struct path){.product = t};
  if (in2 < 0)
    return true;
  if (in2 == t->tensor_count - 2 && in2 <= PRODUCT_TENSORS && t->roots.count &&
      !t->limit_count) {
    for (int i = 0; i < in2; i++)
      kept[i] = i;
    c->product = teir_slice(a, t, 1, t->roots.count - 1, kept, in2, d);
    while (!(c->first = first_over(a, t, c->to)) && c->to < IN1)
      c->to++;
    if (!c->product || c->first)
      return c->product;
  }
  return diag_declined(d, loc_none(),
                       "in2 and in3 do not make an input of the product");
}

/* Do out and input t of the first product share no byte? */
static bool apart(const struct product *first, const struct product *p, int t,
                  const char *in, const char *out, struct diag *d) {
  int64_t in_bytes = 0, out_bytes = 0;
  uint64_t x = (uint64_t)(uintptr_t)in + (uint64_t)first->offset[t];
  uint64_t y = (uint64_t)(uintptr_t)out + (uint64_t)p->offset[OUT];
  product_span(first, t, &in_bytes);
  product_span(p, OUT, &out_bytes);
  return (x < y ? y - x >= (uint64_t)in_bytes : x - y >= (uint64_t)out_bytes) ||
         diag_declined(d, loc_none(), "out overlaps in%d", 2 + t);
}

static double iterations(const struct product *p) {
  double n = 1;
  for (int role = 0; role < AXIS_ROLES; role++)
    n *= (double)p->extent[role];
  return n;
}

static bool pays(const struct product *first, const struct product *p,
                 struct diag *d) {
  double summed = (double)first->extent[AXIS_K];
  struct contraction_cost cost = {.first = iterations(first),
                                  .second = iterations(p),
                                  .elements = iterations(first) / summed,
                                  .iterations = iterations(p) * summed};
  return contraction_pays(cost) ||
         diag_declined(d, loc_none(),
                       "in two steps %.0f multiplications and %.0f elements "
                       "between them; the loop multiplies %.0f times",
                       cost.first + cost.second, cost.elements,
                       2 * cost.iterations);
}

void *path_intermediate(struct arena *a, const struct path *c,
                        const struct product *first, const struct product *p,
                        void *const tensor[], struct diag *d) {
  int64_t made = 0, read = 0;
  assert(c->first && (c->to == IN0 || c->to == IN1));
  product_span(first, OUT, &made);
  product_span(p, c->to, &read);
  if (first->empty_out || first->type[OUT] != p->type[c->to] || read > made ||
      first->offset[OUT] || p->offset[c->to]) {
    diag_declined(d, loc_none(), "the first root does not make all of in%d",
                  c->to);
    return NULL;
  }
  for (int t = 0; t < 2; t++)
    if (!apart(first, p, t, tensor[p->tensor_count + t], tensor[OUT], d))
      return NULL;
  if (!pays(first, p, d))
    return NULL;
  if (made <= INTERMEDIATE_BYTES)
    return arena_alloc(a, (size_t)made);
  diag_declined(d, loc_none(), "no memory for an intermediate of %lld bytes",
                (long long)made);
  return NULL;
}
