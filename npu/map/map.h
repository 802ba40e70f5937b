/* map.h -- TEIR + device -> scheduled TEIR -> tile program.
 *
 * The work of a TEIR is cut into blocks that fit a core's memory (map_choose);
 * the TEIR is split, reordered and placed so, on tensors as they lie or padded
 * and block by block (map_schedule); and it is read into what each core does
 * and which blocks each column must move (map_program).  Any TEIR of that shape
 * may come in, edited by hand or made by another tool.
 *
 * const arguments are borrowed; results live in the arena.
 */
#ifndef NPUTEIR_MAP_H
#define NPUTEIR_MAP_H

#include "array.h"
#include "base.h"
#include "teir_problem.h"

/* The type to sum in when nothing is said: f32 for floats; for integers out's,
 * or i32 where `finish` needs the sum itself or no kernel sums in out's. */
enum dtype map_sum_type(const struct device *, const struct teir_problem *);
/* The instruction set of the device's cores. */
const struct isa *map_isa(const struct device *);
/* Whether a schedule keeps sums in a tensor beside out. */
bool map_has_sums(const struct teir_problem *);

/* What the chooser knows of the machine; the array alone when preset is NULL.
 */
struct map_form;
struct platform {
  const struct device *device;
  const struct preset *preset;
  const struct map_form *grid; /* that of this form alone; NULL: any */
};
/* By the name of a device or of a preset; false and *d: neither. */
bool platform_find(const char *name, struct platform *, struct diag *);

/* ---- layout.c: the work, and tensors that lie as in the program ---- */
/* How a tensor lies in device memory, as a matrix of its two roles: in0 M x K,
 * in1 K x N, out M x N. */
struct map_layout {
  bool in_place; /* as in the program; else padded, block by block */
  bool turned;   /* in place: the contiguous axis is of the first role */
  /* In place of a copy that the host makes: a dense matrix, but rows begin with
   * words, so that descriptors walk over it as over one that stays. */
  bool aligned;
};
/* Whether it lies as in the program, so that the host has nothing to do. */
bool map_stays(const struct map_layout *);

/* The vector that is added to the sums, behind in0, in1 and out. */
enum { MAP_BIAS = TENSORS, MAP_TENSORS };
enum { MAP_AXES = 8 };
struct map_axis {
  const char *id;
  int64_t extent, stride_bytes[MAP_TENSORS];
  /* Of `extent`, those that there are; behind them is the rest of a word, in a
   * gap of out, or what is added to a buffer. */
  int64_t elements;
};
/* The work with as few axes as the tensors that stay in place allow. */
struct map_work {
  struct teir_problem problem;
  int count[AXIS_ROLES];                      /* of M, N and K at least 1 */
  struct map_axis axis[AXIS_ROLES][MAP_AXES]; /* outermost first */
  struct map_layout layout[TENSORS];
  /* Of tensors in place whose elements are smaller than a word: which of the
   * role's axes is contiguous, or -1.  Blocks must begin with it. */
  int contiguous[TENSORS];
};
/* Of a plain TEIR, with the tensors in place that are asked for and can be: one
 * axis is contiguous, or elements are words, the others move by whole words
 * that a descriptor can count, and of two tensors' contiguous axes of a role
 * there is only one. */
bool map_work_read(struct arena *, const struct device *, const struct teir *,
                   const bool stay[TENSORS], struct map_work *, struct diag *);
/* The same where some of the others are aligned. */
bool map_work_read_aligned(struct arena *, const struct device *,
                           const struct teir *, const bool stay[TENSORS],
                           const bool aligned[TENSORS], struct map_work *,
                           struct diag *);
/* Whether kernels turn the small matrices of out, which lies turned: words of 4
 * bytes are turned on their way, unless a kernel that has both inputs turned
 * does it in passing. */
bool map_turns_out(const enum dtype type[TENSORS], bool in0_turned,
                   bool in1_turned, bool out_turned);
/* Whether the product's kernel turns the small matrices of sums: those of
 * floats as its inputs like best where a pass over the finished sums, which can
 * turn them, follows; others as out's. */
bool map_turns_sums(const struct device *, const struct teir_problem *,
                    const bool turned[TENSORS]);
/* Whether a pass over the finished sums makes the results. */
bool map_finishes(const struct teir_problem *);
/* How an axis's elements are dealt out: core c's block of round r begins at
 * element c * core + r * round.  Blocks may overlap: what lies in two of them
 * is computed twice, to the same result. */
struct map_share {
  int64_t core, round;
  int64_t half; /* of the cores' second half from the first; 0: as others */
};
/* Shares that end with the last element; false: there are none. */
bool map_share(int64_t extent, int cores, int rounds, int64_t block,
               int64_t unit, struct map_share *);
/* The same or, where there are none, with halves of an even number of cores
 * that are as far apart as the extent asks. */
bool map_share_halves(int64_t extent, int cores, int rounds, int64_t block,
                      int64_t unit, struct map_share *);

/* ---- grid.c: which cores take what ---- */
/* `m` cores share out m and `n` share out n.  A row of cores takes one part of
 * m; or, where few parts of m meet many of n, every `split` rows do, and each
 * of these another part of n.  So the core in row r and column c has part
 * r / split of m and part c * split + r % split of n.
 *
 * Where an array has more columns than rows, a column may take one part of m
 * (`across`) and a row one of n: then as many mem tiles as there are columns
 * keep in0. */
struct map_grid {
  int m, n;
  int columns, rows, split;
  bool across;
  /* Every core has products of a batch to itself: m and n are 1. */
  bool apart;
};
/* False: the device has no such grid, or its mem tiles have no channels for
 * it. */
bool map_grid(const struct device *, int m, int n, bool across,
              struct map_grid *);
/* Of a grid: the column whose mem tile sends the blocks of a part of what rows
 * take. */
int map_grid_home(const struct map_grid *, int part);
/* Whether east of every such column is one that sends no in0, whose mem tile
 * the sender's channels reach, too. */
bool map_grid_spreads(const struct map_grid *);
/* Channels of shims that bring inputs. */
int map_grid_inputs(const struct map_grid *);
/* Channels on which a column's blocks of out leave, of so many bytes that each
 * core takes and leaves: a second one halves the time, but its tasks are
 * pushed, too, which little work would wait for. */
int map_ways_out(const struct device *, const struct map_grid *,
                 const double bytes[TENSORS]);
struct tile_program;
int map_joins(const struct tile_program *);

/* A part of an axis: so many indices, `step` elements of the axis apart. */
/* Of the cores of a batch, those of a column count before those of a row. */
enum map_place { MAP_CORES, MAP_TIME, MAP_GROUP, MAP_BLOCK };
struct map_part {
  int axis; /* of the role's */
  enum map_place place;
  int64_t extent, step;
};
/* A role's axes in parts, the most significant ones first.  None: one axis, of
 * whole blocks for all cores. */
enum { MAP_PARTS = 2 * MAP_AXES };
struct map_cut {
  int count;
  struct map_part part[MAP_PARTS];
};

/* What the array's rows and columns take, and how tensors lie. */
struct map_form {
  /* Rows of cores take n and columns m: in1 is what a row shares.  In a
   * blocking and a tile program m, n, in0 and in1 then change places. */
  bool swapped;
  struct map_layout layout[TENSORS];
  struct map_cut cut[AXIS_ROLES];
  int inner_k; /* steps of the innermost loop over k; 0: there is one loop */
  /* Blocks of k are of several axes, or do not follow each other along theirs:
   * rows along k do not run on from step to step. */
  bool broken_k;
  int cores_m, cores_n; /* of the grid; 0: all rows and all columns */
  bool across;          /* columns take m and rows n */
  bool apart;           /* all of them for products of a batch */
  bool converts;        /* the row above the grid makes block floats */
  /* The blocks of a group, of an axis a role, leave a mem tile as one. */
  bool close_out;
};
/* The TEIR's tensor that is the array's, or the other way round. */
int map_given_tensor(const struct map_form *, int tensor);
/* Tensors lie as the TEIR's do. */
void map_form_lie(struct map_form *, const struct map_layout given[TENSORS]);
/* By the TEIR's tensors: which stay, and which are aligned. */
void map_form_stays(const struct map_form *, bool stay[TENSORS],
                    bool aligned[TENSORS]);
struct map_grid map_grid_of(const struct device *, const struct map_form *);
bool map_same_grid(const struct map_form *, const struct map_form *);
/* Products that the cores work on at once, each on its own: 1 but for a grid
 * apart. */
int map_grid_products(const struct map_grid *);

/* How the problem is cut.  A core's part of m is rounds_m groups, its part of n
 * rounds_n blocks; steps_k blocks of k follow each other. */
struct map_blocking {
  int block_m, block_n, block_k; /* elements */
  /* Of block_k, those that there are, behind which a mem tile adds zeros on the
   * way to the cores; 0: all. */
  int valid_k;
  /* Elements of k in the last step, where there are less: a multiple of the
   * multiply unit's k, behind which a mem tile adds zeros; 0: as many. */
  int last_k;
  /* Blocks of out that a core holds at once along m: every block of in1 is used
   * for all of them.  1: the other block of out leaves meanwhile. */
  int group_m;
  int rounds_m, rounds_n, steps_k;
  double predicted_cycles; /* by the model in choose.c */
  struct map_form form;
};
bool map_choose(const struct platform *, const struct teir_problem *,
                struct map_blocking *, struct diag *);
/* The same for the tensors of a plain TEIR.  why[] says why some become
 * blocked, NULL: one does not.
 *
 *   stride      descriptors cannot walk over it
 *   extent      blocks cannot be made to end with it
 *   cost        as it lies it costs the device more than the host to pack it
 *   descriptor  no design came of the blocks that were tried before
 *
 * Beside an input that stays the other one, if packed, may be aligned.
 *
 * `tried` begins with 0; where no design comes of a blocking, the next call
 * gives another one, the last one, which sets bit 0, of blocked tensors. */
bool map_choose_in_place(struct arena *, const struct platform *,
                         const struct teir *, unsigned *tried,
                         struct map_blocking *, const char *why[TENSORS],
                         struct diag *);
/* ---- reason.c ---- */
/* The rule of the hardware behind such a word, with what breaks it; NULL: it
 * has none of its own. */
const char *map_reason(struct arena *, const struct platform *,
                       const struct teir *, int tensor, const char *why);

/* ---- view.c ---- */
/* A plain TEIR's work, read once for each choice of tensors that stay. */
struct map_views;
struct map_views *map_views(struct arena *, const struct device *,
                            const struct teir *);
/* As a form has it, before roles are swapped; NULL: tensors cannot lie so. */
const struct map_work *map_view(struct map_views *, const struct map_form *);

/* ---- choose.c, again ---- */
/* For the tensors of a plain TEIR, one product, the blocks, layouts and grid of
 * another blocking; false: it has no such. */
bool map_choose_like(const struct platform *, struct map_views *,
                     const struct map_blocking *like, struct map_blocking *);
/* The same by the formula alone, which takes kernels to be alike. */
bool map_price_like(const struct platform *, struct map_views *,
                    const struct map_blocking *like, struct map_blocking *);

/* ---- bound.c ---- */
/* Cycles that no schedule of one product is below: of the multiply units, or of
 * DRAM at the rate of its longest runs. */
double map_bound_cycles(const struct preset *, const struct teir_problem *);

/* The same work, scheduled: rows and columns in parallel, rounds and k in time,
 * one block per primitive, on tensors that lie in place or padded and blocked.
 */
struct teir *map_schedule(struct arena *, const struct device *,
                          const struct teir *, const struct map_blocking *,
                          struct diag *);
/* The cut of a role, also where the form leaves it open; true: in whole blocks,
 * which may end behind the axis. */
bool map_cut_of(const struct device *, const struct map_work *,
                const struct map_blocking *, enum axis_role, struct map_cut *);

/* A loop around blocks or inside one, and how an index of it moves the array's
 * in0, in1 and out in device memory. */
struct map_loop {
  const char *axis;
  int64_t extent, stride_bytes[MAP_TENSORS];
};
/* Loops around each other, outermost first. */
enum { MAP_LOOPS = 12 };
struct map_nest {
  int count;
  struct map_loop loop[MAP_LOOPS];
};
int64_t map_nest_extent(const struct map_nest *); /* of all loops together */
/* Bytes by which an index of all loops together moves a tensor. */
int64_t map_nest_offset(const struct map_nest *, int tensor, int64_t index);
/* The innermost loops with so many indices, and those around them; one loop may
 * be divided.  False: these are not whole indices of it. */
bool map_nest_divide(const struct map_nest *, int64_t inner,
                     struct map_nest *outer, struct map_nest *innermost);

/* A tensor of the tile program. */
struct map_transfer {
  int tensor; /* of the TEIR: in0 is its in1 if rows and columns are swapped */
  enum dtype type;
  int64_t bytes; /* of the whole device buffer, in words */
  /* Which of the block's roles is contiguous: the second (in0 k, in1 n, out n),
   * or if turned the first. */
  bool turned;
};

/* ---- memory.c: what fits a core, and where ---- */
struct map_block_bytes {
  uint32_t in0, in1, sums, out;
  uint32_t blocks[OUT]; /* bf16 inputs as block floats; else 0 */
  bool converted;       /* inputs are block floats when they come */
  bool finishes;        /* a kernel makes results of sums */
};
struct map_block_bytes map_block_bytes(const struct teir_problem *,
                                       const struct map_blocking *);
/* Byte offsets in a core's memory. */
struct map_core {
  uint32_t in0[2], in1[2], out[2], sums;
  /* Whether inputs become block floats first (kernels.h), and where these are:
   * the kernel reads them alone, and releases the inputs before.  A product
   * takes those of `joint` steps of k. */
  bool by_blocks;
  uint32_t blocks[OUT];
  int joint; /* else 1 */
  /* Whether sums have a place of their own, which the core alone knows, and
   * results are copied to `out`; else they take the place of their sums.  Of
   * two blocks at once the second one's do. */
  bool staged;
  int out_depth;  /* blocks of out: 1 or 2 */
  bool joined;    /* sums share a pair of banks with in0 */
  bool converted; /* inputs come as block floats */
};
/* Where the sums of a block of a group are. */
uint32_t map_sums(const struct map_core *, int group_m, int block);
/* A core's products of a round. */
int map_products_k(const struct tile_program *);
/* Whether the kernel reads in0's bank in every cycle (kernels.h): with two
 * blocks of out, nothing else happens in the bank of the block of in0 in use,
 * while in1's is also that of in1's DMA. */
bool map_tall(int group_m);
/* Bytes per cycle of a stream, and of a load or store. */
double map_stream_bytes(const struct device *);
double map_port_bytes(const struct device *);
/* False: they do not fit so that no two ports meet in a bank. */
bool map_core_places(const struct device *, const struct map_block_bytes *,
                     int group_m, int steps_k, struct map_core *);
/* Cycles for which the core waits for a DMA in its banks: in a step of k, and
 * in a round, with what a copy of staged results takes.  `macs` are the
 * multiplies of a product. */
struct map_waits {
  double step, round;
};
struct map_waits map_core_waits(const struct device *,
                                const struct map_block_bytes *, int group_m,
                                double macs, const struct map_core *);

/* ---- panel.c: what a mem tile has space for ---- */
/* What a mem tile keeps of the panel of in0 of an m round (steps_k blocks of
 * every block of a group), so that it need not be read again in every n round.
 */
struct map_panel {
  int chunks; /* all of it, in so many; 0: not all */
  int rounds; /* of n for which it is kept; then it is read again */
  /* Or of each of so many stretches of k the first `kept` steps, while the
   * `streamed` steps behind them come again; 0: nothing is kept. */
  int stretches, kept, streamed;
  /* Chunks, or stretches' kept steps, in the mem tile that sends them; the
   * others are in its east neighbour. */
  int own;
  /* Where in1 has both channels of a shim, those on which a panel comes ahead
   * of it, each with a share of the chunks: of the column that sends it and,
   * behind two, of its east neighbour. */
  int ways;
  /* Blocks of out for each row of cores, in as many buffers or, where a group's
   * leave as one, half as many: one where a panel needs the space of the second
   * one. */
  int out;
  /* Steps of k that a buffer of in0's and of in1's ring holds: so many that
   * rows along k are read in long runs. */
  int run[OUT];
};
/* Buffers of an input's ring. */
int map_mem_depth(const struct map_panel *, int tensor);
/* The most that fits beside the rings; false: not even these do. */
bool map_mem_panel(const struct device *, const struct teir_problem *,
                   const struct map_blocking *, struct map_panel *);

/* ---- ends.c ---- */
/* Whether the last of a round's buffers, of so many steps, does not follow the
 * others in device memory as these do each other. */
bool map_ends_apart(const struct tile_program *, int tensor, int steps,
                    bool group);
/* The same where the stream of all of k is known; NULL: there is none. */
struct map_stream;
bool map_stream_ends_apart(const struct tile_program *, int steps,
                           const struct map_stream *);
/* Whether the last chunk of a panel of in0 takes a task of its own. */
bool map_panel_ends_apart(const struct tile_program *);
/* Whether an n round of in1 takes two descriptors of the shim, one behind the
 * other: of its full buffers and of the last one, or of its rows and of those
 * that fill up the last step. */
bool map_in1_in_two(const struct tile_program *);

/* ---- convert.c: inputs that become block floats on their way ---- */
/* Rows (columns of in1) that a converting core gets at a time, for as many
 * steps of k as panel->run says; where in0 is turned, the k of a block that it
 * gets. */
enum { MAP_CONVERTED_ROWS = 16, MAP_CONVERTED_K = 32 };
/* Whether these types have to be block floats, in1 lies along k, and the grid
 * leaves a row of cores for it. */
bool map_converts(const struct device *, const struct teir_problem *,
                  const struct map_form *);
/* Whether blocks are of one axis a role, so that what comes in the order of
 * addresses comes in that of rows; and a schedule's steps run on along k. */
bool map_converts_blocks(const struct map_cut[AXIS_ROLES]);
bool map_converts_order(const struct tile_program *);
/* Bytes of elements as block floats. */
uint32_t map_converted_bytes(uint32_t elements);
/* Where a converting core keeps what it gets and what it makes of it, two
 * buffers of each; all of in1's block_n for panel->run steps. */
struct map_converter {
  uint32_t raw[OUT], raw_bytes[OUT], made[OUT], made_bytes[OUT], bytes;
};
struct map_converter map_converter_of(const struct map_blocking *, int steps);
/* Of in1 for so many steps, descriptors that read it step by step; and whether
 * there are as many, and all can count what they walk over. */
int map_converter_parts(const struct device *, int block_k, int steps);
bool map_converter_walks(const struct device *, int block_k, int steps);

/* ---- place.c ---- */
/* Buffers in which the streamed steps of a stretch come. */
int map_streamed_parts(const struct tile_program *);
/* Bytes between neighbours in a role of a block: 0 rows, 1 columns. */
int64_t map_pitch(const struct tile_program *, int tensor, int which);
/* Whether a block's rows are closer to each other than its columns are. */
bool map_is_turned(const struct tile_program *, int tensor);
/* Whether the blocks of a group are closer to each other in out than those of
 * the next row of cores: then they leave a mem tile as one. */
bool map_close_out(const struct tile_program *);
/* Places in core and mem tiles, and how sums lie; false and *d: there is no
 * space. */
bool map_place_blocks(struct tile_program *, struct loc, struct diag *);

/* Buffers per ring in a mem tile: in flight from device memory, which hides
 * its jitter, and towards it. */
enum {
  MAP_MEM_DEPTH_IN = 4,
  MAP_MEM_DEPTH_STREAMED = 2, /* of as many steps as a stretch streams */
  MAP_MEM_DEPTH_OUT = 2,
  MAP_APART_DEPTH = 2, /* of both inputs, for every row of a grid apart */
  MAP_MAX_CHUNKS = 8,
  MAP_MAX_PARTS = 8 /* in which a buffer is read, each by its descriptor */
};

/* What the array does: every core of the grid runs, for every index of
 * the loops over batch, m and n and block of the group, zero once, the product
 * for every index of the loops over k, and what turns sums into results. */
struct tile_program {
  const struct device *device;
  struct map_grid grid;
  bool converts; /* the row above the grid makes block floats of inputs */
  int joins;     /* channels on which a column's blocks of out leave */
  /* over the grid's parts of m, and of n; or of the batch.  Of two loops the
   * first is over halves. */
  struct map_nest row, column;
  struct map_nest time[AXIS_ROLES]; /* C around M around N around K */
  struct map_loop group;            /* of m; 1 or 2 blocks */
  struct map_nest side[AXIS_ROLES]; /* M, N and K of a block */
  /* the extents of these; block_k counts the zeros behind a block of K, too,
   * and block_m and block_n are a small matrix's where there is less */
  int batch, rounds_m, rounds_n, steps_k, group_m, block_m, block_n, block_k;
  /* Elements of k in all steps: the last one, which the loops count as the
   * others, may have less. */
  int64_t all_k;
  bool zero;       /* the block of out is cleared before its first step */
  bool turns_out;  /* kernels turn small matrices of out, */
  bool turns_sums; /* of sums, before the last pass over them */
  enum dtype acc;
  /* A bias, which moves along columns of the grid and n, comes behind each n
   * round's last block of in1, as a block of in1's more.  finish.bias is AXIS_N
   * then. */
  struct teir_finish finish;
  struct map_panel panel;
  struct map_core core;
  /* in0, which the cores of a row share, in1, which those of a column share,
   * and out */
  struct map_transfer transfer[TENSORS];
};
/* ---- stream.c: on the way between device memory and mem tiles ---- */
/* Loops over the words of a buffer in the order in which they travel, outermost
 * first: by how many bytes each moves in device memory, and in the mem tile. */
enum { MAP_STREAM_LOOPS = 16 };
struct map_stream_loop {
  int64_t extent, stride_bytes, place_bytes;
};
struct map_stream {
  struct map_stream_loop loop[MAP_STREAM_LOOPS];
  int count;
  bool by_k; /* a loop over k is the outermost one */
};
/* A block of a tensor: of an input for `steps` steps of k, of all blocks of a
 * group if `group`.  False: a word or an axis would be taken apart. */
bool map_stream_of(const struct tile_program *, int tensor, int steps,
                   bool group, struct map_stream *);
/* ---- uneven.c: a last step of k that has less ---- */
/* Cores multiply whole small matrices: zeros follow a block of k, and behind
 * all m or n that are less lies what is not used. */
void map_pad_sides(struct tile_program *);
/* Elements along a role that a block of a tensor brings or takes: of an input
 * whole words, of which the last one may be shared with what lies behind. */
int64_t map_moved(const struct tile_program *, int tensor, int which);
/* Whether of a block of out some rows or columns stay behind in the mem tile,
 * where it lies row by row then, or column by column if kernels turn it. */
struct kernel_shape;
bool map_clips(const struct kernel_shape *, int64_t m, int64_t n);
bool map_clips_out(const struct tile_program *);
/* So many steps become one; false: they do not follow each other. */
bool map_join_steps(struct tile_program *, int steps);
/* Whether the last step of k has less than the others.  Then K is one axis. */
bool map_is_uneven(const struct tile_program *);
/* Whether zeros can fill it up, in rings of a grid whose inputs have channels
 * of their own. */
bool map_ends_well(const struct tile_program *);
/* How zeros come behind the last k where K ends inside a small matrix: a mem
 * tile adds them to an input's blocks, word by word, and the core clears what
 * else these have there: the rest of the last k's word, or all.  Of integers
 * one factor of a product has to be zero, of floats both, for the other one may
 * be no number. */
enum map_clear { MAP_CLEAR_NOTHING, MAP_CLEAR_WORD, MAP_CLEAR_ALL };
struct map_end {
  bool inside;     /* K does */
  bool zeros[OUT]; /* behind the last word */
  enum map_clear clear[OUT];
};
/* Steps of k, of which the last one has less, and what lies beside k in a block
 * of in1. */
struct map_steps {
  int count, block_k, last_k, block_n;
};
/* Of inputs that lie so. */
struct map_end map_end_of(const struct kernel_shape *,
                          const enum dtype type[OUT], const bool turned[OUT],
                          const struct map_steps *);
/* How buffers of a ring are read of which a round's last one has less: all
 * alike, or that one by descriptors of its own; or so beside most of out's,
 * which are in the same half of a mem tile's descriptors as in1's. */
enum map_reading { MAP_READ_ALIKE, MAP_READ_APART, MAP_READ_CROWDED };
/* The fewest steps in a buffer, `least` or more, so that there are descriptors
 * until rounds begin with the same buffer again.  Rather some more than that
 * the last buffer has less than half, beside which not much is read ahead. */
int map_uneven_run(int steps, int least, enum map_reading);
int map_ring_depth(int run); /* in buffers of so many steps */
struct map_end map_end(const struct tile_program *);
bool map_is_cleared(const struct tile_program *);
/* Blocks of an input along k that zeros fill up lie in rows of k.  Where a
 * small matrix has a word of a row, the mem tile's reader cuts them into small
 * matrices; else a core's channel does, which has to count those of a block of
 * in0. */
bool map_cuts_words(const struct kernel_shape *, enum dtype, bool turned,
                    int input);
bool map_can_cut(const struct device *, const struct kernel_shape *,
                 enum dtype in0, bool in0_turned, int block_m, int block_k);
/* Whether K may end so in such blocks. */
bool map_may_end_inside(const struct device *, const struct kernel_shape *,
                        enum dtype in0, bool in0_turned, int block_m,
                        int block_k, int group_m);
/* Whether what in1's last step lacks is filled up with rows of k that it has
 * elsewhere, so that all its buffers are alike: where K ends inside a small
 * matrix, no zeros are added, and rows lie one behind the other. */
bool map_fills(const struct tile_program *);
/* The same for so many elements of k, where K is uneven. */
bool map_stream_of_k(const struct tile_program *, int tensor, int64_t k,
                     bool group, struct map_stream *);
/* Buffers of so many steps that an input's ring gets in an n round, and what
 * the last one holds of k. */
int map_buffers_k(const struct tile_program *, int steps);
int64_t map_last_k(const struct tile_program *, int steps);
/* Descriptors until a ring of `depth` begins again with a round's first buffer.
 */
int map_ring_turns(int depth, int buffers);
/* Whether zeros follow the k of a block.  Then a mem tile holds what there is,
 * and blocks are cut into small matrices where zeros have joined them: k by k
 * in the mem tile, what lies along k in the core. */
bool map_is_padded(const struct tile_program *);
/* Whether blocks lie so for this or because K ends inside a small matrix. */
bool map_is_uncut(const struct tile_program *);

/* Whether axes are constants that a design can hold, without offsets. */
bool map_check_axes(const struct teir *, struct diag *);

/* The roles of in0, in1 and out as rows and columns of a matrix. */
extern const enum axis_role map_roles[TENSORS][2];
/* Elements of a block's bias in core memory, and in 4-byte words which of n's
 * elements lies where: as often as a small matrix of sums needs it.  `column`
 * and `round`: which block of n; `at`: the word. */
int map_bias_words(const struct tile_program *);
int64_t map_bias_element(const struct tile_program *, int column, int round,
                         int at);
/* Whether a block of in1 has space for it. */
bool map_bias_fits(const struct device *, const struct teir_problem *,
                   const struct map_blocking *);
struct tile_program *map_program(struct arena *, const struct teir *,
                                 const struct device *, struct diag *);
void map_print(const struct tile_program *, struct text *);

#endif
