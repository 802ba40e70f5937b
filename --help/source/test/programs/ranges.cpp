// ranges.cpp -- products that the C++ library forms, and loops over iterators
// and views: they end at an address.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

using Bytes = std::vector<int8_t>;
using Words = std::vector<int32_t>;

__attribute__((noinline)) static void
inner_products(int m, int n, int k, const int8_t *a, const int8_t *b,
               int32_t *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      c[i * n + j] = std::inner_product(a + i * k, a + (i + 1) * k, b + j * k,
                                        int32_t(0));
}

__attribute__((noinline)) static void
rows(size_t m, size_t n, size_t k, std::span<const int8_t> a,
     std::span<const int8_t> b, std::span<int32_t> c) {
  for (size_t i = 0; i < m; i++) {
    auto row = a.subspan(i * k, k);
    for (size_t j = 0; j < n; j++) {
      int32_t sum = 0;
      size_t l = 0;
      for (int8_t x : row)
        sum += x * b[l++ * n + j];
      c[i * n + j] = sum;
    }
  }
}

__attribute__((noinline)) static void
iterators(size_t n, size_t k, const Bytes &a, const Bytes &b, Words &c) {
  auto out = c.begin();
  for (auto row = a.begin(); row != a.end(); row += (long)k)
    for (size_t j = 0; j < n; j++) {
      int32_t sum = 0;
      auto column = b.begin() + (long)j;
      for (auto x = row; x != row + (long)k; ++x, column += (long)n)
        sum += *x * *column;
      *out++ = sum;
    }
}

enum { M = 20, N = 33, K = 28 };

template <class Product> static void run(const char *name, Product product) {
  Bytes a(M * K), b(K * N + N);
  Words c(M * N);
  for (size_t i = 0; i < a.size(); i++)
    a[i] = (int8_t)(i * 37 % 101 - 50);
  for (size_t i = 0; i < b.size(); i++)
    b[i] = (int8_t)(i * 53 % 89 - 44);
  product(a, b, c);
  uint32_t hash = 0;
  for (int32_t v : c)
    hash = hash * 31 + (uint32_t)v;
  printf("%s: %08x\n", name, hash);
}

int main() {
  run("inner_products", [](const Bytes &a, const Bytes &b, Words &c) {
    inner_products(M, N, K, a.data(), b.data(), c.data());
  });
  run("rows", [](const Bytes &a, const Bytes &b, Words &c) {
    rows(M, N, K, a, b, c);
  });
  run("iterators", [](const Bytes &a, const Bytes &b, Words &c) {
    iterators(N, K, a, b, c);
  });
}
