// lower_cpu_sums.cpp -- products of elements to which numbers are added before,
// as of quantised ones less their zero points.  Modulo 2^n,
//
//     sum (x + a) (y + b)  =  sum x y  +  a sum y  +  b sum x  +  K a b
//
// so that elements are multiplied as they lie, and the epilogue adds the rest
// (lower_cpu_maps.cpp).  The sums of an input's elements are products with
// ones: of a matrix and a vector, by the same code.
#include "lower_cpu_maps.h"

using namespace llvm;

namespace nputeir {
namespace {

constexpr int FirstComputed = 1 << 24; // symbols behind those of the nest

class SumsCode {
  arena *A;
  Code &B;
  const contraction &C; // with maps
  const CpuOperands &Given;
  CpuUnmapped U;
  SmallVector<Value *, 8> Computed;     // symbols that are strides of buffers
  Value *Added[2] = {nullptr, nullptr}; // one number to all elements
  Value *Fill[2] = {nullptr, nullptr};  // the places of such elements
  Value *Bytes, *Memory = nullptr;

  // A part of the memory, and how far each axis moves in it.
  struct Buffer {
    value *Stride;
    Value *Begin;
  };

public:
  SumsCode(arena *A, Code &B, const contraction &C, const CpuOperands &Given)
      : A(A), B(B), C(C), Given(Given), U(*cpuUnmapped(A, C)),
        Bytes(B.number(0)) {}

  Value *emit(const Function &Like, unsigned Overlaps) {
    int Sum = dtype_bytes(C.acc);
    Buffer Sums[2], Ones = buffer({AXIS_K}, IN0, 1);
    for (int T : {IN0, IN1})
      if (U.Sums[T] >= 0)
        Sums[T] = buffer({AXIS_C, T == IN0 ? AXIS_M : AXIS_N}, OUT, Sum);
    for (int T : {IN0, IN1})
      if (U.Scaled[IN0 + IN1 - T])
        Added[T] = added(T);
    for (int T : {IN0, IN1})
      if (U.Fills[T] >= 0)
        Fill[T] = zeroPoint(T);
    Memory = emitMalloc(B, Bytes);
    require(B.CreateIsNotNull(Memory), false);
    contraction P = product(Sums);
    CpuOperands X = operands(Sums);
    CpuSlots Slots = cpuFillSlots(B, P, X);
    if (Overlaps) {
      CpuOverlap Overlap(B, P, X, Overlaps);
      B.when(B.CreateNot(Overlap.isApart(B)),
             [&] { require(Overlap.isBeside(B, Slots), true); });
    }
    B.CreateMemSet(at(Ones), B.getInt8(1), count({AXIS_K}), Align(1));
    for (int T : {IN0, IN1})
      if (U.Sums[T] >= 0)
        sum(Like, T, Sums[T], Ones);
    Value *Status = B.CreateCall(cpuFunction(Like, P, U.Fills), {Slots.Place});
    emitFree(B, Memory);
    return Status;
  }

private:
  // Else the loops run.
  void require(Value *Holds, bool Frees) {
    B.when(B.CreateNot(Holds), [&] {
      if (Frees)
        emitFree(B, Memory);
      B.CreateRet(B.getInt32(1));
    });
  }

  // What the map of T adds, where that is one number.
  Value *added(int T) {
    const calc *X = cpuAdded(A, C, T);
    SmallVector<Value *, CALC_INPUTS> Input = {B.getInt32(0)};
    for (int E = 0; E < C.extra_count; E++) {
      dtype Of = C.extra[E].type;
      Value *Place = Given.Tensor[TENSORS + (size_t)E];
      Input.push_back(
          calc_uses(X, MAP_EXTRA + E)
              ? fromStored(B, Of, B.get(storedType(B.getContext(), Of), Place))
              : nullptr);
    }
    return compute(B, X, Input);
  }

  // An element that its map makes zero; where there is none, the loops run.
  Value *zeroPoint(int T) {
    Value *V = B.CreateNeg(Added[T]);
    Value *Element = B.CreateTrunc(V, storedType(B.getContext(), C.type[T]));
    require(B.CreateICmpEQ(convert(B, C.type[T], C.acc, Element), V), false);
    return slot(Element);
  }

  // A number in the frame, as an operand of an epilogue.
  Value *slot(Value *V) {
    Value *Slot = B.frame(V->getType(), 1, 8);
    B.put(V, Slot);
    return Slot;
  }

  Value *steps() {
    return B.CreateTrunc(count({AXIS_K}), storedType(B.getContext(), C.acc));
  }

  Value *number(value V) {
    return V.symbol < FirstComputed
               ? Given.Number(V)
               : Computed[(size_t)(V.symbol - FirstComputed)];
  }

  // Of sizes.
  value times(value X, value Y) {
    int64_t Known;
    if (isConstant(X) && isConstant(Y) &&
        !__builtin_mul_overflow(X.constant, Y.constant, &Known))
      return {Known, -1};
    Computed.push_back(B.times(number(X), number(Y)));
    return {0, FirstComputed + (int)Computed.size() - 1};
  }

  bool isOf(int Axis, ArrayRef<axis_role> Roles) const {
    return is_contained(Roles, C.axis[Axis].role);
  }

  Value *count(ArrayRef<axis_role> Roles) {
    Value *All = B.number(1);
    for (int I = 0; I < C.axis_count; I++)
      if (isOf(I, Roles))
        All = B.times(All, number(C.axis[I].extent));
    return All;
  }

  // Without gaps, in the order in which a tensor has the axes of these roles.
  Buffer buffer(ArrayRef<axis_role> Roles, unsigned Like, int Element) {
    SmallVector<int, 8> Axes;
    for (int I = 0; I < C.axis_count; I++)
      if (isOf(I, Roles))
        Axes.push_back(I);
    stable_sort(Axes, [&](int X, int Y) {
      return distance(strideOf(C, X, Like)) > distance(strideOf(C, Y, Like));
    });
    Buffer Of = {array<value>(C.axis_count), Bytes};
    std::fill_n(Of.Stride, C.axis_count, value{0, -1});
    value Run = {Element, -1};
    for (int I : reverse(Axes)) {
      Of.Stride[I] = Run;
      Run = times(Run, C.axis[I].extent);
    }
    Bytes = B.plus(Bytes, B.roundUp(number(Run), 64));
    return Of;
  }

  template <class T> T *array(int Count) {
    return (T *)arena_array(A, (size_t)Count + 1, sizeof(T));
  }

  Value *at(const Buffer &Of) { return B.at(Memory, Of.Begin); }

  contraction product(const Buffer (&Sums)[2]) {
    contraction P = C;
    P.map[IN0] = P.map[IN1] = nullptr;
    P.tail = U.Tail;
    P.extra_count = U.Extras;
    P.extra = array<contraction_extra>(U.Extras);
    std::copy_n(C.extra, C.extra_count, P.extra);
    for (int E = C.extra_count; E < U.Extras; E++)
      P.extra[E] = {-1, -1, C.acc, false, 0, 0, array<value>(C.axis_count)};
    for (int T : {IN0, IN1})
      if (U.Sums[T] >= 0) {
        P.extra[U.Sums[T]].tensor = 0;
        P.extra[U.Sums[T]].stride_bytes = Sums[T].Stride;
      }
    for (int T : {IN0, IN1})
      if (U.Fills[T] >= 0)
        P.extra[U.Fills[T]].type = C.type[T];
    return P;
  }

  CpuOperands operands(const Buffer (&Sums)[2]) {
    CpuOperands X = {Given.Tensor, [this](value V) { return number(V); }};
    X.Tensor.resize(TENSORS + (size_t)U.Extras);
    for (int T : {IN0, IN1})
      if (U.Sums[T] >= 0)
        X.Tensor[TENSORS + (size_t)U.Sums[T]] = at(Sums[T]);
    for (int T : {IN0, IN1})
      if (U.Fills[T] >= 0)
        X.Tensor[TENSORS + (size_t)U.Fills[T]] = Fill[T];
    if (U.Steps >= 0)
      X.Tensor[TENSORS + (size_t)U.Steps] = slot(steps());
    return X;
  }

  // Those of an input's elements along K, as a product with ones: these are its
  // only row, of which kernels multiply fewer at least than of columns.
  void sum(const Function &Like, int T, const Buffer &To, const Buffer &Ones) {
    int Other = IN0 + IN1 - T;
    contraction S = C;
    S.map[IN0] = S.map[IN1] = nullptr;
    S.tail = nullptr;
    S.extra_count = S.axis_count = S.limit_count = 0;
    S.accumulate = false;
    S.type[IN0] = dtype_bytes(C.type[Other]) == 1 ? C.type[Other] : DTYPE_I8;
    S.type[IN1] = C.type[T];
    S.type[OUT] = C.acc;
    SmallVector<const affine_guard *, 8> Limits = limitsOf(C, T);
    S.limit = array<affine_guard>((int)Limits.size());
    for (const affine_guard *L : Limits) {
      S.limit[S.limit_count] = *L;
      S.limit[S.limit_count++].step = array<value>(C.axis_count);
    }
    S.axis = array<contraction_axis>(C.axis_count);
    for (int I = 0; I < C.axis_count; I++) {
      contraction_axis X = C.axis[I];
      axis_role Columns = T == IN0 ? AXIS_M : AXIS_N;
      if (X.role == Columns)
        X.role = AXIS_N;
      else if (X.role != AXIS_C && X.role != AXIS_K)
        continue;
      X.stride_bytes[IN1] = X.stride_bytes[T];
      X.stride_bytes[IN0] = Ones.Stride[I];
      X.stride_bytes[OUT] = To.Stride[I];
      for (size_t L = 0; L < Limits.size(); L++)
        S.limit[L].step[S.axis_count] = Limits[L]->step[I];
      S.axis[S.axis_count++] = X;
    }
    CpuOperands X = {{}, [this](value V) { return number(V); }};
    X.Tensor = {at(Ones), Given.Tensor[(size_t)T], at(To)};
    int Fills[2] = {-1, -1};
    enum { NumbersMax = 3 };
    S.extra = array<contraction_extra>(NumbersMax);
    auto Number = [&](dtype Of, Value *Place) {
      S.extra[S.extra_count] = {-1, -1, Of, false, 0, 0, nullptr};
      X.Tensor.push_back(Place);
      return S.extra_count++;
    };
    auto Operand = [&](Value *V) {
      return calc_input(A, TAIL_EXTRA + Number(C.acc, slot(V)), C.acc);
    };
    const calc *Tail = calc_input(A, TAIL_SUM, C.acc);
    if (U.Scaled[T])
      Tail = calc_make(A, CALC_MUL, Operand(Added[Other]), Tail, nullptr);
    if (U.isScaled() && T == IN1)
      Tail =
          calc_make(A, CALC_ADD,
                    Operand(B.times(B.times(Added[IN0], Added[IN1]), steps())),
                    Tail, nullptr);
    if (Fill[T])
      Fills[IN1] = Number(C.type[T], Fill[T]);
    if (S.extra_count)
      S.tail = Tail;
    Value *Place = cpuFillSlots(B, S, X).Place;
    Value *Status = B.CreateCall(cpuFunction(Like, S, Fills, true), {Place});
    require(B.CreateICmpEQ(Status, B.getInt32(0)), true);
  }
};

} // namespace

Value *cpuComputeMapped(arena *A, Code &B, const contraction &C,
                        const CpuOperands &X, const Function &Like,
                        unsigned Overlaps) {
  return SumsCode(A, B, C, X).emit(Like, Overlaps);
}

} // namespace nputeir
