// interchange.cpp -- a nest that scatters its products, as loops around a nest
// whose iterations have elements of their own:
//
//     for i, j, c:  for ky, kx, o:
//       y[i * s + ky][j * s + kx][o] += x[i][j][c] * w[c][ky][kx][o];
//
// becomes
//
//     before:  rounds are few, and large; the arrays are apart ? rounds : whole
//     rounds:  for ky, kx:                            each of them a product
//                for i, j, c:  for o:  y[..] += ..
//     whole:   the nest as it was
//
// as of a transposed convolution, or the gradient of a convolution's input.  A
// round is the nest with one iteration of the loops that were taken out of it.
// If neither a device nor code for the processor does the first one, the nest
// runs as it was.
// All that it does is to add to elements, which may be done in any order, if
// what is added is made of nothing that the nest writes.
//
// Two loops scatter if one moves the result and one factor, the other the
// result and the other factor, and the larger of their steps is a multiple of
// the smaller one that may be less than the whole way of the smaller one.  Both
// have to be of such a pair because a result whose places are numbered through
// has strides that are multiples of each other, too: then the sizes are factors
// of the strides, or else it is asked in front of the nest.  What is left of
// either kind of loops are rows and columns of a round.  It is a guess only:
// the nest of a round is asked whether its places are its own, as any other.
//
// In the same way loops go outside that stand between the rows of a triangle
// and its columns, and those around it, if they move the result and a factor (a
// batch, the heads of attention): what is left is a triangle (triangles.cpp).
//
//     for t < n:  for h:
//       for u <= t, i:  s[h][t][u] += q[t][h][i] * k[u][h][i];
#include "interchange.h"
#include "counted_nest.h"

#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

class Interchange : CountedNest {
  enum {
    BlocksMax = 64,
    SerialMax = 4,
    // By which a constant stride is less than a whole row.
    RatioMax = 16,
    // More rounds, or less work in each, are not worth it.
    RoundsMax = 256,
    MacsLeast = 1 << 12
  };
  StoreInst *Update = nullptr;
  LoadInst *SoFar = nullptr;
  SmallVector<Loop *, 8> Loops; // all of the nest, the outer one first
  LoopSteps Out, In[2];         // how the loops move result and factors
  struct Pair {
    Loop *Of[2];               // loop Of[i] moves factor i
    const SCEV *Large, *Small; // their steps
    Loop *Finer;               // which has the smaller one
    bool IsKnown;              // that they scatter
  };
  SmallVector<Pair, 4> Pairs;
  SmallVector<Loop *, SerialMax> Serial; // which go outside, in this order

public:
  Interchange(Loop &L, LoopFacts &Facts) : CountedNest(L, Facts) {}

  bool isOne() {
    return mayBe() && findLoops(false) && findPairs() && chooseSerial();
  }

  bool hasBatches() { return mayBe() && findLoops(true) && chooseBatches(); }

private:
  bool mayBe() {
    return canBeCopied(L) && L.getNumBlocks() <= BlocksMax && !isUsedAfter(L) &&
           !isUntold(L) && findUpdate();
  }

  // ---- is it one? ----

  // V is the sum so far and something else, in an order that may be changed.
  static const Value *sumIn(const Value *V, const LoadInst &SoFar) {
    const auto *I = dyn_cast<Instruction>(V);
    if (!I || (isa<FPMathOperator>(I) && !I->hasAllowReassoc()))
      return nullptr;
    if (I->getOpcode() == Instruction::Add ||
        I->getOpcode() == Instruction::FAdd)
      return is_contained(I->operands(), &SoFar) ? I : nullptr;
    const auto *Call = dyn_cast<IntrinsicInst>(I);
    return Call && Call->getIntrinsicID() == Intrinsic::fmuladd &&
                   Call->getArgOperand(2) == &SoFar
               ? I
               : nullptr;
  }

  // The nest adds to elements of one array, and reads no other element of it.
  bool findUpdate() {
    SmallVector<Instruction *, 8> Accesses;
    if (!findAccesses(L, Accesses))
      return false;
    for (Instruction *I : Accesses)
      if (auto *S = dyn_cast<StoreInst>(I)) {
        if (Update)
          return false;
        Update = S;
      }
    if (!Update)
      return false;
    for (Instruction *I : Accesses)
      if (auto *X = dyn_cast<LoadInst>(I);
          X && X->getParent() == Update->getParent() && X->hasOneUse() &&
          X->getType() == Update->getValueOperand()->getType() &&
          Places.placeOf(*X) == Places.placeOf(*Update) &&
          sumIn(Update->getValueOperand(), *X))
        SoFar = X;
    const SCEV *Place;
    if (!SoFar || !Update->getValueOperand()->hasOneUse() ||
        !stepsOf(*Update, Place, Out))
      return false;
    unsigned Factors = 0;
    for (Instruction *I : Accesses) {
      LoopSteps Step;
      if (I == Update || I == SoFar)
        continue;
      if (!Places.areApart(*Update, *I) || !stepsOf(*I, Place, Step))
        return false;
      if (Step.empty())
        continue;
      if (Factors == 2)
        return false;
      In[Factors++] = std::move(Step);
    }
    return Factors == 2;
  }

  // Loops around the sum do nothing else.
  bool findLoops(bool MayBeUneven) {
    for (Loop *X : L.getLoopsInPreorder()) {
      if (!(MayBeUneven ? iterations(*X) != nullptr : runsEvenly(*X)) ||
          (X->contains(Update) && (!countsOnly(*X) || isUsedAfter(*X))))
        return false;
      Loops.push_back(X);
    }
    return true;
  }

  // ---- which loops scatter? ----

  struct Factors {
    int64_t Constant = 1;
    SmallVector<const SCEV *, 8> Others;

    void add(const SCEV *S) {
      S = bare(S);
      const auto *C = dyn_cast<SCEVConstant>(S);
      if (C && C->getAPInt().isSignedIntN(32) &&
          !MulOverflow(Constant, C->getAPInt().getSExtValue(), Constant))
        return;
      const auto *M = dyn_cast<SCEVMulExpr>(S);
      if (!M)
        Others.push_back(S);
      else
        for (const SCEV *Factor : M->operands())
          add(Factor);
    }
    // False: Divisor is no part of it.
    bool divide(const Factors &Divisor) {
      if (Divisor.Constant == 0 || Constant % Divisor.Constant != 0)
        return false;
      Constant /= Divisor.Constant;
      return all_of(Divisor.Others, [&](const SCEV *S) {
        auto *At = find(Others, S);
        if (At == Others.end())
          return false;
        Others.erase(At);
        return true;
      });
    }
  };

  // How often Small goes into Large, if that may be less than its iterations.
  static bool mayScatter(const SCEV *Large, const SCEV *Small,
                         const SCEV *Times, bool &IsKnown) {
    Factors Ratio, Divisor;
    Ratio.add(Large);
    Divisor.add(Small);
    if (!Ratio.divide(Divisor))
      return false;
    const auto *N = dyn_cast<SCEVConstant>(Times);
    bool IsNumber = Ratio.Others.empty();
    int64_t Least = std::abs(Ratio.Constant); // others are one at least
    IsKnown = IsNumber && (N || Least == 1);
    if (N)
      return N->getAPInt().sgt(Least);
    return IsNumber ? Least <= RatioMax
                    : !is_contained(Ratio.Others, bare(Times));
  }

  // Tiles goes on where all iterations of X have ended.
  bool isOverTiles(const Loop &Tiles, const Loop &X) {
    return all_of(ArrayRef{&Out, &In[0], &In[1]}, [&](const LoopSteps *Step) {
      const SCEV *Small = Step->lookup(&X), *Large = Step->lookup(&Tiles);
      return !Small ? !Large : Large == SE.getMulExpr(Small, iterations(X));
    });
  }

  // Rows and columns that are cut into tiles are as many as memory has, though
  // nobody can see it: the last tiles would be partial ones otherwise.
  bool isOfTiles(const Pair &P) {
    auto IsWithin = [&](const Loop *X) {
      return any_of(Loops, [&](Loop *Y) { return isOverTiles(*Y, *X); });
    };
    auto IsOver = [&](const Loop *X) {
      return any_of(Loops, [&](Loop *Y) { return isOverTiles(*X, *Y); });
    };
    return any_of(P.Of, IsWithin) || all_of(P.Of, IsOver);
  }

  void addPair(Loop &X, Loop &Y) {
    Pair P = {{&X, &Y}, nullptr, nullptr, nullptr, false};
    for (Loop *Fine : P.Of) {
      Loop *Coarse = Fine == &X ? &Y : &X;
      P.Large = Out[Coarse];
      P.Small = Out[Fine];
      P.Finer = Fine;
      if (mayScatter(P.Large, P.Small, iterations(*Fine), P.IsKnown) &&
          (P.IsKnown || !isOfTiles(P))) {
        Pairs.push_back(P);
        return;
      }
    }
  }

  // X moves the result and this factor alone.
  bool isOf(const Loop &X, int Factor) const {
    return Out.count(&X) && In[Factor].count(&X) && !In[1 - Factor].count(&X);
  }

  bool findPairs() {
    for (Loop *X : Loops)
      for (Loop *Y : Loops)
        if (isOf(*X, 0) && isOf(*Y, 1))
          addPair(*X, *Y);
    if (any_of(Pairs, [](const Pair &P) { return P.IsKnown; }))
      // What else may be less is the result's sizes, mostly.
      erase_if(Pairs, [](const Pair &P) { return !P.IsKnown; });
    return !Pairs.empty();
  }

  // The loops that move this factor in pairs; false: no rows, or no columns,
  // would be left.
  bool takeOut(int Factor) {
    Serial.clear();
    for (Loop *X : Loops)
      if (any_of(Pairs, [&](const Pair &P) { return P.Of[Factor] == X; }))
        Serial.push_back(X);
    return Serial.size() <= SerialMax && any_of(Loops, [&](const Loop *X) {
             return isOf(*X, Factor) && !is_contained(Serial, X);
           });
  }

  // The kernel's loops make the smaller steps; of equal ones they are within.
  bool isKernel(int Factor) const {
    return all_of(Pairs, [&](const Pair &P) {
      const Loop *X = P.Of[Factor], *Other = P.Of[1 - Factor];
      return P.Large == P.Small ? Other->contains(X) : P.Finer == X;
    });
  }

  bool isOfSum(const Loop &X) const {
    return !Out.count(&X) && In[0].count(&X) && In[1].count(&X);
  }

  bool chooseSerial() {
    int First = isKernel(0) ? 0 : 1;
    return any_of(Loops, [&](const Loop *X) { return isOfSum(*X); }) &&
           (takeOut(First) || takeOut(1 - First));
  }

  // ---- which are batches around a triangle? ----

  bool isBatch(const Loop &X) {
    return Out.count(&X) && (In[0].count(&X) || In[1].count(&X)) &&
           runsEvenly(X);
  }

  bool chooseBatches() {
    bool Any = false;
    for (const Loop *Columns : Loops) {
      const auto *N = dyn_cast<SCEVAddRecExpr>(iterations(*Columns));
      const Loop *Rows = N ? N->getLoop() : nullptr;
      if (!Columns->contains(Update) || !Rows || !L.contains(Rows))
        continue;
      for (Loop *X : Loops)
        if (X != Columns && X != Rows && X->contains(Columns) && isBatch(*X) &&
            !is_contained(Serial, X)) {
          Any |= Rows->contains(X);
          Serial.push_back(X);
        }
    }
    return Any && Serial.size() <= SerialMax;
  }

  // ---- in front ----

  // Iterations of different loops add to one element.
  Value *isScattered(Checks &C, const Pair &P) {
    IRBuilder<> &B = C.B;
    auto Size = [&](const SCEV *Step) {
      return B.CreateBinaryIntrinsic(Intrinsic::abs, C.frozen(Step, I64),
                                     B.getFalse());
    };
    Value *Large = Size(P.Large), *Small = Size(P.Small);
    return B.CreateICmpSLT(
        Large, B.CreateMul(Small, C.frozen(iterations(*P.Finer), I64)));
  }

  Value *mayBeInterchanged(Checks &C) {
    IRBuilder<> &B = C.B;
    Value *Good = Places.hold(C);
    if (Pairs.empty())
      return Good;
    Value *One = B.getInt64(1), *Rounds = One, *Macs = One;
    Value *OfMatrix[] = {One, One, One}; // rows, columns, and the sum
    for (Loop *X : Loops) {
      Value *N = C.frozen(iterations(*X), I64);
      Value *&All = is_contained(Serial, X) ? Rounds : Macs;
      All = times(B, All, N, Good);
      if (!is_contained(Serial, X))
        for (int I = 0; I < 3; I++)
          if (I < 2 ? isOf(*X, I) : isOfSum(*X))
            OfMatrix[I] = times(B, OfMatrix[I], N, Good);
    }
    Good = B.CreateAnd(Good, B.CreateICmpULE(Rounds, B.getInt64(RoundsMax)));
    Good = B.CreateAnd(Good, B.CreateICmpUGE(Macs, B.getInt64(MacsLeast)));
    for (Value *N : OfMatrix)
      Good = B.CreateAnd(Good, B.CreateICmpUGT(N, One));
    if (Pairs.front().IsKnown)
      return Good; // the nest is never taken as a whole
    Value *Any = B.getFalse();
    for (const Pair &P : Pairs)
      Any = B.CreateOr(Any, isScattered(C, P));
    return B.CreateAnd(Good, Any);
  }

  // ---- the rounds ----

  BasicBlock *create(const char *Name) {
    return BasicBlock::Create(I64->getContext(), Name,
                              L.getHeader()->getParent(), L.getHeader());
  }

  // The loops around, from the end of Enter on, about Body, at the end of which
  // is Done, to Exit.
  void addLoops(BasicBlock *Enter, BasicBlock *Body, BasicBlock *Done,
                BasicBlock *Exit, ArrayRef<Value *> Times,
                SmallVectorImpl<PHINode *> &Round) {
    BasicBlock *From = Enter, *To = Exit;
    IRBuilder<> B(I64->getContext());
    B.SetCurrentDebugLocation(DL);
    for (size_t I = 0; I < Times.size(); I++) {
      bool IsLast = I + 1 == Times.size();
      BasicBlock *Head = create("nputeir.round");
      BasicBlock *Next = IsLast ? Done : create("nputeir.next");
      B.SetInsertPoint(From);
      if (From == Enter)
        B.CreateBr(Head);
      else
        cast<BranchInst>(From->getTerminator())->setSuccessor(0, Head);
      B.SetInsertPoint(Head);
      PHINode *P = B.CreatePHI(I64, 2, "nputeir.round");
      markRepeating(*B.CreateCondBr(B.CreateICmpSLT(P, Times[I]), Body, To));
      B.SetInsertPoint(Next);
      P->addIncoming(B.getInt64(0), From);
      P->addIncoming(B.CreateAdd(P, B.getInt64(1), "", true, true), Next);
      B.CreateBr(Head);
      Round.push_back(P);
      From = Head;
      To = Next;
    }
  }

  BasicBlock *copyWhole() {
    ValueToValueMapTy Map;
    BasicBlock *Whole = copyLoop(L, nullptr, Map);
    for (const Loop *X : Loops)
      markUntold(*cast<BasicBlock>(Map[X->getHeader()])->getTerminator());
    return Whole;
  }

  // X does iteration Round alone and is no loop any more.
  void straighten(Loop &X, Value *Round) {
    BasicBlock *Head = X.getHeader(), *End = X.getLoopLatch();
    auto *Branch = cast<BranchInst>(Head->getTerminator());
    bool GoesOn = X.contains(Branch->getSuccessor(0));
    BasicBlock *Body = Branch->getSuccessor(GoesOn ? 0 : 1);
    BasicBlock *Exit = Branch->getSuccessor(GoesOn ? 1 : 0);
    startAt(X, nullptr, Round, X.getLoopPreheader());
    IRBuilder<> B(Branch);
    B.CreateBr(Body);
    Branch->eraseFromParent();
    Exit->replacePhiUsesWith(Head, End);
    cast<BranchInst>(End->getTerminator())->setSuccessor(0, Exit);
    Head->removePredecessor(End, /*KeepOneInputPHIs=*/true);
  }

public:
  // The first block of the nest that is done in each round.
  BasicBlock *run(const SplitBranches &Branches = {}) {
    BasicBlock *Front = L.getLoopPreheader(), *Exit = L.getExitBlock();
    Instruction *End = Front->getTerminator();
    DL = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    bool Asks = Places.asks() || !Pairs.empty();
    BranchInst *Branch =
        Pairs.empty() && Asks ? Places.branchToAskAt(Branches, DT) : nullptr;
    Checks C(SE, Branch ? Branch : End);
    C.B.SetCurrentDebugLocation(DL);
    Value *Good = mayBeInterchanged(C);
    Checks In(SE, End);
    In.B.SetCurrentDebugLocation(DL);
    if (Branch)
      Branch->setCondition(C.B.CreateAnd(Branch->getCondition(), Good));
    SmallVector<Value *, SerialMax> Times;
    for (Loop *X : Serial) {
      findSteps(*X, End);
      Times.push_back(In.frozen(iterations(*X), I64));
    }
    BasicBlock *Whole = Asks && !Branch ? copyWhole() : nullptr;
    Places.markHeld();
    BasicBlock *Begin = detach(L);
    BasicBlock *Enter = create("nputeir.rounds"),
               *Done = create("nputeir.done");
    BasicBlock *Left = L.getExitingBlock();
    SmallVector<PHINode *, SerialMax> Round;
    addLoops(Enter, Begin, Done, Exit, Times, Round);
    Exit->replacePhiUsesWith(Left, Round.front()->getParent());
    Left->getTerminator()->replaceSuccessorWith(Exit, Done);
    BasicBlock *First = nullptr;
    for (Loop *X : Loops)
      if (!First && !is_contained(Serial, X))
        First = X->getHeader();
    numberAs(L, *First->getTerminator());
    auto *Added = cast<Instruction>(Update->getValueOperand());
    if (!isa<FPMathOperator>(Added))
      Added->dropPoisonGeneratingFlags(); // others are added before
    for (size_t I = 0; I < Serial.size(); I++)
      straighten(*Serial[I], Round[I]);
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(DL);
    if (Whole)
      markRepeating(*B.CreateCondBr(Good, Enter, Whole));
    else
      B.CreateBr(Enter);
    return First;
  }
};

} // namespace

bool addsScattered(Loop &L, LoopFacts &Facts) {
  return Interchange(L, Facts).isOne();
}

bool interchange(Loop &L, LoopFacts &Facts) {
  Interchange X(L, Facts);
  bool Is = X.isOne();
  if (Is)
    X.run();
  return Is;
}

BasicBlock *takeBatchesOut(Loop &L, LoopFacts &Facts,
                           const SplitBranches &Branches) {
  Interchange X(L, Facts);
  return X.hasBatches() ? X.run(Branches) : nullptr;
}

// Into this loop, in front of which it leads; null: no branch of ours does.
static BranchInst *branchInto(const Loop &Around) {
  BasicBlock *Enter = Around.getLoopPreheader();
  BasicBlock *Front = Enter ? Enter->getSinglePredecessor() : nullptr;
  auto *Branch = Front ? dyn_cast<BranchInst>(Front->getTerminator()) : nullptr;
  return Branch && isRepeating(*Branch) && Branch->getSuccessor(0) == Enter
             ? Branch
             : nullptr;
}

void runWhole(Loop &L, PHINode *Said, LoopInfo &LI, DominatorTree &DT) {
  BasicBlock *Kept = L.getLoopPreheader();
  Instruction *End = Kept->getTerminator();
  IRBuilder<> B(End);
  Value *Nothing = B.getTrue();
  Loop *Outermost = nullptr;
  for (Loop *X = L.getParentLoop();
       X && isRepeating(*X) && X->getSubLoops().size() == 1;
       X = X->getParentLoop()) {
    Outermost = X;
    Nothing = B.CreateAnd(
        Nothing, B.CreateICmpEQ(&X->getHeader()->front(), B.getInt64(0)));
  }
  bool IsOutermost = Outermost && (!Outermost->getParentLoop() ||
                                   !isRepeating(*Outermost->getParentLoop()));
  BranchInst *Into = IsOutermost ? branchInto(*Outermost) : nullptr;
  if (!Into)
    return;
  if (Said) // else it waits for what the loop computes
    Nothing = B.CreateAnd(Nothing, B.CreateICmpULE(Said, B.getInt32(1)));
  BasicBlock *Whole = Into->getSuccessor(1);
  for (PHINode &P : Whole->phis())
    P.addIncoming(P.getIncomingValueForBlock(Into->getParent()), Kept);
  BasicBlock *Round = SplitBlock(Kept, End, &DT, &LI);
  Kept->getTerminator()->eraseFromParent();
  B.SetInsertPoint(Kept);
  B.CreateCondBr(Nothing, Whole, Round);
  DT.insertEdge(Kept, Whole);
}

} // namespace nputeir
