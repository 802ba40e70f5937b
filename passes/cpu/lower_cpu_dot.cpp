// lower_cpu_dot.cpp -- instructions that multiply groups of neighbouring
// elements of K and add what they give to one sum of 32 bits.
#include "lower_cpu.h"

#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsPowerPC.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace nputeir {

teir_cpu_dot dotOf(const CpuUnit &U, const CpuWork &W) {
  return teir_cpu_choose_dot(&U.Cpu, W.In[IN0], W.In[IN1], W.Sum);
}

static Intrinsic::ID intrinsicOf(teir_cpu_op Op, int VectorBytes) {
  auto By = [&](Intrinsic::ID Of16, Intrinsic::ID Of32, Intrinsic::ID Of64) {
    return VectorBytes == 16 ? Of16 : VectorBytes == 32 ? Of32 : Of64;
  };
  switch (Op) {
  case CPU_OP_PMADDWD:
    return By(Intrinsic::x86_sse2_pmadd_wd, Intrinsic::x86_avx2_pmadd_wd,
              Intrinsic::x86_avx512_pmaddw_d_512);
  case CPU_OP_VPDPWSSD:
    return By(Intrinsic::x86_avx512_vpdpwssd_128,
              Intrinsic::x86_avx512_vpdpwssd_256,
              Intrinsic::x86_avx512_vpdpwssd_512);
  case CPU_OP_VPDPBUSD:
    return By(Intrinsic::x86_avx512_vpdpbusd_128,
              Intrinsic::x86_avx512_vpdpbusd_256,
              Intrinsic::x86_avx512_vpdpbusd_512);
  case CPU_OP_VDPBF16PS:
    return By(Intrinsic::x86_avx512bf16_dpbf16ps_128,
              Intrinsic::x86_avx512bf16_dpbf16ps_256,
              Intrinsic::x86_avx512bf16_dpbf16ps_512);
  case CPU_OP_SDOT:
    return Intrinsic::aarch64_neon_sdot;
  case CPU_OP_UDOT:
    return Intrinsic::aarch64_neon_udot;
  case CPU_OP_XVI8GER4: // of one vector
    return Intrinsic::ppc_altivec_vmsummbm;
  default:
    break;
  }
  llvm_unreachable("no instruction");
}

Value *dotAdd(Code &C, const teir_cpu &Cpu, const teir_cpu_dot &D, Value *X,
              Value *Y, Value *To) {
  Intrinsic::ID Id = intrinsicOf(D.op, Cpu.vector_bytes);
  SmallVector<Type *, 2> Types; // of AArch64's, which are for several
  if (Intrinsic::isOverloaded(Id))
    Types = {To->getType(), FixedVectorType::get(C.getInt8Ty(), 16)};
  FunctionType *T = Intrinsic::getType(C.getContext(), Id, Types);
  // What comes last may be a lane.
  bool IsLane = Cpu.kernel == CPU_KERNEL_LANES && D.packed[0] == D.packed[1];
  if (D.exchanged || IsLane)
    std::swap(X, Y);
  SmallVector<Value *, 3> Operands = {X, Y};
  bool Adds = T->getNumParams() == 3;
  bool IsLast = D.op == CPU_OP_XVI8GER4; // the sum
  if (Adds)
    Operands.insert(IsLast ? Operands.end() : Operands.begin(), To);
  for (unsigned I = 0; I < Operands.size(); I++)
    Operands[I] = C.CreateBitCast(Operands[I], T->getParamType(I));
  Value *V = C.CreateIntrinsic(Id, Types, Operands);
  return Adds ? V : C.CreateAdd(To, V);
}

FunctionType *startType(CpuUnit &U) {
  return U.type(Type::getVoidTy(U.context()), "pi");
}

// The offset times the columns, negated.
Function *startFunction(CpuUnit &U, const teir_cpu_dot &D) {
  assert(D.offset);
  bool IsNew;
  Function *F = U.function(Twine("start.") + dtype_name(D.packed[1]),
                           Type::getVoidTy(U.context()), "pi", IsNew);
  if (!IsNew)
    return F;
  Code C(*F);
  struct teir_cpu_blocks Blocks = teir_cpu_blocks(&U.Cpu, DTYPE_I32);
  VectorType *Vector = U.vector(C.getInt32Ty(), (unsigned)Blocks.lanes);
  Value *Offset = ConstantInt::get(Vector, 0x80808080u);
  Value *Panel = C.argument(0);
  int64_t Row = Blocks.columns * 4;
  for (int J = 0; J < Blocks.vectors; J++) {
    Value *Place = C.at(Panel, J * Blocks.lanes * 4);
    Value *Sum = C.carry(
        C.number(1), C.plus(C.argument(1), 1), C.number(1),
        {Constant::getNullValue(Vector)}, [&](Value *K, ArrayRef<Value *> Now) {
          Value *V = C.get(Vector, C.at(Place, C.times(K, Row)));
          return Code::Values{dotAdd(C, U.Cpu, D, Offset, V, Now[0])};
        })[0];
    C.put(C.CreateNeg(Sum), Place);
  }
  C.CreateRetVoid();
  return F;
}

} // namespace nputeir
