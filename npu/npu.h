/* npu.h -- the public face of the compiler: a TEIR goes in, the
 * bytes that a device gets come out, with everything in between for those who
 * want to look. */
#ifndef NPUTEIR_NPU_H
#define NPUTEIR_NPU_H

#include "design.h"
#include "map.h"

struct npu_result {
  struct map_blocking blocking; /* all zero when the TEIR was given */
  /* Why tensors do not lie as in the TEIR: a word; NULL: they do. */
  const char *packed[TENSORS];
  /* The rule of the hardware behind it, with a number; NULL: none. */
  const char *rule[TENSORS];
  /* What descriptors could not do on tensors as they lie, which are packed
   * therefore; DIAG_NONE: nothing. */
  struct diag beyond;
  const struct teir *teir; /* scheduled and placed */
  /* Why a TEIR that came placed was scheduled anew; DIAG_NONE: it was not. */
  struct diag not_as_placed;
  const struct tile_program *program;
  const struct design *design;
  const struct command_list *configuration, *run;
  /* Where the array holds something: of the change to this; what a launch takes
   * more than one of the best blocks, and what their change would cost more. */
  double change_seconds, lost_seconds, saved_seconds;
  bool known; /* in blocks of other sizes (known.c) */
  /* Owned: npu_result_free.  The xclbin is empty where a process compiles many:
   * few of them are loaded. */
  struct text cdo, xclbin, txn;
};

/* Of the partition that it takes. */
int npu_columns(const struct npu_result *);

/* The whole compiler, from the TEIR of a product; one that is placed already
 * stays as it is if the array can run it so.  `platform` names a device or a
 * preset (device.def, preset.def); a preset lets the chooser weigh its DRAM. Of
 * work whose tensors would have more than most_bytes each (0: any number), the
 * first part that one launch can do. */
bool npu_compile(struct arena *, const char *platform, const struct teir *,
                 int64_t most_bytes, struct npu_result *, struct diag *);
/* The same with every tensor in padded blocks that the host makes. */
bool npu_compile_blocked(struct arena *, const char *platform,
                         const struct teir *, int64_t most_bytes,
                         struct npu_result *, struct diag *);
/* What the array holds, for work that might do with it, or with little of it
 * changed. */
struct npu_held {
  const struct map_blocking *blocking; /* that it was made for */
  bool same_types;                     /* with elements as the work's */
  const struct command_list *configuration;
};
/* ---- known.c: blockings of work that was compiled before ---- */
struct npu_known;
struct npu_known *npu_known_open(void);   /* NULL: no memory */
void npu_known_close(struct npu_known *); /* NULL is fine */
/* Of products with the same types and tail; how many. */
int npu_known_like(struct npu_known *, struct arena *,
                   const struct teir_problem *, struct map_blocking **);
void npu_known_add(struct npu_known *, const struct teir_problem *,
                   const struct map_blocking *);

/* The same for a process that compiles many. */
struct npu_means {
  int64_t most_bytes;
  /* Of a transaction; 0: any.  Work whose launch would need more of them is cut
   * as if its tensors were too large. */
  size_t most_transaction_bytes;
  struct core_cache *cores;    /* NULL: none */
  const struct npu_held *held; /* NULL: none, or it does not matter */
  /* Where the array holds something, work may do with a blocking of other sizes
   * that is not far from what is possible, and is not searched for; it then
   * says what it may lose.  NULL: none. */
  struct npu_known *known;
};
bool npu_compile_by(const struct npu_means *, struct arena *,
                    const char *platform, const struct teir *,
                    struct npu_result *, struct diag *);
void npu_result_free(struct npu_result *);

#endif
