// assume.cpp -- sizes and addresses that the nest's own stores may change, for
// all that the compiler knows.
//
//     for (i = 0; i < a->rows; i++) ..
//       c->data[i * c->columns + j] = sum;
//
// Where data points to int, this may write a->rows or c->columns.  The nest is
// read as if it did not: while it is, placeholders in front stand for such
// loads, and copies for what is computed from them alone.  That tells where the
// nest writes, and what is asked at run time is whether the bytes loaded lie
// outside of that.  Then they do not change, because the first store to change
// one would itself go where the description says.
//
// A load may run in front if the loops around it have work, as in hoist.cpp.
// Whether they have is the answer of other loads.  Where a store comes before
// these, it may have changed them, and the load is late: it waits for the
// answer to whether what was loaded so far is apart from what is written, which
// must therefore not depend on late loads.
//
//     front:  early loads; apart = none is zero that must not be, and all lie
//             outside of what is written
//     late:   load, if apart so far; apart = apart and outside, too
#include "assume.h"
#include "addresses.h"
#include "call_effects.h"
#include "checks.h"

#include "ir_marks.h"
#include "local_arrays.h"
#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

// ---- which loads ----

// False: the nest changes memory in other ways, too, or may never end.
bool AssumedLoads::findStores() {
  for (BasicBlock *B : Outer.blocks()) {
    if (!comesToEnd(*B))
      return false;
    for (Instruction &I : *B) {
      if (!I.mayWriteToMemory() || marksFrame(I))
        continue;
      if (isa<StoreInst>(I) || isa<MemIntrinsic>(I))
        Stores.push_back(&I);
      else if (isa<CallBase>(I) && HasOther) // what it writes cannot be asked
        Calls.push_back(&I);
      else
        return false;
    }
  }
  return Stores.size() <= StoresMax;
}

// What these values are computed from in L.
static SmallPtrSet<const Instruction *, 32>
sourcesOf(SmallVector<const Value *, 32> Values, const Loop &L) {
  SmallPtrSet<const Instruction *, 32> Found;
  while (!Values.empty()) {
    const auto *I = dyn_cast<Instruction>(Values.pop_back_val());
    if (I && L.contains(I) && Found.insert(I).second && !isa<LoadInst>(I))
      Values.append(I->value_op_begin(), I->value_op_end());
  }
  return Found;
}

void AssumedLoads::findShaping() {
  SmallVector<const Value *, 32> Conditions, All;
  for (const BasicBlock *B : Outer.blocks())
    for (const Instruction &I : *B) {
      if (const Value *Pointer = getLoadStorePointerOperand(&I))
        All.push_back(Pointer);
      else if (isa<MemIntrinsic>(I))
        All.append(I.value_op_begin(), I.value_op_end());
      else if (I.isTerminator())
        Conditions.append(I.value_op_begin(), I.value_op_end());
    }
  Counting = sourcesOf(Conditions, Outer);
  All.append(Conditions);
  Shaping = sourcesOf(std::move(All), Outer);
}

static MemoryLocation writtenBy(const Instruction &I) {
  if (const auto *Mem = dyn_cast<MemIntrinsic>(&I))
    return MemoryLocation::getForDest(Mem);
  return MemoryLocation::get(cast<StoreInst>(&I));
}

bool AssumedLoads::isChanged(const LoadInst &L) const {
  return any_of(Stores, [&](const Instruction *S) {
    AliasResult R = AA.alias(MemoryLocation::get(&L), writtenBy(*S));
    return R == AliasResult::MustAlias || R == AliasResult::PartialAlias;
  });
}

bool AssumedLoads::mayChange(const LoadInst &L) const {
  return any_of(Stores, [&](const Instruction *S) {
    return isModSet(AA.getModRefInfo(S, MemoryLocation::get(&L)));
  });
}

bool AssumedLoads::mayBeChangedByCall(const LoadInst &L) const {
  return any_of(Calls, [&](const Instruction *Call) {
    return mayWrite(*Call, MemoryLocation::get(&L), AA);
  });
}

// Whether W may run before L does for the first time.
bool AssumedLoads::mayPrecede(const Instruction &W, const LoadInst &L) const {
  const Loop *Both = LI.getLoopFor(L.getParent());
  while (!Both->contains(&W))
    Both = Both->getParentLoop();
  // A loop within runs as a whole.
  const BasicBlock *First = stepOf(L.getParent(), *Both, LI),
                   *Second = stepOf(W.getParent(), *Both, LI);
  return First == Second ? W.comesBefore(&L)
                         : !DT.properlyDominates(First, Second);
}

// Whether a store may change it before the nest reads it for the first time.
bool AssumedLoads::isStale(const LoadInst &L) const {
  return any_of(Stores, [&](const Instruction *S) {
    return mayPrecede(*S, L) &&
           isModSet(AA.getModRefInfo(S, MemoryLocation::get(&L)));
  });
}

// ---- while the nest is read ----

AssumedLoads::~AssumedLoads() {
  dropInside();
  for (const Ahead &X : reverse(Found))
    X.New->eraseFromParent();
}

void AssumedLoads::dropInside() {
  assert(!IsReplaced);
  for (Instruction *I : reverse(Inside))
    I->eraseFromParent();
  Inside.clear();
}

void AssumedLoads::assume() {
  IsReplaced = true;
  if (!Outer.getLoopPreheader() || !findStores())
    return;
  findShaping();
  for (size_t Before = 0; gather() && Found.size() > Before;)
    Before = Found.size(); // which is bounded
  forgetIterations();
}

// Returns whether it is worth looking again: some load may be read in front if
// more is known of a loop that ends before it, whose blocks may come later
// here.
bool AssumedLoads::gather() {
  bool Again = false;
  // What a value is computed from comes first.
  DomTreeNode *Header = DT.getNode(Outer.getHeader());
  for (auto Node = df_begin(Header), End = df_end(Header); Node != End;) {
    if (!Outer.contains(Node->getBlock())) {
      Node.skipChildren();
      continue;
    }
    for (Instruction &I : *Node->getBlock()) {
      if (none_of(I.users(), [&](const User *U) {
            return Outer.contains(cast<Instruction>(U));
          }))
        continue;
      if (Found.size() == AheadMax)
        return false;
      if (auto *L = dyn_cast<LoadInst>(&I)) {
        Again |= !assume(*L);
      } else {
        Again |= !assumeSize(I);
        copy(I);
      }
    }
    ++Node;
  }
  return Again;
}

ArrayRef<const LoadInst *> AssumedLoads::assumeUnchanged(bool Ask) {
  HasOther = true;
  MayAsk = Ask;
  assume();
  return Unchanged;
}

// False: whether the nest reads it first is not known.
bool AssumedLoads::assume(LoadInst &L) {
  if (!Shaping.count(&L) || !L.isSimple() ||
      !Outer.isLoopInvariant(L.getPointerOperand()) || isChanged(L) ||
      mayBeChangedByCall(L) || (HasOther && isStale(L)) ||
      (!MayAsk && mayChange(L)))
    return true;
  Ahead X = {};
  X.Load = &L;
  X.Pointer = L.getPointerOperand();
  X.Place = SE.getSCEV(X.Pointer);
  X.Stale = isStale(L);
  X.MayChange = mayChange(L);
  if (HasOther && X.MayChange && none_of(Unchanged, [&](const LoadInst *Other) {
        return SE.getSCEV(const_cast<Value *>(Other->getPointerOperand())) ==
                   X.Place &&
               Other->getType() == L.getType();
      }))
    Unchanged.push_back(&L);
  Instruction *New = read(X);
  if (New)
    replaceLoad(L, *New);
  return New;
}

// What stands for what X loads while the nest is read; null: whether the nest
// reads it first is not known.
Instruction *AssumedLoads::read(Ahead X) {
  Type *T = X.Load->getType();
  for (Ahead &Known : Found)
    if (Known.Place == X.Place && Known.New->getType() == T) {
      Known.Stale |= X.Stale;
      Known.MayChange |= X.MayChange;
      return Known.New;
    }
  if (!runs(X))
    return nullptr;
  auto Decides = [&](const SCEV *S) {
    return dependsOn(S, &Ahead::Stale) || isLate(S);
  };
  X.Late = Decides(X.Place) || any_of(X.Counts, Decides);
  X.New = cast<Instruction>(
      IRBuilder<>(Places.front()).CreateFreeze(UndefValue::get(T)));
  Found.push_back(X);
  return X.New;
}

// The size of the first row stands for those of all.  False: whether the nest
// reads that is not known.
bool AssumedLoads::assumeSize(Instruction &I) {
  RowSize R;
  bool May = isa<ICmpInst>(I) || I.getOpcode() == Instruction::Sub;
  if (!May || !Counting.count(&I) || Outer.isLoopInvariant(&I))
    return true;
  forgetIterations();
  if (!readRowSize(I, Outer, SE, R) || mayBeWritten(*R.Ends.Load, Outer, AA) ||
      mayBeWritten(*R.Begins.Load, Outer, AA))
    return true;
  auto First = [&](const RowSize::Place &P) {
    Ahead X = {};
    X.Load = P.Load;
    X.Place = P.Start;
    return read(X);
  };
  Instruction *End = First(R.Ends), *Begin = End ? First(R.Begins) : nullptr;
  if (!Begin)
    return false;
  Type *I64 = Type::getInt64Ty(I.getContext());
  Instruction *Ends = &computeAhead(*new PtrToIntInst(End, I64)),
              *Begins = &computeAhead(*new PtrToIntInst(Begin, I64));
  R.First = &computeAhead(*BinaryOperator::CreateSub(Ends, Begins));
  Sizes.push_back(R);
  auto *Compare = dyn_cast<ICmpInst>(&I);
  if (!Compare)
    replace(I, *R.First);
  else if (is_contained(I.operands(), R.Begin))
    replace(I, computeAhead(*CmpInst::Create(Instruction::ICmp,
                                             Compare->getPredicate(), R.First,
                                             ConstantInt::get(I64, 0))));
  else
    endAt(*Compare, R);
  return true;
}

// A loop over the elements of a row ends as far from its begin as that of the
// first one.
void AssumedLoads::endAt(ICmpInst &Compare, const RowSize &R) {
  IRBuilder<> B(&Compare);
  auto Keep = [&](Value *V) {
    if (V != R.Begin)
      Inside.push_back(cast<Instruction>(V));
    return V;
  };
  Type *T = R.End->getType();
  Value *Bytes =
      Keep(B.CreatePointerCast(R.Begin, bytePointer(B.getContext())));
  Value *End = Keep(B.CreateGEP(B.getInt8Ty(), Bytes, R.First));
  if (End->getType() != T)
    End = Keep(B.CreatePointerCast(End, T));
  Use &At = Compare.getOperandUse(Compare.getOperand(0) == R.End ? 0 : 1);
  SE.forgetValue(&Compare);
  Replaced.push_back({&At, R.End, cast<Instruction>(End)});
  At.set(End);
  Outdated = true;
}

// Counts that were computed before other values were replaced hold still, if
// they are known in front at all.
bool AssumedLoads::runs(Ahead &X) {
  auto Runs = [&] {
    X.Counts.clear();
    return Places.runsIf(*X.Load, X.Counts) ||
           (X.Pointer && Places.runsInMiddleIf(*X.Load, X.Counts));
  };
  if (Runs())
    return true;
  if (!Outdated)
    return false;
  forgetIterations();
  return Runs();
}

// Where hoist.cpp has put it in a branch, the zero that it is otherwise has no
// use.
void AssumedLoads::replaceLoad(LoadInst &L, Instruction &New) {
  PHINode *Joined = nullptr;
  for (User *U : L.users())
    if (auto *P = dyn_cast<PHINode>(U); P && hoistedLoad(P) == &L)
      Joined = P;
  replace(L, New);
  if (Joined)
    replace(*Joined, New);
}

// Only what is computed from placeholders is left inside by hoist.cpp.
void AssumedLoads::copy(Instruction &I) {
  if (Found.empty() || isa<PHINode>(I) || I.isTerminator() ||
      I.mayReadOrWriteMemory() || I.getType()->isVoidTy() ||
      !isSafeToSpeculativelyExecute(&I) || !Outer.hasLoopInvariantOperands(&I))
    return;
  replace(I, computeAhead(*I.clone()));
}

// New, which is computed from what is known in front, there.
Instruction &AssumedLoads::computeAhead(Instruction &New) {
  Ahead X = {};
  X.New = &New;
  for (const Ahead &From : Found)
    if (is_contained(New.operands(), From.New)) {
      X.Stale |= From.Stale;
      X.Late |= From.Late;
    }
  IRBuilder<>(Places.front()).Insert(X.New);
  Found.push_back(X);
  return New;
}

bool AssumedLoads::dependsOn(const SCEV *S, bool Ahead::*Flag) const {
  return SCEVExprContains(S, [&](const SCEV *Part) {
    const auto *U = dyn_cast<SCEVUnknown>(Part);
    return U && any_of(Found, [&](const Ahead &X) {
             return X.New == U->getValue() && X.*Flag;
           });
  });
}

bool AssumedLoads::isLate(const SCEV *S) const {
  return dependsOn(S, &Ahead::Late);
}

// A use outside of the nest is left: such a value is known after it only.
void AssumedLoads::replace(Instruction &Old, Instruction &New) {
  assert(Old.getType() == New.getType() && Outer.contains(&Old));
  SE.forgetValue(&Old);
  for (Use &U : make_early_inc_range(Old.uses()))
    if (Outer.contains(cast<Instruction>(U.getUser()))) {
      Replaced.push_back({&U, &Old, &New});
      U.set(&New);
    }
  Outdated |= Counting.count(&Old) > 0;
}

// Not for every value that was replaced, but when somebody asks: they are
// counted anew then.
void AssumedLoads::forgetIterations() {
  if (Outdated)
    SE.forgetLoop(&Outer);
  Outdated = false;
}

void AssumedLoads::restore() {
  assert(IsReplaced);
  IsReplaced = false;
  if (Found.empty())
    return;
  // With a value, what is computed from it is forgotten.
  SmallPtrSet<const Value *, 16> Known;
  for (const Ahead &X : Found) {
    if (SE.isSCEVable(X.New->getType()))
      Known.insert(X.New);
    if (none_of(X.New->operands(),
                [&](const Use &U) { return Known.count(U.get()); }))
      SE.forgetValue(X.New);
  }
  for (const Replacing &X : reverse(Replaced))
    X.At->set(X.Old);
  SE.forgetLoop(&Outer);
}

void AssumedLoads::assumeAgain() {
  assert(!IsReplaced);
  IsReplaced = true;
  const Instruction *Forgotten = nullptr; // a value's uses stand together
  for (const Replacing &X : Replaced) {
    if (X.Old != Forgotten)
      SE.forgetValue(X.Old);
    Forgotten = X.Old;
    X.At->set(X.New);
  }
  if (!Found.empty())
    SE.forgetLoop(&Outer);
}

// ---- where the nest writes ----

namespace {

// Per tensor, the bytes that the stores of a nest reach.
class Written {
  struct Range {
    Value *Start, *Low, *High; // from Start on, up to in front of High
  };
  const IRNest &I;
  Checks Front;
  IRBuilder<> &B;
  MapVector<int, Range> Ranges; // by tensor

public:
  Value *Fits; // nothing wraps

  Written(const IRNest &I, ScalarEvolution &SE, Instruction *At)
      : I(I), Front(I, SE, At), B(Front.B), Fits(B.getTrue()) {
    for (int S = 0; S < I.N->statement_count; S++)
      if (writes(I, S))
        add(I.N->statement[S].to);
  }

  // All that is computed to know this.
  static SmallVector<const SCEV *, 16> dependsOn(const IRNest &I) {
    SmallVector<const SCEV *, 16> Parts;
    auto Add = [&](value V) {
      if (V.symbol >= 0)
        Parts.push_back(I.Symbol[V.symbol]);
    };
    for (int S = 0; S < I.N->statement_count; S++) {
      const nest_access &To = I.N->statement[S].to;
      if (!writes(I, S))
        continue;
      Parts.push_back(I.Tensor[To.tensor]);
      if (To.rows)
        Add({0, I.N->pitch[To.tensor]});
      for (int L = 0; L < I.N->loop_count; L++)
        if (moves(To, L)) {
          Add(To.stride_bytes[L]);
          Add(I.N->loop[L].extent);
        }
    }
    return Parts;
  }

  // Beside what lies in the frame.
  static bool writes(const IRNest &I, int Statement) {
    const nest_statement &S = I.N->statement[Statement];
    return S.is_store && !I.N->local[S.to.tensor];
  }

  Value *isOutside(IRBuilder<> &At, Value *Pointer, uint64_t Bytes) const {
    Value *Place = At.CreatePtrToInt(Pointer, At.getInt64Ty());
    Value *Outside = At.getTrue();
    for (auto &[Tensor, R] : Ranges) {
      Value *First = At.CreateSub(Place, R.Start);
      Value *Behind = At.CreateAdd(First, At.getInt64(Bytes));
      Outside =
          At.CreateAnd(Outside, At.CreateOr(At.CreateICmpSGE(First, R.High),
                                            At.CreateICmpSLE(Behind, R.Low)));
    }
    return Outside;
  }

private:
  static bool moves(const nest_access &To, int Loop) {
    value Stride = To.stride_bytes[Loop];
    return Stride.symbol >= 0 || Stride.constant != 0;
  }

  Value *exact(Intrinsic::ID Operation, Value *X, Value *Y) {
    Value *Pair = B.CreateBinaryIntrinsic(Operation, X, Y);
    Fits = B.CreateAnd(Fits, B.CreateNot(B.CreateExtractValue(Pair, 1)));
    return B.CreateExtractValue(Pair, 0);
  }
  Value *times(Value *X, Value *Y) {
    return exact(Intrinsic::smul_with_overflow, X, Y);
  }
  Value *plus(Value *X, Value *Y) {
    return exact(Intrinsic::sadd_with_overflow, X, Y);
  }
  Value *smaller(Value *X, Value *Y) {
    return B.CreateBinaryIntrinsic(Intrinsic::smin, X, Y);
  }
  Value *larger(Value *X, Value *Y) {
    return B.CreateBinaryIntrinsic(Intrinsic::smax, X, Y);
  }

  void add(const nest_access &To) {
    Value *Zero = B.getInt64(0);
    Value *Low = B.getInt64((uint64_t)To.offset_bytes);
    if (To.rows)
      Low = plus(Low, times(Front.number({0, I.N->pitch[To.tensor]}),
                            B.getInt64((uint64_t)To.rows)));
    Value *High = plus(Low, B.getInt64((uint64_t)dtype_bytes(To.type)));
    for (int L = 0; L < I.N->loop_count; L++) {
      if (!moves(To, L))
        continue;
      value Extent = I.N->loop[L].extent;
      Fits = B.CreateAnd(Fits, Front.isPositive(Extent));
      Value *Way = times(Front.number(To.stride_bytes[L]),
                         B.CreateSub(Front.number(Extent), B.getInt64(1)));
      Low = plus(Low, smaller(Way, Zero));
      High = plus(High, larger(Way, Zero));
    }
    auto Known = Ranges.find(To.tensor);
    if (Known != Ranges.end()) {
      Known->second.Low = smaller(Known->second.Low, Low);
      Known->second.High = larger(Known->second.High, High);
      return;
    }
    Value *Start =
        Front.frozen(I.Tensor[To.tensor], bytePointer(B.getContext()));
    Ranges.insert(
        {To.tensor, {B.CreatePtrToInt(Start, B.getInt64Ty()), Low, High}});
  }
};

} // namespace

// ---- at run time ----

bool AssumedLoads::isLate(const Sum &S) const {
  return isLate(S.Start) || any_of(S.Terms, [&](const Sum::Term &T) {
           return isLate(T.Step) || isLate(T.Extent);
         });
}

bool AssumedLoads::isLate(const AtLeast &C) const {
  return isLate(C.Large) || isLate(C.Small);
}

bool AssumedLoads::isLate(std::pair<Value *, bool> Assumed) const {
  return any_of(
      Found, [&](const Ahead &X) { return X.New == Assumed.first && X.Late; });
}

bool AssumedLoads::isLate(std::pair<const SCEV *, const SCEV *> Equal) const {
  return isLate(Equal.first) || isLate(Equal.second);
}

// Where the nest writes must not be known from rows either: which of them exist
// is decided by what is assumed here.
bool AssumedLoads::canBeChecked(const IRNest &N, arena *A, verdict &V) const {
  auto FromRows = [&](const SCEV *S) {
    return any_of(N.Rows, [S](const RowPointers &R) { return R.areIn(S); });
  };
  bool Decides = any_of(Written::dependsOn(N), [&](const SCEV *S) {
    return isLate(S) || FromRows(S);
  });
  N.eachCondition([&](const auto &X) {
    // Whether an index wraps that is only read is asked with the late loads.
    Decides |= !std::is_same_v<decltype(X), const NoWrap &> && isLate(X);
  });
  if (!Decides || none_of(Found, [](const Ahead &X) { return X.MayChange; }))
    return true;
  return verdict_decline(&V, RULE_MAY_CHANGE, locOf(Outer.getStartLoc(), A),
                         "a store of the nest may change sizes or addresses in "
                         "memory that decide where it writes");
}

uint64_t AssumedLoads::bytesOf(const Ahead &X) const {
  return X.Load->getModule()->getDataLayout().getTypeStoreSize(
      X.Load->getType());
}

// Returns whether the load runs; null: it always does.
Value *AssumedLoads::put(const Ahead &X, Value *Apart) {
  Value *Runs = nullptr;
  assert(!IsReplaced); // the nest reads its memory again
  if (X.Load) {
    Runs = Places.noneIsZero(X.Counts);
    IRBuilder<> B(Places.front());
    if (Apart)
      Runs = Runs ? B.CreateAnd(Apart, Runs) : Apart;
    Value *Pointer = X.Pointer
                         ? X.Pointer
                         : Expander(SE, *Outer.getHeader()->getModule())
                               .expand(X.Place, X.Load->getPointerOperandType(),
                                       Places.front());
    B.SetInsertPoint(Places.front());
    auto *L = cast<LoadInst>(B.Insert(X.Load->clone()));
    L->setOperand(0, Pointer);
    L->dropUnknownNonDebugMetadata(); // what holds only where it was
    X.New->setOperand(0, Places.move(*L, Runs));
  }
  moveBefore(*X.New, Places.front());
  return Runs;
}

// What the description of where the nest writes relies on.
Value *AssumedLoads::isDescribed(const IRNest &N) {
  Checks Front(N, SE, Places.front());
  Value *Holds = Front.B.getTrue();
  N.eachCondition([&](const auto &X) {
    if (!isLate(X))
      Holds = Front.B.CreateAnd(Holds, Front.holds(X));
  });
  return Holds;
}

void AssumedLoads::compute(IRNest &N, const Plan &P) {
  if (Found.empty())
    return;
  auto Late = std::stable_partition(Found.begin(), Found.end(),
                                    [](const Ahead &X) { return !X.Late; });
  Value *Apart = ConstantInt::getTrue(Outer.getHeader()->getContext());
  auto Require = [&](Value *Holds) {
    Apart = IRBuilder<>(Places.front()).CreateAnd(Apart, Holds);
  };
  for (auto X = Found.begin(); X != Late; ++X)
    if (Value *Runs = put(*X, nullptr))
      Require(Runs);
  if (!HasOther && any_of(Found, [](const Ahead &X) { return X.MayChange; })) {
    Written Stores(N, SE, Places.front());
    auto RequireOutside = [&](const Ahead &X) {
      IRBuilder<> B(Places.front());
      if (X.MayChange)
        Require(Stores.isOutside(B, X.Pointer, bytesOf(X)));
    };
    Require(Stores.Fits);
    for (auto X = Found.begin(); X != Late; ++X)
      RequireOutside(*X);
    if (Late != Found.end())
      Require(isDescribed(N));
    for (auto X = Late; X != Found.end(); ++X)
      if (Value *Runs = put(*X, Apart)) {
        Apart = Runs;
        RequireOutside(*X);
      }
  }
  N.Assumed.push_back({Apart, true});
  checkRowSizes(Sizes, Outer, LI, SE, DT, N, P);
  dropInside();
  Found.clear();
}

} // namespace nputeir
