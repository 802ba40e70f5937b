// clang's matrix types: whole products, and loops over tiles.  Beside what is
// taken stands what looks alike and is something else.
// RUN: %verify -O1 -fenable-matrix %s
// RUN: %verify -O2 -fenable-matrix %s
// RUN: %verify -O3 -fenable-matrix %s
// RUN: %clang -O2 -fenable-matrix -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// RUN: %clang -O2 -fenable-matrix -S -emit-llvm %s -o - \
// RUN:   -Rpass-missed=nputeir 2>&1 | FileCheck %s --check-prefix=STRICT
typedef __bf16 half __attribute__((matrix_type(16, 16)));
typedef float full __attribute__((matrix_type(16, 16)));
#define LOAD(p) __builtin_matrix_column_major_load(p, 16, 16, n)
#define STORE(x, p) __builtin_matrix_column_major_store(x, p, n)
#define TURN __builtin_matrix_transpose
#define TILES(x) for (long x = 0; x < n; x += 16)
#define ARGS __bf16 *a, __bf16 *b, float *c, long n
void use(const void *);

// The product and all that only it needs is on the other side of the branch.
// CHECK-LABEL: @whole(
// CHECK-NOT: load
// CHECK: call i32 @nputeir_call_1(
// STRICT: matrix product kept [NeedsReassoc]
void whole(const half *a, const half *b, full *c) {
  // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
  *c = (full)*a * (full)*b;
}
void turned(const half *a, const half *b, full *c) {
  // expected-remark@+1 {{matrix product replaced by a call: km,nk->mn}}
  *c = TURN((full)*a * (full)*b);
}
void added(ARGS) {
  full x = (full)LOAD(a), y = (full)LOAD(b), z = LOAD(c);
  // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
  STORE(z + x * y, c);
}
void operand_used_twice(const half *a, const half *b, full *c, full *d) {
  // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
  *c = (full)*a * (full)*b;
  *d = (full)*a;
}

void tiles(ARGS) {
  // expected-remark@+1 {{nest replaced by a call: mxkl,klnp->mxnp}}
  TILES(i) TILES(j) {
    full sum = LOAD(c + i + j * n);
    TILES(k) sum += (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    STORE(sum, c + i + j * n);
  }
}
void tiles_from_zero(ARGS, const full *any) {
  // expected-remark@+1 {{nest replaced by a call: klmx,klnp->mxnp}}
  TILES(i) TILES(j) {
    full sum = *any - *any;
    TILES(k) sum += (full)LOAD(a + i + k * n) * TURN((full)LOAD(b + j + k * n));
    STORE(sum, c + i + j * n);
  }
}
void tiles_in_memory(ARGS) {
  // expected-remark@+1 {{nest replaced by a call: mxkl,klnp->mxnp}}
  TILES(i) TILES(j) TILES(k) {
    full sum = LOAD(c + i + j * n);
    sum += (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    STORE(sum, c + i + j * n);
  }
}
void some_tiles(const half *a, const half *b, full *c, int n) {
  for (int i = 0; i < n; i++) // expected-remark {{nest replaced by a call}}
    c[i] = (full)a[i] * TURN((full)b[i]);
}

void other_old_contents(ARGS) {
  full x = (full)LOAD(a), y = (full)LOAD(b), z = LOAD(c);
  // expected-remark@+1 {{matrix product kept [ResultOverlapsItself]}}
  STORE(TURN(z + x * y), c);
}
void product_of_product(const half *a, const half *b, full *c, full *d) {
  // expected-remark@+1 {{matrix product kept [NotProductSum]}}
  *d = (full)*a * (full)*b * *c;
}
void two_products(const half *a, const half *b, full *c) {
  // expected-remark@+1 {{matrix product kept [}}
  *c = (full)*a * (full)*b + (full)*b * (full)*a;
}
void product_used_after(const half *a, const half *b, full *c, full *d) {
  full product = (full)*a * (full)*b;
  *c = product; // expected-remark {{kept [ValueUsedAfter]}}
  *d = product; // expected-remark {{kept [ValueUsedAfter]}}
}
void call_between(const half *a, const half *b, full *c) {
  full product = (full)*a * (full)*b;
  use(c);
  *c = product; // expected-remark {{kept [SideEffect]}}
}
void rounded(const half *a, const half *b, full *c) {
  // expected-remark@+1 {{matrix product kept [}}
  *c = (full)(*a * *b);
}
void floats(const full *a, const full *b, full *c) {
  *c = *a * *b; // expected-remark {{matrix product kept [FloatInputs]}}
}
void sum_over_all_tiles(ARGS, const full *any) {
  full sum = *any - *any;
  TILES(i) TILES(j) { // expected-remark {{kept [NotProductSum]}}
    TILES(k) sum += (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    STORE(sum, c + i + j * n);
  }
}

// The loop is kept, each of its products is not.
void tiles_overlap(ARGS) {
  TILES(i) {
    full product = (full)LOAD(a + i) * (full)LOAD(b);
    // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
    __builtin_matrix_column_major_store(product, c + i, 16);
  }
}
void every_other_tile(ARGS) {
  TILES(i) TILES(j) TILES(k) if (k & 16) {
    full sum = LOAD(c + i + j * n);
    sum += (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
    STORE(sum, c + i + j * n);
  }
}
void triangle(ARGS) {
  // expected-remark@+1 {{nest replaced by a call: mxkl,kln->mxn}}
  TILES(i) for (long j = 0; j <= i; j += 16) TILES(k) {
    full sum = LOAD(c + i + j * n);
    sum += (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    STORE(sum, c + i + j * n);
  }
}
void two_products_at_once(ARGS, float *d) {
  TILES(i) TILES(j) TILES(k) {
    full x = (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    full y = (full)LOAD(a + j + k * n) * (full)LOAD(b + k + i * n);
    // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
    STORE(LOAD(c + i + j * n) + x, c + i + j * n);
    // expected-remark@+1 {{matrix product kept [}}
    STORE(LOAD(d + i + j * n) + y, d + i + j * n);
  }
}
void two_results(ARGS, float *d) {
  TILES(i) TILES(j) TILES(k) {
    full x = (full)LOAD(a + i + k * n) * (full)LOAD(b + k + j * n);
    // expected-remark@+1 {{matrix product replaced by a call: mk,kn->mn}}
    STORE(LOAD(c + i + j * n) + x, c + i + j * n);
    d[i]++;
  }
}
