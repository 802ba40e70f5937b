/* einsum.c -- an einsum expression in; untiled TEIR out: one axis per letter,
 * loops over the output's letters, then over the summed ones.
 */
#include "teir_build.h"
#include "teir_einsum.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPERANDS_MAX = 32,
  LETTERS = 52,
  OPTIMAL_MAX = 10, /* 3^10 splits of operand sets are tried */
};

/* An operand, in memory order; letters are numbered by first appearance. */
struct term {
  int count, *letter; /* slowest first */
  uint64_t set;
};

struct expression {
  struct arena *a;
  struct diag *d;
  const struct teir_einsum *e;
  int term_count; /* inputs; the output follows */
  struct term term[OPERANDS_MAX + 1];
  int letter_count;
  char letter[LETTERS];
  int64_t extent[LETTERS];
};

static struct loc nowhere(void) { return loc_none(); }

static int letter_number(const struct expression *x, char c) {
  for (int i = 0; i < x->letter_count; i++)
    if (x->letter[i] == c)
      return i;
  return -1;
}

static bool add_letter(struct expression *x, struct term *t, char c) {
  assert(x->letter_count <= LETTERS && isalpha((unsigned char)c));
  int i = letter_number(x, c);
  if (i < 0) {
    i = x->letter_count++;
    x->letter[i] = c;
    x->extent[i] = x->e->extent[(int)c];
    if (x->extent[i] <= 0)
      return diag_error(x->d, nowhere(), "the letter '%c' has no size", c);
  }
  t->letter[t->count++] = i;
  t->set |= UINT64_C(1) << i;
  return true;
}

static bool read_terms(struct expression *x) {
  const char *s = x->e->expression;
  const char *arrow = strstr(s, "->");
  if (!arrow)
    return diag_error(x->d, nowhere(), "'%s' has no '->' before the output", s);
  struct term *t = &x->term[0];
  t->letter = arena_array(x->a, strlen(s) + 1, sizeof *t->letter);
  for (; *s; s++) {
    if (s == arrow || *s == ',') {
      if (s > arrow)
        return diag_error(x->d, nowhere(), "there is one output only");
      if (x->term_count + 1 == OPERANDS_MAX + 1)
        return diag_error(x->d, nowhere(), "more than %d operands",
                          OPERANDS_MAX);
      t = &x->term[++x->term_count];
      t->letter = arena_array(x->a, strlen(s) + 1, sizeof *t->letter);
      s += s == arrow;
    } else if (isalpha((unsigned char)*s)) {
      if (!add_letter(x, t, *s))
        return false;
    } else if (*s != ' ') {
      return diag_error(x->d, nowhere(), "'%c' is no letter, ',' or '->'", *s);
    }
  }
  return true;
}

static bool check_output(const struct expression *x) {
  const struct term *out = &x->term[x->term_count];
  uint64_t known = 0, seen = 0;
  for (int i = 0; i < x->term_count; i++)
    known |= x->term[i].set;
  for (int i = 0; i < out->count; i++) {
    uint64_t bit = UINT64_C(1) << out->letter[i];
    char c = x->letter[out->letter[i]];
    if (!(known & bit))
      return diag_error(x->d, nowhere(),
                        "the output's letter '%c' is in no input", c);
    if (seen & bit)
      return diag_error(x->d, nowhere(), "the output has the letter '%c' twice",
                        c);
    seen |= bit;
  }
  for (int c = 0; c < 128; c++)
    if (x->e->extent[c] != 0 && letter_number(x, (char)c) < 0)
      return diag_error(x->d, nowhere(),
                        "the letter '%c' has a size but is not used", c);
  return true;
}

/* The layout puts the letters of each term into another order. */
static bool apply_layout(struct expression *x) {
  const char *s = x->e->layout;
  if (!s)
    return true;
  for (int i = 0; i <= x->term_count; i++) {
    struct term *t = &x->term[i];
    int *order = arena_array(x->a, (size_t)t->count + 1, sizeof *order);
    bool *used = arena_array(x->a, (size_t)t->count + 1, sizeof *used);
    int n = 0;
    for (; *s && *s != ',' && strncmp(s, "->", 2) != 0; s++) {
      if (*s == ' ')
        continue;
      int j = 0;
      while (j < t->count && (used[j] || x->letter[t->letter[j]] != *s))
        j++;
      if (j == t->count)
        return diag_error(x->d, nowhere(),
                          "the layout has a '%c' that its operand lacks", *s);
      used[j] = true;
      order[n++] = t->letter[j];
    }
    for (int j = 0; j < t->count; j++)
      if (!used[j])
        return diag_error(x->d, nowhere(), "the layout lacks the letter '%c'",
                          x->letter[t->letter[j]]);
    t->letter = order;
    bool last = i == x->term_count, arrow = strncmp(s, "->", 2) == 0;
    if (last ? *s != 0 : i + 1 == x->term_count ? !arrow : *s != ',')
      return diag_error(x->d, nowhere(),
                        "the layout's operands differ from the expression's");
    s += last ? 0 : arrow ? 2 : 1;
  }
  return true;
}

/* ---- the program ---- */
static bool add_strides(struct expression *x, struct teir *t, int tensor,
                        const struct term *term) {
  int64_t stride = dtype_bytes(t->tensor[tensor].type);
  assert(stride > 0);
  for (int i = term->count - 1; i >= 0; i--) {
    struct teir_axis *axis = &t->axis[term->letter[i]];
    int64_t *to = &axis->stride_bytes[tensor].constant;
    if (__builtin_add_overflow(*to, stride, to) ||
        __builtin_mul_overflow(stride, x->extent[term->letter[i]], &stride))
      return diag_error(x->d, nowhere(), "tensor %s is too large at '%c'",
                        t->tensor[tensor].id, x->letter[term->letter[i]]);
  }
  return true;
}

/* Loops over the letters of `order` that are in `set`, inside `parent`. */
static int add_loops(struct expression *x, struct teir *t,
                     const struct term *order, uint64_t set, int parent) {
  for (int i = 0; i < order->count; i++) {
    uint64_t bit = UINT64_C(1) << order->letter[i];
    if (!(set & bit))
      continue;
    set &= ~bit;
    int axis = order->letter[i];
    int n = teir_add_iteration(
        x->a, t, teir_fresh_node(x->a, t, t->axis[axis].id), axis);
    teir_list_add(x->a, parent < 0 ? &t->roots : &t->node[parent].children, n);
    parent = n;
  }
  return parent;
}

static void add_call(struct expression *x, struct teir *t, int parent,
                     const char *id, enum teir_op op, int in0, int in1,
                     int out) {
  const char *name = arena_printf(x->a, "%s_scalar", id);
  int p = teir_add_primitive(x->a, t, teir_fresh_primitive(x->a, t, name), op);
  struct teir_list *operand = &t->primitive[p].operand;
  bool usual = (in0 < 0 || strcmp(t->tensor[in0].id, "in0") == 0) &&
               (in1 < 0 || strcmp(t->tensor[in1].id, "in1") == 0) &&
               strcmp(t->tensor[out].id, "out") == 0;
  if (!usual) {
    if (in0 >= 0)
      teir_list_add(x->a, operand, in0);
    if (in1 >= 0)
      teir_list_add(x->a, operand, in1);
    teir_list_add(x->a, operand, out);
  }
  int n = teir_add_invocation(x->a, t, teir_fresh_node(x->a, t, id), p);
  teir_list_add(x->a, parent < 0 ? &t->roots : &t->node[parent].children, n);
}

/* One contraction of two tensors: loops over the result's letters, Zero, then
 * loops over the letters that only the inputs have. */
static void add_step(struct expression *x, struct teir *t, int in0, int in1,
                     int out, const struct term *l, const struct term *r,
                     const struct term *result) {
  assert(in0 != out && in1 != out);
  int parent = add_loops(x, t, result, result->set, -1);
  add_call(x, t, parent, "zero", TEIR_ZERO, -1, -1, out);
  uint64_t summed = (l->set | r->set) & ~result->set;
  parent = add_loops(x, t, l, summed, parent);
  parent = add_loops(x, t, r, summed & ~l->set, parent);
  add_call(x, t, parent, "contraction", TEIR_CONTRACTION, in0, in1, out);
}

/* One operand: a permutation, or a sum over the letters that out lacks. */
static void add_single(struct expression *x, struct teir *t) {
  const struct term *in = &x->term[0], *out = &x->term[1];
  int parent = add_loops(x, t, out, out->set, -1);
  uint64_t summed = in->set & ~out->set;
  if (!summed) {
    bool same = x->e->in == x->e->out;
    add_call(x, t, parent, same ? "copy" : "cast", same ? TEIR_COPY : TEIR_CAST,
             0, -1, 1);
    return;
  }
  add_call(x, t, parent, "zero", TEIR_ZERO, -1, -1, 1);
  parent = add_loops(x, t, in, summed, parent);
  add_call(x, t, parent, "add", TEIR_ADD, 0, -1, 1);
}

/* ---- the order of contractions ---- */
static double product(const struct expression *x, uint64_t set) {
  double n = 1;
  for (int i = 0; i < x->letter_count; i++)
    if (set >> i & 1)
      n *= (double)x->extent[i];
  return n;
}

/* Contracts tensors l and r: adds the loops, gives the result's tensor. */
struct live {
  int tensor;
  struct term term;
};

static bool contract(struct expression *x, struct teir *t, struct live *l,
                     const struct live *r, uint64_t needed, bool last) {
  struct live result = {.tensor = teir_find_tensor(t, "out"),
                        .term = x->term[x->term_count]};
  if (!last) {
    uint64_t set = (l->term.set | r->term.set) & needed;
    result.term = (struct term){.set = set};
    result.term.letter = arena_array(x->a, LETTERS, sizeof *result.term.letter);
    for (int side = 0; side < 2; side++) {
      const struct term *from = side ? &r->term : &l->term;
      for (int i = 0; i < from->count; i++)
        if (set >> from->letter[i] & 1) {
          set &= ~(UINT64_C(1) << from->letter[i]);
          result.term.letter[result.term.count++] = from->letter[i];
        }
    }
    const char *id = teir_fresh_tensor(
        x->a, t,
        arena_printf(x->a, "t%d", t->tensor_count - x->term_count - 1));
    result.tensor = teir_add_tensor(x->a, t, id, x->e->out);
    if (!add_strides(x, t, result.tensor, &result.term))
      return false;
  }
  add_step(x, t, l->tensor, r->tensor, result.tensor, &l->term, &r->term,
           &result.term);
  *l = result;
  return true;
}

/* best[s]: the cheapest way to contract the operands of set s into one. */
struct plan {
  double cost;
  unsigned left; /* the subset that is contracted first */
  uint64_t letters;
};

static bool emit_plan(struct expression *x, struct teir *t,
                      const struct plan *best, unsigned s, unsigned all,
                      struct live *result) {
  if ((s & (s - 1)) == 0) {
    int i = __builtin_ctz(s);
    assert(i < x->term_count);
    *result = (struct live){i, x->term[i]};
    return true;
  }
  struct live right;
  return emit_plan(x, t, best, best[s].left, all, result) &&
         emit_plan(x, t, best, s & ~best[s].left, all, &right) &&
         contract(x, t, result, &right, best[s].letters, s == all);
}

static bool add_optimal(struct expression *x, struct teir *t) {
  int n = x->term_count;
  unsigned all = (1u << n) - 1;
  assert(n >= 2 && n <= OPTIMAL_MAX);
  struct plan *best = arena_array(x->a, (size_t)all + 1, sizeof *best);
  for (unsigned s = 1; s <= all; s++) {
    uint64_t inside = 0, outside = x->term[n].set;
    for (int i = 0; i < n; i++)
      *(s >> i & 1 ? &inside : &outside) |= x->term[i].set;
    best[s].letters = (s & (s - 1)) == 0 ? inside : inside & outside;
    best[s].cost = (s & (s - 1)) == 0 ? 0 : -1;
    for (unsigned l = (s - 1) & s; l; l = (l - 1) & s) {
      unsigned r = s & ~l;
      if ((l & -l) != (s & -s))
        continue; /* the first operand stands left */
      double cost = best[l].cost + best[r].cost +
                    product(x, best[l].letters | best[r].letters);
      if (best[s].cost < 0 || cost < best[s].cost) {
        best[s].cost = cost;
        best[s].left = l;
      }
    }
  }
  struct live result;
  return emit_plan(x, t, best, all, all, &result);
}

/* Always the pair whose contraction is cheapest now. */
static bool add_greedy(struct expression *x, struct teir *t) {
  struct live live[OPERANDS_MAX];
  int n = x->term_count;
  assert(n <= OPERANDS_MAX);
  for (int i = 0; i < n; i++)
    live[i] = (struct live){i, x->term[i]};
  for (; n > 1; n--) {
    int left = 0, right = 1;
    double least = -1;
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) {
        double cost = product(x, live[i].term.set | live[j].term.set);
        if (least < 0 || cost < least) {
          least = cost;
          left = i;
          right = j;
        }
      }
    uint64_t needed = x->term[x->term_count].set;
    for (int i = 0; i < n; i++)
      if (i != left && i != right)
        needed |= live[i].term.set;
    if (!contract(x, t, &live[left], &live[right], needed, n == 2))
      return false;
    live[right] = live[n - 1];
  }
  return true;
}

struct teir *teir_from_einsum(struct arena *a, const struct teir_einsum *e,
                              struct diag *d) {
  struct expression x = {.a = a, .d = d, .e = e};
  if (!read_terms(&x) || !check_output(&x) || !apply_layout(&x))
    return NULL;
  struct teir *t = teir_empty(a, NULL);
  for (int i = 0; i < x.term_count; i++)
    teir_add_tensor(a, t, arena_printf(a, "in%d", i), e->in);
  teir_add_tensor(a, t, "out", e->out);
  for (int i = 0; i < x.letter_count; i++)
    teir_add_axis(a, t, arena_printf(a, "%c", x.letter[i]),
                  teir_constant(x.extent[i]));
  for (int i = 0; i <= x.term_count; i++)
    if (!add_strides(&x, t, i, &x.term[i]))
      return NULL;
  if (x.term_count == 1)
    add_single(&x, t);
  else if (!(x.term_count <= OPTIMAL_MAX ? add_optimal(&x, t)
                                         : add_greedy(&x, t)))
    return NULL;
  return teir_verify(t, d) ? t : NULL;
}

bool teir_einsum_sizes(struct teir_einsum *e, const char *text,
                       struct diag *d) {
  for (const char *s = text; *s;) {
    char c = *s;
    char *end;
    if (c == ',' || c == ' ') {
      s++;
      continue;
    }
    if (!isalpha((unsigned char)c) || s[1] != '=')
      return diag_error(d, nowhere(), "sizes are <letter>=<extent>, not '%s'",
                        s);
    long long extent = strtoll(s + 2, &end, 10);
    if (end == s + 2 || extent < 1 || extent > INT64_C(1) << 40 ||
        (*end && *end != ',' && *end != ' '))
      return diag_error(d, nowhere(), "the letter '%c' has no size from 1 up",
                        c);
    if (e->extent[(int)c])
      return diag_error(d, nowhere(), "the letter '%c' has two sizes", c);
    e->extent[(int)c] = extent;
    s = end;
  }
  return true;
}

static double list_macs(const struct teir *t, struct teir_list list) {
  double sum = 0;
  for (int i = 0; i < list.count; i++) {
    const struct teir_node *n = &t->node[list.item[i]];
    if (n->kind == TEIR_ITERATION) {
      sum +=
          (double)t->axis[n->axis].extent.constant * list_macs(t, n->children);
      continue;
    }
    const struct teir_primitive *p = &t->primitive[n->primitive];
    double one = p->op == TEIR_CONTRACTION;
    for (int r = 0; r < TEIR_ROLES; r++)
      for (int j = 0; j < p->role[r].count; j++)
        one *= (double)t->axis[p->role[r].item[j]].extent.constant;
    sum += one;
  }
  return sum;
}

double teir_macs(const struct teir *t) { return list_macs(t, t->roots); }
