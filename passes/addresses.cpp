// addresses.cpp -- ScalarEvolution's recurrences -> start plus strides.
//
// Strides are modulo 2^64, as addresses are, so nothing has to be known about
// overflow, with one exception.  An index of fewer bits that is widened to an
// address may wrap before: unsigned numbers by C's rules, signed ones with
// -fwrapv or where LLVM has lost track; then i * n + j is not affine.  Such an
// index is taken for a 64-bit one, and its smallest and largest value must turn
// out to fit at run time.
//
// An address that is itself loaded inside the nest, from an array along one of
// its loops, is taken for a recurrence, too: row_pointers.cpp asks at run time.
//
// A loop that counts down is described as one that counts up from its last
// iteration; which way a sum is formed or a result is filled does not matter.
#include "addresses.h"
#include "ir_marks.h"
#include "ir_scev.h"
#include "ir_tags.h"
#include "wide_indices.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

const SCEV *Addresses::widen(const SCEV *S) {
  size_t Before = Bounded.size();
  auto InNest = [&](const Loop &L) {
    auto It = Index.find(&L);
    return It == Index.end()       ? nullptr
           : &L == Triangle.OfRows ? Triangle.AllRows
                                   : InTile[It->second];
  };
  const SCEV *Wide = widenIndices(S, SE, InNest, Bounded);
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
                       LocationSize::beforeOrAfterPointer(), typeTags(L));
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      if (I.mayWriteToMemory() && isModSet(AA.getModRefInfo(&I, Array)))
        return true;
  return false;
}

// Where the value of L, which may have been moved in front of loops, is known.
static const Instruction &placeOf(const LoadInst &L) {
  auto Moved = find_if(L.users(), [&](const User *U) {
    return isa<PHINode>(U) && hoistedLoad(U) == &L;
  });
  return Moved == L.user_end() ? cast<Instruction>(L)
                               : *cast<Instruction>(*Moved);
}

// Of a nest with other code than is described: it is read in every iteration of
// loops that are.  Else whoever describes it asks for that.
bool Addresses::isAlwaysRead(const LoadInst &L) const {
  if (!Code.hasOther())
    return true;
  auto IsDescribed = [&](const Instruction &I) {
    const Loop *In = LI.getLoopFor(I.getParent());
    return Index.count(In) && Code.runs(I.getParent()) &&
           (!isa<PHINode>(I) || I.getParent() == In->getHeader() ||
            hoistedLoad(&I) == &L);
  };
  const Instruction &At = placeOf(L);
  return IsDescribed(At) && !Code.isGuarded(At.getParent()) &&
         (&At == &L || all_of(At.users(), [&](const User *U) {
           return IsDescribed(*cast<Instruction>(U));
         }));
}

// Null: not the element of an array of addresses that moves along one loop.
const SCEV *Addresses::rowAddress(const LoadInst &L) {
  Address Array;
  if (!L.getType()->isPointerTy() || !Outer.contains(&L) || !L.isSimple() ||
      !isAlwaysRead(L) || !split(L, L.getPointerOperand(), Array))
    return nullptr;
  int Along = -1;
  for (size_t I = 0; I < Loops.size(); I++)
    if (Array.Stride[I]) {
      if (Along >= 0)
        return nullptr;
      Along = (int)I;
    }
  if (Along < 0 || mayChange(L) || !usable(Array.Start))
    return nullptr;
  RowLoops.insert(Loops[(size_t)Along]);
  const RowPointers &Row =
      rowPointers(L, Array.Start, Array.Stride[Along], Extents[Along]);
  return recurrence(SE.getSCEV(Row.Base), SE.getSCEV(Row.Step), Along);
}

const RowPointers &Addresses::rowPointers(const LoadInst &L, const SCEV *Start,
                                          const SCEV *Stride,
                                          const SCEV *Extent) {
  for (const RowPointers &R : Rows)
    if (R.Start == Start && R.Stride == Stride && R.Extent == Extent)
      return R;
  IRBuilder<> B(Outer.getLoopPreheader()->getTerminator());
  auto Placeholder = [&](Type *T) {
    return cast<Instruction>(B.CreateFreeze(UndefValue::get(T)));
  };
  assert(Outer.contains(&L) && Stride && usable(Start) && usable(Stride));
  Rows.push_back({&L, Start, Stride, Extent, Placeholder(L.getType()),
                  Placeholder(B.getInt64Ty())});
  return Rows.back();
}

bool RowPointers::areIn(const SCEV *S) const {
  return SCEVExprContains(S, [this](const SCEV *Part) {
    const auto *U = dyn_cast<SCEVUnknown>(Part);
    return U && (U->getValue() == Base || U->getValue() == Step);
  });
}

bool Addresses::isFromRows(const SCEV *S) const {
  return any_of(Rows, [S](const RowPointers &R) { return R.areIn(S); });
}

const SCEV *Addresses::valueIn(const Instruction &I, const Value *V) {
  const Loop *L = LI.getLoopFor(I.getParent());
  return resolve(Code.Clipped.whole(SE.getSCEV(const_cast<Value *>(V)), L), L);
}

bool Addresses::split(const Instruction &I, const Value *Pointer,
                      Address &Result) {
  Result.Start = nullptr;
  if (Pointer->getType()->getPointerAddressSpace() != 0)
    return false;
  // Where a local array lies is known in the nest only, and not asked.
  if (!splitNumber(I, Pointer, Result) &&
      !(Result.Start && Code.isLocal(Result.Start)))
    return false;
  numberThrough(Result);
  return true;
}

bool Addresses::splitNumber(const Instruction &I, const Value *W,
                            Address &Result) {
  if (!SE.isSCEVable(W->getType()))
    return false;
  if (!HasLoops || isLooking())
    return splitAnew(I, W, Result);
  Place At(LI.getLoopFor(I.getParent()), W);
  if (auto It = Splits.find(At); It != Splits.end()) {
    const Split &S = It->second;
    Bounded.insert(Bounded.end(), S.Bounded.begin(), S.Bounded.end());
    Result = S.X;
    return S.Good;
  }
  size_t Before = Bounded.size();
  bool Good = splitAnew(I, W, Result);
  Splits.try_emplace(
      At, Split{Good,
                Result,
                {Bounded.begin() + (ptrdiff_t)Before, Bounded.end()}});
  return Good;
}

bool Addresses::splitAnew(const Instruction &I, const Value *W,
                          Address &Result) {
  Result.Start = nullptr;
  return peel(widen(valueIn(I, W)), *LI.getLoopFor(I.getParent()), Result);
}

bool Addresses::peel(const SCEV *S, const Loop &Scope, Address &Result) {
  Result.Stride.assign(Loops.size(), nullptr);
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
    auto It = Index.find(Rec->getLoop());
    if (It == Index.end() || !Rec->isAffine() ||
        !Rec->getLoop()->contains(&Scope) || Result.Stride[It->second])
      break;
    const SCEV *Step = withoutWayBack(Rec->getStepRecurrence(SE));
    if (!usable(Step))
      return false;
    Result.Stride[It->second] = Step->isZero() ? nullptr : Step;
    S = Rec->getStart();
  }
  Result.Start = S;
  assert(Result.Stride.size() == Loops.size());
  if (!usable(S))
    return false;
  describeTriangle(Result);
  return true;
}

bool Addresses::readNumber(const Instruction &I, const Value *W, bool Signed,
                           Address &Result) {
  return splitNumber(I, W, Result) && makeNumber(Signed, Result);
}

bool Addresses::readPlace(const Instruction &I, const Value *Pointer,
                          Address &Result) {
  return splitNumber(I, Pointer, Result) && numbered(false, Result);
}

bool Addresses::makeNumber(bool Signed, Address &Result) {
  if (Result.Start->getType()->isPointerTy() && !Rows.empty())
    return false; // may lie in a row whose address is not known yet
  return numbered(Signed, Result);
}

bool Addresses::numbered(bool Signed, Address &Result) {
  if (SE.getTypeSizeInBits(Result.Start->getType()) > 64)
    return false;
  Result.Start = number(Result.Start, Signed);
  for (const SCEV *&Stride : Result.Stride)
    if (Stride)
      Stride = number(Stride, true);
  numberThrough(Result);
  return usable(Result.Start);
}

Sum Addresses::sum(const Address &X) const {
  assert(X.Stride.size() == Loops.size());
  Sum S = {X.Start, {}};
  for (size_t L = 0; L < Loops.size(); L++)
    if (X.Stride[L] && !X.Stride[L]->isZero())
      S.Terms.push_back({X.Stride[L], Extents[L]});
  return S;
}

void Addresses::chooseDirections(ArrayRef<BasicBlock *> Blocks) {
  HasLoops = true;
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
  reverseLoops(Result);
  return true;
}

// Of numbers whose sums and differences are exact in 64.
enum { FewBits = 40 };

static bool hasFewBits(const ConstantRange &R) {
  int64_t Limit = (int64_t)1 << (FewBits - 1);
  return R.getSignedMin().sge((uint64_t)-Limit) && R.getSignedMax().slt(Limit);
}

// As a signed number of 64 bits.
bool Addresses::splitIndex(const SCEV *S, const Loop &Scope, Address &Result) {
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  return SE.getTypeSizeInBits(S->getType()) <= 64 &&
         peel(widen(SE.getNoopOrSignExtend(S, I64)), Scope, Result);
}

bool Addresses::splitIndex(const Instruction &I, const Value *Number,
                           Address &Result) {
  return Number->getType()->isIntegerTy() &&
         splitIndex(valueIn(I, Number), *LI.getLoopFor(I.getParent()), Result);
}

bool Addresses::readIndex(const Instruction &I, const Value *Number,
                          Address &Result) {
  return Number->getType()->isIntegerTy() &&
         readIndex(valueIn(I, Number), *LI.getLoopFor(I.getParent()), Result);
}

bool Addresses::readIndex(const SCEV *S, const Loop &Scope, Address &Result) {
  if (!splitIndex(S, Scope, Result))
    return false;
  numberThrough(Result);
  reverseLoops(Result);
  if (hasFewBits(SE.getSignedRange(S)))
    return true;
  Bounded.push_back({FewBits, true, sum(Result)});
  return true;
}

bool Addresses::addConditions(IRNest &R) {
  R.Bounded.insert(R.Bounded.end(), Bounded.begin(), Bounded.end());
  R.Bounded.insert(R.Bounded.end(), BoundedExtents.begin(),
                   BoundedExtents.end());
  R.Counted = Counted;
  R.Assumed.insert(R.Assumed.end(), Assumed.begin(), Assumed.end());
  for (auto [X, Y] : Equal)
    if (X != Y)
      R.Equal.push_back({X, Y});
  for (const End &L : Ends) {
    Address X;
    unsigned Bits = (unsigned)SE.getTypeSizeInBits(L.Of->getType());
    if (!peel(resolve(L.Of, L.Within), *L.Within, X) ||
        !makeNumber(L.Signed, X))
      return false;
    Sum S = {X.Start, {}};
    for (size_t I = 0; I < Loops.size(); I++)
      if (X.Stride[I]) // and one iteration further, where the loop ends
        S.Terms.push_back(
            {X.Stride[I],
             SE.getAddExpr(Extents[I], SE.getOne(Extents[I]->getType()))});
    R.Bounded.push_back({std::min(Bits, 61u), L.Signed, S});
  }
  return true;
}

} // namespace nputeir
