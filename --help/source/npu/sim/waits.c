/* Who waits for what, when nothing moves any more. */
#include "tile.h"

static void print_lock_wait(struct text *t, int lock, int wanted, int value) {
  text_printf(t, "waits for lock %d %s %d (value %d)", lock,
              wanted < 0 ? ">=" : "==", wanted < 0 ? -wanted : wanted, value);
}

static void control_wait(const struct sim *s, struct text *t) {
  const struct control *p = &s->control;
  if (p->at >= p->list->count)
    return;
  const struct command *c = &p->list->item[p->at];
  if (c->kind == COMMAND_SYNC)
    text_printf(t,
                "transaction op %d waits for a token of column %d row %d "
                "%s %d",
                p->at, c->column, c->row, c->mm2s ? "MM2S" : "S2MM",
                c->channel);
  else if (c->kind == COMMAND_MASK_POLL)
    text_printf(t, "transaction op %d polls 0x%08x for 0x%x under mask 0x%x",
                p->at, c->address, c->value, c->mask);
}

static void lost_tokens(const struct sim *s, struct text *t) {
  const struct lost_token *l = &s->lost;
  if (l->count)
    text_printf(t, "%d token%s lost, last of (%d,%d) %s%d with id %d: %s",
                l->count, l->count > 1 ? "s" : "", l->column, l->row,
                l->mm2s ? "MM2S" : "S2MM", l->channel, l->id, l->why);
}

static void core_wait(const struct tile *tile, struct text *t) {
  char name[32];
  text_printf(t, "%s ", tile_name(tile, name));
  enum core_stall stall = core_stalled(tile->core);
  if (stall == STALL_LOCK && tile->wait_lock) {
    int lock = (int)(tile->wait_lock - tile->wait_tile->lock);
    print_lock_wait(t, lock, tile->wait_value, tile->wait_lock->value);
    if (tile->wait_tile != tile)
      text_printf(t, " of %s", tile_name(tile->wait_tile, name));
  } else
    text_puts(t, stall == STALL_STREAM ? "waits for a stream"
                                       : "computes without end");
  text_printf(t, " at pc 0x%x", core_pc(tile->core));
}

static bool is_unconnected(const struct channel *c) {
  return c->mm2s && !c->port && c->state == CHANNEL_MOVE;
}

static void channel_wait(const struct channel *c, struct text *t) {
  char name[48];
  text_printf(t, "%s BD %d ", channel_name(c, name), c->bd);
  if (c->state == CHANNEL_ACQUIRE) {
    const struct tile *at = c->acquire_tile;
    print_lock_wait(t, c->acquire_lock, c->acquire_value,
                    at->lock[c->acquire_lock].value);
    if (at != c->tile)
      text_printf(t, " of %s", tile_name(at, name));
  } else if (is_unconnected(c))
    text_printf(t, "is not connected by the shim's multiplexer");
  else if (c->mm2s)
    text_printf(t, "cannot send (%u words left)", c->walk.left);
  else
    text_printf(t, "waits for words (%u left)", c->walk.left);
}

/* Ports whose words have nowhere to go at all. */
static bool port_is_dead(const struct slave *p) {
  if (!p->enabled || !p->sink_count)
    return !p->in_packet;
  for (int i = 0; i < p->sink_count; i++)
    if (p->sink[i].kind == SINK_NONE)
      return true;
  return false;
}

static void port_wait(const struct slave *p, struct text *t) {
  char name[32], port[16];
  text_printf(t, "%u words at slave %s of %s that no connected master takes",
              p->fifo.count, slave_name(p->tile, p->index, port),
              tile_name(p->tile, name));
}

/* ---- the whole list, cut where the room ends ---- */

struct list {
  struct text *to, clause;
  size_t limit;
  int left_out;
  int rank; /* of the channels that are listed at present */
};

/* Ends the present clause; it is left out when it does not fit. */
static void end_clause(struct list *l) {
  const size_t reserve = 16; /* for "; N more" */
  struct text *to = l->to, *clause = &l->clause;
  if (!clause->length)
    return;
  bool first = !to->length || to->data[to->length - 1] == ' ';
  if (l->left_out || to->length + clause->length + 2 > l->limit - reserve)
    l->left_out++;
  else
    text_printf(to, "%s%s", first ? "" : "; ", clause->data);
  clause->length = 0;
}

enum { RANK_UNCONNECTED, RANK_LOCK, RANK_STREAM };

static int rank_of(const struct channel *c) {
  return is_unconnected(c)             ? RANK_UNCONNECTED
         : c->state == CHANNEL_ACQUIRE ? RANK_LOCK
                                       : RANK_STREAM;
}

static void visit_channel(struct channel *c, void *context) {
  struct list *l = context;
  if (rank_of(c) != l->rank)
    return;
  channel_wait(c, &l->clause);
  end_clause(l);
}

/* The likeliest causes first: what can never move whatever else happens, then
 * cores, then channels that want a lock, then those that want words. */
void waits_print(const struct sim *s, struct text *to, size_t limit) {
  struct list l = {.to = to, .limit = limit};
  control_wait(s, &l.clause);
  end_clause(&l);
  lost_tokens(s, &l.clause);
  end_clause(&l);
  for (int i = 0; i < s->port_count; i++)
    if (port_is_dead(s->port[i])) {
      port_wait(s->port[i], &l.clause);
      end_clause(&l);
    }
  l.rank = RANK_UNCONNECTED;
  channels_visit(s, visit_channel, &l);
  for (int i = 0; i < s->core_count; i++) {
    core_wait(s->core[i], &l.clause);
    end_clause(&l);
  }
  for (l.rank = RANK_LOCK; l.rank <= RANK_STREAM; l.rank++)
    channels_visit(s, visit_channel, &l);
  if (l.left_out)
    text_printf(to, "; %d more", l.left_out);
  text_free(&l.clause);
}
