// address.cpp -- ScalarEvolution's recurrences -> start plus strides.
//
// Strides are modulo 2^64, as addresses are, so nothing has to be known about
// overflow, with one exception.  An index of fewer bits that is widened to an
// address may wrap before: unsigned numbers by C's rules, signed ones with
// -fwrapv or where LLVM has lost track; then i * n + j is not affine.  Such an
// index is taken for a 64-bit one, and its smallest and largest value must turn
// out to fit at run time.
//
// An address that is itself loaded inside the nest, from an array along one of
// its loops, is taken for a recurrence, too: rows.cpp asks at run time.
//
// A loop that counts down is described as one that counts up from its last
// iteration; which way a sum is formed or a result is filled does not matter.
#include "address.h"
#include "exits.h"
#include "versions.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

bool Addresses::usable(const SCEV *S) {
  return SE.isLoopInvariant(S, &Outer) &&
         SE.properlyDominates(S, Outer.getHeader()) &&
         Expander(SE, *Outer.getHeader()->getModule()).isSafe(S);
}

void Addresses::addLoop(Loop *L, const SCEV *Extent) {
  Index[L] = (int)Loops.size();
  Loops.push_back(L);
  Extents.push_back(Extent);
  InARow.push_back(Extent);
  Cutters.push_back(-1);
  Rests.emplace_back();
  Steps.push_back(1);
  Reversed.push_back(false);
}

bool Addresses::addPiece(Loop *L, arena *A, verdict &V) {
  if (leftFromElsewhere(*L) || !exitsBeforeBody(*L))
    return false;
  Conditions If(SE, Counted);
  const SCEV *Taken = SE.getExitCount(L, exitOf(*L).From);
  size_t Before = Bounded.size();
  Piece P;
  if (isa<SCEVCouldNotCompute>(Taken) || usable(Taken) ||
      SE.getTypeSizeInBits(Taken->getType()) > 64 ||
      !readPiece(
          Taken, SE, [&](const SCEV *S) { return widen(S); }, If, P))
    return false;
  BoundedExtents.insert(BoundedExtents.end(), Bounded.begin() + Before,
                        Bounded.end());
  auto It = Index.find(P.Cutter);
  if (It == Index.end() || !usable(P.Length) || !usable(P.Whole))
    return false;
  if (P.Length != P.Step)
    return verdict_decline(&V, RULE_VARIANT_EXTENT, locOf(L->getStartLoc(), A),
                           "the pieces of a tiled loop overlap, or leave gaps");
  const SCEV *Pieces = Extents[It->second], *One = SE.getOne(Pieces->getType());
  If.within(P.Length, 1, INT32_MAX);
  If.atLeast(SE.getMulExpr(Pieces, P.Length), P.Whole);
  if (P.RestMayWrap)
    If.atLeast(P.Whole, SE.getMulExpr(SE.getMinusSCEV(Pieces, One), P.Length));
  addLoop(L, P.Whole);
  cut((int)Loops.size() - 1, It->second, P.Length, P.Whole);
  return true;
}

void Addresses::cut(int L, int Cutter, const SCEV *Length, const SCEV *Whole) {
  Cutters[L] = Cutter;
  InARow[L] = Length;
  Extents[L] = Whole;
}

namespace {

// Extensions of sums and products -> the same of extensions: what they are if
// nothing wraps.
class Unwrapper : public SCEVRewriteVisitor<Unwrapper> {
public:
  explicit Unwrapper(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *Z) {
    return distribute(Z, [&](const SCEV *S) {
      return SE.getZeroExtendExpr(S, Z->getType());
    });
  }
  const SCEV *visitSignExtendExpr(const SCEVSignExtendExpr *X) {
    return distribute(X, [&](const SCEV *S) {
      return SE.getSignExtendExpr(S, X->getType());
    });
  }

private:
  const SCEV *distribute(const SCEVCastExpr *Cast,
                         function_ref<const SCEV *(const SCEV *)> Extend) {
    const SCEV *S = Cast->getOperand();
    if (!isa<SCEVAddExpr>(S) && !isa<SCEVMulExpr>(S))
      return Cast;
    SmallVector<const SCEV *, 4> Parts;
    for (const SCEV *Part : cast<SCEVNAryExpr>(S)->operands())
      Parts.push_back(visit(Extend(Part)));
    return isa<SCEVAddExpr>(S) ? SE.getAddExpr(Parts) : SE.getMulExpr(Parts);
  }
};

} // namespace

// X and Y are the same number; one that only wraps in fewer bits may keep them
// from it is asked at run time.
bool Addresses::areSame(const SCEV *X, const SCEV *Y) {
  if (X == Y || SE.getMinusSCEV(X, Y)->isZero())
    return true;
  if (!isSame(X, Y))
    return false;
  if (!is_contained(Equal, std::make_pair(X, Y)))
    Equal.push_back({X, Y});
  return true;
}

bool Addresses::isSame(const SCEV *X, const SCEV *Y) {
  const SCEV *Difference = SE.getMinusSCEV(X, Y);
  return Difference->isZero() || Unwrapper(SE).visit(Difference)->isZero();
}

// From the numbers of iterations in each piece to those of the whole.
void Addresses::numberThrough(Address &X) {
  for (size_t L = 0; L < Loops.size(); L++) {
    const SCEV *&Cutter = X.Stride[Cutters[L] < 0 ? L : (size_t)Cutters[L]];
    if (Cutters[L] < 0 || !X.Stride[L])
      continue;
    const SCEV *Way = SE.getMulExpr(InARow[L], X.Stride[L]);
    if (!Cutter)
      Cutter = SE.getZero(Way->getType());
    Cutter = areSame(Cutter, Way) ? nullptr : SE.getMinusSCEV(Cutter, Way);
  }
}

bool Addresses::goesOn(int Cutter, int L, const Address &X) const {
  return Cutters[L] < 0 && L != Cutter && Loops[Cutter]->contains(Loops[L]) &&
         isa<SCEVConstant>(Extents[L]) && X.Stride[L] && X.Stride[Cutter] &&
         SE.getMulExpr(Extents[L], X.Stride[L]) == X.Stride[Cutter];
}

bool Addresses::findPieces(int Cutter, ArrayRef<Address> All,
                           SmallVectorImpl<int> &Pieces) const {
  for (const Address &X : All) {
    if (!X.Stride[Cutter])
      continue;
    auto Goes = [&](int L) { return goesOn(Cutter, L, X); };
    if (any_of(Pieces, Goes))
      continue;
    int L = Cutter + 1;
    while (
        L < (int)Loops.size() &&
        !(Goes(L) && (Pieces.empty() || Extents[L] == Extents[Pieces.front()])))
      L++;
    if (L == (int)Loops.size())
      return false;
    Pieces.push_back(L);
  }
  for (int L : Pieces) {
    for (const Address &X : All)
      if (X.Stride[L] && !goesOn(Cutter, L, X))
        return false;
    for (int Other : Pieces)
      if (Other != L && Loops[L]->contains(Loops[Other]))
        return false;
  }
  return !Pieces.empty();
}

static SmallVector<const Value *, 2> pointersOf(const Instruction &I) {
  SmallVector<const Value *, 2> Found;
  if (const Value *Pointer = getLoadStorePointerOperand(&I))
    Found.push_back(Pointer);
  if (const auto *Fill = dyn_cast<MemIntrinsic>(&I))
    Found.push_back(Fill->getRawDest());
  if (const auto *Copy = dyn_cast<MemTransferInst>(&I))
    Found.push_back(Copy->getRawSource());
  return Found;
}

// What the nest compares should go on from piece to piece, too.
void Addresses::addComparisons(ArrayRef<BasicBlock *> Blocks,
                               SmallVectorImpl<Address> &All) {
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B) {
      bool Ends = exitOf(*LI.getLoopFor(B)).From == B &&
                  is_contained(B->getTerminator()->operand_values(), &I);
      Address X;
      if (isa<ICmpInst>(I) && !Ends)
        for (const Value *Side : I.operand_values())
          if (splitIndex(I, Side, X))
            All.push_back(X);
    }
}

bool Addresses::addPointers(ArrayRef<BasicBlock *> Blocks,
                            SmallVectorImpl<Address> &All) {
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B)
      for (const Value *Pointer : pointersOf(I)) {
        All.emplace_back();
        if (!split(I, Pointer, All.back()))
          return false;
      }
  return true;
}

void Addresses::findPieces(ArrayRef<BasicBlock *> Blocks) {
  SmallVector<Address, 8> All;
  if (!addPointers(Blocks, All))
    return;
  addComparisons(Blocks, All);
  Conditions If(SE, Counted);
  for (int Cutter = (int)Loops.size() - 1; Cutter >= 0; Cutter--) {
    SmallVector<int, 4> Pieces;
    if (is_contained(Cutters, Cutter) || !findPieces(Cutter, All, Pieces))
      continue;
    const SCEV *Length = Extents[Pieces.front()];
    If.within(Length, 1, INT32_MAX);
    If.within(Extents[Cutter], 1, INT32_MAX);
    for (int L : Pieces)
      cut(L, Cutter, Length, SE.getMulExpr(Extents[Cutter], Length));
    for (Address &X : All)
      X.Stride[Cutter] = nullptr; // every one goes on
  }
}

namespace {

// ext(recurrence) -> recurrence of exts, with a note that it must not wrap.
class Widener : public SCEVRewriteVisitor<Widener> {
  using Base = SCEVRewriteVisitor<Widener>;
  const DenseMap<const Loop *, int> &Index;
  ArrayRef<const SCEV *> Extents;
  std::vector<NoWrap> &Bounded;
  Type *I64;

public:
  Widener(ScalarEvolution &SE, const DenseMap<const Loop *, int> &Index,
          ArrayRef<const SCEV *> Extents, std::vector<NoWrap> &Bounded,
          Type *I64)
      : Base(SE), Index(Index), Extents(Extents), Bounded(Bounded), I64(I64) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *Z) {
    return widen(Z, false);
  }
  const SCEV *visitSignExtendExpr(const SCEVSignExtendExpr *S) {
    return widen(S, true);
  }

private:
  const SCEV *extend(const SCEV *S, bool Signed) {
    return Signed ? SE.getSignExtendExpr(S, I64) : SE.getZeroExtendExpr(S, I64);
  }

  const SCEV *widen(const SCEVCastExpr *Cast, bool Signed) {
    const SCEV *S = Cast->getOperand();
    unsigned Bits = (unsigned)SE.getTypeSizeInBits(S->getType());
    bool IsIndex = Bits >= 8 && Bits <= 32; // fewer: i & 1
    if (Cast->getType() != I64 || !IsIndex || !isa<SCEVAddRecExpr>(S))
      return Cast;
    NoWrap Sum = {Bits, Signed, {nullptr, {}}};
    SmallVector<std::pair<const SCEV *, const Loop *>, 4> Steps;
    while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
      auto It = Index.find(Rec->getLoop());
      if (It == Index.end())
        break; // a loop around the nest
      if (!Rec->isAffine())
        return Cast;
      const SCEV *Step = Rec->getStepRecurrence(SE);
      Step = extend(Step, Signed || looksNegative(Step));
      Sum.Of.Terms.push_back({Step, Extents[It->second]});
      Steps.push_back({Step, Rec->getLoop()});
      S = Rec->getStart();
    }
    if (Steps.empty())
      return Cast;
    const SCEV *Wide = Sum.Of.Start = extend(S, Signed);
    for (auto [Step, L] : reverse(Steps))
      Wide = SE.getAddRecExpr(Wide, Step, L, SCEV::FlagAnyWrap);
    Bounded.push_back(std::move(Sum));
    return Wide;
  }
};

} // namespace

const SCEV *Addresses::widen(const SCEV *S) {
  size_t Before = Bounded.size();
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  const SCEV *Wide = Widener(SE, Index, InARow, Bounded, I64).visit(S);
  for (size_t I = Before; I < Bounded.size(); I++) {
    bool Known = usable(Bounded[I].Of.Start);
    for (auto [Step, Extent] : Bounded[I].Of.Terms)
      Known &= usable(Step) && usable(Extent);
    if (!Known) {
      Bounded.resize(Before);
      return S;
    }
  }
  return Wide;
}

bool Addresses::mayChange(const LoadInst &L) {
  MemoryLocation Array(L.getPointerOperand(),
                       LocationSize::beforeOrAfterPointer(), L.getAAMetadata());
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      if (I.mayWriteToMemory() && isModSet(AA.getModRefInfo(&I, Array)))
        return true;
  return false;
}

// Null: not the element of an array of addresses that moves along one loop.
const SCEV *Addresses::rowAddress(const LoadInst &L) {
  Address Array;
  if (!L.getType()->isPointerTy() || !Outer.contains(&L) || !L.isSimple() ||
      !split(L, L.getPointerOperand(), Array))
    return nullptr;
  int Along = -1;
  for (size_t I = 0; I < Loops.size(); I++)
    if (Array.Stride[I]) {
      if (Along >= 0)
        return nullptr;
      Along = (int)I;
    }
  if (Along < 0 || mayChange(L))
    return nullptr;
  const RowArray &Row =
      rowArray(L, Array.Start, Array.Stride[Along], Extents[Along]);
  return recurrence(SE.getSCEV(Row.Base), SE.getSCEV(Row.Step), Along);
}

// Over all iterations of L, in all pieces.
const SCEV *Addresses::recurrence(const SCEV *Start, const SCEV *Step, int L) {
  if (Cutters[L] >= 0)
    Start = recurrence(Start, SE.getMulExpr(InARow[L], Step), Cutters[L]);
  return SE.getAddRecExpr(Start, Step, Loops[L], SCEV::FlagAnyWrap);
}

const RowArray &Addresses::rowArray(const LoadInst &L, const SCEV *Start,
                                    const SCEV *Stride, const SCEV *Extent) {
  for (const RowArray &R : Rows)
    if (R.Start == Start && R.Stride == Stride && R.Extent == Extent)
      return R;
  IRBuilder<> B(Outer.getLoopPreheader()->getTerminator());
  auto Placeholder = [&](Type *T) {
    return cast<Instruction>(B.CreateFreeze(UndefValue::get(T)));
  };
  Rows.push_back({&L, Start, Stride, Extent, Placeholder(L.getType()),
                  Placeholder(B.getInt64Ty())});
  return Rows.back();
}

const SCEV *Addresses::valueIn(const Instruction &I, const Value *V) {
  return resolve(SE.getSCEV(const_cast<Value *>(V)),
                 LI.getLoopFor(I.getParent()));
}

bool Addresses::split(const Instruction &I, const Value *Pointer,
                      Address &Result) {
  if (Pointer->getType()->getPointerAddressSpace() != 0 ||
      !splitNumber(I, Pointer, Result))
    return false;
  numberThrough(Result);
  return true;
}

bool Addresses::splitNumber(const Instruction &I, const Value *W,
                            Address &Result) {
  if (!SE.isSCEVable(W->getType()))
    return false;
  return peel(widen(valueIn(I, W)), *LI.getLoopFor(I.getParent()), Result);
}

bool Addresses::peel(const SCEV *S, const Loop &Scope, Address &Result) {
  Result.Stride.assign(Loops.size(), nullptr);
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
    auto It = Index.find(Rec->getLoop());
    if (It == Index.end() || !Rec->isAffine() ||
        !Rec->getLoop()->contains(&Scope) || Result.Stride[It->second])
      break;
    const SCEV *Step = Rec->getStepRecurrence(SE);
    if (!usable(Step))
      return false;
    Result.Stride[It->second] = Step;
    S = Rec->getStart();
  }
  Result.Start = S;
  return usable(S);
}

bool Addresses::readNumber(const Instruction &I, const Value *W, bool Signed,
                           Address &Result) {
  return splitNumber(I, W, Result) && makeNumber(Signed, Result);
}

bool Addresses::makeNumber(bool Signed, Address &Result) {
  Type *T = Result.Start->getType();
  if (SE.getTypeSizeInBits(T) > 64)
    return false;
  if (T->isPointerTy() && !Rows.empty())
    return false; // may lie in a row whose address is not known yet
  Result.Start = number(Result.Start, Signed);
  for (const SCEV *&Stride : Result.Stride)
    if (Stride)
      Stride = number(Stride, true);
  numberThrough(Result);
  return usable(Result.Start);
}

Sum Addresses::sum(const Address &X) const {
  Sum S = {X.Start, {}};
  for (size_t L = 0; L < Loops.size(); L++)
    if (X.Stride[L] && !X.Stride[L]->isZero())
      S.Terms.push_back({X.Stride[L], Extents[L]});
  return S;
}

bool looksNegative(const SCEV *S) {
  if (const auto *C = dyn_cast<SCEVConstant>(S))
    return C->getAPInt().isNegative();
  if (const auto *X = dyn_cast<SCEVSignExtendExpr>(S))
    return looksNegative(X->getOperand());
  const auto *M = dyn_cast<SCEVMulExpr>(S);
  return M && count_if(M->operands(), looksNegative) % 2 == 1;
}

void Addresses::chooseDirections(ArrayRef<BasicBlock *> Blocks) {
  SmallVector<bool, 8> Down(Loops.size(), false), Up(Loops.size(), false);
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B) {
      const Value *Pointer = getLoadStorePointerOperand(&I);
      Address X;
      if (!Pointer || !split(I, Pointer, X))
        continue;
      for (size_t L = 0; L < Loops.size(); L++)
        if (X.Stride[L] && !X.Stride[L]->isZero())
          (looksNegative(X.Stride[L]) ? Down : Up)[L] = true;
    }
  for (size_t L = 0; L < Loops.size(); L++)
    Reversed[L] = Down[L] && !Up[L] && !isPart((int)L);
  Bounded.clear(); // what is read from here on counts
}

bool Addresses::read(const Instruction &I, const Value *Pointer,
                     Address &Result) {
  if (!split(I, Pointer, Result))
    return false;
  if (!numberOn(Result))
    return false;
  turnRound(Result);
  return true;
}

namespace {

// max(X, 0) -> X, where the loops have work.
class Positive : public SCEVRewriteVisitor<Positive> {
public:
  SmallVector<const SCEV *, 2> Assumed; // not to be negative

  explicit Positive(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *Z) {
    const SCEV *X = largerThanZero(Z->getOperand());
    return X && Z->getType()->isIntegerTy(64)
               ? assume(SE.getSignExtendExpr(X, Z->getType()))
               : Z;
  }
  const SCEV *visitSMaxExpr(const SCEVSMaxExpr *M) {
    const SCEV *X = largerThanZero(M);
    return X && M->getType()->isIntegerTy(64) ? assume(X) : M;
  }

private:
  static const SCEV *largerThanZero(const SCEV *S) {
    const auto *M = dyn_cast<SCEVSMaxExpr>(S);
    return M && M->getNumOperands() == 2 && M->getOperand(0)->isZero()
               ? M->getOperand(1)
               : nullptr;
  }
  const SCEV *assume(const SCEV *X) {
    Assumed.push_back(X);
    return X;
  }
};

// The start of a loop that runs down lies where it ends, which is the start of
// one that runs up if the distance is as long as the loop.
const SCEV *simplified(const SCEV *Start, ScalarEvolution &SE, Conditions If) {
  Positive Rewriter(SE);
  const SCEV *Short = Rewriter.visit(Start);
  if (Short->getExpressionSize() >= Start->getExpressionSize())
    return Start;
  for (const SCEV *X : Rewriter.Assumed)
    If.atLeast(X, SE.getZero(X->getType()));
  return Short;
}

} // namespace

void Addresses::turnRound(Address &X) {
  for (size_t L = 0; L < Loops.size(); L++)
    if (Reversed[L] && X.Stride[L]) {
      const SCEV *Last =
          SE.getMinusSCEV(Extents[L], SE.getOne(Extents[L]->getType()));
      X.Start =
          simplified(SE.getAddExpr(X.Start, SE.getMulExpr(X.Stride[L], Last)),
                     SE, {SE, Counted});
      X.Stride[L] = SE.getNegativeSCEV(X.Stride[L]);
    }
}

// Of numbers whose sums and differences are exact in 64.
enum { FewBits = 40 };

static bool hasFewBits(const ConstantRange &R) {
  int64_t Limit = (int64_t)1 << (FewBits - 1);
  return R.getSignedMin().sge((uint64_t)-Limit) && R.getSignedMax().slt(Limit);
}

// As a signed number of 64 bits.
bool Addresses::splitIndex(const Instruction &I, const Value *Number,
                           Address &Result) {
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  return Number->getType()->isIntegerTy() &&
         SE.getTypeSizeInBits(Number->getType()) <= 64 &&
         peel(widen(SE.getNoopOrSignExtend(valueIn(I, Number), I64)),
              *LI.getLoopFor(I.getParent()), Result);
}

bool Addresses::readIndex(const Instruction &I, const Value *Number,
                          Address &Result) {
  if (!splitIndex(I, Number, Result))
    return false;
  numberThrough(Result);
  turnRound(Result);
  if (hasFewBits(SE.getSignedRange(valueIn(I, Number))))
    return true;
  Bounded.push_back({FewBits, true, sum(Result)});
  return true;
}

} // namespace nputeir
