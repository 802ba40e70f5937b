// substitute.cpp -- forward substitution of a copy nest into the nest that
// reads the copy:
//
//     for c, r, q, y, x:  col[c][r][q][y][x] = f(in[c][y + r][x + q])
//     for m, n, k:        out[m][n] += w[m][k] * col[k][n]
//
// is
//
//     for m, y, x, c, r, q:  out[m][y][x] += w[m][c][r][q] *
//                                            f(in[c][y + r][x + q])
//
// where n counts y and x, and k counts c, r and q.  Which loops of the copy a
// loop of the product counts follows from the strides alone: the first one
// moves in the buffer by the product loop's stride, each other one by what the
// one before it reaches, until they run as often as the product's loop.  Sizes
// that are equal unless something wraps are asked for at run time.
#include "substitute.h"
#include "nest_builder.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {
namespace {

const SCEV *numberOf(const IRNest &I, value V, ScalarEvolution &SE) {
  if (V.symbol >= 0)
    return I.Symbol[(size_t)V.symbol];
  Type *I64 = Type::getInt64Ty(SE.getContext());
  return SE.getConstant(I64, (uint64_t)V.constant, true);
}

bool isZero(value V) { return V.symbol < 0 && V.constant == 0; }

bool areEqual(value X, value Y) {
  return X.symbol == Y.symbol && X.constant == Y.constant;
}

using Visitor = function_ref<void(const nest_access &, const nest_expr *)>;

void eachLoad(const nest_expr *E, Visitor Visit) {
  if (E->op == NEST_LOAD)
    Visit(E->access, E);
  if (E->op >= NEST_NUMBER)
    for (int I = 0; I < calc_operands(nest_calc_op(E->op)); I++)
      eachLoad(E->arg[I], Visit);
}

// Of loads the expression, of stores null.
void eachAccess(const nest &N, Visitor Visit) {
  for (int I = 0; I < N.statement_count; I++) {
    if (N.statement[I].is_store)
      Visit(N.statement[I].to, nullptr);
    eachLoad(N.statement[I].value, Visit);
  }
}

bool runsAsAWhole(const nest &N, int L) {
  if (N.loop[L].cut_by >= 0 || N.loop[L].after >= 0 || N.loop[L].step != 1)
    return false;
  for (int I = 0; I < N.loop_count; I++)
    if (N.loop[I].cut_by == L || N.loop[I].after == L)
      return false;
  return true;
}

// The sum or product Like of other parts.
const SCEV *joined(const SCEV *Like, ScalarEvolution &SE,
                   function_ref<const SCEV *(const SCEV *)> Of) {
  SmallVector<const SCEV *, 4> Parts;
  for (const SCEV *Part : cast<SCEVNAryExpr>(Like)->operands())
    Parts.push_back(Of(Part));
  return isa<SCEVAddExpr>(Like) ? SE.getAddExpr(Parts) : SE.getMulExpr(Parts);
}

const SCEV *extended(const SCEV *S, Type *T, ScalarEvolution &SE) {
  if (!isa<SCEVAddExpr>(S) && !isa<SCEVMulExpr>(S))
    return SE.getSignExtendExpr(S, T);
  return joined(S, SE, [&](const SCEV *Part) { return extended(Part, T, SE); });
}

// What S is if it is positive and nothing in it wraps, in a form that is the
// same for numbers which are equal then: extensions of single numbers, no
// extensions of sums or products, and no maximum of anything and a constant.
const SCEV *plain(const SCEV *S, ScalarEvolution &SE) {
  if (const auto *U = dyn_cast<SCEVUnknown>(S)) // an argument of a call, say
    if (const SCEV *Number = SE.getSCEV(U->getValue()); Number != S)
      return plain(Number, SE);
  if (isa<SCEVAddExpr>(S) || isa<SCEVMulExpr>(S))
    return joined(S, SE, [&](const SCEV *Part) { return plain(Part, SE); });
  if (const auto *M = dyn_cast<SCEVSMaxExpr>(S))
    return M->getNumOperands() == 2 && isa<SCEVConstant>(M->getOperand(0))
               ? plain(M->getOperand(1), SE)
               : S;
  if (!isa<SCEVZeroExtendExpr>(S) && !isa<SCEVSignExtendExpr>(S))
    return S;
  return extended(plain(cast<SCEVCastExpr>(S)->getOperand(), SE), S->getType(),
                  SE);
}

class Substitution : NestBuilder {
  const IRNest &Product, &Copy;
  const nest &P, &Q;
  const Value &Buffer;
  bool Zeroed;
  ScalarEvolution &SE;
  Equalities &Filled;
  int Read = -1; // the product's tensor that lies in the buffer
  const nest_access *Load = nullptr;
  const nest_statement *Store = nullptr;
  // Of each loop of the product the copy's loops that it counts, the fastest
  // first; empty: it is no such loop.
  SmallVector<SmallVector<int, 4>, 8> Counted;
  // The new loops of each loop, the outermost first.
  SmallVector<SmallVector<int, 4>, 8> New;
  SmallVector<int, 8> NewOfCopy;
  bool Good = true;

public:
  Substitution(const IRNest &Product, const IRNest &Copy, const Value &Buffer,
               bool Zeroed, ScalarEvolution &SE, arena *A, IRNest &Result,
               Equalities &Filled)
      : NestBuilder(A, Result), Product(Product), Copy(Copy), P(*Product.N),
        Q(*Copy.N), Buffer(Buffer), Zeroed(Zeroed), SE(SE), Filled(Filled) {}

  bool run() {
    if (!isPlain(Product) || !isPlain(Copy) || !findStore() || !findLoad() ||
        !findCounted() || !areApart())
      return false;
    countAlike();
    addLoops();
    for (int I = 0; I < P.scalar_count; I++)
      addScalar();
    for (int I = 0; I < P.statement_count; I++)
      addStatement(P.statement[I]);
    Infinite = true;
    addConditions(Product);
    addConditions(Copy);
    R.Equal.insert(R.Equal.end(), Filled.begin(), Filled.end());
    finish(P.at);
    return Good;
  }

  bool isLocal(const SCEV *Address) const override {
    for (int T = 0; T < P.tensor_count; T++)
      if (Product.Tensor[(size_t)T] == Address)
        return P.local[T];
    return false;
  }

private:
  static bool isPlain(const IRNest &I) {
    return I.Rows.empty() && I.Skips.empty();
  }

  value named(const SCEV *S) {
    return valueOf(S, "v" + Twine(R.Symbol.size()));
  }

  const SCEV *number(const IRNest &I, value V) { return numberOf(I, V, SE); }
  const SCEV *extent(int CopyLoop) {
    return number(Copy, Q.loop[CopyLoop].extent);
  }
  const SCEV *stride(int CopyLoop) {
    return number(Copy, Store->to.stride_bytes[CopyLoop]);
  }

  // ---- what is read, and where it comes from ----

  // One store in the innermost of loops that all move it.
  bool findStore() {
    if (Q.statement_count != 1 || !Q.statement[0].is_store || Q.scalar_count)
      return false;
    Store = &Q.statement[0];
    if ((Store->conditional && !Zeroed) || Store->to.rows ||
        Store->loop != Q.loop_count - 1)
      return false;
    for (int L = 0; L < Q.loop_count; L++)
      if (Q.loop[L].parent != L - 1 || !runsAsAWhole(Q, L) ||
          isZero(Store->to.stride_bytes[L]))
        return false;
    for (int T = 0; T < Q.tensor_count; T++)
      if (Q.pitch[T] >= 0 || (T != Store->to.tensor && isInBuffer(Copy, T)))
        return false;
    return isInBuffer(Copy, Store->to.tensor);
  }

  bool isInBuffer(const IRNest &I, int T) const {
    const auto *Base =
        dyn_cast<SCEVUnknown>(SE.getPointerBase(I.Tensor[(size_t)T]));
    return Base && Base->getValue() == &Buffer;
  }

  // All accesses to the buffer are loads that move alike.
  bool findLoad() {
    for (int T = 0; T < P.tensor_count; T++)
      if (isInBuffer(Product, T)) {
        if (Read >= 0)
          return false;
        Read = T;
      }
    bool Alike = Read >= 0;
    eachAccess(P, [&](const nest_access &X, const nest_expr *E) {
      if (X.tensor != Read)
        return;
      Load = Load ? Load : &X;
      Alike &= E && !E->conditional && X.rows == 0 &&
               X.offset_bytes == Load->offset_bytes && X.type == Load->type;
      for (int L = 0; L < P.loop_count; L++)
        Alike &= areEqual(X.stride_bytes[L], Load->stride_bytes[L]);
    });
    return Alike && Load && startsWhereStored() &&
           dtype_bytes(Load->type) == dtype_bytes(Store->to.type);
  }

  bool startsWhereStored() {
    const SCEV *Way = SE.getMinusSCEV(Product.Tensor[(size_t)Read],
                                      Copy.Tensor[(size_t)Store->to.tensor]);
    const auto *Bytes = dyn_cast<SCEVConstant>(Way);
    return Bytes && Bytes->getAPInt().getSExtValue() + Load->offset_bytes ==
                        Store->to.offset_bytes;
  }

  // ---- which loops count which ----

  // Also what is equal if it is positive and nothing wraps, which is asked
  // then.
  bool isSame(const SCEV *X, const SCEV *Y) {
    if (X == Y || SE.getMinusSCEV(X, Y)->isZero())
      return true;
    if (!SE.getMinusSCEV(plain(X, SE), plain(Y, SE))->isZero())
      return false;
    Filled.push_back({X, Y});
    return true;
  }

  int unusedAt(const SCEV *Stride, const SmallBitVector &Used) {
    for (int L = 0; L < Q.loop_count; L++)
      if (!Used[(unsigned)L] && isSame(stride(L), Stride))
        return L;
    return -1;
  }

  // Each step takes a loop that no step before it took.
  bool count(int L, SmallBitVector &Used) {
    const SCEV *Stride = number(Product, Load->stride_bytes[L]);
    const SCEV *Extent = number(Product, P.loop[L].extent);
    const SCEV *Times = SE.getOne(Extent->getType());
    for (int I; (I = unusedAt(Stride, Used)) >= 0;) {
      Used.set((unsigned)I);
      Counted[(size_t)L].push_back(I);
      Stride = SE.getMulExpr(stride(I), extent(I));
      Times = SE.getMulExpr(Times, extent(I));
      if (isSame(Extent, Times))
        return true;
    }
    return !Counted[(size_t)L].empty() && mayBeSame(Extent, Times);
  }

  // Where no loop is left to count, it is asked whether these are all.
  bool mayBeSame(const SCEV *X, const SCEV *Y) {
    Filled.push_back({X, Y});
    return !isa<SCEVConstant>(SE.getMinusSCEV(X, Y));
  }

  bool findCounted() {
    SmallBitVector Used((unsigned)Q.loop_count);
    Counted.resize((size_t)P.loop_count);
    for (int L = 0; L < P.loop_count; L++)
      if (!isZero(Load->stride_bytes[L]) &&
          (!runsAsAWhole(P, L) || !count(L, Used)))
        return false;
    return Used.all();
  }

  // No two iterations of the copy store to one place: each loop steps over what
  // those before it reach, which is known, or asked for one of them.
  bool areApart() {
    const SCEV *Reach = SE.getConstant(Type::getInt64Ty(SE.getContext()),
                                       (uint64_t)dtype_bytes(Store->to.type));
    SmallBitVector Used((unsigned)Q.loop_count);
    for (bool Asked = false; !Used.all();) {
      int I = unusedAt(Reach, Used);
      if (I < 0) {
        I = onlyStart(Used);
        if (Asked || Used.none() || I < 0)
          return false;
        Asked = true;
        R.Guards.push_back(
            {named(stride(I)), named(Reach), {1, -1}, {}, false});
      }
      Used.set((unsigned)I);
      Reach = SE.getMulExpr(stride(I), extent(I));
    }
    return true;
  }

  // The one loop left that a loop of the product begins to count with; -1:
  // there are several.
  int onlyStart(const SmallBitVector &Used) {
    int Found = -1;
    for (const auto &C : Counted)
      if (!C.empty() && !Used[(unsigned)C[0]]) {
        if (Found >= 0)
          return -1;
        Found = C[0];
      }
    return Found;
  }

  // Loops that clear or store the sums count as those that form them do.
  void countAlike() {
    for (int L = 0; L < P.loop_count; L++)
      for (int To = 0; To < P.loop_count && Counted[(size_t)L].size() > 1; To++)
        if (Counted[(size_t)To].empty() && runsAsAWhole(P, To) &&
            areEqual(P.loop[L].extent, P.loop[To].extent) && moveAlike(L, To))
          Counted[(size_t)To] = Counted[(size_t)L];
  }

  bool moveAlike(int L, int To) {
    bool Alike = false;
    eachAccess(P, [&](const nest_access &X, const nest_expr *) {
      eachAccess(P, [&](const nest_access &Y, const nest_expr *) {
        Alike |= X.tensor == Y.tensor && !isZero(X.stride_bytes[L]) &&
                 areEqual(X.stride_bytes[L], Y.stride_bytes[To]);
      });
    });
    return Alike;
  }

  // ---- the new nest ----

  bool isSplit(int L) const { return Counted[(size_t)L].size() > 1; }

  int inner(int L) const { return L < 0 ? -1 : New[(size_t)L].back(); }

  void addLoops() {
    New.resize((size_t)P.loop_count);
    NewOfCopy.assign((size_t)Q.loop_count, -1);
    for (int L = 0; L < P.loop_count; L++) {
      const struct nest_loop &Old = P.loop[L];
      int Parent = inner(Old.parent);
      if (!isSplit(L)) {
        Parent = addLoop(Parent, number(Product, Old.extent), Old.at,
                         inner(Old.cut_by), Old.down);
        NestBuilder::number(Parent, inner(Old.after), Old.step);
        New[(size_t)L].push_back(Parent);
      }
      for (int I : reverse(Counted[(size_t)L])) {
        if (isSplit(L)) {
          Parent = addLoop(Parent, extent(I), Old.at);
          New[(size_t)L].push_back(Parent);
        }
        if (!isZero(Load->stride_bytes[L]))
          NewOfCopy[(size_t)I] = Parent;
      }
    }
  }

  // What moves by Step in each iteration of loop L, in those of the new loops.
  void spread(value *Steps, int L, value Step) {
    if (isZero(Step))
      return;
    const SCEV *S = number(Product, Step);
    for (size_t I = New[(size_t)L].size(); I-- > 0;) {
      Steps[New[(size_t)L][I]] = named(S);
      if (isSplit(L))
        S = SE.getMulExpr(
            S, extent(Counted[(size_t)L][New[(size_t)L].size() - 1 - I]));
    }
  }

  nest_access place(const IRNest &From, const nest_access &X) {
    nest_access Y = access(X.type, From.Tensor[(size_t)X.tensor]);
    Y.offset_bytes = X.offset_bytes;
    Y.rows = X.rows;
    if (From.N->pitch[X.tensor] >= 0)
      setPitch(Y.tensor, From.Symbol[(size_t)From.N->pitch[X.tensor]]);
    steps(From, X.stride_bytes, Y.stride_bytes);
    return Y;
  }

  void steps(const IRNest &From, const value *Old, value *To) {
    for (int L = 0; L < From.N->loop_count; L++)
      if (&From == &Product)
        spread(To, L, Old[L]);
      else if (!isZero(Old[L]))
        To[NewOfCopy[(size_t)L]] = named(number(From, Old[L]));
  }

  affine_guard limit(const IRNest &From, const affine_guard &G) {
    affine_guard To = G;
    GuardCount++;
    To.start = named(number(From, G.start));
    To.step = (value *)arena_array(A, (size_t)loopCount(), sizeof(value));
    for (int L = 0; L < loopCount(); L++)
      To.step[L] = {0, -1};
    steps(From, G.step, To.step);
    for (int L = 0; &From == &Product && L < P.loop_count; L++)
      Good &= !isSplit(L) || isZero(G.step[L]);
    return To;
  }

  // At: the load whose place the copy's expression takes.
  nest_expr *copy(const IRNest &From, const nest_expr *E, const nest_expr *At) {
    if (&From == &Product && E->op == NEST_LOAD && E->access.tensor == Read)
      return as(retyped(as(copy(Copy, Store->value, E), Store->to.type),
                        E->access.type),
                E->type);
    if (&From == &Copy && E->op == NEST_LOAD &&
        E->access.tensor == Store->to.tensor) { // what is not stored
      assert(Store->conditional && Zeroed);
      return make(NEST_NUMBER, E->type, E->at);
    }
    nest_expr *To = make(E->op, E->type, E->at);
    To->reassoc = E->reassoc;
    To->number = E->number;
    To->integer = E->integer;
    To->what = E->what;
    To->scalar = E->scalar;
    To->conditional = E->conditional;
    To->loop = inner(At ? At->loop : E->loop);
    To->order = At ? At->order : E->order;
    if (E->op == NEST_LOAD)
      To->access = place(From, E->access);
    if (E->op == NEST_LIMIT)
      To->limit = limit(From, E->limit);
    if (E->op == NEST_OUTSIDE)
      To->outside = outsideOf(From.Outside[(size_t)E->outside]);
    Good &= E->op != NEST_OTHER && (E->op != NEST_SCALAR || !At);
    for (int I = 0;
         E->op >= NEST_NUMBER && I < calc_operands(nest_calc_op(E->op)); I++)
      To->arg[I] = copy(From, E->arg[I], At);
    return To;
  }

  // What was stored, as bits of another type.
  nest_expr *retyped(nest_expr *E, dtype T) {
    if (E->type == T)
      return E;
    if (E->op == NEST_LOAD)
      E->access.type = T;
    else if (E->op == NEST_SELECT)
      for (int I = 1; I <= 2; I++)
        retyped(const_cast<nest_expr *>(E->arg[I]), T);
    else
      Good &= E->op == NEST_NUMBER && E->number == 0;
    E->type = T;
    return E;
  }

  void addStatement(const nest_statement &S) {
    nest_statement To = S;
    To.loop = inner(S.loop);
    if (S.is_store)
      To.to = place(Product, S.to);
    To.value = copy(Product, S.value, nullptr);
    add(To);
  }

  void addConditions(const IRNest &I) {
    auto Append = [](auto &To, const auto &From) {
      To.insert(To.end(), From.begin(), From.end());
    };
    Append(R.Assumed, I.Assumed);
    Append(R.Bounded, I.Bounded);
    Append(R.Compared, I.Compared);
    Append(R.Counted, I.Counted);
    Append(R.Equal, I.Equal);
    Append(R.Disjoint, I.Disjoint);
    Append(R.NonZero, I.NonZero);
    auto Here = [&](value V) { return named(number(I, V)); };
    for (const contraction_guard &G : I.Guards)
      R.Guards.push_back({Here(G.large), Here(G.small), Here(G.count),
                          G.either ? Here(G.turned) : G.turned, G.either});
  }
};

} // namespace

bool substituteCopy(const IRNest &Product, const IRNest &Copy,
                    const Value &Buffer, bool Zeroed, ScalarEvolution &SE,
                    arena *A, IRNest &Result, Equalities &Filled) {
  return Substitution(Product, Copy, Buffer, Zeroed, SE, A, Result, Filled)
      .run();
}

} // namespace nputeir
