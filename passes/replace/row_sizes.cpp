// row_sizes.cpp -- asks at run time whether rows that say each for itself how
// long they are have one size:
//
//     for (i = 0; i < a.size(); i++) for (k = 0; k < a[i].size(); k++) ..
//
// The nest is read as if all were as long as the first one.  It would read the
// sizes of all rows itself, because every loop has work.
#include "row_sizes.h"
#include "checks.h"

#include "ir_candidates.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "lower_cpu.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace nputeir {

// Null: not loaded along a loop of the nest.
static const SCEVAddRecExpr *readPlace(Instruction *Row, const Loop &Outer,
                                       ScalarEvolution &SE, RowSize::Place &P) {
  auto *L = Row ? const_cast<LoadInst *>(hoistedLoad(Row)) : nullptr;
  if (!L || !L->isSimple() || !Outer.contains(L))
    return nullptr;
  const auto *Rec =
      dyn_cast<SCEVAddRecExpr>(SE.getSCEV(L->getPointerOperand()));
  if (!Rec || !Rec->isAffine() || !Outer.contains(Rec->getLoop()))
    return nullptr;
  P = {L, Rec->getStart()};
  return Rec;
}

// Of a pointer that steps along in a loop, where it starts, but for a constant;
// of another one itself.
static Value *startOf(Value &Pointer, ScalarEvolution &SE) {
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&Pointer));
  if (!Rec)
    return &Pointer;
  const SCEV *Start = Rec->getStart();
  const auto *Sum = dyn_cast<SCEVAddExpr>(Start);
  if (Sum && Sum->getNumOperands() == 2 &&
      isa<SCEVConstant>(Sum->getOperand(0)))
    Start = Sum->getOperand(1);
  const auto *From = dyn_cast<SCEVUnknown>(Start);
  return From ? From->getValue() : nullptr;
}

static bool readEnds(const Instruction &I, ScalarEvolution &SE, RowSize &R) {
  Value *End = nullptr, *Begin = nullptr;
  const auto *Compare = dyn_cast<ICmpInst>(&I);
  if (Compare && Compare->getOperand(0)->getType()->isPointerTy()) {
    Value *Left = Compare->getOperand(0), *Right = Compare->getOperand(1);
    Begin = startOf(*Right, SE);
    End = Left;
    if (Begin == Right) {
      Begin = startOf(*Left, SE);
      End = Right;
    }
    if (Begin == Left && !Compare->isEquality())
      return false;
  } else if (!I.getType()->isIntegerTy(64) ||
             !match(&I, m_Sub(m_PtrToInt(m_Value(End)),
                              m_PtrToInt(m_Value(Begin))))) {
    return false;
  }
  R.End = dyn_cast_or_null<Instruction>(End);
  R.Begin = dyn_cast_or_null<Instruction>(Begin);
  return R.End && R.Begin;
}

bool readRowSize(const Instruction &I, const Loop &Outer, ScalarEvolution &SE,
                 RowSize &R) {
  enum { MaxDepth = 3 };
  if (!readEnds(I, SE, R))
    return false;
  const SCEVAddRecExpr *Ends = readPlace(R.End, Outer, SE, R.Ends),
                       *Begins = readPlace(R.Begin, Outer, SE, R.Begins);
  if (!Ends || !Begins || Ends->getLoop() != Begins->getLoop())
    return false;
  const Loop &L = *Ends->getLoop();
  const BasicBlock *Exit = exitOf(L).From;
  R.Step = Ends->getStepRecurrence(SE);
  if (R.Step != Begins->getStepRecurrence(SE) || depthOf(L) > MaxDepth ||
      Exit != L.getHeader())
    return false;
  R.Count = SE.getExitCount(&L, Exit);
  if (isa<SCEVCouldNotCompute>(R.Count) ||
      SE.getTypeSizeInBits(R.Count->getType()) > 64)
    return false;
  R.Count = SE.getNoopOrZeroExtend(R.Count, Type::getInt64Ty(SE.getContext()));
  Expander Code(SE, *I.getModule());
  return all_of(ArrayRef({R.Ends.Start, R.Begins.Start, R.Step, R.Count}),
                [&](const SCEV *S) {
                  return SE.isLoopInvariant(S, &Outer) &&
                         SE.properlyDominates(S, Outer.getHeader()) &&
                         Code.isSafe(S);
                });
}

// What it takes to ask for sizes and where rows lie is won back by 8x8x8
// doubles with AVX-512, but not by 16x16 times a vector.
static Value *isMuch(const IRNest &N, ScalarEvolution &SE, const Plan &P,
                     Instruction *At) {
  enum { MUCH = 256, MUCH_OF_VECTOR = 1024 };
  int64_t Least = P.LeastMacs >= 0                 ? P.LeastMacs
                  : P.Cpu && cpuIsOfVector(*P.Cpu) ? MUCH_OF_VECTOR
                                                   : MUCH;
  Checks Front(N, SE, At);
  return Front.B.CreateICmpUGE(Front.iterations(),
                               Front.B.getInt64((uint64_t)Least));
}

void checkRowSizes(ArrayRef<RowSize> All, Loop &Outer, LoopInfo &LI,
                   ScalarEvolution &SE, DominatorTree &DT, IRNest &N,
                   const Plan &P) {
  if (All.empty())
    return;
  FrontBranch Ask = branchIfLoopsRun(
      Outer, N, LI, SE, DT,
      isMuch(N, SE, P, Outer.getLoopPreheader()->getTerminator()));
  Expander Code(SE, *Outer.getHeader()->getModule());
  Value *Holds = ConstantInt::getTrue(SE.getContext());
  for (const RowSize &R : All) {
    auto Expand = [&](const SCEV *S) {
      Value *V = Code.expand(S, S->getType(), Ask.Then);
      return IRBuilder<>(Ask.Then).CreateFreeze(V);
    };
    Value *Ends = Expand(R.Ends.Start), *Begins = Expand(R.Begins.Start),
          *Step = Expand(R.Step), *Count = Expand(R.Count);
    auto Bytes = [&](BasicBlock *At, Value *I) {
      IRBuilder<> B(At);
      B.SetCurrentDebugLocation(Ask.End->getDebugLoc());
      Value *Offset = B.CreateMul(I, Step);
      auto Row = [&](Value *Array, const LoadInst &Load) {
        Value *Place = B.CreateGEP(
            B.getInt8Ty(),
            B.CreatePointerCast(Array, bytePointer(B.getContext())), Offset);
        Value *Row = B.CreateAlignedLoad(
            Load.getType(),
            B.CreatePointerCast(Place, pointerTo(Load.getType())),
            Load.getAlign());
        return B.CreatePtrToInt(Row, B.getInt64Ty());
      };
      Value *End = Row(Ends, *R.Ends.Load);
      return B.CreateSub(End, Row(Begins, *R.Begins.Load));
    };
    Value *Same =
        areEvenlySpaced(Ask.Then, Count, R.First,
                        ConstantInt::get(Count->getType(), 0), Bytes, LI, DT);
    Holds = IRBuilder<>(Ask.Then).CreateAnd(Holds, Same);
  }
  N.Assumed.push_back({Ask.join(Holds), true});
}

} // namespace nputeir
