/* build.c -- puts programs together: clones, grows arrays, finds fresh ids. */
#include "teir_build.h"

#include <assert.h>
#include <string.h>

static int capacity(int count) {
  assert(count >= 0);
  int r = 1;
  while (r < count)
    r *= 2;
  return r;
}

/* A copy of an array with the capacity that teir_build.h promises. */
static void *copy(struct arena *a, const void *from, int count, size_t size) {
  return arena_copy(a, from, (size_t)count, (size_t)capacity(count), size);
}

/* `array`, with room for one more behind its `count` elements. */
static void *grow(struct arena *a, void *array, int count, size_t size) {
  if (array && capacity(count) != count)
    return array;
  return arena_copy(a, array, array ? (size_t)count : 0,
                    (size_t)capacity(count + 1), size);
}

struct teir_list teir_list_copy(struct arena *a, struct teir_list l) {
  if (l.count < 0)
    return l;
  l.item = copy(a, l.item, l.count, sizeof *l.item);
  return l;
}

void teir_list_insert(struct arena *a, struct teir_list *l, int place,
                      int item) {
  assert(place >= 0 && place <= l->count && item >= 0);
  l->item = grow(a, l->item, l->count, sizeof *l->item);
  memmove(l->item + place + 1, l->item + place,
          (size_t)(l->count - place) * sizeof *l->item);
  l->item[place] = item;
  l->count++;
}

void teir_list_add(struct arena *a, struct teir_list *l, int item) {
  teir_list_insert(a, l, l->count, item);
}

void teir_list_remove(struct teir_list *l, int place) {
  assert(place >= 0 && place < l->count);
  l->count--;
  memmove(l->item + place, l->item + place + 1,
          (size_t)(l->count - place) * sizeof *l->item);
}

int teir_list_find(struct teir_list l, int item) {
  for (int i = 0; i < l.count; i++)
    if (l.item[i] == item)
      return i;
  return -1;
}

struct teir *teir_empty(struct arena *a, const char *file) {
  struct teir *t = arena_alloc(a, sizeof *t);
  t->file = file;
  return t;
}

struct teir *teir_clone(struct arena *a, const struct teir *from) {
  struct teir *t = copy(a, from, 1, sizeof *t);
  t->symbol = copy(a, t->symbol, t->symbol_count, sizeof *t->symbol);
  t->tensor = copy(a, t->tensor, t->tensor_count, sizeof *t->tensor);
  t->axis = copy(a, t->axis, t->axis_count, sizeof *t->axis);
  for (int i = 0; i < t->axis_count; i++) {
    struct teir_axis *x = &t->axis[i];
    x->stride_bytes =
        copy(a, x->stride_bytes, t->tensor_count, sizeof *x->stride_bytes);
    x->offset_bytes =
        copy(a, x->offset_bytes, t->tensor_count, sizeof *x->offset_bytes);
  }
  t->primitive =
      copy(a, t->primitive, t->primitive_count, sizeof *t->primitive);
  for (int i = 0; i < t->primitive_count; i++) {
    struct teir_primitive *p = &t->primitive[i];
    for (int r = 0; r < TEIR_ROLES; r++)
      p->role[r] = teir_list_copy(a, p->role[r]);
    p->operand = teir_list_copy(a, p->operand);
    p->property = copy(a, p->property, p->property_count, sizeof *p->property);
  }
  t->node = copy(a, t->node, t->node_count, sizeof *t->node);
  for (int i = 0; i < t->node_count; i++) {
    struct teir_node *n = &t->node[i];
    n->children = teir_list_copy(a, n->children);
    n->guard = copy(a, n->guard, n->guard_count, sizeof *n->guard);
  }
  t->roots = teir_list_copy(a, t->roots);
  t->limit = copy(a, t->limit, t->limit_count, sizeof *t->limit);
  for (int i = 0; i < t->limit_count; i++)
    t->limit[i].step =
        copy(a, t->limit[i].step, t->axis_count, sizeof *t->limit[i].step);
  return t;
}

int teir_add_symbol(struct arena *a, struct teir *t, const char *id) {
  t->symbol = grow(a, t->symbol, t->symbol_count, sizeof *t->symbol);
  t->symbol[t->symbol_count] = id;
  return t->symbol_count++;
}

int teir_add_tensor(struct arena *a, struct teir *t, const char *id,
                    enum dtype type) {
  for (int i = 0; i < t->axis_count; i++) {
    struct teir_axis *x = &t->axis[i];
    x->stride_bytes =
        grow(a, x->stride_bytes, t->tensor_count, sizeof *x->stride_bytes);
    x->offset_bytes =
        grow(a, x->offset_bytes, t->tensor_count, sizeof *x->offset_bytes);
    x->stride_bytes[t->tensor_count] = teir_constant(0);
    x->offset_bytes[t->tensor_count] = teir_constant(0);
  }
  t->tensor = grow(a, t->tensor, t->tensor_count, sizeof *t->tensor);
  t->tensor[t->tensor_count] =
      (struct teir_tensor){.id = id, .type = type, .at = teir_loc(t)};
  return t->tensor_count++;
}

int teir_add_axis(struct arena *a, struct teir *t, const char *id,
                  struct value extent) {
  t->axis = grow(a, t->axis, t->axis_count, sizeof *t->axis);
  size_t tensors = (size_t)capacity(t->tensor_count);
  struct teir_axis x = {.id = id, .extent = extent, .at = teir_loc(t)};
  x.stride_bytes = arena_array(a, tensors, sizeof *x.stride_bytes);
  x.offset_bytes = arena_array(a, tensors, sizeof *x.offset_bytes);
  for (int i = 0; i < t->tensor_count; i++)
    x.stride_bytes[i] = x.offset_bytes[i] = teir_constant(0);
  t->axis[t->axis_count] = x;
  return t->axis_count++;
}

int teir_add_primitive(struct arena *a, struct teir *t, const char *id,
                       enum teir_op op) {
  t->primitive =
      grow(a, t->primitive, t->primitive_count, sizeof *t->primitive);
  t->primitive[t->primitive_count] =
      (struct teir_primitive){.id = id, .op = op, .at = teir_loc(t)};
  return t->primitive_count++;
}

static int add_node(struct arena *a, struct teir *t, struct teir_node node) {
  assert(node.id && node.guard_count == 0 && node.children.count == 0);
  t->node = grow(a, t->node, t->node_count, sizeof *t->node);
  node.at = teir_loc(t);
  t->node[t->node_count] = node;
  return t->node_count++;
}

int teir_add_iteration(struct arena *a, struct teir *t, const char *id,
                       int axis) {
  return add_node(
      a, t,
      (struct teir_node){
          .id = id, .kind = TEIR_ITERATION, .axis = axis, .primitive = -1});
}

int teir_add_invocation(struct arena *a, struct teir *t, const char *id,
                        int primitive) {
  return add_node(a, t,
                  (struct teir_node){.id = id,
                                     .kind = TEIR_INVOCATION,
                                     .axis = -1,
                                     .primitive = primitive});
}

void teir_add_property(struct arena *a, struct teir *t, int primitive,
                       const char *key, const char *value) {
  assert(primitive >= 0 && primitive < t->primitive_count);
  assert(key && value && !teir_property(t, primitive, key));
  struct teir_primitive *p = &t->primitive[primitive];
  p->property = grow(a, p->property, p->property_count, sizeof *p->property);
  p->property[p->property_count++] = (struct teir_property){key, value};
}

void teir_add_guard(struct arena *a, struct teir_node *n,
                    struct teir_guard_term term) {
  assert(term.axis >= 0);
  n->guard = grow(a, n->guard, n->guard_count, sizeof *n->guard);
  n->guard[n->guard_count++] = term;
}

struct affine_guard *teir_add_limit(struct arena *a, struct teir *t,
                                    bool below) {
  t->limit = grow(a, t->limit, t->limit_count, sizeof *t->limit);
  struct affine_guard *l = &t->limit[t->limit_count++];
  *l = (struct affine_guard){.below = below, .start = teir_constant(0)};
  l->step = arena_array(a, (size_t)t->axis_count, sizeof *l->step);
  for (int i = 0; i < t->axis_count; i++)
    l->step[i] = teir_constant(0);
  return l;
}

static const char *fresh(struct arena *a, const struct teir *t,
                         const char *wish,
                         int find(const struct teir *, const char *)) {
  assert(wish);
  const char *id = wish;
  size_t length = strlen(wish);
  bool digit = length && wish[length - 1] >= '0' && wish[length - 1] <= '9';
  for (int i = 2; find(t, id) >= 0; i++)
    id = arena_printf(a, "%s%s%d", wish, digit ? "_" : "", i);
  return id;
}

const char *teir_fresh_axis(struct arena *a, const struct teir *t,
                            const char *wish) {
  return fresh(a, t, wish, teir_find_axis);
}

const char *teir_fresh_node(struct arena *a, const struct teir *t,
                            const char *wish) {
  return fresh(a, t, wish, teir_find_node);
}

const char *teir_fresh_primitive(struct arena *a, const struct teir *t,
                                 const char *wish) {
  return fresh(a, t, wish, teir_find_primitive);
}

const char *teir_fresh_tensor(struct arena *a, const struct teir *t,
                              const char *wish) {
  return fresh(a, t, wish, teir_find_tensor);
}

struct teir_list *teir_home(struct teir *t, int n, int *parent, int *place) {
  *parent = -1;
  *place = teir_list_find(t->roots, n);
  if (*place >= 0)
    return &t->roots;
  for (int i = 0; i < t->node_count; i++) {
    *place = teir_list_find(t->node[i].children, n);
    if (*place < 0)
      continue;
    assert(t->node[i].kind == TEIR_ITERATION);
    *parent = i;
    return &t->node[i].children;
  }
  return NULL;
}

int *teir_parents(struct arena *a, const struct teir *t) {
  int *parent = arena_array(a, (size_t)t->node_count, sizeof *parent);
  for (int i = 0; i < t->node_count; i++)
    parent[i] = -1;
  for (int i = 0; i < t->node_count; i++)
    for (int c = 0; c < t->node[i].children.count; c++)
      parent[t->node[i].children.item[c]] = i;
  return parent;
}

static void mark(const struct teir *t, struct teir_list list, int *index) {
  for (int i = 0; i < list.count; i++) {
    assert(list.item[i] >= 0 && list.item[i] < t->node_count);
    index[list.item[i]] = 1;
    mark(t, t->node[list.item[i]].children, index);
  }
}

static void renumber(struct teir_list *list, const int *index) {
  for (int i = 0; i < list->count; i++)
    list->item[i] = index[list->item[i]];
}

/* Primitives that no node calls go, too. */
static void compact_primitives(struct arena *a, struct teir *t) {
  int *index = arena_array(a, (size_t)t->primitive_count + 1, sizeof *index);
  for (int i = 0; i < t->node_count; i++)
    if (t->node[i].kind == TEIR_INVOCATION)
      index[t->node[i].primitive] = 1;
  int kept = 0;
  for (int i = 0; i < t->primitive_count; i++) {
    if (!index[i])
      continue;
    t->primitive[kept] = t->primitive[i];
    index[i] = kept++;
  }
  t->primitive_count = kept;
  for (int i = 0; i < t->node_count; i++)
    if (t->node[i].kind == TEIR_INVOCATION)
      t->node[i].primitive = index[t->node[i].primitive];
}

void teir_compact(struct teir *t) {
  struct arena *a = arena_open();
  int *index = arena_array(a, (size_t)t->node_count + 1, sizeof *index);
  mark(t, t->roots, index);
  int kept = 0;
  for (int i = 0; i < t->node_count; i++) {
    if (!index[i])
      continue;
    t->node[kept] = t->node[i];
    index[i] = kept++;
  }
  t->node_count = kept;
  renumber(&t->roots, index);
  for (int i = 0; i < kept; i++)
    renumber(&t->node[i].children, index);
  compact_primitives(a, t);
  arena_close(a);
}

/* Every place that names an axis, given to `use`. */
static void each_axis(struct teir *t, void use(int *axis, int *index),
                      int *index) {
  for (int p = 0; p < t->primitive_count; p++)
    for (int r = 0; r < TEIR_ROLES; r++)
      for (int i = 0; i < t->primitive[p].role[r].count; i++)
        use(&t->primitive[p].role[r].item[i], index);
  for (int n = 0; n < t->node_count; n++) {
    if (t->node[n].kind == TEIR_ITERATION)
      use(&t->node[n].axis, index);
    for (int g = 0; g < t->node[n].guard_count; g++)
      use(&t->node[n].guard[g].axis, index);
  }
}

static void mark_axis(int *axis, int *index) {
  assert(*axis >= 0);
  index[*axis] = 1;
}
static void renumber_axis(int *axis, int *index) { *axis = index[*axis]; }

void teir_compact_axes(struct teir *t) {
  struct arena *a = arena_open();
  int *index = arena_array(a, (size_t)t->axis_count + 1, sizeof *index);
  each_axis(t, mark_axis, index);
  int kept = 0;
  for (int i = 0; i < t->axis_count; i++) {
    if (!index[i])
      continue;
    t->axis[kept] = t->axis[i];
    index[i] = kept++;
  }
  t->axis_count = kept;
  each_axis(t, renumber_axis, index);
  arena_close(a);
}

struct loc teir_loc(const struct teir *t) {
  return (struct loc){t->file, 0, 0};
}
