/* random_test.c -- random nests, executed as they are and as what the
 * recogniser takes them for: both must leave the same bits.
 *
 * Nests are written as text: a product with random layout, order of loops,
 * unrolling, start value and tail.  Most are then damaged: a number, an index
 * or a line changes.  What still parses is a nest like any other; whether it
 * is a contraction is for the recogniser to say, and for the interpreter to
 * contradict.  Elements are small whole numbers, so that sums of floats are
 * exact in any order. */
#include "check.h"
#include "interpret.h"
#include "random_nest.h"

#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 8 };

static void fill(const struct nest *n, struct memory *m,
                 unsigned char bytes[TENSORS_MAX][MEMORY],
                 const enum dtype *type) {
  for (int t = 0; t < n->tensor_count; t++) {
    m->tensor[t] = bytes[t];
    for (int at = 0; at < MEMORY; at += dtype_bytes(type[t]))
      if (dtype_kind(type[t]) == DTYPE_FLOAT)
        dtype_store_float(type[t], bytes[t] + at, pick(7) - 3);
      else
        dtype_store_int(type[t], bytes[t] + at,
                        maybe(20) ? pick(1 << 16) : pick(7) - 3);
  }
}

static void find_types(const struct nest_expr *e, enum dtype *tensor,
                       enum dtype *outside) {
  if (e->op == NEST_LOAD)
    tensor[e->access.tensor] = e->access.type;
  if (e->op == NEST_OUTSIDE)
    outside[e->outside] = e->type;
  for (int i = 0;
       e->op >= NEST_NUMBER && i < calc_operands(nest_calc_op(e->op)); i++)
    find_types(e->arg[i], tensor, outside);
}

/* Whoever permits another order of floats has given up the sign of zero. */
static bool same_elements(enum dtype type, const unsigned char *one,
                          const unsigned char *two) {
  for (int at = 0; at < MEMORY; at += dtype_bytes(type))
    if (memcmp(one + at, two + at, (size_t)dtype_bytes(type)) != 0 &&
        (dtype_kind(type) != DTYPE_FLOAT ||
         dtype_load_float(type, one + at) != dtype_load_float(type, two + at)))
      return false;
  return true;
}

static bool same_memory(const struct nest *n, const enum dtype *type,
                        const struct memory *one, const struct memory *two) {
  for (int t = 0; t < n->tensor_count; t++)
    if (!n->local[t] && !same_elements(type[t], one->tensor[t], two->tensor[t]))
      return false;
  return true;
}

static int taken, limited, made, both, joined, rows, local, declined;

static void judge(struct arena *a, const struct nest *n, const char *text) {
  static unsigned char one[TENSORS_MAX][MEMORY], two[TENSORS_MAX][MEMORY];
  enum dtype type[64] = {0}, outside[64] = {0};
  struct options o = options_default();
  o.min_macs = 0;
  struct verdict v = {0};
  o.fp = maybe(30) ? FP_RELAXED : FP_STRICT;
  o.f32 = maybe(50) ? F32_BF16X3 : F32_KEEP;
  o.device = maybe(30) ? "host" : NULL;
  struct contraction *c = recognize(a, n, &o, &v);
  declined += c == NULL;
  if (!c || n->tensor_count > TENSORS_MAX)
    return;
  for (int i = 0; i < n->statement_count; i++) {
    const struct nest_statement *s = &n->statement[i];
    find_types(s->value, type, outside);
    if (s->is_store)
      type[s->to.tensor] = s->to.type;
  }
  struct memory m = {.symbol = {0}}, m2 = {.symbol = {0}};
  for (int i = 0; i < n->symbol_count; i++)
    m.symbol[i] = m2.symbol[i] = pick(5);
  for (int i = 0; i < n->outside_count && i < NUMBERS; i++) {
    if (dtype_kind(outside[i]) == DTYPE_FLOAT)
      dtype_store_float(outside[i], m.outside[i], pick(5) - 2);
    else
      dtype_store_int(outside[i], m.outside[i], pick(5) - 2);
    memcpy(m2.outside[i], m.outside[i], sizeof m.outside[i]);
  }
  memset(one, 0, sizeof one);
  fill(n, &m, one, type);
  memcpy(two, one, sizeof one);
  for (int t = 0; t < n->tensor_count; t++)
    m2.tensor[t] = two[t];
  if (!interpret_nest(n, &m) || !interpret_contraction(a, n, c, &m2))
    return;
  taken++;
  limited += c->limit_count > 0;
  made += c->map[IN0] || c->map[IN1];
  both += c->limit_count && (c->map[IN0] || c->map[IN1]);
  joined += strstr(text, "after") != NULL;
  rows += strstr(text, "after j") != NULL;
  local += strstr(text, "R[") || strstr(text, "T[");
  bool same = same_memory(n, type, &m, &m2);
  CHECK(same);
  if (same)
    return;
  struct text t = {0};
  contraction_print(c, &t);
  fprintf(stderr, "%s\nfp=%d f32=%d device=%s\n%s\n", text, o.fp, o.f32,
          o.device ? o.device : "-", text_string(&t));
  text_free(&t);
}

static void round_trip(const struct nest *n, const char *text) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct text one = {0}, two = {0};
  nest_print(n, &one);
  struct nest *again = nest_parse(a, "again", text_string(&one), &d);
  if (again)
    nest_print(again, &two);
  bool same = again && strcmp(text_string(&one), text_string(&two)) == 0;
  CHECK(same);
  if (!same)
    fprintf(stderr, "%s\n%s\n%s\n%s\n", text, text_string(&one),
            text_string(&two), d.text);
  text_free(&one);
  text_free(&two);
  arena_close(a);
}

static void try_one(void) {
  struct text t = {0};
  struct diag d = {0};
  struct arena *a = arena_open();
  random_nest(&t);
  char text[20000];
  snprintf(text, sizeof text / 2, "%s", text_string(&t));
  for (int changes = maybe(30) ? 0 : 1 + pick(2); changes > 0; changes--)
    random_damage(text);
  struct nest *n = nest_parse(a, "random", text, &d);
  if (n) {
    round_trip(n, text);
    judge(a, n, text);
  }
  arena_close(a);
  text_free(&t);
}

int main(int count, char **word) {
  int rounds = count > 1 ? atoi(word[1]) : 6000;
  random_seed(count > 2 ? strtoull(word[2], NULL, 10) : 1);
  for (int i = 0; i < rounds; i++)
    try_one();
  printf("%d taken, %d of them with limits, %d with maps, %d with both, "
         "%d with remainders, %d of them of results, %d with local arrays, "
         "%d declined\n",
         taken, limited, made, both, joined, rows, local, declined);
  CHECK(taken > rounds / 10 && declined > rounds / 10);
  CHECK(limited > rounds / 50 && made > rounds / 50 && both > 0 &&
        joined > rounds / 400 && rows > rounds / 100 && local > rounds / 100);
  return check_result();
}
