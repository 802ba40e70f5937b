/* explain.c -- a deadlock as a chain: who waits for what, who would have to
 * give it, what that one waits for, and so on, until somebody waits for one of
 * those before it, or for nobody that could help.
 *
 * Who releases a lock is read from the descriptors of channels that run, and
 * for cores from what they released so far; a lock that neither has is taken to
 * be the tile's core's.  Who is at a stream's other end follows from the
 * switches.
 */
#include "tile.h"

enum { MOST_PARTS = 64, MOST_HOPS = 64 };

/* A core or a channel; both NULL: nobody. */
struct party {
  struct tile *core;
  struct channel *channel;
};

static const struct party nobody;

static bool is_somebody(struct party p) { return p.core || p.channel; }

static bool is_same(struct party a, struct party b) {
  return a.core == b.core && a.channel == b.channel;
}

static struct party core_party(struct tile *t) {
  return (struct party){.core = t};
}

static struct party channel_party(struct channel *c) {
  return (struct party){.channel = c};
}

/* ---- names ---- */

static const char *bd_label(const struct channel *c) {
  const struct sim_names *n = c->tile->sim->options.names;
  return n ? n->bd(n->context, c->tile->column, c->tile->row, c->bd) : NULL;
}

static void put_party(struct text *t, struct party p) {
  char name[48];
  if (p.core) {
    text_puts(t, tile_name(p.core, name));
    return;
  }
  text_puts(t, channel_name(p.channel, name));
  if (bd_label(p.channel))
    text_printf(t, " (%s)", bd_label(p.channel));
}

static void put_lock(struct text *t, const struct tile *at, int lock,
                     int wanted) {
  const struct sim_names *n = at->sim->options.names;
  const char *label = n ? n->lock(n->context, at->column, at->row, lock) : NULL;
  char name[32];
  text_printf(t, "waits for lock %d", lock);
  if (label)
    text_printf(t, " (%s)", label);
  text_printf(t, " of %s to be %s %d; it is %d", tile_name(at, name),
              wanted < 0 ? "at least" : "exactly",
              wanted < 0 ? -wanted : wanted, at->lock[lock].value);
}

/* ---- who releases a lock ---- */

static bool releases(struct channel *c, const struct tile *at, int lock) {
  int bd = c->start_bd;
  for (int i = 0; i < MAX_BDS && bd >= 0 && c->state != CHANNEL_IDLE; i++) {
    struct tile *to;
    int own;
    if (descriptor_lock(c, bd, false, &to, &own) && to == at && own == lock)
      return true;
    uint32_t first, count;
    bd = descriptor_run(c->tile, bd, &first, &count);
  }
  return false;
}

/* Core lock numbers by tile: south, west, north, own. */
static bool core_released(const struct tile *core, const struct tile *at,
                          int lock) {
  static const struct {
    int columns, rows, first;
  } way[] = {{0, -1, 0}, {-1, 0, 16}, {0, 1, 32}, {0, 0, 48}};
  for (int i = 0; i < 4; i++)
    if (tile_at(core->sim, core->column + way[i].columns,
                core->row + way[i].rows) == at)
      return core->released >> (way[i].first + lock) & 1;
  return false;
}

static struct party find_releaser(struct sim *s, struct tile *at, int lock) {
  for (int i = 0; i < s->columns * s->rows; i++) {
    struct tile *t = &s->tile[i];
    for (int c = 0; c < 2 * s->device->tile[t->kind].channels; c++)
      if (releases(&t->channel[c & 1][c >> 1], at, lock))
        return channel_party(&t->channel[c & 1][c >> 1]);
  }
  for (int i = 0; i < s->columns * s->rows; i++)
    if (s->tile[i].core && core_released(&s->tile[i], at, lock))
      return core_party(&s->tile[i]);
  return at->core && at->core_listed ? core_party(at) : nobody;
}

/* ---- the ends of a stream ---- */

/* The party behind the first sink below a port that has no room. */
static struct party find_full(const struct slave *p, int hops) {
  for (int i = 0; i < p->sink_count && hops > 0; i++) {
    const struct sink *k = &p->sink[i];
    struct tile *t = p->tile;
    if (k->kind != SINK_FIFO || fifo_has_room(k->fifo, 1))
      continue;
    if (k->port)
      return find_full(k->port, hops - 1);
    if (k->fifo == &t->core_in)
      return core_party(t);
    for (int c = 0; c < t->sim->device->tile[t->kind].channels; c++)
      if (k->fifo == &t->channel[0][c].in)
        return channel_party(&t->channel[0][c]);
  }
  return nobody;
}

static bool leads_to(const struct slave *p, const struct fifo *f, int hops) {
  for (int i = 0; i < p->sink_count && hops > 0; i++) {
    const struct sink *k = &p->sink[i];
    if (k->kind == SINK_FIFO &&
        (k->fifo == f || (k->port && leads_to(k->port, f, hops - 1))))
      return true;
  }
  return false;
}

static struct party find_sender(struct sim *s, const struct fifo *f) {
  for (int i = 0; i < s->columns * s->rows; i++) {
    struct tile *t = &s->tile[i];
    for (int c = 0; c < s->device->tile[t->kind].channels; c++) {
      struct channel *x = &t->channel[1][c];
      if (x->port && leads_to(x->port, f, MOST_HOPS))
        return channel_party(x);
    }
    int core = port_slave(TILE_CORE, PORT_CORE, 0);
    if (t->kind == TILE_CORE && leads_to(&t->port[core], f, MOST_HOPS))
      return core_party(t);
  }
  return nobody;
}

/* ---- one part: what it waits for; returns who would have to give it ---- */

static struct party lock_wait(struct sim *s, struct tile *at, int lock,
                              int wanted, struct text *t) {
  put_lock(t, at, lock, wanted);
  struct party p = find_releaser(s, at, lock);
  if (!is_somebody(p))
    text_puts(t, "; nothing that runs releases it");
  return p;
}

static struct party core_wait(struct tile *t, struct text *out) {
  struct sim *s = t->sim;
  if (!t->core_listed) {
    text_puts(out, "does not run");
    return nobody;
  }
  enum core_stall stall = core_stalled(t->core);
  if (stall == STALL_LOCK && t->wait_lock)
    return lock_wait(s, t->wait_tile, (int)(t->wait_lock - t->wait_tile->lock),
                     t->wait_value, out);
  if (stall != STALL_STREAM) {
    text_puts(out, "computes without end");
    return nobody;
  }
  const struct slave *to = &t->port[port_slave(TILE_CORE, PORT_CORE, 0)];
  bool full = !fifo_has_room(&to->fifo, 1);
  text_puts(out, full ? "waits for room in its stream"
                      : "waits for words of its stream or the cascade");
  return full ? find_full(to, MOST_HOPS) : find_sender(s, &t->core_in);
}

static struct party channel_wait(struct channel *c, struct text *t) {
  struct sim *s = c->tile->sim;
  struct party p = nobody;
  switch (c->state) {
  case CHANNEL_IDLE:
    text_puts(t, "has no task");
    return nobody;
  case CHANNEL_START:
  case CHANNEL_FINISH:
    text_puts(t, "is between two descriptors");
    return nobody;
  case CHANNEL_ACQUIRE:
    return lock_wait(s, c->acquire_tile, c->acquire_lock, c->acquire_value, t);
  case CHANNEL_MOVE:
    break;
  }
  if (c->mm2s && !c->port) {
    text_puts(t, "is not connected to the switch");
    return nobody;
  }
  text_printf(t, "waits for %s of its stream, %u left",
              c->mm2s ? "room for words" : "words", c->walk.left);
  p = c->mm2s ? find_full(c->port, MOST_HOPS) : find_sender(s, &c->in);
  if (!is_somebody(p))
    text_printf(t, "; no channel or core %s it",
                c->mm2s ? "takes from" : "sends into");
  return p;
}

static struct party wait_of(struct party p, struct text *t) {
  put_party(t, p);
  text_puts(t, " ");
  return p.core ? core_wait(p.core, t) : channel_wait(p.channel, t);
}

/* ---- the chain ---- */

/* The channel whose token the command processor wants, or at whose status it
 * looks; NULL: it waits for neither. */
static struct channel *wanted_channel(struct sim *s) {
  const struct control *p = &s->control;
  if (p->at >= p->list->count)
    return NULL;
  const struct command *c = &p->list->item[p->at];
  if (c->kind == COMMAND_MASK_POLL)
    return register_status(s, c->address);
  struct tile *at =
      c->kind == COMMAND_SYNC ? tile_at(s, c->column, c->row) : NULL;
  return at ? channel_of(at, c->mm2s, c->channel) : NULL;
}

/* Where it begins. */
static struct party first_party(struct sim *s, struct text *t) {
  struct channel *x = wanted_channel(s);
  char name[48];
  if (!x)
    return s->core_count ? core_party(s->core[0]) : nobody;
  bool token = s->control.list->item[s->control.at].kind == COMMAND_SYNC;
  text_printf(t, "the command processor waits for %s of %s\n",
              token ? "a token" : "the end", channel_name(x, name));
  return channel_party(x);
}

void explain_print(struct sim *s, struct text *t) {
  struct party chain[MOST_PARTS], p = first_party(s, t);
  int count = 0;
  while (is_somebody(p)) {
    for (int i = 0; i < count; i++)
      if (is_same(chain[i], p)) {
        put_party(t, p);
        text_printf(t, " again: %d part%s wait%s in a circle\n", count - i,
                    count - i > 1 ? "s" : "", count - i > 1 ? "" : "s");
        return;
      }
    if (count == MOST_PARTS)
      return;
    chain[count++] = p;
    p = wait_of(p, t);
    text_puts(t, "\n");
  }
}
