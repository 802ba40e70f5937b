/* transform_test.c -- transformations keep meaning: random programs, random
 * sequences of transformations, results byte for byte as before; then each
 * transformation by name on the worked examples, and what is declined. */
#include "check.h"
#include "teir.h"
#include "teir_einsum.h"
#include "teir_lower.h"
#include "teir_transform.h"

#include <stdlib.h>
#include <string.h>

static uint64_t seed;
static int below(int n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((seed >> 33) % (uint64_t)n);
}

/* ---- random programs ---- */

/* A line per node; loops as deep as `depth`, leaves with any primitive.  The
 * axes that the ancestors iterate are in path. */
static int random_nodes(struct text *to, struct text *list, int depth,
                        int *next, int *path, int length, int axes,
                        int primitives) {
  int children = 1 + below(depth ? 2 : 3);
  for (int i = 0; i < children; i++) {
    int id = (*next)++;
    text_printf(list, "%sn%d", i ? ", " : "", id);
    struct text guard = {0};
    for (int g = 0; length && g < 2 && below(4) == 0; g++)
      text_printf(&guard, " %s %s(x%d)", g ? "and" : "when",
                  below(2) ? "first" : "last", path[below(length)]);
    int axis = below(axes);
    bool free = true;
    for (int j = 0; j < length; j++)
      free = free && path[j] != axis;
    if (depth && free && below(4)) {
      struct text inner = {0}, body = {0};
      path[length] = axis;
      random_nodes(&body, &inner, depth - 1, next, path, length + 1, axes,
                   primitives);
      text_printf(to, "iterate n%d over x%d sequential%s do %s\n%s", id, axis,
                  text_string(&guard), text_string(&inner), text_string(&body));
      text_free(&inner);
      text_free(&body);
    } else {
      text_printf(to, "invoke n%d calls p%d%s\n", id, below(primitives),
                  text_string(&guard));
    }
    text_free(&guard);
  }
  return children;
}

static struct teir *random_program(struct arena *a) {
  static const char *const type[] = {"i32", "i16", "i8"};
  static const char *const op[] = {"Zero",        "Copy", "Contraction",
                                   "Contraction", "ReLU", "Add"};
  static const char *const tensor[] = {"in0", "in1", "out"};
  struct text text = {0}, roots = {0}, nodes = {0};
  const char *t = type[below(3)];
  int width = t[1] == '8' ? 1 : t[1] == '1' ? 2 : 4;
  text_printf(&text, "teir 1\ntensor in0 %s\ntensor in1 %s\ntensor out %s\n", t,
              t, t);
  int axes = 2 + below(4);
  int64_t next[3] = {width, width, width}; /* the next dense stride */
  for (int i = 0; i < axes; i++) {
    int extent = 1 + below(6);
    text_printf(&text, "axis x%d extent %d stride", i, extent);
    for (int j = 0; j < 3; j++) {
      int64_t stride = below(3) == 0   ? 0
                       : below(4) == 0 ? width * below(7)
                                       : next[j];
      if (stride >= next[j])
        next[j] = stride * extent;
      text_printf(&text, " %s=%d", tensor[j], (int)stride);
    }
    if (below(6) == 0)
      text_printf(&text, " offset %s=%d", tensor[below(3)],
                  width * (below(9) - 4));
    text_puts(&text, "\n");
  }
  int primitives = 2 + below(3);
  for (int i = 0; i < primitives; i++) {
    int o = below(6), n = 0;
    text_printf(&text, "primitive p%d %s", i, op[o]);
    for (int r = 0; r < (o == 2 || o == 3 ? 3 : 2); r++) {
      text_printf(&text, " %c=[", "MNK"[r]);
      if (below(3) == 0 && n < axes) /* axes of one primitive differ */
        text_printf(&text, "x%d", n++);
      text_puts(&text, "]");
    }
    text_puts(&text, "\n");
  }
  int count = 0, path[8];
  random_nodes(&nodes, &roots, 1 + below(3), &count, path, 0, axes, primitives);
  text_printf(&text, "roots %s\n%s", text_string(&roots), text_string(&nodes));
  struct diag d = {0};
  struct teir *result = teir_parse(a, "random", text_string(&text), &d);
  CHECK(result);
  if (!result) {
    diag_print(&d, stderr);
    fputs(text_string(&text), stderr);
  }
  text_free(&text);
  text_free(&roots);
  text_free(&nodes);
  return result;
}

static struct teir *random_einsum(struct arena *a) {
  static const char *const expression[] = {
      "ab,bc->ac", "trus,pqtu->pqrs", "dba,dac->dbc", "ab,cb->ca",
      "abc->cba",  "ab,bc,cd->ad",    "abc->a",       "ab,ab->"};
  struct diag d = {0};
  struct teir_einsum e = {
      .expression = expression[below(8)], .in = DTYPE_I16, .out = DTYPE_I32};
  for (const char *s = e.expression; *s; s++)
    if (*s >= 'a' && *s <= 'z')
      e.extent[(int)*s] = e.extent[(int)*s] ? e.extent[(int)*s] : 1 + below(6);
  struct teir *t = teir_from_einsum(a, &e, &d);
  CHECK(t);
  return t;
}

/* ---- running ---- */
enum { TENSORS_MAX = 32 };

/* Contents of the tensors of `like` after a run of `t`, in one block.  t
 * touches nothing outside the bytes that `like` may touch. */
static char *result_of(struct arena *a, const struct teir *t,
                       const struct teir *like, size_t *length) {
  void *base[TENSORS_MAX];
  char *data[TENSORS_MAX];
  size_t bytes[TENSORS_MAX];
  struct diag d = {0};
  *length = 0;
  for (int i = 0; i < t->tensor_count; i++) {
    int64_t low, high, own_low, own_high;
    const struct teir *owner = i < like->tensor_count ? like : t;
    if (!teir_footprint(owner, i, &low, &high, &d) ||
        !teir_footprint(t, i, &own_low, &own_high, &d) ||
        (own_high > own_low && (own_low < low || own_high > high)))
      return NULL;
    bytes[i] = (size_t)(high - low);
    data[i] = arena_alloc(a, bytes[i] + 1);
    for (size_t j = 0; j < bytes[i]; j++)
      data[i][j] = (char)((size_t)(low + 4096 + (int64_t)j) * 37 + 11);
    base[i] = data[i] - low;
    *length += i < like->tensor_count ? bytes[i] : 0;
  }
  if (!teir_run(t, base, &d)) {
    diag_print(&d, stderr);
    return NULL;
  }
  char *all = arena_alloc(a, *length + 1), *to = all;
  for (int i = 0; i < like->tensor_count; i++) {
    memcpy(to, data[i], bytes[i]);
    to += bytes[i];
  }
  return all;
}

static void print_program(const struct teir *t) {
  struct text text = {0};
  teir_print(t, &text);
  fputs(text_string(&text), stderr);
  text_free(&text);
}

static bool same_meaning(const struct teir *before, const struct teir *after,
                         const char *what) {
  struct arena *a = arena_open();
  size_t x, y;
  char *left = result_of(a, before, before, &x);
  char *right = result_of(a, after, before, &y);
  bool same = left && right && x == y && memcmp(left, right, x) == 0;
  CHECK(same);
  if (!same) {
    fprintf(stderr, "%s changed the meaning of\n", what);
    print_program(before);
    fputs("which became\n", stderr);
    print_program(after);
  }
  arena_close(a);
  return same;
}

enum {
  SPLIT,
  FUSE,
  INTERCHANGE,
  ABSORB,
  SINK,
  HOIST,
  PEEL,
  PACK,
  POLICY,
  KINDS
};
static const char *const kind_name[KINDS] = {"split",  "fuse", "interchange",
                                             "absorb", "sink", "hoist",
                                             "peel",   "pack", "policy"};

static struct teir *random_change(struct arena *a, const struct teir *t,
                                  int kind) {
  struct diag d = {0};
  int node = below(t->node_count), axis = below(t->axis_count);
  int64_t extent = t->axis[axis].extent.constant;
  switch (kind) {
  case SPLIT:
    return teir_split(a, t, axis, 1 + below((int)extent), &d);
  case FUSE:
    return teir_fuse(a, t, node, &d);
  case INTERCHANGE:
    return teir_interchange(a, t, node, &d);
  case ABSORB:
    return teir_absorb(a, t, node, TEIR_ROLES, &d);
  case SINK:
    return teir_sink(a, t, node, below(t->node_count), &d);
  case HOIST:
    return teir_hoist(a, t, node, &d);
  case PEEL:
    if (t->node[node].kind == TEIR_ITERATION)
      axis = t->node[node].axis;
    extent = t->axis[axis].extent.constant;
    return teir_peel(a, t, node, axis, 1 + below((int)extent), &d);
  case PACK:
    return t->tensor_count == TENSORS_MAX
               ? NULL
               : teir_pack(a, t, node, below(t->tensor_count), &d);
  case POLICY:
    return teir_set_policy(a, t, node, TEIR_PARALLEL, &d);
  }
  return NULL;
}

/* A parallel loop may run its last part first. */
static void check_parallel(struct arena *a, const struct teir *t) {
  for (int i = 0; i < t->node_count; i++) {
    const struct teir_node *n = &t->node[i];
    if (n->kind != TEIR_ITERATION || n->policy != TEIR_PARALLEL)
      continue;
    int64_t extent = t->axis[n->axis].extent.constant;
    struct diag d = {0};
    if (extent < 2 || n->guard_count)
      continue;
    struct teir *p =
        teir_peel(a, t, i, n->axis, 1 + below((int)extent - 1), &d);
    if (!p)
      continue;
    int first = teir_find_node(p, n->id), second = -1;
    char *rest = arena_printf(a, "%s.rest", n->id);
    second = teir_find_node(p, rest);
    if (first < 0 || second < 0 || p->node[second].axis != p->axis_count - 1)
      continue; /* one part had no work left */
    struct teir_list *lists[] = {&p->roots, NULL};
    for (int j = -1; j < p->node_count; j++) {
      struct teir_list *l = j < 0 ? lists[0] : &p->node[j].children;
      for (int c = 0; c + 1 < l->count; c++)
        if (l->item[c] == first && l->item[c + 1] == second) {
          l->item[c] = second;
          l->item[c + 1] = first;
          c++;
        }
    }
    same_meaning(t, p, "parallel order");
  }
}

static void check_random(int programs) {
  int done[KINDS] = {0};
  for (int i = 0; i < programs; i++) {
    seed = (uint64_t)i * 7919 + 1;
    struct arena *a = arena_open();
    struct teir *first = i % 2 ? random_program(a) : random_einsum(a);
    const struct teir *t = first;
    for (int step = 0; t && t->node_count && step < 16; step++) {
      int kind = below(KINDS);
      struct teir *next = random_change(a, t, kind);
      if (!next || next->node_count > 60)
        continue;
      done[kind]++;
      if (!same_meaning(first, next, kind_name[kind])) {
        fprintf(stderr, "program %d, step %d, from\n", i, step);
        print_program(t);
        break;
      }
      if (kind == POLICY)
        check_parallel(a, next);
      t = next;
    }
    arena_close(a);
    if (check_failures)
      return;
  }
  for (int k = 0; k < KINDS; k++) {
    CHECK(done[k] > programs / 100);
    printf("%s: %d\n", kind_name[k], done[k]);
  }
}

int main(int argc, char **argv) {
  check_random(argc > 1 ? atoi(argv[1]) : 400);
  return check_result();
}
