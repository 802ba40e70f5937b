// digits.cpp -- a loop whose counter is divided to find the indices of several
// axes, as one loop for each:
//
//     for (c = 0; c < rows; c++) { q = c % Q; r = c / Q % R; k = c / Q / R; ..
//     }
//
// An index is a digit of the counter, or several digits in a row, in a system
// whose bases are Q and R.  Where a whole number of channels, rows and columns
// is counted, which is asked in front of the nest, the digits are counters; of
// the nest another copy keeps its code:
//
//     if (Q > 0 && R > 0 && rows > 0 && rows % Q == 0 && rows / Q % R == 0)
//       ..  for (k = 0; k < rows / Q / R; k++)
//             for (r = 0; r < R; r++)
//               for (q = 0; q < Q; q++) ..         c = (k * R + r) * Q + q
//     else
//       ..  the loop as it was
//
// Groups of channels (g = o / channels) are the case of two digits.  Where the
// number of rows is written as a product of the bases and other numbers, these
// are the number of channels; else it is the quotient.
//
// Numbers are compared by their factors.  A base may be a product that wraps in
// the source; it does not where all factors divide the number of rows.
#include "digits.h"
#include "ir_exits.h"
#include "ir_loops.h"
#include "ir_marks.h"
#include "ir_sums.h"
#include "versions.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace nputeir {

static const char *const SplitMark = "nputeir.split";

void markSplit(Loop &L) { addStringMetadataToLoop(&L, SplitMark, 1); }

bool isSplit(const Loop &L) {
  for (const Loop *In = &L; In; In = In->getParentLoop())
    if (findStringMetadataForLoop(In, SplitMark))
      return true;
  return false;
}

using namespace PatternMatch;

Value *divisorOf(const User *U, const Value *V) {
  Value *By;
  const APInt *Bits;
  if (match(U, m_CombineOr(m_SDiv(m_Specific(V), m_Value(By)),
                           m_UDiv(m_Specific(V), m_Value(By)))))
    return By;
  if (match(U, m_CombineOr(m_LShr(m_Specific(V), m_APInt(Bits)),
                           m_AShr(m_Specific(V), m_APInt(Bits)))) &&
      Bits->ult(Bits->getBitWidth() - 1))
    return ConstantInt::get(
        V->getType(), APInt::getOneBitSet(Bits->getBitWidth(),
                                          (unsigned)Bits->getZExtValue()));
  return nullptr;
}

bool isRemainder(const User *U, const Value *V, const Value *By,
                 ArrayRef<Instruction *> Quotients) {
  const APInt *Number, *Mask;
  Value *Quotient;
  if (match(U, m_CombineOr(m_SRem(m_Specific(V), m_Specific(By)),
                           m_URem(m_Specific(V), m_Specific(By)))))
    return true;
  if (match(By, m_APInt(Number)) && Number->isPowerOf2() &&
      match(U, m_And(m_Specific(V), m_APInt(Mask))))
    return *Mask == *Number - 1;
  if (!match(U, m_Sub(m_Specific(V),
                      m_c_Mul(m_Value(Quotient), m_Specific(By)))) &&
      !(match(By, m_APInt(Number)) && Number->isPowerOf2() &&
        match(U,
              m_Sub(m_Specific(V), m_Shl(m_Value(Quotient),
                                         m_SpecificInt(Number->logBase2()))))))
    return false;
  return is_contained(Quotients, Quotient);
}

namespace {

enum { NestBlocksMax = 64, DigitsMax = 6, UsesMax = 200 };

// A product.
struct Factors {
  int64_t Number = 1;
  SmallVector<const SCEV *, 4> Of;

  // False: S is not a number that can be a factor.
  bool multiply(const SCEV *S) {
    if (!S->getType()->isIntegerTy() || S->getType()->getIntegerBitWidth() > 64)
      return false;
    if (isa<SCEVZeroExtendExpr, SCEVSignExtendExpr>(S))
      return multiply(cast<SCEVCastExpr>(S)->getOperand());
    if (const auto *M = dyn_cast<SCEVMulExpr>(S))
      return all_of(M->operands(),
                    [this](const SCEV *X) { return multiply(X); });
    // Of a positive number, the maximum with zero is the number.
    const auto *Max = dyn_cast<SCEVSMaxExpr>(S);
    if (Max && Max->getNumOperands() == 2 && Max->getOperand(0)->isZero())
      return multiply(Max->getOperand(1));
    const auto *C = dyn_cast<SCEVConstant>(S);
    if (!C)
      Of.push_back(S);
    return !C || (C->getAPInt().isStrictlyPositive() &&
                  !MulOverflow(Number, C->getAPInt().getSExtValue(), Number));
  }

  // False: that leaves a rest.
  bool divide(const Factors &By) {
    for (const SCEV *S : By.Of) {
      auto *At = llvm::find(Of, S);
      if (At == Of.end())
        return false;
      Of.erase(At);
    }
    bool Even = Number % By.Number == 0;
    Number /= By.Number;
    return Even;
  }

  size_t count() const { return Of.size(); }
};

bool areSame(Factors X, const Factors &Y) {
  return X.count() == Y.count() && X.Number == Y.Number && X.divide(Y);
}

// Digits of the counter: counter % To / From, or counter / From.
struct DigitRange {
  Factors From, To;
  bool HasTo = false;
};

class Digits {
  Loop &L;
  ScalarEvolution &SE;
  Loop *Nest = nullptr; // the outermost in which all numbers stay
  PHINode *Counter = nullptr;
  Instruction *Next = nullptr;
  bool Ahead = false;          // the loop's test stands before its body
  unsigned Bits = 0;           // that hold all numbers of the counter
  const SCEV *Count = nullptr; // how often it runs, in 64 bits
  SmallVector<std::pair<Instruction *, DigitRange>, 8> Indices;
  SmallVector<Factors, 4> Cuts; // where digits end, the first one first
  SmallVector<Factors, 4> Bases;
  int Uses = 0;

public:
  Digits(Loop &L, ScalarEvolution &SE) : L(L), SE(SE) {}

  bool find() {
    return findCounter() && findIndices(*Counter, DigitRange()) &&
           orderCuts() && findNest();
  }
  void split();

private:
  bool findCounter();
  bool findIndices(Value &V, const DigitRange &Is);
  bool addIndex(Instruction &I, const DigitRange &Is);
  void addCut(const Factors &X);
  bool orderCuts();
  bool findNest();
  bool stays(const SCEV *S, const Loop &Around) const;

  // ---- the copy ----

  struct Numbers {
    Value *Good;                     // the digits are whole
    SmallVector<Value *, 4> Extents; // of digits, the first one first
  };
  Numbers numbersAt(Instruction *End) const;
  const SCEV *product(const Factors &X) const;
  void count(const Numbers &N, ValueToValueMapTy &Of, BasicBlock *Before) const;
  void leave(ValueToValueMapTy &Of, Value *End, BasicBlock *To) const;
  void replace(ValueToValueMapTy &Of, ArrayRef<PHINode *> Digit,
               ArrayRef<Value *> Extents) const;
  int cutAt(const Factors &X) const;
};

// ---- what is divided ----

bool Digits::findCounter() {
  if (!canBeCopied(L) || isUsedAfter(L) || isSplit(L))
    return false;
  Counter = dyn_cast<PHINode>(&L.getHeader()->front());
  if (!Counter || isa<PHINode>(Counter->getNextNode()) ||
      !Counter->getType()->isIntegerTy() ||
      Counter->getType()->getIntegerBitWidth() > 64 ||
      !match(Counter->getIncomingValueForBlock(L.getLoopPreheader()), m_Zero()))
    return false;
  Next = dyn_cast<Instruction>(
      Counter->getIncomingValueForBlock(L.getLoopLatch()));
  auto *End = dyn_cast<BranchInst>(L.getExitingBlock()->getTerminator());
  if (!Next || !match(Next, m_c_Add(m_Specific(Counter), m_One())) || !End ||
      !End->isConditional() || any_of(Next->users(), [&](const User *U) {
        return U != Counter && U != End->getCondition();
      }))
    return false;
  Ahead = exitsBeforeBody(L);
  Count = SE.getBackedgeTakenCount(&L);
  if ((!Ahead && L.getExitingBlock() != L.getLoopLatch()) ||
      isa<SCEVCouldNotCompute>(Count) ||
      SE.getTypeSizeInBits(Count->getType()) > 64)
    return false;
  Count = SE.getNoopOrZeroExtend(Count, Type::getInt64Ty(SE.getContext()));
  if (!Ahead)
    Count = SE.getAddExpr(Count, SE.getOne(Count->getType()));
  Bits = Counter->getType()->getIntegerBitWidth();
  return true;
}

void Digits::addCut(const Factors &X) {
  if (cutAt(X) < 0 && !areSame(X, Factors()))
    Cuts.push_back(X);
}

static bool isDivided(const Value &V) {
  return all_of(V.users(), [&](const User *U) {
    return divisorOf(U, &V) ||
           match(U, m_CombineOr(m_SRem(m_Specific(&V), m_Value()),
                                m_URem(m_Specific(&V), m_Value())));
  });
}

// What is only divided further needs no digits of its own.
bool Digits::addIndex(Instruction &I, const DigitRange &Is) {
  Bits = std::min(Bits, I.getType()->getIntegerBitWidth());
  if (!isDivided(I)) {
    addCut(Is.From);
    if (Is.HasTo)
      addCut(Is.To);
    Indices.push_back({&I, Is});
  }
  return Cuts.size() <= DigitsMax && findIndices(I, Is);
}

// V is that slice.
bool Digits::findIndices(Value &V, const DigitRange &Is) {
  SmallVector<Instruction *, 4> Quotients;
  SmallVector<Value *, 4> Divisors;
  auto Add = [&](Instruction &I, Value *By, bool IsQuotient) {
    DigitRange Part = Is;
    Factors &End = IsQuotient ? Part.From : Part.To;
    if (!IsQuotient)
      Part.To = Is.From;
    Part.HasTo |= !IsQuotient;
    const SCEV *Number = SE.getSCEV(By);
    return SE.isLoopInvariant(Number, &L) && End.multiply(Number) &&
           addIndex(I, Part);
  };
  for (User *U : V.users()) {
    auto *I = cast<Instruction>(U);
    if (++Uses > UsesMax)
      return false;
    if (isa<CastInst>(I) && I->getType()->isIntegerTy()) {
      Bits = std::min(Bits, I->getType()->getIntegerBitWidth());
      if (!findIndices(*I, Is))
        return false;
    }
    Value *By = divisorOf(U, &V);
    if (!By)
      continue;
    if (!Add(*I, By, true))
      return false;
    Quotients.push_back(I);
    Divisors.push_back(By);
  }
  for (User *U : V.users()) {
    Value *By = nullptr;
    const APInt *Mask;
    if (!match(U, m_CombineOr(m_SRem(m_Specific(&V), m_Value(By)),
                              m_URem(m_Specific(&V), m_Value(By)))) &&
        match(U, m_And(m_Specific(&V), m_APInt(Mask))) && Mask->isMask() &&
        !Mask->isAllOnes() && !Mask->isMaxSignedValue())
      By = ConstantInt::get(V.getType(), *Mask + 1);
    for (Value *D : Divisors)
      By = By || !isRemainder(U, &V, D, Quotients) ? By : D;
    if (By && !Add(*cast<Instruction>(U), By, false))
      return false;
  }
  return true;
}

int Digits::cutAt(const Factors &X) const {
  for (size_t C = 0; C < Cuts.size(); C++)
    if (areSame(Cuts[C], X))
      return (int)C;
  return -1;
}

// Each cut is the one before times a base.
bool Digits::orderCuts() {
  llvm::stable_sort(Cuts, [](const Factors &X, const Factors &Y) {
    return X.count() != Y.count() ? X.count() < Y.count() : X.Number < Y.Number;
  });
  for (size_t C = 0; C < Cuts.size(); C++) {
    Bases.push_back(Cuts[C]);
    if (C > 0 && !Bases.back().divide(Cuts[C - 1]))
      return false;
  }
  return !Cuts.empty();
}

bool Digits::stays(const SCEV *S, const Loop &Around) const {
  const BasicBlock *First = Around.getHeader();
  return SE.isLoopInvariant(S, &Around) && SE.properlyDominates(S, First) &&
         Expander(SE, *First->getModule()).isSafe(S);
}

// Beside what a copy fills.
static bool mayMultiply(const Loop &L) {
  return !copiesOnly(L) || any_of(L.blocks(), [](const BasicBlock *B) {
    return any_of(*B, [](const Instruction &I) {
      return isa<CallBase>(I) && !isa<IntrinsicInst>(I);
    });
  });
}

bool Digits::findNest() {
  auto AllStay = [&](const Loop &Around) {
    return stays(Count, Around) && all_of(Cuts.back().Of, [&](const SCEV *S) {
             return stays(S, Around);
           });
  };
  if (!AllStay(L))
    return false;
  Nest = &L;
  while (Loop *Around = Nest->getParentLoop()) { // each loop around once
    if (!AllStay(*Around) || (copiesOnly(L) && mayMultiply(*Around)))
      break;
    Nest = Around;
  }
  if (!canBeCopied(*Nest) || isUsedAfter(*Nest) ||
      Nest->getNumBlocks() > NestBlocksMax)
    return false;
  for (const BasicBlock *B : Nest->blocks())
    for (const Instruction &I : *B)
      if (isa<CallBase>(I) && cast<CallBase>(I).cannotDuplicate())
        return false;
  return true;
}

// ---- the copy ----

const SCEV *Digits::product(const Factors &X) const {
  Type *T = Counter->getType();
  const SCEV *S = SE.getConstant(T, (uint64_t)X.Number);
  for (const SCEV *Factor : X.Of)
    S = SE.getMulExpr(S, SE.getTruncateOrSignExtend(Factor, T));
  return S;
}

Digits::Numbers Digits::numbersAt(Instruction *End) const {
  IRBuilder<> B(End);
  B.SetCurrentDebugLocation(L.getStartLoc());
  Expander Expand(SE, *End->getModule());
  Type *I64 = B.getInt64Ty(), *T = Counter->getType();
  Value *One = B.getInt64(1), *Zero = B.getInt64(0);
  auto Number = [&](const SCEV *S) {
    Value *V = Expand.expand(S, S->getType(), End);
    V = isa<Constant>(V) ? V : B.CreateFreeze(V);
    return B.CreateSExt(V, I64);
  };
  Numbers N;
  Value *Left = Number(Count);
  N.Good = B.CreateICmpSGT(Left, Zero);
  if (Bits < 64)
    N.Good = B.CreateAnd(
        N.Good, B.CreateICmpSLT(Left, B.getInt64((uint64_t)1 << (Bits - 1))));
  auto Divide = [&](Value *By) {
    N.Good = B.CreateAnd(N.Good, B.CreateICmpEQ(B.CreateSRem(Left, By), Zero));
    Left = B.CreateSDiv(Left, By);
  };
  for (const Factors &Base : Bases) {
    if (Base.Number > 1)
      Divide(B.getInt64((uint64_t)Base.Number));
    for (const SCEV *S : Base.Of) {
      Value *By = Number(S);
      N.Good = B.CreateAnd(N.Good, B.CreateICmpSGT(By, Zero));
      Divide(B.CreateBinaryIntrinsic(Intrinsic::smax, By, One));
    }
    N.Extents.push_back(Expand.expand(product(Base), T, End));
  }
  Factors Rest;
  if (Rest.multiply(Count) && Rest.divide(Cuts.back()) &&
      all_of(Rest.Of, [&](const SCEV *S) { return stays(S, *Nest); })) {
    Value *Product = B.getInt64((uint64_t)Rest.Number);
    for (const SCEV *S : Rest.Of)
      Product = B.CreateMul(Product, Number(S));
    N.Good = B.CreateAnd(N.Good, B.CreateICmpEQ(Left, Product));
    N.Extents.push_back(Expand.expand(product(Rest), T, End));
  } else
    // ScalarEvolution would not compute a quotient again elsewhere.
    N.Extents.push_back(B.CreateFreeze(B.CreateTrunc(Left, T)));
  return N;
}

void Digits::split() {
  BasicBlock *Front = L.getLoopPreheader();
  ValueToValueMapTy Of;
  Instruction *End = Nest->getLoopPreheader()->getTerminator();
  Numbers N = numbersAt(End);
  BasicBlock *Copied = copyLoop(*Nest, nullptr, Of);
  markSplit(*Nest);
  if (&L != Nest)
    markSplit(L);
  IRBuilder<> B(End);
  B.SetCurrentDebugLocation(L.getStartLoc());
  B.CreateCondBr(N.Good, Copied, Nest->getHeader());
  End->eraseFromParent();
  count(N, Of, cast<BasicBlock>(Of[Front]));
}

// The copy of the loop becomes one for each digit, the last one outermost.
void Digits::count(const Numbers &N, ValueToValueMapTy &Of,
                   BasicBlock *Before) const {
  Type *T = Counter->getType();
  Function &F = *Before->getParent();
  LLVMContext &X = F.getContext();
  auto *First = cast<BasicBlock>(Of[L.getHeader()]);
  auto *Out = cast_or_null<BasicBlock>(Of.lookup(L.getExitBlock()));
  Out = Out ? Out : L.getExitBlock();
  auto *Digit = cast<PHINode>(Of[Counter]);
  SmallVector<PHINode *, 4> Counters = {Digit};
  IRBuilder<> B(X);
  B.SetCurrentDebugLocation(L.getStartLoc());
  BasicBlock *Inner = First;
  SmallVector<BasicBlock *, 4> Heads, Ends;
  for (size_t D = 1; D < N.Extents.size(); D++) {
    auto *Head = BasicBlock::Create(X, "nputeir.digit", &F, Inner);
    auto *Body = BasicBlock::Create(X, "nputeir.digits", &F, Inner);
    auto *Last = BasicBlock::Create(X, "nputeir.digit.end", &F, Inner);
    B.SetInsertPoint(Head);
    Counters.push_back(B.CreatePHI(T, 2));
    Heads.push_back(Head);
    B.SetInsertPoint(Body);
    B.CreateBr(Inner);
    B.SetInsertPoint(Last);
    Counters.back()->addIncoming(
        B.CreateAdd(Counters.back(), ConstantInt::get(T, 1), "", true, true),
        Last);
    B.CreateBr(Head);
    Ends.push_back(Last);
    if (D == 1) {
      leave(Of, N.Extents[0], Last);
      Digit->replaceIncomingBlockWith(Before, Body);
    } else
      Counters[D - 1]->addIncoming(ConstantInt::get(T, 0), Body);
    Inner = Head;
  }
  Counters.back()->addIncoming(ConstantInt::get(T, 0), Before);
  Before->getTerminator()->replaceUsesOfWith(First, Inner);
  Out->replacePhiUsesWith(cast<BasicBlock>(Of[L.getExitingBlock()]), Inner);
  for (size_t D = 0; D < Heads.size(); D++) {
    B.SetInsertPoint(Heads[D]);
    B.CreateCondBr(B.CreateICmpSLT(Counters[D + 1], N.Extents[D + 1]),
                   Heads[D]->getNextNode(),
                   D + 1 < Heads.size() ? Ends[D + 1] : Out);
  }
  numberAs(L, *Inner->getTerminator());
  replace(Of, Counters, N.Extents);
}

// The copy's counter stays below End.
void Digits::leave(ValueToValueMapTy &Of, Value *End, BasicBlock *To) const {
  auto *From = cast<BasicBlock>(Of[L.getExitingBlock()]);
  auto *Old = cast<BranchInst>(From->getTerminator());
  bool Stays =
      L.contains(L.getExitingBlock()->getTerminator()->getSuccessor(0));
  BasicBlock *On = Old->getSuccessor(Stays ? 0 : 1);
  Value *Test = Old->getCondition();
  IRBuilder<> B(Old);
  B.CreateCondBr(
      B.CreateICmpSLT(Of[Ahead ? (Instruction *)Counter : Next], End), On, To);
  Old->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(Test);
}

void Digits::replace(ValueToValueMapTy &Of, ArrayRef<PHINode *> Digit,
                     ArrayRef<Value *> Extents) const {
  auto *First = cast<BasicBlock>(Of[L.getHeader()]);
  auto *Old = cast<PHINode>(Of[Counter]);
  SmallPtrSet<const Value *, 16> New; // that are made of the first digit
  for (const User *U : Old->users())
    if (U == Of[Next] || U == First->getTerminator() ||
        (isa<ICmpInst>(U) && any_of(U->users(), [&](const User *By) {
           return By ==
                  cast<BasicBlock>(Of[L.getExitingBlock()])->getTerminator();
         })))
      New.insert(U);
  IRBuilder<> B(&*First->getFirstInsertionPt());
  B.SetCurrentDebugLocation(L.getStartLoc());
  auto Between = [&](int From, int To) { // of digits
    Value *N = Digit[(size_t)To - 1];
    for (int D = To - 2; D >= From; D--) {
      N = B.CreateMul(N, Extents[(size_t)D], "", true, true);
      N = B.CreateAdd(N, Digit[(size_t)D], "", true, true);
      New.insert(N);
    }
    return N;
  };
  Value *Whole = Between(0, (int)Digit.size());
  SmallVector<std::pair<Instruction *, Value *>, 8> By;
  for (const auto &[I, Is] : Indices) {
    int To = Is.HasTo ? cutAt(Is.To) + 1 : (int)Digit.size();
    Value *V =
        B.CreateIntCast(Between(cutAt(Is.From) + 1, To), I->getType(), true);
    New.insert(V);
    By.push_back({cast<Instruction>(Of[I]), V});
  }
  Old->replaceUsesWithIf(Whole,
                         [&](Use &U) { return !New.count(U.getUser()); });
  for (auto [I, V] : By)
    I->replaceAllUsesWith(V);
  SmallVector<WeakTrackingVH, 8> Dead;
  for (auto [I, V] : By)
    Dead.push_back(I);
  for (WeakTrackingVH &V : Dead)
    if (auto *I = dyn_cast_or_null<Instruction>(V))
      RecursivelyDeleteTriviallyDeadInstructions(I);
}

} // namespace

// ---- what is counted beside ----

static PHINode *counterOf(const Loop &L, ScalarEvolution &SE) {
  for (PHINode &P : L.getHeader()->phis()) {
    const auto *Rec = P.getType()->isIntegerTy()
                          ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&P))
                          : nullptr;
    if (Rec && Rec->getLoop() == &L && Rec->getStart()->isZero() &&
        Rec->isAffine() && Rec->getStepRecurrence(SE)->isOne() &&
        Rec->hasNoSignedWrap())
      return &P;
  }
  return nullptr;
}

static bool isEverDivided(const Value &V) {
  return any_of(V.users(), [&](const User *U) {
    return divisorOf(U, &V) ||
           (isa<SExtInst, ZExtInst>(U) && isEverDivided(*U));
  });
}

void countPointers(Loop &L, ScalarEvolution &SE) {
  PHINode *Counter = L.getLoopPreheader() ? counterOf(L, SE) : nullptr;
  if (!Counter || !isEverDivided(*Counter) || isUsedAfter(L))
    return;
  Type *I64 = Type::getInt64Ty(SE.getContext());
  SmallVector<std::pair<PHINode *, const SCEVConstant *>, 4> Others;
  for (PHINode &P : L.getHeader()->phis()) {
    if (&P == Counter)
      continue;
    const auto *Rec = P.getType()->isPointerTy()
                          ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&P))
                          : nullptr;
    const auto *Step = Rec && Rec->getLoop() == &L && Rec->isAffine()
                           ? dyn_cast<SCEVConstant>(Rec->getStepRecurrence(SE))
                           : nullptr;
    if (!Step || Step->getType() != I64)
      return;
    Others.push_back({&P, Step});
  }
  IRBuilder<> B(&*L.getHeader()->getFirstInsertionPt());
  for (auto [P, Step] : Others) {
    Value *Way = B.CreateMul(B.CreateSExt(Counter, I64), Step->getValue());
    Value *Start = P->getIncomingValueForBlock(L.getLoopPreheader());
    Value *Byte = B.CreatePointerCast(Start, bytePointer(SE.getContext()));
    Value *Place = B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), Byte, Way),
                                       P->getType());
    SE.forgetValue(P);
    P->replaceAllUsesWith(Place);
    P->eraseFromParent();
  }
  if (!Others.empty())
    SE.forgetLoop(&L);
}

bool splitDigits(Loop &L, ScalarEvolution &SE) {
  Digits D(L, SE);
  if (!D.find())
    return false;
  D.split();
  return true;
}

} // namespace nputeir
