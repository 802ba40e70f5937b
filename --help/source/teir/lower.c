/* lower.c -- a primitive in; the kernel that it matches and the kernel's
 * parameters out, or the pattern that it misses (section 10.6).
 *
 * On every tensor one role axis has unit stride and one carries the leading
 * dimension, which spans the dense axis, as BLAS demands.
 */
#include "teir_build.h"
#include "teir_lower.h"

#include <assert.h>

static const char role_letter[TEIR_ROLES] = {'M', 'N', 'K'};

const char *teir_kernel_name(enum teir_kernel k) {
  static const char *const name[] = {"Scalar", "GEMM", "BRGEMM", "Elements"};
  return name[k];
}

/* One primitive on its way to a call; axis[r] is the axis of role r that the
 * matrix product itself uses, -1 for none. */
struct lowering {
  const struct teir *t;
  const struct teir_primitive *p;
  struct teir_call *call;
  int axis[TEIR_ROLES];
  struct diag *d;
};

static bool size_known(const struct lowering *l, const struct teir_axis *x,
                       struct value s) {
  if (s.symbol < 0)
    return true;
  return diag_error(l->d, l->p->at,
                    "primitive %s: axis %s depends on the unbound symbol %s",
                    l->p->id, x->id, l->t->symbol[s.symbol]);
}

static bool sizes_known(const struct lowering *l) {
  for (int r = 0; r < TEIR_ROLES; r++)
    for (int i = 0; i < l->p->role[r].count; i++) {
      const struct teir_axis *x = &l->t->axis[l->p->role[r].item[i]];
      if (!size_known(l, x, x->extent))
        return false;
      for (int j = 0; j < l->call->operand_count; j++)
        if (!size_known(l, x, x->stride_bytes[l->call->operand[j]]))
          return false;
    }
  return true;
}

static int64_t extent(const struct lowering *l, enum teir_role r) {
  return l->axis[r] < 0 ? 1 : l->t->axis[l->axis[r]].extent.constant;
}

/* The stride of axis `x` on an operand in elements; false: no whole number. */
static bool elements(const struct lowering *l, int x, int operand,
                     int64_t *stride) {
  int tensor = l->call->operand[operand];
  assert(operand < l->call->operand_count && tensor >= 0);
  int64_t bytes = l->t->axis[x].stride_bytes[tensor].constant;
  int width = dtype_bytes(l->t->tensor[tensor].type);
  *stride = bytes / width;
  return bytes % width == 0 ||
         diag_declined(l->d, l->p->at,
                       "primitive %s: the stride of %s on %s is %lld bytes, no "
                       "multiple of the element's %d",
                       l->p->id, l->t->axis[x].id, l->t->tensor[tensor].id,
                       (long long)bytes, width);
}

/* May r0 lie densely and r1 carry the leading dimension `stride`?  That spans a
 * row; where there is one row only, any stride does. */
static bool leads(const struct lowering *l, enum teir_role r0,
                  enum teir_role r1, int64_t stride) {
  return extent(l, r1) == 1 || stride >= extent(l, r0);
}

/* Operand `o` spans roles r0 and r1: one dense, one with the leading
 * dimension. */
static bool match_pair(struct lowering *l, int o, enum teir_role r0,
                       enum teir_role r1) {
  int64_t s0, s1;
  if (!elements(l, l->axis[r0], o, &s0) || !elements(l, l->axis[r1], o, &s1))
    return false;
  bool first = s0 == 1 && leads(l, r0, r1, s1);
  bool second = s1 == 1 && leads(l, r1, r0, s0);
  if (!first && !second && ((s0 == 1 && s1 > 0) || (s1 == 1 && s0 > 0)))
    return diag_declined(
        l->d, l->p->at,
        "primitive %s: strides on %s are %lld for %c and %lld for %c elements; "
        "a leading dimension is not shorter than the row of %lld",
        l->p->id, l->t->tensor[l->call->operand[o]].id, (long long)s0,
        role_letter[r0], (long long)s1, role_letter[r1],
        (long long)extent(l, s0 == 1 ? r0 : r1));
  if (!first && !second)
    return diag_declined(
        l->d, l->p->at,
        "primitive %s: strides on %s are %lld for %c and %lld for %c elements; "
        "one must be 1 and the other a leading dimension",
        l->p->id, l->t->tensor[l->call->operand[o]].id, (long long)s0,
        role_letter[r0], (long long)s1, role_letter[r1]);
  if (first && second) /* one has a single element: that lies densely */
    first = extent(l, r0) == 1 || extent(l, r1) != 1;
  int64_t row = extent(l, first ? r0 : r1), ld = first ? s1 : s0;
  l->call->unit[o] = first ? r0 : r1;
  l->call->ld[o] = ld < row ? row : ld;
  assert(l->call->ld[o] >= row && row > 0);
  return true;
}

/* The axis of a role must not move an operand that the role does not span. */
static bool match_absent(struct lowering *l, int o, enum teir_role r) {
  int tensor = l->call->operand[o];
  int64_t bytes = l->t->axis[l->axis[r]].stride_bytes[tensor].constant;
  return bytes == 0 ||
         diag_declined(l->d, l->p->at,
                       "primitive %s: the %c axis %s moves %s by %lld bytes",
                       l->p->id, role_letter[r], l->t->axis[l->axis[r]].id,
                       l->t->tensor[tensor].id, (long long)bytes);
}

static bool match_gemm(struct lowering *l) {
  if (!match_pair(l, IN0, TEIR_M, TEIR_K) ||
      !match_pair(l, IN1, TEIR_K, TEIR_N) ||
      !match_pair(l, OUT, TEIR_M, TEIR_N) || !match_absent(l, IN0, TEIR_N) ||
      !match_absent(l, IN1, TEIR_M) || !match_absent(l, OUT, TEIR_K))
    return false;
  l->call->kernel = TEIR_KERNEL_GEMM;
  if (l->p->role[TEIR_K].count == 1)
    return true;
  int batch = l->p->role[TEIR_K].item[0];
  l->call->kernel = TEIR_KERNEL_BRGEMM;
  l->call->br_size = l->t->axis[batch].extent.constant;
  int64_t moved;
  if (!elements(l, batch, OUT, &moved))
    return false;
  if (moved != 0)
    return diag_declined(l->d, l->p->at,
                         "primitive %s: the outer K axis %s moves the output",
                         l->p->id, l->t->axis[batch].id);
  return elements(l, batch, IN0, &l->call->br_stride[IN0]) &&
         elements(l, batch, IN1, &l->call->br_stride[IN1]);
}

static bool lower_contraction(struct lowering *l) {
  int m = l->p->role[TEIR_M].count, n = l->p->role[TEIR_N].count;
  int k = l->p->role[TEIR_K].count;
  if (m == 0 && n == 0 && k == 0)
    return true;
  if (m != 1 || n != 1 || k < 1 || k > 2)
    return diag_declined(l->d, l->p->at,
                         "primitive %s has %d, %d and %d axes in M, N and K; "
                         "Scalar takes 0, 0, 0, GEMM 1, 1, 1 and BRGEMM 1, 1, "
                         "2",
                         l->p->id, m, n, k);
  l->axis[TEIR_M] = l->p->role[TEIR_M].item[0];
  l->axis[TEIR_N] = l->p->role[TEIR_N].item[0];
  l->axis[TEIR_K] = l->p->role[TEIR_K].item[k - 1];
  assert(l->call->operand_count == 3);
  return match_gemm(l);
}

/* Element-wise: rows M[0], columns N[0], as the worked examples give them. */
static bool lower_elements(struct lowering *l) {
  int m = l->p->role[TEIR_M].count, n = l->p->role[TEIR_N].count;
  if (m == 0 && n == 0)
    return true;
  if (l->p->op == TEIR_MAP)
    return diag_declined(l->d, l->p->at,
                         "primitive %s has axes; no kernel maps blocks, only "
                         "Scalar one element",
                         l->p->id);
  if (m != 1 || n != 1)
    return diag_declined(l->d, l->p->at,
                         "primitive %s has %d and %d axes in M and N; a kernel "
                         "takes one of each, or none",
                         l->p->id, m, n);
  l->axis[TEIR_M] = l->p->role[TEIR_M].item[0];
  l->axis[TEIR_N] = l->p->role[TEIR_N].item[0];
  for (int o = 0; o < l->call->operand_count; o++)
    if (!match_pair(l, o, TEIR_M, TEIR_N))
      return false;
  l->call->kernel = TEIR_KERNEL_ELEMENTS;
  return true;
}

bool teir_lower(const struct teir *t, int primitive, struct teir_call *call,
                struct diag *d) {
  const struct teir_primitive *p = &t->primitive[primitive];
  *call = (struct teir_call){
      .kernel = TEIR_KERNEL_SCALAR, .op = p->op, .br_size = 1};
  for (int i = 0; i < teir_input_count(t, primitive); i++)
    call->operand[call->operand_count++] = teir_input(t, primitive, i);
  call->operand[call->operand_count++] = teir_output(t, primitive);
  assert(call->operand_count <= TEIR_OPERANDS);
  struct lowering l = {t, p, call, {-1, -1, -1}, d};
  if (!sizes_known(&l) ||
      !(p->op == TEIR_CONTRACTION ? lower_contraction(&l) : lower_elements(&l)))
    return false;
  call->m = extent(&l, TEIR_M);
  call->n = extent(&l, TEIR_N);
  call->k = extent(&l, TEIR_K);
  return true;
}

static const char *major(const struct teir_call *c, int operand) {
  bool row = c->op != TEIR_CONTRACTION ? c->unit[operand] == TEIR_N
             : operand == 0            ? c->unit[0] == TEIR_K
                                       : c->unit[operand] == TEIR_N;
  return row ? "row-major" : "column-major";
}

void teir_call_print(const struct teir *t, int primitive,
                     const struct teir_call *c, struct text *to) {
  static const char *const ld[] = {"lda", "ldb", "ldc"};
  bool product = c->op == TEIR_CONTRACTION;
  text_printf(to, "%s: %s", t->primitive[primitive].id,
              product ? teir_kernel_name(c->kernel) : teir_op_name(c->op));
  for (int i = 0; i < c->operand_count; i++)
    text_printf(to, "%s%s", i ? "," : " ",
                dtype_name(t->tensor[c->operand[i]].type));
  if (c->kernel == TEIR_KERNEL_SCALAR) {
    text_puts(to, product ? "\n" : " Scalar\n");
    return;
  }
  text_printf(to, product ? " M=%lld N=%lld" : " rows=%lld columns=%lld",
              (long long)c->m, (long long)c->n);
  if (product)
    text_printf(to, " K=%lld", (long long)c->k);
  /* an element-wise output is B, also when there is no A */
  int first = c->operand_count == 1 ? 1 : 0;
  for (int i = 0; i < c->operand_count; i++)
    text_printf(to, " %s=%lld", ld[first + i], (long long)c->ld[i]);
  if (c->kernel == TEIR_KERNEL_BRGEMM)
    text_printf(to, " brSize=%lld brStrA=%lld brStrB=%lld",
                (long long)c->br_size, (long long)c->br_stride[0],
                (long long)c->br_stride[1]);
  for (int i = 0; i < c->operand_count; i++)
    text_printf(to, "%s%s %s", i ? ", " : " ", t->tensor[c->operand[i]].id,
                major(c, i));
  text_puts(to, "\n");
}
