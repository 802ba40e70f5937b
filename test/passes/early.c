// What a look at a function as it comes says of its nests, before anything is
// prepared: sums that no preparation makes a product of matrices, and numbers
// that are no sums at all.  Near misses of each are taken.
// RUN: env NPUTEIR_OPTIONS= %verify -O2 %s
#include <math.h>
#include <stddef.h>
#include <string.h>

struct block {
  float d;
  signed char q[32];
};
struct node {
  float w;
  struct node *next;
};
struct rows {
  const float *a, *b;
};
float drawn(void);

// Each loop moves both factors: the product of two vectors, in blocks.
void blocks(float *s, const struct block *x, const struct block *y, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) { // expected-remark {{AxisRoles]: each loop}}
    int t = 0;
    for (int j = 0; j < 32; j++)
      t += x[i].q[j] * y[i].q[j];
    sum += t * (x[i].d * y[i].d);
  }
  *s = sum;
}
// One loop moves one factor alone.
void blocks_of_one(int *s, const struct block *x, const struct block *y,
                   int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{replaced}}
    int t = 0;
    for (int j = 0; j < 32; j++)
      t += x[i].q[j] * y->q[j];
    s[i] = t;
  }
}
// The loop that does has been written out.
void written_out(int *restrict c, const signed char *a, const signed char *b,
                 int n) {
  for (int i = 0; i < n; i++) // expected-remark {{replaced}}
    for (int k = 0; k < 64; k++) {
      c[i * 4 + 0] += a[i * 64 + k] * b[i * 256 + k * 4 + 0];
      c[i * 4 + 1] += a[i * 64 + k] * b[i * 256 + k * 4 + 1];
      c[i * 4 + 2] += a[i * 64 + k] * b[i * 256 + k * 4 + 2];
      c[i * 4 + 3] += a[i * 64 + k] * b[i * 256 + k * 4 + 3];
    }
}
// A function is called for each term; of a row, it may be called.
void terms_drawn(float *c, const float *a, int n) {
  // expected-remark@+1 {{SideEffect]: the nest calls drawn}}
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * a[j * n + k] + drawn();
}
void rows_drawn(int *restrict c, const signed char *restrict a, int n) {
  for (int i = 0; i < n; i++) // expected-remark {{replaced}}
    for (int j = 0; j < n; j++) {
      int s = 0;
      for (int k = 0; k < n; k++)
        s += a[i * n + k] * a[j * n + k];
      c[i * n + j] = s + (int)drawn();
    }
}
// How long a list is, nobody knows.
void listed(float *c, const float *a, struct node *first, int n) {
  for (int i = 0; i < n; i++) // expected-remark {{UncountableLoop}}
    for (int j = 0; j < n; j++)
      for (struct node *p = first; p != NULL; p = p->next)
        c[i * n + j] += a[i * n + j] * p->w;
}
// Nor can one of 2^63 iterations or more be written down.
void endless(int c[8][8], const signed char a[8][8], const signed char b[8][8]) {
  for (size_t i = 0; i < 8; i++) // expected-remark {{UncountableLoop}}
    for (size_t j = 3; j < 8; j += 3) {
      int s = 0;
      for (size_t k = 0; k < (size_t)-1; k++)
        s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
}
void long_sums(int c[8][8], const signed char a[8][8], const signed char b[8][8]) {
  for (size_t i = 0; i < 8; i++) // expected-remark {{replaced}}
    for (size_t j = 3; j < 8; j += 3) {
      int s = 0;
      for (size_t k = 0; k < (size_t)-1 / 2; k++)
        s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
}
// These sum nothing up, and are not mentioned.
void grey(unsigned char *out, const unsigned char *p, const unsigned char *m,
          int w, int h) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      out[y * w + x] = (unsigned char)((p[y * w + x] * m[x] + 128) >> 8);
}
void between(float *out, const float *p, const float *q, const float *t, int w,
             int h) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      out[y * w + x] = p[y * w + x] + t[x] * (q[y * w + x] - p[y * w + x]);
}
static int part(int x, int m) {
  int t = x * m + 128;
  return (t + (t >> 8)) >> 8;
}
void luminance(unsigned char *restrict out, const unsigned char *p,
               const unsigned char *m, int w, int h) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      out[y * w + x] =
          (unsigned char)((77 * part(p[3 * (y * w + x)], m[x]) +
                           150 * part(p[3 * (y * w + x) + 1], m[x])) >>
                          8);
}
// An element says where a factor lies; of a row, an address does, and of a
// size in memory, each iteration has the same.
void looked_up(int *restrict s, const unsigned char *q,
               const signed char *table, const signed char *x, int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{NonAffineIndex]: an ele}}
    int t = 0;
    for (int k = 0; k < n; k++)
      t += table[q[i * n + k]] * x[k];
    s[i] = t;
  }
}
void row_looked_up(int *restrict s, signed char **rows, const signed char *x,
                   const int *n) {
  for (int i = 0; i < *n; i++) { // expected-remark {{replaced}}
    int t = 0;
    for (int k = 0; k < *n; k++)
      t += rows[i][k] * x[k];
    s[i] = t;
  }
}
// Nor does a size in memory that a pointer in memory leads to; of structs that
// the loop moves it may be another one each time.
struct layer {
  const struct layer *next;
  int size;
};
void size_behind_pointer(int *restrict s, const signed char *a,
                         const signed char *x, const struct layer *l) {
  for (int i = 0; i < l->size; i++) { // expected-remark {{replaced}}
    int t = 0;
    for (int k = 0; k < l->next->size; k++)
      t += a[i * l->next->size + k] * x[k];
    s[i] = t;
  }
}
void sizes_behind_pointers(int *restrict s, const signed char *a,
                           const signed char *x, const struct layer *l,
                           int n) {
  // expected-remark@+1 {{NonAffineIndex]: an element says where}}
  for (int i = 0; i < n; i++) {
    int t = 0;
    for (int k = 0; k < n; k++)
      t += a[l[i].next->size + k] * x[k];
    s[i] = t;
  }
}
// A row in the frame is filled with what no input of a product is; copies are.
void roots(float *restrict s, const float *a, const float *x, int n) {
  float row[32];
  // expected-remark@+1 {{an operand of the product is computed in}}
  for (int i = 0; i < n; i++) {
    float t = 0;
    for (int k = 0; k < 32; k++)
      row[k] = sqrtf(a[i * n + k]);
    for (int k = 0; k < 32; k++)
      t += row[k] * x[k];
    s[i] = t;
  }
}
void copies(int *restrict s, const signed char *a, const signed char *x,
            int n) {
  // expected-remark@+1 {{code for the processor: mk,k->m}}
  for (int i = 0; i < n; i++) {
    int row[32], t = 0;
    for (int k = 0; k < 32; k++)
      row[k] = a[i * n + k] + 5;
    for (int k = 0; k < 32; k++)
      t += row[k] * x[k];
    s[i] = t;
  }
}
// Bits that a counter picks are no element; those of each element are.
void picked(int *restrict s, const unsigned char *a, const signed char *x,
            int n) {
  // expected-remark@+1 {{product is computed from a counter}}
  for (int i = 0; i < 4; i++) {
    int t = 0;
    for (int k = 0; k < n; k++)
      t += (a[k] >> (2 * i) & 3) * x[k];
    s[i] = t;
  }
}
void masked(int *restrict s, const unsigned char *a, const signed char *x,
            int n) {
  // expected-remark@+1 {{TooFewAxes]: the nest multiplies by a vector}}
  for (int i = 0; i < n; i++) {
    int t = 0;
    for (int k = 0; k < n; k++)
      t += (a[i * n + k] & 15) * x[k];
    s[i] = t;
  }
}
// Squares of distances; two elements of a block are not written out.
void distances(int *restrict s, const signed char *a, const signed char *x,
               int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{AxisRoles]: each loop}}
    int t = 0;
    for (int k = 0; k < n; k++)
      t += (a[i * n + k] - x[k]) * (a[i * n + k] - x[k]);
    s[i] = t;
  }
}
void halves(float *s, const struct block *x, const struct block *y, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) { // expected-remark {{AxisRoles]: each loop}}
    int t = 0;
    for (int j = 0; j < 16; j++)
      t += ((x[i].q[j] & 15) - 8) * y[i].q[j] +
           ((x[i].q[j] >> 4) - 8) * y[i].q[j + 16];
    sum += (float)t * (x[i].d * y[i].d);
  }
  *s = sum;
}
// A multiple of what an inner loop sums is no product of its own, whichever
// way that loop is turned round.
static void weigh(float *restrict w, const float *a) {
  float t = 0;
  for (int k = 0; k < 256; k++)
    t += a[k] * a[k];
  for (int k = 0; k < 64; k++)
    w[k] = sqrtf(t / 256 + a[k] * a[k]);
}
void weights(float *restrict w, const float *a, int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{AxisRoles]: each loop}}
    weigh(w + i * 64, a + i * 256);
    w[0] += drawn();
  }
}
// Both factors are moved by the loop within, and none by the one around it.
void again(float *s, const float *a, const float *x, int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{AxisRoles]: each loop}}
    float t = 0;
    for (int k = 0; k < n; k++)
      t += a[k] * x[k];
    s[i] = t + drawn();
  }
}
// Where their arrays lie is read from memory, which the nest need not change.
void rows_apart(float *s, const struct rows *r, int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{AxisRoles]: each loop}}
    float t = 0;
    for (int k = 0; k < n; k++)
      t += r->a[i * n + k] * r->b[i * n + k];
    s[i] = t + drawn();
  }
}
// A factor that each iteration computes from the one before; what is done with
// the sum may be.
void decayed(float *restrict s, const signed char *a, const float *x, int n) {
  // expected-remark@+1 {{an operand of the product is computed in the nest}}
  for (int i = 0; i < n; i++) {
    float t = 0, w = 1;
    for (int k = 0; k < n; k++, w *= 0.9f)
      t += (a[i * n + k] + w) * x[k];
    s[i] = t + drawn();
  }
}
void sums_decayed(float *restrict s, const signed char *a, const signed char *x,
                  int n) {
  float w = 1;
  for (int i = 0; i < n; i++, w *= 0.9f) { // expected-remark {{replaced}}
    int t = 0;
    for (int k = 0; k < n; k++)
      t += a[i * n + k] * x[k];
    s[i] = (float)t * w;
  }
}
// Where one of the factors lies is enough to know.
void drawn_factor(float *restrict s, const unsigned char *q, const float *table,
                  const float *x, int n) {
  for (int i = 0; i < n; i++) { // expected-remark {{NonAffineIndex]: an ele}}
    float t = 0, u = drawn();
    for (int k = 0; k < n; k++)
      t += (x[k] + u) * table[q[i * n + k]];
    s[i] = t;
  }
}
// Of these, nothing is added up: the largest, and bits of a rounded number.
void largest(float *s, const float *a, const float *b, const float *x, int n) {
  for (int i = 0; i < n; i++) {
    float best = 0;
    for (int k = 0; k < n; k++) {
      float r = a[i * n + k] * x[k] + b[k];
      best = r > best ? r : best;
    }
    s[i] = best;
  }
}
void rounded(unsigned *restrict s, const float *a, const float *x, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 8; k++) {
      float r = a[i * n + k] * x[i] + 12582912.0f;
      unsigned bits;
      memcpy(&bits, &r, sizeof bits);
      s[i] |= (bits & 15) << (4 * k);
    }
}
// A counter times a number from memory is an index here, also beside a product;
// there, a counter is multiplied.
int group_size;
void indexed_beside(float *restrict s, signed char *q, const float *x, int n) {
  for (int g = 0; g < n; g++) {
    float most = 0;
    for (int k = 0; k < group_size; k++)
      most = fmaxf(most, fabsf(x[g * group_size + k]));
    for (int k = 0; k < group_size; k++)
      q[g * group_size + k] = (signed char)(x[g * group_size + k] / most);
  }
  for (int i = 0; i < n; i++) // expected-remark {{replaced}}
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        s[i * n + j] += x[i * n + k] * x[n * n + k * n + j];
}
void counted_beside(float *restrict s, int *restrict c, const float *x, int n) {
  // expected-remark@+1 {{NotProductSum]: a scalar is carried from one}}
  for (int g = 0; g < n; g++)
    for (int k = 0; k < n; k++)
      c[g] += g * c[n + k] + k;
  for (int i = 0; i < n; i++) // expected-remark {{replaced}}
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        s[i * n + j] += x[i * n + k] * x[n * n + k * n + j];
}
