// expressions.cpp -- values of the IR, and the addresses behind them, as the
// nest description has them.
//
// A branch that only decides on a value is a choice between two values: a phi
// where its ways meet becomes a select, and a store on one way becomes one of
// either the new value or the old content, if the place is written anyway.
//
// Phi nodes of loop headers that are not counters become scalar variables with
// two assignments, the start and the step.  Those of one header happen at once.
#include "expressions.h"

#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_scev.h"
#include "lanes.h"
#include "zero_skips.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace nputeir {

int Expressions::loopOf(const BasicBlock *B) const {
  auto It = LoopIndex.find(LI.getLoopFor(B));
  return It == LoopIndex.end() ? -1 : It->second;
}

bool Expressions::readAccess(const Instruction &I, const Value *Pointer,
                             dtype Type, nest_access &Access) {
  Address X;
  if (!Places.read(I, Pointer, X))
    return verdict_decline(&V, RULE_NON_AFFINE, at(I),
                           "an address is not a fixed start plus a fixed "
                           "stride per loop");
  return describe(I, X, Type, Access);
}

bool Expressions::describe(const Instruction &I, const Address &X, dtype Type,
                           nest_access &Access) {
  for (const SCEV *Stride : X.Stride)
    if (Stride && looksNegative(Stride))
      return verdict_decline(&V, RULE_DIRECTIONS, at(I),
                             "a loop has a negative stride in one array and "
                             "a positive one in another");
  TensorBase S = Known.find(X);
  Access = access(Type, S.Tensor);
  Access.offset_bytes = S.Bytes;
  Access.rows = S.Rows;
  if (S.Pitch)
    setPitch(Access.tensor, S.Pitch);
  for (size_t L = 0; L < Loops.size(); L++)
    if (X.Stride[L]) {
      value &Stride = Access.stride_bytes[L];
      Stride = valueOf(X.Stride[L], Twine(tensorName(Access.tensor)) + "." +
                                        loopName((int)L));
      if (S.Pitch && Stride.symbol >= 0)
        RowStrides.push_back({Stride.symbol, (int)L});
    }
  return true;
}

void Expressions::assign(int Id, const Instruction *Where, int LoopNumber,
                         const Value *W) {
  NestBuilder::assign(Id, LoopNumber, Code.Order[Where], read(W, false, 0),
                      at(*Where));
}

int Expressions::scalar(const PHINode *P) {
  auto [It, IsNew] = Scalar.try_emplace({P, Lane}, -1);
  if (!IsNew)
    return It->second;
  int Id = It->second = addScalar();
  const Loop *L = LI.getLoopFor(P->getParent());
  const Instruction *Entry = L->getLoopPreheader()->getTerminator();
  const Value *Start = P->getIncomingValueForBlock(L->getLoopPreheader());
  int EntryLoop = loopOf(Entry->getParent());
  assign(Id, Entry, EntryLoop, Start);
  const Instruction *Last = L->getLoopLatch()->getTerminator();
  nest_expr *Next =
      read(P->getIncomingValueForBlock(L->getLoopLatch()), false, 0);
  nest_expr *Now = make(NEST_SCALAR, typeOf(P->getType(), false), at(*P));
  Now->scalar = Id;
  NestBuilder::assign(Id, LoopIndex[L], Code.Order[Last],
                      whereRun(*L, Next, Now), at(*Last));
  return Id;
}

// New in iterations that the loop has, Old in those that are cut off.
nest_expr *Expressions::whereRun(const Loop &L, nest_expr *New,
                                 nest_expr *Old) {
  const ClippedLoop *C = Code.Clipped.at(L);
  if (!C)
    return New;
  if (nest_expr *Has = Tests.has(*C, L, LoopIndex[&L], at(L)))
    return make(NEST_SELECT, New->type, at(L), Has, New, Old);
  Places.declineVariant(L, A, V);
  return New;
}

nest_expr *Expressions::readPhi(const PHINode *P, int Depth) {
  dtype T = typeOf(P->getType(), false);
  const PHINode *Source = Code.variableOf(P);
  if (Source && !LoopIndex.count(LI.getLoopFor(Source->getParent())))
    return other("a value of another loop", at(*P));
  if (!Source) {
    nest_expr *E = readChoice(*P, Depth);
    return E ? E : other("a value that depends on a condition", at(*P));
  }
  nest_expr *E = make(NEST_SCALAR, T, at(*P));
  E->scalar = scalar(Source);
  return E;
}

// W is a load, or what stands for one that was moved in front of inner loops:
// it is not read if they have no work, but then nobody uses it.
nest_expr *Expressions::readLoad(const Value *W, bool Unsigned) {
  const LoadInst *L = hoistedLoad(W);
  if (W == L && !LoopIndex.count(LI.getLoopFor(L->getParent())))
    return other("an element that another loop reads", at(*L));
  if (W == L)
    Loads.push_back(L);
  bool Conditional =
      W == L && Code.isGuarded(L->getParent()) &&
      !Code.isLocal(SE.getSCEV(const_cast<Value *>(L->getPointerOperand()))) &&
      !Code.isReadAnyway(*L);
  if (Conditional && Lane < 0 &&
      isSkippedAlike(*L, L->getParent(), L->getPointerOperand()))
    Conditional = false;
  if (Conditional &&
      (Lane >= 0 || !runsUnderGuards(L->getParent()) || readsRows())) {
    verdict_decline(&V, RULE_GUARDED, at(*L),
                    "a condition inside the nest decides what is read");
    return other("an element that is not always read", at(*L));
  }
  dtype T = typeOf(L->getType(), Unsigned);
  nest_expr *E = make(NEST_LOAD, T, at(*L));
  if (!readAccess(*L, L->getPointerOperand(), T, E->access))
    return other("an element whose address is not affine", at(*L));
  // What the nest writes is read in the type in which it is written.
  if (Written.contains(E->access.tensor))
    E->type = typeOf(L->getType(), false);
  E->access.type = E->type;
  E->access.offset_bytes += std::max(Lane, 0) * (int64_t)dtype_bytes(T);
  E->conditional = Conditional;
  E->loop = loopOf(L->getParent());
  E->order = Code.Order[L];
  return E;
}

// Rows are read in front of the nest.
bool Expressions::readsRows() const { return !Places.Rows.empty(); }

// A number that is there before the nest.
nest_expr *Expressions::readOutside(const Value *W, dtype T) {
  nest_expr *E = make(NEST_OUTSIDE, T, loc_none());
  E->outside = outsideOf(const_cast<Value *>(W));
  return E;
}

// bf16 kept as uint16_t, widened to float by a shift, or taken for __bf16;
// null if I is not that.  What the nest writes is read as it is written.
nest_expr *Expressions::readBits(const Instruction *I) {
  bool Same;
  const Value *Half = halfOf(*I, Same);
  Element X = Half ? elementOf(Half, Lane) : Element{nullptr, -1};
  if (!X.Of)
    return nullptr;
  SaveAndRestore<int> Of(Lane, X.Lane);
  nest_expr *E = readHalf(X.Of);
  return !E || Same ? E : make(NEST_CAST, DTYPE_F32, at(*I), E);
}

nest_expr *Expressions::readHalf(const Value *W) {
  if (!hoistedLoad(W) || !Outer.contains(cast<Instruction>(W)))
    return nullptr;
  nest_expr *Load = readLoad(W, true);
  if (Load->op != NEST_LOAD || Written.contains(Load->access.tensor))
    return nullptr;
  Load->type = Load->access.type = DTYPE_BF16;
  return Load;
}

nest_expr *Expressions::read(const Value *W, bool Unsigned, int Depth) {
  Element X = elementOf(W, Lane);
  if (!X.Of)
    return other("an element of a vector that is not known", loc_none());
  SaveAndRestore<int> Of(Lane, X.Lane);
  return readElement(X.Of, Unsigned, Depth);
}

nest_expr *Expressions::readElement(const Value *W, bool Unsigned, int Depth) {
  const Type *Whole = W->getType();
  dtype T;
  if ((Lane >= 0 && laneCount(Whole) == 0) ||
      !typeOf(Lane >= 0 ? Whole->getScalarType() : Whole, Unsigned, T))
    return other("a value of a type that the NPU does not have", loc_none());
  if (const auto *C = dyn_cast<Constant>(W))
    return readConstant(C, T);
  const auto *I = dyn_cast<Instruction>(W);
  if (Lane >= 0 && (!I || !Outer.contains(I)))
    return other("a vector from before the nest", loc_none());
  if (!I || !Outer.contains(I))
    return readOutside(W, T);
  if (tooLong(Depth))
    return other("a long expression", at(*I));
  if (hoistedLoad(I))
    return as(readLoad(I, Unsigned), T);
  if (const auto *P = dyn_cast<PHINode>(I))
    return as(readPhi(P, Depth), T);
  if (const auto *S = dyn_cast<SelectInst>(I);
      S && S->getCondition()->getType()->isIntegerTy())
    if (auto Side = Code.sideOf(*S)) {
      R.Assumed.push_back({const_cast<Value *>(S->getCondition()), *Side});
      return read(S->getOperand(*Side ? 1 : 2), Unsigned, Depth + 1);
    }
  if (nest_expr *E = readBits(I))
    return E;
  if (const auto *C = dyn_cast<ICmpInst>(I); C && Lane < 0)
    if (nest_expr *E = Tests.read(*C, loopOf(C->getParent())))
      return E;
  if (isa<ICmpInst>(I) && any_of(I->operands(), [&](const Use &U) {
        return countsLoops(U.get());
      })) {
    verdict_decline(&V, RULE_GUARDED, at(*I),
                    "a condition on the loops' counters decides on the "
                    "result");
    return other("a comparison of loop counters", at(*I));
  }
  if (nest_expr *E = readAcross(*I, Depth))
    return as(E, T);
  if (nest_expr *E = readParts(*I, Depth))
    return as(E, T);
  return as(readOperation(*I, Depth), T);
}

bool Expressions::countsLoops(Value *W) {
  const auto *Rec = SE.isSCEVable(W->getType())
                        ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(W))
                        : nullptr;
  return Rec && Outer.contains(Rec->getLoop());
}

// ---- values that depend on a condition ----

// Follows control from the end of D to block Goal, in one iteration of the
// loop of both.  A way that does not lead there has the value Else, or does
// not matter when that is null.  Null: no way leads there.
nest_expr *Expressions::follow(const BasicBlock *D, const BasicBlock *Goal,
                               nest_expr *Else, Reached AtGoal, int Depth) {
  // Ways that meet are followed on from there once for each.
  if (tooLong(Depth) || ++Branches > BranchesMax)
    return other("a value with many conditions", loc_none());
  assert(Code.runs(D));
  const auto *Branch = dyn_cast<BranchInst>(D->getTerminator());
  if (!Branch)
    return other("a value that a switch decides on", at(*D->getTerminator()));
  nest_expr *Way[2];
  int Ways = 0;
  for (const BasicBlock *Next : successors(D))
    if (Code.goes(D, Next))
      Way[Ways++] = enter(D, Next, Goal, Else, AtGoal, Depth + 1);
  if (Ways == 1 || !Way[1])
    return Way[0];
  if (!Way[0] || Way[0] == Way[1])
    return Way[1];
  return make(NEST_SELECT, Way[0]->type, at(*Branch),
              read(Branch->getCondition(), false, Depth + 1), Way[0], Way[1]);
}

nest_expr *Expressions::enter(const BasicBlock *From, const BasicBlock *To,
                              const BasicBlock *Goal, nest_expr *Else,
                              Reached AtGoal, int Depth) {
  if (To == Goal)
    return AtGoal(From);
  const Loop *L = LI.getLoopFor(Goal);
  if (!L->contains(To))
    return nullptr;
  const Loop *Inner = LI.getLoopFor(To);
  if (Inner != L) { // comes out where it has ended
    Exit Way = exitOf(*Inner);
    assert(Way.From && Inner->getParentLoop() == L);
    return enter(Way.From, Way.To, Goal, Else, AtGoal, Depth);
  }
  if (To == L->getHeader() || (Else && !Code.isConditional(To)))
    return Else;
  return follow(To, Goal, Else, AtGoal, Depth);
}

// Null: the phi is none where ways of one iteration meet.
nest_expr *Expressions::readChoice(const PHINode &P, int Depth) {
  const BasicBlock *Goal = P.getParent();
  const BasicBlock *D = DT.getNode(Goal)->getIDom()->getBlock();
  if (LI.getLoopFor(D) != LI.getLoopFor(Goal))
    return nullptr;
  return follow(
      D, Goal, nullptr,
      [&](const BasicBlock *From) {
        return read(P.getIncomingValueForBlock(From), false, Depth + 1);
      },
      Depth);
}

nest_expr *Expressions::readConditional(const StoreInst &S,
                                        const nest_statement &N) {
  assert(Code.isGuarded(S.getParent()));
  nest_expr *Old = make(NEST_LOAD, N.to.type, N.at);
  Old->access = N.to;
  Old->loop = N.loop;
  Old->order = N.order - 1;
  nest_expr *New = read(S.getValueOperand(), false, 0);
  for (const BasicBlock *B = S.getParent();;) {
    if (Code.isConditional(B))
      New = follow(
          Code.unconditionalBefore(B), B, Old,
          [New](const BasicBlock *) { return New; }, 0);
    const Loop *L = LI.getLoopFor(B);
    if (L == &Outer)
      return New;
    const value &Step = N.to.stride_bytes[LoopIndex[L]];
    if (Code.Clipped.at(*L) && (Step.symbol >= 0 || Step.constant))
      Places.declineVariant(*L, A, V); // fewer elements, not fewer terms
    New = whereRun(*L, New, Old);
    B = L->getLoopPreheader();
  }
}

bool Expressions::followsGuards(const BasicBlock *B) {
  const Loop *L = LI.getLoopFor(B);
  const BasicBlock *First = Code.unconditionalBefore(B);
  for (const BasicBlock *X : Code.Blocks) {
    if (X == B)
      return true;
    if (LI.getLoopFor(X) != L || !DT.dominates(First, X) || !Code.forks(X))
      continue;
    const auto *Branch = dyn_cast<BranchInst>(X->getTerminator());
    if (!Branch || !asksAffineGuards(read(Branch->getCondition(), false, 0)))
      return false;
  }
  return true;
}

bool Expressions::runsUnderGuards(const BasicBlock *B) {
  const Loop *L = LI.getLoopFor(B);
  return (!Code.isConditional(B) || followsGuards(B)) &&
         (L == &Outer || runsUnderGuards(L->getLoopPreheader()));
}

// ---- products that are skipped ----

bool Expressions::isSkippedAlike(const Instruction &I, const BasicBlock *B,
                                 const Value *Pointer) {
  bool Side;
  Address X;
  const BranchInst *Branch = Code.onlySkipOf(B, Side);
  if (!Branch || readsRows() || !Places.read(I, Pointer, X))
    return false;
  const auto *C = cast<Instruction>(Branch->getCondition());
  Skips = true;
  return requireSkipped(*C, Side, X, I, Outer, Places, R);
}

} // namespace nputeir
