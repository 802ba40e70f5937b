/* fold.c -- finds the loops in a schedule.
 *
 * The schedule is the whole run of a kernel.  Where it repeats bundle by
 * bundle we keep one copy and a loop around it; what is executed stays the
 * same, cycle by cycle.  The largest saving wins, then what lies before and
 * behind it is folded in the same way.
 *
 * A stretch becomes a hardware loop (isa.md D7), which costs nothing but three
 * register writes some way ahead; they go into bundles whose ALU and MV slots
 * are free.  If the program is still long, large loops become branches (one
 * slot, five delay slots that are already full of work) and the steps of K
 * inside their bodies become hardware loops.
 *
 * A kernel with many blocks of K (kernel_gemm_steps) shows two rounds of its
 * outermost loop; it becomes a branch loop of as many rounds as are wanted, if
 * the two are equal bundle by bundle.
 *
 * Where hardware loops are not wanted (schedule.branches) there are branches
 * alone, one within the loop over steps at most; nothing takes longer for it.
 */
#include "device_most.h"
#include "kernel_fold.h"

enum {
  MIN_BODY = 8,          /* bundles; shorter loops are not worth a set-up */
  MIN_SAVING = 8,        /* bundles */
  MIN_ENTRY_SAVING = 64, /* for a set-up that costs cycles */
  /* without room for the core's outer program; where all steps are one call
   * that is smaller */
  PROGRAM_BYTES = DEVICE_MOST_PROGRAM_BYTES - 2048,
  STEPS_BYTES = DEVICE_MOST_PROGRAM_BYTES - 384,
  WANTED_BYTES = 8192,  /* above this, loops inside loops */
  BRANCH_TRIES = 16,    /* starting points tried for a branch loop */
  MIN_BRANCH_BODY = 48, /* bundles */
};

struct folder {
  const struct schedule *s;
  int *first;        /* of each bundle, the first one that is equal */
  int *bytes_before; /* of each bundle, in smallest formats */
  int *long_before;  /* bundles before it with room in the long slot */
  int length_count;  /* lengths that a repetition may have, rising */
  int *length;
  struct fold fold;
  struct diag *diag;
};

struct repeat {
  int start, length, trips;
};

static uint64_t hash_cycle(const struct isa *isa, const struct cycle *c) {
  uint64_t h = 1469598103934665603u;
  for (int i = 0; i < SLOT_COUNT; i++) {
    const struct isa_op *op = c->slot[i];
    int operands = op ? isa_insn(isa, op->id)->operand_count : 0;
    h = (h ^ (op ? op->id : 0)) * 1099511628211u;
    for (int j = 0; j < operands; j++)
      h = (h ^ (uint64_t)op->operand[j]) * 1099511628211u;
  }
  return h;
}

static bool op_equal(const struct isa *isa, const struct isa_op *a,
                     const struct isa_op *b) {
  if (!a || !b || a->id != b->id)
    return a == b;
  int operands = isa_insn(isa, a->id)->operand_count;
  for (int i = 0; i < operands; i++)
    if (a->operand[i] != b->operand[i])
      return false;
  return true;
}

static bool cycle_equal(const struct isa *isa, const struct cycle *a,
                        const struct cycle *b) {
  for (int slot = 0; slot < SLOT_COUNT; slot++)
    if (!op_equal(isa, a->slot[slot], b->slot[slot]))
      return false;
  return true;
}

static bool equal(const struct folder *f, int i, int j) {
  return f->first[i] == f->first[j];
}

static void find_first(struct folder *f, struct arena *a) {
  const struct cycle *cycle = f->s->cycle;
  int count = f->s->count, buckets = 1;
  while (buckets < 2 * count)
    buckets *= 2;
  struct {
    uint64_t hash;
    int index; /* + 1 */
  } *seen = arena_array(a, (size_t)buckets, sizeof *seen);
  for (int i = 0; i < count; i++) {
    uint64_t hash = hash_cycle(f->s->isa, &cycle[i]);
    int at = (int)(hash >> 20 & (uint64_t)(buckets - 1));
    while (seen[at].index &&
           (seen[at].hash != hash ||
            !cycle_equal(f->s->isa, &cycle[seen[at].index - 1], &cycle[i])))
      at = (at + 1) & (buckets - 1);
    if (!seen[at].index) {
      seen[at].hash = hash;
      seen[at].index = i + 1;
    }
    f->first[i] = seen[at].index - 1;
  }
}

static void measure(struct folder *f) {
  for (int i = 0; i < f->s->count; i++) {
    struct isa_bundle b = kernel_bundle(f->s, i);
    f->bytes_before[i + 1] =
        f->bytes_before[i] + kernel_bundle_bytes(f->s->isa, &b, f->diag);
    f->long_before[i + 1] = f->long_before[i] + kernel_bundle_long_free(&b);
  }
}

/* Bundles in [from, to) that can take an operation in the long slot. */
static int free_long(const struct folder *f, int from, int to) {
  return to > from ? f->long_before[to] - f->long_before[from] : 0;
}

/* A hardware loop's set-up has to stand before this bundle. */
static int setup_end(const struct folder *f, const struct repeat *r) {
  const int *at = f->bytes_before;
  int last = r->start + r->length - 1, i = r->start;
  while (i > 0 && (at[r->start] - at[i - 1] < FOLD_SETUP_TO_START ||
                   at[last] - at[i - 1] < FOLD_SETUP_TO_END))
    i--;
  return i;
}

static bool has_room(const struct folder *f, int from, const struct repeat *r) {
  return free_long(f, from, setup_end(f, r)) >= FOLD_SETUP_OPS;
}

/* The first of the last bundles before `end` that take `ops` long operations.
 */
static int setup_start(const struct folder *f, int from, int end, int ops) {
  int i = end;
  while (i > from && free_long(f, i, end) < ops)
    i--;
  return i;
}

/* Makes room for the set-up by a later start, at the price of a trip if need
 * be; `slack` is how much later the loop may start without that price. */
static bool make_room(const struct folder *f, int from, int slack,
                      struct repeat *r) {
  for (; !has_room(f, from, r); r->start++, slack--)
    if (slack == 0) {
      if (--r->trips < 2)
        return false;
      slack = r->length;
    }
  return true;
}

static int saving(const struct repeat *r) {
  return r->trips ? (r->trips - 1) * r->length : 0;
}

/* Lengths worth looking at: how far back equal bundles stand.  In a loop's body
 * some bundle (a step to the next block, a store) occurs only once, so the
 * body's length is among them. */
static void find_lengths(struct folder *f, struct arena *a) {
  int count = f->s->count;
  int *last = arena_array(a, (size_t)count, sizeof *last); /* index + 1 */
  bool *seen = arena_array(a, count + MIN_BODY, sizeof *seen);
  for (int i = 0; i < count; i++) {
    int *before = &last[f->first[i]];
    int distance = *before ? i + 1 - *before : 0;
    /* of short ones a multiple */
    if (distance)
      seen[(MIN_BODY + distance - 1) / distance * distance] |=
          distance < MIN_BODY;
    seen[distance] |= distance >= MIN_BODY;
    *before = i + 1;
  }
  f->length = arena_array(a, count + MIN_BODY, sizeof *f->length);
  for (int i = MIN_BODY; i < count; i++)
    if (seen[i])
      f->length[f->length_count++] = i;
}

/* The repetition in [from, to) that saves most.  A hardware loop needs room
 * for its set-up before it; otherwise *slack is how many bundles later the
 * loop may start as well. */
static struct repeat find_repeat(const struct folder *f, int from, int to,
                                 bool hardware, int *slack) {
  struct repeat best = {0};
  int best_saving = MIN_SAVING - 1;
  for (int n = 0; n < f->length_count; n++) {
    int length = f->length[n], run = 0;
    if (2 * length > to - from)
      break;
    for (int i = to - length - 1; i >= from - 1; i--) {
      if (i >= from && equal(f, i, i + length)) {
        run++;
        continue;
      }
      /* bundles i+1 .. i+run+length repeat */
      struct repeat r = {i + 1, length, run / length + 1};
      int rest = run % length;
      run = 0;
      if (saving(&r) <= best_saving ||
          (hardware && !make_room(f, from, rest, &r)) ||
          saving(&r) <= best_saving)
        continue;
      best = r;
      best_saving = saving(&r);
      *slack = rest;
    }
  }
  return best;
}

static void fold_hardware(struct folder *f, int from, int to);

static void add_piece(struct folder *f, enum piece_kind kind, int start,
                      int length, int trips) {
  if (kind == PIECE_PLAIN && !length)
    return;
  if (f->fold.count == FOLD_PIECES) {
    diag_error(f->diag, loc_none(), "the kernel has more than %d loops",
               FOLD_PIECES);
    return;
  }
  f->fold.piece[f->fold.count++] = (struct piece){
      .kind = kind, .start = start, .length = length, .trips = trips};
}

/* Where the MV slot is busy from the start there is no room for a set-up;
 * three bundles in front of everything are then well spent. */
static bool fold_entry(struct folder *f, int to, const struct repeat *r) {
  int slack;
  struct repeat any = find_repeat(f, 0, to, false, &slack);
  if (saving(&any) <= 2 * saving(r) + MIN_ENTRY_SAVING ||
      f->bytes_before[any.start] < FOLD_SETUP_TO_END)
    return false;
  add_piece(f, PIECE_PLAIN, 0, any.start, 1);
  add_piece(f, PIECE_HARDWARE, any.start, any.length, any.trips);
  f->fold.piece[f->fold.count - 1].entry = true;
  fold_hardware(f, any.start + any.length * any.trips, to);
  return true;
}

/* Hardware loops in [from, to), which is straight-line code. */
static void fold_hardware(struct folder *f, int from, int to) {
  int slack;
  struct repeat r = find_repeat(f, from, to, true, &slack);
  if (!from && fold_entry(f, to, &r))
    return;
  if (!r.trips) {
    add_piece(f, PIECE_PLAIN, from, to - from, 1);
    return;
  }
  int setup = setup_start(f, from, setup_end(f, &r), FOLD_SETUP_OPS);
  fold_hardware(f, from, setup);
  add_piece(f, PIECE_PLAIN, setup, r.start - setup, 1);
  add_piece(f, PIECE_HARDWARE, r.start, r.length, r.trips);
  fold_hardware(f, r.start + r.length * r.trips, to);
}

static int pieces_size(const struct folder *f, int first) {
  int n = 0;
  for (int i = first; i < f->fold.count; i++) {
    const struct piece *p = &f->fold.piece[i];
    n += f->bytes_before[p->start + p->length] - f->bytes_before[p->start];
  }
  return n;
}

/* Whether the loop can be a branch: room for the branch itself and, in
 * [from, start), for its counter and target. */
static bool can_branch(const struct folder *f, int from,
                       const struct repeat *r) {
  const struct cycle *c =
      &f->s->cycle[r->start + r->length - FOLD_BRANCH_SLOTS];
  return !c->slot[SLOT_ALU] && !c->slot[SLOT_LNG] &&
         free_long(f, from, r->start) >= FOLD_BRANCH_OPS;
}

static void fold_body(struct folder *f, const struct repeat *r) {
  int end = r->start + r->length, branch = end - FOLD_BRANCH_SLOTS;
  add_piece(f, PIECE_BRANCH, r->start, 0, r->trips);
  if (f->s->branches)
    add_piece(f, PIECE_PLAIN, r->start, branch - r->start, 1);
  else
    fold_hardware(f, r->start, branch);
  add_piece(f, PIECE_PLAIN, branch, FOLD_BRANCH_SLOTS, 1);
  add_piece(f, PIECE_END, end, 0, r->trips);
}

/* The starting point, at most `slack` later, with the smallest body. */
static bool choose_start(struct folder *f, int from, int slack,
                         struct repeat *r) {
  struct repeat best = {0};
  int best_size = 0, step = slack / BRANCH_TRIES + 1, count = f->fold.count;
  for (; slack >= 0; slack -= step, r->start += step) {
    if (!can_branch(f, from, r))
      continue;
    fold_body(f, r);
    int size = pieces_size(f, count);
    f->fold.count = count;
    if (!best.trips || size < best_size) {
      best = *r;
      best_size = size;
    }
  }
  *r = best;
  return best.trips > 0;
}

/* As fold_hardware, but large loops become branches with hardware loops in
 * their bodies. */
static void fold_nested(struct folder *f, int from, int to) {
  int slack;
  struct repeat r = find_repeat(f, from, to, false, &slack);
  if (r.length < MIN_BRANCH_BODY || !choose_start(f, from, slack, &r)) {
    fold_hardware(f, from, to);
    return;
  }
  int setup = setup_start(f, from, r.start, FOLD_BRANCH_OPS);
  fold_nested(f, from, setup);
  add_piece(f, PIECE_PLAIN, setup, r.start - setup, 1);
  fold_body(f, &r);
  fold_nested(f, r.start + r.length * r.trips, to);
}

/* Where there are to be no hardware loops: branches, none within another. */
static void fold_branches(struct folder *f, int from, int to) {
  int slack;
  struct repeat r = find_repeat(f, from, to, false, &slack);
  if (!r.trips || !choose_start(f, from, slack, &r)) {
    add_piece(f, PIECE_PLAIN, from, to - from, 1);
    return;
  }
  int setup = setup_start(f, from, r.start, FOLD_BRANCH_OPS);
  fold_branches(f, from, setup);
  add_piece(f, PIECE_PLAIN, setup, r.start - setup, 1);
  fold_body(f, &r);
  fold_branches(f, r.start + r.length * r.trips, to);
}

/* Folds straight code, in loops if it is long. */
static int fold_straight(struct folder *f, int from, int to) {
  int first = f->fold.count;
  if (f->s->branches) {
    fold_branches(f, from, to);
    return pieces_size(f, first);
  }
  fold_hardware(f, from, to);
  int size = pieces_size(f, first);
  if (size <= WANTED_BYTES || f->diag->kind != DIAG_NONE)
    return size;
  struct fold hardware = f->fold;
  f->fold.count = first;
  fold_nested(f, from, to);
  if (pieces_size(f, first) < size)
    return pieces_size(f, first);
  f->fold = hardware;
  return size;
}

/* How much earlier than scheduled the loop over steps may start: it has to show
 * its body twice, and the branch needs a free slot. */
static bool find_loop(const struct folder *f, struct repeat *r) {
  const struct schedule *s = f->s;
  int length = s->loop[1] - s->loop[0], run = 0;
  *r = (struct repeat){s->loop[0], length, s->trips};
  for (int i = s->loop[1] - 1; i >= 0 && run < 2 * length; i--) {
    if (i + length >= s->count || !equal(f, i, i + length))
      break;
    r->start = i;
    if (++run >= length && can_branch(f, 0, r))
      return true;
  }
  return false;
}

static int fold_steps(struct folder *f) {
  struct repeat r;
  if (!find_loop(f, &r)) {
    diag_error(f->diag, loc_none(), "the steps of K do not repeat");
    return 0;
  }
  int end = r.start + r.length, branch = end - FOLD_BRANCH_SLOTS;
  int setup = setup_start(f, 0, r.start, FOLD_BRANCH_OPS);
  int size = fold_straight(f, 0, setup);
  add_piece(f, PIECE_PLAIN, setup, r.start - setup, 1);
  add_piece(f, PIECE_BRANCH, r.start, 0, r.trips);
  f->fold.piece[f->fold.count - 1].outer = true;
  size += fold_straight(f, r.start, branch);
  add_piece(f, PIECE_PLAIN, branch, FOLD_BRANCH_SLOTS, 1);
  add_piece(f, PIECE_END, end, 0, r.trips);
  f->fold.piece[f->fold.count - 1].outer = true;
  return size + fold_straight(f, end + r.length, f->s->count);
}

static struct folder open_folder(struct arena *a, const struct schedule *s,
                                 struct diag *d) {
  struct folder f = {.s = s, .diag = d};
  f.first = arena_array(a, s->count, sizeof *f.first);
  f.bytes_before = arena_array(a, s->count + 1, sizeof *f.bytes_before);
  f.long_before = arena_array(a, s->count + 1, sizeof *f.long_before);
  find_first(&f, a);
  measure(&f);
  return f;
}

bool kernel_fold_repeats(struct arena *a, const struct schedule *s,
                         struct diag *d) {
  struct repeat r;
  if (!s->trips)
    return true;
  struct folder f = open_folder(a, s, d);
  return find_loop(&f, &r);
}

struct asm_program *kernel_fold(struct arena *a, const char *name,
                                const char *const *heading, int heading_count,
                                const struct schedule *s, struct diag *d) {
  struct folder f = open_folder(a, s, d);
  find_lengths(&f, a);
  int size = s->trips ? fold_steps(&f) : fold_straight(&f, 0, s->count);
  if (d->kind != DIAG_NONE)
    return NULL;
  int limit = s->uses_locks ? STEPS_BYTES : PROGRAM_BYTES;
  if (size > limit) {
    diag_error(d, loc_none(),
               "kernel %s takes %d bytes of program memory; the limit is %d",
               name, size, limit);
    return NULL;
  }
  return kernel_fold_emit(a, name, heading, heading_count, s, &f.fold, d);
}
