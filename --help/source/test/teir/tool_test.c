/* tool_test.c -- `nputeir teir`, `nputeir einsum` and `nputeir nest` as a user
 * calls them: the answer, the exit status, and one clear line when words are
 * wrong. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define EX TEST_DIR "/"

/* $N is the program; the command's output, errors included, has `answer`. */
static const struct {
  const char *command;
  int status;
  const char *answer;
} row[] = {
    {"$N einsum 'trus,pqtu->pqrs' --sizes t=2,r=3,u=4,s=5,p=6,q=7 --tree", 0,
     "p\n└── q\n    └── r\n        └── s\n            ├── zero\n"},
    {"$N einsum 'ab,bc->ac' --sizes a=2,b=3", 1, "the letter 'c' has no size"},
    {"$N einsum", 2, "EXPRESSION is missing"},
    {"$N nest notes.txt", 2, "takes C, C++ or LLVM IR, not 'notes.txt'"},
    {"$N nest", 2, "which file?"},
    {"$N nest /nowhere.c", 1, "/nowhere.c"},
    {"$N nest /nowhere.ll", 1, "/nowhere.ll"},
    {"$N nest a.c b.c", 2, "'b.c' is one word too many"},
    {"$N nest a.c --yaml", 2, "there is no option '--yaml'"},
    {"$N einsum 'ab->a' --speed", 2, "there is no option '--speed'"},
    {"$N teir check " EX "batched_gemm.teir", 0,
     "well formed: 3 tensors, 4 axes, 2 primitives, 6 nodes\n"},
    {"$N teir lower " EX "lowering_gemm.teir", 0,
     "GEMM f32,f32,f32 M=8 N=4 K=16 lda=8 ldb=16 ldc=8"},
    {"$N teir consume " EX "contraction_gemm.teir t | $N teir lower -", 0,
     "brSize=2 brStrA=126 brStrB=7"},
    {"$N teir absorb " EX "contraction_gemm.teir t | $N teir lower -", 0,
     "brSize=2 brStrA=126 brStrB=7"}, /* its former name */
    {"$N teir interchange " EX "contraction_gemm.teir r", 1,
     "declined: loop r has no single loop as its child"},
    {"$N teir print --json " EX "branches.teir | $N teir print --tree -", 0,
     "r\n├── s\n│   └── op_s\n└── t\n    └── op_t\n"},
    {"$N teir print --tec " EX "contraction_gemm.teir | $N teir limits -", 0,
     "data_type: only bfloat_16"},
    {"$N teir print --dot " EX "branches.teir", 0, "digraph teir {"},
    {"$N teir run " EX "../matmul.teir", 1, "unbound symbol rows"},
    {"$N teir run " EX "../matmul.teir --bind "
     "rows=1,columns=1,depth=2,lda=4,ldb=2,ldc=4",
     0, "out f32 1 elements:"},
    {"$N teir run " EX "../matmul.teir --bind "
     "rows=1,columns=1,depth=2,lda=4,ldb=2,ldc=4,rows=2",
     2, "--bind: rows is given twice"},
    {"$N teir run " EX "contraction_gemm.teir --in in0=/a --in in0=/b", 2,
     "in0 is given twice"},
    {"sed 's/extent [0-9]*/extent 4294967296/' " EX
     "permutation_scalar.teir | $N teir run -",
     1, "this machine has"},
    {"$N teir limits " EX "prim_order.tec --device npu4", 0,
     "array: no kernel for bf16 x bf16 -> bf16\n"},
    {"$N teir limits " EX "prim_order.tec --device strix", 2,
     "there is no device 'strix'; there are npu1 (default), npu4"},
    {"$N teir limits " EX "prim_order.tec", 0,
     "the last three dimensions, and no others, are prim: M, N, K\n"},
    {"sed 's/= GEMM/= BRGEMM/' " EX "prim_order.tec | $N teir limits -", 0,
     "prim_main: only GEMM"},
    {"sed 's/= GEMM/= BRGEMM/' " EX "prim_order.tec | $N teir check -", 1,
     "stdin: error: prim_main is BRGEMM with 1 prim dimension of type K"},
    {"$N teir choose " EX "contraction_scalar.teir --explain", 0, "bound: "},
    {"$N teir choose " EX "contraction_scalar.teir --machine npu1", 1,
     "the array is scheduled by nputeir map"},
    {"$N einsum 'mk,kn->mn' --sizes m=70,n=70,k=700 | "
     "$N teir choose - --machine=avx512",
     0, " with machine=avx512 kernel=direct"},
    {"$N teir choose " EX "contraction_scalar.teir --machine=avx512", 1,
     "axes r and s of one role do not continue each other"},
    {"$N teir choose " EX "contraction_scalar.teir --machine=avx2 block_m=8", 1,
     "nothing can be fixed"},
    {"$N teir choose " EX "contraction_scalar.teir block_x=3", 1,
     "'block_x=3' cannot be fixed"},
    {"$N teir split " EX "branches.teir s", 2,
     "teir split: N is missing; see: nputeir help teir"},
    {"$N teir dance " EX "branches.teir", 2, "there is no action 'dance'"},
    {"$N teir check /nowhere.teir", 1, "/nowhere.teir: error: cannot read"},
    {"$N help teir", 0, "usage: nputeir teir <action> FILE"},
};

/* `nputeir nest --rules` is the list of rules, each with its meaning and
 * advice. */
static const struct {
  const char *name, *meaning, *advice;
} rule[] = {
#define RULE(id, name, meaning, advice) {name, meaning, advice},
#include "rule.def"
#undef RULE
};

/* A schedule gives what the plain program gives. */
static const char same[] =
    "set -e; d=$(mktemp -d); trap 'rm -r $d' EXIT; "
    "$N einsum 'km,kn->nm' --sizes m=19,n=23,k=29 --type i8,i32 -o $d/a.teir; "
    "$N teir choose $d/a.teir block_m=4 block_n=8 block_k=8 -o $d/b.teir; "
    "$N teir run $d/a.teir > $d/a; $N teir run $d/b.teir > $d/b; "
    "$N teir run --fast --threads 2 $d/b.teir | tail -1 > $d/c; "
    "cmp $d/a $d/b && cmp $d/a $d/c && echo equal";

static char *run(const char *command, int *status) {
  static char output[1 << 16];
  char all[1024];
  snprintf(all, sizeof all, "( %s ) 2>&1", command);
  FILE *f = popen(all, "r");
  size_t length = f ? fread(output, 1, sizeof output - 1, f) : 0;
  output[length] = 0;
  int result = f ? pclose(f) : -1;
  *status = WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  return output;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  setenv("N", argv[1], 1);
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    int status;
    char *output = run(row[i].command, &status);
    bool good = status == row[i].status && strstr(output, row[i].answer);
    CHECK(good);
    if (!good)
      fprintf(stderr, "%s\nstatus %d: %s\n", row[i].command, status, output);
  }
  int status;
  const char *rules = run("$N nest --rules", &status);
  CHECK(status == 0);
  for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
    char line[400];
    snprintf(line, sizeof line, "%s: %s%s%s\n", rule[i].name, rule[i].meaning,
             rule[i].advice ? "; " : "", rule[i].advice ? rule[i].advice : "");
    CHECK(strncmp(rules, line, strlen(line)) == 0);
    rules += strlen(line);
  }
  CHECK(*rules == 0);
  CHECK(strstr(run(same, &status), "equal") && status == 0);
  return check_result();
}
