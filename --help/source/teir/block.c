/* block.c -- multiplies blocks: chooses one axis each as m, n and k, loops over
 * the others, and gives products to a BLAS or to plain loops over packed
 * copies.
 *
 * Packed copies hold elements in the type of the sum; a block of out is loaded
 * once, gets all its products, and is stored once, so that narrow outputs are
 * rounded once per call, as the oracle does it.
 */
#include "teir_block.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_M = 128, BLOCK_N = 512, BLOCK_K = 256 };

/* ---- choosing the axes ---- */
static bool is_m(const struct run_loop *l) {
  return l->stride[0] && !l->stride[1] && l->stride[2];
}
static bool is_n(const struct run_loop *l) {
  return !l->stride[0] && l->stride[1] && l->stride[2];
}
static bool is_k(const struct run_loop *l) {
  return l->stride[0] && l->stride[1] && !l->stride[2];
}

static enum block_type type_of(const struct run_kernel *k) {
  enum dtype out = k->type[2];
  if (!k->floating) {
    bool wide = dtype_bytes(k->acc) >= dtype_bytes(out);
    if (dtype_kind(out) == DTYPE_FLOAT || !wide)
      return BLOCK_NONE;
    return dtype_bytes(out) <= 4 ? BLOCK_U32 : BLOCK_U64;
  }
  for (int i = 0; i < 3; i++) /* each must fit the sum's type exactly */
    if (dtype_kind(k->type[i]) != DTYPE_FLOAT ||
        dtype_bytes(k->type[i]) > dtype_bytes(k->acc))
      return BLOCK_NONE;
  return k->acc == DTYPE_F64   ? BLOCK_F64
         : k->acc == DTYPE_F32 ? BLOCK_F32
                               : BLOCK_NONE;
}

/* Operand o is dense along one of two loops, and the other one's stride spans
 * it, in whole elements that an int can count. */
static bool dense(const struct run_kernel *k, int o, const struct run_loop *x,
                  const struct run_loop *y) {
  int width = dtype_bytes(k->type[o]);
  for (int i = 0; i < 2; i++) {
    const struct run_loop *in = i ? y : x, *over = i ? x : y;
    bool unit = in->stride[o] == width || in->extent == 1;
    int64_t ld = over->stride[o];
    if (unit &&
        (over->extent == 1 || (ld % width == 0 && ld / width >= in->extent &&
                               ld / width <= INT_MAX)))
      return true;
  }
  return false;
}

static bool fits_blas(const struct block *b, const struct run_loop *m,
                      const struct run_loop *n, const struct run_loop *k) {
  const struct run_kernel *x = b->kernel;
  enum dtype t = x->type[2];
  return b->blas && (t == DTYPE_F32 || t == DTYPE_F64) && x->type[0] == t &&
         x->type[1] == t && x->acc == t && m->extent <= INT_MAX &&
         n->extent <= INT_MAX && k->extent <= INT_MAX && dense(x, 0, m, k) &&
         dense(x, 1, k, n) && dense(x, 2, m, n);
}

/* A block of out is a copy while it is worked on: no two of its elements may
 * be the same place. */
static bool separate(const struct run_kernel *k, const struct run_loop *m,
                     const struct run_loop *n) {
  bool order = m->stride[2] < n->stride[2];
  const struct run_loop *in = order ? m : n, *over = order ? n : m;
  int64_t width = dtype_bytes(k->type[2]), span = width;
  if (in->extent > 1) {
    if (in->stride[2] < width)
      return false;
    span += in->stride[2] * (in->extent - 1);
  }
  return over->extent == 1 || over->stride[2] >= span;
}

/* Candidates for one letter: its loops, or none. */
struct pick {
  int count, loop[64];
};

static struct pick candidates(const struct run_kernel *k,
                              bool wanted(const struct run_loop *)) {
  struct pick p = {0};
  p.loop[p.count++] = -1;
  for (int i = 0; i < k->loop_count && p.count < 64; i++)
    if (wanted(&k->loop[i]))
      p.loop[p.count++] = i;
  return p;
}

static struct run_loop loop_at(const struct run_kernel *k, int i) {
  return i < 0 ? (struct run_loop){.extent = 1} : k->loop[i];
}

static void choose_loops(struct block *b, int *chosen) {
  const struct run_kernel *x = b->kernel;
  struct pick m = candidates(x, is_m), n = candidates(x, is_n);
  struct pick k = candidates(x, is_k);
  if (!b->blas) { /* the oracle's order: the innermost sum is the innermost */
    bool last = x->loop_count > x->outer && is_k(&x->loop[x->loop_count - 1]);
    k = (struct pick){1, {last ? x->loop_count - 1 : -1}};
  }
  double best = -1;
  for (int i = 0; i < m.count; i++)
    for (int j = 0; j < n.count; j++)
      for (int l = 0; l < k.count; l++) {
        struct run_loop u = loop_at(x, m.loop[i]), v = loop_at(x, n.loop[j]);
        struct run_loop w = loop_at(x, k.loop[l]);
        bool direct = fits_blas(b, &u, &v, &w);
        double size = (double)u.extent * (double)v.extent * (double)w.extent *
                      (direct ? 1e18 : 1);
        if (size <= best || !separate(x, &u, &v))
          continue;
        best = size;
        b->m = u;
        b->n = v;
        b->k = w;
        b->direct = direct;
        chosen[0] = m.loop[i];
        chosen[1] = n.loop[j];
        chosen[2] = k.loop[l];
      }
}

struct block teir_block_ready(struct arena *a, const struct run_kernel *k,
                              const struct teir_blas *blas) {
  struct block b = {.kernel = k, .type = BLOCK_NONE, .blas = blas};
  if (k->op != TEIR_CONTRACTION || k->operand[0] == k->operand[2] ||
      k->operand[1] == k->operand[2])
    return b;
  b.type = type_of(k);
  if (b.type == BLOCK_NONE)
    return b;
  int chosen[3] = {-1, -1, -1};
  choose_loops(&b, chosen);
  b.outer = arena_array(a, (size_t)k->loop_count + 1, sizeof *b.outer);
  for (int i = 0; i < k->loop_count; i++) { /* those that move out are first */
    if (i == k->outer)
      b.sum_from = b.outer_count;
    if (i != chosen[0] && i != chosen[1] && i != chosen[2])
      b.outer[b.outer_count++] = k->loop[i];
  }
  if (k->outer == k->loop_count)
    b.sum_from = b.outer_count;
  return b;
}

/* ---- the BLAS on the tensors themselves ---- */
static int leading(const struct run_loop *over, int o, int width,
                   int64_t span) {
  return over->extent == 1 ? (int)span : (int)(over->stride[o] / width);
}

/* Is operand o dense along loop y, with x carrying the leading dimension? */
static bool runs_along(const struct run_loop *y, const struct run_loop *x,
                       int o, int width) {
  bool unit = y->stride[o] == width || y->extent == 1;
  int64_t ld = x->stride[o] / width;
  return unit && (x->extent == 1 || ld >= y->extent);
}

static void gemm_direct(const struct block *b, char *const p[3]) {
  int w = dtype_bytes(b->kernel->type[2]);
  const struct run_loop *m = &b->m, *n = &b->n, *k = &b->k;
  int x = 0, y = 1;
  if (!runs_along(n, m, 2, w)) { /* column-major: out' += in1' * in0' */
    m = &b->n;
    n = &b->m;
    x = 1;
    y = 0;
  }
  bool a_t = !runs_along(k, m, x, w), b_t = !runs_along(n, k, y, w);
  int lda = a_t ? leading(k, x, w, m->extent) : leading(m, x, w, k->extent);
  int ldb = b_t ? leading(n, y, w, k->extent) : leading(k, y, w, n->extent);
  int ldc = leading(m, 2, w, n->extent);
  if (w == 4)
    b->blas->gemm_f32(a_t, b_t, (int)m->extent, (int)n->extent, (int)k->extent,
                      (const float *)p[x], lda, (const float *)p[y], ldb,
                      (float *)p[2], ldc);
  else
    b->blas->gemm_f64(a_t, b_t, (int)m->extent, (int)n->extent, (int)k->extent,
                      (const double *)p[x], lda, (const double *)p[y], ldb,
                      (double *)p[2], ldc);
}

/* ---- packed blocks ---- */
static const size_t width_of[] = {4, 8, 4, 8};

static void load(enum block_type type, enum dtype from, const char *p,
                 void *to) {
  switch (type) {
  case BLOCK_F32:
    *(float *)to = (float)dtype_load_float(from, p);
    return;
  case BLOCK_F64:
    *(double *)to = dtype_load_float(from, p);
    return;
  case BLOCK_U32:
    *(uint32_t *)to = (uint32_t)dtype_load_int(from, p);
    return;
  case BLOCK_U64:
    *(uint64_t *)to = (uint64_t)dtype_load_int(from, p);
    return;
  case BLOCK_NONE:
    return;
  }
}

static void store(enum block_type type, enum dtype to, char *p,
                  const void *from) {
  switch (type) {
  case BLOCK_F32:
    dtype_store_float(to, p, *(const float *)from);
    return;
  case BLOCK_F64:
    dtype_store_float(to, p, *(const double *)from);
    return;
  case BLOCK_U32:
    dtype_store_int(to, p, (int64_t) * (const uint32_t *)from);
    return;
  case BLOCK_U64:
    dtype_store_int(to, p, (int64_t) * (const uint64_t *)from);
    return;
  case BLOCK_NONE:
    return;
  }
}

static void pack(enum block_type type, enum dtype from, const char *p,
                 int64_t row_stride, int64_t column_stride, int rows,
                 int columns, char *to) {
  size_t width = width_of[type];
  bool same = (type == BLOCK_F32 && from == DTYPE_F32) ||
              (type == BLOCK_F64 && from == DTYPE_F64) ||
              (type == BLOCK_U32 && from == DTYPE_I32);
  for (int i = 0; i < rows; i++, p += row_stride) {
    if (same && column_stride == (int64_t)width) {
      memcpy(to, p, width * (size_t)columns);
      to += width * (size_t)columns;
      continue;
    }
    const char *q = p;
    for (int j = 0; j < columns; j++, q += column_stride, to += width)
      load(type, from, q, to);
  }
}

static void unpack(enum block_type type, enum dtype to, char *p,
                   int64_t row_stride, int64_t column_stride, int rows,
                   int columns, const char *from) {
  size_t width = width_of[type];
  for (int i = 0; i < rows; i++, p += row_stride) {
    char *q = p;
    for (int j = 0; j < columns; j++, q += column_stride, from += width)
      store(type, to, q, from);
  }
}

/* c(m x n) += a(m x k) * b(k x n), dense; every sum in the order of k. */
#define MULTIPLY(name, type)                                                   \
  static void name(int m, int n, int k, const type *a, const type *b,          \
                   type *restrict c) {                                         \
    for (int i = 0; i < m; i++)                                                \
      for (int l = 0; l < k; l++) {                                            \
        type x = a[i * k + l];                                                 \
        for (int j = 0; j < n; j++)                                            \
          c[i * n + j] += x * b[l * n + j];                                    \
      }                                                                        \
  }
MULTIPLY(multiply_f32, float)
MULTIPLY(multiply_f64, double)
MULTIPLY(multiply_u32, uint32_t)
MULTIPLY(multiply_u64, uint64_t)
#undef MULTIPLY

static void multiply(const struct block *b, int m, int n, int k, const void *x,
                     const void *y, void *z) {
  switch (b->type) {
  case BLOCK_F32:
    if (b->blas)
      b->blas->gemm_f32(false, false, m, n, k, x, k, y, n, z, n);
    else
      multiply_f32(m, n, k, x, y, z);
    return;
  case BLOCK_F64:
    if (b->blas)
      b->blas->gemm_f64(false, false, m, n, k, x, k, y, n, z, n);
    else
      multiply_f64(m, n, k, x, y, z);
    return;
  case BLOCK_U32:
    multiply_u32(m, n, k, x, y, z);
    return;
  case BLOCK_U64:
    multiply_u64(m, n, k, x, y, z);
    return;
  case BLOCK_NONE:
    return;
  }
}

static int least(int64_t n, int most) { return n < most ? (int)n : most; }

struct buffers {
  char *in0, *in1, *out;
};

/* All products for one block of out, over k and the summing outer loops. */
static void add_products(const struct block *b, int level, const char *in0,
                         const char *in1, int rows, int columns,
                         struct buffers *s) {
  if (level < b->outer_count) {
    const struct run_loop *l = &b->outer[level];
    for (int64_t i = 0; i < l->extent; i++)
      add_products(b, level + 1, in0 + i * l->stride[0], in1 + i * l->stride[1],
                   rows, columns, s);
    return;
  }
  for (int64_t k = 0; k < b->k.extent; k += BLOCK_K) {
    int depth = least(b->k.extent - k, BLOCK_K);
    pack(b->type, b->kernel->type[0], in0 + k * b->k.stride[0], b->m.stride[0],
         b->k.stride[0], rows, depth, s->in0);
    pack(b->type, b->kernel->type[1], in1 + k * b->k.stride[1], b->k.stride[1],
         b->n.stride[1], depth, columns, s->in1);
    multiply(b, rows, columns, depth, s->in0, s->in1, s->out);
  }
}

static void gemm_packed(const struct block *b, char *const p[3],
                        struct buffers *s) {
  for (int64_t n = 0; n < b->n.extent; n += BLOCK_N)
    for (int64_t m = 0; m < b->m.extent; m += BLOCK_M) {
      int rows = least(b->m.extent - m, BLOCK_M);
      int columns = least(b->n.extent - n, BLOCK_N);
      char *out = p[2] + m * b->m.stride[2] + n * b->n.stride[2];
      pack(b->type, b->kernel->type[2], out, b->m.stride[2], b->n.stride[2],
           rows, columns, s->out);
      add_products(b, b->sum_from, p[0] + m * b->m.stride[0],
                   p[1] + n * b->n.stride[1], rows, columns, s);
      unpack(b->type, b->kernel->type[2], out, b->m.stride[2], b->n.stride[2],
             rows, columns, s->out);
    }
}

/* The outer loops; packed blocks take care of the summing ones themselves. */
static void call_outer(const struct block *b, int level, char *const p[3],
                       struct buffers *s) {
  if (level == (b->direct ? b->outer_count : b->sum_from)) {
    if (b->direct)
      gemm_direct(b, p);
    else
      gemm_packed(b, p, s);
    return;
  }
  const struct run_loop *l = &b->outer[level];
  char *q[3] = {p[0], p[1], p[2]};
  for (int64_t i = 0; i < l->extent; i++) {
    call_outer(b, level + 1, q, s);
    for (int j = 0; j < 3; j++)
      q[j] += l->stride[j];
  }
}

void teir_block_call(const struct block *b, char *const p[RUN_OPERANDS]) {
  if (b->type == BLOCK_NONE) {
    teir_run_kernel_call(b->kernel, p);
    return;
  }
  struct buffers s = {NULL, NULL, NULL};
  char *memory = NULL;
  if (!b->direct) {
    size_t w = width_of[b->type];
    size_t m = (size_t)least(b->m.extent, BLOCK_M);
    size_t n = (size_t)least(b->n.extent, BLOCK_N);
    size_t k = (size_t)least(b->k.extent, BLOCK_K);
    memory = malloc(w * (m * k + k * n + m * n));
    if (!memory) { /* slower, and never wrong */
      teir_run_kernel_call(b->kernel, p);
      return;
    }
    s = (struct buffers){memory, memory + w * m * k,
                         memory + w * (m * k + k * n)};
  }
  call_outer(b, 0, p, &s);
  free(memory);
}
