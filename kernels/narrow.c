/* narrow.c -- the trace that turns a block of finished sums into results: bias,
 * relu, shift, conversion to a narrower type.
 *
 * The block is walked once from its start, so it may be converted in place:
 * results are not longer than sums, and an element is loaded before anything
 * is stored there.  The load port limits it to 32 bytes of sums a cycle, on
 * aie2p to 64.  Floats, of which a register holds a small block, may be
 * transposed in it on their way.  How aie2p rounds a sum of two floats is not
 * known, so they take no bias there.
 */
#include "device_most.h"
#include "kernel_gemm.h"

enum {
  MEMORY = DEVICE_MOST_CORE_BYTES,
  LANES = 16,      /* of an accumulator half, bm */
  SIDE = 4,        /* of a small block that it holds */
  RING = 8,        /* halves in flight */
  VECTOR_RING = 4, /* x registers that they pass through */
  BIAS_VECTOR = 4, /* the first of as many for the bias */
  BIAS_HALF = 8,   /* halves for a bias of floats */
  RELU_ZERO = 8,   /* the x register with zeros, */
  RELU_BOUND = 9,  /* and that with what floats are compared with */
  FLOAT_CONFIG = 28
};

static const struct narrow_kind {
  enum dtype from, to;
  enum mem_kind store;
  /* Vectors of 16 sums per store; 0: two stores of one.  By the machine, 0
   * vectors on aie2p: no kernel. */
  int aie2, aie2p;
} kind[] = {
    {DTYPE_F32, DTYPE_F32, MEM_ST_AM, 0, 1},
    {DTYPE_F32, DTYPE_BF16, MEM_ST_CONV, 1, 2},
    {DTYPE_I32, DTYPE_I32, MEM_ST_AM, 0, 1},
    {DTYPE_I32, DTYPE_I16, MEM_ST_SRS_S16, 1, 2},
    {DTYPE_I32, DTYPE_U16, MEM_ST_SRS_D16, 1, 2},
    {DTYPE_I32, DTYPE_I8, MEM_ST_SRS_S8, 2, 4},
    {DTYPE_I32, DTYPE_U8, MEM_ST_SRS_D8, 2, 4},
};

static const struct narrow_kind *find_kind(const struct isa *isa,
                                           enum dtype from, enum dtype to) {
  bool aie2 = !kernel_machine(isa)->few_sums;
  for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
    if (kind[i].from == from && kind[i].to == to && (aie2 || kind[i].aie2p))
      return &kind[i];
  return NULL;
}

static int unit_of(const struct isa *isa, const struct narrow_kind *k) {
  int vectors = kernel_machine(isa)->few_sums ? k->aie2p : k->aie2;
  return (vectors ? vectors : 1) * LANES;
}

int kernel_narrow_unit(const struct isa *isa, enum dtype from, enum dtype to) {
  const struct narrow_kind *found = find_kind(isa, from, to);
  return found ? unit_of(isa, found) : 0;
}

bool kernel_narrow_turns(const struct isa *isa, enum dtype from) {
  return from == DTYPE_F32 && !kernel_machine(isa)->few_sums;
}

bool kernel_narrow_adds(const struct isa *isa, enum dtype from) {
  return from != DTYPE_F32 || !kernel_machine(isa)->few_sums;
}

static const struct narrow_kind *check(const struct kernel_narrow *k,
                                       struct diag *d) {
  const struct narrow_kind *found = find_kind(k->isa, k->from, k->to);
  bool shifts = k->from == DTYPE_I32 && k->to != k->from;
  if (!found)
    diag_error(d, loc_none(), "narrow: no kernel from %s to %s",
               dtype_name(k->from), dtype_name(k->to));
  else if (k->elements < 1 || k->elements % unit_of(k->isa, found) ||
           (int64_t)k->elements * dtype_bytes(k->from) > MEMORY)
    diag_error(d, loc_none(),
               "narrow: %d elements; it takes multiples of %d, %d bytes at "
               "most",
               k->elements, unit_of(k->isa, found), MEMORY);
  else if (k->shift < 0 || k->shift > 31 || (k->shift && !shifts))
    diag_error(d, loc_none(), "narrow: shift is %d; from %s to %s it is %s",
               k->shift, dtype_name(k->from), dtype_name(k->to),
               shifts ? "0 to 31" : "0");
  else if (k->turn && !kernel_narrow_turns(k->isa, k->from))
    diag_error(d, loc_none(),
               "narrow: small blocks of %s are not turned on their way",
               dtype_name(k->from));
  else if (k->bias < 0 || k->bias % LANES || (k->bias && k->elements % k->bias))
    diag_error(d, loc_none(),
               "narrow: a bias of %d for %d elements; it takes multiples of "
               "%d that divide them",
               k->bias, k->elements, LANES);
  else if (k->bias && !kernel_narrow_adds(k->isa, k->from))
    diag_error(d, loc_none(), "narrow: no kernel adds a bias of %s",
               dtype_name(k->from));
  else
    return found;
  return NULL;
}

struct narrow {
  struct trace *t;
  const struct narrow_kind *kind;
  const struct kernel_narrow *k;
  int from, to, bias; /* streams */
  int shift_reg, config_reg, mode_reg;
  int bytes;   /* of the widest access */
  int vectors; /* per store, 0: two stores of one */
};

static bool is_float(const struct narrow *w) {
  return w->kind->from == DTYPE_F32;
}

/* The register of 16 sums. */
static int half_reg(const struct narrow *w, int n) {
  static const char *const quarter[] = {"bmll%d", "bmlh%d", "bmhl%d", "bmhh%d"};
  return w->t->machine->few_sums
             ? kernel_trace_reg(w->t, quarter[n % 4], n / 4)
             : kernel_trace_reg(w->t, n % 2 ? "bmh%d" : "bml%d", n / 2);
}

/* Accesses of so many sums. */
static int parts_of(const struct narrow *w) { return 4 * LANES / w->bytes; }

static int part_reg(const struct narrow *w, int n, int part) {
  static const char *const am[] = {"amll%d", "amlh%d", "amhl%d", "amhh%d"};
  return parts_of(w) == 1 ? half_reg(w, n)
                          : kernel_trace_reg(w->t, am[n % 2 * 2 + part], n / 2);
}

static void store(const struct narrow *w, int reg, int64_t offset) {
  kernel_trace_memory(w->t, w->kind->store, reg, w->to, offset)->op.operand[1] =
      w->shift_reg;
}

/* 16 lanes, the i-th ones of a stream, to x register x. */
static void load_vector(const struct narrow *w, enum mem_kind load, int x,
                        int stream, int i) {
  int parts = parts_of(w);
  for (int part = 0; part < parts; part++)
    kernel_trace_memory(w->t, load,
                        kernel_trace_reg(w->t,
                                         parts == 1 ? "x%d"
                                         : part     ? "wh%d"
                                                    : "wl%d",
                                         x),
                        stream, (parts * i + part) * w->bytes);
}

/* Floats are added in accumulators, where the sums are. */
static void add_float_bias(const struct narrow *w, int n) {
  int64_t half = half_reg(w, n), bias = half_reg(w, BIAS_HALF + n);
  kernel_trace_add(
      w->t, INSN_VMOV_X, 2,
      (int64_t[]){
          bias, kernel_trace_reg(w->t, "x%d", BIAS_VECTOR + n % VECTOR_RING)});
  kernel_trace_add(w->t, INSN_VADD_F, 4,
                   (int64_t[]){half, half, bias, w->config_reg});
}

/* Integers are, in vector registers, and take their relu there. */
static void narrow_vector(const struct narrow *w, int n) {
  int x = n % VECTOR_RING;
  int64_t sums = kernel_trace_reg(w->t, "x%d", x);
  const enum insn_id *insn = w->t->machine->insn;
  kernel_trace_add(
      w->t, insn[KERNEL_ADD_32], 3,
      (int64_t[]){sums, sums, kernel_trace_reg(w->t, "x%d", BIAS_VECTOR + x)});
  if (w->k->relu)
    kernel_trace_add(w->t, insn[KERNEL_MAX_32], 4,
                     (int64_t[]){sums, kernel_trace_named(w->t, "r16"), sums,
                                 kernel_trace_reg(w->t, "x%d", RELU_ZERO)});
  kernel_trace_add(w->t, insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){half_reg(w, n), sums});
}

/* Half `i` of the block, 4 x 4 sums, transposed. */
static void load_turned(const struct narrow *w, int i, int n) {
  int x = n % VECTOR_RING;
  int64_t sums = kernel_trace_reg(w->t, "x%d", x);
  load_vector(w, MEM_LDA_W, x, w->from, i);
  kernel_trace_add(w->t, INSN_VSHUFFLE, 4,
                   (int64_t[]){half_reg(w, n), sums, sums, w->mode_reg});
}

/* Sums and what is done to them before they are narrowed: half `i` of the
 * block, the ring's half n. */
static void make_half(const struct narrow *w, int i, int n) {
  const struct kernel_narrow *k = w->k;
  int x = n % VECTOR_RING;
  if (k->bias)
    load_vector(w, MEM_LDB_W, BIAS_VECTOR + x, w->bias, i % (k->bias / LANES));
  if (k->bias && !is_float(w)) {
    load_vector(w, MEM_LDA_W, x, w->from, i);
    narrow_vector(w, n);
    return;
  }
  int parts = parts_of(w);
  if (k->turn)
    load_turned(w, i, n);
  for (int part = 0; !k->turn && part < parts; part++)
    kernel_trace_memory(w->t, MEM_LDA_AM, part_reg(w, n, part), w->from,
                        (parts * i + part) * w->bytes);
  if (k->bias)
    add_float_bias(w, n);
  if (k->relu && is_float(w))
    kernel_trace_relu_float(w->t, half_reg(w, n), x, RELU_ZERO, RELU_BOUND,
                            k->keeps_nan);
  else if (k->relu)
    kernel_trace_relu(w->t, half_reg(w, n), x, RELU_ZERO);
}

/* The register that a store of `vectors`, the last of which is n, reads. */
static int whole_reg(const struct narrow *w, int n, int vectors) {
  bool few = w->t->machine->few_sums;
  switch (vectors) {
  case 1:
    return half_reg(w, n);
  case 2:
    return few ? kernel_trace_reg(w->t, n % 4 / 2 ? "cmh%d" : "cml%d", n / 4)
               : kernel_trace_reg(w->t, "cm%d", n / 2);
  default:
    return kernel_trace_reg(w->t, "dm%d", n / 4);
  }
}

static void narrow_half(const struct narrow *w, int i, int n) {
  int vectors = w->vectors;
  make_half(w, i, n);
  if (!vectors)
    for (int part = 0; part < 2; part++)
      store(w, part_reg(w, n, part), (2 * i + part) * w->bytes);
  else if (n % vectors == vectors - 1)
    store(w, whole_reg(w, n, vectors), i / vectors * w->bytes);
}

static void open_relu(const struct narrow *w) {
  if (is_float(w))
    kernel_trace_relu_open_float(w->t, RELU_ZERO, RELU_BOUND, w->k->keeps_nan);
  else
    kernel_trace_relu_open(w->t, RELU_ZERO);
}

static void open_bias(struct narrow *w) {
  enum { NEAREST_EVEN = 12 }; /* isa.md E3 */
  w->bias = kernel_trace_stream(w->t, "p2", "p2", 2);
  if (!is_float(w))
    return;
  kernel_trace_constant(w->t, w->config_reg, FLOAT_CONFIG);
  kernel_trace_constant(w->t, kernel_trace_named(w->t, "crRnd"), NEAREST_EVEN);
}

struct asm_program *
kernel_narrow(struct arena *a, const struct kernel_narrow *k, struct diag *d) {
  const struct narrow_kind *found = check(k, d);
  if (!found)
    return NULL;
  const struct kernel_machine *m = kernel_machine(k->isa);
  struct trace t = kernel_trace_open(m, a, a, d);
  struct narrow w = {.t = &t,
                     .kind = found,
                     .k = k,
                     .bytes = m->access_bytes,
                     .vectors = m->few_sums ? found->aie2p : found->aie2,
                     .shift_reg = kernel_trace_named(&t, "s0"),
                     .config_reg = kernel_trace_named(&t, "r5"),
                     .mode_reg = kernel_trace_named(&t, "r2")};
  w.from = kernel_trace_stream(&t, "p0", "p0", 0);
  w.to = kernel_trace_stream(&t, "p1", "p1", k->apart);
  if (k->bias)
    open_bias(&w);
  kernel_trace_narrowing(&t, found->store, k->rounding, k->saturation, k->shift,
                         w.shift_reg);
  if (m->srs_mode) /* lanes have 32 bits */
    kernel_trace_constant(&t, kernel_trace_named(&t, m->srs_mode), 0);
  if (k->turn)
    kernel_trace_constant(&t, w.mode_reg,
                          kernel_gemm_transpose_mode(DTYPE_F32, SIDE, SIDE));
  if (k->relu)
    open_relu(&w);
  for (int i = 0; i < k->elements / LANES; i++)
    narrow_half(&w, i, i % RING);
  if (k->relu)
    kernel_trace_relu_close(&t);
  const char *heading = arena_printf(
      a, "p1 %s <- p0 %s, %d elements%s%s%s", dtype_name(k->to),
      dtype_name(k->from), k->elements,
      k->turn ? ", small blocks transposed" : "",
      k->bias ? arena_printf(a, ", %d of bias in p2", k->bias) : "",
      k->relu ? ", relu" : "");
  struct schedule s;
  if (!kernel_trace_address(&t) || !kernel_sched_place(&t, &s))
    return NULL;
  return kernel_fold(a, k->name, &heading, 1, &s, d);
}
