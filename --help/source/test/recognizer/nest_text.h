/* nest_text.h -- parts of nests as text. */
#ifndef NEST_TEXT_H
#define NEST_TEXT_H

/* A product of a 64x16 by a 16x32 matrix: its factors, its loops, and those of
 * its rows and columns. */
#define AB "A[i*16 + k] * B[k*32 + j]"
#define IJK "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\nloop k 16\n"
#define IJ "tensor A i8\ntensor B i8\nloop i 64\nloop j 32\n"

/* Of products of three factors. */
#define TENSOR "tensor X i8\n"
#define FACTORS_OF(type)                                                       \
  "tensor B " type "\ntensor D " type "\nloop i 8\nloop r 8\nloop j 8\n"       \
  "loop k 8\n"
#define FACTORS FACTORS_OF("i8")

#endif
