// lower_cpu_call.cpp -- the call of code for the processor with all sizes,
// strides and addresses.
#include "lower_cpu_form.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

static bool isSumType(dtype T) {
  return T == DTYPE_F32 || T == DTYPE_F64 || T == DTYPE_I32 || T == DTYPE_I64;
}

// If there are only some elements of the result, these are a part of each row:
// their limit moves by one from row to row, and from column to column.
static bool takesPart(const contraction &C) {
  if (limitsOf(C, OUT).empty())
    return true;
  if (cpuHasMaps(C) || limitsOf(C, OUT).size() > 1)
    return false;
  Arranged By(C);
  const affine_guard &L = *limitsOf(By.C, OUT)[0];
  for (axis_role R : {AXIS_M, AXIS_N})
    if (axesOf(By.C, R).size() != 1)
      return false;
  for (int I = 0; I < C.axis_count; I++)
    if (isMoved(L.step[I]) && distance(L.step[I]) != 1)
      return false;
  return true;
}

bool cpuTakes(const contraction &C, const char **Why) {
  auto No = [&](const char *Reason) {
    *Why = Reason;
    return false;
  };
  if (C.first)
    return No("three factors are multiplied");
  if (!takesPart(C))
    return No("which elements of the result there are is decided along "
              "several axes");
  if (!cpuTakesMaps(C))
    return No("elements are changed before they are multiplied, and not by a "
              "sum alone");
  if (!hasAxes(C, AXIS_K) || (!hasAxes(C, AXIS_M) && !hasAxes(C, AXIS_N)))
    return No("the nest is neither a product of two matrices nor of a matrix "
              "and a vector");
  if (!isSumType(C.acc))
    return No("sums are formed in another type");
  for (int T = IN0; T <= IN1; T++)
    if (dtype_bytes(C.type[T]) > dtype_bytes(C.acc) ||
        (dtype_kind(C.type[T]) == DTYPE_FLOAT &&
         dtype_kind(C.acc) != DTYPE_FLOAT))
      return No("inputs are wider than the sum");
  if (C.tail ? !canCompute(C.tail) : C.type[OUT] != C.acc)
    return No("what follows the sum rounds it twice");
  if ((!hasAxes(C, AXIS_M) || !hasAxes(C, AXIS_N)) &&
      workOf(Arranged(C).C, nullptr).Vector == CPU_VECTOR_NO)
    return No(C.limit_count ? "conditions decide which products of a matrix "
                              "and a vector are summed"
                            : "elements of the matrix are not adjacent");
  return true;
}

// ---- the call ----

// What is computed and for which target, by name and attribute.
Function *cpuDeclare(const Function &Like, StringRef Prefix,
                     StringRef Attribute, const std::string &Text,
                     ArrayRef<Type *> Arguments) {
  auto &M = *const_cast<Module *>(Like.getParent());
  StringRef Cpu = Like.getFnAttribute("target-cpu").getValueAsString();
  StringRef Features =
      Like.getFnAttribute("target-features").getValueAsString();
  bool IsFinite = cpuIsFinite(Like);
  uint64_t Hash = stableHash(Text + "/" + Cpu.str() + "/" + Features.str() +
                             (IsFinite ? "/finite" : ""));
  std::string Name = Prefix.str() + std::to_string(Hash);
  if (Function *F = madeBefore(M, Name))
    return F;
  auto *F = Function::Create(
      FunctionType::get(Type::getInt32Ty(M.getContext()), Arguments, false),
      GlobalValue::ExternalWeakLinkage, Name, M);
  F->setDoesNotThrow();
  F->addFnAttr(Attribute, Text);
  F->addFnAttr(CpuFinite, IsFinite ? "true" : "false");
  // The code generator makes its tables once for all functions that are alike
  // in these.
  for (const char *Kept :
       {"target-cpu", "target-features", "tune-cpu", "frame-pointer",
        "prefer-vector-width", "min-legal-vector-width"})
    if (Like.hasFnAttribute(Kept))
      F->addFnAttr(Like.getFnAttribute(Kept));
  return F;
}

Function *cpuFunction(const Function &Like, const contraction &C,
                      const int (&Fills)[2], bool Aside) {
  Arranged By(C);
  CpuWork W = workOf(By.C, &Like);
  for (int T : {IN0, IN1})
    W.Fills[T] = Fills[By.Exchanged ? IN0 + IN1 - T : T];
  W.Aside = Aside;
  return cpuDeclare(Like, "nputeir.cpu.", CpuAttribute, W.print(),
                    {bytePointer(Like.getContext())});
}

// Are the innermost axis of columns dense in the result, and the next one in
// in1?
static bool mayTurnPanels(const contraction &C, ArrayRef<CpuAxis> Of) {
  size_t N = Of.size();
  return N > 1 && !C.tail && isDense(C, Of[N - 1], OUT) &&
         !isDense(C, Of[N - 1], IN1) && isDense(C, Of[N - 2], IN1);
}

static Value *extentOf(IRBuilder<> &B, const CpuOperands &X, const CpuAxis &A) {
  return B.CreateMul(X.Number(A.Extent), B.getInt64((uint64_t)A.Times));
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
      Reads, B.CreateICmpSGT(extentOf(B, X, Innermost), B.getInt64(LONG)));
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

CpuSlots cpuFillSlots(IRBuilder<> &B, const contraction &Given,
                      const CpuOperands &X) {
  Arranged By(Given);
  const contraction &C = By.C;
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
  CpuSlots S = {nullptr, {}, Tensors + 1, nullptr, By.Exchanged};
  SmallVector<Value *, AXIS_ROLES> Counts;
  for (int R = 0; R < AXIS_ROLES; R++) {
    SmallVector<CpuAxis, 8> Of = axesOf(C, (axis_role)R);
    size_t First = S.Axes.size();
    for (const CpuAxis &A : Of) {
      S.Axes.push_back(extentOf(B, X, A));
      for (unsigned T = 0; T < Tensors; T++) {
        Value *Step = X.Number(A.Stride[T]);
        bool Falls = T >= tensorsOf(C) && limitAt(C, T).below;
        S.Axes.push_back(Falls ? B.CreateNeg(Step) : Step);
      }
    }
    if (R == AXIS_N && mayTurnPanels(C, Of))
      exchangeLast(B, S.Axes, S.Record, readsMore(B, C, X, Of.back()));
    ptrdiff_t Crossing = R == AXIS_K ? crossing(C, Of) : -1;
    if (Crossing >= 0)
      tileSteps(B, S.Axes, First, S.Record, (size_t)Crossing);
    Counts.push_back(B.getInt64((S.Axes.size() - First) / S.Record));
  }
  size_t AxesAt = 0;
  if (!workOf(C, B.GetInsertBlock()->getParent()).Fixed) {
    Slots.push_back(B.getInt64(C.accumulate));
    Slots.push_back(nullptr); // the parts: the code has their addresses
    Slots.append(Counts);
    AxesAt = Slots.size();
    Slots.append(S.Axes);
  }
  BasicBlock &Entry = B.GetInsertBlock()->getParent()->getEntryBlock();
  auto *Array = ArrayType::get(B.getInt64Ty(), Slots.size());
  Value *Frame = IRBuilder<>(&Entry, Entry.getFirstInsertionPt())
                     .CreateAlloca(Array, nullptr, "nputeir.slots");
  auto At = [&](size_t I) {
    return B.CreateConstInBoundsGEP2_64(Array, Frame, 0, I);
  };
  for (size_t I = 0; I < Slots.size(); I++)
    if (Value *V = Slots[I])
      B.CreateAlignedStore(
          V, B.CreatePointerCast(At(I), pointerTo(V->getType())), Align(8));
  Type *P = bytePointer(B.getContext());
  S.Place = B.CreatePointerCast(Frame, P);
  if (AxesAt)
    S.AxesPlace = B.CreatePointerCast(At(AxesAt), P);
  return S;
}

} // namespace nputeir
