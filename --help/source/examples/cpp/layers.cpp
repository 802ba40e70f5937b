// layers.cpp -- two dense layers over std::vector, as a class template; the
// plugin sees the loops, not the classes.
#include <cstdint>
#include <cstdio>
#include <vector>

template <class T> class Matrix {
  std::vector<T> Data;

public:
  std::size_t Rows, Columns;
  Matrix(std::size_t Rows, std::size_t Columns)
      : Data(Rows * Columns), Rows(Rows), Columns(Columns) {}
  T &operator()(std::size_t I, std::size_t J) { return Data[I * Columns + J]; }
  const T &operator()(std::size_t I, std::size_t J) const {
    return Data[I * Columns + J];
  }
};

template <class T, class Sum>
void multiply(const Matrix<T> &A, const Matrix<T> &B, Matrix<Sum> &C) {
  for (std::size_t I = 0; I < A.Rows; I++)
    for (std::size_t J = 0; J < B.Columns; J++) {
      Sum S = 0;
      for (std::size_t K = 0; K < A.Columns; K++)
        S += Sum(A(I, K)) * Sum(B(K, J));
      C(I, J) = S;
    }
}

// Back to bytes: divided by 256 and clamped.
Matrix<std::int8_t> quantise(const Matrix<std::int32_t> &From) {
  Matrix<std::int8_t> To(From.Rows, From.Columns);
  for (std::size_t I = 0; I < From.Rows; I++)
    for (std::size_t J = 0; J < From.Columns; J++) {
      std::int32_t V = From(I, J) >> 8;
      To(I, J) = std::int8_t(V > 127 ? 127 : V < 0 ? 0 : V);
    }
  return To;
}

int main() {
  Matrix<std::int8_t> X(64, 128), First(128, 192), Second(192, 64);
  std::uint32_t Random = 1;
  for (auto *M : {&X, &First, &Second})
    for (std::size_t I = 0; I < M->Rows; I++)
      for (std::size_t J = 0; J < M->Columns; J++) {
        Random = Random * 1664525 + 1013904223;
        (*M)(I, J) = std::int8_t(Random >> 24);
      }
  Matrix<std::int32_t> Hidden(64, 192), Out(64, 64);
  multiply(X, First, Hidden);
  multiply(quantise(Hidden), Second, Out);
  std::uint32_t Hash = 0;
  for (std::size_t I = 0; I < Out.Rows; I++)
    for (std::size_t J = 0; J < Out.Columns; J++)
      Hash = Hash * 31 + std::uint32_t(Out(I, J));
  std::printf("hash %08x\n", unsigned(Hash));
}
