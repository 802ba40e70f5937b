/* work.c -- the launches of a product: operands go into the device's buffers,
 * results out of them.
 *
 * A buffer lies as the program's tensor where the device can use it so: then
 * the bytes from its first to its last element are copied in one go, or lent to
 * the device, and of results the elements alone.  Else the buffer has padding
 * and an order of its own.
 *
 * M and N are cut into blocks, K into partial sums that are added up here; C
 * axes are one product after the other.  With more than one launch, results are
 * gathered beside out and written at the very end, so that a failure on the way
 * leaves out untouched and the original loop can run.
 */
#include "launch.h"
#include "seconds.h"

#include <assert.h>
#include <string.h>

/* Which block of each role a launch works on. */
struct block {
  int64_t at[AXIS_ROLES];
};

/* Of an argument's buffers on the device: the most that are of use. */
enum { WORK_COPIES = 16 };

struct work {
  const struct product *p;
  const struct context_launch *at;
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
  bool linear[TENSORS]; /* the buffer is a copy of memory as it is */
  int copies;           /* of the session's buffers */
  int copy[TENSORS];    /* those of the launch that is prepared */
  struct held {
    int64_t block;  /* of an input, that lies there; -1: none */
    int64_t launch; /* that used it last; -1: none */
  } held[TENSORS][WORK_COPIES];
  int64_t begun,
      stored; /* launches that were prepared; with results in place */
  struct block launched[WORK_COPIES]; /* what launch i is, at i mod copies */
  int out[WORK_COPIES];               /* and the buffer of its results */
  const struct recipe *recipe;
  struct arena *arena;
  /* By the copies of an input's rows and columns; NULL: copied. */
  const struct calc_program *convert[OUT][SPLIT_COPIES][SPLIT_COPIES];
  struct dense gathered;     /* all sums; nothing: one launch makes results */
  struct epilogue *epilogue; /* NULL: results are copied or added */
  const int64_t *bias;       /* offsets of the bias's elements; NULL: none */
};

static int64_t cut(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* A role's extent as the device sees it. */
static int64_t whole(const struct work *w, enum axis_role role) {
  return w->p->extent[role] * w->recipe->copies[role];
}

/* ---- offsets ---- */

/* Of an input: offsets of all indices of a shared role.  Of out: those in the
 * buffer of one index for every element. */
static void share_offsets(struct work *w, int t, enum axis_role role) {
  const struct run_share *s = &w->plan->share[role];
  int64_t count = share_count(s), *user = w->user[t][role],
          *buffer = w->buffer[t][role];
  if (t == OUT) {
    w->buffer[t][role] =
        arena_array(w->arena, (size_t)whole(w, role), sizeof(int64_t));
    for (int64_t i = 0; i < count; i++)
      w->buffer[t][role][share_element(s, i)] = buffer[i];
    return;
  }
  w->count[t][role] = count;
  w->user[t][role] = arena_array(w->arena, (size_t)count, sizeof(int64_t));
  for (int64_t i = 0; i < count; i++)
    w->user[t][role][i] = user[share_element(s, i)];
}

/* Of an input in all copies of a role. */
static void copy_offsets(struct work *w, int t, enum axis_role role) {
  int64_t extent = w->p->extent[role], *once = w->user[t][role];
  w->user[t][role] =
      arena_array(w->arena, (size_t)whole(w, role), sizeof(int64_t));
  for (int64_t i = 0; i < whole(w, role); i++)
    w->user[t][role][i] = once[i % extent];
}

static void make_role_offsets(struct work *w, int t, enum axis_role role) {
  const struct run_layout *l = &w->plan->tensor[t];
  const struct run_share *s = &w->plan->share[role];
  bool shared = s->count && !l->in_place;
  int64_t count = shared ? share_count(s) : w->launch[role];
  w->user[t][role] = product_new_offsets(w->arena, w->p, role, t);
  if (t < OUT && w->recipe->copies[role] > 1)
    copy_offsets(w, t, role);
  if (role == AXIS_C && layout_batch(w->plan) == 1)
    return;
  w->buffer[t][role] = arena_array(w->arena, (size_t)count, sizeof(int64_t));
  layout_offsets(l, role, w->buffer[t][role]);
  if (shared)
    share_offsets(w, t, role);
}

/* Whether an input's buffer holds what lies in memory, byte by byte. */
static bool is_linear(const struct work *w, int t) {
  if (!w->plan->tensor[t].in_place || w->convert[t][0][0])
    return false;
  const enum axis_role role[] = {row_role[t], column_role[t], AXIS_C};
  for (int i = 0; i < (layout_batch(w->plan) > 1 ? 3 : 2); i++)
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

static void make_bias(struct work *w) {
  if (w->recipe->bias >= 0)
    w->bias = product_new_offsets(
        w->arena, w->p, w->recipe->problem.finish.bias, w->recipe->bias);
}

/* Results of another type than out's are converted by an epilogue. */
static void make_epilogue(struct work *w) {
  enum dtype sum = w->recipe->problem.type[OUT];
  if (!w->recipe->finished && (w->p->epilogue || w->p->type[OUT] != sum))
    w->epilogue = epilogue_make(w->arena, w->p, sum, w->tensor);
}

static void make_conversions(struct work *w) {
  const struct recipe *r = w->recipe;
  for (int t = IN0; t <= IN1; t++) {
    enum axis_role row = row_role[t], column = column_role[t];
    if (!recipe_casts(w->p, r, t) && r->copies[row] * r->copies[column] == 1)
      continue;
    for (int i = 0; i < r->copies[row]; i++)
      for (int k = 0; k < r->copies[column]; k++) {
        int copy[AXIS_ROLES] = {0};
        copy[row] = i;
        copy[column] = k;
        w->convert[t][i][k] = split_program(w->arena, w->p, r, t, copy);
      }
  }
}

/* ---- one launch ---- */

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

/* From the block's first element on. */
static struct pack_matrix in_user(const struct work *w, const struct block *b,
                                  int t) {
  enum axis_role row = row_role[t], column = column_role[t];
  return (struct pack_matrix){(char *)w->tensor[t] + w->p->offset[t] +
                                  w->user[t][AXIS_C][b->at[AXIS_C]],
                              w->user[t][row] + first(w, b, row),
                              w->user[t][column] + first(w, b, column)};
}

static struct pack_matrix in_buffer(const struct work *w, const struct block *b,
                                    int t) {
  const int64_t *c = w->buffer[t][AXIS_C];
  return (struct pack_matrix){
      (char *)w->device->buffer(w->session, t, w->copy[t]) +
          (c ? c[b->at[AXIS_C]] : 0),
      w->buffer[t][row_role[t]], w->buffer[t][column_role[t]]};
}

static struct pack_matrix in_gathered(const struct work *w,
                                      const struct block *b) {
  const struct dense *x = &w->gathered;
  return (struct pack_matrix){x->memory + x->offset[AXIS_C][b->at[AXIS_C]],
                              x->offset[AXIS_M] + first(w, b, AXIS_M),
                              x->offset[AXIS_N] + first(w, b, AXIS_N)};
}

/* Of which copy of a role an index of an input's block is. */
static int64_t copy_of(const struct work *w, const struct block *b, int t,
                       enum axis_role role, int64_t index) {
  int64_t at = w->count[t][role] ? share_element(&w->plan->share[role], index)
                                 : first(w, b, role) + index;
  return at / w->p->extent[role];
}

/* The end of the indices from `from` on that are of the same copy. */
static int64_t copy_end(const struct work *w, const struct block *b, int t,
                        enum axis_role role, int64_t from) {
  int64_t end = indices(w, b, t, role), at = from + 1;
  if (w->recipe->copies[role] == 1)
    return end;
  int64_t copy = copy_of(w, b, t, role, from);
  while (at < end && copy_of(w, b, t, role, at) == copy)
    at++;
  return at;
}

/* An input's block by expressions, one for each copy of its roles. */
static void convert(const struct work *w, const struct block *b, int t) {
  enum axis_role row = row_role[t], column = column_role[t];
  int64_t rows = indices(w, b, t, row), columns = indices(w, b, t, column);
  struct pack_matrix from = in_user(w, b, t), to = in_buffer(w, b, t);
  for (int64_t i = 0, i_end; i < rows; i = i_end) {
    i_end = copy_end(w, b, t, row, i);
    for (int64_t k = 0, k_end; k < columns; k = k_end) {
      k_end = copy_end(w, b, t, column, k);
      struct map_operands o = {.count = 2,
                               .x = {{from.base, from.row + i, from.column + k},
                                     {to.base, to.row + i, to.column + k}}};
      map_block(
          w->convert[t][copy_of(w, b, t, row, i)][copy_of(w, b, t, column, k)],
          &o, i_end - i, k_end - k);
    }
  }
}

/* The buffer of a launch's tensor: the one where the block lies, or the one
 * that was used longest ago, which no launch under way uses.  False: it does
 * not lie there. */
static bool pick_copy(struct work *w, int t, int64_t block) {
  struct held *held = w->held[t];
  int oldest = 0, at = 0;
  for (int i = 1; i < w->copies; i++)
    if (held[i].launch < held[oldest].launch)
      oldest = i;
  while (at < w->copies && (block < 0 || held[at].block != block))
    at++;
  bool lies = at < w->copies;
  w->copy[t] = lies ? at : oldest;
  assert(lies || held[oldest].launch < w->stored);
  held[w->copy[t]] = (struct held){block, w->begun};
  return lies;
}

static void wrote(const struct work *w, int t) {
  if (w->device->wrote)
    w->device->wrote(w->session, t, w->copy[t]);
}

/* Bytes of a tensor in memory from a block's first element on; its buffer may
 * have a word's rest, or a row, more, which is not used. */
static int64_t span_from(const struct work *w, const struct block *b, int t) {
  int64_t bytes = 0;
  if (!product_span(w->p, t, &bytes))
    return 0;
  return bytes - w->user[t][AXIS_C][b->at[AXIS_C]];
}

/* An input's block into its buffer, zeros around it. */
static void fill(const struct work *w, const struct block *b, int t,
                 struct run_report *report) {
  enum axis_role row = row_role[t], column = column_role[t];
  struct pack_matrix to = in_buffer(w, b, t), from = in_user(w, b, t);
  wrote(w, t);
  if (w->linear[t]) {
    int64_t bytes =
        smaller((int64_t)w->plan->tensor[t].bytes, span_from(w, b, t));
    memcpy(to.base, from.base, (size_t)bytes);
    report->host_bytes += bytes;
    return;
  }
  int64_t rows = indices(w, b, t, row), columns = indices(w, b, t, column);
  report->host_bytes += rows * columns * dtype_bytes(w->p->type[t]);
  if (rows < w->launch[row] || columns < w->launch[column])
    memset(to.base, 0, w->plan->tensor[t].bytes);
  if (w->convert[t][0][0]) {
    convert(w, b, t);
    return;
  }
  pack_copy(&to, &from, rows, columns, dtype_bytes(w->p->type[t]));
}

/* The same, unless it lies there or can be lent to the device. */
static void pack(struct work *w, const struct block *b, int t,
                 struct run_report *report) {
  enum { WORD = 4 };
  int64_t more = (int64_t)w->plan->tensor[t].bytes - span_from(w, b, t);
  assert(t == IN0 || t == IN1);
  if (w->linear[t] && w->device->lend && more < WORD &&
      w->device->lend(w->session, t, w->copy[t], in_user(w, b, t).base,
                      w->plan->tensor[t].bytes))
    return;
  fill(w, b, t, report);
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

static bool launch(struct work *w, struct run_report *report, struct diag *d) {
  double start = seconds_now();
  bool good = context_launch(w->at, &report->counts, d);
  report->seconds.launch += seconds_now() - start;
  return good;
}

/* The bias of a block of n, or m, behind the results; zeros where there is
 * none. */
static void pack_bias(const struct work *w, const struct block *b,
                      struct run_report *report) {
  const struct run_bias *x = &w->plan->bias;
  int tensor = w->recipe->bias;
  char *to = w->device->buffer(w->session, OUT, w->copy[OUT]);
  assert(!w->bias == !x->count);
  if (!w->bias)
    return;
  wrote(w, OUT);
  const char *from = (const char *)w->tensor[tensor] + w->p->offset[tensor];
  enum axis_role role = w->recipe->problem.finish.bias;
  int64_t at = first(w, b, role), count = extent(w, b, role);
  for (int64_t i = 0; i < x->count; i++) {
    int64_t element = x->word[i].element;
    uint32_t bits = 0;
    if (element < count)
      memcpy(&bits, from + w->bias[at + element], sizeof bits);
    memcpy(to + x->word[i].at_bytes, &bits, sizeof bits);
  }
  report->host_bytes += x->count * (int64_t)sizeof(uint32_t);
}

/* All products of a batch in one launch; nothing is cut, and what lies as the
 * device has it comes with the first product. */
static bool run_batch(struct work *w, struct run_report *report,
                      struct diag *d) {
  int64_t count = layout_batch(w->plan);
  struct block b = {{0}};
  for (b.at[AXIS_C] = 0; b.at[AXIS_C] < count; b.at[AXIS_C]++)
    for (int t = IN0; t <= IN1; t++)
      if (!w->linear[t] || b.at[AXIS_C] == 0)
        pack(w, &b, t, report);
  b.at[AXIS_C] = 0;
  pack_bias(w, &b, report);
  report->launches++;
  if (!launch(w, report, d))
    return false;
  for (b.at[AXIS_C] = 0; b.at[AXIS_C] < count; b.at[AXIS_C]++) {
    struct pack_matrix from = in_buffer(w, &b, OUT);
    store(w, &b, &from);
  }
  report->host_bytes += count * w->p->extent[AXIS_M] * w->p->extent[AXIS_N] *
                        dtype_bytes(w->recipe->problem.type[OUT]);
  return true;
}

/* Results of the launches before `end`, which have ended. */
static void store_blocks(struct work *w, int64_t end,
                         struct run_report *report) {
  for (; w->stored < end; w->stored++) {
    const struct block *b = &w->launched[w->stored % w->copies];
    w->copy[OUT] = w->out[w->stored % w->copies];
    struct pack_matrix from = in_buffer(w, b, OUT);
    report->host_bytes += extent(w, b, AXIS_M) * extent(w, b, AXIS_N) *
                          dtype_bytes(w->recipe->problem.type[OUT]);
    if (w->gathered.memory) {
      struct pack_matrix to = in_gathered(w, b);
      copy_results(w, b, b->at[AXIS_K] > 0, &to, &from);
    } else {
      store(w, b, &from);
    }
  }
}

/* Which block of an input a launch needs. */
static int64_t block_of(const struct work *w, const struct block *b, int t) {
  enum axis_role row = row_role[t], column = column_role[t];
  return (b->at[AXIS_C] * w->blocks[row] + b->at[row]) * w->blocks[column] +
         b->at[column];
}

static void prepare(struct work *w, const struct block *b,
                    struct run_report *report) {
  for (int t = IN0; t <= IN1; t++)
    if (!pick_copy(w, t, block_of(w, b, t)))
      pack(w, b, t, report);
  pick_copy(w, OUT, -1);
  pack_bias(w, b, report);
  w->launched[w->begun % w->copies] = *b;
  w->out[w->begun % w->copies] = w->copy[OUT];
  w->begun++;
  report->launches++;
}

static bool finish(const struct work *w, struct run_report *report,
                   struct diag *d) {
  double start = seconds_now();
  bool good = w->device->finish(w->session, d);
  report->seconds.launch += seconds_now() - start;
  return good;
}

/* Half of the copies make a list of launches.  It is sent before the results of
 * the one before are stored, and the next is packed while the device works. */
static bool run_block(struct work *w, const struct block *b, bool last,
                      struct run_report *report, struct diag *d) {
  prepare(w, b, report);
  if (w->copies > 1) {
    int64_t list = w->copies / 2, first = (w->begun - 1) / list * list;
    w->device->queue(w->session, w->copy);
    if (!last && w->begun < first + list)
      return true;
    if (!launch(w, report, d))
      return false;
    store_blocks(w, first, report);
    if (!last)
      return true;
    if (!finish(w, report, d))
      return false;
  } else if (!launch(w, report, d)) {
    return false;
  }
  store_blocks(w, w->begun, report);
  return true;
}

/* The first copy of M or N becomes the sums of what was split. */
static void join_halves(const struct work *w) {
  const struct dense *x = &w->gathered;
  const int64_t *extent = w->p->extent;
  bool rows = w->recipe->copies[AXIS_M] > 1;
  int64_t other = rows ? x->offset[AXIS_M][extent[AXIS_M]]
                       : x->offset[AXIS_N][extent[AXIS_N]];
  for (int64_t c = 0; c < extent[AXIS_C]; c++)
    for (int64_t m = 0; m < extent[AXIS_M]; m++) {
      char *row = x->memory + x->offset[AXIS_C][c] + x->offset[AXIS_M][m];
      uint32_t *low = (uint32_t *)row, *high = (uint32_t *)(row + other);
      for (int64_t n = 0; n < extent[AXIS_N]; n++)
        low[n] += high[n] << 16;
    }
}

/* Everything gathered goes to out; nothing can fail any more. */
static void write_gathered(const struct work *w) {
  if (recipe_joins(w->recipe))
    join_halves(w);
  struct work all = *w;
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    all.launch[role] = w->p->extent[role];
  struct block b = {{0}};
  for (; b.at[AXIS_C] < w->p->extent[AXIS_C]; b.at[AXIS_C]++) {
    struct pack_matrix from = in_gathered(&all, &b);
    store(&all, &b, &from);
  }
}

/* The next block, N fastest, so that a block of in0 stays where it is; false:
 * there is none. */
static bool next_block(const struct work *w, struct block *b) {
  static const enum axis_role fastest_first[] = {AXIS_N, AXIS_M, AXIS_K,
                                                 AXIS_C};
  for (int i = 0; i < AXIS_ROLES; i++) {
    enum axis_role role = fastest_first[i];
    int64_t count = role == AXIS_C ? w->p->extent[AXIS_C] : w->blocks[role];
    if (++b->at[role] < count)
      return true;
    b->at[role] = 0;
  }
  return false;
}

static bool run_blocks(struct work *w, struct run_report *report,
                       struct diag *d) {
  struct block b = {{0}};
  for (bool last = false; !last;) {
    struct block next = b;
    last = !next_block(w, &next);
    if (!run_block(w, &b, last, report, d))
      return false;
    b = next;
  }
  if (w->gathered.memory)
    write_gathered(w);
  return true;
}

/* What the trace says of tensors that are not copied as they lie. */
static void name_packed(const struct work *w, struct run_report *report) {
  report->epilogue = w->epilogue || w->p->accumulate ? "host"
                     : w->p->epilogue                ? "cores"
                                                     : NULL;
  for (int t = 0; t < TENSORS; t++) {
    const struct run_layout *l = &w->plan->tensor[t];
    bool converted = t < OUT && w->convert[t][0][0];
    report->packed[t] = converted                      ? "type"
                        : t == OUT && w->epilogue      ? "tail"
                        : t == OUT && w->p->accumulate ? "add"
                        : l->why                       ? l->why
                        : w->recipe->spread[t]         ? "span"
                                                       : NULL;
    report->rule[t] = report->packed[t] == l->why ? l->rule : NULL;
  }
}

static bool run(struct work *w, struct run_report *report, struct diag *d) {
  const int64_t launch[AXIS_ROLES] = {layout_batch(w->plan), w->plan->m,
                                      w->plan->n, w->plan->k};
  int64_t launches = 1;
  for (int role = 0; role < AXIS_ROLES; role++) {
    w->launch[role] = launch[role];
    w->blocks[role] = cut(whole(w, (enum axis_role)role), launch[role]);
    if (__builtin_mul_overflow(launches, w->blocks[role], &launches))
      return diag_declined(d, loc_none(), "too many launches");
  }
  if (w->device->copies && launches > 1)
    w->copies = w->device->copies(
        w->session, (int)smaller(launches, WORK_COPIES) + (launches % 2 != 0));
  for (int t = 0; t < TENSORS; t++)
    for (int i = 0; i < WORK_COPIES; i++)
      w->held[t][i] = (struct held){-1, -1};
  make_conversions(w);
  make_offsets(w);
  make_epilogue(w);
  make_bias(w);
  name_packed(w, report);
  if (launches > 1 || recipe_joins(w->recipe)) {
    int64_t all[AXIS_ROLES];
    for (int role = 0; role < AXIS_ROLES; role++)
      all[role] = whole(w, (enum axis_role)role);
    w->gathered = dense_make(w->arena, all, w->recipe->problem.type[OUT]);
  }
  return layout_batch(w->plan) > 1 ? run_batch(w, report, d)
                                   : run_blocks(w, report, d);
}

bool work_run(const struct product *p, const struct recipe *r,
              const struct context_launch *at, void *const tensor[],
              struct run_report *report, struct diag *d) {
  struct work w = {.p = p,
                   .at = at,
                   .plan = at->plan,
                   .session = at->session,
                   .copies = 1,
                   .device = at->device,
                   .tensor = tensor,
                   .recipe = r,
                   .arena = arena_open()};
  double start = seconds_now(), launched = report->seconds.launch;
  bool good = run(&w, report, d);
  launched = report->seconds.launch - launched;
  report->seconds.copy += seconds_now() - start - launched;
  if (w.device->take_back)
    w.device->take_back(w.session);
  arena_close(w.arena);
  return good;
}
