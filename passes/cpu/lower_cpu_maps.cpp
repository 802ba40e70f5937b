// lower_cpu_maps.cpp -- what is made of elements before they are multiplied: is
// that, modulo 2^n, the element and a number added?
#include "lower_cpu_maps.h"
#include "arena_scope.h"

using namespace llvm;

namespace nputeir {
namespace {

// Modulo 2^n, the element if it is in there, plus the rest, which may be null.
struct Shifted {
  bool Has;
  const calc *Rest;
};

class ShiftReader {
  arena *A;
  dtype Sum;

public:
  ShiftReader(arena *A, dtype Sum) : A(A), Sum(Sum) {}

  std::optional<Shifted> read(const calc *X) {
    if (!calc_uses(X, MAP_ELEMENT))
      return Shifted{false, calc_cast(A, Sum, X)};
    switch (X->op) {
    case CALC_INPUT:
      return Shifted{true, nullptr};
    case CALC_CAST:
      if (!isWide(X) || !(isWide(X->arg[0]) || X->arg[0]->op == CALC_INPUT))
        return std::nullopt;
      return read(X->arg[0]);
    case CALC_ADD:
    case CALC_SUB:
      return isWide(X) ? combined(X) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

private:
  // An integer that has all bits of the sum.
  bool isWide(const calc *X) const {
    return dtype_kind(X->type) != DTYPE_FLOAT &&
           dtype_bytes(X->type) >= dtype_bytes(Sum);
  }

  std::optional<Shifted> combined(const calc *X) {
    auto Left = read(X->arg[0]), Right = read(X->arg[1]);
    if (!Left || !Right || (Right->Has && (Left->Has || X->op == CALC_SUB)))
      return std::nullopt;
    const calc *Rest = Left->Rest;
    if (!Rest && X->op == CALC_SUB)
      Rest = calc_int(A, Sum, 0);
    if (Rest && Right->Rest)
      Rest = calc_make(A, X->op, Rest, Right->Rest, nullptr);
    return Shifted{true, Rest ? Rest : Right->Rest};
  }
};

} // namespace

const calc *cpuAdded(arena *A, const contraction &C, int T) {
  if (!C.map[T] || dtype_kind(C.acc) == DTYPE_FLOAT)
    return nullptr;
  auto Is = ShiftReader(A, C.acc).read(C.map[T]);
  return !Is ? nullptr : Is->Rest ? Is->Rest : calc_int(A, C.acc, 0);
}

namespace {

// X with something else in the place of its inputs.
const calc *replaced(arena *A, const calc *X,
                     function_ref<const calc *(const calc *)> Input) {
  if (X->op == CALC_INPUT)
    return Input(X);
  auto *Copy = (calc *)arena_copy(A, X, 1, 1, sizeof *X);
  for (int I = 0; I < calc_operands(X->op); I++)
    Copy->arg[I] = replaced(A, X->arg[I], Input);
  return Copy;
}

// Does X, of a map, have one value in all of the contraction?
bool isFixed(const contraction &C, const calc *X) {
  for (unsigned T = TENSORS; T < tensorsOf(C); T++)
    for (int I = 0; I < C.axis_count; I++)
      if (calc_uses(X, MAP_EXTRA + (int)(T - TENSORS)) &&
          isMoved(strideOf(C, I, T)))
        return false;
  return true;
}

// Is it one input's elements that each limit leaves out?
bool limitsOne(const contraction &C) {
  return (int)(limitsOf(C, IN0).size() + limitsOf(C, IN1).size()) ==
         C.limit_count;
}

} // namespace

std::optional<CpuUnmapped> cpuUnmapped(arena *A, const contraction &C) {
  assert(C.tail || !cpuHasMaps(C)); // what becomes of the sum stands there
  CpuUnmapped U = {C.tail, C.extra_count};
  const calc *Sum = calc_input(A, TAIL_SUM, C.acc), *Added[2] = {};
  auto New = [&](int &Number) {
    Number = U.Extras++;
    return calc_input(A, TAIL_EXTRA + Number, C.acc);
  };
  auto Add = [&](const calc *X) {
    Sum = calc_make(A, CALC_ADD, Sum, X, nullptr);
  };
  auto Product = [&](const calc *X, const calc *Y) {
    return calc_make(A, CALC_MUL, X, Y, nullptr);
  };
  for (int T : {IN0, IN1}) {
    if (!C.map[T])
      continue;
    const calc *By = cpuAdded(A, C, T);
    if (!By)
      return std::nullopt;
    Added[T] = replaced(A, By, [&](const calc *X) {
      return calc_input(A, TAIL_EXTRA + X->input - MAP_EXTRA, X->type);
    });
    int Other = IN0 + IN1 - T;
    const calc *Sums = New(U.Sums[Other]);
    U.Scaled[Other] = isFixed(C, By);
    Add(U.Scaled[Other] ? Sums : Product(Added[T], Sums));
    if (limitsOf(C, T).empty())
      continue;
    if (!U.Scaled[Other])
      return std::nullopt;
    U.Fills[T] = U.Extras++;
  }
  if (Added[IN0] && Added[IN1] && !U.isScaled())
    Add(Product(Product(Added[IN0], Added[IN1]), New(U.Steps)));
  U.Tail = replaced(
      A, C.tail, [&](const calc *X) { return X->input == TAIL_SUM ? Sum : X; });
  diag D = {};
  return U.Extras <= CALC_INPUTS - TAIL_EXTRA && calc_check(U.Tail, &D)
             ? std::optional(U)
             : std::nullopt;
}

bool cpuHasMaps(const contraction &C) { return C.map[IN0] || C.map[IN1]; }

bool cpuTakesMaps(const contraction &C) {
  ArenaScope Scope;
  return !cpuHasMaps(C) || (limitsOne(C) && cpuUnmapped(Scope.A, C));
}

} // namespace nputeir
