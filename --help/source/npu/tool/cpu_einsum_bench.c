/* cpu_einsum_bench.c -- `nputeir bench cpu tccg`: the contractions of the TCCG
 * benchmark by loops that the plugin compiles, beside what a program would do
 * with OpenBLAS: tensors are transposed until they are matrices, those are
 * multiplied, the result is transposed.
 *
 * Of all ways to do that (orders of the rows, columns and steps, the matrices
 * exchanged) the one that moves the fewest elements is taken; transpositions
 * are loops in blocks, compiled for this processor by plain clang. */
#include "cpu_bench.h"
#include "keys.h"
#include "seconds.h"

#include "base.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 8, LEFT = 0, RIGHT, RESULT, MATRICES };

/* ---- the rival's way ---- */

struct way {
  /* What is multiplied from the left and from the right, and the result, as
   * they lie in the program; and as matrices. */
  char from[MATRICES][LETTERS], to[MATRICES][LETTERS];
  char rows[LETTERS], columns[LETTERS], steps[LETTERS];
  bool turned[MATRICES]; /* the other matrix of the two is what lies there */
  bool exchanged;        /* in1 is on the left */
  double moved;          /* elements that are transposed */
};

static double size_of(const char *letters, const long *extent) {
  double n = 1;
  for (; *letters; letters++)
    n *= (double)extent[*letters - 'a'];
  return n;
}

/* The letters of `order` that both others have. */
static void shared(const char *order, const char *x, const char *y, char *to) {
  for (; *order; order++)
    if (strchr(x, *order) && strchr(y, *order))
      *to++ = *order;
  *to = 0;
}

static void joined(const char *x, const char *y, char *to) {
  strcpy(to, x);
  strcat(to, y);
}

/* How one tensor becomes a matrix of x by y. */
static void lay(struct way *w, int i, const char *x, const char *y,
                const long *extent) {
  char other[LETTERS];
  joined(x, y, w->to[i]);
  joined(y, x, other);
  w->turned[i] = i != RESULT && strcmp(w->from[i], other) == 0 &&
                 strcmp(w->from[i], w->to[i]) != 0;
  if (w->turned[i])
    strcpy(w->to[i], other);
  if (strcmp(w->from[i], w->to[i]) != 0)
    w->moved += size_of(w->from[i], extent);
}

/* `choice`: a bit for each of rows, columns and steps (which tensor's order
 * they have), and one for an exchange. */
static struct way way_of(char tensor[MATRICES][LETTERS], int choice,
                         const long *extent) {
  struct way w = {.exchanged = choice & 8};
  strcpy(w.from[LEFT], tensor[w.exchanged ? RIGHT : LEFT]);
  strcpy(w.from[RIGHT], tensor[w.exchanged ? LEFT : RIGHT]);
  strcpy(w.from[RESULT], tensor[RESULT]);
  const char *l = w.from[LEFT], *r = w.from[RIGHT], *out = w.from[RESULT];
  shared(choice & 1 ? l : out, l, out, w.rows);
  shared(choice & 2 ? r : out, r, out, w.columns);
  shared(choice & 4 ? l : r, l, r, w.steps);
  lay(&w, LEFT, w.rows, w.steps, extent);
  lay(&w, RIGHT, w.steps, w.columns, extent);
  lay(&w, RESULT, w.rows, w.columns, extent);
  return w;
}

static struct way best_way(char tensor[MATRICES][LETTERS], const long *extent) {
  struct way best = way_of(tensor, 0, extent);
  for (int choice = 1; choice < 16; choice++) {
    struct way w = way_of(tensor, choice, extent);
    if (w.moved < best.moved)
      best = w;
  }
  return best;
}

/* ---- what is compiled ---- */

static void put_index(struct text *t, const char *letters) {
  for (size_t i = 1; i < strlen(letters); i++)
    text_puts(t, "(");
  text_printf(t, "%c", letters[0]);
  for (const char *l = letters + 1; *l; l++)
    text_printf(t, " * s[%d] + %c)", *l - 'a', *l);
}

static void put_loops(struct text *t, const char *letters, const char *but) {
  for (; *letters; letters++)
    if (!strchr(but, *letters))
      text_printf(t, "for (long %c = 0; %c < s[%d]; %c++) ", *letters, *letters,
                  *letters - 'a', *letters);
}

static void put_contraction(struct text *t, char tensor[MATRICES][LETTERS]) {
  char steps[LETTERS];
  shared(tensor[LEFT], tensor[LEFT], tensor[RIGHT], steps);
  text_puts(t, "void contract(const long *s, const T *restrict x, "
               "const T *restrict y, T *restrict z) { ");
  put_loops(t, tensor[RESULT], "");
  text_puts(t, "{ T sum = 0; ");
  put_loops(t, steps, "");
  text_puts(t, "sum += x[");
  put_index(t, tensor[LEFT]);
  text_puts(t, "] * y[");
  put_index(t, tensor[RIGHT]);
  text_puts(t, "]; z[");
  put_index(t, tensor[RESULT]);
  text_puts(t, "] = sum; } }\n");
}

/* Blocks of the two axes of which one is dense in `from`, and one in `to`. */
static void put_transposition(struct text *t, int i, const char *from,
                              const char *to) {
  char p = to[strlen(to) - 1], q = from[strlen(from) - 1];
  text_printf(t,
              "void move%d(const long *s, const T *restrict x, T *restrict y) "
              "{ enum { B = 16 }; ",
              i);
  put_loops(t, to, (char[]){p, q, 0});
  if (p != q)
    text_printf(t,
                "for (long %c0 = 0; %c0 < s[%d]; %c0 += B) "
                "for (long %c0 = 0; %c0 < s[%d]; %c0 += B) "
                "for (long %c = %c0; %c < s[%d] && %c < %c0 + B; %c++) "
                "for (long %c = %c0; %c < s[%d] && %c < %c0 + B; %c++) ",
                q, q, q - 'a', q, p, p, p - 'a', p, q, q, q, q - 'a', q, q, q,
                p, p, p, p - 'a', p, p, p);
  else
    put_loops(t, (char[]){p, 0}, "");
  text_puts(t, "y[");
  put_index(t, to);
  text_puts(t, "] = x[");
  put_index(t, from);
  text_puts(t, "]; }\n");
}

/* ---- what is measured ---- */

typedef void contraction_loop(const long *s, const void *x, const void *y,
                              void *z);
typedef void move_loop(const long *s, const void *x, void *y);
struct subject {
  const char *name, *sizes;
  const char *type;
  enum dtype dtype;
  char tensor[MATRICES][LETTERS];
  long extent['z' - 'a' + 1];
  struct way way;
  contraction_loop *contract;
  move_loop *move[MATRICES]; /* NULL: it is a matrix */
  void *gemm;                /* NULL: no OpenBLAS */
  void *data[MATRICES];      /* as the program has them; of two results */
  void *theirs, *matrix[MATRICES];
};

static void call_gemm(const struct subject *x, void *const at[MATRICES]) {
  const struct way *w = &x->way;
  int m = (int)size_of(w->rows, x->extent),
      n = (int)size_of(w->columns, x->extent),
      k = (int)size_of(w->steps, x->extent);
  int l = w->turned[LEFT] ? CBLAS_TURNED : CBLAS_AS_IS,
      r = w->turned[RIGHT] ? CBLAS_TURNED : CBLAS_AS_IS;
  int ll = w->turned[LEFT] ? m : k, rl = w->turned[RIGHT] ? k : n;
  if (x->dtype == DTYPE_F32)
    ((cblas_gemm_s *)(uintptr_t)x->gemm)(CBLAS_ROW_MAJOR, l, r, m, n, k, 1,
                                         at[LEFT], ll, at[RIGHT], rl, 0,
                                         at[RESULT], n);
  else
    ((cblas_gemm_d *)(uintptr_t)x->gemm)(CBLAS_ROW_MAJOR, l, r, m, n, k, 1,
                                         at[LEFT], ll, at[RIGHT], rl, 0,
                                         at[RESULT], n);
}

static void call_library(const struct subject *x) {
  bool e = x->way.exchanged;
  void *at[MATRICES] = {x->data[e ? RIGHT : LEFT], x->data[e ? LEFT : RIGHT],
                        x->theirs};
  for (int i = LEFT; i < RESULT; i++)
    if (x->move[i]) {
      x->move[i](x->extent, at[i], x->matrix[i]);
      at[i] = x->matrix[i];
    }
  if (x->move[RESULT])
    at[RESULT] = x->matrix[RESULT];
  call_gemm(x, at);
  if (x->move[RESULT])
    x->move[RESULT](x->extent, at[RESULT], x->theirs);
}

enum rival { OURS, LIBRARY, RIVALS };

/* Seconds of the fastest run of each, in turns; large ones run twice. */
static void measure(const struct subject *x, double best[RIVALS]) {
  double start = seconds_now();
  for (int round = 0; round < 2 || seconds_now() - start < 1; round++)
    for (enum rival r = OURS; r < RIVALS; r++) {
      if (r == LIBRARY && !x->gemm)
        continue;
      double from = seconds_now();
      if (r == OURS)
        x->contract(x->extent, x->data[LEFT], x->data[RIGHT], x->data[RESULT]);
      else
        call_library(x);
      double took = seconds_now() - from;
      best[r] = round == 0 || took < best[r] ? took : best[r];
    }
}

static size_t bytes_of(const struct subject *x, const char *letters) {
  return (size_t)size_of(letters, x->extent) * (size_t)dtype_bytes(x->dtype);
}

/* Small whole numbers, of which sums are exact in both types. */
static void *filled(const struct subject *x, const char *letters) {
  size_t bytes = bytes_of(x, letters),
         n = bytes / (size_t)dtype_bytes(x->dtype);
  void *p = malloc(bytes);
  if (!p)
    out_of_memory(bytes);
  for (size_t i = 0; i < n; i++)
    if (x->dtype == DTYPE_F32)
      ((float *)p)[i] = (float)(i % 7);
    else
      ((double *)p)[i] = (double)(i % 7);
  return p;
}

static bool compile_subject(struct tool *t, struct subject *x,
                            const char *folder, int number) {
  struct text source = {0};
  put_contraction(&source, x->tensor);
  for (int i = 0; i < MATRICES; i++) {
    const char *matrix = x->way.to[i], *program = x->way.from[i];
    if (strcmp(matrix, program) != 0)
      put_transposition(&source, i, i == RESULT ? matrix : program,
                        i == RESULT ? program : matrix);
  }
  struct cpu_bench_source s = {
      arena_printf(t->arena, "tccg-%d-%s", number, x->type),
      text_string(&source),
      {arena_printf(t->arena, "-DT=%s", x->type), NULL}};
  void *ours = cpu_bench_compile(t, folder, &s, true);
  void *plain = ours ? cpu_bench_compile(t, folder, &s, false) : NULL;
  text_free(&source);
  if (!plain)
    return false;
  x->contract = (contraction_loop *)(uintptr_t)dlsym(ours, "contract");
  for (int i = 0; i < MATRICES; i++) {
    char name[] = {'m', 'o', 'v', 'e', (char)('0' + i), 0};
    x->move[i] = (move_loop *)(uintptr_t)dlsym(plain, name);
  }
  return true;
}

static void print_subject(struct tool *t, const struct subject *x,
                          const double best[RIVALS]) {
  static const char *const role[] = {"in0", "in1", "out"};
  double flops = 2 * size_of(x->way.rows, x->extent) *
                 size_of(x->way.columns, x->extent) *
                 size_of(x->way.steps, x->extent);
  struct text keys = {0};
  text_printf(&keys, "case=tccg-%s-%s sizes=%s gflops=%.1f",
              dtype_name(x->dtype), x->name, x->sizes,
              flops * 1e-9 / best[OURS]);
  if (x->gemm) {
    text_printf(&keys, " openblas=%.1f ratio=%.3f transposed=",
                flops * 1e-9 / best[LIBRARY], best[LIBRARY] / best[OURS]);
    int moved = 0;
    for (int i = 0; i < MATRICES; i++)
      if (x->move[i])
        text_printf(&keys, "%s%s", moved++ ? "," : "",
                    role[i == RESULT ? i : i ^ x->way.exchanged]);
    if (!moved)
      text_puts(&keys, "-");
  }
  keys_print(t, "%s\n", text_string(&keys));
  text_free(&keys);
}

/* "ac,cb->ab" and "a=3,b=4,c=5" */
static void read_subject(struct subject *x) {
  const char *at = x->name;
  for (int i = 0; i < MATRICES; i++) {
    size_t n = strcspn(at, ",-");
    memcpy(x->tensor[i], at, n);
    x->tensor[i][n] = 0;
    at += n + (at[n] == '-' ? 2 : at[n] == ',');
  }
  for (at = x->sizes; *at;) {
    char *end, letter = *at;
    x->extent[letter - 'a'] = strtol(at + 2, &end, 10);
    at = end + (*end == ',');
  }
  x->way = best_way(x->tensor, x->extent);
}

/* The ratio, or 0. */
static bool run_subject(struct tool *t, struct subject *x, double *ratio) {
  double best[RIVALS] = {0};
  for (int i = 0; i < MATRICES; i++) {
    x->data[i] = filled(x, x->tensor[i]);
    x->matrix[i] = x->move[i] ? filled(x, x->way.to[i]) : NULL;
  }
  x->theirs = filled(x, x->tensor[RESULT]);
  measure(x, best);
  bool good = !x->gemm || memcmp(x->data[RESULT], x->theirs,
                                 bytes_of(x, x->tensor[RESULT])) == 0;
  for (int i = 0; i < MATRICES; i++) {
    free(x->data[i]);
    free(x->matrix[i]);
  }
  free(x->theirs);
  if (!good)
    return diag_error(&t->diag, loc_none(), "%s: OpenBLAS has another result",
                      x->name);
  print_subject(t, x, best);
  *ratio = x->gemm ? best[LIBRARY] / best[OURS] : 0;
  return true;
}

bool cpu_bench_einsums(struct tool *t, const char *folder, const char *only) {
  static const char *const type[] = {"float", "double"}, *const gemm[] = {
                                                             "cblas_sgemm",
                                                             "cblas_dgemm"};
  void *library = cpu_bench_openblas();
  for (int d = 0; d < 2; d++) {
    double ratio[BENCH_TCCG];
    int count = 0;
    for (int i = 0; i < BENCH_TCCG; i++) {
      if (!bench_means_einsum(only, i))
        continue;
      struct subject x = {.name = bench_tccg[i].expression,
                          .sizes = bench_tccg[i].sizes,
                          .type = type[d],
                          .dtype = d ? DTYPE_F64 : DTYPE_F32,
                          .gemm = library ? dlsym(library, gemm[d]) : NULL};
      read_subject(&x);
      if (!compile_subject(t, &x, folder, i) ||
          !run_subject(t, &x, &ratio[count++]))
        return false;
    }
    if (library && count > 1) {
      double middle = cpu_bench_median(ratio, count);
      keys_print(t, "case=tccg-%s median_ratio=%.3f least_ratio=%.3f\n",
                 dtype_name(d ? DTYPE_F64 : DTYPE_F32), middle, ratio[0]);
    }
  }
  return true;
}
