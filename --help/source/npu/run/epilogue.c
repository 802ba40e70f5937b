/* epilogue.c -- what becomes of a product's sums on their way to out: an
 * element-wise expression over the sum, out's old content and other tensors, or
 * where out has another type than the device's sums, a conversion. */
#include "parts.h"

#include <assert.h>

struct epilogue {
  const struct product *p;
  const struct calc_program *program;
  void *const *tensor;
  int input_count, input[CALC_INPUTS]; /* tensors; -1: not used */
  int64_t *offset[PRODUCT_TENSORS][AXIS_ROLES];
};

/* ---- the expression ---- */

/* `c` with `by` in the place of an input. */
static const struct calc *replaced(struct arena *a, const struct calc *c,
                                   int input, const struct calc *by) {
  if (c->op == CALC_INPUT && c->input == input)
    return by;
  struct calc *copy = arena_copy(a, c, 1, 1, sizeof *c);
  for (int i = 0; i < calc_operands(c->op); i++)
    copy->arg[i] = replaced(a, c->arg[i], input, by);
  return copy;
}

/* out = sum, or out + sum. */
static const struct calc *plain_epilogue(struct arena *a,
                                         const struct product *p) {
  const struct calc *sum = calc_input(a, TAIL_SUM, p->acc);
  if (!p->accumulate)
    return sum;
  return calc_make(a, CALC_ADD, calc_input(a, TAIL_OUT, p->acc), sum, NULL);
}

/* A sum of type `from` as the expression wants it. */
static const struct calc *sum_input(struct arena *a, const struct product *p,
                                    enum dtype from, int input) {
  const struct calc *sum = calc_input(a, input, from);
  return from == p->acc ? sum : calc_cast(a, p->acc, sum);
}

static const struct calc *no_sum(struct arena *a, const struct product *p) {
  return dtype_kind(p->acc) == DTYPE_FLOAT ? calc_float(a, p->acc, 0)
                                           : calc_int(a, p->acc, 0);
}

/* Where the sum comes from: `from`, or nowhere. */
static void compile(struct arena *a, struct epilogue *t,
                    const enum dtype *from) {
  static const int plain[] = {SUMS, OUT};
  const struct product *p = t->p;
  const struct calc *c = p->epilogue ? p->epilogue : plain_epilogue(a, p);
  t->input_count = p->epilogue ? p->input_count : 2;
  for (int i = 0; i < t->input_count; i++) {
    int tensor = p->epilogue ? p->input[i] : plain[i];
    t->input[i] = calc_uses(c, i) ? tensor : -1;
    if (t->input[i] != SUMS)
      continue;
    c = replaced(a, c, i, from ? sum_input(a, p, *from, i) : no_sum(a, p));
    if (!from)
      t->input[i] = -1;
  }
  for (int i = 0; i < t->input_count; i++) /* no sum is read that none makes */
    assert(from || t->input[i] != SUMS);
  t->program = calc_compile(a, c);
}

static void make_offsets(struct arena *a, struct epilogue *t, int tensor) {
  for (int role = AXIS_C; role < AXIS_K; role++) {
    int64_t **offset = &t->offset[tensor][role];
    if (!*offset)
      *offset = product_new_offsets(a, t->p, (enum axis_role)role, tensor);
  }
}

static struct epilogue *make(struct arena *a, const struct product *p,
                             const enum dtype *from, void *const tensor[]) {
  struct epilogue *t = arena_alloc(a, sizeof *t);
  t->p = p;
  t->tensor = tensor;
  compile(a, t, from);
  make_offsets(a, t, OUT);
  for (int i = 0; i < t->input_count; i++)
    if (t->input[i] >= 0 && t->input[i] != SUMS)
      make_offsets(a, t, t->input[i]);
  return t;
}

struct epilogue *epilogue_make(struct arena *a, const struct product *p,
                               enum dtype sum, void *const tensor[]) {
  return make(a, p, &sum, tensor);
}

/* ---- store ---- */

static struct pack_matrix matrix_of(const struct epilogue *t, int tensor,
                                    int64_t c) {
  int64_t *const *offset = t->offset[tensor];
  assert(offset[AXIS_C] && offset[AXIS_M] && offset[AXIS_N]);
  assert(c >= 0 && c < t->p->extent[AXIS_C]);
  return (struct pack_matrix){(char *)t->tensor[tensor] + t->p->offset[tensor] +
                                  offset[AXIS_C][c],
                              offset[AXIS_M], offset[AXIS_N]};
}

void epilogue_store(const struct epilogue *t, const struct pack_matrix *sum,
                    int64_t c) {
  struct map_operands o = {0};
  for (int i = 0; i < t->input_count; i++)
    if (t->input[i] >= 0) {
      assert(sum || t->input[i] != SUMS);
      o.input[o.count] = i;
      o.x[o.count++] =
          t->input[i] == SUMS ? *sum : matrix_of(t, t->input[i], c);
    }
  o.x[o.count++] = matrix_of(t, OUT, c);
  map_block(t->program, &o, t->p->extent[AXIS_M], t->p->extent[AXIS_N]);
}

void epilogue_store_empty(const struct product *p, void *const tensor[]) {
  struct arena *a = arena_open();
  struct epilogue *t = make(a, p, NULL, tensor);
  for (int64_t c = 0; c < p->extent[AXIS_C]; c++)
    epilogue_store(t, NULL, c);
  arena_close(a);
}
