/* calc.c -- element-wise expressions as trees: building, checking, printing. */
#include "calc.h"

static const struct {
  const char *name;
  int operands;
} row[CALC_OPS] = {
    {"", 0}, /* INPUT */
#define CALC(id, name, operands) {name, operands},
#include "calc.def"
#undef CALC
};

const char *calc_name(enum calc_op op) { return row[op].name; }
int calc_operands(enum calc_op op) { return row[op].operands; }

struct calc *calc_input(struct arena *a, int input, enum dtype type) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_INPUT, .type = type, .input = input};
  return c;
}

struct calc *calc_float(struct arena *a, enum dtype type, double number) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_NUMBER, .type = type, .number = number};
  return c;
}

struct calc *calc_int(struct arena *a, enum dtype type, int64_t integer) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_NUMBER, .type = type, .integer = integer};
  return c;
}

struct calc *calc_cast(struct arena *a, enum dtype type, const struct calc *x) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_CAST, .type = type, .arg = {x}};
  return c;
}

struct calc *calc_make(struct arena *a, enum calc_op op, const struct calc *x,
                       const struct calc *y, const struct calc *z) {
  bool truth =
      op == CALC_LT || op == CALC_LE || op == CALC_EQ || op == CALC_NOT;
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = op,
                     .type = truth               ? DTYPE_U8
                             : op == CALC_SELECT ? y->type
                                                 : x->type,
                     .arg = {x, y, z}};
  return c;
}

bool calc_uses(const struct calc *c, int input) {
  if (c->op == CALC_INPUT)
    return c->input == input;
  for (int i = 0; i < calc_operands(c->op); i++)
    if (calc_uses(c->arg[i], input))
      return true;
  return false;
}
