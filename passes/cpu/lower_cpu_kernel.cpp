// lower_cpu_kernel.cpp -- a block of registers: rows x columns sums, to which
// every step along K adds a column of in0 times a row of in1.
//
// Panels are packed, so that a step reads both at constant distances; the code
// generator then needs two registers for addresses and spills none.
//
// Panels come from the second cache.  Where a vector is as long as a line of
// it, a step asks for those of a later one, and for a line of the next panel of
// in1, which comes from the third cache: while all panels of in0 are multiplied
// by this one, that whole panel is asked for.  There the result's rows are
// asked for one by one, with steps in between: all at once are more lines than
// the processor waits for, and the first steps would wait with them.
#include "lower_cpu.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace nputeir {

namespace {

class Kernel {
  CpuUnit &U;
  const teir_cpu_dot &D;
  int Height;
  bool Scales;
  struct teir_cpu_blocks Blocks;
  Code C;
  int Bytes;
  Type *Element, *Packed;
  VectorType *Vector;
  enum { LineBytes = 64, Ahead = 16, Moving = 3 }; // three addresses
  enum { StepsPerRow = 4 };

public:
  Kernel(CpuUnit &U, const teir_cpu_dot &D, dtype Sum, int Height, Function &F,
         bool Scales)
      : U(U), D(D), Height(Height), Scales(Scales),
        Blocks(teir_cpu_blocks(&U.Cpu, Sum)), C(F), Bytes(dtype_bytes(Sum)),
        Element(computedType(F.getContext(), Sum)),
        Packed(D.op == CPU_OP_NONE ? Element : C.getInt32Ty()),
        Vector(U.vector(Element, (unsigned)Blocks.lanes)) {}

  void emit() {
    Value *In1 = C.argument(2);
    SmallVector<Value *, 4> Start;
    for (int J = 0; J < Blocks.vectors; J++)
      Start.push_back(D.offset ? row(Vector, In1, J)
                               : Constant::getNullValue(Vector));
    if (D.offset)
      In1 = C.at(In1, Blocks.columns * Bytes);
    Code::Values First = {C.argument(1), In1, C.argument(6)};
    for (int I = 0; I < Height; I++)
      First.append(Start.begin(), Start.end());
    Code::Values Last = Blocks.asks_ahead ? stepsByRows(First) : steps(First);
    ArrayRef<Value *> Sums = ArrayRef<Value *>(Last).drop_front(Moving);
    if (!Scales)
      return storeBlock(C, Sums, Height);
    CpuScaling By = {U.Cpu, C.argument(8)};
    storeBlock(C, Sums, Height, &By);
  }

private:
  void prefetch(Value *Place, bool ToWrite, int Locality = 3) {
    C.CreateIntrinsic(
        Intrinsic::prefetch, {Place->getType()},
        {Place, C.getInt32(ToWrite), C.getInt32(Locality), C.getInt32(1)});
  }

  // By their last bytes: where a row begins within a line, this one was the
  // last line of the columns before.
  void prefetchRow(Value *Row, int Lines) {
    for (int J = 0; J < Lines; J++)
      prefetch(C.at(Row, J * LineBytes + LineBytes - 1), true);
  }

  Code::Values steps(const Code::Values &First) {
    for (int I = 0; I < Height; I++)
      prefetchRow(C.at(C.argument(3), C.times(C.argument(4), I)), 1);
    return unrolled(C, U.Cpu, C.argument(0), First,
                    [&](ArrayRef<Value *> Now) { return step(Now); });
  }

  // As many rows as steps' loops: the last one has all that are left.
  Code::Values stepsByRows(const Code::Values &First) {
    assert(U.Cpu.unrolled == 1);
    Value *K = C.argument(0);
    Code::Values Begin = {C.argument(3), C.number(0)};
    Begin.append(First.begin(), First.end());
    Code::Values Last = C.repeat(
        C.number(0), C.number(Height), C.number(1), Begin,
        [&](Value *I, ArrayRef<Value *> Now) {
          prefetchRow(Now[0], Blocks.vectors);
          Value *Some = C.least(K, C.plus(Now[1], StepsPerRow));
          Value *To =
              C.CreateSelect(C.CreateICmpEQ(I, C.number(Height - 1)), K, Some);
          Code::Values Next = {C.at(Now[0], C.argument(4)), To};
          Next.append(C.carry(
              Now[1], To, C.number(1), Now.drop_front(2),
              [&](Value *, ArrayRef<Value *> Inner) { return step(Inner); }));
          return Next;
        });
    return Code::Values(Last.begin() + 2, Last.end());
  }

  // Of the step that comes so many later, and what only the second cache shall
  // have; no access, wherever that may lie.
  void prefetchPanels(Value *In0, Value *In1, Value *Next) {
    if (!Blocks.asks_ahead)
      return;
    prefetch(Next, false, 2);
    prefetch(C.at(In0, Ahead * Blocks.height[0] * Bytes), false);
    for (int J = 0; J < Blocks.vectors; J++)
      prefetch(C.at(In1, Ahead * Blocks.columns * Bytes + J * LineBytes),
               false);
  }

  Value *row(Type *T, Value *In1, int J) {
    return C.get(T, C.at(In1, J * Blocks.lanes * Bytes));
  }

  Code::Values step(ArrayRef<Value *> Now) {
    Value *In0 = Now[0], *In1 = Now[1], *Later = Now[2];
    prefetchPanels(In0, In1, Later);
    SmallVector<Value *, 4> Row;
    for (int J = 0; J < Blocks.vectors; J++)
      Row.push_back(row(U.vector(Packed, (unsigned)Blocks.lanes), In1, J));
    Code::Values Next = {
        C.at(In0, Blocks.height[0] * Bytes), C.at(In1, Blocks.columns * Bytes),
        Blocks.asks_ahead ? C.at(Later, C.argument(7)) : Later};
    Value *Column = nullptr;
    for (int I = 0; I < Height; I++) {
      Value *X = element(In0, I, Column);
      for (int J = 0; J < Blocks.vectors; J++) {
        Value *Sum = Now[(size_t)(Moving + I * Blocks.vectors + J)];
        Next.push_back(D.op == CPU_OP_NONE
                           ? multiplyAdd(C, U.Cpu, X, Row[(size_t)J], Sum)
                           : dotAdd(C, U.Cpu, D, X, Row[(size_t)J], Sum));
      }
    }
    return Next;
  }

  // Element I of in0's column in all lanes; Column: the vector that holds it,
  // where lanes are operands.
  Value *element(Value *In0, int I, Value *&Column) {
    unsigned Lanes = (unsigned)Blocks.lanes;
    Value *Place = C.at(In0, I * Bytes);
    if (U.Cpu.kernel != CPU_KERNEL_LANES)
      return C.CreateVectorSplat(Lanes, C.get(Packed, Place));
    if (I % Blocks.lanes == 0)
      Column = C.get(U.vector(Packed, Lanes), Place);
    return C.CreateShuffleVector(Column,
                                 SmallVector<int, 4>(Lanes, I % Blocks.lanes));
  }
};

} // namespace

static const char *arguments(const teir_cpu_dot &D, bool Scales) {
  return Scales                    ? "ipppiipip"
         : teir_cpu_is_tiled(D.op) ? "ipppiiii"
                                   : "ipppiipi";
}

FunctionType *multiplyType(CpuUnit &U, const teir_cpu_dot &D, bool Scales) {
  return U.type(Type::getVoidTy(U.context()), arguments(D, Scales));
}

Function *multiplyFunction(CpuUnit &U, const teir_cpu_dot &D, dtype Sum,
                           int Height, bool Scales) {
  bool IsNew;
  std::string Kind = dtype_name(Sum);
  if (D.op != CPU_OP_NONE)
    Kind += std::string(".") + dtype_name(D.packed[0]) + "." +
            dtype_name(D.packed[1]) + (D.offset ? ".offset" : "");
  Function *F =
      U.function(Twine("multiply.") + Kind + "." + Twine(Height) +
                     (Scales ? ".scaled" : ""),
                 Type::getVoidTy(U.context()), arguments(D, Scales), IsNew);
  if (IsNew && teir_cpu_is_outer(D.op))
    defineOuterKernel(U, D, Sum, Height, *F);
  else if (IsNew && teir_cpu_is_square(D.op))
    defineSquareKernel(U, D, Sum, Height, *F);
  else if (IsNew && teir_cpu_is_tiled(D.op))
    defineTileKernel(U, D, Sum, Height, *F);
  else if (IsNew)
    Kernel(U, D, Sum, Height, *F, Scales).emit();
  return F;
}

} // namespace nputeir
