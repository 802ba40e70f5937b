// lower_cpu_form.cpp -- the axes of a contraction, arranged for the processor,
// and which code it needs.
#include "lower_cpu_form.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace nputeir {

bool hasAxes(const contraction &C, axis_role Role) {
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == Role)
      return true;
  return false;
}

unsigned tensorsOf(const contraction &C) {
  return TENSORS + (C.tail ? (unsigned)C.extra_count : 0);
}

static bool movesWith(const contraction &C, const affine_guard &L,
                      axis_role Role) {
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == Role && isMoved(L.step[I]))
      return true;
  return false;
}

SmallVector<const affine_guard *, 8> limitsOf(const contraction &C, int T) {
  SmallVector<const affine_guard *, 8> Limits;
  for (int I = 0; I < C.limit_count; I++) {
    const affine_guard &L = C.limit[I];
    bool M = movesWith(C, L, AXIS_M), N = movesWith(C, L, AXIS_N);
    if (T == OUT ? M && N : T == IN0 ? !N : !M)
      Limits.push_back(&L);
  }
  return Limits;
}

unsigned movedOf(const contraction &C) {
  return tensorsOf(C) +
         (unsigned)(limitsOf(C, IN0).size() + limitsOf(C, IN1).size() +
                    limitsOf(C, OUT).size());
}

const affine_guard &limitAt(const contraction &C, unsigned Moved) {
  SmallVector<const affine_guard *, 8> Limits = limitsOf(C, IN0);
  Limits.append(limitsOf(C, IN1));
  Limits.append(limitsOf(C, OUT));
  return *Limits[Moved - tensorsOf(C)];
}

value strideOf(const contraction &C, int Axis, unsigned Tensor) {
  if (Tensor < TENSORS)
    return C.axis[Axis].stride_bytes[Tensor];
  if (Tensor >= tensorsOf(C))
    return limitAt(C, Tensor).step[Axis];
  const contraction_extra &X = C.extra[Tensor - TENSORS];
  return X.tensor < 0 ? value{0, -1} : X.stride_bytes[Axis];
}

// Outer goes on where Inner ends, in all tensors: pixels of three colours, say,
// however many they are.
static bool continues(const CpuAxis &Outer, const CpuAxis &Inner) {
  if (!isConstant(Inner.Extent))
    return false;
  for (size_t T = 0; T < Outer.Stride.size(); T++) {
    int64_t Whole;
    if (!isConstant(Outer.Stride[T]) || !isConstant(Inner.Stride[T]) ||
        __builtin_mul_overflow(Inner.Stride[T].constant, Inner.Extent.constant,
                               &Whole) ||
        Whole != Outer.Stride[T].constant)
      return false;
  }
  return true;
}

// The tensor in which the elements of a role should lie densely: the result's
// rows, but the inputs' elements along K, or along M where none lie so along K.
static unsigned densest(const contraction &C, axis_role Role) {
  if (Role == AXIS_N || Role == AXIS_C)
    return OUT;
  unsigned Other = Role == AXIS_K ? (unsigned)IN1 : (unsigned)OUT;
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == Role &&
        distance(C.axis[I].stride_bytes[IN0]) == dtype_bytes(C.type[IN0]))
      return IN0;
  return Other;
}

bool isDense(const contraction &C, const CpuAxis &X, unsigned T) {
  return distance(X.Stride[T]) == dtype_bytes(C.type[T]);
}

SmallVector<CpuAxis, 8> axesOf(const contraction &C, axis_role Role) {
  SmallVector<CpuAxis, 8> Axes;
  unsigned Tensors = movedOf(C), Densest = densest(C, Role);
  for (int I = 0; I < C.axis_count; I++) {
    const contraction_axis &X = C.axis[I];
    if (X.role != Role || (isConstant(X.extent) && X.extent.constant == 1))
      continue;
    CpuAxis A = {X.extent, 1, {}};
    for (unsigned T = 0; T < Tensors; T++)
      A.Stride.push_back(strideOf(C, I, T));
    Axes.push_back(A);
  }
  auto ByStride = [](unsigned T) {
    return [T](const CpuAxis &X, const CpuAxis &Y) {
      return distance(X.Stride[T]) > distance(Y.Stride[T]);
    };
  };
  stable_sort(Axes, ByStride(Densest));
  // Whatever is around the result's innermost axis, that is written in runs of
  // the same length, while lines of in1 are read by one panel after the other.
  if (Role == AXIS_N && !Axes.empty())
    std::stable_sort(Axes.begin(), Axes.end() - 1, ByStride(IN1));
  for (size_t I = 1; I < Axes.size();)
    if (continues(Axes[I - 1], Axes[I])) {
      int64_t Each = Axes[I].Extent.constant;
      Axes[I].Extent = Axes[I - 1].Extent;
      if (isConstant(Axes[I].Extent))
        Axes[I].Extent.constant *= Each;
      else
        Axes[I].Times = Axes[I - 1].Times * Each;
      Axes.erase(Axes.begin() + (ptrdiff_t)(I - 1));
    } else {
      I++;
    }
  if (Axes.empty())
    Axes.push_back({value{1, -1}, 1, SmallVector<value, 8>(Tensors, {0, -1})});
  return Axes;
}

static bool hasDense(const contraction &C, axis_role Role) {
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == Role &&
        distance(C.axis[I].stride_bytes[OUT]) == dtype_bytes(C.type[OUT]))
      return true;
  return false;
}

static bool exchanges(const contraction &C) {
  bool Has[AXIS_ROLES];
  for (int R = 0; R < AXIS_ROLES; R++)
    Has[R] = hasAxes(C, (axis_role)R);
  return teir_cpu_exchanges(Has, hasDense(C, AXIS_M), hasDense(C, AXIS_N));
}

Arranged::Arranged(const contraction &From)
    : Axes(From.axis, From.axis + From.axis_count), C(From),
      Exchanged(exchanges(From)) {
  C.axis = Axes.data();
  if (!Exchanged)
    return;
  std::swap(C.type[IN0], C.type[IN1]);
  for (contraction_axis &X : Axes) {
    std::swap(X.stride_bytes[IN0], X.stride_bytes[IN1]);
    X.role = X.role == AXIS_M ? AXIS_N : X.role == AXIS_N ? AXIS_M : X.role;
  }
}

namespace {

class Ways {
  const contraction &C;
  CpuWork &W;
  SmallVector<CpuAxis, 8> Axes[AXIS_ROLES];

public:
  Ways(const contraction &C, CpuWork &W) : C(C), W(W) {}

  void choose(const Function *For) {
    teir_cpu_form F = {};
    if (For)
      F.cpu = meantCpu(*For, F.others);
    F.one_axis = true;
    F.sum = W.Sum;
    F.finishes = W.Tail != nullptr;
    F.limited = W.Limits[IN0] || W.Limits[IN1];
    for (int T = 0; T < TENSORS; T++)
      F.type[T] = C.type[T];
    for (int R = 0; R < AXIS_ROLES; R++) {
      Axes[R] = axesOf(C, (axis_role)R);
      F.one_axis &= Axes[R].size() == 1;
      value E = extent((axis_role)R);
      F.extent[R] = isConstant(E) ? E.constant : 0;
      for (unsigned T = 0; T < TENSORS; T++)
        F.dense[R][T] = isDense((axis_role)R, T);
    }
    teir_cpu_ways By = teir_cpu_choose_ways(&F);
    W.Vector = By.vector;
    W.Row = By.row;
    W.Column = By.column;
    W.Packed = By.packed;
    W.Direct = By.direct;
    W.Turned = By.turned;
    W.Plain = F.one_axis && !F.limited;
    if (W.Partial)
      By.straight = choosePartial(By);
    if (W.Plain && W.Vector == CPU_VECTOR_NO && (W.Packed || W.Turned)) {
      W.Lies[IN0] = lies(F, AXIS_M, IN0);
      W.Lies[IN1] = lies(F, AXIS_N, IN1);
    }
    if (By.straight)
      fix(F.extent[AXIS_M], F.extent[AXIS_N], F.extent[AXIS_K]);
  }

private:
  // Is not straight code.
  bool choosePartial(const teir_cpu_ways &By) {
    W.Vector = W.Row = W.Column = CPU_VECTOR_NO;
    W.Direct = (By.direct || By.straight) && (!W.Tail || isScaled(W));
    W.Packed |= !W.Direct;
    W.Turned &= W.Direct;
    return false;
  }

  static CpuLies lies(const teir_cpu_form &F, axis_role R, int T) {
    return F.dense[R][T]        ? CpuLies::Rows
           : F.dense[AXIS_K][T] ? CpuLies::Steps
                                : CpuLies::Any;
  }

  value extent(axis_role R) { return Axes[R][0].Extent; }
  value stride(axis_role R, unsigned T) { return Axes[R][0].Stride[T]; }

  bool isDense(axis_role R, unsigned T) {
    value S = stride(R, T);
    return isConstant(S) && S.constant == dtype_bytes(C.type[T]);
  }

  bool isOne(axis_role R) {
    return isConstant(extent(R)) && extent(R).constant == 1;
  }

  void fix(int64_t M, int64_t N, int64_t K) {
    value S[] = {stride(AXIS_M, IN0), stride(AXIS_K, IN0), stride(AXIS_N, IN1),
                 stride(AXIS_K, IN1), stride(AXIS_M, OUT)};
    if (W.Tail || !isOne(AXIS_C) || !all_of(S, isConstant))
      return;
    W.Packed = false; // nothing is left to that
    W.Fixed = CpuFixed{M,
                       N,
                       K,
                       S[0].constant,
                       S[1].constant,
                       S[2].constant,
                       S[3].constant,
                       S[4].constant,
                       C.accumulate};
  }
};

} // namespace

bool cpuIsFinite(const Function &F) {
  if (F.hasFnAttribute(CpuFinite))
    return F.getFnAttribute(CpuFinite).getValueAsBool();
  return all_of(instructions(F), [](const Instruction &I) {
    return !isa<FPMathOperator>(I) ||
           !(isa<BinaryOperator>(I) || isa<IntrinsicInst>(I)) ||
           (I.hasNoNaNs() && I.hasNoInfs());
  });
}

CpuWork workOf(const contraction &C, const Function *For) {
  CpuWork W;
  W.In[0] = C.type[IN0];
  W.In[1] = C.type[IN1];
  W.Out = C.type[OUT];
  W.Sum = C.acc;
  W.Tail = C.tail;
  W.Finite =
      C.tail && For && dtype_kind(C.acc) == DTYPE_FLOAT && cpuIsFinite(*For);
  CpuAxis Innermost = axesOf(C, AXIS_N).back();
  for (unsigned I = 0; TENSORS + I < tensorsOf(C); I++) {
    const contraction_extra &X = C.extra[I];
    value S = Innermost.Stride[TENSORS + I];
    CpuExtra Moves = X.tensor < 0                        ? CpuExtra::Number
                     : !isConstant(S)                    ? CpuExtra::Other
                     : S.constant == 0                   ? CpuExtra::Splat
                     : S.constant == dtype_bytes(X.type) ? CpuExtra::Vector
                                                         : CpuExtra::Other;
    W.Extras.push_back({X.type, Moves});
  }
  for (int T : {IN0, IN1})
    W.Limits[T] = (unsigned)limitsOf(C, T).size();
  W.Partial = !limitsOf(C, OUT).empty();
  assert(movedOf(C) >= tensorsOf(C) + (unsigned)C.limit_count);
  Ways(C, W).choose(For);
  return W;
}

} // namespace nputeir
