// checks.cpp -- products over containers that check every index, with sizes
// that pass and with sizes that throw in the middle: what was written until
// then, and what is thrown, is the same.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

using Bytes = std::vector<int8_t>;
using Words = std::vector<int32_t>;

__attribute__((noinline)) static void
dot_products(int m, int n, int k, const Bytes &a, const Bytes &b, Words &c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int32_t sum = 0;
      for (int l = 0; l < k; l++)
        sum += a.at(i * k + l) * b.at(l * n + j);
      c.at(i * n + j) = sum;
    }
}

__attribute__((noinline)) static void
accumulated(size_t m, size_t n, size_t k, const Bytes &a, const Bytes &b,
            Words &c) {
  for (size_t i = 0; i < m; i++)
    for (size_t l = 0; l < k; l++)
      for (size_t j = 0; j < n; j++)
        c.at(i * n + j) += a.at(i * k + l) * b.at(l * n + j);
}

struct Matrix {
  long rows, columns; // of another type than the numbers
  Words numbers;
  int32_t &operator()(int i, int j) {
    if (i < 0 || i >= rows || j < 0 || j >= columns)
      throw std::out_of_range("Matrix");
    return numbers[i * columns + j];
  }
};

__attribute__((noinline)) static void
into_matrix(int m, int n, int k, const Bytes &a, const Bytes &b, Matrix &c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      for (int l = 0; l < k; l++)
        c(i, j) += a[i * k + l] * b[l * n + j];
}

// What is thrown is caught here, and what was written counts.
__attribute__((noinline)) static int caught(int m, int n, int k, const Bytes &a,
                                            const Bytes &b, Words &c) {
  try {
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++)
        for (int l = 0; l < k; l++)
          c.at(i * n + j) += a.at(i * k + l) * b.at(l * n + j);
  } catch (const std::out_of_range &) {
    return c[0];
  }
  return -1;
}

enum { M = 20, N = 33, K = 28 };

template <class Product> static void run(const char *name, Product product) {
  static const int shorter[][3] = {{0, 0, 0}, {1, 0, 0}, {0, K, 0}, {0, 0, N / 2}};
  for (auto [in_a, in_b, in_c] : shorter) {
    Bytes a(M * K - in_a), b(K * N - in_b);
    Words c(M * N - in_c);
    for (size_t i = 0; i < a.size(); i++)
      a[i] = (int8_t)(i * 37 % 101 - 50);
    for (size_t i = 0; i < b.size(); i++)
      b[i] = (int8_t)(i * 53 % 89 - 44);
    for (size_t i = 0; i < c.size(); i++)
      c[i] = (int32_t)(i % 7);
    const char *end = "done";
    try {
      product(a, b, c);
    } catch (const std::exception &e) {
      end = e.what();
    }
    uint32_t hash = 0;
    for (int32_t v : c)
      hash = hash * 31 + (uint32_t)v;
    printf("%s %d %d %d: %s, %08x\n", name, in_a, in_b, in_c, end, hash);
  }
}

int main() {
  run("dot_products", [](const Bytes &a, const Bytes &b, Words &c) {
    dot_products(M, N, K, a, b, c);
  });
  run("accumulated", [](const Bytes &a, const Bytes &b, Words &c) {
    accumulated(M, N, K, a, b, c);
  });
  run("into_matrix", [](const Bytes &a, const Bytes &b, Words &c) {
    if (a.size() < M * K || b.size() < K * N)
      return;
    Matrix out = {(long)c.size() / N, N, c};
    try {
      into_matrix(M, N, K, a, b, out);
    } catch (...) {
      c = out.numbers;
      throw;
    }
    c = out.numbers;
  });
  run("caught", [](const Bytes &a, const Bytes &b, Words &c) {
    printf("%d\n", caught(M, N, K, a, b, c));
  });
}
