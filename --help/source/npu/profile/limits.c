/* limits.c -- what limits a run, from where its cycles went.
 *
 * The cores' largest loss says what they lack.  If that is blocks of a tensor,
 * the tensor's way is looked at, channel by channel, while the cores are in
 * full swing: a channel that waits for a lock, for its stream or for a task
 * waits for another part; the channel that does so least is the bottleneck, and
 * what it does in its other cycles names the limit.
 */
#include "parts.h"

#include <assert.h>
#include <string.h>

static const double percent = 100;

const char *resource_name(enum resource r) {
  static const char *const name[RESOURCES] = {
      [RESOURCE_MULTIPLY] = "multiply", [RESOURCE_KERNEL] = "kernel",
      [RESOURCE_STREAM] = "stream",     [RESOURCE_SHIM] = "shim",
      [RESOURCE_DRAM] = "dram",         [RESOURCE_COMMANDS] = "commands"};
  assert(r < RESOURCES);
  return name[r];
}

void loss_name(const struct profile_nest *n, int loss, struct text *t) {
  char buffer[24];
  static const char *const name[LOSSES] = {
      [LOSS_NONE] = "multiply",    [LOSS_START] = "start",
      [LOSS_END] = "end",          [LOSS_LOCK] = "other locks",
      [LOSS_STREAM] = "stream",    [LOSS_BANK] = "bank",
      [LOSS_WORK] = "no multiply", [LOSS_IDLE] = "idle"};
  if (loss >= LOSS_ARGUMENT && loss < LOSS_LOCK)
    text_printf(t, "waits for %s",
                argument_name(n, loss - LOSS_ARGUMENT, buffer));
  else
    text_puts(t, name[loss]);
}

static void raise(double *most, double value) {
  if (*most < value)
    *most = value;
}

static void add_core(struct limits *x, const struct record_lane *l) {
  const uint64_t *n = l->total;
  double *s = x->share;
  x->cores++;
  s[LOSS_NONE] += (double)n[RECORD_MULTIPLY];
  s[LOSS_START] += (double)l->start_wait;
  s[LOSS_END] += (double)l->end_wait;
  for (int a = 0; a <= RECORD_ARGUMENTS; a++)
    s[LOSS_ARGUMENT + a] += (double)l->lock_for[a];
  s[LOSS_STREAM] += (double)n[RECORD_STREAM];
  s[LOSS_BANK] += (double)n[RECORD_BANK];
  s[LOSS_WORK] += (double)n[RECORD_WORK];
  s[LOSS_IDLE] += (double)n[RECORD_IDLE];
  raise(&x->least[RESOURCE_MULTIPLY], (double)n[RECORD_MULTIPLY]);
  raise(&x->least[RESOURCE_KERNEL],
        (double)(n[RECORD_MULTIPLY] + n[RECORD_WORK]));
}

static int words_per_cycle(const struct record *r) {
  return device_find(r->preset->device)->stream_words;
}

static void add_channel(const struct record *r, struct limits *x,
                        const struct record_lane *l) {
  bool shim = lane_is_shim(l);
  raise(&x->least[shim ? RESOURCE_SHIM : RESOURCE_STREAM],
        (double)l->words / words_per_cycle(r));
  x->least[RESOURCE_DRAM] += l->dram_cycles;
  x->shim_channels += shim && l->words;
  for (int a = 0; a < RECORD_ARGUMENTS; a++)
    x->bytes[a] += l->argument_bytes[a];
}

void limits_find(const struct record *r, struct limits *x) {
  memset(x, 0, sizeof *x);
  x->cycles = (double)r->report.cycles;
  for (int i = 0; i < r->lane_count; i++) {
    const struct record_lane *l = &r->lane[i];
    if (l->kind == RECORD_CORE)
      add_core(x, l);
    else if (l->kind == RECORD_CONTROL)
      x->least[RESOURCE_COMMANDS] = (double)l->total[RECORD_WORK];
    else
      add_channel(r, x, l);
  }
  double all = x->cycles * x->cores;
  for (int i = 0; i < LOSSES && all > 0; i++)
    x->share[i] /= all;
  x->steady.from = x->share[LOSS_START] * x->cycles;
  x->steady.to = x->cycles * (1 - x->share[LOSS_END]);
}

/* ---- a tensor's way ---- */

struct stage {
  const struct record_lane *lane;
  double share[RECORD_CAUSES]; /* of the steady window */
  double busy;                 /* share that is no wait for another part */
};

static struct stage stage_of(const struct record_lane *l, struct window w) {
  struct stage s = {.lane = l};
  double sum = 0;
  lane_count(l, w, s.share);
  for (int c = 0; c < RECORD_CAUSES; c++)
    sum += s.share[c];
  for (int c = 0; c < RECORD_CAUSES && sum > 0; c++)
    s.share[c] /= sum;
  s.busy = s.share[RECORD_MOVE] + s.share[RECORD_DRAM] + s.share[RECORD_BANK] +
           s.share[RECORD_WORK];
  return s;
}

/* The busiest channel that the argument's elements pass. */
static struct stage find_bottleneck(const struct record *r, int argument,
                                    struct window w) {
  struct stage best = {0};
  for (int i = 0; i < r->lane_count; i++) {
    const struct record_lane *l = &r->lane[i];
    if (!lane_is_channel(l) || lane_argument(l) != argument)
      continue;
    struct stage s = stage_of(l, w);
    if (!best.lane || s.busy > best.busy)
      best = s;
  }
  return best;
}

static void say_stage(const struct record_lane *l, const char *tensor,
                      struct text *t) {
  bool sends = l->kind == RECORD_MM2S;
  switch (tile_kind(l->row)) {
  case TILE_SHIM:
    text_printf(t, "%s's stream %s column %d", tensor,
                sends ? "into" : "out of", l->column);
    break;
  case TILE_MEM:
    text_printf(t, "%s's stream %s the mem tile of column %d", tensor,
                sends ? "out of" : "into", l->column);
    break;
  case TILE_CORE:
    text_printf(t, "%s's stream %s core (%d,%d)", tensor,
                sends ? "out of" : "into", l->column, l->row);
    break;
  case TILE_KINDS:
    break;
  }
}

/* Bytes that DRAM would not have to move if blocks were twice as long. */
static double saved_bytes(const struct profile_nest *n, const struct limits *x,
                          int a) {
  double bytes = (double)x->bytes[a], least = (double)n->least_bytes[a];
  if (!n->least_bytes[a] || !n->reuse_axis[a] || bytes < 1.2 * least)
    return 0;
  return bytes / 2 > least ? bytes / 2 : bytes - least;
}

/* Which tensor moves more often than needed, and what would help; the one of
 * which DRAM would be spared most, or only `own`. */
static bool say_reuse(const struct profile_nest *n, const struct limits *x,
                      int own, bool any, struct text *t) {
  int most = own;
  double all = 0;
  char buffer[24];
  for (int a = 0; a < RECORD_ARGUMENTS; a++) {
    all += (double)x->bytes[a];
    if (any && saved_bytes(n, x, a) > saved_bytes(n, x, most))
      most = a;
  }
  double saved = saved_bytes(n, x, most);
  if (saved <= 0)
    return false;
  text_printf(t,
              "; %s moves %.1f times, and with blocks twice as long along %s "
              "DRAM would move %.0f %% less in all",
              argument_name(n, most, buffer),
              (double)x->bytes[most] / (double)n->least_bytes[most],
              n->reuse_axis[most], percent * saved / all);
  return true;
}

/* Short runs cost DRAM more time per word. */
static bool say_runs(const struct record *r, const struct record_lane *l,
                     struct text *t) {
  if (!l->words || l->kind != RECORD_MM2S)
    return false;
  double best = 4 * r->preset->clock_ghz * 1e9 /
                preset_dram(r->preset, UINT64_MAX),
         cost = l->dram_cycles / (double)l->words;
  if (cost < 1.1 * best)
    return false;
  text_printf(
      t,
      "; its runs of contiguous bytes are so short that DRAM takes %.1f "
      "times as long for a word as in long ones",
      cost / best);
  return true;
}

static void say_bottleneck(const struct record *r, const struct profile_nest *n,
                           const struct limits *x, int a, const struct stage *s,
                           struct text *t) {
  const double *share = s->share;
  char buffer[24];
  say_stage(s->lane, argument_name(n, a, buffer), t);
  bool shim = lane_is_shim(s->lane);
  if (share[RECORD_DRAM] >= share[RECORD_MOVE] / 2 && shim &&
      share[RECORD_DRAM] > 0.1) {
    text_printf(t,
                " waits for DRAM in %.0f %% of the cycles and moves words in "
                "%.0f %%; DRAM is busy in %.0f %%",
                percent * share[RECORD_DRAM], percent * share[RECORD_MOVE],
                percent * x->least[RESOURCE_DRAM] / x->cycles);
    if (!say_reuse(n, x, a, true, t) && !say_runs(r, s->lane, t))
      text_puts(t, "; every byte moves once, in long runs: only a faster DRAM "
                   "or narrower types would help");
    return;
  }
  if (share[RECORD_WORK] > share[RECORD_MOVE] && s->busy >= 0.5) {
    text_printf(t,
                " starts tasks and descriptors in %.0f %% of the cycles and "
                "moves words in %.0f %%: longer tasks would help",
                percent * share[RECORD_WORK], percent * share[RECORD_MOVE]);
    return;
  }
  if (s->busy >= 0.7) {
    text_printf(t, " moves words in %.0f %% of the cycles, at most %s a cycle",
                percent * share[RECORD_MOVE],
                words_per_cycle(r) == 1 ? "one" : "two");
    if (share[RECORD_BANK] > 0.05)
      text_printf(t, ", and waits for banks in %.0f %%",
                  percent * share[RECORD_BANK]);
    if (shim ? !say_reuse(n, x, a, false, t) && n->reuse_axis[a]
             : n->reuse_axis[a] != NULL)
      text_printf(t, "; longer blocks along %s would send it less often",
                  n->reuse_axis[a]);
    return;
  }
  if (share[RECORD_IDLE] > 0.3) {
    text_printf(t,
                ", the busiest on its way, has no task in %.0f %% of the "
                "cycles: the command processor, which works in %.0f %% of "
                "them, gives it the next too late",
                percent * share[RECORD_IDLE],
                percent * x->least[RESOURCE_COMMANDS] / x->cycles);
    return;
  }
  text_printf(t,
              ", the busiest on its way, is so in %.0f %% of the cycles only: "
              "no channel is the limit but the time from one block to the "
              "next, which more buffers or longer blocks would hide",
              percent * s->busy);
}

/* ---- the sentence ---- */

static void say_start(const struct record *r, const struct limits *x,
                      struct text *t) {
  double cycles[RECORD_CAUSES] = {0};
  for (int i = 0; i < r->lane_count; i++)
    if (r->lane[i].kind == RECORD_CONTROL)
      lane_count(&r->lane[i], (struct window){0, x->steady.from}, cycles);
  text_printf(t,
              "%.0f %% of them pass before the cores' first multiply, in "
              "cycle %.0f: the command processor sets the array up for %.0f "
              "cycles of that, and the first blocks are on their way for the "
              "others; more work in one launch would spread this over more "
              "products",
              percent * x->share[LOSS_START], x->steady.from,
              cycles[RECORD_WORK]);
}

/* Behind the last multiply: the busiest channel towards host memory. */
static void say_end(const struct record *r, const struct limits *x,
                    struct text *t) {
  struct window end = {x->steady.to, x->cycles};
  double length = end.to - end.from, control[RECORD_CAUSES] = {0};
  struct stage best = {0};
  for (int i = 0; i < r->lane_count; i++) {
    const struct record_lane *l = &r->lane[i];
    if (l->kind == RECORD_CONTROL)
      lane_count(l, end, control);
    if (!lane_is_shim(l) || l->kind != RECORD_S2MM)
      continue;
    struct stage s = stage_of(l, end);
    if (!best.lane || s.busy > best.busy)
      best = s;
  }
  text_printf(t,
              "%.0f %% of them pass behind the cores' last multiply: in these "
              "%.0f cycles the command processor works for %.0f",
              percent * x->share[LOSS_END], length, control[RECORD_WORK]);
  if (best.lane)
    text_printf(
        t,
        ", and the last results move out of column %d for %.0f and wait "
        "for DRAM for %.0f",
        best.lane->column, length * best.share[RECORD_MOVE],
        length * best.share[RECORD_DRAM]);
  text_puts(t, "; more work in one launch would spread this over more "
               "products");
  if (best.share[RECORD_MOVE] + best.share[RECORD_DRAM] > 0.4)
    text_puts(t, ", and smaller blocks of results would shorten it");
}

static void say_bank(const struct record *r, const struct limits *x,
                     struct text *t) {
  const struct sim_report *p = &r->report;
  double all = (double)p->stall_memory;
  text_printf(t,
              "they wait for banks in %.0f %%, of that %.0f %% for DMA "
              "channels, %.0f %% for other accesses of the same bundle and "
              "%.0f %% for cores beside them: buffers in other banks would "
              "help",
              percent * x->share[LOSS_BANK],
              percent * (double)p->stall_memory_dma / all,
              percent * (double)p->stall_memory_own / all,
              percent * (double)p->stall_memory_neighbour / all);
}

static void say_argument(const struct record *r, const struct profile_nest *n,
                         const struct limits *x, int a, struct text *t) {
  char buffer[24];
  text_printf(t, "they wait for %s in %.0f %%: ", argument_name(n, a, buffer),
              percent * x->share[LOSS_ARGUMENT + a]);
  struct stage s = find_bottleneck(r, a, x->steady);
  if (s.lane)
    say_bottleneck(r, n, x, a, &s, t);
  else
    text_puts(t, "no channel carries it alone");
}

/* Of waits for tensors, which have one cause more often than not, the largest
 * stands for all. */
static int largest_loss(const struct limits *x) {
  int most = LOSS_START, tensor = LOSS_ARGUMENT;
  double tensors = 0;
  for (int i = LOSS_ARGUMENT; i < LOSS_LOCK; i++) {
    tensors += x->share[i];
    if (x->share[i] > x->share[tensor])
      tensor = i;
  }
  for (int i = LOSS_START; i < LOSSES; i++)
    if ((i < LOSS_ARGUMENT || i >= LOSS_LOCK) && x->share[i] > x->share[most])
      most = i;
  return tensors > x->share[most] ? tensor : most;
}

static void say_loss(const struct record *r, const struct profile_nest *n,
                     const struct limits *x, int loss, struct text *t) {
  if (loss == LOSS_START)
    say_start(r, x, t);
  else if (loss == LOSS_END)
    say_end(r, x, t);
  else if (loss < LOSS_LOCK)
    say_argument(r, n, x, loss - LOSS_ARGUMENT, t);
  else if (loss == LOSS_BANK)
    say_bank(r, x, t);
  else if (loss == LOSS_LOCK)
    text_printf(t, "they wait in %.0f %% for locks that no tensor has alone",
                percent * x->share[loss]);
  else if (loss == LOSS_STREAM)
    text_printf(t, "they wait for their own streams or the cascade in %.0f %%",
                percent * x->share[loss]);
  else if (loss == LOSS_IDLE)
    text_printf(t, "they do not run in %.0f %%", percent * x->share[loss]);
  else
    text_printf(t,
                "in %.0f %% they run bundles without a multiply: loops that "
                "start, sums cleared, results stored; more products per block, "
                "by a longer block along k, would help",
                percent * x->share[loss]);
}

void limits_say(const struct record *r, const struct profile_nest *n,
                const struct limits *x, struct text *t) {
  if (!x->cores) {
    text_puts(t, "No core ran.");
    return;
  }
  text_printf(t, "%d core%s in %.1f %% of %.0f cycles; ", x->cores,
              x->cores > 1 ? "s multiply" : " multiplies",
              percent * x->share[LOSS_NONE], x->cycles);
  double commands = x->least[RESOURCE_COMMANDS] / x->cycles;
  if (x->share[LOSS_NONE] >= 0.85)
    text_puts(t, "the multipliers are the limit, and of what is left, ");
  if (commands >= 0.85)
    text_printf(t,
                "the command processor is the limit, which works in %.0f %% of "
                "them: more work in one launch, or fewer tasks, would help",
                percent * commands);
  else
    say_loss(r, n, x, largest_loss(x), t);
  text_puts(t, ".");
}
