// lower_cpu_call.cpp -- what stands in front of a nest that has code for the
// processor: may it run, and the call with all sizes, strides and addresses.
#include "lower_cpu.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

// ---- what there is code for ----

static bool isSumType(dtype T) {
  return T == DTYPE_F32 || T == DTYPE_F64 || T == DTYPE_I32 || T == DTYPE_I64;
}

static bool hasAxes(const contraction &C, axis_role Role) {
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == Role)
      return true;
  return false;
}

// ---- axes ----

namespace {

struct CpuAxis {
  value Extent;
  SmallVector<value, 8> Stride; // by tensor
};

bool isConstant(value V) { return V.symbol < 0; }

bool isMoved(value Step) { return !isConstant(Step) || Step.constant != 0; }

int64_t distance(value V) {
  return isConstant(V) ? std::abs(V.constant) : INT64_MAX;
}

unsigned tensorsOf(const contraction &C) {
  return TENSORS + (C.tail ? (unsigned)C.extra_count : 0);
}

// Of an input: one that moves along neither M nor N leaves out steps of both.
SmallVector<const affine_guard *, 8> limitsOf(const contraction &C, int T) {
  axis_role Other = T == IN0 ? AXIS_N : AXIS_M;
  SmallVector<const affine_guard *, 8> Limits;
  for (int L = 0; L < C.limit_count; L++) {
    bool Moves = false;
    for (int I = 0; I < C.axis_count; I++)
      Moves |= C.axis[I].role == Other && isMoved(C.limit[L].step[I]);
    if (!Moves)
      Limits.push_back(&C.limit[L]);
  }
  return Limits;
}

// Tensors, and limits in the order of the slots.
unsigned movedOf(const contraction &C) {
  return tensorsOf(C) +
         (unsigned)(limitsOf(C, IN0).size() + limitsOf(C, IN1).size());
}

const affine_guard &limitAt(const contraction &C, unsigned Moved) {
  SmallVector<const affine_guard *, 8> Limits = limitsOf(C, IN0);
  Limits.append(limitsOf(C, IN1));
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

// Outer goes on where Inner ends, in all tensors.
bool continues(const CpuAxis &Outer, const CpuAxis &Inner) {
  if (!isConstant(Inner.Extent) || !isConstant(Outer.Extent))
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
unsigned densest(const contraction &C, axis_role Role) {
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

// Of a role, the outermost first; at least one.
SmallVector<CpuAxis, 8> axesOf(const contraction &C, axis_role Role) {
  SmallVector<CpuAxis, 8> Axes;
  unsigned Tensors = movedOf(C), Densest = densest(C, Role);
  for (int I = 0; I < C.axis_count; I++) {
    const contraction_axis &X = C.axis[I];
    if (X.role != Role || (isConstant(X.extent) && X.extent.constant == 1))
      continue;
    CpuAxis A = {X.extent, {}};
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
      Axes[I].Extent.constant *= Axes[I - 1].Extent.constant;
      Axes.erase(Axes.begin() + (ptrdiff_t)(I - 1));
    } else {
      I++;
    }
  if (Axes.empty())
    Axes.push_back({value{1, -1}, SmallVector<value, 8>(Tensors, {0, -1})});
  return Axes;
}

// A contraction whose result is dense along N if it is along M or N, and moves
// with N if it does with one of them: the roles of M and N, and the inputs, may
// have changed places.
class Arranged {
  SmallVector<contraction_axis, 8> Axes;

public:
  contraction C;
  bool Exchanged;

  explicit Arranged(const contraction &From)
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
  Arranged(const Arranged &) = delete;
  Arranged &operator=(const Arranged &) = delete;

private:
  static bool exchanges(const contraction &C) {
    bool Has[AXIS_ROLES];
    for (int R = 0; R < AXIS_ROLES; R++)
      Has[R] = hasAxes(C, (axis_role)R);
    return teir_cpu_exchanges(Has, isDense(C, AXIS_M), isDense(C, AXIS_N));
  }

  static bool isDense(const contraction &C, axis_role Role) {
    for (int I = 0; I < C.axis_count; I++)
      if (C.axis[I].role == Role &&
          distance(C.axis[I].stride_bytes[OUT]) == dtype_bytes(C.type[OUT]))
        return true;
    return false;
  }
};

class Ways {
  const contraction &C;
  CpuWork &W;
  SmallVector<CpuAxis, 8> Axes[AXIS_ROLES];

public:
  Ways(const contraction &C, CpuWork &W) : C(C), W(W) {}

  void choose() {
    teir_cpu_form F = {};
    F.one_axis = true;
    F.sum = W.Sum;
    F.finishes = W.Tail != nullptr;
    F.limited = C.limit_count > 0;
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
    W.Packed = By.packed;
    W.Direct = By.direct;
    W.Turned = By.turned;
    W.Plain = F.one_axis && !F.limited;
    if (W.Plain && W.Vector == CPU_VECTOR_NO && (W.Packed || W.Turned)) {
      W.Lies[IN0] = lies(F, AXIS_M, IN0);
      W.Lies[IN1] = lies(F, AXIS_N, IN1);
    }
    if (By.straight)
      fix(F.extent[AXIS_M], F.extent[AXIS_N], F.extent[AXIS_K]);
  }

private:
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

CpuWork workOf(const contraction &C) {
  CpuWork W;
  W.In[0] = C.type[IN0];
  W.In[1] = C.type[IN1];
  W.Out = C.type[OUT];
  W.Sum = C.acc;
  W.Tail = C.tail;
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
  assert(movedOf(C) >= tensorsOf(C) + (unsigned)C.limit_count);
  Ways(C, W).choose();
  return W;
}

// ---- does anything overlap? ----

struct Range {
  Value *Low, *High; // the last byte's place, plus one
};

Range rangeOf(IRBuilder<> &B, const contraction &C, const CpuOperands &X,
              unsigned T) {
  Value *Zero = B.getInt64(0);
  Value *Place = B.CreatePtrToInt(X.Tensor[T], B.getInt64Ty());
  dtype Type = T < TENSORS ? C.type[T] : C.extra[T - TENSORS].type;
  Range R = {Place,
             B.CreateAdd(Place, B.getInt64((uint64_t)dtype_bytes(Type)))};
  for (int I = 0; I < C.axis_count; I++) {
    value S = strideOf(C, I, T);
    if (isConstant(S) && S.constant == 0)
      continue;
    Value *Last = B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1));
    Value *Way = B.CreateMul(Last, X.Number(S));
    Value *Falls = B.CreateICmpSLT(Way, Zero);
    R.Low = B.CreateAdd(R.Low, B.CreateSelect(Falls, Way, Zero));
    R.High = B.CreateAdd(R.High, B.CreateSelect(Falls, Zero, Way));
  }
  return R;
}

// What is beyond limits is not read.  Where a limit's sum moves as its axes
// move in the tensor, that is what sums below zero would reach.
void clip(IRBuilder<> &B, const contraction &C, const CpuOperands &X, int T,
          Range &R) {
  struct Move {
    int Axis;
    int64_t Step;
  };
  SmallVector<std::pair<int, bool>, 8> Clipped; // axes, and whether sums rise
  for (const affine_guard *L : limitsOf(C, T)) {
    SmallVector<Move, 4> Moves;
    Value *Ratio = nullptr; // bytes by which the tensor moves with the sum
    bool Known = true;
    for (int I = 0; I < C.axis_count; I++) {
      value S = L->step[I];
      if (!isMoved(S))
        continue;
      int64_t Step = L->below ? -S.constant : S.constant;
      Known &= isConstant(S) && std::abs(S.constant) < INT32_MAX &&
               !is_contained(Clipped, std::pair<int, bool>(I, Step > 0));
      Moves.push_back({I, Step});
      if (std::abs(Step) == 1 && !Ratio)
        Ratio = B.CreateMul(X.Number(strideOf(C, I, (unsigned)T)),
                            B.getInt64((uint64_t)Step));
    }
    if (!Known || !Ratio)
      continue;
    Value *Zero = B.getInt64(0), *Even = B.getTrue();
    Value *Least = X.Number(L->start);
    Least = L->below ? B.CreateNot(Least) : Least;
    for (auto [I, Step] : Moves) {
      Clipped.push_back({I, Step > 0});
      Value *By = B.getInt64((uint64_t)Step);
      Even = B.CreateAnd(Even,
                         B.CreateICmpEQ(X.Number(strideOf(C, I, (unsigned)T)),
                                        B.CreateMul(Ratio, By)));
      Value *Last = B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1));
      if (Step < 0)
        Least = B.CreateAdd(Least, B.CreateMul(Last, By));
    }
    Value *Is = B.CreateAnd(Even, B.CreateICmpSLT(Least, Zero));
    Value *Way =
        B.CreateSelect(Is, B.CreateMul(B.CreateNeg(Least), Ratio), Zero);
    Value *Rises = B.CreateICmpSGT(Ratio, Zero);
    R.Low = B.CreateAdd(R.Low, B.CreateSelect(Rises, Way, Zero));
    R.High = B.CreateAdd(R.High, B.CreateSelect(Rises, Zero, Way));
  }
}

bool movesLikeOut(const contraction &C, unsigned T) {
  if (C.extra[T - TENSORS].type != C.type[OUT])
    return false;
  for (int I = 0; I < C.axis_count; I++) {
    value X = strideOf(C, I, T), Y = strideOf(C, I, OUT);
    if (C.axis[I].role != AXIS_K &&
        (X.symbol != Y.symbol || (X.symbol < 0 && X.constant != Y.constant)))
      return false;
  }
  return true;
}

} // namespace

bool cpuTakes(const contraction &C, const char **Why) {
  auto No = [&](const char *Reason) {
    *Why = Reason;
    return false;
  };
  if (C.first)
    return No("three factors are multiplied");
  if (C.map[0] || C.map[1])
    return No("elements are changed before they are multiplied");
  if (!hasAxes(C, AXIS_K) || (!hasAxes(C, AXIS_M) && !hasAxes(C, AXIS_N)))
    return No("the nest is neither a product of two matrices nor of a matrix "
              "and a vector");
  if (!isSumType(C.acc))
    return No("sums are formed in another type");
  for (int T = IN0; T <= IN1; T++)
    if (dtype_bytes(C.type[T]) > dtype_bytes(C.acc) ||
        (dtype_kind(C.type[T]) == DTYPE_FLOAT) !=
            (dtype_kind(C.acc) == DTYPE_FLOAT))
      return No("inputs are wider than the sum");
  if (C.tail ? !canCompute(C.tail) : C.type[OUT] != C.acc)
    return No("what follows the sum rounds it twice");
  if ((!hasAxes(C, AXIS_M) || !hasAxes(C, AXIS_N)) &&
      workOf(Arranged(C).C).Vector == CPU_VECTOR_NO)
    return No(C.limit_count ? "conditions decide which products of a matrix "
                              "and a vector are summed"
                            : "elements of the matrix are not adjacent");
  return true;
}

namespace {

// The loops of the source, as far as they are priced.
class SourceLoops {
  Code &B;
  const contraction &C;
  const CpuOperands &X;

public:
  SourceLoops(Code &B, const contraction &C, const CpuOperands &X)
      : B(B), C(C), X(X) {}

  // Compilers write out loops that are known to be short, and vectorise the one
  // around them.
  teir_cpu_loops find() {
    enum { WRITTEN_OUT = 32 };
    int64_t Known = 1;
    int At = C.axis_count - 1;
    for (; At > 0; At--) {
      value E = C.axis[At].extent;
      if (!isConstant(E) || E.constant > WRITTEN_OUT / Known)
        break;
      Known *= E.constant;
    }
    bool Stores = C.axis[At].role != AXIS_K;
    Value *Outside = B.number(1), *Steps = B.number(1);
    for (int I = 0; I < At; I++) {
      Value *&All = C.axis[I].role == AXIS_K ? Steps : Outside;
      All = B.times(All, X.Number(C.axis[I].extent));
    }
    if (Stores && !C.accumulate) // a loop sets the result to zero
      Steps = B.plus(Steps, 1);
    return {B.times(Outside, Steps),
            B.times(X.Number(C.axis[At].extent), Known),
            adjacent(At, Known > 1), Stores};
  }

private:
  // Between the elements that loops which are written out read in a row, those
  // of a few iterations are loaded together and shuffled.
  Value *adjacent(int Axis, bool Shuffles) {
    enum { MOST = 4 };
    Value *Is = B.getTrue();
    for (unsigned T = 0; T < TENSORS; T++) {
      value Stride = strideOf(C, Axis, T);
      if (Shuffles && distance(Stride) <= MOST * dtype_bytes(C.type[T]))
        continue;
      Value *S = X.Number(Stride);
      Value *Beside = B.CreateICmpEQ(S, B.number(dtype_bytes(C.type[T])));
      Value *Same = B.CreateICmpEQ(S, B.number(0));
      Is = B.CreateAnd(Is, B.CreateOr(Beside, Same));
    }
    return Is;
  }
};

Value *extentOf(Code &B, const contraction &C, const CpuOperands &X,
                axis_role R) {
  Value *All = B.number(1);
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == R)
      All = B.times(All, X.Number(C.axis[I].extent));
  return All;
}

} // namespace

Value *cpuIsWork(const IRBuilder<> &At, const contraction &C,
                 const CpuOperands &X, int64_t LeastMacs) {
  // So few that loops have ended before the code has started.
  enum { FEW = 32 };
  Code B(*At.GetInsertBlock());
  B.SetCurrentDebugLocation(At.getCurrentDebugLocation());
  Value *Macs = B.number(1);
  for (int I = 0; I < C.axis_count; I++)
    Macs = B.times(Macs, X.Number(C.axis[I].extent));
  return B.CreateICmpSGE(Macs, B.number(LeastMacs < 0 ? FEW : LeastMacs));
}

Value *cpuPays(const IRBuilder<> &At, const contraction &Given,
               const CpuOperands &X) {
  Code B(*At.GetInsertBlock());
  B.SetCurrentDebugLocation(At.getCurrentDebugLocation());
  Arranged By(Given);
  CpuWork W = workOf(By.C);
  const teir_cpu &Cpu = weakestCpu(*At.GetInsertBlock()->getParent());
  auto Extent = [&](axis_role R) { return extentOf(B, By.C, X, R); };
  teir_cpu_size Size = {
      Extent(AXIS_M), Extent(AXIS_N),
      Extent(AXIS_K), teir_cpu_choose_dot(&Cpu, W.In[IN0], W.In[IN1], W.Sum),
      W.Turned,       W.Tail != nullptr};
  teir_cpu_ways Ways = {W.Packed, W.Direct, W.Turned, W.Vector,
                        W.Fixed.has_value()};
  dtype Types[] = {W.In[IN1], W.Sum};
  teir_cpu_loops Loops = SourceLoops(B, Given, X).find();
  teir_cpu_math Math = cpuMath(B);
  return static_cast<Value *>(
      teir_cpu_pays(&Cpu, &Math, &Size, Extent(AXIS_C), &Ways, Types, &Loops));
}

Value *cpuMayRun(IRBuilder<> &B, const contraction &C, const CpuOperands &X) {
  Range Out = rangeOf(B, C, X, OUT);
  Value *May = B.getTrue();
  for (unsigned T = 0; T < tensorsOf(C); T++) {
    if (T == OUT || (T >= TENSORS && C.extra[T - TENSORS].tensor < 0))
      continue;
    Range In = rangeOf(B, C, X, T);
    if (T == IN0 || T == IN1)
      clip(B, C, X, (int)T, In);
    Value *Apart = B.CreateOr(B.CreateICmpULE(Out.High, In.Low),
                              B.CreateICmpULE(In.High, Out.Low));
    if (T >= TENSORS && movesLikeOut(C, T)) // element by element
      Apart = B.CreateOr(Apart, B.CreateICmpEQ(X.Tensor[T], X.Tensor[OUT]));
    May = B.CreateAnd(May, Apart);
  }
  return May;
}

// ---- the call ----

// Of what is computed and for which target, by name and attribute.
Function *cpuFunction(const Function &Like, const contraction &C) {
  auto &M = *const_cast<Module *>(Like.getParent());
  std::string Text = workOf(Arranged(C).C).print();
  StringRef Cpu = Like.getFnAttribute("target-cpu").getValueAsString();
  StringRef Features =
      Like.getFnAttribute("target-features").getValueAsString();
  unsigned Hash = stableHash(Text + "/" + Cpu.str() + "/" + Features.str());
  std::string Name = "nputeir.cpu." + std::to_string(Hash);
  if (Function *F = M.getFunction(Name))
    return F;
  LLVMContext &X = M.getContext();
  auto *F = Function::Create(
      FunctionType::get(Type::getInt32Ty(X), {bytePointer(X)}, false),
      GlobalValue::ExternalWeakLinkage, Name, M);
  F->setDoesNotThrow();
  F->addFnAttr(CpuAttribute, Text);
  for (const char *Kept :
       {"target-cpu", "target-features", "tune-cpu", "frame-pointer"})
    if (Like.hasFnAttribute(Kept))
      F->addFnAttr(Like.getFnAttribute(Kept));
  return F;
}

// Are the innermost axis of columns dense in the result, and the next one in
// in1?
static bool mayTurnPanels(const contraction &C, ArrayRef<CpuAxis> Of) {
  size_t N = Of.size();
  return N > 1 && !C.tail && isDense(C, Of[N - 1], OUT) &&
         !isDense(C, Of[N - 1], IN1) && isDense(C, Of[N - 2], IN1);
}

// So much more of in1 is read for a column than is written of the result that
// columns had better be adjacent in in1, where the result's are not packed a
// few runs at a time (crossFunction).
static Value *readsMore(IRBuilder<> &B, const contraction &C,
                        const CpuOperands &X, const CpuAxis &Innermost) {
  Value *Size[AXIS_ROLES];
  std::fill_n(Size, AXIS_ROLES, B.getInt64(1));
  for (int I = 0; I < C.axis_count; I++)
    Size[C.axis[I].role] =
        B.CreateMul(Size[C.axis[I].role], X.Number(C.axis[I].extent));
  // An element that is written alone costs as much as so many that are read.
  // Of runs so long, lines are gone before their next elements are wanted: of
  // `nputeir bench cpu tccg`, dca,bd->abc gains by the exchange (376 columns in
  // a run), dbea,ec->abcd would lose (96).
  enum { TO_WRITE = 3, LONG = 128 };
  Value *Reads = B.CreateICmpSGT(
      Size[AXIS_K], B.CreateMul(Size[AXIS_M], B.getInt64(TO_WRITE)));
  return B.CreateAnd(
      Reads, B.CreateICmpSGT(X.Number(Innermost.Extent), B.getInt64(LONG)));
}

// The last two records of so many values.
static void exchangeLast(IRBuilder<> &B, SmallVectorImpl<Value *> &Axes,
                         size_t Record, Value *If) {
  for (size_t I = Axes.size() - Record; I < Axes.size(); I++) {
    Value *Inner = Axes[I], *Outer = Axes[I - Record];
    Axes[I] = B.CreateSelect(If, Outer, Inner);
    Axes[I - Record] = B.CreateSelect(If, Inner, Outer);
  }
}

// The one of K's axes along which in1 is dense, if the innermost one is not it
// but that of in0; or -1.
static ptrdiff_t crossing(const contraction &C, ArrayRef<CpuAxis> Of) {
  if (!isDense(C, Of.back(), IN0) || isDense(C, Of.back(), IN1))
    return -1;
  auto *It = find_if(Of, [&](const CpuAxis &A) { return isDense(C, A, IN1); });
  return It == Of.end() ? -1 : It - Of.begin();
}

// The records of K's axes, whose inputs are dense along different ones: both
// are cut, so that a block of steps has parts of both, and uses all of a line
// of either input.
static void tileSteps(IRBuilder<> &B, SmallVectorImpl<Value *> &Axes,
                      size_t First, size_t Record, size_t Crossing) {
  using Axis = SmallVector<Value *, 8>;
  SmallVector<Axis, 8> Of;
  for (size_t I = First; I < Axes.size(); I += Record)
    Of.push_back(Axis(Axes.begin() + I, Axes.begin() + I + Record));
  Axis Inner[] = {Of[Crossing], Of.back()}, Outer[2];
  Of.pop_back();
  Of.erase(Of.begin() + Crossing);
  Value *One = B.getInt64(1), *Part[2], *Cuts = B.getTrue();
  for (int I = 0; I < 2; I++) {
    Value *Extent = Inner[I][0];
    Part[I] = One;
    for (uint64_t Size : {4, 8, 16}) {
      Value *Rest = B.CreateAnd(Extent, B.getInt64(Size - 1));
      Part[I] = B.CreateSelect(B.CreateICmpEQ(Rest, B.getInt64(0)),
                               B.getInt64(Size), Part[I]);
    }
    Cuts = B.CreateAnd(Cuts, B.CreateICmpNE(Part[I], One));
  }
  for (int I = 0; I < 2; I++) {
    Value *Size = B.CreateSelect(Cuts, Part[I], I == 0 ? One : Inner[1][0]);
    Value *Parts = B.CreateUDiv(Inner[I][0], Part[I]); // Size may be 0
    Outer[I].push_back(B.CreateSelect(Cuts, Parts, I == 0 ? Inner[0][0] : One));
    Inner[I][0] = Size;
    for (size_t T = 1; T < Record; T++)
      Outer[I].push_back(B.CreateMul(Inner[I][T], Size));
  }
  Of.append({Outer[0], Outer[1], Inner[0], Inner[1]});
  Axes.resize(First);
  for (const Axis &A : Of)
    Axes.append(A.begin(), A.end());
}

Value *cpuCall(IRBuilder<> &B, Function &Code, const contraction &Given,
               const CpuOperands &X) {
  Arranged By(Given);
  const contraction &C = By.C;
  Function &F = *B.GetInsertBlock()->getParent();
  unsigned Tensors = movedOf(C);
  assert(X.Tensor.size() == tensorsOf(C));
  SmallVector<Value *, 64> Slots(X.Tensor.begin(), X.Tensor.end());
  if (By.Exchanged)
    std::swap(Slots[IN0], Slots[IN1]);
  for (unsigned T = tensorsOf(C); T < Tensors; T++) {
    const affine_guard &L = limitAt(C, T);
    Value *Start = X.Number(L.start); // below: -Start - 1 is not below zero
    Slots.push_back(L.below ? B.CreateNot(Start) : Start);
  }
  bool Fixed = workOf(C).Fixed.has_value();
  if (!Fixed) {
    Slots.push_back(B.getInt64(C.accumulate));
    Slots.push_back(nullptr); // the parts: the code has their addresses
  }
  SmallVector<Value *, 64> Axes;
  for (int R = 0; !Fixed && R < AXIS_ROLES; R++) {
    SmallVector<CpuAxis, 8> Of = axesOf(C, (axis_role)R);
    size_t First = Axes.size();
    for (const CpuAxis &A : Of) {
      Axes.push_back(X.Number(A.Extent));
      for (unsigned T = 0; T < Tensors; T++) {
        Value *S = X.Number(A.Stride[T]);
        bool Falls = T >= tensorsOf(C) && limitAt(C, T).below;
        Axes.push_back(Falls ? B.CreateNeg(S) : S);
      }
    }
    if (R == AXIS_N && mayTurnPanels(C, Of))
      exchangeLast(B, Axes, Tensors + 1, readsMore(B, C, X, Of.back()));
    ptrdiff_t Crossing = R == AXIS_K ? crossing(C, Of) : -1;
    if (Crossing >= 0)
      tileSteps(B, Axes, First, Tensors + 1, (size_t)Crossing);
    Slots.push_back(B.getInt64((Axes.size() - First) / (Tensors + 1)));
  }
  Slots.append(Axes.begin(), Axes.end());
  BasicBlock &Entry = F.getEntryBlock();
  auto *Array = ArrayType::get(B.getInt64Ty(), Slots.size());
  Value *Place = IRBuilder<>(&Entry, Entry.getFirstInsertionPt())
                     .CreateAlloca(Array, nullptr, "nputeir.slots");
  for (size_t I = 0; I < Slots.size(); I++) {
    if (!Slots[I])
      continue;
    Value *Slot = B.CreateConstInBoundsGEP2_64(Array, Place, 0, I);
    B.CreateAlignedStore(
        Slots[I], B.CreatePointerCast(Slot, pointerTo(Slots[I]->getType())),
        Align(8));
  }
  Value *Status = B.CreateCall(
      &Code, {B.CreatePointerCast(Place, bytePointer(F.getContext()))},
      "nputeir.computed");
  return B.CreateICmpEQ(Status, B.getInt32(0));
}

} // namespace nputeir
