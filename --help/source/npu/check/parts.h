/* parts.h -- inside npu/check: the lone core, and the reference. */
#ifndef NPUTEIR_CHECK_PARTS_H
#define NPUTEIR_CHECK_PARTS_H

#include "kernel_check.h"

/* ---- one core (lone_core.c) ---- */

/* A ring of two buffers, as a DMA would serve it: a buffer has its data from
 * the moment it is taken until it is given back, and noise otherwise. */
struct ring {
  int take, give;       /* locks */
  int taken, given;     /* so far */
  int blocks;           /* that come at all */
  int64_t at[2], bytes; /* in memory */
  uint8_t *data;        /* block after block; what is given back takes its place
                         */
};
enum { RINGS = 3 };
struct feed {
  uint8_t *memory;
  struct ring ring[RINGS];
  void (*cycle)(void *context, uint32_t banks); /* or NULL */
  void *context;
};

enum { NOISE = 0x7f }; /* as a float: NaN, or huge */
void fill_noise(uint8_t *to, int64_t bytes);

/* The arguments of a kernel: three pointers, in bytes from the start of the
 * core's own memory, and two distances. */
enum { POINTERS = 3, ARGUMENTS = 5 };
bool lone_core_run(const struct asm_program *, struct feed *,
                   const uint32_t value[], int count, struct check_outcome *,
                   struct diag *);

/* ---- what a product is (reference.c) ---- */

struct problem {
  const struct kernel_gemm *k;
  struct kernel_shape s;
  const uint8_t *a, *b, *c;
  const uint32_t *a_value, *b_value; /* f32 inputs before they are split */
};

/* The result, which may take the place of p->c. */
void reference_expect(const struct problem *, uint8_t *result);
void reference_compare(const struct problem *, const uint8_t *result,
                       const uint8_t *expected, struct check_outcome *);
/* The largest |C - exact| over |C before| + sum of |a b|, for f32 inputs. */
double reference_error(const struct problem *, const uint8_t *result);
/* An fp32 to the nearest bf16, and what that leaves of it. */
uint16_t reference_high(uint32_t value);
uint16_t reference_low(uint32_t value);

#endif
