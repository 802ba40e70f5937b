/* elements_test.c -- the element-wise primitives that nests end in: values
 * worked out by hand, with rounding, saturation and wrapping at the edges. */
#include "check.h"
#include "teir.h"

#include <string.h>

enum { COUNT = 6 };

/* in0 -> out (or out alone), element by element; both as numbers. */
static const struct {
  const char *in, *out, *primitive;
  double from[COUNT], before[COUNT], after[COUNT];
} row[] = {
    {"f32",
     "f32",
     "Scale M=[x] N=[] with alpha=-2.5",
     {0},
     {1, -2, 0, 4, 0.5, 8},
     {-2.5, 5, -0.0, -10, -1.25, -20}},
    {"i8",
     "i8",
     "Scale M=[x] N=[] with alpha=3",
     {0},
     {1, -2, 50, 127, -128, 0},
     {3, -6, -106, 125, -128, 0}}, /* mod 256 */
    {"f32",
     "f32",
     "Add M=[x] N=[] with beta=0.5",
     {2, 4, -6, 1, 0, 3},
     {1, 1, 1, 1, 1, 1},
     {2, 3, -2, 1.5, 1, 2.5}},
    {"i32",
     "i32",
     "Add M=[x] N=[]",
     {2147483647, 1, 2, 3, 4, 5},
     {1, 1, 1, 1, 1, 1},
     {-2147483648.0, 2, 3, 4, 5, 6}},
    {"f32",
     "f32",
     "Clamp M=[x] N=[] with low=-1 high=6",
     {0},
     {-5, -1, 0, 6, 6.5, 100},
     {-1, -1, 0, 6, 6, 6}},
    {"u8",
     "u8",
     "Clamp M=[x] N=[] with low=10 high=200",
     {0},
     {0, 9, 10, 200, 201, 255},
     {10, 10, 10, 200, 200, 200}},
    /* (v + 8) >> 4, then into -128 .. 127 */
    {"i32",
     "i8",
     "Shift M=[x] N=[] with shift=4",
     {7, 8, -8, -9, 100000, -100000},
     {0},
     {0, 1, 0, -1, 127, -128}},
    {"i32",
     "u8",
     "Shift M=[x] N=[] with shift=0",
     {-1, 0, 255, 256, 7, 128},
     {0},
     {0, 0, 255, 255, 7, 128}},
    {"i32",
     "i32",
     "Shift M=[x] N=[] with shift=31",
     {1073741824, 1073741823, -1073741824, -1073741825, 0, 2147483647},
     {0},
     {1, 0, 0, -1, 0, 1}},
    /* to nearest even: 257 and 259 lie between 256, 258 and 260 */
    {"f32",
     "bf16",
     "Cast M=[x] N=[]",
     {257, 259, 1.5, -3, 0, 1e30},
     {0},
     {256, 260, 1.5, -3, 0, 1.0014251e30}},
    {"f32",
     "i8",
     "Cast M=[x] N=[]",
     {1.9, -1.9, 127.5, 300, -300, 0},
     {0},
     {1, -1, 127, 127, -128, 0}},
    {"i32",
     "f32",
     "Cast M=[x] N=[]",
     {16777217, -3, 0, 1, 2, 3},
     {0},
     {16777216, -3, 0, 1, 2, 3}},
    {"i32",
     "i8",
     "Cast M=[x] N=[]",
     {257, -129, 127, 128, 0, -1},
     {0},
     {1, 127, 127, -128, 0, -1}},
    {"bf16",
     "bf16",
     "ReLU M=[x] N=[]",
     {0},
     {1, -1, 0, -0.5, 3, -100},
     {1, 0, 0, 0, 3, 0}},
    {"f16",
     "f16",
     "ReLU M=[x] N=[] from in0 to out",
     {1, -1, 0, -0.5, 3, -7},
     {9, 9, 9, 9, 9, 9},
     {1, 0, 0, 0, 3, 0}},
    {"i16",
     "i16",
     "Zero M=[x] N=[]",
     {0},
     {1, 2, 3, 4, 5, 6},
     {0, 0, 0, 0, 0, 0}},
};

static void check_rows(void) {
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    enum dtype in, out;
    CHECK(dtype_parse(row[i].in, &in) && dtype_parse(row[i].out, &out));
    struct teir *t =
        teir_parse(a, "elements",
                   arena_printf(a,
                                "teir 1\ntensor in0 %s\ntensor out %s\n"
                                "axis x extent %d stride in0=%d out=%d\n"
                                "primitive p %s\nroots c\ninvoke c calls p\n",
                                row[i].in, row[i].out, COUNT, dtype_bytes(in),
                                dtype_bytes(out), row[i].primitive),
                   &d);
    CHECK(t);
    char from[8 * COUNT], to[8 * COUNT], want[8 * COUNT];
    for (int j = 0; j < COUNT; j++) {
      dtype_store_float(in, from + j * dtype_bytes(in), row[i].from[j]);
      dtype_store_float(out, to + j * dtype_bytes(out), row[i].before[j]);
      dtype_store_float(out, want + j * dtype_bytes(out), row[i].after[j]);
    }
    void *tensor[] = {from, to};
    CHECK(t && teir_run(t, tensor, &d));
    bool same = memcmp(to, want, COUNT * (size_t)dtype_bytes(out)) == 0;
    CHECK(same);
    for (int j = 0; !same && j < COUNT; j++)
      fprintf(stderr, "%s %d: %g\n", row[i].primitive, j,
              dtype_load_float(out, to + j * dtype_bytes(out)));
    arena_close(a);
  }
}

/* relu(bias + alpha * A * B): a bias is an Add that does not move along M. */
static void check_tail(void) {
  static const char text[] =
      "teir 1\n"
      "tensor in0 i8\ntensor in1 i8\ntensor out i32\ntensor bias i32\n"
      "tensor small i8\n"
      "axis m extent 2 stride in0=3 out=8 small=2\n"
      "axis n extent 2 stride in1=1 out=4 bias=4 small=1\n"
      "axis k extent 3 stride in0=1 in1=2\n"
      "primitive clear Zero M=[m] N=[n]\n"
      "primitive product Contraction M=[m] N=[n] K=[k]\n"
      "primitive scale Scale M=[m] N=[n] with alpha=2\n"
      "primitive bias Add M=[m] N=[n] from bias to out\n"
      "primitive relu ReLU M=[m] N=[n]\n"
      "primitive narrow Shift M=[m] N=[n] from out to small with shift=1\n"
      "roots a, b, c, e, f, g\n"
      "invoke a calls clear\ninvoke b calls product\ninvoke c calls scale\n"
      "invoke e calls bias\ninvoke f calls relu\ninvoke g calls narrow\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "tail", text, &d);
  CHECK(t);
  int8_t in0[2][3] = {{1, 2, 3}, {-4, 5, 6}};
  int8_t in1[3][2] = {{1, -1}, {0, 2}, {-2, 100}};
  int32_t out[2][2], bias[2] = {11, -3};
  int8_t small[2][2];
  void *tensor[] = {in0, in1, out, bias, small};
  CHECK(t && teir_run(t, tensor, &d));
  /* products: -5 303 / -16 614; doubled plus bias: 1 603 / -21 1225 */
  CHECK(out[0][0] == 1 && out[0][1] == 603);
  CHECK(out[1][0] == 0 && out[1][1] == 1225);
  CHECK(small[0][0] == 1 && small[0][1] == 127);
  CHECK(small[1][0] == 0 && small[1][1] == 127);
  arena_close(a);
}

/* Sums in the type that the property acc names: 300 as i8 is 44. */
static void check_acc(void) {
  static const char text[] =
      "teir 1\ntensor in0 i8\ntensor in1 i8\ntensor out i32\n"
      "axis k extent 3 stride in0=1 in1=1\n"
      "primitive p Contraction M=[] N=[] K=[k] with acc=i8\n"
      "roots c\ninvoke c calls p\n";
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "acc", text, &d);
  int8_t in0[] = {10, 10, 10}, in1[] = {10, 10, 10};
  int32_t out = 0;
  void *tensor[] = {in0, in1, &out};
  CHECK(t && teir_run(t, tensor, &d) && out == 44);
  arena_close(a);
}

int main(void) {
  check_rows();
  check_tail();
  check_acc();
  return check_result();
}
