/* from_contraction.c -- the plain, untiled TEIR of a contraction: its loops
 * over C, M and N axes in the source's order, then those over K, around one
 * scalar multiply-add; a Zero where the reduction begins, unless the source
 * adds to what is there. */
#include "recognizer.h"
#include "teir_build.h"

#include <ctype.h>

static struct teir_size size_of(struct value v) {
  return (struct teir_size){v.symbol < 0 ? v.constant : 0, v.symbol};
}

/* The loop's name, made fit for the text form and unique. */
static const char *axis_id(struct arena *a, const struct teir *t,
                           const char *name) {
  char *id = arena_string(a, name && *name ? name : "x");
  for (char *c = id; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
      *c = '_';
  return teir_fresh_axis(a, t, id);
}

static void add_axes(struct arena *a, struct teir *t,
                     const struct contraction *c) {
  for (int i = 0; i < c->axis_count; i++) {
    const struct contraction_axis *from = &c->axis[i];
    int x =
        teir_add_axis(a, t, axis_id(a, t, from->name), size_of(from->extent));
    for (int j = 0; j < TENSORS; j++)
      t->axis[x].stride_bytes[j] = size_of(from->stride_bytes[j]);
    t->axis[x].at = from->at;
  }
}

static void add_child(struct arena *a, struct teir *t, int parent, int node) {
  teir_list_add(a, parent < 0 ? &t->roots : &t->node[parent].children, node);
}

/* One loop per axis whose role is K (or is not), each inside the one before
 * and all inside `parent` (-1: the roots); gives the innermost. */
static int add_loops(struct arena *a, struct teir *t,
                     const struct contraction *c, bool reduction, int parent) {
  for (int i = 0; i < c->axis_count; i++) {
    if ((c->axis[i].role == AXIS_K) != reduction)
      continue;
    const char *id = teir_fresh_node(a, t, t->axis[i].id);
    int n = teir_add_iteration(a, t, id, i);
    t->node[n].at = c->axis[i].at;
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

/* The type in which a Contraction sums if nothing else is said. */
static enum dtype usual_sum(const struct contraction *c) {
  for (int i = 0; i < TENSORS; i++)
    if (c->type[i] == DTYPE_F64)
      return DTYPE_F64;
  return dtype_kind(c->type[OUT]) == DTYPE_FLOAT ? DTYPE_F32 : c->type[OUT];
}

struct teir *teir_from_contraction(struct arena *a, const struct contraction *c,
                                   struct diag *d) {
  static const char *const tensor[TENSORS] = {"in0", "in1", "out"};
  struct teir *t = teir_empty(a, c->at.file);
  for (int i = 0; i < c->symbol_count; i++)
    teir_add_symbol(a, t, arena_string(a, c->symbol[i]));
  for (int i = 0; i < TENSORS; i++)
    teir_add_tensor(a, t, tensor[i], c->type[i]);
  add_axes(a, t, c);

  int parent = add_loops(a, t, c, false, -1);
  if (!c->accumulate)
    add_call(a, t, parent, "zero",
             teir_add_primitive(a, t, "zero_scalar", TEIR_ZERO));
  parent = add_loops(a, t, c, true, parent);
  int p = teir_add_primitive(a, t, "contraction_scalar", TEIR_CONTRACTION);
  if (c->acc != usual_sum(c))
    teir_add_property(a, t, p, "acc", dtype_name(c->acc));
  add_call(a, t, parent, "contraction", p);
  return teir_verify(t, d) ? t : NULL;
}
