/* contraction.c -- prints contractions: a line per axis, as an einsum, and as
 * the sizes of the einsum's letters. */
#include "recognizer_parts.h"

#include <stdlib.h>
#include <string.h>

const char *axis_role_name(enum axis_role r) {
  static const char *const name[] = {"C", "M", "N", "K"};
  return name[r];
}

/* An element of an intermediate is written and read, which takes as long as
 * about four multiplications. */
double contraction_work(struct contraction_cost c) {
  return c.first + c.second + 4 * c.elements;
}

bool contraction_pays(struct contraction_cost c) {
  return contraction_work(c) < 2 * c.iterations;
}

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

/* "out = max(add(sum,x0),f32:0)"; extras are inputs from `extra` on. */
static void print_calc(const struct contraction *c, const char *result,
                       const struct calc *calc, const char *const *input,
                       int extra, struct text *t) {
  char id[CALC_INPUTS][16];
  const char *name[CALC_INPUTS] = {NULL};
  for (int i = 0; i < extra; i++)
    name[i] = input[i];
  for (int i = 0; i < c->extra_count; i++) {
    snprintf(id[i], sizeof id[i], "x%d", i);
    name[extra + i] = id[i];
  }
  text_printf(t, "%s = ", result);
  calc_print(calc, name, t);
  text_puts(t, "\n");
}

static void print_tail(const struct contraction *c, struct text *t) {
  static const char *const input[] = {"sum", "out"};
  text_printf(t, "sum %s\n", dtype_name(c->acc));
  print_calc(c, "out", c->tail, input, TAIL_EXTRA, t);
}

static void print_stride(const struct contraction *c, const char *tensor,
                         struct value stride, struct text *t) {
  if (value_is(stride, 0))
    return;
  text_printf(t, " %s ", tensor);
  print_value(c, stride, t);
}

static void print_axis(const struct contraction *c, int i,
                       const char *const *tensor, struct text *t) {
  const struct contraction_axis *x = &c->axis[i];
  text_printf(t, "axis %s %s ", x->name, axis_role_name(x->role));
  print_value(c, x->extent, t);
  for (int n = 0; n < TENSORS; n++)
    print_stride(c, tensor[n], x->stride_bytes[n], t);
  for (int e = 0; e < c->extra_count; e++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", e);
    print_stride(c, name, c->extra[e].stride_bytes[i], t);
  }
  text_puts(t, "\n");
}

static void print_limit(const struct contraction *c,
                        const struct affine_guard *l, struct text *t) {
  text_puts(t, "limit ");
  print_value(c, l->start, t);
  for (int i = 0; i < c->axis_count; i++)
    if (!value_is(l->step[i], 0)) {
      text_printf(t, " + %s*", c->axis[i].name);
      print_value(c, l->step[i], t);
    }
  text_puts(t, l->below ? " < 0\n" : " >= 0\n");
}

static void print_steps_over(const struct contraction *c, struct value large,
                             struct value small, struct value count,
                             struct text *t) {
  print_value(c, large, t);
  text_puts(t, " >= ");
  print_value(c, small, t);
  text_puts(t, " * ");
  print_value(c, count, t);
}

static void print_guards(const struct contraction *c, struct text *t) {
  for (int i = 0; i < c->extra_count; i++)
    if (c->extra[i].not_out)
      text_printf(t, "guard x%d is not out\n", i);
  for (int i = 0; i < c->guard_count; i++) {
    const struct contraction_guard *g = &c->guard[i];
    text_puts(t, "guard ");
    print_steps_over(c, g->large, g->small, g->count, t);
    if (g->either) {
      text_puts(t, " or ");
      print_steps_over(c, g->small, g->large, g->turned, t);
    }
    text_puts(t, "\n");
  }
}

static void print_products(const struct contraction *c, struct text *t) {
  for (int i = 0; i < c->product_count; i++) {
    print_value(c, (struct value){0, c->symbol_count - c->product_count + i},
                t);
    text_puts(t, " = ");
    print_value(c, c->product[i].factor[0], t);
    text_puts(t, " * ");
    print_value(c, c->product[i].factor[1], t);
    text_puts(t, "\n");
  }
}

static void print_step(const struct contraction *c, const char *const *tensor,
                       struct text *t) {
  for (int i = 0; i < TENSORS; i++)
    text_printf(t, "tensor %s %s\n", tensor[i], dtype_name(c->type[i]));
  print_extras(c, t);
  for (int i = IN0; i <= IN1; i++)
    if (c->map[i])
      print_calc(c, tensor[i], c->map[i], &tensor[i], MAP_EXTRA, t);
  if (c->tail)
    print_tail(c, t);
  else
    text_printf(t, "sum %s %s\n", dtype_name(c->acc),
                c->accumulate ? "onto out" : "from zero");
  for (int i = 0; i < c->axis_count; i++)
    print_axis(c, i, tensor, t);
}

void contraction_print(const struct contraction *c, struct text *t) {
  static const char *const name[TENSORS] = {"in0", "in1", "out"};
  if (c->first) {
    const char *of_first[TENSORS] = {"in2", "in3", name[c->intermediate]};
    print_products(c, t);
    print_step(c->first, of_first, t);
  }
  print_step(c, name, t);
  for (int i = 0; i < c->limit_count; i++)
    print_limit(c, &c->limit[i], t);
  print_guards(c, t);
}

/* Axes of both steps in one row: those of c, then those that only c->first
 * has, because it sums over them. */
static int number_of(const struct contraction *c,
                     const struct contraction *step, int axis) {
  if (step == c)
    return axis;
  if (step->axis[axis].role == AXIS_K)
    return c->axis_count + axis;
  int i = 0;
  while (strcmp(c->axis[i].name, step->axis[axis].name) != 0)
    i++;
  return i;
}

static enum axis_role role_of(const struct contraction *c, int number) {
  return number < c->axis_count ? c->axis[number].role
                                : c->first->axis[number - c->axis_count].role;
}

/* The n-th axis of a role, in source order, has the n-th letter of its row. */
static char letter(const struct contraction *c, int number) {
  static const char row[][8] = {"cbdg", "mxyz", "npqr", "kluv"};
  enum axis_role role = role_of(c, number);
  int n = 0;
  for (int i = 0; i < number; i++)
    n += role_of(c, i) == role;
  return n < 4 ? row[role][n] : (char)('A' + number % 26);
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

/* A tensor of `step`, which is c or c->first. */
static void print_tensor(const struct contraction *c,
                         const struct contraction *step, int tensor,
                         struct text *t) {
  int order[64], count = 0;
  for (int i = 0; i < step->axis_count && count < 64; i++) {
    const struct contraction_axis *x = step->axis;
    if (value_is(x[i].stride_bytes[tensor], 0))
      continue;
    int at = count++;
    while (at > 0 && faster(&x[order[at - 1]], &x[i], tensor)) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
  for (int i = 0; i < count; i++)
    text_printf(t, "%c", letter(c, number_of(c, step, order[i])));
}

/* An input, or in the place of an intermediate the two that it is made of. */
static void print_input(const struct contraction *c, int tensor,
                        struct text *t) {
  if (!c->first || tensor != c->intermediate) {
    print_tensor(c, c, tensor, t);
    return;
  }
  print_tensor(c, c->first, IN0, t);
  text_puts(t, ",");
  print_tensor(c, c->first, IN1, t);
}

void contraction_einsum(const struct contraction *c, struct text *t) {
  print_input(c, IN0, t);
  text_puts(t, ",");
  print_input(c, IN1, t);
  text_puts(t, "->");
  print_tensor(c, c, OUT, t);
}

static void print_size(const struct contraction *c, int number,
                       struct value extent, struct text *t) {
  text_printf(t, "%s%c=", number ? " " : "", letter(c, number));
  print_value(c, extent, t);
}

void contraction_sizes(const struct contraction *c, struct text *t) {
  for (int i = 0; i < c->axis_count; i++)
    print_size(c, i, c->axis[i].extent, t);
  for (int i = 0; c->first && i < c->first->axis_count; i++)
    if (c->first->axis[i].role == AXIS_K)
      print_size(c, c->axis_count + i, c->first->axis[i].extent, t);
}
