// lower_cpu_scale.cpp -- epilogues that are alpha * sum + beta * out, with
// numbers that are the same for all elements: kernels of products that are not
// packed do that as they store, and may cut the steps, for what is behind the
// first ones is added with a beta of one.
#include "arena_scope.h"
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

// Of an expression that is a sum of multiples of TAIL_SUM and TAIL_OUT, what
// these are multiplied by (null: it has no such term); or, still, of numbers
// alone.
struct Factors {
  bool Still = false;
  const calc *Of[2] = {nullptr, nullptr};
};

class Scale {
  const CpuWork &W;
  arena *A;

public:
  Scale(const CpuWork &W, arena *A) : W(W), A(A) {}

  std::optional<Factors> factors() {
    dtype T = W.Sum;
    if (!W.Tail || W.Out != T || dtype_bytes(T) < 4)
      return std::nullopt;
    // Infinity times a sum is no sum of infinity times its parts, which may
    // have other signs, or be zero.
    if (dtype_kind(T) == DTYPE_FLOAT && !W.Finite)
      return std::nullopt;
    std::optional<Factors> F = factors(W.Tail);
    return F && !F->Still && F->Of[TAIL_SUM] ? F : std::nullopt;
  }

private:
  const calc *one() {
    return dtype_kind(W.Sum) == DTYPE_FLOAT ? calc_float(A, W.Sum, 1)
                                            : calc_int(A, W.Sum, 1);
  }

  const calc *make(calc_op Op, const calc *X, const calc *Y = nullptr) {
    return calc_make(A, Op, X, Y, nullptr);
  }

  const calc *times(const calc *X, const calc *Still) {
    return X ? make(CALC_MUL, X, Still) : nullptr;
  }

  std::optional<Factors> plus(const Factors &X, const Factors &Y, calc_op Op) {
    if (X.Still != Y.Still)
      return std::nullopt;
    Factors Sum = X;
    for (int I : {TAIL_SUM, TAIL_OUT})
      if (Y.Of[I])
        Sum.Of[I] = X.Of[I]          ? make(Op, X.Of[I], Y.Of[I])
                    : Op == CALC_SUB ? make(CALC_NEG, Y.Of[I])
                                     : Y.Of[I];
    return Sum;
  }

  std::optional<Factors> product(const calc *X, const Factors &Of,
                                 const calc *Y, const Factors &By) {
    if (!Of.Still && !By.Still)
      return std::nullopt;
    const Factors &Moves = Of.Still ? By : Of;
    const calc *Still = Of.Still ? X : Y;
    return Factors{
        Moves.Still,
        {times(Moves.Of[TAIL_SUM], Still), times(Moves.Of[TAIL_OUT], Still)}};
  }

  std::optional<Factors> factors(const calc *X) {
    if (X->op == CALC_NUMBER)
      return Factors{true};
    if (X->op == CALC_INPUT && X->input >= TAIL_EXTRA) {
      size_t I = (size_t)(X->input - TAIL_EXTRA);
      return W.Extras[I].Moves == CpuExtra::Number
                 ? std::optional(Factors{true})
                 : std::nullopt;
    }
    if (X->op == CALC_INPUT) {
      Factors F;
      F.Of[X->input] = one();
      return F;
    }
    Factors Of[CALC_OPERANDS];
    bool AllStill = true;
    for (int I = 0; I < calc_operands(X->op); I++) {
      std::optional<Factors> F = factors(X->arg[I]);
      if (!F)
        return F;
      Of[I] = *F;
      AllStill &= F->Still;
    }
    if (AllStill)
      return Factors{true};
    switch (X->op) {
    case CALC_ADD:
    case CALC_SUB:
      return plus(Of[0], Of[1], X->op);
    case CALC_MUL:
      return product(X->arg[0], Of[0], X->arg[1], Of[1]);
    case CALC_NEG:
      return plus(Factors(), Of[0], CALC_SUB);
    case CALC_FMA: {
      std::optional<Factors> F = product(X->arg[0], Of[0], X->arg[1], Of[1]);
      return F ? plus(*F, Of[2], CALC_ADD) : F;
    }
    default:
      return std::nullopt;
    }
  }
};

} // namespace

bool isScaled(const CpuWork &W) {
  ArenaScope Scope;
  return Scale(W, Scope.A).factors().has_value();
}

bool isScaledPacked(CpuUnit &U, const CpuWork &W) {
  return W.Tail && W.Vector == CPU_VECTOR_NO && dotOf(U, W).op == CPU_OP_NONE &&
         dtype_kind(W.Sum) == DTYPE_FLOAT && isScaled(W);
}

const calc *scaleOf(const CpuWork &W, arena *A) {
  return Scale(W, A).factors()->Of[TAIL_SUM];
}

// (tensors, to) gives whether the result is read.
FunctionType *scaleType(CpuUnit &U) {
  return U.type(Type::getInt64Ty(U.context()), "pp");
}

Function *scaleFunction(CpuUnit &U, const CpuWork &W) {
  ArenaScope Scope;
  std::optional<Factors> F = Scale(W, Scope.A).factors();
  if (!F)
    return nullptr;
  bool IsNew;
  Function *Made = U.function(Twine("scale.") + W.epilogue(),
                              Type::getInt64Ty(U.context()), "pp", IsNew);
  if (!IsNew)
    return Made;
  CpuUnit::compileFast(*Made);
  Code C(*Made);
  Type *T = computedType(C.getContext(), W.Sum);
  Value *None = Constant::getNullValue(T); // which factors have no use for
  SmallVector<Value *, 8> Input = {None, None};
  for (unsigned I = 0; I < W.Extras.size(); I++) {
    dtype Of = W.Extras[I].Type;
    Value *Place = C.getPointer(C.argument(0), (int64_t)(TENSORS + I));
    bool Still = W.Extras[I].Moves == CpuExtra::Number;
    Input.push_back(
        Still ? fromStored(C, Of, C.get(storedType(C.getContext(), Of), Place))
              : nullptr);
  }
  auto Put = [&](int At, Value *V) {
    C.put(V, C.at(C.argument(1), At * dtype_bytes(W.Sum)));
  };
  auto Factor = [&](const calc *X) { return X ? compute(C, X, Input) : None; };
  Value *Alpha = Factor(F->Of[TAIL_SUM]);
  Value *One = T->isFloatingPointTy() ? ConstantFP::get(T, 1)
                                      : (Value *)ConstantInt::get(T, 1);
  Put(CpuAlpha, Alpha);
  Put(CpuBeta, Factor(F->Of[TAIL_OUT]));
  Put(CpuFurther + CpuAlpha, Alpha);
  Put(CpuFurther + CpuBeta, One);
  C.CreateRet(C.number(F->Of[TAIL_OUT] != nullptr));
  return Made;
}

} // namespace nputeir
