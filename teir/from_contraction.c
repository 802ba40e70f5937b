/* from_contraction.c -- the plain, untiled TEIR of a contraction: its loops
 * over C, M and N axes in the source's order, then those over K, around one
 * scalar multiply-add; a Zero where the reduction begins, unless the source
 * adds to what is there.
 *
 * With a tail the sum is formed in a tensor `sum` of one element, which is
 * zeroed where the reduction begins and which a Map takes to out behind it:
 * tensors in0, in1, out, sum, x0, x1, .., where the extras are.
 *
 * What is made of an input's element before it is multiplied has a tensor of
 * one element, too: e0 or e1, behind the extras, which a Map makes in front of
 * every multiply-add.
 *
 * Of two contractions the first stands in front, in loops of its own: in2 and
 * in3, the last tensors, make in0 or in1, the intermediate.
 */
#include "recognizer.h"
#include "teir_build.h"

#include <ctype.h>

/* A contraction among the program's tensors and axes. */
struct step {
  const struct contraction *c;
  int tensor[TENSORS];
  int axis; /* the first of its own */
};

/* The loop's name, made fit for the text form and unique. */
static const char *axis_id(struct arena *a, const struct teir *t,
                           const char *name) {
  char *id = arena_string(a, name && *name ? name : "x");
  for (char *c = id; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
      *c = '_';
  return teir_fresh_axis(a, t, id);
}

static void add_axes(struct arena *a, struct teir *t, struct step *s) {
  const struct contraction *c = s->c;
  s->axis = t->axis_count;
  for (int i = 0; i < c->axis_count; i++) {
    const struct contraction_axis *from = &c->axis[i];
    int x = teir_add_axis(a, t, axis_id(a, t, from->name), from->extent);
    for (int j = 0; j < TENSORS; j++)
      t->axis[x].stride_bytes[s->tensor[j]] = from->stride_bytes[j];
    for (int j = 0; j < c->extra_count; j++)
      if (c->extra[j].tensor >= 0)
        t->axis[x].stride_bytes[EXTRAS + j] = c->extra[j].stride_bytes[i];
    t->axis[x].at = from->at;
  }
}

static void add_child(struct arena *a, struct teir *t, int parent, int node) {
  teir_list_add(a, parent < 0 ? &t->roots : &t->node[parent].children, node);
}

/* One loop per axis whose role is K (or is not), each inside the one before
 * and all inside `parent` (-1: the roots); gives the innermost. */
static int add_loops(struct arena *a, struct teir *t, const struct step *s,
                     bool reduction, int parent) {
  for (int i = 0; i < s->c->axis_count; i++) {
    if ((s->c->axis[i].role == AXIS_K) != reduction)
      continue;
    const char *id = teir_fresh_node(a, t, t->axis[s->axis + i].id);
    int n = teir_add_iteration(a, t, id, s->axis + i);
    t->node[n].at = s->c->axis[i].at;
    add_child(a, t, parent, n);
    parent = n;
  }
  return parent;
}

static void add_call(struct arena *a, struct teir *t, int parent,
                     const char *id, int primitive) {
  int n = teir_add_invocation(a, t, teir_fresh_node(a, t, id), primitive);
  add_child(a, t, parent, n);
}

/* The type in which a Contraction to a tensor of type `out` sums if nothing
 * else is said. */
static enum dtype usual_sum(const struct contraction *c, enum dtype out) {
  if (c->type[IN0] == DTYPE_F64 || c->type[IN1] == DTYPE_F64 ||
      out == DTYPE_F64)
    return DTYPE_F64;
  return dtype_kind(out) == DTYPE_FLOAT ? DTYPE_F32 : out;
}

static void add_tensors(struct arena *a, struct teir *t,
                        const struct contraction *c) {
  for (int i = 0; i < TENSORS; i++)
    teir_add_tensor(a, t, tensor_name(i), c->type[i]);
  if (c->tail)
    teir_add_tensor(a, t, "sum", c->acc);
  for (int i = 0; c->tail && i < c->extra_count; i++)
    teir_add_tensor(a, t, arena_printf(a, "x%d", i), c->extra[i].type);
  for (int i = 0; i < 2; i++)
    if (c->map[i])
      teir_add_tensor(a, t, i ? "e1" : "e0", c->map[i]->type);
  for (int i = 0; c->first && i < 2; i++)
    teir_add_tensor(a, t, i ? "in3" : "in2", c->first->type[IN0 + i]);
}

/* What is summed into: out itself without a tail. */
static int summed(const struct step *s) {
  return s->c->tail ? SUMS : s->tensor[OUT];
}

/* Operands that have the usual names go without saying. */
static bool is_usual(const struct step *s) {
  return summed(s) == OUT && s->tensor[IN0] == IN0 && s->tensor[IN1] == IN1;
}

static int add_primitive(struct arena *a, struct teir *t, const char *id,
                         enum teir_op op) {
  return teir_add_primitive(a, t, teir_fresh_primitive(a, t, id), op);
}

static void add_zero(struct arena *a, struct teir *t, const struct step *s,
                     int parent) {
  int p = add_primitive(a, t, "zero_scalar", TEIR_ZERO);
  if (!is_usual(s))
    teir_list_add(a, &t->primitive[p].operand, summed(s));
  add_call(a, t, parent, "zero", p);
}

/* The tensor that is multiplied in the place of an input. */
static int multiplied(const struct step *s, int input) {
  const struct contraction *c = s->c;
  return c->map[input] ? EXTRAS + c->extra_count + (input == IN1 && c->map[IN0])
                       : s->tensor[input];
}

/* Makes what is multiplied in the place of an input's element. */
static void add_element(struct arena *a, struct teir *t, const struct step *s,
                        int input, int parent) {
  int p = add_primitive(a, t, "element_scalar", TEIR_MAP);
  struct teir_list *operand = &t->primitive[p].operand;
  teir_list_add(a, operand, s->tensor[input]);
  for (int i = 0; i < s->c->extra_count; i++)
    teir_list_add(a, operand, EXTRAS + i);
  teir_list_add(a, operand, multiplied(s, input));
  t->primitive[p].expr = s->c->map[input];
  add_call(a, t, parent, "element", p);
}

static void add_contraction(struct arena *a, struct teir *t,
                            const struct step *s, int parent) {
  const struct contraction *c = s->c;
  for (int i = IN0; i <= IN1; i++)
    if (c->map[i])
      add_element(a, t, s, i, parent);
  int p = add_primitive(a, t, "contraction_scalar", TEIR_CONTRACTION);
  if (!is_usual(s)) {
    teir_list_add(a, &t->primitive[p].operand, multiplied(s, IN0));
    teir_list_add(a, &t->primitive[p].operand, multiplied(s, IN1));
    teir_list_add(a, &t->primitive[p].operand, summed(s));
  }
  if (c->acc != usual_sum(c, t->tensor[summed(s)].type))
    teir_add_property(a, t, p, "acc", dtype_name(c->acc));
  add_call(a, t, parent, "contraction", p);
}

/* The operands stand in the order in which a tail numbers its inputs. */
static void add_map(struct arena *a, struct teir *t,
                    const struct contraction *c, int parent) {
  int p = teir_add_primitive(a, t, "tail_scalar", TEIR_MAP);
  struct teir_list *operand = &t->primitive[p].operand;
  teir_list_add(a, operand, SUMS);
  teir_list_add(a, operand, OUT);
  for (int i = 0; i < c->extra_count; i++)
    teir_list_add(a, operand, EXTRAS + i);
  teir_list_add(a, operand, OUT);
  t->primitive[p].expr = c->tail;
  add_call(a, t, parent, "tail", p);
}

static void add_step(struct arena *a, struct teir *t, const struct step *s) {
  const struct contraction *c = s->c;
  int outer = add_loops(a, t, s, false, -1);
  if (c->tail || !c->accumulate)
    add_zero(a, t, s, outer);
  add_contraction(a, t, s, add_loops(a, t, s, true, outer));
  if (c->tail)
    add_map(a, t, c, outer);
}

static void add_limits(struct arena *a, struct teir *t,
                       const struct contraction *c) {
  for (int i = 0; i < c->limit_count; i++) {
    struct affine_guard *l = teir_add_limit(a, t, c->limit[i].below);
    l->at = c->at;
    l->start = c->limit[i].start;
    for (int j = 0; j < c->axis_count; j++)
      l->step[j] = c->limit[i].step[j];
  }
}

struct teir *teir_from_contraction(struct arena *a, const struct contraction *c,
                                   struct diag *d) {
  struct teir *t = teir_empty(a, c->at.file);
  for (int i = 0; i < c->symbol_count; i++)
    teir_add_symbol(a, t, arena_string(a, c->symbol[i]));
  add_tensors(a, t, c);
  int in2 = t->tensor_count - 2;
  struct step second = {c, {IN0, IN1, OUT}, 0};
  add_axes(a, t, &second);
  if (c->first) {
    struct step first = {c->first, {in2, in2 + 1, c->intermediate}, 0};
    add_axes(a, t, &first);
    add_step(a, t, &first);
  }
  add_step(a, t, &second);
  add_limits(a, t, c);
  return teir_verify(t, d) ? t : NULL;
}
