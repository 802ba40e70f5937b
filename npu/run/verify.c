/* verify.c -- NPUTEIR_VERIFY: every nest twice, by the device and by its loop.
 *
 * The device writes into a copy of out's memory.  The call then asks the
 * program to run its loop as well and to say when that is done; then the two
 * results are compared, the program goes on with the loop's, and a line per
 * nest says at the end how far they were apart:
 *
 *   nputeir: verify where="gemm.c:12:3 gemm" types=bf16,bf16,f32 compared=3
 *   different=0 largest_error=1.1e-07 allowed=3.8e-06
 *
 * (in one line).  Integers must be equal.  An error of floats is a difference
 * as a part of the largest result of the call; verify_allowed says what the
 * types allow.  The first element that differs gets a line at once.
 */
#include "parts.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHERE_BYTES = 200 };

struct nest_line {
  char where[WHERE_BYTES], types[48];
  int64_t compared, different; /* calls */
  double error, allowed;       /* the largest */
};

struct verify {
  pthread_mutex_t lock;
  pid_t process; /* whose calls these are; a forked child begins anew */
  bool first;    /* only the first call of a nest */
  FILE *to;
  size_t count, capacity;
  struct nest_line *nest;
  int64_t unlisted; /* calls for whose nests there was no memory */
};

/* One call: what the device is to write, and where the loop will. */
struct verify_call {
  char *out, *copy; /* the first byte of out, and of its copy */
  enum dtype type;
  bool sums_floats;
  double allowed;
  int64_t extent[AXIS_K]; /* of C, M and N */
  int64_t *offset[AXIS_K];
  char where[WHERE_BYTES], types[48];
};

struct verify *verify_open(const char *word, const char *file) {
  struct verify *v = calloc(1, sizeof *v);
  if (!v)
    return NULL;
  v->to = file && *file ? fopen(file, "a") : stderr;
  if (!v->to) {
    fprintf(stderr,
            "nputeir: NPUTEIR_VERIFY_FILE: cannot write '%s': %s; standard "
            "error has the lines\n",
            file, strerror(errno));
    v->to = stderr;
  }
  pthread_mutex_init(&v->lock, NULL);
  v->process = getpid();
  v->first = strcmp(word, "first") == 0;
  return v;
}

void verify_close(struct verify *v) {
  if (!v)
    return;
  if (v->to != stderr)
    fclose(v->to);
  pthread_mutex_destroy(&v->lock);
  free(v->nest);
  free(v);
}

/* ---- the lines ---- */

static void forget_parent(struct verify *v) {
  if (v->process == getpid())
    return;
  v->process = getpid();
  v->count = 0;
  v->unlisted = 0;
}

static struct nest_line *find_line(struct verify *v, const char *where,
                                   const char *types) {
  for (size_t i = 0; i < v->count; i++)
    if (strcmp(v->nest[i].where, where) == 0 &&
        strcmp(v->nest[i].types, types) == 0)
      return &v->nest[i];
  return NULL;
}

/* NULL: no memory. */
static struct nest_line *add_line(struct verify *v,
                                  const struct verify_call *c) {
  if (v->count == v->capacity) {
    size_t capacity = v->capacity ? 2 * v->capacity : 16;
    struct nest_line *more = realloc(v->nest, capacity * sizeof *more);
    if (!more)
      return NULL;
    v->nest = more;
    v->capacity = capacity;
  }
  struct nest_line *n = &v->nest[v->count++];
  *n = (struct nest_line){.allowed = c->allowed};
  memcpy(n->where, c->where, sizeof n->where);
  memcpy(n->types, c->types, sizeof n->types);
  return n;
}

static void copy_word(char *to, size_t bytes, const char *from) {
  snprintf(to, bytes, "%s", from && *from ? from : "-");
}

bool verify_wants(struct verify *v, const char *where) {
  if (!v->first)
    return true;
  bool known = false;
  char word[WHERE_BYTES];
  copy_word(word, sizeof word, where);
  pthread_mutex_lock(&v->lock);
  forget_parent(v);
  for (size_t i = 0; i < v->count; i++)
    known |= strcmp(v->nest[i].where, word) == 0;
  pthread_mutex_unlock(&v->lock);
  return !known;
}

static void print_line(const struct verify *v, const struct nest_line *n) {
  fprintf(v->to,
          "nputeir: verify where=\"%s\" types=%s compared=%lld different=%lld "
          "largest_error=%.2g allowed=%.2g\n",
          n->where, n->types, (long long)n->compared, (long long)n->different,
          n->error, n->allowed);
}

void verify_print(struct verify *v) {
  pthread_mutex_lock(&v->lock);
  forget_parent(v);
  for (size_t i = 0; i < v->count; i++)
    print_line(v, &v->nest[i]);
  if (v->unlisted)
    fprintf(v->to, "nputeir: verify: no memory to list %lld calls\n",
            (long long)v->unlisted);
  if (!v->count)
    fprintf(v->to, "nputeir: verify: no nest ran on a device\n");
  if (fflush(v->to) != 0 && v->to != stderr)
    fprintf(stderr, "nputeir: NPUTEIR_VERIFY_FILE: cannot write: %s\n",
            strerror(errno));
  pthread_mutex_unlock(&v->lock);
}

/* ---- a call ---- */

/* What rounding explains, as a part of the largest result: sums in f32 in any
 * order, inputs that were rounded or split on purpose, and out's own type. */
double verify_allowed(const struct product *p, const char *f32,
                      bool by_blocks) {
  if (dtype_kind(p->acc) != DTYPE_FLOAT)
    return 0;
  double allowed = (double)p->extent[AXIS_K] * 0x1p-24;
  if (f32)
    allowed += strcmp(f32, "bf16") == 0 ? 0x1p-7 : 0x1p-14;
  if (by_blocks) /* both inputs are off by 2^-7 of the largest of 8 */
    allowed += 0x1p-5;
  switch (p->type[OUT]) {
  case DTYPE_BF16:
    return allowed + 0x1p-8;
  case DTYPE_F16:
    return allowed + 0x1p-11;
  default:
    return allowed + 0x1p-24;
  }
}

void verify_drop(struct verify_call *c) {
  if (!c)
    return;
  for (int role = 0; role < AXIS_K; role++)
    free(c->offset[role]);
  free(c->copy);
  free(c);
}

struct verify_call *verify_begin(const struct product *p, void *out) {
  struct verify_call *c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  int64_t bytes;
  bool good = product_span(p, OUT, &bytes);
  for (int role = 0; good && role < AXIS_K; role++) {
    c->extent[role] = p->extent[role];
    c->offset[role] = calloc((size_t)p->extent[role], sizeof *c->offset[role]);
    good = c->offset[role];
    if (good)
      product_offsets(p, (enum axis_role)role, OUT, c->offset[role]);
  }
  c->copy = good ? malloc((size_t)bytes) : NULL;
  if (!c->copy) {
    verify_drop(c);
    return NULL;
  }
  c->out = (char *)out + p->offset[OUT];
  memcpy(c->copy, c->out, (size_t)bytes);
  c->type = p->type[OUT];
  c->sums_floats = dtype_kind(p->acc) == DTYPE_FLOAT;
  return c;
}

void verify_describe(struct verify_call *c, const struct product *p,
                     const struct run_report *r, const char *where) {
  c->allowed = verify_allowed(p, r->f32, r->by_blocks);
  copy_word(c->where, sizeof c->where, where);
  copy_word(c->types, sizeof c->types, r->types);
}

void *verify_out(const struct verify_call *c, const struct product *p) {
  return c->copy - p->offset[OUT];
}

/* ---- the comparison ---- */

static double load(enum dtype t, const char *at) {
  return dtype_kind(t) == DTYPE_FLOAT ? dtype_load_float(t, at)
                                      : (double)dtype_load_int(t, at);
}

/* On its way through the elements of out. */
struct walk {
  const struct verify_call *call;
  double largest;   /* of the loop's results, finite */
  double error;     /* the largest difference */
  int64_t index[3]; /* where it is */
  double device, loop;
};

/* Of two elements; 0 only if they are equal, or both NaN. */
static double distance(enum dtype t, const char *device, const char *loop) {
  double x = load(t, device), y = load(t, loop);
  if (dtype_kind(t) != DTYPE_FLOAT)
    return dtype_load_int(t, device) == dtype_load_int(t, loop)
               ? 0
               : fmax(1, fabs(x - y));
  if (x == y || (isnan(x) && isnan(y)))
    return 0;
  double d = fabs(x - y);
  return isnan(d) ? INFINITY : d;
}

static void visit(struct walk *w, const int64_t index[3]) {
  const struct verify_call *c = w->call;
  int64_t at = 0;
  for (int role = 0; role < AXIS_K; role++)
    at += c->offset[role][index[role]];
  double loop = load(c->type, c->out + at);
  if (isfinite(loop) && fabs(loop) > w->largest)
    w->largest = fabs(loop);
  double d = distance(c->type, c->copy + at, c->out + at);
  if (!(d > w->error))
    return;
  w->error = d;
  w->device = load(c->type, c->copy + at);
  w->loop = loop;
  memcpy(w->index, index, sizeof w->index);
}

static void walk_all(struct walk *w) {
  const int64_t *extent = w->call->extent;
  int64_t i[3];
  for (i[0] = 0; i[0] < extent[0]; i[0]++)
    for (i[1] = 0; i[1] < extent[1]; i[1]++)
      for (i[2] = 0; i[2] < extent[2]; i[2]++)
        visit(w, i);
}

/* The error as verify_allowed counts it: of integers that floats became, one
 * step is rounding, too. */
static double relative(const struct walk *w) {
  const struct verify_call *c = w->call;
  double error = w->error;
  if (dtype_kind(c->type) != DTYPE_FLOAT)
    return c->sums_floats ? fmax(0, error - 1) : error;
  if (error == 0)
    return 0;
  return w->largest > 0 ? error / w->largest : INFINITY;
}

static void say_difference(const struct verify *v, const struct walk *w) {
  fprintf(v->to,
          "nputeir: verify where=\"%s\": element c=%lld m=%lld n=%lld is %.9g "
          "on the device and %.9g by the loop, which the program keeps\n",
          w->call->where, (long long)w->index[0], (long long)w->index[1],
          (long long)w->index[2], w->device, w->loop);
}

static void count(struct verify *v, const struct walk *w, double error) {
  const struct verify_call *c = w->call;
  struct nest_line *n = find_line(v, c->where, c->types);
  bool different = error > c->allowed;
  if (!n)
    n = add_line(v, c);
  if (different && (!n || !n->different))
    say_difference(v, w);
  if (!n) {
    v->unlisted++;
    return;
  }
  n->compared++;
  n->different += different;
  n->error = fmax(n->error, error);
  n->allowed = fmax(n->allowed, c->allowed);
  assert(n->different <= n->compared);
}

void verify_compare(struct verify *v, struct verify_call *c) {
  struct walk w = {.call = c};
  walk_all(&w);
  pthread_mutex_lock(&v->lock);
  forget_parent(v);
  count(v, &w, relative(&w));
  pthread_mutex_unlock(&v->lock);
  verify_drop(c);
}
