/* einsum_test.c -- einsum expressions against a naive sum over all letters:
 * the TCCG contractions (Springer and Bientinesi), the thesis's Table 1, one
 * to five operands, and the messages of wrong expressions. */
#include "check.h"
#include "teir_einsum.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 24 };

static int64_t elements(const struct teir *t, int tensor) {
  int64_t low = 0, high = 0;
  struct diag d = {0};
  CHECK(teir_footprint(t, tensor, &low, &high, &d));
  CHECK(low == 0);
  return high / dtype_bytes(t->tensor[tensor].type);
}

/* All letters in one counter; row-major addresses straight from the string. */
static void naive(const struct teir_einsum *e, int64_t *const *in,
                  int64_t *out) {
  char letter[64] = "";
  int count = 0;
  for (const char *s = e->expression; *s; s++)
    if (*s != ',' && *s != '-' && *s != '>' && !strchr(letter, *s))
      letter[count++] = *s;
  int64_t index[128] = {0}, total = 1;
  for (int i = 0; i < count; i++)
    total *= e->extent[(int)letter[i]];
  for (int64_t n = 0; n < total; n++) {
    int64_t rest = n, value = 1, at = 0;
    for (int i = 0; i < count; i++) {
      index[(int)letter[i]] = rest % e->extent[(int)letter[i]];
      rest /= e->extent[(int)letter[i]];
    }
    int operand = 0;
    for (const char *s = e->expression; *s; s++) {
      if (*s == ',' || *s == '-') {
        value *= in[operand++][at];
        at = 0;
      } else if (*s != '>') {
        at = at * e->extent[(int)*s] + index[(int)*s];
      }
    }
    out[at] += value;
  }
}

static void check_einsum(const char *expression, int64_t *extents) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_einsum e = {
      .expression = expression, .in = DTYPE_I64, .out = DTYPE_I64};
  int next = 0;
  for (const char *s = expression; *s; s++)
    if (*s != ',' && *s != '-' && *s != '>' && !e.extent[(int)*s])
      e.extent[(int)*s] = extents[next++ % 6];
  struct teir *t = teir_from_einsum(a, &e, &d);
  CHECK(t);
  if (!t) {
    fprintf(stderr, "%s: %s\n", expression, d.text);
    arena_close(a);
    return;
  }
  void *tensor[MAX_TENSORS];
  int64_t *memory[MAX_TENSORS];
  for (int i = 0; i < t->tensor_count; i++) {
    int64_t n = elements(t, i);
    tensor[i] = memory[i] = arena_array(a, (size_t)n, sizeof(int64_t));
    for (int64_t j = 0; j < n; j++)
      memory[i][j] = (j * 7 + i * 5) % 13 - 6;
  }
  int out = teir_find_tensor(t, "out");
  int64_t n = elements(t, out);
  int64_t *want = arena_array(a, (size_t)n, sizeof *want);
  naive(&e, memory, want);
  CHECK(teir_run(t, tensor, &d));
  bool same = memcmp(want, memory[out], (size_t)n * sizeof *want) == 0;
  CHECK(same);
  if (!same)
    fprintf(stderr, "%s differs\n", expression);
  arena_close(a);
}

static const char *const expression[] = {
    /* TCCG's 24 */
    "efbad,cf->abcde", "efcad,bf->abcde", "dbea,ec->abcd", "ecbfa,fd->abcde",
    "deca,be->abcd", "bda,dc->abc", "ebad,ce->abcd", "dega,gfbc->abcdef",
    "dfgb,geac->abcdef", "degb,gfac->abcdef", "degc,gfab->abcdef",
    "dca,bd->abc", "ea,ebcd->abcd", "eb,aecd->abcd", "ec,abed->abcd",
    "adec,ebd->abc", "cad,dcb->ab", "acd,dbc->ab", "acd,db->abc", "adc,bd->abc",
    "ac,cb->ab", "aebf,fdec->abcd", "eafd,fbec->abcd", "aebf,dfce->abcd",
    /* the thesis's Table 1, and batches */
    "pq,qr->pr", "qp,qr->pr", "pq,pq->pq", "pq,pq->", "pq,rs->pqrs",
    "pq,rq->pqr", "dba,dac->dbc", "trus,pqtu->pqrs",
    /* one operand: permute, sum, diagonal, trace */
    "abcd->dcba", "abc->b", "abc->", "aa->a", "aab->b", "aba->ab",
    /* a letter in one input only; diagonals in a product */
    "ab,bc->c", "ab,c->c", "aab,b->a", "a,->a", ",->",
    /* more than two */
    "ab,bc,cd->ad", "ab,bc,cd,de->ae", "ab,ac,ad->bcd", "ab,bc,ca->",
    "abc,cd,be,ef->adf", "a,b,c,d,e->abcde",
    "a,a,a,a,a,a,a,a,a,a,a->a" /* eleven: greedy */
};

static const struct {
  const char *expression, *sizes, *layout, *message;
} wrong[] = {
    {"ab,bc->ac", "a=2,b=3", NULL, "the letter 'c' has no size"},
    {"ab,bc->ad", "a=2,b=3,c=4,d=5", NULL,
     "the output's letter 'd' is in no input"},
    {"ab,bc->aa", "a=2,b=3,c=4", NULL, "the output has the letter 'a' twice"},
    {"ab,bc->ac", "a=2,b=3,c=4,z=9", NULL,
     "the letter 'z' has a size but is not used"},
    {"ab,bc", "a=2,b=3,c=4", NULL, "has no '->'"},
    {"ab,b1->a", "a=2,b=3", NULL, "'1' is no letter"},
    {"ab->a,b", "a=2,b=3", NULL, "there is one output only"},
    {"ab,bc->ac", "a=2,b=0,c=4", NULL, "the letter 'b' has no size from 1"},
    {"ab,bc->ac", "a=2,b=3,b=4,c=4", NULL, "the letter 'b' has two sizes"},
    {"ab,bc->ac", "a=2,b=3,c=4", "ab,cb->a", "the layout lacks the letter 'c'"},
    {"ab,bc->ac", "a=2,b=3,c=4", "ab,cd->ac",
     "the layout has a 'd' that its operand lacks"},
    {"ab,bc->ac", "a=1099511627776,b=1099511627776,c=1", NULL,
     "too large at 'a'"},
};

/* A layout moves addresses, not meaning. */
static void check_layout(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_einsum e = {.expression = "ab,bc->ac",
                          .in = DTYPE_F32,
                          .out = DTYPE_F32,
                          .layout = "ba,bc->ca"};
  CHECK(teir_einsum_sizes(&e, "a=2,b=3 c=4", &d));
  struct teir *t = teir_from_einsum(a, &e, &d);
  CHECK(t);
  if (t) {
    const struct teir_axis *x = &t->axis[teir_find_axis(t, "a")];
    CHECK(x->stride_bytes[0].constant == 4);
    CHECK(x->stride_bytes[2].constant == 4);
    x = &t->axis[teir_find_axis(t, "b")];
    CHECK(x->stride_bytes[0].constant == 8 &&
          x->stride_bytes[1].constant == 16);
  }
  arena_close(a);
}

/* A chain of matrices whose best order is known: (A B) C costs 10*100*5 +
 * 10*5*50, A (B C) ten times as much (Cormen et al., 15.2). */
static void check_order(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir_einsum e = {
      .expression = "ab,bc,cd->ad", .in = DTYPE_F32, .out = DTYPE_F32};
  CHECK(teir_einsum_sizes(&e, "a=10,b=100,c=5,d=50", &d));
  struct teir *t = teir_from_einsum(a, &e, &d);
  CHECK(t && teir_macs(t) == 7500);
  arena_close(a);
}

int main(void) {
  int64_t extents[] = {2, 3, 4, 3, 2, 5};
  for (size_t i = 0; i < sizeof expression / sizeof *expression; i++)
    check_einsum(expression[i], extents);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    struct teir_einsum e = {.expression = wrong[i].expression,
                            .layout = wrong[i].layout,
                            .in = DTYPE_F32,
                            .out = DTYPE_F32};
    bool good = teir_einsum_sizes(&e, wrong[i].sizes, &d) &&
                teir_from_einsum(a, &e, &d);
    CHECK(!good && strstr(d.text, wrong[i].message));
    if (good || !strstr(d.text, wrong[i].message))
      fprintf(stderr, "row %zu wants '%s', got '%s'\n", i, wrong[i].message,
              d.text);
    arena_close(a);
  }
  check_layout();
  check_order();
  return check_result();
}
