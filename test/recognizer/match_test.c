/* match_test.c -- loops, conditions on counters, what stands before and behind
 * a sum: a row per idea, and near misses beside what is taken. */
#include "match_rows.h"

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

/* Two columns in every step of a loop, and what follows it. */
#define AB_J "A[i*16 + k] * B[k*32 + j]"
#define AB_J1 "A[i*16 + k] * B[k*32 + j + 1]"
#define C_J "C[i*32 + j] += " AB_J " : i32\n"
#define C_J1 "C[i*32 + j + 1] += " AB_J1 " : i32\n"
#define C_Q "C[i*32 + q] += A[i*16 + k] * B[k*32 + q] : i32"
#define COLUMNS_OF_TWO(columns)                                                \
  "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\nloop j e step 2\n" columns  \
  "end\n"

/* The same as sums, of which s starts from zero. */
#define SUMS_OF_TWO(start, last)                                               \
  IJ_OF_SUMS                                                                   \
  "s = 0 : i32\nt = " start " : i32\nloop k 16\ns += " AB_J                    \
  " : i32\nt += " AB_J1 " : i32\nend\nC[i*32 + j] = s "                        \
  ": i32\n" last "\nend\nloop q n after j\nr = 0 : i32\nloop l 16\n"           \
  "r += A[i*16 + l] * B[l*32 + q] : i32\nend\nC[i*32 + q] = r : i32"
#define IJ_OF_SUMS "tensor A i8\ntensor B i8\nloop i 64\nloop j e step 2\n"

#define TWO_ROWS(multiples, step)                                              \
  "tensor A i8 pitch p\ntensor B i8\n" multiples "loop i n\nloop j 32\n"       \
  "s = 0 : i32\nt = 0 : i32\nloop k 16\n"                                      \
  "s += A[i*q + k] * B[k*32 + j] : i32\n"                                      \
  "t += A[i*q + k + rows(1)] * B[k*32 + j] : i32\nend\n"                       \
  "C[i*" step " + j] = s : i32\nC[i*" step " + j + 32] = t : i32"

#define TILED(tiles, rows, multiples)                                          \
  "tensor A i8\ntensor B i8\n" multiples "loop x " tiles "\nloop i " rows      \
  "\nloop j 32\ns = 0 : i32\nloop k 16\ns += A[x*q + i*p + k] * "              \
  "B[k*32 + j] : i32\nend\nC[x*128 + i*32 + j] = s : i32"

static const struct match_row row[] = {
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
    /* unrolled by hand */
    {"rows written out", TWO_ROWS("multiple q 2 p\nmultiple e 2 n\n", "64"),
     "mk,kn->mn"},
    {"rows further apart", TWO_ROWS("multiple q 3 p\nmultiple e 2 n\n", "64"),
     "mxk,kn->mxn"},
    {"as many rows as nobody knows", TWO_ROWS("multiple q 2 p\n", "64"),
     "mxk,kn->mxn"},
    {"rows of the result further apart",
     TWO_ROWS("multiple q 2 p\nmultiple e 2 n\n", "128"), "mxk,kn->mxn"},
    /* cut into tiles */
    {"rows in tiles", TILED("n", "4", "multiple q 4 p\nmultiple e 4 n\n"),
     "mk,kn->mn"},
    {"as many tiles as the source says",
     TILED("8", "4", "multiple q 4 p\nmultiple e 4 n\n"), "mxk,kn->mxn"},
    {"rows in tiles of whatever length",
     TILED("n", "m", "multiple q 4 p\nmultiple e 4 n\n"), "mxk,kn->mxn"},
    {"rows in tiles further apart",
     TILED("n", "4", "multiple q 5 p\nmultiple e 4 n\n"), "mxk,kn->mxn"},
    {"as many rows in tiles as nobody knows",
     TILED("n", "4", "multiple q 4 p\n"), "mxk,kn->mxn"},
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
    {"a remainder of columns",
     COLUMNS_OF_TWO(C_J C_J1) "loop q n after j\n" C_Q, "mk,kn->mn"},
    {"two remainders of columns",
     "tensor A i8\ntensor B i8\nloop k 16\nloop i 64\nloop j e step "
     "2\n" C_J1 C_J "end\nloop q f step 1 after j\n" C_Q "\n"
     "end\nloop r n after q\n"
     "C[i*32 + r] += B[k*32 + r] * A[i*16 + k] : i32",
     "mk,kn->mn"},
    {"a remainder of sums", SUMS_OF_TWO("0", "C[i*32 + j + 1] = t : i32"),
     "mk,kn->mn"},
    {"a remainder of sums that start elsewhere",
     SUMS_OF_TWO("1", "C[i*32 + j + 1] = t : i32"), "ExtraStore"},
    {"a remainder of sums that change places",
     SUMS_OF_TWO("0", "C[i*32 + j + 1] = s : i32"), "ExtraStore"},
    {"a remainder of sums that are rounded",
     SUMS_OF_TWO("0", "C[i*32 + j + 1] = (t : i8) : i32"), "ExtraStore"},
    {"a remainder of sums, and one more",
     SUMS_OF_TWO("0", "C[i*32 + j + 1] = t : i32\nD[j] = t : i32"),
     "ExtraStore"},
    {"a remainder of half the columns",
     COLUMNS_OF_TWO(C_J) "loop q n after j\n" C_Q, "ExtraStore"},
    {"a remainder of other columns",
     COLUMNS_OF_TWO(C_J "C[i*32 + j + 2] += A[i*16 + k] * B[k*32 + j + 2] "
                        ": i32\n") "loop q n after j\n" C_Q,
     "ExtraStore"},
    {"a remainder of columns of another product",
     COLUMNS_OF_TWO(
         C_J "C[i*32 + j + 1] += A[i*16 + k] * B[k*32 + j] : i32\n") "loop q n "
                                                                     "after "
                                                                     "j\n" C_Q,
     "ExtraStore"},
    {"a remainder of columns after none",
     COLUMNS_OF_TWO(C_J C_J1) "loop q n\n" C_Q, "ExtraStore"},
    {"a remainder that does the same in another order",
     COLUMNS_OF_TWO(
         C_J
         "C[i*32 + j] = max(C[i*32 + j], 0) : i32\n" C_J1
         "C[i*32 + j + 1] = max(C[i*32 + j + 1], 0) : i32\n") "loop q n after "
                                                              "j\nC[i*32 + q] "
                                                              "= max(C[i*32 + "
                                                              "q], 0) : "
                                                              "i32\n" C_Q,
     "ExtraStore"},
    {"a remainder of sums in fewer loops",
     IJ_OF_SUMS
     "loop r 3\nloop k 16\n" C_J C_J1 "end\nend\nend\nloop q n "
     "after j\nloop l 16\nC[i*32 + q] += A[i*16 + l] * B[l*32 + q] : i32",
     "ExtraStore"},
    {"a remainder of fewer terms",
     IJ_OF_SUMS
     "loop k 16\n" C_J C_J1 "end\nend\nloop q n "
     "after j\nloop l 15\nC[i*32 + q] += A[i*16 + l] * B[l*32 + q] : i32",
     "ExtraStore"},
    {"a remainder of sums that may be reordered",
     "tensor A bf16\ntensor B bf16\nloop i 64\nloop j e step 2\nloop k 16\n"
     "C[i*32 + j] += (A[i*16 + k] : f32) * (B[k*32 + j] : f32) : f32 ordered\n"
     "C[i*32 + j + 1] += (A[i*16 + k] : f32) * (B[k*32 + j + 1] : f32) : f32 "
     "ordered\nend\nend\nloop q n after j\nloop l 16\n"
     "C[i*32 + q] += (A[i*16 + l] : f32) * (B[l*32 + q] : f32) : f32",
     "ExtraStore"},
    {"a scalar that changes between columns and their remainder",
     "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\ns = 2 : i32\n"
     "loop j e step 2\nC[i*32 + j] += s * " AB_J " : i32\n"
     "C[i*32 + j + 1] += s * " AB_J1 " : i32\nend\ns = 3 : i32\n"
     "loop q n after j\nC[i*32 + q] += s * A[i*16 + k] * B[k*32 + q] : i32",
     "ExtraStore"},
    {"a scalar of columns that is used behind their remainder",
     "tensor A i8\ntensor B i8\nloop i 64\ns = 0 : i32\nloop j e step 2\n"
     "s = 1 : i32\nloop k 16\ns += " AB_J " : i32\nend\nC[i*32 + j] = s : i32\n"
     "t = 1 : i32\nloop m 16\nt += A[i*16 + m] * B[m*32 + j + 1] : i32\nend\n"
     "C[i*32 + j + 1] = t : i32\nend\nloop q n after j\nr = 1 : i32\n"
     "loop l 16\nr += A[i*16 + l] * B[l*32 + q] : i32\nend\n"
     "C[i*32 + q] = r : i32\nend\nloop z n\nC[i*32 + z] += s : i32",
     "ExtraStore"},
    {"something between columns and their remainder",
     COLUMNS_OF_TWO(C_J C_J1) "C[i*32] = 0 : i32\nloop q n after j\n" C_Q,
     "ExtraStore"},
    {"columns that read their neighbours",
     COLUMNS_OF_TWO("C[i*32 + j] = C[i*32 + j + 1] + " AB_J " : i32\n"
                    "C[i*32 + j + 1] = C[i*32 + j + 2] + " AB_J1
                    " : i32\n") "loop q n after j\nC[i*32 + q] = C[i*32 + q + "
                                "1] + A[i*16 + k] * "
                                "B[k*32 + q] : i32",
     "ResultOverlapsItself"},
    {"columns of which all are one",
     "tensor A i8\ntensor B i8\nloop i 64\nloop k 16\nloop j e step 2\n"
     "C[i] += " AB_J " : i32\nC[i] += " AB_J1 " : i32\nend\nloop q n after j\n"
     "C[i] += A[i*16 + k] * B[k*32 + q] : i32",
     "AxisRoles"},
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

};

int main(void) {
  check_rows(row, sizeof row / sizeof *row);
  return check_result();
}
