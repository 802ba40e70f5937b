/* names.c -- a program's identifiers in; the index of each out, by binary
 * search, so that long programs are read in little time. */
#include "teir_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct name {
  const char *id;
  int index;
};

struct teir_names {
  int count[TEIR_KINDS];
  struct name *name[TEIR_KINDS]; /* by id, then by index */
};

static const char *id_of(const struct teir *t, enum teir_kind kind, int i) {
  switch (kind) {
  case TEIR_KIND_SYMBOL:
    return t->symbol[i];
  case TEIR_KIND_TENSOR:
    return t->tensor[i].id;
  case TEIR_KIND_AXIS:
    return t->axis[i].id;
  case TEIR_KIND_PRIMITIVE:
    return t->primitive[i].id;
  case TEIR_KIND_NODE:
    return t->node[i].id;
  case TEIR_KINDS:
    break;
  }
  return NULL;
}

static int compare(const void *left, const void *right) {
  const struct name *l = left, *r = right;
  int c = strcmp(l->id, r->id);
  return c ? c : l->index - r->index;
}

struct teir_names *teir_names(struct arena *a, const struct teir *t) {
  struct teir_names *n = arena_alloc(a, sizeof *n);
  const int count[TEIR_KINDS] = {t->symbol_count, t->tensor_count,
                                 t->axis_count, t->primitive_count,
                                 t->node_count};
  for (int kind = 0; kind < TEIR_KINDS; kind++) {
    struct name *list = arena_array(a, (size_t)count[kind], sizeof *list);
    for (int i = 0; i < count[kind]; i++)
      list[i] = (struct name){id_of(t, (enum teir_kind)kind, i), i};
    qsort(list, (size_t)count[kind], sizeof *list, compare);
    n->name[kind] = list;
    n->count[kind] = count[kind];
  }
  return n;
}

int teir_names_find(const struct teir_names *n, enum teir_kind kind,
                    const char *id) {
  assert(kind >= 0 && kind < TEIR_KINDS);
  int low = 0, high = n->count[kind];
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (strcmp(n->name[kind][middle].id, id) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low < n->count[kind] && strcmp(n->name[kind][low].id, id) == 0;
  return found ? n->name[kind][low].index : -1;
}
