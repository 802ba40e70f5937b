/* host.c -- the device "host": TEIR executed on host memory, the oracle.  The
 * fast executor without a BLAS gives the bits of the plain one.
 *
 * A product with an epilogue has one element for its sums in TEIR, which keeps
 * the executor from working on blocks: its sums go to a dense array instead,
 * and from there through the epilogue.
 */
#include "parts.h"

#include "teir_fast.h"

static bool run_teir(const struct teir *t, void *const tensor[],
                     struct diag *d) {
  return teir_run_fast(t, tensor, 1, NULL, d);
}

const struct run_device run_host = {.name = "host", .run_teir = run_teir};

static struct value number(int64_t v) { return (struct value){v, -1}; }

/* The product without its epilogue, to an array without gaps. */
static struct contraction sums_of(const struct product *p,
                                  struct contraction_axis *axis) {
  struct contraction c = {.axis = axis, .acc = p->acc};
  for (int i = 0; i < TENSORS; i++)
    c.type[i] = i == OUT ? p->acc : p->type[i];
  int64_t stride[AXIS_ROLES] = {0};
  stride[AXIS_N] = dtype_bytes(p->acc);
  stride[AXIS_M] = stride[AXIS_N] * p->extent[AXIS_N];
  stride[AXIS_C] = stride[AXIS_M] * p->extent[AXIS_M];
  for (int role = 0; role < AXIS_ROLES; role++)
    c.axis_count += p->count[role];
  int at = c.axis_count;
  for (int role = AXIS_ROLES - 1; role >= 0; role--)
    for (int i = p->count[role] - 1; i >= 0; i--) {
      const struct product_axis *x = &p->axis[role][i];
      axis[--at] = (struct contraction_axis){
          .name = x->id,
          .role = (enum axis_role)role,
          .extent = number(x->extent),
          .stride_bytes = {number(x->stride_bytes[IN0]),
                           number(x->stride_bytes[IN1]), number(stride[role])}};
      stride[role] *= x->extent;
    }
  return c;
}

static void store_all(const struct product *p, const struct epilogue *epilogue,
                      const struct dense *sums) {
  for (int64_t c = 0; c < p->extent[AXIS_C]; c++) {
    struct pack_matrix sum = {sums->memory + sums->offset[AXIS_C][c],
                              sums->offset[AXIS_M], sums->offset[AXIS_N]};
    epilogue_store(epilogue, &sum, c);
  }
}

bool host_product(const struct run_device *device, const struct product *p,
                  void *const tensor[], struct diag *d) {
  struct contraction_axis axis[PRODUCT_AXES];
  struct contraction c = sums_of(p, axis);
  struct arena *a = arena_open();
  const struct teir *t = teir_from_contraction(a, &c, d);
  bool good = t;
  if (good) {
    struct epilogue *epilogue = epilogue_make(a, p, p->acc, tensor);
    struct dense sums = dense_make(a, p->extent, p->acc);
    void *const on[] = {(char *)tensor[IN0] + p->offset[IN0],
                        (char *)tensor[IN1] + p->offset[IN1], sums.memory};
    good = device->run_teir(t, on, d);
    if (good)
      store_all(p, epilogue, &sums);
  }
  arena_close(a);
  return good;
}
