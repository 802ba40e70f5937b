/* contraction.c -- prints contractions: a line per axis, as an einsum, and as
 * the sizes of the einsum's letters. */
#include "recognizer_parts.h"

#include <stdlib.h>

const char *axis_role_name(enum axis_role r) {
  static const char *const name[] = {"C", "M", "N", "K"};
  return name[r];
}

static const char *const tensor_name[TENSORS] = {"in0", "in1", "out"};

static void print_value(const struct contraction *c, struct value v,
                        struct text *t) {
  if (v.symbol >= 0)
    text_puts(t, c->symbol[v.symbol]);
  else
    text_printf(t, "%lld", (long long)v.constant);
}

/* x0, x1, .. in the tail. */
static void print_extras(const struct contraction *c, struct text *t) {
  for (int i = 0; i < c->extra_count; i++)
    text_printf(t, "%s x%d %s\n", c->extra[i].tensor < 0 ? "number" : "tensor",
                i, dtype_name(c->extra[i].type));
}

static void print_tail(const struct contraction *c, struct text *t) {
  char extra[CALC_INPUTS][16];
  const char *name[CALC_INPUTS] = {"sum", "out"};
  for (int i = 0; i < c->extra_count; i++) {
    snprintf(extra[i], sizeof extra[i], "x%d", i);
    name[TAIL_EXTRA + i] = extra[i];
  }
  text_printf(t, "sum %s\nout = ", dtype_name(c->acc));
  calc_print(c->tail, name, t);
  text_puts(t, "\n");
}

static void print_stride(const struct contraction *c, const char *tensor,
                         struct value stride, struct text *t) {
  if (value_is(stride, 0))
    return;
  text_printf(t, " %s ", tensor);
  print_value(c, stride, t);
}

static void print_axis(const struct contraction *c, int i, struct text *t) {
  const struct contraction_axis *x = &c->axis[i];
  text_printf(t, "axis %s %s ", x->name, axis_role_name(x->role));
  print_value(c, x->extent, t);
  for (int n = 0; n < TENSORS; n++)
    print_stride(c, tensor_name[n], x->stride_bytes[n], t);
  for (int e = 0; e < c->extra_count; e++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", e);
    print_stride(c, name, c->extra[e].stride_bytes[i], t);
  }
  text_puts(t, "\n");
}

void contraction_print(const struct contraction *c, struct text *t) {
  for (int i = 0; i < TENSORS; i++)
    text_printf(t, "tensor %s %s\n", tensor_name[i], dtype_name(c->type[i]));
  print_extras(c, t);
  if (c->tail)
    print_tail(c, t);
  else
    text_printf(t, "sum %s %s\n", dtype_name(c->acc),
                c->accumulate ? "onto out" : "from zero");
  for (int i = 0; i < c->axis_count; i++)
    print_axis(c, i, t);
  for (int i = 0; i < c->extra_count; i++)
    if (c->extra[i].not_out)
      text_printf(t, "guard x%d is not out\n", i);
  for (int i = 0; i < c->guard_count; i++) {
    text_puts(t, "guard ");
    print_value(c, c->guard[i].large, t);
    text_puts(t, " >= ");
    print_value(c, c->guard[i].small, t);
    text_puts(t, " * ");
    print_value(c, c->guard[i].count, t);
    text_puts(t, "\n");
  }
}

/* The n-th axis of a role, in source order, has the n-th letter of its row. */
static char letter(const struct contraction *c, int axis) {
  static const char row[][8] = {"cbdg", "mxyz", "npqr", "kluv"};
  int n = 0;
  for (int i = 0; i < axis; i++)
    n += c->axis[i].role == c->axis[axis].role;
  return n < 4 ? row[c->axis[axis].role][n] : (char)('A' + axis % 26);
}

/* Constant strides are taken for smaller than run-time ones, of which an outer
 * loop has the larger. */
static bool faster(const struct contraction_axis *a,
                   const struct contraction_axis *b, int tensor) {
  struct value x = a->stride_bytes[tensor], y = b->stride_bytes[tensor];
  if ((x.symbol < 0) != (y.symbol < 0))
    return x.symbol < 0;
  return x.symbol < 0 && llabs(x.constant) < llabs(y.constant);
}

static void print_tensor(const struct contraction *c, int tensor,
                         struct text *t) {
  int order[64], count = 0;
  for (int i = 0; i < c->axis_count && count < 64; i++) {
    if (value_is(c->axis[i].stride_bytes[tensor], 0))
      continue;
    int at = count++;
    while (at > 0 && faster(&c->axis[order[at - 1]], &c->axis[i], tensor)) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
  for (int i = 0; i < count; i++)
    text_printf(t, "%c", letter(c, order[i]));
}

void contraction_einsum(const struct contraction *c, struct text *t) {
  print_tensor(c, IN0, t);
  text_puts(t, ",");
  print_tensor(c, IN1, t);
  text_puts(t, "->");
  print_tensor(c, OUT, t);
}

void contraction_sizes(const struct contraction *c, struct text *t) {
  for (int i = 0; i < c->axis_count; i++) {
    text_printf(t, "%s%c=", i ? " " : "", letter(c, i));
    print_value(c, c->axis[i].extent, t);
  }
}
