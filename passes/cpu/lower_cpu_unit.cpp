// lower_cpu_unit.cpp -- functions for one processor: their names, and the
// attributes that let the code generator use its instructions.  The linker
// keeps one copy of each for a program, so a name tells types, sizes, target
// and, as objects may come from several releases of the plugin, which sources
// emitted the code (CPU_CODE, which CMake makes).
#include "lower_cpu.h"

#include "lower_cpu_code.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/MD5.h"

using namespace llvm;

namespace nputeir {

uint64_t stableHash(StringRef Text) { return MD5Hash(Text); }

Function *sharedFunction(Module &M, FunctionType *T, const std::string &Name) {
  auto *F = Function::Create(T, GlobalValue::LinkOnceODRLinkage, Name, &M);
  F->setVisibility(GlobalValue::HiddenVisibility);
  F->setDSOLocal(true);
  if (Triple(M.getTargetTriple()).supportsCOMDAT())
    F->setComdat(M.getOrInsertComdat(Name));
  return F;
}

Function *madeBefore(Module &M, StringRef Name) {
  Function *F = M.getFunction(Name);
  if (!F || !F->hasLocalLinkage())
    return F;
  F->setComdat(nullptr);
  F->setName(Name + ".before");
  return nullptr;
}

static std::string targetFeatures(const Function &Like, const teir_cpu &Cpu,
                                  bool AddFeatures) {
  std::string Known =
      Like.getFnAttribute("target-features").getValueAsString().str();
  if (!AddFeatures || !*Cpu.features)
    return Known;
  return Known + (Known.empty() ? "" : ",") + Cpu.features;
}

CpuUnit::CpuUnit(const Function &Like, const teir_cpu &Cpu,
                 const teir_cpu &Without, bool AddFeatures)
    : Like(Like), Without(Without), AddFeatures(AddFeatures),
      M(*const_cast<Module *>(Like.getParent())), Attributes(M.getContext()),
      Cpu(Cpu) {
  std::string Features = targetFeatures(Like, Cpu, AddFeatures);
  Attributes.addAttribute(Attribute::NoUnwind);
  for (const char *Kept : {"target-cpu", "tune-cpu", "frame-pointer",
                           "prefer-vector-width", "min-legal-vector-width"})
    if (Like.hasFnAttribute(Kept))
      Attributes.addAttribute(Like.getFnAttribute(Kept));
  // What a processor's model adds is another order of the instructions, which
  // these processors find by themselves; it took a fourteenth of the time in
  // which the code is compiled.
  if (Triple(M.getTargetTriple()).isX86())
    Attributes.addAttribute("tune-cpu", "generic");
  // LLVM 18 to 20: avx512f has registers of 512 bits only where the processor
  // is a general one (or +evex512, which older ones do not know, says so).
  if (AddFeatures && *Cpu.features)
    Attributes.addAttribute("target-cpu", "x86-64");
  if (!Features.empty())
    Attributes.addAttribute("target-features", Features);
  // Any function may have vectors of 16 bytes: the code generator's tables for
  // the caller are those of such a unit, too.
  std::string Bits = std::to_string(Cpu.vector_bytes * 8);
  if (Cpu.vector_bytes > 16) {
    Attributes.addAttribute("prefer-vector-width", Bits);
    Attributes.addAttribute("min-legal-vector-width", Bits);
  }
  StringRef Of = Like.getFnAttribute("target-cpu").getValueAsString();
  Suffix = std::string(".") + Cpu.name + "." +
           std::to_string(stableHash((Of + "/" + Features).str())) + "." +
           CPU_CODE;
}

FunctionType *CpuUnit::type(Type *Result, StringRef Arguments) {
  SmallVector<Type *, 12> Types;
  for (char A : Arguments)
    Types.push_back(A == 'p' ? (Type *)bytePointer(context())
                             : Type::getInt64Ty(context()));
  return FunctionType::get(Result, Types, false);
}

Function *CpuUnit::function(const Twine &Name, Type *Result,
                            StringRef Arguments, bool &IsNew) {
  std::string Full = ("nputeir." + Name + Suffix).str();
  Function *F = madeBefore(M, Full);
  IsNew = !F;
  if (F)
    return F;
  F = sharedFunction(M, type(Result, Arguments), Full);
  F->addFnAttrs(Attributes);
  F->addFnAttr(Attribute::NoInline);
  return F;
}

void CpuUnit::compileFast(Function &F) {
  assert(F.hasFnAttribute(Attribute::NoInline));
  F.addFnAttr(Attribute::OptimizeNone);
}

teir_cpu_math cpuMath(Code &C) {
  teir_cpu_math M = {};
  M.context = &C;
  M.number = [](void *C, int64_t N) {
    return (void *)static_cast<Code *>(C)->number(N);
  };
  M.apply = [](void *Context, teir_cpu_formula F, void *XGiven, void *YGiven) {
    Code &C = *static_cast<Code *>(Context);
    auto *X = static_cast<Value *>(XGiven), *Y = static_cast<Value *>(YGiven);
    auto Apply = [&]() -> Value * {
      switch (F) {
      case CPU_PLUS:
        return C.plus(X, Y);
      case CPU_TIMES:
        return C.times(X, Y);
      case CPU_DIVIDE:
        return C.divide(X, Y);
      case CPU_DIVIDE_UP:
        return C.divideUp(X, Y);
      case CPU_LEAST:
        return C.least(X, Y);
      case CPU_AT_MOST:
        return C.CreateICmpSLE(X, Y);
      case CPU_EQUAL:
        return C.CreateICmpEQ(X, Y);
      case CPU_BOTH:
        return X == C.getTrue() ? Y : Y == C.getTrue() ? X : C.CreateAnd(X, Y);
      case CPU_EITHER:
        return C.CreateOr(X, Y);
      }
      llvm_unreachable("no formula");
    };
    return (void *)Apply();
  };
  M.choose = [](void *C, void *Condition, void *X, void *Otherwise) {
    if (auto *Known = dyn_cast<ConstantInt>(static_cast<Value *>(Condition)))
      return Known->isOne() ? X : Otherwise;
    return (void *)static_cast<Code *>(C)->CreateSelect(
        static_cast<Value *>(Condition), static_cast<Value *>(X),
        static_cast<Value *>(Otherwise));
  };
  return M;
}

Code::Values unrolled(Code &C, const teir_cpu &Cpu, Value *K,
                      const Code::Values &First,
                      function_ref<Code::Values(ArrayRef<Value *>)> Step) {
  auto One = [&](Value *, ArrayRef<Value *> V) { return Step(V); };
  if (Cpu.unrolled == 1)
    return C.repeat(C.number(0), K, C.number(1), First, One);
  assert((Cpu.unrolled & (Cpu.unrolled - 1)) == 0);
  Value *Whole = C.CreateAnd(K, C.number(-Cpu.unrolled));
  Code::Values Now = C.carry(C.number(0), Whole, C.number(Cpu.unrolled), First,
                             [&](Value *, ArrayRef<Value *> Given) {
                               Code::Values V(Given.begin(), Given.end());
                               for (int I = 0; I < Cpu.unrolled; I++)
                                 V = Step(V);
                               return V;
                             });
  return C.carry(Whole, K, C.number(1), Now, One);
}

Value *multiplyAdd(Code &C, const teir_cpu &Cpu, Value *X, Value *Y,
                   Value *To) {
  if (To->getType()->isIntOrIntVectorTy())
    return C.CreateAdd(To, C.CreateMul(X, Y));
  if (Cpu.fma)
    return C.CreateIntrinsic(Intrinsic::fma, {To->getType()}, {X, Y, To});
  return C.CreateFAdd(To, C.CreateFMul(X, Y));
}

// Zeros, as much of a row as a block of registers has.
static Constant *zeros(Module &M, int64_t Bytes) {
  constexpr const char *Name = "nputeir.zeros";
  constexpr int64_t Most = 256;
  assert(Bytes <= Most);
  (void)Bytes;
  if (GlobalVariable *Old = M.getGlobalVariable(Name, true))
    return Old;
  Type *T = ArrayType::get(Type::getInt8Ty(M.getContext()), Most);
  auto *New = new GlobalVariable(M, T, true, GlobalValue::PrivateLinkage,
                                 Constant::getNullValue(T), Name);
  New->setAlignment(Align(64));
  return New;
}

// Sums are added to what lies in memory or, if argument 5 is 0, to zeros.  (A
// sum that began with zero is not -0, and stays as it is.)
void storeBlock(Code &C, ArrayRef<Value *> Sums, int Height,
                const CpuScaling *By) {
  assert(Height > 0 && Sums.size() % (size_t)Height == 0);
  size_t Vectors = Sums.size() / (size_t)Height;
  auto *Vector = cast<FixedVectorType>(Sums[0]->getType());
  int64_t Bytes = Vector->getNumElements() * Vector->getScalarSizeInBits() / 8;
  Value *Row = C.argument(3), *Stride = C.argument(4);
  Value *Adds = C.CreateICmpNE(C.argument(5), C.number(0));
  Value *Zeros = C.CreatePointerCast(
      zeros(C.module(), (int64_t)Vectors * Bytes), bytePointer(C.getContext()));
  Value *Old = C.CreateSelect(Adds, Row, Zeros),
        *OldStride = C.CreateSelect(Adds, Stride, C.number(0));
  auto Factor = [&](CpuFactor F) {
    Type *T = Vector->getElementType();
    int64_t At = (int64_t)F * Vector->getScalarSizeInBits() / 8;
    return C.CreateVectorSplat(Vector->getNumElements(),
                               C.get(T, C.at(By->Factors, At)));
  };
  Value *Alpha = By ? Factor(CpuAlpha) : nullptr;
  Value *Beta = By ? Factor(CpuBeta) : nullptr;
  auto Added = [&](Value *X, Value *Sum) {
    return By ? multiplyAdd(C, By->Cpu, X, Beta, C.CreateFMul(Sum, Alpha))
           : Vector->isIntOrIntVectorTy() ? C.CreateAdd(X, Sum)
                                          : C.CreateFAdd(X, Sum);
  };
  for (int I = 0; I < Height; I++) {
    for (size_t J = 0; J < Vectors; J++) {
      int64_t At = (int64_t)J * Bytes;
      Value *X = C.get(Vector, C.at(Old, At));
      C.put(Added(X, Sums[(size_t)I * Vectors + J]), C.at(Row, At));
    }
    Row = C.at(Row, Stride);
    Old = C.at(Old, OldStride);
  }
  C.CreateRetVoid();
}

VectorType *CpuUnit::vector(Type *Element, unsigned Lanes) {
  return FixedVectorType::get(Element, Lanes);
}

} // namespace nputeir
