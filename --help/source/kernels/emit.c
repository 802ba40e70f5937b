/* emit.c -- a rolled-up schedule -> program text: labels, loop set-up,
 * comments, and the alignment that loops need (isa.md B, D7).
 *
 * The starts of loops and the last bundle of a hardware loop stand at multiples
 * of 16 bytes.  No padding is executed: some bundles before such a place take
 * the 16-byte format instead of their smallest one. */
#include "kernel_fold.h"

#include <assert.h>
#include <string.h>

struct emitter {
  struct arena *arena;
  struct asm_program *program;
  const struct schedule *schedule;
  struct diag *diag;
  const char *name;
  int loops, branches;
  int first_mac, last_mac; /* cycles; -1: no multiply */
  int entry;               /* the function's first line */
  int aligned;             /* the first line behind the last aligned place */
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

static bool multiplies(const struct schedule *s, int cycle) {
  const struct isa_op *op = s->cycle[cycle].slot[SLOT_VEC];
  return op && (isa_insn(s->isa, op->id)->flags & INSN_MAC);
}

/* Where the kernel's first and last multiplies divide it. */
static void add_phase(struct emitter *e, int cycle) {
  if (e->last_mac < 0)
    return;
  if (cycle == e->last_mac + 1)
    add_text(e, ASM_COMMENT, "drain: the last results are stored");
  else if (cycle == e->first_mac)
    add_text(e, ASM_COMMENT, "work: multiplies from here on");
  else if (cycle == 0)
    add_text(e, ASM_COMMENT, "ramp: first operands and address steps");
}

static void add_bundles(struct emitter *e, int start, int length) {
  for (int i = start; i < start + length; i++) {
    add_phase(e, i);
    struct asm_line *l = add_line(e, ASM_BUNDLE);
    l->bundle = kernel_bundle(e->schedule, i);
    l->comment = e->schedule->cycle[i].note;
  }
}

/* ---- alignment ---- */

enum { ALIGN = 16, RESTS = ALIGN / 2 };

/* Makes some of the bundles since the last aligned place full, so that the next
 * line is aligned too, with as few bytes as possible.  Dynamic programming over
 * the sum of the sizes modulo 16. */
static void align(struct emitter *e) {
  enum { NEVER = 1 << 30 };
  struct asm_line *line = e->program->line;
  int from = e->aligned, n = e->program->count - from;
  int(*least)[RESTS] = arena_array(e->arena, n + 1, sizeof *least);
  for (int r = 1; r < RESTS; r++)
    least[0][r] = NEVER;
  for (int i = 0; i < n; i++) {
    const struct asm_line *l = &line[from + i];
    int size = l->kind != ASM_BUNDLE ? 0
               : l->full
                   ? ALIGN
                   : kernel_bundle_bytes(e->program->isa, &l->bundle, e->diag);
    for (int r = 0; r < RESTS; r++) {
      int small = least[i][(r + ALIGN - size / 2) % RESTS] + size;
      int full = size ? least[i][r] + ALIGN : NEVER;
      least[i + 1][r] = small <= full ? small : full;
    }
  }
  for (int i = n - 1, r = 0; i >= 0; i--) {
    struct asm_line *l = &line[from + i];
    if (l->kind != ASM_BUNDLE || l->full)
      continue;
    int size = kernel_bundle_bytes(e->program->isa, &l->bundle, e->diag);
    int small = (r + ALIGN - size / 2) % RESTS;
    if (least[i][small] + size <= least[i][r] + ALIGN)
      r = small;
    else
      l->full = true;
  }
  e->aligned = e->program->count;
}

/* ---- loops ---- */

static enum insn_id insn_of(const struct emitter *e, enum kernel_insn i) {
  return e->schedule->machine->insn[i];
}

static int reg_named(const struct emitter *e, const char *name) {
  return isa_reg_find(e->program->isa, name, strlen(name));
}

/* reg <- symbol, or value if there is none. */
struct setting {
  const char *reg, *symbol;
  int64_t value;
};

/* Into a bundle whose long slot is free.  Small numbers for r take the alu slot
 * only: masks of comparisons come through the other one's write port. */
static void set_long(struct emitter *e, struct asm_line *l,
                     const struct setting *s) {
  enum { MOST_SMALL = 1023 };
  if (s->reg[0] == 'r' && s->value <= MOST_SMALL) {
    l->bundle.slot[SLOT_ALU] = (struct isa_op){
        insn_of(e, KERNEL_CONSTANT_X), {reg_named(e, s->reg), s->value}};
    return;
  }
  l->bundle.slot[SLOT_LNG] =
      (struct isa_op){insn_of(e, KERNEL_CONSTANT_LONG),
                      {reg_named(e, s->reg), s->symbol ? 0 : s->value}};
  if (s->symbol) {
    l->reference = arena_array(e->arena, 1, sizeof *l->reference);
    l->reference_count = 1;
    *l->reference = (struct asm_reference){SLOT_LNG, 1, s->symbol, 0};
  }
}

/* The settings go into the last free bundles among the lines from `first` on
 * and before the last `ahead` bundles. */
static void add_settings(struct emitter *e, const struct setting *setting,
                         int count, int first, int ahead) {
  struct asm_program *a = e->program;
  int i = a->count - 1, done = 0;
  for (; i >= first && ahead > 0; i--)
    ahead -= a->line[i].kind == ASM_BUNDLE;
  for (; i >= first && done < count; i--) {
    struct asm_line *l = &a->line[i];
    if (l->kind == ASM_BUNDLE && kernel_bundle_long_free(&l->bundle))
      set_long(e, l, &setting[done++]);
  }
  if (done < count)
    diag_error(e->diag, loc_none(),
               "kernel %s: no free bundle for a loop's set-up", e->name);
}

static int cycle_bytes(const struct emitter *e, int i) {
  struct isa_bundle b = kernel_bundle(e->schedule, i);
  return kernel_bundle_bytes(e->program->isa, &b, e->diag);
}

/* Bundles that have to stand between a hardware loop's set-up and the loop. */
static int bundles_ahead(const struct emitter *e, const struct piece *p) {
  int to_start = 0, to_end = 0, n = 0;
  for (int i = p->start; i < p->start + p->length - 1; i++)
    to_end += cycle_bytes(e, i);
  /* the set-up's own bundle counts: distances are from its start */
  for (int i = p->start - 1; i >= 0; i--, n++) {
    int size = cycle_bytes(e, i);
    to_start += size;
    to_end += size;
    if (to_start >= FOLD_SETUP_TO_START && to_end >= FOLD_SETUP_TO_END)
      break;
  }
  return n;
}

static void emit_hardware(struct emitter *e, const struct piece *p, int first) {
  int n = e->loops++;
  const char *start = arena_printf(e->arena, ".L%s_loop%d", e->name, n);
  const char *end = arena_printf(e->arena, ".L%s_last%d", e->name, n);
  const struct setting setting[FOLD_SETUP_OPS] = {
      {"lc", NULL, p->trips}, {"le", end, 0}, {"ls", start, 0}};
  if (p->entry)
    for (int i = 0; i < FOLD_SETUP_OPS; i++)
      set_long(e, &e->program->line[e->entry + i], &setting[i]);
  else
    add_settings(e, setting, FOLD_SETUP_OPS, first, bundles_ahead(e, p));
  align(e);
  add_text(e, ASM_COMMENT,
           arena_printf(e->arena,
                        "loop %d: %d times %d bundles, notes of the first", n,
                        p->trips, p->length));
  add_text(e, ASM_LABEL, start);
  add_bundles(e, p->start, p->length - 1);
  align(e);
  add_text(e, ASM_LABEL, end);
  add_bundles(e, p->start + p->length - 1, 1);
  e->program->line[e->program->count - 1].full = true;
  e->aligned = e->program->count;
  add_text(e, ASM_COMMENT, arena_printf(e->arena, "after loop %d", n));
}

/* Counters and targets, which the traces use for nothing else. */
static const struct {
  const char *counter, *target;
} branch_reg[] = {{"r1", "p4"}, {TRACE_TRIPS, "p5"}};

/* Of a loop that the caller counts, the counter is set already. */
static void emit_branch(struct emitter *e, const struct piece *p, int first) {
  const char *start =
      arena_printf(e->arena, ".L%s_blocks%d", e->name, e->branches++);
  const struct setting setting[FOLD_BRANCH_OPS] = {
      {branch_reg[p->outer].counter, NULL, p->trips - 1},
      {branch_reg[p->outer].target, start, 0}};
  bool counted = p->outer && e->schedule->counted;
  add_settings(e, setting + counted, FOLD_BRANCH_OPS - counted, first, 0);
  align(e);
  add_text(e, ASM_COMMENT,
           counted ? "branch loop: r14 + 1 times, notes of the first"
                   : arena_printf(e->arena,
                                  "branch loop: %d times, notes of the first",
                                  p->trips));
  add_text(e, ASM_LABEL, start);
}

static void emit_branch_end(struct emitter *e, const struct piece *p) {
  struct asm_line *l = &e->program->line[e->program->count - FOLD_BRANCH_SLOTS];
  int counter = reg_named(e, branch_reg[p->outer].counter);
  int target = reg_named(e, branch_reg[p->outer].target);
  assert(l->kind == ASM_BUNDLE);
  l->bundle.slot[SLOT_ALU] = (struct isa_op){insn_of(e, KERNEL_COUNT_DOWN),
                                             {counter, counter, target}};
  l->comment = "five delay slots follow";
  add_text(e, ASM_COMMENT, "after the branch loop");
}

static void emit_pieces(struct emitter *e, const struct fold *f) {
  int first = 0; /* lines from here on may take a loop's set-up */
  for (int i = 0; i < f->count; i++) {
    const struct piece *p = &f->piece[i];
    switch (p->kind) {
    case PIECE_PLAIN:
      add_bundles(e, p->start, p->length);
      continue;
    case PIECE_HARDWARE:
      emit_hardware(e, p, first);
      break;
    case PIECE_BRANCH:
      emit_branch(e, p, first);
      break;
    case PIECE_END:
      emit_branch_end(e, p);
      break;
    }
    first = e->program->count;
  }
}

struct asm_program *kernel_fold_emit(struct arena *a, const char *name,
                                     const char *const *heading,
                                     int heading_count,
                                     const struct schedule *s,
                                     const struct fold *f, struct diag *d) {
  struct emitter e = {.arena = a,
                      .program = arena_alloc(a, sizeof *e.program),
                      .schedule = s,
                      .diag = d,
                      .name = name};
  e.program->isa = s->isa;
  e.first_mac = e.last_mac = -1;
  for (int i = 0; i < s->count; i++)
    if (multiplies(s, i)) {
      e.first_mac = e.last_mac < 0 ? i : e.first_mac;
      e.last_mac = i;
    }
  for (int i = 0; i < heading_count; i++)
    add_text(&e, ASM_COMMENT, heading[i]);
  int entry = 0;
  for (int i = 0; i < f->count; i++)
    entry += f->piece[i].entry ? FOLD_SETUP_OPS : 0;
  add_text(
      &e, ASM_COMMENT,
      arena_printf(a, "%d bundles from entry to return", s->count + entry));
  add_text(&e, ASM_DIRECTIVE, arena_printf(a, ".globl %s", name));
  if (s->uses_locks)
    add_text(&e, ASM_DIRECTIVE, ".lockorder 0");
  add_text(&e, ASM_DIRECTIVE, ".p2align 4");
  add_text(&e, ASM_LABEL, name);
  e.entry = e.aligned = e.program->count;
  for (int i = 0; i < entry; i++) /* emit_hardware fills them */
    add_line(&e, ASM_BUNDLE)->bundle.slot[SLOT_LNG].id =
        insn_of(&e, KERNEL_NO_LONG);
  emit_pieces(&e, f);
  return d->kind == DIAG_NONE ? e.program : NULL;
}
