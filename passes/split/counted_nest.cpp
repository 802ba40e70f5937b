// counted_nest.cpp -- nests whose loops change nothing from one iteration to
// the next but where they are.
#include "counted_nest.h"
#include "ir_exits.h"
#include "ir_scev.h"
#include "versions.h"

using namespace llvm;

namespace nputeir {

// How often the body runs; null: that is not known.
const SCEV *CountedNest::iterations(const Loop &X, const SCEV *&End) {
  End = nullptr;
  const SCEV *N = SE.getBackedgeTakenCount(&X);
  if (isa<SCEVCouldNotCompute>(N) || !exitsBeforeBody(X) ||
      SE.getTypeSizeInBits(N->getType()) > 64)
    return nullptr;
  bool Signed = false; // 64 bits with a sign do not wrap
  const SCEV *Wide = withoutMaximum(Places.wide(SE.getNoopOrZeroExtend(N, I64)),
                                    SE, End, Signed);
  if (Signed)
    End = nullptr;
  // A sum of 32 bits is the same in 64 as long as both are numbers of
  // columns, which is asked in front of the nest.
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(N);
  if (Rec && Rec->isAffine() && !isa<SCEVAddRecExpr>(Wide) &&
      SE.getTypeSizeInBits(N->getType()) >= 32)
    return SE.getAddRecExpr(
        SE.getNoopOrSignExtend(Rec->getStart(), I64),
        SE.getNoopOrSignExtend(Rec->getStepRecurrence(SE), I64), Rec->getLoop(),
        SCEV::FlagAnyWrap);
  return Wide;
}

bool CountedNest::runsEvenly(const Loop &X) {
  const SCEV *N = iterations(X);
  Expander Code(SE, *L.getHeader()->getModule());
  return N && SE.isLoopInvariant(N, &L) && Code.isSafe(N);
}

bool CountedNest::timesAround(const Instruction &I,
                              ArrayRef<const Loop *> Without,
                              SmallVectorImpl<const SCEV *> &Times) {
  for (const Loop *X = LI.getLoopFor(I.getParent()); L.contains(X);
       X = X->getParentLoop()) {
    const SCEV *N = iterations(*X);
    if (is_contained(Without, X) || (N && SE.isKnownPositive(N)))
      continue;
    if (!runsEvenly(*X))
      return false;
    Times.push_back(N);
  }
  return true;
}

// What L changes from one iteration to the next is where it is.
bool CountedNest::countsOnly(const Loop &X) {
  return X.getExitingBlock() == X.getHeader() && exitsBeforeBody(X) &&
         all_of(X.getHeader()->phis(), [&](const PHINode &P) {
           const SCEVAddRecExpr *Rec = counter(P, X);
           return Rec && SE.isLoopInvariant(Rec->getStepRecurrence(SE), &L);
         });
}

const SCEVAddRecExpr *CountedNest::counter(const PHINode &P, const Loop &X) {
  if (!SE.isSCEVable(P.getType()) || SE.getTypeSizeInBits(P.getType()) > 64)
    return nullptr;
  const auto *Rec =
      dyn_cast<SCEVAddRecExpr>(SE.getSCEV(const_cast<PHINode *>(&P)));
  return Rec && Rec->isAffine() && Rec->getLoop() == &X ? Rec : nullptr;
}

bool CountedNest::stepsOf(const Instruction &I, const SCEV *&Place,
                          LoopSteps &Step) {
  Place = Places.placeOf(I);
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(Place)) {
    if (!L.contains(Rec->getLoop()))
      break;
    const SCEV *S = SE.getNoopOrSignExtend(Rec->getStepRecurrence(SE), I64);
    if (!Rec->isAffine() || !SE.isLoopInvariant(S, &L))
      return false;
    Step[Rec->getLoop()] = S;
    Place = Rec->getStart();
  }
  return SE.isLoopInvariant(Place, &L);
}

Value *CountedNest::times(IRBuilder<> &B, Value *X, Value *Y, Value *&Fits) {
  Value *Both = B.CreateBinaryIntrinsic(Intrinsic::umul_with_overflow, X, Y);
  Fits = B.CreateAnd(Fits, B.CreateNot(B.CreateExtractValue(Both, 1)));
  return B.CreateExtractValue(Both, 0);
}

void CountedNest::findSteps(Loop &X, Instruction *At) {
  Expander Code(SE, *At->getModule());
  for (PHINode &P : X.getHeader()->phis()) {
    const SCEVAddRecExpr *Rec = counter(P, X);
    if (!Rec)
      continue;
    const SCEV *Step = Rec->getStepRecurrence(SE);
    Steps[&P] = Code.expand(Step, Step->getType(), At);
  }
}

BasicBlock *CountedNest::frontOf(Loop &X, ValueToValueMapTy *Map) {
  BasicBlock *Front = X.getLoopPreheader();
  Value *Copied = Map ? Map->lookup(Front) : nullptr;
  return Copied ? cast<BasicBlock>(Copied) : Front;
}

uint64_t CountedNest::bytesOf(const Instruction &I) {
  return I.getModule()->getDataLayout().getTypeStoreSize(
      getLoadStoreType(const_cast<Instruction *>(&I)));
}

void CountedNest::startAt(Loop &X, ValueToValueMapTy *Map, Value *Begin,
                          BasicBlock *Front) {
  for (PHINode &P : X.getHeader()->phis()) {
    auto Step = Steps.find(&P);
    if (Step == Steps.end())
      continue; // a counter of ours
    IRBuilder<> B(Front->getTerminator());
    B.SetCurrentDebugLocation(DL);
    Value *Copied = Map ? Map->lookup(&P) : nullptr;
    auto *Own = Copied ? cast<PHINode>(Copied) : &P;
    Value *Start = Own->getIncomingValueForBlock(Front);
    Value *Way = B.CreateMul(
        B.CreateTruncOrBitCast(Begin, Step->second->getType()), Step->second);
    Start = P.getType()->isPointerTy()
                ? B.CreatePointerCast(
                      B.CreateGEP(B.getInt8Ty(),
                                  B.CreatePointerCast(
                                      Start, bytePointer(B.getContext())),
                                  Way),
                      P.getType())
                : B.CreateAdd(Start, Way);
    Own->setIncomingValueForBlock(Front, Start);
  }
}

} // namespace nputeir
