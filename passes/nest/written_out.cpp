// written_out.cpp -- what a row or block of accesses touches.
//
//     c[i * n + j] = s;        c[i * n + j + 1] = t;
//     c[(i + 1) * n + j] = u;  c[(i + 1) * n + j + 1] = v;
//
// Each starts some bytes and some rows from the first.  Together they are one
// access of all these bytes, in one more loop over the rows.  The same of their
// indices.
#include "written_out.h"
#include "checks.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

#include <numeric>

using namespace llvm;

namespace nputeir {
namespace {

// Units + Times * Step.
struct Way {
  int64_t Units = 0, Times = 0;
  const SCEV *Step = nullptr; // null: none, as Times is zero
};

// False: a sum of several steps.
bool measure(const SCEV *S, ScalarEvolution &SE, Way &W) {
  if (const auto *Sum = dyn_cast<SCEVAddExpr>(S);
      Sum && Sum->getNumOperands() == 2 &&
      isa<SCEVConstant>(Sum->getOperand(0))) {
    W.Units = cast<SCEVConstant>(Sum->getOperand(0))->getAPInt().getSExtValue();
    S = Sum->getOperand(1);
  }
  if (const auto *C = dyn_cast<SCEVConstant>(S)) {
    W.Units = C->getAPInt().getSExtValue();
    return true;
  }
  if (isa<SCEVAddExpr>(S))
    return false;
  W.Times = 1;
  W.Step = S;
  const auto *M = dyn_cast<SCEVMulExpr>(S);
  const auto *C = M ? dyn_cast<SCEVConstant>(M->getOperand(0)) : nullptr;
  if (!C)
    return true;
  SmallVector<const SCEV *, 4> Factors(drop_begin(M->operands()));
  W.Times = C->getAPInt().getSExtValue();
  W.Step = SE.getMulExpr(Factors);
  return true;
}

// Starts that lie Units and Times * Step from the first.
class Block {
  ScalarEvolution &SE;
  const SCEV *First;
  Way Low, High;
  int64_t Rows = 0; // the common divisor of all Times
  const SCEV *Step = nullptr;

public:
  Block(const SCEV *First, ScalarEvolution &SE) : SE(SE), First(First) {}

  // False: it lies elsewhere.
  bool add(const SCEV *Start) {
    enum { Far = 1 << 20 };
    Way W;
    if (!measure(SE.getMinusSCEV(Start, First), SE, W) ||
        (Step && W.Step && Step != W.Step) || std::abs(W.Units) > Far ||
        std::abs(W.Times) > Far)
      return false;
    Step = Step ? Step : W.Step;
    Rows = std::gcd(Rows, W.Times);
    Low = {std::min(Low.Units, W.Units), std::min(Low.Times, W.Times)};
    High = {std::max(High.Units, W.Units), std::max(High.Times, W.Times)};
    return true;
  }

  int64_t width() const { return High.Units - Low.Units; }

  // S, which starts at the first, becomes one that starts at each.
  void spread(Sum &S) const {
    Type *T = S.Start->getType();
    auto Number = [&](int64_t N) {
      return SE.getConstant(T, (uint64_t)N, true);
    };
    S.Start = SE.getAddExpr(S.Start, Number(Low.Units));
    if (Rows == 0)
      return;
    S.Start = SE.getAddExpr(S.Start, SE.getMulExpr(Number(Low.Times), Step));
    S.Terms.push_back({SE.getMulExpr(Number(Rows), Step),
                       Number((High.Times - Low.Times) / Rows + 1)});
  }
};

bool haveOneKind(const Instruction &X, const Instruction &Y) {
  return X.getOpcode() == Y.getOpcode() && getLoadStorePointerOperand(&Y) &&
         getLoadStoreType(const_cast<Instruction *>(&X)) ==
             getLoadStoreType(const_cast<Instruction *>(&Y));
}

bool moveAlike(const Sum &X, const Sum &Y) {
  return isSame(X, Sum{X.Start, Y.Terms});
}

} // namespace

void addWrittenOut(
    const Instruction &I, ScalarEvolution &SE,
    function_ref<bool(const Instruction &, Apart::Reach &)> ReachOf,
    Apart::Reach &X) {
  Block All(X.Of.Start, SE);
  for (const Instruction &Other : *I.getParent()) {
    Apart::Reach Y;
    if (&Other != &I && haveOneKind(I, Other) && ReachOf(Other, Y) &&
        moveAlike(X.Of, Y.Of))
      All.add(Y.Of.Start);
  }
  All.spread(X.Of);
  X.Bytes += (uint64_t)All.width();
}

void joinWrittenOut(std::vector<NoWrap> &All, ScalarEvolution &SE) {
  std::vector<NoWrap> Joined;
  while (!All.empty()) { // one less each time
    NoWrap First = std::move(All.front());
    All.erase(All.begin());
    Block Together(First.Of.Start, SE);
    erase_if(All, [&](const NoWrap &N) {
      return N.Bits == First.Bits && N.Signed == First.Signed &&
             moveAlike(First.Of, N.Of) && Together.add(N.Of.Start);
    });
    Together.spread(First.Of);
    if (Together.width() > 0) {
      Type *T = First.Of.Start->getType();
      First.Of.Terms.push_back(
          {SE.getOne(T), SE.getConstant(T, (uint64_t)Together.width() + 1)});
    }
    Joined.push_back(std::move(First));
  }
  All = std::move(Joined);
}

} // namespace nputeir
