// made_factors.cpp -- a nest whose products have a factor that is made of
// elements, as a nest in front that makes it and one that reads it:
//
//     for i, j:  s = 0;  for k:  s += exp(a[i][k]) * b[k][j];  c[i][j] = s;
//
//     before:  every loop has work, what is written is apart from what the
//              factor is made of, rows that are found one by one included,
//              and there is memory t ? made : kept
//     made:    for i, k:  t[i][k] = exp(a[i][k]);
//              for i, j:  s = 0;  for k:  s += t[i][k] * b[k][j];  ..
//     kept:    the nest as it was
//
// Where code for the processor takes the second nest of made, kept runs also
// if that code does not, and what is made is dropped: the loops are there once.
//
// The factor must be computed from counters, elements and what does not change,
// by operations that have no effect; and some loop around the product must not
// move it.  So nothing is computed that the source does not compute, but once
// where it does so often.
//
// An element that is read backwards while the nest goes forwards through its
// other tensors (w[K - 1 - k] * x[t + k], w[k] * x[t - k]) is such a factor,
// too: what is made is a reversed copy.
//
// Where conditions on counters decide whether a factor is computed, those that
// it is computed for are made.  If they depend on loops that do not move it,
// they must hold for each in the middle or in the last iterations of these;
// else what was made is dropped, and the nest runs as it was.
//
// A factor of products that a condition on elements skips is zero where they
// are skipped (masked_products.cpp), and the condition asks for that.
#include "made_factors.h"
#include "checks.h"
#include "find_factors.h"
#include "ir_code.h"
#include "ir_marks.h"
#include "masked_products.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {
namespace {

const char *const MadeMark = "nputeir.made"; // in front of loops that read it

class MadeFactors {
  // Of fewer uses of each element, or fewer products, making a factor costs
  // more than it spares.
  enum { UsesLeast = 4, ProductsLeast = 1024 };
  Loop &L;
  LoopFacts &Facts;
  ScalarEvolution &SE;
  Type *I64;
  FactorFinder Found;
  DenseMap<const Loop *, Value *> Extent;
  DebugLoc At;

public:
  MadeFactors(Loop &L, LoopFacts &Facts)
      : L(L), Facts(Facts), SE(Facts.SE),
        I64(Type::getInt64Ty(SE.getContext())), Found(L, Facts) {}

  bool find() { return Found.find(); }

  void split(BasicBlock *&Kept) {
    Found.Places.askRows(Facts.LI, Facts.DT);
    BasicBlock *Front = L.getLoopPreheader();
    Instruction *End = Front->getTerminator();
    Checks C(SE, End);
    At = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    C.B.SetCurrentDebugLocation(At);
    Value *Good = C.B.CreateAnd(haveWork(C), Found.Places.hold(C));
    Value *Bytes = layOut(C, Good);
    prepare(C);
    ValueToValueMapTy OfKept;
    BasicBlock *Old = copyLoop(L, nullptr, OfKept);
    BasicBlock *Begin = detach(L);
    Function &F = *Front->getParent();
    auto Block = [&](const char *Name) {
      return BasicBlock::Create(F.getContext(), Name, &F, Begin);
    };
    BasicBlock *Get = Block("nputeir.get"), *Make = Block("nputeir.make");
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(At);
    B.CreateCondBr(Good, Get, Old);
    B.SetInsertPoint(Get);
    CallInst *Memory = emitMalloc(B, Bytes);
    Memory->setName("nputeir.made");
    Memory->addRetAttr(Attribute::NoAlias);
    B.CreateCondBr(B.CreateIsNull(Memory), Old, Make);
    Code Body(*Make);
    Body.SetCurrentDebugLocation(At);
    Value *AllMade = Body.getTrue();
    for (MadeFactor &X : Found.Factors) {
      X.At = Body.CreateGEP(Body.getInt8Ty(), Memory, X.At);
      AllMade = Body.CreateAnd(AllMade, make(Body, X));
    }
    if (isa<Constant>(AllMade)) {
      Body.CreateBr(Begin);
    } else {
      BasicBlock *Drop = Block("nputeir.drop");
      Body.CreateCondBr(AllMade, Begin, Drop);
      B.SetInsertPoint(Drop);
      emitFree(B, Memory);
      B.CreateBr(Old);
    }
    Begin->getTerminator()->setMetadata(MadeMark,
                                        MDNode::get(F.getContext(), {}));
    for (MadeFactor &X : Found.Factors)
      read(X);
    release(*Memory);
    Kept = cast<BasicBlock>(OfKept[L.getHeader()]);
  }

private:
  // ---- in front ----

  Value *haveWork(Checks &C) {
    Value *Work = C.B.getTrue();
    for (Loop *X : L.getLoopsInPreorder()) {
      Value *N = C.frozen(Found.countOf(*X), I64);
      Extent[X] = N;
      Work = C.B.CreateAnd(Work, C.B.CreateICmpSGT(N, C.B.getInt64(0)));
    }
    return Work;
  }

  // Gives the bytes of all; *Good becomes false where they are too many, or a
  // factor is used too seldom.  A factor's memory is where it begins, yet.
  Value *layOut(Checks &C, Value *&Good) {
    IRBuilder<> &B = C.B;
    auto Exact = [&](Intrinsic::ID Operation, Value *X, Value *Y) {
      Value *Pair = B.CreateBinaryIntrinsic(Operation, X, Y);
      Good = B.CreateAnd(Good, B.CreateNot(B.CreateExtractValue(Pair, 1)));
      return B.CreateExtractValue(Pair, 0);
    };
    Value *All = B.getInt64(0);
    for (MadeFactor &X : Found.Factors) {
      Value *Count = B.getInt64(1);
      for (Loop *Axis : reverse(X.Axes)) {
        X.Stride.insert(X.Stride.begin(), Count);
        Count = Exact(Intrinsic::smul_with_overflow, Count, Extent[Axis]);
      }
      Value *Uses = B.getInt64(1);
      for (const Loop *In = Facts.LI.getLoopFor(X.Product->getParent());;
           In = In->getParentLoop()) {
        if (!X.Moving.count(In))
          Uses = Exact(Intrinsic::smul_with_overflow, Uses, Extent[In]);
        if (In == &L)
          break;
      }
      Value *Products = Exact(Intrinsic::smul_with_overflow, Count, Uses);
      Good = B.CreateAnd(Good, B.CreateICmpSGE(Uses, B.getInt64(UsesLeast)));
      Good = B.CreateAnd(Good,
                         B.CreateICmpSGE(Products, B.getInt64(ProductsLeast)));
      X.At = All;
      Value *Bytes =
          Exact(Intrinsic::smul_with_overflow, Count, B.getInt64(bytesOf(X)));
      // The next one begins at a multiple of 16.
      Bytes = B.CreateAnd(
          Exact(Intrinsic::sadd_with_overflow, Bytes, B.getInt64(15)),
          B.getInt64(~UINT64_C(15)));
      All = Exact(Intrinsic::sadd_with_overflow, All, Bytes);
    }
    return All;
  }

  uint64_t bytesOf(const MadeFactor &X) const {
    return L.getHeader()->getModule()->getDataLayout().getTypeAllocSize(
        X.V->getType());
  }

  // Starts and steps of the counters, as long as the builder stands in front.
  DenseMap<const SCEV *, Value *> Known;
  void prepare(Checks &C) {
    for (BasicBlock *B : L.blocks())
      for (PHINode &P : B->phis()) {
        if (!SE.isSCEVable(P.getType()))
          continue;
        const SCEV *S = SE.getSCEV(&P);
        auto Keep = [&](const SCEV *Part) {
          if (Found.isKnown(Part))
            Known[Part] = C.frozen(Part, Part->getType());
        };
        for (; const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
             S = Rec->getStart()) {
          if (!L.contains(Rec->getLoop()))
            break;
          if (Rec->isAffine())
            Keep(Rec->getStepRecurrence(SE));
        }
        Keep(S);
      }
  }

  // ---- the two nests ----

  using Made = DenseMap<const Value *, Value *>;

  Value *counter(Code &B, const SCEV *S,
                 const DenseMap<const Loop *, Value *> &Now) {
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    if (!Rec || !L.contains(Rec->getLoop()))
      return Known.lookup(S);
    Value *From = counter(B, Rec->getStart(), Now);
    Value *Step = Known.lookup(Rec->getStepRecurrence(SE));
    Value *Way = B.CreateMul(Step, B.CreateIntCast(Now.lookup(Rec->getLoop()),
                                                   Step->getType(),
                                                   /*isSigned=*/false));
    if (!From->getType()->isPointerTy())
      return B.CreateAdd(From, Way);
    Value *Bytes = B.CreatePointerCast(From, bytePointer(B.getContext()));
    return B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), Bytes, Way),
                               From->getType());
  }

  Value *compute(Code &B, Value *V, Made &Done,
                 const DenseMap<const Loop *, Value *> &Now) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L.contains(I))
      return V;
    if (Value *Known = Done.lookup(V))
      return Known;
    if (const auto *P = dyn_cast<PHINode>(I)) {
      auto C = choiceOf(*P, Facts.DT);
      return Done[V] =
                 C ? choose(B, *C, Done, Now) : counter(B, SE.getSCEV(I), Now);
    }
    Instruction *New = I->clone();
    for (Use &U : New->operands())
      U.set(compute(B, U.get(), Done, Now));
    B.Insert(New);
    return Done[V] = New;
  }

  // What is computed on one side is not known behind it.
  Value *choose(Code &B, const Choice &C, Made &Done,
                const DenseMap<const Loop *, Value *> &Now) {
    Value *Is = compute(B, C.Branch->getCondition(), Done, Now);
    Value *V = Constant::getNullValue(C.Side[0]->getType());
    for (unsigned S = 0; S < 2; S++)
      V = B.choose(S == 0 ? Is : B.CreateNot(Is), {V}, [&] {
        Made Here = Done;
        return Code::Values{compute(B, C.Side[S], Here, Now)};
      })[0];
    return V;
  }

  Value *placeOf(IRBuilder<> &B, const MadeFactor &X,
                 function_ref<Value *(const Loop &)> Now) {
    Value *Way = B.getInt64(0);
    for (size_t A = 0; A < X.Axes.size(); A++) {
      Value *I = Now(*X.Axes[A]);
      if (X.Down.count(X.Axes[A]))
        I = B.CreateSub(B.CreateSub(Extent[X.Axes[A]], B.getInt64(1)), I);
      Way = B.CreateAdd(Way, B.CreateMul(I, X.Stride[A]));
    }
    Way = B.CreateMul(Way, B.getInt64(bytesOf(X)));
    return B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), X.At, Way),
                               pointerTo(X.V->getType()));
  }

  using Iterations = DenseMap<const Loop *, Value *>;

  // Whether all that the nest reads has been made.
  Value *make(Code &B, MadeFactor &X) {
    Iterations Now;
    return makeAlong(B, X, Now, 0, B.getTrue());
  }
  Value *makeAlong(Code &B, MadeFactor &X, Iterations &Now, size_t Axis,
                   Value *Good) {
    if (Axis == X.Axes.size())
      return B.CreateAnd(Good, makeOne(B, X, Now));
    Loop *Of = X.Axes[Axis];
    auto Inner = [&](Value *I, Value *Good) {
      Now[Of] = I;
      return makeAlong(B, X, Now, Axis + 1, Good);
    };
    Value *None = B.getInt64(0), *Each = B.getInt64(1);
    if (all_of(X.Asked,
               [](const MadeFactor::Condition &C) { return C.OfAxes; })) {
      B.loop(None, Extent[Of], Each, [&](Value *I) { Inner(I, Good); });
      return Good;
    }
    return B.carry(None, Extent[Of], Each, {Good},
                   [&](Value *I, ArrayRef<Value *> Now) {
                     return Code::Values{Inner(I, Now[0])};
                   })[0];
  }

  // False: nobody knows whether it is read.
  Value *makeOne(Code &B, const MadeFactor &X, const Iterations &Now) {
    auto Put = [&](Value *V) {
      B.CreateStore(
          V, placeOf(B, X, [&](const Loop &Of) { return Now.lookup(&Of); }));
    };
    auto Store = [&] {
      Made Done;
      Put(compute(B, X.V, Done, Now));
    };
    if (!X.Masks.empty() || X.Asked.empty()) {
      Put(orZero(B, X, X.Asked, Made(), Now));
      return B.getTrue();
    }
    Iterations Middle = Now, Last = Now;
    for (const Loop *Of : L.getLoopsInPreorder())
      if (!X.Moving.count(Of)) {
        Middle[Of] = B.CreateLShr(Extent[Of], B.getInt64(1));
        Last[Of] = B.CreateSub(Extent[Of], B.getInt64(1));
      }
    Value *Never = B.CreateNot(holdAll(B, X, Now, /*OfAxes=*/true));
    Value *Reads =
        B.CreateOr(holdAll(B, X, Middle, false), holdAll(B, X, Last, false));
    B.when(Reads, Store);
    return B.CreateOr(Reads, Never);
  }

  // The factor, if all that is asked holds.
  Value *orZero(Code &B, const MadeFactor &X,
                ArrayRef<MadeFactor::Condition> Asked, Made Done,
                const Iterations &Now) {
    if (Asked.empty())
      return compute(B, X.V, Done, Now);
    const Guard &G = Asked.front().Of;
    Value *Is = compute(B, G.Branch->getCondition(), Done, Now);
    Value *Zero = Constant::getNullValue(X.V->getType());
    return B.choose(G.Holds ? Is : B.CreateNot(Is), {Zero}, [&] {
      return Code::Values{orZero(B, X, Asked.drop_front(), Done, Now)};
    })[0];
  }

  // Those of axes alone, or all.  Where one is undefined behind another that
  // does not hold, nothing depends on it.
  Value *holdAll(Code &B, const MadeFactor &X, const Iterations &Now,
                 bool OfAxes) {
    Value *All = B.getTrue();
    Made Done;
    for (const MadeFactor::Condition &C : X.Asked)
      if (C.OfAxes || !OfAxes) {
        Value *Is =
            B.CreateFreeze(compute(B, C.Of.Branch->getCondition(), Done, Now));
        All = B.CreateAnd(All, C.Of.Holds ? Is : B.CreateNot(Is));
      }
    return All;
  }

  DenseMap<const Loop *, Value *> Counter; // 0, 1, 2, .. in L
  Value *counterOf(const Loop &X) {
    Value *&Known = Counter[&X];
    if (Known)
      return Known;
    BasicBlock *Header = X.getHeader(), *Latch = X.getLoopLatch();
    PHINode *P = IRBuilder<>(Header, Header->begin()).CreatePHI(I64, 2);
    P->setDebugLoc(At);
    IRBuilder<> B(Latch->getTerminator());
    Value *Next = B.CreateAdd(P, B.getInt64(1), "", /*HasNUW=*/true,
                              /*HasNSW=*/true);
    for (BasicBlock *From : predecessors(Header))
      P->addIncoming(From == Latch ? Next : B.getInt64(0), From);
    return Known = P;
  }

  Value *readAt(IRBuilder<> &B, const MadeFactor &X) {
    return B.CreateLoad(X.V->getType(), placeOf(B, X, [&](const Loop &Of) {
                          return counterOf(Of);
                        }));
  }

  void read(MadeFactor &X) {
    if (!X.Masks.empty())
      return readMasked(X);
    IRBuilder<> B(isa<PHINode>(X.V) ? &*X.V->getParent()->getFirstInsertionPt()
                                    : X.V->getNextNode());
    B.SetCurrentDebugLocation(X.V->getDebugLoc());
    X.V->replaceAllUsesWith(readAt(B, X));
  }

  // The outermost condition becomes one on the factor, the others hold then.
  void readMasked(MadeFactor &X) {
    const Guard &Outermost = X.Masks.front();
    IRBuilder<> B(Outermost.Branch);
    Value *V = readAt(B, X), *Zero = Constant::getNullValue(V->getType());
    bool Ask = Outermost.Holds, IsFloat = V->getType()->isFloatingPointTy();
    auto How = IsFloat ? Ask ? CmpInst::FCMP_UNE : CmpInst::FCMP_OEQ
               : Ask   ? CmpInst::ICMP_NE
                       : CmpInst::ICMP_EQ;
    Value *Is = B.CreateCmp(How, V, Zero);
    if (IsFloat)
      cast<Instruction>(Is)->copyFastMathFlags(X.Product);
    BasicBlockEdge Into(Outermost.Branch->getParent(),
                        Outermost.Branch->getSuccessor(Ask ? 0 : 1));
    Outermost.Branch->setCondition(Is);
    for (const Guard &G : drop_begin(X.Masks))
      G.Branch->setCondition(B.getInt1(G.Holds));
    X.V->replaceUsesWithIf(V,
                           [&](Use &U) { return Facts.DT.dominates(Into, U); });
  }

  void release(CallInst &Memory) {
    BasicBlock *From = L.getExitingBlock(), *To = L.getExitBlock();
    BasicBlock *Behind = BasicBlock::Create(To->getContext(), "nputeir.release",
                                            To->getParent(), To);
    From->getTerminator()->replaceSuccessorWith(To, Behind);
    To->replacePhiUsesWith(From, Behind);
    IRBuilder<> B(Behind);
    B.SetCurrentDebugLocation(At);
    emitFree(B, &Memory);
    B.CreateBr(To);
  }
};

} // namespace

bool makeFactors(Loop &L, LoopFacts &Facts, BasicBlock *&Kept) {
  MadeFactors M(L, Facts);
  bool Is = M.find();
  if (Is)
    M.split(Kept);
  return Is;
}

Unmade findUnmade(const Region &Old) {
  // What was split further has another entry, or other code behind it.
  const auto *Free = dyn_cast<CallInst>(Old.After->getFirstNonPHIOrDbg());
  if (Old.Done || !Old.Entry->getTerminator()->getMetadata(MadeMark) || !Free ||
      !Free->getCalledFunction() ||
      Free->getCalledFunction()->getName() != "free")
    return {};
  auto *Memory =
      dyn_cast<CallInst>(Free->getArgOperand(0)->stripPointerCasts());
  auto *End = Memory
                  ? dyn_cast<BranchInst>(Memory->getParent()->getTerminator())
                  : nullptr;
  auto *IsNone = End && End->isConditional()
                     ? dyn_cast<ICmpInst>(End->getCondition())
                     : nullptr;
  if (!IsNone || IsNone->getPredicate() != ICmpInst::ICMP_EQ ||
      IsNone->getOperand(0) != Memory)
    return {};
  return {End->getSuccessor(0), Memory};
}

void runUnmade(BasicBlock &Kept, const Unmade &X, LoopInfo &LI,
               const DominatorTree &DT) {
  const BasicBlock *Written = X.Begin->getSingleSuccessor();
  for (Loop *L : LI.getLoopsInPreorder())
    if (L->getHeader() == Written ||
        DT.dominates(X.Memory->getParent(), L->getHeader()))
      markRolled(*L);
  Instruction *End = Kept.getTerminator();
  assert(End->getNumSuccessors() == 1);
  End->getSuccessor(0)->removePredecessor(&Kept);
  IRBuilder<> B(End);
  B.SetCurrentDebugLocation(X.Memory->getDebugLoc());
  emitFree(B, X.Memory);
  B.CreateBr(X.Begin);
  for (PHINode &P : X.Begin->phis())
    P.addIncoming(P.getIncomingValueForBlock(X.Memory->getParent()), &Kept);
  End->eraseFromParent();
}

} // namespace nputeir
