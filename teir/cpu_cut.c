/* cpu_cut.c -- which code a product gets on a processor, and the sizes of its
 * blocks, as formulas: the printed schedule evaluates them, the emitted code
 * contains them. */
#include "teir_cpu.h"

#include <assert.h>
#include <string.h>

/* ---- numbers that are known ---- */

static void *known_number(void *arena, int64_t n) {
  int64_t *to = arena_alloc(arena, sizeof *to);
  *to = n;
  return to;
}

static int64_t evaluate(enum teir_cpu_formula f, int64_t x, int64_t y) {
  switch (f) {
  case CPU_PLUS: {
    int64_t sum;
    return __builtin_add_overflow(x, y, &sum) ? INT64_MAX : sum;
  }
  case CPU_TIMES: { /* sizes whose product is too large are large */
    int64_t product;
    return __builtin_mul_overflow(x, y, &product) ? INT64_MAX : product;
  }
  case CPU_DIVIDE:
    return x / y;
  case CPU_DIVIDE_UP:
    return x / y + (x % y > 0);
  case CPU_LEAST:
    return x < y ? x : y;
  case CPU_AT_MOST:
    return x <= y;
  case CPU_EQUAL:
    return x == y;
  case CPU_BOTH:
    return x && y;
  case CPU_EITHER:
    return x || y;
  }
  assert(false);
  return 0;
}

static void *known_apply(void *arena, enum teir_cpu_formula f, void *x,
                         void *y) {
  return known_number(arena,
                      evaluate(f, *(const int64_t *)x, *(const int64_t *)y));
}

static void *known_choose(void *arena, void *condition, void *x,
                          void *otherwise) {
  (void)arena;
  return *(const int64_t *)condition ? x : otherwise;
}

struct teir_cpu_math teir_cpu_known(struct arena *a) {
  return (struct teir_cpu_math){known_number, known_apply, known_choose, a};
}

/* ---- formulas ---- */

typedef const struct teir_cpu_math math;

static void *number(math *m, int64_t n) { return m->number(m->context, n); }

static void *apply(math *m, enum teir_cpu_formula f, void *x, void *y) {
  return m->apply(m->context, f, x, y);
}

static void *choose(math *m, void *condition, void *x, void *otherwise) {
  return m->choose(m->context, condition, x, otherwise);
}

static void *at_most(math *m, void *x, int64_t n) {
  return apply(m, CPU_AT_MOST, x, number(m, n));
}

static void *at_least(math *m, void *x, int64_t n) {
  return apply(m, CPU_AT_MOST, number(m, n), x);
}

static void *round_up(math *m, void *x, void *unit) {
  return apply(m, CPU_TIMES, apply(m, CPU_DIVIDE_UP, x, unit), unit);
}

static void *even(math *m, void *extent, void *largest, void *unit) {
  void *count = apply(m, CPU_DIVIDE_UP, extent, largest);
  return round_up(m, apply(m, CPU_DIVIDE_UP, extent, count), unit);
}

static void *macs_of(math *m, const struct teir_cpu_size *s) {
  return apply(m, CPU_TIMES, apply(m, CPU_TIMES, s->m, s->n), s->k);
}

/* In0 is read as it lies for each block of columns: all rows of it where in1's
 * columns are packed, and parts of all its pages where steps are on pages of
 * their own.  Then it must stay near. */
static void *has_few_blocks(const struct teir_cpu_blocks *b, math *m,
                            const struct teir_cpu_size *s, void *in0) {
  void *some = at_most(m, s->n, b->direct_n);
  void *near = apply(m, CPU_BOTH, some, at_most(m, in0, b->direct_near));
  near = apply(m, CPU_EITHER, near, at_most(m, s->n, b->direct_columns));
  if (s->turned)
    return near;
  return s->across ? choose(m, s->across, near, some) : some;
}

/* For an epilogue, where it is not packed? */
static bool keeps_sums(const struct teir_cpu_size *s) {
  return s->finishes && !s->scaled;
}

/* Panels of in1 are for all rows, of which each has some columns of the result
 * after the other: lines and pages that do not stay near until the next panel.
 */
static void *stays_near(const struct teir_cpu_blocks *b, math *m,
                        const struct teir_cpu_size *s) {
  return at_most(m, apply(m, CPU_TIMES, s->m, s->n), 3 * b->direct_elements);
}

void *teir_cpu_is_direct(const struct teir_cpu_blocks *b, math *m,
                         const struct teir_cpu_size *s) {
  void *in1 = apply(m, CPU_TIMES, s->k, s->n);
  void *in0 = apply(m, CPU_TIMES, s->m, s->k);
  void *small;
  if (s->dot.group > 1) {
    small = teir_cpu_is_small_for_groups(b, m, s);
  } else {
    small = apply(m, CPU_BOTH, at_most(m, in1, b->direct_elements),
                  apply(m, CPU_EITHER, at_most(m, in0, b->direct_elements),
                        has_few_blocks(b, m, s, in0)));
    if (s->dot.converts)
      small = apply(m, CPU_BOTH, small,
                    at_most(m, macs_of(m, s), TEIR_CPU_CONVERTS_MACS - 1));
    if (s->turned && !s->finishes)
      small = apply(m, CPU_BOTH, small, stays_near(b, m, s));
    if (!keeps_sums(s))
      small = apply(m, CPU_EITHER, at_most(m, s->m, b->direct_m), small);
  }
  return small;
}

void *teir_cpu_is_block(const struct teir_cpu_blocks *b, math *m,
                        const struct teir_cpu_size *s, bool masks) {
  int64_t columns = s->turned ? b->turned_columns : b->direct_columns;
  void *is = apply(m, CPU_BOTH, at_most(m, s->n, columns),
                   apply(m, CPU_BOTH, at_most(m, s->m, TEIR_CPU_BLOCK),
                         at_most(m, s->k, TEIR_CPU_BLOCK)));
  /* Fewer columns than a vector has are done one by one without masks. */
  void *some = apply(m, CPU_BOTH, at_least(m, s->n, masks ? 1 : b->lanes),
                     at_least(m, s->k, 1));
  return apply(m, CPU_BOTH, is, some);
}

/* Too small a product for tiles. */
static void *is_small(math *m, const struct teir_cpu_size *s) {
  return apply(m, CPU_EITHER,
               apply(m, CPU_EITHER, at_most(m, s->m, TEIR_CPU_TILED_M - 1),
                     at_most(m, s->k, TEIR_CPU_TILED_K - 1)),
               at_most(m, macs_of(m, s), TEIR_CPU_TILED_MACS - 1));
}

/* Measured, of what is packed anyway: panels are filled up to 32 rows and to 64
 * bytes of K, but tiles of them are multiplied in an eighth of the time that
 * vectors take, which outweighs it unless more than half of K is zeros. */
void *teir_cpu_is_small_for_tiles(math *m, const struct teir_cpu_size *s) {
  return apply(m, CPU_EITHER, is_small(m, s),
               at_most(m, s->k, s->dot.step / 2 - 1));
}

struct teir_cpu_most teir_cpu_most(const struct teir_cpu_blocks *b, math *m) {
  return (struct teir_cpu_most){number(m, b->height[0]), number(m, b->columns),
                                number(m, b->block_m),   number(m, b->block_n),
                                number(m, b->block_k),   number(m, b->kept_n),
                                number(m, b->sums_m),    number(m, b->sums_n)};
}

static void *largest_k(const struct teir_cpu_most *most, math *m,
                       const struct teir_cpu_size *s) {
  return apply(m, CPU_TIMES, most->block_k, number(m, s->dot.group));
}

void *teir_cpu_keeps_in0(const struct teir_cpu_most *most, math *m,
                         const struct teir_cpu_size *s) {
  return apply(m, CPU_BOTH, apply(m, CPU_AT_MOST, s->m, most->block_m),
               apply(m, CPU_AT_MOST, s->k, largest_k(most, m, s)));
}

struct teir_cpu_cut teir_cpu_cut_packed(const struct teir_cpu_most *most,
                                        math *m,
                                        const struct teir_cpu_size *s) {
  struct teir_cpu_cut c;
  c.block_k = even(m, s->k, largest_k(most, m, s),
                   number(m, s->dot.step > 8 ? s->dot.step : 8));
  c.block_m = even(m, s->m, most->block_m, most->rows);
  /* For few rows a panel of in1 is used once, while it is in the first
   * cache; for one block of in0, while it is in the second. */
  void *largest = choose(m, teir_cpu_keeps_in0(most, m, s), most->kept_n,
                         s->finishes ? most->sums_n : most->block_n);
  largest = choose(m, apply(m, CPU_AT_MOST, s->m, most->rows),
                   apply(m, CPU_TIMES, most->columns, number(m, 4)), largest);
  c.block_n = even(m, s->n, largest, most->columns);
  c.part_m = s->finishes ? apply(m, CPU_LEAST, round_up(m, s->m, most->rows),
                                 most->sums_m)
                         : s->m;
  return c;
}

struct teir_cpu_cut teir_cpu_cut_direct(const struct teir_cpu_blocks *b,
                                        math *m,
                                        const struct teir_cpu_size *s) {
  /* Not more blocks of rows than pages that the processor has at hand, so that
   * columns follow soon in each: of short rows a page holds several.  Of an in1
   * that no cache holds, some steps of all columns. */
  enum { FEW = 64, SHORT = 256, LONG = 1000 };
  struct teir_cpu_cut c = {.block_m = s->m, .block_k = s->k};
  if (s->turned) {
    c.block_k = number(m, TEIR_CPU_DIRECT_K);
    c.block_m = keeps_sums(s) ? number(m, TEIR_CPU_DIRECT_M) : s->m;
  }
  if (s->turned || keeps_sums(s))
    return c;
  void *kept = at_most(m, apply(m, CPU_TIMES, s->k, s->n), b->direct_elements);
  int64_t height = b->direct_height[0];
  void *rows = choose(m, at_most(m, s->n, SHORT), number(m, 8 * height),
                      choose(m, at_most(m, s->n, LONG), number(m, 4 * height),
                             number(m, height)));
  c.block_m = choose(m, kept, rows, s->m);
  void *steps = s->k;
  if (s->across) {
    /* each step is on a page of its own, which many rows share */
    void *cuts = apply(m, CPU_BOTH, s->across, at_most(m, s->n, FEW));
    steps = choose(m, cuts, number(m, TEIR_CPU_DIRECT_K), steps);
  }
  c.block_k = choose(m, kept, steps, number(m, TEIR_CPU_DIRECT_K));
  return c;
}

void *teir_cpu_vectors(const struct teir_cpu_blocks *b, math *m, void *columns,
                       bool masks, bool turned) {
  void *many = apply(m, CPU_DIVIDE_UP, columns, number(m, b->lanes));
  void *two = number(m, 2), *next;
  void *even = apply(m, CPU_EQUAL, many,
                     apply(m, CPU_TIMES, apply(m, CPU_DIVIDE, many, two), two));
  if (turned || b->direct_vectors == 2) {
    next = choose(m, even, two, number(m, 1));
  } else {
    assert(b->direct_vectors == 3); /* four are two and two */
    void *is_four = apply(m, CPU_EQUAL, many, number(m, 4));
    next = choose(m, is_four, two, apply(m, CPU_LEAST, many, number(m, 3)));
  }
  return masks
             ? next
             : choose(m, at_most(m, columns, b->lanes - 1), number(m, 0), next);
}

int64_t teir_cpu_straight_height(const struct teir_cpu *c, int vectors,
                                 int64_t m) {
  enum { MOST_ROWS = 16 };
  int v = vectors > 1 ? vectors : 1;
  int64_t most = (c->registers - v - 1 - !c->fma) / v;
  most = most < MOST_ROWS ? most : MOST_ROWS;
  int64_t blocks = (m + most - 1) / most;
  return (m + blocks - 1) / blocks;
}

/* ---- which code ---- */

bool teir_cpu_exchanges(const bool has[AXIS_ROLES], bool m_dense,
                        bool n_dense) {
  return has[AXIS_M] && (!has[AXIS_N] || (m_dense && !n_dense));
}

static enum teir_cpu_vector choose_vector(const struct teir_cpu_form *f) {
  if (f->extent[AXIS_M] != 1)
    return CPU_VECTOR_NO;
  if (f->dense[AXIS_K][IN0] && f->dense[AXIS_K][IN1])
    return CPU_VECTOR_DOT;
  return f->dense[AXIS_N][IN1] && (f->finishes || f->dense[AXIS_N][OUT])
             ? CPU_VECTOR_ADD
             : CPU_VECTOR_NO;
}

/* The matrix lies so that it can be read once, whatever the vector's strides.
 */
static enum teir_cpu_vector choose_thin(const struct teir_cpu_form *f,
                                        enum axis_role along, int matrix) {
  return f->dense[along][matrix]    ? CPU_VECTOR_ADD
         : f->dense[AXIS_K][matrix] ? CPU_VECTOR_DOT
                                    : CPU_VECTOR_NO;
}

enum { EACH_STEPS = 16, DOT_STEPS = 64 };

/* Few vectors, of so many steps that these are not mostly overhead, for each or
 * for all; or one. */
static void *few(math *m, void *vectors, int64_t most, void *steps, bool all) {
  void *least = apply(m, CPU_TIMES, vectors, number(m, EACH_STEPS));
  if (all)
    least = apply(m, CPU_LEAST, least, number(m, DOT_STEPS));
  void *is = apply(m, CPU_BOTH, at_most(m, vectors, most),
                   apply(m, CPU_AT_MOST, least, steps));
  return apply(m, CPU_EITHER, at_most(m, vectors, 1), is);
}

/* Where in1 lies along K, all of it would be packed for a few rows. */
void *teir_cpu_has_few_rows(math *m, const struct teir_cpu_size *s,
                            enum teir_cpu_vector row) {
  bool packs = row == CPU_VECTOR_DOT && !s->finishes;
  return packs ? few(m, s->m, TEIR_CPU_FEW_ROWS, s->k, true)
               : at_most(m, s->m, 1);
}

/* Of few columns a vector has lanes that nobody needs.  Where in0 lies along
 * the rows, vectors lie along them, too. */
void *teir_cpu_has_few_columns(math *m, const struct teir_cpu_size *s,
                               enum teir_cpu_vector column) {
  enum { MOST = TEIR_CPU_FEW_COLUMNS, LEAST_ROWS = 16, LEAST_STEPS = 4 };
  bool wide = dtype_bytes(s->dot.packed[IN0]) == 8; /* a vector has half */
  if (column == CPU_VECTOR_DOT)
    return few(m, s->n, MOST, s->k, !wide);
  void *is = apply(m, CPU_BOTH, at_most(m, s->n, wide ? MOST / 2 : MOST),
                   at_least(m, s->m, LEAST_ROWS));
  is = apply(m, CPU_BOTH, is, at_least(m, s->k, LEAST_STEPS));
  return apply(m, CPU_EITHER, at_most(m, s->n, 1), is);
}

void *teir_cpu_gathers(math *m, void *vectors, void *rows, int bytes,
                       int most_bytes) {
  enum { LEAST_ROWS = 8 }; /* for each */
  void *least = apply(m, CPU_TIMES, vectors, number(m, LEAST_ROWS));
  return apply(m, CPU_BOTH, at_most(m, vectors, most_bytes / bytes),
               apply(m, CPU_AT_MOST, least, rows));
}

/* Of known sizes, for one processor. */
struct known_ways {
  bool direct, straight;
};

static struct known_ways choose_known(const struct teir_cpu_form *f,
                                      bool turned, const struct teir_cpu *c) {
  struct arena *a = arena_open();
  struct teir_cpu_math m = teir_cpu_known(a);
  struct teir_cpu_blocks b = teir_cpu_blocks(c, f->sum);
  bool lies_across = f->dense[AXIS_M][IN0] && !f->dense[AXIS_K][IN0];
  struct teir_cpu_size s = {
      number(&m, f->extent[AXIS_M]),
      number(&m, f->extent[AXIS_N]),
      number(&m, f->extent[AXIS_K]),
      teir_cpu_choose_dot(c, f->type[IN0], f->type[IN1], f->sum),
      turned,
      f->finishes,
      false,
      lies_across ? number(&m, 1) : NULL,
      false};
  struct known_ways w;
  w.direct = *(const int64_t *)teir_cpu_is_direct(&b, &m, &s);
  w.straight = w.direct;
  if (s.dot.group > 1)
    w.straight |= *(const int64_t *)teir_cpu_is_straight(&b, &m, &s,
                                                         f->type[IN1], f->sum);
  arena_close(a);
  return w;
}

/* Of those with tiles the row above: smaller products are left to it. */
static bool is_meant(const struct teir_cpu_form *f, const struct teir_cpu *c) {
  if (c->kernel == CPU_KERNEL_TILES)
    return false;
  return !f->cpu || (f->others ? strcmp(c->arch, f->cpu->arch) == 0
                               : c == teir_cpu_plain(f->cpu));
}

struct teir_cpu_ways teir_cpu_choose_ways(const struct teir_cpu_form *f) {
  enum { MOST_STRAIGHT = 64 };
  struct teir_cpu_ways w = {.packed = true};
  if (!f->one_axis || f->limited)
    return w;
  w.vector = choose_vector(f);
  if (w.vector != CPU_VECTOR_NO || !f->dense[AXIS_N][OUT])
    return w;
  w.turned = !f->dense[AXIS_N][IN1];
  w.direct = true;
  if (!f->extent[AXIS_M])
    w.row = choose_thin(f, AXIS_N, IN1);
  if (!f->extent[AXIS_N] && !f->finishes) /* that is along the columns */
    w.column = choose_thin(f, AXIS_M, IN0);
  int64_t m = f->extent[AXIS_M], n = f->extent[AXIS_N], k = f->extent[AXIS_K];
  if (!m || !n || !k)
    return w;
  w.packed = w.direct = false;
  w.straight = !f->finishes && m <= MOST_STRAIGHT && n <= MOST_STRAIGHT &&
               k <= MOST_STRAIGHT;
  for (int i = 0; i < teir_cpu_count(); i++) {
    if (!is_meant(f, teir_cpu_at(i)))
      continue;
    struct known_ways x = choose_known(f, w.turned, teir_cpu_at(i));
    w.direct |= x.direct;
    w.packed |= !x.direct;
    w.straight &= x.straight;
  }
  w.direct |= w.straight;
  w.turned &= w.direct;
  return w;
}
