/* kernel_trace.h -- inside kernels/: the road from a kernel's work to its
 * bundles.
 *
 * A generator writes the whole run of a kernel as one straight list of
 * operations in program order, loops unrolled, with registers chosen and with
 * memory accesses as plain byte offsets (kernel_trace_add and friends).  Then
 *
 *   regs.c   turns offsets into post-incremented pointers
 *   sched.c  gives every operation a cycle
 *   fold.c   finds the repetition in the bundles
 *   emit.c   writes it down with loops
 *
 * The first error stays in trace.diag; later calls do nothing, so a generator
 * is straight emission and is checked once at the end.
 */
#ifndef NPUTEIR_KERNELS_TRACE_H
#define NPUTEIR_KERNELS_TRACE_H

#include "kernels.h"

/* Memory operations by what they move; regs.c knows their addressing forms. */
enum mem_kind {
  MEM_NONE,
#define MEM(kind, ...) MEM_##kind,
#include "mem.def"
#undef MEM
  MEM_KINDS
};

/* Instructions by what they do. */
enum kernel_insn {
#define ROLE(does, ...) KERNEL_##does,
#include "insn.def"
  KERNEL_INSNS
};

/* What generators know of an instruction set besides its tables. */
struct kernel_machine {
  const char *isa; /* its name */
  enum insn_id insn[KERNEL_INSNS];
  struct mem_form {
    enum insn_id immediate, modifier, two_d;
  } form[MEM_KINDS];
  int access_bytes; /* of the widest load or store */
  /* Control registers; modes NULL: forms say the width of lanes themselves. */
  const char *rounding, *saturation, *srs_mode, *ups_mode;
  const char *srs_sign, *ups_sign; /* NULL: forms name the sign */
  /* Accumulators hold four vector registers, and there are few of them
   * (gemm_skew.c); else they hold one or two, and there are many. */
  bool few_sums;
  bool branches; /* rather than hardware loops */
};
/* NULL: the first one, aie2.  Gives NULL if there are no kernels for it. */
const struct kernel_machine *kernel_machine(const struct isa *);

/* One tensor's sequence of accesses through one pointer register. */
struct trace_stream {
  int pointer;    /* register */
  int start_from; /* register that holds the base at entry; may be pointer */
  int bank;       /* streams of one bank are kept out of each other's way */
  int dma_cycle;  /* modulo DMA_PERIOD: left to a DMA that uses the bank, too;
                     -1: none */
};

/* What an operation comes behind besides its operands: the accesses of a stream
 * so far are issued; also, the buffer before was released; the accesses have
 * reached memory; those of the last product have; the buffer was taken. */
enum trace_wait {
  WAIT_NOTHING,
  WAIT_ISSUED,
  WAIT_RELEASED,
  WAIT_DONE,
  WAIT_LEFT,
  WAIT_TAKEN
};

/* A kernel has some ten thousand of them. */
struct trace_op {
  struct isa_op op; /* of a memory operation: data and shift until regs.c */
  int64_t offset;   /* bytes from the stream's base */
  const char *note;
  int way;        /* by this register's bytes; -1: the next offset tells */
  int region;     /* blocks of one shape; block ends of a region are alike */
  uint16_t other; /* insn_id: the same work in another slot */
  uint8_t mem, other_mem;    /* mem_kind */
  int8_t stream;             /* index, -1: none */
  uint8_t wait;              /* trace_wait */
  int8_t wait_for;           /* stream */
  int8_t acquires, releases; /* stream whose buffer a lock operation handles,
                                -1: none */
  uint8_t phase;  /* bit i: in cycles that are i modulo 4; 0: in all */
  uint8_t begins; /* 1, 2: belongs to the first, second round of the loop over
                     steps, which begins with the first such operation */
  bool boundary;  /* last access of its stream in a C block */
  bool leaves;    /* last access of a product: the next one is far away */
  bool phantom;   /* not executed; those before it get their steps from it */
  bool opens;     /* the first access to what was acquired */
  bool apart;     /* nothing from here on comes before what is placed already */
};

#define TRACE_TRIPS "r14" /* holds the trips left of the loop over steps */

enum { TRACE_STREAMS = 6 };
struct trace {
  const struct kernel_machine *machine;
  const struct isa *isa; /* its tables */
  struct trace_name *names; /* looked up before */
  struct arena *arena;
  struct arena *kept; /* for what outlives the trace: notes, the schedule and
                         the operations that it is made of */
  struct diag *diag;
  int count, capacity;
  struct trace_op *op;
  int stream_count;
  struct trace_stream stream[TRACE_STREAMS];
  int mac_count;
  int less_read; /* of a product: stream of the input that is read less */
};

struct trace kernel_trace_open(const struct kernel_machine *, struct arena *,
                               struct arena *kept, struct diag *);
int kernel_trace_stream(struct trace *, const char *pointer,
                        const char *start_from, int bank);
/* Room for so many operations, as a hint. */
void kernel_trace_reserve(struct trace *, int operations);
/* Appends; the returned operation may be refined until the next call. */
struct trace_op *kernel_trace_append(struct trace *);
struct trace_op *kernel_trace_add(struct trace *, enum insn_id,
                                  int operand_count, const int64_t *operand);
struct trace_op *kernel_trace_memory(struct trace *, enum mem_kind, int reg,
                                     int stream, int64_t offset);
/* reg <- value, by the shortest form that holds it. */
void kernel_trace_constant(struct trace *, int reg, int64_t value);
/* Register by name; the name must exist. */
int kernel_trace_named(const struct trace *, const char *name);
/* Register by a name in which %d stands for a number. */
int kernel_trace_reg(const struct trace *, const char *format, int number)
    __attribute__((format(printf, 2, 0)));

/* How stores of this kind narrow; the shift is read from shift_reg. */
void kernel_trace_narrowing(struct trace *, enum mem_kind store,
                            enum kernel_rounding, enum kernel_saturation,
                            int shift, int shift_reg);
/* Lanes below zero of an accumulator half become zero, by way of x register x;
 * between open, which zeroes x register `zero`, and close. */
void kernel_trace_relu_open(struct trace *, int zero);
/* Into the x register, and from there back into the half accumulator. */
void kernel_trace_relu_to(struct trace *, int64_t half, int x, int zero);
void kernel_trace_relu(struct trace *, int64_t half, int x, int zero);
/* The same for floats, of which a comparison as integers takes NaN for what it
 * is not: NaN becomes zero, or stays.  x register `bound` is written once. */
void kernel_trace_relu_open_float(struct trace *, int zero, int bound,
                                  bool keeps_nan);
void kernel_trace_relu_float(struct trace *, int64_t half, int x, int zero,
                             int bound, bool keeps_nan);
/* The same for lanes of 64 bits. */
void kernel_trace_relu_open_wide(struct trace *, int zero);
void kernel_trace_relu_wide(struct trace *, int64_t half, int x, int zero);
void kernel_trace_relu_close(struct trace *);

/* Gives every memory operation an addressing form and a step, and puts the
 * set-up of pointers and step registers in front. */
bool kernel_trace_address(struct trace *);

/* A schedule: one bundle per cycle, no bubble left out. */
struct cycle {
  const struct isa_op *slot[SLOT_COUNT]; /* NULL: empty */
  const char *note;                      /* or NULL */
};
struct schedule {
  const struct kernel_machine *machine;
  const struct isa *isa;
  int count;
  struct cycle *cycle;
  int first_mac, last_mac; /* -1: none */
  /* The memory accesses, each in the cycle in which it takes its bank. */
  struct schedule_access {
    int cycle, stream;
    int64_t offset;
  } * access;
  int access_count;
  /* The bundles [loop[0], loop[1]) are executed `trips` times, which the
   * schedule shows twice; 0 trips: as it stands. */
  int loop[2], trips;
  bool counted; /* the caller of the kernel says how often */
  bool uses_locks;
  bool branches; /* no hardware loops */
};
struct isa_bundle kernel_bundle(const struct schedule *, int cycle);
/* Whether the bundle has room for an operation in the long slot. */
bool kernel_bundle_long_free(const struct isa_bundle *);
/* Bytes of the bundle in its smallest format. */
int kernel_bundle_bytes(const struct isa *, const struct isa_bundle *,
                        struct diag *);

bool kernel_sched_place(const struct trace *, struct schedule *);

/* Whether the schedule shows its loop over steps, if it has one. */
bool kernel_fold_repeats(struct arena *, const struct schedule *,
                         struct diag *);
/* Bundles -> function `name`: repeated stretches become hardware loops. */
struct asm_program *kernel_fold(struct arena *, const char *name,
                                const char *const *heading, int heading_count,
                                const struct schedule *, struct diag *);

#endif
