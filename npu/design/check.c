/* check.c -- rules that hardware would only show as a hang or as garbage.
 * One function per rule; the message names the tile and the thing. */
#include "parts.h"

static const char *kind_name(int row) {
  switch (tile_kind(row)) {
  case TILE_SHIM:
    return "shim";
  case TILE_MEM:
    return "mem";
  case TILE_CORE:
  case TILE_KINDS:
    break;
  }
  return "core";
}

static const struct device *device(const struct design *x) {
  return x->program->device;
}

static const struct tile_resources *resources(const struct design *x, int row) {
  return &device(x)->tile[tile_kind(row)];
}

/* What a tile has, by number, and its descriptors in the design's order. */
struct tile {
  const struct design_bd **bd, **all;
  const struct design_lock **lock;
  int count;
  int buffer; /* its last one so far is the one before this; 0: none */
};
/* Of which lock to which one a descriptor moves so many buffers; 0: none that a
 * descriptor before it does not move. */
struct move {
  const struct design_lock *from, *to;
  int count;
};
struct tiles {
  const struct design *design;
  struct tile *tile; /* column by column */
  struct move *move; /* of each descriptor */
  int *before;       /* the one of its tile before each buffer, as `buffer` */
};

static int rows_of(const struct design *x) {
  return CORE_ROW + device(x)->core_rows;
}

/* NULL: the device has none there. */
static struct tile *tile_of(const struct tiles *t, int column, int row) {
  const struct design *x = t->design;
  bool there = column >= 0 && column < device(x)->columns && row >= 0 &&
               row < rows_of(x);
  return there ? &t->tile[column * rows_of(x) + row] : NULL;
}

static struct tiles tiles_open(struct arena *a, const struct design *x) {
  int rows = rows_of(x), count = device(x)->columns * rows;
  struct tiles t = {x, arena_array(a, (size_t)count, sizeof *t.tile),
                    arena_array(a, (size_t)x->bd_count, sizeof *t.move),
                    arena_array(a, (size_t)x->buffer_count, sizeof *t.before)};
  for (int i = 0; i < count; i++) {
    const struct tile_resources *r = resources(x, i % rows);
    t.tile[i].bd = arena_array(a, (size_t)r->bds, sizeof *t.tile->bd);
    t.tile[i].all = arena_array(a, (size_t)r->bds, sizeof *t.tile->all);
    t.tile[i].lock = arena_array(a, (size_t)r->locks, sizeof *t.tile->lock);
  }
  return t;
}

/* Every buffer lies inside its tile's memory and overlaps no other. */
static bool check_buffers(const struct tiles *t, struct diag *d) {
  const struct design *x = t->design;
  for (int i = 0; i < x->buffer_count; i++) {
    const struct design_buffer *b = &x->buffer[i];
    uint32_t limit = resources(x, b->row)->memory_bytes;
    if (b->offset > limit || b->bytes > limit - b->offset)
      return diag_error(d, loc_none(),
                        "%s tile (%d,%d): buffer %s ends at byte %llu of %u",
                        kind_name(b->row), b->column, b->row, b->name,
                        (unsigned long long)b->offset + b->bytes, limit);
    struct tile *at = tile_of(t, b->column, b->row);
    for (int j = at->buffer; j > 0; j = t->before[j - 1]) {
      const struct design_buffer *o = &x->buffer[j - 1];
      if (o->offset < b->offset + b->bytes && b->offset < o->offset + o->bytes)
        return diag_error(
            d, loc_none(), "%s tile (%d,%d): buffers %s and %s overlap",
            kind_name(b->row), b->column, b->row, o->name, b->name);
    }
    t->before[i] = at->buffer;
    at->buffer = i + 1;
  }
  return true;
}

/* Lock ids exist, are used once, and hold their values. */
static bool check_locks(const struct tiles *t, struct diag *d) {
  const struct design *x = t->design;
  for (int i = 0; i < x->lock_count; i++) {
    const struct design_lock *l = &x->lock[i];
    int limit = resources(x, l->row)->locks, most = device(x)->max_lock;
    if (l->id < 0 || l->id >= limit || l->value < 0 || l->value > most)
      return diag_error(d, loc_none(),
                        "%s tile (%d,%d): lock %s is number %d of %d with "
                        "value %d of 0..%d",
                        kind_name(l->row), l->column, l->row, l->name, l->id,
                        limit, l->value, most);
    const struct design_lock **place =
        &tile_of(t, l->column, l->row)->lock[l->id];
    if (*place)
      return diag_error(
          d, loc_none(), "%s tile (%d,%d): locks %s and %s share number %d",
          kind_name(l->row), l->column, l->row, (*place)->name, l->name, l->id);
    *place = l;
  }
  return true;
}

/* NULL: the tile has no descriptor of that number. */
static const struct design_bd *find_bd(const struct tiles *t, int column,
                                       int row, int id) {
  bool there = id >= 0 && id < resources(t->design, row)->bds;
  return there ? tile_of(t, column, row)->bd[id] : NULL;
}

static const struct design_bd *next_of(const struct tiles *t,
                                       const struct design_bd *b) {
  return find_bd(t, b->column, b->row, b->bd.next);
}

/* Descriptors exist in the tile and are used once; mem tiles split them into
 * even and odd halves. */
static bool check_numbers(const struct tiles *t, struct diag *d) {
  const struct design *x = t->design;
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i];
    int limit = resources(x, b->row)->bds;
    int low = 0;
    if (tile_kind(b->row) == TILE_MEM) {
      low = b->channel % 2 ? limit / 2 : 0;
      limit = low + limit / 2;
    }
    if (b->id < low || b->id >= limit)
      return diag_error(d, loc_none(),
                        "%s tile (%d,%d): descriptor %s is number %d; channel "
                        "%d uses %d..%d",
                        kind_name(b->row), b->column, b->row, b->name, b->id,
                        b->channel, low, limit - 1);
    struct tile *at = tile_of(t, b->column, b->row);
    if (at->bd[b->id])
      return diag_error(d, loc_none(),
                        "%s tile (%d,%d): descriptor number %d is used twice",
                        kind_name(b->row), b->column, b->row, b->id);
    at->bd[b->id] = b;
    at->all[at->count++] = b;
  }
  return true;
}

/* They pack into registers, and chain within their channel. */
static bool check_bds(const struct tiles *t, struct diag *d) {
  const struct design *x = t->design;
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i], *next = next_of(t, b);
    uint32_t words[8];
    if (b->bd.next >= 0 &&
        (!next || next->mm2s != b->mm2s || next->channel != b->channel))
      return diag_error(d, loc_none(),
                        "%s tile (%d,%d): descriptor %s is followed by number "
                        "%d, which is not of its channel",
                        kind_name(b->row), b->column, b->row, b->name,
                        b->bd.next);
    if (!bd_pack(tile_kind(b->row), &b->bd, words, d))
      return false;
  }
  return true;
}

/* What a descriptor means by lock `number`: in mem tiles those of the east
 * neighbour follow its own, and the last ones are the west one's. */
static const struct design_lock *
lock_of(const struct tiles *t, const struct design_bd *b, int number) {
  int locks = resources(t->design, b->row)->locks, side = 0;
  if (tile_kind(b->row) == TILE_MEM && number >= 0) {
    side = number >= 3 * locks ? -1 : number / locks;
    number %= locks;
  }
  const struct tile *at = tile_of(t, b->column + side, b->row);
  return at && number >= 0 && number < locks ? at->lock[number] : NULL;
}

/* A lock that descriptors acquire must be released by something:
 * another channel, or the core for the locks of a core tile. */
static bool check_balance(const struct tiles *t, struct arena *a,
                          struct diag *d) {
  const struct design *x = t->design;
  struct {
    bool acquired, released;
  } *is = arena_array(a, (size_t)x->lock_count, sizeof *is);
  for (int i = 0; i < x->bd_count; i++) {
    const struct bd *b = &x->bd[i].bd;
    const struct design_lock *l = lock_of(t, &x->bd[i], b->acquire_lock),
                             *k = lock_of(t, &x->bd[i], b->release_lock);
    if (l)
      is[l - x->lock].acquired = true;
    if (k && b->release_value > 0)
      is[k - x->lock].released = true;
  }
  for (int i = 0; i < x->lock_count; i++) {
    const struct design_lock *l = &x->lock[i];
    if (is[i].acquired && !is[i].released && tile_kind(l->row) != TILE_CORE)
      return diag_error(
          d, loc_none(),
          "%s tile (%d,%d): lock %s is acquired and never released",
          kind_name(l->row), l->column, l->row, l->name);
  }
  return true;
}

/* The descriptor of a buffer that hands it on: itself, or the last one of
 * several that walk over the buffer. */
static const struct bd *release_of(const struct tiles *t,
                                   const struct design_bd *b) {
  const struct design_bd *at = b;
  while (at->bd.release_value == 0 && at->bd.next >= 0) {
    const struct design_bd *next = next_of(t, at);
    if (!next || next == b || next->bd.acquire_lock >= 0)
      break;
    at = next;
  }
  return &at->bd;
}

/* Cores wait until a launch's numbers are there, and count its rounds in a
 * pointer. */
static bool check_launch(const struct design *x, struct diag *d) {
  enum { MOST_ROUNDS = (1 << 20) - 1 };
  for (int i = 0; i < x->core_count; i++) {
    const struct design_core *c = &x->core[i];
    const struct design_lock *l =
        design_find_lock(x, c->column, c->row, "launch");
    if (x->program->converts && c->row == design_convert_row(x->program))
      continue; /* counts by itself */
    if (!l || l->value)
      return diag_error(d, loc_none(),
                        "core tile (%d,%d): lock launch begins with %d; no "
                        "launch has begun",
                        c->column, c->row, l ? l->value : -1);
  }
  if (x->launch.rounds < 1 || x->launch.rounds > MOST_ROUNDS)
    return diag_error(d, loc_none(), "a launch of %u rounds; cores count to %d",
                      x->launch.rounds, MOST_ROUNDS);
  return true;
}

/* Whether a descriptor before this one does the same with the same buffer: a
 * loop of them may go through a ring more than once. */
static bool is_again(const struct tile *t, const struct design_bd *b) {
  for (int i = 0; t->all[i] != b; i++) {
    const struct design_bd *o = t->all[i];
    if (o->mm2s == b->mm2s && o->channel == b->channel &&
        o->bd.base == b->bd.base && o->bd.acquire_lock == b->bd.acquire_lock)
      return true;
  }
  return false;
}

/* Descriptors stand for as many buffers as they have iterations. */
static void set_moves(const struct tiles *t) {
  const struct design *x = t->design;
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i];
    const struct bd *last = release_of(t, b);
    t->move[i] = (struct move){
        lock_of(t, b, b->bd.acquire_lock), lock_of(t, b, last->release_lock),
        is_again(tile_of(t, b->column, b->row), b)
            ? 0
            : last->release_value * (int)b->bd.iteration_count};
  }
}

/* A ring's two locks count its buffers, which descriptors of their tile or of
 * one beside it move. */
static int buffers_between(const struct tiles *t,
                           const struct design_lock *from,
                           const struct design_lock *to) {
  int count = 0;
  for (int side = -1; side <= 1; side++) {
    const struct tile *at = tile_of(t, from->column + side, from->row);
    for (int i = 0; at && i < at->count; i++) {
      const struct move *m = &t->move[at->all[i] - t->design->bd];
      count += m->from == from && m->to == to ? m->count : 0;
    }
  }
  return count;
}

/* With one more, a writer overtakes the reader and fills a buffer that is not
 * read yet; with one less, a buffer is never used. */
static bool check_rings(const struct tiles *t, struct diag *d) {
  const struct design *x = t->design;
  set_moves(t);
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i];
    const struct design_lock *l = t->move[i].from, *k = t->move[i].to;
    bool same = i && t->move[i - 1].from == l && t->move[i - 1].to == k;
    if (l == k || !l || !k || same) /* as in the ring's other buffers */
      continue;
    int forth = buffers_between(t, l, k);
    int back = buffers_between(t, k, l);
    int buffers = forth > back ? forth : back;
    if (l->value + k->value != buffers)
      return diag_error(d, loc_none(),
                        "%s tile (%d,%d): locks %s and %s begin with %d; their "
                        "ring has %d buffers",
                        kind_name(b->row), b->column, b->row, l->name, k->name,
                        l->value + k->value, buffers);
  }
  return true;
}

/* The core programs fit their memory. */
static bool check_programs(const struct design *x, struct arena *a,
                           struct diag *d) {
  uint32_t limit = device(x)->program_bytes;
  for (int i = 0; i < x->core_count; i++) {
    const struct design_core *c = &x->core[i];
    bool same = i > 0 && c[-1].elf == c->elf; /* as most of them are */
    if (!same && !elf_load(device(x), c->elf, c->elf_bytes, c->column, c->row,
                           command_list(a), d))
      return diag_error(d, loc_none(),
                        "core tile (%d,%d): program exceeds %u bytes",
                        c->column, c->row, limit);
  }
  return true;
}

/* Tasks of one phase on the channel of this one. */
static int tasks_beside(const struct design *x, const struct design_task *k) {
  int count = 0;
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *o = &x->task[i];
    count += o->phase == k->phase && o->column == k->column &&
             o->row == k->row && o->channel == k->channel && o->mm2s == k->mm2s;
  }
  return count;
}

/* Of an argument; a bias lies behind out. */
static uint64_t argument_bytes(const struct tile_program *p, int argument) {
  const struct map_transfer *t = p->transfer;
  while (t->tensor != argument)
    t++;
  if (argument != OUT || !p->finish.bias)
    return (uint64_t)t->bytes;
  struct design_bias b = design_bias(p);
  return (uint64_t)(b.offset_bytes + b.blocks * b.block_bytes);
}

/* The task's descriptor is there, and of its channel. */
static bool has_descriptor(const struct tiles *t, const struct design_task *k) {
  const struct design_bd *b = find_bd(t, k->column, k->row, k->bd);
  return b && b->mm2s == k->mm2s && b->channel == k->channel;
}

/* A channel's queue holds the tasks of all phases that may be outstanding. */
static bool check_tasks(const struct tiles *t, struct diag *d) {
  const struct design *x = t->design;
  int depth = device(x)->queue_depth, runs = device(x)->max_repeat;
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *k = &x->task[i];
    int ahead = x->phases_ahead / x->turns;
    if (k->phase < x->turns && !k->queued && tasks_beside(x, k) * ahead > depth)
      return diag_error(d, loc_none(),
                        "column %d %s channel %d: %d tasks in each of %d "
                        "outstanding phases; a queue holds %d",
                        k->column, kind_name(k->row), k->channel,
                        tasks_beside(x, k), ahead, depth);
    if (!has_descriptor(t, k))
      return diag_error(d, loc_none(),
                        "column %d %s channel %d: a task begins with "
                        "descriptor %d, which is not of the channel",
                        k->column, kind_name(k->row), k->channel, k->bd);
    uint64_t bytes = argument_bytes(x->program, k->argument);
    if (k->repeat < 1 || k->repeat > runs || k->offset_bytes > bytes)
      return diag_error(d, loc_none(),
                        "phase %d column %d argument %d: offset %llu of %lld "
                        "bytes, %d runs of 1..%d",
                        k->phase, k->column, k->argument,
                        (unsigned long long)k->offset_bytes, (long long)bytes,
                        k->repeat, runs);
  }
  return true;
}

bool design_check(const struct design *x, struct diag *d) {
  struct arena *a = arena_open();
  const struct tiles t = tiles_open(a, x);
  bool good =
      check_buffers(&t, d) && check_locks(&t, d) && check_numbers(&t, d) &&
      check_bds(&t, d) && check_balance(&t, a, d) && check_launch(x, d) &&
      check_rings(&t, d) && check_programs(x, a, d) && check_tasks(&t, d);
  arena_close(a);
  return good;
}
