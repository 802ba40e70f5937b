// A nest of three products is split twice, but has its loops as written once
// beside those of each product: what is asked of all pointers is asked at one
// branch.  Functions compute it, which are right about all small sums and stop
// at the ends, also where no pass of ours follows that gives them their code.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O1 -ffast-math -DNEST -S -emit-llvm %s -o %t.ll
// RUN: FileCheck %s <%t.ll
// RUN: %plain -O1 -ffast-math -DNEST -S -emit-llvm %s -o - | %opt -passes='function(nputeir<device=cpu>)' -S | FileCheck %s --check-prefix=ALONE
// RUN: sed -E 's/nputeir\.check\.([a-z]+)\.[0-9]\.[0-9a-f]+/\1/g' %t.ll >%t.checks.ll
// RUN: %plain -Wno-override-module -O2 %s %t.checks.ll -o %t && %t
// CHECK-LABEL: define {{.*}} @update(
// CHECK: @nputeir.check.apart.6.
// CHECK-COUNT-6: store float
// CHECK-NOT: store float
// CHECK: {{^}}}
// CHECK-DAG: define linkonce_odr hidden {{.*}} @nputeir.check.range.5.
// CHECK-DAG: define linkonce_odr hidden {{.*}} @nputeir.check.apart.6.
// ALONE-DAG: define linkonce_odr hidden {{.*}} @nputeir.check.range.5.
// ALONE-DAG: define linkonce_odr hidden {{.*}} @nputeir.check.apart.6.
#include <stdint.h>
#include <stdio.h>
void update(float *c, float *d, float *e, const float *a, const float *b,
            const float *s, int n, int m, int k);
#ifdef NEST
void update(float *c, float *d, float *e, const float *a, const float *b,
            const float *s, int n, int m, int k) {
  for (int i = 0; i < n; i++)
    for (int l = 0; l < m; l++)
      for (int j = 0; j < k; j++) {
        c[i * k + j] += a[i * m + l] * b[l * k + j];
        d[i * k + j] += a[i * m + l] * s[l * k + j];
        e[i * k + j] += b[i * m + l] * s[l * k + j];
      }
}
#else
struct reach {
  int64_t low, high;
};
struct reach range(int64_t start, int64_t step, int64_t count, int64_t step2,
                   int64_t count2);
unsigned char apart(int64_t low, int64_t high, int64_t bytes, int64_t low2,
                    int64_t high2, int64_t bytes2); /* i1 */

static const int64_t numbers[] = {INT64_MIN, -1 - INT64_MAX / 2, -7, -1, 0, 1, 2,
                                  INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
enum { NUMBERS = sizeof numbers / sizeof *numbers };
#define EACH(x) for (int x = 0; x < NUMBERS; x++)

static int64_t stop(__int128 x) {
  return x < INT64_MIN ? INT64_MIN : x > INT64_MAX ? INT64_MAX : (int64_t)x;
}

static int is_right(int64_t start, int64_t step, int64_t count, int64_t step2,
                    int64_t count2) {
  struct reach r = range(start, step, count, step2, count2);
  __int128 way = (__int128)step * (count - 1);
  __int128 way2 = (__int128)step2 * (count2 - 1);
  if (way != stop(way) || way2 != stop(way2))
    return r.low == INT64_MIN && r.high == INT64_MAX;
  int64_t low = stop((__int128)start + (way < 0 ? way : 0));
  int64_t high = stop((__int128)start + (way > 0 ? way : 0));
  return r.low == stop((__int128)low + (way2 < 0 ? way2 : 0)) &&
         r.high == stop((__int128)high + (way2 > 0 ? way2 : 0));
}

int main(void) {
  EACH(s) EACH(x) EACH(m) EACH(y) EACH(n)
    if (numbers[m] > 0 && numbers[n] > 0 &&
        !is_right(numbers[s], numbers[x], numbers[m], numbers[y], numbers[n]))
      return puts("range"), 1;
  for (int low = 0; low < 6; low++)
    for (int high = low; high < 6; high++)
      for (int low2 = 0; low2 < 6; low2++)
        for (int high2 = low2; high2 < 6; high2++)
          if ((apart(low, high, 1, low2, high2, 2) & 1) !=
              (high + 1 <= low2 || high2 + 2 <= low))
            return puts("apart"), 1;
  return apart(INT64_MIN, INT64_MAX, 4, 64, 96, 4) & 1;
}
#endif
