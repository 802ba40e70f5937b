// lower_cpu_square.cpp -- the block of registers where an instruction
// multiplies 2 rows by 2 columns, of 8 bytes of K each, and adds to 2 by 2 sums
// (AArch64's BFMMLA, SMMLA, UMMLA, USMMLA).  A register holds 2 rows of in0, 2
// columns of in1, or such a square of sums; at the end, squares become rows.
#include "lower_cpu.h"

#include "llvm/IR/IntrinsicsAArch64.h"

using namespace llvm;

namespace nputeir {

namespace {

class SquareKernel {
  CpuUnit &U;
  const teir_cpu_dot &D;
  int Height;
  struct teir_cpu_blocks Blocks;
  Code C;
  VectorType *Sum, *Part;
  enum { Side = 2, RowBytes = 8, RegisterBytes = 16 };

public:
  SquareKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Of, int Height,
               Function &F)
      : U(U), D(D), Height(Height), Blocks(teir_cpu_blocks(&U.Cpu, Of)), C(F),
        Sum(U.vector(computedType(F.getContext(), Of), Side * Side)),
        Part(D.op == CPU_OP_BFMMLA
                 ? U.vector(C.getBFloatTy(), RegisterBytes / 2)
                 : U.vector(C.getInt8Ty(), RegisterBytes)) {
    assert(Blocks.lanes == Side * Side && Height % Side == 0);
  }

  void emit() {
    Code::Values First = {C.argument(1), C.argument(2)};
    First.append((size_t)(Height / Side * columns()),
                 Constant::getNullValue(Sum));
    Code::Values Last =
        unrolled(C, U.Cpu, C.argument(0), First,
                 [&](ArrayRef<Value *> Now) { return step(Now); });
    storeBlock(C, rows(ArrayRef<Value *>(Last).drop_front(2)), Height);
  }

private:
  int columns() { return Blocks.columns / Side; } // of squares

  Intrinsic::ID product() {
    switch (D.op) {
    case CPU_OP_BFMMLA:
      return Intrinsic::aarch64_neon_bfmmla;
    case CPU_OP_SMMLA:
      return Intrinsic::aarch64_neon_smmla;
    case CPU_OP_UMMLA:
      return Intrinsic::aarch64_neon_ummla;
    case CPU_OP_USMMLA:
      return Intrinsic::aarch64_neon_usmmla;
    default:
      llvm_unreachable("no product of squares");
    }
  }

  Value *multiply(Value *X, Value *Y, Value *To) {
    Intrinsic::ID Id = product();
    SmallVector<Type *, 2> Types;
    if (Intrinsic::isOverloaded(Id))
      Types = {Sum, Part};
    if (D.exchanged) // the square is transposed
      std::swap(X, Y);
    return C.CreateIntrinsic(Id, Types, {To, X, Y});
  }

  Code::Values step(ArrayRef<Value *> Now) {
    SmallVector<Value *, 4> Column;
    for (int J = 0; J < columns(); J++)
      Column.push_back(C.get(Part, C.at(Now[1], J * RegisterBytes)));
    Code::Values Next = {C.at(Now[0], Blocks.height[0] * RowBytes),
                         C.at(Now[1], Blocks.columns * RowBytes)};
    for (int I = 0; I < Height / Side; I++) {
      Value *Row = C.get(Part, C.at(Now[0], I * RegisterBytes));
      for (Value *V : Column)
        Next.push_back(multiply(Row, V, Now[Next.size()]));
    }
    return Next;
  }

  // Vectors of the rows, as they lie in the result.
  SmallVector<Value *, 32> rows(ArrayRef<Value *> Sums) {
    SmallVector<Value *, 32> Result;
    int Beside = D.exchanged ? Side : 1, Next = Side * Side;
    for (int I = 0; I < Height; I++) {
      int At = D.exchanged ? I % Side : I % Side * Side;
      const int Mask[] = {At, At + Beside, Next + At, Next + At + Beside};
      for (int J = 0; J < columns(); J += 2) {
        size_t Square = (size_t)(I / Side * columns() + J);
        Result.push_back(
            C.CreateShuffleVector(Sums[Square], Sums[Square + 1], Mask));
      }
    }
    return Result;
  }
};

} // namespace

void defineSquareKernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum,
                        int Height, Function &F) {
  SquareKernel(U, D, Sum, Height, F).emit();
}

} // namespace nputeir
