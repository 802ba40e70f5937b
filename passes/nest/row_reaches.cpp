// row_reaches.cpp -- which bytes of its rows a nest uses.
#include "row_reaches.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

#include <algorithm>

using namespace llvm;

namespace nputeir {

// Every element is used: no condition decides, and no loop begins where another
// one ends.
static bool isWhole(const nest &N) {
  return !N.within &&
         all_of(ArrayRef(N.loop, (size_t)N.loop_count),
                [](const nest_loop &L) { return L.after < 0 && L.step == 1; });
}

bool RowReaches::find(bool OnlySums) {
  const nest &Nest = *N.N;
  if (!isWhole(Nest) || !N.Skips.empty())
    return false;
  for (int I = 0; I < Nest.statement_count; I++) {
    const nest_statement &S = Nest.statement[I];
    if (S.conditional || !addLoads(*S.value) ||
        (S.is_store && !OnlySums && !add(S.to, true)))
      return false;
  }
  for (const Apart &X : N.Disjoint)
    for (const Apart::Reach *R : {&X.Written, &X.Read})
      if (!add({R->Of.Start, number({0, -1}), R->Of.Terms, R->Bytes, false,
                R == &X.Written}))
        return false;
  auto IsCopied = [](const RowReach &R) { return R.isCopied(); };
  return std::stable_partition(Found.begin(), Found.end(), IsCopied) !=
         Found.begin();
}

bool RowReaches::addLoads(const nest_expr &E) {
  if (!Seen.insert(&E).second)
    return true;
  if (E.op == NEST_LIMIT ||
      (E.op == NEST_LOAD && (E.conditional || !add(E.access, false))))
    return false;
  return all_of(
      E.arg, [this](const nest_expr *Arg) { return !Arg || addLoads(*Arg); });
}

const SCEV *RowReaches::number(value V) {
  return V.symbol < 0 ? SE.getConstant(APInt(64, (uint64_t)V.constant, true))
                      : N.Symbol[(size_t)V.symbol];
}

bool RowReaches::add(const nest_access &X, bool IsWritten) {
  if (N.N->local[X.tensor])
    return true; // apart from all others; it may lie within the nest
  SmallVector<Sum::Term, 4> Terms;
  for (int L = 0; L < N.N->loop_count; L++)
    if (X.stride_bytes[L].symbol >= 0 || X.stride_bytes[L].constant)
      Terms.push_back({number(X.stride_bytes[L]), number(N.N->loop[L].extent)});
  const SCEV *Offset = number({X.offset_bytes, -1});
  if (X.rows)
    Offset =
        SE.getAddExpr(Offset, SE.getMulExpr(number({X.rows, -1}),
                                            number({0, N.N->pitch[X.tensor]})));
  return add({N.Tensor[(size_t)X.tensor], Offset, Terms,
              (uint64_t)dtype_bytes(X.type), true, IsWritten});
}

// The rows that X is one of; null: none.
const RowPointers *RowReaches::rowsOf(const SCEV *Start) const {
  auto It =
      find_if(N.Rows, [&](const RowPointers &R) { return R.areIn(Start); });
  return It == N.Rows.end() ? nullptr : &*It;
}

// Nothing but from row to row: what moves within them, too, as in a[i][i + k],
// uses other bytes of each row.
bool RowReaches::isStepOf(const RowPointers &Rows, const SCEV *S) const {
  ValueToSCEVMapTy None;
  None[Rows.Step] = SE.getZero(Rows.Step->getType());
  for (Instruction *Around : Rows.StepAround)
    None[Around] = None[Rows.Step];
  return rowsOf(S) == &Rows &&
         SCEVParameterRewriter::rewrite(S, SE, None)->isZero();
}

bool RowReaches::add(Place X) {
  const RowPointers *Rows = rowsOf(X.Start);
  if (Rows) {
    const SCEV *Base = SE.getSCEV(Rows->Base);
    if (!X.Start->getType()->isPointerTy())
      Base = SE.getPtrToIntExpr(Base, X.Start->getType());
    const SCEV *Way = SE.getMinusSCEV(X.Start, Base);
    if (isa<SCEVCouldNotCompute>(Way))
      return false;
    X.Offset = SE.getAddExpr(X.Offset, Way);
    X.Start = nullptr;
    // From row to row, of which the array says how many there are.
    erase_if(X.Terms,
             [&](const Sum::Term &T) { return isStepOf(*Rows, T.Step); });
  }
  if (rowsOf(X.Offset) || any_of(X.Terms, [&](const Sum::Term &T) {
        return rowsOf(T.Step) || rowsOf(T.Extent);
      }))
    return false;
  auto It = find_if(Found, [&](const RowReach &R) {
    return R.Rows == Rows && R.Start == X.Start;
  });
  if (It == Found.end())
    It = Found.insert(Found.end(), {Rows, X.Start, {}, X.IsUsed, false});
  if (It->IsUsed && !X.IsUsed)
    return !X.IsWritten; // it is asked of what is known of it
  It->IsWritten |= X.IsWritten;
  It->All.push_back({X.Terms, X.Offset, X.Bytes});
  return true;
}

} // namespace nputeir
