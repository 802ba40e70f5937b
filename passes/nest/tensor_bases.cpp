// tensor_bases.cpp -- accesses by tensor: families of starts whose distances
// have one run-time part in common.
#include "tensor_bases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <numeric>

using namespace llvm;

namespace nputeir {

// The constant factor of a product; Other is what it is multiplied by.
static int64_t factorOf(const SCEV *S, ScalarEvolution &SE,
                        const SCEV *&Other) {
  const auto *M = dyn_cast<SCEVMulExpr>(S);
  const auto *C = M ? dyn_cast<SCEVConstant>(M->getOperand(0)) : nullptr;
  Other = S;
  if (!C)
    return 1;
  SmallVector<const SCEV *, 4> Others(drop_begin(M->operands()));
  Other = SE.getMulExpr(Others);
  return C->getAPInt().getSExtValue();
}

// False: the starts have nothing in common.
bool TensorBases::measure(const SCEV *From, const SCEV *To, Distance &D) {
  const SCEV *S = SE.getMinusSCEV(To, From);
  if (isa<SCEVCouldNotCompute>(S))
    return false;
  const auto *Sum = dyn_cast<SCEVAddExpr>(S);
  SmallVector<std::pair<int64_t, const SCEV *>, 4> Parts;
  for (const SCEV *Part : Sum ? Sum->operands() : ArrayRef<const SCEV *>(S)) {
    if (const auto *C = dyn_cast<SCEVConstant>(Part)) {
      D.Bytes = C->getAPInt().getSExtValue();
      continue;
    }
    const SCEV *Other;
    int64_t Factor = factorOf(Part, SE, Other);
    bool Down = Parts.empty() ? Factor < 0 : D.Times < 0;
    D.Times = std::gcd(D.Times, Factor);
    D.Times = Down ? -D.Times : D.Times;
    Parts.push_back({Factor, Other});
  }
  assert(Parts.empty() == (D.Times == 0));
  SmallVector<const SCEV *, 4> Unit;
  for (auto [Factor, Other] : Parts)
    Unit.push_back(SE.getMulExpr(
        SE.getConstant(S->getType(), (uint64_t)(Factor / D.Times)), Other));
  D.Unit = Unit.empty() ? nullptr : SE.getAddExpr(Unit);
  return true;
}

bool TensorBases::Family::has(const Distance &D) const {
  return D.Times == 0 || (Unit == D.Unit && is_contained(Times, D.Times));
}

int64_t TensorBases::Family::timesPerRow() const {
  int64_t Row = 0;
  for (int64_t T : Times)
    Row = std::gcd(Row, T);
  return Row;
}

// How far the accesses lie below and above their start, as far as is known: a
// run-time number of steps counts as one, a step of run-time size as none.
TensorBases::Reach TensorBases::reachOf(const Address &X) const {
  Reach R;
  for (size_t L = 0; L < X.Stride.size(); L++) {
    const auto *Step = dyn_cast_or_null<SCEVConstant>(X.Stride[L]);
    const auto *Extent = dyn_cast<SCEVConstant>(Places.extent((int)L));
    if (!Step)
      continue;
    uint64_t &Way = Step->getAPInt().isNegative() ? R.Below : R.Above;
    Way = SaturatingMultiplyAdd(
        Step->getAPInt().abs().getZExtValue(),
        Extent ? Extent->getAPInt().getZExtValue() - 1 : 1, Way);
  }
  return R;
}

// Behind or in front of all that is written.
bool TensorBases::isFar(const Family &F, const Address &X,
                        const Distance &D) const {
  Reach Written = reachOf(F.First), Read = reachOf(X);
  return F.Written && D.Times == 0 && none_of(F.Bytes, [&](int64_t Bytes) {
           int64_t Apart = D.Bytes - Bytes;
           return (uint64_t)std::abs(Apart) <=
                  (Apart > 0 ? SaturatingAdd(Written.Above, Read.Below)
                             : SaturatingAdd(Written.Below, Read.Above));
         });
}

// By the same strides, if not along the same loops: each of several sums may
// have a loop of its own.
static bool moveAlike(const Address &X, const Address &Y) {
  auto Moving = [](const Address &Z) {
    SmallVector<const SCEV *, 8> Strides;
    copy_if(Z.Stride, std::back_inserter(Strides),
            [](const SCEV *S) { return S; });
    return Strides;
  };
  SmallVector<const SCEV *, 8> Of = Moving(X), Left = Moving(Y);
  for (const SCEV *S : Of) {
    auto It = find(Left, S);
    if (It == Left.end())
      return false;
    Left.erase(It);
  }
  return Left.empty();
}

bool TensorBases::join(Family &F, const Address &X, bool Written) {
  Distance D;
  if (!measure(F.First.Start, X.Start, D) || (!Written && isFar(F, X, D)))
    return false;
  if (Written && D.Times == 0)
    F.Bytes.push_back(D.Bytes);
  if (F.has(D))
    return true;
  if (F.Written != Written || !moveAlike(F.First, X) ||
      (F.Unit && F.Unit != D.Unit))
    return false;
  F.Unit = D.Unit;
  F.Times.push_back(D.Times);
  return true;
}

void TensorBases::add(const Address &X, bool Written) {
  for (Family &F : Families)
    if (join(F, X, Written))
      return;
  Families.push_back({X, Written});
}

TensorBase TensorBases::find(const Address &X) {
  for (const Family &F : Families) {
    Distance D;
    if (!measure(F.First.Start, X.Start, D) || !F.has(D) || isFar(F, X, D))
      continue;
    if (!F.Unit)
      return {F.First.Start, D.Bytes, 0, nullptr};
    int64_t Row = F.timesPerRow();
    assert(Row > 0 && D.Times % Row == 0);
    const SCEV *Pitch =
        SE.getMulExpr(SE.getConstant(F.Unit->getType(), (uint64_t)Row), F.Unit);
    return {F.First.Start, D.Bytes, D.Times / Row, Pitch};
  }
  Families.push_back({X, false});
  return {X.Start, 0, 0, nullptr};
}

} // namespace nputeir
