/* match_test.c -- nests as text, and the verdict on each: a row per idea, and
 * near misses beside what is taken. */
#include "check.h"
#include "recognizer.h"

#include <string.h>

#define AB "A[i*16 + k] * B[k*32 + j]"
#define IJK "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\nloop k 16\n"
#define IJ "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\n"
/* Three taps over rows of nine numbers, of which there are 64. */
#define TAPS                                                                   \
  "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\ns = 0 : i32\nloop t 3\n"
#define PAD(line) TAPS "loop k 9\n" line "\nend\nend\nC[i*32 + j] = s : i32"
#define PAD_FLOATS(line)                                                       \
  "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\ns = 0 : f32\n"          \
  "loop t 3\nloop k 9\n" line "\nend\nend\nC[i*32 + j] = s : f32"
#define ABOVE "[i + t - 1 >= 0]"
#define BELOW "[i + t - 65 < 0]"
#define IN "and(" ABOVE ", " BELOW ")"
#define X "A[i*9 + t*9 + k - 9]?"
#define W "B[t*288 + k*32 + j]?"
#define I "tensor A i8\ntensor B i8\nloop i 64\n"
/* The first and the last iteration of k. */
#define FIRST "[k*-1 >= 0]"
#define LAST "[k - 15 >= 0 last]"
#define OLD "C[i*32 + j]"
#define SUM OLD " += " AB " : i32\n"

/* Two products in every step of a loop, and what follows it. */
#define SUM_OF_TWO(remainder)                                                  \
  IJ "s = 0 : i32\nloop k e step 2\ns += A[i*16 + k] * B[k*32 + j] + "         \
     "A[i*16 + k + 1] * B[k*32 + j + 32] : i32\nend\n" remainder               \
     "end\nC[i*32 + j] = s : i32"
#define AT_Q "s += A[i*16 + q] * B[q*32 + j] : i32\n"

/* Of products of three factors. */
#define TENSOR "tensor X i8\n"
#define FACTORS_OF(type)                                                       \
  "tensor B " type "\ntensor D " type "\nloop i 8\nloop r 8\nloop j 8\n"       \
  "loop k 8\n"
#define FACTORS FACTORS_OF("i8")

static const struct {
  /* an einsum, which may have " = " and the tail behind it; a rule's name */
  const char *name, *text, *expect;
} row[] = {
    {"product", IJK "C[i*32 + j] += " AB " : i32", "mk,kn->mn"},
    {"operands swapped", IJK "C[i*32 + j] += B[k*32 + j] * A[i*16 + k] : i32",
     "mk,kn->mn"},
    {"k outermost",
     "tensor A i8\ntensor B i8\nloop k 16\nloop i 64\nloop j 32\n"
     "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"A transposed", IJK "C[i*32 + j] += A[k*64 + i] * B[k*32 + j] : i32",
     "km,kn->mn"},
    {"C transposed", IJK "C[j*64 + i] += " AB " : i32", "km,nk->mn"},
    {"run-time sizes",
     "tensor A i8\ntensor B i8\nloop i m\nloop j n\nloop k l\n"
     "C[i*ldc + j] += A[i*lda + k] * B[k*ldb + j] : i32",
     "mk,kn->mn"},
    {"starts in the first iteration",
     IJK OLD "? = select(" FIRST ", D[j], " OLD ") : i32\n" SUM,
     "mk,kn->mn = add(x0,sum)"},
    {"starts in the second",
     IJK OLD "? = select([1 - k >= 0], D[j], " OLD ") : i32\n" SUM,
     "GuardedBody"},
    {"starts in the first iteration of j",
     IJK OLD "? = select([j*-1 >= 0], D[j], " OLD ") : i32\n" SUM,
     "GuardedBody"},
    {"sets or adds",
     IJK OLD " = select(" FIRST ", " AB ", " OLD " + " AB ") : i32",
     "mk,kn->mn"},
    {"sets another product",
     IJK OLD " = select(" FIRST ", A[i*16] * B[j + 32], " OLD " + " AB
             ") : i32",
     "GuardedBody"},
    {"ends in the last iteration",
     IJK SUM OLD "? = select(" LAST ", max(" OLD ", 0), " OLD ") : i32",
     "mk,kn->mn = max(add(out,sum),i32:0)"},
    {"ends in every other",
     IJK SUM OLD "? = select(not(" LAST "), max(" OLD ", 0), " OLD ") : i32",
     "GuardedBody"},
    {"both, of a sum with a negative step",
     "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\nloop k 16 down\n"
     "s = select(" LAST ", D[j], s) + " AB " : i32\n" OLD "? = select(" FIRST
     ", s * 2, " OLD ") : i32",
     "mk,kn->mn = mul(add(x0,sum),i32:2)"},
    {"ends first in one with a negative step",
     "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\nloop k 16 down\n" SUM OLD
     "? = select(" LAST ", max(" OLD ", 0), " OLD ") : i32",
     "GuardedBody"},
    {"is written where products count",
     IJK OLD "? = select([k + i - 3 >= 0], " OLD " + A[i*16 + k]? * "
             "B[k*32 + j]?, " OLD ") : i32",
     "GuardedBody"},
    {"batched",
     "tensor A i8\ntensor B i8\nloop b 4\nloop i 8\nloop j 8\nloop k 8\n"
     "C[b*64 + i*8 + j] += A[b*64 + i*8 + k] * B[b*64 + k*8 + j] : i32",
     "cmk,ckn->cmn"},
    {"scalar sum",
     IJ "s = 0 : i32\nloop k 16\ns += " AB " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"scalar onto C",
     IJ "s = C[i*32 + j] : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"scalar added to C",
     IJ "s = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] += s : i32",
     "mk,kn->mn"},
    {"zeroed inside",
     IJ "C[i*32 + j] = 0 : i32\nloop k 16\nC[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"zeroed in a loop of its own",
     I "loop z 32\nC[i*32 + z] = 0 : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"zeroed in the k loop",
     "tensor A i8\ntensor B i8\nloop k 16\nloop i 64\nloop z 32\n"
     "C[i*32 + z] = 0 : i32\nend\nloop j 32\nC[i*32 + j] += " AB " : i32",
     "LastIteration"},
    {"half zeroed",
     I "loop z 16\nC[i*32 + z] = 0 : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    /* remainder loops */
    {"a remainder", SUM_OF_TWO("loop q n after k\n" AT_Q), "mk,kn->mn"},
    {"a remainder in rows of a pitch",
     "tensor A i8\ntensor B i8 pitch p\nloop i 64\nloop j 32\ns = 0 : i32\n"
     "loop k e step 2\ns += A[i*16 + k + 1] * B[k*p + j + rows(1)] + "
     "A[i*16 + k] * B[k*p + j] : i32\nend\nloop q n after k\n"
     "s += A[i*16 + q] * B[q*p + j] : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"rows that are no steps of the remainder",
     "tensor A i8\ntensor B i8 pitch p\nloop i 64\nloop j 32\ns = 0 : i32\n"
     "loop k e step 2\ns += A[i*16 + k + 1] * B[k*o + j + rows(1)] + "
     "A[i*16 + k] * B[k*o + j] : i32\nend\nloop q n after k\n"
     "s += A[i*16 + q] * B[q*o + j] : i32\nend\nC[i*32 + j] = s : i32",
     "IrregularUnrolling"},
    {"two remainders",
     SUM_OF_TWO("loop q f step 1 after k\n" AT_Q "end\nloop r n after q\n"
                "s += B[r*32 + j] * A[i*16 + r] : i32\n"),
     "mk,kn->mn"},
    {"a remainder that starts later",
     SUM_OF_TWO("loop q n after k\n"
                "s += A[i*16 + q + 1] * B[q*32 + j + 32] : i32\n"),
     "IrregularUnrolling"},
    {"a remainder, and one product again",
     IJ "s = 0 : i32\nloop k 4\ns += " AB " + " AB " : i32\nend\n"
        "loop q 6 after k\n" AT_Q "end\nC[i*32 + j] = s : i32",
     "IrregularUnrolling"},
    {"a remainder of its own", SUM_OF_TWO("loop q n\n" AT_Q),
     "IrregularUnrolling"},
    {"a remainder after nothing",
     IJ "s = 0 : i32\nloop k e step 2\nend\nloop q n after k\n" AT_Q
        "end\nC[i*32 + j] = s : i32",
     "IrregularUnrolling"},
    {"no remainder", SUM_OF_TWO("loop q 4\nt = s : i32\n"), "mk,kn->mn"},
    {"a remainder of half the sum",
     IJ "s = 0 : i32\nloop k e step 2\n"
        "s += A[i*16 + k] * B[k*32 + j] : i32\nend\nloop q n after k\n" AT_Q
        "end\nC[i*32 + j] = s : i32",
     "IrregularUnrolling"},
    {"a remainder of numbers that are known",
     IJ "s = 0 : i32\nloop k 4 step 2\ns += A[i*16 + k] * B[k*32 + j] : i32\n"
        "end\nloop q 8 step 2 after k\n" AT_Q "end\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"a remainder of the rows",
     I "loop j e step 2\nloop k 16\nC[i*32 + j] += " AB " : i32\nend\nend\n"
       "loop q 32 after j\nloop k 16\n"
       "C[i*32 + q] += A[i*16 + k] * B[k*32 + q] : i32",
     "ExtraStore"},
    /* tiles */
    {"tiles of all loops",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop jj n\nloop kk 3\n"
     "loop i 64 cut by ii\nloop j 32 cut by jj\nloop k 16 cut by kk\n"
     "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"partial sums of tiles",
     "tensor A i8\ntensor B i8\nloop kk 3\nloop i 64\nloop j 32\n"
     "s = C[i*32 + j] : i32\nloop k 16 cut by kk\ns += " AB
     " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"zeroed before the tiles",
     "tensor A i8\ntensor B i8\nloop b 1\nloop y 32\nloop z 64\n"
     "C[z*32 + y] = 0 : i32\nend\nend\nloop ii 4\nloop k 16\n"
     "loop i 64 cut by ii\nloop j 32\nC[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"zeroed tile by tile",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop z 64 cut by ii\n"
     "loop y 32\nC[z*32 + y] = 0 : i32\nend\nend\nloop kk 2\n"
     "loop k 16 cut by kk\nloop i 64 cut by ii\nloop j 32\n"
     "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"zeroed for each tile of the sum",
     "tensor A i8\ntensor B i8\nloop kk 2\nloop z 64\n"
     "loop y 32\nC[z*32 + y] = 0 : i32\nend\nend\n"
     "loop k 16 cut by kk\nloop i 64\nloop j 32\n"
     "C[i*32 + j] += " AB " : i32",
     "LastIteration"},
    {"all zeroed for each tile of the result",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop z 64\n"
     "loop y 32\nC[z*32 + y] = 0 : i32\nend\nend\n"
     "loop k 16\nloop i 64 cut by ii\nloop j 32\n"
     "C[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"the tile of a result read in another",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop z 64\nloop y 32\n"
     "s = C[z*32 + y] : i32\nend\nend\nloop i 64 cut by ii\nloop j 32\n"
     "t = s : i32\nloop k 16\nt += " AB " : i32\nend\n"
     "C[i*32 + j] = t : i32",
     "ResultOverlapsItself"},
    {"a packed operand starts anew in each tile",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop i 64 cut by ii\nloop j 32\n"
     "loop k 16\nC[i*32 + j] += A[ii*500 + i*16 + k] * B[k*32 + j] : i32",
     "NonAffineIndex"},
    {"a packed operand starts anew in each tile of the sum",
     "tensor A i8\ntensor B i8\nloop kk 4\nloop i 64\nloop j 32\n"
     "loop k 16 cut by kk\nC[i*32 + j] += A[kk*500 + i*16 + k] * "
     "B[k*32 + j] : i32",
     "NonAffineIndex"},
    {"tiles of the result start anew",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop i 64 cut by ii\nloop j 32\n"
     "loop k 16\nC[ii*9000 + i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"a factor for each tile",
     "tensor A i8\ntensor B i8\nloop ii 4\nloop i 64 cut by ii\nloop j 32\n"
     "s = 0 : i32\nloop k 16\ns += " AB
     " : i32\nend\nC[i*32 + j] = s + D[ii] : i32",
     "NotProductSum"},
    {"one sum of each tile",
     "tensor A i8\ntensor B i8\nloop kk 4\nloop i 64\nloop j 32\n"
     "loop k 16 cut by kk\nC[kk*2048 + i*32 + j] += " AB " : i32",
     "VariantExtent"},
    {"a scalar carried from tile to tile",
     "tensor A i8\ntensor B i8\nloop ii 4\ns = s + 1 : i32\n"
     "loop i 64 cut by ii\nloop j 32\nt = s : i32\nloop k 16\nt += " AB
     " : i32\nend\nC[i*32 + j] = t : i32",
     "NotProductSum"},
    /* conditions on counters: the zeros of padding */
    {"products skipped", PAD("s = select(" IN ", s + " X " * " W ", s) : i32"),
     "mkl,kln->mn"},
    {"by one condition inside the other",
     PAD("s = select(" ABOVE ", select(" BELOW ", s + " X " * " W
         ", s), s) : i32"),
     "mkl,kln->mn"},
    {"by the opposite",
     PAD("s = select(or(not(" ABOVE "), [i + t - 65 >= 0]), s, s + " X " * " W
         ") : i32"),
     "mkl,kln->mn"},
    {"by a choice among conditions",
     PAD("s = select(select(" ABOVE ", " BELOW ", 0), s + " X " * " W
         ", s) : i32"),
     "mkl,kln->mn"},
    {"zero beyond", PAD("s += select(" IN ", " X ", 0) * " W " : i32"),
     "mkl,kln->mn"},
    {"subtracted", PAD("s = select(" IN ", s - " X " * " W ", s) : i32"),
     "mkl,kln->mn = sub(i32:0,sum)"},
    {"a whole loop skipped",
     TAPS "u = s : i32\nloop k 9\nu += " X " * " W " : i32\nend\ns = select(" IN
          ", u, s) : i32\nend\n"
          "C[i*32 + j] = s : i32",
     "mkl,kln->mn"},
    {"one beyond", PAD("s += select(" IN ", " X ", 1) * " W " : i32"),
     "GuardedBody"},
    {"something else beyond",
     PAD("s = select(" IN ", s + " X " * " W ", s + 1) : i32"), "GuardedBody"},
    {"more within", PAD("s = select(" IN ", s + 1 + " X " * " W ", s) : i32"),
     "GuardedBody"},
    {"either of two",
     PAD("s = select(or(" ABOVE ", " BELOW "), s + " X " * " W ", s) : i32"),
     "GuardedBody"},
    {"of rows and columns",
     PAD("s = select([i + j >= 0], s + " X " * " W ", s) : i32"),
     "GuardedBody"},
    {"read without a condition that says where",
     PAD("s += " X " * " W " : i32"), "GuardedBody"},
    {"and a factor beside",
     PAD("s = select(" IN ", s + D[i]? * " X " * " W ", s) : i32"),
     "GuardedBody"},
    {"decides on the tail",
     IJ "s = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = select([i - j >= 0], s, 1) : i32",
     "GuardedBody"},
    {"floats", PAD_FLOATS("s = select(" IN ", s + " X " * " W ", s) : f32"),
     "mkl,kln->mn"},
    {"floats that may be infinite",
     "infinite\n" PAD_FLOATS("s = select(" IN ", s + " X " * " W ", s) : f32"),
     "NeedsFinite"},
    {"floats that may be infinite, but not beyond",
     "infinite\n" PAD_FLOATS("s += select(" IN ", " X ", 0) * " W " : f32"),
     "mkl,kln->mn"},
    {"floats in order",
     PAD_FLOATS("s += select(" IN ", " X ", 0) * " W " : f32 ordered"),
     "NeedsReassoc"},
    {"channels unrolled",
     "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\ns = 0 : i32\n"
     "loop t 3\ns = select(" IN ", s + A[i*2 + t*2 - 2]? * B[t*64 + j]? + "
     "A[i*2 + t*2 - 1]? * B[t*64 + j + 32]?, s) : i32\nend\n"
     "C[i*32 + j] = s : i32",
     "mkl,kln->mn"},
    {"taps unrolled",
     "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\ns = 0 : i32\n"
     "loop k 9\ns = select([i - 1 >= 0], s + A[i*9 + k - 9]? * B[k*32 + j]?, "
     "s) : i32\ns = select([i - 2 >= 0], s + A[i*9 + k - 18]? * B[k*32 + j + "
     "288]?, s) : i32\nend\nC[i*32 + j] = s : i32",
     "SeveralProducts"},
    /* start values */
    {"set to one",
     IJ "C[i*32 + j] = 1 : i32\nloop k 16\nC[i*32 + j] += " AB " : i32",
     "mk,kn->mn = add(i32:1,sum)"},
    {"bias in its own loop",
     I "loop z 32\nC[i*32 + z] = D[z] : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn = add(x0,sum)"},
    {"bias in loops of another order",
     "tensor A i8\ntensor B i8\nloop b 2\nloop y 32\nloop z 64\n"
     "C[b*2048 + z*32 + y] = D[z*32 + y] : i32\nend\nend\nloop i 64\nloop j "
     "32\n"
     "loop k 16\nC[b*2048 + i*32 + j] += A[b*1024 + i*16 + k] * B[k*32 + j] : "
     "i32",
     "mxk,kn->mxn = add(x0,sum)"},
    {"bias for half of the places",
     I "loop z 16\nC[i*32 + z*2] = D[z] : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"start value one place off",
     I "loop z 32\nC[i*32 + z + 1] = 0 : i32\nend\nloop k 16\nloop j 32\n"
       "C[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"beta",
     IJ "number beta i32\nC[i*32 + j] = beta * C[i*32 + j] : i32\nloop k 16\n"
        "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn = add(mul(x0,out),sum)"},
    {"beta in every step",
     IJK "number beta i32\nC[i*32 + j] = beta * C[i*32 + j] + " AB " : i32",
     "NotProductSum"},
    {"scalar starts at a bias",
     IJ "s = D[j] : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn = add(x0,sum)"},
    {"scalar starts at a bias that moves along the sum",
     IJ "s = 0 : i32\nloop k 16\ns = D[k] : i32\ns += " AB
        " : i32\nend\nC[i*32 + j] = s : i32",
     "LastIteration"},
    {"start of another element",
     IJ "s = C[i*32] : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = s : i32",
     "ResultOverlapsItself"},
    {"old value kept aside",
     IJ "s = C[i*32 + j] : i32\nC[i*32 + j] = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"same bias before and behind",
     IJ "s = D[j] : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = s + D[j] : i32",
     "mk,kn->mn = add(add(x0,sum),x0)"},

    /* tails */
    {"relu",
     IJ "s = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = max(s, 0) : i32",
     "mk,kn->mn = max(sum,i32:0)"},
    {"relu as a choice",
     IJ "s = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = select(lt(0, s), s, 0) : i32",
     "mk,kn->mn = select(lt(i32:0,sum),sum,i32:0)"},
    {"relu in every step",
     IJK "C[i*32 + j] = max(C[i*32 + j] + " AB ", 0) : i32", "NotProductSum"},
    {"relu in a loop behind",
     I "loop k 16\nloop j 32\nC[i*32 + j] += " AB
       " : i32\nend\nend\nloop z 32\n"
       "C[i*32 + z] = max(C[i*32 + z], 0) : i32",
     "mk,kn->mn = max(add(out,sum),i32:0)"},
    {"relu of the neighbour",
     I "loop k 16\nloop j 32\nC[i*32 + j] += " AB
       " : i32\nend\nend\nloop z 32\n"
       "C[i*32 + z] = max(C[i*32 + z + 1], 0) : i32",
     "ResultOverlapsItself"},
    {"alpha and beta",
     IJ "number alpha i32\nnumber beta i32\ns = 0 : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = alpha * s + beta * C[i*32 + j] : i32",
     "mk,kn->mn = add(mul(x0,sum),mul(x1,out))"},
    {"requantised",
     IJ "tensor C i8\ns = D[j] : i32\nloop k 16\ns += " AB
        " : i32\nend\nC[i*32 + j] = min(max(shr(s, 7), -128), 127) : i32",
     "mk,kn->mn = i8(min(max(shr(add(x0,sum),i32:7),i32:-128),i32:127))"},
    {"rounded in between", /* the tail keeps the source's roundings */
     "tensor A bf16\ntensor B bf16\ntensor C bf16\nloop i 64\nloop j 32\n"
     "s = 0 : f32\nloop k 16\ns += " AB " : f32\nend\nC[i*32 + j] = s : f32\n"
     "C[i*32 + j] = C[i*32 + j] + D[j] : f32",
     "mk,kn->mn = bf16(add(f32(bf16(sum)),x0))"},
    {"two sums in one tail",
     IJ
     "s = 0 : i32\nt = 0 : i32\nloop k 16\ns += " AB "  : i32\n"
     "t += A[i*16 + k] * D[k*32 + j] : i32\nend\nC[i*32 + j] = max(s, t) : i32",
     "NotProductSum"},
    {"stored in every step", /* what LICM leaves of C += */
     IJ "s = C[i*32 + j] : i32\nloop k 16\ns += " AB
        " : i32\nC[i*32 + j] = s : i32",
     "mk,kn->mn"},
    {"stored in every step, one late",
     IJ "s = C[i*32 + j] : i32\nloop k 16\nC[i*32 + j] = s : i32\ns += " AB
        " : i32",
     "NotProductSum"},
    {"set behind the sum",
     I "loop k 16\nloop j 32\nC[i*32 + j] += " AB
       " : i32\nend\nend\nloop z 32\n"
       "C[i*32 + z] = 0 : i32",
     "NoProduct"},

    /* the sum */
    {"subtracted", IJK "C[i*32 + j] -= " AB " : i32",
     "mk,kn->mn = sub(out,sum)"},
    {"subtracted from", IJK "C[i*32 + j] = " AB " - C[i*32 + j] : i32",
     "NotProductSum"},
    {"negated operand",
     IJK "C[i*32 + j] += neg(A[i*16 + k]) * B[k*32 + j] : i32",
     "mk,kn->mn = sub(out,sum)"},
    {"alpha inside",
     IJK "number alpha i32\nC[i*32 + j] += alpha * " AB " : i32",
     "mk,kn->mn = add(out,mul(x0,sum))"},
    {"row scale inside", IJK "C[i*32 + j] += " AB " * A[i*16] : i32",
     "mk,kn->mn = add(out,mul(i32(x0),sum))"},
    {"constant inside", IJK "C[i*32 + j] += 2 * " AB " : i32",
     "mk,kn->mn = add(out,mul(i32:2,sum))"},
    {"shift inside", IJK "C[i*32 + j] += shl(" AB ", 3) : i32",
     "mk,kn->mn = add(out,mul(i32:8,sum))"},
    {"alpha plus product",
     IJK "number alpha i32\nC[i*32 + j] += alpha + " AB " : i32",
     "NotProductSum"},
    /* multiply-adds that round once */
    {"fma behind the sum",
     IJ "s = 0 : i32\nloop k 16\ns += " AB " : i32\nend\n"
        "C[i*32 + j] = fma((s : f32), 0.5, D[j]) : f32",
     "mk,kn->mn = fma(f32(sum),f32:0x1p-1,x0)"},
    {"fma in the sum",
     IJK "C[i*32 + j] = fma((" AB " : f32), 1.0, "
         "C[i*32 + j]) : f32",
     "NotProductSum"},

    /* three factors */
    {"weights along the sum", IJK "C[i*32 + j] += " AB " * A[k] : i32",
     "k,km,nk->nm"},
    {"weights of a place", IJK "C[i*32 + j] += " AB " * A[i*2 + j] : i32",
     "mk,kn->mn = add(out,mul(i32(x0),sum))"},
    {"four factors", IJK "C[i*32 + j] += " AB " * A[k] * B[k] : i32",
     "ThreeFactors"},
    {"an element squared", IJK "C[i*32 + j] += " AB " * B[k*32 + j] : i32",
     "km,km,nk->nm"},
    {"MTTKRP",
     TENSOR FACTORS
     "C[i*8 + r] += X[i*64 + j*8 + k] * B[j*8 + r] * D[k*8 + r] : i32",
     "km,lm,nkl->nm"},
    {"MTTKRP by way of sums",
     TENSOR "tensor B i8\ntensor D i8\nloop i 8\nloop r 8\nloop j 8\n"
            "s = 0 : i32\nloop k 8\ns += X[i*64 + j*8 + k] * D[k*8 + r] : i32\n"
            "end\nC[i*8 + r] += s * B[j*8 + r] : i32",
     "km,lm,nkl->nm"},
    {"MTTKRP, run-time sizes",
     TENSOR
     "tensor B i8\ntensor D i8\nloop i m\nloop r n\nloop j o\nloop k p\n"
     "C[i*ldc + r] += X[i*ldx + j*p + k] * B[j*n + r] * D[k*n + r] : i32",
     "km,lm,nkl->nm"},
    {"TTMc",
     TENSOR FACTORS "loop q 4\nC[i*32 + r*4 + q] += "
                    "X[i*64 + j*8 + k] * B[j*8 + r] * D[k*4 + q] : i32",
     "mkl,lx,kn->mnx"},
    {"TTMc of i16",
     "tensor X i16\n" FACTORS_OF(
         "i16") "loop q 4\nC[i*32 + r*4 + q] += "
                "X[i*64 + j*8 + k] * B[j*8 + r] * D[k*4 + q] : i32",
     "mkl,lx,kn->mnx"},
    {"of a loop that moves none of them",
     TENSOR FACTORS
     "loop q 4\n"
     "C[i*8 + r] += X[i*64 + j*8 + k] * B[j*8 + r] * D[k*8 + r] : i32",
     "AxisRoles"},
    {"of a loop that moves one of them",
     TENSOR FACTORS
     "loop q 4\n"
     "C[i*8 + r] += X[i*64 + j*8 + k] * B[j*8 + r] * D[k*8 + r + q] : i32",
     "ThreeFactors"},
    {"too few rows for an intermediate",
     TENSOR "tensor B i8\ntensor D i8\nloop i 5\nloop r 8\nloop j 8\nloop k 8\n"
            "C[i*8 + r] += X[i*64 + j*8 + k] * B[j*8 + r] * D[k*8 + r] : i32",
     "BelowThreshold"},
    {"two products of three factors",
     TENSOR FACTORS "C[i*8 + r] += X[i*64 + j*8 + k] * B[j*8 + r] * D[k*8 + r]"
                    " + X[i*64 + j*8 + k] * B[j*8 + r + 99] * D[k*8 + r] : i32",
     "ThreeFactors"},
    {"ordered floats",
     "tensor X bf16\n" FACTORS_OF(
         "bf16") "C[i*8 + r] += X[i*64 + j*8 + k] * B[j*8 + r] * D[k*8 + r] : "
                 "f32 ordered",
     "NeedsReassoc"},
    {"an intermediate of floats",
     "tensor X bf16\n" FACTORS_OF("bf16") "C[i*8 + r] += X[i*64 + j*8 + k] * "
                                          "B[j*8 + r] * D[k*8 + r] : f32",
     "FloatInputs"},

    {"partial sums",
     IJ "s = 0 : i32\nloop k 4\np = 0 : i32\nloop l 4\n"
        "p += A[i*16 + k*4 + l] * B[k*128 + l*32 + j] : i32\nend\ns += p : "
        "i32\nend\n"
        "C[i*32 + j] = s : i32",
     "mkl,kln->mn"},
    {"partial sums, one of them kept",
     IJ "s = 0 : i32\nloop k 4\np = 0 : i32\nloop l 4\n"
        "p += A[i*16 + k*4 + l] * B[k*128 + l*32 + j] : i32\nend\ns = p : "
        "i32\nend\n"
        "C[i*32 + j] = s : i32",
     "LastIteration"},
    {"sum through two loops",
     IJ "s = 0 : i32\nloop k 4\nloop l 4\n"
        "s += A[i*16 + k*4 + l] * B[k*128 + l*32 + j] : i32\nend\nend\n"
        "C[i*32 + j] = s : i32",
     "mkl,kln->mn"},
    {"sum of a sum so far",
     IJ "s = 0 : i32\nt = 0 : i32\nloop k 16\ns += " AB
        " : i32\nt += s : i32\nend\nC[i*32 + j] = t : i32",
     "NotProductSum"},

    /* unrolled by hand */
    {"two products in a statement",
     IJ "loop k 8\nC[i*32 + j] += A[i*16 + k*2] * B[k*64 + j] + "
        "A[i*16 + k*2 + 1] * B[k*64 + j + 32] : i32",
     "mkl,kln->mn"},
    {"two products that do not follow",
     IJ "loop k 8\nC[i*32 + j] += A[i*16 + k*2] * B[k*64 + j] + "
        "A[i*16 + k*2] * B[k*64 + j + 32] : i32",
     "AxisRoles"},
    {"four accumulators",
     IJ "s = 0 : i32\nt = 0 : i32\nu = 0 : i32\nv = 0 : i32\nloop k 4\n"
        "s += A[i*16 + k*4] * B[j*16 + k*4] : i32\n"
        "t += A[i*16 + k*4 + 1] * B[j*16 + k*4 + 1] : i32\n"
        "u += A[i*16 + k*4 + 2] * B[j*16 + k*4 + 2] : i32\n"
        "v += A[i*16 + k*4 + 3] * B[j*16 + k*4 + 3] : i32\nend\n"
        "C[i*32 + j] = (s + t) + (u + v) : i32",
     "mkl,nkl->mn"},
    {"three accumulators and a copy of one",
     IJ "s = 0 : i32\nt = 0 : i32\nu = 0 : i32\nv = 0 : i32\nloop k 4\n"
        "s += A[i*16 + k*4] * B[j*16 + k*4] : i32\n"
        "t += A[i*16 + k*4 + 1] * B[j*16 + k*4 + 1] : i32\n"
        "u += A[i*16 + k*4 + 2] * B[j*16 + k*4 + 2] : i32\n"
        "v += A[i*16 + k*4 + 2] * B[j*16 + k*4 + 2] : i32\nend\n"
        "C[i*32 + j] = (s + t) + (u + v) : i32",
     "IrregularUnrolling"},
    {"accumulators of both signs", /* as a complex product has them */
     IJ "loop k 8\nC[i*32 + j] = C[i*32 + j] + A[i*16 + k*2] * B[k*64 + j] - "
        "A[i*16 + k*2 + 1] * B[k*64 + j + 32] : i32",
     "SeveralProducts"},
    {"products of different matrices",
     "tensor D i8\n" IJK "C[i*32 + j] += " AB " + D[i*16 + k] * B[k*32 + j] : "
     "i32",
     "SeveralProducts"},
    {"a product and its mirror image",
     IJK "C[i*32 + j] += A[i*16 + k] * B[j*16 + k] + "
         "B[i*16 + k] * A[j*16 + k] : i32",
     "SeveralProducts"},
    {"register tile",
     "tensor A i8\ntensor B i8\nloop i 4\nloop j 4\ns = 0 : i32\nt = 0 : i32\n"
     "u = 0 : i32\nv = 0 : i32\nloop k 16\n"
     "s += A[i*32 + k] * B[k*8 + j*2] : i32\n"
     "t += A[i*32 + k] * B[k*8 + j*2 + 1] : i32\n"
     "u += A[i*32 + k + 16] * B[k*8 + j*2] : i32\n"
     "v += A[i*32 + k + 16] * B[k*8 + j*2 + 1] : i32\nend\n"
     "C[i*16 + j*2] = s : i32\nC[i*16 + j*2 + 1] = t : i32\n"
     "C[i*16 + j*2 + 8] = u : i32\nC[i*16 + j*2 + 9] = v : i32",
     "mxk,knp->mxnp"},
    {"register tile, two places changed round",
     "tensor A i8\ntensor B i8\nloop i 4\nloop j 4\ns = 0 : i32\nt = 0 : i32\n"
     "u = 0 : i32\nv = 0 : i32\nloop k 16\n"
     "s += A[i*32 + k] * B[k*8 + j*2] : i32\n"
     "t += A[i*32 + k] * B[k*8 + j*2 + 1] : i32\n"
     "u += A[i*32 + k + 16] * B[k*8 + j*2] : i32\n"
     "v += A[i*32 + k + 16] * B[k*8 + j*2 + 1] : i32\nend\n"
     "C[i*16 + j*2] = s : i32\nC[i*16 + j*2 + 1] = t : i32\n"
     "C[i*16 + j*2 + 8] = v : i32\nC[i*16 + j*2 + 9] = u : i32",
     "IrregularUnrolling"},
    {"two products a pitch apart",
     "tensor B i8 pitch n\n" IJ "loop k 8\nC[i*32 + j] += "
     "A[i*16 + k*2] * B[k*n2 + j] + "
     "A[i*16 + k*2 + 1] * B[k*n2 + j + rows(1)] : i32",
     "mkl,kln->mn"},
    {"two products a pitch apart, one operand reversed",
     "tensor B i8 pitch n\n" IJ "loop k 8\nC[i*32 + j] += "
     "A[i*16 + k*2 + 1] * B[k*n2 + j] + "
     "A[i*16 + k*2] * B[k*n2 + j + rows(1)] : i32",
     "IrregularUnrolling"},
    {"three products, the last two pitches on",
     "tensor B i8 pitch n\n" IJ "loop k 8\nC[i*32 + j] += "
     "A[i*16 + k*3] * B[k*n3 + j] + A[i*16 + k*3 + 1] * B[k*n3 + j + rows(1)]"
     " + A[i*16 + k*3 + 2] * B[k*n3 + j + rows(3)] : i32",
     "IrregularUnrolling"},
    {"two products a pitch and an element apart",
     "tensor B i8 pitch n\n" IJ "loop k 8\nC[i*32 + j] += "
     "A[i*16 + k*2] * B[k*n2 + j] + "
     "A[i*16 + k*2 + 1] * B[k*n2 + j + rows(1) + 1] : i32",
     "IrregularUnrolling"},
    {"register tile over rows a pitch apart",
     "tensor A i8 pitch lda\ntensor B i8\ntensor C i32 pitch n4\n"
     "loop i 4\nloop j 4\ns = 0 : i32\nt = 0 : i32\n"
     "u = 0 : i32\nv = 0 : i32\nloop k 16\n"
     "s += A[i*lda2 + k] * B[k*8 + j*2] : i32\n"
     "t += A[i*lda2 + k] * B[k*8 + j*2 + 1] : i32\n"
     "u += A[i*lda2 + k + rows(1)] * B[k*8 + j*2] : i32\n"
     "v += A[i*lda2 + k + rows(1)] * B[k*8 + j*2 + 1] : i32\nend\n"
     "C[i*n8 + j*2] = s : i32\nC[i*n8 + j*2 + 1] = t : i32\n"
     "C[i*n8 + j*2 + rows(1)] = u : i32\n"
     "C[i*n8 + j*2 + 1 + rows(1)] = v : i32",
     "mxk,knp->mxnp"},
    {"register tile over rows, two places changed round",
     "tensor A i8 pitch lda\ntensor B i8\ntensor C i32 pitch n4\n"
     "loop i 4\nloop j 4\ns = 0 : i32\nt = 0 : i32\n"
     "u = 0 : i32\nv = 0 : i32\nloop k 16\n"
     "s += A[i*lda2 + k] * B[k*8 + j*2] : i32\n"
     "t += A[i*lda2 + k] * B[k*8 + j*2 + 1] : i32\n"
     "u += A[i*lda2 + k + rows(1)] * B[k*8 + j*2] : i32\n"
     "v += A[i*lda2 + k + rows(1)] * B[k*8 + j*2 + 1] : i32\nend\n"
     "C[i*n8 + j*2] = s : i32\nC[i*n8 + j*2 + 1] = t : i32\n"
     "C[i*n8 + j*2 + rows(1)] = v : i32\n"
     "C[i*n8 + j*2 + 1 + rows(1)] = u : i32",
     "IrregularUnrolling"},
    {"one place reads another",
     "tensor A i8\ntensor B i8\nloop i 8\nloop j 4\ns = 0 : i32\nt = 0 : "
     "i32\nloop k 16\n"
     "s += A[i*16 + k] * B[k*8 + j*2] : i32\n"
     "t += A[i*16 + k] * B[k*8 + j*2 + 1] : i32\nend\n"
     "C[i*8 + j*2] = s + C[i*8 + j*2] : i32\nC[i*8 + j*2 + 1] = t + C[i*8 + "
     "j*2] : i32",
     "ResultOverlapsItself"},

    {"remainder of a constant length",
     IJ "loop k 3\nC[i*32 + j] += A[i*16 + k*2] * B[k*64 + j] + "
        "A[i*16 + k*2 + 1] * B[k*64 + j + 32] : i32\nend\nloop l 3\n"
        "C[i*32 + j] += A[i*16 + l + 6] * B[l*32 + j + 192] : i32",
     "mk,kn->mn"},
    {"remainder one element late",
     IJ "loop k 3\nC[i*32 + j] += A[i*16 + k*2] * B[k*64 + j] + "
        "A[i*16 + k*2 + 1] * B[k*64 + j + 32] : i32\nend\nloop l 3\n"
        "C[i*32 + j] += A[i*16 + l + 7] * B[l*32 + j + 192] : i32",
     "IrregularUnrolling"},
    {"remainder of unknown length",
     IJ "loop k 3\nC[i*32 + j] += A[i*16 + k*2] * B[k*64 + j] + "
        "A[i*16 + k*2 + 1] * B[k*64 + j + 32] : i32\nend\nloop l n\n"
        "C[i*32 + j] += A[i*16 + l + 6] * B[l*32 + j + 192] : i32",
     "IrregularUnrolling"},

    /* directions */
    {"down in both",
     IJ
     "loop k 16\nC[i*32 + j] += A[i*16 + k*-1 + 15] * B[k*-32 + j + 480] : i32",
     "mk,kn->mn"},
    {"down in one",
     IJ "loop k 16\nC[i*32 + j] += A[i*16 + k*-1 + 15] * B[k*32 + j] : i32",
     "OppositeDirections"},

    /* types */
    {"wider operand second",
     "tensor A i8\ntensor B i16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : i32",
     "km,nk->nm"},
    {"i16",
     "tensor A i16\ntensor B i16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
    {"u16",
     "tensor A u16\ntensor B i16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : i32",
     "UnsupportedTypes"},
    {"u32 results", IJK "C[i*32 + j] += " AB " : u32",
     "mk,kn->mn = add(out,u32(sum))"},
    {"i16 results, cut in every step",
     IJK "tensor C i16\nC[i*32 + j] += " AB " : i32",
     "mk,kn->mn = add(out,i16(sum))"},
    {"i64 sum that fits", IJK "C[i*32 + j] += " AB " : i64",
     "mk,kn->mn = add(out,i64(sum))"},
    {"i64 sum that may not fit",
     "tensor A i16\ntensor B i16\nloop i 64\nloop j 32\nloop k 2\n"
     "C[i*32 + j] += A[i*2 + k] * B[k*32 + j] : i64",
     "WideSum"},
    {"i64 sum of unknown length",
     "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\nloop k n\n"
     "C[i*32 + j] += A[i*lda + k] * B[k*32 + j] : i64",
     "WideSum"},
    {"product in 16 bits that fits", IJK "C[i*32 + j] += (" AB " : i16) : i32",
     "mk,kn->mn"},
    {"product in 8 bits", IJK "C[i*32 + j] += (" AB " : i8) : i32",
     "NotProductSum"},
    {"unsigned product in 16 bits",
     "tensor A u8\ntensor B u8\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += (" AB " : u16) : i32",
     "mk,kn->mn"},
    {"unsigned product in 15 bits and a sign",
     "tensor A u8\ntensor B u8\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += (" AB " : i16) : i32",
     "NotProductSum"},
    {"bf16 product",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += (" AB " : bf16) : f32",
     "RoundedProduct"},
    {"bf16 sum",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : bf16",
     "RoundedBetween"},
    {"bf16 results, rounded in every step",
     "tensor A bf16\ntensor B bf16\ntensor C bf16\nloop i 64\nloop j 32\nloop "
     "k 16\n"
     "C[i*32 + j] += " AB " : f32",
     "RoundedBetween"},
    {"double sum of bf16",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : f64",
     "WideSum"},
    {"alpha inside, ordered", /* would be multiplied after the sum */
     "tensor A bf16\ntensor B bf16\nnumber alpha f32\nloop i 64\nloop j 32\ns "
     "= 0 : f32\n"
     "loop k 16\ns += alpha * " AB " : f32 ordered\nend\nC[i*32 + j] = s : f32",
     "NeedsReassoc"},
    {"alpha behind an ordered tail",
     "tensor A bf16\ntensor B bf16\nnumber alpha f32\nloop i 64\nloop j 32\ns "
     "= 0 : f32\n"
     "loop k 16\ns += " AB " : f32\nend\nC[i*32 + j] = alpha * s : f32 ordered",
     "mk,kn->mn = mul(x0,sum)"},

    /* everything else */
    {"two results",
     IJK "C[i*32 + j] += " AB " : i32\nD[i*32 + j] += " AB " : i32",
     "ExtraStore"},
    {"sum not reset",
     I "s = 0 : i32\nloop j 32\nloop k 16\ns += " AB
       " : i32\nend\nC[i*32 + j] = s : i32",
     "NotProductSum"},
    {"max", IJK "C[i*32 + j] = max(C[i*32 + j], " AB ") : i32",
     "NotProductSum"},
    {"min-plus", IJK "C[i*32 + j] += min(A[i*16 + k], B[k*32 + j]) : i32",
     "NotProductSum"},
    {"sum of sums", IJK "C[i*32 + j] += A[i*16 + k] + B[k*32 + j] : i32",
     "NotProductSum"},
    {"C is an operand", IJK "C[i*32 + j] += C[i*32 + k] * B[k*32 + j] : i32",
     "ResultOverlapsItself"},
    {"places shared", IJK "C[i + j] += " AB " : i32", "ResultOverlapsItself"},
    {"rows overlap", IJK "C[i*31 + j] += " AB " : i32", "ResultOverlapsItself"},
    {"rows just apart", IJK "C[i*33 + j] += " AB " : i32", "mk,kn->mn"},
    {"repeated",
     "tensor A i8\ntensor B i8\nloop r 3\nloop i 64\nloop j 32\n"
     "loop k 16\nC[i*32 + j] += " AB " : i32",
     "AxisRoles"},
    {"one operand stands still", IJK "C[i*32 + j] += A[i*16 + k] * B[j] : i32",
     "AxisRoles"},
    {"vector",
     "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\n"
     "C[i] += A[i*16 + k] * B[k] : i32",
     "TooFewAxes"},
    {"outer product", IJ "C[i*32 + j] += A[i] * B[j] : i32", "TooFewAxes"},
    {"bf16",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : f32",
     "mk,kn->mn"},
    {"ordered",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
     "loop k 16\nC[i*32 + j] += " AB " : f32 ordered",
     "NeedsReassoc"},
    {"float", "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB " : f32",
     "FloatInputs"},
    {"int32", "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB " : i32",
     "mk,kn->mn"},
};

/* " = " and the tail, as contraction_print has it. */
static void print_tail(const struct contraction *c, struct text *t) {
  struct text all = {0};
  contraction_print(c, &all);
  const char *out = strstr(text_string(&all), "\nout = ");
  size_t length = out ? strcspn(out + 1, "\n") : 0;
  CHECK(out != NULL);
  text_append(t, out ? out + 4 : "", out ? length - 3 : 0);
  text_free(&all);
}

static void check_row(int i) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  o.min_macs = 0; /* they are small */
  struct nest *n = nest_parse(a, row[i].name, row[i].text, &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  if (c) {
    contraction_einsum(c, &t);
    if (strchr(row[i].expect, '='))
      print_tail(c, &t);
  } else
    text_puts(&t, n ? rule_name(v.rule) : d.text);
  if (strcmp(text_string(&t), row[i].expect) != 0)
    fprintf(stderr, "%s: %s, not %s: %s\n", row[i].name, text_string(&t),
            row[i].expect, v.diag.text);
  CHECK(strcmp(text_string(&t), row[i].expect) == 0);
  CHECK((c != NULL) == (v.diag.kind == DIAG_NONE));
  text_free(&t);
  arena_close(a);
}

static bool taken(const char *text, const char *words, struct verdict *v) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct options o = options_default();
  CHECK(options_parse(&o, a, "test", words, &d));
  struct nest *n = nest_parse(a, "test", text, &d);
  CHECK(n != NULL);
  *v = (struct verdict){0};
  bool yes = n && recognize(a, n, &o, v) != NULL;
  arena_close(a);
  return yes;
}

/* What people know such nests by. */
static void check_words(void) {
  struct verdict v;
  const char *depthwise = "tensor A i8\ntensor B i8\nloop c 4\nloop i 64\n"
                          "loop k 16\nC[c*64 + i] += A[c*1024 + i*16 + k] * "
                          "B[c*16 + k] : i32";
  CHECK(!taken(depthwise, "device=sim", &v) && v.rule == RULE_VECTOR);
  CHECK(strstr(v.diag.text, "depthwise"));
  const char *real = "tensor A i8\ntensor B i8\ntensor D i8\ntensor E i8\n"
                     "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB
                     " - D[i*16 + k] * E[k*32 + j] : i32";
  CHECK(!taken(real, "device=sim", &v) && v.rule == RULE_SEVERAL_PRODUCTS);
  CHECK(strstr(v.diag.text, "complex"));
}

/* What options permit. */
static void check_options(void) {
  struct verdict v;
  const char *ordered = "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
                        "loop k 16\nC[i*32 + j] += " AB " : f32 ordered";
  CHECK(!taken(ordered, "fp=strict", &v) && v.rule == RULE_NEEDS_REASSOC);
  CHECK(taken(ordered, "fp=relaxed", &v));
  const char *f32 =
      "loop i 64\nloop j 32\nloop k 16\nC[i*32 + j] += " AB " : f32";
  CHECK(!taken(f32, "fp=relaxed", &v) && v.rule == RULE_FLOAT_INPUT);
  CHECK(taken(f32, "f32=bf16", &v) && taken(f32, "f32=bf16x3", &v));
  CHECK(taken(f32, "device=host", &v));
  CHECK(!taken(f32, "f32=bf16,f32=keep", &v) && v.rule == RULE_FLOAT_INPUT);
  const char *mixed = "tensor A bf16\nloop i 64\nloop j 32\nloop k 16\n"
                      "C[i*32 + j] += " AB " : f32";
  CHECK(!taken(mixed, "", &v) && v.rule == RULE_FLOAT_INPUT);
  CHECK(taken(mixed, "f32=bf16x3", &v));
  const char *bf16_sum =
      "tensor A bf16\ntensor B bf16\ntensor C bf16\nloop i 64\n"
      "loop j 32\nloop k 16\nC[i*32 + j] += " AB " : bf16";
  CHECK(!taken(bf16_sum, "", &v) && v.rule == RULE_ROUNDED_BETWEEN);
  CHECK(taken(bf16_sum, "fp=relaxed", &v));
  const char *f64_sum = "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
                        "loop k 16\nC[i*32 + j] += " AB " : f64";
  CHECK(!taken(f64_sum, "f32=bf16x3", &v) && v.rule == RULE_WIDE_SUM);
  CHECK(taken(f64_sum, "fp=relaxed", &v) && taken(f64_sum, "device=host", &v));
  const char *rounded = "tensor A bf16\ntensor B bf16\nloop i 64\nloop j 32\n"
                        "loop k 16\nC[i*32 + j] += (" AB " : bf16) : f32";
  CHECK(taken(rounded, "fp=relaxed", &v));
  const char *ttmc = "tensor X f32\n" FACTORS_OF(
      "f32") "loop q 4\nC[i*32 + r*4 + q] += "
             "X[i*64 + j*8 + k] * B[j*8 + r] * D[k*4 + q] : f32";
  CHECK(!taken(ttmc, "fp=relaxed", &v) && v.rule == RULE_FLOAT_INPUT);
  CHECK(taken(ttmc, "f32=bf16x3", &v) && taken(ttmc, "device=host", &v));
  const char *vector = "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\n"
                       "C[i] += A[i*16 + k] * B[k] : i32";
  CHECK(!taken(vector, "device=sim", &v) && v.rule == RULE_VECTOR);
  CHECK(taken(vector, "device=host", &v));
  const char *i32 = "tensor A i32\ntensor B i32\nloop i 64\nloop j 32\n"
                    "loop k 16\nC[i*32 + j] += " AB " : i32";
  CHECK(taken(i32, "device=sim", &v) && taken(i32, "device=host", &v));
  const char *i64 = "tensor A i64\ntensor B i32\nloop i 64\nloop j 32\n"
                    "loop k 16\nC[i*32 + j] += " AB " : i64";
  CHECK(!taken(i64, "device=sim", &v) && v.rule == RULE_TYPES);
  CHECK(taken(i64, "device=host", &v));
  const char *wide = "tensor A i16\ntensor B i16\nloop i 64\nloop j 32\n"
                     "loop k n\nC[i*32 + j] += " AB " : i64";
  CHECK(!taken(wide, "device=sim", &v) && v.rule == RULE_WIDE_SUM);
  CHECK(taken(wide, "device=host", &v));
  const char *long_sum = "tensor A u8\ntensor B u8\nloop i 64\nloop j 32\n"
                         "loop k 40000\nC[i*32 + j] += A[i*40000 + k] * "
                         "B[k*32 + j] : i64"; /* 255 * 255 * 40000 > 2^31 */
  CHECK(!taken(long_sum, "device=sim", &v) && v.rule == RULE_WIDE_SUM);
  const char *cut = "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\n"
                    "loop k 16\nC[i*32 + j] += (" AB " : u16) : i32";
  CHECK(!taken(cut, "device=host", &v)); /* -1 becomes 65535 */
  const char *mixed_kinds = "tensor A i8\ntensor B f32\nloop i 64\nloop j 32\n"
                            "loop k n\nC[i*32 + j] += " AB " : f32";
  CHECK(!taken(mixed_kinds, "device=host", &v));
  /* 64 * 32 * 16 = 32768; simulators take every size */
  const char *i8 = IJK "C[i*32 + j] += " AB " : i32";
  CHECK(!taken(i8, "device=npu1,min-macs=32769", &v) &&
        v.rule == RULE_BELOW_THRESHOLD);
  CHECK(v.macs == 32768 && v.bytes == 64 * 16 + 16 * 32 + 4 * 64 * 32);
  CHECK(taken(i8, "device=npu1,min-macs=32768", &v) && v.macs == 32768);
  CHECK(taken(i8, "device=sim,min-macs=32769", &v));
  /* Less than any launch is worth: 4 * 4 * 4, unless it is asked for. */
  const char *tiny = "tensor A i8\ntensor B i8\nloop i 4\nloop j 4\nloop k 4\n"
                     "C[i*4 + j] += A[i*4 + k] * B[k*4 + j] : i32";
  static const char *const small[] = {"", "device=auto", "device=npu1",
                                      "device=xrt", "min-macs=65"};
  static const char *const asked[] = {
      "device=sim", "device=host",         "min-macs=0",
      "require",    "min-macs=64,require", "device=host,min-macs=65"};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++)
    CHECK(!taken(tiny, small[i], &v) && v.rule == RULE_BELOW_THRESHOLD &&
          v.macs == 64);
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
    CHECK(taken(tiny, asked[i], &v));
  CHECK(!taken(tiny, "min-macs=65,require", &v));
  const char *enough =
      "tensor A i8\ntensor B i8\nloop i 16\nloop j 16\nloop k %d\n"
      "C[i*16 + j] += A[i*16 + k] * B[k*16 + j] : i32";
  char text[200];
  snprintf(text, sizeof text, enough, 16);
  CHECK(taken(text, "", &v) && v.macs == 4096);
  snprintf(text, sizeof text, enough, 15);
  CHECK(!taken(text, "", &v) && v.macs == 3840);
}

/* The contraction of an integer nest, which has this many guards. */
static void print_guarded(const char *text, int guards, struct text *t) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(a, "test", text, &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  CHECK(c && c->guard_count == guards && c->accumulate);
  if (c)
    contraction_print(c, t);
  arena_close(a);
}

/* Run-time sizes leave guards: rows of C must not overlap. */
static void check_guards(void) {
  struct text t = {0};
  print_guarded("tensor A i8\ntensor B i8\nloop i m\nloop j n\nloop k l\n"
                "C[i*ldc + j] += A[i*lda + k] * B[k*ldb + j] : i32",
                1, &t);
  CHECK(strstr(text_string(&t), "guard ldc >= 4 * n\n"));
  CHECK(strstr(text_string(&t), "axis i M m in0 lda out ldc\n"));
  CHECK(strstr(text_string(&t), "axis k K l in0 1 in1 ldb\n"));
  text_free(&t);
}

/* Which of two loops steps over the other is known when the strides are. */
static void check_either(void) {
  struct text t = {0};
  print_guarded("tensor A i8\ntensor B i8\nloop h heads\nloop i m\nloop j n\n"
                "loop k l\nC[i*row + h*head + j] += A[h*lh + i*lda + k] * "
                "B[k*row2 + h*head2 + j] : i32",
                3, &t);
  CHECK(strstr(text_string(&t), "guard row >= 4 * n\n"));
  CHECK(strstr(text_string(&t), "guard head >= 4 * n\n"));
  CHECK(strstr(text_string(&t),
               "guard head >= row * m or row >= head * heads\n"));
  text_free(&t);
}

/* What makes the intermediate, whose strides are products of run-time sizes. */
static void check_pairwise(void) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(
      a, "test",
      TENSOR "tensor B i8\ntensor D i8\nloop i m\nloop j o\nloop k p\n"
             "loop r n\nC[i*ldc + r] += "
             "X[i*ldx + j*p + k] * B[j*n + r] * D[k*n + r] : i32",
      &d);
  struct contraction *c = recognize(a, n, &o, &v);
  CHECK(c && c->first && c->intermediate == IN0);
  contraction_print(c, &t);
  const char *all = text_string(&t);
  CHECK(strstr(all, "stride0 = 2 * n\nstride1 = stride0 * p\n"));
  CHECK(strstr(all, "tensor in0 i16\nsum i16 from zero\n"));
  CHECK(strstr(all, "axis r C n in2 1 in3 1 in0 2\n"));
  CHECK(strstr(all, "axis j K o in0 stride1 in1 p\n"));
  text_free(&t);
  contraction_sizes(c, &t);
  CHECK(strcmp(text_string(&t), "n=m k=o l=p m=n") == 0);
  text_free(&t);
  arena_close(a);
}

/* Whether D may be C itself, element by element. */
static bool may_be_out(const char *text) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(a, "test", text, &d);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  CHECK(c && c->extra_count == 1);
  bool may = c && !c->extra[0].not_out;
  arena_close(a);
  return may;
}

/* The line that says what is made of an element of A before the multiply unit
 * has it; "": the element itself; "-": the nest is declined. */
static void check_conversion(const char *types, const char *operand,
                             const char *product, const char *expect) {
  struct arena *a = arena_open();
  struct diag d = {0};
  struct verdict v = {0};
  struct text t = {0};
  struct options o = options_default();
  struct nest *n =
      nest_parse(a, "test",
                 arena_printf(a,
                              "%sloop i 64\nloop j 32\nloop k 16\n"
                              "C[i*32 + j] += %s * B[k*32 + j] : %s",
                              types, operand, product),
                 &d);
  CHECK(n != NULL);
  struct contraction *c = n ? recognize(a, n, &o, &v) : NULL;
  if (c)
    contraction_print(c, &t);
  const char *all = c ? text_string(&t) : "";
  const char *made = strstr(all, "\nin0 = ");
  const char *line =
      !c     ? "-"
      : made ? arena_printf(a, "%.*s", (int)strcspn(made + 7, "\n"), made + 7)
             : "";
  if (strcmp(line, expect) != 0)
    fprintf(stderr, "%s: '%s', not '%s': %s\n", operand, line, expect,
            v.diag.text);
  CHECK(strcmp(line, expect) == 0);
  text_free(&t);
  arena_close(a);
}

/* A conversion is left out only where it keeps the number. */
static void check_conversions(void) {
  const char *i16 = "tensor A i16\ntensor B i8\n", *at = "A[i*16 + k]";
  const char *u8 = "tensor A u8\ntensor B i8\n";
  check_conversion(i16, at, "i32", "");
  check_conversion(i16, "(A[i*16 + k] : i32)", "i32", "");
  check_conversion(i16, "(A[i*16 + k] : i8)", "i32", "i8(in0)");
  check_conversion(u8, "(A[i*16 + k] : i16)", "i32", "");
  check_conversion(u8, "(A[i*16 + k] + 3 : u8)", "i32", "add(in0,u8:3)");
  check_conversion(u8, "((A[i*16 + k] + 3 : u8) : i8)", "i32",
                   "i8(add(in0,u8:3))");
  check_conversion(u8, "((A[i*16 + k] + 3 : u8) : i16)", "i32",
                   "add(in0,u8:3)");
  const char *bf16 = "tensor A bf16\ntensor B bf16\n";
  check_conversion(bf16, at, "f32", "");
  check_conversion(bf16, "(A[i*16 + k] : f16)", "f32", "-");
  check_conversion("tensor A i16\ntensor B bf16\n", at, "f32", "-");
}

static void check_not_out(void) {
  CHECK(may_be_out(IJ "s = 0 : i32\nloop k 16\ns += " AB
                      " : i32\nend\nC[i*32 + j] = s + D[i*32 + j] : i32"));
  CHECK(may_be_out(IJ "s = D[i*32 + j] : i32\nloop k 16\ns += " AB
                      " : i32\nend\nC[i*32 + j] = s : i32"));
  /* the store behind which D is read is earlier, or of an earlier k */
  CHECK(!may_be_out(IJ "C[i*32 + j] = 0 : i32\nloop k 16\nC[i*32 + j] += " AB
                       " : i32\nend\nC[i*32 + j] += D[i*32 + j] : i32"));
  CHECK(!may_be_out(IJK "C[i*32 + j] += D[i*32 + j] * " AB " : i32"));
}

int main(void) {
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    check_row((int)i);
  check_words();
  check_options();
  check_guards();
  check_either();
  check_pairwise();
  check_conversions();
  check_not_out();
  return check_result();
}
