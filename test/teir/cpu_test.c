/* cpu_test.c -- the blocks that follow from the table of processors fit where
 * they are to stay, and the schedules made of them keep the meaning. */
#include "check.h"
#include "teir_cpu_schedule.h"
#include "teir_einsum.h"

#include <string.h>

static void check_registers(const struct teir_cpu *c,
                            const struct teir_cpu_blocks *b, int bytes) {
  CHECK(b->lanes * bytes == c->vector_bytes);
  CHECK(b->columns == b->lanes * b->vectors);
  for (int i = 1; i < b->height_count; i++)
    CHECK(b->height[i] < b->height[i - 1]);
  if (c->kernel == CPU_KERNEL_TILES) { /* of sums, of each input */
    int tiles = b->height[0] / TEIR_CPU_TILE_ROWS;
    CHECK(tiles * b->vectors + tiles + b->vectors <= TEIR_CPU_TILES);
    return;
  }
  int used = b->height[0] * b->vectors + b->vectors + 1 + !c->fma;
  CHECK(used <= c->registers);
  CHECK(b->height[b->height_count - 1] <= 4); /* most of it are rows */
}

static void check_caches(const struct teir_cpu *c,
                         const struct teir_cpu_blocks *b, int64_t bytes) {
  CHECK(b->block_k > 0 && b->block_m > 0 && b->block_n > 0);
  CHECK(b->block_n % b->columns == 0 && b->block_m % b->height[0] == 0);
  CHECK(b->columns * b->block_k * bytes <= c->cache_bytes[1] / 4);
  CHECK(b->block_m * b->block_k * bytes <= c->cache_bytes[1]);
  CHECK(b->block_n * b->block_k * bytes <= c->cache_bytes[2]);
  CHECK(b->sums_n % b->columns == 0 && b->sums_m > 0);
  CHECK(b->sums_m * b->sums_n * bytes <= c->cache_bytes[2]);
}

static void check_dot(const char *name, enum dtype in0, enum dtype in1,
                      enum dtype sum, enum teir_cpu_op op, bool offset) {
  struct teir_cpu_dot d =
      teir_cpu_choose_dot(teir_cpu_find(name), in0, in1, sum);
  CHECK(d.op == op && d.offset == offset);
  CHECK(op == CPU_OP_NONE || d.group * dtype_bytes(d.packed[0]) == 4);
  CHECK(d.step % d.packed_group[0] == 0 && d.step % d.packed_group[1] == 0);
  CHECK(op != CPU_OP_VPDPBUSD ||
        (d.packed[1] == in1 && d.packed[0] != in1 &&
         d.exchanged == (in1 == DTYPE_U8))); /* its first operand is the u8 */
}

static void check_dots(void) {
  enum dtype i8 = DTYPE_I8, u8 = DTYPE_U8, i16 = DTYPE_I16, i32 = DTYPE_I32;
  check_dot("sse2", i8, u8, i32, CPU_OP_PMADDWD, false);
  check_dot("avx512", i16, i8, i32, CPU_OP_PMADDWD, false);
  check_dot("avxvnni", i16, i8, i32, CPU_OP_VPDPWSSD, false);
  check_dot("avxvnni", i8, i8, i32, CPU_OP_VPDPBUSD, true);
  check_dot("avx512vnni", u8, u8, i32, CPU_OP_VPDPBUSD, true);
  check_dot("avx512vnni", u8, i8, i32, CPU_OP_VPDPBUSD, false);
  check_dot("avx512vnni", i8, u8, i32, CPU_OP_VPDPBUSD, false);
  check_dot("avx512bf16", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_VDPBF16PS,
            false);
  check_dot("avx512fp16", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_NONE,
            false);
  check_dot("avx512fp16", u8, i8, i32, CPU_OP_VPDPBUSD, false);
  check_dot("amx", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_TDPBF16PS, false);
  check_dot("amx", i8, i8, i32, CPU_OP_TDPBSSD, false);
  check_dot("amx", i8, u8, i32, CPU_OP_TDPBSUD, false);
  check_dot("amx", u8, i8, i32, CPU_OP_TDPBUSD, false);
  check_dot("amx", u8, u8, i32, CPU_OP_TDPBUUD, false);
  check_dot("amx", i16, i8, i32, CPU_OP_NONE, false);
  check_dot("amx", DTYPE_F32, DTYPE_F32, DTYPE_F32, CPU_OP_NONE, false);
  check_dot("neondot", i8, i8, i32, CPU_OP_SDOT, false);
  check_dot("neondot", u8, i8, i32, CPU_OP_SDOT, true);
  check_dot("neondot", i8, u8, i32, CPU_OP_UDOT, true);
  check_dot("neoni8mm", i8, i8, i32, CPU_OP_SMMLA, false);
  check_dot("neoni8mm", u8, u8, i32, CPU_OP_UMMLA, false);
  check_dot("neoni8mm", i8, u8, i32, CPU_OP_USMMLA, false);
  check_dot("neonbf16", u8, i8, i32, CPU_OP_SDOT, true);
  check_dot("neonbf16", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_BFMMLA,
            false);
  check_dot("power10", i8, u8, i32, CPU_OP_XVI8GER4, false);
  check_dot("power10", u8, u8, i32, CPU_OP_XVI8GER4, true);
  check_dot("power10", i8, i8, i32, CPU_OP_XVI16GER2, false);
  check_dot("vsx", i8, i8, i32, CPU_OP_NONE, false);
  /* Other sums, other types */
  check_dot("avx512vnni", i8, i8, DTYPE_I64, CPU_OP_NONE, false);
  check_dot("avx512vnni", DTYPE_U16, i8, i32, CPU_OP_NONE, false);
  check_dot("avx512vnni", DTYPE_BF16, DTYPE_BF16, DTYPE_F32, CPU_OP_NONE,
            false);
  check_dot("avx512bf16", DTYPE_F16, DTYPE_BF16, DTYPE_F32, CPU_OP_NONE, false);
}

/* ---- schedules keep meaning ---- */

/* What is in out afterwards; panels hold anything at first. */
static char *run(struct arena *a, const struct teir *t, const struct teir *like,
                 size_t *bytes) {
  void *tensor[TENSORS + 2];
  struct diag d = {0};
  CHECK(t->tensor_count <= TENSORS + 2);
  for (int i = 0; i < t->tensor_count; i++) {
    int64_t low, high, plain;
    CHECK(teir_footprint(t, i, &low, &high, &d) && low == 0);
    if (i < TENSORS)
      CHECK(teir_footprint(like, i, &low, &plain, &d) && plain == high);
    *bytes = i <= OUT ? (size_t)high : *bytes;
    tensor[i] = arena_alloc(a, (size_t)high);
    for (int64_t j = 0; j < high; j++)
      ((char *)tensor[i])[j] = (char)(j % 11 * 29 + 7 * i);
  }
  bool good = teir_run(t, tensor, &d);
  CHECK(good);
  return tensor[OUT];
}

static struct teir *einsum(struct arena *a, const char *expression,
                           const char *sizes, enum dtype in, enum dtype out) {
  struct diag d = {0};
  struct teir_einsum e = {.expression = expression, .in = in, .out = out};
  bool good = teir_einsum_sizes(&e, sizes, &d);
  struct teir *t = good ? teir_from_einsum(a, &e, &d) : NULL;
  CHECK(t);
  return t;
}

/* The kernel of a schedule; its Contractions all have one. */
static const char *kernel_of(const struct teir *t) {
  const char *kernel = NULL;
  for (int i = 0; i < t->primitive_count; i++)
    if (t->primitive[i].op == TEIR_CONTRACTION) {
      const char *k = teir_property(t, i, "kernel");
      CHECK(k && (!kernel || strcmp(k, kernel) == 0));
      kernel = k;
    }
  CHECK(kernel);
  return kernel ? kernel : "";
}

/* Do the Contractions of a schedule have this property? */
static bool has_property(const struct teir *t, const char *name,
                         const char *value) {
  bool all = true;
  for (int i = 0; i < t->primitive_count; i++)
    if (t->primitive[i].op == TEIR_CONTRACTION) {
      const char *given = teir_property(t, i, name);
      all &= value ? given && strcmp(given, value) == 0 : !given;
    }
  return all;
}

/* Which row computes a product of so many rows, columns and steps of bytes. */
static void check_machine(const char *sizes, const char *machine,
                          const char *dot) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = einsum(a, "mk,kn->mn", sizes, DTYPE_I8, DTYPE_I32);
  struct teir *s = t ? teir_cpu_schedule(a, t, teir_cpu_find("amx"), &d) : NULL;
  bool right =
      s && has_property(s, "machine", machine) && has_property(s, "dot", dot);
  CHECK(right);
  if (!right)
    fprintf(stderr, "%s is not computed by %s\n", sizes, machine);
  arena_close(a);
}

static void check_schedule(const struct teir_cpu *c, const char *expression,
                           const char *sizes, enum dtype in,
                           const char *kernel) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t =
      einsum(a, expression, sizes, in, in == DTYPE_I8 ? DTYPE_I32 : in);
  struct teir *s = t ? teir_cpu_schedule(a, t, c, &d) : NULL;
  CHECK(s);
  if (s) {
    size_t x, y;
    char *want = run(a, t, t, &x), *got = run(a, s, t, &y);
    bool same = x == y && memcmp(want, got, x) == 0;
    CHECK(same);
    if (!same)
      fprintf(stderr, "%s: %s %s\n", c->name, expression, sizes);
    bool right = !kernel || strcmp(kernel_of(s), kernel) == 0;
    CHECK(right);
    if (!right)
      fprintf(stderr, "%s: %s %s is %s\n", c->name, expression, sizes,
              kernel_of(s));
  }
  arena_close(a);
}

/* The loop over panels that is around another one: over m or n. */
static char outer_panels(const char *machine) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t =
      einsum(a, "mk,kn->mn", "m=64,n=200,k=256", DTYPE_I8, DTYPE_I32);
  struct teir *s = teir_cpu_schedule(a, t, teir_cpu_find(machine), &d);
  CHECK(s && strcmp(kernel_of(s), "packed") == 0);
  char outer = 0;
  for (int i = 0; s && i < s->node_count; i++)
    for (int j = 0; j < s->node[i].children.count; j++)
      if (s->node[s->node[i].children.item[j]].kind == TEIR_ITERATION)
        outer = s->axis[s->node[i].axis].id[0];
  arena_close(a);
  return outer;
}

static void check_schedules(void) {
  for (int i = 0; i < teir_cpu_count(); i++) {
    const struct teir_cpu *c = teir_cpu_at(i);
    check_schedule(c, "mk,kn->mn", "m=17,n=70,k=1100", DTYPE_I8, NULL);
    check_schedule(c, "mk,kn->mn", "m=16,n=63,k=12", DTYPE_I32, "straight");
    check_schedule(c, "mk,nk->mn", "m=16,n=63,k=12", DTYPE_I32, "straight");
    check_schedule(c, "mk,kn->mn", "m=5,n=7,k=70", DTYPE_I8, "direct");
    check_schedule(c, "mk,nk->mn", "m=9,n=70,k=50", DTYPE_I32, "turned");
    check_schedule(c, "mk,nk->mn", "m=9,n=70,k=150", DTYPE_I32, "turned");
    check_schedule(c, "mk,nk->mn", "m=17,n=600,k=220", DTYPE_I32, "packed");
    check_schedule(c, "km,nk->nm", "m=33,n=19,k=515", DTYPE_I8, NULL);
    check_schedule(c, "cmk,ckn->cmn", "c=3,m=50,n=50,k=50", DTYPE_I8, NULL);
    check_schedule(c, "mk,k->m", "m=21,k=33", DTYPE_I32, "dot");
    check_schedule(c, "k,kn->n", "n=5000,k=27", DTYPE_I32, "add");
  }
  CHECK(outer_panels("amx") == 'm');
  CHECK(outer_panels("avx512vnni") == 'n');
  check_machine("m=6,n=400,k=97", "amx", "tdpbssd");
  check_machine("m=5,n=800,k=97", "avx512fp16", "vpdpbusd");
  check_machine("m=70,n=70,k=32", "amx", "tdpbssd");
  check_machine("m=70,n=70,k=31", "avx512fp16", "vpdpbusd");
  check_machine("m=48,n=48,k=47", "avx512fp16", "vpdpbusd");
  /* Parts of panels of bytes are packed by vectors where these are masked. */
  const struct teir_cpu *vnni = teir_cpu_find("avx512vnni");
  check_schedule(vnni, "mk,kn->mn", "m=34,n=34,k=34", DTYPE_I8, "packed");
  /* Known sizes that no processor packs in groups are straight code. */
  check_schedule(vnni, "mk,kn->mn", "m=16,n=16,k=16", DTYPE_I8, "straight");
  check_schedule(vnni, "mk,kn->mn", "m=34,n=34,k=34", DTYPE_I32, "straight");
  /* What would be converted at each use is packed, if there is enough of it. */
  const struct teir_cpu *vsx = teir_cpu_find("vsx");
  check_schedule(vsx, "mk,kn->mn", "m=63,n=65,k=64", DTYPE_I8, "direct");
  check_schedule(vsx, "mk,kn->mn", "m=64,n=65,k=64", DTYPE_I8, "packed");
  check_schedule(vsx, "mk,kn->mn", "m=64,n=65,k=64", DTYPE_I32, "direct");
  /* The blocks of the second cache. */
  check_schedule(teir_cpu_find("sse2"), "mk,kn->mn", "m=205,n=150,k=601",
                 DTYPE_I8, "packed");
}

/* No code is faster than loops that are asked nothing, which are some of those
 * with which it pays. */
static void check_may_pay(void) {
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  enum dtype types[] = {DTYPE_F32, DTYPE_F32};
  for (int rows = 1; rows <= 16; rows++) {
    struct teir_cpu_loops loops = {math.number(a, rows),
                                   math.number(a, 8),
                                   math.number(a, true),
                                   false,
                                   false,
                                   32,
                                   false};
    bool may = *(const int64_t *)teir_cpu_may_pay(&math, types, &loops);
    CHECK(may == (rows > 5));
  }
  arena_close(a);
}

/* Is the code faster than loops over rows, columns and, innermost, K, for sums
 * in floats or, of bytes, in 32 bits?  In1 lies along K, or along the columns;
 * in0 along K.  KNOWN: when it is compiled; the loop over rows is alone where
 * compilers write out the others.  SUMMED: elements less zero points.
 * FINISHED: an epilogue follows; SCALED: kernels do.  PARTIAL: of a triangle.
 * BATCH: of so many products. */
enum { KNOWN = 1, SUMMED = 2, FINISHED = 4, SCALED = 8, PARTIAL = 16, BATCH = 256 };
static bool pays_if(int how, const char *machine, int64_t m, int64_t n,
                    int64_t k, enum dtype in1, bool along_k) {
  const struct teir_cpu *c = teir_cpu_find(machine);
  enum dtype sum = in1 == DTYPE_I8 ? DTYPE_I32 : in1;
  struct teir_cpu_form f = {.type = {in1, in1, sum}, .sum = sum};
  f.one_axis = true;
  f.finishes = how & FINISHED;
  f.dense[AXIS_K][IN0] = f.dense[AXIS_N][OUT] = true;
  f.dense[along_k ? AXIS_K : AXIS_N][IN1] = true;
  struct teir_cpu_ways w = teir_cpu_choose_ways(&f);
  int64_t batches = how & BATCH ? BATCH : 1;
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  struct teir_cpu_size size = {math.number(a, m),
                               math.number(a, n),
                               math.number(a, k),
                               teir_cpu_choose_dot(c, in1, in1, sum),
                               w.turned,
                               how & FINISHED,
                               how & SCALED,
                               NULL,
                               how & PARTIAL};
  struct teir_cpu_loops inner = {math.number(a, batches * m * n),
                                 size.k,
                                 math.number(a, along_k),
                                 false,
                                 how & KNOWN,
                                 c->vector_bytes,
                                 false};
  struct teir_cpu_loops rows = {math.number(a, 1),
                                math.number(a, m * n * k),
                                math.number(a, along_k),
                                true,
                                true,
                                c->vector_bytes,
                                false};
  struct teir_cpu_loops loops = how & KNOWN && n * k <= 32 ? rows : inner;
  enum dtype types[] = {in1, sum};
  bool summed[] = {how & SUMMED, how & SUMMED};
  struct teir_cpu_thin thin = {w.row ? math.number(a, m == 1) : NULL,
                               w.column ? math.number(a, n == 1) : NULL};
  bool is = *(const int64_t *)teir_cpu_pays(c, &math, &size, &thin,
                                            math.number(a, batches), &w, types,
                                            summed, &loops);
  arena_close(a);
  return is;
}

static bool pays(const char *machine, int64_t m, int64_t n, int64_t k,
                 enum dtype in1, bool along_k) {
  return pays_if(0, machine, m, n, k, in1, along_k);
}

/* Measured: these were many times slower than the loops, or than the code. */
static void check_prices(void) {
  CHECK(!pays("avx512", 1, 1, 300, DTYPE_F32, true));
  CHECK(!pays("avx512", 1, 4, 100, DTYPE_F32, true));
  CHECK(!pays("avx512", 4, 1, 100, DTYPE_F32, true));
  CHECK(!pays("avx512", 17, 2, 300, DTYPE_F32, true));
  CHECK(!pays("avx512vnni", 3, 5, 31, DTYPE_I8, true));
  CHECK(!pays("avx512", 2, 2, 2, DTYPE_F32, false));
  CHECK(pays("avx512", 100, 100, 300, DTYPE_F32, true));
  CHECK(pays("avx512vnni", 100, 100, 100, DTYPE_I8, true));
  CHECK(pays("avx512", 1, 300, 100, DTYPE_F32, false));
  /* Near matrices; what is left without masks is done element by element. */
  CHECK(pays("avx2", 1, 8, 8, DTYPE_F32, true));
  CHECK(!pays("avx2", 1, 4, 8, DTYPE_F32, true));
  CHECK(pays("avx512", 1, 8, 8, DTYPE_F32, false));
  CHECK(!pays("avx512", 1, 4, 8, DTYPE_F32, false));
  CHECK(pays("avx512", 1, 3, 24, DTYPE_F32, false));
  CHECK(!pays("sse2", 1, 3, 24, DTYPE_F32, false));
  CHECK(!pays_if(KNOWN, "avx512vnni", 59, 4, 6, DTYPE_I8, true));
  CHECK(pays_if(KNOWN, "avx512vnni", 59, 4, 6, DTYPE_I8, false));
  CHECK(pays_if(KNOWN, "avx512vnni", 64, 64, 64, DTYPE_I8, true));
  CHECK(pays("avx512vnni", 8, 8, 8, DTYPE_I8, false));
  CHECK(!pays_if(BATCH, "avx512", 17, 2, 300, DTYPE_F32, true));
  CHECK(pays_if(BATCH, "avx512", 64, 64, 64, DTYPE_F32, true));
  CHECK(!pays_if(SUMMED, "avx512vnni", 8, 8, 8, DTYPE_I8, false));
  CHECK(pays_if(SUMMED, "avx512vnni", 24, 24, 24, DTYPE_I8, false));
  CHECK(pays_if(FINISHED, "avx512", 16, 16, 300, DTYPE_F32, true));
  CHECK(pays_if(FINISHED, "avx512", 16, 16, 100, DTYPE_F64, true));
  CHECK(pays_if(FINISHED, "avx512", 16, 16, 300, DTYPE_F64, true));
  CHECK(!pays_if(FINISHED, "avx512", 4, 4, 300, DTYPE_F32, true));
  CHECK(!pays_if(FINISHED, "avx512", 100, 3, 8, DTYPE_F32, false));
  CHECK(pays_if(FINISHED | SCALED, "avx512", 100, 3, 8, DTYPE_F32, false));
  enum { SYRK = PARTIAL | FINISHED | SCALED };
  CHECK(pays_if(FINISHED | SCALED, "avx2", 16, 16, 32, DTYPE_F64, true));
  CHECK(!pays_if(SYRK, "avx2", 16, 16, 32, DTYPE_F64, true));
  CHECK(pays_if(SYRK, "avx2", 48, 48, 96, DTYPE_F64, true));
  for (int i = 0; i < teir_cpu_count(); i++)
    if (teir_cpu_at(i)->kernel != CPU_KERNEL_TILES) {
      const char *machine = teir_cpu_at(i)->name;
      CHECK(!pays(machine, 1, 1, 1, DTYPE_F32, false));
      CHECK(pays(machine, 16, 16, 16, DTYPE_F32, false));
      CHECK(pays(machine, 64, 64, 64, DTYPE_F64, true));
      CHECK(pays(machine, 300, 300, 300, DTYPE_I8, true));
    }
}

/* Products that may have one row, or one column, of matrices that lie along K
 * or across it; the vector is read with any stride, but not along K. */
static void check_thin(void) {
  static const struct {
    bool in0_along_k, in1_along_k;
    enum teir_cpu_vector row, column;
  } cases[] = {{true, false, CPU_VECTOR_ADD, CPU_VECTOR_DOT},
               {true, true, CPU_VECTOR_DOT, CPU_VECTOR_DOT},
               {false, false, CPU_VECTOR_ADD, CPU_VECTOR_ADD},
               {false, true, CPU_VECTOR_DOT, CPU_VECTOR_ADD}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct teir_cpu_form f = {.type = {DTYPE_F32, DTYPE_F32, DTYPE_F32},
                              .sum = DTYPE_F32,
                              .one_axis = true};
    f.dense[cases[i].in0_along_k ? AXIS_K : AXIS_M][IN0] = true;
    f.dense[cases[i].in1_along_k ? AXIS_K : AXIS_N][IN1] = true;
    f.dense[AXIS_N][OUT] = true;
    struct teir_cpu_ways w = teir_cpu_choose_ways(&f);
    CHECK(w.row == cases[i].row && w.column == cases[i].column);
    f.finishes = true; /* what moves along columns is loaded in vectors */
    w = teir_cpu_choose_ways(&f);
    CHECK(w.row == cases[i].row && w.column == CPU_VECTOR_NO);
    f.extent[AXIS_M] = 80;
    f.finishes = false;
    w = teir_cpu_choose_ways(&f);
    CHECK(w.row == CPU_VECTOR_NO && w.column == cases[i].column);
  }
}

static bool is_few(bool rows, int64_t m, int64_t n, int64_t k, bool finishes,
                   enum teir_cpu_vector v) {
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  struct teir_cpu_size size = {math.number(a, m),
                               math.number(a, n),
                               math.number(a, k),
                               teir_cpu_no_dot(DTYPE_F32),
                               false,
                               finishes,
                               false,
                               NULL,
                               false};
  void *few = rows ? teir_cpu_has_few_rows(&math, &size, v)
                   : teir_cpu_has_few_columns(&math, &size, v);
  bool is = *(const int64_t *)few;
  arena_close(a);
  return is;
}

/* Rows and columns that are few have no panels; dot products of a few steps are
 * mostly overhead, as are vectors along few rows. */
static void check_few(void) {
  static const struct {
    int64_t m, n, k;
    bool dot, add;
  } columns[] = {{100, 1, 1, true, true},     {100, 1, 500, true, true},
                 {100, 8, 500, true, true},   {100, 8, 63, false, true},
                 {100, 8, 64, true, true},    {1024, 8, 500, true, true},
                 {100, 9, 500, false, false}, {15, 4, 64, true, false},
                 {16, 4, 64, true, true},     {100, 2, 31, false, true},
                 {100, 2, 4, false, true},    {100, 2, 3, false, false}};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    int64_t m = columns[i].m, n = columns[i].n, k = columns[i].k;
    CHECK(is_few(false, m, n, k, false, CPU_VECTOR_DOT) == columns[i].dot);
    CHECK(is_few(false, m, n, k, false, CPU_VECTOR_ADD) == columns[i].add);
  }
  CHECK(is_few(true, 8, 100, 64, false, CPU_VECTOR_DOT));
  CHECK(!is_few(true, 8, 100, 63, false, CPU_VECTOR_DOT));
  CHECK(!is_few(true, 8, 100, 64, true, CPU_VECTOR_DOT));
  CHECK(!is_few(true, 9, 100, 500, false, CPU_VECTOR_DOT));
  CHECK(!is_few(true, 2, 100, 500, false, CPU_VECTOR_ADD));
  CHECK(is_few(true, 1, 100, 1, true, CPU_VECTOR_ADD));
}

/* What is not packed, of 3000 rows: AVX-512 has blocks of 48 columns, in1 may
 * have 131072 elements, and in0 is near up to 524288. */
static void check_direct(void) {
  static const struct {
    int64_t n, k;
    bool turned, across, direct;
  } cases[] = {
      {48, 2730, true, true, true},    {48, 2731, true, true, false},
      {49, 300, false, false, true},   {49, 175, true, false, false},
      {49, 174, true, false, true},    {49, 175, false, true, false},
      {49, 174, false, true, true},    {384, 341, false, false, true},
      {384, 342, false, false, false}, {385, 300, false, false, false}};
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  struct teir_cpu_blocks b =
      teir_cpu_blocks(teir_cpu_find("avx512"), DTYPE_F32);
  CHECK(b.direct_columns == 48 && b.direct_elements == 131072);
  /* The same where an epilogue waits for the sums. */
  for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
    struct teir_cpu_size size = {math.number(a, 3000),
                                 math.number(a, cases[i / 2].n),
                                 math.number(a, cases[i / 2].k),
                                 teir_cpu_no_dot(DTYPE_F32),
                                 cases[i / 2].turned,
                                 i % 2,
                                 false,
                                 math.number(a, cases[i / 2].across),
                                 false};
    void *direct = teir_cpu_is_direct(&b, &math, &size);
    CHECK((*(const int64_t *)direct != 0) == cases[i / 2].direct);
  }
  /* Panels of in1 for a result that does not stay near, but where packed sums
   * would have to be kept. */
  for (int64_t n = 131; n <= 132; n++)
    for (int how = 0; how < 3; how++) {
      struct teir_cpu_size size = {math.number(a, 3000),
                                   math.number(a, n),
                                   math.number(a, 20),
                                   teir_cpu_no_dot(DTYPE_F32),
                                   true,
                                   how > 0,
                                   how > 1,
                                   NULL,
                                   false};
      void *direct = teir_cpu_is_direct(&b, &math, &size);
      CHECK((*(const int64_t *)direct != 0) == (how > 0 || n < 132));
    }
  arena_close(a);
}

/* One block of columns, of at most 64 rows and steps; neither packed nor cut
 * for threads. */
static void check_block(void) {
  static const struct {
    const char *machine;
    int64_t m, n, k;
    bool turned, masks, block;
  } cases[] = {{"avx512", 64, 48, 64, false, true, true},
               {"avx512", 65, 48, 64, false, true, false},
               {"avx512", 64, 49, 64, false, true, false},
               {"avx512", 64, 48, 65, false, true, false},
               {"avx512", 0, 1, 1, false, true, true},
               {"avx512", 1, 0, 1, false, true, false},
               {"avx512", 1, 1, 0, false, true, false},
               {"avx512", 64, 32, 64, true, true, true},
               {"avx512", 64, 33, 64, true, true, false},
               {"sse2", 64, 8, 64, false, false, true},
               {"sse2", 64, 4, 64, false, false, true},
               {"sse2", 64, 3, 64, false, false, false}};
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct teir_cpu_blocks b =
        teir_cpu_blocks(teir_cpu_find(cases[i].machine), DTYPE_F32);
    struct teir_cpu_size size = {math.number(a, cases[i].m),
                                 math.number(a, cases[i].n),
                                 math.number(a, cases[i].k),
                                 teir_cpu_no_dot(DTYPE_F32),
                                 cases[i].turned,
                                 false,
                                 false,
                                 NULL,
                                 false};
    void *block = teir_cpu_is_block(&b, &math, &size, cases[i].masks);
    CHECK((*(const int64_t *)block != 0) == cases[i].block);
  }
  for (int i = 0; i < teir_cpu_count(); i++)
    for (int how = 0; how < 8; how++) {
      enum dtype sum = how & 1 ? DTYPE_F64 : DTYPE_F32;
      struct teir_cpu_blocks b = teir_cpu_blocks(teir_cpu_at(i), sum);
      struct teir_cpu_size size = {math.number(a, TEIR_CPU_BLOCK),
                                   math.number(a, b.direct_columns),
                                   math.number(a, TEIR_CPU_BLOCK),
                                   teir_cpu_no_dot(sum),
                                   how & 2,
                                   false,
                                   false,
                                   how & 4 ? math.number(a, 1) : NULL,
                                   false};
      CHECK(*(const int64_t *)teir_cpu_is_direct(&b, &math, &size));
      CHECK(TEIR_CPU_BLOCK * TEIR_CPU_BLOCK * b.direct_columns <
            TEIR_CPU_THREAD_MACS);
    }
  arena_close(a);
}

/* Bytes of known sizes, for one row or for all of its architecture: code
 * without loops, unless one that is meant packs them in groups. */
static void check_known_ways(void) {
  static const struct {
    const char *machine;
    bool others;
    int64_t m, n, k;
    bool straight, packed;
  } cases[] = {{"sse2", false, 34, 34, 34, false, true},
               {"sse2", true, 34, 34, 34, false, true},
               {"sse2", true, 12, 12, 12, true, false},
               {"avx2", false, 4, 16, 64, true, true},
               {"avx512vnni", false, 34, 34, 34, false, true},
               {"amx", false, 34, 34, 34, false, true},
               {"neon", false, 34, 34, 34, true, false},
               {NULL, false, 34, 34, 34, false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *machine = cases[i].machine;
    struct teir_cpu_form f = {.type = {DTYPE_I8, DTYPE_I8, DTYPE_I32},
                              .sum = DTYPE_I32,
                              .one_axis = true,
                              .extent = {1, cases[i].m, cases[i].n, cases[i].k},
                              .cpu = machine ? teir_cpu_find(machine) : NULL,
                              .others = cases[i].others};
    f.dense[AXIS_K][IN0] = f.dense[AXIS_N][IN1] = true;
    f.dense[AXIS_N][OUT] = true;
    struct teir_cpu_ways w = teir_cpu_choose_ways(&f);
    CHECK(w.straight == cases[i].straight && w.straight <= w.direct);
    CHECK(w.packed == cases[i].packed);
  }
}

/* Sizes whose price need not be asked for have one that is low enough. */
static void check_surely_pays(void) {
  static const int64_t sizes[] = {7, 8, 15, 16, 64};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  for (int i = 0; i < 2 * SIZES * SIZES * SIZES; i++) {
    int64_t m = sizes[i / 2 % SIZES], n = sizes[i / 2 / SIZES % SIZES],
            k = sizes[i / 2 / SIZES / SIZES], least = i % 2 ? 16 : 8;
    struct teir_cpu_size size = {.m = math.number(a, m),
                                 .n = math.number(a, n),
                                 .k = math.number(a, k),
                                 .turned = i % 2,
                                 false};
    const enum dtype types[] = {DTYPE_F32, DTYPE_F32};
    bool surely = *(const int64_t *)teir_cpu_surely_pays(&math, &size, types);
    CHECK(surely == (m >= least && n >= least && k >= least));
    for (int c = 0; surely && c < teir_cpu_count(); c++)
      if (teir_cpu_at(c)->kernel != CPU_KERNEL_TILES) {
        CHECK(pays(teir_cpu_at(c)->name, m, n, k, DTYPE_F32, size.turned));
        CHECK(pays(teir_cpu_at(c)->name, m, n, k, DTYPE_F64, size.turned));
      }
    const enum dtype narrow[] = {DTYPE_I8, DTYPE_I32};
    CHECK(!teir_cpu_surely_pays(&math, &size, narrow));
    size.finishes = true;
    CHECK(!teir_cpu_surely_pays(&math, &size, types));
    size.scaled = true;
    CHECK(surely ==
          (*(const int64_t *)teir_cpu_surely_pays(&math, &size, types) != 0));
  }
  arena_close(a);
}

/* Vectors that are gathered for dot products with so many rows. */
static void check_gathers(void) {
  static const struct {
    int64_t vectors, rows;
    int bytes, most_bytes;
    bool pays;
  } cases[] = {{2, 16, 4, 16, true},   {2, 15, 4, 16, false},
               {5, 100, 4, 16, false}, {5, 100, 4, 32, true},
               {2, 100, 8, 16, true},  {3, 100, 8, 16, false},
               {8, 64, 1, 16, true}};
  struct arena *a = arena_open();
  struct teir_cpu_math math = teir_cpu_known(a);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    void *pays = teir_cpu_gathers(&math, math.number(a, cases[i].vectors),
                                  math.number(a, cases[i].rows), cases[i].bytes,
                                  cases[i].most_bytes);
    CHECK(*(const int64_t *)pays == cases[i].pays);
  }
  arena_close(a);
}

static void check_declined(const char *expression, const char *sizes) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = einsum(a, expression, sizes, DTYPE_F32, DTYPE_F32);
  CHECK(t && !teir_cpu_schedule(a, t, teir_cpu_find("avx2"), &d));
  CHECK(d.kind == DIAG_DECLINED);
  arena_close(a);
}

int main(void) {
  static const enum dtype sum[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64};
  for (int i = 0; i < teir_cpu_count(); i++) {
    const struct teir_cpu *c = teir_cpu_at(i);
    CHECK(teir_cpu_find(c->name) == c);
    for (size_t s = 0; s < sizeof sum / sizeof *sum; s++) {
      struct teir_cpu_blocks b = teir_cpu_blocks(c, sum[s]);
      check_registers(c, &b, dtype_bytes(sum[s]));
      check_caches(c, &b, dtype_bytes(sum[s]));
    }
  }
  check_dots();
  CHECK(teir_cpu_find("z80") == NULL);
  check_schedules();
  check_prices();
  check_thin();
  check_few();
  check_direct();
  check_block();
  check_known_ways();
  check_surely_pays();
  check_may_pay();
  check_gathers();
  check_declined("xky,kn->xny", "x=3,y=5,k=4,n=8"); /* M has two axes */
  check_declined("m,n->mn", "m=3,n=5");
  return check_result();
}
