/* regs.c -- address registers: plain offsets become post-incremented pointers.
 *
 * Every stream walks its tensor through one pointer.  The step from an access
 * to the next is written into the access itself:
 *
 *   - a step that the immediate field holds costs nothing;
 *   - another constant step lives in a modifier register m;
 *   - the step at the end of a C block differs at the end of a row of blocks.
 *     That pattern (the same step `size` times, then another one) is what a
 *     2-D register d counts by itself (facts C1), so no instruction of the
 *     steady state computes an address.
 *
 * d(i) contains m(i): 2-D registers are taken from 0 up, modifiers from 7
 * down.  The access after the last one does not exist; its step repeats the
 * form of its likes, so that the end of the trace looks like its middle.
 */
#include "trace.h"

#include <assert.h>
#include <string.h>

/* clang-format off */
static const struct mem_form {
  enum insn_id immediate, modifier, two_d;
} form[MEM_KINDS] = {
  [MEM_LDA_W]  = {INSN_VLDA_W_POST,  INSN_VLDA_W_INC,  INSN_VLDA_2D_W},
  [MEM_LDB_W]  = {INSN_VLDB_POST,    INSN_VLDB_INC,    INSN_VLDB_2D},
  [MEM_LDA_AM] = {INSN_VLDA_AM_POST, INSN_VLDA_AM_INC, INSN_VLDA_2D_AM},
  [MEM_ST_AM]  = {INSN_VST_AM_POST,  INSN_VST_AM_INC,  INSN_VST_2D_AM},
  [MEM_ST_W]   = {INSN_VST_W_POST,   INSN_VST_W_INC,   INSN_VST_2D_W},
};
/* clang-format on */

enum { ADDRESS_REGS = 8 };
struct addresser {
  struct trace *t;
  struct trace setup;
  int d_used, m_used;
  int m_reg[ADDRESS_REGS]; /* modifiers in use, from m7 down */
  int64_t m_value[ADDRESS_REGS];
};

/* The steps at the block ends of one stream. */
struct boundary {
  bool any, constant;
  int64_t step; /* the first one */
  int64_t wrap; /* the other one */
  int size;     /* how often `step` comes before `wrap` */
};

static bool immediate_holds(enum mem_kind mem, int64_t step) {
  if (mem == MEM_NONE)
    return true;
  const struct insn *insn = isa_insn(form[mem].immediate);
  const struct isa_class *c = isa_class(insn->operand[2].operand_class);
  return step >= c->low && step <= c->high && step % c->scale == 0;
}

static bool out_of_registers(struct addresser *s) {
  if (s->d_used + s->m_used < ADDRESS_REGS)
    return false;
  diag_error(s->t->diag, loc_none(),
             "the kernel needs more than %d address step registers",
             ADDRESS_REGS);
  return true;
}

/* The modifier register that holds `step`, or -1. */
static int modifier(struct addresser *s, int64_t step) {
  for (int i = 0; i < s->m_used; i++)
    if (s->m_value[i] == step)
      return s->m_reg[i];
  if (out_of_registers(s))
    return -1;
  int reg = trace_reg("m%d", ADDRESS_REGS - 1 - s->m_used);
  s->m_reg[s->m_used] = reg;
  s->m_value[s->m_used++] = step;
  trace_constant(&s->setup, reg, step);
  return reg;
}

static int two_d(struct addresser *s, const struct boundary *b) {
  if (out_of_registers(s))
    return -1;
  int i = s->d_used++;
  trace_constant(&s->setup, trace_reg("dj%d", i), b->step);
  trace_constant(&s->setup, trace_reg("dn%d", i), b->size);
  trace_constant(&s->setup, trace_reg("dc%d", i), 0);
  trace_constant(&s->setup, trace_reg("m%d", i), b->wrap);
  return trace_reg("d%d", i);
}

static void set_form(struct trace_op *o, int pointer, int which, int64_t step) {
  struct isa_op *op[2] = {&o->op, &o->other};
  enum mem_kind mem[2] = {o->mem, o->other_mem};
  int64_t data = o->op.operand[0];
  for (int i = 0; i < 2; i++) {
    const struct mem_form *f = &form[mem[i]];
    if (mem[i] == MEM_NONE)
      continue;
    op[i]->id = which == 0 ? f->immediate : which == 1 ? f->modifier : f->two_d;
    op[i]->operand[0] = data;
    op[i]->operand[1] = pointer;
    op[i]->operand[2] = step;
  }
}

static bool set_step(struct addresser *s, struct trace_op *o, int64_t step) {
  int pointer = s->t->stream[o->stream].pointer;
  if (immediate_holds(o->mem, step)) {
    if (!immediate_holds(o->other_mem, step))
      o->other_mem = MEM_NONE; /* not worth a register */
    set_form(o, pointer, 0, step);
    return true;
  }
  int reg = modifier(s, step);
  set_form(o, pointer, 1, reg);
  return reg >= 0;
}

/* Indices of a stream's operations in order. */
static int *stream_ops(const struct trace *t, int stream, int *count) {
  int *index = arena_array(t->arena, t->count, sizeof *index);
  *count = 0;
  for (int i = 0; i < t->count; i++)
    if (t->op[i].stream == stream)
      index[(*count)++] = i;
  return index;
}

static bool find_boundary(const struct trace *t, const int *index, int count,
                          struct boundary *b) {
  int64_t *step = arena_array(t->arena, count + 1, sizeof *step);
  int steps = 0;
  for (int i = 0; i + 1 < count; i++)
    if (t->op[index[i]].boundary)
      step[steps++] = t->op[index[i + 1]].offset - t->op[index[i]].offset;
  *b = (struct boundary){.any = steps > 0, .constant = true};
  if (!steps)
    return true;
  b->step = step[0];
  while (b->size < steps && step[b->size] == b->step)
    b->size++;
  if (b->size == steps)
    return true;
  b->constant = false;
  b->wrap = step[b->size];
  for (int i = 0; i < steps; i++)
    if (step[i] != ((i + 1) % (b->size + 1) ? b->step : b->wrap))
      return diag_error(t->diag, loc_none(),
                        "a tensor's block steps are no 2-D pattern");
  return true;
}

/* First the steps inside C blocks, then those at their ends: in the order in
 * which a kernel needs the registers. */
static bool address_stream(struct addresser *s, int stream, bool ends) {
  struct trace *t = s->t;
  int count, reg_2d = -1;
  int *index = stream_ops(t, stream, &count);
  struct boundary b;
  if (!find_boundary(t, index, count, &b))
    return false;
  for (int i = 0; i < count; i++) {
    struct trace_op *o = &t->op[index[i]];
    if (o->boundary != ends)
      continue;
    if (o->boundary && !b.constant) {
      if (reg_2d < 0 && (reg_2d = two_d(s, &b)) < 0)
        return false;
      set_form(o, t->stream[stream].pointer, 2, reg_2d);
      continue;
    }
    int next = i + 1 < count ? i : i - 1; /* the last one repeats its like */
    int64_t step =
        o->boundary ? b.step
        : next < 0  ? 0
                    : t->op[index[next + 1]].offset - t->op[index[next]].offset;
    if (!set_step(s, o, step))
      return false;
  }
  return true;
}

bool trace_address(struct trace *t) {
  if (t->diag->kind != DIAG_NONE)
    return false;
  struct addresser s = {.t = t, .setup = trace_open(t->arena, t->diag)};
  for (int i = 0; i < t->stream_count; i++)
    if (t->stream[i].start_from != t->stream[i].pointer)
      trace_add(&s.setup, INSN_MOV, 2,
                (int64_t[]){t->stream[i].pointer, t->stream[i].start_from});
  for (int ends = 0; ends < 2; ends++)
    for (int i = 0; i < t->stream_count; i++)
      if (!address_stream(&s, i, ends))
        return false;
  int count = s.setup.count + t->count;
  struct trace_op *op = arena_array(t->arena, count, sizeof *op);
  memcpy(op, s.setup.op, s.setup.count * sizeof *op);
  memcpy(op + s.setup.count, t->op, t->count * sizeof *op);
  t->op = op;
  t->count = t->capacity = count;
  return true;
}
