/* The lists of what is stepped, and who puts something on them: a channel that
 * is woken, a port that gets a beat.  They are left in dma.c and stream.c. */
#include "tile.h"

struct channel *channel_of(struct tile *t, bool mm2s, int index) {
  int count = t->sim->device->tile[t->kind].channels;
  return index >= 0 && index < count ? &t->channel[mm2s][index] : NULL;
}

void channel_wake(struct channel *c) {
  struct sim *s = c->tile->sim;
  assert(s->channel_count < s->columns * s->rows * 2 * MAX_CHANNELS);
  struct fifo *f = c->mm2s && c->port ? &c->port->fifo : &c->in;
  f->full = UINT32_MAX;
  f->empty = -1;
  c->asleep = false;
  if (c->listed)
    return;
  c->listed = true;
  s->channel[s->channel_count++] = c;
}

void locks_changed(struct tile *t) {
  while (t->waiting) {
    struct channel *c = t->waiting;
    t->waiting = c->next_waiting;
    c->waits = false;
    channel_wake(c);
  }
}

void port_list(struct sim *s, struct slave *p) {
  p->fifo.full = UINT32_MAX;
  if (p->listed)
    return;
  assert(p->fifo.count <= p->fifo.depth);
  p->listed = true;
  s->port[s->port_count++] = p;
}

void channels_visit(const struct sim *s,
                    void (*visit)(struct channel *, void *), void *context) {
  for (int i = 0; i < s->columns * s->rows; i++)
    for (int mm2s = 0; mm2s < 2; mm2s++)
      for (int c = 0; c < s->device->tile[s->tile[i].kind].channels; c++)
        if (s->tile[i].channel[mm2s][c].state != CHANNEL_IDLE)
          visit(&s->tile[i].channel[mm2s][c], context);
}
