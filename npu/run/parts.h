/* parts.h -- what the module's own files share. */
#ifndef NPUTEIR_RUN_PARTS_H
#define NPUTEIR_RUN_PARTS_H

#include "calc.h"
#include "recognizer.h"
#include "run.h"
#include "teir_problem.h"

#include <pthread.h>

/* ---- stack.c ---- */
/* work(with), on a stack of its own if this thread's is small; false: there is
 * no memory for one. */
bool stack_run(void (*work)(void *), void *with);

/* ---- options.c ---- */
/* What holds where nothing is said. */
struct run_options run_options_weakest(void);
/* The words of one source over those of weaker ones; text may be NULL. */
bool run_options_read(const char *source, const char *text,
                      struct run_options *, struct diag *);
/* The word of NPUTEIR_DEVICE, stronger than all sources; NULL is fine. */
bool run_options_device(const char *word, struct run_options *, struct diag *);

/* ---- product.c: a TEIR and its run-time values as a matrix product ---- */
/* With an epilogue the sum is a tensor that is nowhere in memory. */
enum { PRODUCT_AXES = 16, PRODUCT_TENSORS = TENSORS + CALC_INPUTS - 1 };
enum { PRODUCT_LIMITS = 16 };
struct product_axis {
  const char *id;
  int64_t extent, stride_bytes[PRODUCT_TENSORS];
  int64_t step[PRODUCT_LIMITS]; /* of limits, along this axis */
};
/* Without an epilogue out = (accumulate ? out : 0) + sum, else out = epilogue.
 */
struct product {
  int tensor_count;
  enum dtype type[PRODUCT_TENSORS];
  enum dtype acc; /* of the sum; out's own without an epilogue */
  bool accumulate;
  const struct calc *epilogue;         /* the TEIR's; NULL: none */
  int input_count, input[CALC_INPUTS]; /* of the epilogue: tensors */
  const struct calc *map[OUT];         /* what is multiplied in the place of an
                                        * input's element; NULL: the element */
  int map_input[OUT][CALC_INPUTS];     /* tensors */
  int count[AXIS_ROLES];
  struct product_axis axis[AXIS_ROLES][PRODUCT_AXES]; /* by axis_role */
  int64_t extent[AXIS_ROLES];      /* product of the role's extents */
  int64_t offset[PRODUCT_TENSORS]; /* bytes from the base to element 0 */
  int limit_count; /* only products count, and are read, at which no limit is
                      below zero */
  int64_t limit[PRODUCT_LIMITS]; /* at the first index of all axes */
  bool empty_out;                /* no element of out is touched */
  bool empty_sum;                /* nothing is summed: the sum is 0 */
};
/* False and *d: not a plain product, or one that we may not run. */
bool product_read(const struct teir *, const int64_t *value, struct product *,
                  struct diag *);
/* Einsum, sizes and types for the trace. */
void product_describe(const struct product *, struct run_report *);

/* ---- places.c: where a product's tensors lie ---- */
/* Declines when out may share a byte with what is read; an extra that is out,
 * element by element, is old content. */
bool product_disjoint(const struct product *, void *const tensor[],
                      struct diag *);
/* Bytes from a tensor's first element to the end of its last; false: they do
 * not fit in 64 bits. */
bool product_span(const struct product *, int tensor, int64_t *bytes);
/* offset[i]: bytes from element 0 of a role's fused axes to element i. */
void product_offsets(const struct product *, enum axis_role, int tensor,
                     int64_t *offset);
/* The same, allocated. */
int64_t *product_new_offsets(struct arena *, const struct product *,
                             enum axis_role, int tensor);

/* Results in a C x M x N array without gaps. */
struct dense {
  char *memory;
  int64_t *offset[AXIS_ROLES]; /* of C, M and N */
};
struct dense dense_make(struct arena *, const int64_t extent[AXIS_ROLES],
                        enum dtype);

/* ---- path.c: the contraction path of three factors: two products,
 * one of which makes an input of the other ---- */
struct path {
  const struct teir *first;   /* in0, in1, out; NULL: the product is all */
  const struct teir *product; /* the program's tensors without in2 and in3 */
  int to;                     /* which input `first` makes */
};
bool path_read(struct arena *, const struct teir *, struct path *,
               struct diag *);
/* Memory for what `first` makes; NULL: it is not worth it, or out lies where
 * first's inputs are.  The call's tensors. */
void *path_intermediate(struct arena *, const struct path *,
                        const struct product *first, const struct product *,
                        void *const tensor[], struct diag *);

/* ---- pad.c: copies of inputs, with zeros where products do not count, and of
 * what is made of elements ---- */
struct padded {
  struct product product; /* without limits and maps, on these tensors: */
  void *tensor[PRODUCT_TENSORS];
  int64_t bytes[OUT];   /* of the copies; 0: none */
  const char *why[OUT]; /* words for the trace; NULL: no copy */
};
/* Does the product need them? */
bool padded_needed(const struct product *);
/* Declines when out shares a byte with what is read here, when more would be
 * read than the product's limits allow, and when what is made of an element
 * needs more than 16 bits. */
bool padded_make(struct arena *, struct padded *, const struct product *,
                 void *const tensor[], struct diag *);

/* ---- pack.c: copies between two ways to lay out a matrix ---- */
/* Element (i, j) lies at row[i] + column[j] bytes. */
struct pack_matrix {
  char *base;
  const int64_t *row, *column;
};
void pack_copy(const struct pack_matrix *to, const struct pack_matrix *from,
               int64_t rows, int64_t columns, int element_bytes);
/* to += from, in f32 or modulo 2^32. */
void pack_add(const struct pack_matrix *to, const struct pack_matrix *from,
              int64_t rows, int64_t columns, enum dtype);

/* ---- map.c: element-wise expressions over matrices ---- */
/* The inputs that an expression uses, by their numbers, then the result. */
struct map_operands {
  int count, input[CALC_INPUTS + 1];
  struct pack_matrix x[CALC_INPUTS + 1];
};
void map_block(const struct calc_program *, const struct map_operands *,
               int64_t rows, int64_t columns);

/* ---- epilogue.c: what becomes of sums on their way to out ---- */
struct epilogue;
/* For sums that a device forms in type `sum`. */
struct epilogue *epilogue_make(struct arena *, const struct product *,
                               enum dtype sum, void *const tensor[]);
/* All M x N sums of index c of the C axes; cannot fail. */
void epilogue_store(const struct epilogue *, const struct pack_matrix *sum,
                    int64_t c);
/* All of out, where nothing is summed. */
void epilogue_store_empty(const struct product *, void *const tensor[]);

/* ---- context.c: configurations that are loaded, and launches on them ---- */
/* What begins a key; the configuration follows. */
struct context_name {
  uint64_t hash;
  int columns;
  char device[16], preset[32];
};
struct context_key { /* plans with equal ones share a context */
  const void *bytes;
  size_t length;
  const void *shape; /* of such a plan */
  size_t shape_bytes;
};
struct context_key context_key(struct arena *, const struct run_device *,
                               const struct run_options *,
                               const struct run_plan *);
/* One that a device has loaded.  What `lock` does not guard, the lock of all
 * guards. */
struct context {
  pthread_mutex_t lock; /* held by a launch on it */
  const struct run_device *device;
  struct run_context *context;     /* NULL: there is none */
  struct context_key loaded, held; /* by the last load, and launch */
  struct arena *loaded_arena, *held_arena;
  struct context_name loaded_name, held_name;
  int users;
  uint64_t last_use;
};
enum { CONTEXTS = 6 };
struct contexts {
  pthread_mutex_t lock;
  struct context context[CONTEXTS];
  uint64_t clock;
};
void contexts_open(struct contexts *);
void contexts_close(struct contexts *);
/* What a device takes to load a configuration. */
double context_load_seconds(const struct run_device *,
                            const struct run_options *);
/* Launches of all contexts so far. */
uint64_t contexts_launches(struct contexts *);
/* What the next launch finds, in the arena; false: nothing, nobody knows now,
 * or it is not to matter. */
bool contexts_held(struct contexts *, struct arena *, const struct run_device *,
                   const struct run_options *, struct run_held *);
struct context_launch {
  struct contexts *contexts;
  const struct run_device *device;
  const struct run_options *options;
  const struct run_plan *plan;
  struct context_key key;
  double *spent; /* seconds, on changes for this plan */
  struct run_session *session;
};
/* Has the device load or change a configuration where it must. */
bool context_launch(const struct context_launch *, struct run_counts *,
                    struct diag *);

/* ---- cache.c: entries by key, the least recently used goes first ---- */
enum cache_state { CACHE_NEW, CACHE_READY, CACHE_FAILED };
struct cache_entry {
  pthread_mutex_t lock; /* held while the payload is built or used */
  enum cache_state state;
  struct diag diag;    /* why it failed */
  struct arena *arena; /* NULL while the entry is new */
  const struct teir *teir;
  struct path path; /* what teir consists of */
  const struct run_plan *plan;
  struct context_key context_key; /* of the plan */
  double changes_seconds;         /* spent on changes of contexts for it */
  /* Lost by launches that followed each other, on a configuration that is not
   * the plan's best; and the count of all launches at the last one. */
  double lost_seconds, build_seconds; /* that it took to make it */
  uint64_t last_launch;
  const struct run_device *device;
  struct run_session *session;
  size_t bytes; /* that the payload holds beside the arena, about */
  /* the cache's own */
  void *key;
  size_t key_bytes;
  int users;
  uint64_t last_use;
};
struct cache {
  pthread_mutex_t lock;
  struct cache_entry *entry[64];
  int count;
  int most_entries;  /* more of them, ... */
  size_t most_bytes; /* ... or more bytes, only while all are in use */
  uint64_t clock;
  double search_seconds;
};
void cache_open(struct cache *, int most_entries, size_t most_bytes);
void cache_close(struct cache *);
/* NULL: no memory, or too many in use. */
struct cache_entry *cache_acquire(struct cache *, const void *key,
                                  size_t bytes);
void cache_release(struct cache *, struct cache_entry *);
/* What it took the last time to make a plan whose blocks are its own. */
void cache_searched(struct cache *, double seconds);
double cache_search_seconds(struct cache *);
/* With the lock of an entry held that has no session: it is new again. */
void cache_forget(struct cache_entry *);
/* With the lock of a new entry held: build() makes its payload in its arena
 * and sets its state.  False: no memory, and the entry stays new. */
bool cache_build(struct cache_entry *,
                 void (*build)(struct cache_entry *, const void *with),
                 const void *with);

/* ---- finish.c ---- */
/* What makes out's elements of the sums, and the tensor that is the bias; -1:
 * none. */
struct finish {
  struct teir_finish how;
  int bias;
};
/* Whether a device could do it, where k is summed in one launch, with what lies
 * in the bias now. */
bool finish_read(const struct product *, void *const tensor[], struct finish *);

/* ---- launch.c ---- */
/* Runs a product that is not empty on a device that takes launches. */
bool launch_product(struct cache *plans, struct contexts *,
                    const struct run_compiler *, const struct run_device *,
                    const struct run_options *, const struct product *,
                    void *const tensor[], struct run_report *, struct diag *);

/* ---- host.c ---- */
/* Runs a product, with an epilogue or without, on a device that runs whole
 * programs.
 */
bool host_product(const struct run_device *, const struct product *,
                  void *const tensor[], struct diag *);

/* ---- nests.c: how much work a call of a nest is ---- */
struct nests; /* of a process; any thread may call */
struct nest_known;
struct nests *nests_open(void); /* NULL: no memory */
void nests_close(struct nests *);
/* By the addresses of the call's texts; NULL: not known. */
struct nest_known *nests_find(const struct nests *, const struct run_request *);
/* least: fewer multiply-adds stay with the loop; below 0: times decide. */
void nests_add(struct nests *, const struct run_request *, const struct teir *,
               double least);
double nest_least(const struct nest_known *);
/* Multiply-adds; -1: not known. */
double nest_macs(const struct nest_known *, const struct run_request *);
/* Seconds per multiply-add of its loop; 0: not known. */
double nest_rate(const struct nest_known *);
void nest_loop_took(struct nest_known *, double macs, double seconds);

/* ---- gate.c: device or loop, by what calls took before ---- */
struct gate;                  /* of a process; any thread may call */
struct gate *gate_open(void); /* NULL: no memory */
void gate_close(struct gate *);
/* A nest at its run-time values; by the addresses of its texts. */
uint64_t gate_key(const struct run_request *);
/* Whether it is known that the loop is faster. */
bool gate_keeps(const struct gate *, uint64_t key);
void gate_keep(struct gate *, uint64_t key);
/* Whether a call need not be read, because its loop is to run: *timed is the
 * key then if it is worth knowing how long that takes, else 0. */
bool gate_declines(struct gate *, const struct run_request *, uint64_t *timed);
/* Multiply-adds of a loop that ends before any launch does; 0: nobody has asked
 * for a device yet. */
double gate_least_macs(const struct gate *);
/* A nest of whose calls those with fewer than `least` multiply-adds stay with
 * the loop; below 0: times decide. */
void gate_read(struct gate *, const struct run_request *, const struct teir *,
               double least);
/* The call was declined before it got to a device, for what it is. */
void gate_declined(struct gate *, uint64_t key);
/* The calls are for this device, whose name stays; rates of earlier processes
 * hold until there are better ones. */
void gate_use(struct gate *, const char *device);
/* Whether the device is to run this call. */
bool gate_pays(struct gate *, uint64_t key, double macs, double bytes,
               struct gate_times *);
void gate_loop_took(struct gate *, uint64_t key, double seconds);
/* The whole call, what of it was what, and the bytes that the host copied. */
void gate_device_took(struct gate *, uint64_t key, double seconds,
                      const struct run_seconds *, int64_t copied);
/* The device declined it, or failed. */
void gate_device_failed(struct gate *, uint64_t key);

/* ---- rates.c: what a device's launches cost, from process to process ---- */
struct rates {
  double launch, build; /* seconds */
  double copy, mac;     /* seconds per byte and per multiply-add */
};
/* A file per device in the user's cache folder.  Where there is none, or
 * nonsense in it, nothing is read; where it cannot be written, nothing is. */
bool rates_read(const char *device, struct rates *);
void rates_write(const char *device, const struct rates *);

/* ---- trace.c ---- */
void trace_report(const struct run_report *, const char *where);

/* ---- verify.c: what the device computed beside what the loop does ---- */
struct verify;      /* of a process */
struct verify_call; /* results of one call that are kept aside */
/* word: "1" or "first"; lines go to `file`, or to stderr.  NULL: no memory. */
struct verify *verify_open(const char *word, const char *file);
void verify_close(struct verify *);
bool verify_wants(struct verify *, const char *where);
/* A copy of what is in out, for a product that touches it; NULL: no memory. */
struct verify_call *verify_begin(const struct product *, void *out);
/* The address to give a device in the place of out's. */
void *verify_out(const struct verify_call *, const struct product *);
/* What the lines say, when the device is done. */
void verify_describe(struct verify_call *, const struct product *,
                     const struct run_report *, const char *where);
void verify_drop(struct verify_call *); /* NULL is fine */
/* When the loop is done, too; drops the call. */
void verify_compare(struct verify *, struct verify_call *);
void verify_print(struct verify *);
/* The largest error that rounding explains, as a part of the largest result;
 * f32: how floats became bf16, or NULL; by_blocks: bf16 then block floats. */
double verify_allowed(const struct product *, const char *f32, bool by_blocks);

/* ---- recordings.c: launches on the simulator, for a profile ---- */
struct record;
struct recordings; /* of a process; any thread may call */
struct recordings *recordings_open(const char *folder); /* NULL: no memory */
void recordings_close(struct recordings *);
/* What a launch is recorded for. */
struct run_recording {
  struct recordings *to;
  char nest[160], what[320];
  double macs; /* of the call */
};
void recording_name(struct run_recording *, const char *where,
                    const struct run_report *);
/* Around a launch: the options that let Ctrl-C end it and show how far it is,
 * for the recordings; what it is called, and what becomes of the process. */
struct sim_options;
void recording_begin(struct recordings *, struct sim_options *);
void recording_start(const struct run_recording *, const struct run_plan *);
void recording_end(const struct run_recording *);
void recordings_add(const struct run_recording *, const struct run_plan *,
                    const struct record *);
/* A call that was done; start: by seconds_now(); seconds: that the caller
 * waited. */
void recordings_count(const struct run_recording *, const struct run_report *,
                      double start, double seconds);
/* Writes the folder's files. */
void recordings_write(struct recordings *);

/* ---- summary.c: all calls of a process ---- */
struct summary;
struct summary *summary_open(void); /* NULL: no memory */
void summary_close(struct summary *);
/* seconds: that the caller waited.  Any thread may call. */
void summary_add(struct summary *, const struct run_report *, double seconds);
void summary_print(struct summary *);

#endif
