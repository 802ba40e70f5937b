/* transform_test.c -- transformations keep meaning: random programs, random
 * sequences of transformations, results byte for byte as before; then each
 * transformation by name on the worked examples, and what is declined. */
#include "check.h"
#include "teir.h"
#include "teir_branch.h"
#include "teir_dump.h"
#include "teir_einsum.h"
#include "teir_fast.h"
#include "teir_lower.h"
#include "teir_transform.h"
#include "teir_warn.h"

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
                       const struct teir *like, bool fast, size_t *length) {
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
  if (!(fast ? teir_run_fast(t, base, 2, NULL, &d) : teir_run(t, base, &d))) {
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

static bool same_results(const struct teir *before, const struct teir *after,
                         bool fast, const char *what) {
  struct arena *a = arena_open();
  size_t x, y;
  char *left = result_of(a, before, before, false, &x);
  char *right = result_of(a, after, before, fast, &y);
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

static bool same_meaning(const struct teir *before, const struct teir *after,
                         const char *what) {
  return same_results(before, after, false, what);
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
static const char *const kind_name[KINDS] = {"split",   "fuse", "interchange",
                                             "consume", "sink", "hoist",
                                             "peel",    "pack", "policy"};

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
    return teir_consume(a, t, node, TEIR_ROLES, &d);
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
    if (first)
      same_results(first, first, true, "the fast executor");
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
      if (kind == POLICY) {
        check_parallel(a, next);
        same_results(first, next, true, "the fast executor");
      }
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

/* ---- the worked examples, one from another ---- */
static struct teir *load(struct arena *a, const char *name) {
  struct diag d = {0};
  char *path = arena_printf(a, "%s/%s.teir", TEST_DIR, name);
  char *text = file_read(a, path, NULL, &d);
  struct teir *t = text ? teir_parse(a, path, text, &d) : NULL;
  CHECK(t);
  return t;
}

static bool is_tree(const struct teir *t, const struct teir *like) {
  struct text x = {0}, y = {0};
  teir_print_tree(t, &x);
  teir_print_tree(like, &y);
  bool same = strcmp(text_string(&x), text_string(&y)) == 0;
  if (!same)
    fprintf(stderr, "%s is not\n%s", text_string(&x), text_string(&y));
  text_free(&x);
  text_free(&y);
  return same;
}

static bool same_calls(const struct teir *t, const struct teir *like) {
  bool same = t->primitive_count == like->primitive_count;
  for (int i = 0; same && i < t->primitive_count; i++) {
    struct teir_call x, y;
    struct diag d = {0};
    same = teir_lower(t, i, &x, &d) && teir_lower(like, i, &y, &d) &&
           memcmp(&x, &y, sizeof x) == 0;
  }
  return same;
}

/* 10.7.3 becomes 10.7.4: the sum's loop sinks to the inside, Zero leaves it. */
static void check_reordering(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *from = load(a, "batched_gemm");
  const char *order[] = {"b", "c", "d", "a"};
  int node[4];
  for (int i = 0; i < 4; i++)
    node[i] = teir_find_node(from, order[i]);
  struct teir *t = teir_reorder(a, from, node, 4, &d);
  CHECK(t);
  t = t ? teir_hoist(a, t, teir_find_node(t, "zero"), &d) : NULL;
  CHECK(t && is_tree(t, load(a, "batched_gemm_reordered")));
  CHECK(t && same_meaning(from, t, "10.7.4"));
  /* and back: Zero sinks into the loop, which then goes outside */
  t = t ? teir_sink(a, t, teir_find_node(t, "zero"), teir_find_node(t, "a"), &d)
        : NULL;
  CHECK(t);
  const char *back[] = {"a", "b", "c", "d"};
  for (int i = 0; t && i < 4; i++)
    node[i] = teir_find_node(t, back[i]);
  t = t ? teir_reorder(a, t, node, 4, &d) : NULL;
  CHECK(t && is_tree(t, from));
  arena_close(a);
}

/* 10.7.5 becomes 10.7.6 and 10.7.7: axes go from the schedule to primitives. */
static void check_consuming(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *from = load(a, "contraction_scalar"), *t = from;
  static const char *const loop[] = {"q", "s", "u"};
  for (int i = 0; t && i < 3; i++)
    t = teir_consume(a, t, teir_find_node(t, loop[i]), TEIR_ROLES, &d);
  CHECK(t && t->primitive_count == 2);
  CHECK(t && same_calls(t, load(a, "contraction_gemm")));
  CHECK(t && same_meaning(from, t, "10.7.6"));
  t = t ? teir_consume(a, t, teir_find_node(t, "t"), TEIR_K, &d) : NULL;
  t = t ? teir_set_policy(a, t, teir_find_node(t, "r"), TEIR_PARALLEL, &d)
        : NULL;
  t = t ? teir_set_policy(a, t, teir_find_node(t, "p"), TEIR_PARALLEL, &d)
        : NULL;
  CHECK(t && same_calls(t, load(a, "contraction_brgemm")));
  CHECK(t && same_meaning(from, t, "10.7.7"));
  struct teir *b = load(a, "contraction_gemm");
  t = teir_brgemm(a, b, teir_find_primitive(b, "gemm_squ"), 1, &d);
  struct teir_call call;
  CHECK(t && teir_lower(t, teir_find_primitive(t, "gemm_squ"), &call, &d));
  CHECK(t && call.kernel == TEIR_KERNEL_BRGEMM && call.br_size == 7);
  CHECK(call.k == 1 && call.br_stride[0] == 6 && call.br_stride[1] == 1);
  arena_close(a);
}

/* Splitting and fusing again gives the same program. */
static void check_split_and_fuse(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *from = load(a, "contraction_scalar");
  struct teir *t = teir_split(a, from, teir_find_axis(from, "s"), 2, &d);
  CHECK(t && teir_find_axis(t, "s.o") >= 0);
  t = t ? teir_fuse(a, t, teir_find_node(t, "s"), &d) : NULL;
  CHECK(t && is_tree(t, from));
  CHECK(t &&
        t->axis[t->node[teir_find_node(t, "s")].axis].extent.constant == 6);
  arena_close(a);
}

/* ---- what is declined, and why ---- */
static void check_refused(const char *what, const struct teir *result,
                          const struct diag *d, const char *message) {
  bool good = !result && strstr(d->text, message);
  CHECK(good);
  if (!good)
    fprintf(stderr, "%s: %s\n", what, result ? "was done" : d->text);
}

static void check_declined(void) {
  struct arena *a = arena_open();
  struct teir *g = load(a, "batched_gemm"), *r = load(a, "contraction_gemm");
  struct teir *s = load(a, "batched_gemm_reordered");
#define REFUSED(call, message)                                                 \
  do {                                                                         \
    struct diag d = {0};                                                       \
    const struct teir *result = call;                                          \
    check_refused(#call, result, &d, message);                                 \
  } while (0)
#define NODE(t, id) teir_find_node(t, id)
  REFUSED(teir_interchange(a, r, NODE(r, "r"), &d), "no single loop");
  REFUSED(teir_set_policy(a, g, NODE(g, "a"), TEIR_PARALLEL, &d),
          "iterations of a are not independent");
  REFUSED(teir_consume(a, g, NODE(g, "a"), TEIR_ROLES, &d),
          "the guard of zero needs the loop a");
  REFUSED(teir_consume(a, g, NODE(g, "d"), TEIR_ROLES, &d), "a batch");
  REFUSED(teir_consume(a, s, NODE(s, "a"), TEIR_M, &d),
          "does not move the output");
  REFUSED(teir_fuse(a, g, NODE(g, "a"), &d), "axis a moves by");
  REFUSED(teir_sink(a, g, NODE(g, "zero"), NODE(g, "a"), &d),
          "does not stand beside");
  REFUSED(teir_hoist(a, g, NODE(g, "zero"), &d), "neither a first child");
  REFUSED(teir_peel(a, g, NODE(g, "a"), teir_find_axis(g, "a"), 3, &d),
          "leaves no two parts");
  REFUSED(teir_pack(a, g, NODE(g, "d"), 2, &d), "writes out");
  REFUSED(teir_split(a, g, teir_find_axis(g, "a"), 2, &d),
          "extent 3, which 2 does not divide");
  struct teir *m = load(a, "../matmul");
  REFUSED(teir_interchange(a, m, NODE(m, "m"), &d), "unbound symbol");
#undef NODE
#undef REFUSED
  arena_close(a);
}

/* A recurrence over both loops: out[i][j] from out[i-1][j+1]. */
static void check_recurrence(void) {
  static const char text[] = "teir 1\ntensor in0 i32\ntensor out i32\n"
                             "axis i extent 4 stride in0=40 out=40\n"
                             "axis j extent 4 stride in0=4 out=4\n"
                             "axis x extent 1 stride out=4 offset out=36\n"
                             "primitive p Copy M=[] N=[] from out to in0\n"
                             "primitive q Copy M=[x] N=[] from in0 to out\n"
                             "roots i\niterate i over i sequential do j\n"
                             "iterate j over j sequential do a, b\n"
                             "invoke a calls p\ninvoke b calls q\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "recurrence", text, &d);
  CHECK(t);
  if (t) {
    check_refused("recurrence", teir_interchange(a, t, 0, &d), &d,
                  "outside i reverses");
  }
  arena_close(a);
}

/* The second root alone, over two of the tensors in the other order. */
static void check_slice(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(
      a, "slice",
      "teir 1\nsymbol n\ntensor in0 i8\ntensor out i32\ntensor t i32\n"
      "axis i extent 4 stride in0=1 t=4\naxis j extent n stride t=4 out=8\n"
      "primitive p Cast M=[] N=[] from in0 to t\n"
      "primitive q Copy M=[] N=[] from t to out\nroots a, b\n"
      "iterate a over i sequential do c\ninvoke c calls p\n"
      "iterate b over j sequential do e\ninvoke e calls q\n",
      &d);
  const int tensor[] = {2, 1}, missing[] = {1};
  struct teir *part = t ? teir_slice(a, t, 1, 1, tensor, 2, &d) : NULL;
  struct text to = {0};
  CHECK(part);
  if (part)
    teir_print(part, &to);
  CHECK(strcmp(text_string(&to),
               "teir 1\nsymbol n\ntensor t i32\ntensor out i32\n"
               "axis j extent n stride t=4 out=8\n"
               "primitive q Copy M=[] N=[] from t to out\nroots b\n"
               "iterate b over j sequential do e\ninvoke e calls q\n") == 0);
  CHECK(t && !teir_slice(a, t, 1, 1, missing, 1, &d));
  CHECK(strstr(d.text, "left out"));
  text_free(&to);
  arena_close(a);
}

static const struct {
  const char *program, *warning;
} doubt[] = {
    {"roots a\niterate a over k parallel do c\ninvoke c calls p\n",
     "parallel iterations of a touch the same bytes in c and c"},
    {"roots a\niterate a over k sequential do c\n"
     "invoke c calls p when first(k) and last(k)\n",
     "the guard of node c is never true"},
    {"roots a\niterate a over k sequential when first(k) do c\n", NULL},
    {"roots a\niterate a over k sequential do b\n"
     "iterate b over k sequential do c\ninvoke c calls p\n",
     "axis k is iterated again by b"},
    {"roots a\niterate a over k sequential do c, e\n"
     "invoke c calls p\ninvoke e calls p\n",
     "siblings overlap: e does again what c did"},
    {"primitive q Contraction M=[] N=[] K=[k]\nroots a\n"
     "iterate a over k sequential do c\ninvoke c calls q\n",
     "axis k is iterated around c and consumed in it"},
    {"roots a\niterate a over k sequential do c\ninvoke c calls p\n", ""},
};

static void check_warnings(void) {
  for (size_t i = 0; i < sizeof doubt / sizeof *doubt; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct text to = {0};
    struct teir *t = teir_parse(
        a, "w",
        arena_printf(a,
                     "teir 1\ntensor in0 i8\ntensor in1 i8\ntensor out i8\n"
                     "axis k extent 4 stride in0=1 in1=1\n"
                     "primitive p Contraction M=[] N=[] K=[]\n%s",
                     doubt[i].program),
        &d);
    CHECK((t != NULL) == (doubt[i].warning != NULL));
    if (t) {
      int count = teir_warn(t, &to);
      CHECK(*doubt[i].warning ? count > 0 : count == 0);
      CHECK(strstr(text_string(&to), doubt[i].warning));
    }
    text_free(&to);
    arena_close(a);
  }
}

int main(int argc, char **argv) {
  check_reordering();
  check_consuming();
  check_split_and_fuse();
  check_declined();
  check_recurrence();
  check_slice();
  check_warnings();
  check_random(argc > 1 ? atoi(argv[1]) : 400);
  return check_result();
}
