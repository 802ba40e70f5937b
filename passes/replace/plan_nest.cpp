// plan_nest.cpp -- asks the recogniser about a nest for each machine, and what
// the machine takes.
#include "plan_nest.h"
#include "lower_cpu.h"
#include "switch_off.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"

extern "C" {
#include "teir.h"
}

using namespace llvm;

namespace nputeir {

bool wantsCpuCode(const options &O, const Function &F) {
  return options_cpu_beside(&O, F.hasOptSize()) && hasCpu(F);
}

bool mayBeCalled(const options &O, const Function &F, const LoopInfo &LI) {
  auto IsWide = [](const Type *T) {
    return T->isFloatTy() || T->isDoubleTy() || T->isPointerTy();
  };
  return options_wide_floats(&O) || any_of(F, [&](const BasicBlock &B) {
           return any_of(B, [&](const Instruction &I) {
             return isa<CallBase>(I)
                        ? saysProduct(I) || I.getType()->isVectorTy()
                        : isa<LoadInst>(I) && LI.getLoopFor(&B) &&
                              !IsWide(I.getType());
           });
         });
}

static std::string take(struct text &T) {
  std::string S = text_string(&T);
  text_free(&T);
  return S;
}

// The TEIR text of a contraction; false and a verdict when there is none.
bool NestPlanner::lower(const contraction &C, bool OfTriangle, Finding &N) {
  struct diag D = {};
  struct text Text = {};
  if (!OfTriangle) { // which TEIR has not
    const teir *T = teir_from_contraction(A, &C, &D);
    if (!T)
      return verdict_decline(&N.V, RULE_ROLES, D.at, "%s", D.text);
    teir_print(T, &Text);
    N.TEIR = take(Text);
  }
  contraction_einsum(&C, &Text);
  N.Einsum = take(Text);
  contraction_sizes(&C, &Text);
  N.Sizes = take(Text);
  contraction_print(&C, &Text);
  N.Contraction = take(Text);
  options_print(&O, &Text);
  N.Options = take(Text);
  N.V.rule = RULE_TAKEN;
  return true;
}

static bool hasAxis(const contraction &C, axis_role Role) {
  return any_of(make_range(C.axis, C.axis + C.axis_count),
                [&](const contraction_axis &X) { return X.role == Role; });
}

// There is code for the processor alone.
bool NestPlanner::mayTakeCpu(const contraction &C) {
  switch (By) {
  case TakenBy::Call:
    return false;
  case TakenBy::Matrix:
    return hasAxis(C, AXIS_M) && hasAxis(C, AXIS_N) && hasAxis(C, AXIS_K);
  case TakenBy::Any:
    return true;
  }
  return true;
}

// What a tensor's address is reached from.
static const Value *objectOf(const SCEV *Address) {
  while (!isa<SCEVUnknown>(Address)) {
    const auto *Sum = dyn_cast<SCEVNAryExpr>(Address);
    const auto *At =
        Sum ? find_if(Sum->operands(),
                      [](const SCEV *S) { return S->getType()->isPointerTy(); })
            : nullptr;
    if (!Sum || At == Sum->operands().end())
      return nullptr;
    Address = *At;
  }
  return getUnderlyingObject(cast<SCEVUnknown>(Address)->getValue());
}

// As everybody knows: does the result share no memory with what is read, or has
// only the function all of it?
static CpuPlaces placesOf(const IRNest &Nest, const contraction &C) {
  auto Object = [&](int T) {
    int Tensor = C.tensor[T];
    return Tensor < 0 ? nullptr : objectOf(Nest.Tensor[Tensor]);
  };
  const Value *Out = Object(OUT);
  bool Apart = Out && all_of(ArrayRef({IN0, IN1}), [&](int T) {
                 const Value *In = Object(T);
                 return In && In != Out && isIdentifiedObject(Out) &&
                        (isIdentifiedObject(In) ||
                         (isIdentifiedFunctionLocal(Out) && isa<Argument>(In)));
               });
  if (!Apart)
    return CpuPlaces::Any;
  bool Own = all_of(ArrayRef({IN0, IN1, OUT}),
                    [&](int T) { return isa<AllocaInst>(Object(T)); });
  return Own ? CpuPlaces::Own : CpuPlaces::Apart;
}

// A block of sums of a function's own, which compilers keep in registers while
// they add as much as only the program knows.
bool NestPlanner::isBlock(const IRNest &Nest, const contraction &C) const {
  int Out = C.tensor[OUT];
  const Value *Sums = Out < 0 ? nullptr : objectOf(Nest.Tensor[Out]);
  return Sums && isa<AllocaInst>(Sums) && cpuFitsRegisters(F, C) &&
         any_of(make_range(C.axis, C.axis + C.axis_count),
                [](const contraction_axis &X) { return X.extent.symbol >= 0; });
}

// The same nest for the processor, with a verdict of its own.
const contraction *NestPlanner::forProcessor(const IRNest &Nest, verdict &V) {
  options Here = O;
  Here.device = "cpu";
  const contraction *C = recognize(A, Nest.N, &Here, &V);
  const char *Why;
  if (!C || cpuTakes(*C, &Why))
    return C;
  verdict_decline(&V, RULE_PROCESSOR, C->at, "%s", Why);
  return nullptr;
}

// Products of two numbers that are none.
static int productsOf(const nest_expr &X,
                      SmallPtrSetImpl<const nest_expr *> &Seen) {
  if (!Seen.insert(&X).second)
    return 0;
  int Count = 0;
  for (const nest_expr *Of : X.arg)
    if (Of)
      Count += productsOf(*Of, Seen);
  return X.op == NEST_MUL ? std::max(1, Count) : Count;
}

// Has an iteration of an innermost loop several products, as where the source
// has a few rows or columns at once?  Compilers make more of such loops than of
// those that are priced.
static bool isWrittenOut(const nest &N) {
  SmallVector<int, 8> Products((size_t)N.loop_count, 0);
  SmallPtrSet<const nest_expr *, 16> Seen;
  for (int I = 0; I < N.statement_count; I++)
    if (N.statement[I].loop >= 0)
      Products[(size_t)N.statement[I].loop] +=
          productsOf(*N.statement[I].value, Seen);
  for (int I = 0; I < N.loop_count; I++)
    if (N.loop[I].parent >= 0)
      Products[(size_t)N.loop[I].parent] = 0;
  return any_of(Products, [](int Of) { return Of > 1; });
}

// What can be done about a nest that was read.
Plan NestPlanner::planOf(const IRNest &Nest, Finding &N) {
  Plan P;
  P.LeastMacs = P.CpuLeastMacs = O.min_macs;
  diag Mistake = {};
  if (!nest_check(Nest.N, &Mistake)) {
    verdict_decline(&N.V, RULE_FAULT, Mistake.at,
                    "the nest is described "
                    "wrongly: %s",
                    Mistake.text);
    return P;
  }
  bool OfTriangle = Nest.N->within; // for the processor alone
  if (!OfTriangle) {                // which the nest's text has not
    struct text Text = {};
    nest_print(Nest.N, &Text);
    N.Nest = take(Text);
  }
  N.MinMacs = O.min_macs;
  bool OnCpu = options_on_cpu(&O);
  if (!OnCpu && !OfTriangle)
    P.Npu = recognize(A, Nest.N, &O, &N.V);
  verdict V = {};
  if (OnCpu || wantsCpuCode(O, F))
    P.Cpu = forProcessor(Nest, V);
  if (OnCpu && P.Cpu && !hasCpu(F)) {
    P.Cpu = nullptr;
    verdict_decline(&V, RULE_PROCESSOR, Nest.N->at,
                    "there is no code for this target");
  }
  auto NeverPays = [&] {
    return cpuNeverPays(F, *P.Cpu, P.CpuLeastMacs, placesOf(Nest, *P.Cpu));
  };
  bool Never = P.Cpu && !O.require && NeverPays();
  if (P.Cpu && P.CpuLeastMacs < 0 && cpuIsOfVector(*P.Cpu) &&
      !cpuHasMaps(*P.Cpu) && isWrittenOut(*Nest.N)) {
    P.CpuLeastMacs = CpuLeastWrittenOut;
    Never |= !O.require && NeverPays();
  }
  if (Never) {
    P.Cpu = nullptr;
    verdict_decline(&V, RULE_BELOW_THRESHOLD, Nest.N->at,
                    "the loops are faster than code for the processor");
  }
  const contraction *Any = P.Npu ? P.Npu : P.Cpu;
  if (Any && !O.require && O.min_macs < 0 && isBlock(Nest, *Any)) {
    P.Npu = P.Cpu = nullptr;
    for (verdict *Of : {&V, &N.V})
      verdict_decline(
          Of, RULE_BELOW_THRESHOLD, Nest.N->at,
          "the sums of a block stay in registers; what calls it, or "
          "goes around it, is more");
  }
  if (!P.Npu && P.Cpu && !mayTakeCpu(*P.Cpu)) {
    LeftCpu = true;
    P.Cpu = nullptr;
    if (OnCpu)
      verdict_decline(&V, RULE_VECTOR, Nest.N->at,
                      "a product of a matrix and a vector comes later");
  }
  if (!P.Npu && (P.Cpu || OnCpu || OfTriangle))
    N.V = V;
  if (!isPlanned(P))
    N.OnCpu = V;
  assert(isPlanned(P) || N.V.diag.kind != DIAG_NONE);
  if (isPlanned(P) && !MayTake) {
    verdict_decline(&N.V, RULE_EARLY_EXIT, Nest.N->at,
                    "the function jumps to labels by their addresses");
    return Plan();
  }
  if (!isPlanned(P) || !lower(P.Npu ? *P.Npu : *P.Cpu, OfTriangle, N))
    return Plan();
  N.By = !P.Cpu   ? "a call"
         : !P.Npu ? "code for the processor"
                  : "a call and code for the processor";
  return P;
}

} // namespace nputeir
