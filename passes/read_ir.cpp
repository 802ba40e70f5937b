// read_ir.cpp -- LoopInfo and ScalarEvolution -> struct nest.
//
// Takes a loop in LoopSimplify and LCSSA form.  Whatever the description cannot
// say declines the nest here or in body.cpp: a loop whose iterations cannot be
// counted, a branch in a body, a call, an address that is not base plus stride
// times iteration.  What remains is a list of statements, each of which runs
// exactly once in every iteration of the loops around it; the recogniser takes
// it from there.
//
// Phi nodes of loop headers that are not counters become scalar variables with
// two assignments, the start and the step.  A phi that only hands a sum through
// an outer loop is the same variable as the inner one.
#include "address.h"
#include "body.h"
#include "nest_builder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace nputeir {

namespace {

class Reader : NestBuilder {
  Loop &Outer;
  LoopInfo &LI;
  ScalarEvolution &SE;
  verdict &V;

  // Shared subexpressions are written out, so their number is bounded.
  enum { ExprMax = 2000 };

  SmallVector<Loop *, 8> Loops; // index is the nest's
  Body Code;
  Addresses Places;
  DenseMap<const Loop *, int> LoopIndex;
  DenseMap<const PHINode *, int> Scalar;

public:
  Reader(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT,
         arena *A, IRNest &R, verdict &V)
      : NestBuilder(A, R), Outer(Outer), LI(LI), SE(SE), V(V),
        Code(Outer, LI, DT, A, V), Places(Outer, LI, SE) {}

  bool read() {
    if (!Code.read() || !readLoops() || !checkLiveOuts() || !readStatements())
      return false;
    R.Assumed = Code.Assumed;
    R.Bounded = Places.Bounded;
    finish(at(Outer));
    return true;
  }

private:
  loc at(const Instruction &I) { return locOf(I.getDebugLoc(), A); }
  loc at(const Loop &L) { return locOf(L.getStartLoc(), A); }

  // ---- loops ----

  // The exit test stands before the body: the body runs as often as the loop
  // is taken back, and the header once more.
  static bool exitsBeforeBody(const Loop &L) {
    return L.getExitingBlock() == L.getHeader() &&
           L.getLoopLatch() != L.getHeader();
  }

  bool readLoop(Loop &L) {
    if (!L.isLoopSimplifyForm() || !L.getExitingBlock() ||
        !L.getUniqueExitBlock())
      return verdict_decline(&V, RULE_EARLY_EXIT, at(L),
                             "a loop of the nest has more than one way out");
    if (L.getExitingBlock() != L.getHeader() &&
        L.getExitingBlock() != L.getLoopLatch())
      return verdict_decline(&V, RULE_EARLY_EXIT, at(L),
                             "a loop of the nest is left from its middle");
    const SCEV *Taken = SE.getBackedgeTakenCount(&L);
    if (isa<SCEVCouldNotCompute>(Taken))
      return verdict_decline(&V, RULE_UNCOUNTABLE, at(L),
                             "the number of iterations of a loop is not known "
                             "before it starts");
    Type *I64 = Type::getInt64Ty(L.getHeader()->getContext());
    if (SE.getTypeSizeInBits(Taken->getType()) > 64)
      return verdict_decline(&V, RULE_UNCOUNTABLE, at(L),
                             "a loop counts in more than 64 bits");
    const SCEV *Extent = SE.getNoopOrZeroExtend(Taken, I64);
    if (!exitsBeforeBody(L))
      Extent = SE.getAddExpr(Extent, SE.getOne(I64));
    if (!Places.usable(Extent))
      return verdict_decline(&V, RULE_VARIANT_EXTENT, at(L),
                             "the number of iterations of a loop changes "
                             "within the nest");
    addLoop(&L == &Outer ? -1 : LoopIndex[L.getParentLoop()], Extent, at(L));
    Places.addLoop(&L, Extent);
    return true;
  }

  bool readLoops() {
    for (Loop *L : Outer.getLoopsInPreorder()) {
      if (!Code.runs(L->getHeader()))
        continue;
      LoopIndex[L] = (int)Loops.size();
      Loops.push_back(L);
    }
    if (Loops.size() > 32)
      return verdict_decline(&V, RULE_ROLES, at(Outer),
                             "the nest has more than 32 loops");
    for (Loop *L : Loops)
      if (!readLoop(*L))
        return false;
    Places.chooseDirections(Code.Blocks);
    return true;
  }

  int loopOf(const BasicBlock *B) {
    auto It = LoopIndex.find(LI.getLoopFor(B));
    return It == LoopIndex.end() ? -1 : It->second;
  }

  bool checkLiveOuts() {
    for (BasicBlock *B : Outer.blocks())
      for (Instruction &I : *B)
        for (const User *U : I.users())
          if (!Outer.contains(cast<Instruction>(U)))
            return verdict_decline(&V, RULE_LIVE_OUT, at(I),
                                   "a value that the nest computes is used "
                                   "after it");
    return true;
  }

  // ---- memory ----

  bool readAccess(const Instruction &I, const Value *Pointer, dtype Type,
                  nest_access &Access) {
    Address X;
    if (!Places.read(I, Pointer, X))
      return verdict_decline(&V, RULE_NON_AFFINE, at(I),
                             "an address is not a fixed start plus a fixed "
                             "stride per loop");
    for (const SCEV *Stride : X.Stride)
      if (Stride && looksNegative(Stride))
        return verdict_decline(&V, RULE_DIRECTIONS, at(I),
                               "a loop runs up in one array and down in "
                               "another");
    Access = access(Type, X.Start);
    for (size_t L = 0; L < Loops.size(); L++)
      if (X.Stride[L])
        Access.stride_bytes[L] =
            valueOf(X.Stride[L],
                    Twine(tensorName(Access.tensor)) + "." + loopName((int)L));
    return true;
  }

  // ---- expressions ----

  // The variable whose value `W` is where loop L has ended; null: none.
  const PHINode *scalarAfter(const Loop &L, const Value *W) {
    for (const PHINode &P : L.getHeader()->phis())
      if (W == (exitsBeforeBody(L)
                    ? static_cast<const Value *>(&P)
                    : P.getIncomingValueForBlock(L.getLoopLatch())))
        return &P;
    return nullptr;
  }

  // Looks through phis that only one way of control reaches, among them those
  // that LCSSA form puts behind an inner loop.
  const PHINode *scalarOf(const Value *W) {
    for (;;) {
      const auto *P = dyn_cast<PHINode>(W);
      if (!P || !Outer.contains(P))
        return nullptr;
      const Loop *L = LI.getLoopFor(P->getParent());
      if (P->getParent() == L->getHeader())
        return P;
      int From = Code.onlyWayInto(*P);
      if (From < 0)
        return nullptr;
      const Loop *Before = LI.getLoopFor(P->getIncomingBlock(From));
      W = P->getIncomingValue(From);
      if (Before != L)
        return Before && Before->getParentLoop() == L ? scalarAfter(*Before, W)
                                                      : nullptr;
    }
  }

  void assign(int Id, const Instruction *Where, int LoopNumber,
              const Value *W) {
    nest_statement S = {};
    S.scalar = Id;
    S.loop = LoopNumber;
    S.order = Code.Order[Where];
    S.at = at(*Where);
    S.value = read(W, false, 0);
    add(S);
  }

  int scalar(const PHINode *P) {
    auto It = Scalar.find(P);
    if (It != Scalar.end())
      return It->second;
    int Id = addScalar();
    const Loop *L = LI.getLoopFor(P->getParent());
    const Instruction *Entry = L->getLoopPreheader()->getTerminator();
    const Value *Start = P->getIncomingValueForBlock(L->getLoopPreheader());
    Scalar[P] = Id;
    int EntryLoop = loopOf(Entry->getParent());
    // An inner loop that starts from P, and whose end is P's next value, is
    // the place of the step.
    for (;;) {
      const Value *Next = P->getIncomingValueForBlock(L->getLoopLatch());
      const PHINode *Inner = scalarOf(Next);
      if (!Inner || Scalar.count(Inner))
        break;
      const Loop *InnerLoop = LI.getLoopFor(Inner->getParent());
      if (InnerLoop->getParentLoop() != L ||
          Inner->getIncomingValueForBlock(InnerLoop->getLoopPreheader()) != P)
        break;
      P = Inner;
      L = InnerLoop;
      Scalar[P] = Id;
    }
    assign(Id, Entry, EntryLoop, Start);
    assign(Id, L->getLoopLatch()->getTerminator(), LoopIndex[L],
           P->getIncomingValueForBlock(L->getLoopLatch()));
    return Id;
  }

  nest_expr *readPhi(const PHINode *P, bool Unsigned) {
    dtype T;
    if (!typeOf(P->getType(), Unsigned, T))
      return other("a value of a type that the NPU has not", at(*P));
    const PHINode *Source = scalarOf(P);
    if (!Source)
      return other("a value that depends on a condition", at(*P));
    nest_expr *E = make(NEST_SCALAR, T, at(*P));
    E->scalar = scalar(Source);
    return E;
  }

  nest_expr *readLoad(const LoadInst *L, bool Unsigned) {
    dtype T;
    if (!typeOf(L->getType(), Unsigned, T))
      return other("a value of a type that the NPU has not", at(*L));
    nest_expr *E = make(NEST_LOAD, T, at(*L));
    if (!readAccess(*L, L->getPointerOperand(), T, E->access))
      return other("an element whose address is not affine", at(*L));
    E->loop = loopOf(L->getParent());
    E->order = Code.Order[L];
    return E;
  }

  nest_expr *readConstant(const Value *W, dtype T) {
    nest_expr *E = make(NEST_NUMBER, T, loc_none());
    if (const auto *F = dyn_cast<ConstantFP>(W)) {
      // Minus zero is the neutral start of a sum, but what it leaves behind
      // when nothing is added differs from zero.
      if (F->isZero() && F->isNegative())
        return other("minus zero", loc_none());
      bool Lost;
      APFloat Number = F->getValueAPF();
      Number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &Lost);
      E->number = Number.convertToDouble();
      return E;
    }
    const auto *C = dyn_cast<ConstantInt>(W);
    if (!C)
      return other("a constant that is no number", loc_none());
    E->number = (double)C->getSExtValue();
    return E;
  }

  // bf16 kept as uint16_t, widened to float by a shift; null if C is not that.
  nest_expr *readBits(const CastInst *C) {
    using namespace PatternMatch;
    Value *Half;
    if (!match(C, m_BitCast(m_Shl(m_ZExt(m_Value(Half)), m_SpecificInt(16)))) ||
        !C->getType()->isFloatTy() || !Half->getType()->isIntegerTy(16) ||
        !isa<LoadInst>(Half) || !Outer.contains(cast<LoadInst>(Half)))
      return nullptr;
    nest_expr *E = make(NEST_CAST, DTYPE_F32, at(*C));
    nest_expr *Load = readLoad(cast<LoadInst>(Half), true);
    if (Load->op == NEST_LOAD)
      Load->type = Load->access.type = DTYPE_BF16;
    E->arg[0] = Load;
    return E;
  }

  nest_expr *readCast(const CastInst *C, dtype T, int Depth) {
    switch (C->getOpcode()) {
    case Instruction::SExt:
    case Instruction::ZExt:
    case Instruction::FPExt:
    case Instruction::FPTrunc:
    case Instruction::Trunc: {
      nest_expr *E = make(NEST_CAST, T, at(*C));
      E->arg[0] = read(C->getOperand(0), isa<ZExtInst>(C), Depth + 1);
      return E;
    }
    case Instruction::BitCast:
      if (nest_expr *E = readBits(C))
        return E;
      [[fallthrough]];
    default:
      return other("a conversion between integers and floats", at(*C));
    }
  }

  nest_expr *readTwo(nest_op Op, const Instruction *I, dtype T, int Depth) {
    nest_expr *E = make(Op, T, at(*I));
    E->arg[0] = read(I->getOperand(0), false, Depth + 1);
    E->arg[1] = read(I->getOperand(1), false, Depth + 1);
    const auto *FP = dyn_cast<FPMathOperator>(I);
    E->reassoc = !FP || FP->hasAllowReassoc();
    return E;
  }

  // a * b + c in one instruction.
  nest_expr *readFused(const IntrinsicInst *I, dtype T, int Depth) {
    nest_expr *Product = make(NEST_MUL, T, at(*I));
    Product->arg[0] = read(I->getArgOperand(0), false, Depth + 1);
    Product->arg[1] = read(I->getArgOperand(1), false, Depth + 1);
    nest_expr *E = make(NEST_ADD, T, at(*I));
    E->arg[0] = Product;
    E->arg[1] = read(I->getArgOperand(2), false, Depth + 1);
    E->reassoc = cast<FPMathOperator>(I)->hasAllowReassoc();
    return E;
  }

  static const char *wordFor(const Instruction *I) {
    if (const auto *Call = dyn_cast<IntrinsicInst>(I))
      switch (Call->getIntrinsicID()) {
      case Intrinsic::smin:
      case Intrinsic::umin:
      case Intrinsic::minnum:
      case Intrinsic::minimum:
        return "a minimum";
      case Intrinsic::smax:
      case Intrinsic::umax:
      case Intrinsic::maxnum:
      case Intrinsic::maximum:
        return "a maximum";
      default:
        return "a built-in function";
      }
    switch (I->getOpcode()) {
    case Instruction::Select:
      return "a choice between two values";
    case Instruction::FDiv:
    case Instruction::SDiv:
    case Instruction::UDiv:
      return "a division";
    case Instruction::FNeg:
      return "a negation";
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      return "a shift";
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
      return "a bit operation";
    case Instruction::Call:
      return "a call";
    default:
      return "an operation that is neither sum nor product";
    }
  }

  // Unsigned: the consumer widens with zeros, so a load counts as unsigned.
  nest_expr *read(const Value *W, bool Unsigned, int Depth) {
    dtype T;
    if (!typeOf(W->getType(), Unsigned, T))
      return other("a value of a type that the NPU has not", loc_none());
    if (isa<Constant>(W))
      return readConstant(W, T);
    const auto *I = dyn_cast<Instruction>(W);
    if (!I || !Outer.contains(I))
      return other("a number from outside the nest", loc_none());
    if (Depth > 32 || Exprs > ExprMax)
      return other("a long expression", at(*I));
    if (const auto *L = dyn_cast<LoadInst>(I))
      return readLoad(L, Unsigned);
    if (const auto *P = dyn_cast<PHINode>(I))
      return readPhi(P, Unsigned);
    if (const auto *C = dyn_cast<CastInst>(I))
      return readCast(C, T, Depth);
    switch (I->getOpcode()) {
    case Instruction::Add:
    case Instruction::FAdd:
      return readTwo(NEST_ADD, I, T, Depth);
    case Instruction::Sub:
    case Instruction::FSub:
      return readTwo(NEST_SUB, I, T, Depth);
    case Instruction::Mul:
    case Instruction::FMul:
      return readTwo(NEST_MUL, I, T, Depth);
    default:
      break;
    }
    if (const auto *Call = dyn_cast<IntrinsicInst>(I))
      if (Call->getIntrinsicID() == Intrinsic::fmuladd ||
          Call->getIntrinsicID() == Intrinsic::fma)
        return readFused(Call, T, Depth);
    return other(wordFor(I), at(*I));
  }

  // ---- statements ----

  bool readStore(const StoreInst &S) {
    const Loop *L = LI.getLoopFor(S.getParent());
    if (S.getParent() == L->getHeader() && exitsBeforeBody(*L))
      return verdict_decline(&V, RULE_EXTRA_STORE, at(S),
                             "a loop's condition writes memory");
    nest_statement N = {};
    N.is_store = true;
    N.at = at(S);
    N.loop = LoopIndex[L];
    N.order = Code.Order[&S];
    dtype T;
    if (!typeOf(S.getValueOperand()->getType(), false, T))
      return verdict_decline(&V, RULE_TYPES, at(S),
                             "the nest stores a type that the NPU has not");
    if (!readAccess(S, S.getPointerOperand(), T, N.to))
      return false;
    N.value = read(S.getValueOperand(), false, 0);
    add(N);
    return V.diag.kind == DIAG_NONE;
  }

  bool readStatements() {
    for (BasicBlock *B : Code.Blocks)
      for (Instruction &I : *B)
        if (const auto *S = dyn_cast<StoreInst>(&I))
          if (!readStore(*S))
            return false;
    return true;
  }
};

} // namespace

bool readNest(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT,
              arena *A, IRNest &R, verdict &V) {
  return Reader(Outer, LI, SE, DT, A, R, V).read();
}

} // namespace nputeir
