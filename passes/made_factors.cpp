// made_factors.cpp -- a nest whose products have a factor that is made of
// elements, as a nest in front that makes it and one that reads it:
//
//     for i, j:  s = 0;  for k:  s += exp(a[i][k]) * b[k][j];  c[i][j] = s;
//
//     before:  every loop has work, what is written is apart from what the
//              factor is made of, and there is memory t ? made : kept
//     made:    for i, k:  t[i][k] = exp(a[i][k]);
//              for i, j:  s = 0;  for k:  s += t[i][k] * b[k][j];  ..
//     kept:    the nest as it was
//
// The factor must be computed in all iterations of the loops around it, from
// counters, elements and what does not change, by operations that have no
// effect; and some loop around the product must not move it.  So nothing is
// computed that the source does not compute, but once where it does so often.
#include "made_factors.h"
#include "checks.h"
#include "ir_code.h"
#include "ir_sums.h"
#include "nest_parts.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {
namespace {

class MadeFactors {
  enum { BlocksMax = 64, PartsMax = 48, FactorsMax = 4 };
  // Of fewer uses of each element, or fewer products, making a factor costs
  // more than it spares.
  enum { UsesLeast = 4, ProductsLeast = 1024 };
  struct Factor {
    Instruction *V = nullptr;
    const Instruction *Product = nullptr;
    SmallPtrSet<const Loop *, 4> Moving;
    SmallVector<Loop *, 4> Axes;    // from the outermost
    Value *At = nullptr;            // the memory
    SmallVector<Value *, 4> Stride; // of the axes, in elements
  };
  Loop &L;
  LoopFacts &Facts;
  ScalarEvolution &SE;
  Type *I64;
  Overlaps Places;
  SmallVector<Instruction *, 16> Accesses;
  SmallVector<Factor, 4> Factors;
  SmallPtrSet<const Instruction *, 16> Seen; // of one factor
  DenseMap<const Loop *, Value *> Extent;
  DebugLoc At;

public:
  MadeFactors(Loop &L, LoopFacts &Facts)
      : L(L), Facts(Facts), SE(Facts.SE),
        I64(Type::getInt64Ty(SE.getContext())), Places(L, Facts.SE, Facts.AA) {}

  bool find() {
    if (L.getHeader()->getParent()->hasFnAttribute("no-builtins") ||
        !canBeCopied(L) || L.getNumBlocks() > BlocksMax ||
        !findAccesses(L, Accesses) ||
        !all_of(L.getLoopsInPreorder(),
                [&](const Loop *X) { return isCounted(*X); }))
      return false;
    for (BasicBlock *B : L.blocks())
      for (Instruction &I : *B)
        if (isSumOfProduct(I) && I.getType()->isFloatingPointTy())
          addFactorsOf(I);
    return !Factors.empty() && Factors.size() <= FactorsMax;
  }

  void split(BasicBlock *&Kept) {
    BasicBlock *Front = L.getLoopPreheader();
    Instruction *End = Front->getTerminator();
    IRNest None;
    Checks C(None, SE, End);
    At = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    C.B.SetCurrentDebugLocation(At);
    Value *Good = C.B.CreateAnd(haveWork(C), Places.hold(C));
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
    for (Factor &X : Factors) {
      X.At = Body.CreateGEP(Body.getInt8Ty(), Memory, X.At);
      make(Body, X);
    }
    Body.CreateBr(Begin);
    for (Factor &X : Factors)
      read(X);
    release(*Memory);
    Kept = cast<BasicBlock>(OfKept[L.getHeader()]);
  }

private:
  // ---- what may be made ----

  // The exit test stands in front of the body, else behind it.
  static bool testsFirst(const Loop &X) {
    return X.getExitingBlock() == X.getHeader() &&
           X.getHeader() != X.getLoopLatch();
  }

  // How often the body runs.
  const SCEV *countOf(const Loop &X) {
    const SCEV *Count = SE.getBackedgeTakenCount(&X);
    if (isa<SCEVCouldNotCompute>(Count) ||
        SE.getTypeSizeInBits(Count->getType()) > 64)
      return SE.getCouldNotCompute();
    Count = SE.getNoopOrZeroExtend(Count, I64);
    return testsFirst(X) ? Count : SE.getAddExpr(Count, SE.getOne(I64));
  }

  bool isCounted(const Loop &X) {
    return X.isLoopSimplifyForm() &&
           (testsFirst(X) || X.getExitingBlock() == X.getLoopLatch()) &&
           isKnown(countOf(X));
  }

  // In front of L.
  bool isKnown(const SCEV *S) {
    Expander Code(SE, *L.getHeader()->getModule());
    return !isa<SCEVCouldNotCompute>(S) && SE.isLoopInvariant(S, &L) &&
           SE.properlyDominates(S, L.getHeader()) && Code.isSafe(S);
  }

  // In the body of each loop around it, whatever else happens there.
  bool alwaysRuns(const Instruction &I) {
    const BasicBlock *B = I.getParent();
    for (const Loop *In = Facts.LI.getLoopFor(B);; In = In->getParentLoop()) {
      if ((B == In->getHeader() && testsFirst(*In)) ||
          !Facts.DT.dominates(B, In->getLoopLatch()))
        return false;
      if (In == &L)
        return true;
      B = In->getLoopPreheader();
    }
  }

  // The factors in a sum of products.
  void addFactorsOf(const Instruction &Sum, int Depth = 0) {
    enum { DepthMax = 3 };
    bool Fused = isa<IntrinsicInst>(Sum); // x * y + z
    for (unsigned N = 0; N < (Fused ? 3 : Sum.getNumOperands()); N++) {
      auto *X = dyn_cast<Instruction>(Sum.getOperand(N));
      if (Fused && N < 2)
        addFactor(Sum.getOperand(N), Sum);
      else if (X && L.contains(X) && X->getOpcode() == Instruction::FMul)
        for (Value *V : X->operands())
          addFactor(V, *X);
      else if (X && L.contains(X) && Depth < DepthMax &&
               (X->getOpcode() == Instruction::FAdd ||
                X->getOpcode() == Instruction::FSub))
        addFactorsOf(*X, Depth + 1);
    }
  }

  void addFactor(Value *V, const Instruction &Product) {
    auto *I = dyn_cast<Instruction>(V);
    const Value *Element = V;
    while (isa<CastInst>(Element))
      Element = cast<CastInst>(Element)->getOperand(0);
    if (!I || !L.contains(I) || isElement(Element) ||
        any_of(Factors, [I](const Factor &X) { return X.V == I; }))
      return;
    Factor X;
    X.V = I;
    X.Product = &Product;
    Seen.clear();
    if (!alwaysRuns(*I) || !mayBeMade(*I, X))
      return;
    const Loop *In = Facts.LI.getLoopFor(Product.getParent());
    bool Stays = false;
    for (;; In = In->getParentLoop()) {
      Stays |= !X.Moving.count(In);
      if (In == &L)
        break;
    }
    for (Loop *Around = Facts.LI.getLoopFor(I->getParent());;
         Around = Around->getParentLoop()) {
      if (X.Moving.count(Around))
        X.Axes.insert(X.Axes.begin(), Around);
      if (Around == &L)
        break;
    }
    if (Stays && !X.Axes.empty() && X.Axes.size() == X.Moving.size())
      Factors.push_back(std::move(X));
  }

  // Which a nest reads as it is.
  bool isElement(const Value *V) {
    const auto *Load = dyn_cast<LoadInst>(V);
    if (!Load)
      return isa<PHINode>(V);
    const SCEV *S = SE.getSCEV(const_cast<Value *>(Load->getPointerOperand()));
    return isa<SCEVAddRecExpr>(Places.wide(S)) || SE.isLoopInvariant(S, &L);
  }

  bool mayBeMade(const Value &V, Factor &X) {
    const auto *I = dyn_cast<Instruction>(&V);
    if (!I || !L.contains(I) || !Seen.insert(I).second)
      return true;
    if (Seen.size() > PartsMax || I->getType()->isVectorTy())
      return false;
    if (const auto *P = dyn_cast<PHINode>(I))
      return SE.isSCEVable(P->getType()) &&
             counts(SE.getSCEV(const_cast<PHINode *>(P)), X);
    if (const auto *Load = dyn_cast<LoadInst>(I)) {
      if (!Load->isSimple() || !all_of(Accesses, [&](Instruction *W) {
            return isa<LoadInst>(W) || Places.areApart(*W, *Load);
          }))
        return false;
    } else if (const auto *Call = dyn_cast<CallInst>(I)) {
      if (!Call->doesNotAccessMemory() || !Call->willReturn() ||
          !Call->doesNotThrow() || Call->isConvergent() ||
          Call->hasOperandBundles() || !Call->getCalledFunction())
        return false;
    } else if (!isa<BinaryOperator, UnaryOperator, CastInst, SelectInst,
                    CmpInst, GetElementPtrInst, FreezeInst>(I))
      return false;
    return all_of(I->operands(),
                  [&](const Use &U) { return mayBeMade(*U.get(), X); });
  }

  // S is a start plus steps of loops.
  bool counts(const SCEV *S, Factor &X) {
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    if (!Rec || !L.contains(Rec->getLoop()))
      return isKnown(S);
    X.Moving.insert(Rec->getLoop());
    return Rec->isAffine() && isKnown(Rec->getStepRecurrence(SE)) &&
           counts(Rec->getStart(), X);
  }

  // ---- in front ----

  Value *haveWork(Checks &C) {
    Value *Work = C.B.getTrue();
    for (Loop *X : L.getLoopsInPreorder()) {
      Value *N = C.frozen(countOf(*X), I64);
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
    for (Factor &X : Factors) {
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

  uint64_t bytesOf(const Factor &X) const {
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
          if (isKnown(Part))
            Known[Part] = C.frozen(Part, Part->getType());
        };
        for (; const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
             S = Rec->getStart())
          if (Rec->isAffine())
            Keep(Rec->getStepRecurrence(SE));
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
    if (isa<PHINode>(I))
      return Done[V] = counter(B, SE.getSCEV(I), Now);
    Instruction *New = I->clone();
    for (Use &U : New->operands())
      U.set(compute(B, U.get(), Done, Now));
    B.Insert(New);
    return Done[V] = New;
  }

  Value *placeOf(IRBuilder<> &B, const Factor &X,
                 function_ref<Value *(const Loop &)> Now) {
    Value *Way = B.getInt64(0);
    for (size_t A = 0; A < X.Axes.size(); A++)
      Way = B.CreateAdd(Way, B.CreateMul(Now(*X.Axes[A]), X.Stride[A]));
    Way = B.CreateMul(Way, B.getInt64(bytesOf(X)));
    return B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), X.At, Way),
                               pointerTo(X.V->getType()));
  }

  void make(Code &B, Factor &X) {
    DenseMap<const Loop *, Value *> Now;
    makeAlong(B, X, Now, 0);
  }
  void makeAlong(Code &B, Factor &X, DenseMap<const Loop *, Value *> &Now,
                 size_t Axis) {
    if (Axis == X.Axes.size()) {
      Made Done;
      Value *V = compute(B, X.V, Done, Now);
      B.CreateStore(
          V, placeOf(B, X, [&](const Loop &Of) { return Now.lookup(&Of); }));
      return;
    }
    Loop *Of = X.Axes[Axis];
    B.loop(B.getInt64(0), Extent[Of], B.getInt64(1), [&](Value *I) {
      Now[Of] = I;
      makeAlong(B, X, Now, Axis + 1);
    });
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

  void read(Factor &X) {
    IRBuilder<> B(X.V->getNextNode());
    B.SetCurrentDebugLocation(X.V->getDebugLoc());
    Value *V = B.CreateLoad(X.V->getType(), placeOf(B, X, [&](const Loop &Of) {
                              return counterOf(Of);
                            }));
    X.V->replaceAllUsesWith(V);
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

} // namespace nputeir
