/* choose.h -- what the chooser's files share: the array as a machine for
 * teir_search. */
#ifndef NPUTEIR_MAP_CHOOSE_H
#define NPUTEIR_MAP_CHOOSE_H

#include "map.h"

#include "kernels.h"
#include "teir_search.h"

enum {
  SHORT_LIST = 16,
  MAX_STEPS = 1 << 20,
  MAX_BLOCK = 128,    /* elements along m and n, and along k: larger ones fit */
  MAX_DEPTH = 256,    /* a core only if they are very flat */
  ARRAY_WAYS_OUT = 2, /* channels of a column for out */
};

static inline double array_max3(double a, double b, double c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

struct array {
  const struct platform *at;
  const struct teir_problem *problem;
  const struct map_form *form; /* but for its cuts */
  struct map_grid grid;
  const struct map_work *work; /* in the array's roles; NULL: padded blocks */
  int begins[AXIS_ROLES];      /* axis with which blocks begin */
  int more_k; /* indices of another axis in a block of k; 0: as few as fit */
  struct kernel_shape mac;     /* of the multiply unit */
  struct kernel_shape least;   /* block that a kernel takes */
  struct kernel_shape even[2]; /* of blocks of which kernels have no edges, by
                                  map_tall */
  bool lanes;        /* kernels load and store sums beside no multiplies */
  double turned;     /* what a kernel costs more for turned blocks */
  double strip;      /* and, beyond that, for columns that make no even shape */
  int64_t unit[OUT]; /* of m and n, by which blocks may move in place */
  double most;       /* cycles that are worth while; HUGE_VAL: any */
  double product;    /* cycles of one, measured; 0: by formula */
  struct arena *scratch;                       /* while kernels are measured */
  struct map_blocking tried, best[SHORT_LIST]; /* cheapest first */
  int count;
};

/* ---- check.c ---- */
/* Whether cores have kernels for the product and for what follows it. */
bool array_check_types(const struct platform *, const struct teir_problem *,
                       struct diag *);
bool array_check_extents(const struct teir_problem *, struct diag *);

/* ---- apart.c ---- */
/* A batch of products of one block each, if every core may have its own; *b is
 * left alone otherwise. */
void array_price_apart(const struct platform *, const struct map_work *,
                       struct map_blocking *b);

/* ---- cut.c ---- */
/* So many rounds that all of m and n is done, and so many steps that all of k
 * is, the last ones on padding where nothing lies in place; false: blocks do
 * not end where an axis does. */
bool array_cut_sides(const struct array *, struct map_blocking *);
bool array_cut_k(const struct array *, struct map_blocking *);
/* Whether zeros may follow `k` elements of a block up to its block_k: they end
 * with a word, and the core's channel can cut them. */
bool array_pads(const struct array *, const struct map_blocking *, int64_t k);
/* A part of an axis, unless it is all or nothing. */
void map_cut_add(struct map_cut *, int axis, enum map_place, int64_t extent,
                 int64_t step);

/* ---- walk.c ---- */
/* As much of the tile program as says how buffers travel. */
void array_walks(const struct array *, const struct map_blocking *,
                 const struct map_panel *, struct tile_program *);
/* Bytes of contiguous runs in which a tensor lies in device memory; blocks
 * follow each other. */
double array_run_bytes(const struct array *, const struct map_blocking *,
                       const struct tile_program *, const struct map_panel *,
                       int tensor);
/* Whether every m round, and product of a batch, is a phase at least. */
bool array_rounds_are_phases(const struct array *, const struct map_blocking *,
                             bool apart);
/* Whether descriptors can walk over the tensors that lie in place, and how many
 * n rounds one does: 1 where a block needs the iterations.  `apart`: what
 * map_panel_ends_apart says. */
bool array_can_walk(const struct array *, const struct map_blocking *,
                    const struct tile_program *, const struct map_panel *,
                    bool apart, int64_t *rounds);

/* ---- kernel_price.c ---- */
/* What a product's kernel costs more where elements inside small blocks of in0,
 * in1 and sums are turned (nputeir bench kernels --all).  A unit of 8 x 8 x 8
 * has time to turn them; by lanes it takes two multiplies. */
double array_turned_cost(const struct device *, const struct teir_problem *,
                         const struct kernel_shape *unit,
                         const struct map_layout[TENSORS]);
/* What columns behind the last even shape cost more (kernel_gemm_even): a
 * kernel by lanes cannot hide its loads of in0 there. */
double array_strip_cost(const struct device *, const struct teir_problem *);
/* Cycles of a launch with the kernel's cycles among the design's channels, or
 * by the formula where these are not known; HUGE_VAL: the kernel is too long.
 */
double array_measured_cycles(struct array *, const struct map_blocking *);

/* ---- cost.c ---- */
/* Whether blocks fit into a core, and where. */
bool array_fits(const struct device *, const struct teir_problem *,
                const struct map_blocking *, struct map_core *);
/* The most k of blocks that may fit into a core, a multiple of block_k. */
int64_t array_most_k(const struct device *, const struct teir_problem *,
                     const struct map_blocking *);
/* No launch of such blocks takes less; a block of no k stands for all. */
double array_least_cycles(const struct array *, const struct teir_blocks *);
/* How much of a block's side, along m or n, is a tensor's own: in device memory
 * nothing pads what lies in place; and the bytes of such a block of out. */
double array_own_side(const struct array *, const struct map_blocking *,
                      enum axis_role, int tensor);
double array_out_bytes(const struct array *, const struct map_blocking *);
/* Bytes per cycle of a shim's channel. */
double array_shim_bytes(const struct array *, bool read);
/* Bytes per cycle of a tensor's channels; in0 is taken to be kept in mem tiles.
 * They move no more in a cycle than what is contiguous both in device memory
 * and in a block of small matrices. */
double array_way_bytes(const struct array *, const struct map_blocking *,
                       int tensor);
/* Channels on which a column's blocks of out may leave. */
int array_most_ways(const struct array *);
/* For a round's blocks of out to leave a column on so many. */
double array_drain_cycles(const struct array *, const struct map_blocking *,
                          int ways);
/* Cycles of a round when device memory costs nothing and out leaves on so many
 * channels. */
double array_round_cycles(const struct device *, const struct teir_problem *,
                          const struct array *, const struct map_blocking *,
                          const struct map_core *, int ways);

/* ---- launch.c ---- */
/* About what a launch takes beside its rounds: until half of the channels have
 * begun, and for the last blocks. */
double array_ends_cycles(const struct array *, const struct map_blocking *);
/* Cycles of a launch; HUGE_VAL: no descriptor can walk over a tensor. */
double array_launch_cycles(const struct array *, const struct map_blocking *,
                           const struct map_core *, const struct map_panel *);
/* Cycles of a launch in which every core has products to itself. */
double array_apart_cycles(const struct array *, const struct map_blocking *,
                          const struct map_core *);

#endif
