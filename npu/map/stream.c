/* stream.c -- the order in which the elements of a buffer travel, and where
 * each has its place on both ends of the way.
 *
 * A buffer of a mem tile holds a block of an input for so many steps of k, or a
 * block of out.  Device memory is walked in the order of its addresses, the
 * largest stride outermost, whatever roles the axes have: that gives the
 * longest runs.  In the mem tile the buffer lies in the multiply unit's small
 * matrices, r x c, row after row of them:
 *
 *   [rows/r][columns/c][r][c], or if turned [rows/r][columns/c][c][r]
 *
 * so an axis whose elements fill more than a small matrix becomes two loops, in
 * it and over them.  Words of 4 bytes are what travels: neighbours along the
 * contiguous axis.
 *
 * A descriptor of a mem tile walks over four dimensions.  Where the order of
 * addresses needs more, the axes of a role are put beside each other: in small
 * matrices these continue each other, so two loops a role are left.
 */
#include "map.h"

#include "kernels.h"

#include <assert.h>

/* Of the buffer as a matrix of its tensor's roles. */
struct digit {
  int which;      /* role: 0 rows, 1 columns */
  int64_t weight; /* elements of the role by which an index moves it */
  int64_t extent, stride_bytes;
};

struct digits {
  struct digit digit[3 * MAP_LOOPS];
  int count;
  int last; /* the role whose digits are innermost; -1: by falling strides */
};

static bool is_outside(const struct digits *x, const struct digit *a,
                       const struct digit *b) {
  if (x->last < 0)
    return a->stride_bytes >= b->stride_bytes;
  return a->which == b->which ? a->weight > b->weight : b->which == x->last;
}

static void add_digit(struct digits *x, struct digit d) {
  int at = x->count;
  if (d.extent == 1)
    return;
  assert(x->count < 3 * MAP_LOOPS);
  for (; at > 0 && !is_outside(x, &x->digit[at - 1], &d); at--)
    x->digit[at] = x->digit[at - 1];
  x->digit[at] = d;
  x->count++;
}

static void add_side(struct digits *x, const struct tile_program *p, int tensor,
                     int which) {
  const struct map_nest *n = &p->side[map_roles[tensor][which]];
  int64_t weight = 1;
  if (n->count == 1) {
    add_digit(x, (struct digit){which, 1, map_moved(p, tensor, which),
                                n->loop[0].stride_bytes[tensor]});
    return;
  }
  for (int i = n->count - 1; i >= 0; i--) {
    const struct map_loop *l = &n->loop[i];
    add_digit(
        x, (struct digit){which, weight, l->extent, l->stride_bytes[tensor]});
    weight *= l->extent;
  }
}

/* The innermost steps of the loops over k, of blocks of `weight` elements:
 * whole loops and a stretch of the next one. */
static bool add_steps(struct digits *x, const struct map_nest *n, int tensor,
                      int which, int64_t steps, int64_t weight) {
  for (int i = n->count - 1; i >= 0 && steps > 1; i--) {
    const struct map_loop *l = &n->loop[i];
    int64_t take = steps < l->extent ? steps : l->extent;
    if (steps % take)
      return false;
    add_digit(x, (struct digit){which, weight, take, l->stride_bytes[tensor]});
    weight *= take;
    steps /= take;
  }
  return steps == 1;
}

/* What a buffer holds of k: steps, or where K is uneven so many elements. */
struct stretch {
  int steps;
  int64_t k;
};

static bool find_digits(const struct tile_program *p, int tensor,
                        const struct stretch *of, bool group,
                        struct digits *x) {
  const enum axis_role *role = map_roles[tensor];
  int steps = of->steps;
  for (int which = 0; which < 2; which++) {
    if (role[which] == AXIS_K && of->k) {
      add_digit(x,
                (struct digit){which, 1, of->k,
                               p->side[AXIS_K].loop[0].stride_bytes[tensor]});
      continue;
    }
    add_side(x, p, tensor, which);
    if (role[which] == AXIS_K &&
        !add_steps(x, &p->time[AXIS_K], tensor, which, steps,
                   map_nest_extent(&p->side[AXIS_K])))
      return false;
  }
  if (group)
    add_digit(x, (struct digit){0, p->block_m, p->group.extent,
                                p->group.stride_bytes[tensor]});
  return true;
}

/* ---- places ---- */

struct matrix {
  int64_t small[2];  /* extents of a small matrix */
  int64_t inside[2]; /* bytes to the next element in it */
  int64_t big[2];    /* to the next small matrix */
};

static void add_piece(struct map_stream *s, int64_t extent,
                      int64_t stride_bytes, int64_t place_bytes) {
  if (extent == 1)
    return;
  assert(s->count < MAP_STREAM_LOOPS);
  s->loop[s->count++] =
      (struct map_stream_loop){extent, stride_bytes, place_bytes};
}

/* An axis over and in small matrices; false: it does not end with them. */
static bool place_digit(const struct digit *d, const struct matrix *m,
                        struct map_stream *s) {
  int64_t small = m->small[d->which];
  if (d->weight >= small) {
    if (d->weight % small)
      return false;
    add_piece(s, d->extent, d->stride_bytes,
              d->weight / small * m->big[d->which]);
    return true;
  }
  int64_t inner = small / d->weight;
  if (small % d->weight)
    return false;
  if (inner > d->extent)
    inner = d->extent;
  if (d->extent % inner || (d->extent > inner && inner * d->weight != small))
    return false;
  add_piece(s, d->extent / inner, d->stride_bytes * inner, m->big[d->which]);
  add_piece(s, inner, d->stride_bytes, d->weight * m->inside[d->which]);
  return true;
}

/* The innermost loop as one over words, of which the last one may be shared
 * with what lies behind, if `shared`. */
static bool count_words(struct map_stream *s, int64_t element, bool shared) {
  enum { WORD = 4 };
  if (element == WORD)
    return true;
  struct map_stream_loop *l = &s->loop[s->count ? s->count - 1 : 0];
  if (shared && !s->count)
    s->loop[s->count++] = (struct map_stream_loop){1, element, element};
  else if (shared && l->stride_bytes > element)
    return l->stride_bytes % WORD == 0; /* one of k, in a word each */
  if (!s->count || l->stride_bytes != element || l->place_bytes != element ||
      (!shared && l->extent * element % WORD))
    return false;
  l->extent = (l->extent * element + WORD - 1) / WORD;
  l->stride_bytes = l->place_bytes = WORD;
  if (l->extent == 1 && s->count > 1)
    s->count--;
  return true;
}

/* Dimensions of a walk over the places. */
static int dimensions(const struct map_stream *s) {
  int count = s->count > 0;
  for (int i = 1; i < s->count; i++)
    count += s->loop[i - 1].place_bytes !=
             s->loop[i].place_bytes * s->loop[i].extent;
  return count;
}

/* The same in device memory. */
static int walk_loops(const struct map_stream *s) {
  int count = s->count > 0;
  for (int i = 1; i < s->count; i++)
    count += s->loop[i - 1].stride_bytes !=
             s->loop[i].stride_bytes * s->loop[i].extent;
  return count;
}

/* Whether two descriptors of a mem tile walk over a block, and there are so
 * many: a panel of in0 has two for every chunk. */
static bool in_two_parts(const struct tile_program *p,
                         const struct map_stream *s) {
  enum { MOST_CHUNKS = 5 };
  const struct map_stream_loop *l = s->loop;
  return dimensions(s) == 5 && l->extent == 2 &&
         l->place_bytes != l[1].place_bytes * l[1].extent &&
         p->panel.chunks <= MOST_CHUNKS;
}

static bool place(const struct tile_program *p, int tensor,
                  const struct stretch *of, bool group, int last,
                  const struct matrix *m, struct map_stream *s) {
  struct digits x = {.last = last};
  s->count = 0;
  if (!find_digits(p, tensor, of, group, &x))
    return false;
  s->by_k = x.count && map_roles[tensor][x.digit[0].which] == AXIS_K;
  for (int i = 0; i < x.count; i++)
    if (!place_digit(&x.digit[i], m, s))
      return false;
  const struct map_transfer *t = &p->transfer[tensor];
  bool along_k = tensor < OUT && t->turned == (tensor == IN1);
  return count_words(s, dtype_bytes(t->type), along_k && map_end(p).inside);
}

/* Of an input whose blocks are padded along k, which then is not cut: row by
 * row where it is contiguous, else
 *
 *   in0 [m/R][k][R], in1 [n/T][k][T]
 *
 * so that in every place zeros may follow the last k.  A buffer whose last step
 * has less leaves space for what is not there. */
static struct matrix uncut(const struct tile_program *p, int tensor, int steps,
                           const struct kernel_shape *s) {
  const struct map_transfer *t = &p->transfer[tensor];
  if (map_end(p).inside)
    steps = p->panel.run[tensor];
  int64_t element = dtype_bytes(t->type),
          k = map_nest_extent(&p->side[AXIS_K]) * steps,
          side = (tensor == IN0) == t->turned ? tensor == IN0 ? s->m : s->n : 1;
  const int of_k = tensor == IN0;
  struct matrix m;
  m.small[of_k] = 1;
  m.inside[of_k] = m.big[of_k] = side * element;
  m.small[!of_k] = side;
  m.inside[!of_k] = element;
  m.big[!of_k] = k * side * element;
  return m;
}

/* A block of out of which not all leaves, element by element. */
static struct matrix unfolded(const struct tile_program *p) {
  int64_t element = dtype_bytes(p->transfer[OUT].type),
          row = p->turns_out ? element : p->block_n * element,
          column = p->turns_out ? p->block_m * element : element;
  return (struct matrix){{1, 1}, {row, column}, {row, column}};
}

static bool stream_of(const struct tile_program *p, int tensor,
                      const struct stretch *of, bool group,
                      struct map_stream *s) {
  const struct map_transfer *t = p->transfer;
  struct kernel_shape k;
  int64_t element = dtype_bytes(t[tensor].type);
  if (!kernel_shape(map_isa(p->device), t[IN0].type, t[IN1].type, p->acc, &k))
    return false;
  int64_t rows = tensor == IN1 ? k.k : k.m, columns = tensor == IN0 ? k.k : k.n;
  bool turned = tensor == OUT ? p->turns_out : t[tensor].turned;
  int64_t all = tensor != IN0 ? p->block_n
                : of->k       ? of->k
                              : (int64_t)p->block_k * of->steps;
  struct matrix m = {.small = {rows, columns},
                     .inside = {turned ? element : columns * element,
                                turned ? rows * element : element},
                     .big = {all * rows * element, rows * columns * element}};
  if (tensor != OUT && map_is_uncut(p))
    m = uncut(p, tensor, of->steps, &k);
  if (tensor == OUT && map_clips_out(p))
    m = unfolded(p);
  if (!place(p, tensor, of, group, -1, &m, s))
    return false;
  if (dimensions(s) <= 4)
    return true;
  if (of->k) /* in the same order for any */
    return false;
  struct map_stream by_role;
  if (!place(p, tensor, of, group, !t[tensor].turned, &m, &by_role))
    return false;
  if (tensor != OUT || !in_two_parts(p, s) ||
      walk_loops(s) >= walk_loops(&by_role))
    *s = by_role;
  return true;
}

bool map_stream_of(const struct tile_program *p, int tensor, int steps,
                   bool group, struct map_stream *s) {
  return stream_of(p, tensor, &(struct stretch){.steps = steps}, group, s);
}

bool map_stream_of_k(const struct tile_program *p, int tensor, int64_t k,
                     bool group, struct map_stream *s) {
  assert(k > 0 && k <= p->all_k);
  assert(p->side[AXIS_K].count == 1 && !map_is_padded(p));
  return stream_of(p, tensor, &(struct stretch){.k = k}, group, s);
}
