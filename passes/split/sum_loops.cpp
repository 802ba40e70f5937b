// sum_loops.cpp -- sums of products that are formed before the rest of their
// nest, whatever that is:
//
//     for i, j: s = 0;  for k: s += a[i][k] * b[k][j];  c[i][j] = f(s);
//
// This is loop distribution with an array for the value that crosses over:
//
//     before:  all loops have work ? get : on
//     get:     array = malloc(a sum per iteration of i, j)
//     on:      array is there, nothing of what is multiplied is written by the
//              nest, .. ? offer : kept            (rewrite.cpp)
//     offer:   the call, and the processor's code, fill the array
//     done:    for i, j:  c[i][j] = f(array[i][j]);   release the array
//     kept:    the nest as it was;                    release the array
//
// The other code runs in its order, with all its effects, behind the products.
// So nothing may be written by it that the products read: another object, by
// what is known of pointers, or places apart, which is asked at run time.
#include "sum_loops.h"
#include "checks.h"
#include "ir_code.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_memory.h"
#include "ir_sums.h"
#include "row_pointers.h"
#include "zero_skips.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace nputeir {

// ---- which loops ----

static bool onlyComputes(const Loop &L) {
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (I.mayHaveSideEffects() && !isa<DbgInfoIntrinsic>(I))
        return false;
  return true;
}

static bool isSum(const PHINode &P, const Loop &L) {
  const auto *Last = P.getNumIncomingValues() == 1
                         ? dyn_cast<Instruction>(P.getIncomingValue(0))
                         : nullptr;
  Type *T = P.getType();
  return Last && L.contains(Last) && !P.use_empty() &&
         (T->isFloatingPointTy() || T->isIntegerTy());
}

// What all of the sums are added to, where nothing else is done with them, as
// with those of a loop that was unrolled; null: that is done.
static Instruction *sumOfAll(ArrayRef<Instruction *> Sums) {
  SmallVector<Instruction *, 8> Open(Sums.begin(), Sums.end());
  auto IsOpen = [&](const Value *V) {
    return V->hasOneUse() && is_contained(Open, V);
  };
  for (size_t At = 0; Open.size() > 1 && At < Open.size(); At++) {
    auto *Add = Open[At]->hasOneUse()
                    ? dyn_cast<BinaryOperator>(Open[At]->user_back())
                    : nullptr;
    if (!Add || Add->getParent() != Sums[0]->getParent() ||
        (Add->getOpcode() != Instruction::FAdd &&
         Add->getOpcode() != Instruction::Add) ||
        !IsOpen(Add->getOperand(0)) || !IsOpen(Add->getOperand(1)))
      continue;
    erase_if(Open, [&](const Instruction *I) {
      return I == Add->getOperand(0) || I == Add->getOperand(1);
    });
    Open.insert(Open.begin(), Add);
    At = (size_t)-1; // again from the first
  }
  return Open.size() == 1 ? Open[0] : nullptr;
}

static SumLoop sumsOf(Loop &L, ArrayRef<Instruction *> Sums) {
  SumLoop S;
  S.L = &L;
  S.Sums.assign(Sums.begin(), Sums.end());
  return S;
}

SmallVector<SumLoop, 2> findSumLoops(const Loop &L) {
  SmallVector<SumLoop, 2> Found;
  SmallVector<Loop *, 8> Open(L.begin(), L.end());
  while (!Open.empty()) { // each loop of the nest once
    Loop *Inner = Open.pop_back_val();
    const BasicBlock *Behind = Inner->getExitBlock();
    if (!sumsProducts(*Inner))
      continue;
    Open.append(Inner->begin(), Inner->end());
    if (!Behind || !Inner->isLoopSimplifyForm() || !onlyComputes(*Inner))
      continue;
    SumLoop All = sumsOf(*Inner, {});
    bool Alike = true;
    for (const PHINode &P : Behind->phis())
      if (isSum(P, *Inner)) {
        All.Sums.push_back(const_cast<PHINode *>(&P));
        Alike &= P.getType() == All.Sums[0]->getType();
      }
    // Several may be one that was unrolled; else each is tried.
    if (All.Sums.size() > 1 && Alike)
      if (Instruction *Sum = sumOfAll(All.Sums))
        Found.push_back(sumsOf(*Inner, {Sum}));
    if (!All.Sums.empty() && Alike)
      Found.push_back(All);
    if (All.Sums.size() > 1)
      for (Instruction *P : All.Sums)
        Found.push_back(sumsOf(*Inner, {P}));
  }
  return Found;
}

void addArray(Loop &Outer, SumLoop &S) {
  IRBuilder<> B(Outer.getLoopPreheader()->getTerminator());
  Value *None = UndefValue::get(bytePointer(B.getContext()));
  S.Array = cast<Instruction>(B.CreateFreeze(None));
}

void dropArray(SumLoop &S) {
  assert(S.Array->use_empty());
  S.Array->eraseFromParent();
  S.Array = nullptr;
}

// ---- the array, and who reads it ----

namespace {

class Distribution {
  Loop &Outer;
  SumLoop &S;
  LoopInfo &LI;
  ScalarEvolution &SE;
  DominatorTree &DT;
  IRNest &Nest;
  Module &M;
  DebugLoc DL;
  Value *Array = nullptr, *Copied = nullptr; // rows; null: none
  ValueToValueMapTy Copies;
  SmallVector<BasicBlock *, 32> Blocks; // of the copy

public:
  Distribution(Loop &Outer, SumLoop &S, LoopInfo &LI, ScalarEvolution &SE,
               DominatorTree &DT, IRNest &Nest)
      : Outer(Outer), S(S), LI(LI), SE(SE), DT(DT), Nest(Nest),
        M(*Outer.getHeader()->getModule()), DL(Outer.getStartLoc()) {}

  void run(const Plan &P, const options &O, const std::string &TEIR,
           StringRef Where) {
    if (!DL)
      DL = Outer.getLoopPreheader()->getTerminator()->getDebugLoc();
    Copied = checkRowPointers(Outer, LI, SE, DT, Nest, &P, true).Memory;
    checkZeroSkips(Outer, LI, SE, DT, Nest);
    formLCSSARecursively(Outer, DT, &LI, &SE);
    acquire(P);
    BasicBlock *Front = Outer.getLoopPreheader();
    BasicBlock *Entry = SplitBlock(Front, Front->getTerminator(), &DT, &LI);
    BasicBlock *To = exitOf(Outer).To;
    copyNest(Entry, *To);
    auto *Done = cast<BasicBlock>(Copies[Entry]);
    markKept(Outer);
    PHINode *Asked =
        rewriteNest({Entry, Outer.getHeader(), To, Outer.getStartLoc(), Done},
                    LI, SE, DT, Nest, P, O, TEIR, Where);
    findDominator(*Done);
    readSums();
    if (Asked)
      fillForComparison(*Asked);
    release(*To);
  }

private:
  // In front of the nest; that there is an array becomes an assumption.
  void acquire(const Plan &P) {
    Instruction *End = Outer.getLoopPreheader()->getTerminator();
    Value *May = P.Npu && !P.Cpu      ? isLinked(End)
                 : P.CpuLeastMacs < 0 ? isMuch(End)
                                      : nullptr;
    FrontBranch Get = branchIfLoopsRun(Outer, Nest, LI, SE, DT, May);
    IRBuilder<> B(Get.Then);
    B.SetCurrentDebugLocation(DL);
    Array = Get.join(emitMalloc(B, bytes(Get.Then)));
    Array->setName("nputeir.sums");
    S.Array->replaceAllUsesWith(Array);
    dropArray(S);
    Nest.Assumed.push_back({IRBuilder<>(Get.End).CreateIsNotNull(Array), true});
  }

  // Of fewer products, as of 4x4 matrices of complex numbers, the loops have
  // formed the sums before there is an array.
  Value *isMuch(Instruction *At) {
    enum { MUCH = 256 };
    Checks Front(Nest, SE, At);
    Front.B.SetCurrentDebugLocation(DL);
    return Front.B.CreateICmpUGE(Front.iterations(), Front.B.getInt64(MUCH));
  }

  // More than there is where that is no number of 64 bits.
  Value *bytes(Instruction *At) {
    Expander Code(SE, M);
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(DL);
    assert(isa<SCEVConstant>(S.Stride.back()));
    Value *Bytes = Code.expand(S.Stride.back(), B.getInt64Ty(), At);
    Value *Lost = B.getFalse();
    for (const SCEV *Extent : S.Extent) {
      Value *N = B.CreateFreeze(Code.expand(Extent, B.getInt64Ty(), At));
      Value *Pair =
          B.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow, Bytes, N);
      Bytes = B.CreateExtractValue(Pair, 0);
      Lost = B.CreateOr(Lost, B.CreateExtractValue(Pair, 1));
    }
    return B.CreateSelect(Lost, B.getInt64(INT64_MAX), Bytes);
  }

  // A copy of the nest that Entry's copy leads to; nothing leads there yet.
  void copyNest(BasicBlock *Entry, BasicBlock &To) {
    SmallVector<Loop::Edge, 4> Exits;
    Outer.getExitEdges(Exits);
    cloneLoopWithPreheader(&To, Entry, &Outer, Copies, ".nputeir", &LI, &DT,
                           Blocks);
    remapInstructionsInBlocks(Blocks, Copies);
    for (auto [From, Outside] : Exits) {
      auto *Copy = cast<BasicBlock>(Copies[From]);
      for (PHINode &P : Outside->phis()) {
        Value *V = P.getIncomingValueForBlock(From);
        Value *Copied = Copies.lookup(V);
        P.addIncoming(Copied ? Copied : V, Copy);
      }
      DT.insertEdge(Copy, const_cast<BasicBlock *>(Outside));
    }
  }

  void findDominator(BasicBlock &Done) {
    BasicBlock *Around = nullptr;
    for (BasicBlock *From : predecessors(&Done))
      Around = Around ? DT.findNearestCommonDominator(Around, From) : From;
    assert(Around);
    DT.changeImmediateDominator(&Done, Around);
  }

  Loop &copyOf(const Loop &L) {
    return *LI.getLoopFor(cast<BasicBlock>(Copies[L.getHeader()]));
  }

  // Of sum I in the present iteration of the nest, or of its copy.
  Value *place(size_t I, bool OfCopy, Instruction *At) {
    Type *I64 = Type::getInt64Ty(M.getContext());
    uint64_t Bytes = M.getDataLayout().getTypeStoreSize(S.Sums[I]->getType());
    const SCEV *Way = SE.getConstant(I64, I * Bytes);
    for (size_t L = 0; L < S.Around.size(); L++)
      Way = SE.getAddExpr(
          Way, SE.getAddRecExpr(SE.getZero(I64), S.Stride[L],
                                OfCopy ? &copyOf(*S.Around[L]) : S.Around[L],
                                SCEV::FlagAnyWrap));
    Value *Offset = Expander(SE, M).expand(Way, I64, At);
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(DL);
    return B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), Array, Offset),
                               pointerTo(S.Sums[I]->getType()));
  }

  void readSums() {
    Loop &L = copyOf(*S.L);
    BasicBlock *Behind = L.getExitBlock();
    assert(Behind && L.getLoopPreheader());
    for (size_t I = 0; I < S.Sums.size(); I++) {
      auto *Sum = cast<Instruction>(Copies[S.Sums[I]]);
      Instruction *At = &*Behind->getFirstInsertionPt();
      Value *Place = place(I, true, At);
      IRBuilder<> B(At);
      B.SetCurrentDebugLocation(DL);
      Value *Read = B.CreateAlignedLoad(Sum->getType(), Place, align(*Sum));
      Sum->replaceAllUsesWith(Read);
      if (isa<PHINode>(Sum))
        Sum->eraseFromParent();
      else // the sums that it is one of, too
        RecursivelyDeleteTriviallyDeadInstructions(Sum);
    }
    if (Behind->phis().empty()) // nothing else is computed in it
      deleteDeadLoop(&L, &DT, &SE, &LI);
  }

  Align align(const Instruction &Sum) const {
    return M.getDataLayout().getABITypeAlign(Sum.getType());
  }

  // Who compares looks into the array, where the nest itself puts nothing.
  void fillForComparison(PHINode &Asked) {
    Instruction *At = isa<PHINode>(S.Sums[0])
                          ? &*S.Sums[0]->getParent()->getFirstInsertionPt()
                          : S.Sums[0]->getNextNode();
    IRBuilder<> B(At);
    B.SetCurrentDebugLocation(DL);
    Value *Compares = B.CreateICmpUGT(&Asked, B.getInt32(1));
    DomTreeUpdater DTU(DT, DomTreeUpdater::UpdateStrategy::Eager);
    Instruction *Then =
        SplitBlockAndInsertIfThen(Compares, At, false, nullptr, &DTU, &LI);
    for (size_t I = 0; I < S.Sums.size(); I++) {
      Value *Place = place(I, false, Then);
      B.SetInsertPoint(Then);
      markKept(*B.CreateAlignedStore(S.Sums[I], Place, align(*S.Sums[I])));
    }
  }

  // On all ways out of the nest and its copy.
  void release(BasicBlock &To) {
    SmallVector<BasicBlock *, 4> Ends(predecessors(&To));
    for (BasicBlock *End : Ends) {
      BasicBlock *Out = SplitEdge(End, &To, &DT, &LI);
      IRBuilder<> B(Out->getTerminator());
      B.SetCurrentDebugLocation(DL);
      emitFree(B, Array);
      if (Copied)
        emitFree(B, Copied);
    }
  }
};

} // namespace

void rewriteSums(Loop &Outer, SumLoop &S, LoopInfo &LI, ScalarEvolution &SE,
                 DominatorTree &DT, IRNest &I, const Plan &P, const options &O,
                 const std::string &TEIR, StringRef Where) {
  Distribution(Outer, S, LI, SE, DT, I).run(P, O, TEIR, Where);
}

} // namespace nputeir
