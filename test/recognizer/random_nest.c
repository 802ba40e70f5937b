/* random_nest.c -- nests as text: a product with random layout, order of loops,
 * unrolling, start value and tail; and damage to such a text. */
#include "random_nest.h"

#include <string.h>

static uint64_t state;

void random_seed(uint64_t seed) { state = seed; }

int pick(int choices) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)choices);
}

bool maybe(int percent) { return pick(100) < percent; }

/* ---- a nest as text ---- */

enum start { START_OLD, START_ZERO, START_NUMBER, START_BIAS, START_BETA };

struct plan {
  struct text *t;
  const char *type, *in0, *in1, *out;
  const char *third; /* factor of every product; NULL: none */
  int m, n, k, l;    /* extents; l: of a second loop of the sum, or 0 */
  int remainder;     /* iterations that a loop of its own does */
  int um, un, uk;    /* iterations written out */
  int cut[4];        /* tiles into which loops i, j, k and l are cut, or 0 */
  int lda, ldb, ldc; /* of rows */
  bool a_turned, b_turned, c_turned;
  bool scalar;   /* the sum is kept in a scalar */
  bool numbered; /* the remainder goes on after k, in k's numbers, */
  bool symbolic; /* up to one that only run time knows */
  bool partial, split, ordered, minus, scaled, hoisted, swapped;
  int limited; /* operands count where 1, 2: a condition on counters holds */
  int made;    /* operands are made of elements: 1 and 3 in0's, 2 and 3 in1's */
  bool made_first;  /* inside the conditions */
  bool first, last; /* start and tail stand in the loop, under conditions */
  bool down;        /* loop k has a negative step */
  bool local;       /* the sum is kept in a local array, */
  bool copied;      /* or what is multiplied is read from one */
  enum start start;
  int tail;
  int depth;
};

__attribute__((format(printf, 2, 3))) static void
line(struct plan *p, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  text_printf(p->t, "%*s%s\n", 2 * p->depth, "", text);
}

static void open_loop(struct plan *p, const char *name, int extent) {
  line(p, "loop %s %d", name, extent);
  p->depth++;
}

static void close_loops(struct plan *p, int depth) {
  while (p->depth > depth) {
    p->depth--;
    line(p, "end");
  }
}

static void statement(struct plan *p, const char *to, const char *sign,
                      const char *value) {
  line(p, "%s %s %s : %s%s", to, sign, value, p->type,
       p->ordered ? " ordered" : "");
}

/* Texts of a few expressions at a time. */
__attribute__((format(printf, 1, 2))) static const char *
format(const char *format, ...) {
  static char text[32][400];
  static int next;
  char *at = text[next++ % 32];
  va_list args;
  va_start(args, format);
  vsnprintf(at, sizeof text[0], format, args);
  va_end(args);
  return at;
}

static const char *c_at(const struct plan *p, const char *i, const char *j,
                        int x, int y) {
  int row = p->c_turned ? 1 : p->ldc, col = p->c_turned ? p->ldc : 1;
  return format("C[%s*%d + %s*%d + %d]", i, p->um * row, j, p->un * col,
                x * row + y * col);
}

/* The factors of a product, made of elements. */
static void make(const struct plan *p, int y, const char **a, const char **b) {
  if (p->made & 1)
    *a = format("(%s - %s)", *a, p->made == 3 ? "alpha" : "3");
  if (p->made & 2)
    *b = format("(%s + D[j*%d + %d])", *b, p->un, y);
}

static const char *product(const struct plan *p, int x, int y, int u) {
  int ai = p->a_turned ? 1 : p->lda, ak = p->a_turned ? p->lda : 1;
  int bj = p->b_turned ? p->ldb : 1, bk = p->b_turned ? 1 : p->ldb;
  int l = p->l ? p->l : 1, step = p->numbered ? 1 : p->uk;
  const char *second_a = "", *second_b = "";
  if (p->l) {
    second_a = format(" + l*%d", p->uk * ak);
    second_b = format(" + l*%d", p->uk * bk);
  }
  const char *a = format("A[i*%d + k*%d%s + %d]", p->um * ai, step * l * ak,
                         second_a, x * ai + u * ak);
  const char *b = format("B[j*%d + k*%d%s + %d]", p->un * bj, step * l * bk,
                         second_b, y * bj + u * bk);
  if (p->copied)
    b = "T[k*2]";
  a = p->limited == 1 ? format("%s?", a) : a;
  b = p->limited == 2 ? format("%s?", b) : b;
  if (p->made_first)
    make(p, y, &a, &b);
  if (p->limited == 1)
    a = format("select([i*%d + k - %d >= 0], %s, 0)", 1 - 2 * (u % 2), x + 3,
               a);
  if (p->limited == 2)
    b = format("select(and([k - j + 2 >= 0], [k*2 - 9 < 0]), %s, 0)", b);
  if (!p->made_first)
    make(p, y, &a, &b);
  const char *ab =
      p->swapped ? format("%s * %s", b, a) : format("%s * %s", a, b);
  if (p->third)
    ab = format("%s * %s", ab, p->third);
  return p->scaled ? format("alpha * %s", ab) : ab;
}

static const char *rest_product(const struct plan *p, int x, int y) {
  int ai = p->a_turned ? 1 : p->lda, ak = p->a_turned ? p->lda : 1;
  int bj = p->b_turned ? p->ldb : 1, bk = p->b_turned ? 1 : p->ldb;
  int k = p->numbered ? 0 : p->k * (p->l ? p->l : 1) * p->uk;
  return format("%sA[i*%d + q*%d + %d] * B[j*%d + q*%d + %d]",
                p->scaled ? "alpha * " : "", p->um * ai, ak, x * ai + k * ak,
                p->un * bj, bk, y * bj + k * bk);
}

static const char *start_value(const struct plan *p, const char *i,
                               const char *j, int x, int y) {
  switch (p->start) {
  case START_OLD:
    return c_at(p, i, j, x, y);
  case START_ZERO:
    return "0";
  case START_NUMBER:
    return "3";
  case START_BIAS:
    return format("D[%s*%d + %d]", j, p->un, y);
  case START_BETA:
    return format("beta * %s + D[%s*%d + %s*%d + %d]", c_at(p, i, j, x, y), i,
                  8 * p->um, j, p->un, 8 * x + y);
  }
  return "0";
}

static const char *tail_of(const struct plan *p, const char *sum, int y) {
  switch (p->tail) {
  case 1:
    return format("max(%s, 0)", sum);
  case 2:
    return format("select(lt(0, %s), %s, 0)", sum, sum);
  case 3:
    return format("alpha * %s + D[j*%d + %d]", sum, p->un, y);
  case 4:
    return format("min(max(%s, 0), 9)", sum);
  case 5:
    return format("(%s : i8)", sum);
  case 6:
    return format("beta - %s", sum);
  case 7:
    return format("neg(%s) * 2", sum);
  case 8:
    return format("(shr((%s : i32), 1) : i32)", sum);
  default:
    return sum;
  }
}

static const char *sum_name(int x, int y, int u) {
  return format("s%d%d%d", x, y, u);
}

static void each_place(struct plan *p,
                       void (*write)(struct plan *p, int x, int y)) {
  for (int x = 0; x < p->um; x++)
    for (int y = 0; y < p->un; y++)
      write(p, x, y);
}

/* ---- the sum in memory ---- */

static void write_start(struct plan *p, int x, int y) {
  if (p->start != START_OLD)
    statement(p, c_at(p, "i", "j", x, y), "=", start_value(p, "i", "j", x, y));
}

static void write_products(struct plan *p, int x, int y) {
  const char *to = c_at(p, "i", "j", x, y), *sign = p->minus ? "-=" : "+=";
  if (p->split || p->uk > 2)
    for (int u = 0; u < p->uk; u++)
      statement(p, to, sign, product(p, x, y, u));
  else if (p->uk == 2)
    statement(p, to, sign,
              format("%s + %s", product(p, x, y, 0), product(p, x, y, 1)));
  else
    statement(p, to, sign, product(p, x, y, 0));
}

static void write_tail(struct plan *p, int x, int y) {
  const char *to = c_at(p, "i", "j", x, y);
  if (p->tail)
    statement(p, to, "=", tail_of(p, to, y));
}

/* All of a place in one loop: at one end of k it starts, at the other ends. */
static void write_edges(struct plan *p, int x, int y) {
  const char *to = c_at(p, "i", "j", x, y);
  const char *zero = "k*-1 >= 0", *end = format("k - %d >= 0 last", p->k - 1);
  if (p->start != START_OLD)
    statement(p, format("%s?", to), "=",
              format("select([%s], %s, %s)", p->first != p->down ? zero : end,
                     start_value(p, "i", "j", x, y), to));
  write_products(p, x, y);
  if (p->tail)
    statement(p, format("%s?", to), "=",
              format("select([%s], %s, %s)", p->last != p->down ? end : zero,
                     tail_of(p, to, y), to));
}

static int extent_of(const struct plan *p, char loop) {
  return loop == 'i' ? p->m : loop == 'j' ? p->n : loop == 'k' ? p->k : p->l;
}

static void open_one(struct plan *p, char loop) {
  char name[2] = {loop};
  if (loop == 'k' && p->numbered) {
    const char *extent = p->symbolic ? "e" : format("%d", p->k * p->uk);
    line(p, "loop k %s step %d", extent, p->uk);
    p->depth++;
    return;
  }
  line(p, "loop %s %d%s", name, extent_of(p, loop),
       loop == 'k' && p->down ? " down" : "");
  p->depth++;
}

/* What a loop over k leaves, in a loop of its own. */
static void write_rest(struct plan *p,
                       void (*write)(struct plan *p, int x, int y)) {
  int last = p->k * p->uk + p->remainder;
  if (!p->remainder)
    return;
  if (p->numbered)
    line(p, "loop q %s after k", p->symbolic ? "f" : format("%d", last));
  else
    line(p, "loop q %d", p->remainder);
  p->depth++;
  each_place(p, write);
  close_loops(p, p->depth - 1);
}

/* The loops, some of them tiled by loops around all. */
static void open_tiles(struct plan *p, const char *loops) {
  const char *cut = "";
  for (const char *l = loops; *l; l++)
    if (p->cut[*l - 'i'] && maybe(80)) {
      cut = maybe(50) ? format("%s%c", cut, *l) : format("%c%s", *l, cut);
    }
  for (const char *l = cut; *l; l++)
    open_loop(p, format("%c%c", *l, *l), p->cut[*l - 'i']);
  for (; *loops; loops++)
    if (strchr(cut, *loops)) {
      line(p, "loop %c %d cut by %c%c", *loops, extent_of(p, *loops), *loops,
           *loops);
      p->depth++;
    } else
      open_one(p, *loops);
}

static void in_loops(struct plan *p, const char *loops,
                     void (*write)(struct plan *p, int x, int y)) {
  int depth = p->depth;
  open_tiles(p, loops);
  each_place(p, write);
  close_loops(p, depth);
}

static void add_rest_in_memory(struct plan *p, int x, int y) {
  statement(p, c_at(p, "i", "j", x, y),
            p->minus ? "-=" : "+=", rest_product(p, x, y));
}

static void memory_nest(struct plan *p) {
  static const char *const order[] = {"ijk", "jik", "ikj", "kij", "jki", "kji"};
  const char *o = order[pick(6)];
  int depth = 0;
  if (p->l) { /* a loop around the product, and maybe around the remainder */
    open_one(p, 'l');
    depth += maybe(50);
  }
  if (o[0] != 'k') {
    open_one(p, o[0]);
    if (o[1] != 'k' && maybe(50)) {
      open_one(p, o[1]);
      each_place(p, write_start);
      open_one(p, 'k');
      each_place(p, maybe(30) ? write_edges : write_products);
      close_loops(p, p->depth - 1);
      write_rest(p, add_rest_in_memory);
      each_place(p, write_tail);
    } else {
      in_loops(p, o[0] == 'i' ? "j" : "i", write_start);
      in_loops(p, o + 1, write_products);
      in_loops(p, o[0] == 'i' ? "j" : "i", write_tail);
    }
  } else if (maybe(50)) {
    in_loops(p, o, maybe(60) ? write_edges : write_products);
  } else { /* a loop that does nothing holds them together */
    open_loop(p, "r", 1);
    in_loops(p, maybe(50) ? "ij" : "ji", write_start);
    in_loops(p, o, write_products);
    in_loops(p, maybe(50) ? "ij" : "ji", write_tail);
  }
  close_loops(p, depth > p->depth ? p->depth : 0);
}

/* ---- the sum in scalars ---- */

static int accumulators(const struct plan *p) { return p->split ? p->uk : 1; }

static void start_sums(struct plan *p, int x, int y) {
  for (int u = 0; u < accumulators(p); u++)
    statement(p, sum_name(x, y, u), "=",
              u == 0 && !p->hoisted ? start_value(p, "i", "j", x, y) : "0");
}

static void add_to_sums(struct plan *p, int x, int y) {
  const char *sign = p->minus ? "-=" : "+=";
  for (int u = 0; u < p->uk; u++)
    statement(p,
              p->partial ? format("p%d%d", x, y)
                         : sum_name(x, y, p->split ? u : 0),
              sign, product(p, x, y, u));
}

static void add_rest(struct plan *p, int x, int y) {
  statement(p, sum_name(x, y, 0),
            p->minus ? "-=" : "+=", rest_product(p, x, y));
}

static void start_partial(struct plan *p, int x, int y) {
  line(p, "p%d%d = 0 : %s", x, y, p->type);
}

static void add_partial(struct plan *p, int x, int y) {
  statement(p, sum_name(x, y, 0), "+=", format("p%d%d", x, y));
}

static void store_sums(struct plan *p, int x, int y) {
  const char *sum = sum_name(x, y, 0);
  for (int u = 1; u < accumulators(p); u++)
    sum = format("%s + %s", sum, sum_name(x, y, u));
  if (p->hoisted)
    sum = format("%s + %s", start_value(p, "i", "j", x, y), sum);
  statement(p, c_at(p, "i", "j", x, y), "=",
            tail_of(p, format("(%s)", sum), y));
}

static void scalar_nest(struct plan *p) {
  open_tiles(p, maybe(50) ? "ij" : "ji");
  each_place(p, start_sums);
  int depth = p->depth;
  open_tiles(p, "k");
  if (p->partial)
    each_place(p, start_partial);
  if (p->l)
    open_one(p, 'l');
  each_place(p, add_to_sums);
  if (p->l)
    close_loops(p, p->depth - 1);
  if (p->partial)
    each_place(p, add_partial);
  close_loops(p, depth);
  write_rest(p, add_rest);
  each_place(p, store_sums);
  close_loops(p, 0);
}

/* ---- the sum in local arrays ---- */

static const char *row_at(char loop) { return format("R[%c*3 + 1]", loop); }

static void local_row_nest(struct plan *p) {
  bool by_row = maybe(50);
  char in = by_row ? 'j' : 'i';
  open_one(p, by_row ? 'i' : 'j');
  open_one(p, in);
  statement(p, row_at(in), "=", start_value(p, "i", "j", 0, 0));
  close_loops(p, 1);
  open_tiles(p, maybe(50)   ? by_row ? "jk" : "ik"
                : maybe(50) ? "k"
                : by_row    ? "kj"
                            : "ki");
  if (p->depth == 2)
    open_one(p, in);
  statement(p, row_at(in), p->minus ? "-=" : "+=", product(p, 0, 0, 0));
  close_loops(p, 1);
  open_one(p, in);
  statement(p, c_at(p, "i", "j", 0, 0), "=", tail_of(p, row_at(in), 0));
  close_loops(p, 0);
}

static void copied_nest(struct plan *p) {
  open_one(p, 'j');
  open_one(p, 'k');
  p->copied = false;
  int bj = p->b_turned ? p->ldb : 1, bk = p->b_turned ? 1 : p->ldb;
  line(p, "T[k*2] = %sB[j*%d + k*%d] : %s", maybe(20) ? "3 + " : "", bj, bk,
       p->in1);
  p->copied = true;
  close_loops(p, 1);
  open_one(p, 'i');
  start_sums(p, 0, 0);
  open_one(p, 'k');
  add_to_sums(p, 0, 0);
  close_loops(p, 2);
  store_sums(p, 0, 0);
  close_loops(p, 0);
}

/* ---- results that go on in a remainder loop ---- */

static const char *result_at(const struct plan *p, const char *j, int y) {
  int row = p->c_turned ? 1 : p->ldc, col = p->c_turned ? p->ldc : 1;
  return format("C[i*%d + %s*%d + %d]", row, j, col, y * col);
}

static const char *result_product(const struct plan *p, const char *j, int y,
                                  const char *k) {
  int bj = p->b_turned ? p->ldb : 1, bk = p->b_turned ? 1 : p->ldb;
  const char *a = format("A[i*%d + %s]", p->lda, k);
  const char *b = format("B[%s*%d + %s*%d + %d]", j, bj, k, bk, y * bj);
  const char *ab =
      maybe(50) ? format("%s * %s", b, a) : format("%s * %s", a, b);
  return p->scaled ? format("alpha * %s", ab) : ab;
}

/* In scalars, some of which may start before others are stored. */
static void sum_results(struct plan *p, const char *j, int first, int end,
                        const char *k) {
  for (int y = first; y < end; y++)
    statement(p, format("%s%d", j, y), "=",
              p->start == START_OLD    ? result_at(p, j, y)
              : p->start == START_BIAS ? format("D[%s + %d]", j, y)
                                       : "0");
  line(p, "loop %s %d", k, p->k);
  p->depth++;
  for (int y = first; y < end; y++)
    statement(p, format("%s%d", j, y),
              p->minus ? "-=" : "+=", result_product(p, j, y, k));
  close_loops(p, p->depth - 1);
  for (int y = first; y < end; y++)
    statement(p, result_at(p, j, y), "=", tail_of(p, format("%s%d", j, y), y));
}

static void form_results(struct plan *p, const char *j, int count,
                         const char *k) {
  if (!p->scalar)
    for (int y = 0; y < count; y++)
      statement(p, result_at(p, j, y),
                p->minus ? "-=" : "+=", result_product(p, j, y, "k"));
  else if (p->split)
    for (int y = 0; y < count; y++)
      sum_results(p, j, y, y + 1, format("%s%d", k, y));
  else
    sum_results(p, j, 0, count, k);
}

static void results_nest(struct plan *p) {
  bool k_first = maybe(50);
  int end = p->n * p->un + pick(3);
  open_one(p, !p->scalar && k_first ? 'k' : 'i');
  if (!p->scalar)
    open_one(p, k_first ? 'i' : 'k');
  int depth = p->depth;
  line(p, "loop j %s step %d", p->symbolic ? "e" : format("%d", p->n * p->un),
       p->un);
  p->depth++;
  form_results(p, "j", p->un, "r");
  close_loops(p, depth);
  line(p, "loop q %s after j", p->symbolic ? "f" : format("%d", end));
  p->depth++;
  form_results(p, "q", 1, "t");
  close_loops(p, 0);
}

/* ---- plans ---- */

static const struct {
  const char *type, *in0, *in1, *out;
} types[] = {
    {"i32", "i8", "i8", "i32"},     {"i32", "u8", "i8", "i8"},
    {"i32", "i16", "i16", "u32"},   {"i32", "i8", "i16", "i16"},
    {"f32", "bf16", "bf16", "f32"}, {"f32", "bf16", "bf16", "bf16"},
    {"f32", "f32", "bf16", "f32"},  {"f64", "bf16", "bf16", "f32"},
    {"i64", "i8", "i8", "i64"},     {"i16", "i8", "i8", "i16"},
    {"u32", "u8", "i8", "i64"},     {"f64", "f64", "f64", "f64"},
    {"i8", "i8", "i8", "i32"},      {"i32", "i32", "i32", "i32"},
    {"i64", "i32", "i16", "i64"},   {"u32", "u16", "u16", "u8"},
    {"i64", "i64", "i8", "i32"},
};

void random_nest(struct text *t) {
  int type = maybe(50) ? 0 : pick(sizeof types / sizeof *types);
  struct plan p = {
      .t = t,
      .type = types[type].type,
      .in0 = types[type].in0,
      .in1 = types[type].in1,
      .out = types[type].out,
      .m = 1 + pick(4),
      .n = 1 + pick(4),
      .k = 1 + pick(4),
      .l = maybe(30) ? 1 + pick(3) : 0,
      .remainder = maybe(30) ? 1 + pick(3) : 0,
      .um = maybe(20) ? 2 : 1,
      .un = maybe(20) ? 1 + pick(4) : 1,
      .uk = maybe(30) ? 1 + pick(4) : 1,
      .a_turned = maybe(30),
      .b_turned = maybe(30),
      .c_turned = maybe(30),
      .scalar = maybe(60),
      .partial = maybe(20),
      .split = maybe(50),
      .cut = {maybe(20) ? 1 + pick(3) : 0, maybe(20) ? 1 + pick(3) : 0,
              maybe(20) ? 1 + pick(3) : 0},
      .ordered = maybe(10),
      .minus = maybe(20),
      .scaled = maybe(20),
      .hoisted = maybe(30),
      .swapped = maybe(50),
      .limited = maybe(20) ? 1 + pick(2) : 0,
      .made = types[type].type[0] != 'f' && maybe(20) ? 1 + pick(3) : 0,
      .first = maybe(80),
      .last = maybe(80),
      .down = maybe(20),
      .start = (enum start)pick(5),
      .tail = maybe(60) ? pick(9) : 0};
  p.lda = 30 + pick(3);
  p.ldb = 30 + pick(3);
  p.ldc = 30 + pick(3);
  p.numbered = p.remainder && !p.l && !p.cut[2] && !p.partial && maybe(70);
  p.symbolic = p.numbered && maybe(30);
  p.split &= !p.partial;
  if (maybe(20)) {
    p.um = p.un = p.uk = 1;
    p.third =
        format("E[i*%d + j*%d + k*%d%s]", pick(2) * 7, pick(2) * 5,
               pick(4) ? 1 + pick(9) : 0, p.l && maybe(50) ? " + l*3" : "");
  }
  if (maybe(20)) {
    p.um = p.un = p.uk = 1;
    p.l = p.remainder = 0;
    p.numbered = p.symbolic = p.partial = p.split = false;
    p.local = maybe(60);
    p.copied = !p.local;
  }
  bool results = maybe(20);
  if (results) {
    p.un = 1 + pick(4);
    p.tail = p.tail == 3 ? 0 : p.tail;
    p.symbolic = maybe(30);
    p.down = false;
    p.l = 0;
  }
  line(&p, "tensor A %s", p.in0);
  line(&p, "tensor B %s", p.in1);
  line(&p, "tensor C %s", p.out);
  line(&p, "tensor D %s", p.type);
  line(&p, "tensor E %s", maybe(50) ? p.in0 : p.in1);
  line(&p, "number alpha %s", p.type);
  line(&p, "number beta %s", p.type);
  line(&p, "tensor R %s local", p.type);
  line(&p, "tensor T %s local", p.in1);
  if (results)
    results_nest(&p);
  else if (p.local)
    local_row_nest(&p);
  else if (p.copied)
    copied_nest(&p);
  else
    (p.scalar ? scalar_nest : memory_nest)(&p);
}

/* ---- damage ---- */

static void change_char(char *text, const char *from, const char *to) {
  int count = 0;
  for (char *c = strstr(text, "loop"); c && *c; c++)
    count += strchr(from, *c) != NULL;
  if (!count)
    return;
  int which = pick(count);
  for (char *c = strstr(text, "loop"); c && *c; c++)
    if (strchr(from, *c) && which-- == 0)
      *c = to[pick((int)strlen(to))];
}

static char *line_at(char *text, int number) {
  while (number-- > 0)
    text = strchr(text, '\n') + 1;
  return text;
}

/* One line stands twice, is missing, or changes places with the next. */
static void change_lines(char *text) {
  int count = 0;
  for (char *c = text; *c; c++)
    count += *c == '\n';
  char *first = line_at(text, 9 + pick(count - 9));
  char *second = strchr(first, '\n') + 1;
  char copy[1000];
  size_t length = (size_t)(second - first);
  char *third = strchr(second, '\n');
  if (!third || length > sizeof copy)
    return;
  memcpy(copy, first, length);
  switch (pick(3)) {
  case 0:
    memmove(second + length, second, strlen(second) + 1);
    memcpy(second, copy, length);
    return;
  case 1:
    memmove(first, second, strlen(second) + 1);
    return;
  default:
    memmove(first, second, (size_t)(third + 1 - second));
    memcpy(third + 1 - length, copy, length);
    return;
  }
}

void random_damage(char *text) {
  switch (pick(6)) {
  case 0:
    change_char(text, "0123456789", "0123456789");
    return;
  case 1:
    change_char(text, "ijkl", "ijkl");
    return;
  case 2:
    change_char(text, "ABCDRT", "ABCDRT");
    return;
  case 3:
    change_char(text, "+-*", "+-*");
    return;
  default:
    change_lines(text);
    return;
  }
}
