// Where the reason stands in another file, the remark names it.
// RUN: %clang -O2 -ffast-math -Rpass-missed=nputeir -c %s -o /dev/null 2>&1 | FileCheck %s
// CHECK: header.c:{{[0-9]+}}:{{[0-9]+}}: remark: nest kept [NotProductSum]
// CHECK-SAME: (part.h:3)
// CHECK: header.c:{{[0-9]+}}:{{[0-9]+}}: remark: nest kept [NotProductSum]
// CHECK-SAME: (line [[#]])
static inline int odd(int x, int y);
void elsewhere(int n, const int *a, const int *b, int *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        c[i * n + j] += odd(a[i * n + k], b[k * n + j]) * b[k * n + j];
}
void here(int n, const int *a, const int *b, int *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] % b[k * n + j] * b[k * n + j];
}
#line 2 "part.h"
static inline int odd(int x, int y) {
  return x % y;
}
