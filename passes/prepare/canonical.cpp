// canonical.cpp -- brings a function into the shape that read_ir.cpp reads,
// with analyses of our own: memory to registers, equal expressions once, sizes
// computed before the loops that use them, counters as wide as addresses.
// Loops are neither rotated nor unrolled, and nothing is moved out of them that
// touches memory.
#include "canonical.h"
#include "collapsed.h"
#include "complex_parts.h"
#include "conditional_steps.h"
#include "hoist.h"
#include "ir_candidates.h"
#include "ir_marks.h"
#include "known_targets.h"
#include "lane_loops.h"
#include "plain_intrinsics.h"
#include "stored_counters.h"
#include "switches.h"
#include "vector_types.h"
#include "versions.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

namespace nputeir {
namespace {

// InstCombine writes a sign extension of what it knows to be positive as a zero
// extension, and one of half a number that is multiplied by eight, as an index
// of addresses is, as two shifts.  Neither widening nor ScalarEvolution sees
// through these.
struct SignExtendPass : PassInfoMixin<SignExtendPass> {
  static Value *extension(Instruction &I) {
    using namespace PatternMatch;
    Value *X;
    const APInt *Up, *Down;
    if (auto *Z = dyn_cast<ZExtInst>(&I))
      return isNonNegative(*Z)
                 ? IRBuilder<>(Z).CreateSExt(Z->getOperand(0), Z->getType())
                 : nullptr;
    unsigned Bits = I.getType()->getScalarSizeInBits();
    if (!I.getType()->isIntegerTy() ||
        !match(&I, m_AShr(m_Shl(m_Value(X), m_APInt(Up)), m_APInt(Down))) ||
        *Up != Bits / 2 || Down->ugt(*Up))
      return nullptr;
    IRBuilder<> B(&I);
    Value *Half = B.CreateTrunc(X, B.getIntNTy(Bits / 2));
    return B.CreateShl(B.CreateSExt(Half, I.getType()),
                       (*Up - *Down).getZExtValue(), "", false, true);
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    bool Changed = false;
    for (Instruction &I : make_early_inc_range(instructions(F)))
      if (Value *S = extension(I)) {
        S->takeName(&I);
        I.replaceAllUsesWith(S);
        I.eraseFromParent();
        Changed = true;
      }
    PreservedAnalyses PA;
    PA.preserveSet<CFGAnalyses>();
    return Changed ? PA : PreservedAnalyses::all();
  }
};

// Of every loop, ScalarEvolution asks what the branches in front of it say, as
// far back as one leads to the next; of nests in a row, the last one asks all
// others.  A barrier, which is a branch that has no choice, ends that, so that
// the work grows with the number of nests.
struct BarrierPass : PassInfoMixin<BarrierPass> {
  enum { Between = 16 }; // outermost loops

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
    unsigned Count = 0;
    for (Loop *L : LI) {
      BasicBlock *Front = L->getLoopPreheader();
      if (++Count % Between != 0 || !Front)
        continue;
      Instruction *End = Front->getTerminator();
      BasicBlock *Behind = SplitBlock(Front, End, &DT, &LI);
      IRBuilder<> B(Front->getTerminator());
      B.CreateCondBr(B.getTrue(), Behind, Behind);
      Front->getTerminator()->eraseFromParent();
    }
    return Count < Between ? PreservedAnalyses::all()
                           : PreservedAnalyses::none();
  }
};

// Counters as wide as addresses.
struct WidenPass : PassInfoMixin<WidenPass> {
  struct Each : PassInfoMixin<Each> {
    Candidates *Found;

    PreservedAnalyses run(Loop &L, LoopAnalysisManager &LAM,
                          LoopStandardAnalysisResults &Known, LPMUpdater &U) {
      return Found->mayBeRead(L) ? IndVarSimplifyPass().run(L, LAM, Known, U)
                                 : PreservedAnalyses::all();
    }
  };

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    Candidates Found(F, FAM);
    Each Loops;
    Loops.Found = &Found;
    return createFunctionToLoopPassAdaptor(std::move(Loops)).run(F, FAM);
  }
};

// The smaller of two numbers, as the bound of a loop over a tile has it, is
// written as such before counters are widened on one side of the choice only.
// InstCombine has made x + t >= n ? n : x + t of constants
// x > n - t - 1 ? n : x + t, which is min(x, n - t) + t.
struct SmallestPass : PassInfoMixin<SmallestPass> {
  static bool bounds(const Value &V) {
    return !V.use_empty() && all_of(V.users(), [](const User *U) {
      return isa<ICmpInst>(U) || (isa<SExtInst, ZExtInst>(U) && bounds(*U));
    });
  }

  static Intrinsic::ID smallest(SelectInst &S, Value *&X, Value *&Y) {
    switch (matchSelectPattern(&S, X, Y).Flavor) {
    case SPF_SMIN:
      return Intrinsic::smin;
    case SPF_UMIN:
      return Intrinsic::umin;
    default:
      return Intrinsic::not_intrinsic;
    }
  }

  // Null: S is none.
  static Value *minimum(SelectInst &S) {
    Value *X, *Y;
    Intrinsic::ID Which = smallest(S, X, Y);
    return Which == Intrinsic::not_intrinsic || X->getType() != S.getType()
               ? nullptr
               : IRBuilder<>(&S).CreateBinaryIntrinsic(Which, X, Y);
  }

  static Value *shiftedMinimum(SelectInst &S) {
    using namespace PatternMatch;
    auto *Compare = dyn_cast<ICmpInst>(S.getCondition());
    const APInt *Limit, *Shift, *End;
    if (!Compare || Compare->getOperand(0)->getType() != S.getType() ||
        !match(Compare->getOperand(1), m_APInt(Limit)))
      return nullptr;
    bool IsEnd = match(S.getTrueValue(), m_APInt(End)); // if it holds
    Value *Sum = IsEnd ? S.getFalseValue() : S.getTrueValue();
    CmpInst::Predicate Is =
        IsEnd ? Compare->getInversePredicate() : Compare->getPredicate();
    if (!(IsEnd || match(S.getFalseValue(), m_APInt(End))) ||
        !match(Sum, m_Add(m_Specific(Compare->getOperand(0)), m_APInt(Shift))))
      return nullptr;
    bool Wraps, Signed = CmpInst::isSigned(Is);
    APInt Last =
        Signed ? End->ssub_ov(*Shift, Wraps) : End->usub_ov(*Shift, Wraps);
    // Where X is Last, both are End.
    bool IsBelow = Is == CmpInst::ICMP_SLT || Is == CmpInst::ICMP_ULT;
    bool IsWithin = Is == CmpInst::ICMP_SLE || Is == CmpInst::ICMP_ULE;
    if (Wraps || Shift->isNegative() || !(IsBelow || IsWithin) ||
        !(Last == *Limit || Last == (IsBelow ? *Limit - 1 : *Limit + 1)))
      return nullptr;
    IRBuilder<> B(&S);
    Value *Min = B.CreateBinaryIntrinsic(
        Signed ? Intrinsic::smin : Intrinsic::umin, Compare->getOperand(0),
        ConstantInt::get(S.getType(), Last));
    return B.CreateAdd(Min, ConstantInt::get(S.getType(), *Shift), "", !Signed,
                       Signed);
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    bool Changed = false;
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *S = dyn_cast<SelectInst>(&I);
      if (!S || !S->getType()->isIntegerTy() || !bounds(*S))
        continue;
      Value *Min = minimum(*S);
      if (!Min)
        Min = shiftedMinimum(*S);
      if (!Min)
        continue;
      Min->takeName(S);
      S->replaceAllUsesWith(Min);
      S->eraseFromParent();
      Changed = true;
    }
    PreservedAnalyses PA;
    PA.preserveSet<CFGAnalyses>();
    return Changed ? PA : PreservedAnalyses::all();
  }
};

// Of a loop that runs once at most InstCombine knows what its counter is behind
// the body: j = 1 for (j = 0; j < n % 2; j++), n = 0 for (n &= 1; n; n--).  It
// becomes a step again, of which the number of iterations is known.
struct OnceCountersPass : PassInfoMixin<OnceCountersPass> {
  // In an iteration P is one number, and the loop ends with the next; null: it
  // may be several, or go on.
  static Constant *step(PHINode &P, const Loop &L, ScalarEvolution &SE) {
    BasicBlock *Head = L.getHeader(), *Latch = L.getLoopLatch();
    auto *Branch = dyn_cast<BranchInst>(Head->getTerminator());
    if (!Latch || !L.getLoopPreheader() || !Branch || !Branch->isConditional())
      return nullptr;
    auto *Compare = dyn_cast<ICmpInst>(Branch->getCondition());
    auto *Next = dyn_cast<ConstantInt>(P.getIncomingValueForBlock(Latch));
    Value *Start = P.getIncomingValueForBlock(L.getLoopPreheader());
    bool Goes = L.contains(Branch->getSuccessor(0));
    if (!Compare || Compare->getOperand(0) != &P || !Next ||
        L.contains(Branch->getSuccessor(Goes)))
      return nullptr;
    CmpInst::Predicate Is =
        Goes ? Compare->getPredicate() : Compare->getInversePredicate();
    const SCEV *End = SE.getSCEV(Compare->getOperand(1));
    if (!SE.isKnownPredicate(CmpInst::getInversePredicate(Is),
                             SE.getConstant(Next), End))
      return nullptr;
    if (auto *First = dyn_cast<ConstantInt>(Start))
      return ConstantInt::get(P.getType(),
                              Next->getValue() - First->getValue());
    bool IsOne = Is == CmpInst::ICMP_NE && End->isZero() && Next->isZero() &&
                 SE.getUnsignedRangeMax(SE.getSCEV(Start)).ule(1);
    return IsOne ? ConstantInt::getAllOnesValue(P.getType()) : nullptr;
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    auto &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
    bool Changed = false;
    for (Loop *L : FAM.getResult<LoopAnalysis>(F).getLoopsInPreorder())
      for (PHINode &P : L->getHeader()->phis()) {
        Constant *Step = P.getType()->isIntegerTy() ? step(P, *L, SE) : nullptr;
        if (!Step || Step->isNullValue())
          continue;
        BasicBlock *Latch = L->getLoopLatch();
        P.setIncomingValueForBlock(
            Latch, IRBuilder<>(Latch->getTerminator()).CreateNSWAdd(&P, Step));
        Changed = true;
      }
    PreservedAnalyses PA;
    PA.preserveSet<CFGAnalyses>();
    return Changed ? PA : PreservedAnalyses::all();
  }
};

// An element that is stored on each side of a condition is stored once.  But
// where a pointer starts at a + i in front of a loop and is stepped on by n at
// its end, the addition is not moved into the loop's head: something at the end
// tells the two apart meanwhile.
struct SinkPass : PassInfoMixin<SinkPass> {
  SimplifyCFGPass Sink{SimplifyCFGOptions().sinkCommonInsts(true)};

  static bool isMark(const Instruction &I) {
    const auto *Call = dyn_cast<IntrinsicInst>(&I);
    return Call && Call->getIntrinsicID() == Intrinsic::sideeffect;
  }

  static const Instruction *last(const BasicBlock &B) {
    for (const Instruction &I : drop_begin(reverse(B)))
      if (!isa<DbgInfoIntrinsic>(I))
        return &I;
    return nullptr;
  }

  static bool maySink(const BasicBlock &End, const BasicBlock &Head) {
    const Instruction *I = last(End);
    return I && any_of(predecessors(&Head), [&](const BasicBlock *Other) {
             const Instruction *J = last(*Other);
             return Other != &End && J && I->isSameOperationAs(J);
           });
  }

  static bool mark(LoopInfo &LI) {
    SmallVector<BasicBlock *, 2> Ends;
    for (Loop *L : LI.getLoopsInPreorder()) {
      SmallVector<BasicBlock *, 2> All;
      L->getLoopLatches(All);
      copy_if(All, std::back_inserter(Ends), [L](const BasicBlock *End) {
        return maySink(*End, *L->getHeader());
      });
    }
    for (BasicBlock *End : Ends)
      IRBuilder<>(End->getTerminator())
          .CreateIntrinsic(Intrinsic::sideeffect, {}, {});
    return !Ends.empty();
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    bool Marked = none_of(instructions(F), isMark) &&
                  mark(FAM.getResult<LoopAnalysis>(F));
    PreservedAnalyses PA = Sink.run(F, FAM);
    if (!Marked)
      return PA;
    for (Instruction &I : make_early_inc_range(instructions(F)))
      if (isMark(I))
        I.eraseFromParent();
    return PreservedAnalyses::none();
  }
};

} // namespace

Canonical::Canonical() {
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  Passes.addPass(LaneLoopsPass());
  Passes.addPass(keepBranchesSROA());
  Passes.addPass(PlainIntrinsicsPass());
  Passes.addPass(VectorTypesPass());
  Passes.addPass(ComplexPartsPass());
  Passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  Passes.addPass(KnownTargetsPass());
  Passes.addPass(SinkPass());
  // Of a place that is stored and stored again, the last store counts.
  Passes.addPass(DSEPass());
  Passes.addPass(SignExtendPass());
  Passes.addPass(SmallestPass());
  Passes.addPass(SwitchesPass());
  Passes.addPass(LoopSimplifyPass());
  Passes.addPass(ConditionalStepsPass());
  Passes.addPass(OnceCountersPass());
  Passes.addPass(BarrierPass());
  Passes.addPass(StoredCountersPass());
  addHoistPasses(Passes);
  Passes.addPass(StoresAheadPass());
  Passes.addPass(CollapsedPass());
  Passes.addPass(LoopSimplifyPass());
  Passes.addPass(LCSSAPass());
  Passes.addPass(WidenPass());
  AfterSplit.addPass(ADCEPass());
  AfterSplit.addPass(LoopSimplifyPass());
  AfterSplit.addPass(LCSSAPass());
  AfterSplit.addPass(createFunctionToLoopPassAdaptor(LoopDeletionPass()));
  AfterSplit.addPass(SimplifyCFGPass());
  AfterSplit.addPass(LoopSimplifyPass());
  AfterSplit.addPass(LCSSAPass());
}

void Canonical::number(Function &F) {
  numberLoops(FAM.getResult<LoopAnalysis>(F));
}

void Canonical::tidy(Function &F) {
  FAM.clear(F, "");
  FAM.invalidate(F, AfterSplit.run(F, FAM));
}

void Canonical::run(Function &F) { FAM.invalidate(F, Passes.run(F, FAM)); }

void simplifyLoops(Function &F, FunctionAnalysisManager &FAM) {
  FunctionPassManager Passes;
  Passes.addPass(LoopSimplifyPass());
  Passes.addPass(LCSSAPass());
  FAM.invalidate(F, Passes.run(F, FAM));
}

void removeBarriers(Function &F) {
  for (BasicBlock &B : F) {
    auto *End = dyn_cast<BranchInst>(B.getTerminator());
    if (End && End->isConditional() &&
        End->getSuccessor(0) == End->getSuccessor(1))
      ConstantFoldTerminator(&B);
  }
}

} // namespace nputeir
