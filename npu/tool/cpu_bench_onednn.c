/* cpu_bench_onednn.c -- oneDNN's matmul primitives, which use instructions
 * (AMX) that not all of its product functions do.  Found when the program runs,
 * in versions 2 and 3: 2 describes memory and operations in structs of the
 * caller, of which only room is needed, 3 in objects of its own. */
#include "cpu_bench.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { DIMENSIONS = 12, CPU = 1, IN_ORDER = 1 };
enum { ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33 };
enum { BF16 = 2, F32 = 3, S32 = 4, S8 = 5, U8 = 6 }; /* dnnl_data_type_t */
enum { SRC, WEIGHTS, DST, OPERANDS };

/* What a function of version 2 fills in. */
union description {
  max_align_t align;
  char room[16384];
};
struct argument {
  int which;
  void *memory;
};

struct onednn {
  void *library, *engine, *stream;
  union description memory[OPERANDS], operation;
  void *made[OPERANDS]; /* version 3 */
  void *described, *primitive;
  struct argument argument[OPERANDS];
};

/* Calls a function of the library that returns a status. */
#define CALL(o, name, types, values)                                           \
  (dlsym((o)->library, name) &&                                                \
   ((int(*) types)(uintptr_t)dlsym((o)->library, name))values == 0)

static const void *memory_of(const struct onednn *o, int i) {
  return o->made[i] ? o->made[i] : (const void *)&o->memory[i];
}

static bool describe(struct onednn *o, int i, int64_t rows, int64_t columns,
                     int type) {
  int64_t extent[DIMENSIONS] = {rows, columns},
          stride[DIMENSIONS] = {columns, 1};
  return CALL(o, "dnnl_memory_desc_init_by_strides",
              (void *, int, const int64_t *, int, const int64_t *),
              (&o->memory[i], 2, extent, type, stride)) ||
         CALL(o, "dnnl_memory_desc_create_with_strides",
              (void **, int, const int64_t *, int, const int64_t *),
              (&o->made[i], 2, extent, type, stride));
}

static bool describe_product(struct onednn *o) {
  const void *src = memory_of(o, SRC), *weights = memory_of(o, WEIGHTS),
             *dst = memory_of(o, DST);
  if (o->made[SRC])
    return CALL(o, "dnnl_matmul_primitive_desc_create",
                (void **, void *, const void *, const void *, const void *,
                 const void *, const void *),
                (&o->described, o->engine, src, weights, NULL, dst, NULL));
  return CALL(o, "dnnl_matmul_desc_init",
              (void *, const void *, const void *, const void *, const void *),
              (&o->operation, src, weights, NULL, dst)) &&
         CALL(o, "dnnl_primitive_desc_create",
              (void **, const void *, const void *, void *, const void *),
              (&o->described, &o->operation, NULL, o->engine, NULL));
}

static bool make(struct onednn *o, void *const tensor[3]) {
  static const int which[OPERANDS] = {ARG_SRC, ARG_WEIGHTS, ARG_DST};
  if (!describe_product(o) ||
      !CALL(o, "dnnl_primitive_create", (void **, const void *),
            (&o->primitive, o->described)))
    return false;
  for (int i = 0; i < OPERANDS; i++) {
    o->argument[i].which = which[i];
    if (!CALL(o, "dnnl_memory_create", (void **, const void *, void *, void *),
              (&o->argument[i].memory, memory_of(o, i), o->engine, tensor[i])))
      return false;
  }
  return true;
}

struct onednn *cpu_bench_onednn_open(enum dtype type, const long s[3],
                                     void *const tensor[3]) {
  static const char *const names[] = {"libdnnl.so.2", "libdnnl.so.3"};
  int src = type == DTYPE_BF16 ? BF16 : type == DTYPE_I8 ? S8 : U8;
  int weights = type == DTYPE_BF16 ? BF16 : S8;
  int dst = type == DTYPE_BF16 ? F32 : S32;
  struct onednn *o = calloc(1, sizeof *o);
  for (size_t i = 0; o && !o->library && i < sizeof names / sizeof *names; i++)
    o->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (o && o->library &&
      CALL(o, "dnnl_engine_create", (void **, int, size_t),
           (&o->engine, CPU, 0)) &&
      CALL(o, "dnnl_stream_create", (void **, void *, unsigned),
           (&o->stream, o->engine, IN_ORDER)) &&
      describe(o, SRC, s[0], s[2], src) &&
      describe(o, WEIGHTS, s[2], s[1], weights) &&
      describe(o, DST, s[0], s[1], dst) && make(o, tensor))
    return o;
  cpu_bench_onednn_close(o);
  return NULL;
}

bool cpu_bench_onednn_run(const struct onednn *o) {
  return CALL(o, "dnnl_primitive_execute",
              (const void *, void *, int, const struct argument *),
              (o->primitive, o->stream, OPERANDS, o->argument)) &&
         CALL(o, "dnnl_stream_wait", (void *), (o->stream));
}

static void destroy(const struct onednn *o, const char *function,
                    void *object) {
  if (object)
    (void)CALL(o, function, (void *), (object));
}

void cpu_bench_onednn_close(struct onednn *o) {
  if (o && o->library) {
    for (int i = 0; i < OPERANDS; i++) {
      destroy(o, "dnnl_memory_destroy", o->argument[i].memory);
      destroy(o, "dnnl_memory_desc_destroy", o->made[i]);
    }
    destroy(o, "dnnl_primitive_destroy", o->primitive);
    destroy(o, "dnnl_primitive_desc_destroy", o->described);
    destroy(o, "dnnl_stream_destroy", o->stream);
    destroy(o, "dnnl_engine_destroy", o->engine);
    dlclose(o->library);
  }
  free(o);
}
