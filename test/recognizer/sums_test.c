/* sums_test.c -- the sum itself: its factors, loops unrolled over it, types: a
 * row per idea, and near misses beside what is taken. */
#include "match_rows.h"

static const struct match_row row[] = {
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
     "mk,kn->mn"},
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
     "mk,nk->mn"},
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
     "mk,kn->mn"},
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
     "mxk,kn->mxn"},
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
    {"i64 sum of u32, whose product's bound is 2^64",
     "tensor A u32\ntensor B u32\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : i64",
     "WideSum"},
    {"i64 sum of i32 by u32",
     "tensor A i32\ntensor B u32\nloop i 64\nloop j 32\nloop k 16\n"
     "C[i*32 + j] += " AB " : i64",
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
     "tensor A i8\ntensor B i8\nloop i 64\ns = 0 : i32\nloop j 32\nloop k "
     "16\ns += " AB " : i32\nend\nC[i*32 + j] = s : i32",
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
    {"pairs that are turned", /* as positions are embedded */
     IJ "s = C[i*64 + j*2] : i32\nt = C[i*64 + j*2 + 1] : i32\n"
        "C[i*64 + j*2] = s * A[j] - t * B[j] : i32\n"
        "C[i*64 + j*2 + 1] = s * B[j] + t * A[j] : i32",
     "TooFewAxes"},
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

int main(void) {
  check_rows(row, sizeof row / sizeof *row);
  return check_result();
}
