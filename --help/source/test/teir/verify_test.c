/* verify_test.c -- breaks every rule of the IR once, in text or, where the
 * text form cannot say it, in memory; the message must name place and rule. */
#include "calc.h"
#include "check.h"
#include "teir.h"

#include <string.h>

#define HEAD                                                                   \
  "teir 1\n"                                                                   \
  "tensor in0 f32\ntensor in1 f32\ntensor out f32\n"                           \
  "axis x extent 4 stride in0=4 out=4\n"                                       \
  "axis k extent 4 stride in0=4 in1=4\n"                                       \
  "primitive p Copy M=[] N=[]\n"

static const struct {
  const char *text, *message;
} wrong[] = {
    /* axis rules */
    {HEAD "axis x extent 2\nroots c\ninvoke c calls p\n",
     "axis 'x' is defined twice"},
    {HEAD "axis y extent 0\nroots c\ninvoke c calls p\n",
     "axis y has extent 0; extents are positive"},
    {HEAD "axis y extent -3\nroots c\ninvoke c calls p\n",
     "axis y has extent -3"},
    {HEAD "axis y extent 2 stride out=-4\nroots c\ninvoke c calls p\n",
     "axis y has stride -4 on out; strides are not negative"},
    {HEAD "axis y extent 2 stride out=4 out=8\nroots c\ninvoke c calls p\n",
     "tensor out is given twice"},
    /* schedule rules */
    {HEAD "roots c\ninvoke c calls p\ninvoke c calls p\n",
     "node 'c' is defined twice"},
    {HEAD "roots c, e\ninvoke c calls p\n", "there is no node 'e'"},
    {HEAD "roots a\niterate a over x sequential do c, e\ninvoke c calls p\n",
     "there is no node 'e'"},
    {HEAD "roots c, c\ninvoke c calls p\n", "root c is listed twice"},
    {HEAD "roots a, c\niterate a over x sequential do c\ninvoke c calls p\n",
     "root c is a child of node a"},
    {HEAD "roots a, b\niterate a over x sequential do c\n"
          "iterate b over x sequential do c\ninvoke c calls p\n",
     "node c is a child of a and of b"},
    {HEAD "roots a\niterate a over x sequential do c, c\ninvoke c calls p\n",
     "node c is a child of a and of a"},
    {HEAD "roots c\ninvoke c calls p\ninvoke lost calls p\n",
     "node lost is neither a root nor a child"},
    {HEAD "roots c\ninvoke c calls p\niterate a over x sequential do b\n"
          "iterate b over k sequential do a\n",
     "no node is its own descendant"},
    {HEAD "roots c\ninvoke c calls p\niterate a over x sequential do a\n",
     "no node is its own descendant"},
    /* iteration node rules */
    {HEAD "roots a\niterate a over y sequential do c\ninvoke c calls p\n",
     "there is no axis 'y'"},
    {HEAD "roots a\niterate a over x sideways do c\ninvoke c calls p\n",
     "expected sequential or parallel, found 'sideways'"},
    {HEAD "roots a\niterate a over x sequential do\n",
     "node a iterates nothing"},
    /* invocation node rules */
    {HEAD "roots c\ninvoke c calls q\n", "there is no primitive 'q'"},
    {HEAD "roots c\ninvoke c calls p do c\n",
     "expected the end of the line, found 'do'"},
    /* guard rules */
    {HEAD "roots a\niterate a over x sequential do c\n"
          "invoke c calls p when first(k)\n",
     "node c is guarded by first(k), but no ancestor iterates k"},
    {HEAD "roots a\niterate a over x sequential when last(x) do c\n"
          "invoke c calls p\n",
     "node a is guarded by last(x), but no ancestor iterates x"},
    {HEAD "roots a\niterate a over x sequential do c\n"
          "invoke c calls p when middle(x)\n",
     "expected first(<axis>) or last(<axis>), found 'middle(x)'"},
    /* primitive rules */
    {HEAD "primitive p Zero M=[] N=[]\nroots c\ninvoke c calls p\n",
     "primitive 'p' is defined twice"},
    {HEAD "primitive q Zero M=[]\nroots c\ninvoke c calls q\n",
     "primitive q has no list N; Zero needs M and N"},
    {HEAD "primitive q Contraction M=[] N=[]\nroots c\ninvoke c calls q\n",
     "primitive q has no list K; Contraction needs M, N and K"},
    {HEAD "primitive q ReLU M=[] N=[] K=[]\nroots c\ninvoke c calls q\n",
     "primitive q has a list K; ReLU has none"},
    {HEAD "primitive q Zero M=[y] N=[]\nroots c\ninvoke c calls q\n",
     "there is no axis 'y'"},
    {HEAD "primitive q Divide M=[] N=[]\nroots c\ninvoke c calls q\n",
     "'Divide' is no operation"},
    /* our additions */
    {"teir 2\n", "version 2 of the text form"},
    {"tensor in0 f32\n", "the first line is not 'teir 1'"},
    {"", "the first line is not 'teir 1'"},
    {HEAD "tensor out f32\nroots c\ninvoke c calls p\n",
     "tensor 'out' is defined twice"},
    {"teir 1\nsymbol s\nsymbol s\nroots\n", "symbol 's' is defined twice"},
    {"teir 1\nprimitive p Zero M=[] N=[]\nroots c\ninvoke c calls p\n",
     "primitive p writes 'out', but no tensor has this name"},
    {"teir 1\ntensor out f32\nprimitive p Copy M=[] N=[]\nroots c\n"
     "invoke c calls p\n",
     "primitive p reads 'in0', but no tensor has this name"},
    {HEAD "primitive q Zero M=[] N=[] from in0 to out\nroots c\n"
          "invoke c calls q\n",
     "primitive q has 2 operands; Zero has 0 inputs"},
    {HEAD "primitive q Zero M=[] N=[] with data_type=i8\nroots c\n"
          "invoke c calls q\n",
     "primitive q has data_type i8, but tensor out is f32"},
    {HEAD "primitive q Zero M=[] N=[] with data_type=f31\nroots c\n"
          "invoke c calls q\n",
     "primitive q: data_type 'f31' is no type"},
    {HEAD "primitive q Contraction M=[] N=[] K=[] with acc=f31\nroots c\n"
          "invoke c calls q\n",
     "primitive q: acc=f31 is no type"},
    {HEAD "primitive q Contraction M=[] N=[] K=[] with steps=2x\nroots c\n"
          "invoke c calls q\n",
     "primitive q: steps=2x is no number"},
    {HEAD "primitive q Contraction M=[] N=[] K=[] with steps=0\nroots c\n"
          "invoke c calls q\n",
     "primitive q: steps=0; steps are 1 or more"},
    {HEAD "primitive q Contraction M=[] N=[] K=[] with steps=1e10\nroots c\n"
          "invoke c calls q\n",
     "primitive q: steps=1e10; steps are 1 or more"},
    {HEAD "primitive q Scale M=[] N=[] with alpha=two\nroots c\n"
          "invoke c calls q\n",
     "primitive q: alpha=two is no number"},
    {HEAD "primitive q Shift M=[] N=[] with shift=1\nroots c\n"
          "invoke c calls q\n",
     "primitive q: Shift takes integers"},
    {"teir 1\ntensor in0 i32\ntensor out i8\n"
     "primitive q Shift M=[] N=[] with shift=63\nroots c\ninvoke c calls q\n",
     "primitive q: shift=63; a shift is 0 to 62 bits"},
    {HEAD "primitive q Clamp M=[] N=[] with low=0\nroots c\n"
          "invoke c calls q\n",
     "primitive q: Clamp needs high=<number>"},
    {HEAD "tensor h f16\nprimitive q Copy M=[] N=[] from in0 to h\nroots c\n"
          "invoke c calls q\n",
     "only Cast converts"},
    {HEAD "roots c\nroots c\ninvoke c calls p\n", "two lists of roots"},
    {HEAD "primitive q Map M=[] N=[] expr f32:1\nroots c\ninvoke c calls q\n",
     "primitive q has 0 operands; a Map names its output"},
    {HEAD "primitive q Map M=[] N=[] from in0 to out\nroots c\n"
          "invoke c calls q\n",
     "expected expr, found the end of the line"},
    {HEAD "primitive q Map M=[] N=[] from in0 to out expr add(in0,in1)\n"
          "roots c\ninvoke c calls q\n",
     "no input is called 'in1'"},
    {HEAD "primitive q Map M=[] N=[] from in0 to out expr i8(in0)\nroots c\n"
          "invoke c calls q\n",
     "primitive q computes i8, but tensor out is f32"},
    {HEAD "primitive q Copy M=[] N=[] expr in0\nroots c\ninvoke c calls q\n",
     "expected the end of the line, found 'expr'"},
};

static void check_wrong_text(void) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct arena *a = arena_open();
    struct diag d = {0};
    bool refused = !teir_parse(a, "wrong", wrong[i].text, &d);
    CHECK(refused);
    CHECK(strstr(d.text, wrong[i].message));
    if (!refused || !strstr(d.text, wrong[i].message))
      fprintf(stderr, "row %zu wants '%s', got '%s'\n", i, wrong[i].message,
              d.text);
    arena_close(a);
  }
}

#define BREAK(place, value, message)                                           \
  do {                                                                         \
    __typeof__(place) keep = place;                                            \
    struct diag e = {0};                                                       \
    place = value;                                                             \
    CHECK(!teir_verify(t, &e) && strstr(e.text, message));                     \
    place = keep;                                                              \
  } while (0)

/* What only a program in memory can get wrong. */
static void check_wrong_memory(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t = teir_parse(a, "m",
                              HEAD "roots a\n"
                                   "iterate a over x sequential do c\n"
                                   "invoke c calls p when first(x)\n",
                              &d);
  CHECK(t);
  if (!t) {
    arena_close(a);
    return;
  }
  CHECK(teir_verify(t, &d));
  int leaf = teir_find_node(t, "c"), loop = teir_find_node(t, "a");
  BREAK(t->roots.item[0], 9, "roots refer to existing nodes");
  BREAK(t->node[loop].children.item[0], -1, "children refer to existing");
  BREAK(t->node[loop].axis, 2, "an iteration node's axis exists");
  BREAK(t->node[loop].policy, (enum teir_policy)7, "sequential or parallel");
  BREAK(t->node[leaf].primitive, 1, "an invocation node's primitive exists");
  BREAK(t->node[leaf].guard[0].axis, 5, "a guard's axis exists");
  BREAK(t->primitive[0].op, TEIR_OPS, "has operation");
  BREAK(t->axis[0].stride_bytes, NULL, "one of each per tensor");
  BREAK(t->axis[0].extent.symbol, 0, "names symbol 0 of 0");
  BREAK(t->primitive[0].role[TEIR_M].count, -1, "has no list M");
  int past = t->axis_count, tensors[] = {0, t->tensor_count};
  BREAK(t->primitive[0].role[TEIR_K], ((struct teir_list){1, &loop}),
        "has a list K; Copy has none");
  BREAK(t->primitive[0].role[TEIR_N], ((struct teir_list){1, &past}),
        "lists axis 2 of 2 in N; a role's axes exist");
  BREAK(t->primitive[0].operand, ((struct teir_list){2, tensors}),
        "names tensor 3 of 3");
  BREAK(t->primitive[0].expr, calc_float(a, DTYPE_F32, 1),
        "a Map has an expression, nothing else has");
  arena_close(a);
}

/* A Map's expression, and an affine guard that names a symbol. */
static void check_wrong_expression(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct teir *t =
      teir_parse(a, "m",
                 HEAD "symbol s\n"
                      "primitive q Map M=[] N=[] from in0 to out expr in0\n"
                      "roots a\niterate a over x sequential do c\n"
                      "invoke c calls q\nlimit nonnegative s along x=s\n",
                 &d);
  CHECK(t && teir_verify(t, &d));
  if (t) {
    int q = teir_find_primitive(t, "q");
    const struct calc **expr = &t->primitive[q].expr;
    struct calc odd = {
        .op = CALC_ADD,
        .type = DTYPE_F32,
        .arg = {calc_input(a, 0, DTYPE_F32), calc_int(a, DTYPE_I32, 1)}};
    BREAK(*expr, calc_input(a, 1, DTYPE_F32), "primitive q has no input 1");
    BREAK(*expr, calc_cast(a, DTYPE_F32, calc_input(a, 0, DTYPE_I8)),
          "primitive q reads in0 as i8, but the tensor is f32");
    BREAK(*expr, &odd, "primitive q: operands of add have one type");
    BREAK(t->limit[0].start.symbol, 1, "a limit names symbol 1 of 1");
    BREAK(t->limit[0].step[0].symbol, 2, "a limit names symbol 2 of 1");
    BREAK(t->limit[0].step[1].symbol, 1, "a limit names symbol 1 of 1");
  }
  arena_close(a);
}

/* `depth` nodes inside each other. */
static struct teir *nested(struct arena *a, int depth, struct diag *d) {
  struct text text = {0};
  text_puts(&text, HEAD "roots n1\n");
  for (int i = 1; i < depth; i++)
    text_printf(&text, "iterate n%d over x sequential do n%d\n", i, i + 1);
  text_printf(&text, "invoke n%d calls p\n", depth);
  struct teir *t = teir_parse(a, "deep", text_string(&text), d);
  text_free(&text);
  return t;
}

static void check_depth(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  CHECK(nested(a, 1000, &d));
  CHECK(!nested(a, 1001, &d));
  CHECK(strstr(d.text, "is nested 1001 deep; the limit is 1000"));
  arena_close(a);
}

/* A child list on an invocation is refused even if the children exist. */
static void check_leaf_with_child(void) {
  struct arena *a = arena_open();
  struct diag d = {0}, e = {0};
  struct teir *t = teir_parse(
      a, "m", HEAD "roots c, b\ninvoke c calls p\ninvoke b calls p\n", &d);
  CHECK(t);
  if (t) {
    t->roots.count = 1;
    int child = 1;
    t->node[0].children = (struct teir_list){1, &child};
    CHECK(!teir_verify(t, &e));
    CHECK(strstr(e.text, "an invocation node has none"));
  }
  arena_close(a);
}

int main(void) {
  check_wrong_text();
  check_wrong_memory();
  check_wrong_expression();
  check_depth();
  check_leaf_with_child();
  return check_result();
}
