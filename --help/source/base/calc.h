/* calc.h -- element-wise expressions: the arithmetic around a sum of products
 * (alpha, beta, bias, ReLU, clamp, requantisation), with the bits of the C code
 * that it stands for.
 *
 * An expression is a tree over numbered inputs.  It prints as, and parses from,
 * "max(add(mul(x0,sum),out),f32:0x0p+0)": inputs by names that the caller
 * gives (quoted if scan_name would not take them), constants as type:number,
 * operations and conversions as functions.
 */
#ifndef NPUTEIR_CALC_H
#define NPUTEIR_CALC_H

#include "base.h"

enum calc_op {
  CALC_INPUT,
#define CALC(id, ...) CALC_##id,
#include "calc.def"
#undef CALC
  CALC_OPS
};
enum { CALC_OPERANDS = 3, CALC_INPUTS = 16 };

struct calc {
  enum calc_op op;
  enum dtype type; /* of the result */
  int input;       /* INPUT: its number */
  double number;   /* NUMBER of a float type */
  int64_t integer; /* NUMBER of an integer type */
  const struct calc *arg[CALC_OPERANDS];
};

const char *calc_name(enum calc_op); /* "add"; "" for INPUT, NUMBER, CAST */
int calc_operands(enum calc_op);     /* 0 .. 3 */

/* Constructors; the arguments are borrowed, and so shared, not copied.  A
 * constant is converted to its type: rounded, or taken modulo 2^n. */
struct calc *calc_input(struct arena *, int input, enum dtype);
struct calc *calc_float(struct arena *, enum dtype, double);
struct calc *calc_int(struct arena *, enum dtype, int64_t);
struct calc *calc_cast(struct arena *, enum dtype, const struct calc *);
struct calc *calc_bits(struct arena *, enum dtype, const struct calc *);
/* Of the type that calc.def says; not for NAMED ones.  Operands beyond the
 * operation's are NULL. */
struct calc *calc_make(struct arena *, enum calc_op, const struct calc *,
                       const struct calc *, const struct calc *);

/* Operand types and operations agree; at most CALC_INPUTS inputs, and not more
 * than 1000 operations written out. */
bool calc_check(const struct calc *, struct diag *);
bool calc_uses(const struct calc *, int input);
bool calc_equal(const struct calc *, const struct calc *);

/* name[i] and type[i] are input i's.  Constants are decimal integers, or floats
 * as C's %a writes them ("0x1.8p+0", "inf", "-nan") whatever the locale. */
void calc_print(const struct calc *, const char *const name[], struct text *);
/* What calc_check accepts, from the scanner's place on. */
struct calc *calc_parse(struct arena *, struct scan *, const char *const name[],
                        const enum dtype type[], int inputs, struct diag *);

/* ---- evaluation ---- */
enum { CALC_CHUNK = 256 };
struct calc_program;
struct calc_program *calc_compile(struct arena *, const struct calc *);
/* out[i] for i < count <= CALC_CHUNK.  input[j] points to `count` elements of
 * input j's type, or to one element where fixed[j]; inputs that the expression
 * does not use may be NULL.  Not to be called from two threads with one
 * program. */
void calc_run(const struct calc_program *, const void *const input[],
              const bool fixed[], void *out, int count);
/* Any number of elements: those of input j lie stride_bytes[j] apart, which may
 * be 0, those of out out_stride_bytes.  An input may lie where out lies,
 * element by element; in no other way may they overlap. */
void calc_run_row(const struct calc_program *, const void *const input[],
                  const int64_t stride_bytes[], void *out,
                  int64_t out_stride_bytes, int64_t count);

#endif
