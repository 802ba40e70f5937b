// Nests whose loops are faster than code for the processor, as is known when
// they are compiled, have the code that they have without us, to the last
// instruction; also what is within them.
// RUN: %plain -O3 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o %t.plain
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O3 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o %t.ours
// RUN: diff %t.plain %t.ours
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O3 -march=x86-64-v4 -ffast-math -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O3 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// SAID-COUNT-4: the loops are faster than code for the processor
// CHECK-COUNT-4: call i32 @nputeir.nest.
// CHECK-NOT: call i32 @nputeir.nest.
// A loop of so few iterations is written out, too, and has no vectors.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DROWS=6 -O3 -march=x86-64-v4 -ffast-math -Rpass=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: replaced by code for the processor: km,kn->mn with m=6 n=4 k=3
void small(float c[5][2], float a[5][3], float b[2][3]) {
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 3; k++)
        c[i][j] += a[i][k] * b[j][k];
}

void bytes(int c[9][4], signed char a[9][6], signed char b[4][6]) {
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 4; j++) {
      int s = 0;
      for (int k = 0; k < 6; k++)
        s += a[i][k] * b[j][k];
      c[i][j] = s;
    }
}

void row(float c[2][300], float a[2][100], float b[300][100]) {
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 300; j++)
      for (int k = 0; k < 100; k++)
        c[i][j] += a[i][k] * b[j][k];
}

#ifndef ROWS
#define ROWS 24
#endif
void written_out(float c[ROWS][4], float a[3][ROWS], float b[3][4]) {
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < 4; j++) {
      float s = 0;
      for (int k = 0; k < 3; k++)
        s += a[k][i] * b[k][j];
      c[i][j] = s;
    }
}
