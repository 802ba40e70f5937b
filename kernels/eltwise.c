/* eltwise.c -- traces of the primitives that go through memory once: zero,
 * copy with transposition and relu, add.  The store port limits them to 32
 * bytes per cycle. */
#include "device_most.h"
#include "kernel_gemm.h"

#include <assert.h>

enum { W_BYTES = 32, X_BYTES = 64, MEMORY = DEVICE_MOST_CORE_BYTES };

static struct asm_program *finish(struct trace *t, const char *name,
                                  const char *heading, struct diag *d) {
  struct schedule s;
  if (!kernel_trace_address(t) || !kernel_sched_place(t, &s))
    return NULL;
  return kernel_fold(t->arena, name, &heading, 1, &s, d);
}

static bool check_bytes(const char *what, int bytes, int unit, struct diag *d) {
  if (bytes > 0 && bytes % unit == 0 && bytes <= MEMORY)
    return true;
  return diag_error(d, loc_none(),
                    "%s: %d bytes; it has to be a positive multiple of %d up "
                    "to %d",
                    what, bytes, unit, MEMORY);
}

/* ---- zero ---- */

struct asm_program *kernel_zero(struct arena *a, const struct isa *isa,
                                const char *name, int bytes, struct diag *d) {
  const struct kernel_machine *m = kernel_machine(isa);
  assert(m);
  if (!check_bytes("zero", bytes, m->access_bytes, d))
    return NULL;
  struct trace t = kernel_trace_open(m, a, a, d);
  int stream = kernel_trace_stream(&t, "p0", "p0", 0),
      zero = kernel_trace_named(&t, m->access_bytes == X_BYTES ? "x0" : "wl0");
  kernel_trace_constant(&t, kernel_trace_named(&t, "r0"), 0);
  kernel_trace_add(
      &t, m->insn[KERNEL_BROADCAST], 2,
      (int64_t[]){kernel_trace_named(&t, "x0"), kernel_trace_named(&t, "r0")});
  for (int at = 0; at < bytes; at += m->access_bytes)
    kernel_trace_memory(&t, MEM_ST_W, zero, stream, at);
  return finish(&t, name, arena_printf(a, "%d bytes from p0 on <- 0", bytes),
                d);
}

/* ---- copy ---- */

enum { COPY_RING = 8, COPY_ZERO = 8 };

/* The larger of an element and zero.  The mask of the comparison goes to r16,
 * which is the caller's, or to r25:r24, which is not. */
static bool relu_form(enum dtype type, enum insn_id *id, const char **mask) {
  *mask = "r16";
  switch (type) {
  case DTYPE_BF16:
    *id = INSN_VMAX_LT_BF16;
    return true;
  case DTYPE_I8:
    *id = INSN_VMAX_LT_S8;
    *mask = "l4";
    return true;
  case DTYPE_I16:
    *id = INSN_VMAX_LT_S16;
    return true;
  case DTYPE_I32:
  case DTYPE_F32: /* as integers they have the same sign */
    *id = INSN_VMAX_LT_S32;
    return true;
  case DTYPE_F16:
  case DTYPE_BFP16:
  case DTYPE_F64:
  case DTYPE_U8:
  case DTYPE_U16:
  case DTYPE_U32:
  case DTYPE_I64:
  case DTYPE_COUNT:
    break;
  }
  return false;
}

static bool check_copy(const struct kernel_copy *k, struct diag *d) {
  int r = k->block_rows, c = k->block_columns;
  int block = r > 0 && c > 0 && r <= X_BYTES && c <= X_BYTES
                  ? r * c * dtype_bytes(k->type)
                  : 0;
  if (block != W_BYTES && block != X_BYTES)
    return diag_error(d, loc_none(),
                      "copy: small blocks of %d x %d %s; they have to take %d "
                      "or %d bytes",
                      r, c, dtype_name(k->type), W_BYTES, X_BYTES);
  if (k->rows <= 0 || k->columns <= 0 || k->rows % r || k->columns % c ||
      (int64_t)k->rows * k->columns * dtype_bytes(k->type) > MEMORY)
    return diag_error(d, loc_none(),
                      "copy: %d x %d %s; extents have to be multiples of %d "
                      "and %d, %d bytes at most",
                      k->rows, k->columns, dtype_name(k->type), r, c, MEMORY);
  if (k->transpose && kernel_gemm_transpose_mode(k->type, r, c) < 0)
    return diag_error(d, loc_none(),
                      "copy: no shuffle transposes small blocks of %d x %d %s",
                      r, c, dtype_name(k->type));
  enum insn_id id;
  const char *mask;
  if (k->relu && !relu_form(k->type, &id, &mask))
    return diag_error(d, loc_none(), "copy: no relu for %s",
                      dtype_name(k->type));
  return true;
}

struct copy {
  struct trace *t;
  int from, to; /* streams */
  int64_t mode, relu_mask;
  enum insn_id relu; /* INSN_NONE: none */
  bool transpose;
  int parts;
};

/* One small block through x register `x`. */
static void copy_block(const struct copy *c, int x, int64_t from, int64_t to) {
  int64_t reg = kernel_trace_reg(c->t, "x%d", x),
          zero = kernel_trace_reg(c->t, "x%d", COPY_ZERO);
  for (int i = 0; i < c->parts; i++)
    kernel_trace_memory(c->t, MEM_LDB_W,
                        kernel_trace_reg(c->t, i ? "wh%d" : "wl%d", x), c->from,
                        from + i * W_BYTES)
        ->boundary = i == c->parts - 1;
  if (c->transpose)
    kernel_trace_add(c->t, INSN_VSHUFFLE, 4,
                     (int64_t[]){reg, reg, reg, c->mode});
  if (c->relu)
    kernel_trace_add(c->t, c->relu, 4,
                     (int64_t[]){reg, c->relu_mask, reg, zero});
  for (int i = 0; i < c->parts; i++)
    kernel_trace_memory(c->t, MEM_ST_W,
                        kernel_trace_reg(c->t, i ? "wh%d" : "wl%d", x), c->to,
                        to + i * W_BYTES);
}

static void start_copy(struct copy *c, const struct kernel_copy *k) {
  int64_t zero = kernel_trace_named(c->t, "r0");
  const char *mask;
  if (k->transpose) {
    c->mode = kernel_trace_named(c->t, "r2");
    kernel_trace_constant(
        c->t, (int)c->mode,
        kernel_gemm_transpose_mode(k->type, k->block_rows, k->block_columns));
  }
  if (!k->relu)
    return;
  relu_form(k->type, &c->relu, &mask);
  c->relu_mask = kernel_trace_named(c->t, mask);
  kernel_trace_add(c->t, INSN_MOV, 2,
                   (int64_t[]){kernel_trace_named(c->t, "r8"),
                               kernel_trace_named(c->t, "r16")});
  kernel_trace_constant(c->t, (int)zero, 0);
  kernel_trace_add(c->t, INSN_VBCST_32, 2,
                   (int64_t[]){kernel_trace_reg(c->t, "x%d", COPY_ZERO), zero});
}

bool kernel_copies(const struct isa *isa) {
  return kernel_machine(isa) == kernel_machine(NULL);
}

struct asm_program *kernel_copy(struct arena *a, const struct kernel_copy *k,
                                struct diag *d) {
  if (!kernel_copies(k->isa)) {
    diag_error(d, loc_none(), "copy: no kernel for %s", isa_name(k->isa));
    return NULL;
  }
  if (!check_copy(k, d))
    return NULL;
  struct trace t = kernel_trace_open(kernel_machine(NULL), a, a, d);
  struct copy c = {.t = &t, .transpose = k->transpose};
  c.from = kernel_trace_stream(&t, "p0", "p0", 0);
  c.to = kernel_trace_stream(&t, "p1", "p1", 1);
  int rows = k->rows / k->block_rows, columns = k->columns / k->block_columns;
  int64_t bytes =
      (int64_t)k->block_rows * k->block_columns * dtype_bytes(k->type);
  c.parts = (int)bytes / W_BYTES;
  start_copy(&c, k);
  for (int i = 0; i < rows * columns; i++) {
    int from = k->transpose ? i % rows * columns + i / rows : i;
    copy_block(&c, i % COPY_RING, from * bytes, i * bytes);
  }
  if (k->relu)
    kernel_trace_add(&t, INSN_MOV, 2,
                     (int64_t[]){kernel_trace_named(&t, "r16"),
                                 kernel_trace_named(&t, "r8")});
  const char *heading = arena_printf(
      a, "p1 [%d][%d] <- p0 [%d][%d], small blocks of %d x %d %s%s%s",
      k->transpose ? columns : rows, k->transpose ? rows : columns, rows,
      columns, k->block_rows, k->block_columns, dtype_name(k->type),
      k->transpose ? ", transposed" : "", k->relu ? ", relu" : "");
  return finish(&t, k->name, heading, d);
}

/* ---- add ---- */

enum { ADD_RING = 4, ADD_RIGHT = 4, FLOAT_CONFIG = 28 };

static int half(const struct trace *t, const char *low, const char *high, int n,
                int part) {
  return kernel_trace_reg(t, part ? high : low, n);
}

/* Integers in vector registers: x(i) += x(4 + i). */
static void add_vectors(struct trace *t, enum insn_id add, int i,
                        const int stream[3], int64_t at) {
  int64_t left = kernel_trace_reg(t, "x%d", i),
          right = kernel_trace_reg(t, "x%d", ADD_RIGHT + i);
  for (int part = 0; part < 2; part++) {
    int64_t offset = at + part * W_BYTES;
    kernel_trace_memory(t, MEM_LDA_W, half(t, "wl%d", "wh%d", i, part),
                        stream[0], offset);
    kernel_trace_memory(t, MEM_LDB_W,
                        half(t, "wl%d", "wh%d", ADD_RIGHT + i, part), stream[1],
                        offset);
  }
  kernel_trace_add(t, add, 3, (int64_t[]){left, left, right});
  for (int part = 0; part < 2; part++)
    kernel_trace_memory(t, MEM_ST_W, half(t, "wl%d", "wh%d", i, part),
                        stream[2], at + part * W_BYTES);
}

/* Floats in accumulators: bml(i) += bmh(i), 16 at a time. */
static void add_floats(struct trace *t, enum dtype type, int i,
                       const int stream[3], int64_t at) {
  int64_t left = kernel_trace_reg(t, "bml%d", i),
          right = kernel_trace_reg(t, "bmh%d", i);
  int parts = type == DTYPE_F32 ? 2 : 1;
  int64_t offset = at / X_BYTES * parts * W_BYTES;
  for (int side = 0; side < 2; side++)
    for (int part = 0; part < parts; part++) {
      int reg = parts == 1 ? (int)(side ? right : left)
                : side     ? half(t, "amhl%d", "amhh%d", i, part)
                           : half(t, "amll%d", "amlh%d", i, part);
      kernel_trace_memory(t, parts == 1 ? MEM_LDA_CONV : MEM_LDA_AM, reg,
                          stream[side], offset + part * W_BYTES);
    }
  kernel_trace_add(t, INSN_VADD_F, 4,
                   (int64_t[]){left, left, right, kernel_trace_named(t, "r0")});
  for (int part = 0; part < parts; part++)
    kernel_trace_memory(t, parts == 1 ? MEM_ST_CONV : MEM_ST_AM,
                        parts == 1 ? (int)left
                                   : half(t, "amll%d", "amlh%d", i, part),
                        stream[2], offset + part * W_BYTES);
}

struct asm_program *kernel_add(struct arena *a, const char *name,
                               enum dtype type, int bytes, struct diag *d) {
  enum { NEAREST_EVEN = 12 }; /* isa.md E3 */
  if (!check_bytes("add", bytes, X_BYTES, d))
    return NULL;
  bool is_float = type == DTYPE_BF16 || type == DTYPE_F32;
  int size = dtype_bytes(type);
  if (!is_float && (dtype_kind(type) == DTYPE_FLOAT || size > 4)) {
    diag_error(d, loc_none(), "add: no kernel for %s", dtype_name(type));
    return NULL;
  }
  struct trace t = kernel_trace_open(kernel_machine(NULL), a, a, d);
  int stream[3] = {kernel_trace_stream(&t, "p0", "p0", 0),
                   kernel_trace_stream(&t, "p1", "p1", 1),
                   kernel_trace_stream(&t, "p2", "p2", 2)};
  enum insn_id add = size == 1   ? INSN_VADD_8
                     : size == 2 ? INSN_VADD_16
                                 : INSN_VADD_32;
  if (is_float) {
    kernel_trace_constant(&t, kernel_trace_named(&t, "r0"), FLOAT_CONFIG);
    kernel_trace_constant(&t, kernel_trace_named(&t, "crRnd"), NEAREST_EVEN);
  }
  /* a step is 64 bytes, or 16 floats */
  int steps = is_float ? bytes / size / 16 : bytes / X_BYTES;
  for (int i = 0; i < steps; i++)
    if (is_float)
      add_floats(&t, type, i % 8, stream, (int64_t)i * X_BYTES);
    else
      add_vectors(&t, add, i % ADD_RING, stream, (int64_t)i * X_BYTES);
  return finish(
      &t, name,
      arena_printf(a, "p2 <- p0 + p1, %d bytes of %s", bytes, dtype_name(type)),
      d);
}
