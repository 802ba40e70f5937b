/* term.c -- building and comparing terms (term.h).  Each knows about itself
 * what the matcher asks all the time, so that no question walks a tree, and
 * none grows beyond what a tail may have. */
#include "term.h"
#include "recognizer_parts.h"

#include <math.h>

enum { TERM_SIZE_MAX = 4000 };

enum calc_op term_calc_op(enum term_op op) {
  assert(op >= TERM_NUMBER);
  return (enum calc_op)(op - TERM_NUMBER + CALC_NUMBER);
}

static struct term *leaf(struct arena *a, enum term_op op, enum dtype type,
                         struct loc at) {
  struct term *t = arena_alloc(a, sizeof *t);
  t->op = op;
  t->type = type;
  t->at = at;
  t->size = 1;
  return t;
}

const struct term *term_old(struct arena *a, int place, enum dtype type) {
  struct term *t = leaf(a, TERM_OLD, type, loc_none());
  t->place = place;
  return t;
}

const struct term *term_load(struct arena *a, const struct nest *n,
                             const struct nest_access *x, bool conditional,
                             struct loc at) {
  assert(n->loop_count <= LOOPS_MAX);
  struct term *t = leaf(a, TERM_LOAD, x->type, at);
  t->conditional = conditional;
  t->access = x;
  for (int l = 0; l < n->loop_count; l++)
    if (access_moves(x, l))
      t->moves |= loop_bit(l);
  return t;
}

const struct term *term_limit(struct arena *a, const struct nest *n,
                              const struct affine_guard *x, struct loc at) {
  struct term *t = leaf(a, TERM_LIMIT, DTYPE_U8, at);
  t->limit = *x;
  for (int l = 0; l < n->loop_count; l++)
    if (!value_is(x->step[l], 0))
      t->moves |= loop_bit(l);
  return t;
}

const struct term *term_within(struct arena *a, const struct term *load,
                               const struct term *limit) {
  assert(load->op == TERM_LOAD && limit->op == TERM_LIMIT);
  assert(!(limit->moves & ~load->moves)); /* it depends on the element alone */
  for (int i = 0; i < load->arg_count; i++)
    if (term_equal(load->arg[i], limit))
      return load;
  struct term *t = arena_copy(a, load, 1, 1, sizeof *load);
  size_t count = (size_t)load->arg_count;
  const struct term **arg =
      arena_copy(a, load->arg, count, count + 1, sizeof *arg);
  arg[t->arg_count++] = limit;
  t->arg = arg;
  t->moves |= limit->moves;
  return t;
}

const struct term *term_outside(struct arena *a, int outside, enum dtype type,
                                struct loc at) {
  struct term *t = leaf(a, TERM_OUTSIDE, type, at);
  t->outside = outside;
  return t;
}

const struct term *term_carry(struct arena *a, int variable, int loop,
                              enum dtype type, struct loc at) {
  assert(variable >= 0);
  struct term *t = leaf(a, TERM_CARRY, type, at);
  t->variable = variable;
  t->loop = loop;
  t->carries = loop_bit(loop);
  return t;
}

const struct term *term_number(struct arena *a, enum dtype type, double number,
                               int64_t integer) {
  struct term *t = leaf(a, TERM_NUMBER, type, loc_none());
  t->number = number;
  t->integer = integer;
  return t;
}

const struct term *term_bad(struct arena *a, enum rule rule, struct loc at,
                            const char *what) {
  assert(rule > RULE_TAKEN && what);
  struct term *t = leaf(a, TERM_BAD, DTYPE_I32, at);
  t->rule = rule;
  t->what = what;
  t->bad = t;
  return t;
}

const struct term *term_make(struct arena *a, enum term_op op, enum dtype type,
                             bool reassoc, struct loc at, int count,
                             const struct term *const arg[]) {
  assert(op > TERM_BAD || op == TERM_SUM);
  assert(op == TERM_SUM ? count > 0 : count <= CALC_OPERANDS);
  struct term *t = leaf(a, op, type, at);
  t->reassoc = reassoc;
  t->arg_count = count;
  t->arg = arena_copy(a, arg, (size_t)count, (size_t)count, sizeof(arg[0]));
  for (int i = 0; i < count; i++) {
    t->moves |= arg[i]->moves;
    t->carries |= arg[i]->carries;
    t->sums |= arg[i]->sums;
    t->size += arg[i]->size;
    t->bad = t->bad ? t->bad : arg[i]->bad;
    t->open = t->open ? t->open : arg[i]->open;
  }
  if (t->size > TERM_SIZE_MAX)
    return term_bad(a, RULE_NOT_PRODUCT_SUM, at,
                    "the result is formed with a long expression");
  return t;
}

const struct term *term_open(struct arena *a, struct loc at, const char *what,
                             const struct term *condition, const struct term *x,
                             const struct term *y) {
  assert(what && term_has_limit(condition));
  const struct term *arg[] = {condition, x, y};
  struct term *t = (struct term *)term_make(a, TERM_SELECT, x->type, false, at,
                                            CALC_OPERANDS, arg);
  if (t->op == TERM_SELECT) {
    t->what = what;
    t->open = t;
  }
  return t;
}

const struct term *term_two(struct arena *a, enum term_op op, bool reassoc,
                            struct loc at, const struct term *x,
                            const struct term *y) {
  return term_make(a, op, x->type, reassoc, at, 2,
                   (const struct term *const[]){x, y});
}

const struct term *term_sum(struct arena *a, uint64_t loops, enum dtype type,
                            bool reassoc, struct loc at, int count,
                            const struct term *const factor[]) {
  assert(loops);
  const struct term *made =
      term_make(a, TERM_SUM, type, reassoc, at, count, factor);
  if (made->op == TERM_BAD)
    return made;
  struct term *t = (struct term *)made;
  t->loops = loops;
  t->moves &= ~loops;
  t->sums = true;
  return t;
}

/* An integer that was loaded is the same bits under the other sign. */
static const struct term *load_as(struct arena *a, const struct term *load,
                                  enum dtype type) {
  struct term *t = arena_alloc(a, sizeof *t);
  struct nest_access *x = arena_alloc(a, sizeof *x);
  *t = *load;
  *x = *load->access;
  x->type = t->type = type;
  t->access = x;
  return t;
}

/* A number as another type has it; NULL: that would cut off digits. */
static const struct term *number_as(struct arena *a, const struct term *x,
                                    enum dtype type) {
  bool from_float = dtype_kind(x->type) == DTYPE_FLOAT;
  uint64_t element;
  if (dtype_kind(type) == DTYPE_FLOAT) {
    dtype_store_float(type, &element,
                      from_float ? x->number : (double)x->integer);
    return term_number(a, type, dtype_load_float(type, &element), 0);
  }
  if (from_float)
    return NULL;
  dtype_store_int(type, &element, x->integer);
  return term_number(a, type, 0, dtype_load_int(type, &element));
}

const struct term *term_cast(struct arena *a, enum dtype type,
                             const struct term *x) {
  if (x->type == type)
    return x;
  const struct term *number =
      x->op == TERM_NUMBER ? number_as(a, x, type) : NULL;
  if (number)
    return number;
  bool bits = dtype_kind(type) != DTYPE_FLOAT &&
              dtype_kind(x->type) != DTYPE_FLOAT &&
              dtype_bytes(type) == dtype_bytes(x->type);
  if (bits && x->op == TERM_LOAD)
    return load_as(a, x, type);
  return term_make(a, TERM_CAST, type, true, x->at, 1, &x);
}

static bool limit_equal(const struct affine_guard *x,
                        const struct affine_guard *y, uint64_t loops) {
  for (int l = 0; l < 64; l++)
    if (loops & loop_bit(l) && !value_equal(x->step[l], y->step[l]))
      return false;
  return x->below == y->below && value_equal(x->start, y->start);
}

bool term_alike(const struct term *x, const struct term *y) {
  const struct nest_access *a = x->access, *b = y->access;
  if (x->op != TERM_LOAD || y->op != TERM_LOAD || a->tensor != b->tensor ||
      a->type != b->type || x->moves != y->moves ||
      x->arg_count != y->arg_count)
    return false;
  for (int i = 0; i < x->arg_count; i++)
    if (!term_equal(x->arg[i], y->arg[i]))
      return false;
  for (int l = 0; l < 64; l++)
    if (x->moves & loop_bit(l) &&
        !value_equal(a->stride_bytes[l], b->stride_bytes[l]))
      return false;
  return true;
}

bool term_equal(const struct term *x, const struct term *y) {
  if (x == y)
    return true;
  if (x->op != y->op || x->type != y->type || x->size != y->size ||
      x->arg_count != y->arg_count || x->bad || y->bad)
    return false;
  switch (x->op) {
  case TERM_OLD:
    return x->place == y->place;
  case TERM_LOAD:
    return term_alike(x, y) &&
           x->access->offset_bytes == y->access->offset_bytes &&
           x->access->rows == y->access->rows;
  case TERM_OUTSIDE:
    return x->outside == y->outside;
  case TERM_LIMIT:
    return limit_equal(&x->limit, &y->limit, x->moves | y->moves);
  case TERM_CARRY:
    return x->variable == y->variable && x->loop == y->loop;
  case TERM_NUMBER:
    return x->integer == y->integer && x->number == y->number &&
           signbit(x->number) == signbit(y->number);
  default:
    break;
  }
  if (x->loops != y->loops)
    return false;
  for (int i = 0; i < x->arg_count; i++)
    if (!term_equal(x->arg[i], y->arg[i]))
      return false;
  return true;
}

bool term_has_limit(const struct term *t) {
  bool yes = t->op == TERM_LIMIT;
  for (int i = 0; !yes && t->op != TERM_LOAD && i < t->arg_count; i++)
    yes = term_has_limit(t->arg[i]);
  return yes;
}

bool term_is_zero(const struct term *t) {
  return t->op == TERM_NUMBER && (dtype_kind(t->type) == DTYPE_FLOAT
                                      ? t->number == 0 && !signbit(t->number)
                                      : t->integer == 0);
}

const char *term_words(enum term_op op) {
  switch (op) {
  case TERM_SUB:
    return "a subtraction";
  case TERM_MUL:
    return "a product";
  case TERM_DIV:
    return "a division";
  case TERM_NEG:
    return "a negation";
  case TERM_ABS:
    return "an absolute value";
  case TERM_MIN:
    return "a minimum";
  case TERM_MAX:
    return "a maximum";
  case TERM_LT:
  case TERM_LE:
  case TERM_EQ:
  case TERM_NOT:
  case TERM_LIMIT:
    return "a comparison";
  case TERM_AND:
  case TERM_OR:
  case TERM_XOR:
    return "a bit operation";
  case TERM_SHL:
  case TERM_SHR:
    return "a shift";
  case TERM_FLOOR:
  case TERM_CEIL:
  case TERM_TRUNC:
  case TERM_RINT:
  case TERM_ROUND:
    return "a rounding";
  case TERM_FMA:
    return "a multiply-add that rounds once";
  case TERM_SELECT:
    return "a choice between two values";
  case TERM_CAST:
    return "a conversion";
  case TERM_BITS:
    return "the bits of a number";
  default:
    return "an operation that is neither sum nor product";
  }
}
