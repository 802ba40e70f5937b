/* launch.c -- what a launch costs on the array: of its rounds, of device
 * memory, and of the command processor, which pushes tasks one by one.
 *
 * Cores compute rounds (cost.c) while DRAM, of a known platform, moves what
 * these take and leave.  Both begin and end at their own times.  DRAM is
 * busy as soon as enough channels have begun; cores when the last column has
 * its first blocks; and no result leaves before the first round ends.
 */
#include "choose.h"

#include <math.h>
#include <stdlib.h>

/* At 1 GHz, for they run on clocks of their own (array.c has them for a
 * preset). */
enum {
  FIRST_CYCLES = 900,  /* to read the first word */
  END_CYCLES = 110,    /* to see that the last one of a channel ended */
  LAUNCH_CYCLES = 235, /* a column's cores are told their numbers */
  TASK_CYCLES = 730,   /* from a task's begin to the end of its push */
  TURN_CYCLES = 600,   /* pushing an n round's, of in1 and of a bias */
};

static double stream_of(const struct array *s) {
  return map_stream_bytes(s->at->device);
}

static double dram_rate(const struct preset *q, double run) {
  const double longest = q->dram[q->dram_count - 1].run_bytes;
  return preset_dram(q, (uint64_t)(run < longest ? run : longest));
}

/* Cycles for bytes that cross the DRAM interface.  Writes are posted, so their
 * runs do not matter. */
static double transfer_cycles(const struct preset *q, double bytes,
                              double run) {
  return bytes / dram_rate(q, run) * q->clock_ghz * 1e9;
}

static double eighth_power(double x) {
  x *= x;
  x *= x;
  return x * x;
}

/* Two bounds that overlap imperfectly where they are close: the simulator's
 * runs lie on the 8-norm of both within 4 %. */
static double both(double a, double b) {
  return sqrt(sqrt(sqrt(eighth_power(a) + eighth_power(b))));
}

/* The same of whole launches, which wait for each other less: the 16-norm. */
static double longer(double a, double b) { return sqrt(both(a * a, b * b)); }

/* Cycles in which DRAM moves what a round of all cores takes and leaves; 0
 * where its rate is not known. */
struct traffic {
  double in0, in1, out;
  double kept;          /* share of in0 that is read once per m round */
  double reads, writes; /* how much longer these take alone than their share */
};

/* Cycles for what is read and what is written meanwhile. */
static double moving(const struct traffic *x, double read, double written) {
  return array_max3(read + written, read * x->reads, written * x->writes);
}

/* What DRAM reads in each round but for a panel. */
static double each_cycles(const struct traffic *x) {
  return x->in1 + (1 - x->kept) * x->in0;
}

/* Of DRAM's rate and that of one direction alone, which may be less. */
static double excess(const struct preset *q, double run, double most) {
  double rate = most > 0 ? dram_rate(q, run) / most : 0;
  return rate > 1 ? rate : 1;
}

static struct traffic round_traffic(const struct array *s,
                                    const struct map_blocking *b,
                                    const struct tile_program *walks,
                                    const struct map_panel *panel) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  if (!q)
    return (struct traffic){.in0 = 0};
  double m = (double)b->group_m * s->grid.m, n = s->grid.n, /* blocks */
      k = (double)b->steps_k * (b->valid_k ? b->valid_k : b->block_k);
  if (b->last_k)
    k -= b->block_k - b->last_k;
  double run0 = array_run_bytes(s, b, walks, panel, IN0),
         run1 = array_run_bytes(s, b, walks, panel, IN1);
  return (struct traffic){
      .in0 = transfer_cycles(q,
                             m * array_own_side(s, b, AXIS_M, IN0) * k *
                                 dtype_bytes(p->type[IN0]),
                             run0),
      .in1 = transfer_cycles(q,
                             k * n * array_own_side(s, b, AXIS_N, IN1) *
                                 dtype_bytes(p->type[IN1]),
                             run1),
      .out = transfer_cycles(q, m * n * array_out_bytes(s, b), HUGE_VAL),
      .kept = panel->chunks ? 1
              : panel->stretches
                  ? (double)panel->kept / (panel->kept + panel->streamed)
                  : 0,
      .reads = excess(q, run1, q->most_read.all),
      .writes = excess(q, HUGE_VAL, q->most_written.all)};
}

/* n rounds that a panel of in0 serves. */
static int panel_rounds(const struct map_blocking *b,
                        const struct map_panel *panel) {
  return panel->chunks ? panel->rounds : b->rounds_n;
}

/* Cycles in which the largest share of a panel comes ahead of in1: of its
 * channel, or of DRAM for all of them. */
static double share_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_panel *panel, double in0) {
  double bytes = (double)b->group_m * b->block_m *
                 (b->valid_k ? b->valid_k : b->block_k) * b->steps_k *
                 dtype_bytes(s->problem->type[IN0]),
         share = ((panel->chunks + panel->ways - 1) / panel->ways) /
                 (double)panel->chunks,
         way = share * bytes / array_shim_bytes(s, true);
  return way > in0 ? way : in0;
}

/* Cycles of all rounds, each `round` when device memory costs nothing.  What a
 * mem tile keeps of in0 is read once per m round, the rest in every n round, as
 * in1 is.  It is read part by part: behind the last use of a part in the n
 * round before, ahead of the first use in the first one.  What a round leaves
 * is written beside the next one; behind the last one it is not counted here.
 */
static double rounds_cycles(const struct array *s, const struct map_blocking *b,
                            const struct traffic *x,
                            const struct map_panel *panel, double round) {
  if (!s->at->preset)
    return (double)b->rounds_m * b->rounds_n * round;
  int rounds_n = panel_rounds(b, panel),
      rounds_m = b->rounds_m * (b->rounds_n / rounds_n);
  double read = each_cycles(x), each = moving(x, read, x->out);
  double part = panel->chunks      ? 1.0 / panel->chunks
                : panel->stretches ? 1.0 / panel->stretches
                                   : 0;
  double beside = rounds_n > 1 ? 2 * (1 - part) : 1; /* n rounds */
  /* in1 waits for a panel on their channels, which is counted apart */
  bool shares = s->grid.split > 1;
  double kept = shares ? 0 : x->kept * x->in0;
  double first = part * kept +
                 both(round, moving(x, read + (1 - part) * kept, 0)) +
                 both((rounds_n - 1) * round, (rounds_n - 1) * each);
  double others =
      both(beside * round,
           moving(x, beside * read + x->kept * x->in0, beside * x->out)) +
      both((rounds_n - beside) * round, (rounds_n - beside) * each);
  if (shares)
    others += share_cycles(s, b, panel, x->in0);
  return first + (rounds_m - 1) * others;
}

static double ghz_of(const struct array *s) {
  return s->at->preset ? s->at->preset->clock_ghz : 1;
}

/* To push a task; of the platform, or of one with the device at 1 GHz. */
static double push_of(const struct array *s) {
  const struct preset *q = s->at->preset, *like = preset_of(s->at->device);
  return q ? preset_task_cycles(q) : preset_task_cycles(like) / like->clock_ghz;
}

/* Cycles of a launch: cores have work, so many rounds; DRAM has, but for the
 * last blocks; it reads all there is, and of that what rings hold; and writes
 * all there is. */
struct busy {
  double cores, rounds, memory, read, held, written;
};

/* In which DRAM fills the buffers of in1, in the mem tiles and in cores. */
static double held_cycles(const struct map_blocking *b,
                          const struct map_panel *panel,
                          const struct traffic *x) {
  double steps = map_mem_depth(panel, IN1) * panel->run[IN1] + 2.0,
         rounds = fmin(steps / b->steps_k, (double)b->rounds_m * b->rounds_n);
  return rounds * each_cycles(x);
}

/* Until the first channel reads. */
static double first_cycles(const struct array *s) {
  return FIRST_CYCLES * ghz_of(s);
}

/* The ends of all ways out are asked for one by one. */
static double end_cycles(const struct array *s, int ways) {
  return END_CYCLES * ghz_of(s) * ways * s->grid.columns;
}

/* in1 waits for the panel in the converting core. */
static double converting_cycles(const struct array *s,
                                const struct map_blocking *b) {
  return s->form->converts
             ? (double)b->block_m * b->block_k * b->steps_k *
                   dtype_bytes(s->problem->type[IN0]) / stream_of(s)
             : 0;
}

/* What DRAM could have read while channels begin, one after the other. */
static double lost_cycles(const struct array *s) {
  const struct preset *q = s->at->preset;
  double rate = q ? dram_rate(q, HUGE_VAL) : 0, lost = 0;
  if (q && q->most_read.all > 0 && q->most_read.all < rate)
    rate = q->most_read.all;
  rate /= ghz_of(s) * 1e9;
  for (int i = 1; i < map_grid_inputs(&s->grid); i++) {
    double share = rate > 0 ? i * array_shim_bytes(s, true) / rate
                            : (double)i / map_grid_inputs(&s->grid);
    lost += share < 1 ? 1 - share : 0;
  }
  return lost * push_of(s);
}

/* For a block of in0 (in1) to pass a stream. */
static double passing_cycles(const struct array *s,
                             const struct map_blocking *b, int tensor) {
  const struct map_block_bytes bytes = map_block_bytes(s->problem, b);
  return (tensor == IN0 ? (double)b->group_m * bytes.in0 : bytes.in1) /
         stream_of(s);
}

/* Steps of which a mem tile's buffer has blocks. */
static int buffer_steps(const struct map_blocking *b,
                        const struct map_panel *panel, int tensor) {
  return tensor == IN0 && panel->chunks
             ? (b->steps_k + panel->chunks - 1) / panel->chunks
             : panel->run[tensor];
}

/* From the first word of a buffer to the first block of it in a core, which
 * gets buffers when they are full. */
static double filling_cycles(const struct array *s,
                             const struct map_blocking *b,
                             const struct map_panel *panel, int tensor) {
  return (1 + buffer_steps(b, panel, tensor)) * passing_cycles(s, b, tensor);
}

/* For the blocks of a round's last buffer to pass. */
static double last_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_panel *panel, int tensor) {
  int steps = buffer_steps(b, panel, tensor),
      last = (b->steps_k - 1) % steps + 1;
  return last * passing_cycles(s, b, tensor);
}

/* A launch in phases, as its pushes see it. */
struct phases {
  double count, panels; /* of in0, kept whole or not */
  double out, rounds;   /* cycles of each: for out to leave, and to compute */
  double last;          /* for the last blocks to leave */
  double ends;          /* panels whose last chunk takes a task of its own */
  double shares; /* of a panel, beside the first ones of all parts of m */
  int ways;      /* channels of a column for out */
};

/* In which DRAM moves all that is read. */
static double reading_cycles(const struct map_blocking *b,
                             const struct traffic *x,
                             const struct map_panel *panel) {
  double rounds = (double)b->rounds_m * b->rounds_n;
  return rounds * each_cycles(x) +
         rounds / panel_rounds(b, panel) * x->kept * x->in0;
}

/* Cycles that a launch takes at least, whose tasks are pushed one by one: the
 * last phase's blocks of out leave behind the last push, and its rounds begin
 * behind the push of its inputs. */
static double push_cycles(const struct array *s, const struct phases *x) {
  const struct map_grid *g = &s->grid;
  int each = x->ways * g->columns;
  double push = push_of(s),
         inputs = map_grid_inputs(g) + (x->panels - 1 + x->ends) * g->m +
                  x->panels * x->shares + (x->count - 1) * g->n,
         out = (inputs + x->count * each) * push - TASK_CYCLES * ghz_of(s) +
               x->out / x->ways,
         rounds = (inputs + (x->count - 1) * each) * push + x->rounds +
                  x->last / x->ways;
  double pushed = (inputs + x->count * each) * push;
  return end_cycles(s, x->ways) + LAUNCH_CYCLES * g->columns * ghz_of(s) +
         array_max3(out, rounds, pushed);
}

double array_ends_cycles(const struct array *s, const struct map_blocking *b) {
  return first_cycles(s) + push_of(s) * map_grid_inputs(&s->grid) / 2 +
         array_drain_cycles(s, b, array_most_ways(s)) + END_CYCLES * ghz_of(s);
}

/* From the last product's end until all of a core's blocks of out are in a mem
 * tile: the first one of two leaves beside the second one's product. */
static double leaving_cycles(const struct array *s,
                             const struct map_blocking *b, double round) {
  double one = array_out_bytes(s, b) / array_way_bytes(s, b, OUT),
         product = round / b->steps_k / b->group_m,
         first = b->group_m > 1 && one > product ? one - product : 0;
  return first + one;
}

/* From the first read until cores have what their products begin with: the last
 * column's channels begin behind those of all others, whose cores wait for it
 * when they have what their memory holds. */
static double ready_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_panel *panel,
                           const struct traffic *x, const struct busy *busy,
                           const struct phases *phases) {
  const struct map_grid *g = &s->grid;
  double push = push_of(s), inputs = push * (map_grid_inputs(g) - 1),
         in0 = filling_cycles(s, b, panel, IN0),
         in1 = filling_cycles(s, b, panel, IN1),
         ready = inputs + fmax(in0 - push * g->n, in1);
  if (g->split > 1) { /* in1 comes behind the panel */
    double way = push * (g->m * panel->ways - 1) +
                 share_cycles(s, b, panel, x->in0),
           memory =
               lost_cycles(s) + x->in0 + fmax(busy->held - each_cycles(x), 0);
    ready = array_max3(inputs, way, memory) + in1;
  }
  if (phases->ends > 0) { /* the last chunk comes behind all others */
    double before = busy->cores / busy->rounds * (1 - 1.0 / panel->chunks);
    ready = fmax(ready, inputs + push * g->m + in0 - before);
  }
  return ready;
}

/* What DRAM has to write of earlier rounds when it has read all: of one, unless
 * it reads for longer in each; and of those that were read ahead. */
static double unwritten_cycles(const struct traffic *x,
                               const struct busy *busy) {
  double each = each_cycles(x), out = x->out, before = busy->rounds - 1;
  if (out <= 0 || each <= 0) /* no DRAM is known */
    return 0;
  double ahead = fmax(busy->held / each - 1, 0),
         rounds = 1 / (1 + eighth_power(each / out)) + ahead;
  return fmin(rounds, before) * out;
}

/* Until all but DRAM's last blocks are done. DRAM is busy from the first word
 * on, until channels are behind, but for when rings are full and cores not
 * ready; cores are from then on, until the last blocks leave.  Where one of
 * them has bursts, the other one waits. */
static double done_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_panel *panel,
                          const struct traffic *x, const struct busy *busy,
                          const struct phases *phases, double bursts) {
  double round = busy->cores / busy->rounds,
         split = s->grid.split > 1 ? x->in0 : 0,
         ready = ready_cycles(s, b, panel, x, busy, phases),
         leaving = leaving_cycles(s, b, round),
         behind = last_cycles(s, b, panel, IN1) + round / b->steps_k + leaving -
                  unwritten_cycles(x, busy),
         full = ready - x->kept * x->in0 - busy->held,
         memory = fmax(lost_cycles(s) + split, full) + busy->memory - split +
                  fmax(behind, 0),
         cores = ready + busy->cores + leaving;
  return first_cycles(s) + converting_cycles(s, b) + longer(cores, memory) +
         bursts;
}

/* From the first read until the first blocks of out can leave: other columns'
 * channels are pushed meanwhile. */
static double out_pushed_cycles(const struct array *s, const struct phases *x) {
  const struct map_grid *g = &s->grid;
  int ends = x->ends > 0 ? g->m : 0;
  return (map_grid_inputs(g) + ends + g->columns / 2.0) * push_of(s) +
         LAUNCH_CYCLES * g->columns * ghz_of(s) - first_cycles(s);
}

/* At least so long: all of out leaves behind the first round, whose last blocks
 * come when others were read beside them, as many as rings hold; what else is
 * read comes later, too. */
static double written_cycles(const struct array *s,
                             const struct map_blocking *b,
                             const struct map_panel *panel,
                             const struct traffic *x, const struct busy *busy,
                             const struct phases *phases) {
  double lost = lost_cycles(s), round = busy->cores / busy->rounds,
         cores = ready_cycles(s, b, panel, x, busy, phases) + round,
         memory = lost + x->kept * x->in0 + fmax(each_cycles(x), busy->held) +
                  last_cycles(s, b, panel, IN0) + round / b->steps_k,
         first = fmax(fmax(cores, memory) + leaving_cycles(s, b, round),
                      out_pushed_cycles(s, phases)),
         read = x->kept * x->in0 + each_cycles(x) + busy->held,
         unread = fmax(busy->read - fmin(read, first - lost), 0);
  return first_cycles(s) + first + moving(x, unread, busy->written);
}

/* Channels of a column for out where no tensor lies in place. */
static int blocked_ways(const struct array *s, const struct map_blocking *b,
                        const struct map_panel *panel, double rounds) {
  struct map_block_bytes block = map_block_bytes(s->problem, b);
  int once = panel->chunks ? panel->rounds : 1;
  const double bytes[TENSORS] = {[IN0] = rounds * b->steps_k * b->group_m *
                                         block.in0 / once,
                                 [IN1] = rounds * b->steps_k * block.in1,
                                 [OUT] = rounds * b->group_m * block.out};
  return map_ways_out(s->at->device, &s->grid, bytes);
}

/* What a round takes longer where a mem tile has few buffers for out. */
static double short_of_buffers(const struct array *s,
                               const struct map_blocking *b,
                               const struct map_core *core,
                               const struct map_panel *panel, int ways) {
  double wait = 0;
  if (panel->out < b->group_m) { /* the first blocks are on the way to DRAM */
    double own = array_out_bytes(s, b) * s->grid.rows, memory = 0;
    if (s->at->preset)
      memory = transfer_cycles(s->at->preset, own * s->grid.columns, HUGE_VAL);
    wait = own / (ways * array_way_bytes(s, b, OUT));
    wait = wait > memory ? wait : memory;
  }
  /* a mem tile is full of the last group while the first block would leave */
  if (core->staged && b->group_m > 1 && panel->out < MAP_MEM_DEPTH_OUT * 2)
    wait += map_block_bytes(s->problem, b).out / stream_of(s);
  return wait;
}

/* The phases of so many rounds in all; false: descriptors cannot walk so. */
static bool count_phases(const struct array *s, const struct map_blocking *b,
                         const struct tile_program *walks,
                         const struct map_panel *panel, int64_t rounds,
                         struct phases *x) {
  bool apart = s->work && map_panel_ends_apart(walks),
       each = array_rounds_are_phases(s, b, apart);
  int64_t together = each && panel->chunks ? panel->rounds
                     : each || (b->rounds_n > 1 && !panel->chunks) ? b->rounds_n
                                                                   : rounds;
  if (s->work && !array_can_walk(s, b, walks, panel, apart, &together))
    return false;
  x->count = (double)rounds / (double)together;
  x->panels = panel->chunks ? (double)rounds / panel->rounds : x->count;
  x->ends = apart ? x->panels : 0;
  x->shares = s->grid.split > 1 ? (panel->ways - 1) * s->grid.m : 0;
  x->ways =
      s->work ? map_joins(walks) : blocked_ways(s, b, panel, (double)rounds);
  return true;
}

/* To push what comes behind the first phase's tasks, and every bias. */
static double later_pushes(const struct array *s, const struct map_panel *panel,
                           const struct phases *x, double rounds) {
  const struct map_grid *g = &s->grid;
  double inputs = (panel->chunks ? 0 : g->m) + g->n,
         tasks = (x->count - 1) * (inputs + x->ways * g->columns);
  if (x->ends)
    tasks += (x->panels - 1) * g->m;
  double bias = s->problem->finish.bias
                    ? rounds * g->columns * TURN_CYCLES * ghz_of(s)
                    : 0;
  return tasks * push_of(s) + bias;
}

double array_launch_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_core *core,
                           const struct map_panel *panel) {
  /* the products of a batch are such rounds, too */
  struct map_blocking all = *b;
  all.rounds_m *= (int)s->problem->extent[AXIS_C];
  int64_t count = (int64_t)all.rounds_m * all.rounds_n;
  struct tile_program walks;
  struct phases x;
  if (s->work)
    array_walks(s, b, panel, &walks);
  if (!count_phases(s, b, &walks, panel, count, &x))
    return HUGE_VAL;
  double round =
      array_round_cycles(s->at->device, s->problem, s, b, core, x.ways) +
      short_of_buffers(s, b, core, panel, x.ways);
  const struct traffic traffic = round_traffic(s, &all, &walks, panel);
  double rounds = rounds_cycles(s, &all, &traffic, panel, round),
         pushes = later_pushes(s, panel, &x, (double)count),
         read = reading_cycles(&all, &traffic, panel);
  x.last = array_drain_cycles(s, b, 1);
  x.out = (double)count / x.count * x.last;
  x.rounds = (double)count / x.count * round;
  const struct busy busy = {
      .cores = fmax((double)count * round, pushes),
      .rounds = (double)count,
      .memory = moving(&traffic, read, (double)(count - 1) * traffic.out),
      .read = read,
      .held = held_cycles(&all, panel, &traffic),
      .written = (double)count * traffic.out};
  /* all columns' last blocks, at once */
  double last = fmax(x.last / x.ways, moving(&traffic, 0, traffic.out)),
         bursts = fmax(rounds - both(busy.cores, busy.memory), 0),
         done = done_cycles(s, b, panel, &traffic, &busy, &x, bursts) + last,
         written = written_cycles(s, b, panel, &traffic, &busy, &x),
         cycles = fmax(done, written) + end_cycles(s, x.ways);
  const double equal = 1e-4; /* the shorter one of two that wait for pushes */
  double least = push_cycles(s, &x);
  return cycles > least ? cycles : least + equal * cycles;
}

double array_apart_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_core *at) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, out = bytes.out,
         products = (double)p->extent[AXIS_C],
         turns = products / map_grid_products(&s->grid);
  double round = array_round_cycles(s->at->device, p, s, b, at, ARRAY_WAYS_OUT);
  double shim = s->grid.rows * array_max3(in0, in1, out / ARRAY_WAYS_OUT) /
                stream_of(s),
         core =
             array_max3(round, (in0 + in1) / stream_of(s), out / stream_of(s));
  double turn = shim > core ? shim : core;
  /* whole matrices, whose rows run on unless there are gaps */
  double memory =
      q ? transfer_cycles(q, products * (in0 + in1 + out), HUGE_VAL) : 0;
  double cycles = array_ends_cycles(s, b) + (in0 + in1 + out) / stream_of(s) +
                  both(turns * turn, memory);
  double least = END_CYCLES * ghz_of(s) +
                 push_of(s) * s->grid.columns * (2 + ARRAY_WAYS_OUT) +
                 out / stream_of(s);
  return cycles > least ? cycles : least;
}
