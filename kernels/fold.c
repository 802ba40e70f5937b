/* fold.c -- bundles -> program: repeated stretches become loops.
 *
 * The schedule is the whole run of a kernel.  Where it repeats bundle by
 * bundle we keep one copy and a loop around it; what is executed stays the
 * same, cycle by cycle.  The largest saving wins, then what lies before and
 * behind it is folded in the same way.
 *
 * A stretch becomes a hardware loop (facts D7), which costs nothing but three
 * register writes some way ahead; they go into bundles whose ALU and MV slots
 * are free.  If the program is still too long, the large loop becomes a branch
 * (one slot, five delay slots that are already full of work) and the steps of
 * K inside its body become hardware loops.
 */
#include "trace.h"

#include <assert.h>
#include <string.h>

enum {
  FULL = 16,             /* bytes of a full bundle */
  SETUP_AHEAD = 7,       /* full bundles from the set-up to the loop's end */
  SETUP_OPS = 3,         /* ls, le, lc */
  BRANCH_OPS = 2,        /* counter and target of a branch loop */
  MIN_BODY = 8,          /* bundles; shorter loops are not worth a set-up */
  MIN_SAVING = 8,        /* bundles */
  BRANCH_SLOTS = 6,      /* the branch and its delay slots */
  PROGRAM_BYTES = 14336, /* 16 KiB without room for the core's outer program */
  WANTED_BYTES = 9216,   /* above this, loops inside loops */
  BRANCH_TRIES = 16,     /* starting points tried for a branch loop */
  MAX_PIECES = 64
};

enum piece_kind { PIECE_PLAIN, PIECE_HARDWARE, PIECE_BRANCH, PIECE_END };

/* A stretch of the program in order.  PIECE_BRANCH opens a branch loop whose
 * body are the pieces up to its PIECE_END. */
struct piece {
  enum piece_kind kind;
  int start, length; /* bundles of the schedule */
  int trips;
};

struct folder {
  const struct schedule *s;
  uint64_t *hash;
  int piece_count;
  struct piece piece[MAX_PIECES];
  struct diag *diag;
  struct arena *arena;
};

struct repeat {
  int start, length, trips;
};

static uint64_t hash_bundle(const struct isa_bundle *b) {
  uint64_t h = 1469598103934665603u;
  for (int i = 0; i < SLOT_COUNT; i++) {
    const struct isa_op *op = &b->slot[i];
    h = (h ^ op->id) * 1099511628211u;
    for (int j = 0; op->id && j < isa_insn(op->id)->operand_count; j++)
      h = (h ^ (uint64_t)op->operand[j]) * 1099511628211u;
  }
  return h;
}

static bool bundle_equal(const struct isa_bundle *a,
                         const struct isa_bundle *b) {
  for (int i = 0; i < SLOT_COUNT; i++) {
    if (a->slot[i].id != b->slot[i].id)
      return false;
    for (int j = 0; a->slot[i].id && j < isa_insn(a->slot[i].id)->operand_count;
         j++)
      if (a->slot[i].operand[j] != b->slot[i].operand[j])
        return false;
  }
  return true;
}

static bool equal(const struct folder *f, int i, int j) {
  return f->hash[i] == f->hash[j] &&
         bundle_equal(&f->s->bundle[i], &f->s->bundle[j]);
}

/* Bundles in [from, to) that can take an operation in the long slot. */
static int free_long(const struct folder *f, int from, int to) {
  int n = 0;
  for (int i = from; i < to; i++) {
    const struct isa_bundle *b = &f->s->bundle[i];
    n += !b->slot[SLOT_ALU].id && !b->slot[SLOT_MV].id && !b->slot[SLOT_LNG].id;
  }
  return n;
}

/* The last bundle before which a hardware loop's set-up has to stand. */
static int setup_end(const struct repeat *r) {
  int by_end = r->start + r->length - SETUP_AHEAD;
  int by_start = r->start - 4; /* facts D7: 64 bytes before ls */
  return by_end < by_start ? by_end : by_start;
}

/* The first of the last bundles before `end` that take `ops` long operations.
 */
static int setup_start(const struct folder *f, int from, int end, int ops) {
  int i = end;
  while (i > from && free_long(f, i, end) < ops)
    i--;
  return i;
}

/* The repetition in [from, to) that saves most and leaves room for its set-up.
 */
static struct repeat find_repeat(const struct folder *f, int from, int to) {
  struct repeat best = {0};
  int best_saving = MIN_SAVING - 1;
  for (int length = MIN_BODY; 2 * length <= to - from; length++) {
    int run = 0;
    for (int i = to - length - 1; i >= from - 1; i--) {
      if (i >= from && equal(f, i, i + length)) {
        run++;
        continue;
      }
      /* bundles i+1 .. i+run+length repeat */
      struct repeat r = {i + 1, length, run / length + 1};
      int slack = run % length;
      run = 0;
      if ((r.trips - 1) * length <= best_saving)
        continue;
      while (slack && free_long(f, from, setup_end(&r)) < SETUP_OPS)
        r.start++, slack--;
      if (free_long(f, from, setup_end(&r)) < SETUP_OPS && --r.trips > 1) {
        slack = length;
        while (slack && free_long(f, from, setup_end(&r)) < SETUP_OPS)
          r.start++, slack--;
      }
      if (r.trips < 2 || (r.trips - 1) * length <= best_saving ||
          free_long(f, from, setup_end(&r)) < SETUP_OPS)
        continue;
      best = r;
      best_saving = (r.trips - 1) * length;
    }
  }
  return best;
}

static void add_piece(struct folder *f, enum piece_kind kind, int start,
                      int length, int trips) {
  if (f->piece_count == MAX_PIECES) {
    diag_error(f->diag, loc_none(), "the kernel has more than %d loops",
               MAX_PIECES);
    return;
  }
  f->piece[f->piece_count++] = (struct piece){kind, start, length, trips};
}

/* Hardware loops in [from, to), which is straight-line code. */
static void fold_hardware(struct folder *f, int from, int to) {
  struct repeat r = find_repeat(f, from, to);
  if (!r.trips) {
    add_piece(f, PIECE_PLAIN, from, to - from, 1);
    return;
  }
  int setup = setup_start(f, from, setup_end(&r), SETUP_OPS);
  if (setup > from)
    fold_hardware(f, from, setup);
  add_piece(f, PIECE_PLAIN, setup, r.start - setup, 1);
  add_piece(f, PIECE_HARDWARE, r.start, r.length, r.trips);
  int end = r.start + r.length * r.trips;
  if (end < to)
    fold_hardware(f, end, to);
}

/* The repetition that saves most, whatever comes before it; *slack is how many
 * bundles later it may start as well. */
static struct repeat find_any_repeat(const struct folder *f, int *slack) {
  struct repeat best = {0};
  int best_saving = MIN_SAVING - 1;
  for (int length = MIN_BODY; 2 * length <= f->s->count; length++) {
    int run = 0;
    for (int i = f->s->count - length - 1; i >= -1; i--) {
      if (i >= 0 && equal(f, i, i + length)) {
        run++;
        continue;
      }
      int trips = run / length + 1;
      if ((trips - 1) * length > best_saving) {
        best = (struct repeat){i + 1, length, trips};
        best_saving = (trips - 1) * length;
        *slack = run % length;
      }
      run = 0;
    }
  }
  return best;
}

static int piece_bundles(const struct folder *f);

/* The large loop as a branch with hardware loops inside; false: impossible. */
static bool fold_branch_at(struct folder *f, const struct repeat *r) {
  const struct schedule *s = f->s;
  int end = r->start + r->length, branch = end - BRANCH_SLOTS;
  const struct isa_bundle *b = &s->bundle[branch];
  int setup = setup_start(f, 0, r->start, BRANCH_OPS);
  if (r->length < 2 * BRANCH_SLOTS || b->slot[SLOT_ALU].id ||
      b->slot[SLOT_LNG].id || free_long(f, setup, r->start) < BRANCH_OPS)
    return false;
  f->piece_count = 0;
  if (setup)
    fold_hardware(f, 0, setup);
  add_piece(f, PIECE_PLAIN, setup, r->start - setup, 1);
  add_piece(f, PIECE_BRANCH, r->start, 0, r->trips);
  fold_hardware(f, r->start, branch);
  add_piece(f, PIECE_PLAIN, branch, BRANCH_SLOTS, 1);
  add_piece(f, PIECE_END, end, 0, r->trips);
  end = r->start + r->length * r->trips;
  if (end < s->count)
    fold_hardware(f, end, s->count);
  return true;
}

/* Tries starting points and keeps the smallest program. */
static void fold_branch(struct folder *f) {
  int slack = 0;
  struct repeat r = find_any_repeat(f, &slack);
  if (!r.trips)
    return;
  struct folder best = *f;
  int step = slack / BRANCH_TRIES + 1;
  for (; slack >= 0; slack -= step, r.start += step)
    if (fold_branch_at(f, &r) && piece_bundles(f) < piece_bundles(&best))
      best = *f;
  *f = best;
}

static int piece_bundles(const struct folder *f) {
  int n = 0;
  for (int i = 0; i < f->piece_count; i++)
    n += f->piece[i].length;
  return n;
}

/* ---- emission ---- */

struct emitter {
  struct arena *arena;
  struct asm_program *program;
  struct diag *diag;
  const char *name;
  int loops;
};

static struct asm_line *add_line(struct emitter *e, enum asm_line_kind kind) {
  struct asm_program *p = e->program;
  if (p->count == p->capacity) {
    p->capacity = p->capacity ? 2 * p->capacity : 256;
    p->line =
        arena_copy(e->arena, p->line, p->count, p->capacity, sizeof *p->line);
  }
  struct asm_line *l = &p->line[p->count++];
  *l = (struct asm_line){.kind = kind};
  return l;
}

static void add_text(struct emitter *e, enum asm_line_kind kind,
                     const char *text) {
  add_line(e, kind)->text = text;
}

static int reg_named(const char *name) {
  return isa_reg_find(name, strlen(name));
}

/* Puts `reg <- symbol + addend` or `reg <- value` into the long slot. */
static void set_long(struct emitter *e, struct asm_line *l, const char *reg,
                     const char *symbol, int64_t value) {
  struct isa_op *op = &l->bundle.slot[SLOT_LNG];
  assert(!op->id && !l->bundle.slot[SLOT_ALU].id &&
         !l->bundle.slot[SLOT_MV].id);
  *op = (struct isa_op){INSN_MOVXM, {reg_named(reg), symbol ? 0 : value}};
  if (symbol) {
    l->reference = arena_array(e->arena, 1, sizeof *l->reference);
    l->reference_count = 1;
    *l->reference = (struct asm_reference){SLOT_LNG, 1, symbol, 0};
  }
}

static bool long_free(const struct asm_line *l) {
  const struct isa_bundle *b = &l->bundle;
  return l->kind == ASM_BUNDLE && !b->slot[SLOT_ALU].id &&
         !b->slot[SLOT_MV].id && !b->slot[SLOT_LNG].id;
}

/* reg <- symbol, or value if there is none. */
struct setting {
  const char *reg, *symbol;
  int64_t value;
};

/* The settings go into the last free bundles that stand in lines from `first`
 * on and at least `ahead` bundles before what comes next. */
static void add_settings(struct emitter *e, const struct setting *setting,
                         int count, int first, int ahead) {
  struct asm_program *a = e->program;
  int i = a->count - 1;
  for (int passed = 0; i >= first && passed < ahead; i--)
    passed += a->line[i].kind == ASM_BUNDLE;
  int done = 0;
  for (; i >= first && done < count; i--)
    if (long_free(&a->line[i])) {
      set_long(e, &a->line[i], setting[done].reg, setting[done].symbol,
               setting[done].value);
      done++;
    }
  assert(done == count);
}

static void emit_bundles(struct emitter *e, const struct schedule *s, int start,
                         int length) {
  for (int i = start; i < start + length; i++) {
    struct asm_line *l = add_line(e, ASM_BUNDLE);
    l->bundle = s->bundle[i];
    l->comment = s->note[i];
    l->full = true;
  }
}

static void emit_hardware(struct emitter *e, const struct schedule *s,
                          const struct piece *p, int first) {
  int n = e->loops++;
  const char *start = arena_printf(e->arena, ".L%s_loop%d", e->name, n);
  const char *end = arena_printf(e->arena, ".L%s_last%d", e->name, n);
  int ahead = -setup_end(&(struct repeat){0, p->length, p->trips});
  const struct setting setting[SETUP_OPS] = {
      {"lc", NULL, p->trips}, {"le", end, 0}, {"ls", start, 0}};
  add_settings(e, setting, SETUP_OPS, first, ahead);
  add_text(e, ASM_COMMENT,
           arena_printf(e->arena, "loop %d: %d trips of %d bundles", n,
                        p->trips, p->length));
  add_text(e, ASM_LABEL, start);
  emit_bundles(e, s, p->start, p->length - 1);
  add_text(e, ASM_LABEL, end);
  emit_bundles(e, s, p->start + p->length - 1, 1);
}

/* Counter r1 and target p4: the streams use neither. */
static void emit_branch(struct emitter *e, const struct piece *p, int first) {
  const char *start = arena_printf(e->arena, ".L%s_blocks", e->name);
  const struct setting setting[BRANCH_OPS] = {{"r1", NULL, p->trips - 1},
                                              {"p4", start, 0}};
  add_settings(e, setting, BRANCH_OPS, first, 0);
  add_text(e, ASM_COMMENT,
           arena_printf(e->arena, "branch loop: %d trips", p->trips));
  add_text(e, ASM_LABEL, start);
}

static void emit_branch_end(struct emitter *e) {
  struct asm_line *l = &e->program->line[e->program->count - BRANCH_SLOTS];
  int r1 = reg_named("r1");
  l->bundle.slot[SLOT_ALU] =
      (struct isa_op){INSN_JNZD, {r1, r1, reg_named("p4")}};
  l->comment = "five delay slots follow";
  add_text(e, ASM_COMMENT, "after the branch loop");
}

static void emit(struct emitter *e, const struct folder *f) {
  int first = 0; /* lines from here on may take a loop's set-up */
  for (int i = 0; i < f->piece_count; i++) {
    const struct piece *p = &f->piece[i];
    switch (p->kind) {
    case PIECE_PLAIN:
      emit_bundles(e, f->s, p->start, p->length);
      continue;
    case PIECE_HARDWARE:
      emit_hardware(e, f->s, p, first);
      add_text(e, ASM_COMMENT,
               arena_printf(e->arena, "after loop %d", e->loops - 1));
      break;
    case PIECE_BRANCH:
      emit_branch(e, p, first);
      break;
    case PIECE_END:
      emit_branch_end(e);
      break;
    }
    first = e->program->count;
  }
}

struct asm_program *fold_program(struct arena *a, const char *name,
                                 const char *const *heading, int heading_count,
                                 const struct schedule *s, struct diag *d) {
  struct folder f = {.s = s, .diag = d, .arena = a};
  f.hash = arena_array(a, s->count, sizeof *f.hash);
  for (int i = 0; i < s->count; i++)
    f.hash[i] = hash_bundle(&s->bundle[i]);
  fold_hardware(&f, 0, s->count);
  if (d->kind != DIAG_NONE)
    return NULL;
  if (FULL * piece_bundles(&f) > WANTED_BYTES)
    fold_branch(&f);
  int bytes = FULL * piece_bundles(&f);
  if (bytes > PROGRAM_BYTES) {
    diag_error(d, loc_none(),
               "kernel %s takes %d bytes of program memory; the limit is %d",
               name, bytes, PROGRAM_BYTES);
    return NULL;
  }
  struct emitter e = {.arena = a,
                      .program = arena_alloc(a, sizeof *e.program),
                      .diag = d,
                      .name = name};
  for (int i = 0; i < heading_count; i++)
    add_text(&e, ASM_COMMENT, heading[i]);
  add_text(&e, ASM_COMMENT,
           arena_printf(a, "%d bundles from the first to the last", s->count));
  add_text(&e, ASM_DIRECTIVE, arena_printf(a, ".globl %s", name));
  add_text(&e, ASM_DIRECTIVE, ".p2align 4");
  add_text(&e, ASM_LABEL, name);
  emit(&e, &f);
  return e.program;
}
