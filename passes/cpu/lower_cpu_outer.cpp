// lower_cpu_outer.cpp -- the block of registers where the processor multiplies
// a vector of rows by a vector of columns into an accumulator of its own
// (POWER10's MMA): 4 rows by one vector of the result.  Vectors come in pairs,
// one load each.  The intrinsics number rows and vectors as memory does.
#include "lower_cpu.h"

#include "llvm/IR/IntrinsicsPowerPC.h"

using namespace llvm;

namespace nputeir {

namespace {

class OuterKernel {
  CpuUnit &U;
  const teir_cpu_dot &D;
  int Height;
  struct teir_cpu_blocks Blocks;
  Code C;
  int Bytes;
  VectorType *Vector, *Register;
  Type *Accumulator;
  enum { Rows = 4 }; // of an accumulator

public:
  OuterKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height,
              Function &F)
      : U(U), D(D), Height(Height), Blocks(teir_cpu_blocks(&U.Cpu, Sum)), C(F),
        Bytes(dtype_bytes(Sum)),
        Vector(U.vector(computedType(F.getContext(), Sum),
                        (unsigned)Blocks.lanes)),
        Register(U.vector(C.getInt8Ty(), 16)),
        Accumulator(FixedVectorType::get(C.getInt1Ty(), 512)) {
    assert(Height % Rows == 0 && Blocks.vectors % 2 == 0);
  }

  void emit() {
    Value *In1 = C.argument(2);
    Code::Values First = {C.argument(1), nullptr};
    for (int I = 0; I < Height; I += Rows)
      for (int J = 0; J < Blocks.vectors; J++)
        First.push_back(start(In1, J));
    First[1] = D.offset ? C.at(In1, Blocks.columns * Bytes) : In1;
    Code::Values Last =
        unrolled(C, U.Cpu, C.argument(0), First,
                 [&](ArrayRef<Value *> Now) { return step(Now); });
    ArrayRef<Value *> Sums = ArrayRef<Value *>(Last).drop_front(2);
    storeBlock(C, results(Sums), Height);
  }

private:
  Value *start(Value *In1, int J) {
    if (!D.offset)
      return C.CreateIntrinsic(Intrinsic::ppc_mma_xxsetaccz, {}, {});
    Value *V = C.get(Register, C.at(In1, J * 16));
    return C.CreateIntrinsic(Intrinsic::ppc_mma_assemble_acc, {}, {V, V, V, V});
  }

  // `Count` vectors from a place on, which is in a panel.
  Code::Values load(Value *Place, int Count) {
    Code::Values V;
    for (int I = 0; I + 1 < Count; I += 2) {
      Value *Pair =
          C.CreateIntrinsic(Intrinsic::ppc_vsx_lxvp, {}, {C.at(Place, I * 16)});
      Value *Parts =
          C.CreateIntrinsic(Intrinsic::ppc_vsx_disassemble_pair, {}, {Pair});
      V.push_back(C.CreateExtractValue(Parts, 0));
      V.push_back(C.CreateExtractValue(Parts, 1));
    }
    if (Count % 2)
      V.push_back(C.get(Register, C.at(Place, (Count - 1) * 16)));
    return V;
  }

  Intrinsic::ID product() {
    switch (D.op) {
    case CPU_OP_XVF32GER:
      return Intrinsic::ppc_mma_xvf32gerpp;
    case CPU_OP_XVI16GER2:
      return Intrinsic::ppc_mma_xvi16ger2pp;
    case CPU_OP_XVI8GER4:
      return Intrinsic::ppc_mma_xvi8ger4pp;
    default:
      break;
    }
    llvm_unreachable("no outer product of single vectors");
  }

  Code::Values step(ArrayRef<Value *> Now) {
    bool Double = D.op == CPU_OP_XVF64GER;
    Code::Values Row = load(Now[1], Blocks.vectors);
    Code::Values Column;
    if (Double) // pairs as they are
      for (int I = 0; I < Height; I += Rows)
        Column.push_back(C.CreateIntrinsic(Intrinsic::ppc_vsx_lxvp, {},
                                           {C.at(Now[0], I * Bytes)}));
    else
      Column = load(Now[0], Height / Rows);
    Code::Values Next = {C.at(Now[0], Blocks.height[0] * Bytes),
                         C.at(Now[1], Blocks.columns * Bytes)};
    for (int I = 0; I < Height / Rows; I++)
      for (int J = 0; J < Blocks.vectors; J++)
        Next.push_back(C.CreateIntrinsic(
            Double ? Intrinsic::ppc_mma_xvf64gerpp : product(), {},
            {Now[Next.size()], Column[(size_t)I], Row[(size_t)J]}));
    return Next;
  }

  // Vectors of the rows, as they lie in the result.
  SmallVector<Value *, 32> results(ArrayRef<Value *> Sums) {
    SmallVector<Value *, 32> Result;
    Code::Values Parts;
    for (Value *V : Sums)
      Parts.push_back(
          C.CreateIntrinsic(Intrinsic::ppc_mma_disassemble_acc, {}, {V}));
    for (int I = 0; I < Height; I++)
      for (int J = 0; J < Blocks.vectors; J++) {
        Value *Part = Parts[(size_t)(I / Rows * Blocks.vectors + J)];
        Result.push_back(C.CreateBitCast(
            C.CreateExtractValue(Part, (unsigned)(I % Rows)), Vector));
      }
    return Result;
  }
};

} // namespace

void defineOuterKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height,
                       Function &F) {
  OuterKernel(U, D, Sum, Height, F).emit();
}

} // namespace nputeir
