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
#include "call_effects.h"
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

bool mayBeWritten(const LoadInst &L, const Loop &Outer, AAResults &AA) {
  MemoryLocation Array(L.getPointerOperand(),
                       LocationSize::beforeOrAfterPointer(), typeTags(L));
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      if (mayWrite(I, Array, AA))
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

// Which rows S depends on; null: none.
const RowPointers *Addresses::rowsOf(const SCEV *S) const {
  auto It = find_if(Rows, [S](const RowPointers &R) { return R.areIn(S); });
  return It == Rows.end() ? nullptr : &*It;
}

// S is so many times Unit, a positive constant; null: it is not seen to be.
const SCEV *Addresses::timesOf(const SCEV *S, const SCEV *Unit) {
  const auto *Times = dyn_cast<SCEVConstant>(Unit);
  const auto *Product = dyn_cast<SCEVMulExpr>(S);
  const auto *Factor =
      dyn_cast<SCEVConstant>(Product ? Product->getOperand(0) : S);
  if (!Times || !Factor || !Times->getAPInt().isStrictlyPositive() ||
      Factor->getAPInt().srem(Times->getAPInt()) != 0)
    return nullptr;
  const SCEV *Quotient =
      SE.getConstant(Factor->getAPInt().sdiv(Times->getAPInt()));
  if (!Product)
    return Quotient;
  SmallVector<const SCEV *, 4> Others(drop_begin(Product->operands()));
  Others.push_back(Quotient);
  return SE.getMulExpr(Others);
}

// Null: not the element of an array of addresses that moves along one loop, or
// along two.
const SCEV *Addresses::rowAddress(const LoadInst &L) {
  Address Array;
  if (!L.getType()->isPointerTy() || !Outer.contains(&L) || !L.isSimple() ||
      !isAlwaysRead(L) || !split(L, L.getPointerOperand(), Array))
    return nullptr;
  const RowPointers *Around = rowsOf(Array.Start);
  if (Around && Around->StepAround.size() == RowPointers::AroundMax)
    return nullptr;
  SmallVector<int, 2> Along;
  for (int I = 0; I < (int)Loops.size(); I++)
    if (Array.Stride[I] && !rowsOf(Array.Stride[I]))
      Along.push_back(I);
    else if (Array.Stride[I] && rowsOf(Array.Stride[I]) != Around)
      return nullptr;
  if (Along.empty() || Along.size() > 2 || mayBeWritten(L, Outer, AA))
    return nullptr;
  RowPointers New = {&L,
                     Array.Start,
                     Array.Stride[Along[0]],
                     Extents[Along[0]],
                     nullptr,
                     nullptr,
                     -1,
                     {},
                     {}};
  const SCEV *Times = nullptr; // so many rows along the second loop
  if (Along.size() == 2) {
    if (TileLoops[Along[0]] >= 0 || TileLoops[Along[1]] >= 0)
      return nullptr;
    Times = timesOf(Array.Stride[Along[1]], New.Stride);
    if (!Times) {
      std::swap(Along[0], Along[1]);
      New.Stride = Array.Stride[Along[0]];
      Times = timesOf(Array.Stride[Along[1]], New.Stride);
    }
    if (!Times)
      return nullptr;
    const SCEV *One = constant(1), *Inner = Extents[Along[0]];
    New.Counted = {{Inner, Times}, {Times, One}};
    New.Extent = SE.getAddExpr(
        Inner, SE.getMulExpr(Times, SE.getMinusSCEV(Extents[Along[1]], One)));
  }
  if (Around) {
    New.Around = (int)(Around - Rows.data());
    New.Start = SE.getMinusSCEV(Array.Start, SE.getSCEV(Around->Base));
    if (isa<SCEVCouldNotCompute>(New.Start) || isFromRows(New.Start))
      return nullptr;
  }
  if (!usable(New.Start))
    return nullptr;
  for (int I : Along)
    RowLoops.insert(Loops[(size_t)I]);
  const RowPointers &Row = rowPointers(New);
  const SCEV *Place = SE.getSCEV(Row.Base), *Step = SE.getSCEV(Row.Step);
  ValueToSCEVMapTy StepOf;
  if (Around) {
    Around = &Rows[(size_t)Row.Around];
    StepOf[Around->Step] = SE.getSCEV(Row.StepAround[0]);
    for (size_t S = 0; S < Around->StepAround.size(); S++)
      StepOf[Around->StepAround[S]] = SE.getSCEV(Row.StepAround[S + 1]);
  }
  for (int I = 0; I < (int)Loops.size(); I++)
    if (I == Along[0])
      Place = recurrence(Place, Step, I);
    else if (is_contained(Along, I))
      Place = recurrence(Place, SE.getMulExpr(Times, Step), I);
    else if (Array.Stride[I])
      Place = recurrence(
          Place, SCEVParameterRewriter::rewrite(Array.Stride[I], SE, StepOf),
          I);
  return Place;
}

const RowPointers &Addresses::rowPointers(RowPointers New) {
  for (const RowPointers &R : Rows)
    if (R.Start == New.Start && R.Stride == New.Stride &&
        R.Extent == New.Extent && R.Around == New.Around)
      return R;
  IRBuilder<> B(Outer.getLoopPreheader()->getTerminator());
  auto Placeholder = [&](Type *T) {
    return cast<Instruction>(B.CreateFreeze(UndefValue::get(T)));
  };
  assert(Outer.contains(New.Load) && usable(New.Start) && usable(New.Stride));
  New.Base = Placeholder(New.Load->getType());
  New.Step = Placeholder(B.getInt64Ty());
  for (int I = New.Around; I >= 0; I = Rows[(size_t)I].Around)
    New.StepAround.push_back(Placeholder(B.getInt64Ty()));
  Rows.push_back(New);
  return Rows.back();
}

bool RowPointers::areIn(const SCEV *S) const {
  return SCEVExprContains(S, [this](const SCEV *Part) {
    const auto *U = dyn_cast<SCEVUnknown>(Part);
    return U && (U->getValue() == Base || U->getValue() == Step ||
                 (Rest && U->getValue() == Rest) ||
                 is_contained(StepAround, U->getValue()));
  });
}

bool IRNest::areOfRows(const Apart &X) const {
  auto Is = [&](const SCEV *S) {
    return any_of(Rows, [S](const RowPointers &R) { return R.areIn(S); });
  };
  return any_of(
      ArrayRef<const Sum *>{&X.Written.Of, &X.Read.Of}, [&](const Sum *S) {
        return Is(S->Start) || any_of(S->Terms, [&](const Sum::Term &T) {
                 return Is(T.Step) || Is(T.Extent);
               });
      });
}

bool Addresses::isFromRows(const SCEV *S) const { return rowsOf(S); }

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
  if (isFromRows(Result.Start) ||
      any_of(Result.Stride, [&](const SCEV *S) { return S && isFromRows(S); }))
    return false;
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
  for (const RowPointers &X : Rows)
    R.Counted.insert(R.Counted.end(), X.Counted.begin(), X.Counted.end());
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
