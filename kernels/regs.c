/* regs.c -- address registers: plain offsets become post-incremented pointers.
 *
 * Every stream walks its tensor through one pointer.  The step from an access
 * to the next is written into the access itself:
 *
 *   - a step that the immediate field holds costs nothing;
 *   - another constant step lives in a modifier register m;
 *   - the step at the end of a C block differs at the end of a row of blocks.
 *     That pattern (the same step `size` times, then another one) is what a
 *     2-D register d counts by itself (isa.md C1), so no instruction of the
 *     steady state computes an address.
 *
 * d(i) contains m(i), so there are eight places, each for one modifier or one
 * pattern.  They are a cache: what a kernel with many kinds of blocks does not
 * need for the longest time makes room (Belady's rule, as the whole future is
 * known), except for patterns in use, whose count would be lost.  Where steps
 * still in use do not all fit, one place is shared by those that come late, if
 * there is one that of steps out of products, which are rare: Belady's rule
 * would let all places take turns, and blocks would no longer repeat.  The
 writes of a place stand right before its first use; sched.c
 * moves them ahead.
 *

 * Accesses whose form is chosen already are left alone; they move the pointer
 * by what they say (gemm_fifo.c).
 *
 * The access after a stream's last one does not exist; its step repeats the
 * form of its likes, so that the end of the trace looks like its middle.
 */
#include "kernel_trace.h"

#include <limits.h>
#include <string.h>

enum { PLACES = 8, MOST_RARE = 2, MAX_KEYS = 64 };
enum step_kind { STEP_IMMEDIATE, STEP_CONSTANT, STEP_REGISTER, STEP_PATTERN };

/* The 2-D pattern of a stream's block ends in one region. */
struct pattern {
  int stream;
  int64_t step, wrap;
  int size; /* how often `step` comes before `wrap` */
  int done; /* steps since the count was zero, and the last of them */
  int last;
};

struct step {
  enum step_kind kind;
  int64_t value; /* bytes, the register that holds them, the pattern's number */
  int next_use;  /* trace index of the next operation with this step */
  bool reset;    /* a pattern whose count has to be zero for the next use */
  bool leaves;   /* out of a product: rare */
};

struct place {
  bool taken, shared; /* shared: was taken from a step still in use */
  enum step_kind kind;
  int64_t value;
  int next_use;
};

struct addresser {
  struct trace *t;
  struct trace out;
  struct step *step; /* per operation of t */
  int pattern_count;
  struct pattern pattern[MAX_KEYS];
  int places, rare; /* for steps in general, for those out of products */
  struct place place[PLACES];
};

/* Where the pointer stands among a form's operands: behind the data, and
 * behind the shift register of converting forms.  The step follows it. */
static int pointer_operand(const struct isa *isa, enum insn_id id) {
  static const char pointer[] = "ptr";
  const struct insn *insn = isa_insn(isa, id);
  int i = 0;
  while (strcmp(insn->operand[i].name, pointer) != 0)
    i++;
  return i;
}

static bool immediate_holds(const struct trace *t, enum mem_kind mem,
                            int64_t step) {
  if (mem == MEM_NONE)
    return true;
  enum insn_id id = t->machine->form[mem].immediate;
  const struct insn *insn = isa_insn(t->isa, id);
  const struct isa_class *c = isa_class(
      t->isa, insn->operand[pointer_operand(t->isa, id) + 1].operand_class);
  return step >= c->low && step <= c->high && step % c->scale == 0;
}

static enum insn_id form_of(const struct trace *t, enum mem_kind mem,
                            enum step_kind kind) {
  const struct mem_form *f = &t->machine->form[mem];
  return kind == STEP_IMMEDIATE ? f->immediate
         : kind == STEP_PATTERN ? f->two_d
                                : f->modifier;
}

static void set_form(const struct trace *t, struct trace_op *o, int pointer,
                     enum step_kind kind, int64_t step) {
  o->op.id = form_of(t, o->mem, kind);
  o->other = form_of(t, o->other_mem, kind);
  int at = pointer_operand(t->isa, o->op.id);
  o->op.operand[at] = pointer;
  o->op.operand[at + 1] = step;
}

/* ---- which step follows each access ---- */

/* Indices of a stream's operations in order. */
static int *stream_ops(const struct trace *t, int stream, int *count) {
  int *index = arena_array(t->arena, t->count, sizeof *index);
  *count = 0;
  for (int i = 0; i < t->count; i++)
    if (t->op[i].stream == stream && t->op[i].mem)
      index[(*count)++] = i;
  return index;
}

static int64_t distance(const struct trace *t, const int *index, int i) {
  return t->op[index[i + 1]].offset - t->op[index[i]].offset;
}

/* Block ends index[end[0..n)] of one region follow a 2-D pattern. */
static bool find_pattern(const struct trace *t, const int *index,
                         const int *end, int n, struct pattern *p) {
  *p = (struct pattern){.stream = t->op[index[end[0]]].stream,
                        .step = distance(t, index, end[0])};
  while (p->size < n && distance(t, index, end[p->size]) == p->step)
    p->size++;
  if (p->size == n)
    return false; /* one step only */
  p->wrap = distance(t, index, end[p->size]);
  for (int i = 0; i < n; i++)
    if (distance(t, index, end[i]) !=
        ((i + 1) % (p->size + 1) ? p->step : p->wrap))
      return false;
  return true;
}

static void set_constant(struct addresser *s, int op, int64_t step) {
  struct trace_op *o = &s->t->op[op];
  bool fits = immediate_holds(s->t, o->mem, step);
  if (fits && !immediate_holds(s->t, o->other_mem, step))
    o->other_mem = MEM_NONE; /* not worth a register */
  s->step[op] = (struct step){.kind = fits ? STEP_IMMEDIATE : STEP_CONSTANT,
                              .value = step};
}

/* The number of the stream's pattern that is equal, or of a new one; -1: there
 * are too many. */
static int add_pattern(struct addresser *s, const struct pattern *p) {
  for (int i = 0; i < s->pattern_count; i++) {
    const struct pattern *q = &s->pattern[i];
    if (q->stream == p->stream && q->step == p->step && q->wrap == p->wrap &&
        q->size == p->size)
      return i;
  }
  if (s->pattern_count == MAX_KEYS)
    return -1;
  s->pattern[s->pattern_count] = *p;
  return s->pattern_count++;
}

/* Pattern steps at end[0..n). */
static void step_pattern(struct addresser *s, int pattern, const int *index,
                         const int *end, int n) {
  struct pattern *p = &s->pattern[pattern];
  if (p->done)
    s->step[p->last].reset = true;
  for (int i = 0; i < n; i++)
    s->step[index[end[i]]] =
        (struct step){.kind = STEP_PATTERN, .value = pattern};
  p->done = n % (p->size + 1);
  p->last = index[end[n - 1]];
}

/* Steps at the block ends end[0..n) of a region; `final` if the last of them
 * is the stream's last access. */
static void step_region(struct addresser *s, const int *index, const int *end,
                        int n, bool final) {
  struct pattern p;
  int known = n - 1; /* the last one leads out of the region */
  int pattern = known > 0 && find_pattern(s->t, index, end, known, &p)
                    ? add_pattern(s, &p)
                    : -1;
  const struct trace_op *out = &s->t->op[index[end[n - 1]]];
  final = final && out->way < 0;
  if (pattern >= 0)
    step_pattern(s, pattern, index, end, final ? n : known);
  for (int i = 0; i < n; i++) {
    bool last = i == n - 1;
    if (last && out->way >= 0)
      s->step[index[end[i]]] =
          (struct step){.kind = STEP_REGISTER, .value = out->way};
    else if (pattern >= 0 && (!last || final))
      continue;
    else if (last && final)
      set_constant(s, index[end[i]], known ? distance(s->t, index, end[0]) : 0);
    else
      set_constant(s, index[end[i]], distance(s->t, index, end[i]));
  }
  struct step *last = &s->step[index[end[n - 1]]];
  last->leaves = out->leaves && last->kind != STEP_PATTERN;
}

static void step_stream(struct addresser *s, int stream) {
  const struct trace *t = s->t;
  int count, ends = 0;
  int *index = stream_ops(t, stream, &count);
  int *end = arena_array(t->arena, count + 1, sizeof *end);
  for (int i = 0; i < count; i++) {
    const struct trace_op *o = &t->op[index[i]];
    if (!o->boundary) {
      /* the last access repeats the one before it */
      int from = i + 1 < count ? i : i - 1;
      set_constant(s, index[i], from < 0 ? 0 : distance(t, index, from));
      continue;
    }
    if (ends && t->op[index[end[0]]].region != o->region) {
      step_region(s, index, end, ends, false);
      ends = 0;
    }
    end[ends++] = i;
  }
  if (ends)
    step_region(s, index, end, ends, true);
}

/* ---- which register holds it ---- */

/* Gives how many steps are not rare. */
static int find_next_uses(struct addresser *s) {
  struct {
    struct step key;
    int use;
  } seen[MAX_KEYS];
  int count = 0;
  for (int i = s->t->count - 1; i >= 0; i--) {
    struct step *step = &s->step[i];
    step->next_use = INT_MAX;
    if (s->t->op[i].stream < 0 || step->kind == STEP_IMMEDIATE || step->leaves)
      continue;
    int j = 0;
    while (j < count &&
           (seen[j].key.kind != step->kind || seen[j].key.value != step->value))
      j++;
    if (j < count)
      step->next_use = seen[j].use;
    if (j == count && count < MAX_KEYS)
      seen[count++].key = *step;
    if (j < MAX_KEYS)
      seen[j].use = i;
  }
  return count;
}

/* Steps out of products are written each time, by turns into two places; into
 * one if the others would not have enough. */
static void share_places(struct addresser *s, int steps) {
  bool leaves = false;
  for (int i = 0; i < s->t->count; i++)
    leaves |= s->t->op[i].leaves;
  s->rare = steps > PLACES - MOST_RARE ? 1 : MOST_RARE;
  s->places = leaves ? PLACES - s->rare : PLACES;
}

/* -1: none. */
static int choose_place(struct addresser *s, const struct step *step) {
  int best = -1, shared = -1;
  for (int i = 0; i < s->places; i++) {
    const struct place *p = &s->place[i];
    if (!p->taken)
      return i;
    if (p->kind == STEP_PATTERN && p->next_use != INT_MAX)
      continue;
    if (best < 0 || p->next_use > s->place[best].next_use)
      best = i;
    if (p->shared)
      shared = i;
  }
  if (best >= 0 && s->place[best].next_use == INT_MAX)
    return best;
  if (step->kind == STEP_CONSTANT && s->places < PLACES)
    return best >= 0 && s->place[best].next_use > step->next_use ? best
                                                                 : PLACES - 1;
  if (best < 0)
    return best;
  best = shared < 0 ? best : shared;
  s->place[best].shared = true;
  return best;
}

static void write_place(struct addresser *s, int i, const struct step *step) {
  if (step->kind == STEP_CONSTANT) {
    kernel_trace_constant(&s->out, kernel_trace_reg(&s->out, "m%d", i),
                          step->value);
    return;
  }
  if (step->kind == STEP_REGISTER) {
    kernel_trace_add(
        &s->out, s->t->machine->insn[KERNEL_MOVE], 2,
        (int64_t[]){kernel_trace_reg(&s->out, "m%d", i), step->value});
    return;
  }
  const struct pattern *p = &s->pattern[step->value];
  kernel_trace_constant(&s->out, kernel_trace_reg(&s->out, "dj%d", i), p->step);
  kernel_trace_constant(&s->out, kernel_trace_reg(&s->out, "dn%d", i), p->size);
  kernel_trace_constant(&s->out, kernel_trace_reg(&s->out, "dc%d", i), 0);
  kernel_trace_constant(&s->out, kernel_trace_reg(&s->out, "m%d", i), p->wrap);
}

/* The place that holds the step, written if it is not there yet; -1: none. */
static int find_place(struct addresser *s, const struct step *step) {
  int i = 0;
  while (i < PLACES && (!s->place[i].taken || s->place[i].kind != step->kind ||
                        s->place[i].value != step->value))
    i++;
  if (i == PLACES) {
    i = choose_place(s, step);
    if (i < 0)
      return -1;
    write_place(s, i, step);
  }
  s->place[i] = (struct place){true, s->place[i].shared, step->kind,
                               step->value, step->next_use};
  return i;
}

static bool address(struct addresser *s, struct trace_op *o,
                    const struct step *step) {
  int pointer = s->t->stream[o->stream].pointer;
  if (step->kind == STEP_IMMEDIATE) {
    set_form(s->t, o, pointer, STEP_IMMEDIATE, step->value);
    return true;
  }
  if (step->leaves) {
    int place = PLACES - 1 - o->stream % s->rare;
    s->place[place].taken = false;
    write_place(s, place, step);
    set_form(s->t, o, pointer, step->kind,
             kernel_trace_reg(&s->out, "m%d", place));
    return true;
  }
  int place = find_place(s, step);
  if (place < 0)
    return diag_error(s->t->diag, loc_none(),
                      "the kernel needs more than %d address step registers",
                      PLACES);
  set_form(s->t, o, pointer, step->kind,
           kernel_trace_reg(&s->out, step->kind == STEP_PATTERN ? "d%d" : "m%d",
                            place));
  return true;
}

/* A pattern that was left in its middle starts anew the next time. */
static void reset_count(struct addresser *s, const struct step *step) {
  int i = find_place(s, step);
  kernel_trace_constant(&s->out, kernel_trace_reg(&s->out, "dc%d", i), 0);
}

bool kernel_trace_address(struct trace *t) {
  if (t->diag->kind != DIAG_NONE)
    return false;
  struct addresser s = {
      .t = t, .out = kernel_trace_open(t->machine, t->kept, t->kept, t->diag)};
  s.step = arena_array(t->arena, t->count, sizeof *s.step);
  kernel_trace_reserve(&s.out, t->count + t->count / 16);
  for (int i = 0; i < t->stream_count; i++) {
    step_stream(&s, i);
    if (t->stream[i].start_from != t->stream[i].pointer)
      kernel_trace_add(
          &s.out, t->machine->insn[KERNEL_MOVE], 2,
          (int64_t[]){t->stream[i].pointer, t->stream[i].start_from});
  }
  share_places(&s, find_next_uses(&s));
  for (int i = 0; i < t->count; i++) {
    if (t->op[i].phantom)
      continue;
    if (t->op[i].stream >= 0 && t->op[i].mem &&
        !address(&s, &t->op[i], &s.step[i]))
      return false;
    *kernel_trace_append(&s.out) = t->op[i];
    if (s.step[i].reset)
      reset_count(&s, &s.step[i]);
  }
  t->op = s.out.op;
  t->count = s.out.count;
  t->capacity = s.out.capacity;
  return true;
}
