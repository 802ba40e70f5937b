/* calls.c -- a program with three calls of two nests, for `nputeir profile`:
 * what the plugin would make of it; and one that is long. */
#include "nest.h"
#include "nputeir-rt.h"

#include <stdio.h>

static bool call(const char *where, int64_t m, int64_t n, int64_t k) {
  struct nest_work w;
  void *tensor[NEST_TENSORS];
  nest_gemm(&w, DTYPE_BF16, false, m, n, k);
  nest_make(&w, true, 1);
  uint64_t count = nest_tensors(&w, tensor);
  bool good = nputeir_call_1(w.teir, NULL, where, w.value,
                             (uint64_t)w.value_count, tensor, count) == 0 &&
              nest_right(&w);
  nest_free(&w);
  return good;
}

/* Without a reference, which would take longer. */
static bool call_long(void) {
  enum { SIDE = 1024 };
  static const char teir[] =
      "teir 1\n"
      "tensor in0 bf16\ntensor in1 bf16\ntensor out f32\n"
      "axis i extent 1024 stride in0=2048 out=4096\n"
      "axis j extent 1024 stride in1=2 out=4\n"
      "axis k extent 1024 stride in0=2 in1=2048\n"
      "primitive z Zero M=[] N=[]\n"
      "primitive c Contraction M=[] N=[] K=[]\n"
      "roots i\n"
      "iterate i over i sequential do j\n"
      "iterate j over j sequential do zero, k\n"
      "invoke zero calls z\n"
      "iterate k over k sequential do product\n"
      "invoke product calls c\n";
  static uint16_t in0[SIDE * SIDE], in1[SIDE * SIDE];
  static float out[SIDE * SIDE];
  void *const tensor[] = {in0, in1, out};
  return nputeir_call_1(teir, NULL, "a.c:20 long", NULL, 0, tensor, 3) == 0;
}

int main(int argc, char **argv) {
  for (int i = 2; i < argc; i++) /* each takes long on the simulator */
    if (!call_long())
      return 1;
  if (argc > 2)
    return 0;
  bool good = call("a.c:1 first", 64, 64, 64) &&
              call("a.c:9 second", 128, 64, 96) &&
              call("a.c:9 second", 128, 64, 96);
  puts(good ? "right" : "wrong");
  return argc > 1 ? argv[1][0] - '0' : !good;
}
