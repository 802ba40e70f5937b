// nest_builder.cpp -- the parts of a struct nest, gathered one by one.
#include "nest_builder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"

#include <algorithm>

using namespace llvm;

namespace nputeir {

bool typeOf(const Type *T, bool Unsigned, dtype &D) {
  if (T->isBFloatTy())
    return D = DTYPE_BF16, true;
  if (T->isHalfTy())
    return D = DTYPE_F16, true;
  if (T->isFloatTy())
    return D = DTYPE_F32, true;
  if (T->isDoubleTy())
    return D = DTYPE_F64, true;
  if (T->isIntegerTy(1))
    return D = DTYPE_U8, true;
  if (T->isIntegerTy(8))
    return D = Unsigned ? DTYPE_U8 : DTYPE_I8, true;
  if (T->isIntegerTy(16))
    return D = Unsigned ? DTYPE_U16 : DTYPE_I16, true;
  if (T->isIntegerTy(32))
    return D = Unsigned ? DTYPE_U32 : DTYPE_I32, true;
  if (T->isIntegerTy(64))
    return D = DTYPE_I64, true;
  return false;
}

dtype typeOf(const Type *T, bool Unsigned) {
  dtype D = DTYPE_F64;
  bool Known = typeOf(T->getScalarType(), Unsigned, D);
  assert(Known);
  (void)Known;
  return D;
}

int NestBuilder::addLoop(int Parent, const SCEV *Extent, loc At, int CutBy,
                         bool Down) {
  int Index = loopCount();
  assert(Parent >= -1 && Parent < Index && CutBy >= -1 && CutBy < Index);
  struct nest_loop N = {};
  N.name = Index < 15 ? arena_printf(A, "%c", 'i' + Index)
                      : arena_printf(A, "l%d", Index);
  N.parent = Parent;
  N.cut_by = CutBy;
  N.after = -1;
  N.step = 1;
  N.down = Down;
  N.extent = valueOf(Extent, Twine("n_") + N.name);
  N.at = At;
  Loops.push_back(N);
  return Index;
}

void NestBuilder::number(int Loop, int After, int64_t Step) {
  assert(After < Loop && Step >= 1 && Loop < loopCount());
  Loops[Loop].after = After;
  Loops[Loop].step = Step;
}

value NestBuilder::valueOf(const SCEV *S, const Twine &Name) {
  assert(S->getType()->isIntegerTy(64));
  if (const auto *C = dyn_cast<SCEVConstant>(S))
    return {C->getAPInt().getSExtValue(), -1};
  for (size_t I = 0; I < R.Symbol.size(); I++)
    if (R.Symbol[I] == S)
      return {0, (int)I};
  R.Symbol.push_back(S);
  Symbols.push_back(arena_string(A, Name.str().c_str()));
  return {0, (int)R.Symbol.size() - 1};
}

int NestBuilder::tensorOf(const SCEV *Start) {
  for (size_t I = 0; I < R.Tensor.size(); I++)
    if (R.Tensor[I] == Start)
      return (int)I;
  R.Tensor.push_back(Start);
  Tensors.push_back(arena_printf(A, "t%zu", R.Tensor.size() - 1));
  Pitches.push_back(-1);
  Local.push_back(isLocal(Start));
  return (int)R.Tensor.size() - 1;
}

void NestBuilder::setPitch(int Tensor, const SCEV *Bytes) {
  int Symbol = valueOf(Bytes, Twine(tensorName(Tensor)) + ".pitch").symbol;
  assert(Symbol >= 0); // a number would be part of the offsets
  assert(Pitches[Tensor] < 0 || Pitches[Tensor] == Symbol);
  Pitches[Tensor] = Symbol;
}

int NestBuilder::outsideOf(Value *Number) {
  auto It = llvm::find(R.Outside, Number);
  if (It != R.Outside.end())
    return (int)(It - R.Outside.begin());
  R.Outside.push_back(Number);
  Outsides.push_back(arena_printf(A, "x%zu", R.Outside.size() - 1));
  return (int)R.Outside.size() - 1;
}

nest_access NestBuilder::access(dtype Type, const SCEV *Start) {
  nest_access X = {};
  X.type = Type;
  X.tensor = tensorOf(Start);
  X.stride_bytes = (value *)arena_array(A, Loops.size(), sizeof(value));
  for (size_t L = 0; L < Loops.size(); L++)
    X.stride_bytes[L] = {0, -1};
  return X;
}

bool NestBuilder::samePlace(const nest_access &X, const nest_access &Y) const {
  for (int L = 0; L < loopCount(); L++)
    if (X.stride_bytes[L].symbol != Y.stride_bytes[L].symbol ||
        X.stride_bytes[L].constant != Y.stride_bytes[L].constant)
      return false;
  return X.tensor == Y.tensor && X.type == Y.type &&
         X.offset_bytes == Y.offset_bytes && X.rows == Y.rows;
}

nest_expr *NestBuilder::make(nest_op Op, dtype Type, loc At, const nest_expr *X,
                             const nest_expr *Y, const nest_expr *Z) {
  auto *E = (nest_expr *)arena_alloc(A, sizeof(nest_expr));
  Exprs++;
  E->op = Op;
  E->type = Type;
  E->at = At;
  E->arg[0] = X;
  E->arg[1] = Y;
  E->arg[2] = Z;
  return E;
}

nest_expr *NestBuilder::other(const char *What, loc At) {
  nest_expr *E = make(NEST_OTHER, DTYPE_F64, At);
  E->what = What;
  return E;
}

nest_expr *NestBuilder::as(nest_expr *E, dtype Type) {
  if (E->type == Type || E->op == NEST_OTHER)
    return E;
  return make(NEST_CAST, Type, E->at, E);
}

nest_expr *NestBuilder::readConstant(const Constant *C, dtype Type) {
  nest_expr *E = make(NEST_NUMBER, Type, loc_none());
  if (const auto *F = dyn_cast<ConstantFP>(C)) {
    bool Lost;
    APFloat Number = F->getValueAPF();
    Number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &Lost);
    E->number = Number.convertToDouble();
    return E;
  }
  const auto *Int = dyn_cast<ConstantInt>(C);
  if (!Int)
    return other("a constant that is no number", loc_none());
  E->integer = dtype_kind(Type) == DTYPE_UNSIGNED ? (int64_t)Int->getZExtValue()
                                                  : Int->getSExtValue();
  E->number = (double)E->integer;
  return E;
}

int NestBuilder::addScalar() {
  Scalars.push_back(arena_printf(A, "s%zu", Scalars.size()));
  return (int)Scalars.size() - 1;
}

void NestBuilder::assign(int Scalar, int Loop, int Order, const nest_expr *To,
                         loc At) {
  assert(Scalar >= 0 && (size_t)Scalar < Scalars.size());
  assert(Loop < loopCount() && To);
  nest_statement S = {};
  S.scalar = Scalar;
  S.loop = Loop;
  S.order = Order;
  S.value = To;
  S.at = At;
  add(S);
}

void NestBuilder::store(const nest_access &Place, int Loop, int Order,
                        const nest_expr *What, loc At) {
  assert(Loop < loopCount() && What && Place.stride_bytes);
  nest_statement S = {};
  S.is_store = true;
  S.to = Place;
  S.loop = Loop;
  S.order = Order;
  S.value = What;
  S.at = At;
  add(S);
}

template <typename T>
static T *inArena(arena *A, const SmallVectorImpl<T> &From) {
  return (T *)arena_copy(A, From.data(), From.size(), From.size() + 1,
                         sizeof(T));
}

void NestBuilder::addMultiple(int Symbol, int64_t Times, int Of) {
  assert(Symbol >= 0 && Of >= 0 && Times > 1);
  Multiples.push_back({Symbol, Of, Times});
}

void NestBuilder::finish(loc At) {
  std::stable_sort(Statements.begin(), Statements.end(),
                   [](const nest_statement &X, const nest_statement &Y) {
                     return X.order < Y.order;
                   });
  assert(Tensors.size() == Pitches.size() && Tensors.size() == R.Tensor.size());
  assert(Symbols.size() == R.Symbol.size());
  assert(Outsides.size() == R.Outside.size());
  auto *N = (nest *)arena_alloc(A, sizeof(nest));
  N->at = At;
  N->loop_count = loopCount();
  N->loop = inArena(A, Loops);
  N->tensor_count = (int)Tensors.size();
  N->tensor = inArena(A, Tensors);
  N->pitch = inArena(A, Pitches);
  N->local = (bool *)arena_array(A, Local.size() + 1, sizeof(bool));
  llvm::copy(Local, N->local);
  N->symbol_count = (int)Symbols.size();
  N->symbol = inArena(A, Symbols);
  N->scalar_count = (int)Scalars.size();
  N->scalar = inArena(A, Scalars);
  N->outside_count = (int)Outsides.size();
  N->outside = inArena(A, Outsides);
  N->multiple_count = (int)Multiples.size();
  N->multiple = inArena(A, Multiples);
  N->statement_count = (int)Statements.size();
  N->statement = inArena(A, Statements);
  N->infinite = Infinite && (GuardCount || Skips); // matters to nothing else
  R.N = N;
}

} // namespace nputeir
