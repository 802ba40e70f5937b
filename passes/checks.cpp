// checks.cpp -- numbers and conditions that are computed in front of a nest.
#include "checks.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace nputeir {

Checks::Checks(const IRNest &Nest, ScalarEvolution &SE, Instruction *At)
    : Nest(Nest), At(At), Code(SE, *At->getModule()),
      Symbol(Nest.Symbol.size(), nullptr), B(At) {}

Value *Checks::frozen(const SCEV *S, Type *T) {
  Value *V = Code.expand(S, T, At);
  B.SetInsertPoint(At);
  return isa<Constant>(V) ? V : B.CreateFreeze(V);
}

Value *Checks::number(value V) {
  if (V.symbol < 0)
    return B.getInt64((uint64_t)V.constant);
  Value *&Known = Symbol[V.symbol];
  if (!Known)
    Known = frozen(Nest.Symbol[V.symbol], B.getInt64Ty());
  return Known;
}

Value *Checks::isPositive(value V) {
  return B.CreateICmpSGT(number(V), B.getInt64(0));
}

Value *Checks::equal(const SCEV *X, const SCEV *Y) {
  Value *Left = frozen(X, B.getInt64Ty());
  return B.CreateICmpEQ(Left, frozen(Y, B.getInt64Ty()));
}

// Steps have at most 32 bits, and extents must have, so that only the sum can
// overflow.
Value *Checks::staysSmall(const NoWrap &Sum) {
  Type *I64 = B.getInt64Ty();
  Value *Smallest = frozen(Sum.Start, I64), *Largest = Smallest;
  Value *Few = B.getTrue();
  for (auto [Step, Extent] : Sum.Terms) {
    Value *Last = B.CreateSub(frozen(Extent, I64), B.getInt64(1));
    Few = B.CreateAnd(Few, B.CreateICmpULE(Last, B.getInt64(UINT32_MAX)));
    Value *Way = B.CreateMul(frozen(Step, I64), Last);
    auto Add = [&](Value *To, Intrinsic::ID Side) {
      return B.CreateBinaryIntrinsic(
          Intrinsic::sadd_sat, To,
          B.CreateBinaryIntrinsic(Side, Way, B.getInt64(0)));
    };
    Smallest = Sum.Signed ? Add(Smallest, Intrinsic::smin) : Smallest;
    Largest = Sum.Signed
                  ? Add(Largest, Intrinsic::smax)
                  : B.CreateBinaryIntrinsic(Intrinsic::uadd_sat, Largest, Way);
  }
  int64_t Limit = (int64_t)1 << (Sum.Bits - 1);
  Value *Fits = Sum.Signed
                    ? B.CreateAnd(B.CreateICmpSGE(Smallest, B.getInt64(-Limit)),
                                  B.CreateICmpSLT(Largest, B.getInt64(Limit)))
                    : B.CreateICmpULT(Largest, B.getInt64(2 * Limit));
  return B.CreateAnd(Few, Fits);
}

Value *Checks::holds(const contraction_guard &G) {
  Value *Product = B.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow,
                                           number(G.small), number(G.count));
  Value *Fits = B.CreateNot(B.CreateExtractValue(Product, 1));
  return B.CreateAnd(
      Fits, B.CreateICmpSGE(number(G.large), B.CreateExtractValue(Product, 0)));
}

Value *Checks::holds(std::pair<Value *, bool> Assumed) {
  Value *Holds = B.CreateFreeze(Assumed.first);
  return Assumed.second ? Holds : B.CreateNot(Holds);
}

} // namespace nputeir
