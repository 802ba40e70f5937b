/* run.h -- a replaced loop nest at run time: either the whole work is done, or
 * it is declined and nothing was written, and the original loop runs.
 *
 * A call brings the untiled TEIR of its nest as text, values for its symbols
 * and the base addresses of its tensors.  The module reads the TEIR (cached),
 * checks what only run time knows (extents, strides, overlap), picks a device,
 * cuts the product into launches, copies user memory into device buffers, as it
 * lies where the device can use it so, and results back.  Compiled launches and
 * opened devices are cached by shape.
 */
#ifndef NPUTEIR_RUN_H
#define NPUTEIR_RUN_H

#include "tensor.h"

struct resident_place;
struct run_device;
struct teir;

/* ---- what the compiler provides ---- */

enum { RUN_DIMS = 24 };

/* A device buffer.  The dims of one axis multiply to its padded extent, the
 * most significant first; an element lies at the sum of index times stride. */
struct run_layout {
  size_t bytes;
  /* Element by element as the TEIR's tensor, if not with its strides; else in
   * an order of the device's own. */
  bool in_place;
  /* Why not with its strides or order: a word for the trace. */
  const char *why, *rule; /* of the hardware, a sentence; NULL: none */
  int count;
  struct {
    enum axis_role axis; /* C only if the plan has a batch */
    int64_t extent, stride_bytes;
  } dim[RUN_DIMS];
};

/* A role of which a device computes some elements twice: so many indices, and
 * which element each stands for.  Tensors in an order of the device's own have
 * all of them. */
struct run_share {
  int count; /* of digits, the most significant first; 0: no such role */
  struct {
    int64_t extent, step; /* elements */
  } digit[RUN_DIMS];
};

/* A vector along m or n that the device adds to sums, of 4-byte elements, in
 * the buffer of out behind the results: element `element` lies `at_bytes` from
 * the buffer's start, in several places.  Elements behind the last one of a
 * launch are padding. */
struct run_bias {
  int64_t count; /* 0: there is none */
  struct run_bias_word {
    int64_t at_bytes, element;
  } *word;
};

/* What a device needs for one launch shape. */
struct run_plan {
  const void *configuration; /* a CDO */
  size_t configuration_bytes;
  int columns; /* of the partition that it takes */
  const void *txn;
  size_t txn_bytes;
  const struct resident_place *resident; /* NULL: it can have none */
  int64_t m, n, k;         /* extents of one launch, padding included */
  int64_t batch;           /* products that it computes; 0 and 1: one */
  double predicted_cycles; /* of one launch; 0: not known */
  /* What the compiler wants to know of the configuration, when it makes others
   * (run_held). */
  const void *shape;
  size_t shape_bytes;
  /* Of a launch, more than it would take on a configuration of its own; and
   * what a change to this one was taken to save when it was made. */
  double lost_seconds, saved_seconds;
  bool by_blocks; /* inputs of bf16 become block floats */
  struct run_share share[AXIS_ROLES];
  struct run_bias bias;
  struct run_layout tensor[TENSORS]; /* arguments 0, 1, 2 */
};

/* The plan's configuration as XRT loads it. */
bool plan_xclbin(const struct run_plan *, struct text *xclbin, struct diag *);

/* A configuration that the array holds, by its plan's shape and bytes. */
struct run_held {
  const void *shape, *configuration;
  size_t shape_bytes, configuration_bytes;
};

/* The module does not know the compiler; its caller hands it in. */
struct run_compiler {
  /* A plan for the first part of the work that one launch can do; `device` as
   * device.def names it.  The plan lives in the arena.  Declines results that
   * are no whole sums if a launch does not take all of k.  What the array holds
   * (NULL: nothing, or it does not matter) may be nearly as good as what would
   * be best. */
  const struct run_plan *(*compile)(struct arena *, const char *device,
                                    const struct teir *,
                                    const struct run_held *, struct diag *);
  const struct run_device *device; /* one more device, by its name; or NULL */
};

/* ---- devices: one const struct each ---- */

struct run_options {
  char device[16];  /* a word of the list in device.c */
  char preset[32];  /* platform of the simulator; names the NPU, too */
  int64_t min_macs; /* real devices decline less work than this; -1: what they
                       would not do faster than the loop, as measured */
  int f32;          /* enum f32_mode: floats on devices that multiply bf16 */
  int bf16;         /* enum bf16_mode: bf16 on those of block floats */
  bool finite;      /* no input is infinite or NaN: fp=relaxed */
  bool off;
  bool resident; /* transactions of small products stay for the next */
  const struct run_recording *recording; /* of the call; NULL: none */
};

struct run_counts {
  bool configured;        /* some launch had to load its configuration */
  uint64_t changed_bytes; /* of transactions, that changed a loaded one, and of
                             what they brought */
  double change_seconds;  /* about, of loads and changes */
  int64_t resident;       /* launches of a transaction that stays */
  uint64_t cycles, mac_cycles, core_cycles; /* 0 where not known */
  double simulated_seconds; /* that the simulator took; else 0 */
};

/* Each device has its own: */
struct run_context; /* a loaded configuration */
struct run_session; /* a plan's buffers, and the rest of what it needs */

/* A transaction in the place of a plan's own, and what it finds in device
 * memory, behind the tensors; of no length: nothing. */
struct run_code {
  const void *bytes;
  size_t length;
  const void *data;
  size_t data_bytes;
};

/* Whether transactions may change the configuration of a context. */
enum run_change {
  RUN_CHANGE_NEVER,
  RUN_CHANGE_KEPT,  /* the next launch finds it changed */
  RUN_CHANGE_SHARED /* others use the array, too: or it finds it loaded anew */
};

struct run_device {
  const char *name;
  enum run_change change;
  bool real; /* launches cost time: small work is declined */
  /* Whether there is one; NULL: always. */
  bool (*present)(struct diag *);
  /* What its measured rates are kept by; NULL: the name. */
  const char *(*identity)(void);
  /* Runs a whole program on host memory; NULL: the device takes launches. */
  bool (*run_teir)(const struct teir *, void *const tensor[], struct diag *);
  /* The NPU model to compile for (device.def). */
  const char *(*target)(const struct run_options *, struct diag *);
  /* Loads the plan's configuration, on which launches of all plans with the
   * same one are possible, one at a time; NULL: every session has its own. */
  struct run_context *(*load)(const struct run_plan *,
                              const struct run_options *, struct diag *);
  void (*unload)(struct run_context *);
  struct run_session *(*open)(const struct run_plan *,
                              const struct run_options *, struct diag *);
  /* Where launches may be under way while others are prepared: makes so many
   * buffers of each argument, or fewer, and says how many there are now.  NULL:
   * one. */
  int (*copies)(struct run_session *, int wanted);
  size_t (*bytes)(const struct run_session *); /* of all; NULL: the plan's */
  /* Host address of a buffer of argument i, as large as the plan says. */
  void *(*buffer)(struct run_session *, int i, int copy);
  /* The host has changed a buffer since its last launch.  NULL: no matter. */
  void (*wrote)(struct run_session *, int i, int copy);
  /* The program's memory in the place of a buffer of input i, until it is taken
   * back: nothing need be copied.  False: it must be.  NULL: always. */
  bool (*lend)(struct run_session *, int i, int copy, const void *memory,
               size_t bytes);
  void (*take_back)(struct run_session *); /* all that was lent */
  /* With copies: the buffers of a launch that the next `launch` begins, behind
   * others. */
  void (*queue)(struct run_session *, const int copy[TENSORS]);
  /* Begins what was queued, when what the launch before began has ended; with
   * an empty queue launches copy 0 and waits.  The context is NULL if there is
   * no `load`, the code for the plan's. */
  bool (*launch)(struct run_session *, struct run_context *,
                 const struct run_code *, struct run_counts *, struct diag *);
  /* With copies: waits for all that was begun. */
  bool (*finish)(struct run_session *, struct diag *);
  void (*close)(struct run_session *);
};
extern const struct run_device run_host, run_sim, run_npu;
#ifdef NPUTEIR_XRT
extern const struct run_device run_xrt;
#endif
/* By name, or the present real device for "auto"; NULL and *d: none (an
 * unknown name is an error, an absent device a reason to decline). */
const struct run_device *run_device_find(const char *name, struct diag *);
/* Whether small work may be declined where that name is asked for, or all. */
bool run_device_declines(const char *name);

/* ---- the runtime ---- */

struct verify_call;
struct gate_times {
  double loop, device;
};
/* Seconds that a loop as written is taken to need until it was timed. */
double run_loop_guess(double macs);
/* Of a call that a device did: making the launch, if this call did, copies and
 * conversions on the host, waiting for the device. */
struct run_seconds {
  double build, copy, launch;
  double change; /* of launch: about what it took to load a configuration, or to
                    change the one that is loaded */
};
struct run; /* what outlives a call: caches, opened devices */
/* Reads the environment: NPUTEIR_DEVICE, NPUTEIR_OPTIONS, NPUTEIR_PROFILE,
 * NPUTEIR_TRACE, NPUTEIR_VERIFY, NPUTEIR_VERIFY_FILE.  NULL: no memory. */
struct run *run_open(const struct run_compiler *);
void run_close(struct run *);

struct run_request {
  const char *teir, *options, *where; /* options, where: NULL is fine */
  const int64_t *value;
  uint64_t value_count;
  void *const *tensor; /* in the order of the TEIR's tensors */
  uint64_t tensor_count;
};

struct run_report {
  bool done, compiled; /* compiled: this call built something */
  const char *device;  /* NULL: none was reached */
  bool real;           /* it is silicon */
  char einsum[64], sizes[192], types[48], tail[192]; /* when tracing */
  /* Where sums became results, or were added to old contents: "cores" or
   * "host"; NULL: they are results. */
  const char *epilogue;
  const char *f32; /* how floats became bf16: "bf16", "bf16x3"; NULL: none */
  bool by_blocks;  /* bf16 was multiplied as block floats */
  int64_t launches;
  /* Bytes that were copied between the call's tensors and device buffers. */
  int64_t host_bytes;
  /* Tensors that were not copied as they lie, and why; NULL: as they lie. */
  const char *packed[TENSORS];
  const char *rule[TENSORS]; /* of the hardware behind it; NULL: none */
  struct run_counts counts;
  struct run_seconds seconds;
  struct diag reason; /* when declined */
  /* Seconds of the call, as expected; 0 where nobody asked. */
  struct gate_times predicted;
  /* Not 0: how long the loop takes is worth knowing, run_loop_took. */
  uint64_t timed;
  /* NPUTEIR_VERIFY: the device's results, kept aside.  Nothing was written:
   * the loop must run, and then run_verify.  Owned by the caller. */
  struct verify_call *verify;
};
/* Whether the work was done; any thread may call at any time, with a stack of
 * 16 KB and more.  Without memory the call is declined, and the next one begins
 * afresh.  With NPUTEIR_TRACE=1 a line on stderr says what happened.  Where it
 * is known that the loop is faster, and nothing is traced, the report of a
 * declined call has no reason. */
bool run_call(struct run *, const struct run_request *, struct run_report *);
/* Fewer multiply-adds than this need not be offered by calls that leave the
 * choice of the device to us; 0: all must be. */
uint64_t run_least_macs(const struct run *);
/* The loop that a call left to the program, which said `timed`, has ended. */
void run_loop_took(struct run *, uint64_t timed, double seconds);
/* Compares with what the loop has written to the same memory, or does not;
 * either frees it. */
void run_verify(struct run *, struct verify_call *);
void run_verify_drop(struct verify_call *); /* NULL is fine */
/* Whether the environment asks for lines at the end of the process; and these
 * lines. */
bool run_has_summary(const struct run *);
void run_print_summary(struct run *);

#endif
