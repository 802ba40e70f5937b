/* launch.c -- cuts a product into launches of one shape, moves the operands
 * into the device's buffers and the results out of them.
 *
 * A buffer lies as the program's tensor where the device can use it so: then
 * the bytes from its first to its last element are copied in one go, and of
 * results the elements alone.  Else the buffer has padding and an order of its
 * own.
 *
 * The launch shape is the compiler's choice for the whole product.  M and N
 * are cut into blocks, K into partial sums that are added up here; C axes are
 * one product after the other.  With more than one launch, results are gathered
 * beside out and written at the very end, so that a failure on the way leaves
 * out untouched and the original loop can run.
 *
 * Float inputs are packed as bf16, rounded or, three times along K, split in
 * two (bf16.c).
 *
 * The device sums in f32 or i32.  Where out has another type, or the product a
 * epilogue, the device makes results of the sums if it can (finish.c); else the
 * sums go through the epilogue on their way out of the device's buffer or of
 * the gathered results.
 */
#include "parts.h"

#include <assert.h>
#include <string.h>

/* Roles and tensors as rows and columns: in0 is M x K, in1 K x N, out M x N. */
static const enum axis_role row_role[TENSORS] = {AXIS_M, AXIS_K, AXIS_M};
static const enum axis_role column_role[TENSORS] = {AXIS_K, AXIS_N, AXIS_N};

/* What the device computes: K is `copies` times the product's; `finished`:
 * results that need no epilogue, else sums. */
struct recipe {
  struct teir_problem problem;
  int copies;
  bool finished;
  bool spread[TENSORS]; /* memory has too much else between the elements */
};

struct work {
  const struct product *p;
  const struct run_plan *plan;
  struct run_session *session;
  const struct run_device *device;
  void *const *tensor;
  int64_t launch[AXIS_ROLES];           /* extents of one launch */
  int64_t blocks[AXIS_ROLES];           /* launches along each role */
  int64_t *user[TENSORS][AXIS_ROLES];   /* offsets in user memory */
  int64_t *buffer[TENSORS][AXIS_ROLES]; /* in the device's buffer */
  int64_t count[TENSORS][AXIS_ROLES]; /* indices, where the device shares a role
                                         and does not use elements as they lie;
                                         0: elements */
  bool linear[TENSORS];    /* the buffer is a copy of memory as it is */
  int64_t packed[TENSORS]; /* the block that lies there; -1: none */
  const struct recipe *recipe;
  struct arena *arena;
  const struct calc_program *convert[OUT][BF16_COPIES]; /* NULL: copied */
  struct dense gathered;     /* all results; nothing: one launch */
  struct epilogue *epilogue; /* NULL: results are copied or added */
};

static int64_t cut(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- offsets ---- */

/* Offsets of one axis of a device buffer: its dims as digits, the most
 * significant first. */
static void layout_offsets(const struct run_layout *l, enum axis_role axis,
                           int64_t *offset) {
  int64_t count = 1;
  offset[0] = 0;
  for (int k = 0; k < l->count; k++) {
    if (l->dim[k].axis != axis)
      continue;
    int64_t extent = l->dim[k].extent;
    for (int64_t i = count - 1; i >= 0; i--) {
      int64_t base = offset[i];
      for (int64_t x = extent - 1; x >= 0; x--)
        offset[i * extent + x] = base + x * l->dim[k].stride_bytes;
    }
    count *= extent;
  }
}

static int64_t batch_of(const struct run_plan *plan) {
  return plan->batch > 1 ? plan->batch : 1;
}

static int64_t share_count(const struct run_share *s) {
  int64_t count = 1;
  for (int i = 0; i < s->count; i++)
    count *= s->digit[i].extent;
  return count;
}

/* The element for which an index stands. */
static int64_t share_element(const struct run_share *s, int64_t index) {
  int64_t element = 0;
  for (int i = s->count - 1; i >= 0; i--) {
    element += index % s->digit[i].extent * s->digit[i].step;
    index /= s->digit[i].extent;
  }
  return element;
}

/* Every index stands for an element, and every element has one. */
static bool share_check(const struct run_plan *plan, struct diag *d) {
  const int64_t extent[AXIS_ROLES] = {1, plan->m, plan->n, plan->k};
  for (int i = 0; i < AXIS_ROLES; i++) {
    const struct run_share *s = &plan->share[i];
    int64_t end = s->count ? 0 : extent[i];
    bool good = s->count <= RUN_DIMS;
    for (int64_t k = 0; good && s->count && k < share_count(s); k++) {
      int64_t element = share_element(s, k);
      good = element >= 0 && element <= end;
      end += element == end;
    }
    if (!good || end != extent[i])
      return diag_error(d, loc_none(), "the plan's shares leave out elements");
  }
  return true;
}

/* The plan comes from our own compiler; a wrong one must not write outside
 * the buffers all the same. */
static bool layout_check(const struct run_plan *plan, int tensor, int bytes,
                         struct diag *d) {
  const struct run_layout *l = &plan->tensor[tensor];
  int64_t extent[AXIS_ROLES] = {1, 1, 1, 1}, reach = bytes;
  bool good = l->count >= 0 && l->count <= RUN_DIMS;
  for (int k = 0; good && k < l->count; k++) {
    int64_t step, n = l->dim[k].extent;
    good = l->dim[k].axis < AXIS_ROLES && n >= 1 &&
           l->dim[k].stride_bytes >= 0 &&
           !__builtin_mul_overflow(n - 1, l->dim[k].stride_bytes, &step) &&
           !__builtin_add_overflow(reach, step, &reach) &&
           !__builtin_mul_overflow(extent[l->dim[k].axis], n,
                                   &extent[l->dim[k].axis]);
  }
  int64_t want[AXIS_ROLES] = {batch_of(plan), plan->m, plan->n, plan->k};
  for (int i = 0; i < AXIS_ROLES; i++)
    if (!l->in_place && plan->share[i].count)
      want[i] = share_count(&plan->share[i]);
  want[tensor == IN0 ? AXIS_N : tensor == IN1 ? AXIS_M : AXIS_K] = 1;
  for (int i = 0; i < AXIS_ROLES; i++)
    good = good && extent[i] == want[i] && want[i] >= 1;
  if (good && (uint64_t)reach <= l->bytes)
    return true;
  return diag_error(d, loc_none(),
                    "the plan's layout of tensor %d does not hold a launch of "
                    "%lld x %lld x %lld",
                    tensor, (long long)plan->m, (long long)plan->n,
                    (long long)plan->k);
}

static bool plan_check(const struct run_plan *plan,
                       const struct teir_problem *p, struct diag *d) {
  for (int t = 0; t < TENSORS; t++)
    if (!layout_check(plan, t, dtype_bytes(p->type[t]), d))
      return false;
  return share_check(plan, d);
}

static bool no_memory(struct diag *d) {
  return diag_declined(d, loc_none(), "no memory");
}

/* Of an input: offsets of all indices of a shared role.  Of out: those in the
 * buffer of one index for every element. */
static void share_offsets(struct work *w, int t, enum axis_role role) {
  const struct run_share *s = &w->plan->share[role];
  int64_t count = share_count(s), *user = w->user[t][role],
          *buffer = w->buffer[t][role];
  if (t == OUT) {
    w->buffer[t][role] =
        arena_array(w->arena, (size_t)w->p->extent[role], sizeof(int64_t));
    for (int64_t i = 0; i < count; i++)
      w->buffer[t][role][share_element(s, i)] = buffer[i];
    return;
  }
  w->count[t][role] = count;
  w->user[t][role] = arena_array(w->arena, (size_t)count, sizeof(int64_t));
  for (int64_t i = 0; i < count; i++)
    w->user[t][role][i] = user[share_element(s, i)];
}

static void make_role_offsets(struct work *w, int t, enum axis_role role) {
  const struct run_layout *l = &w->plan->tensor[t];
  const struct run_share *s = &w->plan->share[role];
  bool shared = s->count && !l->in_place;
  int64_t count = shared ? share_count(s) : w->launch[role];
  w->user[t][role] = product_new_offsets(w->arena, w->p, role, t);
  if (role == AXIS_C && batch_of(w->plan) == 1)
    return;
  w->buffer[t][role] = arena_array(w->arena, (size_t)count, sizeof(int64_t));
  layout_offsets(l, role, w->buffer[t][role]);
  if (shared)
    share_offsets(w, t, role);
}

/* Whether an input's buffer holds what lies in memory, byte by byte. */
static bool is_linear(const struct work *w, int t) {
  if (!w->plan->tensor[t].in_place || w->convert[t][0])
    return false;
  const enum axis_role role[] = {row_role[t], column_role[t], AXIS_C};
  for (int i = 0; i < (batch_of(w->plan) > 1 ? 3 : 2); i++)
    if (w->launch[role[i]] != w->p->extent[role[i]] ||
        memcmp(w->user[t][role[i]], w->buffer[t][role[i]],
               (size_t)w->launch[role[i]] * sizeof(int64_t)) != 0)
      return false;
  return true;
}

static void make_offsets(struct work *w) {
  for (int t = 0; t < TENSORS; t++) {
    make_role_offsets(w, t, AXIS_C);
    make_role_offsets(w, t, row_role[t]);
    make_role_offsets(w, t, column_role[t]);
    w->linear[t] = t < OUT && is_linear(w, t);
  }
}

/* Results of another type than out's are converted by an epilogue. */
static void make_epilogue(struct work *w) {
  enum dtype sum = w->recipe->problem.type[OUT];
  if (!w->recipe->finished && (w->p->epilogue || w->p->type[OUT] != sum))
    w->epilogue = epilogue_make(w->arena, w->p, sum, w->tensor);
}

static void make_conversions(struct work *w) {
  const struct teir_problem *to = &w->recipe->problem;
  for (int t = IN0; t <= IN1; t++)
    for (int i = 0; i < w->recipe->copies; i++)
      if (w->recipe->copies > 1 || w->p->type[t] != to->type[t])
        w->convert[t][i] = bf16_program(w->arena, w->p->type[t], t, i);
}

/* ---- one launch ---- */

/* A role's extent as the device sees it. */
static int64_t whole(const struct work *w, enum axis_role role) {
  return w->p->extent[role] * (role == AXIS_K ? w->recipe->copies : 1);
}

/* Which block of each role a launch works on. */
struct block {
  int64_t at[AXIS_ROLES];
};

static int64_t first(const struct work *w, const struct block *b,
                     enum axis_role role) {
  return b->at[role] * w->launch[role];
}

static int64_t extent(const struct work *w, const struct block *b,
                      enum axis_role role) {
  return smaller(w->launch[role], whole(w, role) - first(w, b, role));
}

/* Indices of an input's role; more than elements where some are there twice. */
static int64_t indices(const struct work *w, const struct block *b, int t,
                       enum axis_role role) {
  assert(t < OUT);
  return w->count[t][role] ? w->count[t][role] : extent(w, b, role);
}

/* From the block's first element on; K as if it were there once. */
static struct pack_matrix in_user(const struct work *w, const struct block *b,
                                  int t) {
  enum axis_role row = row_role[t], column = column_role[t];
  return (struct pack_matrix){
      (char *)w->tensor[t] + w->p->offset[t] +
          w->user[t][AXIS_C][b->at[AXIS_C]],
      w->user[t][row] + first(w, b, row) % w->p->extent[row],
      w->user[t][column] + first(w, b, column) % w->p->extent[column]};
}

static struct pack_matrix in_buffer(const struct work *w, const struct block *b,
                                    int t) {
  const int64_t *c = w->buffer[t][AXIS_C];
  return (struct pack_matrix){
      (char *)w->device->buffer(w->session, t) + (c ? c[b->at[AXIS_C]] : 0),
      w->buffer[t][row_role[t]], w->buffer[t][column_role[t]]};
}

static struct pack_matrix in_gathered(const struct work *w,
                                      const struct block *b) {
  const struct dense *x = &w->gathered;
  return (struct pack_matrix){x->memory + x->offset[AXIS_C][b->at[AXIS_C]],
                              x->offset[AXIS_M] + first(w, b, AXIS_M),
                              x->offset[AXIS_N] + first(w, b, AXIS_N)};
}

/* The same matrix from another place along K on. */
static struct pack_matrix along_k(struct pack_matrix m, int t,
                                  const int64_t *offset) {
  *(t == IN0 ? &m.column : &m.row) = offset;
  return m;
}

/* An input's block by expressions, one for each copy of K that it holds some
 * of. */
static void convert(const struct work *w, const struct block *b, int t) {
  int64_t begin = first(w, b, AXIS_K), end = begin + extent(w, b, AXIS_K);
  int64_t copy = w->p->extent[AXIS_K];
  for (int64_t k = begin, next; k < end; k = next) {
    next = smaller(end, (k / copy + 1) * copy);
    struct map_operands o = {
        .count = 2,
        .x = {
            along_k(in_user(w, b, t), t, w->user[t][AXIS_K] + k % copy),
            along_k(in_buffer(w, b, t), t, w->buffer[t][AXIS_K] + k - begin)}};
    map_block(w->convert[t][k / copy], &o,
              t == IN0 ? indices(w, b, t, AXIS_M) : next - k,
              t == IN0 ? next - k : indices(w, b, t, AXIS_N));
  }
}

/* An input's block into its buffer, zeros around it, unless it lies there. */
static void pack(struct work *w, const struct block *b, int t,
                 struct run_report *report) {
  enum axis_role row = row_role[t], column = column_role[t];
  assert(t == IN0 || t == IN1);
  int64_t id =
      (b->at[AXIS_C] * w->blocks[row] + b->at[row]) * w->blocks[column] +
      b->at[column];
  if (w->packed[t] == id)
    return;
  w->packed[t] = id;
  struct pack_matrix to = in_buffer(w, b, t), from = in_user(w, b, t);
  if (w->linear[t] && b->at[AXIS_C] > 0 && batch_of(w->plan) > 1)
    return; /* came with the first product */
  if (w->linear[t] && w->device->lend &&
      w->device->lend(w->session, t, from.base, w->plan->tensor[t].bytes))
    return;
  if (w->linear[t]) {
    memcpy(to.base, from.base, w->plan->tensor[t].bytes);
    report->host_bytes += (int64_t)w->plan->tensor[t].bytes;
    return;
  }
  int64_t rows = indices(w, b, t, row), columns = indices(w, b, t, column);
  report->host_bytes += rows * columns * dtype_bytes(w->p->type[t]);
  if (rows < w->launch[row] || columns < w->launch[column])
    memset(to.base, 0, w->plan->tensor[t].bytes);
  if (w->convert[t][0]) {
    convert(w, b, t);
    return;
  }
  pack_copy(&to, &from, rows, columns, dtype_bytes(w->p->type[t]));
}

static void copy_results(const struct work *w, const struct block *b, bool add,
                         const struct pack_matrix *to,
                         const struct pack_matrix *from) {
  int64_t rows = extent(w, b, AXIS_M), columns = extent(w, b, AXIS_N);
  enum dtype type = w->recipe->problem.type[OUT];
  if (add)
    pack_add(to, from, rows, columns, type);
  else
    pack_copy(to, from, rows, columns, dtype_bytes(type));
}

/* All sums of one index of C, complete, to out. */
static void store(const struct work *w, const struct block *b,
                  const struct pack_matrix *from) {
  if (w->epilogue) {
    epilogue_store(w->epilogue, from, b->at[AXIS_C]);
    return;
  }
  struct pack_matrix to = in_user(w, b, OUT);
  copy_results(w, b, w->p->accumulate, &to, from);
}

/* All products of a batch in one launch; nothing is cut. */
static bool run_batch(struct work *w, struct run_report *report,
                      struct diag *d) {
  int64_t count = batch_of(w->plan);
  struct block b = {{0}};
  for (b.at[AXIS_C] = 0; b.at[AXIS_C] < count; b.at[AXIS_C]++)
    for (int t = IN0; t <= IN1; t++)
      pack(w, &b, t, report);
  report->launches++;
  if (!w->device->launch(w->session, &report->counts, d))
    return false;
  for (b.at[AXIS_C] = 0; b.at[AXIS_C] < count; b.at[AXIS_C]++) {
    struct pack_matrix from = in_buffer(w, &b, OUT);
    store(w, &b, &from);
  }
  report->host_bytes += count * w->p->extent[AXIS_M] * w->p->extent[AXIS_N] *
                        dtype_bytes(w->recipe->problem.type[OUT]);
  return true;
}

static bool run_block(struct work *w, const struct block *b,
                      struct run_report *report, struct diag *d) {
  pack(w, b, IN0, report);
  pack(w, b, IN1, report);
  report->launches++;
  if (!w->device->launch(w->session, &report->counts, d))
    return false;
  struct pack_matrix from = in_buffer(w, b, OUT);
  report->host_bytes += extent(w, b, AXIS_M) * extent(w, b, AXIS_N) *
                        dtype_bytes(w->recipe->problem.type[OUT]);
  if (w->gathered.memory) {
    struct pack_matrix to = in_gathered(w, b);
    copy_results(w, b, b->at[AXIS_K] > 0, &to, &from);
  } else {
    store(w, b, &from);
  }
  return true;
}

/* Everything gathered goes to out; nothing can fail any more. */
static void write_gathered(const struct work *w) {
  struct work all = *w;
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    all.launch[role] = w->p->extent[role];
  struct block b = {{0}};
  for (; b.at[AXIS_C] < w->p->extent[AXIS_C]; b.at[AXIS_C]++) {
    struct pack_matrix from = in_gathered(&all, &b);
    store(&all, &b, &from);
  }
}

/* N runs fastest, so that a block of in0 stays where it is. */
static bool run_blocks(struct work *w, struct run_report *report,
                       struct diag *d) {
  struct block b;
  int64_t *c = &b.at[AXIS_C], *m = &b.at[AXIS_M], *n = &b.at[AXIS_N],
          *k = &b.at[AXIS_K];
  for (*c = 0; *c < w->p->extent[AXIS_C]; ++*c)
    for (*k = 0; *k < w->blocks[AXIS_K]; ++*k)
      for (*m = 0; *m < w->blocks[AXIS_M]; ++*m)
        for (*n = 0; *n < w->blocks[AXIS_N]; ++*n)
          if (!run_block(w, &b, report, d))
            return false;
  if (w->gathered.memory)
    write_gathered(w);
  return true;
}

/* What the trace says of tensors that are not copied as they lie. */
static void name_packed(const struct work *w, struct run_report *report) {
  for (int t = 0; t < TENSORS; t++) {
    const struct run_layout *l = &w->plan->tensor[t];
    bool converted = t < OUT && w->convert[t][0];
    report->packed[t] = converted                      ? "type"
                        : t == OUT && w->epilogue      ? "tail"
                        : t == OUT && w->p->accumulate ? "add"
                        : !l->in_place                 ? l->why
                        : w->recipe->spread[t]         ? "span"
                                                       : NULL;
  }
}

static bool run_work(struct work *w, struct run_report *report,
                     struct diag *d) {
  const int64_t launch[AXIS_ROLES] = {batch_of(w->plan), w->plan->m, w->plan->n,
                                      w->plan->k};
  int64_t launches = 1;
  for (int role = 0; role < AXIS_ROLES; role++) {
    w->launch[role] = launch[role];
    w->blocks[role] = cut(whole(w, (enum axis_role)role), launch[role]);
    if (__builtin_mul_overflow(launches, w->blocks[role], &launches))
      return diag_declined(d, loc_none(), "too many launches");
  }
  for (int t = 0; t < TENSORS; t++)
    w->packed[t] = -1;
  make_conversions(w);
  make_offsets(w);
  make_epilogue(w);
  name_packed(w, report);
  if (launches > 1)
    w->gathered = dense_make(w->arena, w->p, w->recipe->problem.type[OUT]);
  return batch_of(w->plan) > 1 ? run_batch(w, report, d)
                               : run_blocks(w, report, d);
}

/* ---- what the device is to compute ---- */

/* Whether some input has a float type that the device does not multiply. */
static bool has_wide_floats(const struct product *p) {
  for (int t = IN0; t <= IN1; t++)
    if (dtype_kind(p->type[t]) == DTYPE_FLOAT && p->type[t] != DTYPE_BF16)
      return true;
  return false;
}

static enum dtype input_type(const struct product *p, int t) {
  return dtype_kind(p->type[t]) == DTYPE_FLOAT ? DTYPE_BF16 : p->type[t];
}

/* Floats are summed in f32; integers modulo 2^32, which a narrower sum is cut
 * from.  Sums in f64 are as good as their rounded inputs. */
static bool sum_type(const struct product *p, bool wide, enum dtype *sum,
                     struct diag *d) {
  bool floats = dtype_kind(p->acc) == DTYPE_FLOAT;
  *sum = floats ? DTYPE_F32 : DTYPE_I32;
  bool fits = floats ? p->acc == DTYPE_F32 || (p->acc == DTYPE_F64 && wide)
                     : dtype_bytes(p->acc) <= 4;
  return fits || diag_declined(d, loc_none(), "no device sums in %s",
                               dtype_name(p->acc));
}

/* Whether a copy of all bytes from a tensor's first element to its last would
 * mostly move other things. */
static bool is_spread(const struct product *p, int t) {
  enum { MOST = 4, FEW_BYTES = 1 << 16 };
  int64_t bytes = dtype_bytes(p->type[t]), span = bytes;
  const enum axis_role role[] = {row_role[t], column_role[t]};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < p->count[role[i]]; k++) {
      const struct product_axis *x = &p->axis[role[i]][k];
      int64_t more;
      if (__builtin_mul_overflow(bytes, x->extent, &bytes) ||
          __builtin_mul_overflow(x->extent - 1, x->stride_bytes[t], &more) ||
          __builtin_add_overflow(span, more, &span))
        return true;
    }
  return span / MOST > bytes && span > FEW_BYTES;
}

static bool recipe_make(const struct product *p, enum f32_mode f32,
                        struct recipe *r, struct diag *d) {
  bool wide = has_wide_floats(p);
  if (wide && f32 == F32_KEEP)
    return diag_declined(d, loc_none(),
                         "inputs of type %s and %s; f32=bf16 and f32=bf16x3 "
                         "round or split floats",
                         dtype_name(p->type[IN0]), dtype_name(p->type[IN1]));
  r->finished = false;
  r->copies = wide && f32 == F32_BF16X3 ? BF16_COPIES : 1;
  r->problem =
      (struct teir_problem){.extent = {1, p->extent[AXIS_M], p->extent[AXIS_N],
                                       p->extent[AXIS_K] * r->copies},
                            .type = {input_type(p, IN0), input_type(p, IN1)}};
  if (r->problem.extent[AXIS_K] > INT32_MAX)
    return diag_declined(d, loc_none(), "K is too long to be split");
  if (!sum_type(p, wide, &r->problem.acc, d))
    return false;
  r->problem.type[OUT] = r->problem.acc;
  for (int t = 0; t < TENSORS; t++)
    r->spread[t] = is_spread(p, t);
  return true;
}

/* The same for all indices of the C axes at once. */
static struct recipe batch_of_recipe(const struct product *p, struct recipe r) {
  r.problem.extent[AXIS_C] = p->extent[AXIS_C];
  return r;
}

/* A tensor that is copied lies densely in the order of the loops. */
static void lay_densely(struct contraction *c, int tensor, int64_t bytes) {
  static const enum axis_role still[TENSORS] = {AXIS_N, AXIS_M, AXIS_K};
  for (int i = c->axis_count - 1; i >= 0; i--) {
    struct contraction_axis *x = &c->axis[i];
    bool moves = x->role != still[tensor] && x->extent.constant > 1;
    x->stride_bytes[tensor] = teir_constant(moves ? bytes : 0);
    bytes *= moves ? x->extent.constant : 1;
  }
}

/* Whether the device sees a dense tensor in the place of the program's. */
static bool is_dense(const struct product *p, const struct recipe *r, int t) {
  return r->problem.type[t] != p->type[t] || r->copies > 1 || r->spread[t];
}

static void add_axis(struct contraction *c, const char *name,
                     enum axis_role role, int64_t extent,
                     const int64_t *stride_bytes) {
  struct contraction_axis *x = &c->axis[c->axis_count++];
  *x = (struct contraction_axis){
      .name = name, .role = role, .extent = teir_constant(extent)};
  for (int t = 0; t < TENSORS; t++)
    x->stride_bytes[t] =
        teir_constant(stride_bytes && extent > 1 ? stride_bytes[t] : 0);
}

/* What the device does of a call: one index of the C axes, or all, on the
 * program's tensors where the device takes their types, and up to the sums or
 * to results that it makes of them. */
static const struct teir *device_teir(struct arena *a, const struct product *p,
                                      const struct recipe *r, struct diag *d) {
  const struct teir_problem *q = &r->problem;
  assert(!p->empty_out && r->copies >= 1);
  struct contraction c = {.acc = q->acc,
                          .type = {q->type[IN0], q->type[IN1], q->acc}};
  c.axis = arena_array(a, AXIS_ROLES * PRODUCT_AXES + 1, sizeof *c.axis);
  int first = q->extent[AXIS_C] > 1 ? AXIS_C : AXIS_M;
  for (int role = first; role < AXIS_ROLES; role++) {
    if (role == AXIS_K && r->copies > 1)
      add_axis(&c, "copy", AXIS_K, r->copies, NULL);
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      add_axis(&c, x->id, (enum axis_role)role, x->extent, x->stride_bytes);
    }
  }
  for (int t = 0; t < TENSORS; t++)
    if (is_dense(p, r, t))
      lay_densely(&c, t, dtype_bytes(q->type[t]));
  const struct teir *sums = teir_from_contraction(a, &c, d);
  return sums ? teir_finish_sums(a, sums, &q->finish, q->type[OUT], d) : NULL;
}

/* ---- plans ---- */

/* What a plan depends on; compared as bytes. */
struct plan_key {
  char device[16], preset[32];
  struct teir_problem problem;
  bool dense[TENSORS]; /* what the TEIR says of tensors of another type */
  int64_t count[AXIS_ROLES];
  struct {
    int64_t extent, stride_bytes[TENSORS];
  } axis[AXIS_ROLES][PRODUCT_AXES];
};

static bool key_make(struct plan_key *key, const struct run_device *device,
                     const struct run_options *o, const struct product *p,
                     const struct recipe *r, struct diag *d) {
  const struct teir_problem *problem = &r->problem;
  memset(key, 0, sizeof *key);
  if (strlen(o->preset) >= sizeof key->preset)
    return diag_error(d, loc_none(), "there is no preset '%s'", o->preset);
  strcpy(key->device, device->name);
  strcpy(key->preset, o->preset);
  for (int i = 0; i < AXIS_ROLES; i++) /* member by member: no padding */
    key->problem.extent[i] = problem->extent[i];
  for (int t = 0; t < TENSORS; t++)
    key->problem.type[t] = problem->type[t];
  key->problem.acc = problem->acc;
  key->problem.finish.relu = problem->finish.relu;
  key->problem.finish.saturate = problem->finish.saturate;
  key->problem.finish.shift = problem->finish.shift;
  for (int t = 0; t < TENSORS; t++)
    key->dense[t] = is_dense(p, r, t);
  int first = problem->extent[AXIS_C] > 1 ? AXIS_C : AXIS_M;
  for (int role = first; role < AXIS_ROLES; role++) {
    key->count[role] = p->count[role];
    for (int i = 0; i < p->count[role]; i++) {
      const struct product_axis *x = &p->axis[role][i];
      key->axis[role][i].extent = x->extent;
      for (int t = 0; t < TENSORS; t++)
        key->axis[role][i].stride_bytes[t] =
            key->dense[t] ? 0 : x->stride_bytes[t];
    }
  }
  return true;
}

/* One product on its way to a device. */
struct job {
  struct cache *plans;
  const struct run_compiler *compiler;
  const struct run_device *device;
  const struct run_options *options;
  const struct product *p;
  void *const *tensor;
  struct run_report *report;
  const struct recipe *recipe;
  struct cache_entry *entry; /* with the recipe's plan */
  struct diag *d;
  bool done;
};

static void build(struct cache_entry *e, const void *with) {
  const struct job *j = with;
  const char *target = j->device->target(j->options, &e->diag);
  e->device = j->device;
  e->state = CACHE_FAILED;
  const struct teir *t =
      target ? device_teir(e->arena, j->p, j->recipe, &e->diag) : NULL;
  if (!t)
    return;
  e->plan = j->compiler->compile(e->arena, target, t, &e->diag);
  if (e->plan && plan_check(e->plan, &j->recipe->problem, &e->diag))
    e->state = CACHE_READY;
}

static size_t plan_bytes(const struct run_plan *plan) {
  size_t bytes = 0;
  for (int i = 0; i < TENSORS; i++)
    bytes += plan->tensor[i].bytes;
  return bytes;
}

static void run_session(void *with) {
  struct job *j = with;
  struct cache_entry *e = j->entry;
  if (!e->session && !(e->session = e->device->open(e->plan, j->options, j->d)))
    return;
  e->bytes = plan_bytes(e->plan);
  struct work w = {.p = j->p,
                   .plan = e->plan,
                   .session = e->session,
                   .device = e->device,
                   .tensor = j->tensor,
                   .recipe = j->recipe,
                   .arena = arena_open()};
  j->done = run_work(&w, j->report, j->d);
  if (e->device->take_back)
    e->device->take_back(e->session);
  arena_close(w.arena);
}

static void close_session(void *with) {
  struct cache_entry *e = ((const struct job *)with)->entry;
  if (e->session)
    e->device->close(e->session);
  e->session = NULL;
  e->bytes = 0;
}

/* With the entry's lock held. */
static bool run_entry(struct job *j) {
  if (!memory_try(run_session, close_session, j))
    return no_memory(j->d);
  if (!j->done)
    close_session(j); /* nobody knows what a failed launch leaves behind */
  return j->done;
}

/* Finds the entry with a plan for the recipe, and locks it. */
static bool take_plan(struct job *j, const struct recipe *recipe,
                      struct diag *d) {
  struct plan_key key;
  if (!key_make(&key, j->device, j->options, j->p, recipe, d))
    return false;
  struct cache_entry *e = cache_acquire(j->plans, &key, sizeof key);
  if (!e)
    return no_memory(d);
  j->recipe = recipe;
  j->entry = e;
  pthread_mutex_lock(&e->lock);
  j->report->compiled |= e->state == CACHE_NEW;
  if (e->state == CACHE_NEW && !cache_build(e, build, j))
    no_memory(d);
  else if (e->state == CACHE_READY)
    return true;
  else
    *d = e->diag;
  pthread_mutex_unlock(&e->lock);
  cache_release(j->plans, e);
  return false;
}

/* Axes of a role in the order in which a tensor has them, so that they are one
 * to the device where they can be. */
static void sort_axes(struct product *p, enum axis_role role, int t) {
  struct product_axis *x = p->axis[role];
  for (int i = 1; i < p->count[role]; i++)
    for (int k = i; k > 0 && x[k - 1].stride_bytes[t] < x[k].stride_bytes[t];
         k--) {
      struct product_axis other = x[k];
      x[k] = x[k - 1];
      x[k - 1] = other;
    }
}

bool launch_product(struct cache *plans, const struct run_compiler *compiler,
                    const struct run_device *device,
                    const struct run_options *o, const struct product *given,
                    void *const tensor[], struct run_report *report,
                    struct diag *d) {
  struct product sorted = *given;
  const struct product *p = &sorted;
  sort_axes(&sorted, AXIS_M, has_wide_floats(p) ? OUT : IN0);
  sort_axes(&sorted, AXIS_N, has_wide_floats(p) ? OUT : IN1);
  sort_axes(&sorted, AXIS_K, IN0);
  sort_axes(&sorted, AXIS_C, IN0);
  struct job j = {.plans = plans,
                  .compiler = compiler,
                  .device = device,
                  .options = o,
                  .p = p,
                  .tensor = tensor,
                  .report = report,
                  .d = d};
  struct recipe sums, results;
  if (!recipe_make(p, (enum f32_mode)o->f32, &sums, d))
    return false;
  struct diag unfinished = {0};
  results = sums;
  results.problem.type[OUT] = p->type[OUT];
  results.finished = finish_read(p, &results.problem.finish);
  struct recipe all_results = batch_of_recipe(p, results),
                all_sums = batch_of_recipe(p, sums);
  bool batch = p->extent[AXIS_C] > 1;
  struct diag apart = {0};
  if (!(batch && results.finished &&
        take_plan(&j, &all_results, &unfinished)) &&
      !(batch && take_plan(&j, &all_sums, &apart)) &&
      !(results.finished && take_plan(&j, &results, &unfinished)) &&
      !take_plan(&j, &sums, d))
    return false;
  bool good = run_entry(&j);
  if (good && has_wide_floats(p))
    report->f32 = j.recipe->copies > 1 ? "bf16x3" : "bf16";
  pthread_mutex_unlock(&j.entry->lock);
  cache_release(plans, j.entry);
  return good;
}
