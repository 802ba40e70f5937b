// lower_cpu_partial.cpp -- results of which only some elements are there.
#include "lower_cpu_partial.h"

using namespace llvm;

namespace nputeir {

Value *CpuPartial::limitOf(const Piece &X) const {
  return C.plus(C.plus(Start, C.times(X.Row, Steps[0])),
                C.times(X.Column, Steps[1]));
}

// Is it not below zero where it is largest, or smallest?
Value *CpuPartial::farthest(const Piece &X, CmpInst::Predicate Way) const {
  Value *Limit = limitOf(X), *Zero = C.number(0);
  for (auto [Count, Step] :
       {std::pair(X.Rows, Steps[0]), std::pair(X.Columns, Steps[1])}) {
    Value *By = C.times(C.plus(Count, -1), Step);
    Limit =
        C.plus(Limit, C.CreateSelect(C.CreateICmp(Way, By, Zero), By, Zero));
  }
  return C.CreateICmpSGE(Limit, Zero);
}

Value *CpuPartial::hasAny(const Piece &X) const {
  return farthest(X, CmpInst::ICMP_SGT);
}

Value *CpuPartial::hasAll(const Piece &X) const {
  return farthest(X, CmpInst::ICMP_SLT);
}

// Of Count numbers, those at which a limit that moves by Step is not below
// zero: from one on to in front of another.
CpuPartial::Range CpuPartial::within(Value *Limit, Value *Step,
                                     Value *Count) const {
  Value *Zero = C.number(0), *Rises = C.CreateICmpSGT(Step, Zero);
  auto Cut = [&](Value *N) {
    return C.least(C.CreateSelect(C.CreateICmpSGT(N, Zero), N, Zero), Count);
  };
  return {C.CreateSelect(Rises, Cut(C.CreateNeg(Limit)), Zero),
          C.CreateSelect(Rises, Count, Cut(C.plus(Limit, 1)))};
}

CpuPartial::Range CpuPartial::columns(const Piece &X) const {
  return within(limitOf(X), Steps[1], X.Columns);
}

CpuPartial::Range CpuPartial::rows(const Piece &X) const {
  Value *Way = C.times(C.plus(X.Columns, -1), Steps[1]), *Zero = C.number(0);
  Way = C.CreateSelect(C.CreateICmpSGT(Way, Zero), Way, Zero);
  return within(C.plus(limitOf(X), Way), Steps[0], X.Rows);
}

Function *partialCopyFunction(CpuUnit &U, dtype T) {
  bool IsNew;
  Function *F = U.function(Twine("partial.") + dtype_name(T),
                           Type::getVoidTy(U.context()), "pipiiiiii", IsNew);
  if (!IsNew)
    return F;
  Code C(*F);
  auto A = [&](unsigned I) { return C.argument(I); };
  Type *Stored = storedType(C.getContext(), T);
  int Bytes = dtype_bytes(T);
  bool Masks = teir_cpu_has_masks(&U.Cpu, T);
  unsigned Lanes = Masks ? (unsigned)(U.Cpu.vector_bytes / Bytes) : 1;
  C.loop(C.number(0), A(4), C.number(1), [&](Value *I) {
    CpuPartial Part(C, A(6), A(7), A(8));
    auto [Begin, End] = Part.columns({I, C.number(1), C.number(0), A(5)});
    Value *From = C.at(A(0), C.times(I, A(1)));
    Value *To = C.at(A(2), C.times(I, A(3)));
    Value *Last = End;
    C.loop(Begin, End, C.number(Lanes), [&](Value *J) {
      Type *Whole = Masks ? (Type *)U.vector(Stored, Lanes) : Stored;
      Value *Mask =
          Masks ? C.firstLanes(Lanes, Bytes, C.CreateSub(Last, J)) : nullptr;
      Value *At = C.times(J, Bytes);
      C.put(C.get(Whole, C.at(From, At), Mask), C.at(To, At), Mask);
    });
  });
  C.CreateRetVoid();
  return F;
}

} // namespace nputeir
