/* calc.c -- element-wise expressions as trees: building, checking, printing and
 * parsing.  calc_run.c evaluates them. */
#include "calc.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_OPERATIONS = 1000 }; /* which bounds every recursion below */

/* In front of a type: the bits of the operand as that type. */
static const char BITS[] = "bits_";

/* Columns of calc.def */
enum takes { TAKES_ANY, TAKES_INTEGERS, TAKES_FLOATS, TAKES_C_FLOATS };
enum gives { GIVES_SAME, GIVES_TRUTH, GIVES_SECOND, GIVES_NAMED };

static const struct {
  const char *name;
  int operands;
  enum takes takes;
  enum gives gives;
} row[CALC_OPS] = {
    {"", 0, TAKES_ANY, GIVES_NAMED}, /* INPUT */
#define CALC(id, name, operands, takes, gives)                                 \
  {name, operands, TAKES_##takes, GIVES_##gives},
#include "calc.def"
#undef CALC
};

#define CALC(id, name, operands, ...)                                          \
  static_assert(operands <= CALC_OPERANDS, "more operands than " name);
#include "calc.def"
#undef CALC

const char *calc_name(enum calc_op op) { return row[op].name; }
int calc_operands(enum calc_op op) { return row[op].operands; }

struct calc *calc_input(struct arena *a, int input, enum dtype type) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_INPUT, .type = type, .input = input};
  return c;
}

struct calc *calc_float(struct arena *a, enum dtype type, double number) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_NUMBER, .type = type};
  double rounded;
  dtype_store_float(type, &rounded, number);
  c->number = dtype_load_float(type, &rounded);
  return c;
}

struct calc *calc_int(struct arena *a, enum dtype type, int64_t integer) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_NUMBER, .type = type};
  int64_t wrapped;
  dtype_store_int(type, &wrapped, integer);
  c->integer = dtype_load_int(type, &wrapped);
  return c;
}

struct calc *calc_cast(struct arena *a, enum dtype type, const struct calc *x) {
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = CALC_CAST, .type = type, .arg = {x}};
  return c;
}

struct calc *calc_bits(struct arena *a, enum dtype type, const struct calc *x) {
  struct calc *c = calc_cast(a, type, x);
  c->op = CALC_BITS;
  return c;
}

struct calc *calc_make(struct arena *a, enum calc_op op, const struct calc *x,
                       const struct calc *y, const struct calc *z) {
  enum gives gives = row[op].gives;
  assert(gives != GIVES_NAMED);
  struct calc *c = arena_alloc(a, sizeof *c);
  *c = (struct calc){.op = op,
                     .type = gives == GIVES_TRUTH    ? DTYPE_U8
                             : gives == GIVES_SECOND ? y->type
                                                     : x->type,
                     .arg = {x, y, z}};
  return c;
}

/* ---- check ---- */

static bool is_float(enum dtype t) { return dtype_kind(t) == DTYPE_FLOAT; }

static bool type_check(enum calc_op op, enum dtype type, struct loc at,
                       struct diag *d) {
  const char *wanted = NULL;
  switch (row[op].takes) {
  case TAKES_ANY:
    break;
  case TAKES_INTEGERS:
    wanted = is_float(type) ? "integers" : NULL;
    break;
  case TAKES_FLOATS:
    wanted = is_float(type) ? NULL : "floats";
    break;
  case TAKES_C_FLOATS:
    wanted = is_float(type) && !dtype_is_half(type)
                 ? NULL
                 : "floats of more than 16 bits";
    break;
  }
  return !wanted || diag_error(d, at, "%s takes %s, not %s", calc_name(op),
                               wanted, dtype_name(type));
}

static bool operands_check(const struct calc *c, struct loc at,
                           struct diag *d) {
  int first = row[c->op].gives == GIVES_SECOND; /* of those of one type */
  enum dtype type = c->arg[first]->type;
  const char *name = calc_name(c->op);
  if (first && c->arg[0]->type != DTYPE_U8)
    return diag_error(d, at, "%s's first operand is u8, not %s", name,
                      dtype_name(c->arg[0]->type));
  for (int i = first + 1; i < calc_operands(c->op); i++)
    if (c->arg[i]->type != type)
      return diag_error(d, at, "operands of %s have one type, not %s and %s",
                        name, dtype_name(type), dtype_name(c->arg[i]->type));
  return type_check(c->op, type, at, d);
}

/* One node, whose operands have been checked. */
static bool node_check(const struct calc *c, struct loc at, struct diag *d) {
  if (c->op == CALC_INPUT && (c->input < 0 || c->input >= CALC_INPUTS))
    return diag_error(d, at, "input %d is not in 0 .. %d", c->input,
                      CALC_INPUTS - 1);
  if (calc_operands(c->op) == 0 || c->op == CALC_CAST)
    return true;
  if (c->op == CALC_BITS)
    return dtype_bytes(c->type) == dtype_bytes(c->arg[0]->type) ||
           diag_error(d, at, "the bits of %s are not as many as those of %s",
                      dtype_name(c->arg[0]->type), dtype_name(c->type));
  return operands_check(c, at, d);
}

static bool too_many(struct loc at, struct diag *d) {
  return diag_error(d, at, "the expression has more than %d operations",
                    MAX_OPERATIONS);
}

struct checked {
  int operations;
  const struct calc *input[CALC_INPUTS]; /* its first use */
};

static bool tree_check(const struct calc *c, struct checked *seen,
                       struct diag *d) {
  if (calc_operands(c->op) > 0 && seen->operations++ == MAX_OPERATIONS)
    return too_many(loc_none(), d);
  for (int i = 0; i < calc_operands(c->op); i++)
    if (!tree_check(c->arg[i], seen, d))
      return false;
  if (!node_check(c, loc_none(), d))
    return false;
  if (c->op != CALC_INPUT)
    return true;
  const struct calc **first = &seen->input[c->input];
  if (!*first)
    *first = c;
  if ((*first)->type == c->type)
    return true;
  return diag_error(d, loc_none(), "input %d has one type, not %s and %s",
                    c->input, dtype_name((*first)->type), dtype_name(c->type));
}

bool calc_check(const struct calc *c, struct diag *d) {
  return tree_check(c, &(struct checked){0}, d);
}

bool calc_uses(const struct calc *c, int input) {
  if (c->op == CALC_INPUT)
    return c->input == input;
  for (int i = 0; i < calc_operands(c->op); i++)
    if (calc_uses(c->arg[i], input))
      return true;
  return false;
}

bool calc_equal(const struct calc *x, const struct calc *y) {
  if (x->op != y->op || x->type != y->type || x->input != y->input ||
      memcmp(&x->number, &y->number, sizeof x->number) != 0 ||
      x->integer != y->integer)
    return false;
  for (int i = 0; i < calc_operands(x->op); i++)
    if (!calc_equal(x->arg[i], y->arg[i]))
      return false;
  return true;
}

/* ---- print ---- */

/* As %a, which would write the locale's decimal point. */
static void print_float(double v, struct text *t) {
  if (signbit(v))
    text_puts(t, "-");
  if (isnan(v) || isinf(v) || v == 0) {
    text_puts(t, isnan(v) ? "nan" : isinf(v) ? "inf" : "0x0p+0");
    return;
  }
  int exponent;
  uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(v), &exponent), 53);
  char digits[14]; /* of the fraction, 52 bits */
  snprintf(digits, sizeof digits, "%013llx",
           (unsigned long long)(mantissa & ((1ull << 52) - 1)));
  int length = 13;
  while (length > 0 && digits[length - 1] == '0')
    length--;
  text_printf(t, "0x1%s%.*sp%+d", length ? "." : "", length, digits,
              exponent - 1);
}

static void print_name(const char *name, struct text *t) {
  if (scan_is_name(name))
    text_puts(t, name);
  else
    text_quote(t, name);
}

void calc_print(const struct calc *c, const char *const name[],
                struct text *t) {
  if (c->op == CALC_INPUT) {
    print_name(name[c->input], t);
    return;
  }
  if (c->op == CALC_NUMBER) {
    text_printf(t, "%s:", dtype_name(c->type));
    if (is_float(c->type))
      print_float(c->number, t);
    else
      text_printf(t, "%lld", (long long)c->integer);
    return;
  }
  text_puts(t, c->op == CALC_BITS ? BITS : calc_name(c->op));
  if (c->op == CALC_CAST || c->op == CALC_BITS)
    text_puts(t, dtype_name(c->type));
  for (int i = 0; i < calc_operands(c->op); i++) {
    text_puts(t, i ? "," : "(");
    calc_print(c->arg[i], name, t);
  }
  text_puts(t, ")");
}

/* ---- parse ---- */

struct parser {
  struct arena *a;
  struct scan *s;
  const char *const *name;
  const enum dtype *type;
  int inputs, operations;
  struct diag *d;
};

/* "<hex digits>[.<hex digits>]p<exponent>" behind 0x */
static bool parse_hex_float(struct parser *p, double *value) {
  static const char hex[] = "0123456789abcdef";
  uint64_t mantissa = 0;
  int point = -1, digits = 0;
  for (;; p->s->at++) {
    int c = tolower((unsigned char)*p->s->at);
    const char *digit = c ? strchr(hex, c) : NULL;
    if (c == '.' && point < 0) {
      point = digits;
    } else if (digit && digits < 16) {
      mantissa = mantissa << 4 | (uint64_t)(digit - hex);
      digits++;
    } else {
      break;
    }
  }
  if (!digits || *p->s->at != 'p')
    return scan_expected(p->s, p->d, "a float of at most 16 hex digits, and p");
  p->s->at++;
  struct scan before = *p->s;
  int64_t exponent;
  if (!scan_int(p->s, &exponent) || exponent < -2000 || exponent > 2000) {
    *p->s = before;
    return scan_expected(p->s, p->d, "an exponent of two in -2000 .. 2000");
  }
  if (point >= 0)
    exponent -= 4 * (digits - point);
  *value = ldexp((double)mantissa, (int)exponent);
  return true;
}

static struct calc *parse_float(struct parser *p, enum dtype type) {
  bool minus = scan_char(p->s, '-');
  double value = 0;
  int64_t integer;
  if (scan_word(p->s, "inf")) {
    value = INFINITY;
  } else if (scan_word(p->s, "nan")) {
    value = NAN;
  } else if (strncmp(p->s->at, "0x", 2) == 0) {
    p->s->at += 2;
    if (!parse_hex_float(p, &value))
      return NULL;
  } else if (isdigit((unsigned char)*p->s->at) && scan_int(p->s, &integer)) {
    value = (double)integer;
  } else {
    scan_expected(p->s, p->d, "a float as C's %a writes it");
    return NULL;
  }
  return calc_float(p->a, type, minus ? -value : value);
}

static struct calc *parse_number(struct parser *p, enum dtype type) {
  if (is_float(type))
    return parse_float(p, type);
  struct loc at = scan_loc(p->s);
  int64_t value;
  if (!scan_int(p->s, &value)) {
    scan_expected(p->s, p->d, "an integer");
    return NULL;
  }
  struct calc *c = calc_int(p->a, type, value);
  if (c->integer == value)
    return c;
  diag_error(p->d, at, "%lld does not fit in %s", (long long)value,
             dtype_name(type));
  return NULL;
}

static struct calc *parse_input(struct parser *p, const char *name,
                                struct loc at) {
  for (int i = 0; i < p->inputs && i < CALC_INPUTS; i++)
    if (strcmp(name, p->name[i]) == 0)
      return calc_input(p->a, i, p->type[i]);
  diag_error(p->d, at, "no input is called '%.40s'", name);
  return NULL;
}

/* The operation, and its type where the name says it. */
static bool find_operation(const char *name, enum calc_op *op,
                           enum dtype *type) {
  *op = CALC_CAST;
  if (dtype_parse(name, type))
    return true;
  *op = CALC_BITS;
  if (strncmp(name, BITS, strlen(BITS)) == 0)
    return dtype_parse(name + strlen(BITS), type);
  for (int i = 0; i < CALC_OPS; i++)
    if (calc_operands((enum calc_op)i) > 0 && strcmp(name, row[i].name) == 0) {
      *op = (enum calc_op)i;
      return true;
    }
  return false;
}

static struct calc *parse(struct parser *p);

/* "<name>(" has been read. */
static struct calc *parse_operation(struct parser *p, const char *name,
                                    struct loc at) {
  enum calc_op op;
  enum dtype type = DTYPE_COUNT;
  if (!find_operation(name, &op, &type)) {
    diag_error(p->d, at, "no operation or type is called '%.40s'", name);
    return NULL;
  }
  if (p->operations++ == MAX_OPERATIONS) {
    too_many(at, p->d);
    return NULL;
  }
  const struct calc *arg[CALC_OPERANDS] = {0};
  for (int i = 0; i < calc_operands(op); i++) {
    if (i > 0 && !scan_char(p->s, ',')) {
      scan_expected(p->s, p->d, "',' and another operand");
      return NULL;
    }
    arg[i] = parse(p);
    if (!arg[i])
      return NULL;
  }
  if (!scan_char(p->s, ')')) {
    scan_expected(p->s, p->d, "')' behind the last operand");
    return NULL;
  }
  struct calc *c = op == CALC_CAST ? calc_cast(p->a, type, arg[0])
                   : op == CALC_BITS
                       ? calc_bits(p->a, type, arg[0])
                       : calc_make(p->a, op, arg[0], arg[1], arg[2]);
  return node_check(c, at, p->d) ? c : NULL;
}

static struct calc *parse(struct parser *p) {
  struct loc at = scan_loc(p->s);
  const char *name = scan_string(p->s, p->a, p->d);
  if (name)
    return parse_input(p, name, at);
  name = scan_name(p->s, p->a);
  if (!name) {
    scan_expected(p->s, p->d, "an input, a type or an operation");
    return NULL;
  }
  if (scan_char(p->s, '('))
    return parse_operation(p, name, at);
  if (!scan_char(p->s, ':'))
    return parse_input(p, name, at);
  enum dtype type;
  if (dtype_parse(name, &type))
    return parse_number(p, type);
  diag_error(p->d, at, "no type is called '%.40s'", name);
  return NULL;
}

struct calc *calc_parse(struct arena *a, struct scan *s,
                        const char *const name[], const enum dtype type[],
                        int inputs, struct diag *d) {
  return parse(&(struct parser){a, s, name, type, inputs, 0, d});
}
