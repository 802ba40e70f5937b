/* interpret.c -- executes nests with C's arithmetic, one operation at a time,
 * and contractions by their definition (recognizer.h). */
#include "interpret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

/* ---- numbers ---- */

struct number {
  enum dtype type;
  double f;  /* of float types */
  int64_t i; /* of integer types */
};

static bool is_float(enum dtype t) { return dtype_kind(t) == DTYPE_FLOAT; }

static struct number load(enum dtype type, const void *p) {
  struct number x = {.type = type};
  if (is_float(type))
    x.f = dtype_load_float(type, p);
  else
    x.i = dtype_load_int(type, p);
  return x;
}

static void store(void *p, struct number x) {
  if (is_float(x.type))
    dtype_store_float(x.type, p, x.f);
  else
    dtype_store_int(x.type, p, x.i);
}

/* What the type keeps of it. */
static struct number kept(struct number x) {
  uint64_t element;
  store(&element, x);
  return load(x.type, &element);
}

static struct number cast(enum dtype type, struct number x) {
  struct number y = {.type = type};
  if (is_float(type))
    y.f = is_float(x.type) ? x.f : (double)x.i;
  else if (!is_float(x.type))
    y.i = x.i;
  else {
    int bits = 8 * dtype_bytes(type) - (dtype_kind(type) == DTYPE_SIGNED);
    double top = ldexp(1, bits < 63 ? bits : 63) - 1;
    double low = dtype_kind(type) == DTYPE_SIGNED ? -top - 1 : 0;
    y.i = isnan(x.f)   ? 0
          : x.f < low  ? (int64_t)low
          : x.f >= top ? (bits < 63 ? (int64_t)top : INT64_MAX)
                       : (int64_t)x.f;
  }
  return kept(y);
}

static struct number bits(enum dtype type, struct number x) {
  uint64_t element;
  store(&element, x);
  return load(type, &element);
}

static struct number truth(bool yes) {
  return (struct number){.type = DTYPE_U8, .i = yes};
}

static struct number float_operation(enum nest_op op, struct number x,
                                     struct number y) {
  switch (op) {
  case NEST_ADD:
    x.f += y.f;
    break;
  case NEST_SUB:
    x.f -= y.f;
    break;
  case NEST_MUL:
    x.f *= y.f;
    break;
  case NEST_NEG:
    x.f = -x.f;
    break;
  case NEST_MIN:
    x.f = fmin(x.f, y.f);
    break;
  case NEST_MAX:
    x.f = fmax(x.f, y.f);
    break;
  case NEST_LT:
    return truth(x.f < y.f);
  default:
    require(false, "an operation that no test uses");
  }
  return kept(x);
}

static struct number whole_operation(enum nest_op op, struct number x,
                                     struct number y) {
  int bits = 8 * dtype_bytes(x.type);
  switch (op) {
  case NEST_ADD:
    x.i = (int64_t)((uint64_t)x.i + (uint64_t)y.i);
    break;
  case NEST_SUB:
    x.i = (int64_t)((uint64_t)x.i - (uint64_t)y.i);
    break;
  case NEST_MUL:
    x.i = (int64_t)((uint64_t)x.i * (uint64_t)y.i);
    break;
  case NEST_NEG:
    x.i = (int64_t)(0 - (uint64_t)x.i);
    break;
  case NEST_MIN:
    x.i = x.i < y.i ? x.i : y.i;
    break;
  case NEST_MAX:
    x.i = x.i > y.i ? x.i : y.i;
    break;
  case NEST_SHL:
    x.i = y.i < 0 || y.i >= bits ? 0 : (int64_t)((uint64_t)x.i << y.i);
    break;
  case NEST_SHR:
    x.i = y.i < 0 || y.i >= bits ? 0 : x.i >> y.i;
    break;
  case NEST_LT:
    return truth(x.i < y.i);
  case NEST_AND:
    x.i &= y.i;
    break;
  case NEST_OR:
    x.i |= y.i;
    break;
  case NEST_NOT:
    return truth(!x.i);
  default:
    require(false, "an operation that no test uses");
  }
  return kept(x);
}

/* ---- nests ---- */

struct interpreter {
  const struct nest *nest;
  struct memory *memory;
  int64_t iteration[64];
  struct number scalar[64];
  int64_t budget;
  bool failed;
};

static int64_t value(const struct memory *m, struct value v) {
  return v.symbol >= 0 ? m->symbol[v.symbol] : v.constant;
}

static int64_t start(const struct memory *m, const struct nest *n, int tensor,
                     int64_t rows, int64_t bytes) {
  int64_t pitch = rows ? m->symbol[n->pitch[tensor]] : 0;
  return MEMORY / 2 + rows * pitch + bytes;
}

static void *place(struct interpreter *x, const struct nest_access *a) {
  static uint64_t nowhere;
  int64_t at = start(x->memory, x->nest, a->tensor, a->rows, a->offset_bytes);
  for (int l = 0; l < x->nest->loop_count; l++)
    at += value(x->memory, a->stride_bytes[l]) * x->iteration[l];
  if (at < 0 || at > MEMORY - 8) {
    x->failed = true;
    return &nowhere;
  }
  return x->memory->tensor[a->tensor] + at;
}

/* Of loops or axes. */
static bool holds(const struct memory *m, const struct affine_guard *l,
                  const int64_t *iteration, int count) {
  int64_t v = value(m, l->start);
  for (int i = 0; i < count; i++)
    v += value(m, l->step[i]) * iteration[i];
  return (v < 0) == l->below;
}

static struct number evaluate(struct interpreter *x,
                              const struct nest_expr *e) {
  struct number arg[CALC_OPERANDS];
  x->failed |= --x->budget < 0;
  switch (e->op) {
  case NEST_LOAD:
    return load(e->access.type, place(x, &e->access));
  case NEST_SCALAR:
    return x->scalar[e->scalar];
  case NEST_OUTSIDE:
    return load(e->type, x->memory->outside[e->outside]);
  case NEST_LIMIT:
    return truth(
        holds(x->memory, &e->limit, x->iteration, x->nest->loop_count));
  case NEST_OTHER:
    x->failed = true;
    return truth(false);
  case NEST_NUMBER:
    return kept((struct number){e->type, e->number, e->integer});
  default:
    break;
  }
  if (e->op == NEST_SELECT) /* the other side is not read */
    return evaluate(x, e->arg[evaluate(x, e->arg[0]).i ? 1 : 2]);
  for (int i = 0; i < calc_operands(nest_calc_op(e->op)); i++)
    arg[i] = evaluate(x, e->arg[i]);
  if (e->op == NEST_CAST)
    return cast(e->type, arg[0]);
  if (e->op == NEST_BITS)
    return bits(e->type, arg[0]);
  if (calc_operands(nest_calc_op(e->op)) == 1)
    arg[1] = arg[0];
  return is_float(arg[0].type) ? float_operation(e->op, arg[0], arg[1])
                               : whole_operation(e->op, arg[0], arg[1]);
}

static int outermost_below(const struct nest *n, int loop, int inner) {
  while (n->loop[inner].parent != loop)
    inner = n->loop[inner].parent;
  return inner;
}

static bool stands_in(const struct nest *n, int loop, int outer) {
  while (loop >= 0 && loop != outer)
    loop = n->loop[loop].parent;
  return loop == outer;
}

/* The iterations that a loop does now: all of them, or a tile; the last ones
 * may be short or empty. */
static void find_range(const struct interpreter *x, int loop, int64_t *from,
                       int64_t *to) {
  const struct nest_loop *l = &x->nest->loop[loop];
  *from = l->after < 0 ? 0 : value(x->memory, x->nest->loop[l->after].extent);
  *to = value(x->memory, l->extent);
  if (l->cut_by < 0)
    return;
  int64_t tiles = value(x->memory, x->nest->loop[l->cut_by].extent);
  int64_t length = (*to + tiles - 1) / tiles;
  *from = length * x->iteration[l->cut_by];
  *to = *to < *from + length ? *to : *from + length;
}

static void run(struct interpreter *x, int loop, int first, int end) {
  const struct nest *n = x->nest;
  for (int i = first, next; i < end && !x->failed; i = next) {
    const struct nest_statement *s = &n->statement[i];
    next = i + 1;
    if (s->loop == loop) {
      struct number v = evaluate(x, s->value);
      if (s->is_store)
        store(place(x, &s->to), v);
      else
        x->scalar[s->scalar] = v;
      continue;
    }
    int inner = outermost_below(n, loop, s->loop);
    while (next < end && stands_in(n, n->statement[next].loop, inner))
      next++;
    int64_t from, to;
    find_range(x, inner, &from, &to);
    int64_t step = n->loop[inner].step;
    int64_t last = from + (to - from - 1) / step * step;
    for (int64_t k = from; k < to && !x->failed; k += step) {
      x->iteration[inner] = n->loop[inner].down ? last - (k - from) : k;
      run(x, inner, i, next);
    }
    x->iteration[inner] = 0;
  }
}

/* Tiles that are none cannot make up a whole. */
static bool has_tiles(const struct nest *n, const struct memory *m) {
  for (int l = 0; l < n->loop_count; l++)
    if (n->loop[l].cut_by >= 0 && value(m, n->loop[l].extent) > 0 &&
        value(m, n->loop[n->loop[l].cut_by].extent) <= 0)
      return false;
  return true;
}

/* A loop runs up to a number of its own, which is where the next goes on. */
static bool meets_ends(const struct nest *n, const struct memory *m) {
  for (int l = 0; l < n->loop_count; l++) {
    const struct nest_loop *x = &n->loop[l];
    int64_t from = x->after < 0 ? 0 : value(m, n->loop[x->after].extent);
    int64_t way = value(m, x->extent) - from;
    if ((x->after >= 0 || x->step != 1) && (way < 0 || way % x->step != 0))
      return false;
  }
  return true;
}

/* A limit that the nest calls that of a last iteration is zero in it. */
static bool ends_at_zero(const struct nest *n, const struct memory *m,
                         const struct nest_expr *e) {
  for (int i = 0;
       e->op >= NEST_NUMBER && i < calc_operands(nest_calc_op(e->op)); i++)
    if (!ends_at_zero(n, m, e->arg[i]))
      return false;
  if (e->op != NEST_LIMIT || !e->limit.last)
    return true;
  int64_t end = value(m, e->limit.start);
  for (int l = 0; l < n->loop_count; l++)
    end += value(m, e->limit.step[l]) * (value(m, n->loop[l].extent) - 1);
  return end == 0;
}

static bool limits_end(const struct nest *n, const struct memory *m) {
  for (int i = 0; i < n->statement_count; i++)
    if (!ends_at_zero(n, m, n->statement[i].value))
      return false;
  return true;
}

bool interpret_nest(const struct nest *n, struct memory *m) {
  struct interpreter x = {.nest = n, .memory = m, .budget = 200000};
  for (int i = 0; i < 64; i++)
    x.scalar[i].type = DTYPE_I32;
  run(&x, -1, 0, n->statement_count);
  return !x.failed && has_tiles(n, m) && meets_ends(n, m) && limits_end(n, m);
}

/* ---- contractions ---- */

struct evaluation {
  const struct nest *nest;
  const struct contraction *c;
  struct memory *m;
  struct calc_program *tail, *map[2]; /* NULL: none */
  int64_t iteration[64];
};

/* Where the result of a contraction's first one is. */
enum { INTERMEDIATE = 63 };

static void *element(struct evaluation *x, int tensor) {
  const struct contraction *c = x->c;
  int of = c->tensor[tensor] < 0 ? INTERMEDIATE : c->tensor[tensor];
  int64_t at =
      start(x->m, x->nest, of, c->rows[tensor], c->offset_bytes[tensor]);
  for (int i = 0; i < c->axis_count; i++)
    at += value(x->m, c->axis[i].stride_bytes[tensor]) * x->iteration[i];
  require(at >= 0 && at <= MEMORY - 8, "an address outside its tensor");
  return x->m->tensor[of] + at;
}

static void *extra(struct evaluation *x, int e) {
  const struct contraction_extra *extra = &x->c->extra[e];
  if (extra->tensor < 0)
    return x->m->outside[extra->outside];
  int64_t at =
      start(x->m, x->nest, extra->tensor, extra->rows, extra->offset_bytes);
  for (int i = 0; i < x->c->axis_count; i++)
    at += value(x->m, extra->stride_bytes[i]) * x->iteration[i];
  require(at >= 0 && at <= MEMORY - 8, "an address outside its tensor");
  return x->m->tensor[extra->tensor] + at;
}

/* What is multiplied in the place of an input's element. */
static struct number factor(struct evaluation *x, int tensor) {
  const struct contraction *c = x->c;
  const void *input[CALC_INPUTS] = {element(x, tensor)};
  const bool fixed[CALC_INPUTS] = {false};
  uint64_t result;
  if (!c->map[tensor])
    return load(c->type[tensor], input[0]);
  for (int e = 0; e < c->extra_count; e++)
    input[MAP_EXTRA + e] = extra(x, e);
  calc_run(x->map[tensor], input, fixed, &result, 1);
  return load(c->map[tensor]->type, &result);
}

/* Adds the products of all iterations of the K axes from `axis` on. */
static void add_products(struct evaluation *x, int axis, struct number *sum) {
  const struct contraction *c = x->c;
  while (axis < c->axis_count && c->axis[axis].role != AXIS_K)
    axis++;
  if (axis == c->axis_count) {
    for (int l = 0; l < c->limit_count; l++)
      if (!holds(x->m, &c->limit[l], x->iteration, c->axis_count))
        return;
    struct number a = factor(x, IN0), b = factor(x, IN1);
    if (is_float(sum->type))
      sum->f += a.f * b.f;
    else
      sum->i = (int64_t)((uint64_t)sum->i + (uint64_t)a.i * (uint64_t)b.i);
    *sum = kept(*sum);
    return;
  }
  int64_t extent = value(x->m, c->axis[axis].extent);
  for (int64_t k = 0; k < extent; k++) {
    x->iteration[axis] = k;
    add_products(x, axis + 1, sum);
  }
  x->iteration[axis] = 0;
}

static void compute_place(struct evaluation *x) {
  const struct contraction *c = x->c;
  struct number sum = {.type = c->acc};
  void *out = element(x, OUT);
  add_products(x, 0, &sum);
  if (x->tail) {
    uint64_t total, result;
    const void *input[CALC_INPUTS] = {&total, out};
    const bool fixed[CALC_INPUTS] = {false};
    store(&total, sum);
    for (int e = 0; e < c->extra_count; e++)
      input[TAIL_EXTRA + e] = extra(x, e);
    calc_run(x->tail, input, fixed, &result, 1);
    memcpy(out, &result, (size_t)dtype_bytes(c->type[OUT]));
    return;
  }
  if (c->type[OUT] != c->acc) { /* of a first contraction */
    require(!c->accumulate && c->tensor[OUT] < 0, "a tail is missing");
    sum = cast(c->type[OUT], sum);
  }
  if (c->accumulate) {
    struct number old = load(c->acc, out);
    sum.f += old.f;
    sum.i = (int64_t)((uint64_t)sum.i + (uint64_t)old.i);
    sum = kept(sum);
  }
  store(out, sum);
}

static void compute_places(struct evaluation *x, int axis) {
  const struct contraction *c = x->c;
  while (axis < c->axis_count && c->axis[axis].role == AXIS_K)
    axis++;
  if (axis == c->axis_count) {
    compute_place(x);
    return;
  }
  int64_t extent = value(x->m, c->axis[axis].extent);
  for (int64_t k = 0; k < extent; k++) {
    x->iteration[axis] = k;
    compute_places(x, axis + 1);
  }
  x->iteration[axis] = 0;
}

static bool has_empty_axis(const struct contraction *c,
                           const struct memory *m) {
  for (int i = 0; i < c->axis_count; i++)
    if (value(m, c->axis[i].extent) <= 0)
      return true;
  return false;
}

static bool interpret_pairwise(struct arena *a, const struct nest *n,
                               const struct contraction *c, struct memory *m) {
  static unsigned char intermediate[MEMORY];
  struct memory all = *m;
  struct contraction second = *c;
  all.tensor[INTERMEDIATE] = intermediate;
  for (int i = 0; i < c->product_count; i++)
    all.symbol[n->symbol_count + i] = value(&all, c->product[i].factor[0]) *
                                      value(&all, c->product[i].factor[1]);
  second.first = NULL;
  return !has_empty_axis(c, &all) &&
         interpret_contraction(a, n, c->first, &all) &&
         interpret_contraction(a, n, &second, &all);
}

bool interpret_contraction(struct arena *a, const struct nest *n,
                           const struct contraction *c, struct memory *m) {
  if (c->first)
    return interpret_pairwise(a, n, c, m);
  struct evaluation x = {.nest = n, .c = c, .m = m};
  if (has_empty_axis(c, m))
    return false;
  for (int i = 0; i < c->guard_count; i++)
    if (value(m, c->guard[i].large) <
        value(m, c->guard[i].small) * value(m, c->guard[i].count))
      return false;
  if (c->tail) {
    require(c->tail->type == c->type[OUT], "the tail has another type");
    x.tail = calc_compile(a, c->tail);
  }
  for (int i = IN0; i <= IN1; i++)
    if (c->map[i])
      x.map[i] = calc_compile(a, c->map[i]);
  compute_places(&x, 0);
  return true;
}
