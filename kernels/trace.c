/* trace.c -- building a trace: the list of operations of a kernel's whole run.
 */
#include "kernel_trace.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 256 };
struct trace_name {
  const char *format; /* NULL: none */
  int number, reg;
};

struct trace kernel_trace_open(const struct kernel_machine *m, struct arena *a,
                               struct arena *kept, struct diag *d) {
  return (struct trace){.machine = m,
                        .isa = isa_find(m->isa),
                        .names =
                            arena_array(a, NAMES, sizeof(struct trace_name)),
                        .arena = a,
                        .kept = kept,
                        .diag = d};
}

int kernel_trace_named(const struct trace *t, const char *name) {
  int reg = isa_reg_find(t->isa, name, strlen(name));
  assert(reg >= 0);
  return reg;
}

static int find_reg(const struct isa *isa, const char *format, int number) {
  char name[16];
  int length = snprintf(name, sizeof name, format, number);
  assert(length > 0 && (size_t)length < sizeof name);
  int reg = isa_reg_find(isa, name, (size_t)length);
  assert(reg >= 0);
  return reg;
}

/* A kernel asks for some ten thousand of them, by few formats. */
int kernel_trace_reg(const struct trace *t, const char *format, int number) {
  size_t at = ((uintptr_t)format * 31 + (size_t)number) % NAMES;
  struct trace_name *x = &t->names[at];
  if (x->format != format || x->number != number)
    *x = (struct trace_name){format, number, find_reg(t->isa, format, number)};
  return x->reg;
}

int kernel_trace_stream(struct trace *t, const char *pointer,
                        const char *start_from, int bank) {
  assert(t->stream_count < TRACE_STREAMS);
  t->stream[t->stream_count] =
      (struct trace_stream){kernel_trace_named(t, pointer),
                            kernel_trace_named(t, start_from), bank, -1};
  return t->stream_count++;
}

void kernel_trace_reserve(struct trace *t, int capacity) {
  if (capacity <= t->capacity)
    return;
  t->op = arena_copy(t->arena, t->op, t->count, capacity, sizeof *t->op);
  t->capacity = capacity;
}

struct trace_op *kernel_trace_append(struct trace *t) {
  if (t->count == t->capacity)
    kernel_trace_reserve(t, t->capacity ? 2 * t->capacity : 1024);
  struct trace_op *o = &t->op[t->count++];
  *o = (struct trace_op){
      .stream = -1, .way = -1, .acquires = -1, .releases = -1};
  return o;
}

struct trace_op *kernel_trace_add(struct trace *t, enum insn_id id,
                                  int operand_count, const int64_t *operand) {
  struct trace_op *o = kernel_trace_append(t);
  o->op.id = id;
  memcpy(o->op.operand, operand, operand_count * sizeof *operand);
  if (isa_insn(t->isa, id)->flags & INSN_MAC)
    t->mac_count++;
  return o;
}

struct trace_op *kernel_trace_memory(struct trace *t, enum mem_kind mem,
                                     int reg, int stream, int64_t offset) {
  struct trace_op *o = kernel_trace_append(t);
  o->mem = mem;
  o->stream = stream;
  o->offset = offset;
  o->op.operand[0] = reg;
  return o;
}

static bool fits(const struct trace *t, enum insn_id id, int reg,
                 int64_t value) {
  const struct insn *insn = isa_insn(t->isa, id);
  const struct isa_class *c = isa_class(t->isa, insn->operand[1].operand_class);
  return isa_class_has(t->isa, insn->operand[0].operand_class, reg) &&
         value >= c->low && value <= c->high;
}

void kernel_trace_constant(struct trace *t, int reg, int64_t value) {
  const enum insn_id *insn = t->machine->insn;
  enum insn_id id = insn[KERNEL_CONSTANT_X];
  if (!fits(t, id, reg, value))
    id = insn[KERNEL_CONSTANT_M];
  if (!fits(t, id, reg, value))
    id = insn[KERNEL_CONSTANT_LONG];
  assert(fits(t, id, reg, value));
  kernel_trace_add(t, id, 2, (int64_t[]){reg, value});
}

/* Values of crRnd and crSat (isa.md E3, A3). */
static const int rounding_value[KERNEL_ROUNDINGS] = {12, 13, 8, 9, 10,
                                                     11, 0,  1, 2, 3};
static const int saturation_value[] = {1, 3, 0};

void kernel_trace_narrowing(struct trace *t, enum mem_kind store,
                            enum kernel_rounding rounding,
                            enum kernel_saturation saturation, int shift,
                            int shift_reg) {
  if (store == MEM_ST_AM)
    return;
  kernel_trace_constant(t, kernel_trace_named(t, t->machine->rounding),
                        rounding_value[rounding]);
  if (store == MEM_ST_CONV)
    return;
  kernel_trace_constant(t, shift_reg, shift);
  kernel_trace_constant(t, kernel_trace_named(t, t->machine->saturation),
                        saturation_value[saturation]);
  if (t->machine->srs_sign) /* of .d forms: unsigned */
    kernel_trace_constant(t, kernel_trace_named(t, t->machine->srs_sign), 0);
}

/* r16, which takes the mask of the comparison, is the caller's (kernels.h) and
 * waits in r8. */
void kernel_trace_relu_open(struct trace *t, int zero) {
  int64_t number = kernel_trace_named(t, "r4");
  kernel_trace_add(
      t, t->machine->insn[KERNEL_MOVE], 2,
      (int64_t[]){kernel_trace_named(t, "r8"), kernel_trace_named(t, "r16")});
  kernel_trace_constant(t, (int)number, 0);
  kernel_trace_add(t, t->machine->insn[KERNEL_BROADCAST], 2,
                   (int64_t[]){kernel_trace_reg(t, "x%d", zero), number});
}

/* Before narrowing, which keeps the sign.  Floats compare as integers.
 * Accumulators have no maximum, so they pass through a vector register. */
void kernel_trace_relu_to(struct trace *t, int64_t half, int x, int zero) {
  int64_t temp = kernel_trace_reg(t, "x%d", x);
  kernel_trace_add(t, t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){temp, half});
  kernel_trace_add(t, t->machine->insn[KERNEL_MAX_32], 4,
                   (int64_t[]){temp, kernel_trace_named(t, "r16"), temp,
                               kernel_trace_reg(t, "x%d", zero)});
}

void kernel_trace_relu(struct trace *t, int64_t half, int x, int zero) {
  kernel_trace_relu_to(t, half, x, zero);
  kernel_trace_add(t, t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){half, kernel_trace_reg(t, "x%d", x)});
}

/* What is no NaN and above zero has bits from 1 to those of infinity; what is
 * below zero and no NaN has, as a signed number, those below 0xff800001. */
void kernel_trace_relu_open_float(struct trace *t, int zero, int bound,
                                  bool keeps_nan) {
  int64_t number = kernel_trace_named(t, "r4");
  kernel_trace_relu_open(t, zero);
  kernel_trace_constant(t, (int)number, keeps_nan ? -0x7fffff : 0x7f800001);
  kernel_trace_add(t, t->machine->insn[KERNEL_BROADCAST], 2,
                   (int64_t[]){kernel_trace_reg(t, "x%d", bound), number});
}

void kernel_trace_relu_float(struct trace *t, int64_t half, int x, int zero,
                             int bound, bool keeps_nan) {
  int64_t temp = kernel_trace_reg(t, "x%d", x),
          mask = kernel_trace_named(t, "r16");
  kernel_trace_add(t, t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){temp, half});
  const enum insn_id *insn = t->machine->insn;
  kernel_trace_add(t, insn[keeps_nan ? KERNEL_LESS_32 : KERNEL_REACHES_32], 3,
                   (int64_t[]){mask, temp, kernel_trace_reg(t, "x%d", bound)});
  kernel_trace_add(
      t, insn[KERNEL_SELECT_32], 4,
      (int64_t[]){temp, temp, kernel_trace_reg(t, "x%d", zero), mask});
  kernel_trace_add(t, t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){half, temp});
}

#define RELU_ODD "r27"   /* 0xaaaa */
#define RELU_RIGHT "r28" /* -1: shifts to the right by one */

void kernel_trace_relu_open_wide(struct trace *t, int zero) {
  kernel_trace_relu_open(t, zero);
  kernel_trace_constant(t, kernel_trace_named(t, RELU_ODD), 0xaaaa);
  kernel_trace_constant(t, kernel_trace_named(t, RELU_RIGHT), -1);
}

/* Lanes of 64 bits: what is negative shows in the odd lanes of 32; r16 says so
 * for its even neighbours, too. */
void kernel_trace_relu_wide(struct trace *t, int64_t half, int x, int zero) {
  int64_t temp = kernel_trace_reg(t, "x%d", x),
          mask = kernel_trace_named(t, "r16"),
          nothing = kernel_trace_reg(t, "x%d", zero),
          odd = kernel_trace_named(t, RELU_ODD),
          right = kernel_trace_named(t, RELU_RIGHT),
          even = kernel_trace_named(t, "r25");
  kernel_trace_add(t, t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){temp, half});
  kernel_trace_add(t, INSN_VLT_S32, 3, (int64_t[]){mask, temp, nothing});
  kernel_trace_add(t, INSN_AND, 3, (int64_t[]){mask, mask, odd});
  kernel_trace_add(t, INSN_LSHL, 3, (int64_t[]){even, mask, right});
  kernel_trace_add(t, INSN_OR, 3, (int64_t[]){mask, mask, even});
  kernel_trace_add(t, INSN_VSEL_32, 4, (int64_t[]){temp, temp, nothing, mask});
  kernel_trace_add(t, t->machine->insn[KERNEL_MOVE_VECTOR], 2,
                   (int64_t[]){half, temp});
}

void kernel_trace_relu_close(struct trace *t) {
  kernel_trace_add(
      t, t->machine->insn[KERNEL_MOVE], 2,
      (int64_t[]){kernel_trace_named(t, "r16"), kernel_trace_named(t, "r8")});
}
