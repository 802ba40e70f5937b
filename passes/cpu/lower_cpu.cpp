// lower_cpu.cpp -- the code for the processor that a declaration stands for:
// for the one that the function around is compiled for, or, where that is any
// x86-64, for each kind in the table with a choice in front, which asks the
// processor once.
#include "lower_cpu.h"

#include "lower_cpu_code.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"

// In LLVM's library, but not in every program that has parts of LLVM.
extern "C" LLVM_ATTRIBUTE_WEAK void LLVMInitializeX86AsmParser();

using namespace llvm;

namespace nputeir {

// ---- which processors ----

static bool has(StringRef Features, StringRef Feature) {
  for (size_t At = 0; (At = Features.find(Feature, At)) != StringRef::npos;
       At++) {
    StringRef Behind = Features.substr(At + Feature.size());
    if ((At == 0 || Features[At - 1] == ',') &&
        (Behind.empty() || Behind[0] == ','))
      return true;
  }
  return false;
}

static bool hasAll(StringRef Features, StringRef Wanted) {
  SmallVector<StringRef, 8> Each;
  Wanted.split(Each, ',', -1, false);
  return all_of(Each, [&](StringRef W) { return has(Features, W); });
}

// The best processor whose features the function is compiled for, which has
// tiles only where they are wanted; Fixed: and no other one is meant.  Null:
// none.
static const teir_cpu *cpuOf(const Function &F, bool &Fixed,
                             bool Tiles = true) {
  StringRef Features = F.getFnAttribute("target-features").getValueAsString();
  Triple T(F.getParent()->getTargetTriple());
  bool IsX86 = T.getArch() == Triple::x86_64;
  bool IsKnown = IsX86 || T.getArch() == Triple::ppc64le ||
                 (T.isAArch64() && T.isLittleEndian());
  if (!IsKnown || has(Features, "-neon") || has(Features, "-sse2") ||
      has(Features, "-vsx"))
    return nullptr;
  const teir_cpu *Best = nullptr;
  for (int I = 0; I < teir_cpu_count(); I++) {
    const teir_cpu *Cpu = teir_cpu_at(I);
    if (Triple::getArchTypeName(T.getArch()) == Cpu->arch &&
        (Tiles || Cpu->kernel != CPU_KERNEL_TILES) &&
        hasAll(Features, Cpu->needs))
      Best = Cpu;
  }
  Fixed = !IsX86 || (Best && *Best->needs);
  return Best;
}

// Can this program make code of the question to the processor, which is inline
// assembly?  flang 19 has no parser for it, ends in a fatal error without, and
// gets one.  Where no code is made (opt), another program can.
static bool mayDetect(const Module &M) {
  std::string Error;
  const Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Error);
  if (!T)
    return true;
  if (!T->hasMCAsmParser() && LLVMInitializeX86AsmParser)
    LLVMInitializeX86AsmParser();
  return T->hasMCAsmParser();
}

// All that are meant, the weakest first: of those that compute alike only that,
// and of what stands aside one for each length of vectors.
// Tiles are the last one's; the system, which is Linux, may refuse them.
static SmallVector<const teir_cpu *, 8> cpusOf(const Function &F,
                                               const CpuWork &W, bool &Fixed) {
  const Module &M = *F.getParent();
  const teir_cpu *One = cpuOf(F, Fixed);
  bool Detects = One && mayDetect(M);
  bool Tiles = Detects && W.Packed && !W.Fixed && !W.Aside &&
               W.Vector == CPU_VECTOR_NO &&
               Triple(M.getTargetTriple()).isOSLinux();
  Fixed |= One && !Detects;
  auto Op = [&](const teir_cpu *Cpu) {
    return teir_cpu_choose_dot(Cpu, W.In[IN0], W.In[IN1], W.Sum).op;
  };
  SmallVector<const teir_cpu *, 8> Cpus;
  auto Add = [&](const teir_cpu *Cpu) {
    bool IsTiled = Cpu->kernel == CPU_KERNEL_TILES;
    auto IsLike = [&](const teir_cpu *X) {
      return X->vector_bytes == Cpu->vector_bytes &&
             (W.Aside || Op(X) == Op(Cpu));
    };
    if (IsTiled ? Tiles && teir_cpu_is_tiled(Op(Cpu)) : none_of(Cpus, IsLike))
      Cpus.push_back(Cpu);
  };
  if (!One)
    return {};
  if (Fixed) {
    Add(cpuOf(F, Fixed, false));
    if (One != Cpus[0])
      Add(One);
    return Cpus;
  }
  for (int I = 0; I < teir_cpu_count(); I++)
    if (StringRef(teir_cpu_at(I)->arch) == One->arch)
      Add(teir_cpu_at(I));
  return Cpus;
}

bool hasCpu(const Function &F) {
  bool Fixed;
  Triple T(F.getParent()->getTargetTriple());
  return cpuOf(F, Fixed) && !T.isOSWindows() &&
         !F.hasFnAttribute(Attribute::NoImplicitFloat) &&
         !F.hasFnAttribute("no-builtins") && !T.isX32();
}

const teir_cpu *meantCpu(const Function &F, bool &Others) {
  bool Fixed;
  const teir_cpu *Cpu = cpuOf(F, Fixed);
  assert(Cpu);
  Others = !Fixed && mayDetect(*F.getParent());
  return teir_cpu_plain(Cpu);
}

// LLVM makes loops of 32 bytes for most processors that have more: Intel's, and
// x86-64-v4 (TuningPrefer256Bit in its X86.td).
static bool prefersHalf(const Function &F) {
  StringRef Cpu = F.getFnAttribute("tune-cpu").getValueAsString();
  if (Cpu.empty())
    Cpu = F.getFnAttribute("target-cpu").getValueAsString();
  return !Cpu.empty() && Cpu != "generic" && Cpu != "x86-64" &&
         !Cpu.consume_front("znver") && !Cpu.consume_front("kn");
}

CpuPrices pricedCpus(const Function &F) {
  enum { HALF = 32 };
  bool Others;
  const teir_cpu *Cpu = meantCpu(F, Others);
  int Bytes = Cpu->vector_bytes;
  return {Others ? teir_cpu_find("avx2") : Cpu,
          prefersHalf(F) ? std::min<int>(Bytes, HALF) : Bytes,
          Cpu == teir_cpu_find("sse2")};
}

// ---- the choice at run time ----

namespace {

// What tells a row of the table, as cpuid and xgetbv say it; all but the first
// one need avx, fma and f16c, too.
struct Requirement {
  const char *Cpu;
  // ebx, ecx and edx; eax of subleaf 1; xcr0
  unsigned Seven[3], SevenOne, State;
};
enum : unsigned {
  HasAvx2 = 1u << 5 | 1u << 3 | 1u << 8, // and bmi1, bmi2
  // f, dq, cd, bw, vl
  HasAvx512 = HasAvx2 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31,
  HasVnni = 1u << 11,
  HasAvxVnni = 1u << 4,
  HasBf16 = 1u << 5,
  HasFp16 = 1u << 23,
  HasAmx = 1u << 22 | 1u << 24 | 1u << 25, // bf16, tile, int8
  KeepsYmm = 0x6,
  KeepsZmm = 0xe6,
  KeepsTiles = KeepsZmm | 1u << 17 | 1u << 18
};
const Requirement Requirements[] = {
    {"avx2", {HasAvx2, 0, 0}, 0, KeepsYmm},
    {"avxvnni", {HasAvx2, 0, 0}, HasAvxVnni, KeepsYmm},
    {"avx512", {HasAvx512, 0, 0}, 0, KeepsZmm},
    {"avx512vnni", {HasAvx512, HasVnni, 0}, 0, KeepsZmm},
    {"avx512bf16", {HasAvx512, HasVnni, 0}, HasBf16, KeepsZmm},
    {"amx", {HasAvx512, HasVnni, HasAmx}, HasBf16, KeepsTiles},
};

unsigned cpuBit(const teir_cpu *Cpu) { return 1u << (Cpu - teir_cpu_at(0)); }

// A bit for each row of the table whose instructions this processor has, and
// whose registers the system keeps.
class Detector {
  Code C;
  LLVMContext &X;

public:
  explicit Detector(Function &F) : C(F), X(F.getContext()) {}

  void emit() {
    Value *Zero = cpuid(0, 0), *Largest = part(Zero, 0);
    Value *One = part(cpuid(1, 0), 2);
    // osxsave, avx, fma, f16c
    Value *Kept = all(One, 1u << 27 | 1u << 28 | 1u << 12 | 1u << 29);
    Value *Slot = C.frame(C.getInt32Ty(), 1, 4);
    Value *Found = C.getInt32(cpuBit(teir_cpu_find("sse2")));
    C.put(Found, Slot);
    C.when(C.CreateAnd(Kept, C.CreateICmpUGE(Largest, C.getInt32(7))), [&] {
      Value *Seven = cpuid(7, 0), *State = states();
      Value *SevenOne = part(cpuid(7, 1), 0);
      for (const Requirement &R : Requirements) {
        Value *Is = C.CreateAnd(all(SevenOne, R.SevenOne), all(State, R.State));
        for (unsigned I = 0; I < 3; I++)
          Is = C.CreateAnd(Is, all(part(Seven, 1 + I), R.Seven[I]));
        unsigned Bit = cpuBit(teir_cpu_find(R.Cpu));
        Found = C.CreateOr(Found,
                           C.CreateSelect(Is, C.getInt32(Bit), C.getInt32(0)));
      }
      unsigned Others = ~cpuBit(teir_cpu_find("avx512bf16"));
      Found = C.CreateSelect(isSlowInBf16(Zero, Seven),
                             C.CreateAnd(Found, C.getInt32(Others)), Found);
      C.put(Found, Slot);
    });
    C.CreateRet(C.get(C.getInt32Ty(), Slot));
  }

private:
  Value *all(Value *Bits, unsigned Wanted) {
    return C.CreateICmpEQ(C.CreateAnd(Bits, C.getInt32(Wanted)),
                          C.getInt32(Wanted));
  }

  // The row avx512fp16, whose code is that of other rows.
  Value *isSlowInBf16(Value *Zero, Value *Seven) {
    enum : unsigned { Genu = 0x756e6547 };
    return C.CreateAnd(C.CreateICmpEQ(part(Zero, 1), C.getInt32(Genu)),
                       all(part(Seven, 3), HasFp16));
  }

  Value *part(Value *Registers, unsigned I) {
    return C.CreateExtractValue(Registers, I);
  }

  Value *cpuid(unsigned Leaf, unsigned Subleaf) {
    Type *I32 = C.getInt32Ty();
    auto *T = FunctionType::get(StructType::get(I32, I32, I32, I32), {I32, I32},
                                false);
    InlineAsm *Ask = InlineAsm::get(
        T, "xchgq %rbx,${1:q}\n\tcpuid\n\txchgq %rbx,${1:q}",
        "={ax},=r,={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}", true);
    return C.CreateCall(T, Ask, {C.getInt32(Leaf), C.getInt32(Subleaf)});
  }

  Value *states() {
    Type *I32 = C.getInt32Ty();
    auto *T = FunctionType::get(StructType::get(I32, I32), {I32}, false);
    InlineAsm *Ask = InlineAsm::get(
        T, "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", true);
    return part(C.CreateCall(T, Ask, {C.getInt32(0)}), 0);
  }
};

Function *detectFunction(CpuUnit &U) {
  bool IsNew;
  Function *F = U.function("detect", Type::getInt32Ty(U.context()), "", IsNew);
  if (IsNew) {
    CpuUnit::compileFast(*F);
    Detector(*F).emit();
  }
  return F;
}

// i32: 1 where the process may use tiles, else 2.  It asks Linux, which grants
// that to a process, that is all its threads; a refusal (by a system that does
// not know of it, or where a thread's stack for signals has no room for tiles)
// is no error.
Function *permitFunction(Module &M) {
  std::string Name = std::string("nputeir.permit.") + CPU_CODE;
  if (Function *F = madeBefore(M, Name))
    return F;
  Type *I32 = Type::getInt32Ty(M.getContext());
  auto *F = sharedFunction(M, FunctionType::get(I32, false), Name);
  F->setDoesNotThrow();
  Code C(*F);
  enum { ArchPrctl = 158, RequestPermission = 0x1023, TileData = 18 };
  Type *I64 = C.getInt64Ty();
  InlineAsm *Ask = InlineAsm::get(
      FunctionType::get(I64, {I64, I64, I64}, false), "syscall",
      "={ax},0,{di},{si},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}",
      true);
  Value *Error =
      C.CreateCall(Ask, {C.number(ArchPrctl), C.number(RequestPermission),
                         C.number(TileData)});
  C.CreateRet(
      C.CreateSelect(C.CreateIsNull(Error), C.getInt32(1), C.getInt32(2)));
  return F;
}

GlobalVariable *variable(Module &M, const char *Name) {
  if (GlobalVariable *G = M.getNamedGlobal(Name))
    return G;
  Type *I32 = Type::getInt32Ty(M.getContext());
  return new GlobalVariable(M, I32, false, GlobalValue::InternalLinkage,
                            ConstantInt::get(I32, 0), Name);
}

// What a function gives, which is not 0, kept in a variable.  Threads may all
// call it at first: they find the same.
Value *once(Code &C, Function *Of, const char *Name) {
  Value *Place = variable(C.module(), Name);
  Value *Slot = C.frame(C.getInt32Ty(), 1, 4);
  LoadInst *Known = C.CreateAlignedLoad(C.getInt32Ty(), Place, Align(4));
  Known->setAtomic(AtomicOrdering::Monotonic);
  C.put(Known, Slot);
  C.when(C.CreateICmpEQ(Known, C.getInt32(0)), [&] {
    Value *Found = C.CreateCall(Of);
    C.CreateAlignedStore(Found, Place, Align(4))
        ->setAtomic(AtomicOrdering::Monotonic);
    C.put(Found, Slot);
  });
  return C.get(C.getInt32Ty(), Slot);
}

// ---- definitions ----

// The extents of a role's axes, multiplied, from the slots.
Value *extentOf(Code &C, const CpuWork &W, axis_role Wanted) {
  Value *Slots = C.argument(0);
  int64_t Tensors = W.moved();
  Value *Axis = C.number(cpuAxesSlot(Tensors));
  for (int R = 0; R < Wanted; R++)
    Axis = C.plus(Axis, C.times(C.getNumber(Slots, cpuCountsSlot(Tensors) + R),
                                1 + Tensors));
  return C.carry(C.number(0),
                 C.getNumber(Slots, cpuCountsSlot(Tensors) + Wanted),
                 C.number(1), {C.number(1), Axis},
                 [&](Value *, ArrayRef<Value *> Now) -> Code::Values {
                   return {C.times(Now[0], C.getNumber(Slots, Now[1])),
                           C.plus(Now[1], 1 + Tensors)};
                 })[0];
}

// Has the processor tiles, are they faster, and may they be used?
Value *takesTiles(Code &C, const teir_cpu &Cpu, const CpuWork &W, Value *Has) {
  return C.choose(Has, {C.getFalse()}, [&]() -> Code::Values {
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = {
        extentOf(C, W, AXIS_M),
        extentOf(C, W, AXIS_N),
        extentOf(C, W, AXIS_K),
        teir_cpu_choose_dot(&Cpu, W.In[IN0], W.In[IN1], W.Sum),
        W.Turned,
        W.Tail != nullptr,
        false,
        nullptr,
        false};
    auto *Small =
        static_cast<Value *>(teir_cpu_is_small_for_tiles(&Math, &Size));
    return C.choose(C.CreateNot(Small), {C.getFalse()}, [&]() -> Code::Values {
      Value *May = once(C, permitFunction(C.module()), "nputeir.permitted");
      return {C.CreateICmpEQ(May, C.getInt32(1))};
    });
  })[0];
}

// Of a product, for one processor: functions, then numbers.
Value *partsOf(CpuUnit &U, const CpuWork &W, StringRef Name, bool IsOld) {
  LLVMContext &X = U.context();
  Type *P = bytePointer(X);
  SmallVector<Constant *, 32> Parts(CpuParts, Constant::getNullValue(P));
  auto Set = [&](int Part, Function *F) {
    if (F)
      Parts[(size_t)Part] = ConstantExpr::getPointerCast(F, P);
  };
  CpuUnit Plain = U.plain();
  Plain.Common = U.Common;
  Plain.Elements = U.Elements;
  bool Vector = W.Vector != CPU_VECTOR_NO;
  bool Packed = W.Packed && !Vector;
  if (W.Tail || Packed)
    Set(CpuStore, storeFunction(Plain, W));
  bool MayBeVector =
      Vector ||
      (!IsOld && (W.Row != CPU_VECTOR_NO || W.Column != CPU_VECTOR_NO));
  if (W.Direct || MayBeVector || (Packed && isScaledPacked(U, W)))
    Set(CpuScale, scaleFunction(Plain, W));
  if (Packed) {
    CpuPanel In0 = driverPanel(U, W, IN0), In1 = driverPanel(U, W, IN1);
    Set(CpuPack0, U.Cpu.kernel == CPU_KERNEL_TILES ? linesFunction(Plain, In0)
                                                   : packFunction(Plain, In0));
    Set(CpuPack1, packFunction(Plain, In1));
    if (driverCrosses(U, W))
      Set(CpuCross, crossFunction(Plain, In1));
    teir_cpu_dot Dot = dotOf(U, W);
    if (Dot.offset)
      Set(CpuStart, startFunction(U, Dot));
    for (int H = 0; H < TEIR_CPU_HEIGHTS; H++)
      Set(CpuKernels + H, driverKernel(U, W, H));
  }
  if (W.Turned && U.Cpu.kernel != CPU_KERNEL_TILES) { // tiles pack all
    Set(CpuTurned, packFunction(*U.Elements, turnedPanel(U, W, false)));
    Set(CpuNarrow, packFunction(*U.Elements, turnedPanel(U, W, true)));
  }
  for (CpuVectorPart Part : {CpuVectorMany, CpuVectorOther, CpuVectorAll}) {
    Set(CpuVector + Part, vectorKernel(Plain,
                                       Vector  ? W
                                       : IsOld ? CpuWork()
                                               : cpuOneRow(W),
                                       Part));
    if (!Vector && !IsOld)
      Set(CpuColumn + Part, vectorKernel(Plain, cpuFewColumns(W), Part));
  }
  if (!Vector && !IsOld && W.Column == CPU_VECTOR_ADD)
    Set(CpuExchanged, directFunction(Plain, cpuExchanged(W), Name, false));
  for (int64_t N : driverNumbers(U, W))
    Parts.push_back(ConstantInt::getSigned(Type::getInt64Ty(X), N));
  Constant *Table = ConstantStruct::getAnon(X, Parts);
  auto *G =
      new GlobalVariable(U.module(), Table->getType(), true,
                         GlobalValue::PrivateLinkage, Table, "nputeir.parts");
  G->setAlignment(Align(8));
  return ConstantExpr::getPointerCast(G, P);
}

} // namespace

void defineCpu(Function &F, const CpuWork &W) {
  bool Fixed;
  SmallVector<const teir_cpu *, 8> Cpus = cpusOf(F, W, Fixed);
  StringRef Name = F.getName().substr(strlen("nputeir."));
  Code C(F);
  CpuUnit Common(F, *Cpus[0], *Cpus[0], !Fixed);
  auto Run = [&](const teir_cpu &Cpu) {
    bool IsTiled = Cpu.kernel == CPU_KERNEL_TILES;
    CpuUnit U(F, Cpu, IsTiled ? *Cpus[Cpus.size() - 2] : Cpu, !Fixed);
    U.Common = &Common;
    CpuUnit Plain = U.plain();
    Plain.Common = &Common;
    auto IsAsLong = [&](const teir_cpu *X) {
      return X->vector_bytes == Plain.Cpu.vector_bytes;
    };
    const teir_cpu &First = **find_if(Cpus, IsAsLong);
    CpuUnit Elements(F, First, First, !Fixed);
    Elements.Common = &Common;
    U.Elements = Plain.Elements = &Elements;
    // Processors as old as the weakest of several are not worth the time to
    // compile all that large products gain from.
    CpuWork Kinds = W;
    bool IsOld = !Fixed && &Cpu == Cpus[0];
    Kinds.Packed &= !IsOld;
    // One loop for all where few columns are multiplied as rows.
    Kinds.Spreads = !IsOld && W.Column == CPU_VECTOR_ADD && cpuIsUniform(W);
    if (!Kinds.Packed && !W.Direct && W.Vector == CPU_VECTOR_NO)
      return cast<Value>(C.getInt32(1));
    if (!W.Fixed)
      C.put(partsOf(U, Kinds, Name, IsOld),
            C.at(F.getArg(0), 8 * cpuPartsSlot(W.moved())));
    auto By = [&](const CpuCode &X) {
      return computeOnThreads(C, U, W, X, F.getArg(0));
    };
    if (W.Vector != CPU_VECTOR_NO)
      return By(vectorCode(U, W));
    // What each leaves, the next one computes.
    Value *Status = C.getInt32(1);
    auto Then = [&](function_ref<Value *()> Next) {
      if (isa<Constant>(Status)) // nothing stands before it
        Status = Next();
      else
        Status = C.choose(C.CreateICmpNE(Status, C.getInt32(0)), {Status},
                          [&] { return Code::Values{Next()}; })[0];
    };
    auto Call = [&](Function *F) { return C.CreateCall(F, {C.argument(0)}); };
    if (!IsOld && (W.Row != CPU_VECTOR_NO || W.Column != CPU_VECTOR_NO))
      Then([&] { return Call(thinFunction(Plain, W)); });
    if (W.Direct && !IsTiled)
      Then([&] { return Call(directFunction(U, Kinds, Name, IsOld)); });
    if (Kinds.Packed)
      Then([&] { return By(driverCode(U, W)); });
    return Status;
  };
  if (Cpus.size() == 1) {
    C.CreateRet(Run(*Cpus[0]));
    return;
  }
  Value *Detected = once(C, detectFunction(Common), "nputeir.detected");
  Value *Slot = C.frame(C.getInt32Ty(), 1, 4);
  std::function<void(size_t)> Choose = [&](size_t Best) {
    if (Best == 0) {
      C.put(Run(*Cpus[0]), Slot);
      return;
    }
    const teir_cpu &Cpu = *Cpus[Best];
    Value *Has = C.CreateICmpNE(C.CreateAnd(Detected, C.getInt32(cpuBit(&Cpu))),
                                C.getInt32(0));
    if (Cpu.kernel == CPU_KERNEL_TILES)
      Has = takesTiles(C, Cpu, W, Has);
    C.when(Has, [&] { C.put(Run(Cpu), Slot); }, [&] { Choose(Best - 1); });
  };
  Choose(Cpus.size() - 1);
  C.CreateRet(C.get(C.getInt32Ty(), Slot));
}

} // namespace nputeir
