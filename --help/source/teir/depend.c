/* depend.c -- collects every access with its loops and guards; decides overlap
 * by looking for indices whose addresses meet.
 *
 * The difference of two addresses is a constant plus a sum of stride times d,
 * each d from a range.  Sorted by stride, only the few d of the largest one
 * whose product the rest can still balance are tried, then the next.
 */
#include "teir_build.h"
#include "teir_depend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* DEPTH_MAX is the verifier's limit. */
enum { TERMS_MAX = 96, SEARCH_STEPS = 20000, DEPTH_MAX = 1000 };

/* ---- collecting ---- */
struct walk {
  struct arena *a;
  struct depend *k;
  int depth;
  int path[DEPTH_MAX];
  int64_t low[DEPTH_MAX], high[DEPTH_MAX];
};

/* Sums of offsets fit, but parts of them need not. */
static int64_t wrap_add(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x + (uint64_t)y);
}

static void add_access(struct walk *w, int leaf, int tensor, bool write,
                       bool sum) {
  const struct teir *t = w->k->t;
  struct depend_access x = {.leaf = leaf,
                            .tensor = tensor,
                            .write = write,
                            .sum = sum,
                            .depth = w->depth};
  size_t depth = (size_t)w->depth;
  x.path = arena_copy(w->a, w->path, depth, depth + 1, sizeof *x.path);
  x.low = arena_copy(w->a, w->low, depth, depth + 1, sizeof *x.low);
  x.high = arena_copy(w->a, w->high, depth, depth + 1, sizeof *x.high);
  for (int i = 0; i < w->depth; i++)
    x.offset = wrap_add(
        x.offset,
        t->axis[t->node[w->path[i]].axis].offset_bytes[tensor].constant);
  const struct teir_primitive *p = &t->primitive[t->node[leaf].primitive];
  for (int r = 0; r < TEIR_ROLES; r++)
    for (int i = 0; i < p->role[r].count; i++)
      x.offset = wrap_add(
          x.offset, t->axis[p->role[r].item[i]].offset_bytes[tensor].constant);
  struct depend *k = w->k;
  if (k->count == k->capacity) {
    k->capacity = k->capacity ? 2 * k->capacity : 16;
    k->access = arena_copy(w->a, k->access, (size_t)k->count,
                           (size_t)k->capacity, sizeof *k->access);
  }
  k->access[k->count++] = x;
}

static void add_leaf(struct walk *w, int leaf) {
  const struct teir *t = w->k->t;
  assert(t->node[leaf].kind == TEIR_INVOCATION);
  int primitive = t->node[leaf].primitive;
  enum teir_op op = t->primitive[primitive].op;
  for (int i = 0; i < teir_input_count(t, primitive); i++)
    add_access(w, leaf, teir_input(t, primitive, i), false, false);
  add_access(w, leaf, teir_output(t, primitive), true,
             op == TEIR_CONTRACTION || op == TEIR_ADD);
}

/* Narrows the indices of the loops that n's guard names; false: never true. */
static bool apply_guard(struct walk *w, const struct teir_node *n) {
  const struct teir *t = w->k->t;
  for (int g = 0; g < n->guard_count; g++) {
    int axis = n->guard[g].axis, i = w->depth - 1;
    while (i >= 0 && t->node[w->path[i]].axis != axis)
      i--;
    if (i < 0)
      continue;
    int64_t only = n->guard[g].last ? t->axis[axis].extent.constant - 1 : 0;
    if (only < w->low[i] || only > w->high[i])
      return false;
    w->low[i] = w->high[i] = only;
  }
  return true;
}

static void collect(struct walk *w, struct teir_list list) {
  const struct teir *t = w->k->t;
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    size_t bytes = (size_t)w->depth * sizeof *w->low;
    int64_t *keep = NULL;
    if (n->guard_count) {
      keep = arena_array(w->a, 2 * (size_t)w->depth + 1, sizeof *keep);
      memcpy(keep, w->low, bytes);
      memcpy(keep + w->depth, w->high, bytes);
    }
    w->k->never[list.item[i]] = !apply_guard(w, n);
    if (!w->k->never[list.item[i]]) {
      if (n->kind == TEIR_INVOCATION) {
        add_leaf(w, list.item[i]);
      } else {
        w->path[w->depth] = list.item[i];
        assert(w->depth < DEPTH_MAX); /* or the verifier lets more pass */
        w->low[w->depth] = 0;
        w->high[w->depth] = t->axis[n->axis].extent.constant - 1;
        w->depth++;
        collect(w, n->children);
        w->depth--;
      }
    }
    if (keep) {
      memcpy(w->low, keep, bytes);
      memcpy(w->high, keep + w->depth, bytes);
    }
  }
}

struct depend *teir_depend_open(struct arena *a, const struct teir *t) {
  struct depend *k = arena_alloc(a, sizeof *k);
  k->t = t;
  k->never = arena_array(a, (size_t)t->node_count + 1, sizeof *k->never);
  struct walk *w = arena_alloc(a, sizeof *w);
  w->a = a;
  w->k = k;
  collect(w, t->roots);
  assert(w->depth == 0);
  return k;
}

/* ---- overlap ---- */
struct term {
  int64_t stride, low, high; /* stride > 0, d in low..high */
};

struct sum {
  int count, steps;
  bool full; /* too many terms, or numbers too large: assume anything */
  struct term term[TERMS_MAX];
  int64_t rest_low[TERMS_MAX + 1], rest_high[TERMS_MAX + 1];
};

static void add_term(struct sum *s, int64_t stride, int64_t low, int64_t high) {
  assert(stride >= 0 && low <= high);
  if (stride == 0 || (low == 0 && high == 0))
    return;
  for (int i = 0; i < s->count; i++)
    if (s->term[i].stride == stride) {
      s->term[i].low += low;
      s->term[i].high += high;
      return;
    }
  if (s->count == TERMS_MAX)
    s->full = true;
  else
    s->term[s->count++] = (struct term){stride, low, high};
}

static int by_stride(const void *left, const void *right) {
  int64_t l = ((const struct term *)left)->stride;
  int64_t r = ((const struct term *)right)->stride;
  return l < r ? 1 : l > r ? -1 : 0;
}

static bool sort_terms(struct sum *s) {
  qsort(s->term, (size_t)s->count, sizeof *s->term, by_stride);
  s->rest_low[s->count] = s->rest_high[s->count] = 0;
  assert(s->count == 0 || s->term[s->count - 1].stride > 0);
  for (int i = s->count - 1; i >= 0; i--) {
    int64_t low, high;
    if (__builtin_mul_overflow(s->term[i].stride, s->term[i].low, &low) ||
        __builtin_mul_overflow(s->term[i].stride, s->term[i].high, &high) ||
        __builtin_add_overflow(s->rest_low[i + 1], low, &s->rest_low[i]) ||
        __builtin_add_overflow(s->rest_high[i + 1], high, &s->rest_high[i]))
      return false;
  }
  return true;
}

/* 128 bits: differences of two addresses, and sums of them. */
static __int128 floor_div(__int128 n, int64_t d) { return n / d - (n % d < 0); }

/* Can the terms from `i` on add up to something in low..high? */
static bool reaches(struct sum *s, int i, __int128 low, __int128 high) {
  if (low > s->rest_high[i] || high < s->rest_low[i])
    return false;
  if (i == s->count || ++s->steps > SEARCH_STEPS)
    return true;
  assert(i < s->count && s->count <= TERMS_MAX);
  const struct term *x = &s->term[i];
  __int128 from = -floor_div(-(low - s->rest_high[i + 1]), x->stride);
  __int128 to = floor_div(high - s->rest_low[i + 1], x->stride);
  from = from > x->low ? from : x->low;
  to = to < x->high ? to : x->high;
  for (__int128 d = from; d <= to; d++)
    if (reaches(s, i + 1, low - d * x->stride, high - d * x->stride))
      return true;
  return false;
}

static const struct depend_span *span_of(const struct depend_span *span,
                                         int spans, int node) {
  for (int i = 0; i < spans; i++)
    if (span[i].node == node)
      return &span[i];
  return NULL;
}

/* Loops that only this access is in, and its primitive's own axes. */
static void add_own(const struct depend *k, const struct depend_access *x,
                    int common, int sign, struct sum *s) {
  const struct teir *t = k->t;
  for (int i = common; i < x->depth; i++) {
    const struct teir_axis *axis = &t->axis[t->node[x->path[i]].axis];
    int64_t stride = axis->stride_bytes[x->tensor].constant;
    if (sign > 0)
      add_term(s, stride, x->low[i], x->high[i]);
    else
      add_term(s, stride, -x->high[i], -x->low[i]);
  }
  const struct teir_primitive *p = &t->primitive[t->node[x->leaf].primitive];
  for (int r = 0; r < TEIR_ROLES; r++)
    for (int i = 0; i < p->role[r].count; i++) {
      const struct teir_axis *axis = &t->axis[p->role[r].item[i]];
      int64_t stride = axis->stride_bytes[x->tensor].constant;
      int64_t last = axis->extent.constant - 1;
      add_term(s, stride, sign > 0 ? 0 : -last, sign > 0 ? last : 0);
    }
}

bool teir_depend_overlap(const struct depend *k, int first, int second,
                         const bool *equal, const struct depend_span *span,
                         int spans) {
  const struct depend_access *x = &k->access[first], *y = &k->access[second];
  assert(first >= 0 && first < k->count && second >= 0 && second < k->count);
  if (x->tensor != y->tensor)
    return false;
  const struct teir *t = k->t;
  struct sum s = {0};
  int common = 0;
  for (; common < x->depth && common < y->depth &&
         x->path[common] == y->path[common];
       common++) {
    int node = x->path[common];
    int64_t low = x->low[common] - y->high[common];
    int64_t high = x->high[common] - y->low[common];
    const struct depend_span *limit = span_of(span, spans, node);
    int64_t least = limit ? limit->low : equal && equal[node] ? 0 : low;
    int64_t most = limit ? limit->high : equal && equal[node] ? 0 : high;
    low = low > least ? low : least;
    high = high < most ? high : most;
    if (low > high)
      return false;
    add_term(&s, t->axis[t->node[node].axis].stride_bytes[x->tensor].constant,
             low, high);
  }
  add_own(k, x, common, 1, &s);
  add_own(k, y, common, -1, &s);
  int width = dtype_bytes(t->tensor[x->tensor].type);
  __int128 base = (__int128)x->offset - y->offset;
  return s.full || !sort_terms(&s) ||
         reaches(&s, 0, -(width - 1) - base, width - 1 - base);
}

static bool below(const struct depend_access *x, int root) {
  for (int i = 0; i < x->depth; i++)
    if (x->path[i] == root)
      return true;
  return x->leaf == root;
}

bool teir_depend_conflict(const struct depend *k, int root,
                          const struct depend_span *span, int spans,
                          bool sums_commute, int *first, int *second) {
  struct arena *a = arena_open();
  bool *equal = arena_array(a, (size_t)k->t->node_count + 1, sizeof *equal);
  bool found = false;
  for (int i = 0; i < k->count && !found; i++) {
    const struct depend_access *x = &k->access[i];
    if (!below(x, root))
      continue;
    for (int j = 0; j < x->depth && x->path[j] != root; j++)
      equal[x->path[j]] = true;
    for (int j = 0; j < k->count && !found; j++) {
      const struct depend_access *y = &k->access[j];
      if (!below(y, root) || (!x->write && !y->write) ||
          (sums_commute && x->sum && y->sum))
        continue;
      found = teir_depend_overlap(k, i, j, equal, span, spans);
      *first = x->leaf;
      *second = y->leaf;
    }
  }
  arena_close(a);
  return found;
}

bool teir_depend_reorders(const struct teir *t, int node, struct diag *d) {
  struct arena *a = arena_open();
  struct depend *k = teir_depend_open(a, t);
  int64_t extent = t->axis[t->node[node].axis].extent.constant;
  struct depend_span span[] = {{node, 1, extent - 1}};
  int first, second;
  bool bad = teir_depend_conflict(k, node, span, 1, true, &first, &second);
  if (bad)
    diag_declined(d, t->node[node].at,
                  "iterations of %s depend on each other: %s and %s touch the "
                  "same bytes",
                  t->node[node].id, t->node[first].id, t->node[second].id);
  arena_close(a);
  return !bad;
}
